//! Plugins in answers (contract, section 5).

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_bindings::host::web::SecretSpec;
use lakeport_plugins::{Description, Generation, PluginId, PluginView};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A plugin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Plugin")]
pub struct PluginAnswer {
    name: String,
    family: &'static str,
    title: Option<String>,
    version: Option<String>,
    digest: Option<String>,
    /// What a rollback activates; null: no generation was active before this one.
    previous_digest: Option<String>,
    state: &'static str,
    reason: Option<String>,
    imports: Vec<String>,
    grants: Vec<String>,
    /// JSON Schema of the settings of its instances: the `config` of an engine, the `options` of a data source, the
    /// settings of a tool.
    config_schema: Option<Value>,
    /// The secrets of its instances: of engines.
    secrets: Vec<PluginSecret>,
    calls: u64,
    errors: u64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
    /// Requests that the host sent for it.
    requests_sent: u64,
    /// Requests of it that the host refused.
    requests_refused: u64,
    generations: Vec<GenerationAnswer>,
}

/// A secret that an instance of a plugin may have.
#[derive(Serialize, JsonSchema)]
pub struct PluginSecret {
    name: String,
    title: String,
    description: String,
}

/// A generation of a plugin.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PluginGeneration")]
struct GenerationAnswer {
    digest: String,
    version: String,
    contract: String,
    origin: &'static str,
    size: usize,
    state: &'static str,
    canary_percent: Option<u8>,
    staged_at: String,
    activated_at: Option<String>,
    /// Calls of this generation on this server, since it was staged or the server started.
    calls: u64,
    /// Those in which it failed or broke the contract.
    errors: u64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

/// A staged component.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "StagedPlugin")]
pub struct StagedAnswer {
    name: String,
    family: &'static str,
    version: String,
    digest: String,
    imports: Vec<String>,
    grants_needed: Vec<String>,
    warnings: Vec<String>,
    state: &'static str,
}

impl PluginAnswer {
    /// A plugin's current state.
    pub fn new(id: &PluginId, plugin: &PluginView, zone: Tz) -> Self {
        let active = plugin.active.as_deref();
        let shown = active.or(plugin.generations.last().map(|generation| &**generation));
        let counters = active.map(|generation| generation.counters.snapshot()).unwrap_or_default();
        PluginAnswer {
            name: id.name.clone(),
            family: id.family.as_str(),
            title: shown.map(|generation| generation.description.title().to_owned()),
            version: active.map(|generation| generation.description.version().to_owned()),
            digest: active.map(|generation| generation.digest.to_string()),
            state: plugin.state(),
            reason: plugin.quarantine.as_ref().map(|quarantine| quarantine.reason.clone()),
            previous_digest: plugin.history.last().map(|generation| generation.digest.to_string()),
            imports: shown.map(|generation| generation.imports.clone()).unwrap_or_default(),
            grants: active.map(|generation| generation.grants.needed.clone()).unwrap_or_default(),
            config_schema: shown.and_then(|generation| config_schema(&generation.description)),
            secrets: shown.map(|generation| secrets(&generation.description)).unwrap_or_default(),
            calls: counters.calls,
            errors: counters.errors,
            p50_ms: counters.p50_ms,
            p99_ms: counters.p99_ms,
            requests_sent: counters.requests_sent,
            requests_refused: counters.requests_refused,
            generations: plugin.generations.iter().map(|g| GenerationAnswer::new(g, plugin, zone)).collect(),
        }
    }
}

fn config_schema(description: &Description) -> Option<Value> {
    let text = match description {
        Description::Engine(info) => &info.config_schema,
        Description::Dialect(info) => &info.options_schema,
        Description::Tool(info) => &info.config_schema,
    };
    serde_json::from_str(text).ok()
}

fn secrets(description: &Description) -> Vec<PluginSecret> {
    let Description::Engine(info) = description else { return Vec::new() };
    let secret = |secret: &SecretSpec| PluginSecret {
        name: secret.name.clone(),
        title: secret.title.clone(),
        description: secret.description.clone(),
    };
    info.secrets.iter().map(secret).collect()
}

impl GenerationAnswer {
    fn new(generation: &Generation, plugin: &PluginView, zone: Tz) -> Self {
        let canary = plugin.canary.as_ref().filter(|canary| canary.generation.digest == generation.digest);
        let state = generation_state(generation, plugin);
        let counters = generation.counters.snapshot();
        GenerationAnswer {
            digest: generation.digest.to_string(),
            version: generation.description.version().to_owned(),
            contract: generation.contract.to_string(),
            origin: generation.origin.as_str(),
            size: generation.size,
            state,
            canary_percent: canary.map(|canary| canary.percent),
            staged_at: time::shown(generation.staged_at_ms, zone),
            activated_at: plugin
                .activated_at_ms
                .filter(|_| state == "active")
                .map(|at| time::shown(at, zone)),
            calls: counters.calls,
            errors: counters.errors,
            p50_ms: counters.p50_ms,
            p99_ms: counters.p99_ms,
        }
    }
}

impl StagedAnswer {
    /// The answer of staging.
    pub fn new(generation: &Generation, plugin: &PluginView, warnings: Vec<String>) -> Self {
        StagedAnswer {
            name: generation.id.name.clone(),
            family: generation.id.family.as_str(),
            version: generation.description.version().to_owned(),
            digest: generation.digest.to_string(),
            imports: generation.imports.clone(),
            grants_needed: generation.grants.needed.clone(),
            warnings,
            state: generation_state(generation, plugin),
        }
    }
}

/// `active`, `canary` or `staged`.
fn generation_state(generation: &Generation, plugin: &PluginView) -> &'static str {
    let is = |other: &Generation| other.digest == generation.digest;
    if plugin.active.as_deref().is_some_and(is) {
        "active"
    } else if plugin.canary.as_ref().is_some_and(|canary| is(&canary.generation)) {
        "canary"
    } else {
        "staged"
    }
}
