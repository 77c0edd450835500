//! Times as answers show them and requests write them: `yyyy-MM-dd HH:mm:ss` in the configured zone. In the
//! store they are milliseconds since 1970, UTC.

use chrono::{DateTime, NaiveDate, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

const FORM: &str = "%Y-%m-%d %H:%M:%S";
/// What a message says of the form.
pub const FORM_SHOWN: &str = "yyyy-MM-dd HH:mm:ss";

pub const SECOND_MS: i64 = 1_000;
pub const MINUTE_MS: i64 = 60 * SECOND_MS;
pub const HOUR_MS: i64 = 60 * MINUTE_MS;
pub const DAY_MS: i64 = 24 * HOUR_MS;

/// `yyyy-MM-dd HH:mm:ss` in the zone.
pub fn shown(at_ms: i64, zone: Tz) -> String {
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default();
    at.with_timezone(&zone).format(FORM).to_string()
}

/// The time that a text names in the zone; where clocks were put back, the first of the two. RFC 3339 is taken,
/// too. The error goes on after the member's name.
pub fn parse(text: &str, zone: Tz) -> Result<i64, String> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.timestamp_millis());
    }
    let wrong = || format!("must be a time written {FORM_SHOWN}");
    // chrono takes numbers with fewer digits, too.
    if text.len() != FORM_SHOWN.len() {
        return Err(wrong());
    }
    let local = NaiveDateTime::parse_from_str(text, FORM).map_err(|_| wrong())?;
    let at = zone.from_local_datetime(&local).earliest();
    let skipped = || format!("is skipped by the clocks of {}", zone.name());
    Ok(at.ok_or_else(skipped)?.timestamp_millis())
}

/// The day of a time in the zone.
pub fn day_of(at_ms: i64, zone: Tz) -> NaiveDate {
    DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default().with_timezone(&zone).date_naive()
}

/// When a day begins in the zone; where midnight is skipped, what comes after it.
pub fn begin_of(day: NaiveDate, zone: Tz) -> Option<i64> {
    let quarters = (0..96).filter_map(|quarter| day.and_hms_opt(quarter / 4, quarter % 4 * 15, 0));
    let mut times = quarters.filter_map(|local| zone.from_local_datetime(&local).earliest());
    times.next().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_and_read_in_its_zone() {
        let zone = chrono_tz::Asia::Shanghai;
        assert_eq!(shown(0, zone), "1970-01-01 08:00:00");
        assert_eq!(parse("1970-01-01 08:00:00", zone), Ok(0));
        assert_eq!(parse("1970-01-01T00:00:01Z", zone), Ok(1000));
    }

    #[test]
    fn what_is_no_time_is_told_so() {
        let zone = chrono_tz::Europe::Berlin;
        for wrong in ["", "2026-1-1 00:00:00", "2026-02-30 00:00:00", "2026-01-01", "2026-01-01 24:00:00"] {
            assert!(parse(wrong, zone).unwrap_err().contains(FORM_SHOWN), "{wrong}");
        }
        assert!(parse("2026-03-29 02:30:00", zone).unwrap_err().contains("Europe/Berlin"));
        assert!(parse("2026-10-25 02:30:00", zone).is_ok());
    }
}
