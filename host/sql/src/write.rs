//! Writes tokens as text. The only code that writes SQL which changes a database.
//!
//! The writer records the pieces that it wrote, with their places. [`reread`] then reads the text with the
//! server's own lexing and compares piece by piece, which detects a wrong escape rule, a keyword that is not
//! a word, or a name that breaks out of its quotes. The writer does not decide what a statement may contain.

use std::fmt;
use std::ops::Range;

use lakeport_bindings::dialect::about::TextRule;
use lakeport_bindings::dialect::statements::TypeToken;

use crate::lex::{Kind, Lexeme, Lexing, lex};

/// Tokens of one statement, including those of its types.
pub const TOKENS_MAX: usize = 20_000;
/// The longest text of one statement, in bytes.
pub const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// The longest number literal, in bytes.
const NUMBER_MAX_BYTES: usize = 100;

/// A checked text that changes a database. Only this crate can make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement(String);

impl Statement {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The intended kind of a stretch of written text.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Word,
    Number,
    Symbol(char),
    Name(String),
    /// A literal by the rule of this name.
    Text {
        value: String,
        rule: String,
    },
    /// Text from the change: any lexemes but comments, `;` and placeholders.
    Expression,
}

/// Why a token cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The token is malformed.
    #[error("{0}")]
    Shape(String),
    /// The text fits no quotes of the rule: the user's value cannot be written here.
    #[error("{0}")]
    NotRepresentable(String),
    /// The text reads back differently.
    #[error("{0}")]
    ReadsDifferently(String),
}

/// Writes one statement.
pub(crate) struct Writer {
    text: String,
    pieces: Vec<(Piece, Range<usize>)>,
    name_quote: char,
    /// Omits the blank before the next token.
    glued: bool,
}

impl Writer {
    pub fn new(name_quote: char) -> Self {
        Writer { text: String::new(), pieces: Vec::new(), name_quote, glued: true }
    }

    /// Words, checked to be of letters, digits and `_`.
    pub fn words(&mut self, words: &str) -> Result<(), WriteError> {
        words.split(' ').try_for_each(|word| self.piece(Piece::Word, word))
    }

    pub fn name(&mut self, parts: &[String]) -> Result<(), WriteError> {
        if parts.is_empty() {
            return Err(WriteError::Shape("a name has no parts".to_owned()));
        }
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.glued = true;
                self.piece(Piece::Symbol('.'), ".")?;
                self.glued = true;
            }
            let quoted = quote_name(part, self.name_quote)?;
            self.piece(Piece::Name(part.clone()), &quoted)?;
        }
        Ok(())
    }

    pub fn text(&mut self, value: &str, rule: &TextRule) -> Result<(), WriteError> {
        let quoted = quote_text(value, rule)?;
        self.piece(Piece::Text { value: value.to_owned(), rule: rule.name.clone() }, &quoted)
    }

    /// Sign, digits, fraction, exponent.
    pub fn number(&mut self, number: &str) -> Result<(), WriteError> {
        if !is_number(number) {
            return Err(WriteError::Shape(format!(
                "{:?} is not a number of sign, digits, fraction and exponent",
                shortened(number)
            )));
        }
        if let Some(sign) = number.chars().next().filter(|c| matches!(c, '+' | '-')) {
            self.piece(Piece::Symbol(sign), &number[..1])?;
            self.glued = true;
        }
        self.piece(Piece::Number, number.trim_start_matches(['+', '-']))
    }

    pub fn symbol(&mut self, symbol: &str) -> Result<(), WriteError> {
        let c = match symbol {
            "(" | ")" | "," | "=" | "." | "*" | "<" | ">" | ":" => symbol.as_bytes()[0] as char,
            other => {
                return Err(WriteError::Shape(format!("{:?} is not a symbol", shortened(other))));
            }
        };
        self.glued |= matches!(c, ')' | ',' | '.' | '>' | ':') || c == '<';
        self.piece(Piece::Symbol(c), symbol)?;
        self.glued = matches!(c, '(' | '.' | '<');
        Ok(())
    }

    pub fn expression(&mut self, text: &str) -> Result<(), WriteError> {
        self.piece(Piece::Expression, text)
    }

    /// The tokens of a type, checked to be its words. `literal` writes its texts.
    pub fn data_type(&mut self, tokens: &[TypeToken], literal: &TextRule) -> Result<(), WriteError> {
        for (index, token) in tokens.iter().enumerate() {
            match token {
                TypeToken::Word(word) => self.words(word)?,
                TypeToken::Number(number) => self.number(&number.to_string())?,
                TypeToken::Name(name) => self.name(std::slice::from_ref(name))?,
                TypeToken::Text(text) => self.text(text, literal)?,
                TypeToken::Symbol(symbol) => {
                    self.glued = index > 0 && symbol == "(";
                    self.symbol(symbol)?;
                }
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece, text: &str) -> Result<(), WriteError> {
        if !self.glued {
            self.text.push(' ');
        }
        self.glued = false;
        let start = self.text.len();
        self.text.push_str(text);
        if self.text.len() > TEXT_MAX_BYTES {
            return Err(WriteError::Shape(format!(
                "the statement is longer than {TEXT_MAX_BYTES} bytes when written"
            )));
        }
        self.pieces.push((piece, start..self.text.len()));
        Ok(())
    }

    /// The statement, if all readings of its text find the intended pieces.
    ///
    /// `compares_value` names the text rules for which the server unescapes as its lexer does, so that values
    /// can be compared as well as places.
    pub fn finish(
        self,
        readings: &[Lexing],
        compares_value: impl Fn(&str) -> bool,
    ) -> Result<Statement, WriteError> {
        for reading in readings {
            reread(&self.text, &self.pieces, *reading, &compares_value)?;
        }
        Ok(Statement(self.text))
    }
}

fn reread(
    text: &str,
    pieces: &[(Piece, Range<usize>)],
    reading: Lexing,
    compares_value: &impl Fn(&str) -> bool,
) -> Result<(), WriteError> {
    let differs = |what: String| {
        WriteError::ReadsDifferently(format!("{what} when read as {:?} reads it", reading.server))
    };
    let lexemes = lex(text, reading).map_err(|error| differs(error.to_string()))?;
    let mut left = lexemes.as_slice();
    for (piece, span) in pieces {
        left = match piece {
            Piece::Expression => {
                let inside = left.iter().take_while(|lexeme| lexeme.span.end <= span.end).count();
                let (inner, behind) = left.split_at(inside);
                if let Some(stray) = inner.iter().find(|lexeme| !belongs_in_expression(lexeme)) {
                    return Err(differs(format!(
                        "an expression has {:?} at byte {}",
                        stray.kind, stray.span.start
                    )));
                }
                behind
            }
            _ => {
                let Some((lexeme, behind)) = left.split_first() else {
                    return Err(differs(format!("the {} at byte {} is missing", piece.what(), span.start)));
                };
                if lexeme.span != *span || !piece.is(&lexeme.kind, compares_value) {
                    return Err(differs(format!(
                        "the {} at bytes {}..{} is something else",
                        piece.what(),
                        span.start,
                        span.end
                    )));
                }
                behind
            }
        };
    }
    match left.first() {
        None => Ok(()),
        Some(stray) => Err(differs(format!("something is left over at byte {}", stray.span.start))),
    }
}

fn belongs_in_expression(lexeme: &Lexeme) -> bool {
    !matches!(lexeme.kind, Kind::Comment { .. } | Kind::Symbol(';' | '?' | '$' | '\\'))
}

impl Piece {
    fn what(&self) -> &'static str {
        match self {
            Piece::Word => "word",
            Piece::Number => "number",
            Piece::Symbol(_) => "symbol",
            Piece::Name(_) => "name",
            Piece::Text { .. } => "literal",
            Piece::Expression => "expression",
        }
    }

    fn is(&self, kind: &Kind, compares_value: &impl Fn(&str) -> bool) -> bool {
        match (self, kind) {
            (Piece::Word, Kind::Word) | (Piece::Number, Kind::Number) => true,
            // A word may begin with a digit (`4BYTEINT`); a lexer calls it a number, which is harmless.
            (Piece::Word, Kind::Number) => true,
            (Piece::Symbol(meant), Kind::Symbol(read)) => meant == read,
            (Piece::Name(meant), Kind::Name(read)) => meant == read,
            (Piece::Text { value, rule }, Kind::Text(read)) => value == read || !compares_value(rule),
            _ => false,
        }
    }
}

/// The name in quotes, inner quotes doubled.
pub(crate) fn quote_name(name: &str, quote: char) -> Result<String, WriteError> {
    if name.is_empty() || name.contains('\0') {
        return Err(WriteError::Shape("a name is empty or has a NUL character".to_owned()));
    }
    let doubled = name.replace(quote, &format!("{quote}{quote}"));
    Ok(format!("{quote}{doubled}{quote}"))
}

/// The text in the first quotes of the rule that can hold it.
pub(crate) fn quote_text(value: &str, rule: &TextRule) -> Result<String, WriteError> {
    if value.contains('\0') {
        return Err(WriteError::NotRepresentable("a text with a NUL character cannot be kept".to_owned()));
    }
    let mut quotes = rule.quotes.iter().filter_map(|quote| quote.chars().next());
    quotes
        .find_map(|quote| {
            escaped(value, quote, &rule.escape).map(|inner| format!("{}{quote}{inner}{quote}", rule.prefix))
        })
        .ok_or_else(|| {
            WriteError::NotRepresentable(format!(
                "the text {:?} has quotes or backslashes that this database cannot keep in this place",
                shortened(value)
            ))
        })
}

/// The inside of a literal; `None` if this rule cannot write the text in these quotes.
fn escaped(value: &str, quote: char, escape: &str) -> Option<String> {
    let doubled = || value.replace(quote, &format!("{quote}{quote}"));
    match escape {
        "double" => Some(doubled()),
        "double_and_backslash" => Some(doubled().replace('\\', "\\\\")),
        "backslash" => Some(value.replace('\\', "\\\\").replace(quote, &format!("\\{quote}"))),
        "backslash_quote" => (!value.contains('\\')).then(|| value.replace(quote, &format!("\\{quote}"))),
        "verbatim" => (!value.contains(quote) && !value.ends_with('\\')).then(|| value.to_owned()),
        _ => None,
    }
}

/// `[+-]?digits[.digits][e[+-]digits]`.
pub(crate) fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let unsigned = |part: &str| part.strip_prefix(['+', '-']).unwrap_or(part).to_owned();
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mantissa = unsigned(mantissa);
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa.as_str(), None),
    };
    text.len() <= NUMBER_MAX_BYTES
        && digits(whole)
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|exponent| digits(&unsigned(exponent)))
}

/// Enough of a text to recognise it in a message.
pub(crate) fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
