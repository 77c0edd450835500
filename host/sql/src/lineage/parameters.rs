//! Parameters in a text: `${name}` and `$[yyyy-MM-dd]`. Each is replaced by a word of the same length before
//! the text is parsed, so that all lines and columns stay the same.

use sqlparser::tokenizer::{Location, Span};

/// The longest parameter, in characters.
const PARAMETER_MAX_CHARS: usize = 256;
/// Characters that no parameter has: a literal may open with the same characters.
const ENDS: [char; 5] = ['\n', '\'', '"', '`', ';'];
/// The replacement of a parameter: a name, which is valid as a value and as a table.
const STAND_IN: char = 'p';

/// The places of parameters, in the order of the text.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<(Location, Location)>);

impl Parameters {
    /// The place of the first parameter in this span.
    pub fn within(&self, span: Span) -> Option<Location> {
        let next = self.0.partition_point(|(_, end)| *end <= span.start);
        self.0.get(next).filter(|(start, _)| *start < span.end).map(|(start, _)| *start)
    }
}

/// The text with words in place of parameters.
pub(super) fn replaced(sql: &str) -> (String, Parameters) {
    let mut parameters = Parameters::default();
    if !sql.contains("${") && !sql.contains("$[") {
        return (sql.to_owned(), parameters);
    }
    let mut plain = String::with_capacity(sql.len());
    let mut at = Location { line: 1, column: 1 };
    let mut rest = sql;
    while let Some(c) = rest.chars().next() {
        let Some(length) = parameter(rest) else {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
            at = if c == '\n' {
                Location { line: at.line + 1, column: 1 }
            } else {
                Location { column: at.column + 1, ..at }
            };
            continue;
        };
        let chars = rest[..length].chars().count();
        plain.extend(std::iter::repeat_n(STAND_IN, chars));
        rest = &rest[length..];
        let end = Location { column: at.column + chars as u64, ..at };
        parameters.0.push((at, end));
        at = end;
    }
    (plain, parameters)
}

/// The length in bytes of the parameter that the text begins with.
fn parameter(text: &str) -> Option<usize> {
    let close = if text.starts_with("${") {
        '}'
    } else if text.starts_with("$[") {
        ']'
    } else {
        return None;
    };
    let end = text.char_indices().take(PARAMETER_MAX_CHARS).find(|(_, c)| *c == close || ENDS.contains(c));
    end.filter(|(_, c)| *c == close).map(|(at, c)| at + c.len_utf8())
}
