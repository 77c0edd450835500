//! Changes of a whole table.

use lakeport_sdk::dialect::{
    Action, ChangePlan, CommentTable, DropTable, Problem, RenameTable, Statement, Step, TableName,
};

use super::problems::{Checks, Problems};
use super::{shape, steps};
use crate::server::{Product, Server};
use crate::texts::{Clause, comment_rule};

/// The first version in which StarRocks changes the comment of a table.
const STARROCKS_TABLE_COMMENT: (u32, u32, u32) = (3, 1, 0);

/// Renames a table, as for the recycle bin.
pub fn rename(server: &Server, change: &RenameTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current.name;
    let mut problems = Problems::default();
    problems.only_tables(&change.current);
    if current.name == change.new_name {
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    }
    problems.table_name(server, &change.new_name);
    problems.or(|| {
        let renamed = TableName::new(&current.database, &change.new_name);
        let to = |from: &TableName, name: &str| shape::alter(from, "RENAME").name([name]);
        let step = Step {
            undo: vec![Action::new(to(&renamed, &current.name))],
            undo_complete: true,
            ..Step::new(
                format!("renames the table {} to {}", current.name, change.new_name),
                to(current, &change.new_name),
            )
        };
        steps(vec![step], Vec::new())
    })
}

/// Drops a table: into the server's own recycle bin, where it stays for a day, or permanently.
pub fn drop(server: &Server, change: &DropTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current.name;
    let mut problems = Problems::default();
    problems.only_tables(&change.current);
    problems.or(|| {
        let statement = Statement::new().words("DROP TABLE").name([&current.database, &current.name]);
        let (statement, purpose) = if change.at_once {
            (statement.words("FORCE"), format!("drops the table {} with its rows, at once", current.name))
        } else {
            let purpose = format!(
                "drops the table {} with its rows; {} keeps it for a day (RECOVER TABLE)",
                current.name,
                server.product.short()
            );
            (statement, purpose)
        };
        let step = Step { destroys: true, locks: "all".to_owned(), ..Step::new(purpose, statement) };
        steps(vec![step], Vec::new())
    })
}

/// Changes the comment.
pub fn comment(server: &Server, change: &CommentTable) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    if server.product == Product::StarRocks && !server.is_at_least(STARROCKS_TABLE_COMMENT) {
        let message = format!("{} cannot change the comment of a table; 3.1 can", server.shown());
        problems.unsupported("tableComment", message);
    }
    let write = |comment: &str| {
        comment_rule(server, Clause::Change, comment).map(|rule| match server.product {
            Product::Doris => shape::alter(&current.name, "MODIFY COMMENT").text(rule, comment),
            Product::StarRocks => shape::alter(&current.name, "COMMENT").symbol("=").text(rule, comment),
        })
    };
    let statement = match write(&change.comment) {
        Ok(statement) => statement,
        Err(message) => {
            problems.not_representable("tableComment", message);
            Statement::new()
        }
    };
    if current.comment == change.comment {
        return problems.or(|| ChangePlan::nothing(Vec::new()));
    }
    problems.or(|| {
        let undo: Vec<Action> = write(&current.comment).ok().map(Action::new).into_iter().collect();
        let step = Step {
            undo_complete: !undo.is_empty(),
            undo,
            ..Step::new(format!("changes the comment of {}", current.name.name), statement)
        };
        steps(vec![step], Vec::new())
    })
}
