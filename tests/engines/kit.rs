//! The conformance kit of engines on the connector, as its author would run it.

use std::process::Command;

use lakeport_engine_tests::{Access, Document};
use serde_json::{Value, json};

use crate::pair::config;
use crate::proxy::Proxy;

/// In the report of an instance without them.
pub const NO_BACKFILLS: &str = "not checked: backfills";

#[test]
fn the_connector_holds() {
    let (proxy, access) = Proxy::before(&Access::from_environment().expect("a server"));
    let mut instance = instance(&access, 240, 500);
    instance["config"]["nativeBackfill"] = json!(true);
    let (has_passed, report) = report(&instance);
    println!("{report}");
    assert!(has_passed && !report.contains(NO_BACKFILLS), "{report}");
    let Some(document) = Document::of("3.1.1") else { return };
    // 3.1 is asked for the lists of later versions, to find out which one it is.
    let (requests, misfits) = proxy.misfits(document, &["/workflow-definition"]);
    println!("{requests} requests, {} misfits: {misfits:#?}", misfits.len());
    assert!(requests > 100 && misfits.is_empty(), "{misfits:#?}");
}

/// The instance of a server. It has SHELL tasks: 3.1 cannot stop a SQL task that runs.
pub fn instance(access: &Access, patience_seconds: u64, poll_milliseconds: u64) -> Value {
    let tasks = json!({ "kind": "SHELL", "succeeds": "echo done", "fails": "echo no; exit 3", "endless": "sleep 600",
        "slow": "sleep 5", "logHas": "done", "prints": { "before": "echo ", "after": "", "place": "script" } });
    json!({ "config": config(access), "secrets": { "token": access.token },
        "egressAllow": ["127.0.0.1"], "timeZone": "UTC", "tasks": tasks, "patienceSeconds": patience_seconds,
        "pollMilliseconds": poll_milliseconds })
}

/// Whether the kit has passed, and all that it says.
pub fn report(instance: &Value) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("instance.json");
    std::fs::write(&file, instance.to_string()).expect("it is written");
    let component = lakeport_tests::wasm_folder().join("plugin/engine_dolphinscheduler.wasm");
    let kit = lakeport_tests::binary().with_file_name("lakeport-conformance");
    let mut command = Command::new(kit);
    let ended = command.arg("engine").arg(component).arg("--instance").arg(file).output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.success(), format!("{}{}", text(&ended.stdout), text(&ended.stderr)))
}
