//! A connection's stream that sets activity marks, and that can return bytes to be read again.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;

pub struct Socket<T> {
    stream: T,
    put_back: Bytes,
    activity: Arc<Activity>,
}

impl<T> Socket<T> {
    pub fn new(stream: T, activity: Arc<Activity>) -> Socket<T> {
        Socket { stream, put_back: Bytes::new(), activity }
    }

    /// Makes the next read start with these bytes.
    pub fn put_back(&mut self, bytes: Bytes) {
        if self.put_back.is_empty() {
            self.put_back = bytes;
        } else {
            let mut both = BytesMut::from(bytes);
            both.extend_from_slice(&self.put_back);
            self.put_back = both.freeze();
        }
    }

    fn marked_write(&self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &outcome {
            Poll::Ready(_) => self.activity.wrote(),
            Poll::Pending => self.activity.write_waits(),
        }
        outcome
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Socket<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.put_back.has_remaining() {
            let length = self.put_back.len().min(into.remaining());
            into.put_slice(&self.put_back.split_to(length));
            self.activity.read();
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, into);
        if outcome.is_ready() && into.filled().len() > before {
            self.activity.read();
        }
        outcome
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Socket<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.marked_write(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.marked_write(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// A plain stream is always flushed; an encrypting one has a buffer of its own.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        match &outcome {
            Poll::Ready(_) => self.activity.flushed(),
            Poll::Pending => self.activity.write_waits(),
        }
        outcome
    }

    /// A connection that comes to rest gets its stream back open.
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.activity.is_resting() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::super::activity::Pulse;
    use super::*;
    use crate::Stats;

    #[tokio::test]
    async fn what_was_put_back_is_read_first_and_in_order() {
        let (mut client, server) = tokio::io::duplex(64);
        let pulse = Arc::new(Pulse::new(&Stats::new()));
        let mut socket = Socket::new(server, Arc::new(Activity::new(([127, 0, 0, 1], 1).into(), &pulse)));
        client.write_all(b" it was").await.unwrap();
        drop(client);
        socket.put_back(Bytes::from_static(b" as"));
        socket.put_back(Bytes::from_static(b"just"));
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        assert_eq!(text, "just as it was");
    }
}
