//! Typed calls of a tool.

use std::sync::Arc;

use lakeport_bindings::tool::tool::{Context, Outcome, ToolInfo};

use crate::call::{CallContext, CallError, CallFault};
use crate::dialect::answered;
use crate::family::{Family, PluginId};
use crate::prepared::Description;
use crate::registry::{Pinned, PluginView, Registry};

/// The contract's limit of artifacts per outcome.
const ARTIFACTS_MAX: usize = 10;
/// The contract's limit of the output, and again of all artifacts together, bytes.
const OUTPUT_MAX_BYTES: usize = 4 * 1024 * 1024;
const FUNCTION: &str = "tool.call";

/// A tool by name, for one task: the same generation describes itself and answers all calls.
#[derive(Clone)]
pub struct Tool(Pinned);

impl Registry {
    /// The tool of this name, whether it is installed or not. During a canary, tasks with equal keys get the
    /// same generation.
    pub fn tool(self: &Arc<Self>, name: &str, key: &str) -> Tool {
        Tool(Pinned::new(self, PluginId { family: Family::Tool, name: name.to_owned() }, key))
    }

    /// The descriptions of all active tools, by name. Quarantined tools are left out.
    pub fn tools(&self) -> Vec<Arc<ToolInfo>> {
        let answering = self.list().into_iter().filter(|(_, view)| view.quarantine.is_none());
        let info = |(_, view): (PluginId, Arc<PluginView>)| match &view.active.as_ref()?.description {
            Description::Tool(info) => Some(Arc::clone(info)),
            _ => None,
        };
        answering.filter_map(info).collect()
    }
}

impl Tool {
    /// Its description.
    pub fn info(&self) -> Result<&ToolInfo, CallError> {
        match &self.0.generation()?.description {
            Description::Tool(info) => Ok(info),
            _ => Err(CallError::NotActive(format!("the plugin {} is not a tool", self.0.id()))),
        }
    }

    /// The digest of its component.
    pub fn digest(&self) -> Result<&Arc<str>, CallError> {
        self.0.generation().map(|generation| &generation.digest)
    }

    /// Counts an outcome that the host rejected, and logs the reason in the plugin's log.
    pub fn blame(&self, call: &str, reason: &str) {
        self.0.blame(FUNCTION, call, reason);
    }

    /// `tool.call`. The input is a JSON object that fits the tool's schema; the tool sees only the topic that
    /// the context lends. An outcome that exceeds the contract's bounds is a failure of the tool.
    pub async fn call(
        &self,
        context: CallContext,
        input: &str,
        about: &Context,
    ) -> Result<Outcome, CallError> {
        let call = context.id.clone();
        let outcome: Outcome = answered(self.0.call(context, FUNCTION, (input, about)).await)?;
        match self.within_bounds(&outcome) {
            Ok(()) => Ok(outcome),
            Err(message) => Err(self.0.broke(FUNCTION, &call, CallFault::Answer, message)),
        }
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
