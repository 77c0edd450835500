//! Attacks the lexings: what they read has no gaps, and quoting survives all of them. SQLite itself reads the
//! literals, too.

use lakeport_bindings::dialect::about::TextRule;
use lakeport_fuzz::{Choices, fuzz};
use rusqlite::Connection;

use super::*;
use crate::write::{quote_name, quote_text};

const UNKNOWN: Lexing =
    Lexing { server: Server::Unknown, backslash_escapes: false, double_quoted_names: true };
const LEXINGS: [Lexing; 7] = [
    Lexing::SQLITE,
    Lexing::POSTGRES,
    Lexing::MYSQL,
    Lexing::MYSQL_PLAIN,
    Lexing { double_quoted_names: true, ..Lexing::MYSQL },
    UNKNOWN,
    Lexing { backslash_escapes: true, double_quoted_names: false, ..UNKNOWN },
];
/// What begins, ends or escapes something in any of them.
const WORDS: &[&str] = &[
    "'", "''", "\"", "\"\"", "`", "``", "[", "]", "]]", "\\", "\\\\", "\\'", "\\\"", "--", "-- ", "--\t",
    "--\u{1}", "#", "/*", "*/", "/*!", "/*M!", "/*/", "$", "$$", "$a$", "$é$", "$1$", "$1", "E'", "e'", "N'",
    "n'", "X'", "x'", "B'", "_utf8'", "U&'", "u&\"", "U&", "1e", "1e+5", "1e-", "1.5.6", "0x", "1_0", "a",
    "é", "a$b", "_", ";", "?", "@", ":", "\n", "\r", "\r\n", "\t", "\u{b}", "\u{c}", "\u{85}", "\u{a0}",
    "\u{feff}", "\u{2028}", "\0", "😀", "%", "\\%", "\\_", "\\0", "\\Z", "SELECT", "(",
];

#[test]
fn fuzz_lexing() {
    fuzz!("lexing", 2_000, make, check);
}

fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut text = match choices.below(3) {
        0 => String::from_utf8_lossy(&kept[choices.below(kept.len())]).into_owned(),
        _ => choices.words(WORDS),
    };
    choices.edit_text(&mut text, WORDS);
    text.into_bytes()
}

fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for lexing in LEXINGS {
        if let Ok(lexemes) = lex(&text, lexing) {
            covers(&text, &lexemes);
            can_be_cut(&text, &lexemes, lexing);
        }
        names_survive(&text, lexing);
        literals_survive(&text, lexing);
    }
    sqlite_reads_the_same(&text);
}

/// In order, not empty, with nothing but blanks between them.
fn covers(text: &str, lexemes: &[Lexeme]) {
    let mut end = 0;
    for lexeme in lexemes {
        assert!(lexeme.span.start >= end && lexeme.span.end > lexeme.span.start, "{lexeme:?}");
        blank(&text[end..lexeme.span.start]);
        let written = &text[lexeme.span.clone()];
        match &lexeme.kind {
            Kind::Word => assert!(written.chars().all(word_part), "{lexeme:?}"),
            Kind::Symbol(symbol) => assert_eq!(written.chars().collect::<Vec<_>>(), [*symbol]),
            Kind::Text(value) | Kind::Name(value) => assert!(value.len() <= written.len() * 2, "{lexeme:?}"),
            Kind::Number => {
                let digits = written.strip_prefix('.').unwrap_or(written);
                assert!(digits.starts_with(|c: char| c.is_ascii_digit()), "{lexeme:?}");
            }
            Kind::Comment { .. } => assert!(written.starts_with(['-', '/', '#']), "{lexeme:?}"),
        }
        end = lexeme.span.end;
    }
    blank(&text[end..]);
}

fn blank(text: &str) {
    assert!(text.chars().all(|c| c.is_ascii_whitespace() || c == '\u{b}'), "{text:?} was left out");
}

/// A text that ends behind a lexeme, or begins with one, reads as this part of the whole.
fn can_be_cut(text: &str, lexemes: &[Lexeme], lexing: Lexing) {
    for place in 0..lexemes.len() {
        let end = lexemes[place].span.end;
        // MySQL's `--` is a comment at the end, and two symbols before a word.
        let is_dashes = lexing.server == Server::MySql && text[..end].ends_with("--");
        if !is_dashes {
            assert_eq!(lex(&text[..end], lexing).as_deref(), Ok(&lexemes[..=place]), "before byte {end}");
        }
        // A point and a digit are a number by themselves, and a part of a name behind one.
        if text[end..].trim_start_matches('.').len() < text.len() - end {
            continue;
        }
        let behind = lex(&text[end..], lexing).expect("the rest reads as before");
        let moved = behind
            .into_iter()
            .map(|Lexeme { kind, span }| Lexeme { kind, span: span.start + end..span.end + end });
        assert!(moved.eq(lexemes[place + 1..].iter().cloned()), "behind byte {end}");
    }
}

fn names_survive(text: &str, lexing: Lexing) {
    let quotes: &[char] = match lexing.server {
        Server::Postgres => &['"'],
        _ if lexing.double_quoted_names => &['"', '`'],
        _ => &['`'],
    };
    for quote in quotes {
        let Ok(quoted) = quote_name(text, *quote) else {
            assert!(text.is_empty() || text.contains('\0'), "{text:?} is a name");
            continue;
        };
        is_alone(&quoted, &Kind::Name(text.to_owned()), lexing);
    }
}

fn literals_survive(text: &str, lexing: Lexing) {
    let escapes: &[&str] = match lexing.backslash_escapes {
        true => &["double_and_backslash", "backslash", "backslash_quote"],
        false => &["double", "verbatim"],
    };
    for escape in escapes {
        let rule = TextRule {
            name: "literal".to_owned(),
            prefix: String::new(),
            quotes: vec!["'".to_owned()],
            escape: (*escape).to_owned(),
        };
        if let Ok(quoted) = quote_text(text, &rule) {
            is_alone(&quoted, &Kind::Text(text.to_owned()), lexing);
        } else {
            assert!(text.contains(['\0', '\\', '\'']), "{text:?} fits {escape}");
        }
    }
}

/// The quoted text is one lexeme with this value, whatever stands around it.
fn is_alone(quoted: &str, kind: &Kind, lexing: Lexing) {
    for (before, behind) in [("", ""), ("(", ")"), ("a ", " b"), ("1,", ";2"), ("a.", "-- b")] {
        let lexemes = lex(&format!("{before}{quoted}{behind}"), lexing).expect("a quoted text reads");
        let span = before.len()..before.len() + quoted.len();
        assert!(
            lexemes.contains(&Lexeme { kind: kind.clone(), span }),
            "{quoted} in {before}{behind}: {lexemes:?}"
        );
    }
}

fn sqlite_reads_the_same(text: &str) {
    thread_local! {
        static SQLITE: Connection = Connection::open_in_memory().expect("in memory");
    }
    let rule = crate::testing::text_rule("literal", "double");
    let (Ok(literal), Ok(name)) = (quote_text(text, &rule), quote_name(text, '"')) else { return };
    SQLITE.with(|sqlite| {
        let query = format!("SELECT {literal} AS {name}");
        let mut statement = sqlite.prepare(&query).unwrap_or_else(|error| panic!("{query}: {error}"));
        assert_eq!(statement.column_name(0).as_deref(), Ok(text));
        let value = statement.query_row([], |row| row.get::<_, String>(0));
        assert_eq!(value.as_deref(), Ok(text));
    });
}
