//! The job that measures every physical table once a day: on one server at a time, one query after another
//! per data source, with few data sources at once.
//!
//! The store alone determines which tables are due: those last measured before the day's time. So a server
//! that was down at that time catches up, and a table measured since by a request is skipped. After each
//! query a data source rests as long as the query took. Failures are retried later; a data source with
//! several consecutive failures is skipped until then, and delays no other.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{Days, NaiveTime, TimeZone};
use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::time::{begin_of, day_of};
use lakeport_store::{Held, leases};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::{collected, store};
use crate::datasources::{self, Datasource};
use crate::tables::Tables;
use crate::tables::definitions::{self, Record};

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(60);
/// The first round starts after the server's start.
const FIRST_AFTER: Duration = Duration::from_secs(5);
/// Data sources that are queried concurrently.
const SOURCES_AT_ONCE: usize = 4;
/// Tables that are read from the store at once.
const BATCH: i64 = 100;
/// Consecutive failures after which a data source is skipped.
const FAILURES_MAX: u32 = 3;
/// The pause after a failure of a data source.
const AGAIN_AFTER: Duration = Duration::from_secs(3600);
/// The longest rest between two queries of one data source.
const REST_MAX: Duration = Duration::from_secs(5);
const LEASE: &str = "table_statistics";

/// Measures until the server stops.
pub async fn run_job(state: Arc<Tables>) {
    let Some(daily_at) = state.config.statistics_daily_at else { return };
    let mut left_alone = HashMap::new();
    let mut wait = FIRST_AFTER;
    while state.stopping.run_until_cancelled(sleep(wait)).await.is_some() {
        wait = INTERVAL;
        match state.leases.claim(LEASE, leases::TTL).await {
            Ok(Some(lease)) => {
                let held = lease.hold();
                if let Err(error) = round(&state, &held, daily_at, &mut left_alone).await {
                    tracing::warn!("the statistics of the day were not collected: {error}");
                }
                if let Err(error) = held.release().await {
                    tracing::debug!("the lease of the statistics was not given back: {error}");
                }
            }
            // Another server runs the job.
            Ok(None) => {}
            Err(error) => tracing::warn!("the statistics of the day were not collected: {error}"),
        }
    }
}

/// A data source with failures.
#[derive(Clone, Copy)]
struct Left {
    until: Instant,
    /// Where to continue, so that failing tables do not block later ones.
    after_id: i64,
}

/// Handles all data sources once.
async fn round(
    state: &Arc<Tables>,
    held: &Held,
    daily_at: NaiveTime,
    left_alone: &mut HashMap<i64, Left>,
) -> Result<(), Error> {
    let due_ms = last_time(daily_at, state.clock.now_ms(), state.config.time_zone);
    let mut waiting = store::sources_with_due(&state.db, due_ms).await?;
    let now = Instant::now();
    waiting.retain(|id| left_alone.get(id).is_none_or(|left| left.until <= now));
    let mut passes = JoinSet::new();
    loop {
        while passes.len() < SOURCES_AT_ONCE
            && let Some(id) = waiting.pop()
        {
            let pass = Pass { state: Arc::clone(state), due_ms, lost: held.lost() };
            let after_id = left_alone.remove(&id).map_or(0, |left| left.after_id);
            passes.spawn(async move { (id, pass.run(id, after_id).await) });
        }
        let (id, outcome) = match passes.join_next().await {
            None => return Ok(()),
            Some(done) => done.map_err(Error::internal)?,
        };
        let after_id = outcome.unwrap_or_else(|error| {
            tracing::warn!(datasource = id, "its tables were not measured: {error}");
            Some(0)
        });
        if let Some(after_id) = after_id {
            left_alone.insert(id, Left { until: Instant::now() + AGAIN_AFTER, after_id });
        }
    }
}

/// The last time at which the zone's clocks showed a time of day, or skipped it.
fn last_time(daily_at: NaiveTime, now_ms: i64, zone: Tz) -> i64 {
    let today = day_of(now_ms, zone);
    let of = |day: chrono::NaiveDate| {
        let exact = zone.from_local_datetime(&day.and_time(daily_at)).earliest();
        // If clocks skip it, the start of the day counts.
        exact.map_or_else(|| begin_of(day, zone).unwrap_or_default(), |at| at.timestamp_millis())
    };
    let at_ms = of(today);
    if at_ms <= now_ms { at_ms } else { of(today.checked_sub_days(Days::new(1)).unwrap_or(today)) }
}

/// One pass over the tables of a data source.
struct Pass {
    state: Arc<Tables>,
    due_ms: i64,
    /// Cancelled when another server takes over.
    lost: CancellationToken,
}

impl Pass {
    /// `None`: no failure; otherwise where to continue later.
    async fn run(&self, source_id: i64, mut after_id: i64) -> Result<Option<i64>, Error> {
        let Some(source) = datasources::find(&self.state.db, source_id).await? else { return Ok(None) };
        let (mut has_failed, mut in_a_row) = (false, 0);
        loop {
            let due = store::due(&self.state.db, source_id, self.due_ms, after_id, BATCH).await?;
            let Some(last) = due.last() else { return Ok(has_failed.then_some(0)) };
            after_id = *last;
            for record in definitions::store::all_of(&self.state.db, &due).await? {
                if self.state.stopping.is_cancelled() || self.lost.is_cancelled() {
                    return Ok(None);
                }
                let is_measured = self.measure(&source, &record).await;
                has_failed |= !is_measured;
                in_a_row = if is_measured { 0 } else { in_a_row + 1 };
                if in_a_row >= FAILURES_MAX {
                    return Ok(Some(record.id));
                }
            }
        }
    }

    async fn measure(&self, source: &Datasource, table: &Record) -> bool {
        let began = Instant::now();
        let call = format!("statistics-{}", table.id);
        let outcome = collected(&self.state, table, source, &call).await;
        if let Err(error) = &outcome {
            tracing::warn!(
                datasource = source.name,
                table = table.definition.table_name,
                "a table was not measured: {error}"
            );
        }
        let rest = began.elapsed().min(REST_MAX);
        self.state.stopping.run_until_cancelled(sleep(rest)).await;
        outcome.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_base::time::{parse, shown};

    fn last(now: &str, at: &str, zone: Tz) -> String {
        let now_ms = parse(now, zone).unwrap();
        shown(last_time(at.parse().unwrap(), now_ms, zone), zone)
    }

    #[test]
    fn a_day_begins_at_the_configured_time() {
        let zone = chrono_tz::Asia::Shanghai;
        assert_eq!(last("2026-03-05 01:59:59", "02:00:00", zone), "2026-03-04 02:00:00");
        assert_eq!(last("2026-03-05 02:00:00", "02:00:00", zone), "2026-03-05 02:00:00");
        assert_eq!(last("2026-03-05 23:00:00", "02:00:00", zone), "2026-03-05 02:00:00");
    }

    #[test]
    fn a_skipped_time_means_start_of_day() {
        let zone = chrono_tz::Europe::Berlin;
        assert_eq!(last("2026-03-29 12:00:00", "02:30:00", zone), "2026-03-29 00:00:00");
    }
}
