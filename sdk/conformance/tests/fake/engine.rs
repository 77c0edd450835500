//! The connector: the contract's functions over the scheduler.

use std::cell::{RefCell, RefMut};
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use lakeport_bindings::engine::about::{EngineInfo, TaskType};
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted, Dates};
use lakeport_bindings::engine::definitions::{
    Definition, DefinitionHead, DefinitionPage, DefinitionQuery, Source,
};
use lakeport_bindings::engine::deploys::{DeployRequest, TestCheck, TestReport};
use lakeport_bindings::engine::model::{
    Deployment, Instance, InstanceRef, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest,
    Schedule, Started, Target, TaskRun, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow,
    WorkflowRef,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Problem;
use lakeport_conformance::engine::Subject;
use lakeport_plugins::{CallError, CallFault};

use super::Fault;
use super::scheduler::{Deployed, FakeScheduler, Run};

pub struct FakeEngine(pub Rc<RefCell<FakeScheduler>>);

type Answer<T> = Result<T, CallError>;

fn refused<T>(code: &str, message: impl Into<String>) -> Answer<T> {
    Err(CallError::Answered(error(code, message)))
}

fn change(phase: &str) -> Deployment {
    Deployment {
        phase: phase.to_owned(),
        code: None,
        project: None,
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

/// Where a run is.
fn index_of(scheduler: &FakeScheduler, id: &str) -> Answer<usize> {
    let found = scheduler.runs.iter().position(|run| run.id == id);
    found.map_or_else(|| refused("not_found", format!("there is no run {id}")), Ok)
}

fn code_of(scheduler: &FakeScheduler, workflow: &WorkflowRef) -> Answer<String> {
    let code = workflow.code.clone().unwrap_or_default();
    if scheduler.deployed.get(&code).is_some_and(|one| !one.is_removed || scheduler.is(Fault::RunsRemoved)) {
        return Ok(code);
    }
    let word = if scheduler.is(Fault::OwnCodes) { "NotDeployed" } else { "not_found" };
    refused(word, format!("the workflow {} is not deployed", workflow.name))
}

fn shown(scheduler: &FakeScheduler, run: &Run) -> Instance {
    let state = match run.state {
        "success" if scheduler.is(Fault::OwnWords) => "DONE",
        state if run.is_paused && run.ended.is_none() && !scheduler.is(Fault::IgnoresPauses) => {
            if state == "stopping" { state } else { "paused" }
        }
        state => state,
    };
    Instance {
        id: run.id.clone(),
        workflow: run.workflow.id,
        key: run.key.clone(),
        trigger: None,
        cause: run.cause.to_owned(),
        business_time: run.date,
        state: state.to_owned(),
        engine_state: run.state.to_uppercase(),
        attempt: run.attempt,
        started: Some(run.started),
        ended: run.ended,
        message: None,
        extra: None,
    }
}

fn page<T>(cursor: Option<&str>, limit: u32, all: Vec<T>) -> Answer<(Vec<T>, Option<String>)> {
    let from = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => return refused("invalid_input", "that is no cursor of this engine"),
    };
    let (count, to) = (all.len(), from + limit as usize);
    let next = (to < count).then(|| to.to_string());
    Ok((all.into_iter().skip(from).take(limit as usize).collect(), next))
}

impl Subject for FakeEngine {
    fn info(&self) -> Answer<Arc<EngineInfo>> {
        let task_type = TaskType {
            name: "FAKE".to_owned(),
            title: "Fake".to_owned(),
            body: "none".to_owned(),
            needs_datasource: false,
            datasource_kinds: Vec::new(),
            settings_schema: "{}".to_owned(),
        };
        let features = [
            "business_time",
            "run_key",
            "retry_failed",
            "retry_all",
            "log_stream",
            "start_at",
            "run_params",
            "backfill_list",
        ];
        let does_little = self.0.borrow().is(Fault::DoesLittle);
        Ok(Arc::new(EngineInfo {
            name: "fake".to_owned(),
            title: "Fake".to_owned(),
            version: "0.1.0".to_owned(),
            product: "Fake".to_owned(),
            versions: Vec::new(),
            config_schema: "{}".to_owned(),
            addresses: Vec::new(),
            folder_at: None,
            secrets: Vec::new(),
            auth: Vec::new(),
            task_types: vec![task_type],
            deploy_kind: "api".to_owned(),
            cron_dialect: "quartz7".to_owned(),
            time_zone_mode: "schedule".to_owned(),
            max_backfill_dates: 0,
            settle_ms: 500,
            features: features.iter().filter(|_| !does_little).map(|&one| one.to_owned()).collect(),
            extra: None,
        }))
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
        let unknown = workflow.tasks.iter().filter(|task| task.kind != "FAKE");
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
        let mut scheduler = self.scheduler(2);
        let code = code_of(&scheduler, &request.workflow)?;
        let known = scheduler.runs.iter().find(|run| run.key.as_ref() == Some(&request.key));
        if let Some(run) = known.filter(|_| !scheduler.is(Fault::RunsTwice)) {
            return Ok(Started { instance: Some(run.id.clone()), trigger: None, found: true });
        }
        let workflow = &scheduler.deployed[&code].workflow;
        let left_out = match request.start_at {
            Some(first) if !workflow.tasks.iter().any(|task| task.id == first) => {
                return refused("not_found", format!("there is no task {first}"));
            }
            Some(first) if !scheduler.is(Fault::RunsAll) => {
                let mut part = HashSet::from([first]);
                while request.reach == "from"
                    && workflow
                        .edges
                        .iter()
                        .any(|edge| part.contains(&edge.before) && part.insert(edge.after))
                {}
                workflow.tasks.iter().map(|task| task.id).filter(|id| !part.contains(id)).collect()
            }
            _ => Vec::new(),
        };
        let id = scheduler.begin(&code, Some(request.key.clone()), "manual", request.business_time, left_out);
        let run = scheduler.runs.last_mut().expect("it was just begun");
        for param in &request.params {
            run.workflow.params.retain(|one| one.name != param.name);
            run.workflow.params.push(param.clone());
        }
        Ok(Started { instance: Some(id), trigger: None, found: false })
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
        let mut scheduler = self.scheduler(1);
        let receipt = Receipt { settled: true, note: String::new() };
        let Target::Instance(id) = target else { return Ok(receipt) };
        if scheduler.is(Fault::Traps) && !id.starts_with('r') {
            return Err(CallError::Failed {
                plugin: "engine:fake".to_owned(),
                function: "runs.cancel",
                fault: CallFault::Trap,
                message: "it trapped".to_owned(),
            });
        }
        let index = index_of(&scheduler, id)?;
        if scheduler.is(Fault::IgnoresStops) {
            return Ok(Receipt { settled: false, ..receipt });
        }
        let now = scheduler.now_ms;
        let run = &mut scheduler.runs[index];
        if run.ended.is_none() {
            (run.state, run.ended) = ("stopped", Some(now));
            for one in run.tries.iter_mut().filter(|one| one.ended.is_none()) {
                (one.state, one.ended) = ("stopped", Some(now));
            }
            scheduler.touch(index);
        }
        Ok(receipt)
    }

    /// Within the same run.
    async fn retry(&self, request: &RetryRequest) -> Answer<Started> {
        let mut scheduler = self.scheduler(1);
        let index = index_of(&scheduler, &request.instance.id)?;
        let all = request.scope == "all" || scheduler.is(Fault::RetriesAll);
        let run = &mut scheduler.runs[index];
        let instance = Some(run.id.clone());
        if run.retries.contains(&request.key) {
            return Ok(Started { instance, trigger: None, found: true });
        }
        if run.ended.is_none() {
            return refused("conflict", "the run has not ended");
        }
        run.retries.push(request.key.clone());
        run.tries.iter_mut().for_each(|one| one.is_old |= all || one.state != "success");
        (run.state, run.ended, run.attempt) = ("running", None, run.attempt + 1);
        scheduler.touch(index);
        Ok(Started { instance, trigger: None, found: false })
    }

    async fn instances(&self, request: &WatchRequest) -> Answer<WatchPage> {
        let mut scheduler = self.scheduler(1);
        if scheduler.is(Fault::AsksEach) {
            scheduler.requests += request.workflows.len() as u64 - 1;
        }
        let cursor = match request.cursor.as_deref().map(str::parse::<u64>) {
            None => 0,
            Some(Ok(cursor)) => cursor,
            Some(Err(_)) if scheduler.is(Fault::TakesAnyCursor) => 0,
            Some(Err(_)) => return refused("invalid_input", "that is no cursor of this engine"),
        };
        let is_watched = |run: &Run| request.workflows.iter().any(|one| one.id == run.workflow.id);
        let is_open = |run: &Run| request.open.iter().any(|open| open.id == run.id);
        let mut changed: Vec<&Run> =
            scheduler.runs.iter().filter(|run| run.change > cursor && is_watched(run)).collect();
        changed.sort_by_key(|run| run.change);
        let more = changed.len() > request.limit as usize;
        changed.truncate(request.limit as usize);
        let last = changed.last().map(|run| run.change).filter(|_| more).unwrap_or(scheduler.changes);
        let mut open: Vec<&Run> = scheduler.runs.iter().filter(|run| is_open(run)).collect();
        let known: HashSet<&str> = open.iter().map(|run| run.id.as_str()).collect();
        let gone = request.open.iter().filter(|one| !known.contains(one.id.as_str()));
        let gone = gone.map(|one| one.id.clone()).collect();
        changed.retain(|run| !is_open(run));
        if scheduler.is(Fault::ForgetsOpen) {
            open.retain(|run| run.change > cursor);
        }
        let instances = open.into_iter().chain(changed).map(|run| shown(&scheduler, run)).collect();
        Ok(WatchPage { instances, gone, cursor: last.to_string(), more, wait_ms: 300 })
    }

    async fn task_runs(&self, request: &TaskRunRequest) -> Answer<TaskRunPage> {
        let scheduler = self.scheduler(request.instances.len() as u64);
        let is_asked = |run: &&Run| request.instances.iter().any(|one| one.id == run.id);
        let mut tries = Vec::new();
        for run in scheduler.runs.iter().filter(is_asked) {
            tries.extend(run.tries.iter().map(|one| TaskRun {
                id: one.id.clone(),
                instance: run.id.clone(),
                task: Some(one.task),
                task_name: one.name.clone(),
                attempt: one.attempt,
                state: match one.state {
                    "running" if scheduler.is(Fault::HidesTasks) => "queued".to_owned(),
                    state => state.to_owned(),
                },
                engine_state: one.state.to_owned(),
                started: Some(one.started),
                ended: one.ended,
                message: None,
                rows_affected: None,
                extra: None,
            }));
        }
        let (task_runs, next) = page(request.cursor.as_deref(), request.limit, tries)?;
        Ok(TaskRunPage { task_runs, next })
    }

    async fn log(&self, request: &LogRequest) -> Answer<LogPage> {
        let scheduler = self.scheduler(1);
        if scheduler.is(Fault::DoesLittle) {
            return refused("unsupported", "it has no logs");
        }
        let run = &scheduler.runs[index_of(&scheduler, &request.instance.id)?];
        let Some(one) = run.tries.iter().find(|one| one.id == request.task_run) else {
            return refused("not_found", "there is no such try");
        };
        let from = match request.cursor.as_deref().map(str::parse::<usize>) {
            None => 0,
            Some(Ok(from)) if from <= one.log.len() => from,
            _ => return refused("invalid_input", "that is no cursor of this engine"),
        };
        let rest = &one.log[from..];
        let (mut end, max) = (0, request.max_bytes as usize);
        for line in rest.split_inclusive('\n') {
            if end > 0 && end + line.len() > max {
                break;
            }
            end += line.len();
        }
        let lost = if scheduler.is(Fault::CutsLogs) && end < rest.len() {
            rest[end..].find('\n').map_or(0, |at| at + 1)
        } else {
            0
        };
        let complete = one.ended.is_some() && end == rest.len() && !scheduler.is(Fault::NeverCompletes);
        Ok(LogPage { text: rest[..end].to_owned(), next: (from + end + lost).to_string(), complete })
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
            release_state: if one.online { "ONLINE" } else { "OFFLINE" }.to_owned(),
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
        let count = if scheduler.is(Fault::LosesDates) { dates.len() - 1 } else { dates.len() };
        let key = Some(request.key.clone());
        for &date in &dates[..count] {
            scheduler.begin(&code, key.clone(), "backfill", Some(date), Vec::new());
        }
        let trigger = format!("b-{}", request.key);
        Ok(BackfillStarted { trigger, instances: Vec::new(), found: false, notes: Vec::new() })
    }

    async fn find_backfill(
        &self,
        _workflow: &WorkflowRef,
        key: &str,
        _asked: i64,
    ) -> Answer<Option<BackfillStarted>> {
        let scheduler = self.scheduler(1);
        let is_there = scheduler.runs.iter().any(|run| run.key.as_deref() == Some(key));
        let found = BackfillStarted {
            trigger: format!("b-{key}"),
            instances: Vec::new(),
            found: true,
            notes: Vec::new(),
        };
        Ok(is_there.then_some(found))
    }
}
