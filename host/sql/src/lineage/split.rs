//! One statement from the next. Bodies of procedures and jobs count as statements of the text: what they do is what
//! they are made for. Bodies of functions and triggers do not: they run when somebody else does something.

use sqlparser::tokenizer::{Token, TokenWithSpan};

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
pub(super) fn statements(tokens: Vec<TokenWithSpan>, is_whole: bool) -> Vec<Vec<TokenWithSpan>> {
    let mut statements = vec![Vec::new()];
    for token in tokens {
        match token.token {
            Token::Whitespace(_) | Token::EOF => {}
            Token::SemiColon => statements.push(Vec::new()),
            _ => statements.last_mut().expect("it begins with one").push(token),
        }
    }
    if !is_whole {
        statements.pop();
    }
    let mut is_foreign = false;
    statements.retain_mut(|tokens| {
        let words = Words(tokens);
        if is_foreign {
            is_foreign = !words.is(0, "END");
            return false;
        }
        is_foreign = opens_foreign_body(words);
        let begins = opening(words);
        tokens.drain(..begins);
        !is_foreign && !tokens.is_empty()
    });
    statements
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

fn opens_foreign_body(words: Words<'_>) -> bool {
    let kind = kind_created(words).filter(|(kind, _)| *kind == Kind::Foreign);
    kind.is_some_and(|(_, at)| words.find(at, &["BEGIN"]).is_some())
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
        let is_block = words.is(at, "BEGIN") && at + 1 < words.len() && !words.is_any(at + 1, TRANSACTIONS);
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
