//! Numbers of buckets and of replicas.
//!
//! The number of buckets differs between the products. In Doris it applies to future partitions, and a table
//! without partitions has none; in StarRocks a change rewrites all data. The number of replicas of existing
//! partitions and of future ones is set in two statements.

use lakeport_sdk::dialect::{Action, ChangePlan, Problem, SetCount, Statement, Step, Table};

use super::job::{self, Job};
use super::problems::{Problems, adjusted};
use super::{shape, steps};
use crate::extra::TableExtra;
use crate::server::{Product, Server};
use crate::texts::LITERAL;

/// The first version in which StarRocks can rewrite tables.
const STARROCKS_OPTIMIZE: (u32, u32, u32) = (3, 2, 0);
/// The servers' largest number of replicas.
const REPLICAS_MAX: u32 = 32_767;

/// Changes the number of buckets.
pub fn buckets(server: &Server, change: &SetCount) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let mut problems = Problems::default();
    problems.only_tables(current);
    if change.count == 0 {
        problems.add("bucketNum", "invalid_value", "a table has one bucket or more");
    }
    match server.product {
        Product::Doris => for_partitions_to_come(current, &mut problems),
        Product::StarRocks if !server.is_at_least(STARROCKS_OPTIMIZE) => problems.unsupported(
            "bucketNum",
            format!("{} cannot change the number of buckets; 3.2 can", server.shown()),
        ),
        Product::StarRocks => {}
    }
    if !is_read(current) {
        problems
            .unsupported("bucketNum", "how the table is distributed could not be read, and it must stay so");
    }
    if let Some(message) = decided_elsewhere(server, current) {
        problems.unsupported("bucketNum", message);
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

/// Whether the layout of the table was understood.
fn is_read(table: &Table) -> bool {
    TableExtra::of(table).random || !table.distribution.is_empty()
}

/// Why a table has no buckets and replicas of its own to change, if so.
fn decided_elsewhere(server: &Server, table: &Table) -> Option<String> {
    let (name, short, extra) = (&table.name.name, server.product.short(), TableExtra::of(table));
    if extra.cloud {
        return Some(format!(
            "{name} lies in the storage that all nodes of this {short} share (cloud mode), where {short} changes \
             neither buckets nor copies"
        ));
    }
    extra.colocated.then(|| {
        format!(
            "{name} lies together with other tables (colocate_with), which all have the same buckets and copies; \
             {short} does not change those of one"
        )
    })
}

/// In Doris the change only affects partitions created later, by a statement or for a row that fits none.
fn for_partitions_to_come(current: &Table, problems: &mut Problems) {
    let name = &current.name.name;
    if current.partition.is_empty() {
        let message = format!(
            "{name} has no partitions, and Doris changes the number of buckets for partitions to come only; the \
             table would have to be created again"
        );
        problems.unsupported("bucketNum", message);
    } else if TableExtra::of(current).dynamic {
        let message = format!(
            "Doris makes the partitions of {name} ahead of time, by the property dynamic_partition.buckets, which \
             this does not change"
        );
        problems.unsupported("bucketNum", message);
    }
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
    let message = match current.buckets {
        Some(_) => "Doris gives this number to partitions made from now on; those that are there keep theirs",
        None => {
            "Doris gives this number to partitions made from now on; so far it chose by itself (BUCKETS AUTO), \
             which is not brought back and which most versions go on showing"
        }
    };
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
        ..Step::new(format!("redistributes {} into {count} buckets", current.name.name), Statement::new())
    };
    steps(vec![step], Vec::new())
}

fn distributed(statement: Statement, table: &Table) -> Statement {
    let statement = statement.words("DISTRIBUTED BY");
    if TableExtra::of(table).random {
        return statement.words("RANDOM");
    }
    statement.words("HASH").in_parentheses(&table.distribution, |statement, field| statement.name([field]))
}

/// Changes the number of replicas: of future partitions, and of existing ones.
pub fn replicas(server: &Server, change: &SetCount) -> Result<ChangePlan, Vec<Problem>> {
    let current = &change.current;
    let name = &current.name.name;
    let extra = TableExtra::of(current);
    let mut problems = Problems::default();
    problems.only_tables(current);
    if !(1..=REPLICAS_MAX).contains(&change.count) {
        problems.add("replicaNum", "invalid_value", format!("the number must be from 1 to {REPLICAS_MAX}"));
    }
    if let Some(message) = decided_elsewhere(server, current) {
        problems.unsupported("replicaNum", message);
    } else if let Some(allocation) = &extra.allocation {
        let message = format!(
            "the copies of {name} lie by tags ({allocation}); a number would put all on the default tag"
        );
        problems.unsupported("replicaNum", message);
    } else if !is_read(current) {
        let message = "how the table is laid out could not be read, nor where its copies lie";
        problems.unsupported("replicaNum", message);
    }
    if current.replicas == Some(change.count) {
        let message = format!("{name} has {} copies already; nothing would change", change.count);
        problems.add("replicaNum", "invalid_value", message);
    }
    problems.check()?;
    let step = |purpose: &str, write: &dyn Fn(u32) -> Statement, is_known: bool| {
        let undo: Vec<Action> =
            current.replicas.map(|before| Action::new(write(before))).into_iter().collect();
        Step {
            undo_complete: is_known && !undo.is_empty(),
            undo,
            ..Step::new(
                format!("sets the copies of {purpose} {name} to {}", change.count),
                write(change.count),
            )
        }
    };
    let short = server.product.short();
    let mut message = format!(
        "{short} makes or removes the copies in the background; that takes as long as the data is large"
    );
    if extra.dynamic {
        message.push_str("; partitions that it makes ahead of time keep the number of dynamic_partition");
    }
    // Doris counts its nodes for the partitions that are there alone. A number that is too large fails there, before
    // the partitions to come have it.
    let both = vec![
        // If partitions are not listed, one may have had another number than the table.
        step("all partitions of", &|count| of_all_partitions(current, count), server.partitions),
        step("the partitions to come of", &|count| of_partitions_to_come(current, count), true),
    ];
    Ok(steps(both, vec![adjusted("replicaNum", message)]))
}

fn of_partitions_to_come(table: &Table, count: u32) -> Statement {
    property(shape::alter(&table.name, "SET"), "default.replication_num", count)
}

fn of_all_partitions(table: &Table, count: u32) -> Statement {
    let partitions = shape::alter(&table.name, "MODIFY PARTITION").symbol("(").symbol("*").symbol(")");
    property(partitions.words("SET"), "replication_num", count)
}

fn property(statement: Statement, name: &str, count: u32) -> Statement {
    statement.symbol("(").text(LITERAL, name).symbol("=").text(LITERAL, count.to_string()).symbol(")")
}
