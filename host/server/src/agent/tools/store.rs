//! Settings of tools in the store.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Tx};
use serde_json::{Map, Value};

use crate::agent::topics::store::stored;

/// The settings of a tool; empty if none were given.
pub async fn of(db: &Db, tool: &str) -> Result<Map<String, Value>, Error> {
    const FIND: &str = "SELECT settings FROM tool_settings WHERE tool = $1";
    settings(db.read(FIND, &[tool.into()]).await?.first())
}

/// Locks the settings of a tool against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, tool: &str, now_ms: i64) -> Result<Map<String, Value>, Error> {
    const ENSURE: &str = "INSERT INTO tool_settings (tool, settings, updated_at) VALUES ($1, '{}', $2) \
        ON CONFLICT (tool) DO NOTHING";
    const LOCK: Either = Either {
        sqlite: "SELECT settings FROM tool_settings WHERE tool = $1",
        postgres: "SELECT settings FROM tool_settings WHERE tool = $1 FOR UPDATE",
    };
    tx.execute(ENSURE, &[tool.into(), now_ms.into()]).await?;
    settings(tx.query(tx.words(LOCK), &[tool.into()]).await?.first())
}

fn settings(row: Option<&Row>) -> Result<Map<String, Value>, Error> {
    Ok(match row {
        Some(row) => stored(Some(row.get(0)?))?.unwrap_or_default(),
        None => Map::new(),
    })
}

/// All of them, by tool.
pub async fn all(db: &Db) -> Result<Vec<(String, Map<String, Value>)>, Error> {
    let rows = db.read("SELECT tool, settings FROM tool_settings", &[]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, stored(Some(row.get(1)?))?.unwrap_or_default()))).collect()
}

/// Replaces the settings of a tool.
pub async fn set(tx: &mut Tx, tool: &str, settings: &Map<String, Value>, now_ms: i64) -> Result<(), Error> {
    const SET: &str = "INSERT INTO tool_settings (tool, settings, updated_at) VALUES ($1, $2, $3) \
        ON CONFLICT (tool) DO UPDATE SET settings = excluded.settings, updated_at = excluded.updated_at";
    let settings = serde_json::to_string(settings).map_err(Error::internal)?;
    tx.execute(SET, &[tool.into(), settings.into(), now_ms.into()]).await.map(drop)
}
