//! The forms of requests about verified questions and terms.

use lakeport_http::form::{Amend, Number, Patch, Text};
use lakeport_http::{PageNum, Paging};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::agent::forms::{PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX, paging};

/// Characters of the texts.
const QUESTION_MAX: usize = 500;
const SQL_MAX: usize = 20_000;
const NOTE_MAX: usize = 2_000;
const TERM_MAX: usize = 100;
const PHRASE_MAX: usize = 200;
const NAME_MAX: usize = 100;
/// Synonyms of a term.
pub const SYNONYMS_MAX: usize = 50;
/// Entries of one import: as many as there can be.
pub const ITEMS_MAX: usize = 5_000;

#[derive(Deserialize, JsonSchema)]
pub struct EntryPath {
    pub id: i64,
}

/// The page, by the question or the term.
#[derive(Deserialize, JsonSchema)]
pub struct EntryQuery {
    #[schemars(extend("default" = 1))]
    pub page: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    pub page_size: Option<Number<1, PAGE_SIZE_MAX>>,
    /// A part of the question or the term; case and punctuation make no difference.
    pub keyword: Option<Text<0, 200>>,
}

impl EntryQuery {
    pub fn paging(&self) -> Paging {
        paging(self.page, self.page_size)
    }
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct CreateVerified {
    /// As users ask it; case and punctuation make no difference.
    pub question: Text<1, QUESTION_MAX>,
    /// The name of a data source.
    pub datasource: Text<1, NAME_MAX>,
    /// One statement that the guard allows.
    pub sql: Text<1, SQL_MAX>,
    /// What the answer should say about it.
    pub note: Option<Text<0, NOTE_MAX>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateVerified {
    #[serde(default)]
    pub question: Amend<Text<1, QUESTION_MAX>>,
    #[serde(default)]
    pub datasource: Amend<Text<1, NAME_MAX>>,
    #[serde(default)]
    pub sql: Amend<Text<1, SQL_MAX>>,
    #[serde(default)]
    pub note: Patch<Text<0, NOTE_MAX>>,
}

#[derive(Clone, Deserialize, JsonSchema)]
pub struct CreateTerm {
    pub term: Text<1, TERM_MAX>,
    /// Other words for it.
    #[schemars(length(max = SYNONYMS_MAX))]
    pub synonyms: Option<Vec<Text<1, TERM_MAX>>>,
    /// What it means, for people and models.
    pub definition: Text<1, NOTE_MAX>,
    /// Words of the catalogue that the rules read instead of the term: `total amount of paid orders`.
    pub phrase: Option<Text<0, PHRASE_MAX>>,
    /// How it is computed, for models: `sum(amount) FILTER (WHERE status = 'paid')`.
    pub sql: Option<Text<0, NOTE_MAX>>,
    /// The data source that it is about; absent: all.
    pub datasource: Option<Text<1, NAME_MAX>>,
}

#[derive(Deserialize, JsonSchema)]
pub struct UpdateTerm {
    #[serde(default)]
    pub term: Amend<Text<1, TERM_MAX>>,
    /// Replaces all of them.
    #[serde(default)]
    #[schemars(length(max = SYNONYMS_MAX))]
    pub synonyms: Patch<Vec<Text<1, TERM_MAX>>>,
    #[serde(default)]
    pub definition: Amend<Text<1, NOTE_MAX>>,
    #[serde(default)]
    pub phrase: Patch<Text<0, PHRASE_MAX>>,
    #[serde(default)]
    pub sql: Patch<Text<0, NOTE_MAX>>,
    /// Null: all.
    #[serde(default)]
    pub datasource: Patch<Text<1, NAME_MAX>>,
}

/// A file as it is exported.
#[derive(Deserialize, JsonSchema)]
#[schemars(rename = "ImportOf{C}")]
pub struct Import<C> {
    /// `lakeport.verified/1` or `lakeport.glossary/1`.
    pub format: String,
    #[schemars(length(max = ITEMS_MAX))]
    pub items: Vec<C>,
}

impl From<CreateVerified> for UpdateVerified {
    fn from(form: CreateVerified) -> UpdateVerified {
        UpdateVerified {
            question: Amend(Some(form.question)),
            datasource: Amend(Some(form.datasource)),
            sql: Amend(Some(form.sql)),
            note: form.note.into(),
        }
    }
}

impl From<CreateTerm> for UpdateTerm {
    fn from(form: CreateTerm) -> UpdateTerm {
        UpdateTerm {
            term: Amend(Some(form.term)),
            synonyms: form.synonyms.into(),
            definition: Amend(Some(form.definition)),
            phrase: form.phrase.into(),
            sql: form.sql.into(),
            datasource: form.datasource.into(),
        }
    }
}
