//! Quoting for the CREATE text that people read. Statements that run are not made here: those are tokens,
//! which the host writes.

/// A name in `"`.
pub fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A name with its schema.
pub fn path(schema: &str, text: &str) -> String {
    format!("{}.{}", name(schema), name(text))
}

/// A text that is independent of `standard_conforming_strings`.
pub fn text(value: &str) -> String {
    let doubled = value.replace('\'', "''");
    if value.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// The value of a literal in the catalogue's notation, and the rest; `None` if it is not a literal.
pub fn unquoted(literal: &str) -> Option<(String, &str)> {
    let mut rest = literal.strip_prefix('\'')?;
    let mut inside = String::new();
    loop {
        let (before, behind) = rest.split_once('\'')?;
        inside.push_str(before);
        match behind.strip_prefix('\'') {
            Some(more) => {
                inside.push('\'');
                rest = more;
            }
            None => return Some((inside, behind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_quotes() {
        assert_eq!(name("a\"b"), "\"a\"\"b\"");
        assert_eq!(path("s", "t.u"), "\"s\".\"t.u\"");
        assert_eq!(text("it's"), "'it''s'");
        assert_eq!(text("a\\'"), "E'a\\\\'''");
    }

    #[test]
    fn a_literal_is_separated_from_its_cast() {
        assert_eq!(unquoted("'a''b'::text"), Some(("a'b".to_owned(), "::text")));
        assert_eq!(unquoted("''"), Some((String::new(), "")));
        assert_eq!(unquoted("'a"), None);
        assert_eq!(unquoted("a"), None);
    }
}
