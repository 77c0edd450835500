//! Verified questions: an editor's SQL for a question, which answers it from then on.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::Caller;
use lakeport_http::form::{Amend, Patch};
use lakeport_plugins::Topic as _;
use lakeport_store::Db;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::forms::{CreateVerified, UpdateVerified};
use super::store::Head;
use super::{Entry, Kind, apart, has_words, is_allowed, plain, store, unknown_datasources};
use crate::agent::Agent;
use crate::agent::access::{Asked, TopicAccess};
use crate::plugins::answered;

/// Verified questions that a model gets as examples, and the least share of common words of one.
const SIMILAR_MAX: usize = 5;
const SIMILAR_MIN: f64 = 0.25;

/// How long the databases may plan the statements of one request; those that are not planned by then are kept as they are.
const PLANNED_WITHIN: Duration = Duration::from_secs(5);

pub struct Verified;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "VerifiedQuestion")]
pub struct VerifiedQuestion {
    pub question: String,
    pub datasource: String,
    pub sql: String,
    /// What the answer says about it.
    pub note: Option<String>,
}

impl VerifiedQuestion {
    fn has_statement_of(&self, other: &VerifiedQuestion) -> bool {
        (&self.datasource, &self.sql) == (&other.datasource, &other.sql)
    }
}

impl Kind for Verified {
    const RESOURCE: &'static str = "verified_question";
    const STORED: &'static str = "verified";
    const FORMAT: &'static str = "lakeport.verified/1";
    type Body = VerifiedQuestion;
    type Create = CreateVerified;
    type Update = UpdateVerified;

    fn changed(before: Option<&VerifiedQuestion>, form: &UpdateVerified) -> (VerifiedQuestion, Vec<Detail>) {
        let empty = VerifiedQuestion {
            question: String::new(),
            datasource: String::new(),
            sql: String::new(),
            note: None,
        };
        let mut after = before.unwrap_or(&empty).clone();
        if let Amend(Some(question)) = &form.question {
            question.0.trim().clone_into(&mut after.question);
        }
        if let Amend(Some(datasource)) = &form.datasource {
            after.datasource.clone_from(&datasource.0);
        }
        if let Amend(Some(sql)) = &form.sql {
            sql.0.trim().clone_into(&mut after.sql);
        }
        match &form.note {
            Patch::Keep => {}
            Patch::Clear => after.note = None,
            Patch::Set(note) => after.note = Some(note.0.clone()).filter(|note| !note.trim().is_empty()),
        }
        let is_right = has_words(&after.question);
        let wrong = (!is_right).then(|| Detail::new("question", "has no letter and no digit"));
        (after, wrong.into_iter().collect())
    }

    fn words(body: &VerifiedQuestion) -> String {
        plain(&body.question)
    }

    fn datasource(body: &VerifiedQuestion) -> Option<&str> {
        Some(&body.datasource)
    }

    /// The guard judges the statements, with the caller's rights, and their databases plan those that are new.
    fn check<'c>(
        state: &'c Arc<Agent>,
        caller: &'c Caller,
        before: Option<&'c VerifiedQuestion>,
        bodies: &'c [VerifiedQuestion],
    ) -> BoxFuture<'c, Result<Vec<(usize, Detail)>, Error>> {
        Box::pin(async move {
            let asked = Asked {
                task_id: uuid::Uuid::now_v7().to_string(),
                caller_name: caller.name.clone(),
                datasources: caller.datasources.as_deref().map(<[String]>::to_vec),
                cancelled: Arc::new(AtomicBool::new(false)),
            };
            let access = TopicAccess::new(Arc::clone(state), asked);
            let until = Instant::now() + PLANNED_WITHIN;
            let mut wrong = unknown_datasources::<Verified>(state, bodies).await?;
            for (place, body) in bodies.iter().enumerate() {
                if wrong.iter().any(|(known, _)| *known == place) {
                    continue;
                }
                let verdict = access.check(body.datasource.clone(), body.sql.clone()).await;
                let verdict = verdict.map_err(|error| answered(&error))?;
                if let Some(refusal) = verdict.refusal {
                    wrong.push((place, Detail::new("sql", refusal.message)));
                } else if before.is_none_or(|before| !before.has_statement_of(body))
                    && let Some(cause) = access.not_accepted(&body.datasource, &body.sql, until).await
                {
                    wrong.push((place, Detail::new("sql", cause.message)));
                }
            }
            Ok(wrong)
        })
    }
}

/// The verified question that is this one, within the rights.
pub async fn matching(
    db: &Db,
    question: &str,
    rights: Option<&[String]>,
) -> Result<Option<Entry<VerifiedQuestion>>, Error> {
    let words = plain(question);
    let found = store::of_words::<Verified>(db, &words).await?;
    // An older version may have stored fewer signs.
    let is_meant = |entry: &Entry<VerifiedQuestion>| {
        Verified::words(&entry.body) == words && is_allowed(rights, &entry.body.datasource)
    };
    Ok(found.into_iter().find(is_meant))
}

/// Verified questions with words of this one, within the rights, the most similar first.
pub async fn similar(
    db: &Db,
    question: &str,
    rights: Option<&[String]>,
) -> Result<Vec<VerifiedQuestion>, Error> {
    let mut heads = store::heads::<Verified>(db).await?;
    heads.retain(|head| is_allowed(rights, &head.datasource));
    let question = plain(question);
    let mut similar = Vec::new();
    for id in apart(move || Ok(most_similar(&question, &heads))).await? {
        similar.extend(store::find::<Verified>(db, id).await?.map(|entry| entry.body));
    }
    Ok(similar)
}

/// The ids of the entries with the most words of a question.
fn most_similar(question: &str, heads: &[Head]) -> Vec<i64> {
    let asked = pieces(question);
    let score = |words: &str| {
        let known = pieces(words);
        let common = asked.intersection(&known).count();
        common as f64 / (asked.len() + known.len() - common).max(1) as f64
    };
    let scored = heads.iter().map(|head| (score(&head.words), head.id));
    let mut scored: Vec<(f64, i64)> = scored.filter(|(score, _)| *score >= SIMILAR_MIN).collect();
    scored.sort_by(|one, other| other.0.total_cmp(&one.0));
    scored.into_iter().take(SIMILAR_MAX).map(|(_, id)| id).collect()
}

/// The words of a plain text, and the pairs of neighbours among characters without blanks between words.
fn pieces(plain: &str) -> HashSet<String> {
    let mut pieces = HashSet::new();
    for word in plain.split(' ') {
        let characters: Vec<char> = word.chars().collect();
        if word.is_ascii() || characters.len() < 2 {
            pieces.insert(word.to_owned());
        } else {
            pieces.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_pairs_of_characters_are_compared() {
        assert!(pieces("订单数量").contains("单数") && pieces("orders by day").contains("day"));
        assert_eq!(pieces(&plain("How many orders?")), pieces(&plain("orders, how many")));
    }
}
