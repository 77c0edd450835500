//! Reads. A query is constant SQL with names and values as parameters; reading its answer is a pure function.

mod access;
mod assemble;
mod counters;
mod general_log;
mod inspect;
mod sizes;

pub use access::access;
pub use inspect::inspect;
pub use sizes::statistics;

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{
    Cell, Connection, Database, DatabasePage, Error, Limits, Page, Query, RowSet, ServerInfo, TableHead,
    TableName, TablePage,
};
use lakeport_sdk::serde_json::json;

use crate::describe::HIDDEN_DATABASES;
use crate::server::{MARIADB, MYSQL, version};

/// Variables that plans and reads depend on.
const VARIABLES: [&str; 8] = [
    "version",
    "version_comment",
    "sql_mode",
    "lower_case_table_names",
    "explicit_defaults_for_timestamp",
    "information_schema_stats_expiry",
    "innodb_page_size",
    "sql_generate_invisible_primary_key",
];

/// The oldest supported MariaDB.
const OLDEST_MARIADB: (u32, u32, u32) = (10, 6, 0);
/// The oldest supported MySQL: it has the catalogue's CHECK_CONSTRAINTS and VIEW_TABLE_USAGE, and casts to
/// DOUBLE.
const OLDEST_MYSQL: (u32, u32, u32) = (8, 0, 17);

/// Engines whose tables are stored elsewhere.
const EXTERNAL_ENGINES: [&str; 7] =
    ["FEDERATED", "CONNECT", "SPIDER", "S3", "MRG_MyISAM", "OQGRAPH", "BLACKHOLE"];

/// A source of answers.
pub trait Ask {
    /// Runs one query with a time limit (0: the host's own); the answer may be truncated.
    fn ask_within(&self, query: Query, timeout_ms: u32) -> Result<RowSet, Error>;

    /// Runs one query; the answer may be truncated.
    fn ask(&self, query: Query) -> Result<RowSet, Error> {
        self.ask_within(query, 0)
    }
}

impl Ask for Connection {
    fn ask_within(&self, query: Query, timeout_ms: u32) -> Result<RowSet, Error> {
        query.run_within(self, Limits { max_rows: 0, max_bytes: 0, timeout_ms })
    }
}

/// Requires a complete answer: missing rows must not count as absent objects.
fn whole(ask: &dyn Ask, query: Query) -> Result<RowSet, Error> {
    let rows = ask.ask(query)?;
    if rows.truncated {
        let message = format!("the database's answer was cut off after {} rows", rows.rows.len());
        return Err(Error::limit_exceeded(message));
    }
    Ok(rows)
}

/// A required text, in any of the drivers' representations.
fn text(row: &Row<'_>, column: &str) -> Result<String, Error> {
    Ok(optional_text(row, column)?.unwrap_or_default())
}

/// A text; `None` for NULL.
fn optional_text(row: &Row<'_>, column: &str) -> Result<Option<String>, Error> {
    match row.cell(column)? {
        Cell::Null => Ok(None),
        Cell::Text(text) => Ok(Some(text.clone())),
        Cell::Integer(number) => Ok(Some(number.to_string())),
        Cell::Bytes(bytes) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
        _ => row.optional_text(column).map(|text| text.map(str::to_owned)),
    }
}

/// The server's product and version.
pub fn server(ask: &dyn Ask) -> Result<ServerInfo, Error> {
    let query = Query::new("SHOW VARIABLES WHERE Variable_name IN (").values(VARIABLES).sql(")");
    server_of(&whole(ask, query)?)
}

/// The server described by these variables.
pub fn server_of(variables: &RowSet) -> Result<ServerInfo, Error> {
    let mut known = std::collections::BTreeMap::new();
    for row in variables.iter() {
        known.insert(text(&row, "Variable_name")?.to_ascii_lowercase(), text(&row, "Value")?);
    }
    let of = |name: &str| known.get(name).map(String::as_str);
    let said = of("version").ok_or_else(|| Error::bad_answer("the server did not say its version"))?;
    let is_mariadb = [Some(said), of("version_comment")]
        .iter()
        .flatten()
        .any(|text| text.to_ascii_lowercase().contains("mariadb"));
    let (product, (major, minor, patch)) =
        if is_mariadb { (MARIADB, OLDEST_MARIADB) } else { (MYSQL, OLDEST_MYSQL) };
    if version(said) < (major, minor, patch) {
        let message = format!("{product} {said} is too old; {major}.{minor}.{patch} would do");
        return Err(Error::unsupported(message));
    }
    let number = |name: &str| of(name).and_then(|text| text.parse::<i64>().ok());
    let is_on = |name: &str| of(name).is_some_and(|text| matches!(text, "ON" | "1"));
    Ok(ServerInfo {
        product: product.to_owned(),
        version: said.to_owned(),
        facts: json!({
            "sqlMode": of("sql_mode").unwrap_or_default(),
            "lowerCaseTableNames": number("lower_case_table_names"),
            "explicitDefaultsForTimestamp": is_on("explicit_defaults_for_timestamp"),
            "invisiblePrimaryKey": is_on("sql_generate_invisible_primary_key"),
            "sizesCachedS": number("information_schema_stats_expiry"),
            "pageBytes": number("innodb_page_size"),
        })
        .to_string(),
    })
}

/// Databases, ordered by name; the cursor is the last name.
pub fn databases(ask: &dyn Ask, page: &Page) -> Result<DatabasePage, Error> {
    let query = Query::new(
        "SELECT s.SCHEMA_NAME AS name FROM information_schema.SCHEMATA AS s \
         WHERE LOWER(s.SCHEMA_NAME) NOT IN (",
    )
    .values(HIDDEN_DATABASES)
    .sql(") AND CONVERT(s.SCHEMA_NAME USING utf8mb4) COLLATE utf8mb4_bin > ")
    .value(page.cursor.clone().unwrap_or_default())
    .sql(" ORDER BY CONVERT(s.SCHEMA_NAME USING utf8mb4) COLLATE utf8mb4_bin LIMIT ")
    .value(i64::from(page.limit) + 1);
    let rows = ask.ask(query)?;
    let database = |row: Row<'_>| Ok(Database { name: text(&row, "name")?, comment: String::new() });
    let mut databases = rows.iter().map(database).collect::<Result<Vec<_>, Error>>()?;
    let more = cut(&mut databases, &rows, page.limit)?;
    let next = databases.last().filter(|_| more).map(|last| last.name.clone());
    Ok(DatabasePage { databases, next })
}

/// Tables and views, ordered by name; the cursor is the last name.
///
/// Queries the names first, for which MariaDB opens no table; then the details of the page's tables.
pub fn tables(ask: &dyn Ask, database: &str, page: &Page) -> Result<TablePage, Error> {
    let query =
        Query::new("SELECT t.TABLE_NAME AS name FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA = ")
            .value(database)
            .sql(" AND CONVERT(t.TABLE_NAME USING utf8mb4) COLLATE utf8mb4_bin > ")
            .value(page.cursor.clone().unwrap_or_default())
            .sql(" ORDER BY CONVERT(t.TABLE_NAME USING utf8mb4) COLLATE utf8mb4_bin LIMIT ")
            .value(i64::from(page.limit) + 1);
    let rows = ask.ask(query)?;
    let mut names = rows.iter().map(|row| text(&row, "name")).collect::<Result<Vec<_>, Error>>()?;
    let more = cut(&mut names, &rows, page.limit)?;
    let next = names.last().filter(|_| more).cloned();
    if names.is_empty() {
        return Ok(TablePage { tables: Vec::new(), next });
    }
    let heads =
        whole(ask, inspect::heads_query(database, &names.iter().map(String::as_str).collect::<Vec<_>>()))?;
    Ok(TablePage { tables: heads_of(&names, &heads)?, next })
}

/// The heads of these names, in the same order; omits objects that are not tables.
pub fn heads_of(names: &[String], heads: &RowSet) -> Result<Vec<TableHead>, Error> {
    let mut tables = Vec::new();
    for name in names {
        let is_own = |row: &Row<'_>| text(row, "name").is_ok_and(|known| known == *name);
        let Some(row) = heads.iter().find(is_own) else { continue };
        if let Some(kind) = kind_of(&row)? {
            let comment = if kind == "view" { String::new() } else { text(&row, "comment")? };
            tables.push(TableHead { name: name.clone(), kind: kind.to_owned(), comment });
        }
    }
    Ok(tables)
}

/// The kind of table; `None` for other objects, such as a sequence.
fn kind_of(row: &Row<'_>) -> Result<Option<&'static str>, Error> {
    let engine = text(row, "engine")?;
    Ok(match text(row, "kind")?.as_str() {
        "BASE TABLE" if EXTERNAL_ENGINES.iter().any(|known| known.eq_ignore_ascii_case(&engine)) => {
            Some("external")
        }
        "BASE TABLE" | "SYSTEM VERSIONED" => Some("table"),
        "VIEW" | "SYSTEM VIEW" => Some("view"),
        _ => None,
    })
}

/// Cuts a page to its length. If the host truncated the answer, the page is shorter and has a cursor.
fn cut<T>(items: &mut Vec<T>, rows: &RowSet, limit: u32) -> Result<bool, Error> {
    let more = rows.truncated || items.len() > limit as usize;
    items.truncate(limit as usize);
    if more && items.is_empty() {
        return Err(Error::limit_exceeded("not even one name fits into an answer"));
    }
    Ok(more)
}

/// The server's statement that creates the table or view.
pub fn ddl(ask: &dyn Ask, table: &TableName) -> Result<String, Error> {
    let query = Query::new("SHOW CREATE TABLE ").name([&table.database, &table.name]);
    let rows = whole(ask, query).map_err(|error| missing(error, table))?;
    ddl_of(&rows, table)
}

/// Takes the statement from the answer; its column's name depends on the kind of object.
pub fn ddl_of(rows: &RowSet, table: &TableName) -> Result<String, Error> {
    let row = rows.first().ok_or_else(|| no_table(table))?;
    let column = rows
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .find(|name| matches!(*name, "Create Table" | "Create View"));
    let column = column.ok_or_else(|| Error::bad_answer("SHOW CREATE TABLE says no statement"))?;
    Ok(format!("{};", text(&row, column)?))
}

/// `ER_NO_SUCH_TABLE` and `ER_BAD_DB_ERROR` mean that the table does not exist.
fn missing(error: Error, table: &TableName) -> Error {
    let code = error.upstream.as_ref().and_then(|upstream| upstream.code.clone()).unwrap_or_default();
    if matches!(code.as_str(), "1146" | "42S02" | "1049") { no_table(table) } else { error }
}

fn no_table(table: &TableName) -> Error {
    Error::not_found(format!("there is no table {:?} in {:?}", table.name, table.database))
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
