//! The data source `lakeport`: views of the server's own store, for questions about the platform itself.
//! Their names and fields are described here in both supported languages; [`store`] has their definitions.
//!
//! A query runs in a read-only session of its own, in which nothing else can be read.

mod fields;
pub mod store;
mod zone;

use lakeport_bindings::tool::catalog::{Field, Table};
use lakeport_bindings::tool::tables::TableHead;

use crate::datasources::OWN_NAME;

/// The name of the only database.
pub const DATABASE: &str = "main";
/// Ids of the views begin here, beyond those of tables.
const FIRST_ID: u64 = (1 << 62) + 1;

/// A view.
pub struct OwnTable {
    pub name: &'static str,
    comment: &'static str,
    /// Name, type and content; the first is the key.
    fields: &'static [(&'static str, &'static str, &'static str)],
}

/// All views; the index determines the id.
pub const TABLES: &[OwnTable] = fields::TABLES;

/// The view of this id.
pub fn find(id: u64) -> Option<&'static OwnTable> {
    TABLES.get(usize::try_from(id.checked_sub(FIRST_ID)?).ok()?)
}

/// The view of this name, ignoring case.
pub fn named(name: &str) -> Option<&'static OwnTable> {
    TABLES.iter().find(|table| table.name.eq_ignore_ascii_case(name))
}

impl OwnTable {
    pub fn id(&self) -> u64 {
        let place = TABLES.iter().position(|table| table.name == self.name).unwrap_or_default();
        FIRST_ID + place as u64
    }

    pub fn head(&self) -> TableHead {
        TableHead {
            id: self.id(),
            datasource: OWN_NAME.to_owned(),
            database: DATABASE.to_owned(),
            name: self.name.to_owned(),
            comment: self.comment.to_owned(),
            layer: None,
            business_domain: None,
            data_domain: None,
            row_count: None,
            physical: true,
        }
    }

    pub fn whole(&self) -> Table {
        let field = |(name, type_text, comment): &(&str, &str, &str)| Field {
            name: (*name).to_owned(),
            type_text: (*type_text).to_owned(),
            nullable: *name != "id",
            key: *name == "id",
            comment: (*comment).to_owned(),
        };
        Table { head: self.head(), fields: self.fields.iter().map(field).collect(), partition: Vec::new() }
    }
}

#[cfg(test)]
#[path = "own_tests.rs"]
mod tests;
