//! The engine `local` over a scheduler that only records its calls, through WebAssembly.

mod support;

use std::sync::Arc;

use futures_util::FutureExt as _;
use lakeport_bindings::engine::deploys::DeployRequest;
use lakeport_bindings::engine::model::{
    Instance, InstanceRef, LogPage, LogRequest, RetryRequest, RunQuery, RunRequest, Schedule, Started,
    Target, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Watched, Workflow, WorkflowRef,
};
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::runner::WorkflowPage;
use lakeport_plugins::engine::Engine;
use lakeport_plugins::{Answer, CallContext, CallError, EmbeddedScheduler, Origin};
use parking_lot::Mutex;

/// Records each call and answers that all is well.
#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn say<T: Send + 'static>(&self, what: String, answer: T) -> Answer<'_, T> {
        async move {
            self.0.lock().push(what);
            // A real scheduler waits, too.
            tokio::task::yield_now().await;
            Ok(answer)
        }
        .boxed()
    }

    fn taken(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock())
    }
}

fn instance(id: &str) -> Instance {
    Instance {
        id: id.to_owned(),
        workflow: 7,
        key: None,
        trigger: None,
        cause: "schedule".to_owned(),
        business_time: Some(5),
        state: "running".to_owned(),
        engine_state: "RUNNING".to_owned(),
        attempt: 1,
        started: Some(6),
        ended: None,
        message: None,
        extra: None,
    }
}

impl EmbeddedScheduler for Notes {
    fn put(&self, workflow: Workflow) -> Answer<'_, ()> {
        self.say(format!("put {} {}", workflow.id, workflow.revision), ())
    }

    fn remove(&self, workflow: u64) -> Answer<'_, ()> {
        self.say(format!("remove {workflow}"), ())
    }

    fn entries(&self, page: Page) -> Answer<'_, WorkflowPage> {
        self.say(format!("entries {}", page.limit), WorkflowPage { workflows: Vec::new(), next: None })
    }

    fn read(&self, workflow: u64) -> Answer<'_, Workflow> {
        let message = format!("the workflow {workflow} is not known");
        async move { Err(Error { code: "not_found".to_owned(), message, ..unavailable() }) }.boxed()
    }

    fn set_schedule(&self, workflow: u64, schedule: Option<Schedule>) -> Answer<'_, ()> {
        let cron = schedule.map_or("none".to_owned(), |schedule| schedule.cron);
        self.say(format!("schedule {workflow} {cron}"), ())
    }

    fn set_online(&self, workflow: u64, online: bool) -> Answer<'_, ()> {
        self.say(format!("online {workflow} {online}"), ())
    }

    fn start(&self, request: RunRequest) -> Answer<'_, Started> {
        let started = Started { instance: Some("r1".to_owned()), trigger: None, found: false };
        self.say(format!("start {} {}", request.workflow.id, request.key), started)
    }

    fn find(&self, queries: Vec<RunQuery>) -> Answer<'_, Vec<Option<Instance>>> {
        self.say(format!("find {}", queries.len()), vec![None])
    }

    fn cancel(&self, instance: InstanceRef) -> Answer<'_, ()> {
        self.say(format!("cancel {}", instance.id), ())
    }

    fn set_paused(&self, instance: InstanceRef, paused: bool) -> Answer<'_, ()> {
        self.say(format!("paused {} {paused}", instance.id), ())
    }

    fn retry(&self, request: RetryRequest) -> Answer<'_, Started> {
        let message = format!("the run {} is not known", request.instance.id);
        async move { Err(Error { code: "not_found".to_owned(), message, ..unavailable() }) }.boxed()
    }

    fn instances(&self, request: WatchRequest) -> Answer<'_, WatchPage> {
        let page = WatchPage {
            instances: vec![instance("r1")],
            gone: Vec::new(),
            cursor: "9".to_owned(),
            more: false,
            wait_ms: 0,
        };
        self.say(format!("instances {}", request.workflows.len()), page)
    }

    fn task_runs(&self, request: TaskRunRequest) -> Answer<'_, TaskRunPage> {
        let page = TaskRunPage { task_runs: Vec::new(), next: None };
        self.say(format!("task runs {}", request.instances.len()), page)
    }

    fn log(&self, request: LogRequest) -> Answer<'_, LogPage> {
        let page = LogPage { text: "done\n".to_owned(), next: "5".to_owned(), complete: true };
        self.say(format!("log {}", request.task_run), page)
    }
}

fn unavailable() -> Error {
    Error {
        code: "unavailable".to_owned(),
        message: String::new(),
        retryable: false,
        retry_after_ms: None,
        may_have_applied: false,
        upstream: None,
        context: Vec::new(),
    }
}

async fn local() -> (Engine, Arc<Notes>) {
    let registry = support::host();
    let staged = registry.stage(support::plugin("engine_local"), Origin::Bundled).await;
    let generation = staged.unwrap_or_else(|error| panic!("{error}")).generation;
    assert_eq!(generation.grants.needed, ["lakeport:runner/runner"]);
    registry.activate(&generation.id, &generation.digest, None).expect("it was just staged");
    (registry.engine("local", ""), Arc::new(Notes::default()))
}

fn lending(notes: &Arc<Notes>) -> CallContext {
    CallContext { scheduler: Some(notes.clone()), ..CallContext::new("test") }
}

fn reference() -> WorkflowRef {
    let (name, code) = ("daily".to_owned(), Some("7".to_owned()));
    WorkflowRef { id: 7, name, code, project: None, revision: Some("abc".to_owned()), state: None }
}

fn deployment(schedule: Option<Schedule>) -> DeployRequest {
    let workflow = Workflow {
        id: 7,
        name: "daily".to_owned(),
        description: String::new(),
        revision: "abc".to_owned(),
        version: 1,
        tasks: Vec::new(),
        edges: Vec::new(),
        params: Vec::new(),
        schedule,
        concurrency: "parallel".to_owned(),
        extra: None,
    };
    DeployRequest { workflow, current: reference(), online: true, extra: None }
}

fn daily() -> Schedule {
    Schedule {
        cron: "0 0 3 * * ? *".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        start: 0,
        end: None,
        failure_strategy: "CONTINUE".to_owned(),
        warning_type: "NONE".to_owned(),
        extra: None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_is_put_scheduled_and_switched_on() {
    let (engine, notes) = local().await;
    assert!(engine.has_schedules().unwrap());
    let info = engine.info().unwrap();
    assert_eq!((info.name.as_str(), info.deploy_kind.as_str()), ("local", "embedded"));
    let done = engine.deploy(lending(&notes), &deployment(Some(daily()))).await.unwrap();
    assert_eq!((done.phase.as_str(), done.code.as_deref()), ("done", Some("7")));
    assert_eq!(notes.taken(), ["put 7 abc", "schedule 7 0 0 3 * * ? *", "online 7 true"]);
    engine.deploy(lending(&notes), &deployment(None)).await.unwrap();
    assert_eq!(
        notes.taken(),
        ["put 7 abc", "schedule 7 none", "online 7 false"],
        "without a schedule nothing can be on"
    );
    engine.set_schedule(lending(&notes), &reference(), Some(&daily())).await.unwrap();
    engine.online(lending(&notes), &reference()).await.unwrap();
    engine.offline(lending(&notes), &reference()).await.unwrap();
    engine.remove(lending(&notes), &reference()).await.unwrap();
    assert_eq!(notes.taken(), ["schedule 7 0 0 3 * * ? *", "online 7 true", "online 7 false", "remove 7"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_started_watched_and_stopped() {
    let (engine, notes) = local().await;
    let request = RunRequest {
        workflow: reference(),
        key: "k1".to_owned(),
        cause: "manual".to_owned(),
        business_time: None,
        params: Vec::new(),
        failure_strategy: "CONTINUE".to_owned(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    };
    let started = engine.start(lending(&notes), &request).await.unwrap();
    assert_eq!(started.instance.as_deref(), Some("r1"));
    let daily = Watched { id: 7, code: Some("7".to_owned()), project: None };
    let watch = WatchRequest { workflows: vec![daily], open: Vec::new(), cursor: None, since: 0, limit: 10 };
    let seen = engine.instances(lending(&notes), &watch).await.unwrap();
    assert_eq!((seen.instances, seen.cursor.as_str()), (vec![instance("r1")], "9"));
    let this = InstanceRef { workflow: reference(), id: "r1".to_owned() };
    let tries = TaskRunRequest { instances: vec![this.clone()], cursor: None, limit: 10 };
    assert_eq!(engine.task_runs(lending(&notes), &tries).await.unwrap().task_runs, []);
    let part = LogRequest {
        instance: this.clone(),
        task_run: "t1".to_owned(),
        cursor: None,
        max_bytes: 100,
        ended: true,
    };
    assert_eq!(engine.log(lending(&notes), &part).await.unwrap().text, "done\n");
    let stopped = engine.cancel(lending(&notes), &reference(), &Target::Instance("r1".to_owned())).await;
    assert!(!stopped.unwrap().settled, "it stops soon");
    assert!(engine.has_pausing().unwrap());
    engine.set_paused(lending(&notes), &this, true).await.unwrap();
    engine.set_paused(lending(&notes), &this, false).await.unwrap();
    let expected = [
        "start 7 k1",
        "instances 1",
        "task runs 1",
        "log t1",
        "cancel r1",
        "paused r1 true",
        "paused r1 false",
    ];
    assert_eq!(notes.taken(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scheduler_refusals_and_bad_answers_are_reported() {
    let (engine, notes) = local().await;
    let this = InstanceRef { workflow: reference(), id: "r2".to_owned() };
    let retry = RetryRequest { instance: this, scope: "failed".to_owned(), key: "k2".to_owned() };
    let CallError::Answered(error) = engine.retry(lending(&notes), &retry).await.unwrap_err() else {
        panic!("the scheduler's own error")
    };
    assert_eq!((error.code.as_str(), error.message.as_str()), ("not_found", "the run r2 is not known"));
    let query = RunQuery { workflow: reference(), key: "k1".to_owned(), trigger: None, asked: 0 };
    assert_eq!(engine.find(lending(&notes), std::slice::from_ref(&query)).await.unwrap(), [None]);
    let error = engine.find(lending(&notes), &[query.clone(), query]).await.unwrap_err();
    support::failed_with(&error, lakeport_plugins::CallFault::Contract, "asked 2 questions");
    let backfill = Target::Backfill("b".to_owned());
    let error = engine.cancel(lending(&notes), &reference(), &backfill).await.unwrap_err();
    assert!(matches!(error, CallError::Answered(error) if error.code == "unsupported"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_lent_no_scheduler_finds_none() {
    let (engine, notes) = local().await;
    let CallError::Answered(error) = engine.remove(CallContext::new("test"), &reference()).await.unwrap_err()
    else {
        panic!("an error of the host's")
    };
    assert_eq!(error.code, "unavailable");
    let report = engine.test(CallContext::new("test")).await.unwrap();
    assert_eq!(report.checks[0].outcome, "failed");
    assert_eq!(engine.test(lending(&notes)).await.unwrap().checks[0].outcome, "ok");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_that_wants_the_scheduler_is_not_let_in() {
    let error = support::stage_error(&support::host(), support::plugin("engine_local")).await;
    let text = error.to_string();
    assert_eq!(error.code(), "import_refused");
    assert!(text.contains("lakeport:runner/runner@0.1.0"), "{text}");
    assert!(text.contains("only a component that came with the server may import it"), "{text}");
}
