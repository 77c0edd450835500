//! Reads runs, attempts and logs from the store.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row};

use crate::scheduler::store::{Run, State, run, run_columns, state};
use crate::scheduler::{PROGRESS, TOPIC};

/// One attempt, as shown.
#[derive(Debug)]
pub struct TryRow {
    pub id: i64,
    pub run_id: i64,
    pub task_id: i64,
    pub task_name: String,
    pub attempt: i64,
    pub state: State,
    pub is_lost: bool,
    pub message: Option<String>,
    pub rows_affected: Option<i64>,
    pub started_at_ms: i64,
    pub ended_at_ms: Option<i64>,
    /// It failed, and its task will be retried.
    pub is_waiting: bool,
}

/// The content of the change log.
pub enum Changed {
    /// These runs; `last` is the number of the last change that was read.
    Runs { ids: Vec<i64>, is_all: bool, last: i64 },
    /// It does not reach back far enough, or anything may have changed.
    Unknown,
}

/// The number of the newest change.
pub async fn newest(db: &Db) -> Result<i64, Error> {
    let rows = db.read("SELECT number FROM change_counter WHERE id = 1", &[]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// The runs with changes after `seen`, up to `newest`; at most `limit` changes.
pub async fn changed_after(db: &Db, seen: i64, newest: i64, limit: i64) -> Result<Changed, Error> {
    const OLDEST: &str = "SELECT min(number) FROM changes";
    const CHANGED: &str = "SELECT number, key FROM changes WHERE number > $1 AND number <= $2 AND topic IN ($3, $4) \
        ORDER BY number LIMIT $5";
    let values = [seen.into(), newest.into(), TOPIC.into(), PROGRESS.into(), limit.into()];
    let rows = db.read(CHANGED, &values).await?;
    // Read after the changes: a purge in between is then detected.
    let oldest = db.read(OLDEST, &[]).await?.first().map_or(Ok(None), |row| row.get::<Option<i64>>(0))?;
    let reaches_back = oldest.map_or(seen == newest, |oldest| oldest <= seen + 1);
    // A restored store has smaller numbers.
    if !reaches_back || seen > newest {
        return Ok(Changed::Unknown);
    }
    let is_all = (rows.len() as i64) < limit;
    let (mut ids, mut last) = (Vec::new(), newest);
    for row in &rows {
        let key: String = row.get(1)?;
        if key == lakeport_store::changes::EVERY_KEY {
            return Ok(Changed::Unknown);
        }
        // Keys of timers are not numbers.
        ids.extend(key.parse::<i64>());
        last = row.get(0)?;
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(Changed::Runs { ids, is_all, last })
}

/// The existing ones of these runs.
pub async fn runs_of(db: &Db, ids: &[i64]) -> Result<Vec<Run>, Error> {
    const RUNS: Either = Either {
        sqlite: concat!(
            "SELECT ",
            run_columns!(),
            " FROM runner_runs WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id"
        ),
        postgres: concat!("SELECT ", run_columns!(), " FROM runner_runs WHERE id = ANY($1) ORDER BY id"),
    };
    db.read(db.words(RUNS), &[ids.into()]).await?.iter().map(run).collect()
}

/// Those of these runs that belong to these workflows.
pub async fn runs_of_workflows(db: &Db, workflows: &[i64], ids: &[i64]) -> Result<Vec<Run>, Error> {
    let runs = runs_of(db, ids).await?.into_iter();
    Ok(runs.filter(|run| workflows.contains(&run.workflow_id)).collect())
}

/// Runs of these workflows ordered by the time of their last change, after this one.
pub async fn changed_since(
    db: &Db,
    workflows: &[i64],
    after: (i64, i64),
    limit: i64,
) -> Result<Vec<Run>, Error> {
    const SINCE: Either = Either {
        sqlite: concat!(
            "SELECT ",
            run_columns!(),
            " FROM runner_runs WHERE (updated_at > $2 OR updated_at = $2 AND id > $3) \
             AND workflow_id IN (SELECT value FROM json_each($1)) ORDER BY updated_at, id LIMIT $4"
        ),
        postgres: concat!(
            "SELECT ",
            run_columns!(),
            " FROM runner_runs WHERE (updated_at > $2 OR updated_at = $2 AND id > $3) AND workflow_id = ANY($1) ORDER BY updated_at, id LIMIT $4"
        ),
    };
    let values = [workflows.into(), after.0.into(), after.1.into(), limit.into()];
    db.read(db.words(SINCE), &values).await?.iter().map(run).collect()
}

/// Attempts of these runs, after this one.
pub async fn tries_of(db: &Db, runs: &[i64], after_id: i64, limit: i64) -> Result<Vec<TryRow>, Error> {
    macro_rules! tries {
        ($runs:literal) => {
            concat!(
                "SELECT t.id, t.run_id, t.task_id, t.task_name, t.attempt, t.state, t.is_lost, t.message, \
                 t.rows_affected, t.started_at, t.ended_at, CASE WHEN t.state = 'failed' \
                 AND (t.is_tried_again = 1 OR t.is_lost = 1) AND r.state IN ('queued', 'running') \
                 AND NOT EXISTS (SELECT 1 FROM runner_task_runs later WHERE later.run_id = t.run_id \
                 AND later.task_id = t.task_id AND later.attempt > t.attempt) THEN 1 ELSE 0 END AS is_waiting \
                 FROM runner_task_runs t JOIN runner_runs r ON r.id = t.run_id WHERE t.run_id ",
                $runs,
                " AND t.id > $2 ORDER BY t.id LIMIT $3"
            )
        };
    }
    const TRIES: Either =
        Either { sqlite: tries!("IN (SELECT value FROM json_each($1))"), postgres: tries!("= ANY($1)") };
    let values = [runs.into(), after_id.into(), limit.into()];
    let row = |row: &Row| {
        let mut row = row.by_name();
        Ok(TryRow {
            id: row.get("id")?,
            run_id: row.get("run_id")?,
            task_id: row.get("task_id")?,
            task_name: row.get("task_name")?,
            attempt: row.get("attempt")?,
            state: state(&row.get::<String>("state")?)?,
            is_lost: row.get::<i64>("is_lost")? == 1,
            message: row.get("message")?,
            rows_affected: row.get("rows_affected")?,
            started_at_ms: row.get("started_at")?,
            ended_at_ms: row.get("ended_at")?,
            is_waiting: row.get::<i64>("is_waiting")? == 1,
        })
    };
    db.read(db.words(TRIES), &values).await?.iter().map(row).collect()
}

pub async fn state_of_try(db: &Db, run_id: i64, id: i64) -> Result<Option<State>, Error> {
    const STATE: &str = "SELECT state FROM runner_task_runs WHERE id = $1 AND run_id = $2";
    let rows = db.read(STATE, &[id.into(), run_id.into()]).await?;
    rows.first().map(|row| state(&row.get::<String>(0)?)).transpose()
}

/// A log from this byte on, which is bounded as a whole; `None` if no character begins there.
pub async fn log_from(db: &Db, task_run_id: i64, from: i64) -> Result<Option<String>, Error> {
    const PIECES: &str = "SELECT at_byte, text FROM runner_logs WHERE task_run_id = $1 \
        AND at_byte + octet_length(text) > $2 ORDER BY at_byte";
    let mut log = String::new();
    for row in db.read(PIECES, &[task_run_id.into(), from.into()]).await? {
        let (at_byte, text): (i64, String) = (row.get(0)?, row.get(1)?);
        let skipped = usize::try_from(from - at_byte).unwrap_or(0);
        let Some(text) = text.get(skipped..) else { return Ok(None) };
        log.push_str(text);
    }
    Ok(Some(log))
}
