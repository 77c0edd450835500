//! The streams of HTTP/2: each is a task that ends when its client reads nothing of its answer for too long.
//! Other streams of the connection go on; behind a proxy they belong to other clients.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use hyper::rt::Executor;
use tokio::time::{Sleep, sleep};

use super::activity::UNREAD_MAX_S;

const UNREAD_MAX: Duration = Duration::from_secs(UNREAD_MAX_S as u64);

tokio::task_local! {
    static HANDED: Arc<Handed>;
}

/// Tracks the handover of an answer's pieces to HTTP/2, which polls for a piece when the client has read the
/// last one: odd while a piece waits, a new number for each.
#[derive(Default)]
pub struct Handed(AtomicU32);

impl Handed {
    /// The one of the current task's stream.
    pub fn current() -> Option<Arc<Handed>> {
        HANDED.try_with(Arc::clone).ok()
    }

    /// A piece was polled; `there` says whether it was ready.
    pub fn set(&self, there: bool) {
        let asked = (self.0.load(Relaxed) | 1).wrapping_add(1);
        self.0.store(asked + u32::from(there), Relaxed);
    }

    /// The number of the waiting piece.
    fn waiting(&self) -> Option<u32> {
        let number = self.0.load(Relaxed);
        (number % 2 == 1).then_some(number)
    }
}

/// The executor by which hyper starts streams.
#[derive(Clone, Copy)]
pub struct Streams;

impl<F> Executor<F> for Streams
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, stream: F) {
        tokio::spawn(bounded(stream, UNREAD_MAX));
    }
}

/// Limits a stream; dropping the stream resets it.
fn bounded<F>(stream: F, unread_max: Duration) -> impl Future<Output = ()> + Send
where
    F: Future<Output = ()> + Send,
{
    let handed = Arc::new(Handed::default());
    let mut stream = Box::pin(HANDED.scope(Arc::clone(&handed), stream));
    let mut waiting: Option<(u32, Pin<Box<Sleep>>)> = None;
    poll_fn(move |context| {
        if stream.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let Some(piece) = handed.waiting() else {
            waiting = None;
            return Poll::Pending;
        };
        let (_, over) = match waiting.take_if(|(of, _)| *of == piece) {
            Some(same) => waiting.insert(same),
            None => waiting.insert((piece, Box::pin(sleep(unread_max)))),
        };
        over.as_mut().poll(context)
    })
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::{Instant, timeout};

    use super::*;

    const MAX: Duration = Duration::from_millis(40);

    #[tokio::test]
    async fn a_stream_with_a_stalled_chunk_ends() {
        let began = Instant::now();
        let stream = async {
            let handed = Handed::current().expect("it runs in a stream");
            handed.set(true);
            sleep(MAX / 2).await;
            handed.set(true);
            pending::<()>().await;
        };
        bounded(stream, MAX).await;
        assert!(began.elapsed() >= MAX * 3 / 2, "the second piece had its own time");
    }

    #[tokio::test]
    async fn a_stream_that_has_nothing_to_send_goes_on() {
        let stream = async {
            let handed = Handed::current().expect("it runs in a stream");
            handed.set(true);
            handed.set(false);
            pending::<()>().await;
        };
        assert!(timeout(MAX * 3, bounded(stream, MAX)).await.is_err());
    }
}
