//! Syncs in the store. A sync is changed only while it is `running`.

use lakeport_base::Error;
use lakeport_store::{Db, Row, Tx, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tables::reconcile::Counts;

/// The most stored errors of a sync.
const ERRORS_MAX: usize = 100;
/// The longest message, in characters.
const MESSAGE_MAX_CHARS: usize = 500;
/// The most running ones that are read, on all data sources.
const RUNNING_MAX: i64 = 500;

/// Columns of a sync, in the order of [`sync`].
macro_rules! columns {
    () => {
        "id, datasource_id, state, tables_total, tables_done, tables_new, tables_updated, tables_missing, \
         fields_new, fields_updated, fields_missing, errors, started_at, finished_at"
    };
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SyncState")]
pub enum State {
    Running,
    Success,
    Failed,
    Cancelled,
}

/// A stored sync.
#[derive(Debug, Clone)]
pub struct Sync {
    pub id: i64,
    pub datasource_id: i64,
    pub state: State,
    /// `None`: not counted yet.
    pub tables_total: Option<i64>,
    pub tables_done: i64,
    pub tables: Counts,
    pub fields: Counts,
    pub errors: Vec<SyncError>,
    pub started_at_ms: i64,
    pub finished_at_ms: Option<i64>,
}

/// A part that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SyncError {
    /// `database.table`; null: the whole data source.
    pub table: Option<String>,
    pub message: String,
}

/// The first errors of one attempt.
#[derive(Debug, Default)]
pub struct Errors(Vec<SyncError>);

impl Errors {
    pub fn add(&mut self, table: Option<String>, message: &str) {
        if self.0.len() < ERRORS_MAX {
            // PostgreSQL's texts cannot contain NUL.
            let message = message.chars().filter(|&c| c != '\0').take(MESSAGE_MAX_CHARS).collect();
            self.0.push(SyncError { table, message });
        }
    }

    /// Adds the reason of the complete failure, before those of single tables.
    pub fn put_first(&mut self, message: &str) {
        let tables = std::mem::take(&mut self.0);
        self.add(None, message);
        self.0.extend(tables.into_iter().take(ERRORS_MAX - 1));
    }

    fn to_json(&self) -> Result<String, Error> {
        serde_json::to_string(&self.0).map_err(Error::internal)
    }
}

impl State {
    fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Success => "success",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }

    fn named(name: &str) -> Option<State> {
        [State::Running, State::Success, State::Failed, State::Cancelled]
            .into_iter()
            .find(|state| state.as_str() == name)
    }
}

fn sync(row: &Row) -> Result<Sync, Error> {
    let mut row = row.by_name();
    let state: String = row.get("state")?;
    let unknown = || Error::internal(anyhow::anyhow!("the store holds a synchronization that is `{state}`"));
    Ok(Sync {
        id: row.get("id")?,
        datasource_id: row.get("datasource_id")?,
        state: State::named(&state).ok_or_else(unknown)?,
        tables_total: row.get("tables_total")?,
        tables_done: row.get("tables_done")?,
        tables: Counts {
            new: row.get("tables_new")?,
            updated: row.get("tables_updated")?,
            missing: row.get("tables_missing")?,
        },
        fields: Counts {
            new: row.get("fields_new")?,
            updated: row.get("fields_updated")?,
            missing: row.get("fields_missing")?,
        },
        errors: serde_json::from_str(&row.get::<String>("errors")?).map_err(Error::internal)?,
        started_at_ms: row.get("started_at")?,
        finished_at_ms: row.get("finished_at")?,
    })
}

/// Inserts a running one; `None` if one is running already.
pub async fn start(tx: &mut Tx, datasource_id: i64, now_ms: i64) -> Result<Option<i64>, Error> {
    const START: &str = "INSERT INTO datasource_syncs (datasource_id, state, started_at) \
        VALUES ($1, 'running', $2) ON CONFLICT (datasource_id) WHERE state = 'running' DO NOTHING RETURNING id";
    let rows = tx.query(START, &[datasource_id.into(), now_ms.into()]).await?;
    rows.first().map(|row| row.get(0)).transpose()
}

/// Ends the running one; `None` if there is none.
pub async fn cancel(tx: &mut Tx, datasource_id: i64, now_ms: i64) -> Result<Option<Sync>, Error> {
    const CANCEL: &str = concat!(
        "UPDATE datasource_syncs SET state = 'cancelled', finished_at = $2 \
         WHERE datasource_id = $1 AND state = 'running' RETURNING ",
        columns!()
    );
    tx.query(CANCEL, &[datasource_id.into(), now_ms.into()]).await?.first().map(sync).transpose()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Sync>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM datasource_syncs WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(sync).transpose()
}

/// The last one of a data source.
pub async fn last(db: &Db, datasource_id: i64) -> Result<Option<Sync>, Error> {
    const LAST: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM datasource_syncs WHERE datasource_id = $1 ORDER BY id DESC LIMIT 1"
    );
    db.read(LAST, &[datasource_id.into()]).await?.first().map(sync).transpose()
}

/// All running ones, oldest first.
pub async fn running(db: &Db) -> Result<Vec<Sync>, Error> {
    const RUNNING: &str =
        concat!("SELECT ", columns!(), " FROM datasource_syncs WHERE state = 'running' ORDER BY id LIMIT $1");
    db.read(RUNNING, &[RUNNING_MAX.into()]).await?.iter().map(sync).collect()
}

pub async fn is_running(tx: &mut Tx, datasource_id: i64) -> Result<bool, Error> {
    const ONE: &str = "SELECT id FROM datasource_syncs WHERE datasource_id = $1 AND state = 'running'";
    Ok(!tx.query(ONE, &[datasource_id.into()]).await?.is_empty())
}

/// Starts, or restarts: earlier counts stay, because their rows were written. False if it is no longer
/// running.
pub async fn begin(tx: &mut Tx, id: i64, total: i64) -> Result<bool, Error> {
    const BEGIN: &str = "UPDATE datasource_syncs SET tables_total = $2, tables_done = 0, errors = '[]' \
        WHERE id = $1 AND state = 'running'";
    Ok(tx.execute(BEGIN, &[id.into(), total.into()]).await? > 0)
}

/// Adds the counts of this transaction. False if it is no longer running: then nothing may be written.
pub async fn count(
    tx: &mut Tx,
    id: i64,
    done: i64,
    tables: Counts,
    fields: Counts,
    errors: &Errors,
) -> Result<bool, Error> {
    const COUNT: &str = "UPDATE datasource_syncs SET tables_done = tables_done + $2, \
        tables_new = tables_new + $3, tables_updated = tables_updated + $4, tables_missing = tables_missing + $5, \
        fields_new = fields_new + $6, fields_updated = fields_updated + $7, fields_missing = fields_missing + $8, \
        errors = $9 WHERE id = $1 AND state = 'running'";
    let values: [Value; 9] = [
        id.into(),
        done.into(),
        tables.new.into(),
        tables.updated.into(),
        tables.missing.into(),
        fields.new.into(),
        fields.updated.into(),
        fields.missing.into(),
        errors.to_json()?.into(),
    ];
    Ok(tx.execute(COUNT, &values).await? > 0)
}

/// Ends it with a result. False if it has ended already.
pub async fn end(tx: &mut Tx, id: i64, state: State, errors: &Errors, now_ms: i64) -> Result<bool, Error> {
    const END: &str = "UPDATE datasource_syncs SET state = $2, errors = $3, finished_at = $4, \
        tables_total = CASE WHEN $2 = 'success' THEN tables_done ELSE tables_total END \
        WHERE id = $1 AND state = 'running'";
    let values = [id.into(), state.as_str().into(), errors.to_json()?.into(), now_ms.into()];
    Ok(tx.execute(END, &values).await? > 0)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
