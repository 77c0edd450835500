//! Executions: the runs of tasks with times, results and logs. Runs started by an engine's own timer are
//! recorded, too; no request waits for them.
//!
//! A run of a workflow is requested here or found in its engine ([`runs`]); only watching the engines
//! ([`watch`]) updates its tasks. An execution is one task of one run.

mod alerts;
mod api;
mod backfills;
mod control;
pub mod forms;
mod log;
pub mod runs;
pub mod seed;
pub mod statistics;
mod watch;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use ::http::Method;
use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_http::Role::{Editor, Viewer};
use lakeport_http::{Data, Nothing, OptionalJson, Route};
use lakeport_store::Tx;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::core::{Core, stands_on_core};
use crate::engines::Engines;
use crate::execution_records::blocks::Blocks;
use crate::execution_records::{Execution, Status, store};
use crate::idempotency;
use crate::part::{self, Fate, InUse, Part, Resource, RetentionRule, Worker};
use crate::plugins::ENGINE_CALL_CODES;
use crate::tables::RunningTask;
use crate::workflows;
use crate::workflows::forms::WorkflowPath;
use crate::workflows::tasks;
pub use backfills::TOPIC as BACKFILLS_TOPIC;
use forms::ExecuteWorkflow;
pub use runs::TOPIC as RUNS_TOPIC;
use runs::{MANUAL, Start};

/// The change log's topic of executions; the key is the id.
pub const TOPIC: &str = "executions";

static EXECUTE_CODES: LazyLock<Vec<&str>> =
    LazyLock::new(|| [ENGINE_CALL_CODES, &["datasource_not_allowed", "not_deployed"]].concat());

/// Runs of workflows, and their engines.
pub struct Executions {
    core: Arc<Core>,
    engines: Arc<Engines>,
    blocks: Blocks,
    /// By engine and its id of the run: those whose failed tasks wait for their next try.
    waiting: Mutex<HashMap<(String, String), watch::Waiting>>,
    /// Starts whose answers were lost, by engine and run: since when that has not been able to look for them.
    unfound: Mutex<HashMap<(String, i64), Instant>>,
}

stands_on_core!(Executions);

impl Executions {
    pub fn new(core: &Arc<Core>, engines: &Arc<Engines>) -> Executions {
        Executions {
            core: Arc::clone(core),
            engines: Arc::clone(engines),
            blocks: Blocks::default(),
            waiting: Mutex::default(),
            unfound: Mutex::default(),
        }
    }
}

pub fn part() -> Part<Executions> {
    Part {
        tags: &[
            ("executions", "Runs of workflows and tasks: status, logs, statistics"),
            ("backfills", "Past periods of schedules that are run again"),
        ],
        routes: routes(),
        workers: vec![
            Worker::new(part::Start::AfterSetUp, watch::run_worker),
            Worker::new(part::Start::AfterSetUp, backfills::run_worker),
            Worker::new(part::Start::AtOnce, statistics::run_worker),
            Worker::new(part::Start::AfterSetUp, alerts::run_worker),
        ],
        retained: vec![
            RetentionRule::days(backfills::store::RETAINED, |settings| settings.executions_days),
            RetentionRule::days(runs::store::RETAINED, |settings| settings.executions_days),
        ],
        in_use: vec![InUse { resource: "engine", check: in_use }],
        error_codes: &["not_online", "not_retryable"],
        ..Part::default()
    }
}

/// Without its engine, the end of a run would never be seen.
fn in_use<'a>(tx: &'a mut Tx, engine: &'a Resource) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        if engine.fate != Fate::Deleted {
            return Ok(());
        }
        let runs = runs::store::count_open(tx, &engine.name).await?;
        let backfills = backfills::store::count_at(tx, &engine.name).await?;
        let what = match (runs, backfills) {
            (0, 0) => return Ok(()),
            (0, 1) => "1 backfill has".to_owned(),
            (0, count) => format!("{count} backfills have"),
            (1, _) => "1 run has".to_owned(),
            (count, _) => format!("{count} runs have"),
        };
        let message = format!(
            "{what} not ended on the engine `{}`; it can be deleted when all have: wait for them, or cancel them",
            engine.name
        );
        Err(Error::conflict("in_use", message))
    })
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Executions, P, Q, B>;

fn routes() -> Vec<Route<Executions>> {
    let mut routes = lists();
    routes.extend(single());
    routes.push(
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/execute",
            Editor,
            "executeWorkflow",
            "Run a deployed workflow, or a part of it, now; returns the engine's id of the run",
            execute,
        )
        .refuses(&EXECUTE_CODES),
    );
    routes.extend(of_runs());
    routes.extend(backfills::routes());
    routes
}

fn of_runs() -> Vec<Route<Executions>> {
    static CONTROL_CODES: LazyLock<Vec<&str>> =
        LazyLock::new(|| [ENGINE_CALL_CODES, &["datasource_not_allowed", "not_running"]].concat());
    vec![
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/runs",
            Viewer,
            "listRuns",
            "List the runs of a workflow, newest first",
            runs::api::list,
        ),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/runs/{instanceId}",
            Viewer,
            "getRun",
            "Get a run with the states of its tasks",
            runs::api::get,
        ),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/runs/{instanceId}/cancel",
            Editor,
            "cancelRun",
            "Stop a run",
            runs::api::cancel,
        )
        .refuses(&CONTROL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/runs/{instanceId}/pause",
            Editor,
            "pauseRun",
            "Pause a run: what runs goes on, no further task is begun",
            runs::api::pause,
        )
        .refuses(&CONTROL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/runs/{instanceId}/resume",
            Editor,
            "resumeRun",
            "Let a paused run go on",
            runs::api::resume,
        )
        .refuses(&CONTROL_CODES),
    ]
}

fn lists() -> Vec<Route<Executions>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/executions/history",
            Viewer,
            "listExecutions",
            "List executions, newest first",
            api::history,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/statistics",
            Viewer,
            "getExecutionStatistics",
            "Get counts and durations of executions by outcome",
            api::statistics,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/running",
            Viewer,
            "listRunningExecutions",
            "List running executions, newest first",
            api::running,
        ),
        Route::new(
            Method::GET,
            "/api/v1/executions/failed",
            Viewer,
            "listFailedExecutions",
            "List failed executions, newest first",
            api::failed,
        ),
    ]
}

fn single() -> Vec<Route<Executions>> {
    static CANCEL_CODES: LazyLock<Vec<&str>> =
        LazyLock::new(|| [ENGINE_CALL_CODES, &["datasource_not_allowed", "not_running"]].concat());
    static RETRY_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        [ENGINE_CALL_CODES, &["datasource_not_allowed", "not_deployed", "not_retryable"]].concat()
    });
    vec![
        Route::new(
            Method::GET,
            "/api/v1/executions/{id}",
            Viewer,
            "getExecution",
            "Get an execution with a part of its log",
            api::get,
        ),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/sync",
            Editor,
            "syncExecution",
            "Fetch the status from the engine and store it",
            api::sync,
        )
        .refuses(ENGINE_CALL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/cancel",
            Editor,
            "cancelExecution",
            "Cancel the run of a running execution",
            api::cancel,
        )
        .refuses(&CANCEL_CODES),
        Route::new(
            Method::POST,
            "/api/v1/executions/{id}/retry",
            Editor,
            "retryExecution",
            "Retry a failed execution; returns the new execution",
            api::retry,
        )
        .refuses(&RETRY_CODES),
    ]
}

/// `POST /api/v1/workflows/{id}/execute`
async fn execute(
    call: Call<WorkflowPath, Nothing, OptionalJson<ExecuteWorkflow>>,
) -> Result<Data<String>, Error> {
    let state = &call.state;
    let default = ExecuteWorkflow::default();
    let form = call.body.0.as_ref().unwrap_or(&default);
    let part = form.part()?;
    let workflow = workflows::get(state, call.path.id).await?;
    workflows::rights::check(&state.db, &call.caller, &workflow).await?;
    let deployed = workflows::deployed_of(&workflow)?;
    let repeat = call.attempt.as_deref().and_then(idempotency::name_of);
    let start = Start {
        cause: MANUAL,
        business_time_ms: None,
        failure_strategy: form.failure_strategy.unwrap_or_default().as_str(),
        part,
        guard: None,
    };
    let run = runs::start_run(state, deployed, &start, repeat, call.request_id.as_str()).await?;
    Ok(Data::new(&run))
}

/// The tasks that are running on a data source, newest first, among the newest running ones.
pub async fn running_on(core: &Core, datasource_id: i64) -> Result<Vec<RunningTask>, Error> {
    /// The most executions that are checked.
    const LOOKED_AT_MAX: i64 = 500;
    let running = store::with_status(&core.db, Status::Running, LOOKED_AT_MAX).await?;
    let task_ids: Vec<i64> = running.iter().filter_map(|execution| execution.record.task_id).collect();
    let there = tasks::on_datasource(&core.db, datasource_id, &task_ids).await?;
    let is_there = |execution: &&Execution| execution.record.task_id.is_some_and(|id| there.contains(&id));
    let named = |execution: &Execution| RunningTask {
        execution_id: execution.id,
        task_name: execution.record.task_name.clone(),
        workflow_name: execution.workflow_name.clone(),
    };
    Ok(running.iter().filter(is_there).map(named).collect())
}
