//! Connections: accepting within a bound, closing those that say nothing, and stopping in order.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::Edge;
use super::idle::Activity;

/// More wait in the kernel's queue until one is closed.
const MAX_CONNECTIONS: usize = 1024;
/// A client must have sent a whole head within this time.
const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(15);
/// A connection without a request for so long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(75);
const MAX_HEADERS: usize = 100;
/// Of a head, and of what is read ahead.
const READ_BUFFER_BYTES: usize = 64 * 1024;
const MAX_H2_HEADER_LIST_BYTES: u32 = 32 * 1024;
const MAX_H2_STREAMS: u32 = 128;
const H2_PING_INTERVAL: Duration = Duration::from_secs(20);
const H2_PING_TIMEOUT: Duration = Duration::from_secs(20);
/// After a failed accept, such as no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `shutdown` resolves, then lets running requests end within the drain time.
/// Dropping the future closes the listener and leaves open connections to the runtime.
pub async fn run<S: Send + Sync + 'static>(
    listener: TcpListener,
    edge: Arc<Edge<S>>,
    shutdown: impl Future<Output = ()>,
) {
    let drain = edge.settings.drain;
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    tokio::pin!(shutdown);
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await.expect("the semaphore is never closed");
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            next = next => next,
        };
        match accepted {
            Ok((stream, peer)) => {
                tokio::spawn(converse(stream, peer, Arc::clone(&edge), graceful.watcher(), place));
            }
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    tracing::info!("stopping: running requests have {drain:?} to end");
    if timeout(drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("requests still ran after {drain:?} and were cut off");
    }
}

/// Resolves on SIGTERM or SIGINT; both are caught from this call on.
pub fn terminated() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

async fn converse<S: Send + Sync + 'static>(
    stream: TcpStream,
    peer: SocketAddr,
    edge: Arc<Edge<S>>,
    watcher: Watcher,
    place: OwnedSemaphorePermit,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("{peer}: {error}");
    }
    let activity = Activity::new();
    let service = {
        let activity = activity.clone();
        service_fn(move |request: Request<Incoming>| {
            let edge = Arc::clone(&edge);
            let busy = activity.busy();
            async move { Ok::<_, Infallible>(edge.answer(peer, request).await.map(|body| busy.until_sent(body))) }
        })
    };
    let builder = connection_builder();
    let connection = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::select! {
        ended = watcher.watch(connection) => {
            if let Err(error) = ended {
                tracing::debug!("{peer}: {error}");
            }
        }
        () = activity.idle_for(HEADER_READ_TIMEOUT, IDLE_TIMEOUT) => tracing::debug!("{peer}: idle, closed"),
    }
    drop(place);
}

fn connection_builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(READ_BUFFER_BYTES);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_H2_HEADER_LIST_BYTES)
        .max_concurrent_streams(MAX_H2_STREAMS)
        .keep_alive_interval(H2_PING_INTERVAL)
        .keep_alive_timeout(H2_PING_TIMEOUT);
    builder
}
