//! Numbers of buckets and of copies.
//!
//! A number of buckets is not the same thing everywhere. In Doris it is one for the partitions to come, and
//! a table without partitions has none to come; in StarRocks it lays out all data anew.

use lakeport_sdk::dialect::{Action, ChangePlan, Problem, SetCount, Statement, Step, Table};
use lakeport_sdk::serde_json::{Value, from_str};

use super::job::{self, Job};
use super::problems::{Problems, adjusted};
use super::{shape, steps};
use crate::server::{Product, Server};
use crate::texts::LITERAL;

/// From here on StarRocks lays tables out anew.
const STARROCKS_OPTIMIZE: (u32, u32, u32) = (3, 2, 0);
/// The most copies that the servers count to.
const REPLICAS_MAX: u32 = 32_767;

/// Another number of buckets.
pub fn buckets(server: &Server, change: &SetCount) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    if change.count == 0 {
        problems.add("bucketNum", "invalid_value", "a table has one bucket or more");
    }
    match server.product {
        Product::Doris if current.partition.is_empty() => problems.unsupported(
            "bucketNum",
            format!(
                "{} has no partitions, and Doris changes the number of buckets for partitions to come only; \
                 the table would have to be made anew",
                current.name.name
            ),
        ),
        Product::StarRocks if !server.is_at_least(STARROCKS_OPTIMIZE) => problems.unsupported(
            "bucketNum",
            format!("{} cannot change the number of buckets; 3.2 can", server.shown()),
        ),
        _ => {}
    }
    if !is_random(current) && current.distribution.is_empty() {
        problems
            .unsupported("bucketNum", "how the table is distributed could not be read, and it must stay so");
    }
    if current.buckets == Some(change.count) {
        let message =
            format!("{} has {} buckets already; nothing would change", current.name.name, change.count);
        problems.add("bucketNum", "invalid_value", message);
    }
    problems.or(|| match server.product {
        Product::Doris => doris_buckets(current, change.count),
        Product::StarRocks => starrocks_buckets(current, change.count),
    })
}

fn doris_buckets(current: &Table, count: u32) -> ChangePlan {
    let write = |count: u32| {
        distributed(shape::alter(&current.name, "MODIFY DISTRIBUTION"), current)
            .words("BUCKETS")
            .number(count)
    };
    let undo: Vec<Action> = current.buckets.map(|before| Action::new(write(before))).into_iter().collect();
    let step = Step {
        undo_complete: !undo.is_empty(),
        undo,
        ..Step::new(
            format!("gives partitions to come of {} {count} buckets", current.name.name),
            write(count),
        )
    };
    let message = "Doris gives this number to partitions made from now on; those that are there keep theirs";
    steps(vec![step], vec![adjusted("bucketNum", message)])
}

fn starrocks_buckets(current: &Table, count: u32) -> ChangePlan {
    let write = |count: u32| {
        let table = Statement::new().words("ALTER TABLE").name([&current.name.database, &current.name.name]);
        let statement = distributed(table, current).words("BUCKETS").number(count);
        job::action(statement, &current.name, Job::Optimize)
    };
    let undo: Vec<Action> = current.buckets.map(write).into_iter().collect();
    let step = Step {
        action: write(count),
        undo_complete: !undo.is_empty(),
        undo,
        cost: "rewrite".to_owned(),
        locks: "unknown".to_owned(),
        ..Step::new(format!("lays {} out anew in {count} buckets", current.name.name), Statement::new())
    };
    steps(vec![step], Vec::new())
}

fn distributed(statement: Statement, table: &Table) -> Statement {
    let statement = statement.words("DISTRIBUTED BY");
    if is_random(table) {
        return statement.words("RANDOM");
    }
    statement.words("HASH").in_parentheses(&table.distribution, |statement, field| statement.name([field]))
}

/// Whether rows are spread by chance.
pub fn is_random(table: &Table) -> bool {
    let extra: Value = table.extra.as_deref().and_then(|text| from_str(text).ok()).unwrap_or_default();
    extra["distribution"] == "RANDOM"
}

/// Another number of copies: of partitions to come, and of those that are there.
pub fn replicas(server: &Server, change: &SetCount) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    if !(1..=REPLICAS_MAX).contains(&change.count) {
        problems.add("replicaNum", "invalid_value", format!("the number must be from 1 to {REPLICAS_MAX}"));
    }
    problems.or(|| {
        let property = |statement: Statement, name: &str, count: u32| {
            statement.symbol("(").text(LITERAL, name).symbol("=").text(LITERAL, count.to_string()).symbol(")")
        };
        let to_come = |count| property(shape::alter(&current.name, "SET"), "default.replication_num", count);
        let there = |count| {
            let partitions =
                shape::alter(&current.name, "MODIFY PARTITION").symbol("(").symbol("*").symbol(")");
            property(partitions.words("SET"), "replication_num", count)
        };
        let step = |purpose: &str, write: &dyn Fn(u32) -> Statement| {
            let undo: Vec<Action> =
                current.replicas.map(|before| Action::new(write(before))).into_iter().collect();
            Step {
                undo_complete: !undo.is_empty(),
                undo,
                ..Step::new(
                    format!("sets the copies of {purpose} {} to {}", current.name.name, change.count),
                    write(change.count),
                )
            }
        };
        let message = format!(
            "{} makes or removes the copies in the background; that takes as long as the data is large",
            server.product.short()
        );
        let both = vec![step("the partitions to come of", &to_come), step("all partitions of", &there)];
        steps(both, vec![adjusted("replicaNum", message)])
    })
}
