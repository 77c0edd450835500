//! An answer: a status, headers and a body. Success of the product's areas is wrapped once, here.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde::Serialize;
use serde_json::json;

use super::RequestId;
use super::request_id::X_REQUEST_ID;
use crate::error::Error;

/// What hyper sends.
pub type ReplyBody = Full<Bytes>;

/// What a handler answers with.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

#[derive(Serialize)]
struct Envelope<'a, T> {
    code: u16,
    message: &'static str,
    data: &'a T,
}

impl Reply {
    /// 200 with the envelope: `{"code":200,"message":"success","data":…}`.
    pub fn data<T: Serialize>(data: &T) -> Reply {
        Reply::bare(&Envelope { code: 200, message: "success", data })
    }

    /// 200 with the JSON as it is.
    pub fn bare<T: Serialize>(value: &T) -> Reply {
        let body = serde_json::to_vec(value).expect("answers are plain data with text keys");
        Reply::bytes("application/json", body.into())
    }

    /// 200 with these bytes.
    pub fn bytes(content_type: &'static str, body: Bytes) -> Reply {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Reply { status: StatusCode::OK, headers, body }
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Reply {
        self.status = status;
        self
    }

    /// Sets a header; the value is the program's own, never a client's text.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.headers.insert(name, value);
        self
    }

    /// The error's body, status and headers. The text of an internal error stays out of it.
    pub(super) fn error(error: &Error, request_id: &RequestId) -> Reply {
        let status = error.status();
        let (message, details) = match error {
            Error::Refused(refusal) => (refusal.message.as_str(), refusal.details.as_slice()),
            Error::Internal(_) => ("something went wrong inside the server; its log has the reason", &[][..]),
        };
        let mut body = json!({
            "code": status,
            "error": error.code(),
            "message": message,
            "data": null,
            "requestId": request_id.as_str(),
        });
        if !details.is_empty() {
            body["details"] = json!(details);
        }
        let status = StatusCode::from_u16(status).expect("errors carry HTTP statuses");
        let mut reply = Reply::bare(&body).status(status);
        let Error::Refused(refusal) = error else { return reply };
        if !refusal.allow.is_empty() {
            let allow = HeaderValue::from_str(&refusal.allow.join(", ")).expect("methods are ASCII");
            reply = reply.header(http::header::ALLOW, allow);
        }
        if let Some(seconds) = refusal.retry_after_s {
            reply = reply.header(RETRY_AFTER, HeaderValue::from(seconds));
        }
        reply
    }

    /// Adds what every answer has. `head` keeps the length and leaves the body out.
    pub(super) fn into_response(self, request_id: &RequestId, head: bool) -> Response<ReplyBody> {
        let Reply { status, mut headers, body } = self;
        headers.insert(&X_REQUEST_ID, request_id.header());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        let mut response = Response::new(Full::new(if head { Bytes::new() } else { body }));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}
