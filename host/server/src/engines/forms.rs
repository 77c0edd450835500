//! The forms of requests about engines. Secrets are write-only.

use std::collections::BTreeMap;

use lakeport_http::form::{Amend, Patch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::definition::NAME_MAX_BYTES;

#[derive(Deserialize, JsonSchema)]
pub struct EnginePath {
    pub name: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct CreateEngine {
    /// The name in `schedulerEngine` of workflows; unique among engines.
    #[schemars(length(min = 1, max = NAME_MAX_BYTES), regex(pattern = "^[a-z0-9-]+$"))]
    pub name: String,
    /// The name of an engine plugin: `local`, `dolphinscheduler`.
    pub plugin: String,
    /// Settings in the plugin's own schema, such as `baseUrl`.
    pub config: Option<Map<String, Value>>,
    /// Secrets, such as `token` or `username` and `password`.
    #[schemars(extend("writeOnly" = true))]
    pub secrets: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct CallEngine {
    /// The function, with its interface in the engine contract: `deploys.test`, `watch.instances`.
    #[schemars(length(min = 1, max = 64))]
    pub function: String,
    /// Its parameter, with the names of the contract; not for `deploys.test`.
    pub input: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateEngine {
    #[serde(default)]
    pub plugin: Amend<String>,
    /// Replaces the complete configuration; null: an empty one.
    #[serde(default)]
    pub config: Patch<Map<String, Value>>,
    /// Replaces the given secrets and removes those set to null; the others are unchanged.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    pub secrets: Amend<BTreeMap<String, Option<String>>>,
}
