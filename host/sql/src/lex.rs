//! Lexes SQL text as a server's own lexer does: finds the ends of all literals, names and comments.
//!
//! Written SQL is read again by rules independent of the writer's, so that a literal that ends early is
//! detected before a server sees it. This module parses nothing and quotes nothing.

use std::ops::Range;

/// The server whose lexing applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// SQLite 3.
    Sqlite,
    /// PostgreSQL and compatible servers.
    Postgres,
    /// MySQL, MariaDB and compatible servers.
    MySql,
    /// A server over HTTP with unknown lexing.
    Unknown,
}

/// One way in which a server may read a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lexing {
    /// The server.
    pub server: Server,
    /// Whether backslashes escape in ordinary literals (`sql_mode`, `standard_conforming_strings`).
    pub backslash_escapes: bool,
    /// Whether `"` quotes names (`ANSI_QUOTES`) instead of texts.
    pub double_quoted_names: bool,
}

impl Lexing {
    /// SQLite has only this one.
    pub const SQLITE: Lexing =
        Lexing { server: Server::Sqlite, backslash_escapes: false, double_quoted_names: true };
    /// PostgreSQL with `standard_conforming_strings = on`, which the host's sessions set.
    pub const POSTGRES: Lexing =
        Lexing { server: Server::Postgres, backslash_escapes: false, double_quoted_names: true };
    /// MySQL with its default `sql_mode`.
    pub const MYSQL: Lexing =
        Lexing { server: Server::MySql, backslash_escapes: true, double_quoted_names: false };
    /// MySQL with `NO_BACKSLASH_ESCAPES`.
    pub const MYSQL_PLAIN: Lexing = Lexing { backslash_escapes: false, ..Lexing::MYSQL };

    fn nests_comments(self) -> bool {
        self.server == Server::Postgres
    }

    fn prefixes(self) -> &'static [char] {
        match self.server {
            Server::Sqlite => &['x', 'X'],
            Server::MySql => &['n', 'N', 'x', 'X', 'b', 'B'],
            Server::Postgres | Server::Unknown => &['e', 'E', 'n', 'N', 'x', 'X', 'b', 'B'],
        }
    }
}

/// The kind of a lexeme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A bare word.
    Word,
    /// A number, without a sign.
    Number,
    /// A string literal with its value.
    Text(String),
    /// A quoted name with its value.
    Name(String),
    /// A comment. `executable`: it opens with `/*!` or `/*M!`, and some servers run its content.
    Comment {
        /// See above.
        executable: bool,
    },
    /// Any other character.
    Symbol(char),
}

/// A lexeme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// Its kind.
    pub kind: Kind,
    /// Its place, in bytes.
    pub span: Range<usize>,
}

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at}")]
pub struct LexError {
    /// The problem.
    pub what: &'static str,
    /// Where it begins, in bytes.
    pub at: usize,
}

/// Reads a complete text. Omits blanks.
pub fn lex(text: &str, lexing: Lexing) -> Result<Vec<Lexeme>, LexError> {
    let mut reader = Reader { text, at: 0, lexing };
    let mut lexemes = Vec::new();
    while let Some(c) = reader.peek() {
        let start = reader.at;
        if c == '\0' {
            return Err(LexError { what: "a NUL character", at: start });
        }
        if c.is_ascii_whitespace() || c == '\u{b}' {
            reader.advance();
            continue;
        }
        // A blank for parsers, and a letter for servers.
        if is_strange_blank(c) {
            return Err(LexError { what: "a blank that is not ASCII, such as a no-break space,", at: start });
        }
        let kind = reader.next_kind(c)?;
        lexemes.push(Lexeme { kind, span: start..reader.at });
    }
    Ok(lexemes)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    lexing: Lexing,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn advance(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
        }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next_kind(&mut self, c: char) -> Result<Kind, LexError> {
        if let Some(kind) = self.comment()? {
            return Ok(kind);
        }
        if let Some(kind) = self.prefixed(c)? {
            return Ok(kind);
        }
        match c {
            '\'' => self.quoted('\'', self.lexing.backslash_escapes).map(Kind::Text),
            '"' if self.lexing.double_quoted_names => self.quoted('"', false).map(Kind::Name),
            '"' => self.quoted('"', self.lexing.backslash_escapes).map(Kind::Text),
            '`' if self.lexing.server != Server::Postgres => self.quoted('`', false).map(Kind::Name),
            '[' if self.lexing.server == Server::Sqlite => self.bracketed(),
            '$' if matches!(self.lexing.server, Server::Postgres | Server::Unknown) => self.dollar(),
            c if c.is_ascii_digit() => self.number(),
            '.' if self.digit_behind() && !self.is_behind_name() => self.number(),
            c if word_start(c) => {
                while self.peek().is_some_and(word_part) {
                    self.advance();
                }
                Ok(Kind::Word)
            }
            c => {
                self.advance();
                Ok(Kind::Symbol(c))
            }
        }
    }

    /// `--`, `#` and `/* */` as this server knows them.
    fn comment(&mut self) -> Result<Option<Kind>, LexError> {
        let rest = self.rest();
        let hash = rest.starts_with('#') && matches!(self.lexing.server, Server::MySql | Server::Unknown);
        if hash || self.begins_dash_comment() {
            let ends: &[char] = match self.lexing.server {
                Server::Postgres => &['\n', '\r'],
                _ => &['\n'],
            };
            let length = rest.find(ends).unwrap_or(rest.len());
            self.at += length;
            return Ok(Some(Kind::Comment { executable: false }));
        }
        if !rest.starts_with("/*") {
            return Ok(None);
        }
        let executable = rest.starts_with("/*!") || rest.starts_with("/*M!");
        let start = self.at;
        self.at += 2;
        let mut depth = 1;
        while depth > 0 {
            let rest = self.rest();
            if rest.starts_with("*/") {
                depth -= 1;
                self.at += 2;
            } else if rest.starts_with("/*") && self.lexing.nests_comments() {
                depth += 1;
                self.at += 2;
            } else if rest.is_empty() {
                return Err(LexError { what: "a comment that does not end, begun", at: start });
            } else {
                self.advance();
            }
        }
        Ok(Some(Kind::Comment { executable }))
    }

    /// MySQL requires a blank after the dashes; the others do not.
    fn begins_dash_comment(&self) -> bool {
        let Some(behind) = self.rest().strip_prefix("--") else { return false };
        self.lexing.server != Server::MySql
            || behind.chars().next().is_none_or(|c| c.is_ascii_whitespace() || c.is_ascii_control())
    }

    /// A literal with a prefix: `E'…'`, `x'…'`. `U&'…'` is refused: its escapes can spell a name that no
    /// other check here would recognise.
    fn prefixed(&mut self, c: char) -> Result<Option<Kind>, LexError> {
        let rest = self.rest();
        if self.lexing.server != Server::Sqlite {
            let unicode = rest
                .get(..3)
                .is_some_and(|head| head.eq_ignore_ascii_case("u&'") || head.eq_ignore_ascii_case("u&\""));
            if unicode {
                return Err(LexError { what: "a name or literal with Unicode escapes (U&)", at: self.at });
            }
        }
        if !self.lexing.prefixes().contains(&c) || !rest[1..].starts_with('\'') {
            return Ok(None);
        }
        self.at += 1;
        let escapes = c.eq_ignore_ascii_case(&'e') || self.lexing.backslash_escapes;
        self.quoted('\'', escapes).map(|value| Some(Kind::Text(value)))
    }

    /// From the opening quote past the closing one.
    fn quoted(&mut self, quote: char, backslash_escapes: bool) -> Result<String, LexError> {
        let start = self.at;
        self.advance();
        let mut value = String::new();
        while let Some(c) = self.peek() {
            if c == '\0' {
                return Err(LexError { what: "a NUL character", at: self.at });
            }
            self.advance();
            if c == '\\' && backslash_escapes {
                let Some(escaped) = self.peek() else { break };
                self.advance();
                value.push_str(&unescaped(escaped));
            } else if c == quote {
                if self.peek() != Some(quote) {
                    return Ok(value);
                }
                self.advance();
                value.push(quote);
            } else {
                value.push(c);
            }
        }
        Err(LexError { what: "a quote that is not closed, opened", at: start })
    }

    fn bracketed(&mut self) -> Result<Kind, LexError> {
        let start = self.at;
        let Some(end) = self.rest().find(']') else {
            return Err(LexError { what: "a bracket that is not closed, opened", at: start });
        };
        self.at += end + 1;
        Ok(Kind::Name(self.text[start + 1..self.at - 1].to_owned()))
    }

    /// `$tag$…$tag$`; otherwise a plain `$` (as in `$1`).
    fn dollar(&mut self) -> Result<Kind, LexError> {
        let start = self.at;
        let rest = self.rest();
        let tag = rest[1..].find('$').map(|end| &rest[..end + 2]).filter(|tag| {
            let inner = &tag[1..tag.len() - 1];
            inner.chars().all(|c| word_part(c) && c != '$')
                && !inner.starts_with(|c: char| c.is_ascii_digit())
        });
        let Some(tag) = tag else {
            self.advance();
            return Ok(Kind::Symbol('$'));
        };
        let Some(end) = rest[tag.len()..].find(tag) else {
            return Err(LexError { what: "a dollar quote that is not closed, opened", at: start });
        };
        let value = rest[tag.len()..tag.len() + end].to_owned();
        self.at += 2 * tag.len() + end;
        Ok(Kind::Text(value))
    }

    /// Up to where the server ends it: what follows a fraction or an exponent at once is a word of its own for some, which is
    /// refused. Digits and letters are a hexadecimal number, or a name of MySQL.
    fn number(&mut self) -> Result<Kind, LexError> {
        let start = self.at;
        self.digits();
        let mut is_whole = true;
        if self.peek() == Some('.') {
            is_whole = false;
            self.advance();
            self.digits();
        }
        let exponent = self.rest().strip_prefix(['e', 'E']);
        let digits = exponent.map(|rest| rest.strip_prefix(['+', '-']).unwrap_or(rest));
        if let Some(digits) = digits.filter(|digits| digits.starts_with(|c: char| c.is_ascii_digit())) {
            is_whole = false;
            self.at = self.text.len() - digits.len();
            self.digits();
        }
        if is_whole {
            while self.peek().is_some_and(word_part) {
                self.advance();
            }
        } else if self.peek().is_some_and(word_part) {
            return Err(LexError { what: "a number that a word follows without a blank,", at: start });
        }
        Ok(Kind::Number)
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '_') {
            self.advance();
        }
    }

    /// Whether a name ends right before.
    fn is_behind_name(&self) -> bool {
        let before = self.text[..self.at].chars().next_back();
        before.is_some_and(|c| word_part(c) || matches!(c, '`' | '"' | ']'))
    }

    fn digit_behind(&self) -> bool {
        self.rest().chars().nth(1).is_some_and(|c| c.is_ascii_digit())
    }
}

/// The value of an escape sequence, in MySQL and in PostgreSQL's `E'…'`.
fn unescaped(c: char) -> String {
    match c {
        'n' => "\n".into(),
        't' => "\t".into(),
        'r' => "\r".into(),
        'b' => "\u{8}".into(),
        '0' => "\0".into(),
        'Z' => "\u{1a}".into(),
        '%' | '_' => format!("\\{c}"),
        c => c.into(),
    }
}

fn word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii() && !is_strange_blank(c)
}

fn is_strange_blank(c: char) -> bool {
    !c.is_ascii() && c.is_whitespace()
}

fn word_part(c: char) -> bool {
    word_start(c) || c.is_ascii_digit() || c == '$'
}

#[cfg(test)]
#[path = "lex_fuzz.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str, lexing: Lexing) -> Vec<Kind> {
        lex(text, lexing).expect("readable").into_iter().map(|lexeme| lexeme.kind).collect()
    }

    #[test]
    fn backslash_escapes_depend_on_the_server() {
        let text = r"'x\'; DROP TABLE o; -- '";
        assert_eq!(kinds(text, Lexing::MYSQL), [Kind::Text("x'; DROP TABLE o; -- ".into())]);
        let plain = kinds(text, Lexing::SQLITE);
        assert_eq!(plain[0], Kind::Text("x\\".into()));
        assert!(plain.contains(&Kind::Symbol(';')));
    }

    #[test]
    fn comments_end_where_the_server_ends_them() {
        let comment = Kind::Comment { executable: false };
        assert_eq!(kinds("/* a /* b */ c */ 1", Lexing::POSTGRES), [comment.clone(), Kind::Number]);
        assert_eq!(kinds("/* a /* b */ 1", Lexing::MYSQL), [comment.clone(), Kind::Number]);
        assert_eq!(kinds("-- a\r1", Lexing::POSTGRES), [comment.clone(), Kind::Number]);
        assert_eq!(kinds("-- a\r1", Lexing::SQLITE), std::slice::from_ref(&comment));
        assert_eq!(
            kinds("1--1", Lexing::MYSQL),
            [Kind::Number, Kind::Symbol('-'), Kind::Symbol('-'), Kind::Number]
        );
        assert_eq!(kinds("#x", Lexing::MYSQL), [comment]);
        assert_eq!(kinds("/*!1*/", Lexing::MYSQL), [Kind::Comment { executable: true }]);
        assert_eq!(kinds("/*M!1*/", Lexing::SQLITE), [Kind::Comment { executable: true }]);
    }

    #[test]
    fn names_and_literals_of_each_server() {
        assert_eq!(
            kinds("[a] `b``c` \"d\"\"e\"", Lexing::SQLITE),
            [Kind::Name("a".into()), Kind::Name("b`c".into()), Kind::Name("d\"e".into())]
        );
        assert_eq!(
            kinds("$a$;'$a$ $$;$$ $1", Lexing::POSTGRES),
            [Kind::Text(";'".into()), Kind::Text(";".into()), Kind::Symbol('$'), Kind::Number]
        );
        assert_eq!(kinds(r"E'a\'b'", Lexing::POSTGRES), [Kind::Text("a'b".into())]);
        assert_eq!(kinds("\"a\"", Lexing::MYSQL), [Kind::Text("a".into())]);
        assert_eq!(kinds("1.5e-3", Lexing::SQLITE), [Kind::Number]);
    }

    #[test]
    fn what_servers_and_parsers_read_otherwise_is_refused() {
        for text in ["1.5INTO x", "1e5INTO x", ".5INTO x", "1.INTO x", "1--\u{a0}x", "a\u{3000}b", "\u{85}"] {
            assert!(lex(text, Lexing::MYSQL).is_err(), "{text:?}");
        }
        let name = |length| Lexeme { kind: Kind::Number, span: 0..length };
        assert_eq!(lex("2024_sales", Lexing::MYSQL).unwrap(), [name(10)]);
        assert_eq!(lex("0x1F", Lexing::MYSQL).unwrap(), [name(4)]);
        assert_eq!(lex("t.5x", Lexing::MYSQL).unwrap().len(), 3);
        for text in ["1", "1.5", "1.", ".5", "1e5", "1.5E-3", "1_000", ".5e+1"] {
            assert_eq!(lex(text, Lexing::POSTGRES).unwrap(), [name(text.len())], "{text}");
        }
        assert_eq!(kinds("'\u{a0}'", Lexing::MYSQL), [Kind::Text("\u{a0}".into())]);
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for text in ["'a", "\"a", "/* a", "[a", "`a", "a\0b"] {
            assert!(lex(text, Lexing::SQLITE).is_err(), "{text:?}");
        }
        assert!(lex("$a$ x", Lexing::POSTGRES).is_err());
        assert!(lex("U&\"pg\\005fsleep\"", Lexing::POSTGRES).is_err());
        assert!(lex(r"'a\'", Lexing::MYSQL).is_err());
    }
}
