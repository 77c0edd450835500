//! Counts executions.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::TrendPoint;
use super::trend::DaysOfTimes;
use crate::execution_records::Status;
use crate::execution_records::blocks::Entry;

/// The percentile of p95.
const P95: f64 = 0.95;

/// Durations below this one have a bucket each, in milliseconds.
const FINE_MS: u64 = 1 << 10;
/// Of longer ones so many leading bits, after the first, choose the bucket.
const BUCKET_BITS: u32 = 6;

/// What was counted so far.
pub struct Tally {
    by_status: [i64; Status::ALL.len()],
    durations: Durations,
    days: DaysOfTimes,
    trend: Vec<TrendPoint>,
}

/// The known durations. A percentile is looked for in one bucket alone, which takes a third of the time.
#[derive(Default)]
struct Durations {
    all_ms: Vec<i64>,
    sum_ms: i128,
    min_ms: Option<i64>,
    max_ms: Option<i64>,
    /// How many there are in each bucket.
    buckets: Vec<usize>,
}

impl Durations {
    #[inline]
    fn add(&mut self, duration_ms: i64) {
        self.all_ms.push(duration_ms);
        self.sum_ms += i128::from(duration_ms);
        self.min_ms = Some(self.min_ms.map_or(duration_ms, |min_ms| min_ms.min(duration_ms)));
        self.max_ms = Some(self.max_ms.map_or(duration_ms, |max_ms| max_ms.max(duration_ms)));
        let bucket = bucket(duration_ms);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
    }

    /// The one with so many shorter ones.
    fn nth(&self, mut shorter: usize) -> Option<i64> {
        let mut buckets = self.buckets.iter().enumerate();
        let (wanted, _) = buckets.find(|(_, count)| {
            let is_it = shorter < **count;
            shorter -= if is_it { 0 } else { **count };
            is_it
        })?;
        let mut of_bucket: Vec<i64> =
            self.all_ms.iter().copied().filter(|ms| bucket(*ms) == wanted).collect();
        Some(*of_bucket.select_nth_unstable(shorter).1)
    }
}

/// Grows with the duration. Clocks may make one negative.
#[inline]
fn bucket(duration_ms: i64) -> usize {
    let ms = duration_ms.max(0).cast_unsigned();
    if ms < FINE_MS {
        return ms as usize;
    }
    let exponent = ms.ilog2() - FINE_MS.ilog2();
    let leading = (ms >> (ms.ilog2() - BUCKET_BITS)) as usize - (1 << BUCKET_BITS);
    FINE_MS as usize + ((exponent as usize) << BUCKET_BITS) + leading
}

impl Tally {
    /// `days`: of the trend. `at_most`: executions.
    pub fn new(days: &[NaiveDate], zone: Tz, at_most: usize) -> Tally {
        let point = |day: &NaiveDate| TrendPoint { date: day.to_string(), ..TrendPoint::default() };
        Tally {
            by_status: [0; Status::ALL.len()],
            durations: Durations { all_ms: Vec::with_capacity(at_most), ..Durations::default() },
            days: DaysOfTimes::new(days, zone),
            trend: days.iter().map(point).collect(),
        }
    }

    #[inline]
    pub fn add(&mut self, entry: Entry) {
        self.by_status[entry.status as usize] += 1;
        if let Some(duration_ms) = entry.duration_ms {
            self.durations.add(duration_ms);
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
        let mean_ms = self.durations.sum_ms.checked_div(self.durations.all_ms.len() as i128)?;
        i64::try_from(mean_ms).ok()
    }

    pub fn min_ms(&self) -> Option<i64> {
        self.durations.min_ms
    }

    pub fn max_ms(&self) -> Option<i64> {
        self.durations.max_ms
    }

    /// The shortest duration that at least 95 % do not exceed.
    pub fn p95_ms(&self) -> Option<i64> {
        self.durations.nth(shorter_than_p95(self.durations.all_ms.len())?)
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
        assert_eq!(Statistics::from(Tally::new(&[], Tz::UTC, 0)), Statistics::default());
        assert_eq!(shorter_than_p95(0), None);
        assert_eq!([1, 2, 20, 100].map(shorter_than_p95), [Some(0), Some(1), Some(18), Some(94)]);
    }

    #[test]
    fn long_durations_do_not_overflow() {
        let mut tally = Tally::new(&[], Tz::UTC, 3);
        for _ in 0..3 {
            let duration_ms = Some(i64::MAX);
            tally.add(Entry { task_id: None, at_ms: 0, status: Status::Success, duration_ms });
        }
        assert_eq!((tally.mean_ms(), tally.p95_ms()), (Some(i64::MAX), Some(i64::MAX)));
    }

    #[test]
    fn buckets_grow_with_the_duration() {
        let mut ms = vec![i64::MIN, -1, 0, 1, 1_023, 1_024, 1_025, i64::MAX - 1, i64::MAX];
        ms.extend(
            (10..63).flat_map(|bits| [(1_i64 << bits) - 1, 1 << bits, (1 << bits) + (1 << (bits - 6))]),
        );
        ms.sort_unstable();
        assert!(ms.windows(2).all(|pair| bucket(pair[0]) <= bucket(pair[1])), "{ms:?}");
        assert!(bucket(i64::MAX) < 5_000);
    }

    proptest::proptest! {
        #[test]
        fn the_nth_is_that_of_all_in_order(
            ms in proptest::collection::vec(proptest::prop_oneof![0..3_000_i64, proptest::prelude::any::<i64>()], 1..200),
            at: proptest::sample::Index,
        ) {
            let mut durations = Durations::default();
            ms.iter().for_each(|ms| durations.add(*ms));
            let mut sorted = ms;
            sorted.sort_unstable();
            let at = at.index(sorted.len());
            proptest::prop_assert_eq!(durations.nth(at), Some(sorted[at]));
            proptest::prop_assert_eq!(durations.min_ms, sorted.first().copied());
            proptest::prop_assert_eq!(durations.max_ms, sorted.last().copied());
        }
    }
}
