//! Verified questions and terms in answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::Entry;
use crate::agent::time_of;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Stored{B}")]
pub struct EntryView<B> {
    id: i64,
    #[serde(flatten)]
    body: B,
    /// The name of the caller who changed it last.
    author: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
}

impl<B> From<Entry<B>> for EntryView<B> {
    fn from(entry: Entry<B>) -> EntryView<B> {
        EntryView {
            id: entry.id,
            body: entry.body,
            author: entry.author,
            created_at: time_of(entry.created_at_ms),
            updated_at: time_of(entry.updated_at_ms),
        }
    }
}

/// All entries of a kind, as an import takes them.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "ExportOf{B}")]
pub struct Export<B> {
    pub format: String,
    pub items: Vec<B>,
}

/// The outcome of an import.
#[derive(Serialize, JsonSchema)]
pub struct Imported {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
}

/// The answer to a deletion.
#[derive(Serialize, JsonSchema)]
pub struct DeletedEntry {
    pub id: i64,
    pub deleted: bool,
}
