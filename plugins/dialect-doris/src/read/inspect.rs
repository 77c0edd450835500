//! Inspects tables: queries the catalogue for many together, and then runs one or two queries per table.

use std::collections::BTreeMap;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Connection, Error, Field, Query, RowSet, Table, TableName};
use lakeport_sdk::serde_json::{Value, from_str};

use super::lists::kind_of;
use super::shown::{self, Shown, names_in, stamped_in};
use super::{in_halves, missing, no_table, number, once, plain};
use crate::extra::{FieldExtra, TableExtra};
use crate::server::{Product, Server};
use crate::{defaults, types};

/// The catalogue's answers for tables of one database.
pub struct Answers {
    /// name, kind, engine_name, comment_text.
    pub heads: RowSet,
    /// table_name, name, comment_text, key_kind: fields.
    pub comments: RowSet,
    /// The layout of tables, if the catalogue has it.
    pub layout: Option<RowSet>,
    /// name, replica_least, replica_most, partition_count: of partitions, if the catalogue lists them.
    pub partitions: Option<RowSet>,
}

/// The answers for one table.
pub struct Of {
    /// Field, Type, Null, Key, Default, Extra.
    pub fields: RowSet,
    /// `SHOW CREATE TABLE`, if the catalogue does not have the layout.
    pub shown: Option<RowSet>,
}

/// Tables in the requested order.
pub fn inspect(
    connection: &Connection,
    server: &Server,
    tables: &[TableName],
) -> Result<Vec<Result<Table, Error>>, Error> {
    let mut answers = BTreeMap::new();
    for database in once(tables.iter().map(|table| table.database.as_str())) {
        let names = tables.iter().filter(|table| table.database == database);
        let names = once(names.map(|table| table.name.as_str()));
        answers.insert(database, together(connection, server, database, &names)?);
    }
    let one = |table: &TableName| {
        let answers = &answers[table.database.as_str()];
        if head_in(&answers.heads, &table.name).is_none() {
            return Err(no_table(table));
        }
        let of = apart(connection, server, answers, table).map_err(|error| missing(error, table))?;
        table_of(server, table, answers, &of)
    };
    Ok(tables.iter().map(one).collect())
}

fn together(
    connection: &Connection,
    server: &Server,
    database: &str,
    names: &[&str],
) -> Result<Answers, Error> {
    let ask = |query: &dyn Fn(&str, &[&str]) -> Query| {
        in_halves(connection, names, &|names: &[&str]| query(database, names))
    };
    Ok(Answers {
        heads: ask(&heads_query)?,
        comments: ask(&comments_query)?,
        layout: if server.layout { Some(ask(&starrocks_layout_query)?) } else { None },
        partitions: if server.partitions { Some(ask(&partitions_query(server.product))?) } else { None },
    })
}

fn apart(
    connection: &Connection,
    server: &Server,
    answers: &Answers,
    table: &TableName,
) -> Result<Of, Error> {
    let head = head_in(&answers.heads, &table.name);
    let is_table = head.is_some_and(|row| kind_of(server.product, &row) == "table");
    Ok(Of {
        fields: fields_query(table).run(connection)?,
        shown: match (&answers.layout, is_table) {
            (None, true) => Some(shown::query(table).run(connection)?),
            _ => None,
        },
    })
}

pub(super) fn heads_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT t.TABLE_NAME AS name, t.TABLE_TYPE AS kind, t.ENGINE AS engine_name, t.TABLE_COMMENT AS comment_text \
         FROM information_schema.tables AS t WHERE t.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND t.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(")")
}

pub(super) fn comments_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT c.TABLE_NAME AS table_name, c.COLUMN_NAME AS name, c.COLUMN_COMMENT AS comment_text, \
         c.COLUMN_KEY AS key_kind FROM information_schema.columns AS c WHERE c.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND c.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(")")
}

pub(super) fn starrocks_layout_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT o.TABLE_NAME AS name, o.TABLE_MODEL AS model, o.DISTRIBUTE_KEY AS spread_by, \
         o.DISTRIBUTE_TYPE AS spread_kind, o.DISTRIBUTE_BUCKET AS bucket_count, \
         o.PARTITION_KEY AS partition_key, o.PROPERTIES AS property_text \
         FROM information_schema.tables_config AS o WHERE o.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND o.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(")")
}

/// The query about partitions that a product's catalogue answers.
pub(super) fn partitions_query(product: Product) -> fn(&str, &[&str]) -> Query {
    match product {
        Product::Doris => doris_partitions_query,
        Product::StarRocks => starrocks_partitions_query,
    }
}

fn doris_partitions_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT p.TABLE_NAME AS name, min(p.REPLICA_NUM) AS replica_least, max(p.REPLICA_NUM) AS replica_most, \
         count(*) AS partition_count FROM information_schema.partitions AS p WHERE p.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND p.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(") GROUP BY p.TABLE_NAME")
}

fn starrocks_partitions_query(database: &str, names: &[&str]) -> Query {
    Query::new(
        "SELECT p.TABLE_NAME AS name, min(p.REPLICATION_NUM) AS replica_least, \
         max(p.REPLICATION_NUM) AS replica_most, count(*) AS partition_count \
         FROM information_schema.partitions_meta AS p WHERE p.DB_NAME = ",
    )
    .value(database)
    .sql(" AND p.TABLE_NAME IN (")
    .values(names.iter().copied())
    .sql(") GROUP BY p.TABLE_NAME")
}

pub(super) fn fields_query(table: &TableName) -> Query {
    Query::new("DESC ").name([&table.database, &table.name])
}

/// Builds one table from the answers.
pub fn table_of(server: &Server, table: &TableName, answers: &Answers, of: &Of) -> Result<Table, Error> {
    let head = head_in(&answers.heads, &table.name).ok_or_else(|| no_table(table))?;
    let kind = kind_of(server.product, &head);
    let comment = plain(&head, "comment_text").unwrap_or_default().into_owned();
    let fields = fields_of(server, table, answers, of)?;
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let layout = layout_of(table, answers, of, &comment, &names);
    let keys: Vec<String> = fields.iter().filter(|field| field.key).map(|field| field.name.clone()).collect();
    let is_table = kind == "table";
    Ok(Table {
        name: table.clone(),
        kind: kind.to_owned(),
        comment,
        keys: if is_table { keys } else { Vec::new() },
        model: layout.model.or_else(|| model_of(answers, table)).filter(|_| is_table),
        distribution: layout.distribution,
        buckets: layout.buckets.filter(|count| *count > 0),
        replicas: replicas_of(table, answers, layout.replicas),
        partition: layout.partition,
        companions: Vec::new(),
        extra: layout.extra.text(),
        fields,
    })
}

fn head_in<'a>(rows: &'a RowSet, name: &str) -> Option<Row<'a>> {
    rows.iter().find(|row| row.text("name").is_ok_and(|text| text == name))
}

fn fields_of(server: &Server, table: &TableName, answers: &Answers, of: &Of) -> Result<Vec<Field>, Error> {
    let own = answers.comments.iter().filter(|row| plain(row, "table_name").as_deref() == Some(&table.name));
    let comments: BTreeMap<String, String> = own
        .filter_map(|row| {
            let comment = plain(&row, "comment_text").unwrap_or_default().into_owned();
            Some((plain(&row, "name")?.into_owned(), comment))
        })
        .collect();
    let stamped = of.shown.as_ref().map(stamped_in).unwrap_or_default();
    of.fields.iter().map(|row| field_of(server, &row, &comments, &stamped)).collect()
}

fn field_of(
    server: &Server,
    row: &Row<'_>,
    comments: &BTreeMap<String, String>,
    stamped: &[String],
) -> Result<Field, Error> {
    let name = row.text("Field")?.to_owned();
    let said = row.text("Type")?;
    let type_text = types::read(server.product, said);
    let yes = |column: &str| {
        plain(row, column).is_some_and(|text| matches!(text.to_ascii_lowercase().as_str(), "yes" | "true"))
    };
    let extra = plain(row, "Extra").unwrap_or_default().to_ascii_uppercase();
    let default = plain(row, "Default").filter(|text| text != "\\N");
    let defaults_to = defaults::read(server.product, &type_text, default.as_deref());
    let default_text = default.as_deref().filter(|text| defaults::is_spelled_otherwise(&defaults_to, text));
    let default_text = default_text.map(str::to_owned);
    Ok(Field {
        nullable: yes("Null"),
        key: yes("Key"),
        comment: comments.get(&name).cloned().unwrap_or_default(),
        defaults_to,
        // Only the existence of an expression is reported here, not its text.
        generated: extra.contains("GENERATED").then(String::new),
        extra: FieldExtra { stamped: stamped.contains(&name), default_text, ..extra_of(&extra) }.text(),
        name,
        type_text,
    })
}

/// Properties that a definition would have to repeat, from `DESC`: `REPLACE,AUTO_INCREMENT`.
fn extra_of(extra: &str) -> FieldExtra {
    const AGGREGATES: [&str; 9] = [
        "SUM",
        "MIN",
        "MAX",
        "REPLACE",
        "REPLACE_IF_NOT_NULL",
        "HLL_UNION",
        "BITMAP_UNION",
        "QUANTILE_UNION",
        "GENERIC",
    ];
    let mut words = extra.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    FieldExtra {
        aggregate: words.clone().find(|word| AGGREGATES.contains(word)).map(str::to_owned),
        numbered: words.any(|word| word == "AUTO_INCREMENT"),
        stamped: false,
        default_text: None,
    }
}

/// The number of replicas, if it is the same for future partitions and all existing ones.
fn replicas_of(table: &TableName, answers: &Answers, to_come: Option<u32>) -> Option<u32> {
    let listed = answers.partitions.as_ref().and_then(|rows| head_in(rows, &table.name));
    let Some(there) = listed else { return to_come };
    let is = |column: &str, count: u32| number(&there, column) == Some(u64::from(count));
    to_come.filter(|count| is("replica_least", *count) && is("replica_most", *count))
}

/// The model, from the kind of key of any field: `DUP`, `UNI`, `AGG`, `PRI`.
fn model_of(answers: &Answers, table: &TableName) -> Option<String> {
    let own = answers.comments.iter().filter(|row| plain(row, "table_name").as_deref() == Some(&table.name));
    own.filter_map(|row| plain(&row, "key_kind").as_deref().and_then(model_named)).next()
}

/// `DUP_KEYS`, `UNIQUE KEYS`, `PRI`: the servers have several words for each model.
fn model_named(word: &str) -> Option<String> {
    let model = match word.get(..3)?.to_ascii_uppercase().as_str() {
        "DUP" => "DUPLICATE",
        "UNI" | "UNQ" => "UNIQUE",
        "AGG" => "AGGREGATE",
        "PRI" => "PRIMARY",
        _ => return None,
    };
    Some(model.to_owned())
}

fn layout_of(table: &TableName, answers: &Answers, of: &Of, comment: &str, fields: &[&str]) -> Shown {
    let Some(layout) = &answers.layout else {
        let shown = of.shown.as_ref().and_then(|rows| shown::layout_of(rows, comment, fields));
        return shown.unwrap_or_default();
    };
    let Some(row) = head_in(layout, &table.name) else { return Shown::default() };
    let names = |column: &str| names_in(&plain(&row, column).unwrap_or_default(), fields);
    let random = plain(&row, "spread_kind").is_some_and(|kind| kind.eq_ignore_ascii_case("RANDOM"));
    let properties: Value = from_str(&plain(&row, "property_text").unwrap_or_default()).unwrap_or_default();
    let colocated = properties["colocate_with"].as_str().is_some_and(|group| !group.is_empty());
    Shown {
        model: plain(&row, "model").and_then(|word| model_named(&word)),
        partition: names("partition_key"),
        distribution: if random { Vec::new() } else { names("spread_by") },
        buckets: number(&row, "bucket_count").and_then(|number| u32::try_from(number).ok()),
        replicas: replicas_in(&properties),
        extra: TableExtra { random, colocated, ..TableExtra::default() },
    }
}

/// `{"replication_num":"3",…}`.
fn replicas_in(properties: &Value) -> Option<u32> {
    match &properties["replication_num"] {
        Value::String(digits) => digits.parse().ok(),
        number => number.as_u64().and_then(|number| u32::try_from(number).ok()),
    }
}
