//! Starts, finding them, stopping, pausing and running again.

use lakeport_sdk::engine::{
    BackfillRequest, Dates, Engine, Pausing, RetryRequest, RunQuery, RunRequest, Target,
};
use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::testing::Answer;

use super::{Server, run_ref, workflow_ref};
use crate::{DolphinScheduler, backfills};

const KEY: &str = "k-1";
/// 2026-11-20T00:00:00Z.
const DATE_MS: i64 = 1_795_132_800_000;

fn request(business_time: Option<i64>) -> RunRequest {
    RunRequest {
        workflow: workflow_ref(),
        key: KEY.to_owned(),
        cause: "manual".to_owned(),
        business_time,
        params: Vec::new(),
        failure_strategy: "CONTINUE".to_owned(),
        start_at: None,
        reach: "all".to_owned(),
        extra: None,
    }
}

fn query(trigger: Option<&str>) -> RunQuery {
    RunQuery {
        workflow: workflow_ref(),
        key: KEY.to_owned(),
        trigger: trigger.map(str::to_owned),
        asked: DATE_MS + 36 * 3_600_000,
    }
}

/// The form of a start.
fn form(
    server: &Server,
    exec_type: &str,
    time: &str,
    changes: &[(&'static str, &str)],
) -> Vec<(&'static str, String)> {
    let given = json!({"lakeport_run_key": KEY, "lakeport_run_cause": "manual"});
    let params = match server.flavour.name {
        "3.2" => {
            json!({"lakeport_workflow": "7 r1", "lakeport_run_key": KEY, "lakeport_run_cause": "manual"})
        }
        _ => given,
    };
    let mut form = vec![
        (server.flavour.definition_code, "500".to_owned()),
        ("failureStrategy", "CONTINUE".to_owned()),
        ("warningType", "NONE".to_owned()),
        ("warningGroupId", "0".to_owned()),
        ("taskDependType", "TASK_POST".to_owned()),
        ("runMode", "RUN_MODE_SERIAL".to_owned()),
        (server.flavour.instance_priority, "MEDIUM".to_owned()),
        ("workerGroup", "default".to_owned()),
        ("environmentCode", "-1".to_owned()),
        ("startParams", params.to_string()),
        ("expectedParallelismNumber", "1".to_owned()),
        ("complementDependentMode", "OFF_MODE".to_owned()),
        ("dryRun", "0".to_owned()),
        ("execType", exec_type.to_owned()),
        ("scheduleTime", time.to_owned()),
    ];
    if server.flavour.name != "3.1" {
        form.push(("tenantCode", "default".to_owned()));
        form.push(("allLevelDependent", "false".to_owned()));
        form.push(("executionOrder", "ASC_ORDER".to_owned()));
    }
    for (name, value) in changes {
        form.retain(|(known, _)| known != name);
        form.push((name, (*value).to_owned()));
    }
    form
}

/// Of a start without a date, at the time of the test's clock.
fn undated(server: &Server, changes: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    match server.flavour.fills_in_late {
        true => {
            let now = r#"{"complementScheduleDateList":"2026-11-21 12:00:00"}"#;
            form(server, "COMPLEMENT_DATA", now, changes)
        }
        false => form(server, "START_PROCESS", "", changes),
    }
}

fn start_path(server: &Server) -> String {
    format!("{{P}}/executors/{}", server.flavour.start)
}

fn on_start(server: &Server, form: &[(&'static str, String)], answer: Answer) {
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.answer("POST", &start_path(server), &fields, answer);
}

fn ok(data: Value) -> Answer {
    Answer::json(200, json!({"code": 0, "msg": "success", "data": data, "failed": false, "success": true}))
}

/// Expects the list of the workflow's runs since then.
fn on_list(server: &Server, since: &str, rows: Value) {
    let params = [
        (server.flavour.listed_definition, "500"),
        ("startDate", since),
        ("pageNo", "1"),
        ("pageSize", "100"),
    ];
    server.on("GET", "{I}", &params, server.page(rows));
}

/// What a start asks for before it starts.
fn on_before(server: &Server, rows: Value) {
    server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
    on_list(server, "2026-11-21 11:00:00", rows);
}

#[test]
fn a_start_for_a_date_is_one_complement() {
    Server::each(|server| {
        on_before(server, json!([]));
        let time = r#"{"complementScheduleDateList":"2026-11-20 00:00:00"}"#;
        let data = match server.flavour.name {
            "3.1" => Value::Null,
            "3.2" => json!(23_782_409_056_064_i64),
            _ => json!([31]),
        };
        on_start(server, &form(server, "COMPLEMENT_DATA", time, &[]), ok(data));
        let started = server.host.call(|| DolphinScheduler::start(request(Some(DATE_MS)))).unwrap();
        let (instance, trigger) = match server.flavour.name {
            "3.1" => (None, Some("key-k-1")),
            "3.2" => (None, Some("23782409056064")),
            _ => (Some("31"), None),
        };
        assert_eq!((started.instance.as_deref(), started.trigger.as_deref()), (instance, trigger));
        assert!(!started.found);
    });
}

fn two_dates() -> BackfillRequest {
    BackfillRequest {
        workflow: workflow_ref(),
        key: KEY.to_owned(),
        dates: Dates::Listed(vec![DATE_MS - 24 * 3_600_000, DATE_MS]),
        run_mode: "RUN_MODE_PARALLEL".to_owned(),
        parallelism: Some(2),
        dependent_mode: "OFF_MODE".to_owned(),
        all_level_dependent: false,
        execution_order: "DESC_ORDER".to_owned(),
        failure_strategy: "CONTINUE".to_owned(),
        params: Vec::new(),
        extra: None,
    }
}

#[test]
fn dates_are_one_start_where_the_configuration_asks_for_it() {
    Server::each(|server| {
        let refused = server.host.call(|| backfills::start(&two_dates())).unwrap_err();
        assert_eq!(refused.code, "unsupported");
        server.settings(json!({ "nativeBackfill": true }));
        on_list(server, "2026-11-21 11:00:00", json!([]));
        server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
        let time = r#"{"complementScheduleDateList":"2026-11-19 00:00:00,2026-11-20 00:00:00"}"#;
        let (key, cause) = ("backfill-k-1", "backfill");
        let params = match server.flavour.name {
            "3.2" => {
                json!({"lakeport_workflow": "7 r1", "lakeport_run_key": key, "lakeport_run_cause": cause})
            }
            _ => json!({"lakeport_run_key": key, "lakeport_run_cause": cause}),
        };
        let params = params.to_string();
        let mut changes = vec![
            ("runMode", "RUN_MODE_PARALLEL"),
            ("expectedParallelismNumber", "2"),
            ("startParams", params.as_str()),
        ];
        if server.flavour.name != "3.1" {
            changes.push(("executionOrder", "DESC_ORDER"));
        }
        on_start(server, &form(server, "COMPLEMENT_DATA", time, &changes), ok(Value::Null));
        let started = server.host.call(|| backfills::start(&two_dates())).unwrap();
        assert_eq!((started.trigger.as_str(), started.found), ("backfill-k-1", false));
        // Its runs are those of this trigger, and a repeat finds them.
        let run = server.run(31, "RUNNING_EXECUTION", Some("backfill-k-1"));
        on_list(server, "2026-11-21 11:00:00", json!([run]));
        let again = server.host.call(|| backfills::start(&two_dates())).unwrap();
        assert_eq!((again.trigger.as_str(), again.found), ("backfill-k-1", true));
        assert_eq!(again.instances, ["31"]);
    });
}

#[test]
fn a_part_of_a_workflow_begins_at_a_task() {
    Server::each(|server| {
        for (reach, depend) in [("from", "TASK_POST"), ("only", "TASK_ONLY")] {
            on_before(server, json!([]));
            let changes = [("taskDependType", depend), ("startNodeList", "902")];
            on_start(server, &undated(server, &changes), ok(json!([31])));
            let part = RunRequest { start_at: Some(72), reach: reach.to_owned(), ..request(None) };
            server.host.call(|| DolphinScheduler::start(part)).unwrap();
        }
        on_before(server, json!([]));
        let unknown = RunRequest { start_at: Some(1), reach: "from".to_owned(), ..request(None) };
        let error = server.host.call(|| DolphinScheduler::start(unknown)).unwrap_err();
        assert_eq!(error.code, "invalid_input");
    });
}

#[test]
fn a_repeated_start_finds_the_run() {
    Server::each(|server| {
        let run = server.run(31, "RUNNING_EXECUTION", Some(KEY));
        if server.flavour.name == "3.1" {
            // Its lists do not show what a run was started with.
            let mut row = run.clone();
            row["commandParam"] = Value::Null;
            on_before(server, json!([row]));
            server.on("GET", "{I}/31", &[], run);
        } else {
            on_before(server, json!([run]));
        }
        let started = server.host.call(|| DolphinScheduler::start(request(None))).unwrap();
        assert_eq!((started.instance.as_deref(), started.found), (Some("31"), true));
    });
}

#[test]
fn a_lost_answer_may_have_applied_and_the_run_is_found() {
    Server::each(|server| {
        on_before(server, json!([]));
        on_start(server, &undated(server, &[]), Answer::lost());
        let error = server.host.call(|| DolphinScheduler::start(request(None))).unwrap_err();
        assert!(error.may_have_applied && error.message.contains("executors/start-"), "{error:?}");

        let mut other = server.run(30, "SUCCESS", None);
        other["commandType"] = json!("SCHEDULER");
        let run = server.run(31, "RUNNING_EXECUTION", Some(KEY));
        on_list(server, "2026-11-21 11:55:00", json!([other, run]));
        let unused = RunQuery { key: "k-none".to_owned(), ..query(None) };
        let found = server.host.call(|| DolphinScheduler::find(vec![unused, query(None)])).unwrap();
        assert!(found[0].is_none());
        let run = found[1].as_ref().unwrap();
        assert_eq!((run.id.as_str(), run.key.as_deref(), run.state.as_str()), ("31", Some(KEY), "running"));
        assert_eq!((run.cause.as_str(), run.business_time), ("manual", Some(DATE_MS)));
    });
}

/// 3.1 and 3.4.3 show the parameters of a run in its detail alone.
#[test]
fn a_run_that_was_not_looked_at_may_be_the_one() {
    let server = Server::new("3.1.1");
    let bare = |id: i64| {
        let mut row = server.run(id, "SUCCESS", None);
        row["commandParam"] = Value::Null;
        row
    };
    let rows: Vec<Value> = (1..=41).map(bare).collect();
    let find = || server.host.call(|| DolphinScheduler::find(vec![query(None)]));
    on_list(&server, "2026-11-21 11:55:00", json!(rows));
    for id in 1..=40 {
        server.on("GET", &format!("{{I}}/{id}"), &[], server.run(id, "SUCCESS", Some("k")));
    }
    let error = find().unwrap_err();
    assert_eq!((error.code.as_str(), error.retryable), ("unavailable", true));
    on_list(&server, "2026-11-21 11:55:00", json!(rows));
    server.on("GET", "{I}/41", &[], server.run(41, "SUCCESS", Some(KEY)));
    let found = find().unwrap();
    assert_eq!(found[0].as_ref().map(|run| run.id.as_str()), Some("41"));
}

#[test]
fn a_trigger_names_its_run() {
    let server = Server::new("3.2.1");
    server.on("GET", "{I}/trigger", &[("triggerCode", "237")], json!([]));
    on_list(&server, "2026-11-21 11:55:00", json!([]));
    let find = || server.host.call(|| DolphinScheduler::find(vec![query(Some("237"))])).unwrap();
    assert_eq!(find(), [None]);
    let run = server.run(31, "SUBMITTED_SUCCESS", Some(KEY));
    server.on("GET", "{I}/trigger", &[("triggerCode", "237")], json!([run]));
    let found = find();
    let run = found[0].as_ref().unwrap();
    assert_eq!((run.id.as_str(), run.trigger.as_deref(), run.state.as_str()), ("31", Some("237"), "queued"));
}

#[test]
fn an_offline_definition_is_not_started() {
    Server::each(|server| {
        server.on("GET", "{D}/500", &[], server.detail(4, "OFFLINE", Some("7 r1")));
        let error = server.host.call(|| DolphinScheduler::start(request(None))).unwrap_err();
        assert_eq!((error.code.as_str(), error.may_have_applied), ("conflict", false));
        server.refuse("GET", "{D}/500", &[], 50003, "process definition 500 does not exist");
        let error = server.host.call(|| DolphinScheduler::start(request(None))).unwrap_err();
        assert_eq!(error.code, "not_found");
    });
}

/// Expects the detail of a run in this state.
fn on_run(server: &Server, state: &str) {
    server.on("GET", "{I}/31", &[], server.run(31, state, Some(KEY)));
}

fn on_execute(server: &Server, what: &str) {
    let params = [(server.flavour.instance_id, "31"), ("executeType", what)];
    server.on("POST", "{P}/executors/execute", &params, Value::Null);
}

fn refuse_execute(server: &Server, what: &str, code: i64, text: &str) {
    let params = [(server.flavour.instance_id, "31"), ("executeType", what)];
    server.refuse("POST", "{P}/executors/execute", &params, code, text);
}

#[test]
fn a_stop_is_asked_for_once() {
    Server::each(|server| {
        let cancel = |id: &str| {
            let target = Target::Instance(id.to_owned());
            server.host.call(|| DolphinScheduler::cancel(workflow_ref(), target))
        };
        on_run(server, "RUNNING_EXECUTION");
        on_execute(server, "STOP");
        assert!(!cancel("31").unwrap().settled);
        on_run(server, "READY_STOP");
        assert!(!cancel("31").unwrap().settled);
        on_run(server, "STOP");
        assert!(cancel("31").unwrap().settled);
        // It ended between the two requests. Each version has its own code for that.
        let code = match server.flavour.name {
            "3.1" => 50006,
            "3.2" => 50015,
            _ => 10000,
        };
        on_run(server, "RUNNING_EXECUTION");
        refuse_execute(server, "STOP", code, "cannot perform STOP operation");
        on_run(server, "SUCCESS");
        assert!(cancel("31").unwrap().settled);
        server.refuse("GET", "{I}/31", &[], 50001, "process instance 31 does not exist");
        assert_eq!(cancel("31").unwrap_err().code, "not_found");
        assert_eq!(cancel("no such run").unwrap_err().code, "not_found");
    });
}

#[test]
fn a_run_is_paused_and_goes_on() {
    Server::each(|server| {
        let pause = || server.host.call(|| DolphinScheduler::pause(run_ref("31")));
        let resume = || server.host.call(|| DolphinScheduler::resume(run_ref("31")));
        on_run(server, "RUNNING_EXECUTION");
        on_execute(server, "PAUSE");
        assert!(!pause().unwrap().settled);
        for (state, settled) in [("READY_PAUSE", false), ("PAUSE", true)] {
            on_run(server, state);
            assert_eq!(pause().unwrap().settled, settled);
        }
        on_run(server, "PAUSE");
        on_execute(server, "RECOVER_SUSPENDED_PROCESS");
        resume().unwrap();
        // The state is the old one for a moment: nothing is asked for twice.
        on_run(server, "PAUSE");
        assert!(!resume().unwrap().settled);
        on_run(server, "PAUSE");
        assert_eq!(pause().unwrap_err().code, "unavailable");
        server.host.advance(std::time::Duration::from_secs(3));
        on_run(server, "PAUSE");
        refuse_execute(server, "RECOVER_SUSPENDED_PROCESS", 50009, "is executing the command, please wait");
        resume().unwrap();
        on_run(server, "RUNNING_EXECUTION");
        assert!(resume().unwrap().settled);
        for _ in 0..2 {
            on_run(server, "SUCCESS");
        }
        assert_eq!(
            (pause().unwrap_err().code, resume().unwrap_err().code),
            ("conflict".into(), "conflict".into())
        );
    });
}

#[test]
fn a_retry_is_within_the_same_run() {
    Server::each(|server| {
        let retry = |scope: &str| {
            let request =
                RetryRequest { instance: run_ref("31"), scope: scope.to_owned(), key: "k-2".to_owned() };
            server.host.call(|| DolphinScheduler::retry(request))
        };
        for (scope, what) in [("failed", "START_FAILURE_TASK_PROCESS"), ("all", "REPEAT_RUNNING")] {
            on_run(server, "FAILURE");
            on_execute(server, what);
            let started = retry(scope).unwrap();
            assert_eq!((started.instance.as_deref(), started.found), (Some("31"), false));
            // It is still shown with its old end.
            on_run(server, "FAILURE");
            assert_eq!(retry(scope).unwrap_err().code, "conflict");
            server.host.advance(std::time::Duration::from_secs(61));
        }
        on_run(server, "FAILURE");
        on_execute(server, "REPEAT_RUNNING");
        retry("all").unwrap();
        for state in ["RUNNING_EXECUTION", "SUCCESS"] {
            on_run(server, state);
            assert_eq!(retry("failed").unwrap_err().code, "conflict");
        }
        // Until the new state shows, the old end is not one.
        let find = || {
            let mut row = server.run(31, "FAILURE", Some(KEY));
            row["runTimes"] = json!(1);
            on_list(server, "2026-11-21 11:55:00", json!([row]));
            server.host.call(|| DolphinScheduler::find(vec![query(None)])).unwrap().remove(0).unwrap()
        };
        let run = find();
        assert_eq!((run.state.as_str(), run.attempt, run.ended), ("queued", 2, None));
        server.host.advance(std::time::Duration::from_secs(61));
        assert_eq!(find().state, "failed");
    });
}
