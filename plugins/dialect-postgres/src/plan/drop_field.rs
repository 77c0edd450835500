//! Dropping a field.

use lakeport_sdk::dialect::{Action, ChangePlan, DropField, Field, Problem, Step, Table};

use super::in_one;
use super::mentions::generated_from;
use super::problems::{Checks, Problems, note};
use super::shape::{self, Column};
use crate::defaults;
use crate::facts::{FieldFacts, TableFacts, listed};

/// Drops a field with its values. PostgreSQL would silently drop the key, and indexes and constraints of
/// several fields, with one of them; here they prevent the change.
pub fn plan(change: &DropField) -> Result<ChangePlan, Vec<Problem>> {
    let table = &change.current;
    let mut problems = Problems::default();
    let of_table = problems.fields_changeable(table);
    let Some(field) = table.fields.iter().find(|field| field.name == change.field) else {
        let message = format!("{} has no field {:?}", table.name.name, change.field);
        problems.add("fieldName", "missing", message);
        return problems.check().map(|()| ChangePlan::nothing(Vec::new()));
    };
    let facts = FieldFacts::of(field);
    droppable(table, field, &facts, &of_table, &mut problems);
    problems.or(|| {
        let step = Step {
            undo: added_again(table, field),
            destroys: true,
            ..Step::new(
                format!("drops the field {} of {} with its values", field.name, table.name.name),
                shape::drop_column(&table.name, &field.name),
            )
        };
        let with_it = (!facts.own.is_empty())
            .then(|| note(format!("{} of the field {} go with it", listed(&facts.own), field.name)));
        in_one(vec![step], with_it.into_iter().collect())
    })
}

fn droppable(
    table: &Table,
    field: &Field,
    facts: &FieldFacts,
    of_table: &TableFacts,
    problems: &mut Problems,
) {
    let name = &field.name;
    let mut refuse = |message: String| problems.unsupported("fieldName", message);
    if field.key || table.keys.contains(name) {
        refuse(format!(
            "{name} belongs to the key, which PostgreSQL would drop along with it without a word"
        ));
    }
    if table.partition.contains(name) {
        refuse(format!("the table is partitioned by {name}"));
    }
    if of_table.by_expression {
        refuse("the table is partitioned by an expression, in which the field may be".to_owned());
    }
    if facts.inherited {
        refuse(format!("{name} is inherited from {}", listed(&of_table.inherits)));
    }
    if table.fields.len() == 1 {
        refuse(format!("{name} is the last field; drop the table instead"));
    }
    let generated = generated_from(table, name);
    if !generated.is_empty() {
        problems.conflict("fieldName", format!("{} are generated from {name}", generated.join(", ")));
    }
    if !facts.users.is_empty() {
        let message = format!("{} use {name}; they would have to go first", listed(&facts.users));
        problems.conflict("fieldName", message);
    }
    if !facts.shared.is_empty() {
        let message = format!(
            "{} are of {name} and of other fields, and PostgreSQL would drop them along with it without a word",
            listed(&facts.shared)
        );
        problems.conflict("fieldName", message);
    }
}

/// The field without its values, as it can be added again to a table with rows.
fn added_again(table: &Table, field: &Field) -> Vec<Action> {
    let Some(mut column) = Column::again(field) else { return Vec::new() };
    column.nullable |= !defaults::gives_a_value(&column.default);
    let mut actions = vec![Action::new(shape::add_column(&table.name, &column))];
    if !column.comment.is_empty() {
        actions.push(Action::new(shape::comment_field(&table.name, &column.name, &column.comment)));
    }
    actions
}
