//! A statement's tokens as words, for reading statements without parsing them.

use std::ops::Range;

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// A statement's tokens, without blanks and comments.
#[derive(Clone, Copy)]
pub(super) struct Words<'t>(pub &'t [TokenWithSpan]);

impl<'t> Words<'t> {
    pub fn len(self) -> usize {
        self.0.len()
    }

    fn token(self, at: usize) -> Option<&'t Token> {
        self.0.get(at).map(|token| &token.token)
    }

    fn word(self, at: usize) -> Option<&'t Word> {
        match self.token(at)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// Whether this bare word is there.
    pub fn is(self, at: usize, word: &str) -> bool {
        self.word(at)
            .is_some_and(|found| found.quote_style.is_none() && found.value.eq_ignore_ascii_case(word))
    }

    pub fn is_any(self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }

    /// Whether these bare words are there, in this order.
    pub fn are(self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(offset, word)| self.is(at + offset, word))
    }

    pub fn is_token(self, at: usize, token: &Token) -> bool {
        self.token(at) == Some(token)
    }

    /// Whether a query begins there.
    pub fn begins_query(self, at: usize) -> bool {
        if self.is_token(at, &Token::LParen) {
            // Skips any number of parentheses around a query.
            let inner = (at..self.len()).find(|at| !self.is_token(*at, &Token::LParen));
            return inner.is_some_and(|inner| self.is_any(inner, &["SELECT", "WITH", "VALUES", "FROM"]));
        }
        self.is_any(at, &["SELECT", "WITH", "VALUES"])
    }

    /// The first of these bare words outside of parentheses.
    pub fn find(self, from: usize, words: &[&str]) -> Option<usize> {
        self.find_by(from, |at| self.is_any(at, words))
    }

    /// The first matching place outside of parentheses.
    pub fn find_by(self, from: usize, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let mut depth = 0usize;
        for at in from..self.len() {
            if depth == 0 && fits(at) {
                return Some(at);
            }
            match self.token(at) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        None
    }

    /// The place after the matching closing parenthesis.
    pub fn after_group(self, at: usize) -> Option<usize> {
        if !self.is_token(at, &Token::LParen) {
            return None;
        }
        let mut depth = 0usize;
        for at in at..self.len() {
            match self.token(at) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) if depth == 1 => return Some(at + 1),
                Some(Token::RParen) => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// The name at this place, and the place after it.
    pub fn name(self, at: usize) -> Option<(Vec<Ident>, usize)> {
        let mut parts = vec![self.ident(at)?];
        let mut next = at + 1;
        while self.is_token(next, &Token::Period) {
            parts.push(self.ident(next + 1)?);
            next += 2;
        }
        Some((parts, next))
    }

    fn ident(self, at: usize) -> Option<Ident> {
        let word = self.word(at)?;
        Some(Ident { value: word.value.clone(), quote_style: word.quote_style, span: self.0[at].span })
    }

    /// The place after these words, if they are there.
    pub fn after(self, at: usize, words: &[&str]) -> usize {
        if self.are(at, words) { at + words.len() } else { at }
    }

    /// The place after `IF EXISTS` or `IF NOT EXISTS`, if it is there.
    pub fn after_if(self, at: usize) -> usize {
        self.after(self.after(at, &["IF", "EXISTS"]), &["IF", "NOT", "EXISTS"])
    }

    pub fn copied(self, range: Range<usize>) -> &'t [TokenWithSpan] {
        &self.0[range]
    }
}

/// A bare word that does not come from the text.
pub(super) fn bare(word: &str, keyword: Keyword, like: &TokenWithSpan) -> TokenWithSpan {
    let token = Token::Word(Word { value: word.to_owned(), quote_style: None, keyword });
    TokenWithSpan { token, span: like.span }
}
