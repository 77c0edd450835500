//! The names that every workflow knows, as in DolphinScheduler 3.x: dates of the business time, and ids and
//! names of what runs.

use std::borrow::Cow;

/// The prefix of all of them.
pub const PREFIX: &str = "system.";
/// The dates, with their time expressions.
const DATES: [(&str, &str); 3] = [
    ("system.biz.date", "yyyyMMdd-1"),
    ("system.biz.curdate", "yyyyMMdd"),
    ("system.datetime", "yyyyMMddHHmmss"),
];
const NAMES: [(&str, Name); 9] = [
    ("system.task.instance.id", Name::TaskInstance),
    ("system.task.definition.name", Name::Task),
    ("system.task.definition.code", Name::TaskCode),
    ("system.task.execute.path", Name::TaskPath),
    ("system.workflow.instance.id", Name::WorkflowInstance),
    ("system.workflow.definition.name", Name::Workflow),
    ("system.workflow.definition.code", Name::WorkflowCode),
    ("system.project.name", Name::Project),
    ("system.project.code", Name::ProjectCode),
];

/// What runs, for `${system.task.…}`, `${system.workflow.…}` and `${system.project.…}`.
///
/// Where an engine has no such thing it is `None`, and a text that uses it does not run there: an empty text
/// in its place would make another path or key, unnoticed. Lakeport's own scheduler has neither projects nor
/// a folder for a task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context<'a> {
    /// The id of the task in this run.
    pub task_instance_id: Option<i64>,
    pub task_name: Option<&'a str>,
    pub task_code: Option<i64>,
    /// The folder in which the task runs.
    pub task_path: Option<&'a str>,
    /// The id of this run.
    pub workflow_instance_id: Option<i64>,
    pub workflow_name: Option<&'a str>,
    pub workflow_code: Option<i64>,
    pub project_name: Option<&'a str>,
    pub project_code: Option<i64>,
}

#[derive(Clone, Copy)]
enum Name {
    TaskInstance,
    Task,
    TaskCode,
    TaskPath,
    WorkflowInstance,
    Workflow,
    WorkflowCode,
    Project,
    ProjectCode,
}

/// A built-in value.
pub enum BuiltIn<'a> {
    /// A time expression.
    Date(&'static str),
    Id(i64),
    Text(Cow<'a, str>),
}

/// Whether a name is built in.
pub fn is_built_in(name: &str) -> bool {
    name.starts_with(PREFIX)
        && (DATES.iter().any(|(known, _)| *known == name) || NAMES.iter().any(|(known, _)| *known == name))
}

impl<'a> Context<'a> {
    /// Any values, to check texts without a run.
    pub fn any() -> Context<'static> {
        Context {
            task_instance_id: Some(1),
            task_name: Some("task"),
            task_code: Some(1),
            task_path: Some("/task"),
            workflow_instance_id: Some(1),
            workflow_name: Some("workflow"),
            workflow_code: Some(1),
            project_name: Some("project"),
            project_code: Some(1),
        }
    }

    /// The same, without what Lakeport's own scheduler does not have.
    pub fn any_here() -> Context<'static> {
        Context { task_path: None, project_name: None, project_code: None, ..Context::any() }
    }

    /// A built-in value; or the reason why there is none.
    pub fn value(&self, name: &str) -> Option<Result<BuiltIn<'a>, String>> {
        if let Some((_, pattern)) = DATES.iter().find(|(known, _)| *known == name) {
            return Some(Ok(BuiltIn::Date(pattern)));
        }
        let (_, found) = NAMES.iter().find(|(known, _)| *known == name)?;
        let text = |text: Option<&'a str>| text.map(|text| BuiltIn::Text(text.into()));
        let value = match found {
            Name::TaskInstance => self.task_instance_id.map(BuiltIn::Id),
            Name::Task => text(self.task_name),
            Name::TaskCode => self.task_code.map(BuiltIn::Id),
            Name::TaskPath => text(self.task_path),
            Name::WorkflowInstance => self.workflow_instance_id.map(BuiltIn::Id),
            Name::Workflow => text(self.workflow_name),
            Name::WorkflowCode => self.workflow_code.map(BuiltIn::Id),
            Name::Project => text(self.project_name),
            Name::ProjectCode => self.project_code.map(BuiltIn::Id),
        };
        Some(value.ok_or_else(|| format!("${{{name}}} has no value here: the engine that runs it has none")))
    }
}
