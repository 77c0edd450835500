//! Handlers of the recycle bin.

use lakeport_base::error::{Detail, Error};
use lakeport_base::time::SECOND_MS;
use lakeport_http::{Data, Nothing};
use lakeport_store::Tx;

use super::name::{self, Limit};
use super::view::{PendingView, PurgedTable, SoftDeleted, TaskView};
use super::{client, refuse_active, source_of, spec, store};
use crate::datasources::{self, DatasourceClient, Rights};
use crate::tables::Call;
use crate::tables::change::spec::{ChangeSpec, Step};
use crate::tables::change::store as changes;
use crate::tables::change::view::{ChangeView, Changed, Note};
use crate::tables::change::{self, Planned, Submission, TableChange, exists};
use crate::tables::definitions::api::{reserve_or, unknown};
use crate::tables::definitions::{self, Definition, TableWithFields};
use crate::tables::forms::{ConfirmedChangeQuery, PendingQuery, TablePath};
use crate::tables::{TOPIC, sources};

/// The most tables of one list.
const LISTED_MAX: i64 = 10_000;
/// The most tasks that an answer names.
const TASKS_NAMED_MAX: i64 = 1_000;

type Confirmed = Call<TablePath, ConfirmedChangeQuery>;

/// How many seconds a name in the recycle bin may be later than the deletion, because an earlier one is taken.
const SECONDS_LATER_MAX: i64 = 60;

/// `POST /api/v1/tables/{id}/soft-delete`
pub async fn soft_delete(call: Confirmed) -> Result<Data<Changed<SoftDeleted>>, Error> {
    let (id, is_dry_run, now_ms) = (call.path.id, call.query.dry_run, call.state.clock.now_ms());
    let mut later = 0;
    loop {
        let at_ms = now_ms + later * SECOND_MS;
        let deleted = change::submit(&call, id, is_dry_run, |table| deletion(&call, table, at_ms)).await;
        match deleted {
            // A table of this name was deleted in the same second, or one whose name was shortened to the same.
            Err(error) if error.code() == "name_taken" && later < SECONDS_LATER_MAX => later += 1,
            deleted => return deleted,
        }
    }
}

/// The deletion of a table into the recycle bin.
struct Deletion<'c> {
    call: &'c Confirmed,
    at_ms: i64,
    /// The tasks that refer to the table: id and name.
    bound: Vec<(i64, String)>,
}

async fn deletion(
    call: &Confirmed,
    before: TableWithFields,
    at_ms: i64,
) -> Result<Submission<Deletion<'_>>, Error> {
    let state = &call.state;
    let definition = &before.record.definition;
    if before.record.is_deprecated {
        let message = format!("{} lies in the recycle bin already", definition.table_name);
        return Err(Error::conflict("deprecated", message));
    }
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let source = source_of(call, &before, call.query.cluster_id).await?;
    let limit = limit_of(call, &before).await?;
    let name = name::deprecated(&definition.table_name, at_ms, state.config.time_zone, limit);
    let spec = spec(definition, name.clone(), Step::SoftDelete { name, at_ms: Some(at_ms) });
    let planned = match &source {
        None => Planned::default(),
        Some(source) => change::plan(&client(call, source), &sources::place(definition), &spec).await?,
    };
    let source_id = source.map(|source| source.id);
    let bound = (state.users.bound_to)(&state.db, before.record.id, TASKS_NAMED_MAX).await?;
    Ok(Submission { before, spec, planned, source_id, change: Deletion { call, at_ms, bound } })
}

impl TableChange for Deletion<'_> {
    type Answer = SoftDeleted;

    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, spec: &ChangeSpec) -> Result<(), Error> {
        reserve_or(self.call, tx, &spec.table, before.record.id, "try again").await?;
        if store::has(tx, &spec.table).await? {
            let message = format!("the recycle bin has a table {} already; try again", spec.table.table_name);
            return Err(Error::conflict("name_taken", message));
        }
        Ok(())
    }

    async fn write(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        spec: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        let (id, name) = (before.record.id, &before.record.definition.table_name);
        definitions::store::update(tx, id, &spec.table, false, self.at_ms).await?;
        store::put_in(tx, id, name, self.at_ms).await?;
        tx.changed(TOPIC, id.to_string());
        Ok(None)
    }

    async fn answer(
        &self,
        table: Option<TableWithFields>,
        _: Option<ChangeView>,
    ) -> Result<Data<Changed<SoftDeleted>>, Error> {
        let state = &self.call.state;
        let record = table.ok_or_else(|| unknown(self.call.path.id))?.record;
        let task = |(id, task_name): &(i64, String)| TaskView { id: *id, task_name: task_name.clone() };
        let table = PendingView::new(record, None, state.clock.now_ms(), state.config.time_zone);
        let answer = SoftDeleted { table, referenced_by_tasks: self.bound.iter().map(task).collect() };
        Ok(Data::new(&Changed::Done(answer)))
    }
}

/// `GET /api/v1/tables/pending-deletion`
pub async fn pending(call: Call<Nothing, PendingQuery>) -> Result<Data<Vec<PendingView>>, Error> {
    let state = &call.state;
    let records = definitions::store::deprecated(&state.db, call.query.cluster_id, LISTED_MAX).await?;
    let ids: Vec<i64> = records.iter().map(|record| record.id).collect();
    let mut failures = changes::last_failures(&state.db, Step::Purge.kind(), &ids).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let (now_ms, zone) = (state.clock.now_ms(), state.config.time_zone);
    let view = |record: definitions::Record| {
        let failure = failures.remove(&record.id);
        let is_open = rights.may_use(record.definition.cluster_id);
        let view = PendingView::new(record, failure, now_ms, zone);
        if is_open { view } else { view.withhold() }
    };
    Ok(Data::new(&records.into_iter().map(view).collect()))
}

/// `POST /api/v1/tables/{id}/purge-now`
pub async fn purge_now(call: Confirmed) -> Result<Data<Changed<PurgedTable>>, Error> {
    change::submit(&call, call.path.id, call.query.dry_run, |table| purge(&call, table)).await
}

/// The purge of a table in the recycle bin.
struct Purge<'c> {
    call: &'c Confirmed,
    table_name: String,
    origin_table_name: Option<String>,
    /// This request unbinds its tasks; otherwise the worker does.
    unbinds: bool,
}

async fn purge(call: &Confirmed, before: TableWithFields) -> Result<Submission<Purge<'_>>, Error> {
    let definition = &before.record.definition;
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    confirm(&call.query.confirm_table_name, &definition.table_name)?;
    let spec = spec(definition, definition.table_name.clone(), Step::Purge);
    let (mut planned, mut source_id) = (Planned::default(), None);
    if let Some(source) = source_of(call, &before, call.query.cluster_id).await? {
        let (client, place) = (client(call, &source), sources::place(definition));
        if exists(&client, &place).await? {
            planned = change::plan(&client, &place, &spec).await?;
            source_id = Some(source.id);
        } else {
            planned.notes.push(not_there(definition));
        }
    }
    let change = Purge {
        call,
        table_name: definition.table_name.clone(),
        origin_table_name: before.record.origin_table_name.clone(),
        unbinds: source_id.is_none() && !call.query.dry_run,
    };
    Ok(Submission { before, spec, planned, source_id, change })
}

impl TableChange for Purge<'_> {
    type Answer = PurgedTable;

    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, _: &ChangeSpec) -> Result<(), Error> {
        if self.unbinds {
            let (state, by) = (&self.call.state, &self.call.caller.name);
            (state.users.unbind)(tx, before.record.id, by, state.clock.now_ms()).await?;
        }
        Ok(())
    }

    async fn write(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        _: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        store::erase(tx, before.record.id).await?;
        tx.changed(TOPIC, before.record.id.to_string());
        Ok(None)
    }

    async fn answer(
        &self,
        _: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<PurgedTable>>, Error> {
        Ok(Data::new(&Changed::Done(PurgedTable {
            id: self.call.path.id,
            table_name: self.table_name.clone(),
            origin_table_name: self.origin_table_name.clone(),
            purged: true,
            dropped: change.is_some(),
        })))
    }
}

fn not_there(definition: &Definition) -> Note {
    let message = format!(
        "the database has no table {}; only its record in the catalogue is deleted",
        definition.table_name
    );
    Note { member: "tableName".to_owned(), message }
}

/// 400 unless the typed name is the table's.
fn confirm(typed: &str, name: &str) -> Result<(), Error> {
    if typed == name {
        return Ok(());
    }
    let message = format!("确认失败：请输入正确的表名 {name}");
    let why = "must be the table's whole name as it is now";
    Err(Error::bad_request("invalid_input", message).with_details(vec![Detail::new("confirmTableName", why)]))
}

/// The limit of table names in its data source's dialect; without a data source, the catalogue's.
async fn limit_of(call: &Confirmed, table: &TableWithFields) -> Result<Limit, Error> {
    let state = &call.state;
    let Some(id) = table.record.definition.cluster_id else { return Ok(Limit::of(None)) };
    let Some(source) = datasources::find(&state.db, id).await? else { return Ok(Limit::of(None)) };
    let profile = DatasourceClient::of(&state.datasources, &source, call.request_id.as_str()).profile()?;
    Ok(Limit::of(Some(&profile)))
}
