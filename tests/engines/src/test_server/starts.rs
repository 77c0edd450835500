//! Starts, by hand and for dates. 3.2 answers with the code of a trigger and makes the run a second later; 3.3
//! answers with the ids of runs, which are there.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{Days, NaiveDateTime};
use serde_json::{Value, json};

use super::answers::{Args, Outcome, Refusal, refuse};
use super::control::Again;
use super::definitions::{self, Definition};
use super::runs;
use super::state::{State, read_time};
use super::values::Property;
use super::{Generation, TENANT};

/// How long 3.2 takes until a run is there.
const UNTIL_THERE: Duration = Duration::from_millis(800);
/// Dates of one start.
const DATES_MAX: usize = 100;

/// What the master has to do.
pub enum Command {
    Start(Instant, Start),
    Again(Instant, i64, Again),
}

/// A start, of one run or of several, one after the other.
#[derive(Clone, Debug)]
pub struct Start {
    pub plan: Arc<Definition>,
    /// Of 3.2.
    pub trigger: Option<i64>,
    /// `START_PROCESS`
    pub command: &'static str,
    /// Those that are left. Empty for a run without a date.
    pub dates: VecDeque<NaiveDateTime>,
    /// `TASK_POST`
    pub depend: String,
    pub nodes: Vec<i64>,
    pub failure_strategy: String,
    pub warning_type: String,
    pub warning_group: i64,
    pub priority: String,
    pub worker_group: String,
    pub tenant: String,
    pub environment: i64,
    pub params: Vec<Property>,
    pub dry_run: i64,
}

/// A refusal with the endpoint's own code; only 3.3 says why.
fn failed(generation: Generation, why: &str) -> Refusal {
    match generation {
        Generation::V32 => Refusal::new(50_014, "start process instance error"),
        Generation::V33 => Refusal::new(50_014, format!("start workflow instance error:{why}")),
    }
}

pub fn start(state: &mut State, args: &Args) -> Outcome {
    let start = read(state, args)?;
    // 3.2.1 accepts a start that says some parameters and not all of the definition's, and its master drops it.
    let is_said = |name: &String| start.params.iter().any(|given| given.name == *name);
    let says_all = start.plan.form.params.iter().all(|property| is_said(&property.name));
    let is_lost = state.generation == Generation::V32 && !start.params.is_empty() && !says_all;
    Ok(accepted(state, start, is_lost))
}

fn accepted(state: &mut State, mut start: Start, is_lost: bool) -> Value {
    match state.generation {
        Generation::V32 => {
            let trigger = state.new_code();
            start.trigger = Some(trigger);
            if !is_lost {
                state.commands.push(Command::Start(Instant::now() + UNTIL_THERE, start));
            }
            json!(trigger)
        }
        Generation::V33 => {
            let id = runs::make(state, start);
            json!(id.into_iter().collect::<Vec<i64>>())
        }
    }
}

fn read(state: &mut State, args: &Args) -> Result<Start, Refusal> {
    let generation = state.generation;
    let code = args.number("processDefinitionCode").unwrap_or_default();
    let definition = definitions::existing(state, code)?.clone();
    // 3.3 starts one that is offline.
    if generation == Generation::V32 && !definition.is_online {
        let (name, version) = (&definition.form.name, definition.version);
        return refuse(50_004, format!("process definition {name} process version {version} not online"));
    }
    let parallel = args.number("expectedParallelismNumber");
    let (command, dates) = match args.word("execType", "START_PROCESS").as_str() {
        "START_PROCESS" => ("START_PROCESS", VecDeque::new()),
        "COMPLEMENT_DATA" => {
            // It is unboxed, whatever the run mode is.
            if generation == Generation::V33 && parallel.is_none() {
                return Err(failed(generation, "null"));
            }
            ("COMPLEMENT_DATA", dates(state, args)?)
        }
        other => return Err(failed(generation, &format!("The execType: {other} is invalid"))),
    };
    if parallel.is_some_and(|number| number <= 0) && generation == Generation::V32 {
        return refuse(50_080, "task parallelism parameter is not valid");
    }
    if args.word("runMode", "RUN_MODE_SERIAL") != "RUN_MODE_SERIAL" && dates.len() > 1 {
        state.note("a parallel start of several dates was not foreseen".to_owned());
    }
    let tenant = args.word("tenantCode", TENANT);
    if tenant != TENANT {
        return refuse(10_017, format!("tenant [{tenant}] not exists"));
    }
    let worker_group = args.word("workerGroup", "default");
    if worker_group != "default" {
        state.note(format!("a run in the worker group {worker_group} would wait for ever"));
    }
    let nodes = nodes(&definition, args)?;
    let depend = args.word("taskDependType", "TASK_POST");
    if depend != "TASK_POST" && nodes.is_empty() {
        // The master drops it; nothing says so.
        state.note(format!("a start with {depend} and without tasks to begin at was not foreseen"));
    }
    Ok(Start {
        plan: Arc::new(definition),
        trigger: None,
        command,
        dates,
        depend,
        nodes,
        failure_strategy: args.text("failureStrategy").to_owned(),
        warning_type: args.text("warningType").to_owned(),
        warning_group: args.number("warningGroupId").unwrap_or_default(),
        priority: args.word("processInstancePriority", "MEDIUM"),
        worker_group,
        tenant,
        environment: args.number("environmentCode").unwrap_or(-1),
        params: params(state, args)?,
        dry_run: args.number("dryRun").unwrap_or_default(),
    })
}

/// The tasks to begin at.
fn nodes(definition: &Definition, args: &Args) -> Result<Vec<i64>, Refusal> {
    let mut nodes = Vec::new();
    for text in args.text("startNodeList").split(',').filter(|text| !text.trim().is_empty()) {
        let code = text.trim().parse().ok();
        match code.filter(|code| definition.form.tasks.iter().any(|task| task.code == *code)) {
            Some(code) => nodes.push(code),
            None => {
                let text = format!("this node {text} does not exist in the latest process definition");
                return refuse(10_207, text);
            }
        }
    }
    Ok(nodes)
}

/// Of 3.2 an object of texts; of 3.3 that, or a list of parameters.
fn params(state: &State, args: &Args) -> Result<Vec<Property>, Refusal> {
    let text = args.text("startParams");
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = || failed(state.generation, "startParams cannot be read");
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => {
            let property = |(name, value): (&String, &Value)| Some(Property::new(name, value.as_str()?));
            members.iter().map(property).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        Ok(Value::Array(items)) if state.generation == Generation::V33 => {
            items.iter().map(Property::read).collect::<Option<Vec<_>>>().ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// The dates of `scheduleTime`: a list, or each midnight from a first to a last one.
fn dates(state: &State, args: &Args) -> Result<VecDeque<NaiveDateTime>, Refusal> {
    let generation = state.generation;
    let text = args.text("scheduleTime");
    let form: Value = serde_json::from_str(text).unwrap_or_default();
    let read = |text: &str| {
        read_time(text).ok_or_else(|| failed(generation, &format!("Text '{text}' could not be parsed")))
    };
    let mut dates: BTreeSet<NaiveDateTime> = BTreeSet::new();
    if let Some(list) = form["complementScheduleDateList"].as_str() {
        for date in list.split(',') {
            dates.insert(read(date)?);
        }
    } else if let (Some(first), Some(last)) =
        (form["complementStartDate"].as_str(), form["complementEndDate"].as_str())
    {
        let (mut at, last) = (read(first)?, read(last)?);
        while at <= last && dates.len() <= DATES_MAX {
            dates.insert(at);
            at = at.checked_add_days(Days::new(1)).unwrap_or(NaiveDateTime::MAX);
        }
    }
    if dates.len() > DATES_MAX {
        return refuse(1_400_003, "The number of complement dates exceed 100.");
    }
    match (dates.is_empty(), generation) {
        (false, _) => {}
        (true, Generation::V32) => {
            return refuse(50_081, "The range of date for complementing date is not valid");
        }
        (true, Generation::V33) => return Err(failed(generation, "backfillDateList is empty")),
    }
    // 3.2 begins with the last one unless the request says otherwise.
    let is_descending = match args.get("executionOrder") {
        None => generation == Generation::V32,
        Some(order) => order == "DESC_ORDER",
    };
    Ok(if is_descending { dates.into_iter().rev().collect() } else { dates.into_iter().collect() })
}

/// `commandParam` of a run: JSON within JSON, of another form in each generation.
pub fn command_param(generation: Generation, start: &Start, date: Option<NaiveDateTime>) -> Value {
    let date = date.map(|at| at.format("%Y-%m-%d %H:%M:%S").to_string());
    let is_backfill = start.command == "COMPLEMENT_DATA";
    match generation {
        Generation::V32 => {
            let mut param = json!({});
            if !start.params.is_empty() {
                let given = start.params.iter().map(|one| (one.name.clone(), json!(one.value)));
                param["StartParams"] = json!(Value::Object(given.collect()).to_string());
            }
            if let Some(date) = date.filter(|_| is_backfill) {
                param["complementScheduleDateList"] = json!(date);
            }
            if !start.nodes.is_empty() {
                let nodes: Vec<String> = start.nodes.iter().map(i64::to_string).collect();
                param["StartNodeList"] = json!(nodes.join(","));
            }
            if start.command == "SCHEDULER" {
                param["schedule_timezone"] = json!("UTC");
            }
            json!(param.to_string())
        }
        Generation::V33 => {
            let given: Vec<Value> = start.params.iter().map(Property::json).collect();
            let mut param = json!({
                "commandType": start.command, "subWorkflowInstance": false, "startNodes": start.nodes,
                "commandParams": given, "timeZone": "UTC",
            });
            if let Some(date) = date.filter(|_| is_backfill) {
                param["backfillTimeList"] = json!([date]);
            }
            json!(param.to_string())
        }
    }
}
