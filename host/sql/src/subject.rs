//! The subject of a change: the tables, fields and expressions that its statements may name.

use std::collections::BTreeSet;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table, TableName};

/// The subject of one change.
#[derive(Debug, Default)]
pub(crate) struct Subject {
    /// Snake case, as in vocabularies.
    pub operation: String,
    /// The database of all objects.
    pub database: String,
    /// The table's name before the change; empty for an `other` change without a table.
    pub table: String,
    /// Tables that may be named: the table, its companions, its new name, announced names.
    pub tables: BTreeSet<String>,
    /// The fields that the change concerns.
    pub fields: BTreeSet<String>,
    /// All fields of the table, for statements that write the whole table.
    pub all_fields: BTreeSet<String>,
    /// The number of fields with data of their own, which a rebuild copies.
    pub kept_fields: usize,
    /// The field's name before and after, if it is altered.
    pub renamed: Option<(String, String)>,
    /// The field before the dropped one. The undo may restore the dropped one after it.
    pub before_dropped: Option<String>,
    /// The expressions of the change.
    pub expressions: BTreeSet<String>,
}

impl Subject {
    pub fn of(change: &Change, announced: &[TableName]) -> Subject {
        let mut subject = match change {
            Change::CreateTable(table) => Subject::about("create_table", table, table.fields.iter()),
            Change::RenameTable(rename) => {
                let mut subject = Subject::about("rename_table", &rename.current, [].iter());
                subject.tables.insert(rename.new_name.clone());
                subject
            }
            Change::RestoreTable(rename) => {
                let mut subject = Subject::about("restore_table", &rename.current, [].iter());
                subject.tables.insert(rename.new_name.clone());
                subject
            }
            Change::DropTable(drop) => Subject::about("drop_table", &drop.current, [].iter()),
            Change::CommentTable(comment) => Subject::about("comment_table", &comment.current, [].iter()),
            Change::AddField(add) => {
                let mut subject = Subject::about("add_field", &add.current, [&add.field].into_iter());
                subject.fields.extend(add.behind.clone());
                subject
            }
            Change::AlterField(alter) => {
                let mut subject =
                    Subject::about("alter_field", &alter.current, [&alter.before, &alter.after].into_iter());
                subject.renamed = Some((alter.before.name.clone(), alter.after.name.clone()));
                subject
            }
            Change::DropField(drop) => {
                let mut subject = Subject::about("drop_field", &drop.current, [].iter());
                subject.fields.insert(drop.field.clone());
                subject.before_dropped = before(&drop.current, &drop.field);
                let own = |field: &&Field| field.name == drop.field && field.generated.is_none();
                subject.kept_fields -= drop.current.fields.iter().filter(own).count();
                subject
            }
            Change::SetBuckets(set) => {
                let mut subject = Subject::about("set_buckets", &set.current, [].iter());
                // Servers set the number together with the distribution fields.
                subject.fields.extend(set.current.distribution.iter().cloned());
                subject
            }
            Change::SetReplicas(set) => Subject::about("set_replicas", &set.current, [].iter()),
            Change::Other(other) => {
                let mut subject = match &other.current {
                    Some(table) => Subject::about("", table, table.fields.iter()),
                    None => Subject::default(),
                };
                subject.operation = other.operation.clone();
                subject
            }
        };
        subject.tables.extend(announced.iter().map(|table| table.name.clone()));
        subject
    }

    fn about<'a>(operation: &str, table: &Table, fields: impl Iterator<Item = &'a Field>) -> Subject {
        let mut subject = Subject {
            operation: operation.to_owned(),
            database: table.name.database.clone(),
            table: table.name.name.clone(),
            kept_fields: table.fields.iter().filter(|field| field.generated.is_none()).count(),
            ..Subject::default()
        };
        subject.tables.insert(table.name.name.clone());
        subject.tables.extend(table.companions.iter().cloned());
        subject.add_expressions(&table.fields);
        subject.all_fields.extend(table.fields.iter().map(|field| field.name.clone()));
        for field in fields {
            subject.fields.insert(field.name.clone());
            subject.all_fields.insert(field.name.clone());
            subject.add_expressions(std::slice::from_ref(field));
        }
        subject
    }

    fn add_expressions(&mut self, fields: &[Field]) {
        for field in fields {
            if let DefaultValue::Expression(text) = &field.defaults_to {
                self.expressions.insert(text.clone());
            }
            self.expressions.extend(field.generated.clone());
        }
    }

    /// The table that these parts name, if it may be named.
    pub fn table_named<'a>(&self, parts: &'a [String]) -> Option<&'a str> {
        let name = match parts {
            [name] => name,
            [database, name] if *database == self.database => name,
            _ => return None,
        };
        self.tables.contains(name).then_some(name.as_str())
    }

    /// Whether these parts name a field that may be named; with `whole`, any of the table's.
    pub fn has_field(&self, parts: &[String], whole: bool) -> bool {
        let Some((field, table)) = parts.split_last() else { return false };
        let known = self.fields.contains(field) || whole && self.all_fields.contains(field);
        known && (table.is_empty() || self.table_named(table).is_some())
    }
}

/// The field before this one.
fn before(table: &Table, field: &str) -> Option<String> {
    let at = table.fields.iter().position(|one| one.name == field)?;
    Some(table.fields[at.checked_sub(1)?].name.clone())
}

#[cfg(test)]
#[path = "subject_tests.rs"]
mod tests;
