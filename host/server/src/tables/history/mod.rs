//! What became of a table's schema: each change of its names, its fields and what its database is told of it, with
//! when, by whom and where it came from. What only the catalogue says of a table (an owner, tags) is no schema.
//!
//! An entry is written in the transaction of its change. It holds what changed, for people, and what it takes to go
//! back by one version, so that the fields of any kept version are those of now, taken back step by step.

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

/// Entries that are kept of one table.
pub const ENTRIES_MAX: i64 = 500;

/// Where a change came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SchemaChangeSource")]
pub enum Source {
    /// It was found in the database.
    Sync,
    /// It was made in the database from here.
    Change,
    /// It was made in the catalogue alone.
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

/// A field as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// 0: it has none yet. What keeps it keeps its field through a change of its name.
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
    /// What else is told of it, by the interface's names.
    members: Vec<(&'static str, Value)>,
    /// In their order.
    fields: Vec<Shape>,
}

/// One thing that changed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SchemaChangePart")]
pub struct Part {
    /// `table_created`, `table_renamed`, `table_changed`, `comment_changed`, `field_added`, `field_removed`,
    /// `field_renamed`, `field_changed`, `fields_reordered`; more may come.
    pub what: String,
    /// The field, by its name after the change; before it, where it was removed.
    pub field: Option<String>,
    /// The member of the table or the field, such as `fieldType`.
    pub member: Option<String>,
    /// The member's value, or the name, before; null: there was none.
    pub before: Value,
    /// The same, afterwards; null: there is none any more.
    pub after: Value,
}

/// What it takes to go back by one version.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undo {
    /// Names of fields that were not there.
    pub remove: Vec<String>,
    /// Fields that were there otherwise.
    pub put: Vec<Shape>,
}

/// What became of a schema, about to be written.
#[derive(Debug)]
pub struct New {
    pub table_id: i64,
    pub parts: Vec<Part>,
    pub undo: Undo,
}

impl New {
    /// That there is a table from now on.
    pub fn created(table_id: i64, table_name: &str) -> New {
        let part = Part { what: "table_created".to_owned(), after: table_name.into(), ..Part::default() };
        New { table_id, parts: vec![part], undo: Undo::default() }
    }

    /// That it is in its database no longer.
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
    /// As the change alone would have left it; none: whatever is otherwise afterwards is the change's.
    wanted: Option<&'w TableWithFields>,
}

impl<'w> From<&'w TableWithFields> for Before<'w> {
    fn from(then: &'w TableWithFields) -> Before<'w> {
        Before { then, wanted: None }
    }
}

/// With the table as the catalogue has it once the change is written, and before what was found is taken over.
impl<'w> From<(&'w TableWithFields, Option<&'w TableWithFields>)> for Before<'w> {
    fn from((then, wanted): (&'w TableWithFields, Option<&'w TableWithFields>)) -> Before<'w> {
        // What makes a table is the reason of whatever it is then.
        Before { then, wanted: wanted.filter(|_| then.record.is_physical) }
    }
}

/// Writes what became of a table, whose row nobody else changes before the transaction ends; where that is nothing
/// of its schema, nothing. What somebody had changed in the database before is a version of its own, by nobody.
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

/// What became of a table that a synchronisation found, from what was known of it.
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

    /// As a synchronisation knows a table, with the fields that it has or is to have.
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
