//! Typed calls of an engine. Each call runs in a fresh instance under the plugin's limits. Some interfaces
//! are optional; ask first whether the engine exports them, as with [`Engine::has_schedules`].

use std::sync::Arc;

use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted};
use lakeport_bindings::engine::definitions::{Definition, DefinitionPage, DefinitionQuery, Source};
use lakeport_bindings::engine::deploys::{DeployRequest, TestReport};
use lakeport_bindings::engine::model::{
    Deployment, Instance, InstanceRef, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest,
    Schedule, Started, Target, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Problem;

use crate::call::{CallContext, CallError, CallFault};
use crate::dialect::answered;
use crate::family::{Family, PluginId};
use crate::prepared::Description;
use crate::registry::{Pinned, Registry};

/// An engine by name, for one task: the same generation describes itself and answers all calls.
#[derive(Clone)]
pub struct Engine(Pinned);

impl Registry {
    /// The engine of this name, whether it is installed or not. During a canary, tasks with equal keys get the
    /// same generation.
    pub fn engine(self: &Arc<Self>, name: &str, key: &str) -> Engine {
        Engine(Pinned::new(self, PluginId { family: Family::Engine, name: name.to_owned() }, key))
    }
}

/// Its description.
impl Engine {
    pub fn info(&self) -> Result<Arc<EngineInfo>, CallError> {
        match &self.0.generation()?.description {
            Description::Engine(info) => Ok(Arc::new((**info).clone())),
            _ => Err(CallError::NotActive(format!("the plugin {} is not an engine", self.0.id()))),
        }
    }

    /// The digest of its generation.
    pub fn digest(&self) -> Result<&str, CallError> {
        Ok(&self.0.generation()?.digest)
    }

    /// Whether the engine has a timer. For an engine without one the host fires schedules.
    pub fn has_schedules(&self) -> Result<bool, CallError> {
        Ok(self.0.generation()?.exports("schedules"))
    }

    /// Whether the engine can pause runs.
    pub fn has_pausing(&self) -> Result<bool, CallError> {
        Ok(self.0.generation()?.exports("pausing"))
    }

    /// Whether the engine makes backfills itself, where it is configured to.
    pub fn has_backfills(&self) -> Result<bool, CallError> {
        Ok(self.0.generation()?.exports("backfills"))
    }

    /// Whether definitions can be read from the engine.
    pub fn has_definitions(&self) -> Result<bool, CallError> {
        Ok(self.0.generation()?.exports("definitions"))
    }

    /// Counts an answer that the host rejected, logs the reason in the plugin's log, and returns the error of
    /// the call.
    pub fn broke(&self, function: &'static str, call: &str, message: String) -> CallError {
        self.0.broke(function, call, CallFault::Contract, message)
    }
}

/// `deploys`
impl Engine {
    pub async fn test(&self, context: CallContext) -> Result<TestReport, CallError> {
        answered(self.0.call(context, "deploys.test", ()).await)
    }

    pub async fn check(&self, context: CallContext, workflow: &Workflow) -> Result<Vec<Problem>, CallError> {
        self.0.call(context, "deploys.check", (workflow,)).await
    }

    pub async fn deploy(
        &self,
        context: CallContext,
        request: &DeployRequest,
    ) -> Result<Deployment, CallError> {
        answered(self.0.call(context, "deploys.deploy", (request,)).await)
    }

    pub async fn status(
        &self,
        context: CallContext,
        current: &WorkflowRef,
        revision: Option<&str>,
    ) -> Result<Deployment, CallError> {
        answered(self.0.call(context, "deploys.status", (current, revision)).await)
    }

    pub async fn remove(&self, context: CallContext, current: &WorkflowRef) -> Result<Deployment, CallError> {
        answered(self.0.call(context, "deploys.remove", (current,)).await)
    }
}

/// `runs`
impl Engine {
    pub async fn start(&self, context: CallContext, request: &RunRequest) -> Result<Started, CallError> {
        answered(self.0.call(context, "runs.start", (request,)).await)
    }

    /// One answer per query, in the same order.
    pub async fn find(
        &self,
        context: CallContext,
        queries: &[RunQuery],
    ) -> Result<Vec<Option<Instance>>, CallError> {
        let call = context.id.clone();
        let answer = answered(self.0.call(context, "runs.find", (queries,)).await)?;
        self.0.as_many_as_asked("runs.find", &call, queries.len(), answer)
    }

    pub async fn cancel(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
        target: &Target,
    ) -> Result<Receipt, CallError> {
        answered(self.0.call(context, "runs.cancel", (workflow, target)).await)
    }

    pub async fn retry(&self, context: CallContext, request: &RetryRequest) -> Result<Started, CallError> {
        answered(self.0.call(context, "runs.retry", (request,)).await)
    }
}

/// `watch`
impl Engine {
    pub async fn instances(
        &self,
        context: CallContext,
        request: &WatchRequest,
    ) -> Result<WatchPage, CallError> {
        answered(self.0.call(context, "watch.instances", (request,)).await)
    }

    pub async fn task_runs(
        &self,
        context: CallContext,
        request: &TaskRunRequest,
    ) -> Result<TaskRunPage, CallError> {
        answered(self.0.call(context, "watch.task-runs", (request,)).await)
    }

    pub async fn log(&self, context: CallContext, request: &LogRequest) -> Result<LogPage, CallError> {
        answered(self.0.call(context, "watch.log", (request,)).await)
    }
}

/// `schedules`, where it is exported.
impl Engine {
    pub async fn set_schedule(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Deployment, CallError> {
        self.require_schedules()?;
        answered(self.0.call(context, "schedules.set", (workflow, schedule)).await)
    }

    pub async fn online(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
    ) -> Result<Deployment, CallError> {
        self.require_schedules()?;
        answered(self.0.call(context, "schedules.online", (workflow,)).await)
    }

    pub async fn offline(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
    ) -> Result<Deployment, CallError> {
        self.require_schedules()?;
        answered(self.0.call(context, "schedules.offline", (workflow,)).await)
    }

    /// A missing capability is not a failure of the engine.
    fn require_schedules(&self) -> Result<(), CallError> {
        if self.has_schedules()? {
            return Ok(());
        }
        let message = format!("the {} has no timer", self.0.id());
        Err(CallError::Answered(error("unsupported", message)))
    }
}

/// `pausing`, where it is exported.
impl Engine {
    /// Pauses a run, or lets it go on.
    pub async fn set_paused(
        &self,
        context: CallContext,
        instance: &InstanceRef,
        paused: bool,
    ) -> Result<Receipt, CallError> {
        if !self.has_pausing()? {
            let message = format!("the {} cannot pause runs", self.0.id());
            return Err(CallError::Answered(error("unsupported", message)));
        }
        let function = if paused { "pausing.pause" } else { "pausing.resume" };
        answered(self.0.call(context, function, (instance,)).await)
    }
}

/// `backfills`, where it is exported.
impl Engine {
    pub async fn start_backfill(
        &self,
        context: CallContext,
        request: &BackfillRequest,
    ) -> Result<BackfillStarted, CallError> {
        self.require_backfills()?;
        answered(self.0.call(context, "backfills.start", (request,)).await)
    }

    pub async fn find_backfill(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
        key: &str,
        asked_ms: i64,
    ) -> Result<Option<BackfillStarted>, CallError> {
        self.require_backfills()?;
        answered(self.0.call(context, "backfills.find", (workflow, key, asked_ms)).await)
    }

    fn require_backfills(&self) -> Result<(), CallError> {
        if self.has_backfills()? {
            return Ok(());
        }
        let message = format!("the {} makes no backfills itself", self.0.id());
        Err(CallError::Answered(error("unsupported", message)))
    }
}

/// `definitions`, where it is exported.
impl Engine {
    pub async fn definitions(
        &self,
        context: CallContext,
        query: &DefinitionQuery,
    ) -> Result<DefinitionPage, CallError> {
        self.require_definitions()?;
        answered(self.0.call(context, "definitions.entries", (query,)).await)
    }

    pub async fn definition(&self, context: CallContext, source: &Source) -> Result<Definition, CallError> {
        self.require_definitions()?;
        answered(self.0.call(context, "definitions.read", (source,)).await)
    }

    fn require_definitions(&self) -> Result<(), CallError> {
        if self.has_definitions()? {
            return Ok(());
        }
        let message = format!("the {} gives no definitions", self.0.id());
        Err(CallError::Answered(error("unsupported", message)))
    }
}
