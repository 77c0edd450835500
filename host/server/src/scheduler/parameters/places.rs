//! Where a parameter stands in SQL, as the data source's own lexer reads it.
//!
//! The text is read with letters in place of its parameters, so that no value can influence it.

use std::mem::discriminant;
use std::ops::Range;

use lakeport_sql::lex::{Kind, LexError, Lexeme, Lexing, Server, lex};

use super::Place;
use super::find::{Form, Found, filled};

/// The longest escape sequence without its backslash: `U` and eight digits.
const ESCAPE_MAX: usize = 9;

/// What a comment that is run may begin and not end.
const OPENERS: [&str; 6] = ["'", "\"", "`", "/*", "--", "#"];
const EXECUTABLE: &str = "a comment that opens with /*! or /*M! has a quote or a comment in it, which some \
                          servers read and others do not; take the comment out";
const CONTINUED: &str = "a literal continues one with escapes (E'…') in another line; write one literal";
const CONTINUES: &str = "stands right behind another literal, which it would continue";
const EITHER: &str = "stands where a literal ends in one place or another, depending on the server's \
                      settings; leave out backslashes before quotes";
const PART: &str = "is a part of a name or a number; a value stands by itself";

/// How a server reads a text.
pub struct Reading<'t> {
    text: &'t str,
    lexing: Lexing,
    lexemes: Vec<Lexeme>,
    /// The same with backslashes read the other way, if the server may do so.
    other: Option<Vec<Lexeme>>,
}

/// A string literal that a value is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quoting {
    /// `'` or `"`.
    pub quote: char,
    pub backslash: Backslash,
}

/// What a backslash is in a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backslash {
    /// A character.
    Plain,
    /// It changes the character behind it.
    Escape,
    /// Unknown: a value has none.
    Unknown,
}

impl<'t> Reading<'t> {
    pub fn of(text: &'t str, found: &[Found<'_>], lexing: Lexing) -> Result<Reading<'t>, LexError> {
        let filled = filled(text, found);
        let lexemes = lex(&filled, lexing)?;
        let other = Lexing { backslash_escapes: !lexing.backslash_escapes, ..lexing };
        let other = (lexing.server == Server::Unknown).then(|| lex(&filled, other)).transpose()?;
        Ok(Reading { text, lexing, lexemes, other })
    }

    /// What the lexer and the server may read differently, somewhere in the text.
    pub fn doubt(&self) -> Option<&'static str> {
        let is_postgres = matches!(self.lexing.server, Server::Postgres | Server::Unknown);
        let is_mysql = matches!(self.lexing.server, Server::MySql | Server::Unknown);
        let mut escapes = false;
        for Lexeme { kind, span } in &self.lexemes {
            let written = &self.text[span.clone()];
            match kind {
                Kind::Comment { executable: true }
                    if is_mysql && OPENERS.iter().any(|o| written[3..].contains(o)) =>
                {
                    return Some(EXECUTABLE);
                }
                Kind::Comment { .. } => {}
                Kind::Text(_) if is_postgres && escapes && written.starts_with('\'') => {
                    return Some(CONTINUED);
                }
                _ => escapes = matches!(kind, Kind::Text(_)) && written.starts_with(['e', 'E']),
            }
        }
        None
    }

    /// The place of a parameter; or why no value is possible there, as the end of a sentence.
    pub fn place(&self, span: &Range<usize>) -> Result<Place, &'static str> {
        let Some((at, lexeme)) = lexeme_at(&self.lexemes, span) else { return Err("stands nowhere") };
        let is_same = |other: &Lexeme| {
            other.span == lexeme.span && discriminant(&other.kind) == discriminant(&lexeme.kind)
        };
        if let Some(other) = &self.other
            && !lexeme_at(other, span).is_some_and(|(_, other)| is_same(other))
        {
            return Err(EITHER);
        }
        match &lexeme.kind {
            Kind::Text(_) if self.continues(at) => Err(CONTINUES),
            Kind::Text(_) => self.within(lexeme, span).map(Place::Literal),
            Kind::Word if lexeme.span == *span => self.bare(at, span),
            Kind::Word | Kind::Number => Err(PART),
            Kind::Comment { .. } => Err("stands in a comment; take it out there"),
            Kind::Name(_) | Kind::Symbol(_) => {
                Err("stands in a quoted name; a value can be no part of a name")
            }
        }
    }

    /// Within a literal, right before which nothing is left open.
    fn within(&self, literal: &Lexeme, span: &Range<usize>) -> Result<Quoting, &'static str> {
        let before = &self.text[literal.span.start..span.start];
        let (prefix, inside) = match before.find(['\'', '"', '$']) {
            Some(at) => before.split_at(at),
            None => (before, ""),
        };
        if inside.starts_with('$') {
            return Err("stands in a dollar-quoted text, which may be code; a value needs quotes of its own");
        }
        if prefix.eq_ignore_ascii_case("x") || prefix.eq_ignore_ascii_case("b") {
            return Err("stands in a literal of bytes or bits; a value is a text or a number");
        }
        let has_escapes = prefix.eq_ignore_ascii_case("e");
        let backslash = match self.lexing.server {
            Server::Unknown => Backslash::Unknown,
            _ if has_escapes || self.lexing.backslash_escapes => Backslash::Escape,
            _ => Backslash::Plain,
        };
        if backslash != Backslash::Plain && ends_in_escape(inside, has_escapes) {
            return Err("stands right behind a backslash, which would change its value");
        }
        Ok(Quoting { quote: if inside.starts_with('"') { '"' } else { '\'' }, backslash })
    }

    /// A word of its own, which its neighbours leave a value.
    fn bare(&self, at: usize, span: &Range<usize>) -> Result<Place, &'static str> {
        let mut before = self.before(at);
        let behind = self.lexemes[at + 1..].iter().find(|lexeme| is_code(lexeme));
        let (last, second) = (before.next(), before.next());
        if symbol(last) == '.' || symbol(behind) == '.' {
            return Err("stands beside a point; a value stands by itself");
        }
        if self.continues(at) {
            return Err(CONTINUES);
        }
        let is_open = |number: &Lexeme| {
            let is_number = number.kind == Kind::Number && number.span.end + 1 == span.start;
            is_number && self.text[number.span.clone()].ends_with(['e', 'E'])
        };
        // `1e-` and 7 are one number.
        if matches!(symbol(last), '+' | '-') && second.is_some_and(is_open) {
            return Err(PART);
        }
        let is_postgres = self.lexing.server == Server::Postgres;
        if is_postgres && symbol(last) == ':' && symbol(second) == ':' {
            return Err("stands behind `::`, where a type is named; a value can be no name");
        }
        let makes_names = if is_postgres { "$" } else { "@:?#$" };
        if last.is_some_and(|last| last.span.end == span.start) && makes_names.contains(symbol(last)) {
            return Err("stands right behind one of `@ : ? # $`, which makes it a name");
        }
        Ok(Place::Bare)
    }

    /// Whether a literal here would be a part of the one before, with its escapes: PostgreSQL joins those of
    /// two lines.
    fn continues(&self, at: usize) -> bool {
        let is_joined = matches!(self.lexing.server, Server::Postgres | Server::Unknown);
        let has_prefix = !matches!(self.text.as_bytes()[self.lexemes[at].span.start], b'\'' | b'$');
        let may_join = is_joined && (self.lexemes[at].kind == Kind::Word || !has_prefix);
        may_join && self.before(at).next().is_some_and(|last| matches!(last.kind, Kind::Text(_)))
    }

    /// The lexemes before one, the nearest first, without comments.
    fn before(&self, at: usize) -> impl Iterator<Item = &Lexeme> {
        self.lexemes[..at].iter().rev().filter(|lexeme| is_code(lexeme))
    }
}

fn is_code(lexeme: &Lexeme) -> bool {
    !matches!(lexeme.kind, Kind::Comment { .. })
}

/// A blank if there is none.
fn symbol(lexeme: Option<&Lexeme>) -> char {
    match lexeme.map(|lexeme| &lexeme.kind) {
        Some(Kind::Symbol(symbol)) => *symbol,
        _ => ' ',
    }
}

/// Those that are parameters: in PostgreSQL `$a$` opens and closes a text, and a brace may stand behind it.
pub fn without_tags<'t>(text: &str, found: Vec<Found<'t>>, lexing: Lexing) -> Vec<Found<'t>> {
    let tags = |found: &Found<'_>| match found.form {
        Form::Moment(pattern) if pattern.contains('$') => None,
        _ => tag_before(&text[..found.span.start]),
    };
    let may_be = matches!(lexing.server, Server::Postgres | Server::Unknown);
    if !may_be || !found.iter().any(|found| tags(found).is_some()) {
        return found;
    }
    // As the server reads them, if they are no parameters. Within any other literal that changes nothing.
    let certain: Vec<Found<'_>> = found.iter().filter(|found| tags(found).is_none()).cloned().collect();
    let lexemes = lex(&filled(text, &certain), lexing).unwrap_or_default();
    let is_parameter = |found: &Found<'_>| {
        let (Some(tag), dollar) = (tags(found), found.span.start) else { return true };
        let Some((_, lexeme)) = lexeme_at(&lexemes, &(dollar..dollar + 1)) else { return true };
        let is_dollar_quoted =
            text[lexeme.span.clone()].starts_with('$') && matches!(lexeme.kind, Kind::Text(_));
        !is_dollar_quoted || lexeme.span.start != tag && lexeme.span.end != dollar + 1
    };
    found.into_iter().filter(is_parameter).collect()
}

/// Where `$tag` begins, if the text ends in one.
fn tag_before(text: &str) -> Option<usize> {
    let name = text.trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii());
    name.ends_with('$').then(|| name.len() - 1)
}

/// The lexeme that has this part of the text, and its number.
fn lexeme_at<'l>(lexemes: &'l [Lexeme], span: &Range<usize>) -> Option<(usize, &'l Lexeme)> {
    let at = lexemes.partition_point(|lexeme| lexeme.span.start <= span.start).checked_sub(1)?;
    Some((at, &lexemes[at])).filter(|(_, lexeme)| span.end <= lexeme.span.end)
}

/// Whether the next character would be a part of an escape sequence. Those of several characters, as `\x4`,
/// are PostgreSQL's alone.
fn ends_in_escape(literal: &str, has_long: bool) -> bool {
    let backslashes = |text: &str| text.len() - text.trim_end_matches('\\').len();
    if backslashes(literal) % 2 == 1 {
        return true;
    }
    let tail = literal.trim_end_matches(|c: char| c.is_ascii_hexdigit() || matches!(c, 'x' | 'u' | 'U'));
    let escape = &literal[tail.len()..];
    has_long
        && backslashes(tail) % 2 == 1
        && escape.len() <= ESCAPE_MAX
        && match escape.as_bytes()[0] {
            b'x' => escape.len() < 3,
            b'u' => escape.len() < 5,
            b'U' => escape.len() < 9,
            b'0'..=b'7' => escape.len() < 3,
            _ => false,
        }
}
