//! Handlers of synchronizations.

use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_http::{Answer, Data};
use schemars::JsonSchema;
use serde::Serialize;

use super::store::{self, State, Sync, SyncError};
use super::{TOPIC, running};
use crate::audit::{Change, Commit};
use crate::datasources::lock;
use crate::datasources::{self, Datasource, DatasourcePath};
use crate::idempotency;
use crate::sync::{Call, Syncs};
use crate::tables::reconcile::Counts;

/// How long an answer waits for the end, from the request's start on.
const WAIT: Duration = Duration::from_secs(20);

/// A sync of a data source's tables and fields into the catalogue.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Sync")]
pub struct SyncView {
    id: i64,
    state: State,
    tables: SyncCounts,
    fields: SyncCounts,
    /// Parts that could not be read; at most 100 are listed.
    errors: Vec<SyncError>,
    progress: SyncProgress,
    started_at: String,
    finished_at: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct SyncCounts {
    new: i64,
    updated: i64,
    missing: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SyncProgress {
    tables_done: i64,
    /// Null: the tables are not counted yet.
    tables_total: Option<i64>,
}

impl From<Counts> for SyncCounts {
    fn from(counts: Counts) -> SyncCounts {
        SyncCounts { new: counts.new, updated: counts.updated, missing: counts.missing }
    }
}

fn view(state: &Syncs, sync: Sync) -> SyncView {
    let zone = state.config.time_zone;
    SyncView {
        id: sync.id,
        state: sync.state,
        tables: sync.tables.into(),
        fields: sync.fields.into(),
        errors: sync.errors,
        progress: SyncProgress { tables_done: sync.tables_done, tables_total: sync.tables_total },
        started_at: time::shown(sync.started_at_ms, zone),
        finished_at: sync.finished_at_ms.map(|at| time::shown(at, zone)),
    }
}

/// The data source, or 404; 403 if the caller may not use it.
async fn open(call: &Call<DatasourcePath>) -> Result<Datasource, Error> {
    let source = datasources::get(&call.state, call.path.id).await?;
    call.caller.check_datasource(&source.name)?;
    Ok(source)
}

/// `POST /api/v1/datasources/{id}/sync`
pub async fn start(call: Call<DatasourcePath>) -> Result<Data<SyncView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    open(&call).await?.refuse_own()?;
    let mut tx = state.db.begin().await?;
    // A concurrent deletion waits for this lock, or came first.
    lock(&mut tx, id).await?.ok_or_else(|| Error::not_found("data source", id))?;
    let started_at_ms = state.clock.now_ms();
    let started = store::start(&mut tx, id, started_at_ms).await?;
    let sync_id = started.ok_or_else(running)?;
    tx.changed(TOPIC, sync_id.to_string());
    // The answer to a repeat of this request if this server dies before it answers.
    let begun = Sync {
        id: sync_id,
        datasource_id: id,
        state: State::Running,
        tables_total: None,
        tables_done: 0,
        tables: Counts::default(),
        fields: Counts::default(),
        errors: Vec::new(),
        started_at_ms,
        finished_at_ms: None,
    };
    call.commit_begun(tx, Change::of("datasource", id), Data::new(&view(state, begun)), WAIT).await?;
    let gone = || Error::not_found("synchronization", sync_id);
    let look = || async { store::find(&state.db, sync_id).await?.ok_or_else(gone) };
    let has_ended = |sync: &Sync| sync.state != State::Running;
    let key = sync_id.to_string();
    let sync = state.wait_for(TOPIC, Some(&key), call.wait_until(WAIT), look, has_ended).await?;
    let answer = Data::new(&view(state, sync));
    if let Some(attempt) = &call.attempt {
        idempotency::end(state, attempt, Ok(answer.reply())).await?;
    }
    Ok(answer)
}

/// `GET /api/v1/datasources/{id}/sync`
pub async fn get(call: Call<DatasourcePath>) -> Result<Data<Option<SyncView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    open(&call).await?;
    let last = store::last(&state.db, id).await?;
    Ok(Data::new(&last.map(|sync| view(state, sync))))
}

/// `DELETE /api/v1/datasources/{id}/sync`: from then on it writes nothing more; its worker stops.
pub async fn cancel(call: Call<DatasourcePath>) -> Result<Data<SyncView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    open(&call).await?.refuse_own()?;
    let mut tx = state.db.begin().await?;
    let cancelled = store::cancel(&mut tx, id, state.clock.now_ms()).await?;
    let none = || Error::conflict("not_running", "the tables of this data source are not being read in");
    let sync = cancelled.ok_or_else(none)?;
    tx.changed(TOPIC, sync.id.to_string());
    let change = Change::of("datasource", id);
    let answer = Data::new(&view(state, sync));
    call.commit(tx, change, answer).await
}
