//! Access statistics of tables: from Lakeport's own log of queries, and from the database's own records, if
//! its dialect can read them.
//!
//! The two are added up. So that no query is counted twice, Lakeport's own users are excluded from the
//! database's counts. Days are those of the server's zone: the last N days are today and the N - 1 days
//! before.

pub mod api;
mod database;

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::time::{DAY_MS, begin_of, day_of};
use schemars::JsonSchema;
use serde::Serialize;

use crate::queries;
use crate::tables::Tables;

/// The minimum of accesses per day, averaged over the requested days, of a hot table.
const HOT_MIN_A_DAY: i64 = 10;
/// The minimum of a warm table; a cold one has fewer, but not none.
const WARM_MIN_A_DAY: i64 = 1;
/// The name of Lakeport's own log among the sources.
const LOG: &str = "lakeport";
/// The most distinct users.
const USERS_MAX: i64 = 10_000;

/// How often a table is read: `hot` from 10 accesses per day on average, `warm` from 1, `cold` from a single
/// one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Heat {
    Hot,
    Warm,
    Cold,
    None,
}

impl Heat {
    fn of(accesses: i64, days: i64) -> Heat {
        match accesses {
            0 => Heat::None,
            _ if accesses >= days.saturating_mul(HOT_MIN_A_DAY) => Heat::Hot,
            _ if accesses >= days.saturating_mul(WARM_MIN_A_DAY) => Heat::Warm,
            _ => Heat::Cold,
        }
    }
}

/// The requested days.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// The first counted day.
    recent: NaiveDate,
    /// The first day of the trend.
    trend: NaiveDate,
    today: NaiveDate,
    zone: Tz,
}

impl Window {
    fn until(now_ms: i64, zone: Tz, recent_days: i64, trend_days: i64) -> Window {
        let today = day_of(now_ms, zone);
        let first_of = |days: i64| {
            let before = Days::new(u64::try_from(days - 1).unwrap_or_default());
            today.checked_sub_days(before).unwrap_or(today)
        };
        Window { recent: first_of(recent_days), trend: first_of(trend_days), today, zone }
    }

    fn first(&self) -> NaiveDate {
        self.recent.min(self.trend)
    }

    /// Each day from the first one, with its start and end.
    fn days_from(&self, first: NaiveDate) -> Vec<(NaiveDate, (i64, i64))> {
        let span = |day: NaiveDate| {
            let from = begin_of(day, self.zone)?;
            let until = day.succ_opt().and_then(|next| begin_of(next, self.zone));
            Some((day, (from, until.unwrap_or(from + DAY_MS))))
        };
        first.iter_days().take_while(|day| *day <= self.today).filter_map(span).collect()
    }

    fn begins_ms(&self, day: NaiveDate) -> i64 {
        begin_of(day, self.zone).unwrap_or_default()
    }
}

/// The counts so far.
#[derive(Debug, Default)]
struct Tally {
    days: BTreeMap<NaiveDate, i64>,
    /// On the counted days: number and last time.
    users: BTreeMap<String, (i64, Option<i64>)>,
    last_ms: Option<i64>,
    sources: Vec<String>,
    /// Why the counts may be incomplete.
    missing: Vec<String>,
    /// Further remarks.
    notes: Vec<String>,
}

impl Tally {
    fn add(&mut self, day: NaiveDate, count: i64) {
        let counted = self.days.entry(day).or_default();
        *counted = counted.saturating_add(count);
    }

    fn add_user(&mut self, name: String, count: i64, last_ms: Option<i64>) {
        let (counted, last) = self.users.entry(name).or_default();
        *counted = counted.saturating_add(count);
        *last = (*last).max(last_ms);
    }

    /// The sum of the days from the first one.
    fn since(&self, first: NaiveDate) -> i64 {
        self.days.range(first..).fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }
}

/// Adds the counts from the log of queries.
async fn count_log(
    state: &Tables,
    cluster_id: i64,
    table_id: i64,
    window: &Window,
    tally: &mut Tally,
) -> Result<(), Error> {
    let days = window.days_from(window.first());
    let spans: Vec<(i64, i64)> = days.iter().map(|(_, span)| *span).collect();
    let counts = queries::reads(&state.db, cluster_id, table_id, &spans).await?;
    for ((day, _), count) in days.iter().zip(counts).filter(|(_, count)| *count > 0) {
        tally.add(*day, count);
    }
    let from_ms = window.begins_ms(window.recent);
    let readers = queries::readers(&state.db, cluster_id, table_id, from_ms, USERS_MAX).await?;
    for reader in readers {
        tally.last_ms = tally.last_ms.max(Some(reader.last_ms));
        tally.add_user(reader.name, reader.count, Some(reader.last_ms));
    }
    tally.sources.push(LOG.to_owned());
    let kept_days = i64::try_from(state.config.retention.query_log_days).unwrap_or(i64::MAX);
    let asked_days = days.len() as i64;
    if kept_days < asked_days {
        tally
            .missing
            .push(format!("Lakeport's log of queries goes back {kept_days} days (retention.query_log_days)"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn heat_goes_by_accesses_a_day() {
        let heats = [(0, 30), (1, 30), (29, 30), (30, 30), (299, 30), (300, 30), (10, 1), (9, 1)];
        let heats = heats.map(|(accesses, days)| Heat::of(accesses, days));
        use Heat::{Cold, Hot, None, Warm};
        assert_eq!(heats, [None, Cold, Cold, Warm, Warm, Hot, Hot, Warm]);
    }

    #[test]
    fn the_last_days_follow_the_zone() {
        // 2026-03-29 23:30 UTC: in Berlin it is the 30th, a day after one of 23 hours.
        let window = Window::until(1_774_827_000_000, chrono_tz::Europe::Berlin, 2, 1);
        assert_eq!((window.recent, window.trend), (day("2026-03-29"), day("2026-03-30")));
        let days = window.days_from(window.first());
        let hours: Vec<i64> = days.iter().map(|(_, (from, until))| (until - from) / 3_600_000).collect();
        assert_eq!(hours, [23, 24]);
        assert_eq!(days[0].1.1, days[1].1.0);
    }

    #[test]
    fn what_several_sources_say_adds_up() {
        let mut tally = Tally::default();
        tally.add(day("2026-03-01"), 2);
        tally.add(day("2026-03-02"), 3);
        tally.add(day("2026-03-02"), i64::MAX);
        tally.add_user("ada".to_owned(), 2, Some(5));
        tally.add_user("ada".to_owned(), 1, None);
        assert_eq!(tally.since(day("2026-03-03")), 0);
        assert_eq!(tally.since(day("2026-03-01")), i64::MAX);
        assert_eq!(tally.users["ada"], (3, Some(5)));
    }
}
