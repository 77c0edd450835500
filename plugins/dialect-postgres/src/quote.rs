//! Quoting for the text that people read as the statement that makes a table. No statement that runs is
//! made here: those are tokens, and the host writes them.

/// A name in `"`.
pub fn name(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// A name with the schema before it.
pub fn path(schema: &str, text: &str) -> String {
    format!("{}.{}", name(schema), name(text))
}

/// A text that reads the same whatever `standard_conforming_strings` is.
pub fn text(value: &str) -> String {
    let doubled = value.replace('\'', "''");
    if value.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// A text literal as the catalogue writes it, without its quotes; none where it is none or goes on.
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
    fn a_literal_is_told_from_what_follows_it() {
        assert_eq!(unquoted("'a''b'::text"), Some(("a'b".to_owned(), "::text")));
        assert_eq!(unquoted("''"), Some((String::new(), "")));
        assert_eq!(unquoted("'a"), None);
        assert_eq!(unquoted("a"), None);
    }
}
