//! Connections over real TCP: their limit, how they end, and TLS.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use lakeport_base::Error;
use lakeport_http::{
    Attempt, Bare, Begun, Call, Caller, Edge, EdgeSettings, Gate, Reply, Role, Route, Secure, Stats, Tls, run,
};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tokio_util::sync::CancellationToken;

/// The time limit of actions that should take no time.
const AT_ONCE: Duration = Duration::from_secs(10);
/// How long a test waits to see that nothing happens.
const NOTHING: Duration = Duration::from_millis(200);
const CONNECTIONS_MAX: usize = 8;
const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../http/tests/data/tls/first.pem");
const KEY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../http/tests/data/tls/first.key");

#[derive(Default)]
struct State {
    begun: Notify,
    go_on: Notify,
}

impl Gate for State {
    /// The caller's name tells whether it came over TLS.
    async fn identify(&self, parts: &Parts, _: Role) -> Result<Arc<Caller>, Error> {
        let name = if parts.extensions.get::<Secure>().is_some() { "over TLS" } else { "in the open" };
        Ok(Arc::new(Caller { name: name.to_owned(), ..Caller::local() }))
    }

    async fn ended(self: Arc<Self>, _: Arc<Caller>) {
        std::future::pending().await
    }

    async fn begin(&self, _: &Attempt) -> Result<Begun, Error> {
        Ok(Begun::Go)
    }

    async fn end(&self, _: &Attempt, _: Result<&Reply, &Error>) {}
}

async fn name(call: Call<State>) -> Result<Bare<String>, Error> {
    Ok(Bare::new(&call.caller.name))
}

async fn slow(call: Call<State>) -> Result<Bare<String>, Error> {
    call.state.begun.notify_one();
    call.state.go_on.notified().await;
    Ok(Bare::new(&"done".to_owned()))
}

struct Served {
    address: std::net::SocketAddr,
    state: Arc<State>,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Served {
    async fn start(tls: Option<Tls>) -> Served {
        let settings = EdgeSettings {
            request_timeout: Duration::from_secs(30),
            body_max_bytes: 1024,
            upload_max_bytes: 1024,
            drain: AT_ONCE,
            connections_max: CONNECTIONS_MAX,
            cors_origins: Vec::new(),
            tls,
        };
        let routes = vec![
            Route::new(Method::GET, "/name", Role::Anyone, "name", "Who asks", name),
            Route::new(Method::GET, "/slow", Role::Anyone, "slow", "Waits", slow),
        ];
        let state = Arc::new(State::default());
        let endpoints = routes.into_iter().map(|route| route.bind(&state)).collect();
        let edge = Edge::new(Arc::clone(&state), endpoints, settings, Stats::new(), CancellationToken::new());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let running = tokio::spawn(run(listener, Arc::new(edge.unwrap()), async {
            stopped.await.unwrap();
        }));
        Served { address, state, stop, running }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Connects as a client that trusts the certificate.
    async fn connect_tls(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(CERTIFICATE).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(
            tokio_rustls::rustls::crypto::ring::default_provider(),
        ))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect("localhost".try_into().unwrap(), self.connect().await).await.unwrap()
    }
}

/// One request on a keep-alive connection.
async fn ask(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    answer(stream).await
}

async fn answer(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut text = Vec::new();
    while !text.ends_with(b"\"") {
        let read = timeout(AT_ONCE, stream.read_buf(&mut text)).await.expect("an answer").unwrap();
        assert!(read > 0, "closed after {}", String::from_utf8_lossy(&text));
    }
    String::from_utf8(text).unwrap()
}

/// No further answer arrives.
async fn assert_closed(stream: &mut (impl AsyncRead + Unpin)) {
    let mut said = Vec::new();
    // A reset is an end as well.
    let _ = timeout(AT_ONCE, stream.read_to_end(&mut said)).await.expect("it is closed");
    assert!(!said.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&said));
}

#[tokio::test]
async fn a_connection_past_the_bound_waits_until_another_is_closed() {
    let served = Served::start(None).await;
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = served.connect().await;
        ask(&mut stream, "/name").await;
        open.push(stream);
    }
    let mut waiting = served.connect().await;
    assert!(timeout(NOTHING, ask(&mut waiting, "/name")).await.is_err(), "it has no place");
    open.pop();
    assert!(answer(&mut waiting).await.contains("in the open"));
}

#[tokio::test]
async fn stopping_closes_what_waits_and_lets_what_runs_end() {
    let served = Served::start(None).await;
    let mut silent = served.connect().await;
    let mut half = served.connect().await;
    half.write_all(b"GET /name HT").await.unwrap();
    let mut kept = served.connect().await;
    ask(&mut kept, "/name").await;
    // A client that does not answer when the server closes.
    let mut mute = served.connect().await;
    mute.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut busy = served.connect().await;
    busy.write_all(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    served.state.begun.notified().await;

    served.stop.send(()).unwrap();
    for stream in [&mut silent, &mut kept, &mut half, &mut mute] {
        assert_closed(stream).await;
    }
    assert!(!served.running.is_finished(), "a request still runs");
    served.state.go_on.notify_one();
    let last = answer(&mut busy).await;
    assert!(last.contains("done") && last.contains("connection: close"), "{last}");
    timeout(AT_ONCE, served.running).await.expect("all are gone").unwrap();
    assert!(TcpStream::connect(served.address).await.is_err(), "the port is closed");
}

#[tokio::test]
async fn tls_serves_both_http_versions() {
    let served = Served::start(Some(Tls::open(Path::new(CERTIFICATE), Path::new(KEY)).unwrap())).await;
    let mut stream = served.connect_tls(b"http/1.1").await;
    for _ in 0..3 {
        assert!(ask(&mut stream, "/name").await.contains("over TLS"));
    }
    let stream = served.connect_tls(b"h2").await;
    let (mut client, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for _ in 0..3 {
        let request = Request::get("https://localhost/name").body(Empty::<Bytes>::new()).unwrap();
        let response = client.send_request(request).await.unwrap();
        assert_eq!(response.version(), Version::HTTP_2);
        assert_eq!(response.collect().await.unwrap().to_bytes().as_ref(), b"\"over TLS\"");
    }
    let mut plain = served.connect().await;
    plain.write_all(b"GET /name HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert_closed(&mut plain).await;
}
