//! Questions answered by a query on a server.

use std::collections::BTreeMap;

use lakeport_tests::{Event, EventStream, Kind, Lake, Warehouse, everywhere, on_servers, on_sqlite};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Column as _, Executor as _, Row as _, TypeInfo as _, ValueRef as _};

use super::{counts, fields, id_named, path, text};

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";

/// Asks about this data source only; returns the events of the task.
fn ask(lake: &Lake, shop: &Warehouse, question: &str) -> Vec<Event> {
    ask_in(lake, &topic_of(lake, shop), question)
}

/// A topic about this data source only; its id.
fn topic_of(lake: &Lake, shop: &Warehouse) -> Value {
    let form = json!({ "title": "shop", "datasources": [shop.name] });
    lake.server.client().post(TOPICS, &form).json()["topic_id"].take()
}

fn ask_in(lake: &Lake, topic: &Value, question: &str) -> Vec<Event> {
    let client = lake.server.client();
    let form = json!({ "topic_id": topic, "content": question });
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

/// The only row of an answer with this name in the first column; its number.
fn number_of(rows: &Value, name: &str) -> f64 {
    let rows = rows.as_array().expect("rows");
    let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"));
    number(&row[1])
}

/// The fields that refer have names of which no rule makes a join, and neither table is called after the other.
#[test]
fn declared_keys_join_tables_and_tags_name_them() {
    for (lake, shop) in everywhere() {
        let (text_type, integer) = (shop.kind.text(), shop.kind.integer());
        let client = format!(
            "CREATE TABLE client (no {integer} NOT NULL PRIMARY KEY, label {text_type}, town {text_type})"
        );
        let purchase = format!(
            "CREATE TABLE purchase (nr {integer} NOT NULL PRIMARY KEY, buyer {integer}, amount {integer}, \
             FOREIGN KEY (buyer) REFERENCES client (no))"
        );
        shop.run(&client);
        shop.run(&purchase);
        shop.run("INSERT INTO client VALUES (7, 'ann', 'Oslo'), (8, 'bob', 'Rome')");
        shop.run("INSERT INTO purchase VALUES (1, 7, 10), (2, 8, 20), (3, 7, 5)");
        lake.read_in(shop.source);
        let events = ask(&lake, &shop, "What is the total amount of purchases per town?");
        let found = rows(&events);
        assert_eq!((number_of(&found, "Oslo"), number_of(&found, "Rome")), (15.0, 20.0), "{events:?}");
        let sql = result(&events, "write_sql")["output"]["sql"].as_str().expect("SQL").to_owned();
        assert!(sql.contains("buyer"), "{sql}");

        // A sync that finds the same keys again changes nothing, and a key that is new no version.
        let sync = lake.read_in(shop.source);
        assert_eq!((counts(&sync, "tables"), counts(&sync, "fields")), ([0, 0, 0], [0, 0, 0]), "{sync}");
        let id = id_named(&lake, &shop, "purchase");
        let versions = |id: i64| lake.server.get(&format!("{}/schema-history", path(id))).data();
        let before = versions(id);

        // A change reads the table back, with the key under the field's new name.
        let fields = fields(&lake, id);
        let buyer = fields.iter().find(|field| field["fieldName"] == "buyer").expect("it is there");
        let at = format!("{}/fields/{}", path(id), buyer["id"]);
        lake.server.put(&at, &json!({ "fieldName": "taker" })).data();
        assert_ne!(versions(id), before);
        let events = ask(&lake, &shop, "What is the total amount of purchases per town?");
        let found = rows(&events);
        assert_eq!((number_of(&found, "Oslo"), number_of(&found, "Rome")), (15.0, 20.0), "{events:?}");
        let drift = lake.server.get(&path(id)).data()["drift"].clone();
        assert!(drift.is_null() || drift == json!([]), "{drift}");

        // `acquisitions` is the name of nothing; as a tag it names the table.
        let question = "How many acquisitions are there?";
        let refused = ask(&lake, &shop, question);
        assert_ne!(result(&refused, "write_sql")["ok"], true, "{refused:?}");
        lake.server.put(&path(id), &json!({ "tags": ["Acquisitions"] })).data();
        assert_eq!(rows(&ask(&lake, &shop, question)), json!([[3]]));
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

/// The example company's rows, as statements for a kind of database.
fn company(kind: Kind) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/demo/company.sql");
    let file = tempfile::tempdir().expect("a folder");
    let path = file.path().join("company.db");
    let rows = std::fs::read_to_string(folder).expect("the example is there");
    on_sqlite(&path, async |database| {
        let today: String =
            database.fetch_one("SELECT date('now')").await.and_then(|row| row.try_get(0)).expect("a day");
        let rows = rows.replace("{today}", &today);
        sqlx::raw_sql(AssertSqlSafe(rows)).execute(&mut *database).await.expect("the company");
        let mut statements = String::new();
        for table in database
            .fetch_all("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")
            .await
            .expect("tables")
        {
            let table: String = table.get(0);
            let rows =
                database.fetch_all(AssertSqlSafe(format!("SELECT * FROM {table}"))).await.expect("rows");
            let columns: Vec<String> =
                rows[0].columns().iter().map(|column| column.name().to_owned()).collect();
            let types: Vec<String> =
                rows[0].columns().iter().map(|column| column.type_info().name().to_owned()).collect();
            let defined: Vec<String> = columns
                .iter()
                .zip(&types)
                .enumerate()
                .map(|(at, (column, type_name))| {
                    let type_name = match type_name.as_str() {
                        "INTEGER" => "BIGINT",
                        "REAL" => "DOUBLE PRECISION",
                        _ => kind.text(),
                    };
                    // The first column of a table with an id is its key.
                    let key = if at == 0 && column.ends_with("_id") && table.starts_with("ods") {
                        " PRIMARY KEY"
                    } else {
                        ""
                    };
                    format!("{column} {type_name}{key}")
                })
                .collect();
            statements += &format!("CREATE TABLE {table} ({});\n", defined.join(", "));
            for some in rows.chunks(500) {
                let row = |row: &sqlx::sqlite::SqliteRow| {
                    let cells: Vec<String> = (0..columns.len()).map(|at| literal(row, at)).collect();
                    format!("({})", cells.join(","))
                };
                let values: Vec<String> = some.iter().map(row).collect();
                statements += &format!("INSERT INTO {table} VALUES {};\n", values.join(","));
            }
        }
        statements
    })
}

fn literal(row: &sqlx::sqlite::SqliteRow, at: usize) -> String {
    let raw = row.try_get_raw(at).expect("a cell");
    match raw.type_info().name() {
        "INTEGER" => row.get::<i64, _>(at).to_string(),
        "REAL" => row.get::<f64, _>(at).to_string(),
        _ => format!("'{}'", row.get::<String, _>(at).replace('\'', "''")),
    }
}

/// Of each shape that the rules know.
const EVERYWHERE: &[&str] = &[
    "How many orders last month?",
    "What is our total revenue?",
    "Average order value by channel",
    "Top 5 customers by revenue",
    "Which category has the highest sales?",
    "How many customers never ordered?",
    "Orders per week",
    "Revenue per month",
    "Revenue per quarter",
    "Orders per day in the last 30 days",
    "Revenue last month compared to the month before",
    "Orders by channel last month compared to the month before",
    "Monthly revenue growth",
    "Cumulative revenue by month",
    "Share of revenue by category",
    "What share of revenue comes from Beijing?",
    "What is our refund rate?",
    "Top 3 products in each category by revenue",
    "What is the most expensive product in each category?",
    "Median order amount by channel",
    "What is the median price of our products?",
    "How many customers ordered for the first time last month?",
    "What is our repeat purchase rate?",
    "Which products cost more than 200?",
    "average sales amount per customer",
    "How many customers have more than 30 orders?",
    "Revenue and number of orders by channel",
    "Average orders per day",
    "Average daily revenue last month",
    "First-time customers per month",
    "Best selling product each month",
    "Top 3 categories per month by revenue",
    "Revenue by weekday",
    "Orders by hour",
    "Which weekday has the most orders?",
    "Orders on weekends",
    "Ratio of app orders to web orders",
    "App vs web orders",
    "Customers who ordered last month but not this month",
    "What percentage of orders is over 1000?",
];

/// The same question gives the same rows, whatever the database.
#[test]
fn a_question_has_the_same_rows_on_all_databases() {
    let mut known: BTreeMap<String, BTreeMap<&str, Vec<Vec<String>>>> = BTreeMap::new();
    for (lake, shop) in everywhere() {
        shop.run(&company(shop.kind));
        lake.read_in(shop.source);
        for question in EVERYWHERE {
            let events = ask(&lake, &shop, question);
            let mut rows: Vec<Vec<String>> = rows(&events)
                .as_array()
                .expect("rows")
                .iter()
                .map(|row| row.as_array().expect("a row").iter().map(as_text).collect())
                .collect();
            rows.sort_unstable();
            known.entry(format!("{:?}", shop.kind)).or_default().insert(question, rows);
        }
    }
    let mut all = known.iter();
    let (first, expected) = all.next().expect("a database");
    for (other, found) in all {
        for (question, rows) in found {
            assert!(
                are_alike(rows, &expected[question]),
                "{question}: {other} beside {first}\n{rows:?}\n{:?}",
                expected[question]
            );
        }
    }
}

/// The least difference between numbers that are not the same. MariaDB rounds a quotient to five digits, others to more.
const DIFFERENCE: f64 = 1e-4;

fn are_alike(one: &[Vec<String>], other: &[Vec<String>]) -> bool {
    let is_same = |one: &String, other: &String| match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(one), Ok(other)) => (one - other).abs() < DIFFERENCE,
        _ => one == other,
    };
    let is_same_row = |(one, other): (&Vec<String>, &Vec<String>)| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same_row)
}

/// A cell as all databases sort it.
fn as_text(cell: &Value) -> String {
    let number = cell.as_f64().or_else(|| cell.as_str()?.parse().ok());
    match (number, cell) {
        (Some(number), _) => format!("{number:.6}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        (None, Value::String(text)) => text.clone(),
        (None, other) => other.to_string(),
    }
}

#[test]
fn a_message_changes_the_question_before_it() {
    for (lake, shop) in on_servers() {
        let text_type = shop.kind.text();
        shop.run(&format!(
            "CREATE TABLE orders (id integer PRIMARY KEY, channel {text_type}, amount decimal(12,2)); \
             INSERT INTO orders VALUES (1, 'app', 10.25), (2, 'web', 20), (3, 'app', 5)"
        ));
        lake.read_in(shop.source);
        let topic = topic_of(&lake, &shop);
        let asked = |question: &str| rows(&ask_in(&lake, &topic, question));
        assert_eq!(asked("How many orders are there?"), json!([[3]]));
        assert_eq!(asked("only for app"), json!([[2]]));
        assert_eq!(asked("and web?"), json!([[1]]));
        let by_channel = asked("by channel instead");
        assert_eq!(by_channel, json!([["app", 2], ["web", 1]]));
        // A topic of its own has no question before.
        let events = ask(&lake, &shop, "only for app");
        assert_eq!(events.last().expect("an end").data["outcome"], "refused", "{events:?}");
    }
}
