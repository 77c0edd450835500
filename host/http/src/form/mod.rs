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
mod text;

use lakeport_base::error::{Detail, Error};
use lakeport_base::text::nearest;
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use bounded::{Count, Number, Text, TimeText};
pub use draft::Draft;
use error::FormError;
pub use member::{Amend, Patch, uuid};
use node::Node;
use path::Path;
use reading::{Given, Kind, Reading};
use text::reason;

/// The most errors that are reported.
const MAX_DETAILS: usize = 20;
/// For a larger body only the first error is reported: each further one costs another parse of the body.
const LOOKED_THROUGH_MAX_BYTES: usize = 256 * 1024;
/// The most parameters of a query.
const MAX_QUERY_PARAMETERS: usize = 200;
/// The name of the whole body in an error without a member.
const WHOLE: &str = "body";

/// Reads a JSON body. Unknown members are ignored.
pub fn from_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    draft_from_json(body)?.whole()
}

/// Reads a JSON body as far as possible. Unknown members are ignored.
pub fn draft_from_json<T: DeserializeOwned>(body: &[u8]) -> Result<Draft<T>, Error> {
    Ok(read_json(body)?.0)
}

/// The same: 400 `nothing_to_change` if it has members and the form knows none of them.
pub fn known_from_json<T: DeserializeOwned>(body: &[u8]) -> Result<Draft<T>, Error> {
    let (draft, given) = read_json(body)?;
    if given.has_known.get() || given.unknown.borrow().is_empty() || !draft.is_whole() {
        return Ok(draft);
    }
    let unknown = given.unknown("is not a member of this operation");
    let shown: Vec<String> = unknown.iter().map(|one| format!("{}: {}", one.field, one.message)).collect();
    let known = given.known_instead();
    let message = format!("the operation knows no member of the body: {}{known}", shown.join("; "));
    Err(Error::bad_request("nothing_to_change", message).with_details(unknown))
}

fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<(Draft<T>, Given), Error> {
    let text: &RawValue = serde_json::from_slice(body).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        Error::bad_request("invalid_json", format!("the body is not JSON ({place}): {}", reason(&error)))
    })?;
    let details_max = if body.len() > LOOKED_THROUGH_MAX_BYTES { 1 } else { MAX_DETAILS };
    read(Kind::Json, details_max, |path, reading| T::deserialize(text::Text { text, path, reading }))
}

/// Reads a query such as `pageNum=2&keyword=a`. A parameter given twice is a list. Unknown ones are ignored.
pub fn from_query<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    read_query(query)?.0.whole()
}

/// The same, for a request that may change something: a parameter that is misspelled must not be missed.
pub fn from_known_query<T: DeserializeOwned>(query: &str) -> Result<T, Error> {
    let (draft, given) = read_query(query)?;
    let unknown = given.unknown("is not a parameter of this operation");
    draft.refuse(unknown)?;
    draft.whole()
}

fn read_query<T: DeserializeOwned>(query: &str) -> Result<(Draft<T>, Given), Error> {
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
    read_members(members)
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
    read_members(members)?.0.whole()
}

fn read_members<T: DeserializeOwned>(members: Map<String, Value>) -> Result<(Draft<T>, Given), Error> {
    let value = &Value::Object(members);
    read(Kind::Query, MAX_DETAILS, |path, reading| T::deserialize(Node { value: Some(value), path, reading }))
}

fn read<T>(
    kind: Kind,
    details_max: usize,
    once: impl Fn(&Path<'_>, &Reading) -> Result<T, FormError>,
) -> Result<(Draft<T>, Given), Error> {
    let mut reading = Reading::new(kind);
    let mut details = Vec::new();
    while details.len() < details_max {
        let root = Path::ROOT;
        let error = match once(&root, &reading) {
            Ok(read) => return Ok((Draft::new(read, details), reading.given)),
            Err(error) => error.at(&root),
        };
        reading.restart();
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

impl Given {
    /// What is wrong with each unknown member; `why` continues its name.
    fn unknown(&self, why: &str) -> Vec<Detail> {
        let detail = |(path, known): &(String, &'static [&'static str])| {
            let name = path.rsplit('.').next().unwrap_or_default();
            let near = nearest(name, known.iter().copied());
            let hint = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            Detail::new(path.as_str(), format!("{why}{hint}"))
        };
        self.unknown.borrow().iter().map(detail).collect()
    }

    /// The members that could stand in the place of the first unknown one.
    fn known_instead(&self) -> String {
        let unknown = self.unknown.borrow();
        let Some((path, known)) = unknown.first().filter(|(_, known)| !known.is_empty()) else {
            return String::new();
        };
        let known = known.join(", ");
        match path.rsplit_once('.') {
            Some((place, _)) => format!("; the members of `{place}` are: {known}"),
            None => format!("; the members are: {known}"),
        }
    }
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
        let body = br#"{"taskName":"a\u0000","kind":"SQL","inner":{"ok":3},"other":["\u0000"]}"#;
        let told = "must not hold the character U+0000";
        let expected = [pair("taskName", told), pair("inner.ok", "expected true or false, got a number")];
        assert_eq!(details(from_json::<Task>(body)), expected, "an unknown member is ignored");
        assert_eq!(details(from_json::<Value>(br#"{"a":["\u0000"]}"#)), [pair("a[0]", told)]);
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
    fn a_query_takes_numbers_for_true_and_false() {
        let exact = |query: &str| from_query::<Page>(query).map(|page| page.exact);
        assert_eq!((exact("exact=1").unwrap(), exact("exact=0").unwrap()), (true, false));
        for wrong in ["2", "TRUE", "yes", ""] {
            assert!(exact(&format!("exact={wrong}")).is_err(), "{wrong}");
        }
        assert!(from_json::<Page>(br#"{"exact":1}"#).is_err());
    }

    #[test]
    fn an_unknown_parameter_of_a_change_is_named() {
        let expected = [
            pair("pageNum", "expected an integer, got a string"),
            pair("Exact", "is not a parameter of this operation; did you mean `exact`?"),
            pair("zz", "is not a parameter of this operation"),
        ];
        assert_eq!(details(from_known_query::<Page>("Exact=true&zz=1&pageNum=x")), expected);
        assert!(from_known_query::<Page>("exact=true").is_ok() && from_query::<Page>("zz=1").is_ok());
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is read for what is wrong with it")]
    struct Change {
        name: Option<String>,
        inner: Option<InnerChange>,
        map: Option<Map<String, Value>>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is read for what is wrong with it")]
    struct InnerChange {
        ok: Option<bool>,
    }

    #[test]
    fn a_change_without_a_known_member_is_refused() {
        for (body, field, known) in [
            (r#"{"nome":"a"}"#, "nome", "; the members are: name, inner, map"),
            (r#"{"inner":{"OK":true}}"#, "inner.OK", "; the members of `inner` are: ok"),
            (r#"{"inner":{},"x":1}"#, "x", "; the members are: name, inner, map"),
        ] {
            let Err(Error::Refused(refusal)) = known_from_json::<Change>(body.as_bytes()) else {
                panic!("{body}")
            };
            assert_eq!((refusal.code, refusal.details[0].field.as_str()), ("nothing_to_change", field));
            assert!(refusal.message.contains(field), "{}", refusal.message);
            assert!(refusal.message.ends_with(known), "{}", refusal.message);
        }
        for body in [
            "{}",
            r#"{"inner":{}}"#,
            r#"{"name":null,"x":1}"#,
            r#"{"inner":{"ok":true,"x":1}}"#,
            r#"{"map":{"x":1}}"#,
        ] {
            assert!(known_from_json::<Change>(body.as_bytes()).is_ok(), "{body}");
        }
        let wrong = known_from_json::<Task>(br#"{"x":1}"#).unwrap().whole();
        assert_eq!(details(wrong).len(), 3, "missing members are named first");
    }

    #[test]
    fn query_numbers_outside_their_type_are_refused() {
        let expected = [pair("pageNum", "expected an integer from 0 to 4294967295")];
        assert_eq!(details(from_query::<Page>("pageNum=-1")), expected);
    }
}
