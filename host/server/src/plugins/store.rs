//! Components and pointers of plugins in the store.

use std::sync::Arc;

use lakeport_base::Error;
use lakeport_plugins::{Family, Generation, Origin, PluginId, PluginView, Pointers, Quarantine};
use lakeport_store::{Db, Either, Row, Tx, Value};

use crate::plugins::TOPIC;

/// Stores an uploaded component, unless it exists.
pub async fn put_component(db: &Db, generation: &Generation, bytes: Vec<u8>) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO plugin_components (digest, family, name, version, contract, bytes, size, staged_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (digest) DO NOTHING";
    let size = i64::try_from(bytes.len()).expect("an upload has a limit far below this");
    let mut tx = db.begin().await?;
    let new = tx
        .execute(
            SQL,
            &[
                Value::from(&*generation.digest),
                Value::from(generation.id.family.as_str()),
                Value::from(&*generation.id.name),
                Value::from(generation.description.version()),
                Value::from(generation.contract.to_string()),
                Value::Bytes(bytes),
                Value::Int(size),
                Value::Int(generation.staged_at_ms),
            ],
        )
        .await?;
    if new > 0 {
        tx.changed(TOPIC, generation.id.to_string());
    }
    tx.commit().await
}

/// Digests of the stored components with their staging times, oldest first.
pub async fn component_digests(db: &Db) -> Result<Vec<(String, i64)>, Error> {
    const SQL: &str = "SELECT digest, staged_at FROM plugin_components ORDER BY staged_at, digest";
    let rows = db.read(SQL, &[]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// The bytes of one stored component.
pub async fn component_bytes(db: &Db, digest: &str) -> Result<Option<Vec<u8>>, Error> {
    const SQL: &str = "SELECT bytes FROM plugin_components WHERE digest = $1";
    let rows = db.read(SQL, &[Value::from(digest)]).await?;
    rows.first().map(|row| row.get(0)).transpose()
}

/// Deletes a component. `left`: the plugin afterwards; without a generation its pointers are deleted, too.
pub async fn delete_component(
    tx: &mut Tx,
    id: &PluginId,
    digest: &str,
    left: &PluginView,
    at_ms: i64,
) -> Result<(), Error> {
    const COMPONENT: &str = "DELETE FROM plugin_components WHERE digest = $1";
    const POINTERS: &str = "DELETE FROM plugin_pointers WHERE family = $1 AND name = $2";
    if left.generations.is_empty() {
        tx.execute(POINTERS, &[Value::from(id.family.as_str()), Value::from(&*id.name)]).await?;
        add_activation(tx, id, Some(digest), "remove", at_ms).await?;
    } else {
        write_pointers(tx, id, left, "remove", at_ms).await?;
    }
    tx.execute(COMPONENT, &[Value::from(digest)]).await?;
    tx.changed(TOPIC, id.to_string());
    Ok(())
}

/// Locks plugins against other servers until the transaction ends.
pub async fn lock(tx: &mut Tx) -> Result<(), Error> {
    // SQLite's transactions have the write lock from their start.
    const LOCK: Either =
        Either { sqlite: "SELECT 1", postgres: "SELECT CAST(pg_advisory_xact_lock(7164302) AS TEXT)" };
    tx.query(tx.words(LOCK), &[]).await.map(drop)
}

/// All stored pointers. Without an active digest: the binary's bundled generation.
pub async fn all_pointers(db: &Db) -> Result<Vec<(PluginId, Pointers)>, Error> {
    pointers(&db.read(ALL_POINTERS, &[]).await?)
}

/// The same, as the transaction sees them.
pub async fn all_pointers_in(tx: &mut Tx) -> Result<Vec<(PluginId, Pointers)>, Error> {
    pointers(&tx.query(ALL_POINTERS, &[]).await?)
}

const ALL_POINTERS: &str = "SELECT family, name, active_digest, history, canary_digest, canary_percent, \
                            quarantine_reason, quarantined_by_failures, activated_at FROM plugin_pointers \
                            ORDER BY family, name";

fn pointers(rows: &[Row]) -> Result<Vec<(PluginId, Pointers)>, Error> {
    rows.iter()
        .map(|row| {
            let family: String = row.get(0)?;
            let family: Family =
                family.parse().map_err(|error: String| Error::internal(anyhow::Error::msg(error)))?;
            let percent = row.get::<Option<i64>>(5)?.and_then(|percent| u8::try_from(percent).ok());
            let history: String = row.get(3)?;
            let by_failures = row.get::<bool>(7)?;
            let pointers = Pointers {
                active: row.get(2)?,
                activated_at_ms: row.get(8)?,
                history: history.split(',').filter(|digest| !digest.is_empty()).map(str::to_owned).collect(),
                canary: row.get::<Option<String>>(4)?.zip(percent),
                quarantine: row.get::<Option<String>>(6)?.map(|reason| Quarantine { reason, by_failures }),
            };
            Ok((PluginId { family, name: row.get(1)? }, pointers))
        })
        .collect()
}

/// Stores a plugin's pointers and their history.
pub async fn write_pointers(
    tx: &mut Tx,
    id: &PluginId,
    view: &PluginView,
    action: &str,
    at_ms: i64,
) -> Result<(), Error> {
    const POINTERS: &str = "INSERT INTO plugin_pointers (family, name, active_digest, history, canary_digest, \
         canary_percent, quarantine_reason, quarantined_by_failures, activated_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (family, name) DO UPDATE SET \
         active_digest = excluded.active_digest, history = excluded.history, canary_digest = excluded.canary_digest, \
         canary_percent = excluded.canary_percent, quarantine_reason = excluded.quarantine_reason, \
         quarantined_by_failures = excluded.quarantined_by_failures, activated_at = excluded.activated_at, \
         updated_at = excluded.updated_at";
    let digest = |generation: &Arc<Generation>| generation.digest.to_string();
    // The digest of a bundled generation is not stored, because it follows the binary.
    let uploaded = view.active.as_ref().filter(|generation| generation.origin == Origin::Uploaded);
    let history: Vec<String> = view.history.iter().map(digest).collect();
    let canary = view.canary.as_ref();
    tx.execute(
        POINTERS,
        &[
            Value::from(id.family.as_str()),
            Value::from(&*id.name),
            Value::from(uploaded.map(digest)),
            Value::from(history.join(",")),
            Value::from(canary.map(|canary| digest(&canary.generation))),
            Value::from(canary.map(|canary| i64::from(canary.percent))),
            Value::from(view.quarantine.as_ref().map(|quarantine| quarantine.reason.clone())),
            Value::Int(view.quarantine.as_ref().is_some_and(|quarantine| quarantine.by_failures).into()),
            Value::from(view.activated_at_ms),
            Value::Int(at_ms),
        ],
    )
    .await?;
    tx.changed(TOPIC, id.to_string());
    add_activation(tx, id, view.active.as_ref().map(|generation| &*generation.digest), action, at_ms).await
}

async fn add_activation(
    tx: &mut Tx,
    id: &PluginId,
    digest: Option<&str>,
    action: &str,
    at_ms: i64,
) -> Result<(), Error> {
    const SQL: &str =
        "INSERT INTO plugin_activations (family, name, digest, action, at) VALUES ($1, $2, $3, $4, $5)";
    tx.execute(
        SQL,
        &[
            Value::from(id.family.as_str()),
            Value::from(&*id.name),
            Value::from(digest),
            Value::from(action),
            Value::Int(at_ms),
        ],
    )
    .await
    .map(drop)
}
