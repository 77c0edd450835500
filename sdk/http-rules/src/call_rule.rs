//! Call rules of an address: `GET projects/*/runs/**`, what such a call does, and what is masked of its answer.

use serde_json::Value;

use crate::mask::mask;
use crate::{MASKS_MAX, METHODS};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It may be repeated.
    Reads,
    /// A lost answer may have applied.
    Changes,
}

/// A checked rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallRule {
    method: String,
    path: Vec<Segment>,
    effect: Effect,
    masks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// `*`
    One,
    /// `**`
    Rest,
    Text(String),
}

impl CallRule {
    /// Reads `call`, `METHOD path`; the error is for the plugin's author.
    pub fn parse(call: &str, effect: &str, masks: &[String]) -> Result<CallRule, String> {
        let (method, path) = call.split_once(' ').unwrap_or((call, ""));
        if !METHODS.contains(&method) {
            return Err(format!("the call rule {call:?} begins with no HTTP method"));
        }
        let path: Vec<Segment> = path
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(|segment| match segment {
                "*" => Segment::One,
                "**" => Segment::Rest,
                text => Segment::Text(text.to_owned()),
            })
            .collect();
        let is_inner = |at: usize| at + 1 < path.len();
        if path.iter().enumerate().any(|(at, segment)| *segment == Segment::Rest && is_inner(at)) {
            return Err(format!("the call rule {call:?} has `**` before its end"));
        }
        let effect = match effect {
            "reads" => Effect::Reads,
            "changes" => Effect::Changes,
            other => {
                return Err(format!(
                    "the effect {other:?} of the call rule {call:?} must be `reads` or `changes`"
                ));
            }
        };
        if let Some(pointer) = masks.iter().find(|pointer| !pointer.starts_with('/')) {
            return Err(format!("the mask {pointer:?} of the call rule {call:?} is no JSON Pointer"));
        }
        if masks.len() > MASKS_MAX {
            return Err(format!("the call rule {call:?} has more than {MASKS_MAX} masks"));
        }
        Ok(CallRule { method: method.to_owned(), path, effect, masks: masks.to_vec() })
    }

    /// Whether it is the rule of this call.
    pub fn fits(&self, method: &str, path: &[&str]) -> bool {
        if self.method != method {
            return false;
        }
        let mut path = path.iter();
        for wanted in &self.path {
            match (wanted, path.next()) {
                (Segment::Rest, _) => return true,
                (Segment::One, Some(_)) => {}
                (Segment::Text(text), Some(segment)) if text == segment => {}
                _ => return false,
            }
        }
        path.next().is_none()
    }

    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// The body as a plugin sees it; `None` if members are to be masked and it is no JSON. An empty body has none.
    pub fn masked(&self, body: Vec<u8>) -> Option<Vec<u8>> {
        if self.masks.is_empty() || body.is_empty() {
            return Some(body);
        }
        let mut value: Value = serde_json::from_slice(&body).ok()?;
        self.masks.iter().for_each(|pointer| mask(&mut value, pointer));
        Some(value.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(call: &str) -> CallRule {
        CallRule::parse(call, "reads", &[]).unwrap()
    }

    #[test]
    fn a_rule_fits_by_segments() {
        assert!(rule("GET projects/*/runs").fits("GET", &["projects", "7", "runs"]));
        assert!(!rule("GET projects/*/runs").fits("POST", &["projects", "7", "runs"]));
        assert!(!rule("GET projects/*/runs").fits("GET", &["projects", "7", "runs", "1"]));
        assert!(!rule("GET projects/*/runs").fits("GET", &["projects", "runs"]));
        assert!(rule("GET projects/**").fits("GET", &["projects", "7", "runs"]));
        assert!(rule("GET projects/**").fits("GET", &["projects"]));
        assert!(rule("GET ").fits("GET", &[]) && !rule("GET").fits("GET", &["a"]));
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for (call, effect, masks) in [
            ("projects", "reads", vec![]),
            ("FETCH projects", "reads", vec![]),
            ("GET projects", "deletes", vec![]),
            ("GET **/runs", "reads", vec![]),
            ("GET projects", "reads", vec!["data".to_owned()]),
            ("GET projects", "reads", vec!["/a".to_owned(); MASKS_MAX + 1]),
        ] {
            assert!(CallRule::parse(call, effect, &masks).is_err(), "{call}");
        }
    }

    #[test]
    fn members_are_masked_and_other_bodies_refused() {
        let rule = CallRule::parse("GET a", "reads", &["/data/*/key".to_owned()]).unwrap();
        let body = br#"{"data":[{"key":"k1","n":1},{"n":2}]}"#.to_vec();
        assert_eq!(rule.masked(body).unwrap(), br#"{"data":[{"key":null,"n":1},{"n":2}]}"#);
        assert_eq!(rule.masked(b"<html>".to_vec()), None);
        assert_eq!(rule.masked(Vec::new()), Some(Vec::new()));
    }
}
