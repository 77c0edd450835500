//! When something is due: Quartz cron with seven fields, `0 30 2 * * ? *`. One of day-of-month and day-of-week
//! is `?`; days of the week go from 1 (SUN) to 7 (SAT). What is wrong is told by the name of its field.

use std::fmt;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::parser::{CronParser, Seconds, Year};

/// The longest text that is looked at, in characters.
const MAX_CHARS: usize = 200;
const DAY_OF_MONTH: usize = 3;
const DAY_OF_WEEK: usize = 5;
/// The last day of the week.
const SATURDAY: u32 = 7;
const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const FIELDS: [Field; 7] = [
    Field { name: "seconds", example: "0", words: &[], letters: "" },
    Field { name: "minutes", example: "0 or 0/15", words: &[], letters: "" },
    Field { name: "hours", example: "2 or 8-18", words: &[], letters: "" },
    Field { name: "day-of-month", example: "1, L, 15W or ?", words: &[], letters: "LW?" },
    Field { name: "month", example: "* or JAN-MAR", words: &MONTHS, letters: "" },
    Field { name: "day-of-week", example: "MON-FRI, 6#3 or ?", words: &DAYS, letters: "L#?" },
    Field { name: "year", example: "*", words: &[], letters: "" },
];

struct Field {
    name: &'static str,
    /// What may stand there.
    example: &'static str,
    /// Names that stand for numbers.
    words: &'static [&'static str],
    /// What it may have besides digits and `*/,-`.
    letters: &'static str,
}

/// A checked cron.
#[derive(Clone)]
pub struct Cron(croner::Cron);

impl fmt::Debug for Cron {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.as_str())
    }
}

impl Cron {
    /// The error goes on after the member's name.
    pub fn parse(text: &str) -> Result<Cron, String> {
        if text.chars().count() > MAX_CHARS {
            return Err(format!("has more than {MAX_CHARS} characters"));
        }
        let upper = text.to_ascii_uppercase();
        let parts: Vec<&str> = upper.split_whitespace().collect();
        if parts.len() != FIELDS.len() {
            let names = FIELDS.map(|field| field.name).join(" ");
            return Err(format!("has {} fields, not the seven of Quartz: {names}", parts.len()));
        }
        for (place, part) in parts.iter().enumerate() {
            check(place, part)?;
        }
        if (parts[DAY_OF_MONTH] == "?") == (parts[DAY_OF_WEEK] == "?") {
            return Err("must have `?` in one of day-of-month and day-of-week, and only in one".to_owned());
        }
        parser().parse(&upper).map(Cron).map_err(|error| format!("is no cron: {error}"))
    }

    /// The first time after this one (milliseconds since 1970) by the clocks of the zone; none: it is never
    /// due again.
    pub fn next_after(&self, at_ms: i64, zone: Tz) -> Option<i64> {
        let at = DateTime::<Utc>::from_timestamp_millis(at_ms)?.with_timezone(&zone);
        self.0.find_next_occurrence(&at, false).ok().map(|next| next.timestamp_millis())
    }
}

fn parser() -> CronParser {
    CronParser::builder()
        .seconds(Seconds::Required)
        .year(Year::Required)
        .alternative_weekdays(true)
        .sloppy_ranges(true)
        .build()
}

/// One field by itself, all others being `*`.
fn check(place: usize, part: &str) -> Result<(), String> {
    let field = &FIELDS[place];
    let wrong = || format!("has a wrong {}: `{part}`; write for example {}", field.name, field.example);
    let bare = field.words.iter().fold(part.to_owned(), |text, word| text.replace(word, ""));
    let plain = |c: char| c.is_ascii_digit() || "*/,-".contains(c) || field.letters.contains(c);
    let is_listed = part.split(',').all(|item| !item.is_empty());
    if !bare.chars().all(plain) || !is_listed || (part.contains('?') && part != "?") {
        return Err(wrong());
    }
    if place == DAY_OF_WEEK && part.split(',').any(|item| item == "L" || names_no_day(item)) {
        return Err(wrong());
    }
    let mut alone = ["*"; FIELDS.len()];
    alone[place] = part;
    parser().parse(&alone.join(" ")).map(drop).map_err(|_| wrong())
}

/// `8`, or `2-8`: the parser counts one day too far.
fn names_no_day(item: &str) -> bool {
    let days = item.split(['#', '/']).next().unwrap_or_default();
    days.split('-').filter_map(|day| day.parse::<u32>().ok()).any(|day| day == 0 || day > SATURDAY)
}

#[cfg(test)]
mod tests {
    use chrono_tz::Tz;

    use super::*;
    use crate::time;

    fn next(text: &str, after: &str, zone: Tz) -> Option<String> {
        let at_ms = time::parse(after, zone).unwrap();
        Cron::parse(text).unwrap().next_after(at_ms, zone).map(|at| time::shown(at, zone))
    }

    #[test]
    fn the_next_time_is_found_in_the_zone() {
        let zone = chrono_tz::Asia::Shanghai;
        let after = "2026-03-04 05:06:07";
        for (text, expected) in [
            ("0 30 2 * * ? *", "2026-03-05 02:30:00"),
            ("*/10 * * * * ? *", "2026-03-04 05:06:10"),
            ("0 0/15 * * * ? *", "2026-03-04 05:15:00"),
            ("0 0 9 ? * MON-FRI *", "2026-03-04 09:00:00"),
            ("0 0 9 ? * 1 *", "2026-03-08 09:00:00"),
            ("0 0 9 ? * 7 *", "2026-03-07 09:00:00"),
            ("0 0 9 ? * 6#3 *", "2026-03-20 09:00:00"),
            ("0 0 9 ? * 6L *", "2026-03-27 09:00:00"),
            ("0 0 0 L * ? *", "2026-03-31 00:00:00"),
            ("0 0 0 15W FEB ? *", "2027-02-15 00:00:00"),
            ("0 0 0 LW MAY ? *", "2026-05-29 00:00:00"),
            ("0 0 0 1 1 ? 2030", "2030-01-01 00:00:00"),
        ] {
            assert_eq!(next(text, after, zone).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_never_due_again_has_no_next_time() {
        for text in ["0 0 0 1 1 ? 2020", "0 0 0 30 2 ? *"] {
            assert_eq!(next(text, "2026-01-01 00:00:00", chrono_tz::UTC), None, "{text}");
        }
    }

    #[test]
    fn a_wrong_field_is_named() {
        for (text, named) in [
            ("60 0 0 * * ? *", "seconds"),
            ("0 x 0 * * ? *", "minutes"),
            ("0 0 24 * * ? *", "hours"),
            ("0 0 MON * * ? *", "hours"),
            ("0 0 0 32 * ? *", "day-of-month"),
            ("0 0 0 WL * ? *", "day-of-month"),
            ("0 0 0 1 13 ? *", "month"),
            ("0 0 0 1 MON ? *", "month"),
            ("0 0 0 ? * 8 *", "day-of-week"),
            ("0 0 0 ? * 0 *", "day-of-week"),
            ("0 0 0 ? * 2-8 *", "day-of-week"),
            ("0 0 0 ? * L *", "day-of-week"),
            ("0 0 0 ? * +MON *", "day-of-week"),
            ("0 0 0 ? * 2#6 *", "day-of-week"),
            ("0 0 0 1 * ? soon", "year"),
            ("1,,2 0 0 * * ? *", "seconds"),
        ] {
            let error = Cron::parse(text).unwrap_err();
            assert!(error.contains(&format!("wrong {named}:")), "{text}: {error}");
        }
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
    }
}
