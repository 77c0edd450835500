//! `Idempotency-Key`: repeating a POST changes nothing more.

use std::time::Duration;

use lakeport_tests::{Server, stores};
use serde_json::json;

const TOKENS: &str = "/api/v1/tokens";
const TABLES: &str = "/api/v1/tables";
const SOON: Duration = Duration::from_secs(20);

#[test]
fn a_key_replays_only_its_own_request() {
    for store in stores() {
        let server = Server::start(&store);
        let root = server.post(TOKENS, &json!({ "role": "admin", "name": "root" })).data();
        let root = server.client_as(root["token"].as_str().unwrap());
        let key = [("Idempotency-Key", "k-1")];
        let send = |name: &str| {
            let body = json!({ "role": "viewer", "name": name }).to_string();
            root.send("POST", TOKENS, &key, body.as_bytes())
        };
        let first = send("ci").data();
        assert_eq!(send("ci").data(), first, "the text of the token as well");
        assert_eq!(root.get(TOKENS).data().as_array().unwrap().len(), 2);
        let other = send("cd");
        assert_eq!((other.status, other.error().as_str()), (409, "idempotency_key_reused"));

        // Another caller's key is another key.
        let second = server.client_as(first["token"].as_str().unwrap());
        let body = json!({ "role": "viewer", "name": "ci" }).to_string();
        assert_eq!(second.send("POST", TOKENS, &key, body.as_bytes()).status, 403);
    }
}

#[test]
fn a_refusal_is_kept_too() {
    for store in stores() {
        let server = Server::start(&store);
        let key = [("Idempotency-Key", "again")];
        let send = || server.client().send("POST", "/api/v1/plugins/none/rollback", &key, b"{}");
        let (first, again) = (send(), send());
        assert_eq!((first.status, again.status), (404, 404));
        assert_eq!(first.json(), again.json(), "with the first one's request id");
        assert_ne!(first.header("x-request-id"), again.header("x-request-id"));
    }
}

#[test]
fn concurrent_repeats_share_one_answer() {
    for store in stores() {
        let server = Server::start(&store);
        let root = server.post(TOKENS, &json!({ "role": "admin", "name": "root" })).data();
        let text = root["token"].as_str().unwrap();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let ask = || {
                let body = json!({ "role": "viewer", "name": "ci" }).to_string();
                let key = [("Idempotency-Key", "at-once")];
                server.client_as(text).send("POST", TOKENS, &key, body.as_bytes()).data()
            };
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
            asking.into_iter().map(|asking| asking.join().unwrap()).collect()
        });
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        assert_eq!(server.client_as(text).get(TOKENS).data().as_array().unwrap().len(), 2);
    }
}

/// A server that is killed before the commit has made nothing: the next one executes the repeat, and does not wait for
/// what nobody does any more.
#[test]
fn a_repeat_does_not_wait_for_the_dead() {
    for store in stores() {
        let mut server = Server::start(&store);
        server.stop();
        server.set("LAKEPORT_KILL_AT", "changes.before_commit");
        server.run();
        let key = [("Idempotency-Key", "once")];
        let form = json!({ "tableName": "orders", "dbName": "main" }).to_string();
        let died = server.client().try_send("POST", TABLES, &key, form.as_bytes());
        assert!(died.is_err(), "{died:?}");
        assert!(server.wait(SOON).is_some());
        server.kill();
        server.set("LAKEPORT_KILL_AT", "");
        server.run();
        // Otherwise it would wait until its deadline, which is before the end of the dead one's claim.
        let made = server.client().send("POST", TABLES, &key, form.as_bytes()).data();
        assert_eq!(server.client().send("POST", TABLES, &key, form.as_bytes()).data(), made);
        assert_eq!(server.get(TABLES).data()["total"], 1);
    }
}

#[test]
fn a_repeat_shows_the_dead_servers_commit() {
    for store in stores() {
        let mut server = Server::start(&store);
        server.stop();
        server.set("LAKEPORT_KILL_AT", "changes.committed");
        server.run();
        let key = [("Idempotency-Key", "once")];
        let form = json!({ "tableName": "orders", "dbName": "main" }).to_string();
        assert!(server.client().try_send("POST", TABLES, &key, form.as_bytes()).is_err());
        assert!(server.wait(SOON).is_some());
        server.kill();
        server.set("LAKEPORT_KILL_AT", "");
        server.run();
        let id = server.get(TABLES).data()["records"][0]["id"].clone();
        assert_eq!(server.client().send("POST", TABLES, &key, form.as_bytes()).data()["id"], id);
        assert_eq!(server.get(TABLES).data()["total"], 1);
    }
}
