//! The master and its workers: what happens by itself as time passes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Generation;
use super::control;
use super::runs::{self, RunState};
use super::schedules::Schedule;
use super::starts::{Command, Start};
use super::state::{State, now, whole_second};
use super::tries::{self, Try, TryState, log_line};
use super::values;
use super::worker::Process;

/// How often it looks.
pub const STEP: Duration = Duration::from_millis(25);
/// How long a task waits for its worker.
const UNTIL_DISPATCHED: Duration = Duration::from_millis(60);
/// How often 3.3 looks at runs that wait for their turn. A real server does it each five seconds.
const TURN_EVERY: Duration = Duration::from_secs(1);
/// What stands for a minute of a timeout or an interval of retries, so that tests are quick.
const MINUTE: Duration = Duration::from_secs(1);
/// Processes at the same time.
const PROCESSES_MAX: usize = 32;
/// The longest that a task runs which has no timeout.
const TASK_MAX: Duration = Duration::from_secs(20 * 60);
/// Tries of all runs.
const TRIES_MAX: usize = 20_000;

/// One look.
pub fn step(state: &mut State) {
    obey(state);
    fire(state);
    give_turns(state);
    let ids: Vec<i64> = state.runs.values().filter(|run| run.state.is_active()).map(|run| run.id).collect();
    for id in ids {
        advance(state, id);
    }
    tries::grow_logs(state);
}

/// Commands whose time has come.
fn obey(state: &mut State) {
    let at = Instant::now();
    let is_due = |command: &Command| match command {
        Command::Start(due, _) | Command::Again(due, _, _) => *due <= at,
    };
    let (due, later): (Vec<Command>, Vec<Command>) = state.commands.drain(..).partition(is_due);
    state.commands = later;
    for command in due {
        match command {
            Command::Start(_, start) => {
                runs::make(state, start);
            }
            Command::Again(_, run, again) => control::go_on(state, run, again),
        }
    }
}

/// Schedules whose time has come.
fn fire(state: &mut State) {
    let at = now();
    let due = |schedule: &&mut Schedule| schedule.is_online && schedule.next.is_some_and(|next| next <= at);
    let mut starts = Vec::new();
    for schedule in state.schedules.values_mut().filter(due) {
        let Some(date) = schedule.next else { continue };
        schedule.next = schedule.next_after(at);
        let Some(definition) = state.definitions.get(&schedule.code) else { continue };
        let settings = &schedule.settings;
        starts.push(Start {
            plan: Arc::new(definition.clone()),
            trigger: None,
            command: "SCHEDULER",
            dates: VecDeque::from([date]),
            depend: "TASK_POST".to_owned(),
            nodes: Vec::new(),
            failure_strategy: settings.failure_strategy.clone(),
            warning_type: settings.warning_type.clone(),
            warning_group: 0,
            priority: settings.priority.clone(),
            worker_group: settings.worker_group.clone(),
            tenant: settings.tenant.clone(),
            environment: settings.environment,
            params: Vec::new(),
            dry_run: 0,
        });
    }
    for start in starts {
        runs::make(state, start);
    }
}

/// Runs that wait for their turn: of each definition the oldest one that is open is the one to run.
fn give_turns(state: &mut State) {
    let is_old = state.generation == Generation::V32;
    if !is_old && state.last_turn.elapsed() < TURN_EVERY {
        return;
    }
    state.last_turn = Instant::now();
    let mut queues: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for run in state.runs.values().filter(|run| !run.state.is_final()) {
        queues.entry(run.code()).or_default().push(run.id);
    }
    for queue in queues.into_values() {
        for (index, id) in queue.into_iter().enumerate() {
            let Some(run) = state.runs.get_mut(&id).filter(|run| run.state == RunState::SerialWait) else {
                continue;
            };
            match (index, run.start.plan.form.execution.as_str()) {
                (0, _) if is_old => {
                    (run.state, run.command) = (RunState::Running, "RECOVER_SERIAL_WAIT".to_owned());
                    runs::fill_in_again(state, id);
                }
                (0, _) => (run.state, run.due) = (RunState::Submitted, Instant::now()),
                (_, "SERIAL_DISCARD") => run.state = RunState::Stop,
                _ => {}
            }
        }
    }
}

/// What a run knows of its tasks.
struct Progress {
    planned: BTreeSet<i64>,
    /// The latest tries, by task.
    latest: BTreeMap<i64, (i64, TryState)>,
}

impl Progress {
    fn of(state: &State, run: i64) -> Option<Progress> {
        let planned = state.runs.get(&run)?.planned();
        let current = state.tries.values().filter(|one| one.run == run && one.is_current);
        let latest = current.map(|one| (one.code(), (one.id, one.state))).collect();
        Some(Progress { planned, latest })
    }

    fn is(&self, code: i64, state: TryState) -> bool {
        self.latest.get(&code).is_some_and(|(_, found)| *found == state)
    }

    fn has(&self, state: TryState) -> bool {
        self.latest.values().any(|(_, found)| *found == state)
    }

    fn active(&self) -> Vec<i64> {
        self.latest.values().filter(|(_, state)| state.is_active()).map(|(id, _)| *id).collect()
    }

    /// Tasks that have no try, and whose predecessors have succeeded.
    fn ready(&self, start: &Start) -> Vec<i64> {
        let is_free = |code: &i64| {
            let before = start.plan.form.relations.iter().filter(|one| one.after == *code);
            before
                .filter(|one| self.planned.contains(&one.before))
                .all(|one| self.is(one.before, TryState::Success))
        };
        let new = self.planned.iter().copied().filter(|code| !self.latest.contains_key(code));
        new.filter(is_free).collect()
    }
}

fn advance(state: &mut State, id: i64) {
    let Some(run) = state.runs.get_mut(&id) else { return };
    match run.state {
        RunState::Submitted if run.due <= Instant::now() => run.state = RunState::Running,
        RunState::Submitted => return,
        _ => {}
    }
    let ids: Vec<i64> =
        state.tries.values().filter(|one| one.run == id && one.state.is_active()).map(|one| one.id).collect();
    for one in ids {
        work(state, one);
    }
    let (Some(progress), Some(run)) = (Progress::of(state, id), state.runs.get(&id)) else { return };
    let (now_is, due, start) = (run.state, run.due, run.start.clone());
    let is_over = start.failure_strategy == "END" && progress.has(TryState::Failure);
    if now_is == RunState::ReadyStop || is_over {
        for one in progress.active() {
            end(state, one, TryState::Kill, "the task was killed");
        }
        match now_is {
            RunState::ReadyStop if due > Instant::now() => {}
            RunState::ReadyStop => finish(state, id, RunState::Stop),
            _ => finish(state, id, RunState::Failure),
        }
        return;
    }
    let ready = progress.ready(&start);
    let is_idle = progress.active().is_empty();
    match now_is {
        RunState::ReadyPause if !is_idle => {}
        RunState::ReadyPause if !ready.is_empty() => {
            for code in ready {
                submit(state, id, code, TryState::Pause, Instant::now());
            }
            finish(state, id, RunState::Pause);
        }
        _ if !ready.is_empty() => {
            for code in ready {
                submit(state, id, code, TryState::Submitted, Instant::now() + UNTIL_DISPATCHED);
            }
        }
        _ if !is_idle => {}
        _ => {
            let has_succeeded = progress.planned.iter().all(|code| progress.is(*code, TryState::Success));
            let last = match has_succeeded {
                true => RunState::Success,
                // 3.3, after a timeout.
                false if progress.has(TryState::Kill) => RunState::Stop,
                false => RunState::Failure,
            };
            finish(state, id, last);
        }
    }
}

fn finish(state: &mut State, id: i64, last: RunState) {
    let Some(run) = state.runs.get_mut(&id) else { return };
    (run.state, run.ended) = (last, Some(whole_second(now())));
    // The next date begins when the one before it has succeeded.
    if last == RunState::Success && !run.start.dates.is_empty() {
        let next = run.start.clone();
        run.start.dates.clear();
        runs::make(state, next);
    }
}

/// A new row of a task.
fn submit(state: &mut State, run: i64, code: i64, begins: TryState, due: Instant) -> Option<i64> {
    let task = state.runs.get(&run)?.start.plan.form.tasks.iter().find(|task| task.code == code)?.clone();
    if state.tries.len() >= TRIES_MAX {
        state.note(format!("there are more than {TRIES_MAX} tries"));
        return None;
    }
    let id = state.new_id("try");
    state.tries.insert(id, Try::new(id, run, task, begins, due));
    Some(id)
}

/// A try that waits, or runs.
fn work(state: &mut State, id: i64) {
    let processes = state.tries.values().filter(|one| one.process.is_some()).count();
    let Some(one) = state.tries.get_mut(&id) else { return };
    let at = Instant::now();
    match one.state {
        TryState::Submitted if one.due <= at && processes < PROCESSES_MAX => begin(state, id),
        TryState::Running => {
            let code = one.process.as_mut().and_then(Process::exit_code);
            let is_late = one.deadline.is_some_and(|deadline| deadline <= at);
            match code {
                Some(0) => end(state, id, TryState::Success, "the exit code is 0"),
                Some(code) => fail(state, id, &format!("the exit code is {code}")),
                None if is_late && state.generation == Generation::V33 => {
                    end(state, id, TryState::Kill, "the task came to its timeout");
                    if let Some(one) = state.tries.get_mut(&id) {
                        one.show_whole_minutes();
                    }
                }
                None if is_late => fail(state, id, "the task came to its timeout"),
                None => {}
            }
        }
        _ => {}
    }
}

fn begin(state: &mut State, id: i64) {
    let (generation, folder) = (state.generation, state.folder.path().join(id.to_string()));
    let Some(one) = state.tries.get_mut(&id) else { return };
    for line in ["Begin to pulling task", "Begin to initialize task"] {
        one.log.push(log_line(generation, line));
    }
    let script = match (one.task.kind(), state.runs.get(&one.run)) {
        ("SHELL", Some(run)) => {
            let text = one.task.content["taskParams"]["rawScript"].as_str().unwrap_or_default();
            values::script(text, &run.params, run.date, now())
        }
        (kind, _) => Err(format!("the test server runs no tasks of the type {kind}")),
    };
    let script = script.and_then(|script| {
        Process::start(&folder, &script).map_err(|why| format!("the script cannot be run: {why}"))
    });
    match script {
        Ok((process, output)) => {
            let fails_late = one.task.text("timeoutFlag") == "OPEN"
                && one.task.text("timeoutNotifyStrategy").contains("FAILED");
            let minutes = u32::try_from(one.task.number("timeout")).unwrap_or_default();
            one.log.push(log_line(generation, " -> "));
            let timeout = if fails_late && minutes > 0 { MINUTE * minutes } else { TASK_MAX };
            one.begin(process, output, timeout);
        }
        Err(why) => {
            one.log.push(log_line(generation, &why));
            one.started = Some(whole_second(now()));
            fail(state, id, &why);
        }
    }
}

/// Ends a try; if its task has retries left, another one follows.
fn fail(state: &mut State, id: i64, why: &str) {
    end(state, id, TryState::Failure, why);
    let Some(one) = state.tries.get_mut(&id) else { return };
    let (run, code, retries) = (one.run, one.code(), one.retries);
    if retries >= one.task.number("failRetryTimes") {
        return;
    }
    one.is_current = false;
    let minutes = u32::try_from(one.task.number("failRetryInterval")).unwrap_or_default();
    let due = Instant::now() + UNTIL_DISPATCHED + MINUTE * minutes;
    let next = submit(state, run, code, TryState::Submitted, due);
    if let Some(next) = next.and_then(|next| state.tries.get_mut(&next)) {
        next.retries = retries + 1;
    }
}

fn end(state: &mut State, id: i64, last: TryState, why: &str) {
    let generation = state.generation;
    let Some(one) = state.tries.get_mut(&id) else { return };
    let mut lines = vec![log_line(generation, &format!("process has exited: {why}"))];
    // A task that is killed says nothing more.
    if last != TryState::Kill {
        lines.push(log_line(generation, "FINALIZE_SESSION"));
    }
    one.end(last, lines);
}
