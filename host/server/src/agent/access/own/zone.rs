//! Formats the store's times in a time zone by SQLite, which has no zones: the statement contains the zone's
//! offsets.

use chrono::{DateTime, Offset, TimeZone, Utc};
use chrono_tz::Tz;
use lakeport_base::time::{DAY_MS, SECOND_MS};

/// How far back and ahead of now the changes of the clocks are included; other times get the nearest offset.
const YEARS_BACK: i64 = 15;
const YEARS_AHEAD: i64 = 2;
const YEAR_MS: i64 = 366 * DAY_MS;

/// The offsets of a zone.
pub struct Offsets {
    /// The end of an offset, and the offset; milliseconds.
    until: Vec<(i64, i64)>,
    /// The offset after the last change.
    last: i64,
}

impl Offsets {
    pub fn around(now_ms: i64, zone: Tz) -> Offsets {
        let (begin, end) = (now_ms - YEARS_BACK * YEAR_MS, now_ms + YEARS_AHEAD * YEAR_MS);
        let mut offsets = Offsets { until: Vec::new(), last: offset_ms(begin, zone) };
        let mut day = begin;
        while day < end {
            // No zone changes its clocks twice within a day.
            let next = day + DAY_MS;
            let after = offset_ms(next, zone);
            if after != offsets.last {
                offsets.until.push((change_between(day, next, zone), offsets.last));
                offsets.last = after;
            }
            day = next;
        }
        offsets
    }

    /// The times of the changes.
    #[cfg(test)]
    pub fn changes(&self) -> impl Iterator<Item = i64> {
        self.until.iter().map(|(until, _)| *until)
    }

    /// An expression that formats a column of milliseconds as `yyyy-MM-dd HH:mm:ss`; NULL stays NULL.
    pub fn shown(&self, column: &str) -> String {
        format!(
            "strftime('%Y-%m-%d %H:%M:%S', ({column} + ({})) / {SECOND_MS}, 'unixepoch')",
            self.offset(column)
        )
    }

    /// The latest first: questions are mostly about recent times.
    fn offset(&self, column: &str) -> String {
        let Some((_, first)) = self.until.first() else { return self.last.to_string() };
        let before = self.until.iter().map(|(until, _)| until);
        let offsets = self.until.iter().skip(1).map(|(_, offset)| offset).chain([&self.last]);
        let mut cases: Vec<String> = before
            .zip(offsets)
            .map(|(from, offset)| format!("WHEN {column} >= {from} THEN {offset}"))
            .collect();
        cases.reverse();
        format!("CASE {} ELSE {first} END", cases.join(" "))
    }
}

fn offset_ms(at_ms: i64, zone: Tz) -> i64 {
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default();
    i64::from(zone.offset_from_utc_datetime(&at.naive_utc()).fix().local_minus_utc()) * SECOND_MS
}

/// When the offset changes between two times with different ones, to the millisecond.
fn change_between(mut before: i64, mut after: i64, zone: Tz) -> i64 {
    let old = offset_ms(before, zone);
    while after - before > 1 {
        let middle = before + (after - before) / 2;
        if offset_ms(middle, zone) == old { before = middle } else { after = middle }
    }
    after
}
