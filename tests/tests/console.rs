//! The console's page and files, its session, and the stream of changes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, Options, Response, Server, eventually, refused, stores};
use serde_json::{Value, json};

const BROWSER: (&str, &str) = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const CONSOLE: (&str, &str) = ("X-Lakeport-Console", "1");
const JSON: (&str, &str) = ("Content-Type", "application/json");

fn page(server: &Server, path: &str) -> Response {
    server.client().send("GET", path, &[BROWSER], b"")
}

#[test]
fn addresses_of_pages_answer_the_page_under_its_policy() {
    let server = Server::start(&stores()[0]);
    let (first, deep) = (page(&server, "/"), page(&server, "/workflows/7/runs/1"));
    for answer in [&first, &deep] {
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(policy.contains("script-src 'self';") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
    assert_ne!(
        first.header("content-security-policy"),
        deep.header("content-security-policy"),
        "a new nonce"
    );
    for path in ["/api/v1/nothing", "/api", "/API/v1/tables", "/health/x", "/docs/x", "/.env", "/robots.txt"]
    {
        refused(&page(&server, path), 404, "not_found");
    }
    refused(&server.get("/workflows/7"), 404, "not_found");
    assert_eq!(page(&server, "/docs").header("content-type"), Some("text/html; charset=utf-8"));
}

/// Without Node there is no console, and the page says so.
#[test]
fn the_page_names_its_files() {
    let server = Server::start(&stores()[0]);
    let text = String::from_utf8(page(&server, "/").body).expect("text");
    refused(&server.get("/assets/nothing.js"), 404, "not_found");
    let Some((_, rest)) = text.split_once("src=\"/assets/") else {
        eprintln!("NOT TESTED: this server was built without the console");
        assert!(text.contains("cargo xtask build"), "{text}");
        refused(&server.get("/icon.svg"), 404, "not_found");
        return;
    };
    let name = rest.split('"').next().expect("a name");
    let path = format!("/assets/{name}");
    let of = |coding: &str| server.client().send("GET", &path, &[("Accept-Encoding", coding)], b"");
    let (brotli, gzip, plain) = (of("gzip, br"), of("gzip"), server.get(&path));
    assert_eq!(brotli.header("content-encoding"), Some("br"));
    assert_eq!(gzip.header("content-encoding"), Some("gzip"));
    assert_eq!(plain.header("content-encoding"), None);
    assert!(brotli.body.len() <= gzip.body.len() && gzip.body.len() < plain.body.len());
    assert_eq!(plain.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(plain.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(server.get("/icon.svg").header("content-type"), Some("image/svg+xml"));
}

#[test]
fn a_session_keeps_the_token_in_a_cookie() {
    for store in stores() {
        let server = Server::start(&store);
        let made = server.post("/api/v1/tokens", &json!({ "role": "editor", "name": "ed" })).data();
        let token = made["token"].as_str().expect("a text");
        let body = json!({ "token": token }).to_string();
        let anyone = server.client();
        refused(
            &anyone.send("POST", "/api/v1/session", &[JSON], body.as_bytes()),
            403,
            "console_header_missing",
        );
        let wrong = anyone.send("POST", "/api/v1/session", &[JSON, CONSOLE], br#"{"token": "lkp_no"}"#);
        refused(&wrong, 401, "unauthenticated");
        let signed_in = anyone.send("POST", "/api/v1/session", &[JSON, CONSOLE], body.as_bytes());
        assert_eq!(signed_in.data()["name"], "ed");
        let set = signed_in.header("set-cookie").expect("a cookie").to_owned();
        assert!(set.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{set}");
        let cookie = ("Cookie", set.split(';').next().expect("a pair"));
        assert_eq!(anyone.send("GET", "/api/v1/me", &[cookie], b"").data()["role"], "editor");
        let topic = br#"{"title": "t"}"#;
        let post = |headers: &[(&str, &str)]| anyone.send("POST", "/api/v1/nl2sql/topics", headers, topic);
        refused(&post(&[JSON, cookie]), 403, "console_header_missing");
        assert_eq!(post(&[JSON, cookie, CONSOLE]).status, 200);
        refused(&post(&[JSON, CONSOLE]), 401, "unauthenticated");
        let other = anyone.send("GET", "/api/v1/me", &[cookie, ("Authorization", "Bearer lkp_no")], b"");
        refused(&other, 401, "unauthenticated");
        refused(&post(&[JSON, cookie, ("X-Lakeport-Console", "0")]), 403, "console_header_missing");
        let unasked = anyone.send("DELETE", "/api/v1/session", &[cookie], b"");
        refused(&unasked, 403, "console_header_missing");
        let out = anyone.send("DELETE", "/api/v1/session", &[cookie, CONSOLE], b"");
        assert!(out.header("set-cookie").expect("a cookie").contains("Max-Age=0"));
        let root = server.client_as(&server.token("admin", "root"));
        root.delete(&format!("/api/v1/tokens/{}", made["id"])).data();
        refused(&anyone.send("GET", "/api/v1/me", &[cookie], b""), 401, "unauthenticated");
    }
}

/// A stream that is read line by line, for at most some seconds.
struct Changes {
    lines: std::io::Lines<BufReader<TcpStream>>,
}

/// An event's id, its kind and its data.
type Event = (u64, String, Value);

impl Changes {
    fn open(server: &Server, headers: &[(&str, &str)]) -> Changes {
        Changes::open_at(server, "", headers)
    }

    fn open_at(server: &Server, query: &str, headers: &[(&str, &str)]) -> Changes {
        let mut stream = TcpStream::connect(server.address()).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        let mut head = format!("GET /api/v1/events{query} HTTP/1.1\r\nHost: {}\r\n", server.address());
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        stream.write_all((head + "\r\n").as_bytes()).expect("sent");
        Changes { lines: BufReader::new(stream).lines() }
    }

    fn next(&mut self) -> Event {
        let (mut id, mut kind) = (0, String::new());
        loop {
            let line = self.lines.next().expect("the stream goes on").expect("an event in time");
            if let Some(text) = line.strip_prefix("id: ") {
                id = text.parse().expect("a number");
            } else if let Some(text) = line.strip_prefix("event: ") {
                kind = text.to_owned();
            } else if let Some(text) = line.strip_prefix("data: ") {
                return (id, kind, serde_json::from_str(text).expect("JSON"));
            }
        }
    }

    /// Reads on until something of this topic changed; returns the event.
    fn until(&mut self, topic: &str) -> Event {
        loop {
            let event = self.next();
            if event.2["topic"] == topic {
                return event;
            }
        }
    }
}

#[test]
fn changes_are_told_at_once_and_a_reader_goes_on_where_it_was() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let mut changes = Changes::open(&lake.server, &[]);
        let (begun, kind, _) = changes.next();
        assert_eq!(kind, "ready");
        let before = Instant::now();
        let workflow = lake.workflow("w");
        let (seen, kind, data) = changes.until("workflows");
        println!("seen after {:?}", before.elapsed());
        let told =
            json!({ "seq": seen, "topic": "workflows", "id": workflow.to_string(), "kind": "changed" });
        assert_eq!((kind.as_str(), &data), ("changed", &told));
        assert!(seen >= begun);
        let source = lake.source("shop.db");
        assert_eq!(changes.until("datasources").2["id"], json!(source.to_string()));
        drop(changes);
        let begun = begun.to_string();
        let mut again = Changes::open(&lake.server, &[("Last-Event-ID", &begun)]);
        // Those that are read together come in any order.
        let mut missing =
            vec![("workflows", json!(workflow.to_string())), ("datasources", json!(source.to_string()))];
        while !missing.is_empty() {
            let (_, _, data) = again.next();
            missing.retain(|(topic, id)| data["topic"] != *topic || data["id"] != *id);
        }
        lake.server.delete(&format!("/api/v1/workflows/{workflow}")).data();
        let (seq, kind, data) = again.until("workflows");
        let told = json!({ "seq": seq, "topic": "workflows", "id": workflow.to_string(), "kind": "deleted" });
        assert_eq!((kind.as_str(), &data), ("deleted", &told));

        let mut beyond = Changes::open(&lake.server, &[("Last-Event-ID", "999999999999")]);
        assert_eq!((beyond.next().1.as_str(), beyond.next().1.as_str()), ("ready", "everything"));
        // A server that has seen them has the newest in memory.
        lake.server.execute("DELETE FROM changes");
        lake.server.restart();
        let mut purged = Changes::open(&lake.server, &[("Last-Event-ID", &begun)]);
        assert_eq!((purged.next().1.as_str(), purged.next().1.as_str()), ("ready", "everything"));
        // A page that hears nothing any more has lost its connection.
        while purged.next().1 != "alive" {}
        refused(&lake.server.get("/api/v1/events?after=-1"), 400, "invalid_input");
    }
}

/// A reader is woken amid commits, of which its server has seen only some.
#[test]
fn a_stream_beside_busy_writers_goes_forward_only() {
    const WRITERS: usize = 4;
    const EACH: usize = 40;
    for store in stores() {
        let server = Server::start(&store);
        let mut changes = Changes::open(&server, &[]);
        let (begun, kind, _) = changes.next();
        assert_eq!(kind, "ready");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::scope(|writers| {
                    for writer in 0..WRITERS {
                        let (server, mine) = (&server, move |turn: usize| format!("w{writer}-{turn}"));
                        writers.spawn(move || {
                            for turn in 0..EACH {
                                server.post("/api/v1/workflows", &json!({ "name": mine(turn) })).data();
                            }
                        });
                    }
                });
                server.post("/api/v1/engines", &json!({ "name": "last", "plugin": "local" })).data();
            });
            let mut before = begun;
            loop {
                let (id, kind, data) = changes.next();
                assert!(id > before && kind != "everything", "{id} {kind} after {before}");
                if data["topic"] == "engines" {
                    break;
                }
                before = id;
            }
        });
    }
}

#[test]
fn a_caller_is_told_only_of_what_it_may_list() {
    for store in stores() {
        let server = Server::start(&store);
        let root = server.client_as(&server.token("admin", "root"));
        let one = server.token("viewer", "one");
        let two = server.token("viewer", "two");
        let bearer = format!("Bearer {two}");
        let mut changes = Changes::open(&server, &[("Authorization", &bearer)]);
        assert_eq!(changes.next().1, "ready");
        // Tokens are an admin's, a topic is its owner's: the first that this reader hears of is the workflow.
        root.post("/api/v1/tokens", &json!({ "role": "viewer", "name": "three" })).data();
        server.client_as(&one).post("/api/v1/nl2sql/topics", &json!({ "title": "secret" }));
        root.post("/api/v1/workflows", &json!({ "name": "w" })).data();
        assert_eq!(changes.next().2["topic"], "workflows");
        let own = server.client_as(&two).post("/api/v1/nl2sql/topics", &json!({ "title": "own" })).json();
        assert_eq!(changes.until("topics").2["id"], own["topic_id"]);
        let mut engines = Changes::open_at(&server, "?topics=engines,tables", &[("Authorization", &bearer)]);
        assert_eq!(engines.next().1, "ready");
        root.post("/api/v1/workflows", &json!({ "name": "unwanted" })).data();
        root.post("/api/v1/engines", &json!({ "name": "more", "plugin": "local" })).data();
        let (_, _, data) = engines.next();
        assert_eq!((&data["topic"], &data["id"]), (&json!("engines"), &json!("more")));
        let unknown = root.get("/api/v1/events?topics=engines,elsewhere");
        refused(&unknown, 400, "invalid_input");
        assert!(unknown.message().contains("`elsewhere` is no topic"), "{unknown:?}");
        let two = root.get("/api/v1/events?topics=one,two&after=-1");
        assert_eq!(two.json()["details"].as_array().map(Vec::len), Some(3), "{two:?}");
    }
}

#[test]
fn settings_are_those_of_the_command_line_without_secrets() {
    let environment = &[("LAKEPORT_MODEL_API_KEY", "sk-hush"), ("LAKEPORT_TIME_ZONE", "Asia/Shanghai")];
    let server = Server::start_as(&stores()[0], Options { environment, ..Options::default() });
    assert_eq!(server.get("/api/v1/me").data()["timeZone"], "Asia/Shanghai");
    let root = server.client_as(&server.token("admin", "root"));
    let answer = root.get("/api/v1/settings");
    assert!(!String::from_utf8_lossy(&answer.body).contains("hush"));
    let settings = answer.data();
    let of = |key: &str| {
        let all = settings.as_array().expect("a list");
        all.iter().find(|one| one["key"] == key).unwrap_or_else(|| panic!("no {key}")).clone()
    };
    assert_eq!(
        (&of("model.api_key")["value"], &of("time_zone")["value"]),
        (&json!("***"), &json!("Asia/Shanghai"))
    );
    assert!(of("time_zone")["source"].as_str().expect("a text").contains("LAKEPORT_TIME_ZONE"));
    for key in ["meaning", "default", "environment"] {
        assert!(of("listen")[key].is_string(), "{key}");
    }
    refused(
        &server.client_as(&server.token("approver", "one")).get("/api/v1/settings"),
        403,
        "insufficient_role",
    );
}

#[test]
fn facets_count_what_the_list_would_show() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        lake.run("shop.db", "CREATE TABLE found (id INTEGER); CREATE TABLE changed (id INTEGER);");
        lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
        for (name, layer, owner) in [("a", "ODS", "ann"), ("b", "ODS", "bob"), ("c", "DWD", "ann")] {
            let form =
                json!({ "tableName": name, "dbName": "main", "layer": layer, "owner": owner, "tags": ["t"] });
            lake.server.post("/api/v1/tables", &form).data();
        }
        lake.run("shop.db", "ALTER TABLE changed ADD COLUMN v TEXT");
        lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
        let facets = |query: &str| lake.server.get(&format!("/api/v1/tables/facets{query}")).data();
        let all = facets("");
        assert_eq!(
            all["layer"]["values"],
            json!([{ "value": "ODS", "count": 2 }, { "value": "DWD", "count": 1 }])
        );
        assert_eq!(all["clusterId"]["values"], json!([{ "value": source.to_string(), "count": 2 }]));
        assert_eq!(all["tag"], json!({ "values": [{ "value": "t", "count": 3 }], "total": 1 }));
        let ods = facets("?layer=ODS");
        assert_eq!(ods["layer"]["total"], 2, "another layer can be chosen");
        assert_eq!(
            ods["owner"]["values"],
            json!([{ "value": "ann", "count": 1 }, { "value": "bob", "count": 1 }])
        );
        assert_eq!(facets("?keyword=nothing")["owner"], json!({ "values": [], "total": 0 }));

        let list = |query: &str| lake.server.get(&format!("/api/v1/tables?{query}")).data();
        let drifted = list("hasDrift=true");
        assert_eq!((&drifted["total"], &drifted["records"][0]["tableName"]), (&json!(1), &json!("changed")));
        assert_eq!(all["hasDrift"]["values"], json!([{ "value": "true", "count": 1 }]));
        assert_eq!(list("hasDrift=false")["total"], 4);
        refused(&lake.server.get("/api/v1/tables?hasDrift=maybe"), 400, "invalid_input");
    }
}

#[test]
fn a_data_source_is_tested_before_it_is_kept() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("shop.db", "CREATE TABLE t (id INTEGER)");
        let test = |form: Value| lake.server.post("/api/v1/datasources/test", &form);
        let works = test(json!({ "name": "shop", "kind": "sqlite", "url": "sqlite:shop.db" })).data();
        assert_eq!((&works["ok"], &works["product"]), (&json!(true), &json!("SQLite")));
        let closed = json!({ "name": "shop", "kind": "postgres", "url": "postgres://u@127.0.0.1:1/d", "password": "p" });
        let failed = test(closed);
        assert!((400..600).contains(&failed.status) && failed.status != 500, "{failed:?}");
        refused(&test(json!({ "name": "shop", "kind": "sqlite" })), 400, "invalid_input");
        refused(
            &test(json!({ "name": "lakeport", "kind": "sqlite", "url": "sqlite:shop.db" })),
            409,
            "name_taken",
        );
        assert_eq!(lake.server.get("/api/v1/datasources").data()["total"], 1, "none was kept");
        lake.source("shop.db");
        let again = json!({ "name": "shop.db", "kind": "sqlite", "url": "sqlite:shop.db" });
        refused(&test(again), 409, "name_taken");
        let editor = lake.server.client_as(&lake.server.token("editor", "ed"));
        refused(&editor.post("/api/v1/datasources/test", &json!({})), 403, "insufficient_role");
    }
}

#[test]
fn an_engine_that_another_one_changed_is_not_overwritten() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (client, path) = (lake.server.client(), "/api/v1/engines/ds");
        let config = json!({ "baseUrl": "http://127.0.0.1:12345/dolphinscheduler", "projectName": "mine", "tenant": "default" });
        let secrets = json!({ "token": "t" });
        let form =
            json!({ "name": "ds", "plugin": "dolphinscheduler", "config": config, "secrets": secrets });
        lake.server.post("/api/v1/engines", &form).data();
        let shown = client.get(path);
        let tag = shown.header("etag").expect("a tag").to_owned();
        assert_eq!(shown.data()["config"]["projectName"], "mine");
        let put = |project: &str| {
            let config = json!({ "baseUrl": config["baseUrl"], "projectName": project, "tenant": "default" });
            let body = json!({ "config": config }).to_string();
            client.send("PUT", path, &[("If-Match", &tag)], body.as_bytes())
        };
        assert_eq!(put("theirs").data()["config"]["projectName"], "theirs");
        refused(&put("mine"), 412, "precondition_failed");
        assert_eq!(client.get(path).data()["config"]["projectName"], "theirs");
        refused(&client.get("/api/v1/engines/none"), 404, "not_found");
    }
}

#[test]
fn an_engine_says_when_it_was_looked_at() {
    for store in stores() {
        let lake = Lake::start(&store);
        let engines = lake.server.get("/api/v1/engines").data();
        assert_eq!(engines[0]["lastLook"], Value::Null, "there is nothing to ask it for");
        let workflow = lake.workflow("w");
        lake.task(workflow, "t", lake.source("shop.db"), "SELECT 1", [&[], &[]]);
        lake.deploy(workflow);
        lake.execute(workflow);
        let look = || {
            let engines = lake.server.get("/api/v1/engines").data();
            Some(engines[0]["lastLook"].clone()).filter(|look| !look.is_null())
        };
        let look = eventually("the engine is looked at", Duration::from_secs(30), look);
        assert_eq!((&look["ok"], &look["message"]), (&json!(true), &Value::Null), "{look}");
        assert!(look["at"].is_string() && look["answeredAt"].is_string(), "{look}");
    }
}
