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
use super::requests::{QUEUED_MAX, WAITING_MAX};
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

/// Creates the runs that are due, unless they were due before `began_ms`, or that is later than now: the clock was put back, and
/// nothing is known of it; returns when to check again.
pub async fn fire_due(db: &Db, lease: &Lease, began_ms: i64, now_ms: i64) -> Result<Option<i64>, Error> {
    let due = store::due(db, now_ms, DUE_AT_ONCE).await?;
    if !due.is_empty() {
        let mut tx = db.begin().await?;
        tx.guard(lease).await?;
        let room = QUEUED_MAX - store::count_queued(&mut tx).await?;
        fire(&mut tx, &due, room, began_ms, now_ms).await?;
        tx.commit().await?;
        failpoints::reach("runner.fired");
    }
    store::next_due(db).await
}

/// Returns the ids of the runs that it has made, `room` at most.
async fn fire(tx: &mut Tx, ids: &[i64], room: i64, began_ms: i64, now_ms: i64) -> Result<Vec<i64>, Error> {
    let mut workflows = store::lock_all(tx, ids).await?;
    // Longest overdue first, should there be room for some only.
    workflows.sort_by_key(|workflow| (workflow.next_fire_at_ms, workflow.id));
    let began_ms = if began_ms > now_ms { i64::MIN } else { began_ms };
    let first_ms = began_ms.max(now_ms - LATE_MAX_MS);
    let waiting = store::count_waiting(tx, &workflows).await?;
    let (mut moved, mut fired) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    for workflow in &workflows {
        let is_due = |at_ms: &i64| *at_ms <= now_ms;
        let (Some(schedule), Some(fire_ms)) = (&workflow.schedule, workflow.next_fire_at_ms.filter(is_due))
        else {
            continue;
        };
        let workflow_id = workflow.id;
        moved.push((workflow_id, next(schedule, fire_ms.max(first_ms - 1))));
        let key = format!("schedule-{workflow_id}-{fire_ms}");
        if fire_ms < first_ms {
            tracing::warn!(workflow_id, fire_ms, "a scheduled time was missed; it is not made up for");
        } else if fired.len() as i64 >= room {
            tracing::warn!(workflow_id, fire_ms, "a scheduled run is left out: too many wait");
        } else if waiting.get(&workflow_id).is_some_and(|count| *count >= WAITING_MAX) {
            tracing::warn!(
                workflow_id,
                fire_ms,
                "a scheduled run is left out: {WAITING_MAX} of the workflow wait"
            );
        } else if let Some(open) = second(tx, workflow, &key).await? {
            tracing::warn!(
                workflow_id,
                fire_ms,
                open,
                "a scheduled run is discarded: an earlier one is active"
            );
        } else {
            fired.push(Due { workflow, schedule, fire_ms, key });
        }
    }
    store::move_on(tx, &moved).await?;
    let new: Vec<NewRun<'_>> = fired.iter().map(Due::run).collect();
    let runs = store::insert_runs(tx, &new, now_ms).await?;
    for (id, _) in moved {
        tx.changed(TOPIC, timer_key(id));
    }
    for id in &runs {
        tx.changed(TOPIC, id.to_string());
    }
    Ok(runs)
}

/// A time that is due, and has a run.
struct Due<'w> {
    workflow: &'w Workflow,
    schedule: &'w Schedule,
    fire_ms: i64,
    key: String,
}

impl Due<'_> {
    fn run(&self) -> NewRun<'_> {
        NewRun {
            workflow_id: self.workflow.id,
            key: &self.key,
            cause: CAUSE,
            business_at_ms: self.fire_ms,
            zone: self.schedule.zone,
            params: &[],
            strategy: self.schedule.strategy,
            waits: self.workflow.concurrency == Concurrency::Wait,
        }
    }
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
