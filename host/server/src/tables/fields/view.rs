//! Fields as answers show them.

use schemars::JsonSchema;
use serde::Serialize;

use super::Field;
use crate::tables::change::view::ChangeView;

/// A field of a table.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Field")]
pub struct FieldView {
    id: i64,
    table_id: i64,
    field_name: String,
    /// In the dialect's notation: `VARCHAR(64)`.
    field_type: String,
    field_comment: Option<String>,
    is_primary_key: bool,
    is_nullable: bool,
    /// A value, or `CURRENT_TIMESTAMP`; null: none.
    default_value: Option<String>,
    /// The field's position in the table, from 1.
    field_order: i64,
    /// Stored only in the catalogue.
    description: Option<String>,
    /// The physical change made by this request; null: none.
    change: Option<ChangeView>,
}

impl FieldView {
    pub fn new(field: Field, change: Option<ChangeView>) -> FieldView {
        FieldView {
            id: field.id,
            table_id: field.table_id,
            field_name: field.name,
            field_type: field.type_text,
            field_comment: field.comment,
            is_primary_key: field.is_key,
            is_nullable: field.is_nullable,
            default_value: field.default,
            field_order: field.place,
            description: field.description,
            change,
        }
    }
}
