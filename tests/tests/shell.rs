//! SHELL tasks: off by default; where they are allowed, a process of its own that ends with its task.

use std::time::{Duration, Instant};

use lakeport_tests::{Lake, Session, Store, eventually, refused, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(30);

fn path(id: i64) -> String {
    format!("/api/v1/workflows/{id}")
}

/// A server on which scripts are allowed.
fn allowing(store: &Store) -> Lake {
    let mut lake = Lake::start(store);
    lake.server.stop();
    lake.server.set("LAKEPORT_RUNNER_SHELL", "true");
    lake.server.run();
    lake
}

/// A workflow with one script.
fn scripted(lake: &Lake, name: &str, script: &str, more: &Value) -> i64 {
    let id = lake.workflow(name);
    let mut task =
        json!({ "workflowId": id, "taskName": "script", "taskType": "SHELL", "sqlContent": script });
    task.as_object_mut().expect("members").extend(more.as_object().expect("members").clone());
    lake.server.post("/api/v1/tasks", &json!({ "task": task })).data();
    id
}

/// Runs a script to its end: its execution, with its log.
fn run(lake: &Lake, name: &str, script: &str, more: &Value) -> Value {
    let id = scripted(lake, name, script, more);
    lake.deploy(id);
    let execution = lake.ended(&lake.execute(id), 1)[0].clone();
    lake.server.get(&format!("/api/v1/executions/{}", execution["id"])).data()
}

fn log(execution: &Value) -> &str {
    execution["log"]["text"].as_str().expect("a log")
}

/// The processes whose command line has this text.
fn processes(text: &str) -> Vec<String> {
    numbered(text).into_iter().map(|(_, line)| line).collect()
}

/// The same with their ids.
fn numbered(text: &str) -> Vec<(u32, String)> {
    let all = std::fs::read_dir("/proc").expect("processes").flatten();
    let lines = all.filter_map(|entry| {
        let id = entry.file_name().to_str()?.parse().ok()?;
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some((id, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|(_, line)| line.contains(text)).collect()
}

fn parent(id: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[test]
fn a_script_ends_with_its_supervisor() {
    let lake = allowing(&stores()[0]);
    let id = scripted(&lake, "w", "sleep 987611; exit 0", &json!({}));
    lake.deploy(id);
    let run = lake.execute(id);
    let sleep = eventually("it runs", SOON, || numbered("sleep 987611").first().map(|(id, _)| *id));
    // The supervisor outside is the last one on the way to the server.
    let mut supervisor = sleep;
    while let Some(next) = parent(supervisor).filter(|next| {
        std::fs::read(format!("/proc/{next}/cmdline"))
            .is_ok_and(|line| !line.windows(5).any(|part| part == b"serve"))
    }) {
        supervisor = next;
    }
    let killed = std::process::Command::new("kill").args(["-9", &supervisor.to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let failed = lake.ended(&run, 1);
    assert_eq!(failed[0]["errorMessage"], "its supervisor was ended by the signal 9", "{failed:?}");
    eventually("the script ends", SOON, || processes("sleep 987611").is_empty().then_some(()));
}

/// Holds the write lock of the store until it is dropped.
fn locked(lake: &Lake) -> Session {
    let file = format!("sqlite:{}", lake.server.data().join("lakeport.db").display());
    let mut session = Session::open(&file).expect("the store is a file");
    session.run("PRAGMA busy_timeout = 20000");
    session.run("BEGIN IMMEDIATE");
    session
}

/// The store takes no log, and renews no lease: the script ends at its timeout, or before the lease does.
#[test]
fn a_script_ends_also_while_the_store_does_not_answer() {
    let Some(store) = stores().into_iter().find(|store| matches!(store, Store::Sqlite)) else { return };
    let chatty = "sleep 987612 & while true; do echo line; sleep 0.1; done";
    for (name, more) in [("late", json!({ "timeout": 3 })), ("lost", json!({}))] {
        let lake = allowing(&store);
        let id = scripted(&lake, name, chatty, &more);
        lake.deploy(id);
        lake.execute(id);
        eventually("it runs", SOON, || (!processes("sleep 987612").is_empty()).then_some(()));
        let _held = locked(&lake);
        eventually("it ends", SOON, || processes("sleep 987612").is_empty().then_some(()));
    }
}

/// A server that stands still may have lost its lease: its script ends before another server may begin it.
#[test]
fn a_script_ends_while_its_server_stands_still() {
    let lake = allowing(&stores()[0]);
    let id = scripted(&lake, "w", "sleep 987614; exit 0", &json!({}));
    lake.deploy(id);
    let run = lake.execute(id);
    eventually("it runs", SOON, || (!processes("sleep 987614").is_empty()).then_some(()));
    let signal = |name: &str| {
        let server = lake.server.pid().to_string();
        assert!(
            std::process::Command::new("kill").args([name, &server]).status().expect("kill runs").success()
        );
    };
    signal("-STOP");
    let stopped = Instant::now();
    eventually("the script ends", SOON, || processes("sleep 987614").is_empty().then_some(()));
    let took = stopped.elapsed();
    signal("-CONT");
    assert!(took < Duration::from_secs(10), "a lease may run out by then: {took:?}");
    // That was no failure of the task, which has no retry.
    eventually("it is begun again", SOON, || (!processes("sleep 987614").is_empty()).then_some(()));
    lake.server.post(&format!("{}/runs/{run}/cancel", path(id)), &json!({})).data();
    let ended = lake.ended(&run, 1);
    assert_eq!((&ended[0]["status"], &ended[0]["attempt"]), (&json!("killed"), &json!(2)), "{ended:?}");
}

#[test]
fn scripts_are_off_by_default() {
    let lake = Lake::start(&stores()[0]);
    let id = scripted(&lake, "w", "echo hello", &json!({}));
    let refusal = lake.server.post(&format!("{}/publish", path(id)), &json!({}));
    refused(&refusal, 409, "cannot_run");
    assert!(refusal.message().contains("the setting runner_shell"), "{refusal:?}");
    let missing = json!({ "task": { "workflowId": id, "taskName": "empty", "taskType": "SHELL" } });
    refused(&lake.server.post("/api/v1/tasks", &missing), 400, "invalid_input");
}

#[test]
fn a_script_runs_in_a_folder_of_its_own_with_an_empty_environment() {
    for store in stores() {
        let lake = allowing(&store);
        eventually("the server warns", SOON, || {
            lake.server.log().contains("SHELL tasks are allowed (runner_shell)").then_some(())
        });
        let script = "echo day $[yyyy-MM-dd]; echo 'left ${alone}'; pwd; ls; id -u; env; echo oops >&2; printf unended";
        let done = run(&lake, "w", script, &json!({}));
        assert_eq!((&done["status"], &done["rowsAffected"]), (&json!("success"), &Value::Null), "{done}");
        let text = log(&done);
        for part in ["day 20", "left ${alone}", "lakeport-task-", "script.sh", "oops", "unended"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        for secret in ["LAKEPORT_", "HOME=", "PATH="] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        let own = std::fs::metadata(lake.server.data()).expect("the data folder");
        if std::os::unix::fs::MetadataExt::uid(&own) == 0 {
            assert!(!text.lines().any(|line| line.ends_with(" 0")), "it is not root: {text}");
        }
        let folder =
            text.lines().find_map(|line| line.split(' ').find(|word| word.contains("lakeport-task-")));
        let folder = std::path::Path::new(folder.expect("its folder"));
        eventually("its folder goes with it", Duration::from_secs(10), || (!folder.exists()).then_some(()));
        let failed = run(&lake, "fails", "echo before; exit 3", &json!({}));
        assert_eq!(
            (&failed["status"], &failed["errorMessage"]),
            (&json!("failed"), &json!("it ended with the code 3"))
        );
        let killed = run(&lake, "is killed", "kill -9 $$", &json!({}));
        assert_eq!(killed["errorMessage"], "it was ended by the signal SIGKILL (code 137)");
        let silent = run(&lake, "is silent", "exec >&- 2>&-; sleep 1; exit 4", &json!({}));
        assert_eq!(silent["errorMessage"], "it ended with the code 4");
        let broken = run(&lake, "breaks out", "echo $[yyyy-MM-dd]'; rm -rf /", &json!({}));
        assert_eq!(broken["status"], "failed");
    }
}

#[test]
fn nothing_of_a_script_outlives_its_task() {
    let lake = allowing(&stores()[0]);
    // Three ways to stay behind: in the background, in a session of its own, and twice removed.
    let leaving = "sleep 987601 & setsid sleep 987601 & (setsid sh -c 'sleep 987601 & sleep 987601' &) ; sleep 0.3; echo done";
    assert_eq!(run(&lake, "leaves", leaving, &json!({}))["status"], "success");
    assert_eq!(processes("987601"), [""; 0]);
    // What listens to a signal ends by it.
    let heard = run(
        &lake,
        "is told",
        "trap 'echo heard; exit 5' TERM; sleep 987604 & sleep 0.2; kill $!; wait $!; echo $?; kill $$; sleep 1",
        &json!({}),
    );
    assert_eq!(heard["errorMessage"], "it ended with the code 5", "{}", log(&heard));
    assert!(log(&heard).contains(" 143") && log(&heard).contains(" heard"), "{}", log(&heard));
    // One that hops from process to process.
    let hopping =
        "hop() { if [ $1 -gt 0 ]; then (hop $(($1 - 1)) &); else exec sleep 987605; fi; }; hop 150; exit 0";
    run(&lake, "hops", hopping, &json!({ "timeout": 20 }));
    assert_eq!(processes("sleep 987605"), [""; 0]);
    let late = run(&lake, "is late", "setsid sleep 987602 & sleep 987602", &json!({ "timeout": 1 }));
    assert_eq!(late["errorMessage"], "it was stopped at its timeout of 1 s");
    assert_eq!(processes("987602"), [""; 0]);
    let id =
        scripted(&lake, "endless", "trap '' TERM INT HUP; setsid sleep 987603 & sleep 987603", &json!({}));
    lake.deploy(id);
    let begin = || {
        let run = lake.execute(id);
        eventually("it runs", SOON, || (processes("sleep 987603").len() >= 2).then_some(()));
        run
    };
    let run = begin();
    let asked = Instant::now();
    lake.server.post(&format!("{}/runs/{run}/cancel", path(id)), &json!({})).data();
    eventually("it ends", SOON, || processes("987603").is_empty().then_some(()));
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    begin();
    let mut lake = lake;
    lake.server.kill();
    eventually("it ends with its server", SOON, || processes("987603").is_empty().then_some(()));
}

#[test]
fn the_output_of_a_script_is_bounded() {
    let lake = allowing(&stores()[0]);
    let loud = "head -c 3000000 /dev/zero | tr '\\0' x; i=0; while [ $i -lt 30000 ]; do echo line $i of a loud script; i=$((i+1)); done";
    let done = run(&lake, "is loud", loud, &json!({}));
    assert_eq!(done["status"], "success");
    assert!(log(&done).contains("xxxx"));
    let mut offset = done["log"]["nextOffset"].as_str().expect("an offset").to_owned();
    let mut last = log(&done).to_owned();
    while let Some(page) =
        Some(lake.server.get(&format!("/api/v1/executions/{}?logOffset={offset}", done["id"])).data())
    {
        offset = page["log"]["nextOffset"].as_str().expect("an offset").to_owned();
        if log(&page).is_empty() {
            break;
        }
        last = log(&page).to_owned();
    }
    assert!(last.contains("the log is cut here"), "{}", &last[last.len().saturating_sub(300)..]);
}

#[test]
fn a_script_needs_another_persons_approval() {
    let mut lake = Lake::start(&stores()[0]);
    let (one, other) = (lake.server.token("admin", "one"), lake.server.token("approver", "other"));
    lake.server.stop();
    lake.server.set("LAKEPORT_RUNNER_SHELL", "true");
    // Other publications would need none.
    lake.server.set("LAKEPORT_PUBLICATION_FOUR_EYES", "false");
    lake.server.run();
    let (one, other) = (lake.server.client_as(&one), lake.server.client_as(&other));
    let id = one.post("/api/v1/workflows", &json!({ "name": "w" })).data()["id"].clone();
    let task =
        json!({ "workflowId": id, "taskName": "script", "taskType": "SHELL", "sqlContent": "echo hello" });
    one.post("/api/v1/tasks", &json!({ "task": task })).data();
    let record = one.post(&format!("/api/v1/workflows/{id}/publish"), &json!({})).data()["recordId"].clone();
    let approve = format!("/api/v1/workflows/{id}/publish/{record}/approve");
    refused(&one.post(&approve, &json!({ "status": "APPROVED" })), 403, "four_eyes");
    other.post(&approve, &json!({ "status": "APPROVED" })).data();
    eventually("it is deployed", SOON, || {
        (one.get(&format!("/api/v1/workflows/{id}")).data()["publishStatus"] == "published").then_some(())
    });
    // Who is bound to data sources neither writes nor runs scripts: they could use any.
    one.post("/api/v1/datasources", &json!({ "name": "shop", "kind": "sqlite", "url": "sqlite:shop.db" }))
        .data();
    let token = one
        .post("/api/v1/tokens", &json!({ "name": "bound", "role": "admin", "datasources": ["shop"] }))
        .data();
    let bound = lake.server.client_as(token["token"].as_str().expect("a token"));
    refused(
        &bound.post(&format!("/api/v1/workflows/{id}/execute"), &json!({})),
        403,
        "datasource_not_allowed",
    );
    let mut more = task.clone();
    more["taskName"] = json!("more");
    let own = bound.post("/api/v1/workflows", &json!({ "name": "own" })).data()["id"].clone();
    more["workflowId"] = own;
    refused(&bound.post("/api/v1/tasks", &json!({ "task": more })), 403, "datasource_not_allowed");
}
