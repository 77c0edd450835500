//! A task's text in the form that DolphinScheduler runs as it was meant.
//!
//! A SQL text becomes its statements, each of which is one JDBC call: `preStatements`, the statement of the
//! task, `postStatements`. DolphinScheduler takes the rows of one statement only, so of several statements one
//! may be a query. From 3.2 on it cuts the statement of the task at semicolons by itself, with a parser that knows
//! neither dollar quotes nor `\'`; it leaves the others alone. See [`crate::values`] for what becomes of parameters.

use lakeport_sdk::engine::{BodyPart, BodyValue, Param};

use crate::scan::{Dialect, Token, Unit, scan};
use crate::values::{Atom, Globals, Resolved, resolve, spliced};

/// Words of a statement that say what it is.
const WORDS_MAX: usize = 10_000;

/// A text in SQL.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Sql {
    pub before: Vec<String>,
    pub main: String,
    pub after: Vec<String>,
    /// Whether the main statement has rows.
    pub is_query: bool,
}

/// Stands in the place of a statement that DolphinScheduler would cut.
const NOTHING: &str = "SELECT 1";

/// SQL in DolphinScheduler's form; or why it has none. `cuts`: it cuts the statement of the task.
pub fn sql(
    body: &[BodyPart],
    dialect: Dialect,
    params: &[Param],
    globals: &mut Globals,
    cuts: bool,
) -> Result<Sql, String> {
    let tokens = scan(body, dialect)?;
    let splits = !is_compound(&tokens, dialect);
    let mut statements: Vec<Statement> = vec![Statement::default()];
    for token in &tokens {
        let statement = statements.last_mut().expect("there is one");
        match token {
            Token::End if splits => statements.push(Statement::default()),
            token => statement.push(token, dialect, params, globals)?,
        }
    }
    statements.retain(|statement| statement.has_code);
    let queries: Vec<usize> = (0..statements.len()).filter(|&at| statements[at].is_query()).collect();
    if queries.len() > 1 {
        return Err(format!(
            "has {} queries; a SQL task of DolphinScheduler has one, make tasks of the others",
            queries.len()
        ));
    }
    let (main, is_query) = match queries.first() {
        Some(at) => (*at, true),
        None => (statements.len().checked_sub(1).ok_or("has no statement")?, false),
    };
    let cut = statements[main].cut.filter(|_| cuts);
    if let Some(why) = cut.filter(|_| is_query) {
        return Err(format!("has a query that DolphinScheduler would cut or change: {why}"));
    }
    let mut texts: Vec<String> = statements.into_iter().map(|one| one.text.trim().to_owned()).collect();
    if cut.is_some() {
        return Ok(Sql { before: texts, main: NOTHING.to_owned(), after: Vec::new(), is_query: true });
    }
    let after = texts.split_off(main + 1);
    let main = texts.pop().unwrap_or_default();
    Ok(Sql { before: texts, main, after, is_query })
}

/// Whether semicolons stand within a statement: in the body of a procedure.
fn is_compound(tokens: &[Token<'_>], dialect: Dialect) -> bool {
    let has = |wanted: &[&str]| {
        tokens.iter().any(|token| matches!(token, Token::Word(word, _) if wanted.contains(&word.as_str())))
    };
    match dialect {
        Dialect::Postgres => has(&["ATOMIC"]),
        Dialect::MySql | Dialect::Doris => {
            has(&["CREATE"]) && has(&["PROCEDURE", "FUNCTION", "TRIGGER", "EVENT"])
        }
    }
}

#[derive(Default)]
struct Statement {
    text: String,
    words: Vec<(String, usize)>,
    has_code: bool,
    /// Why DolphinScheduler would take it for several, or for another one.
    cut: Option<&'static str>,
}

const QUOTES: &str = "a text in dollar quotes, or with \\'; write it in single quotes, with '' for one";
const HINT: &str = "a hint, `/*+ … */`, stands in it; leave it out";
const LETTERS: &str = "a name has letters with accents; write it in quotes";
const DASHES: &str = "two dashes follow each other; put a blank between them";
const RUN_COMMENT: &str = "a comment of the kind `/*! … */` stands in it; write it as plain SQL";

impl Statement {
    fn push(
        &mut self,
        token: &Token<'_>,
        dialect: Dialect,
        params: &[Param],
        globals: &mut Globals,
    ) -> Result<(), String> {
        match token {
            Token::Word(word, depth) => {
                if self.words.len() < WORDS_MAX {
                    self.words.push((word.clone(), *depth));
                }
                return Ok(());
            }
            // Nothing in a comment shall look like a parameter, or a quote.
            Token::Comment => {
                self.text.push(' ');
                return Ok(());
            }
            Token::Char(c) if c.is_whitespace() => {
                self.text.push(*c);
                return Ok(());
            }
            Token::Char(c) => {
                if ('\u{80}'..='\u{ff}').contains(c) {
                    self.cut = Some(LETTERS);
                }
                self.code(*c, dialect, globals)?;
            }
            // Within a procedure.
            Token::End => {
                self.text.push(';');
                self.cut = Some("it is a procedure");
            }
            Token::Bare(value) => {
                let resolved = resolved(value, params)?;
                self.splice(bare(resolved, dialect.has_escapes()), globals)?;
            }
            Token::Quoted(content) => {
                if dialect != Dialect::MySql && is_hard_to_read(content) {
                    self.cut = Some(QUOTES);
                }
                self.quoted(content, dialect, params, globals)?;
            }
        }
        self.has_code = true;
        Ok(())
    }

    fn code(&mut self, c: char, dialect: Dialect, globals: &mut Globals) -> Result<(), String> {
        let last = self.text.chars().next_back();
        match (last, c) {
            (Some('!'), '{') => return Err(looks_like("!{")),
            (Some('$'), '{') => return Err(looks_like("${")),
            (Some('$'), '[') => {
                self.text.pop();
                self.splice(vec![Atom::Text(spliced("$"))], globals)?;
                self.text.push(c);
            }
            // PostgreSQL's driver takes one for a bound value, and two for the operator.
            (_, '?') if dialect == Dialect::Postgres => self.text.push_str("??"),
            // Its parser has no dialect for Doris, and knows no hints but MySQL's.
            (Some('-'), '-') if dialect == Dialect::Doris => {
                self.cut = Some(DASHES);
                self.text.push(c);
            }
            (Some('*'), '!') if dialect == Dialect::Doris && self.text.ends_with("/*") => {
                self.cut = Some(RUN_COMMENT);
                self.text.push(c);
            }
            (Some('*'), '+') if dialect != Dialect::MySql && self.text.ends_with("/*") => {
                self.cut = Some(HINT);
                self.text.push(c);
            }
            // It would take the quote away.
            _ => self.text.push(c),
        }
        Ok(())
    }

    fn quoted(
        &mut self,
        content: &[Unit<'_>],
        dialect: Dialect,
        params: &[Param],
        globals: &mut Globals,
    ) -> Result<(), String> {
        let plain: Option<String> = content
            .iter()
            .map(|unit| match unit {
                Unit::Char(c) => Some(*c),
                Unit::Value(_) => None,
            })
            .collect();
        let looks_like_one = ["!{", "${"].into_iter().find(|open| {
            content.windows(2).any(|pair| {
                let (mut open, pair) = (open.chars(), [pair[0], pair[1]]);
                pair.into_iter().all(|unit| matches!(unit, Unit::Char(c) if Some(c) == open.next()))
            })
        });
        if let Some(open) = looks_like_one {
            return Err(looks_like(open));
        }
        match plain {
            Some(text) if !text.contains("$[") => {
                self.keep_apart();
                self.text.push_str(&text);
            }
            _ => {
                let is_e = self.words.last().is_some_and(|(word, _)| word == "E");
                let has_escapes = dialect.has_escapes() || is_e && self.text.ends_with(['e', 'E']);
                self.splice(literal(content, has_escapes, params)?, globals)?;
            }
        }
        Ok(())
    }

    /// Puts a text that DolphinScheduler writes in the place of a parameter. A text with `$[` is two, neither of
    /// which has both characters.
    fn splice(&mut self, atoms: Vec<Atom>, globals: &mut Globals) -> Result<(), String> {
        // It takes all quotes away that touch the braces.
        if self.text.ends_with(['\'', '"']) {
            self.text.push(' ');
        }
        let mut part = Vec::new();
        for atom in atoms {
            let Atom::Text(text) = atom else {
                part.push(atom);
                continue;
            };
            if let Some(open) = ["!{", "${"].into_iter().find(|open| text.contains(open)) {
                return Err(looks_like(open));
            }
            let mut rest = text.as_str();
            while let Some(at) = rest.find("$[") {
                part.push(Atom::Text(rest[..=at].to_owned()));
                self.put(&std::mem::take(&mut part), globals);
                rest = &rest[at + 1..];
            }
            part.push(Atom::Text(rest.to_owned()));
        }
        self.put(&part, globals);
        Ok(())
    }

    fn put(&mut self, atoms: &[Atom], globals: &mut Globals) {
        let name = globals.put(atoms);
        self.text.push_str(&format!("!{{{name}}}"));
    }

    /// The same where a quote follows.
    fn keep_apart(&mut self) {
        if self.text.ends_with('}') {
            self.text.push(' ');
        }
    }

    /// Whether it answers with rows.
    fn is_query(&self) -> bool {
        let has = |wanted: &str| self.words.iter().any(|(word, depth)| word == wanted && *depth == 0);
        let first = self.words.first().map(|(word, _)| word.as_str()).unwrap_or_default();
        const DEEDS: [&str; 6] = ["SELECT", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE"];
        let deed = self.words.iter().find(|(word, depth)| *depth == 0 && DEEDS.contains(&word.as_str()));
        let deed = if first == "WITH" { deed.map_or("", |(word, _)| word.as_str()) } else { first };
        match deed {
            "SELECT" => !has("INTO"),
            "VALUES" | "TABLE" | "SHOW" | "EXPLAIN" | "DESCRIBE" | "DESC" | "FETCH" => true,
            "INSERT" | "UPDATE" | "DELETE" | "MERGE" => has("RETURNING"),
            _ => false,
        }
    }
}

/// Whether a parser of standard SQL would find its end elsewhere, or a semicolon in it.
fn is_hard_to_read(content: &[Unit<'_>]) -> bool {
    let has = |wanted: char| content.iter().any(|unit| matches!(unit, Unit::Char(c) if *c == wanted));
    let has_pair = |first: char, second: &[char]| {
        let is_it = |pair: &[Unit<'_>]| matches!(pair, [Unit::Char(one), Unit::Char(other)] if *one == first && second.contains(other));
        content.windows(2).any(is_it)
    };
    let is_dollar = matches!(content.first(), Some(Unit::Char('$')));
    let is_hard_in_dollars =
        || [';', '\'', '"', '#'].into_iter().any(has) || has_pair('-', &['-']) || has_pair('/', &['*']);
    has_pair('\\', &['\'', '"']) || is_dollar && is_hard_in_dollars()
}

fn looks_like(open: &str) -> String {
    format!(
        "has {open} in its SQL, which DolphinScheduler takes for a parameter of its own; write it otherwise"
    )
}

fn resolved(value: &BodyValue, params: &[Param]) -> Result<Resolved, String> {
    resolve(&value.source, &value.name, params)
}

/// A literal of its own, as the engine `local` writes it.
fn bare(resolved: Resolved, has_escapes: bool) -> Vec<Atom> {
    let Resolved { atoms, is_number, .. } = resolved;
    if is_number {
        let is_negative = matches!(atoms.first(), Some(Atom::Text(text)) if text.starts_with('-'));
        let parenthesis = |text: &str| is_negative.then(|| Atom::Text(text.to_owned()));
        return merged(parenthesis("(").into_iter().chain(atoms).chain(parenthesis(")")));
    }
    let quote = || Atom::Text("'".to_owned());
    let atoms = atoms.into_iter().map(|atom| escaped(atom, '\'', has_escapes));
    merged(std::iter::once(quote()).chain(atoms).chain([quote()]))
}

/// A literal with values in it.
fn literal(content: &[Unit<'_>], has_escapes: bool, params: &[Param]) -> Result<Vec<Atom>, String> {
    let quote = match content.first() {
        Some(Unit::Char(c)) => *c,
        _ => '\'',
    };
    let (mut atoms, mut text) = (Vec::new(), String::new());
    for unit in content {
        match unit {
            Unit::Char(c) => text.push(*c),
            Unit::Value(value) => {
                atoms.push(Atom::Text(spliced(&std::mem::take(&mut text))));
                let values = resolved(value, params)?.atoms.into_iter();
                atoms.extend(values.map(|atom| escaped(atom, quote, has_escapes)));
            }
        }
    }
    atoms.push(Atom::Text(spliced(&text)));
    Ok(merged(atoms))
}

/// A text within a literal.
fn escaped(atom: Atom, quote: char, has_escapes: bool) -> Atom {
    match atom {
        Atom::Text(text) => {
            let text = if has_escapes { text.replace('\\', "\\\\") } else { text };
            Atom::Text(spliced(&text.replace(quote, &format!("{quote}{quote}"))))
        }
        filled => filled,
    }
}

/// Texts that follow each other are one.
fn merged(atoms: impl IntoIterator<Item = Atom>) -> Vec<Atom> {
    let mut merged: Vec<Atom> = Vec::new();
    for atom in atoms {
        match (merged.last_mut(), atom) {
            (_, Atom::Text(text)) if text.is_empty() => {}
            (Some(Atom::Text(before)), Atom::Text(text)) => before.push_str(&text),
            (_, atom) => merged.push(atom),
        }
    }
    merged
}

/// A script in DolphinScheduler's form, which replaces `${name}` by plain text; or why it has none.
pub fn script(body: &[BodyPart], params: &[Param], globals: &mut Globals) -> Result<String, String> {
    let mut written = String::new();
    for part in body {
        match part {
            BodyPart::Text(text) => {
                if text.contains("$[") {
                    let why = "has $[ in its script, which DolphinScheduler takes for a time; write $((…)) for \
                               arithmetic";
                    return Err(why.to_owned());
                }
                written.push_str(text);
            }
            BodyPart::Value(value) => {
                let resolved = resolved(value, params)?;
                if let Some(c) = resolved.unfit {
                    return Err(format!(
                        "has the value of {} in its script, with {c:?}; a value there has letters, digits and \
                         `_ . : / -` alone",
                        value.spelled
                    ));
                }
                let name = globals.put(&resolved.atoms);
                written.push_str(&format!("${{{name}}}"));
            }
        }
    }
    Ok(written)
}
