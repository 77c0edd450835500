//! Creating a table.

use lakeport_sdk::dialect::{Action, ChangePlan, Problem, Step, Table};

use super::one;
use super::problems::{Checks, NO_BUCKETS, NO_REPLICAS, Problems, TABLE_COMMENT_MAX, adjusted};
use super::shape::{self, Column};
use crate::server::Server;
use crate::text::same_name;

/// The most columns of a table of InnoDB.
pub const COLUMNS_MAX: usize = 1_017;
/// The most columns of a key.
const KEY_MAX: usize = 16;

/// Plans a new table.
pub fn plan(server: &Server, table: &Table) -> Result<ChangePlan, Vec<Problem>> {
    let mut problems = Problems::default();
    let mut notes = Vec::new();
    problems.only_tables(table);
    problems.table_name(server, &table.name.name);
    problems.comment("tableComment", &table.comment, TABLE_COMMENT_MAX);
    without_places(table, &mut problems);
    let mut columns = Vec::new();
    for (index, field) in table.fields.iter().enumerate() {
        let prefix = format!("fields[{index}].");
        if table.fields[..index].iter().any(|other| same_name(&other.name, &field.name)) {
            let message = format!("there are two fields {:?}; the case of letters is ignored", field.name);
            problems.conflict(format!("{prefix}fieldName"), message);
        }
        if field.generated.is_some() {
            let message =
                format!("the field {:?} is generated; such fields are not made from here", field.name);
            problems.unsupported(format!("{prefix}fieldName"), message);
        }
        let mut column = Column::of(server, field, &prefix, &mut problems, &mut notes);
        if let Some(column) = &mut column
            && table.keys.contains(&field.name)
            && column.nullable
        {
            column.nullable = false;
            notes.push(adjusted(format!("{prefix}isNullable"), "a field of the key never allows NULL"));
        }
        columns.extend(column);
    }
    if table.fields.is_empty() {
        problems.add("fields", "missing", "there are no tables without fields");
    } else if table.fields.len() > COLUMNS_MAX {
        problems.add("fields", "invalid_value", format!("a table has {COLUMNS_MAX} fields at most"));
    }
    keys(server, table, &columns, &mut problems);
    partition(table, &columns, &mut problems);
    problems.or(|| {
        let statement =
            shape::create(server, &table.name, &columns, &table.keys, &table.partition, &table.comment);
        let step = Step {
            undo: vec![Action::new(shape::drop(&table.name))],
            undo_complete: true,
            locks: "none".to_owned(),
            ..Step::new(format!("makes the table {}", table.name.name), statement)
        };
        if !table.partition.is_empty() {
            let message = "the table begins with one partition for all rows; split it as they come";
            notes.push(adjusted("", message));
        }
        one(step, notes)
    })
}

fn keys(server: &Server, table: &Table, columns: &[Column], problems: &mut Problems) {
    for (index, key) in table.keys.iter().enumerate() {
        if !table.fields.iter().any(|field| field.name == *key) {
            problems.add("keyColumns", "invalid_value", format!("the key names {key:?}, which is no field"));
        } else if table.keys[..index].contains(key) {
            problems.conflict("keyColumns", format!("the key names {key:?} twice"));
        }
        if let Some(column) = columns.iter().find(|column| column.name == *key && !column.parsed.can_be_key())
        {
            let message =
                format!("a key cannot have a whole {}; VARCHAR(n) can be one", column.parsed.canonical());
            problems.add("keyColumns", "invalid_value", message);
        }
    }
    if table.keys.len() > KEY_MAX {
        problems.add("keyColumns", "invalid_value", format!("a key has {KEY_MAX} fields at most"));
    }
    if table.keys.is_empty() && server.makes_keys {
        let message = "this server adds a hidden key to a table without one \
                       (sql_generate_invisible_primary_key); name a key";
        problems.add("keyColumns", "missing", message);
    }
}

/// Every key must include the fields of the partitioning, and not every type supports ranges.
fn partition(table: &Table, columns: &[Column], problems: &mut Problems) {
    for (index, name) in table.partition.iter().enumerate() {
        let mut wrong = |message: String| problems.add("partitionColumn", "invalid_value", message);
        let Some(field) = table.fields.iter().find(|field| field.name == *name) else {
            wrong(format!("the partition names {name:?}, which is no field"));
            continue;
        };
        if table.partition[..index].contains(name) {
            wrong(format!("the partition names {name:?} twice"));
        }
        if !table.keys.is_empty() && !table.keys.contains(name) {
            wrong(format!("{name} must be part of the key to be part of the partition"));
        }
        let column = columns.iter().find(|column| column.name == field.name);
        if let Some(column) = column.filter(|column| !column.parsed.can_partition()) {
            wrong(format!(
                "{} cannot be cut into ranges; whole numbers, DATE, DATETIME, CHAR and VARCHAR can",
                column.parsed.canonical()
            ));
        }
    }
    if table.partition.len() > KEY_MAX {
        problems.add("partitionColumn", "invalid_value", format!("a partition has {KEY_MAX} fields at most"));
    }
}

/// Reports members that the server does not support.
fn without_places(table: &Table, problems: &mut Problems) {
    if let Some(model) = &table.model {
        problems.unsupported("tableModel", format!("MySQL and MariaDB have no table model {model:?}"));
    }
    if !table.distribution.is_empty() {
        problems.unsupported("distributionColumn", "MySQL and MariaDB keep a table on one machine");
    }
    if table.buckets.is_some() {
        problems.unsupported("bucketNum", NO_BUCKETS);
    }
    if table.replicas.is_some() {
        problems.unsupported("replicaNum", NO_REPLICAS);
    }
}
