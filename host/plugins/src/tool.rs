//! Typed calls of a tool.

use std::sync::Arc;

use lakeport_bindings::tool::tool::{Context, Outcome, ToolInfo};

use crate::call::{CallContext, CallError, CallFault};
use crate::dialect::answered;
use crate::family::{Family, PluginId};
use crate::prepared::Description;
use crate::registry::{PluginView, Registry};

/// The contract's limit of artifacts per outcome.
const ARTIFACTS_MAX: usize = 10;
/// The contract's limit of the output, and again of all artifacts together, bytes.
const OUTPUT_MAX_BYTES: usize = 4 * 1024 * 1024;
const FUNCTION: &str = "tool.call";

/// A tool by name. The generation that is active at the time of a call answers it.
#[derive(Clone)]
pub struct Tool {
    registry: Arc<Registry>,
    id: PluginId,
}

impl Registry {
    /// The tool of this name, whether it is installed or not.
    pub fn tool(self: &Arc<Self>, name: &str) -> Tool {
        Tool { registry: self.clone(), id: PluginId { family: Family::Tool, name: name.to_owned() } }
    }

    /// The descriptions of all active tools, by name. Quarantined tools are left out.
    pub fn tools(&self) -> Vec<Arc<ToolInfo>> {
        let answering = self.list().into_iter().filter(|(_, view)| view.quarantine.is_none());
        let info = |(_, view): (PluginId, Arc<PluginView>)| match &view.active.as_ref()?.description {
            Description::Tool(info) => Some(Arc::new((**info).clone())),
            _ => None,
        };
        answering.filter_map(info).collect()
    }
}

impl Tool {
    /// The description of the active generation.
    pub fn info(&self) -> Result<Arc<ToolInfo>, CallError> {
        let view = self.registry.view(&self.id);
        match view.as_ref().and_then(|view| view.active.as_ref()).map(|active| &active.description) {
            Some(Description::Tool(info)) => Ok(Arc::new((**info).clone())),
            _ => Err(CallError::NotActive(format!("no generation of the plugin {} is active", self.id))),
        }
    }

    /// `tool.call`. The input is a JSON object that fits the tool's schema; the tool sees only the topic that
    /// the context lends. An outcome that exceeds the contract's bounds is a failure of the tool.
    pub async fn call(
        &self,
        context: CallContext,
        input: &str,
        about: &Context,
    ) -> Result<Outcome, CallError> {
        let about_call = context.id.clone();
        let answer = self.registry.call(&self.id, FUNCTION, context, (input, about)).await;
        let outcome: Outcome = answered(answer)?;
        self.within_bounds(&outcome).map_err(|message| {
            self.registry.blame(&self.id, &about_call, &message);
            CallError::Failed {
                plugin: self.id.to_string(),
                function: FUNCTION,
                fault: CallFault::Answer,
                message,
            }
        })?;
        Ok(outcome)
    }

    fn within_bounds(&self, outcome: &Outcome) -> Result<(), String> {
        let said = self.info().map_or(OUTPUT_MAX_BYTES, |info| info.max_output_bytes as usize);
        let most = said.min(OUTPUT_MAX_BYTES);
        if outcome.output.len() > most {
            return Err(format!("its output has {} bytes; {most} at most", outcome.output.len()));
        }
        if outcome.artifacts.len() > ARTIFACTS_MAX {
            return Err(format!("it has {} artifacts; {ARTIFACTS_MAX} at most", outcome.artifacts.len()));
        }
        let bytes: usize =
            outcome.artifacts.iter().map(|artifact| artifact.kind.len() + artifact.content.len()).sum();
        if bytes > OUTPUT_MAX_BYTES {
            return Err(format!("its artifacts have {bytes} bytes; {OUTPUT_MAX_BYTES} at most"));
        }
        Ok(())
    }
}
