//! The agent's tools as resources: what each does, and the settings that an operator gives it. What a tool is, its plugin
//! says; see [`crate::plugins`].

pub mod api;
pub mod store;
mod view;

use ::http::Method;
use lakeport_http::Role::{Admin, Viewer};
use lakeport_http::Route;
use lakeport_http::form::{Patch, Text};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::agent::Agent;

#[derive(Deserialize, JsonSchema)]
pub struct ToolPath {
    pub name: Text<1, 64>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateToolSettings {
    /// All settings, by the tool's `config_schema`; null: none.
    #[serde(default)]
    pub settings: Patch<Map<String, Value>>,
}

pub fn routes() -> Vec<Route<Agent>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/tools",
            Viewer,
            "listTools",
            "List the agent's active tools with their settings",
            api::list,
        ),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/tools/{name}",
            Viewer,
            "getTool",
            "Get an active tool with its settings",
            api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/nl2sql/tools/{name}/settings",
            Admin,
            "updateToolSettings",
            "Replace the settings of a tool; its calls get them from now on",
            api::update,
        )
        .unbound()
        .versioned(),
    ]
}
