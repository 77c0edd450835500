//! From SQL to tables of the catalogue: which of them a task's text reads and writes.
//!
//! Its one idea: a name is looked for where the text runs, in its data source, and where more than one table could
//! be meant none is taken.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_catalog::{Entry, Index};
use lakeport_sql::lineage::{Found, Name, SqlError};
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::Serialize;

use crate::datasources::Datasource;
use crate::tables::Catalog;

/// What a text of SQL reads and writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParsedSql {
    /// What it reads and has not made itself.
    pub inputs: Vec<ParsedName>,
    /// What it writes and leaves behind.
    pub outputs: Vec<ParsedName>,
    /// One for each statement that could not be read; the others were.
    pub errors: Vec<ParseError>,
    /// What was understood in a way that may surprise.
    pub warnings: Vec<String>,
}

/// A table that SQL names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParsedName {
    /// As it is written, without quotes.
    pub name: String,
    /// Null: the catalogue has no such table, or more than one that could be meant.
    pub table_id: Option<i64>,
}

/// Where SQL could not be read, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParseError {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    pub message: String,
}

impl From<SqlError> for ParseError {
    fn from(error: SqlError) -> ParseError {
        ParseError { line: error.line, column: error.column, message: error.message }
    }
}

/// Finds the tables of a text in the catalogue: those of the data source, or without one those of all.
pub async fn bindings_in(
    catalog: &Catalog,
    datasource: Option<&Datasource>,
    dialect: &str,
    sql: &str,
) -> Result<ParsedSql, Error> {
    let (dialect, sql) = (dialect.to_owned(), sql.to_owned());
    // A megabyte takes its time, and threads that answer requests have none.
    let found = tokio::task::spawn_blocking(move || lakeport_sql::lineage::tables(&dialect, &sql));
    let found = found.await.map_err(Error::internal)?;
    catalog.caught_up().await?;
    Ok(resolved(&catalog.read(), datasource, found))
}

/// The tables that a name could mean, and how well each fits.
#[derive(Default)]
struct Candidates<'i>(Vec<&'i Entry>);

fn resolved(index: &Index, datasource: Option<&Datasource>, found: Found) -> ParsedSql {
    let place = Place::of(datasource);
    let candidates = candidates(index, datasource, found.inputs.iter().chain(&found.outputs));
    let parsed = |name: Name| {
        let candidates = candidates.get(&name.table.to_lowercase());
        let entry = candidates.and_then(|candidates| candidates.meant(&name, &place));
        ParsedName { table_id: entry.map(|entry| entry.id), name: name.written }
    };
    ParsedSql {
        inputs: found.inputs.into_iter().map(parsed).collect(),
        outputs: found.outputs.into_iter().map(parsed).collect(),
        errors: found.errors.into_iter().map(ParseError::from).collect(),
        warnings: found.warnings,
    }
}

/// One walk over the catalogue for all names: by table name in lower case, the live tables of that name.
fn candidates<'i, 'n>(
    index: &'i Index,
    datasource: Option<&Datasource>,
    names: impl Iterator<Item = &'n Name>,
) -> HashMap<String, Candidates<'i>> {
    let mut candidates: HashMap<String, Candidates<'_>> =
        names.map(|name| (name.table.to_lowercase(), Candidates::default())).collect();
    if candidates.is_empty() {
        return candidates;
    }
    // A table without a data source uses the default one.
    let is_there = |entry: &Entry| match datasource {
        None => true,
        Some(source) => entry.cluster_id.map_or(source.is_default, |id| id == source.id),
    };
    let mut folded = String::new();
    for entry in index.iter().filter(|entry| !entry.is_deprecated && is_there(entry)) {
        folded.clear();
        folded.extend(entry.table_name.chars().flat_map(char::to_lowercase));
        if let Some(candidates) = candidates.get_mut(folded.as_str()) {
            candidates.0.push(entry);
        }
    }
    candidates
}

impl<'i> Candidates<'i> {
    /// The one that is meant: of the database that is named, else of the default one, else the only one there is;
    /// as it is written, else whatever its case.
    fn meant(&self, name: &Name, place: &Place) -> Option<&'i Entry> {
        if name.catalog.as_deref().is_some_and(|catalog| !place.is_catalog(catalog)) {
            return None;
        }
        let in_db = |db: &str| {
            let exactly = self.only(|entry| *entry.db_name == *db && *entry.table_name == *name.table);
            exactly.or_else(|| self.only(|entry| same(&entry.db_name, db)))
        };
        match &name.schema {
            Some(schema) => in_db(schema),
            None => place
                .database
                .as_deref()
                .and_then(in_db)
                .or_else(|| self.only(|entry| *entry.table_name == *name.table))
                .or_else(|| self.only(|_| true)),
        }
    }

    fn only(&self, fits: impl Fn(&Entry) -> bool) -> Option<&'i Entry> {
        let mut fitting = self.0.iter().filter(|entry| fits(entry));
        let first = fitting.next()?;
        fitting.next().is_none().then_some(*first)
    }
}

fn same(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// What the parts that a name leaves out are, where the text runs.
#[derive(Default)]
struct Place {
    /// Where a name without a database is looked for first.
    database: Option<String>,
    /// What a name of three parts may begin with: all else is in another server, or another's database.
    catalog: Option<String>,
}

impl Place {
    fn of(datasource: Option<&Datasource>) -> Place {
        let Some(source) = datasource else { return Place::default() };
        let (database, catalog) = match source.kind.as_str() {
            "sqlite" => (Some("main".to_owned()), None),
            "postgres" => (Some("public".to_owned()), connected(&source.url)),
            "doris" => (connected(&source.url), Some("internal".to_owned())),
            _ => (connected(&source.url), None),
        };
        Place { database, catalog }
    }

    fn is_catalog(&self, name: &str) -> bool {
        self.catalog.as_deref().is_some_and(|own| same(own, name))
    }
}

/// The database of the connection: `mysql://user@host:port/database?options`.
fn connected(url: &str) -> Option<String> {
    let (_, address) = url.split_once("://")?;
    let (_, path) = address.split_once('/')?;
    let database = path.split(['?', '#', '/']).next().unwrap_or_default();
    let database = percent_decode_str(database).decode_utf8_lossy();
    Some(database.into_owned()).filter(|database| !database.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(kind: &str, url: &str) -> Datasource {
        Datasource {
            id: 2,
            name: "a".to_owned(),
            kind: kind.to_owned(),
            url: url.to_owned(),
            read_url: None,
            secret: None,
            read_secret: None,
            options: "{}".to_owned(),
            is_default: false,
            sync_cron: None,
            next_sync_at_ms: None,
            last_sync_time_ms: None,
            created_at_ms: 1,
            updated_at_ms: 1,
        }
    }

    fn orders() -> Entry {
        Entry {
            id: 7,
            cluster_id: Some(2),
            db_name: "ods".into(),
            table_name: "orders".into(),
            table_comment: None,
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            tags: Box::default(),
            is_deprecated: false,
            is_physical: true,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 1,
            updated_at_ms: 1,
        }
    }

    #[test]
    fn a_name_of_another_catalog_is_no_table_of_the_data_source() {
        let doris = source("doris", "mysql://root@host:9030/ods");
        let postgres = source("postgres", "postgres://ann@host/my%20shop?sslmode=require");
        let mysql = source("mysql", "mysql://root@host/ods");
        let orders = orders();
        for (source, sql, is_meant) in [
            (Some(&doris), "SELECT * FROM ods.orders", true),
            (Some(&doris), "SELECT * FROM orders", true),
            (Some(&doris), "SELECT * FROM Internal.ods.orders", true),
            (Some(&doris), "SELECT * FROM hive_cat.ods.orders", false),
            (Some(&postgres), "SELECT * FROM \"my shop\".ods.orders", true),
            (Some(&postgres), "SELECT * FROM other.ods.orders", false),
            (Some(&mysql), "SELECT * FROM ods.ods.orders", false),
            (None, "SELECT * FROM ods.orders", true),
            (None, "SELECT * FROM x.ods.orders", false),
        ] {
            let dialect = source.map_or("ansi", |source| &source.kind);
            let found = lakeport_sql::lineage::tables(dialect, sql);
            let meant = Candidates(vec![&orders]).meant(&found.inputs[0], &Place::of(source));
            assert_eq!(meant.is_some(), is_meant, "{sql}");
        }
    }
}
