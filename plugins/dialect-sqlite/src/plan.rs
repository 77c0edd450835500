//! Plans: the problems of a change, or its steps.
//!
//! Pure functions. Every plan is one transaction, which SQLite rolls back by itself on failure.

mod create;
mod field;
mod problems;
mod rebuild;
mod shape;
mod table;

use lakeport_sdk::dialect::{Change, ChangePlan, Problem, ServerInfo, Step};

use problems::Problems;

/// Plans one change.
pub fn plan(server: &ServerInfo, change: &Change) -> Result<ChangePlan, Vec<Problem>> {
    match change {
        Change::CreateTable(table) => create::plan(table),
        Change::RenameTable(rename) | Change::RestoreTable(rename) => table::rename(rename),
        Change::DropTable(drop) => table::drop(drop),
        Change::CommentTable(comment) => Ok(table::comment(comment)),
        Change::AddField(add) => field::add(server, add),
        Change::AlterField(alter) => field::alter(server, alter),
        Change::DropField(drop) => field::drop(server, drop),
        Change::SetBuckets(_) => Err(vec![unsupported("bucketNum", problems::NO_BUCKETS)]),
        Change::SetReplicas(_) => Err(vec![unsupported("replicaNum", problems::NO_REPLICAS)]),
        Change::Other(other) => Err(vec![unsupported(
            "",
            &format!("the SQLite dialect does not know the change {:?}", other.operation),
        )]),
    }
}

fn unsupported(member: &str, message: &str) -> Problem {
    Problem::new(member, "unsupported_by_dialect", message)
}

/// Steps in one transaction.
fn in_one(steps: Vec<Step>, notes: Vec<Problem>) -> ChangePlan {
    ChangePlan { steps, transactional: true, new_names: Vec::new(), notes }
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
