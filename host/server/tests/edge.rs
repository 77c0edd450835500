//! The edge over real TCP: what every route gets without asking for it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use lakeport::error::Error;
use lakeport::http::{Call, Edge, EdgeSettings, Reply, Role, Route, run};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const BODY_MAX_BYTES: usize = 1024;
const UPLOAD_MAX_BYTES: usize = 4096;
const DEADLINE: Duration = Duration::from_millis(300);

#[derive(Default)]
struct State {
    begun: Notify,
    go_on: Notify,
    ended: Notify,
    dropped: AtomicBool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Form {
    name: String,
    retry_times: u8,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    page_num: Option<u32>,
}

async fn item(call: Call<State>) -> Result<Reply, Error> {
    let page: Page = call.query()?;
    let id: String = call.path("id")?;
    Ok(Reply::data(&json!({ "id": id, "pageNum": page.page_num })))
}

async fn number(call: Call<State>) -> Result<Reply, Error> {
    Ok(Reply::bare(&call.path::<i64>("number")?))
}

async fn form(call: Call<State>) -> Result<Reply, Error> {
    let form: Form = call.json()?;
    Ok(Reply::data(&json!({ "name": form.name, "retryTimes": form.retry_times })))
}

async fn upload(call: Call<State>) -> Result<Reply, Error> {
    Ok(Reply::data(&call.bytes().len()))
}

async fn endless(call: Call<State>) -> Result<Reply, Error> {
    struct Dropped(Arc<State>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.dropped.store(true, Ordering::SeqCst);
        }
    }
    let _dropped = Dropped(call.state);
    std::future::pending().await
}

async fn broken(_: Call<State>) -> Result<Reply, Error> {
    panic!("a handler that is broken")
}

async fn fails(_: Call<State>) -> Result<Reply, Error> {
    Err(Error::internal(std::io::Error::other("the password is swordfish")))
}

async fn steps(call: Call<State>) -> Result<Reply, Error> {
    call.state.begun.notify_one();
    call.state.go_on.notified().await;
    call.state.ended.notify_one();
    Ok(Reply::data(&"ended"))
}

fn routes() -> Vec<Route<State>> {
    vec![
        Route::new(Method::GET, "/items/{id}", Role::Viewer, "getItem", item),
        Route::new(Method::DELETE, "/items/{id}", Role::Editor, "deleteItem", item),
        Route::new(Method::GET, "/numbers/{number}", Role::Viewer, "getNumber", number),
        Route::new(Method::POST, "/forms", Role::Editor, "createForm", form),
        Route::new(Method::POST, "/uploads", Role::Admin, "upload", upload).upload(),
        Route::new(Method::GET, "/endless", Role::Viewer, "endless", endless),
        Route::new(Method::GET, "/broken", Role::Viewer, "broken", broken),
        Route::new(Method::GET, "/fails", Role::Viewer, "fails", fails),
        Route::new(Method::POST, "/steps", Role::Viewer, "steps", steps),
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
        };
        let state = Arc::new(State::default());
        let edge = Arc::new(Edge::new(Arc::clone(&state), routes(), settings).expect("no conflict"));
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

    /// Writes the text as it is and reads until the server closes.
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
async fn an_unknown_path_is_404_and_an_unknown_method_405_with_allow() {
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
}

#[tokio::test]
async fn a_body_over_the_limit_is_413_also_without_a_length_and_to_a_client_that_sends_on() {
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
async fn a_panic_and_an_internal_error_are_500_and_tell_nothing() {
    let server = Server::start().await;
    server.get("/broken").await.expect_error(500, "internal");
    let body = server.get("/fails").await.expect_error(500, "internal");
    assert!(!body.to_string().contains("swordfish"), "{body}");
    assert_eq!(server.get("/items/1").await.status, 200, "the server goes on");
}

#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_what_it_began() {
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
