//! Shares one query of a table's size among all concurrent requests.

use lakeport_base::Error;
use lakeport_base::time::MINUTE_MS;
use lakeport_bindings::dialect::reader::TableStatistics;
use tokio::time::Instant;

use super::{Said, Size, store};
use crate::datasources::{Datasource, DatasourceClient};
use crate::tables::Tables;
use crate::tables::change::failure;
use crate::tables::definitions::Record;
use crate::tables::{TOPIC, sources};

/// How long a size is cached.
const REMEMBERED_MS: i64 = 5 * MINUTE_MS;

/// A size, and its source.
pub enum Answer {
    /// From a query of the database.
    Asked(Size),
    /// From the cache.
    Remembered(Size),
}

/// The current size: from a query that began after this call.
pub async fn collected(
    state: &Tables,
    table: &Record,
    source: &Datasource,
    call: &str,
) -> Result<Size, Error> {
    let asked = Instant::now();
    let turn = state.collecting.turn(table.id, source.id);
    let mut last = turn.lock().await;
    if let Some(said) = last.as_ref().filter(|said| said.began >= asked) {
        return said.again();
    }
    let began = Instant::now();
    let size = collect(state, table, source, call).await;
    *last = Some(Said::of(began, &size));
    size
}

/// The cached size, or else the database's. Concurrent requests share one query and its result, errors included.
pub async fn collected_lately(
    state: &Tables,
    table: &Record,
    source: &Datasource,
    call: &str,
) -> Result<Answer, Error> {
    if let Some(size) = remembered(state, table, source).await? {
        return Ok(Answer::Remembered(size));
    }
    let asked = Instant::now();
    let turn = state.collecting.turn(table.id, source.id);
    let mut last = turn.lock().await;
    if let Some(said) = last.as_ref().filter(|said| said.ended >= asked) {
        return said.again().map(Answer::Asked);
    }
    // The previous holder of the lock may have stored a size since the check above.
    if let Some(size) = remembered(state, table, source).await? {
        return Ok(Answer::Remembered(size));
    }
    let began = Instant::now();
    let size = collect(state, table, source, call).await;
    *last = Some(Said::of(began, &size));
    size.map(Answer::Asked)
}

async fn remembered(state: &Tables, table: &Record, source: &Datasource) -> Result<Option<Size>, Error> {
    let last = store::last(&state.db, table.id, 1).await?.pop();
    let from_ms = state.clock.now_ms() - REMEMBERED_MS;
    Ok(last.filter(|size| size.collected_at_ms > from_ms && size.cluster_id == source.id))
}

async fn collect(state: &Tables, table: &Record, source: &Datasource, call: &str) -> Result<Size, Error> {
    let client = DatasourceClient::of(&state.datasources, source, call);
    let server = client.server().await?;
    let found = client.statistics(&server, &sources::place(&table.definition)).await;
    let size = size_of(source.id, &found.map_err(failure::unanswered)?, state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    if store::insert(&mut tx, table.id, &size).await? {
        tx.changed(TOPIC, table.id.to_string());
    }
    tx.commit().await?;
    Ok(size)
}

fn size_of(cluster_id: i64, found: &TableStatistics, now_ms: i64) -> Size {
    let number = |count: Option<u64>| count.map(|count| i64::try_from(count).unwrap_or(i64::MAX));
    Size {
        cluster_id,
        row_count: number(found.row_count),
        data_size: number(found.data_bytes),
        index_size: number(found.index_bytes),
        partition_count: found.partition_count.map(i64::from),
        is_exact: found.row_accuracy == "exact",
        collected_at_ms: now_ms,
    }
}
