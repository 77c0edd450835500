//! Creating a table.

use lakeport_sdk::dialect::{Action, ChangePlan, Problem, ServerInfo, Step, Table, TableName};

use super::problems::{Checks, NO_BUCKETS, NO_REPLICAS, Problems, note};
use super::shape::{self, Column};
use super::{in_one, partition};

/// The most columns of a table.
pub const COLUMNS_MAX: usize = 1_600;
/// The most columns of a key.
const KEY_MAX: usize = 32;

/// Plans a new table: the table, the partition that takes all rows at first, and the comments, each a
/// statement of its own.
pub fn plan(server: &ServerInfo, table: &Table) -> Result<ChangePlan, Vec<Problem>> {
    let mut problems = Problems::default();
    if table.kind != "table" {
        problems.unsupported("", format!("{} is a {}; only tables are made", table.name.name, table.kind));
    }
    problems.table_name(&table.name.name);
    without_places(table, &mut problems);
    let mut columns = Vec::new();
    for (index, field) in table.fields.iter().enumerate() {
        let prefix = format!("fields[{index}].");
        columns.extend(Column::wanted(server, field, &prefix, &mut problems));
        if table.fields[..index].iter().any(|other| other.name == field.name) {
            problems.conflict(format!("{prefix}fieldName"), format!("there are two fields {:?}", field.name));
        }
    }
    match table.fields.len() {
        0 => problems.add("fields", "missing", "a table needs a field"),
        1..=COLUMNS_MAX => {}
        _ => {
            problems.add("fields", "invalid_value", format!("PostgreSQL takes {COLUMNS_MAX} fields at most"))
        }
    }
    keys(table, &columns, &mut problems);
    partitions(table, &columns, &mut problems);
    problems.or(|| made(table, &key_columns_given(table, columns)))
}

/// A key never contains NULL, whatever its fields declare.
fn key_columns_given(table: &Table, mut columns: Vec<Column>) -> Vec<Column> {
    for column in columns.iter_mut().filter(|column| table.keys.contains(&column.name)) {
        column.nullable = false;
    }
    columns
}

fn made(table: &Table, columns: &[Column]) -> ChangePlan {
    let name = &table.name;
    let mut steps = vec![Step {
        undo: vec![Action::new(shape::drop(name))],
        undo_complete: true,
        locks: "none".to_owned(),
        ..Step::new(
            format!("makes the table {}", name.name),
            shape::create(name, columns, &table.keys, &table.partition),
        )
    }];
    let mut new_names = Vec::new();
    if !table.partition.is_empty() {
        let other = TableName::new(&name.database, partition::companion_name(&name.name));
        steps.push(Step {
            undo: vec![Action::new(shape::drop(&other))],
            undo_complete: true,
            ..Step::new(
                format!("makes the partition {} for rows that no other takes", other.name),
                shape::create_default(&other, name),
            )
        });
        let mark = shape::comment_table(&other, partition::MARK);
        steps.push(Step::new(format!("marks the partition {}", other.name), mark));
        new_names.push(other);
    }
    if !table.comment.is_empty() {
        let comment = shape::comment_table(name, &table.comment);
        steps.push(Step::new(format!("comments on {}", name.name), comment));
    }
    for column in columns.iter().filter(|column| !column.comment.is_empty()) {
        let comment = shape::comment_field(name, &column.name, &column.comment);
        steps.push(Step::new(format!("comments on the field {}", column.name), comment));
    }
    ChangePlan { new_names, ..in_one(steps, notes(table)) }
}

fn keys(table: &Table, columns: &[Column], problems: &mut Problems) {
    if table.keys.len() > KEY_MAX {
        problems.add("keyColumns", "invalid_value", format!("a key has {KEY_MAX} fields at most"));
    }
    for (index, key) in table.keys.iter().enumerate() {
        let of = columns.iter().find(|column| column.name == *key).map(|column| &column.of);
        if !table.fields.iter().any(|field| field.name == *key) {
            problems.add("keyColumns", "invalid_value", format!("the key names {key:?}, which is no field"));
        } else if table.keys[..index].contains(key) {
            problems.conflict("keyColumns", format!("the key names {key:?} twice"));
        } else if of.is_some_and(|of| !of.is_ordered()) {
            problems.add(
                "keyColumns",
                "invalid_value",
                format!("the type of {key:?} cannot be part of a key"),
            );
        }
    }
}

fn partitions(table: &Table, columns: &[Column], problems: &mut Problems) {
    if table.partition.len() > KEY_MAX {
        problems.add(
            "partitionColumn",
            "invalid_value",
            format!("a table is partitioned by {KEY_MAX} fields at most"),
        );
    }
    for (index, name) in table.partition.iter().enumerate() {
        let of = columns.iter().find(|column| column.name == *name).map(|column| &column.of);
        let mut refuse = |message: String| problems.add("partitionColumn", "invalid_value", message);
        if !table.fields.iter().any(|field| field.name == *name) {
            refuse(format!("{name:?} is no field"));
        } else if table.partition[..index].contains(name) {
            refuse(format!("{name:?} is there twice"));
        } else if of.is_some_and(|of| !of.is_ordered()) {
            refuse(format!("the type of {name:?} has no order to partition by"));
        } else if !table.keys.is_empty() && !table.keys.contains(name) {
            refuse(format!("the key of a partitioned table must have {name:?}, which it is partitioned by"));
        }
    }
}

/// Reports members that PostgreSQL does not support.
fn without_places(table: &Table, problems: &mut Problems) {
    if let Some(model) = &table.model {
        let message = format!("PostgreSQL has one kind of table and no model {model:?}");
        problems.unsupported("tableModel", message);
    }
    if !table.distribution.is_empty() {
        problems.unsupported("distributionColumn", "PostgreSQL runs on one machine and distributes nothing");
    }
    if table.buckets.is_some() {
        problems.unsupported("bucketNum", NO_BUCKETS);
    }
    if table.replicas.is_some() {
        problems.unsupported("replicaNum", NO_REPLICAS);
    }
}

fn notes(table: &Table) -> Vec<Problem> {
    let nullable_keys = table
        .fields
        .iter()
        .enumerate()
        .filter(|(_, field)| field.nullable && table.keys.contains(&field.name))
        .map(|(index, field)| {
            let message = format!("{} belongs to the key, which takes no NULL", field.name);
            Problem::new(format!("fields[{index}].isNullable"), "adjusted", message)
        });
    let partitioned = (!table.partition.is_empty()).then(|| {
        note(format!(
            "all rows go to the partition {} until others are made in the database",
            partition::companion_name(&table.name.name)
        ))
    });
    nullable_keys.chain(partitioned).collect()
}
