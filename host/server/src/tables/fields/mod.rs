//! The fields of a table: their definitions, and the meaning of a default's text.

pub mod api;
pub mod default;
pub mod store;
pub mod view;

use lakeport_http::etag_of;
use lakeport_http::form::{Patch, Text};
use serde::{Deserialize, Serialize};

use super::definitions::{name, said, text};
use super::forms::{CreateField, UpdateField};

/// The most fields of a table.
pub const FIELDS_MAX: usize = 2_000;

/// A stored field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// 0: none yet.
    pub id: i64,
    pub table_id: i64,
    pub name: String,
    pub type_text: String,
    pub comment: Option<String>,
    pub is_key: bool,
    pub is_nullable: bool,
    /// In the user's notation; `CURRENT_TIMESTAMP` is the time of the insert, and an empty text is a text.
    pub default: Option<String>,
    /// From 1.
    pub place: i64,
    /// Only in the catalogue.
    #[serde(default)]
    pub description: Option<String>,
}

impl Field {
    pub fn of(table_id: i64, place: i64, form: CreateField) -> Field {
        Field {
            id: 0,
            table_id,
            name: form.field_name.0,
            type_text: form.field_type.0.trim().to_owned(),
            comment: said(form.field_comment),
            is_key: form.is_primary_key.unwrap_or(false),
            is_nullable: form.is_nullable.unwrap_or(true),
            default: form.default_value.map(|Text(text)| text),
            place,
            description: said(form.description),
        }
    }

    /// Applies a change.
    pub fn changed_by(&self, form: UpdateField) -> Field {
        let before = self.clone();
        Field {
            name: name(form.field_name, before.name),
            type_text: form.field_type.0.map_or(before.type_text, |text| text.0.trim().to_owned()),
            comment: text(form.field_comment, before.comment),
            is_key: form.is_primary_key.0.unwrap_or(before.is_key),
            is_nullable: form.is_nullable.0.unwrap_or(before.is_nullable),
            default: match form.default_value {
                Patch::Keep => before.default,
                Patch::Clear => None,
                Patch::Set(Text(text)) => Some(text),
            },
            description: text(form.description, before.description),
            ..before
        }
    }

    /// Whether the two are equal for a database, so that no physical change follows.
    pub fn is_as_in_database(&self, other: &Field) -> bool {
        Field { description: None, ..self.clone() } == Field { description: None, ..other.clone() }
    }

    /// This field with what changed from `before` to `after`.
    pub fn with_change(&self, before: &Field, after: &Field) -> Field {
        macro_rules! members {
            ($($member:ident),+) => {
                Field {
                    $($member: if before.$member == after.$member { self } else { after }.$member.clone()),+
                }
            };
        }
        members!(id, table_id, name, type_text, comment, is_key, is_nullable, default, place, description)
    }

    pub fn etag(&self) -> String {
        etag_of(self)
    }
}
