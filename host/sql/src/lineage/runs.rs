//! T-SQL needs no separator between statements. The words that begin statements show where a statement that
//! is read word by word ends, and where a run of statements that could not be parsed as a whole may be cut.

use std::ops::Range;

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::split;
use super::words::Words;

/// Words that move rows. In a statement that is read word by word they occur only where [`is_bound`].
const MOVES: &[&str] = &["DELETE", "INSERT", "MERGE", "SELECT", "UPDATE"];
/// A preceding word to which such a word belongs.
const BINDS: &[&str] = &["AFTER", "ALL", "AS", "EXCEPT", "INTERSECT", "OF", "THEN", "UNION"];
/// The relevant objects of CREATE, ALTER and DROP: tables, and bodies that do not run now.
const KINDS: &[&str] = &["FUNCTION", "TABLE", "TRIGGER", "VIEW"];
/// Statements that contain another statement without running it.
const HOLDS_OTHERS: &[&str] = &["DESC", "DESCRIBE", "EXPLAIN"];
/// Statements that contain words which elsewhere begin others, up to one of these.
const RIGHTS: &[&str] = &["GRANT", "REVOKE"];
/// Words that begin a statement at the start of a line.
const LINE_STARTS: &[&str] = &[
    "BEGIN",
    "BREAK",
    "CLOSE",
    "COMMIT",
    "CREATE",
    "DEALLOCATE",
    "DECLARE",
    "DELETE",
    "ELSE",
    "FETCH",
    "IF",
    "INSERT",
    "MERGE",
    "OPEN",
    "PRINT",
    "RETURN",
    "ROLLBACK",
    "THROW",
    "TRUNCATE",
    "UPDATE",
    "USE",
    "WHILE",
];

/// The batches of a text, separated by `GO` on a line of its own.
pub(super) fn batches(tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let words = Words(&tokens);
    let is_alone = |range: Range<usize>| {
        let line = tokens[range.start].span.start.line;
        let ends = range.start.checked_sub(1).and_then(|before| tokens.get(before));
        ends.is_none_or(|token| token.span.end.line < line)
            && tokens.get(range.end).is_none_or(|token| token.span.start.line > line)
    };
    let mut batches = vec![Vec::new()];
    let mut at = 0;
    while at < tokens.len() {
        let is_count = matches!(tokens.get(at + 1).map(|token| &token.token), Some(Token::Number(..)));
        let next = at + if is_count { 2 } else { 1 };
        if words.is(at, "GO") && (is_alone(at..next) || is_alone(at..at + 1)) {
            at = if is_alone(at..next) { next } else { at + 1 };
            batches.push(Vec::new());
        } else {
            batches.last_mut().expect("it begins with one").push(tokens[at].clone());
            at += 1;
        }
    }
    batches
}

/// The end of the first statement, if it is read word by word.
pub(super) fn end_of_first(words: Words<'_>) -> usize {
    let from = if words.is_any(0, HOLDS_OTHERS) || split::makes_foreign(words) {
        None
    } else if words.is_any(0, RIGHTS) {
        words.find(1, &["TO", "FROM"])
    } else {
        Some(1)
    };
    let end = from.and_then(|from| words.find_by(from, |at| begins(words, at)));
    end.unwrap_or(words.len())
}

/// A statement without its `IF` condition.
pub(super) fn after_condition(tokens: &[TokenWithSpan]) -> &[TokenWithSpan] {
    let words = Words(tokens);
    if words.is_any(0, &["ELSE", "IF", "WHILE"]) { &tokens[end_of_first(words)..] } else { tokens }
}

/// Whether a statement begins there that is relevant to lineage.
fn begins(words: Words<'_>, at: usize) -> bool {
    if words.is_any(at, MOVES) {
        return !is_bound(words, at) && !words.is(at + 1, "STATISTICS");
    }
    let kind = words.after(at + 1, &["OR", "ALTER"]);
    (words.is_any(at, &["ALTER", "CREATE", "DROP"]) && words.is_any(kind, KINDS))
        || (words.is(at, "USE") && words.name(at + 1).is_some())
        || (words.is(at, "WITH") && !is_bound(words, at) && names_query(words, at + 1))
}

fn is_bound(words: Words<'_>, at: usize) -> bool {
    let before = at.wrapping_sub(1);
    words.is_any(before, BINDS)
        || [Token::Comma, Token::Period].iter().any(|token| words.is_token(before, token))
        // A foreign key's action: `SET NOCOUNT ON` ends with that word, too.
        || (words.is(before, "ON") && words.is_any(at + 1, &["CASCADE", "NO", "SET"]))
        || (words.is(before, "FOR") && !words.is_any(at, &["SELECT", "WITH"]))
}

/// `x AS (`, `x (a, b) AS (`
fn names_query(words: Words<'_>, at: usize) -> bool {
    let Some((_, next)) = words.name(at) else { return false };
    let next = words.after_group(next).unwrap_or(next);
    words.is(next, "AS") && words.is_token(next + 1, &Token::LParen)
}

/// A run of statements, cut before each line that begins one.
pub(super) fn lines(tokens: &[TokenWithSpan]) -> Vec<&[TokenWithSpan]> {
    let words = Words(tokens);
    let (mut pieces, mut begin) = (Vec::new(), 0);
    let (mut open, mut cases) = (0usize, 0usize);
    for at in 0..tokens.len() {
        let is_first = at > begin && tokens[at].span.start.line > tokens[at - 1].span.end.line;
        if is_first && open == 0 && cases == 0 && begins_line(words, begin, at) {
            pieces.push(&tokens[begin..at]);
            begin = at;
        }
        match &tokens[at].token {
            Token::LParen => open += 1,
            Token::RParen => open = open.saturating_sub(1),
            _ if words.is(at, "CASE") => cases += 1,
            _ if words.is(at, "END") => cases = cases.saturating_sub(1),
            _ => {}
        }
    }
    pieces.push(&tokens[begin..]);
    pieces
}

fn begins_line(words: Words<'_>, begin: usize, at: usize) -> bool {
    if is_bound(words, at) {
        return false;
    }
    if words.is_any(at, &["EXEC", "EXECUTE"]) {
        // `INSERT INTO t EXEC p`
        return !words.is(begin, "INSERT");
    }
    if words.is_any(at, &["INSERT", "UPDATE", "DELETE", "MERGE"]) && words.is(begin, "WITH") {
        return false;
    }
    words.is_any(at, LINE_STARTS)
        || words.is(at, "END")
        || (words.is_any(at, &["ALTER", "DROP"]) && !words.is_any(at + 1, &["COLUMN", "CONSTRAINT"]))
        || (words.is(at, "SET") && sets_option(words, at + 1))
}

/// Not a column of an `UPDATE`.
fn sets_option(words: Words<'_>, at: usize) -> bool {
    let Some((parts, next)) = words.name(at) else { return false };
    let is_variable = parts.first().is_some_and(|part| part.value.starts_with('@'));
    is_variable || !(next..next + 2).any(|at| words.is_token(at, &Token::Eq))
}
