//! Questions in natural language: topics, their messages, and tasks whose events are streamed; and the same
//! tools for other assistants over MCP. A question's SQL always passes the guard.

pub mod access;
pub mod forms;
mod knowledge;
mod models;
mod outcome;
mod results;
mod steps;
mod tasks;
#[cfg(test)]
mod testing;
mod tools;
mod topics;
mod worker;

use std::sync::{Arc, LazyLock};

use ::http::Method;
use chrono::{DateTime, SecondsFormat, Utc};
use lakeport_base::Error;
use lakeport_egress::{HttpClient, Rule};
use lakeport_http::Role::{Admin, Viewer};
use lakeport_http::{Json, Nothing, Route};
use lakeport_store::Db;

use crate::core::{Core, stands_on_core};
use crate::datasources::Datasources;
use crate::part::{Part, RetentionRule, Start, Worker};
use crate::plugins::{CALL_CODES, Plugins};
use crate::tables::Catalog;
use crate::workflows::tasks::LineageGraph;
use access::{SharedDefinitions, SharedSamples};
use forms::McpMessage;
use models::ModelRecord;
pub use models::sse::Events;
use steps::schema::SchemaCache;
use tasks::log::EventLog;
use tasks::streams::Streams;
use topics::cache::MessageCache;

/// The error codes of queries: of those of an answer, and of a caller's own.
static AGAIN: LazyLock<Vec<&str>> = LazyLock::new(|| [CALL_CODES, &["guard_refused"]].concat());
static OWN: LazyLock<Vec<&str>> =
    LazyLock::new(|| [CALL_CODES, &["datasource_not_allowed", "guard_refused"]].concat());

/// The change log's topic of a task's steps; the key is the task's id. With [`asked_key`] it is a request to
/// the agent: to start, or to stop.
pub const TOPIC: &str = "agent";
const ASKED: &str = "/asked";
/// The change log's topic of the conversations; the key is [`topic_key`].
pub const TOPICS_TOPIC: &str = "topics";

/// The agent: the modules that it uses, and its state in memory.
pub struct Agent {
    core: Arc<Core>,
    plugins: Arc<Plugins>,
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
    graph: Arc<LineageGraph>,
    /// For the requests of models; and for those of the settings' model, whose address the operator chose.
    http: HttpClient,
    http_of_settings: HttpClient,
    schemas: SchemaCache,
    streams: Arc<Streams>,
    log: Arc<EventLog>,
    shared_samples: SharedSamples,
    definitions: SharedDefinitions,
    messages: MessageCache,
}

stands_on_core!(Agent);

pub fn part() -> Part<Agent> {
    Part {
        tags: &[
            ("nl2sql", "Topics, messages, and tasks whose events are streamed"),
            ("mcp", "The agent's tools for other agents, over the Model Context Protocol"),
        ],
        routes: routes(),
        workers: vec![Worker::new(Start::AfterSetUp, worker::run_worker)],
        retained: vec![
            RetentionRule::days(tasks::store::RETAINED, |settings| settings.topics_days),
            RetentionRule::days(models::spent::RETAINED, |settings| settings.audit_days),
        ],
        encrypted_columns: &[models::KEYS],
        error_codes: &[
            "guard_refused",
            "model_failed",
            "model_gone",
            "not_an_answer",
            "not_owner",
            "queue_full",
            "task_running",
            "task_timeout",
            "token_limit",
            "too_many_entries",
            "too_many_models",
            "too_many_steps",
            "too_many_topics",
            "tool_failed",
            "topic_full",
            "too_many_messages",
        ],
        ..Part::default()
    }
}

impl Agent {
    /// Makes the models that are always there, and the one of the settings.
    pub async fn open(
        core: &Arc<Core>,
        plugins: &Arc<Plugins>,
        datasources: &Arc<Datasources>,
        catalog: &Arc<Catalog>,
        graph: &Arc<LineageGraph>,
    ) -> anyhow::Result<Agent> {
        models::ensure(core).await?;
        let http = HttpClient::new(core.egress.clone(), core.config.egress_ca_file.as_deref())?;
        let http_of_settings = match Rule::of_url(&core.config.model.base_url) {
            Ok(rule) => http.and(rule),
            // There is no such model.
            Err(_) => http.clone(),
        };
        Ok(Agent {
            core: Arc::clone(core),
            plugins: Arc::clone(plugins),
            datasources: Arc::clone(datasources),
            catalog: Arc::clone(catalog),
            graph: Arc::clone(graph),
            http,
            http_of_settings,
            schemas: SchemaCache::default(),
            streams: Arc::default(),
            log: Arc::new(EventLog::new(core.db.clone(), core.clock.clone())),
            shared_samples: SharedSamples::default(),
            definitions: SharedDefinitions::default(),
            messages: MessageCache::default(),
        })
    }

    /// The client for a model's requests.
    fn http(&self, model: &ModelRecord) -> &HttpClient {
        let is_of_settings =
            model.name == models::OF_SETTINGS && model.base_url == self.config.model.base_url;
        if is_of_settings { &self.http_of_settings } else { &self.http }
    }

    fn schemas(&self) -> &SchemaCache {
        &self.schemas
    }

    fn log(&self) -> Arc<EventLog> {
        Arc::clone(&self.log)
    }

    fn shared_samples(&self) -> &SharedSamples {
        &self.shared_samples
    }

    fn streams(&self) -> Arc<Streams> {
        Arc::clone(&self.streams)
    }
}

/// The id of a conversation and its owner's key.
fn topic_key(topic_id: &str, owner: &str) -> String {
    format!("{topic_id} {owner}")
}

/// The id of the conversation of a task, and its owner's key.
pub async fn topic_of_task(db: &Db, task_id: &str) -> Result<Option<(String, String)>, Error> {
    const TOPIC_OF: &str = "SELECT t.topic_id, t.owner FROM agent_tasks a JOIN topics t ON t.id = a.topic \
        WHERE a.task_id = $1";
    let rows = db.read(TOPIC_OF, &[task_id.into()]).await?;
    rows.first().map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

fn asked_key(task_id: &str) -> String {
    format!("{task_id}{ASKED}")
}

/// The task that a request is about.
fn asked_of_key(key: &str) -> Option<&str> {
    key.strip_suffix(ASKED)
}

/// The task that a change of [`TOPIC`] is about.
pub fn task_of_key(key: &str) -> &str {
    asked_of_key(key).unwrap_or(key)
}

/// A time in area A's form: RFC 3339, UTC, milliseconds.
fn time_of(at_ms: i64) -> String {
    let at = DateTime::<Utc>::from_timestamp_millis(at_ms).unwrap_or_default();
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Agent, P, Q, B>;

fn routes() -> Vec<Route<Agent>> {
    let mut routes = topics();
    routes.extend(tasks());
    routes.extend(models());
    routes.extend(knowledge::routes());
    routes.extend(tools::routes());
    routes
}

fn topics() -> Vec<Route<Agent>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/topics",
            Viewer,
            "listTopics",
            "List the caller's topics, newest first",
            topics::api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/topics",
            Viewer,
            "createTopic",
            "Create a topic",
            topics::api::create,
        )
        .versioned()
        .refuses(&["datasource_not_allowed", "model_gone", "too_many_topics"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "getTopic",
            "Get a topic",
            topics::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "updateTopic",
            "Update a topic's title, data sources or model",
            topics::api::update,
        )
        .versioned()
        .refuses(&["datasource_not_allowed", "model_gone", "not_owner", "task_running"]),
        Route::new(
            Method::DELETE,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "deleteTopic",
            "Delete a topic with its messages and tasks, unless a task runs",
            topics::api::delete,
        )
        .versioned()
        .refuses(&["not_owner", "task_running"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/topics/{topic_id}/messages",
            Viewer,
            "listMessages",
            "List a topic's messages, oldest first",
            topics::api::messages,
        ),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/messages/{message_id}/feedback",
            Viewer,
            "rateAnswer",
            "Say what you think of an answer; replaces what you said before",
            topics::api::rate,
        )
        .refuses(&["not_an_answer", "not_owner"]),
    ]
}

fn tasks() -> Vec<Route<Agent>> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/tasks/deliver-message",
            Viewer,
            "deliverMessage",
            "Ask a question: stores the message and creates the task that answers it",
            tasks::api::deliver,
        )
        .refuses(&["not_found", "not_owner", "queue_full", "too_many_messages", "topic_full"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/tasks/{task_id}",
            Viewer,
            "getAgentTask",
            "Get the status of a task",
            tasks::api::get,
        ),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/tasks/{task_id}/events/stream",
            Viewer,
            "streamTaskEvents",
            "Stream a task's events as server-sent events (TaskEvent): stored events first, then live ones; 204 after the end",
            tasks::api::events,
        )
        .resumable()
        .also(204, "The task has ended and the reader has seen all its events"),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/tasks/{task_id}/cancel",
            Viewer,
            "cancelAgentTask",
            "Cancel a waiting or running task",
            tasks::api::cancel,
        )
        .refuses(&["not_owner", "not_running"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/tasks/{task_id}/results/{call_id}",
            Viewer,
            "getResult",
            "Get the table of a call as a file; where the answer has only its first rows, the query runs again",
            results::api::result,
        )
        .refuses(&AGAIN),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/run",
            Viewer,
            "runStatement",
            "Run one statement that reads, through the guard, as the caller's query",
            results::api::run_statement,
        )
        .reading()
        .refuses(&OWN),
        Route::not_yet::<Nothing, Nothing, Json<McpMessage>>(
            Method::POST,
            "/mcp",
            Viewer,
            "callMcp",
            "Call the agent's tools, the catalogue and lineage over MCP (streamable HTTP)",
        )
        .reading(),
    ]
}

fn models() -> Vec<Route<Agent>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/models",
            Viewer,
            "listModels",
            "List the models that a topic may name, without their keys",
            models::api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/models",
            Admin,
            "createModel",
            "Create a model",
            models::api::create,
        )
        .unbound()
        .versioned()
        .refuses(&["name_taken", "too_many_models"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/models/{id}",
            Viewer,
            "getModel",
            "Get a model, without its key",
            models::api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/nl2sql/models/{id}",
            Admin,
            "updateModel",
            "Update the given members of a model",
            models::api::update,
        )
        .unbound()
        .versioned()
        .refuses(&["built_in", "name_taken"]),
        Route::new(
            Method::DELETE,
            "/api/v1/nl2sql/models/{id}",
            Admin,
            "deleteModel",
            "Delete a model; its topics use the default one then",
            models::api::delete,
        )
        .unbound()
        .versioned()
        .refuses(&["built_in"]),
        Route::new(
            Method::POST,
            "/api/v1/nl2sql/models/{id}/test",
            Admin,
            "testModel",
            "Send a model one short question with a tool",
            models::api::test,
        )
        .unbound()
        .refuses(&["model_failed"]),
        Route::new(
            Method::GET,
            "/api/v1/nl2sql/usage",
            Viewer,
            "getModelUsage",
            "Get what models were used for, by day, caller and model: the caller's own, or all of them for an admin",
            models::api::usage,
        ),
    ]
}
