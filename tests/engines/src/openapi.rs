//! Holds requests and answers against the OpenAPI documents that running servers answered. They lie beside the
//! project; without them nothing is checked, and the standard error says so.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::{Map, Value};

/// From the folder of this package.
const DOCUMENTS: &str = "../../../shared/data/dolphinscheduler";
const ROOT: &str = "/dolphinscheduler/";
/// How deep answers are checked.
const DEPTH_MAX: usize = 12;
/// Members that the documents call texts. They are JSON that was written as it is.
const JSON_MEMBERS: [&str; 2] = ["taskParams", "conditionParams"];

/// The document of one version.
#[derive(Debug)]
pub struct Document {
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
}

/// A call of a document.
#[derive(Clone, Copy, Debug)]
pub struct Documented<'d> {
    template: &'d str,
    call: &'d Value,
}

impl Document {
    /// The document of a version, `3.2.1`, read once.
    pub fn of(version: &'static str) -> Option<&'static Document> {
        type Read = HashMap<&'static str, Option<&'static Document>>;
        static READ: OnceLock<Mutex<Read>> = OnceLock::new();
        let mut read = READ.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
        *read.entry(version).or_insert_with(|| {
            let document = Document::read(version);
            if document.is_none() {
                // Past the capture of a test that passes. Nobody may be there to read it.
                let text = format!(
                    "NOT CHECKED: there is no OpenAPI document of DolphinScheduler {version} in {DOCUMENTS}"
                );
                writeln!(std::io::stderr(), "{text}").ok();
            }
            document
        })
    }

    fn read(version: &str) -> Option<&'static Document> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENTS);
        let text = std::fs::read(folder.join(format!("openapi-{version}.json"))).ok()?;
        let mut document: Value = serde_json::from_slice(&text).ok()?;
        let mut object = |pointer: &str| match document.pointer_mut(pointer).map(Value::take) {
            Some(Value::Object(members)) => Some(members),
            _ => None,
        };
        let (paths, schemas) = (object("/paths")?, object("/components/schemas")?);
        Some(Box::leak(Box::new(Document { paths, schemas })))
    }

    /// The call of a method and a path, which begins with `/dolphinscheduler/`.
    pub fn call(&self, method: &str, path: &str) -> Option<Documented<'_>> {
        let segments: Vec<&str> = path.strip_prefix(ROOT)?.split('/').collect();
        let fits = |template: &str| {
            // The document of 3.1 has the root in its paths.
            let template = template.strip_prefix(ROOT).unwrap_or(template);
            let template: Vec<&str> = template.trim_start_matches('/').split('/').collect();
            template.len() == segments.len()
                && template
                    .iter()
                    .zip(&segments)
                    .all(|(part, segment)| part.starts_with('{') || part == segment)
        };
        let mut found: Vec<_> = self.paths.iter().filter(|(template, _)| fits(template)).collect();
        // A path without placeholders is nearer.
        found.sort_by_key(|(template, _)| template.matches('{').count());
        let method = method.to_ascii_lowercase();
        found
            .into_iter()
            .find_map(|(template, calls)| Some(Documented { template, call: calls.get(&method)? }))
    }

    /// What does not fit of a request's parameters.
    pub fn request_problems(&self, of: Documented<'_>, params: &[(String, String)]) -> Vec<String> {
        let known = of.call["parameters"].as_array().into_iter().flatten();
        // Some stand for an object that the server fills in by itself; they have no place.
        let known: Vec<&Value> = known.filter(|param| param.get("in").is_some()).collect();
        let name = |param: &Value| param["name"].as_str().unwrap_or_default().to_owned();
        let mut problems = Vec::new();
        for (sent, value) in params {
            match known.iter().find(|param| name(param) == *sent && param["in"] != "path") {
                None => problems.push(format!("the document has no parameter {sent}")),
                Some(param) => {
                    let is_wrong = !fits_as_text(&param["schema"], value);
                    problems.extend(is_wrong.then(|| format!("the parameter {sent} is {value:?}")));
                }
            }
        }
        for param in known.into_iter().filter(|param| param["required"] == true && param["in"] == "query") {
            let name = name(param);
            // Some documents have the id in a path as a parameter of the query.
            let is_there = params.iter().any(|(sent, _)| *sent == name);
            if !is_there && !of.template.contains(&format!("{{{name}}}")) {
                problems.push(format!("the document requires the parameter {name}"));
            }
        }
        problems
    }

    /// What does not fit of an answer. `entities` names schemas of parts of `data` for which the document has
    /// none: a pointer, where `*` stands for each item, and the schema.
    pub fn answer_problems(
        &self,
        of: Documented<'_>,
        status: u16,
        answer: &Value,
        entities: &[(String, String)],
    ) -> Vec<String> {
        let mut problems = Vec::new();
        let response = &of.call["responses"][status.to_string()];
        if response.is_null() {
            problems.push(format!("the document has no answer with the status {status}"));
        }
        let schema = &response["content"]["*/*"]["schema"];
        self.check(schema, answer, "", 0, &mut problems);
        for (pointer, name) in entities {
            match self.schemas.get(name) {
                None => problems.push(format!("the document has no schema {name}")),
                Some(schema) => {
                    for (place, part) in parts(&answer["data"], pointer) {
                        self.check(schema, part, &place, 0, &mut problems);
                    }
                }
            }
        }
        problems
    }

    fn check(&self, schema: &Value, value: &Value, place: &str, depth: usize, problems: &mut Vec<String>) {
        let schema = match schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next()) {
            Some(name) => self.schemas.get(name).unwrap_or(&Value::Null),
            None => schema,
        };
        // The documents do not say what may be null.
        if value.is_null() || depth > DEPTH_MAX {
            return;
        }
        let is_type = match schema["type"].as_str() {
            Some("integer") => value.is_i64() || value.is_u64(),
            Some("number") => value.is_number(),
            Some("string") => value.is_string(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            // An object without members stands for anything.
            Some("object") if schema.get("properties").is_some() => value.is_object(),
            _ => true,
        };
        if !is_type {
            problems.push(format!("{place} is {value}, which is no {}", schema["type"]));
            return;
        }
        if value.as_str().is_some_and(|text| !is_in_enum(schema, text)) {
            problems.push(format!("{place} is {value}, which is not one of {}", schema["enum"]));
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            self.check(&schema["items"], item, &format!("{place}/{index}"), depth + 1, problems);
        }
        let Some(known) = schema["properties"].as_object() else { return };
        for (name, member) in value.as_object().into_iter().flatten() {
            if JSON_MEMBERS.contains(&name.as_str()) {
                continue;
            }
            match known.get(name) {
                Some(schema) => {
                    self.check(schema, member, &format!("{place}/{name}"), depth + 1, problems);
                }
                None => problems.push(format!("{place} has the member {name}, which the document lacks")),
            }
        }
    }
}

/// Parts of a value, with their places.
fn parts<'v>(value: &'v Value, pointer: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), value)];
    for segment in pointer.split('/').skip(1) {
        let step = |(place, value): (String, &'v Value)| -> Vec<(String, &'v Value)> {
            match segment {
                "*" => {
                    let items = value.as_array().into_iter().flatten().enumerate();
                    items.map(|(index, item)| (format!("{place}/{index}"), item)).collect()
                }
                name => value.get(name).map(|part| (format!("{place}/{name}"), part)).into_iter().collect(),
            }
        };
        found = found.into_iter().flat_map(step).collect();
    }
    found
}

/// Whether a parameter's text is of its type. Some enums of the documents are Java's texts, not names: they say
/// nothing.
fn fits_as_text(schema: &Value, text: &str) -> bool {
    match schema["type"].as_str() {
        Some("integer") => text.parse::<i64>().is_ok(),
        Some("boolean") => matches!(text, "true" | "false"),
        _ => is_in_enum(schema, text),
    }
}

fn is_in_enum(schema: &Value, text: &str) -> bool {
    let Some(words) = schema["enum"].as_array() else { return true };
    let is_text = |word: &Value| word.as_str().is_some_and(|word| word.contains('{'));
    words.iter().any(|word| word == text || is_text(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Document {
        let object = |value: Value| value.as_object().cloned().expect("an object");
        let parameters = json!([
            {"name": "projectCode", "in": "path", "required": true, "schema": {"type": "integer"}},
            {"name": "pageNo", "in": "query", "required": true, "schema": {"type": "integer"}},
            {"name": "type", "in": "query", "schema": {"type": "string", "enum": ["A", "B"]}},
            {"name": "filled", "required": true, "schema": {"type": "string"}},
        ]);
        let schema = json!({"$ref": "#/components/schemas/Result"});
        let responses = json!({"200": {"content": {"*/*": {"schema": schema}}}});
        Document {
            paths: object(json!({
                "/projects/{projectCode}/rows": {"get": {"parameters": parameters, "responses": responses}},
                "/projects/{projectCode}/{id}": {"get": {}},
            })),
            schemas: object(json!({
                "Result": {"type": "object", "properties": {"code": {"type": "integer"}, "data": {"type": "object"}}},
                "Row": {"type": "object", "properties": {
                    "state": {"type": "string", "enum": ["ON", "OFF"]}, "id": {"type": "integer"}}},
            })),
        }
    }

    #[test]
    fn a_wrong_request_is_seen() {
        let document = document();
        let call = document.call("GET", "/dolphinscheduler/projects/7/rows").expect("the nearer one");
        let problems = |params: &[(&str, &str)]| {
            let params: Vec<(String, String)> =
                params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            document.request_problems(call, &params)
        };
        assert_eq!(problems(&[("pageNo", "1"), ("type", "A")]), Vec::<String>::new());
        assert_eq!(problems(&[("pageNo", "x"), ("type", "C"), ("other", "")]).len(), 3);
        assert_eq!(problems(&[]), ["the document requires the parameter pageNo"]);
        assert!(document.call("POST", "/dolphinscheduler/projects/7/rows").is_none());
        assert!(document.call("GET", "/dolphinscheduler/rows").is_none());
    }

    #[test]
    fn a_wrong_answer_is_seen() {
        let document = document();
        let call = document.call("GET", "/dolphinscheduler/projects/7/rows").expect("it is there");
        let rows = [("/rows/*".to_owned(), "Row".to_owned())];
        let problems = |status, answer: Value| document.answer_problems(call, status, &answer, &rows);
        let right = json!({"code": 0, "data": {"rows": [{"state": "ON", "id": 1}, {"state": null}]}});
        assert_eq!(problems(200, right), Vec::<String>::new());
        assert_eq!(problems(201, json!({"code": 0})).len(), 1);
        let wrong =
            json!({"code": "0", "extra": 1, "data": {"rows": [{"state": "UP", "id": "1", "more": 1}]}});
        assert_eq!(problems(200, wrong).len(), 5);
    }

    #[test]
    fn the_documents_are_read() {
        for version in ["3.1.1", "3.2.1", "3.3-dev"] {
            if let Some(document) = Document::of(version) {
                assert!(document.paths.len() > 200 && document.schemas.len() > 30, "{version}");
            }
        }
    }
}
