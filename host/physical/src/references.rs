//! Declared foreign keys of single fields: the member `references` of a table's `extra`, the only one that the host
//! reads.

use lakeport_bindings::dialect::schema::Table;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The member's name.
const MEMBER: &str = "references";
/// The most references of a table, by the contract.
const REFERENCES_MAX: usize = 100;

/// A declared foreign key of a single field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The field that refers.
    pub field: String,
    /// The database (or schema) of the table that it refers to.
    pub database: String,
    /// The table that it refers to.
    pub table: String,
    /// The field that it refers to, which identifies a row there.
    pub key: String,
}

/// The references of a table. Items of another form, which later versions may document, are left out.
pub fn references(table: &Table) -> Vec<Reference> {
    let Some(mut extra) = object(table.extra.as_deref()) else { return Vec::new() };
    let Some(Value::Array(items)) = extra.get_mut(MEMBER).map(Value::take) else { return Vec::new() };
    let read = items.into_iter().filter_map(|item| serde_json::from_value(item).ok());
    read.take(REFERENCES_MAX).collect()
}

/// Both texts of `extra` without their references, whose names a change may alter. Without any, they are unchanged.
pub(crate) fn without_references(wanted: Option<&str>, found: Option<&str>) -> (String, String) {
    let texts = [wanted, found];
    let has_references = |extra: &Option<&str>| object(*extra).is_some_and(|extra| is_list(&extra[MEMBER]));
    let is_plain = !texts.iter().any(has_references);
    let [wanted, found] = texts.map(|extra| match object(extra) {
        Some(Value::Object(members)) if !is_plain => {
            let others = members.into_iter().filter(|(name, value)| name != MEMBER || !is_list(value));
            Value::Object(others.collect()).to_string()
        }
        _ => extra.unwrap_or_default().to_owned(),
    });
    (wanted, found)
}

/// A list of objects: a dialect may have had another member of this name.
fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|items| items.iter().all(Value::is_object))
}

fn object(extra: Option<&str>) -> Option<Value> {
    serde_json::from_str::<Value>(extra?).ok().filter(Value::is_object)
}

#[cfg(test)]
mod tests {
    use lakeport_bindings::dialect::schema::TableName;

    use super::*;

    fn table(extra: &str) -> Table {
        Table {
            name: TableName { database: "main".to_owned(), name: "orders".to_owned() },
            kind: "table".to_owned(),
            comment: String::new(),
            fields: Vec::new(),
            keys: Vec::new(),
            model: None,
            distribution: Vec::new(),
            buckets: None,
            replicas: None,
            partition: Vec::new(),
            companions: Vec::new(),
            extra: Some(extra.to_owned()),
        }
    }

    const BUYER: &str = r#"{"field":"buyer","database":"main","table":"customer","key":"no"}"#;

    #[test]
    fn references_are_read_and_others_left_out() {
        let found = references(&table(&format!(r#"{{"references":[{BUYER},{{"fields":["a","b"]}}]}}"#)));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].field.as_str(), found[0].key.as_str()), ("buyer", "no"));
        for other in ["", "[]", "{}", r#"{"references":"x"}"#, r#"{"references":["a"]}"#] {
            assert!(references(&table(other)).is_empty(), "{other}");
        }
        let many = vec![BUYER; 150].join(",");
        assert_eq!(references(&table(&format!(r#"{{"references":[{many}]}}"#))).len(), 100);
    }

    #[test]
    fn references_alone_are_no_difference() {
        let with = format!(r#"{{"indexes": [], "references": [{BUYER}], "triggers": [], "views": []}}"#);
        let without = r#"{"indexes":[],"triggers":[],"views":[]}"#;
        let (one, other) = without_references(Some(&with), Some(without));
        assert_eq!(one, other);
        let (one, other) = without_references(Some(&with), Some(r#"{"indexes":["a"]}"#));
        assert_ne!(one, other);
        for plain in [r#"{"a": 1}"#, r#"{"references": ["a"]}"#, "no object"] {
            let (one, other) = without_references(Some(plain), None);
            assert_eq!((one.as_str(), other.as_str()), (plain, ""));
        }
    }
}
