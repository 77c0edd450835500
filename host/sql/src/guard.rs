//! Judges SQL that must only read, whether it comes from a plugin, a user or a model.
//!
//! It parses and never matches text. It accepts one statement, of a reading kind at every depth, that calls only
//! listed functions, over permitted objects; it resolves names of common table expressions by scope. It
//! refuses text that two servers could read differently (comments that some servers run, literals whose end
//! depends on a setting). It runs nothing; read-only sessions and the account's privileges are further lines
//! of defence.

use std::collections::BTreeSet;

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use sqlparser::ast::{Statement, Visit};
use sqlparser::dialect::{AnsiDialect, Dialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, Tokenizer};

use crate::bounds::begins_with;
use crate::functions::{Author, Functions};
use crate::heavy;
use crate::lex::{Kind, Lexeme, Lexing, lex};
use crate::scope::Walk;

/// The longest statement, in bytes.
const TEXT_MAX_BYTES: usize = 256 * 1024;
/// Words, literals and symbols of one statement.
const LEXEMES_MAX: usize = 20_000;
/// The deepest nesting of expressions and queries.
const DEPTH_MAX: usize = 100;
/// A statement can be a deep tree (`1+1+1…`), and the caller may be on a plugin's small stack, so each is parsed on a stack
/// of its own: in bytes, this for any.
const SHORT_STACK_BYTES: usize = 4 * 1024 * 1024;
/// And so much more for each byte of it: a level of a debug build, of which each takes a byte of text at least.
const STACK_BYTES_PER_BYTE: usize = 16 * 1024;
/// The longest stack: 20,000 levels fit, and what is unused costs nothing.
const LONG_STACK_BYTES: usize = 256 * 1024 * 1024;

/// Keywords and types that may stand before a parenthesis, sorted. `operator` is not among them: it may name one of
/// another schema.
#[rustfmt::skip]
const BEFORE_PARENTHESES: &[&str] = &[
    "against", "all", "analyze", "and", "anti", "any", "array", "as", "asc", "bernoulli", "between",
    "bigint", "binary", "bit", "blob", "bpchar", "by", "case", "cast", "char", "character", "check",
    "columns", "convert", "cross", "cube", "date", "datetime", "dec", "decimal", "desc", "distinct", "div",
    "double", "else", "end", "escape", "except", "exists", "explain", "extract", "fetch", "filter", "float",
    "force", "from", "glob", "group", "grouping", "having", "ignore", "ilike", "in", "index", "inner",
    "int", "integer", "intersect", "interval", "is", "isnull", "join", "key", "largeint", "lateral", "left",
    "like", "limit", "match", "materialized", "mediumint", "member", "minus", "mod", "natural", "nchar",
    "not", "notnull", "number", "numeric", "nvarchar", "of", "offset", "on", "only", "or", "order",
    "ordinality", "outer", "over", "overlaps", "partition", "position", "precision", "qualify", "range",
    "real", "regexp", "repeatable", "returning", "right", "rlike", "rollup", "row", "rows", "select",
    "semi", "separator", "sets", "signed", "similar", "smallint", "some", "straight_join", "string",
    "struct", "substring", "system", "tablesample", "text", "then", "time", "timestamp", "timestamptz",
    "timetz", "tinyint", "to", "trim", "union", "unique", "unnest", "unsigned", "use", "using", "values",
    "varbinary", "varbit", "varchar", "varying", "view", "when", "where", "window", "with", "within", "xor",
    "year", "zone",
];

/// The host's parsers.
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
    /// By the name that dialects use; `None` if the host has no such parser.
    pub fn named(name: &str) -> Option<SqlParser> {
        match name {
            "sqlite" => Some(SqlParser::Sqlite),
            "postgres" => Some(SqlParser::Postgres),
            "mysql" => Some(SqlParser::MySql),
            "ansi" => Some(SqlParser::Ansi),
            _ => None,
        }
    }

    /// The parser's rules.
    pub fn dialect(self) -> &'static dyn Dialect {
        match self {
            SqlParser::Sqlite => &SQLiteDialect {},
            SqlParser::Postgres => &PostgreSqlDialect {},
            SqlParser::MySql => &MySqlDialect {},
            SqlParser::Ansi => &AnsiDialect {},
        }
    }
}

/// An object that a statement reads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    /// The parts of its name, outermost first, as the server resolves them: PostgreSQL folds unquoted names.
    pub parts: Vec<String>,
    /// Whether it is a table function, called with arguments.
    pub function: bool,
}

impl Object {
    /// For a message.
    pub fn dotted(&self) -> String {
        self.parts.join(".")
    }
}

/// An accepted statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The text to run: the original with blanks for comments.
    pub sql: String,
    /// The objects that it reads from. Empty if `parsed` is false.
    pub objects: BTreeSet<Object>,
    /// False: no parser read it; it only begins as the dialect's `read` vocabulary permits.
    pub parsed: bool,
}

/// A judge. Cheap to make.
pub struct Guard<'a> {
    /// The parser; `None`: accepts only statements with a permitted head.
    pub parser: Option<SqlParser>,
    /// All ways in which the server may read the text; they must agree.
    pub readings: &'a [Lexing],
    /// The functions of the database that it may call.
    pub functions: &'a Functions,
    /// Whose statement it is.
    pub author: Author,
    /// Heads of statements that no parser reads (`SHOW FULL COLUMNS`), upper case.
    pub heads: &'a [String],
    /// Decides which objects may be read.
    pub allowed: &'a (dyn Fn(&Object) -> bool + Sync),
}

impl Guard<'_> {
    /// The statement to run, or `guard_refused` with `rule` and, if known, `position`: the character, counted
    /// from 1.
    pub fn check(&self, sql: &str) -> Result<Judged, Error> {
        if sql.len() > TEXT_MAX_BYTES {
            return Err(refused(
                "parse",
                format!("the statement is longer than {TEXT_MAX_BYTES} bytes"),
                None,
            ));
        }
        let (plain, lexemes) = self.read_alike(sql)?;
        match self.judged(&plain, &lexemes) {
            Ok((objects, parsed)) => Ok(Judged { sql: plain, objects, parsed }),
            Err(error) => Err(in_original(error, sql, &plain)),
        }
    }

    /// The objects of the statement without comments, and whether a parser read it.
    fn judged(&self, sql: &str, lexemes: &[Lexeme]) -> Result<(BTreeSet<Object>, bool), Error> {
        one_statement(sql, lexemes)?;
        match on_long_stack(sql.len(), || self.parsed(sql, lexemes)) {
            Ok(objects) => Ok((objects, true)),
            Err(error) if self.has_allowed_head(sql, lexemes) && may_be_unparsed(&error) => {
                self.calls(sql, lexemes, &BTreeSet::new())?;
                Ok((BTreeSet::new(), false))
            }
            Err(error) => Err(error),
        }
    }

    /// The text without comments, if all readings agree on it.
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
            // Servers that know such comments run their content; others ignore it. So no dialect may use
            // them.
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
        let statements = heavy::refuse(&tokens).and_then(|()| {
            Parser::new(parser.dialect())
                .with_recursion_limit(DEPTH_MAX)
                .with_tokens_with_locations(tokens)
                .parse_statements()
        });
        let statements = statements.map_err(|error| unreadable(sql, &error))?;
        let [statement] = statements.as_slice() else {
            return Err(refused("one_statement", "exactly one statement is allowed", None));
        };
        self.judge(parser, sql, lexemes, statement)
    }

    fn judge(
        &self,
        parser: SqlParser,
        sql: &str,
        lexemes: &[Lexeme],
        statement: &Statement,
    ) -> Result<BTreeSet<Object>, Error> {
        let mut walk = Walk::new(parser, self.functions, self.author);
        if let std::ops::ControlFlow::Break(broken) = statement.visit(&mut walk) {
            return Err(refused(broken.rule, broken.message, broken.at.and_then(|at| position(sql, at))));
        }
        let walked = walk.finish().map_err(|broken| refused(broken.rule, broken.message, None))?;
        for (object, at) in &walked.objects {
            if !(self.allowed)(object) {
                let message = format!("{} may not be read here", object.dotted());
                return Err(refused("not_permitted", message, position(sql, *at)));
            }
        }
        let lines = Lines::of(sql);
        self.calls(sql, lexemes, &walked.seen.iter().filter_map(|at| lines.position(*at)).collect())?;
        Ok(walked.objects.into_iter().map(|(object, _)| object).collect())
    }

    /// Refuses a name before a parenthesis that is neither a keyword nor a listed function, unless the walk `seen`
    /// it: a call in a place that the parser's tree does not show.
    fn calls(&self, sql: &str, lexemes: &[Lexeme], seen: &BTreeSet<usize>) -> Result<(), Error> {
        let is = |place: usize, symbol: char| {
            lexemes.get(place).is_some_and(|lexeme| lexeme.kind == Kind::Symbol(symbol))
        };
        let mut unknown = Vec::new();
        for (place, lexeme) in lexemes.iter().enumerate().filter(|(place, _)| is(place + 1, '(')) {
            let written = &sql[lexeme.span.clone()];
            let is_qualified = place > 0 && is(place - 1, '.');
            let is_known = match &lexeme.kind {
                Kind::Word if !is_qualified => {
                    let name = [written.to_lowercase()];
                    let keyword = BEFORE_PARENTHESES.binary_search(&name[0].as_str()).is_ok();
                    keyword || self.functions.may_call(self.author, &name)
                }
                Kind::Word | Kind::Name(_) => false,
                _ => true,
            };
            if !is_known {
                unknown.push((lexeme.span.start, written));
            }
        }
        let places = characters_at(sql, unknown.iter().map(|(at, _)| *at));
        for (at, (_, written)) in places.into_iter().zip(unknown) {
            if !at.is_some_and(|at| seen.contains(&at)) {
                let message = self.functions.refusal("the function", written);
                return Err(refused("denied_function", message, at));
            }
        }
        Ok(())
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

/// An error of the guard.
pub(crate) fn refused(rule: &str, message: impl Into<String>, position: Option<usize>) -> Error {
    let mut context = vec![("rule".to_owned(), rule.to_owned())];
    context.extend(position.map(|position| ("position".to_owned(), position.to_string())));
    Error { context, ..error("guard_refused", message) }
}

/// The error with its position in the text as it was sent. A comment is as many blanks as it has bytes, which are more
/// than its characters.
fn in_original(mut error: Error, sql: &str, plain: &str) -> Error {
    if let Some((_, position)) = error.context.iter_mut().find(|(name, _)| name == "position")
        && let Ok(character) = position.parse::<usize>()
    {
        let at = plain.char_indices().nth(character.saturating_sub(1)).map_or(plain.len(), |(at, _)| at);
        *position = character_at(sql, sql.floor_char_boundary(at)).to_string();
    }
    error
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

/// A statement that no parser reads, or of a kind that only the dialect knows to be reading.
fn may_be_unparsed(error: &Error) -> bool {
    let rule = error.context.iter().find(|(name, _)| name == "rule").map(|(_, rule)| rule.as_str());
    matches!(rule, Some("parse" | "reads_only"))
}

fn unreadable(sql: &str, error: &ParserError) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.as_str(),
        ParserError::RecursionLimitExceeded => "it nests too deep",
    };
    // The parser reports the place only in its message.
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

/// The characters at these sorted bytes, counted from 1.
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

/// The number of characters before each line.
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

    /// The character at a location, counted from 1; `None` if the parser does not know the location.
    fn position(&self, at: Location) -> Option<usize> {
        let line = usize::try_from(at.line).ok()?.checked_sub(1)?;
        let column = usize::try_from(at.column).ok().filter(|column| *column > 0)?;
        Some(self.0.get(line)? + column)
    }
}

fn position(sql: &str, at: Location) -> Option<usize> {
    Lines::of(sql).position(at)
}

/// Runs what reads a text of so many bytes on a stack that is long enough for it.
pub(crate) fn on_long_stack<T>(text_bytes: usize, read: impl FnOnce() -> T) -> T {
    let wanted = SHORT_STACK_BYTES.saturating_add(text_bytes.saturating_mul(STACK_BYTES_PER_BYTE));
    stacker::grow(wanted.min(LONG_STACK_BYTES), read)
}

#[cfg(test)]
#[path = "guard_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
