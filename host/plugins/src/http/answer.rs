//! An answer, as the plugin sees it.

use std::io::Read;

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use http::header::CONTENT_ENCODING;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_bindings::host::web::{AuthRecipe, Expectation, Response};
use lakeport_http_rules::{BODY_MAX_BYTES, CallRule, is_hidden};
use parking_lot::Mutex;
use serde_json::Value;
use zeroize::Zeroizing;

use super::hiding::hide_all;

/// A parsed body takes many times its bytes: one at a time in the whole server.
static MASKING: Mutex<()> = Mutex::new(());
/// Longer bodies are no answers of a log-in, and do not say that one is no longer valid.
pub const JUDGED_MAX_BYTES: usize = 256 * 1024;

/// Without secrets, without masked members, within its limit.
pub fn seen(
    answer: http::Response<Bytes>,
    rule: &CallRule,
    asked_max_bytes: Option<u32>,
    hidden: &[Zeroizing<String>],
) -> Result<Response, Error> {
    let limit = asked_max_bytes.map_or(BODY_MAX_BYTES, |max| (max as usize).min(BODY_MAX_BYTES));
    let (head, body) = answer.into_parts();
    let body = unpacked(&head.headers, body, limit)?;
    let body = hide_all(body, hidden);
    let masked = {
        let _one = MASKING.lock();
        rule.masked(body)
    };
    let body = masked
        .ok_or_else(|| error("bad_answer", "the answer is no JSON, and its call rule masks members"))?;
    let headers =
        head.headers.iter().filter(|(name, _)| !is_hidden(name.as_str()) && *name != CONTENT_ENCODING);
    let headers = headers.map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let value = hidden.iter().fold(value, |value, secret| value.replace(secret.as_str(), "***"));
        (name.as_str().to_owned(), value)
    });
    Ok(Response { status: head.status.as_u16(), headers: headers.collect(), body })
}

/// The body without its packing, which a small body may hide much in.
fn unpacked(headers: &http::HeaderMap, body: Bytes, limit: usize) -> Result<Vec<u8>, Error> {
    let too_long = || error("limit_exceeded", format!("the answer has more than {limit} bytes"));
    let body = match headers.get(CONTENT_ENCODING).map(|encoding| encoding.as_bytes().to_ascii_lowercase()) {
        None => body.to_vec(),
        Some(encoding) if encoding == b"identity" => body.to_vec(),
        Some(encoding) if encoding == b"gzip" => {
            let mut unpacked = Vec::new();
            let most = limit as u64 + 1;
            let read = MultiGzDecoder::new(&body[..]).take(most).read_to_end(&mut unpacked);
            read.map_err(|_| error("bad_answer", "the answer says that it is gzip, and is not"))?;
            unpacked
        }
        Some(other) => {
            let other = String::from_utf8_lossy(&other).into_owned();
            return Err(error("bad_answer", format!("the answer is packed in an unknown way, {other:?}")));
        }
    };
    if body.len() > limit { Err(too_long()) } else { Ok(body) }
}

/// Whether the answer says that the log-in is no longer valid.
pub fn is_rejected(recipe: &AuthRecipe, status: u16, body: &[u8]) -> bool {
    recipe.rejected_statuses.contains(&status)
        || (!recipe.rejected_when.is_empty() && fits(body, &recipe.rejected_when))
}

/// Whether a JSON body is as expected.
pub fn fits(body: &[u8], expected: &[Expectation]) -> bool {
    if expected.is_empty() {
        return true;
    }
    if body.len() > JUDGED_MAX_BYTES {
        return false;
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return false };
    expected.iter().all(|one| {
        let wanted = serde_json::from_str::<Value>(&one.equals).ok();
        wanted.is_some() && body.pointer(&one.at) == wanted.as_ref()
    })
}
