//! What one task of one topic may see: the catalogue, a few values, the guard, queries, earlier tables and the
//! lineage. Its one idea: rights are cut once, when the task first looks, and every answer passes by them; tools
//! are lent this and nothing else.
//!
//! Nothing of a user's or a model's SQL goes anywhere but through [`judge`], and then to a session that only reads.

mod catalog;
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
use lakeport_bindings::tool::catalog::{Datasource, Filter, HitPage, Table, TablePage};
use lakeport_bindings::tool::guard::Verdict;
use lakeport_bindings::tool::lineage::{Graph, GraphRequest};
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::samples::FieldSample;
use lakeport_bindings::tool::tables::TableHead;
use lakeport_bindings::tool::tool::Artifact;
use lakeport_plugins::{Answer, Topic};
use tokio::sync::OnceCell;

use crate::agent::Agent;
use results::Kept;
use samples::Cache;
use sources::Sources;

/// Who asks, and what for.
pub struct Asked {
    pub task_id: String,
    pub caller_name: String,
    /// Names of the data sources that may be read; none: all.
    pub datasources: Option<Vec<String>>,
    /// Set once nobody waits for the task any more; what runs in a database ends then.
    pub cancelled: Arc<AtomicBool>,
}

/// What a task of a topic may see.
pub struct TopicAccess {
    state: Arc<Agent>,
    asked: Asked,
    sources: OnceCell<Sources>,
    kept: Kept,
    samples: Cache,
    /// Queries that were run so far.
    queries: AtomicU32,
}

impl TopicAccess {
    pub fn new(state: Arc<Agent>, asked: Asked) -> Arc<TopicAccess> {
        Arc::new(TopicAccess {
            state,
            asked,
            sources: OnceCell::new(),
            kept: Kept::default(),
            samples: Cache::default(),
            queries: AtomicU32::new(0),
        })
    }

    /// Remembers the tables among a call's artifacts, for tools that draw or count them later in the task.
    pub fn keep(&self, call_id: &str, tool: &str, artifacts: &[Artifact]) {
        self.kept.keep(call_id, tool, artifacts);
    }

    /// The data source to use where a question names none: the one that is so by its definition, or else the only
    /// one beside the server's own store.
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

    fn samples(&self, table: u64, fields: Vec<String>, values: u32) -> Answer<'_, Vec<FieldSample>> {
        Box::pin(async move { self.sampled(table, &fields, values).await })
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

/// What the store said; the words of an internal error stay in the log.
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

/// What a search, or a list, goes on from: how many came before.
fn offset_of(page: &Page) -> Result<usize, PluginError> {
    let Some(cursor) = &page.cursor else { return Ok(0) };
    cursor.parse().map_err(|_| error("invalid_input", "the cursor is not one that was given before"))
}

/// Items of one page at most.
const PAGE_MAX: usize = 200;

/// The page's part of the whole, and where to go on.
fn page_of<T>(all: Vec<T>, page: &Page) -> Result<(Vec<T>, Option<String>), PluginError> {
    let (offset, total) = (offset_of(page)?, all.len());
    let size = (page.limit as usize).clamp(1, PAGE_MAX);
    let end = offset.saturating_add(size);
    let next = (end < total).then(|| end.to_string());
    Ok((all.into_iter().skip(offset).take(size).collect(), next))
}

#[cfg(test)]
mod tests;
