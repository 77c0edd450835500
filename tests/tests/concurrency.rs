//! Several clients change or read the same resource at the same time: without `If-Match` every change is made, one
//! after the other; with it, one per version; and what is read is one state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lakeport_tests::{Lake, Response, Store, id_of, stores};
use serde_json::{Value, json};

const CLIENTS: usize = 8;
/// Changes of each client.
const CHANGES: usize = 25;
/// Versions that the clients compete for.
const VERSIONS: usize = 6;

/// A resource: its path and a body that changes it, by a number.
struct Resource {
    path: String,
    body: fn(usize) -> Value,
}

/// One resource of each kind that has an `ETag`, changed in the catalogue alone.
fn resources(lake: &Lake) -> Vec<Resource> {
    let source = lake.source("shop.db");
    let physical = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
    let table = lake.table(source, "planned", &[("id", "INTEGER")]);
    let field = |table: i64| {
        let fields = lake.server.get(&format!("/api/v1/tables/{table}/fields")).data();
        format!("/api/v1/tables/{table}/fields/{}", fields[0]["id"])
    };
    let workflow = lake.workflow("nightly");
    let task = lake.task(workflow, "load", source, "SELECT 1 FROM orders", [&[physical], &[]]);
    let timed = lake.workflow("timed");
    lake.server.post("/api/v1/engines", &json!({ "name": "elsewhere", "plugin": "local" })).data();
    let topic = lake.server.post("/api/v1/nl2sql/topics", &json!({ "title": "a" })).json();
    let topic = topic["topic_id"].as_str().expect("an id");
    let description = |number| json!({ "description": format!("number {number}") });
    let of = |path: String, body: fn(usize) -> Value| Resource { path, body };
    vec![
        of(format!("/api/v1/tables/{physical}"), description),
        of(format!("/api/v1/tables/{table}"), |number| json!({ "owner": format!("owner {number}") })),
        of(format!("/api/v1/tables/{table}/comment"), |number| json!({ "comment": format!("c {number}") })),
        of(field(physical), description),
        of(field(table), |number| json!({ "fieldComment": format!("number {number}") })),
        of(format!("/api/v1/workflows/{workflow}"), description),
        of(format!("/api/v1/tasks/{task}"), |number| json!({ "task": { "timeout": number } })),
        of(
            format!("/api/v1/workflows/{timed}/schedule"),
            |number| json!({ "crontab": format!("{} {} 3 * * ? *", number % 60, number / 60) }),
        ),
        of(format!("/api/v1/datasources/{source}"), |number| json!({ "name": format!("shop {number}") })),
        of("/api/v1/engines/elsewhere".to_owned(), |number| json!({ "config": { "number": number } })),
        of(format!("/api/v1/nl2sql/topics/{topic}"), |number| json!({ "title": format!("number {number}") })),
    ]
}

/// What each client did, at the same time.
fn at_once<T: Send>(work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let clients: Vec<_> = (0..CLIENTS).map(|client| scope.spawn(move || work(client))).collect();
        clients.into_iter().map(|client| client.join().expect("it does not panic")).collect()
    })
}

fn refusals(answers: Vec<Vec<Response>>) -> Vec<Response> {
    answers.into_iter().flatten().filter(|answer| answer.status != 200).collect()
}

#[test]
fn every_client_changes_one_resource() {
    for store in stores() {
        let lake = Lake::start(&store);
        for Resource { path, body } in resources(&lake) {
            let refused = refusals(at_once(|client| {
                let put = |change| lake.server.put(&path, &body(1 + client * CHANGES + change));
                (0..CHANGES).map(put).collect()
            }));
            assert!(refused.is_empty(), "{path}: {} of them, such as {:?}", refused.len(), refused[0]);
        }
    }
}

#[test]
fn one_change_per_version_succeeds() {
    for store in stores() {
        let lake = Lake::start(&store);
        for Resource { path, body } in resources(&lake) {
            let put = |tag: &str, number: usize| {
                let headers = [("If-Match", tag)];
                lake.server.client().send("PUT", &path, &headers, body(number).to_string().as_bytes())
            };
            let mut tag = put("*", 1).header("etag").expect("an ETag").to_owned();
            for version in 1..=VERSIONS {
                let mut answers = at_once(|client| put(&tag, 1 + version * CLIENTS + client));
                assert!(
                    answers.iter().all(|answer| matches!(answer.status, 200 | 412)),
                    "{path}: {answers:?}"
                );
                answers.retain(|answer| answer.status == 200);
                assert_eq!(answers.len(), 1, "{path}: {answers:?}");
                tag = answers[0].header("etag").expect("an ETag").to_owned();
            }
        }
    }
}

#[test]
fn clients_add_fields_and_tasks_together() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let table = lake.table(source, "planned", &[("id", "INTEGER")]);
        let workflow = lake.workflow("nightly");
        let fields = format!("/api/v1/tables/{table}/fields");
        let refused = refusals(at_once(|client| {
            let field = |number| {
                let form = json!({ "fieldName": format!("f_{client}_{number}"), "fieldType": "TEXT" });
                lake.server.post(&fields, &form)
            };
            let task = |number| {
                let task = json!({ "workflowId": workflow, "taskName": format!("t_{client}_{number}"),
                    "taskType": "SQL", "datasourceId": source, "sqlContent": "SELECT 1" });
                lake.server.post("/api/v1/tasks", &json!({ "task": task }))
            };
            (0..CHANGES).flat_map(|number| [field(number), task(number)]).collect()
        }));
        assert!(refused.is_empty(), "{} of them, such as {:?}", refused.len(), refused[0]);
        let added = CLIENTS * CHANGES;
        let fields = lake.server.get(&fields).data();
        let places: Vec<i64> = fields
            .as_array()
            .expect("fields")
            .iter()
            .filter_map(|field| field["fieldOrder"].as_i64())
            .collect();
        assert_eq!(places, (1..=1 + added as i64).collect::<Vec<_>>());
        let detail = lake.server.get(&format!("/api/v1/workflows/{workflow}")).data();
        assert_eq!(detail["tasks"].as_array().map(Vec::len), Some(added));
        assert_eq!(detail["currentVersion"], 1 + added);
    }
}

/// Reads again and again while a change follows the other; returns what does not fit together.
fn torn(lake: &Lake, change: impl Fn(usize) + Sync, read: impl Fn() -> Option<String> + Sync) -> Vec<String> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let reading = || {
            let mut torn = Vec::new();
            while !is_over.load(Ordering::Acquire) {
                torn.extend(read());
            }
            torn
        };
        let readers: Vec<_> = (0..CLIENTS / 2).map(|_| scope.spawn(reading)).collect();
        for number in 1..=2 * CHANGES {
            change(number);
        }
        is_over.store(true, Ordering::Release);
        let _ = lake;
        readers.into_iter().flat_map(|reader| reader.join().expect("it does not panic")).collect()
    })
}

#[test]
fn a_workflows_detail_is_one_snapshot() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let tables = ["a", "b"].map(|name| lake.table(source, name, &[("id", "INTEGER")]));
        let workflow = lake.workflow("nightly");
        let task = lake.task(workflow, "load", source, "SELECT 1", [&[tables[0]], &[]]);
        let path = format!("/api/v1/workflows/{workflow}");
        let found = torn(
            &lake,
            |number| {
                let form = json!({ "task": { "timeout": number }, "inputTableIds": [tables[number % 2]] });
                lake.server.put(&format!("/api/v1/tasks/{task}"), &form).data();
            },
            || {
                let detail = lake.server.get(&path).data();
                let (task, version) = (&detail["tasks"][0], detail["currentVersion"].as_i64().expect("one"));
                let number = task["timeout"].as_i64().expect("a number");
                let is_one = detail["versions"][0]["version"] == version
                    && version == 2 + number
                    && task["inputTableIds"] == json!([tables[usize::try_from(number).expect("one") % 2]]);
                (!is_one).then(|| detail.to_string())
            },
        );
        assert!(found.is_empty(), "{} torn, such as {}", found.len(), found[0]);
    }
}

#[test]
fn a_task_is_read_in_one_snapshot() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let tables = ["a", "b"].map(|name| lake.table(source, name, &[("id", "INTEGER")]));
        let workflow = lake.workflow("nightly");
        let task = lake.task(workflow, "load", source, "SELECT 1", [&[tables[0]], &[tables[0]]]);
        let path = format!("/api/v1/tasks/{task}");
        let fits = |task: &Value| {
            let number = task["timeout"].as_u64().expect("a number") as usize;
            task["inputTableIds"] == json!([tables[number % 2]])
        };
        let found = torn(
            &lake,
            |number| {
                let ids = [tables[number % 2]];
                let form =
                    json!({ "task": { "timeout": number }, "inputTableIds": ids, "outputTableIds": ids });
                lake.server.put(&path, &form).data();
            },
            || {
                let one = lake.server.get(&path).data();
                let listed = lake.server.get("/api/v1/tasks").data()["records"][0].clone();
                let lineage = lake.server.get(&format!("{path}/lineage")).data();
                let is_one = fits(&one)
                    && fits(&listed)
                    && lineage["inputTables"][0]["id"] == lineage["outputTables"][0]["id"];
                (!is_one).then(|| format!("{one} {listed} {lineage}"))
            },
        );
        assert!(found.is_empty(), "{} torn, such as {}", found.len(), found[0]);
    }
}

/// A client that polls and a client that changes, in between which only the status changes.
#[test]
fn a_status_is_news_and_no_conflict() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let table = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let workflow = lake.workflow("nightly");
        lake.task(workflow, "load", source, "INSERT INTO orders VALUES (1)", [&[], &[table]]);
        lake.deploy(workflow);
        let status = || {
            let run = lake.execute(workflow);
            lake.ended(&run, 1);
        };
        poll_and_change(&lake, &format!("/api/v1/workflows/{workflow}"), status);
        let statistics = || {
            lake.run("shop.db", "INSERT INTO orders VALUES (2)");
            lake.server.get(&format!("/api/v1/tables/{table}/statistics?forceRefresh=true")).data();
        };
        poll_and_change(&lake, &format!("/api/v1/tables/{table}"), statistics);
        let sync = || drop(lake.read_in(source));
        poll_and_change(&lake, &format!("/api/v1/datasources/{source}"), sync);
    }
}

fn poll_and_change(lake: &Lake, path: &str, status: impl Fn()) {
    let client = lake.server.client();
    let poll = |tag: &str| client.send("GET", path, &[("If-None-Match", tag)], b"");
    let put_if = |header: (&str, &str), name: &str| {
        let member = if path.contains("datasources") { "name" } else { "description" };
        client.send("PUT", path, &[header], json!({ member: name }).to_string().as_bytes())
    };
    let put = |tag: &str, name: &str| put_if(("If-Match", tag), name);
    let first = client.get(path).header("etag").expect("an ETag").to_owned();
    let known = poll(&first);
    assert_eq!((known.status, known.header("etag"), known.body.len()), (304, Some(&*first), 0), "{path}");
    for same in [format!("W/{first}"), format!("\"other\", {first}"), "*".to_owned()] {
        assert_eq!(poll(&same).status, 304, "{path}: {same}");
    }
    status();
    let news = poll(&first);
    let second = news.header("etag").expect("an ETag").to_owned();
    assert_eq!((news.status, second == first), (200, false), "{path}: the status is not missed");
    assert_eq!(put(&format!("W/{first}"), "weak").status, 412, "{path}: a weak tag");
    assert_eq!(put("\"other\"", "other").status, 412, "{path}");
    let changed = put(&first, "first");
    assert_eq!(changed.status, 200, "{path}: only the status changed: {changed:?}");
    assert_eq!(put(&second, "second").status, 412, "{path}: the definition changed");
    assert_eq!(poll(&second).status, 200, "{path}");
    let third = changed.header("etag").expect("an ETag").to_owned();
    assert_eq!(put(&format!("\"other\", {third}"), "third").status, 200, "{path}: one of a list");
    assert_eq!(put("*", "any").status, 200, "{path}");
    assert_eq!(put_if(("If-None-Match", "*"), "new").status, 412, "{path}: it exists");
}

#[test]
fn a_compressed_answer_has_its_own_tag() {
    let lake = Lake::start(&Store::Sqlite);
    let table =
        id_of(&lake.server.post("/api/v1/tables", &json!({ "tableName": "t", "dbName": "main" })).data());
    let (path, client) = (format!("/api/v1/tables/{table}"), lake.server.client());
    client.put(&path, &json!({ "description": "x".repeat(4_000) })).data();
    let plain = client.get(&path).header("etag").expect("an ETag").to_owned();
    let gzip = [("Accept-Encoding", "gzip")];
    let packed = client.send("GET", &path, &gzip, b"").header("etag").expect("an ETag").to_owned();
    assert_ne!(plain, packed);
    for tag in [&plain, &packed] {
        let headers = [gzip[0], ("If-None-Match", tag.as_str())];
        assert_eq!(client.send("GET", &path, &headers, b"").status, 304, "{tag}");
    }
    assert_eq!(client.send("PUT", &path, &[("If-Match", &packed)], br#"{"owner":"ann"}"#).status, 200);
}
