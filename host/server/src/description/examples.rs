//! Examples and descriptions of the operations. They are in two files, by operation id.
//!
//! An example works as it stands on a fresh demo; `tests/tests/examples.rs` sends each of them. The values of
//! its parameters and its body are `example` in the document. A value that is different on each server is a
//! lookup (`x-example-from`): the page at `/docs` takes it from the answer of another operation. Examples that
//! change something look up what they change by its name, so that they find nothing on a server without the
//! demo.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

const EXAMPLES: &str = include_str!("examples.json");
const DESCRIPTIONS: &str = include_str!("descriptions.json");

/// Operations that delete something without being a DELETE. The page asks before it sends them.
const DESTROYING: [&str; 1] = ["purgeTable"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Examples {
    lookups: BTreeMap<String, Lookup>,
    operations: BTreeMap<String, Example>,
}

/// A value in the answer of an operation that changes nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Lookup {
    operation_id: String,
    /// Its parameters; `{"lookup": name}` is the value of another lookup. Absent parameters of a path are those
    /// of the operation with the example.
    #[serde(default)]
    parameters: Map<String, Value>,
    /// A JSON pointer into the answer, or into the list of a stream's events. The segment `name=value` is the
    /// first item of a list whose member has this value.
    pointer: String,
    /// The operation that makes what is looked up.
    made_by: String,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
struct Example {
    parameters: Map<String, Value>,
    /// The names of lookups, by parameter.
    from: BTreeMap<String, String>,
    body: Option<Value>,
    /// The names of lookups, by JSON pointer into the body.
    body_from: BTreeMap<String, String>,
    /// The operations to send first.
    after: Vec<String>,
    note: Option<String>,
}

/// Adds the examples and the descriptions to the document.
pub fn add(document: &mut Value) {
    let examples = examples();
    let descriptions = descriptions();
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        let id = operation["operationId"].as_str().unwrap_or_default().to_owned();
        if let Some(text) = descriptions.get(&id) {
            operation["description"] = json!(text);
        }
        if DESTROYING.contains(&id.as_str()) {
            operation["x-destroys"] = json!(true);
        }
        if let Some(example) = examples.operations.get(&id) {
            examples.add_to(operation, example);
        }
    }
}

fn examples() -> Examples {
    serde_json::from_str(EXAMPLES).expect("examples.json has the form above")
}

fn descriptions() -> BTreeMap<String, String> {
    serde_json::from_str(DESCRIPTIONS).expect("descriptions.json has texts by operation id")
}

impl Examples {
    fn add_to(&self, operation: &mut Value, example: &Example) {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            if let Some(value) = example.parameters.get(&name) {
                parameter["example"] = value.clone();
            }
            if let Some(lookup) = example.from.get(&name) {
                parameter["x-example-from"] = self.lookup(lookup);
            }
        }
        if let Some(body) = &example.body {
            let media = &mut operation["requestBody"]["content"]["application/json"];
            media["example"] = body.clone();
            let lookups = example.body_from.iter().map(|(place, name)| (place.clone(), self.lookup(name)));
            let lookups: Map<String, Value> = lookups.collect();
            if !lookups.is_empty() {
                media["x-example-from"] = Value::Object(lookups);
            }
        }
        if !example.after.is_empty() {
            operation["x-example-after"] = json!(example.after);
        }
        if let Some(note) = &example.note {
            operation["x-example-note"] = json!(note);
        }
    }

    /// A lookup, complete with those that it needs itself.
    fn lookup(&self, name: &str) -> Value {
        let lookup = self.lookups.get(name).unwrap_or_else(|| panic!("no lookup has the name {name}"));
        let value = |given: &Value| match given["lookup"].as_str() {
            Some(inner) => self.lookup(inner),
            None => given.clone(),
        };
        let parameters = lookup.parameters.iter().map(|(name, given)| (name.clone(), value(given)));
        json!({
            "operationId": lookup.operation_id,
            "parameters": Value::Object(parameters.collect()),
            "pointer": lookup.pointer,
            "madeBy": lookup.made_by,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The committed document, which is the server's: making it here would compile the whole server into these tests.
    fn document() -> Value {
        serde_json::from_str(include_str!("../../openapi.json")).expect("JSON")
    }

    /// The operations of the document, with their methods, by id.
    fn operations(document: &Value) -> BTreeMap<&str, (&str, &Value)> {
        let paths = document["paths"].as_object().expect("paths").values();
        let listed = paths.flat_map(|methods| methods.as_object().expect("methods"));
        let by_id = listed.map(|(method, operation)| {
            (operation["operationId"].as_str().expect("an id"), (method.as_str(), operation))
        });
        by_id.collect()
    }

    fn parameters(operation: &Value) -> BTreeSet<&str> {
        let all = operation["parameters"].as_array().expect("parameters");
        all.iter().filter_map(|parameter| parameter["name"].as_str()).collect()
    }

    fn json_body(operation: &Value) -> &Value {
        &operation["requestBody"]["content"]["application/json"]
    }

    #[test]
    fn examples_name_what_exists() {
        let document = document();
        let operations = operations(&document);
        let examples = examples();
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for (id, example) in &examples.operations {
            let (_, operation) = operations.get(id.as_str()).unwrap_or_else(|| panic!("no operation {id}"));
            let known = parameters(operation);
            for name in example.parameters.keys().chain(example.from.keys()) {
                assert!(known.contains(name.as_str()), "{id} has no parameter {name}");
            }
            assert!(example.body.is_none() || json_body(operation).is_object(), "{id} has no JSON body");
            for place in example.body_from.keys() {
                let there = example.body.as_ref().and_then(|body| body.pointer(place));
                let is_new = place.matches('/').count() == 1;
                assert!(there.is_some() || is_new, "the body of {id} has no {place}");
            }
            for first in &example.after {
                assert!(operations.contains_key(first.as_str()), "{id} comes after {first}, which is none");
            }
            used.extend(example.from.values().chain(example.body_from.values()).map(String::as_str));
        }
        let inner = examples.lookups.values().flat_map(|lookup| lookup.parameters.values());
        used.extend(inner.filter_map(|value| value["lookup"].as_str()));
        let named: BTreeSet<&str> = examples.lookups.keys().map(String::as_str).collect();
        assert_eq!(used, named, "the lookups that are used, and those that are there");
    }

    #[test]
    fn lookups_change_nothing() {
        let document = document();
        let operations = operations(&document);
        for (name, lookup) in &examples().lookups {
            assert!(operations.contains_key(lookup.made_by.as_str()), "{name}: {}", lookup.made_by);
            let id = lookup.operation_id.as_str();
            let (method, operation) = operations.get(id).unwrap_or_else(|| panic!("{name}: no {id}"));
            for parameter in lookup.parameters.keys() {
                let known = parameters(operation);
                assert!(known.contains(parameter.as_str()), "{name}: {id} has no {parameter}");
            }
            let key = json!({ "$ref": "#/components/parameters/IdempotencyKey" });
            let changes = operation["parameters"].as_array().is_some_and(|all| all.contains(&key));
            let reads = *method == "get" || (*method == "post" && !changes);
            assert!(reads && lookup.pointer.starts_with('/'), "{name}: {id} may change something");
        }
    }

    #[test]
    fn each_operation_has_an_example_or_a_note() {
        let document = document();
        for (id, (_, operation)) in operations(&document) {
            let noted = operation["x-example-note"].is_string();
            for parameter in operation["parameters"].as_array().expect("parameters") {
                let has = parameter["example"] != Value::Null || parameter["x-example-from"].is_object();
                let needs = parameter["required"] == true;
                assert!(has || !needs || noted, "{id} has no example of {}", parameter["name"]);
            }
            let body = json_body(operation);
            assert!(body.is_null() || body["example"] != Value::Null, "{id} has no example of its body");
        }
    }

    #[test]
    fn each_operation_has_a_description() {
        let document = document();
        let operations = operations(&document);
        let descriptions = descriptions();
        assert_eq!(
            operations.keys().copied().collect::<BTreeSet<_>>(),
            descriptions.keys().map(String::as_str).collect()
        );
        for (id, text) in &descriptions {
            assert!(text.ends_with('.'), "{id}: {text}");
        }
        for id in DESTROYING {
            assert!(operations.contains_key(id), "no operation {id}");
        }
    }
}
