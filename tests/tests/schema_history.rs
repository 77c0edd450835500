//! The schema history of tables over HTTP: changes found by a sync, made in the database, made in the
//! catalogue.

use lakeport_tests::{Lake, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";

fn history(lake: &Lake, table: i64) -> Vec<Value> {
    let page = lake.server.get(&format!("{TABLES}/{table}/schema-history?pageSize=100")).data();
    let records = page["records"].as_array().unwrap_or_else(|| panic!("{page}"));
    assert_eq!(page["total"], records.len(), "{page}");
    records.clone()
}

/// An entry in short: `what field member`.
fn told(entry: &Value) -> Vec<String> {
    let changes = entry["changes"].as_array().unwrap_or_else(|| panic!("{entry}"));
    let told = |change: &Value| {
        let parts = ["what", "field", "member"].map(|name| change[name].as_str().unwrap_or_default());
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
    };
    changes.iter().map(told).collect()
}

fn fields_at(lake: &Lake, table: i64, version: i64) -> Vec<String> {
    let shown = lake.server.get(&format!("{TABLES}/{table}/schema-history/{version}")).data();
    assert_eq!(shown["version"], version);
    let fields = shown["fields"].as_array().unwrap_or_else(|| panic!("{shown}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    fields
        .iter()
        .map(|field| format!("{} {}", text(&field["fieldName"]), text(&field["fieldType"])))
        .collect()
}

#[test]
fn every_schema_change_is_recorded() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        let made = history(&lake, id);
        let sources: Vec<&Value> = made.iter().map(|entry| &entry["source"]).collect();
        assert_eq!(sources, ["change", "catalogue", "catalogue", "catalogue"], "the newest first");
        assert_eq!(told(&made[3]), ["table_created"]);
        assert_eq!(told(&made[1]), ["field_added total"]);
        assert!(told(&made[0]).contains(&"table_changed physical".to_owned()), "{:?}", told(&made[0]));
        assert_eq!((&made[0]["version"], &made[0]["by"]), (&json!(4), &json!("local")));

        let sync = format!("/api/v1/datasources/{source}/sync");
        assert_eq!(lake.server.post(&sync, &json!({})).data()["state"], "success");
        assert_eq!(history(&lake, id).len(), 4, "nothing changed");
        lake.run("shop.db", "ALTER TABLE orders ADD COLUMN note TEXT; ALTER TABLE orders DROP COLUMN total");
        lake.server.post(&sync, &json!({})).data();
        let found = &history(&lake, id)[0];
        assert_eq!((&found["source"], &found["by"]), (&json!("sync"), &Value::Null));
        assert_eq!(told(found), ["field_added note", "field_removed total"]);

        let fields = lake.server.get(&format!("{TABLES}/{id}/fields")).data();
        let note = format!("{TABLES}/{id}/fields/{}", fields[1]["id"]);
        lake.server.put(&note, &json!({ "fieldName": "remark" })).data();
        let renamed = &history(&lake, id)[0];
        assert_eq!(
            (&renamed["source"], told(renamed)),
            (&json!("change"), vec!["field_renamed remark".into()])
        );
        let names = (&renamed["changes"][0]["before"], &renamed["changes"][0]["after"]);
        assert_eq!(names, (&json!("note"), &json!("remark")));

        assert_eq!(fields_at(&lake, id, 6), ["id INTEGER", "remark TEXT"]);
        assert_eq!(fields_at(&lake, id, 5), ["id INTEGER", "note TEXT"]);
        assert_eq!(fields_at(&lake, id, 4), ["id INTEGER", "total REAL"]);
        assert_eq!(fields_at(&lake, id, 2), ["id INTEGER"]);
        assert_eq!(fields_at(&lake, id, 1), [] as [String; 0]);

        lake.run("shop.db", "DROP TABLE orders");
        lake.server.post(&sync, &json!({})).data();
        assert_eq!(told(&history(&lake, id)[0]), ["table_changed physical"]);
    }
}

#[test]
fn outside_changes_become_drift_when_found() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        let sync = format!("/api/v1/datasources/{source}/sync");
        let drift = || lake.server.get(&format!("{TABLES}/{id}")).data()["drift"].clone();
        lake.server.post(&sync, &json!({})).data();
        assert_eq!(drift(), json!([]));
        lake.run("shop.db", "ALTER TABLE orders ADD COLUMN note TEXT; ALTER TABLE orders DROP COLUMN total");
        lake.server.post(&sync, &json!({})).data();
        assert_eq!(
            drift(),
            json!([
                { "what": "fields[1].fieldName", "expected": "total", "found": "" },
                { "what": "fields", "expected": "", "found": "note" },
            ])
        );
        lake.server.post(&sync, &json!({})).data();
        assert_eq!(drift(), json!([]), "both are alike");
        lake.run("shop.db", "DROP TABLE orders");
        lake.server.post(&sync, &json!({})).data();
        assert_eq!(drift(), json!([{ "what": "physical", "expected": "true", "found": "false" }]));
    }
}

#[test]
fn logical_tables_have_schema_history_too() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "orders", &[("id", "INTEGER")]);
        let path = format!("{TABLES}/{id}");
        lake.server.put(&path, &json!({ "owner": "ann", "layer": "ODS" })).data();
        lake.server.put(&path, &json!({})).data();
        assert_eq!(history(&lake, id).len(), 2);
        lake.server
            .put(&path, &json!({ "tableName": "bills", "tableComment": "said", "bucketNum": 4 }))
            .data();
        let entry = &history(&lake, id)[0];
        assert_eq!(told(entry), ["table_renamed", "comment_changed", "table_changed bucketNum"]);
        assert_eq!(
            (&entry["changes"][0]["before"], &entry["source"]),
            (&json!("orders"), &json!("catalogue"))
        );
        lake.server.post(&format!("{path}/soft-delete?confirmTableName=bills"), &json!({})).data();
        assert_eq!(told(&history(&lake, id)[0]), ["table_renamed", "table_changed status"]);
        lake.server.post(&format!("{path}/restore"), &json!({})).data();
        assert_eq!(told(&history(&lake, id)[0]), ["table_renamed", "table_changed status"]);
        let page = lake.server.get(&format!("{path}/schema-history?pageNum=2&pageSize=2")).data();
        assert_eq!((&page["total"], &page["records"][0]["version"]), (&json!(5), &json!(3)));
    }
}

#[test]
fn ids_versions_pages_and_rights_are_checked() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "orders", &[("id", "INTEGER")]);
        for path in ["999/schema-history", "999/schema-history/1", &format!("{id}/schema-history/9")] {
            let answer = lake.server.get(&format!("{TABLES}/{path}"));
            assert_eq!((answer.status, answer.error().as_str()), (404, "not_found"), "{path}");
        }
        for path in ["schema-history?pageNum=0", "schema-history?pageSize=501", "schema-history/one"] {
            assert_eq!(lake.server.get(&format!("{TABLES}/{id}/{path}")).status, 400, "{path}");
        }
        lake.source("other.db");
        let bound = ["token", "create", "--role", "viewer", "--name", "bob", "--datasources", "other.db"];
        let bob = lake.server.client_as(lake.server.command_ok(&bound).trim());
        for path in ["schema-history", "schema-history/1"] {
            assert_eq!(bob.get(&format!("{TABLES}/{id}/{path}")).error(), "datasource_not_allowed");
        }
    }
}
