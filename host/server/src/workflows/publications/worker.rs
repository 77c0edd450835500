//! The worker of each server: it deploys approved versions. It stops with the server; the rows stay `pending`
//! for the next server.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_base::failpoints;
use lakeport_bindings::engine::deploys::DeployRequest;
use lakeport_bindings::engine::model;
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held};
use parking_lot::Mutex;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep, timeout};

use super::build::Submitted;
use super::{Publication, TOPIC, api, check, digests, store};
use crate::engines::{self, EngineClient};
use crate::workflows::Workflows;
use crate::workflows::api::engine_client;
use crate::workflows::wanted::By;
use crate::workflows::{Deployed, Workflow, WorkflowStatus};
use crate::workflows::{engine_lock, reconcile, store as workflows, versions};

/// The interval of looking for orphaned deployments.
const POLL: Duration = Duration::from_secs(5);
/// The pause before a lock that is held elsewhere is requested again.
const TURN_WAIT: Duration = Duration::from_millis(500);
/// The most concurrent deployments of one server, and those to one engine: one that is away keeps no other waiting.
const DEPLOYMENTS_AT_ONCE: usize = 32;
const DEPLOYMENTS_OF_ENGINE: usize = 4;
/// The longest time that one deployment may take.
const DEPLOYMENT_MAX: Duration = Duration::from_secs(30 * 60);
/// The most steps of a deployment, each stored before the next.
const STEPS_MAX: usize = 50;
/// The least interval between two status calls; a plugin may request a longer one.
const STATUS_INTERVAL: Duration = Duration::from_secs(1);
const STATUS_INTERVAL_MAX: Duration = Duration::from_secs(60);
/// The pause before a call is retried: the first one, and the longest.
const RETRY_WAIT: Duration = Duration::from_millis(500);
const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long one call is retried.
const PATIENCE: Duration = Duration::from_secs(5 * 60);
/// The longest stored reason, in characters.
const REASON_MAX_CHARS: usize = 2_000;

/// Works until the server stops.
pub async fn run_worker(state: Arc<Workflows>) {
    if let Err(error) = digests::fill(&state).await {
        tracing::warn!("digests of deployed workflows are missing: {error}");
    }
    let (mut changed, stopping) = (state.changes.subscribe(TOPIC), state.stopping.clone());
    let worker = Worker { state, jobs: Jobs::new(DEPLOYMENTS_AT_ONCE) };
    jobs::run(worker, &mut changed, stopping.cancelled()).await;
}

struct Worker {
    state: Arc<Workflows>,
    /// By publication, each with its engine.
    jobs: Jobs<i64, String, ()>,
}

impl Work for Worker {
    type Key = i64;
    type Job = String;
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<i64, String, ()> {
        &mut self.jobs
    }

    /// Starts deployments that no other server works on. It takes the workflow's engine lock, which excludes requests
    /// of this server, too.
    async fn look(&mut self) -> Result<Duration, Error> {
        let mut wait = POLL;
        for (record, engine) in store::pending(&self.state.db, DEPLOYMENTS_OF_ENGINE * 2).await? {
            if self.jobs.is_full() {
                break;
            }
            let of_engine = self.jobs.iter().filter(|(_, other)| **other == engine).count();
            if self.jobs.contains(&record.id) || of_engine >= DEPLOYMENTS_OF_ENGINE {
                continue;
            }
            let Some(turn) = engine_lock::try_take(&self.state, record.workflow_id).await? else {
                wait = TURN_WAIT;
                continue;
            };
            failpoints::reach("publication.claimed");
            self.jobs.spawn(record.id, engine, attempt(Arc::clone(&self.state), record, turn));
        }
        Ok(wait)
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("looking for deployments failed, trying again: {error}");
        POLL
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, _: i64, _: String, _: Result<(), JoinError>) {}
}

async fn attempt(state: Arc<Workflows>, record: Publication, turn: Held) {
    let work = async |turn: &Held| match AssertUnwindSafe(work(&state, &record, turn)).catch_unwind().await {
        Ok(written) => written,
        Err(_) => end(&state, &record, turn, Err(NotDone::asked(FAILED.to_owned()))).await,
    };
    if let Some(Err(error)) = turn.work(&state.stopping, work).await {
        tracing::warn!(publication = record.id, "a deployment goes on later: {error}");
        state.stopping.run_until_cancelled(sleep(POLL)).await;
    }
}

/// The deployment with the engine's answer, or the failure.
type Outcome = Result<Done, NotDone>;

/// A deployment that came to nothing.
struct NotDone {
    reason: String,
    /// The engine may have made a part of it.
    has_asked: bool,
}

impl NotDone {
    fn unasked(reason: String) -> NotDone {
        NotDone { reason, has_asked: false }
    }

    fn asked(reason: String) -> NotDone {
        NotDone { reason, has_asked: true }
    }
}

struct Done {
    deployed: Deployed,
    /// See [`Submitted::definition_digest`].
    digest: String,
    /// The schedule that the engine was given.
    schedule: Option<String>,
}

/// Fails only if the server's own store fails.
async fn work(state: &Workflows, record: &Publication, turn: &Held) -> Result<(), Error> {
    // It may have ended while this server waited for the lock.
    let now = store::find(&state.db, record.id).await?;
    let is_pending = |now: &Publication| {
        now.deployment.as_ref().is_some_and(|deployment| deployment.state == super::DeploymentState::Pending)
    };
    if !now.is_some_and(|now| is_pending(&now)) {
        return Ok(());
    }
    let Some(workflow) = workflows::find(&state.db, record.workflow_id).await? else { return Ok(()) };
    let outcome = match timeout(DEPLOYMENT_MAX, deploy(state, record, &workflow, turn)).await {
        Ok(outcome) => outcome?,
        Err(_) => Err(NotDone::asked(format!("the engine was not done after {DEPLOYMENT_MAX:?}"))),
    };
    match &outcome {
        Ok(done) => {
            tracing::info!(workflow = workflow.id, code = done.deployed.code, "a workflow was deployed")
        }
        Err(failed) => {
            tracing::warn!(workflow = workflow.id, "a workflow was not deployed: {}", failed.reason)
        }
    }
    end(state, record, turn, outcome).await
}

async fn deploy(
    state: &Workflows,
    record: &Publication,
    workflow: &Workflow,
    turn: &Held,
) -> Result<Outcome, Error> {
    let Some(submitted) = Submitted::read(state, workflow, record.version).await? else {
        let reason = format!("there is no version {} of the workflow", record.version);
        return Ok(Err(NotDone::unasked(reason)));
    };
    let engine = &submitted.snapshot.content.scheduler_engine;
    if workflow.engine() != engine {
        let now = workflow.engine();
        let reason = format!("the version is for the engine `{engine}`, and the workflow is on `{now}`");
        return Ok(Err(NotDone::unasked(reason)));
    }
    let call_id = format!("publication-{}", record.id);
    let asked = Asked { state, engine, call_id, client: Mutex::default(), is_stale: AtomicBool::new(false) };
    let built = match built(&asked, workflow.id, &submitted).await {
        Ok(built) => built,
        Err(error) if is_of_the_store(&error) => return Err(error),
        Err(error) => return Ok(Err(NotDone::unasked(told(&error)))),
    };
    let known = workflow.deployed.clone();
    let current = known.unwrap_or_else(|| Deployed {
        id: workflow.id,
        name: built.name.clone(),
        engine: engine.clone(),
        code: None,
        project: None,
        revision: None,
        version: None,
        state: None,
    });
    // From here on the engine may have the workflow, even if this server dies.
    keep(state, turn, &current).await?;
    let online = workflow.status == WorkflowStatus::Online && submitted.snapshot.content.schedule.is_some();
    let deployed = Steps { turn, asked: &asked, current }.take(built, online).await?;
    let schedule = submitted.snapshot.content.schedule_text();
    let done = |deployed| Done { deployed, digest: submitted.definition_digest(), schedule };
    Ok(deployed.map(done).map_err(NotDone::asked))
}

/// Whether the server's own store failed, not the engine: the deployment continues later.
fn is_of_the_store(error: &Error) -> bool {
    error.status() == 500 || error.code() == "store_busy"
}

/// The workflow for the engine, after a check; `cannot_run` with its problems.
async fn built(asked: &Asked<'_>, id: i64, submitted: &Submitted) -> Result<model::Workflow, Error> {
    let check = || async { check::check(asked.state, id, submitted, &*asked.client().await?).await };
    patiently(|error| asked.renew(error), check).await?.refuse()?;
    patiently(
        |error| asked.renew(error),
        || async { submitted.for_engine(id, &*asked.client().await?).await },
    )
    .await
}

/// The engine of a deployment.
struct Asked<'d> {
    state: &'d Workflows,
    engine: &'d str,
    call_id: String,
    client: Mutex<Option<Arc<EngineClient>>>,
    /// The engine's settings may have changed since.
    is_stale: AtomicBool,
}

impl Asked<'_> {
    /// The client of all calls, so that one generation of the plugin makes the whole deployment.
    async fn client(&self) -> Result<Arc<EngineClient>, Error> {
        let known = self.client.lock().clone();
        if let Some(client) = known.as_ref().filter(|_| !self.is_stale.load(Ordering::Relaxed)) {
            return Ok(Arc::clone(client));
        }
        let fresh = engine_client(self.state, self.engine, &self.call_id).await?;
        let fresh = Arc::new(match &known {
            Some(known) => fresh.pinned_like(known),
            None => fresh,
        });
        *self.client.lock() = Some(Arc::clone(&fresh));
        self.is_stale.store(false, Ordering::Relaxed);
        Ok(fresh)
    }

    /// The next call has the settings of then: those of now did not get through. The generation stays, unless it is gone.
    fn renew(&self, error: &Error) {
        self.is_stale.store(true, Ordering::Relaxed);
        if ["plugin_replaced", "plugin_not_active"].contains(&error.code()) {
            *self.client.lock() = None;
        }
    }
}

/// The message for people; the reason of an internal error goes to the log.
fn told(error: &Error) -> String {
    if let Error::Internal(_) = error {
        tracing::warn!("a deployment failed: {error}");
    }
    error.message().to_owned()
}

/// Retries a call, after `renew`, while the plugin host is busy, the plugin is being replaced or the engine is unavailable. The
/// pauses grow, and are at least as long as the engine requests.
async fn patiently<T, F>(renew: impl Fn(&Error), call: impl Fn() -> F) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let give_up = Instant::now() + PATIENCE;
    let mut wait = RETRY_WAIT;
    loop {
        let error = match call().await {
            Err(error) if engines::is_momentary(&error) => error,
            answer => return answer,
        };
        renew(&error);
        let pause = match &error {
            Error::Refused(refusal) => refusal.retry_after_s.map(Duration::from_secs),
            Error::Internal(_) => None,
        };
        let pause = wait.max(pause.unwrap_or_default());
        if Instant::now() + pause > give_up {
            return Err(error);
        }
        sleep(pause).await;
        wait = (wait * 2).min(RETRY_WAIT_MAX);
    }
}

/// The steps of one deployment; each answer is stored before the next.
struct Steps<'d> {
    turn: &'d Held,
    asked: &'d Asked<'d>,
    current: Deployed,
}

impl Steps<'_> {
    async fn take(mut self, built: model::Workflow, online: bool) -> Result<Result<Deployed, String>, Error> {
        let revision = built.revision.clone();
        let name = built.name.clone();
        let mut request =
            DeployRequest { workflow: built, current: self.current.reference(), online, extra: None };
        let mut answer = patiently(
            |error| self.asked.renew(error),
            || async { self.asked.client().await?.deploy(&request).await },
        )
        .await;
        for _ in 0..STEPS_MAX {
            let deployment = match answer {
                Ok(deployment) => deployment,
                Err(error) => return Ok(Err(told(&error))),
            };
            if let Err(error) = self.learn("deploys.deploy", &deployment).await {
                return Ok(Err(told(&error)));
            }
            match deployment.phase.as_str() {
                "done" => {
                    self.current.revision = Some(revision);
                    self.current.name = name;
                    return Ok(Ok(self.current));
                }
                "again" => {
                    keep(self.asked.state, self.turn, &self.current).await?;
                    request.current = self.current.reference();
                    answer = patiently(
                        |error| self.asked.renew(error),
                        || async { self.asked.client().await?.deploy(&request).await },
                    )
                    .await;
                }
                "waiting" => {
                    keep(self.asked.state, self.turn, &self.current).await?;
                    answer = self.waited(&deployment, &revision).await?;
                }
                _ => {
                    keep(self.asked.state, self.turn, &self.current).await?;
                    return Ok(Err(told(&reconcile::failure_of(deployment))));
                }
            }
        }
        Ok(Err(format!("the engine was not done after {STEPS_MAX} steps")))
    }

    async fn learn(&mut self, function: &'static str, answer: &model::Deployment) -> Result<(), Error> {
        let client = self.asked.client().await?;
        self.current.learn(&client, function, answer)
    }

    /// Polls the status until the deployment has ended. Polling is not a step: only its time is limited.
    async fn waited(
        &mut self,
        deployment: &model::Deployment,
        revision: &str,
    ) -> Result<Result<model::Deployment, Error>, Error> {
        let mut poll_ms = deployment.poll_ms;
        loop {
            let wait = Duration::from_millis(poll_ms.into());
            sleep(wait.clamp(STATUS_INTERVAL, STATUS_INTERVAL_MAX)).await;
            let reference = self.current.reference();
            let status = patiently(
                |error| self.asked.renew(error),
                || async { self.asked.client().await?.status(&reference, Some(revision)).await },
            );
            match status.await {
                Ok(answer) if answer.phase == "waiting" => {
                    poll_ms = answer.poll_ms;
                    if let Err(error) = self.learn("deploys.status", &answer).await {
                        return Ok(Err(error));
                    }
                    keep(self.asked.state, self.turn, &self.current).await?;
                }
                answer => return Ok(answer),
            }
        }
    }
}

/// Stores the engine's answer.
pub async fn keep(state: &Workflows, turn: &Held, current: &Deployed) -> Result<(), Error> {
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    workflows::set_deployed(&mut tx, current).await?;
    tx.commit().await
}

async fn end(state: &Workflows, record: &Publication, turn: &Held, outcome: Outcome) -> Result<(), Error> {
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let workflow = workflows::lock(&mut tx, record.workflow_id).await?;
    let (code, reason) = match &outcome {
        Ok(done) => (done.deployed.code.as_deref(), None),
        // PostgreSQL's texts have no NUL.
        Err(failed) => {
            let reason = failed.reason.chars().filter(|&c| c != '\0').take(REASON_MAX_CHARS);
            (None, Some(reason.collect::<String>()))
        }
    };
    if !store::end(&mut tx, record.id, code, reason.as_deref(), now_ms).await? {
        return Ok(());
    }
    match (outcome, workflow) {
        (Ok(done), Some(mut workflow)) => {
            workflows::set_deployed(&mut tx, &done.deployed).await?;
            if workflow.wanted.as_ref().is_some_and(|open| !open.is_forward()) {
                // The engine has all of the workflow.
                workflows::want(&mut tx, workflow.id, None, now_ms).await?;
            }
            workflow.note_published(record.version, done.digest, done.schedule);
            workflows::set_published(&mut tx, &workflow).await?;
            versions::check_tasks(&mut tx, &mut workflow).await?;
        }
        (Err(failed), Some(workflow)) if failed.has_asked && workflow.in_engine().is_some() => {
            let reason =
                format!("version {} was not deployed: {}", record.version, reason.unwrap_or_default());
            let by = record.decided_by.as_deref().unwrap_or_default();
            let by = By::server(by, format!("publication-{}", record.id));
            reconcile::restore_after(&mut tx, &workflow, by, &reason, now_ms).await?;
        }
        _ => {}
    }
    api::settle(&mut tx, record, None).await?;
    tx.commit().await?;
    failpoints::reach("publication.ended");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A call that fails once with this error; returns the number of calls and the result.
    async fn tried(error: fn() -> Error) -> (u32, Result<(), Error>) {
        let calls = Cell::new(0);
        let outcome = patiently(
            |_| (),
            || {
                calls.set(calls.get() + 1);
                let answer = if calls.get() == 1 { Err(error()) } else { Ok(()) };
                async { answer }
            },
        )
        .await;
        (calls.get(), outcome)
    }

    #[tokio::test]
    async fn only_temporary_errors_are_retried() {
        let (calls, outcome) = tried(|| Error::unavailable("engine_unavailable", "a moment")).await;
        assert_eq!((calls, outcome.is_ok()), (2, true));
        let (calls, outcome) = tried(|| Error::unavailable("plugin_quarantined", "it broke")).await;
        assert_eq!((calls, outcome.unwrap_err().code()), (1, "plugin_quarantined"));
    }

    #[test]
    fn trouble_of_the_store_ends_no_deployment() {
        assert!(is_of_the_store(&Error::from(sqlx::Error::PoolTimedOut)));
        assert!(is_of_the_store(&Error::from(sqlx::Error::RowNotFound)));
        assert!(!is_of_the_store(&Error::bad_gateway("engine_failed", "no")));
    }
}
