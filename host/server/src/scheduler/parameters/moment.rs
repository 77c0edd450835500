//! `$[…]`: time expressions, as in DolphinScheduler 3.x. All are of the business time in the run's zone.
//!
//! | expression | time |
//! |---|---|
//! | `F`, `F+N`, `F-N/24`, `F+N/24/60` | so many days, hours, minutes later or earlier |
//! | `add_months(F,N)` | N months later; of a shorter month its last day |
//! | `this_day(F)`, `last_day(F)` | today, yesterday |
//! | `month_first_day(F[,N])`, `month_last_day(F[,N])` | that day of the month N months later |
//! | `week_first_day(F[,N])`, `week_last_day(F[,N])` | Monday and Sunday of the week N weeks later |
//! | `month_begin(F,N)`, `month_end(F,N)` | N days after the month's first or last day |
//! | `week_begin(F,N)`, `week_end(F,N)` | N days after the week's Monday or Sunday |
//! | `year_week(F[,N])` | the year and its week; weeks begin on day N (1: Monday); of F only `-` counts |
//! | `timestamp(E)` | the seconds since 1970 of an expression E that gives yyyyMMddHHmmss |
//!
//! `last_month_first_day(F)`, `last_month_last_day(F)`, `last_week_first_day(F)` and `last_week_last_day(F)`
//! are Lakeport's own; [`in_dolphinscheduler`] has DolphinScheduler's words for them.

use chrono::NaiveDate;
use chrono_tz::Tz;

use super::arithmetic::{calculate, is_arithmetic};
use super::calendar::{Move, To, instant, year_and_week};
use super::format::Format;
use super::shape::Shape;

/// All functions, for people.
const FUNCTIONS: &str = "add_months, this_day, last_day, month_first_day, month_last_day, week_first_day, \
                         week_last_day, month_begin, month_end, week_begin, week_end, \
                         last_month_first_day, last_month_last_day, last_week_first_day, \
                         last_week_last_day, year_week and timestamp";
/// The parts of a time in full, with the numbers that may stand in place of the letters.
const FULL: [(&str, u32, u32); 5] =
    [("MM", 1, 12), ("dd", 1, 28), ("HH", 0, 23), ("mm", 0, 59), ("ss", 0, 59)];
/// DolphinScheduler multiplies minutes in 32 bits.
const DOLPHIN_NUMBER_MAX: i64 = i32::MAX as i64 / 1_440;

/// A time expression that was read.
pub struct Moment<'t> {
    /// The format as it is written.
    written: &'t str,
    format: Format,
    by: Move,
    output: Output,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    Time,
    /// Seconds since 1970.
    Seconds,
    /// The year and the week; weeks begin on this day.
    Week(u32),
}

/// What stands behind a function's format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Nothing,
    Optional,
    Required,
}

impl<'t> Moment<'t> {
    /// Reads an expression; or the reason why it is none.
    pub fn parse(text: &'t str) -> Result<Moment<'t>, String> {
        match called(text)? {
            None => Moment::plain(text),
            Some(("timestamp", inner)) => {
                let inner = Moment::parse(inner)?;
                if inner.output != Output::Time || !is_full(inner.written) {
                    return Err("timestamp takes a time in the format yyyyMMddHHmmss".to_owned());
                }
                Ok(Moment { output: Output::Seconds, ..inner })
            }
            Some(("year_week", inside)) => {
                let (format, day) = arguments("year_week", inside, Count::Optional)?;
                let day = day.map_or(Some(1), |day| u32::try_from(day).ok());
                let day = day.filter(|day| (1..=7).contains(day));
                let day = day.ok_or("a week begins on a day from 1, Monday, to 7, Sunday")?;
                Ok(Moment { output: Output::Week(day), ..Moment::of(format, Move::default())? })
            }
            Some((name, inside)) => {
                let (count, by) = function(name)
                    .ok_or_else(|| format!("there is no function {name}; there are {FUNCTIONS}"))?;
                let (format, n) = arguments(name, inside, count)?;
                if matches!(name, "this_day" | "last_day") && has_offset(format) {
                    return Err(format!("{name} takes a format and no offset; write $[yyyyMMdd-1]"));
                }
                Moment::of(format, by(n.unwrap_or(0)).ok_or("its number is too large")?)
            }
        }
    }

    /// A format and an offset in days.
    fn plain(text: &'t str) -> Result<Moment<'t>, String> {
        let signs = text.match_indices(['+', '-']).map(|(at, _)| at);
        let begins = |at: &usize| text[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '(');
        let at = signs.filter(begins).find(|at| is_arithmetic(&text[*at..])).unwrap_or(text.len());
        let (format, offset) = text.split_at(at);
        if has_offset(format) {
            return Err("a number behind a sign is an offset, and stands at the end".to_owned());
        }
        if offset.is_empty() {
            return Moment::of(format, Move::default());
        }
        let minutes = calculate(offset, 24 * 60);
        let minutes = minutes.ok_or_else(|| format!("`{offset}` is no number of days in whole minutes"))?;
        Moment::of(format, Move::minutes(minutes))
    }

    fn of(written: &'t str, by: Move) -> Result<Moment<'t>, String> {
        if !by.is_bounded() {
            return Err("its offset is too large".to_owned());
        }
        Ok(Moment { written, format: Format::parse(written)?, by, output: Output::Time })
    }

    /// Its text at a business time; `None` if the year has not four digits.
    pub fn shown(&self, at_ms: i64, zone: Tz) -> Option<String> {
        let moved = self.by.applied(at_ms, zone)?;
        let written = self.format.written(moved)?;
        match self.output {
            Output::Time => Some(written),
            Output::Seconds => {
                let number = |from: usize, to: usize| written.get(from..to)?.parse::<u32>().ok();
                let day = NaiveDate::from_ymd_opt(number(0, 4)?.cast_signed(), number(4, 6)?, number(6, 8)?)?;
                let local = day.and_hms_opt(number(8, 10)?, number(10, 12)?, number(12, 14)?)?;
                Some(instant(local, zone)?.div_euclid(1_000).to_string())
            }
            Output::Week(first_day) => {
                let (year, week) = year_and_week(moved.date(), first_day)?;
                let between = if self.written.contains('-') { "-" } else { "" };
                Some(format!("{year}{between}{week:02}"))
            }
        }
    }

    /// What all its texts have in common.
    pub fn shape(&self) -> Shape {
        match self.output {
            Output::Time => self.format.shape(),
            Output::Seconds => Shape::WHOLE,
            Output::Week(_) if self.written.contains('-') => Shape::TEXT,
            Output::Week(_) => Shape::digits(6),
        }
    }

    /// The same in DolphinScheduler's words, without its brackets.
    fn in_dolphinscheduler(&self) -> Option<String> {
        let (format, Move { months, days, .. }) = (self.written, self.by);
        if let Output::Week(first_day) = self.output {
            return Some(format!("year_week({format},{first_day})"));
        }
        let time = match self.by.to {
            To::SameDay if months != 0 => format!("add_months({format},{months})"),
            To::SameDay => plain_in_dolphinscheduler(format, self.by.all_minutes())?,
            To::MonthFirst if days == 0 => format!("month_first_day({format},{months})"),
            To::MonthLast if days == 0 => format!("month_last_day({format},{months})"),
            To::MonthFirst => format!("month_begin({format},{days})"),
            To::MonthLast => format!("month_end({format},{days})"),
            To::Monday => format!("week_begin({format},{days})"),
            To::Sunday => format!("week_end({format},{days})"),
        };
        Some(if self.output == Output::Seconds { format!("timestamp({time})") } else { time })
    }
}

/// An expression in words that mean the same in DolphinScheduler 3.x, which reads some offsets otherwise than
/// they are written (`+1-1/24`) and lacks some names. `None`: it has no such words.
pub fn in_dolphinscheduler(pattern: &str) -> Option<String> {
    Moment::parse(pattern).ok()?.in_dolphinscheduler()
}

/// DolphinScheduler takes what stands behind the last plus, or else the last minus, as an offset if it begins
/// with a digit.
fn plain_in_dolphinscheduler(format: &str, minutes: i64) -> Option<String> {
    let amount = minutes.abs();
    let (number, unit) = match amount {
        _ if amount % 1_440 == 0 => (amount / 1_440, ""),
        _ if amount % 60 == 0 => (amount / 60, "/24"),
        _ => (amount, "/24/60"),
    };
    if number > DOLPHIN_NUMBER_MAX {
        return None;
    }
    let sign = if minutes < 0 { "-" } else { "+" };
    let text = if minutes == 0 { format.to_owned() } else { format!("{format}{sign}{number}{unit}") };
    let last = if text.contains('+') { text.rfind('+') } else { text.rfind('-') };
    let offset = last.filter(|at| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    match (offset, minutes) {
        (None, 0) => Some(text),
        (Some(at), 1.. | ..=-1) if at == format.len() => Some(text),
        (_, 0) => Some(format!("this_day({format})")),
        _ => None,
    }
}

/// The name and the content of `name(…)`; `None` if it is no call.
fn called(text: &str) -> Result<Option<(&str, &str)>, String> {
    let Some((name, inside)) = text.split_once('(') else { return Ok(None) };
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    // Otherwise it is a format with a parenthesis.
    if !is_name || !name.contains('_') && name != "timestamp" {
        return Ok(None);
    }
    let inside = inside.strip_suffix(')').ok_or_else(|| format!("{name}( must end with `)`"))?;
    Ok(Some((name, inside)))
}

/// A function's format and number.
fn arguments<'t>(name: &str, inside: &'t str, count: Count) -> Result<(&'t str, Option<i64>), String> {
    match (inside.split_once(','), count) {
        (None, Count::Required) => Err(format!("{name} takes a format and a number")),
        (Some(_), Count::Nothing) => Err(format!("{name} takes a format alone")),
        (None, _) => Ok((inside, None)),
        (Some((format, number)), _) => {
            let counted = calculate(number, 1);
            let counted = counted.ok_or_else(|| format!("`{}` is no whole number", number.trim()))?;
            Ok((format, Some(counted)))
        }
    }
}

/// A function's move by its number; `None` if that is too large.
type ByNumber = fn(i64) -> Option<Move>;

/// What a function takes, and its move.
fn function(name: &str) -> Option<(Count, ByNumber)> {
    fn to(to: To, months: i64, days: i64) -> Option<Move> {
        Some(Move { months, to, days, minutes: 0 })
    }
    Some(match name {
        "add_months" => (Count::Required, |n| to(To::SameDay, n, 0)),
        "this_day" => (Count::Nothing, |_| to(To::SameDay, 0, 0)),
        "last_day" => (Count::Nothing, |_| to(To::SameDay, 0, -1)),
        "month_first_day" => (Count::Optional, |n| to(To::MonthFirst, n, 0)),
        "month_last_day" => (Count::Optional, |n| to(To::MonthLast, n, 0)),
        "week_first_day" => (Count::Optional, |n| to(To::Monday, 0, n.checked_mul(7)?)),
        "week_last_day" => (Count::Optional, |n| to(To::Sunday, 0, n.checked_mul(7)?)),
        "month_begin" => (Count::Required, |n| to(To::MonthFirst, 0, n)),
        "month_end" => (Count::Required, |n| to(To::MonthLast, 0, n)),
        "week_begin" => (Count::Required, |n| to(To::Monday, 0, n)),
        "week_end" => (Count::Required, |n| to(To::Sunday, 0, n)),
        "last_month_first_day" => (Count::Nothing, |_| to(To::MonthFirst, -1, 0)),
        "last_month_last_day" => (Count::Nothing, |_| to(To::MonthLast, -1, 0)),
        "last_week_first_day" => (Count::Nothing, |_| to(To::Monday, 0, -7)),
        "last_week_last_day" => (Count::Nothing, |_| to(To::Sunday, 0, -7)),
        _ => return None,
    })
}

/// Whether a number stands behind a sign, with or without blanks between them.
fn has_offset(format: &str) -> bool {
    let behind = format.match_indices(['+', '-']).map(|(at, _)| format[at + 1..].trim_start());
    behind.into_iter().any(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '('))
}

/// Whether a format gives `yyyyMMddHHmmss` at any time: the year, then letters or valid numbers. With a given
/// month the day is given, too.
fn is_full(format: &str) -> bool {
    let Some(rest) = format.strip_prefix("yyyy").filter(|rest| rest.len() == 2 * FULL.len()) else {
        return false;
    };
    let fits = FULL.iter().enumerate().all(|(place, (letters, least, most))| {
        let Some(part) = rest.get(2 * place..2 * place + 2) else { return false };
        let is_digits = part.bytes().all(|byte| byte.is_ascii_digit());
        part == *letters || is_digits && part.parse().is_ok_and(|number| (*least..=*most).contains(&number))
    });
    fits && (rest.starts_with("MM") || !rest[2..].starts_with("dd"))
}

#[cfg(test)]
#[path = "moment_tests.rs"]
mod tests;
