//! Moves a time on the calendar and the clock of a zone, as in DolphinScheduler 3.x: months keep the day or
//! take the month's last one, a week begins on Monday, and the time of day stays.
//!
//! One difference: DolphinScheduler moves a day by 1,440 minutes, which in the night after a change of the
//! clocks can be two days or none. Here a day is one day of the calendar, as in its `system.biz.date`. Parts
//! of a day are time that passes, in both.

use chrono::{Datelike, Days, Duration, Months, NaiveDate, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::Tz;
use lakeport_base::time;

/// The most days of a move.
const DAYS_MAX: i64 = 100_000;
/// The most months of a move.
const MONTHS_MAX: i64 = 12_000;
const MINUTES_OF_DAY: i64 = 1_440;

/// A move: first by months, then to a day of the month or week, then by days, then by minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Move {
    pub months: i64,
    pub to: To,
    pub days: i64,
    pub minutes: i64,
}

/// A day of the month or week.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum To {
    #[default]
    SameDay,
    MonthFirst,
    MonthLast,
    Monday,
    Sunday,
}

impl Move {
    /// By parts of a day, of which whole days are days of the calendar.
    pub fn minutes(minutes: i64) -> Move {
        Move { days: minutes / MINUTES_OF_DAY, minutes: minutes % MINUTES_OF_DAY, ..Move::default() }
    }

    /// All minutes of its days and minutes.
    pub fn all_minutes(&self) -> i64 {
        self.days * MINUTES_OF_DAY + self.minutes
    }

    /// Whether it is short enough for every date that is likely.
    pub fn is_bounded(&self) -> bool {
        self.days.abs() <= DAYS_MAX && self.months.abs() <= MONTHS_MAX
    }

    /// The moved time, as clocks of the zone show it; `None` beyond the calendar.
    pub fn applied(&self, at_ms: i64, zone: Tz) -> Option<NaiveDateTime> {
        let begin = time::local(at_ms, zone)?;
        let months = Months::new(u32::try_from(self.months.unsigned_abs()).ok()?);
        let moved = match self.months < 0 {
            true => begin.checked_sub_months(months)?,
            false => begin.checked_add_months(months)?,
        };
        let day = plus_days(on(self.to, moved.date())?, self.days)?;
        let moved = day.and_time(moved.time());
        if self.minutes == 0 {
            return Some(moved);
        }
        let from_ms = if moved == begin { at_ms } else { instant(moved, zone)? };
        let passed_ms = self.minutes.checked_mul(time::MINUTE_MS)?;
        time::local(from_ms.checked_add(passed_ms)?, zone)
    }
}

fn on(to: To, day: NaiveDate) -> Option<NaiveDate> {
    let from_monday = i64::from(day.weekday().num_days_from_monday());
    match to {
        To::SameDay => Some(day),
        To::MonthFirst => day.with_day(1),
        To::MonthLast => day.with_day(1)?.checked_add_months(Months::new(1))?.pred_opt(),
        To::Monday => plus_days(day, -from_monday),
        To::Sunday => plus_days(day, 6 - from_monday),
    }
}

fn plus_days(day: NaiveDate, days: i64) -> Option<NaiveDate> {
    let count = Days::new(days.unsigned_abs());
    if days < 0 { day.checked_sub_days(count) } else { day.checked_add_days(count) }
}

/// The time when clocks of the zone show this: the first of two; if clocks skip it, as much later as they
/// skip.
pub fn instant(local: NaiveDateTime, zone: Tz) -> Option<i64> {
    if let Some(at) = zone.from_local_datetime(&local).earliest() {
        return Some(at.timestamp_millis());
    }
    let day_before = local.checked_sub_signed(TimeDelta::days(1))?;
    let offset = zone.from_local_datetime(&day_before).latest()?.offset().fix();
    let utc = local.checked_sub_signed(Duration::seconds(offset.local_minus_utc().into()))?;
    Some(utc.and_utc().timestamp_millis())
}

/// The year and the number of the week, where weeks begin on this day (1: Monday) and the first week of a
/// year has four days of it at least. As in DolphinScheduler 3.x the year is the day's own, not the week's:
/// 2021-01-01 is in 2021, week 53.
pub fn year_and_week(day: NaiveDate, first_day: u32) -> Option<(i32, u32)> {
    let from_first = (day.weekday().num_days_from_monday() + 8 - first_day) % 7;
    let fourth = plus_days(day, 3 - i64::from(from_first))?;
    Some((day.year(), fourth.ordinal0() / 7 + 1))
}
