//! The plugin API over HTTP, against a real server (contract, section 5).

use std::time::Duration;

use lakeport_tests::{Lake, Response, Server, Session, Store, component, eventually, stores, wasm_folder};
use serde_json::{Value, json};

/// Stages a fixture; returns its digest.
fn stage(server: &Server, fixture: &str) -> String {
    let answer = server.post_bytes("/api/v1/plugins", "application/wasm", &component(fixture));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.data()["digest"].as_str().expect("a digest").to_owned()
}

fn activate(server: &Server, name: &str, digest: &str) -> Response {
    server.post(&format!("/api/v1/plugins/{name}/activate"), &json!({ "digest": digest }))
}

#[test]
fn a_fresh_server_lists_what_is_bundled() {
    for store in stores() {
        let server = Server::start(&store);
        let plugins = server.get("/api/v1/plugins").data();
        for name in ["doris", "mysql", "postgres", "sqlite"] {
            let named = plugins.as_array().unwrap().iter().find(|p| p["name"] == name);
            let dialect = named.unwrap_or_else(|| panic!("{name} is not bundled"));
            assert_eq!(dialect["family"], "dialect");
            assert_eq!(dialect["state"], "active", "{name}");
            assert_eq!(dialect["grants"], json!(["lakeport:dialect/connection"]), "{name}");
            assert_eq!(dialect["digest"], dialect["generations"][0]["digest"], "{name}");
            assert_eq!(dialect["reason"], Value::Null, "{name}");
        }
    }
}

#[test]
fn a_plugin_is_staged_activated_replaced_and_rolled_back() {
    for store in stores() {
        let server = Server::start(&store);
        let first = stage(&server, "greeter_v1");
        let plugin = server.get("/api/v1/plugins/greeter").data();
        assert_eq!((&plugin["state"], &plugin["digest"]), (&json!("staged"), &Value::Null));

        assert_eq!(activate(&server, "greeter", &first).data()["state"], "active");
        let second = stage(&server, "greeter_v2");
        assert_eq!(
            server.get("/api/v1/plugins/greeter").data()["version"],
            "1.0.0",
            "staging changes nothing"
        );
        assert_eq!(server.get("/api/v1/plugins/greeter").data()["previousDigest"], Value::Null);
        let activated = activate(&server, "greeter", &second).data();
        assert_eq!((&activated["version"], &activated["previousDigest"]), (&json!("2.0.0"), &json!(first)));
        let back = server.post("/api/v1/plugins/greeter/rollback", &json!({}));
        assert_eq!(back.data()["version"], "1.0.0");
        let again = server.post("/api/v1/plugins/greeter/rollback", &json!({}));
        assert_eq!((again.status, again.error()), (409, "no_previous_generation".to_owned()));
        let family = activated["family"].as_str().expect("a family");
        let query = format!("outcome=success&resourceId={family}:greeter");
        let records = server.get(&format!("/api/v1/audit?{query}")).data()["records"].clone();
        let operations: Vec<&Value> =
            records.as_array().unwrap().iter().map(|record| &record["operation"]).collect();
        assert_eq!(
            operations,
            ["rollbackPlugin", "activatePlugin", "stagePlugin", "activatePlugin", "stagePlugin"]
        );
    }
}

#[test]
fn what_was_activated_is_still_active_after_a_restart() {
    for store in stores() {
        let mut server = Server::start(&store);
        let first = stage(&server, "greeter_v1");
        let second = stage(&server, "greeter_v2");
        activate(&server, "greeter", &first);
        activate(&server, "greeter", &second);
        server.post("/api/v1/plugins/greeter/quarantine", &json!({ "reason": "we look into it" }));
        let before = server.get("/api/v1/plugins/greeter").data();
        server.restart();
        let plugin = server.get("/api/v1/plugins/greeter").data();
        assert_eq!((&plugin["state"], &plugin["digest"]), (&json!("quarantined"), &json!(second)));
        assert_eq!(plugin["generations"], before["generations"], "times are those of then");
        assert_eq!(plugin["reason"], "we look into it");
        let released = server.post("/api/v1/plugins/greeter/release", &json!({})).data();
        assert_eq!(released["state"], "active");
        let back = server.post("/api/v1/plugins/greeter/rollback", &json!({})).data();
        assert_eq!(back["digest"], json!(first), "the history outlives a restart, too");
    }
}

#[test]
fn the_same_bytes_again_are_no_second_generation() {
    let server = Server::start(&stores()[0]);
    assert_eq!(stage(&server, "greeter_v1"), stage(&server, "greeter_v1"));
    assert_eq!(server.get("/api/v1/plugins/greeter").data()["generations"].as_array().unwrap().len(), 1);
}

#[test]
fn a_canary_takes_a_share_and_a_rollback_ends_it() {
    let server = Server::start(&stores()[0]);
    let first = stage(&server, "greeter_v1");
    activate(&server, "greeter", &first);
    let second = stage(&server, "greeter_v2");
    let path = "/api/v1/plugins/greeter/activate";
    let bad = server.post(path, &json!({ "digest": second, "canaryPercent": 100 }));
    assert_eq!((bad.status, bad.error()), (400, "canary_percent_invalid".to_owned()));
    let canary = server.post(path, &json!({ "digest": second, "canaryPercent": 20 })).data();
    assert_eq!((&canary["state"], &canary["digest"]), (&json!("canary"), &json!(first)));
    assert_eq!(canary["generations"][1]["canaryPercent"], 20);
    let ended = server.post("/api/v1/plugins/greeter/rollback", &json!({})).data();
    assert_eq!((&ended["state"], &ended["digest"]), (&json!("active"), &json!(first)));
}

#[test]
fn a_component_comes_back_byte_for_byte() {
    for store in stores() {
        let server = Server::start(&store);
        let digest = stage(&server, "greeter_v1");
        let answer = server.get(&format!("/api/v1/plugins/greeter/{digest}"));
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("content-type"), Some("application/wasm"));
        assert!(answer.body == component("greeter_v1"));
        let unknown = server.get(&format!("/api/v1/plugins/greeter/{}", "0".repeat(64)));
        assert_eq!((unknown.status, unknown.error()), (404, "not_found".to_owned()));
    }
}

#[test]
fn what_answers_cannot_be_removed_and_what_does_not_can() {
    for store in stores() {
        let mut server = Server::start(&store);
        let first = stage(&server, "greeter_v1");
        let second = stage(&server, "greeter_v2");
        activate(&server, "greeter", &first);
        let refused = server.delete(&format!("/api/v1/plugins/greeter/{first}"));
        assert_eq!((refused.status, refused.error()), (409, "generation_active".to_owned()));
        assert_eq!(server.delete(&format!("/api/v1/plugins/greeter/{second}")).status, 200);
        let third = stage(&server, "misbehave");
        activate(&server, "misbehave", &third);
        server.post("/api/v1/plugins/misbehave/quarantine", &json!({ "reason": "to be gone" }));
        assert_eq!(server.delete(&format!("/api/v1/plugins/misbehave/{third}")).status, 200);
        assert_eq!(server.get("/api/v1/plugins/misbehave").status, 404);
        stage(&server, "misbehave");
        server.restart();
        assert_eq!(server.get("/api/v1/plugins/greeter").data()["generations"].as_array().unwrap().len(), 1);
        let again = server.get("/api/v1/plugins/misbehave").data();
        assert_eq!(again["state"], "staged", "what was removed took its quarantine along");
        let sqlite = server.get("/api/v1/plugins/sqlite").data()["digest"].as_str().unwrap().to_owned();
        assert_eq!(server.delete(&format!("/api/v1/plugins/sqlite/{sqlite}")).status, 409);
    }
}

#[test]
fn misbehaving_components_do_not_stop_the_server() {
    let server = Server::start(&stores()[0]);
    let good = component("greeter_v1");
    for (what, body, error, words) in [
        ("nothing", vec![], "component_empty", "cargo build"),
        ("text", b"hello".to_vec(), "component_not_wasm", "not WebAssembly"),
        ("cut off", good[..good.len() / 2].to_vec(), "component_malformed", "truncated"),
        ("machine code", [b"\x7fELF".as_slice(), &[0; 64]].concat(), "component_precompiled", "never loaded"),
        ("a core module", b"\0asm\x01\0\0\0".to_vec(), "component_core_module", "wasm32-wasip2"),
        ("an empty component", b"\0asm\x0d\0\x01\0".to_vec(), "component_no_family", "lakeport:tool/tool"),
        ("sockets", component("sockets"), "import_refused", "wasi:sockets"),
        ("http", component("wants_http"), "import_refused", "lakeport:host/http"),
        ("an endless describe", component("describe_spins"), "plugin_timeout", "trial call of `describe`"),
        ("a trap in describe", component("describe_traps"), "plugin_trapped", "trapped"),
        ("an endless start", component("start_spins"), "plugin_timeout", "it was ended after"),
        ("a trap at the start", component("start_traps"), "plugin_trapped", "trapped"),
    ] {
        let answer = server.post_bytes("/api/v1/plugins", "application/wasm", &body);
        assert_eq!((answer.status, answer.error()), (400, error.to_owned()), "{what}: {answer:?}");
        assert!(answer.message().contains(words), "{what}: {}", answer.message());
        assert_eq!(server.get("/health/ready").status, 200, "after {what}");
    }
    let listed = server.get("/api/v1/plugins").data();
    let plugins = listed.as_array().expect("a list");
    let names: Vec<&str> = plugins.iter().filter_map(|plugin| plugin["name"].as_str()).collect();
    let bundled = [
        "doris",
        "mysql",
        "postgres",
        "sqlite",
        "dolphinscheduler",
        "local",
        "draw_chart",
        "lineage",
        "run_sql",
        "search_catalog",
        "write_sql",
    ];
    assert_eq!(names, bundled, "the bundled ones, and nothing that was refused");
}

#[test]
fn an_oversized_upload_is_413() {
    let server = Server::start(&stores()[0]);
    let answer = server.post_bytes("/api/v1/plugins", "application/wasm", &vec![0; 65 * 1024 * 1024]);
    assert_eq!(answer.status, 413, "{}", answer.message());
    assert_eq!(server.get("/health/live").status, 200);
}

#[test]
fn unknown_plugins_bad_bodies_wrong_states_differ() {
    let server = Server::start(&stores()[0]);
    let unknown = server.get("/api/v1/plugins/nothing");
    assert_eq!((unknown.status, unknown.error()), (404, "not_found".to_owned()));
    assert!(unknown.message().contains("dialect:sqlite"), "it says which there are: {}", unknown.message());
    assert_eq!(server.get("/api/v1/plugins/dialect:sqlite").status, 200);
    assert_eq!(server.get("/api/v1/plugins/tool:sqlite").status, 404);

    let path = "/api/v1/plugins/sqlite/activate";
    let wrong = server.post(path, &json!({ "digest": 7, "canaryPercent": "x" }));
    assert_eq!(wrong.status, 400);
    let fields: Vec<Value> =
        wrong.json()["details"].as_array().expect("details").iter().map(|d| d["field"].clone()).collect();
    assert!(fields.contains(&json!("digest")), "{fields:?}");
    assert_eq!(server.post(path, &json!({})).status, 400);
    assert_eq!(server.post(path, &json!({ "digest": "0".repeat(64) })).status, 404);
    for action in ["activate", "rollback", "release", "quarantine"] {
        let path = format!("/api/v1/plugins/sqlite/{action}");
        assert_eq!(server.post_bytes(&path, "text/plain", b"digest=1").status, 415, "{action}");
    }
    let short = server.post(path, &json!({ "digest": "0000000" }));
    assert_eq!((short.status, short.error()), (400, "digest_invalid".to_owned()));
    let nul = server.post("/api/v1/plugins/sqlite/quarantine", &json!({ "reason": "a\u{0}b" }));
    assert_eq!(nul.status, 400, "{nul:?}");
    let released = server.post("/api/v1/plugins/sqlite/release", &json!({}));
    assert_eq!((released.status, released.error()), (409, "not_quarantined".to_owned()));
    let wrong_method = server.delete("/api/v1/plugins/sqlite");
    assert_eq!((wrong_method.status, wrong_method.header("allow")), (405, Some("GET, HEAD")));
}

#[test]
fn a_quarantined_dialect_makes_the_server_say_so() {
    let server = Server::start(&stores()[0]);
    let answer = server.post("/api/v1/plugins/sqlite/quarantine", &json!({ "reason": "a bad plan" })).data();
    assert_eq!((&answer["state"], &answer["reason"]), (&json!("quarantined"), &json!("a bad plan")));
    let ready = server.get("/health/ready");
    assert_eq!(ready.status, 503);
    assert!(String::from_utf8_lossy(&ready.body).contains("a bad plan"), "{ready:?}");
    server.post("/api/v1/plugins/sqlite/release", &json!({}));
    assert_eq!(server.get("/api/v1/plugins/sqlite").data()["state"], "active");
}

#[test]
fn the_third_party_example_installs_and_answers() {
    let server = Server::start(&stores()[0]);
    let path = wasm_folder().join("example/tool_wordcount.wasm");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let staged = server.post_bytes("/api/v1/plugins", "application/wasm", &bytes).data();
    assert_eq!((&staged["name"], &staged["grantsNeeded"]), (&json!("word_count"), &json!([])));
    let plugin = activate(&server, "word_count", staged["digest"].as_str().unwrap()).data();
    assert_eq!((&plugin["state"], &plugin["family"]), (&json!("active"), &json!("tool")));
}

#[test]
fn what_a_plugin_prints_while_it_describes_itself_harms_nothing() {
    let server = Server::start(&stores()[0]);
    stage(&server, "misbehave");
    let logs = server.get("/api/v1/plugins/misbehave/logs");
    assert_eq!(logs.status, 200);
    assert!(logs.data().is_array());
}

/// Files of compiled code that the server's process has mapped.
fn mapped_code(server: &Server) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{}/maps", server.pid())).expect("it runs");
    let mut files: Vec<&str> = maps.lines().filter_map(|line| line.split_whitespace().nth(5)).collect();
    files.sort_unstable();
    files.dedup();
    files.into_iter().filter(|file| file.ends_with(".cwasm")).count()
}

#[test]
fn components_are_loaded_when_first_used() {
    let mut lake = Lake::start(&stores()[0]);
    let digest = stage(&lake.server, "greeter_v1");
    activate(&lake.server, "greeter", &digest);
    lake.server.restart();
    let listed = lake.server.get("/api/v1/plugins").data();
    assert_eq!(listed.as_array().unwrap().iter().filter(|plugin| plugin["state"] == "active").count(), 12);
    let unused = mapped_code(&lake.server);
    // The watcher of the embedded engine may have used one.
    assert!(unused <= 1, "{unused} components are loaded");
    lake.run("shop", "CREATE TABLE a (id INTEGER PRIMARY KEY)");
    let source = lake.source("shop");
    let tested = lake.server.post(&format!("/api/v1/datasources/{source}/test"), &json!({})).data();
    assert_eq!(tested["ok"], json!(true), "{tested}");
    let used = mapped_code(&lake.server);
    assert!((1..=2).contains(&used), "its dialect is loaded, and no other: {used}");
}

#[test]
fn calls_see_a_change_once_it_is_committed() {
    let Some(store) = stores().into_iter().find(Store::is_postgres) else { return };
    let server = Server::start(&store);
    let digest = stage(&server, "greeter_v1");
    let url = server.database_url().expect("PostgreSQL has one");
    let (mut holder, mut watcher) = (Session::open(url).unwrap(), Session::open(url).unwrap());
    holder.run("BEGIN; LOCK TABLE plugin_pointers IN EXCLUSIVE MODE");
    let state = || server.get("/api/v1/plugins/greeter").data()["state"].clone();
    std::thread::scope(|scope| {
        let activating = scope.spawn(|| activate(&server, "greeter", &digest).status);
        let waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'plugin_pointers'::regclass";
        eventually("it waits to write", Duration::from_secs(20), || watcher.rows(waiting).pop());
        assert_eq!(state(), "staged", "nothing is committed yet");
        holder.run("ROLLBACK");
        assert_eq!(activating.join().expect("an answer"), 200);
    });
    assert_eq!(state(), "active");
}
