//! Days of the calendar, and ranges of them.

use std::fmt;

/// A day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(i64);

impl Day {
    /// The last day that compares as a text: 9999-12-31.
    pub const LAST: Day = Day(2_932_896);

    /// The day of a date. Months and days that overflow continue in the next year or month.
    pub fn of(year: i64, month: i64, day: i64) -> Day {
        let months = year * 12 + month - 1;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        // Years that begin in March put the leap day last.
        let shifted = if month <= 2 { year - 1 } else { year };
        let era = shifted.div_euclid(400);
        let year_of_era = shifted.rem_euclid(400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        Day(era * 146_097 + day_of_era - 719_468)
    }

    /// Reads the `yyyy-MM-dd` that a text begins with.
    pub fn read(text: &str) -> Option<Day> {
        let letters = text.as_bytes().first_chunk::<10>()?;
        let number = |digits: &[u8]| {
            let digit = |digit: &u8| digit.is_ascii_digit().then(|| i64::from(digit - b'0'));
            digits.iter().try_fold(0, |number, next| Some(number * 10 + digit(next)?))
        };
        let [year @ .., b'-', month_tens, month_ones, b'-', day_tens, day_ones] = letters else {
            return None;
        };
        let (year, month, day) =
            (number(year)?, number(&[*month_tens, *month_ones])?, number(&[*day_tens, *day_ones])?);
        let read = Day::of(year, month, day);
        (year > 0 && read.date() == (year, month, day)).then_some(read)
    }

    /// Year, month, day.
    pub fn date(self) -> (i64, i64, i64) {
        let shifted = self.0 + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        (year_of_era + era * 400 + i64::from(month <= 2), month, day)
    }

    pub fn plus(self, days: i64) -> Day {
        Day(self.0 + days)
    }

    /// The Monday of its week.
    pub fn monday(self) -> Day {
        self.plus(-self.days_after_monday())
    }

    /// The number of days since the Monday of its week.
    pub fn days_after_monday(self) -> i64 {
        (self.0 + 3).rem_euclid(7)
    }

    /// The first of its month, `later` months later.
    pub fn month(self, later: i64) -> Day {
        let (year, month, _) = self.date();
        Day::of(year, month + later, 1)
    }

    /// The same day `months` months later, or that month's last day.
    pub fn plus_months(self, months: i64) -> Day {
        let last = self.month(months + 1).plus(-1);
        self.month(months).plus(self.date().2 - 1).min(last)
    }

    /// The first of its quarter, `later` quarters later.
    pub fn quarter(self, later: i64) -> Day {
        let (year, month, _) = self.date();
        Day::of(year, month - (month - 1) % 3 + 3 * later, 1)
    }

    /// The first of its year, `later` years later.
    pub fn year(self, later: i64) -> Day {
        Day::of(self.date().0 + later, 1, 1)
    }
}

impl fmt::Display for Day {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = self.date();
        write!(to, "{year:04}-{month:02}-{day:02}")
    }
}

/// Days from the first up to, but excluding, the second; either end may be open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub from: Option<Day>,
    pub before: Option<Day>,
    /// Set for "the last so many units up to today".
    pub last: Option<(Unit, i64)>,
    /// Set for "this unit up to today".
    pub begun: Option<Unit>,
}

impl Range {
    pub fn days(from: Day, before: Day) -> Range {
        Range::of(Some(from), Some(before))
    }

    pub fn of(from: Option<Day>, before: Option<Day>) -> Range {
        Range { from, before, last: None, begun: None }
    }

    pub fn one(day: Day) -> Range {
        Range::days(day, day.plus(1))
    }

    pub fn year(year: i64) -> Range {
        Range::days(Day::of(year, 1, 1), Day::of(year + 1, 1, 1))
    }

    /// The period before: of a calendar unit, the unit before; of its days up to today, as many days of the unit before.
    /// `None` if an end is open.
    pub fn previous(self) -> Option<Range> {
        let (from, before) = (self.from?, self.before?);
        let days = before.0 - from.0;
        Some(match (self.last, self.unit(), self.begun) {
            (Some((unit, count)), ..) => Range::days(unit.moved(from, -count), from),
            (_, _, Some(unit)) => {
                let start = unit.later(from, -1);
                Range::days(start, start.plus(days).min(from))
            }
            (_, Some(unit), _) => Range::days(unit.later(from, -1), from),
            _ => Range::days(from.plus(-days), from),
        })
    }

    /// The same days a year earlier; of a week, that of the same number. `None` if an end is open.
    pub fn year_before(self) -> Option<Range> {
        let earlier = |day: Day| match self.unit() {
            Some(Unit::Week) => day.plus(-364),
            _ => day.plus_months(-12),
        };
        // The last day moves, so that the end of a month stays one.
        Some(Range::days(earlier(self.from?), earlier(self.before?.plus(-1)).plus(1)))
    }

    /// The calendar unit that it is.
    pub fn unit(self) -> Option<Unit> {
        let (from, before) = (self.from?, self.before?);
        UNITS.into_iter().find(|unit| unit.start(from) == from && unit.later(from, 1) == before)
    }

    /// The number of days, if both ends are known.
    pub fn length(self) -> Option<i64> {
        Some(self.before?.0 - self.from?.0)
    }
}

/// All units, the smallest first.
const UNITS: [Unit; 5] = [Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year];

/// The unit of a trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// What comes back with each week, or each day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cycle {
    /// From Monday, 1, to Sunday, 7.
    Weekday,
    /// From 0 to 23.
    Hour,
}

impl Cycle {
    pub const ALL: [Cycle; 2] = [Cycle::Weekday, Cycle::Hour];

    pub fn word(self) -> &'static str {
        match self {
            Cycle::Weekday => "weekday",
            Cycle::Hour => "hour",
        }
    }
}

impl Unit {
    /// The unit of this name: `month`.
    pub fn called(word: &str) -> Option<Unit> {
        [Unit::Day, Unit::Week, Unit::Month, Unit::Quarter, Unit::Year]
            .into_iter()
            .find(|unit| unit.word() == word)
    }

    pub fn word(self) -> &'static str {
        match self {
            Unit::Day => "day",
            Unit::Week => "week",
            Unit::Month => "month",
            Unit::Quarter => "quarter",
            Unit::Year => "year",
        }
    }

    /// The first day of the unit that contains a day.
    pub fn start(self, day: Day) -> Day {
        match self {
            Unit::Day => day,
            Unit::Week => day.monday(),
            Unit::Month => day.month(0),
            Unit::Quarter => day.quarter(0),
            Unit::Year => day.year(0),
        }
    }

    /// The same day so many units later.
    pub fn moved(self, day: Day, count: i64) -> Day {
        match self {
            Unit::Day => day.plus(count),
            Unit::Week => day.plus(7 * count),
            Unit::Month => day.plus_months(count),
            Unit::Quarter => day.plus_months(3 * count),
            Unit::Year => day.plus_months(12 * count),
        }
    }

    /// The first day of the unit `parts` units after the one that contains a day.
    pub fn later(self, day: Day, parts: i64) -> Day {
        let start = self.start(day);
        match self {
            Unit::Day => start.plus(parts),
            Unit::Week => start.plus(7 * parts),
            Unit::Month => start.month(parts),
            Unit::Quarter => start.month(3 * parts),
            Unit::Year => start.year(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_over_leap_years() {
        assert_eq!(Day::of(1970, 1, 1), Day(0));
        assert_eq!(Day::of(2024, 2, 29).plus(1).to_string(), "2024-03-01");
        assert_eq!(Day::of(2026, 1, 1).plus(-1).to_string(), "2025-12-31");
        assert_eq!(Day::read("2026-02-29"), None);
        assert_eq!(Day::read("2026-07-19 10:00:00"), Some(Day::of(2026, 7, 19)));
    }

    #[test]
    fn periods_have_one_before() {
        let day = |text: &str| Day::read(text).unwrap();
        let days = |from: &str, before: &str| Range::days(day(from), day(before));
        let told = |range: Option<Range>| {
            range.map(|range| (range.from.unwrap().to_string(), range.before.unwrap().to_string()))
        };
        let is = |range: Range, from: &str, before: &str| {
            assert_eq!(told(range.previous()), Some((from.to_owned(), before.to_owned())))
        };
        is(days("2026-10-01", "2026-11-01"), "2026-09-01", "2026-10-01");
        is(days("2026-10-01", "2027-01-01"), "2026-07-01", "2026-10-01");
        is(days("2026-11-16", "2026-11-23"), "2026-11-09", "2026-11-16");
        is(
            Range { begun: Some(Unit::Month), ..days("2026-03-01", "2026-03-31") },
            "2026-02-01",
            "2026-03-01",
        );
        is(Range { begun: Some(Unit::Year), ..days("2026-01-01", "2026-03-01") }, "2025-01-01", "2025-03-01");
        is(days("2026-11-03", "2026-11-06"), "2026-10-31", "2026-11-03");
        let year = days("2026-02-01", "2026-03-01").year_before();
        assert_eq!(told(year), Some(("2025-02-01".to_owned(), "2025-03-01".to_owned())));
    }

    #[test]
    fn weeks_begin_on_monday_and_months_on_their_first() {
        let day = Day::read("2026-07-19").unwrap();
        assert_eq!(day.monday().to_string(), "2026-07-13");
        assert_eq!(day.month(-7).to_string(), "2025-12-01");
        assert_eq!(Day::read("2026-03-31").unwrap().plus_months(-1).to_string(), "2026-02-28");
    }
}
