//! All operations of the interface are routed: those that are not implemented yet answer so, in the form of
//! every error.

use lakeport_tests::{Server, stores};

#[test]
fn what_is_not_there_yet_answers_501_and_says_what() {
    let server = Server::start(&stores()[0]);
    let document = server.get("/openapi.json").json();
    let mut not_yet = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            if operation["x-not-yet"] != true {
                continue;
            }
            let filled: Vec<&str> =
                path.split('/').map(|part| if part.starts_with('{') { "1" } else { part }).collect();
            let answer = server.client().send(&method.to_uppercase(), &filled.join("/"), &[], b"");
            let id = operation["operationId"].as_str().unwrap();
            assert_eq!((answer.status, answer.error().as_str()), (501, "not_yet"), "{id}");
            assert!(answer.message().contains(id), "{}", answer.message());
            not_yet += 1;
        }
    }
    assert!(not_yet > 0, "then this test has nothing to do any more");
}

#[test]
fn unknown_paths_and_methods_are_distinguished() {
    let server = Server::start(&stores()[0]);
    assert_eq!(server.get("/api/v1/nothing").error(), "not_found");
    let answer = server.put("/api/v1/tokens", &serde_json::json!({}));
    assert_eq!((answer.status, answer.header("allow")), (405, Some("GET, HEAD, POST")));
    assert_eq!(server.client().send("HEAD", "/", &[], b"").status, 200);
    let index = server.client().send("GET", "/", &[("Accept", "application/json")], b"");
    assert_eq!(index.json()["description"], "/openapi.json");
}
