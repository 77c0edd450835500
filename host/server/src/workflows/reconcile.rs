//! Brings engines and the store to agree. A change is stored as wanted, the engine is called, its answer is stored;
//! a worker carries on what a server left in between, and follows what an engine carries out by itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lakeport_base::{Error, failpoints};
use lakeport_bindings::engine::model;
use lakeport_store::{Held, Tx};
use tokio::time::sleep;

use super::api::{engine_client, unknown};
use super::definition::{Content, Schedule};
use super::forms::WorkflowStatus;
use super::publications::keep;
use super::schedules::for_engine;
use super::versions::{self, Made, Source};
use super::wanted::{EngineChange, EngineStatus, Wanted};
use super::{Deployed, TOPIC, Workflow, Workflows, engine_lock, removals, store};
use crate::audit::{self, Change};
use crate::engines::{EngineClient, Failure};

/// The longest interval between two looks.
const POLL: Duration = Duration::from_secs(5);
/// Changes of one engine that are read at once, due first.
const READ_OF_ENGINE: i64 = 20;
/// Engines that one server asks at once.
const ENGINES_AT_ONCE: usize = 8;
/// The pause before a change is tried again: the first one, and the longest.
const RETRY_MS: i64 = 5_000;
const RETRY_MAX_MS: i64 = 5 * 60_000;
/// The pause before an engine is asked again for its progress.
const POLL_MIN_MS: i64 = 1_000;
const POLL_MAX_MS: i64 = 60_000;
/// Of an error, in characters.
const ERROR_MAX_CHARS: usize = 2_000;
/// How often an engine may ask for the same call again, within one change.
pub const STEPS_MAX: usize = 50;
/// Errors with which an engine itself refuses; with all others it did not say anything.
const REFUSALS: [&str; 4] = ["engine_conflict", "engine_denied", "engine_failed", "unsupported_by_engine"];

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
/// still open.
pub async fn settled(state: &Workflows, id: i64, turn: &Held) -> Result<Workflow, Error> {
    let workflow = super::get(state, id).await?;
    if workflow.wanted.is_none() {
        return Ok(workflow);
    }
    pursue(state, id, turn).await?;
    let workflow = super::get(state, id).await?;
    match &workflow.wanted {
        None | Some(Wanted { change: EngineChange::Restore | EngineChange::Settle, .. }) => Ok(workflow),
        Some(wanted) => {
            let why = workflow.engine_error.as_deref().unwrap_or("it has not answered");
            let message = format!(
                "the engine has not answered yet to the change before, {}: {why}; that change goes on, see engineState",
                wanted.change.title()
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
    want(state, turn, workflow.id, &wanted).await?;
    let call_id = wanted.by.request_id.clone();
    match apply(state, turn, workflow, deployed, &wanted.change, &call_id).await? {
        Outcome::Made { deployed, waits_ms } => {
            made(state, turn, workflow, &wanted, &deployed, waits_ms).await
        }
        Outcome::Refused { error, is_half } => {
            withdraw(state, turn, workflow, wanted, is_half).await?;
            Err(error)
        }
        Outcome::Open(error) => {
            leave_open(state, turn, workflow, &error, false).await?;
            Err(still_open(error))
        }
    }
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

/// Forgets a change that the engine refused. What was open before goes on; if it may have made a part, what is stored is
/// restored there.
pub async fn withdraw(
    state: &Workflows,
    turn: &Held,
    before: &Workflow,
    wanted: Wanted,
    is_half: bool,
) -> Result<(), Error> {
    let id = before.id;
    let is_forward = |one: &&Wanted| !matches!(one.change, EngineChange::Restore | EngineChange::Settle);
    let earlier = before.wanted.as_ref().filter(|one| is_forward(one) || !is_half);
    let restored = Wanted { change: EngineChange::Restore, ..wanted };
    if let Some(open) = earlier.filter(|one| one.change != wanted.change).or(is_half.then_some(&restored)) {
        return want(state, turn, id, open).await;
    }
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    store::want(&mut tx, id, None, 0).await?;
    tx.changed(TOPIC, id.to_string());
    tx.commit().await
}

/// Notes why a change is still open, and when it is tried again.
async fn leave_open(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    error: &Error,
    is_refused: bool,
) -> Result<(), Error> {
    let status = if is_refused { EngineStatus::Failed } else { EngineStatus::Pending };
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let next_at_ms = next_at_ms(state.clock.now_ms(), workflow.wanted_tries);
    store::want_later(&mut tx, workflow.id, next_at_ms, status, &shown(error)).await?;
    tx.changed(TOPIC, workflow.id.to_string());
    tx.commit().await
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
    after.wanted = waits_ms.map(|_| Wanted { change: EngineChange::Settle, by: wanted.by.clone() });
    let due_at_ms = now_ms + waits_ms.unwrap_or_default();
    (after.engine_status, after.engine_error) =
        store::want(&mut tx, id, after.wanted.as_ref(), due_at_ms).await?;
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
    workflow: &Workflow,
    deployed: &Deployed,
    change: &EngineChange,
    call_id: &str,
) -> Result<Outcome, Error> {
    let client = match engine_client(state, &deployed.engine, call_id).await {
        Ok(client) => client,
        Err(error @ Error::Internal(_)) => return Err(error),
        Err(error) => return Ok(Outcome::Refused { error, is_half: false }),
    };
    let mut asked = Asked { state, turn, client, current: deployed.clone(), has_asked: false };
    let failure = match asked.make(workflow, change).await {
        Ok(waits_ms) => {
            failpoints::reach("workflow.engine_answered");
            return Ok(Outcome::Made { deployed: asked.current, waits_ms });
        }
        Err(failure) => failure,
    };
    Ok(match failure {
        Failure::Refused(error @ Error::Internal(_)) | Failure::Open(error @ Error::Internal(_)) => {
            return Err(error);
        }
        Failure::Refused(error) | Failure::Open(error) if error.code() == "lease_lost" => return Err(error),
        Failure::Refused(error) => Outcome::Refused { error, is_half: asked.has_asked },
        Failure::Open(error) => Outcome::Open(error),
    })
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
                Some(_) => Err(Failure::Refused(Error::not_yet(format!(
                    "the engine `{}` has no timer of its own, and this version of Lakeport keeps none for it",
                    self.current.engine
                )))),
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
        self.current.learn(&answer);
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
            self.current.learn(&answer);
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
fn wait_ms(answer: &model::Deployment) -> i64 {
    i64::from(answer.poll_ms).clamp(POLL_MIN_MS, POLL_MAX_MS)
}

/// The reason of a change that came to nothing.
pub fn failure_of(answer: model::Deployment) -> Error {
    let message = answer.failure.map(|failure| failure.message);
    Error::bad_gateway("engine_failed", message.unwrap_or_else(|| "the engine does not say why".to_owned()))
}

/// Works until the server stops.
pub async fn run_worker(state: Arc<Workflows>) {
    loop {
        if let Err(error) = look(&state).await {
            tracing::warn!("looking for changes of engines failed, trying again: {error}");
        }
        if state.stopping.run_until_cancelled(sleep(POLL)).await.is_none() {
            return;
        }
    }
}

/// Carries on what is due. An engine that does not answer is asked once.
async fn look(state: &Workflows) -> Result<(), Error> {
    let mut of_engine: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for (id, engine) in store::due_at_engines(&state.db, state.clock.now_ms(), READ_OF_ENGINE).await? {
        of_engine.entry(engine).or_default().push(id);
    }
    futures_util::stream::iter(of_engine.into_values())
        .for_each_concurrent(ENGINES_AT_ONCE, |ids| async move {
            for id in ids {
                match attempt(state, id).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        tracing::warn!(workflow = id, "a change of an engine goes on later: {error}");
                        let at_ms = state.clock.now_ms() + RETRY_MS;
                        if let Err(error) = store::postpone_at_engine(&state.db, id, at_ms).await {
                            tracing::debug!(workflow = id, "it was not postponed: {error}");
                        }
                        return;
                    }
                }
            }
        })
        .await;
    Ok(())
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
    let call_id = format!("reconcile-{id}");
    match apply(state, turn, &workflow, &deployed, &wanted.change, &call_id).await? {
        Outcome::Made { deployed, waits_ms } => {
            let mut changed = made(state, turn, &workflow, &wanted, &deployed, waits_ms).await?;
            if matches!(wanted.change, EngineChange::SetSchedule { .. } | EngineChange::Switch { .. }) {
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
        Outcome::Refused { error, .. } if is_refusal(&error) => {
            tracing::warn!(workflow = id, "the engine refuses a change: {error}");
            match wanted.change {
                EngineChange::Restore => leave_open(state, turn, &workflow, &error, true).await?,
                // It is tried with what is stored, which may be what the engine has.
                _ => withdraw(state, turn, &workflow, wanted, true).await?,
            }
            Ok(true)
        }
        Outcome::Refused { error, .. } | Outcome::Open(error) => {
            leave_open(state, turn, &workflow, &error, false).await?;
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
}
