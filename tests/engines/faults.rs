//! What happens when DolphinScheduler is away, slow, or answers nonsense: nothing is done twice, all heals by itself, and
//! requests to Lakeport stay fast.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use lakeport_tests::eventually;
use serde_json::{Value, json};

use crate::pair::{DS, Pair, SOON};
use crate::proxy::Fault;

const START: &str = "executors/start-process-instance";
/// A read that does not wait for the engine.
const FAST: Duration = Duration::from_secs(1);

fn one_task(pair: &Pair) -> Value {
    json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SQL", "datasource": pair.shop.name,
        "sqlContent": "SELECT 1" }] })
}

/// The runs that DolphinScheduler has of a workflow.
fn runs_there(pair: &Pair, workflow: i64) -> Vec<Value> {
    let (project, code) = pair.place(workflow);
    let query = [("pageNo", "1"), ("pageSize", "50"), ("processDefineCode", code.as_str())];
    let list = pair.ds(&format!("/projects/{project}/process-instances"), &query);
    list["totalList"].as_array().expect("a list").clone()
}

#[test]
fn a_start_whose_answer_is_lost_is_one_run() {
    let pair = Pair::start_behind_proxy();
    let workflow = pair.deployed(DS, "lost", &one_task(&pair));
    for fault in [Fault::Lost, Fault::Half] {
        pair.proxy().spoil(START, fault.clone(), 1);
        let before = runs_there(&pair, workflow).len();
        let path = format!("/api/v1/workflows/{workflow}");
        let answer = pair.server().post(&format!("{path}/execute"), &json!({}));
        assert_eq!(answer.status, 200, "it is found within 5 s: {fault:?}: {answer:?}");
        let runs = eventually("the run is found by its key", SOON, || {
            let runs = pair.server().get(&format!("{path}/runs")).data();
            let is_over = |run: &Value| run["status"] == "success";
            runs["records"].as_array().expect("runs").iter().all(is_over).then_some(runs)
        });
        assert_eq!(runs["total"], json!(before + 1), "{fault:?}: {runs}");
        assert_eq!(runs_there(&pair, workflow).len(), before + 1, "{fault:?}");
    }
}

#[test]
fn an_error_says_engine_call_and_answer_and_starts_nothing() {
    let pair = Pair::start_behind_proxy();
    let workflow = pair.deployed(DS, "errors", &one_task(&pair));
    let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a free port");
    elsewhere.set_nonblocking(true).expect("it is ours");
    let location = format!("http://{}/", elsewhere.local_addr().expect("it is bound"));
    let redirect = format!("302 Found\r\nLocation: {location}");
    let redirect: &'static str = Box::leak(redirect.into_boxed_str());
    let code = |code: i64, text: &str| json!({ "code": code, "msg": text, "data": null }).to_string();
    let cases = [
        ("500 Oops", "<html>oops</html>".to_owned(), "HTTP 500"),
        ("401 Unauthorized", String::new(), "log-in"),
        ("200 OK", code(10_099, "the queue is on fire"), "10099 the queue is on fire"),
        (redirect, String::new(), "HTTP 302"),
        ("200 OK", "{\"code\": 0, \"data\"".to_owned(), "cannot be read"),
    ];
    for (status, body, said) in cases {
        pair.proxy().spoil(START, Fault::Answer(status, body), 10);
        let begun = Instant::now();
        let failed = pair.server().post(&format!("/api/v1/workflows/{workflow}/execute"), &json!({}));
        assert!(matches!(failed.status, 502..=504), "{status}: {failed:?}");
        assert!(failed.message().contains(said) && failed.message().contains(START), "{status}: {failed:?}");
        assert_eq!(
            failed.json()["details"][0],
            json!({ "field": "engine", "message": DS }),
            "{status}: {failed:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(20), "{status}: {:?}", begun.elapsed());
        pair.proxy().heal();
    }
    assert!(elsewhere.accept().is_err(), "a redirect is not followed");
    assert_eq!(runs_there(&pair, workflow).len(), 0);
    let run = pair.execute(workflow);
    assert_eq!(pair.ended(workflow, &run)["status"], "success");
}

#[test]
fn both_agree_again_on_what_was_asked_while_it_was_away() {
    let pair = Pair::start_behind_proxy();
    let workflow = pair.deployed(DS, "away", &one_task(&pair));
    let path = format!("/api/v1/workflows/{workflow}");
    let schedule = json!({ "crontab": "0 0 3 29 2 ? *", "timezone": "UTC" });
    pair.server().put(&format!("{path}/schedule"), &schedule).data();
    for fault in [Fault::Closed, Fault::Slow(Duration::from_secs(30))] {
        pair.proxy().spoil("/dolphinscheduler/", fault.clone(), usize::MAX);
        let begun = Instant::now();
        let answer = pair.server().post(&format!("{path}/schedule/online"), &json!({}));
        assert!(matches!(answer.status, 200 | 502..=504), "{fault:?}: {answer:?}");
        assert!(begun.elapsed() < Duration::from_secs(30), "{fault:?}: {:?}", begun.elapsed());
        let begun = Instant::now();
        let view = pair.server().get(&path).data();
        assert!(begun.elapsed() < FAST, "{fault:?}: {:?}", begun.elapsed());
        assert_eq!(view["id"], json!(workflow), "{fault:?}: {view}");
        let other = pair.server().get("/api/v1/plugins/dolphinscheduler").data();
        assert_eq!(other["state"], "active", "the engine's fault is not the plugin's: {other}");
        pair.proxy().heal();
        eventually("the engine and the store agree", SOON, || {
            let view = pair.server().get(&path).data();
            (view["engineState"] == "in_sync").then_some(())
        });
        // The request may have been refused, and not kept.
        let wanted = pair.server().get(&path).data()["status"].clone();
        let (project, code) = pair.place(workflow);
        let query = [("pageNo", "1"), ("pageSize", "10"), ("processDefinitionCode", code.as_str())];
        let list = pair.ds(&format!("/projects/{project}/schedules"), &query);
        let there = list["totalList"][0]["releaseState"].clone();
        assert_eq!(there == "ONLINE", wanted == "online", "{fault:?}: {there} there, {wanted} wanted");
        pair.server().post(&format!("{path}/schedule/offline"), &json!({})).data();
    }
}

#[test]
fn what_was_changed_there_is_seen_or_overwritten() {
    let pair = Pair::start_behind_proxy();
    let workflow = pair.deployed(DS, "edited", &one_task(&pair));
    let (project, code) = pair.place(workflow);
    let api = pair.access.api().expect("a base URL");
    // Somebody takes it offline there.
    let release = format!("/projects/{project}/process-definition/{code}/release");
    let name = pair.server().get(&format!("/api/v1/workflows/{workflow}")).data()["name"].clone();
    let form = [("name", name.as_str().expect("a name")), ("releaseState", "OFFLINE")];
    api.post(&release, &form).expect("an answer").data().expect("code 0");
    let refused = pair.server().post(&format!("/api/v1/workflows/{workflow}/execute"), &json!({}));
    assert_eq!((refused.status, refused.error().as_str()), (409, "engine_conflict"), "{refused:?}");
    assert!(refused.message().contains("offline"), "{refused:?}");
    pair.deploy(workflow);
    let run = pair.execute(workflow);
    assert_eq!(pair.ended(workflow, &run)["status"], "success");
}

#[test]
fn a_run_that_was_deleted_there_has_ended() {
    let pair = Pair::start_behind_proxy();
    let slow = json!({ "workflow": {}, "tasks": [{ "taskName": "slow", "taskType": "SHELL", "sqlContent": "sleep 5" }] });
    let workflow = pair.deployed(DS, "deleted", &slow);
    let run = pair.execute(workflow);
    pair.proxy().spoil("/dolphinscheduler/", Fault::Closed, usize::MAX);
    eventually("it ends there", SOON, || {
        (runs_there(&pair, workflow)[0]["state"] == "SUCCESS").then_some(())
    });
    let (project, _) = pair.place(workflow);
    let api = pair.access.api().expect("a base URL");
    let gone = format!("/projects/{project}/process-instances/{run}");
    api.delete(&gone).expect("an answer").data().expect("code 0");
    pair.proxy().heal();
    let ended = pair.ended(workflow, &run);
    assert_eq!(ended["status"], "failed", "{ended}");
    let message = ended["errorMessage"].as_str().unwrap_or_default();
    assert!(message.contains("no longer knows"), "{ended}");
}

#[test]
fn watching_costs_few_requests() {
    let pair = Pair::start_behind_proxy();
    for name in ["one", "two", "three"] {
        let workflow = pair.deployed(DS, name, &one_task(&pair));
        let path = format!("/api/v1/workflows/{workflow}/schedule");
        pair.server().put(&path, &json!({ "crontab": "0 0 3 29 2 ? *", "timezone": "UTC" })).data();
        pair.server().post(&format!("{path}/online"), &json!({})).data();
    }
    let before = pair.proxy().requests().len();
    let time = Duration::from_secs(20);
    std::thread::sleep(time);
    let requests = pair.proxy().requests().split_off(before);
    // However many workflows there are: the engine is asked by project, not by workflow.
    assert!(requests.len() <= 40, "in {time:?}: {requests:#?}");
}

#[test]
fn a_run_that_is_stopped_before_its_next_try_has_none() {
    let pair = Pair::start();
    let definition = json!({ "workflow": {}, "tasks": [{ "taskName": "bad", "taskType": "SHELL", "sqlContent": "exit 3",
        "retryTimes": 3, "retryInterval": 3600 }] });
    let workflow = pair.deployed(DS, "stopped", &definition);
    let run = pair.execute(workflow);
    let waits = || {
        let view = pair.server().get(&format!("/api/v1/workflows/{workflow}/runs/{run}")).data();
        assert_ne!(view["status"], "failed", "it has tries left: {view}");
        (view["tasks"][0]["state"] == "pending").then_some(())
    };
    eventually("the task waits for its next try", SOON, waits);
    pair.server().post(&format!("/api/v1/workflows/{workflow}/runs/{run}/cancel"), &json!({})).data();
    let ended = pair.ended(workflow, &run);
    assert_eq!(ended["tasks"][0]["execution"]["attempt"], 1, "{ended}");
}
