//! The recycle bin in the store: when a table was put in, its original name, its purge time.

use lakeport_base::Error;
use lakeport_store::{Db, Tx};

use crate::tables::definitions::Definition;
use crate::tables::recycle::RETENTION_MS;

/// Records the original name and the time of a table that was renamed for the recycle bin.
pub async fn put_in(tx: &mut Tx, id: i64, origin: &str, deprecated_at_ms: i64) -> Result<(), Error> {
    const PUT: &str = "UPDATE tables SET status = 'deprecated', origin_table_name = $2, deprecated_at = $3, \
        purge_at = $4 WHERE id = $1";
    let purge_at_ms = deprecated_at_ms + RETENTION_MS;
    let values = [id.into(), origin.into(), deprecated_at_ms.into(), purge_at_ms.into()];
    tx.execute(PUT, &values).await.map(drop)
}

/// Whether the bin has a table of this name in the same database.
pub async fn has(tx: &mut Tx, wanted: &Definition) -> Result<bool, Error> {
    const HAS: &str = "SELECT id FROM tables WHERE status = 'deprecated' AND coalesce(cluster_id, 0) = $1 \
        AND db_name = $2 AND table_name = $3 LIMIT 1";
    let values = [
        wanted.cluster_id.unwrap_or_default().into(),
        wanted.db_name.as_str().into(),
        wanted.table_name.as_str().into(),
    ];
    Ok(!tx.query(HAS, &values).await?.is_empty())
}

/// Restores the original name.
pub async fn take_out(tx: &mut Tx, id: i64, now_ms: i64) -> Result<(), Error> {
    const TAKE: &str = "UPDATE tables SET status = 'active', origin_table_name = NULL, deprecated_at = NULL, \
        purge_at = NULL, updated_at = $2 WHERE id = $1";
    let taken = "there is a table of this name already; rename it first";
    let written = tx.execute(TAKE, &[id.into(), now_ms.into()]).await;
    written.map(drop).map_err(|error| error.unique_as("name_taken", taken.to_owned()))
}

/// Deletes the table; no task may refer to it any more.
pub async fn erase(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM tables WHERE id = $1", &[id.into()]).await.map(drop)
}

/// Tables that are due for purging and have no running change, longest overdue first; without those whose
/// drop failed since.
pub async fn due(db: &Db, now_ms: i64, failed_since_ms: i64, limit: i64) -> Result<Vec<i64>, Error> {
    const DUE: &str = "SELECT t.id FROM tables t WHERE t.status = 'deprecated' AND t.purge_at <= $1 \
        AND NOT EXISTS (SELECT 1 FROM table_changes c WHERE c.table_id = t.id AND (c.state = 'running' \
        OR (c.kind = 'purge' AND c.state = 'failed' AND c.finished_at > $2))) ORDER BY t.purge_at, t.id LIMIT $3";
    let rows = db.read(DUE, &[now_ms.into(), failed_since_ms.into(), limit.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}
