//! The connector: the contract's functions over the scheduler.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;
use std::sync::Arc;

use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted, Dates};
use lakeport_bindings::engine::definitions::{
    Definition, DefinitionHead, DefinitionPage, DefinitionQuery, Source,
};
use lakeport_bindings::engine::deploys::{DeployRequest, TestCheck, TestReport};
use lakeport_bindings::engine::model::{
    Deployment, Instance, InstanceRef, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest,
    Schedule, Started, Target, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Problem;
use lakeport_conformance::engine::Subject;
use lakeport_plugins::CallError;

use super::runs::{code_of, index_of};
use super::scheduler::{Deployed, FakeScheduler};
use super::watch::{page, shown};
use super::{Fault, about, runs, watch};

pub struct FakeEngine(pub Rc<RefCell<FakeScheduler>>);

/// Begins the trigger codes of backfills, which their runs have in place of a key.
pub const BACKFILL: &str = "b-";
pub type Answer<T> = Result<T, CallError>;

pub fn refused<T>(code: &str, message: impl Into<String>) -> Answer<T> {
    Err(CallError::Answered(error(code, message)))
}

fn change(phase: &str) -> Deployment {
    Deployment {
        phase: phase.to_owned(),
        code: None,
        project: None,
        version: None,
        state: None,
        poll_ms: 100,
        failure: None,
        notes: Vec::new(),
    }
}

impl FakeEngine {
    /// The scheduler, for a function that costs so many requests.
    fn scheduler(&self, requests: u64) -> RefMut<'_, FakeScheduler> {
        let mut scheduler = self.0.borrow_mut();
        scheduler.requests += requests;
        scheduler
    }
}

impl Subject for FakeEngine {
    fn info(&self) -> Answer<Arc<EngineInfo>> {
        Ok(Arc::new(about::info(&self.0.borrow())))
    }

    fn exports(&self, _interface: &str) -> Answer<bool> {
        Ok(!self.0.borrow().is(Fault::DoesLittle))
    }

    async fn test(&self) -> Answer<TestReport> {
        let check = TestCheck {
            name: "reachable".to_owned(),
            outcome: "ok".to_owned(),
            message: "it is here".to_owned(),
        };
        self.scheduler(1);
        Ok(TestReport { version: None, checks: vec![check], missing_features: Vec::new() })
    }

    async fn check(&self, workflow: &Workflow) -> Answer<Vec<Problem>> {
        let unknown = workflow.tasks.iter().filter(|task| task.kind != about::KIND);
        let problem = |kind: &str| Problem {
            member: "tasks".to_owned(),
            code: "unsupported_by_engine".to_owned(),
            message: format!("the type {kind} does not run here"),
        };
        Ok(unknown.map(|task| problem(&task.kind)).collect())
    }

    /// Reserves a code, hands over the workflow, and is done when it is asked.
    async fn deploy(&self, request: &DeployRequest) -> Answer<Deployment> {
        let mut scheduler = self.scheduler(3);
        let id = request.workflow.id;
        let known = scheduler.deployed.iter().find(|(_, one)| one.workflow.id == id && !one.is_removed);
        let known = known.map(|(code, _)| code.clone());
        let known = known.filter(|_| !scheduler.is(Fault::Duplicates)).or(request.current.code.clone());
        let state = request.current.state.clone().unwrap_or_default();
        if known.is_none() && !state.contains("reserved") {
            scheduler.codes += 1;
            let state = Some(format!("{{\"reserved\":\"w{}\"}}", scheduler.codes));
            return Ok(Deployment { state, ..change("again") });
        }
        let code = known.unwrap_or_else(|| format!("w{}", scheduler.codes));
        let cron = request.workflow.schedule.as_ref().map(|schedule| schedule.cron.clone());
        let online = request.online && !scheduler.is(Fault::DeploysOff);
        let workflow = request.workflow.clone();
        let next_ms = scheduler.now_ms;
        scheduler
            .deployed
            .insert(code.clone(), Deployed { workflow, cron, online, next_ms, is_removed: false });
        Ok(Deployment { code: Some(code), state: Some("{}".to_owned()), ..change("waiting") })
    }

    async fn status(&self, _current: &WorkflowRef, _revision: Option<&str>) -> Answer<Deployment> {
        let scheduler = self.scheduler(1);
        Ok(change(if scheduler.is(Fault::NeverDone) { "waiting" } else { "done" }))
    }

    async fn remove(&self, current: &WorkflowRef) -> Answer<Deployment> {
        let mut scheduler = self.scheduler(2);
        let one = current.code.as_ref().and_then(|code| scheduler.deployed.get_mut(code));
        one.into_iter().for_each(|one| (one.is_removed, one.online) = (true, false));
        Ok(change("done"))
    }

    async fn start(&self, request: &RunRequest) -> Answer<Started> {
        runs::start(&mut self.scheduler(2), request)
    }

    async fn find(&self, queries: &[RunQuery]) -> Answer<Vec<Option<Instance>>> {
        let scheduler = self.scheduler(1);
        let find = |query: &RunQuery| {
            scheduler
                .runs
                .iter()
                .find(|run| run.key.as_ref() == Some(&query.key))
                .map(|run| shown(&scheduler, run))
        };
        Ok(queries.iter().map(find).collect())
    }

    async fn cancel(&self, _workflow: &WorkflowRef, target: &Target) -> Answer<Receipt> {
        runs::cancel(&mut self.scheduler(1), target)
    }

    async fn retry(&self, request: &RetryRequest) -> Answer<Started> {
        runs::retry(&mut self.scheduler(1), request)
    }

    async fn instances(&self, request: &WatchRequest) -> Answer<WatchPage> {
        watch::instances(&mut self.scheduler(1), request)
    }

    async fn task_runs(&self, request: &TaskRunRequest) -> Answer<TaskRunPage> {
        watch::task_runs(&self.scheduler(request.instances.len() as u64), request)
    }

    async fn log(&self, request: &LogRequest) -> Answer<LogPage> {
        watch::log(&self.scheduler(1), request)
    }

    async fn set_schedule(&self, workflow: &WorkflowRef, schedule: Option<&Schedule>) -> Answer<Deployment> {
        let mut scheduler = self.scheduler(2);
        let code = code_of(&scheduler, workflow)?;
        let (now, sets_off) = (scheduler.now_ms, scheduler.is(Fault::SetsOff));
        let one = scheduler.deployed.get_mut(&code).expect("it is deployed");
        one.next_ms = now;
        one.online &= !sets_off;
        one.cron = schedule.map(|schedule| schedule.cron.clone());
        Ok(change("done"))
    }

    async fn set_online(&self, workflow: &WorkflowRef, online: bool) -> Answer<Deployment> {
        let mut scheduler = self.scheduler(1);
        let code = code_of(&scheduler, workflow)?;
        scheduler.deployed.get_mut(&code).expect("it is deployed").online = online;
        Ok(change("done"))
    }

    async fn set_paused(&self, instance: &InstanceRef, paused: bool) -> Answer<Receipt> {
        let mut scheduler = self.scheduler(1);
        let index = index_of(&scheduler, &instance.id)?;
        if scheduler.runs[index].ended.is_some() {
            return refused("conflict", "the run has ended");
        }
        scheduler.runs[index].is_paused = paused && !scheduler.is(Fault::IgnoresPauses);
        scheduler.touch(index);
        Ok(Receipt { settled: true, note: String::new() })
    }

    async fn definitions(&self, query: &DefinitionQuery) -> Answer<DefinitionPage> {
        let scheduler = self.scheduler(1);
        let keyword = query.keyword.clone().unwrap_or_default().to_lowercase();
        let is_listed = |one: &Deployed| !one.is_removed || scheduler.is(Fault::ListsRemoved);
        let is_found = |one: &Deployed| is_listed(one) && one.workflow.name.to_lowercase().contains(&keyword);
        let head = |(code, one): (&String, &Deployed)| DefinitionHead {
            project: String::new(),
            code: code.clone(),
            name: one.workflow.name.clone(),
            version: Some(one.workflow.revision.clone()),
            release_state: if one.online { "ONLINE" } else { "OFFLINE" }.to_owned(),
            runnable: Some(true),
            scheduled: Some(one.online),
        };
        let all = scheduler.deployed.iter().filter(|(_, one)| is_found(one)).map(head).collect();
        let (definitions, next) = page(query.page.cursor.as_deref(), query.page.limit, all)?;
        Ok(DefinitionPage { definitions, total: None, next })
    }

    async fn definition(&self, source: &Source) -> Answer<Definition> {
        let scheduler = self.scheduler(1);
        let Source::Deployed((project, code)) = source else {
            return refused("invalid_input", "that is no document of this engine");
        };
        let Some(one) = scheduler.deployed.get(code).filter(|one| !one.is_removed) else {
            return refused("not_found", format!("there is no workflow {code}"));
        };
        let mut workflow = Workflow { id: 0, revision: String::new(), ..one.workflow.clone() };
        if scheduler.is(Fault::LosesEdges) {
            workflow.edges.pop();
        }
        let (project, code, native) = (project.clone(), code.clone(), "{}".to_owned());
        Ok(Definition { project, code, workflow, native, problems: Vec::new() })
    }

    async fn start_backfill(&self, request: &BackfillRequest) -> Answer<BackfillStarted> {
        let mut scheduler = self.scheduler(1);
        let code = code_of(&scheduler, &request.workflow)?;
        let Dates::Listed(dates) = &request.dates else {
            return refused("unsupported", "`range` is not supported");
        };
        let trigger = format!("{BACKFILL}{}", request.key);
        if scheduler.runs.iter().any(|run| run.key.as_ref() == Some(&trigger)) {
            return Ok(BackfillStarted { trigger, instances: Vec::new(), found: true, notes: Vec::new() });
        }
        let count = if scheduler.is(Fault::LosesDates) { dates.len() - 1 } else { dates.len() };
        for &date in &dates[..count] {
            scheduler.begin(&code, Some(trigger.clone()), "backfill", Some(date), Vec::new());
        }
        Ok(BackfillStarted { trigger, instances: Vec::new(), found: false, notes: Vec::new() })
    }

    async fn find_backfill(
        &self,
        _workflow: &WorkflowRef,
        key: &str,
        _asked: i64,
    ) -> Answer<Option<BackfillStarted>> {
        let scheduler = self.scheduler(1);
        let trigger = format!("{BACKFILL}{key}");
        let is_there = scheduler.runs.iter().any(|run| run.key.as_deref() == Some(trigger.as_str()));
        let found = BackfillStarted { trigger, instances: Vec::new(), found: true, notes: Vec::new() };
        Ok(is_there.then_some(found))
    }
}
