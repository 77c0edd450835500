//! The tool `word_count`: counts the words, characters and lines of a text.

use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo};

/// The tool.
pub struct WordCount;

impl Tool for WordCount {
    fn describe() -> ToolInfo {
        let input = json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "the text to count in"}},
            "required": ["text"],
            "additionalProperties": false,
        });
        let count = json!({"type": "integer", "minimum": 0});
        let output = json!({
            "type": "object",
            "properties": {"words": count, "characters": count, "lines": count},
            "required": ["words", "characters", "lines"],
        });
        ToolInfo {
            title: "Count words".to_owned(),
            timeout_ms: 1_000,
            max_output_bytes: 1_024,
            ..ToolInfo::new(
                "word_count",
                env!("CARGO_PKG_VERSION"),
                "Counts the words, characters and lines of a text. Use it when the user asks how long a text \
                 is. Words are separated by white space, so it does not count words of Chinese or Japanese.",
                &input,
                &output,
            )
        }
    }

    fn call(input: String, _context: Context) -> Result<Outcome, Error> {
        let input: Value = serde_json::from_str(&input)?;
        let text = input["text"].as_str().ok_or_else(|| Error::invalid_input("`text` must be a text"))?;
        let count = Count::of(text);
        lakeport_sdk::info!("counted"; "words" => count.words);
        Ok(Outcome::new(&json!({"words": count.words, "characters": count.characters, "lines": count.lines})))
    }
}

/// The counts of a text.
#[derive(Debug, PartialEq)]
pub struct Count {
    /// Runs of characters other than white space.
    pub words: usize,
    /// Unicode scalar values.
    pub characters: usize,
    /// Includes a last line without a line break.
    pub lines: usize,
}

impl Count {
    /// Counts a text.
    pub fn of(text: &str) -> Count {
        Count {
            words: text.split_whitespace().count(),
            characters: text.chars().count(),
            lines: text.lines().count(),
        }
    }
}

lakeport_sdk::tool!(WordCount);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_characters_and_lines_are_counted() {
        assert_eq!(Count::of(""), Count { words: 0, characters: 0, lines: 0 });
        assert_eq!(Count::of("  one\ttwo\nthree"), Count { words: 3, characters: 15, lines: 2 });
        assert_eq!(Count::of("naïve 数据\n"), Count { words: 2, characters: 9, lines: 1 });
    }

    #[test]
    fn wrong_input_names_the_expected_form() {
        let context = Context {
            call_id: "1".to_owned(),
            task_id: "1".to_owned(),
            topic_id: "1".to_owned(),
            question: String::new(),
            language: "en".to_owned(),
            default_datasource: None,
            max_rows: 10,
            extra: None,
        };
        let answer = WordCount::call(r#"{"text": "a b"}"#.to_owned(), context.clone()).unwrap();
        assert_eq!(answer.output, r#"{"words":2,"characters":3,"lines":1}"#);
        let error = WordCount::call(r#"{"text": 5}"#.to_owned(), context).unwrap_err();
        assert_eq!(error.code, "invalid_input");
        assert!(error.message.contains("text"));
    }
}
