//! Judges SQL that is only to read: whoever wrote it, a plugin, a user or a model.
//!
//! It parses and never matches text. One statement; a reading kind at every depth; no denied function; only
//! objects that the caller allows, names of common table expressions resolved by scope. What two readers of
//! the same text could read differently (comments that some servers run, literals whose end depends on a
//! setting) is refused. It runs nothing; read-only sessions and the account's rights stand behind it.

use std::collections::BTreeSet;

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use sqlparser::ast::{Statement, Visit};
use sqlparser::dialect::{AnsiDialect, Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, Tokenizer};

use crate::bounds::begins_with;
use crate::lex::{Kind, Lexeme, Lexing, lex};
use crate::scope::Walk;

/// The longest statement that is judged, in bytes.
const TEXT_MAX_BYTES: usize = 256 * 1024;
/// Words, literals and symbols of one statement.
const LEXEMES_MAX: usize = 20_000;
/// How deep expressions and queries may nest.
const DEPTH_MAX: usize = 100;
/// A long statement can be a deep tree (`1+1+1…`), and who asks may be on a plugin's small stack: each is
/// parsed on a stack of its own. In bytes; 20,000 levels of a debug build fit, and only what is used counts.
const LONG_STACK_BYTES: usize = 256 * 1024 * 1024;

/// A parser that the host has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlParser {
    /// SQLite.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// MySQL, MariaDB.
    MySql,
    /// Standard SQL.
    Ansi,
}

impl SqlParser {
    /// By the name that dialects use; none where the host has no such parser.
    pub fn named(name: &str) -> Option<SqlParser> {
        match name {
            "sqlite" => Some(SqlParser::Sqlite),
            "postgres" => Some(SqlParser::Postgres),
            "mysql" => Some(SqlParser::MySql),
            "ansi" => Some(SqlParser::Ansi),
            _ => None,
        }
    }

    /// The parser's own rules.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            SqlParser::Sqlite => &SQLiteDialect {},
            SqlParser::Postgres => &PostgreSqlDialect {},
            SqlParser::MySql => &MySqlDialect {},
            SqlParser::Ansi => &AnsiDialect {},
        }
    }
}

/// Something that a statement reads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// Its name from the outermost part, each as the server resolves it: PostgreSQL folds what is not quoted.
    pub parts: Vec<String>,
    /// Whether it stands there with arguments, as a function that gives rows.
    pub function: bool,
}

impl Object {
    /// For a message.
    pub fn dotted(&self) -> String {
        self.parts.join(".")
    }
}

/// What was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The text to run: as given, with blanks in place of comments.
    pub sql: String,
    /// What it reads from. Empty where `parsed` is false.
    pub objects: BTreeSet<Object>,
    /// False: no parser read it, it merely begins as the dialect's `read` vocabulary allows.
    pub parsed: bool,
}

/// A judge. Cheap to make.
pub struct Guard<'a> {
    /// The parser; none: only statements with an allowed head pass.
    pub parser: Option<SqlParser>,
    /// All ways in which the server may read the text; they must agree.
    pub readings: &'a [Lexing],
    /// Functions denied besides the host's list, lower case.
    pub denied: &'a BTreeSet<String>,
    /// How statements may begin that no parser reads (`SHOW FULL COLUMNS`), upper case.
    pub heads: &'a [String],
    /// Which objects may be read.
    pub allowed: &'a (dyn Fn(&Object) -> bool + Sync),
}

impl Guard<'_> {
    /// The statement as it may run, or `guard_refused` with `rule` and, where known, `position`: the
    /// character, counted from 1.
    pub fn check(&self, sql: &str) -> Result<Judged, Error> {
        if sql.len() > TEXT_MAX_BYTES {
            return Err(refused(
                "parse",
                format!("the statement is longer than {TEXT_MAX_BYTES} bytes"),
                None,
            ));
        }
        let (sql, lexemes) = self.read_alike(sql)?;
        one_statement(&sql, &lexemes)?;
        match on_long_stack(|| self.parsed(&sql, &lexemes)) {
            Ok(objects) => Ok(Judged { sql, objects, parsed: true }),
            Err(error) if self.has_allowed_head(&sql, &lexemes) && may_be_unparsed(&error) => {
                Ok(Judged { sql, objects: BTreeSet::new(), parsed: false })
            }
            Err(error) => Err(error),
        }
    }

    /// The text without comments, if all readings see the same in it.
    fn read_alike(&self, sql: &str) -> Result<(String, Vec<Lexeme>), Error> {
        let mut agreed: Option<Vec<Lexeme>> = None;
        for reading in self.readings {
            let lexemes = lex(sql, *reading).map_err(|error| {
                refused("parse", format!("there is {error}"), Some(character_at(sql, error.at)))
            })?;
            let differs = agreed.as_ref().is_some_and(|first| !same_places(first, &lexemes));
            if differs {
                return Err(refused(
                    "parse",
                    "a literal ends in one place or another depending on the server's settings; double the \
                     quotes in it and leave out backslashes before them",
                    None,
                ));
            }
            agreed.get_or_insert(lexemes);
        }
        let Some(mut lexemes) = agreed else {
            return Err(refused("parse", "nothing is known of how this database reads a text", None));
        };
        let mut plain = sql.to_owned();
        for lexeme in &lexemes {
            let Kind::Comment { executable } = lexeme.kind else { continue };
            // Servers that know it run what is in it; the others do not. So no dialect may have it.
            if executable || sql[lexeme.span.clone()].starts_with("/*!") {
                let at = Some(character_at(sql, lexeme.span.start));
                return Err(refused("parse", "a comment that opens with /*! or /*M! is not allowed", at));
            }
            let blank: String =
                sql[lexeme.span.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
            plain.replace_range(lexeme.span.clone(), &blank);
        }
        lexemes.retain(|lexeme| !matches!(lexeme.kind, Kind::Comment { .. }));
        if lexemes.len() > LEXEMES_MAX {
            return Err(refused("parse", format!("the statement has more than {LEXEMES_MAX} words"), None));
        }
        Ok((plain, lexemes))
    }

    fn parsed(&self, sql: &str, lexemes: &[Lexeme]) -> Result<BTreeSet<Object>, Error> {
        let Some(parser) = self.parser else {
            return Err(refused("parse", "the host has no parser for this dialect's SQL", None));
        };
        let tokens = Tokenizer::new(parser.dialect(), sql).tokenize_with_location();
        let tokens = tokens.map_err(|error| {
            refused("parse", format!("it cannot be read: {}", error.message), position(sql, error.location))
        })?;
        let lines = Lines::of(sql);
        let quoted = tokens.iter().filter(|token| is_quoted(&token.token));
        let starts = quoted.map(|token| lines.position(token.span.start)).collect::<Vec<_>>();
        let meant = lexemes.iter().filter(|lexeme| matches!(lexeme.kind, Kind::Text(_) | Kind::Name(_)));
        let expected = characters_at(sql, meant.map(|lexeme| lexeme.span.start));
        if starts != expected {
            return Err(refused("parse", "the server reads its literals and names in another way", None));
        }
        let statements = Parser::new(parser.dialect())
            .with_recursion_limit(DEPTH_MAX)
            .with_tokens_with_locations(tokens)
            .parse_statements();
        let statements = statements.map_err(|error| unreadable(sql, &error))?;
        let [statement] = statements.as_slice() else {
            return Err(refused("one_statement", "exactly one statement is allowed", None));
        };
        self.judge(parser, sql, statement)
    }

    fn judge(&self, parser: SqlParser, sql: &str, statement: &Statement) -> Result<BTreeSet<Object>, Error> {
        let mut walk = Walk::new(parser, self.denied);
        if let std::ops::ControlFlow::Break(broken) = statement.visit(&mut walk) {
            return Err(refused(broken.rule, broken.message, broken.at.and_then(|at| position(sql, at))));
        }
        let found = walk.finish().map_err(|broken| refused(broken.rule, broken.message, None))?;
        for (object, at) in &found {
            if !(self.allowed)(object) {
                let message = format!("{} may not be read here", object.dotted());
                return Err(refused("not_permitted", message, position(sql, *at)));
            }
        }
        Ok(found.into_iter().map(|(object, _)| object).collect())
    }

    fn has_allowed_head(&self, sql: &str, lexemes: &[Lexeme]) -> bool {
        let words = lexemes.iter().take_while(|lexeme| lexeme.kind == Kind::Word);
        let leading: Vec<String> =
            words.map(|lexeme| sql[lexeme.span.clone()].to_ascii_uppercase()).collect();
        let into = lexemes
            .iter()
            .any(|lexeme| lexeme.kind == Kind::Word && sql[lexeme.span.clone()].eq_ignore_ascii_case("into"));
        !into && self.heads.iter().any(|head| begins_with(&leading.join(" "), head))
    }
}

/// A refusal of the guard.
pub(crate) fn refused(rule: &str, message: impl Into<String>, position: Option<usize>) -> Error {
    let mut context = vec![("rule".to_owned(), rule.to_owned())];
    context.extend(position.map(|position| ("position".to_owned(), position.to_string())));
    Error { context, ..error("guard_refused", message) }
}

fn same_places(one: &[Lexeme], other: &[Lexeme]) -> bool {
    let place = |lexeme: &Lexeme| (std::mem::discriminant(&lexeme.kind), lexeme.span.clone());
    one.iter().map(place).eq(other.iter().map(place))
}

fn one_statement(sql: &str, lexemes: &[Lexeme]) -> Result<(), Error> {
    let end = lexemes.iter().position(|lexeme| lexeme.kind == Kind::Symbol(';'));
    match end {
        Some(end) if end + 1 < lexemes.len() => Err(refused(
            "one_statement",
            "exactly one statement is allowed; something follows the semicolon",
            Some(character_at(sql, lexemes[end + 1].span.start)),
        )),
        _ if lexemes.is_empty() || end == Some(0) => {
            Err(refused("one_statement", "there is no statement", None))
        }
        _ => Ok(()),
    }
}

/// A statement that no parser reads, or that is of a kind that only the dialect knows to be a reading one.
fn may_be_unparsed(error: &Error) -> bool {
    let rule = error.context.iter().find(|(name, _)| name == "rule").map(|(_, rule)| rule.as_str());
    matches!(rule, Some("parse" | "reads_only"))
}

fn unreadable(sql: &str, error: &ParserError) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => "it nests too deep",
    };
    // The parser says where in words alone.
    let at = text.rsplit_once(" at Line: ").and_then(|(_, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        position(sql, Location { line: line.parse().ok()?, column: column.parse().ok()? })
    });
    refused("parse", format!("it cannot be read: {text}"), at)
}

fn is_quoted(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some(),
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_)
        | Token::SingleQuotedByteStringLiteral(_) => true,
        _ => false,
    }
}

/// The character at a byte, counted from 1.
fn character_at(sql: &str, byte: usize) -> usize {
    sql[..byte].chars().count() + 1
}

/// The characters at these bytes, which are in order, counted from 1.
fn characters_at(sql: &str, bytes: impl Iterator<Item = usize>) -> Vec<Option<usize>> {
    let (mut at, mut characters) = (0, 0);
    bytes
        .map(|byte| {
            characters += sql[at..byte].chars().count();
            at = byte;
            Some(characters + 1)
        })
        .collect()
}

/// How many characters stand before each line.
struct Lines(Vec<usize>);

impl Lines {
    fn of(sql: &str) -> Lines {
        let starts = sql.split('\n').scan(0, |next, line| {
            let start = *next;
            *next += line.chars().count() + 1;
            Some(start)
        });
        Lines(starts.collect())
    }

    /// The character at a place, counted from 1; none where the parser does not know the place.
    fn position(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok().filter(|column| *column > 0)?;
        Some(self.0.get(line)? + column)
    }
}

fn position(sql: &str, at: Location) -> Option<usize> {
    Lines::of(sql).position(at)
}

pub(crate) fn on_long_stack<T: Send>(judge: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("sql-guard".to_owned())
            .stack_size(LONG_STACK_BYTES)
            .spawn_scoped(scope, judge)
            .expect("a thread can be started")
            .join()
            .expect("judging does not panic")
    })
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
