//! Lexes a statement as Doris does: words, backquoted names, literals with their raw content, numbers and
//! symbols. A literal's value depends on the clause, so it is not decided here.

/// A lexeme of a statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Lexeme {
    /// A bare word, as written.
    Word(String),
    /// A name in backquotes, undoubled.
    Name(String),
    /// A literal: its quote, and its content as written.
    Text(char, String),
    /// Digits.
    Number(String),
    /// Any other character.
    Symbol(char),
}

/// All lexemes, or the reason why it cannot be read. `;` is a symbol: the parser must refuse text after it.
pub fn lex(sql: &str, backslash_escapes: bool) -> Result<Vec<Lexeme>, String> {
    let chars: Vec<char> = sql.chars().collect();
    let mut at = 0;
    let mut lexemes = Vec::new();
    let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '@' | '$');
    while let Some(&c) = chars.get(at) {
        if c.is_whitespace() {
            at += 1;
        } else if c == '-' && chars.get(at + 1) == Some(&'-')
            || c == '#'
            || c == '/' && chars.get(at + 1) == Some(&'*')
        {
            return Err("a comment in a statement that a plan wrote".to_owned());
        } else if matches!(c, '\'' | '"') {
            let (inside, end) = quoted(&chars, at, c, backslash_escapes)?;
            lexemes.push(Lexeme::Text(c, inside));
            at = end;
        } else if c == '`' {
            let (inside, end) = quoted(&chars, at, c, false)?;
            lexemes.push(Lexeme::Name(inside.replace("``", "`")));
            at = end;
        } else if c.is_ascii_digit() {
            let end = (at..chars.len())
                .find(|i| !chars[*i].is_ascii_digit() && chars[*i] != '.')
                .unwrap_or(chars.len());
            lexemes.push(Lexeme::Number(chars[at..end].iter().collect()));
            at = end;
        } else if word(c) {
            let end = (at..chars.len()).find(|i| !word(chars[*i])).unwrap_or(chars.len());
            lexemes.push(Lexeme::Word(chars[at..end].iter().collect()));
            at = end;
        } else {
            lexemes.push(Lexeme::Symbol(c));
            at += 1;
        }
    }
    Ok(lexemes)
}

/// The content as written, and the position after it.
fn quoted(chars: &[char], start: usize, quote: char, backslash: bool) -> Result<(String, usize), String> {
    let mut inside = String::new();
    let mut at = start + 1;
    while let Some(&c) = chars.get(at) {
        if c == '\\' && backslash {
            inside.push(c);
            inside.push(*chars.get(at + 1).ok_or("a literal does not end")?);
            at += 2;
        } else if c == quote && chars.get(at + 1) == Some(&quote) {
            inside.extend([quote, quote]);
            at += 2;
        } else if c == quote {
            return Ok((inside, at + 1));
        } else {
            inside.push(c);
            at += 1;
        }
    }
    Err("a literal does not end".to_owned())
}

/// An ordinary literal: quotes undoubled, then backslash escapes.
pub fn literal(quote: char, inside: &str) -> String {
    escapes(&inside.replace(&quote.to_string().repeat(2), &quote.to_string()))
}

/// Backslash escapes.
pub fn escapes(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('b') => out.push('\u{8}'),
            Some('0') => out.push('\0'),
            Some('Z') => out.push('\u{1a}'),
            Some(kept @ ('%' | '_')) => out.extend(['\\', kept]),
            Some(other) => out.push(other),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backslash_escapes_quotes_unless_disabled() {
        let sql = r"MODIFY COMMENT 'x\'; DROP TABLE o'";
        assert_eq!(lex(sql, true).unwrap()[2], Lexeme::Text('\'', r"x\'; DROP TABLE o".to_owned()));
        assert!(lex(sql, false).is_err());
        assert_eq!(literal('"', r#"a""b\\c\'"#), r#"a"b\c'"#);
        assert_eq!(lex("`a``b`", true).unwrap(), [Lexeme::Name("a`b".to_owned())]);
    }
}
