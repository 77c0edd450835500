//! Calls an engine: each call has the instance's settings, lends the embedded scheduler to the bundled plugin
//! only, and maps failures to the host's errors.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted};
use lakeport_bindings::engine::definitions::{Definition, DefinitionPage, DefinitionQuery, Source};
use lakeport_bindings::engine::deploys::{DeployRequest, TestReport};
use lakeport_bindings::engine::model::{
    Deployment, Instance, InstanceRef, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest,
    Schedule, Started, Target, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::types::Problem;
use lakeport_egress::HttpClient;
use lakeport_plugins::engine::Engine;
use lakeport_plugins::{
    CallContext, CallError, CallFault, EmbeddedScheduler, InstanceConfig, Recording, Registry,
};
use parking_lot::Mutex;

use super::instance;
use super::memos::{OfConfiguration, Shared};
use super::store::EngineRecord;
use crate::core::Core;
use crate::engines::Engines;
use crate::plugins::engine_failed;

/// How long the calls of the functions may take, in seconds, and at most as long as the setting
/// `plugins.engine_timeout_ms`. Those of a request have less than its deadline.
const TEST_S: u64 = 20;
const CHECK_S: u64 = 5;
const DEPLOY_S: u64 = 60;
const STATUS_S: u64 = 20;
const REMOVE_S: u64 = 30;
const SCHEDULE_S: u64 = 20;
const START_S: u64 = 18;
const FIND_S: u64 = 15;
const CANCEL_S: u64 = 10;
const WATCH_S: u64 = 30;
const LOG_S: u64 = 15;
const DEFINITIONS_S: u64 = 25;
/// The longest name of a call, by the plugin host.
const CALL_MAX_BYTES: usize = 64;

/// An engine, ready for calls.
pub struct EngineClient {
    registry: Arc<Registry>,
    record: EngineRecord,
    /// The plugin for each workflow, and for the engine itself: each stays with one generation.
    engines: Mutex<HashMap<Option<u64>, Engine>>,
    memos: Arc<OfConfiguration>,
    core: Arc<Core>,
    http: HttpClient,
    scheduler: Arc<dyn EmbeddedScheduler>,
    /// Identifies its calls in logs.
    call: Arc<str>,
    recording: Option<Arc<Recording>>,
}

impl EngineClient {
    /// Makes no call yet. `call_id` identifies the calls in logs; it is printable ASCII.
    pub fn of(state: &Engines, record: &EngineRecord, call_id: &str) -> EngineClient {
        EngineClient {
            registry: Arc::clone(state.plugins.registry()),
            record: record.clone(),
            engines: Mutex::default(),
            memos: state.memos.of(record),
            core: Arc::clone(&state.core),
            http: state.http.clone(),
            scheduler: Arc::clone(&state.scheduler),
            call: call_id.get(..CALL_MAX_BYTES).unwrap_or(call_id).into(),
            recording: None,
        }
    }

    /// The name of its plugin.
    pub fn plugin(&self) -> &str {
        &self.record.plugin
    }

    /// The engine's name.
    pub fn name(&self) -> &str {
        &self.record.name
    }

    /// With the requests of its calls kept here.
    pub fn recorded_in(self, recording: &Arc<Recording>) -> EngineClient {
        EngineClient { recording: Some(Arc::clone(recording)), ..self }
    }

    /// With the generations of another client of the same plugin.
    pub fn pinned_like(self, other: &EngineClient) -> EngineClient {
        if self.record.plugin == other.record.plugin {
            let pinned = other.engines.lock().clone();
            *self.engines.lock() = pinned;
        }
        self
    }

    /// Its description, as the calls for this workflow, or for the engine itself, find it.
    pub async fn info(&self, workflow_id: Option<u64>) -> Result<Arc<EngineInfo>, Error> {
        self.engine(workflow_id).info().map_err(|error| self.failed(error))
    }

    /// Whether it has this feature of the contract for a workflow: its plugin has it, and it does not do without it.
    pub fn has_feature(&self, workflow_id: u64, feature: &str) -> Result<bool, Error> {
        let info = self.engine(Some(workflow_id)).info().map_err(|error| self.failed(error))?;
        let is_there = info.features.iter().any(|known| known == feature);
        Ok(is_there && !self.record.missing_features.iter().any(|missing| missing == feature))
    }

    /// Whether it has a timer for this workflow.
    pub fn has_schedules(&self, workflow_id: u64) -> Result<bool, Error> {
        self.engine(Some(workflow_id)).has_schedules().map_err(|error| self.failed(error))
    }

    pub async fn test(&self) -> Result<TestReport, Error> {
        let engine = self.engine(None);
        engine.test(self.context(&engine, TEST_S)?).await.map_err(|error| self.failed(error))
    }

    pub async fn check(&self, workflow: &Workflow) -> Result<Vec<Problem>, Error> {
        let engine = self.engine(Some(workflow.id));
        engine.check(self.context(&engine, CHECK_S)?, workflow).await.map_err(|error| self.failed(error))
    }

    pub async fn deploy(&self, request: &DeployRequest) -> Result<Deployment, Error> {
        let engine = self.engine(Some(request.workflow.id));
        engine.deploy(self.context(&engine, DEPLOY_S)?, request).await.map_err(|error| self.failed(error))
    }

    /// The progress of a change: of a deployment, by its revision, or of another.
    pub async fn status(&self, current: &WorkflowRef, revision: Option<&str>) -> Result<Deployment, Error> {
        let engine = self.engine(Some(current.id));
        engine
            .status(self.context(&engine, STATUS_S)?, current, revision)
            .await
            .map_err(|error| self.failed(error))
    }

    pub async fn remove(&self, current: &WorkflowRef) -> Result<Deployment, Failure> {
        let engine = self.engine(Some(current.id));
        engine.remove(self.context(&engine, REMOVE_S)?, current).await.map_err(|error| self.failure(error))
    }

    /// Starts a run. If the outcome is unknown, looks for the run before it fails.
    pub async fn start(&self, request: &RunRequest, asked_at_ms: i64) -> Result<Started, Failure> {
        let engine = self.engine(Some(request.workflow.id));
        let error = match engine.start(self.context(&engine, START_S)?, request).await {
            Ok(started) => return Ok(started),
            Err(error) if may_have_applied(&error) => error,
            Err(error) => return Err(Failure::Refused(self.failed(error))),
        };
        let query = RunQuery {
            workflow: request.workflow.clone(),
            key: request.key.clone(),
            trigger: None,
            asked: asked_at_ms,
        };
        match self.find(&[query]).await.map(|mut found| found.pop().flatten()) {
            Ok(Some(instance)) => {
                Ok(Started { instance: Some(instance.id), trigger: instance.trigger, found: true })
            }
            Ok(None) | Err(_) => Err(Failure::Open(self.failed(error))),
        }
    }

    /// Runs by key or trigger code, in the requested order.
    pub async fn find(&self, queries: &[RunQuery]) -> Result<Vec<Option<Instance>>, Error> {
        // About one workflow, the generation that started its runs looks for them.
        let id = queries.first().map(|query| query.workflow.id);
        let engine = self.engine(id.filter(|id| queries.iter().all(|query| query.workflow.id == *id)));
        engine.find(self.context(&engine, FIND_S)?, queries).await.map_err(|error| self.failed(error))
    }

    pub async fn cancel(&self, workflow: &WorkflowRef, target: &Target) -> Result<Receipt, Error> {
        let engine = self.engine(Some(workflow.id));
        engine
            .cancel(self.context(&engine, CANCEL_S)?, workflow, target)
            .await
            .map_err(|error| self.failed(error))
    }

    /// Repeats a finished run; `None` if the engine no longer knows it.
    pub async fn retry(&self, request: &RetryRequest) -> Result<Option<Started>, Failure> {
        let engine = self.engine(Some(request.instance.workflow.id));
        match engine.retry(self.context(&engine, START_S)?, request).await {
            Ok(started) => Ok(Some(started)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(error) => Err(self.failure(error)),
        }
    }

    /// Sets or removes the schedule of a deployed workflow.
    pub async fn set_schedule(
        &self,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Deployment, Failure> {
        let engine = self.engine(Some(workflow.id));
        engine
            .set_schedule(self.context(&engine, SCHEDULE_S)?, workflow, schedule)
            .await
            .map_err(|error| self.failure(error))
    }

    pub async fn online(&self, workflow: &WorkflowRef) -> Result<Deployment, Failure> {
        let engine = self.engine(Some(workflow.id));
        engine.online(self.context(&engine, SCHEDULE_S)?, workflow).await.map_err(|error| self.failure(error))
    }

    pub async fn offline(&self, workflow: &WorkflowRef) -> Result<Deployment, Failure> {
        let engine = self.engine(Some(workflow.id));
        engine
            .offline(self.context(&engine, SCHEDULE_S)?, workflow)
            .await
            .map_err(|error| self.failure(error))
    }

    /// Whether it may make backfills itself.
    pub fn has_backfills(&self, workflow_id: u64) -> Result<bool, Error> {
        self.engine(Some(workflow_id)).has_backfills().map_err(|error| self.failed(error))
    }

    pub async fn start_backfill(&self, request: &BackfillRequest) -> Result<BackfillStarted, Failure> {
        let engine = self.engine(Some(request.workflow.id));
        engine
            .start_backfill(self.context(&engine, START_S)?, request)
            .await
            .map_err(|error| self.failure(error))
    }

    /// One whose start was left open, by its key.
    pub async fn find_backfill(
        &self,
        workflow: &WorkflowRef,
        key: &str,
        asked_ms: i64,
    ) -> Result<Option<BackfillStarted>, Error> {
        let engine = self.engine(Some(workflow.id));
        engine
            .find_backfill(self.context(&engine, FIND_S)?, workflow, key, asked_ms)
            .await
            .map_err(|error| self.failed(error))
    }

    /// Pauses a run, or lets it go on.
    pub async fn set_paused(&self, instance: &InstanceRef, paused: bool) -> Result<Receipt, Error> {
        let engine = self.engine(Some(instance.workflow.id));
        engine
            .set_paused(self.context(&engine, CANCEL_S)?, instance, paused)
            .await
            .map_err(|error| self.failed(error))
    }

    /// Whether definitions can be read from it.
    pub fn has_definitions(&self) -> Result<bool, Error> {
        self.engine(None).has_definitions().map_err(|error| self.failed(error))
    }

    pub async fn definitions(&self, query: &DefinitionQuery) -> Result<DefinitionPage, Error> {
        let engine = self.engine(None);
        engine
            .definitions(self.context(&engine, DEFINITIONS_S)?, query)
            .await
            .map_err(|error| self.failed(error))
    }

    /// One definition; `None` if the engine does not have it.
    pub async fn definition(&self, source: &Source) -> Result<Option<Definition>, Error> {
        let engine = self.engine(None);
        match engine.definition(self.context(&engine, DEFINITIONS_S)?, source).await {
            Ok(definition) => Ok(Some(definition)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(error) => Err(self.failed(error)),
        }
    }

    pub async fn instances(&self, request: &WatchRequest) -> Result<WatchPage, Error> {
        let engine = self.engine(None);
        engine.instances(self.context(&engine, WATCH_S)?, request).await.map_err(|error| self.failed(error))
    }

    pub async fn task_runs(&self, request: &TaskRunRequest) -> Result<TaskRunPage, Error> {
        let engine = self.engine(None);
        engine.task_runs(self.context(&engine, WATCH_S)?, request).await.map_err(|error| self.failed(error))
    }

    /// A part of a log; `None` if the log no longer exists. 400 if the cursor is not one of the engine's.
    pub async fn log(&self, request: &LogRequest) -> Result<Option<LogPage>, Error> {
        let engine = self.engine(Some(request.instance.workflow.id));
        match engine.log(self.context(&engine, LOG_S)?, request).await {
            Ok(page) => Ok(Some(page)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(CallError::Answered(error)) if error.code == "invalid_input" => {
                Err(Error::invalid(vec![Detail::new("logOffset", error.message)]))
            }
            Err(error) => Err(self.failed(error)),
        }
    }

    /// An answer, about this workflow or about the engine, that breaks the contract: it counts against the
    /// plugin.
    pub fn broke(&self, function: &'static str, workflow_id: Option<u64>, message: String) -> Error {
        self.failed(self.engine(workflow_id).broke(function, &self.call, message))
    }

    /// The plugin for a workflow, or for the engine itself. A canary takes its share of workflows.
    fn engine(&self, workflow_id: Option<u64>) -> Engine {
        let key = || match workflow_id {
            Some(id) => format!("workflow/{id}"),
            None => format!("engine/{}", self.record.name),
        };
        let mut engines = self.engines.lock();
        engines
            .entry(workflow_id)
            .or_insert_with(|| self.registry.engine(&self.record.plugin, &key()))
            .clone()
    }

    /// The host's error, with the engine's name.
    fn failed(&self, error: CallError) -> Error {
        engine_failed(error).and_detail(Detail::new("engine", self.record.name.as_str()))
    }

    fn failure(&self, error: CallError) -> Failure {
        if may_have_applied(&error) {
            Failure::Open(self.failed(error))
        } else {
            Failure::Refused(self.failed(error))
        }
    }

    /// For a call of this function that may take so many seconds.
    fn context(&self, engine: &Engine, limit_s: u64) -> Result<CallContext, Error> {
        let info = engine.info().map_err(|error| self.failed(error))?;
        let digest = engine.digest().map_err(|error| self.failed(error))?;
        let http = || instance::http(&self.core.keys, &self.http, &self.record, &info);
        let Shared { memo, http } = self.memos.of_generation(digest, http)?;
        let instance = InstanceConfig {
            name: self.record.name.clone(),
            settings: instance::settings(&info, &self.record.config),
            auth_recipe: instance::recipe(&info, &self.record.secret_names).map(str::to_owned),
            time_zone: self.core.config.time_zone,
            memo,
            http,
        };
        Ok(CallContext {
            timeout: Some(Duration::from_secs(limit_s)),
            instance: Some(Arc::new(instance)),
            scheduler: Some(Arc::clone(&self.scheduler)),
            recording: self.recording.clone(),
            ..CallContext::new(Arc::clone(&self.call))
        })
    }
}

/// Why a change was not made.
#[derive(Debug)]
pub enum Failure {
    /// It was certainly not made.
    Refused(Error),
    /// It may have been made.
    Open(Error),
}

/// No call was made.
impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Refused(error)
    }
}

impl Failure {
    pub fn into_error(self) -> Error {
        match self {
            Failure::Refused(error) | Failure::Open(error) => error,
        }
    }
}

/// Whether the failed call may have changed something.
fn may_have_applied(error: &CallError) -> bool {
    match error {
        CallError::Answered(error) => error.may_have_applied,
        CallError::Failed { fault, .. } => *fault != CallFault::Busy,
        CallError::Quarantined { .. } | CallError::NotActive(_) => false,
    }
}
