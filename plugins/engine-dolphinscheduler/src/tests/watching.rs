//! Watching runs and tries: few requests, nothing missed, cursors.

use lakeport_sdk::engine::{Engine, OpenRun, TaskRunRequest, WatchPage, WatchRequest, Watched};
use lakeport_sdk::serde_json::{Value, json};

use super::{ID, Server, run_ref};
use crate::DolphinScheduler;
use crate::instance::{is_stuck, state, task_state, word};

/// 2026-11-21T11:58:00Z.
const SINCE_MS: i64 = 1_795_262_280_000;

fn request(cursor: Option<&str>, open: &[&str], limit: u32) -> WatchRequest {
    WatchRequest {
        workflows: vec![Watched { id: ID, code: Some("500".to_owned()), project: Some("77".to_owned()) }],
        open: open.iter().map(|id| OpenRun { workflow: ID, id: (*id).to_owned() }).collect(),
        cursor: cursor.map(str::to_owned),
        since: SINCE_MS,
        limit,
    }
}

fn watch(server: &Server, request: WatchRequest) -> WatchPage {
    server.host.call(|| DolphinScheduler::instances(request)).unwrap()
}

fn on_list(server: &Server, since: &str, rows: Value) {
    let params = [("startDate", since), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "{I}", &params, server.page(rows));
}

/// What is running, asked for each ten seconds.
fn on_running(server: &Server, rows: Value) {
    let params = [("stateType", "RUNNING_EXECUTION"), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "{I}", &params, server.page(rows));
}

fn states(page: &WatchPage) -> Vec<(&str, &str)> {
    page.instances.iter().map(|run| (run.id.as_str(), run.state.as_str())).collect()
}

#[test]
fn one_list_stands_for_all_workflows() {
    Server::each(|server| {
        let mut foreign = server.run(32, "SUCCESS", None);
        foreign[server.flavour.definition_code] = json!(501);
        let rows = json!([
            server.run(33, "RUNNING_EXECUTION", Some("k")),
            foreign,
            server.run(31, "SUCCESS", Some("j"))
        ]);
        on_list(server, "2026-11-21 11:57:00", rows);
        let page = watch(server, request(None, &["33"], 100));
        assert_eq!(states(&page), [("31", "success"), ("33", "running")]);
        assert_eq!((page.more, page.gone.len()), (false, 0));
        assert_eq!(page.instances[1].key.as_deref(), Some("k"));
        assert_eq!(page.instances[1].ended, None, "it goes on");
        // The next list begins a minute before the latest begin.
        on_list(server, "2026-11-21 11:58:00", json!([]));
        on_running(server, json!([]));
        let next = watch(server, request(Some(&page.cursor), &[], 100));
        assert_eq!((next.cursor, next.instances.len()), (page.cursor, 0));
    });
}

#[test]
fn lists_without_keys_are_completed_by_details() {
    // 3.1 and 3.4.3 show neither parameters nor commands in a list.
    for version in ["3.1.1", "3.3-dev"] {
        let server = Server::new(version);
        let bare = |id: i64, kind: &str| {
            let mut row = server.run(id, "SUCCESS", None);
            row["commandParam"] = Value::Null;
            row["commandType"] = json!(kind);
            row
        };
        on_list(&server, "2026-11-21 11:57:00", json!([bare(33, "SCHEDULER"), bare(31, "COMPLEMENT_DATA")]));
        server.on("GET", "{I}/31", &[], server.run(31, "SUCCESS", Some("k")));
        let page = watch(&server, request(None, &[], 100));
        let causes: Vec<_> =
            page.instances.iter().map(|run| (run.key.as_deref(), run.cause.as_str())).collect();
        assert_eq!(causes, [(Some("k"), "manual"), (None, "schedule")]);
        // It is known from now on.
        on_list(&server, "2026-11-21 11:58:00", json!([bare(31, "COMPLEMENT_DATA")]));
        on_running(&server, json!([]));
        let page = watch(&server, request(Some(&page.cursor), &[], 100));
        assert_eq!(page.instances[0].key.as_deref(), Some("k"));
    }
}

#[test]
fn many_unknown_keys_are_read_in_several_calls() {
    let server = Server::new("3.1.1");
    let bare = |id: i64| {
        let mut row = server.run(id, "SUCCESS", None);
        row["commandParam"] = Value::Null;
        row
    };
    let rows: Vec<Value> = (1..=6).map(bare).collect();
    on_list(&server, "2026-11-21 11:57:00", json!(rows));
    for id in 1..=4 {
        server.on("GET", &format!("{{I}}/{id}"), &[], server.run(id, "SUCCESS", Some("k")));
    }
    let page = watch(&server, request(None, &[], 100));
    assert_eq!((page.instances.len(), page.more), (4, true));
    on_list(&server, "2026-11-21 11:57:00", json!(rows));
    for id in 5..=6 {
        server.on("GET", &format!("{{I}}/{id}"), &[], server.run(id, "SUCCESS", Some("k")));
    }
    on_running(&server, json!([]));
    let page = watch(&server, request(Some(&page.cursor), &[], 100));
    assert_eq!((page.instances.len(), page.more), (2, false));
}

#[test]
fn small_pages_lose_nothing() {
    let server = Server::new("3.2.1");
    let rows = json!([server.run(33, "SUCCESS", Some("c")), server.run(32, "SUCCESS", Some("b"))]);
    let (mut cursor, mut seen): (Option<String>, Vec<String>) = (None, Vec::new());
    loop {
        on_list(&server, "2026-11-21 11:57:00", rows.clone());
        if seen.len() == 1 {
            on_running(&server, json!([]));
        }
        let page = watch(&server, request(cursor.as_deref(), &[], 1));
        seen.extend(page.instances.into_iter().map(|run| run.id));
        cursor = Some(page.cursor);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, ["33", "32"]);
}

#[test]
fn open_runs_are_answered_or_gone() {
    Server::each(|server| {
        on_list(server, "2026-11-21 11:57:00", json!([]));
        server.on("GET", "{I}/5", &[], server.run(5, "FAILURE", Some("k")));
        server.refuse("GET", "{I}/6", &[], 50001, "process instance 6 does not exist");
        let page = watch(server, request(None, &["5", "6", "no such run"], 100));
        assert_eq!(states(&page), [("5", "failed")]);
        assert_eq!(page.gone, ["no such run", "6"]);
    });
}

#[test]
fn many_open_runs_are_looked_for_in_one_list() {
    let server = Server::new("3.3-dev");
    on_list(&server, "2026-11-21 11:57:00", json!([]));
    let running: Vec<Value> = (1..=4).map(|id| server.run(id, "RUNNING_EXECUTION", Some("k"))).collect();
    on_running(&server, json!(running));
    server.on("GET", "{I}/5", &[], server.run(5, "SUCCESS", Some("k")));
    let page = watch(&server, request(None, &["1", "2", "3", "4", "5"], 100));
    assert_eq!((page.instances.len(), page.gone.len()), (5, 0));
    assert_eq!(server.host.requests(), 3);
}

#[test]
fn a_run_that_somebody_begins_again_is_seen() {
    Server::each(|server| {
        let looks = |workflow: u64, running: Option<Value>, limit: u32| {
            let mut request = request(Some("1795262280000,0,1795262280000"), &[], limit);
            request.workflows[0].id = workflow;
            on_list(server, "2026-11-21 11:57:00", json!([]));
            if let Some(rows) = running {
                on_running(server, rows);
            }
            watch(server, request)
        };
        // They were begun long ago, so they are on no list of new runs.
        let running = json!([5, 6].map(|id| server.run(id, "RUNNING_EXECUTION", Some("k"))));
        assert_eq!(states(&looks(ID, Some(running.clone()), 1)), [("5", "running")], "one at most");
        assert_eq!(states(&looks(ID, None, 100)), [], "not each time");
        assert_eq!(looks(ID + 1_000, Some(running.clone()), 100).instances.len(), 2, "for each part");
        server.host.advance(std::time::Duration::from_secs(11));
        assert_eq!(looks(ID, Some(running), 100).instances.len(), 2);
    });
}

#[test]
fn a_missing_project_is_not_the_end_of_its_runs() {
    let server = Server::new("3.1.1");
    on_list(&server, "2026-11-21 11:57:00", json!([]));
    server.refuse("GET", "{I}/5", &[], 10190, "This project was not found. Please refresh page.");
    let error = server.host.call(|| DolphinScheduler::instances(request(None, &["5"], 100))).unwrap_err();
    assert_eq!((error.code.as_str(), error.upstream.unwrap().code.as_deref()), ("not_found", Some("10190")));
}

#[test]
fn a_busy_project_is_asked_less_often() {
    let server = Server::new("3.3-dev");
    let rows = |count: i64| (1..=count).map(|id| server.run(id, "RUNNING_EXECUTION", Some("k"))).collect();
    for (count, wait_ms) in [(0, 0), (1, 1_000), (5, 3_000), (90, 30_000)] {
        on_list(&server, "2026-11-21 11:57:00", Value::Array(rows(count)));
        assert_eq!(watch(&server, request(None, &[], 100)).wait_ms, wait_ms, "{count} runs");
    }
}

#[test]
fn foreign_cursors_are_refused() {
    let server = Server::new("3.1.1");
    for cursor in ["no cursor of yours", "1,2", "1,2,3,4", ""] {
        let error =
            server.host.call(|| DolphinScheduler::instances(request(Some(cursor), &[], 1))).unwrap_err();
        assert_eq!(error.code, "invalid_input", "{cursor}");
    }
    let tries = TaskRunRequest { instances: vec![run_ref("1")], cursor: Some("1,0".to_owned()), limit: 1 };
    let error = server.host.call(|| DolphinScheduler::task_runs(tries)).unwrap_err();
    assert_eq!(error.code, "invalid_input");
}

#[test]
fn tries_are_rows_of_their_own() {
    Server::each(|server| {
        let row = |id: i64, code: i64, state: &str, flag: &str| {
            json!({"id": id, "name": "load", "taskCode": code, "state": state, "flag": flag,
                   "startTime": "2026-11-21 11:59:00", "endTime": "2026-11-21 11:59:10"})
        };
        let rows = json!([
            row(12, 902, "RUNNING_EXECUTION", "YES"),
            row(11, 901, "SUCCESS", "YES"),
            row(10, 901, "FAILURE", "NO")
        ]);
        let read = |cursor: Option<String>, limit| {
            let params = [
                (server.flavour.instance_id, "31"),
                ("taskExecuteType", "BATCH"),
                ("pageNo", "1"),
                ("pageSize", "100"),
            ];
            server.on("GET", "{P}/task-instances", &params, server.page(rows.clone()));
            let request = TaskRunRequest { instances: vec![run_ref("31")], cursor, limit };
            server.host.call(|| DolphinScheduler::task_runs(request)).unwrap()
        };
        let all = read(None, 100);
        let tries: Vec<_> = all
            .task_runs
            .iter()
            .map(|one| (one.id.as_str(), one.task, one.attempt, one.state.as_str()))
            .collect();
        let expected =
            [("10", Some(71), 1, "failed"), ("11", Some(71), 2, "success"), ("12", Some(72), 1, "running")];
        assert_eq!((tries.as_slice(), all.next), (&expected[..], None));
        let (mut cursor, mut ids) = (None, Vec::new());
        loop {
            let page = read(cursor, 1);
            ids.extend(page.task_runs.into_iter().map(|one| one.id));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(ids, ["10", "11", "12"]);
    });
    let server = Server::new("3.1.1");
    let request = TaskRunRequest { instances: vec![run_ref("no such run")], cursor: None, limit: 10 };
    let page = server.host.call(|| DolphinScheduler::task_runs(request)).unwrap();
    assert!(page.task_runs.is_empty() && page.next.is_none());
}

#[test]
fn a_run_that_ended_before_it_was_to_stop_is_stopped() {
    let row = |state: &str, ended: Option<&str>, begun: &str, runs: u64| json!({ "state": state, "endTime": ended, "restartTime": begun, "runTimes": runs });
    let (first, second) = ("2026-11-27 00:28:40", "2026-11-27 00:28:42");
    for (row, expected) in [
        (row("READY_STOP", Some(second), first, 1), "STOP"),
        (row("READY_STOP", Some(first), first, 1), "STOP"),
        (row("READY_STOP", None, first, 1), "READY_STOP"),
        // The end of the time before.
        (row("READY_STOP", Some(first), second, 2), "READY_STOP"),
        (row("READY_STOP", Some(first), first, 2), "READY_STOP"),
        (row("RUNNING_EXECUTION", Some(second), first, 2), "RUNNING_EXECUTION"),
    ] {
        assert_eq!((word(&row), is_stuck(&row)), (expected, expected == "STOP"), "{row}");
    }
}

#[test]
fn every_word_of_a_state_has_a_meaning() {
    for (word, expected) in [
        ("SUBMITTED_SUCCESS", "queued"),
        ("SERIAL_WAIT", "queued"),
        ("WAIT_TO_RUN", "queued"),
        ("RUNNING_EXECUTION", "running"),
        ("READY_PAUSE", "running"),
        ("FAILOVER", "running"),
        ("READY_STOP", "stopping"),
        ("PAUSE", "paused"),
        ("STOP", "stopped"),
        ("FAILURE", "failed"),
        ("SUCCESS", "success"),
        ("SOMETHING_NEW", "unknown"),
    ] {
        assert_eq!(state(word), expected, "{word}");
    }
    for (word, expected) in [("DISPATCH", "queued"), ("KILL", "stopped"), ("FORCED_SUCCESS", "success")] {
        assert_eq!(task_state(word), expected, "{word}");
    }
}
