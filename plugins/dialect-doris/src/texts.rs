//! How texts are written, clause by clause.
//!
//! Doris takes the escapes out of a comment in three ways, depending on where it stands:
//!
//! | clause | what the server does |
//! |---|---|
//! | table comment in `CREATE TABLE` | takes off the quotes, reads backslash escapes; doubled quotes stay doubled |
//! | field comment in a definition | takes off the quotes, removes every backslash |
//! | `MODIFY COMMENT`, `MODIFY COLUMN c COMMENT` | takes off the quotes and nothing else |
//!
//! StarRocks reads all of them as it reads any literal. A text that stands in quotes which it does not
//! contain, and that has no backslash, is the same to all of them; so that is how it is written wherever
//! possible, and only the rest depends on the clause.

use lakeport_sdk::dialect::TextRule;

use crate::server::Product;

/// Ordinary literals: defaults, properties, values.
pub const LITERAL: &str = "literal";
/// Nothing in it is escaped.
pub const PLAIN: &str = "plain";
/// Quotes and backslashes get a backslash, in `"`.
const ESCAPED: &str = "escaped";
/// The same in `'`.
const ESCAPED_SINGLE: &str = "escaped_single";
/// Quotes get a backslash; there is no other.
const QUOTE_ESCAPED: &str = "quote_escaped";

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// The table's, in `CREATE TABLE`.
    NewTable,
    /// A field's, in its definition.
    Definition,
    /// The comment alone changes.
    Change,
}

/// All rules, `literal` among them.
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

/// The rule that carries this comment in this clause, or why none does.
pub fn comment_rule(product: Product, clause: Clause, text: &str) -> Result<&'static str, String> {
    let double = text.contains('"');
    let both_quotes = double && text.contains('\'');
    let backslash = text.contains('\\');
    if !both_quotes && !backslash {
        return Ok(PLAIN);
    }
    match (product, clause) {
        (Product::StarRocks, _) => Ok(LITERAL),
        (Product::Doris, Clause::NewTable) => {
            Ok(if double && !both_quotes { ESCAPED_SINGLE } else { ESCAPED })
        }
        (Product::Doris, Clause::Definition) if backslash => {
            Err("Doris removes every backslash from a field's comment where the field is defined".to_owned())
        }
        (Product::Doris, Clause::Definition) => Ok(QUOTE_ESCAPED),
        (Product::Doris, Clause::Change) if both_quotes => {
            Err("Doris changes a comment only to one that has single or double quotes, not both".to_owned())
        }
        (Product::Doris, Clause::Change) if text.ends_with('\\') => {
            Err("Doris changes a comment only to one that does not end with a backslash".to_owned())
        }
        (Product::Doris, Clause::Change) => Ok(PLAIN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first quotes of the rule that carry the text, and the inside, as the contract says it.
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

    /// What the server makes of a literal in this place; the lexer's end of it is checked on the way.
    fn stored(product: Product, clause: Option<Clause>, literal: &str) -> String {
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
        match (product, clause) {
            (Product::StarRocks, _) | (_, None) => unescaped(&inner.replace(&quote.repeat(2), quote)),
            (_, Some(Clause::NewTable)) => unescaped(inner),
            (_, Some(Clause::Definition)) => inner.replace('\\', ""),
            (_, Some(Clause::Change)) => inner.to_owned(),
        }
    }

    fn rule(name: &str) -> TextRule {
        rules().into_iter().find(|rule| rule.name == name).unwrap()
    }

    /// All texts over an alphabet that has everything that could go wrong.
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
    fn whatever_is_written_is_stored_as_it_was_meant_or_refused() {
        for product in [Product::Doris, Product::StarRocks] {
            for clause in [Clause::NewTable, Clause::Definition, Clause::Change] {
                let mut refused = 0;
                for text in texts() {
                    let Ok(name) = comment_rule(product, clause, &text) else {
                        refused += 1;
                        continue;
                    };
                    let literal =
                        written(&text, &rule(name)).expect("the rule that was chosen carries the text");
                    assert_eq!(
                        stored(product, Some(clause), &literal),
                        text,
                        "{product:?} {clause:?} {literal}"
                    );
                }
                let may_refuse = product == Product::Doris && clause != Clause::NewTable;
                assert_eq!(refused > 0, may_refuse, "{product:?} {clause:?}");
            }
            for text in texts() {
                let literal = written(&text, &rule(LITERAL)).unwrap();
                assert_eq!(stored(product, None, &literal), text, "{literal}");
            }
        }
    }

    #[test]
    fn what_is_refused_is_just_what_doris_cannot_keep() {
        let refused = |clause, text| comment_rule(Product::Doris, clause, text).is_err();
        assert!(refused(Clause::Definition, "a\\b") && !refused(Clause::Change, "a\\b"));
        assert!(refused(Clause::Change, "it's \"so\"") && !refused(Clause::Definition, "it's \"so\""));
        assert!(refused(Clause::Change, "C:\\") && !refused(Clause::NewTable, "C:\\"));
        assert!(!refused(Clause::Change, "it's") && !refused(Clause::Change, "say \"so\""));
    }
}
