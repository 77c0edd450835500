//! Deleted workflows that their engine still has: it did not answer, or has not finished. They are removed there later,
//! and listed until then.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lakeport_base::time;
use lakeport_base::{Error, failpoints};
use lakeport_http::Data;
use lakeport_store::Held;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::sleep;

use super::api::engine_client;
use super::forms::WorkflowPath;
use super::{Call, Deployed, Workflows, engine_lock, rights, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;

/// The longest interval between two looks.
const POLL: Duration = Duration::from_secs(5);
/// Removals that are read at once, due first.
const READ_AT_ONCE: i64 = 100;
/// Engines that one server asks at once.
const ENGINES_AT_ONCE: usize = 8;
/// The pause before a removal is tried again: the first one, and the longest.
const RETRY_MS: i64 = 5_000;
const RETRY_MAX_MS: i64 = 5 * 60_000;
/// Of an error, in characters.
const ERROR_MAX_CHARS: usize = 2_000;
/// The most listed removals.
const LISTED_MAX: i64 = 500;
/// Errors with which an engine itself refuses; with all others it did not say anything.
const REFUSALS: [&str; 4] = ["engine_conflict", "engine_denied", "engine_failed", "unsupported_by_engine"];

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
pub const UNFINISHED: &str = "the engine has not finished the removal";

/// The result of asking an engine to remove a workflow.
pub enum Removed {
    Done,
    /// The engine needs more time, and has this state.
    Unfinished(Option<String>),
    /// It did not say anything, for this reason.
    Unanswered(String),
    /// The engine refuses.
    Refused(Error),
}

/// Asks the engine to remove a workflow, under its lock; fails only with `lease_lost`.
pub async fn remove(
    state: &Workflows,
    deployed: &Deployed,
    turn: &Held,
    call_id: &str,
) -> Result<Removed, Error> {
    let asked = async {
        let client = engine_client(state, &deployed.engine, call_id).await?;
        client.remove(&deployed.reference()).await
    };
    Ok(match engine_lock::asked(turn, asked).await {
        Ok(receipt) if receipt.settled => Removed::Done,
        Ok(receipt) => Removed::Unfinished(receipt.state),
        Err(error) if error.code() == "lease_lost" || matches!(error, Error::Internal(_)) => {
            return Err(error);
        }
        Err(error) if REFUSALS.contains(&error.code()) => Removed::Refused(error),
        Err(error) => Removed::Unanswered(shown(&error)),
    })
}

/// The message for people; PostgreSQL's texts have no NUL.
fn shown(error: &Error) -> String {
    error.message().chars().filter(|&c| c != '\0').take(ERROR_MAX_CHARS).collect()
}

/// The time of the next attempt.
pub fn next_at_ms(now_ms: i64, tries: i64) -> i64 {
    let doublings = u32::try_from(tries.clamp(0, 16)).unwrap_or_default();
    now_ms + (RETRY_MS << doublings).min(RETRY_MAX_MS)
}

/// Works until the server stops.
pub async fn run_worker(state: Arc<Workflows>) {
    loop {
        if let Err(error) = look(&state).await {
            tracing::warn!("looking for removals failed, trying again: {error}");
        }
        if state.stopping.run_until_cancelled(sleep(POLL)).await.is_none() {
            return;
        }
    }
}

/// Tries what is due. An engine that does not answer is asked once.
async fn look(state: &Workflows) -> Result<(), Error> {
    let mut of_engine: BTreeMap<String, Vec<Removal>> = BTreeMap::new();
    for removal in store::removals(&state.db, state.clock.now_ms(), READ_AT_ONCE).await? {
        of_engine.entry(removal.deployed.engine.clone()).or_default().push(removal);
    }
    futures_util::stream::iter(of_engine.into_values())
        .for_each_concurrent(ENGINES_AT_ONCE, |removals| async move {
            for removal in removals {
                match attempt(state, removal.deployed.id).await {
                    Ok(true) => {}
                    Ok(false) => return,
                    Err(error) => {
                        let workflow = removal.deployed.id;
                        tracing::warn!(workflow, "a removal goes on later: {error}");
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
    let work = async |turn: &Held| {
        // Another server may have been faster.
        let Some(removal) = store::removal(&state.db, id).await? else { return Ok(true) };
        let outcome = remove(state, &removal.deployed, turn, &format!("removal-{id}")).await?;
        failpoints::reach("removal.asked");
        let mut tx = state.db.begin().await?;
        tx.guard(turn).await?;
        let mut later = async |reason: &str| {
            let next_at_ms = next_at_ms(state.clock.now_ms(), removal.tries);
            store::retry_removal(&mut tx, id, next_at_ms, reason).await
        };
        let has_answered = match outcome {
            Removed::Done => {
                tracing::info!(workflow = id, "a deleted workflow was removed from its engine");
                store::end_removal(&mut tx, id).await?
            }
            Removed::Unanswered(reason) => {
                later(&reason).await?;
                false
            }
            Removed::Unfinished(state) => {
                later(UNFINISHED).await?;
                let state = state.or_else(|| removal.deployed.state.clone());
                store::set_deployed(&mut tx, &Deployed { state, ..removal.deployed }).await?;
                true
            }
            Removed::Refused(error) => {
                later(&shown(&error)).await?;
                true
            }
        };
        tx.commit().await?;
        Ok(has_answered)
    };
    turn.work(&state.stopping, work).await.unwrap_or(Ok(false))
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
