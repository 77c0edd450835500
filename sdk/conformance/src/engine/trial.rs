//! Calls the engine as the host does, counts what a call costs, and records what breaks the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::deploys::DeployRequest;
use lakeport_bindings::engine::model::{Deployment, RunRequest, Schedule, Workflow, WorkflowRef};
use lakeport_bindings::host::types::Error;
use lakeport_plugins::CallError;
use serde_json::Value;

use super::samples;
use super::setting::Setting;
use super::subject::Subject;
use crate::report::{Area, Report};

/// The largest `state` of a workflow.
const STATE_MAX_BYTES: usize = 16 * 1024;
/// Steps of one change before the kit gives up.
const STEPS_MAX: usize = 1_000;
/// The codes of errors that every interface may give.
const GENERAL_CODES: [&str; 16] = [
    "invalid_input",
    "not_found",
    "conflict",
    "unauthorized",
    "forbidden",
    "not_granted",
    "unsupported",
    "limit_exceeded",
    "rate_limited",
    "timeout",
    "cancelled",
    "unreachable",
    "upstream_failed",
    "bad_answer",
    "unavailable",
    "internal",
];
/// Functions that change nothing.
const READS: [&str; 11] = [
    "deploys.test",
    "deploys.check",
    "deploys.status",
    "runs.find",
    "watch.instances",
    "watch.task-runs",
    "watch.log",
    "definitions.entries",
    "definitions.read",
    "backfills.find",
    "about.describe",
];

/// A finding was recorded, and the rest of the scenario depends on what failed.
#[derive(Debug)]
pub struct Stop;

/// The result of a step of a scenario.
pub type Checked<T> = Result<T, Stop>;

/// What the calls of one function cost so far.
#[derive(Clone, Copy, Default)]
pub struct Cost {
    pub calls: u64,
    pub requests: u64,
    pub most: u64,
}

/// A change in the engine.
#[derive(Clone, Debug)]
pub enum Change {
    Deploy(Box<Workflow>),
    /// Of a workflow whose schedule is on, and is to stay so.
    Redeploy(Box<Workflow>),
    Remove,
    SetSchedule(Option<Schedule>),
    SetOnline(bool),
}

impl Change {
    pub fn function(&self) -> &'static str {
        match self {
            Change::Deploy(_) | Change::Redeploy(_) => "deploys.deploy",
            Change::Remove => "deploys.remove",
            Change::SetSchedule(_) => "schedules.set",
            Change::SetOnline(true) => "schedules.online",
            Change::SetOnline(false) => "schedules.offline",
        }
    }

    fn deployed(&self) -> Option<&Workflow> {
        match self {
            Change::Deploy(workflow) | Change::Redeploy(workflow) => Some(workflow),
            _ => None,
        }
    }
}

pub struct Trial<'s, S> {
    pub subject: &'s S,
    pub setting: &'s Setting,
    pub info: EngineInfo,
    /// Of the description, without those that the instance does without.
    pub features: BTreeSet<String>,
    pub report: Report,
    /// Workflows to remove at the end.
    pub deployed: Vec<WorkflowRef>,
    /// Runs that were started and not seen to end. They are stopped before their workflows are removed.
    pub unended: BTreeMap<String, WorkflowRef>,
    costs: BTreeMap<&'static str, Cost>,
    workflows: u64,
    runs: u64,
}

impl<'s, S: Subject> Trial<'s, S> {
    pub fn new(subject: &'s S, setting: &'s Setting, info: EngineInfo) -> Trial<'s, S> {
        let report = Report::new(format!("engine {} {}", info.name, info.version));
        let features = info.features.iter().cloned().collect();
        Trial {
            subject,
            setting,
            info,
            features,
            report,
            deployed: Vec::new(),
            unended: BTreeMap::new(),
            costs: BTreeMap::new(),
            workflows: 0,
            runs: 0,
        }
    }

    pub fn has(&self, feature: &str) -> bool {
        self.features.contains(feature)
    }

    pub fn exports(&mut self, interface: &str) -> bool {
        self.subject.exports(interface).unwrap_or(false)
    }

    pub fn costs(&self) -> &BTreeMap<&'static str, Cost> {
        &self.costs
    }

    pub async fn wait(&self, time: Duration) {
        (self.setting.wait)(time).await;
    }

    /// Counts a case, and adds a finding unless it holds.
    pub fn expect(&mut self, area: Area, holds: bool, place: &str, what: &str, why: &'static str) {
        self.report.expect(area, holds, place, what, why);
    }

    /// The same where the rest of the scenario depends on it.
    pub fn require(
        &mut self,
        area: Area,
        holds: bool,
        place: &str,
        what: &str,
        why: &'static str,
    ) -> Checked<()> {
        self.expect(area, holds, place, what, why);
        if holds { Ok(()) } else { Err(Stop) }
    }
}

/// Calls.
impl<S: Subject> Trial<'_, S> {
    /// The engine's answer, or its error. It is a finding if the plugin fails, and if the error is malformed.
    pub async fn ask<T>(
        &mut self,
        function: &'static str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Checked<Result<T, Error>> {
        let count = |setting: &Setting| setting.requests.as_ref().map_or(0, |requests| requests());
        let before = count(self.setting);
        let answer = call.await;
        let requests = count(self.setting).saturating_sub(before);
        let cost = self.costs.entry(function).or_default();
        cost.calls += 1;
        cost.requests += requests;
        cost.most = cost.most.max(requests);
        match answer {
            Ok(answer) => Ok(Ok(answer)),
            Err(CallError::Answered(error)) => {
                self.check_error(function, &error);
                Ok(Err(error))
            }
            Err(failed) => {
                let why = "a call must answer, with an error if necessary; it must not trap or time out";
                self.report.case(Area::Errors);
                self.report.add(Area::Errors, function, failed.to_string(), why);
                Err(Stop)
            }
        }
    }

    fn check_error(&mut self, function: &'static str, error: &Error) {
        let what = format!("an error of the code {:?} and the message {:?}", error.code, error.message);
        let is_known = GENERAL_CODES.contains(&error.code.as_str());
        let why = "an error has a code of the contract and a message for a person";
        self.expect(Area::Errors, is_known && !error.message.trim().is_empty(), function, &what, why);
        let may_have_applied = error.may_have_applied && READS.contains(&function);
        let what = "may-have-applied is set";
        self.expect(Area::Errors, !may_have_applied, function, what, "a read changes nothing");
    }

    /// The answer of a call that must succeed.
    pub async fn must<T>(
        &mut self,
        function: &'static str,
        what: &str,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Checked<T> {
        self.report.case(Area::Lifecycle);
        match self.ask(function, call).await? {
            Ok(answer) => Ok(answer),
            Err(error) => {
                let place = format!("{function}, {what}");
                let found = format!("refused with {}: {}", error.code, error.message);
                self.report.add(Area::Lifecycle, &place, found, "the engine of the setting can do this");
                Err(Stop)
            }
        }
    }

    /// A call that must be refused with one of these codes.
    pub async fn must_refuse<T>(
        &mut self,
        function: &'static str,
        what: &str,
        codes: &[&str],
        call: impl Future<Output = Result<T, CallError>>,
    ) {
        let Ok(answer) = self.ask(function, call).await else { return };
        let found = match &answer {
            Ok(_) => "it is accepted".to_owned(),
            Err(error) => format!("refused with {}: {}", error.code, error.message),
        };
        let holds = answer.is_err_and(|error| codes.contains(&error.code.as_str()));
        let place = format!("{function}, {what}");
        let found = format!("{found}; expected: {}", codes.join(" or "));
        self.expect(Area::Errors, holds, &place, &found, "the code tells the host what to do");
    }
}

/// Changes.
impl<S: Subject> Trial<'_, S> {
    /// A workflow with a new id.
    pub fn workflow(
        &mut self,
        name: &str,
        tasks: &[(&str, samples::Work)],
        edges: &[(usize, usize)],
    ) -> Workflow {
        self.workflows += 1;
        samples::workflow(self.setting, self.workflows, name, tasks, edges)
    }

    /// Deploys a workflow for the first time.
    pub async fn deploy(&mut self, workflow: &Workflow) -> Checked<WorkflowRef> {
        let mut current = samples::unknown(workflow);
        self.change(&Change::Deploy(Box::new(workflow.clone())), &mut current).await?;
        Ok(current)
    }

    /// Makes a change and follows it to its end, as the host does. Keeps `current` up to date.
    pub async fn change(&mut self, change: &Change, current: &mut WorkflowRef) -> Checked<Deployment> {
        let function = change.function();
        if change.deployed().is_some() && !self.deployed.iter().any(|one| one.id == current.id) {
            self.deployed.push(current.clone());
        }
        let mut answer = self.step(change, current).await?;
        let mut waited = Duration::ZERO;
        for _ in 0..STEPS_MAX {
            self.apply(function, change, &answer, current)?;
            match answer.phase.as_str() {
                "done" => return Ok(answer),
                "again" => answer = self.step(change, current).await?,
                _ if waited > self.setting.patience => break,
                _ => {
                    let time = Duration::from_millis(answer.poll_ms.into()).max(self.setting.poll);
                    waited += time;
                    self.wait(time).await;
                    answer = match change {
                        // A removal is repeated: a missing workflow is no error.
                        Change::Remove => self.step(change, current).await?,
                        _ => self.status(change, current).await?,
                    };
                }
            }
        }
        let what = format!("not done after {} s", waited.as_secs());
        let why = "a change must come to an end, with `done` or `failed`";
        self.report.add(Area::Lifecycle, function, what, why);
        Err(Stop)
    }

    async fn step(&mut self, change: &Change, current: &WorkflowRef) -> Checked<Deployment> {
        let (subject, function) = (self.subject, change.function());
        let what = format!("the workflow {}", current.name);
        match change {
            Change::Deploy(workflow) | Change::Redeploy(workflow) => {
                let request = DeployRequest {
                    workflow: (**workflow).clone(),
                    current: current.clone(),
                    online: matches!(change, Change::Redeploy(_)),
                    extra: None,
                };
                self.must(function, &what, subject.deploy(&request)).await
            }
            Change::Remove => self.must(function, &what, subject.remove(current)).await,
            Change::SetSchedule(schedule) => {
                self.must(function, &what, subject.set_schedule(current, schedule.as_ref())).await
            }
            Change::SetOnline(online) => {
                self.must(function, &what, subject.set_online(current, *online)).await
            }
        }
    }

    async fn status(&mut self, change: &Change, current: &WorkflowRef) -> Checked<Deployment> {
        let revision = change.deployed().map(|workflow| workflow.revision.as_str());
        let subject = self.subject;
        self.must("deploys.status", change.function(), subject.status(current, revision)).await
    }

    /// Checks an answer and keeps what the host would store.
    fn apply(
        &mut self,
        function: &'static str,
        change: &Change,
        answer: &Deployment,
        current: &mut WorkflowRef,
    ) -> Checked<()> {
        let phase = answer.phase.as_str();
        let is_known = matches!(phase, "done" | "again" | "waiting" | "failed");
        let why = "the phases are `done`, `again`, `waiting` and `failed`";
        self.require(Area::Contract, is_known, function, &format!("the phase {phase:?}"), why)?;
        if let Some(state) = &answer.state {
            let is_object = serde_json::from_str::<Value>(state).is_ok_and(|state| state.is_object());
            let fits = is_object && state.len() <= STATE_MAX_BYTES;
            let what = format!("a state of {} bytes that begins with {:?}", state.len(), state.get(..20));
            self.expect(Area::Contract, fits, function, &what, "a state is a JSON object of 16 KiB at most");
        }
        current.code = answer.code.clone().or(current.code.take());
        current.project = answer.project.clone().or(current.project.take());
        current.state = answer.state.clone().or(current.state.take());
        if phase == "failed" {
            let error = answer.failure.as_ref();
            let what = error.map_or("without a reason".to_owned(), |error| error.message.clone());
            let why = "the engine of the setting can do this; a failure has its reason";
            self.report.add(Area::Lifecycle, function, format!("it failed: {what}"), why);
            return Err(Stop);
        }
        if let (Some(workflow), "done") = (change.deployed(), phase) {
            let why = "a deployment that is done has the engine's code of the workflow";
            self.require(Area::Contract, current.code.is_some(), function, "no code", why)?;
            current.revision = Some(workflow.revision.clone());
            current.name.clone_from(&workflow.name);
        }
        if let Some(kept) = self.deployed.iter_mut().find(|one| one.id == current.id) {
            kept.clone_from(current);
        }
        Ok(())
    }

    /// A start of all tasks with a new key, for a date of its own: some engines take one run per date.
    pub fn run(&mut self, workflow: &WorkflowRef) -> RunRequest {
        self.runs += 1;
        let key = format!("conformance-{}-{}", self.setting.unique, self.runs);
        let date = samples::midnight(self.setting, self.runs);
        samples::run(workflow, key, self.has("business_time").then_some(date))
    }
}
