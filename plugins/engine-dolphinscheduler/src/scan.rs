//! Reads a task's SQL: its statements, its literals and the places of its values, as the database reads them.

use lakeport_sdk::engine::{BodyPart, BodyValue};

/// How a database reads SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Postgres,
    /// MySQL and MariaDB.
    MySql,
    /// Read like MySQL.
    Doris,
}

impl Dialect {
    /// Whether a backslash begins an escape in every literal.
    pub fn has_escapes(self) -> bool {
        self != Dialect::Postgres
    }
}

/// A character, or a value in its place.
#[derive(Clone, Copy, Debug)]
pub enum Unit<'b> {
    Char(char),
    Value(&'b BodyValue),
}

/// A part of a statement.
#[derive(Clone, Debug)]
pub enum Token<'b> {
    /// Code without quotes.
    Char(char),
    /// A word, in capitals, and how deep within parentheses it stands. Its characters come before it.
    Word(String, usize),
    /// A value by itself.
    Bare(&'b BodyValue),
    /// A literal or a quoted name, with its quotes.
    Quoted(Vec<Unit<'b>>),
    /// A comment that the database does not run.
    Comment,
    /// `;`
    End,
}

/// The tokens of a body; or why it cannot be read.
pub fn scan<'b>(body: &'b [BodyPart], dialect: Dialect) -> Result<Vec<Token<'b>>, String> {
    let mut units = Vec::new();
    for part in body {
        match part {
            BodyPart::Text(text) => units.extend(text.chars().map(Unit::Char)),
            BodyPart::Value(value) => units.push(Unit::Value(value)),
        }
    }
    let mut scanner = Scanner { units, at: 0, dialect, tokens: Vec::new(), depth: 0 };
    scanner.run()?;
    Ok(scanner.tokens)
}

struct Scanner<'b> {
    units: Vec<Unit<'b>>,
    at: usize,
    dialect: Dialect,
    tokens: Vec<Token<'b>>,
    depth: usize,
}

impl<'b> Scanner<'b> {
    fn char(&self, ahead: usize) -> Option<char> {
        match self.units.get(self.at + ahead) {
            Some(Unit::Char(c)) => Some(*c),
            _ => None,
        }
    }

    fn starts_with(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.char(ahead) == Some(c))
    }

    fn run(&mut self) -> Result<(), String> {
        while let Some(unit) = self.units.get(self.at).copied() {
            let c = match unit {
                Unit::Value(value) => {
                    self.tokens.push(Token::Bare(value));
                    self.at += 1;
                    continue;
                }
                Unit::Char(c) => c,
            };
            match c {
                '\'' | '"' | '`' => self.quoted(c)?,
                '-' if self.is_line_comment() => self.line_comment(),
                '#' if self.dialect != Dialect::Postgres => self.line_comment(),
                '/' if self.starts_with("/*") && !self.is_executable() => self.block_comment()?,
                '$' if self.dialect == Dialect::Postgres && self.tag().is_some() => self.dollar_quoted()?,
                ';' => self.push(Token::End),
                '(' => self.parenthesis(1),
                ')' => self.parenthesis(-1),
                _ if is_word(c) => self.word(),
                _ => self.push(Token::Char(c)),
            }
        }
        Ok(())
    }

    fn push(&mut self, token: Token<'b>) {
        self.tokens.push(token);
        self.at += 1;
    }

    fn parenthesis(&mut self, by: isize) {
        self.depth = self.depth.saturating_add_signed(by);
        let c = if by > 0 { '(' } else { ')' };
        self.push(Token::Char(c));
    }

    fn word(&mut self) {
        let mut word = String::new();
        while let Some(c) = self.char(0).filter(|c| is_word(*c)) {
            word.extend(c.to_uppercase());
            self.push(Token::Char(c));
        }
        self.tokens.push(Token::Word(word, self.depth));
    }

    /// MySQL wants a blank behind the dashes.
    fn is_line_comment(&self) -> bool {
        let has_blank = self.char(2).is_none_or(|c| c.is_whitespace() || c.is_control());
        self.starts_with("--") && (self.dialect == Dialect::Postgres || has_blank)
    }

    /// `/*!…*/` is run by MySQL, and `/*+…*/` is a hint for the planner.
    fn is_executable(&self) -> bool {
        let is_run = ["/*!", "/*M!"].iter().any(|open| self.starts_with(open));
        self.dialect != Dialect::Postgres && is_run || self.starts_with("/*+")
    }

    fn line_comment(&mut self) {
        while self.char(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
        self.tokens.push(Token::Comment);
    }

    fn block_comment(&mut self) -> Result<(), String> {
        let mut depth = 0;
        loop {
            let c = self.char(0).ok_or("a comment has no end")?;
            let pair = [Some(c), self.char(1)];
            let step = match pair {
                [Some('/'), Some('*')] if depth == 0 || self.dialect == Dialect::Postgres => 1,
                [Some('*'), Some('/')] => -1,
                _ => 0,
            };
            self.at += if step == 0 { 1 } else { 2 };
            depth += step;
            if depth == 0 {
                self.tokens.push(Token::Comment);
                return Ok(());
            }
        }
    }

    /// A literal or a name in quotes of one kind.
    fn quoted(&mut self, quote: char) -> Result<(), String> {
        let has_escapes = match self.dialect {
            Dialect::MySql | Dialect::Doris => quote != '`',
            Dialect::Postgres => quote == '\'' && self.is_escape_string(),
        };
        let mut content = vec![Unit::Char(quote)];
        self.at += 1;
        loop {
            let unit = self.units.get(self.at).copied();
            let unit = unit.ok_or_else(|| format!("there is a {quote} without its other one"))?;
            content.push(unit);
            self.at += 1;
            match unit {
                Unit::Char('\\') if has_escapes => {
                    content.extend(self.units.get(self.at).copied());
                    self.at += 1;
                }
                Unit::Char(c) if c == quote => match self.char(0) {
                    Some(next) if next == quote => {
                        content.push(Unit::Char(next));
                        self.at += 1;
                    }
                    _ => break,
                },
                _ => {}
            }
        }
        self.tokens.push(Token::Quoted(content));
        Ok(())
    }

    /// Whether an `E` by itself stands right before.
    fn is_escape_string(&self) -> bool {
        let is_e = matches!(self.tokens.last(), Some(Token::Word(word, _)) if word == "E");
        is_e && matches!(self.units.get(self.at - 1), Some(Unit::Char('e' | 'E')))
    }

    /// The tag of a dollar-quoted text that begins here, with its dollars.
    fn tag(&self) -> Option<String> {
        let behind_name = self
            .at
            .checked_sub(1)
            .is_some_and(|before| matches!(self.units[before], Unit::Char(c) if is_word(c)));
        let mut tag = String::from('$');
        loop {
            let c = self.char(tag.chars().count())?;
            tag.push(c);
            match c {
                '$' => return (!behind_name).then_some(tag),
                _ if is_word(c) && !(tag.len() == 2 && c.is_ascii_digit()) => {}
                _ => return None,
            }
        }
    }

    fn dollar_quoted(&mut self) -> Result<(), String> {
        let tag = self.tag().unwrap_or_default();
        let mut content = Vec::new();
        let take = |scanner: &mut Scanner<'b>, content: &mut Vec<Unit<'b>>| {
            content.extend(tag.chars().map(Unit::Char));
            scanner.at += tag.chars().count();
        };
        take(self, &mut content);
        while !self.starts_with(&tag) {
            content.push(*self.units.get(self.at).ok_or_else(|| format!("the text in {tag} has no end"))?);
            self.at += 1;
        }
        take(self, &mut content);
        self.tokens.push(Token::Quoted(content));
        Ok(())
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
