//! `lakeport:host/clock`: time, with the host's time-zone data.

use chrono::{DateTime, Datelike as _, Duration, LocalResult, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;
use lakeport_bindings::host::clock::Host;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;

use crate::log::now_ms;
use crate::state::CallState;

/// The years that the form of a local time, yyyy-MM-dd, can show.
const YEARS: std::ops::RangeInclusive<i32> = 1..=9_999;

/// The longest stretch of local time that a change of the clock skips, in minutes: Samoa once skipped a whole
/// day.
const GAP_MAX_MINUTES: i64 = 24 * 60;

impl Host for CallState {
    async fn now(&mut self) -> wasmtime::Result<i64> {
        Ok(now_ms())
    }

    async fn to_local(&mut self, at: i64, zone: String) -> wasmtime::Result<Result<String, Error>> {
        Ok(to_local(at, &zone))
    }

    async fn from_local(&mut self, local: String, zone: String) -> wasmtime::Result<Result<i64, Error>> {
        Ok(from_local(&local, &zone))
    }
}

fn to_local(at_ms: i64, zone: &str) -> Result<String, Error> {
    let zone = parse_zone(zone)?;
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).filter(|at| YEARS.contains(&at.year()));
    let at = at.ok_or_else(|| error("invalid_input", format!("{at_ms} ms is beyond the calendar")))?;
    Ok(at.with_timezone(&zone).format("%Y-%m-%d %H:%M:%S").to_string())
}

fn from_local(local: &str, zone: &str) -> Result<i64, Error> {
    let zone = parse_zone(zone)?;
    let plain = local.replacen('T', " ", 1);
    let naive = NaiveDateTime::parse_from_str(&plain, "%Y-%m-%d %H:%M:%S%.f").ok();
    // Arithmetic near the ends of the calendar would overflow.
    let naive = naive.filter(|naive| YEARS.contains(&naive.year()));
    let naive = naive
        .ok_or_else(|| error("invalid_input", format!("{local:?} is not of the form yyyy-MM-dd HH:mm:ss")))?;
    match zone.from_local_datetime(&naive) {
        LocalResult::Single(at) | LocalResult::Ambiguous(at, _) => Ok(at.timestamp_millis()),
        LocalResult::None => after_gap(naive, zone)
            .ok_or_else(|| error("invalid_input", format!("{local:?} does not exist in {zone}"))),
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

fn parse_zone(zone: &str) -> Result<Tz, Error> {
    zone.parse().map_err(|_| error("invalid_input", format!("{zone:?} is not an IANA time zone")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_goes_to_its_zone_and_back() {
        let at = from_local("2026-03-01T08:30:00", "Asia/Shanghai").unwrap();
        assert_eq!(to_local(at, "Asia/Shanghai").unwrap(), "2026-03-01 08:30:00");
        assert_eq!(to_local(at, "UTC").unwrap(), "2026-03-01 00:30:00");
    }

    #[test]
    fn a_time_that_comes_twice_is_the_first() {
        let at = from_local("2026-10-25 02:30:00", "Europe/Berlin").unwrap();
        assert_eq!(to_local(at, "UTC").unwrap(), "2026-10-25 00:30:00");
    }

    #[test]
    fn a_time_that_is_skipped_moves_forward_by_the_gap() {
        let at = from_local("2026-03-29 02:30:00", "Europe/Berlin").unwrap();
        assert_eq!(to_local(at, "Europe/Berlin").unwrap(), "2026-03-29 03:30:00");
    }

    #[test]
    fn the_ends_of_the_calendar_are_invalid_input() {
        for zone in ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Africa/Monrovia"] {
            for year in ["-262143-01-01", "+262142-12-31", "0000-12-31", "-0001-01-01", "10000-01-01"] {
                let refused = from_local(&format!("{year} 00:00:00"), zone).unwrap_err();
                assert_eq!(refused.code, "invalid_input", "{year} {zone}");
            }
            for edge in ["0001-01-01 00:00:00", "9999-12-31 23:59:60"] {
                from_local(edge, zone).unwrap();
            }
            for at_ms in [i64::MIN, i64::MAX, -8_334_601_228_800_000, 8_210_266_876_799_999] {
                assert_eq!(to_local(at_ms, zone).unwrap_err().code, "invalid_input", "{at_ms}");
            }
        }
    }

    #[test]
    fn an_unknown_zone_is_invalid_input() {
        assert_eq!(from_local("2026-01-01 00:00:00", "Mars/Olympus").unwrap_err().code, "invalid_input");
    }
}
