//! Executions in the store.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::{ByName, Db, Either, Row, Select, Tx, Value};
use serde::{Deserialize, Serialize};

use super::Run;
use super::blocks::{self, Blocks};

/// Columns of an execution, in the order of [`execution`].
macro_rules! columns {
    () => {
        "id, run_id, task_key, engine, instance_id, workflow_id, workflow_name, task_id, task_name, status, \
         trigger_type, schedule_time, attempt, start_time, end_time, error_message, rows_affected, tries, created_at, \
         updated_at"
    };
}

/// A stored execution of a task in a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    pub id: i64,
    pub run_id: i64,
    pub engine: String,
    pub instance_id: String,
    pub workflow_id: i64,
    pub workflow_name: String,
    pub trigger_type: String,
    pub schedule_time_ms: Option<i64>,
    pub record: Record,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The combined record of a task's attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Identifies the task within its run: its id, or else its name in the engine.
    pub task_key: String,
    pub task_id: Option<i64>,
    pub task_name: String,
    pub status: Status,
    /// The number of the latest attempt; the following members are of that attempt.
    pub attempt: i64,
    pub start_time_ms: Option<i64>,
    pub end_time_ms: Option<i64>,
    pub error_message: Option<String>,
    pub rows_affected: Option<i64>,
    /// All attempts, in order.
    pub tries: Vec<Try>,
}

/// One attempt of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Try {
    /// The engine's id for it.
    pub id: String,
    pub attempt: i64,
    /// Its log is complete.
    pub ended: bool,
}

/// The status in the contract's words.
// The order is stored, in packed blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "ExecutionStatus")]
pub enum Status {
    Pending,
    Running,
    Success,
    Failed,
    Killed,
    Paused,
}

impl Status {
    /// In the order of their declaration.
    pub const ALL: [Status; 6] =
        [Status::Pending, Status::Running, Status::Success, Status::Failed, Status::Killed, Status::Paused];

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Pending => "pending",
            Status::Running => "running",
            Status::Success => "success",
            Status::Failed => "failed",
            Status::Killed => "killed",
            Status::Paused => "paused",
        }
    }

    pub fn has_ended(self) -> bool {
        matches!(self, Status::Success | Status::Failed | Status::Killed)
    }

    pub fn named(name: &str) -> Option<Status> {
        Status::ALL.into_iter().find(|status| status.as_str() == name)
    }
}

impl Record {
    pub fn duration_ms(&self) -> Option<i64> {
        duration_ms(self.start_time_ms, self.end_time_ms)
    }
}

pub fn duration_ms(start_time_ms: Option<i64>, end_time_ms: Option<i64>) -> Option<i64> {
    Some((end_time_ms? - start_time_ms?).max(0))
}

/// Reads the columns of `columns!`.
pub fn execution(row: &Row) -> Result<Execution, Error> {
    let mut row = row.by_name();
    Ok(Execution {
        id: row.get("id")?,
        run_id: row.get("run_id")?,
        engine: row.get("engine")?,
        instance_id: row.get("instance_id")?,
        workflow_id: row.get("workflow_id")?,
        workflow_name: row.get("workflow_name")?,
        trigger_type: row.get("trigger_type")?,
        schedule_time_ms: row.get("schedule_time")?,
        record: Record {
            task_key: row.get("task_key")?,
            task_id: row.get("task_id")?,
            task_name: row.get("task_name")?,
            status: status(&mut row)?,
            attempt: row.get("attempt")?,
            start_time_ms: row.get("start_time")?,
            end_time_ms: row.get("end_time")?,
            error_message: row.get("error_message")?,
            rows_affected: row.get("rows_affected")?,
            tries: serde_json::from_str(&row.get::<String>("tries")?).map_err(Error::internal)?,
        },
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

pub fn status(row: &mut ByName<'_>) -> Result<Status, Error> {
    let text: String = row.get("status")?;
    let unknown = || Error::internal(anyhow::anyhow!("the store holds an execution that is `{text}`"));
    Status::named(&text).ok_or_else(unknown)
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Execution>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM executions WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(execution).transpose()
}

/// Executions before a page that the store may step over: blocks find a page after more of them.
const SKIPPED_MAX: i64 = 1_000;
/// Executions of a task that the store may count: blocks count more of them.
const COUNTED_MAX: i64 = 10_000;

/// A page, newest first, and the total.
pub async fn page(
    db: &Db,
    blocks: &Blocks,
    task_id: Option<i64>,
    paging: &Paging,
) -> Result<(i64, Vec<Execution>), Error> {
    if paging.offset() <= SKIPPED_MAX {
        let (total, found) = near_page(db, task_id, paging).await?;
        if task_id.is_none() || total <= COUNTED_MAX {
            return Ok((total, found));
        }
    }
    far_page(db, blocks, task_id, paging).await
}

/// One of the first pages, and the total, of a task at most `COUNTED_MAX + 1`.
async fn near_page(db: &Db, task_id: Option<i64>, paging: &Paging) -> Result<(i64, Vec<Execution>), Error> {
    const PAGE: &str = concat!("SELECT ", columns!(), " FROM executions ORDER BY id DESC LIMIT $1 OFFSET $2");
    const COUNT_OF_TASK: &str =
        "SELECT count(*) FROM (SELECT 1 FROM executions WHERE task_id = $1 LIMIT $2) AS counted";
    const PAGE_OF_TASK: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM executions WHERE task_id = $3 ORDER BY id DESC LIMIT $1 OFFSET $2"
    );
    let (size, offset): (Value, Value) = (paging.page_size.into(), paging.offset().into());
    let (count, page) = match task_id {
        None => (blocks::count(), Select::new(PAGE, [size, offset], execution)),
        Some(id) => (
            Select::new(COUNT_OF_TASK, [id.into(), (COUNTED_MAX + 1).into()], |row| row.get::<i64>(0)),
            Select::new(PAGE_OF_TASK, [size, offset, id.into()], execution),
        ),
    };
    let (count, found) = db.read_all((count, page)).await?;
    Ok((count.first().copied().unwrap_or_default(), found))
}

/// Any page.
async fn far_page(
    db: &Db,
    blocks: &Blocks,
    task_id: Option<i64>,
    paging: &Paging,
) -> Result<(i64, Vec<Execution>), Error> {
    const PAGE: &str =
        concat!("SELECT ", columns!(), " FROM executions WHERE id < $3 ORDER BY id DESC LIMIT $1 OFFSET $2");
    const PAGE_OF_TASK: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM executions WHERE id < $3 AND task_id = $4 ORDER BY id DESC LIMIT $1 OFFSET $2"
    );
    let moment = db.snapshot().await?;
    let (total, place) = blocks.view(&moment).await?.place(task_id, paging.offset())?;
    let Some(place) = place else { return Ok((total, Vec::new())) };
    let mut values: Vec<Value> = vec![paging.page_size.into(), place.skipped.into(), place.before_id.into()];
    values.extend(task_id.map(Value::from));
    let sql = if task_id.is_some() { PAGE_OF_TASK } else { PAGE };
    Ok((total, Select::new(sql, values, execution).all(&moment).await?))
}

/// Those with this status, newest first.
pub async fn with_status(db: &Db, status: Status, at_most: i64) -> Result<Vec<Execution>, Error> {
    const FIND: &str =
        concat!("SELECT ", columns!(), " FROM executions WHERE status = $1 ORDER BY id DESC LIMIT $2");
    let rows = db.read(FIND, &[status.as_str().into(), at_most.into()]).await?;
    rows.iter().map(execution).collect()
}

/// Those of a workflow, newest first.
pub fn of_workflow(workflow_id: i64, at_most: i64) -> Select<Execution> {
    const FIND: &str =
        concat!("SELECT ", columns!(), " FROM executions WHERE workflow_id = $1 ORDER BY id DESC LIMIT $2");
    Select::new(FIND, [workflow_id.into(), at_most.into()], execution)
}

/// The newest of a task.
pub async fn latest_of_task(db: &Db, task_id: i64) -> Result<Option<Execution>, Error> {
    const FIND: &str =
        concat!("SELECT ", columns!(), " FROM executions WHERE task_id = $1 ORDER BY id DESC LIMIT 1");
    db.read(FIND, &[task_id.into()]).await?.first().map(execution).transpose()
}

/// Joins to a selection `w` of workflows the newest execution of each, as `latest` with the columns of
/// [`ExecutionView::read`].
///
/// [`ExecutionView::read`]: super::ExecutionView::read
macro_rules! join_latest {
    (columns) => {
        "id, workflow_id, workflow_name, task_id, task_name, instance_id, status, trigger_type, schedule_time, \
         attempt, start_time, end_time, error_message, rows_affected, created_at, updated_at"
    };
    (sqlite) => {
        concat!(
            " LEFT JOIN (SELECT ",
            $crate::execution_records::store::join_latest!(columns),
            " FROM executions) AS latest \
             ON latest.id = (SELECT max(e.id) FROM executions e WHERE e.workflow_id = w.id)"
        )
    };
    (postgres) => {
        concat!(
            " LEFT JOIN LATERAL (SELECT ",
            $crate::execution_records::store::join_latest!(columns),
            " FROM executions e WHERE e.workflow_id = w.id ORDER BY e.id DESC LIMIT 1) AS latest ON TRUE"
        )
    };
}
pub(crate) use join_latest;

/// Those of these runs, by task key.
pub async fn of_runs(db: &Db, run_ids: &[i64]) -> Result<Vec<Execution>, Error> {
    const OF_RUNS: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM executions WHERE run_id IN (SELECT value FROM json_each($1)) ORDER BY run_id, task_key"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM executions WHERE run_id = ANY($1) \
             ORDER BY run_id, task_key"
        ),
    };
    db.read(db.words(OF_RUNS), &[run_ids.into()]).await?.iter().map(execution).collect()
}

/// The execution of a task in a run.
pub async fn find_task(db: &Db, run_id: i64, task_key: &str) -> Result<Option<Execution>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM executions WHERE run_id = $1 AND task_key = $2");
    db.read(FIND, &[run_id.into(), task_key.into()]).await?.first().map(execution).transpose()
}

/// Writes a task's record; returns its id. Updates first: an insert with a conflict would use up an id each
/// time.
pub async fn put(tx: &mut Tx, run: &Run, record: &Record, now_ms: i64) -> Result<i64, Error> {
    const UPDATE: &str = "UPDATE executions SET task_name = $3, status = $4, attempt = $5, start_time = $6, \
        end_time = $7, duration = $8, error_message = $9, rows_affected = $10, tries = $11, \
        at = coalesce($6, at), updated_at = $12 WHERE run_id = $1 AND task_key = $2 RETURNING id";
    const INSERT: &str = "INSERT INTO executions (run_id, task_key, engine, instance_id, workflow_id, \
        workflow_name, task_id, task_name, status, trigger_type, schedule_time, attempt, start_time, end_time, \
        duration, error_message, rows_affected, tries, at, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $20) \
        RETURNING id";
    let tries: Value = serde_json::to_string(&record.tries).map_err(Error::internal)?.into();
    let values: [Value; 12] = [
        run.id.into(),
        record.task_key.as_str().into(),
        record.task_name.as_str().into(),
        record.status.as_str().into(),
        record.attempt.into(),
        record.start_time_ms.into(),
        record.end_time_ms.into(),
        record.duration_ms().into(),
        record.error_message.as_deref().into(),
        record.rows_affected.into(),
        tries.clone(),
        now_ms.into(),
    ];
    if let Some(row) = tx.query(UPDATE, &values).await?.first() {
        return row.get(0);
    }
    let values: [Value; 20] = [
        run.id.into(),
        record.task_key.as_str().into(),
        run.engine.as_str().into(),
        run.instance_id.as_deref().unwrap_or_default().into(),
        run.workflow_id.into(),
        run.workflow_name.as_str().into(),
        record.task_id.into(),
        record.task_name.as_str().into(),
        record.status.as_str().into(),
        run.cause.as_str().into(),
        (run.cause != "manual").then_some(run.business_time_ms).flatten().into(),
        record.attempt.into(),
        record.start_time_ms.into(),
        record.end_time_ms.into(),
        record.duration_ms().into(),
        record.error_message.as_deref().into(),
        record.rows_affected.into(),
        tries,
        record.start_time_ms.unwrap_or(now_ms).into(),
        now_ms.into(),
    ];
    let rows = tx.query(INSERT, &values).await?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Deletes one whose task never started.
pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM executions WHERE id = $1", &[id.into()]).await.map(drop)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
