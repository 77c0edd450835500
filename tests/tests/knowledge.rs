//! Verified questions and the glossary over HTTP: kept by editors, used first, named in the answer, moved as files (contract,
//! section 6).

use std::time::Duration;

use lakeport_tests::{Client, Lake, ModelServer, Response, Say, eventually, named, refused, stores};
use serde_json::{Value, json};

const VERIFIED: &str = "/api/v1/nl2sql/verified";
const GLOSSARY: &str = "/api/v1/nl2sql/glossary";
const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";
const SOON: Duration = Duration::from_secs(30);
const SQL: &str = "SELECT count(DISTINCT customer) AS customers FROM orders WHERE status = 'paid'";

fn ok(response: Response) -> Value {
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn shop(store: &lakeport_tests::Store) -> Lake {
    let lake = Lake::start(store);
    lake.run(
        "shop.db",
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, status TEXT, amount REAL); \
         INSERT INTO orders (customer, status, amount) VALUES ('ann', 'paid', 10), ('ann', 'paid', 20), \
         ('bob', 'paid', 5), ('cid', 'open', 7)",
    );
    let source = lake.source("shop.db");
    lake.read_in(source);
    lake
}

fn topic(client: &Client, more: Value) -> String {
    let mut form = json!({ "title": "orders" });
    form.as_object_mut().expect("an object").extend(more.as_object().cloned().unwrap_or_default());
    text(&ok(client.post(TOPICS, &form))["topic_id"]).to_owned()
}

/// The answer's message, and the task.
fn asked(client: &Client, topic: &str, content: &str) -> (Value, Value) {
    let body = json!({ "topic_id": topic, "content": content });
    let task = text(&ok(client.post(&format!("{TASKS}/deliver-message"), &body))["task_id"]).to_owned();
    let task = eventually("the task ends", SOON, || {
        let task = ok(client.get(&format!("{TASKS}/{task}")));
        (!matches!(task["status"].as_str(), Some("waiting" | "running"))).then_some(task)
    });
    let messages = ok(client.get(&format!("{TOPICS}/{topic}/messages?page_size=200")));
    let last = messages["items"].as_array().expect("messages").last().expect("a message").clone();
    (last, task)
}

#[test]
fn a_verified_question_is_answered_by_its_sql() {
    for store in stores() {
        let lake = shop(&store);
        let client = lake.server.client();
        let question = "How many active buyers do we have?";
        let form =
            json!({ "question": question, "datasource": "shop.db", "sql": SQL, "note": "Paid orders only." });
        let made = client.post(VERIFIED, &form);
        let etag = made.header("etag").expect("an ETag").to_owned();
        let made = ok(made);
        assert_eq!((&made["sql"], &made["author"]), (&json!(SQL), &json!("local")));
        refused(&client.post(VERIFIED, &form), 409, "name_taken");
        let id = topic(&client, json!({}));
        let (message, task) = asked(&client, &id, "how many ACTIVE buyers do we have");
        assert_eq!(message["artifacts"][0]["sql"], SQL, "{message}");
        let content = text(&message["content"]);
        assert!(content.contains(": 2.") && content.contains("Paid orders only."), "{content}");
        assert!(content.contains("Verified question (by local, "), "{content}");
        assert_eq!(task["usage"]["tool_calls"], 1);
        // Also before a model, which costs.
        let of = ModelServer::saying(vec![Say::text("I do not know.")]);
        let model =
            json!({ "name": "m", "provider": "openai", "model": "x", "baseUrl": of.base_url("openai") });
        ok(client.post("/api/v1/nl2sql/models", &model));
        let with_model = topic(&client, json!({ "model": "m" }));
        let (message, _) = asked(&client, &with_model, question);
        assert!(text(&message["content"]).contains("Verified question"), "{message}");
        assert!(of.requests().is_empty());
        // One like it is an example.
        asked(&client, &with_model, "How many buyers do we have?");
        let sent = of.requests()[0].body["messages"][0]["content"].to_string();
        assert!(sent.contains("count(DISTINCT customer)"), "{sent}");
        // Where it may not be read, it is not used.
        let elsewhere = topic(&client, json!({ "datasources": ["lakeport"] }));
        let (message, _) = asked(&client, &elsewhere, question);
        assert!(!text(&message["content"]).contains("Verified"), "{message}");
        // When its SQL does not run any more, the model answers.
        let path = format!("{VERIFIED}/{}", made["id"]);
        lake.run("shop.db", "ALTER TABLE orders RENAME COLUMN status TO state");
        let (message, _) = asked(&client, &with_model, question);
        let content = text(&message["content"]);
        assert!(content.contains("failed") && content.contains("no such column: status"), "{content}");
        assert!(content.ends_with("I do not know."), "{content}");
        let stale = client.send("PUT", &path, &[("If-Match", "\"no\"")], br#"{"note":null}"#);
        refused(&stale, 412, "precondition_failed");
        let changed = client.send("PUT", &path, &[("If-Match", &etag)], br#"{"note":null}"#);
        assert_eq!(ok(changed)["note"], Value::Null);
        ok(client.delete(&path));
        refused(&client.get(&path), 404, "not_found");
    }
}

#[test]
fn a_verified_statement_passes_the_guard() {
    for store in stores() {
        let lake = shop(&store);
        let client = lake.server.client();
        let form =
            |datasource: &str, sql: &str| json!({ "question": "q", "datasource": datasource, "sql": sql });
        for (datasource, sql, field) in [
            ("shop.db", "DELETE FROM orders", "sql"),
            ("shop.db", "SELECT 1; SELECT 2", "sql"),
            ("shop.db", "SELECT nope FROM orders", "sql"),
            ("nowhere", "SELECT 1", "datasource"),
        ] {
            assert_eq!(named(&client.post(VERIFIED, &form(datasource, sql))), [field], "{sql}");
        }
        assert_eq!(
            named(
                &client
                    .post(VERIFIED, &json!({ "question": "?!", "datasource": "shop.db", "sql": "SELECT 1" }))
            ),
            ["question"]
        );
        let wrong = json!({ "question": "?!", "datasource": "nowhere", "sql": "SELECT 1", "note": 7 });
        assert_eq!(named(&client.post(VERIFIED, &wrong)), ["datasource", "note", "question"]);
        let file = json!({ "format": "x", "items": [wrong, form("shop.db", "DELETE FROM orders")] });
        assert_eq!(
            named(&client.post(&format!("{VERIFIED}/import"), &file)),
            ["format", "items[0].datasource", "items[0].note", "items[0].question", "items[1].sql"]
        );
        let made = ok(client.post(VERIFIED, &form("shop.db", "SELECT 1")));
        let path = format!("{VERIFIED}/{}", made["id"]);
        assert_eq!(named(&client.put(&path, &json!({ "sql": "DROP TABLE orders" }))), ["sql"]);
        let viewer = lake.server.token("viewer", "ann");
        let viewer = lake.server.client_as(&viewer);
        refused(&viewer.put(&path, &json!({ "note": "mine" })), 403, "insufficient_role");
        assert_eq!(ok(viewer.get(VERIFIED))["total"], 1);
    }
}

#[test]
fn a_term_of_the_glossary_is_used_and_named() {
    for store in stores() {
        let lake = shop(&store);
        let client = lake.server.client();
        let form = json!({ "term": "GMV", "synonyms": ["turnover", "成交额"], "definition": "Amount of all orders.",
            "phrase": "total order amount", "sql": "sum(amount)" });
        ok(client.post(GLOSSARY, &form));
        refused(&client.post(GLOSSARY, &json!({ "term": "gmv!", "definition": "x" })), 409, "name_taken");
        let nowhere = json!({ "term": "x", "definition": "x", "datasource": "nowhere" });
        assert_eq!(named(&client.post(GLOSSARY, &nowhere)), ["datasource"]);
        let id = topic(&client, json!({}));
        let (message, _) = asked(&client, &id, "What is the turnover?");
        let content = text(&message["content"]);
        assert!(content.contains("“turnover” is read as “total order amount”"), "{content}");
        assert!(content.contains("42"), "{content}");
        let of = ModelServer::saying(vec![Say::text("42")]);
        let model = json!({ "name": "m", "provider": "anthropic", "model": "x", "baseUrl": of.base_url("anthropic") });
        ok(client.post("/api/v1/nl2sql/models", &model));
        let (_, task) = asked(&client, &topic(&client, json!({ "model": "m" })), "成交额是多少？");
        assert_eq!(task["context"]["terms"], 1, "{task}");
        let sent = text(&of.requests()[0].body["system"]).to_owned();
        assert!(sent.contains("Amount of all orders.") && sent.contains("sum(amount)"), "{sent}");
        assert_eq!(ok(client.get(&format!("{GLOSSARY}?keyword=gm")))["total"], 1);
        assert_eq!(ok(client.get(&format!("{GLOSSARY}?keyword=%25")))["total"], 0, "it is no wildcard");
    }
}

#[test]
fn both_move_as_files_all_or_nothing() {
    for store in stores() {
        let (from, to) = (shop(&store), shop(&store));
        let (client, other) = (from.server.client(), to.server.client());
        for (number, sql) in ["SELECT 1", SQL].iter().enumerate() {
            let form = json!({ "question": format!("q{number}"), "datasource": "shop.db", "sql": sql });
            ok(client.post(VERIFIED, &form));
        }
        ok(client.post(GLOSSARY, &json!({ "term": "GMV", "definition": "Amount." })));
        for (path, count) in [(VERIFIED, 2), (GLOSSARY, 1)] {
            let file = ok(client.get(&format!("{path}/export")));
            let import = format!("{path}/import");
            let all = |created: usize, updated: usize, unchanged: usize| json!({ "created": created, "updated": updated, "unchanged": unchanged });
            assert_eq!(ok(other.post(&import, &file)), all(count, 0, 0));
            assert_eq!(ok(other.post(&import, &file)), all(0, 0, count));
            assert_eq!(ok(other.get(&format!("{path}/export"))), file);
            let mut changed = file.clone();
            let (member, value) = if path == VERIFIED { ("note", "n") } else { ("definition", "d") };
            changed["items"][0][member] = json!(value);
            assert_eq!(ok(other.post(&import, &changed)), all(0, 1, count - 1));
            let mut wrong = file.clone();
            wrong["format"] = json!("x");
            assert_eq!(named(&other.post(&import, &wrong)), ["format"]);
        }
        let items = json!([{ "question": "new", "datasource": "shop.db", "sql": "SELECT 2" },
            { "question": "bad", "datasource": "shop.db", "sql": "DROP TABLE orders" }]);
        let file = json!({ "format": "lakeport.verified/1", "items": items });
        assert_eq!(named(&other.post(&format!("{VERIFIED}/import"), &file)), ["items[1].sql"]);
        let twice = json!([{ "question": "new", "datasource": "shop.db", "sql": "SELECT 2" },
            { "question": "New?", "datasource": "shop.db", "sql": "SELECT 3" }]);
        let file = json!({ "format": "lakeport.verified/1", "items": twice });
        assert_eq!(named(&other.post(&format!("{VERIFIED}/import"), &file)), ["items[1]"]);
        assert_eq!(ok(other.get(VERIFIED))["total"], 2, "nothing of it");
    }
}
