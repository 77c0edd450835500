//! Pages of other origins that the operator allows. There are none by default: without these headers a
//! browser hides the answers from the page and sends no change.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::Reply;

const ALLOWED_HEADERS: &str =
    "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, X-Request-Id";
const EXPOSED_HEADERS: &str = "Content-Disposition, ETag, Retry-After, X-Request-Id, X-Truncated";
/// Seconds that a browser may cache a preflight's answer.
const MAX_AGE_S: u64 = 600;

/// The request's origin, if the operator allows it.
pub fn allowed_origin<'h>(headers: &'h HeaderMap, origins: &[String]) -> Option<&'h HeaderValue> {
    if origins.is_empty() {
        return None;
    }
    let origin = headers.get(ORIGIN)?;
    let text = origin.to_str().ok()?;
    origins.iter().any(|allowed| allowed == text).then_some(origin)
}

/// The answer to a preflight request; `None` for other requests.
pub fn preflight(parts: &Parts, methods: &[&'static str], origins: &[String]) -> Option<Reply> {
    if parts.method != Method::OPTIONS || !parts.headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    allowed_origin(&parts.headers, origins)?;
    let methods = HeaderValue::from_str(&methods.join(", ")).ok()?;
    let reply = Reply::empty(StatusCode::NO_CONTENT)
        .header(ACCESS_CONTROL_ALLOW_METHODS, methods)
        .header(ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(ALLOWED_HEADERS))
        .header(ACCESS_CONTROL_MAX_AGE, HeaderValue::from(MAX_AGE_S));
    Some(reply)
}

/// Allows the page of this origin to read the answer.
pub fn admit(reply: Reply, origin: HeaderValue) -> Reply {
    let mut reply = reply
        .header(ACCESS_CONTROL_ALLOW_ORIGIN, origin)
        .header(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED_HEADERS));
    reply.headers.append(VARY, HeaderValue::from_static("Origin"));
    reply
}
