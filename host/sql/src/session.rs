//! A dialect's recipes for sessions: how a session begins, how it becomes read-only, and how a running
//! statement is cancelled. They contain no user's text, so they are more restricted than a change: settings
//! with constant values, and a few values that the host fills in.
//!
//! A recipe must not change how texts are read, which this crate relies on: the transport fixes that, and
//! other settings are refused.

use std::time::Duration;

use lakeport_bindings::dialect::about;
use lakeport_bindings::dialect::statements::{TextToken, Token};

use crate::plan::Refusal;
use crate::profile::{Profile, words};
use crate::statement::{Check, Fault, fault};
use crate::write::{Statement, shortened};

/// Words that no recipe may use: settings that change how texts are read, disable constraints or hide actions
/// from a log, and `SET STATEMENT … FOR`, which runs another statement.
const NEVER_SET: &[&str] = &[
    "BACKSLASH_QUOTE",
    "CHARACTER",
    "CHARACTER_SET_CLIENT",
    "CHARACTER_SET_CONNECTION",
    "CHARACTER_SET_RESULTS",
    "CHARSET",
    "CLIENT_ENCODING",
    "FOR",
    "FOREIGN_KEY_CHECKS",
    "NAMES",
    "SESSION_REPLICATION_ROLE",
    "SQL_LOG_BIN",
    "STATEMENT",
    "UNIQUE_CHECKS",
];
/// Modes of the MySQL family in which a backslash is an ordinary character or `"` quotes names, and modes
/// that include such a one.
const MODES_NEVER_SET: &[&str] =
    &["ANSI", "ANSI_QUOTES", "DB2", "MAXDB", "MSSQL", "NO_BACKSLASH_ESCAPES", "ORACLE", "POSTGRESQL"];
/// PostgreSQL's setting that must stay `on`.
const STANDARD_STRINGS: &str = "STANDARD_CONFORMING_STRINGS";
/// Functions that a cancellation may call by SELECT.
const CANCELLING_FUNCTIONS: &[&str] = &["PG_CANCEL_BACKEND"];

/// The values that the host fills in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostValues {
    /// The call's time limit: `timeout-ms`, and `timeout-s` in whole seconds, 1 or more.
    pub timeout: Duration,
    /// The maximum of rows: `max-rows`.
    pub max_rows: u32,
    /// The session to cancel, by the id that it reported: `session-id`. For cancellations only.
    pub session_id: Option<u64>,
    /// The statement to cancel, by the host's id: `query-id`. For cancellations only.
    pub query_id: Option<String>,
}

impl HostValues {
    /// The token for this value, if the recipe may have it.
    pub(crate) fn token(&self, operation: &str, name: &str) -> Result<Token, Fault> {
        let missing = || fault("host_value", format!("{name} is not known here"));
        let cancels = operation == "cancel";
        match name {
            "timeout-ms" if !cancels => Ok(Token::Number(self.timeout.as_millis().to_string())),
            "timeout-s" if !cancels => {
                let seconds = self.timeout.as_millis().div_ceil(1_000).max(1);
                Ok(Token::Number(seconds.to_string()))
            }
            "max-rows" if !cancels => Ok(Token::Number(self.max_rows.to_string())),
            "session-id" if cancels => {
                self.session_id.map(|id| Token::Number(id.to_string())).ok_or_else(missing)
            }
            "query-id" if cancels => {
                let value = self.query_id.clone().ok_or_else(missing)?;
                Ok(Token::Text(TextToken { value, rule: "literal".to_owned() }))
            }
            _ => Err(fault("host_value", format!("{:?} is no host value of {operation}", shortened(name)))),
        }
    }
}

/// The initial statements of each session, checked and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatements {
    /// For all sessions, in order, before anything else.
    pub setup: Vec<Statement>,
    /// After those, for read-only sessions.
    pub read_only: Vec<Statement>,
}

/// Checks and writes the initial statements of a session.
pub fn check_session(
    profile: &Profile,
    session: &about::Session,
    values: &HostValues,
) -> Result<SessionStatements, Refusal> {
    let all = |member: &str, recipes: &[Vec<Token>]| -> Result<Vec<Statement>, Refusal> {
        let written = recipes.iter().enumerate().map(|(index, tokens)| {
            let place = || format!("session.{member}[{index}]");
            recipe(profile, "session", tokens, values).map_err(|found| Refusal::at(place(), found))
        });
        written.collect()
    };
    Ok(SessionStatements {
        setup: all("setup", &session.setup)?,
        read_only: all("readOnly", &session.read_only)?,
    })
}

/// Checks and writes the statement that cancels another one, sent by another session. `None` if the dialect
/// has none.
pub fn check_cancel(
    profile: &Profile,
    cancel: &about::Cancel,
    values: &HostValues,
) -> Result<Option<Statement>, Refusal> {
    if cancel.statement.is_empty() {
        return Ok(None);
    }
    recipe(profile, "cancel", &cancel.statement, values)
        .map(Some)
        .map_err(|found| Refusal::at("cancel.statement".to_owned(), found))
}

fn recipe(
    profile: &Profile,
    operation: &str,
    tokens: &[Token],
    values: &HostValues,
) -> Result<Statement, Fault> {
    for (index, token) in tokens.iter().enumerate() {
        may_have(operation, token).map_err(|found| Fault { token: Some(index), ..found })?;
    }
    match operation {
        "session" => settings(tokens)?,
        _ => stops_the_one(tokens)?,
    }
    Check::recipe(profile, operation, tokens, values)
}

/// Checks that the token's kind is permitted in a recipe.
fn may_have(operation: &str, token: &Token) -> Result<(), Fault> {
    let allowed = match token {
        Token::Keyword(_) | Token::HostValue(_) => true,
        Token::Symbol(symbol) if operation == "session" => matches!(symbol.as_str(), "=" | ","),
        Token::Symbol(symbol) => matches!(symbol.as_str(), "(" | ")" | "," | "="),
        Token::Text(_) | Token::Number(_) => operation == "session",
        Token::Name(_) => {
            return Err(fault("names", format!("a statement of {operation} names nothing")));
        }
        Token::DataType(_) | Token::Expression(_) | Token::Other(_) => false,
    };
    if allowed {
        return Ok(());
    }
    Err(fault("shape", format!("a statement of {operation} is words, constants and host values only")))
}

/// Words of the keywords, upper case. The writer reports keywords that are not words.
fn said(tokens: &[Token]) -> impl Iterator<Item = String> {
    tokens
        .iter()
        .filter_map(|token| if let Token::Keyword(text) = token { words(text) } else { None })
        .flatten()
}

fn settings(tokens: &[Token]) -> Result<(), Fault> {
    if let Some(word) = said(tokens).find(|word| NEVER_SET.contains(&word.as_str())) {
        return Err(fault("session", format!("no session sets {word}")));
    }
    let values = tokens.iter().filter_map(|token| match token {
        Token::Text(text) => Some(text.value.to_ascii_uppercase()),
        _ => None,
    });
    let values: Vec<String> = values.collect();
    let parts =
        values.iter().flat_map(|value| value.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')));
    if let Some(mode) =
        parts.map(str::to_owned).chain(said(tokens)).find(|m| MODES_NEVER_SET.contains(&m.as_str()))
    {
        return Err(fault(
            "session",
            format!("no session has the mode {mode}: it changes how texts are read"),
        ));
    }
    // A mode may also be a number, whose bits do not show their names.
    let number = |token: &Token| matches!(token, Token::Number(_) | Token::HostValue(_));
    if said(tokens).any(|word| word == "SQL_MODE") && tokens.iter().any(number) {
        return Err(fault("session", "sql_mode is set by the names of its modes"));
    }
    if said(tokens).any(|word| word == STANDARD_STRINGS) && values != ["ON"] {
        return Err(fault("session", format!("{STANDARD_STRINGS} is 'on' in every session")));
    }
    Ok(())
}

/// A cancellation concerns the statement that the host names, and calls only functions that cancel one.
fn stops_the_one(tokens: &[Token]) -> Result<(), Fault> {
    if !tokens.iter().any(|token| matches!(token, Token::HostValue(_))) {
        return Err(fault("host_value", "a cancellation says which one by session-id or query-id"));
    }
    let mut spoken = said(tokens);
    if spoken.next().is_some_and(|word| word == "SELECT")
        && let Some(word) = spoken.find(|word| !CANCELLING_FUNCTIONS.contains(&word.as_str()))
    {
        return Err(fault(
            "words",
            format!("a cancellation by SELECT calls {CANCELLING_FUNCTIONS:?}, not {word}"),
        ));
    }
    Ok(())
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
