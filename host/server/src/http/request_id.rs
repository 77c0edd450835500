//! The name of one request: in the answer, in the log, in errors. A client may bring its own.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that brings and returns it.
pub static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ones are not taken.
const MAX_CHARS: usize = 128;

/// 1–128 characters of `A-Za-z0-9._:-`: safe in a header, a log line and a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// The client's, if it is one that may be repeated; else a new one.
    pub fn of(headers: &HeaderMap) -> RequestId {
        let given = headers.get(&X_REQUEST_ID).and_then(|value| value.to_str().ok());
        match given {
            Some(text) if is_safe(text) => RequestId(text.to_owned()),
            _ => RequestId(uuid::Uuid::now_v7().to_string()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.0).expect("a request id holds header characters only")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

fn is_safe(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
    !text.is_empty() && text.len() <= MAX_CHARS && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(&X_REQUEST_ID, HeaderValue::from_str(text).unwrap());
        RequestId::of(&headers).to_string()
    }

    #[test]
    fn a_plain_id_is_kept_and_any_other_is_replaced() {
        assert_eq!(of("build-7.a:B"), "build-7.a:B");
        for hostile in ["", "a b", "x\"y", &"a".repeat(MAX_CHARS + 1)] {
            let made = of(hostile);
            assert_ne!(made, hostile);
            assert_eq!(made.len(), 36, "{made}");
        }
    }
}
