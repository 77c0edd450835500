//! The path of a request, from top to bottom: its id, routing, identity, body, the handler within the
//! deadline, the mapping of errors, the log line. All errors are answered in one place.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::poll_immediate;
use http::header::{ACCEPT, ACCEPT_ENCODING, HOST, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use lakeport_base::Error;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::arrival::Arrival;
use super::body_memory::{self, BodyMemory, HeldMemory};
use super::gate::{Attempt, Begun, Gate};
use super::router::Found;
use super::stats::{NO_OPERATION, OperationStats, Stats};
use super::{
    BodyLimit, Caller, Endpoint, Operation, Reply, ReplyBody, RequestId, Role, Router, Tls, body, compress,
    cors, etag,
};

/// The header that lets a repeated POST return the first answer.
static IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_KEY_MAX_CHARS: usize = 255;

/// Limits that the operator sets.
#[derive(Clone)]
pub struct EdgeSettings {
    /// From the last byte of the head to the answer.
    pub request_timeout: Duration,
    pub body_max_bytes: usize,
    pub upload_max_bytes: usize,
    /// How long running requests may take to end when the server stops.
    pub drain: Duration,
    /// Concurrent connections; more wait.
    pub connections_max: usize,
    /// Origins whose pages may send requests.
    pub cors_origins: Vec<String>,
    /// TLS settings for HTTPS; `None`: HTTP.
    pub tls: Option<Tls>,
}

/// Endpoints, gate and limits: the state of the edge.
pub struct Edge<G> {
    gate: Arc<G>,
    router: Router,
    /// In the order of the routes.
    operations: Vec<OperationStats>,
    unrouted: OperationStats,
    stopping: CancellationToken,
    /// Running changes, including those whose client is gone.
    changes: TaskTracker,
    /// Held while a body is read, and until it is dropped.
    bodies: BodyMemory,
    pub(super) stats: Stats,
    pub(super) settings: EdgeSettings,
}

/// The log's and the metrics' data of a request.
struct Seen<'r> {
    operation: &'static str,
    stats: &'r OperationStats,
    /// Polled by machines.
    probe: bool,
    /// Its answer has a secret.
    secret: bool,
}

impl<G: Gate> Edge<G> {
    /// `stopping` is cancelled when the server stops. Fails when routes conflict, naming both.
    pub fn new(
        gate: Arc<G>,
        endpoints: Vec<Endpoint>,
        settings: EdgeSettings,
        stats: Stats,
        stopping: CancellationToken,
    ) -> anyhow::Result<Edge<G>> {
        let operations = endpoints.iter().map(|endpoint| stats.of(endpoint.id)).collect();
        let unrouted = stats.of(NO_OPERATION);
        let router = Router::new(endpoints)?;
        let bodies = BodyMemory::new(settings.body_max_bytes.max(settings.upload_max_bytes));
        let changes = TaskTracker::new();
        Ok(Edge { gate, router, operations, unrouted, stopping, changes, bodies, stats, settings })
    }

    /// Cancelled when the server stops.
    pub fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Resolves when no change is running any more; call it when no more requests arrive.
    pub async fn settled(&self) {
        self.changes.close();
        self.changes.wait().await;
    }

    /// Answers one request, also when its handler fails or panics.
    pub async fn answer(&self, peer: SocketAddr, request: Request<Incoming>) -> Response<ReplyBody> {
        let started = Instant::now();
        let (parts, mut incoming) = request.into_parts();
        let request_id = RequestId::of(&parts.headers);
        let (method, uri) = (parts.method.clone(), parts.uri.clone());
        let client = Client::of(&parts.headers, &self.settings.cors_origins);

        let mut seen = Seen { operation: NO_OPERATION, stats: &self.unrouted, probe: false, secret: false };
        let outcome = self.serve(parts, &mut incoming, &mut seen, peer, &request_id, started).await;
        let reply = match outcome {
            Ok(reply) => reply,
            Err(error) => {
                if let Error::Internal(source) = &error {
                    tracing::error!(%request_id, operation = seen.operation, "{source:#}");
                }
                body::drain(&mut incoming).await;
                Reply::error(&error, &request_id)
            }
        };
        let reply = client.finish(reply, &method, seen.secret).await;
        let (status, took) = (reply.status, started.elapsed());
        seen.stats.answered(status, took);
        let latency_ms = took.as_micros() as f64 / 1000.0;
        let (operation, path, status) = (seen.operation, uri.path(), status.as_u16());
        if seen.probe {
            tracing::debug!(%request_id, %method, path, operation, status, latency_ms, "request");
        } else {
            tracing::info!(%request_id, %method, path, operation, status, latency_ms, "request");
        }
        reply.into_response(&request_id, method == Method::HEAD)
    }

    async fn serve<'r>(
        &'r self,
        mut parts: Parts,
        incoming: &mut Incoming,
        seen: &mut Seen<'r>,
        peer: SocketAddr,
        request_id: &RequestId,
        started: Instant,
    ) -> Result<Reply, Error> {
        let path = parts.uri.path();
        if parts.method == Method::OPTIONS
            && let Some(reply) =
                cors::preflight(&parts, &self.router.methods(path), &self.settings.cors_origins)
        {
            return Ok(reply);
        }
        let found = self.router.find(&parts.method, path).or_else(|unknown| {
            // The page at `/` knows the addresses below it.
            if is_navigation(&parts, &self.router) && self.router.methods(path).is_empty() {
                self.router.find(&Method::GET, "/")
            } else {
                Err(unknown)
            }
        });
        let found = found.map(|found| (&self.router.endpoints()[found.place], found));
        let is_dry_run =
            found.as_ref().is_ok_and(|(route, _)| route.dry_run && is_dry_run(parts.uri.query()));
        let needed = match &found {
            Ok((route, _)) if !is_dry_run => route.role,
            Ok(_) => Role::Viewer,
            Err(_) => Role::Anyone,
        };
        let caller = self.gate.identify(&parts, needed).await?;
        let (route, Found { place, parameters }) = found?;
        *seen = Seen {
            operation: route.id,
            stats: &self.operations[place],
            probe: route.probe,
            secret: route.secret,
        };
        with_host(&mut parts);
        let deadline = started + self.settings.request_timeout;
        let allowed = allow(&caller, needed, route);
        // Refused changes are recorded as well, without their body.
        let (body, memory) = match &allowed {
            Ok(()) => self.read_body(incoming, route.body_limit, &caller, peer, deadline).await?,
            Err(_) => (Bytes::new(), None),
        };
        let mut arrival = Arrival {
            caller,
            request_id: request_id.clone(),
            operation: route.id,
            peer,
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            parameters,
            body,
            started,
            deadline,
            attempt: None,
        };
        if !route.changes || is_dry_run {
            allowed?;
            let _memory = memory;
            let caller = Arc::clone(&arrival.caller);
            let answering = async { route.run(arrival).await };
            let reply = self.guarded(answering, route.id, deadline).await?;
            return Ok(reply.until(Arc::clone(&self.gate).ended(caller)));
        }
        let key = idempotency_key(&arrival.method, &arrival.headers)?;
        let attempt = Arc::new(arrival.to_attempt(key, route.secret));
        arrival.attempt = Some(Arc::clone(&attempt));
        if let Err(error) = allowed {
            // Rare, and large: boxed, so that it does not enlarge every request's future.
            Box::pin(self.gate.end(&attempt, Err(&error))).await;
            return Err(error);
        }
        self.change(route.clone(), arrival, attempt, memory, deadline).await
    }

    /// Runs in a task of its own, so that a client that disconnects does not interrupt a change.
    async fn change(
        &self,
        route: Endpoint,
        arrival: Arrival,
        attempt: Arc<Attempt>,
        memory: Option<HeldMemory>,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        let gate = Arc::clone(&self.gate);
        let operation = route.id;
        let timeout = self.settings.request_timeout;
        let work = self.changes.spawn(async move {
            let _memory = memory;
            match timeout_at(deadline, gate.begin(&attempt)).await {
                Ok(Ok(Begun::Go)) => {}
                Ok(Ok(Begun::Answered(reply))) => return Ok(reply),
                not_begun => {
                    let error = not_begun.map_or_else(
                        |_| deadline_exceeded(timeout),
                        |begun| match begun {
                            Err(error) => error,
                            Ok(_) => panicked(operation),
                        },
                    );
                    gate.end(&attempt, Err(&error)).await;
                    return Err(error);
                }
            }
            let running = async { route.run(arrival).await };
            let answering = AssertUnwindSafe(running).catch_unwind();
            let result = match timeout_at(deadline, answering).await {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(panicked(operation)),
                Err(_) => Err(deadline_exceeded(timeout)),
            };
            if result.is_err() || !attempt.is_recorded() {
                gate.end(&attempt, result.as_ref()).await;
            }
            result
        });
        work.await.unwrap_or_else(|_| Err(panicked(operation)))
    }

    /// Enforces the deadline and catches panics.
    async fn guarded(
        &self,
        answering: impl Future<Output = Result<Reply, Error>>,
        operation: &'static str,
        deadline: Instant,
    ) -> Result<Reply, Error> {
        let mut answering = pin!(AssertUnwindSafe(answering).catch_unwind());
        // Most handlers finish at the first poll: they need no timer.
        let answered = match poll_immediate(answering.as_mut()).await {
            Some(answered) => Ok(answered),
            None => timeout_at(deadline, answering).await,
        };
        match answered {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => Err(panicked(operation)),
            Err(_) => Err(deadline_exceeded(self.settings.request_timeout)),
        }
    }

    async fn read_body(
        &self,
        incoming: &mut Incoming,
        limit: BodyLimit,
        caller: &Caller,
        peer: SocketAddr,
        deadline: Instant,
    ) -> Result<(Bytes, Option<HeldMemory>), Error> {
        if hyper::body::Body::is_end_stream(incoming) {
            return Ok((Bytes::new(), None));
        }
        let limit_bytes = match limit {
            BodyLimit::Standard => self.settings.body_max_bytes,
            BodyLimit::Upload => self.settings.upload_max_bytes,
        };
        let mut memory = self.bodies.of(body_memory::Client::of(caller, peer));
        let reading = body::read(incoming, limit_bytes, &mut memory);
        let whole = timeout_at(deadline, reading).await;
        let whole = whole.unwrap_or_else(|_| Err(deadline_exceeded(self.settings.request_timeout)))?;
        Ok((whole, Some(memory)))
    }
}

/// The parts of a request that decide the form of its answer.
struct Client {
    origin: Option<http::HeaderValue>,
    /// Only `Accept-Encoding` and `If-None-Match`.
    asked: HeaderMap,
}

impl Client {
    fn of(headers: &HeaderMap, cors_origins: &[String]) -> Client {
        let mut asked = HeaderMap::new();
        for name in [ACCEPT_ENCODING, IF_NONE_MATCH] {
            for value in headers.get_all(&name) {
                asked.append(name.clone(), value.clone());
            }
        }
        Client { origin: cors::allowed_origin(headers, cors_origins).cloned(), asked }
    }

    async fn finish(self, reply: Reply, method: &Method, secret: bool) -> Reply {
        let reply = self.unless_known(reply, method);
        let reply = if secret { reply } else { compress::compress(reply, &self.asked).await };
        match self.origin {
            Some(origin) => cors::admit(reply, origin),
            None => reply,
        }
    }

    /// 304 when the client has this answer already.
    fn unless_known(&self, mut reply: Reply, method: &Method) -> Reply {
        let reads = method == Method::GET || method == Method::HEAD;
        let known = reply.etag().and_then(|etag| etag::known(&self.asked, etag));
        if reads
            && reply.status == StatusCode::OK
            && let Some(etag) = known
        {
            reply = reply.etagged(&etag);
            reply.status = StatusCode::NOT_MODIFIED;
            reply.headers.remove(http::header::CONTENT_TYPE);
            reply.content = super::Content::Whole(Bytes::new());
        }
        reply
    }
}

/// HTTP/2 names the host as `:authority`; handlers read `Host`.
fn with_host(parts: &mut Parts) {
    if !parts.headers.contains_key(HOST)
        && let Some(authority) = parts.uri.authority()
        && let Ok(host) = HeaderValue::from_str(authority.as_str())
    {
        parts.headers.insert(HOST, host);
    }
}

/// Whether a browser asks for a page, and not a program for an answer of the interface.
fn is_navigation(parts: &Parts, router: &Router) -> bool {
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let accepted = parts.headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let path = parts.uri.path();
    let first = path.split('/').nth(1).unwrap_or_default().to_ascii_lowercase();
    let is_name = first.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    let is_interface = router.endpoints().iter().any(|route| route.path.split('/').nth(1) == Some(&first));
    reads && accepted.contains("text/html") && is_name && !first.is_empty() && !is_interface
}

fn deadline_exceeded(timeout: Duration) -> Error {
    Error::timed_out("deadline_exceeded", format!("the request took longer than {timeout:?}"))
}

fn panicked(operation: &'static str) -> Error {
    Error::internal(anyhow::anyhow!("the handler of {operation} panicked"))
}

pub(super) fn allow(caller: &Caller, needed: Role, route: &Operation) -> Result<(), Error> {
    if !caller.scopes.is_empty() && needed != Role::Anyone {
        let scopes = caller.scopes.join(", ");
        return match route.scope {
            Some(scope) if caller.scopes.iter().any(|has| has == scope) => Ok(()),
            _ => {
                let message = format!("{} is limited to its scopes: {scopes}", caller.name);
                Err(Error::forbidden("insufficient_scope", message))
            }
        };
    }
    if caller.role < needed {
        let message = format!("the role {needed} is required; {} has {}", caller.name, caller.role);
        return Err(Error::forbidden("insufficient_role", message));
    }
    if route.unbound { caller.check_unbound("this operation") } else { Ok(()) }
}

/// Whether the query has a true `dryRun`, parsed as the handler will parse it.
fn is_dry_run(query: Option<&str>) -> bool {
    let mut given = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(name, _)| name == "dryRun")
        .map(|(_, value)| value);
    given.next().is_some_and(|value| value == "true" || value == "1") && given.next().is_none()
}

/// For POST only: other methods are idempotent already.
fn idempotency_key(method: &Method, headers: &HeaderMap) -> Result<Option<String>, Error> {
    let Some(value) = headers.get(&IDEMPOTENCY_KEY).filter(|_| method == Method::POST) else {
        return Ok(None);
    };
    let plain = |text: &&str| {
        !text.is_empty()
            && text.len() <= IDEMPOTENCY_KEY_MAX_CHARS
            && text.bytes().all(|byte| byte.is_ascii_graphic())
    };
    match value.to_str().ok().filter(plain) {
        Some(key) => Ok(Some(key.to_owned())),
        None => Err(Error::bad_request(
            "idempotency_key_invalid",
            format!("Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_MAX_CHARS} visible ASCII characters"),
        )),
    }
}
