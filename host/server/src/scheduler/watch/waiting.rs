//! Tasks that could be begun and were not yet: what they work on is busy, or the server is. They are shown as tries
//! that are queued, so that a run is seen and stopped before its first task begins.
//!
//! No row is kept of them. What is ready follows from the definition and from the tries, as it does for the worker; of a
//! run that was stopped, what was ready then.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use lakeport_base::Error;
use lakeport_bindings::engine::model;
use lakeport_store::Db;

use super::store::runs_of;
use crate::scheduler::attempts;
use crate::scheduler::definition::{Definition, Task};
use crate::scheduler::progress;
use crate::scheduler::store::{self, Run, State};

/// What the id of such a try begins with, before its task's; the ids of others are numbers.
const PREFIX: &str = "waiting-";
const STOPPED: &str = "its run was stopped while it waited to begin";

/// Behind which task of which run a page goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    run_id: i64,
    /// Tasks of that run that were passed, by their place in its definition.
    passed: usize,
}

impl Place {
    pub fn parse(text: &str) -> Option<Place> {
        let (run_id, passed) = text.strip_prefix(PREFIX)?.split_once('-')?;
        Some(Place { run_id: run_id.parse().ok()?, passed: passed.parse().ok()? })
    }

    pub fn shown(self) -> String {
        format!("{PREFIX}{}-{}", self.run_id, self.passed)
    }
}

/// Some of them, in the order of their runs.
pub struct Page {
    pub tries: Vec<model::TaskRun>,
    pub next: Option<Place>,
}

/// Whether a try's id, or a place, is one of those that are given out here.
pub fn is_waiting(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// The task that such a try's id names.
pub fn task_of(task_run_id: &str) -> Option<i64> {
    task_run_id.strip_prefix(PREFIX)?.parse().ok()
}

/// Those of these runs, from behind this place on.
pub async fn of_runs(db: &Db, ids: &[i64], from: Place, limit: usize, now_ms: i64) -> Result<Page, Error> {
    let has_any = |run: &Run| {
        matches!(run.state, State::Queued | State::Running | State::Stopping | State::Stopped)
            && run.id >= from.run_id
    };
    let runs: Vec<Run> = runs_of(db, ids).await?.into_iter().filter(has_any).collect();
    let ids: Vec<i64> = runs.iter().map(|run| run.id).collect();
    let mut standings = attempts::store::standings(db, &ids).await?;
    let mut definitions: HashMap<i64, Option<Definition>> = HashMap::new();
    let mut page = Page { tries: Vec::new(), next: None };
    for run in &runs {
        let definition = match definitions.entry(run.revision_id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(store::definition(db, run.revision_id).await?),
        };
        let Some(definition) = definition.as_ref() else { continue };
        let standings = standings.remove(&run.id).unwrap_or_default();
        let ready = progress::next(definition, &standings, run.strategy, now_ms).ready;
        let passed = if run.id == from.run_id { from.passed } else { 0 };
        for place in ready.into_iter().filter(|place| *place >= passed) {
            let task = &definition.tasks[place];
            // One that was tried before is shown by its tries.
            if standings.contains_key(&task.id) {
                continue;
            }
            if page.tries.len() == limit {
                page.next = Some(Place { run_id: run.id, passed: place });
                return Ok(page);
            }
            page.tries.push(shown(run, task));
        }
    }
    Ok(page)
}

fn shown(run: &Run, task: &Task) -> model::TaskRun {
    let is_stopped = run.state == State::Stopped;
    let state = if is_stopped { State::Stopped } else { State::Queued };
    model::TaskRun {
        id: format!("{PREFIX}{}", task.id),
        instance: run.id.to_string(),
        task: Some(task.id.cast_unsigned()),
        task_name: task.name.clone(),
        attempt: 1,
        state: state.as_str().to_owned(),
        engine_state: "waiting".to_owned(),
        started: None,
        ended: run.ended_at_ms.filter(|_| is_stopped),
        message: is_stopped.then(|| STOPPED.to_owned()),
        rows_affected: None,
        extra: None,
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
