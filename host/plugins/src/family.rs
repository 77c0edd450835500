//! The plugin families: the contract versions that this host speaks, and the interfaces that each family may
//! import. Plain tables; `grants` decides about a single plugin.

use std::fmt;
use std::str::FromStr;

use semver::Version;
use serde::{Deserialize, Serialize};

/// A family of plugins. Each has a WIT package of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// A kind of database.
    Dialect,
    /// A kind of workflow scheduler.
    Engine,
    /// A skill of the agent.
    Tool,
}

impl Family {
    /// All families.
    pub const ALL: [Family; 3] = [Family::Dialect, Family::Engine, Family::Tool];

    /// The name of the family and of its WIT package: `dialect`.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Dialect => "dialect",
            Family::Engine => "engine",
            Family::Tool => "tool",
        }
    }

    /// The interface that every plugin of the family exports and that identifies the family.
    pub fn marker(self) -> &'static str {
        match self {
            Family::Dialect => "planner",
            Family::Engine => "deploys",
            Family::Tool => "tool",
        }
    }

    /// The interfaces that a plugin of the family must export.
    pub fn required_exports(self) -> &'static [&'static str] {
        match self {
            Family::Dialect => &["about", "planner", "reader"],
            Family::Engine => &["about", "deploys", "runs", "watch"],
            Family::Tool => &["tool"],
        }
    }

    /// The interfaces that a plugin of the family may also export.
    pub fn optional_exports(self) -> &'static [&'static str] {
        match self {
            Family::Dialect => &["wire"],
            Family::Engine => &["schedules", "pausing", "backfills", "definitions"],
            Family::Tool => &[],
        }
    }

    /// The versions of the family's package that this host speaks, newest first.
    pub fn versions(self) -> &'static [Version] {
        const SPOKEN: &[Version] = &[Version::new(0, 9, 0)];
        SPOKEN
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Family::ALL
            .into_iter()
            .find(|family| family.as_str() == text)
            .ok_or_else(|| format!("unknown plugin family {text:?}; known: dialect, engine and tool"))
    }
}

/// A family's package at a version: `lakeport:dialect@0.9.0`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// The family.
    pub family: Family,
    /// The package's version.
    #[serde(with = "version_text")]
    pub version: Version,
}

mod version_text {
    use semver::Version;
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(version: &Version, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(version)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Version, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl fmt::Display for Contract {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "lakeport:{}@{}", self.family, self.version)
    }
}

/// A plugin's identity: unique within a server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginId {
    /// Its family.
    pub family: Family,
    /// The name from the component's description: `sqlite`, `run_sql`.
    pub name: String,
}

impl fmt::Display for PluginId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.family, self.name)
    }
}

/// How a family may use an interface of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Available to every plugin of the family: only types, or harmless.
    Always,
    /// A permission. The operator sees it and can withhold it.
    Grant,
    /// A permission that only a bundled component can be granted.
    Bundled,
    /// Part of the contract, but not offered by this host yet.
    NotYet,
}

/// Interfaces of `lakeport:*` packages that a family may import.
pub fn standing(family: Family, package: &str, interface: &str) -> Option<Standing> {
    use Family::{Dialect, Engine, Tool};
    use Standing::{Always, Bundled, Grant, NotYet};
    match (family, package, interface) {
        (_, "host", "types" | "data" | "web" | "log") => Some(Always),
        (Engine, "host", "call" | "config" | "clock" | "memo") => Some(Always),
        (Tool, "host", "config" | "clock") => Some(Always),
        (Engine, "host", "http") => Some(Grant),
        (Tool, "host", "http") | (Engine, "host", "files") => Some(NotYet),
        (Dialect, "dialect", "schema" | "statements") => Some(Always),
        (Dialect, "dialect", "connection") => Some(Grant),
        (Engine, "engine", "model") => Some(Always),
        (Engine, "runner", "runner") => Some(Bundled),
        (Tool, "tool", "tables") => Some(Always),
        (Tool, "tool", "catalog" | "samples" | "guard" | "query" | "results" | "lineage") => Some(Grant),
        _ => None,
    }
}

/// Whether plugins may import this WASI interface. It is linked, without access to the outside. Other
/// interfaces (sockets, HTTP) cannot be imported.
pub fn wasi_is_offered(package: &str, interface: &str) -> bool {
    match package {
        "io" => matches!(interface, "error" | "poll" | "streams"),
        "clocks" => matches!(interface, "wall-clock" | "monotonic-clock"),
        "random" => matches!(interface, "random" | "insecure" | "insecure-seed"),
        "filesystem" => matches!(interface, "types" | "preopens"),
        "cli" => matches!(
            interface,
            "environment"
                | "exit"
                | "stdin"
                | "stdout"
                | "stderr"
                | "terminal-input"
                | "terminal-output"
                | "terminal-stdin"
                | "terminal-stdout"
                | "terminal-stderr"
        ),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_gets_neither_clock_nor_network() {
        for interface in ["clock", "http", "files", "memo", "config", "call"] {
            assert_eq!(standing(Family::Dialect, "host", interface), None, "{interface}");
        }
        assert_eq!(standing(Family::Dialect, "dialect", "connection"), Some(Standing::Grant));
    }

    #[test]
    fn a_tool_gets_no_memo_and_no_files() {
        assert_eq!(standing(Family::Tool, "host", "memo"), None);
        assert_eq!(standing(Family::Tool, "host", "files"), None);
        assert_eq!(standing(Family::Tool, "runner", "runner"), None);
    }

    #[test]
    fn wasi_has_no_sockets() {
        assert!(!wasi_is_offered("sockets", "tcp"));
        assert!(!wasi_is_offered("http", "outgoing-handler"));
        assert!(wasi_is_offered("cli", "stdout"));
    }
}
