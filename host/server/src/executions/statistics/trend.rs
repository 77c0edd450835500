//! The days of a trend, in the zone of the server.

use chrono::{DateTime, Days, NaiveDate, NaiveTime, Offset, TimeZone, Utc};
use chrono_tz::Tz;
use lakeport_base::time::{MINUTE_MS, SECOND_MS, local};

/// Days of the trend by default.
const TREND_DAYS_DEFAULT: u64 = 7;
/// The most days of the trend; of a longer period the last ones are shown.
const TREND_DAYS_MAX: u64 = 366;
/// The offsets of zones are multiples of a quarter of an hour, so most quarters are of one day.
const QUARTER_MS: i64 = 15 * MINUTE_MS;

/// The days of the trend, oldest first.
pub fn days(start_ms: Option<i64>, end_ms: Option<i64>, now_ms: i64, zone: Tz) -> Vec<NaiveDate> {
    let date = |at_ms: i64| local(at_ms, zone).map(|at| at.date());
    let Some(last) = date(end_ms.unwrap_or(now_ms)) else { return Vec::new() };
    let default = last.checked_sub_days(Days::new(TREND_DAYS_DEFAULT - 1));
    let Some(first) = start_ms.map_or(default, date) else { return Vec::new() };
    let earliest = last.checked_sub_days(Days::new(TREND_DAYS_MAX - 1)).unwrap_or(first);
    first.max(earliest).iter_days().take_while(|day| *day <= last).collect()
}

/// Which of some consecutive days a time is on: a table, for a look-up in the zone's rules takes long.
pub struct DaysOfTimes {
    zone: Tz,
    first: NaiveDate,
    days: usize,
    /// When the first quarter begins.
    begin_ms: i64,
    quarters: Vec<Quarter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quarter {
    /// All of it is on one day, counted from the first one.
    Day(i32),
    /// The clocks change in it, or show midnight.
    Mixed,
}

impl DaysOfTimes {
    pub fn new(days: &[NaiveDate], zone: Tz) -> DaysOfTimes {
        let first = days.first().copied().unwrap_or_default();
        let mut of_times = DaysOfTimes { zone, first, days: days.len(), begin_ms: 0, quarters: Vec::new() };
        let midnight = |day: &NaiveDate| day.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
        // A day begins and ends less than a day from where it does in UTC.
        let from = days.first().and_then(NaiveDate::pred_opt);
        let until = days.last().and_then(|day| day.checked_add_days(Days::new(2)));
        if let (Some(from), Some(until)) = (from, until) {
            of_times.begin_ms = midnight(&from);
            let begins = (midnight(&from)..midnight(&until)).step_by(QUARTER_MS as usize);
            of_times.quarters = begins.map(|begin_ms| of_times.quarter(begin_ms)).collect();
        }
        of_times
    }

    fn quarter(&self, begin_ms: i64) -> Quarter {
        let offset_ms = |at_ms: i64| {
            let at = DateTime::<Utc>::from_timestamp_millis(at_ms)?.naive_utc();
            let offset = self.zone.offset_from_utc_datetime(&at).fix();
            Some(i64::from(offset.local_minus_utc()) * SECOND_MS)
        };
        let (offset, next) = (offset_ms(begin_ms), offset_ms(begin_ms + QUARTER_MS));
        match (offset, self.look_up(begin_ms)) {
            (Some(offset), Some(day)) if offset % QUARTER_MS == 0 && Some(offset) == next => {
                Quarter::Day(day)
            }
            _ => Quarter::Mixed,
        }
    }

    /// The place of the day, if it is one of them.
    #[inline]
    pub fn day_of(&self, at_ms: i64) -> Option<usize> {
        let quarter = usize::try_from(at_ms.checked_sub(self.begin_ms)?.div_euclid(QUARTER_MS)).ok()?;
        let day = match self.quarters.get(quarter)? {
            Quarter::Day(day) => *day,
            Quarter::Mixed => self.look_up(at_ms)?,
        };
        usize::try_from(day).ok().filter(|day| *day < self.days)
    }

    /// The day in the zone's rules, counted from the first one.
    fn look_up(&self, at_ms: i64) -> Option<i32> {
        let day = local(at_ms, self.zone)?.date();
        i32::try_from((day - self.first).num_days()).ok()
    }
}

#[cfg(test)]
mod tests {
    use lakeport_base::time::{DAY_MS, HOUR_MS, begin_of};

    use super::*;

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

    /// Compares every few minutes of some days with the zone's rules.
    fn check(zone: Tz, first: &str, count: usize) {
        let first: NaiveDate = first.parse().unwrap();
        let days: Vec<NaiveDate> = first.iter_days().take(count).collect();
        let of_times = DaysOfTimes::new(&days, zone);
        let middle = first.and_time(NaiveTime::MIN).and_utc().timestamp_millis();
        for at_ms in (middle - 3 * DAY_MS..middle + (count as i64 + 3) * DAY_MS).step_by(29_000) {
            let date = local(at_ms, zone).unwrap().date();
            assert_eq!(of_times.day_of(at_ms), days.iter().position(|day| *day == date), "{at_ms} in {zone}");
        }
    }

    #[test]
    fn days_are_those_of_the_zone() {
        check(Tz::UTC, "2024-02-28", 3);
        check(chrono_tz::Asia::Kolkata, "2024-02-28", 3);
        check(chrono_tz::Asia::Kathmandu, "2024-02-28", 3);
        check(chrono_tz::Pacific::Kiritimati, "2024-02-28", 3);
        check(chrono_tz::Pacific::Pago_Pago, "2024-02-28", 3);
    }

    #[test]
    fn clocks_change_forwards_and_back() {
        check(chrono_tz::Europe::Berlin, "2024-03-30", 3);
        check(chrono_tz::Europe::Berlin, "2024-10-26", 3);
        check(chrono_tz::Australia::Lord_Howe, "2024-04-06", 3);
        // Midnight is skipped.
        check(chrono_tz::America::Sao_Paulo, "2018-11-03", 3);
        // From one minute after midnight back to the day before.
        check(chrono_tz::America::St_Johns, "2010-11-06", 3);
        // A day is left out.
        check(chrono_tz::Pacific::Apia, "2011-12-28", 4);
        // The offset was 44 minutes and 30 seconds.
        check(chrono_tz::Africa::Monrovia, "1972-01-05", 4);
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
    fn times_far_away_are_on_no_day() {
        let days = [NaiveDate::from_ymd_opt(2024, 2, 28).unwrap()];
        for days in [&days[..], &[]] {
            let of_times = DaysOfTimes::new(days, Tz::UTC);
            assert_eq!([i64::MIN, 0, i64::MAX].map(|at_ms| of_times.day_of(at_ms)), [None; 3]);
        }
    }
}
