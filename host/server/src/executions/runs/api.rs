//! Handlers of runs.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use lakeport_base::{Error, time};
use lakeport_bindings::engine::model::{InstanceRef, Receipt};
use lakeport_http::{Data, Page, Paging};
use tokio::time::Instant;

use super::view::{RunDetail, RunTaskView, RunView, TaskState};
use super::{Run, at_engine, look_after_change, stop, store};
use crate::datasources::Rights;
use crate::engines::EngineClient;
use crate::execution_records::{ExecutionView, store as records};
use crate::executions::forms::{PAGE_SIZE_DEFAULT, RunPath, RunsQuery};
use crate::executions::{Call, TOPIC};
use crate::workflows::forms::WorkflowPath;
use crate::workflows::versions::Snapshot;
use crate::workflows::{self, EDGES_MAX, EdgeView, rights};

/// The state of a paused run.
const PAUSED: &str = "paused";
/// How long an answer waits for the engine to carry out what it was asked for.
const WAIT: Duration = Duration::from_secs(3);

/// `GET /api/v1/workflows/{id}/runs`
pub async fn list(call: Call<WorkflowPath, RunsQuery>) -> Result<Data<Page<RunView>>, Error> {
    let (state, query, id) = (&call.state, &call.query, call.path.id);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    workflows::get(state, id).await?;
    let (total, runs) = store::of_workflow(&state.db, id, &paging).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let may_see = rights::may_see(&state.db, &rights, id).await?;
    let view = |run: &Run| {
        let mut view = RunView::new(run, state.config.time_zone);
        if !may_see {
            view.withhold();
        }
        view
    };
    Ok(Data::new(&paging.page(total, runs.iter().map(view).collect())))
}

/// `GET /api/v1/workflows/{id}/runs/{instanceId}`
pub async fn get(call: Call<RunPath>) -> Result<Data<RunDetail>, Error> {
    let run = found(&call).await?;
    detail(&call, &run).await
}

/// `POST /api/v1/workflows/{id}/runs/{instanceId}/cancel`
pub async fn cancel(call: Call<RunPath>) -> Result<Data<RunDetail>, Error> {
    let wanted = Wanted { what: "stopped", is_it: |run| run.ended_at_ms.is_some() };
    change(&call, wanted, async |run, client, this| stop(&call.state, run, client, this).await).await
}

/// `POST /api/v1/workflows/{id}/runs/{instanceId}/pause`
pub async fn pause(call: Call<RunPath>) -> Result<Data<RunDetail>, Error> {
    let is_paused = |run: &Run| run.state == PAUSED || run.ended_at_ms.is_some();
    let wanted = Wanted { what: "paused", is_it: is_paused };
    change(&call, wanted, async |_, client, this| client.set_paused(this, true).await).await
}

/// `POST /api/v1/workflows/{id}/runs/{instanceId}/resume`
pub async fn resume(call: Call<RunPath>) -> Result<Data<RunDetail>, Error> {
    let wanted = Wanted { what: "resumed", is_it: |run| run.state != PAUSED };
    change(&call, wanted, async |_, client, this| client.set_paused(this, false).await).await
}

/// What a request wants of a run.
struct Wanted {
    /// Only a running run can be ….
    what: &'static str,
    /// Whether the run is so.
    is_it: fn(&Run) -> bool,
}

async fn found(call: &Call<RunPath>) -> Result<Run, Error> {
    let (state, path) = (&call.state, &call.path);
    let workflow = workflows::get(state, path.id).await?;
    let found = store::find_instance(&state.db, workflow.engine(), &path.instance_id).await?;
    let found = found.filter(|run| run.workflow_id == path.id);
    found.ok_or_else(|| Error::not_found("run", &path.instance_id))
}

/// Asks the engine to change a run, and answers with what it has become a moment later.
async fn change(
    call: &Call<RunPath>,
    wanted: Wanted,
    ask: impl AsyncFnOnce(&Run, &EngineClient, &InstanceRef) -> Result<Receipt, Error>,
) -> Result<Data<RunDetail>, Error> {
    let (state, call_id) = (&call.state, call.request_id.as_str());
    let run = found(call).await?;
    rights::check_ever(&state.db, &call.caller, run.workflow_id).await?;
    if run.ended_at_ms.is_some() {
        let message = format!("the run has ended ({}); only a running run can be {}", run.state, wanted.what);
        return Err(Error::conflict("not_running", message));
    }
    let (client, this) = at_engine(state, &run, call_id).await?;
    // It was found by its engine's id.
    let this = this.ok_or_else(|| Error::not_found("run", &call.path.instance_id))?;
    ask(&run, &client, &this).await.map_err(|error| ended_meanwhile(error, wanted.what))?;
    let until = Instant::now() + WAIT;
    look_after_change(state, &run, call_id).await?;
    let look = || async { Ok(store::find(&state.db, run.id).await?.unwrap_or_else(|| run.clone())) };
    let now = state.wait_for(TOPIC, None, until, look, wanted.is_it).await?;
    detail(call, &now).await
}

/// The engine's refusal because of the run's state is that of a run that has ended.
fn ended_meanwhile(error: Error, what: &str) -> Error {
    match error {
        Error::Refused(refusal) if refusal.code == "engine_conflict" => {
            Error::conflict("not_running", format!("{}; only a running run can be {what}", refusal.message))
        }
        other => other,
    }
}

/// A run with the tasks of its version, and their executions.
async fn detail(call: &Call<RunPath>, run: &Run) -> Result<Data<RunDetail>, Error> {
    let (state, zone) = (&call.state, call.state.config.time_zone);
    let rights = Rights::of(&state.db, &call.caller).await?;
    let executions = records::of_runs(&state.db, &[run.id]).await?;
    let mut views: Vec<ExecutionView> =
        executions.iter().map(|execution| ExecutionView::new(execution, zone)).collect();
    rights::withhold(&state.db, &rights, &mut views).await?;
    let snapshot = match run.workflow_version {
        Some(version) => Snapshot::read(&state.db, run.workflow_id, version).await?,
        None => None,
    };
    let mut view = RunView::new(run, zone);
    if !rights::may_see(&state.db, &rights, run.workflow_id).await? {
        view.withhold();
    }
    let edges = snapshot.as_ref().map(|snapshot| snapshot.edges(EDGES_MAX)).unwrap_or_default();
    let seen_ms = store::seen_at(&state.db, &run.engine, run.workflow_id).await?;
    Ok(Data::new(&RunDetail {
        run: view,
        seen_at: seen_ms.map(|at_ms| time::shown(at_ms, zone)),
        tasks: tasks(run, snapshot.as_ref(), views),
        edges: edges.into_iter().map(|(source, target)| EdgeView { source, target }).collect(),
    }))
}

/// What has begun first, in that order, then the others by name.
fn tasks(run: &Run, snapshot: Option<&Snapshot>, mut begun: Vec<ExecutionView>) -> Vec<RunTaskView> {
    let state = if run.ended_at_ms.is_some() { TaskState::NotRun } else { TaskState::Waiting };
    begun.sort_by(|one, other| {
        one.start_time.is_none().cmp(&other.start_time.is_none()).then(one.id.cmp(&other.id))
    });
    let known: HashSet<i64> = begun.iter().filter_map(|view| view.task_id).collect();
    let names: HashMap<i64, &str> = snapshot
        .iter()
        .flat_map(|snapshot| &snapshot.tasks)
        .map(|(id, saved)| (*id, saved.content.task_name.as_str()))
        .collect();
    let mut others: Vec<(i64, &str)> = names.into_iter().filter(|(id, _)| !known.contains(id)).collect();
    others.sort_by_key(|(id, name)| (*name, *id));
    let begun = begun.into_iter().map(|view| RunTaskView {
        task_id: view.task_id,
        task_name: view.task_name.clone(),
        state: view.status.into(),
        execution: Some(view),
    });
    let others = others.into_iter().map(|(id, name)| RunTaskView {
        task_id: Some(id),
        task_name: name.to_owned(),
        state,
        execution: None,
    });
    begun.chain(others).collect()
}
