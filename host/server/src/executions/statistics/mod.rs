//! Statistics of executions: numbers by status, durations, and a daily trend. Each request counts them in the
//! blocks in memory (see [`blocks`]), so all figures are exact.
//!
//! [`blocks`]: crate::execution_records::blocks

mod packing;
mod tally;
#[cfg(test)]
mod tests;
mod trend;

use std::ops::Range;

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::time::SECOND_MS;
use lakeport_store::Db;
use schemars::JsonSchema;
use serde::Serialize;

use crate::execution_records::Status;
use crate::execution_records::blocks::Blocks;
pub use packing::run_worker;
use tally::Tally;

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

#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, JsonSchema)]
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

impl Asked {
    fn time_ms(&self) -> Range<i64> {
        let before_ms = self.end_ms.map_or(i64::MAX, |end_ms| end_ms.saturating_add(SECOND_MS));
        self.start_ms.unwrap_or(i64::MIN)..before_ms
    }
}

pub async fn of(db: &Db, blocks: &Blocks, asked: Asked, now_ms: i64, zone: Tz) -> Result<Statistics, Error> {
    let view = blocks.view(&db.snapshot().await?).await?;
    let count = move || -> Result<Statistics, Error> {
        let days = trend::days(asked.start_ms, asked.end_ms, now_ms, zone);
        let mut tally = Tally::new(&days, zone, view.at_most(asked.task_id, &asked.time_ms())?);
        view.each(asked.task_id, asked.time_ms(), |entry| tally.add(entry))?;
        Ok(tally.into())
    };
    // Of a million executions it takes some 20 ms.
    tokio::task::spawn_blocking(count).await.map_err(Error::internal)?
}

impl From<Tally> for Statistics {
    fn from(tally: Tally) -> Statistics {
        let seconds = |ms: i64| ms as f64 / SECOND_MS as f64;
        let [success, failed, killed] =
            [Status::Success, Status::Failed, Status::Killed].map(|status| tally.count(status));
        let ended = success + failed + killed;
        let total = tally.total();
        Statistics {
            total,
            success,
            failed,
            running: total - ended,
            killed,
            success_rate: (ended > 0).then(|| success as f64 / ended as f64),
            avg_duration_seconds: tally.mean_ms().map(seconds),
            p95_duration_seconds: tally.p95_ms().map(seconds),
            min_duration_seconds: tally.min_ms().map(seconds),
            max_duration_seconds: tally.max_ms().map(seconds),
            trend: tally.into_trend(),
        }
    }
}
