//! Tries of tasks, which DolphinScheduler calls task instances, and their logs.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use chrono::NaiveDateTime;
use serde_json::{Value, json};

use super::answers::{Args, Outcome, Refusal, joined, named, refuse};
use super::definitions::Task;
use super::state::{State, now, time, time_or_null, whole_second};
use super::worker::{self, Process};
use super::{Generation, PROJECT, USER};

/// How often output gets into the log, and how long after the end of a task its last lines do.
const LOG_EVERY: Duration = Duration::from_millis(400);
const LOG_LATE: Duration = Duration::from_millis(900);
/// Lines of a log.
const LINES_MAX: usize = 20_000;
/// Lines of one request.
const LIMIT_MAX: i64 = 100_000;

/// The state of a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryState {
    Submitted,
    Running,
    Pause,
    Failure,
    Success,
    Kill,
}

impl TryState {
    fn word(self) -> &'static str {
        match self {
            TryState::Submitted => "SUBMITTED_SUCCESS",
            TryState::Running => "RUNNING_EXECUTION",
            TryState::Pause => "PAUSE",
            TryState::Failure => "FAILURE",
            TryState::Success => "SUCCESS",
            TryState::Kill => "KILL",
        }
    }

    pub fn is_active(self) -> bool {
        matches!(self, TryState::Submitted | TryState::Running)
    }
}

/// A try.
pub struct Try {
    pub id: i64,
    pub run: i64,
    pub task: Task,
    pub state: TryState,
    /// Whether it is the latest one of its task.
    pub is_current: bool,
    pub retries: i64,
    submitted: NaiveDateTime,
    pub started: Option<NaiveDateTime>,
    pub ended: Option<NaiveDateTime>,
    pub process: Option<Process>,
    process_id: u32,
    /// When it is given to the worker.
    pub due: Instant,
    /// When its timeout ends it.
    pub deadline: Option<Instant>,
    pub log: Log,
}

impl Try {
    pub fn new(id: i64, run: i64, task: Task, state: TryState, due: Instant) -> Try {
        Try {
            id,
            run,
            task,
            state,
            is_current: true,
            retries: 0,
            submitted: whole_second(now()),
            started: None,
            ended: None,
            process: None,
            process_id: 0,
            due,
            deadline: None,
            log: Log::default(),
        }
    }

    pub fn code(&self) -> i64 {
        self.task.code
    }

    /// A worker has it.
    pub fn begin(&mut self, process: Process, output: PathBuf, timeout: Duration) {
        self.process_id = process.id();
        self.process = Some(process);
        self.deadline = Some(Instant::now() + timeout);
        (self.state, self.started) = (TryState::Running, Some(whole_second(now())));
        self.log.output = Some(output);
        self.log.next = Some(Instant::now() + LOG_EVERY);
    }

    /// Its minutes are shorter here than what is shown of them.
    pub fn show_whole_minutes(&mut self) {
        let minutes = chrono::Duration::minutes(self.task.number("timeout"));
        self.ended = self.started.map(|started| started + minutes);
    }

    /// It ends, with what its log says of it.
    pub fn end(&mut self, state: TryState, last_lines: Vec<String>) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
        self.state = state;
        self.ended = Some(whole_second(now()));
        self.deadline = None;
        self.log.last_lines = last_lines;
        self.log.next = Some(Instant::now() + LOG_LATE);
    }
}

/// The log of a try. What a task writes reaches it later.
#[derive(Default)]
pub struct Log {
    lines: Vec<String>,
    output: Option<PathBuf>,
    read_bytes: u64,
    /// A line without its end.
    rest: Vec<u8>,
    /// What comes behind the output.
    last_lines: Vec<String>,
    next: Option<Instant>,
}

impl Log {
    pub fn push(&mut self, line: String) {
        if self.lines.len() < LINES_MAX {
            self.lines.push(line);
        }
    }

    /// Takes the output over if it is time.
    fn grow(&mut self, has_ended: bool) {
        if self.next.is_none_or(|next| Instant::now() < next) {
            return;
        }
        if let Some(output) = &self.output {
            let bytes = worker::output(output, self.read_bytes);
            self.read_bytes += bytes.len() as u64;
            self.rest.extend_from_slice(&bytes);
        }
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.rest.drain(..=end).collect();
            self.push(output_line(&line[..end]));
        }
        self.next = (!has_ended).then(|| Instant::now() + LOG_EVERY);
        if has_ended {
            let rest = std::mem::take(&mut self.rest);
            if !rest.is_empty() {
                self.push(output_line(&rest));
            }
            for line in std::mem::take(&mut self.last_lines) {
                self.push(line);
            }
        }
    }
}

/// Output has a tab before it.
fn output_line(bytes: &[u8]) -> String {
    format!("\t{}", String::from_utf8_lossy(bytes))
}

/// A line that the worker itself writes.
pub fn log_line(generation: Generation, text: &str) -> String {
    let at = now();
    match generation {
        Generation::V32 => format!("[INFO] {} +0000 - {text}", at.format("%Y-%m-%d %H:%M:%S%.3f")),
        Generation::V33 => {
            format!("{} INFO  [WorkerTaskExecutorThreadPool] - {text}", at.format("%Y-%m-%d %H:%M:%S%.3f"))
        }
    }
}

/// Lets all logs grow.
pub fn grow_logs(state: &mut State) {
    for one in state.tries.values_mut() {
        let has_ended = !one.state.is_active();
        one.log.grow(has_ended);
    }
}

/// Lines of a log. A header stands before the first one; past its end the slice is empty, and says one line.
pub fn log(state: &mut State, args: &Args) -> Outcome {
    let id = args.number("taskInstanceId").unwrap_or_default();
    let Some(one) = state.tries.get(&id) else { return refuse(10_008, "task instance not found") };
    let number = |name: &str| {
        let number = args.number(name).filter(|number| (0..=LIMIT_MAX).contains(number));
        let wrong = || Refusal::new(10_103, "view task instance log error");
        number.and_then(|number| usize::try_from(number).ok()).ok_or_else(wrong)
    };
    let (skip, limit) = (number("skipLineNum")?, number("limit")?);
    if one.started.is_none() && state.generation == Generation::V33 {
        // Its worker is known by then, and has not begun its log.
        return refuse(10_103, "TaskInstanceLogPath is empty, maybe the taskInstance doesn't be dispatched");
    }
    if one.started.is_none() {
        return refuse(10_191, "task instance's log is not ready, the host of the task instance is null");
    }
    let lines: Vec<&String> = one.log.lines.iter().skip(skip).take(limit).collect();
    let mut message: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    let line_number = lines.len().max(1);
    if skip == 0 {
        let path = log_path(one);
        let head = match state.generation {
            Generation::V32 => {
                format!(
                    "[LOG-PATH]: {path}, [HOST]:  Host{{address='127.0.0.1:1234', ip='127.0.0.1', port=1234}}\n"
                )
            }
            Generation::V33 => format!("[LOG-PATH]: {path}, [HOST]: 127.0.0.1:1234\n"),
        };
        message.insert_str(0, &head);
    }
    Ok(json!({"lineNum": line_number, "message": message}))
}

fn log_path(one: &Try) -> String {
    format!("/opt/logs/{}/{}/{}/{}.log", one.code(), one.task.version, one.run, one.id)
}

pub fn list(state: &mut State, args: &Args) -> Outcome {
    let run = args.number("processInstanceId");
    let word = args.text("stateType");
    let is_batch = args.word("taskExecuteType", "BATCH") == "BATCH";
    let fits = |one: &&Try| {
        is_batch
            && run.is_none_or(|run| one.run == run)
            && (word.is_empty() || one.state.word() == word)
            && one.task.name().contains(args.text("taskName"))
    };
    let mut found: Vec<&Try> = state.tries.values().filter(fits).collect();
    // The begin has no parts of a second, so that rows of one second have no order.
    found.sort_by_key(|one| (Reverse(one.started), one.id % 2, one.id));
    let rows: Vec<Value> = found.into_iter().map(|one| row(state, one)).collect();
    args.page(&rows)
}

fn row(state: &State, one: &Try) -> Value {
    let task = &one.task;
    let run = state.runs.get(&one.run);
    let host = one.started.map(|_| "127.0.0.1:1234");
    let duration = one.started.zip(one.ended).map(|(from, to)| format!("{}s", (to - from).num_seconds()));
    let row = json!({
        "id": one.id, "name": task.name(), "taskType": task.kind(), "processInstanceId": one.run,
        "processInstanceName": run.map(|run| run.name()), "projectCode": PROJECT, "taskCode": task.code,
        "taskDefinitionVersion": task.version, "taskGroupPriority": 0, "state": one.state.word(),
        "firstSubmitTime": time(one.submitted), "submitTime": time(one.submitted),
    });
    let more = json!({
        "startTime": time_or_null(one.started), "endTime": time_or_null(one.ended), "host": host,
        "executePath": null, "logPath": host.map(|_| log_path(one)), "retryTimes": one.retries,
        "alertFlag": "NO", "pid": one.process_id, "appLink": null,
        "flag": if one.is_current { "YES" } else { "NO" }, "isCache": "NO", "duration": duration,
        "maxRetryTimes": task.number("failRetryTimes"), "retryInterval": task.number("failRetryInterval"),
        "taskInstancePriority": task.text("taskPriority"), "processInstancePriority": "MEDIUM",
        "workerGroup": task.text("workerGroup"), "environmentCode": task.number("environmentCode"),
        "environmentConfig": null, "executorId": 1, "varPool": "[]", "executorName": USER, "delayTime": 0,
        "taskParams": task.content["taskParams"].to_string(), "dryRun": 0, "taskGroupId": 0, "cpuQuota": -1,
        "memoryMax": -1, "taskExecuteType": "BATCH", "testFlag": 0,
    });
    named(state.generation, joined(row, more))
}
