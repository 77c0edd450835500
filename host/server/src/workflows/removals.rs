//! Deleted workflows that their engine still has: it did not answer, or has not finished. They are removed there later,
//! and listed until then.

use lakeport_base::time;
use lakeport_base::{Error, failpoints};
use lakeport_bindings::engine::model;
use lakeport_http::Data;
use lakeport_store::{Held, Tx};
use schemars::JsonSchema;
use serde::Serialize;

use super::api::{engine_client, unknown};
use super::forms::WorkflowPath;
use super::wanted::{EngineChange, Wanted};
use super::{Call, Deployed, TOPIC, Workflow, Workflows};
use super::{engine_lock, publications, reconcile, rights, store, tasks};
use crate::audit::{self, Change, Commit};
use crate::datasources::Rights;
use crate::engines::Failure;

/// The most listed removals.
const LISTED_MAX: i64 = 500;

/// A deleted workflow that its engine still has.
#[derive(Debug, Clone)]
pub struct Removal {
    pub deployed: Deployed,
    pub deleted_at_ms: i64,
    pub next_at_ms: i64,
    pub tries: i64,
    pub error: Option<String>,
}

/// A deleted workflow that its engine still has. It is removed there as soon as the engine answers.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PendingRemoval")]
pub struct RemovalView {
    workflow_id: i64,
    /// Its name in the engine.
    workflow_name: String,
    scheduler_engine: String,
    workflow_code: Option<String>,
    deleted_at: String,
    /// How often the engine was asked.
    attempts: i64,
    next_attempt_at: String,
    /// Why the last attempt failed. Null, too, if `withheld`.
    error: Option<String>,
    /// A task of the workflow has used a data source that the caller may not use: the error text is left out.
    withheld: bool,
}

impl RemovalView {
    pub fn new(removal: &Removal, zone: chrono_tz::Tz) -> RemovalView {
        let deployed = &removal.deployed;
        RemovalView {
            workflow_id: deployed.id,
            workflow_name: deployed.name.clone(),
            scheduler_engine: deployed.engine.clone(),
            workflow_code: deployed.code.clone(),
            deleted_at: time::shown(removal.deleted_at_ms, zone),
            attempts: removal.tries,
            next_attempt_at: time::shown(removal.next_at_ms, zone),
            error: removal.error.clone(),
            withheld: false,
        }
    }

    fn withhold(&mut self) {
        self.error = None;
        self.withheld = true;
    }
}

/// `GET /api/v1/workflows/pending-removal`
pub async fn list(call: Call) -> Result<Data<Vec<RemovalView>>, Error> {
    let removals = store::removals(&call.state.db, i64::MAX, LISTED_MAX).await?;
    let (zone, db) = (call.state.config.time_zone, &call.state.db);
    let rights = Rights::of(db, &call.caller).await?;
    let mut views = Vec::with_capacity(removals.len());
    for removal in &removals {
        let mut view = RemovalView::new(removal, zone);
        if !rights::may_see(db, &rights, removal.deployed.id).await? {
            view.withhold();
        }
        views.push(view);
    }
    Ok(Data::new(&views))
}

/// `DELETE /api/v1/workflows/pending-removal/{id}`
pub async fn abandon(call: Call<WorkflowPath>) -> Result<Data<Option<RemovalView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    rights::check_ever(&state.db, &call.caller, id).await?;
    let mut tx = state.db.begin().await?;
    if !store::end_removal(&mut tx, id).await? {
        return Err(Error::not_found("pending removal", id));
    }
    call.commit(tx, Change::of("pending_removal", id), Data::new(&None)).await
}

/// Why a removal is pending that the engine has not finished.
const UNFINISHED: &str = "the engine has not finished the removal";

/// Asks the engine to remove a workflow, under its lock. `None`: it has it no more. Fails if the engine refuses: then it
/// keeps the workflow.
pub async fn remove(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    wanted: &Wanted,
) -> Result<Option<Removal>, Error> {
    let Some(deployed) = &workflow.deployed else { return Ok(None) };
    reconcile::want(state, turn, workflow.id, wanted).await?;
    match ask(state, turn, deployed, &wanted.by.request_id).await? {
        Removed::Done => Ok(None),
        Removed::Later(later) => Ok(Some(later.begun(state.clock.now_ms()))),
        Removed::Refused { error, is_half } => {
            reconcile::withdraw(state, turn, workflow, wanted, is_half).await?;
            Err(refused(error))
        }
    }
}

/// By the contract, every refusal of an engine here is 502, even one because of its state.
fn refused(error: Error) -> Error {
    match error {
        Error::Refused(refusal) if refusal.status == 409 => {
            let message = format!("the engine keeps it, and so it was not deleted: {}", refusal.message);
            Error::bad_gateway("engine_failed", message)
        }
        other => other,
    }
}

/// Deletes a workflow that its engine has no more, or will have no more.
pub async fn delete(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    wanted: &Wanted,
    left: Option<Removal>,
) -> Result<(Tx, Option<Removal>), Error> {
    let (id, by, now_ms) = (workflow.id, &wanted.by.name, state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    // Concurrent changes are deleted, too: the engine no longer has the workflow.
    store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    store::want(&mut tx, id, None, now_ms).await?;
    store::delete(&mut tx, id, by, now_ms).await?;
    if let Some(left) = &left {
        store::set_deployed(&mut tx, &left.deployed).await?;
        store::begin_removal(&mut tx, id, left.next_at_ms, left.error.as_deref()).await?;
    }
    publications::end_of(&mut tx, id, by, now_ms).await?;
    let are_deleted = matches!(wanted.change, EngineChange::Remove { cascade_delete_tasks: true });
    tasks::leave(&mut tx, id, are_deleted, now_ms).await?;
    tx.changed(TOPIC, id.to_string());
    Ok((tx, left))
}

/// What an engine makes of a removal.
enum Removed {
    Done,
    Later(Later),
    Refused {
        error: Error,
        /// It may have removed a part.
        is_half: bool,
    },
}

/// A removal that the engine has not finished.
struct Later {
    deployed: Deployed,
    reason: String,
    /// Otherwise it did not say anything.
    has_answered: bool,
    /// Milliseconds after which the engine is to be asked again, if it says that.
    wait_ms: Option<i64>,
}

impl Later {
    /// The time of the next attempt.
    fn next_at_ms(&self, now_ms: i64, tries: i64) -> i64 {
        self.wait_ms.map_or_else(|| reconcile::next_at_ms(now_ms, tries), |wait_ms| now_ms + wait_ms)
    }

    fn begun(self, now_ms: i64) -> Removal {
        let next_at_ms = self.next_at_ms(now_ms, 0);
        let (deployed, error) = (self.deployed, Some(self.reason));
        Removal { deployed, deleted_at_ms: now_ms, next_at_ms, tries: 1, error }
    }
}

/// The calls of one removal.
struct Asked<'c> {
    state: &'c Workflows,
    turn: &'c Held,
    known: Deployed,
    /// A call before has changed something.
    has_asked: bool,
}

impl Asked<'_> {
    /// `None`: it is removed. Otherwise the last answer, `waiting` or `again`.
    async fn remove(&mut self, call_id: &str) -> Result<Option<model::Deployment>, Failure> {
        const FUNCTION: &str = "deploys.remove";
        let client = engine_client(self.state, &self.known.engine, call_id).await;
        let client = client.map_err(Failure::Refused)?;
        let mut steps = 0;
        loop {
            let answer = client.remove(&self.known.reference()).await?;
            (self.has_asked, steps) = (true, steps + 1);
            self.known.learn(&client, FUNCTION, &answer).map_err(Failure::Open)?;
            match answer.phase.as_str() {
                "done" => return Ok(None),
                "again" if steps < reconcile::STEPS_MAX => {
                    let kept = publications::keep(self.state, self.turn, &self.known).await;
                    kept.map_err(Failure::Open)?;
                }
                "again" | "waiting" => return Ok(Some(answer)),
                _ => return Err(Failure::Refused(reconcile::failure_of(answer))),
            }
        }
    }
}

/// Fails only if the lock is lost or the store fails.
async fn ask(state: &Workflows, turn: &Held, deployed: &Deployed, call_id: &str) -> Result<Removed, Error> {
    let mut asked = Asked { state, turn, known: deployed.clone(), has_asked: false };
    let answer = engine_lock::asked(turn, asked.remove(call_id)).await?;
    failpoints::reach("removal.asked");
    let Asked { known, has_asked, .. } = asked;
    let failure = match answer {
        Ok(None) => return Ok(Removed::Done),
        Ok(Some(answer)) => {
            let wait_ms = (answer.phase == "waiting").then(|| reconcile::wait_ms(&answer));
            let reason = UNFINISHED.to_owned();
            return Ok(Removed::Later(Later { deployed: known, reason, has_answered: true, wait_ms }));
        }
        Err(failure) => reconcile::of_the_engine(failure)?,
    };
    match failure {
        Failure::Refused(error) if reconcile::is_refusal(&error) => {
            if known != *deployed {
                // What the engine said before it refused.
                publications::keep(state, turn, &known).await?;
            }
            Ok(Removed::Refused { error, is_half: has_asked })
        }
        // It may have removed it, whatever the error says.
        Failure::Refused(error) | Failure::Open(error) => {
            let reason = reconcile::shown(&error);
            Ok(Removed::Later(Later { deployed: known, reason, has_answered: false, wait_ms: None }))
        }
    }
}

/// Carries on a deletion that a server left in between; false if the engine did not answer.
pub async fn carry_on(
    state: &Workflows,
    turn: &Held,
    workflow: &Workflow,
    wanted: Wanted,
) -> Result<bool, Error> {
    let Some(deployed) = &workflow.deployed else { return Ok(true) };
    let left = match ask(state, turn, deployed, &wanted.by.request_id).await? {
        Removed::Done => None,
        Removed::Later(later) => Some(later.begun(state.clock.now_ms())),
        Removed::Refused { error, .. } if reconcile::is_final(&error) => {
            reconcile::give_up(state, turn, workflow, &wanted, &error).await?;
            return Ok(true);
        }
        Removed::Refused { error, .. } => {
            let tries = workflow.wanted_tries;
            reconcile::leave_open(state, turn, workflow.id, &wanted, tries, &error).await?;
            return Ok(false);
        }
    };
    let (mut tx, _) = delete(state, turn, workflow, &wanted, left).await?;
    let change = Change::of("workflow", workflow.id).before(&workflow.definition());
    audit::note(state, &mut tx, wanted.by.actor(), &change);
    tx.commit().await?;
    Ok(true)
}

/// Removes a deleted workflow from its engine, if it has it still; false if the engine did not answer.
pub async fn pursue(state: &Workflows, id: i64, turn: &Held) -> Result<bool, Error> {
    // Another server may have been faster.
    let Some(removal) = store::removal(&state.db, id).await? else { return Ok(true) };
    let outcome = ask(state, turn, &removal.deployed, &format!("removal-{id}")).await?;
    let mut tx = state.db.begin().await?;
    tx.guard(turn).await?;
    let now_ms = state.clock.now_ms();
    let has_answered = match outcome {
        Removed::Done => {
            tracing::info!(workflow = id, "a deleted workflow was removed from its engine");
            store::end_removal(&mut tx, id).await?;
            true
        }
        Removed::Later(later) => {
            let next_at_ms = later.next_at_ms(now_ms, removal.tries);
            store::retry_removal(&mut tx, id, next_at_ms, &later.reason).await?;
            store::set_deployed(&mut tx, &later.deployed).await?;
            later.has_answered
        }
        Removed::Refused { error, .. } => {
            let next_at_ms = reconcile::next_at_ms(now_ms, removal.tries);
            store::retry_removal(&mut tx, id, next_at_ms, &reconcile::shown(&error)).await?;
            true
        }
    };
    tx.commit().await?;
    Ok(has_answered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_says_when_it_is_asked_again() {
        let deployed = Deployed {
            id: 1,
            name: "w".to_owned(),
            engine: "e".to_owned(),
            code: None,
            project: None,
            revision: None,
            version: None,
            state: None,
        };
        let later = |wait_ms| Later {
            deployed: deployed.clone(),
            reason: String::new(),
            has_answered: true,
            wait_ms,
        };
        assert_eq!(later(Some(2_000)).next_at_ms(10, 9), 2_010);
        assert_eq!(later(None).next_at_ms(10, 0), reconcile::next_at_ms(10, 0));
    }
}
