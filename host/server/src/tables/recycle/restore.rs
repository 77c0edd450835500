//! Taking a table out of the recycle bin. One that is in its database under the name of the bin is renamed there. Where
//! somebody gave it its old name back, or dropped it, nothing is run: the catalogue follows what is there, and a
//! change without statements tells of it.

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::Table;
use lakeport_http::Data;
use lakeport_store::Tx;

use super::prepared::{Prepared, add_history, begin, prepared, refuse_active, source_of};
use super::presence::{PhysicalPresence, TABLE};
use super::{old_name, store, unchanged, wanted};
use crate::audit::{Change, Commit};
use crate::datasources::DatasourceClient;
use crate::tables::Call;
use crate::tables::definitions::api::{TRIES, done, followed, overtaken, reserve_or};
use crate::tables::definitions::view::TableDetail;
use crate::tables::definitions::{self, Definition, Drift, TableWithFields};
use crate::tables::forms::{ChangeQuery, TablePath};
use crate::tables::history::Source;
use crate::tables::physical::step::{ChangeSpec, Step};
use crate::tables::physical::store::{self as changes, ChangeResult, ChangeRow};
use crate::tables::physical::view::{ChangeView, Changed, DryRun, Note, State};
use crate::tables::physical::{Planned, TOPIC as CHANGES_TOPIC};
use crate::tables::reconcile::{self, FoundTable, Snapshot};
use crate::tables::{TOPIC, sources};

/// How a table comes back.
enum Way {
    /// It is in the catalogue alone.
    InCatalogue,
    Renamed(Prepared),
    AsFound(AsFound),
}

/// What a database has of a table in place of what the bin left there.
struct AsFound {
    /// Nothing to be run, and a note that says why.
    prepared: Prepared,
    /// Under its old name; none: it is gone.
    table: Option<Table>,
}

/// `POST /api/v1/tables/{id}/restore`
pub async fn restore(call: Call<TablePath, ChangeQuery>) -> Result<Data<Changed<TableDetail>>, Error> {
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, call.path.id).await?;
        if let Some(answer) = restore_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn restore_from(
    call: &Call<TablePath, ChangeQuery>,
    before: TableWithFields,
) -> Result<Option<Data<Changed<TableDetail>>>, Error> {
    let (state, id, now_ms) = (&call.state, before.record.id, call.state.clock.now_ms());
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    let name = old_name(&before.record);
    let wanted = wanted(&before.record.definition, name.clone(), Step::Restore { name });
    let way = way(call, &before, &wanted).await?;
    let mut tx = state.db.begin().await?;
    reserve_or(call, &mut tx, &wanted.table, id, way.hint()).await?;
    if unchanged(&mut tx, &before).await?.is_none() {
        return Ok(None);
    }
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(way.dry_run()))));
    }
    let audited = Change::of("table", id).before(&before.versioned()).after(&wanted.table);
    let change = match &way {
        Way::Renamed(prepared) => {
            let begun = begin(call, &mut tx, &before, &wanted, prepared, now_ms).await?;
            return followed(call, tx, audited, begun, id).await.map(Some);
        }
        Way::AsFound(found) => Some(follow(call, &mut tx, &before, &wanted, found, now_ms).await?),
        Way::InCatalogue => {
            take_out(&mut tx, id, &wanted.table, false, now_ms).await?;
            None
        }
    };
    tx.changed(TOPIC, id.to_string());
    let whole = add_history(call, &mut tx, &before, now_ms).await?;
    call.commit(tx, audited, done(state, whole, change)).await.map(Some)
}

/// 409 where the database has something else of the name that the table is to have again.
async fn way(
    call: &Call<TablePath, ChangeQuery>,
    before: &TableWithFields,
    wanted: &ChangeSpec,
) -> Result<Way, Error> {
    let definition = &before.record.definition;
    let Some(source) = source_of(call, before, call.query.cluster_id).await? else {
        return Ok(Way::InCatalogue);
    };
    let client = DatasourceClient::of_main(&call.state.datasources, &source, call.request_id.as_str());
    let (kept, old) = (&definition.table_name, &wanted.table.table_name);
    let as_found = |table: Option<Table>| {
        let message = match &table {
            Some(_) => format!("the database has {old} in place of {kept}: nothing was to be renamed"),
            None => {
                format!("the database has neither {kept} nor {old}: the catalogue alone has the table now")
            }
        };
        let note = Note { member: "tableName".to_owned(), message };
        let planned = Planned { notes: vec![note], ..Planned::default() };
        Way::AsFound(AsFound { prepared: Prepared { source_id: source.id, planned }, table })
    };
    match PhysicalPresence::of(&client, &before.record).await? {
        PhysicalPresence { is_kept: true, before: None } => {
            prepared(call, &source, definition, wanted).await.map(Way::Renamed)
        }
        PhysicalPresence { is_kept: false, before: None } => Ok(as_found(None)),
        PhysicalPresence { is_kept: false, before: Some(table) } if table.kind == TABLE => {
            Ok(as_found(Some(table)))
        }
        PhysicalPresence { before: Some(other), .. } => {
            let (kind, db_name) = (other.kind, &definition.db_name);
            let message =
                format!("the database has a {kind} {db_name}.{old} again; rename or drop that one first");
            Err(Error::conflict("name_taken", message))
        }
    }
}

impl Way {
    /// What can be done where another table of the catalogue has the name.
    fn hint(&self) -> &'static str {
        match self {
            Way::AsFound(AsFound { table: Some(_), .. }) => {
                "the database has nothing else of this one, which purge-now forgets"
            }
            _ => "rename that one or put it into the recycle bin, then restore this one",
        }
    }

    fn dry_run(self) -> DryRun {
        match self {
            Way::InCatalogue => Planned::default().view(),
            Way::Renamed(prepared) | Way::AsFound(AsFound { prepared, .. }) => prepared.planned.view(),
        }
    }
}

async fn take_out(
    tx: &mut Tx,
    id: i64,
    wanted: &Definition,
    is_physical: bool,
    now_ms: i64,
) -> Result<(), Error> {
    definitions::store::update(tx, id, wanted, is_physical, now_ms).await?;
    store::take_out(tx, id, now_ms).await
}

/// Makes the catalogue have the table as it is there, and a change of it that has ended.
async fn follow(
    call: &Call<TablePath, ChangeQuery>,
    tx: &mut Tx,
    before: &TableWithFields,
    wanted: &ChangeSpec,
    found: &AsFound,
    now_ms: i64,
) -> Result<ChangeView, Error> {
    let id = before.record.id;
    let AsFound { prepared, table } = found;
    let begun = begin(call, tx, before, wanted, prepared, now_ms).await?;
    let (notes, drift) = (prepared.planned.notes.clone(), drift(table.as_ref()));
    let end = ChangeResult { notes: notes.clone(), drift: drift.clone(), ..ChangeResult::default() };
    changes::end(tx, begun.id, &end, now_ms).await?;
    tx.changed(CHANGES_TOPIC, begun.id.to_string());
    take_out(tx, id, &wanted.table, table.is_some(), now_ms).await?;
    if let Some(found) = table.as_ref().and_then(|table| FoundTable::of(table).ok()) {
        let look = Snapshot {
            cluster_id: prepared.source_id,
            database: &wanted.table.db_name,
            listed: std::slice::from_ref(&found.name),
            found: std::slice::from_ref(&found),
            // After this change, which has ended by now.
            began_ms: now_ms + 1,
            source: Source::Change,
        };
        reconcile::reconcile(tx, &look, now_ms).await?;
    }
    definitions::store::set_drift(tx, id, &drift).await?;
    let change = ChangeRow { state: State::Success, notes, drift, finished_at_ms: Some(now_ms), ..begun };
    Ok(ChangeView::new(change, call.state.config.time_zone))
}

/// A table that is gone was wanted in its database.
fn drift(found: Option<&Table>) -> Vec<Drift> {
    if found.is_some() {
        return Vec::new();
    }
    let drift = Drift { what: "physical".to_owned(), expected: true.to_string(), found: false.to_string() };
    vec![drift]
}
