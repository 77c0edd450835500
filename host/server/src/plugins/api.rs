//! Handlers of the plugin API.

use lakeport_plugins::{PluginId, PluginView};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::Call;
use crate::error::{Detail, Error};
use crate::http::Reply;
use crate::plugins::view::{PluginAnswer, StagedAnswer, local_time};

/// The longest reason for a quarantine, in characters.
const REASON_MAX_CHARS: usize = 1_000;

/// `GET /api/v1/plugins`: all plugins, by family and name.
pub async fn list(call: Call) -> Result<Reply, Error> {
    let zone = call.state.config.time_zone;
    let plugins = call.state.plugins.registry().list();
    let answers: Vec<PluginAnswer> = plugins
        .iter()
        .filter(|(_, view)| !view.generations.is_empty())
        .map(|(id, view)| PluginAnswer::new(id, view, zone))
        .collect();
    Ok(Reply::data(&answers))
}

/// `GET /api/v1/plugins/{name}`.
pub async fn get(call: Call) -> Result<Reply, Error> {
    let (id, view) = plugin(&call)?;
    answer(&call, &id, &view)
}

/// `POST /api/v1/plugins`: the body is the component.
pub async fn stage(call: Call) -> Result<Reply, Error> {
    let bytes = call.bytes();
    let staged = call.state.plugins.stage(bytes.into()).await?;
    let generation = &staged.generation;
    let view = call.state.plugins.registry().view(&generation.id).unwrap_or_default();
    Ok(Reply::data(&StagedAnswer::new(generation, &view, warnings(generation, &view))))
}

/// What an operator should know before activating it.
fn warnings(generation: &lakeport_plugins::Generation, view: &PluginView) -> Vec<String> {
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
            "it calls itself {} like the active generation, but its bytes differ",
            generation.description.version()
        ));
    }
    warnings
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Activate {
    digest: String,
    canary_percent: Option<u8>,
}

/// `POST /api/v1/plugins/{name}/activate`.
pub async fn activate(call: Call) -> Result<Reply, Error> {
    let (id, _) = plugin(&call)?;
    let body: Activate = call.json()?;
    let action = if body.canary_percent.is_some() { "canary" } else { "activate" };
    let view = call
        .state
        .plugins
        .change(&id, action, |registry| registry.activate(&id, &body.digest, body.canary_percent))
        .await?;
    answer(&call, &id, &view)
}

/// `POST /api/v1/plugins/{name}/rollback`.
pub async fn rollback(call: Call) -> Result<Reply, Error> {
    let (id, _) = plugin(&call)?;
    call.json_or(Value::Null)?;
    let view = call.state.plugins.change(&id, "rollback", |registry| registry.rollback(&id)).await?;
    answer(&call, &id, &view)
}

#[derive(Default, Deserialize)]
struct QuarantineBody {
    reason: Option<String>,
}

/// `POST /api/v1/plugins/{name}/quarantine`.
pub async fn quarantine(call: Call) -> Result<Reply, Error> {
    let (id, _) = plugin(&call)?;
    let body: QuarantineBody = call.json_or(QuarantineBody::default())?;
    let reason = body.reason.map(|reason| reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or_else(|| "by an operator, who gave no reason".to_owned());
    if reason.chars().count() > REASON_MAX_CHARS || reason.chars().any(char::is_control) {
        let message = format!("must be one line of at most {REASON_MAX_CHARS} characters");
        return Err(Error::invalid(vec![Detail::new("reason", message)]));
    }
    let view =
        call.state.plugins.change(&id, "quarantine", |registry| registry.quarantine(&id, &reason)).await?;
    answer(&call, &id, &view)
}

/// `POST /api/v1/plugins/{name}/release`.
pub async fn release(call: Call) -> Result<Reply, Error> {
    let (id, _) = plugin(&call)?;
    call.json_or(Value::Null)?;
    let view = call.state.plugins.change(&id, "release", |registry| registry.release(&id)).await?;
    answer(&call, &id, &view)
}

/// `DELETE /api/v1/plugins/{name}/{digest}`.
pub async fn remove(call: Call) -> Result<Reply, Error> {
    let (id, view) = plugin(&call)?;
    let digest = generation(&call, &id, &view)?.digest.to_string();
    call.state.plugins.remove(&id, &digest).await?;
    Ok(Reply::data(&Value::Null))
}

/// `GET /api/v1/plugins/{name}/{digest}`: the component itself.
pub async fn component(call: Call) -> Result<Reply, Error> {
    let (id, view) = plugin(&call)?;
    let generation = generation(&call, &id, &view)?;
    let bytes = call.state.plugins.component(&generation).await?;
    Ok(Reply::bytes("application/wasm", bytes.into()))
}

#[derive(Serialize)]
struct LogAnswer {
    time: String,
    level: lakeport_plugins::LogLevel,
    message: String,
    fields: Vec<LogField>,
    digest: String,
    call: String,
}

#[derive(Serialize)]
struct LogField {
    name: String,
    value: String,
}

/// `GET /api/v1/plugins/{name}/logs`: the last lines, the oldest first.
pub async fn logs(call: Call) -> Result<Reply, Error> {
    let (id, _) = plugin(&call)?;
    let zone = call.state.config.time_zone;
    let lines = call.state.plugins.registry().log(&id).map(|log| log.lines()).unwrap_or_default();
    let lines: Vec<LogAnswer> = lines
        .into_iter()
        .map(|line| LogAnswer {
            time: local_time(line.at_ms, zone),
            level: line.level,
            message: line.message,
            fields: line.fields.into_iter().map(|(name, value)| LogField { name, value }).collect(),
            digest: line.digest,
            call: line.call,
        })
        .collect();
    Ok(Reply::data(&lines))
}

fn plugin(call: &Call) -> Result<(PluginId, std::sync::Arc<PluginView>), Error> {
    let registry = call.state.plugins.registry();
    let id = registry.resolve(&call.path::<String>("name")?)?;
    let view = registry.view(&id).unwrap_or_default();
    Ok((id, view))
}

fn generation(
    call: &Call,
    id: &PluginId,
    view: &PluginView,
) -> Result<std::sync::Arc<lakeport_plugins::Generation>, Error> {
    Ok(view.generation(id, &call.path::<String>("digest")?)?)
}

fn answer(call: &Call, id: &PluginId, view: &PluginView) -> Result<Reply, Error> {
    Ok(Reply::data(&PluginAnswer::new(id, view, call.state.config.time_zone)))
}
