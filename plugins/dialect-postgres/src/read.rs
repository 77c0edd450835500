//! Reads. A query is constant SQL with names and values as parameters; reading its answer is a pure function.
//!
//! All columns are cast to a text, an integer or a truth value, to be independent of how a driver represents
//! the catalogue's own types; and all parameters are cast to the type that they are compared with.

mod access;
mod dependents;
mod inspect;
mod lists;
mod sizes;

pub use access::access;
pub use inspect::{inspect, storage_of};
pub use lists::{databases, tables};
pub use sizes::statistics;

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Connection, Error, Limits, Query, RowSet, ServerInfo, TableName};
use lakeport_sdk::serde_json::json;

use crate::describe::PRODUCT;
use crate::version::{self, OLDEST};

/// The host's own limits.
pub const BOUNDS: Limits = Limits { max_rows: 0, max_bytes: 0, timeout_ms: 0 };

/// A source of answers: the session that the host lends, or, in tests, a server.
pub trait Source {
    /// Runs a query; the caller checks whether the answer was truncated.
    fn ask(&self, query: Query) -> Result<RowSet, Error>;

    /// Runs a query. A truncated answer is `limit_exceeded`.
    fn ask_whole(&self, query: Query) -> Result<RowSet, Error> {
        let rows = self.ask(query)?;
        if rows.truncated {
            let message = format!("the database's answer was cut off after {} rows", rows.rows.len());
            return Err(Error::limit_exceeded(message));
        }
        Ok(rows)
    }
}

impl Source for Connection {
    fn ask(&self, query: Query) -> Result<RowSet, Error> {
        query.run_within(self, BOUNDS)
    }
}

/// The server's product and version.
pub fn server(source: &impl Source) -> Result<ServerInfo, Error> {
    let query = Query::new(
        "SELECT pg_catalog.version() AS banner, \
         pg_catalog.current_setting('server_version') AS version, \
         pg_catalog.current_setting('server_encoding') AS encoding, \
         pg_catalog.current_setting('track_counts') AS track_counts",
    );
    server_of(&source.ask_whole(query)?)
}

/// The server described by this answer.
pub fn server_of(rows: &RowSet) -> Result<ServerInfo, Error> {
    let row = rows.first().ok_or_else(|| Error::bad_answer("PostgreSQL did not say its version"))?;
    let (banner, version) = (row.text("banner")?, row.text("version")?);
    let major = version::major_of(version);
    if !banner.starts_with("PostgreSQL ") || major.is_none_or(|major| major < OLDEST) {
        return Err(Error::unsupported(format!(
            "this dialect serves PostgreSQL from version {OLDEST} on, not {banner:?}"
        )));
    }
    Ok(ServerInfo {
        product: PRODUCT.to_owned(),
        version: version.split(' ').next().unwrap_or(version).to_owned(),
        facts: json!({
            "encoding": row.text("encoding")?,
            "trackCounts": row.text("track_counts")? == "on",
        })
        .to_string(),
    })
}

/// The contract's word for `relkind`.
pub fn kind_of(relkind: &str) -> &'static str {
    match relkind {
        "r" | "p" => "table",
        "v" => "view",
        "m" => "materialized_view",
        _ => "external",
    }
}

/// Relations by name: `(n.nspname = s AND c.relname IN (…)) OR …`, in parentheses.
pub fn places(mut query: Query, tables: &[TableName]) -> Query {
    let mut by_schema: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for table in tables {
        by_schema.entry(&table.database).or_default().insert(&table.name);
    }
    query = query.sql("(FALSE");
    for (schema, names) in by_schema {
        query = text(query.sql(" OR n.nspname = "), schema).sql(" AND c.relname IN (");
        for (index, name) in names.into_iter().enumerate() {
            query = text(if index > 0 { query.sql(", ") } else { query }, name);
        }
        query = query.sql(")");
    }
    query.sql(")")
}

/// Relations by OID: `IN (…)`.
pub fn numbered(mut query: Query, relations: &[i64]) -> Query {
    query = query.sql("IN (");
    for (index, relation) in relations.iter().enumerate() {
        query = if index > 0 { query.sql(", ") } else { query };
        query = query.sql("CAST(").value(*relation).sql(" AS oid)");
    }
    query.sql(")")
}

/// A text.
pub fn text(query: Query, value: &str) -> Query {
    query.sql("CAST(").value(value).sql(" AS text)")
}

/// Rows grouped by their relation, by which they are ordered.
pub struct ByRelation<'a> {
    rows: BTreeMap<i64, Vec<Row<'a>>>,
    /// Where the answer was truncated: this relation and later ones may lack rows.
    cut_at: Option<i64>,
}

impl<'a> ByRelation<'a> {
    /// Groups an answer with a column `relation`.
    pub fn of(set: &'a RowSet) -> Result<ByRelation<'a>, Error> {
        let mut rows: BTreeMap<i64, Vec<Row<'a>>> = BTreeMap::new();
        for row in set.iter() {
            rows.entry(row.integer("relation")?).or_default().push(row);
        }
        let last = rows.last_key_value().map_or(i64::MIN, |(relation, _)| *relation);
        Ok(ByRelation { rows, cut_at: set.truncated.then_some(last) })
    }

    /// The rows of one relation, or `limit_exceeded` if some may be missing.
    pub fn get(&self, relation: i64) -> Result<&[Row<'a>], Error> {
        if self.cut_at.is_some_and(|cut_at| relation >= cut_at) {
            return Err(Error::limit_exceeded("the table did not fit into the answer any more"));
        }
        Ok(self.rows.get(&relation).map(Vec::as_slice).unwrap_or_default())
    }
}

/// The error for an unknown table.
pub fn no_table(table: &TableName) -> Error {
    Error::not_found(format!("there is no table {:?} in the schema {:?}", table.name, table.database))
}

#[cfg(test)]
#[path = "read/tests.rs"]
mod tests;
