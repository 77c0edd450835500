//! The recycle bin over HTTP, against real SQLite files (contract, section 4.3).

use std::fs;
use std::thread;
use std::time::Duration;

use lakeport_tests::{Lake, Response, eventually, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
const SOON: Duration = Duration::from_secs(20);
const FIELDS: &[(&str, &str)] = &[("id", "INTEGER"), ("total", "REAL")];

fn refused(response: &Response, status: u16, code: &str) {
    assert_eq!((response.status, response.error().as_str()), (status, code), "{response:?}");
}

/// A query value, whatever is in it.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

fn soft_delete(lake: &Lake, id: i64, name: &str) -> Response {
    let target = format!("{TABLES}/{id}/soft-delete?confirmTableName={}", encoded(name));
    lake.server.post(&target, &json!({}))
}

fn restore(lake: &Lake, id: i64) -> Response {
    lake.server.post(&format!("{TABLES}/{id}/restore"), &json!({}))
}

fn purge(lake: &Lake, id: i64, name: &str) -> Response {
    let target = format!("{TABLES}/{id}/purge-now?confirmTableName={}", encoded(name));
    lake.server.post(&target, &json!({}))
}

fn pending(lake: &Lake) -> Vec<Value> {
    let list = lake.server.get(&format!("{TABLES}/pending-deletion")).data();
    list.as_array().unwrap_or_else(|| panic!("{list}")).clone()
}

fn get(lake: &Lake, id: i64) -> Value {
    lake.server.get(&format!("{TABLES}/{id}")).data()
}

fn tables_of(lake: &Lake, file: &str) -> Vec<String> {
    lake.texts(file, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}"))
}

#[test]
fn a_table_is_renamed_kept_for_30_days_and_comes_back_with_its_rows() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", FIELDS);
        lake.run("shop.db", "INSERT INTO orders VALUES (1, 10), (2, 20)");

        let wrong = soft_delete(&lake, id, "order");
        assert_eq!(wrong.status, 400);
        assert_eq!(wrong.message(), "确认失败：请输入正确的表名 orders");
        assert_eq!(lake.server.post(&format!("{TABLES}/{id}/soft-delete"), &json!({})).status, 400);
        refused(&restore(&lake, id), 409, "not_deprecated");
        refused(&purge(&lake, id, "orders"), 409, "not_deprecated");

        let target = format!("{TABLES}/{id}/soft-delete?confirmTableName=orders&dryRun=true");
        let dry = lake.server.post(&target, &json!({})).data();
        assert!(text(&dry["statements"][0], "sql").contains("RENAME TO"), "{dry}");
        assert_eq!(tables_of(&lake, "shop.db"), ["orders"]);

        let entry = soft_delete(&lake, id, "orders").data();
        let name = text(&entry, "tableName").to_owned();
        assert!(
            name.starts_with("orders_deprecated_") && name.len() == "orders_deprecated_".len() + 14,
            "{name}"
        );
        assert_eq!((text(&entry, "originTableName"), text(&entry, "status")), ("orders", "deprecated"));
        assert_eq!((&entry["remainingDays"], &entry["clusterId"]), (&json!(30), &json!(source)));
        assert_eq!(entry["referencedByTasks"], json!([]));
        assert_eq!(tables_of(&lake, "shop.db"), [name.as_str()]);
        assert_eq!(pending(&lake).len(), 1);
        assert_eq!(text(&pending(&lake)[0], "tableName"), name);
        assert_eq!(lake.server.get(TABLES).data()["total"], 0);
        let other = lake.server.get(&format!("{TABLES}/pending-deletion?clusterId={}", source + 1)).data();
        assert_eq!(other, json!([]));

        refused(&soft_delete(&lake, id, &name), 409, "deprecated");
        refused(&lake.server.put(&format!("{TABLES}/{id}"), &json!({ "owner": "ann" })), 409, "deprecated");
        lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
        assert_eq!(lake.server.get(TABLES).data()["total"], 0, "what lies in the bin is not read in anew");

        let back = restore(&lake, id).data();
        assert_eq!((text(&back, "tableName"), text(&back, "status")), ("orders", "active"));
        for member in ["originTableName", "deprecatedAt", "purgeAt"] {
            assert_eq!(back[member], Value::Null, "{member}");
        }
        assert_eq!(
            lake.numbers("shop.db", "SELECT CAST(total AS INTEGER) FROM orders ORDER BY id"),
            [10, 20]
        );
        assert_eq!(pending(&lake), [] as [Value; 0]);
        let changes = lake.server.get(&format!("{TABLES}/{id}/changes")).data();
        let kinds: Vec<&str> =
            changes.as_array().unwrap().iter().map(|change| text(change, "kind")).collect();
        assert_eq!(kinds, ["restore", "soft_delete", "create_table"]);
    }
}

#[test]
fn a_purge_by_hand_needs_the_whole_name_and_leaves_nothing() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", FIELDS);
        let other = lake.physical_table(source, "turnover", FIELDS);
        let workflow = lake.workflow("sums");
        let sql = "INSERT INTO turnover SELECT id, total FROM orders";
        let task = lake.task(workflow, "sum up", source, sql, [&[id], &[other]]);

        let entry = soft_delete(&lake, id, "orders").data();
        assert_eq!(entry["referencedByTasks"], json!([{ "id": task, "taskName": "sum up" }]));
        let name = text(&entry, "tableName").to_owned();
        let wrong = purge(&lake, id, "orders");
        assert_eq!((wrong.status, wrong.message()), (400, format!("确认失败：请输入正确的表名 {name}")));
        let dry = format!("{TABLES}/{id}/purge-now?confirmTableName={name}&dryRun=true");
        let dry = lake.server.post(&dry, &json!({})).data();
        assert_eq!((&dry["statements"][0]["destroys"], tables_of(&lake, "shop.db").len()), (&json!(true), 2));

        let purged = purge(&lake, id, &name).data();
        assert_eq!((&purged["purged"], text(&purged, "originTableName")), (&json!(true), "orders"));
        assert_eq!(tables_of(&lake, "shop.db"), ["turnover"]);
        assert_eq!(lake.server.get(&format!("{TABLES}/{id}")).status, 404);
        refused(&purge(&lake, id, &name), 404, "not_found");
        let detail = lake.server.get(&format!("/api/v1/workflows/{workflow}")).data();
        let bound = &detail["tasks"][0];
        assert_eq!(detail["currentVersion"], 3, "the tasks of the workflow were changed: {detail}");
        assert_eq!((&bound["inputTableIds"], &bound["outputTableIds"]), (&json!([]), &json!([other])));
        let graph = lake.server.get(&format!("/api/v1/lineage?tableId={other}")).data();
        assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(1), "{graph}");
        // The name is free again.
        lake.physical_table(source, "orders", FIELDS);
    }
}

#[test]
fn odd_names_go_in_and_come_out_as_they_were() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("odd.db");
        for name in
            ["select", "a b", "订单", "quo'te", "\"quoted\"", "back`tick", "semi;colon--", &"x".repeat(64)]
        {
            let id = lake.physical_table(source, name, FIELDS);
            let entry = soft_delete(&lake, id, name).data();
            assert_eq!(text(&entry, "originTableName"), name);
            assert_eq!(tables_of(&lake, "odd.db"), [text(&entry, "tableName")]);
            assert_eq!(text(&restore(&lake, id).data(), "tableName"), name);
            let entry = soft_delete(&lake, id, name).data();
            purge(&lake, id, text(&entry, "tableName")).data();
            assert_eq!(tables_of(&lake, "odd.db"), [] as [String; 0], "{name}");
        }
    }
}

#[test]
fn a_name_that_was_taken_meanwhile_is_not_taken_back() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", FIELDS);
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        let designed = lake.table(source, "orders", FIELDS);
        refused(&restore(&lake, id), 409, "name_taken");
        lake.server.put(&format!("{TABLES}/{designed}"), &json!({ "tableName": "orders2" })).data();
        // Behind our back, in the database alone.
        lake.run("shop.db", "CREATE TABLE orders (n INTEGER)");
        refused(&restore(&lake, id), 409, "name_taken");
        assert_eq!(get(&lake, id)["status"], "deprecated");
        assert_eq!(tables_of(&lake, "shop.db"), ["orders", name.as_str()]);
        lake.run("shop.db", "DROP TABLE orders");
        assert_eq!(restore(&lake, id).data()["status"], "active");
    }
}

#[test]
fn what_somebody_dropped_or_renamed_behind_our_back_is_told_and_can_go() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", FIELDS);
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        lake.run("shop.db", &format!("DROP TABLE {name}"));
        refused(&restore(&lake, id), 409, "drifted");
        assert_eq!(get(&lake, id)["status"], "deprecated");
        assert_eq!(purge(&lake, id, &name).data()["purged"], true);
        assert_eq!(lake.server.get(&format!("{TABLES}/{id}")).status, 404);
    }
}

#[test]
fn a_table_in_no_database_goes_in_and_out_in_the_catalogue_alone() {
    for store in stores() {
        let lake = Lake::start(&store);
        let form = json!({ "tableName": "plan", "dbName": "main" });
        let id = lake.server.post(TABLES, &form).data()["id"].as_i64().expect("an id");
        let target = format!("{TABLES}/{id}/soft-delete?confirmTableName=plan&dryRun=true");
        assert_eq!(lake.server.post(&target, &json!({})).data()["statements"], json!([]));
        let entry = soft_delete(&lake, id, "plan").data();
        assert_eq!((&entry["clusterId"], &entry["remainingDays"]), (&Value::Null, &json!(30)));
        assert_eq!(text(&restore(&lake, id).data(), "tableName"), "plan");
        let name = text(&soft_delete(&lake, id, "plan").data(), "tableName").to_owned();
        purge(&lake, id, &name).data();
        assert_eq!(lake.server.get(&format!("{TABLES}/{id}")).status, 404);
    }
}

#[test]
fn the_job_purges_what_is_past_its_time_and_shows_what_it_could_not_drop() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let (here, away) = (lake.source("here.db"), lake.source("away.db"));
        let gone = lake.physical_table(here, "orders", FIELDS);
        let young = lake.physical_table(here, "young", FIELDS);
        let kept = lake.physical_table(away, "orders", FIELDS);
        for (id, name) in [(gone, "orders"), (young, "young"), (kept, "orders")] {
            soft_delete(&lake, id, name).data();
        }
        fs::rename(lake.path("away.db"), lake.path("elsewhere.db")).expect("it is there");
        lake.server.execute(&format!("UPDATE tables SET purge_at = 1 WHERE id IN ({gone}, {kept})"));
        // The job looks soon after a start.
        lake.server.restart();
        eventually("the one is purged and the other one shown", SOON, || {
            let entries = pending(&lake);
            let error = entries.iter().find(|entry| entry["id"] == kept)?["purgeError"].clone();
            (entries.len() == 2 && !error.is_null()).then_some(())
        });
        assert_eq!(lake.server.get(&format!("{TABLES}/{gone}")).status, 404);
        let left = tables_of(&lake, "here.db");
        assert!(left.len() == 1 && left[0].starts_with("young_deprecated_"), "{left:?}");
        fs::rename(lake.path("elsewhere.db"), lake.path("away.db")).expect("it is there");
        lake.server.execute("UPDATE table_changes SET finished_at = 1 WHERE state = 'failed'");
        lake.server.restart();
        eventually("it is tried again", SOON, || (pending(&lake).len() == 1).then_some(()));
        assert_eq!(tables_of(&lake, "away.db"), [] as [String; 0]);
    }
}

#[test]
fn a_server_killed_while_a_table_goes_in_or_out_leaves_no_disagreement() {
    for store in stores() {
        for point in ["tables.change_claimed", "tables.physical_done"] {
            let mut lake = Lake::start(&store);
            let source = lake.source("shop.db");
            let id = lake.physical_table(source, "orders", FIELDS);
            lake.server.stop();
            lake.server.set("LAKEPORT_KILL_AT", point);
            lake.server.run();
            let client = lake.server.client();
            let target = format!("{TABLES}/{id}/soft-delete?confirmTableName=orders");
            let asked = thread::spawn(move || {
                std::panic::catch_unwind(move || client.post(&target, &json!({})).status)
            });
            assert!(lake.server.wait(SOON).is_some(), "{point} was not reached");
            let _ = asked.join();
            lake.server.kill();
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.run();
            let settled = eventually("the change is settled", Duration::from_secs(40), || {
                let changes = lake.server.get(&format!("{TABLES}/{id}/changes")).data();
                (changes[0]["state"] != "running").then(|| get(&lake, id))
            });
            let there = tables_of(&lake, "shop.db");
            assert_eq!(there, [text(&settled, "tableName")], "{point}");
            assert_eq!(settled["status"] == "deprecated", there != ["orders"], "{point}");
        }
    }
}
