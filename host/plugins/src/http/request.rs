//! A request: checked as the plugin wrote it, then filled in and built.

use std::fmt;

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE, COOKIE, HeaderName, HeaderValue, USER_AGENT};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{AuthRecipe, Body, Exchange, Injection, Param, Piece, Request};
use lakeport_egress::AGENT;
use lakeport_http_rules::{BODY_MAX_BYTES, HEADERS_MAX, HEADERS_MAX_BYTES, METHODS, is_of_host, is_segment};
use zeroize::Zeroizing;

use super::address::Base;
use super::template::{Slots, form_encoded, percent_encoded};

const FORM: &str = "application/x-www-form-urlencoded";

/// The method, the address and the path of a call.
#[derive(PartialEq)]
pub struct CallPath {
    address: String,
    method: String,
    path: Vec<String>,
}

impl CallPath {
    /// Of a request of a log-in.
    pub fn of(exchange: &Exchange) -> CallPath {
        CallPath::of_request(&exchange.request)
    }

    pub fn of_request(request: &Request) -> CallPath {
        let text = |template: &Vec<Piece>| template.iter().map(shown).collect();
        CallPath {
            address: request.address.clone(),
            method: request.method.clone(),
            path: request.path.iter().map(text).collect(),
        }
    }

    pub fn path(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }
}

impl fmt::Display for CallPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.method, self.path.join("/"))
    }
}

/// A piece for people and for call rules; the value of a slot stays hidden.
fn shown(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => text.clone(),
        Piece::Slot(slot) => format!("\u{0}{}", slot.name),
    }
}

/// Checks what a plugin asks for. A plugin has no slots: the operator grants it no secret to place.
pub fn check(request: &Request, recipe: Option<&AuthRecipe>) -> Result<(), Error> {
    if !METHODS.contains(&request.method.as_str()) {
        return Err(error("invalid_input", format!("{:?} is no method of a request", request.method)));
    }
    if request.extra.is_some() {
        return Err(error("unsupported", "`extra` has no option that this host knows"));
    }
    check_headers(request, recipe)?;
    if let Some(slot) = templates(request).flatten().find_map(|piece| match piece {
        Piece::Slot(slot) => Some(slot),
        Piece::Text(_) => None,
    }) {
        if slot.source != "secret" {
            let message = format!("a slot of the source {:?} occurs within recipes only", slot.source);
            return Err(error("invalid_input", message));
        }
        let message = format!("the operator has not allowed the plugin to place the secret {:?}", slot.name);
        return Err(error("not_granted", message));
    }
    Ok(())
}

/// All texts of a request that may have slots.
fn templates(request: &Request) -> impl Iterator<Item = &Vec<Piece>> {
    let fields: &[Param] = if let Body::Form(fields) = &request.body { fields } else { &[] };
    let text = if let Body::Text(text) = &request.body { Some(text) } else { None };
    let params = request.query.iter().chain(&request.headers).chain(fields).map(|param| &param.value);
    request.path.iter().chain(params).chain(text)
}

fn check_headers(request: &Request, recipe: Option<&AuthRecipe>) -> Result<(), Error> {
    let refused = |name: &str, why: &str| Err(error("invalid_input", format!("the header {name:?} {why}")));
    if request.headers.len() > HEADERS_MAX {
        return Err(error("limit_exceeded", format!("a request has {HEADERS_MAX} headers at most")));
    }
    for Param { name, .. } in &request.headers {
        if is_of_host(name) {
            return refused(name, "is set by the host alone");
        }
        let injects = |injection: &Injection| match injection.place.as_str() {
            "header" => injection.name.eq_ignore_ascii_case(name),
            "basic" => name.eq_ignore_ascii_case("authorization"),
            "cookie" => name.eq_ignore_ascii_case("cookie"),
            _ => false,
        };
        if recipe.is_some_and(|recipe| recipe.inject.iter().any(injects)) {
            return refused(name, "is injected by the auth recipe in use");
        }
    }
    Ok(())
}

/// The request as it is sent.
pub fn build(
    request: &Request,
    base: &Base,
    recipe: Option<&AuthRecipe>,
    slots: &Slots<'_>,
) -> Result<http::Request<Bytes>, Error> {
    let filled = |params: &[Param]| -> Result<Vec<(String, Zeroizing<String>)>, Error> {
        params.iter().map(|param| Ok((param.name.clone(), slots.fill(&param.value)?))).collect()
    };
    let mut query = filled(&request.query)?;
    let mut headers = filled(&request.headers)?;
    let mut cookies = Vec::new();
    for injection in recipe.into_iter().flat_map(|recipe| &recipe.inject) {
        let value = slots.fill(&injection.value)?;
        let name = injection.name.clone();
        match injection.place.as_str() {
            "header" => headers.push((name, value)),
            "query" => query.push((name, value)),
            "cookie" => cookies.push((name, value)),
            "basic" => headers.push(("authorization".to_owned(), basic(&value))),
            other => {
                return Err(error(
                    "unsupported",
                    format!("the place {other:?} of an injection is not known"),
                ));
            }
        }
    }
    let mut built =
        http::Request::builder().method(request.method.as_str()).uri(url(request, base, &query, slots)?);
    let (body, content_type) = body(&request.body, slots, &filled)?;
    if body.len() > BODY_MAX_BYTES {
        return Err(error("limit_exceeded", format!("the body has more than {BODY_MAX_BYTES} bytes")));
    }
    let set = built.headers_mut().ok_or_else(|| error("invalid_input", "the path is too long"))?;
    set.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    set.insert(ACCEPT_ENCODING, HeaderValue::from_static("gzip"));
    if let Some(content_type) = content_type {
        set.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    }
    let mut bytes = 0;
    for (name, value) in &headers {
        bytes += name.len() + value.len();
        set.append(header_name(name)?, header_value(name, value)?);
    }
    if bytes > HEADERS_MAX_BYTES {
        return Err(error("limit_exceeded", format!("the headers have more than {HEADERS_MAX_BYTES} bytes")));
    }
    if !cookies.is_empty() {
        let pairs: Vec<String> =
            cookies.iter().map(|(name, value)| format!("{name}={}", value.as_str())).collect();
        set.insert(COOKIE, header_value("cookie", &Zeroizing::new(pairs.join("; ")))?);
    }
    built.body(body.into()).map_err(|_| error("invalid_input", "the request cannot be written"))
}

fn url(
    request: &Request,
    base: &Base,
    query: &[(String, Zeroizing<String>)],
    slots: &Slots<'_>,
) -> Result<String, Error> {
    let mut url = base.as_str().to_owned();
    for segment in &request.path {
        let segment = slots.fill(segment)?;
        if !is_segment(&segment) {
            return Err(error("invalid_input", format!("{:?} is no segment of a path", segment.as_str())));
        }
        url.push('/');
        url.push_str(&percent_encoded(&segment));
    }
    if request.path.is_empty() {
        url.push('/');
    }
    if !query.is_empty() {
        url.push('?');
        url.push_str(&form_encoded(query));
    }
    Ok(url)
}

type Filled<'f> = dyn Fn(&[Param]) -> Result<Vec<(String, Zeroizing<String>)>, Error> + 'f;

/// The body, and the content type that the host sets.
fn body(
    body: &Body,
    slots: &Slots<'_>,
    filled: &Filled<'_>,
) -> Result<(Vec<u8>, Option<&'static str>), Error> {
    Ok(match body {
        Body::Empty => (Vec::new(), None),
        Body::Bytes(bytes) => (bytes.clone(), None),
        Body::Text(text) => (slots.fill(text)?.as_bytes().to_vec(), None),
        Body::Form(fields) => (form_encoded(&filled(fields)?).into_bytes(), Some(FORM)),
    })
}

fn header_name(name: &str) -> Result<HeaderName, Error> {
    match HeaderName::try_from(name) {
        // A recipe's, too.
        Ok(known) if !is_of_host(name) => Ok(known),
        _ => Err(error("invalid_input", format!("{name:?} is no name of a header"))),
    }
}

fn header_value(name: &str, value: &Zeroizing<String>) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_bytes(value.as_bytes()).map_err(|_| {
        error(
            "invalid_input",
            format!("the value of the header {name:?} has a line break or a control character"),
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn basic(account: &Zeroizing<String>) -> Zeroizing<String> {
    use base64::Engine as _;
    Zeroizing::new(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(account.as_bytes())))
}
