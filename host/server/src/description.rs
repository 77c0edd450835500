//! The description of the interface at `/openapi.json`, and the page at `/docs` that reads it.

use ::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY};
use ::http::{HeaderValue, Method};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::app::{Call, Route, describe};
use crate::docs;
use crate::error::{CODES, Error};
use crate::http::openapi::About;
use crate::http::{Document, File, Html, Media, Role, Script, Style, etag_of_bytes};

const ABOUT: &str = "Questions in natural language, workflows with publication and backfill, lineage, and the \
                     metadata of tables. Areas B and C answer with `{code, message, data}`, area A \
                     (`/api/v1/nl2sql`) with the bare object; every error has the same form. An operation \
                     marked `x-not-yet` is part of the interface and answers 501 until its room is built.";

/// What each first part of a path is about.
const TAGS: &[(&str, &str)] = &[
    ("nl2sql", "Topics, messages, and tasks whose events are streamed"),
    ("workflows", "Definitions, versions, publication, schedules, backfill"),
    ("backfills", "Backfills under way and done"),
    ("tasks", "Nodes of workflows, bound to the tables they read and write"),
    ("executions", "What ran, when, and how it ended"),
    ("lineage", "Which table is made from which"),
    ("engines", "Schedulers that workflows are deployed to"),
    ("tables", "Definitions of tables, their fields, statistics and recycle bin"),
    ("datasources", "Physical databases"),
    ("plugins", "Connectors, dialects and tools, swapped while the server runs"),
    ("tokens", "Who may ask"),
    ("me", "Who you are and what you may do"),
    ("audit", "Who changed what"),
    ("mcp", "The agent's tools for other people's assistants"),
    ("operation", "Health, figures, and this description"),
];

/// The routes of this room.
pub fn routes() -> Vec<Route> {
    let about = "This description of the interface";
    vec![
        Route::new(Method::GET, "/openapi.json", Role::Anyone, "getOpenApi", about, document),
        Route::new(Method::GET, "/docs", Role::Anyone, "getDocs", "A page to read and try it", page),
        Route::new(Method::GET, "/docs/app.js", Role::Anyone, "getDocsScript", "The page's script", script),
        Route::new(Method::GET, "/docs/style.css", Role::Anyone, "getDocsStyle", "The page's style", style),
    ]
}

/// The document as it is sent.
pub struct Description {
    text: Bytes,
    etag: String,
}

impl Description {
    #[expect(clippy::new_without_default, reason = "making it takes all routes: it is no trifle")]
    pub fn new() -> Description {
        let text: Bytes = describe().to_string().into();
        Description { etag: etag_of_bytes(&text), text }
    }
}

/// What the description says besides the routes.
pub fn about() -> About {
    About {
        title: "Lakeport",
        version: env!("CARGO_PKG_VERSION"),
        description: ABOUT,
        error_codes: CODES.to_vec(),
        schemas: vec![("TaskError", task_error()), ("TaskEvent", task_event())],
        tags: TAGS,
    }
}

/// Why a tool failed. It has a name of its own: generators stumble over an object within one of several forms.
fn task_error() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "properties": { "code": text, "message": text } })
}

/// The events of a task's stream, by their types.
fn task_event() -> Value {
    let event = |kind: &str, properties: Value| {
        let mut members = json!({
            "seq": { "type": "integer", "minimum": 1 },
            "type": { "const": kind },
            "task_id": { "type": "string", "format": "uuid" },
            "created_at": { "type": "string", "format": "date-time" },
        });
        let members = members.as_object_mut().expect("written as an object above");
        members.extend(properties.as_object().cloned().unwrap_or_default());
        let required: Vec<&String> = members.keys().filter(|name| *name != "error").collect();
        json!({ "type": "object", "required": required, "properties": members })
    };
    let text = json!({ "type": "string" });
    let error = json!({ "$ref": "#/components/schemas/TaskError" });
    json!({
        "description": "The data of one server-sent event; its `event` is `type`, its `id` is `seq`",
        "oneOf": [
            event("thinking", json!({ "content": text })),
            event("tool_call", json!({ "call_id": text, "tool": text, "input": {} })),
            event("tool_result", json!({
                "call_id": text, "tool": text, "ok": { "type": "boolean" }, "output": {},
                "duration_ms": { "type": "number" }, "truncated": { "type": "boolean" }, "error": error,
            })),
            event("message", json!({
                "message_id": text, "content": text, "artifacts": { "type": "array", "items": {} },
            })),
            event("error", json!({ "code": text, "message": text, "retryable": { "type": "boolean" } })),
        ],
    })
}

async fn document(call: Call) -> Result<File<Document>, Error> {
    let description = call.state.description();
    Ok(checked_anew(File::new(description.text.clone())).with_etag(&description.etag))
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
    checked_anew(File::new(text))
        .with_header(CONTENT_SECURITY_POLICY, policy)
        .with_etag(&etag_of_bytes(text.as_bytes()))
}

/// A browser may keep it, and asks each time whether it is still the same.
fn checked_anew<M: Media>(file: File<M>) -> File<M> {
    file.with_header(CACHE_CONTROL, HeaderValue::from_static("no-cache"))
}
