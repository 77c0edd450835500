//! Writes a value at its place: it stays data, whatever it is.

use lakeport_sql::lex::{Lexing, Server};

use super::parts::Place;
use super::places::{Backslash, Quoting};

/// The characters of a value in a script, besides letters and digits.
const SCRIPT: &str = "_.:/ -";

/// A value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    pub text: String,
    /// Whether it is a number where it stands by itself. That does not depend on the date.
    pub is_number: bool,
}

/// Puts a value behind what is written; `next` is the character behind it. `shown` is the parameter.
pub fn put(
    written: &mut String,
    value: &Value,
    (place, lexing): (Place, Lexing),
    next: Option<char>,
    shown: &str,
) -> Result<(), String> {
    match place {
        Place::Script => {
            fits_script(shown, &value.text)?;
            written.push_str(&value.text);
        }
        Place::Literal(quoting) => escape(written, &value.text, quoting, shown)?,
        Place::Bare => {
            // Two literals that touch would become one, and `U&'` would open another kind.
            if written.ends_with(['\'', '"', '&']) {
                written.push(' ');
            }
            match value.text.strip_prefix('-') {
                // After a minus it would begin a comment.
                Some(_) if value.is_number => written.push_str(&format!("({})", value.text)),
                _ if value.is_number => written.push_str(&value.text),
                _ => {
                    written.push('\'');
                    escape(written, &value.text, quoting(lexing), shown)?;
                    written.push('\'');
                }
            }
            if matches!(next, Some('\'' | '"')) {
                written.push(' ');
            }
        }
    }
    Ok(())
}

/// Whether a shell reads a value as one part of a word, or some words.
pub fn fits_script(shown: &str, value: &str) -> Result<(), String> {
    match value.chars().find(|c| !c.is_ascii_alphanumeric() && !SCRIPT.contains(*c)) {
        None => Ok(()),
        Some(c) => Err(format!(
            "the value of {shown} has {c:?}; in a script it has letters, digits and `_ . : / -` alone"
        )),
    }
}

/// An ordinary literal.
fn quoting(lexing: Lexing) -> Quoting {
    let backslash = match lexing.server {
        Server::Unknown => Backslash::Unknown,
        _ if lexing.backslash_escapes => Backslash::Escape,
        _ => Backslash::Plain,
    };
    Quoting { quote: '\'', backslash }
}

fn escape(written: &mut String, value: &str, quoting: Quoting, shown: &str) -> Result<(), String> {
    for c in value.chars() {
        match (c, quoting.backslash) {
            ('\\', Backslash::Unknown) => {
                return Err(format!(
                    "the value of {shown} has a backslash, which this database may read as another character"
                ));
            }
            ('\\', Backslash::Escape) => written.push('\\'),
            _ if c == quoting.quote => written.push(c),
            _ => {}
        }
        written.push(c);
    }
    Ok(())
}
