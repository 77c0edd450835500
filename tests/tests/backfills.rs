//! Backfills on the engine `local` over HTTP: their rules, their order, their dependents, their cancellation, and what a
//! killed server leaves of them (contract, section 3.4).

use std::time::{Duration, Instant};

use lakeport_tests::{Lake, eventually, id_of, refused, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
/// Longer than a lease.
const TAKEN_OVER: Duration = Duration::from_secs(60);
/// Takes minutes.
const ENDLESS: &str = "INSERT INTO a (v) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000000000) \
    SELECT max(x) FROM n";
/// Notes the date of the run.
const NOTE: &str = "INSERT INTO a (v) VALUES ('$[yyyy-MM-dd HH:mm]')";

/// A data source, and its tables a, b, c, d with an ascending key.
fn tables(lake: &Lake) -> (i64, [i64; 4]) {
    let source = lake.source("shop.db");
    lake.run("shop.db", "");
    let table = |name| lake.physical_table(source, name, &[("id", "INTEGER"), ("v", "TEXT")]);
    (source, ["a", "b", "c", "d"].map(table))
}

fn path(workflow: i64) -> String {
    format!("/api/v1/workflows/{workflow}")
}

/// A workflow with one task, deployed and online, daily at two o'clock. Its timer begins in 2090: at two o'clock today it
/// would add a run to those that are counted here.
fn online(lake: &Lake, name: &str, source: i64, sql: &str, tables: [&[i64]; 2]) -> i64 {
    let id = lake.workflow(name);
    lake.task(id, name, source, sql, tables);
    let schedule =
        json!({ "crontab": "0 0 2 * * ? *", "timezone": "UTC", "startTime": "2090-01-01 00:00:00" });
    lake.server.put(&format!("{}/schedule", path(id)), &schedule).data();
    lake.deploy(id);
    lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
    id
}

fn range(start: &str, end: &str) -> Value {
    json!({ "startTime": format!("{start} 00:00:00"), "endTime": format!("{end} 23:59:59") })
}

fn with(mut form: Value, members: Value) -> Value {
    let members = members.as_object().expect("members").clone();
    form.as_object_mut().expect("a form").extend(members);
    form
}

/// Starts one; returns its code.
fn start(lake: &Lake, workflow: i64, form: &Value) -> String {
    let answer = lake.server.post(&format!("{}/backfill", path(workflow)), form).data();
    answer.as_str().expect("the code is a text").to_owned()
}

fn seen(lake: &Lake, code: &str) -> Value {
    lake.server.get(&format!("/api/v1/backfills/{code}")).data()
}

fn ended(lake: &Lake, code: &str) -> Value {
    eventually("the backfill ends", TAKEN_OVER, || {
        let now = seen(lake, code);
        now["endedAt"].is_string().then_some(now)
    })
}

fn counts(backfill: &Value) -> [i64; 5] {
    ["total", "done", "failed", "running", "left"].map(|name| backfill[name].as_i64().expect("a number"))
}

fn states(backfill: &Value) -> Vec<&str> {
    let dates = backfill["dates"].as_array().expect("dates");
    dates.iter().map(|date| date["state"].as_str().expect("a state")).collect()
}

#[test]
fn a_range_runs_in_its_order_one_date_after_the_other() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
        let days = range("2026-03-01", "2026-03-03");
        let code = start(&lake, id, &days);
        let all = ended(&lake, &code);
        assert_eq!((&all["state"], counts(&all)), (&json!("success"), [3, 3, 0, 0, 0]), "{all}");
        assert_eq!(all["dates"][0]["date"], "2026-03-03 02:00:00", "the latest date first");
        assert_eq!(all["dates"][0]["instanceId"], code);
        assert_eq!((&all["code"], &all["workflowId"]), (&json!(code), &json!(id)));
        let notes = lake.texts("shop.db", "SELECT v FROM a ORDER BY id");
        assert_eq!(notes, ["2026-03-03 02:00", "2026-03-02 02:00", "2026-03-01 02:00"]);
        start(&lake, id, &with(days.clone(), json!({ "executionOrder": "ASC_ORDER" })));
        let last = || lake.texts("shop.db", "SELECT v FROM a WHERE id > 3 ORDER BY id");
        let last = eventually("three more", SOON, || Some(last()).filter(|notes| notes.len() == 3));
        assert_eq!(last, ["2026-03-01 02:00", "2026-03-02 02:00", "2026-03-03 02:00"]);
        let executions = lake.executions(&code);
        let shown = (&executions[0]["triggerType"], &executions[0]["status"]);
        assert_eq!(shown, (&json!("backfill"), &json!("success")));
        refused(&lake.server.get("/api/v1/backfills/nothing"), 404, "not_found");
        let list = lake.server.get(&format!("{}/backfills", path(id))).data();
        let [later, first] = list.as_array().expect("a list").as_slice() else { panic!("{list}") };
        assert_eq!(
            (&first["code"], &first["state"], &first["total"]),
            (&json!(code), &json!("success"), &json!(3))
        );
        let dates = (&first["firstDate"], &first["lastDate"]);
        assert_eq!(dates, (&json!("2026-03-01 02:00:00"), &json!("2026-03-03 02:00:00")));
        let later = later["code"].as_str().expect("a code");
        assert_eq!(seen(&lake, later)["workflowId"], id);
        refused(&lake.server.get(&format!("{}/backfills", path(id + 99))), 404, "not_found");
        // The schedule's times are in its own zone, those of the answer in the server's.
        lake.server.put(&format!("{}/schedule", path(id)), &json!({ "timezone": "Asia/Shanghai" })).data();
        let preview = format!("{}/backfill/preview", path(id));
        let dates = lake.server.post(&preview, &range("2026-03-01", "2026-03-01")).data()["dates"].clone();
        assert_eq!(dates, json!(["2026-03-01 18:00:00"]));
        let cancel = format!("/api/v1/backfills/{code}/cancel");
        refused(&lake.server.post(&cancel, &json!({})), 409, "not_running");
    }
}

#[test]
fn a_list_is_run_word_for_word_side_by_side() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
        let dates: Vec<String> = (1..=20).map(|day| format!("2026-02-{day:02} 07:30:00")).collect();
        let form = json!({ "mode": "list", "scheduleDateList": format!("{},{}", dates.join(","), dates[3]),
            "runMode": "RUN_MODE_PARALLEL", "expectedParallelismNumber": 4 });
        let all = ended(&lake, &start(&lake, id, &form));
        assert_eq!((&all["state"], counts(&all)), (&json!("success"), [20, 20, 0, 0, 0]), "{all}");
        let notes = lake.texts("shop.db", "SELECT DISTINCT v FROM a");
        assert_eq!((notes.len(), lake.numbers("shop.db", "SELECT count(*) FROM a")), (20, vec![20]));
    }
}

#[test]
fn what_may_not_be_run_is_refused_in_chinese() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let draft = lake.workflow("draft");
        lake.task(draft, "t", source, "SELECT 1", [&[], &[]]);
        let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
        for what in ["backfill", "backfill/preview"] {
            let post = |id: i64, form: &Value| lake.server.post(&format!("{}/{what}", path(id)), form);
            let message = |answer: &lakeport_tests::Response| answer.json()["message"].clone();
            let empty = lake.server.client().send("POST", &format!("{}/{what}", path(id)), &[], b"");
            refused(&empty, 400, "invalid_input");
            assert_eq!(message(&empty), "补数参数不能为空");
            let answer = post(id, &json!({}));
            refused(&answer, 400, "invalid_input");
            assert_eq!(message(&answer), "补数时间范围不能为空");
            let tomorrow = json!({ "mode": "list", "scheduleDateList": "2099-01-01 00:00:00" });
            assert_eq!(message(&post(id, &tomorrow)), "补数时间不能晚于今天：2099-01-01 00:00:00");
            let parallel = with(range("2026-03-01", "2026-03-02"), json!({ "runMode": "RUN_MODE_PARALLEL" }));
            assert_eq!(message(&post(id, &parallel)), "并行度必须大于 0");
            let days = range("2026-03-01", "2026-03-02");
            refused(&post(draft, &days), 409, "not_deployed");
            assert_eq!(message(&post(draft, &days)), "工作流尚未部署");
            lake.server.post(&format!("{}/schedule/offline", path(id)), &json!({})).data();
            refused(&post(id, &days), 409, "not_online");
            assert_eq!(message(&post(id, &days)), "工作流未上线");
            lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
            let none = json!({ "startTime": "2026-03-01 03:00:00", "endTime": "2026-03-01 04:00:00" });
            let answer = post(id, &none);
            refused(&answer, 400, "invalid_input");
            assert_eq!(message(&answer), "补数时间范围内没有调度周期");
            refused(&post(id, &json!({ "startTime": 7 })), 400, "invalid_input");
            refused(&post(999, &days), 404, "not_found");
        }
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [0]);
    }
}

#[test]
fn after_a_failure_later_dates_go_on_or_not() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        lake.run("shop.db", "CREATE TABLE allowed (day TEXT CHECK (day <> '2026-03-02'))");
        let sql = format!("INSERT INTO allowed VALUES ('$[yyyy-MM-dd]'); {NOTE}");
        let id = online(&lake, "w", source, &sql, [&[], &[a]]);
        let days = with(range("2026-03-01", "2026-03-04"), json!({ "executionOrder": "ASC_ORDER" }));
        let all = ended(&lake, &start(&lake, id, &with(days.clone(), json!({ "failureStrategy": "END" }))));
        assert_eq!((&all["state"], counts(&all)), (&json!("failed"), [4, 1, 1, 0, 2]), "{all}");
        assert_eq!(states(&all), ["success", "failed", "skipped", "skipped"]);
        let all = ended(&lake, &start(&lake, id, &days));
        assert_eq!((&all["state"], counts(&all)), (&json!("failed"), [4, 3, 1, 0, 0]), "{all}");
        let preview = lake.server.post(&format!("{}/backfill/preview", path(id)), &days).data();
        assert_eq!((&preview["total"], &preview["alreadySucceeded"]), (&json!(4), &json!(3)), "{preview}");
    }
}

#[test]
fn dependents_run_once_a_date_also_in_a_diamond() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c, d]) = tables(&lake);
        let note = |into: &str| format!("INSERT INTO {into} (v) VALUES ('$[yyyy-MM-dd]')");
        let top = online(&lake, "top", source, &note("a"), [&[], &[a]]);
        let bottom = online(&lake, "bottom", source, &note("d"), [&[b, c], &[d]]);
        let left = online(&lake, "left", source, &note("b"), [&[a], &[b]]);
        let right = online(&lake, "right", source, &note("c"), [&[a], &[c]]);
        let draft = lake.workflow("draft");
        lake.task(draft, "t", source, "SELECT 1", [&[a], &[]]);
        let preview = format!("{}/backfill/preview", path(top));
        let days = with(
            range("2026-03-01", "2026-03-02"),
            json!({ "complementDependentMode": "ALL_DEPENDENT", "executionOrder": "ASC_ORDER" }),
        );
        let direct = lake.server.post(&preview, &days).data();
        assert_eq!(direct["runsPerDate"], 3, "{direct}");
        assert_eq!(direct["leftOut"][0]["workflowName"], "draft", "{direct}");
        let deep = with(days, json!({ "allLevelDependent": true }));
        let found = lake.server.post(&preview, &deep).data();
        let ids: Vec<&Value> =
            found["workflows"].as_array().expect("workflows").iter().map(|one| &one["workflowId"]).collect();
        assert_eq!((ids[0], ids[3]), (&json!(top), &json!(bottom)), "{found}");
        assert!(ids.contains(&&json!(left)) && ids.contains(&&json!(right)));
        let all =
            ended(&lake, &start(&lake, top, &with(deep, json!({ "previewToken": found["previewToken"] }))));
        assert_eq!((&all["state"], counts(&all)), (&json!("success"), [2, 2, 0, 0, 0]), "{all}");
        for table in ["a", "b", "c", "d"] {
            let days = lake.texts("shop.db", &format!("SELECT v FROM {table} ORDER BY id"));
            assert_eq!(days, ["2026-03-01", "2026-03-02"], "{table}: each once a date");
        }
        let dependents = all["dates"][0]["dependents"].as_array().expect("dependents");
        assert_eq!(dependents.len(), 3);
        assert!(dependents.iter().all(|one| one["state"] == "success" && one["instanceId"].is_string()));
    }
}

#[test]
fn a_token_holds_the_preview() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
        let form = range("2026-01-01", "2026-01-03");
        let preview = lake.server.post(&format!("{}/backfill/preview", path(id)), &form).data();
        assert_eq!((&preview["total"], &preview["runsPerDate"]), (&json!(3), &json!(1)), "{preview}");
        let form = with(form, json!({ "previewToken": preview["previewToken"] }));
        let other = with(form.clone(), json!({ "failureStrategy": "END" }));
        let backfill = format!("{}/backfill", path(id));
        refused(&lake.server.post(&backfill, &other), 409, "preview_stale");
        lake.server.put(&format!("{}/schedule", path(id)), &json!({ "crontab": "0 0 3 * * ? *" })).data();
        refused(&lake.server.post(&backfill, &form), 409, "preview_stale");
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [0]);
    }
}

#[test]
fn many_dates_are_previewed_at_once() {
    let store = &stores()[0];
    let lake = Lake::start(store);
    let (source, [a, ..]) = tables(&lake);
    let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
    lake.server.put(&format!("{}/schedule", path(id)), &json!({ "crontab": "0 0 * * * ? *" })).data();
    let preview = format!("{}/backfill/preview", path(id));
    let ten_years = json!({ "startTime": "2016-01-01 00:00:00", "endTime": "2025-12-28 23:00:00" });
    let begun = Instant::now();
    let found = lake.server.post(&preview, &ten_years).data();
    println!("{} dates previewed in {:?}", found["total"], begun.elapsed());
    assert_eq!((&found["total"], &found["truncated"]), (&json!(87_600), &json!(true)));
    assert_eq!(found["dates"].as_array().map(Vec::len), Some(1_000));
    lake.server.put(&format!("{}/schedule", path(id)), &json!({ "crontab": "* * * * * ? *" })).data();
    let answer = lake.server.post(&preview, &ten_years);
    refused(&answer, 400, "invalid_input");
    assert!(answer.json()["message"].as_str().is_some_and(|text| text.contains("100000")));
}

/// Its dates side by side would be refused.
#[test]
fn dates_of_a_workflow_that_discards_runs_wait_for_their_turn() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let slow = "INSERT INTO a (v) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000000) \
            SELECT max(x) || '$[yyyy]' FROM n";
        let id = online(&lake, "w", source, slow, [&[], &[a]]);
        lake.server.put(&path(id), &json!({ "concurrency": "discard" })).data();
        lake.deploy(id);
        let side_by_side = json!({ "runMode": "RUN_MODE_PARALLEL", "expectedParallelismNumber": 3 });
        let code = start(&lake, id, &with(range("2026-03-01", "2026-03-03"), side_by_side));
        let all = ended(&lake, &code);
        assert_eq!((&all["state"], counts(&all)), (&json!("success"), [3, 3, 0, 0, 0]), "{all}");
        let runs = lake.server.get(&format!("{}/runs", path(id))).data();
        assert_eq!(runs["total"], 3, "a run that waited leaves nothing: {runs}");
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [3]);
    }
}

#[test]
fn a_cancelled_backfill_begins_nothing_more() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, ENDLESS, [&[], &[a]]);
        let code = start(&lake, id, &range("2026-03-01", "2026-03-05"));
        eventually("the first date runs", SOON, || (counts(&seen(&lake, &code))[3] == 1).then_some(()));
        let begun = Instant::now();
        let answer = lake.server.post(&format!("/api/v1/backfills/{code}/cancel"), &json!({})).data();
        assert_eq!(answer["state"], "stopping");
        let all = ended(&lake, &code);
        println!("cancelled within {:?}", begun.elapsed());
        assert_eq!((&all["state"], counts(&all)), (&json!("cancelled"), [5, 0, 0, 0, 5]), "{all}");
        assert_eq!(states(&all)[..2], ["cancelled", "skipped"]);
        assert_eq!(lake.server.get("/api/v1/executions/running").data(), json!([]));
    }
}

#[test]
fn a_repeated_backfill_is_the_same_one() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
        let body = range("2026-03-01", "2026-03-02").to_string();
        let send = || {
            let headers = [("Idempotency-Key", "k"), ("Content-Type", "application/json")];
            lake.server.client().send("POST", &format!("{}/backfill", path(id)), &headers, body.as_bytes())
        };
        let code = send().data();
        lake.server.execute("DELETE FROM idempotency_keys");
        assert_eq!(send().data(), code);
        ended(&lake, code.as_str().expect("a text"));
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [2]);
    }
}

#[test]
fn a_killed_server_goes_on_with_its_backfills() {
    for store in stores() {
        for point in ["backfill.begun", "runs.asked", "runs.started", "backfill.run_ended", "backfill.ended"]
        {
            let mut lake = Lake::start(&store);
            let (source, [a, ..]) = tables(&lake);
            let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
            let body = range("2026-03-01", "2026-03-03").to_string();
            let headers = [("Content-Type", "application/json")];
            let backfill = format!("{}/backfill", path(id));
            lake.server.killed_at(point, |client| {
                _ = client.try_send("POST", &backfill, &headers, body.as_bytes());
            });
            let done = || lake.texts("shop.db", "SELECT v FROM a ORDER BY id");
            eventually("three dates", TAKEN_OVER, || (done().len() >= 3).then_some(()));
            let page = lake.server.get("/api/v1/executions/history?pageSize=500").data();
            let first = page["records"].as_array().and_then(|list| list.last()).expect("a record").clone();
            let all = ended(&lake, first["instanceId"].as_str().expect("an id"));
            assert_eq!((&all["state"], counts(&all)), (&json!("success"), [3, 3, 0, 0, 0]), "{point}: {all}");
            let notes = ["2026-03-03 02:00", "2026-03-02 02:00", "2026-03-01 02:00"];
            assert_eq!(done(), notes, "{point}: each date once");
        }
    }
}

#[test]
fn a_kill_loses_no_date_of_those_that_begin_together() {
    for store in stores() {
        for point in ["backfill.begun#2", "backfill.begun#6", "backfill.run_ended#2", "runs.started#3"] {
            let mut lake = Lake::start(&store);
            let (source, [a, ..]) = tables(&lake);
            let id = online(&lake, "w", source, NOTE, [&[], &[a]]);
            let form = with(
                range("2026-03-01", "2026-03-12"),
                json!({ "runMode": "RUN_MODE_PARALLEL", "expectedParallelismNumber": 5 }),
            );
            let backfill = format!("{}/backfill", path(id));
            let headers = [("Content-Type", "application/json"), ("Idempotency-Key", "k")];
            let body = form.to_string();
            lake.server.killed_at(point, |client| {
                _ = client.try_send("POST", &backfill, &headers, body.as_bytes());
            });
            lake.server.execute("DELETE FROM idempotency_keys");
            let code = lake.server.client().send("POST", &backfill, &headers, body.as_bytes()).data();
            let all = ended(&lake, code.as_str().expect("a text"));
            assert_eq!(
                (&all["state"], counts(&all)),
                (&json!("success"), [12, 12, 0, 0, 0]),
                "{point}: {all}"
            );
            // A task that was running at the kill may have run twice: on SQLite it is not known.
            assert_eq!(lake.numbers("shop.db", "SELECT count(DISTINCT v) FROM a"), [12], "{point}");
        }
    }
}

#[test]
fn a_deleted_workflow_ends_its_backfill() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = online(&lake, "w", source, ENDLESS, [&[], &[a]]);
        let code = start(&lake, id, &range("2026-03-01", "2026-03-03"));
        lake.server.delete(&path(id)).data();
        let all = ended(&lake, &code);
        assert_eq!((&all["state"], counts(&all)), (&json!("failed"), [3, 0, 2, 0, 1]), "{all}");
        assert!(id_of(&lake.server.post("/api/v1/workflows", &json!({ "name": "w" })).data()) > id);
    }
}
