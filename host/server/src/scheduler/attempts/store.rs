//! Attempts of tasks, and their logs, in the store.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Tx, Value};

use crate::scheduler::progress::Standing;
use crate::scheduler::store::{State, state};

/// The most running ones that are read: those that one server can have.
const RUNNING_MAX: i64 = 10_000;

/// Logs of finished runs: purged in pieces before their attempts.
pub const LOGS: Retained = Retained {
    what: "runner_logs",
    table: "runner_logs",
    purge: "DELETE FROM runner_logs WHERE id IN (SELECT l.id FROM runner_runs r \
            JOIN runner_task_runs t ON t.run_id = r.id JOIN runner_logs l ON l.task_run_id = t.id \
            WHERE r.ended_at < $1 LIMIT $2)",
};

/// Attempts of finished runs.
pub const TRIES: Retained = Retained {
    what: "runner_task_runs",
    table: "runner_task_runs",
    purge: "DELETE FROM runner_task_runs WHERE id IN (SELECT t.id FROM runner_runs r \
            JOIN runner_task_runs t ON t.run_id = r.id WHERE r.ended_at < $1 LIMIT $2)",
};

/// A started attempt.
#[derive(Debug, Clone)]
pub struct Begun {
    pub id: i64,
    /// Its number within the task and run, from 1.
    pub attempt: i64,
}

/// The result of an attempt.
#[derive(Debug, Clone)]
pub struct Ended {
    pub state: State,
    pub message: Option<String>,
    pub rows_affected: Option<i64>,
    /// It failed, and its task has retries left.
    pub is_tried_again: bool,
}

/// The result of the previous attempt.
#[derive(Debug, Clone)]
pub struct Before {
    pub state: State,
    pub is_lost: bool,
    pub message: Option<String>,
}

/// An attempt without a worker.
#[derive(Debug, Clone)]
pub struct Orphan {
    pub id: i64,
    pub run_id: i64,
    /// See [`set_mark`].
    pub mark: Option<String>,
}

/// The state of each task of these runs that has started, or need not start; by run and task.
pub async fn standings(db: &Db, runs: &[i64]) -> Result<HashMap<i64, HashMap<i64, Standing>>, Error> {
    macro_rules! standings {
        ($runs:literal) => {
            concat!(
                "SELECT run_id, task_id, \
                 count(*) FILTER (WHERE state = 'success'), \
                 count(*) FILTER (WHERE state = 'failed' AND is_lost = 0), \
                 count(*) FILTER (WHERE is_lost = 1), \
                 count(*) FILTER (WHERE state = 'running'), \
                 max(CASE WHEN state = 'failed' AND is_lost = 0 THEN ended_at END), max(is_unknown) \
                 FROM runner_task_runs WHERE run_id ",
                $runs,
                " GROUP BY run_id, task_id \
                 UNION ALL SELECT run_id, task_id, 1, 0, 0, 0, NULL, 0 FROM runner_taken_over WHERE run_id ",
                $runs
            )
        };
    }
    const STANDINGS: Either = Either {
        sqlite: standings!("IN (SELECT value FROM json_each($1))"),
        postgres: standings!("= ANY($1)"),
    };
    let mut standings: HashMap<i64, HashMap<i64, Standing>> = HashMap::new();
    for row in db.read(db.words(STANDINGS), &[runs.into()]).await? {
        let standing = Standing {
            is_done: row.get::<i64>(2)? > 0,
            failures: row.get(3)?,
            losses: row.get(4)?,
            is_running: row.get::<i64>(5)? > 0,
            failed_at_ms: row.get(6)?,
            is_unknown: row.get(7)?,
        };
        standings.entry(row.get(0)?).or_default().insert(row.get(1)?, standing);
    }
    Ok(standings)
}

/// Starts the next attempt of a task.
pub async fn begin(tx: &mut Tx, run_id: i64, task: (i64, &str), now_ms: i64) -> Result<Begun, Error> {
    const BEGIN: &str = "INSERT INTO runner_task_runs (run_id, task_id, task_name, attempt, state, started_at) \
        SELECT $1, $2, $3, coalesce(max(attempt), 0) + 1, 'running', $4 FROM runner_task_runs \
        WHERE run_id = $1 AND task_id = $2 RETURNING id, attempt";
    let values: [Value; 4] = [run_id.into(), task.0.into(), task.1.into(), now_ms.into()];
    let rows = tx.query(BEGIN, &values).await?;
    let row = rows.first().ok_or_else(|| Error::internal(anyhow::anyhow!("the try was not stored")))?;
    Ok(Begun { id: row.get(0)?, attempt: row.get(1)? })
}

/// The previous attempt of the same task.
pub async fn before(tx: &mut Tx, run_id: i64, task_id: i64, attempt: i64) -> Result<Option<Before>, Error> {
    const BEFORE: &str = "SELECT state, is_lost, message FROM runner_task_runs \
        WHERE run_id = $1 AND task_id = $2 AND attempt = $3";
    let rows = tx.query(BEFORE, &[run_id.into(), task_id.into(), (attempt - 1).into()]).await?;
    let before = |row: &Row| {
        Ok(Before { state: state(&row.get::<String>(0)?)?, is_lost: row.get(1)?, message: row.get(2)? })
    };
    rows.first().map(before).transpose()
}

/// Ends a running one; false: it has ended already.
pub async fn end(tx: &mut Tx, id: i64, ended: &Ended, now_ms: i64) -> Result<bool, Error> {
    const END: &str = "UPDATE runner_task_runs SET state = $2, message = $3, rows_affected = $4, \
        is_tried_again = $5, ended_at = $6 WHERE id = $1 AND state = 'running'";
    let values = [
        id.into(),
        ended.state.as_str().into(),
        ended.message.as_deref().into(),
        ended.rows_affected.into(),
        i64::from(ended.is_tried_again).into(),
        now_ms.into(),
    ];
    tx.execute(END, &values).await.map(|rows| rows > 0)
}

/// All running ones, of any worker.
pub async fn running(db: &Db) -> Result<Vec<Orphan>, Error> {
    const RUNNING: &str =
        "SELECT id, run_id, mark FROM runner_task_runs WHERE state = 'running' ORDER BY id LIMIT $1";
    let rows = db.read(RUNNING, &[RUNNING_MAX.into()]).await?;
    rows.iter().map(|row| Ok(Orphan { id: row.get(0)?, run_id: row.get(1)?, mark: row.get(2)? })).collect()
}

/// Notes, before the commit, what the data source calls the transaction.
pub async fn set_mark(tx: &mut Tx, id: i64, mark: &str) -> Result<(), Error> {
    const SET: &str = "UPDATE runner_task_runs SET mark = $2 WHERE id = $1 AND state = 'running'";
    tx.execute(SET, &[id.into(), mark.into()]).await.map(drop)
}

/// Ends one whose server ended: as failed, or as stopped if its run must stop. If its outcome `is_unknown`, it is not begun
/// again; otherwise that is no failure of its own.
pub async fn lose(tx: &mut Tx, id: i64, message: &str, is_unknown: bool, now_ms: i64) -> Result<(), Error> {
    const LOSE: &str = "UPDATE runner_task_runs SET is_lost = $2, is_unknown = $3, message = $4, ended_at = $5, \
        state = CASE WHEN (SELECT r.state FROM runner_runs r WHERE r.id = run_id) = 'stopping' THEN 'stopped' \
        ELSE 'failed' END WHERE id = $1 AND state = 'running'";
    let is_lost = i64::from(!is_unknown).into();
    let values = [id.into(), is_lost, i64::from(is_unknown).into(), message.into(), now_ms.into()];
    tx.execute(LOSE, &values).await.map(drop)
}

/// The first failure that no later attempt repaired: the task and the message.
pub async fn failure(tx: &mut Tx, run_id: i64) -> Result<Option<(String, String)>, Error> {
    const FAILURE: &str = "SELECT task_name, coalesce(message, '') FROM runner_task_runs AS failed \
        WHERE run_id = $1 AND state = 'failed' AND NOT EXISTS \
        (SELECT 1 FROM runner_task_runs later WHERE later.run_id = failed.run_id \
        AND later.task_id = failed.task_id AND later.attempt > failed.attempt) ORDER BY id LIMIT 1";
    let rows = tx.query(FAILURE, &[run_id.into()]).await?;
    rows.first().map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

/// Writes a piece of a log at this byte; earlier text at that place is a prefix of it.
pub async fn append(tx: &mut Tx, task_run_id: i64, at_byte: i64, text: &str) -> Result<(), Error> {
    const APPEND: &str = "INSERT INTO runner_logs (task_run_id, at_byte, text) VALUES ($1, $2, $3) \
        ON CONFLICT (task_run_id, at_byte) DO UPDATE SET text = excluded.text";
    tx.execute(APPEND, &[task_run_id.into(), at_byte.into(), text.into()]).await.map(drop)
}

/// The length of a log, in bytes.
pub async fn log_length(tx: &mut Tx, task_run_id: i64) -> Result<i64, Error> {
    const LENGTH: &str = "SELECT at_byte + octet_length(text) FROM runner_logs WHERE task_run_id = $1 \
        ORDER BY at_byte DESC LIMIT 1";
    tx.query(LENGTH, &[task_run_id.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}
