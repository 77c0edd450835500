//! Versions of PostgreSQL, `15.4`.

use lakeport_sdk::dialect::ServerInfo;

/// The oldest supported version.
pub const OLDEST: u32 = 13;
/// The first version with compression methods of fields.
pub const COMPRESSION: u32 = 14;
/// The first version with the time of a table's last scan.
pub const LAST_ACCESS: u32 = 16;

/// Whether the server has at least this major version. An unreadable version counts as old.
pub fn is_at_least(server: &ServerInfo, major: u32) -> bool {
    major_of(&server.version).is_some_and(|own| own >= major) || major == 0
}

/// The major version of `15.4 (Debian …)`, `17beta1`, `16rc1`.
pub fn major_of(version: &str) -> Option<u32> {
    let end = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_major_version_is_the_first_number() {
        for (version, major) in
            [("15.4", Some(15)), ("17beta1", Some(17)), ("9.6.24", Some(9)), ("", None), ("x", None)]
        {
            assert_eq!(major_of(version), major, "{version}");
        }
    }
}
