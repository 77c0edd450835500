//! Handlers of the plugin API.

use std::sync::Arc;

use lakeport_base::error::{Detail, Error};
use lakeport_base::time;
use lakeport_http::{Data, File, Json, Nothing, OptionalJson, Raw, Wasm};
use lakeport_plugins::{Generation, PluginId, PluginView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::registry_error;
use crate::plugins::view::{PluginAnswer, StagedAnswer};
use crate::plugins::{Call, Plugins};

/// The longest reason for a quarantine, in characters.
const REASON_MAX_CHARS: usize = 1_000;

/// The error codes of staging.
pub const STAGING_CODES: &[&str] = &[
    "component_core_module",
    "component_empty",
    "component_export_missing",
    "component_malformed",
    "component_no_family",
    "component_not_linkable",
    "component_not_wasm",
    "component_precompiled",
    "component_several_contracts",
    "component_too_costly",
    "component_too_large",
    "contract_version_unknown",
    "description_invalid",
    "import_refused",
    "plugin_busy",
    "too_many_generations",
];

/// A plugin: its name, or `family:name` if two families share the name.
#[derive(Deserialize, JsonSchema)]
pub struct PluginPath {
    name: String,
}

/// A generation of a plugin.
#[derive(Deserialize, JsonSchema)]
pub struct GenerationPath {
    name: String,
    /// SHA-256 of the component in hex; the first eight digits suffice.
    digest: String,
}

/// `GET /api/v1/plugins`: all plugins, by family and name.
pub async fn list(call: Call) -> Result<Data<Vec<PluginAnswer>>, Error> {
    let zone = call.state.config.time_zone;
    let plugins = call.state.registry().list();
    let answers: Vec<PluginAnswer> = plugins
        .iter()
        .filter(|(_, view)| !view.generations.is_empty())
        .map(|(id, view)| PluginAnswer::new(id, view, zone))
        .collect();
    Ok(Data::new(&answers))
}

/// `GET /api/v1/plugins/{name}`.
pub async fn get(call: Call<PluginPath>) -> Result<Data<PluginAnswer>, Error> {
    let (id, view) = plugin(&call.state, &call.path.name)?;
    answer(&call.state, &id, &view)
}

/// `POST /api/v1/plugins`: the body is the component.
pub async fn stage(call: Call<Nothing, Nothing, Raw>) -> Result<Data<StagedAnswer>, Error> {
    let staged = call.state.stage(call.body.0.into()).await?;
    let generation = &staged.generation;
    if let Some(attempt) = &call.attempt {
        attempt.set_made(generation.id.to_string());
    }
    let view = call.state.registry().view(&generation.id).unwrap_or_default();
    Ok(Data::new(&StagedAnswer::new(generation, &view, warnings(generation, &view))))
}

/// Hints for the operator before activation.
fn warnings(generation: &Generation, view: &PluginView) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some(active) = view.active.as_deref().filter(|active| active.digest != generation.digest) else {
        return warnings;
    };
    let more: Vec<&str> = generation
        .grants
        .needed
        .iter()
        .filter(|&grant| !active.grants.needed.contains(grant))
        .map(String::as_str)
        .collect();
    if !more.is_empty() {
        warnings.push(format!("it wants more than the active generation has: {}", more.join(", ")));
    }
    if generation.description.version() == active.description.version() {
        warnings.push(format!(
            "it has the version {} of the active generation, but its bytes differ",
            generation.description.version()
        ));
    }
    warnings
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ActivatePlugin")]
pub struct Activate {
    /// SHA-256 of the component in hex; the first eight digits suffice.
    digest: String,
    /// Percent of the calls; absent: all.
    #[schemars(range(min = 1, max = 99))]
    canary_percent: Option<u8>,
}

/// `POST /api/v1/plugins/{name}/activate`.
pub async fn activate(call: Call<PluginPath, Nothing, Json<Activate>>) -> Result<Data<PluginAnswer>, Error> {
    let (id, _) = plugin(&call.state, &call.path.name)?;
    let body = &*call.body;
    let action = if body.canary_percent.is_some() { "canary" } else { "activate" };
    let history_max = call.state.registry().settings().history_max;
    let activate = |view: &mut PluginView| view.activate(&id, &body.digest, body.canary_percent, history_max);
    let change = call.state.change(&id, action, activate).await?;
    let answer = answer(&call.state, &id, &change.after)?;
    change.commit(&call, answer).await
}

/// `POST /api/v1/plugins/{name}/rollback`.
pub async fn rollback(call: Call<PluginPath>) -> Result<Data<PluginAnswer>, Error> {
    let (id, _) = plugin(&call.state, &call.path.name)?;
    let change = call.state.change(&id, "rollback", |view| view.roll_back(&id)).await?;
    let answer = answer(&call.state, &id, &change.after)?;
    change.commit(&call, answer).await
}

#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "QuarantinePlugin")]
pub struct QuarantineBody {
    /// One line, shown to callers.
    #[schemars(length(max = REASON_MAX_CHARS))]
    reason: Option<String>,
}

/// `POST /api/v1/plugins/{name}/quarantine`.
pub async fn quarantine(
    call: Call<PluginPath, Nothing, OptionalJson<QuarantineBody>>,
) -> Result<Data<PluginAnswer>, Error> {
    let (id, _) = plugin(&call.state, &call.path.name)?;
    let reason = call.body.0.as_ref().and_then(|body| body.reason.clone());
    let reason = reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or_else(|| "by an operator, who gave no reason".to_owned());
    if reason.chars().count() > REASON_MAX_CHARS || reason.chars().any(char::is_control) {
        let message = format!("must be one line of at most {REASON_MAX_CHARS} characters");
        return Err(Error::invalid(vec![Detail::new("reason", message)]));
    }
    let quarantine = |view: &mut PluginView| {
        view.put_in_quarantine(&reason);
        Ok(())
    };
    let change = call.state.change(&id, "quarantine", quarantine).await?;
    let answer = answer(&call.state, &id, &change.after)?;
    change.commit(&call, answer).await
}

/// `POST /api/v1/plugins/{name}/release`.
pub async fn release(call: Call<PluginPath>) -> Result<Data<PluginAnswer>, Error> {
    let (id, _) = plugin(&call.state, &call.path.name)?;
    let change = call.state.change(&id, "release", |view| view.release(&id)).await?;
    let answer = answer(&call.state, &id, &change.after)?;
    change.commit(&call, answer).await
}

/// `DELETE /api/v1/plugins/{name}/{digest}`.
pub async fn remove(call: Call<GenerationPath>) -> Result<Data<()>, Error> {
    let (id, view) = plugin(&call.state, &call.path.name)?;
    let digest = view.generation(&id, &call.path.digest).map_err(registry_error)?.digest.to_string();
    let change = call.state.remove(&id, &digest).await?;
    change.commit(&call, Data::new(&())).await
}

/// `GET /api/v1/plugins/{name}/{digest}`: the component itself.
pub async fn component(call: Call<GenerationPath>) -> Result<File<Wasm>, Error> {
    let (id, view) = plugin(&call.state, &call.path.name)?;
    let generation = view.generation(&id, &call.path.digest).map_err(registry_error)?;
    Ok(File::new(call.state.component(&generation).await?))
}

/// One line of a plugin's log.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PluginLogLine")]
pub struct LogAnswer {
    time: String,
    /// `trace`, `debug`, `info`, `warn` or `error`
    #[schemars(with = "String")]
    level: lakeport_plugins::LogLevel,
    message: String,
    fields: Vec<LogField>,
    digest: String,
    call: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PluginLogField")]
struct LogField {
    name: String,
    value: String,
}

/// `GET /api/v1/plugins/{name}/logs`: the last lines, the oldest first.
pub async fn logs(call: Call<PluginPath>) -> Result<Data<Vec<LogAnswer>>, Error> {
    let (id, _) = plugin(&call.state, &call.path.name)?;
    let zone = call.state.config.time_zone;
    let lines = call.state.registry().log(&id).map(|log| log.lines()).unwrap_or_default();
    let lines: Vec<LogAnswer> = lines
        .into_iter()
        .map(|line| LogAnswer {
            time: time::shown(line.at_ms, zone),
            level: line.level,
            message: line.message,
            fields: line.fields.into_iter().map(|(name, value)| LogField { name, value }).collect(),
            digest: line.digest,
            call: line.call,
        })
        .collect();
    Ok(Data::new(&lines))
}

fn plugin(state: &Plugins, name: &str) -> Result<(PluginId, Arc<PluginView>), Error> {
    let registry = state.registry();
    let id = registry.resolve(name).map_err(registry_error)?;
    let view = registry.view(&id).unwrap_or_default();
    Ok((id, view))
}

fn answer(state: &Plugins, id: &PluginId, view: &PluginView) -> Result<Data<PluginAnswer>, Error> {
    Ok(Data::new(&PluginAnswer::new(id, view, state.config.time_zone)))
}
