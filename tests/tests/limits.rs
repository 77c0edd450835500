//! The bounds of members and parameters: each that the description has is enforced, and each that is enforced is in
//! the description.

use lakeport_tests::{Lake, Response, id_of, stores};
use serde_json::{Value, json};

/// Of a larger body only the first fault is named.
const BODY_MAX_BYTES: usize = 256 * 1024;
/// Longer, more and larger than any bound that a form should have without describing it.
const MUCH: usize = 200_000;
const MANY: i64 = 5_000;
const LARGE: i64 = 1 << 60;

/// A way to a member: names, and `[]` for an item.
type Way = Vec<String>;

/// A member or parameter that was sent out of bounds.
struct Probe<'p> {
    operation: &'p Value,
    field: String,
    schema: &'p Value,
    response: Response,
}

impl Probe<'_> {
    /// What the server says of the member.
    fn told(&self) -> Option<String> {
        let body = self.response.json();
        let details = body["details"].as_array()?;
        let detail = details.iter().find(|detail| detail["field"] == self.field.as_str())?;
        detail["message"].as_str().map(str::to_owned)
    }

    fn what(&self) -> String {
        format!("{} {} {}: {:?}", self.operation["operationId"], self.field, self.schema, self.response)
    }
}

/// Whether a message is about a bound.
fn is_bound(message: &str) -> bool {
    let words = ["at most", "characters", "bytes", "more than", "from 0", "from 1", "must be 1 to"];
    message.contains(|c: char| c.is_ascii_digit()) && words.iter().any(|word| message.contains(word))
}

/// One of each resource that a path may name.
struct Stage {
    lake: Lake,
    table: i64,
    field: i64,
    source: i64,
    workflow: i64,
    task: i64,
    topic: String,
    verified: i64,
    term: i64,
}

impl Stage {
    fn set() -> Stage {
        let lake = Lake::start(&stores()[0]);
        let source = lake.source("bounds.db");
        let table = lake.table(source, "bounds", &[("id", "INTEGER")]);
        let server = &lake.server;
        let field = id_of(&server.get(&format!("/api/v1/tables/{table}/fields")).data()[0]);
        let workflow = id_of(&server.post("/api/v1/workflows", &json!({ "name": "bounds" })).data());
        let task = json!({ "task": {
            "workflowId": workflow, "taskName": "bounds", "taskType": "SQL", "datasourceId": source, "sqlContent": "SELECT 1",
        } });
        let task = id_of(&server.post("/api/v1/tasks", &task).data());
        let topic =
            server.post("/api/v1/nl2sql/topics", &json!({ "title": "bounds" })).json()["topic_id"].clone();
        let topic = topic.as_str().expect("an id").to_owned();
        let verified = json!({ "question": "bounds", "datasource": "bounds.db", "sql": "SELECT 1" });
        let verified = id_of(&server.post("/api/v1/nl2sql/verified", &verified).json());
        let term = json!({ "term": "bounds", "definition": "bounds" });
        let term = id_of(&server.post("/api/v1/nl2sql/glossary", &term).json());
        Stage { lake, table, field, source, workflow, task, topic, verified, term }
    }

    /// What a body must have so that its other members are looked at.
    fn needed(&self, operation: &Value) -> Value {
        match operation["operationId"].as_str().expect("an id") {
            "createDatasource" | "testNewDatasource" => {
                json!({ "name": "a", "kind": "postgres", "url": "postgres://a@192.0.2.1" })
            }
            "createTable" => json!({ "tableName": "a", "dbName": "main" }),
            "updateTables" => json!({ "ids": [self.table], "set": {} }),
            "createTask" => json!({ "task": {
                "workflowId": self.workflow, "taskName": "a", "taskType": "SQL", "datasourceId": self.source,
                "sqlContent": "SELECT 1",
            } }),
            "createTopic" => json!({ "title": "a" }),
            "createVerified" => json!({ "question": "a", "datasource": "bounds.db", "sql": "SELECT 1" }),
            "createTerm" => json!({ "term": "a", "definition": "a" }),
            "importVerified" => json!({ "format": "lakeport.verified/1", "items": [] }),
            "importTerms" => json!({ "format": "lakeport.glossary/1", "items": [] }),
            "updateToolSettings" => json!({ "settings": {} }),
            "createModel" => json!({ "name": "a", "provider": "openai", "model": "a" }),
            "decidePublication" => json!({ "status": "APPROVED" }),
            _ => json!({}),
        }
    }

    fn filled(&self, path: &str) -> String {
        let id = match path.split('/').nth(3).unwrap_or_default() {
            "tables" => self.table,
            "datasources" => self.source,
            "workflows" => self.workflow,
            "tasks" => self.task,
            _ if path.contains("/verified/") => self.verified,
            _ if path.contains("/glossary/") => self.term,
            _ => 1,
        };
        let name = if path.contains("/engines/") { "other" } else { "sqlite" };
        path.replace("{id}", &id.to_string())
            .replace("{fieldId}", &self.field.to_string())
            .replace("{topic_id}", &self.topic)
            .replace("{message_id}", &self.topic)
            .replace("{call_id}", &self.topic)
            .replace("{task_id}", &self.topic)
            .replace("{name}", name)
            .replace("{code}", "1")
            .replace("{recordId}", "1")
            .replace("{versionId}", "1")
            .replace("{version}", "1")
    }
}

/// The first has an error code of its own; the second is told of the table that would have too many.
const TRIED_ELSEWHERE: [&str; 2] = ["canaryPercent", "set.tags"];

/// The schema behind references, and of an optional one that of the value.
fn resolved<'d>(document: &'d Value, schema: &'d Value) -> &'d Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return resolved(
            document,
            document.pointer(reference.trim_start_matches('#')).expect("it leads somewhere"),
        );
    }
    match schema["anyOf"].as_array() {
        Some(choices) => {
            resolved(document, choices.iter().find(|choice| choice["type"] != "null").expect("a choice"))
        }
        None => schema,
    }
}

fn is(schema: &Value, kind: &str) -> bool {
    schema["type"] == kind
        || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|one| one == kind))
}

/// All members of a body, with their ways.
fn members<'d>(document: &'d Value, schema: &'d Value, way: &Way, found: &mut Vec<(Way, &'d Value)>) {
    let schema = resolved(document, schema);
    if !way.is_empty() {
        found.push((way.clone(), schema));
    }
    let then = |step: &str| way.iter().cloned().chain([step.to_owned()]).collect::<Way>();
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        members(document, member, &then(name), found);
    }
    if is(schema, "array") && schema["items"].is_object() {
        members(document, &schema["items"], &then("[]"), found);
    }
}

/// The body with this member beside those that it needs.
fn body_of(needed: Value, way: &[String], value: Value) -> Value {
    match way.split_first() {
        None => value,
        Some((step, rest)) if step == "[]" => json!([body_of(Value::Null, rest, value)]),
        Some((step, rest)) => {
            let mut members = needed.as_object().cloned().unwrap_or_default();
            let inner = members.remove(step).unwrap_or_default();
            members.insert(step.clone(), body_of(inner, rest, value));
            Value::Object(members)
        }
    }
}

fn field_of(way: &[String]) -> String {
    let text = way.join(".");
    text.replace(".[]", "[0]")
}

/// Values just past each bound that the schema has.
fn past(document: &Value, schema: &Value) -> Vec<Value> {
    let bound = |name: &str| schema[name].as_i64();
    let mut values = Vec::new();
    if let Some(most) = bound("maxLength") {
        values.push(json!("a".repeat(most as usize + 1)));
    }
    if let Some(least) = bound("minLength").filter(|least| *least > 0) {
        values.push(json!("a".repeat(least as usize - 1)));
    }
    if let Some(most) = bound("maxItems") {
        values.push(Value::Array((0..=most).map(|number| item(document, schema, number)).collect()));
    }
    values.extend(bound("maximum").and_then(|most| most.checked_add(1)).map(|number| json!(number)));
    values.extend(bound("minimum").map(|least| json!(least - 1)));
    values
}

/// A value past any bound that the schema does not have.
fn beyond(document: &Value, schema: &Value) -> Option<Value> {
    let is_free = schema["enum"].is_null() && schema["const"].is_null() && schema["format"] != "uuid";
    if is(schema, "string") && is_free && schema["maxLength"].is_null() {
        Some(json!("a".repeat(MUCH)))
    } else if is(schema, "array") && schema["maxItems"].is_null() {
        Some(Value::Array((0..MANY).map(|number| item(document, schema, number)).collect()))
    } else if is(schema, "integer") && schema["maximum"].is_null() {
        Some(json!(LARGE))
    } else {
        None
    }
}

/// Items differ, because some lists leave out what comes again.
fn item(document: &Value, schema: &Value, number: i64) -> Value {
    let item = resolved(document, &schema["items"]);
    if is(item, "integer") {
        json!(number + 1)
    } else if is(item, "string") {
        json!(format!("a{number}"))
    } else {
        // A parameter, a verified question or a term: what is not its own is not looked at.
        json!({ "name": format!("a{number}"), "value": "a", "question": format!("a{number}"),
            "datasource": "bounds.db", "sql": "SELECT 1", "term": format!("a{number}"), "definition": "a" })
    }
}

#[test]
fn bounds_are_described_and_described_bounds_hold() {
    let stage = Stage::set();
    let document = stage.lake.server.get("/openapi.json").json();
    let client = stage.lake.server.client();
    let (mut unenforced, mut undescribed, mut held) = (Vec::new(), Vec::new(), 0);
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            // The stream of changes takes any number, and never ends.
            if operation["x-not-yet"] == true || operation["operationId"] == "streamEvents" {
                continue;
            }
            let target = stage.filled(path);
            let json = [("Content-Type", "application/json")];
            let send = |way: &Way, value: Value| {
                let body = body_of(stage.needed(operation), way, value).to_string();
                client.send(&method.to_uppercase(), &target, &json, body.as_bytes())
            };
            let mut found = Vec::new();
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            if body.is_object() {
                members(&document, body, &Vec::new(), &mut found);
            }
            found.retain(|(way, _)| !TRIED_ELSEWHERE.contains(&field_of(way).as_str()));
            for (way, schema) in &found {
                let probe =
                    |value| Probe { operation, field: field_of(way), schema, response: send(way, value) };
                let is_complete = |value: &Value| method == "put" || value.to_string().len() < BODY_MAX_BYTES;
                for probe in past(&document, schema).into_iter().filter(is_complete).map(probe) {
                    held += 1;
                    if probe.response.status != 400 || probe.told().is_none() {
                        unenforced.push(probe.what());
                    }
                }
                let probe = beyond(&document, schema).map(probe);
                undescribed.extend(
                    probe.filter(|probe| probe.told().is_some_and(|told| is_bound(&told))).map(|p| p.what()),
                );
            }
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            for parameter in parameters.filter(|parameter| parameter["in"] == "query") {
                let (name, schema) =
                    (parameter["name"].as_str().expect("a name"), resolved(&document, &parameter["schema"]));
                let probe = |value: Value| {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let response =
                        client.send(&method.to_uppercase(), &format!("{target}?{name}={text}"), &json, b"");
                    Probe { operation, field: name.to_owned(), schema, response }
                };
                for probe in past(&document, schema).into_iter().map(probe) {
                    held += 1;
                    if probe.response.status != 400 || probe.told().is_none() {
                        unenforced.push(probe.what());
                    }
                }
                let large = beyond(&document, schema).filter(Value::is_number).map(probe);
                undescribed.extend(
                    large.filter(|probe| probe.told().is_some_and(|told| is_bound(&told))).map(|p| p.what()),
                );
            }
        }
    }
    assert!(held > 100, "only {held} bounds were tried");
    assert!(
        unenforced.is_empty() && undescribed.is_empty(),
        "described and not enforced: {unenforced:#?}\nenforced and not described: {undescribed:#?}"
    );
}

#[test]
fn a_change_that_knows_no_member_is_refused() {
    let stage = Stage::set();
    let document = stage.lake.server.get("/openapi.json").json();
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let is_change = method != "get" && operation["x-not-yet"] != true;
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            if !is_change || !body.is_object() {
                continue;
            }
            let json = [("Content-Type", "application/json")];
            let send = |body: &str| {
                let client = stage.lake.server.client();
                client.send(&method.to_uppercase(), &stage.filled(path), &json, body.as_bytes())
            };
            let answer = send(r#"{"nonsense": "\u0000"}"#);
            let asks_for_more = resolved(&document, body)["required"].is_array();
            let code = if asks_for_more { "invalid_input" } else { "nothing_to_change" };
            assert_eq!((answer.status, answer.error().as_str()), (400, code), "{path}: {answer:?}");
            tried += 1;
        }
    }
    assert!(tried > 5, "only {tried}");
}
