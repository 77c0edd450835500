//! Times in answers and requests: `yyyy-MM-dd HH:mm:ss` in the configured zone. The store has milliseconds
//! since 1970, UTC.

use chrono::{
    DateTime, Datelike, LocalResult, NaiveDate, NaiveDateTime, Offset, SecondsFormat, TimeZone, Timelike, Utc,
};
use chrono_tz::Tz;

const FORM: &str = "%Y-%m-%d %H:%M:%S";
/// The format's name in messages.
pub const FORM_SHOWN: &str = "yyyy-MM-dd HH:mm:ss";

pub const SECOND_MS: i64 = 1_000;
pub const MINUTE_MS: i64 = 60 * SECOND_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// What clocks of the zone show; `None` before the first and after the last year of the calendar, where chrono's own
/// conversion panics.
pub fn local(at_ms: i64, zone: Tz) -> Option<NaiveDateTime> {
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms)?.naive_utc();
    at.checked_add_offset(zone.offset_from_utc_datetime(&at).fix())
}

/// `yyyy-MM-dd HH:mm:ss` in the zone.
pub fn shown(at_ms: i64, zone: Tz) -> String {
    let at = local(at_ms, zone).unwrap_or_default();
    let (day, time) = (at.date(), at.time());
    let Ok(year @ 0..=9_999) = u32::try_from(day.year()) else { return at.format(FORM).to_string() };
    // By hand: chrono parses its format at each call, which took a twentieth of a list's time.
    let mut text = String::with_capacity(FORM_SHOWN.len());
    two_digits(&mut text, year / 100);
    for (before, number) in [
        ("", year % 100),
        ("-", day.month()),
        ("-", day.day()),
        (" ", time.hour()),
        (":", time.minute()),
        (":", time.second()),
    ] {
        text.push_str(before);
        two_digits(&mut text, number);
    }
    text
}

/// A number below a hundred.
fn two_digits(text: &mut String, number: u32) {
    for digit in [number / 10, number % 10] {
        text.push(char::from_digit(digit, 10).unwrap_or('?'));
    }
}

/// The same, or RFC 3339 where clocks of the zone show the hour twice: [`parse`] reads it as the same time.
pub fn shown_exactly(at_ms: i64, zone: Tz) -> String {
    let text = shown(at_ms, zone);
    if parse(&text, zone) == Ok(at_ms) { text } else { rfc3339(at_ms) }
}

/// RFC 3339 in UTC, to the second.
pub fn rfc3339(at_ms: i64) -> String {
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

/// Parses a time in the zone; of an ambiguous local time, takes the first one. Accepts RFC 3339, too. The
/// error continues the member's name.
pub fn parse(text: &str, zone: Tz) -> Result<i64, String> {
    parse_with(text, zone, LocalResult::earliest)
}

/// The same; of a time that comes twice, when clocks are set back, the second one.
pub fn parse_latest(text: &str, zone: Tz) -> Result<i64, String> {
    parse_with(text, zone, LocalResult::latest)
}

fn parse_with(
    text: &str,
    zone: Tz,
    chosen: impl FnOnce(LocalResult<DateTime<Tz>>) -> Option<DateTime<Tz>>,
) -> Result<i64, String> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.timestamp_millis());
    }
    let wrong = || format!("must be a time written {FORM_SHOWN}");
    // chrono accepts numbers with fewer digits, too.
    if !is_form(text) {
        return Err(wrong());
    }
    let local = NaiveDateTime::parse_from_str(text, FORM).map_err(|_| wrong())?;
    let at = chosen(zone.from_local_datetime(&local));
    let skipped = || format!("is skipped by the clocks of {}", zone.name());
    Ok(at.ok_or_else(skipped)?.timestamp_millis())
}

/// Whether all is where it belongs: digits, and no second 60.
fn is_form(text: &str) -> bool {
    let is_there = |(have, wanted): (u8, u8)| match wanted {
        b'-' | b':' | b' ' => have == wanted,
        _ => have.is_ascii_digit(),
    };
    text.len() == FORM_SHOWN.len()
        && text.bytes().zip(FORM_SHOWN.bytes()).all(is_there)
        && !text.ends_with(":60")
}

/// Whether [`parse`] reads the text in some zone. The error continues the member's name.
pub fn check(text: &str) -> Result<(), String> {
    parse(text, Tz::UTC).map(drop)
}

/// The day of a time in the zone.
pub fn day_of(at_ms: i64, zone: Tz) -> NaiveDate {
    local(at_ms, zone).unwrap_or_default().date()
}

/// When a day begins in the zone; if midnight is skipped, the first time after it.
pub fn begin_of(day: NaiveDate, zone: Tz) -> Option<i64> {
    let quarters = (0..96).filter_map(|quarter| day.and_hms_opt(quarter / 4, quarter % 4 * 15, 0));
    let mut times = quarters.filter_map(|local| zone.from_local_datetime(&local).earliest());
    times.next().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_the_calendar_are_no_panic() {
        for (at_ms, zone) in [
            (i64::MAX, Tz::UTC),
            (DateTime::<Utc>::MAX_UTC.timestamp_millis(), chrono_tz::Asia::Shanghai),
            (DateTime::<Utc>::MIN_UTC.timestamp_millis(), chrono_tz::America::New_York),
        ] {
            assert_eq!(local(at_ms, zone), None);
            assert_eq!(shown(at_ms, zone), "1970-01-01 00:00:00");
            assert_eq!(day_of(at_ms, zone), NaiveDate::default());
        }
    }

    #[test]
    fn a_time_is_shown_and_read_in_its_zone() {
        let zone = chrono_tz::Asia::Shanghai;
        assert_eq!(shown(0, zone), "1970-01-01 08:00:00");
        assert_eq!(parse("1970-01-01 08:00:00", zone), Ok(0));
        assert_eq!(parse("1970-01-01T00:00:01Z", zone), Ok(1000));
    }

    #[test]
    fn times_are_shown_as_chrono_writes_them() {
        let zones = [chrono_tz::UTC, chrono_tz::Asia::Kathmandu, chrono_tz::America::St_Johns];
        let years_ms = (-3_000..=9_000).map(|year| year * 31_556_952_000 + year * 86_399_123);
        for at_ms in years_ms.chain([0, -1, 253_402_300_799_999, 253_402_300_800_000]) {
            for zone in zones {
                let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default();
                assert_eq!(shown(at_ms, zone), at.with_timezone(&zone).format(FORM).to_string());
            }
        }
    }

    #[test]
    fn an_invalid_time_is_refused() {
        let zone = chrono_tz::Europe::Berlin;
        for wrong in [
            "",
            "2026-01-01 23:59:60",
            "2026-01-01  0:00:00",
            "-001-01-01 00:00:00",
            "2026-1-1 00:00:00",
            "2026-02-30 00:00:00",
            "2026-01-01",
            "2026-01-01 24:00:00",
        ] {
            assert!(parse(wrong, zone).unwrap_err().contains(FORM_SHOWN), "{wrong}");
        }
        assert!(parse("2026-03-29 02:30:00", zone).unwrap_err().contains("Europe/Berlin"));
        assert!(parse("2026-10-25 02:30:00", zone).is_ok());
    }
}
