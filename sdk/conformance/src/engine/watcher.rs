//! Watches runs as the host does: with a cursor, and with the runs that it takes for unfinished.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lakeport_bindings::engine::model::{
    Instance, InstanceRef, OpenRun, RunQuery, RunRequest, Started, TaskRun, TaskRunRequest, WatchPage,
    WatchRequest, Watched, WorkflowRef,
};

use super::samples;
use super::subject::Subject;
use super::trial::{Checked, Stop, Trial};
use crate::report::Area;

/// The largest cursor.
const CURSOR_MAX_BYTES: usize = 4_096;
/// Pages of one poll before the kit gives up.
const PAGES_MAX: usize = 500;
/// The states of a run.
const STATES: [&str; 8] =
    ["queued", "running", "paused", "stopping", "success", "failed", "stopped", "unknown"];
const CAUSES: [&str; 4] = ["manual", "schedule", "backfill", "other"];
/// The longest that the host waits, whatever the engine says.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// How far before a start the watch begins: the clocks of two machines differ.
const CLOCKS_APART_MS: i64 = 60_000;
const LIMIT: u32 = 100;

pub fn is_final(state: &str) -> bool {
    matches!(state, "success" | "failed" | "stopped")
}

/// What a watcher knows.
#[derive(Clone)]
pub struct Watcher {
    pub workflows: Vec<Watched>,
    pub cursor: Option<String>,
    pub since: i64,
    pub limit: u32,
    /// The last state of each run.
    pub seen: BTreeMap<String, Instance>,
    /// Runs that are taken for unfinished, with their workflows.
    pub open: BTreeMap<String, u64>,
    pub gone: BTreeSet<String>,
    /// Milliseconds until something may change.
    pub wait_ms: u32,
}

impl Watcher {
    pub fn new(workflows: &[&WorkflowRef], since: i64) -> Watcher {
        Watcher {
            workflows: workflows.iter().map(|workflow| samples::watched(workflow)).collect(),
            cursor: None,
            since: since - CLOCKS_APART_MS,
            limit: LIMIT,
            seen: BTreeMap::new(),
            open: BTreeMap::new(),
            gone: BTreeSet::new(),
            wait_ms: 0,
        }
    }

    /// Runs of a workflow, by id.
    pub fn runs_of(&self, workflow: u64) -> impl Iterator<Item = &Instance> {
        self.seen.values().filter(move |run| run.workflow == workflow)
    }
}

/// A run that was begun.
#[derive(Clone)]
pub struct StartedRun {
    pub request: RunRequest,
    pub started: Started,
    pub id: String,
}

impl StartedRun {
    pub fn reference(&self) -> InstanceRef {
        InstanceRef { workflow: self.request.workflow.clone(), id: self.id.clone() }
    }
}

impl<S: Subject> Trial<'_, S> {
    /// One poll: all pages that are there now.
    pub async fn poll(&mut self, watcher: &mut Watcher) -> Checked<()> {
        let place = "watch.instances";
        let subject = self.subject;
        let mut open: Vec<OpenRun> =
            watcher.open.iter().map(|(id, &workflow)| OpenRun { workflow, id: id.clone() }).collect();
        for _ in 0..PAGES_MAX {
            let request = WatchRequest {
                workflows: watcher.workflows.clone(),
                // The first page is to answer them.
                open: std::mem::take(&mut open),
                cursor: watcher.cursor.clone(),
                since: watcher.since,
                limit: watcher.limit,
            };
            let page = self.must(place, "runs", subject.instances(&request)).await?;
            self.check_page(&request, &page);
            for run in page.instances {
                if is_final(&run.state) {
                    watcher.open.remove(&run.id);
                    self.unended.remove(&run.id);
                } else {
                    watcher.open.insert(run.id.clone(), run.workflow);
                }
                watcher.seen.insert(run.id.clone(), run);
            }
            for id in page.gone {
                watcher.open.remove(&id);
                watcher.gone.insert(id);
            }
            (watcher.cursor, watcher.wait_ms) = (Some(page.cursor), page.wait_ms);
            if !page.more {
                return Ok(());
            }
        }
        let what = format!("`more` after {PAGES_MAX} pages");
        self.report.add(Area::Contract, place, what, "pages come to an end");
        Err(Stop)
    }

    fn check_page(&mut self, request: &WatchRequest, page: &WatchPage) {
        let place = "watch.instances";
        let bytes = page.cursor.len();
        let why = "a cursor has 4,096 bytes at most";
        self.expect(Area::Contract, bytes <= CURSOR_MAX_BYTES, place, &format!("{bytes} bytes"), why);
        let is_open = |id: &str| request.open.iter().any(|open| open.id == id);
        let others = page.instances.iter().filter(|run| !is_open(&run.id)).count();
        let what = format!("{others} runs with the limit {}", request.limit);
        let why = "the limit bounds the runs that are not open";
        self.expect(Area::Contract, others <= request.limit as usize, place, &what, why);
        for run in &page.instances {
            let what = format!("a run of the workflow {}", run.workflow);
            let is_asked = request.workflows.iter().any(|one| one.id == run.workflow);
            self.expect(Area::Contract, is_asked, place, &what, "runs of other workflows are left out");
            self.check_run(place, run);
        }
        for id in &page.gone {
            let why = "`gone` names open runs alone";
            self.expect(Area::Contract, is_open(id), place, &format!("the run {id}"), why);
        }
        for open in &request.open {
            let is_answered =
                page.instances.iter().any(|run| run.id == open.id) || page.gone.contains(&open.id);
            let what = format!("nothing is said of the open run {}", open.id);
            let why = "the answer has each open run, or names it in `gone`";
            self.expect(Area::Contract, is_answered, place, &what, why);
        }
    }

    pub fn check_run(&mut self, place: &str, run: &Instance) {
        let words = STATES.contains(&run.state.as_str()) && CAUSES.contains(&run.cause.as_str());
        let what = format!("the state {:?} and the cause {:?}", run.state, run.cause);
        self.expect(Area::Contract, words, place, &what, "states and causes are words of the contract");
        let ends_after = run.started.zip(run.ended).is_none_or(|(started, ended)| started <= ended);
        let holds = ends_after && !run.id.is_empty() && run.attempt >= 1;
        let what = format!(
            "the id {:?}, the attempt {}, from {:?} to {:?}",
            run.id, run.attempt, run.started, run.ended
        );
        self.expect(
            Area::Contract,
            holds,
            place,
            &what,
            "a run has an id, an attempt, and ends after it begins",
        );
    }

    /// Looks until a run is as wanted.
    pub async fn wait_until(
        &mut self,
        watcher: &mut Watcher,
        id: &str,
        wanted: &str,
        is_wanted: impl Fn(&Instance) -> bool,
    ) -> Checked<Instance> {
        let mut waited = Duration::ZERO;
        loop {
            self.poll(watcher).await?;
            let found = watcher.seen.get(id);
            if let Some(run) = found.filter(|run| is_wanted(run)) {
                return Ok(run.clone());
            }
            if waited > self.setting.patience {
                let state = found.map_or("never seen".to_owned(), |run| format!("{:?}", run.state));
                let what = format!("after {} s the run {id} is {state}", waited.as_secs());
                self.report.add(Area::Lifecycle, &format!("watch.instances, {wanted}"), what, SEES_ALL);
                return Err(Stop);
            }
            waited += self.wait_between(watcher).await;
        }
    }

    /// Looks until the run has ended.
    pub async fn wait_for_end(&mut self, watcher: &mut Watcher, id: &str) -> Checked<Instance> {
        self.wait_until(watcher, id, "a run that ends", |run| is_final(&run.state)).await
    }

    /// Waits as the host does between two polls.
    pub async fn wait_between(&mut self, watcher: &Watcher) -> Duration {
        let promised = Duration::from_millis(watcher.wait_ms.into()).min(WAIT_MAX);
        let time = promised.max(self.setting.poll);
        self.wait(time).await;
        time
    }

    /// Starts a run, and finds out its id.
    pub async fn start_run(&mut self, request: RunRequest) -> Checked<StartedRun> {
        let (subject, asked) = (self.subject, (self.setting.now_ms)());
        let started = self.must("runs.start", &request.reach, subject.start(&request)).await?;
        self.accepted(request, started, asked).await
    }

    /// Finds out the id of a run whose start was accepted.
    pub async fn accepted(
        &mut self,
        request: RunRequest,
        started: Started,
        asked: i64,
    ) -> Checked<StartedRun> {
        let what = "`found` for a new key";
        self.expect(Area::Contract, !started.found, "runs.start", what, "a new key names no run");
        // A start that names neither the run nor a trigger is found by its key.
        let id = match &started.instance {
            Some(id) => id.clone(),
            None => self.find(&request, &started, asked).await?.id,
        };
        self.unended.insert(id.clone(), request.workflow.clone());
        Ok(StartedRun { request, started, id })
    }

    /// Looks for a started run by key or trigger until the engine shows it.
    pub async fn find(&mut self, request: &RunRequest, started: &Started, asked: i64) -> Checked<Instance> {
        let (subject, place) = (self.subject, "runs.find");
        let other = RunQuery {
            workflow: request.workflow.clone(),
            key: format!("{}-none", request.key),
            trigger: None,
            asked,
        };
        let this = RunQuery { key: request.key.clone(), trigger: started.trigger.clone(), ..other.clone() };
        let queries = [other, this];
        let settle = Duration::from_millis(self.info.settle_ms.into());
        let mut waited = Duration::ZERO;
        loop {
            let mut found = self.must(place, "a started run", subject.find(&queries)).await?;
            let what = format!("{} answers to 2 queries", found.len());
            self.require(Area::Contract, found.len() == 2, place, &what, "one answer per query")?;
            let what = "a run for a key that was never used";
            self.expect(
                Area::Contract,
                found[0].is_none(),
                place,
                what,
                "answers are in the order of queries",
            );
            if let Some(run) = found.remove(1) {
                self.check_run(place, &run);
                return Ok(run);
            }
            if waited > settle + self.setting.patience.min(settle * 2) {
                let what = format!("not found {} ms after its start", waited.as_millis());
                let why = "`settle-ms` says how long a start may take until it is found";
                self.report.add(Area::Lifecycle, place, what, why);
                return Err(Stop);
            }
            waited += self.setting.poll;
            self.wait(self.setting.poll).await;
        }
    }

    /// The tries of the tasks of these runs, in pages of `limit`.
    pub async fn tries(&mut self, runs: &[InstanceRef], limit: u32) -> Checked<Vec<TaskRun>> {
        let (subject, place) = (self.subject, "watch.task-runs");
        let (mut tries, mut cursor) = (Vec::new(), None);
        for _ in 0..PAGES_MAX {
            let request = TaskRunRequest { instances: runs.to_vec(), cursor, limit };
            let page = self.must(place, "tries", subject.task_runs(&request)).await?;
            let what = format!("{} tries with the limit {limit}", page.task_runs.len());
            let fits = page.task_runs.len() <= limit as usize;
            self.expect(Area::Contract, fits, place, &what, "a page has at most as many as asked");
            tries.extend(page.task_runs);
            cursor = page.next;
            if cursor.is_none() {
                self.check_tries(runs, &tries);
                return Ok(tries);
            }
        }
        self.report.add(Area::Contract, place, "pages without an end", "pages come to an end");
        Err(Stop)
    }

    fn check_tries(&mut self, runs: &[InstanceRef], tries: &[TaskRun]) {
        let place = "watch.task-runs";
        let mut known = BTreeSet::new();
        let mut last: BTreeMap<(&str, &str), u32> = BTreeMap::new();
        for one in tries {
            let is_known = one.state == "skipped" || STATES.contains(&one.state.as_str());
            let what = format!("the state {:?} of the task {}", one.state, one.task_name);
            self.expect(Area::Contract, is_known, place, &what, "states are words of the contract");
            let is_new = known.insert((&one.instance, &one.id));
            let what = format!("the try {} of the run {} twice", one.id, one.instance);
            self.expect(Area::Contract, is_new, place, &what, "the id of a try is unique within its run");
            let is_asked = runs.iter().any(|run| run.id == one.instance);
            let what = format!("a try of the run {}", one.instance);
            self.expect(Area::Contract, is_asked, place, &what, "tries of other runs are left out");
            let before = last.insert((&one.instance, &one.task_name), one.attempt).unwrap_or(0);
            let what = format!("the try {} of {} after {before}", one.attempt, one.task_name);
            let holds = one.attempt >= 1 && before <= one.attempt;
            self.expect(Area::Contract, holds, place, &what, "older tries of a task come before newer ones");
        }
    }
}

/// Why the state of a run must show.
pub const SEES_ALL: &str = "unchanged runs may be left out, and no changed run may be";
