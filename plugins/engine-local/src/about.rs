//! The engine's description, and its limitations. Pure functions.

use lakeport_sdk::engine::{EngineInfo, Problem, Task, TaskType, Workflow};

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Tasks of one workflow.
const TASKS_MAX: usize = 1_000;
const SQL: &str = "SQL";
const SHELL: &str = "SHELL";

pub fn info() -> EngineInfo {
    const FEATURES: [&str; 13] = [
        "business_time",
        "run_key",
        "run_params",
        "retry_failed",
        "retry_all",
        "task_timeout",
        "task_retry",
        "task_priority",
        "log_stream",
        "rows_affected",
        "start_at",
        "concurrency",
        "failure_end",
    ];
    EngineInfo {
        title: "Lakeport's own scheduler".to_owned(),
        config_schema: EMPTY_OBJECT.to_owned(),
        task_types: vec![sql(), shell()],
        deploy_kind: "embedded".to_owned(),
        features: FEATURES.map(str::to_owned).to_vec(),
        ..EngineInfo::new("local", "Lakeport", VERSION)
    }
}

/// The JSON Schema of empty settings.
const EMPTY_OBJECT: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

fn sql() -> TaskType {
    TaskType {
        name: SQL.to_owned(),
        title: "SQL statements on a data source".to_owned(),
        body: "sql".to_owned(),
        needs_datasource: true,
        datasource_kinds: ["sqlite", "postgres", "mysql"].map(str::to_owned).to_vec(),
        settings_schema: EMPTY_OBJECT.to_owned(),
    }
}

/// Runs only where the operator of the server allows it, which the server checks.
fn shell() -> TaskType {
    TaskType {
        name: SHELL.to_owned(),
        title: "A shell script on the server's machine".to_owned(),
        body: "shell".to_owned(),
        needs_datasource: false,
        datasource_kinds: Vec::new(),
        settings_schema: EMPTY_OBJECT.to_owned(),
    }
}

/// All parts of a workflow that cannot run.
pub fn problems(workflow: &Workflow) -> Vec<Problem> {
    let count = workflow.tasks.len();
    if count > TASKS_MAX {
        let message = format!("it has {count} tasks; the engine `local` runs workflows of up to {TASKS_MAX}");
        return vec![Problem::new("tasks", "unsupported_by_engine", message)];
    }
    workflow.tasks.iter().enumerate().flat_map(|(index, task)| problems_of(index, task)).collect()
}

fn problems_of(index: usize, task: &Task) -> Vec<Problem> {
    let problem = |member: &str, code: &str, message: String| {
        Problem::new(format!("tasks[{index}].{member}"), code, format!("the task `{}` {message}", task.name))
    };
    if ![SQL, SHELL].contains(&task.kind.as_str()) {
        let message = format!("is of the type {}; the engine `local` runs {SQL} and {SHELL}", task.kind);
        return vec![problem("taskType", "unsupported_by_engine", message)];
    }
    let mut problems = Vec::new();
    if task.datasource.is_none() && task.kind == SQL {
        problems.push(problem("datasourceId", "missing", "has no data source to run on".to_owned()));
    }
    if task.text().trim().is_empty() {
        problems.push(problem("sqlContent", "missing", "has no text to run".to_owned()));
    }
    problems
}

#[cfg(test)]
mod tests {
    use lakeport_sdk::engine::{BodyPart, Datasource};

    use super::*;

    fn task(kind: &str, body: &str, has_datasource: bool) -> Task {
        let datasource = Datasource { id: 1, name: "shop".to_owned(), kind: "sqlite".to_owned() };
        Task {
            id: 1,
            name: "load".to_owned(),
            kind: kind.to_owned(),
            body: vec![BodyPart::Text(body.to_owned())],
            datasource: has_datasource.then_some(datasource),
            priority: "MEDIUM".to_owned(),
            timeout_s: 0,
            retries: 0,
            retry_interval_s: 0,
            settings: "{}".to_owned(),
        }
    }

    fn codes(tasks: Vec<Task>) -> Vec<(String, String)> {
        let workflow = Workflow {
            id: 1,
            name: "daily".to_owned(),
            description: String::new(),
            revision: String::new(),
            version: 1,
            tasks,
            edges: Vec::new(),
            params: Vec::new(),
            schedule: None,
            concurrency: "parallel".to_owned(),
            extra: None,
        };
        problems(&workflow).into_iter().map(|problem| (problem.member, problem.code)).collect()
    }

    #[test]
    fn a_workflow_that_runs_has_no_problems() {
        assert_eq!(codes(vec![task("SQL", "SELECT 1", true), task("SHELL", "ls", false)]), []);
    }

    #[test]
    fn all_that_cannot_be_run_is_named_at_once() {
        let found =
            codes(vec![task("PYTHON", "ls", false), task("SQL", "SELECT 1", true), task("SQL", " ", false)]);
        let expected = [
            ("tasks[0].taskType", "unsupported_by_engine"),
            ("tasks[2].datasourceId", "missing"),
            ("tasks[2].sqlContent", "missing"),
        ];
        assert_eq!(found, expected.map(|(member, code)| (member.to_owned(), code.to_owned())));
    }

    #[test]
    fn too_many_tasks_are_one_problem() {
        let tasks = (0..=TASKS_MAX).map(|_| task("PYTHON", "", false)).collect();
        assert_eq!(codes(tasks), [("tasks".to_owned(), "unsupported_by_engine".to_owned())]);
    }
}
