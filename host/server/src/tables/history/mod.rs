//! The history of a table's schema: each change of its names, its fields and other physical members, with
//! time, author and origin. Members of the catalogue only (an owner, tags) are not part of the schema.
//!
//! An entry is written in the transaction of its change. It has the change, for people, and the data to
//! revert it by one version, so that any kept version can be computed from the current fields.

pub mod api;
mod difference;
mod found_before;
pub mod store;

use lakeport_base::Error;
use lakeport_store::Tx;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definitions::{Definition, Record, TableWithFields};
use super::fields::Field;
use super::reconcile::{Known, KnownField};
use difference::{between, taken_back};
use found_before::found_before;
pub use store::{RETAINED, add};

/// The most entries of a table.
pub const ENTRIES_MAX: i64 = 500;

/// The origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SchemaChangeSource")]
pub enum Source {
    /// Found in the database by a sync.
    Sync,
    /// Made in the database by Lakeport.
    Change,
    /// Made only in the catalogue.
    Catalogue,
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Source::Sync => "sync",
            Source::Change => "change",
            Source::Catalogue => "catalogue",
        }
    }

    fn named(name: &str) -> Source {
        match name {
            "sync" => Source::Sync,
            "change" => Source::Change,
            _ => Source::Catalogue,
        }
    }
}

/// A former field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// 0: none yet. Identifies the field across renamings.
    #[serde(skip)]
    id: i64,
    pub name: String,
    pub type_text: String,
    pub comment: Option<String>,
    pub is_key: bool,
    pub is_nullable: bool,
    pub default: Option<String>,
    pub place: i64,
}

/// A table's schema at one time.
#[derive(Debug, Clone, Default)]
pub struct Schema {
    table_name: String,
    comment: Option<String>,
    /// Its other members, by the interface's names.
    members: Vec<(&'static str, Value)>,
    /// In order.
    fields: Vec<Shape>,
}

/// A single difference.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SchemaChangePart")]
pub struct Part {
    /// `table_created`, `table_renamed`, `table_changed`, `comment_changed`, `field_added`, `field_removed`,
    /// `field_renamed`, `field_changed`, `fields_reordered`; more may be added.
    pub what: String,
    /// The field, by its name after the change, or before it if it was removed.
    pub field: Option<String>,
    /// The member of the table or the field, such as `fieldType`.
    pub member: Option<String>,
    /// The member's value, or the name, before; null: none.
    pub before: Value,
    /// The same, afterwards; null: none.
    pub after: Value,
}

/// The data to revert one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Names of fields to remove.
    pub remove: Vec<String>,
    /// Fields to restore.
    pub put: Vec<Shape>,
}

/// A history entry to write.
#[derive(Debug)]
pub struct New {
    pub table_id: i64,
    pub parts: Vec<Part>,
    pub undo: Undo,
}

impl New {
    /// The entry for a new table.
    pub fn created(table_id: i64, table_name: &str) -> New {
        let part = Part { what: "table_created".to_owned(), after: table_name.into(), ..Part::default() };
        New { table_id, parts: vec![part], undo: Undo::default() }
    }

    /// The entry for a table that is missing in its database.
    pub fn missing(table_id: i64) -> New {
        let part = Part {
            what: "table_changed".to_owned(),
            member: Some("physical".to_owned()),
            before: true.into(),
            after: false.into(),
            ..Part::default()
        };
        New { table_id, parts: vec![part], undo: Undo::default() }
    }
}

/// A table before a change.
pub struct Before<'w> {
    then: &'w TableWithFields,
    /// The result of the change alone; `None`: all differences belong to the change.
    wanted: Option<&'w TableWithFields>,
}

impl<'w> From<&'w TableWithFields> for Before<'w> {
    fn from(then: &'w TableWithFields) -> Before<'w> {
        Before { then, wanted: None }
    }
}

/// From the table as the catalogue has it after the change, before the found values are adopted.
impl<'w> From<(&'w TableWithFields, Option<&'w TableWithFields>)> for Before<'w> {
    fn from((then, wanted): (&'w TableWithFields, Option<&'w TableWithFields>)) -> Before<'w> {
        // The creation of a table accounts for all of its members.
        Before { then, wanted: wanted.filter(|_| then.record.is_physical) }
    }
}

/// Writes the entry for a table whose row is locked, if its schema changed. Changes made directly in the
/// database before become a version of their own, without an author.
pub async fn add_of_whole<'w>(
    tx: &mut Tx,
    before: impl Into<Before<'w>>,
    after: &TableWithFields,
    source: Source,
    by: &str,
    now_ms: i64,
) -> Result<(), Error> {
    let Before { then, wanted } = before.into();
    let (id, mut then, now) = (after.record.id, Schema::of_whole(then), Schema::of_whole(after));
    if let Some(wanted) = wanted {
        let found = found_before(&then, &Schema::of_whole(wanted), &now);
        add(tx, between(id, &then, &found).as_slice(), Source::Sync, None, now_ms).await?;
        then = found;
    }
    add(tx, between(id, &then, &now).as_slice(), source, Some(by), now_ms).await
}

/// The entry for a table that a sync found, compared with its known state.
pub fn of_found(before: &Known, after: &Known, fields: &[KnownField]) -> Option<New> {
    let then = Schema::of_known(before, before.is_physical, &before.fields);
    between(before.id, &then, &Schema::of_known(after, true, fields))
}

impl Schema {
    fn of_whole(whole: &TableWithFields) -> Schema {
        let Record { definition, is_physical, is_deprecated, .. } = &whole.record;
        let Definition { table_name, table_comment, .. } = definition;
        let members = vec![
            ("dbName", definition.db_name.as_str().into()),
            ("clusterId", definition.cluster_id.into()),
            ("tableModel", definition.table_model.as_deref().into()),
            ("keyColumns", definition.key_columns.as_deref().into()),
            ("partitionColumn", definition.partition_column.as_deref().into()),
            ("distributionColumn", definition.distribution_column.as_deref().into()),
            ("bucketNum", definition.bucket_num.into()),
            ("replicaNum", definition.replica_num.into()),
            ("physical", (*is_physical).into()),
            ("status", if *is_deprecated { "deprecated" } else { "active" }.into()),
        ];
        let fields = whole.fields.iter().map(Shape::of).collect();
        Schema { table_name: table_name.clone(), comment: table_comment.clone(), members, fields }
    }

    /// A table in the sync's form, with its current or future fields.
    fn of_known(known: &Known, is_physical: bool, fields: &[KnownField]) -> Schema {
        let members = vec![
            ("tableModel", known.model.as_deref().into()),
            ("keyColumns", known.keys.as_deref().into()),
            ("partitionColumn", known.partition.as_deref().into()),
            ("distributionColumn", known.distribution.as_deref().into()),
            ("bucketNum", known.buckets.into()),
            ("replicaNum", known.replicas.into()),
            ("physical", is_physical.into()),
        ];
        let mut fields: Vec<Shape> = fields.iter().map(Shape::of_known).collect();
        fields.sort_by_key(|field| field.place);
        Schema { table_name: known.name.clone(), comment: known.comment.clone(), members, fields }
    }
}

impl Shape {
    fn of(field: &Field) -> Shape {
        Shape {
            id: field.id,
            name: field.name.clone(),
            type_text: field.type_text.clone(),
            comment: field.comment.clone(),
            is_key: field.is_key,
            is_nullable: field.is_nullable,
            default: field.default.clone(),
            place: field.place,
        }
    }

    fn of_known(field: &KnownField) -> Shape {
        Shape {
            id: field.id,
            name: field.name.clone(),
            type_text: field.type_text.clone(),
            comment: field.comment.clone(),
            is_key: field.is_key == 1,
            is_nullable: field.is_nullable == 1,
            default: field.default.clone(),
            place: field.place,
        }
    }
}
