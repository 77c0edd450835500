//! Lists the possible holders of a database lock: the tasks that are running on the database, as far as known.

use super::failure::Failure;
use crate::datasources::Datasource;
use crate::tables::{RunningTask, Tables};

/// The most executions that are named.
const NAMED_MAX: usize = 3;

/// Adds the running executions to the failure.
pub async fn named(state: &Tables, source: &Datasource, failure: Failure) -> Failure {
    let running = (state.users.running_on)(state, source.id).await.unwrap_or_else(|error| {
        tracing::debug!("who holds a data source is not known: {error}");
        Vec::new()
    });
    if running.is_empty() {
        return failure;
    }
    let named: Vec<String> = running.iter().take(NAMED_MAX).map(name).collect();
    let more = match running.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let which = if running.len() == 1 { "it" } else { "the first" };
    let message = format!(
        "{}; at work on `{}` now: {}{more}; POST /api/v1/executions/{}/cancel ends {which}",
        failure.message,
        source.name,
        named.join(", "),
        running[0].execution_id
    );
    Failure { message, ..failure }
}

fn name(running: &RunningTask) -> String {
    let RunningTask { execution_id, task_name, workflow_name } = running;
    format!("execution {execution_id} (task `{task_name}` of the workflow `{workflow_name}`)")
}
