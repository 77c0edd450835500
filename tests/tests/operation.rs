//! Operation: metrics, stopping, backup and restore, keys, a store that is newer than the program.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lakeport_tests::{KEY, Options, Server, Store, stores};
use serde_json::{Value, json};

#[test]
fn the_api_page_loads_nothing_external() {
    let server = Server::start(&stores()[0]);
    let document = server.get("/openapi.json");
    assert_eq!(document.json()["openapi"], "3.1.0");
    let etag = document.header("etag").unwrap().to_owned();
    let again = server.client().send("GET", "/openapi.json", &[("If-None-Match", &etag)], b"");
    assert_eq!((again.status, again.body.len()), (304, 0));
    for (path, kind) in
        [("/docs", "text/html"), ("/docs/app.js", "text/javascript"), ("/docs/style.css", "text/css")]
    {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.header("content-type").unwrap().starts_with(kind));
        assert!(answer.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    }
    let written = server.command_ok_without_store(&["openapi"]);
    assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), document.json());
}

#[test]
fn figures_are_in_prometheus_form_and_count_what_was_asked() {
    for store in stores() {
        let server = Server::start(&store);
        server.get("/api/v1/me").data();
        server.get("/nothing");
        assert_eq!(server.get("/health/live").json(), json!({ "status": "live" }));
        let ready = server.get("/health/ready").json();
        assert_eq!(ready["status"], "ready", "{ready}");
        assert_eq!(server.get("/api/v1/nl2sql/health").status, 200);
        let answer = server.get("/metrics");
        assert!(answer.header("content-type").unwrap().starts_with("text/plain; version=0.0.4"));
        let text = String::from_utf8(answer.body).unwrap();
        for line in [
            "lakeport_http_requests_total{operation=\"getMe\",status=\"200\"} 1",
            "lakeport_http_requests_total{operation=\"none\",status=\"404\"} 1",
            "lakeport_store_rows{what=\"audit\"} 0",
            "# TYPE lakeport_http_requests_total counter",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.contains("process_resident_memory_bytes "), "{text}");
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let value = line.rsplit(' ').next().and_then(|value| value.parse::<f64>().ok());
            assert!(value.is_some(), "no sample: {line}");
        }
    }
}

#[test]
fn a_stopping_server_drains_requests() {
    let mut server = Server::start(&stores()[0]);
    let address = server.address();
    let mut half = TcpStream::connect(address).unwrap();
    let body = br#"{"role":"viewer","name":"late"}"#;
    let head = format!(
        "POST /api/v1/tokens HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    half.write_all(head.as_bytes()).unwrap();
    half.write_all(&body[..5]).unwrap();
    // The head is read once the server counts the request.
    lakeport_tests::eventually("the request runs", Duration::from_secs(5), || {
        let figures = String::from_utf8(server.get("/metrics").body).unwrap();
        let running =
            figures.lines().find_map(|line| line.strip_prefix("lakeport_http_requests_running "))?;
        (running.parse::<i64>().ok()? >= 2).then_some(())
    });
    let pid = server.pid().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    lakeport_tests::eventually("no new connection is taken", Duration::from_secs(5), || {
        TcpStream::connect(address).is_err().then_some(())
    });
    half.write_all(&body[5..]).unwrap();
    let mut answer = String::new();
    half.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let stopping = Instant::now();
    assert!(server.wait(Duration::from_secs(10)).is_some_and(|status| status.success()));
    assert!(stopping.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_live_backup_restores_into_either_store() {
    for from in stores() {
        let server = Server::start(&from);
        let admin = server.post("/api/v1/tokens", &json!({ "role": "admin", "name": "root" })).data();
        let admin = admin["token"].as_str().unwrap();
        let file = server.data().join("backup.lakeport");
        server.command_ok(&["backup", file.to_str().unwrap()]);
        for to in stores() {
            let mut restored = Server::prepare_empty(&to, Options::default());
            let copy = restored.data().join("in.lakeport");
            std::fs::copy(&file, &copy).unwrap();
            restored.command_ok(&["restore", copy.to_str().unwrap()]);
            let again = restored.command(&["restore", copy.to_str().unwrap()]);
            assert!(!again.status.success(), "it is not empty any more");
            restored.run();
            let root = restored.client_as(admin);
            assert_eq!(root.get("/api/v1/me").data()["name"], "root", "{from:?} into {to:?}");
            assert_eq!(root.get("/api/v1/audit").data()["total"], 1);
            root.post("/api/v1/tokens", &json!({ "role": "viewer", "name": "new" })).data();
        }
    }
}

#[test]
fn a_backup_that_was_cut_off_changes_nothing() {
    let server = Server::start(&stores()[0]);
    let file = server.data().join("backup.lakeport");
    server.command_ok(&["backup", file.to_str().unwrap()]);
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let mut restored = Server::prepare_empty(&stores()[0], Options::default());
    let refused = restored.command(&["restore", file.to_str().unwrap()]);
    assert!(!refused.status.success());
    std::fs::write(&file, &whole).unwrap();
    restored.command_ok(&["restore", file.to_str().unwrap()]);
    restored.run();
}

#[test]
fn key_rotation_works_while_serving() {
    let server = Server::start(&Store::Sqlite);
    let key = [("Idempotency-Key", "kept")];
    let body = json!({ "role": "admin", "name": "root" }).to_string();
    let first = server.client().send("POST", "/api/v1/tokens", &key, body.as_bytes()).data();
    let root = server.client_as(first["token"].as_str().unwrap());
    let second = json!({ "role": "admin", "name": "other" }).to_string();
    let made = root.send("POST", "/api/v1/tokens", &key, second.as_bytes()).data();
    let key_file = server.data().join("secret.key");
    let before = std::fs::read_to_string(&key_file).unwrap();
    server.command_ok(&["key", "rotate"]);
    assert_ne!(std::fs::read_to_string(&key_file).unwrap(), before);
    let again = root.send("POST", "/api/v1/tokens", &key, second.as_bytes()).data();
    assert_eq!(again, made, "the stored answer was re-encrypted, and the digest of its body is still valid");
    server.command_ok(&["key", "rotate"]);
    assert_eq!(root.get("/api/v1/me").status, 200);
    let fresh = server.command_ok_without_store(&["key", "new"]);
    assert!(fresh.trim().len() >= 43, "{fresh}");
}

#[test]
fn a_shared_store_wants_the_key_of_its_secrets_set() {
    let Some(store) = stores().into_iter().find(|store| store.is_postgres()) else { return };
    let mut server = Server::prepare(&store, Options::default());
    server.set("LAKEPORT_KEY", "");
    let refused = server.command(&["serve", "--listen", "127.0.0.1:0"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("LAKEPORT_KEY"), "{said}");
    server.set("LAKEPORT_KEY", KEY);
    server.run();
    assert_eq!(server.get("/health/ready").status, 200);
}

#[test]
fn a_newer_store_is_left_alone() {
    for store in stores() {
        let mut server = Server::start(&store);
        server.stop();
        server.execute(
            "INSERT INTO schema_migrations (version, name, digest, applied_at) VALUES (999, 'x', 'x', 1)",
        );
        let refused = server.command(&["serve", "--listen", "127.0.0.1:0"]);
        let said = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("999") && said.contains("newer"), "{said}");
    }
}

#[test]
fn the_audit_log_cannot_be_edited() {
    for store in stores() {
        let server = Server::start(&store);
        server.post("/api/v1/tokens", &json!({ "role": "admin", "name": "root" })).data();
        let edited = server.try_execute("UPDATE audit_log SET actor = 'somebody else'");
        assert!(edited.is_err_and(|error| error.contains("only added")));
    }
}

/// A SQLite file has one server, whatever data folder each has: they would take each other's work.
#[test]
fn a_second_server_finds_the_store_locked() {
    let files = tempfile::tempdir().unwrap();
    let (file, link) = (files.path().join("store.db"), files.path().join("link.db"));
    let on = |path: &std::path::Path| {
        let url = format!("sqlite:{}", path.display());
        let environment = &[("LAKEPORT_DATABASE_URL", url.as_str())];
        Server::prepare(&Store::Sqlite, Options { environment, ..Options::default() })
    };
    let mut first = on(&file);
    first.run();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        let said = on(path).ends_at_start();
        assert!(said.contains("another Lakeport is using the store") && said.contains(".db"), "{said}");
    }
    first.kill();
    on(&link).run();
}
