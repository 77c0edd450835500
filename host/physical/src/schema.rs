//! The host's own queries of a database's schema, so that it need not trust the dialect: the objects, the
//! number of rows of a table, the broken foreign keys.
//!
//! A file is read as a whole. On a server others work as well, so only the names that matter are queried.

use std::collections::BTreeSet;
use std::time::Duration;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{CheckedPlan, ReadStatement, Transport};

use crate::errors::is_lost;
use crate::expected;
use crate::script::Bounds;
use crate::session::Session;

/// Limits of the host's own queries.
const OWN: Bounds =
    Bounds { max_rows: 1_000_000, max_bytes: 256 * 1024 * 1024, timeout: Duration::from_secs(120) };

/// A server shows at least this much of a running statement.
const SHOWN_MIN_BYTES: usize = 99;

/// The servers' kinds of tables: MySQL's name, and PostgreSQL's letters for ordinary, partitioned and foreign
/// ones.
const TABLES: [&str; 4] = ["BASE TABLE", "r", "p", "f"];

/// A table, view, index or trigger.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SchemaObject {
    pub kind: String,
    pub name: String,
    /// The table that it belongs to; for tables and views their own name.
    pub table: String,
}

/// The place of a change and the names that matter to it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    database: String,
    names: BTreeSet<String>,
}

impl Place {
    pub fn of(change: &Change, plan: &CheckedPlan) -> Place {
        let subject = expected::subject(change);
        let mut names: BTreeSet<String> = plan.new_names.iter().map(|name| name.name.clone()).collect();
        names.extend(subject.map(|table| table.name.clone()));
        names.extend(expected::current(change).into_iter().flat_map(|table| table.companions.clone()));
        if let Change::RenameTable(change) | Change::RestoreTable(change) = change {
            names.insert(change.new_name.clone());
        }
        Place { database: subject.map(|table| table.database.clone()).unwrap_or_default(), names }
    }

    /// On a file, all objects except SQLite's own; on a server, those with these names.
    pub async fn objects(&self, session: &Session) -> Result<BTreeSet<SchemaObject>, Error> {
        let statement = match session.transport() {
            Transport::Postgres => self.in_postgres(),
            Transport::MySql => self.in_mysql()?,
            Transport::Sqlite | Transport::Http => ReadStatement {
                sql: "SELECT type, name, tbl_name FROM main.sqlite_schema \
                      WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
                    .to_owned(),
                binds: Vec::new(),
            },
        };
        let rows = rows(session, statement).await?;
        let objects = rows.into_iter().map(|row| match row.as_slice() {
            [kind, name, table] => {
                Some(SchemaObject { kind: text(kind)?, name: text(name)?, table: text(table)? })
            }
            [kind, name] => {
                let (kind, name) = (text(kind)?, text(name)?);
                let kind = if TABLES.contains(&kind.as_str()) { "table" } else { "other" };
                Some(SchemaObject { kind: kind.to_owned(), table: name.clone(), name })
            }
            _ => None,
        });
        let objects: Option<BTreeSet<SchemaObject>> = objects.collect();
        objects.ok_or_else(|| error("upstream_failed", "the database's own schema cannot be read"))
    }

    fn in_postgres(&self) -> ReadStatement {
        let names: Vec<String> = (0..self.names.len()).map(|place| format!("${}", place + 2)).collect();
        let sql = format!(
            "SELECT CAST(c.relkind AS text), CAST(c.relname AS text) FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE CAST(n.nspname AS text) = $1 AND CAST(c.relname AS text) IN ({})",
            names.join(", ")
        );
        let binds = [&self.database].into_iter().chain(&self.names).cloned().map(Cell::Text);
        ReadStatement { sql, binds: binds.collect() }
    }

    /// Not every server of the protocol can bind values.
    fn in_mysql(&self) -> Result<ReadStatement, Error> {
        let database = literal(&self.database)?;
        let names = self.names.iter().map(|name| literal(name)).collect::<Result<Vec<_>, _>>()?;
        let of = |names: &str| {
            format!(
                "SELECT t.TABLE_TYPE AS kind, t.TABLE_NAME AS name FROM information_schema.tables AS t \
                 WHERE t.TABLE_SCHEMA = {database} AND t.TABLE_NAME IN ({names})"
            )
        };
        let alike: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let sql = if alike.len() == names.len() {
            of(&names.join(", "))
        } else {
            // If asked for several names that differ in case alone at once, MariaDB finds none.
            names.iter().map(|name| of(name)).collect::<Vec<_>>().join(" UNION ALL ")
        };
        Ok(ReadStatement { sql, binds: Vec::new() })
    }
}

/// Whether the server now runs one of these statements, compared as text, as far as this user may see.
pub(crate) async fn runs_any(session: &Session, statements: &[String]) -> Result<bool, Error> {
    let sql = match session.transport() {
        // It shows only the beginning of a long text.
        Transport::Postgres => {
            "SELECT query FROM pg_catalog.pg_stat_activity WHERE state = 'active' \
             AND pid <> pg_catalog.pg_backend_pid()"
        }
        Transport::MySql => "SELECT INFO FROM information_schema.PROCESSLIST WHERE INFO IS NOT NULL",
        Transport::Sqlite | Transport::Http => return Ok(false),
    };
    let rows = match rows(session, ReadStatement { sql: sql.to_owned(), binds: Vec::new() }).await {
        Err(cause) if is_lost(&cause) => return Err(cause),
        // A server that does not show statements runs them as jobs, which are polled on their own.
        Err(_) => return Ok(false),
        Ok(rows) => rows,
    };
    let running = rows.iter().filter_map(|row| text(row.first()?));
    Ok(running.into_iter().any(|one| {
        let is_cut = one.len() >= SHOWN_MIN_BYTES;
        statements.iter().any(|statement| *statement == one || is_cut && statement.starts_with(&one))
    }))
}

/// Partitions of this table, which every change of it affects, too.
pub(crate) async fn partitions(session: &Session, table: &TableName) -> Result<BTreeSet<String>, Error> {
    if session.transport() != Transport::Postgres {
        return Ok(BTreeSet::new());
    }
    let sql = "SELECT CAST(c.relname AS text) FROM pg_catalog.pg_inherits i \
               JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid \
               JOIN pg_catalog.pg_class p ON p.oid = i.inhparent \
               JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace \
               WHERE CAST(n.nspname AS text) = $1 AND CAST(p.relname AS text) = $2 \
               AND c.relispartition AND c.relnamespace = p.relnamespace";
    let binds = [&table.database, &table.name].map(|name| Cell::Text(name.clone())).into();
    let rows = rows(session, ReadStatement { sql: sql.to_owned(), binds }).await?;
    Ok(rows.iter().filter_map(|row| text(row.first()?)).collect())
}

/// Whether two names are equal: in any case for SQLite, exactly for servers.
pub(crate) fn is_same_name(transport: Transport, one: &str, other: &str) -> bool {
    match transport {
        Transport::Sqlite => one.eq_ignore_ascii_case(other),
        _ => one == other,
    }
}

/// The number of rows of a file's table.
pub(crate) async fn row_count(session: &Session, table: &str) -> Result<i64, Error> {
    let sql = format!("SELECT count(*) FROM main.\"{}\"", table.replace('"', "\"\""));
    match rows(session, ReadStatement { sql, binds: Vec::new() }).await?.first().map(Vec::as_slice) {
        Some([Cell::Integer(count)]) => Ok(*count),
        _ => Err(error("upstream_failed", "the rows of the table could not be counted")),
    }
}

/// Broken foreign keys of a file, counted by table, parent and key.
pub(crate) async fn broken_foreign_keys(session: &Session) -> Result<Vec<Vec<Cell>>, Error> {
    let sql = "SELECT \"table\", parent, fkid, count(*) FROM pragma_foreign_key_check \
               GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
    rows(session, ReadStatement { sql: sql.to_owned(), binds: Vec::new() }).await
}

async fn rows(session: &Session, statement: ReadStatement) -> Result<Vec<Vec<Cell>>, Error> {
    let answer = session.read(&statement, OWN).await?;
    if answer.truncated {
        return Err(error("limit_exceeded", "the database's schema is larger than the host reads"));
    }
    Ok(answer.rows)
}

/// A literal for servers that treat backslashes as escapes, which the host's sessions ensure.
fn literal(text: &str) -> Result<String, Error> {
    if text.contains('\0') {
        return Err(error("invalid_input", "a name has no NUL"));
    }
    Ok(format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''")))
}

fn text(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Text(text) => Some(text.clone()),
        Cell::Bytes(bytes) => String::from_utf8(bytes.clone()).ok(),
        _ => None,
    }
}
