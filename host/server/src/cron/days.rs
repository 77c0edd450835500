//! The two fields of days, of which one is `?`: day-of-month and day-of-week.

use chrono::{Datelike, NaiveDate};

use super::field::{self, DAY_OF_MONTH, DAY_OF_WEEK, FIELDS, Set, Wrong};

const SUNDAY: u32 = 1;
const SATURDAY: u32 = 7;
/// The longest way back from the last day: to the first of 31 days.
const BEFORE_MAX: u32 = 30;
/// No month has a sixth Sunday.
const NTH_MAX: u32 = 5;

/// Days of a month.
#[derive(Clone, PartialEq, Eq)]
pub enum Days {
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

impl Days {
    /// Reads day-of-month, in upper case; `None`: it is `?`.
    pub fn of_month(text: &str) -> Result<Option<Days>, Wrong> {
        if text == "?" {
            return Ok(None);
        }
        refuse_in_list(text, &['L', 'W', '?'], "write `L`, `L-3`, `LW`, `15W` and `?` alone, not in a list")?;
        let wrong = |remedy: &str| Wrong::new(text, remedy);
        if let Some(rest) = text.strip_prefix('L') {
            let days = last(rest).ok_or_else(|| wrong("write `L`, `LW`, or `L-` and a number up to 30"))?;
            return Ok(Some(days));
        }
        let field = &FIELDS[DAY_OF_MONTH];
        if let Some(day) = text.strip_suffix('W') {
            let day = field.value(day).map_err(|_| wrong("write one day from 1 to 31 before `W`"))?;
            return Ok(Some(Days::Weekday(day)));
        }
        Ok(Some(Days::OfMonth(field.set(text)?)))
    }

    /// Reads day-of-week, in upper case; `None`: it is `?`.
    pub fn of_week(text: &str) -> Result<Option<Days>, Wrong> {
        if text == "?" {
            return Ok(None);
        }
        refuse_in_list(text, &['L', '#', '?'], "write `L`, `6L`, `6#3` and `?` alone, not in a list")?;
        let wrong = |remedy: &str| Wrong::new(text, remedy);
        let field = &FIELDS[DAY_OF_WEEK];
        if text == "L" {
            return Ok(Some(Days::OfWeek(field.set("SAT")?)));
        }
        if let Some(day) = text.strip_suffix('L') {
            let day = field.value(day);
            let day = day.map_err(|_| wrong("write one day from 1 (SUN) to 7 (SAT) before `L`"))?;
            return Ok(Some(Days::LastOfWeek(day)));
        }
        if let Some((day, nth)) = text.split_once('#') {
            let day = field.value(day);
            let day = day.map_err(|_| wrong("write one day from 1 (SUN) to 7 (SAT) before `#`"))?;
            let nth = field::number(nth).filter(|nth| (1..=NTH_MAX).contains(nth));
            let nth = nth.ok_or_else(|| wrong("write a number from 1 to 5 after `#`"))?;
            return Ok(Some(Days::NthOfWeek(day, nth)));
        }
        Ok(Some(Days::OfWeek(field.set(text)?)))
    }

    /// The first such day of the month that begins at `start`, from this day on.
    pub fn from(&self, start: NaiveDate, first: u32) -> Option<u32> {
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
            Days::OfMonth(ref days) => days.at_or_after(first).and_then(the),
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

/// What follows `L`: nothing, `W`, `-3` or `-3W`.
fn last(rest: &str) -> Option<Days> {
    let (rest, weekday) = rest.strip_suffix('W').map_or((rest, false), |rest| (rest, true));
    let before = match rest.strip_prefix('-') {
        Some(number) => field::number(number).filter(|before| *before <= BEFORE_MAX)?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    Some(Days::Last { before, weekday })
}

/// Refuses an item with one of these signs in a list of several.
fn refuse_in_list(text: &str, signs: &[char], remedy: &str) -> Result<(), Wrong> {
    if !text.contains(',') {
        return Ok(());
    }
    let mut items = text.split(',');
    items.find(|item| item.contains(signs)).map_or(Ok(()), |item| Err(Wrong::new(item, remedy)))
}
