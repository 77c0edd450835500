//! The recycle bin: a deleted table is renamed and kept for 30 days. It can be restored under its original name; a
//! purge, by hand or after its time, deletes it permanently.
//!
//! If the table exists in a database, each of the three is a physical change like any other, and the catalogue
//! follows it. A table that exists only in the catalogue is changed there at once.

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

/// The time for which a deleted table is kept.
pub const RETENTION_MS: i64 = 30 * DAY_MS;

/// The name of a table before it was deleted.
fn old_name(record: &Record) -> String {
    record.origin_table_name.clone().unwrap_or_else(|| record.definition.table_name.clone())
}

/// A change of one step, after which the table has this name.
fn spec(definition: &Definition, name: String, step: Step) -> ChangeSpec {
    ChangeSpec { table: Definition { table_name: name, ..definition.clone() }, steps: vec![step] }
}

/// 409 if the table is not in the recycle bin.
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

/// The data source of a table that exists in its database; none for other tables. 403 if the caller may not read
/// the table's data source, in both cases.
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

/// The client for a physical change: it does not use replicas.
fn client<'c, Q>(call: &'c Call<TablePath, Q>, source: &Datasource) -> DatasourceClient<'c> {
    DatasourceClient::of_main(&call.state.datasources, source, call.request_id.as_str())
}
