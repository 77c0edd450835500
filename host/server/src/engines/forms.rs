//! What requests about engines say. Secrets come in and never go out.

use std::collections::BTreeMap;

use lakeport_http::form::{Amend, Patch};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Deserialize, JsonSchema)]
pub struct EnginePath {
    pub name: String,
}

#[derive(Deserialize, JsonSchema)]
pub struct CreateEngine {
    /// What workflows name as `schedulerEngine`; no two engines share one.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The name of an engine plugin: `local`, `dolphinscheduler`, `airflow`.
    pub plugin: String,
    /// What the plugin's own schema asks for, such as `baseUrl`.
    pub config: Option<Map<String, Value>>,
    /// What must not be shown, such as `token` or `username` and `password`.
    #[schemars(extend("writeOnly" = true))]
    pub secrets: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateEngine {
    #[serde(default)]
    pub plugin: Amend<String>,
    /// Takes the place of the whole configuration; null: an empty one.
    #[serde(default)]
    pub config: Patch<Map<String, Value>>,
    /// Those that are named are replaced, or with null forgotten; the others stay.
    #[serde(default)]
    #[schemars(extend("writeOnly" = true))]
    pub secrets: Amend<BTreeMap<String, Option<String>>>,
}
