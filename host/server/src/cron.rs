//! Schedules: Quartz cron with seven fields, `0 30 2 * * ? *`. Either day-of-month or day-of-week is `?`;
//! days of the week go from 1 (SUN) to 7 (SAT). Errors name the field.
//!
//! Times are local times of the zone. A time that clocks skip (02:30 in the night in which they are put
//! forward) is left out, as in Quartz; of a time that occurs twice, the first one counts.
//!
//! Where Quartz continues in the next month (`31W` in a month of 30 days), the month has no such day here.

mod field;

use std::fmt;

use chrono::{Datelike, NaiveDate, NaiveDateTime, TimeDelta, TimeZone, Timelike};
use chrono_tz::Tz;
use lakeport_base::time::{self, DAY_MS};

use field::{
    DAY_OF_MONTH, DAY_OF_WEEK, FIELDS, HOURS, MINUTES, MONTH, SECONDS, Set, YEAR, YEAR_FIRST, YEAR_LAST,
};

/// The longest text, in characters.
pub const MAX_CHARS: usize = 200;
/// The most local times that are tried for one that clocks show: no zone skips or repeats more.
const SKIPPED_MAX: usize = 200_000;
/// Before the first year in every zone.
const BEFORE_ALL_MS: i64 = -2 * DAY_MS;
const SUNDAY: u32 = 1;
const SATURDAY: u32 = 7;

/// A parsed cron expression.
#[derive(Clone, PartialEq, Eq)]
pub struct Cron {
    text: String,
    seconds: Set,
    minutes: Set,
    hours: Set,
    days: Days,
    months: Set,
    years: Set,
}

/// Days of a month.
#[derive(Clone, PartialEq, Eq)]
enum Days {
    /// `1,15-20`
    OfMonth(Set),
    /// `L`, `L-3`, `LW`: so many days before the last; the weekday nearest to it.
    Last { before: u32, weekday: bool },
    /// `15W`: the nearest weekday within the month.
    Weekday(u32),
    /// `MON-FRI`
    OfWeek(Set),
    /// `6L`: the last such day of the month.
    LastOfWeek(u32),
    /// `6#3`: the third such day of the month.
    NthOfWeek(u32, u32),
}

impl fmt::Debug for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl Cron {
    /// Parses an expression. The error continues the member's name.
    pub fn parse(text: &str) -> Result<Cron, String> {
        if text.chars().count() > MAX_CHARS {
            return Err(format!("has more than {MAX_CHARS} characters"));
        }
        let upper = text.to_ascii_uppercase();
        let parts: Vec<&str> = upper.split_whitespace().collect();
        let wrong = faults(&parts);
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        let set = |place: usize| FIELDS[place].set(parts[place]).expect("no fault was found");
        let (seconds, minutes, hours, months) = (set(SECONDS), set(MINUTES), set(HOURS), set(MONTH));
        let by_month = days_of_month(parts[DAY_OF_MONTH]).expect("no fault was found");
        let by_week = days_of_week(parts[DAY_OF_WEEK]).expect("no fault was found");
        let years = set(YEAR);
        let days = match (by_month, by_week) {
            (Some(days), None) | (None, Some(days)) => days,
            _ => {
                return Err(
                    "must have `?` in one of day-of-month and day-of-week, and only in one".to_owned()
                );
            }
        };
        Ok(Cron { text: parts.join(" "), seconds, minutes, hours, days, months, years })
    }

    /// Whether it is due at any time, past or future: 30 February never is.
    pub fn is_ever_due(&self, zone: Tz) -> bool {
        self.next_after(BEFORE_ALL_MS, zone).is_some()
    }

    /// The first due time after this one (milliseconds since 1970) in the zone; `None`: never again.
    pub fn next_after(&self, at_ms: i64, zone: Tz) -> Option<i64> {
        let mut local = time::local(at_ms, zone)?;
        for _ in 0..SKIPPED_MAX {
            local = self.next_local(local)?;
            let next = zone.from_local_datetime(&local).earliest().map(|next| next.timestamp_millis());
            match next {
                Some(next_ms) if next_ms > at_ms => return Some(next_ms),
                // Clocks skip it, or it is the second occurrence of a past one.
                _ => {}
            }
        }
        None
    }

    /// The first matching local time after this one, whether or not clocks show it.
    fn next_local(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let from = after.with_nanosecond(0)?.checked_add_signed(TimeDelta::seconds(1))?;
        let today = from.date();
        if self.has_day(today)
            && let Some((hour, minute, second)) = self.time_from(from.hour(), from.minute(), from.second())
        {
            return today.and_hms_opt(hour, minute, second);
        }
        let (hour, minute, second) = self.time_from(0, 0, 0)?;
        self.day_from(today.succ_opt()?)?.and_hms_opt(hour, minute, second)
    }

    fn has_day(&self, day: NaiveDate) -> bool {
        self.day_from(day) == Some(day)
    }

    fn day_from(&self, from: NaiveDate) -> Option<NaiveDate> {
        let first = u32::try_from(from.year()).unwrap_or(0).max(YEAR_FIRST);
        for year in self.years.from(first, YEAR_LAST) {
            let is_first = i64::from(year) == i64::from(from.year());
            let first = if is_first { from.month() } else { 1 };
            for month in self.months.from(first, 12) {
                let first = if is_first && month == from.month() { from.day() } else { 1 };
                let start = NaiveDate::from_ymd_opt(year.cast_signed(), month, 1)?;
                if let Some(day) = self.days.from(start, first) {
                    return start.with_day(day);
                }
            }
        }
        None
    }

    fn time_from(&self, hour: u32, minute: u32, second: u32) -> Option<(u32, u32, u32)> {
        for h in self.hours.from(hour, 23) {
            let first = if h == hour { minute } else { 0 };
            for m in self.minutes.from(first, 59) {
                let first = if h == hour && m == minute { second } else { 0 };
                if let Some(s) = self.seconds.from(first, 59).next() {
                    return Some((h, m, s));
                }
            }
        }
        None
    }
}

impl Days {
    /// The first such day of the month that begins at `start`, from this day on.
    fn from(&self, start: NaiveDate, first: u32) -> Option<u32> {
        let last = u32::from(start.num_days_in_month());
        // 1: Sunday.
        let weekday = |day: u32| (start.weekday().num_days_from_sunday() + day - 1) % 7 + 1;
        let nearest = |day: u32| match weekday(day) {
            SATURDAY if day == 1 => 3,
            SATURDAY => day - 1,
            SUNDAY if day == last => day - 2,
            SUNDAY => day + 1,
            _ => day,
        };
        let the = |day: u32| (first..=last).contains(&day).then_some(day);
        match *self {
            Days::OfMonth(ref days) => days.from(first, last).next(),
            Days::OfWeek(ref days) => (first..=last).find(|&day| days.has(weekday(day))),
            Days::Last { before, weekday } => {
                let day = last.checked_sub(before).filter(|&day| day > 0)?;
                the(if weekday { nearest(day) } else { day })
            }
            Days::Weekday(day) if day <= last => the(nearest(day)),
            Days::Weekday(_) => None,
            Days::LastOfWeek(wanted) => (last - 6..=last).find(|&day| weekday(day) == wanted).and_then(the),
            Days::NthOfWeek(wanted, nth) => {
                let day = (1..=7).find(|&day| weekday(day) == wanted)?;
                the(day + 7 * (nth - 1))
            }
        }
    }
}

/// The problems of the number of fields and of each field.
fn faults(parts: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    if parts.len() != FIELDS.len() {
        let names = FIELDS.map(|field| field.name).join(" ");
        wrong.push(format!("has {} fields, not the seven of Quartz: {names}", parts.len()));
    }
    // The six fields of other Quartz expressions are the first six.
    if parts.len() == FIELDS.len() || parts.len() == YEAR {
        let is_right = |place: usize, part: &str| match place {
            DAY_OF_MONTH => days_of_month(part).is_some(),
            DAY_OF_WEEK => days_of_week(part).is_some(),
            _ => FIELDS[place].set(part).is_some(),
        };
        let broken = parts.iter().enumerate().filter(|(place, part)| !is_right(*place, part));
        wrong.extend(broken.map(|(place, part)| FIELDS[place].wrong(part)));
    }
    wrong
}

/// `None`: invalid; `Some(None)`: `?`.
fn days_of_month(text: &str) -> Option<Option<Days>> {
    let field = &FIELDS[DAY_OF_MONTH];
    if text == "?" {
        return Some(None);
    }
    if let Some(rest) = text.strip_prefix('L') {
        let (rest, weekday) = rest.strip_suffix('W').map_or((rest, false), |rest| (rest, true));
        let before = match rest.strip_prefix('-') {
            Some(number) => field::number(number).filter(|before| (1..=30).contains(before))?,
            None if rest.is_empty() => 0,
            None => return None,
        };
        return Some(Some(Days::Last { before, weekday }));
    }
    if let Some(day) = text.strip_suffix('W') {
        return Some(Some(Days::Weekday(field.value(day)?)));
    }
    field.set(text).map(|days| Some(Days::OfMonth(days)))
}

/// As for days of the month.
fn days_of_week(text: &str) -> Option<Option<Days>> {
    let field = &FIELDS[DAY_OF_WEEK];
    if text == "?" {
        return Some(None);
    }
    if text == "L" {
        return field.set("7").map(|days| Some(Days::OfWeek(days)));
    }
    if let Some(day) = text.strip_suffix('L') {
        return Some(Some(Days::LastOfWeek(field.value(day)?)));
    }
    if let Some((day, nth)) = text.split_once('#') {
        let nth = field::number(nth).filter(|nth| (1..=5).contains(nth))?;
        return Some(Some(Days::NthOfWeek(field.value(day)?, nth)));
    }
    field.set(text).map(|days| Some(Days::OfWeek(days)))
}

#[cfg(test)]
#[path = "cron_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
