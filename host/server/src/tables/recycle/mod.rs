//! The recycle bin: a table that is deleted is renamed and kept for 30 days, can be taken out again under its old name,
//! and goes for ever by hand or when its time is over.
//!
//! Each of the three is a physical change like any other where the table is in a database, and the catalogue follows
//! it; what is in the catalogue alone is changed there at once.

pub mod api;
mod job;
mod name;
mod prepared;
mod presence;
pub mod restore;
pub mod store;
mod view;

use lakeport_base::Error;
use lakeport_base::time::DAY_MS;
use lakeport_store::Tx;

use super::TOPIC;
use super::definitions::{self, Definition, Record, TableWithFields};
use super::physical::step::{ChangeSpec, Step};
use super::physical::store as changes;
pub use job::run_job;

/// How long a table is kept.
pub const RETENTION_MS: i64 = 30 * DAY_MS;

/// What a table was called before it went in.
fn old_name(record: &Record) -> String {
    record.origin_table_name.clone().unwrap_or_else(|| record.definition.table_name.clone())
}

/// One step, after which the table has this name.
fn wanted(definition: &Definition, name: String, step: Step) -> ChangeSpec {
    ChangeSpec { table: Definition { table_name: name, ..definition.clone() }, steps: vec![step] }
}

/// The table, locked; none: it is gone or not as it was read. 409 while it is changed in its database.
async fn unchanged(tx: &mut Tx, before: &TableWithFields) -> Result<Option<TableWithFields>, Error> {
    let now = definitions::store::lock(tx, before.record.id).await?;
    changes::refuse_running(tx, before.record.id).await?;
    Ok(now.filter(|now| now.etag() == before.etag()))
}

/// Forgets a table for ever; false: it is gone or not as it was read.
async fn erase(
    state: &super::Tables,
    tx: &mut Tx,
    before: &TableWithFields,
    by: &str,
    now_ms: i64,
) -> Result<bool, Error> {
    let id = before.record.id;
    // Before the table's own row is locked.
    (state.users.unbind)(tx, id, by, now_ms).await?;
    if unchanged(tx, before).await?.is_none() {
        return Ok(false);
    }
    store::erase(tx, id).await?;
    tx.changed(TOPIC, id.to_string());
    Ok(true)
}
