//! A workflow's revision in the scheduler: exactly the data that its runs need.

use std::collections::{HashMap, HashSet};

use lakeport_bindings::engine::model;
use lakeport_sql::script::sqlite_script;
use serde::{Deserialize, Serialize};

use super::refused::Refused;

/// The kind of data sources that are files.
const SQLITE: &str = "sqlite";
/// Tasks of one workflow.
const TASKS_MAX: usize = 1_000;
/// Edges of one workflow.
const EDGES_MAX: usize = 100_000;
/// The limit of all of it, in bytes.
const DEFINITION_MAX_BYTES: usize = 4 * 1024 * 1024;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// Absent in revisions of older servers.
    #[serde(default)]
    pub concurrency: Concurrency,
    pub tasks: Vec<Task>,
    /// Ids of two tasks, in order of execution.
    pub edges: Vec<(i64, i64)>,
    /// Names and values.
    pub params: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    pub id: i64,
    pub name: String,
    pub kind: String,
    pub body: String,
    pub datasource_id: Option<i64>,
    pub priority: Priority,
    /// 0: no limit.
    pub timeout_s: u32,
    pub retries: u32,
    pub retry_interval_s: u32,
    /// Whether it runs alone on its data source: SQLite has one writer.
    #[serde(rename = "writes")]
    pub alone: bool,
    /// Its data source is a SQLite file.
    #[serde(default)]
    pub is_on_file: bool,
}

/// The order in which tasks start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Priority {
    Highest,
    High,
    Medium,
    Low,
    Lowest,
}

/// What a run does while another one of the workflow is active.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Concurrency {
    /// It runs, too.
    #[default]
    Parallel,
    /// It waits for the end of earlier ones.
    Wait,
    /// It is not run.
    Discard,
}

/// The effect of a failed task on the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// Independent branches continue.
    Continue,
    /// No further tasks start.
    End,
}

impl Concurrency {
    /// An unknown word is the careful one.
    pub fn parse(text: &str) -> Concurrency {
        match text {
            "parallel" => Concurrency::Parallel,
            "discard" => Concurrency::Discard,
            _ => Concurrency::Wait,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Concurrency::Parallel => "parallel",
            Concurrency::Wait => "wait",
            Concurrency::Discard => "discard",
        }
    }
}

impl Strategy {
    pub fn parse(text: &str) -> Option<Strategy> {
        match text {
            "CONTINUE" => Some(Strategy::Continue),
            "END" => Some(Strategy::End),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Strategy::Continue => "CONTINUE",
            Strategy::End => "END",
        }
    }
}

impl Definition {
    /// Converts a workflow; `invalid_input`, `limit_exceeded` or `unsupported` if it cannot run.
    pub fn of(workflow: model::Workflow) -> Result<Definition, Refused> {
        if workflow.tasks.len() > TASKS_MAX || workflow.edges.len() > EDGES_MAX {
            let message = format!("a workflow has {TASKS_MAX} tasks and {EDGES_MAX} edges at most");
            return Err(Refused::new("limit_exceeded", message));
        }
        let tasks = workflow.tasks.into_iter().map(task).collect::<Result<Vec<_>, _>>()?;
        let edges = workflow.edges.into_iter().map(|edge| Ok((id(edge.before)?, id(edge.after)?)));
        let edges = edges.collect::<Result<Vec<_>, Refused>>()?;
        let params = workflow.params.into_iter().map(|param| (param.name, param.value)).collect();
        let concurrency = Concurrency::parse(&workflow.concurrency);
        let definition = Definition { concurrency, tasks, edges, params };
        definition.check()?;
        Ok(definition)
    }

    /// The reverse of [`Definition::of`]; of data sources it has the ids alone.
    pub fn into_model(
        self,
        workflow_id: u64,
        name: String,
        revision: String,
        schedule: Option<model::Schedule>,
    ) -> model::Workflow {
        let edge = |(before, after): (i64, i64)| model::Edge {
            before: before.unsigned_abs(),
            after: after.unsigned_abs(),
        };
        let param = |(name, value)| model::Param { name, kind: "text".to_owned(), value };
        model::Workflow {
            id: workflow_id,
            name,
            description: String::new(),
            revision,
            version: 0,
            tasks: self.tasks.into_iter().map(Task::into_model).collect(),
            edges: self.edges.into_iter().map(edge).collect(),
            params: self.params.into_iter().map(param).collect(),
            schedule,
            concurrency: self.concurrency.as_str().to_owned(),
            extra: None,
        }
    }

    pub fn to_json(&self) -> Result<String, Refused> {
        let text = serde_json::to_string(self).map_err(lakeport_base::Error::internal)?;
        if text.len() > DEFINITION_MAX_BYTES {
            let message = format!("a workflow has {DEFINITION_MAX_BYTES} bytes at most");
            return Err(Refused::new("limit_exceeded", message));
        }
        Ok(text)
    }

    /// The direct predecessors of each task, by index.
    pub fn before(&self) -> Vec<Vec<usize>> {
        let places: HashMap<i64, usize> = self.places();
        let mut before = vec![Vec::new(); self.tasks.len()];
        for (first, second) in &self.edges {
            if let (Some(&first), Some(&second)) = (places.get(first), places.get(second)) {
                before[second].push(first);
            }
        }
        before
    }

    /// The tasks that do not run if a run begins at this one: all but it and, unless `is_only`, all that come after
    /// it. `None`: there is no such task.
    pub fn left_out(&self, first: i64, is_only: bool) -> Option<Vec<i64>> {
        let start = self.tasks.iter().position(|task| task.id == first)?;
        let mut runs = vec![false; self.tasks.len()];
        let mut after = vec![Vec::new(); self.tasks.len()];
        for (second, firsts) in self.before().iter().enumerate() {
            firsts.iter().for_each(|&first| after[first].push(second));
        }
        let mut open = vec![start];
        while let Some(place) = open.pop() {
            if !std::mem::replace(&mut runs[place], true) && !is_only {
                open.extend(&after[place]);
            }
        }
        let left_out = self.tasks.iter().zip(runs).filter(|(_, runs)| !runs);
        Some(left_out.map(|(task, _)| task.id).collect())
    }

    fn places(&self) -> HashMap<i64, usize> {
        self.tasks.iter().enumerate().map(|(place, task)| (task.id, place)).collect()
    }

    fn check(&self) -> Result<(), Refused> {
        let wrong = |message: &str| Refused::new("invalid_input", message);
        let places = self.places();
        if places.len() != self.tasks.len() {
            return Err(wrong("two tasks of the workflow have the same id"));
        }
        let names: HashSet<&str> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        if names.len() != self.tasks.len() {
            return Err(wrong("two tasks of the workflow have the same name"));
        }
        if self
            .edges
            .iter()
            .any(|(first, second)| !places.contains_key(first) || !places.contains_key(second))
        {
            return Err(wrong("an edge of the workflow names a task that it does not have"));
        }
        if self.has_circle() {
            Err(wrong("the tasks of the workflow wait for each other in a circle"))
        } else {
            Ok(())
        }
    }

    /// Whether the tasks have a cycle.
    fn has_circle(&self) -> bool {
        let before = self.before();
        let mut after = vec![Vec::new(); self.tasks.len()];
        for (second, firsts) in before.iter().enumerate() {
            firsts.iter().for_each(|&first| after[first].push(second));
        }
        let mut waits: Vec<usize> = before.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = (0..waits.len()).filter(|&place| waits[place] == 0).collect();
        let mut taken = 0;
        while let Some(place) = free.pop() {
            taken += 1;
            for &next in &after[place] {
                waits[next] -= 1;
                if waits[next] == 0 {
                    free.push(next);
                }
            }
        }
        taken < self.tasks.len()
    }
}

impl Task {
    fn into_model(self) -> model::Task {
        let source =
            |id: i64| model::Datasource { id: id.unsigned_abs(), name: String::new(), kind: String::new() };
        model::Task {
            id: self.id.unsigned_abs(),
            name: self.name,
            kind: self.kind,
            body: vec![model::BodyPart::Text(self.body)],
            datasource: self.datasource_id.map(source),
            priority: self.priority.as_str().to_owned(),
            timeout_s: self.timeout_s,
            retries: self.retries,
            retry_interval_s: self.retry_interval_s,
            settings: "{}".to_owned(),
        }
    }
}

impl Priority {
    fn as_str(self) -> &'static str {
        match self {
            Priority::Highest => "HIGHEST",
            Priority::High => "HIGH",
            Priority::Medium => "MEDIUM",
            Priority::Low => "LOW",
            Priority::Lowest => "LOWEST",
        }
    }
}

fn task(task: model::Task) -> Result<Task, Refused> {
    let priority = match task.priority.as_str() {
        "HIGHEST" => Priority::Highest,
        "HIGH" => Priority::High,
        "LOW" => Priority::Low,
        "LOWEST" => Priority::Lowest,
        _ => Priority::Medium,
    };
    let body = task.text();
    let is_sqlite = task.datasource.as_ref().is_none_or(|datasource| datasource.kind == SQLITE);
    let datasource_id = task.datasource.map(|datasource| id(datasource.id)).transpose()?;
    // With parameters the text may not be parseable yet: it counts as writing.
    let may_write = || sqlite_script(&body).map_or(true, |script| script.iter().any(|one| one.writes()));
    let alone = is_sqlite && may_write();
    Ok(Task {
        id: id(task.id)?,
        name: task.name,
        kind: task.kind,
        body,
        datasource_id,
        priority,
        timeout_s: task.timeout_s,
        retries: task.retries,
        retry_interval_s: task.retry_interval_s,
        alone,
        is_on_file: is_sqlite,
    })
}

/// An id of Lakeport's.
pub fn id(id: u64) -> Result<i64, Refused> {
    i64::try_from(id).map_err(|_| Refused::new("invalid_input", format!("{id} is no id")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::testing::{task, workflow};

    #[test]
    fn what_cannot_run_is_refused() {
        let code = |tasks: &[&str], edges: &[(u64, u64)]| {
            let tasks = tasks.iter().enumerate().map(|(at, name)| task(at as u64 + 1, name, "SELECT 1"));
            Definition::of(workflow(7, tasks.collect(), edges)).map(drop).map_err(|refused| refused.0.code)
        };
        assert_eq!(code(&["a", "b", "c"], &[(1, 2), (2, 3), (1, 3)]), Ok(()));
        assert_eq!(code(&["a", "b"], &[(1, 2), (2, 1)]).unwrap_err(), "invalid_input");
        assert_eq!(code(&["a"], &[(1, 1)]).unwrap_err(), "invalid_input");
        assert_eq!(code(&["a"], &[(1, 9)]).unwrap_err(), "invalid_input");
        assert_eq!(code(&["a", "a"], &[]).unwrap_err(), "invalid_input");
        assert_eq!(code(&["a"; 1_001], &[]).unwrap_err(), "limit_exceeded");
    }

    #[test]
    fn it_is_kept_as_it_was_given() {
        let given = Definition::of(workflow(
            7,
            vec![task(1, "a", "SELECT 1"), task(2, "b", "DELETE FROM t")],
            &[(1, 2)],
        ));
        let given = given.unwrap();
        assert_eq!([given.tasks[0].alone, given.tasks[1].alone], [false, true]);
        assert_eq!(serde_json::from_str::<Definition>(&given.to_json().unwrap()).unwrap(), given);
    }
}
