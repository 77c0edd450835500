//! What is checked: an engine that answers the functions of the contract.

use std::sync::Arc;

use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted};
use lakeport_bindings::engine::definitions::{Definition, DefinitionPage, DefinitionQuery, Source};
use lakeport_bindings::engine::deploys::{DeployRequest, TestReport};
use lakeport_bindings::engine::model::{
    Deployment, Instance, InstanceRef, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest,
    Schedule, Started, Target, TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::types::Problem;
use lakeport_plugins::engine::Engine;
use lakeport_plugins::{CallContext, CallError};

/// An engine with a configured instance. Each function is the contract's function of the same name.
#[expect(async_fn_in_trait, reason = "the kit drives one engine from one task")]
pub trait Subject {
    /// `about.describe`.
    fn info(&self) -> Result<Arc<EngineInfo>, CallError>;
    /// Whether it exports `schedules`, `pausing`, `backfills` or `definitions`.
    fn exports(&self, interface: &str) -> Result<bool, CallError>;

    /// `deploys.test`.
    async fn test(&self) -> Result<TestReport, CallError>;
    /// `deploys.check`.
    async fn check(&self, workflow: &Workflow) -> Result<Vec<Problem>, CallError>;
    /// `deploys.deploy`.
    async fn deploy(&self, request: &DeployRequest) -> Result<Deployment, CallError>;
    /// `deploys.status`.
    async fn status(&self, current: &WorkflowRef, revision: Option<&str>) -> Result<Deployment, CallError>;
    /// `deploys.remove`.
    async fn remove(&self, current: &WorkflowRef) -> Result<Deployment, CallError>;

    /// `runs.start`.
    async fn start(&self, request: &RunRequest) -> Result<Started, CallError>;
    /// `runs.find`.
    async fn find(&self, queries: &[RunQuery]) -> Result<Vec<Option<Instance>>, CallError>;
    /// `runs.cancel`.
    async fn cancel(&self, workflow: &WorkflowRef, target: &Target) -> Result<Receipt, CallError>;
    /// `runs.retry`.
    async fn retry(&self, request: &RetryRequest) -> Result<Started, CallError>;

    /// `watch.instances`.
    async fn instances(&self, request: &WatchRequest) -> Result<WatchPage, CallError>;
    /// `watch.task-runs`.
    async fn task_runs(&self, request: &TaskRunRequest) -> Result<TaskRunPage, CallError>;
    /// `watch.log`.
    async fn log(&self, request: &LogRequest) -> Result<LogPage, CallError>;

    /// `schedules.set`.
    async fn set_schedule(
        &self,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Deployment, CallError>;
    /// `schedules.online` and `schedules.offline`.
    async fn set_online(&self, workflow: &WorkflowRef, online: bool) -> Result<Deployment, CallError>;

    /// `pausing.pause` and `pausing.resume`.
    async fn set_paused(&self, instance: &InstanceRef, paused: bool) -> Result<Receipt, CallError>;

    /// `definitions.entries`.
    async fn definitions(&self, query: &DefinitionQuery) -> Result<DefinitionPage, CallError>;
    /// `definitions.read`.
    async fn definition(&self, source: &Source) -> Result<Definition, CallError>;

    /// `backfills.start`.
    async fn start_backfill(&self, request: &BackfillRequest) -> Result<BackfillStarted, CallError>;
    /// `backfills.find`.
    async fn find_backfill(
        &self,
        workflow: &WorkflowRef,
        key: &str,
        asked: i64,
    ) -> Result<Option<BackfillStarted>, CallError>;
}

/// An engine over WebAssembly, in the server's own plugin host.
pub struct Hosted<F> {
    engine: Engine,
    context: F,
}

impl<F: Fn() -> CallContext> Hosted<F> {
    /// `context` makes the context of each call: with the configured instance, and with what is lent to it.
    pub fn new(engine: Engine, context: F) -> Hosted<F> {
        Hosted { engine, context }
    }
}

impl<F: Fn() -> CallContext> Subject for Hosted<F> {
    fn info(&self) -> Result<Arc<EngineInfo>, CallError> {
        self.engine.info()
    }

    fn exports(&self, interface: &str) -> Result<bool, CallError> {
        match interface {
            "schedules" => self.engine.has_schedules(),
            "pausing" => self.engine.has_pausing(),
            "definitions" => self.engine.has_definitions(),
            "backfills" => self.engine.has_backfills(),
            _ => Ok(false),
        }
    }

    async fn test(&self) -> Result<TestReport, CallError> {
        self.engine.test((self.context)()).await
    }

    async fn check(&self, workflow: &Workflow) -> Result<Vec<Problem>, CallError> {
        self.engine.check((self.context)(), workflow).await
    }

    async fn deploy(&self, request: &DeployRequest) -> Result<Deployment, CallError> {
        self.engine.deploy((self.context)(), request).await
    }

    async fn status(&self, current: &WorkflowRef, revision: Option<&str>) -> Result<Deployment, CallError> {
        self.engine.status((self.context)(), current, revision).await
    }

    async fn remove(&self, current: &WorkflowRef) -> Result<Deployment, CallError> {
        self.engine.remove((self.context)(), current).await
    }

    async fn start(&self, request: &RunRequest) -> Result<Started, CallError> {
        self.engine.start((self.context)(), request).await
    }

    async fn find(&self, queries: &[RunQuery]) -> Result<Vec<Option<Instance>>, CallError> {
        self.engine.find((self.context)(), queries).await
    }

    async fn cancel(&self, workflow: &WorkflowRef, target: &Target) -> Result<Receipt, CallError> {
        self.engine.cancel((self.context)(), workflow, target).await
    }

    async fn retry(&self, request: &RetryRequest) -> Result<Started, CallError> {
        self.engine.retry((self.context)(), request).await
    }

    async fn instances(&self, request: &WatchRequest) -> Result<WatchPage, CallError> {
        self.engine.instances((self.context)(), request).await
    }

    async fn task_runs(&self, request: &TaskRunRequest) -> Result<TaskRunPage, CallError> {
        self.engine.task_runs((self.context)(), request).await
    }

    async fn log(&self, request: &LogRequest) -> Result<LogPage, CallError> {
        self.engine.log((self.context)(), request).await
    }

    async fn set_schedule(
        &self,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Deployment, CallError> {
        self.engine.set_schedule((self.context)(), workflow, schedule).await
    }

    async fn set_online(&self, workflow: &WorkflowRef, online: bool) -> Result<Deployment, CallError> {
        let context = (self.context)();
        if online {
            self.engine.online(context, workflow).await
        } else {
            self.engine.offline(context, workflow).await
        }
    }

    async fn set_paused(&self, instance: &InstanceRef, paused: bool) -> Result<Receipt, CallError> {
        self.engine.set_paused((self.context)(), instance, paused).await
    }

    async fn start_backfill(&self, request: &BackfillRequest) -> Result<BackfillStarted, CallError> {
        self.engine.start_backfill((self.context)(), request).await
    }

    async fn find_backfill(
        &self,
        workflow: &WorkflowRef,
        key: &str,
        asked: i64,
    ) -> Result<Option<BackfillStarted>, CallError> {
        self.engine.find_backfill((self.context)(), workflow, key, asked).await
    }

    async fn definitions(&self, query: &DefinitionQuery) -> Result<DefinitionPage, CallError> {
        self.engine.definitions((self.context)(), query).await
    }

    async fn definition(&self, source: &Source) -> Result<Definition, CallError> {
        self.engine.definition((self.context)(), source).await
    }
}
