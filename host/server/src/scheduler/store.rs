//! Workflows, their revisions and their runs in the store. Any server adds rows; only the holder of the lease
//! writes a run's progress, in transactions that the lease guards.

use std::collections::{HashMap, HashSet};

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Select, Tx, Value};

use super::definition::{Concurrency, Definition, Strategy};

/// Columns of a workflow, in the order of [`workflow`].
macro_rules! workflow_columns {
    () => {
        "SELECT w.id, w.name, r.revision, w.revision_id, w.concurrency, w.is_online, w.cron, w.time_zone, w.start_at, w.end_at, \
         w.failure_strategy, w.next_fire_at FROM runner_workflows w JOIN runner_revisions r ON r.id = w.revision_id "
    };
}

/// Columns of a run, in the order of [`run`].
macro_rules! run_columns {
    () => {
        "id, workflow_id, revision_id, key, retry_of, cause, business_at, time_zone, params, failure_strategy, \
         state, is_paused, waits, message, started_at, ended_at, updated_at, worker"
    };
}
pub(super) use run_columns;

/// Finished runs, after their dependent rows.
pub const RUNS: Retained = Retained {
    what: "runner_runs",
    table: "runner_runs",
    purge: "DELETE FROM runner_runs WHERE id IN (SELECT id FROM runner_runs WHERE ended_at < $1 LIMIT $2)",
};

/// Results that finished runs have adopted.
pub const TAKEN_OVER: Retained = Retained {
    what: "runner_taken_over",
    table: "runner_taken_over",
    purge: "DELETE FROM runner_taken_over WHERE (run_id, task_id) IN (SELECT t.run_id, t.task_id FROM runner_runs r \
            JOIN runner_taken_over t ON t.run_id = r.id WHERE r.ended_at < $1 LIMIT $2)",
};

/// Unused revisions.
pub const REVISIONS: Retained = Retained {
    what: "runner_revisions",
    table: "runner_revisions",
    purge: "DELETE FROM runner_revisions WHERE id IN (SELECT id FROM runner_revisions AS old WHERE used_at < $1 \
            AND NOT EXISTS (SELECT 1 FROM runner_workflows WHERE revision_id = old.id) \
            AND NOT EXISTS (SELECT 1 FROM runner_runs WHERE revision_id = old.id) LIMIT $2)",
};

#[derive(Debug, Clone)]
pub struct Workflow {
    pub id: i64,
    pub name: String,
    pub revision: String,
    pub revision_id: i64,
    pub concurrency: Concurrency,
    pub is_online: bool,
    pub schedule: Option<Schedule>,
    pub next_fire_at_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Quartz cron with seven fields.
    pub cron: String,
    pub zone: Tz,
    pub start_at_ms: i64,
    pub end_at_ms: Option<i64>,
    pub strategy: Strategy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Queued,
    Running,
    /// It must stop.
    Stopping,
    Success,
    Failed,
    Stopped,
}

#[derive(Debug, Clone)]
pub struct Run {
    pub id: i64,
    pub workflow_id: i64,
    pub revision_id: i64,
    pub key: String,
    /// The run that it retries.
    pub retry_of: Option<i64>,
    pub cause: String,
    pub business_at_ms: i64,
    /// For the parameters of its tasks.
    pub zone: Tz,
    pub params: Vec<(String, String)>,
    pub strategy: Strategy,
    pub state: State,
    /// It begins no further task.
    pub is_paused: bool,
    /// It begins when no earlier run of its workflow is open.
    pub waits: bool,
    pub message: Option<String>,
    pub started_at_ms: Option<i64>,
    pub ended_at_ms: Option<i64>,
    pub updated_at_ms: i64,
    /// The server that works on it, where several share a store.
    pub worker: Option<String>,
}

/// A run to be started.
pub struct NewRun<'a> {
    pub workflow_id: i64,
    pub key: &'a str,
    pub cause: &'a str,
    pub business_at_ms: i64,
    pub zone: Tz,
    pub params: &'a [(String, String)],
    pub strategy: Strategy,
    pub waits: bool,
}

impl Run {
    /// Takes in that a task of it has begun.
    pub fn has_begun(&mut self, now_ms: i64) {
        self.state = State::Running;
        self.started_at_ms.get_or_insert(now_ms);
        self.updated_at_ms = now_ms;
    }
}

impl Schedule {
    /// Whether both are due at the same times.
    pub fn has_times_of(&self, other: &Schedule) -> bool {
        let times = |of: &Schedule| (of.zone, of.start_at_ms, of.end_at_ms);
        self.cron == other.cron && times(self) == times(other)
    }
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Queued => "queued",
            State::Running => "running",
            State::Stopping => "stopping",
            State::Success => "success",
            State::Failed => "failed",
            State::Stopped => "stopped",
        }
    }

    pub fn is_final(self) -> bool {
        matches!(self, State::Success | State::Failed | State::Stopped)
    }

    fn parse(text: &str) -> Option<State> {
        let all =
            [State::Queued, State::Running, State::Stopping, State::Success, State::Failed, State::Stopped];
        all.into_iter().find(|state| state.as_str() == text)
    }
}

fn unreadable(what: &'static str) -> impl Fn() -> Error {
    move || Error::internal(anyhow::anyhow!("a {what} of the scheduler cannot be read"))
}

fn zone(text: &str) -> Result<Tz, Error> {
    text.parse().map_err(|_| unreadable("time zone")())
}

fn strategy(text: &str) -> Result<Strategy, Error> {
    Strategy::parse(text).ok_or_else(unreadable("failure strategy"))
}

pub fn state(text: &str) -> Result<State, Error> {
    State::parse(text).ok_or_else(unreadable("state"))
}

fn workflow(row: &Row) -> Result<Workflow, Error> {
    let mut row = row.by_name();
    let schedule = match row.get::<Option<String>>("cron")? {
        Some(cron) => Some(Schedule {
            cron,
            zone: zone(&row.get::<String>("time_zone")?)?,
            start_at_ms: row.get("start_at")?,
            end_at_ms: row.get("end_at")?,
            strategy: strategy(&row.get::<String>("failure_strategy")?)?,
        }),
        None => None,
    };
    Ok(Workflow {
        id: row.get("id")?,
        name: row.get("name")?,
        revision: row.get("revision")?,
        revision_id: row.get("revision_id")?,
        concurrency: Concurrency::parse(&row.get::<String>("concurrency")?),
        is_online: row.get("is_online")?,
        schedule,
        next_fire_at_ms: row.get("next_fire_at")?,
    })
}

pub(super) fn run(row: &Row) -> Result<Run, Error> {
    let mut row = row.by_name();
    Ok(Run {
        id: row.get("id")?,
        workflow_id: row.get("workflow_id")?,
        revision_id: row.get("revision_id")?,
        key: row.get("key")?,
        retry_of: row.get("retry_of")?,
        cause: row.get("cause")?,
        business_at_ms: row.get("business_at")?,
        zone: zone(&row.get::<String>("time_zone")?)?,
        params: serde_json::from_str(&row.get::<String>("params")?).map_err(Error::internal)?,
        strategy: strategy(&row.get::<String>("failure_strategy")?)?,
        state: state(&row.get::<String>("state")?)?,
        is_paused: row.get("is_paused")?,
        waits: row.get("waits")?,
        message: row.get("message")?,
        started_at_ms: row.get("started_at")?,
        ended_at_ms: row.get("ended_at")?,
        updated_at_ms: row.get("updated_at")?,
        worker: row.get("worker")?,
    })
}

/// Stores a revision once; returns its id.
pub async fn keep_revision(
    tx: &mut Tx,
    workflow_id: i64,
    revision: &str,
    definition: &str,
    now_ms: i64,
) -> Result<i64, Error> {
    const KEEP: &str = "INSERT INTO runner_revisions (workflow_id, revision, definition, used_at) \
        VALUES ($1, $2, $3, $4) ON CONFLICT (workflow_id, revision) DO UPDATE SET used_at = excluded.used_at \
        RETURNING id";
    let values = [workflow_id.into(), revision.into(), definition.into(), now_ms.into()];
    tx.query(KEEP, &values).await?.first().ok_or_else(unreadable("revision"))?.get(0)
}

/// Sets the workflow's revision; keeps its schedule.
pub async fn put(
    tx: &mut Tx,
    id: i64,
    name: &str,
    (revision_id, concurrency): (i64, Concurrency),
    now_ms: i64,
) -> Result<(), Error> {
    const PUT: &str = "INSERT INTO runner_workflows (id, name, revision_id, concurrency, updated_at) \
        VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) DO UPDATE SET name = excluded.name, \
        revision_id = excluded.revision_id, concurrency = excluded.concurrency, updated_at = excluded.updated_at";
    let values = [id.into(), name.into(), revision_id.into(), concurrency.as_str().into(), now_ms.into()];
    tx.execute(PUT, &values).await.map(drop)
}

pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM runner_workflows WHERE id = $1", &[id.into()]).await.map(drop)
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<Workflow>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(workflow_columns!(), "WHERE w.id = $1"),
        postgres: concat!(workflow_columns!(), "WHERE w.id = $1 FOR UPDATE OF w"),
    };
    tx.query(tx.words(LOCK), &[id.into()]).await?.first().map(workflow).transpose()
}

/// The same of several, by id.
pub async fn lock_all(tx: &mut Tx, ids: &[i64]) -> Result<Vec<Workflow>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!(workflow_columns!(), "WHERE w.id IN (SELECT value FROM json_each($1)) ORDER BY w.id"),
        postgres: concat!(workflow_columns!(), "WHERE w.id = ANY($1) ORDER BY w.id FOR UPDATE OF w"),
    };
    tx.query(tx.words(LOCK), &[ids.into()]).await?.iter().map(workflow).collect()
}

/// A page of them, by id.
pub async fn after(db: &Db, after_id: i64, limit: i64) -> Result<Vec<Workflow>, Error> {
    const AFTER: &str = concat!(workflow_columns!(), "WHERE w.id > $1 ORDER BY w.id LIMIT $2");
    db.read(AFTER, &[after_id.into(), limit.into()]).await?.iter().map(workflow).collect()
}

/// One with the definition of its revision.
pub async fn deployed(db: &Db, id: i64) -> Result<Option<(Workflow, Definition)>, Error> {
    const FIND: &str = concat!(workflow_columns!(), "WHERE w.id = $1");
    const DEFINITION: &str = "SELECT r.definition FROM runner_workflows w JOIN runner_revisions r ON r.id = w.revision_id \
        WHERE w.id = $1";
    let text = |row: &Row| row.get::<String>(0);
    let selects = (Select::new(FIND, [id.into()], workflow), Select::new(DEFINITION, [id.into()], text));
    let (mut workflows, mut texts) = db.read_all(selects).await?;
    let (Some(workflow), Some(text)) = (workflows.pop(), texts.pop()) else { return Ok(None) };
    Ok(Some((workflow, serde_json::from_str(&text).map_err(Error::internal)?)))
}

/// Those whose timer is due, longest overdue first.
pub async fn due(db: &Db, now_ms: i64, limit: i64) -> Result<Vec<i64>, Error> {
    const DUE: &str =
        "SELECT id FROM runner_workflows WHERE next_fire_at <= $1 ORDER BY next_fire_at, id LIMIT $2";
    db.read(DUE, &[now_ms.into(), limit.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// When the next timer is due.
pub async fn next_due(db: &Db) -> Result<Option<i64>, Error> {
    const NEXT: &str = "SELECT min(next_fire_at) FROM runner_workflows WHERE next_fire_at IS NOT NULL";
    db.read(NEXT, &[]).await?.first().map_or(Ok(None), |row| row.get(0))
}

/// Writes the timer: the schedule, whether it is on, and when it is due.
pub async fn set_timer(tx: &mut Tx, changed: &Workflow, now_ms: i64) -> Result<(), Error> {
    const SET: &str = "UPDATE runner_workflows SET is_online = $2, cron = $3, time_zone = $4, start_at = $5, \
        end_at = $6, failure_strategy = $7, next_fire_at = $8, updated_at = $9 WHERE id = $1";
    let schedule = changed.schedule.as_ref();
    let values: [Value; 9] = [
        changed.id.into(),
        i64::from(changed.is_online).into(),
        schedule.map(|schedule| schedule.cron.as_str()).into(),
        schedule.map(|schedule| schedule.zone.name()).into(),
        schedule.map(|schedule| schedule.start_at_ms).into(),
        schedule.and_then(|schedule| schedule.end_at_ms).into(),
        schedule.map(|schedule| schedule.strategy.as_str()).into(),
        changed.next_fire_at_ms.into(),
        now_ms.into(),
    ];
    tx.execute(SET, &values).await.map(drop)
}

/// Advances the timer.
pub async fn move_on(tx: &mut Tx, next: &[(i64, Option<i64>)]) -> Result<(), Error> {
    const MOVE: Either = Either {
        sqlite: "UPDATE runner_workflows SET next_fire_at = json_extract(given.value, '$[1]') FROM json_each($1) AS given \
                 WHERE runner_workflows.id = json_extract(given.value, '$[0]')",
        postgres: "UPDATE runner_workflows SET next_fire_at = CAST(given.value->>1 AS BIGINT) \
                   FROM json_array_elements(CAST($1 AS json)) AS given (value) WHERE runner_workflows.id = CAST(given.value->>0 AS BIGINT)",
    };
    let next = serde_json::to_string(next).map_err(Error::internal)?;
    tx.execute(tx.words(MOVE), &[next.into()]).await.map(drop)
}

/// `None`: it no longer exists.
pub async fn name_of(db: &Db, workflow_id: i64) -> Result<Option<String>, Error> {
    const NAME: &str = "SELECT name FROM runner_workflows WHERE id = $1";
    db.read(NAME, &[workflow_id.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// `None`: no version of this program wrote it so.
pub async fn definition(db: &Db, revision_id: i64) -> Result<Option<Definition>, Error> {
    const FIND: &str = "SELECT definition FROM runner_revisions WHERE id = $1";
    let rows = db.read(FIND, &[revision_id.into()]).await?;
    let text: String = rows.first().ok_or_else(unreadable("revision"))?.get(0)?;
    Ok(serde_json::from_str(&text).ok())
}

/// The same, within a transaction that must not wait for a second connection.
pub async fn definition_in(tx: &mut Tx, revision_id: i64) -> Result<Option<Definition>, Error> {
    const FIND: &str = "SELECT definition FROM runner_revisions WHERE id = $1";
    let rows = tx.query(FIND, &[revision_id.into()]).await?;
    let text: String = rows.first().ok_or_else(unreadable("revision"))?.get(0)?;
    Ok(serde_json::from_str(&text).ok())
}

/// Whether a run leaves out tasks of its workflow.
pub async fn leaves_out(tx: &mut Tx, run_id: i64) -> Result<bool, Error> {
    const LEAVES: &str = "SELECT 1 FROM runner_taken_over WHERE run_id = $1 AND is_left_out = 1 LIMIT 1";
    Ok(!tx.query(LEAVES, &[run_id.into()]).await?.is_empty())
}

/// Inserts a run of the workflow's revision; `None` if the key has one already, or the workflow does not
/// exist.
pub async fn insert_run(tx: &mut Tx, new: &NewRun<'_>, now_ms: i64) -> Result<Option<i64>, Error> {
    Ok(insert_runs(tx, std::slice::from_ref(new), now_ms).await?.pop())
}

/// The same of several; returns the ids of those that did not exist.
pub async fn insert_runs(tx: &mut Tx, new: &[NewRun<'_>], now_ms: i64) -> Result<Vec<i64>, Error> {
    macro_rules! insert {
        ($given:literal) => {
            concat!(
                "INSERT INTO runner_runs (workflow_id, revision_id, key, cause, business_at, time_zone, params, \
                 failure_strategy, waits, state, created_at, updated_at) \
                 SELECT w.id, w.revision_id, given.key, given.cause, given.business_at, given.time_zone, given.params, \
                 given.strategy, given.waits, 'queued', $2, $2 FROM ",
                $given,
                " JOIN runner_workflows w ON w.id = given.workflow_id WHERE TRUE \
                 ORDER BY given.business_at, w.id ON CONFLICT (key) DO NOTHING RETURNING id"
            )
        };
    }
    const INSERT: Either = Either {
        sqlite: insert!(
            "(SELECT json_extract(value, '$.workflow_id') AS workflow_id, json_extract(value, '$.key') AS key, \
             json_extract(value, '$.cause') AS cause, json_extract(value, '$.business_at') AS business_at, \
             json_extract(value, '$.time_zone') AS time_zone, json_extract(value, '$.params') AS params, \
             json_extract(value, '$.strategy') AS strategy, json_extract(value, '$.waits') AS waits \
             FROM json_each($1)) AS given"
        ),
        postgres: insert!(
            "json_to_recordset(CAST($1 AS json)) AS given (workflow_id BIGINT, key TEXT, cause TEXT, business_at BIGINT, \
             time_zone TEXT, params TEXT, strategy TEXT, waits BIGINT)"
        ),
    };
    if new.is_empty() {
        return Ok(Vec::new());
    }
    let row = |new: &NewRun<'_>| -> Result<serde_json::Value, Error> {
        let params = serde_json::to_string(new.params).map_err(Error::internal)?;
        Ok(serde_json::json!({ "workflow_id": new.workflow_id, "key": new.key, "cause": new.cause,
            "business_at": new.business_at_ms, "time_zone": new.zone.name(), "params": params,
            "strategy": new.strategy.as_str(), "waits": i64::from(new.waits) }))
    };
    let given = new.iter().map(row).collect::<Result<Vec<_>, Error>>()?;
    let given = serde_json::Value::Array(given).to_string();
    let rows = tx.query(tx.words(INSERT), &[given.into(), now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

pub async fn count_queued(tx: &mut Tx) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM runner_runs WHERE state = 'queued'", &[]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// The queued runs of those of these workflows whose runs wait for each other, by workflow.
pub async fn count_waiting(tx: &mut Tx, workflows: &[Workflow]) -> Result<HashMap<i64, i64>, Error> {
    const COUNT: Either = Either {
        sqlite: "SELECT workflow_id, count(*) FROM runner_runs WHERE state = 'queued' \
            AND workflow_id IN (SELECT value FROM json_each($1)) GROUP BY workflow_id",
        postgres: "SELECT workflow_id, count(*) FROM runner_runs WHERE state = 'queued' \
            AND workflow_id = ANY($1) GROUP BY workflow_id",
    };
    let waits = workflows.iter().filter(|workflow| workflow.concurrency == Concurrency::Wait);
    let ids: Vec<i64> = waits.map(|workflow| workflow.id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = tx.query(tx.words(COUNT), &[(&ids[..]).into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

pub async fn find_run(db: &Db, id: i64) -> Result<Option<Run>, Error> {
    const FIND: &str = concat!("SELECT ", run_columns!(), " FROM runner_runs WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(run).transpose()
}

/// Several, by id.
pub async fn find_runs(db: &Db, ids: &[i64]) -> Result<HashMap<i64, Run>, Error> {
    const FIND: Either = Either {
        sqlite: concat!(
            "SELECT ",
            run_columns!(),
            " FROM runner_runs WHERE id IN (SELECT value FROM json_each($1))"
        ),
        postgres: concat!("SELECT ", run_columns!(), " FROM runner_runs WHERE id = ANY($1)"),
    };
    let rows = db.read(db.words(FIND), &[ids.into()]).await?;
    rows.iter().map(|row| run(row).map(|run| (run.id, run))).collect()
}

/// The run with this request key.
pub async fn find_by_key(db: &Db, key: &str) -> Result<Option<Run>, Error> {
    const FIND: &str = concat!("SELECT ", run_columns!(), " FROM runner_runs WHERE key = $1");
    db.read(FIND, &[key.into()]).await?.first().map(run).transpose()
}

/// The run `r` does not wait for an earlier one of its workflow.
macro_rules! is_its_turn {
    () => {
        "NOT (waits = 1 AND state = 'queued' AND EXISTS (SELECT 1 FROM runner_runs AS e \
         WHERE e.workflow_id = r.workflow_id AND e.id < r.id AND e.state IN ('queued', 'running', 'stopping')))"
    };
}

/// Unfinished runs that may do something, of this worker: started ones first, then in the order of their start. Without a
/// worker, of all.
pub async fn open_runs(db: &Db, worker: Option<&str>, limit: i64) -> Result<Vec<i64>, Error> {
    const OPEN: &str = concat!(
        "SELECT id FROM runner_runs AS r WHERE state IN ('queued', 'running', 'stopping') \
         AND (CAST($1 AS TEXT) IS NULL OR worker = $1) AND (is_paused = 0 OR state = 'stopping') AND ",
        is_its_turn!(),
        " ORDER BY CASE state WHEN 'queued' THEN 1 ELSE 0 END, id LIMIT $2"
    );
    db.read(OPEN, &[worker.into(), limit.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// Marks runs without a worker that have begun or must stop as this one's. On a shared store.
pub async fn take_urgent(tx: &mut Tx, worker: &str, at_most: i64) -> Result<Vec<i64>, Error> {
    const URGENT: &str = "UPDATE runner_runs SET worker = $1 WHERE id IN (SELECT id FROM runner_runs \
        WHERE state IN ('running', 'stopping') AND worker IS NULL ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) \
        RETURNING id";
    let rows = tx.query(URGENT, &[worker.into(), at_most.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The same of the first that may begin, except for those of these workflows.
pub async fn take(tx: &mut Tx, worker: &str, except: &[i64], at_most: i64) -> Result<Vec<i64>, Error> {
    const FIRST: &str = concat!(
        "UPDATE runner_runs SET worker = $1 WHERE id IN (SELECT id FROM runner_runs AS r \
         WHERE state = 'queued' AND worker IS NULL AND is_paused = 0 AND workflow_id <> ALL($3) AND ",
        is_its_turn!(),
        " ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) RETURNING id"
    );
    let rows = tx.query(FIRST, &[worker.into(), at_most.into(), except.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Unmarks the runs of the worker that have not begun; returns their number.
pub async fn give_back(tx: &mut Tx, worker: &str) -> Result<u64, Error> {
    const GIVE: &str = "UPDATE runner_runs SET worker = NULL WHERE worker = $1 AND state = 'queued'";
    tx.execute(GIVE, &[worker.into()]).await
}

/// The workers that have unfinished runs, by name. On a shared store.
pub async fn workers(db: &Db) -> Result<Vec<String>, Error> {
    const WORKERS: &str = "SELECT DISTINCT worker FROM runner_runs \
        WHERE state IN ('queued', 'running', 'stopping') AND worker IS NOT NULL ORDER BY worker";
    db.read(WORKERS, &[]).await?.iter().map(|row| row.get(0)).collect()
}

/// Unmarks the unfinished runs of these workers; returns their number.
pub async fn free(tx: &mut Tx, workers: &[&str]) -> Result<u64, Error> {
    const FREE: &str = "UPDATE runner_runs SET worker = NULL WHERE state IN ('queued', 'running', 'stopping') \
        AND worker IN (SELECT json_array_elements_text(CAST($1 AS json)))";
    let workers = serde_json::to_string(workers).map_err(Error::internal)?;
    tx.execute(FREE, &[workers.into()]).await
}

/// Paused runs that have begun: what runs of them goes on, and may be their last task.
pub async fn paused_runs(db: &Db) -> Result<Vec<i64>, Error> {
    const PAUSED: &str = "SELECT id FROM runner_runs WHERE state = 'running' AND is_paused = 1 ORDER BY id";
    db.read(PAUSED, &[]).await?.iter().map(|row| row.get(0)).collect()
}

/// The first unfinished run of a workflow besides the one of this key.
pub async fn first_open(tx: &mut Tx, workflow_id: i64, key: &str) -> Result<Option<i64>, Error> {
    const FIRST: &str = "SELECT id FROM runner_runs WHERE workflow_id = $1 AND key <> $2 \
        AND state IN ('queued', 'running', 'stopping') ORDER BY id LIMIT 1";
    tx.query(FIRST, &[workflow_id.into(), key.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// The run that those of its workflow wait for, which may be one of them.
pub async fn first_of(db: &Db, workflow_id: i64) -> Result<Option<i64>, Error> {
    const FIRST: &str = "SELECT id FROM runner_runs WHERE workflow_id = $1 \
        AND state IN ('queued', 'running', 'stopping') ORDER BY id LIMIT 1";
    db.read(FIRST, &[workflow_id.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// The runs of these workflows that waited for their turn, which has come.
pub async fn next_of(db: &Db, workflow_ids: &[i64]) -> Result<Vec<i64>, Error> {
    macro_rules! next {
        ($workflows:literal) => {
            concat!(
                "SELECT id FROM runner_runs AS r WHERE workflow_id ",
                $workflows,
                " AND state = 'queued' AND waits = 1 AND NOT EXISTS (SELECT 1 FROM runner_runs AS e \
                 WHERE e.workflow_id = r.workflow_id AND e.id < r.id AND e.state IN ('queued', 'running', 'stopping'))"
            )
        };
    }
    const NEXT: Either =
        Either { sqlite: next!("IN (SELECT value FROM json_each($1))"), postgres: next!("= ANY($1)") };
    db.read(db.words(NEXT), &[workflow_ids.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// Pauses a run, or lets it go on; false: it is so already, or cannot be.
pub async fn set_paused(tx: &mut Tx, id: i64, is_paused: bool, now_ms: i64) -> Result<bool, Error> {
    const SET: &str = "UPDATE runner_runs SET is_paused = $2, updated_at = $3 \
        WHERE id = $1 AND is_paused <> $2 AND state IN ('queued', 'running')";
    tx.execute(SET, &[id.into(), i64::from(is_paused).into(), now_ms.into()]).await.map(|rows| rows > 0)
}

/// Notes tasks that the run does not run, unless it need not run them anyway.
pub async fn leave_out(tx: &mut Tx, run_id: i64, task_ids: &[i64]) -> Result<(), Error> {
    const LEAVE: Either = Either {
        sqlite: "INSERT INTO runner_taken_over (run_id, task_id, is_left_out) SELECT $1, value, 1 FROM json_each($2) \
                 WHERE TRUE ON CONFLICT DO NOTHING",
        postgres: "INSERT INTO runner_taken_over (run_id, task_id, is_left_out) SELECT $1, unnest($2::bigint[]), 1 \
                   ON CONFLICT DO NOTHING",
    };
    if task_ids.is_empty() {
        return Ok(());
    }
    tx.execute(tx.words(LEAVE), &[run_id.into(), task_ids.into()]).await.map(drop)
}

/// Requests a stop; false: it has ended, or must stop already.
pub async fn ask_stop(tx: &mut Tx, id: i64, now_ms: i64) -> Result<bool, Error> {
    const STOP: &str = "UPDATE runner_runs SET state = 'stopping', updated_at = $2 \
        WHERE id = $1 AND state IN ('queued', 'running')";
    tx.execute(STOP, &[id.into(), now_ms.into()]).await.map(|rows| rows > 0)
}

/// Requests a stop of some of a workflow's runs; returns their ids.
pub async fn ask_stop_of_workflow(tx: &mut Tx, id: i64, limit: i64, now_ms: i64) -> Result<Vec<i64>, Error> {
    const STOP: &str = "UPDATE runner_runs SET state = 'stopping', updated_at = $3 WHERE id IN \
        (SELECT id FROM runner_runs WHERE workflow_id = $1 AND state IN ('queued', 'running') ORDER BY id LIMIT $2) \
        RETURNING id";
    let rows = tx.query(STOP, &[id.into(), limit.into(), now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The run that retries this one.
pub async fn find_retry(tx: &mut Tx, id: i64) -> Result<Option<i64>, Error> {
    const FIND: &str = "SELECT id FROM runner_runs WHERE retry_of = $1";
    tx.query(FIND, &[id.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// Inserts a run that retries this one, with the revision that is deployed now; `None` if the key has one already.
pub async fn insert_retry(tx: &mut Tx, id: i64, key: &str, now_ms: i64) -> Result<Option<i64>, Error> {
    const INSERT: &str = "INSERT INTO runner_runs (workflow_id, revision_id, key, retry_of, cause, business_at, \
        time_zone, params, failure_strategy, waits, state, created_at, updated_at) \
        SELECT r.workflow_id, w.revision_id, $2, r.id, r.cause, r.business_at, r.time_zone, r.params, \
        r.failure_strategy, CASE WHEN w.concurrency = 'wait' THEN 1 ELSE 0 END, 'queued', $3, $3 \
        FROM runner_runs r JOIN runner_workflows w ON w.id = r.workflow_id WHERE r.id = $1 ON CONFLICT (key) DO NOTHING RETURNING id";
    let rows = tx.query(INSERT, &[id.into(), key.into(), now_ms.into()]).await?;
    rows.first().map(|row| row.get(0)).transpose()
}

/// Adopts the results of another run, including those that it had adopted, and leaves out what it left out.
/// `is_all`: its results do not count, all is run again.
pub async fn take_over(tx: &mut Tx, run_id: i64, from_id: i64, is_all: bool) -> Result<(), Error> {
    const LEAVE: &str = "INSERT INTO runner_taken_over (run_id, task_id, is_left_out) \
        SELECT CAST($1 AS BIGINT), task_id, 1 FROM runner_taken_over WHERE run_id = $2 AND is_left_out = 1";
    const TAKE: &str = "INSERT INTO runner_taken_over (run_id, task_id) \
        SELECT CAST($1 AS BIGINT), task_id FROM runner_task_runs WHERE run_id = $2 AND state = 'success' \
        UNION SELECT CAST($1 AS BIGINT), task_id FROM runner_taken_over WHERE run_id = $2 AND is_left_out = 0";
    tx.execute(LEAVE, &[run_id.into(), from_id.into()]).await?;
    if is_all {
        return Ok(());
    }
    tx.execute(TAKE, &[run_id.into(), from_id.into()]).await.map(drop)
}

/// Marks runs as running; returns those that are. The others must stop, or were stopped, or are paused.
pub async fn begin_runs(tx: &mut Tx, ids: &[i64], now_ms: i64) -> Result<HashSet<i64>, Error> {
    macro_rules! begin {
        ($ids:literal) => {
            concat!(
                "UPDATE runner_runs SET state = 'running', started_at = coalesce(started_at, $2), updated_at = $2 WHERE id ",
                $ids,
                " AND state IN ('queued', 'running') AND is_paused = 0 RETURNING id"
            )
        };
    }
    const BEGIN: Either =
        Either { sqlite: begin!("IN (SELECT value FROM json_each($1))"), postgres: begin!("= ANY($1)") };
    let rows = tx.query(tx.words(BEGIN), &[ids.into(), now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Ends a run in this state, if its current state permits: a run that must stop ends only as stopped.
pub async fn end_run(
    tx: &mut Tx,
    id: i64,
    state: State,
    message: Option<&str>,
    now_ms: i64,
) -> Result<bool, Error> {
    const END: &str = "UPDATE runner_runs SET state = $2, message = $3, ended_at = $4, updated_at = $4 \
        WHERE id = $1 AND CASE WHEN $2 = 'stopped' THEN state = 'stopping' ELSE state IN ('queued', 'running') END";
    let values = [id.into(), state.as_str().into(), message.into(), now_ms.into()];
    tx.execute(END, &values).await.map(|rows| rows > 0)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
