//! The definition of a table, whether or not a database has it: names, location, and descriptions.
//!
//! A definition is changed as a whole: a form is applied, the result is checked, compared and written, and
//! the physical changes are derived from the difference.

pub mod api;
pub mod bulk;
pub mod list;
pub mod store;
pub mod view;

use lakeport_base::error::{Detail, Error};
use lakeport_http::etag_of;
use lakeport_http::form::{Amend, Count, Patch, Text};
use serde::{Deserialize, Serialize};

use super::fields::Field;
use super::forms::{CreateTable, Name, SetOnTables, Tag, UpdateTable};
use crate::core::Core;

/// The longest name of a table, a database or a field, in characters.
pub const NAME_MAX_CHARS: usize = 64;

/// The longest tag, in characters.
pub const TAG_MAX_CHARS: usize = 64;
/// The most tags of a table.
pub const TAGS_MAX: usize = 50;

/// The defined members of a table. Texts are never empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub table_name: String,
    pub db_name: String,
    pub table_comment: Option<String>,
    pub layer: Option<String>,
    pub cluster_id: Option<i64>,
    pub table_model: Option<String>,
    pub distribution_column: Option<String>,
    pub bucket_num: Option<i64>,
    pub replica_num: Option<i64>,
    /// Names separated by commas.
    pub key_columns: Option<String>,
    pub partition_column: Option<String>,
    pub business_domain: Option<String>,
    pub data_domain: Option<String>,
    pub owner: Option<String>,
    /// Only in the catalogue.
    #[serde(default)]
    pub description: Option<String>,
    /// Without duplicates, in the given order.
    #[serde(default)]
    pub tags: Vec<String>,
}

/// A stored table, without its fields.
#[derive(Debug, Clone)]
pub struct Record {
    pub id: i64,
    pub definition: Definition,
    pub is_deprecated: bool,
    pub is_physical: bool,
    pub row_count: Option<i64>,
    /// Bytes.
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub statistics_time_ms: Option<i64>,
    pub origin_table_name: Option<String>,
    pub deprecated_at_ms: Option<i64>,
    pub purge_at_ms: Option<i64>,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The table of this id, or 404.
pub async fn get(core: &Core, id: i64) -> Result<TableWithFields, Error> {
    store::find(&core.db, id).await?.ok_or_else(|| api::unknown(id))
}

/// A table with its fields and data source.
#[derive(Debug, Clone)]
pub struct TableWithFields {
    pub record: Record,
    /// In order.
    pub fields: Vec<Field>,
    /// Name and kind of its data source.
    pub cluster: Option<(String, String)>,
    pub drift: Vec<Drift>,
}

/// A difference between the catalogue, or the expected result of a change, and the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Drift {
    /// The member, such as `fields[2].fieldType`, the fields counted from 0; `fields` alone: an additional
    /// field.
    pub what: String,
    pub expected: String,
    pub found: String,
}

impl TableWithFields {
    /// Of the definition with its fields; not of sizes.
    pub fn etag(&self) -> String {
        etag_of(&self.versioned())
    }

    /// The content of a version, which the audit log digests.
    pub fn versioned(&self) -> impl Serialize + use<'_> {
        let Record { id, definition, is_deprecated, is_physical, .. } = &self.record;
        (id, definition, is_deprecated, is_physical, &self.fields)
    }

    /// Whether the two are equal for a database: they differ at most in what only the catalogue has.
    pub fn is_as_in_database(&self, other: &TableWithFields) -> bool {
        let flags = |of: &TableWithFields| (of.record.id, of.record.is_deprecated, of.record.is_physical);
        flags(self) == flags(other)
            && self.record.definition.is_as_in_database(&other.record.definition)
            && self.fields.len() == other.fields.len()
            && self.fields.iter().zip(&other.fields).all(|(one, other)| one.is_as_in_database(other))
    }

    /// 409 for a table in the recycle bin.
    pub fn refuse_deprecated(&self) -> Result<(), Error> {
        if !self.record.is_deprecated {
            return Ok(());
        }
        let name = &self.record.definition.table_name;
        Err(Error::conflict("deprecated", format!("{name} lies in the recycle bin; restore it first")))
    }
}

impl Definition {
    pub fn of(form: CreateTable) -> Definition {
        Definition {
            table_name: form.table_name.0,
            db_name: form.db_name.0,
            table_comment: said(form.table_comment),
            layer: said(form.layer),
            cluster_id: form.cluster_id,
            table_model: said(form.table_model),
            distribution_column: said(form.distribution_column),
            bucket_num: form.bucket_num.map(i64::from),
            replica_num: form.replica_num.map(i64::from),
            key_columns: said(form.key_columns).and_then(|text| names_written(&text)),
            partition_column: said(form.partition_column).and_then(|text| names_written(&text)),
            business_domain: said(form.business_domain),
            data_domain: said(form.data_domain),
            owner: said(form.owner),
            description: said(form.description),
            tags: tags_written(form.tags.unwrap_or_default()),
        }
    }

    /// Applies the changes of a form.
    pub fn changed_by(&self, form: UpdateTable) -> Definition {
        let before = self.clone();
        let names = |patch, before: Option<String>| text(patch, before).and_then(|text| names_written(&text));
        Definition {
            table_name: name(form.table_name, before.table_name),
            db_name: name(form.db_name, before.db_name),
            table_comment: text(form.table_comment, before.table_comment),
            layer: text(form.layer, before.layer),
            cluster_id: form.cluster_id.over(before.cluster_id),
            table_model: text(form.table_model, before.table_model),
            distribution_column: text(form.distribution_column, before.distribution_column),
            bucket_num: count(form.bucket_num, before.bucket_num),
            replica_num: count(form.replica_num, before.replica_num),
            key_columns: names(form.key_columns, before.key_columns),
            partition_column: names(form.partition_column, before.partition_column),
            business_domain: text(form.business_domain, before.business_domain),
            data_domain: text(form.data_domain, before.data_domain),
            owner: text(form.owner, before.owner),
            description: text(form.description, before.description),
            tags: tags(form.tags, before.tags),
        }
    }

    /// Applies the values of a bulk change.
    pub fn said_by(&self, form: SetOnTables) -> Definition {
        let before = self.clone();
        let mut tags = tags(form.tags, before.tags);
        let removed = tags_written(form.remove_tags.unwrap_or_default());
        tags.retain(|tag| !removed.contains(tag));
        for tag in tags_written(form.add_tags.unwrap_or_default()) {
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        Definition {
            layer: text(form.layer, before.layer),
            business_domain: text(form.business_domain, before.business_domain),
            data_domain: text(form.data_domain, before.data_domain),
            owner: text(form.owner, before.owner),
            description: text(form.description, before.description),
            tags,
            ..before
        }
    }

    /// Its own problems: invalid lists of names, too many tags.
    pub fn problems(&self) -> Vec<Detail> {
        let lists = [("keyColumns", &self.key_columns), ("partitionColumn", &self.partition_column)];
        let wrong = lists.into_iter().filter_map(|(member, list)| {
            let why = names_problem(list.as_deref()?)?;
            Some(Detail::new(member, why))
        });
        let too_many = (self.tags.len() > TAGS_MAX).then(|| Detail::new("tags", too_many_tags()));
        wrong.chain(too_many).collect()
    }

    /// Members that differ and that a physical table cannot change.
    pub fn not_changeable(&self, after: &Definition) -> Vec<&'static str> {
        let is_cleared = |before: Option<i64>, after: Option<i64>| before.is_some() && after.is_none();
        let members = [
            ("dbName", self.db_name != after.db_name),
            ("clusterId", self.cluster_id != after.cluster_id),
            ("tableModel", self.table_model != after.table_model),
            ("keyColumns", self.key_columns != after.key_columns),
            ("partitionColumn", self.partition_column != after.partition_column),
            ("distributionColumn", self.distribution_column != after.distribution_column),
            // No statement removes such a number.
            ("bucketNum", is_cleared(self.bucket_num, after.bucket_num)),
            ("replicaNum", is_cleared(self.replica_num, after.replica_num)),
        ];
        members.into_iter().filter(|(_, differs)| *differs).map(|(member, _)| member).collect()
    }

    /// Whether the two are equal for a database: they differ at most in members that only the catalogue has.
    pub fn is_as_in_database(&self, other: &Definition) -> bool {
        let stored = |of: &Definition| Definition {
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            description: None,
            tags: Vec::new(),
            ..of.clone()
        };
        stored(self) == stored(other)
    }

    /// This definition with what changed from `before` to `after`.
    pub fn with_change(&self, before: &Definition, after: &Definition) -> Definition {
        macro_rules! members {
            ($($member:ident),+) => {
                Definition {
                    $($member: if before.$member == after.$member { self } else { after }.$member.clone()),+
                }
            };
        }
        members!(
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
            tags
        )
    }

    pub fn keys(&self) -> Vec<String> {
        names_in(self.key_columns.as_deref())
    }

    pub fn partition(&self) -> Vec<String> {
        names_in(self.partition_column.as_deref())
    }

    pub fn distribution(&self) -> Vec<String> {
        names_in(self.distribution_column.as_deref())
    }
}

/// Names separated by commas, without surrounding blanks.
pub fn names_in(list: Option<&str>) -> Vec<String> {
    let names = list.unwrap_or_default().split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// A list in stored form: `a,b`. Only blanks mean none; a gap between commas stays, to be refused.
fn names_written(list: &str) -> Option<String> {
    let written = list.split(',').map(str::trim).collect::<Vec<_>>().join(",");
    (!written.is_empty()).then_some(written)
}

fn names_problem(list: &str) -> Option<String> {
    let mut seen = std::collections::HashSet::new();
    list.split(',').find_map(|name| match name {
        "" => Some("must be names between commas; one of them is empty".to_owned()),
        _ if name.chars().count() > NAME_MAX_CHARS => {
            Some(format!("must be names of at most {NAME_MAX_CHARS} characters between commas"))
        }
        _ if !seen.insert(name) => Some(format!("names {name} twice")),
        _ => None,
    })
}

/// The name after a change.
pub fn name(given: Amend<Name>, before: String) -> String {
    given.0.map_or(before, |Text(name)| name)
}

/// An empty text means none.
pub fn said<const MAX: usize>(text: Option<Text<0, MAX>>) -> Option<String> {
    text.map(|Text(text)| text).filter(|text| !text.is_empty())
}

/// The text after a change.
pub fn text<const MAX: usize>(patch: Patch<Text<0, MAX>>, before: Option<String>) -> Option<String> {
    match patch {
        Patch::Keep => before,
        Patch::Clear => None,
        Patch::Set(text) => said(Some(text)),
    }
}

/// The message about too many tags.
pub fn too_many_tags() -> String {
    format!("must be {TAGS_MAX} at most on one table")
}

/// Tags in stored form: trimmed, without duplicates.
fn tags_written(given: Vec<Tag>) -> Vec<String> {
    let mut tags: Vec<String> = Vec::with_capacity(given.len());
    for Text(tag) in given {
        let tag = tag.trim();
        if !tags.iter().any(|known| known == tag) {
            tags.push(tag.to_owned());
        }
    }
    tags
}

/// The tags after a change.
fn tags(patch: Patch<Vec<Tag>>, before: Vec<String>) -> Vec<String> {
    match patch {
        Patch::Keep => before,
        Patch::Clear => Vec::new(),
        Patch::Set(given) => tags_written(given),
    }
}

fn count(patch: Patch<Count>, before: Option<i64>) -> Option<i64> {
    match patch {
        Patch::Keep => before,
        Patch::Clear => None,
        Patch::Set(count) => Some(count.into()),
    }
}

#[cfg(test)]
#[path = "definition_tests.rs"]
mod tests;
