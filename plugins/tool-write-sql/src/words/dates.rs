//! Phrases that mean days: `last 30 days`, `上个月`, `in 2025`.

use super::Word;
use crate::calendar::{Day, Range, Unit};

/// The longest range that can be asked for, in days: a calendar of it is written row by row.
const DAYS_MAX: f64 = 3_660.0;

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Chinese words for units, with `个` where it stands before them.
const UNITS: &[(&str, Unit)] = &[
    ("天", Unit::Day),
    ("日", Unit::Day),
    ("周", Unit::Week),
    ("个星期", Unit::Week),
    ("星期", Unit::Week),
    ("个月", Unit::Month),
    ("月", Unit::Month),
    ("年", Unit::Year),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("year", Unit::Year),
    ("years", Unit::Year),
];

/// Words before a number of units that end today.
const LAST: &[&str] = &[
    "最近",
    "近",
    "过去",
    "last",
    "past",
    "previous",
    "the last",
    "the past",
    "in the last",
    "in the past",
    "over the last",
    "over the past",
    "during the last",
    "within the last",
    "for the last",
    "for the past",
];

/// Phrases that mean a unit as a whole, so many units from now.
const WHOLE: &[(&str, Unit, i64)] = &[
    ("today|今天|今日", Unit::Day, 0),
    ("yesterday|昨天|昨日", Unit::Day, -1),
    ("前天", Unit::Day, -2),
    ("this week|the current week|本周|这周|这个星期|本星期", Unit::Week, 0),
    ("last week|the last week|previous week|上周|上星期|上个星期", Unit::Week, -1),
    ("this month|the current month|本月|这个月|当月", Unit::Month, 0),
    ("last month|the last month|previous month|上月|上个月", Unit::Month, -1),
    ("this year|the current year|今年|本年", Unit::Year, 0),
    ("last year|the last year|previous year|去年", Unit::Year, -1),
    ("前年", Unit::Year, -2),
];

/// Chinese words here.
pub fn chinese() -> impl Iterator<Item = &'static str> {
    let whole = WHOLE.iter().flat_map(|(words, ..)| words.split('|'));
    let units = UNITS.iter().map(|(word, _)| *word);
    whole.chain(units).chain(LAST.iter().copied()).filter(|word| !word.is_ascii())
}

/// The days that words mean from here on, and how many words say so.
pub fn range(words: &[Word], today: Day) -> Option<(usize, Range)> {
    last_units(words, today)
        .or_else(|| whole_unit(words, today))
        .or_else(|| month(words, today))
        .or_else(|| chinese_date(words, today))
        .or_else(|| one_day(words))
        .or_else(|| year(words))
}

/// How many words a phrase takes here.
fn phrase(words: &[Word], phrase: &str) -> Option<usize> {
    let parts: Vec<&str> = phrase.split(' ').collect();
    let fits = words.len() >= parts.len() && parts.iter().zip(words).all(|(part, word)| word.lower == *part);
    fits.then_some(parts.len())
}

fn longest<'a>(words: &[Word], phrases: impl Iterator<Item = &'a str>) -> Option<usize> {
    phrases.filter_map(|text| phrase(words, text)).max()
}

fn last_units(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = longest(words, LAST.iter().copied())?;
    let count =
        words.get(lead)?.number().filter(|count| count.fract() == 0.0 && (1.0..=DAYS_MAX).contains(count));
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number within DAYS_MAX")]
    let count = count? as i64;
    let (_, unit) =
        UNITS.iter().find(|(word, _)| words.get(lead + 1).is_some_and(|next| next.lower == *word))?;
    let from = match unit {
        Unit::Day => today.plus(1 - count),
        Unit::Week => today.plus(1 - 7 * count),
        Unit::Month => today.plus_months(-count).plus(1),
        Unit::Year => today.plus_months(-12 * count).plus(1),
    };
    let range = Range::days(from, today.plus(1));
    #[expect(clippy::cast_precision_loss, reason = "a few thousand days")]
    let fits = range.length().is_some_and(|days| days as f64 <= DAYS_MAX);
    fits.then_some((lead + 2, range))
}

fn whole_unit(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let found = WHOLE.iter().filter_map(|(phrases, unit, from_now)| {
        let lead = usize::from(
            words
                .first()
                .is_some_and(|word| ["in", "during", "for", "on", "of"].contains(&word.lower.as_str())),
        );
        let length = lead + longest(&words[lead..], phrases.split('|'))?;
        Some((length, range_of(*unit, *from_now, today)))
    });
    found.max_by_key(|(length, _)| *length)
}

fn range_of(unit: Unit, from_now: i64, today: Day) -> Range {
    match unit {
        Unit::Day => Range::one(today.plus(from_now)),
        Unit::Week => Range::days(today.monday().plus(7 * from_now), today.monday().plus(7 * (from_now + 1))),
        Unit::Month => Range::days(today.month(from_now), today.month(from_now + 1)),
        Unit::Year => Range::days(today.year(from_now), today.year(from_now + 1)),
    }
}

/// A year as a number.
fn year_number(word: &Word) -> Option<i64> {
    let number = word.number().filter(|year| year.fract() == 0.0 && (1900.0..2100.0).contains(year))?;
    #[expect(clippy::cast_possible_truncation, reason = "it is within a few thousand")]
    Some(number as i64).filter(|_| !word.text.contains(','))
}

/// `in March`, `March 2026`.
fn month(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = usize::from(words.first()?.lower == "in");
    let place = MONTHS.iter().position(|month| words.get(lead).is_some_and(|word| word.lower == *month))?;
    let month = i64::try_from(place).expect("there are twelve") + 1;
    match words.get(lead + 1).and_then(year_number) {
        Some(year) => Some((lead + 2, Range::days(Day::of(year, month, 1), Day::of(year, month + 1, 1)))),
        // Without a year it is the latest one; `may` alone is no month.
        None if lead == 1 => {
            let this = Day::of(today.date().0, month, 1);
            let from = if this > today { Day::of(today.date().0 - 1, month, 1) } else { this };
            Some((2, Range::days(from, from.month(1))))
        }
        None => None,
    }
}

/// `2025年`, `2025年7月`, `7月`.
fn chinese_date(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let is = |place: usize, letters: &str| words.get(place).is_some_and(|word| word.lower == letters);
    let month_at = |place: usize| {
        let month =
            words.get(place)?.number().filter(|month| (1.0..=12.0).contains(month) && month.fract() == 0.0);
        #[expect(clippy::cast_possible_truncation, reason = "it is at most twelve")]
        month.filter(|_| is(place + 1, "月")).map(|month| month as i64)
    };
    if let Some(year) = year_number(words.first()?).filter(|_| is(1, "年")) {
        let day = words.get(4).and_then(Word::number).filter(|day| day.fract() == 0.0 && is(5, "日"));
        return Some(match (month_at(2), day) {
            #[expect(clippy::cast_possible_truncation, reason = "a day of a month is small")]
            (Some(month), Some(day)) => {
                (6, Range::one(Day::read(&format!("{year:04}-{month:02}-{:02}", day as i64))?))
            }
            (Some(month), None) => (4, Range::days(Day::of(year, month, 1), Day::of(year, month + 1, 1))),
            (None, _) => (2, Range::year(year)),
        });
    }
    let (year_word, year) = match words.first()?.lower.as_str() {
        "今年" => (1, today.date().0),
        "去年" => (1, today.date().0 - 1),
        _ => (0, today.date().0),
    };
    let month = month_at(year_word)?;
    Some((year_word + 2, Range::days(Day::of(year, month, 1), Day::of(year, month + 1, 1))))
}

/// A date that is written out.
fn one_day(words: &[Word]) -> Option<(usize, Range)> {
    let lead = usize::from(words.first()?.lower == "on");
    let word = words.get(lead).filter(|word| word.text.len() == 10)?;
    Some((lead + 1, Range::one(Day::read(&word.text)?)))
}

/// `in 2025`, `in the year 2025`, `2025`.
fn year(words: &[Word]) -> Option<(usize, Range)> {
    let leads = ["in the year", "in year", "the year", "year", "in", "during", "of", "for"];
    let lead = longest(words, leads.into_iter()).unwrap_or(0);
    Some((lead + 1, Range::year(year_number(words.get(lead)?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{chinese::Dictionary, read};

    fn days(text: &str) -> Option<(String, String)> {
        let today = Day::read("2026-07-19").unwrap();
        let (length, range) = range(&read(text, &Dictionary::default()), today)?;
        assert_eq!(length, read(text, &Dictionary::default()).len(), "{text}");
        Some((range.from?.to_string(), range.before?.to_string()))
    }

    #[test]
    fn ranges_are_read_in_both_languages() {
        for (text, from, before) in [
            ("last 30 days", "2026-06-20", "2026-07-20"),
            ("最近30天", "2026-06-20", "2026-07-20"),
            ("近三十天", "2026-06-20", "2026-07-20"),
            ("in the last 7 days", "2026-07-13", "2026-07-20"),
            ("yesterday", "2026-07-18", "2026-07-19"),
            ("昨天", "2026-07-18", "2026-07-19"),
            ("last week", "2026-07-06", "2026-07-13"),
            ("上周", "2026-07-06", "2026-07-13"),
            ("this month", "2026-07-01", "2026-08-01"),
            ("本月", "2026-07-01", "2026-08-01"),
            ("去年", "2025-01-01", "2026-01-01"),
            ("in 2025", "2025-01-01", "2026-01-01"),
            ("2025年3月", "2025-03-01", "2025-04-01"),
            ("2026年7月1日", "2026-07-01", "2026-07-02"),
            ("in December", "2025-12-01", "2026-01-01"),
            ("on 2026-07-01", "2026-07-01", "2026-07-02"),
        ] {
            assert_eq!(days(text), Some((from.to_owned(), before.to_owned())), "{text}");
        }
    }

    #[test]
    fn ranges_that_are_too_long_are_not_read() {
        assert_eq!(days("last 99999 days"), None);
        assert_eq!(days("last 900 years"), None);
    }
}
