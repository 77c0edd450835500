//! Holds every answer against the interface's description: its status is described, and its body has the form.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::Response;

/// Faults of one answer that are shown.
const FAULTS_SHOWN: usize = 5;

/// The description, which a test holds against what the server gives.
static DESCRIPTION: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/server/openapi.json");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).expect("the description is JSON")
});

/// The form of an answer, by operation and status; `None`: it has no JSON body.
type Forms = HashMap<(String, u16), Option<&'static Validator>>;

static FORMS: LazyLock<Mutex<Forms>> = LazyLock::new(Mutex::default);

/// Panics if the description does not allow the answer. A path that is not described may answer anything.
pub fn check(method: &str, path: &str, response: &Response) {
    let path = path.split('?').next().unwrap_or_default();
    let Some(operation) = operation(method, path) else { return };
    let at = format!("{method} {path} answered {}", response.status);
    let described =
        described(operation, response.status).unwrap_or_else(|| panic!("{at}, which is not described"));
    if response.header("etag").is_some() && response.status == 200 {
        assert!(described["headers"]["ETag"].is_object(), "{at} with an ETag, which is not described");
    }
    let id = operation["operationId"].as_str().expect("an id").to_owned();
    let mut forms = FORMS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let form = *forms.entry((id, response.status)).or_insert_with(|| form(described));
    drop(forms);
    let Some(form) = form else { return };
    if response.header("content-type").is_some_and(|media| !media.starts_with("application/json")) {
        // An operation may answer in several media types.
        return;
    }
    if response.header("content-encoding").is_some() {
        // The same body without it is checked elsewhere.
        return;
    }
    let body = response.json();
    let faults: Vec<String> = form
        .iter_errors(&body)
        .take(FAULTS_SHOWN)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{at} and not as described: {faults:#?}\n{response:?}");
}

/// The operation of a path; a written segment wins over a parameter.
fn operation(method: &str, path: &str) -> Option<&'static Value> {
    let parts: Vec<&str> = path.split('/').collect();
    let fits = |template: &&String| {
        let wanted: Vec<&str> = template.split('/').collect();
        let fits =
            |(wanted, part): (&&str, &&str)| wanted == part || (wanted.starts_with('{') && !part.is_empty());
        wanted.len() == parts.len() && wanted.iter().zip(&parts).all(fits)
    };
    let paths = DESCRIPTION["paths"].as_object()?;
    let template = paths.keys().filter(fits).min_by_key(|template| template.matches('{').count())?;
    paths[template].get(method.to_ascii_lowercase())
}

fn described(operation: &'static Value, status: u16) -> Option<&'static Value> {
    let responses = &operation["responses"];
    let default = responses.get("default").filter(|_| status >= 400);
    let described = responses.get(status.to_string()).or(default)?;
    match described["$ref"].as_str() {
        Some(reference) => DESCRIPTION.pointer(reference.trim_start_matches('#')),
        None => Some(described),
    }
}

fn form(described: &Value) -> Option<&'static Validator> {
    let schema = described["content"]["application/json"].get("schema")?;
    // References lead to the components of the whole document.
    let whole = json!({ "components": DESCRIPTION["components"], "allOf": [schema] });
    let validator = jsonschema::draft202012::new(&whole).expect("the description has valid schemas");
    Some(Box::leak(Box::new(validator)))
}
