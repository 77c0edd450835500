//! Answers in the question's language about tables, and what the rules ask back or refuse. Texts of the data are shown on
//! one line and cut, whatever they contain.

use lakeport_base::text::{is_unsafe, shortened};
use serde_json::Value;

use super::CANDIDATE;
use super::figure::grouped;
use super::question::Direction;
use crate::agent::outcome::{Answer, Candidate, Outcome};
use crate::agent::steps::model::Language;
use crate::agent::tasks::event::ToolError;

/// The shown tables of a list, and fields of a table.
const TABLES_SHOWN: usize = 20;
const FIELDS_SHOWN: usize = 50;
/// Characters of a value, and of a comment.
pub const VALUE_MAX_CHARS: usize = 80;
pub const COMMENT_MAX_CHARS: usize = 200;
/// The most suggested questions.
const COULD_SHOWN: usize = 3;

/// The terms of the glossary that a question was read by.
pub fn of_terms(language: Language, used: &[(&str, &str)]) -> String {
    let one = |(word, phrase): &(&str, &str)| match language {
        Language::English => format!("“{word}” is read as “{phrase}”"),
        Language::Chinese => format!("“{word}”按“{phrase}”理解"),
    };
    let all: Vec<String> = used.iter().map(one).collect();
    match language {
        Language::English => format!("Glossary: {}.", all.join("; ")),
        Language::Chinese => format!("术语表：{}。", all.join("；")),
    }
}

/// The found tables, or the fields of the requested one: of the first by default.
pub fn of_tables(language: Language, found: &Value, fields: Option<Option<&str>>) -> Answer {
    let tables = list(&found["tables"]);
    let asked = fields.flatten();
    let called = |table: &&Value, ends: fn(&str, &str) -> bool| {
        let name = table["name"].as_str().unwrap_or_default().to_lowercase();
        asked.is_some_and(|asked| ends(&name, &asked.to_lowercase()))
    };
    let exact = || tables.iter().find(|table| called(table, |name, asked| name == asked));
    // `orders` means `ods_orders`, and not `ods_order_items`, which matches as well.
    let short =
        || tables.iter().find(|table| called(table, |name, asked| name.ends_with(&format!("_{asked}"))));
    let is_whole = asked.is_some_and(|asked| asked.contains('_'));
    let any = || tables.first().filter(|_| !is_whole);
    let Some(first) = exact().or_else(short).or_else(any) else { return no_table(language) };
    let fields = fields.is_some();
    let name = |table: &Value| text(&table["name"], VALUE_MAX_CHARS);
    let line = |of: &Value, name: String| match text(&of["comment"], COMMENT_MAX_CHARS) {
        comment if comment.is_empty() => format!("- {name}"),
        comment if language == Language::English => format!("- {name}: {comment}"),
        comment => format!("- {name}：{comment}"),
    };
    let (head, lines): (String, Vec<String>) = if fields {
        let field = |field: &Value| {
            let kind = text(&field["type"], VALUE_MAX_CHARS);
            line(field, format!("{} ({kind})", text(&field["name"], VALUE_MAX_CHARS)))
        };
        let head = match language {
            Language::English => format!("The fields of {}:", name(first)),
            Language::Chinese => format!("表 {} 的字段：", name(first)),
        };
        (head, list(&first["fields"]).iter().take(FIELDS_SHOWN).map(field).collect())
    } else {
        let whole = |table: &Value| {
            let source = text(&table["datasource"], VALUE_MAX_CHARS);
            line(table, format!("{} ({source})", name(table)))
        };
        let head = match language {
            Language::English => "Tables that fit, the best first:".to_owned(),
            Language::Chinese => "相关的表（最相符的在前）：".to_owned(),
        };
        (head, tables.iter().take(TABLES_SHOWN).map(whole).collect())
    };
    Answer::new(format!("{head}\n{}", lines.join("\n")))
}

pub fn no_table(language: Language) -> Answer {
    let content = match language {
        Language::English => "I found no table that fits the question.",
        Language::Chinese => "没有找到与问题相符的表。",
    };
    let outcome = Outcome::Refused { reason: content.to_owned(), suggestions: Vec::new() };
    Answer { content: content.to_owned(), outcome }
}

/// Asks which of several tables is meant; the tool names them in full.
pub fn which_table(language: Language, error: &ToolError, direction: Direction) -> Answer {
    let candidate = |(_, name): &(String, String)| {
        let label = one_line(name, VALUE_MAX_CHARS);
        let content = match (language, direction) {
            (Language::English, Direction::Upstream) => format!("What is the upstream of `{name}`?"),
            (Language::English, Direction::Downstream) => format!("What is the downstream of `{name}`?"),
            (Language::English, Direction::Both) => format!("What is the lineage of `{name}`?"),
            (Language::Chinese, Direction::Upstream) => format!("`{name}` 的上游"),
            (Language::Chinese, Direction::Downstream) => format!("`{name}` 的下游"),
            (Language::Chinese, Direction::Both) => format!("`{name}` 的血缘"),
        };
        Candidate { label, content }
    };
    let named = error.context.iter().filter(|(name, _)| name == CANDIDATE);
    let asked = match language {
        Language::English => "Several tables have that name. Which one is meant?",
        Language::Chinese => "有多张表叫这个名字，指的是哪一张？",
    };
    which(asked, named.map(candidate).collect())
}

/// A question back, with what may be chosen.
fn which(asked: &str, candidates: Vec<Candidate>) -> Answer {
    let name = |(at, one): (usize, &Candidate)| format!("\n{}. {}", at + 1, one.label);
    let names: String = candidates.iter().enumerate().map(name).collect();
    Answer { content: format!("{asked}{names}"), outcome: Outcome::NeedsClarification { candidates } }
}

/// Asks which of several questions is meant, each of which can be answered.
pub fn which_question(language: Language, error: &ToolError) -> Answer {
    let named = error.context.iter().filter(|(name, _)| name == CANDIDATE);
    let candidate = |(_, question): &(String, String)| {
        let content = one_line(question, COMMENT_MAX_CHARS);
        Candidate { label: content.clone(), content }
    };
    let asked = match language {
        Language::English => "That can mean several things. Which one?",
        Language::Chinese => "这个问题有多种理解，指的是哪一种？",
    };
    which(asked, named.map(candidate).collect())
}

/// Asks once more: the number is none of them.
pub fn which_again(candidates: &[Candidate]) -> Answer {
    let count = candidates.len();
    let language = candidates.first().map_or(Language::English, |first| Language::of(&first.content));
    let asked = match language {
        Language::English => {
            format!("There is no such number: it goes from 1 to {count}. Which one is meant?")
        }
        Language::Chinese => format!("没有这个编号，请在 1 到 {count} 中选择。"),
    };
    which(&asked, candidates.to_vec())
}

/// The upstream and downstream tables of a table.
pub fn of_lineage(language: Language, graph: &Value, direction: Direction) -> String {
    let table = text(&graph["table"]["name"], VALUE_MAX_CHARS);
    let side = |member: &str, english: &str, chinese: &str| {
        let nodes = list(&graph[member]);
        let named = |node: &Value| {
            let steps = node["distance"].as_i64().unwrap_or(0).unsigned_abs();
            format!("{} ({steps})", text(&node["name"], VALUE_MAX_CHARS))
        };
        let names: Vec<String> = nodes.iter().take(TABLES_SHOWN).map(named).collect();
        let rest = if nodes.len() > names.len() { " …" } else { "" };
        let (count, names) = (nodes.len(), names.join(comma(language)));
        match (language, count) {
            (Language::English, 0) => format!("{table} has nothing {}.", english.to_lowercase()),
            (Language::English, _) => format!("{english} of {table}, {count} in all: {names}{rest}."),
            (Language::Chinese, 0) => format!("{table} 没有{chinese}。"),
            (Language::Chinese, _) => format!("{table} 的{chinese}共 {count} 张表：{names}{rest}。"),
        }
    };
    let mut said = Vec::new();
    if direction != Direction::Downstream {
        said.push(side("upstream", "Upstream", "上游"));
    }
    if direction != Direction::Upstream {
        said.push(side("downstream", "Downstream", "下游"));
    }
    said.push(match language {
        Language::English => "In brackets: steps away.".to_owned(),
        Language::Chinese => "括号内为相隔的步数。".to_owned(),
    });
    if let Some(omitted) = graph["omitted"].as_u64().filter(|omitted| *omitted > 0) {
        said.push(match language {
            Language::English => format!("{omitted} more are left out."),
            Language::Chinese => format!("另有 {omitted} 张表未列出。"),
        });
    }
    said.join("\n")
}

/// What can be asked, with these questions as examples.
pub fn help(language: Language, suggestions: &[String]) -> String {
    let examples = listed(suggestions);
    match (language, examples.is_empty()) {
        (Language::English, false) => format!(
            "I answer questions about the data, for example:{examples}\n\nI also find the tables about something, and \
             tell the fields and the lineage of a table that you name."
        ),
        (Language::English, true) => {
            "I answer questions about the data, find the tables about something, and tell the \
             fields and the lineage of a table that you name."
                .to_owned()
        }
        (Language::Chinese, false) => {
            format!(
                "我可以回答关于数据的问题，例如：{examples}\n\n也可以查找与某个主题有关的表，或说明指定表的字段和血缘。"
            )
        }
        (Language::Chinese, true) => {
            "我可以回答关于数据的问题，查找与某个主题有关的表，或说明指定表的字段和血缘。".to_owned()
        }
    }
}

/// The questions that a refusal suggests.
pub fn suggestions(error: &ToolError) -> Vec<String> {
    let named = error.context.iter().filter(|(name, _)| name == "could").take(COULD_SHOWN);
    named.map(|(_, question)| one_line(question, COMMENT_MAX_CHARS)).collect()
}

fn listed(questions: &[String]) -> String {
    questions.iter().map(|question| format!("\n- {question}")).collect()
}

/// Why there is no answer, and which questions can be answered.
pub fn refused(language: Language, error: &ToolError) -> Answer {
    let message = one_line(&error.message, 5 * COMMENT_MAX_CHARS);
    // The prefix appears only once.
    let message = ["This cannot be answered: ", "无法回答："]
        .iter()
        .find_map(|said| message.strip_prefix(said))
        .unwrap_or(&message);
    let said = match language {
        Language::English => format!("I cannot answer that: {message}"),
        Language::Chinese => format!("无法回答这个问题：{message}"),
    };
    let suggestions = suggestions(error);
    let could = listed(&suggestions);
    let content = match language {
        _ if could.is_empty() => said,
        Language::English => format!("{said}\n\nWhat I could answer:{could}"),
        Language::Chinese => format!("{said}\n\n可以这样问：{could}"),
    };
    Answer { content, outcome: Outcome::Refused { reason: message.to_owned(), suggestions } }
}

/// Refuses a question with more characters than are read.
pub fn too_long(language: Language, chars_max: usize) -> Answer {
    let most = grouped(&chars_max.to_string());
    let reason = match language {
        Language::English => format!(
            "The question has more than {most} characters. Shorten it: without a model, no longer one can be read."
        ),
        Language::Chinese => format!("问题超过 {most} 个字符，不使用模型时最多读取这么长，请缩短后再问。"),
    };
    Answer { content: reason.clone(), outcome: Outcome::Refused { reason, suggestions: Vec::new() } }
}

pub fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

pub fn comma(language: Language) -> &'static str {
    match language {
        Language::English => ", ",
        Language::Chinese => "，",
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub fn text(value: &Value, chars_max: usize) -> String {
    one_line(value.as_str().unwrap_or_default(), chars_max)
}

/// Keeps a text in one line, so that it cannot imitate parts of the answer.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect();
    shortened(plain.trim(), chars_max)
}
