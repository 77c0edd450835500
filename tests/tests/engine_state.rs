//! What is wanted of a workflow's engine and what the engine has agree in the end, whatever happens in between
//! (contract, section 6, "Wanted and there").

use std::time::Duration;

use lakeport_tests::{Lake, Store, component, eventually, id_of, refused, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);
const WORKFLOWS: &str = "/api/v1/workflows";
const DAILY: &str = "0 0 2 * * ? *";
const HOURLY: &str = "0 0 * * * ? *";

fn path(id: i64) -> String {
    format!("{WORKFLOWS}/{id}")
}

/// A deployed workflow with a daily schedule that is off.
fn deployed(lake: &Lake, engine: &str) -> i64 {
    let form = json!({ "name": "w", "schedulerEngine": engine });
    let id = id_of(&lake.server.post(WORKFLOWS, &form).data());
    let source = lake.source("shop.db");
    lake.run("shop.db", "");
    lake.task(id, "t", source, "SELECT 1", [&[], &[]]);
    lake.server
        .put(&format!("{}/schedule", path(id)), &json!({ "crontab": DAILY, "timezone": "UTC" }))
        .data();
    lake.deploy(id);
    id
}

/// Once nothing is open: status, schedule, state of the engine and its reason.
fn agreed(lake: &Lake, id: i64) -> (String, String, String) {
    eventually("engine and store agree", SOON, || {
        let workflow = lake.server.get(&path(id)).data();
        let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
        let now = (
            text(&workflow["status"]),
            text(&workflow["schedule"]["crontab"]),
            text(&workflow["engineError"]),
        );
        (workflow["engineState"] == "in_sync").then_some(now)
    })
}

/// What the embedded scheduler has: whether the workflow is on, and its schedule.
fn in_engine(lake: &Lake) -> Vec<(String, String)> {
    let list = lake.server.get(&format!("{WORKFLOWS}/import/scheduler")).data();
    let heads = list["records"].as_array().expect("a list").clone();
    let text = |member: &Value| member.as_str().unwrap_or_default().to_owned();
    let one = |head: &Value| {
        let form = json!({ "source": "scheduler", "workflowCode": head["workflowCode"], "name": "other" });
        let taken = lake.server.post(&format!("{WORKFLOWS}/import/preview"), &form).data();
        let commit = json!({ "source": "scheduler", "workflowCode": head["workflowCode"], "name": "other",
            "previewToken": taken["previewToken"] });
        let copy = lake.server.post(&format!("{WORKFLOWS}/import/commit"), &commit).data();
        let copy = path(copy["workflowId"].as_i64().expect("an id"));
        let schedule = lake.server.get(&copy).data()["schedule"]["crontab"].clone();
        lake.server.delete(&format!("{copy}?cascadeDeleteTasks=true")).data();
        (text(&head["releaseState"]), text(&schedule))
    };
    heads.iter().map(one).collect()
}

/// Kills the server when it reaches this point during the request, and starts it again.
fn killed_at(lake: &mut Lake, point: &str, (method, path, body): (&str, &str, &Value)) {
    let headers = [("Content-Type", "application/json")];
    lake.server.killed_at(point, |client| {
        _ = client.try_send(method, path, &headers, body.to_string().as_bytes());
    });
}

fn pair(state: &str, cron: &str) -> Vec<(String, String)> {
    vec![(state.to_owned(), cron.to_owned())]
}

#[test]
fn a_kill_within_a_change_of_a_schedule_heals() {
    for store in stores() {
        for point in ["workflow.wanted", "workflow.engine_answered"] {
            let mut lake = Lake::start(&store);
            let id = deployed(&lake, "local");
            let schedule = format!("{}/schedule", path(id));
            killed_at(&mut lake, point, ("POST", &format!("{schedule}/online"), &json!({})));
            assert_eq!(agreed(&lake, id), ("online".to_owned(), DAILY.to_owned(), String::new()), "{point}");
            assert_eq!(in_engine(&lake), pair("ONLINE", DAILY), "{point}");

            killed_at(&mut lake, point, ("PUT", &schedule, &json!({ "crontab": HOURLY })));
            assert_eq!(agreed(&lake, id), ("online".to_owned(), HOURLY.to_owned(), String::new()), "{point}");
            assert_eq!(in_engine(&lake), pair("ONLINE", HOURLY), "{point}");
            let versions = lake.server.get(&path(id)).data()["versionsTotal"].clone();
            assert_eq!(versions, 4, "{point}: one version more");

            killed_at(&mut lake, point, ("POST", &format!("{schedule}/offline"), &json!({})));
            assert_eq!(
                agreed(&lake, id),
                ("offline".to_owned(), HOURLY.to_owned(), String::new()),
                "{point}"
            );
            assert_eq!(in_engine(&lake), pair("OFFLINE", HOURLY), "{point}");
            let audit = lake.server.get("/api/v1/audit?resource=workflow&pageSize=100").data();
            let count = |operation: &str| {
                let records = audit["records"].as_array().expect("a list");
                records
                    .iter()
                    .filter(|one| one["operation"] == operation && one["outcome"] == "success")
                    .count()
            };
            let operations = ["bringScheduleOnline", "takeScheduleOffline"];
            assert_eq!(operations.map(count), [1, 1], "{point}: {audit}");
        }
    }
}

#[test]
fn a_kill_within_a_deletion_heals() {
    for store in stores() {
        for point in ["workflow.wanted", "removal.asked"] {
            let mut lake = Lake::start(&store);
            let id = deployed(&lake, "local");
            killed_at(
                &mut lake,
                point,
                ("DELETE", &format!("{}?cascadeDeleteTasks=true", path(id)), &json!({})),
            );
            eventually("it is deleted", SOON, || (lake.server.get(&path(id)).status == 404).then_some(()));
            assert_eq!(in_engine(&lake), [], "{point}");
            assert_eq!(lake.server.get("/api/v1/tasks").data()["total"], 0, "{point}");
            assert_eq!(lake.server.get(&format!("{WORKFLOWS}/pending-removal")).data(), json!([]), "{point}");
        }
    }
}

/// The state of an engine, with its reason, once it is this one.
fn comes_to(lake: &Lake, id: i64, state: &str) -> String {
    eventually(state, SOON, || {
        let now = lake.server.get(&path(id)).data();
        (now["engineState"] == state).then(|| now["engineError"].as_str().unwrap_or_default().to_owned())
    })
}

/// How often the engine was asked for this since, once it was so often.
fn asked_for(lake: &Lake, since: usize, call: &str, at_least: usize) {
    eventually(call, SOON, || {
        let count = asked(lake, since).iter().filter(|one| *one == call).count();
        (count >= at_least).then_some(())
    });
}

/// A server with a deployed workflow on the engine `moody`.
fn moody(store: &Store) -> (Lake, i64) {
    let lake = Lake::start(store);
    let wasm = component("engine_moody");
    let staged = lake.server.post_bytes("/api/v1/plugins", "application/wasm", &wasm).data();
    let activate = json!({ "digest": staged["digest"] });
    lake.server.post("/api/v1/plugins/engine:moody/activate", &activate).data();
    lake.server.post("/api/v1/engines", &json!({ "name": "moody", "plugin": "moody", "config": {} })).data();
    let id = deployed(&lake, "moody");
    (lake, id)
}

fn set_mood(lake: &Lake, mood: &Value) {
    lake.server.put("/api/v1/engines/moody", &json!({ "config": mood })).data();
}

/// What the engine was asked for since, in order.
fn asked(lake: &Lake, since: usize) -> Vec<String> {
    let lines = lake.server.get("/api/v1/plugins/engine:moody/logs").data();
    let lines = lines.as_array().expect("lines").iter();
    let asked = lines.filter_map(|line| {
        let message = line["message"].as_str().unwrap_or_default();
        let is_change = message.starts_with("schedule ") || ["online", "offline"].contains(&message);
        is_change.then(|| message.to_owned())
    });
    asked.skip(since).collect()
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        for mood in ["refused", "unreachable", "timeout"] {
            set_mood(&lake, &json!({ "set": mood, "online": mood }));
            let before = lake.server.get(&path(id)).data();
            assert!(lake.server.put(&schedule, &json!({ "crontab": HOURLY })).status >= 400);
            assert!(lake.server.post(&format!("{schedule}/online"), &json!({})).status >= 400);
            assert_eq!(lake.server.get(&path(id)).data(), before, "{mood}");
            assert_eq!(before["engineState"], "in_sync");
        }
        // The half of a change: the schedule was set, and is set back.
        set_mood(&lake, &json!({}));
        lake.server.put(&schedule, &json!({ "crontab": HOURLY })).data();
        lake.server.post(&format!("{}/versions/3/rollback", path(id)), &json!({})).data();
        let before = asked(&lake, 0).len();
        set_mood(&lake, &json!({ "online": "refused" }));
        refused(&lake.server.post(&format!("{schedule}/online"), &json!({})), 409, "engine_conflict");
        agreed(&lake, id);
        let expected = [
            format!("schedule {DAILY}"),
            "online".to_owned(),
            format!("schedule {HOURLY}"),
            "offline".to_owned(),
        ];
        assert_eq!(asked(&lake, before), expected);
    }
}

#[test]
fn a_change_without_an_answer_goes_on() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        set_mood(&lake, &json!({ "online": "lost" }));
        let answer = lake.server.post(&format!("{schedule}/online"), &json!({}));
        refused(&answer, 502, "engine_unreachable");
        assert!(answer.message().contains("Lakeport goes on with it"), "{answer:?}");
        let open = lake.server.get(&path(id)).data();
        assert_eq!(
            (&open["status"], &open["engineState"], &open["engineError"]),
            (&json!("offline"), &json!("pending"), &json!("the answer was lost"))
        );
        let listed = lake.server.get(WORKFLOWS).data()["records"][0].clone();
        assert_eq!(
            (&listed["engineState"], &listed["engineError"]),
            (&open["engineState"], &open["engineError"])
        );
        // Another change waits for it.
        let next = lake.server.put(&schedule, &json!({ "crontab": HOURLY }));
        refused(&next, 503, "engine_unavailable");
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id), ("online".to_owned(), DAILY.to_owned(), String::new()));
        // A change that goes on and is refused then is given up, and what is stored is restored.
        set_mood(&lake, &json!({ "set": "lost" }));
        assert_eq!(lake.server.put(&schedule, &json!({ "crontab": HOURLY })).status, 502);
        set_mood(&lake, &json!({ "set": "refused" }));
        let failed = eventually("it failed", SOON, || {
            let now = lake.server.get(&path(id)).data();
            (now["engineState"] == "failed").then_some(now)
        });
        assert_eq!(failed["engineError"], "a run is active");
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id), ("online".to_owned(), DAILY.to_owned(), String::new()));
        let calls = asked(&lake, 0);
        assert_eq!(calls[calls.len() - 2..], [format!("schedule {DAILY}"), "online".to_owned()], "{calls:?}");
    }
}

#[test]
fn a_change_that_takes_its_time_is_followed() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        set_mood(&lake, &json!({ "offline": "later", "online": "later", "status": "later" }));
        let accepted = lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        assert_eq!((&accepted["status"], &accepted["engineState"]), (&json!("online"), &json!("pending")));
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id).0, "online");
        set_mood(&lake, &json!({ "offline": "later", "status": "failed" }));
        lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        // What came to nothing is asked for again as a whole.
        set_mood(&lake, &json!({ "status": "failed" }));
        assert_eq!(agreed(&lake, id).0, "offline");
        let calls = asked(&lake, 0);
        assert_eq!(calls.last().map(String::as_str), Some("offline"), "{calls:?}");
    }
}

#[test]
fn a_deployment_is_part_of_the_engine_state() {
    for store in stores() {
        let (lake, id) = moody(&store);
        assert_eq!(lake.server.get(&path(id)).data()["engineState"], "in_sync");
        lake.server.put(&path(id), &json!({ "description": "new" })).data();
        set_mood(&lake, &json!({ "deploy": "refused" }));
        let record =
            lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        let approve = format!("{}/publish/{record}/approve", path(id));
        lake.server.post(&approve, &json!({ "status": "APPROVED" })).data();
        let failed = eventually("it failed", SOON, || {
            let now = lake.server.get(&path(id)).data();
            (now["engineState"] == "failed").then_some(now)
        });
        assert_eq!(failed["engineError"], "version 4 was not deployed: a run is active");
        set_mood(&lake, &json!({}));
        lake.server.post(&approve, &json!({ "status": "APPROVED" })).data();
        agreed(&lake, id);
    }
}

#[test]
fn an_earlier_change_is_not_lost_to_the_next() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        // The engine is still at it, and is given another schedule.
        set_mood(&lake, &json!({ "offline": "later", "status": "later" }));
        let accepted = lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        assert_eq!(accepted["engineState"], "pending");
        let before = asked(&lake, 0).len();
        let changed = lake.server.put(&schedule, &json!({ "crontab": HOURLY })).data();
        assert_eq!(changed["engineState"], "pending");
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id), ("offline".to_owned(), HOURLY.to_owned(), String::new()));
        let set = format!("schedule {HOURLY}");
        assert_eq!(asked(&lake, before), [set.clone(), set, "offline".to_owned()]);
    }
}

#[test]
fn a_change_replaces_one_that_the_plugin_cannot_make() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        set_mood(&lake, &json!({ "online": "traps" }));
        refused(&lake.server.post(&format!("{schedule}/online"), &json!({})), 502, "plugin_trapped");
        // Of another kind: it waits.
        refused(&lake.server.put(&schedule, &json!({ "crontab": HOURLY })), 503, "engine_unavailable");
        let off = lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        assert_eq!(off["status"], "offline");
        assert_eq!(agreed(&lake, id), ("offline".to_owned(), DAILY.to_owned(), String::new()));
        let calls = asked(&lake, 0);
        // What the trapped call may have changed is set, too.
        assert_eq!(
            calls[calls.len() - 2..],
            [format!("schedule {DAILY}"), "offline".to_owned()],
            "{calls:?}"
        );
    }
}

#[test]
fn trouble_that_passes_gives_no_change_up() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        let mut cron = DAILY;
        for mood in ["failing", "denied"] {
            cron = if cron == DAILY { HOURLY } else { DAILY };
            set_mood(&lake, &json!({ "set": "lost" }));
            assert_eq!(lake.server.put(&schedule, &json!({ "crontab": cron })).status, 502);
            let before = asked(&lake, 0).len();
            set_mood(&lake, &json!({ "set": mood }));
            asked_for(&lake, before, &format!("schedule {cron}"), 1);
            set_mood(&lake, &json!({}));
            assert_eq!(agreed(&lake, id), ("offline".to_owned(), cron.to_owned(), String::new()), "{mood}");
        }
    }
}

#[test]
fn a_change_that_is_given_up_stands_in_the_audit_log() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        set_mood(&lake, &json!({ "online": "lost" }));
        assert_eq!(lake.server.post(&format!("{schedule}/online"), &json!({})).status, 502);
        set_mood(&lake, &json!({ "online": "refused", "set": "later", "status": "later" }));
        let audit = || lake.server.get("/api/v1/audit?outcome=engine_conflict").data()["records"].clone();
        let given_up = eventually("it is given up", SOON, || {
            let records = audit();
            (records[0]["resourceId"] == id.to_string().as_str()).then(|| records[0].clone())
        });
        assert_eq!(given_up["operation"], "bringScheduleOnline", "{given_up}");
        // The reason stays until the engine has again what is stored.
        let now = lake.server.get(&path(id)).data();
        assert_eq!((&now["status"], &now["engineState"]), (&json!("offline"), &json!("pending")));
        assert_eq!(now["engineError"], "a run is active");
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id).0, "offline");
    }
}

#[test]
fn a_change_that_fails_each_time_is_failed() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        set_mood(&lake, &json!({ "offline": "later", "status": "failed" }));
        lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        let before = asked(&lake, 0).len();
        assert_eq!(comes_to(&lake, id, "failed"), "it was given up");
        // It is accepted again, and comes to nothing again: still failed.
        asked_for(&lake, before, "offline", 1);
        let now = lake.server.get(&path(id)).data();
        assert_eq!((&now["engineState"], &now["engineError"]), (&json!("failed"), &json!("it was given up")));
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id).0, "offline");
    }
}

#[test]
fn what_an_engine_says_before_it_fails_is_kept() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        set_mood(&lake, &json!({ "online": "failed" }));
        refused(&lake.server.post(&format!("{schedule}/online"), &json!({})), 502, "engine_failed");
        agreed(&lake, id);
        let lines = lake.server.get("/api/v1/plugins/engine:moody/logs").data();
        let mut lines = lines.as_array().expect("lines").iter();
        assert!(lines.any(|line| line["message"] == r#"state {"failed":true}"#), "it got its state");
        // A state that is too large is no answer.
        set_mood(&lake, &json!({ "online": "huge" }));
        let answer = lake.server.post(&format!("{schedule}/online"), &json!({}));
        refused(&answer, 502, "plugin_broke_contract");
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id).0, "online");
    }
}

#[test]
fn a_deployment_that_fails_leaves_the_workflow_on() {
    for store in stores() {
        let (lake, id) = moody(&store);
        lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
        lake.server.put(&path(id), &json!({ "description": "new" })).data();
        set_mood(&lake, &json!({ "deploy": "refused" }));
        let record =
            lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        let before = asked(&lake, 0).len();
        let approve = format!("{}/publish/{record}/approve", path(id));
        lake.server.post(&approve, &json!({ "status": "APPROVED" })).data();
        asked_for(&lake, before, "online", 1);
        assert_eq!(asked(&lake, before), [format!("schedule {DAILY}"), "online".to_owned()]);
        assert_eq!(comes_to(&lake, id, "failed"), "version 4 was not deployed: a run is active");
    }
}

#[test]
fn a_removal_without_an_answer_goes_on() {
    for store in stores() {
        let (lake, id) = moody(&store);
        // A part of it is made, then it is refused: what is stored is restored.
        set_mood(&lake, &json!({ "remove": "half" }));
        let before = asked(&lake, 0).len();
        refused(&lake.server.delete(&path(id)), 502, "engine_failed");
        asked_for(&lake, before, "offline", 1);
        agreed(&lake, id);
        // Whatever the error says: the engine may have removed it.
        set_mood(&lake, &json!({ "remove": "broken" }));
        let left = lake.server.delete(&path(id)).data();
        assert_eq!(left["error"], "the answer was broken", "{left}");
        assert_eq!(lake.server.get(&path(id)).status, 404);
        set_mood(&lake, &json!({}));
        let pending = || lake.server.get(&format!("{WORKFLOWS}/pending-removal")).data();
        eventually("it is removed", SOON, || (pending() == json!([])).then_some(()));
    }
}

#[test]
fn a_schedule_that_is_gone_is_not_switched_on() {
    for store in stores() {
        let (lake, id) = moody(&store);
        let schedule = format!("{}/schedule", path(id));
        let end = json!({ "failureStrategy": "END" });
        refused(&lake.server.put(&schedule, &end), 409, "unsupported_by_engine");
        set_mood(&lake, &json!({ "online": "lost" }));
        assert_eq!(lake.server.post(&format!("{schedule}/online"), &json!({})).status, 502);
        lake.server.post(&format!("{}/versions/2/rollback", path(id)), &json!({})).data();
        let before = asked(&lake, 0).len();
        set_mood(&lake, &json!({}));
        assert_eq!(agreed(&lake, id), ("offline".to_owned(), String::new(), String::new()));
        let calls = asked(&lake, before);
        assert_eq!(calls.last().map(String::as_str), Some("offline"), "{calls:?}");
    }
}

#[test]
fn a_run_that_the_engine_does_not_name_is_found_by_its_key() {
    for store in stores() {
        let (lake, id) = moody(&store);
        set_mood(&lake, &json!({ "start": "unnamed" }));
        let run = lake.server.post(&format!("{}/execute", path(id)), &json!({})).data();
        assert!(run.to_string().contains(&format!("run-of-{id}")), "{run}");
    }
}
