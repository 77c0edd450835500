//! The values of parameters, in DolphinScheduler's words.
//!
//! What DolphinScheduler does with parameters in SQL changes their meaning: `${x}` becomes a bound parameter,
//! which has a type where a literal has none, and the quotes round it are taken away. So a text that is
//! deployed has no `${…}` in SQL. A literal with a value is one global parameter of the definition, and stands
//! in the statement as `!{lp_1}`, which DolphinScheduler replaces by the parameter's text. The statement that
//! runs is then the same, character for character, as on the engine `local`. The parameter's value is put
//! together of parameters and time expressions, which DolphinScheduler fills in once, when a run begins.
//!
//! Of the rules of its replacement these matter here (3.1.1; those of later versions include them):
//! - A global parameter is filled in if its value begins with `$`. So one that begins with text names another
//!   parameter for that text.
//! - What is filled in is `${name}`, and then `$[time]`. Nothing may look like them by accident.
//! - `!{name}` is replaced by a regular expression, where `\` and `$` are written with a `\` before them, and
//!   all quotes that touch it are taken away.

use std::fmt::Write as _;

use lakeport_sdk::engine::Param;
use lakeport_sdk::serde_json::{Value, json};

use crate::moment;
use crate::shape::{self, Shape};

/// What all names of parameters begin with that the plugin makes.
const PREFIX: &str = "lp_";
/// The parameter that says whose definition it is, and of which revision.
pub const MARK: &str = "lakeport_workflow";
/// Parameters of a start.
pub const RUN_KEY: &str = "lakeport_run_key";
pub const RUN_CAUSE: &str = "lakeport_run_cause";
/// The longest chain of parameters that use each other, as in the host.
const DEPTH_MAX: usize = 32;
/// Parts of one value. The host bounds its text.
const ATOMS_MAX: usize = 10_000;
/// Dates, which a run has in every version.
const DATES: [(&str, &str); 3] = [
    ("system.biz.date", "yyyyMMdd"),
    ("system.biz.curdate", "yyyyMMdd"),
    ("system.datetime", "yyyyMMddHHmmss"),
];
/// The characters of a value in a script, besides letters and digits. As in the host.
const SCRIPT: &str = "_.:/ -";

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Atom {
    Text(String),
    /// What DolphinScheduler fills in, in its words.
    Filled(String),
}

/// A value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub atoms: Vec<Atom>,
    /// Whether it is a number where it stands by itself.
    pub is_number: bool,
    /// A character that a script must not have.
    pub unfit: Option<char>,
}

/// Whether the plugin made a parameter of a definition.
pub fn is_own(name: &str) -> bool {
    [MARK, RUN_KEY, RUN_CAUSE].contains(&name)
        || name.strip_prefix(PREFIX).is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Works a value out; or says why DolphinScheduler cannot.
pub fn resolve(source: &str, name: &str, params: &[Param]) -> Result<Resolved, String> {
    let mut resolver = Resolver { params, atoms: Vec::new(), shape: None, unfit: None };
    match source {
        "time" => resolver.time(name)?,
        "built_in" => resolver.built_in(name)?,
        "global" => resolver.global(name, 0)?,
        _ => return Err(format!("a parameter of the source {source:?} is not known")),
    }
    let is_number = match resolver.shape {
        Some(shape) => shape.is_number(),
        None => shape::is_number(&text_of(&resolver.atoms)),
    };
    Ok(Resolved { atoms: resolver.atoms, is_number, unfit: resolver.unfit })
}

fn text_of(atoms: &[Atom]) -> String {
    let text = |atom: &Atom| match atom {
        Atom::Text(text) | Atom::Filled(text) => text.clone(),
    };
    atoms.iter().map(text).collect()
}

struct Resolver<'p> {
    params: &'p [Param],
    atoms: Vec<Atom>,
    /// Of what it has so far; `None`: only text, which says itself what it is.
    shape: Option<Shape>,
    unfit: Option<char>,
}

impl Resolver<'_> {
    fn time(&mut self, pattern: &str) -> Result<(), String> {
        let moment = moment::read(pattern)?;
        self.note(moment.others.chars());
        self.fill(format!("$[{}]", moment.words), moment.shape)
    }

    fn built_in(&mut self, name: &str) -> Result<(), String> {
        // A name or a code, which is the same in each run.
        if let Some(constant) = self.params.iter().find(|param| param.name == name) {
            return self.text(&constant.value);
        }
        let Some((_, format)) = DATES.iter().find(|(known, _)| *known == name) else {
            return Err(format!(
                "${{{name}}} is not the same in every version of DolphinScheduler; 3.1 has no value for it \
                 when a run begins"
            ));
        };
        self.fill(format!("${{{name}}}"), moment::read(format)?.shape)
    }

    fn global(&mut self, name: &str, depth: usize) -> Result<(), String> {
        let found = self.params.iter().find(|param| param.name == name);
        let value = found.ok_or_else(|| format!("${{{name}}} is not one of the workflow's parameters"))?;
        if depth >= DEPTH_MAX {
            return Err(format!("the value of ${{{name}}} needs more than {DEPTH_MAX} others, or itself"));
        }
        let mut rest = value.value.as_str();
        while let Some((before, form, behind)) = next_parameter(rest) {
            self.text(before)?;
            match form {
                Form::Time(pattern) => self.time(pattern)?,
                Form::Named(name) if name.starts_with("system.") => self.built_in(name)?,
                Form::Named(name) => self.global(name, depth + 1)?,
            }
            rest = behind;
        }
        self.text(rest)
    }

    fn text(&mut self, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        self.note(text.chars());
        if let Some(shape) = self.shape {
            self.shape = Some(shape.then(Shape::of(text)));
        }
        match self.atoms.last_mut() {
            Some(Atom::Text(before)) => before.push_str(text),
            _ => self.push(Atom::Text(text.to_owned()))?,
        }
        Ok(())
    }

    fn fill(&mut self, words: String, shape: Shape) -> Result<(), String> {
        let before = self.shape.unwrap_or_else(|| Shape::of(&text_of(&self.atoms)));
        self.shape = Some(before.then(shape));
        self.push(Atom::Filled(words))
    }

    fn push(&mut self, atom: Atom) -> Result<(), String> {
        if self.atoms.len() >= ATOMS_MAX {
            return Err(format!("a value has more than {ATOMS_MAX} parts"));
        }
        self.atoms.push(atom);
        Ok(())
    }

    fn note(&mut self, mut chars: impl Iterator<Item = char>) {
        let unfit = chars.find(|c| !c.is_ascii_alphanumeric() && !SCRIPT.contains(*c));
        self.unfit = self.unfit.or(unfit);
    }
}

enum Form<'t> {
    Named(&'t str),
    Time(&'t str),
}

/// The first parameter of a value, with what stands before and behind it. The host has checked the value.
fn next_parameter(text: &str) -> Option<(&str, Form<'_>, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('$').map(|at| from + at) {
        let rest = &text[at + 1..];
        let (open, close) = (rest.chars().next(), if rest.starts_with('{') { '}' } else { ']' });
        let is_time = |inner: &str| {
            inner.starts_with(|c: char| c.is_ascii_alphabetic())
                && !inner.starts_with("last]")
                && !inner.starts_with("last-")
        };
        let may_be = match open {
            Some('{') => true,
            Some('[') => is_time(&rest[1..]),
            _ => false,
        };
        if let Some(end) = rest.find(close).filter(|_| may_be) {
            let inner = &rest[1..end];
            let form = if close == '}' { Form::Named(inner) } else { Form::Time(inner) };
            return Some((&text[..at], form, &rest[end + 1..]));
        }
        from = at + 1;
    }
    None
}

/// The global parameters that a definition needs. Equal values are one parameter.
#[derive(Default)]
pub struct Globals {
    values: Vec<String>,
    /// A time expression that 3.1 lacks, if there is one among the values.
    new_words: Option<String>,
}

impl Globals {
    /// The name of a parameter with the text of these atoms. Each text is as the parameter shall have it.
    pub fn put(&mut self, atoms: &[Atom]) -> String {
        for atom in atoms {
            if let Atom::Filled(words) = atom
                && moment::is_new(words)
            {
                self.new_words.get_or_insert_with(|| words.clone());
            }
        }
        let begins_with_text = matches!(atoms.first(), Some(Atom::Text(_)));
        let has_filled = atoms.iter().any(|atom| matches!(atom, Atom::Filled(_)));
        let mut value = String::new();
        for (at, atom) in atoms.iter().enumerate() {
            match atom {
                Atom::Text(text) if at == 0 && has_filled && begins_with_text => {
                    let name = self.name(text.clone());
                    write!(value, "${{{name}}}").expect("a text takes all");
                }
                Atom::Text(text) | Atom::Filled(text) => value.push_str(text),
            }
        }
        self.name(value)
    }

    /// The first time expression that 3.1 lacks.
    pub fn take_new_words(&mut self) -> Option<String> {
        self.new_words.take()
    }

    fn name(&mut self, value: String) -> String {
        let known = self.values.iter().position(|known| *known == value);
        let at = known.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        format!("{PREFIX}{}", at + 1)
    }

    /// As a definition has them, with its mark.
    pub fn written(&self, mark: &str) -> String {
        let param = |name: String, value: &str| json!({"prop": name, "direct": "IN", "type": "VARCHAR", "value": value});
        let own = self.values.iter().enumerate();
        let own = own.map(|(at, value)| param(format!("{PREFIX}{}", at + 1), value));
        Value::Array(std::iter::once(param(MARK.to_owned(), mark)).chain(own).collect()).to_string()
    }
}

/// A text within `!{…}`: it is the replacement of a regular expression.
pub fn spliced(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '$') {
            written.push('\\');
        }
        written.push(c);
    }
    written
}
