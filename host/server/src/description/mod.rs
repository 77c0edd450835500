//! The OpenAPI description at `/openapi.json`, and the page at `/docs` that shows it.

mod examples;

use std::sync::OnceLock;

use ::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use ::http::{HeaderValue, Method};
use bytes::Bytes;
use lakeport_base::Error;
use lakeport_http::openapi::{self, About};
use lakeport_http::{Document, File, Html, Media, Operation, Role, Route, Script, Style, etag_of_bytes};
use serde_json::{Value, json};

use crate::docs;
use crate::events::TOPICS;
use crate::part::Part;

const ABOUT: &str = "Questions in natural language, workflows with publication and backfill, lineage, and the \
                     metadata of tables. Areas B and C answer with `{code, message, data}`, area A \
                     (`/api/v1/nl2sql`) with the bare object; every error has the same form. An operation \
                     marked `x-not-yet` is not implemented yet and returns 501. Unknown members of a body are \
                     ignored, unknown parameters of a query only by GET.";

fn routes() -> Vec<Route<Description>> {
    let about = "Get this description of the interface";
    vec![
        Route::new(Method::GET, "/openapi.json", Role::Anyone, "getOpenApi", about, document).versioned(),
        Route::new(
            Method::GET,
            "/docs",
            Role::Anyone,
            "getDocs",
            "Read and try the interface in a browser",
            page,
        )
        .versioned(),
        Route::new(
            Method::GET,
            "/docs/app.js",
            Role::Anyone,
            "getDocsScript",
            "Get the script of the documentation page",
            script,
        )
        .versioned(),
        Route::new(
            Method::GET,
            "/docs/style.css",
            Role::Anyone,
            "getDocsStyle",
            "Get the style of the documentation page",
            style,
        )
        .versioned(),
    ]
}

/// The OpenAPI description, generated when it is first requested.
pub struct Description {
    make: fn() -> Value,
    document: OnceLock<(Bytes, String)>,
}

impl Description {
    pub fn new(make: fn() -> Value) -> Description {
        Description { make, document: OnceLock::new() }
    }

    /// The text, and its ETag.
    fn document(&self) -> &(Bytes, String) {
        self.document.get_or_init(|| {
            let text: Bytes = (self.make)().to_string().into();
            let etag = etag_of_bytes(&text);
            (text, etag)
        })
    }
}

pub fn part() -> Part<Description> {
    Part { routes: routes(), ..Part::default() }
}

type Call = lakeport_http::Call<Description>;

/// Generates the document.
pub fn document_of(
    operations: &[Operation],
    tags: Vec<(&'static str, &'static str)>,
    error_codes: Vec<&'static str>,
) -> Value {
    let about = About {
        title: "Lakeport",
        version: env!("CARGO_PKG_VERSION"),
        description: ABOUT,
        error_codes,
        schemas: vec![
            ("ChangeEvent", change_event()),
            ("TaskError", task_error()),
            ("TaskEvent", task_event()),
        ],
        tags,
    };
    let mut document = openapi::document(&about, operations);
    examples::add(&mut document);
    document
}

/// The events of the stream of changes. `x-events` has the data of each event by its name.
fn change_event() -> Value {
    let seq = json!({ "type": "integer", "minimum": 0, "description": "The event's id, to go on from" });
    let of_resource = |kind: &str, about: &str| {
        json!({
            "description": about,
            "type": "object",
            "required": ["seq", "topic", "id", "kind"],
            "properties": {
                "seq": seq,
                "topic": { "enum": TOPICS },
                "id": { "type": ["string", "null"], "description": "The resource; null: any of the topic" },
                "kind": { "const": kind },
            },
        })
    };
    let mark = |about: &str| json!({ "description": about, "type": "object", "required": ["seq"], "properties": { "seq": seq } });
    json!({
        "description": "The data of one server-sent event, by its name",
        "type": "object",
        "required": ["seq"],
        "properties": {
            "seq": seq,
            "topic": { "enum": TOPICS },
            "id": { "type": ["string", "null"] },
            "kind": { "enum": ["changed", "deleted"] },
        },
        "x-events": {
            "alive": mark("Nothing has changed for 10 s"),
            "changed": of_resource("changed", "Read these resources again"),
            "deleted": of_resource("deleted", "The resource does not exist any more"),
            "everything": mark("Read all resources again"),
            "ready": mark("The stream begins, nothing changed"),
        },
    })
}

/// Why a tool failed. It has a name of its own, because generators fail on an anonymous object within
/// `anyOf`.
fn task_error() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "code": text, "message": text } })
}

/// Members that not all events of a type have. Events of before there were outcomes have none.
const OPTIONAL_MEMBERS: [&str; 5] = ["error", "outcome", "candidates", "reason", "suggestions"];

/// The events of a task's stream, by type.
fn task_event() -> Value {
    let event = |kind: &str, about: &str, properties: Value| {
        let mut members = json!({
            "seq": { "type": "integer", "minimum": 1 },
            "type": { "const": kind },
            "task_id": { "type": "string", "format": "uuid" },
            "created_at": { "type": "string", "format": "date-time" },
        });
        let members = members.as_object_mut().expect("written as an object above");
        members.extend(properties.as_object().cloned().unwrap_or_default());
        let required: Vec<&String> =
            members.keys().filter(|name| !OPTIONAL_MEMBERS.contains(&name.as_str())).collect();
        json!({ "description": about, "type": "object", "required": required, "properties": members })
    };
    let text = json!({ "type": "string" });
    let error = json!({ "$ref": "#/components/schemas/TaskError" });
    json!({
        "description": "The data of one server-sent event; its `event` is `type`, its `id` is `seq`",
        "oneOf": [
            event("thinking", "A thought of the agent", json!({ "content": text })),
            event("tool_call", "A call of a tool begins", json!({ "call_id": text, "tool": text, "input": {} })),
            event("tool_result", "The result of a call, or its error", json!({
                "call_id": text, "tool": text, "ok": { "type": "boolean" }, "output": {},
                "duration_ms": { "type": "number" }, "truncated": { "type": "boolean" }, "error": error,
            })),
            event("message", "The answer; the task has succeeded", json!({
                "message_id": text, "content": text,
                "artifacts": { "type": "array", "items": { "$ref": "#/components/schemas/Artifact" } },
                "outcome": { "enum": ["answered", "needs_clarification", "refused"] },
                "candidates": { "type": "array", "items": { "$ref": "#/components/schemas/Candidate" } },
                "reason": text, "suggestions": { "type": "array", "items": text, "maxItems": 3 },
            })),
            event("error", "The task has failed", json!({ "code": text, "message": text, "retryable": { "type": "boolean" } })),
        ],
    })
}

async fn document(call: Call) -> Result<File<Document>, Error> {
    let (text, etag) = call.state.document();
    Ok(revalidating(File::new(text.clone())).with_etag(etag))
}

async fn page(_: Call) -> Result<File<Html>, Error> {
    Ok(file(docs::page()))
}

async fn script(_: Call) -> Result<File<Script>, Error> {
    Ok(file(docs::script()))
}

async fn style(_: Call) -> Result<File<Style>, Error> {
    Ok(file(docs::style()))
}

fn file<M: Media>(text: &'static str) -> File<M> {
    let policy = HeaderValue::from_static(docs::CONTENT_SECURITY_POLICY);
    revalidating(File::new(text))
        .with_header(CONTENT_SECURITY_POLICY, policy)
        .with_etag(&etag_of_bytes(text.as_bytes()))
}

/// A browser may cache it and must revalidate it each time.
fn revalidating<M: Media>(file: File<M>) -> File<M> {
    file.with_header(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
}
