//! The parts of a field that cannot be written back: the catalogue does not show them unchanged, or the host
//! accepts them in no statement. A definition is written completely or not at all, so such a field is not
//! redefined.

use lakeport_sdk::dialect::{DefaultValue, Field, Table};

use crate::defaults::is_number;
use crate::describe::DENIED_FUNCTIONS;
use crate::extra::{FieldExtra, TableExtra};
use crate::server::Server;
use crate::text::{Lexeme, lex};
use crate::types::{self, Kind, Type};

/// Character sets whose characters the catalogue, with at most three bytes each, may show as `?`.
const WIDE_SETS: [&str; 5] = ["gb18030", "utf16", "utf16le", "utf32", "utf8mb4"];
/// The meaning of a `?` in them.
const IN_DOUBT: &str = "?, which may stand for a character that the server does not show";
/// The host's limit of expressions, in bytes.
const EXPRESSION_MAX_BYTES: usize = 2_000;
/// Functions that the host denies to all dialects and that servers accept in definitions.
const DENIED_BY_HOST: [&str; 9] = [
    "benchmark",
    "get_lock",
    "is_free_lock",
    "is_used_lock",
    "load_file",
    "release_all_locks",
    "release_lock",
    "sleep",
    "sys_eval",
];

/// The obstacles to writing a field of this table, for people.
pub fn unwritable(server: &Server, table: &Table, field: &Field) -> Vec<String> {
    let extra = FieldExtra::of(field);
    let parsed = types::parse(&field.type_text, Some(server)).ok();
    let reading = Reading {
        is_mariadb: server.is_mariadb,
        is_wide: is_wide(table, &extra, parsed.as_ref()),
        parsed: parsed.as_ref(),
    };
    let default = reading.default(&field.defaults_to);
    let generated = field.generated.as_deref().and_then(|text| reading.expression(text));
    let of_itself = [
        parsed.is_none().then(|| format!("the type {}", field.type_text)),
        reading.members(),
        default,
        generated.map(|what| format!("an expression {what}")),
    ];
    extra.unwritable.into_iter().chain(of_itself.into_iter().flatten()).collect()
}

/// Whether the field's values may have characters that the catalogue does not show. A collation's name begins
/// with its character set.
fn is_wide(table: &Table, extra: &FieldExtra, parsed: Option<&Type>) -> bool {
    let collation = TableExtra::of(table).collation;
    let of_table = || collation.split('_').next().unwrap_or_default().to_owned();
    let set = extra.character_set.clone().unwrap_or_else(of_table);
    match parsed {
        Some(parsed) if parsed.kind == Kind::Json => true,
        Some(parsed) => parsed.has_characters() && WIDE_SETS.contains(&set.as_str()),
        None => true,
    }
}

/// How to read the catalogue's text.
struct Reading<'a> {
    is_mariadb: bool,
    is_wide: bool,
    parsed: Option<&'a Type>,
}

impl Reading<'_> {
    fn default(&self, default: &DefaultValue) -> Option<String> {
        let is_binary = self
            .parsed
            .is_some_and(|parsed| matches!(parsed.kind, Kind::Binary | Kind::VarBinary | Kind::Blob(_)));
        let is_shown = |value: &str| value.bytes().all(|b| b.is_ascii() && !matches!(b, b'\0' | b'?'));
        match default {
            DefaultValue::Number(number) if !is_number(number) => {
                Some("a default that is no number, though the server says so".to_owned())
            }
            DefaultValue::Expression(text) => self.expression(text).map(|what| format!("a default {what}")),
            DefaultValue::Text(value) if self.is_mariadb && is_binary && !is_shown(value) => {
                Some("a default whose bytes the server does not say as they are".to_owned())
            }
            DefaultValue::Text(value) if self.is_wide && value.contains('?') => {
                Some(format!("a default with {IN_DOUBT}"))
            }
            _ => None,
        }
    }

    fn members(&self) -> Option<String> {
        let members = self.parsed.map(|parsed| parsed.members.as_slice()).unwrap_or_default();
        (self.is_wide && members.iter().any(|member| member.contains('?')))
            .then(|| format!("a value with {IN_DOUBT}"))
    }

    fn expression(&self, text: &str) -> Option<String> {
        if let Some(name) = denied_function(text) {
            return Some(format!("that calls {name}"));
        }
        if let Some(what) = unread(text) {
            return Some(format!("with {what}"));
        }
        if text.len() > EXPRESSION_MAX_BYTES {
            return Some(format!("of more than {EXPRESSION_MAX_BYTES} bytes"));
        }
        (self.is_mariadb && text.contains('?')).then(|| format!("with {IN_DOUBT}"))
    }
}

/// The first function that the host would refuse.
fn denied_function(text: &str) -> Option<String> {
    lex(text).windows(2).find_map(|pair| match pair {
        [Lexeme::Word(name) | Lexeme::Name(name), Lexeme::Symbol('(')] => {
            let name = name.to_ascii_lowercase();
            let is_denied =
                DENIED_FUNCTIONS.contains(&name.as_str()) || DENIED_BY_HOST.contains(&name.as_str());
            is_denied.then_some(name)
        }
        _ => None,
    })
}

/// A construct that servers print and the host's parser cannot read.
fn unread(text: &str) -> Option<&'static str> {
    let lexemes = lex(text);
    let is_word = |lexeme: &Lexeme, word: &str| matches!(lexeme, Lexeme::Word(known) if known.eq_ignore_ascii_case(word));
    let has = |word: &str| lexemes.iter().any(|lexeme| is_word(lexeme, word));
    let is_char = |pair: &[Lexeme]| is_word(&pair[0], "char") && pair[1] == Lexeme::Symbol('(');
    let is_not = |pair: &[Lexeme]| pair[0] == Lexeme::Symbol('!') && pair[1] != Lexeme::Symbol('=');
    if has("charset") {
        Some("CHARSET")
    } else if has("using") && lexemes.windows(2).any(is_char) {
        Some("CHAR(… USING …)")
    } else {
        lexemes.windows(2).any(is_not).then_some("!")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::parse;

    fn reading(is_mariadb: bool, is_wide: bool, parsed: &Type) -> Reading<'_> {
        Reading { is_mariadb, is_wide, parsed: Some(parsed) }
    }

    #[test]
    fn bytes_and_characters_that_are_not_shown_are_not_written() {
        for (type_text, is_wide, value, expected) in [
            ("varbinary(5)", false, "?A", true),
            ("binary(5)", false, "ab\0\0\0", true),
            ("varbinary(5)", false, "é", true),
            ("varbinary(5)", false, "it's", false),
            ("blob", false, "xyz", false),
            ("varchar(5)", true, "?x", true),
            ("varchar(5)", false, "?é", false),
            ("varchar(5)", true, "数", false),
        ] {
            let parsed = parse(type_text, None).unwrap();
            let found = reading(true, is_wide, &parsed).default(&DefaultValue::Text(value.to_owned()));
            assert_eq!(found.is_some(), expected, "{type_text} {value}");
        }
        let parsed = parse("enum('?','a')", None).unwrap();
        assert!(reading(false, true, &parsed).members().is_some());
        assert!(reading(false, false, &parsed).members().is_none());
    }

    #[test]
    fn expressions_that_the_host_refuses_are_not_written() {
        let parsed = parse("varchar(99)", None).unwrap();
        for (value, expected) in [
            ("nextval(`shop`.`numbers`)", true),
            ("1 + NextVal(`numbers`)", true),
            ("last_insert_id()", true),
            ("concat('nextval(',`nextval`)", false),
            ("concat('????','x')", true),
            ("uuid()", false),
        ] {
            assert_eq!(reading(true, true, &parsed).expression(value).is_some(), expected, "{value}");
        }
        let long = format!("concat('{}')", "x".repeat(EXPRESSION_MAX_BYTES));
        assert!(reading(false, true, &parsed).expression(&long).is_some());
    }
}
