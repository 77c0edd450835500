//! Collected sizes in the store.

use lakeport_base::Error;
use lakeport_store::Retained;
use lakeport_store::{Db, Row, Tx, Value};

use super::Size;

/// Sizes of one window.
const WINDOW_MAX: i64 = 5_000;

/// Purged by age.
pub const RETAINED: Retained = Retained {
    what: "table_statistics",
    table: "table_statistics",
    purge: "DELETE FROM table_statistics WHERE id IN \
            (SELECT id FROM table_statistics WHERE collected_at < $1 ORDER BY collected_at LIMIT $2)",
};

/// Columns of a size, in the order of [`size`].
macro_rules! columns {
    () => {
        "cluster_id, row_count, data_size, index_size, partition_count, exact = 1, collected_at"
    };
}

fn size(row: &Row) -> Result<Size, Error> {
    Ok(Size {
        cluster_id: row.get(0)?,
        row_count: row.get(1)?,
        data_size: row.get(2)?,
        index_size: row.get(3)?,
        partition_count: row.get(4)?,
        is_exact: row.get(5)?,
        collected_at_ms: row.get(6)?,
    })
}

/// Stores a size, in the table itself and as history; false if the table no longer exists.
pub async fn insert(tx: &mut Tx, table_id: i64, size: &Size) -> Result<bool, Error> {
    const SHOW: &str = "UPDATE tables SET row_count = $2, data_size = $3, index_size = $4, statistics_time = $5 \
        WHERE id = $1";
    let values: [Value; 5] = [
        table_id.into(),
        size.row_count.into(),
        size.data_size.into(),
        size.index_size.into(),
        size.collected_at_ms.into(),
    ];
    if tx.execute(SHOW, &values).await? == 0 {
        return Ok(false);
    }
    keep(tx, table_id, size).await?;
    Ok(true)
}

/// Stores a size only as history.
pub async fn keep(tx: &mut Tx, table_id: i64, size: &Size) -> Result<(), Error> {
    const INSERT: &str = "INSERT INTO table_statistics (table_id, row_count, data_size, index_size, collected_at, \
        cluster_id, partition_count, exact) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values: [Value; 8] = [
        table_id.into(),
        size.row_count.into(),
        size.data_size.into(),
        size.index_size.into(),
        size.collected_at_ms.into(),
        size.cluster_id.into(),
        size.partition_count.into(),
        i64::from(size.is_exact).into(),
    ];
    tx.execute(INSERT, &values).await.map(drop)
}

/// The last ones, newest first.
pub async fn last(db: &Db, table_id: i64, at_most: i64) -> Result<Vec<Size>, Error> {
    const LAST: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM table_statistics WHERE table_id = $1 ORDER BY collected_at DESC, id DESC LIMIT $2"
    );
    db.read(LAST, &[table_id.into(), at_most.into()]).await?.iter().map(size).collect()
}

/// Those since a time, oldest first; the newest if there are too many.
pub async fn since(db: &Db, table_id: i64, from_ms: i64) -> Result<Vec<Size>, Error> {
    const SINCE: &str = concat!(
        "SELECT ",
        columns!(),
        " FROM table_statistics WHERE table_id = $1 AND collected_at >= $2 \
         ORDER BY collected_at DESC, id DESC LIMIT $3"
    );
    let rows = db.read(SINCE, &[table_id.into(), from_ms.into(), WINDOW_MAX.into()]).await?;
    rows.iter().rev().map(size).collect()
}

/// Data sources with physical tables that existed at a time and were not measured since.
pub async fn sources_with_due(db: &Db, due_ms: i64) -> Result<Vec<i64>, Error> {
    const SOURCES: &str = "SELECT DISTINCT cluster_id FROM tables WHERE physical = 1 AND status = 'active' \
        AND cluster_id IS NOT NULL AND created_at < $1 AND coalesce(statistics_time, 0) < $1 ORDER BY cluster_id";
    db.read(SOURCES, &[due_ms.into()]).await?.iter().map(|row| row.get(0)).collect()
}

/// The next of those tables after an id, of one data source.
pub async fn due(
    db: &Db,
    source_id: i64,
    due_ms: i64,
    after_id: i64,
    at_most: i64,
) -> Result<Vec<i64>, Error> {
    const DUE: &str = "SELECT id FROM tables WHERE cluster_id = $1 AND physical = 1 AND status = 'active' \
        AND created_at < $2 AND coalesce(statistics_time, 0) < $2 AND id > $3 ORDER BY id LIMIT $4";
    let values = [source_id.into(), due_ms.into(), after_id.into(), at_most.into()];
    db.read(DUE, &values).await?.iter().map(|row| row.get(0)).collect()
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
