//! An answer's body while it is sent: it keeps its connection busy until it is sent or dropped, and goes out
//! in pieces, so that the client's progress is visible.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use super::activity::Busy;
use super::streams::Handed;
use crate::ReplyBody;

/// The largest piece; a client that reads less in a minute counts as gone.
const PIECE_BYTES: usize = 16 * 1024;

pub struct AnswerBody {
    body: ReplyBody,
    left: Bytes,
    handed: Option<Arc<Handed>>,
    _busy: Busy,
}

impl AnswerBody {
    /// `in_stream`: the body goes out in an HTTP/2 stream, whose client may stop reading it alone.
    pub fn new(body: ReplyBody, busy: Busy, in_stream: bool) -> AnswerBody {
        let handed = if in_stream { Handed::current() } else { None };
        AnswerBody { body, left: Bytes::new(), handed, _busy: busy }
    }

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.left = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = self.left.split_to(self.left.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = self.poll_piece(context);
        if let Some(handed) = &self.handed {
            handed.set(polled.is_ready());
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, left) = (self.body.size_hint(), self.left.len() as u64);
        let mut whole = SizeHint::new();
        whole.set_lower(body.lower() + left);
        if let Some(upper) = body.upper() {
            whole.set_upper(upper + left);
        }
        whole
    }
}
