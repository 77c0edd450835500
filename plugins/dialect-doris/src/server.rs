//! The server of a plan: product, version, and the few settings that change what it accepts.

use lakeport_sdk::dialect::ServerInfo;
use lakeport_sdk::serde_json::{Value, from_str, json};

/// A product of this dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Product {
    /// Apache Doris.
    #[default]
    Doris,
    /// StarRocks.
    StarRocks,
}

impl Product {
    /// The name in `server-info`.
    pub fn name(self) -> &'static str {
        match self {
            Product::Doris => "Apache Doris",
            Product::StarRocks => "StarRocks",
        }
    }

    /// The name in a sentence.
    pub fn short(self) -> &'static str {
        match self {
            Product::Doris => "Doris",
            Product::StarRocks => "StarRocks",
        }
    }
}

/// Major, minor, patch.
pub type Version = (u32, u32, u32);

/// A server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Server {
    /// Which product.
    pub product: Product,
    /// The version; `None` if it could not be read, which counts as old.
    pub version: Option<Version>,
    /// Whether names may have letters beyond ASCII.
    pub unicode_names: bool,
    /// Whether it keeps names of tables in lower case.
    pub lower_case_tables: bool,
    /// Replicas of a new table by default.
    pub replicas: Option<u32>,
    /// The unit of automatic partitions.
    pub partition_unit: PartitionUnit,
    /// Whether its catalogue has the layout of tables. Doris' never has all of it.
    pub layout: bool,
    /// Whether its catalogue lists partitions with their replicas.
    pub partitions: bool,
    /// The audit table from the data source's options: database and table.
    pub audit_table: Option<(String, String)>,
}

/// The unit of automatic partitions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PartitionUnit {
    /// A day.
    Day,
    /// A month.
    #[default]
    Month,
    /// A year.
    Year,
}

impl PartitionUnit {
    /// The unit's name in `date_trunc`.
    pub fn name(self) -> &'static str {
        match self {
            PartitionUnit::Day => "day",
            PartitionUnit::Month => "month",
            PartitionUnit::Year => "year",
        }
    }

    fn named(name: &str) -> Option<PartitionUnit> {
        [PartitionUnit::Day, PartitionUnit::Month, PartitionUnit::Year]
            .into_iter()
            .find(|unit| unit.name() == name)
    }
}

impl Server {
    /// From the answer of `reader.server`.
    pub fn of(info: &ServerInfo) -> Server {
        let facts: Value = from_str(&info.facts).unwrap_or_default();
        let flag = |name: &str| facts[name].as_bool().unwrap_or(false);
        let starrocks = info.product == Product::StarRocks.name();
        Server {
            product: if starrocks { Product::StarRocks } else { Product::Doris },
            version: version_in(&info.version),
            unicode_names: flag("unicodeNames"),
            lower_case_tables: flag("lowerCaseTables"),
            replicas: facts["replicas"].as_u64().and_then(|count| u32::try_from(count).ok()),
            partition_unit: facts["partitionUnit"]
                .as_str()
                .and_then(PartitionUnit::named)
                .unwrap_or_default(),
            layout: flag("layout"),
            partitions: flag("partitions"),
            audit_table: facts["auditTable"].as_str().and_then(dotted),
        }
    }

    /// The object for `server-info.facts`.
    pub fn facts(&self) -> String {
        json!({
            "auditTable": self.audit_table.as_ref().map(|(database, table)| format!("{database}.{table}")),
            "layout": self.layout,
            "lowerCaseTables": self.lower_case_tables,
            "partitionUnit": self.partition_unit.name(),
            "partitions": self.partitions,
            "replicas": self.replicas,
            "unicodeNames": self.unicode_names,
        })
        .to_string()
    }

    /// Whether it is at least this version. An unreadable version is not.
    pub fn is_at_least(&self, wanted: Version) -> bool {
        self.version.is_some_and(|version| version >= wanted)
    }

    /// For messages.
    pub fn shown(&self) -> String {
        match self.version {
            Some((major, minor, patch)) => format!("{} {major}.{minor}.{patch}", self.product.short()),
            None => self.product.short().to_owned(),
        }
    }
}

/// `database.table`.
pub fn dotted(text: &str) -> Option<(String, String)> {
    let (database, table) = text.split_once('.')?;
    (!database.is_empty() && !table.is_empty()).then(|| (database.to_owned(), table.to_owned()))
}

/// The first version in a text: `Doris version doris-2.1.7-rc03-443e87e203`.
pub fn version_in(text: &str) -> Option<Version> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.';
    text.split(|c: char| !is_part(c)).find_map(|run| {
        let mut parts = run.split('.').map(str::parse::<u32>);
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some((major, minor, patch))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_servers_say() {
        for (text, expected) in [
            ("Doris version doris-2.1.7-rc03-443e87e203", Some((2, 1, 7))),
            ("doris-3.0.6.2", Some((3, 0, 6))),
            ("StarRocks version 3.3.5-6d81f75", Some((3, 3, 5))),
            ("4.0", Some((4, 0, 0))),
            ("unknown", None),
            ("5", None),
        ] {
            assert_eq!(version_in(text), expected, "{text}");
        }
    }

    #[test]
    fn facts_come_back_as_they_went() {
        let server = Server {
            product: Product::StarRocks,
            version: Some((3, 3, 5)),
            unicode_names: true,
            lower_case_tables: true,
            replicas: Some(2),
            partition_unit: PartitionUnit::Day,
            layout: true,
            partitions: true,
            audit_table: Some(("a".to_owned(), "b".to_owned())),
        };
        let info = ServerInfo {
            product: server.product.name().to_owned(),
            version: "3.3.5".to_owned(),
            facts: server.facts(),
        };
        assert_eq!(Server::of(&info), server);
        let unread = ServerInfo { facts: "?".to_owned(), version: String::new(), ..info };
        assert_eq!(Server::of(&unread).version, None);
        assert!(!Server::of(&unread).is_at_least((1, 0, 0)));
    }
}
