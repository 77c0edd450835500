//! Databases and tables in pages. The cursor is the last name.

use lakeport_sdk::dialect::{
    Connection, Database, DatabasePage, Error, Page, Query, RowSet, TableHead, TablePage,
};

use super::{HOSTS, plain};
use crate::describe::HIDDEN;
use crate::server::{Product, Server};

/// Databases except the hidden ones, ordered by name.
pub fn databases(connection: &Connection, page: &Page) -> Result<DatabasePage, Error> {
    let rows = databases_query(page).run_within(connection, HOSTS)?;
    let (names, next) = page_of(&rows, page.limit, |row| row.text("name").map(str::to_owned), Clone::clone)?;
    let databases = names.into_iter().map(|name| Database { name, comment: String::new() }).collect();
    Ok(DatabasePage { databases, next })
}

pub(super) fn databases_query(page: &Page) -> Query {
    Query::new(
        "SELECT s.SCHEMA_NAME AS name FROM information_schema.schemata AS s WHERE s.SCHEMA_NAME NOT IN (",
    )
    .values(HIDDEN)
    .sql(") AND s.SCHEMA_NAME > ")
    .value(page.cursor.clone().unwrap_or_default())
    .sql(" ORDER BY s.SCHEMA_NAME LIMIT ")
    .value(i64::from(page.limit) + 1)
}

/// Tables and views of a database, ordered by name.
pub fn tables(
    connection: &Connection,
    server: &Server,
    database: &str,
    page: &Page,
) -> Result<TablePage, Error> {
    let rows = tables_query(database, page).run_within(connection, HOSTS)?;
    let (tables, next) =
        page_of(&rows, page.limit, |row| head_of(server.product, &row), |head| head.name.clone())?;
    Ok(TablePage { tables, next })
}

pub(super) fn tables_query(database: &str, page: &Page) -> Query {
    Query::new(
        "SELECT t.TABLE_NAME AS name, t.TABLE_TYPE AS kind, t.ENGINE AS engine_name, t.TABLE_COMMENT AS comment_text \
         FROM information_schema.tables AS t WHERE t.TABLE_SCHEMA = ",
    )
    .value(database)
    .sql(" AND t.TABLE_NAME > ")
    .value(page.cursor.clone().unwrap_or_default())
    .sql(" ORDER BY t.TABLE_NAME LIMIT ")
    .value(i64::from(page.limit) + 1)
}

fn head_of(product: Product, row: &lakeport_sdk::Row<'_>) -> Result<TableHead, Error> {
    Ok(TableHead {
        name: row.text("name")?.to_owned(),
        kind: kind_of(product, row).to_owned(),
        comment: plain(row, "comment_text").unwrap_or_default().into_owned(),
    })
}

/// A table's kind from its `kind` and `engine_name`. Doris lists an asynchronous materialized view as a table
/// without an engine.
pub(super) fn kind_of(product: Product, row: &lakeport_sdk::Row<'_>) -> &'static str {
    let upper = |column: &str| plain(row, column).unwrap_or_default().to_ascii_uppercase();
    let (kind, engine) = (upper("kind"), upper("engine_name"));
    if engine.contains("MATERIALIZED") || kind.contains("MATERIALIZED") {
        return "materialized_view";
    }
    if kind.contains("VIEW") {
        return "view";
    }
    if product == Product::Doris && plain(row, "engine_name").is_none() {
        return "materialized_view";
    }
    match engine.as_str() {
        "" | "DORIS" | "STARROCKS" | "OLAP" | "CLOUD_NATIVE" => "table",
        _ => "external",
    }
}

/// The items of these rows, and the cursor. If the host truncated the answer, the page is shorter.
fn page_of<T>(
    rows: &RowSet,
    limit: u32,
    read: impl Fn(lakeport_sdk::Row<'_>) -> Result<T, Error>,
    name: impl Fn(&T) -> String,
) -> Result<(Vec<T>, Option<String>), Error> {
    let mut items = rows.iter().map(read).collect::<Result<Vec<_>, Error>>()?;
    let more = rows.truncated || items.len() > limit as usize;
    items.truncate(limit as usize);
    if more && items.is_empty() {
        return Err(Error::limit_exceeded("not even one name fits into an answer"));
    }
    let next = items.last().filter(|_| more).map(name);
    Ok((items, next))
}
