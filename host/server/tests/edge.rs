//! The edge over real TCP: the behaviour common to all routes.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use http::request::Parts;
use http::{Method, Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lakeport_base::Error;
use lakeport_http::events::{Event, EventData, EventStream};
use lakeport_http::{
    Attempt, Bare, Begun, Caller, Data, Edge, EdgeSettings, Gate, Json, Nothing, Raw, Reply, Role, Route,
    Stats, check_local, etag_of, run,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

const BODY_MAX_BYTES: usize = 1024;
const UPLOAD_MAX_BYTES: usize = 4096;
const DEADLINE: Duration = Duration::from_millis(300);

type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<State, P, Q, B>;

const ORIGIN: &str = "https://console.example";

#[derive(Default)]
struct State {
    begun: Notify,
    go_on: Notify,
    ended: Notify,
    dropped: AtomicBool,
    /// Ended changes with their statuses.
    ends: parking_lot::Mutex<Vec<(String, u16)>>,
    stopping: CancellationToken,
    /// The caller's identity is not valid any more.
    revoked: CancellationToken,
}

impl Gate for State {
    /// Instead of tokens: the role's name, and a scope after a colon.
    async fn identify(&self, parts: &Parts, _: Role) -> Result<Arc<Caller>, Error> {
        let Some(text) = parts.headers.get("authorization") else {
            check_local(parts, &[ORIGIN.to_owned()])?;
            return Ok(Arc::new(Caller::local()));
        };
        let text = text.to_str().unwrap();
        let (role, scope) = text.split_once(':').unwrap_or((text, ""));
        let role = Role::named(role).ok_or_else(|| Error::unauthenticated("who are you?"))?;
        let scopes = if scope.is_empty() { Vec::new() } else { vec![scope.to_owned()] };
        Ok(Arc::new(Caller { role, scopes, ..Caller::local() }))
    }

    async fn ended(self: Arc<Self>, _: Arc<Caller>) {
        self.revoked.cancelled().await;
    }

    async fn begin(&self, attempt: &Attempt) -> Result<Begun, Error> {
        match attempt.idempotency_key.as_deref() {
            Some("known") => Ok(Begun::Answered(Reply::json(&"the first answer"))),
            _ => Ok(Begun::Go),
        }
    }

    async fn end(&self, attempt: &Attempt, outcome: Result<&Reply, &Error>) {
        let status = outcome.map_or_else(Error::status, |reply| reply.status.as_u16());
        self.ends.lock().push((attempt.operation.to_owned(), status));
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Form {
    name: String,
    retry_times: u8,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Page {
    page_num: Option<u32>,
}

#[derive(Deserialize, JsonSchema)]
struct ItemPath {
    id: String,
}

#[derive(Deserialize, JsonSchema)]
struct NumberPath {
    number: i64,
}

fn shown(call: &Call<ItemPath, Page>) -> Value {
    json!({ "id": call.path.id, "pageNum": call.query.page_num })
}

async fn item(call: Call<ItemPath, Page>) -> Result<Data<Value>, Error> {
    let item = shown(&call);
    Ok(Data::new(&item).with_etag(&etag_of(&item)))
}

async fn delete_item(call: Call<ItemPath, Page>) -> Result<Data<Value>, Error> {
    let item = shown(&call);
    call.check_if_match(&etag_of(&item))?;
    Ok(Data::new(&item))
}

async fn number(call: Call<NumberPath>) -> Result<Bare<i64>, Error> {
    Ok(Bare::new(&call.path.number))
}

async fn form(call: Call<Nothing, Nothing, Json<Form>>) -> Result<Data<Value>, Error> {
    Ok(Data::new(&json!({ "name": call.body.name, "retryTimes": call.body.retry_times })))
}

async fn upload(call: Call<Nothing, Nothing, Raw>) -> Result<Data<usize>, Error> {
    Ok(Data::new(&call.body.0.len()))
}

async fn bodyless(_: Call) -> Result<Data<()>, Error> {
    Ok(Data::new(&()))
}

async fn endless(call: Call) -> Result<Data<()>, Error> {
    struct Dropped(Arc<State>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.dropped.store(true, Ordering::SeqCst);
        }
    }
    let _dropped = Dropped(call.state);
    std::future::pending().await
}

async fn broken(_: Call) -> Result<Data<()>, Error> {
    panic!("a handler that is broken")
}

async fn fails(_: Call) -> Result<Data<()>, Error> {
    Err(Error::internal(std::io::Error::other("the password is swordfish")))
}

async fn steps(call: Call) -> Result<Data<String>, Error> {
    call.state.begun.notify_one();
    call.state.go_on.notified().await;
    call.state.ended.notify_one();
    Ok(Data::new(&"ended".to_owned()))
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct DryRun {
    #[serde(default)]
    #[expect(dead_code, reason = "the edge reads it")]
    dry_run: bool,
}

async fn dry(call: Call<ItemPath, DryRun>) -> Result<Data<bool>, Error> {
    Ok(Data::new(&call.attempt.is_none()))
}

async fn long(_: Call) -> Result<Data<String>, Error> {
    Ok(Data::new(&"lake ".repeat(1000)))
}

struct Nothings;

impl EventData for Nothings {
    const NAME: &'static str = "Nothing";
}

/// One event, then nothing until the server stops.
async fn stream(call: Call) -> Result<EventStream<Nothings>, Error> {
    let first = Event { id: 1, kind: "thinking", data: "{}".to_owned() };
    let endless = futures_util::stream::iter([first]).chain(futures_util::stream::pending());
    Ok(EventStream::new(endless, call.state.stopping.clone()))
}

fn routes() -> Vec<Route<State>> {
    let post = || Method::POST;
    vec![
        Route::new(Method::GET, "/items/{id}", Role::Viewer, "getItem", "", item),
        Route::new(Method::DELETE, "/items/{id}", Role::Editor, "deleteItem", "", delete_item),
        Route::new(Method::GET, "/numbers/{number}", Role::Viewer, "getNumber", "", number),
        Route::new(post(), "/forms", Role::Editor, "createForm", "", form).scope("forms:write"),
        Route::new(post(), "/uploads", Role::Admin, "upload", "", upload).upload(),
        Route::new(post(), "/bodyless", Role::Editor, "bodyless", "", bodyless),
        Route::new(Method::GET, "/endless", Role::Viewer, "endless", "", endless),
        Route::new(Method::GET, "/broken", Role::Viewer, "broken", "", broken),
        Route::new(post(), "/broken", Role::Viewer, "breakIt", "", broken),
        Route::new(Method::GET, "/fails", Role::Viewer, "fails", "", fails),
        Route::new(post(), "/steps", Role::Viewer, "steps", "", steps),
        Route::new(Method::GET, "/steps", Role::Viewer, "readSteps", "", steps),
        Route::new(Method::GET, "/long", Role::Viewer, "long", "", long),
        Route::new(Method::GET, "/secret", Role::Viewer, "secret", "", long).secret(),
        Route::new(Method::GET, "/stream", Role::Viewer, "stream", "", stream),
        Route::new(Method::PUT, "/items/{id}/dry", Role::Admin, "dryItem", "", dry).dry_run(),
        Route::not_yet::<ItemPath, Page, Json<Form>>(Method::PUT, "/later/{id}", Role::Editor, "later", ""),
    ]
}

struct Server {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<()>,
    client: Client<HttpConnector, Full<Bytes>>,
}

struct Answer {
    status: StatusCode,
    headers: http::HeaderMap,
    body: Bytes,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }

    fn expect_error(&self, status: u16, code: &str) -> Value {
        let body = self.json();
        assert_eq!((self.status.as_u16(), body["error"].as_str()), (status, Some(code)), "{body}");
        assert_eq!(body["code"], status);
        assert_eq!(body["data"], Value::Null);
        assert!(body.get("data").is_some(), "data is there, as null");
        assert_eq!(body["requestId"], self.header("x-request-id"));
        body
    }
}

impl Server {
    async fn start() -> Server {
        Server::with_deadline(Duration::from_secs(30)).await
    }

    async fn with_deadline(request_timeout: Duration) -> Server {
        let settings = EdgeSettings {
            request_timeout,
            body_max_bytes: BODY_MAX_BYTES,
            upload_max_bytes: UPLOAD_MAX_BYTES,
            drain: Duration::from_secs(5),
            connections_max: 100,
            cors_origins: vec![ORIGIN.to_owned()],
            tls: None,
        };
        let state = Arc::new(State::default());
        let stopping = state.stopping.clone();
        let endpoints = routes().into_iter().map(|route| route.bind(&state)).collect();
        let edge = Edge::new(Arc::clone(&state), endpoints, settings, Stats::new(), stopping);
        let edge = Arc::new(edge.expect("no conflict"));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(run(listener, edge, async move {
            let _ = stopped.await;
        }));
        let client = Client::builder(TokioExecutor::new()).build_http();
        Server { address, state, stop: Some(stop), running, client }
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response =
            self.client.request(request.body(Full::new(body.into())).unwrap()).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], "").await
    }

    /// Writes the text unchanged and reads until the server closes.
    async fn raw(&self, text: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }
}

#[tokio::test]
async fn an_answer_is_wrapped_and_its_parameters_are_decoded() {
    let server = Server::start().await;
    let answer = server.get("/items/tool%3Arun%2Fx?pageNum=3&unknown=1").await;
    assert_eq!(answer.status, 200);
    let expected = json!({ "code": 200, "message": "success", "data": { "id": "tool:run/x", "pageNum": 3 } });
    assert_eq!(answer.json(), expected);
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "no-store");
}

#[tokio::test]
async fn unknown_paths_are_404_unknown_methods_405() {
    let server = Server::start().await;
    server.get("/nothing").await.expect_error(404, "not_found");
    let answer = server.send("PUT", "/items/1", &[], "").await;
    answer.expect_error(405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "GET, HEAD, DELETE");
}

#[tokio::test]
async fn head_is_get_without_the_body() {
    let server = Server::start().await;
    let get = server.get("/items/1").await;
    let head = server.send("HEAD", "/items/1", &[], "").await;
    assert_eq!((head.status, head.body.len()), (get.status, 0));
    assert_eq!(head.header("content-length"), get.body.len().to_string());
    assert_eq!(server.send("HEAD", "/forms", &[], "").await.status, 405);
    assert_eq!(server.send("HEAD", "/nothing", &[], "").await.status, 404);
}

#[tokio::test]
async fn wrong_parameters_are_400_and_named() {
    let server = Server::start().await;
    let body = server.get("/items/1?pageNum=x").await.expect_error(400, "invalid_input");
    assert_eq!(
        body["details"],
        json!([{ "field": "pageNum", "message": "expected an integer, got a string" }])
    );
    let body = server.get("/numbers/abc").await.expect_error(400, "invalid_input");
    assert_eq!(body["details"][0]["field"], "number");
    server.get("/items/%FF").await.expect_error(400, "invalid_input");
}

#[tokio::test]
async fn a_body_is_json_with_members_of_the_right_types() {
    let server = Server::start().await;
    let json = [("content-type", "application/json; charset=utf-8")];
    let good = r#"{"name":"a","retryTimes":2,"new":true}"#;
    assert_eq!(server.send("POST", "/forms", &json, good).await.status, 200);
    assert_eq!(server.send("POST", "/forms", &[], good).await.status, 200, "none is read as JSON");
    let body = server.send("POST", "/forms", &json, r#"{"name":1,"retryTimes":"x"}"#).await;
    let body = body.expect_error(400, "invalid_input");
    let fields: Vec<&str> =
        body["details"].as_array().unwrap().iter().filter_map(|d| d["field"].as_str()).collect();
    assert_eq!(fields, ["name", "retryTimes"]);
    server.send("POST", "/forms", &json, "{").await.expect_error(400, "invalid_json");
    server.send("POST", "/forms", &json, "").await.expect_error(400, "body_missing");
}

#[tokio::test]
async fn another_content_type_is_415_and_an_upload_takes_any() {
    let server = Server::start().await;
    let plain = [("content-type", "text/plain")];
    server.send("POST", "/forms", &plain, "{}").await.expect_error(415, "unsupported_media_type");
    assert_eq!(server.send("POST", "/uploads", &plain, "abc").await.json()["data"], 3);
    server.send("POST", "/bodyless", &plain, "abc").await.expect_error(415, "unsupported_media_type");
    server.send("POST", "/bodyless", &[], "abc").await.expect_error(400, "invalid_json");
    assert_eq!(server.send("POST", "/bodyless", &plain, "").await.status, 200, "an empty body is none");
}

#[tokio::test]
async fn oversized_bodies_are_413() {
    let server = Server::start().await;
    let large = vec![b' '; BODY_MAX_BYTES + 1];
    server.send("POST", "/forms", &[], large.clone()).await.expect_error(413, "body_too_large");
    assert_eq!(server.send("POST", "/uploads", &[], large).await.status, 200);
    server
        .send("POST", "/uploads", &[], vec![0; UPLOAD_MAX_BYTES + 1])
        .await
        .expect_error(413, "body_too_large");

    let huge = vec![b'x'; 8 * 1024 * 1024];
    server.send("POST", "/forms", &[], huge.clone()).await.expect_error(413, "body_too_large");
    server.send("POST", "/nothing", &[], huge).await.expect_error(404, "not_found");

    let chunk = "a".repeat(BODY_MAX_BYTES);
    let size = format!("{:x}", chunk.len());
    let answer = server
        .raw(&format!(
            "POST /forms HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n\
             {size}\r\n{chunk}\r\n{size}\r\n{chunk}\r\n0\r\n\r\n"
        ))
        .await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
}

#[tokio::test]
async fn a_request_id_is_echoed_or_made() {
    let server = Server::start().await;
    let given = server.send("GET", "/items/1", &[("x-request-id", "build-7")], "").await;
    assert_eq!(given.header("x-request-id"), "build-7");
    let made = server.send("GET", "/items/1", &[("x-request-id", "a b<script>")], "").await;
    assert_eq!(made.header("x-request-id").len(), 36);
    let refused = server.send("GET", "/nothing", &[("x-request-id", "build-8")], "").await;
    assert_eq!(refused.expect_error(404, "not_found")["requestId"], "build-8");
}

#[tokio::test]
async fn local_mode_refuses_other_names_origins_and_proxies() {
    let server = Server::start().await;
    let refusals = [
        ("GET", ("host", "evil.example"), "host_not_allowed"),
        ("DELETE", ("origin", "http://evil.example"), "origin_not_allowed"),
        ("DELETE", ("sec-fetch-site", "cross-site"), "origin_not_allowed"),
        ("GET", ("x-forwarded-for", "10.0.0.1"), "proxied"),
        ("GET", ("via", "1.1 proxy"), "proxied"),
    ];
    for (method, header, code) in refusals {
        server.send(method, "/items/1", &[header], "").await.expect_error(403, code);
    }
    let own = format!("http://{}", server.address);
    assert_eq!(server.send("DELETE", "/items/1", &[("origin", &own)], "").await.status, 200);
    let answer = server.raw("GET /items/1 HTTP/1.0\r\n\r\n").await;
    assert!(answer.contains("403 Forbidden"), "{answer}");
}

#[tokio::test]
async fn http_2_is_spoken_on_the_same_port() {
    let server = Server::start().await;
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    let uri = format!("http://{}/items/2", server.address);
    let request = Request::builder().uri(&uri).body(Full::default()).unwrap();
    let response = client.request(request).await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_2));
    let request = Request::builder().uri(&uri).method("HEAD").body(Full::default()).unwrap();
    let response = client.request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
}

#[tokio::test]
async fn a_handler_past_its_deadline_is_504_and_dropped() {
    let server = Server::with_deadline(DEADLINE).await;
    server.get("/endless").await.expect_error(504, "deadline_exceeded");
    assert!(server.state.dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_body_that_never_ends_is_504() {
    let server = Server::with_deadline(DEADLINE).await;
    let answer = server.raw("POST /forms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{").await;
    assert!(answer.starts_with("HTTP/1.1 504"), "{answer}");
}

#[tokio::test]
async fn panics_and_internal_errors_are_opaque_500s() {
    let server = Server::start().await;
    server.get("/broken").await.expect_error(500, "internal");
    let body = server.get("/fails").await.expect_error(500, "internal");
    assert!(!body.to_string().contains("swordfish"), "{body}");
    assert_eq!(server.get("/items/1").await.status, 200, "the server goes on");
}

#[tokio::test]
async fn a_disconnected_client_does_not_cancel_writes() {
    let server = Server::with_deadline(Duration::from_secs(30)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"POST /steps HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    server.state.begun.notified().await;
    drop(stream);
    assert_eq!(server.get("/items/1").await.status, 200);
    server.state.go_on.notify_one();
    server.state.ended.notified().await;
}

#[tokio::test]
async fn stopping_lets_running_requests_end_and_takes_no_more() {
    let mut server = Server::with_deadline(Duration::from_secs(30)).await;
    let client = server.client.clone();
    let uri = format!("http://{}/steps", server.address);
    let running = tokio::spawn(async move {
        client.request(Request::post(uri).body(Full::default()).unwrap()).await.unwrap().status()
    });
    server.state.begun.notified().await;
    server.stop.take().unwrap().send(()).unwrap();
    while TcpStream::connect(server.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.running.is_finished());
    server.state.go_on.notify_one();
    assert_eq!(running.await.unwrap(), StatusCode::OK);
    timeout(Duration::from_secs(5), server.running).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn a_head_of_too_many_headers_is_refused() {
    let server = Server::start().await;
    let headers: String = (0..200).map(|index| format!("h{index}: v\r\n")).collect();
    let answer = server.raw(&format!("GET /items/1 HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[tokio::test]
async fn a_caller_does_what_its_role_says_and_no_more() {
    let server = Server::start().await;
    let as_viewer = [("authorization", "viewer")];
    assert_eq!(server.send("GET", "/items/1", &as_viewer, "").await.status, 200);
    let refused = server.send("DELETE", "/items/1", &as_viewer, "").await;
    let body = refused.expect_error(403, "insufficient_role");
    assert!(body["message"].as_str().unwrap().contains("editor"), "{body}");
    let unknown = server.send("GET", "/items/1", &[("authorization", "nobody")], "").await;
    unknown.expect_error(401, "unauthenticated");
    assert_eq!(unknown.header("www-authenticate"), "Bearer");
    assert_eq!(*server.state.ends.lock(), [("deleteItem".to_owned(), 403)], "refused changes are audited");
}

#[tokio::test]
async fn scopes_count_regardless_of_the_role() {
    let server = Server::start().await;
    let form = r#"{"name":"a","retryTimes":2}"#;
    let scoped = [("authorization", "viewer:forms:write")];
    assert_eq!(server.send("POST", "/forms", &scoped, form).await.status, 200);
    let admin = [("authorization", "admin:forms:write")];
    server.send("GET", "/items/1", &admin, "").await.expect_error(403, "insufficient_scope");
}

#[tokio::test]
async fn a_repeated_post_gets_its_first_answer() {
    let server = Server::start().await;
    let known = [("idempotency-key", "known")];
    assert_eq!(server.send("POST", "/forms", &known, "{}").await.json(), json!("the first answer"));
    let long = "k".repeat(256);
    for wrong in [long.as_str(), "a b"] {
        let answer = server.send("POST", "/forms", &[("idempotency-key", wrong)], "{}").await;
        answer.expect_error(400, "idempotency_key_invalid");
    }
    assert_eq!(server.send("DELETE", "/items/1", &[("idempotency-key", "a b")], "").await.status, 200);
}

#[tokio::test]
async fn each_change_is_ended_once_also_when_its_handler_panics() {
    let server = Server::start().await;
    server.send("POST", "/broken", &[], "").await.expect_error(500, "internal");
    server.send("POST", "/forms", &[], "{").await.expect_error(400, "invalid_json");
    server.send("POST", "/bodyless", &[], "").await.json();
    let expected = [("breakIt", 500), ("createForm", 400), ("bodyless", 200)];
    assert_eq!(*server.state.ends.lock(), expected.map(|(name, status)| (name.to_owned(), status)));
}

#[tokio::test]
async fn etags_save_transfers_and_prevent_stale_changes() {
    let server = Server::start().await;
    let first = server.get("/items/1").await;
    let etag = first.header("etag").to_owned();
    let same = server.send("GET", "/items/1", &[("if-none-match", &etag)], "").await;
    assert_eq!((same.status, same.body.len(), same.header("etag")), (StatusCode::NOT_MODIFIED, 0, &*etag));
    assert_eq!(server.send("GET", "/items/2", &[("if-none-match", &etag)], "").await.status, 200);
    assert_eq!(server.send("DELETE", "/items/1", &[("if-match", &etag)], "").await.status, 200);
    assert_eq!(server.send("DELETE", "/items/1", &[("if-match", "*")], "").await.status, 200);
    server
        .send("DELETE", "/items/2", &[("if-match", &etag)], "")
        .await
        .expect_error(412, "precondition_failed");
}

#[tokio::test]
async fn pages_of_allowed_origins_are_let_in_and_no_others() {
    let server = Server::start().await;
    let preflight = [("origin", ORIGIN), ("access-control-request-method", "DELETE")];
    let answer = server.send("OPTIONS", "/items/1", &preflight, "").await;
    assert_eq!(answer.status, StatusCode::NO_CONTENT);
    assert_eq!(answer.header("access-control-allow-origin"), ORIGIN);
    assert!(answer.header("access-control-allow-methods").contains("DELETE"));
    let answer = server.send("DELETE", "/items/1", &[("origin", ORIGIN)], "").await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (StatusCode::OK, ORIGIN));
    let other = [("origin", "https://evil.example"), ("access-control-request-method", "DELETE")];
    let answer = server.send("OPTIONS", "/items/1", &other, "").await;
    assert_eq!(answer.status, 403);
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
    let answer = server.send("GET", "/items/1", &[("origin", "https://evil.example")], "").await;
    assert!(!answer.headers.contains_key("access-control-allow-origin"));
}

#[tokio::test]
async fn long_answers_are_compressed_except_secrets() {
    let server = Server::start().await;
    let gzip = [("accept-encoding", "gzip")];
    let packed = server.send("GET", "/long", &gzip, "").await;
    assert_eq!((packed.header("content-encoding"), packed.header("vary")), ("gzip", "Accept-Encoding"));
    assert!(packed.body.len() < 500, "{}", packed.body.len());
    assert!(!server.get("/long").await.headers.contains_key("content-encoding"));
    assert!(!server.send("GET", "/secret", &gzip, "").await.headers.contains_key("content-encoding"));
}

#[tokio::test]
async fn unimplemented_operations_are_501_if_permitted() {
    let server = Server::start().await;
    server.send("PUT", "/later/1", &[], "").await.expect_error(501, "not_yet");
    server
        .send("PUT", "/later/1", &[("authorization", "viewer")], "")
        .await
        .expect_error(403, "insufficient_role");
}

#[tokio::test]
async fn a_read_ends_with_its_client() {
    let server = Server::with_deadline(Duration::from_secs(30)).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(b"GET /endless HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    drop(stream);
    let dropped = async {
        while !server.state.dropped.load(Ordering::SeqCst) {
            server.get("/items/1").await;
        }
    };
    timeout(Duration::from_secs(10), dropped).await.expect("the handler is dropped");
}

#[tokio::test]
async fn a_stopping_server_ends_streams_with_retry() {
    let mut server = Server::start().await;
    let uri = format!("http://{}/stream", server.address);
    let response = server.client.request(Request::get(uri).body(Full::default()).unwrap()).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "id: 1\nevent: thinking\ndata: {}\n\n");
    server.stop.take().unwrap().send(()).unwrap();
    let rest = timeout(Duration::from_secs(5), body.collect()).await.expect("it ends").unwrap().to_bytes();
    assert!(std::str::from_utf8(&rest).unwrap().contains("retry:"), "{rest:?}");
    timeout(Duration::from_secs(5), server.running).await.expect("it stops").unwrap();
}

#[tokio::test]
async fn viewers_may_do_dry_runs() {
    let server = Server::start().await;
    let viewer = [("authorization", "viewer")];
    assert_eq!(server.send("PUT", "/items/1/dry?dryRun=true", &viewer, "").await.json()["data"], true);
    for query in ["", "?dryRun=false", "?dryRun=2", "?dryRun=true&dryRun=true"] {
        let refused = server.send("PUT", &format!("/items/1/dry{query}"), &viewer, "").await;
        refused.expect_error(403, "insufficient_role");
    }
    assert_eq!(server.send("PUT", "/items/1/dry", &[], "").await.json()["data"], false);
}

#[tokio::test]
async fn a_stream_ends_with_its_callers_rights() {
    let server = Server::start().await;
    let uri = format!("http://{}/stream", server.address).parse().unwrap();
    let mut body = server.client.get(uri).await.unwrap().into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert!(first.starts_with(b"id: 1"), "{first:?}");
    server.state.revoked.cancel();
    let rest = timeout(Duration::from_secs(10), body.collect()).await.expect("it ends").unwrap().to_bytes();
    assert!(rest.is_empty(), "{rest:?}");
}

#[tokio::test]
async fn an_unknown_parameter_of_a_change_is_refused() {
    let server = Server::start().await;
    let as_admin = [("authorization", "admin")];
    for name in ["dryRun", "x"] {
        let answer = server.send("POST", &format!("/bodyless?{name}=true"), &as_admin, "").await;
        assert_eq!(answer.expect_error(400, "invalid_input")["details"][0]["field"], name);
    }
    assert_eq!(server.get("/long?x=1").await.status, 200, "a read ignores it");
    for (query, is_dry) in
        [("", false), ("?dryRun=false", false), ("?dryRun=1", true), ("?dryRun=true", true)]
    {
        let answer = server.send("PUT", &format!("/items/1/dry{query}"), &as_admin, "").await;
        assert_eq!(answer.json()["data"], is_dry, "{query}");
    }
    let answer = server.send("PUT", "/items/1/dry?dryrun=true", &as_admin, "").await;
    assert_eq!(
        answer.expect_error(400, "invalid_input")["details"][0]["message"],
        "is not a parameter of this operation; did you mean `dryRun`?"
    );
}
