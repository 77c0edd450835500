//! Compares a table as it was read back with the result that the change should have.

use std::collections::BTreeMap;

use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table};
use lakeport_bindings::host::types::Problem;

use crate::references::without_references;

/// A difference between the expected and the found table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The member's path in the HTTP interface: `fields[2].fieldType`.
    pub member: String,
    /// The expected value.
    pub wanted: String,
    /// The found value.
    pub found: String,
    /// Whether a note of the plan announced it, or only the order differs.
    pub announced: bool,
}

/// The inputs of a comparison besides the two tables.
pub(crate) struct Comparing<'a> {
    /// The canonical spelling of each type text of both tables.
    pub canonical: &'a BTreeMap<String, String>,
    /// The plan's notes: the adjustments in them count as announced.
    pub notes: &'a [Problem],
    /// Whether the database can store comments of tables and of fields.
    pub table_comment: bool,
    pub field_comment: bool,
    /// The table before the change: the dialect's own properties must not have changed.
    pub before: Option<&'a Table>,
}

impl Comparing<'_> {
    /// All differences.
    pub fn run(&self, wanted: &Table, found: &Table) -> Vec<Difference> {
        let mut differences = Vec::new();
        self.text("tableName", &wanted.name.name, &found.name.name, &mut differences);
        if self.table_comment {
            self.text("tableComment", &wanted.comment, &found.comment, &mut differences);
        }
        self.text("keyColumns", &wanted.keys.join(","), &found.keys.join(","), &mut differences);
        self.text(
            "distributionColumn",
            &wanted.distribution.join(","),
            &found.distribution.join(","),
            &mut differences,
        );
        self.text(
            "partitionColumn",
            &wanted.partition.join(","),
            &found.partition.join(","),
            &mut differences,
        );
        if self.before.is_some() {
            let (extra, other) = without_references(wanted.extra.as_deref(), found.extra.as_deref());
            self.text("extra", &extra, &other, &mut differences);
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
        // A dialect chooses its own properties of a field that the change creates.
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
        let announced =
            self.notes.iter().any(|note| note.code == "adjusted" && last(&note.member) == last(member));
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

/// A default as text. No default is the same as an explicit NULL.
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

#[cfg(test)]
mod tests {
    use lakeport_bindings::dialect::schema::TableName;

    use super::*;

    fn field(name: &str) -> Field {
        Field {
            name: name.to_owned(),
            type_text: "INT".to_owned(),
            nullable: true,
            key: false,
            comment: "of a field".to_owned(),
            defaults_to: DefaultValue::Absent,
            generated: None,
            extra: Some("{}".to_owned()),
        }
    }

    fn table() -> Table {
        Table {
            name: TableName { database: "main".to_owned(), name: "t".to_owned() },
            kind: "table".to_owned(),
            comment: "of the table".to_owned(),
            fields: vec![field("a"), field("b")],
            keys: vec!["a".to_owned()],
            model: None,
            distribution: Vec::new(),
            buckets: None,
            replicas: None,
            partition: Vec::new(),
            companions: Vec::new(),
            extra: Some("{}".to_owned()),
        }
    }

    /// The members that differ, announced ones in parentheses.
    fn members(notes: &[Problem], comments: bool, change: impl FnOnce(&mut Table)) -> Vec<String> {
        let wanted = table();
        let mut found = table();
        change(&mut found);
        let spellings = [("INT", "integer"), ("INTEGER", "integer"), ("TEXT", "text")];
        let canonical = spellings.map(|(text, canonical)| (text.to_owned(), canonical.to_owned())).into();
        let comparing = Comparing {
            canonical: &canonical,
            notes,
            table_comment: comments,
            field_comment: comments,
            before: Some(&wanted),
        };
        let shown = |difference: Difference| match difference.announced {
            true => format!("({})", difference.member),
            false => difference.member,
        };
        comparing.run(&wanted, &found).into_iter().map(shown).collect()
    }

    #[test]
    fn spellings_of_one_type_are_one() {
        assert!(members(&[], true, |found| found.fields[0].type_text = "INTEGER".to_owned()).is_empty());
        assert!(members(&[], true, |found| found.fields[0].defaults_to = DefaultValue::Null).is_empty());
    }

    #[test]
    fn everything_else_is_seen() {
        type Edit = fn(&mut Table);
        let edits: [(Edit, &str); 11] = [
            (|found| found.name.name = "u".to_owned(), "tableName"),
            (|found| found.comment.clear(), "tableComment"),
            (|found| found.keys.clear(), "keyColumns"),
            (|found| found.extra = None, "extra"),
            (|found| found.fields[1].type_text = "TEXT".to_owned(), "fields[1].fieldType"),
            (|found| found.fields[1].nullable = false, "fields[1].isNullable"),
            (|found| found.fields[1].comment.clear(), "fields[1].fieldComment"),
            (|found| found.fields[1].extra = None, "fields[1].extra"),
            (
                |found| found.fields[1].defaults_to = DefaultValue::Number("1".to_owned()),
                "fields[1].defaultValue",
            ),
            (|found| drop(found.fields.pop()), "fields[1].fieldName"),
            (|found| found.fields.push(field("c")), "fields"),
        ];
        for (edit, member) in edits {
            assert_eq!(members(&[], true, edit), [member]);
        }
        assert_eq!(members(&[], true, |found| found.fields.reverse()), ["(fields)"]);
    }

    #[test]
    fn what_was_announced_or_has_no_place_does_not_count() {
        let note = |member: &str| Problem {
            member: member.to_owned(),
            code: "adjusted".to_owned(),
            message: "stored otherwise".to_owned(),
        };
        let shorter = |found: &mut Table| found.fields[1].comment.clear();
        assert_eq!(members(&[note("fieldComment")], true, shorter), ["(fields[1].fieldComment)"]);
        assert_eq!(members(&[note("fieldType")], true, shorter), ["fields[1].fieldComment"]);
        assert!(members(&[], false, shorter).is_empty());
    }
}
