//! One statement from the next. Bodies of procedures and jobs count as statements of the text: what they do is what
//! they are made for. Bodies of functions and triggers do not: they run when somebody else does something.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::dialect::Reading;
use super::runs;
use super::words::Words;

/// What follows `BEGIN` where it opens a transaction and no block.
const TRANSACTIONS: &[&str] =
    &["TRANSACTION", "TRAN", "WORK", "DEFERRED", "IMMEDIATE", "EXCLUSIVE", "ISOLATION", "READ"];
/// Words between `CREATE` and what it makes.
const KIND_WORDS_MAX: usize = 8;
/// Where a compound statement's words end and its first statement begins.
const THEN: &[&str] = &["THEN", "DO", "LOOP", "BEGIN"];

/// What is created, as to the statements in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// They are what the text does.
    Run,
    /// They run when others do something.
    Foreign,
    Other,
}

/// The statements of a text, without blanks and comments. The last one is left out where the text breaks off in it.
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

/// How deep within a body a text is behind these words: `BEGIN` and `CASE` open what `END` closes. 0: the body is
/// over.
fn depth_after(words: Words<'_>, from: usize, mut depth: usize) -> usize {
    for at in from..words.len() {
        let is_opened =
            opens_block(words, at) || (words.is(at, "CASE") && !words.is(at.wrapping_sub(1), "END"));
        // What `IF` and its like open has an end of its own.
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

/// What a statement makes or changes, and the place of the word that says so.
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

/// Whether it makes what runs when others do something.
pub(super) fn makes_foreign(words: Words<'_>) -> bool {
    kind_created(words).is_some_and(|(kind, _)| kind == Kind::Foreign)
}

/// Where the body begins of what runs when others do something.
fn foreign_body(words: Words<'_>) -> Option<usize> {
    let (_, at) = kind_created(words).filter(|(kind, _)| *kind == Kind::Foreign)?;
    words.find(at, &["BEGIN"])
}

/// How many words stand before the statement itself.
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
