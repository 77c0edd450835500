//! Components and pointers of plugins in the store.

use lakeport_plugins::{Family, Generation, PluginId, PluginView};

use crate::db::{Db, Value};
use crate::error::Error;

/// What is stored of a plugin's pointers.
pub struct Pointers {
    /// Which plugin.
    pub id: PluginId,
    /// Who answers; none: the bundled one.
    pub active: Option<String>,
    /// Who answered before, the latest last.
    pub history: Vec<String>,
    /// Who answers a share, and how much of 100.
    pub canary: Option<(String, u8)>,
    /// Why it is out of service, and whether its own failures did it.
    pub quarantine: Option<(String, bool)>,
}

/// Keeps an uploaded component. One that is there stays as it is.
pub async fn put_component(db: &Db, generation: &Generation, bytes: Vec<u8>) -> Result<(), Error> {
    const SQL: &str = "INSERT INTO plugin_components (digest, family, name, version, contract, bytes, size, staged_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (digest) DO NOTHING";
    let size = i64::try_from(bytes.len()).expect("an upload has a limit far below this");
    db.execute(
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
    Ok(())
}

/// Digests of the stored components, the oldest first.
pub async fn component_digests(db: &Db) -> Result<Vec<String>, Error> {
    const SQL: &str = "SELECT digest FROM plugin_components ORDER BY staged_at, digest";
    let rows = db.read(SQL, &[]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// The bytes of one stored component.
pub async fn component_bytes(db: &Db, digest: &str) -> Result<Option<Vec<u8>>, Error> {
    const SQL: &str = "SELECT bytes FROM plugin_components WHERE digest = $1";
    let rows = db.read(SQL, &[Value::from(digest)]).await?;
    rows.first().map(|row| row.get(0)).transpose()
}

/// Forgets a component.
pub async fn delete_component(db: &Db, digest: &str) -> Result<(), Error> {
    const SQL: &str = "DELETE FROM plugin_components WHERE digest = $1";
    db.execute(SQL, &[Value::from(digest)]).await?;
    Ok(())
}

/// All stored pointers.
pub async fn all_pointers(db: &Db) -> Result<Vec<Pointers>, Error> {
    const SQL: &str = "SELECT family, name, active_digest, history, canary_digest, canary_percent, \
                       quarantine_reason, quarantined_by_failures FROM plugin_pointers ORDER BY family, name";
    let rows = db.read(SQL, &[]).await?;
    rows.iter()
        .map(|row| {
            let family: String = row.get(0)?;
            let family: Family =
                family.parse().map_err(|error: String| Error::internal(anyhow::Error::msg(error)))?;
            let percent = row.get::<Option<i64>>(5)?.and_then(|percent| u8::try_from(percent).ok());
            let history: String = row.get(3)?;
            let by_failures = row.get::<bool>(7)?;
            Ok(Pointers {
                id: PluginId { family, name: row.get(1)? },
                active: row.get(2)?,
                history: history.split(',').filter(|digest| !digest.is_empty()).map(str::to_owned).collect(),
                canary: row.get::<Option<String>>(4)?.zip(percent),
                quarantine: row.get::<Option<String>>(6)?.map(|reason| (reason, by_failures)),
            })
        })
        .collect()
}

/// Keeps a plugin's pointers as they stand, and what led to them. `follows_bundle`: the active generation
/// is the bundled one, whichever the binary brings.
pub async fn put_pointers(
    db: &Db,
    id: &PluginId,
    view: &PluginView,
    follows_bundle: bool,
    action: &str,
    at_ms: i64,
) -> Result<(), Error> {
    const POINTERS: &str = "INSERT INTO plugin_pointers (family, name, active_digest, history, canary_digest, \
         canary_percent, quarantine_reason, quarantined_by_failures, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (family, name) DO UPDATE SET \
         active_digest = excluded.active_digest, history = excluded.history, canary_digest = excluded.canary_digest, \
         canary_percent = excluded.canary_percent, quarantine_reason = excluded.quarantine_reason, \
         quarantined_by_failures = excluded.quarantined_by_failures, updated_at = excluded.updated_at";
    const HISTORY: &str =
        "INSERT INTO plugin_activations (family, name, digest, action, at) VALUES ($1, $2, $3, $4, $5)";
    let active = view.active.as_ref().map(|generation| generation.digest.to_string());
    let history: Vec<&str> = view.history.iter().map(|generation| &*generation.digest).collect();
    let canary = view.canary.as_ref();
    let mut tx = db.begin().await?;
    tx.execute(
        POINTERS,
        &[
            Value::from(id.family.as_str()),
            Value::from(&*id.name),
            Value::from(active.clone().filter(|_| !follows_bundle)),
            Value::from(history.join(",")),
            Value::from(canary.map(|canary| canary.generation.digest.to_string())),
            Value::from(canary.map(|canary| i64::from(canary.percent))),
            Value::from(view.quarantine.as_ref().map(|quarantine| quarantine.reason.clone())),
            Value::Int(view.quarantine.as_ref().is_some_and(|quarantine| quarantine.by_failures).into()),
            Value::Int(at_ms),
        ],
    )
    .await?;
    tx.execute(
        HISTORY,
        &[
            Value::from(id.family.as_str()),
            Value::from(&*id.name),
            Value::from(active),
            Value::from(action),
            Value::Int(at_ms),
        ],
    )
    .await?;
    tx.commit().await
}
