//! Finds the catalogue's tables that a task's SQL reads and writes.
//!
//! A name is looked up in the data source where the text runs; an ambiguous name has no table.

use std::collections::{BTreeSet, HashMap};
use std::num::NonZero;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_catalog::{Entry, Index};
use lakeport_sql::lineage::{Found, Name, SqlError};
use percent_encoding::percent_decode_str;
use schemars::JsonSchema;
use serde::Serialize;

use crate::datasources::Datasource;
use crate::tables::Catalog;

/// Threads that parse the texts of one request.
const THREADS_MAX: usize = 4;
/// Tables that a sentence names.
const NAMED_MAX: usize = 10;

/// The tables that a text of SQL reads and writes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParsedSql {
    /// Tables that it reads and has not created itself.
    pub inputs: Vec<ParsedName>,
    /// Tables that it writes and leaves behind.
    pub outputs: Vec<ParsedName>,
    /// One per statement that could not be parsed; the others were.
    pub errors: Vec<ParseError>,
    /// Interpretations that may surprise.
    pub warnings: Vec<String>,
}

/// A table named in SQL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParsedName {
    /// As written, without quotes.
    pub name: String,
    /// Null: unknown or ambiguous in the catalogue.
    pub table_id: Option<i64>,
    /// The catalogue has several tables that it may mean.
    #[serde(skip)]
    pub is_ambiguous: bool,
}

impl ParsedName {
    /// The table's name in lower case.
    pub fn table(&self) -> String {
        self.name.rsplit('.').next().unwrap_or_default().to_lowercase()
    }

    /// Whether it may mean the table of these names; without a database it may mean one of any.
    pub fn may_be(&self, db_name: &str, table_name: &str) -> bool {
        let mut parts = self.name.rsplit('.');
        let is_table = parts.next().is_some_and(|part| same(part, table_name));
        is_table && parts.next().is_none_or(|part| same(part, db_name))
    }
}

impl ParsedSql {
    /// Why no order of tasks follows from those of these names that have no table, one sentence for each reason.
    pub fn unknown(&self, is_asked: impl Fn(&ParsedName) -> bool) -> Vec<String> {
        let all = || {
            let names = self.inputs.iter().chain(&self.outputs);
            names.filter(|name| name.table_id.is_none() && is_asked(name))
        };
        let unknown = named(all().filter(|name| !name.is_ambiguous)).map(|names| {
            format!(
                "the catalogue does not have {names}, so no order of tasks follows from it; synchronise the data source \
                 or create the table, then save the task's `sqlContent` again"
            )
        });
        let ambiguous = named(all().filter(|name| name.is_ambiguous)).map(|names| {
            format!(
                "the catalogue has several tables called {names}, so no order of tasks follows from it; write it with \
                 its database"
            )
        });
        unknown.into_iter().chain(ambiguous).collect()
    }
}

/// The first of these names, each once, in quotes; `None` if there are none.
pub fn named<'n>(names: impl Iterator<Item = &'n ParsedName>) -> Option<String> {
    let names: BTreeSet<&str> = names.map(|name| name.name.as_str()).collect();
    let first: Vec<String> = names.iter().take(NAMED_MAX).map(|name| format!("`{name}`")).collect();
    let rest = names.len() - first.len();
    match first.is_empty() {
        true => None,
        false if rest > 0 => Some(format!("{} and {rest} more", first.join(", "))),
        false => Some(first.join(", ")),
    }
}

/// A statement that could not be parsed.
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

/// Finds the tables of a text in the catalogue: in the data source, or in all without one.
pub async fn bindings_in(
    catalog: &Catalog,
    datasource: Option<&Datasource>,
    dialect: &str,
    sql: &str,
) -> Result<ParsedSql, Error> {
    let (dialect, sql) = (dialect.to_owned(), sql.to_owned());
    // A megabyte takes time, which would block threads that answer requests.
    let found = tokio::task::spawn_blocking(move || lakeport_sql::lineage::tables(&dialect, &sql));
    let found = found.await.map_err(Error::internal)?;
    catalog.caught_up().await?;
    let index = catalog.read();
    let candidates = candidates(&index, datasource, found.inputs.iter().chain(&found.outputs));
    Ok(resolved(&candidates, datasource, found))
}

/// The same for many texts, each with its data source; without one, its dialect is `ansi`.
pub async fn bindings_in_all(
    catalog: &Catalog,
    texts: Vec<(Option<&Datasource>, String)>,
) -> Result<Vec<ParsedSql>, Error> {
    let sources: Vec<Option<&Datasource>> = texts.iter().map(|(source, _)| *source).collect();
    let texts: Vec<(String, String)> = texts
        .into_iter()
        .map(|(source, sql)| (source.map_or("ansi", |source| &source.kind).to_owned(), sql))
        .collect();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(THREADS_MAX);
    let share = texts.len().div_ceil(threads).max(1);
    let texts = Arc::new(texts);
    let parts = (0..texts.len()).step_by(share).map(|from| {
        let texts = Arc::clone(&texts);
        tokio::task::spawn_blocking(move || {
            let some = &texts[from..texts.len().min(from + share)];
            let some: Vec<(&str, &str)> =
                some.iter().map(|(dialect, sql)| (dialect.as_str(), sql.as_str())).collect();
            lakeport_sql::lineage::tables_of(&some)
        })
    });
    let mut found = Vec::with_capacity(texts.len());
    for part in parts.collect::<Vec<_>>() {
        found.extend(part.await.map_err(Error::internal)?);
    }
    catalog.caught_up().await?;
    let index = catalog.read();
    // One walk over the catalogue for each data source.
    let mut of_source: HashMap<Option<i64>, Vec<&Name>> = HashMap::new();
    for (source, found) in sources.iter().zip(&found) {
        let names = of_source.entry(source.map(|source| source.id)).or_default();
        names.extend(found.inputs.iter().chain(&found.outputs));
    }
    let mut candidates_of: HashMap<Option<i64>, HashMap<String, Candidates<'_>>> = HashMap::new();
    for source in &sources {
        let id = source.map(|source| source.id);
        if let Some(names) = of_source.remove(&id) {
            candidates_of.insert(id, candidates(&index, *source, names.into_iter()));
        }
    }
    let all = sources.iter().zip(found);
    Ok(all
        .map(|(source, found)| resolved(&candidates_of[&source.map(|one| one.id)], *source, found))
        .collect())
}

/// The tables that a name may refer to, with the quality of each match.
#[derive(Default)]
struct Candidates<'i>(Vec<&'i Entry>);

fn resolved(
    candidates: &HashMap<String, Candidates<'_>>,
    datasource: Option<&Datasource>,
    found: Found,
) -> ParsedSql {
    let place = Place::of(datasource);
    let parsed = |name: Name| {
        let candidates = candidates.get(&name.table.to_lowercase());
        let entry = candidates.and_then(|candidates| candidates.meant(&name, &place));
        let is_ambiguous =
            entry.is_none() && name.schema.is_none() && candidates.is_some_and(|all| all.0.len() > 1);
        ParsedName { table_id: entry.map(|entry| entry.id), name: name.written, is_ambiguous }
    };
    ParsedSql {
        inputs: found.inputs.into_iter().map(parsed).collect(),
        outputs: found.outputs.into_iter().map(parsed).collect(),
        errors: found.errors.into_iter().map(ParseError::from).collect(),
        warnings: found.warnings,
    }
}

/// One walk over the catalogue for all names: the live tables by lower-case table name.
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
    /// The matching table: in the named database, or else the default one, or else the only match; an exact
    /// match wins over one in another case.
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

/// The defaults for omitted parts of a name.
#[derive(Default)]
struct Place {
    /// The database in which a name without one is looked up first.
    database: Option<String>,
    /// The valid first part of a name of three parts: others are on another server, or in another database.
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

/// The connection's database: `mysql://user@host:port/database?options`.
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
            has_drift: false,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 1,
            updated_at_ms: 1,
        }
    }

    #[test]
    fn names_of_other_catalogs_are_ignored() {
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
