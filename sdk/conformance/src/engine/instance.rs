//! A configured instance from a file, so that the author of an engine's plugin can run the kit from the command line.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono_tz::Tz;
use lakeport_bindings::engine::model::Datasource;
use lakeport_egress::{HttpClient, Policy};
use lakeport_plugins::{
    CallContext, Granted, InstanceConfig, InstanceHttp, Memo, Secrets, chosen_recipe, with_defaults,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bounds, Conformance, Hosted, Prints, Setting, Tasks};
use crate::load::{LoadError, Loaded};
use crate::report::Report;

/// The file: an instance as `POST /api/v1/engines` takes it, and what the kit must know of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InstanceFile {
    /// The settings, by the plugin's schema.
    #[serde(default)]
    config: Map<String, Value>,
    /// By name.
    #[serde(default)]
    secrets: BTreeMap<String, String>,
    /// Destinations that need a permission, as in the server's setting `egress_allow`.
    #[serde(default)]
    egress_allow: Vec<String>,
    /// The platform's time zone, an IANA name. Default: UTC.
    #[serde(default)]
    time_zone: Option<String>,
    tasks: TasksFile,
    /// The longest time that a change, or a run of quick tasks, may take. Default: a minute.
    #[serde(default)]
    patience_seconds: Option<u64>,
    /// The time between two polls where the engine does not say it. Default: 200.
    #[serde(default)]
    poll_milliseconds: Option<u64>,
    /// Whether to wait for a schedule to fire, which takes two minutes. Default: true.
    #[serde(default)]
    fires: Option<bool>,
    /// The most upstream requests of a call of `watch.instances` and of `runs.find`, where the kit's default is too low.
    #[serde(default)]
    requests_of_watch: Option<u64>,
    #[serde(default)]
    requests_of_find: Option<u64>,
}

/// The tasks that the instance can run, all of one type. See [`Tasks`].
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct TasksFile {
    kind: String,
    #[serde(default)]
    datasource: Option<DatasourceFile>,
    #[serde(default)]
    settings: Map<String, Value>,
    succeeds: String,
    fails: String,
    endless: String,
    #[serde(default)]
    slow: Option<String>,
    #[serde(default)]
    log_has: Option<String>,
    #[serde(default)]
    prints: Option<PrintsFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasourceFile {
    name: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PrintsFile {
    before: String,
    after: String,
    /// `literal`, `bare` or `script`.
    place: String,
}

impl TasksFile {
    fn tasks(self) -> Tasks {
        let datasource = |one: DatasourceFile| Datasource { id: 1, name: one.name, kind: one.kind };
        let prints = |one: PrintsFile| Prints { before: one.before, after: one.after, place: one.place };
        Tasks {
            kind: self.kind,
            datasource: self.datasource.map(datasource),
            settings: Value::Object(self.settings).to_string(),
            succeeds: self.succeeds,
            fails: self.fails,
            endless: self.endless,
            slow: self.slow,
            log_has: self.log_has,
            prints: self.prints.map(prints),
        }
    }
}

/// Checks an engine's component with the instance of the file.
pub async fn check(component: Vec<u8>, file: InstanceFile) -> Result<Report, LoadError> {
    let wrong = |what: &str, why: String| LoadError::new(format!("{what} {why}"));
    let time_zone: Tz = match &file.time_zone {
        Some(name) => name.parse().map_err(|_| wrong("timeZone", format!("{name} is no time zone")))?,
        None => Tz::UTC,
    };
    let policy = Policy::parse(&file.egress_allow).map_err(|why| wrong("egressAllow", why))?;
    let client = HttpClient::new(policy, None).map_err(|why| wrong("HTTPS", why.to_string()))?;
    let loaded = Loaded::new(component).await?;
    let generation = Arc::clone(&loaded.generation);
    let engine = loaded.registry.engine(&generation.id.name, "");
    let info = engine.info().map_err(|why| wrong("the component", why.to_string()))?;
    let names: Vec<String> = file.secrets.keys().cloned().collect();
    let recipe = chosen_recipe(&info.auth, &names);
    let settings = with_defaults(&info.config_schema, file.config);
    let granted = Granted {
        addresses: &info.addresses,
        recipes: &info.auth,
        recipe,
        settings: settings.clone(),
        secrets: Secrets::new(file.secrets),
    };
    let instance = Arc::new(InstanceConfig {
        name: "conformance".to_owned(),
        settings,
        auth_recipe: recipe.map(str::to_owned),
        time_zone,
        memo: Arc::new(Memo::default()),
        http: Some(Arc::new(InstanceHttp::new(client, granted))),
    });
    let default = Setting::new(file.tasks.tasks());
    let bounds = Bounds {
        instances: file.requests_of_watch.unwrap_or(default.bounds.instances),
        find: file.requests_of_find.unwrap_or(default.bounds.find),
        ..default.bounds
    };
    let setting = Setting {
        patience: file.patience_seconds.map_or(default.patience, Duration::from_secs),
        poll: file.poll_milliseconds.map_or(default.poll, Duration::from_millis),
        fires: file.fires.unwrap_or(default.fires),
        requests: Some(Box::new(move || generation.counters.snapshot().requests_sent)),
        bounds,
        ..default
    };
    let context =
        move || CallContext { instance: Some(Arc::clone(&instance)), ..CallContext::new("conformance") };
    Ok(Conformance { subject: Hosted::new(engine, context), setting }.run().await)
}
