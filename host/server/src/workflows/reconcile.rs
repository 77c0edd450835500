//! Brings engines and the store to agree. A change is stored as wanted, the engine is called, its answer is stored;
//! a worker carries on what a server left in between, and follows what an engine carries out by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::time::MINUTE_MS;
use lakeport_base::{Error, failpoints};
use lakeport_bindings::engine::model;
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held, Tx};
use tokio::task::JoinError;
use tokio::time::sleep;

use super::api::{engine_client, unknown};
use super::definition::{Content, Schedule};
use super::forms::WorkflowStatus;
use super::publications::keep;
use super::schedules::{for_engine, unfit};
use super::store::OpenChange;
use super::versions::{self, Made, Source};
use super::wanted::{By, EngineChange, EngineStatus, Wanted};
use super::{Deployed, TOPIC, Workflow, Workflows, engine_lock, removals, store};
use crate::audit::{self, Change};
use crate::engines::{self, EngineClient, Failure};

/// The longest interval between two looks.
const POLL: Duration = Duration::from_secs(5);
/// Changes of one engine that are read at once, due first.
const READ_OF_ENGINE: i64 = 20;
/// Engines that one server asks at once; more than are kept.
const ENGINES_AT_ONCE: usize = 1_000;
/// The pause before a change is tried again: the first one, and the longest.
const RETRY_MS: i64 = 5_000;
const RETRY_MAX_MS: i64 = 5 * 60_000;
/// The longest pause, and a minute.
const DUE_MAX_MS: i64 = RETRY_MAX_MS + MINUTE_MS;
/// The pause before an engine is asked again for its progress.
const POLL_MIN_MS: i64 = 1_000;
const POLL_MAX_MS: i64 = 60_000;
/// Of an error, in characters.
const ERROR_MAX_CHARS: usize = 2_000;
/// How often an engine may ask for the same call again, within one change.
pub const STEPS_MAX: usize = 50;
/// Errors with which an engine itself refuses; with all others it did not say anything.
const REFUSALS: [&str; 6] =
    ["engine_conflict", "engine_denied", "engine_failed", "no_schedule", "not_yet", "unsupported_by_engine"];

/// A change of which the engine's answer is to be stored.
pub struct Changed {
    pub tx: Tx,
    pub before: Workflow,
    pub after: Workflow,
}

/// What an engine made of a change.
enum Outcome {
    Made {
        deployed: Deployed,
        /// It still carries it out; asked for again after this time.
        waits_ms: Option<i64>,
    },
    Refused {
        error: Error,
        /// It may have made a part of it.
        is_half: bool,
    },
    /// It may have made it.
    Open(Error),
}

/// Whether the engine itself refused, and did not just fail to answer.
pub fn is_refusal(error: &Error) -> bool {
    REFUSALS.contains(&error.code())
}

/// Whether the engine refused for good: a change that was promised is given up then. An expired log-in or a failure that
/// may pass is no reason.
pub fn is_final(error: &Error) -> bool {
    let has_pause = matches!(error, Error::Refused(refusal) if refusal.retry_after_s.is_some());
    let may_pass = engines::is_momentary(error) || has_pause || error.code() == "engine_denied";
    is_refusal(error) && !may_pass
}

/// The message for people; PostgreSQL's texts have no NUL.
pub fn shown(error: &Error) -> String {
    error.message().chars().filter(|&c| c != '\0').take(ERROR_MAX_CHARS).collect()
}

/// The time of the next attempt.
pub fn next_at_ms(now_ms: i64, tries: i64) -> i64 {
    let doublings = u32::try_from(tries.clamp(0, 16)).unwrap_or_default();
    now_ms + (RETRY_MS << doublings).min(RETRY_MAX_MS)
}

/// The workflow of a request, after an earlier change that was left in between has been carried on. 503 if that is
/// still open, unless the request replaces it.
pub async fn settled(
    state: &Workflows,
    id: i64,
    turn: &Held,
    is_replaced: impl Fn(&EngineChange) -> bool,
) -> Result<Workflow, Error> {
    let workflow = super::get(state, id).await?;
    let is_free =
        |open: &Wanted, tries: i64| open.change.is_follow_up() || (is_replaced(&open.change) && tries > 0);
    match &workflow.wanted {
        None => return Ok(workflow),
        // One that fails in the plugin must not keep its opposite waiting.
        Some(open) if open.is_forward() && is_free(open, workflow.wanted_tries) => return Ok(workflow),
        Some(_) => {}
    }
    pursue(state, id, turn).await?;
    let workflow = super::get(state, id).await?;
    match &workflow.wanted {
        None => Ok(workflow),
        Some(open) if is_free(open, workflow.wanted_tries) => Ok(workflow),
        Some(open) => {
            let why = workflow.engine_error.as_deref().unwrap_or("it has not answered");
            let message = format!(
                "the engine has not answered yet to the change before, {}: {why}; that change goes on, see engineState",
                open.change.title()
            );
            Err(Error::unavailable("engine_unavailable", message).retry_after(5))
        }
    }
}

/// Makes a change in the engine that has the workflow. The caller commits what is returned, with the record of its
/// request. An engine that refuses leaves everything as it was.
pub async fn carry_out(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    deployed: &Deployed,
    wanted: Wanted,
) -> Result<Changed, Error> {
    let client = engine_client(state, &deployed.engine, &wanted.by.request_id).await?;
    refuse_unfit(&client, workflow, deployed, &wanted.change)?;
    let wanted = Wanted { restores: workflow.wanted.is_some(), ..wanted };
    want(state, turn, workflow.id, &wanted).await?;
    match apply(state, turn, client, workflow, deployed, &wanted.change).await? {
        Outcome::Made { deployed, waits_ms } => {
            made(state, turn, workflow, &wanted, &deployed, waits_ms).await
        }
        Outcome::Refused { error, is_half } => {
            withdraw(state, turn, workflow, &wanted, is_half).await?;
            Err(error)
        }
        Outcome::Open(error) => {
            leave_open(state, turn, workflow.id, &wanted, 0, &error).await?;
            Err(still_open(error))
        }
    }
}

/// Refuses what the engine cannot do, before anything is stored.
fn refuse_unfit(
    client: &EngineClient,
    workflow: &Workflow,
    deployed: &Deployed,
    change: &EngineChange,
) -> Result<(), Error> {
    let id = deployed.id.unsigned_abs();
    let schedule = match change {
        EngineChange::SetSchedule { schedule } => Some(schedule),
        EngineChange::Switch { status } => {
            if !client.has_schedules(id)? {
                return Err(timerless(deployed));
            }
            workflow.content.schedule.as_ref().filter(|_| *status == WorkflowStatus::Online)
        }
        _ => None,
    };
    let Some(schedule) = schedule else { return Ok(()) };
    match unfit(client, id, schedule)? {
        Some(why) => Err(Error::conflict("unsupported_by_engine", why)),
        None => Ok(()),
    }
}

fn timerless(deployed: &Deployed) -> Error {
    Error::not_yet(format!(
        "the engine `{}` has no timer of its own, and this version of Lakeport keeps none for it",
        deployed.engine
    ))
}

/// The answer to a request whose change may have been made.
fn still_open(error: Error) -> Error {
    match error {
        Error::Refused(mut refusal) => {
            refusal.message = format!(
                "{}; whether the engine has made the change is not known. Lakeport goes on with it until it is: see \
                 engineState",
                refusal.message
            );
            Error::Refused(refusal)
        }
        internal @ Error::Internal(_) => internal,
    }
}

/// Stores what is wanted, before the engine is asked.
pub async fn want(state: &Workflows, turn: &Held, id: i64, wanted: &Wanted) -> Result<(), Error> {
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    store::want(&mut tx, id, Some(wanted), state.clock.now_ms()).await?;
    tx.changed(TOPIC, id.to_string());
    tx.commit().await?;
    failpoints::reach("workflow.wanted");
    Ok(())
}

/// Forgets a change that the engine refused. What was open before goes on; if the engine may have made a part of either,
/// what is stored is restored there.
pub async fn withdraw(
    state: &Workflows,
    turn: &Held,
    before: &Workflow,
    wanted: &Wanted,
    is_half: bool,
) -> Result<(), Error> {
    let next = match &before.wanted {
        Some(open) if open.is_forward() && open.change != wanted.change => {
            Some(Wanted { restores: open.restores || is_half, ..open.clone() })
        }
        Some(open) if !open.is_forward() && !is_half => Some(open.clone()),
        // The refused change was open already.
        Some(_) => Some(wanted.restore()),
        None => is_half.then(|| wanted.restore()),
    };
    let id = before.id;
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    match &next {
        Some(next) => {
            let open = OpenChange {
                wanted: next,
                due_at_ms: state.clock.now_ms(),
                tries: before.wanted_tries,
                // A restoration of something that was in sync has not failed.
                status: if before.wanted.is_some() { before.engine_status } else { EngineStatus::Pending },
                error: before.engine_error.as_deref().filter(|_| before.wanted.is_some()),
            };
            store::set_open(&mut tx, id, &open).await?;
        }
        None => drop(store::want(&mut tx, id, None, 0).await?),
    }
    tx.changed(TOPIC, id.to_string());
    tx.commit().await
}

/// Notes why a change is still open, and when it is tried again.
pub async fn leave_open(
    state: &Workflows,
    turn: &Held,
    id: i64,
    wanted: &Wanted,
    tries: i64,
    error: &Error,
) -> Result<(), Error> {
    note_failed(state, turn, id, wanted, tries, EngineStatus::Pending, &shown(error)).await
}

async fn note_failed(
    state: &Workflows,
    turn: &Held,
    id: i64,
    wanted: &Wanted,
    tries: i64,
    status: EngineStatus,
    error: &str,
) -> Result<(), Error> {
    let due_at_ms = next_at_ms(state.clock.now_ms(), tries);
    let open = OpenChange { wanted, due_at_ms, tries: tries + 1, status, error: Some(error) };
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    store::set_open(&mut tx, id, &open).await?;
    tx.changed(TOPIC, id.to_string());
    tx.commit().await
}

/// Gives up a change that the engine refuses for good: what is stored is restored there, until it has that.
pub async fn give_up(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    wanted: &Wanted,
    error: &Error,
) -> Result<(), Error> {
    let (id, tries, restore) = (workflow.id, workflow.wanted_tries, wanted.restore());
    tracing::warn!(workflow = id, "the engine refuses {}: {error}", wanted.change.title());
    if wanted.change.is_follow_up() {
        return note_failed(state, turn, id, &restore, tries, EngineStatus::Failed, &shown(error)).await;
    }
    let reason = shown(error);
    let open = OpenChange {
        wanted: &restore,
        due_at_ms: state.clock.now_ms(),
        tries: 0,
        status: EngineStatus::Pending,
        error: Some(&reason),
    };
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    store::set_open(&mut tx, id, &open).await?;
    audit::note_given_up(state, &mut tx, wanted.by.actor(), &Change::of("workflow", id), error);
    tx.changed(TOPIC, id.to_string());
    tx.commit().await
}

/// Has what is stored restored after a deployment that failed: it may have switched the workflow off. A change that is
/// open goes on before.
pub async fn restore_after(
    tx: &mut Tx,
    workflow: &Workflow,
    by: By,
    reason: &str,
    now_ms: i64,
) -> Result<(), Error> {
    let wanted = match &workflow.wanted {
        Some(open) if open.is_forward() => Wanted { restores: true, ..open.clone() },
        _ => Wanted::new(EngineChange::Restore, by),
    };
    let status = if wanted.is_forward() { EngineStatus::Pending } else { EngineStatus::Failed };
    let (tries, error) = (workflow.wanted_tries, Some(reason));
    store::set_open(tx, workflow.id, &OpenChange { wanted: &wanted, due_at_ms: now_ms, tries, status, error })
        .await
}

/// Stores what the engine has made.
async fn made(
    state: &Workflows,
    turn: &Held,
    told: &Workflow,
    wanted: &Wanted,
    deployed: &Deployed,
    waits_ms: Option<i64>,
) -> Result<Changed, Error> {
    let (id, now_ms) = (told.id, state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let before = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    let mut after = before.clone();
    match &wanted.change {
        EngineChange::SetSchedule { schedule } => {
            let mut content = before.content.clone();
            content.schedule = Some(schedule.clone());
            after.engine_schedule = content.schedule_text();
            let made = Made { source: Source::Update, comment: None, by: &wanted.by.name, now_ms };
            set_schedule(&mut tx, &mut after, content, made).await?;
        }
        EngineChange::Switch { status } => {
            after.status = *status;
            store::set_status(&mut tx, id, *status).await?;
            if *status == WorkflowStatus::Online {
                after.engine_schedule = told.content.schedule_text();
                // The version that was read: meanwhile there may be others.
                after.schedule_version = told.version;
                after.note_change(false);
                store::set_engine_schedule(&mut tx, &after).await?;
                versions::check_tasks(&mut tx, &mut after).await?;
            }
        }
        EngineChange::Remove { .. } | EngineChange::Restore | EngineChange::Settle => {}
    }
    store::set_deployed(&mut tx, deployed).await?;
    after.wanted = match waits_ms {
        _ if wanted.restores => Some(wanted.restore()),
        Some(_) => Some(Wanted::new(EngineChange::Settle, wanted.by.clone())),
        None => None,
    };
    let due_at_ms = now_ms + waits_ms.unwrap_or_default();
    match &after.wanted {
        // It has not come to an end: earlier failures count.
        Some(next) if wanted.change.is_follow_up() => {
            let (tries, error) = (before.wanted_tries, before.engine_error.as_deref());
            let open = OpenChange { wanted: next, due_at_ms, tries, status: before.engine_status, error };
            store::set_open(&mut tx, id, &open).await?;
        }
        next => {
            (after.engine_status, after.engine_error) =
                store::want(&mut tx, id, next.as_ref(), due_at_ms).await?;
        }
    }
    tx.changed(TOPIC, id.to_string());
    Ok(Changed { tx, before, after })
}

/// Stores a schedule; it makes a version unless the definition has it already.
pub async fn set_schedule(
    tx: &mut Tx,
    after: &mut Workflow,
    content: Content,
    made: Made<'_>,
) -> Result<(), Error> {
    if !versions::change_content(tx, after, content, made).await? {
        // After a rollback the engine may have had another one.
        after.note_change(false);
    }
    // Also if the definition has it already, from a rollback or an import.
    after.schedule_version = after.version;
    store::set_engine_schedule(tx, after).await?;
    versions::check_tasks(tx, after).await
}

/// Asks the engine to make a change, under its lock; fails only if the lock is lost or the store fails.
async fn apply(
    state: &Workflows,
    turn: &Held,
    client: EngineClient,
    workflow: &Workflow,
    deployed: &Deployed,
    change: &EngineChange,
) -> Result<Outcome, Error> {
    let mut asked = Asked { state, turn, client, current: deployed.clone(), has_asked: false };
    let failure = match asked.make(workflow, change).await {
        Ok(waits_ms) => {
            failpoints::reach("workflow.engine_answered");
            return Ok(Outcome::Made { deployed: asked.current, waits_ms });
        }
        Err(failure) => failure,
    };
    let failure = of_the_engine(failure)?;
    if asked.current != *deployed {
        // What the engine said before it failed.
        keep(state, turn, &asked.current).await?;
    }
    Ok(match failure {
        Failure::Refused(error) => Outcome::Refused { error, is_half: asked.has_asked },
        Failure::Open(error) => Outcome::Open(error),
    })
}

/// Fails if the store failed, or another server has the lock.
pub fn of_the_engine(failure: Failure) -> Result<Failure, Error> {
    match failure {
        Failure::Refused(error @ Error::Internal(_)) | Failure::Open(error @ Error::Internal(_)) => {
            Err(error)
        }
        Failure::Refused(error) | Failure::Open(error) if error.code() == "lease_lost" => Err(error),
        failure => Ok(failure),
    }
}

/// A call that changes a schedule.
enum Step {
    Set(Option<model::Schedule>),
    Online,
    Offline,
}

impl Step {
    async fn make(
        &self,
        client: &EngineClient,
        of: &model::WorkflowRef,
    ) -> Result<model::Deployment, Failure> {
        match self {
            Step::Set(schedule) => client.set_schedule(of, schedule.as_ref()).await,
            Step::Online => client.online(of).await,
            Step::Offline => client.offline(of).await,
        }
    }

    fn function(&self) -> &'static str {
        match self {
            Step::Set(_) => "schedules.set",
            Step::Online => "schedules.online",
            Step::Offline => "schedules.offline",
        }
    }
}

/// The calls of one change.
struct Asked<'c> {
    state: &'c Workflows,
    turn: &'c Held,
    client: EngineClient,
    current: Deployed,
    /// A call before has changed something.
    has_asked: bool,
}

impl Asked<'_> {
    /// Milliseconds until the engine's progress is asked for, if it still carries the change out.
    async fn make(&mut self, workflow: &Workflow, change: &EngineChange) -> Result<Option<i64>, Failure> {
        let mut change = change;
        if *change == EngineChange::Settle {
            match self.progress().await? {
                Progress::Done => return Ok(None),
                Progress::Waiting(wait_ms) => return Ok(Some(wait_ms)),
                Progress::Again => change = &EngineChange::Restore,
            }
        }
        // A workflow that was never deployed has nothing to restore.
        if *change == EngineChange::Restore && workflow.status == WorkflowStatus::Draft {
            return Ok(None);
        }
        let (schedule, is_online) = match change {
            EngineChange::SetSchedule { schedule } => (Some(Some(schedule.clone())), None),
            EngineChange::Switch { status: WorkflowStatus::Online } => {
                // One that a rollback or an import has changed is set first.
                let is_other = workflow.engine_schedule != workflow.content.schedule_text();
                if workflow.content.schedule.is_none() {
                    let message = "the workflow has no schedule any more";
                    return Err(Failure::Refused(Error::conflict("no_schedule", message)));
                }
                (is_other.then(|| workflow.content.schedule.clone()), Some(true))
            }
            EngineChange::Switch { .. } => (None, Some(false)),
            EngineChange::Restore => {
                let schedule = workflow.engine_schedule.as_deref();
                let schedule: Option<Schedule> = schedule.and_then(|text| serde_json::from_str(text).ok());
                let is_online = schedule.is_some() && workflow.status == WorkflowStatus::Online;
                (Some(schedule), Some(is_online))
            }
            EngineChange::Settle | EngineChange::Remove { .. } => return Ok(None),
        };
        let id = self.current.reference().id;
        if !self.client.has_schedules(id).map_err(Failure::Refused)? {
            return match is_online {
                None => Ok(None),
                Some(_) if *change == EngineChange::Restore => Ok(None),
                Some(_) => Err(Failure::Refused(timerless(&self.current))),
            };
        }
        let mut waits_ms = None;
        if let Some(schedule) = schedule {
            let schedule = match &schedule {
                Some(schedule) => {
                    Some(for_engine(&self.client, id, schedule).await.map_err(Failure::Refused)?)
                }
                None => None,
            };
            waits_ms = self.step(Step::Set(schedule)).await?;
        }
        // An engine that still sets the schedule can switch it.
        let switched_ms = match is_online {
            None => None,
            Some(true) => self.step(Step::Online).await?,
            Some(false) => self.step(Step::Offline).await?,
        };
        Ok(waits_ms.max(switched_ms))
    }

    async fn progress(&mut self) -> Result<Progress, Failure> {
        let reference = self.current.reference();
        let answer = engine_lock::asked(self.turn, self.client.status(&reference, None)).await;
        let answer = answer.flatten().map_err(Failure::Open)?;
        self.current.learn(&self.client, "deploys.status", &answer).map_err(Failure::Open)?;
        match answer.phase.as_str() {
            "done" => Ok(Progress::Done),
            "again" => Ok(Progress::Again),
            "waiting" => Ok(Progress::Waiting(wait_ms(&answer))),
            _ => Err(Failure::Refused(failure_of(answer))),
        }
    }

    /// One change, for which the engine may ask again at once.
    async fn step(&mut self, call: Step) -> Result<Option<i64>, Failure> {
        for _ in 0..STEPS_MAX {
            let reference = self.current.reference();
            let answer = engine_lock::asked(self.turn, call.make(&self.client, &reference)).await;
            let answer = answer.map_err(Failure::Open)??;
            self.has_asked = true;
            self.current.learn(&self.client, call.function(), &answer).map_err(Failure::Open)?;
            match answer.phase.as_str() {
                "done" => return Ok(None),
                "waiting" => return Ok(Some(wait_ms(&answer))),
                "again" => keep(self.state, self.turn, &self.current).await.map_err(Failure::Open)?,
                _ => return Err(Failure::Refused(failure_of(answer))),
            }
        }
        let message = format!("the engine was not done after {STEPS_MAX} steps");
        Err(Failure::Open(Error::bad_gateway("engine_failed", message)))
    }
}

/// How far an engine is with a change that it has accepted.
enum Progress {
    Done,
    /// Its function is to be called again.
    Again,
    Waiting(i64),
}

/// Milliseconds until the progress is asked for.
pub fn wait_ms(answer: &model::Deployment) -> i64 {
    i64::from(answer.poll_ms).clamp(POLL_MIN_MS, POLL_MAX_MS)
}

/// The reason of a change that came to nothing.
pub fn failure_of(answer: model::Deployment) -> Error {
    let message = answer.failure.map(|failure| failure.message);
    Error::bad_gateway("engine_failed", message.unwrap_or_else(|| "the engine does not say why".to_owned()))
}

/// Works until the server stops.
pub async fn run_worker(state: Arc<Workflows>) {
    let (mut changed, stopping) = (state.changes.subscribe(engines::TOPIC), state.stopping.clone());
    let worker = Reconciler { state, jobs: Jobs::new(ENGINES_AT_ONCE) };
    jobs::run(worker, &mut changed, stopping.cancelled()).await;
}

/// Asks each engine by itself, so that one that is slow keeps no other waiting.
struct Reconciler {
    state: Arc<Workflows>,
    /// By engine.
    jobs: Jobs<String, (), ()>,
}

impl Work for Reconciler {
    type Key = String;
    type Job = ();
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<String, (), ()> {
        &mut self.jobs
    }

    async fn look(&mut self) -> Result<Duration, Error> {
        let mut of_engine: BTreeMap<String, Vec<i64>> = BTreeMap::new();
        let due =
            store::due_at_engines(&self.state.db, self.state.clock.now_ms(), DUE_MAX_MS, READ_OF_ENGINE)
                .await?;
        for (id, engine) in due {
            of_engine.entry(engine).or_default().push(id);
        }
        for (engine, ids) in of_engine {
            if !self.jobs.contains(&engine) && !self.jobs.is_full() {
                self.jobs.spawn(engine, (), carry_on(Arc::clone(&self.state), ids));
            }
        }
        Ok(POLL)
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("looking for changes of engines failed, trying again: {error}");
        POLL
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, _: String, (): (), _: Result<(), JoinError>) {}
}

/// Carries on what is due at one engine, and rests. An engine that does not answer is asked once.
async fn carry_on(state: Arc<Workflows>, ids: Vec<i64>) {
    for id in ids {
        match attempt(&state, id).await {
            Ok(true) if !state.stopping.is_cancelled() => {}
            Ok(_) => break,
            Err(error) => {
                tracing::warn!(workflow = id, "a change of an engine goes on later: {error}");
                let at_ms = state.clock.now_ms() + RETRY_MS;
                if let Err(error) = store::postpone_at_engine(&state.db, id, at_ms).await {
                    tracing::debug!(workflow = id, "it was not postponed: {error}");
                }
                break;
            }
        }
    }
    state.stopping.run_until_cancelled(sleep(POLL)).await;
}

/// False if the engine did not answer.
async fn attempt(state: &Workflows, id: i64) -> Result<bool, Error> {
    let Some(turn) = engine_lock::try_take(state, id).await? else { return Ok(true) };
    let work =
        async |turn: &Held| Ok(removals::pursue(state, id, turn).await? && pursue(state, id, turn).await?);
    turn.work(&state.stopping, work).await.unwrap_or(Ok(false))
}

/// Carries on what is wanted of a workflow's engine; false if the engine did not answer.
async fn pursue(state: &Workflows, id: i64, turn: &Held) -> Result<bool, Error> {
    // Another server may have been faster.
    let Some(workflow) = store::find(&state.db, id).await? else { return Ok(true) };
    let (Some(wanted), Some(deployed)) = (workflow.wanted.clone(), workflow.deployed.clone()) else {
        return Ok(true);
    };
    if let EngineChange::Remove { .. } = wanted.change {
        return removals::carry_on(state, turn, &workflow, wanted).await;
    }
    let tries = workflow.wanted_tries;
    let client = match engine_client(state, &deployed.engine, &format!("reconcile-{id}")).await {
        Ok(client) => client,
        Err(error @ Error::Internal(_)) => return Err(error),
        Err(error) => {
            leave_open(state, turn, id, &wanted, tries, &error).await?;
            return Ok(false);
        }
    };
    match apply(state, turn, client, &workflow, &deployed, &wanted.change).await? {
        Outcome::Made { deployed, waits_ms } => {
            let mut changed = made(state, turn, &workflow, &wanted, &deployed, waits_ms).await?;
            if wanted.is_forward() {
                let (before, after) = (&changed.before, &changed.after);
                let before = (before.status, before.definition());
                let change = Change::of("workflow", id).before(&before);
                let change = change.after(&(after.status, after.definition()));
                audit::note(state, &mut changed.tx, wanted.by.actor(), &change);
            }
            changed.tx.commit().await?;
            tracing::info!(workflow = id, "a change that a server left open was made in its engine");
            Ok(true)
        }
        Outcome::Refused { error, .. } if is_final(&error) => {
            give_up(state, turn, &workflow, &wanted, &error).await?;
            Ok(true)
        }
        Outcome::Refused { error, .. } | Outcome::Open(error) => {
            leave_open(state, turn, id, &wanted, tries, &error).await?;
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_limit() {
        assert_eq!(next_at_ms(0, 0), RETRY_MS);
        assert_eq!(next_at_ms(0, 1), 2 * RETRY_MS);
        assert_eq!(next_at_ms(7, 1_000), 7 + RETRY_MAX_MS);
    }

    #[test]
    fn only_a_final_refusal_gives_a_change_up() {
        let failed = || Error::bad_gateway("engine_failed", "no");
        let cases = [
            (Error::conflict("engine_conflict", "a run is active"), [true, true]),
            (failed(), [true, true]),
            (Error::not_yet("no timer"), [true, true]),
            (failed().retry_after(1), [true, false]),
            (Error::conflict("engine_conflict", "a run is active").retry_after(1), [true, false]),
            (Error::bad_gateway("engine_denied", "the token has expired"), [true, false]),
            (Error::bad_gateway("plugin_trapped", "it trapped"), [false, false]),
            (Error::unavailable("engine_unavailable", "a moment"), [false, false]),
        ];
        for (error, expected) in cases {
            assert_eq!([is_refusal(&error), is_final(&error)], expected, "{error}");
        }
    }
}
