//! Syncing tables.

use std::thread;

use lakeport_tests::{Kind, Lake, Warehouse, eventually, on_servers, refused};
use serde_json::{Value, json};

use super::{SOON, SOURCES, TABLES, counts, fields, id_named, known, list, path, text};

/// A name in another database of the same server.
fn beside(shop: &Warehouse, name: &str) -> String {
    match shop.kind {
        Kind::Mariadb => format!("{}_{name}", shop.name),
        _ => name.to_owned(),
    }
}

/// Tables in three databases: `orders`, `items` with a key of two fields in reverse order, and an odd name.
fn fill(shop: &Warehouse) {
    let kind = shop.kind;
    let (sales, odd) = (kind.quoted(&beside(shop, "sales")), kind.quoted(&beside(shop, "odd db")));
    let create = if kind == Kind::Mariadb { "CREATE DATABASE" } else { "CREATE SCHEMA" };
    let orders = match kind {
        Kind::Mariadb => {
            "CREATE TABLE orders (id INT PRIMARY KEY, customer VARCHAR(40) NOT NULL DEFAULT 'it''s none', total \
             DECIMAL(12,2) DEFAULT 1.50 COMMENT 'in euro', at DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), note TEXT) \
             COMMENT 'one row an order'"
        }
        _ => {
            "CREATE TABLE orders (id integer PRIMARY KEY, customer varchar(40) NOT NULL DEFAULT 'it''s none', total \
             numeric(12,2) DEFAULT 1.50, at timestamp(3) DEFAULT CURRENT_TIMESTAMP(3), note text); \
             COMMENT ON TABLE orders IS 'one row an order'; COMMENT ON COLUMN orders.total IS 'in euro'"
        }
    };
    shop.run(&format!(
        "{create} {sales}; {create} {odd}; {orders}; \
         CREATE TABLE {sales}.items (a integer, b integer, PRIMARY KEY (b, a)); \
         CREATE TABLE {odd}.{} (x integer)",
        kind.quoted("odd table")
    ));
}

#[test]
fn a_sync_reads_three_databases() {
    for (lake, shop) in on_servers() {
        fill(&shop);
        let sync = lake.read_in(shop.source);
        assert_eq!((&sync["state"], &sync["errors"]), (&json!("success"), &json!([])), "{sync}");
        assert_eq!((counts(&sync, "tables"), counts(&sync, "fields")), ([3, 0, 0], [8, 0, 0]), "{sync}");
        assert_eq!(sync["progress"], json!({ "tablesDone": 3, "tablesTotal": 3 }));

        let shown: Vec<(String, String)> = known(&lake, &shop)
            .iter()
            .map(|table| (text(table, "dbName").to_owned(), text(table, "tableName").to_owned()))
            .collect();
        let mut expected = [
            (shop.db.clone(), "orders".to_owned()),
            (beside(&shop, "sales"), "items".to_owned()),
            (beside(&shop, "odd db"), "odd table".to_owned()),
        ];
        expected.sort();
        assert_eq!(shown, expected, "and nothing of the system's");

        let id = id_named(&lake, &shop, "orders");
        let table = lake.server.get(&path(id)).data();
        assert_eq!((text(&table, "tableComment"), text(&table, "keyColumns")), ("one row an order", "id"));
        assert_eq!((&table["physical"], &table["drift"]), (&json!(true), &json!([])));
        let types: [&[&str]; 5] = match shop.kind {
            Kind::Mariadb => {
                [&["INT", "INT(11)"], &["VARCHAR(40)"], &["DECIMAL(12,2)"], &["DATETIME(3)"], &["TEXT"]]
            }
            _ => [
                &["INTEGER"],
                &["VARCHAR(40)", "CHARACTER VARYING(40)"],
                &["NUMERIC(12,2)"],
                &["TIMESTAMP(3)", "TIMESTAMP(3) WITHOUT TIME ZONE"],
                &["TEXT"],
            ],
        };
        let expected = [
            ("id", true, false, Value::Null, Value::Null),
            ("customer", false, false, json!("it's none"), Value::Null),
            ("total", false, true, json!("1.50"), json!("in euro")),
            ("at", false, true, json!("CURRENT_TIMESTAMP(3)"), Value::Null),
            ("note", false, true, Value::Null, Value::Null),
        ];
        let found = fields(&lake, id);
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (place, ((field, types), (name, is_key, is_nullable, default, comment))) in
            found.iter().zip(types).zip(expected).enumerate()
        {
            assert_eq!((text(field, "fieldName"), &field["fieldOrder"]), (name, &json!(place + 1)));
            assert!(types.contains(&text(field, "fieldType").to_uppercase().as_str()), "{field}");
            assert_eq!(field["isPrimaryKey"], is_key, "{field}");
            assert_eq!(field["isNullable"], is_nullable, "{field}");
            assert_eq!(field["defaultValue"], default, "{field}");
            // A missing comment is null or empty.
            let said = &field["fieldComment"];
            assert!(*said == comment || (comment.is_null() && *said == ""), "{field}");
        }
        let items = lake.server.get(&path(id_named(&lake, &shop, "items"))).data();
        assert_eq!(items["keyColumns"].as_str().map(|keys| keys.replace(' ', "")), Some("b,a".to_owned()));

        let databases = lake.server.get(&format!("{SOURCES}/{}/databases", shop.source)).data().to_string();
        for hidden in ["information_schema", "pg_catalog", "pg_toast", "performance_schema", "mysql", "sys\""]
        {
            assert!(!databases.contains(hidden), "{hidden}: {databases}");
        }
        for shown in [shop.db.clone(), beside(&shop, "sales"), beside(&shop, "odd db")] {
            assert!(databases.contains(&format!("\"{shown}\"")), "{shown}: {databases}");
        }
    }
}

#[test]
fn a_second_reading_writes_nothing() {
    for (lake, shop) in on_servers() {
        fill(&shop);
        lake.read_in(shop.source);
        let definitions = || -> Vec<(Value, Option<String>, Vec<Value>)> {
            let tables = known(&lake, &shop);
            let one = |table: &Value| {
                let id = table["id"].as_i64().expect("an id");
                let tag = lake.server.get(&path(id)).header("etag").map(str::to_owned);
                (table.clone(), tag, fields(&lake, id))
            };
            tables.iter().map(one).collect()
        };
        let before = definitions();
        let again = lake.read_in(shop.source);
        assert_eq!((counts(&again, "tables"), counts(&again, "fields")), ([0; 3], [0; 3]), "{again}");
        assert_eq!(definitions(), before);
    }
}

#[test]
fn a_sync_finds_outside_changes() {
    for (lake, shop) in on_servers() {
        shop.run("CREATE TABLE a (id integer); CREATE TABLE b (id integer, x integer); CREATE TABLE kept (id integer)");
        lake.read_in(shop.source);
        let [a, b, kept] = ["a", "b", "kept"].map(|name| id_named(&lake, &shop, name));
        shop.run("DROP TABLE a; ALTER TABLE b RENAME TO c; ALTER TABLE kept ADD COLUMN y integer");
        let sync = lake.read_in(shop.source);
        assert_eq!(counts(&sync, "tables"), [1, 1, 2], "{sync}");
        for gone in [a, b] {
            assert_eq!(lake.server.get(&path(gone)).data()["physical"], false);
        }
        assert_eq!(lake.server.get(&path(kept)).data()["physical"], true);
        assert_eq!(fields(&lake, kept).len(), 2);
        assert_eq!(fields(&lake, id_named(&lake, &shop, "c")).len(), 2);
        shop.run("CREATE TABLE a (id integer)");
        lake.read_in(shop.source);
        assert_eq!(lake.server.get(&path(a)).data()["physical"], true, "it is the one that was known");
        assert_eq!(known(&lake, &shop).iter().filter(|table| table["tableName"] == "a").count(), 1);
    }
}

#[test]
fn partitions_and_views_are_no_tables() {
    for (lake, shop) in on_servers() {
        shop.run(match shop.kind {
            Kind::Mariadb => {
                "CREATE TABLE events (id INT, day INT) PARTITION BY RANGE (day) (PARTITION p1 VALUES LESS THAN (10), \
                 PARTITION p2 VALUES LESS THAN MAXVALUE); CREATE VIEW seen AS SELECT * FROM events"
            }
            _ => {
                "CREATE TABLE events (id integer, day integer) PARTITION BY RANGE (day); \
                 CREATE TABLE events_1 PARTITION OF events FOR VALUES FROM (0) TO (10); \
                 CREATE TABLE events_2 PARTITION OF events FOR VALUES FROM (10) TO (20); \
                 CREATE VIEW seen AS SELECT * FROM events"
            }
        });
        let sync = lake.read_in(shop.source);
        assert_eq!(sync["errors"], json!([]), "{sync}");
        let names: Vec<String> =
            known(&lake, &shop).iter().map(|table| text(table, "tableName").to_owned()).collect();
        assert_eq!(names, ["events"]);
        let id = id_named(&lake, &shop, "events");
        assert_eq!(lake.server.get(&path(id)).data()["partitionColumn"], "day");
        shop.run("INSERT INTO events VALUES (1, 1), (2, 2), (3, 12)");
        let statistics = lake.server.get(&format!("{}/statistics", path(id))).data();
        assert_eq!((&statistics["rowCount"], &statistics["partitionCount"]), (&json!(3), &json!(2)));
    }
}

#[test]
fn a_long_sync_shows_progress_and_cancels() {
    const MANY: usize = 600;
    for (lake, shop) in on_servers() {
        let tables: String =
            (0..MANY).map(|n| format!("CREATE TABLE t{n:05} (id integer PRIMARY KEY, a integer);")).collect();
        shop.run(&tables);
        let sync = format!("{SOURCES}/{}/sync", shop.source);
        let (client, asked) = (lake.server.client(), sync.clone());
        let waiting = thread::spawn(move || client.post(&asked, &json!({})).data());
        eventually("some are done", SOON, || {
            let progress = lake.server.get(&sync).data()["progress"].clone();
            let done = progress["tablesDone"].as_i64()?;
            (done > 0 && progress["tablesTotal"] == MANY).then_some(())
        });
        let cancelled = lake.server.delete(&sync).data();
        let done = cancelled["progress"]["tablesDone"].as_i64().expect("a number");
        assert_eq!((&cancelled["state"], counts(&cancelled, "tables")), (&json!("cancelled"), [done, 0, 0]));
        waiting.join().expect("an answer");
        refused(&lake.server.delete(&sync), 409, "not_running");
        let whole = lake.read_in(shop.source);
        assert_eq!(
            (&whole["state"], counts(&whole, "tables")),
            (&json!("success"), [MANY as i64 - done, 0, 0])
        );
        assert_eq!(lake.server.get(&format!("{TABLES}?clusterId={}", shop.source)).data()["total"], MANY);
    }
}

#[test]
fn invisible_tables_are_not_read_in() {
    for (lake, shop) in on_servers() {
        let other = lake.warehouse(shop.kind);
        other.run("CREATE TABLE secret (id integer)");
        shop.run("CREATE TABLE mine (id integer)");
        assert_eq!(lake.read_in(shop.source)["state"], "success");
        assert_eq!(only_names(&lake, &shop), ["mine"]);
    }
}

fn only_names(lake: &Lake, shop: &Warehouse) -> Vec<String> {
    known(lake, shop).iter().map(|table| text(table, "tableName").to_owned()).collect()
}

#[test]
fn a_test_says_what_server_it_is() {
    for (lake, shop) in on_servers() {
        let told = lake.server.post(&format!("{SOURCES}/{}/test", shop.source), &json!({})).data();
        assert_eq!(told["ok"], true, "{told}");
        let product = if shop.kind == Kind::Mariadb { "MariaDB" } else { "PostgreSQL" };
        assert_eq!(text(&told, "product"), product);
        assert!(text(&told, "version").starts_with(|c: char| c.is_ascii_digit()), "{told}");
        let shown = lake.server.get(&format!("{SOURCES}/{}", shop.source)).data();
        assert!(!shown.to_string().contains("correct"), "no password: {shown}");
        assert_eq!(list(&lake.server.get(&format!("{SOURCES}?pageSize=500")).data()["records"]).len(), 2);
    }
}
