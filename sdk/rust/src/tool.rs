//! Tools: one skill of an agent.
//!
//! A tool implements [`Tool`] and is exported by `lakeport_sdk::tool!(MyTool);`. The operator is asked to
//! grant what it uses of [`catalog`], [`samples`], [`guard`], [`query`], [`results`], [`lineage`] and
//! [`http`].

pub use crate::bindings::tool::tool::{Artifact, Context, Outcome, ToolInfo};
pub use crate::bindings::tool::{catalog, guard, lineage, query, results, samples, tables};
pub use crate::host::{clock, config, http, web};
pub use crate::{Cell, Column, Error, Page, Problem, RowSet, Timestamp, Upstream};

use crate::bindings::tool::tool;

/// The default time limit of a call, in milliseconds.
const TIMEOUT_MS: u32 = 10_000;
/// The default limit of the output, in bytes.
const OUTPUT_MAX_BYTES: u32 = 64 * 1024;

/// A tool. `lakeport_sdk::tool!` exports it.
pub trait Tool {
    /// Describes the tool. Always the same answer.
    fn describe() -> ToolInfo;

    /// Runs the tool once. `input` is JSON that fits the schema.
    fn call(input: String, context: Context) -> Result<Outcome, Error>;
}

impl ToolInfo {
    /// A tool without settings, addresses or secrets. Schemas are JSON Schema (2020-12) of an object. Set
    /// other members by struct update: `ToolInfo { timeout_ms: 500, ..ToolInfo::new(…) }`.
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
    /// An output without artifacts.
    pub fn new(output: &serde_json::Value) -> Outcome {
        Outcome { output: output.to_string(), artifacts: Vec::new(), truncated: false }
    }

    /// Adds an artifact to show beside the answer.
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

/// Makes the crate a tool: exports a type that implements [`tool::Tool`](Tool). Once per plugin.
#[macro_export]
macro_rules! tool {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::tool::Tool, tool);
    };
}
