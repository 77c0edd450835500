//! The recycle bin: a table that is deleted is renamed and kept for 30 days, can be taken out again under its old name,
//! and goes for ever by hand or when its time is over.
//!
//! Each of the three is a physical change like any other where the table is in a database, and the catalogue follows
//! it; what is in the catalogue alone is changed there at once.

pub mod api;
mod job;
mod name;
mod presence;
pub mod restore;
pub mod store;
mod view;

use lakeport_base::Error;
use lakeport_base::time::DAY_MS;

use super::change::spec::{ChangeSpec, Step};
use super::definitions::{Definition, Record, TableWithFields};
use super::forms::TablePath;
use super::{Call, sources};
use crate::datasources::{Datasource, DatasourceClient};
pub use job::run_job;

/// How long a table is kept.
pub const RETENTION_MS: i64 = 30 * DAY_MS;

/// What a table was called before it went in.
fn old_name(record: &Record) -> String {
    record.origin_table_name.clone().unwrap_or_else(|| record.definition.table_name.clone())
}

/// One step, after which the table has this name.
fn spec(definition: &Definition, name: String, step: Step) -> ChangeSpec {
    ChangeSpec { table: Definition { table_name: name, ..definition.clone() }, steps: vec![step] }
}

/// 409 for what does not lie in the recycle bin.
fn refuse_active(table: &TableWithFields) -> Result<(), Error> {
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
    table: &TableWithFields,
    asked: Option<i64>,
) -> Result<Option<Datasource>, Error> {
    let (state, caller) = (&call.state, &call.caller);
    if table.record.is_physical {
        return sources::physical(state, caller, table, asked).await.map(Some);
    }
    sources::refuse_hidden(state, caller, table, asked.into_iter()).await.map(|()| None)
}

/// For what is about to be changed.
fn client<'c, Q>(call: &'c Call<TablePath, Q>, source: &Datasource) -> DatasourceClient<'c> {
    DatasourceClient::of_main(&call.state.datasources, source, call.request_id.as_str())
}
