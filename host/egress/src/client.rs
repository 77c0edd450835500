//! An HTTP client under the egress policy. Each connection goes to a judged address. Redirects are not
//! followed and the environment's proxies not used, since both would bypass the policy.

use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use anyhow::Context as _;
use bytes::{Bytes, BytesMut};
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, Error as ClientError};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lakeport_base::Error;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde::de::DeserializeOwned;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tower_service::Service;

use super::{Policy, Rule, host_and_port};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long to wait for one of several addresses of a host.
const CONNECT_ONE_TIMEOUT: Duration = Duration::from_secs(2);
/// Idle connections are closed after this time, before usual servers close them, which would lose a request; at most so
/// many are kept per host.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const IDLE_MAX: usize = 4;
/// What requests say of their sender.
pub const AGENT: &str = concat!("lakeport/", env!("CARGO_PKG_VERSION"));

/// Limits of one request.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// From resolving the name to the last byte of the answer.
    pub total: Duration,
    pub answer_max_bytes: usize,
}

/// Why a request gave no answer.
#[derive(Debug)]
pub enum SendError {
    /// Nothing was sent: the address is not permitted, or not reachable. [`HttpClient::get_json`] has the codes.
    NotSent(Error),
    /// It may have been received; the connection ended before the answer. For people.
    Lost(String),
    /// The time was over.
    TimedOut,
    /// The answer has more bytes than the limit.
    TooLong,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { total: Duration::from_secs(10), answer_max_bytes: 1024 * 1024 }
    }
}

/// The body of an answer.
pub struct AnswerBody {
    body: Limited<Incoming>,
    deadline: Instant,
}

impl AnswerBody {
    /// The next part; `None`: that was all.
    pub async fn next(&mut self) -> Result<Option<Bytes>, SendError> {
        loop {
            let frame =
                timeout_at(self.deadline, self.body.frame()).await.map_err(|_| SendError::TimedOut)?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    // Trailers are not read.
                    if let Ok(part) = frame.into_data() {
                        return Ok(Some(part));
                    }
                }
                Some(Err(error)) if error.is::<LengthLimitError>() => return Err(SendError::TooLong),
                Some(Err(_)) => {
                    return Err(SendError::Lost("the connection was closed during the answer".to_owned()));
                }
            }
        }
    }
}

/// Clones share its connections.
#[derive(Clone)]
pub struct HttpClient {
    policy: Policy,
    tls: ClientConfig,
    client: Client<HttpsConnector<Judged>, Full<Bytes>>,
}

impl HttpClient {
    /// Trusts the system's authorities and those of the PEM file, if there is one.
    pub fn new(policy: Policy, ca_file: Option<&Path>) -> anyhow::Result<HttpClient> {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        if let Some(path) = ca_file {
            add_authorities(&mut roots, path)
                .with_context(|| format!("egress_ca_file: {} cannot be used", path.display()))?;
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(HttpClient::with(policy, tls))
    }

    /// A copy that may also connect to this rule's hosts.
    #[must_use]
    pub fn and(&self, rule: Rule) -> HttpClient {
        HttpClient::with(self.policy.and(rule), self.tls.clone())
    }

    /// Sends a request as it is, once, and returns the whole answer, whatever its status. Redirects are answers. A
    /// request that no connection has taken is sent by another one.
    pub async fn send(
        &self,
        request: Request<Bytes>,
        limits: Limits,
    ) -> Result<http::Response<Bytes>, SendError> {
        let (head, mut body) = self.open(request, limits).await?.into_parts();
        let mut whole = BytesMut::new();
        while let Some(part) = body.next().await? {
            whole.extend_from_slice(&part);
        }
        Ok(http::Response::from_parts(head, whole.freeze()))
    }

    /// Sends a request like [`Self::send`]; the answer's body is read part by part, within the same limits.
    pub async fn open(
        &self,
        request: Request<Bytes>,
        limits: Limits,
    ) -> Result<http::Response<AnswerBody>, SendError> {
        let (shown, deadline) = (shown(request.uri()), Instant::now() + limits.total);
        let response = timeout_at(deadline, self.client.request(request.map(Full::new)));
        let response = response.await.map_err(|_| SendError::TimedOut)?.map_err(|error| {
            if error.is_connect() {
                SendError::NotSent(unreachable(&shown, &error))
            } else {
                SendError::Lost(deepest(&error))
            }
        })?;
        Ok(response.map(|body| AnswerBody { body: Limited::new(body, limits.answer_max_bytes), deadline }))
    }

    /// Gets JSON from an `http` or `https` address. 403 `egress_refused`, 502 `unreachable` or
    /// `invalid_response`, 504 `connect_timeout`.
    pub async fn get_json<T: DeserializeOwned>(&self, url: &str, limits: Limits) -> Result<T, Error> {
        let uri = parse(url)?;
        let shown = shown(&uri);
        let answer = self.get(uri, limits).await?;
        serde_json::from_slice(&answer)
            .map_err(|error| bad_answer(&shown, format!("sent an unexpected answer: {error}")))
    }

    /// Posts JSON; an answer from 200 to 299 accepts it. The errors are those of [`Self::get_json`]; they show the host of
    /// the address alone, since the rest may be a secret.
    pub async fn post_json(&self, url: &str, body: Bytes, limits: Limits) -> Result<(), Error> {
        let uri = parse(url)?;
        let shown = uri.host().unwrap_or_default().to_owned();
        let request = Request::post(uri)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, AGENT)
            .body(Full::new(body))
            .map_err(Error::internal)?;
        let answer = async {
            let response = self.client.request(request).await.map_err(|error| unreachable(&shown, &error))?;
            let status = response.status();
            // Read, so that the connection can be used again.
            let _ = Limited::new(response.into_body(), limits.answer_max_bytes).collect().await;
            if status.is_success() { Ok(()) } else { Err(bad_answer(&shown, format!("answered {status}"))) }
        };
        timeout(limits.total, answer).await.map_err(|_| {
            let message = format!("{shown} did not answer within {} s", limits.total.as_secs());
            Error::timed_out("connect_timeout", message)
        })?
    }

    async fn get(&self, uri: Uri, limits: Limits) -> Result<Bytes, Error> {
        let shown = shown(&uri);
        let request = Request::get(uri)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, AGENT)
            .body(Bytes::new())
            .map_err(Error::internal)?;
        let response = self.send(request, limits).await.map_err(|error| match error {
            SendError::NotSent(error) => error,
            SendError::Lost(why) => Error::bad_gateway("unreachable", format!("{shown}: {why}")),
            SendError::TimedOut => {
                let message = format!("{shown} did not answer within {} s", limits.total.as_secs());
                Error::timed_out("connect_timeout", message)
            }
            SendError::TooLong => {
                bad_answer(&shown, format!("answered more than {} bytes", limits.answer_max_bytes))
            }
        })?;
        let status = response.status();
        if status.is_redirection() {
            return Err(bad_answer(&shown, format!("answered {status}; redirects are not followed")));
        }
        if status != StatusCode::OK {
            return Err(bad_answer(&shown, format!("answered {status}")));
        }
        Ok(response.into_body())
    }

    fn with(policy: Policy, tls: ClientConfig) -> HttpClient {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(Judged(policy.clone()));
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(IDLE_MAX)
            .build(connector);
        HttpClient { policy, tls, client }
    }
}

/// Connects to addresses that the policy permits.
#[derive(Clone)]
struct Judged(Policy);

type Connecting = Pin<Box<dyn Future<Output = Result<TokioIo<TcpStream>, Error>> + Send>>;

impl Service<Uri> for Judged {
    type Response = TokioIo<TcpStream>;
    type Error = Error;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Connecting {
        let policy = self.0.clone();
        Box::pin(async move {
            let (host, port) = host_and_port(&uri).ok_or_else(not_http)?;
            let addresses = policy.resolve(host, port).await?;
            let stream = timeout(CONNECT_TIMEOUT, connect(&addresses))
                .await
                .unwrap_or_else(|_| Err(std::io::Error::from(std::io::ErrorKind::TimedOut)));
            stream.map(TokioIo::new).map_err(|error| {
                Error::bad_gateway("unreachable", format!("cannot connect to {}: {error}", shown(&uri)))
            })
        })
    }
}

async fn connect(addresses: &[SocketAddr]) -> std::io::Result<TcpStream> {
    let mut last = std::io::Error::from(std::io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        let wait = if addresses.len() > 1 { CONNECT_ONE_TIMEOUT } else { CONNECT_TIMEOUT };
        match timeout(wait, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = error,
            Err(_) => last = std::io::Error::from(std::io::ErrorKind::TimedOut),
        }
    }
    Err(last)
}

fn add_authorities(roots: &mut RootCertStore, path: &Path) -> anyhow::Result<()> {
    let mut count = 0;
    for certificate in CertificateDer::pem_file_iter(path)? {
        roots.add(certificate?)?;
        count += 1;
    }
    anyhow::ensure!(count > 0, "it has no certificate");
    Ok(())
}

/// Refuses an account in the address, which would end up in logs.
fn parse(url: &str) -> Result<Uri, Error> {
    let uri: Uri = url.parse().map_err(|_| not_http())?;
    let account = uri.authority().is_some_and(|authority| authority.as_str().contains('@'));
    if account || host_and_port(&uri).is_none() { Err(not_http()) } else { Ok(uri) }
}

/// The address without its query, which may hold secrets.
fn shown(uri: &Uri) -> String {
    let (scheme, authority) = (uri.scheme_str().unwrap_or_default(), uri.authority());
    format!("{scheme}://{}{}", authority.map(|authority| authority.as_str()).unwrap_or_default(), uri.path())
}

/// Passes on the policy's or the connector's own message.
fn unreachable(shown: &str, error: &ClientError) -> Error {
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        if let Some(Error::Refused(refusal)) = error.downcast_ref::<Error>() {
            return Error::Refused(refusal.clone());
        }
        source = error.source();
    }
    Error::bad_gateway("unreachable", format!("cannot reach {shown}: {}", deepest(error)))
}

/// The first cause, for people.
fn deepest(error: &ClientError) -> String {
    let mut error: &dyn std::error::Error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}

fn bad_answer(shown: &str, why: String) -> Error {
    Error::bad_gateway("invalid_response", format!("{shown} {why}"))
}

/// Does not repeat the address: it may hold a password.
fn not_http() -> Error {
    Error::bad_request("invalid_url", "the address must be like https://host/path, without an account in it")
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
