//! One question about a table's size, however many ask it.

use lakeport_bindings::dialect::reader::TableStatistics;
use tokio::time::Instant;

use super::{Size, store};
use crate::app::App;
use crate::datasources::{Datasource, Reach};
use crate::error::Error;
use crate::tables::definitions::Record;
use crate::tables::physical::failure;
use crate::tables::{TOPIC, sources};

/// The size as the database tells it now: by a question that began after this call.
pub async fn collected(app: &App, table: &Record, source: &Datasource, call: &str) -> Result<Size, Error> {
    let asked = Instant::now();
    let turn = app.tables.collecting.turn(table.id);
    let size = {
        let mut last = turn.lock().await;
        match *last {
            Some((began, size)) if began >= asked => Ok(size),
            _ => {
                let began = Instant::now();
                let size = collect(app, table, source, call).await;
                *last = size.as_ref().ok().map(|size| (began, *size));
                size
            }
        }
    };
    app.tables.collecting.done(table.id, turn);
    size
}

async fn collect(app: &App, table: &Record, source: &Datasource, call: &str) -> Result<Size, Error> {
    let reach = Reach::of(app, source, call);
    let server = reach.server().await?;
    let found = reach.statistics(&server, &sources::place(&table.definition)).await;
    let size = size_of(source.id, &found.map_err(failure::unanswered)?, app.clock.now_ms());
    let mut tx = app.db.begin().await?;
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
