//! The settings of the configured instance. The host has checked them against the schema of [`crate::about`].

use std::collections::BTreeMap;

use lakeport_sdk::engine::{Error, config};
use lakeport_sdk::serde_json::{self, Value};

use crate::flavour::{self, Flavour};

/// The worker group that every DolphinScheduler has.
const WORKER_GROUP: &str = "default";
/// The tenant that 3.2 and later have.
const TENANT: &str = "default";
/// No environment.
const ENVIRONMENT: i64 = -1;

/// The settings.
#[derive(Clone, Debug)]
pub struct Settings {
    pub project_name: String,
    /// The pinned version, `None` to find it out by asking.
    pub version: Option<&'static Flavour>,
    /// Absent: the default one, which 3.1 does not have.
    pub tenant: Option<String>,
    pub worker_group: String,
    pub environment_code: i64,
    /// The zone of the server's clock: its API writes and reads times without a zone.
    pub time_zone: String,
    /// Whether it makes the dates of a backfill itself.
    pub native_backfill: bool,
    /// Lakeport's names of data sources with the names that they have there, where they differ.
    datasources: BTreeMap<String, String>,
}

impl Settings {
    /// Those of this call.
    pub fn read() -> Result<Settings, Error> {
        let settings: Value = serde_json::from_str(&config::settings())?;
        let text = |name: &str| settings[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let datasources = settings["datasources"].as_object().into_iter().flatten();
        Ok(Settings {
            project_name: text("projectName")
                .ok_or_else(|| Error::invalid_input("the setting `projectName` is missing"))?,
            version: text("version").map(|version| flavour::of_version(&version)).transpose()?,
            tenant: text("tenant"),
            worker_group: text("workerGroup").unwrap_or_else(|| WORKER_GROUP.to_owned()),
            environment_code: settings["environmentCode"].as_i64().unwrap_or(ENVIRONMENT),
            time_zone: text("timeZone").unwrap_or_else(config::time_zone),
            native_backfill: settings["nativeBackfill"].as_bool().unwrap_or_default(),
            datasources: datasources
                .filter_map(|(name, there)| Some((name.clone(), there.as_str()?.to_owned())))
                .collect(),
        })
    }

    pub fn tenant(&self) -> &str {
        self.tenant.as_deref().unwrap_or(TENANT)
    }

    /// The name that DolphinScheduler has for a data source.
    pub fn name_there<'s>(&'s self, name: &'s str) -> &'s str {
        self.datasources.get(name).map_or(name, String::as_str)
    }

    /// The reverse, for imports.
    pub fn name_here<'s>(&'s self, there: &'s str) -> &'s str {
        let found = self.datasources.iter().find(|(_, name)| *name == there);
        found.map_or(there, |(name, _)| name.as_str())
    }
}
