//! Tests of the connector against scripted answers of the three generations. Each request of a script is held
//! against the OpenAPI document of its generation, where the documents are there.

mod bodies;
mod definitions;
mod deploys;
mod errors;
mod logs;
mod openapi;
mod runs;
mod schedules;
mod watching;

use lakeport_sdk::engine::{
    BodyPart, BodyValue, Datasource, Edge, InstanceRef, Param, Task, Workflow, WorkflowRef, memo,
};
use lakeport_sdk::serde_json::{Value, json};
use lakeport_sdk::testing::{Answer, Expected, TestHost};

use crate::DolphinScheduler;
use crate::flavour::{self, Flavour};

/// The code of the project, and of the definition.
pub const PROJECT: i64 = 77;
pub const CODE: i64 = 500;
/// Lakeport's id of the workflow.
pub const ID: u64 = 7;

/// A scripted server of one version.
pub struct Server {
    pub host: TestHost,
    pub flavour: &'static Flavour,
    version: &'static str,
}

pub const VERSIONS: [&str; 3] = ["3.1.1", "3.2.1", "3.3-dev"];

impl Server {
    /// One whose version and project are known.
    pub fn new(version: &'static str) -> Server {
        let host = TestHost::engine::<DolphinScheduler>();
        let number = version.trim_end_matches("-dev");
        host.set_now("2026-11-21T12:00:00Z");
        host.call(|| memo::put("project", &PROJECT.to_string(), 100_000));
        let server = Server { host, flavour: flavour::of_version(number).unwrap(), version };
        server.settings(json!({}));
        server
    }

    /// Its settings, with these.
    pub fn settings(&self, more: Value) {
        let mut settings = json!({
            "baseUrl": "http://ds.example:12345/dolphinscheduler",
            "projectName": "lake",
            "version": self.version.trim_end_matches("-dev"),
        });
        for (name, value) in more.as_object().into_iter().flatten() {
            settings[name] = value.clone();
        }
        self.host.settings(settings);
    }

    /// Each generation, for a test of all.
    pub fn each(test: impl Fn(&Server)) {
        for version in VERSIONS {
            test(&Server::new(version));
        }
    }

    /// A request and its data.
    pub fn on(&self, method: &'static str, path: &str, params: &[(&str, &str)], data: Value) {
        let answer = json!({"code": 0, "msg": "success", "data": data, "failed": false, "success": true});
        self.answer(method, path, params, Answer::json(200, answer));
    }

    /// A request and its refusal.
    pub fn refuse(&self, method: &'static str, path: &str, params: &[(&str, &str)], code: i64, text: &str) {
        let answer = json!({"code": code, "msg": text, "data": null, "failed": true, "success": false});
        self.answer(method, path, params, Answer::json(200, answer));
    }

    /// A request and any answer. `{P}` is the project, `{D}` its definitions and `{I}` its runs.
    pub fn answer(&self, method: &'static str, path: &str, params: &[(&str, &str)], answer: Answer) {
        let path = self.path(path);
        let names: Vec<&str> = params.iter().map(|(name, _)| *name).collect();
        openapi::check(self.version, method, &path, &names);
        let mut expected = Expected::new(method, "api", &path);
        for (name, value) in params {
            expected = match method {
                "GET" | "DELETE" => expected.query(name, value),
                _ => expected.form(name, value),
            };
        }
        self.host.expect(expected, answer);
    }

    fn path(&self, path: &str) -> String {
        path.replace("{P}", &format!("projects/{PROJECT}"))
            .replace("{D}", &format!("projects/{PROJECT}/{}", self.flavour.definitions))
            .replace("{I}", &format!("projects/{PROJECT}/{}", self.flavour.instances))
    }

    /// The form of a page, as this version has it.
    pub fn page(&self, rows: Value) -> Value {
        let total = rows.as_array().map_or(0, Vec::len);
        let mut page =
            json!({"totalList": rows, "total": total, "totalPage": 1, "pageSize": 100, "currentPage": 1});
        page[if self.flavour.name == "3.1" { "start" } else { "pageNo" }] = json!(0);
        page
    }

    /// A definition's detail.
    pub fn detail(&self, version: i64, state: &str, mark: Option<&str>) -> Value {
        let params: Vec<Value> = mark
            .iter()
            .map(
                |mark| json!({"prop": "lakeport_workflow", "direct": "IN", "type": "VARCHAR", "value": mark}),
            )
            .collect();
        json!({
            self.flavour.definition: {
                "id": null, "code": CODE, "name": "daily", "version": version, "releaseState": state,
                "projectCode": PROJECT, "description": "", "executionType": "PARALLEL",
                "globalParams": Value::Array(params).to_string(),
            },
            self.flavour.relations: [
                {"preTaskCode": 0, "postTaskCode": 901}, {"preTaskCode": 901, "postTaskCode": 902},
            ],
            "taskDefinitionList": [
                {"name": "load", "code": 901, "version": 3, "taskType": "SHELL",
                 "taskParams": {"rawScript": "echo 1", "localParams": []}, "taskPriority": "HIGH",
                 "timeoutFlag": "OPEN", "timeout": 2, "failRetryTimes": 1, "failRetryInterval": 1},
                {"name": "sum", "code": 902, "version": 1, "taskType": "SHELL",
                 "taskParams": {"rawScript": "echo 2", "localParams": []}},
            ],
        })
    }

    /// A run in a list or a detail. What Lakeport gave it is shown as this version shows it in `start`.
    pub fn run(&self, id: i64, state: &str, key: Option<&str>) -> Value {
        let given = json!({"lakeport_run_key": key, "lakeport_run_cause": "manual"});
        let given_list = json!([{"prop": "lakeport_run_key", "value": key}, {"prop": "lakeport_run_cause", "value": "manual"}]);
        let command = match (self.flavour.name, key) {
            (_, None) => json!("{}"),
            ("3.3", _) => {
                json!(json!({"commandType": "START_PROCESS", "commandParams": given_list}).to_string())
            }
            _ => json!(json!({"StartParams": given.to_string()}).to_string()),
        };
        json!({
            "id": id, self.flavour.definition_code: CODE, "state": state, "name": "daily-1",
            "startTime": "2026-11-21 11:59:00", "endTime": "2026-11-21 11:59:30", "runTimes": 1,
            "commandType": "COMPLEMENT_DATA", "scheduleTime": "2026-11-20 00:00:00",
            "commandParam": command, "globalParams": null,
        })
    }
}

pub fn workflow_ref() -> WorkflowRef {
    WorkflowRef {
        id: ID,
        name: "daily".to_owned(),
        code: Some(CODE.to_string()),
        project: Some(PROJECT.to_string()),
        revision: None,
        state: Some(r#"{"tasks":{"71":901,"72":902},"version":4}"#.to_owned()),
    }
}

pub fn run_ref(id: &str) -> InstanceRef {
    InstanceRef { workflow: workflow_ref(), id: id.to_owned() }
}

pub fn text(text: &str) -> BodyPart {
    BodyPart::Text(text.to_owned())
}

/// A parameter by its spelling: `${name}` or `$[time]`.
pub fn value(spelled: &str, place: &str) -> BodyPart {
    let name = spelled[2..spelled.len() - 1].to_owned();
    let source = match spelled.starts_with("$[") {
        true => "time",
        false if name.starts_with("system.") => "built_in",
        false => "global",
    };
    BodyPart::Value(BodyValue {
        source: source.to_owned(),
        name,
        place: place.to_owned(),
        spelled: spelled.to_owned(),
    })
}

pub fn param(name: &str, value: &str) -> Param {
    Param { name: name.to_owned(), kind: "text".to_owned(), value: value.to_owned() }
}

pub fn task(id: u64, name: &str, kind: &str, body: Vec<BodyPart>) -> Task {
    let datasource = Datasource { id: 1, name: "shop".to_owned(), kind: "postgres".to_owned() };
    Task {
        id,
        name: name.to_owned(),
        kind: kind.to_owned(),
        body,
        datasource: (kind == "SQL").then_some(datasource),
        priority: "MEDIUM".to_owned(),
        timeout_s: 0,
        retries: 0,
        retry_interval_s: 0,
        settings: "{}".to_owned(),
    }
}

/// Two scripts, one after the other.
pub fn workflow() -> Workflow {
    Workflow {
        id: ID,
        name: "daily".to_owned(),
        description: String::new(),
        revision: "r1".to_owned(),
        version: 1,
        tasks: vec![
            task(71, "load", "SHELL", vec![text("echo 1")]),
            task(72, "sum", "SHELL", vec![text("echo 2")]),
        ],
        edges: vec![Edge { before: 71, after: 72 }],
        params: Vec::new(),
        schedule: None,
        concurrency: "parallel".to_owned(),
        extra: None,
    }
}
