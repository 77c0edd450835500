//! Plans: the problems of a change, or its steps.
//!
//! Pure functions. Each statement commits by itself, so every plan is one statement that the server executes
//! completely or not at all, with the statement that undoes it.

mod create;
mod drop_field;
mod field;
mod problems;
mod shape;
mod table;
mod unwritable;

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
        Change::DropField(drop) => drop_field::plan(server, drop),
        Change::SetBuckets(_) => Err(vec![unsupported("bucketNum", problems::NO_BUCKETS)]),
        Change::SetReplicas(_) => Err(vec![unsupported("replicaNum", problems::NO_REPLICAS)]),
        Change::Other(other) => Err(vec![unsupported(
            "",
            &format!("the dialect of MySQL does not know the change {:?}", other.operation),
        )]),
    }
}

fn unsupported(member: &str, message: &str) -> Problem {
    Problem::new(member, "unsupported_by_dialect", message)
}

/// A plan of one step.
fn one(step: Step, notes: Vec<Problem>) -> ChangePlan {
    ChangePlan { steps: vec![step], transactional: false, new_names: Vec::new(), notes }
}
