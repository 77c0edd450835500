//! A table's name in the recycle bin: `<name>_deprecated_<yyyyMMddHHmmss>`, within its database's limit.

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_sql::Profile;

use crate::tables::reconcile::{NAME_MAX_CHARS, RECYCLE_BIN};

/// A limit of names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    pub max: usize,
    /// True: bytes; false: characters.
    pub in_bytes: bool,
}

impl Limit {
    /// The limit of a dialect's table names, or a default.
    pub fn of(profile: Option<&Profile>) -> Limit {
        let rule = profile.and_then(|profile| profile.names.get("table")).map(|limit| &limit.rule);
        let own = Limit { max: NAME_MAX_CHARS, in_bytes: false };
        rule.map_or(own, |rule| Limit {
            max: (rule.max_length as usize).min(NAME_MAX_CHARS),
            in_bytes: rule.length_unit == "bytes",
        })
    }

    fn length(self, text: &str) -> usize {
        if self.in_bytes { text.len() } else { text.chars().count() }
    }
}

/// Shortens the name before the suffix if the result would be too long.
pub fn deprecated(origin: &str, now_ms: i64, zone: Tz, limit: Limit) -> String {
    let moment: String = time::shown(now_ms, zone).chars().filter(char::is_ascii_digit).collect();
    let suffix = format!("{RECYCLE_BIN}{moment}");
    let room = limit.max.saturating_sub(limit.length(&suffix));
    let mut kept = origin;
    while limit.length(kept) > room {
        let Some((last, _)) = kept.char_indices().next_back() else { break };
        kept = &kept[..last];
    }
    format!("{kept}{suffix}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_772_600_400_000;

    fn named(origin: &str, max: usize, in_bytes: bool) -> String {
        deprecated(origin, NOW_MS, Tz::UTC, Limit { max, in_bytes })
    }

    #[test]
    fn the_time_stands_behind_the_name() {
        assert_eq!(named("orders", 64, false), "orders_deprecated_20260304050000");
    }

    #[test]
    fn a_long_name_is_shortened_before_suffix() {
        let long = "订单".repeat(30);
        let in_characters = named(&long, 64, false);
        assert_eq!(in_characters.chars().count(), 64);
        assert!(in_characters.ends_with("_deprecated_20260304050000"), "{in_characters}");
        let in_bytes = named(&long, 63, true);
        assert!(in_bytes.len() <= 63 && in_bytes.starts_with("订单"), "{in_bytes}");
    }
}
