//! Adding a field.

use lakeport_sdk::dialect::{Action, AddField, ChangePlan, Problem, ServerInfo, Step};

use super::create::COLUMNS_MAX;
use super::in_one;
use super::problems::{Checks, Problems};
use super::shape::{self, Column};
use crate::defaults;

/// Adds a field. PostgreSQL puts it last; existing rows get the default. A change that would fail on a table
/// with rows is always refused.
pub fn add(server: &ServerInfo, change: &AddField) -> Result<ChangePlan, Vec<Problem>> {
    let (table, field) = (&change.current, &change.field);
    let mut problems = Problems::default();
    problems.fields_changeable(table);
    let column = Column::wanted(server, field, "", &mut problems);
    if table.fields.iter().any(|other| other.name == field.name) {
        problems.conflict("fieldName", format!("there is a field {:?} already", field.name));
    }
    if field.key {
        problems.unsupported("isPrimaryKey", "the key of a table that is there stays as it is");
    }
    if !field.nullable && !defaults::gives_a_value(&field.defaults_to) {
        let message = "the rows that are there need a value: allow NULL, or give a default other than NULL";
        problems.unsupported("isNullable", message);
    }
    if table.fields.len() >= COLUMNS_MAX {
        problems.add("", "invalid_value", format!("PostgreSQL takes {COLUMNS_MAX} fields at most"));
    }
    problems.check()?;
    let steps = column.map(|column| steps(change, &column)).unwrap_or_default();
    Ok(in_one(steps, notes(change)))
}

fn steps(change: &AddField, column: &Column) -> Vec<Step> {
    let table = &change.current.name;
    let mut steps = vec![Step {
        undo: vec![Action::new(shape::drop_column(table, &column.name))],
        undo_complete: true,
        ..Step::new(
            format!("adds the field {} to {}", column.name, table.name),
            shape::add_column(table, column),
        )
    }];
    if !column.comment.is_empty() {
        let comment = shape::comment_field(table, &column.name, &column.comment);
        steps.push(Step::new(format!("comments on the field {}", column.name), comment));
    }
    steps
}

fn notes(change: &AddField) -> Vec<Problem> {
    let last = change.current.fields.last().map(|field| &field.name);
    if change.behind.is_none() || change.behind.as_ref() == last {
        return Vec::new();
    }
    let message = "PostgreSQL puts a new field last, whatever it should follow";
    vec![Problem::new("fieldOrder", "adjusted", message)]
}
