//! Handlers of physical tables.

use lakeport_base::error::{Detail, Error};
use lakeport_http::Data;

use super::step::{ChangeSpec, Step};
use super::store;
use super::view::{ChangeView, Changed};
use crate::audit::Change;
use crate::datasources::DatasourceClient;
use crate::tables::Call;
use crate::tables::definitions::api::{TRIES, followed, overtaken, reserve, unknown};
use crate::tables::definitions::view::TableDetail;
use crate::tables::definitions::{self, Definition, TableWithFields};
use crate::tables::forms::{ChangeQuery, ClusterQuery, TablePath};
use crate::tables::physical::{self, failure};
use crate::tables::sources;

/// `POST /api/v1/tables/{id}/physical`
pub async fn create(call: Call<TablePath, ChangeQuery>) -> Result<Data<Changed<TableDetail>>, Error> {
    for _ in 0..TRIES {
        let whole = definitions::get(&call.state, call.path.id).await?;
        if let Some(answer) = create_from(&call, whole).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// None: the table is not any more as it was read.
async fn create_from(
    call: &Call<TablePath, ChangeQuery>,
    whole: TableWithFields,
) -> Result<Option<Data<Changed<TableDetail>>>, Error> {
    let (state, id) = (&call.state, whole.record.id);
    let definition = &whole.record.definition;
    whole.refuse_deprecated()?;
    sources::refuse_wrong(&whole, call.query.cluster_id)?;
    if whole.record.is_physical {
        let message = format!("{} is in its database already", definition.table_name);
        return Err(Error::conflict("already_physical", message));
    }
    let source = sources::of_table(state, &call.caller, &whole, call.query.cluster_id).await?;
    if whole.fields.is_empty() {
        let message =
            format!("{} has no fields; POST /api/v1/tables/{id}/fields first", definition.table_name);
        return Err(Error::conflict("no_fields", message));
    }
    let wanted = ChangeSpec {
        table: Definition { cluster_id: Some(source.id), ..definition.clone() },
        steps: vec![Step::CreateTable { fields: whole.fields.clone() }],
    };
    let client = DatasourceClient::of_main(&state.datasources, &source, call.request_id.as_str());
    refuse_unknown_database(&client, &definition.db_name).await?;
    let planned = physical::plan(&client, &sources::place(definition), &wanted).await?;
    let mut tx = state.db.begin().await?;
    reserve(call, &mut tx, &wanted.table, id).await?;
    let now = definitions::store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    store::refuse_running(&mut tx, id).await?;
    if now.etag() != whole.etag() {
        return Ok(None);
    }
    if call.query.dry_run {
        return Ok(Some(Data::new(&Changed::DryRun(planned.view()))));
    }
    let (record, caller, now_ms) = (&whole.record, &call.caller.name, state.clock.now_ms());
    let begun = store::start(&mut tx, record, source.id, &wanted, &planned, caller, now_ms).await?;
    let begun = begun.ok_or_else(physical::running)?;
    let audited = Change::of("table", id).before(&whole.versioned()).after(&wanted.table);
    followed(call, tx, audited, begun, id).await.map(Some)
}

/// 400 naming the databases that there are.
async fn refuse_unknown_database(client: &DatasourceClient<'_>, name: &str) -> Result<(), Error> {
    /// Names that are told.
    const TOLD_MAX: usize = 20;
    let server = client.server().await?;
    let databases = client.databases(&server).await?;
    if databases.iter().any(|(known, _)| known == name) {
        return Ok(());
    }
    let known: Vec<&str> = databases.iter().take(TOLD_MAX).map(|(known, _)| known.as_str()).collect();
    let why = format!("unknown database; available: {}", known.join(", "));
    Err(Error::invalid(vec![Detail::new("dbName", why)]))
}

/// `GET /api/v1/tables/{id}/changes`
pub async fn list(call: Call<TablePath>) -> Result<Data<Vec<ChangeView>>, Error> {
    let state = &call.state;
    let whole = definitions::get(state, call.path.id).await?;
    let changes = store::of_table(&state.db, whole.record.id).await?;
    let places = changes.iter().map(|change| change.cluster_id);
    sources::refuse_hidden(state, &call.caller, &whole, places).await?;
    let zone = state.config.time_zone;
    Ok(Data::new(&changes.into_iter().map(|change| ChangeView::new(change, zone)).collect()))
}

/// `GET /api/v1/tables/{id}/ddl`
pub async fn ddl(call: Call<TablePath, ClusterQuery>) -> Result<Data<String>, Error> {
    let state = &call.state;
    let whole = definitions::get(state, call.path.id).await?;
    let source = sources::physical(state, &call.caller, &whole, call.query.cluster_id).await?;
    let client = DatasourceClient::of(&state.datasources, &source, call.request_id.as_str());
    let server = client.server().await?;
    let place = sources::place(&whole.record.definition);
    let text = client.ddl(&server, &place).await.map_err(failure::unanswered)?;
    Ok(Data::new(&text))
}
