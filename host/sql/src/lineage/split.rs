//! Splits a text into statements. Bodies of procedures and jobs count as statements of the text, because
//! running them is their purpose. Bodies of functions and triggers do not: other statements run them.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::Reading;
use super::runs;
use super::words::Words;

/// Words after `BEGIN` that open a transaction instead of a block.
const TRANSACTIONS: &[&str] =
    &["TRANSACTION", "TRAN", "WORK", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", "ISOLATION", "READ"];
/// The most words between `CREATE` and the object's kind.
const KIND_WORDS_MAX: usize = 8;
/// Words that end a compound statement's head and precede its first statement.
const THEN: &[&str] = &["THEN", "DO", "LOOP", "BEGIN"];

/// The kind of a created object, regarding the statements in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They count as the text's own.
    Run,
    /// Other statements trigger them.
    Foreign,
    Other,
}

/// The statements of a text, without blanks and comments. Omits an incomplete last statement.
pub(super) fn statements(
    reading: Reading,
    mut tokens: Vec<TokenWithSpan>,
    is_whole: bool,
) -> Vec<Vec<TokenWithSpan>> {
    tokens.retain(|token| !matches!(token.token, Token::Whitespace(_) | Token::EOF));
    if !is_whole {
        let last = tokens.iter().rposition(|token| token.token == Token::SemiColon);
        tokens.truncate(last.unwrap_or_default());
    }
    let batches = if reading == Reading::TSQL { runs::batches(tokens) } else { vec![tokens] };
    batches.into_iter().flat_map(of_batch).collect()
}

fn of_batch(tokens: Vec<TokenWithSpan>) -> Vec<Vec<TokenWithSpan>> {
    let mut statements = vec![Vec::new()];
    for token in tokens {
        match token.token {
            Token::SemiColon => statements.push(Vec::new()),
            _ => statements.last_mut().expect("it begins with one").push(token),
        }
    }
    let mut depth = 0;
    statements.retain_mut(|tokens| {
        let words = Words(tokens);
        if depth > 0 {
            depth = depth_after(words, 0, depth);
            return false;
        }
        let body = foreign_body(words);
        depth = body.map_or(0, |begin| depth_after(words, begin + 1, 1));
        let begins = opening(words);
        tokens.drain(..begins);
        body.is_none() && !tokens.is_empty()
    });
    statements
}

/// The depth within a body after these words: `BEGIN` and `CASE` open what `END` closes. 0: the body has
/// ended.
fn depth_after(words: Words<'_>, from: usize, mut depth: usize) -> usize {
    for at in from..words.len() {
        let is_opened =
            opens_block(words, at) || (words.is(at, "CASE") && !words.is(at.wrapping_sub(1), "END"));
        // `IF` and similar words have an end of their own.
        let is_closed =
            words.is(at, "END") && !words.is_any(at + 1, &["FOR", "IF", "LOOP", "REPEAT", "WHILE"]);
        if is_opened {
            depth += 1;
        } else if is_closed {
            depth -= 1;
        }
        if depth == 0 {
            break;
        }
    }
    depth
}

/// A block, not a transaction.
fn opens_block(words: Words<'_>, at: usize) -> bool {
    words.is(at, "BEGIN") && at + 1 < words.len() && !words.is_any(at + 1, TRANSACTIONS)
}

/// The created or altered object's kind, and the place of the word that names it.
fn kind_created(words: Words<'_>) -> Option<(Kind, usize)> {
    const KINDS: &[(&str, Kind)] = &[
        ("TABLE", Kind::Other),
        ("VIEW", Kind::Other),
        ("INDEX", Kind::Other),
        ("FUNCTION", Kind::Foreign),
        ("TRIGGER", Kind::Foreign),
        ("EVENT", Kind::Foreign),
        ("PROCEDURE", Kind::Run),
        ("PROC", Kind::Run),
        ("JOB", Kind::Run),
        ("PIPE", Kind::Run),
        ("TASK", Kind::Run),
    ];
    if !words.is_any(0, &["CREATE", "ALTER", "SUBMIT"]) {
        return None;
    }
    (1..words.len().min(KIND_WORDS_MAX)).find_map(|at| {
        let (_, kind) = KINDS.iter().find(|(word, _)| words.is(at, word))?;
        Some((*kind, at))
    })
}

/// Whether it creates a body that other statements trigger.
pub(super) fn makes_foreign(words: Words<'_>) -> bool {
    kind_created(words).is_some_and(|(kind, _)| kind == Kind::Foreign)
}

/// Where the body begins that other statements trigger.
fn foreign_body(words: Words<'_>) -> Option<usize> {
    let (_, at) = kind_created(words).filter(|(kind, _)| *kind == Kind::Foreign)?;
    words.find(at, &["BEGIN"])
}

/// The number of words before the statement itself.
fn opening(words: Words<'_>) -> usize {
    let mut at = 0;
    if let Some((Kind::Run, kind)) = kind_created(words) {
        at = match words.find(kind, &["BEGIN"]) {
            Some(begin) => begin,
            None => words.find(kind, &["AS", "IS", "DO"]).map_or(words.len(), |word| word + 1),
        };
    }
    while at < words.len() {
        let is_block = opens_block(words, at);
        if is_block && words.is_any(at + 1, &["TRY", "CATCH"]) {
            at += 2;
        } else if is_block || words.is_any(at, &["ELSE", "LOOP", "EXCEPTION"]) {
            at += 1;
        } else if words.is_any(at, &["IF", "ELSEIF", "ELSIF", "WHILE", "WHEN", "FOR"]) {
            match words.find(at, THEN) {
                Some(then) => at = then + 1,
                None => break,
            }
        } else {
            break;
        }
    }
    at
}
