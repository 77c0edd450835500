//! The access of one task of one topic: the catalogue, samples, the guard, queries, earlier tables and the
//! lineage. The rights are computed once, when the task first needs them, and all answers respect them; tools
//! get nothing else.
//!
//! A user's or a model's SQL passes [`judge`] and then runs in a read-only session, and nowhere else.

mod catalog;
mod definitions;
mod judge;
mod lineage;
mod own;
mod query;
mod results;
mod samples;
mod search;
mod sources;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32};

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error as PluginError, Page};
use lakeport_bindings::tool::catalog::{Datasource, Filter, HitPage, Table, TableDetails, TablePage};
use lakeport_bindings::tool::guard::Verdict;
use lakeport_bindings::tool::lineage::{Graph, GraphRequest};
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::samples::{FieldSample, FoundValue};
use lakeport_bindings::tool::tables::TableHead;
use lakeport_bindings::tool::tool::Artifact;
use lakeport_plugins::{Answer, Topic};
use tokio::sync::OnceCell;

use crate::agent::Agent;
use crate::queries::Unlogged;
pub use definitions::OfServer as SharedDefinitions;
use results::Kept;
use samples::Cache;
pub use samples::Shared as SharedSamples;
use sources::Sources;

/// The caller, and the task of a request.
pub struct Asked {
    pub task_id: String,
    pub caller_name: String,
    /// Names of the data sources that may be read; `None`: all.
    pub datasources: Option<Vec<String>>,
    /// Set when the task is cancelled; running statements then end.
    pub cancelled: Arc<AtomicBool>,
}

/// The access of a topic's task.
pub struct TopicAccess {
    state: Arc<Agent>,
    asked: Asked,
    sources: OnceCell<Sources>,
    kept: Kept,
    definitions: definitions::OfTask,
    samples: Cache,
    /// The number of queries so far.
    queries: AtomicU32,
    unlogged: Arc<Unlogged>,
}

impl TopicAccess {
    pub fn new(state: Arc<Agent>, asked: Asked) -> Arc<TopicAccess> {
        Arc::new(TopicAccess {
            unlogged: Arc::new(Unlogged::new(state.db.clone())),
            state,
            asked,
            sources: OnceCell::new(),
            kept: Kept::default(),
            definitions: definitions::OfTask::default(),
            samples: Cache::default(),
            queries: AtomicU32::new(0),
        })
    }

    /// Its queries that are not in the log yet.
    pub fn unlogged(&self) -> Arc<Unlogged> {
        Arc::clone(&self.unlogged)
    }

    /// Keeps the tables among a call's artifacts, for tools that draw or count them later in the task.
    pub fn keep(&self, call_id: &str, tool: &str, artifacts: &[Artifact]) {
        self.kept.keep(call_id, tool, artifacts);
    }

    /// The data source for questions that name none: the default one, or else the only one besides the
    /// server's own store.
    pub async fn default_datasource(&self) -> Option<String> {
        let sources = self.sources().await.ok()?;
        sources.default_one().map(|source| source.name.clone())
    }

    async fn sources(&self) -> Result<&Sources, PluginError> {
        let open = || Sources::of(&self.state, self.asked.datasources.as_deref());
        self.sources.get_or_try_init(open).await.map_err(of_store)
    }
}

impl Topic for TopicAccess {
    fn datasources(&self) -> BoxFuture<'_, Vec<Datasource>> {
        Box::pin(async {
            self.sources().await.map_or_else(|_| Vec::new(), |sources| sources.shown(&self.state))
        })
    }

    fn search(&self, text: String, filter: Filter, page: Page) -> Answer<'_, HitPage> {
        Box::pin(async move { self.found(&text, &filter, &page).await })
    }

    fn tables(&self, filter: Filter, page: Page) -> Answer<'_, TablePage> {
        Box::pin(async move { self.listed(&filter, &page).await })
    }

    fn resolve(&self, name: String) -> Answer<'_, Vec<TableHead>> {
        Box::pin(async move { self.resolved(&name).await })
    }

    fn get(&self, ids: Vec<u64>) -> Answer<'_, Vec<Option<Table>>> {
        Box::pin(async move { self.wholes(&ids).await })
    }

    fn details(&self, ids: Vec<u64>) -> Answer<'_, Vec<Option<TableDetails>>> {
        Box::pin(async move { self.details_of(&ids).await })
    }

    fn samples(&self, table: u64, fields: Vec<String>, values: u32) -> Answer<'_, Vec<FieldSample>> {
        Box::pin(async move { self.sampled(table, &fields, values).await })
    }

    fn find(&self, table: u64, fields: Vec<String>, texts: Vec<String>) -> Answer<'_, Vec<FoundValue>> {
        Box::pin(async move { self.values_found(table, &fields, &texts).await })
    }

    fn check(&self, datasource: String, sql: String) -> Answer<'_, Verdict> {
        Box::pin(async move { self.verdict(&datasource, &sql).await })
    }

    fn run(&self, request: QueryRequest) -> Answer<'_, QueryResult> {
        Box::pin(async move { self.queried(&request).await })
    }

    fn results(&self) -> BoxFuture<'_, Vec<EarlierTable>> {
        Box::pin(async { self.kept.tables() })
    }

    fn rows(&self, call_id: String, max_rows: u32) -> Answer<'_, RowSet> {
        Box::pin(async move { self.kept.rows(&call_id, max_rows) })
    }

    fn around(&self, request: GraphRequest) -> Answer<'_, Graph> {
        Box::pin(async move { self.graph(&request).await })
    }
}

/// The store's error; the text of an internal error stays in the log.
fn of_store(cause: Error) -> PluginError {
    match cause {
        Error::Refused(refusal) => {
            PluginError { retryable: refusal.status == 503, ..error("unavailable", refusal.message) }
        }
        Error::Internal(cause) => {
            tracing::error!("a tool was not answered: {cause:#}");
            error("internal", "the server could not answer; its log says why")
        }
    }
}

/// The offset in a cursor: the number of earlier items.
fn offset_of(page: &Page) -> Result<usize, PluginError> {
    let Some(cursor) = &page.cursor else { return Ok(0) };
    cursor.parse().map_err(|_| error("invalid_input", "the cursor is not one that was given before"))
}

/// The most items of a page.
const PAGE_MAX: usize = 200;

/// The page's items, and the next cursor.
fn page_of<T>(all: Vec<T>, page: &Page) -> Result<(Vec<T>, Option<String>), PluginError> {
    let (offset, total) = (offset_of(page)?, all.len());
    let size = (page.limit as usize).clamp(1, PAGE_MAX);
    let end = offset.saturating_add(size);
    let next = (end < total).then(|| end.to_string());
    Ok((all.into_iter().skip(offset).take(size).collect(), next))
}

#[cfg(test)]
mod tests;
