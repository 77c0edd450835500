//! Lexes SQL as SQLite does, to read the statements that it keeps of tables and views.

use std::ops::Range;

/// A word, name, literal, symbol or comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lexeme {
    /// Its kind.
    pub kind: Kind,
    /// Its place, in bytes.
    pub span: Range<usize>,
}

/// The kind of a lexeme.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or an unquoted name.
    Word,
    /// A name in `"`, backticks or brackets, without them.
    QuotedName(String),
    /// A text in `'`, without them.
    Text(String),
    /// `X'00ff'`.
    Blob,
    /// A number in any notation.
    Number,
    /// Anything else, character by character.
    Symbol(char),
    /// A comment of either form.
    Comment,
}

/// The text ends within a quoted name, a literal or a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unclosed;

/// Splits a text.
pub fn lex(text: &str) -> Result<Vec<Lexeme>, Unclosed> {
    let mut lexemes = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let (kind, length) = next(&text[at..], first)?;
        lexemes.push(Lexeme { kind, span: at..at + length });
        at += length;
    }
    Ok(lexemes)
}

/// The lexeme at the start of `rest`, and its length in bytes.
fn next(rest: &str, first: char) -> Result<(Kind, usize), Unclosed> {
    let second = rest[first.len_utf8()..].chars().next();
    match (first, second) {
        ('\'', _) => quoted(rest, '\'').map(|(text, length)| (Kind::Text(text), length)),
        ('"' | '`', _) => quoted(rest, first).map(|(text, length)| (Kind::QuotedName(text), length)),
        ('[', _) => {
            let end = rest.find(']').ok_or(Unclosed)?;
            Ok((Kind::QuotedName(rest[1..end].to_owned()), end + 1))
        }
        ('x' | 'X', Some('\'')) => {
            let end = rest[2..].find('\'').ok_or(Unclosed)?;
            Ok((Kind::Blob, end + 3))
        }
        ('-', Some('-')) => Ok((Kind::Comment, rest.find('\n').unwrap_or(rest.len()))),
        // SQLite ends an unclosed comment at the end of the text.
        ('/', Some('*')) => Ok((Kind::Comment, rest[2..].find("*/").map_or(rest.len(), |end| end + 4))),
        ('0'..='9', _) | ('.', Some('0'..='9')) => Ok((Kind::Number, number_length(rest))),
        _ if is_word(first) => {
            Ok((Kind::Word, rest.find(|c: char| !is_word(c) && !c.is_ascii_digit()).unwrap_or(rest.len())))
        }
        _ => Ok((Kind::Symbol(first), first.len_utf8())),
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == '$' || !c.is_ascii()
}

/// The content of a quoted text, and the length including quotes.
fn quoted(rest: &str, quote: char) -> Result<(String, usize), Unclosed> {
    let mut inside = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c != quote {
            inside.push(c);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            inside.push(quote);
        } else {
            return Ok((inside, at + 1));
        }
    }
    Err(Unclosed)
}

fn number_length(rest: &str) -> usize {
    let is_hex = rest.starts_with("0x") || rest.starts_with("0X");
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        let is_sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !is_hex;
        if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || is_sign) {
            return at;
        }
        before = c;
    }
    rest.len()
}

/// Whether the statement of a view or a trigger uses a table of this name, quoted in any way. Texts count: SQLite
/// accepts them as names in some places. A name counts only in the place of a table: renaming a table changes those
/// and leaves fields, texts and keywords (`FROM`, for a table `from`) alone.
pub fn mentions(sql: &str, name: &str) -> bool {
    let Ok(mut lexemes) = lex(sql) else { return true };
    lexemes.retain(|lexeme| lexeme.kind != Kind::Comment);
    let statement = Statement { sql, lexemes: &lexemes };
    (0..lexemes.len()).any(|place| statement.is_named(place, name) && statement.is_table(place))
}

/// Keywords that may stand in the place of a table without being one.
const NO_NAMES: [&str; 5] = ["OF", "OR", "SELECT", "VALUES", "WITH"];
/// Words that begin a clause in which no table is named.
const OTHER_CLAUSES: [&str; 11] =
    ["BY", "GROUP", "HAVING", "LIMIT", "ORDER", "RETURNING", "SELECT", "SET", "VALUES", "WHERE", "WINDOW"];

struct Statement<'a> {
    sql: &'a str,
    lexemes: &'a [Lexeme],
}

impl Statement<'_> {
    fn is_named(&self, place: usize, name: &str) -> bool {
        match &self.lexemes[place].kind {
            Kind::Word => {
                let word = &self.sql[self.lexemes[place].span.clone()];
                word.eq_ignore_ascii_case(name) && !NO_NAMES.contains(&self.word(place).as_str())
            }
            Kind::QuotedName(text) | Kind::Text(text) => text.eq_ignore_ascii_case(name),
            _ => false,
        }
    }

    /// Whether a table is named here.
    fn is_table(&self, place: usize) -> bool {
        // Behind the name of a schema.
        let place = if self.before_is('.', place) { place.saturating_sub(2) } else { place };
        let Some(before) = place.checked_sub(1) else { return false };
        let further = |count: usize| place.checked_sub(1 + count).map(|at| self.word(at)).unwrap_or_default();
        match (&self.lexemes[before].kind, self.word(before).as_str()) {
            (_, "FROM") => further(1) != "DISTINCT",
            (_, "IN" | "INTO" | "JOIN" | "UPDATE") => true,
            (_, "ABORT" | "FAIL" | "IGNORE" | "REPLACE" | "ROLLBACK") => further(1) == "OR",
            // Of a trigger: the ON of a join comes later.
            (_, "ON") => {
                (0..before).any(|at| self.word(at) == "TRIGGER")
                    && (0..before).all(|at| self.word(at) != "ON")
            }
            (Kind::Symbol('(' | ','), _) => self.is_among_tables(before),
            _ => false,
        }
    }

    /// Whether the comma or parenthesis at this place stands in a FROM clause.
    fn is_among_tables(&self, place: usize) -> bool {
        let mut depth = 0;
        let opens = self.lexemes[place].kind == Kind::Symbol('(');
        let from = if opens { place + 1 } else { place };
        for at in (0..from).rev() {
            match (&self.lexemes[at].kind, self.word(at).as_str()) {
                (Kind::Symbol(')'), _) => depth += 1,
                (Kind::Symbol('('), _) if depth > 0 => depth -= 1,
                (Kind::Symbol('('), _) => {
                    let Some(before) = at.checked_sub(1) else { return false };
                    return match (&self.lexemes[before].kind, self.word(before).as_str()) {
                        (_, "FROM" | "JOIN") => true,
                        (Kind::Symbol('(' | ','), _) => self.is_among_tables(before),
                        _ => false,
                    };
                }
                (_, "FROM" | "JOIN") if depth == 0 => return true,
                (_, word) if depth == 0 && OTHER_CLAUSES.contains(&word) => return false,
                _ => {}
            }
        }
        false
    }

    fn before_is(&self, symbol: char, place: usize) -> bool {
        place.checked_sub(1).is_some_and(|before| self.lexemes[before].kind == Kind::Symbol(symbol))
    }

    /// The bare word at a place, upper case; empty for anything else.
    fn word(&self, place: usize) -> String {
        let lexeme = &self.lexemes[place];
        if lexeme.kind == Kind::Word {
            self.sql[lexeme.span.clone()].to_ascii_uppercase()
        } else {
            String::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        lex(text).unwrap().into_iter().map(|lexeme| lexeme.kind).collect()
    }

    #[test]
    fn quotes_of_every_kind_are_undone() {
        let name = |text: &str| Kind::QuotedName(text.to_owned());
        assert_eq!(kinds(r#""a""b" `c``d` [e"f]"#), [name("a\"b"), name("c`d"), name("e\"f")]);
        assert_eq!(kinds("'it''s' x'00'"), [Kind::Text("it's".to_owned()), Kind::Blob]);
        assert_eq!(kinds("'\\'"), [Kind::Text("\\".to_owned())]);
    }

    #[test]
    fn numbers_words_symbols_and_comments_are_distinguished() {
        assert_eq!(
            kinds("a1$ -1e-5 .5 0x1F -- c\n/* d */ é(?)"),
            [
                Kind::Word,
                Kind::Symbol('-'),
                Kind::Number,
                Kind::Number,
                Kind::Number,
                Kind::Comment,
                Kind::Comment,
                Kind::Word,
                Kind::Symbol('('),
                Kind::Symbol('?'),
                Kind::Symbol(')'),
            ]
        );
    }

    #[test]
    fn unterminated_tokens_are_errors_spans_cover_text() {
        for text in ["'a", "\"a\"\"", "[a", "`", "x'0"] {
            assert_eq!(lex(text), Err(Unclosed), "{text}");
        }
        let text = "CREATE TABLE \"ü\" (x DEFAULT 'é')";
        let rebuilt: Vec<&str> = lex(text).unwrap().iter().map(|l| &text[l.span.clone()]).collect();
        assert_eq!(rebuilt, ["CREATE", "TABLE", "\"ü\"", "(", "x", "DEFAULT", "'é'", ")"]);
    }

    #[test]
    fn names_are_found_in_any_quoting() {
        assert!(mentions("SELECT * FROM [Orders]", "orders"));
        assert!(mentions("SELECT * FROM main.ORDERS o", "orders"));
        assert!(mentions("SELECT * FROM \"we\"\"ird\"", "we\"ird"));
        assert!(!mentions("SELECT * FROM orders_old -- orders", "orders"));
        assert!(mentions("SELECT 'open", "orders"));
    }

    #[test]
    fn only_a_table_is_a_mention() {
        let trigger = "CREATE TRIGGER t AFTER INSERT ON orders FOR EACH ROW WHEN new.a IS NOT NULL BEGIN \
            INSERT INTO log (paid, x) SELECT replace(new.a, 'paid', o.paid), CASE WHEN a IS DISTINCT FROM paid THEN 2 END \
            FROM other AS o JOIN more ON paid > 1 WHERE a IN (SELECT paid FROM (VALUES (paid))) ORDER BY a, paid; END";
        let keywords = ["select", "from", "Create", "trigger", "end", "row", "replace", "values", "or", "on"];
        for other in keywords.into_iter().chain(["paid", "o", "a", "x", "t", "new"]) {
            assert!(!mentions(trigger, other), "{other}");
        }
        for used in ["orders", "log", "other", "more"] {
            assert!(mentions(trigger, used), "{used}");
        }
        for (sql, name) in [
            ("CREATE VIEW v AS SELECT * FROM \"select\"", "select"),
            ("CREATE VIEW v AS SELECT * FROM 'select'", "select"),
            ("CREATE VIEW v AS SELECT * FROM [From]", "from"),
            ("CREATE VIEW v AS SELECT * FROM view", "view"),
            ("CREATE VIEW v AS SELECT * FROM a, row", "row"),
            ("CREATE VIEW v AS SELECT * FROM a JOIN b ON a.x = f(b.x, 1), c", "c"),
            ("CREATE VIEW v AS SELECT * FROM (a JOIN (b, c) USING (x))", "c"),
            ("CREATE VIEW v AS SELECT * FROM ((a))", "a"),
            ("CREATE VIEW v AS SELECT x, (SELECT max(y) FROM main.end), z FROM q", "end"),
            ("CREATE VIEW v AS SELECT x IN orders FROM q", "orders"),
            ("CREATE TRIGGER t INSTEAD OF UPDATE OF a, b ON trigger BEGIN SELECT 1; END", "trigger"),
            ("CREATE TRIGGER t AFTER INSERT ON x BEGIN UPDATE OR IGNORE plan SET a = 1; END", "plan"),
            ("CREATE TRIGGER t AFTER INSERT ON x BEGIN UPDATE /* it */ \"set\" SET a = 1; END", "set"),
        ] {
            assert!(mentions(sql, name), "{sql}");
        }
    }
}
