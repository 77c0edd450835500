//! The rules of `lakeport:host/http` that need neither a network nor secrets: which calls an address allows, which
//! headers belong to the connection, and what a plugin must not see of an answer. The server and the SDK's test host
//! keep to the same code.

mod call_rule;
mod mask;

pub use call_rule::{CallRule, Effect};
pub use mask::{hide, mask};

/// The methods of requests.
pub const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
/// The most bytes of a body, of a request and of an answer.
pub const BODY_MAX_BYTES: usize = 8 * 1024 * 1024;
/// The most requests of one call of a plugin.
pub const REQUESTS_MAX: usize = 1_000;
/// The most call rules of an address.
pub const RULES_MAX: usize = 200;
/// The most masks of one call rule.
pub const MASKS_MAX: usize = 20;
/// A secret with fewer characters is not replaced in answers: it could match other text.
pub const HIDDEN_MIN_CHARS: usize = 8;
/// The most headers of a request, and the bytes of their names and values.
pub const HEADERS_MAX: usize = 64;
pub const HEADERS_MAX_BYTES: usize = 16 * 1024;

/// Headers that only the host sets: they belong to the connection, or say how a body is packed.
const HOST_HEADERS: [&str; 12] = [
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
    "expect",
    "accept-encoding",
];

/// Headers of an answer that a plugin does not see.
const HIDDEN_HEADERS: [&str; 2] = ["set-cookie", "www-authenticate"];

/// Whether only the host sets this header of a request.
pub fn is_of_host(header: &str) -> bool {
    HOST_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(header))
}

/// Whether a plugin does not see this header of an answer.
pub fn is_hidden(header: &str) -> bool {
    HIDDEN_HEADERS.iter().any(|known| known.eq_ignore_ascii_case(header))
}

/// Whether this text may be a segment of a path.
pub fn is_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
}
