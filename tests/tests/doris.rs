//! Data sources of the kind `doris` over HTTP: a real server against a double that speaks MySQL's protocol
//! and answers like Apache Doris and StarRocks (contract, sections 1 and 4).

use std::time::Duration;

use lakeport_doris_double::{Double, Product, Settings};
use lakeport_tests::{Options, Response, Server, Store, eventually, id_of, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
const SOON: Duration = Duration::from_secs(30);

/// A server with a double that it may reach, and the double's data source.
struct Lake {
    server: Server,
    double: Double,
    source: i64,
}

impl Lake {
    fn start(store: &Store, settings: Settings) -> Lake {
        Lake::with(store, settings, &[])
    }

    fn with(store: &Store, settings: Settings, more: &[(&str, &str)]) -> Lake {
        let double = Double::start(settings).expect("the double starts");
        let environment =
            [&[("LAKEPORT_EGRESS_ALLOW", "127.0.0.1"), ("LAKEPORT_TIME_ZONE", "UTC")], more].concat();
        let server = Server::start_as(store, Options { environment: &environment, ..Options::default() });
        let url = format!("mysql://root@{}/ods", double.address());
        let form = json!({ "name": "lake", "kind": "doris", "url": url });
        let source = id_of(&server.post("/api/v1/datasources", &form).data());
        Lake { server, double, source }
    }

    fn tell(&self, asked: Value) -> Value {
        self.double.tell(&asked).unwrap_or_else(|message| panic!("{asked}: {message}"))
    }

    /// The double's definition.
    fn there(&self, name: &str) -> Value {
        self.tell(json!({ "do": "table", "table": format!("ods.{name}") }))
    }

    fn columns(&self, name: &str) -> Vec<String> {
        let table = self.there(name);
        let columns = table["columns"].as_array().unwrap_or_else(|| panic!("no table {name}"));
        columns.iter().map(|column| column["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// `ods.orders` of a model, partitioned by its day, with four fields; returns its id.
    fn defined(&self, model: &str) -> i64 {
        let form = json!({
            "tableName": "orders", "dbName": "ods", "clusterId": self.source, "tableModel": model,
            "tableComment": "what's \"ordered\" \\ in C:\\dir", "keyColumns": "id,dt", "partitionColumn": "dt",
            "distributionColumn": "id", "bucketNum": 10, "replicaNum": 3,
        });
        let id = id_of(&self.server.post(TABLES, &form).data());
        for (name, type_text, key) in [
            ("id", "BIGINT", true),
            ("dt", "DATE", true),
            ("note", "VARCHAR(64)", false),
            ("total", "INT", false),
        ] {
            let form = json!({ "fieldName": name, "fieldType": type_text, "isPrimaryKey": key,
                "isNullable": !key, "fieldComment": format!("the '{name}'") });
            self.server.post(&format!("{}/fields", path(id)), &form).data();
        }
        id
    }

    /// The same, created in the database.
    fn made(&self, model: &str) -> i64 {
        let id = self.defined(model);
        self.server.post(&format!("{}/physical", path(id)), &json!({})).data();
        id
    }

    /// Gives `ods.orders` a property, as if it had been created with it.
    fn property(&self, name: &str, value: &str) {
        self.tell(json!({ "do": "property", "table": "ods.orders", "name": name, "value": value }));
    }

    /// The path of a field.
    fn field(&self, id: i64, name: &str) -> String {
        let fields = self.server.get(&format!("{}/fields", path(id))).data();
        let fields = fields.as_array().expect("fields");
        let field = fields.iter().find(|field| field["fieldName"] == name);
        format!("{}/fields/{}", path(id), field.unwrap_or_else(|| panic!("no {name} in {fields:?}"))["id"])
    }

    /// The drift found by a sync.
    fn drift(&self, id: i64) -> Value {
        let sync = format!("/api/v1/datasources/{}/sync", self.source);
        self.server.post(&sync, &json!({})).data();
        eventually("the synchronization ends", SOON, || {
            let state = self.server.get(&sync).data();
            assert_ne!(state["state"], "failed", "{state}");
            (state["state"] != "running").then_some(())
        });
        self.server.get(&path(id)).data()["drift"].clone()
    }
}

fn path(id: i64) -> String {
    format!("{TABLES}/{id}")
}

fn products() -> [(Settings, &'static str); 2] {
    [(Settings::doris(), "UNIQUE"), (Settings::starrocks(), "PRIMARY")]
}

fn failed(answer: &Response) -> Value {
    assert_eq!(answer.status, 502, "{answer:?}");
    answer.json()
}

#[test]
fn both_products_get_suitable_session_settings() {
    for (settings, _) in products() {
        let lake = Lake::start(&stores()[0], settings);
        let test = lake.server.post(&format!("/api/v1/datasources/{}/test", lake.source), &json!({}));
        assert_eq!(test.status, 200, "{test:?}");
        let record = lake.tell(json!({ "do": "record" }));
        let record = record.as_array().expect("statements");
        assert!(!record.is_empty());
        for statement in record {
            assert_eq!(statement["outcome"], "done", "{statement}");
        }
        assert_eq!(record[0]["sql"], "SET sql_mode = \"ONLY_FULL_GROUP_BY\"");
    }
}

#[test]
fn a_table_is_created_with_its_layout() {
    for store in stores() {
        for (settings, model) in products() {
            let lake = Lake::start(&store, settings);
            let id = lake.defined(model);
            let physical = format!("{}/physical", path(id));
            let plan = lake.server.post(&format!("{physical}?dryRun=true"), &json!({})).data();
            let sql = plan["statements"][0]["sql"].as_str().expect("a text");
            assert!(sql.starts_with("CREATE TABLE `ods`.`orders`") && sql.contains("BUCKETS 10"), "{sql}");
            assert_eq!(lake.there("orders"), Value::Null);
            lake.server.post(&physical, &json!({})).data();
            let there = lake.there("orders");
            assert_eq!(there["comment"], "what's \"ordered\" \\ in C:\\dir");
            assert_eq!((&there["model"], &there["partition"]), (&json!(model), &json!("dt")), "{there}");
            assert_eq!((&there["buckets"], &there["replicas"]), (&json!(10), &json!(3)), "{there}");
            assert_eq!(there["columns"][2]["comment"], "the 'note'");

            let form = json!({ "fieldName": "more", "fieldType": "INT", "fieldComment": "how \"many\"" });
            lake.server.post(&format!("{}/fields", path(id)), &form).data();
            assert_eq!(lake.columns("orders"), ["id", "dt", "note", "total", "more"]);
            lake.server.put(&lake.field(id, "more"), &json!({ "fieldType": "BIGINT" })).data();
            lake.server.put(&lake.field(id, "more"), &json!({ "fieldName": "amount" })).data();
            lake.server.put(&lake.field(id, "amount"), &json!({ "fieldComment": "it's less" })).data();
            let last = lake.there("orders")["columns"][4].clone();
            assert_eq!((&last["name"], &last["comment"]), (&json!("amount"), &json!("it's less")), "{last}");
            assert!(last["type"].as_str().is_some_and(|text| text.eq_ignore_ascii_case("bigint")), "{last}");
            assert_eq!(lake.server.delete(&lake.field(id, "amount")).status, 200);
            assert_eq!(lake.columns("orders"), ["id", "dt", "note", "total"]);

            lake.server.put(&format!("{}/comment", path(id)), &json!({ "comment": "it's other" })).data();
            assert_eq!(lake.there("orders")["comment"], "it's other");
            lake.server.put(&path(id), &json!({ "replicaNum": 1 })).data();
            assert_eq!(lake.there("orders")["replicas"], 1);
            lake.server.put(&path(id), &json!({ "bucketNum": 32 })).data();
            lake.server.put(&path(id), &json!({ "tableName": "bills" })).data();
            assert_eq!(lake.there("orders"), Value::Null);
            let ddl = lake.server.get(&format!("{}/ddl", path(id))).data();
            assert!(ddl.as_str().expect("a text").contains("CREATE TABLE `bills`"), "{ddl}");
            assert_eq!(lake.drift(id), json!([]));
            let changes = lake.server.get(&format!("{}/changes", path(id))).data();
            let changes = changes.as_array().expect("changes");
            assert!(changes.len() >= 9 && changes.iter().all(|one| one["state"] == "success"), "{changes:?}");
        }
    }
}

#[test]
fn a_failed_job_fails_the_change() {
    for (settings, model) in products() {
        let lake = Lake::start(&stores()[0], settings);
        let id = lake.made(model);
        // An old failed job must not be taken for the change's own.
        lake.tell(
            json!({ "do": "job", "table": "ods.orders", "state": "CANCELLED", "message": "last week" }),
        );
        let widened = json!({ "fieldType": "BIGINT" });
        lake.server.put(&lake.field(id, "total"), &widened).data();
        lake.tell(json!({ "do": "jobs", "then": "cancel", "message": "not enough memory" }));
        let before = lake.there("orders");
        let answer = failed(&lake.server.put(&lake.field(id, "total"), &json!({ "fieldType": "LARGEINT" })));
        assert!(answer.to_string().contains("not enough memory"), "{answer}");
        assert!(answer.to_string().contains("\"failed\""), "each statement has its outcome: {answer}");
        assert_eq!(lake.there("orders"), before);
        let field = lake.server.get(&format!("{}/fields", path(id))).data()[3].clone();
        assert!(
            field["fieldType"].as_str().is_some_and(|text| text.eq_ignore_ascii_case("BIGINT")),
            "{field}"
        );
        assert_eq!(lake.drift(id), json!([]));
    }
}

#[test]
fn a_running_job_keeps_the_change_running() {
    for store in stores() {
        let lake = Lake::with(&store, Settings::doris(), &[("LAKEPORT_REQUEST_TIMEOUT_S", "3")]);
        let id = lake.made("UNIQUE");
        lake.tell(json!({ "do": "jobs", "then": "hold" }));
        let answer = lake.server.put(&lake.field(id, "total"), &json!({ "fieldType": "BIGINT" })).data();
        assert_eq!(answer["change"]["state"], "running", "{answer}");
        let other = lake.server.put(&format!("{}/comment", path(id)), &json!({ "comment": "meanwhile" }));
        assert_eq!((other.status, other.error()), (409, "change_running".to_owned()), "{other:?}");
        lake.tell(json!({ "do": "job", "table": "ods.orders", "state": "FINISHED" }));
        eventually("the change ends", SOON, || {
            let changes = lake.server.get(&format!("{}/changes", path(id))).data();
            assert_ne!(changes[0]["state"], "failed", "{changes}");
            (changes[0]["state"] == "success").then_some(())
        });
        let field = lake.server.get(&format!("{}/fields", path(id))).data()[3].clone();
        assert!(
            field["fieldType"].as_str().is_some_and(|text| text.eq_ignore_ascii_case("BIGINT")),
            "{field}"
        );
    }
}

#[test]
fn comments_stay_quoted_and_round_trip() {
    for (settings, model) in products().into_iter().chain([(Settings::older_doris(), "UNIQUE")]) {
        let lake = Lake::start(&stores()[0], settings);
        let id = lake.made(model);
        let comment = format!("{}/comment", path(id));
        let (mut kept, mut refused) = (0, 0);
        for text in [
            "'; DROP TABLE `ods`.`orders`; -- ",
            "\"; DROP TABLE `ods`.`orders`; -- ",
            "\\'; DROP TABLE `ods`.`orders`; -- ",
            "\\\"; DROP TABLE `ods`.`orders`; -- ",
            "both ' and \"",
            "C:\\dir\\",
            "line\nbreak\t; 字 %_",
            "''\"\"",
        ] {
            for (target, answer) in [
                (None, lake.server.put(&comment, &json!({ "comment": text }))),
                (Some(3), lake.server.put(&lake.field(id, "total"), &json!({ "fieldComment": text }))),
            ] {
                let there = lake.there("orders");
                let found = target.map_or(&there["comment"], |at: usize| &there["columns"][at]["comment"]);
                match answer.status {
                    200 => {
                        assert_eq!(found, text);
                        kept += 1;
                    }
                    400 | 409 => refused += 1,
                    _ => panic!("{text:?}: {answer:?}"),
                }
            }
        }
        assert!(kept >= refused, "{kept} kept, {refused} refused");
        assert_eq!(lake.drift(id), json!([]));
    }
}

#[test]
fn a_default_is_kept_letter_by_letter() {
    for (settings, model) in products() {
        let lake = Lake::start(&stores()[0], settings);
        let id = lake.made(model);
        let fields = format!("{}/fields", path(id));
        for (name, text) in [("one", "a\"b"), ("two", "it's"), ("three", "C:\\x"), ("four", "'\" and C:\\")] {
            let form = json!({ "fieldName": name, "fieldType": "VARCHAR(64)", "defaultValue": text });
            let answer = lake.server.post(&fields, &form);
            let there =
                lake.there("orders")["columns"].as_array().and_then(|columns| columns.last()).cloned();
            let there = there.filter(|column| column["name"] == name);
            match answer.status {
                200 => assert_eq!(there.expect("the field is there")["default"], text),
                _ => {
                    assert!(matches!(answer.status, 400 | 409), "{text:?}: {answer:?}");
                    assert_eq!(there, None, "{text:?}");
                    assert_ne!(name, "one", "what can be kept is kept: {answer:?}");
                }
            }
        }
        assert_eq!(lake.drift(id), json!([]));
    }
}

#[test]
fn merge_on_read_fields_can_be_widened() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    lake.property("enable_unique_key_merge_on_write", "false");
    lake.server.put(&lake.field(id, "total"), &json!({ "fieldType": "BIGINT" })).data();
    assert_eq!(lake.there("orders")["columns"][3]["type"], "bigint");
    assert_eq!(lake.drift(id), json!([]));
}

#[test]
fn a_field_that_follows_each_update_goes_on_following_it() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let form = json!({ "fieldName": "at", "fieldType": "DATETIME", "isNullable": false,
        "defaultValue": "CURRENT_TIMESTAMP" });
    lake.server.post(&format!("{}/fields", path(id)), &form).data();
    let said = "ALTER TABLE `ods`.`orders` MODIFY COLUMN `at` DATETIME NOT NULL \
                DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP";
    lake.tell(json!({ "do": "say", "sql": said }));
    let answer = lake.server.put(&lake.field(id, "at"), &json!({ "isNullable": true }));
    assert_eq!((answer.status, answer.error()), (409, "unsupported_by_dialect".to_owned()), "{answer:?}");
    lake.server.put(&lake.field(id, "at"), &json!({ "fieldComment": "when it was touched" })).data();
    let at = lake.there("orders")["columns"][4].clone();
    assert_eq!((&at["stamped"], &at["nullable"]), (&json!(true), &json!(false)), "{at}");
    assert_eq!(at["comment"], "when it was touched");
}

#[test]
fn counts_without_a_clear_effect_are_refused() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let refused = |form: Value| {
        let before = lake.there("orders");
        let answer = lake.server.put(&path(id), &form);
        assert_eq!((answer.status, answer.error()), (409, "unsupported_by_dialect".to_owned()), "{answer:?}");
        assert_eq!(lake.there("orders"), before);
    };
    lake.property("dynamic_partition.enable", "true");
    refused(json!({ "bucketNum": 32 }));
    lake.property("replication_allocation", "tag.location.default: 2, tag.location.b: 1");
    refused(json!({ "replicaNum": 2 }));
}

#[test]
fn after_a_lost_connection_catalogue_and_database_agree() {
    for at in ["before", "after"] {
        let lake = Lake::start(&stores()[0], Settings::doris());
        let id = lake.made("UNIQUE");
        lake.tell(json!({ "do": "lose", "at": at, "with": "ADD COLUMN" }));
        let form = json!({ "fieldName": "lost", "fieldType": "INT" });
        let answer = lake.server.post(&format!("{}/fields", path(id)), &form);
        assert!(matches!(answer.status, 200 | 502), "{at}: {answer:?}");
        let fields = lake.server.get(&format!("{}/fields", path(id))).data();
        let known: Vec<&str> = fields
            .as_array()
            .expect("fields")
            .iter()
            .filter_map(|field| field["fieldName"].as_str())
            .collect();
        assert_eq!(lake.columns("orders"), known, "{at}");
        assert_eq!(answer.status == 200, known.contains(&"lost"), "{at}: {answer:?}");
        assert_eq!(lake.drift(id), json!([]), "{at}");
    }
}

#[test]
fn deleted_tables_restore_or_enter_servers_bin() {
    for (settings, model) in products() {
        let lake = Lake::start(&stores()[0], settings);
        let id = lake.made(model);
        let delete = format!("{}/soft-delete?confirmTableName=orders", path(id));
        let pending = lake.server.post(&delete, &json!({})).data();
        let name = pending["tableName"].as_str().expect("a name").to_owned();
        assert!(name.starts_with("orders_deprecated_") && !lake.there(&name).is_null(), "{pending}");
        lake.server.post(&format!("{}/restore", path(id)), &json!({})).data();
        assert!(!lake.there("orders").is_null());
        let name =
            lake.server.post(&delete, &json!({})).data()["tableName"].as_str().expect("a name").to_owned();
        let purge = format!("{}/purge-now?confirmTableName={name}", path(id));
        assert_eq!(lake.server.post(&purge, &json!({})).status, 200);
        assert_eq!(lake.there(&name), Value::Null);
    }
}

#[test]
fn accesses_come_from_the_audit_log() {
    for (settings, _) in products() {
        for new_catalogue in [false, true] {
            let doris = settings.product == Product::Doris;
            let lake = Lake::start(&stores()[0], Settings { new_catalogue, ..settings.clone() });
            let id = lake.made(if doris { "UNIQUE" } else { "PRIMARY" });
            let [time, is_query] = if doris { ["time", "is_query"] } else { ["timestamp", "isQuery"] };
            let row = |ago_s: i64, user: &str, database: &str| {
                json!({ time: ago_s, "user": user, "db": database, "state": "EOF", is_query: 1,
                    "stmt": "SELECT count(*) FROM orders", "queried_tables_and_views": ["internal.ods.orders"] })
            };
            let mut rows = vec![row(90_000, "ana", "ods"), row(5_000, "ana", "ods"), row(60, "bob", "ods")];
            if doris && new_catalogue {
                rows.push(row(30, "root", "__internal_schema"));
            }
            lake.tell(json!({ "do": "audit", "rows": rows }));
            let stats = lake.server.get(&format!("{}/access-stats?topUsers=5", path(id))).data();
            assert_eq!((&stats["accessCount"], &stats["distinctUsers"]), (&json!(3), &json!(2)), "{stats}");
            assert!(stats["lastAccessTime"].is_string() || stats["lastAccessTime"].is_number(), "{stats}");
            assert_eq!(stats["topUsers"][0]["user"], "ana", "{stats}");
            assert!(!stats["topUsers"][0]["lastAccessTime"].is_null(), "{stats}");
        }
    }
}

#[test]
fn views_are_not_taken_for_tables() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let made = "CREATE TABLE `ods`.`daily` (`id` BIGINT NOT NULL) ENGINE = OLAP DUPLICATE KEY (`id`) \
                DISTRIBUTED BY HASH (`id`) BUCKETS 1";
    lake.tell(json!({ "do": "say", "sql": made }));
    lake.tell(json!({ "do": "say", "sql": made.replace("daily", "plain") }));
    lake.tell(json!({ "do": "materialized", "table": "ods.daily" }));
    lake.tell(json!({ "do": "view", "table": "ods.v", "sql": "SELECT o.`id` FROM `ods`.`orders` AS o" }));
    assert_eq!(lake.drift(id), json!([]));
    let tables = lake.server.get(TABLES).data();
    let names = tables["records"].as_array().unwrap_or_else(|| panic!("{tables}"));
    let mut names: Vec<&str> = names.iter().filter_map(|table| table["tableName"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["orders", "plain"]);
}

#[test]
fn buckets_of_the_servers_choice_get_a_number() {
    let lake = Lake::start(&stores()[0], Settings { new_catalogue: true, ..Settings::doris() });
    let id = lake.defined("UNIQUE");
    lake.server.put(&path(id), &json!({ "bucketNum": null })).data();
    lake.server.post(&format!("{}/physical", path(id)), &json!({})).data();
    assert_eq!(lake.there("orders")["buckets"], Value::Null);
    lake.server.put(&path(id), &json!({ "bucketNum": 32 })).data();
    let there = lake.there("orders");
    assert_eq!((&there["buckets"], &there["newBuckets"]), (&Value::Null, &json!(32)), "{there}");
    assert_eq!(lake.drift(id), json!([]));
    assert_eq!(lake.server.get(&path(id)).data()["bucketNum"], 32);
}

#[test]
fn too_many_copies_change_nothing() {
    for (settings, model) in products() {
        let lake = Lake::start(&stores()[0], Settings { new_catalogue: true, ..settings });
        let id = lake.made(model);
        lake.tell(json!({ "do": "partition", "table": "ods.orders", "of": "2026-11-20" }));
        let before = lake.there("orders");
        failed(&lake.server.put(&path(id), &json!({ "replicaNum": 5 })));
        assert_eq!(lake.there("orders"), before);
        assert_eq!(lake.drift(id), json!([]));
    }
}

#[test]
fn counts_that_a_table_shares_are_refused() {
    for (cloud, property) in [(true, None), (false, Some("colocate_with"))] {
        let lake = Lake::start(&stores()[0], Settings { cloud, ..Settings::doris() });
        let id = lake.made("UNIQUE");
        if let Some(property) = property {
            lake.property(property, "group");
        }
        let before = lake.there("orders");
        for form in [json!({ "bucketNum": 32 }), json!({ "replicaNum": 2 })] {
            let answer = lake.server.put(&path(id), &form);
            let expected = (409, "unsupported_by_dialect".to_owned());
            assert_eq!((answer.status, answer.error()), expected, "{answer:?}");
        }
        assert_eq!(lake.there("orders"), before);
    }
}

#[test]
fn variants_are_read_with_their_properties() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let form = json!({ "fieldName": "more", "fieldType": "VARIANT" });
    lake.server.post(&format!("{}/fields", path(id)), &form).data();
    let there = lake.there("orders")["columns"][4]["type"].clone();
    assert!(there.as_str().is_some_and(|text| text.starts_with("variant<PROPERTIES")), "{there}");
    assert_eq!(lake.drift(id), json!([]));
    let field = lake.server.get(&lake.field(id, "more")).data();
    assert_eq!(field["fieldType"], "VARIANT");
}

#[test]
fn truth_values_keep_their_default() {
    for (default, model) in [("1", "UNIQUE"), ("false", "UNIQUE")] {
        let lake = Lake::start(&stores()[0], Settings::doris());
        let id = lake.made(model);
        let added =
            format!("ALTER TABLE `ods`.`orders` ADD COLUMN `ok` BOOLEAN NOT NULL DEFAULT \"{default}\"");
        lake.tell(json!({ "do": "say", "sql": added }));
        lake.drift(id);
        lake.server.put(&lake.field(id, "ok"), &json!({ "isNullable": true })).data();
        let there = lake.there("orders")["columns"][4].clone();
        assert_eq!((&there["nullable"], &there["default"]), (&json!(true), &json!(default)), "{there}");
    }
}

#[test]
fn defaults_that_do_not_fit_are_refused_beforehand() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let before = lake.there("orders");
    lake.tell(json!({ "do": "clear" }));
    for (type_text, default) in
        [("FLOAT", "0.1"), ("VARCHAR(3)", "four"), ("DATE", "2026-02-30"), ("IPV4", "localhost")]
    {
        let form = json!({ "fieldName": "more", "fieldType": type_text, "defaultValue": default });
        let answer = lake.server.post(&format!("{}/fields", path(id)), &form);
        assert!(matches!(answer.status, 400 | 409), "{type_text}: {answer:?}");
    }
    assert_eq!(lake.there("orders"), before);
    let record = lake.tell(json!({ "do": "record" }));
    let tried = record
        .as_array()
        .expect("statements")
        .iter()
        .any(|one| one["sql"].to_string().contains("ADD COLUMN"));
    assert!(!tried, "{record}");
}

#[test]
fn a_drop_that_the_server_refuses_keeps_the_table() {
    let lake = Lake::start(&stores()[0], Settings::doris());
    let id = lake.made("UNIQUE");
    let delete = format!("{}/soft-delete?confirmTableName=orders", path(id));
    let name = lake.server.post(&delete, &json!({})).data()["tableName"].as_str().expect("a name").to_owned();
    let table = format!("ods.{name}");
    lake.tell(json!({ "do": "committed", "table": table, "transactions": 1 }));
    let purge = format!("{}/purge-now?confirmTableName={name}", path(id));
    let answer = failed(&lake.server.post(&purge, &json!({})));
    assert!(answer.to_string().contains("COMMITTED"), "{answer}");
    assert!(!lake.there(&name).is_null());
    lake.tell(json!({ "do": "committed", "table": table, "transactions": 0 }));
    assert_eq!(lake.server.post(&purge, &json!({})).status, 200);
}

#[test]
fn the_agents_sql_is_understood() {
    for (settings, model) in products() {
        let lake = Lake::start(&stores()[0], settings);
        lake.made(model);
        lake.tell(json!({ "do": "rows", "table": "ods.orders", "rows": 3 }));
        lake.tell(json!({ "do": "clear" }));
        let client = lake.server.client();
        let topic = client.post("/api/v1/nl2sql/topics", &json!({ "title": "orders" })).json();
        for (question, part) in [
            ("How many orders were there per day in the last 30 days?", "`digits`"),
            ("How many orders were there per week?", "`ends`"),
        ] {
            let message = json!({ "topic_id": topic["topic_id"], "content": question });
            let receipt = client.post("/api/v1/nl2sql/tasks/deliver-message", &message).json();
            let task = format!("/api/v1/nl2sql/tasks/{}", receipt["task_id"].as_str().expect("an id"));
            let task = eventually("the task ends", SOON, || {
                let task = client.get(&task).json();
                (!matches!(task["status"].as_str(), Some("waiting" | "running"))).then_some(task)
            });
            assert_eq!(task["status"], "success", "{question}: {task}");
            let record = lake.tell(json!({ "do": "record" }));
            let record = record.as_array().expect("statements");
            let asked = record.iter().find(|one| one["sql"].as_str().is_some_and(|sql| sql.contains(part)));
            assert!(asked.is_some(), "{question}: {record:?}");
            for statement in record {
                assert_eq!(statement["outcome"], "done", "{question}: {statement}");
            }
        }
    }
}

#[test]
fn tables_that_are_there_are_read_with_their_sizes() {
    for new_catalogue in [false, true] {
        let lake = Lake::start(&stores()[0], Settings { new_catalogue, ..Settings::doris() });
        let id = lake.made("UNIQUE");
        lake.tell(json!({ "do": "rows", "table": "ods.orders", "rows": 12, "bytes": 3400 }));
        assert_eq!(lake.drift(id), json!([]));
        let statistics = format!("{}/statistics", path(id));
        let sizes = lake.server.get(&statistics).data();
        assert_eq!((&sizes["rowCount"], &sizes["dataSize"]), (&json!(12), &json!(3400)), "{sizes}");
        // Its own numbers are estimates, so the rows are counted.
        assert_eq!(sizes["exact"], true, "{sizes}");
    }
}
