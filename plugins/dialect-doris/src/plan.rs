//! Plans: the problems of a change, or its steps.
//!
//! Pure functions. Nothing here is transactional; a job that continues after its statement was accepted has a
//! probe, also for the undo.

mod counts;
mod create;
mod field;
mod job;
mod problems;
mod shape;
mod table;

use lakeport_sdk::dialect::{Change, ChangePlan, Problem, Step};

use crate::server::Server;

/// Plans one change.
pub fn plan(server: &Server, change: &Change) -> Result<ChangePlan, Vec<Problem>> {
    match change {
        Change::CreateTable(table) => create::plan(server, table),
        Change::RenameTable(rename) | Change::RestoreTable(rename) => table::rename(server, rename),
        Change::DropTable(drop) => table::drop(server, drop),
        Change::CommentTable(comment) => table::comment(server, comment),
        Change::AddField(add) => field::add(server, add),
        Change::AlterField(alter) => field::alter(server, alter),
        Change::DropField(drop) => field::drop(server, drop),
        Change::SetBuckets(set) => counts::buckets(server, set),
        Change::SetReplicas(set) => counts::replicas(server, set),
        Change::Other(other) => Err(vec![Problem::new(
            "",
            "unsupported_by_dialect",
            format!("this dialect does not know the change {:?}", other.operation),
        )]),
    }
}

/// Consecutive steps.
fn steps(steps: Vec<Step>, notes: Vec<Problem>) -> ChangePlan {
    ChangePlan { steps, transactional: false, new_names: Vec::new(), notes }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
