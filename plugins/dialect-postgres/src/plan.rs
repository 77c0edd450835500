//! Plans: the problems of a change, or its steps.
//!
//! Pure functions. Every plan is one transaction, which PostgreSQL rolls back by itself on failure. Changes
//! that PostgreSQL would refuse are refused before, with the reason; so are silent effects: dropping an index
//! of several fields with one of them, truncating a name, losing a collation.

mod alter;
mod create;
mod drop_field;
mod field;
mod mentions;
mod partition;
mod problems;
mod shape;
mod table;

pub use partition::{MARK as COMPANION_MARK, companion_name};

use lakeport_sdk::dialect::{Change, ChangePlan, Problem, ServerInfo, Step};

/// Plans one change.
pub fn plan(server: &ServerInfo, change: &Change) -> Result<ChangePlan, Vec<Problem>> {
    match change {
        Change::CreateTable(table) => create::plan(server, table),
        Change::RenameTable(rename) | Change::RestoreTable(rename) => table::rename(rename),
        Change::DropTable(drop) => table::drop(drop),
        Change::CommentTable(comment) => table::comment(comment),
        Change::AddField(add) => field::add(server, add),
        Change::AlterField(alter) => alter::plan(server, alter),
        Change::DropField(drop) => drop_field::plan(drop),
        Change::SetBuckets(_) => Err(vec![unsupported("bucketNum", problems::NO_BUCKETS)]),
        Change::SetReplicas(_) => Err(vec![unsupported("replicaNum", problems::NO_REPLICAS)]),
        Change::Other(other) => Err(vec![unsupported(
            "",
            &format!("the PostgreSQL dialect does not know the change {:?}", other.operation),
        )]),
    }
}

fn unsupported(member: &str, message: &str) -> Problem {
    Problem::new(member, "unsupported_by_dialect", message)
}

/// Steps in one transaction.
fn in_one(steps: Vec<Step>, notes: Vec<Problem>) -> ChangePlan {
    ChangePlan { transactional: !steps.is_empty(), steps, new_names: Vec::new(), notes }
}

#[cfg(test)]
#[path = "plan/tests/mod.rs"]
mod tests;
