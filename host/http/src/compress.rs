//! Compresses text that is large enough. An answer with a secret stays uncompressed: its compressed length
//! would leak information. A compressed answer has an `ETag` of its own.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderMap, HeaderValue};

use super::reply::Content;
use super::{Reply, etag};

/// Shorter answers stay uncompressed.
const WORTH_BYTES: usize = 1024;
/// Longer answers are compressed off the worker thread, which they would block.
const INLINE_MAX_BYTES: usize = 128 * 1024;
/// The fastest level, which saves most of the bytes already.
const LEVEL: u32 = 1;

/// Compresses the answer if the client accepts it and it is large enough.
pub async fn compress(reply: Reply, accepted: &HeaderMap) -> Reply {
    let worth = reply.content.whole().is_some_and(|body| body.len() >= WORTH_BYTES);
    let text = || reply.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(is_text);
    if !worth || !text() || reply.headers.contains_key(CONTENT_ENCODING) {
        return reply;
    }
    let mut reply = reply;
    reply.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    if !takes_gzip(accepted) {
        return reply;
    }
    let Content::Whole(body) = &reply.content else { return reply };
    let body = body.clone();
    let packed = if body.len() <= INLINE_MAX_BYTES {
        gzip(&body)
    } else {
        match tokio::task::spawn_blocking(move || gzip(&body)).await {
            Ok(packed) => packed,
            // The runtime is shutting down: send the answer uncompressed.
            Err(_) => return reply,
        }
    };
    reply.content = Content::Whole(packed);
    let etag = reply.etag().map(etag::compressed);
    let reply = match etag {
        Some(etag) => reply.etagged(&etag),
        None => reply,
    };
    reply.header(CONTENT_ENCODING, HeaderValue::from_static("gzip"))
}

fn gzip(body: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::new(LEVEL));
    encoder.write_all(body).expect("memory takes what is written");
    encoder.finish().expect("memory takes what is written").into()
}

fn is_text(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    kind == "application/json" || (kind.starts_with("text/") && kind != "text/event-stream")
}

/// Whether `Accept-Encoding` names gzip, or everything, without refusing it (`q=0`).
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = || headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let named = |coding| values().find_map(|accepted| quality(accepted, coding));
    named("gzip").or_else(|| named("*")).unwrap_or(0.0) > 0.0
}

/// Whether a value of `Accept-Encoding` names this coding, or everything, without refusing it (`q=0`).
pub fn accepts_coding(accepted: &str, coding: &str) -> bool {
    quality(accepted, coding).or_else(|| quality(accepted, "*")).unwrap_or(0.0) > 0.0
}

/// Whether a header like `Accept` names this choice and does not refuse it; `*` does not name it.
pub fn names(accepted: &str, choice: &str) -> bool {
    quality(accepted, choice).is_some_and(|quality| quality > 0.0)
}

/// The quality of a coding where it is named.
fn quality(accepted: &str, coding: &str) -> Option<f32> {
    accepted.split(',').find_map(|choice| {
        let mut parts = choice.split(';').map(str::trim);
        if !parts.next()?.eq_ignore_ascii_case(coding) {
            return None;
        }
        let quality = parts.find_map(|part| part.strip_prefix("q="));
        Some(quality.and_then(|quality| quality.parse().ok()).unwrap_or(1.0))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    fn accepting(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(text))])
    }

    #[test]
    fn a_choice_is_named_or_not() {
        assert!(names("text/html,application/xhtml+xml,*/*;q=0.8", "text/html"));
        assert!(names("application/json, Text/HTML;q=0.5", "text/html"));
        for program in ["", "*/*", "application/json", "text/html;q=0, application/json", "text/html-x"] {
            assert!(!names(program, "text/html"), "{program}");
        }
    }

    #[test]
    fn gzip_is_taken_where_it_is_not_refused() {
        for yes in ["gzip", "br, gzip;q=0.5", "*", "GZIP"] {
            assert!(takes_gzip(&accepting(yes)), "{yes}");
        }
        for no in ["", "br", "gzip;q=0", "*;q=0", "gzip;q=0, *"] {
            assert!(!takes_gzip(&accepting(no)), "{no}");
        }
    }

    #[test]
    fn a_coding_is_accepted_by_its_name_or_with_all() {
        for yes in ["br", "gzip, br;q=0.1", "*", "gzip;q=0, BR"] {
            assert!(accepts_coding(yes, "br"), "{yes}");
        }
        for no in ["", "gzip", "br;q=0, *", "*;q=0"] {
            assert!(!accepts_coding(no, "br"), "{no}");
        }
    }

    #[tokio::test]
    async fn only_long_json_answers_are_compressed() {
        let long = "a".repeat(200_000);
        let packed = compress(Reply::json(&long), &accepting("gzip")).await;
        assert_eq!(packed.headers[CONTENT_ENCODING], "gzip");
        let mut text = String::new();
        let bytes = packed.content.whole().unwrap();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("\"{long}\""));
        let short = compress(Reply::json(&"a"), &accepting("gzip")).await;
        assert!(!short.headers.contains_key(CONTENT_ENCODING) && !short.headers.contains_key(VARY));
        let plain = compress(Reply::json(&long), &accepting("br")).await;
        assert!(!plain.headers.contains_key(CONTENT_ENCODING) && plain.headers.contains_key(VARY));
        let binary = Reply::bytes(HeaderValue::from_static("application/wasm"), long.into());
        assert!(!compress(binary, &accepting("gzip")).await.headers.contains_key(CONTENT_ENCODING));
    }
}
