//! Parses the `CREATE TABLE` statement that SQLite keeps of a table, for properties that the catalogue does
//! not report: checks, collations, named constraints, unknown clauses.
//!
//! It is strict: a clause that it does not understand prevents rebuilding the table and is never ignored.
//! Findings are descriptions without names, so that renaming a table or a field does not change them.

use std::collections::BTreeSet;

use crate::lexer::{Kind, Lexeme, lex};

/// The properties of a statement besides names, types, nullability, defaults and the key.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CreateText {
    /// Its columns in order.
    pub columns: Vec<ColumnText>,
    /// Properties of the table that a rebuild would lose, as descriptions.
    pub losses: BTreeSet<String>,
}

/// The properties of a column's definition.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnText {
    /// Its name.
    pub name: String,
    /// Properties that a rebuild would lose, as descriptions.
    pub losses: BTreeSet<String>,
    /// The expression of a generated column.
    pub generated: Option<String>,
}

/// Parses a statement; `None` if it cannot be understood.
pub fn read(sql: &str) -> Option<CreateText> {
    let lexemes = lex(sql).ok()?;
    let mut text = CreateText::default();
    if lexemes.iter().any(|lexeme| lexeme.kind == Kind::Comment) {
        text.losses.insert("comments in its CREATE statement".to_owned());
    }
    let lexemes: Vec<Lexeme> = lexemes.into_iter().filter(|l| l.kind != Kind::Comment).collect();
    let mut parser = Parser { sql, lexemes: &lexemes, at: 0 };
    parser.table(&mut text)?;
    Some(text)
}

/// The words that begin a constraint of a column.
const COLUMN_CONSTRAINTS: &[&str] = &[
    "CONSTRAINT",
    "PRIMARY",
    "NOT",
    "NULL",
    "UNIQUE",
    "CHECK",
    "DEFAULT",
    "COLLATE",
    "REFERENCES",
    "GENERATED",
    "AS",
];
/// The words that begin a constraint of the table.
const TABLE_CONSTRAINTS: &[&str] = &["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];

struct Parser<'a> {
    sql: &'a str,
    lexemes: &'a [Lexeme],
    at: usize,
}

impl<'a> Parser<'a> {
    /// These functions return `None` if the statement is not as SQLite writes it.
    fn table(&mut self, text: &mut CreateText) -> Option<()> {
        self.word("CREATE").then_some(())?;
        self.word("TABLE").then_some(())?;
        self.name()?;
        if self.symbol('.') {
            self.name()?;
        }
        self.symbol('(').then_some(())?;
        loop {
            if !text.columns.is_empty() && self.peek_word(TABLE_CONSTRAINTS) {
                self.table_constraints(text)?;
                break;
            }
            text.columns.push(self.column()?);
            if !self.symbol(',') {
                // The comma before a constraint of the table may be missing: the column takes the rest.
                break;
            }
        }
        self.symbol(')').then_some(())?;
        self.options(text)?;
        (self.at == self.lexemes.len()).then_some(())
    }

    fn column(&mut self) -> Option<ColumnText> {
        let mut column = ColumnText { name: self.name()?, ..ColumnText::default() };
        self.column_type()?;
        while !self.at_end_of_part() {
            self.column_constraint(&mut column)?;
        }
        Some(column)
    }

    /// Words, names and even texts, then numbers in brackets. The planner judges whether it is a type.
    fn column_type(&mut self) -> Option<()> {
        while let Some(lexeme) = self.peek() {
            match lexeme.kind {
                Kind::Word if !self.peek_word(COLUMN_CONSTRAINTS) => self.at += 1,
                Kind::QuotedName(_) | Kind::Text(_) => self.at += 1,
                _ => break,
            }
        }
        if self.peek_symbol('(') {
            self.brackets()?;
        }
        Some(())
    }

    fn column_constraint(&mut self, column: &mut ColumnText) -> Option<()> {
        let mut lost = |what: &str| {
            column.losses.insert(what.to_owned());
        };
        if self.word("CONSTRAINT") {
            self.name()?;
            lost("a named constraint");
        } else if self.word("PRIMARY") {
            self.word("KEY").then_some(())?;
            let descending = !self.word("ASC") && self.word("DESC");
            if descending {
                lost("a key in descending order");
            }
            if self.on_conflict()? {
                lost("ON CONFLICT");
            }
            if self.word("AUTOINCREMENT") {
                lost("AUTOINCREMENT");
            }
        } else if self.word("NOT") {
            if self.word("NULL") {
                if self.on_conflict()? {
                    lost("ON CONFLICT");
                }
            } else {
                self.deferrable()?;
            }
        } else if self.word("NULL") {
            if self.on_conflict()? {
                lost("ON CONFLICT");
            }
        } else if self.word("UNIQUE") {
            lost("UNIQUE");
            self.on_conflict()?;
        } else if self.word("CHECK") {
            lost("CHECK");
            self.brackets()?;
        } else if self.word("DEFAULT") {
            self.default()?;
        } else if self.word("COLLATE") {
            self.name()?;
            lost("COLLATE");
        } else if self.word("REFERENCES") {
            lost("REFERENCES");
            self.references()?;
        } else if self.peek_word(&["DEFERRABLE", "INITIALLY"]) {
            self.deferrable()?;
        } else if self.peek_word(&["GENERATED", "AS"]) {
            lost("a generated column");
            column.generated = Some(self.generated()?);
        } else {
            lost("words that are not understood");
            self.skip_part()?;
        }
        Some(())
    }

    fn generated(&mut self) -> Option<String> {
        if self.word("GENERATED") {
            self.word("ALWAYS").then_some(())?;
        }
        self.word("AS").then_some(())?;
        let inside = self.brackets()?;
        if !self.word("STORED") {
            self.word("VIRTUAL");
        }
        Some(inside)
    }

    fn default(&mut self) -> Option<()> {
        if self.peek_symbol('(') {
            self.brackets()?;
            return Some(());
        }
        if !self.symbol('-') {
            self.symbol('+');
        }
        let lexeme = self.peek()?;
        if matches!(lexeme.kind, Kind::Symbol(_)) {
            return None;
        }
        self.at += 1;
        Some(())
    }

    /// Parses the part after REFERENCES.
    fn references(&mut self) -> Option<()> {
        self.name()?;
        if self.peek_symbol('(') {
            self.brackets()?;
        }
        loop {
            if self.word("ON") {
                (self.word("DELETE") || self.word("UPDATE") || self.word("INSERT")).then_some(())?;
                self.action()?;
            } else if self.word("MATCH") {
                self.name()?;
            } else if self.peek_word(&["DEFERRABLE", "INITIALLY"]) || self.peek_words(&["NOT", "DEFERRABLE"])
            {
                self.word("NOT");
                self.deferrable()?;
            } else {
                return Some(());
            }
        }
    }

    fn action(&mut self) -> Option<()> {
        if self.word("SET") {
            (self.word("NULL") || self.word("DEFAULT")).then_some(())
        } else if self.word("NO") {
            self.word("ACTION").then_some(())
        } else {
            (self.word("CASCADE") || self.word("RESTRICT")).then_some(())
        }
    }

    fn deferrable(&mut self) -> Option<()> {
        let said = self.word("DEFERRABLE");
        if self.word("INITIALLY") {
            return (self.word("DEFERRED") || self.word("IMMEDIATE")).then_some(());
        }
        said.then_some(())
    }

    fn on_conflict(&mut self) -> Option<bool> {
        if !self.peek_words(&["ON", "CONFLICT"]) {
            return Some(false);
        }
        self.at += 2;
        self.name()?;
        Some(true)
    }

    /// Constraints of the table, with or without commas between.
    fn table_constraints(&mut self, text: &mut CreateText) -> Option<()> {
        while !self.peek_symbol(')') {
            self.peek()?;
            let mut lost = |what: &str| {
                text.losses.insert(what.to_owned());
            };
            if self.word("CONSTRAINT") {
                self.name()?;
                lost("a named constraint");
            } else if self.word("PRIMARY") {
                self.word("KEY").then_some(())?;
                self.key_parts(&mut lost)?;
                if self.on_conflict()? {
                    lost("ON CONFLICT");
                }
            } else if self.word("UNIQUE") {
                lost("UNIQUE");
                self.brackets()?;
                self.on_conflict()?;
            } else if self.word("CHECK") {
                lost("CHECK");
                self.brackets()?;
                self.on_conflict()?;
            } else if self.word("FOREIGN") {
                lost("FOREIGN KEY");
                self.word("KEY").then_some(())?;
                self.brackets()?;
                self.word("REFERENCES").then_some(())?;
                self.references()?;
            } else {
                lost("words that are not understood");
                self.skip_part()?;
            }
            self.symbol(',');
        }
        Some(())
    }

    /// `(a, b COLLATE x DESC)`.
    fn key_parts(&mut self, lost: &mut impl FnMut(&str)) -> Option<()> {
        self.symbol('(').then_some(())?;
        loop {
            self.name()?;
            if self.word("COLLATE") {
                self.name()?;
                lost("COLLATE");
            }
            if !self.word("ASC") && self.word("DESC") {
                lost("a key in descending order");
            }
            if self.word("AUTOINCREMENT") {
                lost("AUTOINCREMENT");
            }
            if !self.symbol(',') {
                return self.symbol(')').then_some(());
            }
        }
    }

    fn options(&mut self, text: &mut CreateText) -> Option<()> {
        while self.at < self.lexemes.len() {
            if self.word("WITHOUT") {
                self.word("ROWID").then_some(())?;
                text.losses.insert("WITHOUT ROWID".to_owned());
            } else if self.word("STRICT") {
                text.losses.insert("STRICT".to_owned());
            } else {
                return None;
            }
            if !self.symbol(',') {
                return Some(());
            }
        }
        Some(())
    }

    /// The text up to the bracket that closes the next one.
    fn brackets(&mut self) -> Option<String> {
        let start = self.peek()?.span.end;
        self.symbol('(').then_some(())?;
        let mut depth = 1u32;
        loop {
            let lexeme = self.peek()?;
            self.at += 1;
            match lexeme.kind {
                Kind::Symbol('(') => depth += 1,
                Kind::Symbol(')') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(self.sql[start..lexeme.span.start].trim().to_owned());
            }
        }
    }

    /// Skips to the comma or bracket that ends this column or constraint.
    fn skip_part(&mut self) -> Option<()> {
        while !self.at_end_of_part() {
            if self.peek_symbol('(') {
                self.brackets()?;
            } else {
                self.at += 1;
            }
        }
        Some(())
    }

    fn at_end_of_part(&self) -> bool {
        self.peek().is_none_or(|lexeme| matches!(lexeme.kind, Kind::Symbol(',' | ')')))
    }

    fn name(&mut self) -> Option<String> {
        let lexeme = self.peek()?;
        let name = match &lexeme.kind {
            Kind::Word => self.sql[lexeme.span.clone()].to_owned(),
            Kind::QuotedName(text) | Kind::Text(text) => text.clone(),
            _ => return None,
        };
        self.at += 1;
        Some(name)
    }

    fn word(&mut self, wanted: &str) -> bool {
        let found = self.peek_word(&[wanted]);
        self.at += usize::from(found);
        found
    }

    fn symbol(&mut self, wanted: char) -> bool {
        let found = self.peek_symbol(wanted);
        self.at += usize::from(found);
        found
    }

    fn peek(&self) -> Option<&'a Lexeme> {
        self.lexemes.get(self.at)
    }

    fn peek_symbol(&self, wanted: char) -> bool {
        self.peek().is_some_and(|lexeme| lexeme.kind == Kind::Symbol(wanted))
    }

    fn peek_word(&self, any_of: &[&str]) -> bool {
        self.is_word(self.at, any_of)
    }

    fn peek_words(&self, in_order: &[&str]) -> bool {
        in_order.iter().enumerate().all(|(index, word)| self.is_word(self.at + index, &[word]))
    }

    fn is_word(&self, at: usize, any_of: &[&str]) -> bool {
        self.lexemes.get(at).is_some_and(|lexeme| {
            lexeme.kind == Kind::Word
                && any_of.iter().any(|word| self.sql[lexeme.span.clone()].eq_ignore_ascii_case(word))
        })
    }
}

#[cfg(test)]
#[path = "create_text_tests.rs"]
mod tests;
