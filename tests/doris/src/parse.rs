//! Reads the lexemes of a statement from left to right; unexpected ones are a syntax error.

use crate::lexer::{Lexeme, literal};

/// A syntax error, in the server's words.
pub type Syntax = (u16, String);

pub struct Reader<'a> {
    lexemes: &'a [Lexeme],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(lexemes: &'a [Lexeme]) -> Reader<'a> {
        Reader { lexemes, at: 0 }
    }

    pub fn peek(&self) -> Option<&'a Lexeme> {
        self.lexemes.get(self.at)
    }

    /// The remaining lexemes.
    pub fn rest(&self) -> &'a [Lexeme] {
        self.lexemes.get(self.at..).unwrap_or_default()
    }

    pub fn advance(&mut self) -> Option<&'a Lexeme> {
        let lexeme = self.lexemes.get(self.at);
        self.at += 1;
        lexeme
    }

    pub fn error(&self) -> Syntax {
        let near = self.lexemes.get(self.at.min(self.lexemes.len().saturating_sub(1)));
        (1105, format!("errCode = 2, detailMessage = Syntax error near {near:?}"))
    }

    /// Consumes the words if they come next.
    pub fn takes(&mut self, words: &str) -> bool {
        let start = self.at;
        for word in words.split(' ') {
            match self.advance() {
                Some(Lexeme::Word(found)) if found.eq_ignore_ascii_case(word) => {}
                _ => {
                    self.at = start;
                    return false;
                }
            }
        }
        true
    }

    pub fn expects(&mut self, words: &str) -> Result<(), Syntax> {
        if self.takes(words) { Ok(()) } else { Err(self.error()) }
    }

    pub fn takes_symbol(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(&Lexeme::Symbol(symbol));
        if found {
            self.at += 1;
        }
        found
    }

    pub fn symbol(&mut self, symbol: char) -> Result<(), Syntax> {
        if self.takes_symbol(symbol) { Ok(()) } else { Err(self.error()) }
    }

    /// A name, in backquotes or bare.
    pub fn name(&mut self) -> Result<String, Syntax> {
        match self.advance() {
            Some(Lexeme::Name(name) | Lexeme::Word(name)) => Ok(name.clone()),
            _ => {
                self.at -= 1;
                Err(self.error())
            }
        }
    }

    /// `database.table`.
    pub fn path(&mut self) -> Result<(String, String), Syntax> {
        let database = self.name()?;
        self.symbol('.')?;
        Ok((database, self.name()?))
    }

    /// `(a, b)`.
    pub fn names(&mut self) -> Result<Vec<String>, Syntax> {
        self.symbol('(')?;
        let mut names = vec![self.name()?];
        while self.takes_symbol(',') {
            names.push(self.name()?);
        }
        self.symbol(')')?;
        Ok(names)
    }

    /// A literal without unescaping.
    pub fn raw(&mut self) -> Result<(char, String), Syntax> {
        match self.advance() {
            Some(Lexeme::Text(quote, inside)) => Ok((*quote, inside.clone())),
            _ => {
                self.at -= 1;
                Err(self.error())
            }
        }
    }

    /// An ordinary literal.
    pub fn text(&mut self) -> Result<String, Syntax> {
        self.raw().map(|(quote, inside)| literal(quote, &inside))
    }

    pub fn number(&mut self) -> Result<u32, Syntax> {
        match self.advance() {
            Some(Lexeme::Number(digits)) => digits.parse().map_err(|_| self.error()),
            _ => {
                self.at -= 1;
                Err(self.error())
            }
        }
    }

    /// The end of the statement.
    pub fn end(&mut self) -> Result<(), Syntax> {
        self.takes_symbol(';');
        if self.peek().is_none() { Ok(()) } else { Err(self.error()) }
    }
}
