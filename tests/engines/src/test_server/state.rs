//! All that the server knows, under one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use chrono::{NaiveDateTime, Timelike as _, Utc};
use serde_json::Value;
use tempfile::TempDir;

use super::Generation;
use super::definitions::Definition;
use super::fixed::Source;
use super::runs::Run;
use super::schedules::Schedule;
use super::starts::Command;
use super::tries::Try;

/// The most of each kind: a test that needs more has gone astray.
pub const RUNS_MAX: usize = 5_000;
pub const DEFINITIONS_MAX: usize = 1_000;
const REQUESTS_MAX: usize = 200_000;
const PROBLEMS_MAX: usize = 1_000;

/// The server's data, and what it noticed.
pub struct State {
    pub generation: Generation,
    pub definitions: BTreeMap<i64, Definition>,
    /// Task codes that were given out.
    pub task_codes: BTreeSet<i64>,
    pub schedules: BTreeMap<i64, Schedule>,
    pub runs: BTreeMap<i64, Run>,
    pub tries: BTreeMap<i64, Try>,
    pub commands: Vec<Command>,
    pub sources: Vec<Source>,
    /// Session ids of log-ins.
    pub sessions: Vec<String>,
    pub requests: Vec<String>,
    pub problems: Vec<String>,
    /// Where tasks run.
    pub folder: TempDir,
    /// When runs that wait for their turn were looked at.
    pub last_turn: Instant,
    last_code: i64,
    last_ids: BTreeMap<&'static str, i64>,
}

impl State {
    pub fn new(generation: Generation, folder: TempDir) -> State {
        State {
            generation,
            definitions: BTreeMap::new(),
            task_codes: BTreeSet::new(),
            schedules: BTreeMap::new(),
            runs: BTreeMap::new(),
            tries: BTreeMap::new(),
            commands: Vec::new(),
            sources: Vec::new(),
            sessions: Vec::new(),
            requests: Vec::new(),
            problems: Vec::new(),
            folder,
            last_turn: Instant::now(),
            last_code: generation.first_code(),
            last_ids: BTreeMap::new(),
        }
    }

    /// A new code, which is the same in all projects.
    pub fn new_code(&mut self) -> i64 {
        self.last_code += 32;
        self.last_code
    }

    /// A new id of a table.
    pub fn new_id(&mut self, table: &'static str) -> i64 {
        let last = self.last_ids.entry(table).or_default();
        *last += 1;
        *last
    }

    /// Notes what was not foreseen, each text once.
    pub fn note(&mut self, problem: String) {
        if self.problems.len() < PROBLEMS_MAX && !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    pub fn note_request(&mut self, request: String) {
        if self.requests.len() < REQUESTS_MAX {
            self.requests.push(request);
        }
    }
}

/// Now, in UTC, which is the zone of the server.
pub fn now() -> NaiveDateTime {
    Utc::now().naive_utc()
}

/// A time as the API writes it: seconds, without a zone.
pub fn time(at: NaiveDateTime) -> Value {
    Value::String(at.format("%Y-%m-%d %H:%M:%S").to_string())
}

pub fn time_or_null(at: Option<NaiveDateTime>) -> Value {
    at.map_or(Value::Null, time)
}

/// Reads a time of the API.
pub fn read_time(text: &str) -> Option<NaiveDateTime> {
    NaiveDateTime::parse_from_str(text.trim(), "%Y-%m-%d %H:%M:%S").ok()
}

/// Without parts of a second, as a table keeps it.
pub fn whole_second(at: NaiveDateTime) -> NaiveDateTime {
    at.with_nanosecond(0).unwrap_or(at)
}

/// A number, also one that is written as a text.
pub fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}
