//! Questions answered by a query on a server.

use lakeport_tests::{Event, EventStream, Kind, Lake, Warehouse, on_servers};
use serde_json::{Value, json};

use super::text;

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";

/// Asks about this data source only; returns the events of the task.
fn ask(lake: &Lake, shop: &Warehouse, question: &str) -> Vec<Event> {
    let client = lake.server.client();
    let form = json!({ "title": "shop", "datasources": [shop.name] });
    let topic = client.post(TOPICS, &form).json();
    let form = json!({ "topic_id": topic["topic_id"], "content": question });
    let receipt = client.post(&format!("{TASKS}/deliver-message"), &form).json();
    let path = format!("{TASKS}/{}/events/stream", text(&receipt, "task_id"));
    EventStream::open(lake.server.address(), &path, &[]).all()
}

/// The last result of a tool.
fn result<'e>(events: &'e [Event], tool: &str) -> &'e Value {
    let found = events.iter().rev().find(|event| event.kind == "tool_result" && event.data["tool"] == tool);
    &found.unwrap_or_else(|| panic!("no {tool}: {events:?}")).data
}

fn rows(events: &[Event]) -> Value {
    let message = &events.last().expect("an end").data;
    let artifacts = message["artifacts"].as_array().unwrap_or_else(|| panic!("{message}"));
    let table = artifacts.iter().find(|artifact| artifact["kind"] == "table");
    table.unwrap_or_else(|| panic!("no table: {message}"))["rows"].clone()
}

#[test]
fn a_question_is_answered_with_what_is_in_the_database() {
    for (lake, shop) in on_servers() {
        let text_type = shop.kind.text();
        shop.run(&format!(
            "CREATE TABLE orders (id integer PRIMARY KEY, customer {text_type}, amount decimal(12,2)); \
             INSERT INTO orders VALUES (1, 'ann', 10.25), (2, 'bob', 20), (3, 'ann', 5)"
        ));
        lake.read_in(shop.source);
        let events = ask(&lake, &shop, "How many orders are there?");
        assert_eq!(rows(&events), json!([[3]]), "{events:?}");
        let ran = result(&events, "run_sql");
        assert_eq!(ran["ok"], true, "{ran}");
        let events = ask(&lake, &shop, "What is the total amount of orders per customer?");
        let mut sums: Vec<(String, f64)> = rows(&events)
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| (row[0].as_str().expect("a name").to_owned(), number(&row[1])))
            .collect();
        sums.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(sums, [("ann".to_owned(), 15.25), ("bob".to_owned(), 20.0)]);
    }
}

/// A decimal may arrive as a text.
fn number(cell: &Value) -> f64 {
    cell.as_f64().or_else(|| cell.as_str()?.parse().ok()).unwrap_or_else(|| panic!("{cell} is no number"))
}

/// A view that writes when it is read: the read-only session refuses it.
#[test]
fn a_read_that_writes_is_refused_by_the_session() {
    for (lake, shop) in on_servers() {
        shop.run("CREATE TABLE log (id integer); CREATE TABLE orders (id integer PRIMARY KEY)");
        lake.read_in(shop.source);
        for statement in match shop.kind {
            Kind::Mariadb => [
                "DROP TABLE orders",
                "CREATE FUNCTION sneak() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (1); RETURN 1; END",
                "CREATE VIEW orders AS SELECT id FROM (SELECT 1 AS id) one WHERE sneak() = 1",
            ],
            _ => [
                "DROP TABLE orders",
                "CREATE FUNCTION sneak() RETURNS integer LANGUAGE sql VOLATILE AS 'INSERT INTO public.log VALUES (1) RETURNING 1'",
                "CREATE VIEW orders AS SELECT id FROM (SELECT 1 AS id) one WHERE sneak() = 1",
            ],
        } {
            shop.run(statement);
        }
        // A session that may write does write through it.
        assert_eq!(shop.numbers("SELECT COUNT(*) FROM orders"), [1]);
        assert_eq!(shop.numbers("SELECT COUNT(*) FROM log"), [1]);
        let events = ask(&lake, &shop, "How many orders are there?");
        let ran = result(&events, "run_sql");
        assert_eq!(ran["ok"], false, "{ran}");
        assert!(ran["error"]["message"].is_string(), "{ran}");
        assert_eq!(shop.numbers("SELECT COUNT(*) FROM log"), [1], "nothing was written");
    }
}
