//! One connection: its TLS handshake, its HTTP version, and its requests, until it ends.
//!
//! An idle connection holds only its socket: hyper's buffers, some 16 KiB, are created at the first bytes of
//! a request and released a little after its answer. Otherwise ten thousand idle clients would cost as much
//! as ten thousand active ones.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::timeout;

use super::activity::{Activity, Warm};
use super::answer_body::AnswerBody;
use super::socket::Socket;
use super::streams::Streams;
use crate::tls::{Secure, Tls};
use crate::{Edge, Gate};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// The limit of an HTTP/1.1 head, and of bytes read ahead. hyper itself limits headers to 100.
const HTTP1_BUFFER_BYTES: usize = 64 * 1024;
const HTTP2_HEADER_LIST_BYTES: u32 = 32 * 1024;
const HTTP2_STREAMS: u32 = 128;
/// The answer of one stream that waits for the client's window.
const HTTP2_SEND_BUFFER_BYTES: usize = 64 * 1024;
const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(20);
const HTTP2_PING_TIMEOUT: Duration = Duration::from_secs(20);
/// The first bytes of an HTTP/2 connection.
const HTTP2_PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Starts the task that serves one client. Its slot becomes free when the task ends.
pub fn begin<S: Gate>(
    stream: TcpStream,
    edge: Arc<Edge<S>>,
    activity: Arc<Activity>,
    place: OwnedSemaphorePermit,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("{}: {error}", activity.peer());
    }
    match edge.settings.tls.clone() {
        None => tokio::spawn(async move {
            activity.attach().await;
            let service = service(edge, &activity, false);
            converse(stream, activity, service).await;
            drop(place);
        }),
        Some(tls) => tokio::spawn(async move {
            activity.attach().await;
            if let Some(stream) = shake_hands(&tls, stream, &activity).await {
                let service = service(edge, &activity, true);
                converse(stream, activity, service).await;
            }
            drop(place);
        }),
    };
}

async fn shake_hands(
    tls: &Tls,
    stream: TcpStream,
    activity: &Activity,
) -> Option<Box<tokio_rustls::server::TlsStream<TcpStream>>> {
    let shaking = timeout(HANDSHAKE_TIMEOUT, tls.accept(stream));
    let why = match activity.unless_told(shaking).await? {
        Ok(Ok(stream)) => {
            activity.greeted();
            return Some(Box::new(stream));
        }
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("not done within {HANDSHAKE_TIMEOUT:?}"),
    };
    tracing::debug!("{}: TLS handshake: {why}", activity.peer());
    None
}

/// The service that hyper calls for each request.
fn service<S: Gate>(edge: Arc<Edge<S>>, activity: &Arc<Activity>, secure: bool) -> impl Answers {
    let activity = Arc::clone(activity);
    service_fn(move |mut request: Request<Incoming>| {
        let edge = Arc::clone(&edge);
        let busy = activity.busy();
        let peer = activity.peer();
        if secure {
            request.extensions_mut().insert(Secure);
        }
        // In a box: hyper keeps the room of what it is given until the connection ends, also while an answer streams.
        Box::pin(async move {
            let in_stream = request.version() == Version::HTTP_2;
            let answer = edge.answer(peer, request).await;
            Ok::<_, Infallible>(answer.map(|body| AnswerBody::new(body, busy, in_stream)))
        })
    })
}

trait Answers:
    Service<Request<Incoming>, Response = Response<AnswerBody>, Error = Infallible, Future: Send + 'static>
    + Send
    + Unpin
    + 'static
{
}

impl<T> Answers for T where
    T: Service<
            Request<Incoming>,
            Response = Response<AnswerBody>,
            Error = Infallible,
            Future: Send + 'static,
        > + Send
        + Unpin
        + 'static
{
}

enum Protocol {
    Http1,
    Http2,
}

async fn converse<T>(stream: T, activity: Arc<Activity>, mut service: impl Answers)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut socket = Socket::new(stream, Arc::clone(&activity));
    loop {
        match activity.unless_told(first_bytes(&mut socket)).await {
            Some(Ok(Some(Protocol::Http1))) => {}
            Some(Ok(Some(Protocol::Http2))) => return speak_http2(socket, service, &activity).await,
            Some(Ok(None)) | None => return,
            Some(Err(error)) => return tracing::debug!("{}: {error}", activity.peer()),
        }
        match speak_http1(socket, service, &activity).await {
            Some(rest) => (socket, service) = rest,
            None => return,
        }
    }
}

/// Waits for the client's first bytes and recognises the HTTP version. `None`: it disconnected.
async fn first_bytes<T: AsyncRead + Unpin>(socket: &mut Socket<T>) -> io::Result<Option<Protocol>> {
    let mut start = [0; HTTP2_PREFACE.len()];
    let mut filled = 0;
    let protocol = loop {
        let more = socket.read(&mut start[filled..]).await?;
        filled += more;
        if filled == 0 {
            return Ok(None);
        }
        if more == 0 || !HTTP2_PREFACE.starts_with(&start[..filled]) {
            break Protocol::Http1;
        }
        if filled == start.len() {
            break Protocol::Http2;
        }
    };
    socket.put_back(Bytes::copy_from_slice(&start[..filled]));
    Ok(Some(protocol))
}

type Http1<T, A> = http1::Connection<TokioIo<Socket<T>>, A>;

/// Answers requests until the connection ends or comes to rest; then returns socket and service.
async fn speak_http1<T, A: Answers>(
    socket: Socket<T>,
    service: A,
    activity: &Arc<Activity>,
) -> Option<(Socket<T>, A)>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let mut speaking = Box::new(SpeakingHttp1 {
        connection: http1_builder().serve_connection(TokioIo::new(socket), service),
        warm: activity.warm(),
        draining: false,
    });
    let rests = poll_fn(|context| speaking.poll(activity, context)).await;
    if !rests {
        return None;
    }
    let SpeakingHttp1 { connection, .. } = *speaking;
    let parts = connection.into_parts();
    activity.set_resting(false);
    let mut socket = parts.io.into_inner();
    if !parts.read_buf.is_empty() {
        socket.put_back(parts.read_buf);
    }
    Some((socket, parts.service))
}

struct SpeakingHttp1<T, A: Answers> {
    connection: Http1<T, A>,
    #[expect(dead_code, reason = "held for its drop")]
    warm: Warm,
    draining: bool,
}

impl<T, A: Answers> SpeakingHttp1<T, A>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    /// Ready when the connection has ended (`false`) or rests (`true`).
    fn poll(&mut self, activity: &Activity, context: &mut Context<'_>) -> Poll<bool> {
        if activity.is_cut() {
            return Poll::Ready(false);
        }
        if activity.is_draining() && !self.draining {
            self.draining = true;
            Pin::new(&mut self.connection).graceful_shutdown();
        }
        if let Poll::Ready(ended) = Pin::new(&mut self.connection).poll(context) {
            if let Err(error) = ended {
                tracing::debug!("{}: {error}", activity.peer());
            }
            return Poll::Ready(false);
        }
        if !self.draining && activity.should_rest() {
            return self.rest(activity, context);
        }
        Poll::Pending
    }

    /// Between two requests, hyper ends at once when asked to, and has nothing to send.
    fn rest(&mut self, activity: &Activity, context: &mut Context<'_>) -> Poll<bool> {
        activity.set_resting(true);
        Pin::new(&mut self.connection).graceful_shutdown();
        match Pin::new(&mut self.connection).poll(context) {
            Poll::Ready(ended) => Poll::Ready(ended.is_ok()),
            Poll::Pending => {
                activity.set_resting(false);
                self.draining = true;
                Poll::Pending
            }
        }
    }
}

async fn speak_http2<T, A: Answers>(socket: Socket<T>, service: A, activity: &Activity)
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    activity.speaks_http2();
    let mut connection = Box::pin(http2_builder().serve_connection(TokioIo::new(socket), service));
    let mut draining = false;
    poll_fn(|context| {
        if activity.is_cut() {
            return Poll::Ready(());
        }
        if activity.is_draining() && !draining {
            draining = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context).map(|ended| {
            if let Err(error) = ended {
                tracing::debug!("{}: {error}", activity.peer());
            }
        })
    })
    .await;
}

/// Without hyper's timeouts: [`Activity`] replaces them.
fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Most answers are small: one write of head and body together costs less than a vectored one.
    builder.header_read_timeout(None).max_buf_size(HTTP1_BUFFER_BYTES).writev(false);
    builder
}

fn http2_builder() -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(Streams);
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(HTTP2_HEADER_LIST_BYTES)
        .max_concurrent_streams(HTTP2_STREAMS)
        .max_send_buf_size(HTTP2_SEND_BUFFER_BYTES)
        .keep_alive_interval(HTTP2_PING_INTERVAL)
        .keep_alive_timeout(HTTP2_PING_TIMEOUT);
    builder
}
