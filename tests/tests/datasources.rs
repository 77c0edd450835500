//! Data sources and syncs over HTTP, against a real server and real SQLite files (contract, section 1).

use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, Options, Response, Server, Store, eventually, named, on_sqlite, refused, stores};
use serde_json::{Value, json};
use sqlx::Executor as _;

const SOURCES: &str = "/api/v1/datasources";
/// Longer than a lease and the interval in which servers look for abandoned work.
const TAKEN_OVER: Duration = Duration::from_secs(40);
const SOON: Duration = Duration::from_secs(20);

/// The tests' requests about data sources.
trait Sources {
    fn create(&self, form: &Value) -> Value;
    fn sync(&self, id: i64) -> Value;
    fn last_sync(&self, id: i64) -> Value;
    /// The last synchronization once it has ended.
    fn sync_ended(&self, id: i64, at_most: Duration) -> Value;
}

impl Sources for Lake {
    fn create(&self, form: &Value) -> Value {
        self.server.post(SOURCES, form).data()
    }

    fn sync(&self, id: i64) -> Value {
        self.server.post(&format!("{SOURCES}/{id}/sync"), &json!({})).data()
    }

    fn last_sync(&self, id: i64) -> Value {
        self.server.get(&format!("{SOURCES}/{id}/sync")).data()
    }

    fn sync_ended(&self, id: i64, at_most: Duration) -> Value {
        eventually("the synchronization ends", at_most, || {
            Some(self.last_sync(id)).filter(|sync| !sync.is_null() && sync["state"] != "running")
        })
    }
}

/// `count` tables with two fields each.
fn many(count: usize) -> String {
    let tables: String =
        (0..count).map(|n| format!("CREATE TABLE t{n:05} (id INTEGER PRIMARY KEY, a TEXT);")).collect();
    format!("BEGIN; {tables} COMMIT;")
}

fn counts(sync: &Value, what: &str) -> [i64; 3] {
    ["new", "updated", "missing"].map(|which| sync[what][which].as_i64().expect("a count"))
}

fn path(id: impl std::fmt::Display) -> String {
    format!("{SOURCES}/{id}")
}

#[test]
fn the_builtin_source_exists_and_is_immutable() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        lake.server.restart();
        let page = lake.server.get(SOURCES).data();
        assert_eq!((&page["total"], &page["pageNum"], &page["pageSize"]), (&json!(1), &json!(1), &json!(20)));
        let own = &page["records"][0];
        let kind = if matches!(store, Store::Sqlite) { "sqlite" } else { "postgres" };
        assert_eq!(
            (&own["name"], &own["kind"], &own["url"]),
            (&json!("lakeport"), &json!(kind), &json!("lakeport:"))
        );
        assert_eq!(
            (&own["isDefault"], &own["host"], &own["lastSyncTime"]),
            (&json!(false), &Value::Null, &Value::Null)
        );
        let own = path(&own["id"]);
        let server = &lake.server;
        refused(&server.put(&own, &json!({ "isDefault": true })), 409, "built_in");
        refused(&server.delete(&own), 409, "built_in");
        refused(&server.post(&format!("{own}/sync"), &json!({})), 409, "built_in");
        refused(&server.delete(&format!("{own}/sync")), 409, "built_in");
        assert_eq!(server.get(&format!("{own}/sync")).data(), Value::Null);
        let test = server.post(&format!("{own}/test"), &json!({})).data();
        let product = if kind == "sqlite" { "SQLite" } else { "PostgreSQL" };
        assert_eq!((&test["ok"], &test["product"]), (&json!(true), &json!(product)));
        assert!(!test["version"].as_str().expect("a version").is_empty());
        let databases = server.get(&format!("{own}/databases")).data();
        assert_eq!(databases, json!([{ "name": "lakeport", "comment": null }]));
        for name in ["lakeport", "Lakeport"] {
            let form = json!({ "name": name, "kind": "sqlite", "url": "sqlite:a.db" });
            refused(&server.post(SOURCES, &form), 409, "name_taken");
        }
    }
}

#[test]
fn a_data_source_is_made_read_changed_and_deleted() {
    for store in stores() {
        let lake = Lake::start(&store);
        let server = &lake.server;
        let form = json!({
            "name": "shop", "kind": "sqlite", "url": "sqlite:shop.db", "options": { "databases": ["main"] },
            "syncCron": "0 30 2 * * ? *", "unknown": 1,
        });
        let made = server.post(SOURCES, &form);
        let data = made.data();
        assert_eq!(
            (&data["name"], &data["kind"], &data["url"]),
            (&json!("shop"), &json!("sqlite"), &json!("sqlite:shop.db"))
        );
        assert_eq!(
            (&data["options"], &data["isDefault"]),
            (&json!({ "databases": ["main"] }), &json!(false))
        );
        for absent in ["host", "port", "database", "username", "readUrl", "lastSyncTime"] {
            assert!(
                data.as_object().expect("an object").contains_key(absent) && data[absent].is_null(),
                "{absent}"
            );
        }
        assert!(data.get("password").is_none());
        assert!(data["nextSyncTime"].as_str().expect("a time").ends_with(" 02:30:00"));
        let one = path(&data["id"]);
        let read = server.get(&one);
        assert_eq!((read.data(), read.header("etag")), (data.clone(), made.header("etag")));

        let slashes = server.put(&one, &json!({ "url": "sqlite://folder/shop.db" })).data();
        assert_eq!((&slashes["url"], &slashes["host"]), (&json!("sqlite://folder/shop.db"), &Value::Null));
        server.put(&one, &json!({ "url": "sqlite:shop.db" })).data();

        let changed = server.put(&one, &json!({ "name": "store", "options": null, "syncCron": null }));
        let after = changed.data();
        assert_eq!((&after["name"], &after["url"]), (&json!("store"), &json!("sqlite:shop.db")));
        assert_eq!(
            (&after["options"], &after["syncCron"], &after["nextSyncTime"]),
            (&json!({}), &Value::Null, &Value::Null)
        );
        assert_ne!(changed.header("etag"), made.header("etag"));
        assert_eq!(server.get(&one).header("etag"), changed.header("etag"));
        refused(&server.put(&one, &json!({ "name": "" })), 400, "invalid_input");

        assert_eq!(server.delete(&one).data(), Value::Null);
        refused(&server.get(&one), 404, "not_found");
        refused(&server.put(&one, &json!({})), 404, "not_found");
        refused(&server.delete(&one), 404, "not_found");
        for what in ["test", "sync"] {
            refused(&server.post(&format!("{one}/{what}"), &json!({})), 404, "not_found");
        }
        refused(&server.get(&format!("{one}/databases")), 404, "not_found");
    }
}

#[test]
fn a_stale_change_is_refused() {
    let lake = Lake::start(&stores()[0]);
    let id = lake.source("a.db");
    let client = lake.server.client();
    let first = lake.server.get(&path(id)).header("etag").expect("an ETag").to_owned();
    let change = |tag: &str, body: &str| client.send("PUT", &path(id), &[("If-Match", tag)], body.as_bytes());
    let second = change(&first, r#"{"name": "b"}"#).header("etag").expect("an ETag").to_owned();
    refused(&change(&first, r#"{"name": "c"}"#), 412, "precondition_failed");
    refused(&client.send("DELETE", &path(id), &[("If-Match", &first)], b""), 412, "precondition_failed");
    let known = client.send("GET", &path(id), &[("If-None-Match", &second)], b"");
    assert_eq!((known.status, known.body.is_empty()), (304, true));
    // A sync is news, and does not change the definition.
    lake.run("a.db", "CREATE TABLE t (a)");
    assert_eq!(lake.sync(id)["state"], "success");
    assert!(lake.server.get(&path(id)).data()["lastSyncTime"].is_string());
    assert_eq!(client.send("GET", &path(id), &[("If-None-Match", &second)], b"").status, 200);
    assert_eq!(change(&second, r#"{"name": "c"}"#).status, 200);
    assert_eq!(change("*", r#"{"name": "d"}"#).status, 200);
}

#[test]
fn a_list_is_paged_and_filtered() {
    for store in stores() {
        let lake = Lake::start(&store);
        for name in ["Sales", "sales 2", "50%", "Ärzte"] {
            lake.create(&json!({ "name": name, "kind": "sqlite", "url": "sqlite:a.db" }));
        }
        let names = |query: &str| {
            let page = lake.server.get(&format!("{SOURCES}?{query}")).data();
            let names: Vec<String> = page["records"]
                .as_array()
                .expect("records")
                .iter()
                .map(|record| record["name"].as_str().expect("a name").to_owned())
                .collect();
            (page["total"].as_i64().expect("a total"), names)
        };
        assert_eq!(names("keyword=SALES"), (2, vec!["Sales".to_owned(), "sales 2".to_owned()]));
        assert_eq!(names("keyword=%25"), (1, vec!["50%".to_owned()]));
        assert_eq!(names("keyword=%C3%A4RZ"), (1, vec!["Ärzte".to_owned()]));
        assert_eq!(names("keyword=_").0, 0);
        assert_eq!(names("pageNum=2&pageSize=2"), (5, vec!["sales 2".to_owned(), "50%".to_owned()]));
        assert_eq!(names("pageNum=9"), (5, Vec::new()));
        assert_eq!(names("kind=oracle").0, 0);
        assert!(names("kind=sqlite").0 >= 4);
        refused(&lake.server.get(&format!("{SOURCES}?pageSize=501&pageNum=0")), 400, "invalid_input");
    }
}

#[test]
fn names_are_unique_and_one_at_most_is_the_default() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (first, second) = (lake.source("a.db"), lake.source("b.db"));
        let server = &lake.server;
        refused(&server.put(&path(second), &json!({ "name": "a.db" })), 409, "name_taken");
        let form = json!({ "name": "a.db", "kind": "sqlite", "url": "sqlite:x" });
        refused(&server.post(SOURCES, &form), 409, "name_taken");
        let is_default = |id: i64| server.get(&path(id)).data()["isDefault"] == true;
        assert_eq!(server.put(&path(first), &json!({ "isDefault": true })).data()["isDefault"], true);
        let tag = server.get(&path(first)).header("etag").expect("an ETag").to_owned();
        server.put(&path(second), &json!({ "isDefault": true })).data();
        assert!(!is_default(first) && is_default(second));
        assert_ne!(server.get(&path(first)).header("etag"), Some(tag.as_str()), "it is another definition");
        let third =
            lake.create(&json!({ "name": "c", "kind": "sqlite", "url": "sqlite:c", "isDefault": true }));
        assert!(!is_default(second) && third["isDefault"] == true);
        server.put(&path(&third["id"]), &json!({ "isDefault": false })).data();
        assert!(!is_default(third["id"].as_i64().expect("an id")));
    }
}

#[test]
fn many_at_once_leave_one_default() {
    for store in stores() {
        let lake = Lake::start(&store);
        let ids: Vec<i64> = (0..6).map(|n| lake.source(&format!("{n}.db"))).collect();
        thread::scope(|scope| {
            for id in &ids {
                let client = lake.server.client();
                scope.spawn(move || client.put(&path(id), &json!({ "isDefault": true })).data());
            }
        });
        let defaults = ids.iter().filter(|id| lake.server.get(&path(id)).data()["isDefault"] == true).count();
        assert_eq!(defaults, 1);
    }
}

#[test]
fn wrong_members_are_named_passwords_hidden() {
    let lake = Lake::start(&stores()[0]);
    let server = &lake.server;
    let fields = |response: &Response| -> Vec<String> {
        refused(response, 400, "invalid_input");
        let body = response.json();
        let details = body["details"].as_array().expect("details");
        details.iter().map(|detail| detail["field"].as_str().expect("a field").to_owned()).collect()
    };
    let form = json!({
        "name": "x", "kind": "oracle", "url": "oracle://ada:hunter2@db/sales", "password": "hunter2",
        "syncCron": "0 0 25 * * ? *",
    });
    let unknown = server.post(SOURCES, &form);
    assert_eq!(fields(&unknown), ["kind", "syncCron"]);
    for part in ["known: ", "postgres", "sqlite", "hours"] {
        assert!(unknown.message().contains(part), "{unknown:?}");
    }
    let file = json!({ "name": "x", "kind": "sqlite", "url": "sqlite:x.db", "password": "hunter2" });
    let file = server.post(SOURCES, &file);
    assert_eq!(fields(&file), ["password"]);
    let server_url = json!({ "name": "x", "kind": "sqlite", "url": "postgres://ada:hunter2@db/sales" });
    let server_url = server.post(SOURCES, &server_url);
    assert_eq!(fields(&server_url), ["url"]);
    let types = server.post(SOURCES, &json!({ "name": 1, "kind": "sqlite", "options": [], "port": "x" }));
    assert_eq!(
        fields(&types),
        ["name", "options", "port", "url"],
        "what is missing beside what is of a wrong type"
    );
    for cron in ["0 0 0 * * *", "0 0 0 1 1 ? 2020", "0 0 0 30 2 ? *"] {
        let form = json!({ "name": "x", "kind": "sqlite", "url": "sqlite:x.db", "syncCron": cron });
        assert_eq!(fields(&server.post(SOURCES, &form)), ["syncCron"], "{cron}");
    }
    let audit = server.get("/api/v1/audit?pageSize=100");
    assert!(audit.data()["total"].as_i64().expect("a total") >= 3);
    for said in [&unknown, &file, &server_url, &audit] {
        assert!(!String::from_utf8_lossy(&said.body).contains("hunter2"), "{said:?}");
    }
    assert!(!server.log().contains("hunter2"));
}

#[test]
fn sqlite_files_are_restricted_to_roots() {
    let lake = Lake::start(&stores()[0]);
    let server = &lake.server;
    let elsewhere = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(elsewhere.path(), lake.path("out")).expect("a link");
    std::os::unix::fs::symlink(server.data(), lake.path("data")).expect("a link");
    let own = server.data().join("lakeport.db");
    for url in [
        format!("sqlite:{}", own.display()),
        format!("sqlite://{}", own.display()),
        "sqlite:data/lakeport.db".to_owned(),
        "sqlite:out/new.db".to_owned(),
        "sqlite:/etc/passwd".to_owned(),
        format!("sqlite:{}/new.db", elsewhere.path().display()),
    ] {
        let refusal = server.post(SOURCES, &json!({ "name": "x", "kind": "sqlite", "url": url }));
        refused(&refusal, 400, "invalid_input");
        let message = refusal.message();
        assert!(message.contains("sqlite_roots (LAKEPORT_SQLITE_ROOTS)"), "{url}: {message}");
        assert!(message.contains(&lake.files.path().display().to_string()), "{url}: {message}");
    }
    for url in ["sqlite:../x.db", "sqlite::memory:", "sqlite:a.db?mode=rwc", "sqlite:", "a.db"] {
        let form = json!({ "name": "x", "kind": "sqlite", "url": url });
        refused(&server.post(SOURCES, &form), 400, "invalid_input");
    }
    let id = lake.source("later.db");
    refused(&server.put(&path(id), &json!({ "url": "sqlite:out/new.db" })), 400, "invalid_input");
    refused(&server.post(&format!("{}/test", path(id)), &json!({})), 502, "unreachable");
    // It becomes a link out of the roots after it was defined: links are checked again when it is opened.
    on_sqlite(&elsewhere.path().join("real.db"), async |connection| {
        connection.execute("CREATE TABLE secret (a)").await.expect("a sound statement");
    });
    std::os::unix::fs::symlink(elsewhere.path().join("real.db"), lake.path("later.db")).expect("a link");
    let test = server.post(&format!("{}/test", path(id)), &json!({}));
    refused(&test, 502, "upstream_denied");
    assert!(test.message().contains("sqlite_roots"), "{test:?}");
    let sync = lake.sync(id);
    assert_eq!((&sync["state"], &sync["errors"][0]["table"]), (&json!("failed"), &Value::Null));
}

#[test]
fn the_store_is_no_data_source_wherever_it_lies() {
    let files = tempfile::tempdir().expect("a folder");
    let roots = files.path().display().to_string();
    let url = format!("sqlite:{roots}/store.db");
    let environment = &[("LAKEPORT_SQLITE_ROOTS", roots.as_str()), ("LAKEPORT_DATABASE_URL", url.as_str())];
    let server = Server::start_as(&Store::Sqlite, Options { environment, ..Options::default() });
    let form = json!({ "name": "x", "kind": "sqlite", "url": "sqlite:store.db" });
    refused(&server.post(SOURCES, &form), 400, "invalid_input");
}

#[test]
fn a_test_reports_product_or_error() {
    let lake = Lake::start(&stores()[0]);
    lake.run("shop.db", "CREATE TABLE t (a)");
    let id = lake.source("shop.db");
    let test = |id: i64| lake.server.post(&format!("{}/test", path(id)), &json!({}));
    let answer = test(id).data();
    assert_eq!((&answer["ok"], &answer["product"]), (&json!(true), &json!("SQLite")));
    assert!(answer["version"].as_str().expect("a version").starts_with("3."));
    assert!(answer["latencyMs"].as_f64().expect("a number") > 0.0);
    let databases = lake.server.get(&format!("{}/databases", path(id))).data();
    assert_eq!(databases, json!([{ "name": "main", "comment": null }]));

    std::fs::write(lake.path("garbage.db"), [7u8; 5000]).expect("a file");
    refused(&test(lake.source("garbage.db")), 502, "upstream_failed");
    refused(&test(lake.source("missing.db")), 502, "unreachable");
    let locked = on_sqlite(&lake.path("shop.db"), async |connection| {
        connection.execute("BEGIN EXCLUSIVE").await.expect("the lock");
        let client = lake.server.client();
        let asking =
            tokio::task::spawn_blocking(move || client.post(&format!("{}/test", path(id)), &json!({})));
        asking.await.expect("an answer")
    });
    refused(&locked, 504, "upstream_timeout");
    let reason = json!({ "reason": "we look into it" });
    lake.server.post("/api/v1/plugins/sqlite/quarantine", &reason).data();
    let quarantined = test(id);
    refused(&quarantined, 503, "plugin_quarantined");
    assert!(quarantined.message().contains("we look into it"));
}

#[test]
fn roles_and_bindings_bound_who_may_do_what() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("a.db", "CREATE TABLE t (a)");
        let id = lake.source("a.db");
        let make = |client: &lakeport_tests::Client, form: Value| {
            client.post("/api/v1/tokens", &form).data()["token"].as_str().expect("a token").to_owned()
        };
        let admin = make(&lake.server.client(), json!({ "name": "root", "role": "admin" }));
        let admin = lake.server.client_as(&admin);
        let editor = lake.server.client_as(&make(&admin, json!({ "name": "e", "role": "editor" })));
        let form = json!({ "name": "b.db", "kind": "sqlite", "url": "sqlite:a.db" });
        let other = admin.post(SOURCES, &form).data();
        let bound = json!({ "name": "v", "role": "viewer", "datasources": ["b.db"] });
        let bound = lake.server.client_as(&make(&admin, bound));
        refused(&editor.post(SOURCES, &form), 403, "insufficient_role");
        refused(&editor.put(&path(id), &json!({})), 403, "insufficient_role");
        refused(&editor.delete(&path(id)), 403, "insufficient_role");
        for what in ["test", "sync"] {
            refused(&editor.post(&format!("{}/{what}", path(id)), &json!({})), 403, "insufficient_role");
        }
        refused(&editor.delete(&format!("{}/sync", path(id))), 403, "insufficient_role");
        refused(&bound.get(&format!("{}/databases", path(id))), 403, "datasource_not_allowed");
        assert_eq!(bound.get(SOURCES).data()["total"], 3);
        assert_eq!(bound.get(&format!("{}/databases", path(&other["id"]))).status, 200);
        refused(&bound.get(&format!("{}/sync", path(id))), 403, "datasource_not_allowed");
        assert_eq!(bound.get(&format!("{}/sync", path(&other["id"]))).data(), Value::Null);
        refused(&lake.server.get(SOURCES), 401, "unauthenticated");
        let changes = admin.get("/api/v1/audit?resource=datasource&outcome=success").data();
        assert!(
            changes["records"].as_array().expect("records").iter().all(|one| one["afterDigest"].is_string())
        );
    }
}

#[test]
fn tables_are_read_in_and_what_changed_is_counted() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run(
            "shop.db",
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, state TEXT NOT NULL DEFAULT 'new', paid REAL);
             CREATE TABLE items (order_id INTEGER, n INTEGER, PRIMARY KEY (order_id, n));
             CREATE TABLE old_deprecated_20260102030405 (a);
             CREATE VIEW open_orders AS SELECT * FROM orders WHERE state = 'new';
             CREATE INDEX by_state ON orders (state);",
        );
        let id = lake.source("shop.db");
        assert_eq!(lake.last_sync(id), Value::Null);
        let first = lake.sync(id);
        assert_eq!(first["state"], "success", "{first}");
        assert_eq!((counts(&first, "tables"), counts(&first, "fields")), ([2, 0, 0], [5, 0, 0]));
        assert_eq!(
            first["progress"],
            json!({ "tablesDone": 3, "tablesTotal": 3 }),
            "one is of the recycle bin"
        );
        assert_eq!(first["errors"], json!([]));
        assert!(first["startedAt"].is_string() && first["finishedAt"].is_string());
        assert_eq!(lake.last_sync(id), first);
        assert_eq!(lake.server.get(&path(id)).data()["lastSyncTime"], first["finishedAt"]);

        let second = lake.sync(id);
        assert_eq!((counts(&second, "tables"), counts(&second, "fields")), ([0; 3], [0; 3]));

        lake.run(
            "shop.db",
            "DROP VIEW open_orders; ALTER TABLE orders DROP COLUMN paid;
             ALTER TABLE orders ADD COLUMN note TEXT; DROP TABLE items; CREATE TABLE refunds (a);",
        );
        let third = lake.sync(id);
        assert_eq!((counts(&third, "tables"), counts(&third, "fields")), ([1, 1, 1], [2, 0, 1]), "{third}");
        assert_eq!(counts(&lake.sync(id), "tables"), [0; 3], "what is missing is counted once");

        lake.run("shop.db", "CREATE TABLE items (order_id INTEGER, n INTEGER, PRIMARY KEY (order_id, n))");
        assert_eq!(counts(&lake.sync(id), "tables"), [0, 1, 0], "it is back");

        let used = lake.server.delete(&path(id));
        refused(&used, 409, "in_use");
        assert!(used.message().contains("3 tables"), "{used:?}");
    }
}

#[test]
fn unreadable_tables_are_reported_others_read() {
    let lake = Lake::start(&stores()[0]);
    let long = "x".repeat(300);
    lake.run("a.db", &format!("CREATE TABLE good (a); CREATE TABLE {long} (a); CREATE TABLE zoo (a);"));
    // A module that this SQLite lacks: a query of its fields fails and is reported.
    lake.run(
        "a.db",
        "PRAGMA writable_schema = ON;
         INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql)
         VALUES ('table', 'broken', 'broken', 0, 'CREATE VIRTUAL TABLE broken USING nosuchmodule(a)');",
    );
    let id = lake.source("a.db");
    let sync = lake.sync(id);
    assert_eq!((&sync["state"], counts(&sync, "tables")), (&json!("success"), [2, 0, 0]), "{sync}");
    let errors = sync["errors"].as_array().expect("errors");
    let about = |name: &str| errors.iter().find(|error| error["table"] == format!("main.{name}"));
    let of_long = about(&long[..255]).unwrap_or_else(|| panic!("{sync}"));
    assert!(of_long["message"].as_str().expect("a message").contains("255 characters"), "{sync}");
    assert!(about("broken").is_some(), "{sync}");
    assert_eq!(counts(&lake.sync(id), "tables"), [0; 3], "what was not read is not missing");
}

#[test]
fn an_unreachable_database_fails_the_sync() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("a.db", "CREATE TABLE t (a)");
        let id = lake.source("a.db");
        assert_eq!(lake.sync(id)["state"], "success");
        let before = lake.server.get(&path(id)).data()["lastSyncTime"].clone();
        let content = std::fs::read(lake.path("a.db")).expect("the file");
        std::fs::write(lake.path("a.db"), [7u8; 5000]).expect("a file");
        let failed = lake.sync(id);
        assert_eq!((&failed["state"], counts(&failed, "tables")), (&json!("failed"), [0; 3]));
        assert_eq!(failed["errors"][0]["table"], Value::Null);
        let message = failed["errors"][0]["message"].as_str().expect("a message");
        assert!(message.contains("not a SQLite database"), "{message}");
        assert!(failed["finishedAt"].is_string());
        std::fs::remove_file(lake.path("a.db")).expect("it is there");
        assert_eq!(lake.sync(id)["state"], "failed");
        assert_eq!(lake.server.get(&path(id)).data()["lastSyncTime"], before);
        std::fs::write(lake.path("a.db"), content).expect("a file");
        let back = lake.sync(id);
        assert_eq!((&back["state"], counts(&back, "tables")), (&json!("success"), [0; 3]));
    }
}

#[test]
fn a_running_sync_is_exclusive_and_cancellable() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("a.db", "CREATE TABLE t (a)");
        let id = lake.source("a.db");
        let sync = format!("{}/sync", path(id));
        refused(&lake.server.delete(&sync), 409, "not_running");
        // Its reader waits for the lock, within a read.
        on_sqlite(&lake.path("a.db"), async |connection| {
            connection.execute("BEGIN EXCLUSIVE").await.expect("the lock");
            let client = lake.server.client();
            let asked = sync.clone();
            let waiting = thread::spawn(move || client.post(&asked, &json!({})).data());
            eventually("it runs", SOON, || (lake.last_sync(id)["state"] == "running").then_some(()));
            refused(&lake.server.post(&sync, &json!({})), 409, "sync_running");
            refused(&lake.server.delete(&path(id)), 409, "sync_running");
            refused(&lake.server.put(&path(id), &json!({ "url": "sqlite:b.db" })), 409, "sync_running");
            assert_eq!(lake.server.put(&path(id), &json!({ "name": "renamed" })).status, 200);
            let begun = Instant::now();
            let cancelled = lake.server.delete(&sync).data();
            assert_eq!(cancelled["state"], "cancelled");
            assert_eq!(waiting.join().expect("an answer")["state"], "cancelled");
            assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
            refused(&lake.server.delete(&sync), 409, "not_running");
        });
        let again = lake.sync(id);
        assert_eq!((&again["state"], counts(&again, "tables")), (&json!("success"), [1, 0, 0]));
    }
}

#[test]
fn a_large_sync_shows_progress_and_cancels() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("big.db", &many(2_000));
        let id = lake.source("big.db");
        let sync = format!("{}/sync", path(id));
        let start = || {
            let (client, path) = (lake.server.client(), sync.clone());
            thread::spawn(move || client.post(&path, &json!({})).data())
        };
        let waiting = start();
        eventually("some are done", SOON, || {
            let progress = &lake.last_sync(id)["progress"];
            let done = progress["tablesDone"].as_i64()?;
            (done > 0 && progress["tablesTotal"] == 2_000).then_some(())
        });
        let cancelled = lake.server.delete(&sync).data();
        let done = cancelled["progress"]["tablesDone"].as_i64().expect("a number");
        assert_eq!(counts(&cancelled, "tables"), [done, 0, 0], "what is counted was written");
        assert!(done < 2_000, "it was in the middle");
        waiting.join().expect("an answer");
        let whole = lake.sync(id);
        assert_eq!(whole["state"], "success");
        assert_eq!(counts(&whole, "tables"), [2_000 - done, 0, 0], "{whole}");
        assert_eq!(counts(&whole, "fields"), [2 * (2_000 - done), 0, 0]);
        assert_eq!(counts(&lake.sync(id), "tables"), [0; 3]);
    }
}

#[test]
fn another_server_continues_a_crashed_sync() {
    for store in stores() {
        // On PostgreSQL each costs the time of a lease.
        let places: &[&str] = match store {
            Store::Sqlite => &["sync.claimed", "sync.batch_written#2", "changes.before_commit#6"],
            Store::Postgres(_) => &["sync.batch_written#2"],
        };
        for &place in places {
            let mut lake = Lake::prepare(&store);
            lake.server.set("LAKEPORT_KILL_AT", place);
            lake.server.run();
            lake.run("a.db", &many(220));
            let id = lake.source("a.db");
            // As a request would whose client no longer waits.
            let running = "INSERT INTO datasource_syncs (datasource_id, state, started_at) VALUES";
            lake.server.execute(&format!("{running} ({id}, 'running', 1)"));
            assert!(lake.server.wait(SOON).is_some(), "{place}: it kills itself");
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.restart();
            assert_eq!(lake.last_sync(id)["finishedAt"], Value::Null, "{place}");
            let sync = lake.sync_ended(id, TAKEN_OVER);
            assert_eq!(
                (&sync["state"], counts(&sync, "tables")),
                (&json!("success"), [220, 0, 0]),
                "{place}"
            );
            assert_eq!(counts(&sync, "fields"), [440, 0, 0], "{place}");
            assert_eq!(sync["progress"], json!({ "tablesDone": 220, "tablesTotal": 220 }), "{place}");
            assert_eq!(counts(&lake.sync(id), "tables"), [0; 3], "{place}");
        }
    }
}

#[test]
fn an_orphaned_sync_can_be_cancelled() {
    let lake = Lake::start(&stores()[0]);
    lake.run("a.db", "CREATE TABLE t (a)");
    let id = lake.source("a.db");
    let held = "INSERT INTO leases (name, owner, epoch, expires_at) VALUES";
    lake.server.execute(&format!("{held} ('datasource_sync/{id}', 'another server', 1, 99999999999999)"));
    let begun = Instant::now();
    let running = lake.sync(id);
    assert_eq!((&running["state"], &running["finishedAt"]), (&json!("running"), &Value::Null));
    assert_eq!(running["progress"], json!({ "tablesDone": 0, "tablesTotal": null }));
    assert!(begun.elapsed() > Duration::from_secs(19) && begun.elapsed() < Duration::from_secs(60));
    assert_eq!(lake.server.delete(&format!("{}/sync", path(id))).data()["state"], "cancelled");
    lake.server.execute("DELETE FROM leases");
    assert_eq!(lake.sync(id)["state"], "success");
}

#[test]
fn a_server_that_stops_gives_the_work_back_at_once() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        lake.run("a.db", "CREATE TABLE t (a)");
        let id = lake.source("a.db");
        on_sqlite(&lake.path("a.db"), async |connection| {
            connection.execute("BEGIN EXCLUSIVE").await.expect("the lock");
            let client = lake.server.client();
            let asked = format!("{SOURCES}/{id}/sync");
            let waiting = thread::spawn(move || client.post(&asked, &json!({})).data());
            eventually("it runs", SOON, || (lake.last_sync(id)["state"] == "running").then_some(()));
            lake.server.stop();
            assert_eq!(waiting.join().expect("an answer")["state"], "running");
        });
        lake.server.run();
        let begun = Instant::now();
        let sync = lake.sync_ended(id, SOON);
        assert_eq!((&sync["state"], counts(&sync, "tables")), (&json!("success"), [1, 0, 0]));
        assert!(begun.elapsed() < Duration::from_secs(10), "no wait for a lease: {:?}", begun.elapsed());
    }
}

#[test]
fn a_cron_starts_a_reading_by_itself() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.run("a.db", "CREATE TABLE t (a)");
        let form =
            json!({ "name": "a", "kind": "sqlite", "url": "sqlite:a.db", "syncCron": "* * * * * ? *" });
        let id = lake.create(&form)["id"].as_i64().expect("an id");
        let read = eventually("it is read in", SOON, || {
            let time = lake.server.get(&path(id)).data()["lastSyncTime"].clone();
            (!time.is_null()).then_some(time)
        });
        eventually("and read in again", SOON, || {
            (lake.server.get(&path(id)).data()["lastSyncTime"] != read).then_some(())
        });
        lake.server.put(&path(id), &json!({ "syncCron": null })).data();
        assert_eq!(lake.sync_ended(id, SOON)["state"], "success");
    }
}

#[test]
fn the_same_key_gets_the_same_answer() {
    let lake = Lake::start(&stores()[0]);
    lake.run("a.db", "CREATE TABLE t (a)");
    let client = lake.server.client();
    let form = json!({ "name": "a", "kind": "sqlite", "url": "sqlite:a.db" }).to_string();
    let make = || client.send("POST", SOURCES, &[("Idempotency-Key", "k")], form.as_bytes());
    let (first, again) = (make(), make());
    assert_eq!((first.data(), first.header("etag")), (again.data(), again.header("etag")));
    let sync = format!("{}/sync", path(&first.data()["id"]));
    let start = || client.send("POST", &sync, &[("Idempotency-Key", "s")], b"");
    assert_eq!(start().data(), start().data());
}

#[test]
fn replicas_share_the_work() {
    let Some(store) = stores().into_iter().find(|store| matches!(store, Store::Postgres(_))) else { return };
    let lake = Lake::start(&store);
    let roots = lake.files.path().display().to_string();
    let environment = &[("LAKEPORT_SQLITE_ROOTS", roots.as_str())];
    let mut other = lake.server.replica(Options { environment, ..Options::default() });
    other.run();
    lake.run("a.db", &many(300));
    let id = lake.source("a.db");
    let sync = format!("{}/sync", path(id));
    // Whichever server is asked, one of them reads, and both know when it has ended.
    let started = other.post(&sync, &json!({})).data();
    assert_eq!(
        (&started["state"], counts(&started, "tables")),
        (&json!("success"), [300, 0, 0]),
        "{started}"
    );
    assert_eq!(lake.last_sync(id), other.get(&sync).data());
    assert_eq!(counts(&lake.sync(id), "tables"), [0; 3]);
}

#[test]
fn all_errors_of_a_data_source_together() {
    for store in stores() {
        let lake = Lake::start(&store);
        let id = lake.source("a.db");
        let form = json!({ "name": " ", "kind": "sqlite", "url": "sqlite:/etc/passwd", "options": 7,
            "syncCron": "0 0 0 30 2 ? *", "isDefault": "yes" });
        let all = ["isDefault", "name", "options", "syncCron", "url"];
        assert_eq!(named(&lake.server.post(SOURCES, &form)), all);
        assert_eq!(named(&lake.server.put(&path(id), &form)), all);
        let nulls = json!({ "name": null, "kind": null, "url": null, "isDefault": null });
        assert_eq!(named(&lake.server.put(&path(id), &nulls)), ["isDefault", "kind", "name", "url"]);
        // As it was read.
        let shown = lake.server.get(&path(id)).data();
        assert_eq!(lake.server.put(&path(id), &shown).data()["url"], shown["url"]);
    }
}

#[test]
fn a_missing_body_is_refused_everywhere() {
    let lake = Lake::start(&stores()[0]);
    let client = lake.server.client();
    for (method, path) in [
        ("POST", "/api/v1/workflows"),
        ("PUT", "/api/v1/workflows/1"),
        ("PUT", "/api/v1/workflows/1/schedule"),
        ("POST", "/api/v1/tasks"),
        ("PUT", "/api/v1/tasks/1"),
        ("POST", "/api/v1/tables"),
        ("PUT", "/api/v1/tables/1"),
        ("PUT", "/api/v1/tables/1/comment"),
        ("POST", "/api/v1/tables/1/fields"),
        ("PUT", "/api/v1/tables/1/fields/1"),
        ("POST", SOURCES),
        ("PUT", "/api/v1/datasources/1"),
        ("POST", "/api/v1/engines"),
        ("PUT", "/api/v1/engines/other"),
        ("POST", "/api/v1/tokens"),
        ("POST", "/api/v1/nl2sql/topics"),
    ] {
        let send = |body: &[u8]| client.send(method, path, &[], body);
        let told = |response: Response| (response.status, response.error(), response.message());
        assert_eq!(told(send(b"")).1, "body_missing", "{method} {path}");
        let (status, code, message) = told(send(b"{\"name\":\n }"));
        assert_eq!((status, code.as_str()), (400, "invalid_json"), "{method} {path}");
        assert!(message.contains("line 2, column 2"), "{method} {path}: {message}");
        assert_eq!(told(send(b"[]")).1, "invalid_input", "{method} {path}");
    }
    lake.create(
        &json!({ "name": "b", "kind": "sqlite", "url": "sqlite:b.db", "unknown": { "member": [1] } }),
    );
}

#[test]
fn an_unknown_path_is_a_json_404() {
    let lake = Lake::start(&stores()[0]);
    for path in [
        "/api/v1/workflows/..",
        "/api/v1/workflows/../tasks",
        "/api/v1/workflows/%2e%2e",
        "/api/v1/workflows/..%2f..%2fetc%2fpasswd",
        "/api/v1/workflows/1%2f..",
        "/api/v1/workflows/%ff",
        "/api/v1/workflows/%00",
        "/api/v1/workflows/%zz",
        "/api/v1/workflows//",
        "/api/v1/plugins/..%2fsqlite",
        "/api/v1/engines/..%2flocal/test",
        "/api/v1/datasources/1%2ftest",
        "/../../etc/passwd",
        "/api/v1/tables/99999999999999999999",
    ] {
        let answer = lake.server.get(path);
        assert!([400, 404, 405].contains(&answer.status), "{path}: {answer:?}");
        assert_eq!(answer.json()["code"], answer.status, "{path}");
        assert!(!answer.message().is_empty() && !answer.error().is_empty(), "{path}: {answer:?}");
    }
}
