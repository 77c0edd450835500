//! Backfills that DolphinScheduler makes itself, where the engine's configuration asks for them.

use lakeport_engine_tests::{Access, Generation, TestServer};
use lakeport_tests::eventually;
use serde_json::{Value, json};

use crate::pair::{DS, Pair, SOON};
use crate::proxy::{Fault, Proxy};

const DATES: [&str; 3] = ["2026-02-27 03:00:00", "2026-02-28 03:00:00", "2026-03-01 03:00:00"];
const START: &str = "executors/start-";

/// A server with such an engine, and a workflow there of this script, which is online.
fn online(access: Access, script: &str) -> (Pair, String) {
    online_on(Pair::on(access, None), script)
}

fn online_on(pair: Pair, script: &str) -> (Pair, String) {
    let form = json!({ "config": config(&pair) });
    pair.server().put(&format!("/api/v1/engines/{DS}"), &form).data();
    let task = json!({ "taskName": "day", "taskType": "SHELL", "sqlContent": script });
    let id = pair.deployed(DS, "made there", &json!({ "workflow": {}, "tasks": [task] }));
    let path = format!("/api/v1/workflows/{id}");
    // In 2090, so that the timer adds no run to those that are counted.
    let schedule =
        json!({ "crontab": "0 0 3 * * ? *", "timezone": "UTC", "startTime": "2090-01-01 00:00:00" });
    pair.server().put(&format!("{path}/schedule"), &schedule).data();
    pair.server().post(&format!("{path}/schedule/online"), &json!({})).data();
    (pair, path)
}

/// What the engine has, and that it makes backfills itself.
fn config(pair: &Pair) -> Value {
    let engines = pair.server().get("/api/v1/engines").data();
    let mut engines = engines.as_array().expect("a list").iter();
    let engine = engines.find(|engine| engine["name"] == DS).expect("it is configured");
    let mut config = engine["config"].clone();
    config["nativeBackfill"] = json!(true);
    config
}

/// All dates, in ascending order.
fn form() -> Value {
    json!({ "mode": "list", "scheduleDateList": DATES.join(","), "executionOrder": "ASC_ORDER" })
}

/// Starts one of all dates; returns its code.
fn start(pair: &Pair, path: &str) -> String {
    let code = pair.server().post(&format!("{path}/backfill"), &form()).data();
    let code = code.as_str().expect("a code").to_owned();
    assert!(code.starts_with("backfill-"), "{code}");
    code
}

fn ended(pair: &Pair, code: &str) -> Value {
    eventually("the backfill has ended", SOON, || {
        let view = pair.server().get(&format!("/api/v1/backfills/{code}")).data();
        view["endedAt"].is_string().then_some(view)
    })
}

fn states(view: &Value) -> Vec<&str> {
    let dates = view["dates"].as_array().expect("dates").iter();
    dates.map(|date| date["state"].as_str().expect("a state")).collect()
}

fn starts(server: &TestServer) -> usize {
    server.requests().iter().filter(|request| request.contains(START)).count()
}

/// All dates of one start run, each once, and are seen as runs of a backfill.
fn runs_each_date(access: Access) {
    let (pair, path) = online(access, "echo day $[yyyy-MM-dd]");
    let code = start(&pair, &path);
    let view = ended(&pair, &code);
    assert_eq!((&view["state"], states(&view)), (&json!("success"), vec!["success"; 3]), "{view}");
    assert!(
        view["notes"].as_str().is_some_and(|notes| notes.contains("no date after one that failed")),
        "{view}"
    );
    let runs = pair.server().get(&format!("{path}/runs")).data();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for run in runs["records"].as_array().expect("runs") {
        seen.push((
            run["scheduleTime"].as_str().expect("a date"),
            run["triggerType"].as_str().expect("a cause"),
        ));
    }
    seen.sort_unstable();
    assert_eq!(seen, DATES.map(|date| (date, "backfill")), "{runs}");
    pair.server().post(&format!("{path}/schedule/offline"), &json!({})).data();
}

#[test]
fn dolphinscheduler_makes_the_dates() {
    runs_each_date(Access::from_environment().expect("a server"));
}

#[test]
fn one_start_makes_all_dates() {
    for generation in [Generation::V32, Generation::V33] {
        let server = TestServer::start(generation);
        runs_each_date(server.access());
        assert_eq!(starts(&server), 1);
        assert!(server.problems().is_empty(), "{:#?}", server.problems());
    }
}

#[test]
fn no_date_follows_one_that_failed() {
    let server = TestServer::start(Generation::V32);
    let (pair, path) = online(server.access(), "test $[yyyyMMdd] != 20260228");
    let code = start(&pair, &path);
    let view = ended(&pair, &code);
    assert_eq!(view["state"], "failed", "{view}");
    assert_eq!(states(&view), ["success", "failed", "skipped"], "{view}");
}

#[test]
fn a_start_whose_answer_is_lost_is_one_start() {
    let server = TestServer::start(Generation::V32);
    let (proxy, _) = Proxy::before(&server.access());
    let (pair, path) = online_on(Pair::on(server.access(), Some(proxy)), "true");
    pair.proxy().spoil(START, Fault::Lost, 1);
    let code = start(&pair, &path);
    let view = ended(&pair, &code);
    assert_eq!((&view["state"], states(&view)), (&json!("success"), vec!["success"; 3]), "{view}");
    assert!(view["notes"].is_string(), "{view}");
    assert_eq!(starts(&server), 1);
}

#[test]
fn a_kill_begins_no_date_twice() {
    for point in ["backfill.asked", "backfill.accepted"] {
        let server = TestServer::start(Generation::V32);
        let (mut pair, path) = online(server.access(), "true");
        let headers = [("Content-Type", "application/json")];
        let (backfill, body) = (format!("{path}/backfill"), form().to_string());
        pair.lake.server.killed_at(point, |client| {
            _ = client.try_send("POST", &backfill, &headers, body.as_bytes());
        });
        let successes = || {
            let runs = pair.server().get(&format!("{path}/runs")).data();
            let runs = runs["records"].as_array().expect("runs").clone();
            runs.iter().filter(|run| run["status"] == "success").count()
        };
        eventually("all dates ran", SOON, || (successes() >= DATES.len()).then_some(()));
        assert_eq!((starts(&server), successes()), (1, DATES.len()), "{point}");
    }
}

#[test]
fn a_cancel_stops_all_of_it() {
    let server = TestServer::start(Generation::V33);
    let (pair, path) = online(server.access(), "sleep 60");
    let code = start(&pair, &path);
    let backfill = format!("/api/v1/backfills/{code}");
    eventually("a date runs", SOON, || (pair.server().get(&backfill).data()["running"] == 1).then_some(()));
    pair.server().post(&format!("{backfill}/cancel"), &json!({})).data();
    let view = ended(&pair, &code);
    assert_eq!(view["state"], "cancelled", "{view}");
    assert_eq!(states(&view), ["cancelled", "skipped", "skipped"], "{view}");
    assert_eq!(starts(&server), 1);
}

#[test]
fn lakeport_begins_more_dates_than_one_start_may_have() {
    let server = TestServer::start(Generation::V33);
    let (pair, path) = online(server.access(), "true");
    // 101 dates.
    let form = json!({ "mode": "range", "startTime": "2026-01-01 00:00:00", "endTime": "2026-04-11 23:59:59",
        "runMode": "RUN_MODE_PARALLEL", "expectedParallelismNumber": 4 });
    let code = pair.server().post(&format!("{path}/backfill"), &form).data();
    let code = code.as_str().expect("a code").to_owned();
    assert!(!code.starts_with("backfill-"), "{code}");
    let view = pair.server().post(&format!("/api/v1/backfills/{code}/cancel"), &json!({})).data();
    assert_eq!((&view["total"], &view["notes"]), (&json!(101), &Value::Null), "{view}");
    assert_eq!(ended(&pair, &code)["state"], "cancelled");
}
