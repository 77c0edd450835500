//! Checks the tokens of one statement while writing it: words, names, types, expressions.

use lakeport_bindings::dialect::statements::{Token, TypeToken};

use crate::bounds::{self, Bounds, begins_with};
use crate::expression::{self, Wrong};
use crate::profile::{Profile, Transport, Words, words};
use crate::session::HostValues;
use crate::subject::Subject;
use crate::write::{Statement, TOKENS_MAX, WriteError, Writer, shortened};

/// Why a statement is refused.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The token, counted from 0.
    pub token: Option<usize>,
    /// A stable name of the rule.
    pub rule: &'static str,
    pub message: String,
    /// A text of the user's cannot be written here; the plugin is not to blame.
    pub not_representable: bool,
}

/// One statement of an operation.
pub(crate) struct Check<'a> {
    profile: &'a Profile,
    subject: &'a Subject,
    operation: &'a str,
    bounds: Bounds,
    words: &'a Words,
    /// The leading words.
    head: String,
    /// The word before the current token; empty after anything else.
    last_word: String,
    depth: u32,
    /// The host's values; `None` in a plan.
    values: Option<&'a HostValues>,
}

impl<'a> Check<'a> {
    /// The statement's text, or the reason why it is refused.
    pub fn run(
        profile: &'a Profile,
        subject: &'a Subject,
        operation: &'a str,
        tokens: &[Token],
    ) -> Result<Statement, Fault> {
        Check::all(profile, subject, operation, tokens, None)
    }

    /// The same for a recipe, which concerns no table and may have values of the host.
    pub fn recipe(
        profile: &Profile,
        operation: &str,
        tokens: &[Token],
        values: &HostValues,
    ) -> Result<Statement, Fault> {
        Check::all(profile, &Subject::default(), operation, tokens, Some(values))
    }

    fn all(
        profile: &'a Profile,
        subject: &'a Subject,
        operation: &'a str,
        tokens: &[Token],
        values: Option<&'a HostValues>,
    ) -> Result<Statement, Fault> {
        let Some(declared) = profile.operations.get(operation) else {
            return Err(fault("words", format!("the dialect declares no words for {operation}")));
        };
        let mut check = Check {
            profile,
            subject,
            operation,
            bounds: bounds::of(operation),
            words: declared,
            head: leading_words(tokens)?,
            last_word: String::new(),
            depth: 0,
            values,
        };
        check.head()?;
        not_too_many(tokens)?;
        let mut writer = Writer::new(profile.name_quote);
        for (index, token) in tokens.iter().enumerate() {
            check.token(token, &mut writer).map_err(|mut found| {
                found.token = Some(index);
                found
            })?;
        }
        if check.depth != 0 {
            return Err(fault("shape", "a parenthesis is not closed"));
        }
        let readings = profile.readings();
        let exact = readings.len() == 1;
        let mysql = profile.transport == Transport::MySql;
        writer.finish(&readings, |rule| exact && (!mysql || rule == "literal")).map_err(|error| {
            let mut found = written(error);
            // Over HTTP and for the MySQL protocol a text may be correct and still readable in two ways.
            found.not_representable = !exact;
            found
        })
    }

    fn head(&self) -> Result<(), Fault> {
        if !self.words.heads.iter().any(|head| begins_with(&self.head, head)) {
            return Err(fault(
                "head",
                format!(
                    "a statement of {} begins with {:?}; the dialect declares {:?}",
                    self.operation,
                    shortened(&self.head),
                    self.words.heads
                ),
            ));
        }
        // The declared heads were checked against the bounds when the dialect was staged.
        Ok(())
    }

    fn token(&mut self, token: &Token, writer: &mut Writer) -> Result<(), Fault> {
        let before = std::mem::take(&mut self.last_word);
        match token {
            Token::Keyword(text) => return self.keyword(text, before, writer),
            Token::Name(parts) => {
                self.may_name(parts, &before)?;
                writer.name(parts)
            }
            Token::Text(text) => match self.profile.texts.get(&text.rule) {
                Some(rule) => writer.text(&text.value, rule),
                None => {
                    return Err(fault("text_rule", format!("{:?} is no text rule", shortened(&text.rule))));
                }
            },
            Token::Number(number) => writer.number(number),
            Token::DataType(tokens) => {
                self.data_type(tokens)?;
                let literal = self.profile.texts.get("literal").expect("a profile has the rule `literal`");
                writer.data_type(tokens, literal)
            }
            Token::Symbol(symbol) => {
                if !matches!(symbol.as_str(), "(" | ")" | "," | "=" | "." | "*") {
                    return Err(fault("shape", format!("{:?} is not a symbol", shortened(symbol))));
                }
                self.nest(symbol)?;
                writer.symbol(symbol)
            }
            Token::Expression(text) => {
                self.expression(text)?;
                writer.expression(text)
            }
            Token::HostValue(name) => {
                let Some(values) = self.values else {
                    let message =
                        format!("the host value {name:?} belongs in session and cancellation recipes");
                    return Err(fault("host_value", message));
                };
                let filled = values.token(self.operation, name)?;
                return self.token(&filled, writer);
            }
            Token::Other(other) => {
                let message = format!("a token of the kind {:?} is not known here", shortened(&other.kind));
                return Err(fault("unknown_token", message));
            }
        }
        .map_err(written)
    }

    fn keyword(&mut self, text: &str, before: String, writer: &mut Writer) -> Result<(), Fault> {
        let Some(parts) = words(text) else {
            let message = format!("{:?} is not words of letters, digits and `_`", shortened(text));
            return Err(fault("words", message));
        };
        let mut before = before;
        for word in parts {
            if self.bounds.denies(&word) {
                return Err(fault("words", format!("{word} is denied in {}", self.operation)));
            }
            if !self.words.words.contains(&word) {
                let message = format!("{word} is not among the words declared for {}", self.operation);
                return Err(fault("words", message));
            }
            if before == "DROP" && !self.bounds.behind_drop.contains(&word.as_str()) {
                return Err(fault("words", format!("DROP {word} is denied in {}", self.operation)));
            }
            before = word;
        }
        self.last_word = before;
        writer.words(text).map_err(written)
    }

    fn may_name(&self, parts: &[String], before: &str) -> Result<(), Fault> {
        if before == "DROP" && !self.bounds.behind_drop.contains(&"") {
            return Err(fault(
                "names",
                format!("DROP with a name behind it is denied in {}", self.operation),
            ));
        }
        let renames = matches!(self.operation, "rename_table" | "restore_table");
        let wants_table = match before {
            "TABLE" | "INTO" | "FROM" | "OF" | "ONLY" | "EXISTS" | "JOIN" => true,
            "TO" => renames,
            _ => false,
        };
        let whole = ["CREATE TABLE", "INSERT INTO"].iter().any(|head| begins_with(&self.head, head))
            || self.operation == "create_table";
        let table = self.subject.table_named(parts).is_some();
        let qualified = parts.len() > 1 || self.profile.transport == Transport::Sqlite || before == "TO";
        let allowed = match before {
            _ if wants_table => table && qualified,
            "AFTER" if self.may_follow(parts) => true,
            _ => table || self.subject.has_field(parts, whole),
        };
        if allowed {
            return Ok(());
        }
        let what = if wants_table { "is no table that" } else { "is nothing that" };
        Err(fault(
            "names",
            format!(
                "{:?} {what} {} of {:?} may name or the plan announces",
                shortened(&parts.join(".")),
                self.operation,
                self.subject.table
            ),
        ))
    }

    /// Whether an undo may restore the dropped field after this one.
    fn may_follow(&self, parts: &[String]) -> bool {
        let undoes_drop = self.subject.operation == "drop_field" && self.operation == "add_field";
        undoes_drop && matches!(parts, [field] if self.subject.before_dropped.as_ref() == Some(field))
    }

    fn data_type(&self, tokens: &[TypeToken]) -> Result<(), Fault> {
        // SQLite has columns without a type.
        if !matches!(tokens.first(), None | Some(TypeToken::Word(_))) {
            return Err(fault("data_type", "a data type begins with a word"));
        }
        let mut depth = 0i32;
        for token in tokens {
            match token {
                TypeToken::Word(word) => {
                    let known = words(word)
                        .is_some_and(|parts| parts.len() == 1 && self.profile.type_words.contains(&parts[0]));
                    if !known {
                        let message = format!("{:?} is not among the type words", shortened(word));
                        return Err(fault("data_type", message));
                    }
                }
                TypeToken::Symbol(symbol) => match symbol.as_str() {
                    "(" | "<" => depth += 1,
                    ")" | ">" => depth -= 1,
                    "," | ":" if depth > 0 => {}
                    other => {
                        let message = format!("{:?} cannot stand there in a type", shortened(other));
                        return Err(fault("data_type", message));
                    }
                },
                TypeToken::Name(_) | TypeToken::Number(_) | TypeToken::Text(_) if depth == 0 => {
                    return Err(fault("data_type", "names, numbers and texts of a type stand in brackets"));
                }
                TypeToken::Name(_) | TypeToken::Number(_) | TypeToken::Text(_) => {}
            }
            if depth < 0 {
                return Err(fault("data_type", "the brackets of a type do not match"));
            }
        }
        if depth == 0 { Ok(()) } else { Err(fault("data_type", "the brackets of a type do not match")) }
    }

    fn nest(&mut self, symbol: &str) -> Result<(), Fault> {
        match symbol {
            "(" => self.depth += 1,
            ")" => {
                self.depth = self
                    .depth
                    .checked_sub(1)
                    .ok_or_else(|| fault("shape", "a parenthesis is closed that was not opened"))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn expression(&self, text: &str) -> Result<(), Fault> {
        if !self.subject.expressions.contains(text) {
            let message = format!("the expression {:?} was not handed in with the change", shortened(text));
            return Err(fault("expression", message));
        }
        let Some(parser) = self.profile.parser else {
            return Err(fault("expression", "the host has no parser to check expressions of this dialect"));
        };
        expression::check(text, parser, &self.profile.functions).map_err(|wrong| match wrong {
            Wrong::Shape(message) => fault("expression", message),
            Wrong::Function(message) => Fault { not_representable: true, ..fault("expression", message) },
        })
    }
}

pub(crate) fn fault(rule: &'static str, message: impl Into<String>) -> Fault {
    Fault { token: None, rule, message: message.into(), not_representable: false }
}

fn written(error: WriteError) -> Fault {
    match error {
        WriteError::Shape(message) => fault("shape", message),
        WriteError::ReadsDifferently(message) => fault("reread", message),
        WriteError::NotRepresentable(message) => {
            Fault { not_representable: true, ..fault("not_representable", message) }
        }
    }
}

/// The words before the first other token, upper case.
pub(crate) fn leading_words(tokens: &[Token]) -> Result<String, Fault> {
    let mut leading = Vec::new();
    for token in tokens {
        let Token::Keyword(text) = token else { break };
        let parts = words(text).ok_or_else(|| {
            fault("words", format!("{:?} is not words of letters, digits and `_`", shortened(text)))
        })?;
        leading.extend(parts);
    }
    Ok(leading.join(" "))
}

fn not_too_many(tokens: &[Token]) -> Result<(), Fault> {
    let count = |token: &Token| match token {
        Token::DataType(tokens) => 1 + tokens.len(),
        Token::Name(parts) => parts.len().max(1),
        _ => 1,
    };
    let total: usize = tokens.iter().map(count).sum();
    if total > TOKENS_MAX {
        return Err(fault("limits", format!("the statement has {total} tokens; {TOKENS_MAX} at most")));
    }
    Ok(())
}
