//! The scheduler: workflows, runs and their tasks, moved on by time.

use std::collections::BTreeMap;
use std::time::Duration;

use lakeport_bindings::engine::model::{BodyPart, BodyValue, Workflow};

use super::Fault;

/// The time moves in such steps.
const STEP_MS: i64 = 50;
/// How long a quick task takes.
const QUICK_MS: i64 = 200;
const SLOW_MS: i64 = 3_000;
/// The cron of the kit that fires.
const OFTEN: &str = "0/5 * * * * ? *";
const OFTEN_MS: i64 = 5_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// 2001-01-01 00:00:00
const YEAR_2001_MS: i64 = 978_307_200_000;

pub struct FakeScheduler {
    pub fault: Option<Fault>,
    pub now_ms: i64,
    /// The upstream requests that a real engine would have cost.
    pub requests: u64,
    pub deployed: BTreeMap<String, Deployed>,
    pub runs: Vec<Run>,
    /// The number of the last change of a run.
    pub changes: u64,
    pub codes: u64,
}

pub struct Deployed {
    pub workflow: Workflow,
    pub cron: Option<String>,
    pub online: bool,
    pub next_ms: i64,
    pub is_removed: bool,
}

pub struct Run {
    pub id: String,
    pub workflow: Workflow,
    pub key: Option<String>,
    pub cause: &'static str,
    pub date: Option<i64>,
    pub tries: Vec<Try>,
    /// Tasks that this run does not run.
    pub left_out: Vec<u64>,
    pub state: &'static str,
    pub attempt: u32,
    pub is_paused: bool,
    pub started: Option<i64>,
    pub ended: Option<i64>,
    pub change: u64,
    /// The retries of it, by key.
    pub retries: Vec<String>,
}

pub struct Try {
    pub id: String,
    pub task: u64,
    pub name: String,
    pub attempt: u32,
    /// The attempt of the run that it belongs to.
    pub of_attempt: u32,
    pub state: &'static str,
    pub started: i64,
    pub ended: Option<i64>,
    pub log: String,
    /// Made again by a retry, of the task or of the run: it no longer counts.
    pub is_old: bool,
}

impl FakeScheduler {
    pub fn new(fault: Option<Fault>) -> FakeScheduler {
        FakeScheduler {
            fault,
            // 2026-03-01 00:00:00
            now_ms: 1_772_323_200_000,
            requests: 0,
            deployed: BTreeMap::new(),
            runs: Vec::new(),
            changes: 0,
            codes: 0,
        }
    }

    pub fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    pub fn pass(&mut self, time: Duration) {
        let until = self.now_ms + i64::try_from(time.as_millis()).expect("a test is short");
        while self.now_ms < until {
            self.now_ms = (self.now_ms + STEP_MS).min(until);
            self.fire();
            for index in 0..self.runs.len() {
                self.move_on(index);
            }
        }
    }

    /// A new run of a deployed workflow. Some of its tasks may be left out.
    pub fn begin(
        &mut self,
        code: &str,
        key: Option<String>,
        cause: &'static str,
        date: Option<i64>,
        left_out: Vec<u64>,
    ) -> String {
        let id = format!("r{}", self.runs.len() + 1);
        self.changes += 1;
        let run = Run {
            id: id.clone(),
            workflow: self.deployed[code].workflow.clone(),
            key,
            cause,
            date,
            tries: Vec::new(),
            left_out,
            state: "queued",
            attempt: 1,
            is_paused: false,
            started: None,
            ended: None,
            change: self.changes,
            retries: Vec::new(),
        };
        self.runs.push(run);
        id
    }

    pub fn touch(&mut self, index: usize) {
        self.changes += 1;
        let is_end = self.runs[index].ended.is_some();
        self.runs[index].change = if is_end && self.is(Fault::LosesEnds) { 0 } else { self.changes };
    }

    fn fire(&mut self) {
        let (now, when_off) = (self.now_ms, self.is(Fault::FiresWhenOff));
        if self.is(Fault::NeverFires) {
            return;
        }
        let is_due = |one: &Deployed| {
            (one.online || when_off) && one.cron.as_deref() == Some(OFTEN) && one.next_ms <= now
        };
        let due: Vec<String> =
            self.deployed.iter().filter(|(_, one)| is_due(one)).map(|(code, _)| code.clone()).collect();
        for code in due {
            let one = self.deployed.get_mut(&code).expect("it was just there");
            one.next_ms = (now / OFTEN_MS + 1) * OFTEN_MS;
            if !self.discards(&code) {
                self.begin(&code, None, "schedule", Some(now / OFTEN_MS * OFTEN_MS), Vec::new());
            }
        }
    }

    /// Whether a new run of the workflow is discarded, since another one is active.
    pub fn discards(&self, code: &str) -> bool {
        let workflow = &self.deployed[code].workflow;
        let is_active = |one: &Run| one.workflow.id == workflow.id && one.ended.is_none();
        workflow.concurrency == "discard" && !self.is(Fault::RunsDiscarded) && self.runs.iter().any(is_active)
    }

    /// Whether a run waits until an earlier one of its workflow has ended.
    fn waits(&self, index: usize) -> bool {
        let run = &self.runs[index];
        let is_active = |one: &Run| one.workflow.id == run.workflow.id && one.ended.is_none();
        let must_wait = run.state == "queued" && run.workflow.concurrency == "wait";
        must_wait && !self.is(Fault::IgnoresWaits) && self.runs[..index].iter().any(is_active)
    }

    /// Ends tasks whose time is over, begins those whose turn it is, and ends the run.
    fn move_on(&mut self, index: usize) {
        if self.waits(index) {
            return;
        }
        let (now, fault, run) = (self.now_ms, self.fault, &mut self.runs[index]);
        if run.ended.is_some() {
            return;
        }
        let date = run.date.filter(|_| fault != Some(Fault::UsesToday)).unwrap_or(now);
        let mut has_changed = end_tasks(run, now, date, fault);
        if fault != Some(Fault::IgnoresRetries) {
            use_retries(run);
        }
        if !run.is_paused {
            has_changed |= begin_tasks(run, now);
        }
        let is_idle = run.tries.iter().all(|one| one.is_old || one.ended.is_some());
        if is_idle && !run.is_paused && !has_changed {
            let has_failed = run.tries.iter().any(|one| !one.is_old && one.state == "failed");
            (run.state, run.ended) = (if has_failed { "failed" } else { "success" }, Some(now));
            has_changed = true;
        } else if has_changed && run.state == "queued" {
            (run.state, run.started) = ("running", Some(now));
        }
        if has_changed {
            self.touch(index);
        }
    }
}

/// A body with its values, for a date of this century.
fn printed(workflow: &Workflow, task: u64, date: i64) -> String {
    let day = |at_ms: i64, separator: &str| {
        let (mut days, mut year) = ((at_ms - YEAR_2001_MS) / DAY_MS, 2001);
        let is_leap = |year: i64| year % 4 == 0;
        while days >= 365 + i64::from(is_leap(year)) {
            days -= 365 + i64::from(is_leap(year));
            year += 1;
        }
        let february = 28 + i64::from(is_leap(year));
        let mut month = 1;
        for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
            if days < length {
                break;
            }
            days -= length;
            month += 1;
        }
        format!("{year}{separator}{month:02}{separator}{:02}", days + 1)
    };
    let value = |value: &BodyValue| match value.source.as_str() {
        "global" => {
            workflow.params.iter().find(|param| param.name == value.name).map(|one| one.value.clone())
        }
        "built_in" => Some(day(date - DAY_MS, "")),
        _ => Some(day(date, "-")),
    };
    let body = workflow.tasks.iter().find(|one| one.id == task).map(|task| task.body.as_slice());
    let part = |part: &BodyPart| match part {
        BodyPart::Text(text) => text.clone(),
        BodyPart::Value(one) => value(one).unwrap_or_default(),
    };
    body.unwrap_or_default().iter().map(part).collect()
}

fn end_tasks(run: &mut Run, now: i64, date: i64, fault: Option<Fault>) -> bool {
    let mut has_changed = false;
    let workflow = run.workflow.clone();
    for one in run.tries.iter_mut().filter(|one| one.ended.is_none()) {
        let task = workflow.tasks.iter().find(|task| task.id == one.task);
        let (takes, end) = match task.map(|task| task.text()).as_deref() {
            Some("endless") => (i64::MAX, "success"),
            Some("slow") => (SLOW_MS, "success"),
            Some("fails") => (QUICK_MS, "failed"),
            _ => (QUICK_MS, "success"),
        };
        let timeout = task.map_or(0, |task| i64::from(task.timeout_s) * 1_000);
        let is_late = timeout > 0 && timeout < takes && fault != Some(Fault::IgnoresTimeouts);
        let (takes, end) = if is_late { (timeout, "failed") } else { (takes, end) };
        if now - one.started >= takes {
            (one.state, one.ended) = (end, Some(now));
            one.log.push_str(&format!("it is {}\n", printed(&workflow, one.task, date)));
            one.log.push_str(&format!("end of {}, after {takes} ms\n", one.name));
            has_changed = true;
        }
    }
    has_changed
}

/// Lets failed tasks with retries be begun again: at once, since the kit asks for no pause between two tries.
fn use_retries(run: &mut Run) {
    let attempt = run.attempt;
    for task in &run.workflow.tasks {
        let is_its = |one: &Try| one.task == task.id && one.of_attempt == attempt;
        let tries = run.tries.iter().filter(|one| is_its(one)).count();
        if tries > task.retries as usize {
            continue;
        }
        for one in run.tries.iter_mut().filter(|one| is_its(one)) {
            one.is_old |= one.state == "failed";
        }
    }
}

fn begin_tasks(run: &mut Run, now: i64) -> bool {
    let is_done = |id: u64| {
        run.left_out.contains(&id)
            || run.tries.iter().any(|one| !one.is_old && one.task == id && one.state == "success")
    };
    let has_begun = |id: u64| run.tries.iter().any(|one| !one.is_old && one.task == id);
    let is_ready = |id: u64| {
        let mut before = run.workflow.edges.iter().filter(|edge| edge.after == id).map(|edge| edge.before);
        !run.left_out.contains(&id) && !has_begun(id) && before.all(is_done)
    };
    let ready: Vec<(u64, String)> = run
        .workflow
        .tasks
        .iter()
        .filter(|task| is_ready(task.id))
        .map(|task| (task.id, task.name.clone()))
        .collect();
    for (task, name) in &ready {
        let attempt = run.tries.iter().filter(|one| one.task == *task).count() as u32 + 1;
        run.tries.push(Try {
            id: format!("{}-{}", run.id, run.tries.len() + 1),
            task: *task,
            name: name.clone(),
            attempt,
            of_attempt: run.attempt,
            state: "running",
            started: now,
            ended: None,
            log: format!("begin of {name}\nit is the try {attempt}\nsome more words in the middle\n"),
            is_old: false,
        });
    }
    !ready.is_empty()
}
