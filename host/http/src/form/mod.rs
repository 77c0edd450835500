//! Parses bodies and queries into typed forms. One error lists all wrong members of a form, each with its
//! path and the expected type, never with the sent value.
//!
//! serde stops at the first error. So the form is read again with a filler in that place, which fits any
//! type, until there are no more errors. A form read with fillers is only used to check its own rules and is
//! then dropped: see [`Draft`].

mod bounded;
mod draft;
mod error;
mod filler;
mod member;
mod node;
mod path;
mod reading;

use std::collections::BTreeSet;

use lakeport_base::error::{Detail, Error};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

pub use bounded::{Count, Number, Text};
pub use draft::Draft;
use error::FormError;
pub use member::{Amend, Patch, uuid};
use node::Node;
use path::Path;
use reading::{Kind, Reading};

/// The most errors that are reported.
const MAX_DETAILS: usize = 20;
/// For a larger body only the first error is reported: each further one costs another parse of the body.
const LOOKED_THROUGH_MAX_BYTES: usize = 256 * 1024;
/// The most parameters of a query.
const MAX_QUERY_PARAMETERS: usize = 200;
/// The notations of U+0000.
const NUL_IN_JSON: &[u8] = b"\\u0000";
const NUL_IN_QUERY: &str = "%00";
/// The name of the whole body in an error without a member.
const WHOLE: &str = "body";

/// Reads a JSON body. Unknown members are ignored.
pub fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    draft_from_json(body)?.whole()
}

/// Reads a JSON body as far as possible.
pub fn draft_from_json<T: DeserializeOwned>(body: &[u8]) -> Result<Draft<T>, Error> {
    let value: Value = serde_json::from_slice(body).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Error::bad_request("invalid_json", format!("the body is not JSON ({place}): {}", reason(&error)))
    })?;
    // JSON only allows U+0000 as an escape, so that most bodies need no search.
    if body.windows(NUL_IN_JSON.len()).any(|window| window.eq_ignore_ascii_case(NUL_IN_JSON)) {
        refuse_nul(&value)?;
    }
    let details_max = if body.len() > LOOKED_THROUGH_MAX_BYTES { 1 } else { MAX_DETAILS };
    read(&value, Kind::Json, details_max)
}

/// Reads a query such as `pageNum=2&keyword=a`. A parameter given twice is a list.
pub fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    let mut members = Map::new();
    for (index, (name, text)) in form_urlencoded::parse(query.as_bytes()).enumerate() {
        if index >= MAX_QUERY_PARAMETERS {
            let message = format!("the query exceeds the limit of {MAX_QUERY_PARAMETERS} parameters");
            return Err(Error::bad_request("invalid_input", message));
        }
        let text = Value::String(text.into_owned());
        match members.get_mut(name.as_ref()) {
            None => _ = members.insert(name.into_owned(), text),
            Some(Value::Array(list)) => list.push(text),
            Some(first) => *first = Value::Array(vec![first.take(), text]),
        }
    }
    let members = Value::Object(members);
    if query.contains(NUL_IN_QUERY) {
        refuse_nul(&members)?;
    }
    read(&members, Kind::Query, MAX_DETAILS)?.whole()
}

/// Reads the parameters of a path, still percent-encoded.
pub fn from_path<T: DeserializeOwned>(parameters: &[(String, String)]) -> Result<T, Error> {
    let mut members = Map::new();
    for (name, raw) in parameters {
        let text = percent_decode_str(raw)
            .decode_utf8()
            .map_err(|_| Error::invalid(vec![Detail::new(name.as_str(), "is not UTF-8 text")]))?;
        members.insert(name.clone(), Value::String(text.into_owned()));
    }
    let members = Value::Object(members);
    refuse_nul(&members)?;
    read(&members, Kind::Query, MAX_DETAILS)?.whole()
}

/// Refuses texts with U+0000, which PostgreSQL cannot store. Names all members that have one.
fn refuse_nul(value: &Value) -> Result<(), Error> {
    let mut wrong = Vec::new();
    find_nul(value, &Path::ROOT, &mut wrong);
    if wrong.is_empty() { Ok(()) } else { Err(Error::invalid(wrong)) }
}

fn find_nul(value: &Value, path: &Path<'_>, wrong: &mut Vec<Detail>) {
    match value {
        _ if wrong.len() >= MAX_DETAILS => {}
        Value::String(text) if text.contains('\0') => {
            let field = Some(path.render()).filter(|field| !field.is_empty());
            let field = field.unwrap_or_else(|| WHOLE.to_owned());
            wrong.push(Detail::new(field, "must not hold the character U+0000"));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| find_nul(item, &path.item(index), wrong));
        }
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| find_nul(member, &path.member(name), wrong));
        }
        _ => {}
    }
}

fn read<T: DeserializeOwned>(value: &Value, kind: Kind, details_max: usize) -> Result<Draft<T>, Error> {
    let mut reading = Reading { kind, fillers: BTreeSet::new() };
    let mut details = Vec::new();
    while details.len() < details_max {
        let root = Path::ROOT;
        let error = match T::deserialize(Node { value: Some(value), path: &root, reading: &reading }) {
            Ok(read) => return Ok(Draft::new(read, details)),
            Err(error) => error.at(&root),
        };
        let FormError { field, message, .. } = error;
        let field = field.filter(|field| !field.is_empty()).unwrap_or_else(|| WHOLE.to_owned());
        // If the filler fails there, too, reading cannot continue.
        if !reading.fillers.insert(field.clone()) {
            break;
        }
        let unnamed = field == WHOLE;
        details.push(Detail::new(field, message));
        if unnamed {
            break;
        }
    }
    Err(Error::invalid(details))
}

/// serde_json's message without its place, which is reported separately.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Task {
        task_name: String,
        retry_times: Option<u8>,
        #[serde(default)]
        inputs: Vec<i64>,
        kind: TaskKind,
        inner: Inner,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    struct Inner {
        ok: bool,
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "UPPERCASE")]
    enum TaskKind {
        Sql,
        Shell,
    }

    fn details<T: DeserializeOwned>(outcome: Result<T, Error>) -> Vec<(String, String)> {
        match outcome.err().expect("an error") {
            Error::Refused(refusal) => {
                assert_eq!(refusal.status, 400);
                refusal.details.into_iter().map(|detail| (detail.field, detail.message)).collect()
            }
            Error::Internal(error) => panic!("{error}"),
        }
    }

    fn pair(field: &str, message: &str) -> (String, String) {
        (field.to_owned(), message.to_owned())
    }

    #[test]
    fn a_good_body_is_read_and_unknown_members_are_ignored() {
        let body =
            br#"{"taskName":"a","retryTimes":3,"inputs":[1,2],"kind":"SHELL","inner":{"ok":true},"new":{}}"#;
        let task: Task = from_json(body).unwrap();
        let inner = Inner { ok: true };
        let inputs = vec![1, 2];
        assert_eq!(
            task,
            Task { task_name: "a".into(), retry_times: Some(3), inputs, kind: TaskKind::Shell, inner }
        );
    }

    #[test]
    fn every_wrong_member_is_named_with_what_was_expected() {
        let body = br#"{"taskName":7,"retryTimes":300,"inputs":[1,"x",null],"kind":"PYTHON","inner":{}}"#;
        let expected = vec![
            pair("taskName", "expected a string, got a number"),
            pair("retryTimes", "expected an integer from 0 to 255"),
            pair("inputs[1]", "expected an integer, got a string"),
            pair("inputs[2]", "expected an integer, got null"),
            pair("kind", "expected one of SQL, SHELL"),
            pair("inner.ok", "is missing"),
        ];
        assert_eq!(details(from_json::<Task>(body)), expected);
    }

    #[test]
    fn members_that_are_missing_are_all_named() {
        let expected =
            [pair("taskName", "is missing"), pair("kind", "is missing"), pair("inner", "is missing")];
        assert_eq!(details(from_json::<Task>(b"{}")), expected);
    }

    #[test]
    fn a_body_of_another_shape_is_refused_as_a_whole() {
        let expected = [pair("body", "expected an object, got an array")];
        assert_eq!(details(from_json::<Task>(b"[1]")), expected);
    }

    #[test]
    fn a_text_with_a_nul_is_refused_wherever_it_stands() {
        let body = br#"{"taskName":"a\u0000","kind":"SQL","inner":{"ok":true},"other":["\u0000"]}"#;
        let told = "must not hold the character U+0000";
        assert_eq!(details(from_json::<Task>(body)), [pair("taskName", told), pair("other[0]", told)]);
        assert_eq!(details(from_query::<Page>("keyword=a%00b")), [pair("keyword", told)]);
        let parameters = [("name".to_owned(), "%00".to_owned())];
        assert_eq!(details(from_path::<Value>(&parameters)), [pair("name", told)]);
    }

    #[test]
    fn broken_json_says_where() {
        let Error::Refused(refusal) = from_json::<Task>(b"{\"a\":\n x}").err().unwrap() else { panic!() };
        assert_eq!(refusal.code, "invalid_json");
        assert!(refusal.message.contains("line 2, column 2"), "{}", refusal.message);
    }

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        #[serde(default)]
        page_num: Option<u32>,
        keyword: Option<String>,
        #[serde(default)]
        exact: bool,
        #[serde(default)]
        layer: Vec<String>,
    }

    #[test]
    fn a_query_is_read_by_the_types_asked_for() {
        let page: Page =
            from_query("pageNum=2&keyword=a%20b&exact=true&layer=ODS&layer=DWD&other=1").unwrap();
        let layer = vec!["ODS".to_owned(), "DWD".to_owned()];
        assert_eq!(page, Page { page_num: Some(2), keyword: Some("a b".into()), exact: true, layer });
        let one: Page = from_query("layer=ODS").unwrap();
        assert_eq!(one, Page { page_num: None, keyword: None, exact: false, layer: vec!["ODS".into()] });
    }

    #[test]
    fn a_wrong_query_names_each_parameter() {
        let expected = [
            pair("pageNum", "expected an integer, got a string"),
            pair("keyword", "is given more than once"),
            pair("exact", "expected true or false, got a string"),
        ];
        assert_eq!(details(from_query::<Page>("pageNum=x&keyword=a&keyword=b&exact=perhaps")), expected);
    }

    #[test]
    fn a_parameter_given_twice_is_named_whatever_it_is() {
        let expected = ["pageNum", "keyword", "exact"].map(|name| pair(name, "is given more than once"));
        let query = "pageNum=1&keyword=a&keyword=a&exact=true&pageNum=1&exact=true&other=1&other=1";
        assert_eq!(details(from_query::<Page>(query)), expected);
    }

    #[test]
    fn query_numbers_outside_their_type_are_refused() {
        let expected = [pair("pageNum", "expected an integer from 0 to 4294967295")];
        assert_eq!(details(from_query::<Page>("pageNum=-1")), expected);
    }
}
