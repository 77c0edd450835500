//! Topics and messages in the store.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_http::{PAGE_MAX_BYTES, Paging};
use lakeport_store::{Db, Either, Row, Tx, Value};
use serde::de::DeserializeOwned;

use super::cache::Listed;
use super::{Exchange, Feedback, Message, Says, Topic};
use crate::agent::outcome::Outcome;

/// Columns of a topic, in the order of [`topic`], from an index.
macro_rules! topics {
    () => {
        "SELECT t.id, t.topic_id, t.owner, t.title, t.datasources, t.message_count, t.bytes, t.last_task_id, \
         t.model, (SELECT name FROM models WHERE id = t.model) AS model_name, \
         (SELECT status FROM agent_tasks WHERE task_id = t.last_task_id) AS last_task_status, t.created_at, t.updated_at FROM topics t"
    };
}

fn topic(row: &Row) -> Result<Topic, Error> {
    let mut row = row.by_name();
    let last_task: (Option<String>, Option<String>) =
        (row.get("last_task_id")?, row.get("last_task_status")?);
    let model: (Option<i64>, Option<String>) = (row.get("model")?, row.get("model_name")?);
    Ok(Topic {
        id: row.get("id")?,
        topic_id: row.get("topic_id")?,
        owner: row.get("owner")?,
        title: row.get("title")?,
        datasources: names(row.get("datasources")?)?,
        model: model.0.zip(model.1),
        message_count: row.get("message_count")?,
        bytes: row.get("bytes")?,
        last_task: last_task.0.zip(last_task.1),
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

/// The names of data sources in stored form: a JSON array, or null for all.
pub fn names(text: Option<String>) -> Result<Option<Vec<String>>, Error> {
    stored(text)
}

/// A value that is stored as JSON, or null.
pub fn stored<T: DeserializeOwned>(text: Option<String>) -> Result<Option<T>, Error> {
    text.map(|text| serde_json::from_str(&text).map_err(Error::internal)).transpose()
}

/// The same for writing.
pub fn kept_names(names: Option<&[String]>) -> Result<Value, Error> {
    Ok(names.map(serde_json::to_string).transpose().map_err(Error::internal)?.into())
}

pub async fn find(db: &Db, topic_id: &str) -> Result<Option<Topic>, Error> {
    const FIND: &str = concat!(topics!(), " WHERE t.topic_id = $1");
    db.read(FIND, &[topic_id.into()]).await?.first().map(topic).transpose()
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, topic_id: &str) -> Result<Option<Topic>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(topics!(), " WHERE t.topic_id = $1"),
        postgres: concat!(topics!(), " WHERE t.topic_id = $1 FOR UPDATE OF t"),
    };
    tx.query(tx.words(LOCK), &[topic_id.into()]).await?.first().map(topic).transpose()
}

/// One page of an owner's topics, newest first, and the total.
pub async fn page(db: &Db, owner: &str, paging: &Paging) -> Result<(i64, Vec<Topic>), Error> {
    const COUNT: &str = "SELECT count(*) FROM topics WHERE owner = $1";
    const PAGE: &str = concat!(topics!(), " WHERE t.owner = $1 ORDER BY t.id DESC LIMIT $2 OFFSET $3");
    let total = db.read(COUNT, &[owner.into()]).await?[0].get(0)?;
    let values = [owner.into(), paging.page_size.into(), paging.offset().into()];
    let rows = db.read(PAGE, &values).await?;
    Ok((total, rows.iter().map(topic).collect::<Result<_, _>>()?))
}

pub async fn count_of(tx: &mut Tx, owner: &str) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM topics WHERE owner = $1", &[owner.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// Inserts one; returns its internal id. 503 `model_gone` if its model was deleted just now.
pub async fn insert(tx: &mut Tx, new: &Topic) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO topics (topic_id, owner, title, datasources, created_at, updated_at, model) \
        VALUES ($1, $2, $3, $4, $5, $5, $6) RETURNING id";
    let values = [
        new.topic_id.as_str().into(),
        new.owner.as_str().into(),
        new.title.as_str().into(),
        kept_names(new.datasources.as_deref())?,
        new.created_at_ms.into(),
        model_id(new),
    ];
    let rows = tx.query(INSERT, &values).await.map_err(gone)?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

fn model_id(topic: &Topic) -> Value {
    topic.model.as_ref().map(|(id, _)| *id).into()
}

/// Writes title, data sources and model. 503 `model_gone` if that was deleted just now.
pub async fn update(tx: &mut Tx, changed: &Topic) -> Result<(), Error> {
    const UPDATE: &str =
        "UPDATE topics SET title = $2, datasources = $3, updated_at = $4, model = $5 WHERE id = $1";
    let datasources = kept_names(changed.datasources.as_deref())?;
    let values = [
        changed.id.into(),
        changed.title.as_str().into(),
        datasources,
        changed.updated_at_ms.into(),
        model_id(changed),
    ];
    tx.execute(UPDATE, &values).await.map(drop).map_err(gone)
}

fn gone(error: Error) -> Error {
    error.gone_as("model_gone", "the model of the topic was deleted; name another, or none")
}

/// With its messages, tasks and events.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM topics WHERE id = $1", &[id.into()]).await.map(drop)
}

/// Counts bytes of events.
pub async fn add_bytes(tx: &mut Tx, topic: i64, bytes: i64) -> Result<(), Error> {
    let values = [topic.into(), bytes.into()];
    tx.execute("UPDATE topics SET bytes = bytes + $2 WHERE id = $1", &values).await.map(drop)
}

/// Locks a topic until the transaction ends. False: it was deleted.
pub async fn lock_row(tx: &mut Tx, topic: i64) -> Result<bool, Error> {
    const LOCK: Either = Either {
        sqlite: "SELECT id FROM topics WHERE id = $1",
        postgres: "SELECT id FROM topics WHERE id = $1 FOR UPDATE",
    };
    Ok(!tx.query(tx.words(LOCK), &[topic.into()]).await?.is_empty())
}

/// Inserts a message and counts it, with the bytes of its task's events; a question's task becomes the topic's last one.
/// False: the topic was deleted.
pub async fn add_message(tx: &mut Tx, topic: i64, message: &Message, of_events: i64) -> Result<bool, Error> {
    const COUNT: &str = "UPDATE topics SET message_count = message_count + 1, bytes = bytes + $5, updated_at = $2, \
        last_task_id = CASE WHEN $3 = 'user' THEN $4 ELSE last_task_id END WHERE id = $1";
    const INSERT: &str = "INSERT INTO messages (message_id, topic, task_id, role, content, artifacts, outcome, \
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let (says, task_id) = (message.says.as_str(), message.task_id.as_str());
    let bytes = message.bytes().saturating_add(of_events).into();
    let counted = [topic.into(), message.created_at_ms.into(), says.into(), task_id.into(), bytes];
    if tx.execute(COUNT, &counted).await? == 0 {
        return Ok(false);
    }
    let outcome = message.outcome.as_ref().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let values: [Value; 8] = [
        message.message_id.as_str().into(),
        topic.into(),
        task_id.into(),
        says.into(),
        message.content.as_str().into(),
        message.artifacts.as_str().into(),
        outcome.into(),
        message.created_at_ms.into(),
    ];
    tx.execute(INSERT, &values).await?;
    Ok(true)
}

/// One page of a topic's messages, oldest first, without what was said. 400 if they are too large for a page.
pub async fn listed(db: &Db, topic: &Topic, paging: &Paging) -> Result<Vec<Listed>, Error> {
    const PAGE: &str =
        "SELECT message_id, feedback FROM messages WHERE topic = $1 ORDER BY id LIMIT $2 OFFSET $3";
    check_size(db, topic, paging).await?;
    let values = [topic.id.into(), paging.page_size.into(), paging.offset().into()];
    let listed = |mut row: Row| Ok(Listed { message_id: row.take_text(0)?, feedback: row.get(1)? });
    db.read(PAGE, &values).await?.into_iter().map(listed).collect()
}

/// One page of a topic's messages, oldest first.
pub async fn messages(db: &Db, topic: &Topic, paging: &Paging) -> Result<Vec<Message>, Error> {
    const PAGE: &str = "SELECT message_id, task_id, role, content, artifacts, outcome, created_at, feedback FROM messages \
        WHERE topic = $1 ORDER BY id LIMIT $2 OFFSET $3";
    let values = [topic.id.into(), paging.page_size.into(), paging.offset().into()];
    db.read(PAGE, &values).await?.into_iter().map(message).collect()
}

/// 400 if the messages of a page are too large for it.
async fn check_size(db: &Db, topic: &Topic, paging: &Paging) -> Result<(), Error> {
    const SUMS: &str = "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(max(bytes), 0) AS BIGINT) FROM \
        (SELECT octet_length(content) + octet_length(artifacts) + coalesce(octet_length(outcome), 0) \
        + coalesce(octet_length(feedback), 0) AS bytes FROM messages WHERE topic = $1 ORDER BY id \
        LIMIT $2 OFFSET $3) AS page";
    // The topic's bytes are at least those of its messages: only ratings are not counted, which are short.
    if topic.bytes > PAGE_MAX_BYTES / 2 {
        let values = [topic.id.into(), paging.page_size.into(), paging.offset().into()];
        let sums = db.read(SUMS, &values).await?;
        paging.refuse_over("page_size", sums[0].get(0)?, sums[0].get(1)?)?;
    }
    Ok(())
}

/// The questions that were answered before this task, with their answers, the newest first.
///
/// Only of questions that had no more `rights` than these, to data sources. `None`: all.
pub async fn earlier(
    db: &Db,
    topic: i64,
    task_id: &str,
    rights: Option<&[String]>,
    limit: usize,
) -> Result<Vec<Exchange>, Error> {
    const EARLIER: &str = "SELECT m.task_id, m.role, m.content, m.artifacts, a.datasources, m.outcome \
        FROM messages m LEFT JOIN agent_tasks a ON a.task_id = m.task_id WHERE m.topic = $1 \
        AND m.id < (SELECT min(id) FROM messages WHERE topic = $1 AND task_id = $2) ORDER BY m.id DESC LIMIT $3";
    // Some questions have no answer.
    let rows = limit.saturating_mul(4) as i64;
    let rows = db.read(EARLIER, &[topic.into(), task_id.into(), rows.into()]).await?;
    let (mut answers, mut earlier) = (HashMap::new(), Vec::new());
    for row in rows {
        let (task_id, role, content): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let had = names(row.get(4)?)?;
        let is_within =
            rights.is_none_or(|rights| had.is_some_and(|had| had.iter().all(|name| rights.contains(name))));
        if !is_within {
            continue;
        }
        if says(&role) == Says::Assistant {
            let statements = statements(&row.get::<String>(3)?);
            let sql = statements.iter().map(|sql| format!("\nSQL: {sql}"));
            let answer = std::iter::once(content).chain(sql).collect::<String>();
            let outcome: Option<Outcome> = stored(row.get(5)?)?;
            let candidates = outcome.map(|outcome| outcome.candidates().to_vec()).unwrap_or_default();
            answers.insert(task_id, (answer, candidates));
        } else if let Some((answer, candidates)) = answers.remove(&task_id).filter(|_| earlier.len() < limit)
        {
            earlier.push(Exchange { question: content, answer, candidates });
        }
    }
    Ok(earlier)
}

/// The statements among artifacts.
fn statements(artifacts: &str) -> Vec<String> {
    let artifacts: Vec<serde_json::Value> = serde_json::from_str(artifacts).unwrap_or_default();
    let sql =
        |one: &serde_json::Value| one["sql"].as_str().filter(|_| one["kind"] == "sql").map(str::to_owned);
    artifacts.iter().filter_map(sql).collect()
}

/// Of a message: its internal id, its author, the owner of its topic.
pub async fn author(tx: &mut Tx, message_id: &str) -> Result<Option<(i64, Says, String)>, Error> {
    const FIND: Either = Either {
        sqlite: "SELECT m.id, m.role, t.owner FROM messages m JOIN topics t ON t.id = m.topic WHERE m.message_id = $1",
        postgres: "SELECT m.id, m.role, t.owner FROM messages m JOIN topics t ON t.id = m.topic WHERE m.message_id = $1 \
            FOR UPDATE OF m",
    };
    let rows = tx.query(tx.words(FIND), &[message_id.into()]).await?;
    rows.first().map(|row| Ok((row.get(0)?, says(&row.get::<String>(1)?), row.get(2)?))).transpose()
}

/// Writes what a reader thinks of an answer, in place of what it was before.
pub async fn set_feedback(tx: &mut Tx, id: i64, feedback: &Feedback) -> Result<(), Error> {
    let feedback = serde_json::to_string(feedback).map_err(Error::internal)?;
    tx.execute("UPDATE messages SET feedback = $2 WHERE id = $1", &[id.into(), feedback.into()])
        .await
        .map(drop)
}

fn says(role: &str) -> Says {
    if role == Says::User.as_str() { Says::User } else { Says::Assistant }
}

fn message(mut row: Row) -> Result<Message, Error> {
    let role: String = row.get(2)?;
    Ok(Message {
        message_id: row.take_text(0)?,
        task_id: row.take_text(1)?,
        says: says(&role),
        content: row.take_text(3)?,
        artifacts: row.take_text(4)?,
        outcome: stored(row.get(5)?)?,
        feedback: stored(row.get(7)?)?,
        created_at_ms: row.get(6)?,
    })
}
