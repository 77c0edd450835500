//! Restoring a table from the recycle bin. If its database still has it under its name in the bin, it is renamed there.
//! If it was renamed back or dropped outside Lakeport, no statement runs: the catalogue adopts the state of the
//! database and records a change without statements.

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::Table;
use lakeport_http::Data;
use lakeport_store::Tx;

use super::presence::{PhysicalPresence, TABLE};
use super::{client, old_name, refuse_active, source_of, spec, store};
use crate::tables::Call;
use crate::tables::change::spec::{ChangeSpec, Step};
use crate::tables::change::store::{self as changes, ChangeResult, ChangeRow};
use crate::tables::change::view::{ChangeView, Changed, Note, State};
use crate::tables::change::{self, Planned, Submission, TOPIC as CHANGES_TOPIC, TableChange, running};
use crate::tables::definitions::api::{done, reserve_or};
use crate::tables::definitions::view::TableDetail;
use crate::tables::definitions::{self, Drift, TableWithFields};
use crate::tables::forms::{ChangeQuery, TablePath};
use crate::tables::history::Source;
use crate::tables::reconcile::{self, FoundTable, Snapshot};
use crate::tables::{TOPIC, sources};

type ToRestore = Call<TablePath, ChangeQuery>;

/// `POST /api/v1/tables/{id}/restore`
pub async fn restore(call: ToRestore) -> Result<Data<Changed<TableDetail>>, Error> {
    change::submit(&call, call.path.id, call.query.dry_run, |table| restoration(&call, table)).await
}

/// The restoration of a table from the recycle bin.
struct Restoration<'c> {
    call: &'c ToRestore,
    /// None: the database renames the table, or the table exists only in the catalogue.
    found: Option<Found>,
}

/// The state of a table that was renamed back or dropped in its database.
struct Found {
    source_id: i64,
    /// The reason why no statement runs.
    note: Note,
    /// The table under its original name; none: it was dropped.
    table: Option<Table>,
}

impl Found {
    fn planned(&self) -> Planned {
        Planned { notes: vec![self.note.clone()], ..Planned::default() }
    }
}

/// 409 if another object in the database has the original name.
async fn restoration(
    call: &ToRestore,
    before: TableWithFields,
) -> Result<Submission<Restoration<'_>>, Error> {
    refuse_active(&before)?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    let (definition, old) = (&before.record.definition, old_name(&before.record));
    let spec = spec(definition, old.clone(), Step::Restore { name: old.clone() });
    let Some(source) = source_of(call, &before, call.query.cluster_id).await? else {
        let (planned, change) = (Planned::default(), Restoration { call, found: None });
        return Ok(Submission { before, spec, planned, source_id: None, change });
    };
    let client = client(call, &source);
    let table = match PhysicalPresence::of(&client, &before.record).await? {
        PhysicalPresence { is_kept: true, before: None } => {
            let planned = change::plan(&client, &sources::place(definition), &spec).await?;
            let change = Restoration { call, found: None };
            return Ok(Submission { before, spec, planned, source_id: Some(source.id), change });
        }
        PhysicalPresence { is_kept: false, before: None } => None,
        PhysicalPresence { is_kept: false, before: Some(table) } if table.kind == TABLE => Some(table),
        PhysicalPresence { before: Some(other), .. } => {
            let (kind, db_name) = (other.kind, &definition.db_name);
            let message =
                format!("the database has a {kind} {db_name}.{old} again; rename or drop that one first");
            return Err(Error::conflict("name_taken", message));
        }
    };
    let found = Found { source_id: source.id, note: note(&definition.table_name, &old, &table), table };
    let (planned, change) = (found.planned(), Restoration { call, found: Some(found) });
    Ok(Submission { before, spec, planned, source_id: None, change })
}

fn note(kept: &str, old: &str, table: &Option<Table>) -> Note {
    let message = match table {
        Some(_) => format!("the database has {old} in place of {kept}: nothing was to be renamed"),
        None => {
            format!("the database has neither {kept} nor {old}; the table is restored only in the catalogue")
        }
    };
    Note { member: "tableName".to_owned(), message }
}

impl TableChange for Restoration<'_> {
    type Answer = TableDetail;

    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, spec: &ChangeSpec) -> Result<(), Error> {
        // The advice if another table of the catalogue has the name.
        let hint = match &self.found {
            Some(Found { table: Some(_), .. }) => {
                "the database has nothing else of this one, which purge-now forgets"
            }
            _ => "rename that one or put it into the recycle bin, then restore this one",
        };
        reserve_or(self.call, tx, &spec.table, before.record.id, hint).await
    }

    async fn write(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        spec: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        let (id, now_ms) = (before.record.id, self.call.state.clock.now_ms());
        let change = match &self.found {
            Some(found) => Some(self.record(tx, before, spec, (found, now_ms)).await?),
            None => None,
        };
        let is_physical = self.found.as_ref().is_some_and(|found| found.table.is_some());
        definitions::store::update(tx, id, &spec.table, is_physical, now_ms).await?;
        store::take_out(tx, id, now_ms).await?;
        if let Some(found) = &self.found {
            follow(tx, id, spec, found, now_ms).await?;
        }
        tx.changed(TOPIC, id.to_string());
        let zone = self.call.state.config.time_zone;
        Ok(change.map(|change| ChangeView::new(change, zone)))
    }

    async fn answer(
        &self,
        table: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<TableDetail>>, Error> {
        done(self.call, table, change)
    }
}

impl Restoration<'_> {
    /// Records a finished change without statements.
    async fn record(
        &self,
        tx: &mut Tx,
        before: &TableWithFields,
        spec: &ChangeSpec,
        (found, now_ms): (&Found, i64),
    ) -> Result<ChangeRow, Error> {
        let (by, planned) = (&self.call.caller.name, found.planned());
        let begun = changes::start(tx, &before.record, found.source_id, spec, &planned, by, now_ms).await?;
        let begun = begun.ok_or_else(running)?;
        let (notes, drift) = (planned.notes, drift(found));
        let end = ChangeResult { notes: notes.clone(), drift: drift.clone(), ..ChangeResult::default() };
        changes::end(tx, begun.id, &end, now_ms).await?;
        tx.changed(CHANGES_TOPIC, begun.id.to_string());
        Ok(ChangeRow { state: State::Success, notes, drift, finished_at_ms: Some(now_ms), ..begun })
    }
}

/// Updates the catalogue to the table as the database has it.
async fn follow(tx: &mut Tx, id: i64, spec: &ChangeSpec, found: &Found, now_ms: i64) -> Result<(), Error> {
    if let Some(table) = found.table.as_ref().and_then(|table| FoundTable::of(table).ok()) {
        let look = Snapshot {
            cluster_id: found.source_id,
            database: &spec.table.db_name,
            listed: std::slice::from_ref(&table.name),
            found: std::slice::from_ref(&table),
            // Later than the end of this change, so that it does not count as newer than the snapshot.
            began_ms: now_ms + 1,
            source: Source::Change,
        };
        reconcile::reconcile(tx, &look, now_ms).await?;
    }
    definitions::store::set_drift(tx, id, &drift(found)).await
}

/// The drift of a dropped table: it should exist in its database.
fn drift(found: &Found) -> Vec<Drift> {
    if found.table.is_some() {
        return Vec::new();
    }
    let drift = Drift { what: "physical".to_owned(), expected: true.to_string(), found: false.to_string() };
    vec![drift]
}
