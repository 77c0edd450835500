//! Calls of a connector by hand: its answer, and its requests, without secrets.

use lakeport_engine_tests::{Generation, TestServer};
use lakeport_tests::refused;
use serde_json::{Value, json};

use crate::pair::{DS, Pair};

#[test]
fn a_call_shows_its_requests_without_secrets() {
    let server = TestServer::start(Generation::V33);
    let access = server.access();
    let (token, project) = (access.token.clone(), access.project_name.clone());
    let pair = Pair::on(access, None);
    let call = |body: Value| pair.server().post(&format!("/api/v1/engines/{DS}/call"), &body);
    let before = server.requests().len();
    let test = call(json!({ "function": "deploys.test" })).data();
    assert_eq!(test["error"], Value::Null, "{test}");
    assert!(test["answer"]["checks"].as_array().is_some_and(|checks| !checks.is_empty()), "{test}");
    let requests = test["requests"].as_array().expect("a list");
    assert_eq!(requests.len(), server.requests().len() - before, "{test}");
    let asks = |request: &Value| {
        request["method"] == "GET"
            && request["path"].as_str().is_some_and(|path| path.starts_with("/projects"))
    };
    let projects = requests.iter().find(|request| asks(request)).expect("it asks for the project");
    assert_eq!(projects["status"], 200);
    assert!(projects["answer"].as_str().is_some_and(|answer| answer.contains(&project)), "{projects}");
    let watch = json!({ "workflows": [{ "id": 1, "code": "17", "project": null }], "open": [], "since": 0, "limit": 10 });
    let watched = call(json!({ "function": "watch.instances", "input": watch })).data();
    let pages =
        call(json!({ "function": "definitions.entries", "input": { "page": { "limit": 10 } } })).data();
    for answer in [&test, &watched, &pages] {
        assert!(!answer.to_string().contains(&token), "{answer}");
    }
    let data_sources = pages.to_string() + &test.to_string();
    assert!(!data_sources.contains("connectionParams\\\":\\\"{"), "passwords are masked: {data_sources}");
    let wrong = call(json!({ "function": "watch.instances", "input": { "limit": 1 } }));
    refused(&wrong, 400, "invalid_input");
    let changes = call(json!({ "function": "deploys.remove" }));
    refused(&changes, 400, "invalid_input");
}
