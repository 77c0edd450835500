//! Time expressions: what stands within `$[…]`, filled in for a moment.

use chrono::{Datelike as _, Days, Duration, Months, NaiveDateTime};

const DAYS_OF_WEEK: i64 = 7;
const MINUTES_OF_DAY: i64 = 24 * 60;

/// The text of an expression at a moment; `None` if the expression is none of those that are known here.
pub fn text(pattern: &str, at: NaiveDateTime) -> Option<String> {
    let pattern = pattern.trim();
    let Some((name, inside)) = called(pattern) else { return plain(pattern, at) };
    if name == "timestamp" {
        let (format, moment) = moment(inside, at)?;
        return (!format.contains('(')).then(|| moment.and_utc().timestamp().to_string());
    }
    let (format, number) = match inside.split_once(',') {
        Some((format, number)) => (format.trim(), number.trim().parse::<i64>().ok()?),
        None => (inside, 0),
    };
    Some(formatted(format, called_moment(name, number, at)?))
}

/// The name and the content of `name(…)`.
fn called(pattern: &str) -> Option<(&str, &str)> {
    let (name, inside) = pattern.split_once('(')?;
    let is_name = name.len() > 3 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_name.then_some(())?;
    Some((name, inside.strip_suffix(')')?))
}

fn called_moment(name: &str, n: i64, at: NaiveDateTime) -> Option<NaiveDateTime> {
    let first_of_month = add_days(at, 1 - i64::from(at.day()))?;
    let last_of_month = add_days(add_months(first_of_month, 1)?, -1)?;
    let monday = add_days(at, -i64::from(at.weekday().num_days_from_monday()))?;
    match name {
        "add_months" => add_months(at, n),
        "this_day" => Some(at),
        "last_day" => add_days(at, -1),
        "month_begin" => add_days(first_of_month, n),
        "month_end" => add_days(last_of_month, n),
        "week_begin" => add_days(monday, n),
        "week_end" => add_days(monday, DAYS_OF_WEEK - 1 + n),
        "month_first_day" => add_months(first_of_month, n),
        "month_last_day" => add_days(add_months(first_of_month, n.checked_add(1)?)?, -1),
        _ => None,
    }
}

fn plain(pattern: &str, at: NaiveDateTime) -> Option<String> {
    let (format, moment) = moment(pattern, at)?;
    Some(formatted(format, moment))
}

/// A format and the moment that it shows: `yyyyMMdd-1` is the day before, `HH+2/24` two hours later.
fn moment(pattern: &str, at: NaiveDateTime) -> Option<(&str, NaiveDateTime)> {
    let last = pattern.rfind('+').or_else(|| pattern.rfind('-'));
    let begins = |at: &usize| pattern[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    let Some(place) = last.filter(begins) else { return Some((pattern, at)) };
    let (format, offset) = pattern.split_at(place);
    let mut parts = offset[1..].split('/').map(|part| part.parse::<i64>().ok());
    let number = parts.next()??;
    let unit = match (parts.next(), parts.next(), parts.next()) {
        (None, _, _) => MINUTES_OF_DAY,
        (Some(Some(24)), None, _) => 60,
        (Some(Some(24)), Some(Some(60)), None) => 1,
        _ => return None,
    };
    let sign = if offset.starts_with('-') { -1 } else { 1 };
    let minutes = number.checked_mul(unit)?.checked_mul(sign)?;
    Some((format, at.checked_add_signed(Duration::try_minutes(minutes)?)?))
}

fn add_days(at: NaiveDateTime, days: i64) -> Option<NaiveDateTime> {
    let number = Days::new(days.unsigned_abs());
    if days < 0 { at.checked_sub_days(number) } else { at.checked_add_days(number) }
}

fn add_months(at: NaiveDateTime, months: i64) -> Option<NaiveDateTime> {
    let number = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    if months < 0 { at.checked_sub_months(number) } else { at.checked_add_months(number) }
}

/// A moment in one of Java's formats; letters that are not known stand as they are.
pub fn formatted(format: &str, at: NaiveDateTime) -> String {
    let (mut text, mut rest) = (String::new(), format);
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|other| other != c).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(length);
        let directive = match run {
            "yyyy" => "%Y",
            "yy" => "%y",
            "MM" => "%m",
            "M" => "%-m",
            "dd" => "%d",
            "d" => "%-d",
            "HH" => "%H",
            "H" => "%-H",
            "mm" => "%M",
            "m" => "%-M",
            "ss" => "%S",
            "s" => "%-S",
            _ => "",
        };
        match directive {
            "" => text.push_str(run),
            directive => text.push_str(&at.format(directive).to_string()),
        }
        rest = behind;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_filled_in() {
        let at = "2026-03-05T06:07:08".parse().expect("a time");
        for (pattern, expected) in [
            ("yyyy-MM-dd", "2026-03-05"),
            ("yyyyMMdd-1", "20260304"),
            ("yyyy-MM-dd HH:mm:ss+1", "2026-03-06 06:07:08"),
            ("HH-7/24", "23"),
            ("HHmm+53/24/60", "0700"),
            ("d/M/yy", "5/3/26"),
            ("add_months(yyyyMMdd,-1)", "20260205"),
            ("month_begin(yyyyMMdd,0)", "20260301"),
            ("month_end(yyyyMMdd,-1)", "20260330"),
            ("month_first_day(yyyy-MM-dd,-1)", "2026-02-01"),
            ("month_last_day(yyyy-MM-dd,-1)", "2026-02-28"),
            ("week_begin(yyyyMMdd,0)", "20260302"),
            ("week_end(yyyyMMdd,0)", "20260308"),
            ("this_day(yyyy-MM-1)", "2026-03-1"),
            ("timestamp(yyyyMMddHHmmss)", "1772690828"),
        ] {
            assert_eq!(text(pattern, at).as_deref(), Some(expected), "{pattern}");
        }
        for unknown in ["unknown_name(yyyy)", "HH+1/25", "add_months(yyyy,x)"] {
            assert_eq!(text(unknown, at), None, "{unknown}");
        }
    }
}
