//! Schedules: Quartz cron with seven fields, `0 30 2 * * ? *`. Either day-of-month or day-of-week is `?`;
//! days of the week go from 1 (SUN) to 7 (SAT). Errors name the field.
//!
//! Times are local times of the zone, as in Quartz 2.3.2; `tests/fixtures/quartz` has thousands of its
//! answers. A time that clocks skip (02:30 in the night in which they are put forward) is left out. Of a time
//! that occurs twice, the second one counts: an hourly schedule waits two hours once a year. A search that
//! starts in the first of two equal hours goes on at the same local time of the second: after the first 01:40
//! comes the second 01:50, and the second 01:30 is left out.
//!
//! Where Quartz errs, this module differs:
//!
//! - A field is valid as a whole or refused. Quartz passes over a rest that it does not know: it reads
//!   `MON-FRI/2` as `MON-FRI`, `MONDAY-FRIDAY` as `MON`, `1W,15W` as `1W`, `5x` as `5`, a step of 0 as none.
//! - Values have limits. Quartz reads 99 as `*`, 98 as `?`, and `5-0` as `5-7`, and takes any year.
//! - There are exactly seven fields. Quartz adds a missing year, and passes over an eighth field.
//! - The last year is 2099. Quartz goes on for a century from now.
//! - `31W` is never due in a month of 30 days. Quartz at times takes it for the last day. From `L-28W` on,
//!   Quartz may search without end, as it may if clocks skip the time of `W`.
//! - What clocks skip changes nothing else. Quartz passes over later times, too, if the skipped ones are not
//!   one whole hour of the clock (Lord Howe, St. John's, Troll), or the last hour of a day (Nuuk).

mod days;
mod field;

use std::fmt;

use chrono::{Datelike, MappedLocalTime, NaiveDate, NaiveDateTime, TimeZone, Timelike};
use chrono_tz::{GapInfo, Tz};
use lakeport_base::time::{self, DAY_MS, SECOND_MS};

use days::Days;
use field::{DAY_OF_MONTH, DAY_OF_WEEK, FIELDS, HOURS, MINUTES, MONTH, SECONDS, Set, YEAR, YEAR_FIRST};

/// The longest text, in characters.
pub const MAX_CHARS: usize = 200;
/// The most due times that are tried for one that clocks show. Each passes over a gap: no zone has so many.
const GAPS_MAX: usize = 1_000;
/// Before the first year in every zone.
const BEFORE_ALL_MS: i64 = -2 * DAY_MS;

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
        // Quartz knows no other blanks between fields.
        let fields = upper.trim_matches(|letter| letter <= ' ').split([' ', '\t']);
        let parts: Vec<&str> = fields.filter(|part| !part.is_empty()).collect();
        let wrong = faults(&parts);
        if !wrong.is_empty() {
            return Err(wrong.join("; "));
        }
        let set = |place: usize| FIELDS[place].set(parts[place]).expect("no fault was found");
        let by_month = Days::of_month(parts[DAY_OF_MONTH]).expect("no fault was found");
        let by_week = Days::of_week(parts[DAY_OF_WEEK]).expect("no fault was found");
        Ok(Cron {
            text: parts.join(" "),
            seconds: set(SECONDS),
            minutes: set(MINUTES),
            hours: set(HOURS),
            days: one_of(by_month, by_week)?,
            months: set(MONTH),
            years: set(YEAR),
        })
    }

    /// Whether it is due at any time, past or future: 30 February never is.
    pub fn is_ever_due(&self, zone: Tz) -> bool {
        self.next_after(BEFORE_ALL_MS, zone).is_some()
    }

    /// The first due time after this one (milliseconds since 1970) in the zone; `None`: never again. Due
    /// times are whole seconds.
    pub fn next_after(&self, at_ms: i64, zone: Tz) -> Option<i64> {
        let mut from = time::local(at_ms.checked_add(SECOND_MS)?, zone)?.with_nanosecond(0)?;
        for _ in 0..GAPS_MAX {
            let local = self.next_local(from)?;
            match zone.from_local_datetime(&local) {
                MappedLocalTime::Single(next) | MappedLocalTime::Ambiguous(_, next) => {
                    return Some(next.timestamp_millis());
                }
                MappedLocalTime::None => from = gap_end(local, zone)?,
            }
        }
        None
    }

    /// The due times from one time to another, both included (milliseconds since 1970), in the zone. They are
    /// those that [`Cron::next_after`] finds one after the other.
    pub fn between(&self, from_ms: i64, to_ms: i64, zone: Tz) -> impl Iterator<Item = i64> {
        let first_ms = self.next_after(from_ms.saturating_sub(1), zone);
        let due = std::iter::successors(first_ms, move |&at_ms| self.next_after(at_ms, zone));
        due.take_while(move |&at_ms| at_ms <= to_ms)
    }

    /// The first matching local time from this one on, whether or not clocks show it.
    fn next_local(&self, from: NaiveDateTime) -> Option<NaiveDateTime> {
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
        for year in self.years.from(first) {
            let is_first = i64::from(year) == i64::from(from.year());
            let first = if is_first { from.month() } else { 1 };
            for month in self.months.from(first) {
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
        for h in self.hours.from(hour) {
            let first = if h == hour { minute } else { 0 };
            for m in self.minutes.from(first) {
                let first = if h == hour && m == minute { second } else { 0 };
                if let Some(s) = self.seconds.at_or_after(first) {
                    return Some((h, m, s));
                }
            }
        }
        None
    }
}

/// The first local time that clocks show after one that they skip.
fn gap_end(skipped: NaiveDateTime, zone: Tz) -> Option<NaiveDateTime> {
    GapInfo::new(&skipped, &zone)?.end.map(|end| end.naive_local())
}

/// Five fields of Unix as seven. `None` where they mean days of both kinds, or weekdays by numbers, which count otherwise.
fn of_unix(parts: &[&str]) -> Option<String> {
    let [minute, hour, day, month, weekday] = *parts else { return None };
    let (day, weekday) = match (day, weekday) {
        (day, "*") => (day, "?"),
        ("*", weekday) if !weekday.contains(|c: char| c.is_ascii_digit()) => ("?", weekday),
        _ => return None,
    };
    Some(format!("0 {minute} {hour} {day} {month} {weekday} *"))
}

/// The problems of the number of fields and of each field.
fn faults(parts: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    if parts.len() != FIELDS.len() {
        let names = FIELDS.map(|field| field.name).join(" ");
        let hint = match parts.len() {
            5 => match of_unix(parts) {
                Some(same) => format!("; write `{same}` for the five of Unix"),
                None => "; put seconds before the five of Unix and a year after them, and `?` for one kind of day; weekdays \
                         are 1 (Sunday) to 7"
                    .to_owned(),
            },
            6 => "; append the year, `*` for every year".to_owned(),
            _ => String::new(),
        };
        wrong.push(format!("has {} fields, not the seven of Quartz: {names}{hint}", parts.len()));
    }
    // The six fields of other Quartz expressions are the first six.
    if parts.len() == FIELDS.len() || parts.len() == YEAR {
        for (place, part) in parts.iter().enumerate() {
            let fault = match place {
                DAY_OF_MONTH => Days::of_month(part).err(),
                DAY_OF_WEEK => Days::of_week(part).err(),
                _ => FIELDS[place].set(part).err(),
            };
            wrong.extend(fault.map(|fault| FIELDS[place].wrong(part, &fault)));
        }
    }
    wrong
}

/// Of the days by month and by week, those that are not `?`.
fn one_of(by_month: Option<Days>, by_week: Option<Days>) -> Result<Days, String> {
    match (by_month, by_week) {
        (Some(days), None) | (None, Some(days)) => Ok(days),
        (None, None) => Err("must have `?` in only one of day-of-month and day-of-week; write `*` in the \
             day-of-month for every day"
            .to_owned()),
        (Some(_), Some(_)) => Err("must have `?` in one of day-of-month and day-of-week; for example \
             `0 0 2 * * ? *` for every day, or `0 0 2 ? * MON *` for every Monday"
            .to_owned()),
    }
}

#[cfg(test)]
#[path = "cron_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
