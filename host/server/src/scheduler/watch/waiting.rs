//! Tasks that are ready but have not started, because their data source or the server is busy. They are shown
//! as queued attempts, so that a run is visible and can be stopped before its first task starts.
//!
//! They have no rows. The ready tasks follow from the definition and the attempts, as for the worker. Of a run that
//! was stopped, they never began, and are not shown.

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

/// The prefix of such an attempt's id, before the task's; other ids are numbers.
const PREFIX: &str = "waiting-";

/// The position of a page: a run and a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    run_id: i64,
    /// Tasks of that run that were passed, by index.
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

/// A page of them, in the order of their runs.
pub struct Page {
    pub tries: Vec<model::TaskRun>,
    pub next: Option<Place>,
}

/// Whether an attempt's id, or a cursor, is one of this module's.
pub fn is_waiting(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// The task in such an attempt's id.
pub fn task_of(task_run_id: &str) -> Option<i64> {
    task_run_id.strip_prefix(PREFIX)?.parse().ok()
}

/// Those of these runs, after this position.
pub async fn of_runs(db: &Db, ids: &[i64], from: Place, limit: usize, now_ms: i64) -> Result<Page, Error> {
    let has_any = |run: &Run| {
        matches!(run.state, State::Queued | State::Running | State::Stopping) && run.id >= from.run_id
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
        let ready = progress::next(definition, &definition.before(), &standings, run.strategy, now_ms).ready;
        let passed = if run.id == from.run_id { from.passed } else { 0 };
        for place in ready.into_iter().filter(|place| *place >= passed) {
            let task = &definition.tasks[place];
            // A task with attempts is shown by them.
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
    model::TaskRun {
        id: format!("{PREFIX}{}", task.id),
        instance: run.id.to_string(),
        task: Some(task.id.cast_unsigned()),
        task_name: task.name.clone(),
        attempt: 1,
        state: if run.is_paused { "paused" } else { "queued" }.to_owned(),
        engine_state: "waiting".to_owned(),
        started: None,
        ended: None,
        message: None,
        rows_affected: None,
        extra: None,
    }
}

#[cfg(test)]
#[path = "waiting_tests.rs"]
mod tests;
