//! Handlers of statistics.

use lakeport_base::Error;
use lakeport_base::time::{self, DAY_MS};
use lakeport_http::Data;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Answer, Size, collected, collected_lately, store};
use crate::tables::definitions;
use crate::tables::forms::{HistoryQuery, StatisticsQuery, TablePath};
use crate::tables::sources;
use crate::tables::{Call, Tables};

/// The size of a table.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableStatistics {
    table_id: i64,
    cluster_id: i64,
    row_count: Option<i64>,
    /// Bytes.
    data_size: Option<i64>,
    /// Bytes; null if the database does not report indexes separately.
    index_size: Option<i64>,
    /// Null if it has no partitions.
    partition_count: Option<i64>,
    collected_at: String,
    /// A cached answer; the database was not queried.
    cached: bool,
    /// Rows were counted, not estimated.
    exact: bool,
}

/// The size of a table at one time.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CollectedStatistics {
    row_count: Option<i64>,
    data_size: Option<i64>,
    index_size: Option<i64>,
    collected_at: String,
}

/// `GET /api/v1/tables/{id}/statistics`
pub async fn get(call: Call<TablePath, StatisticsQuery>) -> Result<Data<TableStatistics>, Error> {
    let (state, id, query) = (&call.state, call.path.id, &call.query);
    let whole = definitions::get(state, id).await?;
    let source = sources::physical(state, &call.caller, &whole, query.cluster_id).await?;
    let (table, call) = (&whole.record, call.request_id.as_str());
    let answer = if query.force_refresh {
        Answer::Asked(collected(state, table, &source, call).await?)
    } else {
        collected_lately(state, table, &source, call).await?
    };
    Ok(Data::new(&match answer {
        Answer::Asked(size) => view(state, id, &size, false),
        Answer::Remembered(size) => view(state, id, &size, true),
    }))
}

fn view(state: &Tables, table_id: i64, size: &Size, is_cached: bool) -> TableStatistics {
    TableStatistics {
        table_id,
        cluster_id: size.cluster_id,
        row_count: size.row_count,
        data_size: size.data_size,
        index_size: size.index_size,
        partition_count: size.partition_count,
        collected_at: time::shown(size.collected_at_ms, state.config.time_zone),
        cached: is_cached,
        exact: size.is_exact,
    }
}

/// `GET /api/v1/tables/{id}/statistics/history`
pub async fn history(call: Call<TablePath, HistoryQuery>) -> Result<Data<Vec<CollectedStatistics>>, Error> {
    check(&call).await?;
    let sizes = store::last(&call.state.db, call.path.id, call.query.limit.0).await?;
    Ok(Data::new(&collected_views(&call.state, &sizes)))
}

/// `GET /api/v1/tables/{id}/statistics/history/last7days`
pub async fn last_7_days(call: Call<TablePath>) -> Result<Data<Vec<CollectedStatistics>>, Error> {
    window(&call, 7).await
}

/// `GET /api/v1/tables/{id}/statistics/history/last30days`
pub async fn last_30_days(call: Call<TablePath>) -> Result<Data<Vec<CollectedStatistics>>, Error> {
    window(&call, 30).await
}

async fn window(call: &Call<TablePath>, days: i64) -> Result<Data<Vec<CollectedStatistics>>, Error> {
    check(call).await?;
    let state = &call.state;
    let sizes = store::since(&state.db, call.path.id, state.clock.now_ms() - days * DAY_MS).await?;
    Ok(Data::new(&collected_views(state, &sizes)))
}

/// 404 or 403.
async fn check<Q>(call: &Call<TablePath, Q>) -> Result<(), Error> {
    let state = &call.state;
    let whole = definitions::get(state, call.path.id).await?;
    sources::refuse_hidden(state, &call.caller, &whole, std::iter::empty()).await
}

fn collected_views(state: &Tables, sizes: &[Size]) -> Vec<CollectedStatistics> {
    let zone = state.config.time_zone;
    let view = |size: &Size| CollectedStatistics {
        row_count: size.row_count,
        data_size: size.data_size,
        index_size: size.index_size,
        collected_at: time::shown(size.collected_at_ms, zone),
    };
    sizes.iter().map(view).collect()
}
