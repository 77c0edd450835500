//! Two servers on one PostgreSQL: each follows the other's changes, and continues the work of a dead one.

use std::time::Duration;

use lakeport_tests::{Options, Server, Store, component, eventually, stores};
use serde_json::{Value, json};

/// A change is followed by every replica within a second.
const FOLLOWED: Duration = Duration::from_secs(2);

fn postgres() -> Option<Store> {
    stores().into_iter().find(Store::is_postgres)
}

/// Two servers; the first one creates the token that both accept.
fn pair(store: &Store, first: Options<'_>, second: Options<'_>) -> (Server, Server, String) {
    let mut one = Server::prepare(store, first);
    let token = one.token("admin", "root");
    let mut two = one.replica(second);
    one.run();
    two.run();
    (one, two, token)
}

#[test]
fn token_changes_reach_the_other_server() {
    let Some(store) = postgres() else { return };
    let (one, two, token) = pair(&store, Options::default(), Options::default());
    let made = one.client_as(&token).post("/api/v1/tokens", &json!({ "role": "viewer", "name": "v" })).data();
    let viewer = two.client_as(made["token"].as_str().unwrap());
    eventually("it is known", FOLLOWED, || (viewer.get("/api/v1/me").status == 200).then_some(()));
    one.client_as(&token).delete(&format!("/api/v1/tokens/{}", made["id"])).data();
    eventually("it is refused", FOLLOWED, || (viewer.get("/api/v1/me").status == 401).then_some(()));
}

#[test]
fn the_first_token_ends_local_mode_on_every_server() {
    let Some(store) = postgres() else { return };
    let one = Server::start(&store);
    let mut two = one.replica(Options::default());
    two.run();
    assert_eq!(two.get("/api/v1/me").data()["kind"], "local");
    one.post("/api/v1/tokens", &json!({ "role": "admin", "name": "root" })).data();
    eventually("it ends", FOLLOWED, || (two.get("/api/v1/me").status == 401).then_some(()));
}

#[test]
fn a_plugin_activated_on_one_server_answers_on_the_other() {
    let Some(store) = postgres() else { return };
    let (one, two, token) = pair(&store, Options::default(), Options::default());
    let (one, two) = (one.client_as(&token), two.client_as(&token));
    let wasm = [("Content-Type", "application/wasm")];
    let staged = one.send("POST", "/api/v1/plugins", &wasm, &component("greeter_v1")).data();
    let activate = json!({ "digest": staged["digest"] });
    one.post("/api/v1/plugins/greeter/activate", &activate).data();
    let state = || -> Value {
        let answer = two.get("/api/v1/plugins/greeter");
        if answer.status == 200 { answer.data()["state"].clone() } else { Value::Null }
    };
    eventually("it is active there", Duration::from_secs(20), || (state() == "active").then_some(()));
    two.post("/api/v1/plugins/greeter/quarantine", &json!({ "reason": "odd" })).data();
    eventually("it is out of service here", FOLLOWED, || {
        (one.get("/api/v1/plugins/greeter").data()["state"] == "quarantined").then_some(())
    });
}

#[test]
fn committed_changes_of_dead_servers_spread() {
    let Some(store) = postgres() else { return };
    // Dies after the commit, before the other is notified.
    let environment = &[("LAKEPORT_KILL_AT", "changes.committed")];
    let dies = Options { environment, ..Options::default() };
    let mut one = Server::prepare(&store, Options::default());
    let token = one.token("admin", "root");
    let mut two = one.replica(dies);
    one.run();
    two.run();
    let body = json!({ "role": "viewer", "name": "v" }).to_string();
    let key = [("Idempotency-Key", "once")];
    let address = two.address();
    let asked = std::panic::catch_unwind(|| {
        let bearer = format!("Bearer {token}");
        let headers = [("Authorization", bearer.as_str()), key[0], ("Content-Type", "application/json")];
        lakeport_tests::request(address, "POST", "/api/v1/tokens", &headers, body.as_bytes())
    });
    assert!(asked.is_err(), "it died before it answered");
    assert!(two.wait(Duration::from_secs(5)).is_some_and(|status| !status.success()));
    // The same request again, at the living server: executed once, and answered as the first would have been.
    let root = one.client_as(&token);
    let again = root.send("POST", "/api/v1/tokens", &key, body.as_bytes()).data();
    assert_eq!(root.get("/api/v1/tokens").data().as_array().unwrap().len(), 2);
    let viewer = one.client_as(again["token"].as_str().unwrap());
    eventually("its token is known", FOLLOWED, || (viewer.get("/api/v1/me").status == 200).then_some(()));
    let audit = root.get("/api/v1/audit?operation=createToken&actor=root").data();
    assert_eq!(audit["total"], 1, "{audit}");
}

#[test]
fn a_repeat_makes_an_uncommitted_change() {
    let Some(store) = postgres() else { return };
    let environment = &[("LAKEPORT_KILL_AT", "changes.before_commit")];
    let dies = Options { environment, ..Options::default() };
    let mut one = Server::prepare(&store, Options::default());
    let token = one.token("admin", "root");
    let mut two = one.replica(dies);
    one.run();
    two.run();
    let body = json!({ "role": "viewer", "name": "v" }).to_string();
    let key = [("Idempotency-Key", "twice")];
    let address = two.address();
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", bearer.as_str()), key[0], ("Content-Type", "application/json")];
    let asked = std::panic::catch_unwind(|| {
        lakeport_tests::request(address, "POST", "/api/v1/tokens", &headers, body.as_bytes())
    });
    assert!(asked.is_err(), "it died before it answered");
    assert!(two.wait(Duration::from_secs(5)).is_some());
    // Before its own deadline: the dead server's lease runs out first.
    let root = one.client_as(&token);
    root.send("POST", "/api/v1/tokens", &key, body.as_bytes()).data();
    assert_eq!(root.get("/api/v1/tokens").data().as_array().unwrap().len(), 2);
}
