//! Handlers of schema histories.

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_http::{Data, Page, Paging};
use schemars::JsonSchema;
use serde::Serialize;

use super::store::{self, Entry};
use super::{Part, Shape, Source, taken_back};
use crate::tables::Call;
use crate::tables::definitions;
use crate::tables::forms::{PAGE_SIZE_DEFAULT, PageQuery, TablePath, VersionPath};
use crate::tables::sources;

/// A change of a table's schema.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchemaChange")]
pub struct EntryView {
    /// Of the schema after the change; numbered per table, from 1.
    version: i64,
    at: String,
    source: Source,
    /// The author; null: it was found in the database, and the author is unknown.
    by: Option<String>,
    changes: Vec<Part>,
}

/// A former schema of a table.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "SchemaVersion")]
pub struct VersionView {
    #[serde(flatten)]
    entry: EntryView,
    /// The fields after that change, in order.
    fields: Vec<PastField>,
}

/// A former field.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PastField {
    field_name: String,
    field_type: String,
    field_comment: Option<String>,
    is_primary_key: bool,
    is_nullable: bool,
    default_value: Option<String>,
}

impl EntryView {
    fn new(entry: Entry, zone: chrono_tz::Tz) -> EntryView {
        EntryView {
            version: entry.version,
            at: time::shown(entry.at_ms, zone),
            source: entry.source,
            by: entry.changed_by,
            changes: entry.parts,
        }
    }
}

impl From<Shape> for PastField {
    fn from(field: Shape) -> PastField {
        PastField {
            field_name: field.name,
            field_type: field.type_text,
            field_comment: field.comment,
            is_primary_key: field.is_key,
            is_nullable: field.is_nullable,
            default_value: field.default,
        }
    }
}

/// `GET /api/v1/tables/{id}/schema-history`
pub async fn list(call: Call<TablePath, PageQuery>) -> Result<Data<Page<EntryView>>, Error> {
    let state = &call.state;
    let paging = Paging::of(call.query.page_num, call.query.page_size, PAGE_SIZE_DEFAULT)?;
    let whole = definitions::get(state, call.path.id).await?;
    sources::refuse_hidden(state, &call.caller, &whole, std::iter::empty()).await?;
    let (total, entries) = store::page(&state.db, call.path.id, &paging).await?;
    let zone = state.config.time_zone;
    let views = entries.into_iter().map(|entry| EntryView::new(entry, zone)).collect();
    Ok(Data::new(&paging.page(total, views)))
}

/// `GET /api/v1/tables/{id}/schema-history/{version}`
pub async fn get(call: Call<VersionPath>) -> Result<Data<VersionView>, Error> {
    let (state, version) = (&call.state, call.path.version);
    let whole = definitions::get(state, call.path.id).await?;
    sources::refuse_hidden(state, &call.caller, &whole, std::iter::empty()).await?;
    let kept = store::version(&state.db, call.path.id, version).await?;
    let kept = kept.ok_or_else(|| Error::not_found("version of the table's schema", version))?;
    let fields = taken_back(kept.now, kept.steps).into_iter().map(PastField::from).collect();
    let entry = EntryView::new(kept.entry, state.config.time_zone);
    Ok(Data::new(&VersionView { entry, fields }))
}
