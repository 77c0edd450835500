//! Questions: the catalogue's tables, variables, counts, and what the control said that the audit log has.
//!
//! A small SELECT, of just the shapes that a reader uses; all else is an error, as a column that is not
//! there is.

use crate::catalogue::{Catalogue, Product, Table};
use crate::lexer::Lexeme;
use crate::parse::{Reader, Syntax};

/// An answer: names of columns, and rows of texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<Cells>,
}

/// A row as texts; `None` is NULL.
type Cells = Vec<Option<String>>;
type Source = (Vec<&'static str>, Vec<Cells>);

enum Item {
    Column(String),
    Count,
    Min(String),
    Max(String),
}

enum Condition {
    Is(String, String),
    Above(String, String),
    In(String, Vec<String>, bool),
}

fn refused(message: impl Into<String>) -> Syntax {
    (1105, format!("errCode = 2, detailMessage = {}", message.into()))
}

/// `SELECT @@a AS a, @@b AS b`, by the session's variables.
pub fn variables(reader: &mut Reader, value: impl Fn(&str) -> Option<String>) -> Result<Answer, Syntax> {
    let mut answer = Answer { columns: Vec::new(), rows: vec![Vec::new()] };
    loop {
        let Some(Lexeme::Word(name)) = reader.advance() else { return Err(reader.error()) };
        let Some(name) = name.strip_prefix("@@") else { return Err(reader.error()) };
        let found = value(name).ok_or_else(|| (1193, format!("Unknown system variable '{name}'")))?;
        answer.columns.push(if reader.takes("AS") { reader.name()? } else { format!("@@{name}") });
        answer.rows[0].push(Some(found));
        if !reader.takes_symbol(',') {
            break;
        }
    }
    reader.end()?;
    Ok(answer)
}

/// `SELECT … FROM information_schema.…`, or a count of a table's rows.
pub fn select(catalogue: &Catalogue, reader: &mut Reader) -> Result<Answer, Syntax> {
    let mut names = Vec::new();
    let mut items = Vec::new();
    loop {
        items.push(item(reader)?);
        reader.expects("AS")?;
        names.push(reader.name()?);
        if !reader.takes_symbol(',') {
            break;
        }
    }
    reader.expects("FROM")?;
    let (database, table) = reader.path()?;
    if !database.eq_ignore_ascii_case("information_schema") {
        reader.end()?;
        let rows = catalogue.table(&database, &table)?.rows;
        return match items.as_slice() {
            [Item::Count] => Ok(Answer { columns: names, rows: vec![vec![Some(rows.to_string())]] }),
            _ => Err(reader.error()),
        };
    }
    reader.expects("AS")?;
    reader.name()?;
    let (columns, mut rows) = source(catalogue, &table.to_ascii_lowercase())?;
    let place = |name: &String| {
        let found = columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        found.ok_or_else(|| refused(format!("Unknown column '{name}' in '{table}'")))
    };
    if reader.takes("WHERE") {
        loop {
            let condition = condition(reader)?;
            let fits: Box<dyn Fn(&str) -> bool> = match &condition {
                Condition::Is(_, value) => Box::new(move |cell| cell == value),
                Condition::Above(_, value) => Box::new(move |cell| cell > value.as_str()),
                Condition::In(_, values, within) => {
                    Box::new(move |cell| values.iter().any(|value| value == cell) == *within)
                }
            };
            let (Condition::Is(name, _) | Condition::Above(name, _) | Condition::In(name, ..)) = &condition;
            let at = place(name)?;
            rows.retain(|row| row[at].as_deref().is_some_and(&fits));
            if !reader.takes("AND") {
                break;
            }
        }
    }
    let group = if reader.takes("GROUP BY") { Some(place(&column(reader)?)?) } else { None };
    if reader.takes("ORDER BY") {
        let at = place(&column(reader)?)?;
        rows.sort_by(|one, other| one[at].cmp(&other[at]));
    }
    let limit = if reader.takes("LIMIT") { reader.number()? as usize } else { usize::MAX };
    reader.end()?;
    let mut groups: Vec<Vec<Cells>> = Vec::new();
    for row in rows {
        match group.and_then(|at| groups.iter_mut().find(|rows| rows[0][at] == row[at])) {
            Some(rows) => rows.push(row),
            None => groups.push(vec![row]),
        }
    }
    let answer = groups.iter().take(limit).map(|rows| {
        let cell = |item: &Item| match item {
            Item::Count => Ok(Some(rows.len().to_string())),
            Item::Column(name) => Ok(rows[0][place(name)?].clone()),
            Item::Min(name) | Item::Max(name) => {
                let at = place(name)?;
                let mut found: Vec<&String> = rows.iter().filter_map(|row| row[at].as_ref()).collect();
                found.sort_by_key(|text| text.parse::<i64>().unwrap_or(0));
                let end = if matches!(item, Item::Min(_)) { found.first() } else { found.last() };
                Ok(end.map(|text| (*text).clone()))
            }
        };
        items.iter().map(cell).collect::<Result<Vec<_>, Syntax>>()
    });
    let rows = answer.collect::<Result<Vec<_>, Syntax>>()?;
    // An unknown column is an error also where there is no row.
    for item in &items {
        if let Item::Column(name) | Item::Min(name) | Item::Max(name) = item {
            place(name)?;
        }
    }
    Ok(Answer { columns: names, rows })
}

/// `a.COLUMN`.
fn column(reader: &mut Reader) -> Result<String, Syntax> {
    reader.path().map(|(_, name)| name)
}

fn item(reader: &mut Reader) -> Result<Item, Syntax> {
    if reader.takes("count") {
        reader.symbol('(')?;
        reader.symbol('*')?;
        reader.symbol(')')?;
        return Ok(Item::Count);
    }
    for (word, item) in [("min", Item::Min as fn(String) -> Item), ("max", Item::Max)] {
        if reader.takes(word) {
            reader.symbol('(')?;
            let name = column(reader)?;
            reader.symbol(')')?;
            return Ok(item(name));
        }
    }
    column(reader).map(Item::Column)
}

fn condition(reader: &mut Reader) -> Result<Condition, Syntax> {
    let name = column(reader)?;
    if reader.takes_symbol('=') {
        return Ok(Condition::Is(name, reader.text()?));
    }
    if reader.takes_symbol('>') {
        return Ok(Condition::Above(name, reader.text()?));
    }
    let within = !reader.takes("NOT");
    reader.expects("IN")?;
    reader.symbol('(')?;
    let mut values = vec![reader.text()?];
    while reader.takes_symbol(',') {
        values.push(reader.text()?);
    }
    reader.symbol(')')?;
    Ok(Condition::In(name, values, within))
}

fn source(catalogue: &Catalogue, table: &str) -> Result<Source, Syntax> {
    let doris = catalogue.product == Product::Doris;
    let some = |text: &str| Some(text.to_owned());
    let each = |write: &dyn Fn(&str, &str, &Table) -> Vec<Cells>| {
        let databases = catalogue.databases.iter();
        databases
            .flat_map(|(database, tables)| tables.iter().map(move |(name, table)| (database, name, table)))
            .flat_map(|(database, name, table)| write(database, name, table))
            .collect::<Vec<_>>()
    };
    let engine = if doris { "Doris" } else { "StarRocks" };
    let list = |names: &[String]| Some(names.join(","));
    Ok(match (table, doris) {
        ("schemata", _) => {
            let rows = catalogue.databases.keys().map(|name| vec![some("internal"), some(name)]).collect();
            (vec!["CATALOG_NAME", "SCHEMA_NAME"], rows)
        }
        ("tables", _) => {
            let columns = vec![
                "TABLE_SCHEMA",
                "TABLE_NAME",
                "TABLE_TYPE",
                "ENGINE",
                "TABLE_ROWS",
                "DATA_LENGTH",
                "INDEX_LENGTH",
                "TABLE_COMMENT",
            ];
            let rows = each(&|database, name, table| {
                let index = if doris { Some("0".to_owned()) } else { None };
                vec![vec![
                    some(database),
                    some(name),
                    some("BASE TABLE"),
                    some(engine),
                    some(&table.rows.to_string()),
                    some(&table.bytes.to_string()),
                    index,
                    some(&table.comment),
                ]]
            });
            (columns, rows)
        }
        ("columns", _) => {
            let columns = vec![
                "TABLE_SCHEMA",
                "TABLE_NAME",
                "COLUMN_NAME",
                "ORDINAL_POSITION",
                "COLUMN_DEFAULT",
                "IS_NULLABLE",
                "COLUMN_TYPE",
                "COLUMN_KEY",
                "EXTRA",
                "COLUMN_COMMENT",
            ];
            let mut rows = each(&|database, name, table| {
                let one = |(at, column): (usize, &crate::catalogue::Column)| {
                    let key = if column.key { &table.model[..3] } else { "" };
                    let nullable = if column.nullable { "YES" } else { "NO" };
                    // Most versions leave the default empty here.
                    let default = column.default.clone().filter(|_| catalogue.new_catalogue);
                    vec![
                        some(database),
                        some(name),
                        some(&column.name),
                        some(&(at + 1).to_string()),
                        default,
                        some(nullable),
                        some(&column.type_text),
                        some(key),
                        some(""),
                        some(&column.comment),
                    ]
                };
                table.columns.iter().enumerate().map(one).collect()
            });
            rows.extend(own_columns(catalogue));
            (columns, rows)
        }
        ("tables_config", false) if catalogue.new_catalogue => {
            let columns = vec![
                "TABLE_SCHEMA",
                "TABLE_NAME",
                "TABLE_MODEL",
                "DISTRIBUTE_KEY",
                "DISTRIBUTE_TYPE",
                "DISTRIBUTE_BUCKET",
                "PARTITION_KEY",
                "PROPERTIES",
            ];
            let rows = each(&|database, name, table| {
                let mut row = layout(database, name, table, &list);
                row.push(Some(format!("{{\"replication_num\":\"{}\"}}", table.default_replicas)));
                vec![row]
            });
            (columns, rows)
        }
        ("partitions", true) if catalogue.new_catalogue => {
            let columns = vec!["TABLE_SCHEMA", "TABLE_NAME", "PARTITION_NAME", "REPLICA_NUM"];
            let rows = each(&|database, name, table| {
                vec![vec![some(database), some(name), some(name), some(&table.replicas.to_string())]]
            });
            (columns, rows)
        }
        ("partitions_meta", false) if catalogue.new_catalogue => {
            let columns = vec!["DB_NAME", "TABLE_NAME", "PARTITION_NAME", "REPLICATION_NUM"];
            let rows = each(&|database, name, table| {
                vec![vec![some(database), some(name), some(name), some(&table.replicas.to_string())]]
            });
            (columns, rows)
        }
        (other, _) => return Err(refused(format!("Unknown table 'information_schema.{other}'"))),
    })
}

fn layout(
    database: &str,
    name: &str,
    table: &Table,
    list: &dyn Fn(&[String]) -> Option<String>,
) -> Vec<Option<String>> {
    let model = match table.model.as_str() {
        "DUPLICATE" => "DUP_KEYS",
        "UNIQUE" => "UNQ_KEYS",
        "PRIMARY" => "PRI_KEYS",
        _ => "AGG_KEYS",
    };
    let kind = if table.distribution.is_empty() { "RANDOM" } else { "HASH" };
    vec![
        Some(database.to_owned()),
        Some(name.to_owned()),
        Some(model.to_owned()),
        list(&table.distribution),
        Some(kind.to_owned()),
        Some(table.buckets.unwrap_or(0).to_string()),
        Some(table.partition.as_ref().map(|(_, column)| column.clone()).unwrap_or_default()),
    ]
}

/// Columns of the catalogue's own tables, by which a reader knows what it can ask for.
fn own_columns(catalogue: &Catalogue) -> Vec<Cells> {
    let mut own = vec![
        ("information_schema", "schemata", vec!["CATALOG_NAME", "SCHEMA_NAME"]),
        ("__internal_schema", "audit_log", vec!["time", "user", "db", "state", "is_query", "stmt"]),
    ];
    if catalogue.new_catalogue {
        match catalogue.product {
            Product::Doris => {
                own.push(("information_schema", "partitions", vec!["TABLE_NAME", "REPLICA_NUM"]));
                own.push(("__internal_schema", "audit_log", vec!["queried_tables_and_views"]));
            }
            Product::StarRocks => {
                own.push(("information_schema", "tables_config", vec!["TABLE_NAME", "PARTITION_KEY"]));
                own.push(("information_schema", "partitions_meta", vec!["TABLE_NAME", "REPLICATION_NUM"]));
            }
        }
    }
    let mut rows = Vec::new();
    for (database, table, columns) in own {
        for column in columns {
            let mut row = vec![Some(database.to_owned()), Some(table.to_owned()), Some(column.to_owned())];
            row.resize(10, Some(String::new()));
            rows.push(row);
        }
    }
    rows
}
