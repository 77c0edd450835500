//! Creating a table.

use lakeport_sdk::dialect::{Action, ChangePlan, Problem, Step, Table};

use super::problems::{Checks, NO_BUCKETS, NO_REPLICAS, comment_note, same_name};
use super::shape::{self, Column};
use super::{Problems, in_one};

/// The most columns of a table, SQLite's own default.
pub const COLUMNS_MAX: usize = 2_000;

/// Plans a new table.
pub fn plan(table: &Table) -> Result<ChangePlan, Vec<Problem>> {
    let mut problems = Problems::default();
    problems.only_tables(table);
    problems.table_name(&table.name.name);
    without_places(table, &mut problems);
    let mut columns = Vec::new();
    for (index, field) in table.fields.iter().enumerate() {
        let prefix = format!("fields[{index}].");
        columns.extend(Column::of(field, &prefix, &mut problems));
        if table.fields[..index].iter().any(|other| same_name(&other.name, &field.name)) {
            let message =
                format!("there are two fields {:?}; SQLite ignores the case of letters", field.name);
            problems.add(format!("{prefix}fieldName"), "conflict", message);
        }
    }
    if table.fields.is_empty() {
        problems.add("fields", "missing", "SQLite has no tables without fields");
    } else if table.fields.len() > COLUMNS_MAX {
        problems.add("fields", "invalid_value", format!("SQLite takes {COLUMNS_MAX} fields at most"));
    }
    keys(table, &mut problems);
    problems.or(|| {
        let step = Step {
            undo: vec![Action::new(shape::drop(&table.name))],
            undo_complete: true,
            locks: "none".to_owned(),
            ..Step::new(
                format!("makes the table {}", table.name.name),
                shape::create(&table.name, &columns, &table.keys),
            )
        };
        in_one(vec![step], notes(table))
    })
}

fn keys(table: &Table, problems: &mut Problems) {
    for (index, key) in table.keys.iter().enumerate() {
        if !table.fields.iter().any(|field| field.name == *key) {
            problems.add("keyColumns", "invalid_value", format!("the key names {key:?}, which is no field"));
        } else if table.keys[..index].contains(key) {
            problems.add("keyColumns", "conflict", format!("the key names {key:?} twice"));
        }
    }
}

/// Reports members that SQLite does not support.
fn without_places(table: &Table, problems: &mut Problems) {
    if let Some(model) = &table.model {
        let message = format!("SQLite has one kind of table and no model {model:?}");
        problems.unsupported("tableModel", message);
    }
    if !table.distribution.is_empty() {
        problems.unsupported("distributionColumn", "SQLite runs on one machine and distributes nothing");
    }
    if table.buckets.is_some() {
        problems.unsupported("bucketNum", NO_BUCKETS);
    }
    if table.replicas.is_some() {
        problems.unsupported("replicaNum", NO_REPLICAS);
    }
    if !table.partition.is_empty() {
        problems.unsupported("partitionColumn", "SQLite has no partitions");
    }
}

fn notes(table: &Table) -> Vec<Problem> {
    let of_table = (!table.comment.is_empty()).then(|| comment_note("tableComment"));
    let of_fields = table.fields.iter().enumerate().filter(|(_, field)| !field.comment.is_empty());
    of_table
        .into_iter()
        .chain(of_fields.map(|(index, _)| comment_note(format!("fields[{index}].fieldComment"))))
        .collect()
}
