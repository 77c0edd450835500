//! Commands to a run: stop, pause, go on, run again.
//!
//! A command of 3.2 waits for the master, and meanwhile the run is shown with its old end. 3.3 writes at once that
//! a run goes on, unless all of it is repeated. Neither minds whether there is a command already.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::Generation;
use super::answers::{Args, Outcome, Refusal, refuse};
use super::runs::{self, RunState};
use super::starts::Command;
use super::state::{State, now, whole_second};
use super::tries::TryState;

/// How long a run is shown with its old end after a command to run again.
const OLD_END: Duration = Duration::from_millis(600);
/// How long a run is stopping at least.
const STOPPING: Duration = Duration::from_millis(400);

/// How a run that has ended goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// All of it.
    Repeat,
    /// From the tasks that failed.
    Failed,
    /// From the tasks that were paused.
    Suspended,
}

impl Again {
    fn word(self) -> &'static str {
        match self {
            Again::Repeat => "REPEAT_RUNNING",
            Again::Failed => "START_FAILURE_TASK_PROCESS",
            Again::Suspended => "RECOVER_SUSPENDED_PROCESS",
        }
    }
}

pub fn execute(state: &mut State, args: &Args) -> Outcome {
    let id = args.number("processInstanceId").unwrap_or_default();
    let run = runs::existing(state, id)?;
    let (before, name, generation) = (run.state, run.name().to_owned(), state.generation);
    let is_new = generation == Generation::V33;
    let what = args.text("executeType").to_owned();
    let wrong = || not_now(generation, &name, before, &what);
    let again = match what.as_str() {
        "STOP" => return stop(state, id).ok_or_else(wrong),
        "PAUSE" => return pause(state, id).ok_or_else(wrong),
        "REPEAT_RUNNING" if before.is_final() => Again::Repeat,
        "START_FAILURE_TASK_PROCESS" if before == RunState::Failure => Again::Failed,
        "RECOVER_SUSPENDED_PROCESS" if before == RunState::Pause || is_new && before == RunState::Stop => {
            Again::Suspended
        }
        _ => return Err(wrong()),
    };
    let is_online = state.definitions.get(&run.code()).is_some_and(|definition| definition.is_online);
    if !is_new && !is_online {
        return refuse(50_004, format!("process definition of {name} not online"));
    }
    // A real server takes both.
    if state.commands.iter().any(|command| matches!(command, Command::Again(_, run, _) if *run == id)) {
        state.note(format!("the run {id} got the command to run again twice: {what}"));
    }
    match again {
        Again::Failed | Again::Suspended if is_new => go_on(state, id, again),
        _ => state.commands.push(Command::Again(Instant::now() + OLD_END, id, again)),
    }
    Ok(Value::Null)
}

/// The refusal of what does not fit the state of a run; only 3.3 says why.
fn not_now(generation: Generation, name: &str, before: RunState, what: &str) -> Refusal {
    match generation {
        Generation::V32 => Refusal::new(50_015, "execute process instance error"),
        Generation::V33 => {
            let why = format!("The workflow instance: {name} status is {}, can not {what}", before.word());
            Refusal::new(10_000, format!("Internal Server Error: {why}"))
        }
    }
}

/// `None`: not in this state.
fn stop(state: &mut State, id: i64) -> Option<Value> {
    let is_old = state.generation == Generation::V32;
    let run = state.runs.get_mut(&id)?;
    match run.state {
        RunState::Running | RunState::ReadyPause => run.state = RunState::ReadyStop,
        RunState::ReadyStop if !is_old => {}
        // Nobody runs it, so nobody writes when it ended.
        RunState::SerialWait if !is_old => run.state = RunState::Stop,
        _ => return None,
    }
    run.due = Instant::now() + STOPPING;
    if is_old {
        run.command = "STOP".to_owned();
    }
    Some(Value::Null)
}

fn pause(state: &mut State, id: i64) -> Option<Value> {
    let is_old = state.generation == Generation::V32;
    let run = state.runs.get_mut(&id)?;
    match run.state {
        RunState::Running => run.state = RunState::ReadyPause,
        RunState::ReadyPause if !is_old => {}
        RunState::SerialWait if !is_old => run.state = RunState::Pause,
        _ => return None,
    }
    if is_old {
        run.command = "PAUSE".to_owned();
    }
    Some(Value::Null)
}

/// A run is taken up again.
pub fn go_on(state: &mut State, id: i64, again: Again) {
    let generation = state.generation;
    let Some(run) = state.runs.get_mut(&id).filter(|run| run.state.is_final()) else { return };
    let at = whole_second(now());
    let is_parallel = run.start.plan.form.execution == "PARALLEL";
    run.state = match generation {
        Generation::V33 if !is_parallel => RunState::SerialWait,
        Generation::V33 if again != Again::Repeat => RunState::Submitted,
        _ => RunState::Running,
    };
    run.due = Instant::now() + runs::UNTIL_BEGUN;
    run.command = again.word().to_owned();
    run.times += 1;
    (run.restarted, run.ended) = (Some(at), None);
    if generation == Generation::V32 && again == Again::Repeat {
        run.started = at;
    }
    for one in state.tries.values_mut().filter(|one| one.run == id && one.is_current) {
        match (again, one.state) {
            (Again::Repeat, _) | (_, TryState::Failure | TryState::Kill) => one.is_current = false,
            // The same row goes on.
            (_, TryState::Pause) => (one.state, one.due) = (TryState::Submitted, Instant::now()),
            _ => {}
        }
    }
    if generation == Generation::V32 && again != Again::Repeat {
        runs::fill_in_again(state, id);
    }
}
