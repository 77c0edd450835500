//! What all changes of the recycle bin have in common: whose table it is, and what is to be run there.

use lakeport_base::Error;
use lakeport_store::Tx;

use crate::datasources::{Datasource, DatasourceClient};
use crate::tables::Call;
use crate::tables::definitions::api::unknown;
use crate::tables::definitions::{self, Definition, TableWithFields};
use crate::tables::forms::TablePath;
use crate::tables::history::{self, Source};
use crate::tables::physical::step::ChangeSpec;
use crate::tables::physical::store as changes;
use crate::tables::physical::{self, Planned};
use crate::tables::sources;

/// A change of a table that is in its database: who has it, and what is to be run there.
pub struct Prepared {
    pub source_id: i64,
    pub planned: Planned,
}

/// 409 for what does not lie in the recycle bin.
pub fn refuse_active(table: &TableWithFields) -> Result<(), Error> {
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
pub async fn source_of<Q>(
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

pub async fn prepared<Q>(
    call: &Call<TablePath, Q>,
    source: &Datasource,
    definition: &Definition,
    wanted: &ChangeSpec,
) -> Result<Prepared, Error> {
    let client = DatasourceClient::of_main(&call.state.datasources, source, call.request_id.as_str());
    let planned = physical::plan(&client, &sources::place(definition), wanted).await?;
    Ok(Prepared { source_id: source.id, planned })
}

pub async fn begin<Q>(
    call: &Call<TablePath, Q>,
    tx: &mut Tx,
    table: &TableWithFields,
    wanted: &ChangeSpec,
    prepared: &Prepared,
    now_ms: i64,
) -> Result<changes::ChangeRow, Error> {
    let (caller, Prepared { source_id, planned }) = (&call.caller.name, prepared);
    let begun = changes::start(tx, &table.record, *source_id, wanted, planned, caller, now_ms).await?;
    begun.ok_or_else(physical::running)
}

/// Writes what became of a table in the catalogue; answers it as it is now.
pub async fn add_history<Q>(
    call: &Call<TablePath, Q>,
    tx: &mut Tx,
    before: &TableWithFields,
    now_ms: i64,
) -> Result<TableWithFields, Error> {
    let id = before.record.id;
    let after = definitions::store::lock(tx, id).await?.ok_or_else(|| unknown(id))?;
    let by = &call.caller.name;
    history::add_of_whole(tx, before, &after, Source::Catalogue, by, now_ms).await?;
    Ok(after)
}
