//! Runs, and the engines' watch cursors, in the store.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Select, Tx, Value};

use crate::execution_records::{Again, Part, Reach, Run};

/// Columns of a run, in the order of [`run`].
macro_rules! columns {
    () => {
        "id, engine, workflow_id, workflow_name, key, trigger_code, instance_id, state, cause, business_time, \
         asked_at, started_at, ended_at, message, workflow_version, start_task_id, reach, failure_strategy, again_until, \
         again_ended, version"
    };
}

/// Ended runs with their executions.
pub const RETAINED: Retained = Retained {
    what: "executions",
    table: "executions",
    purge: "DELETE FROM runs WHERE id IN (SELECT id FROM runs WHERE ended_at < $1 LIMIT $2)",
};

fn run(row: &Row) -> Result<Run, Error> {
    let mut row = row.by_name();
    Ok(Run {
        id: row.get("id")?,
        engine: row.get("engine")?,
        workflow_id: row.get("workflow_id")?,
        workflow_name: row.get("workflow_name")?,
        key: row.get("key")?,
        trigger: row.get("trigger_code")?,
        instance_id: row.get("instance_id")?,
        state: row.get("state")?,
        cause: row.get("cause")?,
        business_time_ms: row.get("business_time")?,
        asked_at_ms: row.get("asked_at")?,
        started_at_ms: row.get("started_at")?,
        ended_at_ms: row.get("ended_at")?,
        message: row.get("message")?,
        workflow_version: row.get("workflow_version")?,
        part: part(row.get("start_task_id")?, row.get("reach")?),
        failure_strategy: row.get("failure_strategy")?,
        again: again(row.get("again_until")?, row.get("again_ended")?),
        version: row.get("version")?,
    })
}

fn part(task_id: Option<i64>, reach: Option<String>) -> Option<Part> {
    Some(Part { task_id: task_id?, reach: Reach::parse(&reach?)? })
}

fn again(until_ms: Option<i64>, ended_ms: Option<i64>) -> Option<Again> {
    Some(Again { until_ms: until_ms?, ended_ms: ended_ms? })
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Run>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM runs WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(run).transpose()
}

/// The run with this request key.
pub async fn find_by_key(db: &Db, key: &str) -> Result<Option<Run>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM runs WHERE key = $1");
    db.read(FIND, &[key.into()]).await?.first().map(run).transpose()
}

/// A page of a workflow's runs, newest first, and how many there are.
pub async fn of_workflow(db: &Db, id: i64, paging: &Paging) -> Result<(i64, Vec<Run>), Error> {
    const COUNT: &str = "SELECT count(*) FROM runs WHERE workflow_id = $1";
    const PAGE: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE workflow_id = $1 ORDER BY id DESC LIMIT $2 OFFSET $3"
    );
    let count = Select::new(COUNT, [id.into()], |row| row.get::<i64>(0));
    let page = Select::new(PAGE, [id.into(), paging.page_size.into(), paging.offset().into()], run);
    let (count, runs) = db.read_all((count, page)).await?;
    Ok((count.first().copied().unwrap_or_default(), runs))
}

/// The engine's run with this id.
pub async fn find_instance(db: &Db, engine: &str, instance_id: &str) -> Result<Option<Run>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM runs WHERE engine = $1 AND instance_id = $2");
    db.read(FIND, &[engine.into(), instance_id.into()]).await?.first().map(run).transpose()
}

/// Those of an engine with one of these ids or keys.
pub async fn known(db: &Db, engine: &str, instance_ids: &[&str], keys: &[&str]) -> Result<Vec<Run>, Error> {
    const KNOWN: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM runs WHERE engine = $1 AND instance_id IN (SELECT value FROM json_each($2)) UNION SELECT ",
            columns!(),
            " FROM runs WHERE engine = $1 AND key IN (SELECT value FROM json_each($3))"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM runs WHERE engine = $1 AND (instance_id = ANY \
             (ARRAY(SELECT json_array_elements_text(CAST($2 AS json)) COLLATE \"C\")) OR key = ANY \
             (ARRAY(SELECT json_array_elements_text(CAST($3 AS json)) COLLATE \"C\")))"
        ),
    };
    let values = [engine.into(), json(instance_ids)?, json(keys)?];
    db.read(db.words(KNOWN), &values).await?.iter().map(run).collect()
}

/// Open runs that are known by the codes of their starts alone.
pub async fn known_by_trigger(db: &Db, engine: &str, triggers: &[&str]) -> Result<Vec<Run>, Error> {
    const KNOWN: Either = Either {
        sqlite: concat!(
            "SELECT ",
            columns!(),
            " FROM runs WHERE engine = $1 AND ended_at IS NULL AND instance_id IS NULL \
             AND trigger_code IN (SELECT value FROM json_each($2)) ORDER BY id"
        ),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM runs WHERE engine = $1 AND ended_at IS NULL AND instance_id IS NULL AND trigger_code = ANY \
             (ARRAY(SELECT json_array_elements_text(CAST($2 AS json)) COLLATE \"C\")) ORDER BY id"
        ),
    };
    if triggers.is_empty() {
        return Ok(Vec::new());
    }
    db.read(db.words(KNOWN), &[engine.into(), json(triggers)?]).await?.iter().map(run).collect()
}

/// The watched runs with an instance, of a range of workflow ids; oldest first.
pub async fn open(
    db: &Db,
    engine: &str,
    from_id: i64,
    before_id: i64,
    at_most: i64,
) -> Result<Vec<Run>, Error> {
    const OPEN: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE engine = $1 AND ended_at IS NULL AND instance_id IS NOT NULL AND workflow_id >= $2 \
         AND workflow_id < $3 ORDER BY id LIMIT $4"
    );
    let values = [engine.into(), from_id.into(), before_id.into(), at_most.into()];
    db.read(OPEN, &values).await?.iter().map(run).collect()
}

/// Runs that were begun again, which the engine has not shown yet; oldest first. `since_ms`: how long ago the engine may have
/// been expected to.
pub async fn begun_again(db: &Db, engine: &str, since_ms: i64, at_most: i64) -> Result<Vec<Run>, Error> {
    const AGAIN: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM runs WHERE engine = $1 AND again_until > $2 AND ended_at <= again_ended AND instance_id IS NOT NULL \
         ORDER BY id LIMIT $3"
    );
    let values = [engine.into(), since_ms.into(), at_most.into()];
    db.read(AGAIN, &values).await?.iter().map(run).collect()
}

/// Notes that an ended run is to be begun again; until then the engine may show it with its old end.
pub async fn note_again(tx: &mut Tx, id: i64, until_ms: i64) -> Result<(), Error> {
    const NOTE: &str = "UPDATE runs SET again_until = $2, again_ended = ended_at, version = version + 1 \
        WHERE id = $1 AND ended_at IS NOT NULL";
    tx.execute(NOTE, &[id.into(), until_ms.into()]).await.map(drop)
}

/// The engine did not begin it again.
pub async fn forget_again(tx: &mut Tx, id: i64) -> Result<(), Error> {
    const FORGET: &str =
        "UPDATE runs SET again_until = NULL, again_ended = NULL, version = version + 1 WHERE id = $1";
    tx.execute(FORGET, &[id.into()]).await.map(drop)
}

/// Workflows of an engine with watched runs.
pub async fn open_workflows(db: &Db, engine: &str) -> Result<Vec<i64>, Error> {
    const OPEN: &str =
        "SELECT DISTINCT workflow_id FROM runs WHERE engine = $1 AND ended_at IS NULL ORDER BY 1";
    db.read(OPEN, &[engine.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// The number of an engine's unfinished runs.
pub async fn count_open(tx: &mut Tx, engine: &str) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(*) FROM runs WHERE engine = $1 AND ended_at IS NULL";
    tx.query(COUNT, &[engine.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}

/// Lost starts of one workflow that are looked for at once.
const OF_WORKFLOW_MAX: i64 = 20;

/// Those requested before this time, or after the other one by a clock that was ahead, whose engine's answer is unknown: so
/// many of each workflow at most, and one of each before the second of any.
pub async fn unanswered(
    db: &Db,
    engine: &str,
    (before_ms, after_ms): (i64, i64),
    at_most: i64,
) -> Result<Vec<Run>, Error> {
    const UNANSWERED: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM (SELECT *, row_number() OVER (PARTITION BY workflow_id ORDER BY id) AS place FROM runs \
         WHERE engine = $1 AND ended_at IS NULL AND instance_id IS NULL AND (asked_at < $2 OR asked_at > $5)) AS placed \
         WHERE place <= $4 ORDER BY place, id LIMIT $3"
    );
    let values = [engine.into(), before_ms.into(), at_most.into(), OF_WORKFLOW_MAX.into(), after_ms.into()];
    db.read(UNANSWERED, &values).await?.iter().map(run).collect()
}

/// Whether an engine's answer to a start is unknown.
pub async fn has_unanswered(db: &Db, engine: &str) -> Result<bool, Error> {
    const HAS: &str =
        "SELECT 1 FROM runs WHERE engine = $1 AND ended_at IS NULL AND instance_id IS NULL LIMIT 1";
    Ok(!db.read(HAS, &[engine.into()]).await?.is_empty())
}

/// Inserts one; `None` if it exists already. Its version is the one that was deployed when it
/// started, or for a run that is asked for the current one.
pub async fn insert(tx: &mut Tx, new: &Run) -> Result<Option<i64>, Error> {
    const INSERT: &str = "INSERT INTO runs (engine, workflow_id, workflow_name, key, trigger_code, instance_id, \
        state, cause, business_time, asked_at, started_at, ended_at, message, start_task_id, reach, failure_strategy, \
        workflow_version) \
        SELECT $1, $2, $3, $4, $5, $6, $7, $8, CAST($9 AS BIGINT), $10, CAST($11 AS BIGINT), CAST($12 AS BIGINT), $13, \
        CAST($14 AS BIGINT), $15, $16, \
        coalesce((SELECT version FROM publications WHERE workflow_id = $2 AND deployment_state = 'success' \
            AND deployment_finished_at <= CAST($11 AS BIGINT) ORDER BY id DESC LIMIT 1), \
            (SELECT published_version FROM workflows WHERE id = $2)) \
        WHERE TRUE ON CONFLICT DO NOTHING RETURNING id";
    let values: [Value; 16] = [
        new.engine.as_str().into(),
        new.workflow_id.into(),
        new.workflow_name.as_str().into(),
        new.key.as_deref().into(),
        new.trigger.as_deref().into(),
        new.instance_id.as_deref().into(),
        new.state.as_str().into(),
        new.cause.as_str().into(),
        new.business_time_ms.into(),
        new.asked_at_ms.into(),
        new.started_at_ms.into(),
        new.ended_at_ms.into(),
        new.message.as_deref().into(),
        new.part.map(|part| part.task_id).into(),
        new.part.map(|part| part.reach.as_str()).into(),
        new.failure_strategy.as_deref().into(),
    ];
    tx.query(INSERT, &values).await?.first().map(|row| row.get(0)).transpose()
}

/// Writes the columns that can change, unless another process changed them since they were read.
pub async fn update(tx: &mut Tx, changed: &Run) -> Result<bool, Error> {
    const UPDATE: &str = "UPDATE runs SET trigger_code = $3, instance_id = $4, state = $5, business_time = $6, \
        started_at = $7, ended_at = $8, message = $9, version = version + 1 WHERE id = $1 AND version = $2";
    let values: [Value; 9] = [
        changed.id.into(),
        changed.version.into(),
        changed.trigger.as_deref().into(),
        changed.instance_id.as_deref().into(),
        changed.state.as_str().into(),
        changed.business_time_ms.into(),
        changed.started_at_ms.into(),
        changed.ended_at_ms.into(),
        changed.message.as_deref().into(),
    ];
    Ok(tx.execute(UPDATE, &values).await? > 0)
}

/// Whether a run is open and not in this state, which must be so before it is begun again.
pub async fn may_go_on(tx: &mut Tx, id: i64, stopping: &str) -> Result<bool, Error> {
    const HOLD: &str =
        "UPDATE runs SET version = version + 1 WHERE id = $1 AND ended_at IS NULL AND state <> $2";
    Ok(tx.execute(HOLD, &[id.into(), stopping.into()]).await? > 0)
}

/// Notes that a run is to stop, until the engine says what it has become.
pub async fn note_stop(tx: &mut Tx, id: i64, state: &str) -> Result<(), Error> {
    const STOP: &str = "UPDATE runs SET state = $2, version = version + 1 WHERE id = $1 AND ended_at IS NULL";
    tx.execute(STOP, &[id.into(), state.into()]).await.map(drop)
}

/// The engine does not stop it: if it is still to stop, it is as it was when it was read.
pub async fn forget_stop(tx: &mut Tx, read: &Run, stopping: &str) -> Result<(), Error> {
    const FORGET: &str =
        "UPDATE runs SET state = $3, version = version + 1 WHERE id = $1 AND ended_at IS NULL AND state = $2";
    tx.execute(FORGET, &[read.id.into(), stopping.into(), read.state.as_str().into()]).await.map(drop)
}

/// Stores the answer of a start. If the watcher has already found the run and recorded it separately, the two
/// records become one.
pub async fn answered(
    tx: &mut Tx,
    asked: &Run,
    instance_id: Option<&str>,
    trigger: &str,
) -> Result<(), Error> {
    const SEEN: &str = "SELECT id FROM runs WHERE engine = $1 AND instance_id = $2 AND id <> $3";
    const FORGET: &str = "DELETE FROM runs WHERE id = $1";
    const JOIN: &str = "UPDATE runs SET key = $2, trigger_code = $3, cause = $4, asked_at = $5, start_task_id = $6, \
        reach = $7, failure_strategy = $8, version = version + 1 WHERE id = $1";
    const ANSWERED: &str = "UPDATE runs SET instance_id = coalesce(instance_id, $2), trigger_code = $3, \
        state = CASE WHEN state = 'asked' AND $4 = 1 THEN 'queued' ELSE state END, version = version + 1 \
        WHERE id = $1";
    let key = asked.key.as_deref();
    if let Some(instance_id) = instance_id {
        let seen =
            tx.query(SEEN, &[asked.engine.as_str().into(), instance_id.into(), asked.id.into()]).await?;
        if let Some(row) = seen.first() {
            tx.execute(FORGET, &[asked.id.into()]).await?;
            let values = [
                row.get::<i64>(0)?.into(),
                key.into(),
                trigger.into(),
                asked.cause.as_str().into(),
                asked.asked_at_ms.into(),
                asked.part.map(|part| part.task_id).into(),
                asked.part.map(|part| part.reach.as_str()).into(),
                asked.failure_strategy.as_deref().into(),
            ];
            return tx.execute(JOIN, &values).await.map(drop);
        }
    }
    let is_known = i64::from(instance_id.is_some());
    let values = [asked.id.into(), instance_id.into(), trigger.into(), is_known.into()];
    tx.execute(ANSWERED, &values).await.map(drop)
}

/// Ends one that the engine never accepted. False if it did.
pub async fn end_unstarted(tx: &mut Tx, id: i64, message: &str, now_ms: i64) -> Result<bool, Error> {
    const END: &str = "UPDATE runs SET state = 'failed', message = $2, ended_at = $3, version = version + 1 \
        WHERE id = $1 AND instance_id IS NULL AND ended_at IS NULL";
    Ok(tx.execute(END, &[id.into(), message.into(), now_ms.into()]).await? > 0)
}

/// Removes one that the engine did not accept, and that is to be asked for again.
pub async fn forget_unstarted(tx: &mut Tx, key: &str) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM runs WHERE key = $1 AND instance_id IS NULL AND ended_at IS NOT NULL";
    tx.execute(FORGET, &[key.into()]).await.map(drop)
}

/// Whether a run of the workflow has not ended.
pub async fn has_open(db: &Db, workflow_id: i64) -> Result<bool, Error> {
    const HAS: &str = "SELECT 1 FROM runs WHERE workflow_id = $1 AND ended_at IS NULL LIMIT 1";
    Ok(!db.read(HAS, &[workflow_id.into()]).await?.is_empty())
}

/// Workflows of one query, by the contract. A bucket is a range of so many ids.
pub const WORKFLOWS_AT_ONCE: i64 = 1_000;

/// The watch cursor of a bucket of an engine's workflows, and when all before it had been read.
pub async fn cursor(db: &Db, engine: &str, bucket: i64) -> Result<Option<(String, i64)>, Error> {
    const CURSOR: &str = "SELECT cursor, updated_at FROM engine_watches WHERE engine = $1 AND bucket = $2";
    let rows = db.read(CURSOR, &[engine.into(), bucket.into()]).await?;
    rows.first().map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

/// When all runs of a workflow that the engine showed had been read, some seconds more or less; `None`: never.
pub async fn seen_at(db: &Db, engine: &str, workflow_id: i64) -> Result<Option<i64>, Error> {
    let bucket = workflow_id.div_euclid(WORKFLOWS_AT_ONCE);
    Ok(cursor(db, engine, bucket).await?.map(|(_, at_ms)| at_ms))
}

pub async fn set_cursor(
    tx: &mut Tx,
    engine: &str,
    bucket: i64,
    cursor: &str,
    now_ms: i64,
) -> Result<(), Error> {
    const SET: &str = "INSERT INTO engine_watches (engine, bucket, cursor, updated_at) VALUES ($1, $2, $3, $4) \
        ON CONFLICT (engine, bucket) DO UPDATE SET cursor = excluded.cursor, updated_at = excluded.updated_at";
    tx.execute(SET, &[engine.into(), bucket.into(), cursor.into(), now_ms.into()]).await.map(drop)
}

fn json(texts: &[&str]) -> Result<Value, Error> {
    Ok(serde_json::to_string(texts).map_err(Error::internal)?.into())
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
