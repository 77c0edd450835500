//! The JSON Schemas of plugins. A schema is a plugin's text: its size is bounded, its patterns are matched in linear
//! time, and references out of it are never followed.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use lakeport_base::error::Detail;
use lakeport_base::text::shortened;
use serde_json::{Map, Value};

/// Problems that are named at once.
const PROBLEMS_MAX: usize = 20;
/// Characters of why a schema cannot be used.
const WHY_MAX_CHARS: usize = 300;

/// The most parts of a schema with all references expanded: each value is checked against them.
const PARTS_MAX: usize = 20_000;
/// The deepest nesting of the expanded schema.
const DEPTH_MAX: usize = 100;
/// Bytes of a compiled pattern.
const PATTERN_MAX_BYTES: usize = 1024 * 1024;

/// A schema (2020-12), or why it cannot be used.
pub fn compiled(text: &str) -> Result<Validator, String> {
    let schema: Value =
        serde_json::from_str(text).map_err(|error| format!("the plugin's schema is no JSON: {error}"))?;
    let mut parts = 0;
    if !is_bounded(&schema, &schema, 0, &mut parts) {
        return Err(format!(
            "the plugin's schema cannot be used: with its references written out it has more than {PARTS_MAX} parts or \
             nests deeper than {DEPTH_MAX}, or one leads out of it"
        ));
    }
    let patterns = PatternOptions::regex().size_limit(PATTERN_MAX_BYTES).dfa_size_limit(PATTERN_MAX_BYTES);
    let options = jsonschema::draft202012::options().with_pattern_options(patterns);
    options.build(&schema).map_err(|error| format!("the plugin's schema cannot be used: {error}"))
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

/// The problems of settings that a person typed, each with its place below `root`. Members that the schema does not
/// know are ignored, as in all bodies.
pub fn problems(schema: &str, settings: &Map<String, Value>, root: &str) -> Vec<Detail> {
    let validator = match compiled(schema) {
        Ok(validator) => validator,
        Err(why) => return vec![Detail::new(root, shortened(&why, WHY_MAX_CHARS))],
    };
    let settings = Value::Object(settings.clone());
    let known = validator.iter_errors(&settings).filter(|problem| !is_unknown_member(problem));
    known.take(PROBLEMS_MAX).map(|problem| detail(&problem, root)).collect()
}

fn is_unknown_member(problem: &ValidationError<'_>) -> bool {
    matches!(problem.kind(), ValidationErrorKind::AdditionalProperties { .. })
}

fn detail(problem: &ValidationError<'_>, root: &str) -> Detail {
    let place = problem.instance_path().to_string();
    let mut parts: Vec<&str> = place.split('/').filter(|part| !part.is_empty()).collect();
    parts.insert(0, root);
    // Without the value, which may be long or secret: the place says which it is.
    let mut message = problem.masked_with("the value").to_string();
    if let ValidationErrorKind::Required { property } = problem.kind()
        && let Some(property) = property.as_str()
    {
        parts.push(property);
        message = "is required".to_owned();
    }
    Detail::new(parts.join("."), message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_grows_without_end_or_leads_elsewhere_is_not_used() {
        let level = |n: usize| json!({ "allOf": [{ "$ref": format!("#/$defs/l{}", n + 1) }, { "$ref": format!("#/$defs/l{}", n + 1) }] });
        let mut levels: Map<String, Value> = (0..40).map(|n| (format!("l{n}"), level(n))).collect();
        levels.insert("l40".to_owned(), json!({ "type": "object" }));
        let doubling = json!({ "$defs": levels, "$ref": "#/$defs/l0" });
        let endless = json!({ "properties": { "next": { "$ref": "#" } } });
        let elsewhere = json!({ "$ref": "http://127.0.0.1:9/schema.json" });
        for schema in [doubling, endless, elsewhere] {
            let problems = problems(&schema.to_string(), &Map::new(), "config");
            assert_eq!((problems.len(), problems[0].field.as_str()), (1, "config"));
            assert!(problems[0].message.contains("schema cannot be used"), "{problems:?}");
        }
        assert!(compiled("{").is_err());
        let shared = json!({ "$defs": { "name": { "type": "string" } },
            "properties": { "a": { "$ref": "#/$defs/name" }, "b": { "$ref": "#/$defs/name" } } });
        let settings = json!({ "a": 1, "b": "x" });
        let problems = problems(&shared.to_string(), settings.as_object().unwrap(), "config");
        assert_eq!(problems.iter().map(|one| one.field.as_str()).collect::<Vec<_>>(), ["config.a"]);
    }
}
