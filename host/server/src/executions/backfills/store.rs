//! Backfills and their runs in the store.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Retained, Row, Tx, Value};

use super::plan::Step;
use crate::workflows::forms::FailureStrategy;

/// Columns of a backfill, in the order of [`backfill`].
macro_rules! columns {
    () => {
        "id, key, workflow_id, workflow_name, code, state, workflows, dates, parallelism, failure_strategy, \
         requested_by, requested_at, ended_at, message, maker, engine, notes"
    };
}

/// Ended backfills with their runs.
pub const RETAINED: Retained = Retained {
    what: "backfills",
    table: "backfills",
    purge: "DELETE FROM backfills WHERE id IN (SELECT id FROM backfills WHERE ended_at < $1 LIMIT $2)",
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backfill {
    pub id: i64,
    /// Of its request: a repeat finds it.
    pub key: String,
    pub workflow_id: i64,
    pub workflow_name: String,
    /// The engine's id of its first run.
    pub code: Option<String>,
    pub state: State,
    pub steps: Vec<Step>,
    /// Milliseconds since 1970, in the order of their runs.
    pub dates: Vec<i64>,
    pub parallelism: usize,
    pub strategy: FailureStrategy,
    pub requested_by: String,
    pub requested_at_ms: i64,
    pub ended_at_ms: Option<i64>,
    /// Why a run could not be started.
    pub message: Option<String>,
    pub maker: Maker,
    /// What the engine does otherwise than asked.
    pub notes: Option<String>,
}

/// A backfill in a list.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// The key, as long as nothing has started.
    pub code: String,
    pub state: State,
    /// Of the dates.
    pub total: i64,
    /// The first and the last date to run.
    pub ends_ms: Option<(i64, i64)>,
    pub requested_by: String,
    pub requested_at_ms: i64,
    pub ended_at_ms: Option<i64>,
}

/// Who begins the dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Maker {
    Host,
    /// This engine was asked to, and may have begun.
    Asked(String),
    /// This engine, under the backfill's code.
    Engine(String),
}

impl Maker {
    fn parse(text: Option<&str>, engine: Option<String>) -> Maker {
        match (text, engine) {
            (Some("asked"), Some(engine)) => Maker::Asked(engine),
            (Some("engine"), Some(engine)) => Maker::Engine(engine),
            _ => Maker::Host,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    /// Nothing more is begun; what runs is asked to stop.
    Stopping,
    Success,
    Failed,
    Cancelled,
}

impl State {
    pub fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Stopping => "stopping",
            State::Success => "success",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    pub fn is_open(self) -> bool {
        matches!(self, State::Running | State::Stopping)
    }

    fn parse(text: &str) -> Result<State, Error> {
        let all = [State::Running, State::Stopping, State::Success, State::Failed, State::Cancelled];
        let unknown = || Error::internal(anyhow::anyhow!("`{text}` is no state of a backfill"));
        all.into_iter().find(|state| state.as_str() == text).ok_or_else(unknown)
    }
}

/// A run that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begun {
    /// Of its date.
    pub position: usize,
    /// Of its workflow.
    pub place: usize,
    /// Of its row in `runs`.
    pub key: String,
    /// `running`, `success`, `failed` or `cancelled`.
    pub state: String,
    pub instance_id: Option<String>,
    pub message: Option<String>,
}

fn backfill(row: &Row) -> Result<Backfill, Error> {
    let mut row = row.by_name();
    let json = |text: String| serde_json::from_str(&text).map_err(Error::internal);
    Ok(Backfill {
        id: row.get("id")?,
        key: row.get("key")?,
        workflow_id: row.get("workflow_id")?,
        workflow_name: row.get("workflow_name")?,
        code: row.get("code")?,
        state: State::parse(&row.get::<String>("state")?)?,
        steps: json(row.get("workflows")?)?,
        dates: serde_json::from_str(&row.get::<String>("dates")?).map_err(Error::internal)?,
        parallelism: usize::try_from(row.get::<i64>("parallelism")?).map_err(Error::internal)?,
        strategy: match row.get::<String>("failure_strategy")?.as_str() {
            "END" => FailureStrategy::End,
            _ => FailureStrategy::Continue,
        },
        requested_by: row.get("requested_by")?,
        requested_at_ms: row.get("requested_at")?,
        ended_at_ms: row.get("ended_at")?,
        message: row.get("message")?,
        maker: Maker::parse(row.get::<Option<String>>("maker")?.as_deref(), row.get("engine")?),
        notes: row.get("notes")?,
    })
}

fn begun(row: &Row) -> Result<Begun, Error> {
    let mut row = row.by_name();
    Ok(Begun {
        position: usize::try_from(row.get::<i64>("position")?).map_err(Error::internal)?,
        place: usize::try_from(row.get::<i64>("place")?).map_err(Error::internal)?,
        key: row.get("key")?,
        state: row.get("state")?,
        instance_id: row.get("instance_id")?,
        message: row.get("message")?,
    })
}

/// What changes of a backfill, without its dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    pub key: String,
    pub code: Option<String>,
    pub state: State,
    pub error_code: Option<String>,
    pub message: Option<String>,
}

pub async fn progress(db: &Db, id: i64) -> Result<Option<Progress>, Error> {
    const PROGRESS: &str = "SELECT key, code, state, error_code, message FROM backfills WHERE id = $1";
    let rows = db.read(PROGRESS, &[id.into()]).await?;
    let progress = rows.first().map(|row| {
        let mut row = row.by_name();
        let state = State::parse(&row.get::<String>("state")?)?;
        let (code, error_code, message) = (row.get("code")?, row.get("error_code")?, row.get("message")?);
        Ok(Progress { key: row.get("key")?, code, state, error_code, message })
    });
    progress.transpose()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Backfill>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM backfills WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(backfill).transpose()
}

/// The id of the one with this key, and its workflow's; not of one that ended before anything was started.
pub async fn find_by_key(db: &Db, key: &str) -> Result<Option<(i64, i64)>, Error> {
    const FIND: &str =
        "SELECT id, workflow_id FROM backfills WHERE key = $1 AND (code IS NOT NULL OR ended_at IS NULL)";
    let rows = db.read(FIND, &[key.into()]).await?;
    rows.first().map(|row| Ok((row.get(0)?, row.get(1)?))).transpose()
}

/// By its key, or the newest with this code; two engines may use one code.
pub async fn find_by_code(db: &Db, code: &str) -> Result<Option<Backfill>, Error> {
    const FIND: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM backfills WHERE code = $1 OR key = $1 ORDER BY id DESC LIMIT 1"
    );
    db.read(FIND, &[code.into()]).await?.first().map(backfill).transpose()
}

/// The latest of a workflow, newest first. Their dates may be many, and stay in the store.
pub async fn latest_of(db: &Db, workflow_id: i64, at_most: i64) -> Result<Vec<Listed>, Error> {
    macro_rules! latest {
        ($first:literal, $last:literal) => {
            concat!(
                "SELECT coalesce(code, key), state, total, ",
                $first,
                ", ",
                $last,
                ", requested_by, requested_at, ended_at FROM backfills WHERE workflow_id = $1 ORDER BY id DESC LIMIT $2"
            )
        };
    }
    const LATEST: Either = Either {
        sqlite: latest!("json_extract(dates, '$[0]')", "json_extract(dates, '$[#-1]')"),
        postgres: latest!(
            "CAST(CAST(dates AS json) ->> 0 AS BIGINT)",
            "CAST(CAST(dates AS json) ->> -1 AS BIGINT)"
        ),
    };
    let listed = |row: &Row| {
        Ok(Listed {
            code: row.get(0)?,
            state: State::parse(&row.get::<String>(1)?)?,
            total: row.get(2)?,
            ends_ms: row.get::<Option<i64>>(3)?.zip(row.get(4)?),
            requested_by: row.get(5)?,
            requested_at_ms: row.get(6)?,
            ended_at_ms: row.get(7)?,
        })
    };
    db.read(db.words(LATEST), &[workflow_id.into(), at_most.into()]).await?.iter().map(listed).collect()
}

/// Those that have not ended, with their states; oldest first.
pub async fn open(db: &Db, at_most: i64) -> Result<Vec<(i64, State)>, Error> {
    const OPEN: &str = "SELECT id, state FROM backfills WHERE ended_at IS NULL ORDER BY id LIMIT $1";
    let rows = db.read(OPEN, &[at_most.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, State::parse(&row.get::<String>(1)?)?))).collect()
}

pub async fn count_open(tx: &mut Tx) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(*) FROM backfills WHERE ended_at IS NULL";
    tx.query(COUNT, &[]).await?.first().map_or(Ok(0), |row| row.get(0))
}

/// Inserts one; `None` if its key is known.
pub async fn insert(tx: &mut Tx, new: &Backfill) -> Result<Option<i64>, Error> {
    const INSERT: &str = "INSERT INTO backfills (key, workflow_id, workflow_name, state, workflows, dates, total, \
        parallelism, failure_strategy, requested_by, requested_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT DO NOTHING RETURNING id";
    let values: [Value; 11] = [
        new.key.as_str().into(),
        new.workflow_id.into(),
        new.workflow_name.as_str().into(),
        new.state.as_str().into(),
        serde_json::to_string(&new.steps).map_err(Error::internal)?.into(),
        serde_json::to_string(&new.dates).map_err(Error::internal)?.into(),
        i64::try_from(new.dates.len()).map_err(Error::internal)?.into(),
        i64::try_from(new.parallelism).map_err(Error::internal)?.into(),
        new.strategy.as_str().into(),
        new.requested_by.as_str().into(),
        new.requested_at_ms.into(),
    ];
    tx.query(INSERT, &values).await?.first().map(|row| row.get(0)).transpose()
}

/// Takes the key from a backfill that ended before anything was started.
pub async fn free_key(tx: &mut Tx, key: &str) -> Result<(), Error> {
    const FREE: &str = "UPDATE backfills SET key = key || '/' || CAST(id AS TEXT) \
        WHERE key = $1 AND code IS NULL AND ended_at IS NOT NULL";
    tx.execute(FREE, &[key.into()]).await.map(drop)
}

/// The runs that were begun, of a range of positions.
pub async fn begun_of(db: &Db, id: i64, from: usize, before: usize) -> Result<Vec<Begun>, Error> {
    const BEGUN: &str = "SELECT position, place, key, state, instance_id, message FROM backfill_runs \
        WHERE backfill_id = $1 AND position >= $2 AND position < $3 ORDER BY position, place";
    let number = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let rows = db.read(BEGUN, &[id.into(), number(from).into(), number(before).into()]).await?;
    rows.iter().map(begun).collect()
}

/// Notes that a run begins under this key; a later attempt replaces an earlier one.
pub async fn begin(tx: &mut Tx, id: i64, (position, place): (usize, usize), key: &str) -> Result<(), Error> {
    const BEGIN: &str = "INSERT INTO backfill_runs (backfill_id, position, place, key, state) \
        VALUES ($1, $2, $3, $4, 'running') ON CONFLICT (backfill_id, position, place) DO UPDATE SET key = excluded.key";
    let values = [id.into(), place_of(position)?, place_of(place)?, key.into()];
    tx.execute(BEGIN, &values).await.map(drop)
}

fn place_of(place: usize) -> Result<Value, Error> {
    Ok(i64::try_from(place).map_err(Error::internal)?.into())
}

/// Writes the engine's id of a run. That of the first run is the backfill's code.
pub async fn set_instance(tx: &mut Tx, id: i64, key: &str, instance_id: &str) -> Result<(), Error> {
    const SET: &str = "UPDATE backfill_runs SET instance_id = $2 WHERE key = $1";
    const CODE: &str = "UPDATE backfills SET code = $2 WHERE id = $1 AND code IS NULL";
    tx.execute(SET, &[key.into(), instance_id.into()]).await?;
    tx.execute(CODE, &[id.into(), instance_id.into()]).await.map(drop)
}

/// Notes that this engine is asked to begin the dates; `None`: the host begins them.
pub async fn set_asked(tx: &mut Tx, id: i64, engine: Option<&str>) -> Result<(), Error> {
    const SET: &str = "UPDATE backfills SET maker = $2, engine = $3 WHERE id = $1";
    tx.execute(SET, &[id.into(), engine.map(|_| "asked").into(), engine.into()]).await.map(drop)
}

/// Notes that the engine begins the dates, and what it says of that.
pub async fn set_made(tx: &mut Tx, id: i64, code: &str, notes: Option<&str>) -> Result<(), Error> {
    const SET: &str = "UPDATE backfills SET maker = 'engine', code = $2, notes = $3 WHERE id = $1";
    tx.execute(SET, &[id.into(), code.into(), notes.into()]).await.map(drop)
}

/// The workflows of those that this engine is making.
pub async fn made_by(db: &Db, engine: &str) -> Result<Vec<i64>, Error> {
    const MADE: &str = "SELECT DISTINCT workflow_id FROM backfills WHERE ended_at IS NULL AND maker = 'engine' AND engine = $1";
    db.read(MADE, &[engine.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// How many this engine was asked for, or is making.
pub async fn count_at(tx: &mut Tx, engine: &str) -> Result<i64, Error> {
    const COUNT: &str =
        "SELECT count(*) FROM backfills WHERE ended_at IS NULL AND maker IS NOT NULL AND engine = $1";
    tx.query(COUNT, &[engine.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}

/// Writes how a run ended.
pub async fn end_run(tx: &mut Tx, key: &str, state: &str, message: Option<&str>) -> Result<(), Error> {
    const END: &str = "UPDATE backfill_runs SET state = $2, message = $3 WHERE key = $1";
    tx.execute(END, &[key.into(), state.into(), message.into()]).await.map(drop)
}

/// It was not begun.
pub async fn forget_run(tx: &mut Tx, key: &str) -> Result<(), Error> {
    const FORGET: &str = "DELETE FROM backfill_runs WHERE key = $1";
    tx.execute(FORGET, &[key.into()]).await.map(drop)
}

/// False if it has ended.
pub async fn ask_stop(tx: &mut Tx, id: i64) -> Result<bool, Error> {
    const STOP: &str = "UPDATE backfills SET state = 'stopping' WHERE id = $1 AND ended_at IS NULL";
    Ok(tx.execute(STOP, &[id.into()]).await? > 0)
}

/// Why one ended.
pub struct Ended<'e> {
    pub state: State,
    pub error_code: Option<&'e str>,
    pub message: Option<&'e str>,
}

pub async fn end(tx: &mut Tx, id: i64, ended: &Ended<'_>, now_ms: i64) -> Result<(), Error> {
    const END: &str = "UPDATE backfills SET state = $2, error_code = $3, message = $4, ended_at = $5 \
        WHERE id = $1 AND ended_at IS NULL";
    let values = [
        id.into(),
        ended.state.as_str().into(),
        ended.error_code.into(),
        ended.message.into(),
        now_ms.into(),
    ];
    tx.execute(END, &values).await.map(drop)
}

/// The outcomes of a backfill's dates.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    pub success: i64,
    pub failed: i64,
    pub running: i64,
}

/// Counts the dates at which something was begun, by their worst run; a date is a success once all workflows are.
pub async fn counts(db: &Db, id: i64, workflows: usize) -> Result<Counts, Error> {
    const COUNTS: &str = "SELECT \
        CAST(coalesce(sum(CASE WHEN running = 0 AND failed = 0 AND success = $2 THEN 1 ELSE 0 END), 0) AS BIGINT), \
        CAST(coalesce(sum(CASE WHEN running = 0 AND failed > 0 THEN 1 ELSE 0 END), 0) AS BIGINT), \
        CAST(coalesce(sum(CASE WHEN running > 0 OR (failed = 0 AND cancelled = 0 AND success < $2) THEN 1 ELSE 0 END), \
        0) AS BIGINT) FROM (SELECT position, \
        CAST(sum(CASE state WHEN 'running' THEN 1 ELSE 0 END) AS BIGINT) AS running, \
        CAST(sum(CASE state WHEN 'failed' THEN 1 ELSE 0 END) AS BIGINT) AS failed, \
        CAST(sum(CASE state WHEN 'cancelled' THEN 1 ELSE 0 END) AS BIGINT) AS cancelled, \
        CAST(sum(CASE state WHEN 'success' THEN 1 ELSE 0 END) AS BIGINT) AS success \
        FROM backfill_runs WHERE backfill_id = $1 GROUP BY position) AS dates";
    let workflows = i64::try_from(workflows).map_err(Error::internal)?;
    let rows = db.read(COUNTS, &[id.into(), workflows.into()]).await?;
    let row = rows.first().ok_or_else(|| Error::internal(anyhow::anyhow!("a count has a row")))?;
    Ok(Counts { success: row.get(0)?, failed: row.get(1)?, running: row.get(2)? })
}

/// A run that an engine made of a backfill.
pub struct MadeRun {
    pub business_time_ms: i64,
    pub instance_id: String,
    pub state: String,
    pub message: Option<String>,
    pub has_ended: bool,
}

/// The runs that an engine made of a workflow under this code, oldest first.
pub async fn made_runs(db: &Db, engine: &str, workflow_id: i64, code: &str) -> Result<Vec<MadeRun>, Error> {
    const RUNS: &str = "SELECT business_time, instance_id, state, message, ended_at IS NOT NULL AS has_ended FROM runs \
        WHERE workflow_id = $1 AND trigger_code = $2 AND cause = 'backfill' AND engine = $3 \
        AND business_time IS NOT NULL AND instance_id IS NOT NULL ORDER BY id";
    let rows = db.read(RUNS, &[workflow_id.into(), code.into(), engine.into()]).await?;
    rows.iter()
        .map(|row| {
            let mut row = row.by_name();
            Ok(MadeRun {
                business_time_ms: row.get("business_time")?,
                instance_id: row.get("instance_id")?,
                state: row.get("state")?,
                message: row.get("message")?,
                has_ended: row.get("has_ended")?,
            })
        })
        .collect()
}

/// A run's end, as it is watched.
pub struct RunEnd {
    pub key: String,
    pub state: String,
    pub instance_id: Option<String>,
    pub message: Option<String>,
    pub has_ended: bool,
}

/// The runs of these keys.
pub async fn runs(db: &Db, keys: &[&str]) -> Result<Vec<RunEnd>, Error> {
    const RUNS: Either = Either {
        sqlite: "SELECT key, state, instance_id, message, ended_at IS NOT NULL AS has_ended FROM runs \
            WHERE key IN (SELECT value FROM json_each($1))",
        postgres: "SELECT key, state, instance_id, message, ended_at IS NOT NULL AS has_ended FROM runs \
            WHERE key = ANY (ARRAY(SELECT json_array_elements_text(CAST($1 AS json)) COLLATE \"C\"))",
    };
    let keys = serde_json::to_string(keys).map_err(Error::internal)?;
    let rows = db.read(db.words(RUNS), &[keys.into()]).await?;
    rows.iter()
        .map(|row| {
            let mut row = row.by_name();
            Ok(RunEnd {
                key: row.get("key")?,
                state: row.get("state")?,
                instance_id: row.get("instance_id")?,
                message: row.get("message")?,
                has_ended: row.get("has_ended")?,
            })
        })
        .collect()
}

/// How many of the business times between two have a successful run of the workflow already.
pub async fn succeeded(db: &Db, workflow_id: i64, from_ms: i64, to_ms: i64) -> Result<Vec<i64>, Error> {
    const SUCCEEDED: &str = "SELECT DISTINCT business_time FROM runs WHERE workflow_id = $1 AND state = 'success' \
        AND business_time >= $2 AND business_time <= $3";
    let values = [workflow_id.into(), from_ms.into(), to_ms.into()];
    db.read(SUCCEEDED, &values).await?.iter().map(|row| row.get(0)).collect()
}
