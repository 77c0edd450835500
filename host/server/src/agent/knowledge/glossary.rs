//! The glossary: terms of the business, their other words and their meaning.

use std::cmp::Reverse;
use std::collections::HashSet;
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
use super::words::{Place, Words};
use super::{Kind, apart, has_words, is_allowed, plain, store, unknown_datasources};
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

    fn changed(before: Option<&Term>, form: &UpdateTerm) -> (Term, Vec<Detail>) {
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
        // Each word once, in any case.
        let mut known = HashSet::from([after.term.to_lowercase()]);
        after.synonyms.retain(|word| known.insert(word.to_lowercase()));
        if !has_words(&after.term) {
            wrong.push(Detail::new("term", "has no letter and no digit"));
        }
        (after, wrong)
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

/// The terms in these questions, within the rights.
pub async fn in_questions(
    db: &Db,
    questions: Vec<String>,
    rights: Option<&[String]>,
) -> Result<Vec<Term>, Error> {
    let may_use = |term: &Term| term.datasource.as_deref().is_none_or(|name| is_allowed(rights, name));
    let all = store::all::<Glossary>(db).await?.into_iter().map(|entry| entry.body);
    let terms: Vec<Term> = all.filter(may_use).collect();
    apart(move || Ok(meant(terms, &questions))).await
}

/// Those of the terms that texts have, the first ones.
fn meant(terms: Vec<Term>, texts: &[String]) -> Vec<Term> {
    let all = terms.iter().enumerate();
    let words = Words::of(all.flat_map(|(at, term)| words(term).map(move |word| (word, at))));
    let mut is_meant = vec![false; terms.len()];
    let mut is_found = vec![false; words.len()];
    for place in texts.iter().flat_map(|text| words.places(text)) {
        if !std::mem::replace(&mut is_found[place.word], true) {
            words.owners(place.word).iter().for_each(|owner| is_meant[*owner] = true);
        }
    }
    terms
        .into_iter()
        .zip(is_meant)
        .filter(|(_, is_meant)| *is_meant)
        .map(|(term, _)| term)
        .take(USED_MAX)
        .collect()
}

/// The term and its other words.
fn words(term: &Term) -> impl Iterator<Item = &str> {
    std::iter::once(term.term.as_str()).chain(term.synonyms.iter().map(String::as_str))
}

/// The question with the terms' phrases instead of their words, and the terms that it was read by. The longest words come
/// first.
pub fn read_by<'t>(question: &str, terms: &'t [Term]) -> (String, Vec<(&'t str, &'t str)>) {
    let known: Vec<(&str, &str)> = terms
        .iter()
        .filter_map(|term| Some((term, term.phrase.as_deref()?)))
        .flat_map(|(term, phrase)| words(term).map(move |word| (word, phrase)))
        .collect();
    let words = Words::of(known.iter().enumerate().map(|(at, (word, _))| (*word, at)));
    let places = apart_from_each_other(words.places(question).collect(), question.len());
    let mut used = Vec::new();
    let mut is_used = vec![false; words.len()];
    let (mut read, mut end) = (String::new(), 0);
    for Place { range, word } in places {
        // Of equal words that of the first term counts.
        let Some((written, phrase)) = words.owners(word).first().map(|first| known[*first]) else { continue };
        read.push_str(&question[end..range.start]);
        read.push_str(phrase);
        end = range.end;
        if !std::mem::replace(&mut is_used[word], true) {
            used.push((written, phrase));
        }
    }
    read.push_str(&question[end..]);
    (read, used)
}

/// Those of the places that do not overlap, the longest first; in the order of the text.
fn apart_from_each_other(mut places: Vec<Place>, bytes: usize) -> Vec<Place> {
    places.sort_by_key(|place| (Reverse(place.range.len()), place.range.start));
    let mut is_taken = vec![false; bytes];
    places.retain(|Place { range, .. }| {
        // What is taken already is as long at least: it has one of the ends.
        let is_free = !is_taken[range.start] && !is_taken[range.end - 1];
        if is_free {
            is_taken[range.clone()].fill(true);
        }
        is_free
    });
    places.sort_by_key(|place| place.range.start);
    places
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
    #[test]
    fn words_that_overlap_are_read_once() {
        let terms =
            [term("会员日", &["员日"], Some("member day")), term("新会员", &["会员"], Some("new member"))];
        // As long as each other: the one that comes first.
        assert_eq!(read_by("新会员日会员", &terms).0, "new member日new member");
        assert_eq!(read_by("会员日", &terms).0, "member day");
        assert_eq!(read_by("员日", &terms).1, [("员日", "member day")]);
        // Of two terms with the same word, the first.
        let same = [term("a", &["b"], Some("one")), term("B", &[], Some("two"))];
        assert_eq!(read_by("B", &same), ("one".to_owned(), vec![("b", "one")]));
    }

    #[test]
    fn the_terms_of_a_question_are_the_first_that_it_has() {
        let terms = |count: usize| (0..count).map(|one| term(&format!("t{one}"), &["GMV"], None)).collect();
        let names = |text: &str| -> Vec<String> {
            meant(terms(30), &[text.to_owned()]).into_iter().map(|term| term.term).collect()
        };
        assert_eq!(names("t29 of t3 and x"), ["t3", "t29"]);
        assert_eq!(names("gmv").len(), USED_MAX);
        assert!(names("gmvs").is_empty());
    }

    #[test]
    fn a_synonym_is_kept_once() {
        let form: CreateTerm = serde_json::from_value(serde_json::json!({
            "term": "GMV", "synonyms": ["turnover", "Turnover ", "gmv", "成交额"], "definition": "d" }))
        .unwrap();
        let (made, wrong) = Glossary::changed(None, &form.into());
        assert_eq!((made.synonyms, wrong.len()), (vec!["turnover".to_owned(), "成交额".to_owned()], 0));
    }
}
