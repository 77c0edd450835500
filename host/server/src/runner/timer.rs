//! Schedules: the run of a time and the move to the next time are one transaction, and the run's key names the
//! time. So no time fires twice, whoever dies in between.

use super::requests::QUEUED_MAX;
use super::store::{self, NewRun, Schedule, Workflow};
use super::{TOPIC, timer_key};
use crate::cron::Cron;
use crate::db::{Db, Lease};
use crate::error::Error;
use crate::points;
use crate::time::MINUTE_MS;

/// A time that passed longer ago is not made up for.
pub const LATE_MAX_MS: i64 = MINUTE_MS;
/// Timers that are looked at in one go.
const DUE_AT_ONCE: i64 = 100;
/// What the runs are said to be there for.
const CAUSE: &str = "schedule";

/// The first time after this one; none: there is none any more.
pub fn next(schedule: &Schedule, after_ms: i64) -> Option<i64> {
    let cron = Cron::parse(&schedule.cron).ok()?;
    let next_ms = cron.next_after(after_ms.max(schedule.start_at_ms.saturating_sub(1)), schedule.zone)?;
    schedule.end_at_ms.is_none_or(|end_ms| next_ms <= end_ms).then_some(next_ms)
}

/// Makes the runs whose time has come; answers when to look again.
pub async fn fire_due(db: &Db, lease: &Lease, now_ms: i64) -> Result<Option<i64>, Error> {
    for workflow in store::due(db, now_ms, DUE_AT_ONCE).await? {
        fire(db, lease, &workflow, now_ms).await?;
    }
    store::next_due(db).await
}

async fn fire(db: &Db, lease: &Lease, workflow: &Workflow, now_ms: i64) -> Result<(), Error> {
    let (Some(schedule), Some(fire_ms)) = (&workflow.schedule, workflow.next_fire_at_ms) else {
        return Ok(());
    };
    let next_ms = next(schedule, fire_ms.max(now_ms - LATE_MAX_MS - 1));
    let mut tx = db.begin().await?;
    tx.guard(lease).await?;
    if !store::move_on(&mut tx, workflow, next_ms).await? {
        return Ok(());
    }
    tx.changed(TOPIC, timer_key(workflow.id));
    if now_ms - fire_ms > LATE_MAX_MS {
        tracing::warn!(
            workflow_id = workflow.id,
            fire_ms,
            "a scheduled time was missed; it is not made up for"
        );
    } else if store::count_queued(&mut tx).await? >= QUEUED_MAX {
        tracing::warn!(workflow_id = workflow.id, fire_ms, "a scheduled run is left out: too many wait");
    } else {
        let key = format!("schedule-{}-{fire_ms}", workflow.id);
        let new = NewRun {
            workflow_id: workflow.id,
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
    points::reach("runner.fired");
    Ok(())
}

#[cfg(test)]
#[path = "timer_tests.rs"]
mod tests;
