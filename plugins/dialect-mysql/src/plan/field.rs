//! Adds a field, or changes its name, type, nullability, default or comment.

use lakeport_sdk::dialect::{
    Action, AddField, AlterField, ChangePlan, DefaultValue, Field, Problem, Step, Table,
};

use super::create::COLUMNS_MAX;
use super::one;
use super::problems::{Checks, Problems};
use super::shape::{self, Column, depending};
use crate::extra::{FieldExtra, TableExtra};
use crate::server::Server;
use crate::types::change::{Effect, effect};
use crate::types::{self, Kind, Type};
use crate::{defaults, text};

/// Adds a field.
pub fn add(server: &Server, change: &AddField) -> Result<ChangePlan, Vec<Problem>> {
    let (table, field) = (&change.current, &change.field);
    let mut problems = Problems::default();
    let mut notes = Vec::new();
    problems.only_tables(table);
    problems.no_history(table);
    let column = Column::of(server, field, "", &mut problems, &mut notes);
    addable(change, &mut problems);
    problems.check()?;
    let column = column.expect("a field without problems is a column");
    let step = Step {
        undo: vec![Action::new(shape::drop_column(&table.name, &field.name))],
        undo_complete: true,
        ..Step::new(
            format!("adds the field {} to {}", field.name, table.name.name),
            shape::add_column(&table.name, &column, change.behind.as_deref()),
        )
    };
    Ok(one(step, notes))
}

fn addable(change: &AddField, problems: &mut Problems) {
    let (table, field) = (&change.current, &change.field);
    taken(table, None, &field.name, problems);
    if let Some(behind) = &change.behind
        && !table.fields.iter().any(|other| other.name == *behind)
    {
        problems.add("fieldOrder", "invalid_value", format!("there is no field {behind:?} to follow"));
    }
    if field.key {
        problems.unsupported("isPrimaryKey", "a field is not added to the key of a table that is there");
    }
    if field.generated.is_some() {
        problems.unsupported("fieldName", "generated fields are not made from here");
    }
    if !field.nullable && !defaults::gives_a_value(&field.defaults_to) {
        let message = "the rows that are there would silently get 0, an empty text or a date that is none: \
                       allow NULL, or give a default";
        problems.unsupported("isNullable", message);
    }
    if table.fields.len() >= COLUMNS_MAX {
        problems.add("", "invalid_value", format!("a table has {COLUMNS_MAX} fields at most"));
    }
}

fn taken(table: &Table, except: Option<&str>, name: &str, problems: &mut Problems) {
    let mut others = table.fields.iter().filter(|field| Some(field.name.as_str()) != except);
    if let Some(other) = others.find(|field| text::same_name(&field.name, name)) {
        let message = format!("there is a field {:?} already; the case of letters is ignored", other.name);
        problems.conflict("fieldName", message);
    }
}

/// A new name alone is a statement of its own; other changes write the complete definition.
pub fn alter(server: &Server, change: &AlterField) -> Result<ChangePlan, Vec<Problem>> {
    let (table, before, after) = (&change.current, &change.before, &change.after);
    let mut problems = Problems::default();
    let mut notes = Vec::new();
    problems.only_tables(table);
    problems.no_history(table);
    let renames = before.name != after.name;
    if renames {
        renamable(table, before, &after.name, &mut problems);
    }
    if before.key != after.key {
        problems.unsupported("isPrimaryKey", "the key of a table is not changed; make a new table");
    }
    if !redefines(server, before, after) {
        problems.check()?;
        return Ok(if renames { renamed(change) } else { ChangePlan::nothing(notes) });
    }
    // The current field: a definition that cannot be written back must not be overwritten.
    let (was, is_restorable) = as_it_was(server, table, before, after);
    if let Err(what) = &was {
        let message = format!("the field has a property that cannot be written back: {what}");
        problems.add(first_changed(before, after), "not_representable", message);
    }
    let types = [before, after].map(|field| types::parse(&field.type_text, Some(server)));
    if let [Ok(from), Ok(to)] = &types {
        retypable(table, before, from, to, &mut problems);
    }
    nullable(server, before, after, &mut problems);
    let column = redefined_as(server, before, after, &mut problems, &mut notes);
    let (Ok(was), Some(column)) = (was, column) else {
        problems.check()?;
        return Ok(ChangePlan::nothing(notes));
    };
    let effect = effect(&was.parsed, &column.parsed);
    let mut step = redefined(change, &was, &column, &effect);
    step.undo_complete &= is_restorable;
    problems.or(|| one(step, notes))
}

/// The field as its undo writes it, and whether that is complete: a default that is removed need not be
/// writable.
fn as_it_was(
    server: &Server,
    table: &Table,
    before: &Field,
    after: &Field,
) -> (Result<Column, String>, bool) {
    match Column::again(server, table, before) {
        Err(_) if !defaults::same(&before.defaults_to, &after.defaults_to) => {
            let bare = Field { defaults_to: DefaultValue::Absent, ..before.clone() };
            (Column::again(server, table, &bare), false)
        }
        was => (was, true),
    }
}

/// A default that stays is not part of the change: it is written as it is or, in another type, as that type
/// stores it.
fn redefined_as(
    server: &Server,
    before: &Field,
    after: &Field,
    problems: &mut Problems,
    notes: &mut Vec<Problem>,
) -> Option<Column> {
    if !defaults::same(&before.defaults_to, &after.defaults_to) {
        return Column::of(server, after, "", problems, notes);
    }
    if has_same_type(server, before, after) {
        return Column::keeping_default(server, after, problems);
    }
    let mut of_column = Problems::default();
    let column = Column::of(server, after, "", &mut of_column, notes);
    problems.add_as(of_column, "defaultValue", "fieldType");
    column
}

fn has_same_type(server: &Server, before: &Field, after: &Field) -> bool {
    let canonical = |field: &Field| types::parse(&field.type_text, Some(server)).map(|one| one.canonical());
    before.type_text == after.type_text
        || matches!((canonical(before), canonical(after)), (Ok(one), Ok(other)) if one == other)
}

/// Whether anything but the name changes.
fn redefines(server: &Server, before: &Field, after: &Field) -> bool {
    !has_same_type(server, before, after)
        || before.nullable != after.nullable
        || before.comment != after.comment
        || !defaults::same(&before.defaults_to, &after.defaults_to)
}

fn first_changed(before: &Field, after: &Field) -> &'static str {
    if before.type_text != after.type_text {
        "fieldType"
    } else if before.nullable != after.nullable {
        "isNullable"
    } else if !defaults::same(&before.defaults_to, &after.defaults_to) {
        "defaultValue"
    } else {
        "fieldComment"
    }
}

/// Refuses a renaming that objects which refer to the field by name would not follow.
fn renamable(table: &Table, field: &Field, new_name: &str, problems: &mut Problems) {
    taken(table, Some(&field.name), new_name, problems);
    if new_name.is_empty() {
        problems.add("fieldName", "missing", "a field needs a name");
    }
    let extra = FieldExtra::of(field);
    let mut in_the_way = |what: &str, names: &[String]| {
        if !names.is_empty() {
            let message = format!("{} is named by {what}: {}", field.name, names.join(", "));
            problems.conflict("fieldName", message);
        }
    };
    in_the_way("triggers, which would fail from then on", &extra.triggers);
    in_the_way("views, which would fail from then on", &extra.views);
    let checks = TableExtra::of(table).checks;
    let checks: Vec<String> = checks.into_iter().filter(|check| text::mentions(check, &field.name)).collect();
    in_the_way("CHECK constraints", &checks);
    let others: Vec<String> = depending(&table.fields, &field.name).into_iter().map(str::to_owned).collect();
    in_the_way("expressions of the fields", &others);
    if table.partition.contains(&field.name) {
        in_the_way("the partition of", std::slice::from_ref(&table.name.name));
    }
}

/// Checks whether the field's type can change.
fn retypable(table: &Table, field: &Field, was: &Type, becomes: &Type, problems: &mut Problems) {
    let effect = effect(was, becomes);
    if effect == Effect::Same {
        return;
    }
    let extra = FieldExtra::of(field);
    if let Effect::Loses(reason) = effect {
        let message = format!(
            "{} to {} can lose values: {reason}. Add a new field instead",
            was.canonical(),
            becomes.canonical()
        );
        problems.unsupported("fieldType", message);
    }
    let relatives: Vec<&str> =
        extra.references.iter().chain(&extra.referenced_by).map(String::as_str).collect();
    if !relatives.is_empty() {
        let message =
            format!("foreign keys tie the field to {}; both sides have one type", relatives.join(", "));
        problems.conflict("fieldType", message);
    }
    if field.generated.is_some() {
        problems.unsupported("fieldType", "the type of a generated field is not changed from here");
    }
    if table.partition.contains(&field.name) {
        problems.unsupported("fieldType", "the partition depends on the field");
    }
    if extra.auto_increment && !matches!(becomes.kind, Kind::Integer(_)) {
        problems.add("fieldType", "invalid_value", "a field with AUTO_INCREMENT is a whole number");
    }
    if extra.on_update && !matches!(becomes.kind, Kind::DateTime | Kind::Timestamp) {
        problems.add("fieldType", "invalid_value", "a field with ON UPDATE is a DATETIME or TIMESTAMP");
    }
    let is_indexed = field.key || !extra.indexes.is_empty();
    if is_indexed && was.can_be_key() && !becomes.can_be_key() {
        let message = format!("keys and indexes cannot have a whole {}", becomes.canonical());
        problems.conflict("fieldType", message);
    }
}

fn nullable(server: &Server, before: &Field, after: &Field, problems: &mut Problems) {
    if before.nullable == after.nullable {
        return;
    }
    if before.generated.is_some() {
        problems.unsupported("isNullable", "whether a generated field allows NULL is not changed from here");
    }
    if before.key && after.nullable {
        problems.add("isNullable", "invalid_value", "a field of the key never allows NULL");
    }
    if !after.nullable && !server.is_strict {
        let message = "without a strict sql_mode this server would silently put 0 or an empty text for NULL";
        problems.unsupported("isNullable", message);
    }
}

fn renamed(change: &AlterField) -> ChangePlan {
    let (table, before, after) = (&change.current.name, &change.before.name, &change.after.name);
    let step = Step {
        undo: vec![Action::new(shape::rename_column(table, after, before))],
        undo_complete: true,
        ..Step::new(
            format!("renames the field {before} of {} to {after}", table.name),
            shape::rename_column(table, before, after),
        )
    };
    one(step, Vec::new())
}

fn redefined(change: &AlterField, was: &Column, column: &Column, effect: &Effect) -> Step {
    let (table, before, after) = (&change.current.name, &change.before, &change.after);
    let (cost, locks) = match effect {
        Effect::Same if before.nullable == after.nullable => ("metadata", "brief"),
        Effect::Same => ("rewrite", "brief"),
        Effect::KeepsRows => ("in_place", "brief"),
        Effect::WritesRows | Effect::Loses(_) => ("rewrite", "writes"),
    };
    Step {
        undo: vec![Action::new(shape::redefine(table, &after.name, was))],
        undo_complete: true,
        cost: cost.to_owned(),
        locks: locks.to_owned(),
        ..Step::new(
            format!("gives the field {} of {} another definition", before.name, table.name),
            shape::redefine(table, &before.name, column),
        )
    }
}
