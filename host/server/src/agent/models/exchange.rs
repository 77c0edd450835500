//! What a model is sent and what it answers, independent of the provider's interface.

use lakeport_base::text::shortened;
use serde_json::{Value, json};

use crate::agent::outcome::{Answer, Candidate, Outcome};
use crate::agent::steps::background::{Budget, ToolSpec};
use crate::agent::steps::model::{Conversation, Language, Next, Said};
use crate::agent::tasks::event::{Step, ToolResult};

/// Characters of an earlier tool result, once the newer ones fill their bytes.
const OLD_RESULT_CHARS: usize = 500;
/// Bytes of an answer's texts that are kept.
const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// Calls of one answer that are made; others are left out.
const CALLS_MAX: usize = 16;
/// Tools of the host itself, by which a model ends a question otherwise than with an answer.
pub const ASK_USER: &str = "ask_user";
pub const CANNOT_ANSWER: &str = "cannot_answer";

/// What a model is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    pub system: String,
    pub turns: Vec<Turn>,
    pub tools: Vec<ToolSpec>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    User(String),
    /// An earlier answer.
    Assistant(String),
    Call {
        thought: Option<String>,
        /// What the model thought before, as it said it.
        reasoning: Option<String>,
        call_id: String,
        tool: String,
        input: Value,
    },
    /// Of the call before.
    Result {
        call_id: String,
        content: String,
        is_error: bool,
    },
}

impl Prompt {
    pub fn of(conversation: &Conversation, budget: Budget) -> Prompt {
        let background = &conversation.background;
        let mut turns = Vec::new();
        for earlier in &background.earlier {
            turns.push(Turn::User(earlier.question.clone()));
            turns.push(Turn::Assistant(earlier.answer.clone()));
        }
        turns.push(Turn::User(conversation.question.clone()));
        let (mut thought, mut thought_before) = (None, None);
        for step in &conversation.steps {
            match step {
                Step::Thinking { content, reasoning } => {
                    // Without a text of its own, the reasoning is shown as the thought.
                    let is_shown = reasoning
                        .as_ref()
                        .is_some_and(|text| text.starts_with(content.trim_end_matches('…')));
                    thought = (!is_shown).then(|| content.clone());
                    thought_before.clone_from(reasoning);
                }
                Step::ToolCall { call_id, tool, input } => turns.push(Turn::Call {
                    thought: thought.take(),
                    reasoning: thought_before.take(),
                    call_id: call_id.clone(),
                    tool: tool.clone(),
                    input: input.clone(),
                }),
                Step::ToolResult(result) => turns.push(turn_of(result, budget)),
                // They end a task.
                Step::Message { .. } | Step::Error { .. } => {}
            }
        }
        shorten_old(&mut turns, budget);
        Prompt { system: background.system.clone(), turns, tools: background.tools.clone() }
    }
}

fn turn_of(result: &ToolResult, budget: Budget) -> Turn {
    let (content, is_error) = match &result.outcome {
        Ok(output) => (output.to_string(), false),
        Err(error) => (json!({ "error": error.code, "message": error.message }).to_string(), true),
    };
    Turn::Result { call_id: result.call_id.clone(), content: cut(content, budget.result), is_error }
}

/// Keeps the newest results whole as long as there is room.
fn shorten_old(turns: &mut [Turn], budget: Budget) {
    let mut left = budget.results;
    for turn in turns.iter_mut().rev() {
        let Turn::Result { content, .. } = turn else { continue };
        if content.len() > left {
            *content = shortened(content, OLD_RESULT_CHARS);
        }
        left = left.saturating_sub(content.len());
    }
}

/// The beginning of a text, with a mark where it was cut.
fn cut(mut text: String, max_bytes: usize) -> String {
    if text.len() > max_bytes {
        text.truncate(text.floor_char_boundary(max_bytes));
        text.push_str("… (cut)");
    }
    text
}

/// How an answer of a model ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ending {
    #[default]
    Whole,
    /// At the model's limit of tokens.
    Cut,
    /// The provider does not show it.
    Withheld,
}

/// The answer of a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub text: String,
    /// What it thought before, where it says so.
    pub reasoning: String,
    pub calls: Vec<ReplyCall>,
    pub ending: Ending,
    /// `None`: the provider does not say.
    pub input_tokens: Option<i64>,
    pub output_tokens: Option<i64>,
}

/// The most tokens of one answer that are believed.
const TOKENS_MAX: i64 = 100_000_000;

/// A number of tokens as a provider says it.
pub fn tokens(number: &Value) -> Option<i64> {
    number.as_i64().map(|tokens| tokens.clamp(0, TOKENS_MAX))
}

/// Why an answer cannot be used, for people; whether the same request would fail again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable {
    pub why: String,
    pub is_final: bool,
}

impl Unusable {
    pub fn new(why: impl Into<String>) -> Unusable {
        Unusable { why: why.into(), is_final: false }
    }
}

/// Values of one message of a provider: in memory each takes many times its bytes.
const VALUES_MAX: usize = 200_000;

/// A message of a provider.
pub fn parsed(message: &[u8]) -> Result<Value, Unusable> {
    let values = message.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{')).count();
    if values > VALUES_MAX {
        let why = format!("has more than {VALUES_MAX} values");
        return Err(Unusable { why, is_final: true });
    }
    serde_json::from_slice(message).map_err(|error| Unusable::new(format!("is no JSON: {error}")))
}

/// The error that a provider sent in place of an answer or of a part of it, with the status 200.
pub fn error_in(answer: &Value) -> Option<Unusable> {
    const FINAL: [&str; 6] = [
        "invalid_request_error",
        "authentication_error",
        "permission_error",
        "not_found_error",
        "insufficient_quota",
        "billing_error",
    ];
    let is_error = answer["object"] == "error" || answer["type"] == "error";
    let error = match &answer["error"] {
        Value::Null if is_error => answer,
        Value::Null => return None,
        error => error,
    };
    let message = error["message"].as_str().or_else(|| error.as_str()).unwrap_or("it does not say why");
    let kind = error["type"].as_str().unwrap_or_default();
    let code = error["code"].as_str().unwrap_or_default();
    let status = error["code"].as_i64().or_else(|| code.parse().ok()).unwrap_or(0);
    let is_final = FINAL.contains(&kind)
        || FINAL.contains(&code)
        || ((400..500).contains(&status) && ![408, 429].contains(&status));
    Some(Unusable { why: format!("said: {message}"), is_final })
}

/// A tool's name as interfaces take it, also one that the model made up.
pub fn sent_name(name: &str) -> String {
    let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let name: String = name.chars().take(64).map(|c| if is_fine(c) { c } else { '_' }).collect();
    if name.is_empty() { "_".to_owned() } else { name }
}

/// A call that a model wants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplyCall {
    pub name: String,
    /// JSON, if the model wrote it well.
    pub arguments: String,
}

impl Reply {
    /// Adds to a text, within its limit.
    pub fn push(text: &mut String, more: &str) {
        let left = TEXT_MAX_BYTES.saturating_sub(text.len());
        text.push_str(&more[..more.floor_char_boundary(left)]);
    }

    /// The call at this place, made if it is new; `None`: there are too many.
    pub fn call_at(&mut self, place: usize) -> Option<&mut ReplyCall> {
        if place >= CALLS_MAX {
            return None;
        }
        if self.calls.len() <= place {
            self.calls.resize(place + 1, ReplyCall::default());
        }
        self.calls.get_mut(place)
    }

    /// The answer as it is to be read: a block of thinking at its beginning is no part of the text.
    pub fn tidied(mut self) -> Reply {
        let begins = self.text.trim_start();
        if let Some((thinking, text)) =
            begins.strip_prefix("<think>").and_then(|rest| rest.split_once("</think>"))
        {
            let (thinking, text) = (thinking.trim().to_owned(), text.trim_start().to_owned());
            Reply::push(&mut self.reasoning, &thinking);
            self.text = text;
        }
        self
    }

    /// Bytes of all that the model wrote.
    pub fn bytes(&self) -> usize {
        let calls: usize = self.calls.iter().map(|call| call.name.len() + call.arguments.len()).sum();
        self.text.len() + self.reasoning.len() + calls
    }

    /// The next step, without its cost; `None`: the model said nothing.
    pub fn said(self, language: Language, max_tokens: i64) -> Option<Said> {
        let text = self.text.trim().to_owned();
        let reasoning = Some(self.reasoning.trim().to_owned()).filter(|thought| !thought.is_empty());
        let mut calls: Vec<Next> =
            self.calls.into_iter().filter(|call| !call.name.is_empty()).map(next_of).collect();
        let shown = reasoning.clone();
        let (thought, next) = match calls.len() {
            1.. => {
                let thought = if text.is_empty() { shown } else { Some(text) };
                let first = calls.remove(0);
                (thought, if calls.is_empty() { first } else { in_order(first, calls) })
            }
            0 if self.ending == Ending::Withheld => (shown, Next::Answer(withheld(language, &text))),
            0 if text.is_empty() => return None,
            0 if self.ending == Ending::Cut => {
                let note = match language {
                    Language::English => format!("(The answer was cut at {max_tokens} tokens.)"),
                    Language::Chinese => format!("（回答在 {max_tokens} 个 token 处被截断。）"),
                };
                (shown, Next::Answer(Answer::new(format!("{text}\n\n{note}"))))
            }
            0 => (shown, Next::Answer(Answer::new(text))),
        };
        Some(Said { thought, reasoning, ..Said::from(next) })
    }
}

/// Several calls. One that ends the question does so alone: what comes before it is made first, and the model goes on.
fn in_order(first: Next, others: Vec<Next>) -> Next {
    let calls = std::iter::once(first.clone()).chain(others).map_while(|next| match next {
        Next::Call { tool, input } => Some((tool, input)),
        Next::Calls(_) | Next::Answer(_) => None,
    });
    let mut calls: Vec<(String, Value)> = calls.collect();
    match calls.len() {
        0 => first,
        1 => {
            let (tool, input) = calls.remove(0);
            Next::Call { tool, input }
        }
        _ => Next::Calls(calls),
    }
}

fn withheld(language: Language, text: &str) -> Answer {
    let reason = match language {
        _ if !text.is_empty() => text.to_owned(),
        Language::English => "The model's provider withheld the answer.".to_owned(),
        Language::Chinese => "模型的提供方未给出这条回答。".to_owned(),
    };
    Answer { content: reason.clone(), outcome: Outcome::Refused { reason, suggestions: Vec::new() } }
}

/// A call of a tool. Arguments that are no JSON are passed on as a text, which the tool's schema refuses so that the model
/// sees why.
fn next_of(call: ReplyCall) -> Next {
    let arguments = if call.arguments.trim().is_empty() { "{}" } else { call.arguments.as_str() };
    let input = serde_json::from_str(arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
    let ending = match call.name.as_str() {
        ASK_USER => asked_back(&input),
        CANNOT_ANSWER => cannot(&input),
        _ => None,
    };
    ending.map_or(Next::Call { tool: call.name, input }, Next::Answer)
}

fn asked_back(input: &Value) -> Option<Answer> {
    let content = text(input, "question")?;
    let candidate = |one: &Value| {
        // Some models write texts alone.
        let alone = one.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let content = text(one, "content").or_else(|| text(one, "label")).or(alone)?;
        Some(Candidate { label: text(one, "label").unwrap_or_else(|| content.clone()), content })
    };
    let candidates = input["candidates"].as_array()?.iter().filter_map(candidate).collect();
    Some(Answer { content, outcome: Outcome::NeedsClarification { candidates } })
}

fn cannot(input: &Value) -> Option<Answer> {
    let reason = text(input, "reason")?;
    let suggestions = input["suggestions"].as_array().map_or(&[][..], Vec::as_slice);
    let suggestions = suggestions.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect();
    Some(Answer { content: reason.clone(), outcome: Outcome::Refused { reason, suggestions } })
}

fn text(value: &Value, member: &str) -> Option<String> {
    let text = value[member].as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What is wrong with a call of one of the host's own tools, which would have ended the question.
pub fn own_tool_misused(tool: &str) -> Option<&'static str> {
    match tool {
        ASK_USER => Some("needs `question`, a text, and `candidates`, objects with `label` and `content`"),
        CANNOT_ANSWER => Some("needs `reason`, a text"),
        _ => None,
    }
}

/// The host's own tools.
pub fn own_tools() -> [ToolSpec; 2] {
    let string = |description: &str| json!({ "type": "string", "description": description });
    [
        ToolSpec {
            name: ASK_USER.to_owned(),
            description: "Ends your turn with a question to the user. Only where the question has several meanings that \
                          would give different results."
                .to_owned(),
            input_schema: json!({
                "type": "object",
                "required": ["question", "candidates"],
                "properties": {
                    "question": string("What the user has to decide."),
                    "candidates": {
                        "type": "array",
                        "minItems": 2,
                        "maxItems": 5,
                        "items": {
                            "type": "object",
                            "required": ["label", "content"],
                            "properties": {
                                "label": string("A few words."),
                                "content": string("The whole question with this meaning, as the user could ask it."),
                            },
                        },
                    },
                },
            }),
        },
        ToolSpec {
            name: CANNOT_ANSWER.to_owned(),
            description: "Ends your turn where the data cannot answer the question.".to_owned(),
            input_schema: json!({
                "type": "object",
                "required": ["reason"],
                "properties": {
                    "reason": string("Why, for the user."),
                    "suggestions": {
                        "type": "array",
                        "maxItems": 3,
                        "items": string("A question near to it that the data can answer."),
                    },
                },
            }),
        },
    ]
}
