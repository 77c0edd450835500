//! Records the tables that a task's SQL read in the log of queries, so that access statistics include
//! workflows.

use std::collections::BTreeSet;

use lakeport_base::Error;
use lakeport_sql::script::ScriptStatement;

use crate::datasources::Datasource;
use crate::queries::{self, Outcome, Query};
use crate::scheduler::Scheduler;
use crate::scheduler::store;
use crate::sql_tables;

/// The origin of tasks in the log of queries.
const ORIGIN: &str = "task";

/// Records the tables that were read. A failure to record does not fail the task.
pub async fn record(state: &Scheduler, workflow_id: i64, source: &Datasource, script: &[ScriptStatement]) {
    if !script.iter().any(ScriptStatement::may_read_tables) {
        return;
    }
    if let Err(error) = try_record(state, workflow_id, source, script).await {
        tracing::error!("the log of queries was not written: {error}");
    }
}

async fn try_record(
    state: &Scheduler,
    workflow_id: i64,
    source: &Datasource,
    script: &[ScriptStatement],
) -> Result<(), Error> {
    let text: Vec<&str> = script.iter().map(ScriptStatement::as_str).collect();
    let parsed =
        sql_tables::bindings_in(&state.catalog, Some(source), &source.kind, &text.join(";\n")).await?;
    let ids: BTreeSet<i64> = parsed.inputs.into_iter().filter_map(|name| name.table_id).collect();
    let named = |id: i64| Some((id, state.catalog.read().get(id)?.table_name.to_string()));
    let tables: Vec<(i64, String)> = ids.into_iter().filter_map(named).collect();
    if tables.is_empty() {
        return Ok(());
    }
    let workflow = store::name_of(&state.db, workflow_id).await?;
    let asked_by = workflow.map_or_else(|| "a workflow".to_owned(), |name| format!("workflow {name}"));
    let at_ms = state.clock.now_ms();
    let datasource_id = source.id;
    let query = Query { datasource_id, tables, asked_by, origin: ORIGIN, outcome: Outcome::Success, at_ms };
    queries::record(&state.db, &query).await
}
