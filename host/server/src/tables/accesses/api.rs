//! The handler of access statistics.

use std::cmp::Reverse;

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_http::Data;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heat, Tally, Window, count_log, database};
use crate::datasources;
use crate::tables::definitions;
use crate::tables::definitions::TableWithFields;
use crate::tables::forms::{AccessQuery, TablePath};
use crate::tables::sources;
use crate::tables::{Call, Tables};

/// How often a table was read, and by whom.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TableAccesses {
    table_id: i64,
    cluster_id: Option<i64>,
    recent_days: i64,
    /// In the last `recentDays` days, including today.
    access_count: i64,
    heat: Heat,
    /// Within those days; null: none, or unknown.
    last_access_time: Option<String>,
    /// Named users of Lakeport and of the database.
    distinct_users: i64,
    /// One point for each of the last `trendDays` days of the server's zone, oldest first.
    trend: Vec<AccessPoint>,
    /// Most frequent first.
    top_users: Vec<AccessUser>,
    /// The counted sources: `lakeport` is the log of Lakeport's own queries; others belong to the database.
    sources: Vec<String>,
    /// All accesses of these days were counted.
    complete: bool,
    /// For people: missing parts with reasons, and the method of counting.
    note: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct AccessPoint {
    /// yyyy-MM-dd
    date: String,
    count: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessUser {
    user: String,
    count: i64,
    last_access_time: Option<String>,
}

/// `GET /api/v1/tables/{id}/access-stats`
pub async fn get(call: Call<TablePath, AccessQuery>) -> Result<Data<TableAccesses>, Error> {
    let (state, query) = (&call.state, &call.query);
    let whole = definitions::get(state, call.path.id).await?;
    sources::refuse_wrong(&whole, query.cluster_id)?;
    sources::refuse_hidden(state, &call.caller, &whole, std::iter::empty()).await?;
    let zone = state.config.time_zone;
    let window = Window::until(state.clock.now_ms(), zone, query.recent_days.0, query.trend_days.0);
    let mut tally = Tally::default();
    let cluster_id = whole.record.definition.cluster_id;
    count_log(state, cluster_id.unwrap_or_default(), whole.record.id, &window, &mut tally).await?;
    count_database(&call, &whole, &window, &mut tally).await?;
    Ok(Data::new(&view(state, &whole, &call.query, &window, tally)))
}

async fn count_database(
    call: &Call<TablePath, AccessQuery>,
    whole: &TableWithFields,
    window: &Window,
    tally: &mut Tally,
) -> Result<(), Error> {
    let definition = &whole.record.definition;
    if !whole.record.is_physical {
        tally.missing.push("the table is not in its database, which was not asked".to_owned());
        return Ok(());
    }
    let source = match definition.cluster_id {
        Some(id) => datasources::find(&call.state.db, id).await?,
        None => None,
    };
    let Some(source) = source else {
        tally.missing.push("the table has no data source that could be asked".to_owned());
        return Ok(());
    };
    let (place, until) = (sources::place(definition), call.wait_until(database::WAIT));
    database::count(&call.state, &source, &place, window, call.request_id.as_str(), until, tally).await;
    Ok(())
}

fn view(
    state: &Tables,
    whole: &TableWithFields,
    query: &AccessQuery,
    window: &Window,
    tally: Tally,
) -> TableAccesses {
    let zone = state.config.time_zone;
    let access_count = tally.since(window.recent);
    let point = |day: chrono::NaiveDate| AccessPoint {
        date: day.to_string(),
        count: tally.days.get(&day).copied().unwrap_or_default(),
    };
    let trend = window.trend.iter_days().take_while(|day| *day <= window.today).map(point).collect();
    let shown = |at_ms: i64| time::shown(at_ms, zone);
    let distinct_users = tally.users.len() as i64;
    let mut users: Vec<(String, (i64, Option<i64>))> = tally.users.into_iter().collect();
    users.sort_by_key(|(_, (count, last_ms))| Reverse((*count, *last_ms)));
    let at_most = usize::try_from(query.top_users.0).unwrap_or_default();
    let user = |(user, (count, last_ms)): (String, (i64, Option<i64>))| AccessUser {
        user,
        count,
        last_access_time: last_ms.map(shown),
    };
    let complete = tally.missing.is_empty();
    let notes: Vec<String> = tally.missing.into_iter().chain(tally.notes).collect();
    TableAccesses {
        table_id: whole.record.id,
        cluster_id: whole.record.definition.cluster_id,
        recent_days: query.recent_days.0,
        access_count,
        heat: Heat::of(access_count, query.recent_days.0),
        last_access_time: tally.last_ms.map(shown),
        distinct_users,
        trend,
        top_users: users.into_iter().take(at_most).map(user).collect(),
        sources: tally.sources,
        complete,
        note: (!notes.is_empty()).then(|| notes.join("; ")),
    }
}
