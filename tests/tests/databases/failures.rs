//! Failures between a server and a database: locks, lost connections, wrong passwords, kills.

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{Kind, Lake, PASSWORD, Session, Warehouse, eventually, on_servers, refused};
use serde_json::{Value, json};

use super::{
    SOON, SOURCES, TAKEN_OVER, agree, field_names, field_path, id_named, list, more, orders, path, text,
};

/// An answer must come within a request's deadline.
const IN_TIME: Duration = Duration::from_secs(30);
/// An unreachable address must be reported earlier.
const UNREACHABLE_IN_TIME: Duration = Duration::from_secs(20);

/// A session that locks a table, so that changes of it wait until it is dropped.
pub fn holder(shop: &Warehouse, table: &str) -> Session {
    let mut session = shop.session();
    let table = shop.kind.quoted(table);
    session.run("BEGIN");
    // A read suffices: its transaction stays open.
    session.rows(&format!("SELECT * FROM {table}"));
    session
}

/// Waits until a statement of the server's waits for the lock.
pub fn waits(shop: &Warehouse) {
    let name = &shop.name;
    let query = match shop.kind {
        Kind::Mariadb => format!(
            "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = '{name}' AND STATE LIKE 'Waiting for table metadata%'"
        ),
        _ => {
            format!("SELECT pid FROM pg_stat_activity WHERE usename = '{name}' AND wait_event_type = 'Lock'")
        }
    };
    let mut admin = shop.admin();
    eventually("the change waits for the lock", SOON, || (!admin.texts(&query).is_empty()).then_some(()));
}

#[test]
fn a_lock_timeout_changes_nothing() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let begun = Instant::now();
        let answer = lake.server.post(&format!("{}/fields", path(id)), &more(&shop));
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
        // A change without a final answer is still running: wait for it.
        let failed = if answer.status == 200 {
            assert_eq!(answer.data()["change"]["state"], "running", "{answer:?}");
            let changes = format!("{}/changes", path(id));
            eventually("it gives up", IN_TIME, || {
                let change = lake.server.get(&changes).data()[0].clone();
                (change["state"] != "running").then_some(change)
            })["state"]
                == "failed"
        } else {
            assert!(matches!(answer.status, 409 | 502 | 504), "{answer:?}");
            true
        };
        assert!(failed);
        assert_eq!(shop.columns("orders"), ["id", "total"]);
        assert_eq!(field_names(&lake, id), ["id", "total"]);
        drop(held);
        lake.server.post(&format!("{}/fields", path(id)), &more(&shop)).data();
        agree(&lake, &shop, id);
    }
}

#[test]
fn waiting_for_a_lock_blocks_readers_briefly() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let client = lake.server.client();
        let name = format!("{}?confirmTableName=orders", format_args!("{}/soft-delete", path(id)));
        let asked = thread::spawn(move || client.post(&name, &json!({})).status);
        waits(&shop);
        // Another reader succeeds once the change gave up, though the lock is still held.
        let begun = Instant::now();
        assert_eq!(shop.numbers("SELECT COUNT(*) FROM orders"), [0]);
        assert!(begun.elapsed() < IN_TIME, "{:?}", begun.elapsed());
        drop(held);
        let status = asked.join().expect("an answer");
        assert!(matches!(status, 200 | 409 | 502 | 504), "{status}");
        eventually("catalogue and database agree", SOON, || {
            let table = lake.server.get(&path(id)).data();
            (shop.tables() == [text(&table, "tableName")]).then_some(())
        });
    }
}

#[test]
fn a_connection_cut_mid_change_is_reconciled() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let (client, form) = (lake.server.client(), more(&shop));
        let asked = thread::spawn(move || client.post(&format!("{}/fields", path(id)), &form));
        waits(&shop);
        let mut admin = shop.admin();
        // All but the holder, which reads nothing any more.
        shop.end_sessions();
        drop(held);
        let answer = asked.join().expect("an answer");
        assert!(matches!(answer.status, 200 | 409 | 502 | 504), "{answer:?}");
        if matches!(answer.status, 502 | 504) {
            let body = answer.json();
            assert!(!text(&body, "message").contains(&PASSWORD.replace(' ', "%20")), "{body}");
        }
        settled(&lake, id);
        agree(&lake, &shop, id);
        admin.run("SELECT 1");
        // The change succeeds now, if it did not before.
        if field_names(&lake, id).len() == 2 {
            lake.server.post(&format!("{}/fields", path(id)), &more(&shop)).data();
        }
        agree(&lake, &shop, id);
    }
}

/// The last change of a table once it has ended.
pub fn settled(lake: &Lake, id: i64) -> Value {
    eventually("the change is settled", TAKEN_OVER, || {
        let change = lake.server.get(&format!("{}/changes", path(id))).data()[0].clone();
        (change["state"] != "running").then_some(change)
    })
}

#[test]
fn a_wrong_password_is_reported_without_it() {
    for (lake, shop) in on_servers() {
        let wrong = shop.url_as(&shop.name, "battery staple", None);
        if Session::open(&wrong).is_ok() {
            eprintln!("NOT TESTED: this server asks for no password");
            continue;
        }
        let form = json!({ "name": "wrong", "kind": shop.kind.dialect(), "url": wrong });
        let id = lake.server.post(SOURCES, &form).data()["id"].clone();
        let nobody = shop.url_as("nobody_of_this_name", PASSWORD, None);
        let form = json!({ "name": "nobody", "kind": shop.kind.dialect(), "url": nobody });
        let stranger = lake.server.post(SOURCES, &form).data()["id"].clone();
        let ids = if shop.kind == Kind::Mariadb { vec![id, stranger] } else { vec![id] };
        for id in ids {
            let told = lake.server.post(&format!("{SOURCES}/{id}/test"), &json!({}));
            assert_eq!(told.status, 502, "{told:?}");
            assert!(!format!("{told:?}").contains("battery"), "{told:?}");
            let sync = lake.read_in(id.as_i64().expect("an id"));
            assert_eq!(sync["state"], "failed", "{sync}");
            assert!(!list(&sync["errors"]).is_empty(), "{sync}");
            assert!(!lake.server.log().contains("battery"));
        }
    }
}

#[test]
fn a_changed_password_loses_nothing() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        shop.close();
        for answer in [
            lake.server.post(&format!("{}/fields", path(id)), &more(&shop)),
            lake.server.get(&format!("{}/statistics", path(id))),
            lake.server.get(&format!("{}/ddl", path(id))),
            lake.server.delete(&field_path(&lake, id, "total")),
        ] {
            assert!(matches!(answer.status, 502..=504), "{answer:?}");
        }
        let sync = lake.read_in(shop.source);
        assert_eq!((&sync["state"], super::counts(&sync, "tables")), (&json!("failed"), [0; 3]), "{sync}");
        assert_eq!(lake.server.get(&path(id)).data()["physical"], true);
        shop.reopen();
        agree(&lake, &shop, id);
        lake.server.post(&format!("{}/fields", path(id)), &more(&shop)).data();
        agree(&lake, &shop, id);
    }
}

#[test]
fn an_unreachable_address_fails_in_time() {
    for (lake, shop) in on_servers() {
        // One port is closed; the other is open and does not answer.
        let closed = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
        let places = [
            ("closed", closed.to_string(), 502),
            ("silent", silent.local_addr().expect("bound").to_string(), 504),
        ];
        for (name, place, status) in places {
            let url = shop.url_as("somebody", "something", Some(&place));
            let form = json!({ "name": name, "kind": shop.kind.dialect(), "url": url });
            let id = lake.server.post(SOURCES, &form).data()["id"].clone();
            let begun = Instant::now();
            let told = lake.server.post(&format!("{SOURCES}/{id}/test"), &json!({}));
            assert!(begun.elapsed() < UNREACHABLE_IN_TIME, "{name}: {:?}", begun.elapsed());
            assert_eq!(told.status, status, "{name}: {told:?}");
            assert!(!format!("{told:?}").contains("something"), "{told:?}");
        }
    }
}

#[test]
fn what_the_operator_did_not_allow_is_not_connected_to() {
    for (mut lake, shop) in on_servers() {
        lake.server.stop();
        lake.server.set("LAKEPORT_EGRESS_ALLOW", "");
        lake.server.run();
        let told = lake.server.post(&format!("{SOURCES}/{}/test", shop.source), &json!({}));
        refused(&told, 403, "egress_refused");
        assert!(told.message().contains("egress_allow"), "{told:?}");
        assert_eq!(lake.read_in(shop.source)["state"], "failed");
    }
}

/// Kills the server at each failpoint of a physical change; the next server makes catalogue and database
/// agree.
#[test]
fn a_server_killed_within_a_change_leaves_no_disagreement() {
    for (mut lake, shop) in on_servers() {
        for (number, point) in ["tables.change_claimed", "tables.physical_done", "tables.change_recorded"]
            .into_iter()
            .enumerate()
        {
            let name = format!("orders{number}");
            let id = lake.physical_table_of(&shop, &name, &[("id", shop.kind.integer())]);
            die_at(&mut lake, point, "POST", format!("{}/fields", path(id)), more(&shop));
            settled(&lake, id);
            agree(&lake, &shop, id);
            let form = json!({ "fieldName": "another", "fieldType": shop.kind.integer() });
            lake.server.post(&format!("{}/fields", path(id)), &form).data();
            agree(&lake, &shop, id);
        }
    }
}

/// Requests a change at which the server dies, and restarts the server.
fn die_at(lake: &mut Lake, point: &str, method: &'static str, target: String, form: Value) {
    lake.server.stop();
    lake.server.set("LAKEPORT_KILL_AT", point);
    lake.server.run();
    let client = lake.server.client();
    let asked = thread::spawn(move || {
        std::panic::catch_unwind(move || {
            client.send(method, &target, &[], form.to_string().as_bytes()).status
        })
    });
    assert!(lake.server.wait(SOON).is_some(), "{point} was not reached");
    // The request got no answer, or an incomplete one.
    let _ = asked.join();
    lake.server.kill();
    lake.server.set("LAKEPORT_KILL_AT", "");
    lake.server.run();
}

/// If the server dies without knowing whether a table was created, and the database is unreachable, the next
/// sync finds the table.
#[test]
fn the_next_sync_finds_a_crashed_creation() {
    for (mut lake, shop) in on_servers() {
        let id = lake.table_of(&shop, "orders", &[("id", shop.kind.integer())]);
        lake.server.stop();
        lake.server.set("LAKEPORT_KILL_AT", "tables.physical_done");
        lake.server.run();
        let client = lake.server.client();
        let asked = thread::spawn(move || {
            let physical = format!("{}/physical", path(id));
            std::panic::catch_unwind(move || client.post(&physical, &json!({})).status)
        });
        assert!(lake.server.wait(SOON).is_some(), "the place was not reached");
        let _ = asked.join();
        lake.server.kill();
        assert_eq!(shop.tables(), ["orders"]);
        shop.close();
        lake.server.set("LAKEPORT_KILL_AT", "");
        lake.server.run();
        assert_eq!(settled(&lake, id)["state"], "failed");
        shop.reopen();
        let sync = lake.read_in(shop.source);
        assert_eq!(sync["state"], "success", "{sync}");
        assert_eq!(id_named(&lake, &shop, "orders"), id);
        assert_eq!(lake.server.get(&path(id)).data()["physical"], true);
        agree(&lake, &shop, id);
    }
}

#[test]
fn a_lock_timeout_is_reported() {
    for (lake, shop) in on_servers() {
        let id = orders(&lake, &shop);
        let held = holder(&shop, "orders");
        let answer = lake.server.put(&path(id), &json!({ "tableName": "bills" }));
        drop(held);
        // Or it is still running: wait for it.
        if answer.status != 200 {
            refused(&answer, 504, "upstream_timeout");
            assert!(answer.message().contains("lock"), "{answer:?}");
        }
        settled(&lake, id);
        agree(&lake, &shop, id);
    }
}
