//! `lakeport config --explain`: all settings with their values, sources and meanings.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Config, SETTINGS};

/// One setting with its value.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Setting")]
pub struct Explained {
    pub key: &'static str,
    pub environment: String,
    pub default: &'static str,
    /// Without secrets.
    pub value: String,
    /// `default`, the file and line, the variable or the option.
    pub source: String,
    pub meaning: &'static str,
}

/// All settings, in the table's order.
pub fn explain(config: &Config) -> Vec<Explained> {
    SETTINGS
        .iter()
        .map(|setting| Explained {
            key: setting.key,
            environment: setting.variable(),
            default: setting.default.described(),
            value: (setting.shown)(config),
            source: config.source(setting.key).to_string(),
            meaning: setting.meaning,
        })
        .collect()
}
