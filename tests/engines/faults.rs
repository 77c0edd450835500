//! What happens when DolphinScheduler is away, slow, or answers nonsense: nothing is done twice, all heals by itself, and
//! requests to Lakeport stay fast.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use lakeport_engine_tests::{Generation, TestServer};
use lakeport_tests::eventually;
use serde_json::{Value, json};

use crate::pair::{DS, Pair, SOON, config};
use crate::proxy::{Fault, Proxy};

const START: &str = "executors/start-process-instance";
/// A read that does not wait for the engine, on a busy machine.
const FAST: Duration = Duration::from_secs(5);

fn one_task(pair: &Pair) -> Value {
    json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SQL", "datasource": pair.shop.name,
        "sqlContent": "SELECT 1" }] })
}

/// Behind a proxy, the test server of 3.3, which is quick.
fn quick() -> (TestServer, Pair) {
    let server = TestServer::start(Generation::V33);
    let (proxy, _) = Proxy::before(&server.access());
    let pair = Pair::on(server.access(), Some(proxy));
    (server, pair)
}

fn script(script: &str) -> Value {
    json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SHELL", "sqlContent": script }] })
}

/// Faults of single requests.
fn faults() -> [Fault; 7] {
    let code = json!({ "code": 10_099, "msg": "the queue is on fire", "data": null }).to_string();
    [
        Fault::Lost,
        Fault::Half,
        Fault::Closed,
        Fault::Slow(Duration::from_secs(3)),
        Fault::Answer("500 Oops", "<html>oops</html>".to_owned()),
        Fault::Answer("401 Unauthorized", String::new()),
        Fault::Answer("200 OK", code),
    ]
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
    let view = || pair.server().get(&format!("/api/v1/workflows/{workflow}")).data();
    let shown = eventually("it is seen without a request that fails", SOON, || {
        Some(view()).filter(|view| view["engineState"] == "failed")
    });
    assert!(shown["engineError"].as_str().is_some_and(|error| error.contains("offline")), "{shown}");
    // And edits it.
    let definition = format!("/projects/{project}/process-definition/{code}");
    let detail = pair.ds(&definition, &[]);
    let mut tasks = detail["taskDefinitionList"].clone();
    tasks[0]["taskParams"]["sql"] = json!("SELECT 2");
    let text = |member: &str| detail["processDefinition"][member].as_str().unwrap_or_default().to_owned();
    let (relations, tasks) = (detail["processTaskRelationList"].to_string(), tasks.to_string());
    let form = [
        ("name", text("name")),
        ("description", "edited".to_owned()),
        ("globalParams", text("globalParams")),
        ("locations", text("locations")),
        ("timeout", "0".to_owned()),
        ("tenantCode", pair.access.tenant.clone()),
        ("taskRelationJson", relations),
        ("taskDefinitionJson", tasks),
        ("executionType", "PARALLEL".to_owned()),
    ];
    let form = form.each_ref().map(|(name, value)| (*name, value.as_str()));
    api.put(&definition, &form).expect("an answer").data().expect("code 0");
    let form = [("name", name.as_str().expect("a name")), ("releaseState", "ONLINE")];
    api.post(&release, &form).expect("an answer").data().expect("code 0");
    let says = |word: &str| {
        Some(view()).filter(|view| view["engineError"].as_str().is_some_and(|error| error.contains(word)))
    };
    eventually("the edit is seen", SOON, || says("was edited"));
    pair.deploy(workflow);
    let sql = &pair.ds(&definition, &[])["taskDefinitionList"][0]["taskParams"]["sql"];
    assert_eq!(*sql, "SELECT 1", "the deployment replaces it");
    eventually("both agree", SOON, || (view()["engineState"] == "in_sync").then_some(()));
    let run = pair.execute(workflow);
    assert_eq!(pair.ended(workflow, &run)["status"], "success");
    // Somebody deletes it.
    let form = [("name", name.as_str().expect("a name")), ("releaseState", "OFFLINE")];
    api.post(&release, &form).expect("an answer").data().expect("code 0");
    api.delete(&definition).expect("an answer").data().expect("code 0");
    let shown = eventually("it is seen", SOON, || says("no definition"));
    assert_eq!(shown["engineState"], "failed", "{shown}");
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
    let (project, _) = pair.place(workflow);
    for waits in [false, true] {
        let run = pair.execute(workflow);
        let path = format!("/api/v1/workflows/{workflow}/runs/{run}");
        if waits {
            let there = format!("/projects/{project}/process-instances/{run}");
            eventually("it fails there", SOON, || (pair.ds(&there, &[])["state"] == "FAILURE").then_some(()));
        }
        pair.server().post(&format!("{path}/cancel"), &json!({})).data();
        let ended = pair.ended(workflow, &run);
        let attempt = ended["tasks"][0]["execution"]["attempt"].as_i64();
        assert!(attempt.is_none_or(|attempt| attempt == 1), "{ended}");
    }
}

#[test]
fn a_deployment_with_a_fault_heals_or_says_why_and_is_one_definition() {
    let (server, pair) = quick();
    // What a deployment sends: the codes of the tasks, the definition, and that it is online.
    for call in ["task-definition/gen-task-codes", "workflow-definition HTTP", "/release HTTP"] {
        for fault in faults() {
            let what = format!("{call}: {fault:?}");
            let workflow = pair.imported(DS, &format!("d{}", server.requests().len()), &script("true"));
            let path = format!("/api/v1/workflows/{workflow}");
            let publish = |pair: &Pair| {
                let record = pair.server().post(&format!("{path}/publish"), &json!({})).data();
                let approve = format!("{path}/publish/{}/approve", record["recordId"]);
                pair.server().post(&approve, &json!({ "status": "APPROVED" })).data();
                eventually(&what, SOON, || {
                    let view = pair.server().get(&path).data();
                    let deployment = &view["publications"][0]["deployment"];
                    matches!(deployment["state"].as_str(), Some("success" | "failed"))
                        .then(|| deployment.clone())
                })
            };
            pair.proxy().spoil(call, fault.clone(), 1);
            let deployment = publish(&pair);
            pair.proxy().heal();
            if deployment["state"] == "failed" {
                let error = deployment["error"].as_str().unwrap_or_default();
                let names_call = error.contains("task-codes") || error.contains("workflow-definition");
                assert!(names_call, "{what}: {deployment}");
                assert!(matches!(fault, Fault::Answer(..)), "{what}: {deployment}");
                assert_eq!(publish(&pair)["state"], "success", "{what}");
            }
            let run = pair.run(workflow);
            assert_eq!(run["status"], "success", "{what}: {run}");
            let (project, _) = pair.place(workflow);
            let name = pair.server().get(&path).data()["name"].clone();
            let query = [("pageNo", "1"), ("pageSize", "10"), ("searchVal", name.as_str().expect("a name"))];
            let there = pair.ds(&format!("/projects/{project}/workflow-definition"), &query);
            assert_eq!(there["totalList"].as_array().map(Vec::len), Some(1), "{what}: {there}");
        }
    }
    assert!(server.problems().is_empty(), "{:#?}", server.problems());
}

#[test]
fn a_run_is_followed_through_faults() {
    let (server, pair) = quick();
    let workflow = pair.deployed(DS, "followed", &script("sleep 2"));
    let path = format!("/api/v1/workflows/{workflow}");
    for (at, fault) in faults().into_iter().enumerate() {
        let run = pair.execute(workflow);
        pair.proxy().spoil("GET /dolphinscheduler/projects/", fault.clone(), 3);
        let ended = pair.ended(workflow, &run);
        pair.proxy().heal();
        assert_eq!(ended["status"], "success", "{fault:?}: {ended}");
        assert_eq!(ended["tasks"][0]["execution"]["attempt"], 1, "{fault:?}: {ended}");
        let runs = pair.server().get(&format!("{path}/runs")).data();
        assert_eq!(runs["total"], json!(at + 1), "{fault:?}: {runs}");
    }
    let plugin = pair.server().get("/api/v1/plugins/dolphinscheduler").data();
    assert_eq!(plugin["state"], "active", "{plugin}");
    assert!(server.problems().is_empty(), "{:#?}", server.problems());
}

/// Another engine of the same plugin is used while one does not answer, and what needs none of them stays fast.
#[test]
fn a_slow_engine_delays_no_other() {
    let (_slow, pair) = quick();
    let workflow = pair.deployed(DS, "slow", &script("true"));
    let other = TestServer::start(Generation::V32);
    let form = json!({ "name": "other", "plugin": "dolphinscheduler", "config": config(&other.access()),
        "secrets": { "token": other.access().token } });
    pair.server().post("/api/v1/engines", &form).data();
    let quick = pair.deployed("other", "quick", &script("true"));
    pair.proxy().spoil("/dolphinscheduler/", Fault::Slow(Duration::from_secs(12)), usize::MAX);
    let test = format!("/api/v1/engines/{DS}/test");
    let client = pair.server().client();
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| client.post(&test, &json!({})));
        }
        std::thread::sleep(Duration::from_secs(1));
        let begun = Instant::now();
        assert_eq!(pair.run(quick)["status"], "success");
        assert!(begun.elapsed() < Duration::from_secs(11), "{:?}", begun.elapsed());
        let path = format!("/api/v1/workflows/{workflow}");
        for path in [
            path.clone(),
            format!("{path}/runs"),
            "/api/v1/workflows".to_owned(),
            "/api/v1/executions/history".to_owned(),
            "/api/v1/executions/statistics".to_owned(),
            "/api/v1/engines".to_owned(),
        ] {
            let begun = Instant::now();
            let answer = pair.server().get(&path);
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
            assert!(begun.elapsed() < FAST, "{path}: {:?}", begun.elapsed());
        }
    });
}

/// A retry is accepted, and its answer lost: the run is followed all the same, and is not begun twice.
#[test]
fn a_retry_whose_answer_is_lost_is_seen() {
    for fault in [Fault::Lost, Fault::Half] {
        let (server, pair) = quick();
        let marker = tempfile::tempdir().expect("a temporary folder");
        let file = marker.path().join("begun").display().to_string();
        let workflow =
            pair.deployed(DS, "again", &script(&format!("echo x >>{file}; test $(wc -l <{file}) -gt 1")));
        let failed = pair.run(workflow);
        assert_eq!(failed["status"], "failed", "{fault:?}: {failed}");
        pair.proxy().spoil("executors/execute", fault.clone(), 1);
        let execution = failed["tasks"][0]["execution"]["id"].clone();
        let answer = pair.server().post(&format!("/api/v1/executions/{execution}/retry"), &json!({}));
        assert_eq!(answer.status, 200, "it is seen within 5 s: {fault:?}: {answer:?}");
        let run = failed["instanceId"].as_str().expect("an id").to_owned();
        let ended = pair.until(workflow, &run, |status| status == "success");
        assert_eq!(ended["tasks"][0]["execution"]["attempt"], 2, "{fault:?}: {ended}");
        assert_eq!(std::fs::read_to_string(&file).expect("it ran").lines().count(), 2, "{fault:?}");
        assert!(server.problems().is_empty(), "{fault:?}: {:#?}", server.problems());
    }
}

/// Somebody runs a failed run again in DolphinScheduler.
#[test]
fn a_run_that_is_begun_again_there_is_followed() {
    let (server, pair) = quick();
    let marker = tempfile::tempdir().expect("a temporary folder");
    let file = marker.path().join("there").display().to_string();
    let workflow = pair.deployed(DS, "there", &script(&format!("sleep 12; test -e {file}")));
    let failed = pair.run(workflow);
    assert_eq!(failed["status"], "failed", "{failed}");
    std::fs::write(&file, "").expect("it is written");
    let run = failed["instanceId"].as_str().expect("an id");
    let (project, _) = pair.place(workflow);
    let form = [("workflowInstanceId", run), ("executeType", "START_FAILURE_TASK_PROCESS")];
    let api = server.access().api().expect("a base URL");
    api.post(&format!("/projects/{project}/executors/execute"), &form)
        .expect("an answer")
        .data()
        .expect("code 0");
    pair.until(workflow, run, |status| status == "success");
}
