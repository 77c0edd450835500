//! The recycle bin over HTTP, against real databases of every kind (contract, section 4.3).

use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakeport_tests::{Kind, Lake, Response, Warehouse, eventually, everywhere, named, refused, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
const SOON: Duration = Duration::from_secs(20);

/// An encoded query value.
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

fn dry_restore(lake: &Lake, id: i64) -> Response {
    lake.server.post(&format!("{TABLES}/{id}/restore?dryRun=true"), &json!({}))
}

fn purge(lake: &Lake, id: i64, name: &str) -> Response {
    let target = format!("{TABLES}/{id}/purge-now?confirmTableName={}", encoded(name));
    lake.server.post(&target, &json!({}))
}

fn pending(lake: &Lake) -> Vec<Value> {
    let list = lake.server.get(&format!("{TABLES}/pending-deletion")).data();
    list.as_array().unwrap_or_else(|| panic!("{list}")).clone()
}

/// What begins now ends in another second.
fn wait_for_end_of_second() {
    let past = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_millis();
    thread::sleep(Duration::from_millis(u64::from((1990 - past) % 1000)));
}

fn get(lake: &Lake, id: i64) -> Value {
    lake.server.get(&format!("{TABLES}/{id}")).data()
}

/// A table with a key and a number, created in its database.
fn made(lake: &Lake, shop: &Warehouse, name: &str) -> i64 {
    lake.physical_table_of(shop, name, &fields(shop))
}

fn fields(shop: &Warehouse) -> [(&'static str, &'static str); 2] {
    ["id", "total"].map(|name| (name, shop.kind.integer()))
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_else(|| panic!("no {member} in {value}"))
}

#[test]
fn a_deleted_table_restores_with_its_rows() {
    for (lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        shop.run("INSERT INTO orders VALUES (1, 10), (2, 20)");

        let wrong = soft_delete(&lake, id, "order");
        assert_eq!(wrong.status, 400);
        assert_eq!(wrong.message(), "确认失败：请输入正确的表名 orders");
        assert_eq!(lake.server.post(&format!("{TABLES}/{id}/soft-delete"), &json!({})).status, 400);
        refused(&restore(&lake, id), 409, "not_deprecated");
        refused(&purge(&lake, id, "orders"), 409, "not_deprecated");

        let target = format!("{TABLES}/{id}/soft-delete?confirmTableName=orders&dryRun=true");
        let dry = lake.server.post(&target, &json!({})).data();
        assert!(text(&dry["statements"][0], "sql").contains("RENAME"), "{dry}");
        assert_eq!(shop.tables(), ["orders"]);

        wait_for_end_of_second();
        let entry = soft_delete(&lake, id, "orders").data();
        let name = text(&entry, "tableName").to_owned();
        assert!(
            name.starts_with("orders_deprecated_") && name.len() == "orders_deprecated_".len() + 14,
            "{name}"
        );
        let moment: String = text(&entry, "deprecatedAt").chars().filter(char::is_ascii_digit).collect();
        assert_eq!(name, format!("orders_deprecated_{moment}"));
        assert_eq!((text(&entry, "originTableName"), text(&entry, "status")), ("orders", "deprecated"));
        assert_eq!((&entry["remainingDays"], &entry["clusterId"]), (&json!(30), &json!(shop.source)));
        assert_eq!(entry["referencedByTasks"], json!([]));
        assert_eq!(shop.tables(), [name.as_str()]);
        assert_eq!(pending(&lake).len(), 1);
        assert_eq!(text(&pending(&lake)[0], "tableName"), name);
        assert_eq!(lake.server.get(TABLES).data()["total"], 0);
        let other =
            lake.server.get(&format!("{TABLES}/pending-deletion?clusterId={}", shop.source + 1)).data();
        assert_eq!(other, json!([]));

        refused(&soft_delete(&lake, id, &name), 409, "deprecated");
        refused(&lake.server.put(&format!("{TABLES}/{id}"), &json!({ "owner": "ann" })), 409, "deprecated");
        lake.read_in(shop.source);
        assert_eq!(lake.server.get(TABLES).data()["total"], 0, "a sync does not read in recycled tables");

        let back = restore(&lake, id).data();
        assert_eq!((text(&back, "tableName"), text(&back, "status")), ("orders", "active"));
        for member in ["originTableName", "deprecatedAt", "purgeAt"] {
            assert_eq!(back[member], Value::Null, "{member}");
        }
        assert_eq!(shop.numbers("SELECT total FROM orders ORDER BY id"), [10, 20]);
        assert_eq!(pending(&lake), [] as [Value; 0]);
        let changes = lake.server.get(&format!("{TABLES}/{id}/changes")).data();
        let kinds: Vec<&str> =
            changes.as_array().unwrap().iter().map(|change| text(change, "kind")).collect();
        assert_eq!(kinds, ["restore", "soft_delete", "create_table"]);
    }
}

#[test]
fn a_manual_purge_needs_the_full_name() {
    for (lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        let other = made(&lake, &shop, "turnover");
        let workflow = lake.workflow("sums");
        let sql = "INSERT INTO turnover SELECT id, total FROM orders";
        let task = lake.task(workflow, "sum up", shop.source, sql, [&[id], &[other]]);

        let entry = soft_delete(&lake, id, "orders").data();
        assert_eq!(entry["referencedByTasks"], json!([{ "id": task, "taskName": "sum up" }]));
        let name = text(&entry, "tableName").to_owned();
        let wrong = purge(&lake, id, "orders");
        assert_eq!((wrong.status, wrong.message()), (400, format!("确认失败：请输入正确的表名 {name}")));
        let dry = format!("{TABLES}/{id}/purge-now?confirmTableName={name}&dryRun=true");
        let dry = lake.server.post(&dry, &json!({})).data();
        assert_eq!((&dry["statements"][0]["destroys"], shop.tables().len()), (&json!(true), 2));

        let purged = purge(&lake, id, &name).data();
        assert_eq!((&purged["purged"], text(&purged, "originTableName")), (&json!(true), "orders"));
        assert_eq!(shop.tables(), ["turnover"]);
        assert_eq!(lake.server.get(&format!("{TABLES}/{id}")).status, 404);
        refused(&purge(&lake, id, &name), 404, "not_found");
        let detail = lake.server.get(&format!("/api/v1/workflows/{workflow}")).data();
        let bound = &detail["tasks"][0];
        assert_eq!(detail["currentVersion"], 3, "the tasks of the workflow were changed: {detail}");
        assert_eq!((&bound["inputTableIds"], &bound["outputTableIds"]), (&json!([]), &json!([other])));
        let graph = lake.server.get(&format!("/api/v1/lineage?tableId={other}")).data();
        assert_eq!(graph["nodes"].as_array().map(Vec::len), Some(1), "{graph}");
        // The name is free again.
        made(&lake, &shop, "orders");
    }
}

#[test]
fn odd_names_go_in_and_come_out_as_they_were() {
    for (lake, shop) in everywhere() {
        for name in odd_names(shop.kind) {
            let id = made(&lake, &shop, &name);
            assert_eq!(shop.tables(), [name.as_str()]);
            let entry = soft_delete(&lake, id, &name).data();
            assert_eq!(text(&entry, "originTableName"), name);
            assert_eq!(shop.tables(), [text(&entry, "tableName")]);
            let (_, time) = text(&entry, "tableName").rsplit_once("_deprecated_").expect("the suffix");
            assert!(time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit()), "{entry}");
            assert_eq!(text(&restore(&lake, id).data(), "tableName"), name);
            assert_eq!(shop.tables(), [name.as_str()]);
            let entry = soft_delete(&lake, id, &name).data();
            purge(&lake, id, text(&entry, "tableName")).data();
            assert_eq!(shop.tables(), [] as [String; 0], "{name}");
        }
    }
}

/// Names that a database accepts, including the longest ones.
fn odd_names(kind: Kind) -> Vec<String> {
    let any = [
        "select",
        "a b",
        "订单",
        "quo'te",
        "\"quoted\"",
        "back`tick",
        "semi;colon--",
        "back\\slash",
        "a.b",
        "100%",
        "${x}",
        "MixedCase",
        "/* c */",
    ];
    let longest = match kind {
        Kind::Sqlite => ["x".repeat(64), "表".repeat(64)],
        Kind::Postgres => ["x".repeat(63), "表".repeat(21)],
        // As a file name, each takes five bytes.
        Kind::Mariadb => ["x".repeat(64), "表".repeat(48)],
    };
    any.into_iter().map(str::to_owned).chain(longest).collect()
}

#[test]
fn sql_words_as_table_names_are_restored() {
    const NAMES: [&str; 5] = ["select", "from", "create", "end", "paid"];
    for (lake, shop) in everywhere() {
        let ids = NAMES.map(|name| made(&lake, &shop, name));
        if shop.kind == Kind::Sqlite {
            // Their texts hold all of the names as words, texts and fields, and two of them as tables.
            shop.run(
                "CREATE TABLE log (paid, x); \
                 CREATE VIEW report AS SELECT id AS paid, 'paid' AS \"create\" FROM \"select\"; \
                 CREATE TRIGGER noted AFTER INSERT ON \"from\" BEGIN \
                 INSERT INTO log (paid) SELECT CASE WHEN new.total > 1 THEN 'paid' END; END",
            );
        }
        for (id, name) in ids.into_iter().zip(NAMES) {
            soft_delete(&lake, id, name).data();
            let back = restore(&lake, id).data();
            assert_eq!((text(&back, "tableName"), text(&back, "status")), (name, "active"));
        }
    }
}

#[test]
fn an_overlong_name_is_refused_before_sending() {
    for (lake, shop) in everywhere() {
        let too_long = match shop.kind {
            Kind::Sqlite => continue,
            Kind::Postgres => ["x".repeat(64), "表".repeat(22)],
            Kind::Mariadb => ["x".repeat(65), "表".repeat(49)],
        };
        let id = made(&lake, &shop, "orders");
        for name in too_long {
            let renamed = lake.server.put(&format!("{TABLES}/{id}"), &json!({ "tableName": name }));
            assert_eq!(named(&renamed), ["tableName"], "{name}");
        }
        assert_eq!(shop.tables(), ["orders"]);
    }
}

#[test]
fn a_name_that_was_taken_meanwhile_is_not_taken_back() {
    for (lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        let designed = lake.table_of(&shop, "orders", &fields(&shop));
        refused(&restore(&lake, id), 409, "name_taken");
        refused(&dry_restore(&lake, id), 409, "name_taken");
        assert!(restore(&lake, id).message().contains("then restore this one"));
        lake.server.put(&format!("{TABLES}/{designed}"), &json!({ "tableName": "orders2" })).data();
        // Directly in the database, without Lakeport.
        shop.run("CREATE TABLE orders (n INTEGER)");
        refused(&restore(&lake, id), 409, "name_taken");
        refused(&dry_restore(&lake, id), 409, "name_taken");
        assert_eq!(get(&lake, id)["status"], "deprecated");
        assert_eq!(shop.tables(), ["orders", name.as_str()]);
        shop.run("DROP TABLE orders");
        assert_eq!(restore(&lake, id).data()["status"], "active");
    }
}

#[test]
fn a_missing_recycled_table_restores_as_logical() {
    for (lake, shop) in everywhere() {
        for behind_our_back in ["DROP TABLE {}", "ALTER TABLE {} RENAME TO hidden"] {
            let id = made(&lake, &shop, "orders");
            let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
            shop.run(&behind_our_back.replace("{}", &name));
            let dry = dry_restore(&lake, id).data();
            assert_eq!((&dry["statements"], dry["notes"].as_array().map(Vec::len)), (&json!([]), Some(1)));
            let back = restore(&lake, id).data();
            assert_eq!((text(&back, "tableName"), text(&back, "status")), ("orders", "active"));
            assert_eq!((&back["physical"], &back["drift"][0]["what"]), (&json!(false), &json!("physical")));
            assert!(text(&back["change"]["notes"][0], "message").contains(&name), "{back}");

            lake.server.post(&format!("{TABLES}/{id}/physical"), &json!({})).data();
            assert_eq!(get(&lake, id)["drift"], json!([]));
            let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
            shop.run(&format!("DROP TABLE {name}"));
            let purged = purge(&lake, id, &name).data();
            assert_eq!((&purged["purged"], &purged["dropped"]), (&json!(true), &json!(false)));
            assert_eq!(lake.server.get(&format!("{TABLES}/{id}")).status, 404);
        }
        assert_eq!(shop.tables(), ["hidden"], "other tables stay");
    }
}

#[test]
fn a_recycled_table_renamed_back_is_adopted() {
    for (lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        shop.run(&format!("ALTER TABLE {name} RENAME TO orders"));
        shop.run(&format!("ALTER TABLE orders ADD COLUMN more {}", shop.kind.integer()));
        assert_eq!(dry_restore(&lake, id).data()["statements"], json!([]));
        let back = restore(&lake, id).data();
        assert_eq!((text(&back, "tableName"), &back["physical"]), ("orders", &json!(true)));
        assert_eq!((back["fields"].as_array().map(Vec::len), &back["drift"]), (Some(3), &json!([])));
        assert_eq!((text(&back["change"], "state"), &back["change"]["statements"]), ("success", &json!([])));
        let changes = lake.server.get(&format!("{TABLES}/{id}/changes")).data();
        assert_eq!(changes[0], back["change"]);
        assert_eq!(shop.tables(), ["orders"]);
    }
}

#[test]
fn a_reread_table_belongs_to_its_new_entry() {
    for (lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        shop.run(&format!("ALTER TABLE {name} RENAME TO orders"));
        lake.read_in(shop.source);
        refused(&restore(&lake, id), 409, "name_taken");
        assert!(restore(&lake, id).message().contains("purge-now"));
        let purged = purge(&lake, id, &name).data();
        assert_eq!((&purged["purged"], &purged["dropped"]), (&json!(true), &json!(false)));
        assert_eq!(shop.tables(), ["orders"]);
        assert_eq!(lake.server.get(TABLES).data()["total"], 1);
    }
}

#[test]
fn the_job_keeps_a_table_renamed_back() {
    for (mut lake, shop) in everywhere() {
        let id = made(&lake, &shop, "orders");
        let name = text(&soft_delete(&lake, id, "orders").data(), "tableName").to_owned();
        shop.run(&format!("ALTER TABLE {name} RENAME TO orders"));
        lake.server.execute(&format!("UPDATE tables SET purge_at = 1 WHERE id = {id}"));
        lake.server.restart();
        let error = eventually("it is said why it does not go", SOON, || {
            Some(pending(&lake)[0]["purgeError"].clone()).filter(|error| !error.is_null())
        });
        assert_eq!(text(&error, "code"), "schema_drift");
        assert_eq!(restore(&lake, id).data()["physical"], true);
    }
}

#[test]
fn logical_names_are_shortened_too() {
    for (lake, shop) in everywhere() {
        let (name, length): (String, fn(&str) -> usize) = match shop.kind {
            Kind::Sqlite => continue,
            Kind::Postgres => ("表".repeat(21), str::len),
            Kind::Mariadb => ("表".repeat(64), |name| name.chars().count()),
        };
        let id = lake.table_of(&shop, &name, &fields(&shop));
        let entry = soft_delete(&lake, id, &name).data();
        assert!(length(text(&entry, "tableName")) <= 64, "{entry}");
        assert_eq!(text(&restore(&lake, id).data(), "tableName"), name);
    }
}

#[test]
fn a_logical_table_is_recycled_and_restored() {
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
fn the_job_purges_expired_and_shows_failures() {
    for (mut lake, here) in everywhere() {
        let away = lake.warehouse(here.kind);
        let gone = made(&lake, &here, "orders");
        let young = made(&lake, &here, "young");
        let kept = made(&lake, &away, "orders");
        for (id, name) in [(gone, "orders"), (young, "young"), (kept, "orders")] {
            soft_delete(&lake, id, name).data();
        }
        away.close();
        lake.server.execute(&format!("UPDATE tables SET purge_at = 1 WHERE id IN ({gone}, {kept})"));
        // The job runs soon after a start.
        lake.server.restart();
        eventually("the one is purged and the other one shown", SOON, || {
            let entries = pending(&lake);
            let error = entries.iter().find(|entry| entry["id"] == kept)?["purgeError"].clone();
            (entries.len() == 2 && !error.is_null()).then_some(())
        });
        assert_eq!(lake.server.get(&format!("{TABLES}/{gone}")).status, 404);
        let left = here.tables();
        assert!(left.len() == 1 && left[0].starts_with("young_deprecated_"), "{left:?}");
        away.reopen();
        lake.server.execute("UPDATE table_changes SET finished_at = 1 WHERE state = 'failed'");
        lake.server.restart();
        eventually("it is tried again", SOON, || (pending(&lake).len() == 1).then_some(()));
        assert_eq!(away.tables(), [] as [String; 0]);
    }
}

/// The name has the time in seconds: the next free second is taken.
#[test]
fn deletions_within_a_second_have_names() {
    for (lake, shop) in everywhere() {
        let planned = || lake.table_of(&shop, "planned", &fields(&shop));
        let ids: Vec<(i64, &str)> = (0..3)
            .flat_map(|_| {
                let ids = [(planned(), "planned"), (made(&lake, &shop, "orders"), "orders")];
                for (id, name) in ids {
                    let entry = soft_delete(&lake, id, name).data();
                    let moment: String =
                        text(&entry, "deprecatedAt").chars().filter(char::is_ascii_digit).collect();
                    assert_eq!(entry["tableName"], format!("{name}_deprecated_{moment}"));
                }
                ids
            })
            .collect();
        let mut names: Vec<String> =
            pending(&lake).iter().map(|entry| text(entry, "tableName").to_owned()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ids.len(), "{names:?}");
        assert_eq!(shop.tables().len(), 3);
        let (last, name) = ids[1];
        assert_eq!(restore(&lake, last).data()["tableName"], name);
    }
}

#[test]
fn a_killed_server_leaves_the_bin_consistent() {
    for (mut lake, shop) in everywhere() {
        for (number, point) in ["tables.change_claimed", "tables.physical_done"].into_iter().enumerate() {
            let name = format!("orders{number}");
            let id = made(&lake, &shop, &name);
            lake.server.stop();
            lake.server.set("LAKEPORT_KILL_AT", point);
            lake.server.run();
            let client = lake.server.client();
            let target = format!("{TABLES}/{id}/soft-delete?confirmTableName={name}");
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
            let there = shop.tables();
            assert_eq!(there, [text(&settled, "tableName")], "{point}");
            assert_eq!(settled["status"] == "deprecated", there != [name.clone()], "{point}");
            shop.run(&format!("DROP TABLE {}", there[0]));
        }
    }
}
