//! `yyyy-MM-dd`, optionally days or months earlier or later: time patterns in texts.

use chrono::{Days, Months, NaiveDateTime};
use chrono_tz::Tz;
use lakeport_base::time;

/// The most days or months of an offset.
const AWAY_MAX: u32 = 100_000;
const ADD_MONTHS: &str = "add_months(";

/// Whether it is a time pattern.
pub fn is_pattern(text: &str) -> bool {
    shown(text, 0, Tz::UTC).is_some()
}

/// The formatted time in the zone; `None` if it is not a pattern.
pub fn shown(text: &str, at_ms: i64, zone: Tz) -> Option<String> {
    let local = time::local(at_ms, zone)?;
    if let Some(inner) = text.strip_prefix(ADD_MONTHS) {
        let (pattern, months) = inner.strip_suffix(')')?.split_once(',')?;
        let months = away(months.trim())?;
        let count = Months::new(months.unsigned_abs());
        let moved =
            if months < 0 { local.checked_sub_months(count) } else { local.checked_add_months(count) };
        return written(pattern.trim(), moved?);
    }
    let (pattern, days) = split(text);
    let days = days.map_or(Some(0), away)?;
    let count = Days::new(days.unsigned_abs().into());
    let moved = if days < 0 { local.checked_sub_days(count) } else { local.checked_add_days(count) };
    written(pattern, moved?)
}

/// The pattern and its offset in days: `yyyy-MM-dd` and `-1`.
fn split(text: &str) -> (&str, Option<&str>) {
    match text.rfind(['+', '-']) {
        Some(at) if text[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) => {
            (&text[..at], Some(&text[at..]))
        }
        _ => (text, None),
    }
}

fn away(text: &str) -> Option<i32> {
    text.parse().ok().filter(|away: &i32| away.unsigned_abs() <= AWAY_MAX)
}

/// Java's pattern letters; others are not supported.
fn written(pattern: &str, at: NaiveDateTime) -> Option<String> {
    let (mut written, mut rest, mut has_part) = (String::new(), pattern, false);
    while let Some(c) = rest.chars().next() {
        let parts = [("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S")];
        let part = parts.iter().find(|(letters, _)| rest.starts_with(letters));
        if let Some((letters, form)) = part {
            written.push_str(&at.format(form).to_string());
            rest = &rest[letters.len()..];
            has_part = true;
        } else if "-/:._ T".contains(c) {
            written.push(c);
            rest = &rest[c.len_utf8()..];
        } else {
            return None;
        }
    }
    has_part.then_some(written)
}
