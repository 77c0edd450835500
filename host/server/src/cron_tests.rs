use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_base::time::{DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS};
use proptest::prelude::*;

use super::*;

const SHANGHAI: Tz = chrono_tz::Asia::Shanghai;
const NEW_YORK: Tz = chrono_tz::America::New_York;
/// What Quartz does: an expression, a zone, an instant, and the next time, `none` or `refused`, tabs between.
const GOLDEN: &str = include_str!("../../../tests/fixtures/quartz/golden.txt");
/// The most differences that a failure shows.
const SHOWN_MAX: usize = 20;

fn next(text: &str, after: &str, zone: Tz) -> Option<String> {
    let at_ms = time::parse(after, zone).unwrap();
    Cron::parse(text).unwrap().next_after(at_ms, zone).map(|at| time::shown(at, zone))
}

/// The first `count` times.
fn times(text: &str, after: &str, zone: Tz, count: usize) -> Vec<String> {
    let (cron, mut at_ms) = (Cron::parse(text).unwrap(), time::parse(after, zone).unwrap());
    let mut times = Vec::new();
    while times.len() < count
        && let Some(next_ms) = cron.next_after(at_ms, zone)
    {
        times.push(time::shown(next_ms, zone));
        at_ms = next_ms;
    }
    times
}

fn at(rfc3339: &str) -> i64 {
    DateTime::parse_from_rfc3339(rfc3339).unwrap().timestamp_millis()
}

#[test]
fn it_agrees_with_quartz() {
    let wrong: Vec<String> = GOLDEN.lines().filter_map(difference).collect();
    let shown = wrong[..wrong.len().min(SHOWN_MAX)].join("\n");
    assert!(wrong.is_empty(), "{} of {} lines differ:\n{shown}", wrong.len(), GOLDEN.lines().count());
    assert!(GOLDEN.lines().count() > 5_000);
}

/// How this module and a line of the file differ.
fn difference(line: &str) -> Option<String> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [text, zone, at_ms, expected] = columns[..] else { return Some(format!("no four columns: {line}")) };
    let found = match Cron::parse(text) {
        Ok(cron) if expected == "refused" => format!("it is taken: {cron:?}"),
        Ok(cron) => {
            let next_ms = cron.next_after(at_ms.parse().unwrap(), zone.parse().unwrap());
            next_ms.map_or_else(|| "none".to_owned(), |next_ms| next_ms.to_string())
        }
        Err(_) => "refused".to_owned(),
    };
    let shown = |text: &str| match (text.parse(), zone.parse()) {
        (Ok(at_ms), Ok(zone)) => format!("{text} ({})", time::shown(at_ms, zone)),
        _ => text.to_owned(),
    };
    let differs = found != expected;
    differs.then(|| {
        format!("`{text}` in {zone} after {}: {}, not {}", shown(at_ms), shown(&found), shown(expected))
    })
}

#[test]
fn the_next_time_is_found_in_the_zone() {
    let after = "2026-03-04 05:06:07";
    for (text, expected) in [
        ("0 30 2 * * ? *", "2026-03-05 02:30:00"),
        ("*/10 * * * * ? *", "2026-03-04 05:06:10"),
        ("/10 * * * * ? *", "2026-03-04 05:06:10"),
        ("0/1 * * * * ? *", "2026-03-04 05:06:08"),
        ("0 0/15 * * * ? *", "2026-03-04 05:15:00"),
        ("0 0 9 ? * MON-FRI *", "2026-03-04 09:00:00"),
        ("0 0 9 ? * sat-sun *", "2026-03-07 09:00:00"),
        ("0 0 9 ? * 7-1 *", "2026-03-07 09:00:00"),
        ("0 0 22-2 ? * * *", "2026-03-04 22:00:00"),
        ("0 0 22-2/2 ? * * *", "2026-03-04 22:00:00"),
        ("0 0 9 ? * 1 *", "2026-03-08 09:00:00"),
        ("0 0 9 ? * 7 *", "2026-03-07 09:00:00"),
        ("0 0 9 ? * L *", "2026-03-07 09:00:00"),
        ("0 0 9 ? * 6#3 *", "2026-03-20 09:00:00"),
        ("0 0 9 ? * Fri#5 *", "2026-05-29 09:00:00"),
        ("0 0 9 ? * 6L *", "2026-03-27 09:00:00"),
        ("0 0 9 ? * FRIL *", "2026-03-27 09:00:00"),
        ("0 0 0 L * ? *", "2026-03-31 00:00:00"),
        ("0 0 0 L-3 * ? *", "2026-03-28 00:00:00"),
        ("0 0 0 L-3W * ? *", "2026-03-27 00:00:00"),
        ("0 0 0 L-30 * ? *", "2026-05-01 00:00:00"),
        ("0 0 0 L-0 * ? *", "2026-03-31 00:00:00"),
        ("0 0 0 15W FEB ? *", "2027-02-15 00:00:00"),
        ("0 0 0 1W AUG ? *", "2026-08-03 00:00:00"),
        ("0 0 0 31W MAY ? *", "2026-05-29 00:00:00"),
        ("0 0 0 31W * ? *", "2026-03-31 00:00:00"),
        ("0 0 0 LW MAY ? *", "2026-05-29 00:00:00"),
        ("0 0 0 1 nov-Feb ? *", "2026-11-01 00:00:00"),
        ("0 0 0 28-2 * ? *", "2026-03-28 00:00:00"),
        ("0 0 0 29 2 ? *", "2028-02-29 00:00:00"),
        ("0 0 0 1 1 ? 2030", "2030-01-01 00:00:00"),
        ("0 0 0 1 1 ? 2026/3", "2029-01-01 00:00:00"),
        ("0 5,,10, 5 * * ? *", "2026-03-04 05:10:00"),
        ("0 05-50/70 * * * ? *", "2026-03-04 06:05:00"),
        ("0 0 0 */31 4/12 ? *", "2026-04-01 00:00:00"),
        ("0 0 0 ? * */7 *", "2026-03-08 00:00:00"),
        (" 0\t0  6 * * ? *\n", "2026-03-04 06:00:00"),
        ("59 59 23 31 12 ? 2099", "2099-12-31 23:59:59"),
    ] {
        assert_eq!(next(text, after, SHANGHAI).as_deref(), Some(expected), "{text}");
    }
}

#[test]
fn what_is_never_due_again_has_no_next_time() {
    for text in ["0 0 0 1 1 ? 2020", "0 0 0 30 2 ? *", "0 0 0 31W 4,6 ? *"] {
        assert_eq!(next(text, "2026-01-01 00:00:00", chrono_tz::UTC), None, "{text}");
    }
    assert_eq!(next("* * * * * ? *", "2099-12-31 23:59:59", chrono_tz::UTC), None);
}

#[test]
fn a_time_that_clocks_skip_is_left_out() {
    let expected = ["2026-03-07 02:30:00", "2026-03-09 02:30:00"];
    assert_eq!(times("0 30 2 * * ? *", "2026-03-06 03:00:00", NEW_YORK, 2), expected);
    let expected = ["2026-03-08 01:30:00", "2026-03-08 03:30:00"];
    assert_eq!(times("0 30 * * * ? *", "2026-03-08 01:00:00", NEW_YORK, 2), expected);
    assert_eq!(times("0 30 2 8 3 ? 2026", "2026-01-01 00:00:00", NEW_YORK, 1), [""; 0]);
}

#[test]
fn what_follows_a_gap_of_any_length_is_due() {
    let lord_howe = chrono_tz::Australia::Lord_Howe;
    let expected = ["2026-10-04 01:40:00", "2026-10-04 02:40:00", "2026-10-04 03:20:00"];
    assert_eq!(times("0 20,40 * * * ? *", "2026-10-04 01:30:00", lord_howe, 3), expected);
    let expected = ["2026-03-28 22:15:00", "2026-03-29 00:15:00"];
    assert_eq!(times("0 15 22-0 * * ? *", "2026-03-28 22:00:00", chrono_tz::America::Nuuk, 2), expected);
    // A day that Samoa skipped.
    let apia = chrono_tz::Pacific::Apia;
    let expected = ["2011-12-29 23:59:59", "2011-12-31 00:00:00"];
    assert_eq!(times("* * * * 12 ? *", "2011-12-29 23:59:58", apia, 2), expected);
    assert_eq!(times("0 0 12 30W 12 ? *", "2011-12-01 00:00:00", apia, 1), ["2012-12-31 12:00:00"]);
}

#[test]
fn of_a_time_that_clocks_show_twice_the_second_is_due() {
    let cases = [
        ("0 30 1 * * ? *", "2026-11-01T01:29:00-04:00", "2026-11-01T01:30:00-05:00"),
        ("0 30 1 * * ? *", "2026-11-01T01:29:00-05:00", "2026-11-01T01:30:00-05:00"),
        // The search goes on from the same local time of the second hour.
        ("0 30 1 * * ? *", "2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00"),
        ("0 30 * * * ? *", "2026-11-01T00:30:00-04:00", "2026-11-01T01:30:00-05:00"),
        ("* * * * * ? *", "2026-11-01T00:59:59-04:00", "2026-11-01T01:00:00-05:00"),
        ("* * * * * ? *", "2026-11-01T01:10:00-04:00", "2026-11-01T01:10:01-05:00"),
        ("* * * * * ? *", "2026-11-01T01:59:59-04:00", "2026-11-01T01:00:00-05:00"),
        ("* * * * * ? *", "2026-11-01T01:59:59-05:00", "2026-11-01T02:00:00-05:00"),
    ];
    for (text, after, expected) in cases {
        let next_ms = Cron::parse(text).unwrap().next_after(at(after), NEW_YORK);
        assert_eq!(next_ms, Some(at(expected)), "{text} after {after}");
    }
}

#[test]
fn the_times_between_two_are_those_one_after_the_other() {
    let cron = Cron::parse("0 0/30 * * * ? *").unwrap();
    let from_ms = at("2026-11-01T00:00:00-04:00");
    let due: Vec<i64> = cron.between(from_ms, at("2026-11-01T02:00:00-05:00"), NEW_YORK).collect();
    let expected = [
        "2026-11-01T00:00:00-04:00",
        "2026-11-01T00:30:00-04:00",
        "2026-11-01T01:00:00-05:00",
        "2026-11-01T01:30:00-05:00",
        "2026-11-01T02:00:00-05:00",
    ];
    assert_eq!(due, expected.map(at));
    assert_eq!(cron.between(from_ms, from_ms, NEW_YORK).count(), 1);
    assert_eq!(cron.between(from_ms + 1, from_ms + 1, NEW_YORK).count(), 0);
    assert_eq!(cron.between(from_ms, from_ms - 1, NEW_YORK).count(), 0);
    assert_eq!(cron.between(i64::MIN, i64::MAX, NEW_YORK).count(), 0);
    let hourly = Cron::parse("0 0 * * * ? *").unwrap();
    let (from, to) = (at("2026-01-01T00:00:00+08:00"), at("2035-12-30T23:00:00+08:00"));
    assert_eq!(hourly.between(from, to, SHANGHAI).count(), 87_624);
}

#[test]
fn rare_times_are_found() {
    for (text, after, expected) in [
        ("0 0 0 ? 2 1#5 *", "2004-03-01 00:00:00", Some("2032-02-29 00:00:00")),
        ("59 59 23 ? 2 1#5 2096-2099", "1970-01-01 00:00:00", None),
        ("59 59 23 29 2 ? 2096", "1970-01-01 00:00:00", Some("2096-02-29 23:59:59")),
        ("0 30 2 ? 3 1#2 *", "2007-01-01 00:00:00", None),
    ] {
        assert_eq!(next(text, after, NEW_YORK).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_wrong_field_is_named() {
    for (text, named) in [
        ("60 0 0 * * ? *", "seconds"),
        ("-1 0 0 * * ? *", "seconds"),
        ("0/0 0 0 * * ? *", "seconds"),
        ("0/60 0 0 * * ? *", "seconds"),
        ("0/-5 0 0 * * ? *", "seconds"),
        ("1//2 0 0 * * ? *", "seconds"),
        ("? 0 0 * * ? *", "seconds"),
        ("0 x 0 * * ? *", "minutes"),
        ("0 1-2-3 0 * * ? *", "minutes"),
        ("0 / 0 * * ? *", "minutes"),
        ("0 0 24 * * ? *", "hours"),
        ("0 0 MON * * ? *", "hours"),
        ("0 0 0 32 * ? *", "day-of-month"),
        ("0 0 0 0 * ? *", "day-of-month"),
        ("0 0 0 WL * ? *", "day-of-month"),
        ("0 0 0 L-31 * ? *", "day-of-month"),
        ("0 0 0 L3 * ? *", "day-of-month"),
        ("0 0 0 W * ? *", "day-of-month"),
        ("0 0 0 1,L * ? *", "day-of-month"),
        ("0 0 0 1-5W * ? *", "day-of-month"),
        ("0 0 0 1 13 ? *", "month"),
        ("0 0 0 1 MON ? *", "month"),
        ("0 0 0 1 1JAN ? *", "month"),
        ("0 0 0 1 JANUARY ? *", "month"),
        ("0 0 0 ? * 8 *", "day-of-week"),
        ("0 0 0 ? * 0 *", "day-of-week"),
        ("0 0 0 ? * 2-8 *", "day-of-week"),
        ("0 0 0 ? * L2 *", "day-of-week"),
        ("0 0 0 ? * +MON *", "day-of-week"),
        ("0 0 0 ? * 2#6 *", "day-of-week"),
        ("0 0 0 ? * 2#0 *", "day-of-week"),
        ("0 0 0 ? * 2#1,3#1 *", "day-of-week"),
        ("0 0 0 1 * ? soon", "year"),
        ("0 0 0 1 * ? 1969", "year"),
        ("0 0 0 1 * ? 2100", "year"),
        ("0 0 0 1 * ? 2030-2026", "year"),
        ("0 0 0 1 * ? *,5", "year"),
        ("0 99 0 * * ? *", "minutes"),
        ("0 0/60 0 * * ? *", "minutes"),
        ("0 0 5/24 * * ? *", "hours"),
        ("0 0 0 1/32 * ? *", "day-of-month"),
        ("0 0 0 ?,5 * ? *", "day-of-month"),
        ("0 0 0 ?X * ? *", "day-of-month"),
        ("0 0 0 L- * ? *", "day-of-month"),
        ("0 0 0 L-3X * ? *", "day-of-month"),
        ("0 0 0 1W,15W * ? *", "day-of-month"),
        ("0 0 0 15W/2 * ? *", "day-of-month"),
        ("0 0 0 0W * ? *", "day-of-month"),
        ("0 0 0 32W * ? *", "day-of-month"),
        ("0 0 0 1 */13 ? *", "month"),
        ("0 0 0 1 JAN-3 ? *", "month"),
        ("0 0 0 1 1-MAR ? *", "month"),
        ("0 0 0 1 JAN/2 ? *", "month"),
        ("0 0 0 ? * MON-6 *", "day-of-week"),
        ("0 0 0 ? * 2-FRI *", "day-of-week"),
        ("0 0 0 ? * MON-FRI/2 *", "day-of-week"),
        ("0 0 0 ? * MONDAY *", "day-of-week"),
        ("0 0 0 ? * 5-0 *", "day-of-week"),
        ("0 0 0 ? * LW *", "day-of-week"),
        ("0 0 0 ? * 2L,3 *", "day-of-week"),
        ("0 0 0 ? * 8L *", "day-of-week"),
        ("0 0 0 ? * 9#1 *", "day-of-week"),
        ("0 0 0 1 * 98 *", "day-of-week"),
        (", 0 0 * * ? *", "seconds"),
        ("4294967297 0 0 * * ? *", "seconds"),
        ("1-5/9999999999 0 0 * * ? *", "seconds"),
        ("0 0\u{a0}0 0 * * ? *", "minutes"),
        ("٣ 0 0 * * ? *", "seconds"),
    ] {
        let error = Cron::parse(text).unwrap_err();
        assert!(error.contains(&format!("wrong {named}:")), "{text}: {error}");
    }
}

#[test]
fn a_wrong_field_says_what_would_be_right() {
    for (text, expected) in [
        ("0 5,99 * * * ? *", "minutes: `99` in `5,99`; write values from 0 to 59, for example 0 or 0/15"),
        (
            "? 0 0 * * ? *",
            "seconds: `?`; write `*` for every value, `?` is only for day-of-month or day-of-week",
        ),
        ("0 0/0 * * * ? *", "minutes: `0/0`; write a step from 1 to 59 after `/`"),
        ("0 1-5/0 * * * ? *", "minutes: `1-5/0`; write a step from 1 to 59 after `/`"),
        ("0 0 0 L-31 * ? *", "day-of-month: `L-31`; write `L`, `LW`, or `L-` and a number up to 30"),
        ("0 0 0 1,L * ? *", "day-of-month: `L` in `1,L`; write `L`, `L-3`, `LW`, `15W` and `?` alone"),
        ("0 0 0 1-5W * ? *", "day-of-month: `1-5W`; write one day from 1 to 31 before `W`"),
        ("0 0 0 1 JANUARY ? *", "month: `JANUARY`; write its first three letters, `JAN`"),
        ("0 0 0 ? * 8 *", "day-of-week: `8`; write values from 1 (SUN) to 7 (SAT)"),
        ("0 0 0 ? * 2-fri *", "day-of-week: `2-FRI`; write numbers at both ends, `2-6`"),
        ("0 0 0 ? * mon-fri/2 *", "day-of-week: `MON-FRI/2`; write numbers where there is a step, `2-6/2`"),
        ("0 0 0 ? * 2#6 *", "day-of-week: `2#6`; write a number from 1 to 5 after `#`"),
        ("0 0 0 ? * 8#1 *", "day-of-week: `8#1`; write one day from 1 (SUN) to 7 (SAT) before `#`"),
        ("0 0 0 ? * 8L *", "day-of-week: `8L`; write one day from 1 (SUN) to 7 (SAT) before `L`"),
        ("0 0 0 ? * 6L,2 *", "day-of-week: `6L` in `6L,2`; write `L`, `6L`, `6#3` and `?` alone"),
        ("0 0 0 1 * ? 2030-2026", "year: `2030-2026`; write the lower one first, `2026-2030`"),
        ("0 0 0 1 * ? 1969", "year: `1969`; write values from 1970 to 2099, for example * or 2030-2035"),
    ] {
        let error = Cron::parse(text).unwrap_err();
        assert!(error.starts_with(&format!("has a wrong {expected}")), "{text}: {error}");
        assert!(error.contains(", for example "), "{text}: {error}");
    }
}

#[test]
fn every_wrong_cron_field_is_named() {
    let error = Cron::parse("0 99 24 * 0 ? *").unwrap_err();
    assert_eq!(
        error,
        "has a wrong minutes: `99`; write values from 0 to 59, for example 0 or 0/15; \
         has a wrong hours: `24`; write values from 0 to 23, for example 2 or 8-18; \
         has a wrong month: `0`; write values from 1 (JAN) to 12 (DEC), for example * or JAN-MAR"
    );
    let error = Cron::parse("0 99 * * * ?").unwrap_err();
    assert!(
        error.contains("seven of Quartz") && error.contains("minutes: `99`; write values from 0 to 59"),
        "{error}"
    );
}

#[test]
fn what_no_calendar_has_is_never_due() {
    let is_ever_due = |text: &str, zone| Cron::parse(text).unwrap().is_ever_due(zone);
    for text in ["0 0 0 30 2 ? *", "0 0 0 31 4,6,9,11 ? *", "0 0 0 29 2 ? 2001-2003"] {
        assert!(!is_ever_due(text, SHANGHAI), "{text}");
    }
    // Clocks skip it.
    assert!(!is_ever_due("0 30 2 8 3 ? 2026", NEW_YORK));
    assert!(is_ever_due("0 30 2 8 3 ? 2026", SHANGHAI));
    // Past times count, because they can be rerun.
    assert!(is_ever_due("0 0 0 1 1 ? 1970", SHANGHAI) && is_ever_due("0 0 0 29 2 ? *", NEW_YORK));
}

#[test]
fn it_has_seven_fields_and_one_question_mark() {
    for text in ["", "0 0 * * *", "0 0 0 * * ?", "0 0 0 * * ? * *", "@daily"] {
        assert!(Cron::parse(text).unwrap_err().contains("seven of Quartz"), "{text}");
    }
    for text in ["0 0 0 * * * *", "0 0 0 ? * ? *", "0 0 0 1 * MON *"] {
        assert!(Cron::parse(text).unwrap_err().contains("`?`"), "{text}");
    }
    assert!(Cron::parse(&"0".repeat(201)).unwrap_err().contains("200 characters"));
    for (unix, same) in [("0 2 * * *", "0 0 2 * * ? *"), ("*/5 * * * MON-FRI", "0 */5 * ? * MON-FRI *")] {
        let said = Cron::parse(unix).unwrap_err();
        assert!(said.contains(&format!("write `{same}` for")), "{said}");
        assert!(Cron::parse(same).is_ok(), "{same}");
    }
    assert!(Cron::parse("0 2 1 * 1").unwrap_err().contains("weekdays are 1 (Sunday)"));
    assert!(Cron::parse("0 0 2 * * ?").unwrap_err().contains("append the year"));
}

/// The numbers of a field by a simple parser: `a`, `a-b`, `*`, each with a step.
fn plain(text: &str, first: u32, last: u32) -> Vec<u32> {
    let mut values = Vec::new();
    for item in text.split(',') {
        let (range, step) =
            item.split_once('/').map_or((item, 1), |(range, step)| (range, step.parse().unwrap()));
        let (mut at, end) = match range.split_once('-') {
            Some((from, to)) => (from.parse().unwrap(), to.parse().unwrap()),
            None if range == "*" => (first, last),
            None if item.contains('/') => (range.parse().unwrap(), last),
            None => (range.parse().unwrap(), range.parse().unwrap()),
        };
        let mut left = 0;
        loop {
            if left == 0 {
                values.push(at);
                left = step;
            }
            left -= 1;
            if at == end {
                break;
            }
            at = if at == last { first } else { at + 1 };
        }
    }
    values
}

/// Whether the day matches, checked on its own.
fn is_day(month: &str, week: &str, day: NaiveDate) -> bool {
    let last = u32::from(day.num_days_in_month());
    let of = |number: u32| day.with_day(number);
    let weekday = |day: NaiveDate| day.weekday().num_days_from_sunday() + 1;
    let works = |day: NaiveDate| (2..=6).contains(&weekday(day));
    // Away by one, then by two: a Saturday or Sunday has a weekday that near within its month.
    let nearest = |number: u32| {
        let Some(wanted) = of(number) else { return false };
        let near = [0, -1, 1, -2, 2].iter().filter_map(|away| of(number.checked_add_signed(*away)?));
        near.filter(|day| works(*day)).min_by_key(|found| (*found - wanted).num_days().abs()) == Some(day)
    };
    match (month, week) {
        ("?", week) => {
            if let Some((wanted, nth)) = week.split_once('#') {
                return weekday(day).to_string() == wanted
                    && (day.day() - 1) / 7 + 1 == nth.parse::<u32>().unwrap();
            }
            match week.strip_suffix('L') {
                Some(wanted) => weekday(day).to_string() == wanted && day.day() + 7 > last,
                None => plain(week, 1, 7).contains(&weekday(day)),
            }
        }
        ("LW", _) => nearest(last),
        (month, _) if month.starts_with('L') => {
            day.day() + month[1..].trim_start_matches('-').parse::<u32>().unwrap_or(0) == last
        }
        (month, _) if month.ends_with('W') => nearest(month.trim_end_matches('W').parse().unwrap()),
        (month, _) => plain(month, 1, 31).contains(&day.day()),
    }
}

fn is_due(fields: &[String], local: NaiveDateTime) -> bool {
    let has =
        |place: usize, value: u32, first: u32, last: u32| plain(&fields[place], first, last).contains(&value);
    has(0, local.second(), 0, 59)
        && has(1, local.minute(), 0, 59)
        && has(2, local.hour(), 0, 23)
        && has(4, local.month(), 1, 12)
        && is_day(&fields[3], &fields[5], local.date())
}

/// The first due time by trying every step of the clock, if it is within so many steps. Of a local time that
/// occurs twice, the second one counts; none is due before the local time at which the search starts.
fn looked_for(fields: &[String], after_ms: i64, zone: Tz, step_ms: i64, steps: i64) -> Option<i64> {
    let first = after_ms - after_ms.rem_euclid(step_ms) + step_ms;
    let from = time::local(after_ms - after_ms.rem_euclid(SECOND_MS) + SECOND_MS, zone).unwrap();
    (0..steps).map(|step| first + step * step_ms).find(|&at_ms| {
        let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap().with_timezone(&zone);
        let local = at.naive_local();
        let shown_last = zone.from_local_datetime(&local).latest();
        shown_last.is_some_and(|last| last.timestamp_millis() == at_ms)
            && local >= from
            && is_due(fields, local)
    })
}

fn item(first: u32, last: u32) -> impl Strategy<Value = String> {
    let value = first..=last;
    prop_oneof![
        3 => value.clone().prop_map(|a| a.to_string()),
        1 => Just("*".to_owned()),
        2 => (value.clone(), value.clone()).prop_map(|(a, b)| format!("{a}-{b}")),
        1 => (value.clone(), 1..=(last - first)).prop_map(|(a, n)| format!("{a}/{n}")),
        1 => (value.clone(), value, 1..=(last - first)).prop_map(|(a, b, n)| format!("{a}-{b}/{n}")),
    ]
}

fn list(first: u32, last: u32) -> impl Strategy<Value = String> {
    prop::collection::vec(item(first, last), 1..3).prop_map(|items| items.join(","))
}

fn days() -> impl Strategy<Value = (String, String)> {
    let either = |month: String| (month, "?".to_owned());
    prop_oneof![
        3 => list(1, 31).prop_map(either),
        1 => Just(either("L".to_owned())),
        1 => Just(either("LW".to_owned())),
        1 => (1..=30u32).prop_map(move |n| either(format!("L-{n}"))),
        1 => (1..=31u32).prop_map(move |n| either(format!("{n}W"))),
        3 => list(1, 7).prop_map(|week| ("?".to_owned(), week)),
        1 => (1..=7u32).prop_map(|day| ("?".to_owned(), format!("{day}L"))),
        1 => (1..=7u32, 1..=5u32).prop_map(|(day, nth)| ("?".to_owned(), format!("{day}#{nth}"))),
    ]
}

fn zones() -> impl Strategy<Value = Tz> {
    prop::sample::select(vec![
        chrono_tz::UTC,
        SHANGHAI,
        NEW_YORK,
        chrono_tz::Europe::London,
        chrono_tz::Australia::Lord_Howe,
    ])
}

/// Near the ends of daylight saving time, and anywhere.
fn moments() -> impl Strategy<Value = i64> {
    let near =
        prop::sample::select(vec!["2026-03-08", "2026-11-01", "2026-03-29", "2026-10-25", "2026-04-05"]);
    let near = (near, -DAY_MS..2 * DAY_MS)
        .prop_map(|(day, away)| time::parse(&format!("{day} 00:00:00"), chrono_tz::UTC).unwrap() + away);
    let anywhere = time::parse("2025-12-01 00:00:00", chrono_tz::UTC).unwrap();
    prop_oneof![near, (0..800 * DAY_MS).prop_map(move |away| anywhere + away)]
}

proptest! {
    #[test]
    fn the_next_time_is_the_first_that_fits(
        (seconds, minutes, hours) in (list(0, 59), list(0, 59), list(0, 23)),
        days in days(), months in list(1, 12), zone in zones(), at_ms in moments(),
    ) {
        let fields = [seconds, minutes, hours, days.0, months, days.1, "*".to_owned()];
        let next_ms = Cron::parse(&fields.join(" ")).unwrap().next_after(at_ms, zone);
        // Every second of two hours.
        let steps = 2 * HOUR_MS / SECOND_MS;
        let found = looked_for(&fields, at_ms, zone, SECOND_MS, steps);
        let horizon = at_ms - at_ms.rem_euclid(SECOND_MS) + steps * SECOND_MS;
        prop_assert_eq!(next_ms.filter(|&next_ms| next_ms <= horizon), found);
        if let Some(next_ms) = next_ms {
            let local = DateTime::<Utc>::from_timestamp_millis(next_ms).unwrap().with_timezone(&zone);
            prop_assert!(is_due(&fields, local.naive_local()));
        }
    }

    #[test]
    fn minutes_over_weeks(
        (minutes, hours) in (0..60u32, list(0, 23)), days in days(), months in list(1, 12),
        zone in zones(), at_ms in moments(),
    ) {
        let fields =
            ["0".to_owned(), minutes.to_string(), hours, days.0, months, days.1, "*".to_owned()];
        let next_ms = Cron::parse(&fields.join(" ")).unwrap().next_after(at_ms, zone);
        let steps = 14 * DAY_MS / MINUTE_MS;
        let found = looked_for(&fields, at_ms, zone, MINUTE_MS, steps);
        let horizon = at_ms - at_ms.rem_euclid(MINUTE_MS) + steps * MINUTE_MS;
        prop_assert_eq!(next_ms.filter(|&next_ms| next_ms <= horizon), found);
    }

    #[test]
    fn nothing_makes_it_fail(text in "([0-9*?LW#/,-]|MON|JAN| |é){0,30}", at_ms in any::<i64>()) {
        for text in [text.clone(), format!("0 0 0 {text} * ? *"), format!("0 0 0 ? * {text} *"), format!("{text} * * * * ? *")] {
            if let Ok(cron) = Cron::parse(&text) {
                cron.next_after(at_ms, SHANGHAI);
            }
        }
    }
}
