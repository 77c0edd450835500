//! Runs on the engine `local` over HTTP: parts of a workflow, pauses, the states of tasks, and runs that wait for each
//! other (contract, section 3.4).

use std::time::Duration;

use lakeport_tests::{Lake, Webhook, eventually, named, refused, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
/// Takes minutes.
const ENDLESS: &str = "INSERT INTO a (v) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000000000) \
    SELECT max(x) FROM n";

fn path(id: i64) -> String {
    format!("/api/v1/workflows/{id}")
}

fn run_path(workflow: i64, run: &str) -> String {
    format!("{}/runs/{run}", path(workflow))
}

/// A data source, and its tables a, b, c with an ascending key.
fn tables(lake: &Lake) -> (i64, [i64; 3]) {
    let source = lake.source("shop.db");
    lake.run("shop.db", "");
    let table = |name| lake.physical_table(source, name, &[("id", "INTEGER"), ("v", "TEXT")]);
    (source, ["a", "b", "c"].map(table))
}

/// A deployed workflow of three tasks, one after the other; the first does this.
fn chain(lake: &Lake, first: &str) -> (i64, [i64; 3]) {
    let (source, [a, b, c]) = tables(lake);
    let id = lake.workflow("w");
    let tasks = [
        lake.task(id, "fill", source, first, [&[], &[a]]),
        lake.task(id, "copy", source, "INSERT INTO b (v) SELECT v FROM a", [&[a], &[b]]),
        lake.task(id, "close", source, "INSERT INTO c (v) SELECT count(*) FROM b", [&[b], &[c]]),
    ];
    lake.deploy(id);
    (id, tasks)
}

fn execute(lake: &Lake, workflow: i64, form: &Value) -> String {
    let run = lake.server.post(&format!("{}/execute", path(workflow)), form).data();
    run.as_str().expect("the engine's id is a text").to_owned()
}

/// The run, once it has this status.
fn until(lake: &Lake, workflow: i64, run: &str, status: &str) -> Value {
    eventually(&format!("the run is {status}"), SOON, || {
        let now = lake.server.get(&run_path(workflow, run));
        (now.status == 200).then(|| now.data()).filter(|now| now["status"] == status)
    })
}

/// The names and the states of a run's tasks.
fn states(run: &Value) -> Vec<(&str, &str)> {
    let tasks = run["tasks"].as_array().expect("tasks");
    tasks
        .iter()
        .map(|task| (task["taskName"].as_str().expect("a name"), task["state"].as_str().expect("a state")))
        .collect()
}

#[test]
fn a_run_shows_the_states_of_its_tasks() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, tasks) = chain(&lake, "INSERT INTO nowhere VALUES (1)");
        let run = execute(&lake, id, &json!({}));
        let failed = until(&lake, id, &run, "failed");
        assert_eq!(states(&failed), [("fill", "failed"), ("close", "not_run"), ("copy", "not_run")]);
        assert_eq!((&failed["instanceId"], &failed["workflowVersion"]), (&json!(run), &json!(4)));
        assert!(failed["errorMessage"].as_str().is_some_and(|why| why.contains("nowhere")), "{failed}");
        assert_eq!(
            failed["edges"],
            json!([
                { "source": tasks[0], "target": tasks[1] }, { "source": tasks[1], "target": tasks[2] }
            ])
        );
        let first = &failed["tasks"][0];
        assert_eq!((&first["taskId"], &first["execution"]["status"]), (&json!(tasks[0]), &json!("failed")));
        let list = lake.server.get(&format!("{}/runs", path(id))).data();
        assert_eq!((&list["total"], &list["records"][0]["instanceId"]), (&json!(1), &json!(run)));
        refused(&lake.server.get(&run_path(id, "999")), 404, "not_found");
        refused(&lake.server.get("/api/v1/workflows/999/runs"), 404, "not_found");
        refused(&lake.server.post(&format!("{}/cancel", run_path(id, &run)), &json!({})), 409, "not_running");
    }
}

#[test]
fn a_run_of_a_part_leaves_the_rest_out() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [fill, copy, _]) = chain(&lake, "INSERT INTO a (v) VALUES ('x')");
        let only = execute(&lake, id, &json!({ "startTaskId": fill, "reach": "only" }));
        let only = until(&lake, id, &only, "success");
        assert_eq!(states(&only), [("fill", "success"), ("close", "not_run"), ("copy", "not_run")]);
        let from = execute(&lake, id, &json!({ "startTaskId": copy }));
        let from = until(&lake, id, &from, "success");
        assert_eq!(states(&from), [("copy", "success"), ("close", "success"), ("fill", "not_run")]);
        let counts =
            ["a", "b", "c"].map(|table| lake.numbers("shop.db", &format!("SELECT count(*) FROM {table}")));
        assert_eq!(counts, [[1], [1], [1]]);
        let wrong = lake.server.post(&format!("{}/execute", path(id)), &json!({ "reach": "from" }));
        assert_eq!(named(&wrong), ["startTaskId"]);
        let negative = lake.server.post(&format!("{}/execute", path(id)), &json!({ "startTaskId": -1 }));
        assert_eq!(named(&negative), ["startTaskId"]);
        let unknown = lake.server.post(&format!("{}/execute", path(id)), &json!({ "startTaskId": 999 }));
        refused(&unknown, 409, "engine_conflict");
        assert!(unknown.message().contains("has no task 999"), "{unknown:?}");
    }
}

#[test]
fn a_run_is_paused_resumed_and_cancelled() {
    for store in stores() {
        let lake = Lake::start(&store);
        // Slow enough to be paused while it runs.
        let slow = "INSERT INTO a (v) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 4000000) \
            SELECT max(x) FROM n";
        let (id, _) = chain(&lake, slow);
        let run = execute(&lake, id, &json!({}));
        let paused = lake.server.post(&format!("{}/pause", run_path(id, &run)), &json!({})).data();
        assert_eq!(paused["status"], "paused", "{paused}");
        let filled = || lake.numbers("shop.db", "SELECT count(*) FROM a") == [1];
        // Either it was paused before its first task, or that one goes on to its end.
        let begun = lake.executions(&run).iter().any(|one| one["startTime"].is_string());
        if begun {
            eventually("what ran has ended", SOON, || filled().then_some(()));
        }
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM b"), [0]);
        let resumed = lake.server.post(&format!("{}/resume", run_path(id, &run)), &json!({})).data();
        assert!(
            ["pending", "running", "success"].contains(&resumed["status"].as_str().expect("a status")),
            "{resumed}"
        );
        until(&lake, id, &run, "success");
        refused(&lake.server.post(&format!("{}/pause", run_path(id, &run)), &json!({})), 409, "not_running");
    }
}

#[test]
fn runs_of_a_workflow_wait_or_are_discarded() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, ENDLESS, [&[], &[a]]);
        let put = lake.server.put(&path(id), &json!({ "concurrency": "wait" })).data();
        assert_eq!((&put["concurrency"], &put["currentVersion"]), (&json!("wait"), &json!(3)));
        let export = lake.server.get(&format!("{}/export-json", path(id))).data();
        assert_eq!(export["content"]["workflow"]["concurrency"], "wait");
        lake.deploy(id);
        let first = execute(&lake, id, &json!({}));
        until(&lake, id, &first, "running");
        let second = execute(&lake, id, &json!({}));
        let waits = || states(&until(&lake, id, &second, "pending")) == [("t", "pending")];
        eventually("its task is seen", SOON, || waits().then_some(()));
        std::thread::sleep(Duration::from_millis(300));
        assert!(waits(), "it waits for the first run");
        let killed = lake.server.post(&format!("{}/cancel", run_path(id, &first)), &json!({})).data();
        assert_eq!((&killed["status"], states(&killed)), (&json!("killed"), vec![("t", "killed")]));
        until(&lake, id, &second, "running");
        lake.server.put(&path(id), &json!({ "concurrency": "discard" })).data();
        lake.deploy(id);
        let refusal = lake.server.post(&format!("{}/execute", path(id)), &json!({}));
        refused(&refusal, 409, "engine_conflict");
        assert!(refusal.message().contains("has not ended"), "{refusal:?}");
        lake.server.post(&format!("{}/cancel", run_path(id, &second)), &json!({})).data();
        let third = execute(&lake, id, &json!({}));
        lake.server.post(&format!("{}/cancel", run_path(id, &third)), &json!({})).data();
        assert_eq!(named(&lake.server.put(&path(id), &json!({ "concurrency": "later" }))), ["concurrency"]);
    }
}

#[test]
fn a_retry_runs_what_is_deployed_now() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [fill, ..]) = chain(&lake, "INSERT INTO nowhere VALUES (1)");
        let run = execute(&lake, id, &json!({}));
        until(&lake, id, &run, "failed");
        let better = json!({ "task": { "sqlContent": "INSERT INTO a (v) VALUES ('x')" } });
        lake.server.put(&format!("/api/v1/tasks/{fill}"), &better).data();
        lake.deploy(id);
        let failed = lake.executions(&run)[0]["id"].clone();
        let again = lake.server.post(&format!("/api/v1/executions/{failed}/retry"), &json!({})).data();
        let again_run = again["instanceId"].as_str().expect("an id").to_owned();
        let done = until(&lake, id, &again_run, "success");
        assert_eq!(done["workflowVersion"], 5);
        let log =
            lake.server.get(&format!("/api/v1/executions/{}", again["id"])).data()["log"]["text"].clone();
        assert!(
            log.as_str().is_some_and(|log| log.contains("by the definition that is deployed now")),
            "{log}"
        );
    }
}

#[test]
fn a_schedule_warns_of_its_runs() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let webhook = Webhook::start(1);
        lake.server.stop();
        lake.server.set("LAKEPORT_ALERTS_WEBHOOK", "nowhere");
        assert!(lake.server.ends_at_start().contains("must be like https://hooks.example.com"));
        lake.server.set("LAKEPORT_ALERTS_WEBHOOK", webhook.url());
        lake.server.run();
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO nowhere VALUES (1)", [&[], &[a]]);
        let schedule = json!({ "crontab": "* * * * * ? *", "timezone": "UTC", "warningType": "FAILURE" });
        lake.server.put(&format!("{}/schedule", path(id)), &schedule).data();
        lake.deploy(id);
        // A manual run warns of nothing.
        let manual = execute(&lake, id, &json!({}));
        until(&lake, id, &manual, "failed");
        lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
        let alert = eventually("the webhook gets an alert again", Duration::from_secs(60), || {
            let got = webhook.got();
            let again = got.iter().skip(1).find(|alert| got.first() == Some(alert));
            again.cloned()
        });
        lake.server.post(&format!("{}/schedule/offline", path(id)), &json!({})).data();
        assert_eq!((&alert["event"], &alert["workflowId"]), (&json!("run.failed"), &json!(id)));
        assert!(alert["id"].is_string(), "{alert}");
        assert!(alert["errorMessage"].as_str().is_some_and(|why| why.contains("nowhere")), "{alert}");
        assert_ne!(alert["instanceId"], json!(manual));
        let audit = lake.server.get("/api/v1/audit?operation=warnOfRun").data();
        let first = &audit["records"][0];
        assert_eq!(
            (&first["outcome"], &first["actorKind"]),
            (&json!("run.failed"), &json!("system")),
            "{audit}"
        );
        let log = lake.server.log();
        assert!(log.contains("warning of a scheduled run: run.failed"), "{log}");
        assert!(!log.contains("very-secret") && !lake.server.command_ok(&["config"]).contains("very-secret"));
    }
}
