//! Changes of one field.

use lakeport_sdk::dialect::{
    Action, AddField, AlterField, ChangePlan, DefaultValue, DropField, Field, Problem, ServerInfo, Step,
    Table,
};

use super::create::COLUMNS_MAX;
use super::problems::{Problems, comment_note, same_name};
use super::shape::{self, Column};
use super::{in_one, rebuild};
use crate::version::{DROP_COLUMN, RENAME_COLUMN, is_at_least};
use crate::{defaults, facts, types};

/// Adds a field. SQLite puts it last and checks existing rows, so a change that would fail on a table with
/// rows is always refused.
pub fn add(server: &ServerInfo, change: &AddField) -> Result<ChangePlan, Vec<Problem>> {
    let (table, field) = (&change.current, &change.field);
    let mut problems = Problems::default();
    problems.only_tables(table);
    let column = Column::of(field, "", &mut problems);
    addable(table, field, &mut problems);
    if table.fields.len() >= COLUMNS_MAX {
        problems.add("", "invalid_value", format!("SQLite takes {COLUMNS_MAX} fields at most"));
    }
    problems.check()?;
    let column = column.expect("a field without problems is a column");
    let can_drop = is_at_least(server, DROP_COLUMN);
    let undo = can_drop.then(|| Action::new(shape::drop_column(&table.name, &field.name)));
    let step = Step {
        undo: undo.into_iter().collect(),
        undo_complete: can_drop,
        ..Step::new(
            format!("adds the field {} to {}", field.name, table.name.name),
            shape::add_column(&table.name, &column),
        )
    };
    Ok(in_one(vec![step], add_notes(change)))
}

fn addable(table: &Table, field: &Field, problems: &mut Problems) {
    if let Some(other) = table.fields.iter().find(|other| same_name(&other.name, &field.name)) {
        let message =
            format!("there is a field {:?} already; SQLite ignores the case of letters", other.name);
        problems.add("fieldName", "conflict", message);
    }
    if field.key {
        problems.unsupported("isPrimaryKey", "SQLite cannot add a field to the key of a table that is there");
    }
    if !defaults::is_constant(&field.defaults_to) {
        let message =
            "SQLite adds fields only with a constant default: a text, a number, a truth value or NULL";
        problems.unsupported("defaultValue", message);
    } else if !field.nullable && !defaults::gives_a_value(&field.defaults_to) {
        let message = "the rows that are there need a value: allow NULL, or give a default other than NULL";
        problems.unsupported("isNullable", message);
    }
    let strict_type = types::parse(&field.type_text).is_ok_and(|parsed| types::is_strict(&parsed.canonical));
    if facts::is_strict(table) && !strict_type {
        let message = "the table is STRICT and takes only INT, INTEGER, REAL, TEXT, BLOB and ANY";
        problems.add("fieldType", "invalid_value", message);
    }
}

fn add_notes(change: &AddField) -> Vec<Problem> {
    let mut notes = Vec::new();
    if !change.field.comment.is_empty() {
        notes.push(comment_note("fieldComment"));
    }
    let last = change.current.fields.last().map(|field| &field.name);
    if change.behind.is_some() && change.behind.as_ref() != last {
        let message = "SQLite puts a new field last, whatever it should follow";
        notes.push(Problem::new("fieldOrder", "adjusted", message));
    }
    notes
}

/// A new name is a statement of its own; a new type, nullability or default rebuilds the table; Lakeport
/// alone keeps the comment.
pub fn alter(server: &ServerInfo, change: &AlterField) -> Result<ChangePlan, Vec<Problem>> {
    let (before, after) = (&change.before, &change.after);
    let mut problems = Problems::default();
    problems.only_tables(&change.current);
    let renames = before.name != after.name;
    let reshapes = reshapes(before, after);
    if renames {
        renamable(server, change, &mut problems);
    }
    if before.key != after.key {
        problems.unsupported("isPrimaryKey", "the key of a SQLite table cannot be changed; make a new table");
    }
    let column = if reshapes { Column::of(after, "", &mut problems) } else { None };
    problems.check()?;
    let notes: Vec<Problem> = (before.comment != after.comment && !after.comment.is_empty())
        .then(|| comment_note("fieldComment"))
        .into_iter()
        .collect();
    if let Some(column) = column {
        return rebuild::plan(change, column, notes);
    }
    if !renames {
        return Ok(ChangePlan::nothing(notes));
    }
    let table = &change.current.name;
    let step = Step {
        undo: vec![Action::new(shape::rename_column(table, &after.name, &before.name))],
        undo_complete: true,
        ..Step::new(
            format!("renames the field {} of {} to {}", before.name, table.name, after.name),
            shape::rename_column(table, &before.name, &after.name),
        )
    };
    Ok(in_one(vec![step], notes))
}

fn reshapes(before: &Field, after: &Field) -> bool {
    let canonical = |field: &Field| types::parse(&field.type_text).map(|parsed| parsed.canonical).ok();
    let same_type = before.type_text == after.type_text
        || canonical(before).is_some() && canonical(before) == canonical(after);
    !same_type || before.nullable != after.nullable || before.defaults_to != after.defaults_to
}

fn renamable(server: &ServerInfo, change: &AlterField, problems: &mut Problems) {
    let (before, after) = (&change.before, &change.after);
    let taken = |field: &&Field| field.name != before.name && same_name(&field.name, &after.name);
    if let Some(other) = change.current.fields.iter().find(taken) {
        let message =
            format!("there is a field {:?} already; SQLite ignores the case of letters", other.name);
        problems.add("fieldName", "conflict", message);
    }
    if after.name.is_empty() {
        problems.add("fieldName", "missing", "a field needs a name");
    }
    if !is_at_least(server, RENAME_COLUMN) {
        problems
            .unsupported("fieldName", format!("SQLite {} cannot rename fields; 3.25 can", server.version));
    }
}

/// Drops a field with its values.
pub fn drop(server: &ServerInfo, change: &DropField) -> Result<ChangePlan, Vec<Problem>> {
    let table = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(table);
    let field = table.fields.iter().find(|field| field.name == change.field);
    match field {
        None => problems.add(
            "fieldName",
            "missing",
            format!("{} has no field {:?}", table.name.name, change.field),
        ),
        Some(field) => droppable(server, table, field, &mut problems),
    }
    problems.check()?;
    let undo = field.and_then(as_added_again).map(|column| shape::add_column(&table.name, &column));
    let step = Step {
        undo: undo.map(Action::new).into_iter().collect(),
        destroys: true,
        cost: "rewrite".to_owned(),
        locks: "writes".to_owned(),
        ..Step::new(
            format!("drops the field {} of {} with its values", change.field, table.name.name),
            shape::drop_column(&table.name, &change.field),
        )
    };
    Ok(in_one(vec![step], Vec::new()))
}

fn droppable(server: &ServerInfo, table: &Table, field: &Field, problems: &mut Problems) {
    let mut refuse = |message: String| problems.unsupported("fieldName", message);
    if !is_at_least(server, DROP_COLUMN) {
        refuse(format!("SQLite {} cannot drop fields; 3.35 can", server.version));
    } else if field.key || table.keys.contains(&field.name) {
        refuse(format!("{} belongs to the key, which SQLite does not drop", field.name));
    } else if table.fields.len() == 1 {
        refuse(format!("{} is the last field; drop the table instead", field.name));
    }
    let holds = |word: &String| matches!(word.as_str(), "UNIQUE" | "REFERENCES");
    if let Some(word) = facts::constraints(field).into_iter().find(holds) {
        refuse(format!("{} has {word}, with which SQLite drops no field", field.name));
    }
}

/// A dropped field in a form that can be added again to a table with rows: without the parts that SQLite
/// refuses there.
fn as_added_again(field: &Field) -> Option<Column> {
    let mut problems = Problems::default();
    let mut column = Column::of(field, "", &mut problems)?;
    problems.check().ok()?;
    if !defaults::is_constant(&column.default) {
        column.default = DefaultValue::Absent;
    }
    column.nullable |= !defaults::gives_a_value(&column.default);
    Some(column)
}
