//! The glossary: terms of the business, their other words and their meaning.

use std::ops::Range;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::Caller;
use lakeport_http::form::{Amend, Patch, Text};
use lakeport_store::Db;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forms::{CreateTerm, SYNONYMS_MAX, UpdateTerm};
use super::{Kind, has_words, is_allowed, plain, store, unknown_datasources};
use crate::agent::Agent;

/// Terms of one question that are used.
const USED_MAX: usize = 20;

pub struct Glossary;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "GlossaryTerm")]
pub struct Term {
    pub term: String,
    /// Other words for it.
    pub synonyms: Vec<String>,
    pub definition: String,
    /// Words of the catalogue that the rules read instead of the term.
    pub phrase: Option<String>,
    /// How it is computed, for models.
    pub sql: Option<String>,
    /// Null: all.
    pub datasource: Option<String>,
}

impl Kind for Glossary {
    const RESOURCE: &'static str = "glossary_term";
    const STORED: &'static str = "glossary";
    const FORMAT: &'static str = "lakeport.glossary/1";
    type Body = Term;
    type Create = CreateTerm;
    type Update = UpdateTerm;

    fn changed(before: Option<&Term>, form: &UpdateTerm) -> Result<Term, Vec<Detail>> {
        let empty = Term {
            term: String::new(),
            synonyms: Vec::new(),
            definition: String::new(),
            phrase: None,
            sql: None,
            datasource: None,
        };
        let mut after = before.unwrap_or(&empty).clone();
        let mut wrong = Vec::new();
        if let Amend(Some(term)) = &form.term {
            term.0.trim().clone_into(&mut after.term);
        }
        match &form.synonyms {
            Patch::Keep => {}
            Patch::Clear => after.synonyms = Vec::new(),
            Patch::Set(synonyms) => {
                if synonyms.len() > SYNONYMS_MAX {
                    let message = format!("has {} synonyms; {SYNONYMS_MAX} at most", synonyms.len());
                    wrong.push(Detail::new("synonyms", message));
                }
                after.synonyms = synonyms.iter().map(|one| one.0.trim().to_owned()).collect();
            }
        }
        if let Amend(Some(definition)) = &form.definition {
            after.definition.clone_from(&definition.0);
        }
        after.phrase = text(&form.phrase, after.phrase);
        after.sql = text(&form.sql, after.sql);
        after.datasource = text(&form.datasource, after.datasource);
        if !has_words(&after.term) {
            wrong.push(Detail::new("term", "has no letter and no digit"));
        }
        if wrong.is_empty() { Ok(after) } else { Err(wrong) }
    }

    fn words(body: &Term) -> String {
        plain(&body.term)
    }

    fn datasource(body: &Term) -> Option<&str> {
        body.datasource.as_deref()
    }

    fn check<'c>(
        state: &'c Arc<Agent>,
        _: &'c Caller,
        _: Option<&'c Term>,
        bodies: &'c [Term],
    ) -> BoxFuture<'c, Result<Vec<(usize, Detail)>, Error>> {
        Box::pin(unknown_datasources::<Glossary>(state, bodies))
    }
}

fn text<const MIN: usize, const MAX: usize>(
    patch: &Patch<Text<MIN, MAX>>,
    before: Option<String>,
) -> Option<String> {
    let after = patch.clone().map(|text| text.0.trim().to_owned()).over(before);
    after.filter(|text| !text.is_empty())
}

/// The terms in a question, within the rights.
pub async fn in_question(db: &Db, question: &str, rights: Option<&[String]>) -> Result<Vec<Term>, Error> {
    let all = store::all::<Glossary>(db).await?.into_iter().map(|entry| entry.body);
    let question = Searched::of(question);
    let is_meant = |term: &Term| {
        term.datasource.as_deref().is_none_or(|name| is_allowed(rights, name))
            && words(term).any(|word| !question.places(word).is_empty())
    };
    Ok(all.filter(is_meant).take(USED_MAX).collect())
}

/// The term and its other words.
fn words(term: &Term) -> impl Iterator<Item = &str> {
    std::iter::once(term.term.as_str()).chain(term.synonyms.iter().map(String::as_str))
}

/// The question with the terms' phrases instead of their words, and the terms that it was read by. The longest words come
/// first.
pub fn read_by<'t>(question: &str, terms: &'t [Term]) -> (String, Vec<(&'t str, &'t str)>) {
    let text = Searched::of(question);
    let mut spans: Vec<(Range<usize>, &str, &str)> = Vec::new();
    let mut known: Vec<(&str, &str)> = terms
        .iter()
        .filter_map(|term| Some((term, term.phrase.as_deref()?)))
        .flat_map(|(term, phrase)| words(term).map(move |word| (word, phrase)))
        .collect();
    known.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    for (word, phrase) in known {
        for place in text.places(word) {
            if spans.iter().all(|(taken, ..)| place.end <= taken.start || taken.end <= place.start) {
                spans.push((place, word, phrase));
            }
        }
    }
    spans.sort_by_key(|(place, ..)| place.start);
    let (mut read, mut end) = (String::new(), 0);
    for (place, _, phrase) in &spans {
        read.push_str(&question[end..place.start]);
        read.push_str(phrase);
        end = place.end;
    }
    read.push_str(&question[end..]);
    let mut used: Vec<(&str, &str)> = Vec::new();
    for (_, word, phrase) in spans {
        if !used.contains(&(word, phrase)) {
            used.push((word, phrase));
        }
    }
    (read, used)
}

/// A text whose words are looked for in any case.
struct Searched {
    /// Each character in lower case, and where it begins.
    characters: Vec<(usize, char)>,
    bytes: usize,
}

fn lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

impl Searched {
    fn of(text: &str) -> Searched {
        Searched {
            characters: text.char_indices().map(|(at, c)| (at, lower(c))).collect(),
            bytes: text.len(),
        }
    }

    /// Where a word stands alone: `GMV` is not in `GMVX`, `会员` is in `新会员数`.
    fn places(&self, word: &str) -> Vec<Range<usize>> {
        let wanted: Vec<char> = word.trim().chars().map(lower).collect();
        let (Some(&first), Some(&last)) = (wanted.first(), wanted.last()) else { return Vec::new() };
        let text = &self.characters;
        let is_joined = |place: Option<usize>| {
            let c = place.and_then(|place| text.get(place));
            c.is_some_and(|(_, c)| c.is_ascii_alphanumeric() || *c == '_')
        };
        let mut places = Vec::new();
        let mut at = 0;
        while at + wanted.len() <= text.len() {
            let end = at + wanted.len();
            let is_here = text[at..end].iter().zip(&wanted).all(|((_, c), wanted)| c == wanted);
            let is_alone = (!first.is_ascii_alphanumeric() || !is_joined(at.checked_sub(1)))
                && (!last.is_ascii_alphanumeric() || !is_joined(Some(end)));
            if is_here && is_alone {
                places.push(text[at].0..text.get(end).map_or(self.bytes, |(at, _)| *at));
                at = end;
            } else {
                at += 1;
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(term: &str, synonyms: &[&str], phrase: Option<&str>) -> Term {
        Term {
            term: term.to_owned(),
            synonyms: synonyms.iter().map(|word| (*word).to_owned()).collect(),
            definition: "d".to_owned(),
            phrase: phrase.map(str::to_owned),
            sql: None,
            datasource: None,
        }
    }

    #[test]
    fn words_stand_alone_in_any_case() {
        let places = |text: &str, word: &str| Searched::of(text).places(word);
        assert_eq!(places("gmv, GMVX and GMV", "Gmv"), [0..3, 14..17]);
        assert_eq!(places("新会员数", "会员").first(), Some(&(3..9)));
        assert!(places("a_gmv", "gmv").is_empty() && places("x", "").is_empty());
        // A letter that has another length in lower case.
        assert_eq!(places("İ gmv", "GMV").first(), Some(&(3..6)));
    }

    #[test]
    fn a_question_is_read_by_the_longest_words() {
        let terms = [
            term("GMV", &["turnover"], Some("total amount")),
            term("net turnover", &[], Some("sum of net")),
            term("member", &[], None),
        ];
        let (read, used) = read_by("Turnover and net turnover per member, GMV?", &terms);
        assert_eq!(read, "total amount and sum of net per member, total amount?");
        assert_eq!(
            used,
            [("turnover", "total amount"), ("net turnover", "sum of net"), ("GMV", "total amount")]
        );
    }
}
