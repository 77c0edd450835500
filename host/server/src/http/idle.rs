//! Whether a connection is in use: from the head of a request to the last byte of its answer. A protocol's
//! own timeouts leave gaps (a preface never finished, an HTTP/2 connection without a stream); this has none.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

use super::ReplyBody;

/// Shared by a connection and its requests.
#[derive(Clone)]
pub struct Activity(Arc<watch::Sender<Count>>);

#[derive(Default)]
struct Count {
    running: usize,
    begun: u64,
}

/// A request under way; dropping it ends it.
pub struct Busy(Activity);

impl Activity {
    pub fn new() -> Activity {
        Activity(Arc::new(watch::Sender::new(Count::default())))
    }

    pub fn busy(&self) -> Busy {
        self.0.send_modify(|count| {
            count.running += 1;
            count.begun += 1;
        });
        Busy(self.clone())
    }

    /// Resolves when the first request has not begun within `first`, or none runs for `later`.
    pub async fn idle_for(&self, first: Duration, later: Duration) {
        let mut watched = self.0.subscribe();
        loop {
            let allowed = if watched.borrow_and_update().begun == 0 { first } else { later };
            if watched.borrow().running > 0 {
                // The sender is ours: it cannot be gone.
                let _ = watched.changed().await;
            } else if timeout(allowed, watched.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Busy {
    pub fn until_sent(self, body: ReplyBody) -> TrackedBody {
        TrackedBody { body, _busy: self }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| count.running -= 1);
    }
}

/// An answer's body that keeps its connection in use until it is sent or given up.
pub struct TrackedBody {
    body: ReplyBody,
    _busy: Busy,
}

impl Body for TrackedBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    const FIRST: Duration = Duration::from_millis(20);
    const LATER: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn a_connection_without_a_request_ends_after_the_first_bound() {
        let began = Instant::now();
        Activity::new().idle_for(FIRST, Duration::from_secs(600)).await;
        assert!(began.elapsed() >= FIRST);
    }

    #[tokio::test]
    async fn a_running_request_keeps_it_and_its_end_starts_the_later_bound() {
        let activity = Activity::new();
        let busy = activity.busy();
        assert!(timeout(LATER * 2, activity.idle_for(FIRST, LATER)).await.is_err());
        drop(busy);
        let ended = Instant::now();
        activity.idle_for(FIRST, LATER).await;
        assert!(ended.elapsed() >= LATER);
    }
}
