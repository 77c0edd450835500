//! Changes of a whole table.

use lakeport_sdk::dialect::{
    Action, ChangePlan, CommentTable, DropTable, Problem, RenameTable, Step, TableName,
};

use super::problems::{Checks, Problems, comment_note, same_name};
use super::{in_one, rebuild, shape};
use crate::facts;

/// Renames a table, as for the recycle bin.
pub fn rename(change: &RenameTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current.name;
    let mut problems = Problems::default();
    problems.only_tables(&change.current);
    problems.table_name(&change.new_name);
    if current.name == change.new_name {
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    }
    if same_name(&current.name, &change.new_name) {
        let message = "SQLite takes names that differ in case alone for one and cannot rename between them";
        problems.unsupported("tableName", message);
    }
    problems.or(|| {
        let renamed = TableName::new(&current.database, &change.new_name);
        let step = Step {
            undo: vec![Action::new(shape::rename(&renamed, &current.name))],
            undo_complete: true,
            ..Step::new(
                format!("renames the table {} to {}", current.name, change.new_name),
                shape::rename(current, &change.new_name),
            )
        };
        in_one(vec![step], Vec::new())
    })
}

/// Drops a table. With foreign keys enabled SQLite first deletes its rows, and with them rows of tables that
/// refer to it; so such a table is not dropped.
pub fn drop(change: &DropTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    let referring = facts::referenced_by(current);
    if !referring.is_empty() {
        let message = format!(
            "foreign keys of {} refer to {}; dropping it would delete their rows or leave them without a parent",
            referring.join(", "),
            current.name.name
        );
        problems.add("", "conflict", message);
    }
    problems.or(|| {
        let again = rebuild::columns(current).ok();
        let undo = again.map(|columns| Action::new(shape::create(&current.name, &columns, &current.keys)));
        let step = Step {
            undo: undo.into_iter().collect(),
            destroys: true,
            locks: "all".to_owned(),
            ..Step::new(
                format!("drops the table {} with its rows", current.name.name),
                shape::drop(&current.name),
            )
        };
        in_one(vec![step], Vec::new())
    })
}

/// Lakeport alone keeps the comment.
pub fn comment(change: &CommentTable) -> ChangePlan {
    let notes = if change.comment.is_empty() { Vec::new() } else { vec![comment_note("tableComment")] };
    ChangePlan::nothing(notes)
}
