//! Parameters, as DolphinScheduler fills them in: the global ones when a run begins, then those in scripts.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDateTime};
use serde_json::{Value, json};

use super::moment;

/// How deep a value may have others in it.
const DEPTH_MAX: usize = 20;
/// The longest text that is filled in, in bytes.
const TEXT_MAX_BYTES: usize = 1 << 20;
/// Built-in parameters.
const BIZ_DATE: &str = "system.biz.date";
const BIZ_CURDATE: &str = "system.biz.curdate";
const DATETIME: &str = "system.datetime";

/// A parameter: `{"prop":"k","direct":"IN","type":"VARCHAR","value":"v"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    pub name: String,
    pub direct: String,
    pub kind: String,
    pub value: String,
}

impl Property {
    pub fn new(name: &str, value: &str) -> Property {
        let text = str::to_owned;
        Property { name: text(name), direct: text("IN"), kind: text("VARCHAR"), value: text(value) }
    }

    /// `None` if it is no parameter.
    pub fn read(value: &Value) -> Option<Property> {
        let text = |name: &str, default: &str| value[name].as_str().unwrap_or(default).to_owned();
        Some(Property {
            name: value["prop"].as_str()?.to_owned(),
            direct: text("direct", "IN"),
            kind: text("type", "VARCHAR"),
            value: text("value", ""),
        })
    }

    pub fn json(&self) -> Value {
        json!({"prop": self.name, "direct": self.direct, "type": self.kind, "value": self.value})
    }
}

/// A list of parameters, as JSON within JSON.
pub fn written(properties: &[Property]) -> String {
    Value::Array(properties.iter().map(Property::json).collect()).to_string()
}

/// The parameters of a run. Those of its start come in the place of those of its definition. `scheduled` is the
/// date that the run is for; without one the dates are those of `now`.
pub fn filled_in(
    globals: &[Property],
    started_with: &[Property],
    scheduled: Option<NaiveDateTime>,
    now: NaiveDateTime,
) -> Result<Vec<Property>, String> {
    let mut properties = globals.to_vec();
    for given in started_with {
        match properties.iter_mut().find(|property| property.name == given.name) {
            Some(property) => property.value.clone_from(&given.value),
            None => properties.push(given.clone()),
        }
    }
    let mut known = built_in(scheduled.unwrap_or(now));
    known.extend(properties.iter().map(|property| (property.name.clone(), property.value.clone())));
    for property in &mut properties {
        // Only a value that begins so is filled in.
        if property.value.starts_with('$') {
            property.value = replaced(&property.value, &known, now)?;
        }
    }
    Ok(properties)
}

fn built_in(at: NaiveDateTime) -> BTreeMap<String, String> {
    let before = at.checked_sub_days(Days::new(1)).unwrap_or(at);
    [
        (BIZ_DATE, moment::formatted("yyyyMMdd", before)),
        (BIZ_CURDATE, moment::formatted("yyyyMMdd", at)),
        (DATETIME, moment::formatted("yyyyMMddHHmmss", at)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

/// A script with the values of its run. Built-in parameters are not among them: a real server was seen to leave
/// them as they are.
pub fn script(
    text: &str,
    properties: &[Property],
    scheduled: Option<NaiveDateTime>,
    now: NaiveDateTime,
) -> Result<String, String> {
    let known = properties.iter().map(|property| (property.name.clone(), property.value.clone()));
    let known: BTreeMap<String, String> = known.collect();
    times(&names(text, &known, 0)?, scheduled.unwrap_or(now))
}

/// A value with `${name}` and then `$[time]` filled in. The time is that of the run.
fn replaced(text: &str, known: &BTreeMap<String, String>, now: NaiveDateTime) -> Result<String, String> {
    let at = known.get(DATETIME).and_then(|text| NaiveDateTime::parse_from_str(text, "%Y%m%d%H%M%S").ok());
    times(&names(text, known, 0)?, at.unwrap_or(now))
}

/// Names that are not known stay as they are.
fn names(text: &str, known: &BTreeMap<String, String>, depth: usize) -> Result<String, String> {
    let (mut written, mut rest) = (String::new(), text);
    while let Some((before, name, behind)) = next(rest, "${", '}') {
        written.push_str(before);
        match known.get(name) {
            Some(_) if depth >= DEPTH_MAX => return Err(format!("the value of ${{{name}}} has no end")),
            Some(value) => written.push_str(&names(value, known, depth + 1)?),
            None => written.push_str(&rest[before.len()..rest.len() - behind.len()]),
        }
        rest = behind;
    }
    written.push_str(rest);
    if written.len() > TEXT_MAX_BYTES {
        return Err(format!("a text with its values has more than {TEXT_MAX_BYTES} bytes"));
    }
    Ok(written)
}

fn times(text: &str, at: NaiveDateTime) -> Result<String, String> {
    let (mut written, mut rest) = (String::new(), text);
    while let Some((before, pattern, behind)) = next(rest, "$[", ']') {
        let value = moment::text(pattern, at);
        let value = value.ok_or_else(|| format!("the test server does not know the time $[{pattern}]"))?;
        written.push_str(before);
        written.push_str(&value);
        rest = behind;
    }
    written.push_str(rest);
    Ok(written)
}

/// The first place between `open` and `close`, with what stands before and behind it.
fn next<'t>(text: &'t str, open: &str, close: char) -> Option<(&'t str, &'t str, &'t str)> {
    let (before, rest) = text.split_once(open)?;
    let (inside, behind) = rest.split_once(close)?;
    Some((before, inside, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> NaiveDateTime {
        text.parse().expect("a time")
    }

    fn values(globals: &[(&str, &str)], given: &[(&str, &str)], scheduled: Option<&str>) -> Vec<String> {
        let list = |pairs: &[(&str, &str)]| -> Vec<Property> {
            pairs.iter().map(|(name, value)| Property::new(name, value)).collect()
        };
        let filled = filled_in(&list(globals), &list(given), scheduled.map(at), at("2026-11-21T10:20:30"));
        filled.expect("known parts").into_iter().map(|property| property.value).collect()
    }

    #[test]
    fn values_that_begin_with_a_dollar_are_filled_in() {
        let globals = [
            ("lp_1", "word is "),
            ("lp_2", "${lp_1}${system.biz.date} $[yyyy-MM-dd]"),
            ("plain", "a ${lp_1}"),
            ("unknown", "${nobody}"),
        ];
        assert_eq!(
            values(&globals, &[], Some("2026-01-05T00:00:00")),
            ["word is ", "word is 20260104 2026-01-05", "a ${lp_1}", "${nobody}"]
        );
        assert_eq!(values(&globals, &[], None)[1], "word is 20261120 2026-11-21");
    }

    #[test]
    fn parameters_of_the_start_come_first() {
        let filled = values(&[("a", "1"), ("b", "${a}")], &[("a", "2"), ("c", "3")], None);
        assert_eq!(filled, ["2", "2", "3"]);
    }

    #[test]
    fn a_value_without_an_end_is_refused() {
        let circle = [Property::new("a", "${b}"), Property::new("b", "${a}")];
        filled_in(&circle, &[], None, at("2026-11-21T10:20:30")).expect_err("a circle");
    }

    #[test]
    fn a_script_has_the_values_of_its_run() {
        let properties = [Property::new("lp_1", "x y")];
        let text = "echo ${lp_1} ${HOME} ${system.biz.date} $(date) $[yyyy]";
        let now = at("2026-11-21T10:20:30");
        let filled = script(text, &properties, None, now).expect("known parts");
        assert_eq!(filled, "echo x y ${HOME} ${system.biz.date} $(date) 2026");
    }
}
