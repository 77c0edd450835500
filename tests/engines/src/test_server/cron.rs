//! Quartz's cron expressions: `second minute hour day month weekday [year]`.

use chrono::{Datelike as _, Days, NaiveDate, NaiveDateTime, NaiveTime, Timelike as _};

/// How far a next time is looked for: past the next 29 February.
const DAYS_MAX: u64 = 9 * 366;
const YEARS: (u32, u32) = (1970, 2199);
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

/// When a schedule fires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cron {
    seconds: Vec<u32>,
    minutes: Vec<u32>,
    hours: Vec<u32>,
    /// `None`: the weekday says it.
    days: Option<Vec<u32>>,
    months: Vec<u32>,
    /// 1 is Sunday. `None`: the day says it.
    weekdays: Option<Vec<u32>>,
    years: Vec<u32>,
}

impl Cron {
    /// `None` if it is not valid. `L`, `W` and `#` are not known here.
    pub fn read(text: &str) -> Option<Cron> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let (fields, year) = match fields.as_slice() {
            [fields @ .., year] if fields.len() == 6 => (fields.to_vec(), *year),
            fields if fields.len() == 6 => (fields.to_vec(), "*"),
            _ => return None,
        };
        let day_or_none = |text: &str, range, names: &[&str]| match text {
            "?" => Some(None),
            text => numbers(text, range, names).map(Some),
        };
        let days = day_or_none(fields[3], (1, 31), &[])?;
        let weekdays = day_or_none(fields[5], (1, 7), &WEEKDAYS)?;
        // One of both is left open.
        (days.is_some() != weekdays.is_some()).then_some(())?;
        Some(Cron {
            seconds: numbers(fields[0], (0, 59), &[])?,
            minutes: numbers(fields[1], (0, 59), &[])?,
            hours: numbers(fields[2], (0, 23), &[])?,
            days,
            months: numbers(fields[4], (1, 12), &MONTHS)?,
            weekdays,
            years: numbers(year, YEARS, &[])?,
        })
    }

    /// The first time after this one.
    pub fn next_after(&self, at: NaiveDateTime) -> Option<NaiveDateTime> {
        let from = at.time().with_nanosecond(0)?;
        if self.has_day(at.date())
            && let Some(time) = self.times().find(|time| *time > from)
        {
            return Some(at.date().and_time(time));
        }
        let first = self.times().next()?;
        let mut days = (1..=DAYS_MAX).filter_map(|days| at.date().checked_add_days(Days::new(days)));
        days.find(|day| self.has_day(*day)).map(|day| day.and_time(first))
    }

    fn has_day(&self, day: NaiveDate) -> bool {
        let in_days = self.days.as_ref().is_none_or(|days| days.contains(&day.day()));
        let weekday = day.weekday().num_days_from_sunday() + 1;
        let in_weekdays = self.weekdays.as_ref().is_none_or(|days| days.contains(&weekday));
        let in_years = u32::try_from(day.year()).is_ok_and(|year| self.years.contains(&year));
        in_days && in_weekdays && in_years && self.months.contains(&day.month())
    }

    /// The times of a day.
    fn times(&self) -> impl Iterator<Item = NaiveTime> {
        let of_minute = move |hour: u32, minute: u32| {
            self.seconds.iter().filter_map(move |second| NaiveTime::from_hms_opt(hour, minute, *second))
        };
        let of_hour = move |hour: u32| self.minutes.iter().flat_map(move |minute| of_minute(hour, *minute));
        self.hours.iter().flat_map(move |hour| of_hour(*hour))
    }
}

/// The numbers of a field, in order: `*`, `5`, `1-5`, `0/15`, `*/2`, and lists of these.
fn numbers(text: &str, (least, most): (u32, u32), names: &[&str]) -> Option<Vec<u32>> {
    let number = |text: &str| {
        let named = names.iter().position(|name| name.eq_ignore_ascii_case(text));
        let number = match named {
            Some(index) => u32::try_from(index).ok()? + 1,
            None => text.parse().ok()?,
        };
        (least..=most).contains(&number).then_some(number)
    };
    let mut all = Vec::new();
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step.parse::<usize>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match range.split_once('-') {
            _ if range == "*" => (least, most),
            Some((from, to)) => (number(from)?, number(to)?),
            None if step.is_some() => (number(range)?, most),
            None => (number(range)?, number(range)?),
        };
        all.extend((from..=to).step_by(step.unwrap_or(1)));
    }
    all.sort_unstable();
    all.dedup();
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cron_fires_when_it_says() {
        for (cron, at, next) in [
            ("0 * * * * ? *", "2026-11-21T10:20:30", "2026-11-21T10:21:00"),
            ("0/5 * * * * ? *", "2026-11-21T10:20:30.500", "2026-11-21T10:20:35"),
            ("0/5 * * * * ? *", "2026-11-21T10:20:35", "2026-11-21T10:20:40"),
            ("0 0 3 29 2 ? *", "2026-11-21T10:20:30", "2028-02-29T03:00:00"),
            ("0 0 3 * * ? *", "2026-12-31T03:00:00", "2027-01-01T03:00:00"),
            ("0 30 9-17/4 ? * MON-FRI", "2026-11-21T10:20:30", "2026-11-23T09:30:00"),
            ("0 0 0 1 JAN ? 2030", "2026-11-21T10:20:30", "2030-01-01T00:00:00"),
        ] {
            let at: NaiveDateTime = at.parse().expect("a time");
            let next: NaiveDateTime = next.parse().expect("a time");
            assert_eq!(Cron::read(cron).expect(cron).next_after(at), Some(next), "{cron}");
        }
    }

    #[test]
    fn what_is_no_cron_is_refused() {
        for wrong in ["", "* * * * *", "0 0 3 * * * *", "0 0 3 ? * ? *", "60 * * * * ? *", "0/0 * * * * ? *"]
        {
            assert_eq!(Cron::read(wrong), None, "{wrong}");
        }
        let past = Cron::read("0 0 0 1 1 ? 2020").expect("valid");
        assert_eq!(past.next_after("2026-11-21T00:00:00".parse().expect("a time")), None);
    }
}
