//! The notation of texts in each clause.
//!
//! Doris unescapes a text in three ways, depending on the clause:
//!
//! | clause | what the server does |
//! |---|---|
//! | table comment in `CREATE TABLE` | takes off the quotes, reads backslash escapes; doubled quotes stay doubled |
//! | field comment in a definition | takes off the quotes, removes every backslash |
//! | default in a definition, `MODIFY COMMENT`, `MODIFY COLUMN c COMMENT` | takes off the quotes and nothing else |
//!
//! Before 4.0 an older parser read `ALTER TABLE` and took every text for an ordinary literal. So does
//! StarRocks, everywhere. A text without backslashes, in quotes that it does not contain, is the same to all
//! of them; it is written so wherever possible, and only other texts depend on the clause.

use lakeport_sdk::dialect::TextRule;

use crate::server::{Product, Server, Version};

/// The first version in which Doris reads `ALTER TABLE` by the same parser as `CREATE TABLE`.
const DORIS_ONE_PARSER: Version = (4, 0, 0);

/// Ordinary literals: properties, values, and everything in StarRocks.
pub const LITERAL: &str = "literal";
/// A text without escapes.
pub const PLAIN: &str = "plain";
/// In `"`, with a backslash before quotes and backslashes.
const ESCAPED: &str = "escaped";
/// The same in `'`.
const ESCAPED_SINGLE: &str = "escaped_single";
/// With a backslash before quotes only.
const QUOTE_ESCAPED: &str = "quote_escaped";

/// The clause of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// The table's comment, in `CREATE TABLE`.
    NewTable,
    /// A field's definition, in `CREATE TABLE`.
    NewField,
    /// A field's definition, in `ALTER TABLE`.
    Definition,
    /// A change of the comment only, in `ALTER TABLE`.
    Change,
}

/// All rules, including `literal`.
pub fn rules() -> Vec<TextRule> {
    let rule = |name: &str, quotes: &[&str], escape: &str| TextRule {
        name: name.to_owned(),
        prefix: String::new(),
        quotes: quotes.iter().map(|&quote| quote.to_owned()).collect(),
        escape: escape.to_owned(),
    };
    vec![
        rule(LITERAL, &["\""], "double_and_backslash"),
        rule(PLAIN, &["\"", "'"], "verbatim"),
        rule(ESCAPED, &["\""], "backslash"),
        rule(ESCAPED_SINGLE, &["'"], "backslash"),
        rule(QUOTE_ESCAPED, &["\""], "backslash_quote"),
    ]
}

/// The rule that can write this comment in this clause, or the reason why there is none.
pub fn comment_rule(server: &Server, clause: Clause, text: &str) -> Result<&'static str, String> {
    let double = text.contains('"');
    let both_quotes = double && text.contains('\'');
    let backslash = text.contains('\\');
    if !both_quotes && !backslash {
        return Ok(PLAIN);
    }
    match (server.product, clause) {
        (Product::StarRocks, _) => Ok(LITERAL),
        (Product::Doris, Clause::NewTable) => {
            Ok(if double && !both_quotes { ESCAPED_SINGLE } else { ESCAPED })
        }
        (Product::Doris, Clause::NewField | Clause::Definition) if backslash => {
            Err("Doris removes every backslash from a field's comment where the field is defined".to_owned())
        }
        (Product::Doris, Clause::NewField | Clause::Definition) => Ok(QUOTE_ESCAPED),
        (Product::Doris, Clause::Change) => as_it_stands(server, clause, text),
    }
}

/// The rule that can write this default in this clause, or the reason why there is none.
pub fn default_rule(server: &Server, clause: Clause, text: &str) -> Result<&'static str, String> {
    match server.product {
        Product::StarRocks => Ok(LITERAL),
        Product::Doris => as_it_stands(server, clause, text),
    }
}

/// A text that needs no unescaping except for its quotes.
fn as_it_stands(server: &Server, clause: Clause, text: &str) -> Result<&'static str, String> {
    let alters = matches!(clause, Clause::Definition | Clause::Change);
    let refusal = if text.contains('"') && text.contains('\'') {
        "Doris takes this text as it stands between its quotes: it may have single or double quotes, not both"
    } else if text.ends_with('\\') {
        "Doris takes this text as it stands between its quotes: it may not end with a backslash"
    } else if alters && text.contains('\\') && !server.is_at_least(DORIS_ONE_PARSER) {
        "Doris keeps a backslash in ALTER TABLE from 4.0 on; an older one would read it as an escape"
    } else {
        return Ok(PLAIN);
    };
    Err(refusal.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text in the first quotes of the rule that can hold it, as the contract defines.
    fn written(text: &str, rule: &TextRule) -> Option<String> {
        rule.quotes.iter().find_map(|quote| {
            let inner = match rule.escape.as_str() {
                "double_and_backslash" => {
                    text.replace('\\', "\\\\").replace(quote.as_str(), &format!("{quote}{quote}"))
                }
                "backslash" => text.replace('\\', "\\\\").replace(quote.as_str(), &format!("\\{quote}")),
                "backslash_quote" if !text.contains('\\') => {
                    text.replace(quote.as_str(), &format!("\\{quote}"))
                }
                "verbatim" if !text.contains(quote.as_str()) && !text.ends_with('\\') => text.to_owned(),
                _ => return None,
            };
            Some(format!("{quote}{inner}{quote}"))
        })
    }

    fn unescaped(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match (c, if c == '\\' { chars.next() } else { None }) {
                ('\\', Some('n')) => out.push('\n'),
                ('\\', Some('t')) => out.push('\t'),
                ('\\', Some('r')) => out.push('\r'),
                ('\\', Some('b')) => out.push('\u{8}'),
                ('\\', Some('0')) => out.push('\0'),
                ('\\', Some('Z')) => out.push('\u{1a}'),
                ('\\', Some(other @ ('%' | '_'))) => out.extend(['\\', other]),
                ('\\', Some(other)) => out.push(other),
                (c, _) => out.push(c),
            }
        }
        out
    }

    /// The kind of a text in a clause.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum What {
        Comment,
        Default,
    }

    /// The value that the server reads from a literal in this clause; also checks where its lexer ends the
    /// literal.
    fn stored(server: &Server, clause: Clause, what: What, literal: &str) -> String {
        let quote = &literal[..1];
        let inner = &literal[1..literal.len() - 1];
        let mut chars = inner.chars().peekable();
        while let Some(c) = chars.next() {
            if c == '\\' {
                assert!(chars.next().is_some(), "the literal {literal} does not end where it should");
            } else if c.to_string() == quote {
                assert_eq!(chars.next(), Some(c), "the literal {literal} ends early");
            }
        }
        let older = !server.is_at_least(DORIS_ONE_PARSER);
        match (server.product, clause, what) {
            (Product::StarRocks, ..) => unescaped(&inner.replace(&quote.repeat(2), quote)),
            (_, Clause::Definition | Clause::Change, _) if older => {
                unescaped(&inner.replace(&quote.repeat(2), quote))
            }
            (_, Clause::NewTable, _) => unescaped(inner),
            (_, Clause::NewField | Clause::Definition, What::Comment) => inner.replace('\\', ""),
            (_, Clause::NewField | Clause::Definition, What::Default) | (_, Clause::Change, _) => {
                inner.to_owned()
            }
        }
    }

    fn servers() -> [Server; 4] {
        let doris = |version| Server { version, ..Server::default() };
        [
            doris(None),
            doris(Some((3, 1, 4))),
            doris(Some((4, 0, 0))),
            Server { product: Product::StarRocks, ..Server::default() },
        ]
    }

    fn rule(name: &str) -> TextRule {
        rules().into_iter().find(|rule| rule.name == name).unwrap()
    }

    /// All texts over an alphabet of critical characters.
    fn texts() -> Vec<String> {
        let alphabet = ['a', '\'', '"', '\\', 'n', '%', ';', '\n', '字'];
        let mut all = vec![String::new()];
        let mut last = all.clone();
        for _ in 0..4 {
            last = last.iter().flat_map(|text| alphabet.map(|c| format!("{text}{c}"))).collect();
            all.extend(last.iter().cloned());
        }
        all
    }

    #[test]
    fn texts_round_trip_or_are_refused() {
        type Rule = fn(&Server, Clause, &str) -> Result<&'static str, String>;
        let places: [(What, Rule, Clause); 6] = [
            (What::Comment, comment_rule, Clause::NewTable),
            (What::Comment, comment_rule, Clause::NewField),
            (What::Comment, comment_rule, Clause::Definition),
            (What::Comment, comment_rule, Clause::Change),
            (What::Default, default_rule, Clause::NewField),
            (What::Default, default_rule, Clause::Definition),
        ];
        for server in servers() {
            for (what, rule_of, clause) in places {
                let mut refused = 0;
                for text in texts() {
                    let Ok(name) = rule_of(&server, clause, &text) else {
                        refused += 1;
                        continue;
                    };
                    let literal =
                        written(&text, &rule(name)).expect("the rule that was chosen carries the text");
                    let kept = stored(&server, clause, what, &literal);
                    assert_eq!(kept, text, "{} {what:?} {clause:?} {literal}", server.shown());
                }
                let may_refuse = server.product == Product::Doris && clause != Clause::NewTable;
                assert_eq!(refused > 0, may_refuse, "{} {what:?} {clause:?}", server.shown());
            }
        }
    }

    #[test]
    fn what_is_refused_is_just_what_doris_cannot_keep() {
        let [unknown, older, newer, _] = servers();
        let refused = |clause, text| comment_rule(&newer, clause, text).is_err();
        assert!(refused(Clause::Definition, "a\\b") && !refused(Clause::Change, "a\\b"));
        assert!(refused(Clause::Change, "it's \"so\"") && !refused(Clause::Definition, "it's \"so\""));
        assert!(refused(Clause::Change, "C:\\") && !refused(Clause::NewTable, "C:\\"));
        assert!(!refused(Clause::Change, "it's") && !refused(Clause::Change, "say \"so\""));
        for server in [unknown, older] {
            assert!(comment_rule(&server, Clause::Change, "a\\b").is_err());
            assert!(default_rule(&server, Clause::Definition, "a\\b").is_err());
            assert_eq!(default_rule(&server, Clause::NewField, "a\\b"), Ok(PLAIN));
        }
        assert_eq!(default_rule(&newer, Clause::Definition, "C:\\a\"b"), Ok(PLAIN));
        assert!(default_rule(&newer, Clause::NewField, "'\"").is_err());
    }
}
