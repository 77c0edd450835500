//! Parameters in a task's text: `${name}` and `$[yyyy-MM-dd-1]`, and their values. Pure functions.
//!
//! In SQL a value is only data: within a literal it becomes an escaped part of the literal; elsewhere it is a
//! literal of its own that touches neither a name nor a number. The bounds of literals are found with fillers
//! in place of the parameters, so that values cannot influence them.

mod moment;

use std::ops::Range;

use chrono_tz::Tz;
use lakeport_sql::lex::{Kind, Lexeme, Lexing, lex};

/// The type of SQL tasks.
const SQL: &str = "SQL";
/// Parameters of one text.
const PARAMETERS_MAX: usize = 10_000;
/// The longest content of `$[…]`, in bytes: time patterns are shorter.
const PATTERN_MAX_BYTES: usize = 64;
/// The most reported problems.
const PROBLEMS_MAX: usize = 20;
/// The largest expanded text, in bytes.
const EXPANDED_MAX_BYTES: usize = 4 * 1024 * 1024;
/// Characters that end a name, or show that there is none.
const NO_NAME: [char; 7] = ['}', '{', '$', '\'', '"', '\n', '\r'];
/// Parameters of every run, besides user-defined ones.
const SYSTEM: [&str; 3] = ["system.biz.date", "system.biz.curdate", "system.datetime"];

/// The values of a run.
pub struct Values<'a> {
    /// Names and values; of two with one name the first counts.
    pub global: &'a [(String, String)],
    /// The time that the run is for.
    pub business_ms: i64,
    pub zone: Tz,
}

/// One parameter in a text.
#[derive(Debug, PartialEq, Eq)]
struct Parameter<'t> {
    span: Range<usize>,
    form: Form<'t>,
}

#[derive(Debug, PartialEq, Eq)]
enum Form<'t> {
    /// `${…}`
    Named(&'t str),
    /// `$[…]` with a possible time pattern.
    Moment(&'t str),
    /// `${` without an end.
    Open,
}

/// The problems of a text's parameters, as sentences; empty: none.
pub fn check(kind: &str, text: &str, global: &[(String, String)]) -> Vec<String> {
    if kind != SQL {
        return Vec::new();
    }
    let parameters = find(text);
    if parameters.len() > PARAMETERS_MAX {
        return vec![format!("there are more than {PARAMETERS_MAX} parameters in it")];
    }
    // Another dialect may read literals differently: reports only places where no value is possible in any.
    let lexemes = lex(&filled(text, &parameters), Lexing::SQLITE).unwrap_or_default();
    let mut problems = Vec::new();
    for parameter in &parameters {
        let shown = &text[parameter.span.clone()];
        let is_known = |name: &str| SYSTEM.contains(&name) || global.iter().any(|(known, _)| known == name);
        match parameter.form {
            Form::Open => problems.push("there is a `${` without its `}`".to_owned()),
            Form::Named(name) if !is_known(name) => problems.push(unknown(name)),
            Form::Moment(pattern) if !moment::is_pattern(pattern) => problems.push(wrong_pattern(shown)),
            Form::Named(_) | Form::Moment(_) => {}
        }
        if at(&lexemes, &parameter.span).is_some_and(|lexeme| matches!(lexeme.kind, Kind::Comment { .. })) {
            problems.push(format!("{shown} stands in a comment; take it out there"));
        }
    }
    problems.dedup();
    problems.truncate(PROBLEMS_MAX);
    problems
}

/// The SQL with all values, by SQLite's lexing; or the reason why it cannot be expanded.
pub fn expand(text: &str, values: &Values<'_>) -> Result<String, String> {
    let parameters = find(text);
    if parameters.is_empty() {
        return Ok(text.to_owned());
    }
    if parameters.len() > PARAMETERS_MAX {
        return Err(format!("there are more than {PARAMETERS_MAX} parameters in the text"));
    }
    let lexemes = lex(&filled(text, &parameters), Lexing::SQLITE)
        .map_err(|error| format!("the SQL cannot be read: there is {error}"))?;
    let (mut expanded, mut end) = (String::with_capacity(text.len()), 0);
    for parameter in &parameters {
        let shown = &text[parameter.span.clone()];
        let value = values.of(&parameter.form, shown)?;
        let lexeme = at(&lexemes, &parameter.span).ok_or_else(|| format!("{shown} stands nowhere"))?;
        expanded.push_str(&text[end..parameter.span.start]);
        end = parameter.span.end;
        match &lexeme.kind {
            Kind::Text(_) => expanded.push_str(&value.replace('\'', "''")),
            // A number would take the point, and other digits, as its own.
            Kind::Word
                if lexeme.span == parameter.span
                    && is_number(&value)
                    && (text[..parameter.span.start].ends_with('.') || text[end..].starts_with('.')) =>
            {
                return Err(format!("{shown} stands beside a point; a number stands by itself"));
            }
            Kind::Word if lexeme.span == parameter.span => {
                // Two adjacent literals would become one.
                let touches = [text[..parameter.span.start].ends_with('\''), text[end..].starts_with('\'')];
                let blank = |touches: bool| if touches { " " } else { "" };
                expanded.push_str(blank(touches[0]));
                expanded.push_str(&literal(&value));
                expanded.push_str(blank(touches[1]));
            }
            Kind::Word | Kind::Number => {
                return Err(format!("{shown} is a part of a name or a number; a value stands by itself"));
            }
            Kind::Comment { .. } => return Err(format!("{shown} stands in a comment; take it out there")),
            Kind::Name(_) | Kind::Symbol(_) => {
                return Err(format!("{shown} stands in a quoted name; a value can be no part of a name"));
            }
        }
        if expanded.len() > EXPANDED_MAX_BYTES {
            return Err(format!("with its parameters the SQL is longer than {EXPANDED_MAX_BYTES} bytes"));
        }
    }
    expanded.push_str(&text[end..]);
    Ok(expanded)
}

impl Values<'_> {
    fn of(&self, form: &Form<'_>, shown: &str) -> Result<String, String> {
        let value = match *form {
            Form::Open => return Err("there is a `${` without its `}` in the text".to_owned()),
            Form::Moment(pattern) => {
                moment::shown(pattern, self.business_ms, self.zone).ok_or_else(|| wrong_pattern(shown))?
            }
            Form::Named(name) => match self.system(name) {
                Some(value) => value,
                None => {
                    let found = self.global.iter().find(|(known, _)| known == name);
                    let (_, value) = found.ok_or_else(|| unknown(name))?;
                    self.within(value)
                }
            },
        };
        // SQLite would end the text there.
        if value.contains('\0') {
            Err(format!("the value of {shown} has a NUL character"))
        } else {
            Ok(value)
        }
    }

    fn system(&self, name: &str) -> Option<String> {
        let pattern = match name {
            "system.biz.date" => "yyyyMMdd-1",
            "system.biz.curdate" => "yyyyMMdd",
            "system.datetime" => "yyyyMMddHHmmss",
            _ => return None,
        };
        moment::shown(pattern, self.business_ms, self.zone)
    }

    /// A user's value may itself contain time patterns, but no other parameters.
    fn within(&self, value: &str) -> String {
        let (mut expanded, mut end) = (String::new(), 0);
        for parameter in find(value) {
            let put = match parameter.form {
                Form::Named(name) => self.system(name),
                Form::Moment(pattern) => moment::shown(pattern, self.business_ms, self.zone),
                Form::Open => None,
            };
            let Some(put) = put else { continue };
            expanded.push_str(&value[end..parameter.span.start]);
            expanded.push_str(&put);
            end = parameter.span.end;
        }
        expanded + &value[end..]
    }
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    format!(
        "${{{shown}}} is not known: it is neither one of the workflow's globalParams nor ${{system.biz.date}}, \
         ${{system.biz.curdate}} or ${{system.datetime}}"
    )
}

fn wrong_pattern(shown: &str) -> String {
    let shown: String = shown.chars().take(60).collect();
    format!("{shown} is no time; write it like $[yyyy-MM-dd], $[yyyyMMdd-1] or $[add_months(yyyyMM,-1)]")
}

/// The parameters of a text, at any place; one more than the maximum at most.
fn find(text: &str) -> Vec<Parameter<'_>> {
    let (mut parameters, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find('$').map(|at| from + at) {
        if parameters.len() > PARAMETERS_MAX {
            break;
        }
        from = start + 1;
        let rest = &text[from..];
        let (form, length) = if let Some(inner) = rest.strip_prefix('{') {
            match inner.find(NO_NAME).filter(|&end| inner[end..].starts_with('}')) {
                Some(end) => (Form::Named(&inner[..end]), end + 2),
                None => (Form::Open, 1),
            }
        } else if let Some(inner) = rest.strip_prefix('[') {
            // `$[0]` is a path into JSON.
            let end = inner.bytes().take(PATTERN_MAX_BYTES + 1).position(|byte| byte == b']');
            match end.map(|end| &inner[..end]) {
                Some(pattern) if pattern.starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    (Form::Moment(pattern), pattern.len() + 2)
                }
                _ => continue,
            }
        } else {
            continue;
        };
        from += length;
        parameters.push(Parameter { span: start..from, form });
    }
    parameters
}

/// The text with its parameters replaced by letters, which touch their neighbours.
fn filled(text: &str, parameters: &[Parameter<'_>]) -> String {
    let mut filled = text.to_owned();
    for Parameter { span, .. } in parameters {
        filled.replace_range(span.clone(), &"p".repeat(span.len()));
    }
    filled
}

fn at<'l>(lexemes: &'l [Lexeme], span: &Range<usize>) -> Option<&'l Lexeme> {
    let behind = lexemes.partition_point(|lexeme| lexeme.span.start <= span.start);
    lexemes[..behind].last().filter(|lexeme| span.end <= lexeme.span.end)
}

/// A value as a literal: a number if it looks like one, else a text. A negative number is in parentheses:
/// after a minus it would begin a comment.
fn literal(value: &str) -> String {
    match value.strip_prefix('-') {
        _ if is_number(value) => value.to_owned(),
        Some(rest) if is_number(rest) => format!("({value})"),
        _ => format!("'{}'", value.replace('\'', "''")),
    }
}

/// `7`, `0.5`, `1e3`, and not `007`, which is a code.
fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = whole == "0" || !whole.starts_with('0');
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    text.len() <= 40 && digits(whole) && is_plain && digits(part) && digits(exponent)
}

#[cfg(test)]
#[path = "parameters_fuzz.rs"]
mod fuzz;

#[cfg(test)]
#[path = "parameters_tests.rs"]
mod tests;
