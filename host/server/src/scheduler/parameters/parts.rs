//! The parts of a task's text: what stands as it is, and parameters with their places.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use lakeport_sql::lex::Lexing;

use super::find::{Form, Found, find, find_all};
use super::globals::{self, PROBE_MS, unknown};
use super::moment::Moment;
use super::places::{Quoting, Reading, without_tags};
use super::write::fits_script;
use super::{PARAMETERS_MAX, PROBLEMS_MAX, SHELL, SQL, wrong_pattern};

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// As it is.
    Text(String),
    /// A parameter; `name` is without its braces or brackets.
    Value { source: Source, name: String, place: Place },
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The workflow's `globalParams`.
    Global,
    /// `${system.…}`
    BuiltIn,
    /// `$[…]`; the name is the time expression.
    Time,
}

/// Where a value is put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Within a string literal of SQL.
    Literal(Quoting),
    /// Where SQL takes a literal.
    Bare,
    /// In a script.
    Script,
}

/// A parameter of a text.
struct Spot<'t> {
    span: Range<usize>,
    source: Source,
    name: &'t str,
    place: Place,
}

impl Source {
    /// Its name in the engines' contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Source::Global => "global",
            Source::BuiltIn => "built_in",
            Source::Time => "time",
        }
    }

    /// A parameter as it is written.
    pub fn spelled(self, name: &str) -> String {
        match self {
            Source::Global | Source::BuiltIn => format!("${{{name}}}"),
            Source::Time => format!("$[{name}]"),
        }
    }
}

impl Part {
    /// The part as it is written: those of all parts are the text.
    pub fn spelled(&self) -> Cow<'_, str> {
        match self {
            Part::Text(text) => text.into(),
            Part::Value { source, name, .. } => source.spelled(name).into(),
        }
    }
}

/// The parts of a text; or its first problem.
pub fn parts(
    kind: &str,
    text: &str,
    global: &[(String, String)],
    lexing: Lexing,
) -> Result<Vec<Part>, String> {
    let Read { spots, problems, unreadable } = Read::of(kind, text, global, lexing);
    if let Some(problem) = unreadable.into_iter().chain(problems).next() {
        return Err(problem);
    }
    let (mut parts, mut end) = (Vec::with_capacity(2 * spots.len() + 1), 0);
    for Spot { span, source, name, place } in spots {
        if end < span.start {
            parts.push(Part::Text(text[end..span.start].to_owned()));
        }
        end = span.end;
        parts.push(Part::Value { source, name: name.to_owned(), place });
    }
    if end < text.len() {
        parts.push(Part::Text(text[end..].to_owned()));
    }
    Ok(parts)
}

/// The problems of a text, as sentences.
pub fn problems(kind: &str, text: &str, global: &[(String, String)], lexing: Lexing) -> Vec<String> {
    let mut problems = Read::of(kind, text, global, lexing).problems;
    problems.dedup();
    problems.truncate(PROBLEMS_MAX);
    problems
}

/// What a text has.
#[derive(Default)]
struct Read<'t> {
    spots: Vec<Spot<'t>>,
    problems: Vec<String>,
    /// Why no place is known.
    unreadable: Option<String>,
}

impl<'t> Read<'t> {
    fn of(kind: &str, text: &'t str, global: &[(String, String)], lexing: Lexing) -> Read<'t> {
        let names: HashSet<&str> = global.iter().map(|(name, _)| name.as_str()).collect();
        let source = |name: &str| globals::source(name, |name| names.contains(name));
        let found: Vec<Found<'t>> = match kind {
            SQL => find_all(text).take(PARAMETERS_MAX + 1).collect(),
            SHELL => find(text, |form| is_of_script(form, source)).take(PARAMETERS_MAX + 1).collect(),
            _ => Vec::new(),
        };
        if found.len() > PARAMETERS_MAX {
            let problem = format!("there are more than {PARAMETERS_MAX} parameters in it");
            return Read { problems: vec![problem], ..Read::default() };
        }
        if kind != SQL {
            return Read::script(found, source);
        }
        match without_tags(text, found, lexing) {
            found if found.is_empty() => Read::default(),
            found => Read::sql(text, found, source, lexing),
        }
    }

    fn sql(
        text: &str,
        found: Vec<Found<'t>>,
        source: impl Fn(&str) -> Option<Source>,
        lexing: Lexing,
    ) -> Read<'t> {
        let reading = Reading::of(text, &found, lexing);
        let unreadable =
            reading.as_ref().err().map(|error| format!("the SQL cannot be read: there is {error}"));
        let mut read = Read { unreadable, ..Read::default() };
        let doubt = reading.as_ref().ok().and_then(Reading::doubt);
        read.problems.extend(doubt.map(str::to_owned));
        for Found { span, form } in found {
            read.add(named(form, &source).and_then(|(source, name)| {
                let place = match &reading {
                    Ok(reading) => reading.place(&span).map_err(|why| {
                        let shown: String = text[span.clone()].chars().take(60).collect();
                        format!("{shown} {why}")
                    })?,
                    Err(_) => Place::Bare,
                };
                Ok(Spot { span, source, name, place })
            }));
        }
        read
    }

    fn script(found: Vec<Found<'t>>, source: impl Fn(&str) -> Option<Source>) -> Read<'t> {
        let mut read = Read::default();
        for Found { span, form } in found {
            read.add(named(form, &source).and_then(|(source, name)| {
                if source == Source::Time {
                    check_script(name)?;
                }
                Ok(Spot { span, source, name, place: Place::Script })
            }));
        }
        read
    }

    fn add(&mut self, spot: Result<Spot<'t>, String>) {
        match spot {
            Ok(spot) => self.spots.push(spot),
            Err(problem) => self.problems.push(problem),
        }
    }
}

/// The source of a parameter and its name without braces.
fn named(form: Form<'_>, source: impl Fn(&str) -> Option<Source>) -> Result<(Source, &str), String> {
    match form {
        Form::Open => Err("there is a `${` without its `}`".to_owned()),
        Form::Named(name) => source(name).map(|source| (source, name)).ok_or_else(|| unknown(name)),
        Form::Moment(pattern) => match Moment::parse(pattern) {
            Ok(_) => Ok((Source::Time, pattern)),
            Err(why) => Err(wrong_pattern(pattern, &why)),
        },
    }
}

/// What is the shell's own is left alone: `${HOME}`, `${x:-1}`, `$[1+2]`. A time expression that is put
/// together of parameters is neither, and is refused.
fn is_of_script(form: Form<'_>, source: impl Fn(&str) -> Option<Source>) -> bool {
    match form {
        Form::Open => false,
        Form::Named(name) => source(name).is_some(),
        Form::Moment(pattern) => {
            let begin = pattern.split_once("${").map_or(pattern, |(begin, _)| begin);
            Moment::parse(begin.trim_end_matches(['+', '-'])).is_ok()
        }
    }
}

/// Whether a time expression can be put in a script at all.
fn check_script(pattern: &str) -> Result<(), String> {
    let moment = Moment::parse(pattern).map_err(|why| wrong_pattern(pattern, &why))?;
    let text = moment.shown(PROBE_MS, chrono_tz::Tz::UTC).unwrap_or_default();
    fits_script(&format!("$[{pattern}]"), &text)
}
