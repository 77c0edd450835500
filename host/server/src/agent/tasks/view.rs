//! Tasks in answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Status, Task, Usage};
use crate::agent::steps::background::ContextSize;
use crate::agent::time_of;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentTask")]
pub struct TaskView {
    #[schemars(extend("format" = "uuid"))]
    task_id: String,
    #[schemars(extend("format" = "uuid"))]
    topic_id: String,
    status: Status,
    /// The question.
    content: String,
    /// The error of a failed task.
    error: Option<TaskErrorView>,
    /// The model's provider: `offline`, `openai`, `anthropic`.
    provider: String,
    model: String,
    usage: Usage,
    /// What the model got besides the question; null for `offline`, and until it is collected.
    context: Option<ContextSize>,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    started_at: Option<String>,
    #[schemars(extend("format" = "date-time"))]
    finished_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "AgentTaskError")]
pub struct TaskErrorView {
    code: String,
    message: String,
}

impl From<Task> for TaskView {
    fn from(task: Task) -> TaskView {
        TaskView {
            task_id: task.task_id,
            topic_id: task.topic_id,
            status: task.status,
            content: task.content,
            error: task.error.map(|(code, message)| TaskErrorView { code, message }),
            provider: task.provider,
            model: task.model,
            usage: task.usage,
            context: task.context,
            created_at: time_of(task.created_at_ms),
            started_at: task.started_at_ms.map(time_of),
            finished_at: task.finished_at_ms.map(time_of),
        }
    }
}

/// The immediate answer to a question.
#[derive(Serialize, JsonSchema)]
pub struct DeliveryReceipt {
    pub accepted: bool,
    #[schemars(extend("format" = "uuid"))]
    pub task_id: String,
}

/// The answer to a cancellation.
#[derive(Serialize, JsonSchema)]
pub struct CancelledTask {
    #[schemars(extend("format" = "uuid"))]
    pub task_id: String,
    pub status: Status,
}
