//! What requests about engines say. Secrets come in and never go out.

use std::collections::BTreeMap;

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
    pub plugin: Option<String>,
    /// Takes the place of the whole configuration.
    pub config: Option<Map<String, Value>>,
    /// Those that are named are replaced, or with null forgotten; the others stay.
    #[schemars(extend("writeOnly" = true))]
    pub secrets: Option<BTreeMap<String, Option<String>>>,
}
