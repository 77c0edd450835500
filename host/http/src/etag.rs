//! Entity tags: `"<definition>.<answer>"`. The first part is made from the resource's own definition, the second
//! from the body of the answer.
//!
//! `If-Match` compares the definition alone, so that a change is not refused because a status was updated since.
//! `If-None-Match` compares the whole tag, so that a poll notices a new status. A compressed body is another
//! representation: its tag has a third part.

use http::header::{IF_MATCH, IF_NONE_MATCH};
use http::{HeaderMap, HeaderName};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Bytes of each digest in a tag.
const DIGEST_BYTES: usize = 12;
/// Between the parts of a tag.
const SEPARATOR: char = '.';
/// The last part of a compressed answer's tag.
const GZIP: &str = ".gzip";

/// The tag of a resource's own definition, without an answer: the same content gives the same tag.
pub fn etag_of<T: Serialize>(definition: &T) -> String {
    let text = serde_json::to_vec(definition).expect("definitions are plain data with text keys");
    etag_of_bytes(&text)
}

/// The tag of bytes that are definition and answer at once.
pub fn etag_of_bytes(bytes: &[u8]) -> String {
    format!("\"{}\"", digest(bytes))
}

/// The tag of an answer with this body, from the tag of its definition.
pub(super) fn with_answer(definition: &str, body: &[u8]) -> String {
    format!("\"{}{SEPARATOR}{}\"", unquoted(definition), digest(body))
}

/// The tag of the compressed answer.
pub(super) fn compressed(etag: &str) -> String {
    format!("\"{}{GZIP}\"", unquoted(etag))
}

fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..DIGEST_BYTES])
}

fn unquoted(etag: &str) -> &str {
    etag.trim_matches('"')
}

/// Whether a change may go on: `If-Match` is absent or names this definition, and `If-None-Match` does not.
pub(super) fn may_change(headers: &HeaderMap, definition: &str) -> bool {
    let wanted = unquoted(definition);
    let is_of_it = |tag: &str| tag.split(SEPARATOR).next() == Some(wanted);
    let is_matched = !headers.contains_key(IF_MATCH)
        || named(headers, &IF_MATCH).any(|tag| match tag {
            Named::Any => true,
            // A weak tag never matches here (RFC 9110, 13.1.1).
            Named::Tag { is_weak, text } => !is_weak && is_of_it(text),
        });
    let is_excluded = named(headers, &IF_NONE_MATCH).any(|tag| match tag {
        Named::Any => true,
        Named::Tag { text, .. } => is_of_it(text),
    });
    is_matched && !is_excluded
}

/// The tag by which the client knows this answer, if `If-None-Match` names it; weak tags count.
pub(super) fn known(headers: &HeaderMap, etag: &str) -> Option<String> {
    let wanted = unquoted(etag);
    named(headers, &IF_NONE_MATCH).find_map(|tag| match tag {
        Named::Any => Some(etag.to_owned()),
        Named::Tag { text, .. } if text == wanted => Some(etag.to_owned()),
        Named::Tag { text, .. } if text.strip_suffix(GZIP) == Some(wanted) => Some(compressed(etag)),
        Named::Tag { .. } => None,
    })
}

/// One member of `If-Match` or `If-None-Match`.
#[derive(Debug, PartialEq, Eq)]
enum Named<'h> {
    /// `*`
    Any,
    Tag {
        is_weak: bool,
        text: &'h str,
    },
}

/// The members of all headers of this name.
fn named<'h>(headers: &'h HeaderMap, name: &HeaderName) -> impl Iterator<Item = Named<'h>> {
    let lists = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    lists.flat_map(|list| List { rest: list })
}

/// A list of tags. A tag may contain commas; one without quotes matches nothing.
struct List<'h> {
    rest: &'h str,
}

impl<'h> Iterator for List<'h> {
    type Item = Named<'h>;

    fn next(&mut self) -> Option<Named<'h>> {
        loop {
            let list = self.rest.trim_start_matches([' ', '\t', ',']);
            if list.is_empty() {
                return None;
            }
            let (is_weak, opaque) = match list.strip_prefix("W/") {
                Some(opaque) => (true, opaque),
                None => (false, list),
            };
            if let Some((text, rest)) = opaque.strip_prefix('"').and_then(|tag| tag.split_once('"')) {
                self.rest = rest;
                return Some(Named::Tag { is_weak, text });
            }
            let (member, rest) = list.split_once(',').unwrap_or((list, ""));
            self.rest = rest;
            if member.trim_end() == "*" {
                return Some(Named::Any);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (name.clone(), value.parse().expect("a header"))).collect()
    }

    fn allowed(values: &[&str]) -> bool {
        may_change(&headers(IF_MATCH, values), "\"def\"")
    }

    #[test]
    fn if_match_compares_the_definition_alone() {
        assert!(may_change(&HeaderMap::new(), "\"def\""));
        for fits in [
            &["\"def\""][..],
            &["\"def.one\""],
            &["\"def.two\""],
            &["\"def.one.gzip\""],
            &["*"],
            &["\"other.one\" , \"def.one\""],
            &["\"a,b\",\"def.one\""],
            &["\"other\"", "\"def\""],
            &[",, \"def\""],
        ] {
            assert!(allowed(fits), "{fits:?}");
        }
        for differs in [
            &["\"other.one\""][..],
            &["\"de\""],
            &["\"define\""],
            &["\"one.def\""],
            &["W/\"def.one\""],
            &["def"],
            &[""],
            &["\"def"],
            &["\"a,def,b\""],
            &["**"],
        ] {
            assert!(!allowed(differs), "{differs:?}");
        }
    }

    #[test]
    fn if_none_match_refuses_a_change_of_it() {
        let allowed = |value: &str| may_change(&headers(IF_NONE_MATCH, &[value]), "\"def\"");
        assert!(allowed("\"other\""));
        for refused in ["*", "\"def.one\"", "W/\"def.one\"", "\"other\", \"def\""] {
            assert!(!allowed(refused), "{refused}");
        }
    }

    #[test]
    fn if_none_match_compares_the_whole_answer() {
        let knows = |values: &[&str]| known(&headers(IF_NONE_MATCH, values), "\"def.one\"").is_some();
        for known in [
            &["\"def.one\""][..],
            &["W/\"def.one\""],
            &["\"def.one.gzip\""],
            &["*"],
            &["\"def.two\", \"def.one\""],
            &["\"x\"", "W/\"def.one\""],
        ] {
            assert!(knows(known), "{known:?}");
        }
        for unknown in [&["\"def.two\""][..], &["\"def\""], &["def.one"], &[], &["\"a,\"def.one"]] {
            assert!(!knows(unknown), "{unknown:?}");
        }
    }

    #[test]
    fn the_parts_follow_definition_and_answer() {
        let tag = etag_of(&"a table");
        assert_eq!(tag, etag_of_bytes(b"\"a table\""));
        let (one, two) = (with_answer(&tag, b"one"), with_answer(&tag, b"two"));
        assert_ne!(one, two);
        assert_eq!(one, with_answer(&tag, b"one"));
        let of = |etag: &str| headers(IF_MATCH, &[etag]);
        assert!(may_change(&of(&one), &tag) && may_change(&of(&two), &tag));
        assert!(may_change(&of(&compressed(&one)), &tag));
        assert!(!may_change(&of(&one), &etag_of(&"another")));
    }
}
