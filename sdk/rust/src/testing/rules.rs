//! The rules of `lakeport:host/http`: what a request must be before it is sent, and what the plugin sees of the
//! answer.

use lakeport_http_rules::{
    BODY_MAX_BYTES, CallRule, Effect, HEADERS_MAX, HEADERS_MAX_BYTES, HIDDEN_MIN_CHARS, METHODS, RULES_MAX,
    hide, is_hidden, is_of_host, is_segment,
};
use serde_json::Value;

use super::expected::shown;
use super::state::HostState;
use crate::Error;
use crate::host::web::{AddressSlot, AuthUse, Body, Param, Piece, Request, Response, Slot};

/// What is wrong with the call rules of an address.
pub fn wrong_rule(address: &AddressSlot) -> Option<String> {
    let name = &address.name;
    if address.calls.len() > RULES_MAX {
        return Some(format!("the address {name} has more than {RULES_MAX} call rules"));
    }
    rules(address).find_map(Result::err).map(|wrong| format!("the address {name}: {wrong}"))
}

fn rules(address: &AddressSlot) -> impl Iterator<Item = Result<CallRule, String>> {
    address.calls.iter().map(|rule| CallRule::parse(&rule.call, &rule.effect, &rule.mask))
}

/// Whether a lost answer to such a call may have applied.
pub fn changes(rule: &CallRule) -> bool {
    rule.effect() == Effect::Changes
}

/// The rule that fits a request, or the error that refuses it.
pub fn check(state: &HostState, request: &Request) -> Result<CallRule, Error> {
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
    let segments: Vec<&str> = path.iter().map(String::as_str).collect();
    let rule = rules(address).filter_map(Result::ok).find(|rule| rule.fits(&request.method, &segments));
    rule.ok_or_else(|| {
        not_granted(format!("no call rule of {name} fits {} {}", request.method, path.join("/")))
    })
}

fn check_path(request: &Request) -> Result<(), Error> {
    let wrong = request.path.iter().map(|segment| shown(segment)).find(|one| !is_segment(one));
    match wrong {
        Some(segment) => Err(Error::invalid_input(format!("{segment:?} is no segment of a path"))),
        None => Ok(()),
    }
}

fn check_headers(state: &HostState, request: &Request) -> Result<(), Error> {
    let refused = |name: &str, why: &str| Err(Error::invalid_input(format!("the header {name} {why}")));
    let bytes =
        request.headers.iter().map(|header| header.name.len() + shown(&header.value).len()).sum::<usize>();
    if request.headers.len() > HEADERS_MAX || bytes > HEADERS_MAX_BYTES {
        let message = format!("a request has {HEADERS_MAX} headers of {HEADERS_MAX_BYTES} bytes at most");
        return Err(Error::limit_exceeded(message));
    }
    let recipe = state.recipe_at(&request.address).filter(|_| request.auth == AuthUse::Chosen);
    for Param { name, value } in &request.headers {
        let lower = name.to_ascii_lowercase();
        if is_of_host(&lower) {
            return refused(name, "is set by the host alone");
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

/// The response as the plugin sees it: without secrets, without masked members, within its limit. An error that comes
/// after the answer of a call that changes something may have applied.
pub fn filtered<'s>(
    request: &Request,
    rule: &CallRule,
    secrets: impl Iterator<Item = &'s String> + Clone,
    response: Response,
) -> Result<Response, Error> {
    let late = |error: Error| if changes(rule) { error.may_have_applied() } else { error };
    let limit = request.max_response_bytes.map_or(BODY_MAX_BYTES, |max| (max as usize).min(BODY_MAX_BYTES));
    if response.body.len() > limit {
        return Err(late(Error::limit_exceeded(format!("the answer has more than {limit} bytes"))));
    }
    let hidden = secrets.filter(|secret| secret.chars().count() >= HIDDEN_MIN_CHARS);
    let body = hidden.clone().fold(response.body, |body, secret| hide(body, secret.as_bytes()));
    let body = rule
        .masked(body)
        .ok_or_else(|| late(Error::bad_answer("the answer is no JSON, and its call rule masks members")))?;
    let headers = response.headers.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value));
    let headers = headers.filter(|(name, _)| !is_hidden(name));
    let headers = headers.map(|(name, value)| {
        let value = hidden.clone().fold(value, |value, secret| value.replace(secret.as_str(), "***"));
        (name, value)
    });
    Ok(Response { status: response.status, headers: headers.collect(), body })
}
