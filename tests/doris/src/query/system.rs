//! The relations that a query can name: tables of the catalogue, system tables, the audit log, and
//! `numbers()`.

use chrono::{NaiveDateTime, TimeDelta, Utc};

use super::value::{Kind, Value};
use super::{Column, Context, Relation, answer};
use crate::catalogue::{Catalogue, Partition, Product, Table, TableKind};
use crate::parse::Syntax;
use crate::refused;

/// A larger table can be named but not read: the double keeps no rows.
const ROWS_MAX: u64 = 10_000;

/// Rows of a relation.
type Rows = Vec<Vec<Value>>;

type Names = &'static [(&'static str, Kind)];

const SCHEMATA: Names = &[("CATALOG_NAME", Kind::Text), ("SCHEMA_NAME", Kind::Text)];
const TABLES: Names = &[
    ("TABLE_SCHEMA", Kind::Text),
    ("TABLE_NAME", Kind::Text),
    ("TABLE_TYPE", Kind::Text),
    ("ENGINE", Kind::Text),
    ("TABLE_ROWS", Kind::Integer),
    ("DATA_LENGTH", Kind::Integer),
    ("INDEX_LENGTH", Kind::Integer),
    ("TABLE_COMMENT", Kind::Text),
];
const COLUMNS: Names = &[
    ("TABLE_SCHEMA", Kind::Text),
    ("TABLE_NAME", Kind::Text),
    ("COLUMN_NAME", Kind::Text),
    ("ORDINAL_POSITION", Kind::Integer),
    ("COLUMN_DEFAULT", Kind::Text),
    ("IS_NULLABLE", Kind::Text),
    ("COLUMN_TYPE", Kind::Text),
    ("COLUMN_KEY", Kind::Text),
    ("EXTRA", Kind::Text),
    ("COLUMN_COMMENT", Kind::Text),
];
const PARTITIONS: Names = &[
    ("TABLE_SCHEMA", Kind::Text),
    ("TABLE_NAME", Kind::Text),
    ("PARTITION_NAME", Kind::Text),
    ("BUCKET_NUM", Kind::Integer),
    ("REPLICA_NUM", Kind::Integer),
];
const PARTITIONS_META: Names = &[
    ("DB_NAME", Kind::Text),
    ("TABLE_NAME", Kind::Text),
    ("PARTITION_NAME", Kind::Text),
    ("REPLICATION_NUM", Kind::Integer),
];
const TABLES_CONFIG: Names = &[
    ("TABLE_SCHEMA", Kind::Text),
    ("TABLE_NAME", Kind::Text),
    ("TABLE_MODEL", Kind::Text),
    ("DISTRIBUTE_KEY", Kind::Text),
    ("DISTRIBUTE_TYPE", Kind::Text),
    ("DISTRIBUTE_BUCKET", Kind::Integer),
    ("PARTITION_KEY", Kind::Text),
    ("PROPERTIES", Kind::Text),
];
/// The audit log of Doris; the last column came with the newer catalogue.
const AUDIT_LOG: Names = &[
    ("time", Kind::DateTime(3)),
    ("user", Kind::Text),
    ("db", Kind::Text),
    ("state", Kind::Text),
    ("is_query", Kind::Integer),
    ("stmt", Kind::Text),
    ("queried_tables_and_views", Kind::Array),
];
/// The columns that StarRocks' audit loader fills.
const AUDIT_TABLE: Names = &[
    ("timestamp", Kind::DateTime(0)),
    ("user", Kind::Text),
    ("db", Kind::Text),
    ("state", Kind::Text),
    ("isQuery", Kind::Integer),
    ("stmt", Kind::Text),
];

/// `database.table`, or a table of the session's database.
pub fn table(context: &Context, path: &[String]) -> Result<Relation, Syntax> {
    let catalogue = context.catalogue;
    let home = if catalogue.product == Product::Doris { "internal" } else { "default_catalog" };
    let (database, table) = match path {
        [table] => {
            let database = context.database.ok_or_else(|| refused("No database selected"))?;
            (database, table)
        }
        [database, table] => (database.as_str(), table),
        [root, database, table] if root == home => (database.as_str(), table),
        _ => return Err(refused(format!("Unknown catalog in {path:?}"))),
    };
    if database.eq_ignore_ascii_case("information_schema") {
        return own(catalogue, &table.to_ascii_lowercase());
    }
    if let Some(names) = audit_log(catalogue, database, table) {
        return Ok(relation(names, catalogue.audit.clone()));
    }
    let kept = catalogue.queried(database, table)?;
    if let TableKind::View(query) = &kept.kind {
        return answer(context, query, true);
    }
    if kept.rows > ROWS_MAX {
        return Err(refused(format!("this server reads {ROWS_MAX} rows of a table at most")));
    }
    let column =
        |column: &crate::catalogue::Column| Column::new(&column.name, Kind::of_column(&column.type_text));
    let columns: Vec<Column> = kept.columns.iter().map(column).collect();
    let rows = vec![vec![Value::Null; columns.len()]; kept.rows as usize];
    Ok(Relation { columns, rows })
}

/// `numbers("number" = "30")`.
pub fn numbers(count: i64) -> Result<Relation, Syntax> {
    if count.unsigned_abs() > ROWS_MAX {
        return Err(refused(format!("this server counts to {ROWS_MAX} at most")));
    }
    let rows = (0..count).map(|number| vec![Value::Integer(number)]).collect();
    Ok(relation(&[("number", Kind::Integer)], rows))
}

/// The columns of the audit log.
fn audit_columns(catalogue: &Catalogue) -> Names {
    match (catalogue.product, catalogue.new_catalogue) {
        (Product::Doris, true) => AUDIT_LOG,
        (Product::Doris, false) => &AUDIT_LOG[..AUDIT_LOG.len() - 1],
        (Product::StarRocks, _) => AUDIT_TABLE,
    }
}

/// The same, if this is the log. StarRocks has none until something was added.
fn audit_log(catalogue: &Catalogue, database: &str, table: &str) -> Option<Names> {
    let there = match (catalogue.product, database, table) {
        (Product::Doris, "__internal_schema", "audit_log") => true,
        (Product::StarRocks, "starrocks_audit_db__", "starrocks_audit_tbl__") => !catalogue.audit.is_empty(),
        _ => false,
    };
    there.then(|| audit_columns(catalogue))
}

/// A row of the audit log, from an object with a value for each of its columns.
pub fn audit_row(catalogue: &Catalogue, object: &serde_json::Value) -> Result<Vec<Value>, String> {
    let cell = |(name, kind): &(&str, Kind)| {
        let given = &object[*name];
        let value = match kind {
            Kind::Integer => given.as_i64().map(Value::Integer),
            Kind::DateTime(_) => match given.as_i64() {
                Some(ago_s) => Some(Value::Time(before_now(ago_s))),
                None => given.as_str().and_then(|time| text(time).time()).map(Value::Time),
            },
            Kind::Array => given.as_array().map(|items| {
                Value::Array(items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect())
            }),
            _ => given.as_str().map(text),
        };
        value.ok_or_else(|| format!("{name} is missing or not of its type"))
    };
    audit_columns(catalogue).iter().map(cell).collect()
}

/// A time by the server's clock.
fn before_now(ago_s: i64) -> NaiveDateTime {
    Utc::now().with_timezone(&chrono_tz::Asia::Shanghai).naive_local() - TimeDelta::seconds(ago_s)
}

fn relation(names: Names, rows: Vec<Vec<Value>>) -> Relation {
    Relation { columns: names.iter().map(|(name, kind)| Column::new(name, *kind)).collect(), rows }
}

fn text(value: &str) -> Value {
    Value::Text(value.to_owned())
}

fn count(value: impl TryInto<i64>) -> Value {
    value.try_into().map_or(Value::Null, Value::Integer)
}

/// A table of `information_schema`.
fn own(catalogue: &Catalogue, name: &str) -> Result<Relation, Syntax> {
    let doris = catalogue.product == Product::Doris;
    let each = |write: &dyn Fn(&str, &str, &Table) -> Rows| -> Rows {
        let databases = catalogue.databases.iter();
        databases
            .flat_map(|(database, tables)| tables.iter().map(move |(name, table)| (database, name, table)))
            .flat_map(|(database, name, table)| write(database, name, table))
            .collect()
    };
    let (names, rows) = match (name, doris) {
        ("schemata", _) => {
            let home = if doris { "internal" } else { "default_catalog" };
            let rows = catalogue.databases.keys().map(|name| vec![text(home), text(name)]);
            (SCHEMATA, rows.collect())
        }
        ("tables", _) => {
            (TABLES, each(&|database, name, table| vec![table_row(doris, database, name, table)]))
        }
        ("columns", _) => {
            let mut rows = each(&|database, name, table| column_rows(catalogue, database, name, table));
            rows.extend(own_columns(catalogue));
            (COLUMNS, rows)
        }
        ("tables_config", false) if catalogue.new_catalogue => {
            (TABLES_CONFIG, each(&|database, name, table| vec![layout_row(database, name, table)]))
        }
        ("partitions", true) if catalogue.new_catalogue => (
            PARTITIONS,
            each(&|database, name, table| {
                let partitions = table.partitions.iter().map(|one| {
                    vec![text(database), text(name), text(&one.name), count(one.buckets), count(one.replicas)]
                });
                partitions.collect()
            }),
        ),
        ("partitions_meta", false) if catalogue.new_catalogue => (
            PARTITIONS_META,
            each(&|database, name, table| {
                let partitions = table.partitions.iter();
                let row =
                    |one: &Partition| vec![text(database), text(name), text(&one.name), count(one.replicas)];
                partitions.map(row).collect()
            }),
        ),
        (other, _) => return Err(refused(format!("Unknown table 'information_schema.{other}'"))),
    };
    Ok(relation(names, rows))
}

/// An asynchronous materialized view of Doris is a table without an engine here.
fn table_row(doris: bool, database: &str, name: &str, table: &Table) -> Vec<Value> {
    let engine = match (&table.kind, doris) {
        (TableKind::Materialized, true) => Value::Null,
        (TableKind::View(_), true) => text("View"),
        (TableKind::View(_), false) => text(""),
        (_, true) => text("Doris"),
        (_, false) => text("StarRocks"),
    };
    let kind = match &table.kind {
        TableKind::View(_) => "VIEW",
        TableKind::Materialized if !doris => "VIEW",
        _ => "BASE TABLE",
    };
    let index = if doris { Value::Integer(0) } else { Value::Null };
    vec![
        text(database),
        text(name),
        text(kind),
        engine,
        count(table.rows),
        count(table.bytes),
        index,
        text(&table.comment),
    ]
}

fn column_rows(catalogue: &Catalogue, database: &str, name: &str, table: &Table) -> Vec<Vec<Value>> {
    let row = |(at, column): (usize, &crate::catalogue::Column)| {
        // Most versions leave the default empty here.
        let default = column.default.as_deref().filter(|_| catalogue.new_catalogue);
        vec![
            text(database),
            text(name),
            text(&column.name),
            count(at + 1),
            default.map_or(Value::Null, text),
            text(if column.nullable { "YES" } else { "NO" }),
            text(&column.type_text),
            text(if column.key { &table.model[..3] } else { "" }),
            text(""),
            text(&column.comment),
        ]
    };
    table.columns.iter().enumerate().map(row).collect()
}

fn layout_row(database: &str, name: &str, table: &Table) -> Vec<Value> {
    let model = match table.model.as_str() {
        "DUPLICATE" => "DUP_KEYS",
        "UNIQUE" => "UNQ_KEYS",
        "PRIMARY" => "PRI_KEYS",
        _ => "AGG_KEYS",
    };
    vec![
        text(database),
        text(name),
        text(model),
        text(&table.distribution.join(",")),
        text(if table.distribution.is_empty() { "RANDOM" } else { "HASH" }),
        count(table.buckets.unwrap_or(0)),
        text(table.partition.as_ref().map_or("", |by| &by.column)),
        text(&properties_of(table)),
    ]
}

fn properties_of(table: &Table) -> String {
    let mut all = serde_json::Map::new();
    all.insert("replication_num".to_owned(), table.default_replicas.to_string().into());
    all.extend(table.properties.iter().map(|(name, value)| (name.clone(), value.as_str().into())));
    serde_json::Value::Object(all).to_string()
}

/// Columns of the catalogue's own tables, from which a client learns what it can query.
fn own_columns(catalogue: &Catalogue) -> Vec<Vec<Value>> {
    let mut own =
        vec![("information_schema", "schemata", SCHEMATA), ("information_schema", "tables", TABLES)];
    own.push(("information_schema", "columns", COLUMNS));
    if catalogue.new_catalogue {
        match catalogue.product {
            Product::Doris => own.push(("information_schema", "partitions", PARTITIONS)),
            Product::StarRocks => {
                own.push(("information_schema", "tables_config", TABLES_CONFIG));
                own.push(("information_schema", "partitions_meta", PARTITIONS_META));
            }
        }
    }
    for (database, table) in
        [("__internal_schema", "audit_log"), ("starrocks_audit_db__", "starrocks_audit_tbl__")]
    {
        own.extend(audit_log(catalogue, database, table).map(|names| (database, table, names)));
    }
    let row = |(database, table, (at, (name, _))): (&str, &str, (usize, &(&str, Kind)))| {
        let mut row = vec![text(database), text(table), text(name), count(at + 1), Value::Null];
        row.resize(COLUMNS.len(), text(""));
        row
    };
    let columns = own.into_iter().flat_map(|(database, table, names)| {
        names.iter().enumerate().map(move |column| (database, table, column))
    });
    columns.map(row).collect()
}
