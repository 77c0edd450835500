//! Parses a type's text into its tree.

use super::{DEPTH_MAX, ENTRIES, Plain, TEXT_MAX_BYTES, Type, VARCHAR_MAX, with_numbers};
use crate::server::Product;

/// Parses a user's type; the error is the problem.
pub fn parse_type(product: Product, text: &str) -> Result<Type, String> {
    Reader::whole(product, text, false)
}

/// Parses a server's type: `tinyint(1)` is its BOOLEAN, `varchar(*)` its longest.
pub(super) fn read_type(product: Product, text: &str) -> Result<Type, String> {
    Reader::whole(product, text, true)
}

#[derive(Clone, Debug, PartialEq)]
enum Lexeme {
    Word(String),
    Quoted(String),
    Number(u32),
    Symbol(char),
}

struct Reader<'a> {
    product: Product,
    text: &'a str,
    lexemes: Vec<Lexeme>,
    at: usize,
    /// Whether the text is the server's.
    says_server: bool,
}

impl<'a> Reader<'a> {
    fn whole(product: Product, text: &'a str, says_server: bool) -> Result<Type, String> {
        if text.len() > TEXT_MAX_BYTES {
            return Err(format!("the type is longer than {TEXT_MAX_BYTES} bytes"));
        }
        let mut reader = Reader { product, text, lexemes: lexemes(text)?, at: 0, says_server };
        if reader.lexemes.is_empty() {
            return Err(
                "the type is empty; BIGINT, VARCHAR(64), DECIMAL(18,2), DATE or DATETIME would do".to_owned()
            );
        }
        let found = reader.one(1)?;
        match reader.peek() {
            None => Ok(found),
            Some(_) => Err(format!(
                "{:?}: something follows the type; defaults, comments and NOT NULL are members of their own",
                shortened(text)
            )),
        }
    }

    fn peek(&self) -> Option<&Lexeme> {
        self.lexemes.get(self.at)
    }

    fn next(&mut self) -> Option<Lexeme> {
        let lexeme = self.lexemes.get(self.at).cloned();
        self.at += 1;
        lexeme
    }

    fn takes(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(&Lexeme::Symbol(symbol));
        if found {
            self.at += 1;
        }
        found
    }

    fn expects(&mut self, symbol: char) -> Result<(), String> {
        if self.takes(symbol) {
            Ok(())
        } else {
            Err(format!("{:?}: {symbol} is missing", shortened(self.text)))
        }
    }

    fn one(&mut self, depth: usize) -> Result<Type, String> {
        if depth > DEPTH_MAX {
            return Err(format!("the type nests deeper than {DEPTH_MAX}"));
        }
        let Some(Lexeme::Word(word)) = self.next() else {
            return Err(format!("{:?}: a type's name is missing", shortened(self.text)));
        };
        match word.to_ascii_uppercase().as_str() {
            "ARRAY" => {
                self.expects('<')?;
                let item = self.one(depth + 1)?;
                self.expects('>')?;
                Ok(Type::Array(Box::new(item)))
            }
            "MAP" => {
                self.expects('<')?;
                let key = self.one(depth + 1)?;
                self.expects(',')?;
                let value = self.one(depth + 1)?;
                self.expects('>')?;
                Ok(Type::Map(Box::new(key), Box::new(value)))
            }
            "STRUCT" => self.members(depth),
            _ => self.plain(&word),
        }
    }

    fn members(&mut self, depth: usize) -> Result<Type, String> {
        self.expects('<')?;
        let mut members: Vec<(String, Type)> = Vec::new();
        loop {
            let name = match self.next() {
                Some(Lexeme::Quoted(name) | Lexeme::Word(name)) => name,
                _ => return Err(format!("{:?}: a member's name is missing", shortened(self.text))),
            };
            if members.iter().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
                return Err(format!("STRUCT has two members {name:?}"));
            }
            self.takes(':');
            members.push((name, self.one(depth + 1)?));
            if !self.takes(',') {
                break;
            }
        }
        self.expects('>')?;
        Ok(Type::Struct(members))
    }

    fn plain(&mut self, word: &str) -> Result<Type, String> {
        let name = word.to_ascii_uppercase();
        let known = ENTRIES.iter().find(|entry| entry.name == name || entry.aliases.contains(&name.as_str()));
        let Some(entry) = known else {
            return Err(format!(
                "{:?} is not among the types known for {}; BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(18,2), DATE, \
                 DATETIME, VARCHAR(64), STRING, JSON and ARRAY<…> are some that are",
                shortened(self.text),
                self.product.short()
            ));
        };
        if let Some(only) = entry.only.filter(|only| *only != self.product) {
            return Err(format!(
                "{} is a type of {}, not of {}",
                entry.name,
                only.short(),
                self.product.short()
            ));
        }
        let numbers = self.numbers()?;
        if self.says_server && entry.plain == Plain::TinyInt && numbers == [1] {
            return Ok(Type::Plain(Plain::Boolean, Vec::new()));
        }
        with_numbers(self.product, entry.plain, &numbers)
    }

    fn numbers(&mut self) -> Result<Vec<u32>, String> {
        let mut numbers = Vec::new();
        if !self.takes('(') {
            return Ok(numbers);
        }
        loop {
            match self.next() {
                Some(Lexeme::Number(number)) => numbers.push(number),
                Some(Lexeme::Symbol('*')) if self.says_server => numbers.push(VARCHAR_MAX),
                _ => return Err(format!("{:?}: a whole number is missing", shortened(self.text))),
            }
            if !self.takes(',') {
                break;
            }
        }
        self.expects(')')?;
        Ok(numbers)
    }
}

fn lexemes(text: &str) -> Result<Vec<Lexeme>, String> {
    let mut lexemes = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, c)) = chars.next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii() && c.is_alphanumeric();
        match c {
            c if c.is_ascii_whitespace() => {}
            '(' | ')' | '<' | '>' | ',' | ':' | '*' => lexemes.push(Lexeme::Symbol(c)),
            '`' => {
                let rest = &text[start + 1..];
                let end = rest.find('`').ok_or("a backtick in the type is not closed")?;
                let name = &rest[..end];
                if name.is_empty() || !name.chars().all(is_word) {
                    return Err(format!(
                        "{name:?} cannot name a member of a STRUCT: letters, digits and _ can"
                    ));
                }
                lexemes.push(Lexeme::Quoted(name.to_owned()));
                while chars.next_if(|(at, _)| *at <= start + 1 + end).is_some() {}
            }
            c if is_word(c) => {
                let mut end = start + c.len_utf8();
                while let Some((at, c)) = chars.next_if(|(_, c)| is_word(*c)) {
                    end = at + c.len_utf8();
                }
                lexemes.push(word(&text[start..end])?);
            }
            other => {
                return Err(format!(
                    "{other:?} cannot stand in a type; defaults, comments and constraints are members of their own"
                ));
            }
        }
    }
    Ok(lexemes)
}

fn word(text: &str) -> Result<Lexeme, String> {
    if text.bytes().all(|b| b.is_ascii_digit()) {
        return text
            .parse()
            .map(Lexeme::Number)
            .map_err(|_| format!("{text} is too large a number for a type"));
    }
    Ok(Lexeme::Word(text.to_owned()))
}

fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 60;
    let mut shown: String = text.chars().take(SHOWN_CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
