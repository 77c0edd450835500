//! Facts about fields and tables beyond the contract's members. `reader` writes them into `extra`, and
//! `planner` reads them there.
//!
//! They stay equal under every change that loses nothing: lists are sorted, and the table's own name, its
//! fields' names and names that the server derives from them are left out. So are empty values.

use lakeport_sdk::dialect::{Field, Reference, Table};
use lakeport_sdk::serde_json::{Map, Value, from_str, json};

/// Stands for the table's own name in lists.
pub const ITSELF: &str = "itself";

/// Facts about a field.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FieldExtra {
    /// AUTO_INCREMENT.
    pub auto_increment: bool,
    /// ON UPDATE CURRENT_TIMESTAMP, with as many digits as its type has.
    pub on_update: bool,
    /// A generated field whose values are stored.
    pub stored: bool,
    /// INVISIBLE.
    pub invisible: bool,
    /// Its collation, if it is not the table's.
    pub collation: Option<String>,
    /// The collation's character set.
    pub character_set: Option<String>,
    /// Parts of its definition that cannot be written back: `CHECK`, `SRID 4326`.
    pub unwritable: Vec<String>,
    /// Indexes that it is part of, except the key: `by_day, part 2 of 3`.
    pub indexes: Vec<String>,
    /// Tables that its foreign keys refer to.
    pub references: Vec<String>,
    /// Tables whose foreign keys refer to it.
    pub referenced_by: Vec<String>,
    /// Triggers of the table that name it.
    pub triggers: Vec<String>,
    /// Views that name it and the table, if they were queried.
    pub views: Vec<String>,
}

/// Facts about a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableExtra {
    /// Its storage engine: `InnoDB`.
    pub engine: String,
    /// Its collation, the default of new fields.
    pub collation: String,
    /// Its other options: `row_format=COMPRESSED`.
    pub options: String,
    /// Its partitioning method: `RANGE COLUMNS`.
    pub partitioning: String,
    /// WITH SYSTEM VERSIONING.
    pub versioned: bool,
    /// Its indexes except the key: `by_day (unique)`.
    pub indexes: Vec<String>,
    /// Its foreign keys: parent and actions.
    pub foreign_keys: Vec<String>,
    /// Tables whose foreign keys refer to it.
    pub referenced_by: Vec<String>,
    /// Its CHECK constraints, each as an expression.
    pub checks: Vec<String>,
    /// Its triggers.
    pub triggers: Vec<String>,
    /// Views that name it, or its name before the recycle bin, if they were queried.
    pub views: Vec<String>,
    /// Its foreign keys of single fields, for the host alone. Changes may alter their names.
    pub references: Vec<Reference>,
}

impl FieldExtra {
    /// The facts of a field that was read; empty for a requested one.
    pub fn of(field: &Field) -> FieldExtra {
        let object = object(field.extra.as_deref());
        FieldExtra {
            auto_increment: flag(&object, "autoIncrement"),
            on_update: flag(&object, "onUpdate"),
            stored: flag(&object, "stored"),
            invisible: flag(&object, "invisible"),
            collation: text(&object, "collation"),
            character_set: text(&object, "characterSet"),
            unwritable: list(&object, "unwritable"),
            indexes: list(&object, "indexes"),
            references: list(&object, "references"),
            referenced_by: list(&object, "referencedBy"),
            triggers: list(&object, "triggers"),
            views: list(&object, "views"),
        }
    }

    /// The object for `field.extra`; `None` if it would be empty.
    pub fn to_json(&self) -> Option<String> {
        let mut object = Map::new();
        put_flag(&mut object, "autoIncrement", self.auto_increment);
        put_text(&mut object, "characterSet", self.character_set.as_deref().unwrap_or_default());
        put_text(&mut object, "collation", self.collation.as_deref().unwrap_or_default());
        put_list(&mut object, "indexes", &self.indexes);
        put_flag(&mut object, "invisible", self.invisible);
        put_flag(&mut object, "onUpdate", self.on_update);
        put_list(&mut object, "referencedBy", &self.referenced_by);
        put_list(&mut object, "references", &self.references);
        put_flag(&mut object, "stored", self.stored);
        put_list(&mut object, "triggers", &self.triggers);
        put_list(&mut object, "unwritable", &self.unwritable);
        put_list(&mut object, "views", &self.views);
        (!object.is_empty()).then(|| Value::Object(object).to_string())
    }
}

impl TableExtra {
    /// The facts of a table that was read; empty for a requested one.
    pub fn of(table: &Table) -> TableExtra {
        let object = object(table.extra.as_deref());
        let word = |name: &str| text(&object, name).unwrap_or_default();
        TableExtra {
            engine: word("engine"),
            collation: word("collation"),
            options: word("options"),
            partitioning: word("partitioning"),
            versioned: flag(&object, "versioned"),
            indexes: list(&object, "indexes"),
            foreign_keys: list(&object, "foreignKeys"),
            referenced_by: list(&object, "referencedBy"),
            checks: list(&object, "checks"),
            triggers: list(&object, "triggers"),
            views: list(&object, "views"),
            references: Vec::new(),
        }
    }

    /// The object for `table.extra`.
    pub fn to_json(&self) -> String {
        let mut object = Map::new();
        put_list(&mut object, "checks", &self.checks);
        put_text(&mut object, "collation", &self.collation);
        put_text(&mut object, "engine", &self.engine);
        put_list(&mut object, "foreignKeys", &self.foreign_keys);
        put_list(&mut object, "indexes", &self.indexes);
        put_text(&mut object, "options", &self.options);
        put_text(&mut object, "partitioning", &self.partitioning);
        put_list(&mut object, "referencedBy", &self.referenced_by);
        if !self.references.is_empty() {
            object.insert("references".to_owned(), Reference::list(&self.references));
        }
        put_list(&mut object, "triggers", &self.triggers);
        put_flag(&mut object, "versioned", self.versioned);
        put_list(&mut object, "views", &self.views);
        Value::Object(object).to_string()
    }

    /// Whether a CREATE statement from the contract's members would create the same table.
    pub fn is_plain(&self) -> bool {
        let lists = [&self.indexes, &self.foreign_keys, &self.checks, &self.triggers];
        lists.iter().all(|list| list.is_empty())
            && self.partitioning.is_empty()
            && !self.versioned
            && self.engine.eq_ignore_ascii_case("InnoDB")
    }
}

fn object(extra: Option<&str>) -> Value {
    extra.and_then(|text| from_str::<Value>(text).ok()).unwrap_or_default()
}

fn flag(object: &Value, name: &str) -> bool {
    object[name].as_bool().unwrap_or(false)
}

fn text(object: &Value, name: &str) -> Option<String> {
    object[name].as_str().map(str::to_owned)
}

fn list(object: &Value, name: &str) -> Vec<String> {
    let items = object[name].as_array().map(Vec::as_slice).unwrap_or_default();
    items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn put_flag(object: &mut Map<String, Value>, name: &str, value: bool) {
    if value {
        object.insert(name.to_owned(), Value::Bool(true));
    }
}

fn put_text(object: &mut Map<String, Value>, name: &str, value: &str) {
    if !value.is_empty() {
        object.insert(name.to_owned(), json!(value));
    }
}

/// Sorted, without duplicates.
fn put_list(object: &mut Map<String, Value>, name: &str, values: &[String]) {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if !sorted.is_empty() {
        object.insert(name.to_owned(), json!(sorted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_again() {
        let names = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let table = TableExtra {
            engine: "InnoDB".to_owned(),
            versioned: true,
            indexes: names(&["a", "b"]),
            checks: names(&["`a` > 0"]),
            ..TableExtra::default()
        };
        let name = lakeport_sdk::dialect::TableName::new("shop", "orders");
        let read = Table { extra: Some(table.to_json()), ..Table::new(name, Vec::new()) };
        assert_eq!(TableExtra::of(&read), table);
        assert!(!table.is_plain());
    }

    #[test]
    fn the_object_does_not_depend_on_the_order_of_reading() {
        let extra = |list: &[&str]| FieldExtra {
            indexes: list.iter().map(|&name| name.to_owned()).collect(),
            ..FieldExtra::default()
        };
        assert_eq!(extra(&["b", "a"]).to_json(), extra(&["a", "b", "a"]).to_json());
        assert_eq!(FieldExtra::default().to_json(), None);
    }
}
