//! Runs on the engine `local` over HTTP: their records, cancellation and retries, and the recovery after a
//! killed server (contract, section 3.4).

use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, eventually, refused, stores};
use serde_json::{Value, json};

/// A lease of 15 s, 2 s until another server claims it, and time for a busy machine.
const TAKEN_OVER_MAX: Duration = Duration::from_secs(40);
const EXECUTIONS: &str = "/api/v1/executions";
const SOON: Duration = Duration::from_secs(20);
/// Takes minutes.
const ENDLESS: &str = "INSERT INTO a (v) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000000000) \
    SELECT max(x) FROM n";

/// A data source, and three tables with an ascending key: a, b, c.
fn tables(lake: &Lake) -> (i64, [i64; 3]) {
    let source = lake.source("shop.db");
    lake.run("shop.db", "");
    let ids =
        ["a", "b", "c"].map(|name| lake.physical_table(source, name, &[("id", "INTEGER"), ("v", "TEXT")]));
    (source, ids)
}

fn one(lake: &Lake, execution: &Value) -> Value {
    lake.server.get(&format!("{EXECUTIONS}/{}", execution["id"])).data()
}

fn statuses(executions: &[Value]) -> Vec<&str> {
    executions.iter().map(|execution| execution["status"].as_str().expect("a status")).collect()
}

#[test]
fn a_run_is_recorded_task_by_task_with_its_log() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        let first = lake.task(
            id,
            "1 fill",
            source,
            "INSERT INTO a (v) VALUES ('x'), ('y'), ('it''s; here')",
            [&[], &[a]],
        );
        lake.task(
            id,
            "2 copy",
            source,
            "INSERT INTO b SELECT * FROM a; SELECT count(*) FROM b",
            [&[a], &[b]],
        );
        lake.deploy(id);
        let run = lake.execute(id);
        let executions = lake.ended(&run, 2);
        assert_eq!(statuses(&executions), ["success", "success"]);
        let fill = &executions[0];
        for (member, value) in [
            ("workflowId", json!(id)),
            ("workflowName", json!("w")),
            ("taskId", json!(first)),
            ("taskName", json!("1 fill")),
            ("triggerType", json!("manual")),
            ("attempt", json!(1)),
            ("errorMessage", Value::Null),
            ("rowsAffected", json!(3)),
        ] {
            assert_eq!(fill.get(member), Some(&value), "{member} of {fill}");
        }
        assert!(fill["startTime"].is_string() && fill["endTime"].is_string(), "{fill}");
        let log = &one(&lake, fill)["log"];
        assert_eq!(log["complete"], true, "{log}");
        assert!(log["text"].as_str().is_some_and(|text| text.contains('3')), "{log}");
        let offset = log["nextOffset"].as_str().expect("an offset");
        let rest = lake.server.get(&format!("{EXECUTIONS}/{}?logOffset={offset}", fill["id"])).data();
        assert_eq!((&rest["log"]["text"], &rest["log"]["complete"]), (&json!(""), &json!(true)));
        for wrong in ["nowhere", "0-616263", "0-2d31"] {
            let path = format!("{EXECUTIONS}/{}?logOffset={wrong}", fill["id"]);
            refused(&lake.server.get(&path), 400, "invalid_input");
        }
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM b"), [3]);

        let page = lake.server.get(&format!("{EXECUTIONS}/history?taskId={first}")).data();
        assert_eq!((&page["total"], &page["pageSize"]), (&json!(1), &json!(10)));
        let status = lake.server.get(&format!("/api/v1/tasks/{first}/execution-status")).data();
        assert_eq!((&status["status"], &status["id"]), (&json!("success"), &fill["id"]));
        let workflow = lake.server.get(&format!("/api/v1/workflows/{id}")).data();
        assert_eq!(workflow["recentExecutions"].as_array().map(Vec::len), Some(2));
        assert_eq!(workflow["latestExecution"]["instanceId"], run);
        assert_eq!(lake.server.get(&format!("{EXECUTIONS}/running")).data(), json!([]));
        let synced = lake.server.post(&format!("{EXECUTIONS}/{}/sync", fill["id"]), &json!({})).data();
        assert_eq!(synced["status"], "success");
        let figures = lake.server.get(&format!("{EXECUTIONS}/statistics")).data();
        let shown = (&figures["total"], &figures["success"], &figures["failed"]);
        assert_eq!(shown, (&json!(2), &json!(2), &json!(0)), "{figures}");
        for path in ["999", "999/sync", "999/cancel", "999/retry"] {
            let method = if path.contains('/') { "POST" } else { "GET" };
            let answer = lake.server.client().send(method, &format!("{EXECUTIONS}/{path}"), &[], b"");
            refused(&answer, 404, "not_found");
        }
        refused(
            &lake.server.post(&format!("{EXECUTIONS}/{}/cancel", fill["id"]), &json!({})),
            409,
            "not_running",
        );
    }
}

#[test]
fn a_failure_stops_dependants_until_a_retry() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(
            id,
            "1 fails",
            source,
            "INSERT INTO a (v) VALUES ('half'); INSERT INTO nobody VALUES (1)",
            [&[], &[a]],
        );
        lake.task(id, "2 after", source, "INSERT INTO b SELECT * FROM a", [&[a], &[b]]);
        lake.task(id, "3 apart", source, "INSERT INTO c (v) VALUES ('x')", [&[], &[c]]);
        lake.deploy(id);
        let run = lake.execute(id);
        let executions = lake.ended(&run, 2);
        let names: Vec<_> = executions.iter().map(|one| one["taskName"].as_str().expect("a name")).collect();
        assert_eq!((names, statuses(&executions)), (vec!["1 fails", "3 apart"], vec!["failed", "success"]));
        assert!(
            executions[0]["errorMessage"].as_str().is_some_and(|text| text.contains("nobody")),
            "{executions:?}"
        );
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [0], "a task is whole or nothing");
        let failed = lake.server.get(&format!("{EXECUTIONS}/failed?limit=5")).data();
        assert_eq!(failed[0]["taskName"], "1 fails");
        lake.run("shop.db", "CREATE TABLE nobody (x)");
        let retry = format!("{EXECUTIONS}/{}/retry", executions[0]["id"]);
        let again = lake.server.post(&retry, &json!({})).data();
        assert!(again["id"] != executions[0]["id"] && again["instanceId"] != run, "{again}");
        for (member, value) in [("attempt", json!(1)), ("errorMessage", Value::Null)] {
            assert_eq!(again[member], value, "{member} of {again}");
        }
        for same in ["workflowId", "taskId", "taskName", "triggerType", "scheduleTime"] {
            assert_eq!(again[same], executions[0][same], "{same} of {again}");
        }
        let ended = lake.ended(again["instanceId"].as_str().expect("an id"), 2);
        let names: Vec<_> = ended.iter().map(|one| one["taskName"].as_str().expect("a name")).collect();
        assert_eq!((names, statuses(&ended)), (vec!["1 fails", "2 after"], vec!["success", "success"]));
        let before = one(&lake, &executions[0]);
        assert_eq!(before["status"], "failed", "the record of what failed stays");
        assert!(before["log"]["text"].as_str().is_some_and(|log| log.contains("nobody")), "{before}");
        let refusal = lake.server.post(&retry, &json!({}));
        refused(&refusal, 409, "not_retryable");
        assert!(refusal.json()["message"].as_str().is_some_and(|text| text.contains("run again already")));
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM b"), [1]);
        assert_eq!(
            lake.numbers("shop.db", "SELECT count(*) FROM c"),
            [1],
            "what had succeeded was not run again"
        );
    }
}

/// More attempts than one page: the next requests to the engine are not delayed, and the engine is not
/// blamed.
#[test]
fn very_many_tries_of_one_run_hold_nothing_up() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO a (v) VALUES ('x')", [&[], &[a]]);
        lake.deploy(id);
        let executions = lake.ended(&lake.execute(id), 1);
        lake.server.execute(
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 100100) \
             INSERT INTO runner_task_runs (run_id, task_id, task_name, attempt, state, started_at, ended_at) \
             SELECT t.run_id, t.task_id, t.task_name, n.i, 'failed', 1, 2 FROM runner_task_runs t, n",
        );
        let sync = format!("{EXECUTIONS}/{}/sync", executions[0]["id"]);
        // The watcher may be syncing it; then this request leaves it to the watcher.
        let synced = eventually("the last one is seen", SOON, || {
            // The record differs from the engine's, so it is checked.
            lake.server.execute("UPDATE runs SET message = 'otherwise'");
            let synced = lake.server.post(&sync, &json!({})).data();
            (synced["attempt"] == 100_100).then_some(synced)
        });
        assert_eq!(synced["status"], "failed", "{synced}");
    }
}

#[test]
fn forgotten_runs_keep_status_and_can_rerun() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO nobody VALUES (1)", [&[], &[a]]);
        lake.deploy(id);
        let executions = lake.ended(&lake.execute(id), 1);
        lake.server.execute("DELETE FROM runner_runs");
        let path = format!("{EXECUTIONS}/{}", executions[0]["id"]);
        let synced = lake.server.post(&format!("{path}/sync"), &json!({})).data();
        assert_eq!(synced, executions[0], "nothing of it changed");
        let again = lake.server.post(&format!("{path}/retry"), &json!({})).data();
        assert!(again["id"] != executions[0]["id"], "{again}");
        lake.server.delete(&format!("/api/v1/workflows/{id}")).data();
        refused(&lake.server.post(&format!("{path}/retry"), &json!({})), 409, "not_deployed");
    }
}

#[test]
fn a_run_that_the_engine_has_forgotten_is_asked_for_as_it_was() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        let first = lake.task(id, "first", source, "INSERT INTO nobody VALUES (1)", [&[], &[a]]);
        lake.task(id, "second", source, "INSERT INTO b (v) SELECT v FROM a", [&[a], &[b]]);
        lake.deploy(id);
        let form = json!({ "startTaskId": first, "reach": "only", "failureStrategy": "END" });
        let run = lake.server.post(&format!("/api/v1/workflows/{id}/execute"), &form).data();
        let failed = lake.ended(run.as_str().expect("an id"), 1);
        lake.server.execute("DELETE FROM runner_runs");
        let better = json!({ "task": { "sqlContent": "INSERT INTO a (v) VALUES ('x')" } });
        lake.server.put(&format!("/api/v1/tasks/{first}"), &better).data();
        lake.deploy(id);
        let again = lake.server.post(&format!("{EXECUTIONS}/{}/retry", failed[0]["id"]), &json!({})).data();
        let run = again["instanceId"].as_str().expect("an id").to_owned();
        let path = format!("/api/v1/workflows/{id}/runs/{run}");
        let done = lakeport_tests::eventually("it is done", SOON, || {
            let now = lake.server.get(&path).data();
            (now["status"] == "success").then_some(now)
        });
        let states: Vec<_> =
            done["tasks"].as_array().expect("tasks").iter().map(|task| &task["state"]).collect();
        assert_eq!(states, ["success", "not_run"], "{done}");
    }
}

#[test]
fn logs_require_access_to_the_source() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 'a secret'", [&[], &[a]]);
        lake.deploy(id);
        let executions = lake.ended(&lake.execute(id), 1);
        let path = format!("{EXECUTIONS}/{}", executions[0]["id"]);
        assert!(
            lake.server.get(&path).data()["log"]["text"].as_str().is_some_and(|log| log.contains("a secret"))
        );
        let name = lake.server.get(&format!("/api/v1/datasources/{source}")).data()["name"].clone();
        let admin = lake.server.token("admin", "root");
        let admin = lake.server.client_as(&admin);
        for (names, is_shown) in [(json!([name]), true), (json!(["lakeport"]), false)] {
            let form = json!({ "role": "viewer", "name": format!("{is_shown}"), "datasources": names });
            let token = admin.post("/api/v1/tokens", &form).data()["token"].clone();
            let bound = lake.server.client_as(token.as_str().expect("a token"));
            let execution = bound.get(&path).data();
            assert_eq!(execution["withheld"], !is_shown, "{execution}");
            assert_eq!(execution["log"].is_null(), !is_shown, "{execution}");
            assert_eq!(execution.to_string().contains("a secret"), is_shown, "{execution}");
        }
    }
}

#[test]
fn an_engine_with_open_runs_stays() {
    for store in stores() {
        let lake = Lake::start(&store);
        lake.server.post("/api/v1/engines", &json!({ "name": "second", "plugin": "local" })).data();
        lake.server.execute(
            "INSERT INTO runs (engine, workflow_id, workflow_name, state, cause, asked_at) \
             VALUES ('second', 1, 'w', 'asked', 'manual', 4102444800000)",
        );
        let refusal = lake.server.delete("/api/v1/engines/second");
        refused(&refusal, 409, "in_use");
        assert!(refusal.json()["message"].as_str().is_some_and(|text| text.contains("1 run")), "{refusal:?}");
        lake.server.execute("UPDATE runs SET ended_at = 1, state = 'failed'");
        assert_eq!(lake.server.delete("/api/v1/engines/second").status, 200);
    }
}

#[test]
fn tasks_retry_and_time_out() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        let task = |name: &str, sql: &str, more: Value, output: i64| {
            let mut task = json!({ "workflowId": id, "taskName": name, "taskType": "SQL", "datasourceId": source,
                "sqlContent": sql });
            for (member, value) in more.as_object().expect("members") {
                task[member] = value.clone();
            }
            let form = json!({ "task": task, "inputTableIds": [], "outputTableIds": [output] });
            lake.server.post("/api/v1/tasks", &form).data();
        };
        task("1 again", "INSERT INTO nobody VALUES (1)", json!({ "retryTimes": 2, "retryInterval": 1 }), a);
        task("2 long", &ENDLESS.replace(" a ", " b "), json!({ "timeout": 1 }), b);
        lake.deploy(id);
        let begun = Instant::now();
        let executions = lake.ended(&lake.execute(id), 2);
        assert!(begun.elapsed() >= Duration::from_secs(2), "it waited between its tries");
        assert_eq!(statuses(&executions), ["failed", "failed"]);
        assert_eq!(executions[0]["attempt"], 3, "its tries are one record");
        let log = one(&lake, &executions[0])["log"]["text"].as_str().expect("a log").to_owned();
        let ends = log.lines().filter(|line| line.contains(" failed: ")).count();
        assert_eq!(ends, 3, "each try says how it ended: {log}");
        assert!(
            executions[1]["errorMessage"].as_str().is_some_and(|text| text.contains("1 s")),
            "{executions:?}"
        );
    }
}

#[test]
fn a_running_task_is_cancelled_at_once() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "1 long", source, ENDLESS, [&[], &[a]]);
        lake.task(id, "2 after", source, "INSERT INTO b SELECT * FROM a", [&[a], &[b]]);
        lake.deploy(id);
        let run = lake.execute(id);
        let running = eventually("it runs", SOON, || {
            let running = lake.server.get(&format!("{EXECUTIONS}/running")).data();
            (running[0]["status"] == "running").then(|| running[0].clone())
        });
        lake.server.post(&format!("{EXECUTIONS}/{}/cancel", running["id"]), &json!({})).data();
        // The statement itself would not end.
        let executions = lake.ended(&run, 1);
        assert_eq!(statuses(&executions), ["killed"]);
        // The database is unlocked again.
        lake.run("shop.db", "INSERT INTO b (v) VALUES ('free')");
    }
}

#[test]
fn tasks_waiting_for_a_source_are_cancellable() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let (busy, waits) = (lake.workflow("busy"), lake.workflow("waits"));
        lake.task(busy, "long", source, ENDLESS, [&[], &[a]]);
        lake.task(waits, "1 waits", source, "INSERT INTO b (v) VALUES ('x')", [&[], &[b]]);
        lake.task(waits, "2 after", source, "INSERT INTO c SELECT * FROM b", [&[b], &[c]]);
        lake.deploy(busy);
        lake.deploy(waits);
        lake.execute(busy);
        let long = eventually("the source is busy", SOON, || {
            let running = lake.server.get(&format!("{EXECUTIONS}/running")).data();
            running.as_array().and_then(|running| running.first().cloned())
        });
        let run = lake.execute(waits);
        let seen = eventually("it is seen", SOON, || {
            Some(lake.executions(&run)).filter(|executions| !executions.is_empty())
        });
        assert_eq!((seen.len(), statuses(&seen)), (1, vec!["pending"]), "the other has to come: {seen:?}");
        let waiting = one(&lake, &seen[0]);
        assert_eq!((&waiting["startTime"], &waiting["errorMessage"]), (&Value::Null, &Value::Null));
        let log = &waiting["log"];
        assert_eq!(
            (&log["text"], &log["complete"], &log["error"]),
            (&json!(""), &json!(false), &Value::Null)
        );

        let path = format!("{EXECUTIONS}/{}", waiting["id"]);
        let killed = lake.server.post(&format!("{path}/cancel"), &json!({})).data();
        assert_eq!(killed["id"], waiting["id"], "{killed}");
        // On a very busy machine the answer comes before the end.
        if killed["status"] != "pending" {
            assert_eq!(killed["status"], "killed", "{killed}");
            assert_eq!((&killed["startTime"], killed["endTime"].is_string()), (&Value::Null, true));
        }
        eventually("it is gone", SOON, || (lake.server.get(&path).status == 404).then_some(()));
        refused(&lake.server.get(&path), 404, "not_found");
        assert_eq!(lake.executions(&run), [] as [Value; 0], "a task that never began has no record");

        let again = lake.execute(waits);
        let waiting = eventually("it waits", SOON, || lake.executions(&again).first().cloned());
        lake.server.post(&format!("{EXECUTIONS}/{}/cancel", long["id"]), &json!({})).data();
        let ended = lake.ended(&again, 2);
        assert_eq!(statuses(&ended), ["success", "success"]);
        assert_eq!(ended[0]["id"], waiting["id"], "what waited and what ran is one record");
        assert!(one(&lake, &ended[0])["log"]["text"].as_str().is_some_and(|log| log.contains("1 rows")));
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM c"), [1]);
    }
}

#[test]
fn what_would_leave_the_database_is_refused() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        for (n, sql) in [
            "ATTACH DATABASE '/tmp/other.db' AS other",
            "SELECT 1; DETACH DATABASE main",
            "VACUUM INTO '/tmp/copy.db'",
            "PRAGMA journal_mode = DELETE",
            "COMMIT; INSERT INTO a (v) VALUES ('x')",
            "SELECT load_extension('/tmp/x.so')",
            "/**/ATTACH/**/DATABASE ':memory:' AS m",
        ]
        .into_iter()
        .enumerate()
        {
            let id = lake.workflow(&format!("w{n}"));
            let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL",
                "datasourceId": source, "sqlContent": sql }, "inputTableIds": [], "outputTableIds": [a] });
            let answer = lake.server.post("/api/v1/tasks", &form);
            if answer.status == 400 {
                continue;
            }
            let publish = format!("/api/v1/workflows/{id}/publish");
            refused(&lake.server.post(&publish, &json!({})), 409, "cannot_run");
            // With a parameter it is judged when it runs.
            let task = format!("/api/v1/tasks/{}", answer.data()["id"]);
            let form = json!({ "task": { "sqlContent": format!("SELECT '$[yyyy]'; {sql}") } });
            if lake.server.put(&task, &form).status == 400 {
                continue;
            }
            let preview = lake.server.get(&format!("{publish}/preview")).data();
            if preview["canPublish"] == false {
                continue;
            }
            lake.deploy(id);
            let executions = lake.ended(&lake.execute(id), 1);
            assert_eq!(statuses(&executions), ["failed"], "{sql}");
        }
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [0]);
    }
}

#[test]
fn parameters_are_values_that_cannot_break_out() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let hostile = "x'); DROP TABLE b; --";
        let parameters = json!({ "globalParams": [
            { "name": "who", "value": hostile }, { "name": "count", "value": "7" },
        ] });
        lake.server.put(&format!("/api/v1/workflows/{id}"), &parameters).data();
        let sql = "INSERT INTO a (v) VALUES (${who}), ('<${who}>'), (${count} + 1), (${system.biz.date}), ('$[yyyy-MM-dd]')";
        lake.task(id, "t", source, sql, [&[], &[a]]);
        lake.deploy(id);
        let executions = lake.ended(&lake.execute(id), 1);
        assert_eq!(statuses(&executions), ["success"], "{executions:?}");
        let values = lake.texts("shop.db", "SELECT v FROM a ORDER BY id");
        assert_eq!(
            (values[0].as_str(), values[1].clone(), values[2].as_str()),
            (hostile, format!("<{hostile}>"), "8")
        );
        assert!(values[3].len() == 8 && values[4].len() == 10, "{values:?}");
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM b"), [0], "it is still there");
    }
}

#[test]
fn the_timer_fires_until_taken_offline() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO a (v) VALUES (${system.datetime})", [&[], &[a]]);
        let schedule = format!("/api/v1/workflows/{id}/schedule");
        lake.server.put(&schedule, &json!({ "crontab": "* * * * * ? *" })).data();
        lake.deploy(id);
        lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        eventually("it fires", SOON, || {
            (lake.numbers("shop.db", "SELECT count(*) FROM a")[0] >= 5).then_some(())
        });
        lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        thread::sleep(Duration::from_secs(2));
        let fired = lake.texts("shop.db", "SELECT v FROM a ORDER BY id");
        let seconds: Vec<i64> = fired.iter().map(|at| at[12..].parse().expect("a second")).collect();
        let next: Vec<bool> = seconds.windows(2).map(|two| (two[0] + 1) % 60 == two[1]).collect();
        assert!(next.iter().all(|next| *next), "every second once: {fired:?}");
        thread::sleep(Duration::from_secs(2));
        assert_eq!(lake.texts("shop.db", "SELECT v FROM a").len(), fired.len(), "it is off");
        let page = lake.server.get(&format!("{EXECUTIONS}/history")).data();
        let record = &page["records"][0];
        assert_eq!(record["triggerType"], "schedule");
        assert!(record["scheduleTime"].is_string(), "{record}");
    }
}

/// A run of five consecutive tasks, each of which adds one row. After a kill at each failpoint, no run is
/// lost, finished tasks are not repeated, and a running task runs again once.
#[test]
fn a_server_killed_within_a_run_loses_and_repeats_nothing() {
    for store in stores() {
        for (point, repeated) in
            [("runner.task_claimed", false), ("runner.task_ran", true), ("runner.task_recorded", false)]
        {
            let mut lake = Lake::start(&store);
            let source = lake.source("shop.db");
            lake.run("shop.db", "CREATE TABLE done (id INTEGER PRIMARY KEY, task TEXT)");
            let step = |n: usize| lake.table(source, &format!("step{n}"), &[("id", "INTEGER")]);
            let steps: Vec<i64> = (0..6).map(step).collect();
            let id = lake.workflow("w");
            for n in 0..5 {
                let sql = format!("INSERT INTO done (task) VALUES ('task {n}')");
                lake.task(id, &format!("task {n}"), source, &sql, [&[steps[n]], &[steps[n + 1]]]);
            }
            lake.deploy(id);
            lake.server.stop();
            lake.server.set("LAKEPORT_KILL_AT", point);
            lake.server.run();
            // It may die before it has answered.
            let client = lake.server.client();
            let asked = thread::spawn(move || {
                let ask = || client.post(&format!("/api/v1/workflows/{id}/execute"), &json!({})).status;
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)).is_ok()
            });
            assert!(lake.server.wait(SOON).is_some(), "{point} was not reached");
            let _ = asked.join();
            lake.server.kill();
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.run();
            let executions = eventually("the run ends", Duration::from_secs(60), || {
                let page = lake.server.get(&format!("{EXECUTIONS}/history?pageSize=100")).data();
                let records = page["records"].as_array().expect("records").clone();
                let all = records.len() == 5 && records.iter().all(|record| record["status"] == "success");
                all.then_some(records)
            });
            let again: Vec<_> = executions.iter().filter(|one| one["attempt"] != 1).collect();
            let attempts: Vec<_> = again.iter().map(|one| one["attempt"].as_i64()).collect();
            if point != "runner.task_recorded" {
                assert_eq!(attempts, [Some(2)], "{point}: what was running runs again, once");
                let log = one(&lake, again[0])["log"]["text"].as_str().expect("a log").to_owned();
                assert!(log.contains("again"), "{point}: {log}");
            } else {
                assert_eq!(attempts, [] as [Option<i64>; 0], "{point}: what had finished is not repeated");
            }
            let rows = lake.numbers("shop.db", "SELECT count(*) FROM done");
            assert_eq!(rows, [if repeated { 6 } else { 5 }], "{point}");
        }
    }
}

#[test]
fn random_kills_lose_no_effect_of_a_run() {
    for store in stores() {
        lakeport_tests::effects_survive(&store, 10);
    }
}

#[test]
fn another_server_takes_over_a_task() {
    use lakeport_tests::{Options, Store};
    for store in stores() {
        if matches!(store, Store::Sqlite) {
            continue;
        }
        let mut lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let roots = lake.files.path().display().to_string();
        let environment = &[("LAKEPORT_SQLITE_ROOTS", roots.as_str()), ("LAKEPORT_TIME_ZONE", "UTC")];
        let mut other = lake.server.replica(Options { environment, ..Options::default() });
        other.run();
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO a (v) VALUES ('x')", [&[], &[a]]);
        lake.deploy(id);
        let execute = format!("/api/v1/workflows/{id}/execute");
        let first = lake.execute(id);
        let second = other.post(&execute, &json!({})).data();
        lake.ended(&first, 1);
        lake.ended(second.as_str().expect("an id"), 1);
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [2]);
        lake.server.kill();
        let third = other.post(&execute, &json!({})).data();
        eventually("the other one takes over", TAKEN_OVER_MAX, || {
            let page = other.get(&format!("{EXECUTIONS}/history")).data();
            let record = &page["records"][0];
            (record["instanceId"] == third && record["status"] == "success").then_some(())
        });
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [3]);
    }
}

#[test]
fn engines_are_listed_and_tested() {
    for store in stores() {
        let lake = Lake::start(&store);
        let engines = lake.server.get("/api/v1/engines").data();
        assert_eq!(
            (&engines[0]["name"], &engines[0]["plugin"]),
            (&json!("local"), &json!("local")),
            "{engines}"
        );
        let test = lake.server.post("/api/v1/engines/local/test", &json!({})).data();
        assert_eq!(test["ok"], true, "{test}");
        assert!(test["checks"].as_array().is_some_and(|checks| !checks.is_empty()), "{test}");
        refused(&lake.server.post("/api/v1/engines/nobody/test", &json!({})), 404, "not_found");
    }
}
