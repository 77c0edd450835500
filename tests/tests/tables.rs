//! Tables, their fields, physical changes and statistics over HTTP, against real SQLite files (contract, section 4).

use std::fs;
use std::thread;
use std::time::Duration;

use lakeport_tests::{Lake, Store, eventually, id_of, named, refused, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
const SOON: Duration = Duration::from_secs(20);

fn path(id: i64) -> String {
    format!("{TABLES}/{id}")
}

fn names(page: &Value) -> Vec<String> {
    let records = page["records"].as_array().unwrap_or_else(|| panic!("{page}"));
    records.iter().map(|record| record["tableName"].as_str().expect("a name").to_owned()).collect()
}

/// The columns that SQLite has.
fn columns(lake: &Lake, file: &str, table: &str) -> Vec<String> {
    lake.texts(file, &format!("SELECT name FROM pragma_table_info('{table}') ORDER BY cid"))
}

#[test]
fn definitions_are_created_read_and_changed() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let form = json!({
            "tableName": "orders", "dbName": "main", "tableComment": "one row an order", "layer": "ODS",
            "clusterId": source, "tableModel": null, "keyColumns": "id", "owner": "ann",
            "businessDomain": "sales", "dataDomain": "trade",
        });
        let made = lake.server.post(TABLES, &form).data();
        let id = id_of(&made);
        for (member, value) in [
            ("status", json!("active")),
            ("physical", json!(false)),
            ("owner", json!("ann")),
            ("bucketNum", Value::Null),
            ("rowCount", Value::Null),
            ("originTableName", Value::Null),
            ("purgeAt", Value::Null),
        ] {
            assert_eq!(made.get(member), Some(&value), "{member} of {made}");
        }
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(detail["fields"], json!([]));
        assert_eq!(detail["cluster"], json!({ "id": source, "name": "shop.db", "kind": "sqlite" }));
        assert_eq!(detail["drift"], json!([]));

        refused(&lake.server.post(TABLES, &form), 409, "name_taken");
        let changed = lake.server.put(&path(id), &json!({ "layer": "DWD", "owner": null })).data();
        assert_eq!((&changed["layer"], &changed["owner"]), (&json!("DWD"), &Value::Null));
        assert_eq!(changed["tableComment"], "one row an order");
        let renamed = lake.server.put(&path(id), &json!({ "tableName": "orders2" })).data();
        assert_eq!(renamed["tableName"], "orders2");
        lake.server.post(TABLES, &form).data();
        refused(&lake.server.put(&path(id), &json!({ "tableName": "orders" })), 409, "name_taken");
        refused(&lake.server.get(&path(999)), 404, "not_found");
        refused(&lake.server.put(&path(999), &json!({})), 404, "not_found");
    }
}

#[test]
fn a_change_says_which_execution_holds_its_database() {
    /// Takes minutes, and changes the database meanwhile.
    const ENDLESS: &str = "INSERT INTO busy WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n \
        LIMIT 1000000000000) SELECT max(x) FROM n";
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let busy = lake.physical_table(source, "busy", &[("x", "INTEGER")]);
        let new = lake.table(source, "new", &[("x", "INTEGER")]);
        let workflow = lake.workflow("w");
        lake.task(workflow, "long", source, ENDLESS, [&[], &[busy]]);
        lake.deploy(workflow);
        lake.execute(workflow);
        let running = eventually("it runs", SOON, || {
            let running = lake.server.get("/api/v1/executions/running").data();
            running.as_array().and_then(|running| running.first().cloned())
        });
        let cancel = format!("/api/v1/executions/{}/cancel", running["id"]);
        let field = json!({ "fieldName": "y", "fieldType": "TEXT" });
        for answer in [
            lake.server.post(&format!("{}/physical", path(new)), &json!({})),
            lake.server.post(&format!("{}/fields", path(busy)), &field),
        ] {
            refused(&answer, 504, "upstream_timeout");
            let message = answer.message();
            let execution = format!("execution {} (task `long` of the workflow `w`)", running["id"]);
            for part in ["holds the database locked", &execution, &cancel, "try again"] {
                assert!(message.contains(part), "{part}: {message}");
            }
        }
        lake.server.post(&cancel, &json!({})).data();
        lake.server.post(&format!("{}/physical", path(new)), &json!({})).data();
        assert_eq!(columns(&lake, "shop.db", "new"), ["x"]);
    }
}

#[test]
fn an_invalid_definition_names_every_member() {
    for store in stores() {
        let lake = Lake::start(&store);
        let wrong = json!({ "tableName": "", "dbName": 7, "bucketNum": "many", "clusterId": "x" });
        assert_eq!(
            named(&lake.server.post(TABLES, &wrong)),
            ["bucketNum", "clusterId", "dbName", "tableName"]
        );
        let unknown = json!({ "tableName": "a", "dbName": "main", "clusterId": 999 });
        assert_eq!(named(&lake.server.post(TABLES, &unknown)), ["clusterId"]);
        let own = json!({ "tableName": "a", "dbName": "main", "clusterId": 1 });
        assert_eq!(named(&lake.server.post(TABLES, &own)), ["clusterId"]);
        let long = json!({ "tableName": "a".repeat(65), "dbName": "main" });
        assert_eq!(named(&lake.server.post(TABLES, &long)), ["tableName"]);
        assert_eq!(lake.server.get(TABLES).data()["total"], 0);
        for (query, member) in [
            ("sortField=price", "sortField"),
            ("sortOrder=up", "sortOrder"),
            ("pageNum=0", "pageNum"),
            ("pageSize=501", "pageSize"),
        ] {
            assert_eq!(named(&lake.server.get(&format!("{TABLES}?{query}"))), [member]);
        }
    }
}

#[test]
fn the_list_filters_sorts_and_pages() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        for (name, db, layer) in [
            ("Orders", "main", "ODS"),
            ("items", "main", "ODS"),
            ("100%_sure", "main", "DWD"),
            ("订单", "main", "ADS"),
            ("other", "sales", "ADS"),
        ] {
            let form = json!({ "tableName": name, "dbName": db, "layer": layer, "clusterId": source });
            let id = id_of(&lake.server.post(TABLES, &form).data());
            // Each is visible to the next request.
            let found = lake.server.get(&format!("{TABLES}?pageSize=1")).data();
            assert_eq!(found["records"][0]["id"], id);
        }
        let list = |query: &str| lake.server.get(&format!("{TABLES}?{query}")).data();
        assert_eq!(names(&list("sortField=tableName")), ["100%_sure", "Orders", "items", "other", "订单"]);
        assert_eq!(names(&list("sortField=tableName&sortOrder=desc&pageSize=2")), ["订单", "other"]);
        let second = list("sortField=tableName&pageSize=2&pageNum=2");
        assert_eq!(
            (names(&second), &second["total"]),
            (vec!["items".to_owned(), "other".to_owned()], &json!(5))
        );
        assert_eq!(list("pageNum=9")["records"], json!([]));
        assert_eq!(names(&list("keyword=ORD")), ["Orders"]);
        assert_eq!(names(&list("keyword=sales")), ["other"]);
        assert_eq!(names(&list("keyword=%25_")), ["100%_sure"]);
        assert_eq!(names(&list("keyword=%E8%AE%A2")), ["订单"]);
        assert_eq!(names(&list("layer=ODS&sortField=tableName&sortOrder=asc")), ["Orders", "items"]);
        assert_eq!(list(&format!("clusterId={source}"))["total"], 5);
        assert_eq!(list("clusterId=999")["total"], 0);
        for field in ["row_count", "rowCount", "data_size", "index_size", "created_at", "updatedAt", "dbName"]
        {
            assert_eq!(list(&format!("sortField={field}"))["total"], 5);
        }
    }
}

#[test]
fn a_physical_table_follows_its_definition() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        lake.run("shop.db", "");
        let id = lake.table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        let physical = format!("{}/physical", path(id));

        let plan = lake.server.post(&format!("{physical}?dryRun=true"), &json!({})).data();
        let statement = &plan["statements"][0];
        assert!(statement["sql"].as_str().expect("a text").starts_with("CREATE TABLE"), "{plan}");
        assert_eq!(statement["destroys"], false, "{plan}");
        assert!(statement.get("undo").is_some() && statement.get("note").is_some(), "{plan}");
        assert_eq!(columns(&lake, "shop.db", "orders"), [] as [&str; 0]);

        let made = lake.server.post(&physical, &json!({})).data();
        assert_eq!(made["physical"], true, "{made}");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total"]);
        assert_eq!(lake.server.post(&physical, &json!({})).status, 409);

        let fields = format!("{}/fields", path(id));
        let form = json!({ "fieldName": "day", "fieldType": "TEXT", "fieldComment": "when" });
        let plan = lake.server.post(&format!("{fields}?dryRun=true"), &form).data();
        assert!(plan["statements"][0]["sql"].as_str().expect("a text").contains("ADD COLUMN"), "{plan}");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total"]);
        let field = lake.server.post(&fields, &form).data();
        assert_eq!((&field["fieldName"], &field["tableId"]), (&json!("day"), &json!(id)), "{field}");
        assert_eq!((&field["fieldOrder"], &field["isNullable"]), (&json!(3), &json!(true)), "{field}");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total", "day"]);

        lake.run("shop.db", "INSERT INTO orders VALUES (1, 2.5, 'mon'), (2, 4, 'tue')");
        let one = format!("{fields}/{}", field["id"]);
        let renamed = lake.server.put(&one, &json!({ "fieldName": "weekday" })).data();
        assert_eq!(renamed["fieldName"], "weekday");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total", "weekday"]);
        assert_eq!(lake.texts("shop.db", "SELECT weekday FROM orders ORDER BY id"), ["mon", "tue"]);
        refused(
            &lake.server.post(&fields, &json!({ "fieldName": "weekday", "fieldType": "TEXT" })),
            409,
            "name_taken",
        );
        assert_eq!(lake.server.delete(&one).status, 200);
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total"]);
        refused(&lake.server.delete(&one), 404, "not_found");

        let renamed = lake.server.put(&path(id), &json!({ "tableName": "bills" })).data();
        assert_eq!(renamed["tableName"], "bills");
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM bills"), [2]);
        for (member, value) in [
            ("dbName", json!("other")),
            ("clusterId", json!(1)),
            ("keyColumns", json!("total")),
            ("tableModel", json!("DUPLICATE")),
            ("partitionColumn", json!("id")),
            ("distributionColumn", json!("id")),
        ] {
            let answer = lake.server.put(&path(id), &json!({ member: value }));
            refused(&answer, 409, "not_changeable");
            assert!(format!("{answer:?}").contains(member), "{answer:?}");
        }
        refused(&lake.server.put(&path(id), &json!({ "replicaNum": 3 })), 409, "unsupported_by_dialect");

        let comment = format!("{}/comment", path(id));
        let changed =
            lake.server.put(&comment, &json!({ "comment": "it's \"quoted\"; DROP TABLE bills" })).data();
        assert_eq!(changed["tableComment"], "it's \"quoted\"; DROP TABLE bills");
        let ddl = lake.server.get(&format!("{}/ddl", path(id))).data();
        assert!(ddl.as_str().expect("a text").starts_with("CREATE TABLE"), "{ddl}");
        let changes = lake.server.get(&format!("{}/changes", path(id))).data();
        let states: Vec<&Value> =
            changes.as_array().expect("changes").iter().map(|change| &change["state"]).collect();
        assert!(states.len() >= 5 && states.iter().all(|state| *state == "success"), "{changes}");
        assert_eq!(lake.server.get(&path(id)).data()["drift"], json!([]));
    }
}

#[test]
fn what_is_not_physical_has_no_ddl_and_no_statistics() {
    for store in stores() {
        let lake = Lake::start(&store);
        let id = id_of(&lake.server.post(TABLES, &json!({ "tableName": "t", "dbName": "main" })).data());
        refused(&lake.server.get(&format!("{}/ddl", path(id))), 409, "not_physical");
        refused(&lake.server.get(&format!("{}/statistics", path(id))), 409, "not_physical");
        refused(&lake.server.post(&format!("{}/physical", path(id)), &json!({})), 409, "no_datasource");
        let source = lake.source("shop.db");
        let table = lake.table(source, "t", &[("id", "INTEGER")]);
        let other = lake.source("other.db");
        let elsewhere = format!("{}/physical?clusterId={other}", path(table));
        refused(&lake.server.post(&elsewhere, &json!({})), 409, "wrong_cluster");
    }
}

#[test]
fn fields_are_checked_ordered_and_belong_to_one_table() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "t", &[("a", "INTEGER"), ("b", "TEXT"), ("c", "VARCHAR(20)")]);
        let other = lake.table(source, "u", &[("a", "INTEGER")]);
        let fields = lake.server.get(&format!("{}/fields", path(id))).data();
        let fields = fields.as_array().expect("fields");
        let shown: Vec<_> = fields.iter().map(|field| (&field["fieldName"], &field["fieldOrder"])).collect();
        assert_eq!(shown, [(&json!("a"), &json!(1)), (&json!("b"), &json!(2)), (&json!("c"), &json!(3))]);
        assert_eq!(fields[0]["isPrimaryKey"], true);
        let strangers = format!("{}/fields/{}", path(other), fields[1]["id"]);
        refused(&lake.server.put(&strangers, &json!({ "fieldName": "x" })), 404, "not_found");
        refused(&lake.server.delete(&strangers), 404, "not_found");
        let wrong = json!({ "fieldName": "x", "fieldType": "TEXT); DROP TABLE t; --" });
        assert_eq!(named(&lake.server.post(&format!("{}/fields", path(id)), &wrong)), ["fieldType"]);
        let wrong = json!({ "fieldName": "", "fieldType": 5, "isNullable": "no" });
        let answer = lake.server.post(&format!("{}/fields", path(id)), &wrong);
        assert_eq!(named(&answer), ["fieldName", "fieldType", "isNullable"]);
    }
}

#[test]
fn a_field_is_changed_by_the_version_that_was_read() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "t", &[("a", "INTEGER"), ("b", "TEXT")]);
        let fields = lake.server.get(&format!("{}/fields", path(id))).data();
        let field = format!("{}/fields/{}", path(id), fields[1]["id"]);
        let read = lake.server.get(&field);
        assert_eq!(read.data(), fields[1]);
        let first = read.header("etag").expect("an ETag").to_owned();
        let client = lake.server.client();
        let change = |tag: &str| client.send("PUT", &field, &[("If-Match", tag)], br#"{"fieldComment":"x"}"#);
        let second = change(&first).header("etag").expect("the new ETag").to_owned();
        assert_eq!(lake.server.get(&field).header("etag"), Some(second.as_str()));
        refused(&change(&first), 412, "precondition_failed");
        refused(&client.send("DELETE", &field, &[("If-Match", &first)], b""), 412, "precondition_failed");
        assert_eq!(client.send("DELETE", &field, &[("If-Match", &second)], b"").status, 200);
        refused(&lake.server.get(&field), 404, "not_found");
    }
}

#[test]
fn a_comment_is_taken_away_by_null() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.table(source, "t", &[("a", "INTEGER")]);
        let comment = format!("{}/comment", path(id));
        let set =
            |to: Value| lake.server.put(&comment, &json!({ "comment": to })).data()["tableComment"].clone();
        assert_eq!(set(json!("said")), "said");
        assert_eq!(set(Value::Null), Value::Null);
    }
}

#[test]
fn a_dry_run_is_refused_like_changes() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        lake.table(source, "taken", &[("id", "INTEGER")]);
        for name in ["taken", "TAKEN"] {
            for dry_run in [true, false] {
                let target = format!("{}?dryRun={dry_run}", path(id));
                refused(&lake.server.put(&target, &json!({ "tableName": name })), 409, "name_taken");
            }
        }
        let target = format!("{}?dryRun=true", path(id));
        let dry = lake.server.put(&target, &json!({ "tableName": "free" })).data();
        assert_eq!(dry["statements"].as_array().map(Vec::len), Some(1), "{dry}");
        assert_eq!(lake.server.get(&path(id)).data()["tableName"], "orders");
    }
}

#[test]
fn a_refused_change_changes_nothing() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        lake.run("shop.db", "CREATE TABLE other (id INTEGER PRIMARY KEY)");
        let id = lake.table(source, "other", &[("id", "INTEGER"), ("a", "TEXT")]);
        let answer = lake.server.post(&format!("{}/physical", path(id)), &json!({}));
        assert_eq!(answer.status, 409, "something of that name is there: {answer:?}");
        assert_eq!(lake.server.get(&path(id)).data()["physical"], false);

        let orders = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        let key = lake.server.get(&format!("{}/fields", path(orders))).data()[0]["id"].clone();
        let answer = lake.server.delete(&format!("{}/fields/{key}", path(orders)));
        assert!(matches!(answer.status, 400 | 409), "{answer:?}");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id", "total"]);

        lake.run("shop.db", "DROP TABLE orders");
        let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
        let answer = lake.server.post(&format!("{}/fields", path(orders)), &form);
        assert_eq!(answer.status, 409, "it was dropped outside Lakeport: {answer:?}");
        let fields = lake.server.get(&format!("{}/fields", path(orders))).data();
        assert_eq!(fields.as_array().map(Vec::len), Some(2));
    }
}

#[test]
fn a_locked_database_fails_the_change() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let answer = lake.open("shop.db", async |connection| {
            sqlx::query("BEGIN EXCLUSIVE").execute(&mut *connection).await.expect("the lock");
            let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
            lake.server.post(&format!("{}/fields", path(id)), &form)
        });
        assert!(matches!(answer.status, 502 | 504), "{answer:?}");
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id"]);
        let fields = lake.server.get(&format!("{}/fields", path(id))).data();
        assert_eq!(fields.as_array().map(Vec::len), Some(1));
        let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
        lake.server.post(&format!("{}/fields", path(id)), &form).data();
    }
}

#[test]
fn statistics_are_counted_remembered_and_kept_as_history() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        lake.run("shop.db", "INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3)");
        let statistics = format!("{}/statistics", path(id));
        let first = lake.server.get(&statistics).data();
        let shown = (&first["rowCount"], &first["cached"], &first["exact"], &first["tableId"]);
        assert_eq!(shown, (&json!(3), &json!(false), &json!(true), &json!(id)), "{first}");
        assert!(first["dataSize"].as_i64().is_some_and(|bytes| bytes > 0), "{first}");
        lake.run("shop.db", "INSERT INTO orders VALUES (4, 4)");
        let second = lake.server.get(&statistics).data();
        assert_eq!((&second["rowCount"], &second["cached"]), (&json!(3), &json!(true)));
        let third = lake.server.get(&format!("{statistics}?forceRefresh=true")).data();
        assert_eq!((&third["rowCount"], &third["cached"]), (&json!(4), &json!(false)));
        let history = lake.server.get(&format!("{statistics}/history")).data();
        let counts: Vec<_> =
            history.as_array().expect("records").iter().map(|one| &one["rowCount"]).collect();
        assert_eq!(counts, [4, 3], "the newest first");
        let last = lake.server.get(&format!("{statistics}/history?limit=1")).data();
        assert_eq!(last.as_array().map(Vec::len), Some(1));
        for window in ["last7days", "last30days"] {
            let history = lake.server.get(&format!("{statistics}/history/{window}")).data();
            let counts: Vec<_> =
                history.as_array().expect("records").iter().map(|one| &one["rowCount"]).collect();
            assert_eq!(counts, [3, 4], "the oldest first");
        }
        let table = lake.server.get(&path(id)).data();
        assert_eq!(table["rowCount"], 4);
        let sorted = lake.server.get(&format!("{TABLES}?sortField=row_count&sortOrder=desc")).data();
        assert_eq!(sorted["records"][0]["rowCount"], 4);
    }
}

#[test]
fn a_change_on_an_older_version_is_refused() {
    for store in stores() {
        let lake = Lake::start(&store);
        let id = id_of(&lake.server.post(TABLES, &json!({ "tableName": "t", "dbName": "main" })).data());
        let client = lake.server.client();
        let tag = client.get(&path(id)).header("etag").expect("an ETag").to_owned();
        let put = |tag: &str, comment: &str| {
            let body = json!({ "tableComment": comment }).to_string();
            client.send("PUT", &path(id), &[("If-Match", tag)], body.as_bytes())
        };
        let first = put(&tag, "one");
        assert_eq!(first.status, 200, "{first:?}");
        assert_eq!(put(&tag, "two").status, 412);
        let newer = first.header("etag").expect("the new ETag").to_owned();
        assert_eq!(put(&newer, "two").status, 200);
        assert_eq!(lake.server.get(&path(id)).data()["tableComment"], "two");
    }
}

#[test]
fn concurrent_changes_are_complete_or_refused() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let answers: Vec<u16> = thread::scope(|scope| {
            let asking: Vec<_> = (0..6)
                .map(|n| {
                    let client = lake.server.client();
                    let form = json!({ "fieldName": format!("f{n}"), "fieldType": "TEXT" });
                    scope.spawn(move || client.post(&format!("{}/fields", path(id)), &form).status)
                })
                .collect();
            asking.into_iter().map(|asked| asked.join().expect("asked")).collect()
        });
        assert!(answers.iter().all(|status| matches!(status, 200 | 409)), "{answers:?}");
        let done = answers.iter().filter(|status| **status == 200).count();
        assert!(done >= 1);
        let fields = lake.server.get(&format!("{}/fields", path(id))).data();
        let known: Vec<String> = fields
            .as_array()
            .expect("fields")
            .iter()
            .map(|field| field["fieldName"].as_str().expect("a name").to_owned())
            .collect();
        assert_eq!(known.len(), done + 1);
        assert_eq!(columns(&lake, "shop.db", "orders"), known);
    }
}

/// Kills the server at each failpoint of a physical change; the next server makes catalogue and database
/// agree.
#[test]
fn a_server_killed_within_a_physical_change_leaves_no_disagreement() {
    for store in stores() {
        for point in ["tables.change_claimed", "tables.physical_done", "tables.change_recorded"] {
            let mut lake = Lake::start(&store);
            let source = lake.source("shop.db");
            let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
            lake.server.stop();
            lake.server.set("LAKEPORT_KILL_AT", point);
            lake.server.run();
            let client = lake.server.client();
            let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
            let asked = thread::spawn(move || {
                std::panic::catch_unwind(move || client.post(&format!("{}/fields", path(id)), &form).status)
            });
            assert!(lake.server.wait(SOON).is_some(), "{point} was not reached");
            let _ = asked.join();
            lake.server.kill();
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.run();
            let changes = format!("{}/changes", path(id));
            eventually("the change is settled", Duration::from_secs(40), || {
                let changes = lake.server.get(&changes).data();
                (changes[0]["state"] != "running").then_some(())
            });
            let fields = lake.server.get(&format!("{}/fields", path(id))).data();
            let known: Vec<&str> = fields
                .as_array()
                .expect("fields")
                .iter()
                .map(|field| field["fieldName"].as_str().expect("a name"))
                .collect();
            assert_eq!(columns(&lake, "shop.db", "orders"), known, "{point}");
            let form = json!({ "fieldName": "another", "fieldType": "TEXT" });
            lake.server.post(&format!("{}/fields", path(id)), &form).data();
        }
    }
}

/// Makes the server's store refuse some writes of table changes until this is dropped.
struct Hold<'l> {
    lake: &'l Lake,
    is_postgres: bool,
    name: &'static str,
}

/// Changes of tables cannot begin: the hold's name, and its condition.
const NOT_CLAIMED: (&str, &str) = ("not_claimed", "claimed = 0");
/// Changes of tables cannot end.
const NOT_ENDED: (&str, &str) = ("not_ended", "state = 'running'");

impl<'l> Hold<'l> {
    fn new(lake: &'l Lake, store: &Store, (name, must): (&'static str, &str)) -> Hold<'l> {
        let is_postgres = store.is_postgres();
        lake.server.execute(&if is_postgres {
            format!("ALTER TABLE table_changes ADD CONSTRAINT {name} CHECK ({must}) NOT VALID")
        } else {
            format!(
                "CREATE TRIGGER {name} BEFORE UPDATE ON table_changes WHEN NOT (NEW.{must}) \
                 BEGIN SELECT RAISE(ABORT, 'held'); END"
            )
        });
        Hold { lake, is_postgres, name }
    }

    fn lift(self) {
        let name = self.name;
        self.lake.server.execute(&if self.is_postgres {
            format!("ALTER TABLE table_changes DROP CONSTRAINT {name}")
        } else {
            format!("DROP TRIGGER {name}")
        });
    }
}

#[test]
fn an_unfinished_change_is_answered_200() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        lake.server.stop();
        lake.server.set("LAKEPORT_REQUEST_TIMEOUT_S", "2");
        lake.server.run();
        let held = Hold::new(&lake, &store, NOT_CLAIMED);
        let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
        let answer = lake.server.post(&format!("{}/fields", path(id)), &form).data();
        assert_eq!(answer["change"]["state"], "running", "{answer}");
        held.lift();
        eventually("the change ends", SOON, || {
            let changes = lake.server.get(&format!("{}/changes", path(id))).data();
            (changes[0]["state"] == "success").then_some(())
        });
    }
}

/// What only the catalogue has is changed beside a physical change, and both stay.
#[test]
fn descriptions_change_while_the_database_does() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let field = lake.server.get(&format!("{}/fields", path(id))).data()[0]["id"].clone();
        let field = format!("{}/fields/{field}", path(id));
        lake.server.stop();
        lake.server.set("LAKEPORT_REQUEST_TIMEOUT_S", "2");
        lake.server.run();
        let held = Hold::new(&lake, &store, NOT_CLAIMED);
        let running = lake.server.put(&path(id), &json!({ "tableName": "sales", "owner": "ann" })).data();
        assert_eq!(running["change"]["state"], "running", "{running}");
        let both = json!({ "description": "what was sold", "tags": ["money"] });
        let described = lake.server.put(&path(id), &both).data();
        assert_eq!((&described["tableName"], &described["owner"]), (&json!("orders"), &Value::Null));
        assert_eq!(lake.server.put(&field, &json!({ "description": "its number" })).status, 200);
        let some = json!({ "ids": [id], "set": { "dataDomain": "sales" } });
        assert_eq!(lake.server.client().send("PATCH", TABLES, &[], some.to_string().as_bytes()).status, 200);
        for (method, path, form) in [
            ("PUT", path(id), json!({ "tableName": "other" })),
            ("PUT", field.clone(), json!({ "fieldName": "number" })),
            ("POST", format!("{}/fields", path(id)), json!({ "fieldName": "f", "fieldType": "TEXT" })),
        ] {
            let answer = lake.server.client().send(method, &path, &[], form.to_string().as_bytes());
            refused(&answer, 409, "change_running");
        }
        held.lift();
        let table = eventually("the change ends", SOON, || {
            let table = lake.server.get(&path(id)).data();
            (table["tableName"] == "sales").then_some(table)
        });
        for (member, value) in [("owner", "ann"), ("description", "what was sold"), ("dataDomain", "sales")] {
            assert_eq!(table[member], value, "{table}");
        }
        assert_eq!((&table["tags"], &table["drift"]), (&json!(["money"]), &json!([])), "{table}");
        assert_eq!(table["fields"][0]["description"], "its number", "{table}");
    }
}

/// The table is not physical yet: only its description may change meanwhile.
#[test]
fn a_table_is_described_while_it_is_made() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let source = lake.source("shop.db");
        lake.run("shop.db", "");
        let id = lake.table(source, "orders", &[("id", "INTEGER")]);
        lake.server.stop();
        lake.server.set("LAKEPORT_REQUEST_TIMEOUT_S", "2");
        lake.server.run();
        let held = Hold::new(&lake, &store, NOT_CLAIMED);
        let running = lake.server.post(&format!("{}/physical", path(id)), &json!({})).data();
        assert_eq!(running["change"]["state"], "running", "{running}");
        assert_eq!(lake.server.put(&path(id), &json!({ "description": "sold" })).status, 200);
        refused(&lake.server.put(&path(id), &json!({ "tableName": "other" })), 409, "change_running");
        held.lift();
        let table = eventually("it is made", SOON, || {
            let table = lake.server.get(&path(id)).data();
            (table["physical"] == true).then_some(table)
        });
        assert_eq!((&table["description"], &table["tableName"]), (&json!("sold"), &json!("orders")));
    }
}

#[test]
fn a_changes_result_survives_store_failure() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        lake.server.stop();
        lake.server.set("LAKEPORT_REQUEST_TIMEOUT_S", "1");
        lake.server.run();
        let held = Hold::new(&lake, &store, NOT_CLAIMED);
        let form = json!({ "fieldName": "more", "fieldType": "TEXT" });
        lake.server.post(&format!("{}/fields", path(id)), &form).data();
        // Another client creates it now.
        lake.run("shop.db", "ALTER TABLE orders ADD COLUMN more INTEGER");
        let ends = Hold::new(&lake, &store, NOT_ENDED);
        held.lift();
        eventually("the end was not taken", SOON, || {
            lake.server.log().contains("the end of a change was not written").then_some(())
        });
        ends.lift();
        let change = eventually("the change ends", SOON, || {
            let changes = lake.server.get(&format!("{}/changes", path(id))).data();
            (changes[0]["state"] != "running").then(|| changes[0].clone())
        });
        assert_eq!((&change["state"], &change["error"]["code"]), (&json!("failed"), &json!("name_taken")));
    }
}

#[test]
fn the_next_sync_settles_unknown_creations() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let source = lake.source("shop.db");
        lake.run("shop.db", "");
        let id = id_of(&lake.server.post(TABLES, &json!({ "tableName": "t", "dbName": "main" })).data());
        let field = json!({ "fieldName": "id", "fieldType": "INTEGER" });
        lake.server.post(&format!("{}/fields", path(id)), &field).data();
        lake.server.stop();
        lake.server.set("LAKEPORT_KILL_AT", "tables.physical_done");
        lake.server.run();
        let client = lake.server.client();
        let asked = thread::spawn(move || {
            let physical = format!("{}/physical?clusterId={source}", path(id));
            std::panic::catch_unwind(move || client.post(&physical, &json!({})).status)
        });
        assert!(lake.server.wait(SOON).is_some(), "the place was not reached");
        let _ = asked.join();
        lake.server.kill();
        assert_eq!(columns(&lake, "shop.db", "t"), ["id"]);

        // The database is unreachable.
        fs::rename(lake.path("shop.db"), lake.path("aside.db")).expect("the file is moved");
        fs::create_dir(lake.path("shop.db")).expect("a folder in its place");
        lake.server.set("LAKEPORT_KILL_AT", "");
        lake.server.run();
        eventually("the change ends", Duration::from_secs(40), || {
            let changes = lake.server.get(&format!("{}/changes", path(id))).data();
            (changes[0]["state"] == "failed").then_some(())
        });
        fs::remove_dir(lake.path("shop.db")).expect("the folder goes");
        fs::rename(lake.path("aside.db"), lake.path("shop.db")).expect("the file is back");

        let sync = lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
        assert_eq!(sync["state"], "success", "{sync}");
        let table = lake.server.get(&path(id)).data();
        assert_eq!((&table["physical"], &table["clusterId"]), (&json!(true), &json!(source)), "{table}");
        assert_eq!(lake.server.get(TABLES).data()["total"], 1);
    }
}

#[test]
fn a_bound_token_changes_no_other_source() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, other) = (lake.source("shop.db"), lake.source("other.db"));
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let loose = id_of(&lake.server.post(TABLES, &json!({ "tableName": "t", "dbName": "main" })).data());
        let field = lake.server.get(&format!("{}/fields", path(id))).data()[0]["id"].clone();
        let one = json!({ "fieldName": "more", "fieldType": "TEXT" });
        let admin = lake.server.client_as(&lake.server.token("admin", "ann"));
        admin.post(&format!("{}/fields", path(loose)), &one).data();
        let bound = ["token", "create", "--role", "editor", "--name", "bob", "--datasources", "other.db"];
        let bob = lake.server.client_as(lake.server.command_ok(&bound).trim());
        let table = json!({ "tableName": "u", "dbName": "main", "clusterId": source });
        for answer in [
            bob.post(TABLES, &table),
            bob.put(&path(loose), &json!({ "clusterId": source })),
            bob.put(&path(id), &json!({ "tableName": "bills" })),
            bob.put(&format!("{}/comment?dryRun=true", path(id)), &json!({ "comment": "x" })),
            bob.post(&format!("{}/fields", path(id)), &one),
            bob.put(&format!("{}/fields/{field}", path(id)), &json!({ "fieldName": "x" })),
            bob.delete(&format!("{}/fields/{field}", path(id))),
            bob.post(&format!("{}/physical?clusterId={source}", path(loose)), &json!({})),
            bob.get(&format!("{}/changes", path(id))),
            bob.get(&format!("{}/ddl", path(id))),
            bob.get(&format!("{}/statistics", path(id))),
            bob.get(&format!("{}/statistics/history", path(id))),
        ] {
            refused(&answer, 403, "datasource_not_allowed");
        }
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id"]);
        lake.run("other.db", "");
        bob.post(&format!("{}/physical?clusterId={other}", path(loose)), &json!({})).data();
        assert_eq!(columns(&lake, "other.db", "t"), ["more"]);
    }
}

#[test]
fn names_conflict_ignoring_case() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, other) = (lake.source("shop.db"), lake.source("other.db"));
        let table = |name: &str, db: &str, source: Option<i64>| json!({ "tableName": name, "dbName": db, "clusterId": source });
        let make = |name: &str, db: &str, source| lake.server.post(TABLES, &table(name, db, source));
        make("Orders", "main", Some(source)).data();
        for (name, db) in [("orders", "main"), ("ORDERS", "Main"), ("Orders", "MAIN")] {
            let taken = make(name, db, Some(source));
            refused(&taken, 409, "name_taken");
            assert!(taken.message().contains("main.Orders"), "{taken:?}");
        }
        make("orders", "main", Some(other)).data();
        let bills = id_of(&make("bills", "main", Some(source)).data());
        refused(&lake.server.put(&path(bills), &json!({ "tableName": "oRDERS" })), 409, "name_taken");
        lake.server.put(&path(bills), &json!({ "tableName": "Bills" })).data();
        // Without a data source its drift is unknown; it is reported once it belongs to one.
        make("ORDERS", "main", None).data();
        let loose = id_of(&make("orders", "main", None).data());
        refused(&lake.server.put(&path(loose), &json!({ "clusterId": source })), 409, "name_taken");
        let field = json!({ "fieldName": "id", "fieldType": "INTEGER" });
        lake.server.post(&format!("{}/fields", path(loose)), &field).data();
        lake.run("shop.db", "");
        let physical = format!("{}/physical?clusterId={source}", path(loose));
        refused(&lake.server.post(&physical, &json!({})), 409, "name_taken");
    }
}

#[test]
fn all_errors_of_table_or_field_together() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER")]);
        let form =
            json!({ "tableName": 7, "dbName": "  ", "clusterId": 999, "keyColumns": "a,,b", "bucketNum": 0 });
        let all = ["bucketNum", "clusterId", "dbName", "keyColumns", "tableName"];
        assert_eq!(named(&lake.server.post(TABLES, &form)), all);
        assert_eq!(named(&lake.server.put(&path(id), &form)), all);
        let nulls = json!({ "tableName": null, "dbName": null });
        assert_eq!(named(&lake.server.put(&path(id), &nulls)), ["dbName", "tableName"]);
        assert_eq!(named(&lake.server.put(&format!("{}/comment", path(id)), &json!({}))), ["comment"]);
        let fields = format!("{}/fields", path(id));
        let field = format!("{fields}/{}", lake.server.get(&fields).data()[0]["id"]);
        let form = json!({ "fieldName": "", "fieldType": "NO SUCH TYPE(", "isNullable": "no" });
        let all = ["fieldName", "fieldType", "isNullable"];
        assert_eq!(named(&lake.server.post(&fields, &form)), all);
        assert_eq!(named(&lake.server.put(&field, &form)), all);
        let nulls = json!({ "fieldName": null, "fieldType": null, "isPrimaryKey": null, "isNullable": null });
        let all = ["fieldName", "fieldType", "isNullable", "isPrimaryKey"];
        assert_eq!(named(&lake.server.put(&field, &nulls)), all);
        assert_eq!(columns(&lake, "shop.db", "orders"), ["id"]);
    }
}

#[test]
fn query_bounds_and_duplicates_are_refused() {
    let lake = Lake::start(&stores()[0]);
    let list = |query: &str| lake.server.get(&format!("{TABLES}?{query}"));
    for size in ["0", "501", "-1", "99999999999999999999999"] {
        let refusal = list(&format!("pageSize={size}&sortField=size"));
        assert_eq!(named(&refusal), ["pageSize", "sortField"], "{size}");
        assert!(refusal.message().contains("from 1 to 500"), "{refusal:?}");
    }
    assert_eq!(named(&list("pageNum=9223372036854775807")), ["pageNum"]);
    let twice = list("pageSize=1&pageSize=1&keyword=a&keyword=b&clusterId=1&clusterId=2");
    assert_eq!(named(&twice), ["clusterId", "keyword", "pageSize"]);
    assert!(twice.message().contains("more than once"), "{twice:?}");
}
