//! Schedules: creating the run of a due time and advancing to the next time are one transaction, and the
//! run's key contains the time. So no time fires twice, even if a server dies in between.
//!
//! Times due before this server started are not made up for: that is the purpose of backfills. Times due
//! since then that waited for the lease, which a dead server may have held, fire a little late.

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::time::MINUTE_MS;
use lakeport_store::{Db, Lease};

use super::requests::QUEUED_MAX;
use super::store::{self, NewRun, Schedule};
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
    for id in store::due(db, now_ms, DUE_AT_ONCE).await? {
        fire(db, lease, id, began_ms, now_ms).await?;
    }
    store::next_due(db).await
}

async fn fire(db: &Db, lease: &Lease, id: i64, began_ms: i64, now_ms: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    tx.guard(lease).await?;
    let Some(workflow) = store::lock(&mut tx, id).await? else { return Ok(()) };
    let is_due = |at_ms: &i64| *at_ms <= now_ms;
    let (Some(schedule), Some(fire_ms)) = (&workflow.schedule, workflow.next_fire_at_ms.filter(is_due))
    else {
        return Ok(());
    };
    let first_ms = began_ms.max(now_ms - LATE_MAX_MS);
    store::move_on(&mut tx, id, next(schedule, fire_ms.max(first_ms - 1))).await?;
    tx.changed(TOPIC, timer_key(id));
    if fire_ms < first_ms {
        tracing::warn!(workflow_id = id, fire_ms, "a scheduled time was missed; it is not made up for");
    } else if store::count_queued(&mut tx).await? >= QUEUED_MAX {
        tracing::warn!(workflow_id = id, fire_ms, "a scheduled run is left out: too many wait");
    } else {
        let key = format!("schedule-{id}-{fire_ms}");
        let new = NewRun {
            workflow_id: id,
            key: &key,
            cause: CAUSE,
            business_at_ms: fire_ms,
            zone: schedule.zone,
            params: &[],
            strategy: schedule.strategy,
        };
        if let Some(run_id) = store::insert_run(&mut tx, &new, now_ms).await? {
            tx.changed(TOPIC, run_id.to_string());
        }
    }
    tx.commit().await?;
    failpoints::reach("runner.fired");
    Ok(())
}

#[cfg(test)]
#[path = "timer_tests.rs"]
mod tests;
