//! Handlers of the recycle bin.

use super::name::{self, Limit};
use super::view::{PendingView, PurgedTable, SoftDeleted, TaskView};
use super::{RETENTION_MS, store};
use crate::app::{App, Call};
use crate::audit::Change;
use crate::datasources::{Datasource, Reach};
use crate::db::Tx;
use crate::error::{Detail, Error};
use crate::http::{Data, Nothing};
use crate::tables::definitions::api::{TRIES, followed, found, overtaken, reserve, unknown};
use crate::tables::definitions::view::TableDetail;
use crate::tables::definitions::{self, Definition, Whole};
use crate::tables::forms::{ChangeQuery, ConfirmedChangeQuery, PendingQuery, TablePath};
use crate::tables::history::{self, Source};
use crate::tables::physical::step::{Step, Wanted};
use crate::tables::physical::store as changes;
use crate::tables::physical::view::{Changed, DryRun, UnderWay};
use crate::tables::physical::{self, Ended, Planned, exists};
use crate::tables::{TOPIC, sources};
use crate::tasks;

/// Tables of one list.
const LISTED_MAX: i64 = 10_000;
/// Tasks that are named.
const TASKS_NAMED_MAX: i64 = 1_000;

type Confirmed = Call<TablePath, ConfirmedChangeQuery>;

/// A change of a table that is in its database: who has it, and what is to be run there.
struct Prepared {
    source: Datasource,
    planned: Planned,
}

/// `POST /api/v1/tables/{id}/soft-delete`
pub async fn soft_delete(call: Confirmed) -> Result<Data<Changed<SoftDeleted>>, Error> {
    for _ in 0..TRIES {
        let whole = found(&call.state, call.path.id).await?;
        if let Some(answer) = soft_delete_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn soft_delete_from(
    call: &Confirmed,
    before: Whole,
) -> Result<Option<Data<Changed<SoftDeleted>>>, Error> {
    let (app, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    let definition = &before.record.definition;
    if before.record.is_deprecated {
        let message = format!("{} lies in the recycle bin already", definition.table_name);
        return Err(Error::conflict("deprecated", message));
    }
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let source = source_of(call, &before, call.query.cluster_id).await?;
    let limit = match &source {
        Some(source) => Limit::of(Some(&*Reach::of(app, source, call.request_id.as_str()).profile()?)),
        None => Limit::of(None),
    };
    let name = name::deprecated(&definition.table_name, now_ms, app.config.time_zone, limit);
    let wanted = wanted(definition, name.clone(), Step::SoftDelete { name });
    let prepared = prepared(call, source, definition, &wanted).await?;
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(dry_run(prepared)))));
    }
    let mut tx = app.db.begin().await?;
    reserve(call, &mut tx, &wanted.table, id).await?;
    let Some(now) = unchanged(&mut tx, &before).await? else { return Ok(None) };
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
        let answer = soft_deleted(app, Whole { record, ..before.clone() }).await?;
        return call.commit(tx, audited, Data::new(&Changed::Done(answer))).await.map(Some);
    };
    let begun = begin(call, &mut tx, &before, &wanted, &prepared).await?;
    let answer = match physical::ended(call, tx, audited, begun).await? {
        Ended::UnderWay(change) => Changed::UnderWay(UnderWay { change }),
        Ended::Made(_) => Changed::Done(soft_deleted(app, found(app, id).await?).await?),
    };
    physical::kept(call, Data::new(&answer)).await.map(Some)
}

/// Writes what became of a table that is in the catalogue alone; answers it as it is now.
async fn add_history<Q>(
    call: &Call<TablePath, Q>,
    tx: &mut Tx,
    before: &Whole,
    now_ms: i64,
) -> Result<Whole, Error> {
    let id = before.record.id;
    let after = definitions::store::lock(tx, id).await?.ok_or_else(|| unknown(id))?;
    let by = &call.caller.name;
    history::add_of_whole(tx, before, &after, Source::Catalogue, by, now_ms).await?;
    Ok(after)
}

/// `GET /api/v1/tables/pending-deletion`
pub async fn pending(call: Call<Nothing, PendingQuery>) -> Result<Data<Vec<PendingView>>, Error> {
    let app = &call.state;
    let records = definitions::store::deprecated(&app.db, call.query.cluster_id, LISTED_MAX).await?;
    let ids: Vec<i64> = records.iter().map(|record| record.id).collect();
    let mut failures = changes::last_failures(&app.db, Step::Purge.kind(), &ids).await?;
    let (now_ms, zone) = (app.clock.now_ms(), app.config.time_zone);
    let view = |record: definitions::Record| {
        let failure = failures.remove(&record.id);
        PendingView::new(record, failure, now_ms, zone)
    };
    Ok(Data::new(&records.into_iter().map(view).collect()))
}

/// `POST /api/v1/tables/{id}/restore`
pub async fn restore(call: Call<TablePath, ChangeQuery>) -> Result<Data<Changed<TableDetail>>, Error> {
    for _ in 0..TRIES {
        let whole = found(&call.state, call.path.id).await?;
        if let Some(answer) = restore_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn restore_from(
    call: &Call<TablePath, ChangeQuery>,
    before: Whole,
) -> Result<Option<Data<Changed<TableDetail>>>, Error> {
    let (app, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    let definition = &before.record.definition;
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    let source = source_of(call, &before, call.query.cluster_id).await?;
    let name = before.record.origin_table_name.clone().unwrap_or_else(|| definition.table_name.clone());
    let wanted = wanted(definition, name.clone(), Step::Restore { name });
    refuse_taken(call, source.as_ref(), &wanted.table).await?;
    let prepared = prepared(call, source, definition, &wanted).await?;
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(dry_run(prepared)))));
    }
    let mut tx = app.db.begin().await?;
    reserve(call, &mut tx, &wanted.table, id).await?;
    if unchanged(&mut tx, &before).await?.is_none() {
        return Ok(None);
    }
    let audited = Change::of("table", id).before(&before.versioned()).after(&wanted.table);
    let Some(prepared) = prepared else {
        definitions::store::update(&mut tx, id, &wanted.table, false, now_ms).await?;
        store::take_out(&mut tx, id, now_ms).await?;
        tx.changed(TOPIC, id.to_string());
        let whole = add_history(call, &mut tx, &before, now_ms).await?;
        let etag = whole.etag();
        let detail = TableDetail::new(whole, None, app.config.time_zone);
        let answer = Data::new(&Changed::Done(detail)).with_etag(&etag);
        return call.commit(tx, audited, answer).await.map(Some);
    };
    let begun = begin(call, &mut tx, &before, &wanted, &prepared).await?;
    followed(call, tx, audited, begun, id).await.map(Some)
}

/// `POST /api/v1/tables/{id}/purge-now`
pub async fn purge_now(call: Confirmed) -> Result<Data<Changed<PurgedTable>>, Error> {
    for _ in 0..TRIES {
        let whole = found(&call.state, call.path.id).await?;
        if let Some(answer) = purge_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn purge_from(call: &Confirmed, before: Whole) -> Result<Option<Data<Changed<PurgedTable>>>, Error> {
    let (app, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    let definition = &before.record.definition;
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let source = there(call, source_of(call, &before, call.query.cluster_id).await?, definition).await?;
    let wanted = wanted(definition, definition.table_name.clone(), Step::Purge);
    let prepared = prepared(call, source, definition, &wanted).await?;
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(dry_run(prepared)))));
    }
    let purged = || PurgedTable {
        id,
        table_name: definition.table_name.clone(),
        origin_table_name: before.record.origin_table_name.clone(),
        purged: true,
    };
    let audited = Change::of("table", id).before(&before.versioned());
    let mut tx = app.db.begin().await?;
    let Some(prepared) = prepared else {
        // Before the table's own row is locked.
        tasks::unbind_table(&mut tx, id, &call.caller.name, now_ms).await?;
        if unchanged(&mut tx, &before).await?.is_none() {
            return Ok(None);
        }
        store::erase(&mut tx, id).await?;
        tx.changed(TOPIC, id.to_string());
        return call.commit(tx, audited, Data::new(&Changed::Done(purged()))).await.map(Some);
    };
    if unchanged(&mut tx, &before).await?.is_none() {
        return Ok(None);
    }
    let begun = begin(call, &mut tx, &before, &wanted, &prepared).await?;
    let answer = match physical::ended(call, tx, audited, begun).await? {
        Ended::UnderWay(change) => Changed::UnderWay(UnderWay { change }),
        Ended::Made(_) => Changed::Done(purged()),
    };
    physical::kept(call, Data::new(&answer)).await.map(Some)
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

/// 409 for what does not lie in the recycle bin.
fn refuse_active(table: &Whole) -> Result<(), Error> {
    if table.record.is_deprecated {
        return Ok(());
    }
    let name = &table.record.definition.table_name;
    let message = format!(
        "{name} does not lie in the recycle bin; POST /api/v1/tables/{}/soft-delete first",
        table.record.id
    );
    Err(Error::conflict("not_deprecated", message))
}

/// The data source of a table that is in its database; of another one none, though who may not read its data source
/// may not change it either.
async fn source_of<Q>(
    call: &Call<TablePath, Q>,
    table: &Whole,
    asked: Option<i64>,
) -> Result<Option<Datasource>, Error> {
    let (app, caller) = (&call.state, &call.caller);
    if table.record.is_physical {
        return sources::physical(app, caller, table, asked).await.map(Some);
    }
    sources::refuse_hidden(app, caller, table, asked.into_iter()).await.map(|()| None)
}

/// The data source, unless somebody dropped the table there: then there is nothing to be run.
async fn there<Q>(
    call: &Call<TablePath, Q>,
    source: Option<Datasource>,
    definition: &Definition,
) -> Result<Option<Datasource>, Error> {
    let Some(source) = source else { return Ok(None) };
    let reach = Reach::of(&call.state, &source, call.request_id.as_str());
    Ok(exists(&reach, &sources::place(definition)).await?.then_some(source))
}

/// 409 where the database has a table of the name that this one is to have again.
async fn refuse_taken<Q>(
    call: &Call<TablePath, Q>,
    source: Option<&Datasource>,
    wanted: &Definition,
) -> Result<(), Error> {
    let Some(source) = source else { return Ok(()) };
    let reach = Reach::of(&call.state, source, call.request_id.as_str());
    if !exists(&reach, &sources::place(wanted)).await? {
        return Ok(());
    }
    let Definition { table_name, db_name, .. } = wanted;
    let message = format!("the database has a table {db_name}.{table_name} again; rename that one first");
    Err(Error::conflict("name_taken", message))
}

fn wanted(definition: &Definition, name: String, step: Step) -> Wanted {
    Wanted { table: Definition { table_name: name, ..definition.clone() }, steps: vec![step] }
}

/// None: it is in no database.
async fn prepared<Q>(
    call: &Call<TablePath, Q>,
    source: Option<Datasource>,
    definition: &Definition,
    wanted: &Wanted,
) -> Result<Option<Prepared>, Error> {
    let Some(source) = source else { return Ok(None) };
    let reach = Reach::of(&call.state, &source, call.request_id.as_str());
    let planned = physical::plan(&reach, &sources::place(definition), wanted).await?;
    Ok(Some(Prepared { source, planned }))
}

fn dry_run(prepared: Option<Prepared>) -> DryRun {
    prepared.map(|prepared| prepared.planned).unwrap_or_default().view()
}

/// The table, locked and not changed meanwhile; 409 while it is changed in its database.
async fn unchanged(tx: &mut Tx, before: &Whole) -> Result<Option<Whole>, Error> {
    let id = before.record.id;
    let now = definitions::store::lock(tx, id).await?.ok_or_else(|| unknown(id))?;
    changes::refuse_running(tx, id).await?;
    Ok((now.etag() == before.etag()).then_some(now))
}

async fn begin<Q>(
    call: &Call<TablePath, Q>,
    tx: &mut Tx,
    table: &Whole,
    wanted: &Wanted,
    prepared: &Prepared,
) -> Result<changes::Kept, Error> {
    let (caller, now_ms) = (&call.caller.name, call.state.clock.now_ms());
    let Prepared { source, planned } = prepared;
    let begun = changes::start(tx, &table.record, source.id, wanted, planned, caller, now_ms).await?;
    begun.ok_or_else(physical::running)
}

async fn soft_deleted(app: &App, whole: Whole) -> Result<SoftDeleted, Error> {
    let bound = tasks::bound_to(&app.db, whole.record.id, TASKS_NAMED_MAX).await?;
    let task = |(id, task_name)| TaskView { id, task_name };
    let table = PendingView::new(whole.record, None, app.clock.now_ms(), app.config.time_zone);
    Ok(SoftDeleted { table, referenced_by_tasks: bound.into_iter().map(task).collect() })
}
