//! Checks a rebuild of a table, which SQLite needs for most changes of a field: create a new table, copy,
//! drop the old one, rename.
//!
//! The statements are simulated on a ledger of the tables that hold the rows. Rows are never dropped unless
//! another table has them all, the copy maps each field to itself, and in the end the table has its name and
//! its rows and no other table remains.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_bindings::dialect::statements::{Token, TypeToken};

use crate::bounds::begins_with;
use crate::profile::words;
use crate::statement::{Fault, fault, leading_words};
use crate::subject::Subject;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Nothing,
    NoRows,
    AllRows,
}

/// The tables that hold the rows.
pub(crate) struct Ledger<'a> {
    subject: &'a Subject,
    tables: BTreeMap<String, Holds>,
    /// Whether any statement created, filled or dropped a table.
    pub rebuilds: bool,
}

impl<'a> Ledger<'a> {
    pub fn new(subject: &'a Subject) -> Self {
        let tables = subject
            .tables
            .iter()
            .map(|name| (name.clone(), if *name == subject.table { Holds::AllRows } else { Holds::Nothing }));
        Ledger { subject, tables: tables.collect(), rebuilds: false }
    }

    /// Simulates the next statement.
    pub fn play(&mut self, tokens: &[Token]) -> Result<(), Fault> {
        let head = leading_words(tokens)?;
        if begins_with(&head, "CREATE TABLE") {
            self.rebuilds = true;
            let name = self.table(tokens.iter().find(|token| matches!(token, Token::Name(_))))?;
            return self.turn(&name, Holds::Nothing, Holds::NoRows, "is made although it is there");
        }
        if begins_with(&head, "INSERT INTO") {
            self.rebuilds = true;
            let (into, from) = self.copy(tokens)?;
            if self.tables.get(&from) != Some(&Holds::AllRows) {
                return Err(fault(
                    "rebuild",
                    format!("rows are copied from {from:?}, which has not all of them"),
                ));
            }
            return self.turn(&into, Holds::NoRows, Holds::AllRows, "is filled although it is not empty");
        }
        if begins_with(&head, "DROP TABLE") {
            self.rebuilds = true;
            let [Token::Keyword(_), named @ Token::Name(_)] = tokens else {
                return Err(fault("rebuild", "a table is dropped with one keyword and its name alone"));
            };
            return self.drop(&self.table(Some(named))?);
        }
        if !begins_with(&head, "ALTER TABLE") {
            return Ok(());
        }
        if let Some((from, to)) = self.rename(tokens)? {
            let held = self.tables.insert(from.clone(), Holds::Nothing).unwrap_or(Holds::Nothing);
            return self.turn(&to, Holds::Nothing, held, "is taken as a name although it is there");
        }
        only_columns_are_renamed(tokens)
    }

    /// The table must have its rows, and no other table may remain.
    pub fn end(&self) -> Result<(), Fault> {
        for (name, holds) in &self.tables {
            if *name == self.subject.table && *holds != Holds::AllRows {
                return Err(fault("rebuild", format!("in the end {name:?} does not have its rows")));
            }
            if *name != self.subject.table && *holds != Holds::Nothing {
                return Err(fault("rebuild", format!("in the end {name:?} is left over")));
            }
        }
        Ok(())
    }

    fn table(&self, token: Option<&Token>) -> Result<String, Fault> {
        match token {
            Some(Token::Name(parts)) => match self.subject.table_named(parts) {
                Some(name) => Ok(name.to_owned()),
                None => Err(fault("names", format!("{:?} is not a table of this change", parts.join(".")))),
            },
            _ => Err(fault("rebuild", "a table's name is missing")),
        }
    }

    fn turn(&mut self, name: &str, from: Holds, to: Holds, wrong: &str) -> Result<(), Fault> {
        if self.tables.get(name) != Some(&from) {
            return Err(fault("rebuild", format!("{name:?} {wrong}")));
        }
        self.tables.insert(name.to_owned(), to);
        Ok(())
    }

    fn drop(&mut self, name: &str) -> Result<(), Fault> {
        let elsewhere = self.tables.iter().any(|(other, holds)| other != name && *holds == Holds::AllRows);
        if !elsewhere {
            return Err(fault("rebuild", format!("{name:?} is dropped while no other table has its rows")));
        }
        self.tables.insert(name.to_owned(), Holds::Nothing);
        Ok(())
    }

    /// `ALTER TABLE a RENAME TO b`.
    fn rename(&self, tokens: &[Token]) -> Result<Option<(String, String)>, Fault> {
        let [Token::Keyword(_), from @ Token::Name(_), Token::Keyword(verb), to @ Token::Name(_)] = tokens
        else {
            return Ok(None);
        };
        if words(verb).is_none_or(|parts| parts.join(" ") != "RENAME TO") {
            return Ok(None);
        }
        Ok(Some((self.table(Some(from))?, self.table(Some(to))?)))
    }

    /// `INSERT INTO new (a, b) SELECT a, CAST(b AS type) FROM old`, each field to itself.
    fn copy(&self, tokens: &[Token]) -> Result<(String, String), Fault> {
        let mut reader = Copy { left: tokens };
        reader.keyword("INSERT INTO")?;
        let into = self.table(Some(reader.name()?))?;
        reader.symbol("(")?;
        let mut targets = vec![reader.field()?];
        while reader.symbol(",").is_ok() {
            targets.push(reader.field()?);
        }
        reader.symbol(")")?;
        reader.keyword("SELECT")?;
        let mut sources = vec![reader.source()?];
        while reader.symbol(",").is_ok() {
            sources.push(reader.source()?);
        }
        reader.keyword("FROM")?;
        let from = self.table(Some(reader.name()?))?;
        if !reader.left.is_empty() {
            return Err(fault("rebuild", "the copy goes on behind the table's name"));
        }
        self.same_fields(&targets, &sources)?;
        Ok((into, from))
    }

    fn same_fields(&self, targets: &[String], sources: &[String]) -> Result<(), Fault> {
        let own = |target: &String, source: &String| {
            target == source
                || self.subject.renamed.as_ref().is_some_and(|(before, after)| {
                    (source, target) == (before, after) || (source, target) == (after, before)
                })
        };
        let apart: BTreeSet<&String> = targets.iter().collect();
        let all_apart: BTreeSet<&String> = sources.iter().collect();
        if targets.len() != sources.len()
            || apart.len() != targets.len()
            || all_apart.len() != sources.len()
            || !targets.iter().zip(sources).all(|(target, source)| own(target, source))
        {
            return Err(fault("rebuild", "the copy does not take each field to itself"));
        }
        if targets.len() < self.subject.kept_fields {
            let message = format!(
                "the copy takes {} fields of {} that hold data",
                targets.len(),
                self.subject.kept_fields
            );
            return Err(fault("rebuild", message));
        }
        Ok(())
    }
}

/// Independent of how words are cut into tokens: `RENAME` other than `RENAME COLUMN` could rename the table
/// unnoticed.
fn only_columns_are_renamed(tokens: &[Token]) -> Result<(), Fault> {
    let mut flat = Vec::new();
    for token in tokens {
        match token {
            Token::Keyword(text) => flat.extend(words(text).unwrap_or_default()),
            Token::DataType(parts) => flat.extend(parts.iter().map(|part| match part {
                TypeToken::Word(word) => word.to_ascii_uppercase(),
                _ => String::new(),
            })),
            _ => flat.push(String::new()),
        }
    }
    let behind = |index: usize| flat.get(index + 1).map(String::as_str);
    let other = (0..flat.len()).any(|index| flat[index] == "RENAME" && behind(index) != Some("COLUMN"));
    if other {
        let message =
            "a table is renamed with ALTER TABLE, its name, the one keyword RENAME TO and a name alone";
        return Err(fault("rebuild", message));
    }
    Ok(())
}

/// Parses the tokens of a copy.
struct Copy<'a> {
    left: &'a [Token],
}

impl<'a> Copy<'a> {
    fn next(&mut self) -> Option<&'a Token> {
        let (first, left) = self.left.split_first()?;
        self.left = left;
        Some(first)
    }

    fn keyword(&mut self, wanted: &str) -> Result<(), Fault> {
        match self.next() {
            Some(Token::Keyword(text)) if text.eq_ignore_ascii_case(wanted) => Ok(()),
            _ => {
                Err(fault("rebuild", format!("a copy is INSERT INTO … SELECT … FROM …; {wanted} is missing")))
            }
        }
    }

    fn symbol(&mut self, wanted: &str) -> Result<(), Fault> {
        match self.left.first() {
            Some(Token::Symbol(symbol)) if symbol == wanted => {
                self.next();
                Ok(())
            }
            _ => Err(fault("rebuild", format!("a copy lacks {wanted:?} where it should be"))),
        }
    }

    fn name(&mut self) -> Result<&'a Token, Fault> {
        self.next()
            .filter(|token| matches!(token, Token::Name(_)))
            .ok_or_else(|| fault("rebuild", "a copy lacks a name where it should be"))
    }

    fn field(&mut self) -> Result<String, Fault> {
        match self.name()? {
            Token::Name(parts) if parts.len() == 1 => Ok(parts[0].clone()),
            _ => Err(fault("rebuild", "a copy names its fields with one part")),
        }
    }

    /// A field, or `CAST(field AS type)`.
    fn source(&mut self) -> Result<String, Fault> {
        if !matches!(self.left.first(), Some(Token::Keyword(_))) {
            return self.field();
        }
        self.keyword("CAST")?;
        self.symbol("(")?;
        let field = self.field()?;
        self.keyword("AS")?;
        match self.next() {
            Some(Token::DataType(_)) => {}
            _ => return Err(fault("rebuild", "CAST in a copy lacks its type")),
        }
        self.symbol(")")?;
        Ok(field)
    }
}
