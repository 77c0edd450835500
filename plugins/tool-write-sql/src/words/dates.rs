//! Phrases that mean days: `last 30 days`, `上个月`, `in 2025`.

use super::Word;
use super::index::{Index, Longest, index, members};
use super::phrases::length_here;
use crate::calendar::{Day, Range, Unit};

/// The longest range of a question, in days: its calendar is generated row by row.
const DAYS_MAX: f64 = 3_660.0;

pub const MONTHS: &[&str] = &[
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

/// Months that are also other words, recognised only after `in`.
const DOUBTFUL_MONTHS: &[&str] = &["may", "march"];
/// Words before a day, a month or a year.
const LEADS: &[&str] = &["in", "during", "for", "on", "of"];

/// Chinese words for units, with `个` if they need it.
const UNITS: &[(&str, Unit)] = &[
    ("天", Unit::Day),
    ("日", Unit::Day),
    ("周", Unit::Week),
    ("个星期", Unit::Week),
    ("星期", Unit::Week),
    ("个月", Unit::Month),
    ("月", Unit::Month),
    ("个季度", Unit::Quarter),
    ("季度", Unit::Quarter),
    ("年", Unit::Year),
    ("day", Unit::Day),
    ("days", Unit::Day),
    ("week", Unit::Week),
    ("weeks", Unit::Week),
    ("month", Unit::Month),
    ("months", Unit::Month),
    ("quarter", Unit::Quarter),
    ("quarters", Unit::Quarter),
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

/// Phrases for a whole unit, with its offset from now.
const WHOLE: &[(&str, Unit, i64)] = &[
    ("today|今天|今日", Unit::Day, 0),
    ("大前天", Unit::Day, -3),
    ("the week before last|week before last|上上周|上上星期|上上个星期", Unit::Week, -2),
    ("the month before last|month before last|上上月|上上个月", Unit::Month, -2),
    ("the quarter before last|quarter before last|上上季度|上上个季度", Unit::Quarter, -2),
    ("yesterday|昨天|昨日", Unit::Day, -1),
    ("the day before yesterday|day before yesterday|前天", Unit::Day, -2),
    ("this week|the current week|本周|这周|这个星期|本星期", Unit::Week, 0),
    ("last week|the last week|previous week|上周|上星期|上个星期", Unit::Week, -1),
    ("this month|the current month|本月|这个月|当月", Unit::Month, 0),
    ("last month|the last month|previous month|上月|上个月", Unit::Month, -1),
    ("this quarter|the current quarter|本季度|这个季度|当季|本季", Unit::Quarter, 0),
    (
        "last quarter|the last quarter|previous quarter|the previous quarter|上季度|上个季度|上一季度",
        Unit::Quarter,
        -1,
    ),
    ("this year|the current year|今年|本年", Unit::Year, 0),
    ("last year|the last year|previous year|去年", Unit::Year, -1),
    ("the year before last|year before last|前年", Unit::Year, -2),
];

/// Phrases for a unit that has begun, up to today.
const TO_DATE: &[(&str, Unit)] = &[
    ("week to date|wtd|本周至今|本周以来", Unit::Week),
    (
        "month to date|mtd|this month to date|this month so far|so far this month|本月至今|本月以来|月初至今|月初以来",
        Unit::Month,
    ),
    (
        "quarter to date|qtd|this quarter to date|this quarter so far|so far this quarter|本季度至今|本季度以来",
        Unit::Quarter,
    ),
    (
        "year to date|ytd|this year to date|this year so far|so far this year|今年至今|今年以来|年初至今|年初以来|本年至今",
        Unit::Year,
    ),
];

/// Quarters and halves of a year, with their first month and their number of months.
const PARTS: &[(&str, i64, i64)] = &[
    ("q1|the first quarter|first quarter|第一季度|一季度|第一个季度", 1, 3),
    ("q2|the second quarter|second quarter|第二季度|二季度|第二个季度", 4, 3),
    ("q3|the third quarter|third quarter|第三季度|三季度|第三个季度", 7, 3),
    ("q4|the fourth quarter|fourth quarter|the last quarter of|第四季度|四季度|第四个季度", 10, 3),
    ("h1|the first half|first half|上半年", 1, 6),
    ("h2|the second half|second half|下半年", 7, 6),
];

/// Days of sales, with their month and day.
const FESTIVALS: &[(&str, i64, i64)] = &[("双十一", 11, 11), ("双十二", 12, 12)];

/// Weekdays of a week, `|` between synonyms: Monday first.
const WEEKDAYS: [&str; 7] =
    ["monday|一", "tuesday|二", "wednesday|三", "thursday|四", "friday|五", "saturday|六", "sunday|日|天"];
/// Chinese words for a week before its day, with its offset from now.
const WEEKS: &[(&str, i64)] = &[
    ("上周", -1),
    ("上星期", -1),
    ("上个星期", -1),
    ("本周", 0),
    ("这周", 0),
    ("这个星期", 0),
    ("本星期", 0),
    ("上上周", -2),
];
/// Weekends, with the offset of their week from now.
const WEEKENDS: &[(&str, i64)] =
    &[("last weekend|上周末|上个周末|上星期末", -1), ("this weekend|本周末|这周末|这个周末", 0)];

/// Joints between the days of one month: `November 1 to 7`, `11月1日到7日`.
const DAY_JOINTS: &[&str] = &["to", "until", "till", "through", super::symbols::TO, "到", "至"];

/// Phrases for a fiscal unit that has begun, up to today; true: the year.
const FISCAL_TO_DATE: &[(&str, bool)] = &[
    (
        "fiscal year to date|the fiscal year to date|this fiscal year to date|fiscal ytd|fytd|financial year to date|本财年至今|财年至今|本财年以来|财年以来|财年初至今",
        true,
    ),
    ("fiscal quarter to date|this fiscal quarter to date|本财季至今|财季至今", false),
];

/// The same of fiscal years, and words for these.
const FISCAL: &[(&str, i64)] = &[
    ("this fiscal year|the current fiscal year|this financial year|本财年|本财政年度|这个财年", 0),
    (
        "last fiscal year|the last fiscal year|previous fiscal year|last financial year|上财年|上个财年|上一财年|上一财政年度",
        -1,
    ),
];
const FISCAL_LEADS: &[&str] = &["fiscal year", "financial year", "fy"];
const FISCAL_QUARTERS: &[(&str, i64)] = &[
    ("this fiscal quarter|the current fiscal quarter|the fiscal quarter|本财季|这个财季|本财政季度", 0),
    ("last fiscal quarter|the last fiscal quarter|previous fiscal quarter|上财季|上个财季|上一财季", -1),
];

const WORDS: &[&[&str]] = &[
    members!(WHOLE, 0),
    members!(TO_DATE, 0),
    members!(PARTS, 0),
    members!(FISCAL, 0),
    members!(FISCAL_QUARTERS, 0),
    members!(FISCAL_TO_DATE, 0),
    members!(WEEKENDS, 0),
    members!(WEEKS, 0),
    members!(FESTIVALS, 0),
    members!(UNITS, 0),
    LAST,
    &["财年", "财政年度", "第", "双", "号"],
];
pub static LONGEST: Longest = Longest::of(WORDS);

/// Whether it is a Chinese word here.
pub fn is_chinese(word: &str) -> bool {
    static KNOWN: Index = index!(WORDS, "|", "");
    !word.is_ascii() && KNOWN.has(word)
}

/// The days that begin here, and their length in words.
///
/// `first_month`: the month in which a fiscal year begins.
pub fn range(words: &[Word], today: Day, first_month: i64) -> Option<(usize, Range)> {
    let readings = [
        last_units(words, today),
        fiscal(words, today, first_month),
        fiscal_to_date(words, today, first_month),
        weekday(words, today),
        festival(words, today),
        to_date(words, today),
        part_of_year(words, today),
        week_of_month(words, today),
        whole_unit(words, today),
        month(words, today),
        chinese_date(words, today),
        days_ago(words, today),
        one_day(words),
        year(words),
    ];
    // Of equal lengths the earlier one.
    readings.into_iter().flatten().rev().max_by_key(|(length, _)| *length)
}

/// `the first week of November`: its first seven days, and so on; the last one its last seven.
fn week_of_month(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let is =
        |at: usize, wanted: &[&str]| words.get(at).is_some_and(|word| wanted.contains(&word.lower.as_str()));
    let lead = usize::from(is(0, &["in", "during", "for", "on"]));
    let at = lead + usize::from(is(lead, &["the"]));
    let word = &words.get(at)?.lower;
    let place = if word == "first" { Some(1) } else { super::english::ordinal(word) };
    if !is(at + 1, &["week"]) || !is(at + 2, &["of", "in"]) {
        return None;
    }
    let rest = &words[at + 3..];
    let (length, month) =
        whole_unit(rest, today).into_iter().chain(month(rest, today)).max_by_key(|(length, _)| *length)?;
    let (from, before) = (month.from?, month.before?);
    let week = match (month.unit()?, place) {
        (Unit::Month, Some(place)) if place <= 4 => {
            let from = from.plus(7 * (i64::try_from(place).ok()? - 1));
            Range::days(from, from.plus(7))
        }
        (Unit::Month, None) if word == "last" => Range::days(before.plus(-7), before),
        _ => return None,
    };
    Some((at + 3 + length, week))
}

/// The longest phrase that begins here: its length in words, and the place of its list.
fn listed(index: &Index, words: &[Word]) -> Option<(usize, usize)> {
    let phrases = index.get(&words.first()?.lower);
    let here = phrases.filter_map(|(phrase, list)| Some((length_here(words, phrase)?, list)));
    here.max_by_key(|(length, _)| *length)
}

fn longest<'a>(words: &[Word], phrases: impl Iterator<Item = &'a str>) -> Option<usize> {
    phrases.filter_map(|phrase| length_here(words, phrase)).max()
}

fn last_units(words: &[Word], today: Day) -> Option<(usize, Range)> {
    static PHRASES: Index = index!(&[LAST], "|", " ");
    let (lead, _) = listed(&PHRASES, words)?;
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
        Unit::Quarter => today.plus_months(-3 * count).plus(1),
        Unit::Year => today.plus_months(-12 * count).plus(1),
    };
    let range = Range { last: Some((*unit, count)), ..Range::days(from, today.plus(1)) };
    #[expect(clippy::cast_precision_loss, reason = "a few thousand days")]
    let fits = range.length().is_some_and(|days| days as f64 <= DAYS_MAX);
    fits.then_some((lead + 2, range))
}

fn whole_unit(words: &[Word], today: Day) -> Option<(usize, Range)> {
    static PHRASES: Index = index!(&[members!(WHOLE, 0)], "|", " ");
    let lead = usize::from(words.first().is_some_and(|word| LEADS.contains(&word.lower.as_str())));
    let (length, list) = listed(&PHRASES, &words[lead..])?;
    let (_, unit, from_now) = WHOLE[list];
    Some((lead + length, range_of(unit, from_now, today)))
}

/// `year to date`, `本月至今`.
fn to_date(words: &[Word], today: Day) -> Option<(usize, Range)> {
    static PHRASES: Index = index!(&[members!(TO_DATE, 0)], "|", " ");
    let (length, list) = listed(&PHRASES, words)?;
    let (_, unit) = TO_DATE[list];
    Some((length, Range { begun: Some(unit), ..Range::days(unit.start(today), today.plus(1)) }))
}

/// `Q3 2026`, `the first half of 2025`, `2026年第三季度`, `去年下半年`; without a year, the latest one that has begun.
fn part_of_year(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = usize::from(words.first().is_some_and(|word| LEADS.contains(&word.lower.as_str())));
    let (years, year) = year_before(&words[lead..], today);
    let here = &words[lead + years..];
    let (length, month, months) = part(here)?;
    let mut length = lead + years + length;
    let mut year = year;
    if year.is_none() {
        let (more, after) = year_after(&words[length..], today);
        length += more;
        year = after;
    }
    let this = today.date().0;
    let year = year.unwrap_or(if Day::of(this, month, 1) > today { this - 1 } else { this });
    Some((length, Range::days(Day::of(year, month, 1), Day::of(year, month + months, 1))))
}

/// A quarter or a half of a year: its length in words, its first month and its number of months.
fn part(words: &[Word]) -> Option<(usize, i64, i64)> {
    static PHRASES: Index = index!(&[members!(PARTS, 0)], "|", " ");
    let named = listed(&PHRASES, words).map(|(length, list)| (length, PARTS[list].1, PARTS[list].2));
    named.or_else(|| quarter_number(words))
}

/// `3季度`, `第3季度`.
fn quarter_number(words: &[Word]) -> Option<(usize, i64, i64)> {
    let lead = usize::from(words.first().is_some_and(|word| word.lower == "第"));
    let quarter = words.get(lead).and_then(day_number).filter(|number| *number <= 4)?;
    let after = words.get(lead + 1).is_some_and(|word| word.lower == "季度");
    after.then_some((lead + 2, 3 * quarter - 2, 3))
}

/// A year before its part: `2026`, `2026年`, `去年`.
fn year_before(words: &[Word], today: Day) -> (usize, Option<i64>) {
    let is = |place: usize, text: &str| words.get(place).is_some_and(|word| word.lower == text);
    match words.first() {
        Some(word) if matches!(word.lower.as_str(), "今年" | "本年") => (1, Some(today.date().0)),
        Some(word) if word.lower == "去年" => (1, Some(today.date().0 - 1)),
        Some(word) => match year_number(word) {
            Some(year) => (1 + usize::from(is(1, "年")), Some(year)),
            None => (0, None),
        },
        None => (0, None),
    }
}

/// A year after its part: `of 2026`, `of last year`.
fn year_after(words: &[Word], today: Day) -> (usize, Option<i64>) {
    let lead = longest(words, ["of", "in", ","].into_iter()).unwrap_or(0);
    if let Some(length) = longest(&words[lead..], ["last year", "this year"].into_iter()) {
        let last = words[lead].lower == "last";
        return (lead + length, Some(today.date().0 - i64::from(last)));
    }
    match words.get(lead).and_then(year_number) {
        Some(year) => (lead + 1, Some(year)),
        None => (0, None),
    }
}

/// `this fiscal year`, `FY2026`, `2026财年`: named by the year in which it ends; `Q2 FY2026`, `this fiscal quarter`.
fn fiscal(words: &[Word], today: Day, first_month: i64) -> Option<(usize, Range)> {
    let lead = usize::from(words.first().is_some_and(|word| LEADS.contains(&word.lower.as_str())));
    let words = &words[lead..];
    let begin = |year: i64| if first_month > 1 { year - 1 } else { year };
    let (year, month, _) = today.date();
    let this = year + i64::from(first_month > 1 && month >= first_month);
    static QUARTERS: Index = index!(&[members!(FISCAL_QUARTERS, 0)], "|", " ");
    if let Some((length, list)) = listed(&QUARTERS, words) {
        let (_, from_now) = FISCAL_QUARTERS[list];
        let begun = (month - first_month).rem_euclid(12) / 3;
        let from = Day::of(begin(this), first_month + 3 * (begun + from_now), 1);
        return Some((lead + length, Range::days(from, from.plus_months(3))));
    }
    // `fiscal Q3`: the latest one that has begun.
    let said =
        usize::from(words.first().is_some_and(|word| matches!(word.lower.as_str(), "fiscal" | "财年")));
    let named = part(&words[said..]).filter(|_| said > 0);
    if let Some((length, month, months)) = named {
        let after = said + length + longest(&words[said + length..], ["of", "in"].into_iter()).unwrap_or(0);
        let (length, year) = match fiscal_year(&words[after..], this) {
            Some((more, year)) => (after + more, year),
            None => {
                let year = words.get(after).and_then(year_number);
                let has_begun = Day::of(begin(this), first_month + month - 1, 1) <= today;
                let latest = if has_begun { this } else { this - 1 };
                (year.map_or(said + length, |_| after + 1), year.unwrap_or(latest))
            }
        };
        let from = Day::of(begin(year), first_month + month - 1, 1);
        return Some((lead + length, Range::days(from, from.plus_months(months))));
    }
    // `the second quarter of the fiscal year 2026`
    let before = part(words);
    let of = before.map_or(0, |(length, ..)| {
        length + longest(&words[length..], ["of", "in", "of the", "in the"].into_iter()).unwrap_or(0)
    });
    let (length, year) = fiscal_year(&words[of..], this)?;
    let after = before.is_none().then(|| part(&words[length..])).flatten();
    let (month, months) = before.or(after).map_or((1, 12), |(_, month, months)| (month, months));
    let length = lead + of + length + after.map_or(0, |(length, ..)| length);
    let from = Day::of(begin(year), first_month + month - 1, 1);
    Some((length, Range::days(from, from.plus_months(months))))
}

/// `fiscal year to date`, `本财年至今`.
fn fiscal_to_date(words: &[Word], today: Day, first_month: i64) -> Option<(usize, Range)> {
    static PHRASES: Index = index!(&[members!(FISCAL_TO_DATE, 0)], "|", " ");
    let (length, list) = listed(&PHRASES, words)?;
    let (_, is_year) = FISCAL_TO_DATE[list];
    let (year, month, _) = today.date();
    let months = if is_year { 12 } else { 3 };
    let begun = (month - first_month).rem_euclid(12) % months;
    Some((length, Range::days(Day::of(year, month - begun, 1), today.plus(1))))
}

/// `last Friday`, the latest one before today; `上周五`, `last weekend`, of the week before.
fn weekday(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = usize::from(words.first().is_some_and(|word| LEADS.contains(&word.lower.as_str())));
    let here = &words[lead..];
    static PHRASES: Index = index!(&[members!(WEEKENDS, 0)], "|", " ");
    if let Some((length, list)) = listed(&PHRASES, here) {
        let saturday = today.monday().plus(7 * WEEKENDS[list].1 + 5);
        return Some((lead + length, Range::days(saturday, saturday.plus(2))));
    }
    let (first, second) = (here.first()?.lower.as_str(), &here.get(1)?.lower);
    let called =
        |word: &str| WEEKDAYS.iter().zip(0..).find(|(names, _)| names.split('|').any(|name| name == word));
    let (_, weekday) = called(second)?;
    let day = match WEEKS.iter().find(|(week, _)| *week == first) {
        Some((_, week)) => today.monday().plus(7 * week + weekday),
        None if first == "this" => today.monday().plus(weekday),
        None if first == "last" => today.plus(-1).plus(-(today.plus(-1 - weekday).days_after_monday())),
        None => return None,
    };
    Some((lead + 2, Range::one(day)))
}

/// `双十一`, `去年双11`: without a year, the latest one that has begun.
fn festival(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let (years, year) = year_before(words, today);
    let here = &words[years..];
    let named = FESTIVALS.iter().find(|(word, ..)| here.first().is_some_and(|first| first.lower == *word));
    let digits = || {
        let number = here.get(1).and_then(day_number).filter(|_| here[0].lower == "双")?;
        FESTIVALS.iter().find(|(_, month, _)| *month == number)
    };
    let (length, (_, month, day)) = match named {
        Some(known) => (1, known),
        None if here.is_empty() => return None,
        None => (2, digits()?),
    };
    Some((years + length, of_month(year, *month, Some(*day), today)?))
}

/// `1 November`, `1st of November 2026`, after a word such as `on`.
pub fn day_first(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let day = words.first().and_then(day_number)?;
    let ends = usize::from(
        words.get(1).is_some_and(|word| matches!(word.lower.as_str(), "st" | "nd" | "rd" | "th")),
    );
    let of = 1 + ends + usize::from(words.get(1 + ends).is_some_and(|word| word.lower == "of"));
    let month = words.get(of).and_then(month_number)?;
    let year = words.get(of + 1).and_then(year_number);
    Some((of + 1 + usize::from(year.is_some()), of_month(year, month, Some(day), today)?))
}

/// Whether a text is written as a date, but there is no such day.
pub fn is_no_day(text: &str) -> bool {
    let is_written = text.len() == 10
        && text.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    let is_year = text
        .get(..4)
        .and_then(|year| year.parse().ok())
        .is_some_and(|year: i64| (1900..2100).contains(&year));
    is_written && is_year && Day::read(text).is_none()
}

/// `February 30`, `2月30日`: a day that its month never has, with its length in words.
pub fn no_day(words: &[Word]) -> Option<usize> {
    let is = |place: usize, letters: &[&str]| {
        words.get(place).is_some_and(|word| letters.contains(&word.lower.as_str()))
    };
    let number = |place: usize| words.get(place).and_then(day_number);
    let (month, day, length) = match words.first().and_then(month_number) {
        Some(month) => (month, number(1)?, 2),
        None if is(1, &["月"]) && is(3, &["日", "号"]) => (number(0)?, number(2)?, 4),
        None => return None,
    };
    // A leap year has all days.
    let is_none = month <= 12 && Day::read(&format!("2024-{month:02}-{day:02}")).is_none();
    is_none.then_some(length)
}

/// The last day of `November 1 to 7` and `11月1日到7日`, and its length in words with the joint.
fn day_after(words: &[Word], is_chinese: bool) -> Option<(usize, i64)> {
    words.first().filter(|word| DAY_JOINTS.contains(&word.lower.as_str()))?;
    let day = words.get(1).and_then(day_number)?;
    let is_day = words.get(2).is_some_and(|word| matches!(word.lower.as_str(), "日" | "号"));
    match is_chinese {
        true => is_day.then_some((3, day)),
        false => {
            // Not `November 1 to 3 December`.
            let goes_on = words.get(2).is_some_and(|word| {
                word.form != super::Form::Mark && (month_number(word).is_some() || word.number().is_some())
            });
            (!goes_on).then_some((2, day))
        }
    }
}

/// From the first of a month's days to the last one.
fn up_to(range: Range, day: i64) -> Option<Range> {
    let (year, month, first) = range.from?.date();
    let last = Day::read(&format!("{year:04}-{month:02}-{day:02}"))?;
    (first < day).then(|| Range::of(range.from, Some(last.plus(1))))
}

/// A fiscal year, and its length in words.
fn fiscal_year(words: &[Word], this: i64) -> Option<(usize, i64)> {
    static YEARS: Index = index!(&[members!(FISCAL, 0)], "|", " ");
    if let Some((length, list)) = listed(&YEARS, words) {
        return Some((length, this + FISCAL[list].1));
    }
    if let Some(digits) =
        words.first().and_then(|word| word.lower.strip_prefix("fy")).filter(|digits| !digits.is_empty())
    {
        return Some((1, fiscal_number(digits)?));
    }
    if let Some(length) = longest(words, FISCAL_LEADS.iter().copied()) {
        return Some((length + 1, fiscal_number(&words.get(length)?.text)?));
    }
    let after = words.get(1).is_some_and(|word| matches!(word.lower.as_str(), "财年" | "财政年度"));
    words.first().filter(|_| after).and_then(year_number).map(|year| (2, year))
}

/// `2026`, `26`.
fn fiscal_number(digits: &str) -> Option<i64> {
    let number: i64 = digits.parse().ok()?;
    match digits.len() {
        4 if (1900..2100).contains(&number) => Some(number),
        2 => Some(2000 + number),
        _ => None,
    }
}

fn range_of(unit: Unit, from_now: i64, today: Day) -> Range {
    match unit {
        Unit::Day => Range::one(today.plus(from_now)),
        Unit::Week => Range::days(today.monday().plus(7 * from_now), today.monday().plus(7 * (from_now + 1))),
        Unit::Month => Range::days(today.month(from_now), today.month(from_now + 1)),
        Unit::Quarter => Range::days(today.quarter(from_now), today.quarter(from_now + 1)),
        Unit::Year => Range::days(today.year(from_now), today.year(from_now + 1)),
    }
}

/// A year as a number.
fn year_number(word: &Word) -> Option<i64> {
    let number = word.number().filter(|year| year.fract() == 0.0 && (1900.0..2100.0).contains(year))?;
    #[expect(clippy::cast_possible_truncation, reason = "it is within a few thousand")]
    Some(number as i64).filter(|_| !word.text.contains(','))
}

/// A day of a month.
fn day_number(word: &Word) -> Option<i64> {
    let day = word.number().filter(|day| day.fract() == 0.0 && (1.0..=31.0).contains(day))?;
    #[expect(clippy::cast_possible_truncation, reason = "it is at most 31")]
    Some(day as i64)
}

/// The month that a word names; the first three letters suffice.
fn month_number(word: &Word) -> Option<i64> {
    let fits = |month: &str| {
        month == word.lower
            || word.lower.len() == 3 && month.starts_with(&word.lower)
            || word.lower == "sept" && month == "september"
    };
    let place = MONTHS.iter().position(|month| fits(month))?;
    Some(i64::try_from(place).expect("there are twelve") + 1)
}

/// What stands between two months.
const MONTH_JOINTS: [&str; 6] = ["to", "and", "until", "till", "through", "-"];

/// `in March`, `March 2026`, `on October 1`, `October 1, 2026`.
fn month(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = usize::from(LEADS.contains(&words.first()?.lower.as_str()));
    let name = words.get(lead)?;
    let month = month_number(name)?;
    let day = words.get(lead + 1).and_then(day_number);
    let after = lead + 1 + usize::from(day.is_some());
    let comma = usize::from(day.is_some() && words.get(after).is_some_and(|word| word.lower == ","));
    let year = words.get(after + comma).and_then(year_number);
    let later = if year.is_none() && day.is_none() { later_month(&words[after..], month) } else { None };
    let sure = lead == 1
        || year.is_some()
        || later.is_some()
        || name.lower.len() > 3 && !DOUBTFUL_MONTHS.contains(&name.lower.as_str());
    let length = year.map_or(after, |_| after + comma + 1);
    let range = of_month(year.or(later.flatten()), month, day, today)?;
    // `November 1 to 7`
    if let Some((more, last)) = day.and_then(|_| day_after(&words[length..], false))
        && let Some(days) = up_to(range, last)
    {
        let is_month = sure || !DOUBTFUL_MONTHS.contains(&name.lower.as_str());
        return is_month.then_some((length + more, days));
    }
    sure.then_some((length, range))
}

/// The year of a month that goes up to another one, if that has a year: `March to June 2026`.
fn later_month(words: &[Word], month: i64) -> Option<Option<i64>> {
    let joint = words.first()?.lower.as_str();
    let other = words.get(1).and_then(month_number).filter(|_| MONTH_JOINTS.contains(&joint))?;
    Some(words.get(2).and_then(year_number).map(|year| if month > other { year - 1 } else { year }))
}

/// Without a year, the latest one that has begun.
fn of_month(year: Option<i64>, month: i64, day: Option<i64>, today: Day) -> Option<Range> {
    let this = today.date().0;
    let first = |year: i64| Day::of(year, month, day.unwrap_or(1));
    let year = year.unwrap_or(if first(this) > today { this - 1 } else { this });
    match day {
        Some(day) => Some(Range::one(Day::read(&format!("{year:04}-{month:02}-{day:02}"))?)),
        None => Some(Range::days(first(year), Day::of(year, month + 1, 1))),
    }
}

/// `2025年`, `2025年7月`, `7月`, `去年10月`, `10月1日`.
fn chinese_date(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let is = |place: usize, letters: &[&str]| {
        words.get(place).is_some_and(|word| letters.contains(&word.lower.as_str()))
    };
    let month_at = |place: usize| {
        words.get(place).and_then(day_number).filter(|month| *month <= 12 && is(place + 1, &["月"]))
    };
    let written = year_number(words.first()?).filter(|_| is(1, &["年"]));
    let (years, year) = match (written, words[0].lower.as_str()) {
        (Some(year), _) => (2, Some(year)),
        (None, "今年") => (1, Some(today.date().0)),
        (None, "去年") => (1, Some(today.date().0 - 1)),
        (None, _) => (0, None),
    };
    let Some(month) = month_at(years) else {
        return written.map(|year| (2, Range::year(year)));
    };
    let day = words.get(years + 2).and_then(day_number).filter(|_| is(years + 3, &["日", "号"]));
    let length = years + 2 + 2 * usize::from(day.is_some());
    // `11月1日到7日`, `11月1-7日`
    let bare = words.get(years + 2).and_then(day_number).filter(|_| day.is_none());
    let begins = length + usize::from(bare.is_some());
    if let Some(first) = day.or(bare)
        && let Some((more, last)) = day_after(&words[begins..], true)
        && let Some(days) = up_to(of_month(year, month, Some(first), today)?, last)
    {
        return Some((begins + more, days));
    }
    Some((length, of_month(year, month, day, today)?))
}

/// `3 days ago`, `3天前`.
fn days_ago(words: &[Word], today: Day) -> Option<(usize, Range)> {
    let lead = usize::from(words.first()?.lower == "on");
    let days =
        words.get(lead)?.number().filter(|days| days.fract() == 0.0 && (1.0..=DAYS_MAX).contains(days))?;
    let is = |place: usize, letters: &[&str]| {
        words.get(lead + place).is_some_and(|word| letters.contains(&word.lower.as_str()))
    };
    let english = is(1, &["day", "days"]) && is(2, &["ago"]);
    // `最近3天前5名`
    let chinese = is(1, &["天"]) && is(2, &["前"]) && words.get(lead + 3).and_then(Word::number).is_none();
    if !english && !chinese {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number within DAYS_MAX")]
    let days = days as i64;
    Some((lead + 3, Range::one(today.plus(-days))))
}

/// A written-out day or month: `2026-10-01`, `2026-10`.
fn one_day(words: &[Word]) -> Option<(usize, Range)> {
    let lead = usize::from(LEADS.contains(&words.first()?.lower.as_str()));
    let word = words.get(lead)?;
    let range = match word.text.len() {
        10 => Range::one(Day::read(&word.text)?),
        7 => {
            let first = Day::read(&format!("{}-01", word.text))?;
            Range::days(first, first.month(1))
        }
        _ => return None,
    };
    Some((lead + 1, range))
}

/// Words after which a number is no year.
const MONEY: [&str; 12] =
    ["yuan", "rmb", "cny", "dollar", "dollars", "usd", "euro", "euros", "eur", "元", "块", "块钱"];

/// `in 2025`, `in the year 2025`, `2025`.
fn year(words: &[Word]) -> Option<(usize, Range)> {
    let leads = ["in the year", "in year", "the year", "year", "in", "during", "of", "for"];
    let lead = longest(words, leads.into_iter()).unwrap_or(0);
    // `over 2000 yuan`
    if words.get(lead + 1).is_some_and(|next| MONEY.contains(&next.lower.as_str())) {
        return None;
    }
    Some((lead + 1, Range::year(year_number(words.get(lead)?)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::{chinese::Dictionary, read};

    fn days(text: &str) -> Option<(String, String)> {
        let today = Day::read("2026-07-19").unwrap();
        let (length, range) = range(&read(text, &Dictionary::default()), today, 4)?;
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
            ("in the first week of June", "2026-06-01", "2026-06-08"),
            ("the last week of last month", "2026-06-24", "2026-07-01"),
            ("2025年3月", "2025-03-01", "2025-04-01"),
            ("2026年7月1日", "2026-07-01", "2026-07-02"),
            ("in December", "2025-12-01", "2026-01-01"),
            ("on 2026-07-01", "2026-07-01", "2026-07-02"),
            ("12月", "2025-12-01", "2026-01-01"),
            ("7月", "2026-07-01", "2026-08-01"),
            ("去年10月", "2025-10-01", "2025-11-01"),
            ("10月1日", "2025-10-01", "2025-10-02"),
            ("on October 1", "2025-10-01", "2025-10-02"),
            ("June 30, 2026", "2026-06-30", "2026-07-01"),
            ("in Oct", "2025-10-01", "2025-11-01"),
            ("2026-06", "2026-06-01", "2026-07-01"),
            ("3 days ago", "2026-07-16", "2026-07-17"),
            ("3天前", "2026-07-16", "2026-07-17"),
            ("the day before yesterday", "2026-07-17", "2026-07-18"),
            ("last quarter", "2026-04-01", "2026-07-01"),
            ("本季度", "2026-07-01", "2026-10-01"),
            ("in Q4", "2025-10-01", "2026-01-01"),
            ("Q1 2025", "2025-01-01", "2025-04-01"),
            ("the first half of 2026", "2026-01-01", "2026-07-01"),
            ("第三季度", "2026-07-01", "2026-10-01"),
            ("2025年第二季度", "2025-04-01", "2025-07-01"),
            ("去年下半年", "2025-07-01", "2026-01-01"),
            ("last 2 quarters", "2026-01-20", "2026-07-20"),
            ("year to date", "2026-01-01", "2026-07-20"),
            ("本月至今", "2026-07-01", "2026-07-20"),
            ("this fiscal year", "2026-04-01", "2027-04-01"),
            ("FY2026", "2025-04-01", "2026-04-01"),
            ("fiscal year 26", "2025-04-01", "2026-04-01"),
            ("上财年", "2025-04-01", "2026-04-01"),
            ("2026财年", "2025-04-01", "2026-04-01"),
            ("this fiscal quarter", "2026-07-01", "2026-10-01"),
            ("上财季", "2026-04-01", "2026-07-01"),
            ("Q2 FY2026", "2025-07-01", "2025-10-01"),
            ("FY2026 Q4", "2026-01-01", "2026-04-01"),
            ("the first quarter of the fiscal year 2026", "2025-04-01", "2025-07-01"),
            ("2026财年第二季度", "2025-07-01", "2025-10-01"),
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
