//! What requests about tables and their fields say.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::http::form::Patch;

/// Records of a page where the request does not say.
pub const PAGE_SIZE_DEFAULT: i64 = 20;
/// Collected statistics where the request does not say how many.
pub const HISTORY_DEFAULT: i64 = 30;
/// Most collected statistics of one answer.
pub const HISTORY_MAX: i64 = 500;
/// Days that accesses are counted over.
pub const RECENT_DAYS_DEFAULT: i64 = 30;
/// Days of the trend.
pub const TREND_DAYS_DEFAULT: i64 = 14;
/// Users that are named.
pub const TOP_USERS_DEFAULT: i64 = 5;

#[derive(Deserialize, JsonSchema)]
pub struct TablePath {
    pub id: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPath {
    pub id: i64,
    pub field_id: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TableSortField")]
pub enum SortField {
    #[serde(rename = "tableName")]
    TableName,
    #[serde(rename = "dbName")]
    DbName,
    #[serde(rename = "layer")]
    Layer,
    #[serde(rename = "row_count", alias = "rowCount")]
    RowCount,
    #[serde(rename = "data_size", alias = "dataSize")]
    DataSize,
    #[serde(rename = "index_size", alias = "indexSize")]
    IndexSize,
    #[serde(rename = "created_at", alias = "createdAt")]
    CreatedAt,
    #[serde(rename = "updated_at", alias = "updatedAt")]
    UpdatedAt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    Asc,
    Desc,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    #[schemars(range(min = 1), extend("default" = 1))]
    pub page_num: Option<i64>,
    #[schemars(range(min = 1, max = 500), extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<i64>,
    pub layer: Option<String>,
    /// Part of the database's or the table's name, case ignored.
    pub keyword: Option<String>,
    pub cluster_id: Option<i64>,
    /// `rowCount`, `dataSize`, `indexSize`, `createdAt` and `updatedAt` are taken, too; absent: the newest first.
    pub sort_field: Option<SortField>,
    /// Absent: `asc`, where a `sortField` is given.
    pub sort_order: Option<SortOrder>,
}

/// A table's definition; nothing is made in a database.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateTable {
    /// No two live tables of one data source and database share one.
    #[schemars(length(min = 1, max = 64))]
    pub table_name: String,
    /// The database in MySQL and Doris, the schema in PostgreSQL, `main` in SQLite.
    #[schemars(length(min = 1, max = 64))]
    pub db_name: String,
    pub table_comment: Option<String>,
    /// Such as `ODS`, `DWD`, `ADS`.
    pub layer: Option<String>,
    /// The data source; absent: none until the table is made physical.
    pub cluster_id: Option<i64>,
    /// One of the dialect's table models.
    pub table_model: Option<String>,
    pub distribution_column: Option<String>,
    #[schemars(range(min = 1))]
    pub bucket_num: Option<u32>,
    #[schemars(range(min = 1))]
    pub replica_num: Option<u32>,
    /// Names of fields between commas.
    pub key_columns: Option<String>,
    pub partition_column: Option<String>,
    pub business_domain: Option<String>,
    pub data_domain: Option<String>,
    pub owner: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTable {
    /// A physical table is renamed in its database.
    #[schemars(length(min = 1, max = 64))]
    pub table_name: Option<String>,
    /// Fixed once the table is physical.
    #[schemars(length(min = 1, max = 64))]
    pub db_name: Option<String>,
    #[serde(default)]
    pub table_comment: Patch<String>,
    #[serde(default)]
    pub layer: Patch<String>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub cluster_id: Patch<i64>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub table_model: Patch<String>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub distribution_column: Patch<String>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub bucket_num: Patch<u32>,
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub replica_num: Patch<u32>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub key_columns: Patch<String>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub partition_column: Patch<String>,
    #[serde(default)]
    pub business_domain: Patch<String>,
    #[serde(default)]
    pub data_domain: Patch<String>,
    #[serde(default)]
    pub owner: Patch<String>,
}

#[derive(Deserialize, JsonSchema)]
pub struct SetComment {
    /// Empty: none.
    pub comment: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingQuery {
    /// Only tables of this data source.
    pub cluster_id: Option<i64>,
}

/// Of a change that a physical table follows.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// Answers the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// Of a change that takes a table away.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedChangeQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// The table's whole name as it is now.
    pub confirm_table_name: String,
    /// Answers the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunQuery {
    /// Answers the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateField {
    /// No two fields of one table share one.
    #[schemars(length(min = 1, max = 64))]
    pub field_name: String,
    /// As the dialect writes it: `VARCHAR(64)`.
    pub field_type: String,
    pub field_comment: Option<String>,
    #[schemars(extend("default" = false))]
    pub is_primary_key: Option<bool>,
    #[schemars(extend("default" = true))]
    pub is_nullable: Option<bool>,
    /// A value, not an expression; absent: none.
    pub default_value: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateField {
    #[schemars(length(min = 1, max = 64))]
    pub field_name: Option<String>,
    pub field_type: Option<String>,
    #[serde(default)]
    pub field_comment: Patch<String>,
    pub is_primary_key: Option<bool>,
    pub is_nullable: Option<bool>,
    #[serde(default)]
    pub default_value: Patch<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatisticsQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// The database is asked, whatever is remembered.
    #[serde(default)]
    pub force_refresh: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// Days that accesses are counted over.
    #[serde(default = "recent_days_default")]
    #[schemars(range(min = 1, max = 365))]
    pub recent_days: i64,
    /// Points of the trend, one a day.
    #[serde(default = "trend_days_default")]
    #[schemars(range(min = 1, max = 90))]
    pub trend_days: i64,
    /// Users that are named.
    #[serde(default = "top_users_default")]
    #[schemars(range(min = 1, max = 50))]
    pub top_users: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct HistoryQuery {
    #[serde(default = "history_default")]
    #[schemars(range(min = 1, max = HISTORY_MAX))]
    pub limit: i64,
}

fn recent_days_default() -> i64 {
    RECENT_DAYS_DEFAULT
}

fn trend_days_default() -> i64 {
    TREND_DAYS_DEFAULT
}

fn top_users_default() -> i64 {
    TOP_USERS_DEFAULT
}

fn history_default() -> i64 {
    HISTORY_DEFAULT
}
