//! Requests against servers on loopback that record what they get.

use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use lakeport_bindings::host::web::{
    Body, CallRule as Call, Exchange, Expectation, Extraction, Injection, Param, Piece, Slot,
};
use lakeport_egress::Policy;
use parking_lot::Mutex;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

const TOKEN: &str = "tok-0123456789/+é";
const PASSWORD: &str = "pass\"word-very-secret";

/// A server that answers each request, recorded as its text, from a function; an empty answer hangs up.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let (kept, answer) = (Arc::clone(&requests), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Some(request) = read(&mut stream).await else { return };
                    let answer = answer(&request);
                    kept.lock().push(request);
                    if answer.is_empty() {
                        return;
                    }
                    if answer == SILENCE {
                        std::future::pending::<()>().await;
                    }
                    // A client that hangs up is part of some tests.
                    let _ = stream.write_all(&answer).await;
                    let _ = stream.shutdown().await;
                });
            }
        });
        Server { address, requests }
    }

    fn got(&self) -> Vec<String> {
        self.requests.lock().clone()
    }

    fn url(&self) -> String {
        format!("http://{}/base", self.address)
    }
}

/// Never answered.
const SILENCE: &[u8] = b"silence";

async fn read(stream: &mut tokio::net::TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let length = loop {
        bytes.push(stream.read_u8().await.ok()?);
        if bytes.ends_with(b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
            let length =
                head.lines().find_map(|line| line.strip_prefix("content-length: ").map(str::to_owned));
            break length.and_then(|length| length.trim().parse().ok()).unwrap_or(0);
        }
    };
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    bytes.extend(body);
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn with_headers(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n{headers}\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}

fn answer(status: u16, body: &str) -> Vec<u8> {
    with_headers(status, "", body.as_bytes())
}

fn text(text: &str) -> Vec<Piece> {
    vec![Piece::Text(text.to_owned())]
}

fn slot(source: &str, name: &str) -> Vec<Piece> {
    let (source, name, encoding) = (source.to_owned(), name.to_owned(), "plain".to_owned());
    vec![Piece::Slot(Slot { source, name, encoding })]
}

fn param(name: &str, value: Vec<Piece>) -> Param {
    Param { name: name.to_owned(), value }
}

fn request(method: &str, path: &str) -> Request {
    Request {
        address: "api".to_owned(),
        method: method.to_owned(),
        path: path.split('/').map(text).collect(),
        query: Vec::new(),
        headers: Vec::new(),
        body: Body::Empty,
        auth: AuthUse::Chosen,
        timeout_ms: None,
        max_response_bytes: None,
        extra: None,
    }
}

fn addresses() -> Vec<AddressSlot> {
    let rule = |call: &str, effect: &str, mask: &[&str]| Call {
        call: call.to_owned(),
        effect: effect.to_owned(),
        mask: mask.iter().map(|&pointer| pointer.to_owned()).collect(),
    };
    vec![AddressSlot {
        name: "api".to_owned(),
        config_at: "/url".to_owned(),
        calls: vec![
            rule("GET masked", "reads", &["/data/*/password"]),
            rule("GET things/**", "reads", &[]),
            rule("POST things/**", "changes", &[]),
            rule("POST log-in", "changes", &[]),
        ],
        description: String::new(),
    }]
}

/// A log-in with a form, that gives a session; and a token that is used as it is.
fn recipes() -> Vec<AuthRecipe> {
    let log_in = Request {
        body: Body::Form(vec![
            param("user", slot("config", "/user")),
            param("password", slot("secret", "password")),
        ]),
        auth: AuthUse::Anonymous,
        ..request("POST", "log-in")
    };
    let exchange = Exchange {
        request: log_in,
        statuses: Vec::new(),
        expect: vec![Expectation { at: "/code".to_owned(), equals: "0".to_owned() }],
        tokens: vec![Extraction {
            token: "session".to_owned(),
            source: "json".to_owned(),
            at: "/data/session".to_owned(),
        }],
        lifetime_at: None,
        lifetime_s: 0,
    };
    let inject =
        |place: &str, name: &str, value| Injection { place: place.to_owned(), name: name.to_owned(), value };
    let recipe = |name: &str, secret: &str, log_in: Vec<Exchange>, inject: Injection| AuthRecipe {
        name: name.to_owned(),
        title: String::new(),
        secrets: vec![secret.to_owned()],
        addresses: vec!["api".to_owned()],
        log_in,
        inject: vec![inject],
        rejected_statuses: vec![401],
        rejected_when: Vec::new(),
    };
    vec![
        recipe("token", "token", Vec::new(), inject("header", "token", slot("secret", "token"))),
        recipe("session", "password", vec![exchange], inject("header", "session", slot("token", "session"))),
    ]
}

struct Subject {
    http: InstanceHttp,
    counters: RequestCounters,
    bounds: CallBounds,
}

impl Subject {
    fn new(url: &str, allow: &str, recipe: Option<&str>) -> Subject {
        let allow: Vec<String> = allow.split(' ').filter(|one| !one.is_empty()).map(str::to_owned).collect();
        let client = HttpClient::new(Policy::parse(&allow).unwrap(), None).unwrap();
        let secrets = [("token", TOKEN), ("password", PASSWORD)]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let granted = Granted {
            addresses: &addresses(),
            recipes: &recipes(),
            recipe,
            settings: json!({"url": url, "user": "me"}),
            secrets: Secrets::new(secrets),
        };
        assert_eq!(description_problems(&addresses(), &secret_specs(), &recipes()), []);
        let bounds =
            CallBounds { deadline: Instant::now() + Duration::from_secs(60), cancelled: Arc::default() };
        Subject { http: InstanceHttp::new(client, granted), counters: RequestCounters::default(), bounds }
    }

    fn of(server: &Server, recipe: Option<&str>) -> Subject {
        Subject::new(&server.url(), "127.0.0.1", recipe)
    }

    async fn send(&self, request: Request) -> Result<Response, Error> {
        self.http.send(&self.bounds, &self.counters, &request).await
    }

    async fn code(&self, request: Request) -> String {
        self.send(request).await.expect_err("it is refused").code
    }
}

fn secret_specs() -> Vec<lakeport_bindings::host::web::SecretSpec> {
    let spec = |name: &str| lakeport_bindings::host::web::SecretSpec {
        name: name.to_owned(),
        title: String::new(),
        description: String::new(),
    };
    vec![spec("token"), spec("password")]
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_described() {
    let server = Server::start(|_| answer(200, "{}")).await;
    let subject = Subject::of(&server, Some("token"));
    let sent = Request {
        query: vec![param("a b", text("c&d=ü")), param("e", text(""))],
        headers: vec![param("x-own", text("1"))],
        body: Body::Form(vec![param("f", text("g h&i\r\nj"))]),
        ..request("POST", "things/a%2Fb c")
    };
    assert_eq!(subject.send(sent).await.unwrap().status, 200);
    let got = &server.got()[0];
    assert!(got.starts_with("POST /base/things/a%252Fb%20c?a%20b=c%26d%3D%C3%BC&e= HTTP/1.1\r\n"), "{got}");
    assert!(got.contains("\r\nx-own: 1\r\n") && got.ends_with("\r\n\r\nf=g%20h%26i%0D%0Aj"), "{got}");
    assert!(got.contains(&format!("\r\ntoken: {TOKEN}\r\n")), "{got}");
    assert!(got.contains("content-type: application/x-www-form-urlencoded"), "{got}");
    assert_eq!(subject.counters.numbers(), (1, 0));
}

#[tokio::test]
async fn only_described_calls_are_sent() {
    let server = Server::start(|_| answer(200, "{}")).await;
    let subject = Subject::of(&server, None);
    for refused in [
        request("DELETE", "things/1"),
        request("GET", "other"),
        request("GET", "masked/more"),
        // Only a log-in makes it, though a rule fits.
        request("POST", "log-in"),
        Request { address: "elsewhere".to_owned(), ..request("GET", "things") },
        Request { query: vec![param("t", slot("secret", "token"))], ..request("GET", "things") },
    ] {
        assert_eq!(subject.code(refused).await, "not_granted");
    }
    for wrong in [
        request("FETCH", "things"),
        request("GET", "things/.."),
        request("GET", "things/./1"),
        request("GET", "things//1"),
        Request { query: vec![param("t", slot("token", "session"))], ..request("GET", "things") },
    ] {
        assert_eq!(subject.code(wrong).await, "invalid_input");
    }
    let unknown = Request { extra: Some("{}".to_owned()), ..request("GET", "things") };
    assert_eq!(subject.code(unknown).await, "unsupported");
    assert!(server.got().is_empty());
    assert_eq!(subject.counters.numbers(), (0, 12));
}

#[tokio::test]
async fn headers_cannot_smuggle() {
    let server = Server::start(|_| answer(200, "{}")).await;
    let subject = Subject::of(&server, Some("token"));
    for (name, value) in [
        ("Host", "elsewhere"),
        ("content-length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("connection", "upgrade"),
        ("Proxy-Authorization", "x"),
        ("expect", "100-continue"),
        // Of the recipe in use.
        ("TOKEN", "mine"),
        ("x-a", "b\r\nx-c: d"),
        ("x-a", "b\nc"),
        ("x-a", "b\0c"),
        ("x a", "b"),
        ("x-a\r\nx-b", "c"),
        ("", "b"),
    ] {
        let sent = Request { headers: vec![param(name, text(value))], ..request("GET", "things") };
        assert_eq!(subject.code(sent).await, "invalid_input", "{name:?}: {value:?}");
    }
    let many = Request { headers: vec![param("x-a", text("b")); 65], ..request("GET", "things") };
    assert_eq!(subject.code(many).await, "limit_exceeded");
    let long = Request { headers: vec![param("x-a", text(&"b".repeat(17_000)))], ..request("GET", "things") };
    assert_eq!(subject.code(long).await, "limit_exceeded");
    assert!(server.got().is_empty());
}

#[tokio::test]
async fn only_the_configured_address_is_reached() {
    let server = Server::start(|_| answer(200, "{}")).await;
    let port = server.address.port();
    // Loopback is not written down; names and IPv4 in IPv6 lead there, too.
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "[::1]", "2130706433", "0.0.0.0"] {
        let subject = Subject::new(&format!("http://{host}:{port}/base"), "", None);
        let refused = subject.send(request("GET", "things")).await.unwrap_err();
        assert_eq!((refused.code.as_str(), refused.may_have_applied), ("not_granted", false), "{host}");
        assert!(refused.message.contains("egress_allow"), "{}", refused.message);
    }
    // A name that the operator has not written down leads to an address that is: fine. Another port is not.
    let subject = Subject::new(&server.url(), &format!("127.0.0.1:{}", port ^ 1), None);
    assert_eq!(subject.code(request("GET", "things")).await, "not_granted");
    for url in ["", "ftp://127.0.0.1/", "http://me:pw@127.0.0.1/"] {
        let subject = Subject::new(url, "127.0.0.1", None);
        let refused = subject.send(request("GET", "things")).await.unwrap_err();
        assert_eq!(refused.code, "not_granted", "{url}");
        assert!(!refused.message.contains("pw"), "{}", refused.message);
    }
    assert!(server.got().is_empty());
}

#[tokio::test]
async fn redirects_are_answers() {
    let other = Server::start(|_| answer(200, "{}")).await;
    let to = other.url();
    let server = Server::start(move |_| with_headers(302, &format!("Location: {to}\r\n"), b"")).await;
    let response = Subject::of(&server, Some("token")).send(request("GET", "things")).await.unwrap();
    assert_eq!(response.status, 302);
    assert!(other.got().is_empty());
}

#[tokio::test]
async fn secrets_and_masked_members_stay_hidden() {
    let echo =
        json!({"data": [{"password": "pw", "n": 1}, {"password": 2}], "said": format!("{TOKEN} {PASSWORD}")});
    let server = Server::start(move |request| {
        if request.contains("/masked") {
            return with_headers(
                200,
                &format!("X-Said: {PASSWORD}\r\nSet-Cookie: a=b\r\n"),
                echo.to_string().as_bytes(),
            );
        }
        if request.contains("/empty") {
            return answer(401, "");
        }
        answer(200, "<html>")
    })
    .await;
    let subject = Subject::of(&server, Some("token"));
    let response = subject.send(request("GET", "masked")).await.unwrap();
    let body = String::from_utf8(response.body).unwrap();
    assert_eq!(body, r#"{"data":[{"password":null,"n":1},{"password":null}],"said":"*** ***"}"#);
    assert!(response.headers.contains(&("x-said".to_owned(), "***".to_owned())), "{:?}", response.headers);
    assert!(!response.headers.iter().any(|(name, _)| name == "set-cookie"));
    let html = Server::start(|_| answer(200, "<html>")).await;
    let refused = Subject::of(&html, None).send(request("GET", "masked")).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.may_have_applied), ("bad_answer", false));
    let empty = Server::start(|_| answer(401, "")).await;
    assert_eq!(Subject::of(&empty, None).send(request("GET", "masked")).await.unwrap().status, 401);
}

#[tokio::test]
async fn a_log_in_is_made_once_and_renewed_once() {
    let sessions = Arc::new(Mutex::new(0));
    let server = Server::start(move |request| {
        let mut sessions = sessions.lock();
        if request.starts_with("POST /base/log-in ") {
            *sessions += 1;
            return answer(
                200,
                &json!({"code": 0, "data": {"session": format!("session-{sessions}")}}).to_string(),
            );
        }
        // The first session has ended.
        let is_fine = request.contains("\r\nsession: session-2\r\n");
        if is_fine { answer(200, r#"{"s":"session-2"}"#) } else { answer(401, "") }
    })
    .await;
    let subject = Subject::of(&server, Some("session"));
    let sends = (0..6).map(|_| subject.send(request("GET", "things")));
    for response in futures_util::future::join_all(sends).await {
        let response = response.unwrap();
        assert_eq!((response.status, response.body), (200, br#"{"s":"***"}"#.to_vec()));
    }
    let log_ins: Vec<String> = server.got().into_iter().filter(|got| got.contains("/log-in")).collect();
    assert_eq!(log_ins.len(), 2, "{log_ins:?}");
    assert!(log_ins[0].ends_with("user=me&password=pass%22word-very-secret"), "{}", log_ins[0]);
}

#[tokio::test]
async fn a_refused_log_in_is_slowed_down() {
    let server = Server::start(|_| {
        answer(200, &format!(r#"{{"code":10013,"msg":"no {PASSWORD}"}}"#).replace("\"word", "\\\"word"))
    })
    .await;
    let subject = Subject::of(&server, Some("session"));
    for _ in 0..6 {
        let refused = subject.send(request("POST", "things")).await.unwrap_err();
        assert_eq!((refused.code.as_str(), refused.may_have_applied), ("unauthorized", false));
        let said = refused.upstream.unwrap().message;
        assert!(said.contains("10013") && !said.contains("very-secret"), "{said}");
    }
    assert_eq!(server.got().len(), 3, "then it waits");
    assert!(subject.send(request("GET", "things")).await.unwrap_err().retry_after_ms.is_some());
}

#[tokio::test]
async fn a_lost_answer_to_a_change_may_have_applied() {
    let server = Server::start(|_| Vec::new()).await;
    let subject = Subject::of(&server, None);
    for (method, may_have_applied) in [("GET", false), ("POST", true)] {
        let lost = subject.send(request(method, "things")).await.unwrap_err();
        assert_eq!((lost.code.as_str(), lost.may_have_applied), ("upstream_failed", may_have_applied));
        assert!(lost.retryable);
    }
    assert_eq!(server.got().len(), 2, "nothing is repeated");
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let subject = Subject::new(&format!("http://{closed}"), "127.0.0.1", None);
    let unreachable = subject.send(request("POST", "things")).await.unwrap_err();
    assert_eq!((unreachable.code.as_str(), unreachable.may_have_applied), ("unreachable", false));
}

#[tokio::test]
async fn waiting_ends_in_time() {
    let server = Server::start(|_| SILENCE.to_vec()).await;
    let mut subject = Subject::of(&server, None);
    let short = Request { timeout_ms: Some(50), ..request("POST", "things") };
    let late = subject.send(short).await.unwrap_err();
    assert_eq!((late.code.as_str(), late.may_have_applied), ("timeout", true));
    let flag = Arc::clone(&subject.bounds.cancelled);
    let (cancelled, ()) = tokio::join!(subject.send(request("POST", "things")), async {
        while server.got().len() < 2 {
            tokio::task::yield_now().await;
        }
        flag.store(true, Ordering::Relaxed);
    });
    let cancelled = cancelled.unwrap_err();
    assert_eq!((cancelled.code.as_str(), cancelled.may_have_applied), ("cancelled", true));
    subject.bounds = CallBounds { deadline: Instant::now(), cancelled: Arc::default() };
    let over = subject.send(request("POST", "things")).await.unwrap_err();
    assert_eq!((over.code.as_str(), over.may_have_applied), ("timeout", false));
    assert_eq!(server.got().len(), 2);
}

#[tokio::test]
async fn answers_are_bounded_also_packed() {
    let packed = |bytes: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    };
    let (bomb, small) = (packed(&vec![b'x'; 64 * 1024 * 1024]), packed(br#"{"a":1}"#));
    let server = Server::start(move |request| {
        let gzip = "Content-Encoding: gzip\r\n";
        match request {
            _ if request.contains("/bomb ") => with_headers(200, gzip, &bomb),
            _ if request.contains("/small ") => with_headers(200, gzip, &small),
            _ if request.contains("/broken ") => with_headers(200, gzip, b"no gzip"),
            _ if request.contains("/other ") => with_headers(200, "Content-Encoding: br\r\n", b"x"),
            _ => answer(200, &"x".repeat(2_000)),
        }
    })
    .await;
    let subject = Subject::of(&server, None);
    assert_eq!(subject.send(request("GET", "things/small")).await.unwrap().body, br#"{"a":1}"#);
    assert_eq!(subject.code(request("GET", "things/bomb")).await, "limit_exceeded");
    assert_eq!(subject.code(request("GET", "things/broken")).await, "bad_answer");
    assert_eq!(subject.code(request("GET", "things/other")).await, "bad_answer");
    let little = Request { max_response_bytes: Some(1_999), ..request("POST", "things/plain") };
    let refused = subject.send(little).await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.may_have_applied), ("limit_exceeded", true));
}

#[test]
fn a_description_names_what_does_not_fit() {
    let mut recipes = recipes();
    recipes[0].secrets.clear();
    recipes[1].log_in[0].request.address = "elsewhere".to_owned();
    recipes[1].rejected_when = vec![Expectation { at: "/a".to_owned(), equals: "no json".to_owned() }];
    let mut addresses = addresses();
    addresses[0].calls[0].effect = "deletes".to_owned();
    addresses.push(AddressSlot { config_at: "url".to_owned(), ..addresses[0].clone() });
    let found = description_problems(&addresses, &secret_specs()[..1], &recipes);
    let members: Vec<&str> = found.iter().map(|(member, _)| member.as_str()).collect();
    assert_eq!(
        members,
        [
            "addresses",
            "addresses[0].calls",
            "addresses[1].configAt",
            "addresses[1].calls",
            "auth[0]",
            "auth[1]",
            "auth[1]",
            "auth[1]"
        ],
        "{found:?}"
    );
}
