//! The OpenAPI 3.1 description, generated from the types that parse and answer. It has no other source than
//! the routes.

use std::collections::BTreeSet;

use http::{Method, StatusCode};
use schemars::Schema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::call::JSON_BODY;
use super::route::{Generators, Shape};
use super::{AnswerShape, Operation, Role};

/// The head of the description.
pub struct About {
    pub title: &'static str,
    pub version: &'static str,
    pub description: &'static str,
    /// All error codes, each once.
    pub error_codes: Vec<&'static str>,
    /// Components besides those of the routes' types, such as the events of a stream.
    pub schemas: Vec<(&'static str, Value)>,
    /// The purpose of each tag; a route's tag is the first part of its path.
    pub tags: Vec<(&'static str, &'static str)>,
}

/// Error codes of every route.
const GENERAL_CODES: &[&str] = &["deadline_exceeded", "internal", "invalid_input", "store_busy"];
/// Error codes of routes that require an identity.
const IDENTITY_CODES: &[&str] =
    &["rate_limited", "insufficient_role", "insufficient_scope", "unauthenticated"];

/// Generates the description.
pub fn document(about: &About, operations: &[Operation]) -> Value {
    let components = |settings: SchemaSettings| {
        settings.with(|settings| settings.definitions_path = "/components/schemas".into()).into_generator()
    };
    let mut generators = Generators {
        requests: components(SchemaSettings::draft2020_12().for_deserialize()),
        answers: components(SchemaSettings::draft2020_12().for_serialize()),
    };
    let mut paths: Map<String, Value> = Map::new();
    for route in operations {
        let shape = (route.describe)(&mut generators);
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method.as_str().to_ascii_lowercase()] = operation(route, shape);
    }
    let mut schemas = generators.requests.take_definitions(true);
    for (name, schema) in generators.answers.take_definitions(true) {
        let same = schemas.get(&name).is_none_or(|known| *known == schema);
        assert!(same, "the type {name} is read in one form and answered in another: give them two names");
        schemas.insert(name, schema);
    }
    schemas.extend(about.schemas.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())));
    schemas.insert("Error".to_owned(), error_schema(&about.error_codes));
    schemas.sort_keys();
    paths.sort_keys();
    let tags: Vec<Value> =
        about.tags.iter().map(|(name, about)| json!({ "name": name, "description": about })).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": { "title": about.title, "version": about.version, "description": about.description },
        "servers": [{ "url": "/" }],
        "security": [{ "bearer": [] }, {}],
        "tags": tags,
        "paths": paths,
        "components": {
            "securitySchemes": { "bearer": { "type": "http", "scheme": "bearer" } },
            "parameters": {
                "IdempotencyKey": {
                    "name": "Idempotency-Key", "in": "header", "required": false,
                    "description": "The same key with the same request within 24 hours is answered with the first answer",
                    "schema": { "type": "string", "pattern": "^[!-~]{1,255}$" },
                },
                "IfMatch": {
                    "name": "If-Match", "in": "header", "required": false,
                    "description": "The ETag of the version that was read; 412 when the resource changed since",
                    "schema": { "type": "string" },
                },
                "IfNoneMatch": {
                    "name": "If-None-Match", "in": "header", "required": false,
                    "description": "The ETag of the version that was read; 304 when it is still the same",
                    "schema": { "type": "string" },
                },
                "LastEventId": {
                    "name": "Last-Event-ID", "in": "header", "required": false,
                    "description": "The `id` of the last received event: the stream goes on behind it",
                    "schema": { "type": "string", "pattern": "^[0-9]*$" },
                },
            },
            "responses": {
                "Error": {
                    "description": "It was refused or failed; `error` is stable, `message` is for a person",
                    "headers": { "Retry-After": {
                        "description": "Of 429, and of 503 where a repeat may succeed: the seconds to wait before it",
                        "schema": { "type": "integer", "minimum": 0 },
                    }},
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
                },
            },
            "schemas": schemas,
        },
    });
    add_bounds(&mut document);
    document
}

/// Writes down the bounds of integers with less than 64 bits, which are read as such.
fn add_bounds(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(add_bounds),
        Value::Object(members) => {
            members.values_mut().for_each(add_bounds);
            let (low, high) = match members.get("format").and_then(Value::as_str) {
                Some("uint8") => (0, u32::from(u8::MAX)),
                Some("uint16") => (0, u32::from(u16::MAX)),
                Some("uint32") => (0, u32::MAX),
                _ => return,
            };
            for (bound, number) in [("minimum", low), ("maximum", high)] {
                members.entry(bound).or_insert_with(|| json!(number));
            }
        }
        _ => {}
    }
}

fn operation(route: &Operation, shape: Shape) -> Value {
    let mut parameters = parameters(&shape.path, "path");
    parameters.extend(self::parameters(&shape.query, "query"));
    if route.changes && route.method == Method::POST {
        parameters.push(json!({ "$ref": "#/components/parameters/IdempotencyKey" }));
    }
    if takes_if_match(route) {
        parameters.push(json!({ "$ref": "#/components/parameters/IfMatch" }));
    }
    if route.versioned && route.method == Method::GET {
        parameters.push(json!({ "$ref": "#/components/parameters/IfNoneMatch" }));
    }
    if route.resumable {
        parameters.push(json!({ "$ref": "#/components/parameters/LastEventId" }));
    }
    let mut operation = json!({
        "operationId": route.id,
        "tags": [tag(route.path)],
        "summary": route.about,
        "x-role": route.role.as_str(),
        "x-error-codes": codes(route, &shape),
        "parameters": parameters,
        "responses": responses(route, &shape),
    });
    if route.role == Role::Anyone {
        operation["security"] = json!([]);
    }
    if route.dry_run {
        operation["x-dry-run-role"] = json!(Role::Viewer.as_str());
    }
    if let Some(scope) = route.scope {
        operation["x-scope"] = json!(scope);
    }
    if route.unbound {
        operation["x-unbound"] = json!(true);
    }
    if route.not_yet {
        operation["x-not-yet"] = json!(true);
    }
    if let Some(body) = shape.body {
        let media = json!({ body.media: { "schema": body.schema } });
        operation["requestBody"] = json!({ "required": body.required, "content": media });
    }
    operation
}

fn takes_if_match(route: &Operation) -> bool {
    route.versioned && [Method::PUT, Method::PATCH, Method::DELETE].contains(&route.method)
}

fn responses(route: &Operation, shape: &Shape) -> Value {
    let error = json!({ "$ref": "#/components/responses/Error" });
    let mut responses = Map::new();
    if route.not_yet {
        responses.insert("501".to_owned(), error.clone());
    } else {
        let mut success = json!({ "description": "Success" });
        if let Some(answer) = shape.answer.as_ref().filter(|answer| !answer.media.is_empty()) {
            success["content"] = content(answer);
        }
        let headers = headers(route, shape);
        if !headers.is_empty() {
            success["headers"] = headers.into();
        }
        let status = shape.answer.as_ref().map_or(StatusCode::OK, |answer| answer.status);
        responses.insert(status.as_u16().to_string(), success);
    }
    if let Some((status, when)) = route.also {
        let mut also = json!({ "description": when });
        if let Some(answer) = shape.answer.as_ref().filter(|_| status != 204) {
            also["content"] = content(answer);
        }
        responses.insert(status.to_string(), also);
    }
    if route.versioned && route.method == Method::GET {
        let description = "Not modified: `If-None-Match` names the version that there is";
        responses.insert("304".to_owned(), json!({ "description": description }));
    }
    responses.insert("default".to_owned(), error);
    Value::Object(responses)
}

/// The headers of a success.
fn headers(route: &Operation, shape: &Shape) -> Map<String, Value> {
    let etag = ("ETag", "The version of the resource, for If-Match and If-None-Match");
    let own = shape.answer.as_ref().map_or(&[][..], |answer| answer.headers);
    let all = route.versioned.then_some(&etag).into_iter().chain(own);
    let header = |(name, about): &(&str, &str)| {
        ((*name).to_owned(), json!({ "description": about, "schema": { "type": "string" } }))
    };
    all.map(header).collect()
}

fn content(answer: &AnswerShape) -> Value {
    let media = answer.media.iter().map(|media| ((*media).to_owned(), json!({ "schema": answer.schema })));
    Value::Object(media.collect())
}

fn codes(route: &Operation, shape: &Shape) -> Vec<&'static str> {
    let mut codes: BTreeSet<&'static str> = GENERAL_CODES.iter().copied().collect();
    codes.extend(route.refusals);
    if route.role != Role::Anyone {
        codes.extend(IDENTITY_CODES);
    }
    if route.path.contains('{') {
        codes.insert("not_found");
    }
    if route.method != Method::GET {
        codes.extend([
            "server_busy",
            "body_incomplete",
            "body_missing",
            "body_too_large",
            "invalid_json",
            "unsupported_media_type",
        ]);
    }
    if route.changes && route.method == Method::POST {
        codes.extend(["idempotency_key_invalid", "idempotency_key_reused"]);
    }
    if takes_if_match(route) {
        codes.insert("precondition_failed");
    }
    if shape.body.as_ref().is_some_and(|body| body.media == JSON_BODY) {
        codes.insert("nothing_to_change");
    }
    if route.unbound {
        codes.insert("datasource_not_allowed");
    }
    if route.not_yet {
        codes.insert("not_yet");
    }
    codes.into_iter().collect()
}

/// The properties of a form as parameters.
fn parameters(form: &Schema, place: &str) -> Vec<Value> {
    let Some(properties) = form.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let required = |name: &str| {
        let listed = form.get("required").and_then(Value::as_array);
        place == "path" || listed.is_some_and(|names| names.iter().any(|listed| listed == name))
    };
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = not_null(schema.clone());
        let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
        let mut parameter =
            json!({ "name": name, "in": place, "required": required(name), "schema": schema });
        if let Some(description) = description {
            parameter["description"] = description;
        }
        parameter
    };
    properties.iter().map(parameter).collect()
}

/// A parameter may be absent but cannot be null.
fn not_null(mut schema: Value) -> Value {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            schema["type"] = only.clone();
        }
    }
    if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [only] = choices.as_slice() {
            let only = only.clone();
            let members = schema.as_object_mut().expect("a schema with anyOf is an object");
            members.remove("anyOf");
            members.extend(only.as_object().cloned().unwrap_or_default());
        }
    }
    if let Some(members) = schema.as_object_mut()
        && members.get("default") == Some(&Value::Null)
    {
        members.remove("default");
    }
    schema
}

/// `/api/v1/tables/{id}` belongs to `tables`, `/api/v1/nl2sql/topics` to `nl2sql`, `/health/live` to `health`.
pub fn tag(path: &str) -> &str {
    let rest = path.strip_prefix("/api/v1/").unwrap_or(path.trim_start_matches('/'));
    match rest.split('/').next().unwrap_or_default() {
        "health" | "metrics" | "docs" | "openapi.json" | "icon.svg" | "assets" | "" => "operation",
        first => first,
    }
}

fn error_schema(codes: &[&str]) -> Value {
    json!({
        "type": "object",
        "required": ["code", "error", "message", "data", "requestId"],
        "properties": {
            "code": { "type": "integer", "description": "The HTTP status" },
            "error": { "type": "string", "enum": codes, "description": "Stable: what a program compares" },
            "message": { "type": "string", "description": "For a person" },
            "data": { "type": "null" },
            "requestId": { "type": "string" },
            "details": {
                "type": "array",
                "description": "Every member that is wrong",
                "items": {
                    "type": "object",
                    "required": ["field", "message"],
                    "properties": {
                        "field": { "type": "string", "description": "A path such as task.retryTimes" },
                        "message": { "type": "string" },
                    },
                },
            },
            "statements": {
                "type": "array",
                "description": "Of a physical change that failed: every statement, with its outcome and error",
                "items": { "type": "object" },
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_its_first_noun() {
        assert_eq!(tag("/api/v1/tables/{id}/fields"), "tables");
        assert_eq!(tag("/api/v1/nl2sql/topics"), "nl2sql");
        assert_eq!(tag("/health/live"), "operation");
        assert_eq!(tag("/mcp"), "mcp");
    }

    #[test]
    fn small_integers_have_their_bounds() {
        let mut schema =
            json!({ "a": [{ "type": "integer", "format": "uint8", "minimum": 1 }], "format": {} });
        add_bounds(&mut schema);
        assert_eq!(
            schema["a"][0],
            json!({ "type": "integer", "format": "uint8", "minimum": 1, "maximum": 255 })
        );
        assert_eq!(schema["format"], json!({}));
    }

    #[test]
    fn a_parameter_is_never_null() {
        let schema = json!({ "type": ["integer", "null"], "format": "int64", "default": null });
        assert_eq!(not_null(schema), json!({ "type": "integer", "format": "int64" }));
        let choice = json!({ "anyOf": [{ "$ref": "#/components/schemas/Role" }, { "type": "null" }] });
        assert_eq!(not_null(choice), json!({ "$ref": "#/components/schemas/Role" }));
    }
}
