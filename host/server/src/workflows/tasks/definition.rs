//! The definition of a task: the forms of requests, checked and applied to the current definition. Pure
//! functions; references to other modules are looked up before.

use std::fmt;

use lakeport_base::error::Detail;
use lakeport_http::form::{Amend, Patch, Text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Task;
use super::forms::{CreateTask, Priority, TaskChange, UpdateTask};

/// The id of a data source that is known by its name alone; no data source has it.
pub const NO_DATASOURCE: i64 = 0;
/// The type of scripts.
pub const SHELL: &str = "SHELL";
pub const TYPE_MAX_CHARS: usize = 64;
/// The longest text of a task, in bytes.
pub const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// Tables in each of the two lists.
pub const TABLES_MAX: usize = 500;
/// Seconds: 30 days.
pub const TIMEOUT_MAX_S: u32 = 30 * 24 * 3_600;
pub const RETRIES_MAX: u32 = 100;
/// Seconds: a day.
pub const RETRY_INTERVAL_MAX_S: u32 = 24 * 3_600;

/// The content of a task, as stored in versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Content {
    pub task_name: String,
    pub task_type: String,
    /// Its data source.
    pub datasource_id: Option<i64>,
    /// The task's text, of any type.
    pub sql_content: Option<String>,
    pub priority: Priority,
    /// Seconds; 0: none.
    pub timeout: u32,
    pub retry_times: u32,
    /// Seconds.
    pub retry_interval: u32,
    pub input_table_ids: Vec<i64>,
    pub output_table_ids: Vec<i64>,
    /// What it refers to by name, from an import, and what the catalogue does not have.
    #[serde(default, skip_serializing_if = "Unresolved::is_empty")]
    pub unresolved: Unresolved,
}

/// The names of a data source and of tables that the catalogue does not have. Give the task a data source and tables,
/// or import it again once they exist.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "UnresolvedReferences")]
pub struct Unresolved {
    pub datasource: Option<String>,
    /// Tables that it reads.
    pub inputs: Vec<TableRef>,
    /// Tables that it writes.
    pub outputs: Vec<TableRef>,
}

/// A table by its names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableRef {
    /// Null: the table has no data source.
    pub datasource: Option<String>,
    pub db_name: String,
    pub table_name: String,
}

impl fmt::Display for TableRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(datasource) = &self.datasource {
            write!(out, "{datasource}.")?;
        }
        write!(out, "{}.{}", self.db_name, self.table_name)
    }
}

impl Unresolved {
    pub fn is_empty(&self) -> bool {
        *self == Unresolved::default()
    }

    /// The stored text; `None` if it is empty.
    pub fn text(&self) -> Option<String> {
        let text = || serde_json::to_string(self).expect("texts are JSON");
        (!self.is_empty()).then(text)
    }
}

/// The given lists of tables. Without either, both are derived from the SQL.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    pub inputs: bool,
    pub outputs: bool,
}

impl Priority {
    pub fn as_str(self) -> &'static str {
        match self {
            Priority::Highest => "HIGHEST",
            Priority::High => "HIGH",
            Priority::Medium => "MEDIUM",
            Priority::Low => "LOW",
            Priority::Lowest => "LOWEST",
        }
    }
}

impl Content {
    /// Its data source, for rights. Of one that does not exist, and of a script, which may use any: [`NO_DATASOURCE`],
    /// which no bound caller may use.
    pub fn rights_id(&self) -> Option<i64> {
        let is_any = self.unresolved.datasource.is_some() || self.task_type == SHELL;
        self.datasource_id.filter(|_| self.task_type != SHELL).or_else(|| is_any.then_some(NO_DATASOURCE))
    }

    /// All tables that it reads or writes, one list after the other.
    pub fn table_ids(&self) -> impl Iterator<Item = i64> {
        self.input_table_ids.iter().chain(&self.output_table_ids).copied()
    }
}

impl Given {
    pub fn any(self) -> bool {
        self.inputs || self.outputs
    }
}

/// A task type of an engine.
#[derive(Debug, Clone)]
pub struct Kind {
    pub name: String,
    /// The kind of its text: `sql`, `shell`, `none`.
    pub body: String,
    pub needs_datasource: bool,
    /// The kinds of data sources that it works on; empty: any.
    pub datasource_kinds: Vec<String>,
}

impl Kind {
    /// A type that the engine does not declare, of which an imported task may be.
    pub fn unknown(name: &str) -> Kind {
        Kind {
            name: name.to_owned(),
            body: "none".to_owned(),
            needs_datasource: false,
            datasource_kinds: Vec::new(),
        }
    }
}

/// The new definition of a task; its tables may have to be derived from its SQL.
#[derive(Debug)]
pub struct Wanted {
    pub content: Content,
    pub given: Given,
    /// Neither list was given, and the SQL is new or was sent again.
    pub find_tables: bool,
    /// Its text is SQL.
    pub is_sql: bool,
}

/// The definition of a new task, with all problems of the form. Without kinds: as for [`changed`].
pub fn created(form: &CreateTask, kinds: Option<&[Kind]>) -> (Wanted, Vec<Detail>) {
    let task = &form.task;
    let given = Given { inputs: form.input_table_ids.is_some(), outputs: form.output_table_ids.is_some() };
    let content = Content {
        task_name: task.task_name.0.clone(),
        task_type: task.task_type.clone(),
        datasource_id: task.datasource_id,
        sql_content: task.sql_content.clone(),
        priority: task.priority.unwrap_or_default(),
        timeout: task.timeout.unwrap_or_default(),
        retry_times: task.retry_times.unwrap_or_default(),
        retry_interval: task.retry_interval.unwrap_or_default(),
        input_table_ids: each_once(form.input_table_ids.as_deref().unwrap_or_default()),
        output_table_ids: each_once(form.output_table_ids.as_deref().unwrap_or_default()),
        unresolved: Unresolved::default(),
    };
    let (body, wrong) = check(&content, kinds);
    let is_sql = body == "sql";
    (Wanted { content, given, find_tables: !given.any() && is_sql, is_sql }, wrong)
}

/// Applies the form to the current definition, with all problems. Without kinds it is in no workflow, and its
/// type is checked when it comes into one.
pub fn changed(form: &UpdateTask, before: &Task, kinds: Option<&[Kind]>) -> (Wanted, Vec<Detail>) {
    let mut content = before.content.clone();
    if let Amend(Some(task)) = &form.task {
        lay_over(&mut content, task);
    }
    let mut given = before.given;
    lay_list(&mut content.input_table_ids, &mut given.inputs, &form.input_table_ids);
    lay_list(&mut content.output_table_ids, &mut given.outputs, &form.output_table_ids);
    // A task that has none, sent back as it was read, keeps the name.
    if form.task.0.as_ref().is_some_and(|task| matches!(task.datasource_id, Patch::Set(_))) {
        content.unresolved.datasource = None;
    }
    if form.input_table_ids != Patch::Keep {
        content.unresolved.inputs.clear();
    }
    if form.output_table_ids != Patch::Keep {
        content.unresolved.outputs.clear();
    }
    let kinds = kinds_with(kinds, &before.content);
    let (body, mut wrong) = check(&content, kinds.as_deref());
    // What an import or a rollback has left is no error of a change of something else.
    let known = check(&before.content, kinds.as_deref()).1;
    wrong.retain(|one| !known.contains(one));
    let (old, new) = (&before.content, &content);
    let is_new = old.sql_content != new.sql_content
        || old.datasource_id != new.datasource_id
        || old.task_type != new.task_type
        || form.input_table_ids == Patch::Clear
        || form.output_table_ids == Patch::Clear;
    // The same text sent again finds the tables that the catalogue has by now.
    let is_sent = form.task.0.as_ref().is_some_and(|task| matches!(task.sql_content, Patch::Set(_)));
    let find_tables = !given.any() && (is_new || is_sent) && body == "sql";
    if !given.any() && is_new {
        content.unresolved.inputs.clear();
        content.unresolved.outputs.clear();
        if body != "sql" {
            content.input_table_ids.clear();
            content.output_table_ids.clear();
        }
    }
    (Wanted { content, given, find_tables, is_sql: body == "sql" }, wrong)
}

/// The types of the engine, and the one that an imported task has already, of which no more is known.
fn kinds_with(kinds: Option<&[Kind]>, before: &Content) -> Option<Vec<Kind>> {
    let mut kinds = kinds?.to_vec();
    if !kinds.iter().any(|kind| kind.name == before.task_type) {
        kinds.push(Kind::unknown(&before.task_type));
    }
    Some(kinds)
}

fn lay_over(content: &mut Content, task: &TaskChange) {
    fn set<T: Clone>(member: &mut T, given: &Amend<T>) {
        if let Amend(Some(given)) = given {
            member.clone_from(given);
        }
    }
    if let Amend(Some(Text(name))) = &task.task_name {
        content.task_name.clone_from(name);
    }
    set(&mut content.task_type, &task.task_type);
    content.datasource_id = task.datasource_id.clone().over(content.datasource_id);
    content.sql_content = task.sql_content.clone().over(content.sql_content.take());
    set(&mut content.priority, &task.priority);
    set(&mut content.timeout, &task.timeout);
    set(&mut content.retry_times, &task.retry_times);
    set(&mut content.retry_interval, &task.retry_interval);
}

fn lay_list(ids: &mut Vec<i64>, is_given: &mut bool, form: &Patch<Vec<i64>>) {
    match form {
        Patch::Keep => {}
        Patch::Clear => {
            ids.clear();
            *is_given = false;
        }
        Patch::Set(list) => {
            *ids = each_once(list);
            *is_given = true;
        }
    }
}

/// Without duplicates, in the given order.
fn each_once(ids: &[i64]) -> Vec<i64> {
    let mut seen = std::collections::HashSet::new();
    ids.iter().copied().filter(|id| seen.insert(*id)).collect()
}

/// Returns the kind of the task's text, and all problems.
pub fn check(content: &Content, kinds: Option<&[Kind]>) -> (String, Vec<Detail>) {
    let mut wrong = Vec::new();
    let mut refuse = |member: &str, why: String| wrong.push(Detail::new(format!("task.{member}"), why));
    if let Err(why) = check_name(&content.task_name) {
        refuse("taskName", why);
    }
    let kind = match kind_of(&content.task_type, kinds) {
        Ok(kind) => Some(kind),
        Err(why) => {
            refuse("taskType", why);
            None
        }
    };
    let text = content.sql_content.as_deref().unwrap_or_default();
    if text.len() > TEXT_MAX_BYTES {
        refuse("sqlContent", format!("must have {TEXT_MAX_BYTES} bytes at most"));
    }
    if let Some(kind) = &kind {
        if kind.body != "none" && text.trim().is_empty() {
            refuse("sqlContent", format!("is missing; a task of the type {} needs it", kind.name));
        }
        if kind.needs_datasource && content.datasource_id.is_none() {
            refuse("datasourceId", format!("is missing; a task of the type {} needs it", kind.name));
        }
    }
    for (member, number, max) in [
        ("timeout", content.timeout, TIMEOUT_MAX_S),
        ("retryTimes", content.retry_times, RETRIES_MAX),
        ("retryInterval", content.retry_interval, RETRY_INTERVAL_MAX_S),
    ] {
        if number > max {
            refuse(member, format!("must be from 0 to {max}"));
        }
    }
    for (member, ids) in
        [("inputTableIds", &content.input_table_ids), ("outputTableIds", &content.output_table_ids)]
    {
        if ids.len() > TABLES_MAX {
            wrong.push(Detail::new(member, format!("must name {TABLES_MAX} tables at most")));
        }
    }
    (kind.map(|kind| kind.body).unwrap_or_default(), wrong)
}

fn check_name(name: &str) -> Result<(), String> {
    if name.trim() != name {
        return Err("must not begin or end with a blank".to_owned());
    }
    if name.chars().any(char::is_control) {
        return Err("must have no control characters".to_owned());
    }
    Ok(())
}

fn kind_of(name: &str, kinds: Option<&[Kind]>) -> Result<Kind, String> {
    let Some(kinds) = kinds else {
        return match name.chars().count() {
            0 => Err("must not be empty".to_owned()),
            count if count > TYPE_MAX_CHARS => Err(format!("must have {TYPE_MAX_CHARS} characters at most")),
            _ => Ok(Kind {
                name: name.to_owned(),
                body: body_by_name(name),
                needs_datasource: false,
                datasource_kinds: Vec::new(),
            }),
        };
    };
    let known = kinds.iter().find(|kind| kind.name == name).cloned();
    known.ok_or_else(|| {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.name.as_str()).collect();
        format!("must be one that the workflow's engine runs: {}", names.join(", "))
    })
}

/// For a task whose engine is unknown.
fn body_by_name(name: &str) -> String {
    if name == "SQL" { "sql".to_owned() } else { "none".to_owned() }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
