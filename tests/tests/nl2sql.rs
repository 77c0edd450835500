//! Questions over HTTP: topics, messages, tasks and their streams, with the offline model (contract, section
//! 2).

use std::time::{Duration, Instant};

use lakeport_tests::{
    Client, Event, EventStream, Lake, Options, Response, Server, Session, eventually, named, refused, stores,
};
use serde_json::{Value, json};

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";
const SOON: Duration = Duration::from_secs(30);
const TREND: &str = "How many workflows were published per day in the last 30 days?";
const TREND_CHINESE: &str = "最近30天工作流发布次数的趋势";
const NONSENSE: &str = "How many blue rainbows sing in the kitchen?";

fn ok(response: Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn topic(client: &Client, title: &str) -> String {
    text(&ok(client.post(TOPICS, &json!({ "title": title })))["topic_id"])
}

fn deliver(client: &Client, topic: &str, content: &str) -> String {
    let body = json!({ "topic_id": topic, "content": content });
    let receipt = ok(client.post(&format!("{TASKS}/deliver-message"), &body));
    assert_eq!(receipt["accepted"], true);
    text(&receipt["task_id"])
}

fn task(client: &Client, id: &str) -> Value {
    ok(client.get(&format!("{TASKS}/{id}")))
}

fn ended(client: &Client, id: &str) -> Value {
    eventually("the task ends", SOON, || {
        let task = task(client, id);
        (!matches!(task["status"].as_str(), Some("waiting" | "running"))).then_some(task)
    })
}

fn stream(server: &Server, task: &str, after: &str, headers: &[(&str, &str)]) -> EventStream {
    EventStream::open(server.address(), &format!("{TASKS}/{task}/events/stream{after}"), headers)
}

fn lakes() -> Vec<Lake> {
    stores().iter().map(Lake::start).collect()
}

fn check_events(events: &[Event], task: &str) {
    for (place, event) in events.iter().enumerate() {
        assert_eq!(event.id, place as i64 + 1, "{events:?}");
        let data = &event.data;
        assert_eq!((&data["seq"], &data["type"]), (&json!(event.id), &json!(event.kind)), "{data}");
        assert_eq!(data["task_id"], task);
        let at = text(&data["created_at"]);
        assert!(at.len() == 24 && at.ends_with('Z'), "{at}");
        let members: &[&str] = match event.kind.as_str() {
            "thinking" => &["content"],
            "tool_call" => &["call_id", "tool", "input"],
            "tool_result" => &["call_id", "tool", "ok", "output", "duration_ms", "truncated"],
            "message" => &["message_id", "content", "artifacts", "outcome"],
            "error" => &["code", "message", "retryable"],
            other => panic!("an event of the type {other}"),
        };
        assert!(members.iter().all(|name| data.get(name).is_some()), "{data}");
        assert_eq!(data["ok"] == false, event.kind == "tool_result" && data.get("error").is_some(), "{data}");
    }
}

#[test]
fn a_topic_is_opened_read_changed_and_deleted() {
    for store in stores() {
        let server = Server::start(&store);
        let client = server.client();
        for body in [
            json!({}),
            json!({ "title": " \n" }),
            json!({ "title": 7 }),
            json!({ "title": "a", "datasources": "x" }),
        ] {
            refused(&client.post(TOPICS, &body), 400, "invalid_input");
        }
        refused(
            &client.post(TOPICS, &json!({ "title": "a", "datasources": ["nowhere"] })),
            400,
            "invalid_input",
        );
        let made = client.post(TOPICS, &json!({ "title": "发布", "datasources": ["lakeport"] }));
        let etag = made.header("etag").expect("an ETag").to_owned();
        let made = ok(made);
        let path = format!("{TOPICS}/{}", text(&made["topic_id"]));
        assert_eq!(made["title"], "发布");
        assert_eq!((&made["datasources"], &made["message_count"]), (&json!(["lakeport"]), &json!(0)));
        for absent in ["last_task_id", "last_task_status"] {
            assert!(made.get(absent).is_some_and(Value::is_null), "{made}");
        }
        assert_eq!(ok(client.get(&path)), made);
        let stale = client.send("PUT", &path, &[("If-Match", "\"no\"")], br#"{"title":"b"}"#);
        refused(&stale, 412, "precondition_failed");
        let changed = client.send("PUT", &path, &[("If-Match", &etag)], br#"{"datasources":null}"#);
        assert_ne!(changed.header("etag"), Some(etag.as_str()));
        let changed = ok(changed);
        assert_eq!((&changed["title"], &changed["datasources"]), (&json!("发布"), &json!(null)));
        let second = topic(&client, "second");
        let page = ok(client.get(&format!("{TOPICS}?page=1&page_size=1")));
        assert_eq!((&page["total"], &page["page"], &page["page_size"]), (&json!(2), &json!(1), &json!(1)));
        assert_eq!(page["items"][0]["topic_id"], second, "the newest first");
        refused(&client.get(&format!("{TOPICS}?page=0&page_size=201")), 400, "invalid_input");
        refused(&client.get(&format!("{TOPICS}/7")), 400, "invalid_input");
        ok(client.delete(&path));
        refused(&client.get(&path), 404, "not_found");
        refused(&client.delete(&path), 404, "not_found");
        let body = json!({ "topic_id": made["topic_id"], "content": "hi" });
        refused(&client.post(&format!("{TASKS}/deliver-message"), &body), 404, "not_found");
        let body = json!({ "topic_id": second, "content": "  " });
        refused(&client.post(&format!("{TASKS}/deliver-message"), &body), 400, "invalid_input");
    }
}

#[test]
fn topics_belong_to_their_maker_and_admins_read_them() {
    for store in stores() {
        let mut server = Server::prepare(&store, Options::default());
        let root = server.token("admin", "root");
        let (ann, bob) = (server.token("viewer", "ann"), server.token("viewer", "bob"));
        server.run();
        let [root, ann, bob] = [root, ann, bob].map(|token| server.client_as(&token));
        let id = topic(&ann, "mine");
        let path = format!("{TOPICS}/{id}");
        let task_id = deliver(&ann, &id, NONSENSE);
        ended(&ann, &task_id);
        let task_path = format!("{TASKS}/{task_id}");
        for read in [path.clone(), format!("{path}/messages"), task_path.clone()] {
            assert_eq!(ann.get(&read).status, 200);
            assert_eq!(root.get(&read).status, 200);
            refused(&bob.get(&read), 404, "not_found");
        }
        refused(&bob.get(&format!("{task_path}/events/stream")), 404, "not_found");
        refused(&bob.post(&format!("{task_path}/cancel"), &json!({})), 404, "not_found");
        let body = json!({ "topic_id": id, "content": "and I?" });
        let deliver_path = format!("{TASKS}/deliver-message");
        refused(&bob.post(&deliver_path, &body), 404, "not_found");
        refused(&bob.delete(&path), 404, "not_found");
        refused(&root.delete(&path), 403, "not_owner");
        refused(&root.post(&deliver_path, &body), 403, "not_owner");
        assert_eq!(ok(bob.get(TOPICS))["total"], 0);
        assert_eq!(ok(ann.get(TOPICS))["total"], 1);
        ok(ann.delete(&path));
    }
}

#[test]
fn a_bound_token_opens_no_foreign_topics() {
    let mut lake = Lake::prepare(&stores()[0]);
    let root = lake.server.token("admin", "root");
    lake.server.run();
    let root = lake.server.client_as(&root);
    for name in ["shop", "bank"] {
        let form = json!({ "name": name, "kind": "sqlite", "url": format!("sqlite:{name}.db") });
        root.post("/api/v1/datasources", &form).data();
    }
    let made = root
        .post("/api/v1/tokens", &json!({ "role": "viewer", "name": "v", "datasources": ["shop"] }))
        .data();
    let bound = lake.server.client_as(made["token"].as_str().unwrap());
    assert_eq!(bound.post(TOPICS, &json!({ "title": "a", "datasources": ["shop"] })).status, 200);
    for other in ["bank", "nowhere"] {
        let refusal = bound.post(TOPICS, &json!({ "title": "a", "datasources": [other] }));
        refused(&refusal, 403, "datasource_not_allowed");
    }
    // A caller bound to another data source sees nothing of the server's own store.
    let topic = topic(&bound, "all that I may read");
    let task_id = deliver(&bound, &topic, TREND);
    let ended = ended(&bound, &task_id);
    let events = EventStream::open(
        lake.server.address(),
        &format!("{TASKS}/{task_id}/events/stream"),
        &[("Authorization", &format!("Bearer {}", made["token"].as_str().unwrap()))],
    )
    .all();
    assert!(!events.is_empty() && ended["status"] != "suspended");
    let said: String = events.iter().map(|event| event.data.to_string()).collect();
    assert!(!said.contains("publications"), "{said}");
}

#[test]
fn an_unanswerable_question_gets_a_message() {
    for lake in lakes() {
        let client = lake.server.client();
        let topic = topic(&client, "strange");
        for question in [NONSENSE, "厨房里有多少条蓝色的彩虹在唱歌？"] {
            let id = deliver(&client, &topic, question);
            let events = stream(&lake.server, &id, "", &[]).all();
            check_events(&events, &id);
            let last = events.last().expect("events");
            assert_eq!(last.kind, "message", "{events:?}");
            let said = text(&last.data["content"]);
            assert!(said.starts_with("I cannot answer that") || said.starts_with("无法回答"), "{said}");
            assert_eq!(last.data["artifacts"], json!([]));
            assert_eq!(last.data["outcome"], "refused");
            assert!(said.contains(&text(&last.data["reason"])), "{last:?}");
            let suggestions = last.data["suggestions"].as_array().expect("a list");
            assert!(
                suggestions.len() <= 3 && suggestions.iter().all(|one| said.contains(&text(one))),
                "{last:?}"
            );
            assert_eq!(ended(&client, &id)["status"], "success");
        }
        let messages = ok(client.get(&format!("{TOPICS}/{topic}/messages")));
        let roles: Vec<String> =
            messages["items"].as_array().unwrap().iter().map(|m| text(&m["role"])).collect();
        assert_eq!(roles, ["user", "assistant", "user", "assistant"], "the oldest first");
        let [asked, said] = [0, 1].map(|place| messages["items"][place].clone());
        assert_eq!((&asked["outcome"], &asked["candidates"]), (&Value::Null, &json!([])));
        assert_eq!(said["outcome"], "refused");
        assert!(text(&said["content"]).contains(&text(&said["reason"])), "{said}");
    }
}

#[test]
fn an_answer_is_rated_by_its_reader() {
    for lake in lakes() {
        let ann = lake.server.client_as(&lake.server.token("viewer", "ann"));
        let bob = lake.server.client_as(&lake.server.token("viewer", "bob"));
        let root = lake.server.client_as(&lake.server.token("admin", "root"));
        let topic = topic(&ann, "rated");
        ended(&ann, &deliver(&ann, &topic, "help"));
        let list = || ok(ann.get(&format!("{TOPICS}/{topic}/messages")))["items"].clone();
        let [asked, said] = [0, 1].map(|place| text(&list()[place]["message_id"]));
        assert!(list()[1]["feedback"].is_null());
        let path = |id: &str| format!("/api/v1/nl2sql/messages/{id}/feedback");
        let rated = ok(ann.post(&path(&said), &json!({ "rating": "down", "comment": "太短" })));
        assert_eq!((&rated["rating"], &rated["comment"]), (&json!("down"), &json!("太短")));
        assert_eq!(list()[1]["feedback"], rated);
        ok(ann.post(&path(&said), &json!({ "rating": "up" })));
        let now = list()[1]["feedback"].clone();
        assert_eq!((&now["rating"], &now["comment"]), (&json!("up"), &Value::Null), "it replaces the former");
        refused(&ann.post(&path(&said), &json!({ "rating": "fine" })), 400, "invalid_input");
        refused(&ann.post(&path(&asked), &json!({ "rating": "up" })), 409, "not_an_answer");
        refused(&bob.post(&path(&said), &json!({ "rating": "up" })), 404, "not_found");
        refused(&root.post(&path(&said), &json!({ "rating": "up" })), 403, "not_owner");
        assert_eq!(list()[1]["feedback"], now);
    }
}

/// A name that two tables have: each candidate is a message that is answered.
#[test]
fn a_name_of_several_tables_is_made_clear() {
    for lake in lakes() {
        for source in ["one.db", "two.db"] {
            let id = lake.source(source);
            lake.physical_table(id, "orders", &[("id", "INTEGER")]);
        }
        let client = lake.server.client();
        let topic = topic(&client, "which");
        let last = |question: &str| {
            let id = deliver(&client, &topic, question);
            let events = stream(&lake.server, &id, "", &[]).all();
            check_events(&events, &id);
            events.last().expect("events").data.clone()
        };
        for question in ["What is the lineage of orders?", "orders 的下游"] {
            let asks = last(question);
            assert_eq!(asks["outcome"], "needs_clarification", "{asks}");
            let candidates = asks["candidates"].as_array().expect("a list").clone();
            assert_eq!(candidates.len(), 2, "{asks}");
            let messages = ok(client.get(&format!("{TOPICS}/{topic}/messages?page_size=200")));
            let stored = messages["items"].as_array().expect("a list").last().expect("messages").clone();
            assert_eq!(stored["candidates"], asks["candidates"]);
            for candidate in candidates {
                let answer = last(&text(&candidate["content"]));
                assert_eq!(answer["outcome"], "answered", "{candidate}: {answer}");
            }
        }
    }
}

#[test]
fn a_table_of_an_answer_is_a_file_for_those_who_may_read_the_topic() {
    for lake in lakes() {
        let id = lake.source("shop.db");
        lake.physical_table(id, "orders", &[("id", "INTEGER"), ("city", "TEXT")]);
        lake.run("shop.db", "INSERT INTO orders VALUES (1, 'a,b'), (2, 'a,b'), (3, NULL)");
        let root = lake.server.token("admin", "root");
        let ann = lake.server.client_as(&lake.server.token("viewer", "ann"));
        let bob = lake.server.client_as(&lake.server.token("viewer", "bob"));
        let topic = topic(&ann, "orders");
        let id = deliver(&ann, &topic, "Number of orders per city");
        assert_eq!(ended(&ann, &id)["status"], "success");
        let bearer = format!("Bearer {}", lake.server.token("admin", "reader"));
        let events = stream(&lake.server, &id, "", &[("Authorization", &bearer)]).all();
        let answer = &events.last().expect("events").data;
        assert_eq!(answer["outcome"], "answered", "{answer}");
        let call = events.iter().find(|event| event.data["tool"] == "run_sql").expect("a call");
        let path = format!("{TASKS}/{id}/results/{}", text(&call.data["call_id"]));
        let csv = ann.get(&path);
        assert_eq!((csv.status, csv.header("content-type")), (200, Some("text/csv; charset=utf-8")));
        assert_eq!(csv.header("x-truncated"), Some("false"));
        assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"result.csv\""));
        let body = String::from_utf8(csv.body.clone()).expect("it is UTF-8");
        assert!(body.contains("\"a,b\",2\r\n") && body.contains(",1\r\n"), "{body}");
        let lines = String::from_utf8(ann.get(&format!("{path}?format=ndjson")).body).expect("it is UTF-8");
        let rows: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert!(rows.len() == 2 && rows.iter().any(|row| row["city"].is_null()), "{lines}");
        refused(&ann.get(&format!("{path}?format=xlsx")), 400, "invalid_input");
        let parquet = ann.get(&format!("{path}?format=parquet"));
        let media = parquet.header("content-type");
        assert_eq!((parquet.status, media), (200, Some("application/vnd.apache.parquet")));
        assert!(parquet.body.starts_with(b"PAR1") && parquet.body.ends_with(b"PAR1"));
        refused(&bob.get(&path), 404, "not_found");
        let none = format!("{TASKS}/{id}/results/{id}");
        refused(&ann.get(&none), 404, "not_found");
        assert_eq!(lake.server.client_as(&root).get(&path).status, 200, "an admin may read it");
    }
}

#[test]
fn a_file_holds_the_rows_that_an_answer_does_not_show() {
    for lake in lakes() {
        let id = lake.source("shop.db");
        lake.physical_table(id, "orders", &[("id", "INTEGER"), ("city", "TEXT")]);
        lake.run(
            "shop.db",
            "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) \
             INSERT INTO orders SELECT i, 'city ' || i FROM n",
        );
        let ann = lake.server.client_as(&lake.server.token("viewer", "ann"));
        let bearer = format!("Bearer {}", lake.server.token("admin", "reader"));
        let id = deliver(&ann, &topic(&ann, "orders"), "Number of orders per city");
        assert_eq!(ended(&ann, &id)["status"], "success");
        let events = stream(&lake.server, &id, "", &[("Authorization", &bearer)]).all();
        let answer = &events.last().expect("events").data;
        let table = answer["artifacts"].as_array().expect("a list").iter().find(|one| one["kind"] == "table");
        let table = table.expect("a table");
        assert_eq!((&table["row_count"], &table["truncated"]), (&json!(1_000), &json!(true)), "{answer}");
        let call = events.iter().find(|event| event.data["tool"] == "run_sql").expect("a call");
        let file = ann.get(&format!("{TASKS}/{id}/results/{}?format=ndjson", text(&call.data["call_id"])));
        let lines = String::from_utf8(file.body.clone()).expect("it is UTF-8").lines().count();
        assert_eq!((lines, file.header("x-truncated")), (2_500, Some("false")));
    }
}

#[test]
fn edited_sql_passes_the_guard_and_is_logged_as_the_callers() {
    const RUN: &str = "/api/v1/nl2sql/run";
    for lake in lakes() {
        let id = lake.source("shop.db");
        let table = lake.physical_table(id, "orders", &[("id", "INTEGER"), ("city", "TEXT")]);
        lake.run("shop.db", "INSERT INTO orders VALUES (1, 'x'), (2, 'y'), (3, NULL)");
        let ann = lake.server.client_as(&lake.server.token("viewer", "ann"));
        let run = |form: Value| ann.post(RUN, &form);
        let sql = "SELECT id, city FROM orders ORDER BY id";
        let all = ok(run(json!({ "datasource": "shop.db", "sql": sql })));
        assert_eq!(all["rows"], json!([[1, "x"], [2, "y"], [3, null]]));
        assert_eq!((&all["row_count"], &all["truncated"]), (&json!(3), &json!(false)));
        assert_eq!((&all["columns"][1]["name"], &all["sql"]), (&json!("city"), &json!(sql)));
        let some = ok(run(json!({ "datasource": "shop.db", "sql": sql, "maxRows": 2 })));
        assert_eq!((&some["row_count"], &some["truncated"]), (&json!(2), &json!(true)));
        for hostile in [
            "DELETE FROM orders",
            "SELECT 1; SELECT 2",
            "PRAGMA user_version",
            "SELECT * FROM sqlite_master",
            "SELECT :a",
        ] {
            let refusal = run(json!({ "datasource": "shop.db", "sql": hostile }));
            refused(&refusal, 400, "guard_refused");
        }
        let wrong = json!({ "datasource": "nowhere", "sql": "SELECT 1", "maxRows": 0 });
        assert_eq!(named(&run(wrong)), ["datasource", "maxRows"]);
        refused(&run(json!({ "datasource": "shop.db", "sql": " " })), 400, "invalid_input");
        refused(
            &run(json!({ "datasource": "shop.db", "sql": "SELECT 1", "maxRows": 0 })),
            400,
            "invalid_input",
        );
        let unknown = run(json!({ "datasource": "shop.db", "sql": "SELECT ctiy FROM orders" }));
        refused(&unknown, 400, "invalid_input");
        assert!(unknown.json().to_string().contains("no such column: ctiy"), "{}", unknown.json());
        let heat = ann.get(&format!("/api/v1/tables/{table}/access-stats")).data();
        assert!(heat.to_string().contains("\"ann\""), "{heat}");
    }
}

/// Publishes so many versions today; returns the publications by day.
fn publish(lake: &Lake, count: usize) {
    lake.source("shop.db");
    let table = lake.physical_table(2, "a", &[("id", "INTEGER"), ("v", "TEXT")]);
    for at in 0..count {
        let id = lake.workflow(&format!("w{at}"));
        lake.task(id, "fill", 2, "INSERT INTO a (v) VALUES ('x')", [&[], &[table]]);
        lake.deploy(id);
    }
}

#[test]
fn the_trend_of_publications_is_answered_in_both_languages() {
    // Questions about the server itself need a SQLite store.
    let Some(store) = stores().into_iter().find(|store| !store.is_postgres()) else { return };
    let lake = Lake::start(&store);
    publish(&lake, 3);
    let client = lake.server.client();
    let topic = topic(&client, "trend");
    for question in [TREND, TREND_CHINESE] {
        let id = deliver(&client, &topic, question);
        let events = stream(&lake.server, &id, "", &[]).all();
        check_events(&events, &id);
        let kinds: Vec<&str> = events.iter().map(|event| event.kind.as_str()).collect();
        for kind in ["thinking", "tool_call", "tool_result", "message"] {
            assert!(kinds.contains(&kind), "{kinds:?}");
        }
        let message = &events.last().unwrap().data;
        let artifact = |kind: &str| {
            let artifacts = message["artifacts"].as_array().unwrap();
            artifacts
                .iter()
                .find(|artifact| artifact["kind"] == kind)
                .unwrap_or_else(|| panic!("no {kind}: {message}"))
        };
        assert_eq!(artifact("sql")["datasource"], "lakeport");
        assert!(artifact("chart")["spec"].is_object());
        let table = artifact("table");
        let rows = table["rows"].as_array().unwrap();
        assert_eq!((rows.len(), &table["row_count"], &table["truncated"]), (30, &json!(30), &json!(false)));
        let counts: Vec<i64> = rows.iter().map(|row| row[1].as_i64().unwrap()).collect();
        // All publications are of today, unless the day just ended.
        assert_eq!(counts.iter().sum::<i64>(), 3, "{rows:?}");
        assert_eq!(counts[..28], [0; 28], "days without any are there");
        let said = text(&message["content"]);
        assert!(said.contains('3'), "{said}");
        let task = ended(&client, &id);
        assert_eq!(
            (&task["status"], &task["provider"], &task["error"]),
            (&json!("success"), &json!("offline"), &json!(null))
        );
        let messages = ok(client.get(&format!("{TOPICS}/{topic}/messages?page_size=200")));
        let last = messages["items"].as_array().unwrap().last().unwrap().clone();
        assert_eq!((&last["content"], &last["artifacts"]), (&message["content"], &message["artifacts"]));
        assert_eq!(last["message_id"], message["message_id"]);
    }
}

#[test]
fn a_stream_resumes_after_any_event() {
    for lake in lakes() {
        let client = lake.server.client();
        let topic = topic(&client, "resume");
        let id = deliver(&client, &topic, NONSENSE);
        let live = stream(&lake.server, &id, "", &[]);
        assert_eq!((live.status, live.header("content-type")), (200, Some("text/event-stream")));
        assert_eq!(live.header("cache-control"), Some("no-cache"));
        assert_eq!(live.header("x-accel-buffering"), Some("no"));
        let all = live.all();
        check_events(&all, &id);
        let count = all.len();
        for seen in 0..count {
            assert_eq!(stream(&lake.server, &id, &format!("?after={seen}"), &[]).all(), all[seen..]);
            let header = [("Last-Event-ID", seen.to_string())];
            let header = [(header[0].0, header[0].1.as_str())];
            assert_eq!(
                stream(&lake.server, &id, "?after=9999", &header).all(),
                all[seen..],
                "the header wins"
            );
        }
        assert_eq!(stream(&lake.server, &id, &format!("?after={count}"), &[]).status, 204);
        let path = format!("{TASKS}/{id}/events/stream");
        for beyond in [format!("?after={}", count + 1), "?after=-1".to_owned(), "?after=x".to_owned()] {
            refused(&client.get(&format!("{path}{beyond}")), 400, "invalid_input");
        }
        let wrong = client.get(&format!("{TASKS}/7/events/stream?after=x"));
        assert_eq!(named(&wrong), ["after", "task_id"], "path and query together");
        let header = [("Last-Event-ID", "x")];
        refused(&client.send("GET", &path, &header, b""), 400, "invalid_input");
        let unknown = "01890a5d-ac96-774b-bcce-b302099a8057";
        refused(&client.get(&format!("{TASKS}/{unknown}/events/stream")), 404, "not_found");
        refused(&client.get(&format!("{TASKS}/{unknown}")), 404, "not_found");
    }
}

#[test]
fn ended_tasks_stay_repeats_ask_once() {
    for lake in lakes() {
        let client = lake.server.client();
        let topic = topic(&client, "once");
        let body = json!({ "topic_id": topic, "content": NONSENSE }).to_string();
        let path = format!("{TASKS}/deliver-message");
        let key = [("Idempotency-Key", "once")];
        let first = ok(client.send("POST", &path, &key, body.as_bytes()));
        assert_eq!(ok(client.send("POST", &path, &key, body.as_bytes())), first);
        let id = text(&first["task_id"]);
        assert_eq!(ended(&client, &id)["status"], "success");
        refused(&client.post(&format!("{TASKS}/{id}/cancel"), &json!({})), 409, "not_running");
        assert_eq!(ok(client.get(&format!("{TOPICS}/{topic}")))["message_count"], 2);
    }
}

/// A question that takes minutes: a table is replaced by a view of all pairs of pairs of rows.
fn slow(lake: &Lake) {
    const ROWS: &str = "CREATE TABLE endless (id INTEGER PRIMARY KEY); CREATE TABLE base (id INTEGER PRIMARY KEY); \
        WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3000) INSERT INTO base SELECT x FROM n";
    const VIEW: &str =
        "DROP TABLE endless; CREATE VIEW endless AS SELECT a.id AS id FROM base a, base b, base c, base d";
    lake.run("slow.db", ROWS);
    let source = lake.source("slow.db");
    lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
    lake.run("slow.db", VIEW);
}

const SLOW: &str = "How many endless are there?";

/// Waits until the task runs its query.
fn in_query(server: &Server, task: &str) {
    for event in stream(server, task, "", &[]) {
        assert!(!matches!(event.kind.as_str(), "message" | "error"), "{event:?}");
        if event.kind == "tool_call" && event.data["tool"] == "run_sql" {
            return;
        }
    }
    panic!("no query was begun");
}

#[test]
fn a_waiting_question_goes_with_its_topic() {
    for store in stores() {
        let mut lake = Lake::prepare(&store);
        lake.server.set("LAKEPORT_AGENT_TASKS_AT_ONCE", "1");
        lake.server.run();
        slow(&lake);
        let client = lake.server.client();
        let (busy, other) = (topic(&client, "busy"), topic(&client, "other"));
        let running = deliver(&client, &busy, SLOW);
        in_query(&lake.server, &running);
        let waiting = deliver(&client, &other, NONSENSE);
        assert_eq!(task(&client, &waiting)["status"], "waiting");
        let reader = stream(&lake.server, &waiting, "", &[]);
        refused(&client.delete(&format!("{TOPICS}/{busy}")), 409, "task_running");
        assert_eq!(ok(client.delete(&format!("{TOPICS}/{other}")))["deleted"], true);
        refused(&client.get(&format!("{TASKS}/{waiting}")), 404, "not_found");
        assert_eq!(reader.count(), 0, "its stream ends");
        ok(client.post(&format!("{TASKS}/{running}/cancel"), &json!({})));
        let next = deliver(&client, &busy, NONSENSE);
        assert_eq!(ended(&client, &next)["status"], "success");
    }
}

#[test]
fn cancelling_stops_a_query_at_once() {
    for lake in lakes() {
        slow(&lake);
        let client = lake.server.client();
        let (topic, other) = (topic(&client, "slow"), topic(&client, "other"));
        let id = deliver(&client, &topic, SLOW);
        in_query(&lake.server, &id);
        assert_eq!(task(&client, &id)["status"], "running");
        let path = format!("{TOPICS}/{topic}");
        refused(&client.delete(&path), 409, "task_running");
        refused(&client.put(&path, &json!({ "title": "b" })), 409, "task_running");
        // Tasks of one topic run one after another, tasks of another topic beside them.
        let (waits, beside) = (deliver(&client, &topic, NONSENSE), deliver(&client, &other, NONSENSE));
        assert_eq!(ended(&client, &beside)["status"], "success");
        assert_eq!(task(&client, &waits)["status"], "waiting");
        let mut reader = stream(&lake.server, &id, "", &[]);
        reader.next().expect("an event");
        let begun = Instant::now();
        let answer =
            ok(client
                .post(&format!("{TASKS}/{id}/cancel"), &json!({ "reason": "unknown members are ignored" })));
        assert_eq!(answer, json!({ "task_id": id, "status": "suspended" }));
        let rest = reader.all();
        // Within a second; allows time for a busy machine.
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        assert!(rest.iter().all(|event| !matches!(event.kind.as_str(), "message" | "error")), "{rest:?}");
        assert_eq!(task(&client, &id)["status"], "suspended");
        refused(&client.post(&format!("{TASKS}/{id}/cancel"), &json!({})), 409, "not_running");
        assert_eq!(ended(&client, &waits)["status"], "success", "the next one begins");
        let count = rest.len() + 1;
        assert_eq!(stream(&lake.server, &id, &format!("?after={count}"), &[]).status, 204);
        ok(client.delete(&path));
    }
}

#[test]
fn a_stream_ends_with_its_callers_token() {
    for store in stores() {
        let lake = Lake::start(&store);
        slow(&lake);
        let local = lake.server.client();
        let topic = topic(&local, "slow");
        let id = deliver(&local, &topic, SLOW);
        in_query(&lake.server, &id);
        let of_local = stream(&lake.server, &id, "", &[]);
        let admin = |name: &str| json!({ "role": "admin", "name": name });
        let root = lake.server.post("/api/v1/tokens", &admin("root")).data()["token"].clone();
        assert!(
            of_local.all().iter().all(|event| event.kind != "error"),
            "local mode has ended, not the task"
        );

        let root = lake.server.client_as(&text(&root));
        let mut replica = store.is_postgres().then(|| lake.server.replica(Options::default()));
        replica.iter_mut().for_each(Server::run);
        let ann = root.post("/api/v1/tokens", &admin("ann")).data();
        let soon = Session::open("sqlite::memory:")
            .expect("a database")
            .texts("SELECT datetime('now', '+2 seconds')");
        let mut brief = admin("brief");
        brief["expiresAt"] = json!(format!("{}Z", soon[0].replace(' ', "T")));
        let brief = root.post("/api/v1/tokens", &brief).data();
        for server in std::iter::once(&lake.server).chain(&replica) {
            let stream_as = |token: &Value| {
                let bearer = format!("Bearer {}", text(token));
                eventually("the token is known", SOON, || {
                    let stream = stream(server, &id, "", &[("Authorization", &bearer)]);
                    (stream.status == 200).then_some(stream)
                })
            };
            let revoked = root.post("/api/v1/tokens", &admin("bob")).data();
            let (of_revoked, mut of_ann) = (stream_as(&revoked["token"]), stream_as(&ann["token"]));
            root.delete(&format!("/api/v1/tokens/{}", revoked["id"])).data();
            assert!(of_revoked.all().iter().all(|event| event.kind != "error"));
            assert!(of_ann.next().is_some(), "another token's stream goes on");
        }
        let bearer = format!("Bearer {}", text(&brief["token"]));
        let of_brief = stream(&lake.server, &id, "", &[("Authorization", &bearer)]);
        assert!(of_brief.status == 401 || of_brief.all().iter().all(|event| event.kind != "error"));
        assert_eq!(task(&root, &id)["status"], "running");
    }
}

#[test]
fn a_task_that_waits_is_cancelled_before_it_begins() {
    for lake in lakes() {
        slow(&lake);
        let client = lake.server.client();
        let topic = topic(&client, "slow");
        let (first, second) = (deliver(&client, &topic, SLOW), deliver(&client, &topic, SLOW));
        in_query(&lake.server, &first);
        let answer = ok(client.post(&format!("{TASKS}/{second}/cancel"), &json!({})));
        assert_eq!(answer["status"], "suspended");
        assert_eq!(stream(&lake.server, &second, "", &[]).status, 204);
        ok(client.post(&format!("{TASKS}/{first}/cancel"), &json!({})));
        let ended = task(&client, &second);
        assert!(ended["started_at"].is_null() && ended["finished_at"].is_string(), "{ended}");
    }
}

#[test]
fn a_full_queue_refuses_questions() {
    let mut lake = Lake::prepare(&stores()[0]);
    lake.server.set("LAKEPORT_AGENT_QUEUE_MAX", "1");
    lake.server.run();
    slow(&lake);
    let client = lake.server.client();
    let topic = topic(&client, "slow");
    let first = deliver(&client, &topic, SLOW);
    in_query(&lake.server, &first);
    let second = deliver(&client, &topic, NONSENSE);
    let body = json!({ "topic_id": topic, "content": NONSENSE });
    let refusal = client.post(&format!("{TASKS}/deliver-message"), &body);
    refused(&refusal, 429, "queue_full");
    assert!(refusal.header("retry-after").is_some());
    ok(client.post(&format!("{TASKS}/{first}/cancel"), &json!({})));
    ended(&client, &second);
    deliver(&client, &topic, NONSENSE);
}

#[test]
fn the_first_event_comes_at_once() {
    for lake in lakes() {
        let client = lake.server.client();
        let topic = topic(&client, "quick");
        let mut took = Vec::new();
        for _ in 0..10 {
            let begun = Instant::now();
            let id = deliver(&client, &topic, NONSENSE);
            let mut events = stream(&lake.server, &id, "", &[]);
            events.next().expect("an event");
            took.push(begun.elapsed());
            events.all();
            ended(&client, &id);
        }
        took.sort_unstable();
        // The contract's limit is measured separately; here other tests run at the same time.
        assert!(took[took.len() / 2] < Duration::from_millis(500), "{took:?}");
        eprintln!("first event, with both requests: median {:?}, most {:?}", took[5], took[9]);
    }
}

#[test]
fn a_killed_servers_task_resumes() {
    for place in [
        "agent.task_claimed",
        "agent.event_stored",
        "agent.event_stored#2",
        "agent.tool_done",
        "agent.tool_done#2",
    ] {
        for store in stores() {
            let mut lake = Lake::prepare(&store);
            lake.server.set("LAKEPORT_KILL_AT", place);
            lake.server.run();
            let client = lake.server.client();
            let topic = topic(&client, "killed");
            let id = deliver(&client, &topic, NONSENSE);
            assert!(lake.server.wait(SOON).is_some(), "{place} was reached");
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.kill();
            lake.server.run();
            let client = lake.server.client();
            let events = stream(&lake.server, &id, "", &[]).all();
            check_events(&events, &id);
            let calls = |kind: &str| events.iter().filter(|event| event.kind == kind).count();
            assert_eq!(calls("tool_call"), calls("tool_result"), "{place}: {events:?}");
            assert_eq!(calls("message"), 1, "{place}: {events:?}");
            assert_eq!(ended(&client, &id)["status"], "success");
            assert_eq!(ok(client.get(&format!("{TOPICS}/{topic}")))["message_count"], 2);
        }
    }
}

#[test]
fn another_server_resumes_a_dead_servers_tasks() {
    let Some(store) = stores().into_iter().find(lakeport_tests::Store::is_postgres) else { return };
    let environment = &[("LAKEPORT_KILL_AT", "agent.event_stored#2")];
    let mut one = Server::prepare(&store, Options { environment, ..Options::default() });
    one.run();
    let client = one.client();
    let topic = topic(&client, "left");
    let id = deliver(&client, &topic, NONSENSE);
    assert!(one.wait(SOON).is_some());
    let mut two = one.replica(Options::default());
    two.run();
    assert_eq!(task(&two.client(), &id)["status"], "running", "its lease has not run out yet");
    let events = stream(&two, &id, "", &[]).all();
    check_events(&events, &id);
    assert_eq!(events.last().map(|event| event.kind.as_str()), Some("message"), "{events:?}");
}

#[test]
fn a_task_is_cancelled_from_another_server() {
    let Some(store) = stores().into_iter().find(lakeport_tests::Store::is_postgres) else { return };
    let lake = Lake::start(&store);
    slow(&lake);
    let client = lake.server.client();
    let topic = topic(&client, "far");
    let id = deliver(&client, &topic, SLOW);
    in_query(&lake.server, &id);
    let mut other = lake.server.replica(Options::default());
    other.run();
    let mut reader = stream(&other, &id, "", &[]);
    reader.next().expect("an event");
    ok(other.client().post(&format!("{TASKS}/{id}/cancel"), &json!({})));
    reader.all();
    // The topic's next task runs on either of them.
    let next = deliver(&other.client(), &topic, NONSENSE);
    assert_eq!(ended(&client, &next)["status"], "success");
}

#[test]
fn a_full_topic_takes_no_more_questions() {
    for lake in lakes() {
        let client = lake.server.client();
        let id = topic(&client, "full");
        ended(&client, &deliver(&client, &id, NONSENSE));
        let bytes = lake.server.numbers("SELECT bytes FROM topics");
        assert!(bytes[0] > 100, "{bytes:?}");
        lake.server.execute("UPDATE topics SET bytes = 268435456");
        let body = json!({ "topic_id": id, "content": "hi" });
        refused(&client.post(&format!("{TASKS}/deliver-message"), &body), 409, "topic_full");
    }
}
