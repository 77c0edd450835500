//! The requests of the script, in the form in which they are compared and shown. A slot is shown by its source
//! and name; its value does not occur.

use std::fmt;

use serde_json::Value;

use crate::host::web::{AuthUse, Body, Param, Piece, Request};

/// Begins and ends a slot within a shown text. A plugin's own text with the first one shows it doubled.
const SLOT_OPEN: char = '⟨';
const SLOT_CLOSE: char = '⟩';

/// How a slot is shown: `slot("secret", "token", "plain")` for the texts of an [`Expected`] request.
pub fn slot(source: &str, name: &str, encoding: &str) -> String {
    match encoding {
        "plain" => format!("{SLOT_OPEN}{source}:{name}{SLOT_CLOSE}"),
        _ => format!("{SLOT_OPEN}{source}:{name} as {encoding}{SLOT_CLOSE}"),
    }
}

/// A request that the plugin must send next. All of it must be as here: path, query, headers, body and log-in.
/// Query parameters and form fields may come in any order, and so may headers; those of one name keep theirs.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a request is not expected until it is part of the script"]
pub struct Expected(Sent);

/// A request as the plugin sent it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sent {
    method: String,
    address: String,
    path: Vec<String>,
    query: Vec<(String, String)>,
    headers: Vec<(String, String)>,
    body: Content,
    is_anonymous: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Content {
    Empty,
    Text(String),
    Json(Value),
    Form(Vec<(String, String)>),
    Bytes(Vec<u8>),
}

impl Expected {
    /// A request of any method. `path` is written without a first `/` and without percent-encoding:
    /// `projects/77`.
    pub fn new(method: &str, address: &str, path: &str) -> Expected {
        Expected(Sent {
            method: method.to_owned(),
            address: address.to_owned(),
            path: path.split('/').filter(|segment| !segment.is_empty()).map(str::to_owned).collect(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Content::Empty,
            is_anonymous: false,
        })
    }

    /// `GET`.
    pub fn get(address: &str, path: &str) -> Expected {
        Expected::new("GET", address, path)
    }

    /// `POST`.
    pub fn post(address: &str, path: &str) -> Expected {
        Expected::new("POST", address, path)
    }

    /// `PUT`.
    pub fn put(address: &str, path: &str) -> Expected {
        Expected::new("PUT", address, path)
    }

    /// `PATCH`.
    pub fn patch(address: &str, path: &str) -> Expected {
        Expected::new("PATCH", address, path)
    }

    /// `DELETE`.
    pub fn delete(address: &str, path: &str) -> Expected {
        Expected::new("DELETE", address, path)
    }

    /// Adds one segment to the path, which may have a `/` in it.
    pub fn segment(mut self, segment: &str) -> Expected {
        self.0.path.push(segment.to_owned());
        self
    }

    /// Adds a query parameter.
    pub fn query(mut self, name: &str, value: impl ToString) -> Expected {
        self.0.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl ToString) -> Expected {
        self.0.headers.push((name.to_ascii_lowercase(), value.to_string()));
        self
    }

    /// The body is this JSON, in any spelling. The header `content-type` must say so and is not listed.
    pub fn json(mut self, body: Value) -> Expected {
        self.0.body = Content::Json(body);
        self
    }

    /// The body is this form. Call it once per field.
    pub fn form(mut self, name: &str, value: impl ToString) -> Expected {
        let field = (name.to_owned(), value.to_string());
        match &mut self.0.body {
            Content::Form(fields) => fields.push(field),
            body => *body = Content::Form(vec![field]),
        }
        self
    }

    /// The body is this text.
    pub fn text(mut self, body: &str) -> Expected {
        self.0.body = Content::Text(body.to_owned());
        self
    }

    /// The body is these bytes, and no text.
    pub fn bytes(mut self, body: impl Into<Vec<u8>>) -> Expected {
        self.0.body = Content::Bytes(body.into());
        self
    }

    /// Without the log-in that the operator chose.
    pub fn anonymous(mut self) -> Expected {
        self.0.is_anonymous = true;
        self
    }

    /// What differs, in words.
    pub(super) fn differences(&self, sent: &Sent) -> Vec<&'static str> {
        let expected = &self.0;
        let (body, headers) = sent.read_as(&expected.body);
        let same = [
            ("method", expected.method == sent.method),
            ("address", expected.address == sent.address),
            ("path", expected.path == sent.path),
            ("query", sorted(&expected.query) == sorted(&sent.query)),
            ("headers", sorted(&expected.headers) == sorted(&headers)),
            ("body", same_body(&expected.body, &body)),
            ("log-in", expected.is_anonymous == sent.is_anonymous),
        ];
        same.into_iter().filter(|(_, same)| !same).map(|(part, _)| part).collect()
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Sent {
    pub fn of(request: &Request) -> Sent {
        let pairs = |params: &[Param]| -> Vec<(String, String)> {
            params.iter().map(|param| (param.name.clone(), shown(&param.value))).collect()
        };
        let headers = pairs(&request.headers);
        Sent {
            method: request.method.clone(),
            address: request.address.clone(),
            path: request.path.iter().map(|segment| shown(segment)).collect(),
            query: pairs(&request.query),
            headers: headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect(),
            body: match &request.body {
                Body::Empty => Content::Empty,
                Body::Text(text) => Content::Text(shown(text)),
                Body::Form(fields) => Content::Form(pairs(fields)),
                Body::Bytes(bytes) => match str::from_utf8(bytes) {
                    Ok(text) => Content::Text(text.to_owned()),
                    Err(_) => Content::Bytes(bytes.clone()),
                },
            },
            is_anonymous: request.auth == AuthUse::Anonymous,
        }
    }

    /// The body as JSON if JSON is expected, then without the header that says so.
    fn read_as(&self, expected: &Content) -> (Content, Vec<(String, String)>) {
        let (Content::Json(_), Content::Text(text)) = (expected, &self.body) else {
            return (self.body.clone(), self.headers.clone());
        };
        let Ok(value) = serde_json::from_str(text) else {
            return (self.body.clone(), self.headers.clone());
        };
        let says_so = |(name, value): &(String, String)| {
            name == "content-type" && value.split(';').next() == Some("application/json")
        };
        let mut headers = self.headers.clone();
        match headers.iter().position(says_so) {
            Some(at) => drop(headers.remove(at)),
            // It is missing: the headers differ.
            None => headers.push(("content-type".to_owned(), String::new())),
        }
        (Content::Json(value), headers)
    }

    /// Method, address and path.
    pub fn line(&self) -> String {
        let path: Vec<String> = self.path.iter().map(|segment| segment.replace('/', "%2F")).collect();
        format!("{} {} /{}", self.method, self.address, path.join("/"))
    }
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.line())?;
        for (name, value) in &self.query {
            writeln!(f, "  query   {name} = {value}")?;
        }
        for (name, value) in &self.headers {
            writeln!(f, "  header  {name}: {value}")?;
        }
        match &self.body {
            Content::Empty => {}
            Content::Text(text) => writeln!(f, "  body    {text}")?,
            Content::Json(value) => writeln!(f, "  body    {value} (JSON)")?,
            Content::Form(fields) => {
                for (name, value) in fields {
                    writeln!(f, "  form    {name} = {value}")?;
                }
            }
            Content::Bytes(bytes) => writeln!(f, "  body    {} bytes: {bytes:02x?}", bytes.len())?,
        }
        if self.is_anonymous {
            writeln!(f, "  log-in  none")?;
        }
        Ok(())
    }
}

fn same_body(expected: &Content, sent: &Content) -> bool {
    match (expected, sent) {
        (Content::Form(expected), Content::Form(sent)) => sorted(expected) == sorted(sent),
        (Content::Bytes(expected), Content::Text(sent)) => expected == sent.as_bytes(),
        (expected, sent) => expected == sent,
    }
}

/// By name alone: values of one name keep their order.
fn sorted(pairs: &[(String, String)]) -> Vec<&(String, String)> {
    let mut sorted: Vec<&(String, String)> = pairs.iter().collect();
    sorted.sort_by(|one, other| one.0.cmp(&other.0));
    sorted
}

/// A text with its slots by name.
pub(super) fn shown(template: &[Piece]) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.replace(SLOT_OPEN, "⟨⟨"),
        Piece::Slot(one) => slot(&one.source, &one.name, &one.encoding),
    };
    template.iter().map(piece).collect()
}
