//! Handlers of the recycle bin.

use lakeport_base::error::{Detail, Error};
use lakeport_http::{Data, Nothing};

use super::name::{self, Limit};
use super::prepared::{Prepared, add_history, begin, prepared, refuse_active, source_of};
use super::view::{PendingView, PurgedTable, SoftDeleted, TaskView};
use super::{RETENTION_MS, erase, store, unchanged, wanted};
use crate::audit::{Change, Commit};
use crate::datasources::{self, DatasourceClient};
use crate::tables::definitions::api::{TRIES, overtaken, reserve_or};
use crate::tables::definitions::{self, Definition, TableWithFields};
use crate::tables::forms::{ConfirmedChangeQuery, PendingQuery, TablePath};
use crate::tables::physical::step::Step;
use crate::tables::physical::store as changes;
use crate::tables::physical::view::{Changed, DryRun, Note, UnderWay};
use crate::tables::physical::{self, Ended, Planned, exists};
use crate::tables::{Call, Tables};
use crate::tables::{TOPIC, sources};

/// Tables of one list.
const LISTED_MAX: i64 = 10_000;
/// Tasks that are named.
const TASKS_NAMED_MAX: i64 = 1_000;

type Confirmed = Call<TablePath, ConfirmedChangeQuery>;

/// `POST /api/v1/tables/{id}/soft-delete`
pub async fn soft_delete(call: Confirmed) -> Result<Data<Changed<SoftDeleted>>, Error> {
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, call.path.id).await?;
        if let Some(answer) = soft_delete_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn soft_delete_from(
    call: &Confirmed,
    before: TableWithFields,
) -> Result<Option<Data<Changed<SoftDeleted>>>, Error> {
    let (state, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    let definition = &before.record.definition;
    if before.record.is_deprecated {
        let message = format!("{} lies in the recycle bin already", definition.table_name);
        return Err(Error::conflict("deprecated", message));
    }
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let source = source_of(call, &before, call.query.cluster_id).await?;
    let limit = limit_of(call, &before).await?;
    let name = name::deprecated(&definition.table_name, now_ms, state.config.time_zone, limit);
    let wanted = wanted(definition, name.clone(), Step::SoftDelete { name });
    let prepared = match &source {
        Some(source) => Some(prepared(call, source, definition, &wanted).await?),
        None => None,
    };
    let mut tx = state.db.begin().await?;
    reserve_or(call, &mut tx, &wanted.table, id, "try again").await?;
    let Some(now) = unchanged(&mut tx, &before).await? else { return Ok(None) };
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(dry_run(prepared, None)))));
    }
    let audited = Change::of("table", id).before(&before.versioned()).after(&wanted.table);
    let Some(prepared) = prepared else {
        definitions::store::update(&mut tx, id, &wanted.table, false, now_ms).await?;
        store::put_in(&mut tx, id, &definition.table_name, now_ms).await?;
        add_history(call, &mut tx, &before, now_ms).await?;
        tx.changed(TOPIC, id.to_string());
        let mut record = now.record;
        record.origin_table_name = Some(definition.table_name.clone());
        (record.deprecated_at_ms, record.purge_at_ms) = (Some(now_ms), Some(now_ms + RETENTION_MS));
        record.definition = wanted.table;
        let answer = soft_deleted(state, TableWithFields { record, ..before.clone() }).await?;
        return call.commit(tx, audited, Data::new(&Changed::Done(answer))).await.map(Some);
    };
    let begun = begin(call, &mut tx, &before, &wanted, &prepared, now_ms).await?;
    let answer = match physical::ended(call, tx, audited, begun).await? {
        Ended::UnderWay(change) => Changed::UnderWay(UnderWay { change }),
        Ended::Made(_) => Changed::Done(soft_deleted(state, definitions::get(state, id).await?).await?),
    };
    physical::kept(call, Data::new(&answer)).await.map(Some)
}

/// `GET /api/v1/tables/pending-deletion`
pub async fn pending(call: Call<Nothing, PendingQuery>) -> Result<Data<Vec<PendingView>>, Error> {
    let state = &call.state;
    let records = definitions::store::deprecated(&state.db, call.query.cluster_id, LISTED_MAX).await?;
    let ids: Vec<i64> = records.iter().map(|record| record.id).collect();
    let mut failures = changes::last_failures(&state.db, Step::Purge.kind(), &ids).await?;
    let (now_ms, zone) = (state.clock.now_ms(), state.config.time_zone);
    let view = |record: definitions::Record| {
        let failure = failures.remove(&record.id);
        PendingView::new(record, failure, now_ms, zone)
    };
    Ok(Data::new(&records.into_iter().map(view).collect()))
}

/// `POST /api/v1/tables/{id}/purge-now`
pub async fn purge_now(call: Confirmed) -> Result<Data<Changed<PurgedTable>>, Error> {
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, call.path.id).await?;
        if let Some(answer) = purge_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn purge_from(
    call: &Confirmed,
    before: TableWithFields,
) -> Result<Option<Data<Changed<PurgedTable>>>, Error> {
    let (state, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    let definition = &before.record.definition;
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let wanted = wanted(definition, definition.table_name.clone(), Step::Purge);
    let (mut planned, mut missing) = (None, None);
    if let Some(source) = source_of(call, &before, call.query.cluster_id).await? {
        let client = DatasourceClient::of_main(&state.datasources, &source, call.request_id.as_str());
        if exists(&client, &sources::place(definition)).await? {
            planned = Some(prepared(call, &source, definition, &wanted).await?);
        } else {
            missing = Some(not_there(definition));
        }
    }
    let mut tx = state.db.begin().await?;
    if call.query.dry_run {
        let now = unchanged(&mut tx, &before).await?;
        return Ok(now.map(|_| Data::new(&Changed::DryRun(dry_run(planned, missing)))));
    }
    let purged = |dropped: bool| PurgedTable {
        id,
        table_name: definition.table_name.clone(),
        origin_table_name: before.record.origin_table_name.clone(),
        purged: true,
        dropped,
    };
    let audited = Change::of("table", id).before(&before.versioned());
    let Some(prepared) = planned else {
        if !erase(state, &mut tx, &before, &call.caller.name, now_ms).await? {
            return Ok(None);
        }
        return call.commit(tx, audited, Data::new(&Changed::Done(purged(false)))).await.map(Some);
    };
    if unchanged(&mut tx, &before).await?.is_none() {
        return Ok(None);
    }
    let begun = begin(call, &mut tx, &before, &wanted, &prepared, now_ms).await?;
    let answer = match physical::ended(call, tx, audited, begun).await? {
        Ended::UnderWay(change) => Changed::UnderWay(UnderWay { change }),
        Ended::Made(_) => Changed::Done(purged(true)),
    };
    physical::kept(call, Data::new(&answer)).await.map(Some)
}

fn not_there(definition: &Definition) -> Note {
    let message =
        format!("the database has no table {}: the catalogue alone forgets it", definition.table_name);
    Note { member: "tableName".to_owned(), message }
}

/// 400 unless the table's name was typed.
fn confirm(typed: &str, name: &str) -> Result<(), Error> {
    if typed == name {
        return Ok(());
    }
    let message = format!("确认失败：请输入正确的表名 {name}");
    let why = "must be the table's whole name as it is now";
    Err(Error::bad_request("invalid_input", message).with_details(vec![Detail::new("confirmTableName", why)]))
}

/// The bound of names in its data source, as the dialect says it; without one that of the catalogue.
async fn limit_of(call: &Confirmed, table: &TableWithFields) -> Result<Limit, Error> {
    let state = &call.state;
    let Some(id) = table.record.definition.cluster_id else { return Ok(Limit::of(None)) };
    let Some(source) = datasources::find(&state.db, id).await? else { return Ok(Limit::of(None)) };
    let profile = DatasourceClient::of(&state.datasources, &source, call.request_id.as_str()).profile()?;
    Ok(Limit::of(Some(&profile)))
}

/// The statements of a change; where nothing is to be run, why.
fn dry_run(prepared: Option<Prepared>, why: Option<Note>) -> DryRun {
    let nothing = || Planned { notes: why.into_iter().collect(), ..Planned::default() };
    prepared.map_or_else(nothing, |prepared| prepared.planned).view()
}

async fn soft_deleted(state: &Tables, whole: TableWithFields) -> Result<SoftDeleted, Error> {
    let bound = (state.users.bound_to)(&state.db, whole.record.id, TASKS_NAMED_MAX).await?;
    let task = |(id, task_name)| TaskView { id, task_name };
    let table = PendingView::new(whole.record, None, state.clock.now_ms(), state.config.time_zone);
    Ok(SoftDeleted { table, referenced_by_tasks: bound.into_iter().map(task).collect() })
}
