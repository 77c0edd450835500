//! Attacks schedules. Each time that one gives is held against a second, slower reading of its fields.

use chrono::Duration;
use lakeport_fuzz::{Choices, fuzz};

use super::*;

const ZONES: &[&str] = &[
    "UTC",
    "Asia/Shanghai",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "America/St_Johns",
    "Africa/Casablanca",
    "Pacific/Kwajalein",
    "Europe/Dublin",
];
/// Times around which clocks or calendars do something special, in milliseconds.
const TIMES: &[i64] = &[
    0,
    -1,
    i64::MIN,
    i64::MAX,
    8_210_266_876_799_999,
    -8_334_601_228_800_000,
    951_782_399_000,
    1_709_164_800_000,
    1_774_746_000_000,
    1_793_494_800_000,
    1_325_239_200_000,
    4_102_444_799_000,
    4_070_908_800_000,
    1_772_600_767_000,
];
const PARTS: &[&str] = &[
    "*",
    "?",
    "0",
    "1",
    "5",
    "15",
    "30",
    "31",
    "59",
    "60",
    "29",
    "L",
    "LW",
    "L-3",
    "L-30W",
    "L-31",
    "15W",
    "31W",
    "1W",
    "6#3",
    "6#5",
    "7#6",
    "SUN#1",
    "6L",
    "FRIL",
    "MON-FRI",
    "FRI-MON",
    "JAN",
    "FEB",
    "nov-feb",
    "*/10",
    "/7",
    "0/1",
    "5/0",
    "22-2",
    "22-2/3",
    "1,2,3",
    "1,",
    ",",
    "28-2",
    "2096",
    "2026-2028",
    "2028/4",
    "1970",
    "2099",
    "2100",
    "-1",
    "4294967296",
    "٣",
    "#",
    "/",
    "-",
    "W",
    "L-",
    "x",
];
/// So many times are taken from one schedule.
const TIMES_MAX: usize = 6;
/// So many moments between two times are looked at, of which none may be due.
const BETWEEN_MAX: i64 = 40;

#[test]
fn fuzz_cron() {
    fuzz!("cron", 2_000, make, check);
}

/// A zone and a time on a line, and the expression.
fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let at_ms =
        if choices.one_in(2) { TIMES[choices.below(TIMES.len())] } else { choices.number().cast_signed() };
    let near_ms = choices.below(7_200_000) as i64 - 3_600_000;
    let mut expression = if choices.one_in(3) {
        let text = String::from_utf8_lossy(&kept[choices.below(kept.len())]).into_owned();
        text.split_once('\n').map_or(text.clone(), |(_, expression)| expression.to_owned())
    } else {
        let count = if choices.one_in(8) { choices.below(10) } else { FIELDS.len() };
        (0..count).map(|_| choices.pick(PARTS)).collect::<Vec<_>>().join(" ")
    };
    if choices.one_in(3) {
        choices.edit_text(&mut expression, PARTS);
    }
    format!("{} {}\n{expression}", choices.pick(ZONES), at_ms.saturating_add(near_ms)).into_bytes()
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let Some((header, expression)) = text.split_once('\n') else { return };
    let Some((zone, at_ms)) = header.split_once(' ') else { return };
    let (Ok(zone), Ok(mut at_ms)) = (zone.parse::<Tz>(), at_ms.parse::<i64>()) else { return };
    let cron = match Cron::parse(expression) {
        Ok(cron) => cron,
        Err(message) => {
            return assert!(message.starts_with("has ") || message.starts_with("must "), "{message}");
        }
    };
    let shown = format!("{cron:?}");
    assert_eq!(Cron::parse(&shown).map(|again| again == cron), Ok(true), "{shown} is not {expression}");
    let fields: Vec<&str> = shown.split(' ').collect();
    for _ in 0..TIMES_MAX {
        let Some(next_ms) = cron.next_after(at_ms, zone) else { return };
        assert!(next_ms > at_ms, "{next_ms} is not after {at_ms}");
        let due = local(next_ms, zone);
        assert!(is_due(&fields, due), "{shown} is not due at {due}");
        let from = local(at_ms - at_ms.rem_euclid(1_000) + 1_000, zone);
        let first_ms = at_ms.max(next_ms - BETWEEN_MAX * 1_000 - next_ms.rem_euclid(1_000));
        for between_ms in (first_ms..next_ms).step_by(1_000).chain((at_ms..next_ms).step_by(977_000).take(40))
        {
            let second_ms = between_ms - between_ms.rem_euclid(1_000);
            assert!(
                second_ms <= at_ms || local(second_ms, zone) < from || !occurs(&fields, second_ms, zone),
                "{shown} was due at {second_ms} already"
            );
        }
        at_ms = next_ms;
    }
}

fn local(at_ms: i64, zone: Tz) -> NaiveDateTime {
    time::local(at_ms, zone).expect("a time of a schedule")
}

/// Of a local time that occurs twice, the second one counts.
fn occurs(fields: &[&str], at_ms: i64, zone: Tz) -> bool {
    let local = local(at_ms, zone);
    let last = zone.from_local_datetime(&local).latest().map(|last| last.timestamp_millis());
    last == Some(at_ms) && is_due(fields, local)
}

fn is_due(fields: &[&str], local: NaiveDateTime) -> bool {
    let has = |place: usize, value: u32, first: u32, last: u32| any(fields[place], value, first, last, &[]);
    has(SECONDS, local.second(), 0, 59)
        && has(MINUTES, local.minute(), 0, 59)
        && has(HOURS, local.hour(), 0, 23)
        && any(
            fields[MONTH],
            local.month(),
            1,
            12,
            &["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
        )
        && has(YEAR, local.year().cast_unsigned(), 1970, 2099)
        && is_due_on(fields, local.date())
}

const SATURDAY: u32 = 7;
const WEEK: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

fn is_due_on(fields: &[&str], date: NaiveDate) -> bool {
    let days: Vec<NaiveDate> =
        date.with_day(1).expect("a day").iter_days().take_while(|day| day.month() == date.month()).collect();
    let number = |date: NaiveDate| date.weekday().num_days_from_sunday() + 1;
    // The nearest day of the month that is no Saturday or Sunday.
    let nearest = |day: NaiveDate| {
        let working = days.iter().filter(|day| (2..=6).contains(&number(**day)));
        *working.min_by_key(|other| (**other - day).num_days().abs()).expect("a month has weekdays")
    };
    let (of_month, of_week) = (fields[DAY_OF_MONTH], fields[DAY_OF_WEEK]);
    if of_week == "?" {
        if let Some(rest) = of_month.strip_prefix('L') {
            let before: i64 = rest.trim_matches(['-', 'W']).parse().unwrap_or(0);
            let day = *days.last().expect("a day") - Duration::days(before);
            return day.month() == date.month()
                && date == if rest.ends_with('W') { nearest(day) } else { day };
        }
        if let Some(day) = of_month.strip_suffix('W') {
            let day: usize = day.parse().expect("a number before W");
            return days.get(day - 1).is_some_and(|day| nearest(*day) == date);
        }
        return any(of_month, date.day(), 1, 31, &[]);
    }
    let named = |text: &str| {
        WEEK.iter().position(|name| *name == text).map_or_else(|| text.parse().ok(), |at| Some(at as u32 + 1))
    };
    if of_week == "L" {
        return number(date) == SATURDAY;
    }
    if let Some(day) = of_week.strip_suffix('L') {
        return Some(number(date)) == named(day) && (date + Duration::days(7)).month() != date.month();
    }
    if let Some((day, nth)) = of_week.split_once('#') {
        return Some(number(date)) == named(day)
            && date.day().div_ceil(7) == nth.parse::<u32>().expect("a number");
    }
    any(of_week, number(date), 1, 7, &WEEK)
}

/// Whether one item of a list has the value: it is a whole number of steps from the start of the range.
fn any(list: &str, value: u32, first: u32, last: u32, names: &[&str]) -> bool {
    let number = |text: &str| {
        let named = names.iter().position(|name| *name == text).map(|at| at as u32 + 1);
        named.unwrap_or_else(|| text.parse().unwrap_or_else(|_| panic!("{text} was taken as a number")))
    };
    (first..=last).contains(&value)
        && list.split(',').filter(|item| !item.is_empty()).any(|item| {
            let (range, step) =
                item.split_once('/').map_or((item, None), |(range, step)| (range, Some(number(step))));
            let (from, to) = match range.split_once('-') {
                _ if range == "*" || range.is_empty() => (first, last),
                Some((from, to)) => (number(from), number(to)),
                None => (number(range), if step.is_some() { last } else { number(range) }),
            };
            let size = last - first + 1;
            let away = (value + size - from) % size;
            away <= (to + size - from) % size && away.is_multiple_of(step.unwrap_or(1))
        })
}
