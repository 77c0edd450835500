//! Rebuilding a table: SQLite changes the type, the nullability and the default of a field in no other way.
//!
//! Creates another table, copies, drops the first, renames; the undo does the same in reverse, spread over
//! the steps so that each undoes its own effect.

use lakeport_sdk::dialect::{Action, AlterField, ChangePlan, Problem, Statement, Step, Table, TableName};

use super::problems::Problems;
use super::shape::{self, Column};
use crate::describe::NAME_MAX_CHARACTERS;
use crate::facts;
use crate::types::{Affinity, affinity};

/// The suffix of the new table's name until it is renamed.
const SUFFIX: &str = "_rebuild";

/// The columns of a table that can be rebuilt without loss; or the reason why it cannot.
pub fn columns(table: &Table) -> Result<Vec<Column>, String> {
    if let Some(reason) = facts::rebuild_reason(table) {
        return Err(reason);
    }
    table
        .fields
        .iter()
        .map(|field| {
            let mut problems = Problems::default();
            let column = Column::of(field, "", &mut problems);
            match (problems.check(), column) {
                (Ok(()), Some(column)) => Ok(column),
                (Err(found), _) => Err(format!("{}: {}", field.name, found[0].message)),
                (Ok(()), None) => Err(format!("{} cannot be written", field.name)),
            }
        })
        .collect()
}

/// Plans another definition of one field. `after` is that field as a column.
pub fn plan(change: &AlterField, after: Column, notes: Vec<Problem>) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let before = match columns(current) {
        Ok(columns) => columns,
        Err(reason) => {
            let message = format!(
                "SQLite changes a field in this way only by rebuilding the table, and of {} something would \
                 be lost: {reason}",
                current.name.name
            );
            return Err(vec![Problem::new(changed_member(change), "not_representable", message)]);
        }
    };
    let renamed = |name: &String| if *name == change.before.name { after.name.clone() } else { name.clone() };
    let new = Shape {
        columns: before
            .iter()
            .map(|column| if column.name == change.before.name { after.clone() } else { column.clone() })
            .collect(),
        keys: current.keys.iter().map(renamed).collect(),
    };
    let old = Shape { columns: before, keys: current.keys.clone() };
    let temporary = TableName::new(&current.name.database, temporary_name(&current.name.name));
    let destroys = loses_values(&change.before.type_text, &change.after.type_text);
    Ok(ChangePlan {
        steps: steps(&current.name, &temporary, &old, &new, destroys),
        transactional: true,
        new_names: vec![temporary],
        notes,
    })
}

/// The columns and key of a table before or after the change.
struct Shape {
    columns: Vec<Column>,
    keys: Vec<String>,
}

fn steps(table: &TableName, temporary: &TableName, old: &Shape, new: &Shape, destroys: bool) -> Vec<Step> {
    let step = |purpose: String, statement: Statement, undo: Statement| Step {
        undo: vec![Action::new(undo)],
        undo_complete: !destroys,
        cost: "rewrite".to_owned(),
        locks: "writes".to_owned(),
        ..Step::new(purpose, statement)
    };
    let (name, other) = (&table.name, &temporary.name);
    vec![
        Step {
            cost: "metadata".to_owned(),
            ..step(
                format!("makes {other} in the new shape"),
                shape::create(temporary, &new.columns, &new.keys),
                shape::drop(temporary),
            )
        },
        Step {
            destroys,
            ..step(
                format!("copies all rows of {name} to {other}"),
                copy(table, &old.columns, temporary, &new.columns),
                copy(temporary, &new.columns, table, &old.columns),
            )
        },
        step(
            format!("drops {name} in its old shape"),
            shape::drop(table),
            shape::create(table, &old.columns, &old.keys),
        ),
        Step {
            cost: "metadata".to_owned(),
            ..step(
                format!("renames {other} to {name}"),
                shape::rename(temporary, name),
                shape::rename(table, other),
            )
        },
    ]
}

/// Copies all rows, each column to itself.
fn copy(from: &TableName, sources: &[Column], into: &TableName, targets: &[Column]) -> Statement {
    Statement::new()
        .words("INSERT INTO")
        .name(shape::path(into))
        .in_parentheses(targets, |statement, column| statement.name([&column.name]))
        .words("SELECT")
        .list(sources, |statement, column| statement.name([&column.name]))
        .words("FROM")
        .name(shape::path(from))
}

/// Cut so that the suffix fits.
fn temporary_name(table: &str) -> String {
    let room = NAME_MAX_CHARACTERS as usize - SUFFIX.len();
    let kept: String = table.chars().take(room).collect();
    kept + SUFFIX
}

/// Whether conversion may change values: `007` as a number is 7.
fn loses_values(before: &str, after: &str) -> bool {
    let (before, after) = (affinity(before), affinity(after));
    let widens = matches!(
        (before, after),
        (Affinity::Integer, Affinity::Numeric | Affinity::Text) | (Affinity::Numeric, Affinity::Integer)
    );
    before != after && after != Affinity::Blob && !widens
}

/// The member that requires the rebuild, the type first.
fn changed_member(change: &AlterField) -> &'static str {
    let (before, after) = (&change.before, &change.after);
    if before.type_text != after.type_text {
        "fieldType"
    } else if before.nullable != after.nullable {
        "isNullable"
    } else {
        "defaultValue"
    }
}
