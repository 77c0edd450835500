//! How a question ended: answered, to be made clear by the user, or refused. A task that was refused has succeeded all the
//! same: it said why.

use lakeport_base::text::shortened;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Readings that a user may choose from, and characters of the label of one.
const CANDIDATES_MAX: usize = 20;
const LABEL_MAX_CHARS: usize = 200;
/// Characters of a message that is proposed.
const CONTENT_MAX_CHARS: usize = 2_000;
const REASON_MAX_CHARS: usize = 2_000;
const SUGGESTIONS_MAX: usize = 3;

/// An answer to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub content: String,
    pub outcome: Outcome,
}

/// How a question ended. In the store it is JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    Answered,
    /// It has several meanings.
    NeedsClarification {
        candidates: Vec<Candidate>,
    },
    /// It cannot be answered. The suggestions could be.
    Refused {
        reason: String,
        suggestions: Vec<String>,
    },
}

/// A meaning of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Candidate {
    pub label: String,
    /// A message that may be sent as it stands.
    pub content: String,
}

impl Answer {
    pub fn new(content: impl Into<String>) -> Answer {
        Answer { content: content.into(), outcome: Outcome::Answered }
    }
}

impl Outcome {
    pub fn as_str(&self) -> &'static str {
        match self {
            Outcome::Answered => "answered",
            Outcome::NeedsClarification { .. } => "needs_clarification",
            Outcome::Refused { .. } => "refused",
        }
    }

    /// The same within its limits. Without a candidate there is nothing to choose: it is refused then, for what the
    /// answer says.
    #[must_use]
    pub fn bounded(self, content: &str) -> Outcome {
        match self {
            Outcome::Answered => Outcome::Answered,
            Outcome::NeedsClarification { candidates } if candidates.is_empty() => {
                Outcome::Refused { reason: kept(content, REASON_MAX_CHARS), suggestions: Vec::new() }
            }
            Outcome::NeedsClarification { candidates } => {
                let candidate = |one: Candidate| Candidate {
                    label: kept(&one.label, LABEL_MAX_CHARS),
                    content: kept(&one.content, CONTENT_MAX_CHARS),
                };
                let candidates = candidates.into_iter().take(CANDIDATES_MAX).map(candidate).collect();
                Outcome::NeedsClarification { candidates }
            }
            Outcome::Refused { reason, suggestions } => Outcome::Refused {
                reason: kept(&reason, REASON_MAX_CHARS),
                suggestions: suggestions
                    .iter()
                    .take(SUGGESTIONS_MAX)
                    .map(|one| kept(one, CONTENT_MAX_CHARS))
                    .collect(),
            },
        }
    }

    pub fn candidates(&self) -> &[Candidate] {
        match self {
            Outcome::NeedsClarification { candidates } => candidates,
            _ => &[],
        }
    }

    pub fn reason(&self) -> Option<&str> {
        match self {
            Outcome::Refused { reason, .. } => Some(reason),
            _ => None,
        }
    }

    pub fn suggestions(&self) -> &[String] {
        match self {
            Outcome::Refused { suggestions, .. } => suggestions,
            _ => &[],
        }
    }
}

/// A text in storable form: PostgreSQL refuses U+0000.
fn kept(text: &str, chars_max: usize) -> String {
    shortened(&text.replace('\0', ""), chars_max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_stays_within_its_limits() {
        let candidate = Candidate { label: "l".repeat(500), content: "c\0".repeat(3_000) };
        let many = Outcome::NeedsClarification { candidates: vec![candidate; 50] }.bounded("which?");
        assert_eq!(many.candidates().len(), CANDIDATES_MAX);
        assert_eq!(many.candidates()[0].label.chars().count(), LABEL_MAX_CHARS + 1);
        assert!(!many.candidates()[0].content.contains('\0'));
        let none = Outcome::NeedsClarification { candidates: vec![] }.bounded("which?");
        assert_eq!((none.as_str(), none.reason()), ("refused", Some("which?")));
        let refused = Outcome::Refused { reason: "no".to_owned(), suggestions: vec!["a".to_owned(); 9] };
        assert_eq!(refused.bounded("").suggestions().len(), SUGGESTIONS_MAX);
    }

    #[test]
    fn an_outcome_is_read_back_as_it_was_stored() {
        for outcome in [
            Outcome::Answered,
            Outcome::NeedsClarification {
                candidates: vec![Candidate { label: "a".to_owned(), content: "b".to_owned() }],
            },
            Outcome::Refused { reason: "r".to_owned(), suggestions: vec!["s".to_owned()] },
        ] {
            let text = serde_json::to_string(&outcome).unwrap();
            assert!(text.starts_with(&format!("{{\"outcome\":\"{}\"", outcome.as_str())), "{text}");
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        }
    }
}
