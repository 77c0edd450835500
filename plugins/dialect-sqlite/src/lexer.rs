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

/// Whether a statement contains this name, quoted in any way. Texts count: SQLite accepts them as names in
/// some places.
pub fn mentions(sql: &str, name: &str) -> bool {
    let Ok(lexemes) = lex(sql) else { return true };
    lexemes.iter().any(|lexeme| match &lexeme.kind {
        Kind::Word => sql[lexeme.span.clone()].eq_ignore_ascii_case(name),
        Kind::QuotedName(text) | Kind::Text(text) => text.eq_ignore_ascii_case(name),
        _ => false,
    })
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
}
