//! The tables that a task's SQL reads and writes, for the log of queries: access statistics include workflows.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_sql::script::ScriptStatement;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::Try;
use crate::datasources::Datasource;
use crate::queries::{Outcome, Query};
use crate::scheduler::store;
use crate::sql_tables::{self, ParsedName};

/// The origin of tasks in the log of queries.
const ORIGIN: &str = "task";
/// How long a task waits for its tables; after that they are not logged.
const FOUND_WITHIN: Duration = Duration::from_secs(2);
/// The most tasks that are kept.
const KEPT_MAX: usize = 1_000;

/// The tables of tasks, in memory until the catalogue or the data source changes: a task has the same in each run of a
/// revision, for its parameters are values.
#[derive(Default)]
pub struct Accesses(Mutex<HashMap<Key, Known>>);

/// The revision, and the task's index in it.
type Key = (i64, usize);

struct Known {
    /// Of the catalogue.
    version: u64,
    source: Arc<Datasource>,
    query: Option<Query>,
}

impl Accesses {
    /// What is to be logged once the task has succeeded; `None`: it uses no table that the catalogue has. A failure to find
    /// out does not fail the task.
    pub async fn of(
        &self,
        work: &Try,
        source: &Arc<Datasource>,
        script: &[ScriptStatement],
    ) -> Option<Query> {
        if !script.iter().any(|statement| statement.may_read_tables() || statement.writes()) {
            return None;
        }
        let key = (work.run.revision_id, work.place);
        let version = work.state.catalog.version();
        let is_current = |known: &&Known| known.version == version && Arc::ptr_eq(&known.source, source);
        let known = self.0.lock().get(&key).filter(is_current).map(|known| known.query.clone());
        match known {
            Some(query) => query,
            None => match timeout(FOUND_WITHIN, find(work, source, script)).await {
                Ok(Ok(query)) => {
                    self.keep(key, Known { version, source: Arc::clone(source), query: query.clone() });
                    query
                }
                Ok(Err(error)) => {
                    tracing::error!("the tables of a task are not logged: {error}");
                    None
                }
                Err(_) => {
                    tracing::error!(
                        "the tables of a task are not logged: they are not found within {FOUND_WITHIN:?}"
                    );
                    None
                }
            },
        }
    }

    fn keep(&self, key: Key, known: Known) {
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(key, known);
    }
}

async fn find(work: &Try, source: &Datasource, script: &[ScriptStatement]) -> Result<Option<Query>, Error> {
    let state = &work.state;
    let text: Vec<&str> = script.iter().map(ScriptStatement::as_str).collect();
    let parsed =
        sql_tables::bindings_in(&state.catalog, Some(source), &source.kind, &text.join(";\n")).await?;
    let named = |names: Vec<ParsedName>| -> Vec<(i64, String)> {
        let ids: BTreeSet<i64> = names.into_iter().filter_map(|name| name.table_id).collect();
        let index = state.catalog.read();
        ids.into_iter().filter_map(|id| Some((id, index.get(id)?.table_name.to_string()))).collect()
    };
    let (read, written) = (named(parsed.inputs), named(parsed.outputs));
    if read.is_empty() && written.is_empty() {
        return Ok(None);
    }
    let workflow = store::name_of(&state.db, work.run.workflow_id).await?;
    let asked_by = workflow.map_or_else(|| "a workflow".to_owned(), |name| format!("workflow {name}"));
    Ok(Some(Query {
        datasource_id: source.id,
        read,
        written,
        asked_by,
        origin: ORIGIN.into(),
        outcome: Outcome::Success,
        at_ms: state.clock.now_ms(),
    }))
}
