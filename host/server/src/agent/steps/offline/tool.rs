//! Tools of others: one is called where its description fits the question, and the question quotes what it needs.

use serde_json::{Map, Value};

use super::answer::one_line;
use crate::agent::steps::background::ToolSpec;
use crate::agent::steps::model::Language;

/// Words of the question that must be in a tool's name or description, one of them in its name.
const WORDS_MIN: usize = 2;
/// Members of an output that are told, and characters of each.
const MEMBERS_SHOWN: usize = 20;
const VALUE_MAX_CHARS: usize = 500;
/// Pairs of quotation marks.
const QUOTES: [(char, char); 5] = [('"', '"'), ('“', '”'), ('「', '」'), ('『', '』'), ('`', '`')];
/// Words that fit everything.
const COMMON: [&str; 12] =
    ["the", "and", "for", "this", "that", "use", "user", "when", "how", "what", "with", "not"];

/// The tool that the question is about, and its input: its only required member is the quoted text.
pub fn fitting<'t>(question: &str, tools: &'t [ToolSpec]) -> Option<(&'t ToolSpec, Value)> {
    let (quoted, rest) = quoted(question)?;
    let asked = words(&rest);
    let fits = |tool: &&ToolSpec| {
        let (name, all) = (words(&tool.name), words(&format!("{} {}", tool.name, tool.description)));
        asked.iter().any(|word| name.contains(word))
            && asked.iter().filter(|word| all.contains(word)).count() >= WORDS_MIN
    };
    tools.iter().filter(fits).find_map(|tool| {
        let mut input = Map::new();
        input.insert(text_member(&tool.input_schema)?.to_owned(), Value::from(quoted));
        Some((tool, input.into()))
    })
}

/// The only required member of a schema, if that is a text.
fn text_member(schema: &Value) -> Option<&str> {
    let required = schema["required"].as_array()?;
    let [name] = required.as_slice() else { return None };
    let name = name.as_str()?;
    (schema["properties"][name]["type"] == "string").then_some(name)
}

/// The text between the first quotation mark and the last one that closes it, and the question without it.
fn quoted(question: &str) -> Option<(&str, String)> {
    let (begin, open) = question.char_indices().find(|(_, c)| QUOTES.iter().any(|(open, _)| open == c))?;
    let (_, close) = QUOTES.iter().find(|(known, _)| *known == open)?;
    let inner = &question[begin + open.len_utf8()..];
    let end = inner.rfind(*close).filter(|end| *end > 0)?;
    let rest = format!("{} {}", &question[..begin], &inner[end + close.len_utf8()..]);
    Some((&inner[..end], rest))
}

/// Words without their endings: `counts` and `count` are the same.
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 2);
    let words = words.filter(|word| !COMMON.contains(word));
    let mut all: Vec<String> = words.map(|word| word.strip_suffix('s').unwrap_or(word).to_owned()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// What a tool gave, for the reader.
pub fn told(language: Language, tool: &ToolSpec, output: &Value) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => one_line(text, VALUE_MAX_CHARS),
        other => one_line(&other.to_string(), VALUE_MAX_CHARS),
    };
    let (comma, colon) = match language {
        Language::English => (", ", ": "),
        Language::Chinese => ("，", "："),
    };
    let said = match output {
        Value::Object(members) => members
            .iter()
            .take(MEMBERS_SHOWN)
            .map(|(name, value)| format!("{} {}", one_line(name, VALUE_MAX_CHARS), shown(value)))
            .collect::<Vec<_>>()
            .join(comma),
        other => shown(other),
    };
    format!("{}{colon}{said}", tool.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, description: &str, required: Value) -> ToolSpec {
        let input_schema = json!({ "type": "object", "required": required,
            "properties": { "text": { "type": "string" }, "n": { "type": "integer" } } });
        ToolSpec { name: name.to_owned(), description: description.to_owned(), input_schema }
    }

    #[test]
    fn a_tool_is_called_where_its_description_fits() {
        let tools = [
            tool("word_count", "Counts the words, characters and lines of a text.", json!(["text"])),
            tool("char_count", "Counts characters.", json!(["text", "n"])),
        ];
        for question in [
            "Count the words of \"to be or \"not\" to be\"",
            "How many words has the text “to be or \"not\" to be”?",
            "word count: `to be or \"not\" to be`",
        ] {
            let (tool, input) = fitting(question, &tools).unwrap_or_else(|| panic!("{question}"));
            assert_eq!(
                (tool.name.as_str(), input),
                ("word_count", json!({ "text": "to be or \"not\" to be" }))
            );
        }
        for question in [
            "How many orders has the customer \"ann\"?",
            "Count the words of to be",
            "Count the orders of \"app\"",
            "Count the words of \"\"",
        ] {
            let found = fitting(question, &tools).map(|(tool, _)| tool.name.as_str());
            assert!(found.is_none(), "{question}: {found:?}");
        }
        let told = told(Language::English, &tools[0], &json!({ "words": 6, "lines": "a\nb" }));
        assert_eq!(told, "word_count: words 6, lines a b");
    }
}
