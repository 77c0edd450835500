//! The test host keeps the rules of the contract, and fails a test in plain words.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Answer, Connection, Expected, TestHost, rows, slot};
use crate::dialect::{Limits, Query};
use crate::engine::*;
use crate::host::web::{
    AddressSlot, AuthRecipe, AuthUse, Body, CallRule, Injection, Param, Piece, Request, Response, SecretSpec,
    Slot, Template,
};
use crate::{Cell, Row};

const PASSWORD: &str = "correct horse";

struct Ship;

impl Engine for Ship {
    fn describe() -> EngineInfo {
        let rule = |call: &str, effect: &str, mask: &[&str]| CallRule {
            call: call.to_owned(),
            effect: effect.to_owned(),
            mask: mask.iter().map(|&pointer| pointer.to_owned()).collect(),
        };
        let api = AddressSlot {
            name: "api".to_owned(),
            config_at: "/url".to_owned(),
            calls: vec![
                rule("GET sources", "reads", &["/list/*/password", "/first~1last"]),
                rule("GET runs/**", "reads", &[]),
                rule("POST runs/*/stop", "changes", &[]),
                rule("POST search", "reads", &[]),
            ],
            description: String::new(),
        };
        let token = Injection {
            place: "header".to_owned(),
            name: "X-Token".to_owned(),
            value: vec![Piece::Text("t".to_owned())],
        };
        let recipe = AuthRecipe {
            name: "token".to_owned(),
            title: String::new(),
            secrets: vec!["password".to_owned()],
            addresses: vec!["api".to_owned()],
            log_in: Vec::new(),
            inject: vec![token],
            rejected_statuses: Vec::new(),
            rejected_when: Vec::new(),
        };
        let password =
            SecretSpec { name: "password".to_owned(), title: String::new(), description: String::new() };
        EngineInfo {
            addresses: vec![api],
            auth: vec![recipe],
            secrets: vec![password],
            folder_at: Some("/folder".to_owned()),
            ..EngineInfo::new("ship", "Ship", "0.1.0")
        }
    }

    fn test() -> Result<TestReport, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn deploy(_request: DeployRequest) -> Result<Deployment, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn remove(_current: WorkflowRef) -> Result<Deployment, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn start(_request: RunRequest) -> Result<Started, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn find(_queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn cancel(_workflow: WorkflowRef, _target: Target) -> Result<Receipt, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn instances(_request: WatchRequest) -> Result<WatchPage, Error> {
        unreachable!("the tests call the host functions themselves")
    }
    fn task_runs(_request: TaskRunRequest) -> Result<TaskRunPage, Error> {
        unreachable!("the tests call the host functions themselves")
    }
}

fn host() -> TestHost {
    let host = TestHost::engine::<Ship>();
    host.settings(json!({"url": "https://ship.example", "folder": "specs"}));
    host
}

fn text(text: &str) -> Template {
    vec![Piece::Text(text.to_owned())]
}

fn secret_slot() -> Piece {
    Piece::Slot(Slot {
        source: "secret".to_owned(),
        name: "password".to_owned(),
        encoding: "plain".to_owned(),
    })
}

fn param(name: &str, value: &str) -> Param {
    Param { name: name.to_owned(), value: text(value) }
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

fn send(host: &TestHost, request: &Request) -> Result<Response, Error> {
    host.call(|| http::send(request))
}

fn code(host: &TestHost, request: &Request) -> String {
    send(host, request).expect_err("the host refuses it").code
}

/// The words with which a test fails.
fn failure(test: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("the test fails");
    panic
        .downcast::<String>()
        .map_or_else(|panic| (*panic.downcast::<&str>().expect("a message")).to_owned(), |message| *message)
}

#[test]
fn a_script_is_followed_in_order() {
    let host = host();
    host.expect(Expected::get("api", "runs/1").query("page", 2), Answer::json(200, json!({"state": "ok"})));
    host.expect(Expected::post("api", "runs/1/stop").json(json!({"a": 1})).anonymous(), Answer::empty(204));
    let first = send(&host, &Request { query: vec![param("page", "2")], ..request("GET", "runs/1") });
    let first = first.unwrap();
    assert_eq!((first.status, first.body.as_slice()), (200, &br#"{"state":"ok"}"#[..]));
    assert_eq!(first.headers, [("content-type".to_owned(), "application/json".to_owned())]);
    let stop = Request {
        headers: vec![param("Content-Type", "application/json; charset=utf-8")],
        body: Body::Text(text(r#"{ "a" : 1 }"#)),
        auth: AuthUse::Anonymous,
        ..request("POST", "runs/1/stop")
    };
    assert_eq!(send(&host, &stop).unwrap().status, 204);
    assert_eq!(host.requests(), 2);
    host.finish();
}

#[test]
fn a_different_request_fails_the_test() {
    let message = failure(|| {
        let host = host();
        let expected = Expected::post("api", "search").json(json!({"page": 1})).query("size", 10);
        host.expect(expected, Answer::empty(200));
        let sent = Request {
            headers: vec![param("content-type", "application/json")],
            body: Body::Bytes(br#"{"page":2}"#.to_vec()),
            ..request("POST", "search")
        };
        drop(send(&host, &sent));
    });
    let expected = "request 1 differs from the script in: query, body\n\n\
        expected\n  POST api /search\n  query   size = 10\n  body    {\"page\":1} (JSON)\n\n\
        got\n  POST api /search\n  header  content-type: application/json\n  body    {\"page\":2}\n";
    assert_eq!(message, expected);
}

#[test]
fn json_is_sent_with_its_content_type() {
    let message = failure(|| {
        let host = host();
        host.expect(Expected::post("api", "search").json(json!({})), Answer::empty(200));
        drop(send(&host, &Request { body: Body::Text(text("{}")), ..request("POST", "search") }));
    });
    assert!(message.contains("differs from the script in: headers"), "{message}");
}

#[test]
fn an_unexpected_request_fails_the_test() {
    let message = failure(|| drop(send(&host(), &request("GET", "runs/1"))));
    assert!(message.contains("request 1 was not expected"), "{message}");
    assert!(message.contains("GET api /runs/1"), "{message}");
}

#[test]
fn a_missing_request_fails_the_test() {
    let message = failure(|| {
        let host = host();
        host.expect(Expected::get("api", "runs/7"), Answer::empty(200));
        assert_eq!(code(&host, &request("DELETE", "runs/7")), "not_granted");
    });
    assert!(message.contains("requests that were not sent: 1"), "{message}");
    assert!(message.contains("GET api /runs/7"), "{message}");
    assert!(
        message.contains("refused before they were sent\n  DELETE api /runs/7: not_granted"),
        "{message}"
    );
}

#[test]
fn forms_and_queries_have_any_order() {
    let host = host();
    let expected = Expected::post("api", "search").form("a", 1).form("b", 2).form("b", 3).query("x", 1);
    host.expect(expected.query("w", 0), Answer::empty(200));
    let sent = Request {
        body: Body::Form(vec![param("b", "2"), param("b", "3"), param("a", "1")]),
        query: vec![param("w", "0"), param("x", "1")],
        ..request("POST", "search")
    };
    assert_eq!(send(&host, &sent).unwrap().status, 200);
    let message = failure(|| {
        let swapped = Expected::post("api", "search").form("b", 3).form("b", 2);
        host.expect(swapped, Answer::empty(200));
        let body = Body::Form(vec![param("b", "2"), param("b", "3")]);
        drop(send(&host, &Request { body, ..request("POST", "search") }));
    });
    assert!(message.contains("differs from the script in: body"), "{message}");
}

#[test]
fn only_granted_calls_are_sent() {
    let host = host();
    for (method, path) in
        [("POST", "runs/1"), ("GET", "sources/1"), ("POST", "runs/1/2/stop"), ("PUT", "runs")]
    {
        assert_eq!(code(&host, &request(method, path)), "not_granted", "{method} {path}");
    }
    for (method, path) in [("GET", "runs//1"), ("GET", "runs/.."), ("GET", "."), ("OPTIONS", "runs")] {
        assert_eq!(code(&host, &request(method, path)), "invalid_input", "{method} {path}");
    }
    let elsewhere = Request { address: "web".to_owned(), ..request("GET", "runs/1") };
    assert_eq!(code(&host, &elsewhere), "not_granted");
    let extra = Request { extra: Some("{}".to_owned()), ..request("GET", "runs/1") };
    assert_eq!(code(&host, &extra), "unsupported");
    for path in ["runs", "runs/1", "runs/1/tasks/2"] {
        host.expect(Expected::get("api", path), Answer::empty(200));
        assert_eq!(send(&host, &request("GET", path)).unwrap().status, 200, "{path}");
    }
    host.settings(json!({}));
    assert_eq!(code(&host, &request("GET", "runs/1")), "not_granted");
}

#[test]
fn headers_of_host_and_recipe_are_refused() {
    let host = host();
    host.auth_recipe("token");
    for header in [param("Host", "a"), param("x-token", "a"), param("accept", "a\r\nb: c")] {
        let name = header.name.clone();
        let sent = Request { headers: vec![header], ..request("GET", "runs/1") };
        assert_eq!(code(&host, &sent), "invalid_input", "{name}");
    }
    host.expect(Expected::get("api", "runs/1").header("X-Token", "mine").anonymous(), Answer::empty(200));
    let own = Request {
        headers: vec![param("x-token", "mine")],
        auth: AuthUse::Anonymous,
        ..request("GET", "runs/1")
    };
    assert_eq!(send(&host, &own).unwrap().status, 200);
}

#[test]
fn masked_members_are_null() {
    let host = host();
    let answer = json!({
        "list": [{"name": "a", "password": {"x": 1}}, {"name": "b"}, 7],
        "first/last": "x",
        "password": "kept",
    });
    host.expect(Expected::get("api", "sources"), Answer::json(200, answer));
    let seen: Value = serde_json::from_slice(&send(&host, &request("GET", "sources")).unwrap().body).unwrap();
    let expected = json!({
        "list": [{"name": "a", "password": null}, {"name": "b"}, 7],
        "first/last": null,
        "password": "kept",
    });
    assert_eq!(seen, expected);
    host.expect(Expected::get("api", "sources"), Answer::text(200, "<html>"));
    assert_eq!(code(&host, &request("GET", "sources")), Error::bad_answer("").code);
}

#[test]
fn secrets_are_never_visible() {
    let host = host();
    host.secret("password", PASSWORD);
    let body = Body::Text(vec![Piece::Text("p=".to_owned()), secret_slot()]);
    let sent = Request { body, ..request("POST", "search") };
    assert_eq!(code(&host, &sent), "not_granted", "the operator did not allow it");
    host.allow_secret("password");
    let expected = format!("p={}", slot("secret", "password", "plain"));
    let answer = Answer::text(200, &format!("you sent {PASSWORD}!")).header("X-Echo", PASSWORD);
    host.expect(Expected::post("api", "search").text(&expected), answer.header("Set-Cookie", "a=b"));
    let seen = send(&host, &sent).unwrap();
    assert_eq!(seen.body, b"you sent ***!");
    let headers: Vec<(&str, &str)> = seen.headers.iter().map(|(a, b)| (&**a, &**b)).collect();
    assert_eq!(headers, [("content-type", "text/plain; charset=utf-8"), ("x-echo", "***")]);
    let message = failure(|| drop(send(&host, &sent)));
    assert!(message.contains("p=⟨secret:password⟩") && !message.contains(PASSWORD), "{message}");
    let token =
        Piece::Slot(Slot { source: "token".to_owned(), name: "t".to_owned(), encoding: "plain".to_owned() });
    let sent = Request { path: vec![text("runs"), vec![token]], ..request("GET", "runs") };
    assert_eq!(code(&host, &sent), "invalid_input", "tokens occur within recipes");
}

#[test]
fn own_text_is_never_taken_for_a_slot() {
    let message = failure(|| {
        let host = host();
        let expected = slot("secret", "password", "plain");
        host.expect(Expected::post("api", "search").text(&expected), Answer::empty(200));
        drop(send(&host, &Request { body: Body::Text(text(&expected)), ..request("POST", "search") }));
    });
    assert!(message.contains("differs from the script in: body"), "{message}");
}

#[test]
fn a_lost_answer_to_a_change_may_have_applied() {
    let host = host();
    for (method, path, changes) in [("POST", "runs/1/stop", true), ("POST", "search", false)] {
        for (answer, code) in [(Answer::lost(), "upstream_failed"), (Answer::times_out(), "timeout")] {
            host.expect(Expected::new(method, "api", path), answer);
            let error = send(&host, &request(method, path)).unwrap_err();
            assert_eq!((error.code.as_str(), error.may_have_applied), (code, changes), "{path}");
        }
        host.expect(Expected::new(method, "api", path), Answer::unreachable());
        let error = send(&host, &request(method, path)).unwrap_err();
        assert_eq!((error.code.as_str(), error.may_have_applied), ("unreachable", false), "{path}");
    }
    host.expect(Expected::get("api", "runs/1"), Answer::fails(Error::unauthorized("refused")));
    assert_eq!(code(&host, &request("GET", "runs/1")), "unauthorized");
}

#[test]
fn answers_take_time_within_the_limits() {
    let host = host();
    let (begun, second) = (host.now(), Duration::from_secs(1));
    host.call_timeout(5 * second);
    let script = || host.expect(Expected::get("api", "runs/1"), Answer::empty(200).takes(2 * second));
    script();
    script();
    script();
    host.call(|| {
        assert_eq!(call::remaining_ms(), 5_000);
        http::send(&request("GET", "runs/1")).unwrap();
        assert_eq!((call::remaining_ms(), clock::now() - begun), (3_000, 2_000));
        let hasty = Request { timeout_ms: Some(1_500), ..request("GET", "runs/1") };
        assert_eq!(http::send(&hasty).unwrap_err().code, "timeout");
        assert_eq!((call::remaining_ms(), clock::now() - begun), (1_500, 3_500));
        assert_eq!(http::send(&request("GET", "runs/1")).unwrap_err().code, "timeout");
        assert_eq!(call::remaining_ms(), 0);
        assert_eq!(http::send(&request("GET", "runs/1")).unwrap_err().code, "timeout", "nothing is sent");
    });
    host.call_timeout(Duration::from_secs(9));
    host.call(|| assert_eq!((call::remaining_ms(), &*call::id()), (9_000, "test-2")));
    let large = Request { max_response_bytes: Some(3), ..request("GET", "runs/1") };
    host.expect(Expected::get("api", "runs/1"), Answer::text(200, "four"));
    assert_eq!(code(&host, &large), "limit_exceeded");
}

#[test]
fn a_cancelled_call_sends_nothing_more() {
    let host = host();
    host.cancelled_call(|| {
        assert!(call::cancelled());
        assert_eq!(http::send(&request("GET", "runs/1")).unwrap_err().code, "cancelled");
    });
    host.expect(Expected::post("api", "runs/1/stop"), Answer::empty(200).cancels());
    host.call(|| {
        assert!(!call::cancelled());
        let error = http::send(&request("POST", "runs/1/stop")).unwrap_err();
        assert_eq!((error.code.as_str(), error.may_have_applied), ("cancelled", true));
        assert!(call::cancelled());
    });
    host.call(|| assert!(!call::cancelled(), "the next call is another one"));
}

#[test]
fn one_call_has_a_limit_of_requests() {
    let host = host();
    for _ in 0..1_000 {
        host.expect(Expected::get("api", "runs/1"), Answer::empty(200));
    }
    host.call(|| {
        for _ in 0..1_000 {
            http::send(&request("GET", "runs/1")).unwrap();
        }
        assert_eq!(http::send(&request("GET", "runs/1")).unwrap_err().code, "limit_exceeded");
    });
}

#[test]
fn the_memo_loses_entries() {
    let host = host();
    let get = || host.call(|| memo::get("kind"));
    let put = || host.call(|| memo::put("kind", "3.2", 60));
    put();
    host.advance(Duration::from_secs(59));
    assert_eq!(get().as_deref(), Some("3.2"));
    host.advance(Duration::from_secs(1));
    assert_eq!(get(), None, "it has expired");
    put();
    host.set_now("2030-01-01T00:00:00Z");
    assert_eq!(get().as_deref(), Some("3.2"), "no time has passed");
    host.forget_memo();
    assert_eq!(get(), None);
    host.expect(Expected::get("api", "runs/1"), Answer::empty(200).forgets_memo());
    host.call(|| {
        memo::put("kind", "3.2", 60);
        http::send(&request("GET", "runs/1")).unwrap();
        assert_eq!(memo::get("kind"), None);
    });
    host.call(|| {
        memo::put("old", &"x".repeat(40_000), 60);
        memo::put("new", &"x".repeat(40_000), 60);
        assert_eq!((memo::get("old").is_some(), memo::get("new").is_some()), (false, true));
    });
    host.without_memo();
    put();
    assert_eq!(get(), None);
}

#[test]
fn time_zones_are_real() {
    let host = host();
    host.set_now("2026-03-01T08:30:00Z");
    host.time_zone("Asia/Shanghai");
    host.call(|| {
        let zone = config::time_zone();
        assert_eq!(clock::to_local(clock::now(), &zone).unwrap(), "2026-03-01 16:30:00");
        assert_eq!(clock::from_local("2026-03-01T16:30:00.0", &zone).unwrap(), clock::now());
        // It happens twice.
        let twice = clock::from_local("2026-10-25 02:30:00", "Europe/Berlin").unwrap();
        assert_eq!(clock::to_local(twice, "UTC").unwrap(), "2026-10-25 00:30:00");
        // It is skipped.
        let skipped = clock::from_local("2026-03-29 02:30:00", "Europe/Berlin").unwrap();
        assert_eq!(clock::to_local(skipped, "Europe/Berlin").unwrap(), "2026-03-29 03:30:00");
        assert_eq!(clock::to_local(0, "Mars/Olympus").unwrap_err().code, "invalid_input");
        assert_eq!(clock::from_local("yesterday", "UTC").unwrap_err().code, "invalid_input");
        assert_eq!(clock::to_local(i64::MAX, "UTC").unwrap_err().code, "invalid_input");
    });
}

#[test]
fn the_configuration_is_the_tests() {
    let host = host();
    host.call(|| {
        assert_eq!((config::instance(), config::auth_recipe()), ("test".to_owned(), None));
        assert_eq!(config::settings(), r#"{"url":"https://ship.example","folder":"specs"}"#);
    });
    host.instance("ship-prod");
    host.auth_recipe("token");
    host.call(|| {
        assert_eq!(
            (config::instance(), config::auth_recipe().as_deref()),
            ("ship-prod".to_owned(), Some("token"))
        );
    });
    let message = failure(|| host.auth_recipe("password"));
    assert!(message.contains("no auth recipe \"password\"; it has [\"token\"]"), "{message}");
}

#[test]
fn files_stay_in_the_folder() {
    let host = host();
    host.put_file("a/1.json", b"one");
    host.call(|| {
        assert!(files::write("a/2.json", b"two").unwrap());
        assert!(!files::write("a/2.json", b"two").unwrap(), "it is equal");
        assert_eq!(files::read("a/1.json").unwrap(), b"one");
        assert_eq!(files::read("b").unwrap_err().code, "not_found");
        let page = |cursor| files::entries("a", &Page { cursor, limit: 1 }).unwrap();
        let first = page(None);
        let second = page(first.next.clone());
        let paths =
            |page: &files::FilePage| page.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        assert_eq!(
            (paths(&first), paths(&second)),
            (vec!["a/1.json".to_owned()], vec!["a/2.json".to_owned()])
        );
        assert_eq!(second.next, None);
        assert!(files::remove("a/1.json").unwrap() && !files::remove("a/1.json").unwrap());
        for path in ["", "/a", "../a", ".a", "a//b", "a b", "1/2/3/4/5/6/7/8/9"] {
            assert_eq!(files::write(path, b"").unwrap_err().code, "invalid_input", "{path:?}");
        }
    });
    assert_eq!(host.file("a/2.json").as_deref(), Some(&b"two"[..]));
    host.settings(json!({}));
    assert_eq!(host.call(|| files::read("a/2.json")).unwrap_err().code, "not_granted");
}

#[test]
fn the_log_is_captured() {
    let host = host();
    host.call(|| crate::warn!("left out {}", 3; "project" => "sales"));
    let line = &host.log()[0];
    assert_eq!((line.level, line.message.as_str()), (crate::log::Level::Warn, "left out 3"));
    assert_eq!(line.fields, [("project".to_owned(), "sales".to_owned())]);
}

#[test]
fn host_functions_need_a_call() {
    let host = host();
    let message = failure(|| _ = clock::now());
    assert!(message.contains("the plugin called clock outside of a call"), "{message}");
    drop(host);
    let message = failure(|| _ = clock::now());
    assert!(message.contains("needs a `lakeport_sdk::testing::TestHost`"), "{message}");
}

#[test]
fn a_failed_call_leaves_the_host_usable() {
    let host = host();
    failure(|| host.call(|| panic!("the plugin's own failure")));
    host.call(clock::now);
}

#[test]
fn a_family_has_its_own_imports() {
    let host = TestHost::dialect();
    let message = failure(|| _ = host.call(clock::now));
    assert!(message.contains("clock, which no dialect may import"), "{message}");
}

#[test]
fn a_thread_has_one_host() {
    let _first = host();
    let message = failure(|| drop(TestHost::dialect()));
    assert!(message.contains("has a test host already"), "{message}");
}

fn tables(connection: &Connection) -> Result<Vec<String>, Error> {
    let found = Query::new("SELECT name\n  FROM tables WHERE schema = ").value("it's").run(connection)?;
    found.iter().map(|row: Row<'_>| row.text("name").map(str::to_owned)).collect()
}

#[test]
fn a_dialect_reads_scripted_rows() {
    let host = TestHost::dialect();
    let connection = host.connection();
    let answer = rows(["name"], [[Cell::from("orders")], [Cell::from("lines")]]);
    host.expect_statement("SELECT name FROM tables WHERE schema = 'it''s'", Ok(answer.clone()));
    assert_eq!(host.call(|| tables(&connection)).unwrap(), ["orders", "lines"]);
    host.expect_statement("FROM tables", Err(Error::forbidden("no")));
    assert_eq!(host.call(|| tables(&connection)).unwrap_err().code, "forbidden");
    host.expect_statement("\"shop\".\"tables\"", Ok(answer));
    let one = Limits { max_rows: 1, max_bytes: 0, timeout_ms: 0 };
    let query = Query::new("SELECT * FROM ").name(["shop", "tables"]);
    let cut = host.call(|| query.run_within(&connection, one)).unwrap();
    assert!(cut.truncated && cut.rows.len() == 1);
    host.expect_statement("FROM views", Ok(rows(["name"], [])));
    let message = failure(|| drop(host.call(|| tables(&connection))));
    assert!(message.contains("expected\n  … FROM views …\ngot\n  SELECT name"), "{message}");
    let message = failure(|| drop(host.call(|| tables(&connection))));
    assert!(message.contains("the statement was not expected"), "{message}");
    let message = failure(|| {
        host.expect_statement("FROM views", Ok(rows(["name"], [])));
        host.finish();
    });
    assert!(message.contains("statements that were not sent: 1\n  FROM views"), "{message}");
    // The last one leaves the script.
    failure(|| drop(host.call(|| tables(&connection))));
}
