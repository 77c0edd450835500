//! Definitions, with their tasks and versions.

use chrono::NaiveDateTime;
use serde_json::{Map, Value, json};

use super::answers::{Args, Outcome, Refusal, named, refuse};
use super::forms::{self, Form};
use super::schedules;
use super::state::{DEFINITIONS_MAX, State, now, number, time};
use super::values;
use super::{PROJECT, PROJECT_NAME, USER};

/// Codes of one request.
const CODES_MAX: i64 = 100;

/// A definition, as it was stored last.
#[derive(Clone, Debug)]
pub struct Definition {
    pub id: i64,
    pub code: i64,
    pub version: i64,
    pub is_online: bool,
    pub form: Form,
    created: NaiveDateTime,
    updated: NaiveDateTime,
}

/// A task of a definition.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    pub code: i64,
    pub version: i64,
    /// As it was sent.
    pub content: Value,
}

impl Task {
    pub fn read(content: Value) -> Option<Task> {
        let code = number(&content["code"])?;
        content["name"].as_str().filter(|name| !name.is_empty())?;
        let version = number(&content["version"]).unwrap_or_default();
        Some(Task { code, version, content })
    }

    pub fn name(&self) -> &str {
        self.content["name"].as_str().unwrap_or_default()
    }

    pub fn kind(&self) -> &str {
        self.content["taskType"].as_str().unwrap_or_default()
    }

    /// A number, which may be sent as a text.
    pub fn number(&self, name: &str) -> i64 {
        number(&self.content[name]).unwrap_or_default()
    }

    pub fn text(&self, name: &str) -> &str {
        self.content[name].as_str().unwrap_or_default()
    }

    /// Whether two are the same but for their versions.
    fn has_same_content(&self, other: &Task) -> bool {
        let without_version = |task: &Task| {
            let mut members: Map<String, Value> = task.content.as_object().cloned().unwrap_or_default();
            members.remove("version");
            members
        };
        without_version(self) == without_version(other)
    }
}

/// That a task comes after another one; `before` is 0 for one that comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    pub before: i64,
    pub before_version: i64,
    pub after: i64,
    pub after_version: i64,
}

impl Relation {
    pub fn read(value: &Value) -> Option<Relation> {
        let member = |name: &str| number(&value[name]);
        Some(Relation {
            before: member("preTaskCode")?,
            before_version: member("preTaskVersion").unwrap_or_default(),
            after: member("postTaskCode").filter(|code| *code != 0)?,
            after_version: member("postTaskVersion").unwrap_or_default(),
        })
    }
}

/// The definition of a code.
pub fn existing(state: &State, code: i64) -> Result<&Definition, Refusal> {
    state.definitions.get(&code).ok_or_else(|| not_there(code))
}

fn not_there(code: i64) -> Refusal {
    // Numbers in texts have commas.
    Refusal::new(50_003, format!("process definition {} does not exist", localised(code)))
}

/// A number as Java writes it in a message: `23,782`.
pub fn localised(number: i64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub fn new_task_codes(state: &mut State, args: &Args) -> Outcome {
    let count = args.number("genNum").unwrap_or_default();
    if !(1..=CODES_MAX).contains(&count) {
        return refuse(50_017, format!("data {count} not valid"));
    }
    let codes: Vec<i64> = (0..count).map(|_| state.new_code()).collect();
    state.task_codes.extend(&codes);
    Ok(json!(codes))
}

pub fn list(state: &mut State, args: &Args) -> Outcome {
    let search = args.text("searchVal");
    let mut found: Vec<&Definition> =
        state.definitions.values().filter(|one| one.form.name.contains(search)).collect();
    found.sort_by_key(|one| (std::cmp::Reverse(one.updated), one.id));
    let rows: Vec<Value> = found.into_iter().map(|one| row(state, one)).collect();
    args.page(&rows)
}

pub fn detail(state: &mut State, args: &Args) -> Outcome {
    let definition = existing(state, args.id())?;
    let relations: Vec<Value> = definition
        .form
        .relations
        .iter()
        .enumerate()
        .map(|(index, relation)| {
            let row = json!({
                "id": index + 1, "name": "", "processDefinitionVersion": definition.version,
                "projectCode": PROJECT, "processDefinitionCode": definition.code,
                "preTaskCode": relation.before, "preTaskVersion": relation.before_version,
                "postTaskCode": relation.after, "postTaskVersion": relation.after_version,
                "conditionType": "NONE", "conditionParams": {}, "createTime": time(definition.created),
                "updateTime": time(definition.updated),
            });
            named(state.generation, row)
        })
        .collect();
    let tasks: Vec<Value> = definition.form.tasks.iter().map(|task| task_row(definition, task)).collect();
    let detail = json!({
        "processDefinition": row(state, definition),
        "processTaskRelationList": relations,
        "taskDefinitionList": tasks,
    });
    Ok(named(state.generation, detail))
}

/// The answer is stale: it has neither the version nor the state.
pub fn create(state: &mut State, args: &Args) -> Outcome {
    let mut form = forms::read(state, args)?;
    refuse_name(state, &form.name, None)?;
    if state.definitions.len() >= DEFINITIONS_MAX {
        state.note(format!("there are more than {DEFINITIONS_MAX} definitions"));
        return refuse(10_105, "create process definition error");
    }
    for task in &mut form.tasks {
        let of_another = state.definitions.values().any(|other| has_task(other, task.code));
        if of_another || task.version > 1 {
            state.note(format!("the new task {} has a used code, or a version", task.name()));
        }
        task.version = 1;
    }
    set_versions(&mut form);
    let (id, code, at) = (state.new_id("definition"), state.new_code(), now());
    let definition = Definition { id, code, version: 1, is_online: false, form, created: at, updated: at };
    let mut answer = row(state, &definition);
    (answer["version"], answer["id"], answer["releaseState"]) = (json!(0), Value::Null, Value::Null);
    state.definitions.insert(code, definition);
    Ok(answer)
}

fn has_task(definition: &Definition, code: i64) -> bool {
    definition.form.tasks.iter().any(|task| task.code == code)
}

/// Relations have the versions of the tasks.
fn set_versions(form: &mut Form) {
    let version = |code: i64| form.tasks.iter().find(|task| task.code == code).map_or(0, |task| task.version);
    for relation in &mut form.relations {
        relation.before_version = version(relation.before);
        relation.after_version = version(relation.after);
    }
}

fn refuse_name(state: &State, name: &str, own: Option<i64>) -> Result<(), Refusal> {
    let is_other = |one: &&Definition| one.form.name == name && Some(one.code) != own;
    match state.definitions.values().find(is_other) {
        Some(_) => refuse(10_168, format!("process definition name {name} already exists")),
        None => Ok(()),
    }
}

/// The answer has the version before the change.
pub fn update(state: &mut State, args: &Args) -> Outcome {
    let before = existing(state, args.id())?.clone();
    if before.is_online {
        return refuse(50_008, format!("process definition {} does not allow edit", before.form.name));
    }
    if args.get("releaseState").is_some_and(|word| word != "OFFLINE") {
        state.note("an update with another releaseState than OFFLINE was not foreseen".to_owned());
    }
    let mut form = forms::read(state, args)?;
    refuse_name(state, &form.name, Some(before.code))?;
    for task in &mut form.tasks {
        let known = before.form.tasks.iter().find(|known| known.code == task.code);
        match known {
            // Of a version that is not known it would make a second task of the same code.
            Some(known) if known.version != task.version => {
                let (name, version) = (task.name(), task.version);
                state.note(format!(
                    "the task {name} has the version {}, and {version} was sent",
                    known.version
                ));
                task.version = known.version + 1;
            }
            Some(known) => task.version += i64::from(!known.has_same_content(task)),
            None if task.version != 0 => {
                state.note(format!("the new task {} has the version {}", task.name(), task.version));
                task.version = 1;
            }
            None => task.version = 1,
        }
    }
    set_versions(&mut form);
    let version = before.version + i64::from(!is_same(&form, &before.form));
    let after = Definition { version, form, updated: now(), ..before };
    let mut answer = row(state, &after);
    answer["version"] = json!(before.version);
    state.definitions.insert(after.code, after);
    Ok(answer)
}

/// Whether two forms are the same but for the versions that were sent with the tasks.
fn is_same(form: &Form, other: &Form) -> bool {
    let tasks = form.tasks.iter().zip(&other.tasks);
    let are_same = form.tasks.len() == other.tasks.len()
        && tasks.into_iter().all(|(one, two)| one.has_same_content(two) && one.version == two.version);
    are_same && Form { tasks: Vec::new(), ..form.clone() } == Form { tasks: Vec::new(), ..other.clone() }
}

pub fn release(state: &mut State, args: &Args) -> Outcome {
    let code = args.id();
    existing(state, code)?;
    let is_online = args.text("releaseState") == "ONLINE";
    if let Some(definition) = state.definitions.get_mut(&code) {
        definition.is_online = is_online;
        definition.updated = now();
    }
    if !is_online {
        // It takes the schedule along.
        schedules::switch_off(state, code);
    }
    Ok(json!(true))
}

pub fn delete(state: &mut State, args: &Args) -> Outcome {
    let definition = existing(state, args.id())?;
    let (code, name) = (definition.code, definition.form.name.clone());
    if definition.is_online {
        return refuse(50_021, format!("process definition [{name}] is already online"));
    }
    let running = state.runs.values().filter(|run| run.code() == code && !run.state.is_final()).count();
    if running > 0 {
        let text = "delete process definition by code fail, for there are";
        return refuse(10_163, format!("{text} {running} process instances in executing using it"));
    }
    if schedules::is_online(state, code) {
        return refuse(50_023, "the status of schedule is already online");
    }
    state.definitions.remove(&code);
    state.schedules.retain(|_, schedule| schedule.code != code);
    Ok(Value::Null)
}

/// A definition as lists and answers show it.
fn row(state: &State, definition: &Definition) -> Value {
    let Definition { form, .. } = definition;
    let params: Map<String, Value> =
        form.params.iter().map(|param| (param.name.clone(), json!(param.value))).collect();
    let schedule = state.schedules.values().find(|schedule| schedule.code == definition.code);
    let row = json!({
        "id": definition.id, "code": definition.code, "name": form.name, "version": definition.version,
        "releaseState": release_word(definition.is_online), "projectCode": PROJECT,
        "description": form.description, "globalParams": values::written(&form.params),
        "globalParamList": form.params.iter().map(values::Property::json).collect::<Vec<_>>(),
        "globalParamMap": params, "createTime": time(definition.created), "updateTime": time(definition.updated),
        "flag": "YES", "userId": 1, "userName": USER, "projectName": PROJECT_NAME, "locations": form.locations,
        "scheduleReleaseState": schedule.map(|schedule| release_word(schedule.is_online)),
        "schedule": schedule.map(|schedule| schedules::row(state, schedule)), "timeout": form.timeout,
        "modifyBy": USER, "warningGroupId": null, "executionType": form.execution,
    });
    named(state.generation, row)
}

pub fn release_word(is_online: bool) -> &'static str {
    if is_online { "ONLINE" } else { "OFFLINE" }
}

fn task_row(definition: &Definition, task: &Task) -> Value {
    let strategy = Some(task.text("timeoutNotifyStrategy")).filter(|word| !word.is_empty());
    json!({
        "id": task.code % 100_000, "code": task.code, "name": task.name(), "version": task.version,
        "description": task.text("description"), "projectCode": PROJECT, "userId": 1,
        "taskType": task.kind(), "taskParams": task.content["taskParams"], "taskParamList": [],
        "taskParamMap": null, "flag": task.text("flag"), "isCache": task.text("isCache"),
        "taskPriority": task.text("taskPriority"), "userName": null, "projectName": null,
        "workerGroup": task.text("workerGroup"), "environmentCode": task.number("environmentCode"),
        "failRetryTimes": task.number("failRetryTimes"),
        "failRetryInterval": task.number("failRetryInterval"), "timeoutFlag": task.text("timeoutFlag"),
        "timeoutNotifyStrategy": strategy, "timeout": task.number("timeout"),
        "delayTime": task.number("delayTime"), "createTime": time(definition.created),
        "updateTime": time(definition.updated), "modifyBy": null, "taskGroupId": task.number("taskGroupId"),
        "taskGroupPriority": task.number("taskGroupPriority"), "cpuQuota": task.number("cpuQuota"),
        "memoryMax": task.number("memoryMax"), "taskExecuteType": task.text("taskExecuteType"),
        "dependence": "",
    })
}
