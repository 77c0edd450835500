//! The id of a request in the answer, the log and errors. A client may send its own.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use http::{HeaderMap, HeaderName, HeaderValue};
use uuid::{Builder, Uuid};

/// The header of requests and answers.
pub static X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids are ignored.
const MAX_CHARS: usize = 128;

/// 1–128 characters of `A-Za-z0-9._:-`: safe in a header, a log line and a terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(HeaderValue);

impl RequestId {
    /// The client's id if it is valid; else a new one.
    pub fn of(headers: &HeaderMap) -> RequestId {
        match headers.get(&X_REQUEST_ID) {
            Some(given) if is_safe(given.as_bytes()) => RequestId(given.clone()),
            _ => RequestId::new(),
        }
    }

    fn new() -> RequestId {
        let mut text = Uuid::encode_buffer();
        let text = new_uuid().hyphenated().encode_lower(&mut text);
        RequestId(HeaderValue::from_str(text).expect("a UUID is made of header characters"))
    }

    pub fn as_str(&self) -> &str {
        self.0.to_str().expect("a request id holds visible ASCII only")
    }

    pub fn header(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A UUID of version 7. Its random part needs no system call: it must be unique, not secret.
fn new_uuid() -> Uuid {
    static SEED: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(std::process::id()));
    static MADE: AtomicU64 = AtomicU64::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let mut random = [0; 10];
    random[..8].copy_from_slice(&mixed(SEED.wrapping_add(number)).to_ne_bytes());
    random[8..].copy_from_slice(&number.to_ne_bytes()[..2]);
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Builder::from_unix_timestamp_millis(since_1970.as_millis() as u64, &random).into_uuid()
}

/// Maps neighbouring numbers far apart: the last steps of SplitMix64.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

fn is_safe(text: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"._:-".contains(byte);
    !text.is_empty() && text.len() <= MAX_CHARS && text.iter().all(plain)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

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

    #[test]
    fn new_ids_are_uuids_that_differ() {
        let made: HashSet<Uuid> = (0..10_000).map(|_| of("").parse().unwrap()).collect();
        assert_eq!(made.len(), 10_000);
        assert!(made.iter().all(|id| id.get_version_num() == 7));
    }
}
