//! Facts about a table beyond the contract's members. `reader` writes them into `extra`, and `planner` reads
//! them there.
//!
//! A change must not lose these facts. They are sorted and without the names of the table and its fields, so
//! that they stay equal under every change that loses nothing.

use lakeport_sdk::dialect::{Field, Reference, Table};
use lakeport_sdk::serde_json::{Value, from_str, json};

/// Facts about a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    /// Whether its CREATE statement was understood.
    pub understood: bool,
    /// Clauses of its CREATE statement without a member in the contract: `CHECK`, `STRICT`.
    pub constraints: Vec<String>,
    /// Its indexes, except the key's.
    pub indexes: Vec<String>,
    /// Its triggers.
    pub triggers: Vec<String>,
    /// Its foreign keys: parent and actions.
    pub foreign_keys: Vec<String>,
    /// Tables whose foreign keys refer to it.
    pub referenced_by: Vec<String>,
    /// Views, and triggers of other tables, whose text has its name.
    pub mentioned_by: Vec<String>,
    /// Its foreign keys of single fields. Changes may alter their names.
    pub references: Vec<Reference>,
}

impl TableFacts {
    /// Why the table itself prevents a rebuild; `None` if it does not.
    pub fn rebuild_reason(&self) -> Option<String> {
        if !self.understood {
            return Some("its CREATE statement is not understood in full".to_owned());
        }
        let named = |what: &str, names: &[String]| {
            (!names.is_empty()).then(|| format!("{what} {}", names.join(", ")))
        };
        let reasons: Vec<String> = [
            named("", &self.constraints).map(|words| words.trim_start().to_owned()),
            named("the indexes", &self.indexes),
            named("the triggers", &self.triggers),
            named("foreign keys to", &self.foreign_keys),
            named("foreign keys from", &self.referenced_by),
            named("the views or triggers that use it:", &self.mentioned_by),
        ]
        .into_iter()
        .flatten()
        .collect();
        (!reasons.is_empty()).then(|| format!("it has {}", reasons.join("; ")))
    }

    /// The object for `table.extra`.
    pub fn to_json(&self) -> String {
        let facts = self.sorted();
        let mut extra = json!({
            "constraints": facts.constraints,
            "foreignKeys": facts.foreign_keys,
            "indexes": facts.indexes,
            "mentionedBy": facts.mentioned_by,
            "rebuild": facts.rebuild_reason(),
            "referencedBy": facts.referenced_by,
            "triggers": facts.triggers,
        });
        if !facts.references.is_empty() {
            extra["references"] = Reference::list(&facts.references);
        }
        extra.to_string()
    }

    fn sorted(&self) -> TableFacts {
        let mut facts = self.clone();
        for list in [
            &mut facts.constraints,
            &mut facts.indexes,
            &mut facts.triggers,
            &mut facts.foreign_keys,
            &mut facts.referenced_by,
            &mut facts.mentioned_by,
        ] {
            list.sort_unstable();
        }
        facts
    }
}

/// Why this table, including its fields, cannot be rebuilt; `None` if it can.
pub fn rebuild_reason(table: &Table) -> Option<String> {
    let Some(extra) = object(table.extra.as_deref()) else {
        return Some("nothing was read of its constraints and indexes".to_owned());
    };
    let of_table = match &extra["rebuild"] {
        Value::Null => None,
        Value::String(reason) => Some(reason.clone()),
        _ => Some("what was read of its constraints and indexes is not understood".to_owned()),
    };
    let of_fields = table.fields.iter().filter_map(|field| {
        let words = constraints(field);
        (!words.is_empty()).then(|| format!("{} has {}", field.name, words.join(", ")))
    });
    let reasons: Vec<String> = of_table.into_iter().chain(of_fields).collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// Tables whose foreign keys refer to this one.
pub fn referenced_by(table: &Table) -> Vec<String> {
    strings(object(table.extra.as_deref()).as_ref().map(|extra| &extra["referencedBy"]))
}

/// Whether the table is STRICT.
pub fn is_strict(table: &Table) -> bool {
    strings(object(table.extra.as_deref()).as_ref().map(|extra| &extra["constraints"]))
        .iter()
        .any(|word| word == "STRICT")
}

/// Clauses of a field without a member in the contract: `COLLATE`.
pub fn constraints(field: &Field) -> Vec<String> {
    strings(object(field.extra.as_deref()).as_ref().map(|extra| &extra["constraints"]))
}

/// The object for `field.extra`; `None` if it would be empty.
pub fn field_json<'a>(constraints: impl Iterator<Item = &'a String>) -> Option<String> {
    let constraints: Vec<&String> = constraints.collect();
    (!constraints.is_empty()).then(|| json!({"constraints": constraints}).to_string())
}

fn object(extra: Option<&str>) -> Option<Value> {
    from_str::<Value>(extra?).ok().filter(Value::is_object)
}

fn strings(list: Option<&Value>) -> Vec<String> {
    let items = list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_understood_plain_tables_are_rebuilt() {
        let plain = TableFacts { understood: true, ..TableFacts::default() };
        assert_eq!(plain.rebuild_reason(), None);
        assert!(TableFacts::default().rebuild_reason().is_some());
        let with_index = TableFacts { indexes: vec!["by_day".to_owned()], ..plain };
        assert!(with_index.rebuild_reason().unwrap().contains("by_day"));
    }

    #[test]
    fn the_object_does_not_depend_on_the_order_of_reading() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let one = TableFacts {
            understood: true,
            constraints: names(&["UNIQUE", "CHECK"]),
            ..TableFacts::default()
        };
        let other = TableFacts { constraints: names(&["CHECK", "UNIQUE"]), ..one.clone() };
        assert_eq!(one.to_json(), other.to_json());
    }
}
