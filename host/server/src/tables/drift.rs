//! Drift: differences that a sync finds between a database and the catalogue. They are shown until a later
//! sync, or a change made by Lakeport, finds both equal. Pure functions.
//!
//! The catalogue adopts the found values. Members that the catalogue did not have, or that the database
//! cannot store, are no drift.

use std::collections::HashMap;

use super::definitions::Drift;
use super::reconcile::{FoundField, FoundTable, Known, KnownField};

/// The most stored differences of a table.
const DRIFT_MAX: usize = 100;

/// The drift of a missing table.
pub fn of_missing() -> [Drift; 1] {
    [Drift { what: "physical".to_owned(), expected: true.to_string(), found: false.to_string() }]
}

/// The differences of an existing table. Fields are named by their indices in the catalogue, from 0.
pub fn of_found(known: &Known, found: &FoundTable) -> Vec<Drift> {
    let mut all = Differences { is_physical: known.is_physical, drift: Vec::new() };
    all.said("tableComment", &known.comment, &found.comment);
    all.said("tableModel", &known.model, &found.model);
    all.said("distributionColumn", &names(&known.distribution), &names(&found.distribution));
    all.said("bucketNum", &known.buckets.map(text), &found.buckets.map(text));
    all.said("replicaNum", &known.replicas.map(text), &found.replicas.map(text));
    all.said("partitionColumn", &names(&known.partition), &names(&found.partition));
    all.is("keyColumns", &names(&known.keys), &names(&found.keys));
    let mut before: Vec<&KnownField> = known.fields.iter().collect();
    before.sort_by_key(|field| field.place);
    let there: HashMap<&str, &FoundField> =
        found.fields.iter().map(|field| (field.name.as_str(), field)).collect();
    for (place, field) in before.iter().enumerate() {
        match there.get(field.name.as_str()) {
            Some(found) => all.field(place, field, found),
            None => all.push(format!("fields[{place}].fieldName"), field.name.clone(), String::new()),
        }
    }
    let is_known = |name: &str| before.iter().any(|field| field.name == name);
    for field in found.fields.iter().filter(|field| !is_known(&field.name)) {
        all.push("fields".to_owned(), String::new(), field.name.clone());
    }
    all.drift.truncate(DRIFT_MAX);
    all.drift
}

fn text(number: impl ToString) -> String {
    number.to_string()
}

/// A list of names without blanks.
fn names(list: &Option<String>) -> Option<String> {
    list.as_ref().map(|list| list.split(',').map(str::trim).collect::<Vec<_>>().join(","))
}

struct Differences {
    /// It was physical before: then the catalogue had all of its members.
    is_physical: bool,
    drift: Vec<Drift>,
}

impl Differences {
    fn push(&mut self, what: String, expected: String, found: String) {
        self.drift.push(Drift { what, expected, found });
    }

    /// A member that a database may not support.
    fn said(&mut self, what: &str, expected: &Option<String>, found: &Option<String>) {
        if found.is_some() {
            self.is(what, expected, found);
        }
    }

    /// A member that all databases report.
    fn is(&mut self, what: &str, expected: &Option<String>, found: &Option<String>) {
        if expected != found && (self.is_physical || expected.is_some()) {
            let shown = |value: &Option<String>| value.clone().unwrap_or_default();
            self.push(what.to_owned(), shown(expected), shown(found));
        }
    }

    fn field(&mut self, place: usize, known: &KnownField, found: &FoundField) {
        let member = |name: &str| format!("fields[{place}].{name}");
        // A user's spelling of a type is free; the database's own spelling is no drift then.
        if self.is_physical && !known.type_text.eq_ignore_ascii_case(&found.type_text) {
            self.push(member("fieldType"), known.type_text.clone(), found.type_text.clone());
        }
        let (was_key, was_nullable) = (known.is_key == 1, known.is_nullable == 1);
        if was_key != found.is_key {
            self.push(member("isPrimaryKey"), was_key.to_string(), found.is_key.to_string());
        }
        // A key is never null, whatever its definition says.
        let is_key = was_key && found.is_key;
        if was_nullable != found.is_nullable && (self.is_physical || !is_key) {
            self.push(member("isNullable"), was_nullable.to_string(), found.is_nullable.to_string());
        }
        self.is(&member("defaultValue"), &known.default, &found.default);
        self.said(&member("fieldComment"), &known.comment, &found.comment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known_field(name: &str, type_text: &str, place: i64) -> KnownField {
        KnownField {
            id: place,
            table_id: 1,
            name: name.to_owned(),
            type_text: type_text.to_owned(),
            comment: Some("ours".to_owned()),
            is_key: (place == 1).into(),
            is_nullable: 1,
            default: None,
            place,
        }
    }

    fn known() -> Known {
        Known {
            id: 1,
            name: "t".to_owned(),
            is_physical: true,
            comment: Some("ours".to_owned()),
            keys: Some("id, day".to_owned()),
            fields: vec![known_field("day", "text", 2), known_field("id", "INTEGER", 1)],
            ..Known::default()
        }
    }

    fn found() -> FoundTable {
        let field = |name: &str, type_text: &str| FoundField {
            name: name.to_owned(),
            type_text: type_text.to_owned(),
            comment: None,
            is_key: name == "id",
            is_nullable: true,
            default: None,
        };
        FoundTable {
            name: "t".to_owned(),
            comment: None,
            model: None,
            distribution: None,
            buckets: None,
            replicas: None,
            keys: Some("id,day".to_owned()),
            partition: None,
            foreign_keys: "[]".to_owned(),
            fields: vec![field("id", "INTEGER"), field("day", "TEXT")],
        }
    }

    fn told(drift: &[Drift]) -> Vec<String> {
        drift.iter().map(|one| format!("{} {}>{}", one.what, one.expected, one.found)).collect()
    }

    #[test]
    fn equal_or_unsupported_properties_are_no_drift() {
        assert_eq!(of_found(&known(), &found()), []);
    }

    #[test]
    fn drift_names_expected_and_found() {
        let mut found = found();
        found.comment = Some("theirs".to_owned());
        found.keys = None;
        found.fields[0].is_key = false;
        found.fields[0].is_nullable = false;
        found.fields[0].default = Some("7".to_owned());
        found.fields[1].name = "date".to_owned();
        assert_eq!(
            told(&of_found(&known(), &found)),
            [
                "tableComment ours>theirs",
                "keyColumns id,day>",
                "fields[0].isPrimaryKey true>false",
                "fields[0].isNullable true>false",
                "fields[0].defaultValue >7",
                "fields[1].fieldName day>",
                "fields >date",
            ]
        );
    }

    #[test]
    fn an_uncreated_definition_expects_stated_values_only() {
        let mut known = Known { is_physical: false, comment: None, keys: None, ..known() };
        let mut found = found();
        found.comment = Some("theirs".to_owned());
        found.fields[0].is_nullable = false;
        found.fields[1].default = Some("now".to_owned());
        assert_eq!(of_found(&known, &found), []);
        known.fields[0].name = "date".to_owned();
        assert_eq!(told(&of_found(&known, &found)), ["fields[1].fieldName date>", "fields >day"]);
    }
}
