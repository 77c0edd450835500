//! Changes of a whole table.

use lakeport_sdk::dialect::{
    Action, ChangePlan, CommentTable, DropTable, Problem, RenameTable, Step, Table, TableName,
};

use super::problems::{Checks, Problems, note};
use super::shape::{self, Column};
use super::{in_one, partition};
use crate::facts::{TableFacts, listed};

/// Renames a table, as for the recycle bin. The default partition is renamed with it.
pub fn rename(change: &RenameTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current.name;
    let mut problems = Problems::default();
    let facts = problems.changeable(&change.current);
    problems.table_name(&change.new_name);
    if let Some(parent) = &facts.partition_of {
        let message = format!(
            "{} is a partition of {parent}, and its rows stay rows of that under any name",
            current.name
        );
        problems.conflict("", message);
    }
    problems.check()?;
    if current.name == change.new_name {
        return Ok(ChangePlan::nothing(Vec::new()));
    }
    let mut steps = vec![renamed(current, &change.new_name, "table")];
    let mut new_names = Vec::new();
    if let [companion] = change.current.companions.as_slice() {
        let new = partition::companion_name(&change.new_name);
        if *companion != new {
            steps.push(renamed(&TableName::new(&current.database, companion), &new, "partition"));
            new_names.push(TableName::new(&current.database, new));
        }
    }
    Ok(ChangePlan { new_names, ..in_one(steps, rename_notes(&change.current, &facts)) })
}

fn renamed(from: &TableName, to: &str, what: &str) -> Step {
    let back = shape::rename(&TableName::new(&from.database, to), &from.name);
    Step {
        undo: vec![Action::new(back)],
        undo_complete: true,
        ..Step::new(format!("renames the {what} {} to {to}", from.name), shape::rename(from, to))
    }
}

fn rename_notes(table: &Table, facts: &TableFacts) -> Vec<Problem> {
    let mut notes = Vec::new();
    if !facts.users.is_empty() {
        let message = format!("{} go on using {} under its new name", listed(&facts.users), table.name.name);
        notes.push(note(message));
    }
    if !facts.inherits.is_empty() {
        let message = format!("its rows stay rows of {} under any name", listed(&facts.inherits));
        notes.push(note(message));
    }
    notes
}

/// Drops a table with its rows and, if it has any, its partitions. A table that other objects use is not
/// dropped.
pub fn drop(change: &DropTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let name = &current.name.name;
    let mut problems = Problems::default();
    let facts = problems.changeable(current);
    if !facts.users.is_empty() {
        let message = format!("{} use {name}; they would have to go first", listed(&facts.users));
        problems.conflict("", message);
    }
    if !facts.children.is_empty() {
        let message = format!("{} inherit from {name}; they would have to go first", listed(&facts.children));
        problems.conflict("", message);
    }
    if let Some(parent) = &facts.partition_of {
        let message = format!("{name} is a partition of {parent}; with it rows of that would go");
        problems.conflict("", message);
    }
    problems.or(|| {
        let step = Step {
            undo: made_again(current, &facts).into_iter().collect(),
            destroys: true,
            locks: "all".to_owned(),
            ..Step::new(format!("drops the table {name} with its rows"), shape::drop(&current.name))
        };
        let with_partitions = match facts.partitions {
            0 => None,
            1 => Some(note(format!("the partition of {name} goes with it"))),
            many => Some(note(format!("the {many} partitions of {name} go with it"))),
        };
        in_one(vec![step], with_partitions.into_iter().collect())
    })
}

/// The statement that creates an empty table of the same shape, if the shape describes it completely.
fn made_again(table: &Table, facts: &TableFacts) -> Option<Action> {
    let plain = TableFacts::default() == *facts && table.partition.is_empty();
    let columns: Option<Vec<Column>> = table.fields.iter().map(Column::again).collect();
    let columns = columns.filter(|_| plain)?;
    Some(Action::new(shape::create(&table.name, &columns, &table.keys, &[])))
}

/// Changes the comment.
pub fn comment(change: &CommentTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.changeable(current);
    problems.check()?;
    if current.comment == change.comment {
        return Ok(ChangePlan::nothing(Vec::new()));
    }
    let step = Step {
        undo: vec![Action::new(shape::comment_table(&current.name, &current.comment))],
        undo_complete: true,
        locks: "none".to_owned(),
        ..Step::new(
            format!("comments on the table {}", current.name.name),
            shape::comment_table(&current.name, &change.comment),
        )
    };
    Ok(in_one(vec![step], Vec::new()))
}
