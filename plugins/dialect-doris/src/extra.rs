//! Facts about tables and fields beyond the contract's members: reading writes them, planning reads them.
//!
//! The host compares them before and after a change, so values that a plan changes do not belong here.

use lakeport_sdk::dialect::{Field, Table};
use lakeport_sdk::serde_json::{Map, Value, from_str};

/// Facts about a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableExtra {
    /// Whether rows are distributed randomly.
    pub random: bool,
    /// Whether the server creates partitions ahead of time, with numbers of their own (`dynamic_partition`).
    pub dynamic: bool,
    /// The location of the replicas, if not all of them are on nodes with the default tag.
    pub allocation: Option<String>,
    /// Whether it shares its buckets and replicas with a group of tables (`colocate_with`).
    pub colocated: bool,
    /// Whether its data lies in a storage that all nodes share, which has no replicas (Doris' cloud mode).
    pub cloud: bool,
}

impl TableExtra {
    /// The facts of a table.
    pub fn of(table: &Table) -> TableExtra {
        let extra = parsed(table.extra.as_deref());
        TableExtra {
            random: extra["distribution"] == "RANDOM",
            dynamic: extra["dynamicPartitions"] == true,
            allocation: extra["replicaAllocation"].as_str().map(str::to_owned),
            colocated: extra["colocated"] == true,
            cloud: extra["cloud"] == true,
        }
    }

    /// The text for a table; `None` if it would be empty.
    pub fn text(self) -> Option<String> {
        written([
            ("distribution", self.random.then(|| "RANDOM".into())),
            ("dynamicPartitions", self.dynamic.then_some(Value::Bool(true))),
            ("replicaAllocation", self.allocation.map(Value::String)),
            ("colocated", self.colocated.then_some(Value::Bool(true))),
            ("cloud", self.cloud.then_some(Value::Bool(true))),
        ])
    }
}

/// Facts about a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldExtra {
    /// The aggregate function of its values in an aggregate table: `SUM`.
    pub aggregate: Option<String>,
    /// Whether the server numbers it (AUTO_INCREMENT).
    pub numbered: bool,
    /// Whether each update of its row sets it to the current time (`ON UPDATE CURRENT_TIMESTAMP`).
    pub stamped: bool,
    /// The default as the server keeps it, if a definition would spell it otherwise: `1` for true.
    pub default_text: Option<String>,
}

impl FieldExtra {
    /// The facts of a field.
    pub fn of(field: &Field) -> FieldExtra {
        let extra = parsed(field.extra.as_deref());
        FieldExtra {
            aggregate: extra["aggregate"].as_str().map(str::to_owned),
            numbered: extra["autoIncrement"] == true,
            stamped: extra["onUpdate"] == true,
            default_text: extra["defaultText"].as_str().map(str::to_owned),
        }
    }

    /// The text for a field; `None` if it would be empty.
    pub fn text(self) -> Option<String> {
        written([
            ("aggregate", self.aggregate.map(Value::String)),
            ("autoIncrement", self.numbered.then_some(Value::Bool(true))),
            ("onUpdate", self.stamped.then_some(Value::Bool(true))),
            ("defaultText", self.default_text.map(Value::String)),
        ])
    }
}

fn parsed(text: Option<&str>) -> Value {
    text.and_then(|text| from_str(text).ok()).unwrap_or_default()
}

fn written<const N: usize>(members: [(&str, Option<Value>); N]) -> Option<String> {
    let said: Map<String, Value> =
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
    (!said.is_empty()).then(|| Value::Object(said).to_string())
}
