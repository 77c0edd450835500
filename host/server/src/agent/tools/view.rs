//! Tools in answers.

use lakeport_bindings::tool::tool::ToolInfo;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// An active tool.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
pub struct ToolView {
    name: String,
    title: String,
    version: String,
    /// For models.
    description: String,
    /// A JSON Schema.
    input_schema: Map<String, Value>,
    /// A JSON Schema of the settings.
    config_schema: Map<String, Value>,
    /// Without the schema's defaults.
    settings: Map<String, Value>,
}

impl ToolView {
    pub fn new(info: &ToolInfo, settings: Map<String, Value>) -> ToolView {
        let schema = |text: &str| serde_json::from_str(text).unwrap_or_default();
        ToolView {
            name: info.name.clone(),
            title: info.title.clone(),
            version: info.version.clone(),
            description: info.description.clone(),
            input_schema: schema(&info.input_schema),
            config_schema: schema(&info.config_schema),
            settings,
        }
    }
}
