//! Engines in the store.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Tx, Value};

use super::LOCAL;

/// Columns of an engine, in the order of [`engine`].
macro_rules! columns {
    () => {
        "name, plugin, config, secrets, secret_names, created_at, updated_at, missing_features"
    };
}

/// The statement for the [`engine`] whose name is the result of a selection, which is SQL.
macro_rules! named_by {
    ($($name:tt)+) => {
        concat!(
            "SELECT ",
            $crate::engines::store::columns!(),
            " FROM engines WHERE name = (",
            $($name)+,
            ")"
        )
    };
}
pub(crate) use {columns, named_by};

/// A stored engine.
#[derive(Debug, Clone)]
pub struct EngineRecord {
    /// The name in `schedulerEngine` of workflows.
    pub name: String,
    /// The plugin's name.
    pub plugin: String,
    /// A JSON object.
    pub config: String,
    /// A JSON object of texts, encrypted.
    pub secrets: Option<Vec<u8>>,
    pub secret_names: Vec<String>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
    /// Features of its plugin that it does without, as its last test found.
    pub missing_features: Vec<String>,
}

/// Reads the columns of `columns!`.
pub fn engine(row: &Row) -> Result<EngineRecord, Error> {
    Ok(EngineRecord {
        name: row.get(0)?,
        plugin: row.get(1)?,
        config: row.get(2)?,
        secrets: row.get(3)?,
        secret_names: serde_json::from_str(&row.get::<String>(4)?).map_err(Error::internal)?,
        created_at_ms: row.get(5)?,
        updated_at_ms: row.get(6)?,
        missing_features: match row.get::<Option<String>>(7)? {
            Some(text) => serde_json::from_str(&text).map_err(Error::internal)?,
            None => Vec::new(),
        },
    })
}

pub async fn ensure(db: &Db, name: &str, plugin: &str, now_ms: i64) -> Result<(), Error> {
    const ENSURE: &str = "INSERT INTO engines (name, plugin, created_at, updated_at) VALUES ($1, $2, $3, $3) \
        ON CONFLICT (name) DO NOTHING";
    db.execute(ENSURE, &[name.into(), plugin.into(), now_ms.into()]).await.map(drop)
}

/// All of them, by name.
pub async fn all(db: &Db) -> Result<Vec<EngineRecord>, Error> {
    const ALL: &str = concat!("SELECT ", columns!(), " FROM engines ORDER BY name");
    db.read(ALL, &[]).await?.iter().map(engine).collect()
}

/// Whether an engine is the embedded scheduler, which may have more names than one.
pub async fn is_embedded(db: &Db, name: &str) -> Result<bool, Error> {
    Ok(name == LOCAL || find(db, name).await?.is_some_and(|record| record.plugin == LOCAL))
}

pub async fn find(db: &Db, name: &str) -> Result<Option<EngineRecord>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM engines WHERE name = $1");
    db.read(FIND, &[name.into()]).await?.first().map(engine).transpose()
}

/// The last look at an engine for its runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Look {
    pub at_ms: i64,
    /// The last that succeeded.
    pub answered_at_ms: Option<i64>,
    /// Why it failed; `None`: it succeeded.
    pub message: Option<String>,
}

/// The last looks at all engines, by name.
pub async fn looks(db: &Db) -> Result<HashMap<String, Look>, Error> {
    let rows = db.read("SELECT engine, looked_at, answered_at, message FROM engine_looks", &[]).await?;
    let look = |row: &Row| {
        let look = Look { at_ms: row.get(1)?, answered_at_ms: row.get(2)?, message: row.get(3)? };
        Ok((row.get(0)?, look))
    };
    rows.iter().map(look).collect()
}

/// Notes a look, unless the engine was deleted. `message`: why it failed.
pub async fn note_look(tx: &mut Tx, name: &str, at_ms: i64, message: Option<&str>) -> Result<(), Error> {
    const NOTE: &str = "INSERT INTO engine_looks (engine, looked_at, answered_at, message) \
        SELECT name, $2, $3, $4 FROM engines WHERE name = $1 ON CONFLICT (engine) DO UPDATE SET \
        looked_at = excluded.looked_at, answered_at = coalesce(excluded.answered_at, engine_looks.answered_at), \
        message = excluded.message";
    let answered_at_ms = message.is_none().then_some(at_ms);
    tx.execute(NOTE, &[name.into(), at_ms.into(), answered_at_ms.into(), message.into()]).await.map(drop)
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, name: &str) -> Result<Option<EngineRecord>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM engines WHERE name = $1"),
        postgres: concat!("SELECT ", columns!(), " FROM engines WHERE name = $1 FOR UPDATE"),
    };
    tx.query(tx.words(LOCK), &[name.into()]).await?.first().map(engine).transpose()
}

/// Whether it exists; prevents deletion until the transaction ends.
pub async fn is_there(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    const THERE: Either = Either {
        sqlite: "SELECT name FROM engines WHERE name = $1",
        postgres: "SELECT name FROM engines WHERE name = $1 FOR KEY SHARE",
    };
    Ok(!tx.query(tx.words(THERE), &[name.into()]).await?.is_empty())
}

pub async fn count(tx: &mut Tx) -> Result<i64, Error> {
    let rows = tx.query("SELECT count(*) FROM engines", &[]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// Inserts one. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &EngineRecord) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO engines (name, plugin, config, secrets, secret_names, updated_at, created_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let [name, plugin, config, secrets, names, updated_at] = values(new)?;
    let values = [name, plugin, config, secrets, names, updated_at, new.created_at_ms.into()];
    let taken = format!("an engine named `{}` already exists; use another name", new.name);
    tx.execute(INSERT, &values).await.map(drop).map_err(|error| error.unique_as("name_taken", taken))
}

/// Notes what a test of this configuration has found.
pub async fn set_missing_features(db: &Db, tested: &EngineRecord, missing: &[String]) -> Result<(), Error> {
    const SET: &str = "UPDATE engines SET missing_features = $3 WHERE name = $1 AND updated_at = $2";
    let missing = serde_json::to_string(missing).map_err(Error::internal)?;
    let values = [tested.name.as_str().into(), tested.updated_at_ms.into(), missing.into()];
    db.execute(SET, &values).await.map(drop)
}

/// Writes all columns that a change can affect; another configuration has not been tested.
pub async fn update(tx: &mut Tx, changed: &EngineRecord) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE engines SET plugin = $2, config = $3, secrets = $4, secret_names = $5, \
        updated_at = $6, missing_features = NULL WHERE name = $1";
    tx.execute(UPDATE, &values(changed)?).await.map(drop)
}

pub async fn delete(tx: &mut Tx, name: &str) -> Result<(), Error> {
    tx.execute("DELETE FROM engines WHERE name = $1", &[name.into()]).await.map(drop)
}

fn values(engine: &EngineRecord) -> Result<[Value; 6], Error> {
    let names = serde_json::to_string(&engine.secret_names).map_err(Error::internal)?;
    Ok([
        engine.name.as_str().into(),
        engine.plugin.as_str().into(),
        engine.config.as_str().into(),
        engine.secrets.clone().into(),
        names.into(),
        engine.updated_at_ms.into(),
    ])
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
