//! Schedules: creating the run of a due time and advancing to the next time are one transaction, and the
//! run's key contains the time. So no time fires twice, even if a server dies in between.
//!
//! Times due before this server started are not made up for: that is the purpose of backfills. Times due
//! since then that waited for the lease, which a dead server may have held, fire a little late.

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::time::MINUTE_MS;
use lakeport_store::{Db, Lease, Tx};

use super::definition::Concurrency;
use super::requests::QUEUED_MAX;
use super::store::{self, NewRun, Schedule, Workflow};
use super::{TOPIC, timer_key};
use crate::cron::Cron;

/// Times missed by more than this are not made up for.
pub const LATE_MAX_MS: i64 = MINUTE_MS;
/// Timers of one batch.
const DUE_AT_ONCE: i64 = 100;
/// The cause of their runs.
const CAUSE: &str = "schedule";

/// The next time after this one; `None`: there is none.
pub fn next(schedule: &Schedule, after_ms: i64) -> Option<i64> {
    let cron = Cron::parse(&schedule.cron).ok()?;
    let next_ms = cron.next_after(after_ms.max(schedule.start_at_ms.saturating_sub(1)), schedule.zone)?;
    schedule.end_at_ms.is_none_or(|end_ms| next_ms <= end_ms).then_some(next_ms)
}

/// Creates the runs that are due, unless they were due before `began_ms`; returns when to check again.
pub async fn fire_due(db: &Db, lease: &Lease, began_ms: i64, now_ms: i64) -> Result<Option<i64>, Error> {
    let due = store::due(db, now_ms, DUE_AT_ONCE).await?;
    if !due.is_empty() {
        let mut tx = db.begin().await?;
        tx.guard(lease).await?;
        let mut room = QUEUED_MAX - store::count_queued(&mut tx).await?;
        for id in due {
            room -= i64::from(fire(&mut tx, id, room > 0, began_ms, now_ms).await?);
        }
        tx.commit().await?;
        failpoints::reach("runner.fired");
    }
    store::next_due(db).await
}

/// True if it has made a run.
async fn fire(tx: &mut Tx, id: i64, has_room: bool, began_ms: i64, now_ms: i64) -> Result<bool, Error> {
    let Some(workflow) = store::lock(tx, id).await? else { return Ok(false) };
    let is_due = |at_ms: &i64| *at_ms <= now_ms;
    let (Some(schedule), Some(fire_ms)) = (&workflow.schedule, workflow.next_fire_at_ms.filter(is_due))
    else {
        return Ok(false);
    };
    let first_ms = began_ms.max(now_ms - LATE_MAX_MS);
    store::move_on(tx, id, next(schedule, fire_ms.max(first_ms - 1))).await?;
    tx.changed(TOPIC, timer_key(id));
    let key = format!("schedule-{id}-{fire_ms}");
    if fire_ms < first_ms {
        tracing::warn!(workflow_id = id, fire_ms, "a scheduled time was missed; it is not made up for");
    } else if !has_room {
        tracing::warn!(workflow_id = id, fire_ms, "a scheduled run is left out: too many wait");
    } else if let Some(open) = second(tx, &workflow, &key).await? {
        tracing::warn!(
            workflow_id = id,
            fire_ms,
            open,
            "a scheduled run is discarded: an earlier one is active"
        );
    } else {
        let new = NewRun {
            workflow_id: id,
            key: &key,
            cause: CAUSE,
            business_at_ms: fire_ms,
            zone: schedule.zone,
            params: &[],
            strategy: schedule.strategy,
            waits: workflow.concurrency == Concurrency::Wait,
        };
        if let Some(run_id) = store::insert_run(tx, &new, now_ms).await? {
            tx.changed(TOPIC, run_id.to_string());
            return Ok(true);
        }
    }
    Ok(false)
}

/// The active run that keeps a workflow from having another one.
pub async fn second(tx: &mut Tx, workflow: &Workflow, key: &str) -> Result<Option<i64>, Error> {
    match workflow.concurrency {
        Concurrency::Discard => store::first_open(tx, workflow.id, key).await,
        Concurrency::Parallel | Concurrency::Wait => Ok(None),
    }
}

#[cfg(test)]
#[path = "timer_tests.rs"]
mod tests;
