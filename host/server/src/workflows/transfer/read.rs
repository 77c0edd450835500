//! Reads a document: all problems at once, each with its path. A member of the wrong type counts as absent. Pure
//! functions.

use std::collections::HashSet;

use lakeport_base::error::Detail;
use lakeport_base::text::nearest;
use serde_json::{Map, Value};

use super::document::{Document, EdgePart, FORMAT, SchedulePart, TaskPart, WorkflowPart};
use crate::workflows::api::EDGES_MAX;
use crate::workflows::definition::PARAMS_MAX;
use crate::workflows::forms::{FailureStrategy, GlobalParam, WarningType};
use crate::workflows::tasks::definition::{TABLES_MAX, TYPE_MAX_CHARS, TableRef};
use crate::workflows::tasks::forms::Priority;
use crate::workflows::versions::TASKS_MAX;

/// Of the names of data sources, databases, tables and tasks.
const NAME_MAX_CHARS: usize = 256;
/// The most reported problems.
pub const PROBLEMS_MAX: usize = 200;

/// The problems found so far; the number of more of them.
#[derive(Default)]
pub struct Problems {
    pub details: Vec<Detail>,
    left_off: usize,
    /// What does not prevent an import.
    pub warnings: Vec<Detail>,
}

impl Problems {
    pub fn add(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.details.len() < PROBLEMS_MAX {
            self.details.push(Detail::new(field, message));
        } else {
            self.left_off += 1;
        }
    }

    /// Adds a warning, up to the limit of problems.
    pub fn warn(&mut self, field: impl Into<String>, message: impl Into<String>) {
        if self.warnings.len() < PROBLEMS_MAX {
            self.warnings.push(Detail::new(field, message));
        }
    }

    pub fn extend(&mut self, details: impl IntoIterator<Item = Detail>) {
        details.into_iter().for_each(|detail| self.add(detail.field, detail.message));
    }

    /// The same, without members that have a problem already.
    pub fn extend_others(&mut self, details: impl IntoIterator<Item = Detail>) {
        let known: HashSet<String> = self.details.iter().map(|detail| detail.field.clone()).collect();
        self.extend(details.into_iter().filter(|detail| !known.contains(&detail.field)));
    }

    /// The problems and the warnings; a last problem counts those that are not listed.
    pub fn into_details(mut self) -> (Vec<Detail>, Vec<Detail>) {
        if self.left_off > 0 {
            let message = format!("has {} more problems, which are not listed", self.left_off);
            self.details.push(Detail::new(ROOT, message));
        }
        (self.details, self.warnings)
    }
}

/// The path of the whole document.
pub const ROOT: &str = "definition";

/// Whether it says that it is a document of this product, of any version.
pub fn is_own(value: &Value) -> bool {
    value.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("lakeport."))
}

/// The document, as far as it could be read.
pub fn document(value: &Value, problems: &mut Problems) -> Option<Document> {
    let root = Path(String::new());
    let members = Members::of(value, root, &["format", "workflow", "tasks", "edges", "schedule"], problems)?;
    match members.text("format", problems).as_deref() {
        Some(FORMAT) => {}
        Some(other) => {
            problems.add("format", format!("must be `{FORMAT}`, not `{}`", shown(other)));
            return None;
        }
        None => {
            members.missing("format", problems);
            return None;
        }
    }
    let workflow = match members.get("workflow") {
        Some(value) => workflow(value, members.path.member("workflow"), problems)?,
        None => {
            members.missing("workflow", problems);
            return None;
        }
    };
    let tasks = members.list("tasks", TASKS_MAX as usize, problems);
    let tasks = tasks.into_iter().map(|(value, path)| task(value, path, problems)).collect();
    let edges = members.list("edges", EDGES_MAX, problems);
    let edges = edges.into_iter().filter_map(|(value, path)| edge(value, path, problems)).collect();
    let schedule = members.get("schedule").filter(|value| !value.is_null());
    let schedule = schedule.and_then(|value| schedule_of(value, members.path.member("schedule"), problems));
    Some(Document { format: FORMAT.to_owned(), workflow, tasks, edges, schedule })
}

fn workflow(value: &Value, path: Path, problems: &mut Problems) -> Option<WorkflowPart> {
    let known = ["name", "description", "schedulerEngine", "globalParams"];
    let members = Members::of(value, path, &known, problems)?;
    let params = members.list("globalParams", PARAMS_MAX, problems);
    Some(WorkflowPart {
        name: members.needed("name", problems),
        description: members.text("description", problems),
        scheduler_engine: members.text("schedulerEngine", problems).unwrap_or_default(),
        global_params: params.into_iter().filter_map(|(value, path)| param(value, path, problems)).collect(),
    })
}

fn param(value: &Value, path: Path, problems: &mut Problems) -> Option<GlobalParam> {
    let members = Members::of(value, path, &["name", "value"], problems)?;
    Some(GlobalParam { name: members.needed("name", problems), value: members.needed("value", problems) })
}

fn task(value: &Value, path: Path, problems: &mut Problems) -> TaskPart {
    let known = [
        "taskName",
        "taskType",
        "datasource",
        "sqlContent",
        "priority",
        "timeout",
        "retryTimes",
        "retryInterval",
        "tablesFromSql",
        "inputTables",
        "outputTables",
    ];
    let mut part = TaskPart {
        task_name: String::new(),
        task_type: String::new(),
        datasource: None,
        sql_content: None,
        priority: Priority::default(),
        timeout: 0,
        retry_times: 0,
        retry_interval: 0,
        tables_from_sql: false,
        input_tables: Vec::new(),
        output_tables: Vec::new(),
    };
    let Some(members) = Members::of(value, path, &known, problems) else { return part };
    part.task_name = members.needed("taskName", problems);
    part.task_type = members.named("taskType", TYPE_MAX_CHARS, problems);
    part.datasource = members
        .get("datasource")
        .filter(|value| !value.is_null())
        .map(|_| members.named("datasource", NAME_MAX_CHARS, problems));
    part.sql_content = members.text("sqlContent", problems);
    part.priority = members.word("priority", problems).unwrap_or_default();
    part.timeout = members.number("timeout", problems);
    part.retry_times = members.number("retryTimes", problems);
    part.retry_interval = members.number("retryInterval", problems);
    let has_lists = members.get("inputTables").is_some() || members.get("outputTables").is_some();
    part.tables_from_sql = members.flag("tablesFromSql", problems).unwrap_or(!has_lists);
    part.input_tables = tables(&members, "inputTables", problems);
    part.output_tables = tables(&members, "outputTables", problems);
    part
}

fn tables(members: &Members<'_>, name: &str, problems: &mut Problems) -> Vec<TableRef> {
    let list = members.list(name, TABLES_MAX, problems);
    let mut tables: Vec<TableRef> = Vec::with_capacity(list.len());
    for (value, path) in list {
        let Some(members) = Members::of(value, path, &["datasource", "dbName", "tableName"], problems) else {
            continue;
        };
        tables.push(TableRef {
            datasource: members
                .get("datasource")
                .filter(|value| !value.is_null())
                .map(|_| members.named("datasource", NAME_MAX_CHARS, problems)),
            db_name: members.named("dbName", NAME_MAX_CHARS, problems),
            table_name: members.named("tableName", NAME_MAX_CHARS, problems),
        });
    }
    tables.sort();
    tables.dedup();
    tables
}

fn edge(value: &Value, path: Path, problems: &mut Problems) -> Option<EdgePart> {
    let members = Members::of(value, path, &["source", "target"], problems)?;
    Some(EdgePart {
        source: members.named("source", NAME_MAX_CHARS, problems),
        target: members.named("target", NAME_MAX_CHARS, problems),
    })
}

fn schedule_of(value: &Value, path: Path, problems: &mut Problems) -> Option<SchedulePart> {
    let known = ["crontab", "startTime", "endTime", "timezone", "failureStrategy", "warningType"];
    let members = Members::of(value, path, &known, problems)?;
    Some(SchedulePart {
        crontab: members.needed("crontab", problems),
        start_time: members.text("startTime", problems),
        end_time: members.text("endTime", problems),
        timezone: members.needed("timezone", problems),
        failure_strategy: members.word::<FailureStrategy>("failureStrategy", problems).unwrap_or_default(),
        warning_type: members.word::<WarningType>("warningType", problems).unwrap_or_default(),
    })
}

/// A path in the document; empty: the whole.
struct Path(String);

impl Path {
    fn member(&self, name: &str) -> Path {
        if self.0.is_empty() { Path(name.to_owned()) } else { Path(format!("{}.{name}", self.0)) }
    }

    fn text(&self) -> &str {
        if self.0.is_empty() { ROOT } else { &self.0 }
    }
}

/// An object of the document.
struct Members<'v> {
    members: &'v Map<String, Value>,
    path: Path,
}

impl<'v> Members<'v> {
    /// Warns of members that are not known: a misspelled one must not be missed.
    fn of(value: &'v Value, path: Path, known: &[&str], problems: &mut Problems) -> Option<Members<'v>> {
        let Value::Object(members) = value else {
            problems.add(path.text(), format!("must be an object, not {}", kind(value)));
            return None;
        };
        for name in members.keys().filter(|name| !known.contains(&name.as_str())) {
            let hint = nearest(name, known.iter().copied());
            let hint = hint.map_or_else(String::new, |hint| format!("; did you mean `{hint}`?"));
            let message = format!("is not a member of the format, and ignored{hint}");
            problems.warn(path.member(&shown(name)).0, message);
        }
        Some(Members { members, path })
    }

    /// `None` if it is absent.
    fn get(&self, name: &str) -> Option<&'v Value> {
        self.members.get(name)
    }

    fn missing(&self, name: &str, problems: &mut Problems) {
        problems.add(self.path.member(name).0, "is missing");
    }

    fn wrong(&self, name: &str, expected: &str, value: &Value, problems: &mut Problems) {
        problems.add(self.path.member(name).0, format!("must be {expected}, not {}", kind(value)));
    }

    /// `None` if it is absent or null.
    fn text(&self, name: &str, problems: &mut Problems) -> Option<String> {
        match self.get(name)? {
            Value::Null => None,
            Value::String(text) if text.contains('\0') => {
                problems.add(self.path.member(name).0, "must not contain the character U+0000");
                None
            }
            Value::String(text) => Some(text.clone()),
            other => {
                self.wrong(name, "a string", other, problems);
                None
            }
        }
    }

    fn needed(&self, name: &str, problems: &mut Problems) -> String {
        if self.get(name).is_none_or(Value::is_null) {
            self.missing(name, problems);
        }
        self.text(name, problems).unwrap_or_default()
    }

    /// A name that must be there, and not be empty or longer than so many characters.
    fn named(&self, name: &str, max_chars: usize, problems: &mut Problems) -> String {
        let text = self.needed(name, problems);
        let is_text = self.get(name).is_some_and(Value::is_string);
        if is_text && !(1..=max_chars).contains(&text.chars().count()) {
            problems.add(self.path.member(name).0, format!("must have 1 to {max_chars} characters"));
            return String::new();
        }
        text
    }

    fn number(&self, name: &str, problems: &mut Problems) -> u32 {
        let Some(value) = self.get(name) else { return 0 };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        if number.is_none() {
            let got = if value.is_number() { value.to_string() } else { kind(value).to_owned() };
            let message = format!("must be an integer from 0 to {}, not {got}", u32::MAX);
            problems.add(self.path.member(name).0, message);
        }
        number.unwrap_or_default()
    }

    fn flag(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        let value = self.get(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            self.wrong(name, "true or false", value, problems);
        }
        flag
    }

    /// One of an enum's words.
    fn word<T: serde::de::DeserializeOwned>(&self, name: &str, problems: &mut Problems) -> Option<T> {
        let text = self.text(name, problems)?;
        match serde_json::from_value(Value::String(shown(&text))) {
            Ok(word) => Some(word),
            Err(error) => {
                // serde lists the words behind this.
                let error = error.to_string();
                let words = error.split_once("expected ").map_or("", |(_, words)| words);
                problems.add(self.path.member(name).0, format!("must be {words}"));
                None
            }
        }
    }

    /// A list with the paths of its items; empty if it is absent. One that is too long is not read.
    fn list(&self, name: &str, at_most: usize, problems: &mut Problems) -> Vec<(&'v Value, Path)> {
        let path = self.path.member(name);
        match self.get(name) {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) if items.len() > at_most => {
                problems.add(path.0, format!("has {} items, the limit is {at_most}", items.len()));
                Vec::new()
            }
            Some(Value::Array(items)) => {
                let at = |(at, item)| (item, Path(format!("{}[{at}]", path.0)));
                items.iter().enumerate().map(at).collect()
            }
            Some(other) => {
                self.wrong(name, "an array", other, problems);
                Vec::new()
            }
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// A client's text, short enough for a message.
fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 100;
    text.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
#[path = "read_fuzz.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problems(value: &Value) -> Vec<(String, String)> {
        let mut problems = Problems::default();
        document(value, &mut problems);
        let (errors, warnings) = problems.into_details();
        let all = errors.into_iter().chain(warnings);
        all.map(|detail| (detail.field, detail.message)).collect()
    }

    #[test]
    fn all_problems_have_their_paths() {
        let wrong = json!({ "format": FORMAT, "extra": 1,
            "workflow": { "name": 7, "globalParams": [{ "name": "a" }, 3] },
            "tasks": [{ "taskNam": "x", "taskType": "SQL", "timeout": -1, "priority": "URGENT" }, [],
                { "taskName": "a", "taskType": "SQL", "inputTables": [{ "dbName": "m" }, "t"] }],
            "edges": {}, "schedule": { "crontab": "x" } });
        let fields: Vec<String> = problems(&wrong).into_iter().map(|(field, _)| field).collect();
        assert_eq!(
            fields,
            [
                "workflow.name",
                "workflow.globalParams[0].value",
                "workflow.globalParams[1]",
                "tasks[0].taskName",
                "tasks[0].priority",
                "tasks[0].timeout",
                "tasks[1]",
                "tasks[2].inputTables[0].tableName",
                "tasks[2].inputTables[1]",
                "edges",
                "schedule.timezone",
                "extra",
                "tasks[0].taskNam",
            ]
        );
    }

    #[test]
    fn too_many_items_are_one_problem() {
        let tasks = vec![json!(1); TASKS_MAX as usize + 1];
        let found = problems(&json!({ "format": FORMAT, "workflow": { "name": "a" }, "tasks": tasks }));
        assert_eq!(found.len(), 1, "{found:?}");
        let wrong: Vec<Value> = vec![json!(1); 1_000];
        let found = problems(&json!({ "format": FORMAT, "workflow": { "name": "a" }, "tasks": wrong }));
        assert_eq!(found.len(), PROBLEMS_MAX + 1);
        assert!(found[PROBLEMS_MAX].1.contains("800 more"), "{:?}", found[PROBLEMS_MAX]);
    }

    #[test]
    fn other_formats_are_refused() {
        for format in [json!("lakeport.workflow/2"), json!(1), Value::Null] {
            let found = problems(&json!({ "format": format, "workflow": { "name": "a" }, "tasks": [] }));
            assert_eq!(found[0].0, "format");
        }
    }
}
