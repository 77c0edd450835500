//! Tests against loopback servers with fixed answers.

use std::net::SocketAddr;
use std::path::PathBuf;

use rustls_pki_types::PrivateKeyDer;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;

use super::*;

const GOOD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{\"seen\": 1}";

fn client(allow: &[String], ca_file: Option<&str>) -> HttpClient {
    HttpClient::new(Policy::parse(allow).unwrap(), ca_file.map(data).as_deref()).unwrap()
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../http/tests/data/tls").join(name)
}

async fn read_head(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> std::io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(())
}

async fn answer(
    mut stream: impl tokio::io::AsyncRead + AsyncWrite + Unpin,
    text: &str,
) -> std::io::Result<()> {
    read_head(&mut stream).await?;
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

/// Answers every request with this text.
async fn server(text: String) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // Some tests are about a client that hangs up.
            let _ = answer(stream, &text).await;
        }
    });
    address
}

async fn tls_server() -> SocketAddr {
    let chain: Vec<_> =
        CertificateDer::pem_file_iter(data("localhost.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(data("localhost-key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                // Some tests are about a client that hangs up.
                let _ = answer(stream, GOOD).await;
            }
        }
    });
    address
}

async fn get(client: &HttpClient, url: &str, limits: Limits) -> Result<Value, Error> {
    client.get_json(url, limits).await
}

async fn code(client: &HttpClient, url: &str) -> &'static str {
    get(client, url, Limits::default()).await.unwrap_err().code()
}

#[tokio::test]
async fn an_address_that_is_written_down_is_asked() {
    let address = server(GOOD.to_owned()).await;
    let client = client(&[address.to_string()], None);
    let value = get(&client, &format!("http://{address}/x"), Limits::default()).await.unwrap();
    assert_eq!(value["seen"], 1);
}

#[tokio::test]
async fn loopback_is_refused_by_address_by_name_and_in_disguise() {
    let address = server(GOOD.to_owned()).await;
    let port = address.port();
    let client = client(&[], None);
    for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "[::1]", "[::ffff:127.0.0.1]"] {
        let error = get(&client, &format!("http://{host}:{port}/"), Limits::default()).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (403, "egress_refused"), "{host}: {error}");
        assert!(error.to_string().contains("egress_allow"), "{error}");
    }
    let wider = client.and(Rule::exactly("127.0.0.1", port).unwrap());
    get(&wider, &format!("http://{address}/"), Limits::default()).await.unwrap();
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let target = server(GOOD.to_owned()).await;
    let text = format!("HTTP/1.1 302 Found\r\nLocation: http://{target}/\r\nContent-Length: 0\r\n\r\n");
    let address = server(text).await;
    let client = client(&["127.0.0.1".to_owned()], None);
    let error = get(&client, &format!("http://{address}/"), Limits::default()).await.unwrap_err();
    assert!(error.code() == "invalid_response" && error.to_string().contains("redirects"), "{error}");
}

#[tokio::test]
async fn answers_are_bounded_with_or_without_length() {
    let body = format!("\"{}\"", "x".repeat(100));
    let told = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let untold = format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{body}");
    for text in [told, untold] {
        let address = server(text).await;
        let client = client(&["127.0.0.1".to_owned()], None);
        let url = format!("http://{address}/");
        let limits = Limits { answer_max_bytes: 50, ..Limits::default() };
        let error = get(&client, &url, limits).await.unwrap_err();
        assert!(error.code() == "invalid_response" && error.to_string().contains("50 bytes"), "{error}");
        get(&client, &url, Limits { answer_max_bytes: 102, ..limits }).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let client = client(&["127.0.0.1".to_owned()], None);
    let limits = Limits { total: Duration::from_millis(50), ..Limits::default() };
    let error = get(&client, &format!("http://{address}/"), limits).await.unwrap_err();
    assert_eq!((error.status(), error.code()), (504, "connect_timeout"));
}

#[tokio::test]
async fn what_is_no_answer_is_said_so() {
    let client = client(&["127.0.0.1".to_owned()], None);
    for text in [
        "HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 204 No\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<a>",
    ] {
        let address = server(text.to_owned()).await;
        assert_eq!(code(&client, &format!("http://{address}/")).await, "invalid_response", "{text}");
    }
    for text in ["", "nonsense\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\nshort"] {
        let address = server(text.to_owned()).await;
        assert_eq!(code(&client, &format!("http://{address}/")).await, "unreachable", "{text}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_eq!(code(&client, &format!("http://{closed}/")).await, "unreachable");
}

#[tokio::test]
async fn an_invalid_address_is_refused_without_password() {
    let client = client(&[], None);
    for url in ["", "x", "ftp://h/", "http://user:geheim@h/", "http:///", "/path"] {
        let error = get(&client, url, Limits::default()).await.unwrap_err();
        assert!(error.code() == "invalid_url" && !error.to_string().contains("geheim"), "{url}: {error}");
    }
}

#[tokio::test]
async fn a_custom_ca_must_be_configured() {
    let port = tls_server().await.port();
    let allow = [format!("localhost:{port}")];
    let url = format!("https://localhost:{port}/");
    get(&client(&allow, Some("authority.pem")), &url, Limits::default()).await.unwrap();
    assert_eq!(code(&client(&allow, None), &url).await, "unreachable");
}

#[test]
fn a_file_without_certificates_is_refused_by_its_name() {
    let open = |name: &str| HttpClient::new(Policy::default(), Some(&data(name)));
    for name in ["localhost-key.pem", "nowhere.pem"] {
        let message = format!("{:#}", open(name).err().unwrap());
        assert!(message.contains("egress_ca_file") && message.contains(name), "{message}");
    }
}

#[tokio::test]
async fn a_name_that_turns_elsewhere_is_judged_again() {
    let address = server(GOOD.to_owned()).await;
    let answers = Arc::new(std::sync::Mutex::new(vec!["169.254.169.254", "10.0.0.1", "127.0.0.1"]));
    let left = Arc::clone(&answers);
    // Each look-up has another answer, as if the name's owner wanted to get past a judgement.
    let resolver = move |_: &str, port| {
        let next = left.lock().unwrap().pop().expect("one look-up for each connection");
        Ok(vec![SocketAddr::new(next.parse().unwrap(), port)])
    };
    let allow = [format!("127.0.0.1:{}", address.port())];
    let policy = Policy { resolver: Arc::new(resolver), ..Policy::parse(&allow).unwrap() };
    let client = HttpClient::new(policy.clone(), None).unwrap();
    let url = format!("http://rebind.example:{}/", address.port());
    let seen: Value = client.get_json(&url, Limits::default()).await.unwrap();
    assert_eq!(seen["seen"], 1);
    assert_eq!(answers.lock().unwrap().len(), 2);
    // A private address is no loopback one, and none of the metadata service.
    assert_eq!(policy.resolve("rebind.example", 80).await.unwrap()[0].ip().to_string(), "10.0.0.1");
    let error = client.get_json::<Value>(&url, Limits::default()).await.unwrap_err();
    assert_eq!(error.code(), "egress_refused", "{error}");
    assert!(answers.lock().unwrap().is_empty());
}
