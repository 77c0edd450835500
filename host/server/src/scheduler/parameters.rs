//! Parameters in a task's text: `${name}` and `$[yyyy-MM-dd-1]`, and their values. Pure functions.
//!
//! In SQL a value is only data: within a literal it becomes an escaped part of the literal; elsewhere it is a
//! literal of its own that touches neither a name nor a number, and whose type does not depend on the date.
//! The bounds of literals are found with fillers in place of the parameters, by the lexing of the data
//! source, so that values cannot influence them. In a script a value is plain characters.
//!
//! [`parts`] reads a text; a text and its values together are for [`expand`] and [`expand_script`].

mod arithmetic;
mod built_in;
mod calendar;
mod find;
mod format;
mod globals;
mod moment;
mod parts;
mod places;
mod shape;
mod write;

use chrono_tz::Tz;
use lakeport_sql::lex::Lexing;

pub use built_in::Context;
pub use moment::in_dolphinscheduler;
pub use parts::{Part, Place, Source, parts};
pub use places::{Backslash, Quoting};
pub use write::Value;

/// The type of SQL tasks.
const SQL: &str = "SQL";
/// The type of shell scripts.
const SHELL: &str = "SHELL";
/// Parameters of one text.
const PARAMETERS_MAX: usize = 10_000;
/// The most reported problems.
const PROBLEMS_MAX: usize = 20;
/// The largest expanded text, in bytes.
const EXPANDED_MAX_BYTES: usize = 4 * 1024 * 1024;

/// The values of a run.
pub struct Values<'a> {
    /// Names and values; of two with one name the first counts. The built-in names are not among them.
    pub global: &'a [(String, String)],
    /// The time that the run is for.
    pub business_ms: i64,
    pub zone: Tz,
    /// What runs.
    pub context: Context<'a>,
}

impl Values<'_> {
    /// The value of a part of a text.
    pub fn value(&self, source: Source, name: &str) -> Result<Value, String> {
        globals::Resolver::new(self).value(source, name)
    }
}

/// The problems of a text's parameters, as sentences; empty: none. A text in SQL that cannot be read has no
/// places: then only names and times are judged.
pub fn check(kind: &str, text: &str, global: &[(String, String)], lexing: Lexing) -> Vec<String> {
    parts::problems(kind, text, global, lexing)
}

/// A text with values of no particular run, as Lakeport's own scheduler would run it; `None` for a type that it does not
/// run. The reason why it never could, if there is one.
pub fn probe(
    kind: &str,
    text: &str,
    global: &[(String, String)],
    lexing: Lexing,
) -> Result<Option<String>, String> {
    /// 2026-01-01 00:00:00 UTC.
    const BUSINESS_MS: i64 = 1_767_225_600_000;
    let context = Context::any_here();
    let values = Values { global, business_ms: BUSINESS_MS, zone: Tz::UTC, context };
    match kind {
        SQL => expand(text, &values, lexing).map(Some),
        SHELL => expand_script(text, &values).map(Some),
        _ => Ok(None),
    }
}

/// The wrong ones of the user's parameters, by their places, with sentences about their values.
pub fn check_globals(global: &[(String, String)]) -> Vec<(usize, String)> {
    globals::check(global)
}

/// The SQL with all values; or the reason why it cannot be expanded.
pub fn expand(text: &str, values: &Values<'_>, lexing: Lexing) -> Result<String, String> {
    expanded(SQL, text, values, lexing)
}

/// The shell script with all values; or the reason why it cannot be expanded.
pub fn expand_script(text: &str, values: &Values<'_>) -> Result<String, String> {
    expanded(SHELL, text, values, Lexing::SQLITE)
}

fn expanded(kind: &str, text: &str, values: &Values<'_>, lexing: Lexing) -> Result<String, String> {
    let parts = parts(kind, text, values.global, lexing)?;
    let mut resolver = globals::Resolver::new(values);
    let mut expanded = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Text(text) => expanded.push_str(text),
            Part::Value { source, name, place } => {
                let value = resolver.value(*source, name)?;
                let next = match parts.get(at + 1) {
                    Some(Part::Text(text)) => text.chars().next(),
                    _ => None,
                };
                write::put(&mut expanded, &value, (*place, lexing), next, &source.spelled(name))?;
                if expanded.len() > EXPANDED_MAX_BYTES {
                    let message =
                        format!("with its parameters the text is longer than {EXPANDED_MAX_BYTES} bytes");
                    return Err(message);
                }
            }
        }
    }
    Ok(expanded)
}

fn wrong_pattern(pattern: &str, why: &str) -> String {
    let shown: String = pattern.chars().take(60).collect();
    format!(
        "$[{shown}] is no time: {why}; write it like $[yyyy-MM-dd], $[yyyyMMdd-1] or $[add_months(yyyyMM,-1)]"
    )
}

#[cfg(test)]
#[path = "parameters_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
