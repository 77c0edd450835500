//! Runs of workflows, requested here or found in an engine.
//!
//! A request for a run is recorded first, with the key that the engine gets. If the answer, the request or
//! this server is lost, the watcher finds the run by its key. A run without an end stays watched.

pub mod api;
pub mod store;
mod view;

use std::collections::BTreeMap;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::time::DAY_MS;
use lakeport_bindings::engine::model::{InstanceRef, Receipt, RunQuery, RunRequest, Target, WorkflowRef};
use lakeport_store::Held;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::engines::{self, EngineClient, EngineRecord, Failure};
pub use crate::execution_records::{Part, Reach, Run};
use crate::executions::Executions;
use crate::executions::backfills;
use crate::executions::watch::{self, kept_message};
use crate::workflows::forms::FailureStrategy;
use crate::workflows::{self, Deployed};

/// The change log's topic of requested runs; the key is the engine's name.
pub const TOPIC: &str = "runs";
/// How long an answer waits in total for the engine's id of a run.
pub const START_MAX: Duration = Duration::from_secs(20);
/// How long an answer waits for a run of whose start the engine's answer was lost, or was an error.
pub const LOST_MAX: Duration = Duration::from_secs(5);
/// A start whose answer was lost is given up after the engine has not been able to look for it so long.
const UNKNOWN_AFTER: Duration = Duration::from_secs(60 * 60);
/// The interval of polling for a run that the engine has accepted but not started.
const LOOK_INTERVAL: Duration = Duration::from_millis(500);
/// The state of a requested run.
const ASKED: &str = "asked";

impl Run {
    /// The reference for a plugin.
    pub fn reference(&self, workflow: WorkflowRef) -> Option<InstanceRef> {
        Some(InstanceRef { workflow, id: self.instance_id.clone()? })
    }

    fn query(&self, workflow: WorkflowRef) -> Option<RunQuery> {
        let (key, trigger) = (self.key.clone()?, self.trigger.clone());
        Some(RunQuery { workflow, key, trigger, asked: self.asked_at_ms })
    }
}

/// The run's workflow for the engine. Of a deleted one, only id and name are known.
pub async fn workflow_of(state: &Executions, run: &Run) -> Result<WorkflowRef, Error> {
    let deployed = workflows::find_deployed(&state.db, run.workflow_id).await?;
    Ok(deployed.filter(|deployed| deployed.engine == run.engine).map_or_else(
        || WorkflowRef {
            id: run.workflow_id.unsigned_abs(),
            name: run.workflow_name.clone(),
            code: None,
            project: None,
            revision: None,
            state: None,
        },
        |deployed| deployed.reference(),
    ))
}

/// A client of the run's engine, and the run as that knows it; `None` while the engine has not named it.
pub async fn at_engine(
    state: &Executions,
    run: &Run,
    call_id: &str,
) -> Result<(EngineClient, Option<InstanceRef>), Error> {
    let record = engine_of(state, &run.engine).await?;
    let workflow = workflow_of(state, run).await?;
    Ok((EngineClient::of(&state.engines, &record, call_id), run.reference(workflow)))
}

/// The configuration of an engine that has deployments or runs.
pub async fn engine_of(state: &Executions, name: &str) -> Result<EngineRecord, Error> {
    let gone = || {
        let message =
            format!("the engine `{name}` is not configured any more; configure it again, under this name");
        Error::unavailable("engine_unavailable", message)
    };
    engines::find(&state.db, name).await?.ok_or_else(gone)
}

/// The cause of a run that a caller asks for.
pub const MANUAL: &str = "manual";

/// A run that is wanted.
pub struct Start<'s> {
    /// [`MANUAL`] or [`backfills::CAUSE`].
    pub cause: &'s str,
    /// `None`: now.
    pub business_time_ms: Option<i64>,
    /// `CONTINUE` or `END`.
    pub failure_strategy: &'s str,
    /// `None`: all of the workflow.
    pub part: Option<Part>,
    /// The lease under which it is asked for.
    pub guard: Option<&'s Held>,
}

/// Starts a run and returns the engine's id for it, after 20 s at most; 504 `engine_timeout` has the key by
/// which it can be found later. `repeat` identifies the request and its repeats: a repeat continues with the
/// first one's run.
pub async fn start_run(
    state: &Executions,
    deployed: &Deployed,
    wanted: &Start<'_>,
    repeat: Option<String>,
    call_id: &str,
) -> Result<String, Error> {
    let until = Instant::now() + START_MAX;
    let record = engine_of(state, &deployed.engine).await?;
    let before = match &repeat {
        Some(key) => store::find_by_key(&state.db, key).await?,
        None => None,
    };
    let new_key = || uuid::Uuid::now_v7().to_string();
    let before = before.map(|run| (is_meant(state, &run, deployed), run));
    let is_repeat = matches!(before, Some((true, _)));
    let client = EngineClient::of(&state.engines, &record, call_id);
    refuse_unfit(&client, deployed, wanted)?;
    let run = match before {
        Some((true, run)) => run,
        Some((false, _)) => ask(state, deployed, wanted, new_key()).await?,
        None => ask(state, deployed, wanted, repeat.unwrap_or_else(new_key)).await?,
    };
    if let Some(instance_id) = run.instance_id {
        return Ok(instance_id);
    }
    failpoints::reach("runs.asked");
    let key = run.key.clone().unwrap_or_default();
    let started = async {
        let known = if is_repeat { found(state, &client, deployed, &run).await? } else { None };
        match known {
            Some(instance_id) => Ok(instance_id),
            None => start(state, &client, deployed, &run, wanted).await,
        }
    };
    let started = timeout_at(until, started).await;
    started.unwrap_or_else(|_| {
        let message = format!(
            "the engine `{}` did not confirm the run within {} s; it may have started it. Its key is {key}; once it \
             is seen there it stands in the history",
            deployed.engine,
            START_MAX.as_secs()
        );
        Err(Error::timed_out("engine_timeout", message))
    })
}

/// 409 `unsupported_by_engine` if the engine cannot run it as it is wanted.
fn refuse_unfit(client: &EngineClient, deployed: &Deployed, wanted: &Start<'_>) -> Result<(), Error> {
    let ends = wanted.failure_strategy == FailureStrategy::End.as_str();
    let needs = [
        (wanted.part.is_some(), "start_at", "run a part of a workflow"),
        (wanted.business_time_ms.is_some(), "business_time", "run a workflow for another time than now"),
        (ends, "failure_end", "end a run at a failure; use the failure strategy CONTINUE"),
    ];
    for (is_needed, feature, what) in needs {
        if is_needed && !client.has_feature(deployed.id.unsigned_abs(), feature)? {
            let message = format!("the engine `{}` cannot {what}", deployed.engine);
            return Err(Error::conflict("unsupported_by_engine", message));
        }
    }
    Ok(())
}

/// Whether a repeat refers to this run: it was not refused, and is not older than stored answers.
fn is_meant(state: &Executions, run: &Run, deployed: &Deployed) -> bool {
    let is_refused = run.ended_at_ms.is_some() && run.instance_id.is_none();
    let is_recent = run.asked_at_ms > state.clock.now_ms() - DAY_MS;
    run.engine == deployed.engine && run.workflow_id == deployed.id && is_recent && !is_refused
}

/// Records that a run is requested, before calling the engine.
async fn ask(state: &Executions, deployed: &Deployed, wanted: &Start<'_>, key: String) -> Result<Run, Error> {
    let mut run = Run {
        id: 0,
        engine: deployed.engine.clone(),
        workflow_id: deployed.id,
        workflow_name: deployed.name.clone(),
        key: Some(key),
        trigger: None,
        instance_id: None,
        state: ASKED.to_owned(),
        cause: wanted.cause.to_owned(),
        business_time_ms: wanted.business_time_ms,
        asked_at_ms: state.clock.now_ms(),
        started_at_ms: None,
        ended_at_ms: None,
        message: None,
        workflow_version: None,
        part: wanted.part,
        failure_strategy: Some(wanted.failure_strategy.to_owned()),
        again: None,
        version: 0,
    };
    let mut tx = state.db.begin().await?;
    if let Some(held) = wanted.guard {
        tx.guard(held).await?;
    }
    let id = store::insert(&mut tx, &run).await?;
    let twin = || Error::unavailable("store_busy", "the same request is under way; try again").retry_after(1);
    run.id = id.ok_or_else(twin)?;
    tx.changed(TOPIC, run.engine.clone());
    tx.commit().await?;
    Ok(run)
}

async fn start(
    state: &Executions,
    client: &EngineClient,
    deployed: &Deployed,
    run: &Run,
    wanted: &Start<'_>,
) -> Result<String, Error> {
    let request = RunRequest {
        workflow: deployed.reference(),
        key: run.key.clone().unwrap_or_default(),
        cause: run.cause.clone(),
        business_time: run.business_time_ms,
        params: Vec::new(),
        failure_strategy: wanted.failure_strategy.to_owned(),
        start_at: wanted.part.map(|part| part.task_id.unsigned_abs()),
        reach: wanted.part.map_or("all", |part| part.reach.as_str()).to_owned(),
        extra: None,
    };
    let started = match client.start(&request, run.asked_at_ms).await {
        Ok(started) => started,
        Err(Failure::Open(error)) => return settled(state, client, deployed, run).await.ok_or(error),
        Err(Failure::Refused(error)) => {
            end_unstarted(state, run, &error.to_string()).await?;
            return Err(error);
        }
    };
    failpoints::reach("runs.started");
    let trigger = started.trigger.or_else(|| started.instance.clone());
    // An engine that names neither has accepted it all the same: the run is found by its key.
    if let Some(trigger) = &trigger {
        answered(state, run, started.instance.as_deref(), trigger).await?;
    }
    match started.instance {
        Some(instance_id) => Ok(instance_id),
        None => begun(state, client, deployed, run, trigger).await,
    }
}

/// The engine's id of a run of whose start the answer was lost, if it exists soon. Otherwise the watcher goes on looking.
async fn settled(
    state: &Executions,
    client: &EngineClient,
    deployed: &Deployed,
    run: &Run,
) -> Option<String> {
    let info = client.info(Some(deployed.id.unsigned_abs())).await.ok()?;
    let wait = Duration::from_millis(info.settle_ms.into()).min(LOST_MAX);
    timeout(wait, begun(state, client, deployed, run, None)).await.ok()?.ok()
}

/// The engine's id of an accepted run, once it exists.
async fn begun(
    state: &Executions,
    client: &EngineClient,
    deployed: &Deployed,
    run: &Run,
    trigger: Option<String>,
) -> Result<String, Error> {
    let run = Run { trigger, ..run.clone() };
    loop {
        sleep(LOOK_INTERVAL).await;
        match found(state, client, deployed, &run).await {
            Ok(Some(instance_id)) => return Ok(instance_id),
            Ok(None) => {}
            // The run was accepted: an engine that is away does not make that a failure.
            Err(error) if engines::is_momentary(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Looks up the engine's id of a run, and stores it.
async fn found(
    state: &Executions,
    client: &EngineClient,
    deployed: &Deployed,
    run: &Run,
) -> Result<Option<String>, Error> {
    let query = run.query(deployed.reference());
    let query = query.ok_or_else(|| Error::internal(anyhow::anyhow!("the run has no key")))?;
    let Some(instance) = client.find(&[query]).await?.into_iter().flatten().next() else { return Ok(None) };
    let trigger = run.trigger.as_deref().or(instance.trigger.as_deref()).unwrap_or(&instance.id);
    answered(state, run, Some(&instance.id), trigger).await?;
    Ok(Some(instance.id))
}

async fn answered(
    state: &Executions,
    run: &Run,
    instance_id: Option<&str>,
    trigger: &str,
) -> Result<(), Error> {
    let mut tx = state.db.begin().await?;
    store::answered(&mut tx, run, instance_id, trigger).await?;
    tx.changed(TOPIC, run.engine.clone());
    tx.commit().await
}

/// Asks the engine to stop a run. Until it has ended it is stopping, also while the engine still shows it as it was; an
/// error takes that back.
pub async fn stop(
    state: &Executions,
    run: &Run,
    client: &EngineClient,
    this: &InstanceRef,
) -> Result<Receipt, Error> {
    let mut tx = state.db.begin().await?;
    store::note_stop(&mut tx, run.id, watch::STOPPING).await?;
    tx.commit().await?;
    let stopped = client.cancel(&this.workflow, &Target::Instance(this.id.clone())).await;
    if stopped.is_err() && run.state != watch::STOPPING {
        let mut tx = state.db.begin().await?;
        store::forget_stop(&mut tx, run, watch::STOPPING).await?;
        tx.commit().await?;
    }
    stopped
}

/// Looks at a run that its engine has accepted to change, and makes the watcher look again. A failure to ask the engine
/// must not look like its refusal.
pub async fn look_after_change(state: &Executions, run: &Run, call_id: &str) -> Result<(), Error> {
    if let Err(error) = watch::look_at(state, run, call_id).await {
        tracing::debug!("polling the engine failed: {error}");
    }
    let mut tx = state.db.begin().await?;
    tx.changed(TOPIC, run.engine.clone());
    tx.commit().await
}

async fn end_unstarted(state: &Executions, run: &Run, message: &str) -> Result<(), Error> {
    let mut tx = state.db.begin().await?;
    let message = kept_message(message);
    store::end_unstarted(&mut tx, run.id, &message, state.clock.now_ms()).await?;
    backfills::announce_end(&mut tx, run);
    tx.commit().await
}

/// Looks for runs whose engine's answer was lost; those that the engine still does not know after its
/// settling time were never accepted.
pub async fn find_unanswered(
    state: &Executions,
    client: &EngineClient,
    record: &EngineRecord,
    workflow: impl Fn(&Run) -> WorkflowRef,
) -> Result<(), Error> {
    /// Queries of one call, by the contract.
    const QUERIES_MAX: i64 = 100;
    let now_ms = state.clock.now_ms();
    // Until then the request itself still waits for the answer.
    let waits_ms = i64::try_from(START_MAX.as_millis()).unwrap_or(i64::MAX);
    let asked = (now_ms - waits_ms, now_ms + waits_ms);
    let lost = store::unanswered(&state.db, &record.name, asked, QUERIES_MAX).await?;
    let is_lost = |engine: &str, id: i64| engine != record.name || lost.iter().any(|run| run.id == id);
    state.unfound.lock().retain(|(engine, id), _| is_lost(engine, *id));
    if lost.is_empty() {
        return Ok(());
    }
    let settle_ms = i64::from(client.info(None).await?.settle_ms);
    // One workflow whose runs cannot be looked through must not keep others waiting.
    let mut of_workflows: BTreeMap<i64, Vec<&Run>> = BTreeMap::new();
    for run in &lost {
        of_workflows.entry(run.workflow_id).or_default().push(run);
    }
    for runs in of_workflows.into_values() {
        let queries: Vec<RunQuery> = runs.iter().filter_map(|run| run.query(workflow(run))).collect();
        let found = match client.find(&queries).await {
            Ok(found) => found,
            // Nothing is known of them, which must not keep the watcher from what it does know.
            Err(error) if error.code() == "engine_unavailable" => {
                tracing::debug!(engine = record.name, "lost starts are not found yet: {error}");
                give_up_unknown(state, &runs, &error).await?;
                continue;
            }
            Err(error) => return Err(error),
        };
        for (run, found) in runs.into_iter().zip(found) {
            let key = (run.engine.clone(), run.id);
            // By a clock that is another one, or was put back, the time since is that of the first look.
            let is_over = if run.asked_at_ms > asked.1 {
                let since = *state.unfound.lock().entry(key.clone()).or_insert_with(Instant::now);
                i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX) > waits_ms + settle_ms
            } else {
                state.unfound.lock().remove(&key);
                run.asked_at_ms < asked.0 - settle_ms
            };
            match found {
                Some(instance) => {
                    let trigger = instance.trigger.as_deref().unwrap_or(&instance.id);
                    answered(state, run, Some(&instance.id), trigger).await?;
                }
                None if is_over => {
                    end_unstarted(state, run, "the engine did not take it on").await?;
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// Ends starts that the engine has not been able to look for, for long.
async fn give_up_unknown(state: &Executions, runs: &[&Run], error: &Error) -> Result<(), Error> {
    for run in runs {
        let key = (run.engine.clone(), run.id);
        let since = *state.unfound.lock().entry(key).or_insert_with(Instant::now);
        if since.elapsed() >= UNKNOWN_AFTER {
            let message = format!("whether the engine took it on is not known: {error}");
            end_unstarted(state, run, &message).await?;
        }
    }
    Ok(())
}
