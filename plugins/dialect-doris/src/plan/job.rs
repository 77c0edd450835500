//! Jobs that continue after the statement was accepted: polling and cancelling them.
//!
//! The newest job of the table decides: the one with the greatest number, since times of creation are whole
//! seconds. A job that the host saw before the statement does not count, so that
//! a change without a job is recognised as finished.

use lakeport_sdk::dialect::{Action, Probe, ProbeRule, Query, Statement, TableName};

/// A kind of job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Job {
    /// Fields.
    Column,
    /// The number of buckets, in StarRocks.
    Optimize,
}

/// Jobs take seconds to days; the servers themselves look after theirs every 3 seconds.
const POLL_MS: u32 = 1_000;

/// A statement that may start a job.
pub fn action(statement: Statement, table: &TableName, job: Job) -> Action {
    Action { probe: Some(probe(table, job)), ..Action::new(statement) }
}

/// The probe for the newest job of a table.
pub fn probe(table: &TableName, job: Job) -> Probe {
    let (shown, cancelled) = match job {
        Job::Column => ("SHOW ALTER TABLE COLUMN FROM ", "CANCEL ALTER TABLE COLUMN FROM"),
        Job::Optimize => ("SHOW ALTER TABLE OPTIMIZE FROM ", "CANCEL ALTER TABLE OPTIMIZE FROM"),
    };
    let rule = |values: &[&str], outcome: &str| ProbeRule {
        column: "State".to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
        outcome: outcome.to_owned(),
    };
    Probe {
        query: Query::new(shown)
            .name([&table.database])
            .sql(" WHERE TableName = ")
            .value(table.name.as_str())
            .sql(" ORDER BY JobId DESC LIMIT 1")
            .fragments(),
        key_column: Some("JobId".to_owned()),
        rules: vec![
            rule(&["FINISHED"], "done"),
            rule(&["CANCELLED"], "failed"),
            rule(&["PENDING", "WAITING_TXN", "RUNNING"], "running"),
        ],
        otherwise: "running".to_owned(),
        when_empty: "done".to_owned(),
        message_column: Some("Msg".to_owned()),
        poll_ms: POLL_MS,
        abort: Statement::new().words(cancelled).name([&table.database, &table.name]).tokens(),
    }
}
