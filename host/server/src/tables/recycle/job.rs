//! The job that purges expired tables from the recycle bin: on one server at a time, a few tables per round. It
//! requests the drop as a user would; the worker of physical changes runs it. A failed drop is retried later.

use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::time::HOUR_MS;
use lakeport_store::{Held, leases};

use super::presence::{PhysicalPresence, TABLE};
use super::{old_name, spec, store};
use crate::datasources::{self, DatasourceClient};
use crate::tables::Tables;
use crate::tables::change::failure::Failure;
use crate::tables::change::spec::{ChangeSpec, Step};
use crate::tables::change::store::{self as changes, ChangeResult};
use crate::tables::change::{self, Planned, TOPIC as CHANGES_TOPIC};
use crate::tables::definitions::{self, Definition, TableWithFields};
use crate::tables::{TOPIC, sources};

/// The pause between two rounds.
const INTERVAL: Duration = Duration::from_secs(60);
/// The delay of the first round, until the start is over.
const FIRST_AFTER: Duration = Duration::from_secs(5);
/// The most tables per round.
const TABLES_MAX: i64 = 20;
/// The pause after a failed drop.
const AGAIN_AFTER_MS: i64 = HOUR_MS;
const LEASE: &str = "recycle_bin";
/// The author in the list of changes.
const BY: &str = "recycle bin";

/// Purges until the server stops. Does not use `jobs::run`: rounds follow the clock, and the worker of physical
/// changes claims their rows.
pub async fn run_job(state: Arc<Tables>) {
    let mut wait = FIRST_AFTER;
    while state.stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        wait = INTERVAL;
        match state.leases.claim(LEASE, leases::TTL).await {
            Ok(Some(lease)) => {
                let held = lease.hold();
                if let Err(error) = round(&state, &held).await {
                    tracing::warn!("emptying the recycle bin failed: {error}");
                }
                if let Err(error) = held.release().await {
                    tracing::debug!("the lease of the recycle bin was not given back: {error}");
                }
            }
            // Another server runs the round.
            Ok(None) => {}
            Err(error) => tracing::warn!("emptying the recycle bin failed: {error}"),
        }
    }
}

async fn round(state: &Arc<Tables>, held: &Held) -> Result<(), Error> {
    let now_ms = state.clock.now_ms();
    for id in store::due(&state.db, now_ms, now_ms - AGAIN_AFTER_MS, TABLES_MAX).await? {
        if state.stopping.is_cancelled() || held.lost().is_cancelled() {
            return Ok(());
        }
        let Some(whole) = definitions::store::find(&state.db, id).await? else { continue };
        match purge(state, held, &whole).await {
            Ok(()) => {}
            Err(error) if error.code() == "lease_lost" => return Ok(()),
            // Another change of the table is running.
            Err(error) if error.code() == "change_running" => {}
            Err(error) => write_down(state, held, &whole, error).await?,
        }
    }
    Ok(())
}

/// Requests the drop of the table; deletes it from the catalogue at once if no database has it.
async fn purge(state: &Arc<Tables>, held: &Held, whole: &TableWithFields) -> Result<(), Error> {
    let definition = &whole.record.definition;
    let source = match definition.cluster_id.filter(|_| whole.record.is_physical) {
        Some(id) => datasources::find(&state.db, id).await?,
        None => None,
    };
    let Some(source) = source else { return forget(state, held, whole).await };
    let client =
        DatasourceClient::of_main(&state.datasources, &source, &format!("purge-{}", whole.record.id));
    let there = PhysicalPresence::of(&client, &whole.record).await?;
    if !there.is_kept {
        refuse_back(state, whole, there).await?;
        return forget(state, held, whole).await;
    }
    let planned = change::plan(&client, &sources::place(definition), &purge_of(definition)).await?;
    begin(state, held, whole, source.id, &planned, None).await
}

/// 409 if the table was renamed back in its database: the database has the original name, and no other table of
/// the catalogue has it.
async fn refuse_back(state: &Tables, whole: &TableWithFields, there: PhysicalPresence) -> Result<(), Error> {
    if there.before.is_none_or(|table| table.kind != TABLE) {
        return Ok(());
    }
    let (kept, old) = (&whole.record.definition, old_name(&whole.record));
    let before = Definition { table_name: old.clone(), ..kept.clone() };
    let mut tx = state.db.begin().await?;
    if definitions::store::is_taken(&mut tx, &before, whole.record.id).await? {
        return Ok(());
    }
    let message = format!(
        "the database has {old} in place of {}: restore the table, or have purge-now forget it, which leaves {old} \
         where it is",
        kept.table_name
    );
    Err(Error::conflict("schema_drift", message))
}

fn purge_of(definition: &Definition) -> ChangeSpec {
    spec(definition, definition.table_name.clone(), Step::Purge)
}

/// Deletes a table that no database has from the catalogue.
async fn forget(state: &Tables, held: &Held, whole: &TableWithFields) -> Result<(), Error> {
    let (id, now_ms) = (whole.record.id, state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    tx.guard(held).await?;
    // Tasks first: the table's own row is locked after them.
    (state.users.unbind)(&mut tx, id, BY, now_ms).await?;
    if change::unchanged(&mut tx, whole).await?.is_none() {
        return Ok(());
    }
    store::erase(&mut tx, id).await?;
    tx.changed(TOPIC, id.to_string());
    tx.commit().await?;
    let name = &whole.record.definition.table_name;
    tracing::info!(table = id, name, "a table that exists in no database was deleted");
    Ok(())
}

/// Starts the change, or records it as failed if there is a `failure`.
async fn begin(
    state: &Tables,
    held: &Held,
    whole: &TableWithFields,
    source_id: i64,
    planned: &Planned,
    failure: Option<Failure>,
) -> Result<(), Error> {
    let (id, now_ms) = (whole.record.id, state.clock.now_ms());
    let mut tx = state.db.begin().await?;
    tx.guard(held).await?;
    let now = definitions::store::lock(&mut tx, id).await?;
    if now.is_none_or(|now| now.etag() != whole.etag()) {
        return Ok(());
    }
    let wanted = purge_of(&whole.record.definition);
    let begun = changes::start(&mut tx, &whole.record, source_id, &wanted, planned, BY, now_ms).await?;
    let Some(begun) = begun else { return Ok(()) };
    if failure.is_some() {
        changes::end(&mut tx, begun.id, &ChangeResult { failure, ..ChangeResult::default() }, now_ms).await?;
    }
    tx.changed(CHANGES_TOPIC, begun.id.to_string());
    tx.commit().await
}

/// Records a drop that could not start: it is shown, and retried.
async fn write_down(state: &Tables, held: &Held, whole: &TableWithFields, error: Error) -> Result<(), Error> {
    let failure = Failure::from(error);
    let name = &whole.record.definition.table_name;
    tracing::warn!(table = whole.record.id, name, "a table cannot be purged: {}", failure.message);
    let Some(source_id) = whole.record.definition.cluster_id else { return Ok(()) };
    begin(state, held, whole, source_id, &Planned::default(), Some(failure)).await
}
