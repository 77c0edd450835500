//! The store's encryption key, changed by an operator beside a running server.

use std::process::{Command, Output};

use lakeport_tests::{Response, Server, Store, binary, request};

fn lakeport(arguments: &[&str]) -> Output {
    Command::new(binary()).args(arguments).env_clear().output().unwrap()
}

fn ok(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Creates a token; the answer has a secret, so it is stored encrypted.
fn make_token(server: &Server, bearer: &str) -> Response {
    let bearer = format!("Bearer {bearer}");
    let headers =
        [("Content-Type", "application/json"), ("Idempotency-Key", "once"), ("Authorization", &*bearer)];
    let body = br#"{"name": "robot", "role": "admin"}"#;
    request(server.address(), "POST", "/api/v1/tokens", &headers, body)
}

#[test]
fn a_key_is_made_for_the_setting() {
    let (one, other) = (ok(&lakeport(&["key", "new"])), ok(&lakeport(&["key", "new"])));
    assert!(one.trim().len() == 44 && one != other, "{one}");
}

#[test]
fn a_rotation_beside_a_running_server_is_not_noticed() {
    let server = Server::start(&Store::Sqlite);
    let data = server.data().to_str().unwrap().to_owned();
    let admin = ok(&lakeport(&["token", "--data-dir", &data, "create", "--role", "admin", "--name", "a"]));
    let first = make_token(&server, admin.trim());
    let token = first.data()["token"].clone();
    let text = ok(&lakeport(&["key", "rotate", "--data-dir", &data]));
    assert!(text.contains("1 secret was encrypted again"), "{text}");
    let again = make_token(&server, admin.trim());
    assert_eq!(again.data()["token"], token);
    let text = ok(&lakeport(&["key", "rotate", "--data-dir", &data]));
    assert!(text.contains("1 secret was encrypted again"), "{text}");
    assert_eq!(make_token(&server, admin.trim()).data()["token"], token);
}

#[test]
fn a_rotation_without_a_store_says_where_it_looked() {
    let folder = tempfile::tempdir().unwrap();
    let output = lakeport(&["key", "rotate", "--data-dir", folder.path().to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("--data-dir"), "{said}");
    assert!(!folder.path().join("secret.key").exists(), "nothing was made");
}
