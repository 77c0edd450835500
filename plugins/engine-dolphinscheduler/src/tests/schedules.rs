//! Schedules: one at most, changed only while it is off.

use lakeport_sdk::engine::{Schedule, Schedules, WorkflowRef};
use lakeport_sdk::serde_json::{Value, json};

use super::{CODE, Server, workflow_ref};
use crate::DolphinScheduler;
use crate::flavour::Tenant;

/// 2026-01-01T00:00:00Z.
pub const START_MS: i64 = 1_767_225_600_000;

pub fn schedule() -> Schedule {
    Schedule {
        cron: "0 0 3 * * ? *".to_owned(),
        time_zone: "Asia/Shanghai".to_owned(),
        start: START_MS,
        end: None,
        failure_strategy: "CONTINUE".to_owned(),
        warning_type: "NONE".to_owned(),
        extra: None,
    }
}

pub fn row(server: &Server, id: i64, state: &str) -> Value {
    json!({
        "id": id, server.flavour.definition_code: CODE, "releaseState": state,
        "startTime": "2026-01-01 00:00:00", "endTime": "2126-01-01 00:00:00", "crontab": "0 0 3 * * ? *",
        "timezoneId": "Asia/Shanghai", "failureStrategy": "CONTINUE", "warningType": "NONE",
    })
}

pub fn form(server: &Server) -> Vec<(&'static str, String)> {
    let missed = if server.flavour.may_miss { r#","missedFirePolicy":"SKIP_MISSED""# } else { "" };
    let times = format!(
        r#"{{"startTime":"2026-01-01 00:00:00","endTime":"2126-01-01 00:00:00","crontab":"0 0 3 * * ? *","timezoneId":"Asia/Shanghai"{missed}}}"#
    );
    let mut form = vec![
        ("schedule", times),
        ("failureStrategy", "CONTINUE".to_owned()),
        ("warningType", "NONE".to_owned()),
        ("warningGroupId", "0".to_owned()),
        (server.flavour.instance_priority, "MEDIUM".to_owned()),
        ("workerGroup", "default".to_owned()),
        ("environmentCode", "-1".to_owned()),
    ];
    if server.flavour.tenant == Tenant::Start {
        form.push(("tenantCode", "default".to_owned()));
    }
    form
}

fn on_list(server: &Server, rows: Value) {
    let params = [(server.flavour.definition_code, "500"), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "{P}/schedules", &params, server.page(rows));
}

fn set(server: &Server, schedule: Option<Schedule>) -> Vec<String> {
    let done = server.host.call(|| DolphinScheduler::set(workflow_ref(), schedule)).unwrap();
    assert_eq!(done.phase, "done");
    done.notes.into_iter().map(|note| note.message).collect()
}

#[test]
fn a_changed_schedule_is_off_for_a_moment() {
    Server::each(|server| {
        let mut other = row(server, 9, "ONLINE");
        other["crontab"] = json!("0 0 4 * * ? *");
        on_list(server, json!([other]));
        server.on("POST", "{P}/schedules/9/offline", &[], json!(true));
        let form = form(server);
        let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
        server.on("PUT", "{P}/schedules/9", &fields, Value::Null);
        server.on("POST", "{P}/schedules/9/online", &[], json!(true));
        assert!(set(server, Some(schedule())).is_empty());
        // The same again.
        on_list(server, json!([row(server, 9, "ONLINE")]));
        assert!(set(server, Some(schedule())).is_empty());
    });
}

#[test]
fn a_second_schedule_is_removed() {
    let server = Server::new("3.1.1");
    on_list(&server, json!([row(&server, 9, "OFFLINE"), row(&server, 10, "ONLINE")]));
    server.on("POST", "{P}/schedules/10/offline", &[], Value::Null);
    server.on("DELETE", "{P}/schedules/10", &[], Value::Null);
    assert_eq!(set(&server, Some(schedule())).len(), 1);
}

#[test]
fn no_schedule_removes_it() {
    Server::each(|server| {
        on_list(server, json!([row(server, 9, "ONLINE")]));
        server.on("POST", "{P}/schedules/9/offline", &[], Value::Null);
        server.on("DELETE", "{P}/schedules/9", &[], Value::Null);
        assert!(set(server, None).is_empty());
        on_list(server, json!([]));
        assert!(set(server, None).is_empty());
    });
}

#[test]
fn switching_twice_is_no_error() {
    Server::each(|server| {
        for (before, online, action) in [("OFFLINE", true, "online"), ("ONLINE", false, "offline")] {
            let switch = || {
                let call = if online { DolphinScheduler::online } else { DolphinScheduler::offline };
                server.host.call(|| call(workflow_ref()))
            };
            on_list(server, json!([row(server, 9, before)]));
            server.on("POST", &format!("{{P}}/schedules/9/{action}"), &[], Value::Null);
            switch().unwrap();
            on_list(server, json!([row(server, 9, if online { "ONLINE" } else { "OFFLINE" })]));
            switch().unwrap();
        }
        on_list(server, json!([]));
        let error = server.host.call(|| DolphinScheduler::online(workflow_ref())).unwrap_err();
        assert_eq!(error.code, "conflict");
        let never = WorkflowRef { code: None, ..workflow_ref() };
        let error = server.host.call(|| DolphinScheduler::online(never)).unwrap_err();
        assert_eq!(error.code, "not_found");
    });
}
