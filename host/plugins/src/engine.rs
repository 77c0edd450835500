//! Calls of an engine, typed. What the host asks of engines grows with the rooms that ask it.

use std::sync::Arc;

use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::deploys::TestReport;
use lakeport_bindings::engine::model::Workflow;
use lakeport_bindings::host::types::Problem;
use wasmtime::Store;

use crate::call::{CallContext, CallError};
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

/// Makes a call on a fresh instance with one of the engine's exported interfaces.
macro_rules! call {
    ($self:ident, $context:expr, $function:literal, ($($moved:ident),*), $interface:ident, |$guest:ident, $store:ident| $body:expr) => {{
        $(let $moved = $moved.to_owned();)*
        $self
            .registry
            .call(&$self.id, $function, $context, move |generation: Arc<Generation>| {
                move |$store: &mut Store<CallState>| -> futures_util::future::BoxFuture<'_, wasmtime::Result<_>> {
                    Box::pin(async move {
                        let Prepared::Engine(engine) = &generation.prepared else {
                            wasmtime::bail!("{} is no engine", generation.id);
                        };
                        let instance = engine.pre.instantiate_async(&mut *$store).await?;
                        let $guest = engine.$interface.load(&mut *$store, &instance)?;
                        $body.await
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

impl Engine {
    /// What the active generation says of itself.
    pub fn info(&self) -> Result<Arc<EngineInfo>, CallError> {
        let view = self.registry.view(&self.id);
        match view.as_ref().and_then(|view| view.active.as_ref()).map(|active| &active.description) {
            Some(Description::Engine(info)) => Ok(Arc::new((**info).clone())),
            _ => Err(CallError::NotActive(format!("no generation of the plugin {} is active", self.id))),
        }
    }

    /// `deploys.test`.
    pub async fn test(&self, context: CallContext) -> Result<TestReport, CallError> {
        answered(call!(self, context, "deploys.test", (), deploys, |guest, store| guest.call_test(store)))
    }

    /// `deploys.check`.
    pub async fn check(&self, context: CallContext, workflow: &Workflow) -> Result<Vec<Problem>, CallError> {
        call!(self, context, "deploys.check", (workflow), deploys, |guest, store| guest
            .call_check(store, &workflow))
    }
}
