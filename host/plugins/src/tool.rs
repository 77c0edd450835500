//! Calls of a tool, typed.

use std::sync::Arc;

use lakeport_bindings::tool::tool::{Context, Outcome};
use wasmtime::Store;

use crate::call::{CallContext, CallError};
use crate::dialect::answered;
use crate::family::{Family, PluginId};
use crate::generation::Generation;
use crate::prepared::Prepared;
use crate::registry::Registry;
use crate::state::CallState;

/// A tool by name: whichever of its generations is active answers.
#[derive(Clone)]
pub struct Tool {
    registry: Arc<Registry>,
    id: PluginId,
}

impl Registry {
    /// The tool of this name, whether or not it is there now.
    pub fn tool(self: &Arc<Self>, name: &str) -> Tool {
        Tool { registry: self.clone(), id: PluginId { family: Family::Tool, name: name.to_owned() } }
    }
}

impl Tool {
    /// `tool.call`. The input is a JSON object that fits the tool's schema.
    pub async fn call(
        &self,
        context: CallContext,
        input: &str,
        about: &Context,
    ) -> Result<Outcome, CallError> {
        let (input, about) = (input.to_owned(), about.clone());
        let answer = self.registry.call(&self.id, "tool.call", context, move |generation: Arc<Generation>| {
            move |store: &mut Store<CallState>| -> futures_util::future::BoxFuture<'_, wasmtime::Result<_>> {
                Box::pin(async move {
                    let Prepared::Tool(pre) = &generation.prepared else {
                        wasmtime::bail!("{} is no tool", generation.id);
                    };
                    let plugin = pre.instantiate_async(&mut *store).await?;
                    plugin.lakeport_tool_tool().call_call(store, &input, &about).await
                })
            }
        });
        answered(answer.await)
    }
}
