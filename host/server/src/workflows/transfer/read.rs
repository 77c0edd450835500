//! Reads a document: all problems at once, each with its path. A member of the wrong type counts as absent. Objects and
//! lists are read from the text itself, so that what is not of the format costs no memory. Pure functions.

use std::collections::HashSet;
use std::fmt;

use lakeport_base::error::Detail;
use lakeport_base::text::nearest;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

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
pub fn is_own(value: &RawValue) -> bool {
    let format = object(value, &["format"]).map(|object| object.known);
    let format = format.and_then(|known| known.first().and_then(|(_, value)| text(value)));
    format.is_some_and(|format| format.starts_with("lakeport."))
}

/// The document, as far as it could be read.
pub fn document(value: &RawValue, problems: &mut Problems) -> Option<Document> {
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
    let tasks = tasks.map(|(value, path)| task(value, path, problems)).collect();
    let edges = members.list("edges", EDGES_MAX, problems);
    let edges = edges.filter_map(|(value, path)| edge(value, path, problems)).collect();
    let schedule = members.get("schedule").filter(|value| !is_null(value));
    let schedule = schedule.and_then(|value| schedule_of(value, members.path.member("schedule"), problems));
    Some(Document { format: FORMAT.to_owned(), workflow, tasks, edges, schedule })
}

fn workflow(value: &RawValue, path: Path, problems: &mut Problems) -> Option<WorkflowPart> {
    let known = ["name", "description", "schedulerEngine", "globalParams", "concurrency"];
    let members = Members::of(value, path, &known, problems)?;
    let params = members.list("globalParams", PARAMS_MAX, problems);
    Some(WorkflowPart {
        name: members.needed("name", problems),
        description: members.text("description", problems),
        scheduler_engine: members.text("schedulerEngine", problems).unwrap_or_default(),
        global_params: params.filter_map(|(value, path)| param(value, path, problems)).collect(),
        concurrency: members.word("concurrency", problems).unwrap_or_default(),
    })
}

fn param(value: &RawValue, path: Path, problems: &mut Problems) -> Option<GlobalParam> {
    let members = Members::of(value, path, &["name", "value"], problems)?;
    Some(GlobalParam { name: members.needed("name", problems), value: members.needed("value", problems) })
}

fn task(value: &RawValue, path: Path, problems: &mut Problems) -> TaskPart {
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
        .filter(|value| !is_null(value))
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
    let mut tables: Vec<TableRef> = Vec::new();
    for (value, path) in list {
        let Some(members) = Members::of(value, path, &["datasource", "dbName", "tableName"], problems) else {
            continue;
        };
        let table = TableRef {
            datasource: members
                .get("datasource")
                .filter(|value| !is_null(value))
                .map(|_| members.named("datasource", NAME_MAX_CHARS, problems)),
            db_name: members.named("dbName", NAME_MAX_CHARS, problems),
            table_name: members.named("tableName", NAME_MAX_CHARS, problems),
        };
        // Of one without a name there is a problem.
        if !table.db_name.is_empty() && !table.table_name.is_empty() {
            tables.push(table);
        }
    }
    tables.sort();
    tables.dedup();
    tables.shrink_to_fit();
    tables
}

fn edge(value: &RawValue, path: Path, problems: &mut Problems) -> Option<EdgePart> {
    let members = Members::of(value, path, &["source", "target"], problems)?;
    let source = members.named("source", NAME_MAX_CHARS, problems);
    let target = members.named("target", NAME_MAX_CHARS, problems);
    // Of one without a name there is a problem.
    (!source.is_empty() && !target.is_empty()).then_some(EdgePart { source, target })
}

fn schedule_of(value: &RawValue, path: Path, problems: &mut Problems) -> Option<SchedulePart> {
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
    object: Object<'v>,
    path: Path,
}

impl<'v> Members<'v> {
    /// Warns of members that are not known: a misspelled one must not be missed.
    fn of(
        value: &'v RawValue,
        path: Path,
        known: &[&'static str],
        problems: &mut Problems,
    ) -> Option<Members<'v>> {
        let Some(object) = object(value, known) else {
            let message = match kind(value) {
                OBJECT => "has a name with half of a character, `\\ud800` to `\\udfff`".to_owned(),
                other => format!("must be an object, not {other}"),
            };
            problems.add(path.text(), message);
            return None;
        };
        for name in &object.unknown {
            let hint = nearest(name, known.iter().copied());
            let hint = hint.map_or_else(String::new, |hint| format!("; did you mean `{hint}`?"));
            let message = format!("is not a member of the format, and ignored{hint}");
            problems.warn(path.member(name).0, message);
        }
        for name in &object.repeated {
            problems.add(path.member(name).0, "is given more than once");
        }
        Some(Members { object, path })
    }

    /// `None` if it is absent.
    fn get(&self, name: &str) -> Option<&'v RawValue> {
        self.object.known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn missing(&self, name: &str, problems: &mut Problems) {
        problems.add(self.path.member(name).0, "is missing");
    }

    fn wrong(&self, name: &str, expected: &str, value: &RawValue, problems: &mut Problems) {
        problems.add(self.path.member(name).0, format!("must be {expected}, not {}", kind(value)));
    }

    /// `None` if it is absent or null.
    fn text(&self, name: &str, problems: &mut Problems) -> Option<String> {
        let value = self.get(name).filter(|value| !is_null(value))?;
        match text(value) {
            Some(text) if text.contains('\0') => {
                problems.add(self.path.member(name).0, "must not contain the character U+0000");
                None
            }
            None if is_text(value) => {
                problems.add(self.path.member(name).0, "has a half of a character, `\\ud800` to `\\udfff`");
                None
            }
            None => {
                self.wrong(name, "a string", value, problems);
                None
            }
            text => text,
        }
    }

    fn needed(&self, name: &str, problems: &mut Problems) -> String {
        if self.get(name).is_none_or(is_null) {
            self.missing(name, problems);
        }
        self.text(name, problems).unwrap_or_default()
    }

    /// A name that must be there, and not be empty or longer than so many characters.
    fn named(&self, name: &str, max_chars: usize, problems: &mut Problems) -> String {
        let text = self.needed(name, problems);
        let is_text = self.get(name).is_some_and(is_text);
        if is_text && !(1..=max_chars).contains(&text.chars().count()) {
            problems.add(self.path.member(name).0, format!("must have 1 to {max_chars} characters"));
            return String::new();
        }
        text
    }

    fn number(&self, name: &str, problems: &mut Problems) -> u32 {
        let Some(value) = self.get(name) else { return 0 };
        let number = serde_json::from_str(value.get()).ok();
        if number.is_none() {
            let is_number = kind(value) == NUMBER;
            let got = if is_number { shown(value.get()) } else { kind(value).to_owned() };
            let message = format!("must be an integer from 0 to {}, not {got}", u32::MAX);
            problems.add(self.path.member(name).0, message);
        }
        number.unwrap_or_default()
    }

    fn flag(&self, name: &str, problems: &mut Problems) -> Option<bool> {
        let value = self.get(name)?;
        let flag = serde_json::from_str(value.get()).ok();
        if flag.is_none() {
            self.wrong(name, "true or false", value, problems);
        }
        flag
    }

    /// One of an enum's words.
    fn word<T: serde::de::DeserializeOwned>(&self, name: &str, problems: &mut Problems) -> Option<T> {
        let text = self.text(name, problems)?;
        match serde_json::from_value(shown(&text).into()) {
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
    fn list(
        &self,
        name: &str,
        at_most: usize,
        problems: &mut Problems,
    ) -> impl Iterator<Item = (&'v RawValue, Path)> + use<'v> {
        let path = self.path.member(name).0;
        let items =
            match self.get(name).filter(|value| !is_null(value)).map(|value| (value, list(value, at_most))) {
                None => Vec::new(),
                Some((value, None)) => {
                    self.wrong(name, "an array", value, problems);
                    Vec::new()
                }
                Some((_, Some(list))) if list.length > at_most => {
                    problems.add(&path, format!("has {} items, the limit is {at_most}", list.length));
                    Vec::new()
                }
                Some((_, Some(list))) => list.items,
            };
        items.into_iter().enumerate().map(move |(at, item)| (item, Path(format!("{path}[{at}]"))))
    }
}

/// The members of an object, each as its text.
#[derive(Default)]
struct Object<'v> {
    known: Vec<(&'static str, &'v RawValue)>,
    /// Known ones that are given again; the first one counts.
    repeated: Vec<&'static str>,
    /// The names of others, shortened, at most [`PROBLEMS_MAX`].
    unknown: Vec<String>,
}

/// `None`: it is no object.
fn object<'v>(value: &'v RawValue, known: &[&'static str]) -> Option<Object<'v>> {
    serde_json::Deserializer::from_str(value.get()).deserialize_map(ObjectReader { known }).ok()
}

struct ObjectReader<'k> {
    known: &'k [&'static str],
}

impl<'v> Visitor<'v> for ObjectReader<'_> {
    type Value = Object<'v>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'v>>(self, mut members: A) -> Result<Object<'v>, A::Error> {
        let mut object = Object::default();
        while let Some((name, value)) = members.next_entry::<String, &'v RawValue>()? {
            let Some(known) = self.known.iter().find(|known| **known == name) else {
                if object.unknown.len() < PROBLEMS_MAX {
                    object.unknown.push(shown(&name));
                }
                continue;
            };
            match object.known.iter().any(|(given, _)| given == known) {
                true if !object.repeated.contains(known) => object.repeated.push(known),
                true => {}
                false => object.known.push((known, value)),
            }
        }
        Ok(object)
    }
}

/// The items of a list, each as its text.
struct List<'v> {
    /// Not those behind the limit.
    items: Vec<&'v RawValue>,
    length: usize,
}

/// `None`: it is no list.
fn list(value: &RawValue, at_most: usize) -> Option<List<'_>> {
    serde_json::Deserializer::from_str(value.get()).deserialize_seq(ListReader { at_most }).ok()
}

struct ListReader {
    at_most: usize,
}

impl<'v> Visitor<'v> for ListReader {
    type Value = List<'v>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'v>>(self, mut items: A) -> Result<List<'v>, A::Error> {
        let mut list = List { items: Vec::new(), length: 0 };
        while list.length < self.at_most {
            let Some(item) = items.next_element()? else { return Ok(list) };
            list.items.push(item);
            list.length += 1;
        }
        while items.next_element::<IgnoredAny>()?.is_some() {
            list.length += 1;
        }
        Ok(list)
    }
}

/// `None`: it is no string, or one with half of a character.
fn text(value: &RawValue) -> Option<String> {
    serde_json::from_str(value.get()).ok()
}

fn is_text(value: &RawValue) -> bool {
    value.get().starts_with('"')
}

fn is_null(value: &RawValue) -> bool {
    value.get() == "null"
}

const NUMBER: &str = "a number";
const OBJECT: &str = "an object";

fn kind(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'n') => "null",
        Some(b't' | b'f') => "a boolean",
        Some(b'"') => "a string",
        Some(b'[') => "an array",
        Some(b'{') => OBJECT,
        _ => NUMBER,
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
    use serde_json::{Value, json};

    use super::*;

    fn problems(value: &Value) -> Vec<(String, String)> {
        problems_of(&value.to_string())
    }

    fn problems_of(text: &str) -> Vec<(String, String)> {
        let mut problems = Problems::default();
        document(serde_json::from_str(text).expect("JSON"), &mut problems);
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

    #[test]
    fn what_a_tree_would_hide_is_a_problem() {
        let found = problems_of(
            r#"{"format": "lakeport.workflow/1", "workflow": {"name": "a", "name": "b", "description": "\ud800"},
                "tasks": [], "\u0065dges": [], "edges": [], "tasks": 7}"#,
        );
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["edges", "tasks", "workflow.name", "workflow.description"], "{found:?}");
    }
}
