//! Changes of a whole table.

use lakeport_sdk::dialect::{
    Action, ChangePlan, CommentTable, DropTable, Problem, RenameTable, Step, Table, TableName,
};

use super::one;
use super::problems::{Checks, Problems, TABLE_COMMENT_MAX, adjusted};
use super::shape::{self, Column};
use crate::extra::{ITSELF, TableExtra};
use crate::server::Server;
use crate::text::before_recycle_bin;

/// Renames a table, as for the recycle bin.
pub fn rename(server: &Server, change: &RenameTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current.name;
    let mut problems = Problems::default();
    problems.only_tables(&change.current);
    problems.table_name(server, &change.new_name);
    if current.name == change.new_name {
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    }
    let folds = server.lower_case_table_names != 0;
    if folds && current.name.to_lowercase() == change.new_name.to_lowercase() {
        let message = "this server takes names of tables that differ in case alone for one";
        problems.unsupported("tableName", message);
    }
    problems.or(|| {
        let renamed = TableName::new(&current.database, &change.new_name);
        let step = Step {
            undo: vec![Action::new(shape::rename(&renamed, current))],
            undo_complete: true,
            ..Step::new(
                format!("renames the table {} to {}", current.name, change.new_name),
                shape::rename(current, &renamed),
            )
        };
        one(step, rename_notes(&change.current, &change.new_name))
    })
}

fn rename_notes(table: &Table, new_name: &str) -> Vec<Problem> {
    let extra = TableExtra::of(table);
    let mut notes = Vec::new();
    let known = before_recycle_bin(&table.name.name).unwrap_or(&table.name.name);
    if !extra.views.is_empty() && known != new_name {
        let message = format!(
            "views stop working until the table is called {known:?} again: {}",
            extra.views.join(", ")
        );
        notes.push(adjusted("extra", message));
    }
    if !children(&extra).is_empty() {
        let message = format!("foreign keys of {} follow the table", children(&extra).join(", "));
        notes.push(adjusted("", message));
    }
    notes
}

/// Other tables whose foreign keys refer to this one.
fn children(extra: &TableExtra) -> Vec<&str> {
    extra.referenced_by.iter().map(String::as_str).filter(|name| *name != ITSELF).collect()
}

/// Drops a table. Like the server, keeps one that foreign keys of others refer to.
pub fn drop(server: &Server, change: &DropTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let extra = TableExtra::of(current);
    let mut problems = Problems::default();
    problems.only_tables(current);
    if !children(&extra).is_empty() {
        let message =
            format!("foreign keys of {} refer to {}", children(&extra).join(", "), current.name.name);
        problems.conflict("", message);
    }
    problems.or(|| {
        let step = Step {
            undo: made_again(server, current).map(Action::new).into_iter().collect(),
            destroys: true,
            locks: "all".to_owned(),
            ..Step::new(
                format!("drops the table {} with its rows", current.name.name),
                shape::drop(&current.name),
            )
        };
        let notes = (!extra.views.is_empty()).then(|| {
            adjusted("", format!("views that name the table stop working: {}", extra.views.join(", ")))
        });
        one(step, notes.into_iter().collect())
    })
}

/// The statement that creates the table again without its rows, if the contract's members describe it
/// completely.
fn made_again(server: &Server, table: &Table) -> Option<lakeport_sdk::dialect::Statement> {
    if !TableExtra::of(table).is_plain() || !table.partition.is_empty() {
        return None;
    }
    let column = |field| Column::again(server, table, field).ok();
    let columns = table.fields.iter().map(column).collect::<Option<Vec<_>>>()?;
    Some(shape::create(server, &table.name, &columns, &table.keys, &[], &table.comment))
}

/// Changes the comment.
pub fn comment(server: &Server, change: &CommentTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    problems.comment("tableComment", &change.comment, TABLE_COMMENT_MAX);
    if current.comment == change.comment {
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    }
    problems.or(|| {
        let step = Step {
            undo: vec![Action::new(shape::comment(server, &current.name, &current.comment))],
            undo_complete: true,
            ..Step::new(
                format!("sets the comment of {}", current.name.name),
                shape::comment(server, &current.name, &change.comment),
            )
        };
        one(step, Vec::new())
    })
}
