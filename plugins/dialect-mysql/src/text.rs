//! Reads SQL as the server prints it: literals, and the names in a text.
//!
//! For comparing only; nothing here ever becomes part of a statement.

/// A lexeme of a text.
#[derive(Clone, Debug, PartialEq)]
pub enum Lexeme {
    /// A name in backticks, or in `"` as `ANSI_QUOTES` prints it.
    Name(String),
    /// A bare word or number.
    Word(String),
    /// Any other character.
    Symbol(char),
}

/// Reads a text. Omits literals, which name no objects.
pub fn lex(text: &str) -> Vec<Lexeme> {
    let mut lexemes = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => drop(quoted(&mut rest, '\'', true)),
            '`' | '"' => lexemes.push(Lexeme::Name(quoted(&mut rest, c, false).unwrap_or_default())),
            c if is_word(c) => {
                let mut word = String::from(c);
                while let Some(c) = rest.next_if(|c| is_word(*c)) {
                    word.push(c);
                }
                lexemes.push(Lexeme::Word(word));
            }
            c if c.is_whitespace() => {}
            c => lexemes.push(Lexeme::Symbol(c)),
        }
    }
    lexemes
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// The text up to the closing quote, with inner quotes doubled or escaped; `None` if the quote is missing.
fn quoted(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char, escapes: bool) -> Option<String> {
    let mut value = String::new();
    while let Some(c) = rest.next() {
        if c == '\\' && escapes {
            value.push(unescaped(rest.next()?));
        } else if c != quote {
            value.push(c);
        } else if rest.next_if_eq(&quote).is_some() {
            value.push(quote);
        } else {
            return Some(value);
        }
    }
    None
}

fn unescaped(c: char) -> char {
    match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        '0' => '\0',
        'Z' => '\u{1a}',
        c => c,
    }
}

/// The value of a text that is exactly one literal in single quotes.
pub fn literal(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix('\'')?.chars().peekable();
    let value = quoted(&mut rest, '\'', true)?;
    rest.next().is_none().then_some(value)
}

/// Character sets that MySQL writes before literals and that include ASCII.
const INTRODUCERS: [&str; 5] = ["_utf8mb4", "_utf8mb3", "_utf8", "_latin1", "_ascii"];

/// An expression of MySQL's catalogue, which escapes the text once more than `SHOW` does.
pub fn catalogue_expression(text: &str) -> String {
    without_introducers(&catalogue_unescaped(&catalogue_decoded(text)))
}

/// MySQL shows each byte of a non-ASCII character as a character of its own: `Ã©` for `é`.
fn catalogue_decoded(text: &str) -> String {
    let bytes: Result<Vec<u8>, _> = text.chars().map(|c| u8::try_from(u32::from(c))).collect();
    let decoded = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.unwrap_or_else(|| text.to_owned())
}

/// The expression without character sets before ASCII literals: MySQL changes them when it rebuilds a table,
/// so the expressions would seem to differ.
fn without_introducers(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let introduced = INTRODUCERS
            .iter()
            .find_map(|set| rest.strip_prefix(set).filter(|behind| behind.starts_with('\'')))
            .filter(|behind| stretch(behind).is_ascii() && !plain.ends_with(is_word));
        rest = introduced.unwrap_or(rest);
        let whole = match (introduced, c) {
            (Some(_), _) | (None, '\'' | '`' | '"') => stretch(rest),
            (None, c) => &rest[..c.len_utf8()],
        };
        plain.push_str(whole);
        rest = &rest[whole.len()..];
    }
    plain
}

/// The literal at the start of a text, with its quotes.
fn stretch(text: &str) -> &str {
    let mut chars = text.chars();
    let Some(quote) = chars.next() else { return text };
    let mut rest = chars.as_str().chars().peekable();
    let mut length = quote.len_utf8();
    while let Some(c) = rest.next() {
        length += c.len_utf8();
        if c == '\\' && quote == '\'' {
            length += rest.next().map_or(0, char::len_utf8);
        } else if c == quote {
            match rest.next_if_eq(&quote) {
                Some(_) => length += quote.len_utf8(),
                None => return &text[..length],
            }
        }
    }
    text
}

fn catalogue_unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => plain.extend(rest.next().map(unescaped)),
            c => plain.push(c),
        }
    }
    plain
}

/// Whether a text contains this name, quoted or bare, ignoring case.
pub fn mentions(text: &str, name: &str) -> bool {
    has_name(&lex(text), name)
}

/// The same for lexemes.
pub fn has_name(lexemes: &[Lexeme], name: &str) -> bool {
    lexemes.iter().any(|lexeme| match lexeme {
        Lexeme::Name(known) | Lexeme::Word(known) => same_name(known, name),
        Lexeme::Symbol(_) => false,
    })
}

/// Whether a view's definition names this table. The server prints it with its database.
pub fn has_table(lexemes: &[Lexeme], database: &str, table: &str) -> bool {
    let is = |lexeme: &Lexeme, name: &str| matches!(lexeme, Lexeme::Name(known) if known == name);
    lexemes
        .windows(3)
        .any(|three| is(&three[0], database) && three[1] == Lexeme::Symbol('.') && is(&three[2], table))
}

/// The names in backticks, in order.
pub fn names(text: &str) -> Vec<String> {
    let name = |lexeme| match lexeme {
        Lexeme::Name(name) => Some(name),
        _ => None,
    };
    lex(text).into_iter().filter_map(name).collect()
}

/// Whether two names of fields are equal to the server, which ignores case.
pub fn same_name(one: &str, other: &str) -> bool {
    one.to_lowercase() == other.to_lowercase()
}

/// A table's name before the recycle bin renamed it: `orders` for `orders_deprecated_20260131120000`.
pub fn before_recycle_bin(name: &str) -> Option<&str> {
    let (before, digits) = name.rsplit_once("_deprecated_")?;
    let is_time = digits.len() == 14 && digits.bytes().all(|b| b.is_ascii_digit());
    (is_time && !before.is_empty()).then_some(before)
}

/// The first character that the server's catalogue cannot store: it would silently become `?`.
pub fn beyond_catalogue(text: &str) -> Option<char> {
    text.chars().find(|c| u32::from(*c) > 0xFFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_one_or_none() {
        assert_eq!(literal("'it''s'").as_deref(), Some("it's"));
        assert_eq!(literal(r"'a\'b\\c\n'").as_deref(), Some("a'b\\c\n"));
        assert_eq!(literal("''").as_deref(), Some(""));
        for text in ["'a", "'a' || 'b'", "a", "1", r"'a\'", ""] {
            assert_eq!(literal(text), None, "{text}");
        }
    }

    #[test]
    fn expressions_of_the_catalogue_are_read_as_show_prints_them() {
        assert_eq!(catalogue_expression(r"concat(`d`,_utf8mb4\'x\\\'y\\\\z\')"), r"concat(`d`,'x\'y\\z')");
        for (given, expected) in [
            (r"concat(`_utf8mb4'`,_latin1\'x\')", "concat(`_utf8mb4'`,'x')"),
            (r"_utf8mb4\'数\'", "_utf8mb4'数'"),
            (r"_binary\'x\'", "_binary'x'"),
            (r"concat(\'_utf8mb4\\\'\',`a`)", r"concat('_utf8mb4\'',`a`)"),
            (r"a_utf8mb4\'x", "a_utf8mb4'x"),
        ] {
            assert_eq!(catalogue_expression(given), expected, "{given}");
        }
        assert_eq!(catalogue_expression("(`a` + 1)"), "(`a` + 1)");
        let bytes: String = "concat(`ü`,_utf8mb4'数😀')".bytes().map(char::from).collect();
        assert_eq!(catalogue_expression(&bytes), "concat(`ü`,_utf8mb4'数😀')");
        assert_eq!(catalogue_expression("'é'"), "'é'");
    }

    #[test]
    fn names_are_found_quoted_and_bare_and_not_in_literals() {
        assert!(mentions("(`a` + 1)", "A"));
        assert!(mentions("set new.b = new.a", "b"));
        assert!(mentions("`x``y` > 0", "x`y"));
        assert!(!mentions("concat('a', `b`)", "a"));
        assert!(!mentions("`ab`", "a"));
        assert_eq!(names("year(`dt`)"), ["dt"]);
    }

    #[test]
    fn a_view_names_a_table_with_its_database() {
        let lexemes = lex("select `shop`.`orders`.`id` AS `id` from `shop`.`orders` where 1");
        assert!(has_table(&lexemes, "shop", "orders"));
        assert!(!has_table(&lexemes, "shop", "order"));
        assert!(!has_table(&lexemes, "other", "orders"));
    }

    #[test]
    fn recycled_tables_map_to_original_names() {
        assert_eq!(before_recycle_bin("a_deprecated_20260131120000"), Some("a"));
        for name in ["a", "a_deprecated_2026", "_deprecated_20260131120000", "a_deprecated_2026013112000x"] {
            assert_eq!(before_recycle_bin(name), None, "{name}");
        }
    }

    #[test]
    fn characters_beyond_three_bytes_are_found() {
        assert_eq!(beyond_catalogue("数据 é"), None);
        assert_eq!(beyond_catalogue("a😀"), Some('😀'));
    }
}
