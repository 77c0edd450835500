//! Calls of an engine, typed. Each is one call of its own: a fresh instance, the plugin's limits. What only
//! some engines export is asked for first: [`Engine::has_schedules`].

use std::sync::Arc;

use futures_util::future::BoxFuture;
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::deploys::{DeployRequest, Deployment, TestReport};
use lakeport_bindings::engine::model::{
    Instance, LogPage, LogRequest, Receipt, RetryRequest, RunQuery, RunRequest, Schedule, Started, Target,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow, WorkflowRef,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Problem;
use wasmtime::Store;

use crate::call::{CallContext, CallError, CallFault};
use crate::dialect::answered;
use crate::family::{Family, PluginId};
use crate::generation::Generation;
use crate::prepared::{Description, Prepared};
use crate::registry::Registry;
use crate::state::CallState;

/// An engine by name: whichever of its generations is active answers.
#[derive(Clone)]
pub struct Engine {
    registry: Arc<Registry>,
    id: PluginId,
}

/// Makes a call on a fresh instance: `call!(self, context, "runs.start", (request), runs.call_start(&request))`,
/// with what stands in brackets moved into it. Where the interface is one that not every engine exports, its
/// name is followed by `?`.
macro_rules! call {
    ($self:ident, $context:expr, $function:literal, ($($moved:ident),*),
     $interface:ident.$called:ident($($argument:expr),*)) => {
        call!(@ $self, $context, $function, ($($moved),*), $called($($argument),*), |engine| &engine.$interface)
    };
    ($self:ident, $context:expr, $function:literal, ($($moved:ident),*),
     $interface:ident?.$called:ident($($argument:expr),*)) => {
        call!(@ $self, $context, $function, ($($moved),*), $called($($argument),*), |engine| {
            let missing = concat!("the engine does not export ", stringify!($interface));
            engine.$interface.as_ref().ok_or_else(|| wasmtime::Error::msg(missing))?
        })
    };
    (@ $self:ident, $context:expr, $function:literal, ($($moved:ident),*), $called:ident($($argument:expr),*),
     |$engine:ident| $guest:expr) => {{
        $(let $moved = $moved.to_owned();)*
        $self
            .registry
            .call(&$self.id, $function, $context, move |generation: Arc<Generation>| {
                move |store: &mut Store<CallState>| -> BoxFuture<'_, wasmtime::Result<_>> {
                    Box::pin(async move {
                        let Prepared::Engine($engine) = &generation.prepared else {
                            wasmtime::bail!("{} is no engine", generation.id);
                        };
                        let instance = $engine.pre.instantiate_async(&mut *store).await?;
                        let guest = $guest.load(&mut *store, &instance)?;
                        guest.$called(store, $($argument),*).await
                    })
                }
            })
            .await
    }};
}

impl Registry {
    /// The engine of this name, whether or not it is there now.
    pub fn engine(self: &Arc<Self>, name: &str) -> Engine {
        Engine { registry: self.clone(), id: PluginId { family: Family::Engine, name: name.to_owned() } }
    }
}

/// What the active generation says of itself.
impl Engine {
    pub fn info(&self) -> Result<Arc<EngineInfo>, CallError> {
        match &self.active()?.description {
            Description::Engine(info) => Ok(Arc::new((**info).clone())),
            _ => Err(self.not_active()),
        }
    }

    /// Whether it has a timer of its own. For an engine without one the host keeps the time.
    pub fn has_schedules(&self) -> Result<bool, CallError> {
        match &self.active()?.prepared {
            Prepared::Engine(engine) => Ok(engine.schedules.is_some()),
            _ => Err(self.not_active()),
        }
    }

    /// Counts an answer of the active generation that the host refused, and keeps the reason in its log.
    pub fn blame(&self, call: &str, reason: &str) {
        self.registry.blame(&self.id, call, reason);
    }

    fn active(&self) -> Result<Arc<Generation>, CallError> {
        let view = self.registry.view(&self.id);
        view.and_then(|view| view.active.clone()).ok_or_else(|| self.not_active())
    }

    fn not_active(&self) -> CallError {
        CallError::NotActive(format!("no generation of the plugin {} is active", self.id))
    }

    /// An answer for each that was asked about, or the contract is broken.
    fn as_many_as_asked<T>(
        &self,
        function: &'static str,
        asked: usize,
        answer: Vec<T>,
    ) -> Result<Vec<T>, CallError> {
        if answer.len() == asked {
            return Ok(answer);
        }
        Err(CallError::Failed {
            plugin: self.id.to_string(),
            function,
            fault: CallFault::Contract,
            message: format!("it was asked about {asked} runs and answered about {}", answer.len()),
        })
    }
}

/// `deploys`
impl Engine {
    pub async fn test(&self, context: CallContext) -> Result<TestReport, CallError> {
        answered(call!(self, context, "deploys.test", (), deploys.call_test()))
    }

    pub async fn check(&self, context: CallContext, workflow: &Workflow) -> Result<Vec<Problem>, CallError> {
        call!(self, context, "deploys.check", (workflow), deploys.call_check(&workflow))
    }

    pub async fn deploy(
        &self,
        context: CallContext,
        request: &DeployRequest,
    ) -> Result<Deployment, CallError> {
        answered(call!(self, context, "deploys.deploy", (request), deploys.call_deploy(&request)))
    }

    pub async fn status(
        &self,
        context: CallContext,
        current: &WorkflowRef,
        revision: &str,
    ) -> Result<Deployment, CallError> {
        answered(call!(
            self,
            context,
            "deploys.status",
            (current, revision),
            deploys.call_status(&current, &revision)
        ))
    }

    pub async fn remove(&self, context: CallContext, current: &WorkflowRef) -> Result<Receipt, CallError> {
        answered(call!(self, context, "deploys.remove", (current), deploys.call_remove(&current)))
    }
}

/// `runs`
impl Engine {
    pub async fn start(&self, context: CallContext, request: &RunRequest) -> Result<Started, CallError> {
        answered(call!(self, context, "runs.start", (request), runs.call_start(&request)))
    }

    /// As many answers as queries, in their order.
    pub async fn find(
        &self,
        context: CallContext,
        queries: &[RunQuery],
    ) -> Result<Vec<Option<Instance>>, CallError> {
        let asked = queries.len();
        let answer = answered(call!(self, context, "runs.find", (queries), runs.call_find(&queries)))?;
        self.as_many_as_asked("runs.find", asked, answer)
    }

    pub async fn cancel(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
        target: &Target,
    ) -> Result<Receipt, CallError> {
        let called =
            call!(self, context, "runs.cancel", (workflow, target), runs.call_cancel(&workflow, &target));
        answered(called)
    }

    pub async fn retry(&self, context: CallContext, request: &RetryRequest) -> Result<Started, CallError> {
        answered(call!(self, context, "runs.retry", (request), runs.call_retry(&request)))
    }
}

/// `watch`
impl Engine {
    pub async fn instances(
        &self,
        context: CallContext,
        request: &WatchRequest,
    ) -> Result<WatchPage, CallError> {
        answered(call!(self, context, "watch.instances", (request), watch.call_instances(&request)))
    }

    pub async fn task_runs(
        &self,
        context: CallContext,
        request: &TaskRunRequest,
    ) -> Result<TaskRunPage, CallError> {
        answered(call!(self, context, "watch.task-runs", (request), watch.call_task_runs(&request)))
    }

    pub async fn log(&self, context: CallContext, request: &LogRequest) -> Result<LogPage, CallError> {
        answered(call!(self, context, "watch.log", (request), watch.call_log(&request)))
    }
}

/// `schedules`, where it is exported.
impl Engine {
    pub async fn set_schedule(
        &self,
        context: CallContext,
        workflow: &WorkflowRef,
        schedule: Option<&Schedule>,
    ) -> Result<Receipt, CallError> {
        self.require_schedules()?;
        let schedule = schedule.cloned();
        answered(call!(
            self,
            context,
            "schedules.set",
            (workflow),
            schedules?.call_set(&workflow, schedule.as_ref())
        ))
    }

    pub async fn online(&self, context: CallContext, workflow: &WorkflowRef) -> Result<Receipt, CallError> {
        self.require_schedules()?;
        answered(call!(self, context, "schedules.online", (workflow), schedules?.call_online(&workflow)))
    }

    pub async fn offline(&self, context: CallContext, workflow: &WorkflowRef) -> Result<Receipt, CallError> {
        self.require_schedules()?;
        answered(call!(self, context, "schedules.offline", (workflow), schedules?.call_offline(&workflow)))
    }

    /// What the engine cannot do is no failure of its own.
    fn require_schedules(&self) -> Result<(), CallError> {
        if self.has_schedules()? {
            return Ok(());
        }
        let message = format!("the {} has no timer of its own", self.id);
        Err(CallError::Answered(error("unsupported", message)))
    }
}
