//! Time zones, as `lakeport:host/clock` reads them.

use std::ops::RangeInclusive;

use chrono::{DateTime, Datelike as _, Duration, LocalResult, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

use crate::Error;

/// The years that the form of a local time, yyyy-MM-dd, can show.
const YEARS: RangeInclusive<i32> = 1..=9_999;
/// The longest stretch of local time that a change of the clock skips, in minutes: Samoa once skipped a whole
/// day.
const GAP_MAX_MINUTES: i64 = 24 * 60;

pub fn zone(name: &str) -> Result<Tz, Error> {
    name.parse().map_err(|_| Error::invalid_input(format!("{name:?} is not an IANA time zone")))
}

/// A time of the test, in milliseconds.
pub fn instant(text: &str) -> i64 {
    let at = DateTime::parse_from_rfc3339(text);
    at.unwrap_or_else(|_| panic!("{text:?} is not a time such as 2026-03-01T08:30:00Z")).timestamp_millis()
}

pub fn to_local(at_ms: i64, name: &str) -> Result<String, Error> {
    let zone = zone(name)?;
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).filter(|at| YEARS.contains(&at.year()));
    let at = at.ok_or_else(|| Error::invalid_input(format!("{at_ms} ms is beyond the calendar")))?;
    Ok(at.with_timezone(&zone).format("%Y-%m-%d %H:%M:%S").to_string())
}

pub fn from_local(local: &str, name: &str) -> Result<i64, Error> {
    let zone = zone(name)?;
    let plain = local.replacen('T', " ", 1);
    let naive = NaiveDateTime::parse_from_str(&plain, "%Y-%m-%d %H:%M:%S%.f").ok();
    let naive = naive
        .filter(|naive| YEARS.contains(&naive.year()))
        .ok_or_else(|| Error::invalid_input(format!("{local:?} is not of the form yyyy-MM-dd HH:mm:ss")))?;
    match zone.from_local_datetime(&naive) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Ok(at.timestamp_millis()),
        LocalResult::None => after_gap(naive, zone)
            .ok_or_else(|| Error::invalid_input(format!("{local:?} does not exist in {name}"))),
    }
}

/// A local time that the clock skipped moves forward by the length of the gap: it is read with the previous
/// offset.
fn after_gap(naive: NaiveDateTime, zone: Tz) -> Option<i64> {
    (1..=GAP_MAX_MINUTES).find_map(|minutes| {
        let before = naive - Duration::minutes(minutes);
        let at = zone.from_local_datetime(&before).latest()?;
        Some((at + Duration::minutes(minutes)).timestamp_millis())
    })
}
