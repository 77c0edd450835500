//! Reads. A query is constant SQL with names and values as parameters; reading its answer is a pure function.

mod inspect;
mod sizes;

pub use inspect::{Answers, inspect, tables_of};
pub use sizes::statistics;

use lakeport_sdk::dialect::{
    Connection, Database, DatabasePage, Error, Limits, Page, Query, RowSet, ServerInfo, TableHead, TableName,
    TablePage,
};
use lakeport_sdk::serde_json::json;

use crate::DATABASE;
use crate::describe::PRODUCT;

/// The server's product and version.
pub fn server(connection: &Connection) -> Result<ServerInfo, Error> {
    let version = Query::new("SELECT sqlite_version() AS version").run(connection)?;
    let options =
        Query::new("SELECT o.compile_options AS name FROM pragma_compile_options AS o").run(connection)?;
    server_of(&version, &options)
}

/// The server described by these answers.
pub fn server_of(version: &RowSet, options: &RowSet) -> Result<ServerInfo, Error> {
    let row = version.first().ok_or_else(|| Error::bad_answer("SQLite did not say its version"))?;
    let options: Vec<&str> = options.iter().map(|option| option.text("name")).collect::<Result<_, _>>()?;
    let has = |name: &str| options.contains(&name);
    Ok(ServerInfo {
        product: PRODUCT.to_owned(),
        version: row.text("version")?.to_owned(),
        facts: json!({
            "dbstat": has("ENABLE_DBSTAT_VTAB"),
            "foreignKeysByDefault": has("DEFAULT_FOREIGN_KEYS=1") || has("DEFAULT_FOREIGN_KEYS"),
        })
        .to_string(),
    })
}

/// The only database of the file.
pub fn databases(page: &Page) -> DatabasePage {
    let databases = match page.cursor {
        None => vec![Database { name: DATABASE.to_owned(), comment: String::new() }],
        Some(_) => Vec::new(),
    };
    DatabasePage { databases, next: None }
}

/// Tables and views, ordered by name; the cursor is the last name.
pub fn tables(connection: &Connection, database: &str, page: &Page) -> Result<TablePage, Error> {
    in_main(database)?;
    let rows =
        tables_query(page).run_within(connection, Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 })?;
    page_of(&rows, page.limit)
}

/// One more than the limit, to detect further ones.
pub fn tables_query(page: &Page) -> Query {
    Query::new(
        "SELECT l.name AS name, l.type AS kind FROM pragma_table_list AS l \
         WHERE l.schema = 'main' AND l.type IN ('table', 'view', 'virtual') \
         AND lower(substr(l.name, 1, 7)) <> 'sqlite_' AND l.name > ",
    )
    .value(page.cursor.clone().unwrap_or_default())
    .sql(" ORDER BY l.name LIMIT ")
    .value(i64::from(page.limit) + 1)
}

/// The page of these rows. If the host cut them off, the page is shorter and has a cursor.
pub fn page_of(rows: &RowSet, limit: u32) -> Result<TablePage, Error> {
    let mut tables = rows
        .iter()
        .map(|row| {
            let kind = match row.text("kind")? {
                "virtual" => "external",
                kind => kind,
            };
            let name = row.text("name")?.to_owned();
            Ok(TableHead { name, kind: kind.to_owned(), comment: String::new() })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let more = rows.truncated || tables.len() > limit as usize;
    tables.truncate(limit as usize);
    if more && tables.is_empty() {
        return Err(Error::limit_exceeded("not even one table's name fits into an answer"));
    }
    let next = tables.last().filter(|_| more).map(|last| last.name.clone());
    Ok(TablePage { tables, next })
}

/// The statements that create the table, its indexes and its triggers.
pub fn ddl(connection: &Connection, table: &TableName) -> Result<String, Error> {
    in_main(&table.database)?;
    let rows = Query::new(
        "SELECT s.type AS kind, s.name AS name, s.sql AS sql FROM sqlite_schema AS s \
         WHERE s.sql IS NOT NULL AND s.tbl_name = ",
    )
    .value(table.name.as_str())
    .run(connection)?;
    ddl_of(&rows, table)
}

/// The table's own statement first, then the others by kind and name.
pub fn ddl_of(rows: &RowSet, table: &TableName) -> Result<String, Error> {
    let mut parts = rows
        .iter()
        .map(|row| {
            let kind = row.text("kind")?;
            Ok((!matches!(kind, "table" | "view"), kind, row.text("name")?, row.text("sql")?))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    parts.sort_unstable();
    match parts.first() {
        Some((false, ..)) => {
            Ok(parts.iter().map(|(.., sql)| format!("{sql};")).collect::<Vec<_>>().join("\n\n"))
        }
        _ => Err(no_table(table)),
    }
}

fn in_main(database: &str) -> Result<(), Error> {
    if database == DATABASE {
        return Ok(());
    }
    Err(Error::not_found(format!("a SQLite file has the one database {DATABASE:?}, not {database:?}")))
}

fn no_table(table: &TableName) -> Error {
    Error::not_found(format!("there is no table {:?} in the file", table.name))
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
