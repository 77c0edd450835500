//! Finds the tables that SQL text reads and writes.
//!
//! Each statement records its effects on tables in a ledger, in order, and the ledger computes the overall
//! result. A statement that cannot be parsed is one error; the others are still read. This module resolves no
//! names and does not know what views, procedures or dynamic SQL read when they run.

mod dialect;
mod ledger;
mod parameters;
mod rewrite;
mod runs;
mod split;
#[cfg(test)]
mod tests;
mod verbs;
mod walk;
mod words;

use std::ops::Range;

use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

use crate::guard::on_long_stack;
use crate::heavy;
use dialect::Reading;
use ledger::Ledger;
use parameters::Parameters;
use walk::Effect;

/// The longest text, in bytes.
const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// Words, literals and symbols of one statement; the depth of its tree cannot exceed this.
const TOKENS_MAX: usize = 100_000;
/// Joins of one statement: the parser may nest each in the previous one.
const JOINS_MAX: usize = 1_000;
/// The deepest nesting of queries and parentheses.
const DEPTH_MAX: usize = 64;
/// Reported errors.
const ERRORS_MAX: usize = 100;

/// Reported dropped tables.
const DROPS_MAX: usize = 100;

/// A table's name in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The outermost of three parts.
    pub catalog: Option<String>,
    /// The database or schema: the written one, else that of the last `USE`.
    pub schema: Option<String>,
    /// The table itself.
    pub table: String,
    /// The name as written, without quotes.
    pub written: String,
}

/// Why a statement could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlError {
    /// From 1.
    pub line: u64,
    /// In characters, from 1.
    pub column: u64,
    /// For people.
    pub message: String,
}

/// The tables of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Tables that it reads and has not created or filled before, in order of appearance.
    pub inputs: Vec<Name>,
    /// Tables that it writes and leaves behind.
    pub outputs: Vec<Name>,
    /// One per statement that could not be read.
    pub errors: Vec<SqlError>,
    /// Interpretations that may surprise.
    pub warnings: Vec<String>,
}

/// Reads a text of any number of statements. `dialect` is the name of a plugin's kind or of another dialect;
/// unknown ones are read as `ansi`.
pub fn tables(dialect: &str, sql: &str) -> Found {
    tables_of(&[(dialect, sql)]).pop().unwrap_or_default()
}

/// The same for several texts, each with its dialect. One long stack serves all of them, because to make one costs more
/// than to read a short text.
pub fn tables_of(texts: &[(&str, &str)]) -> Vec<Found> {
    let longest = texts.iter().map(|(_, sql)| sql.len()).max().unwrap_or(0);
    on_long_stack(longest, || texts.iter().map(|(dialect, sql)| read_tables(dialect, sql)).collect())
}

fn read_tables(dialect: &str, sql: &str) -> Found {
    let reading = Reading::named(dialect);
    let mut found = Found::default();
    if reading.is_none() {
        found.warnings.push(format!("the dialect {dialect:?} is not known; the text was read as ansi"));
    }
    if sql.len() > TEXT_MAX_BYTES {
        found.errors.push(error_at(
            Location { line: 1, column: 1 },
            format!("the text is longer than {TEXT_MAX_BYTES} bytes; it was not read"),
        ));
        return found;
    }
    // The input is untrusted, and the parser is a foreign library that may panic.
    match std::panic::catch_unwind(|| Text::read(reading.unwrap_or(Reading::ANSI), sql)) {
        Ok(text) => text.into_found(found),
        Err(_) => {
            let message = "the text could not be read: the parser failed";
            found.errors.push(error_at(Location { line: 1, column: 1 }, message.to_owned()));
            found
        }
    }
}

fn error_at(at: Location, message: String) -> SqlError {
    SqlError { line: at.line.max(1), column: at.column.max(1), message }
}

/// A text being read.
struct Text {
    reading: Reading,
    parameters: Parameters,
    ledger: Ledger,
    errors: Vec<SqlError>,
    /// The number of errors beyond the reported ones.
    left_off: usize,
    warnings: Vec<String>,
}

impl Text {
    fn read(reading: Reading, sql: &str) -> Text {
        let (plain, parameters) = parameters::replaced(sql);
        let mut text = Text {
            reading,
            parameters,
            ledger: Ledger::new(reading),
            errors: Vec::new(),
            left_off: 0,
            warnings: Vec::new(),
        };
        let mut tokens = Vec::new();
        let whole = Tokenizer::new(reading.dialect(), &plain).tokenize_with_location_into_buf(&mut tokens);
        for statement in split::statements(reading, tokens, whole.is_ok()) {
            text.statement(statement);
        }
        if let Err(error) = whole {
            text.refuse(error_at(error.location, error.message));
        }
        text
    }

    fn refuse(&mut self, error: SqlError) {
        if self.errors.len() < ERRORS_MAX { self.errors.push(error) } else { self.left_off += 1 }
    }

    fn statement(&mut self, tokens: Vec<TokenWithSpan>) {
        let Some(first) = tokens.first() else { return };
        let place = first.span.start..tokens.last().unwrap_or(first).span.end;
        if tokens.len() > TOKENS_MAX {
            let message = format!("the statement has more than {TOKENS_MAX} words; it was not read");
            return self.refuse(error_at(place.start, message));
        }
        let words = words::Words(&tokens);
        if (0..tokens.len()).filter(|at| words.is(*at, "JOIN")).nth(JOINS_MAX).is_some() {
            let message = format!("the statement has more than {JOINS_MAX} joins; it was not read");
            return self.refuse(error_at(place.start, message));
        }
        let rest = self.after_verbs(&tokens);
        if rest.is_empty() {
            return;
        }
        match self.parsed(rest.to_vec()) {
            Ok(effects) => self.take(effects),
            Err(error) if self.reading != Reading::TSQL => self.refuse(told(&error, place)),
            Err(error) => self.lines(rest, &error),
        }
    }

    /// Reads statements word by word as far as possible, and leaves the rest to the parser.
    fn after_verbs<'t>(&mut self, tokens: &'t [TokenWithSpan]) -> &'t [TokenWithSpan] {
        let mut rest = tokens;
        while !rest.is_empty() {
            let end = if self.reading == Reading::TSQL {
                runs::end_of_first(words::Words(rest))
            } else {
                rest.len()
            };
            let Some(effects) = verbs::effects(&rest[..end]) else { break };
            self.take(effects);
            rest = &rest[end..];
        }
        rest
    }

    /// Reads each statement of a run separately, if the run as a whole cannot be parsed.
    fn lines(&mut self, run: &[TokenWithSpan], whole: &ParserError) {
        for piece in runs::lines(run) {
            let rest = self.after_verbs(runs::after_condition(piece));
            let (Some(first), Some(last)) = (rest.first(), rest.last()) else { continue };
            let place = first.span.start..last.span.end;
            let is_whole = rest.len() == run.len();
            match if is_whole { Err(whole.clone()) } else { self.parsed(rest.to_vec()) } {
                Ok(effects) => self.take(effects),
                Err(error) => self.refuse(told(&error, place)),
            }
        }
    }

    /// The effects of a statement by the first parser that succeeds: the dialect's own, then those of its
    /// relatives; each again after removing clauses that no parser knows. The error is the first parser's.
    fn parsed(&self, tokens: Vec<TokenWithSpan>) -> Result<Vec<Effect>, ParserError> {
        heavy::refuse(&tokens)?;
        let tokens = rewrite::without_only(tokens);
        let first = self.parsed_by(self.reading, tokens.clone());
        if !matches!(first, Err(ParserError::ParserError(_))) {
            return first;
        }
        let simpler = rewrite::simpler(&tokens);
        for reading in std::iter::once(self.reading).chain(self.reading.relatives()) {
            for tokens in [Some(&tokens), simpler.as_ref()].into_iter().flatten() {
                let again = self.parsed_by(reading, tokens.clone());
                if again.is_ok() {
                    return again;
                }
            }
        }
        let pieces = rewrite::branches(&tokens).unwrap_or_default();
        let pieces: Result<Vec<_>, _> =
            pieces.into_iter().map(|piece| self.parsed_by(self.reading, piece)).collect();
        match pieces {
            Ok(pieces) if !pieces.is_empty() => Ok(pieces.concat()),
            _ => first,
        }
    }

    fn parsed_by(&self, reading: Reading, tokens: Vec<TokenWithSpan>) -> Result<Vec<Effect>, ParserError> {
        let mut parser =
            Parser::new(reading.dialect()).with_recursion_limit(DEPTH_MAX).with_tokens_with_locations(tokens);
        let mut effects = walk::effects(reading, &parser.parse_statement()?);
        // T-SQL needs no separator between two statements.
        while parser.peek_token().token != Token::EOF {
            if self.reading != Reading::TSQL {
                return parser.expected("end of statement", parser.peek_token());
            }
            effects.extend(walk::effects(reading, &parser.parse_statement()?));
        }
        Ok(effects)
    }

    fn take(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            if let Some(at) = effect.idents().find_map(|ident| self.parameters.within(ident.span)) {
                let warning = format!(
                    "line {}, column {}: a table whose name has a parameter in it is left out",
                    at.line, at.column
                );
                // One statement may have several effects on it.
                if self.warnings.last() != Some(&warning) {
                    self.warnings.push(warning);
                }
                continue;
            }
            self.ledger.enter(&effect);
        }
    }

    fn into_found(self, mut found: Found) -> Found {
        let closed = self.ledger.close();
        (found.inputs, found.outputs) = (closed.inputs, closed.outputs);
        found.errors = self.errors;
        found.warnings.extend(self.warnings);
        found.warnings.extend(closed.dropped.iter().take(DROPS_MAX).map(dropped));
        let drops_left_off = closed.dropped.len().saturating_sub(DROPS_MAX);
        if drops_left_off > 0 {
            found.warnings.push(format!("{drops_left_off} more tables are dropped"));
        }
        if self.left_off > 0 {
            found.warnings.push(format!("{} more statements could not be read", self.left_off));
        }
        found
    }
}

fn dropped(name: &Name) -> String {
    format!("the SQL drops `{}`, which it did not make; a table that is dropped is no output", name.written)
}

/// The parser reports the place only in its message, and not at all if the statement ends too early.
fn told(error: &ParserError, place: Range<Location>) -> SqlError {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => "it nests too deep",
    };
    let said = text.rsplit_once(" at Line: ").and_then(|(what, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((what, Location { line: line.parse().ok()?, column: column.parse().ok()? }))
    });
    match said {
        Some((what, at)) => error_at(at, what.to_owned()),
        None if text.ends_with("found: EOF") => error_at(place.end, text.replace("EOF", "the end")),
        None => error_at(place.start, text.to_owned()),
    }
}
