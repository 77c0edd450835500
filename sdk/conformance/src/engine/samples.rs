//! The workflows of the kit.

use lakeport_bindings::engine::model::{
    BodyPart, Edge, RunRequest, Schedule, Task, Watched, Workflow, WorkflowRef,
};

use super::setting::{Setting, Tasks};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// What a task of the kit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Succeeds,
    Fails,
    Endless,
    Slow,
}

impl Work {
    fn body(self, tasks: &Tasks) -> String {
        match self {
            Work::Succeeds => tasks.succeeds.clone(),
            Work::Fails => tasks.fails.clone(),
            Work::Endless => tasks.endless.clone(),
            Work::Slow => tasks.slow.clone().unwrap_or_else(|| tasks.succeeds.clone()),
        }
    }
}

/// A workflow. Its tasks have the ids 1, 2, … after a multiple of a hundred; `edges` name them by index.
pub fn workflow(
    setting: &Setting,
    number: u64,
    name: &str,
    tasks: &[(&str, Work)],
    edges: &[(usize, usize)],
) -> Workflow {
    let id = setting.first_id + number;
    let task_id = |index: usize| id * 100 + index as u64 + 1;
    let task = |(index, (name, work)): (usize, &(&str, Work))| Task {
        id: task_id(index),
        name: (*name).to_owned(),
        kind: setting.tasks.kind.clone(),
        body: vec![BodyPart::Text(work.body(&setting.tasks))],
        datasource: setting.tasks.datasource.clone(),
        priority: "MEDIUM".to_owned(),
        timeout_s: 0,
        retries: 0,
        retry_interval_s: 0,
        settings: setting.tasks.settings.clone(),
    };
    let edge = |&(before, after): &(usize, usize)| Edge { before: task_id(before), after: task_id(after) };
    Workflow {
        id,
        name: format!("conformance-{}-{name}", setting.unique),
        description: "Made by Lakeport's conformance kit.".to_owned(),
        revision: revision(id, 1),
        version: 1,
        tasks: tasks.iter().enumerate().map(task).collect(),
        edges: edges.iter().map(edge).collect(),
        params: Vec::new(),
        schedule: None,
        concurrency: "parallel".to_owned(),
        extra: None,
    }
}

/// A digest stands for the content; the kit counts.
pub fn revision(id: u64, version: u32) -> String {
    format!("{id:032x}{version:032x}")
}

/// A workflow that was never deployed, or whose answer was lost.
pub fn unknown(workflow: &Workflow) -> WorkflowRef {
    WorkflowRef {
        id: workflow.id,
        name: workflow.name.clone(),
        code: None,
        project: None,
        revision: None,
        state: None,
    }
}

pub fn watched(workflow: &WorkflowRef) -> Watched {
    Watched { id: workflow.id, code: workflow.code.clone(), project: workflow.project.clone() }
}

/// A schedule from now on.
pub fn schedule(setting: &Setting, cron: &str) -> Schedule {
    Schedule {
        cron: cron.to_owned(),
        time_zone: "UTC".to_owned(),
        start: (setting.now_ms)(),
        end: None,
        failure_strategy: "CONTINUE".to_owned(),
        warning_type: "NONE".to_owned(),
        extra: None,
    }
}

/// Midnight UTC so many days ago.
pub fn midnight(setting: &Setting, days_ago: u64) -> i64 {
    let today = (setting.now_ms)().div_euclid(DAY_MS);
    (today - i64::try_from(days_ago).expect("a few")) * DAY_MS
}

/// A manual run of all tasks.
pub fn run(workflow: &WorkflowRef, key: String, business_time: Option<i64>) -> RunRequest {
    RunRequest {
        workflow: workflow.clone(),
        key,
        cause: "manual".to_owned(),
        business_time,
        params: Vec::new(),
        failure_strategy: "CONTINUE".to_owned(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    }
}
