//! The values of parameters: built in, from time expressions, and the user's, which may use each other.
//!
//! Each of the user's is expanded once, however often it is used. So the work and the memory are bounded by
//! the values' own length and by [`VALUE_MAX_BYTES`], and not by the number of ways through them.

use std::collections::HashMap;
use std::rc::Rc;

use super::built_in::{BuiltIn, Context, is_built_in};
use super::find::{Form, find_all};
use super::moment::Moment;
use super::shape::{self, Shape};
use super::{PARAMETERS_MAX, PROBLEMS_MAX, Source, Value, Values, wrong_pattern};

/// The largest expanded value, in bytes.
const VALUE_MAX_BYTES: usize = 64 * 1024;
/// The longest chain of values that use each other.
const DEPTH_MAX: usize = 32;
/// 5000-01-01: no offset leads from it to a year without four digits.
pub const PROBE_MS: i64 = 95_617_584_000_000;

/// Expands values, each once.
pub struct Resolver<'v> {
    values: &'v Values<'v>,
    /// Of two with one name the first counts.
    places: HashMap<&'v str, usize>,
    done: Vec<Option<Result<Rc<Resolved>, Wrong>>>,
}

/// An expanded value.
pub struct Resolved {
    text: String,
    kind: Kind,
    /// The values of the longest chain, with this one.
    depth: usize,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Without times: the text says what it is.
    Fixed,
    Shaped(Shape),
}

/// Why a value cannot be expanded.
#[derive(Clone)]
struct Wrong {
    /// The values that are wrong, not those that use them.
    on: Vec<usize>,
    why: String,
    /// Whether another way to the value may be shorter.
    is_of_path: bool,
}

impl<'v> Resolver<'v> {
    pub fn new(values: &'v Values<'v>) -> Resolver<'v> {
        let mut places = HashMap::with_capacity(values.global.len());
        for (place, (name, _)) in values.global.iter().enumerate() {
            places.entry(name.as_str()).or_insert(place);
        }
        Resolver { values, places, done: vec![None; values.global.len()] }
    }

    /// The value of a parameter.
    pub fn value(&mut self, source: Source, name: &str) -> Result<Value, String> {
        let resolved = match source {
            Source::Time => Rc::new(self.moment(name)?),
            Source::BuiltIn | Source::Global => {
                self.named(name, &mut Vec::new()).map_err(|wrong| wrong.why)?
            }
        };
        let Resolved { text, kind, .. } = &*resolved;
        // SQLite would end the text there.
        if text.contains('\0') {
            return Err(format!("the value of {} has a NUL character", source.spelled(name)));
        }
        let is_number = match kind {
            Kind::Fixed => shape::is_number(text),
            Kind::Shaped(shape) => shape.is_number(),
        };
        Ok(Value { text: text.clone(), is_number })
    }

    fn named(&mut self, name: &str, path: &mut Vec<usize>) -> Result<Rc<Resolved>, Wrong> {
        if let Some(built_in) = self.values.context.value(name) {
            return Ok(Rc::new(self.built_in(built_in?)?));
        }
        match self.places.get(name) {
            Some(&place) => self.global(place, path),
            None => Err(unknown(name).into()),
        }
    }

    fn built_in(&self, value: BuiltIn<'_>) -> Result<Resolved, String> {
        Ok(match value {
            BuiltIn::Date(pattern) => self.moment(pattern)?,
            BuiltIn::Id(id) => Resolved::new(id.to_string(), Kind::Shaped(Shape::WHOLE)),
            BuiltIn::Text(text) => Resolved::new(text.into_owned(), Kind::Shaped(Shape::TEXT)),
        })
    }

    fn moment(&self, pattern: &str) -> Result<Resolved, String> {
        let moment = Moment::parse(pattern).map_err(|why| wrong_pattern(pattern, &why))?;
        let text = moment.shown(self.values.business_ms, self.values.zone);
        let text = text.ok_or_else(|| format!("$[{pattern}] is in a year before 1000 or after 9999"))?;
        Ok(Resolved::new(text, Kind::Shaped(moment.shape())))
    }

    /// The value at a place; `path` has the places that wait for it.
    fn global(&mut self, place: usize, path: &mut Vec<usize>) -> Result<Rc<Resolved>, Wrong> {
        if let Some(done) = &self.done[place] {
            return done.clone();
        }
        if let Some(begin) = path.iter().position(|before| *before == place) {
            return Err(self.circle(&path[begin..]));
        }
        if path.len() >= DEPTH_MAX {
            // The values between are within the bound themselves: nothing is kept of them.
            return Err(Wrong { on: vec![path[0]], why: too_deep(), is_of_path: true });
        }
        path.push(place);
        let resolved = self.expanded(place, path).map(Rc::new).map_err(|wrong| wrong.at(place));
        path.pop();
        if !resolved.as_ref().is_err_and(|wrong| wrong.is_of_path) {
            self.done[place] = Some(resolved.clone());
        }
        resolved
    }

    fn expanded(&mut self, place: usize, path: &mut Vec<usize>) -> Result<Resolved, Wrong> {
        let text = self.values.global[place].1.as_str();
        let (mut whole, mut end) = (Resolved::new(String::new(), Kind::Fixed), 0);
        for (count, found) in find_all(text).enumerate() {
            if count >= PARAMETERS_MAX {
                return Err(format!("there are more than {PARAMETERS_MAX} parameters in it").into());
            }
            let part = match found.form {
                Form::Open => return Err("there is a `${` without its `}`".to_owned().into()),
                Form::Moment(pattern) => Rc::new(self.moment(pattern)?),
                Form::Named(name) => self.named(name, path)?,
            };
            whole.push(&text[end..found.span.start], Kind::Fixed)?;
            whole.push(&part.text, part.kind)?;
            whole.depth = whole.depth.max(part.depth + 1);
            end = found.span.end;
        }
        whole.push(&text[end..], Kind::Fixed)?;
        if whole.depth > DEPTH_MAX { Err(too_deep().into()) } else { Ok(whole) }
    }

    fn circle(&self, places: &[usize]) -> Wrong {
        let names = places.iter().chain(places.first()).map(|&place| self.values.global[place].0.as_str());
        let names: Vec<&str> = names.collect();
        let why = format!("its value needs itself: {}", names.join(" → "));
        Wrong { on: places.to_vec(), why, is_of_path: false }
    }
}

impl From<String> for Wrong {
    fn from(why: String) -> Wrong {
        Wrong { on: Vec::new(), why, is_of_path: false }
    }
}

impl Wrong {
    /// On this value, if it is on none yet.
    fn at(mut self, place: usize) -> Wrong {
        if self.on.is_empty() {
            self.on.push(place);
        }
        self
    }
}

impl Resolved {
    fn new(text: String, kind: Kind) -> Resolved {
        Resolved { text, kind, depth: 1 }
    }

    /// Puts a part behind. A part that is all of it gives it its kind.
    fn push(&mut self, part: &str, kind: Kind) -> Result<(), String> {
        if part.is_empty() && matches!(kind, Kind::Fixed) {
            return Ok(());
        }
        if self.text.len() + part.len() > VALUE_MAX_BYTES {
            return Err(format!("with its parameters the value is longer than {VALUE_MAX_BYTES} bytes"));
        }
        self.kind = match (self.kind, kind) {
            (Kind::Fixed, Kind::Fixed) => Kind::Fixed,
            (before, kind) => Kind::Shaped(before.shape(&self.text).then(kind.shape(part))),
        };
        self.text.push_str(part);
        Ok(())
    }
}

impl Kind {
    fn shape(self, text: &str) -> Shape {
        match self {
            Kind::Fixed => Shape::of(text),
            Kind::Shaped(shape) => shape,
        }
    }
}

/// The wrong values, by their places, with sentences.
pub fn check(global: &[(String, String)]) -> Vec<(usize, String)> {
    let zone = chrono_tz::Tz::UTC;
    let values = Values { global, business_ms: PROBE_MS, zone, context: Context::any() };
    let mut resolver = Resolver::new(&values);
    let mut problems = Vec::new();
    for place in 0..global.len() {
        match resolver.global(place, &mut Vec::new()) {
            Err(wrong) if wrong.on.contains(&place) => problems.push((place, wrong.why)),
            _ => {}
        }
        if problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    problems
}

/// The sentence about a name that is neither built in nor one of the workflow's.
pub fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(60).collect();
    format!(
        "${{{shown}}} is not known: it is neither one of the workflow's globalParams nor \
         ${{system.biz.date}}, ${{system.biz.curdate}}, ${{system.datetime}}, or one of ${{system.task.…}}, \
         ${{system.workflow.…}} and ${{system.project.…}}"
    )
}

/// Where the value of a name comes from, if it is known.
pub fn source(name: &str, is_global: impl Fn(&str) -> bool) -> Option<Source> {
    if is_built_in(name) {
        return Some(Source::BuiltIn);
    }
    is_global(name).then_some(Source::Global)
}

fn too_deep() -> String {
    format!("its value needs a chain of more than {DEPTH_MAX} others")
}

#[cfg(test)]
#[path = "globals_tests.rs"]
mod tests;
