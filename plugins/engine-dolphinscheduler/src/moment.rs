//! Time expressions, `$[yyyy-MM-dd-1]`, in words that mean the same in DolphinScheduler.
//!
//! The host has checked that an expression is one of Lakeport's (its module `scheduler::parameters::moment`
//! has the table). DolphinScheduler reads some offsets otherwise than they are written (`+1-1/24`) and lacks
//! some names, so each expression is read and written again.

use crate::arithmetic::{calculate, is_arithmetic};
use crate::shape::Shape;

/// DolphinScheduler multiplies minutes in 32 bits.
const NUMBER_MAX: i64 = i32::MAX as i64 / 1_440;
const MINUTES_OF_DAY: i64 = 1_440;
/// What could end a literal or begin another parameter, in the text that an expression gives.
const RISKY: [char; 7] = ['\'', '"', '\\', '$', '{', '}', '`'];

/// A time expression.
#[derive(Debug, PartialEq, Eq)]
pub struct Moment {
    /// In DolphinScheduler's words, without brackets.
    pub words: String,
    /// What all its texts have in common.
    pub shape: Shape,
    /// The characters besides digits that its texts can have.
    pub others: String,
}

/// Reads an expression, or says why DolphinScheduler has no words for it.
pub fn read(pattern: &str) -> Result<Moment, String> {
    let none = || format!("DolphinScheduler has no words for $[{pattern}]");
    if pattern.contains(RISKY) {
        return Err(format!(
            "$[{pattern}] has a quote, which DolphinScheduler would not keep within a value"
        ));
    }
    let Some((name, inside)) = called(pattern) else { return plain(pattern).ok_or_else(none) };
    if name == "timestamp" {
        let inner = read(inside)?;
        let (words, shape) = (format!("timestamp({})", inner.words), Shape::WHOLE);
        return Ok(Moment { words, shape, others: String::new() });
    }
    let (format, number) = match inside.split_once(',') {
        Some((format, number)) => (format, Some(calculate(number, 1).ok_or_else(none)?)),
        None => (inside, None),
    };
    let n = number.unwrap_or_default();
    let days = |days: i64| offset(format, days * MINUTES_OF_DAY);
    let words = match name {
        "add_months" if n == 0 => days(0),
        "add_months" => Some(format!("add_months({format},{n})")),
        "this_day" => days(0),
        "last_day" => days(-1),
        "month_first_day" => Some(month_first(format, n)),
        "month_last_day" => Some(month_last(format, n)),
        "month_begin" | "month_end" | "week_begin" | "week_end" => Some(format!("{name}({format},{n})")),
        "week_first_day" => n.checked_mul(7).map(|days| format!("week_begin({format},{days})")),
        "week_last_day" => n.checked_mul(7).map(|days| format!("week_end({format},{days})")),
        "last_month_first_day" => Some(month_first(format, -1)),
        "last_month_last_day" => Some(month_last(format, -1)),
        "last_week_first_day" => Some(format!("week_begin({format},-7)")),
        "last_week_last_day" => Some(format!("week_end({format},-7)")),
        "year_week" => {
            let has_line = format.contains('-');
            let shape = if has_line { Shape::TEXT } else { Shape::digits(6) };
            let words = format!("year_week({format},{})", number.unwrap_or(1));
            return Ok(Moment { words, shape, others: if has_line { "-" } else { "" }.to_owned() });
        }
        _ => None,
    };
    words.map(|words| moment(words, format)).ok_or_else(none)
}

/// The first day of the month `n` months from now. 3.1 has words for this month and the next.
fn month_first(format: &str, n: i64) -> String {
    match n {
        0 => format!("month_begin({format},0)"),
        1 => format!("month_end({format},1)"),
        _ => format!("month_first_day({format},{n})"),
    }
}

/// The last day. 3.1 has words for this month and the last one.
fn month_last(format: &str, n: i64) -> String {
    match n {
        0 => format!("month_end({format},0)"),
        -1 => format!("month_begin({format},-1)"),
        _ => format!("month_last_day({format},{n})"),
    }
}

/// Whether an expression in DolphinScheduler's words, `$[…]`, has a name that 3.1 lacks: it would take the name for
/// letters of a date, and drop the run.
pub fn is_new(words: &str) -> bool {
    const NEW: [&str; 4] = ["month_first_day(", "month_last_day(", "this_day(", "year_week("];
    let words = words.strip_prefix("$[").unwrap_or(words);
    let words = words.strip_prefix("timestamp(").unwrap_or(words);
    NEW.iter().any(|name| words.starts_with(name))
}

fn moment(words: String, format: &str) -> Moment {
    let others = format.chars().filter(|c| !c.is_ascii_alphanumeric()).collect();
    Moment { words, shape: shape(format), others }
}

/// A format and an offset in days.
fn plain(text: &str) -> Option<Moment> {
    let begins = |at: &usize| text[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '(');
    let mut signs = text.match_indices(['+', '-']).map(|(at, _)| at).filter(begins);
    let at = signs.find(|at| is_arithmetic(&text[*at..])).unwrap_or(text.len());
    let (format, behind) = text.split_at(at);
    let minutes = if behind.is_empty() { 0 } else { calculate(behind, MINUTES_OF_DAY)? };
    offset(format, minutes).map(|words| moment(words, format))
}

/// A format with an offset. DolphinScheduler takes what stands behind the last plus, or else the last minus,
/// as an offset if it begins with a digit.
fn offset(format: &str, minutes: i64) -> Option<String> {
    let amount = minutes.abs();
    let (number, unit) = match amount {
        _ if amount % MINUTES_OF_DAY == 0 => (amount / MINUTES_OF_DAY, ""),
        _ if amount % 60 == 0 => (amount / 60, "/24"),
        _ => (amount, "/24/60"),
    };
    if number > NUMBER_MAX {
        return None;
    }
    let sign = if minutes < 0 { "-" } else { "+" };
    let text = if minutes == 0 { format.to_owned() } else { format!("{format}{sign}{number}{unit}") };
    let last = if text.contains('+') { text.rfind('+') } else { text.rfind('-') };
    let found = last.filter(|at| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
    match (found, minutes) {
        (None, 0) => Some(text),
        (Some(at), 1.. | ..=-1) if at == format.len() => Some(text),
        (_, 0) => Some(format!("this_day({format})")),
        _ => None,
    }
}

/// The name and the content of `name(…)`; `None` if it is no call.
fn called(text: &str) -> Option<(&str, &str)> {
    let (name, inside) = text.split_once('(')?;
    let is_name = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    let is_call = is_name && (name.contains('_') || name == "timestamp");
    is_call.then_some(())?;
    Some((name, inside.strip_suffix(')')?))
}

/// What all texts of a format have in common.
fn shape(format: &str) -> Shape {
    let (mut shape, mut rest) = (Shape::EMPTY, format);
    while let Some(c) = rest.chars().next() {
        let length = rest.find(|other| other != c).unwrap_or(rest.len());
        let (next, used) = match (c, length) {
            ('y', 4) => (Shape::digits(4), length),
            ('y', 2) | ('M' | 'd' | 'H' | 'm' | 's', 2) => (Shape::padded(2), length),
            ('M' | 'd', 1) => (Shape::digits(2), length),
            ('H' | 'm' | 's', 1) => (Shape::lone(2), length),
            _ => (Shape::of(c.encode_utf8(&mut [0; 4])), c.len_utf8()),
        };
        (shape, rest) = (shape.then(next), &rest[used..]);
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_keep_their_meaning() {
        for (lakeport, there) in [
            ("yyyyMMdd", "yyyyMMdd"),
            ("yyyy-MM-dd-1", "yyyy-MM-dd-1"),
            ("yyyyMMddHH+1-1/24", "yyyyMMddHH+23/24"),
            ("yyyyMMdd+7*2", "yyyyMMdd+14"),
            ("HHmm-30/24/60", "HHmm-30/24/60"),
            ("last_day(yyyyMMdd)", "yyyyMMdd-1"),
            ("this_day(yyyy-MM-dd)", "yyyy-MM-dd"),
            ("last_month_first_day(yyyyMMdd)", "month_first_day(yyyyMMdd,-1)"),
            ("last_month_last_day(yyyyMMdd)", "month_begin(yyyyMMdd,-1)"),
            ("month_first_day(yyyyMMdd,0)", "month_begin(yyyyMMdd,0)"),
            ("month_last_day(yyyyMMdd,-1)", "month_begin(yyyyMMdd,-1)"),
            ("month_first_day(yyyyMMdd,1)", "month_end(yyyyMMdd,1)"),
            ("month_end(yyyyMMdd,0)", "month_end(yyyyMMdd,0)"),
            ("week_first_day(yyyyMMdd,-1)", "week_begin(yyyyMMdd,-7)"),
            ("add_months(yyyyMM,12*1)", "add_months(yyyyMM,12)"),
            ("timestamp(yyyyMMddHHmmss)", "timestamp(yyyyMMddHHmmss)"),
            ("year_week(yyyy-MM-dd,5)", "year_week(yyyy-MM-dd,5)"),
        ] {
            assert_eq!(read(lakeport).map(|moment| moment.words), Ok(there.to_owned()), "{lakeport}");
        }
        for refused in ["yyyy''MM", "no_such(yyyy)", "yyyyMMdd+1/7"] {
            assert!(read(refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn names_that_3_1_lacks_are_known() {
        for (words, new) in [
            ("$[month_first_day(yyyyMMdd,-1)]", true),
            ("$[timestamp(this_day(yyyyMMddHHmmss-1))]", true),
            ("$[year_week(yyyyMMdd,1)]", true),
            ("$[month_begin(yyyyMMdd,-1)]", false),
            ("${system.biz.date}", false),
        ] {
            assert_eq!(is_new(words), new, "{words}");
        }
    }

    #[test]
    fn a_number_is_one_at_every_date() {
        for (pattern, is_number) in [
            ("yyyyMMdd-1", true),
            ("MM", false),
            ("M", true),
            ("HH", false),
            ("H", true),
            ("yyyy-MM-dd", false),
            ("timestamp(yyyyMMddHHmmss)", true),
            ("yyyyMMddHHmmss", true),
        ] {
            assert_eq!(read(pattern).unwrap().shape.is_number(), is_number, "{pattern}");
        }
    }
}
