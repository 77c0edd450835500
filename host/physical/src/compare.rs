//! Compares a table as it was read back with what a change should have given.

use std::collections::BTreeMap;

use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};
use lakeport_bindings::host::types::Problem;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// As the HTTP interface names it: `fields[2].fieldType`.
    pub member: String,
    /// What it should be.
    pub wanted: String,
    /// What it is.
    pub found: String,
    /// Whether the plan had said so in a note, or it is a matter of order alone.
    pub announced: bool,
}

/// What a comparison depends on.
pub(crate) struct Comparing<'a> {
    /// One spelling for every type text of both tables.
    pub canonical: &'a BTreeMap<String, String>,
    /// The plan's notes: what they say was adjusted is announced.
    pub notes: &'a [Problem],
    /// Whether the database has a place for comments of tables and of fields.
    pub table_comment: bool,
    pub field_comment: bool,
    /// The table before the change: what the dialect keeps of its own must be as it was.
    pub before: Option<&'a Table>,
}

impl Comparing<'_> {
    /// Everything that differs.
    pub fn run(&self, wanted: &Table, found: &Table) -> Vec<Difference> {
        let mut differences = Vec::new();
        self.text("tableName", &wanted.name.name, &found.name.name, &mut differences);
        if self.table_comment {
            self.text("tableComment", &wanted.comment, &found.comment, &mut differences);
        }
        self.text("keyColumns", &wanted.keys.join(","), &found.keys.join(","), &mut differences);
        self.text("distributionColumn", &wanted.distribution.join(","), &found.distribution.join(","), &mut differences);
        self.text("partitionColumn", &wanted.partition.join(","), &found.partition.join(","), &mut differences);
        if self.before.is_some() {
            self.text("extra", &shown(&wanted.extra), &shown(&found.extra), &mut differences);
        }
        for (index, field) in wanted.fields.iter().enumerate() {
            let member = format!("fields[{index}]");
            match found.fields.iter().find(|candidate| candidate.name == field.name) {
                Some(other) => self.field(&member, field, other, &mut differences),
                None => self.text(&format!("{member}.fieldName"), &field.name, "", &mut differences),
            }
        }
        for field in &found.fields {
            if !wanted.fields.iter().any(|known| known.name == field.name) {
                self.text("fields", "", &field.name, &mut differences);
            }
        }
        let order = |table: &Table| table.fields.iter().map(|field| field.name.clone()).collect::<Vec<_>>();
        let (wanted_order, found_order) = (order(wanted), order(found));
        if differences.is_empty() && wanted_order != found_order {
            differences.push(Difference {
                member: "fields".to_owned(),
                wanted: wanted_order.join(","),
                found: found_order.join(","),
                announced: true,
            });
        }
        differences
    }

    fn field(&self, member: &str, wanted: &Field, found: &Field, differences: &mut Vec<Difference>) {
        let canonical = |field: &Field| {
            self.canonical.get(&field.type_text).cloned().unwrap_or_else(|| field.type_text.clone())
        };
        self.text(&format!("{member}.fieldType"), &canonical(wanted), &canonical(found), differences);
        let nullable = |field: &Field| if field.nullable { "true" } else { "false" };
        self.text(&format!("{member}.isNullable"), nullable(wanted), nullable(found), differences);
        let (default, other) = (default(&wanted.defaults_to), default(&found.defaults_to));
        self.text(&format!("{member}.defaultValue"), &default, &other, differences);
        if self.field_comment {
            self.text(&format!("{member}.fieldComment"), &wanted.comment, &found.comment, differences);
        }
        let (generated, other) = (shown(&wanted.generated), shown(&found.generated));
        self.text(&format!("{member}.generated"), &generated, &other, differences);
        // What a dialect keeps of a field it made only now is its own affair.
        let was_there = self.before.is_some_and(|before| {
            before.fields.iter().any(|field| field.name == wanted.name && field.extra == wanted.extra)
        });
        if was_there {
            self.text(&format!("{member}.extra"), &shown(&wanted.extra), &shown(&found.extra), differences);
        }
    }

    fn text(&self, member: &str, wanted: &str, found: &str, differences: &mut Vec<Difference>) {
        if wanted == found {
            return;
        }
        let last = |member: &str| member.rsplit('.').next().unwrap_or_default().to_owned();
        let announced = self
            .notes
            .iter()
            .any(|note| note.code == "adjusted" && last(&note.member) == last(member));
        differences.push(Difference {
            member: member.to_owned(),
            wanted: wanted.to_owned(),
            found: found.to_owned(),
            announced,
        });
    }
}

fn shown(value: &Option<String>) -> String {
    value.clone().unwrap_or_default()
}

/// A default as text. Without one a field takes NULL, as it does with NULL said explicitly.
fn default(value: &DefaultValue) -> String {
    match value {
        DefaultValue::Absent | DefaultValue::Null => "NULL".to_owned(),
        DefaultValue::Text(text) => format!("text {text:?}"),
        DefaultValue::Number(number) => format!("number {number}"),
        DefaultValue::Boolean(value) => format!("boolean {value}"),
        DefaultValue::Now(digits) => format!("now({digits})"),
        DefaultValue::Expression(text) => format!("expression {text}"),
    }
}
