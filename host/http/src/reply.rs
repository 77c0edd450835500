//! A reply: a status, headers, and a body that is complete or a stream.

use std::cell::RefCell;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, ETAG, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use hyper::body::{Body, Frame, SizeHint};
use lakeport_base::Error;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::json;

use super::RequestId;
use super::request_id::X_REQUEST_ID;

/// Capacity for the usual headers of an answer.
const USUAL_HEADERS: usize = 6;

/// A handler's answer, ready to send.
#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub content: Content,
}

/// Pieces of a streamed body.
pub type Frames = Pin<Box<dyn Stream<Item = Bytes> + Send + Sync>>;

/// The body of a reply.
pub enum Content {
    Whole(Bytes),
    Stream(Frames),
}

impl std::fmt::Debug for Content {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Content::Whole(bytes) => write!(out, "{} bytes", bytes.len()),
            Content::Stream(_) => out.write_str("a stream"),
        }
    }
}

impl Content {
    /// A body that is sent piece by piece.
    pub fn stream(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Content {
        Content::Stream(Box::pin(Alone(Mutex::new(Box::pin(pieces)))))
    }

    /// The bytes of a complete body.
    pub fn whole(&self) -> Option<&Bytes> {
        if let Content::Whole(bytes) = self { Some(bytes) } else { None }
    }
}

/// A stream that is polled by one owner only. A reply must be shareable, which a stream that reads the store is
/// not.
struct Alone<S>(Mutex<Pin<Box<S>>>);

impl<S: Stream> Stream for Alone<S> {
    type Item = S::Item;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        self.get_mut().0.get_mut().as_mut().poll_next(context)
    }
}

/// Bytes that a thread keeps for the next answer.
const KEPT_BYTES: usize = 256 * 1024;

thread_local! {
    /// Where JSON is written first: an answer that grew piece by piece would take new memory again and again.
    static WRITTEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Reply {
    /// 200 with the value as JSON.
    pub fn json<T: Serialize>(value: &T) -> Reply {
        let body = WRITTEN.with_borrow_mut(|written| {
            written.clear();
            serde_json::to_writer(&mut *written, value).expect("answers are plain data with text keys");
            if written.capacity() > KEPT_BYTES {
                Bytes::from(std::mem::take(written))
            } else {
                Bytes::copy_from_slice(written)
            }
        });
        Reply::bytes(HeaderValue::from_static("application/json"), body)
    }

    /// 200 with these bytes.
    pub fn bytes(content_type: HeaderValue, body: Bytes) -> Reply {
        let mut headers = HeaderMap::with_capacity(USUAL_HEADERS);
        headers.insert(CONTENT_TYPE, content_type);
        Reply { status: StatusCode::OK, headers, content: Content::Whole(body) }
    }

    /// A reply without a body.
    pub fn empty(status: StatusCode) -> Reply {
        Reply { status, headers: HeaderMap::new(), content: Content::Whole(Bytes::new()) }
    }

    #[must_use]
    pub fn status(mut self, status: StatusCode) -> Reply {
        self.status = status;
        self
    }

    /// Sets a header; the value must not be a client's text.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Reply {
        self.headers.insert(name, value);
        self
    }

    /// Ends a stream once `ended` resolves; a complete body stays as it is.
    #[must_use]
    pub(super) fn until(mut self, ended: impl Future<Output = ()> + Send + 'static) -> Reply {
        if let Content::Stream(pieces) = self.content {
            self.content = Content::stream(pieces.take_until(ended));
        }
        self
    }

    /// Sets the `ETag`, given with its quotes.
    #[must_use]
    pub(super) fn etagged(self, etag: &str) -> Reply {
        self.header(ETAG, HeaderValue::from_str(etag).expect("an ETag is ASCII in quotes"))
    }

    /// The `ETag`, with its quotes.
    pub fn etag(&self) -> Option<&str> {
        self.headers.get(ETAG).and_then(|value| value.to_str().ok())
    }

    /// The error's body, status and headers. Leaves out the text of an internal error.
    pub fn error(error: &Error, request_id: &RequestId) -> Reply {
        let status = error.status();
        let (message, details) = match error {
            Error::Refused(refusal) => (refusal.message.as_str(), refusal.details.as_slice()),
            Error::Internal(_) => ("internal error; the server's log has the reason", &[][..]),
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
        if let Error::Refused(refusal) = error
            && !refusal.statements.is_empty()
        {
            body["statements"] = json!(refusal.statements);
        }
        let status = StatusCode::from_u16(status).expect("errors carry HTTP statuses");
        let mut reply = Reply::json(&body).status(status);
        let Error::Refused(refusal) = error else { return reply };
        if refusal.status == 401 {
            reply = reply.header(http::header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if !refusal.allow.is_empty() {
            let allow = HeaderValue::from_str(&refusal.allow.join(", ")).expect("methods are ASCII");
            reply = reply.header(http::header::ALLOW, allow);
        }
        if let Some(seconds) = refusal.retry_after_s {
            reply = reply.header(RETRY_AFTER, HeaderValue::from(seconds));
        }
        reply
    }

    /// Adds the headers of every answer. `head` keeps the length and leaves the body out.
    pub(super) fn into_response(self, request_id: &RequestId, head: bool) -> Response<ReplyBody> {
        let Reply { status, mut headers, content } = self;
        headers.insert(&X_REQUEST_ID, request_id.header());
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        let body = match content {
            Content::Whole(bytes) => {
                if status != StatusCode::NO_CONTENT && status != StatusCode::NOT_MODIFIED {
                    headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
                }
                ReplyBody::Whole((!head && !bytes.is_empty()).then_some(bytes))
            }
            Content::Stream(_) if head => ReplyBody::Whole(None),
            Content::Stream(stream) => ReplyBody::Stream(stream),
        };
        let mut response = Response::new(body);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        response
    }
}

/// The body that hyper sends.
pub enum ReplyBody {
    /// The remaining bytes.
    Whole(Option<Bytes>),
    Stream(Frames),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            ReplyBody::Whole(left) => Poll::Ready(left.take().map(|bytes| Ok(Frame::data(bytes)))),
            ReplyBody::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|next| next.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, ReplyBody::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Whole(left) => {
                SizeHint::with_exact(left.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            ReplyBody::Stream(_) => SizeHint::default(),
        }
    }
}
