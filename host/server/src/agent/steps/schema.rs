//! The schemas of tools, compiled once per generation. A schema is a plugin's text: its patterns are matched
//! in linear time, and external references are never fetched.

use std::collections::HashMap;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use lakeport_base::text::shortened;
use lakeport_bindings::tool::tool::ToolInfo;
use parking_lot::Mutex;
use serde_json::Value;

/// The most generations in the cache.
const KEPT_MAX: usize = 200;
/// Faults of one value that are reported.
const FAULTS_SHOWN: usize = 5;
/// Characters of one fault.
const FAULT_MAX_CHARS: usize = 300;
/// The most parts of a schema with all references expanded: each value is checked against them.
const PARTS_MAX: usize = 20_000;
/// The deepest nesting of the expanded schema.
const DEPTH_MAX: usize = 100;
/// Bytes of the settings of a tool, as JSON.
pub const SETTINGS_MAX_BYTES: usize = 64 * 1024;
/// Settings that are named in an error.
const NAMES_SHOWN: usize = 50;
/// Bytes of a compiled pattern.
const PATTERN_MAX_BYTES: usize = 1024 * 1024;

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
            input: compile(&info.input_schema),
            output: compile(&info.output_schema),
            settings: compile(&info.config_schema),
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

fn compile(text: &str) -> Result<Validator, String> {
    let schema: Value =
        serde_json::from_str(text).map_err(|error| format!("the schema is no JSON: {error}"))?;
    let mut parts = 0;
    if !is_bounded(&schema, &schema, 0, &mut parts) {
        return Err(format!(
            "the tool's schema cannot be used: with its references written out it has more than {PARTS_MAX} parts or \
             nests deeper than {DEPTH_MAX}, or one leads out of it"
        ));
    }
    let patterns = PatternOptions::regex().size_limit(PATTERN_MAX_BYTES).dfa_size_limit(PATTERN_MAX_BYTES);
    let options = jsonschema::draft202012::options().with_pattern_options(patterns);
    options.build(&schema).map_err(|error| format!("the tool's schema cannot be used: {error}"))
}

/// A few lines of nested references can expand to more parts than could ever be checked.
fn is_bounded(root: &Value, part: &Value, depth: usize, parts: &mut usize) -> bool {
    *parts += 1;
    if *parts > PARTS_MAX || depth > DEPTH_MAX {
        return false;
    }
    let mut go_on = |next: &Value| is_bounded(root, next, depth + 1, parts);
    match part {
        Value::Array(items) => items.iter().all(go_on),
        Value::Object(members) => members.iter().all(|(name, member)| match (name.as_str(), member) {
            ("$ref" | "$dynamicRef", Value::String(to)) => {
                to.strip_prefix('#').and_then(|pointer| root.pointer(pointer)).is_some_and(&mut go_on)
            }
            _ => go_on(member),
        }),
        _ => true,
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
    fn a_schema_that_grows_without_end_is_not_used() {
        let level = |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/l{}", n + 1) }, { "$ref": format!("#/$defs/l{}", n + 1) }] });
        let mut levels: serde_json::Map<String, Value> =
            (0..40).map(|n| (format!("l{n}"), level(n))).collect();
        levels.insert("l40".to_owned(), json!({ "type": "object" }));
        let doubling = json!({ "$defs": levels, "$ref": "#/$defs/l0" });
        let endless = json!({ "properties": { "next": { "$ref": "#" } } });
        let elsewhere = json!({ "$ref": "https://example.org/schema.json" });
        for schema in [doubling, endless, elsewhere] {
            let schemas = Schemas::compile(&info(schema));
            assert!(schemas.check_input(&json!({})).unwrap_err().contains("cannot be used"));
        }
        let shared = json!({ "$defs": { "name": { "type": "string" } },
            "properties": { "a": { "$ref": "#/$defs/name" }, "b": { "$ref": "#/$defs/name" } } });
        assert!(Schemas::compile(&info(shared)).check_input(&json!({ "a": 1 })).unwrap_err().contains("/a"));
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
    fn a_schema_that_points_elsewhere_is_never_followed() {
        let schemas = Schemas::compile(&info(json!({ "$ref": "http://127.0.0.1:9/schema.json" })));
        assert!(schemas.check_input(&json!({})).is_err());
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
