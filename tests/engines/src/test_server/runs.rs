//! Runs, which DolphinScheduler calls instances: how they come to be, and how they are shown.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::answers::{Args, Outcome, Refusal, named, refuse};
use super::starts::{Start, command_param};
use super::state::{RUNS_MAX, State, now, read_time, time, time_or_null, whole_second};
use super::values::{self, Property};
use super::{Generation, PROJECT, USER};

/// How long a run waits for its master.
pub const UNTIL_BEGUN: Duration = Duration::from_millis(300);

/// The state of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    Submitted,
    Running,
    ReadyPause,
    Pause,
    ReadyStop,
    Stop,
    Failure,
    Success,
    SerialWait,
}

impl RunState {
    pub fn word(self) -> &'static str {
        match self {
            RunState::Submitted => "SUBMITTED_SUCCESS",
            RunState::Running => "RUNNING_EXECUTION",
            RunState::ReadyPause => "READY_PAUSE",
            RunState::Pause => "PAUSE",
            RunState::ReadyStop => "READY_STOP",
            RunState::Stop => "STOP",
            RunState::Failure => "FAILURE",
            RunState::Success => "SUCCESS",
            RunState::SerialWait => "SERIAL_WAIT",
        }
    }

    /// A paused run is one that has ended, too.
    pub fn is_final(self) -> bool {
        matches!(self, RunState::Pause | RunState::Stop | RunState::Failure | RunState::Success)
    }

    /// Whether another run of a serial workflow must wait for it.
    pub fn is_active(self) -> bool {
        !self.is_final() && self != RunState::SerialWait
    }
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    pub id: i64,
    pub state: RunState,
    pub start: Start,
    /// The last command that it was given.
    pub command: String,
    name: String,
    pub date: Option<NaiveDateTime>,
    pub started: NaiveDateTime,
    pub ended: Option<NaiveDateTime>,
    pub restarted: Option<NaiveDateTime>,
    pub times: i64,
    /// The parameters, filled in.
    pub params: Vec<Property>,
    /// When its master takes it on, or lets it go.
    pub due: Instant,
}

impl Run {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Of its definition.
    pub fn code(&self) -> i64 {
        self.start.plan.code
    }

    /// The tasks that it runs.
    pub fn planned(&self) -> BTreeSet<i64> {
        let form = &self.start.plan.form;
        let mut planned: BTreeSet<i64> = self.start.nodes.iter().copied().collect();
        if planned.is_empty() {
            return form.tasks.iter().map(|task| task.code).collect();
        }
        let is_post = self.start.depend == "TASK_POST";
        loop {
            let reached = form.relations.iter().filter_map(|one| match self.start.depend.as_str() {
                "TASK_ONLY" => None,
                _ if is_post => planned.contains(&one.before).then_some(one.after),
                _ => planned.contains(&one.after).then_some(one.before).filter(|code| *code != 0),
            });
            let new: Vec<i64> = reached.filter(|code| !planned.contains(code)).collect();
            if new.is_empty() {
                return planned;
            }
            planned.extend(new);
        }
    }
}

/// Makes the run of the next date. `None` if there are too many.
pub fn make(state: &mut State, mut start: Start) -> Option<i64> {
    if state.runs.len() >= RUNS_MAX {
        state.note(format!("there are more than {RUNS_MAX} runs"));
        return None;
    }
    let (date, at) = (start.dates.pop_front(), now());
    let (id, generation) = (state.new_id("run"), state.generation);
    let form = &start.plan.form;
    let params = values::filled_in(&form.params, &start.params, date, at).unwrap_or_else(|why| {
        state.note(why);
        form.params.clone()
    });
    let stamp = at.format("%Y%m%d%H%M%S%3f");
    let name = match generation {
        Generation::V32 => format!("{}-{}-{stamp}", form.name, start.plan.version),
        Generation::V33 => format!("{}-{stamp}", form.name),
    };
    let is_parallel = form.execution == "PARALLEL";
    let code = start.plan.code;
    let has_others = state.runs.values().any(|run| run.code() == code && !run.state.is_final());
    let begins = match (generation, form.execution.as_str()) {
        _ if is_parallel => RunState::Submitted,
        // It is stopped at once, without a time of its end.
        (Generation::V32, "SERIAL_DISCARD") if has_others => RunState::Stop,
        (Generation::V32, _) if !has_others => RunState::Submitted,
        _ => RunState::SerialWait,
    };
    if form.execution == "SERIAL_PRIORITY" {
        state.note("a workflow with SERIAL_PRIORITY was not foreseen".to_owned());
    }
    // The master of 3.2 makes the run that it begins.
    let begins = match (generation, begins) {
        (Generation::V32, RunState::Submitted) => RunState::Running,
        (_, begins) => begins,
    };
    let run = Run {
        id,
        state: begins,
        command: start.command.to_owned(),
        name,
        date,
        started: whole_second(at),
        ended: None,
        restarted: (generation == Generation::V32).then_some(whole_second(at)),
        times: 1,
        params,
        due: Instant::now() + UNTIL_BEGUN,
        start,
    };
    state.runs.insert(id, run);
    Some(id)
}

/// The parameters of a run that is taken up again: 3.2 works them out from the definition's, without those of the
/// start.
pub fn fill_in_again(state: &mut State, id: i64) {
    let Some(run) = state.runs.get_mut(&id) else { return };
    let filled = values::filled_in(&run.start.plan.form.params, &[], run.date, now());
    match filled {
        Ok(params) => run.params = params,
        Err(why) => state.note(why),
    }
}

pub fn existing(state: &State, id: i64) -> Result<&Run, Refusal> {
    let not_there = || Refusal::new(50_001, format!("process instance {id} does not exist"));
    state.runs.get(&id).ok_or_else(not_there)
}

pub fn detail(state: &mut State, args: &Args) -> Outcome {
    Ok(row(state, existing(state, args.id())?, true))
}

pub fn list(state: &mut State, args: &Args) -> Outcome {
    let code = args.number("processDefineCode").unwrap_or_default();
    let word = args.text("stateType");
    let moment = |name: &str| match args.text(name) {
        "" => Ok(None),
        text => read_time(text)
            .map(Some)
            .ok_or_else(|| Refusal::new(10_001, format!("request parameter {name} is not valid"))),
    };
    let (from, to) = (moment("startDate")?, moment("endDate")?);
    let fits = |run: &&Run| {
        (code == 0 || run.code() == code)
            && (word.is_empty() || run.state.word() == word)
            && from.is_none_or(|from| run.started >= from)
            && to.is_none_or(|to| run.started <= to)
            && run.name.contains(args.text("searchVal"))
    };
    let mut found: Vec<&Run> = state.runs.values().filter(fits).collect();
    found.sort_by_key(|run| (Reverse(run.started), Reverse(run.ended), Reverse(run.id)));
    let rows: Vec<Value> = found.into_iter().map(|run| row(state, run, false)).collect();
    args.page(&rows)
}

/// The runs of a trigger, of 3.2.
pub fn of_trigger(state: &mut State, args: &Args) -> Outcome {
    let code = args.number("triggerCode");
    if code.is_none() {
        return refuse(10_116, "query process instance by id error");
    }
    let found = state.runs.values().filter(|run| run.start.trigger == code);
    Ok(found.map(|run| row(state, run, true)).collect())
}

/// 3.2 shows global parameters in details alone.
fn row(state: &State, run: &Run, is_detail: bool) -> Value {
    let (generation, start) = (state.generation, &run.start);
    let shows_params = is_detail || generation == Generation::V33;
    let params = shows_params.then(|| values::written(&run.params));
    let duration = run.ended.map(|ended| format!("{}s", (ended - run.started).num_seconds()));
    let mut row = json!({
        "id": run.id, "processDefinitionCode": run.code(), "processDefinitionVersion": start.plan.version,
        "projectCode": PROJECT, "state": run.state.word(), "recovery": "NO", "startTime": time(run.started),
        "endTime": time_or_null(run.ended), "runTimes": run.times, "name": run.name,
        "host": "127.0.0.1:5678", "commandType": run.command,
        "commandParam": command_param(generation, start, run.date), "taskDependType": start.depend,
        "maxTryTimes": 0, "failureStrategy": start.failure_strategy, "warningType": start.warning_type,
        "warningGroupId": start.warning_group, "scheduleTime": time_or_null(run.date),
        "commandStartTime": time(run.started), "globalParams": params, "executorId": 1,
        "executorName": USER, "tenantCode": start.tenant, "isSubProcess": "NO", "historyCmd": start.command,
        "duration": duration, "processInstancePriority": start.priority, "workerGroup": start.worker_group,
        "environmentCode": start.environment, "timeout": 0, "varPool": null, "dryRun": start.dry_run,
        "restartTime": time_or_null(run.restarted), "testFlag": 0, "cmdTypeIfComplement": run.command,
        "complementData": false,
    });
    if generation == Generation::V32 {
        row["blocked"] = json!(false);
    }
    named(generation, row)
}
