//! The generation that answers one task. It is chosen by the task's key at the first use and kept, so that
//! the description, the plan and its checks are of one generation, also while a canary takes its share and
//! when another generation is activated meanwhile.

use std::sync::{Arc, OnceLock};

use wasmtime::component::{ComponentNamedList, Lift, Lower};

use super::Registry;
use crate::call::{CallContext, CallError, CallFault};
use crate::family::PluginId;
use crate::generation::Generation;

/// A plugin, installed or not, for one task. Clones share the generation.
#[derive(Clone)]
pub(crate) struct Pinned {
    registry: Arc<Registry>,
    id: PluginId,
    key: Arc<str>,
    generation: Arc<OnceLock<Arc<Generation>>>,
}

impl Pinned {
    /// Calls with equal keys, of one data source or workflow, go to the same generation of a canary.
    pub fn new(registry: &Arc<Registry>, id: PluginId, key: &str) -> Self {
        Pinned { registry: registry.clone(), id, key: key.into(), generation: Arc::default() }
    }

    pub fn id(&self) -> &PluginId {
        &self.id
    }

    /// The generation, in quarantine or not.
    pub fn generation(&self) -> Result<&Arc<Generation>, CallError> {
        if let Some(generation) = self.generation.get() {
            return Ok(generation);
        }
        let chosen = self.registry.answering_for(&self.id, &self.key)?;
        Ok(self.generation.get_or_init(|| chosen))
    }

    /// Calls a function. Nothing in quarantine is called.
    pub async fn call<Params, Answer>(
        &self,
        context: CallContext,
        function: &'static str,
        params: Params,
    ) -> Result<Answer, CallError>
    where
        Params: ComponentNamedList + Lower,
        Answer: Lift + 'static,
    {
        self.registry.check_in_service(&self.id)?;
        self.registry.call(self.generation()?, function, context, params).await
    }

    /// Counts an answer that broke the contract, logs the reason in the plugin's log, and returns the error of
    /// the call.
    pub fn broke(
        &self,
        function: &'static str,
        call: &str,
        fault: CallFault,
        message: impl Into<String>,
    ) -> CallError {
        let message = message.into();
        self.blame(function, call, &message);
        CallError::Failed { plugin: self.id.to_string(), function, fault, message }
    }

    /// Counts an answer that broke the contract, and logs the reason in the plugin's log.
    pub fn blame(&self, function: &'static str, call: &str, reason: &str) {
        if let Some(generation) = self.generation.get() {
            self.registry.blame(generation, function, call, reason);
        }
    }

    /// Checks that there is one answer per question, as the contract requires.
    pub fn as_many_as_asked<T>(
        &self,
        function: &'static str,
        call: &str,
        asked: usize,
        answer: Vec<T>,
    ) -> Result<Vec<T>, CallError> {
        if answer.len() == asked {
            return Ok(answer);
        }
        let message = format!("it was asked {asked} questions and returned {} answers", answer.len());
        Err(self.broke(function, call, CallFault::Contract, message))
    }
}
