//! The connector on the versions of which no real server can be had: the same kit, on the test server.

use lakeport_engine_tests::{Generation, TestServer};
use serde_json::json;

use crate::kit;

/// The test server is quick.
const PATIENCE_S: u64 = 45;
const POLL_MS: u64 = 250;
/// Longer than the watch of a run and a turn of serial runs take together.
const SLOW: &str = "sleep 4";

#[test]
fn the_connector_holds_on_3_2() {
    holds(Generation::V32);
}

#[test]
fn the_connector_holds_on_3_3() {
    holds(Generation::V33);
}

/// The kit passes, each request was foreseen, and all fits the OpenAPI document of the version.
fn holds(generation: Generation) {
    let server = TestServer::start(generation);
    let mut instance = kit::instance(&server.access(), PATIENCE_S, POLL_MS);
    instance["tasks"]["slow"] = json!(SLOW);
    instance["config"]["nativeBackfill"] = json!(true);
    if generation == Generation::V32 {
        let access = server.access();
        instance["secrets"] = json!({ "username": access.username, "password": access.password });
    }
    // It takes 40 seconds, and the generations do not differ in it.
    instance["fires"] = json!(generation == Generation::V33);
    let (has_passed, report) = kit::report(&instance);
    println!("{report}");
    let problems = server.problems();
    println!("{} requests, {} problems: {problems:#?}", server.requests().len(), problems.len());
    assert!(has_passed && !report.contains(kit::NO_BACKFILLS), "{report}");
    assert!(problems.is_empty(), "{problems:#?}");
}
