//! Tasks and their events in the store.

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Tx, Value};

use super::event::Step;
use super::{Status, Task, Usage};
use crate::agent::models::spent::Spent;
use crate::agent::steps::background::ContextSize;
use crate::agent::topics::store::{kept_names, names, stored};

/// The events of long finished tasks. Messages stay as long as their topics.
pub const RETAINED: Retained = Retained {
    what: "agent_events",
    table: "agent_events",
    purge: "DELETE FROM agent_events WHERE (task, seq) IN (SELECT e.task, e.seq FROM agent_events e \
            JOIN agent_tasks t ON t.id = e.task WHERE e.created_at < $1 AND t.finished_at < $1 \
            ORDER BY e.created_at LIMIT $2)",
};

/// Columns of a task, in the order of [`task`].
macro_rules! tasks {
    () => {
        "SELECT a.id, a.task_id, a.topic, t.topic_id, t.owner, t.datasources AS topic_datasources, a.status, a.content, a.asked_by, \
         a.datasources, a.provider, a.model, a.model_id, a.model_calls, a.tool_calls, a.input_tokens, a.output_tokens, \
         a.cost_micros, a.context, a.error_code, a.error_message, a.last_seq, a.claims, a.created_at, a.started_at, a.finished_at \
         FROM agent_tasks a JOIN topics t ON t.id = a.topic"
    };
}

fn task(row: &Row) -> Result<Task, Error> {
    let mut row = row.by_name();
    let error: (Option<String>, Option<String>) = (row.get("error_code")?, row.get("error_message")?);
    Ok(Task {
        id: row.get("id")?,
        task_id: row.get("task_id")?,
        topic: row.get("topic")?,
        topic_id: row.get("topic_id")?,
        owner: row.get("owner")?,
        topic_datasources: names(row.get("topic_datasources")?)?,
        status: status(&row.get::<String>("status")?)?,
        content: row.get("content")?,
        asked_by: row.get("asked_by")?,
        datasources: names(row.get("datasources")?)?,
        provider: row.get("provider")?,
        model: row.get("model")?,
        model_id: row.get("model_id")?,
        context: stored(row.get("context")?)?,
        usage: Usage {
            model_calls: row.get("model_calls")?,
            tool_calls: row.get("tool_calls")?,
            input_tokens: row.get("input_tokens")?,
            output_tokens: row.get("output_tokens")?,
            cost_micros: row.get("cost_micros")?,
        },
        error: error.0.zip(error.1),
        last_seq: row.get("last_seq")?,
        claims: row.get("claims")?,
        created_at_ms: row.get("created_at")?,
        started_at_ms: row.get("started_at")?,
        finished_at_ms: row.get("finished_at")?,
    })
}

fn status(text: &str) -> Result<Status, Error> {
    Status::named(text).ok_or_else(|| Error::internal(anyhow::anyhow!("`{text}` is no status of a task")))
}

pub async fn find(db: &Db, task_id: &str) -> Result<Option<Task>, Error> {
    const FIND: &str = concat!(tasks!(), " WHERE a.task_id = $1");
    db.read(FIND, &[task_id.into()]).await?.first().map(task).transpose()
}

/// The data sources that a topic's questions might read, each list once. `None`: all.
pub async fn rights_of(db: &Db, topic: i64) -> Result<Vec<Option<Vec<String>>>, Error> {
    const RIGHTS: &str = "SELECT DISTINCT datasources FROM agent_tasks WHERE topic = $1";
    db.read(RIGHTS, &[topic.into()]).await?.iter().map(|row| names(row.get(0)?)).collect()
}

/// A new question.
pub struct NewTask<'n> {
    pub task_id: &'n str,
    pub topic: i64,
    pub content: &'n str,
    pub asked_by: &'n str,
    pub datasources: Option<&'n [String]>,
    pub provider: &'n str,
    pub model: &'n str,
    /// `None`: `offline`.
    pub model_id: Option<i64>,
}

pub async fn insert(tx: &mut Tx, new: &NewTask<'_>, now_ms: i64) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO agent_tasks (task_id, topic, status, content, asked_by, datasources, provider, \
        model, created_at, model_id) VALUES ($1, $2, 'waiting', $3, $4, $5, $6, $7, $8, $9)";
    let values: [Value; 9] = [
        new.task_id.into(),
        new.topic.into(),
        new.content.into(),
        new.asked_by.into(),
        kept_names(new.datasources)?,
        new.provider.into(),
        new.model.into(),
        now_ms.into(),
        new.model_id.into(),
    ];
    tx.execute(INSERT, &values).await.map(drop)
}

/// The numbers of waiting questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    pub all: i64,
    /// In this owner's topics.
    pub own: i64,
}

/// Counts the waiting questions.
pub async fn count_waiting(tx: &mut Tx, owner: &str) -> Result<Waiting, Error> {
    const COUNT: &str = "SELECT count(*), CAST(coalesce(sum(CASE WHEN t.owner = $1 THEN 1 ELSE 0 END), 0) AS BIGINT) \
        FROM agent_tasks a JOIN topics t ON t.id = a.topic WHERE a.status = 'waiting' AND a.finished_at IS NULL";
    let rows = tx.query(COUNT, &[owner.into()]).await?;
    Ok(Waiting { all: rows[0].get(0)?, own: rows[0].get(1)? })
}

/// An unfinished task of the topic, if any; it cannot start before the transaction ends.
pub async fn lock_open(tx: &mut Tx, topic: i64) -> Result<Option<String>, Error> {
    const OPEN: Either = Either {
        sqlite: "SELECT task_id FROM agent_tasks WHERE topic = $1 AND finished_at IS NULL ORDER BY id LIMIT 1",
        postgres: "SELECT task_id FROM agent_tasks WHERE topic = $1 AND finished_at IS NULL ORDER BY id LIMIT 1 \
            FOR UPDATE",
    };
    tx.query(tx.words(OPEN), &[topic.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// The unfinished tasks of the topic, with whether each is running; none can start before the transaction ends.
pub async fn lock_all_open(tx: &mut Tx, topic: i64) -> Result<Vec<(String, bool)>, Error> {
    const OPEN: Either = Either {
        sqlite: "SELECT task_id, status = 'running' FROM agent_tasks WHERE topic = $1 AND finished_at IS NULL ORDER BY id",
        postgres: "SELECT task_id, status = 'running' FROM agent_tasks WHERE topic = $1 AND finished_at IS NULL \
            ORDER BY id FOR UPDATE",
    };
    let rows = tx.query(tx.words(OPEN), &[topic.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Suspends a waiting or running task, and counts its events in the topic; false, and nothing may be committed: it has ended.
pub async fn suspend(tx: &mut Tx, id: i64, now_ms: i64) -> Result<bool, Error> {
    const COUNT: &str = "UPDATE topics SET bytes = bytes + (SELECT CAST(coalesce(sum(octet_length(data) \
        + coalesce(octet_length(kept), 0)), 0) AS BIGINT) FROM agent_events WHERE task = $1) \
        WHERE id = (SELECT topic FROM agent_tasks WHERE id = $1)";
    const SUSPEND: &str = "UPDATE agent_tasks SET status = 'suspended', finished_at = $2 \
        WHERE id = $1 AND status IN ('waiting', 'running')";
    const LOCK: Either = Either {
        sqlite: "SELECT id FROM topics WHERE id = (SELECT topic FROM agent_tasks WHERE id = $1)",
        postgres: "SELECT id FROM topics WHERE id = (SELECT topic FROM agent_tasks WHERE id = $1) FOR UPDATE",
    };
    // The topic before the task, as everywhere; the events when no more can come.
    tx.query(tx.words(LOCK), &[id.into()]).await?;
    let is_suspended = tx.execute(SUSPEND, &[id.into(), now_ms.into()]).await? > 0;
    if is_suspended {
        tx.execute(COUNT, &[id.into()]).await?;
    }
    Ok(is_suspended)
}

/// The status of a task and the number of its last event. `None`: deleted.
pub async fn progress(db: &Db, id: i64) -> Result<Option<(Status, i64)>, Error> {
    let rows = db.read("SELECT status, last_seq FROM agent_tasks WHERE id = $1", &[id.into()]).await?;
    rows.first().map(|row| Ok((status(&row.get::<String>(0)?)?, row.get(1)?))).transpose()
}

/// An event to send: number, type, data.
pub type Sent = (i64, String, String);

/// Events after this one, in order.
pub async fn events_after(
    db: &Db,
    id: i64,
    after: i64,
    limit: i64,
    limit_bytes: i64,
) -> Result<Vec<Sent>, Error> {
    const AFTER: &str = "SELECT seq, type, data FROM (SELECT seq, type, data, \
        sum(octet_length(data)) OVER (ORDER BY seq) - octet_length(data) AS bytes_before FROM \
        (SELECT seq, type, data FROM agent_events WHERE task = $1 AND seq > $2 ORDER BY seq LIMIT $3) AS next) \
        AS counted WHERE bytes_before < $4 ORDER BY seq";
    let rows = db.read(AFTER, &[id.into(), after.into(), limit.into(), limit_bytes.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
}

/// All steps of a task so far; `None` if one cannot be parsed.
pub async fn steps(db: &Db, id: i64) -> Result<Option<Vec<Step>>, Error> {
    const ALL: &str = "SELECT type, data, kept FROM agent_events WHERE task = $1 ORDER BY seq";
    let mut steps = Vec::new();
    for row in db.read(ALL, &[id.into()]).await? {
        let (kind, data, kept): (String, String, Option<String>) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let Some(step) = Step::read(&kind, &data, kept.as_deref()) else { return Ok(None) };
        steps.push(step);
    }
    Ok(Some(steps))
}

/// The lease under which a task runs: name and epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    pub name: String,
    pub epoch: i64,
}

/// The next tasks to start, so many at most: the oldest ones that are first in their topics, in turns of their owners.
/// On one worker an owner has this many at once, so that others need not wait for all of theirs; without tokens there is
/// one owner.
pub async fn next_waiting(
    db: &Db,
    worker: &str,
    of_one_owner: usize,
    limit: usize,
) -> Result<Vec<i64>, Error> {
    const NEXT: &str = "SELECT id FROM (SELECT a.id, t.owner, \
        row_number() OVER (PARTITION BY t.owner ORDER BY a.id) + coalesce(now.running, 0) AS turn \
        FROM agent_tasks a JOIN topics t ON t.id = a.topic LEFT JOIN (SELECT o.owner, count(*) AS running \
        FROM agent_tasks r JOIN topics o ON o.id = r.topic \
        WHERE r.status = 'running' AND r.finished_at IS NULL AND r.worker = $2 GROUP BY o.owner) AS now \
        ON now.owner = t.owner WHERE a.status = 'waiting' AND a.finished_at IS NULL \
        AND NOT EXISTS (SELECT 1 FROM agent_tasks b WHERE b.topic = a.topic AND b.id < a.id \
        AND b.finished_at IS NULL)) AS waiting WHERE turn <= $3 OR owner = 'local' ORDER BY turn, id LIMIT $1";
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let values = [number(limit).into(), worker.into(), number(of_one_owner).into()];
    db.read(NEXT, &values).await?.iter().map(|row| row.get(0)).collect()
}

/// Running tasks with their workers.
pub async fn running(db: &Db) -> Result<Vec<(i64, Worker)>, Error> {
    const RUNNING: &str = "SELECT id, coalesce(worker, ''), coalesce(worker_epoch, 0) FROM agent_tasks \
        WHERE status = 'running' AND finished_at IS NULL ORDER BY id";
    let rows = db.read(RUNNING, &[]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, Worker { name: row.get(1)?, epoch: row.get(2)? }))).collect()
}

/// Starts a waiting task, or takes it over from a dead worker; `None`: another worker was quicker, or it has
/// ended.
pub async fn claim(
    tx: &mut Tx,
    id: i64,
    from: Option<&Worker>,
    by: &Worker,
    now_ms: i64,
) -> Result<Option<Task>, Error> {
    const BEGIN: &str = "UPDATE agent_tasks SET status = 'running', worker = $2, worker_epoch = $3, \
        claims = claims + 1, started_at = coalesce(started_at, $4) WHERE id = $1 AND status = 'waiting'";
    const TAKE_OVER: &str = "UPDATE agent_tasks SET worker = $2, worker_epoch = $3, claims = claims + 1 \
        WHERE id = $1 AND status = 'running' AND coalesce(worker, '') = $4 AND coalesce(worker_epoch, 0) = $5";
    const FIND: &str = concat!(tasks!(), " WHERE a.id = $1");
    let mut values: Vec<Value> = vec![id.into(), by.name.as_str().into(), by.epoch.into()];
    let claimed = match from {
        None => {
            values.push(now_ms.into());
            tx.execute(BEGIN, &values).await?
        }
        Some(gone) => {
            values.extend([gone.name.as_str().into(), gone.epoch.into()]);
            tx.execute(TAKE_OVER, &values).await?
        }
    };
    if claimed == 0 {
        return Ok(None);
    }
    tx.query(FIND, &[id.into()]).await?.first().map(task).transpose()
}

/// Adds a model's use to a task, whichever its status is.
pub async fn add_use(tx: &mut Tx, id: i64, spent: &Spent) -> Result<(), Error> {
    const ADD: &str = "UPDATE agent_tasks SET input_tokens = input_tokens + $2, output_tokens = output_tokens + $3, \
        cost_micros = cost_micros + $4 WHERE id = $1";
    let values = [id.into(), spent.input_tokens.into(), spent.output_tokens.into(), spent.cost_micros.into()];
    tx.execute(ADD, &values).await.map(drop)
}

/// A worker's changes of a task.
pub struct Progress {
    pub id: i64,
    pub worker: Worker,
    /// The number of the last stored event.
    pub last_seq: i64,
    /// Those after it, in order.
    pub events: Vec<NewEvent>,
    pub usage: Usage,
    /// `None`: it stays as it is.
    pub context: Option<ContextSize>,
    /// `None`: it continues.
    pub end: Option<End>,
}

/// An event in its stored form.
pub struct NewEvent {
    kind: &'static str,
    data: String,
    kept: Option<String>,
    at_ms: i64,
}

impl NewEvent {
    pub fn of(step: &Step, seq: i64, task_id: &str, at_ms: i64) -> NewEvent {
        NewEvent { kind: step.kind(), data: step.data(seq, task_id, at_ms), kept: step.kept(), at_ms }
    }

    fn bytes(&self) -> usize {
        self.data.len() + self.kept.as_ref().map_or(0, String::len)
    }
}

/// The result of a task.
pub enum End {
    Success,
    Failed { code: String, message: String },
}

/// Writes events and their effects on the task; returns their bytes. `None`, and nothing was changed: the task belongs to
/// another worker, or has advanced.
pub async fn write(tx: &mut Tx, progress: &Progress, now_ms: i64) -> Result<Option<i64>, Error> {
    const UPDATE: &str = "UPDATE agent_tasks SET last_seq = $4, model_calls = $5, tool_calls = $6, \
        input_tokens = $7, output_tokens = $8, status = $9, error_code = $10, error_message = $11, \
        finished_at = $12, cost_micros = $14, context = coalesce($15, context) WHERE id = $1 AND status = 'running' AND worker = $2 AND worker_epoch = $3 \
        AND last_seq = $13";
    const INSERT: &str =
        "INSERT INTO agent_events (task, seq, type, data, kept, created_at) VALUES ($1, $2, $3, $4, $5, $6)";
    let (status, error) = match &progress.end {
        None => (Status::Running, None),
        Some(End::Success) => (Status::Success, None),
        Some(End::Failed { code, message }) => (Status::Failed, Some((code.as_str(), message.as_str()))),
    };
    let (error_code, error_message) = error.unzip();
    let usage = &progress.usage;
    let context =
        progress.context.as_ref().map(serde_json::to_string).transpose().map_err(Error::internal)?;
    let values: [Value; 15] = [
        progress.id.into(),
        progress.worker.name.as_str().into(),
        progress.worker.epoch.into(),
        (progress.last_seq + progress.events.len() as i64).into(),
        usage.model_calls.into(),
        usage.tool_calls.into(),
        usage.input_tokens.into(),
        usage.output_tokens.into(),
        status.as_str().into(),
        error_code.into(),
        error_message.into(),
        progress.end.is_some().then_some(now_ms).into(),
        progress.last_seq.into(),
        usage.cost_micros.into(),
        context.into(),
    ];
    if tx.execute(UPDATE, &values).await? == 0 {
        return Ok(None);
    }
    for (place, event) in (1..).zip(&progress.events) {
        let values: [Value; 6] = [
            progress.id.into(),
            (progress.last_seq + place).into(),
            event.kind.into(),
            event.data.as_str().into(),
            event.kept.as_deref().into(),
            event.at_ms.into(),
        ];
        tx.execute(INSERT, &values).await?;
    }
    let bytes: usize = progress.events.iter().map(NewEvent::bytes).sum();
    Ok(Some(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
