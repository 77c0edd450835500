//! The server of a plan: product, version, and the modes that plans depend on.

use lakeport_sdk::dialect::ServerInfo;
use lakeport_sdk::serde_json::{Value, from_str};

/// One product's name, as in `server` and `describe`.
pub const MYSQL: &str = "MySQL";
/// The other product's name.
pub const MARIADB: &str = "MariaDB";

/// The first version that drops fields at once, without rebuilding the table.
const DROP_AT_ONCE: (u32, u32, u32) = (8, 0, 29);

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// True: MariaDB; false: MySQL.
    pub is_mariadb: bool,
    /// Its version; zeros if it cannot be read.
    pub version: (u32, u32, u32),
    /// `NO_BACKSLASH_ESCAPES`: a backslash in a literal is an ordinary character.
    pub plain_backslash: bool,
    /// A strict mode: values that do not fit are errors and not truncated.
    pub is_strict: bool,
    /// `lower_case_table_names`.
    pub lower_case_table_names: i64,
    /// Whether a TIMESTAMP without a default gets none.
    pub explicit_timestamps: bool,
    /// Whether a table without a key gets a hidden one.
    pub makes_keys: bool,
    /// For how many seconds MySQL caches sizes; `None` without a cache.
    pub sizes_cached_s: Option<i64>,
    /// Bytes of an InnoDB page.
    pub page_bytes: u64,
}

impl Server {
    /// From the answer of `reader.server`. Missing facts take the most restrictive value.
    pub fn of(info: &ServerInfo) -> Server {
        let facts = from_str::<Value>(&info.facts).unwrap_or_default();
        let modes: Vec<String> = facts["sqlMode"]
            .as_str()
            .unwrap_or_default()
            .split(',')
            .map(|mode| mode.trim().to_ascii_uppercase())
            .collect();
        let has = |mode: &str| modes.iter().any(|known| known == mode);
        Server {
            is_mariadb: info.product == MARIADB,
            version: version(&info.version),
            plain_backslash: has("NO_BACKSLASH_ESCAPES"),
            is_strict: has("STRICT_ALL_TABLES") || has("STRICT_TRANS_TABLES"),
            lower_case_table_names: facts["lowerCaseTableNames"].as_i64().unwrap_or(0),
            explicit_timestamps: facts["explicitDefaultsForTimestamp"].as_bool().unwrap_or(false),
            makes_keys: facts["invisiblePrimaryKey"].as_bool().unwrap_or(false),
            sizes_cached_s: facts["sizesCachedS"].as_i64(),
            page_bytes: facts["pageBytes"].as_u64().unwrap_or(16 * 1024),
        }
    }

    /// The text rule that this server reads correctly.
    pub fn text_rule(&self) -> &'static str {
        if self.plain_backslash { "plain" } else { "literal" }
    }

    /// Whether dropping a field leaves the rows unchanged on disk.
    pub fn drops_at_once(&self) -> bool {
        self.is_mariadb || self.version >= DROP_AT_ONCE
    }

    /// Its name, for people.
    pub fn product(&self) -> &'static str {
        if self.is_mariadb { MARIADB } else { MYSQL }
    }
}

/// `8.0.36-28`, `10.11.19-MariaDB-0+deb12u1`, and `5.5.5-10.11.19-MariaDB`, as MariaDB reports to old
/// clients.
pub fn version(text: &str) -> (u32, u32, u32) {
    let text = text.strip_prefix("5.5.5-").unwrap_or(text);
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit() && c != '.')
        .next()
        .unwrap_or_default()
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(product: &str, version: &str, facts: &str) -> ServerInfo {
        ServerInfo { product: product.to_owned(), version: version.to_owned(), facts: facts.to_owned() }
    }

    #[test]
    fn versions_are_read_in_front_of_what_follows_them() {
        assert_eq!(version("8.0.36-28"), (8, 0, 36));
        assert_eq!(version("9.7.4-2"), (9, 7, 4));
        assert_eq!(version("10.11.19-MariaDB-0+deb12u1"), (10, 11, 19));
        assert_eq!(version("5.5.5-10.6.1-MariaDB"), (10, 6, 1));
        assert_eq!(version("new"), (0, 0, 0));
    }

    #[test]
    fn the_rule_of_literals_follows_the_mode() {
        let of = |mode: &str| Server::of(&info(MYSQL, "8.0.36", &format!(r#"{{"sqlMode":"{mode}"}}"#)));
        assert_eq!(of("STRICT_TRANS_TABLES").text_rule(), "literal");
        assert_eq!(of("ANSI_QUOTES,NO_BACKSLASH_ESCAPES").text_rule(), "plain");
        assert!(of("STRICT_ALL_TABLES").is_strict && !of("").is_strict);
    }

    #[test]
    fn what_is_not_known_allows_least() {
        let server = Server::of(&info(MARIADB, "10.6.1", "nonsense"));
        assert!(server.is_mariadb && !server.is_strict && !server.explicit_timestamps);
        assert_eq!((server.sizes_cached_s, server.page_bytes), (None, 16_384));
    }
}
