//! Models: who plans. A model is told what was asked and what came of each step so far, and says the next step; it
//! does nothing by itself.

use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::agent::tasks::event::{Step, ToolResult};

/// What a model plans.
pub trait Model: Send + Sync {
    /// `offline`, `openai`, `anthropic`.
    fn provider(&self) -> &'static str;
    /// Which of the provider's models.
    fn name(&self) -> &str;
    /// The next step.
    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>>;
}

/// A step that a model wants, and what it cost to find it.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    pub next: Next,
    pub input_tokens: i64,
    pub output_tokens: i64,
}

/// What a model can want.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// A thought, for the reader; then it is asked again.
    Think(String),
    /// A call of a tool, whose result it sees.
    Call { tool: String, input: Value },
    /// The answer. It ends the task.
    Answer(String),
}

impl From<Next> for Said {
    /// One that costs nothing.
    fn from(next: Next) -> Said {
        Said { next, input_tokens: 0, output_tokens: 0 }
    }
}

/// Why a model cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    pub code: &'static str,
    pub message: String,
    pub retryable: bool,
}

/// The language of a question, and of all that is said to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    English,
    Chinese,
}

impl Language {
    /// Chinese where there is a Chinese character, else English.
    pub fn of(text: &str) -> Language {
        let is_han = |c: char| matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        if text.chars().any(is_han) { Language::Chinese } else { Language::English }
    }

    /// BCP 47.
    pub fn tag(self) -> &'static str {
        match self {
            Language::English => "en",
            Language::Chinese => "zh",
        }
    }
}

/// What was asked, and all steps so far.
#[derive(Debug, Clone)]
pub struct Conversation {
    pub question: String,
    pub language: Language,
    pub steps: Vec<Step>,
}

impl Conversation {
    pub fn new(question: &str, steps: Vec<Step>) -> Conversation {
        Conversation { question: question.to_owned(), language: Language::of(question), steps }
    }

    /// The call that was begun last, where nothing came of it yet.
    pub fn open_call(&self) -> Option<(&str, &str, &Value)> {
        match self.steps.last() {
            Some(Step::ToolCall { call_id, tool, input }) => Some((call_id, tool, input)),
            _ => None,
        }
    }

    /// What came of the last call of this tool.
    pub fn last_of(&self, tool: &str) -> Option<&ToolResult> {
        self.results().rev().find(|result| result.tool == tool)
    }

    /// What came of the calls, the first one first.
    pub fn results(&self) -> impl DoubleEndedIterator<Item = &ToolResult> {
        self.steps.iter().filter_map(|step| match step {
            Step::ToolResult(result) => Some(result),
            _ => None,
        })
    }

    /// Whether nothing was thought since something last came of a call.
    pub fn is_thought_due(&self) -> bool {
        !matches!(self.steps.last(), Some(Step::Thinking { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_with_a_chinese_character_is_chinese() {
        assert_eq!(Language::of("最近30天"), Language::Chinese);
        assert_eq!(Language::of("orders of 上海"), Language::Chinese);
        assert_eq!(Language::of("how many orders?"), Language::English);
        assert_eq!(Language::of("¿cuántos?").tag(), "en");
    }
}
