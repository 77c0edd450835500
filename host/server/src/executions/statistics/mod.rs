//! Statistics of executions: numbers by status, durations, and a daily trend.

mod store;

use std::collections::BTreeMap;

use chrono::{DateTime, Days, NaiveDate, Utc};
use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::time::{SECOND_MS, begin_of};
use lakeport_store::Db;
use schemars::JsonSchema;
use serde::Serialize;

use crate::execution_records::Status;
pub use store::Span;
use store::{Count, Quarter};

/// Days of the trend by default.
const TREND_DAYS_DEFAULT: u64 = 7;
/// The most days of the trend; of a longer period the last ones are shown.
const TREND_DAYS_MAX: u64 = 366;
/// The percentile of p95.
const P95: f64 = 0.95;

/// Statistics of executions.
#[derive(Debug, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ExecutionStatistics")]
pub struct Statistics {
    total: i64,
    success: i64,
    failed: i64,
    /// All unfinished ones.
    running: i64,
    killed: i64,
    /// Of the finished ones, from 0 to 1; null without any.
    success_rate: Option<f64>,
    /// Of the finished ones; null without any.
    avg_duration_seconds: Option<f64>,
    p95_duration_seconds: Option<f64>,
    min_duration_seconds: Option<f64>,
    max_duration_seconds: Option<f64>,
    /// One point per day, oldest first; at most the last 366 days.
    trend: Vec<TrendPoint>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ExecutionTrendPoint")]
pub struct TrendPoint {
    /// yyyy-MM-dd
    date: String,
    total: i64,
    success: i64,
    failed: i64,
}

/// The parameters of a request.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub task_id: Option<i64>,
    pub start_ms: Option<i64>,
    /// Inclusive.
    pub end_ms: Option<i64>,
}

pub async fn of(db: &Db, asked: Asked, now_ms: i64, zone: Tz) -> Result<Statistics, Error> {
    let span = Span {
        task_id: asked.task_id,
        from_ms: asked.start_ms.unwrap_or(i64::MIN),
        before_ms: asked.end_ms.map_or(i64::MAX, |end| end.saturating_add(SECOND_MS)),
    };
    let counts = store::counts(db, span).await?;
    let timed: i64 = counts.iter().map(|count| count.timed).sum();
    let p95 = match shorter_than_p95(timed) {
        Some(shorter) => store::duration_after(db, span, shorter).await?,
        None => None,
    };
    let days = days(asked.start_ms, asked.end_ms, now_ms, zone);
    let trend_from = days.first().and_then(|day| begin_of(*day, zone));
    let quarters = match trend_from {
        Some(from) => store::quarters(db, Span { from_ms: span.from_ms.max(from), ..span }).await?,
        None => Vec::new(),
    };
    Ok(Statistics { trend: trend(&days, &quarters, zone), ..figures(&counts, p95) })
}

/// The number of executions that are shorter than p95; `None` without any.
fn shorter_than_p95(timed: i64) -> Option<i64> {
    (timed > 0).then(|| (timed as f64 * P95).ceil() as i64 - 1)
}

fn figures(counts: &[Count], p95_ms: Option<i64>) -> Statistics {
    let seconds = |ms: i64| ms as f64 / SECOND_MS as f64;
    let count_of = |wanted: &[Status]| {
        let is_wanted = |count: &&Count| wanted.iter().any(|status| status.as_str() == count.status);
        counts.iter().filter(is_wanted).map(|count| count.count).sum::<i64>()
    };
    let total: i64 = counts.iter().map(|count| count.count).sum();
    let running = count_of(&[Status::Pending, Status::Running, Status::Paused]);
    let success = count_of(&[Status::Success]);
    let timed: i64 = counts.iter().map(|count| count.timed).sum();
    let sum_ms: i64 = counts.iter().map(|count| count.sum_ms).sum();
    let ended = total - running;
    Statistics {
        total,
        success,
        failed: count_of(&[Status::Failed]),
        running,
        killed: count_of(&[Status::Killed]),
        success_rate: (ended > 0).then(|| success as f64 / ended as f64),
        avg_duration_seconds: (timed > 0).then(|| seconds(sum_ms / timed)),
        p95_duration_seconds: p95_ms.map(seconds),
        min_duration_seconds: counts.iter().filter_map(|count| count.min_ms).min().map(seconds),
        max_duration_seconds: counts.iter().filter_map(|count| count.max_ms).max().map(seconds),
        trend: Vec::new(),
    }
}

/// The days of the trend, oldest first.
fn days(start_ms: Option<i64>, end_ms: Option<i64>, now_ms: i64, zone: Tz) -> Vec<NaiveDate> {
    let date = |at_ms: i64| {
        DateTime::<Utc>::from_timestamp_millis(at_ms).map(|at| at.with_timezone(&zone).date_naive())
    };
    let Some(last) = date(end_ms.unwrap_or(now_ms)) else { return Vec::new() };
    let default = last.checked_sub_days(Days::new(TREND_DAYS_DEFAULT - 1));
    let Some(first) = start_ms.map_or(default, date) else { return Vec::new() };
    let earliest = last.checked_sub_days(Days::new(TREND_DAYS_MAX - 1)).unwrap_or(first);
    first.max(earliest).iter_days().take_while(|day| *day <= last).collect()
}

fn trend(days: &[NaiveDate], quarters: &[Quarter], zone: Tz) -> Vec<TrendPoint> {
    let mut points: BTreeMap<NaiveDate, TrendPoint> = days
        .iter()
        .map(|day| (*day, TrendPoint { date: day.to_string(), ..TrendPoint::default() }))
        .collect();
    for quarter in quarters {
        let at = DateTime::<Utc>::from_timestamp_millis(quarter.begin_ms).unwrap_or_default();
        let Some(point) = points.get_mut(&at.with_timezone(&zone).date_naive()) else { continue };
        point.total += quarter.count;
        match Status::named(&quarter.status) {
            Some(Status::Success) => point.success += quarter.count,
            Some(Status::Failed) => point.failed += quarter.count,
            _ => {}
        }
    }
    points.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_base::time::{DAY_MS, HOUR_MS};

    fn dates(days: &[NaiveDate]) -> Vec<String> {
        days.iter().map(NaiveDate::to_string).collect()
    }

    #[test]
    fn the_trend_defaults_to_a_week() {
        let zone = chrono_tz::Asia::Shanghai;
        // 1970-01-11 20:00 UTC is the twelfth in Shanghai.
        let days = days(None, None, 10 * DAY_MS + 20 * HOUR_MS, zone);
        assert_eq!((days.len(), dates(&days)[6].as_str()), (7, "1970-01-12"));
    }

    #[test]
    fn long_ranges_are_cut_reversed_are_empty() {
        let zone = chrono_tz::UTC;
        let long = days(Some(0), Some(1_000 * DAY_MS), 0, zone);
        assert_eq!((long.len() as u64, dates(&long)[365].as_str()), (TREND_DAYS_MAX, "1972-09-27"));
        assert!(days(Some(5 * DAY_MS), Some(DAY_MS), 0, zone).is_empty());
        assert!(days(Some(i64::MIN), Some(i64::MAX), 0, zone).is_empty());
    }

    #[test]
    fn quarters_count_by_local_day() {
        let zone = chrono_tz::Asia::Kolkata;
        let days = days(Some(0), Some(2 * DAY_MS), 0, zone);
        let quarter = |begin_ms, status: &str| Quarter { begin_ms, status: status.to_owned(), count: 2 };
        // 18:30 UTC is midnight there.
        let midnight = 18 * HOUR_MS + HOUR_MS / 2;
        let quarters = [
            quarter(midnight - store::QUARTER_MS, "success"),
            quarter(midnight, "failed"),
            quarter(midnight, "killed"),
        ];
        let trend = trend(&days, &quarters, zone);
        let shown: Vec<_> = trend.iter().map(|point| (point.total, point.success, point.failed)).collect();
        assert_eq!(shown, [(2, 2, 0), (4, 0, 2), (0, 0, 0)]);
        assert_eq!(trend[0].date, "1970-01-01");
    }

    #[test]
    fn a_day_whose_midnight_is_skipped_begins_after_it() {
        let zone = chrono_tz::America::Sao_Paulo;
        let day = NaiveDate::from_ymd_opt(2018, 11, 4).unwrap();
        let begin = begin_of(day, zone).unwrap();
        let shown = DateTime::<Utc>::from_timestamp_millis(begin).unwrap().with_timezone(&zone);
        assert_eq!(shown.format("%F %T").to_string(), "2018-11-04 01:00:00");
    }

    #[test]
    fn nothing_has_neither_rate_nor_duration() {
        assert_eq!(figures(&[], None), Statistics::default());
        assert_eq!(shorter_than_p95(0), None);
        assert_eq!([1, 2, 20, 100].map(shorter_than_p95), [Some(0), Some(1), Some(18), Some(94)]);
    }
}
