//! Handlers of tasks.

use lakeport_base::Error;
use lakeport_http::events::{EventStream, asked_after};
use lakeport_http::{Bare, Caller, Json, Nothing};
use uuid::Uuid;

use super::store::Waiting;
use super::stream::{self, TaskEvent};
use super::view::{CancelledTask, DeliveryReceipt, TaskView};
use super::{Status, Task, both, store};
use crate::agent::forms::{DeliverMessage, StreamQuery, TaskPath};
use crate::agent::models::{self, Provider};
use crate::agent::topics::{self, Message, Says, check_owner, may_read};
use crate::agent::{Agent, Call};
use crate::agent::{TOPIC, asked_key};
use crate::audit::{Change, Commit};

/// The most messages of a topic.
const MESSAGES_MAX: i64 = 20_000;
/// Bytes of a topic's messages and events; its last question may go beyond them by what one question may have.
const TOPIC_MAX_BYTES: i64 = 256 * 1024 * 1024;
/// The wait that is suggested when the queue is full, in seconds.
const QUEUE_RETRY_AFTER_S: u64 = 5;

/// `POST /api/v1/nl2sql/tasks/deliver-message`
pub async fn deliver(
    call: Call<Nothing, Nothing, Json<DeliverMessage>>,
) -> Result<Bare<DeliveryReceipt>, Error> {
    let (state, caller, body) = (&call.state, &call.caller, &*call.body);
    let (task_id, now_ms) = (Uuid::now_v7().to_string(), state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    let topic = topics::api::locked(&mut tx, caller, body.topic_id).await?;
    if topic.message_count >= MESSAGES_MAX {
        let message = format!("the topic has {MESSAGES_MAX} messages, the most there can be; open another");
        return Err(Error::conflict("too_many_messages", message));
    }
    if topic.bytes >= TOPIC_MAX_BYTES {
        let mib = TOPIC_MAX_BYTES / 1024 / 1024;
        let message =
            format!("the topic's messages and events have {mib} MiB, the most there can be; open another");
        return Err(Error::conflict("topic_full", message));
    }
    refuse_full(state, store::count_waiting(&mut tx, &caller.key()).await?)?;
    let message = Message {
        message_id: Uuid::now_v7().to_string(),
        task_id: task_id.clone(),
        says: Says::User,
        content: body.content.0.clone(),
        artifacts: "[]".to_owned(),
        outcome: None,
        feedback: None,
        created_at_ms: now_ms,
    };
    topics::store::add_message(&mut tx, topic.id, &message, 0).await?;
    let model = models::store::chosen(&mut tx, topic.model.as_ref().map(|(id, _)| *id)).await?;
    // As they are now: what the answer shows is not for a caller, or a topic, with fewer of them later.
    let rights = both(topic.datasources.as_deref(), caller.datasources.as_deref());
    let new = store::NewTask {
        task_id: &task_id,
        topic: topic.id,
        content: &body.content.0,
        asked_by: &caller.name,
        datasources: rights.as_deref(),
        provider: model.provider.as_str(),
        model: &model.model,
        model_id: (model.provider != Provider::Offline).then_some(model.id),
    };
    store::insert(&mut tx, &new, now_ms).await?;
    tx.changed(TOPIC, asked_key(&task_id));
    let answer = Bare::new(&DeliveryReceipt { accepted: true, task_id: task_id.clone() });
    call.commit(tx, Change::of("agent_task", &task_id), answer).await
}

/// 429 if the queue is full. Half of the places are for other callers.
fn refuse_full(state: &Agent, waiting: Waiting) -> Result<(), Error> {
    let most = state.config.agent.queue_max;
    let is_below = |count: i64, most: usize| usize::try_from(count).is_ok_and(|count| count < most);
    let message = if !is_below(waiting.all, most) {
        format!("{} questions wait already, and {most} may (the setting agent.queue_max)", waiting.all)
    } else if !is_below(waiting.own, most.div_ceil(2)) {
        let half = "half of the setting agent.queue_max; the other half is for others";
        format!("{} of your questions wait already, and {} may, {half}", waiting.own, most.div_ceil(2))
    } else {
        return Ok(());
    };
    Err(Error::too_many("queue_full", message, QUEUE_RETRY_AFTER_S))
}

/// A task that the caller may read, or 404.
pub async fn readable(state: &Agent, caller: &Caller, task_id: Uuid) -> Result<Task, Error> {
    let task = store::find(&state.db, &task_id.to_string()).await?;
    let task = task.filter(|task| may_read(caller, &task.owner));
    task.ok_or_else(|| Error::not_found("task", task_id))
}

/// 404 if what a task shows may be from a data source that the caller may not read any more.
pub fn check_answer(caller: &Caller, task: &Task) -> Result<(), Error> {
    if topics::has_rights(caller, task.datasources.as_deref()) {
        Ok(())
    } else {
        Err(Error::not_found("task", &task.task_id))
    }
}

/// `GET /api/v1/nl2sql/tasks/{task_id}`
pub async fn get(call: Call<TaskPath>) -> Result<Bare<TaskView>, Error> {
    let task = readable(&call.state, &call.caller, call.path.task_id).await?;
    check_answer(&call.caller, &task)?;
    Ok(Bare::new(&task.into()))
}

/// `POST /api/v1/nl2sql/tasks/{task_id}/cancel`
pub async fn cancel(call: Call<TaskPath>) -> Result<Bare<CancelledTask>, Error> {
    let state = &call.state;
    let task = readable(state, &call.caller, call.path.task_id).await?;
    check_owner(&call.caller, &task.owner)?;
    let mut tx = state.db.begin().await?;
    if !store::suspend(&mut tx, task.id, state.clock.now_ms()).await? {
        return Err(Error::conflict("not_running", "the task has ended; there is nothing to cancel"));
    }
    tx.changed(TOPIC, asked_key(&task.task_id));
    let change = Change::of("agent_task", &task.task_id);
    let answer = Bare::new(&CancelledTask { task_id: task.task_id, status: Status::Suspended });
    call.commit(tx, change, answer).await
}

/// `GET /api/v1/nl2sql/tasks/{task_id}/events/stream`
pub async fn events(call: Call<TaskPath, StreamQuery>) -> Result<EventStream<TaskEvent>, Error> {
    let state = &call.state;
    let after = asked_after(&call.headers, call.query.after.map(i64::from))?.unwrap_or(0);
    let task = readable(state, &call.caller, call.path.task_id).await?;
    check_answer(&call.caller, &task)?;
    stream::open(state, task, after).await
}
