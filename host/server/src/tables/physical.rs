//! Handlers of physical tables.

use lakeport_base::error::{Detail, Error};
use lakeport_http::Data;
use lakeport_store::Tx;

use super::change::spec::{ChangeSpec, Step};
use super::change::view::{ChangeView, Changed};
use super::change::{self, Submission, TableChange, failure};
use super::definitions::api::{done, reserve};
use super::definitions::view::TableDetail;
use super::definitions::{self, Definition, TableWithFields};
use super::forms::{ChangeQuery, ClusterQuery, TablePath};
use super::{Call, sources};
use crate::datasources::DatasourceClient;

type ToCreate = Call<TablePath, ChangeQuery>;

/// `POST /api/v1/tables/{id}/physical`
pub async fn create(call: ToCreate) -> Result<Data<Changed<TableDetail>>, Error> {
    change::submit(&call, call.path.id, call.query.dry_run, |table| creation(&call, table)).await
}

/// The table in its database, as the catalogue defines it.
struct Creation<'c>(&'c ToCreate);

async fn creation(call: &ToCreate, before: TableWithFields) -> Result<Submission<Creation<'_>>, Error> {
    let (state, id) = (&call.state, before.record.id);
    let definition = &before.record.definition;
    before.refuse_deprecated()?;
    sources::refuse_wrong(&before, call.query.cluster_id)?;
    if before.record.is_physical {
        let message = format!("{} is in its database already", definition.table_name);
        return Err(Error::conflict("already_physical", message));
    }
    let source = sources::of_table(state, &call.caller, &before, call.query.cluster_id).await?;
    if before.fields.is_empty() {
        let message =
            format!("{} has no fields; POST /api/v1/tables/{id}/fields first", definition.table_name);
        return Err(Error::conflict("no_fields", message));
    }
    let spec = ChangeSpec {
        table: Definition { cluster_id: Some(source.id), ..definition.clone() },
        steps: vec![Step::CreateTable { fields: before.fields.clone() }],
    };
    let client = DatasourceClient::of_main(&state.datasources, &source, call.request_id.as_str());
    refuse_unknown_database(&client, &definition.db_name).await?;
    let planned = change::plan(&client, &sources::place(definition), &spec).await?;
    Ok(Submission { before, spec, planned, source_id: Some(source.id), change: Creation(call) })
}

impl TableChange for Creation<'_> {
    type Answer = TableDetail;

    async fn reserve(&self, tx: &mut Tx, before: &TableWithFields, spec: &ChangeSpec) -> Result<(), Error> {
        reserve(self.0, tx, &spec.table, before.record.id).await
    }

    async fn write(
        &self,
        _: &mut Tx,
        _: &TableWithFields,
        spec: &ChangeSpec,
    ) -> Result<Option<ChangeView>, Error> {
        Err(Error::internal(anyhow::anyhow!("a database has to follow {}", spec.kind())))
    }

    async fn answer(
        &self,
        table: Option<TableWithFields>,
        change: Option<ChangeView>,
    ) -> Result<Data<Changed<TableDetail>>, Error> {
        done(self.0, table, change)
    }
}

/// 400 with the names of the existing databases.
async fn refuse_unknown_database(client: &DatasourceClient<'_>, name: &str) -> Result<(), Error> {
    /// The most names in the message.
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
    let changes = change::store::of_table(&state.db, whole.record.id).await?;
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
