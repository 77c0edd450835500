//! Engines as answers show them.

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_bindings::engine::deploys::TestReport;
use lakeport_plugins::PluginView;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::store::EngineRecord;

/// A scheduler that workflows can be deployed to; no secret is ever shown.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Engine")]
pub struct EngineView {
    /// What workflows name as `schedulerEngine`.
    name: String,
    plugin: String,
    config: Map<String, Value>,
    /// The names of the secrets that are set.
    secrets: Vec<String>,
    /// The plugin's version; null: it is not active.
    version: Option<String>,
    /// What is behind the plugin.
    product: Option<String>,
    /// Kinds of task that can be deployed to it.
    task_types: Vec<TaskType>,
    /// What it can do.
    features: Vec<String>,
    /// The plugin's: `active`, `canary`, `staged`, `quarantined` or `missing`.
    state: String,
    created_at: String,
    updated_at: String,
}

/// A kind of task.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskType {
    name: String,
    title: String,
    /// What its text is: `sql`, `shell`, `none` or another language.
    body: String,
    needs_datasource: bool,
    /// Kinds of data sources that it can work on; empty: any.
    datasource_kinds: Vec<String>,
}

impl EngineView {
    /// `plugin` is that of the engine, as it stands, with what it says of itself where it is active.
    pub fn new(
        engine: &EngineRecord,
        plugin: Option<&PluginView>,
        info: Option<&EngineInfo>,
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
            version: info.map(|info| info.version.clone()),
            product: info.map(|info| info.product.clone()),
            task_types: info.map(|info| info.task_types.iter().map(kind).collect()).unwrap_or_default(),
            features: info.map(|info| info.features.clone()).unwrap_or_default(),
            state: plugin.map_or("missing", PluginView::state).to_owned(),
            created_at: time::shown(engine.created_at_ms, zone),
            updated_at: time::shown(engine.updated_at_ms, zone),
        }
    }
}

/// How an engine was found.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EngineTest {
    /// No check failed.
    ok: bool,
    /// What the engine says of itself; null: it could not be asked.
    version: Option<String>,
    checks: Vec<EngineCheck>,
    /// What this instance does without of what its plugin can do.
    missing_features: Vec<String>,
}

/// One thing that was looked at.
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
