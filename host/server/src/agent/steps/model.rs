//! Models plan the steps. A model gets the question and the results of all steps so far, and returns the next
//! step; it executes nothing itself.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::background::{Background, Budget, ToolSpec};
use crate::agent::knowledge::glossary::Term;
use crate::agent::models::spent::Spent;
use crate::agent::outcome::Answer;
use crate::agent::tasks::event::{Step, ToolResult};
use crate::agent::topics::Exchange;

/// A model that plans.
pub trait Model: Send + Sync {
    /// Whether the next step reads the background, and costs.
    fn needs_background(&self, _: &Conversation) -> bool {
        false
    }
    /// What the background and the results of a conversation may have.
    fn budget(&self) -> Budget {
        Budget::default()
    }
    /// What a call costs that is broken off before its answer came.
    fn cost_of_broken_off(&self, _: &Conversation) -> Spent {
        Spent::default()
    }
    /// The next step.
    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>>;
}

/// A step of a model, and its cost.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What it thought before, for the reader.
    pub thought: Option<String>,
    /// The same word for word, where the model may want it back.
    pub reasoning: Option<String>,
    pub next: Next,
    /// Nothing where steps are free.
    pub spent: Spent,
}

/// The kinds of steps.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A call of a tool, whose result the model gets.
    Call { tool: String, input: Value },
    /// Several calls, one after the other: tools with their inputs.
    Calls(Vec<(String, Value)>),
    /// The answer. It ends the task.
    Answer(Answer),
}

impl From<Next> for Said {
    /// A step without a thought and without costs.
    fn from(next: Next) -> Said {
        Said { thought: None, reasoning: None, next, spent: Spent::default() }
    }
}

impl Next {
    /// The step after a thought.
    pub fn after(self, thought: impl Into<String>) -> Said {
        Said { thought: Some(thought.into()), ..Said::from(self) }
    }
}

/// Why a model cannot continue.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelError {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
    /// What the failed calls cost.
    pub spent: Spent,
}

/// English words that a Chinese question does not have; the rules of `write_sql` know the same ones.
const ENGLISH: [&str; 28] = [
    "of", "in", "the", "for", "by", "per", "from", "with", "how", "what", "which", "who", "named", "called",
    "last", "this", "is", "are", "was", "were", "did", "do", "does", "to", "than", "over", "show", "list",
];

/// The language of a question, and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// Chinese if the text has Chinese characters, and is not English that names something Chinese: `orders of 李伟`.
    pub fn of(text: &str) -> Language {
        let is_han = |c: &char| matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        let letters = text.chars().filter(is_han).count();
        let words = || text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| !word.is_empty());
        let is_english = || words().any(|word| ENGLISH.contains(&word.to_ascii_lowercase().as_str()));
        if letters > 0 && !(letters <= 2 * words().count() && is_english()) {
            Language::Chinese
        } else {
            Language::English
        }
    }

    /// BCP 47.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }
}

/// The question, and all steps so far.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub question: String,
    pub language: Language,
    pub steps: Vec<Step>,
    /// The topic's exchanges before, the oldest first, where the rules answer.
    pub earlier: Vec<Exchange>,
    /// The glossary's terms in the question.
    pub terms: Vec<Term>,
    /// Tools that are none of the agent's own.
    pub tools: Vec<ToolSpec>,
    /// Empty until it is needed.
    pub background: Arc<Background>,
}

impl Conversation {
    pub fn new(question: &str, steps: Vec<Step>) -> Conversation {
        let (question, language) = (question.to_owned(), Language::of(question));
        Conversation {
            question,
            language,
            steps,
            earlier: Vec::new(),
            terms: Vec::new(),
            tools: Vec::new(),
            background: Arc::default(),
        }
    }

    /// The last call, if it has no result yet.
    pub fn open_call(&self) -> Option<(&str, &str, &Value)> {
        match self.steps.last() {
            Some(Step::ToolCall { call_id, tool, input }) => Some((call_id, tool, input)),
            _ => None,
        }
    }

    /// The result of this tool's last call.
    pub fn last_of(&self, tool: &str) -> Option<&ToolResult> {
        self.results().rev().find(|result| result.tool == tool)
    }

    /// The results of all calls, in order.
    pub fn results(&self) -> impl DoubleEndedIterator<Item = &ToolResult> {
        self.steps.iter().filter_map(|step| match step {
            Step::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chinese_name_makes_no_chinese_question() {
        assert_eq!(Language::of("最近30天"), Language::Chinese);
        assert_eq!(Language::of("上海 orders"), Language::Chinese);
        assert_eq!(Language::of("orders of 上海"), Language::English);
        assert_eq!(Language::of("how many orders?"), Language::English);
        assert_eq!(Language::of("¿cuántos?").tag(), "en");
    }
}
