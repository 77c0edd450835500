//! Engines in answers.

use chrono_tz::Tz;
use lakeport_base::error::Refusal;
use lakeport_base::time;
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::deploys::TestReport;
use lakeport_plugins::{Exchange, PluginView, Recorded};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::instance;
use super::store::{EngineRecord, Look};

/// A scheduler that workflows can be deployed to, without its secrets.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Engine")]
pub struct EngineView {
    /// The name in `schedulerEngine` of workflows.
    name: String,
    plugin: String,
    config: Map<String, Value>,
    /// The names of its secrets.
    secrets: Vec<String>,
    /// How it logs in, by the secrets that are set; null: without a log-in.
    auth_recipe: Option<String>,
    /// The plugin's version; null: not active.
    version: Option<String>,
    /// The product behind the plugin.
    product: Option<String>,
    /// The supported task types.
    task_types: Vec<TaskType>,
    /// Its features.
    features: Vec<String>,
    /// The plugin's state: `active`, `canary`, `staged`, `quarantined` or `missing`.
    state: String,
    /// The last look for its runs; null: none yet.
    last_look: Option<EngineLook>,
    created_at: String,
    updated_at: String,
}

/// When an engine was asked for its runs. That is done often while something runs there, otherwise rarely; it is noted
/// once a minute, and at once when its outcome changes.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineLook {
    at: String,
    /// It answered.
    ok: bool,
    /// When it answered last; null: never.
    answered_at: Option<String>,
    /// Why it did not.
    message: Option<String>,
}

/// A task type.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskType {
    name: String,
    title: String,
    /// The kind of its text: `sql`, `shell`, `none` or another language.
    body: String,
    needs_datasource: bool,
    /// The supported kinds of data sources; empty: all.
    datasource_kinds: Vec<String>,
}

impl EngineView {
    /// `plugin` is the engine's, with its description if it is active.
    pub fn new(
        engine: &EngineRecord,
        plugin: Option<&PluginView>,
        info: Option<&EngineInfo>,
        look: Option<&Look>,
        zone: Tz,
    ) -> EngineView {
        let kind = |kind: &lakeport_bindings::engine::about::TaskType| TaskType {
            name: kind.name.clone(),
            title: kind.title.clone(),
            body: kind.body.clone(),
            needs_datasource: kind.needs_datasource,
            datasource_kinds: kind.datasource_kinds.clone(),
        };
        EngineView {
            name: engine.name.clone(),
            plugin: engine.plugin.clone(),
            config: serde_json::from_str(&engine.config).unwrap_or_default(),
            secrets: engine.secret_names.clone(),
            auth_recipe: info
                .and_then(|info| instance::recipe(info, &engine.secret_names))
                .map(str::to_owned),
            version: info.map(|info| info.version.clone()),
            product: info.map(|info| info.product.clone()),
            task_types: info.map(|info| info.task_types.iter().map(kind).collect()).unwrap_or_default(),
            features: info.map(|info| info.features.clone()).unwrap_or_default(),
            state: plugin.map_or("missing", PluginView::state).to_owned(),
            last_look: look.map(|look| EngineLook {
                at: time::shown(look.at_ms, zone),
                ok: look.message.is_none(),
                answered_at: look.answered_at_ms.map(|at_ms| time::shown(at_ms, zone)),
                message: look.message.clone(),
            }),
            created_at: time::shown(engine.created_at_ms, zone),
            updated_at: time::shown(engine.updated_at_ms, zone),
        }
    }
}

/// The result of testing an engine.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineTest {
    /// No check failed.
    ok: bool,
    /// The engine's version; null: the engine could not be called.
    version: Option<String>,
    checks: Vec<EngineCheck>,
    /// Features of the plugin that this instance lacks.
    missing_features: Vec<String>,
}

/// One check.
#[derive(Serialize, JsonSchema)]
pub struct EngineCheck {
    name: String,
    /// `ok`, `warning`, `failed` or `skipped`.
    outcome: String,
    message: String,
}

impl From<TestReport> for EngineTest {
    fn from(report: TestReport) -> EngineTest {
        let check = |check: lakeport_bindings::engine::deploys::TestCheck| EngineCheck {
            name: check.name,
            outcome: check.outcome,
            message: check.message,
        };
        let is_good = |check: &EngineCheck| matches!(check.outcome.as_str(), "ok" | "warning" | "skipped");
        let checks: Vec<EngineCheck> = report.checks.into_iter().map(check).collect();
        EngineTest {
            ok: checks.iter().all(is_good),
            version: report.version,
            checks,
            missing_features: report.missing_features,
        }
    }
}

/// The outcome of a call by hand, also of one that failed.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineCall {
    /// What the function returned, with the names of the contract; null: the call failed.
    answer: Option<Value>,
    /// Why the call failed.
    error: Option<EngineCallError>,
    /// What the plugin sent and was answered, in order. Secrets are not in it, nor what the plugin may not see.
    requests: Vec<EngineRequest>,
    /// The number of further requests.
    left_out: usize,
}

#[derive(Serialize, JsonSchema)]
pub struct EngineCallError {
    code: &'static str,
    message: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineRequest {
    method: String,
    /// The address, by its name in the plugin's description.
    address: String,
    /// Below the address, with the query.
    path: String,
    /// The first 16,384 characters.
    body: Option<String>,
    /// Null: no answer.
    status: Option<u16>,
    /// The first 16,384 characters.
    answer: Option<String>,
    /// Why there is no answer.
    error: Option<String>,
    took_ms: u64,
}

impl EngineCall {
    pub fn new(answer: Result<Value, Refusal>, recorded: Recorded) -> EngineCall {
        let (answer, error) = match answer {
            Ok(answer) => (Some(answer), None),
            Err(refusal) => (None, Some(EngineCallError { code: refusal.code, message: refusal.message })),
        };
        let requests = recorded.exchanges.into_iter().map(EngineRequest::from).collect();
        EngineCall { answer, error, requests, left_out: recorded.left_out }
    }
}

impl From<Exchange> for EngineRequest {
    fn from(exchange: Exchange) -> EngineRequest {
        let (status, answer, error) = match exchange.answer {
            Some(Ok(answer)) => (Some(answer.status), Some(answer.body), None),
            Some(Err(error)) => (None, None, Some(format!("{}: {}", error.code, error.message))),
            None => (None, None, Some("no answer when the call ended".to_owned())),
        };
        let Exchange { method, address, path, body, took, .. } = exchange;
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        EngineRequest { method, address, path, body, status, answer, error, took_ms }
    }
}
