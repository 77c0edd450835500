//! The job that purges what lies in the recycle bin past its time: one server at a time, a few tables a round. It asks
//! for the drop as a user would; the worker of physical changes makes it. A drop that failed is tried again later.

use std::sync::Arc;
use std::time::Duration;

use super::there::{self, TABLE, There};
use super::{erase, old_name, store, wanted};
use crate::app::App;
use crate::datasources;
use crate::db::{Held, leases};
use crate::error::Error;
use crate::tables::definitions::{self, Definition, Whole};
use crate::tables::physical::failure::Failure;
use crate::tables::physical::step::{Step, Wanted};
use crate::tables::physical::store::{self as changes, End};
use crate::tables::physical::{self, Planned, TOPIC as CHANGES_TOPIC};
use crate::tables::sources;
use crate::time::HOUR_MS;

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(60);
/// The first round waits until the start is over.
const FIRST_AFTER: Duration = Duration::from_secs(5);
/// Tables of one round.
const TABLES_MAX: i64 = 20;
/// After a drop that failed.
const AGAIN_AFTER_MS: i64 = HOUR_MS;
const LEASE: &str = "recycle_bin";
/// Who asks, in the list of changes.
const BY: &str = "recycle bin";

/// Purges until the server stops.
pub async fn run_job(app: Arc<App>) {
    let mut wait = FIRST_AFTER;
    while app.stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        wait = INTERVAL;
        match app.leases.claim(LEASE, leases::TTL).await {
            Ok(Some(lease)) => {
                let held = lease.hold();
                if let Err(error) = round(&app, &held).await {
                    tracing::warn!("the recycle bin was not emptied: {error}");
                }
                if let Err(error) = held.release().await {
                    tracing::debug!("the lease of the recycle bin was not given back: {error}");
                }
            }
            // Another server is at it.
            Ok(None) => {}
            Err(error) => tracing::warn!("the recycle bin was not emptied: {error}"),
        }
    }
}

async fn round(app: &Arc<App>, held: &Held) -> Result<(), Error> {
    let now_ms = app.clock.now_ms();
    for id in store::due(&app.db, now_ms, now_ms - AGAIN_AFTER_MS, TABLES_MAX).await? {
        if app.stopping.is_cancelled() || held.lost().is_cancelled() {
            return Ok(());
        }
        let Some(whole) = definitions::store::find(&app.db, id).await? else { continue };
        match purge(app, held, &whole).await {
            Ok(()) => {}
            Err(error) if error.code() == "lease_lost" => return Ok(()),
            // Somebody else is at it.
            Err(error) if error.code() == "change_running" => {}
            Err(error) => write_down(app, held, &whole, error).await?,
        }
    }
    Ok(())
}

/// Has the table dropped; one that is in no database, or not any more, is erased at once.
async fn purge(app: &Arc<App>, held: &Held, whole: &Whole) -> Result<(), Error> {
    let definition = &whole.record.definition;
    let source = match definition.cluster_id.filter(|_| whole.record.is_physical) {
        Some(id) => datasources::find(&app.db, id).await?,
        None => None,
    };
    let Some(source) = source else { return forget(app, held, whole).await };
    let reach = there::reach_of(app, &source, &format!("purge-{}", whole.record.id));
    let there = There::of(&reach, &whole.record).await?;
    if !there.is_kept {
        refuse_back(app, whole, there).await?;
        return forget(app, held, whole).await;
    }
    let planned = physical::plan(&reach, &sources::place(definition), &purge_of(definition)).await?;
    begin(app, held, whole, source.id, &planned, None).await
}

/// 409 where the database has the table under its old name and the catalogue has it nowhere else: somebody wants it.
async fn refuse_back(app: &App, whole: &Whole, there: There) -> Result<(), Error> {
    if there.before.is_none_or(|table| table.kind != TABLE) {
        return Ok(());
    }
    let (kept, old) = (&whole.record.definition, old_name(&whole.record));
    let before = Definition { table_name: old.clone(), ..kept.clone() };
    let mut tx = app.db.begin().await?;
    if definitions::store::is_taken(&mut tx, &before, whole.record.id).await? {
        return Ok(());
    }
    let message = format!(
        "the database has {old} in place of {}: restore the table, or have purge-now forget it, which leaves {old} \
         where it is",
        kept.table_name
    );
    Err(Error::conflict("drifted", message))
}

fn purge_of(definition: &Definition) -> Wanted {
    wanted(definition, definition.table_name.clone(), Step::Purge)
}

/// Erases what no database has.
async fn forget(app: &App, held: &Held, whole: &Whole) -> Result<(), Error> {
    let mut tx = app.db.begin().await?;
    tx.guard(held).await?;
    if !erase(&mut tx, whole, BY, app.clock.now_ms()).await? {
        return Ok(());
    }
    tx.commit().await?;
    let (table, name) = (whole.record.id, &whole.record.definition.table_name);
    tracing::info!(table, name, "a table that no database has was forgotten");
    Ok(())
}

/// Begins the change; one that cannot be begun is written down as failed.
async fn begin(
    app: &App,
    held: &Held,
    whole: &Whole,
    source_id: i64,
    planned: &Planned,
    failure: Option<Failure>,
) -> Result<(), Error> {
    let (id, now_ms) = (whole.record.id, app.clock.now_ms());
    let mut tx = app.db.begin().await?;
    tx.guard(held).await?;
    let now = definitions::store::lock(&mut tx, id).await?;
    if now.is_none_or(|now| now.etag() != whole.etag()) {
        return Ok(());
    }
    let wanted = purge_of(&whole.record.definition);
    let begun = changes::start(&mut tx, &whole.record, source_id, &wanted, planned, BY, now_ms).await?;
    let Some(begun) = begun else { return Ok(()) };
    if failure.is_some() {
        changes::end(&mut tx, begun.id, &End { failure, ..End::default() }, now_ms).await?;
    }
    tx.changed(CHANGES_TOPIC, begun.id.to_string());
    tx.commit().await
}

/// The drop was not even begun: shown, and tried again.
async fn write_down(app: &App, held: &Held, whole: &Whole, error: Error) -> Result<(), Error> {
    let failure = Failure::from(error);
    let name = &whole.record.definition.table_name;
    tracing::warn!(table = whole.record.id, name, "a table cannot be purged: {}", failure.message);
    let Some(source_id) = whole.record.definition.cluster_id else { return Ok(()) };
    begin(app, held, whole, source_id, &Planned::default(), Some(failure)).await
}
