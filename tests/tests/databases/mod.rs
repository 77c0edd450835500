//! Area C and questions on PostgreSQL and MariaDB, over HTTP and with real servers (contract, sections 1, 2,
//! 4). Tests check databases by sessions of their own.

mod changes;
mod failures;
mod hostile;
mod kept;
mod left;
mod questions;
mod statistics;
mod sync;
mod tasks;

use std::time::Duration;

use lakeport_tests::{Lake, Warehouse};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
const SOURCES: &str = "/api/v1/datasources";
const SOON: Duration = Duration::from_secs(20);
/// Longer than a lease and the interval in which servers look for abandoned work.
const TAKEN_OVER: Duration = Duration::from_secs(90);

fn path(id: i64) -> String {
    format!("{TABLES}/{id}")
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// `new`, `updated` and `missing` of a synchronization.
fn counts(sync: &Value, what: &str) -> [i64; 3] {
    ["new", "updated", "missing"].map(|which| sync[what][which].as_i64().expect("a count"))
}

/// The catalogue's tables of a data source, by database and name.
fn known(lake: &Lake, shop: &Warehouse) -> Vec<Value> {
    let page = lake.server.get(&format!("{TABLES}?pageSize=500&clusterId={}", shop.source)).data();
    let mut records = list(&page["records"]).to_vec();
    records.sort_by_key(|table| (text(table, "dbName").to_owned(), text(table, "tableName").to_owned()));
    records
}

/// The id of a synced table.
fn id_named(lake: &Lake, shop: &Warehouse, name: &str) -> i64 {
    let all = known(lake, shop);
    let found = all.iter().find(|table| text(table, "tableName") == name);
    found.and_then(|table| table["id"].as_i64()).unwrap_or_else(|| panic!("no {name} in {all:?}"))
}

fn fields(lake: &Lake, id: i64) -> Vec<Value> {
    list(&lake.server.get(&format!("{}/fields", path(id))).data()).to_vec()
}

fn field_names(lake: &Lake, id: i64) -> Vec<String> {
    fields(lake, id).iter().map(|field| text(field, "fieldName").to_owned()).collect()
}

/// The path of a field.
fn field_path(lake: &Lake, id: i64, name: &str) -> String {
    let fields = fields(lake, id);
    let field = fields.iter().find(|field| field["fieldName"] == name);
    format!("{}/fields/{}", path(id), field.unwrap_or_else(|| panic!("no {name} in {fields:?}"))["id"])
}

/// `orders` with a key and a number, created in its database.
fn orders(lake: &Lake, shop: &Warehouse) -> i64 {
    let integer = shop.kind.integer();
    lake.physical_table_of(shop, "orders", &[("id", integer), ("total", integer)])
}

/// A form for a further field.
fn more(shop: &Warehouse) -> Value {
    json!({ "fieldName": "more", "fieldType": shop.kind.text() })
}

/// Checks that catalogue and database have the same fields, without drift.
#[track_caller]
fn agree(lake: &Lake, shop: &Warehouse, id: i64) {
    let table = lake.server.get(&path(id)).data();
    assert_eq!(field_names(lake, id), shop.columns(text(&table, "tableName")));
    assert_eq!(table["drift"], json!([]), "{table}");
}
