//! The rules of `lakeport:host/http`: what a request must be before it is sent, and what the plugin sees of the
//! answer.

use serde_json::Value;

use super::expected::shown;
use super::mask::mask;
use super::state::HostState;
use crate::Error;
use crate::host::web::{AddressSlot, AuthUse, Body, CallRule, Param, Piece, Request, Response, Slot};

/// The most bytes of a body.
const BODY_MAX_BYTES: usize = 8 * 1024 * 1024;
/// Shorter secrets could match other text.
const HIDDEN_MIN_CHARS: usize = 8;
/// Call rules of an address.
const RULES_MAX: usize = 200;
/// Pointers of one rule.
const MASKS_MAX: usize = 20;
const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
/// Headers of the connection, which only the host sets.
const CONNECTION_HEADERS: [&str; 10] = [
    "host",
    "content-length",
    "connection",
    "transfer-encoding",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
    "proxy-authorization",
    "proxy-connection",
];
/// Headers of an answer that the plugin does not see.
const HIDDEN_HEADERS: [&str; 2] = ["set-cookie", "www-authenticate"];

/// The rule of a call.
pub struct Rule {
    pub changes: bool,
    mask: Vec<String>,
}

/// What is wrong with the call rules of an address.
pub fn wrong_rule(address: &AddressSlot) -> Option<String> {
    let name = &address.name;
    if address.calls.len() > RULES_MAX {
        return Some(format!("the address {name} has more than {RULES_MAX} call rules"));
    }
    let wrong = |rule: &CallRule| {
        let call = &rule.call;
        let method = call.split(' ').next().unwrap_or_default();
        if !METHODS.contains(&method) {
            return Some(format!("the call rule {call:?} of the address {name} begins with no HTTP method"));
        }
        if !matches!(rule.effect.as_str(), "reads" | "changes") {
            let effect = &rule.effect;
            return Some(format!(
                "the effect {effect:?} of the call rule {call:?} must be `reads` or `changes`"
            ));
        }
        let pointer = rule.mask.iter().find(|pointer| !pointer.starts_with('/'));
        if let Some(pointer) = pointer {
            return Some(format!("the mask {pointer:?} of the call rule {call:?} is no JSON Pointer"));
        }
        let is_long = rule.mask.len() > MASKS_MAX;
        is_long.then(|| format!("the call rule {call:?} has more than {MASKS_MAX} masks"))
    };
    address.calls.iter().find_map(wrong)
}

/// The rule that fits a request, or the error that refuses it.
pub fn check(state: &HostState, request: &Request) -> Result<Rule, Error> {
    let not_granted = |message: String| Error::new("not_granted", message);
    if !METHODS.contains(&request.method.as_str()) {
        return Err(Error::invalid_input(format!("{:?} is no method of a request", request.method)));
    }
    if request.extra.is_some() {
        return Err(Error::unsupported("`extra` has no option that this host knows"));
    }
    let name = &request.address;
    let address = state.addresses.iter().find(|address| address.name == *name);
    let address =
        address.ok_or_else(|| not_granted(format!("the description has no address named {name:?}")))?;
    let base = state.settings.pointer(&address.config_at).and_then(Value::as_str).unwrap_or_default();
    if base.is_empty() {
        let at = &address.config_at;
        return Err(not_granted(format!("the address {name} is not granted: the setting {at} is empty")));
    }
    check_path(request)?;
    check_headers(state, request)?;
    check_body(&request.body)?;
    slots(request).try_for_each(|slot| check_slot(state, slot))?;
    let path: Vec<String> = request.path.iter().map(|segment| shown(segment)).collect();
    let rule = address.calls.iter().find(|rule| fits(&rule.call, &request.method, &path));
    let rule = rule.ok_or_else(|| {
        not_granted(format!("no call rule of {name} fits {} {}", request.method, path.join("/")))
    })?;
    Ok(Rule { changes: rule.effect != "reads", mask: rule.mask.clone() })
}

/// Whether a rule, `GET projects/*/runs/**`, fits a call.
pub fn fits(rule: &str, method: &str, path: &[String]) -> bool {
    let (of, pattern) = rule.split_once(' ').unwrap_or((rule, ""));
    if of != method {
        return false;
    }
    let mut pattern = pattern.split('/').filter(|segment| !segment.is_empty());
    let mut path = path.iter();
    loop {
        match (pattern.next(), path.next()) {
            (Some("**"), _) | (None, None) => return true,
            (Some("*"), Some(_)) => {}
            (Some(wanted), Some(segment)) if wanted == segment => {}
            _ => return false,
        }
    }
}

fn check_path(request: &Request) -> Result<(), Error> {
    let wrong =
        request.path.iter().map(|segment| shown(segment)).find(|one| matches!(&**one, "" | "." | ".."));
    match wrong {
        Some(segment) => Err(Error::invalid_input(format!("{segment:?} is no segment of a path"))),
        None => Ok(()),
    }
}

fn check_headers(state: &HostState, request: &Request) -> Result<(), Error> {
    let refused = |name: &str, why: &str| Err(Error::invalid_input(format!("the header {name} {why}")));
    let recipe = state.recipe_at(&request.address).filter(|_| request.auth == AuthUse::Chosen);
    for Param { name, value } in &request.headers {
        let lower = name.to_ascii_lowercase();
        if CONNECTION_HEADERS.contains(&lower.as_str()) {
            return refused(name, "belongs to the connection");
        }
        let injects = |injection: &crate::host::web::Injection| match injection.place.as_str() {
            "header" => injection.name.eq_ignore_ascii_case(&lower),
            "basic" => lower == "authorization",
            "cookie" => lower == "cookie",
            _ => false,
        };
        if recipe.is_some_and(|recipe| recipe.inject.iter().any(injects)) {
            return refused(name, "is injected by the auth recipe in use");
        }
        if name.is_empty() || shown(value).contains(['\r', '\n']) {
            return refused(name, "has no name, or a line break in its value");
        }
    }
    Ok(())
}

fn check_body(body: &Body) -> Result<(), Error> {
    let of = |template: &Vec<Piece>| shown(template).len();
    let bytes = match body {
        Body::Empty => 0,
        Body::Bytes(bytes) => bytes.len(),
        Body::Text(text) => of(text),
        Body::Form(fields) => fields.iter().map(|field| field.name.len() + of(&field.value)).sum(),
    };
    if bytes > BODY_MAX_BYTES {
        return Err(Error::limit_exceeded(format!("the body has more than {BODY_MAX_BYTES} bytes")));
    }
    Ok(())
}

/// All slots of a request.
fn slots(request: &Request) -> impl Iterator<Item = &Slot> {
    let fields: &[Param] = if let Body::Form(fields) = &request.body { fields } else { &[] };
    let text: &[Piece] = if let Body::Text(text) = &request.body { text } else { &[] };
    let params = request.query.iter().chain(&request.headers).chain(fields).map(|param| &param.value);
    let pieces = request.path.iter().chain(params).flatten().chain(text);
    pieces.filter_map(|piece| match piece {
        Piece::Slot(slot) => Some(slot),
        Piece::Text(_) => None,
    })
}

fn check_slot(state: &HostState, slot: &Slot) -> Result<(), Error> {
    if !matches!(slot.encoding.as_str(), "plain" | "json" | "base64") {
        return Err(Error::unsupported(format!("the encoding {:?} of a slot is not known", slot.encoding)));
    }
    if slot.source != "secret" {
        let message = format!("a slot of the source {:?} occurs within recipes only", slot.source);
        return Err(Error::invalid_input(message));
    }
    if state.allowed_secrets.contains(&slot.name) {
        return Ok(());
    }
    let message = format!("the operator has not allowed the plugin to place the secret {:?}", slot.name);
    Err(Error::new("not_granted", message))
}

/// The response as the plugin sees it: without secrets, without masked members, within its limit.
pub fn filtered<'s>(
    request: &Request,
    rule: &Rule,
    secrets: impl Iterator<Item = &'s String> + Clone,
    response: Response,
) -> Result<Response, Error> {
    let limit = request.max_response_bytes.map_or(BODY_MAX_BYTES, |max| (max as usize).min(BODY_MAX_BYTES));
    if response.body.len() > limit {
        return Err(Error::limit_exceeded(format!("the answer has more than {limit} bytes")));
    }
    let hidden = secrets.filter(|secret| secret.chars().count() >= HIDDEN_MIN_CHARS);
    let mut body = response.body;
    for secret in hidden.clone() {
        body = without(&body, secret.as_bytes());
    }
    if !rule.mask.is_empty() {
        let mut value: Value = serde_json::from_slice(&body)
            .map_err(|_| Error::bad_answer("the answer is no JSON, and its call rule masks members"))?;
        rule.mask.iter().for_each(|pointer| mask(&mut value, pointer));
        body = value.to_string().into_bytes();
    }
    let headers = response.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let headers = headers.filter(|(name, _)| !HIDDEN_HEADERS.contains(&name.as_str()));
    let headers = headers.map(|(name, value)| {
        let value = hidden.clone().fold(value, |value, secret| value.replace(secret.as_str(), "***"));
        (name, value)
    });
    Ok(Response { status: response.status, headers: headers.collect(), body })
}

fn without(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let (mut rest, mut kept) = (bytes, Vec::with_capacity(bytes.len()));
    while let Some(at) = rest.windows(secret.len()).position(|window| window == secret) {
        kept.extend_from_slice(&rest[..at]);
        kept.extend_from_slice(b"***");
        rest = &rest[at + secret.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}
