//! Envelopes, statuses and the search for project and generation.

use lakeport_sdk::engine::{Engine, Error, InstanceRef, Target};
use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::testing::{Answer, Expected, TestHost};

use super::{Server, workflow_ref};
use crate::DolphinScheduler;

fn stop(server: &Server) -> Error {
    let target = Target::Instance("31".to_owned());
    server.host.call(|| DolphinScheduler::cancel(workflow_ref(), target)).unwrap_err()
}

#[test]
fn an_error_says_which_call_and_which_answer() {
    let server = Server::new("3.1.1");
    for (answer, code, retryable) in [
        (Answer::empty(401), "unauthorized", false),
        (Answer::text(500, "<html>oops"), "upstream_failed", true),
        (Answer::text(200, "<html>log in"), "invalid_response", true),
        (Answer::text(200, r#"{"code": 0, "da"#), "invalid_response", true),
        (Answer::text(403, "no"), "upstream_failed", false),
        (Answer::text(404, "<html>"), "unavailable", true),
        (
            Answer::json(404, json!({"timestamp": 1, "status": 404, "error": "Not Found"})),
            "unavailable",
            true,
        ),
        // A refusal has the status of the success.
        (
            Answer::json(201, json!({"code": 30001, "msg": "user has no operation privilege"})),
            "forbidden",
            false,
        ),
        (Answer::json(200, json!({"code": 10025, "msg": "master does not exist"})), "unavailable", true),
        (Answer::json(200, json!({"code": 99999, "msg": "new"})), "upstream_failed", false),
    ] {
        server.answer("GET", "{I}/31", &[], answer);
        let error = stop(&server);
        assert_eq!((error.code.as_str(), error.retryable), (code, retryable), "{}", error.message);
        assert!(error.message.contains("GET projects/77/process-instances/31"), "{}", error.message);
        assert!(!error.may_have_applied);
    }
}

#[test]
fn half_an_answer_to_a_change_may_have_applied() {
    let server = Server::new("3.2.1");
    server.on("GET", "{I}/31", &[], server.run(31, "RUNNING_EXECUTION", None));
    let params = [("processInstanceId", "31"), ("executeType", "STOP")];
    server.answer("POST", "{P}/executors/execute", &params, Answer::text(200, r#"{"code":"#));
    let error = stop(&server);
    assert_eq!((error.code.as_str(), error.may_have_applied), ("invalid_response", true));
}

/// A server of which nothing is known.
fn unknown() -> TestHost {
    let host = TestHost::engine::<DolphinScheduler>();
    host.settings(json!({"baseUrl": "http://ds.example/dolphinscheduler", "projectName": "lake"}));
    host
}

fn ok(data: Value) -> Answer {
    Answer::json(200, json!({"code": 0, "msg": "success", "data": data}))
}

fn on_project(host: &TestHost, rows: Value) {
    let expected =
        Expected::get("api", "projects").query("searchVal", "lake").query("pageNo", 1).query("pageSize", 100);
    host.expect(expected, ok(json!({"totalList": rows, "total": 1})));
}

fn list(definitions: &str) -> Expected {
    Expected::get("api", &format!("projects/77/{definitions}")).query("pageNo", 1).query("pageSize", 1)
}

#[test]
fn project_and_generation_are_asked_for_once() {
    let page = |member: &str| ok(json!({"totalList": [], "total": 0, member: 0}));
    for (newer, older, path) in [
        (page("pageNo"), None, "workflow-instances"),
        (Answer::text(404, "<html>"), Some(page("start")), "process-instances"),
        (Answer::text(404, "<html>"), Some(page("pageNo")), "process-instances"),
    ] {
        let host = unknown();
        on_project(&host, json!([{"name": "lake2", "code": 78}, {"name": "lake", "code": 77}]));
        host.expect(list("workflow-definition"), newer);
        if let Some(older) = older {
            host.expect(list("process-definition"), older);
        }
        for _ in 0..2 {
            let refused = Answer::json(200, json!({"code": 50001, "msg": "does not exist"}));
            host.expect(Expected::get("api", &format!("projects/77/{path}/31")), refused);
            let run = InstanceRef { workflow: workflow_ref(), id: "31".to_owned() };
            let error =
                host.call(|| <DolphinScheduler as lakeport_sdk::engine::Pausing>::pause(run)).unwrap_err();
            assert_eq!(error.code, "not_found");
        }
    }
}

#[test]
fn a_missing_project_is_said() {
    let host = unknown();
    on_project(&host, json!([{"name": "lake2", "code": 78}]));
    let report = host.call(DolphinScheduler::test).unwrap();
    let checks: Vec<_> =
        report.checks.iter().map(|check| (check.name.as_str(), check.outcome.as_str())).collect();
    assert_eq!(checks, [("reachable", "ok"), ("log_in", "ok"), ("project", "failed")]);
}

#[test]
fn an_upgraded_server_is_found_out() {
    let host = unknown();
    on_project(&host, json!([{"name": "lake", "code": 77}]));
    host.expect(list("workflow-definition"), Answer::text(404, "<html>"));
    host.expect(list("process-definition"), ok(json!({"totalList": [], "total": 0, "pageNo": 0})));
    host.expect(Expected::get("api", "projects/77/process-instances/31"), Answer::text(404, "<html>"));
    let pause = || {
        let run = InstanceRef { workflow: workflow_ref(), id: "31".to_owned() };
        host.call(|| <DolphinScheduler as lakeport_sdk::engine::Pausing>::pause(run)).unwrap_err()
    };
    let error = pause();
    assert!(error.retryable && error.code == "unavailable", "{error:?}");
    host.expect(list("workflow-definition"), ok(json!({"totalList": [], "total": 0})));
    let gone = Answer::json(200, json!({"code": 50001, "msg": "does not exist"}));
    host.expect(Expected::get("api", "projects/77/workflow-instances/31"), gone);
    assert_eq!(pause().code, "not_found");
}

#[test]
fn a_test_reports_each_step() {
    Server::each(|server| {
        let path = server.flavour.workers.join("/");
        server.answer("GET", &path, &[], ok(json!([{"host": "127.0.0.1"}])));
        server.on("GET", "tenants/list", &[], json!([{"tenantCode": "root"}]));
        let sources = json!([{"id": 1, "name": "shop", "type": "POSTGRESQL"}]);
        server.on("GET", "datasources", &[("pageNo", "1"), ("pageSize", "100")], server.page(sources));
        let report = server.host.call(DolphinScheduler::test).unwrap();
        assert_eq!(report.version.as_deref(), Some(server.flavour.name));
        let tenant = report.checks.iter().find(|check| check.name == "tenant").unwrap();
        let expected = if server.flavour.name == "3.1" { "warning" } else { "ok" };
        assert_eq!((tenant.outcome.as_str(), report.checks.len()), (expected, 7));
        assert!(report.checks.iter().all(|check| check.outcome != "failed"));
    });
}

#[test]
fn an_unreachable_server_is_an_error() {
    let host = unknown();
    let expected =
        Expected::get("api", "projects").query("searchVal", "lake").query("pageNo", 1).query("pageSize", 100);
    host.expect(expected, Answer::unreachable());
    let error = host.call(DolphinScheduler::test).unwrap_err();
    assert_eq!(error.code, "unreachable");
    assert!(error.message.starts_with("GET projects:"), "{}", error.message);
}
