//! Deployments: a first one, a later one, repeats, edits behind our back, foreign definitions.

use std::collections::{BTreeMap, HashMap};

use lakeport_sdk::engine::{DeployRequest, Deployment, Engine, Error, Schedule, Workflow, WorkflowRef};
use lakeport_sdk::serde_json::{self, Value, json};
use lakeport_sdk::testing::Answer;

use super::{Server, task, text, workflow, workflow_ref};
use crate::DolphinScheduler;
use crate::config::Settings;
use crate::definition::{Codes, Parts, Source, form};

fn request(workflow: &Workflow, current: &WorkflowRef) -> DeployRequest {
    DeployRequest { workflow: workflow.clone(), current: current.clone(), online: false, extra: None }
}

fn deploy(server: &Server, request: &DeployRequest) -> Result<Deployment, Error> {
    server.host.call(|| DolphinScheduler::deploy(request.clone()))
}

fn never(workflow: &Workflow) -> WorkflowRef {
    WorkflowRef { name: workflow.name.clone(), code: None, project: None, state: None, ..workflow_ref() }
}

/// The form of a definition with these codes and versions.
fn written(server: &Server, workflow: &Workflow, versions: &[(i64, i64)]) -> Vec<(&'static str, String)> {
    let settings = server.host.call(|| Settings::read().unwrap());
    let codes: Codes = BTreeMap::from([(71, 901), (72, 902)]);
    let versions: HashMap<i64, i64> = versions.iter().copied().collect();
    let shop = Source { id: 3, kind: "POSTGRESQL".to_owned() };
    let sources = BTreeMap::from([("shop".to_owned(), shop)]);
    let flavour = server.flavour;
    let parts = Parts { flavour, settings: &settings, codes: &codes, versions: &versions, sources: &sources };
    form(workflow, &parts).unwrap()
}

/// Expects a change with this form.
fn on_form(server: &Server, method: &'static str, path: &str, form: &[(&'static str, String)], data: Value) {
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.on(method, path, &form, data);
}

fn on_schedules(server: &Server, rows: Value) {
    let params = [(server.flavour.definition_code, "500"), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "{P}/schedules", &params, server.page(rows));
}

fn on_names(server: &Server, rows: Value) {
    server.on(
        "GET",
        "{D}",
        &[("searchVal", "daily"), ("pageNo", "1"), ("pageSize", "100")],
        server.page(rows),
    );
}

#[test]
fn a_first_deployment_reserves_codes_first() {
    Server::each(|server| {
        let workflow = workflow();
        on_names(server, json!([]));
        server.on("GET", "{P}/task-definition/gen-task-codes", &[("genNum", "2")], json!([901, 902]));
        let first = deploy(server, &request(&workflow, &never(&workflow))).unwrap();
        assert_eq!((first.phase.as_str(), first.code), ("again", None));
        let state: Value = serde_json::from_str(first.state.as_deref().unwrap()).unwrap();
        assert_eq!(state["tasks"], json!({"71": 901, "72": 902}));

        let current = WorkflowRef { state: first.state, project: first.project, ..never(&workflow) };
        on_names(server, json!([]));
        let form = written(server, &workflow, &[]);
        // The answer has neither the version nor the state.
        on_form(server, "POST", "{D}", &form, json!({"code": 500, "version": 0, "releaseState": null}));
        server.on("GET", "{D}/500", &[], server.detail(1, "OFFLINE", Some("7 r1")));
        server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
        let done = deploy(server, &request(&workflow, &current)).unwrap();
        assert_eq!((done.phase.as_str(), done.code.as_deref()), ("done", Some("500")));
        assert_eq!((done.project.as_deref(), done.notes.len()), (Some("77"), 0));
    });
}

#[test]
fn a_form_has_all_that_a_definition_needs() {
    let server = Server::new("3.1.1");
    let mut workflow = workflow();
    workflow.concurrency = "wait".to_owned();
    workflow.tasks[0].timeout_s = 61;
    workflow.tasks[0].retries = 2;
    let form = written(&server, &workflow, &[(901, 3)]);
    let member = |name: &str| form.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str());
    let parsed = |name: &str| -> Value { serde_json::from_str(member(name).unwrap()).unwrap() };
    assert_eq!((member("tenantCode"), member("executionType")), (Some("default"), Some("SERIAL_WAIT")));
    let tasks = parsed("taskDefinitionJson");
    assert_eq!(
        (&tasks[0]["code"], &tasks[0]["version"], &tasks[1]["version"]),
        (&json!(901), &json!(3), &json!(0))
    );
    assert_eq!((&tasks[0]["timeout"], &tasks[0]["timeoutFlag"]), (&json!(2), &json!("OPEN")));
    assert_eq!(tasks[0]["failRetryTimes"], "2");
    let pairs: Vec<(i64, i64)> = parsed("taskRelationJson")
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["preTaskCode"].as_i64().unwrap(), one["postTaskCode"].as_i64().unwrap()))
        .collect();
    assert_eq!(pairs, [(0, 901), (901, 902)]);
    let places = parsed("locations");
    assert!(places[0]["x"].as_i64() < places[1]["x"].as_i64());
    assert_eq!(parsed("globalParams")[0]["value"], "7 r1");
}

#[test]
fn a_repeat_changes_nothing() {
    Server::each(|server| {
        let workflow = workflow();
        server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
        on_schedules(server, json!([]));
        let done = deploy(server, &request(&workflow, &workflow_ref())).unwrap();
        assert_eq!((done.phase.as_str(), done.code.as_deref()), ("done", Some("500")));
    });
}

#[test]
fn an_update_keeps_codes_and_versions_and_the_schedule() {
    Server::each(|server| {
        let start = super::schedules::START_MS;
        let mut workflow = Workflow { revision: "r2".to_owned(), ..workflow() };
        workflow.schedule = Some(super::schedules::schedule());
        server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
        on_schedules(server, json!([super::schedules::row(server, 9, "ONLINE")]));
        server.on("POST", "{D}/500/release", &[("releaseState", "OFFLINE")], Value::Null);
        let form = written(server, &workflow, &[(901, 3), (902, 1)]);
        on_form(server, "PUT", "{D}/500", &form, json!({"code": 500, "version": 4}));
        server.on("GET", "{D}/500", &[], server.detail(5, "OFFLINE", Some("7 r2")));
        server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
        server.on("POST", "{P}/schedules/9/online", &[], json!(true));
        let request = DeployRequest { online: true, ..request(&workflow, &workflow_ref()) };
        let done = deploy(server, &request).unwrap();
        let state: Value = serde_json::from_str(done.state.as_deref().unwrap()).unwrap();
        assert_eq!((&state["version"], &state["tasks"]["71"]), (&json!(5), &json!(901)));
        assert!(start > 0 && done.notes.is_empty());
    });
}

#[test]
fn an_edit_there_is_replaced_with_a_note() {
    let server = Server::new("3.2.1");
    let workflow = workflow();
    server.on("GET", "{D}/500", &[], server.detail(6, "OFFLINE", Some("7 r1")));
    on_schedules(&server, json!([]));
    let form = written(&server, &workflow, &[(901, 3), (902, 1)]);
    on_form(&server, "PUT", "{D}/500", &form, Value::Null);
    server.on("GET", "{D}/500", &[], server.detail(7, "OFFLINE", Some("7 r1")));
    server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], json!(true));
    let done = deploy(&server, &request(&workflow, &workflow_ref())).unwrap();
    assert_eq!((done.phase.as_str(), done.notes.len()), ("done", 1));
    assert!(done.notes[0].message.contains("was changed in DolphinScheduler"));
}

#[test]
fn a_lost_answer_is_found_by_name_and_mark() {
    let server = Server::new("3.1.1");
    let workflow = workflow();
    let state = Some(r#"{"tasks":{"71":901,"72":902},"version":null}"#.to_owned());
    let current = WorkflowRef { state, ..never(&workflow) };
    on_names(&server, json!([]));
    let form = written(&server, &workflow, &[]);
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.answer("POST", "{D}", &fields, Answer::lost());
    let error = deploy(&server, &request(&workflow, &current)).unwrap_err();
    assert!(error.may_have_applied && error.retryable, "{error:?}");
    assert!(error.message.starts_with("POST projects/77/process-definition"), "{}", error.message);

    on_names(&server, json!([{"name": "daily-2", "code": 8}, {"name": "daily", "code": 500}]));
    server.on("GET", "{D}/500", &[], server.detail(1, "OFFLINE", Some("7 r1")));
    on_schedules(&server, json!([]));
    let form = written(&server, &workflow, &[(901, 3), (902, 1)]);
    on_form(&server, "PUT", "{D}/500", &form, Value::Null);
    server.on("GET", "{D}/500", &[], server.detail(1, "OFFLINE", Some("7 r1")));
    server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
    let done = deploy(&server, &request(&workflow, &current)).unwrap();
    assert_eq!(done.code.as_deref(), Some("500"));
}

#[test]
fn what_is_not_ours_is_never_taken_over() {
    Server::each(|server| {
        let workflow = workflow();
        for mark in [None, Some("8 r1")] {
            on_names(server, json!([{"name": "daily", "code": 500}]));
            server.on("GET", "{D}/500", &[], server.detail(1, "ONLINE", mark));
            let error = deploy(server, &request(&workflow, &never(&workflow))).unwrap_err();
            assert_eq!(error.code, "conflict", "{}", error.message);
        }
        server.on("GET", "{D}/500", &[], server.detail(1, "ONLINE", Some("8 r1")));
        let error = deploy(server, &request(&workflow, &workflow_ref())).unwrap_err();
        assert_eq!(error.code, "conflict", "{}", error.message);
    });
}

#[test]
fn what_ran_before_a_refused_update_goes_on() {
    let server = Server::new("3.1.1");
    let workflow = Workflow { revision: "r2".to_owned(), ..workflow() };
    server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
    on_schedules(&server, json!([]));
    server.on("POST", "{D}/500/release", &[("releaseState", "OFFLINE")], Value::Null);
    let form = written(&server, &workflow, &[(901, 3), (902, 1)]);
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    server.refuse("PUT", "{D}/500", &fields, 10168, "process definition name daily already exists");
    server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
    let error = deploy(&server, &request(&workflow, &workflow_ref())).unwrap_err();
    assert_eq!((error.code.as_str(), error.may_have_applied), ("conflict", true));
    assert_eq!(error.upstream.unwrap().code.as_deref(), Some("10168"));
}

#[test]
fn sql_tasks_have_their_data_source() {
    Server::each(|server| {
        let mut workflow = workflow();
        workflow.tasks[0] = task(71, "load", "SQL", vec![text("DELETE FROM t; SELECT 1")]);
        workflow.tasks[1] = task(72, "sum", "SQL", vec![text("INSERT INTO t VALUES (1)")]);
        let state = Some(r#"{"tasks":{"71":901,"72":902}}"#.to_owned());
        let request = request(&workflow, &WorkflowRef { state, ..never(&workflow) });
        on_names(server, json!([]));
        let search = [("searchVal", "shop"), ("pageNo", "1"), ("pageSize", "100")];
        let secret = json!({"password": "in clear"});
        let rows = json!([
            {"id": 2, "name": "shop", "type": "MYSQL", "connectionParams": secret},
            {"id": 3, "name": "shop", "type": "POSTGRESQL", "connectionParams": secret},
        ]);
        server.on("GET", "datasources", &search, server.page(rows));
        let form = written(server, &workflow, &[]);
        on_form(server, "POST", "{D}", &form, json!({"code": 500}));
        server.on("GET", "{D}/500", &[], server.detail(1, "OFFLINE", Some("7 r1")));
        server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
        deploy(server, &request).unwrap();
        let (_, tasks) = form.iter().find(|(name, _)| *name == "taskDefinitionJson").unwrap();
        let tasks: Value = serde_json::from_str(tasks).unwrap();
        let params = &tasks[0]["taskParams"];
        assert_eq!((&params["datasource"], &params["type"]), (&json!(3), &json!("POSTGRESQL")));
        assert_eq!(
            (&params["preStatements"], &params["sql"]),
            (&json!(["DELETE FROM t"]), &json!("SELECT 1"))
        );
        assert_eq!((&params["sqlType"], &tasks[1]["taskParams"]["sqlType"]), (&json!("0"), &json!("1")));
    });
}

#[test]
fn a_missing_data_source_names_those_that_are_there() {
    let server = Server::new("3.3-dev");
    let mut workflow = workflow();
    workflow.tasks[0] = task(71, "load", "SQL", vec![text("SELECT 1")]);
    let state = Some(r#"{"tasks":{"71":901,"72":902}}"#.to_owned());
    on_names(&server, json!([]));
    let search = [("searchVal", "shop"), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "datasources", &search, server.page(json!([])));
    let rows =
        json!([{"id": 1, "name": "stock", "type": "POSTGRESQL"}, {"id": 2, "name": "hive", "type": "HIVE"}]);
    server.on("GET", "datasources", &[("pageNo", "1"), ("pageSize", "100")], server.page(rows));
    let error = deploy(&server, &request(&workflow, &WorkflowRef { state, ..never(&workflow) })).unwrap_err();
    assert_eq!((error.code.as_str(), error.may_have_applied), ("not_found", false));
    assert!(error.message.contains("available: stock;"), "{}", error.message);
}

#[test]
fn a_removal_takes_the_definition_offline() {
    Server::each(|server| {
        let remove = || server.host.call(|| DolphinScheduler::remove(workflow_ref()));
        server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
        on_schedules(server, json!([]));
        server.on("POST", "{D}/500/release", &[("releaseState", "OFFLINE")], Value::Null);
        server.on("DELETE", "{D}/500", &[], Value::Null);
        assert_eq!(remove().unwrap().phase, "done");

        server.refuse("GET", "{D}/500", &[], 50003, "process definition 500 does not exist");
        on_names(server, json!([]));
        assert_eq!(remove().unwrap().phase, "done");
    });
}

#[test]
fn a_refused_removal_loses_nothing() {
    let server = Server::new("3.2.1");
    server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
    on_schedules(&server, json!([super::schedules::row(&server, 9, "ONLINE")]));
    server.on("POST", "{D}/500/release", &[("releaseState", "OFFLINE")], Value::Null);
    server.refuse("DELETE", "{D}/500", &[], 10163, "there are 1 process instances in executing using it");
    server.on("POST", "{D}/500/release", &[("releaseState", "ONLINE")], Value::Null);
    server.on("POST", "{P}/schedules/9/online", &[], json!(true));
    let error = server.host.call(|| DolphinScheduler::remove(workflow_ref())).unwrap_err();
    assert_eq!(error.code, "conflict");
}

#[test]
fn a_schedule_is_made_with_the_deployment() {
    let server = Server::new("3.3-dev");
    let workflow = Workflow { schedule: Some(super::schedules::schedule()), ..workflow() };
    server.on("GET", "{D}/500", &[], server.detail(4, "ONLINE", Some("7 r1")));
    on_schedules(&server, json!([]));
    let mut form = super::schedules::form(&server);
    form.push((server.flavour.definition_code, "500".to_owned()));
    on_form(&server, "POST", "{P}/schedules", &form, json!({"id": 9}));
    let same: Schedule = super::schedules::schedule();
    assert_eq!(workflow.schedule.as_ref().map(|one| &one.cron), Some(&same.cron));
    let done = deploy(&server, &request(&workflow, &workflow_ref())).unwrap();
    assert_eq!(done.phase, "done");
}
