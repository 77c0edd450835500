//! The list of tables: the index in memory filters and sorts; one statement reads the shown data.

use lakeport_base::Error;
use lakeport_catalog::{Facet, FacetValue, Filter, Order, SortBy};
use lakeport_http::{Data, Nothing, Page, Paging};
use lakeport_store::Db;
use schemars::JsonSchema;
use serde::Serialize;

use super::view::TableView;
use super::{Record, store};
use crate::tables::Call;
use crate::tables::Catalog;
use crate::tables::forms::{FacetsQuery, ListQuery, PAGE_SIZE_DEFAULT, SortField, SortOrder};

/// The filter of a query, without the tables of Lakeport's own cluster. Two forms have its members: a form inside of
/// another one (`flatten`) is read without the types that its members need.
macro_rules! filter {
    ($query:ident, $own_cluster:expr) => {
        Filter {
            keyword: $query.keyword.as_deref().unwrap_or_default(),
            layer: said(&$query.layer),
            business_domain: said(&$query.business_domain),
            data_domain: said(&$query.data_domain),
            owner: said(&$query.owner),
            tag: said(&$query.tag),
            cluster_id: $query.cluster_id,
            has_drift: $query.has_drift,
            but_cluster_id: Some($own_cluster),
        }
    };
}

/// `GET /api/v1/tables`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Data<Page<TableView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let filter = filter!(query, state.own_cluster().await?);
    state.catalog.caught_up().await?;
    let (total, records) = page(&state.db, &state.catalog, &filter, order(query), &paging).await?;
    let zone = state.config.time_zone;
    let views = records.into_iter().map(|record| TableView::new(record, zone)).collect();
    Ok(Data::new(&paging.page(total, views)))
}

/// The values of one filter of the list.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TableFacet")]
pub struct FacetView {
    /// At most 100, the most frequent first.
    values: Vec<FacetValueView>,
    /// How many values there are.
    total: usize,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TableFacetValue")]
pub struct FacetValueView {
    /// As the list's parameter takes it.
    value: String,
    /// Tables with it.
    count: u64,
}

/// The values that tables have, by the list's parameters.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TableFacets")]
pub struct FacetsView {
    cluster_id: FacetView,
    layer: FacetView,
    business_domain: FacetView,
    data_domain: FacetView,
    owner: FacetView,
    tag: FacetView,
    has_drift: FacetView,
}

/// The most values of a facet.
const FACET_VALUES_MAX: usize = 100;

/// `GET /api/v1/tables/facets`
pub async fn facets(call: Call<Nothing, FacetsQuery>) -> Result<Data<FacetsView>, Error> {
    let (state, query) = (&call.state, &call.query);
    let filter = filter!(query, state.own_cluster().await?);
    state.catalog.caught_up().await?;
    let facets = state.catalog.read().facets(&filter, FACET_VALUES_MAX);
    let view = |facet: Facet| FacetView {
        values: facet
            .values
            .into_iter()
            .map(|FacetValue { value, count }| FacetValueView { value, count })
            .collect(),
        total: facet.total,
    };
    Ok(Data::new(&FacetsView {
        cluster_id: view(facets.cluster_id),
        layer: view(facets.layer),
        business_domain: view(facets.business_domain),
        data_domain: view(facets.data_domain),
        owner: view(facets.owner),
        tag: view(facets.tag),
        has_drift: view(facets.has_drift),
    }))
}

/// An empty text means none.
fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// The number of matching tables, and one page of them.
pub async fn page(
    db: &Db,
    catalog: &Catalog,
    filter: &Filter<'_>,
    order: Order,
    paging: &Paging,
) -> Result<(i64, Vec<Record>), Error> {
    let (offset, size) = (paging.offset() as usize, paging.page_size as usize);
    let (total, ids) = catalog.read().page(filter, order, offset, size);
    Ok((total as i64, store::all_of(db, &ids).await?))
}

/// Newest first by default.
fn order(query: &ListQuery) -> Order {
    let is_descending = match (query.sort_order, query.sort_field) {
        (Some(order), _) => order == SortOrder::Desc,
        (None, field) => field.is_none(),
    };
    let by = match query.sort_field {
        Some(SortField::TableName) => SortBy::TableName,
        Some(SortField::DbName) => SortBy::DbName,
        Some(SortField::Layer) => SortBy::Layer,
        Some(SortField::RowCount) => SortBy::RowCount,
        Some(SortField::DataSize) => SortBy::DataSize,
        Some(SortField::IndexSize) => SortBy::IndexSize,
        Some(SortField::UpdatedAt) => SortBy::UpdatedAt,
        Some(SortField::CreatedAt) | None => SortBy::CreatedAt,
    };
    Order { by, is_descending }
}
