//! The form of a definition: what is read of it, and what is refused.

use std::collections::BTreeSet;

use serde_json::Value;

use super::answers::{Args, Refusal, refuse};
use super::definitions::{Relation, Task};
use super::state::{State, number};
use super::values::Property;

/// The longest description, in characters.
const DESCRIPTION_MAX_CHARS: usize = 255;

/// What a form says of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    pub name: String,
    pub description: String,
    pub params: Vec<Property>,
    pub locations: String,
    pub timeout: i64,
    pub execution: String,
    pub tasks: Vec<Task>,
    pub relations: Vec<Relation>,
}

/// Reads a form.
pub fn read(state: &mut State, args: &Args) -> Result<Form, Refusal> {
    let name = args.text("name").to_owned();
    let description = args.text("description").to_owned();
    if name.trim().is_empty() {
        return refuse(10_134, "name must be not null");
    }
    if description.chars().count() > DESCRIPTION_MAX_CHARS {
        return refuse(1_400_004, "description is too long error");
    }
    let params = list(&args.word("globalParams", "[]"), "globalParams")?;
    let not_valid = |what: &str| Refusal::new(50_017, format!("data {what} not valid"));
    let params: Option<Vec<Property>> = params.iter().map(Property::read).collect();
    let params = params.ok_or_else(|| not_valid("globalParams"))?;
    let names: BTreeSet<&String> = params.iter().map(|param| &param.name).collect();
    if names.len() < params.len() {
        state.note(format!("the definition {name} has a global parameter twice"));
    }
    let tasks = list(args.text("taskDefinitionJson"), "taskDefinitionJson")?;
    let tasks: Option<Vec<Task>> = tasks.into_iter().map(Task::read).collect();
    let tasks = tasks.ok_or_else(|| not_valid("taskDefinitionJson"))?;
    if tasks.is_empty() {
        return refuse(50_018, "data taskDefinitionJson is null");
    }
    for task in &tasks {
        check_task(state, task)?;
    }
    let relations = list(args.text("taskRelationJson"), "taskRelationJson")?;
    let relations: Option<Vec<Relation>> = relations.iter().map(Relation::read).collect();
    let relations = relations.ok_or_else(|| not_valid("taskRelationJson"))?;
    check_relations(state, &tasks, &relations)?;
    check_locations(state, &tasks, args.text("locations"));
    Ok(Form {
        name,
        description,
        params,
        locations: args.text("locations").to_owned(),
        timeout: args.number("timeout").unwrap_or_default(),
        execution: args.word("executionType", "PARALLEL"),
        tasks,
        relations,
    })
}

fn list(text: &str, name: &str) -> Result<Vec<Value>, Refusal> {
    match serde_json::from_str(text) {
        Ok(Value::Array(items)) => Ok(items),
        _ => refuse(50_017, format!("data {name} not valid")),
    }
}

fn check_task(state: &mut State, task: &Task) -> Result<(), Refusal> {
    if !state.task_codes.contains(&task.code) {
        state.note(format!("the task {} has the code {}, which was not given out", task.name(), task.code));
    }
    let params = &task.content["taskParams"];
    let is_text = |name: &str| params[name].as_str().is_some_and(|text| !text.trim().is_empty());
    let is_valid = match task.kind() {
        "SHELL" => is_text("rawScript"),
        "SQL" => number(&params["datasource"]).is_some_and(|id| id != 0) && is_text("type") && is_text("sql"),
        other => {
            state.note(format!("a task of the type {other} was not foreseen"));
            true
        }
    };
    for (member, words) in [
        ("flag", &["YES", "NO"][..]),
        ("taskPriority", &["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]),
        ("timeoutFlag", &["OPEN", "CLOSE"]),
        ("timeoutNotifyStrategy", &["WARN", "FAILED", "WARNFAILED", ""]),
        ("taskExecuteType", &["BATCH", "STREAM"]),
    ] {
        let word = task.content[member].as_str().unwrap_or_default();
        if !words.contains(&word) {
            state.note(format!("{member} of the task {} is {word:?}", task.name()));
            return refuse(50_017, "data taskDefinitionJson not valid");
        }
    }
    if is_valid { Ok(()) } else { refuse(50_020, format!("process node {} parameter invalid", task.name())) }
}

fn check_relations(state: &mut State, tasks: &[Task], relations: &[Relation]) -> Result<(), Refusal> {
    let codes: BTreeSet<i64> = tasks.iter().map(|task| task.code).collect();
    let names: BTreeSet<&str> = tasks.iter().map(Task::name).collect();
    if codes.len() < tasks.len() || names.len() < tasks.len() {
        state.note("a definition has a task code or a task name twice".to_owned());
        return refuse(50_017, "data taskDefinitionJson not valid");
    }
    let after: BTreeSet<i64> = relations.iter().map(|relation| relation.after).collect();
    let is_known = |relation: &Relation| {
        codes.contains(&relation.after) && (relation.before == 0 || codes.contains(&relation.before))
    };
    if !relations.iter().all(is_known) || after != codes {
        state.note("the relations of a definition do not fit its tasks".to_owned());
        return refuse(50_017, "data taskRelationJson not valid");
    }
    for relation in relations {
        for (code, version) in
            [(relation.before, relation.before_version), (relation.after, relation.after_version)]
        {
            let task = tasks.iter().find(|task| task.code == code);
            if task.is_some_and(|task| task.version != version) {
                state.note(format!("a relation has the version {version} of the task {code}"));
            }
        }
    }
    if has_circle(&codes, relations) {
        return refuse(50_019, "process node has cycle");
    }
    Ok(())
}

/// Whether the tasks cannot be put in order.
fn has_circle(codes: &BTreeSet<i64>, relations: &[Relation]) -> bool {
    let mut left = codes.clone();
    loop {
        let waits = |code: &i64| relations.iter().any(|one| one.after == *code && left.contains(&one.before));
        let rest: BTreeSet<i64> = left.iter().copied().filter(waits).collect();
        if rest.len() == left.len() {
            return !left.is_empty();
        }
        left = rest;
    }
}

/// Without a place for each task the user interface draws them all in one.
fn check_locations(state: &mut State, tasks: &[Task], text: &str) {
    let places: Value = serde_json::from_str(text).unwrap_or_default();
    let has_place =
        |task: &Task| places.as_array().into_iter().flatten().any(|place| place["taskCode"] == task.code);
    if !tasks.iter().all(has_place) {
        state.note("a definition has no place for one of its tasks".to_owned());
    }
}
