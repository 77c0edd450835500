//! What is known of tables and fields beyond the contract's members: reading writes it, planning reads it.
//!
//! The host compares it before and after a change, so nothing that a plan changes belongs here.

use lakeport_sdk::dialect::{Field, Table};
use lakeport_sdk::serde_json::{Map, Value, from_str};

/// Of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableExtra {
    /// Whether rows are spread by chance.
    pub random: bool,
    /// Whether the server makes partitions ahead of time, by numbers of their own (`dynamic_partition`).
    pub dynamic: bool,
    /// Where the copies lie, if not all of them on nodes of the default tag.
    pub allocation: Option<String>,
}

impl TableExtra {
    /// Out of a table.
    pub fn of(table: &Table) -> TableExtra {
        let extra = parsed(table.extra.as_deref());
        TableExtra {
            random: extra["distribution"] == "RANDOM",
            dynamic: extra["dynamicPartitions"] == true,
            allocation: extra["replicaAllocation"].as_str().map(str::to_owned),
        }
    }

    /// For a table; nothing where there is nothing to say.
    pub fn text(self) -> Option<String> {
        written([
            ("distribution", self.random.then(|| "RANDOM".into())),
            ("dynamicPartitions", self.dynamic.then_some(Value::Bool(true))),
            ("replicaAllocation", self.allocation.map(Value::String)),
        ])
    }
}

/// Of a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldExtra {
    /// How its values are put together, where its table aggregates: `SUM`.
    pub aggregate: Option<String>,
    /// Whether the server numbers it.
    pub numbered: bool,
    /// Whether every update of its row sets it to the time (`ON UPDATE CURRENT_TIMESTAMP`).
    pub stamped: bool,
}

impl FieldExtra {
    /// Out of a field.
    pub fn of(field: &Field) -> FieldExtra {
        let extra = parsed(field.extra.as_deref());
        FieldExtra {
            aggregate: extra["aggregate"].as_str().map(str::to_owned),
            numbered: extra["autoIncrement"] == true,
            stamped: extra["onUpdate"] == true,
        }
    }

    /// For a field; nothing where there is nothing to say.
    pub fn text(self) -> Option<String> {
        written([
            ("aggregate", self.aggregate.map(Value::String)),
            ("autoIncrement", self.numbered.then_some(Value::Bool(true))),
            ("onUpdate", self.stamped.then_some(Value::Bool(true))),
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
