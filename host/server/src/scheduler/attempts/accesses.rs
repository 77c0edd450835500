//! The tables that a task's SQL reads and writes, for the log of queries: access statistics include workflows.

use std::collections::BTreeSet;

use lakeport_base::Error;
use lakeport_sql::script::ScriptStatement;

use crate::datasources::Datasource;
use crate::queries::{Outcome, Query};
use crate::scheduler::Scheduler;
use crate::scheduler::store;
use crate::sql_tables::{self, ParsedName};

/// The origin of tasks in the log of queries.
const ORIGIN: &str = "task";

/// What is to be logged once it has succeeded; `None`: it uses no table that the catalogue has. A failure to find out does
/// not fail the task.
pub async fn of(
    state: &Scheduler,
    workflow_id: i64,
    source: &Datasource,
    script: &[ScriptStatement],
) -> Option<Query> {
    if !script.iter().any(|statement| statement.may_read_tables() || statement.writes()) {
        return None;
    }
    match try_of(state, workflow_id, source, script).await {
        Ok(query) => query,
        Err(error) => {
            tracing::error!("the tables of a task are not logged: {error}");
            None
        }
    }
}

async fn try_of(
    state: &Scheduler,
    workflow_id: i64,
    source: &Datasource,
    script: &[ScriptStatement],
) -> Result<Option<Query>, Error> {
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
    let workflow = store::name_of(&state.db, workflow_id).await?;
    let asked_by = workflow.map_or_else(|| "a workflow".to_owned(), |name| format!("workflow {name}"));
    Ok(Some(Query {
        datasource_id: source.id,
        read,
        written,
        asked_by,
        origin: ORIGIN,
        outcome: Outcome::Success,
        at_ms: state.clock.now_ms(),
    }))
}
