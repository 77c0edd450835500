//! Counts executions.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::TrendPoint;
use super::trend::DaysOfTimes;
use crate::execution_records::Status;
use crate::execution_records::blocks::Entry;

/// The percentile of p95.
const P95: f64 = 0.95;

/// What was counted so far.
pub struct Tally {
    by_status: [i64; Status::ALL.len()],
    /// The known durations.
    durations_ms: Vec<i64>,
    days: DaysOfTimes,
    trend: Vec<TrendPoint>,
}

impl Tally {
    /// `days`: of the trend.
    pub fn new(days: &[NaiveDate], zone: Tz) -> Tally {
        let point = |day: &NaiveDate| TrendPoint { date: day.to_string(), ..TrendPoint::default() };
        Tally {
            by_status: [0; Status::ALL.len()],
            durations_ms: Vec::new(),
            days: DaysOfTimes::new(days, zone),
            trend: days.iter().map(point).collect(),
        }
    }

    #[inline]
    pub fn add(&mut self, entry: Entry) {
        self.by_status[entry.status as usize] += 1;
        if let Some(duration_ms) = entry.duration_ms {
            self.durations_ms.push(duration_ms);
        }
        if let Some(point) = self.days.day_of(entry.at_ms).and_then(|day| self.trend.get_mut(day)) {
            point.total += 1;
            point.success += i64::from(entry.status == Status::Success);
            point.failed += i64::from(entry.status == Status::Failed);
        }
    }

    pub fn total(&self) -> i64 {
        self.by_status.iter().sum()
    }

    pub fn count(&self, status: Status) -> i64 {
        self.by_status[status as usize]
    }

    pub fn mean_ms(&self) -> Option<i64> {
        let sum_ms: i128 = self.durations_ms.iter().copied().map(i128::from).sum();
        let mean_ms = sum_ms.checked_div(self.durations_ms.len() as i128)?;
        i64::try_from(mean_ms).ok()
    }

    pub fn min_ms(&self) -> Option<i64> {
        self.durations_ms.iter().min().copied()
    }

    pub fn max_ms(&self) -> Option<i64> {
        self.durations_ms.iter().max().copied()
    }

    /// The shortest duration that at least 95 % do not exceed.
    pub fn p95_ms(&mut self) -> Option<i64> {
        let shorter = shorter_than_p95(self.durations_ms.len())?;
        Some(*self.durations_ms.select_nth_unstable(shorter).1)
    }

    pub fn into_trend(self) -> Vec<TrendPoint> {
        self.trend
    }
}

/// The number of executions that are shorter than p95; `None` without any.
fn shorter_than_p95(timed: usize) -> Option<usize> {
    ((timed as f64 * P95).ceil() as usize).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::executions::statistics::Statistics;

    #[test]
    fn nothing_has_neither_rate_nor_duration() {
        assert_eq!(Statistics::from(Tally::new(&[], Tz::UTC)), Statistics::default());
        assert_eq!(shorter_than_p95(0), None);
        assert_eq!([1, 2, 20, 100].map(shorter_than_p95), [Some(0), Some(1), Some(18), Some(94)]);
    }

    #[test]
    fn long_durations_do_not_overflow() {
        let mut tally = Tally::new(&[], Tz::UTC);
        for _ in 0..3 {
            let duration_ms = Some(i64::MAX);
            tally.add(Entry { task_id: None, at_ms: 0, status: Status::Success, duration_ms });
        }
        assert_eq!((tally.mean_ms(), tally.p95_ms()), (Some(i64::MAX), Some(i64::MAX)));
    }
}
