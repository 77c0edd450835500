//! Deleted workflows that their engine still has: it did not answer, or has not finished. They are removed there later,
//! and listed until then.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use lakeport_base::time;
use lakeport_base::{Error, failpoints};
use lakeport_http::Data;
use lakeport_store::Held;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::{Instant, sleep_until};

use super::api::engine_client;
use super::{Call, Deployed, Workflows, engine_lock, rights, store};
use crate::datasources::Rights;
use crate::engines;

/// The longest interval between two looks.
const POLL: Duration = Duration::from_secs(5);
/// Removals that are read at once, due first.
const READ_AT_ONCE: i64 = 100;
/// Removals of one server at once.
const AT_ONCE: usize = 4;
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

/// The result of asking an engine to remove a workflow.
pub enum Removed {
    Done,
    /// Ask again later; the reason.
    Pending(String),
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
        Ok(_) => Removed::Pending("the engine has not finished the removal".to_owned()),
        Err(error) if error.code() == "lease_lost" || matches!(error, Error::Internal(_)) => {
            return Err(error);
        }
        Err(error) if REFUSALS.contains(&error.code()) => Removed::Refused(error),
        Err(error) => Removed::Pending(shown(&error)),
    })
}

/// The message for people; PostgreSQL's texts have no NUL.
fn shown(error: &Error) -> String {
    let message = match error {
        Error::Refused(refusal) => refusal.message.clone(),
        Error::Internal(_) => "the server failed; its log has the reason".to_owned(),
    };
    message.chars().filter(|&c| c != '\0').take(ERROR_MAX_CHARS).collect()
}

/// The time of the next attempt.
pub fn next_at_ms(now_ms: i64, tries: i64) -> i64 {
    let doublings = u32::try_from(tries.clamp(0, 16)).unwrap_or_default();
    now_ms + (RETRY_MS << doublings).min(RETRY_MAX_MS)
}

/// Works until the server stops.
pub async fn run_worker(state: Arc<Workflows>) {
    loop {
        let next = match look(&state).await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!("looking for removals failed, trying again: {error}");
                Instant::now() + POLL
            }
        };
        tokio::select! {
            () = state.stopping.cancelled() => return,
            () = sleep_until(next) => {}
        }
    }
}

/// Tries what is due; returns when to look again.
async fn look(state: &Workflows) -> Result<Instant, Error> {
    let now_ms = state.clock.now_ms();
    let due = store::removals(&state.db, now_ms, READ_AT_ONCE).await?;
    futures_util::stream::iter(due)
        .for_each_concurrent(AT_ONCE, |removal| async move {
            let id = removal.deployed.id;
            if let Err(error) = attempt(state, removal).await {
                tracing::warn!(workflow = id, "a removal goes on later: {error}");
            }
        })
        .await;
    Ok(Instant::now() + POLL)
}

async fn attempt(state: &Workflows, removal: Removal) -> Result<(), Error> {
    let id = removal.deployed.id;
    let Some(turn) = engine_lock::try_take(state, id).await? else { return Ok(()) };
    let work = async |turn: &Held| {
        let outcome = if engines::find(&state.db, &removal.deployed.engine).await?.is_none() {
            tracing::warn!(workflow = id, "its engine is not configured any more: a removal is given up");
            Removed::Done
        } else {
            remove(state, &removal.deployed, turn, &format!("removal-{id}")).await?
        };
        failpoints::reach("removal.asked");
        let mut tx = state.db.begin().await?;
        tx.guard(turn).await?;
        match outcome {
            Removed::Done => {
                tracing::info!(workflow = id, "a deleted workflow was removed from its engine");
                store::end_removal(&mut tx, id).await?;
            }
            Removed::Pending(reason) => {
                let next_at_ms = next_at_ms(state.clock.now_ms(), removal.tries);
                store::set_removal(&mut tx, id, next_at_ms, Some(&reason)).await?;
            }
            Removed::Refused(error) => {
                let next_at_ms = next_at_ms(state.clock.now_ms(), removal.tries);
                store::set_removal(&mut tx, id, next_at_ms, Some(&shown(&error))).await?;
            }
        }
        tx.commit().await
    };
    turn.work(&state.stopping, work).await.unwrap_or(Ok(()))
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
