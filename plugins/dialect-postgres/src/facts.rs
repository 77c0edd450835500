//! Facts about a table and its fields beyond the contract's members. `reader` writes them into `extra`, and
//! `planner` reads them there.
//!
//! The facts stay equal under every change that loses nothing: sorted, without the names of the table and its
//! fields. An object that depends on one field belongs to that field; one that depends on several, or none,
//! to the table.

use std::collections::BTreeSet;

use lakeport_sdk::dialect::{Field, Reference, Table};
use lakeport_sdk::serde_json::{Map, Value, from_str};

/// Facts about a table: single words, and lists of names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableFacts {
    /// Its partitioning method: `RANGE`, `LIST`, `HASH`.
    pub partitioned_by: Option<String>,
    /// Whether the partitioning uses expressions.
    pub by_expression: bool,
    /// The number of its direct partitions.
    pub partitions: u64,
    /// The table that it is a partition of.
    pub partition_of: Option<String>,
    /// Whether it is a typed table (`OF`).
    pub of_type: bool,
    /// The extension that it belongs to.
    pub extension: Option<String>,
    /// `unlogged`.
    pub persistence: Option<String>,
    /// Tables that it inherits from.
    pub inherits: BTreeSet<String>,
    /// Tables that inherit from it.
    pub children: BTreeSet<String>,
    /// Objects that prevent dropping it: views, foreign keys of other tables.
    pub users: BTreeSet<String>,
    /// Its own objects that belong to no single field: constraints, indexes, triggers.
    pub parts: BTreeSet<String>,
    /// Its foreign keys of single fields, for the host alone. Changes may alter their names.
    pub references: Vec<Reference>,
}

/// Facts about a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldFacts {
    /// `always` or `by default`, for an identity.
    pub identity: Option<String>,
    /// Its collation, if it is not its type's default.
    pub collation: Option<String>,
    /// Storage settings that differ from its type's defaults.
    pub storage: BTreeSet<String>,
    /// Whether it is inherited, so that only the parent can change it.
    pub inherited: bool,
    /// Whether a partition has another default for it.
    pub defaults_differ: bool,
    /// The kind of its type, if it is not a base type: `domain`, `enum`.
    pub type_kind: Option<String>,
    /// Objects that are dropped with it and belong to no other field.
    pub own: BTreeSet<String>,
    /// Objects that are dropped with it and belong to other fields, too.
    pub shared: BTreeSet<String>,
    /// Objects that prevent dropping it or changing its type.
    pub users: BTreeSet<String>,
}

impl TableFacts {
    /// The facts read about the table; `None` if there are none.
    pub fn of(table: &Table) -> Option<TableFacts> {
        let extra = object(table.extra.as_deref())?;
        Some(TableFacts {
            partitioned_by: word(&extra, "partitionedBy"),
            by_expression: flag(&extra, "partitionedByExpression"),
            partitions: extra.get("partitions").and_then(Value::as_u64).unwrap_or(0),
            partition_of: word(&extra, "partitionOf"),
            of_type: flag(&extra, "ofType"),
            extension: word(&extra, "extension"),
            persistence: word(&extra, "persistence"),
            inherits: names(&extra, "inherits"),
            children: names(&extra, "children"),
            users: names(&extra, "users"),
            parts: names(&extra, "parts"),
            references: Vec::new(),
        })
    }

    /// The object for `table.extra`.
    pub fn to_json(&self) -> String {
        let mut extra = Map::new();
        put_names(&mut extra, "children", &self.children);
        put_word(&mut extra, "extension", self.extension.as_ref());
        put_names(&mut extra, "inherits", &self.inherits);
        put_flag(&mut extra, "ofType", self.of_type);
        put_names(&mut extra, "parts", &self.parts);
        put_word(&mut extra, "partitionOf", self.partition_of.as_ref());
        put_word(&mut extra, "partitionedBy", self.partitioned_by.as_ref());
        put_flag(&mut extra, "partitionedByExpression", self.by_expression);
        if self.partitions > 0 {
            extra.insert("partitions".to_owned(), self.partitions.into());
        }
        put_word(&mut extra, "persistence", self.persistence.as_ref());
        if !self.references.is_empty() {
            extra.insert("references".to_owned(), Reference::list(&self.references));
        }
        put_names(&mut extra, "users", &self.users);
        Value::Object(extra).to_string()
    }
}

impl FieldFacts {
    /// The facts read about the field; without `extra` it has no special properties.
    pub fn of(field: &Field) -> FieldFacts {
        let Some(extra) = object(field.extra.as_deref()) else { return FieldFacts::default() };
        FieldFacts {
            identity: word(&extra, "identity"),
            collation: word(&extra, "collation"),
            storage: names(&extra, "storage"),
            inherited: flag(&extra, "inherited"),
            defaults_differ: flag(&extra, "defaultsDiffer"),
            type_kind: word(&extra, "typeKind"),
            own: names(&extra, "own"),
            shared: names(&extra, "shared"),
            users: names(&extra, "users"),
        }
    }

    /// The object for `field.extra`; `None` if it would be empty.
    pub fn to_json(&self) -> Option<String> {
        let mut extra = Map::new();
        put_word(&mut extra, "collation", self.collation.as_ref());
        put_flag(&mut extra, "defaultsDiffer", self.defaults_differ);
        put_word(&mut extra, "identity", self.identity.as_ref());
        put_flag(&mut extra, "inherited", self.inherited);
        put_names(&mut extra, "own", &self.own);
        put_names(&mut extra, "shared", &self.shared);
        put_names(&mut extra, "storage", &self.storage);
        put_word(&mut extra, "typeKind", self.type_kind.as_ref());
        put_names(&mut extra, "users", &self.users);
        (!extra.is_empty()).then(|| Value::Object(extra).to_string())
    }
}

/// Names as a list for people.
pub fn listed(names: &BTreeSet<String>) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(SHOWN).map(String::as_str).collect();
    match names.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

fn object(extra: Option<&str>) -> Option<Map<String, Value>> {
    match from_str(extra?) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

fn word(extra: &Map<String, Value>, member: &str) -> Option<String> {
    extra.get(member)?.as_str().map(str::to_owned)
}

fn flag(extra: &Map<String, Value>, member: &str) -> bool {
    extra.get(member) == Some(&Value::Bool(true))
}

fn names(extra: &Map<String, Value>, member: &str) -> BTreeSet<String> {
    let items = extra.get(member).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn put_word(extra: &mut Map<String, Value>, member: &str, value: Option<&String>) {
    if let Some(value) = value {
        extra.insert(member.to_owned(), value.as_str().into());
    }
}

fn put_flag(extra: &mut Map<String, Value>, member: &str, value: bool) {
    if value {
        extra.insert(member.to_owned(), true.into());
    }
}

fn put_names(extra: &mut Map<String, Value>, member: &str, value: &BTreeSet<String>) {
    if !value.is_empty() {
        let items = value.iter().map(|name| name.as_str().into()).collect();
        extra.insert(member.to_owned(), Value::Array(items));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn what_is_put_into_extra_is_found_there() {
        let facts = FieldFacts {
            identity: Some("always".to_owned()),
            inherited: true,
            defaults_differ: true,
            own: set(&["index a", "index b"]),
            users: set(&["view v"]),
            ..FieldFacts::default()
        };
        let field = Field { extra: facts.to_json(), ..Field::new("a", "integer") };
        assert_eq!(FieldFacts::of(&field), facts);
        assert_eq!(FieldFacts::default().to_json(), None);
        assert_eq!(FieldFacts::of(&Field { extra: Some("[".to_owned()), ..field }), FieldFacts::default());
        assert_eq!(TableFacts::default().to_json(), "{}");
    }

    #[test]
    fn a_long_list_is_cut_and_says_so() {
        assert_eq!(listed(&set(&["a", "b"])), "a, b");
        assert_eq!(listed(&set(&["a", "b", "c", "d", "e", "f", "g"])), "a, b, c, d, e and 2 more");
    }
}
