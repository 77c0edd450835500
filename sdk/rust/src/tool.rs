//! Tools: one skill of an agent.
//!
//! A tool implements [`Tool`] and is exported by `lakeport_sdk::tool!(MyTool);`. What it uses of
//! [`catalog`], [`samples`], [`guard`], [`query`], [`results`], [`lineage`] and [`http`] is what the
//! operator is asked to grant.

pub use crate::bindings::tool::tool::{Artifact, Context, Outcome, ToolInfo};
pub use crate::bindings::tool::{catalog, guard, lineage, query, results, samples, tables};
pub use crate::host::{clock, config, http, web};
pub use crate::{Cell, Column, Error, Page, Problem, RowSet, Timestamp, Upstream};

use crate::bindings::tool::tool;

/// How long a call may take where the tool does not say, in milliseconds.
const TIMEOUT_MS: u32 = 10_000;
/// The longest output where the tool does not say, in bytes.
const OUTPUT_MAX_BYTES: u32 = 64 * 1024;

/// A tool. `lakeport_sdk::tool!` exports it.
pub trait Tool {
    /// What the tool is. Always the same.
    fn describe() -> ToolInfo;

    /// Does it, once. `input` is JSON that fits the schema.
    fn call(input: String, context: Context) -> Result<Outcome, Error>;
}

impl ToolInfo {
    /// A tool without settings, addresses or secrets. Schemas are JSON Schema (2020-12) of an object.
    /// The rest is set by struct update: `ToolInfo { timeout_ms: 500, ..ToolInfo::new(…) }`.
    pub fn new(
        name: &str,
        version: &str,
        description: &str,
        input_schema: &serde_json::Value,
        output_schema: &serde_json::Value,
    ) -> ToolInfo {
        ToolInfo {
            name: name.to_owned(),
            title: name.replace('_', " "),
            version: version.to_owned(),
            description: description.to_owned(),
            input_schema: input_schema.to_string(),
            output_schema: output_schema.to_string(),
            config_schema: "{}".to_owned(),
            optional_needs: Vec::new(),
            timeout_ms: TIMEOUT_MS,
            max_output_bytes: OUTPUT_MAX_BYTES,
            addresses: Vec::new(),
            secrets: Vec::new(),
            auth: Vec::new(),
            extra: None,
        }
    }
}

impl Outcome {
    /// An output with nothing to show beside it.
    pub fn new(output: &serde_json::Value) -> Outcome {
        Outcome { output: output.to_string(), artifacts: Vec::new(), truncated: false }
    }

    /// Something more to show beside the answer.
    pub fn artifact(mut self, kind: &str, content: &serde_json::Value) -> Outcome {
        self.artifacts.push(Artifact { kind: kind.to_owned(), content: content.to_string() });
        self
    }
}

impl<T: Tool> tool::Guest for T {
    fn describe() -> ToolInfo {
        <T as Tool>::describe()
    }

    fn call(input: String, context: Context) -> Result<Outcome, Error> {
        <T as Tool>::call(input, context)
    }
}

/// Makes the crate a tool: exports what a type that implements [`tool::Tool`](Tool) does. Once in a
/// plugin.
#[macro_export]
macro_rules! tool {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::tool::Tool, tool);
    };
}
