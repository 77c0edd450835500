//! Statements that change: parsed for the shapes of plans, checked by the server's own rules, and executed at
//! once or as a job.

mod alter;
mod clauses;
mod defaults;

use crate::catalogue::{Catalogue, Product, Table, TableKind};
use crate::lexer::Lexeme;
use crate::parse::{Reader, Syntax};
use crate::refused;
use alter::alter;
use clauses::{Clause, column, comment, distribution, partition, properties};

const WRONG_OBJECT: u16 = 1347;

/// How light schema changes behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Light {
    /// Executed at once, without a visible job.
    Unseen,
    /// Done at once, with a finished job.
    Seen,
    /// They run as jobs, like other changes.
    Off,
}

/// Executes a statement. `None`: it is another kind of statement.
pub fn run(catalogue: &mut Catalogue, light: Light, lexemes: &[Lexeme]) -> Option<Result<(), Syntax>> {
    let mut reader = Reader::new(lexemes);
    if reader.takes("CREATE TABLE") {
        Some(create(catalogue, &mut reader))
    } else if reader.takes("DROP TABLE") {
        Some(drop(catalogue, &mut reader))
    } else if reader.takes("ALTER TABLE") {
        Some(alter(catalogue, light, &mut reader))
    } else if reader.takes("CANCEL ALTER TABLE") {
        Some(cancel(catalogue, &mut reader))
    } else {
        None
    }
}

/// Properties of a new table besides its replicas.
const PROPERTIES: [&str; 3] = ["enable_unique_key_merge_on_write", "light_schema_change", "colocate_with"];

fn create(catalogue: &mut Catalogue, reader: &mut Reader) -> Result<(), Syntax> {
    let grammar = catalogue.grammar();
    let product = grammar.product;
    let (database, name) = reader.path()?;
    reader.symbol('(')?;
    let mut columns = vec![column(grammar, Clause::NewField, reader)?];
    while reader.takes_symbol(',') {
        columns.push(column(grammar, Clause::NewField, reader)?);
    }
    reader.symbol(')')?;
    reader.expects("ENGINE")?;
    reader.symbol('=')?;
    reader.expects("OLAP")?;
    let models = ["DUPLICATE", "UNIQUE", "AGGREGATE", "PRIMARY"];
    let model = models
        .into_iter()
        .find(|model| reader.takes(&format!("{model} KEY")))
        .ok_or_else(|| reader.error())?;
    if model == "PRIMARY" && product == Product::Doris {
        return Err(reader.error());
    }
    let keys = reader.names()?;
    let mut table = Table::new(TableKind::Table, columns, model, 3);
    if reader.takes("COMMENT") {
        table.comment = comment(grammar, Clause::NewTable, reader.raw()?);
    }
    table.partition = partition(product, reader)?;
    reader.expects("DISTRIBUTED BY")?;
    (table.distribution, table.buckets) = distribution(product, reader)?;
    if reader.takes("PROPERTIES") {
        for (name, value) in properties(reader)? {
            match name.as_str() {
                "replication_num" => {
                    table.default_replicas = value.parse().map_err(|_| refused("Invalid replication num"))?;
                }
                name if PROPERTIES.contains(&name) => table.properties.push((name.to_owned(), value)),
                _ => return Err(refused(format!("Unknown properties: {{{name}={value}}}"))),
            }
        }
    }
    reader.end()?;
    if catalogue.cloud {
        // The storage keeps the copies, and the number is ignored.
        table.default_replicas = 1;
    }
    sound(catalogue, &mut table, &keys)?;
    if table.partition.is_none() {
        table.make_partition(name.clone(), String::new());
    }
    if !catalogue.databases.contains_key(&database) {
        return Err((1049, format!("errCode = 2, detailMessage = Unknown database '{database}'")));
    }
    if catalogue.table(&database, &name).is_ok() {
        return Err((1050, format!("errCode = 2, detailMessage = Table '{name}' already exists")));
    }
    catalogue.put(&database, &name, table);
    Ok(())
}

/// The rules of a new table.
fn sound(catalogue: &Catalogue, table: &mut Table, keys: &[String]) -> Result<(), Syntax> {
    let prefix = table.columns.iter().map(|column| &column.name).take(keys.len());
    if !keys.iter().eq(prefix) {
        return Err(refused("Key columns should be a ordered prefix of the schema."));
    }
    for column in table.columns.iter_mut().take(keys.len()) {
        column.key = true;
    }
    let of = |name: &String| table.columns.iter().find(|column| column.name == *name);
    for name in keys.iter().chain(&table.distribution) {
        let column = of(name).ok_or_else(|| refused(format!("column({name}) doesn't exist")))?;
        let unfit = ["float", "double", "text", "string", "json", "array", "map", "struct", "variant"];
        if unfit.iter().any(|start| column.type_text.starts_with(start)) {
            return Err(refused(format!(
                "{} type should not be used in key or distribution",
                column.type_text
            )));
        }
    }
    let by_key = table.model != "DUPLICATE";
    let unkeyed = |name: &String| by_key && !keys.contains(name);
    if by_key && table.distribution.is_empty() {
        return Err(refused("Create unique keys table should not contain random distribution desc"));
    }
    if let Some(name) = table.distribution.iter().find(|name| unkeyed(name)) {
        return Err(refused(format!("Distribution column[{name}] is not key column")));
    }
    if let Some(name) = table.partition.as_ref().map(|by| &by.column) {
        let column = of(name).ok_or_else(|| refused(format!("partition column {name} doesn't exist")))?;
        if unkeyed(name) {
            return Err(refused(format!(
                "Merge-on-Write table's partition column must be KEY column: {name}"
            )));
        }
        if column.nullable {
            return Err(refused("AUTO RANGE PARTITION doesn't support NULL column"));
        }
    }
    for (index, column) in table.columns.iter().enumerate() {
        if table.columns[..index].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            return Err((
                1060,
                format!("errCode = 2, detailMessage = Duplicate column name '{}'", column.name),
            ));
        }
    }
    if table.default_replicas > catalogue.backends {
        return Err(refused(format!(
            "replication num should be less than the number of available backends. replication num is {}, \
             available backend num is {}",
            table.default_replicas, catalogue.backends
        )));
    }
    Ok(())
}

fn drop(catalogue: &mut Catalogue, reader: &mut Reader) -> Result<(), Syntax> {
    let (database, name) = reader.path()?;
    let force = reader.takes("FORCE");
    reader.end()?;
    let table = catalogue.table(&database, &name)?.clone();
    let other = match table.kind {
        TableKind::Table => None,
        TableKind::View(_) => Some("VIEW"),
        TableKind::Materialized => Some("MATERIALIZED VIEW"),
    };
    if let Some(other) = other {
        let message = format!("'{database}.{name}' is not TABLE. Use 'DROP {other} {database}.{name}'");
        return Err((WRONG_OBJECT, format!("errCode = 2, detailMessage = {message}")));
    }
    if table.committed > 0 && !force {
        return Err(refused(format!(
            "There are still some transactions in the COMMITTED state waiting to be completed. The table [{name}] \
             cannot be dropped. If you want to forcibly drop(cannot be recovered), please use \"DROP table FORCE\"."
        )));
    }
    catalogue.databases.entry(database.clone()).or_default().remove(&name);
    if !force {
        catalogue.recycled.push((database, name, table));
    }
    Ok(())
}

fn cancel(catalogue: &mut Catalogue, reader: &mut Reader) -> Result<(), Syntax> {
    let kind = if reader.takes("OPTIMIZE") {
        "OPTIMIZE"
    } else {
        reader.expects("COLUMN")?;
        "COLUMN"
    };
    reader.expects("FROM")?;
    let (database, name) = reader.path()?;
    reader.end()?;
    catalogue.table(&database, &name)?;
    let open = catalogue.open_job(&database, &name).filter(|job| job.kind == kind).map(|job| job.id);
    let id = open.ok_or_else(|| refused(format!("Table[{name}] is not under SCHEMA_CHANGE.")))?;
    catalogue.settle(id, "CANCELLED", "user cancelled");
    Ok(())
}
