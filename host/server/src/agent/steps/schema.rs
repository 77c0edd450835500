//! The schemas of tools, compiled once per generation.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::Validator;
use lakeport_base::text::shortened;
use lakeport_bindings::tool::tool::ToolInfo;
use parking_lot::Mutex;
use serde_json::Value;

use crate::plugins::compiled;

/// The most generations in the cache.
const KEPT_MAX: usize = 200;
/// Faults of one value that are reported.
const FAULTS_SHOWN: usize = 5;
/// Characters of one fault.
const FAULT_MAX_CHARS: usize = 300;
/// Bytes of the settings of a tool, as JSON.
pub const SETTINGS_MAX_BYTES: usize = 64 * 1024;
/// Settings that are named in an error.
const NAMES_SHOWN: usize = 50;

/// The schemas of one generation.
pub struct Schemas {
    input: Result<Validator, String>,
    output: Result<Validator, String>,
    settings: Result<Validator, String>,
    /// The names of the settings; an unknown one is a fault.
    names: Vec<String>,
}

/// By digest.
#[derive(Default)]
pub struct SchemaCache(Mutex<HashMap<Arc<str>, Arc<Schemas>>>);

impl SchemaCache {
    pub fn of(&self, digest: &Arc<str>, info: &ToolInfo) -> Arc<Schemas> {
        if let Some(known) = self.0.lock().get(digest) {
            return Arc::clone(known);
        }
        // Outside of the lock: it takes processor time.
        let schemas = Arc::new(Schemas::compile(info));
        let mut kept = self.0.lock();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(Arc::clone(digest), Arc::clone(&schemas));
        schemas
    }
}

impl Schemas {
    pub fn compile(info: &ToolInfo) -> Schemas {
        let schema: Value = serde_json::from_str(&info.config_schema).unwrap_or_default();
        let properties = schema["properties"].as_object();
        Schemas {
            input: compiled(&info.input_schema),
            output: compiled(&info.output_schema),
            settings: compiled(&info.config_schema),
            names: properties.into_iter().flatten().map(|(name, _)| name.clone()).collect(),
        }
    }

    /// The faults of an input, for a model.
    pub fn check_input(&self, input: &Value) -> Result<(), String> {
        check(&self.input, input)
    }

    /// The faults of settings, with their defaults.
    pub fn check_settings(&self, settings: &Value) -> Result<(), String> {
        let given = settings.as_object().into_iter().flatten();
        let unknown = given.map(|(name, _)| name).find(|name| !self.names.contains(name));
        match unknown {
            Some(_) if self.names.is_empty() => Err("the tool has no settings".to_owned()),
            Some(name) => {
                let names: Vec<&str> = self.names.iter().map(String::as_str).take(NAMES_SHOWN).collect();
                let name = shortened(name, FAULT_MAX_CHARS);
                Err(format!("there is no setting `{name}`; there are: {}", names.join(", ")))
            }
            None => check(&self.settings, settings),
        }
    }

    /// The faults of an output.
    pub fn check_output(&self, output: &Value) -> Result<(), String> {
        check(&self.output, output)
    }
}

fn check(schema: &Result<Validator, String>, value: &Value) -> Result<(), String> {
    let validator = schema.as_ref().map_err(Clone::clone)?;
    let mut faults = Vec::new();
    for error in validator.iter_errors(value).take(FAULTS_SHOWN) {
        let place = error.instance_path().to_string();
        let place = if place.is_empty() { "the whole" } else { place.as_str() };
        faults.push(shortened(&format!("{place}: {error}"), FAULT_MAX_CHARS));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn info(input_schema: Value) -> ToolInfo {
        ToolInfo {
            name: "t".to_owned(),
            title: "t".to_owned(),
            version: "1.0.0".to_owned(),
            description: "t".to_owned(),
            input_schema: input_schema.to_string(),
            output_schema: "{}".to_owned(),
            config_schema: "{}".to_owned(),
            optional_needs: Vec::new(),
            timeout_ms: 1_000,
            max_output_bytes: 1_000,
            addresses: Vec::new(),
            secrets: Vec::new(),
            auth: Vec::new(),
            extra: None,
        }
    }

    #[test]
    fn a_schema_violation_is_explained() {
        let schema = json!({ "type": "object", "required": ["sql"], "additionalProperties": false,
            "properties": { "sql": { "type": "string", "maxLength": 5 } } });
        let schemas = Schemas::compile(&info(schema));
        assert_eq!(schemas.check_input(&json!({ "sql": "a" })), Ok(()));
        for (wrong, told) in [
            (json!({}), "sql"),
            (json!({ "sql": 1 }), "/sql"),
            (json!([]), "the whole"),
            (json!({ "sql": "a", "b": 1 }), "b"),
        ] {
            assert!(schemas.check_input(&wrong).unwrap_err().contains(told), "{wrong}");
        }
        assert_eq!(schemas.check_output(&json!([1])), Ok(()));
    }

    #[test]
    fn settings_fit_their_schema_and_nothing_else() {
        let schema =
            json!({ "type": "object", "properties": { "limit": { "type": "integer", "maximum": 9 } } });
        let of = |config_schema: String| Schemas::compile(&ToolInfo { config_schema, ..info(json!({})) });
        let schemas = of(schema.to_string());
        assert_eq!(schemas.check_settings(&json!({})), Ok(()));
        assert_eq!(schemas.check_settings(&json!({ "limit": 9 })), Ok(()));
        assert!(schemas.check_settings(&json!({ "limit": 10 })).unwrap_err().contains("/limit"));
        assert!(schemas.check_settings(&json!({ "limits": 1 })).unwrap_err().contains("there are: limit"));
        assert!(of("{}".to_owned()).check_settings(&json!({ "a": 1 })).unwrap_err().contains("no settings"));
    }

    #[test]
    fn schemas_are_compiled_once_for_each_generation() {
        let cache = SchemaCache::default();
        let (one, two): (Arc<str>, Arc<str>) = ("1".into(), "2".into());
        let schemas = cache.of(&one, &info(json!({})));
        assert!(Arc::ptr_eq(&schemas, &cache.of(&one, &info(json!({})))));
        assert!(!Arc::ptr_eq(&schemas, &cache.of(&two, &info(json!({})))));
    }
}
