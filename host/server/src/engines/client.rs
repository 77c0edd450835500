//! Calls an engine: each call has the instance's settings, lends the embedded scheduler to the bundled plugin
//! only, and maps failures to the host's errors.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::definitions::{Definition, DefinitionPage, DefinitionQuery, Source};
use lakeport_bindings::engine::deploys::{DeployRequest, Deployment, TestReport};
use lakeport_bindings::engine::model::{
    Instance, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest, Schedule, Started, Target,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::types::Problem;
use lakeport_plugins::engine::Engine;
use lakeport_plugins::{
    CallContext, CallError, CallFault, EmbeddedScheduler, InstanceConfig, Memo, Registry,
};
use parking_lot::Mutex;

use super::store::EngineRecord;
use crate::engines::Engines;
use crate::plugins::engine_failed;

/// The longest name of a call, by the plugin host.
const CALL_MAX_BYTES: usize = 64;

/// An engine, ready for calls.
pub struct EngineClient {
    registry: Arc<Registry>,
    plugin: String,
    /// The plugin for each workflow, and for the engine itself: each stays with one generation.
    engines: Mutex<HashMap<Option<u64>, Engine>>,
    instance: Arc<InstanceConfig>,
    scheduler: Arc<dyn EmbeddedScheduler>,
    /// Identifies its calls in logs.
    call: Arc<str>,
}

impl EngineClient {
    /// Makes no call yet. `call_id` identifies the calls in logs; it is printable ASCII.
    pub fn of(state: &Engines, record: &EngineRecord, call_id: &str) -> EngineClient {
        let instance = InstanceConfig {
            name: record.name.clone(),
            settings: serde_json::from_str(&record.config).unwrap_or_default(),
            auth_recipe: None,
            time_zone: state.config.time_zone,
            memo: Memo::default(),
        };
        EngineClient {
            registry: Arc::clone(state.plugins.registry()),
            plugin: record.plugin.clone(),
            engines: Mutex::default(),
            instance: Arc::new(instance),
            scheduler: Arc::clone(&state.scheduler),
            call: call_id.get(..CALL_MAX_BYTES).unwrap_or(call_id).into(),
        }
    }

    /// Its description, as the calls for this workflow, or for the engine itself, find it.
    pub async fn info(&self, workflow_id: Option<u64>) -> Result<Arc<EngineInfo>, Error> {
        self.engine(workflow_id).info().map_err(engine_failed)
    }

    /// Whether it has a timer for this workflow.
    pub fn has_schedules(&self, workflow_id: u64) -> Result<bool, Error> {
        self.engine(Some(workflow_id)).has_schedules().map_err(engine_failed)
    }

    pub async fn test(&self) -> Result<TestReport, Error> {
        self.engine(None).test(self.context()).await.map_err(engine_failed)
    }

    pub async fn check(&self, workflow: &Workflow) -> Result<Vec<Problem>, Error> {
        self.engine(Some(workflow.id)).check(self.context(), workflow).await.map_err(engine_failed)
    }

    pub async fn deploy(&self, request: &DeployRequest) -> Result<Deployment, Error> {
        self.engine(Some(request.workflow.id)).deploy(self.context(), request).await.map_err(engine_failed)
    }

    pub async fn status(&self, current: &WorkflowRef, revision: &str) -> Result<Deployment, Error> {
        self.engine(Some(current.id)).status(self.context(), current, revision).await.map_err(engine_failed)
    }

    pub async fn remove(&self, current: &WorkflowRef) -> Result<Receipt, Error> {
        self.engine(Some(current.id)).remove(self.context(), current).await.map_err(engine_failed)
    }

    /// Starts a run. If the outcome is unknown, looks for the run before it fails.
    pub async fn start(&self, request: &RunRequest, asked_at_ms: i64) -> Result<Started, Unstarted> {
        let engine = self.engine(Some(request.workflow.id));
        let error = match engine.start(self.context(), request).await {
            Ok(started) => return Ok(started),
            Err(error) if may_have_applied(&error) => error,
            Err(error) => return Err(Unstarted::Refused(engine_failed(error))),
        };
        let query = RunQuery {
            workflow: request.workflow.clone(),
            key: request.key.clone(),
            trigger: None,
            asked: asked_at_ms,
        };
        match self.find(&[query]).await.map(|mut found| found.pop().flatten()) {
            Ok(Some(instance)) => {
                let trigger = instance.trigger.unwrap_or_else(|| instance.id.clone());
                Ok(Started { instance: Some(instance.id), trigger, found: true })
            }
            Ok(None) | Err(_) => Err(Unstarted::Open(engine_failed(error))),
        }
    }

    /// Runs by key or trigger code, in the requested order.
    pub async fn find(&self, queries: &[RunQuery]) -> Result<Vec<Option<Instance>>, Error> {
        self.engine(None).find(self.context(), queries).await.map_err(engine_failed)
    }

    pub async fn cancel(&self, workflow: &WorkflowRef, target: &Target) -> Result<Receipt, Error> {
        self.engine(Some(workflow.id)).cancel(self.context(), workflow, target).await.map_err(engine_failed)
    }

    /// Repeats a finished run; `None` if the engine no longer knows it.
    pub async fn retry(&self, request: &RetryRequest) -> Result<Option<Started>, Error> {
        let engine = self.engine(Some(request.instance.workflow.id));
        match engine.retry(self.context(), request).await {
            Ok(started) => Ok(Some(started)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(error) => Err(engine_failed(error)),
        }
    }

    /// Sets or removes the schedule of a deployed workflow.
    pub async fn set_schedule(
        &self,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Receipt, Error> {
        self.engine(Some(workflow.id))
            .set_schedule(self.context(), workflow, schedule)
            .await
            .map_err(engine_failed)
    }

    pub async fn online(&self, workflow: &WorkflowRef) -> Result<Receipt, Error> {
        self.engine(Some(workflow.id)).online(self.context(), workflow).await.map_err(engine_failed)
    }

    pub async fn offline(&self, workflow: &WorkflowRef) -> Result<Receipt, Error> {
        self.engine(Some(workflow.id)).offline(self.context(), workflow).await.map_err(engine_failed)
    }

    /// Whether definitions can be read from it.
    pub fn has_definitions(&self) -> Result<bool, Error> {
        self.engine(None).has_definitions().map_err(engine_failed)
    }

    pub async fn definitions(&self, query: &DefinitionQuery) -> Result<DefinitionPage, Error> {
        self.engine(None).definitions(self.context(), query).await.map_err(engine_failed)
    }

    /// One definition; `None` if the engine does not have it.
    pub async fn definition(&self, source: &Source) -> Result<Option<Definition>, Error> {
        match self.engine(None).definition(self.context(), source).await {
            Ok(definition) => Ok(Some(definition)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(error) => Err(engine_failed(error)),
        }
    }

    pub async fn instances(&self, request: &WatchRequest) -> Result<WatchPage, Error> {
        self.engine(None).instances(self.context(), request).await.map_err(engine_failed)
    }

    pub async fn task_runs(&self, request: &TaskRunRequest) -> Result<TaskRunPage, Error> {
        self.engine(None).task_runs(self.context(), request).await.map_err(engine_failed)
    }

    /// A part of a log; `None` if the log no longer exists. 400 if the cursor is not one of the engine's.
    pub async fn log(&self, request: &LogRequest) -> Result<Option<LogPage>, Error> {
        let engine = self.engine(Some(request.instance.workflow.id));
        match engine.log(self.context(), request).await {
            Ok(page) => Ok(Some(page)),
            Err(CallError::Answered(error)) if error.code == "not_found" => Ok(None),
            Err(CallError::Answered(error)) if error.code == "invalid_input" => {
                Err(Error::invalid(vec![Detail::new("logOffset", error.message)]))
            }
            Err(error) => Err(engine_failed(error)),
        }
    }

    /// An answer, about this workflow or about the engine, that breaks the contract: it counts against the
    /// plugin.
    pub fn broke(&self, function: &'static str, workflow_id: Option<u64>, message: String) -> Error {
        engine_failed(self.engine(workflow_id).broke(function, &self.call, message))
    }

    /// The plugin for a workflow, or for the engine itself. A canary takes its share of workflows.
    fn engine(&self, workflow_id: Option<u64>) -> Engine {
        let key = || match workflow_id {
            Some(id) => format!("workflow/{id}"),
            None => format!("engine/{}", self.instance.name),
        };
        let mut engines = self.engines.lock();
        engines.entry(workflow_id).or_insert_with(|| self.registry.engine(&self.plugin, &key())).clone()
    }

    fn context(&self) -> CallContext {
        CallContext {
            instance: Some(Arc::clone(&self.instance)),
            scheduler: Some(Arc::clone(&self.scheduler)),
            ..CallContext::new(Arc::clone(&self.call))
        }
    }
}

/// Why a run was not started.
#[derive(Debug)]
pub enum Unstarted {
    /// It was certainly not started.
    Refused(Error),
    /// It may have been started; look for it later.
    Open(Error),
}

/// Whether the failed call may have changed something.
fn may_have_applied(error: &CallError) -> bool {
    match error {
        CallError::Answered(error) => error.may_have_applied,
        CallError::Failed { fault, .. } => *fault != CallFault::Busy,
        CallError::Quarantined { .. } | CallError::NotActive(_) => false,
    }
}
