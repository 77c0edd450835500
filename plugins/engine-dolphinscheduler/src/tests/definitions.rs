//! Lists of definitions, and their translation.

use lakeport_sdk::engine::{DefinitionQuery, Definitions, Error, Page, Source, web};
use lakeport_sdk::serde_json::{Value, json};

use super::{Server, param, task, text, value, workflow};
use crate::DolphinScheduler;
use crate::about;
use crate::config::Settings;
use crate::definition::{Parts, form};

fn query(keyword: &str, cursor: Option<&str>, limit: u32) -> DefinitionQuery {
    let page = Page { cursor: cursor.map(str::to_owned), limit };
    DefinitionQuery { project: None, keyword: Some(keyword.to_owned()), page }
}

#[test]
fn definitions_are_listed_whatever_their_case() {
    Server::each(|server| {
        let rows = json!([
            {"name": "Daily A", "code": 1, "releaseState": "ONLINE"},
            {"name": "other", "code": 2, "releaseState": "OFFLINE"},
            {"name": "daily b", "code": 3, "releaseState": "STRANGE"},
        ]);
        let mut seen = Vec::new();
        let mut cursor = None;
        loop {
            server.on("GET", "{D}", &[("pageNo", "1"), ("pageSize", "100")], server.page(rows.clone()));
            let query = query("DAILY", cursor.as_deref(), 1);
            let page = server.host.call(|| DolphinScheduler::entries(query)).unwrap();
            seen.extend(page.definitions.into_iter().map(|head| (head.code, head.release_state)));
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, [("1".into(), "ONLINE".into()), ("3".to_owned(), "UNKNOWN".to_owned())]);
    });
}

fn read(server: &Server, source: Source) -> Result<lakeport_sdk::engine::Definition, Error> {
    server.host.call(|| DolphinScheduler::read(source))
}

fn deployed(code: &str) -> Source {
    Source::Deployed(("77".to_owned(), code.to_owned()))
}

fn on_schedules(server: &Server, rows: Value) {
    let params = [(server.flavour.definition_code, "500"), ("pageNo", "1"), ("pageSize", "100")];
    server.on("GET", "{P}/schedules", &params, server.page(rows));
}

#[test]
fn a_definition_is_translated() {
    Server::each(|server| {
        let mut detail = server.detail(4, "ONLINE", None);
        detail[server.flavour.definition]["globalParams"] =
            json!(r#"[{"prop":"day","value":"$[yyyyMMdd]"}]"#);
        detail[server.flavour.definition]["executionType"] = json!("SERIAL_WAIT");
        let tasks = detail["taskDefinitionList"].as_array_mut().unwrap();
        tasks.push(json!({"name": "query", "code": 903, "taskType": "SQL", "taskParams": json!({
            "type": "POSTGRESQL", "datasource": 3, "sql": "SELECT '${day}'", "preStatements": ["DELETE FROM t;"],
        }).to_string()}));
        tasks.push(
            json!({"name": "wait", "code": 904, "taskType": "DEPENDENT", "taskParams": {"dependence": {}}}),
        );
        server.on("GET", "{D}/500", &[], detail);
        on_schedules(server, json!([super::schedules::row(server, 9, "ONLINE")]));
        let sources = json!([{"id": 3, "name": "shop", "type": "POSTGRESQL", "connectionParams": "{\"password\":\"x\"}"}]);
        server.on("GET", "datasources", &[("pageNo", "1"), ("pageSize", "100")], server.page(sources));
        let found = read(server, deployed("500")).unwrap();
        let workflow = &found.workflow;
        let names: Vec<&str> = workflow.tasks.iter().map(|task| task.name.as_str()).collect();
        assert_eq!(names, ["load", "sum", "query", "wait"]);
        assert_eq!(workflow.edges.iter().map(|edge| (edge.before, edge.after)).collect::<Vec<_>>(), [(1, 2)]);
        let load = &workflow.tasks[0];
        assert_eq!((load.timeout_s, load.retries, load.retry_interval_s), (120, 1, 60));
        assert_eq!((load.text().as_str(), load.priority.as_str()), ("echo 1", "HIGH"));
        let query = &workflow.tasks[2];
        assert_eq!(query.text(), "DELETE FROM t;\nSELECT '${day}'");
        assert_eq!(query.datasource.as_ref().map(|source| source.name.as_str()), Some("shop"));
        assert!(workflow.tasks[3].settings.contains("\"dependence\""));
        let codes: Vec<&str> = found.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["adjusted", "unknown_kept"]);
        assert_eq!((workflow.params.len(), workflow.concurrency.as_str()), (1, "wait"));
        let schedule = workflow.schedule.as_ref().unwrap();
        assert_eq!(
            (schedule.start, schedule.time_zone.as_str()),
            (super::schedules::START_MS, "Asia/Shanghai")
        );
    });
}

#[test]
fn what_lakeport_deployed_is_read_as_it_was_written() {
    let server = Server::new("3.1.1");
    let mut workflow = workflow();
    workflow.params = vec![param("day", "$[yyyyMMdd]")];
    workflow.tasks[0] = task(71, "load", "SHELL", vec![text("echo "), value("${day}", "script")]);
    let settings = server.host.call(|| Settings::read().unwrap());
    let (codes, versions, sources) = Default::default();
    let parts = Parts {
        flavour: server.flavour,
        settings: &settings,
        codes: &codes,
        versions: &versions,
        sources: &sources,
    };
    let form = form(&workflow, &parts).unwrap();
    let member = |name: &str| form.iter().find(|(known, _)| *known == name).unwrap().1.clone();
    let mut detail = server.detail(4, "ONLINE", None);
    detail["processDefinition"]["globalParams"] = json!(member("globalParams"));
    detail["taskDefinitionList"] = lakeport_sdk::serde_json::from_str(&member("taskDefinitionJson")).unwrap();
    server.on("GET", "{D}/500", &[], detail);
    on_schedules(&server, json!([]));
    let found = read(&server, deployed("500")).unwrap();
    assert_eq!(found.workflow.tasks[0].text(), "echo ${day}");
    let params: Vec<_> =
        found.workflow.params.iter().map(|one| (one.name.as_str(), one.value.as_str())).collect();
    assert_eq!(params, [("day", "$[yyyyMMdd]")]);
}

#[test]
fn unknown_and_foreign_documents_are_refused() {
    Server::each(|server| {
        server.refuse("GET", "{D}/999999999", &[], 50003, "process definition 999,999,999 does not exist");
        assert_eq!(read(server, deployed("999999999")).unwrap_err().code, "not_found");
        assert_eq!(read(server, deployed("simple-list")).unwrap_err().code, "not_found");
        for text in ["no document of yours", "[]", "{}"] {
            assert_eq!(read(server, Source::Document(text.to_owned())).unwrap_err().code, "invalid_input");
        }
        let export = json!([server.detail(4, "ONLINE", None)]).to_string();
        let found = read(server, Source::Document(export)).unwrap();
        assert_eq!((found.code.as_str(), found.workflow.tasks.len()), ("500", 2));
    });
}

#[test]
fn passwords_of_data_sources_are_masked() {
    let info = about::info();
    let rule = info.addresses[0].calls.iter().find(|rule| rule.call.starts_with("GET datasources")).unwrap();
    assert!(rule.mask.iter().any(|mask| mask == "/data/totalList/*/connectionParams"));
    let is_header = |injection: &web::Injection| injection.place == "header";
    assert!(info.auth.iter().all(|recipe| recipe.inject.iter().all(is_header)));
}
