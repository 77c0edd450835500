//! Questions in natural language: topics, their messages, and tasks whose events are streamed; and the same
//! tools for other people's assistants over MCP. It never sends a question's SQL anywhere but through the guard.

pub mod forms;

use ::http::Method;

use crate::app::Route;
use crate::http::Role::Viewer;
use crate::http::{Json, Nothing};
use forms::{
    CreateTopic, DeliverMessage, ListQuery, McpMessage, StreamQuery, TaskPath, TopicPath, UpdateTopic,
};

/// The routes of this room. Whoever may read may ask, in topics of their own.
pub fn routes() -> Vec<Route> {
    let mut routes = topics();
    routes.extend(tasks());
    routes
}

fn topics() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, ListQuery, Nothing>(
            Method::GET,
            "/api/v1/nl2sql/topics",
            Viewer,
            "listTopics",
            "Your topics, the newest first",
        ),
        Route::not_yet::<Nothing, Nothing, Json<CreateTopic>>(
            Method::POST,
            "/api/v1/nl2sql/topics",
            Viewer,
            "createTopic",
            "Opens a topic",
        ),
        Route::not_yet::<TopicPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "getTopic",
            "One topic",
        )
        .versioned(),
        Route::not_yet::<TopicPath, Nothing, Json<UpdateTopic>>(
            Method::PUT,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "updateTopic",
            "Changes a topic's title or data sources",
        )
        .versioned(),
        Route::not_yet::<TopicPath, Nothing, Nothing>(
            Method::DELETE,
            "/api/v1/nl2sql/topics/{topic_id}",
            Viewer,
            "deleteTopic",
            "Deletes a topic with its messages and tasks, unless a task runs",
        )
        .versioned(),
        Route::not_yet::<TopicPath, ListQuery, Nothing>(
            Method::GET,
            "/api/v1/nl2sql/topics/{topic_id}/messages",
            Viewer,
            "listMessages",
            "A topic's messages, the oldest first",
        ),
    ]
}

fn tasks() -> Vec<Route> {
    vec![
        Route::not_yet::<Nothing, Nothing, Json<DeliverMessage>>(
            Method::POST,
            "/api/v1/nl2sql/tasks/deliver-message",
            Viewer,
            "deliverMessage",
            "Asks a question: stores the message and the task that answers it",
        ),
        Route::not_yet::<TaskPath, Nothing, Nothing>(
            Method::GET,
            "/api/v1/nl2sql/tasks/{task_id}",
            Viewer,
            "getAgentTask",
            "How far a task is",
        ),
        Route::not_yet::<TaskPath, StreamQuery, Nothing>(
            Method::GET,
            "/api/v1/nl2sql/tasks/{task_id}/events/stream",
            Viewer,
            "streamTaskEvents",
            "A task's events as server-sent events (TaskEvent): what is stored first, then live",
        ),
        Route::not_yet::<TaskPath, Nothing, Nothing>(
            Method::POST,
            "/api/v1/nl2sql/tasks/{task_id}/cancel",
            Viewer,
            "cancelAgentTask",
            "Suspends a task that waits or runs",
        ),
        Route::not_yet::<Nothing, Nothing, Json<McpMessage>>(
            Method::POST,
            "/mcp",
            Viewer,
            "callMcp",
            "The agent's tools, the catalogue and lineage as an MCP server over streamable HTTP",
        )
        .reading(),
    ]
}
