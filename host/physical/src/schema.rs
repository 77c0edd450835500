//! What is in a database by the host's own look at it, so that nothing a dialect says has to be believed:
//! which objects there are, how many rows a table has, which foreign keys lead nowhere.

use std::collections::BTreeSet;
use std::time::Duration;

use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;

use crate::session::{Bounds, Session};

/// Bounds of the host's own looks.
const OWN: Bounds =
    Bounds { max_rows: 1_000_000, max_bytes: 256 * 1024 * 1024, timeout: Duration::from_secs(120) };

/// A table, view, index or trigger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SchemaObject {
    pub kind: String,
    pub name: String,
    /// The table that it belongs to; its own name for tables and views.
    pub table: String,
}

/// All objects but those that SQLite makes for itself.
pub(crate) async fn objects(session: &Session) -> Result<BTreeSet<SchemaObject>, Error> {
    let sql =
        "SELECT type, name, tbl_name FROM main.sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
    let rows = rows(session, sql, Vec::new()).await?;
    let objects = rows.into_iter().map(|row| match row.as_slice() {
        [Cell::Text(kind), Cell::Text(name), Cell::Text(table)] => {
            Ok(SchemaObject { kind: kind.clone(), name: name.clone(), table: table.clone() })
        }
        _ => Err(error("upstream_failed", "the database's own schema cannot be read")),
    });
    objects.collect()
}

/// How many rows a table has.
pub(crate) async fn row_count(session: &Session, table: &str) -> Result<i64, Error> {
    let sql = format!("SELECT count(*) FROM main.\"{}\"", table.replace('"', "\"\""));
    match rows(session, &sql, Vec::new()).await?.first().map(Vec::as_slice) {
        Some([Cell::Integer(count)]) => Ok(*count),
        _ => Err(error("upstream_failed", "the rows of the table could not be counted")),
    }
}

/// Foreign keys that lead nowhere, counted by table, parent and key.
pub(crate) async fn broken_foreign_keys(session: &Session) -> Result<Vec<Vec<Cell>>, Error> {
    let sql = "SELECT \"table\", parent, fkid, count(*) FROM pragma_foreign_key_check \
               GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    rows(session, sql, Vec::new()).await
}

async fn rows(session: &Session, sql: &str, binds: Vec<Cell>) -> Result<Vec<Vec<Cell>>, Error> {
    let answer = session.read(&ReadStatement { sql: sql.to_owned(), binds }, OWN).await?;
    if answer.truncated {
        return Err(error("limit_exceeded", "the database's schema is larger than the host reads"));
    }
    Ok(answer.rows)
}
