//! What a plugin's JSON Schema says of settings that a person typed.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use lakeport_base::error::Detail;
use serde_json::{Map, Value};

/// Problems that are named at once.
const PROBLEMS_MAX: usize = 20;

/// The problems of settings, each with its place below `root`. Members that the schema does not know are ignored, as in
/// all bodies.
pub fn problems(schema: &str, settings: &Map<String, Value>, root: &str) -> Vec<Detail> {
    let schema = serde_json::from_str(schema).ok();
    let Some(validator) = schema.and_then(|schema: Value| jsonschema::validator_for(&schema).ok()) else {
        return Vec::new();
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
