//! Attempts of tasks, and their logs, in the store.

use std::collections::{HashMap, HashSet};

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Statement, Tx, Value};
use serde::Serialize;

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

/// A task whose next attempt is to begin.
#[derive(Serialize)]
pub struct ToBegin<'t> {
    pub run_id: i64,
    pub task_id: i64,
    pub name: &'t str,
}

/// Whole lines of a log, at a byte of it.
#[derive(Serialize)]
pub struct Piece<'t> {
    pub task_run_id: i64,
    pub at_byte: i64,
    pub text: &'t str,
}

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
    /// See [`set_marks`].
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
                 max(CASE WHEN state = 'failed' AND is_lost = 0 THEN ended_at END), max(is_unknown), \
                 coalesce(max(CASE WHEN is_lost = 1 THEN ended_at END) - min(CASE WHEN is_lost = 1 THEN started_at END), 0) \
                 FROM runner_task_runs WHERE run_id ",
                $runs,
                " GROUP BY run_id, task_id \
                 UNION ALL SELECT run_id, task_id, 1, 0, 0, 0, NULL, 0, 0 FROM runner_taken_over WHERE run_id ",
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
            lost_ms: row.get(8)?,
        };
        standings.entry(row.get(0)?).or_default().insert(row.get(1)?, standing);
    }
    Ok(standings)
}

/// Starts the next attempt of each of these tasks, all of them different; in their order.
pub async fn begin(tx: &mut Tx, tasks: &[ToBegin<'_>], now_ms: i64) -> Result<Vec<Begun>, Error> {
    const BEGIN: Either = Either {
        sqlite: "INSERT INTO runner_task_runs (run_id, task_id, task_name, attempt, state, started_at) \
                 SELECT given.run_id, given.task_id, given.name, (SELECT coalesce(max(t.attempt), 0) + 1 \
                 FROM runner_task_runs t WHERE t.run_id = given.run_id AND t.task_id = given.task_id), 'running', $2 \
                 FROM (SELECT json_extract(value, '$.run_id') AS run_id, json_extract(value, '$.task_id') AS task_id, \
                 json_extract(value, '$.name') AS name FROM json_each($1)) AS given \
                 RETURNING run_id, task_id, id, attempt",
        postgres: "INSERT INTO runner_task_runs (run_id, task_id, task_name, attempt, state, started_at) \
                   SELECT given.run_id, given.task_id, given.name, (SELECT coalesce(max(t.attempt), 0) + 1 \
                   FROM runner_task_runs t WHERE t.run_id = given.run_id AND t.task_id = given.task_id), 'running', $2 \
                   FROM json_to_recordset(CAST($1 AS json)) AS given (run_id BIGINT, task_id BIGINT, name TEXT) \
                   RETURNING run_id, task_id, id, attempt",
    };
    let rows = tx.query(tx.words(BEGIN), &[json(tasks)?, now_ms.into()]).await?;
    let mut begun = HashMap::with_capacity(rows.len());
    for row in &rows {
        begun.insert((row.get(0)?, row.get(1)?), Begun { id: row.get(2)?, attempt: row.get(3)? });
    }
    let missing = || Error::internal(anyhow::anyhow!("an attempt was not stored"));
    tasks.iter().map(|task| begun.remove(&(task.run_id, task.task_id)).ok_or_else(missing)).collect()
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

/// Ends running ones, by id; returns those that had not ended before.
pub async fn end(tx: &mut Tx, ended: &[(i64, &Ended)], now_ms: i64) -> Result<HashSet<i64>, Error> {
    macro_rules! end {
        ($given:literal) => {
            concat!(
                "UPDATE runner_task_runs SET state = given.state, message = given.message, \
                 rows_affected = given.rows_affected, is_tried_again = given.is_tried_again, ended_at = $2 FROM ",
                $given,
                " WHERE runner_task_runs.id = given.id AND runner_task_runs.state = 'running' RETURNING runner_task_runs.id"
            )
        };
    }
    const END: Either = Either {
        sqlite: end!(
            "(SELECT json_extract(value, '$.id') AS id, json_extract(value, '$.state') AS state, \
             json_extract(value, '$.message') AS message, json_extract(value, '$.rows_affected') AS rows_affected, \
             json_extract(value, '$.is_tried_again') AS is_tried_again FROM json_each($1)) AS given"
        ),
        postgres: end!(
            "json_to_recordset(CAST($1 AS json)) AS given (id BIGINT, state TEXT, message TEXT, rows_affected BIGINT, \
             is_tried_again BIGINT)"
        ),
    };
    if ended.is_empty() {
        return Ok(HashSet::new());
    }
    let row = |&(id, ended): &(i64, &Ended)| {
        serde_json::json!({ "id": id, "state": ended.state.as_str(), "message": ended.message,
            "rows_affected": ended.rows_affected, "is_tried_again": i64::from(ended.is_tried_again) })
    };
    let given: Vec<serde_json::Value> = ended.iter().map(row).collect();
    let rows = tx.query(tx.words(END), &[json(&given)?, now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The running ones of this worker's runs; without a worker, of all.
pub async fn running(db: &Db, worker: Option<&str>) -> Result<Vec<Orphan>, Error> {
    const RUNNING: &str = "SELECT t.id, t.run_id, t.mark FROM runner_task_runs t JOIN runner_runs r ON r.id = t.run_id \
        WHERE t.state = 'running' AND (CAST($1 AS TEXT) IS NULL OR r.worker = $1) ORDER BY t.id LIMIT $2";
    let rows = db.read(RUNNING, &[worker.into(), RUNNING_MAX.into()]).await?;
    rows.iter().map(|row| Ok(Orphan { id: row.get(0)?, run_id: row.get(1)?, mark: row.get(2)? })).collect()
}

/// Notes, before the commit, what the data source calls the transaction; by attempt.
pub async fn set_marks(tx: &mut Tx, marks: &[(i64, &str)]) -> Result<(), Error> {
    const SET: Either = Either {
        sqlite: "UPDATE runner_task_runs SET mark = json_extract(given.value, '$[1]') FROM json_each($1) AS given \
                 WHERE runner_task_runs.id = json_extract(given.value, '$[0]') AND runner_task_runs.state = 'running'",
        postgres: "UPDATE runner_task_runs SET mark = given.value ->> 1 FROM json_array_elements(CAST($1 AS json)) AS given \
                   WHERE runner_task_runs.id = CAST(given.value ->> 0 AS BIGINT) AND runner_task_runs.state = 'running'",
    };
    if marks.is_empty() {
        return Ok(());
    }
    tx.execute(tx.words(SET), &[json(marks)?]).await.map(drop)
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

/// Writes pieces of logs with the commit; earlier text at the place of one is a prefix of it.
pub fn append(tx: &mut Tx, pieces: &[Piece<'_>]) -> Result<(), Error> {
    const APPEND: Either = Either {
        sqlite: "INSERT INTO runner_logs (task_run_id, at_byte, text) SELECT json_extract(value, '$.task_run_id'), \
                 json_extract(value, '$.at_byte'), json_extract(value, '$.text') FROM json_each($1) WHERE TRUE \
                 ON CONFLICT (task_run_id, at_byte) DO UPDATE SET text = excluded.text",
        postgres: "INSERT INTO runner_logs (task_run_id, at_byte, text) SELECT task_run_id, at_byte, text \
                   FROM json_to_recordset(CAST($1 AS json)) AS given (task_run_id BIGINT, at_byte BIGINT, text TEXT) \
                   ON CONFLICT (task_run_id, at_byte) DO UPDATE SET text = excluded.text",
    };
    if !pieces.is_empty() {
        tx.execute_later(Statement::new(tx.words(APPEND), [json(pieces)?]));
    }
    Ok(())
}

fn json(rows: &(impl Serialize + ?Sized)) -> Result<Value, Error> {
    serde_json::to_string(rows).map(Value::from).map_err(Error::internal)
}

/// The length of a log, in bytes.
pub async fn log_length(tx: &mut Tx, task_run_id: i64) -> Result<i64, Error> {
    const LENGTH: &str = "SELECT at_byte + octet_length(text) FROM runner_logs WHERE task_run_id = $1 \
        ORDER BY at_byte DESC LIMIT 1";
    tx.query(LENGTH, &[task_run_id.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}
