//! Declared foreign keys of single fields, for the member `references` of a table's `extra`.

use serde_json::{Value, json};

/// The most references of a table; the host reads no more.
const REFERENCES_MAX: usize = 100;

/// A declared foreign key of a single field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

impl Reference {
    /// The value of the member `references`: sorted, without duplicates, 100 at most.
    pub fn list(references: &[Reference]) -> Value {
        let mut sorted: Vec<&Reference> = references.iter().collect();
        sorted.sort_unstable();
        sorted.dedup();
        sorted.truncate(REFERENCES_MAX);
        let shown = |one: &Reference| json!({"field": one.field, "database": one.database, "table": one.table, "key": one.key});
        Value::Array(sorted.into_iter().map(shown).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(field: &str) -> Reference {
        Reference {
            field: field.to_owned(),
            database: "shop".to_owned(),
            table: "customer".to_owned(),
            key: "no".to_owned(),
        }
    }

    #[test]
    fn references_are_sorted_and_bounded() {
        let list = Reference::list(&[reference("seller"), reference("buyer"), reference("seller")]);
        let expected = json!([
            {"field": "buyer", "database": "shop", "table": "customer", "key": "no"},
            {"field": "seller", "database": "shop", "table": "customer", "key": "no"},
        ]);
        assert_eq!(list, expected);
        let many: Vec<Reference> = (0..150).map(|number| reference(&format!("f{number}"))).collect();
        assert_eq!(Reference::list(&many).as_array().map(Vec::len), Some(100));
    }
}
