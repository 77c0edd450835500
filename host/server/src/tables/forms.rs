//! The forms of requests about tables and their fields.

use std::fmt;

use lakeport_http::form::{Amend, Count, Number, Patch, Text};
use lakeport_http::{PageNum, PageSize};
use schemars::JsonSchema;
use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::definitions::bulk::BULK_MAX;
use super::definitions::{NAME_MAX_CHARS, TAG_MAX_CHARS, TAGS_MAX};

/// The longest comment, type, default or list of names, in characters.
const TEXT_MAX_CHARS: usize = 10_000;
/// The longest layer, model, domain or owner, in characters.
const WORD_MAX_CHARS: usize = 200;
/// The longest description, in characters.
const DESCRIPTION_MAX_CHARS: usize = 4_000;
/// The default page size.
pub const PAGE_SIZE_DEFAULT: i64 = 20;
/// The default number of collected statistics.
pub const HISTORY_DEFAULT: i64 = 30;
/// The most collected statistics of an answer.
pub const HISTORY_MAX: i64 = 500;
/// The default number of days of access statistics.
pub const RECENT_DAYS_DEFAULT: i64 = 30;
/// The default number of days of the trend.
pub const TREND_DAYS_DEFAULT: i64 = 14;
/// The default number of top users.
pub const TOP_USERS_DEFAULT: i64 = 5;

/// A name of a table, a database or a field.
pub type Name = Text<1, NAME_MAX_CHARS>;
type Word = Text<0, WORD_MAX_CHARS>;
type LongText = Text<0, TEXT_MAX_CHARS>;
type Description = Text<0, DESCRIPTION_MAX_CHARS>;
/// A tag of a table.
pub type Tag = Text<1, TAG_MAX_CHARS>;

#[derive(Deserialize, JsonSchema)]
pub struct TablePath {
    pub id: i64,
}

#[derive(Deserialize, JsonSchema)]
pub struct VersionPath {
    pub id: i64,
    pub version: i64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FieldPath {
    pub id: i64,
    pub field_id: i64,
}

/// As accepted, including second spellings.
const SORT_FIELDS: [&str; 13] = [
    "tableName",
    "dbName",
    "layer",
    "row_count",
    "data_size",
    "index_size",
    "created_at",
    "updated_at",
    "rowCount",
    "dataSize",
    "indexSize",
    "createdAt",
    "updatedAt",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "TableSortField", extend("enum" = SORT_FIELDS))]
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SortOrder {
    Asc,
    Desc,
}

struct OrderName;

impl Visitor<'_> for OrderName {
    type Value = SortOrder;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("asc or desc")
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<SortOrder, E> {
        match name.to_ascii_lowercase().as_str() {
            "asc" => Ok(SortOrder::Asc),
            "desc" => Ok(SortOrder::Desc),
            _ => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }

    /// Only a filler has bytes.
    fn visit_bytes<E: de::Error>(self, _: &[u8]) -> Result<SortOrder, E> {
        Ok(SortOrder::Asc)
    }
}

// Requests bytes, because only a filler answers with bytes: this tells it from an empty text.
impl<'de> Deserialize<'de> for SortOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SortOrder, D::Error> {
        deserializer.deserialize_bytes(OrderName)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ListQuery {
    #[schemars(extend("default" = 1))]
    pub page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<PageSize>,
    pub layer: Option<String>,
    /// Part of the database's or the table's name, ignoring case.
    pub keyword: Option<String>,
    pub cluster_id: Option<i64>,
    pub business_domain: Option<String>,
    pub data_domain: Option<String>,
    pub owner: Option<String>,
    /// Only tables with this tag.
    pub tag: Option<String>,
    /// Only tables whose database differs from the catalogue; `false`: only the others.
    pub has_drift: Option<bool>,
    /// Absent: newest first.
    pub sort_field: Option<SortField>,
    /// In upper or lower case. Absent: `asc`, if there is a `sortField`.
    pub sort_order: Option<SortOrder>,
}

/// What facets are counted under.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FacetsQuery {
    pub layer: Option<String>,
    /// Part of the database's or the table's name, ignoring case.
    pub keyword: Option<String>,
    pub cluster_id: Option<i64>,
    pub business_domain: Option<String>,
    pub data_domain: Option<String>,
    pub owner: Option<String>,
    pub tag: Option<String>,
    pub has_drift: Option<bool>,
}

/// The definition of a new table; nothing is created in a database.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateTable {
    /// Unique among live tables of a data source and database.
    pub table_name: Name,
    /// The database in MySQL and Doris, the schema in PostgreSQL, `main` in SQLite.
    pub db_name: Name,
    pub table_comment: Option<LongText>,
    /// Such as `ODS`, `DWD`, `ADS`.
    pub layer: Option<Word>,
    /// The data source; absent: none until the table is made physical.
    pub cluster_id: Option<i64>,
    /// One of the dialect's table models.
    pub table_model: Option<Word>,
    pub distribution_column: Option<LongText>,
    pub bucket_num: Option<Count>,
    pub replica_num: Option<Count>,
    /// Names of fields separated by commas.
    pub key_columns: Option<LongText>,
    pub partition_column: Option<LongText>,
    pub business_domain: Option<Word>,
    pub data_domain: Option<Word>,
    pub owner: Option<Word>,
    /// A description only in the catalogue; `tableComment` is stored in the database, too.
    pub description: Option<Description>,
    /// Without duplicates.
    #[schemars(length(max = TAGS_MAX))]
    pub tags: Option<Vec<Tag>>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateTable {
    /// A physical table is renamed in its database.
    #[serde(default)]
    pub table_name: Amend<Name>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub db_name: Amend<Name>,
    #[serde(default)]
    pub table_comment: Patch<LongText>,
    #[serde(default)]
    pub layer: Patch<Word>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub cluster_id: Patch<i64>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub table_model: Patch<Word>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub distribution_column: Patch<LongText>,
    #[serde(default)]
    pub bucket_num: Patch<Count>,
    #[serde(default)]
    pub replica_num: Patch<Count>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub key_columns: Patch<LongText>,
    /// Fixed once the table is physical.
    #[serde(default)]
    pub partition_column: Patch<LongText>,
    #[serde(default)]
    pub business_domain: Patch<Word>,
    #[serde(default)]
    pub data_domain: Patch<Word>,
    #[serde(default)]
    pub owner: Patch<Word>,
    #[serde(default)]
    pub description: Patch<Description>,
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    pub tags: Patch<Vec<Tag>>,
}

/// A bulk change of tables.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct UpdateTables {
    #[schemars(length(min = 1, max = BULK_MAX))]
    pub ids: Vec<i64>,
    pub set: SetOnTables,
}

/// Catalogue-only members to set. Absent: unchanged; null: removed.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SetOnTables {
    #[serde(default)]
    pub layer: Patch<Word>,
    #[serde(default)]
    pub business_domain: Patch<Word>,
    #[serde(default)]
    pub data_domain: Patch<Word>,
    #[serde(default)]
    pub owner: Patch<Word>,
    #[serde(default)]
    pub description: Patch<Description>,
    /// Replaces all tags; `removeTags` and `addTags` apply afterwards.
    #[serde(default)]
    #[schemars(length(max = TAGS_MAX))]
    pub tags: Patch<Vec<Tag>>,
    pub remove_tags: Option<Vec<Tag>>,
    pub add_tags: Option<Vec<Tag>>,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct SetComment {
    /// Empty or null: no comment.
    #[serde(deserialize_with = "Patch::deserialize")]
    pub comment: Patch<LongText>,
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

/// The query of a change that applies to the physical table, too.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangeQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// Returns the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

/// The query of a change that removes a table.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfirmedChangeQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// The table's complete current name.
    pub confirm_table_name: String,
    /// Returns the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DryRunQuery {
    /// Returns the statements and changes nothing.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateField {
    /// Unique within the table.
    pub field_name: Name,
    /// In the dialect's notation: `VARCHAR(64)`.
    pub field_type: LongText,
    pub field_comment: Option<LongText>,
    #[schemars(extend("default" = false))]
    pub is_primary_key: Option<bool>,
    #[schemars(extend("default" = true))]
    pub is_nullable: Option<bool>,
    /// A value, not an expression. An empty string is a default of empty text; absent: no default.
    pub default_value: Option<LongText>,
    /// A description only in the catalogue; `fieldComment` is stored in the database, too.
    pub description: Option<Description>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateField {
    #[serde(default)]
    pub field_name: Amend<Name>,
    #[serde(default)]
    pub field_type: Amend<LongText>,
    #[serde(default)]
    pub field_comment: Patch<LongText>,
    #[serde(default)]
    pub is_primary_key: Amend<bool>,
    #[serde(default)]
    pub is_nullable: Amend<bool>,
    #[serde(default)]
    pub default_value: Patch<LongText>,
    #[serde(default)]
    pub description: Patch<Description>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatisticsQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// Queries the database even if there is a cached answer.
    #[serde(default)]
    pub force_refresh: bool,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessQuery {
    /// The data source; absent: the table's own.
    pub cluster_id: Option<i64>,
    /// Days of access statistics.
    #[serde(default = "recent_days_default")]
    pub recent_days: Number<1, 365>,
    /// Points of the trend, one per day.
    #[serde(default = "trend_days_default")]
    pub trend_days: Number<1, 90>,
    /// The number of top users.
    #[serde(default = "top_users_default")]
    pub top_users: Number<1, 50>,
}

#[derive(Deserialize, JsonSchema)]
pub struct HistoryQuery {
    #[serde(default = "history_default")]
    pub limit: Number<1, HISTORY_MAX>,
}

fn recent_days_default() -> Number<1, 365> {
    Number(RECENT_DAYS_DEFAULT)
}

fn trend_days_default() -> Number<1, 90> {
    Number(TREND_DAYS_DEFAULT)
}

fn top_users_default() -> Number<1, 50> {
    Number(TOP_USERS_DEFAULT)
}

fn history_default() -> Number<1, HISTORY_MAX> {
    Number(HISTORY_DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_http::form::{from_json, from_query};

    #[test]
    fn every_documented_sort_field_parses() {
        for field in SORT_FIELDS {
            let query: ListQuery = from_query(&format!("sortField={field}")).expect(field);
            assert!(query.sort_field.is_some(), "{field}");
        }
        let described = schemars::schema_for!(SortField);
        assert_eq!(described.get("enum"), Some(&serde_json::json!(SORT_FIELDS)));
    }

    #[test]
    fn a_sort_order_takes_no_notice_of_case() {
        for (order, expected) in
            [("desc", SortOrder::Desc), ("DESC", SortOrder::Desc), ("Asc", SortOrder::Asc)]
        {
            let query: ListQuery = from_query(&format!("sortOrder={order}")).expect(order);
            assert_eq!(query.sort_order, Some(expected));
        }
        let wrong = from_query::<ListQuery>("sortOrder=down&sortField=size&pageNum=0&clusterId=x").err();
        let told = wrong.expect("all are wrong").to_string();
        for field in ["sortOrder: expected asc or desc", "sortField: ", "pageNum: ", "clusterId: "] {
            assert!(told.contains(field), "{field} is missing in {told}");
        }
    }

    #[test]
    fn null_clears_a_comment_omission_keeps() {
        let set = |body: &str| from_json::<SetComment>(body.as_bytes()).map(|form| form.comment);
        assert_eq!(set(r#"{"comment":null}"#).unwrap(), Patch::Clear);
        assert_eq!(set(r#"{"comment":"a"}"#).unwrap(), Patch::Set(Text("a".to_owned())));
        assert!(set("{}").is_err_and(|error| error.to_string().contains("comment: is missing")));
    }
}
