//! Physical changes in the store. A change is written only while it is `running`.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Either, Row, Tx, Value};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::plan::Planned;
use super::spec::ChangeSpec;
use super::view::{Note, State, Statement};
use crate::tables::definitions::{Definition, Drift, Record};

/// The most changes of one table that are shown.
const LISTED_MAX: i64 = 100;
/// The most running changes that are read, of all tables.
const RUNNING_MAX: i64 = 500;

/// Finished changes; the last one of each table is kept.
pub const RETAINED: Retained = Retained {
    what: "table_changes",
    table: "table_changes",
    purge: "DELETE FROM table_changes WHERE id IN (SELECT id FROM table_changes AS old \
            WHERE finished_at < $1 AND EXISTS (SELECT 1 FROM table_changes AS later \
            WHERE later.table_id = old.table_id AND later.id > old.id) LIMIT $2)",
};

/// Columns of a change, in the order of [`kept`].
macro_rules! columns {
    () => {
        "id, table_id, cluster_id, db_name, table_name, new_name, kind, wanted, state, statements, notes, drift, \
         error, requested_by, started_at, finished_at"
    };
}

/// A stored change.
#[derive(Debug, Clone)]
pub struct ChangeRow {
    pub id: i64,
    pub table_id: i64,
    pub cluster_id: i64,
    pub db_name: String,
    /// The table's name at the start.
    pub table_name: String,
    /// The table's name after success.
    pub new_name: String,
    pub kind: String,
    pub wanted: ChangeSpec,
    /// The definition that it was made from; changes of the catalogue alone may follow meanwhile. `None`: a change of
    /// an earlier version.
    pub base: Option<Definition>,
    pub state: State,
    pub statements: Vec<Statement>,
    pub notes: Vec<Note>,
    pub drift: Vec<Drift>,
    pub failure: Option<Failure>,
    pub requested_by: String,
    pub started_at_ms: i64,
    pub finished_at_ms: Option<i64>,
}

/// A specification as it is stored.
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(flatten)]
    wanted: ChangeSpec,
    #[serde(default)]
    base: Option<Definition>,
}

/// The result of a change.
#[derive(Debug, Default)]
pub struct ChangeResult {
    pub statements: Vec<Statement>,
    pub notes: Vec<Note>,
    pub drift: Vec<Drift>,
    /// `None`: it succeeded.
    pub failure: Option<Failure>,
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Success => "success",
            State::Failed => "failed",
        }
    }

    fn named(name: &str) -> Option<State> {
        [State::Running, State::Success, State::Failed].into_iter().find(|state| state.as_str() == name)
    }
}

fn kept(row: &Row) -> Result<ChangeRow, Error> {
    let mut row = row.by_name();
    let state: String = row.get("state")?;
    let unknown = || Error::internal(anyhow::anyhow!("the store holds a change that is `{state}`"));
    let Stored { wanted, base } = from_json(&row.get::<String>("wanted")?)?;
    Ok(ChangeRow {
        id: row.get("id")?,
        table_id: row.get("table_id")?,
        cluster_id: row.get("cluster_id")?,
        db_name: row.get("db_name")?,
        table_name: row.get("table_name")?,
        new_name: row.get("new_name")?,
        kind: row.get("kind")?,
        wanted,
        base,
        state: State::named(&state).ok_or_else(unknown)?,
        statements: from_json(&row.get::<String>("statements")?)?,
        notes: from_json(&row.get::<String>("notes")?)?,
        drift: from_json(&row.get::<String>("drift")?)?,
        failure: row.get::<Option<String>>("error")?.as_deref().map(from_json).transpose()?,
        requested_by: row.get("requested_by")?,
        started_at_ms: row.get("started_at")?,
        finished_at_ms: row.get("finished_at")?,
    })
}

/// Inserts a running one; `None` if one is running already.
pub async fn start(
    tx: &mut Tx,
    table: &Record,
    cluster_id: i64,
    wanted: &ChangeSpec,
    planned: &Planned,
    requested_by: &str,
    now_ms: i64,
) -> Result<Option<ChangeRow>, Error> {
    const START: &str = concat!(
        "INSERT INTO table_changes (table_id, cluster_id, db_name, table_name, new_name, kind, wanted, state, \
         statements, notes, requested_by, started_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'running', $8, $9, $10, $11) \
         ON CONFLICT (table_id) WHERE state = 'running' DO NOTHING RETURNING ",
        columns!()
    );
    let stored = Stored { wanted: wanted.clone(), base: Some(table.definition.clone()) };
    let values: [Value; 11] = [
        table.id.into(),
        cluster_id.into(),
        table.definition.db_name.as_str().into(),
        table.definition.table_name.as_str().into(),
        wanted.table.table_name.as_str().into(),
        wanted.kind().into(),
        json(&stored)?,
        json(&planned.statements_to_come())?,
        json(&planned.notes)?,
        requested_by.into(),
        now_ms.into(),
    ];
    tx.query(START, &values).await?.first().map(kept).transpose()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<ChangeRow>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM table_changes WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(kept).transpose()
}

/// Those of one table, newest first.
pub async fn of_table(db: &Db, table_id: i64) -> Result<Vec<ChangeRow>, Error> {
    const OF_TABLE: &str =
        concat!("SELECT ", columns!(), " FROM table_changes WHERE table_id = $1 ORDER BY id DESC LIMIT $2");
    db.read(OF_TABLE, &[table_id.into(), LISTED_MAX.into()]).await?.iter().map(kept).collect()
}

/// By table, why and when its last change failed, if that change was of this kind.
pub async fn last_failures(
    db: &Db,
    kind: &str,
    table_ids: &[i64],
) -> Result<HashMap<i64, (Failure, i64)>, Error> {
    const LAST: Either = Either {
        sqlite: "SELECT c.table_id, c.error, c.finished_at FROM table_changes c WHERE c.kind = $1 \
            AND c.state = 'failed' AND c.table_id IN (SELECT value FROM json_each($2)) AND NOT EXISTS \
            (SELECT 1 FROM table_changes n WHERE n.table_id = c.table_id AND n.id > c.id)",
        postgres: "SELECT c.table_id, c.error, c.finished_at FROM table_changes c WHERE c.kind = $1 \
            AND c.state = 'failed' AND c.table_id = ANY($2) AND NOT EXISTS \
            (SELECT 1 FROM table_changes n WHERE n.table_id = c.table_id AND n.id > c.id)",
    };
    let rows = db.read(db.words(LAST), &[kind.into(), table_ids.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, (from_json(&row.get::<String>(1)?)?, row.get(2)?)))).collect()
}

/// All running ones, oldest first.
pub async fn running(db: &Db) -> Result<Vec<ChangeRow>, Error> {
    const RUNNING: &str =
        concat!("SELECT ", columns!(), " FROM table_changes WHERE state = 'running' ORDER BY id LIMIT $1");
    db.read(RUNNING, &[RUNNING_MAX.into()]).await?.iter().map(kept).collect()
}

/// 409 while a change of the table is running.
pub async fn refuse_running(tx: &mut Tx, table_id: i64) -> Result<(), Error> {
    const ONE: &str = "SELECT id FROM table_changes WHERE table_id = $1 AND state = 'running'";
    if tx.query(ONE, &[table_id.into()]).await?.is_empty() { Ok(()) } else { Err(super::running()) }
}

/// Records that a server starts it; returns whether an earlier one had. `None` if it is no longer running.
pub async fn claim(tx: &mut Tx, id: i64) -> Result<Option<bool>, Error> {
    const LOOK: &str = "SELECT claimed = 1 FROM table_changes WHERE id = $1 AND state = 'running'";
    const CLAIM: &str = "UPDATE table_changes SET claimed = 1 WHERE id = $1 AND state = 'running'";
    let rows = tx.query(LOOK, &[id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    tx.execute(CLAIM, &[id.into()]).await?;
    row.get(0).map(Some)
}

/// Ends it. False if it is no longer running.
pub async fn end(tx: &mut Tx, id: i64, end: &ChangeResult, now_ms: i64) -> Result<bool, Error> {
    const END: &str = "UPDATE table_changes SET state = $2, statements = $3, notes = $4, drift = $5, error = $6, \
        finished_at = $7 WHERE id = $1 AND state = 'running'";
    let state = if end.failure.is_some() { State::Failed } else { State::Success };
    let values: [Value; 7] = [
        id.into(),
        state.as_str().into(),
        json(&end.statements)?,
        json(&end.notes)?,
        json(&end.drift)?,
        end.failure.as_ref().map(json).transpose()?.into(),
        now_ms.into(),
    ];
    Ok(tx.execute(END, &values).await? > 0)
}

/// Tables of one database with a change that is running or ended after this time: id, names before and after.
pub async fn changed_since(
    tx: &mut Tx,
    cluster_id: i64,
    database: &str,
    since_ms: i64,
) -> Result<Vec<(i64, String, String)>, Error> {
    const CHANGED: &str = "SELECT table_id, table_name, new_name FROM table_changes \
        WHERE cluster_id = $1 AND db_name = $2 AND (state = 'running' OR finished_at >= $3)";
    let rows = tx.query(CHANGED, &[cluster_id.into(), database.into(), since_ms.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
}

/// A database's texts may contain NUL, which PostgreSQL's texts cannot; JSON escapes it.
fn json<T: Serialize + ?Sized>(value: &T) -> Result<Value, Error> {
    serde_json::to_string(value).map(Value::Text).map_err(Error::internal)
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(Error::internal)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
