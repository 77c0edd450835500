//! Tables as answers show them.

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Definition, Drift, Record, TableWithFields};
use crate::tables::change::view::ChangeView;
use crate::tables::fields::view::FieldView;

/// A table of the catalogue.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Table")]
pub struct TableView {
    id: i64,
    table_name: String,
    db_name: String,
    table_comment: Option<String>,
    layer: Option<String>,
    /// The data source; null: none yet.
    cluster_id: Option<i64>,
    table_model: Option<String>,
    distribution_column: Option<String>,
    bucket_num: Option<i64>,
    replica_num: Option<i64>,
    /// Names of fields separated by commas.
    key_columns: Option<String>,
    partition_column: Option<String>,
    business_domain: Option<String>,
    data_domain: Option<String>,
    owner: Option<String>,
    /// Stored only in the catalogue.
    description: Option<String>,
    tags: Vec<String>,
    status: TableStatus,
    /// The table exists in its database.
    physical: bool,
    row_count: Option<i64>,
    /// Bytes.
    data_size: Option<i64>,
    index_size: Option<i64>,
    /// The time at which `rowCount`, `dataSize` and `indexSize` were collected.
    statistics_time: Option<String>,
    /// The original name of a table in the recycle bin; null for other tables.
    origin_table_name: Option<String>,
    deprecated_at: Option<String>,
    purge_at: Option<String>,
    created_at: String,
    updated_at: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum TableStatus {
    Active,
    Deprecated,
}

/// The data source of a table.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TableCluster")]
struct ClusterView {
    id: i64,
    name: String,
    /// The dialect's name.
    kind: String,
}

/// A table with its fields.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "TableDetail")]
pub struct TableDetail {
    #[serde(flatten)]
    table: TableView,
    /// Ordered by `fieldOrder`.
    fields: Vec<FieldView>,
    /// Null: no data source yet.
    cluster: Option<ClusterView>,
    /// Differences found by the last sync (from the catalogue) or the last physical change (from the
    /// requested result). The catalogue adopts the found values. Empty after a sync or a change without
    /// differences.
    drift: Vec<Drift>,
    /// The physical change made by this request; null: none.
    change: Option<ChangeView>,
}

impl TableView {
    pub fn new(record: Record, zone: Tz) -> TableView {
        let Definition {
            table_name,
            db_name,
            table_comment,
            layer,
            cluster_id,
            table_model,
            distribution_column,
            bucket_num,
            replica_num,
            key_columns,
            partition_column,
            business_domain,
            data_domain,
            owner,
            description,
            tags,
        } = record.definition;
        let shown = |at_ms: i64| time::shown(at_ms, zone);
        TableView {
            id: record.id,
            table_name,
            db_name,
            table_comment,
            layer,
            cluster_id,
            table_model,
            distribution_column,
            bucket_num,
            replica_num,
            key_columns,
            partition_column,
            business_domain,
            data_domain,
            owner,
            description,
            tags,
            status: if record.is_deprecated { TableStatus::Deprecated } else { TableStatus::Active },
            physical: record.is_physical,
            row_count: record.row_count,
            data_size: record.data_size,
            index_size: record.index_size,
            statistics_time: record.statistics_time_ms.map(shown),
            origin_table_name: record.origin_table_name,
            deprecated_at: record.deprecated_at_ms.map(shown),
            purge_at: record.purge_at_ms.map(shown),
            created_at: shown(record.created_at_ms),
            updated_at: shown(record.updated_at_ms),
        }
    }
}

impl TableDetail {
    pub fn new(whole: TableWithFields, change: Option<ChangeView>, zone: Tz) -> TableDetail {
        let TableWithFields { record, fields, cluster, drift } = whole;
        let cluster = record.definition.cluster_id.zip(cluster).map(|(id, (name, kind))| ClusterView {
            id,
            name,
            kind,
        });
        let fields = fields.into_iter().map(|field| FieldView::new(field, None)).collect();
        TableDetail { table: TableView::new(record, zone), fields, cluster, drift, change }
    }
}
