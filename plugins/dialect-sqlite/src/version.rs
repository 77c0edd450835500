//! Versions of SQLite, `3.45.1`.

use lakeport_sdk::dialect::ServerInfo;

/// The first version that can rename fields.
pub const RENAME_COLUMN: (u32, u32) = (3, 25);
/// The first version that can drop fields.
pub const DROP_COLUMN: (u32, u32) = (3, 35);

/// Whether the server is at least this version. An unreadable version counts as old.
pub fn is_at_least(server: &ServerInfo, wanted: (u32, u32)) -> bool {
    let mut parts = server.version.split('.').map(|part| part.parse::<u32>().ok());
    match (parts.next().flatten(), parts.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= wanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        let server = |version: &str| ServerInfo {
            product: String::new(),
            version: version.to_owned(),
            facts: String::new(),
        };
        assert!(is_at_least(&server("3.45.1"), DROP_COLUMN));
        assert!(is_at_least(&server("3.35.0"), DROP_COLUMN));
        assert!(!is_at_least(&server("3.9.2"), DROP_COLUMN));
        assert!(!is_at_least(&server("unknown"), RENAME_COLUMN));
    }
}
