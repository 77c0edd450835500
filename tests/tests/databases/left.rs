//! Leftovers of changes: while they run, when they fail, and for concurrent requests.

use std::thread;

use lakeport_tests::{Kind, id_of, on_servers, refused};
use serde_json::json;

use super::failures::{holder, settled, waits};
use super::{TABLES, agree, field_names, field_path, more, orders, path, text};

/// More than the sessions of one data source.
const AT_ONCE: usize = 24;

#[test]
fn concurrent_requests_do_not_share_sessions() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let field = field_path(&lake, id, "total");
        let asked: Vec<_> = (0..AT_ONCE)
            .map(|number| {
                let (client, target) = (lake.server.client(), format!("{field}?dryRun=true"));
                let form = json!({ "fieldComment": format!("number {number}") });
                thread::spawn(move || client.put(&target, &form))
            })
            .collect();
        for answer in asked {
            answer.join().expect("an answer").data();
        }
    }
}

/// The lock is released after the server is gone: then MariaDB makes the change, PostgreSQL rolls back.
#[test]
fn the_next_server_awaits_an_orphaned_statement() {
    for (mut lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let (client, form) = (lake.server.client(), more(&shop));
        let asked = thread::spawn(move || {
            let fields = format!("{}/fields", path(id));
            std::panic::catch_unwind(move || client.post(&fields, &form).status)
        });
        waits(&shop);
        lake.server.kill();
        let _ = asked.join();
        lake.server.run();
        let change = lake.server.get(&format!("{}/changes", path(id))).data()[0].clone();
        assert_eq!(change["state"], "running", "{change}");
        drop(held);
        let change = settled(&lake, id);
        let is_made = shop.columns("orders").len() == 3;
        assert_eq!(is_made, shop.kind == Kind::Mariadb);
        assert_eq!(change["state"], if is_made { "success" } else { "failed" }, "{change}");
        agree(&lake, &shop, id);
    }
}

#[test]
fn a_repeated_key_waits_for_the_first() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let ask = || {
            let (client, form) = (lake.server.client(), more(&shop).to_string());
            thread::spawn(move || {
                let headers = [("content-type", "application/json"), ("idempotency-key", "one")];
                client.send("POST", &format!("{}/fields", path(id)), &headers, form.as_bytes())
            })
        };
        let first = ask();
        waits(&shop);
        let second = ask();
        drop(held);
        let [first, second] = [first, second].map(|asked| asked.join().expect("an answer").data());
        assert_eq!(first["fieldName"], "more", "{first}");
        assert_eq!(first, second);
        assert_eq!(field_names(&lake, id), ["id", "total", "more"]);
    }
}

#[test]
fn a_failing_step_undoes_the_earlier_ones() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        let id = orders(&lake, &shop);
        let mut admin = shop.admin();
        // Without the right to create in a schema there is no right to rename in it.
        let owner = admin.texts("SELECT rolname FROM pg_roles WHERE rolsuper ORDER BY 1").swap_remove(0);
        admin.run(&format!("ALTER SCHEMA public OWNER TO \"{owner}\""));
        admin.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC");
        admin.run(&format!("REVOKE CREATE ON SCHEMA public FROM {}", shop.name));
        let form = json!({ "tableComment": "all of them", "tableName": "bills" });
        let answer = lake.server.put(&path(id), &form);
        refused(&answer, 502, "change_failed");
        assert!(answer.message().contains("what was done before it was taken back"), "{answer:?}");
        let outcomes: Vec<String> = answer.json()["statements"]
            .as_array()
            .expect("statements")
            .iter()
            .map(|statement| text(statement, "outcome").to_owned())
            .collect();
        assert_eq!(outcomes, ["undone", "failed"]);
        assert_eq!(shop.texts("SELECT coalesce(obj_description('orders'::regclass), '-')"), ["-"]);
        assert_eq!(lake.server.get(&path(id)).data()["tableComment"], json!(null));
        agree(&lake, &shop, id);
    }
}

#[test]
fn a_name_that_differs_in_case_alone_is_another_name() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        lake.server.put(&path(id), &json!({ "tableName": "Orders" })).data();
        assert_eq!(shop.tables(), ["Orders"]);
        agree(&lake, &shop, id);
    }
}

#[test]
fn the_default_partition_follows_the_tables_name() {
    for (lake, shop) in on_servers().filter(|(_, shop)| shop.kind == Kind::Postgres) {
        let form = json!({
            "tableName": "days", "dbName": shop.db, "clusterId": shop.source, "partitionColumn": "day",
        });
        let day = json!({ "fieldName": "day", "fieldType": "date" });
        let names = || {
            let query = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') \
                         AND relnamespace = 'public'::regnamespace ORDER BY 1";
            shop.texts(query)
        };
        let make = || {
            let id = id_of(&lake.server.post(TABLES, &form).data());
            lake.server.post(&format!("{}/fields", path(id)), &day).data();
            lake.server.post(&format!("{}/physical", path(id)), &json!({})).data();
            id
        };
        let id = make();
        assert_eq!(names(), ["days", "days_default"]);
        let gone = lake.server.post(&format!("{}/soft-delete?confirmTableName=days", path(id)), &json!({}));
        let gone = text(&gone.data(), "tableName").to_owned();
        assert_eq!(names(), [gone.clone(), format!("{gone}_default")]);
        // The names are free for another.
        let other = make();
        agree(&lake, &shop, other);
        lake.server.put(&path(other), &json!({ "tableName": "nights" })).data();
        lake.server.post(&format!("{}/restore", path(id)), &json!({})).data();
        assert_eq!(names(), ["days", "days_default", "nights", "nights_default"]);
        agree(&lake, &shop, id);
    }
}
