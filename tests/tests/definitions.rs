//! Definitions of workflows: versions, export and import, publication, many at once (contract, sections 3.1 to 3.3).

use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{
    Lake, Response, Server, Store, binary, component, eventually, id_of, memory_bytes, named, refused, stores,
};
use serde_json::{Value, json};

const WORKFLOWS: &str = "/api/v1/workflows";
const SOON: Duration = Duration::from_secs(30);

fn path(id: i64) -> String {
    format!("{WORKFLOWS}/{id}")
}

/// A data source with three physical tables: a, b, c.
fn tables(lake: &Lake) -> (i64, [i64; 3]) {
    let source = lake.source("shop.db");
    lake.run("shop.db", "");
    let ids =
        ["a", "b", "c"].map(|name| lake.physical_table(source, name, &[("id", "INTEGER"), ("v", "TEXT")]));
    (source, ids)
}

/// A workflow of three tasks: load → copy → sum.
fn chain(lake: &Lake, name: &str) -> (i64, [i64; 3]) {
    let (source, [a, b, c]) = tables(lake);
    let id = lake.workflow(name);
    let tasks = [
        lake.task(id, "load", source, "INSERT INTO a VALUES (1, 'x')", [&[], &[a]]),
        lake.task(id, "copy", source, "INSERT INTO b\nSELECT * FROM a", [&[a], &[b]]),
        lake.task(id, "sum", source, "INSERT INTO c SELECT * FROM b", [&[b], &[c]]),
    ];
    (id, tasks)
}

fn compare(lake: &Lake, id: i64, v1: i64, v2: i64) -> Value {
    lake.server.post(&format!("{}/versions/compare", path(id)), &json!({ "v1": v1, "v2": v2 })).data()
}

fn export(server: &Server, id: i64) -> Value {
    server.get(&format!("{}/export-json", path(id))).data()["content"].clone()
}

/// Previews an import and imports it; returns the new workflow's id.
fn import(server: &Server, request: &Value) -> i64 {
    let preview = server.post(&format!("{WORKFLOWS}/import/preview"), request).data();
    assert_eq!(preview["canImport"], true, "{preview}");
    let mut request = request.clone();
    request["previewToken"] = preview["previewToken"].clone();
    let imported = server.post(&format!("{WORKFLOWS}/import/commit"), &request).data();
    imported["workflowId"].as_i64().expect("an id")
}

#[test]
fn versions_are_listed_and_compared() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [load, copy, sum]) = chain(&lake, "w");
        let schedule = json!({ "crontab": "0 0 4 * * ? *", "timezone": "UTC" });
        lake.server.put(&format!("{}/schedule", path(id)), &schedule).data();
        lake.server
            .put(&path(id), &json!({ "description": "new", "globalParams": [{ "name": "p", "value": "1" }] }))
            .data();
        let sql = json!({ "task": { "sqlContent": "INSERT INTO b\nSELECT id, v FROM a" } });
        lake.server.put(&format!("/api/v1/tasks/{copy}"), &sql).data();
        lake.server.delete(&format!("/api/v1/tasks/{sum}"));
        let page = lake.server.get(&format!("{}/versions?pageNum=2&pageSize=3", path(id))).data();
        assert_eq!((&page["total"], page["records"].as_array().map(Vec::len)), (&json!(8), Some(3)));
        let versions = page["records"].as_array().expect("records").iter();
        assert_eq!(
            versions.map(|one| one["version"].as_i64()).collect::<Vec<_>>(),
            [Some(5), Some(4), Some(3)]
        );
        assert_eq!(lake.server.get(&path(id)).data()["versionsTotal"], 8);
        refused(&lake.server.get(&format!("{}/versions", path(999))), 404, "not_found");

        let found = compare(&lake, id, 4, 8);
        assert_eq!(found["identical"], false);
        let fields = |member: &str| -> Vec<String> {
            let changes = found[member].as_array().expect("changes").iter();
            changes.map(|change| change["field"].as_str().expect("a field").to_owned()).collect()
        };
        assert_eq!(fields("workflow"), ["description", "globalParams"]);
        assert_eq!(fields("schedule"), ["crontab", "timezone", "failureStrategy", "warningType"]);
        assert_eq!(found["tasks"]["removed"][0]["taskId"], sum);
        assert_eq!(found["tasks"]["modified"][0]["taskId"], copy);
        assert_eq!(found["tasks"]["modified"][0]["changes"][0]["field"], "sqlContent");
        assert_eq!(found["edges"]["removed"], json!([{ "source": copy, "target": sum }]));
        let text = found["unifiedDiff"].as_str().expect("a text");
        for line in ["+++ b/tasks/copy", "-  SELECT * FROM a", "+  SELECT id, v FROM a", "+++ /dev/null"] {
            assert!(text.lines().any(|one| one == line), "{line} in {text}");
        }
        let back = compare(&lake, id, 8, 4);
        assert_eq!(back["tasks"]["added"][0]["taskName"], "sum");
        assert_eq!(compare(&lake, id, 8, 8)["identical"], true);
        let wrong =
            lake.server.post(&format!("{}/versions/compare", path(id)), &json!({ "v1": 1, "v2": 99 }));
        refused(&wrong, 404, "not_found");
        assert!(load < copy);
    }
}

#[test]
fn a_rollback_is_a_new_version_of_old_content() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [load, copy, sum]) = chain(&lake, "w");
        lake.deploy(id);
        lake.server
            .put(&format!("/api/v1/tasks/{copy}"), &json!({ "task": { "taskName": "sum it" } }))
            .data();
        lake.server.delete(&format!("/api/v1/tasks/{sum}"));
        lake.server.put(&format!("/api/v1/tasks/{load}"), &json!({ "task": { "taskName": "sum" } })).data();
        lake.server.put(&path(id), &json!({ "name": "other name" })).data();
        assert_eq!(lake.server.get(&path(id)).data()["publishStatus"], "outdated");
        let answer = lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({}));
        let view = answer.data();
        assert_eq!(view, json!({ "workflowId": id, "version": 9, "rolledBackTo": 4, "warnings": [] }));
        let detail = lake.server.get(&path(id)).data();
        let names: Vec<&str> = detail["tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|task| task["taskName"].as_str().expect("a name"))
            .collect();
        assert_eq!(
            (names, &detail["name"]),
            (vec!["load", "copy", "sum"], &json!("w")),
            "a task keeps its id"
        );
        assert_eq!(detail["tasks"][2]["id"], sum);
        assert_eq!(detail["edges"].as_array().map(Vec::len), Some(2));
        assert_eq!(detail["publishStatus"], "published", "it is again what is deployed");
        assert_eq!(compare(&lake, id, 4, 9)["identical"], true);
        let digest = |version: i64| {
            let versions = detail["versions"].as_array().expect("versions").iter();
            versions.clone().find(|one| one["version"] == version).expect("it")["digest"].clone()
        };
        assert_eq!(digest(4), digest(9));
        let again = lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({})).data();
        assert_eq!(again["version"], 9, "equal content makes no version");
        refused(
            &lake.server.post(&format!("{}/versions/99/rollback", path(id)), &json!({})),
            404,
            "not_found",
        );
        lake.workflow("other name");
        let taken = lake.server.post(&format!("{}/versions/8/rollback", path(id)), &json!({}));
        refused(&taken, 409, "name_taken");
    }
}

#[test]
fn a_rollback_says_what_is_gone() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [_, copy, _]) = chain(&lake, "w");
        let table = lake.server.get(&format!("/api/v1/tasks/{copy}")).data()["outputTableIds"][0].clone();
        // All tasks leave the workflow, and then what they refer to goes.
        for task in lake.server.get(&path(id)).data()["tasks"].as_array().expect("tasks") {
            assert_eq!(lake.server.delete(&format!("/api/v1/tasks/{}", task["id"])).status, 200);
        }
        let table = format!("/api/v1/tables/{table}");
        let confirmed = |verb: &str, name: &str| {
            lake.server.post(&format!("{table}/{verb}?confirmTableName={name}"), &json!({})).data()
        };
        let deleted = confirmed("soft-delete", "b");
        confirmed("purge-now", deleted["tableName"].as_str().expect("a name"));
        let view = lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({})).data();
        let warnings = view["warnings"].to_string();
        assert!(warnings.contains("`copy`") && warnings.contains("main.b"), "{warnings}");
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(detail["tasks"][1]["id"], copy);
        assert_eq!(detail["tasks"][1]["outputTableIds"], json!([]));
        assert_eq!(detail["edges"].as_array().map(Vec::len), Some(1), "load → copy");
    }
}

#[test]
fn an_export_is_the_same_text_on_every_server() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, _) = chain(&lake, "daily \"load\"/日报");
        let source = lake.server.get("/api/v1/datasources?pageSize=50").data();
        assert!(source.to_string().contains("shop.db"));
        let sql = json!({ "task": { "workflowId": id, "taskName": "from sql", "taskType": "SQL", "datasourceId":
            lake.server.get(&path(id)).data()["tasks"][0]["datasourceId"],
            "sqlContent": "INSERT INTO c SELECT ${p}, '$[yyyy-MM-dd-1]' FROM a", "priority": "LOWEST" } });
        lake.server.put(&path(id), &json!({ "globalParams": [{ "name": "p", "value": "7" }] })).data();
        lake.server.post("/api/v1/tasks", &sql).data();
        let schedule = json!({ "crontab": "0 0 4 * * ? *", "timezone": "Asia/Shanghai",
            "startTime": "2026-01-01 00:00:00", "failureStrategy": "END" });
        lake.server.put(&format!("{}/schedule", path(id)), &schedule).data();
        let file = |server: &Server, id: i64| {
            let answer = server.get(&format!("{}/export-json?download=true", path(id)));
            let name = answer.header("content-disposition").expect("a name").to_owned();
            (String::from_utf8(answer.body.clone()).expect("text"), name)
        };
        let (text, name) = file(&lake.server, id);
        assert!(name.starts_with("attachment; filename*=UTF-8''daily%20%5Fload%5F"), "{name}");
        let schema = lake.server.get("/schemas/lakeport.workflow-1.json").json();
        let schema = jsonschema::validator_for(&schema).expect("a schema");
        let content: Value = serde_json::from_str(&text).expect("JSON");
        assert!(schema.is_valid(&content), "{text}");
        let members: Vec<&String> = content.as_object().expect("an object").keys().collect();
        assert_eq!(members, ["format", "workflow", "tasks", "edges", "schedule"]);
        assert_eq!(export(&lake.server, id), content);
        for hidden in ["\"id\"", "Id\"", "sqlite:", "127.0.0.1", lake.files.path().to_str().expect("a path")]
        {
            assert!(!text.contains(hidden), "{hidden} in {text}");
        }
        // An empty server has neither the data source nor the tables.
        let empty = Server::start(&store);
        for definition in [content.clone(), json!(text)] {
            let other = import(&empty, &json!({ "source": "json", "definition": definition }));
            assert_eq!(file(&empty, other).0, text);
            let detail = empty.get(&path(other)).data();
            let first = &detail["versions"][0];
            assert_eq!((&first["version"], &first["source"]), (&json!(1), &json!("import")));
            assert_eq!(detail["tasks"][0]["unresolved"]["datasource"], "shop.db");
            assert_eq!(empty.delete(&path(other)).status, 200);
        }
        // Beside the original it gets the same tables and edges.
        let again =
            import(&lake.server, &json!({ "source": "json", "definition": content, "name": "again" }));
        let (one, other) = (lake.server.get(&path(id)).data(), lake.server.get(&path(again)).data());
        assert_eq!(one["edges"].as_array().map(Vec::len), other["edges"].as_array().map(Vec::len));
        assert_eq!(other["tasks"][0]["unresolved"], Value::Null);
        assert_eq!(other["schedule"]["startTime"], one["schedule"]["startTime"]);
        let taken = json!({ "source": "json", "definition": content });
        let preview = lake.server.post(&format!("{WORKFLOWS}/import/preview"), &taken).data();
        assert_eq!(
            (&preview["canImport"], &preview["errors"][0]["field"]),
            (&json!(false), &json!("workflow.name"))
        );
    }
}

#[test]
fn an_import_waits_for_missing_tables() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, _) = chain(&lake, "w");
        let content = export(&lake.server, id);
        let other = Lake::start(&store);
        let copy = import(&other.server, &json!({ "source": "json", "definition": content }));
        refused(&other.server.post(&format!("{}/publish", path(copy)), &json!({})), 409, "cannot_run");
        tables(&other);
        let request = json!({ "source": "json", "definition": content, "workflowId": copy });
        let preview = other.server.post(&format!("{WORKFLOWS}/import/preview"), &request).data();
        assert_eq!(preview["tables"]["matched"].as_array().map(Vec::len), Some(3));
        assert_eq!(preview["changes"]["tasks"]["modified"].as_array().map(Vec::len), Some(3), "{preview}");
        assert_eq!(import(&other.server, &request), copy);
        let detail = other.server.get(&path(copy)).data();
        assert_eq!(
            (&detail["currentVersion"], detail["edges"].as_array().map(Vec::len)),
            (&json!(2), Some(2))
        );
        assert_eq!(import(&other.server, &request), copy);
        assert_eq!(
            other.server.get(&path(copy)).data()["currentVersion"],
            2,
            "equal content makes no version"
        );
        assert_eq!(other.deploy(copy)["publishStatus"], "published");
    }
}

fn document(tasks: Value) -> Value {
    json!({ "format": "lakeport.workflow/1", "workflow": { "name": "made by hand" }, "tasks": tasks })
}

fn errors(server: &Server, definition: &Value) -> Vec<String> {
    let request = json!({ "source": "json", "definition": definition });
    let preview = server.post(&format!("{WORKFLOWS}/import/preview"), &request).data();
    assert_eq!(preview["previewToken"], Value::Null, "{preview}");
    let errors = preview["errors"].as_array().expect("errors").iter();
    errors
        .map(|error| format!("{}: {}", error["field"].as_str().unwrap(), error["message"].as_str().unwrap()))
        .collect()
}

#[test]
fn an_import_reports_every_error_with_its_path() {
    let store = &stores()[0];
    let lake = Lake::start(store);
    let (source, _) = tables(&lake);
    let table = |name: &str| json!([{ "datasource": "shop.db", "dbName": "main", "tableName": name }]);
    let circle = document(json!([
        { "taskName": "one", "taskType": "SQL", "datasource": "shop.db", "sqlContent": "SELECT 1",
            "inputTables": table("a"), "outputTables": table("new") },
        { "taskName": "two", "taskType": "SQL", "datasource": "shop.db", "sqlContent": "SELECT ${nothing}",
            "inputTables": table("new"), "outputTables": table("a") },
        { "taskName": "two", "taskType": "SQL", "timeout": "long", "priority": "SOON" },
    ]));
    let found = errors(&lake.server, &circle);
    for part in [
        "tasks[1].sqlContent: ",
        "tasks[2].timeout: must be an integer",
        "tasks[2].priority: ",
        "tasks[2].taskName: tasks[1] has this name already",
        "tasks[2].sqlContent: ",
        "tasks: are a circle",
    ] {
        assert!(found.iter().any(|error| error.starts_with(part)), "{part} in {found:#?}");
    }
    assert!(
        found.iter().any(|error| error.contains("one → two → one") || error.contains("two → one → two")),
        "{found:?}"
    );
    let commit = json!({ "source": "json", "definition": circle, "previewToken": "x" });
    let refusal = lake.server.post(&format!("{WORKFLOWS}/import/commit"), &commit);
    refused(&refusal, 400, "invalid_input");
    assert!(named(&refusal).contains(&"tasks[2].timeout".to_owned()));
    let no_token = json!({ "source": "json", "definition": document(json!([])) });
    assert_eq!(named(&lake.server.post(&format!("{WORKFLOWS}/import/commit"), &no_token)), ["previewToken"]);
    assert_eq!(
        named(&lake.server.post(&format!("{WORKFLOWS}/import/preview"), &json!({ "source": "json" }))),
        ["definition"]
    );
    assert!(source > 0);
}

#[test]
fn a_hostile_definition_costs_a_clear_error() {
    let store = &stores()[0];
    let lake = Lake::start(store);
    let many = vec![json!({ "taskName": "t", "taskType": "SQL" }); 100_000];
    let found = errors(
        &lake.server,
        &document(json!(
            many.into_iter()
                .map(|mut task| {
                    task.as_object_mut().unwrap().remove("taskType");
                    task
                })
                .collect::<Vec<_>>()
        )),
    );
    assert_eq!(found, ["tasks: has 100000 items, the limit is 5000"]);
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(errors(&lake.server, &json!(deep))[0].contains("is no document of the format"));
    let preview = format!("{WORKFLOWS}/import/preview");
    let sent = |definition: &str| {
        let body = format!(r#"{{"source":"json","definition":{definition}}}"#);
        let json = [("Content-Type", "application/json")];
        let answer = lake.server.client().send("POST", &preview, &json, body.as_bytes()).data();
        (body.len() as u64, answer["errors"][0]["message"].as_str().expect("an error").to_owned())
    };
    assert!(sent(&deep).1.starts_with("is no document of the format"));
    let text = errors(&lake.server, &json!("{\n]"));
    assert_eq!(text, ["definition: is a text that is not JSON (line 2, column 1)"]);
    let within = |list: &str| {
        format!(r#"{{"format":"lakeport.workflow/1","workflow":{{"name":"a"}},"tasks":{list}}}"#)
    };
    let of = |item: &str| format!("[{}{item}]", format!("{item},").repeat(4_000_000 / (item.len() + 1)));
    for hostile in [
        of("1"),
        of("{}"),
        of(r#"{"a":{"b":[{}]}}"#),
        within(&of("[]")),
        within(&of(r#"{"taskName":""}"#)),
        within(&format!("[{}]", of("{}"))),
        within(&format!(r#"[{{"inputTables":{}}}]"#, of("7"))),
        format!("{{{}}}", (0..200_000).map(|at| format!(r#""{at}":[{{}}]"#)).collect::<Vec<_>>().join(",")),
    ] {
        let before = memory_bytes(lake.server.pid(), "VmHWM");
        let (body, told) = sent(&hostile);
        let more = memory_bytes(lake.server.pid(), "VmHWM") - before;
        println!("{} KiB more for a body of {} KiB: {told}", more >> 10, body >> 10);
        assert!(more <= 4 * body, "{more} bytes for a body of {body}: {}", &hostile[..100]);
    }
    for wrong in [
        json!([]),
        json!(7),
        json!("[]"),
        json!({}),
        json!({ "format": "lakeport.workflow/9" }),
        json!({ "format": [] }),
        json!({ "format": "lakeport.workflow/1" }),
        json!({ "format": "lakeport.workflow/1", "workflow": [] }),
    ] {
        assert_eq!(errors(&lake.server, &wrong).len(), 1, "{wrong}");
    }
    let nul = document(json!([{ "taskName": "a\u{0}b", "taskType": "SQL" }])).to_string();
    assert!(errors(&lake.server, &json!(nul))[0].contains("U+0000"));
    let task = json!({ "taskName": "x".repeat(101), "taskType": "SQL", "sqlContent": "SELECT 1", "datasource": "nowhere" });
    assert_eq!(
        errors(&lake.server, &document(json!([task]))),
        ["tasks[0].taskName: must have 1 to 100 characters"]
    );
    let large = json!({ "source": "json", "definition": "x".repeat(5 * 1024 * 1024) });
    refused(&lake.server.post(&preview, &large), 413, "body_too_large");
    assert_eq!(lake.server.get(WORKFLOWS).data()["total"], 0);
}

#[test]
fn two_thousand_tasks_are_imported_at_once() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (_, [a, b, _]) = tables(&lake);
        let table = |name: &str| json!([{ "datasource": "shop.db", "dbName": "main", "tableName": name }]);
        let task = |at: usize| {
            json!({ "taskName": format!("task {at:04}"), "taskType": "SQL", "datasource": "shop.db",
                "sqlContent": format!("INSERT INTO b SELECT id, '{at}' FROM a"),
                "inputTables": table("a"), "outputTables": table("b") })
        };
        let definition = document(json!((0..2_000).map(task).collect::<Vec<_>>()));
        let begun = Instant::now();
        let id = import(&lake.server, &json!({ "source": "json", "definition": definition }));
        println!("2,000 tasks previewed and imported in {:?}", begun.elapsed());
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(
            (detail["tasks"].as_array().map(Vec::len), &detail["currentVersion"]),
            (Some(2_000), &json!(1))
        );
        assert_eq!(detail["tasks"][1_999]["inputTableIds"], json!([a]));
        assert_eq!(detail["tasks"][1_999]["outputTableIds"], json!([b]));
        let mut changed = definition.clone();
        changed["tasks"].as_array_mut().expect("tasks").truncate(10);
        changed["tasks"][3]["retryTimes"] = json!(3);
        import(&lake.server, &json!({ "source": "json", "definition": changed, "workflowId": id }));
        let found = compare(&lake, id, 1, 2);
        assert_eq!(found["tasks"]["removed"].as_array().map(Vec::len), Some(1_990));
        assert_eq!(found["tasks"]["modified"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            lake.server.post(&format!("{}/versions/1/rollback", path(id)), &json!({})).data()["version"],
            3
        );
        assert_eq!(compare(&lake, id, 1, 3)["identical"], true);
    }
}

/// A server with the engine `moody`, in this mood.
fn moody(store: &Store, mood: &Value) -> Lake {
    let lake = Lake::start(store);
    let staged =
        lake.server.post_bytes("/api/v1/plugins", "application/wasm", &component("engine_moody")).data();
    let activate = json!({ "digest": staged["digest"] });
    lake.server.post("/api/v1/plugins/engine:moody/activate", &activate).data();
    lake.server
        .post("/api/v1/engines", &json!({ "name": "moody", "plugin": "moody", "config": mood }))
        .data();
    lake
}

fn set_mood(lake: &Lake, mood: &Value) {
    lake.server.put("/api/v1/engines/moody", &json!({ "config": mood })).data();
}

/// A workflow of one task on the engine `moody`.
fn on_moody(lake: &Lake, name: &str) -> i64 {
    let id = id_of(&lake.server.post(WORKFLOWS, &json!({ "name": name, "schedulerEngine": "moody" })).data());
    let source = lake.source(&format!("{name}.db"));
    lake.task(id, "one", source, "SELECT 1", [&[], &[]]);
    id
}

#[test]
fn definitions_of_an_engine_are_imported() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, _) = chain(&lake, "w");
        lake.deploy(id);
        let list = lake.server.get(&format!("{WORKFLOWS}/import/scheduler?keyword=W")).data();
        let head = &list["records"][0];
        assert_eq!(
            (&list["total"], &head["workflowId"], &head["imported"]),
            (&json!(1), &json!(id), &json!(true))
        );
        assert_eq!((&head["releaseState"], &head["schedulerEngine"]), (&json!("OFFLINE"), &json!("local")));
        let request =
            json!({ "source": "scheduler", "workflowCode": head["workflowCode"], "name": "taken over" });
        let preview = lake.server.post(&format!("{WORKFLOWS}/import/preview"), &request).data();
        assert_eq!(preview["tables"]["matched"].as_array().map(Vec::len), Some(3), "{preview}");
        assert_eq!(preview["edges"].as_array().map(Vec::len), Some(2));
        let copy = import(&lake.server, &request);
        let of = |id: i64| {
            let mut content = export(&lake.server, id);
            content["workflow"]["name"] = Value::Null;
            content["tasks"]
                .as_array_mut()
                .expect("tasks")
                .iter_mut()
                .for_each(|task| task["tablesFromSql"] = Value::Null);
            content
        };
        assert_eq!(of(copy), of(id));
        let unknown = json!({ "source": "scheduler", "workflowCode": "999" });
        refused(&lake.server.post(&format!("{WORKFLOWS}/import/preview"), &unknown), 404, "not_found");
        refused(
            &lake.server.get(&format!("{WORKFLOWS}/import/scheduler?schedulerEngine=none")),
            400,
            "invalid_input",
        );
    }
}

#[test]
fn unknown_tasks_of_an_engine_are_kept() {
    let store = &stores()[0];
    let lake = moody(store, &json!({}));
    let list = lake.server.get(&format!("{WORKFLOWS}/import/scheduler?schedulerEngine=moody")).data();
    assert_eq!(
        (&list["records"][0]["projectCode"], &list["records"][0]["imported"]),
        (&json!(5), &json!(false))
    );
    let from_engine =
        json!({ "source": "scheduler", "schedulerEngine": "moody", "projectCode": 5, "workflowCode": "77" });
    let preview = lake.server.post(&format!("{WORKFLOWS}/import/preview"), &from_engine).data();
    assert_eq!((&preview["name"], &preview["canImport"]), (&json!("made there"), &json!(true)));
    let warnings = preview["warnings"].to_string();
    for part in ["PIGEON is kept as it is", "edges[0]", "is no type of the engine"] {
        assert!(warnings.contains(part), "{part} in {warnings}");
    }
    // The definition changes between preview and import.
    let mut commit = from_engine.clone();
    commit["previewToken"] = preview["previewToken"].clone();
    set_mood(&lake, &json!({ "definitions": "changed" }));
    refused(&lake.server.post(&format!("{WORKFLOWS}/import/commit"), &commit), 409, "preview_stale");
    set_mood(&lake, &json!({}));
    let imported = lake.server.post(&format!("{WORKFLOWS}/import/commit"), &commit).data();
    let detail = lake.server.get(&path(imported["workflowId"].as_i64().expect("an id"))).data();
    assert_eq!(
        (&detail["tasks"][1]["taskType"], &detail["tasks"][1]["sqlContent"]),
        (&json!("PIGEON"), &json!("{\"to\":\"roost\"}"))
    );
    let renamed = json!({ "task": { "taskName": "send it" } });
    let task = lake.server.put(&format!("/api/v1/tasks/{}", detail["tasks"][1]["id"]), &renamed).data();
    assert_eq!(task["taskType"], "PIGEON");
    // A file that the engine exported.
    let file = json!({ "source": "json", "schedulerEngine": "moody", "definition": { "moody": 1 }, "name": "by file" });
    assert_eq!(lake.server.post(&format!("{WORKFLOWS}/import/preview"), &file).data()["canImport"], true);
    let wrong = json!({ "source": "json", "schedulerEngine": "moody", "definition": { "other": 1 } });
    let preview = lake.server.post(&format!("{WORKFLOWS}/import/preview"), &wrong).data();
    assert!(
        preview["errors"][0]["message"].as_str().expect("a message").contains("no export of mine"),
        "{preview}"
    );
    set_mood(&lake, &json!({ "definitions": "unreachable" }));
    refused(
        &lake.server.post(&format!("{WORKFLOWS}/import/preview"), &from_engine),
        502,
        "engine_unreachable",
    );
}

#[test]
fn what_cannot_run_is_reported_and_not_published() {
    for store in stores() {
        let lake = moody(&store, &json!({}));
        let (source, _) = tables(&lake);
        let id = lake.workflow("w");
        let task = json!({ "task": { "workflowId": id, "taskName": "broken", "taskType": "SQL", "datasourceId": source,
            "sqlContent": "SELECT 1;\nSELEC 2 FROM" } });
        let saved = lake.server.post("/api/v1/tasks", &task).data();
        let warning = &saved["warnings"][0];
        assert_eq!(
            (&warning["field"], &warning["line"], &warning["column"]),
            (&json!("task.sqlContent"), &json!(2), &json!(1)),
            "{saved}"
        );
        let preview = lake.server.get(&format!("{}/publish/preview", path(id))).data();
        assert_eq!(
            (&preview["canPublish"], &preview["firstDeployment"], &preview["v1"]),
            (&json!(false), &json!(true), &Value::Null)
        );
        assert_eq!(
            (&preview["errors"][0]["taskId"], &preview["errors"][0]["line"]),
            (&saved["id"], &json!(2)),
            "{preview}"
        );
        assert_eq!(preview["tasks"]["added"][0]["taskName"], "broken");
        let refusal = lake.server.post(&format!("{}/publish", path(id)), &json!({}));
        refused(&refusal, 409, "cannot_run");
        assert_eq!(refusal.json()["details"][0]["field"], "tasks[broken].sqlContent");
        let mended = json!({ "task": { "sqlContent": "SELECT 2" } });
        let saved = lake.server.put(&format!("/api/v1/tasks/{}", saved["id"]), &mended).data();
        assert_eq!(saved["warnings"], json!([]));
        let commits = json!({ "task": { "sqlContent": "SELECT 2; COMMIT" } });
        let saved = lake.server.put(&format!("/api/v1/tasks/{}", saved["id"]), &commits).data();
        let warning = saved["warnings"][0]["message"].as_str().expect("a message");
        assert!(warning.contains("COMMIT") && warning.ends_with("cannot be published"), "{warning}");
        refused(&lake.server.post(&format!("{}/publish", path(id)), &json!({})), 409, "cannot_run");
        lake.server.put(&format!("/api/v1/tasks/{}", saved["id"]), &mended).data();
        lake.deploy(id);
        let preview = lake.server.get(&format!("{}/publish/preview", path(id))).data();
        assert_eq!(
            (&preview["identical"], &preview["firstDeployment"], &preview["warnings"]),
            (&json!(true), &json!(false), &json!([]))
        );
        // An engine that does not run a task of this type on this data source.
        let other = on_moody(&lake, "m");
        let task = json!({ "task": { "workflowId": other, "taskName": "copy", "taskType": "COPY", "datasourceId": source,
            "sqlContent": "SELECT 1" } });
        let saved = lake.server.post("/api/v1/tasks", &task).data();
        assert_eq!(saved["warnings"][0]["field"], "task.datasourceId");
        let refusal = lake.server.post(&format!("{}/publish", path(other)), &json!({}));
        refused(&refusal, 409, "cannot_run");
        assert_eq!(refusal.json()["details"][0]["field"], "tasks[copy].datasourceId");
    }
}

#[test]
fn workflows_are_listed_by_the_state_of_their_publication() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, _) = chain(&lake, "w");
        let never = lake.workflow("empty");
        let list = |status: &str| {
            let page = lake.server.get(&format!("/api/v1/workflows?publishStatus={status}")).data();
            let ids = page["records"].as_array().expect("records").iter().map(|one| one["id"].clone());
            (page["total"].clone(), ids.collect::<Vec<_>>())
        };
        assert_eq!(list("never"), (json!(2), vec![json!(never), json!(id)]));
        let record = lake.server.post(&format!("{}/publish", path(id)), &json!({ "comment": "go" })).data();
        assert_eq!(list("pending"), (json!(1), vec![json!(id)]));
        let decision = json!({ "status": "REJECTED", "comment": "no" });
        let decide = format!("{}/publish/{}/approve", path(id), record["recordId"]);
        lake.server.post(&decide, &decision).data();
        assert_eq!(list("pending"), (json!(0), vec![]));
        lake.deploy(id);
        assert_eq!(list("published"), (json!(1), vec![json!(id)]));
        refused(&lake.server.get("/api/v1/workflows?publishStatus=some"), 400, "invalid_input");
    }
}

#[test]
fn a_preview_shows_what_the_engine_has() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [load, ..]) = chain(&lake, "w");
        lake.deploy(id);
        let schedule = json!({ "crontab": "0 0 4 * * ? *", "timezone": "UTC" });
        lake.server.put(&format!("{}/schedule", path(id)), &schedule).data();
        assert_eq!(lake.server.get(&path(id)).data()["publishStatus"], "published");
        let preview = || lake.server.get(&format!("{}/publish/preview", path(id))).data();
        assert_eq!(preview()["identical"], true, "the engine has the schedule already");
        lake.server.put(&format!("/api/v1/tasks/{load}"), &json!({ "task": { "timeout": 9 } })).data();
        let found = preview();
        assert_eq!((&found["v1"], &found["v2"]), (&json!(4), &json!(6)));
        assert_eq!(
            found["tasks"]["modified"][0]["changes"][0],
            json!({ "field": "timeout", "before": 0, "after": 9 })
        );
        assert_eq!(lake.server.get(&path(id)).data()["publishStatus"], "outdated");
        let of_version =
            |version: i64| lake.server.get(&format!("{}/publish/preview?version={version}", path(id)));
        assert_eq!(of_version(4).data()["identical"], true, "it is what is deployed");
        refused(&of_version(99), 404, "not_found");
        let hides = "SELECT 1 /*\u{202e} \u{2066}a\u{2069} */";
        lake.server.put(&format!("/api/v1/tasks/{load}"), &json!({ "task": { "sqlContent": hides } })).data();
        let warning = &preview()["warnings"][0];
        assert!(warning["message"].as_str().expect("a text").contains("the first is U+202E"), "{warning}");
        assert_eq!((&warning["line"], &warning["column"]), (&json!(1), &json!(12)));
        let shown = json!({ "task": { "sqlContent": "INSERT INTO a VALUES (1, 'x')" } });
        lake.server.put(&format!("/api/v1/tasks/{load}"), &shown).data();
        lake.server.put(&format!("/api/v1/tasks/{load}"), &json!({ "task": { "timeout": 0 } })).data();
        assert_eq!(
            lake.server.get(&path(id)).data()["publishStatus"],
            "published",
            "it is again what is deployed"
        );
        // A rollback leaves the engine's schedule alone, so it needs a publication.
        lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({})).data();
        let detail = lake.server.get(&path(id)).data();
        assert_eq!((&detail["schedule"], &detail["publishStatus"]), (&Value::Null, &json!("outdated")));
        assert_eq!(preview()["schedule"].as_array().map(Vec::len), Some(4));
    }
}

fn approve(server: &Server, id: i64, record: &Value) -> Response {
    let approve = format!("{}/publish/{record}/approve", path(id));
    server.post(&approve, &json!({ "status": "APPROVED" }))
}

/// How often the engine was asked to deploy.
fn deployments(lake: &Lake) -> usize {
    let lines = lake.server.get("/api/v1/plugins/engine:moody/logs").data();
    lines.as_array().expect("lines").iter().filter(|line| line["message"] == "deploying").count()
}

#[test]
fn one_of_many_approvals_decides() {
    for store in stores() {
        let lake = moody(&store, &json!({}));
        let id = on_moody(&lake, "m");
        let record =
            lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        let answers: Vec<Response> = thread::scope(|scope| {
            let all: Vec<_> = (0..12).map(|_| scope.spawn(|| approve(&lake.server, id, &record))).collect();
            all.into_iter().map(|one| one.join().expect("an answer")).collect()
        });
        let count = |status: u16| answers.iter().filter(|answer| answer.status == status).count();
        assert_eq!((count(200), count(409)), (1, 11), "{answers:?}");
        eventually("it is deployed", SOON, || {
            (lake.server.get(&path(id)).data()["publishStatus"] == "published").then_some(())
        });
        assert_eq!(deployments(&lake), 1);
    }
}

#[test]
fn an_engine_that_is_away_is_asked_again() {
    for store in stores() {
        for mood in ["unreachable", "timeout"] {
            let lake = moody(&store, &json!({ "deploy": mood }));
            let id = on_moody(&lake, "m");
            let record =
                lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
            assert_eq!(approve(&lake.server, id, &record).data()["deployment"]["state"], "pending");
            lake.server.put(&path(id), &json!({ "description": "later" })).data();
            set_mood(&lake, &json!({}));
            let detail = eventually("it is deployed", SOON, || {
                let detail = lake.server.get(&path(id)).data();
                (detail["publications"][0]["deployment"]["state"] == "success").then_some(detail)
            });
            assert_eq!(
                (&detail["publishedVersion"], &detail["publishStatus"]),
                (&json!(2), &json!("outdated"))
            );
            assert!(deployments(&lake) > 1);
        }
        let lake = moody(&store, &json!({ "deploy": "refused" }));
        let id = on_moody(&lake, "m");
        let record =
            lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        approve(&lake.server, id, &record).data();
        let failed = eventually("it failed", SOON, || {
            let detail = lake.server.get(&path(id)).data();
            (detail["publishStatus"] == "failed").then_some(detail)
        });
        assert_eq!(failed["publications"][0]["deployment"]["error"], "a run is active");
        set_mood(&lake, &json!({}));
        approve(&lake.server, id, &record).data();
        eventually("it is deployed", SOON, || {
            (lake.server.get(&path(id)).data()["publishStatus"] == "published").then_some(())
        });
    }
}

#[test]
fn a_deleted_workflow_leaves_its_engine_later() {
    for store in stores() {
        let mut lake = moody(&store, &json!({}));
        let id = on_moody(&lake, "m");
        lake.deploy(id);
        set_mood(&lake, &json!({ "remove": "refused" }));
        refused(&lake.server.delete(&path(id)), 502, "engine_failed");
        assert_eq!(lake.server.get(&path(id)).data()["status"], "offline", "nothing is lost");
        set_mood(&lake, &json!({ "remove": "unreachable" }));
        let left = lake.server.delete(&format!("{}?cascadeDeleteTasks=true", path(id))).data();
        assert_eq!(
            (&left["workflowId"], &left["workflowCode"]),
            (&json!(id), &json!(format!("m{id}"))),
            "{left}"
        );
        refused(&lake.server.get(&path(id)), 404, "not_found");
        assert_eq!(lake.server.get("/api/v1/tasks").data()["total"], 0);
        let pending = |lake: &Lake| lake.server.get(&format!("{WORKFLOWS}/pending-removal")).data();
        let listed = &pending(&lake)[0];
        assert_eq!(
            (&listed["schedulerEngine"], &listed["error"]),
            (&json!("moody"), &json!("the scheduler is away"))
        );
        // Its name is free at once.
        let again = on_moody(&lake, "m 2");
        lake.server.put(&path(again), &json!({ "name": "m" })).data();
        lake.server.kill();
        lake.server.run();
        assert_eq!(pending(&lake).as_array().map(Vec::len), Some(1), "a killed server forgets none");
        refused(&lake.server.delete("/api/v1/engines/moody"), 409, "in_use");
        set_mood(&lake, &json!({ "remove": "later" }));
        set_mood(&lake, &json!({}));
        eventually("it is removed", SOON, || (pending(&lake) == json!([])).then_some(()));
        assert_eq!(lake.server.delete(&path(again)).data(), Value::Null, "it was never deployed");
        let last = on_moody(&lake, "m 3");
        lake.deploy(last);
        set_mood(&lake, &json!({ "remove": "timeout" }));
        lake.server.delete(&path(last)).data();
        let removal = format!("{WORKFLOWS}/pending-removal/{last}");
        assert_eq!(lake.server.delete(&removal).status, 200);
        refused(&lake.server.delete(&removal), 404, "not_found");
        assert_eq!(lake.server.delete("/api/v1/engines/moody").status, 200);
    }
}

#[test]
fn many_workflows_have_each_their_outcome() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, _) = chain(&lake, "w");
        let copy = id_of(&lake.server.post(&format!("{}/copy", path(id)), &json!({})).data());
        let detail = lake.server.get(&path(copy)).data();
        assert_eq!(
            (&detail["name"], &detail["status"], detail["edges"].as_array().map(Vec::len)),
            (&json!("w copy"), &json!("draft"), Some(2))
        );
        assert_eq!(detail["currentVersion"], 1);
        let named_copy = lake.server.post(&format!("{}/copy", path(id)), &json!({ "name": "third" })).data();
        assert_eq!(lake.server.post(&format!("{}/copy", path(id)), &json!({})).data()["name"], "w copy 2");
        refused(
            &lake.server.post(&format!("{}/copy", path(id)), &json!({ "name": "third" })),
            409,
            "name_taken",
        );
        let empty = lake.workflow("empty");
        let batch = |verb: &str, ids: &[i64]| {
            lake.server.post(&format!("{WORKFLOWS}/batch/{verb}"), &json!({ "workflowIds": ids }))
        };
        let published = batch("publish", &[id, copy, empty, 999]).data();
        assert_eq!((&published["succeeded"], &published["failed"]), (&json!(2), &json!(2)));
        let results = published["results"].as_array().expect("results");
        assert_eq!((&results[0]["data"]["status"], &results[0]["error"]), (&json!("PENDING"), &Value::Null));
        assert_eq!(
            (&results[2]["error"]["error"], &results[2]["error"]["code"]),
            (&json!("no_tasks"), &json!(409))
        );
        assert_eq!((&results[3]["workflowId"], &results[3]["error"]["code"]), (&json!(999), &json!(404)));
        for id in [id, copy] {
            let record = lake.server.get(&path(id)).data()["publications"][0]["recordId"].clone();
            approve(&lake.server, id, &record).data();
            lake.server.put(&format!("{}/schedule", path(id)), &json!({ "crontab": "0 0 4 * * ? *" })).data();
            eventually("it is deployed", SOON, || {
                (lake.server.get(&path(id)).data()["publishStatus"] == "published").then_some(())
            });
        }
        let online = batch("online", &[id, empty, copy]).data();
        assert_eq!(
            (&online["results"][0]["data"]["status"], &online["results"][1]["error"]["error"]),
            (&json!("online"), &json!("not_deployed"))
        );
        assert_eq!(lake.server.get(&path(copy)).data()["status"], "online");
        assert_eq!(batch("offline", &[id, copy]).data()["succeeded"], 2);
        let exported = batch("export", &[copy, 999, id]).data();
        assert_eq!(exported["results"][0]["data"]["content"], export(&lake.server, copy));
        assert_eq!(exported["results"][2]["data"]["fileName"], "w.json");
        let audit = lake.server.get("/api/v1/audit?pageSize=200").data();
        let online = audit["records"]
            .as_array()
            .expect("records")
            .iter()
            .filter(|one| one["operation"] == "bringSchedulesOnline");
        assert_eq!(online.count(), 4, "each workflow, and the whole");
        assert_eq!(named(&batch("online", &[])), ["workflowIds"]);
        assert_eq!(named(&batch("online", &[1, 1])), ["workflowIds[1]"]);
        assert!(id_of(&named_copy) > 0);
    }
}

fn workflows(server: &Server, arguments: &[&str]) -> Output {
    let url = server.url();
    let output =
        Command::new(binary()).arg("workflows").args(arguments).args(["--url", &url]).env_clear().output();
    output.expect("the command runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn workflows_live_in_files() {
    let store = &stores()[0];
    let lake = Lake::start(store);
    let (id, [load, ..]) = chain(&lake, "w");
    lake.server.post(&format!("{}/copy", path(id)), &json!({ "name": "a/b" })).data();
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("flows");
    let shown = folder.to_str().expect("a path");
    let first = workflows(&lake.server, &["export", shown]);
    assert!(first.status.success() && said(&first).contains("2 written, 0 unchanged"), "{}", said(&first));
    assert!(said(&workflows(&lake.server, &["export", shown])).contains("0 written, 2 unchanged"));
    let mut files: Vec<_> =
        std::fs::read_dir(&folder).expect("files").map(|entry| entry.expect("one").file_name()).collect();
    files.sort();
    assert_eq!(files, ["a_b.json", "w.json"]);
    let same = workflows(&lake.server, &["diff", shown, "--exit-code"]);
    assert!(same.status.success() && said(&same).is_empty(), "{}", said(&same));
    // An edit on the server, and an edit in a file.
    let file = folder.join("w.json");
    let text = std::fs::read_to_string(&file).expect("a text");
    std::fs::write(&file, text.replace("SELECT * FROM b", "SELECT id, v FROM b")).expect("written");
    std::fs::write(folder.join("new.json"), text.replace("\"name\": \"w\"", "\"name\": \"new\""))
        .expect("written");
    let diff = workflows(&lake.server, &["diff", shown]);
    assert!(said(&diff).contains("+  INSERT INTO c SELECT id, v FROM b\n"), "{}", said(&diff));
    assert!(said(&diff).contains("new workflow `new` with 3 tasks"), "{}", said(&diff));
    assert!(!workflows(&lake.server, &["diff", shown, "--exit-code"]).status.success());
    let dry = workflows(&lake.server, &["apply", shown, "--dry-run"]);
    assert!(said(&dry).contains("1 would be created, 1 would be updated, 1 unchanged"), "{}", said(&dry));
    assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 4);
    let applied = workflows(&lake.server, &["apply", shown]);
    assert!(said(&applied).contains("1 created, 1 updated, 1 unchanged"), "{}", said(&applied));
    let detail = lake.server.get(&path(id)).data();
    assert_eq!((&detail["currentVersion"], &detail["tasks"][0]["id"]), (&json!(5), &json!(load)));
    // A file with an error changes nothing, of the others either.
    std::fs::write(&file, text.replace("\"taskName\": \"load\"", "\"taskName\": \"copy\"")).expect("written");
    std::fs::write(folder.join("wrong.json"), "{").expect("written");
    for (verb, why) in [("apply", "nothing was changed"), ("diff", "not all files could be compared")] {
        let refusal = workflows(&lake.server, &[verb, shown]);
        assert!(!refusal.status.success());
        for part in [why, "w.json: tasks[", "wrong.json: is not JSON"] {
            assert!(said(&refusal).contains(part), "{part} in {}", said(&refusal));
        }
    }
    assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 5);
}

#[test]
fn files_of_hostile_names_stay_in_their_folder() {
    let lake = Lake::start(&stores()[0]);
    let names =
        ["..", "...", ".hidden", "a/1", "a_1", "A_1", &"数".repeat(100), &"😀".repeat(100), "x\u{202e}y"];
    names.iter().for_each(|name| _ = lake.workflow(name));
    let folder = tempfile::tempdir().expect("a folder");
    let (flows, victim) = (folder.path().join("flows"), folder.path().join("victim"));
    std::fs::create_dir(&flows).expect("a folder");
    std::fs::write(&victim, "mine").expect("written");
    std::os::unix::fs::symlink(&victim, flows.join("_.hidden.json")).expect("a link");
    let shown = flows.to_str().expect("a path");
    let exported = workflows(&lake.server, &["export", shown]);
    assert!(said(&exported).contains(&format!("{} written", names.len())), "{}", said(&exported));
    assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "mine", "a link is not followed");
    let diff = workflows(&lake.server, &["diff", shown, "--exit-code"]);
    assert!(diff.status.success() && said(&diff).is_empty(), "{}", said(&diff));
    let evil = document(json!([])).to_string().replace("made by hand", "evil\\u001b[31m\\u202etxt");
    for name in ["e1.json", "e2.json"] {
        std::fs::write(flows.join(name), &evil).expect("written");
    }
    let diff = said(&workflows(&lake.server, &["diff", shown]));
    assert!(diff.contains("is the one of") && !diff.contains(['\u{1b}', '\u{202e}']), "{diff:?}");
}

#[test]
fn tables_follow_the_sql_of_a_file() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL", "datasourceId": source,
            "sqlContent": "INSERT INTO c SELECT * FROM a" } });
        let task = id_of(&lake.server.post("/api/v1/tasks", &form).data());
        let task = || lake.server.get(&format!("/api/v1/tasks/{task}")).data();
        assert_eq!((&task()["inputTableIds"], &task()["outputTableIds"]), (&json!([a]), &json!([c])));
        let mut content = export(&lake.server, id);
        content["tasks"][0]["sqlContent"] = json!("INSERT INTO c SELECT * FROM b");
        import(&lake.server, &json!({ "source": "json", "definition": content, "workflowId": id }));
        assert_eq!((&task()["inputTableIds"], &task()["outputTableIds"]), (&json!([b]), &json!([c])));
        // Given lists stand, and a change of who gives them is exported.
        let given = json!({ "inputTableIds": [a], "outputTableIds": [c] });
        lake.server.put(&format!("/api/v1/tasks/{}", task()["id"]), &given).data();
        assert_eq!(export(&lake.server, id)["tasks"][0]["tablesFromSql"], false);
        lake.server.put(&format!("/api/v1/tasks/{}", task()["id"]), &json!({ "inputTableIds": [b] })).data();
        let neither = json!({ "inputTableIds": null, "outputTableIds": null });
        lake.server.put(&format!("/api/v1/tasks/{}", task()["id"]), &neither).data();
        assert_eq!(export(&lake.server, id)["tasks"][0]["tablesFromSql"], true);
        // A table in the recycle bin is still the task's.
        let text = export(&lake.server, id);
        lake.server.post(&format!("/api/v1/tables/{b}/soft-delete?confirmTableName=b"), &json!({})).data();
        assert_eq!(export(&lake.server, id), text);
        let version = lake.server.get(&path(id)).data()["currentVersion"].clone();
        import(&lake.server, &json!({ "source": "json", "definition": text, "workflowId": id }));
        assert_eq!(
            lake.server.get(&path(id)).data()["currentVersion"],
            version,
            "an unchanged file changes nothing"
        );
        assert_eq!(task()["inputTableIds"], json!([b]));
        lake.table(source, "b", &[("id", "INTEGER")]);
        import(&lake.server, &json!({ "source": "json", "definition": text, "workflowId": id }));
        assert_eq!(
            lake.server.get(&path(id)).data()["currentVersion"],
            version,
            "nor where its name is taken"
        );
    }
}

#[test]
fn the_engines_schedule_is_shown_and_replaced() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [load, ..]) = chain(&lake, "w");
        let schedule = |hour: i64| json!({ "crontab": format!("0 0 {hour} * * ? *"), "timezone": "UTC" });
        let put = |hour| lake.server.put(&format!("{}/schedule", path(id)), &schedule(hour)).data();
        put(1);
        lake.deploy(id);
        lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
        lake.server.put(&format!("/api/v1/tasks/{load}"), &json!({ "task": { "timeout": 5 } })).data();
        let record =
            lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        put(2);
        let mut content = export(&lake.server, id);
        content["schedule"]["crontab"] = json!("0 0 3 * * ? *");
        import(&lake.server, &json!({ "source": "json", "definition": content, "workflowId": id }));
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(
            (&detail["schedule"]["state"], &detail["engineSchedule"]["crontab"]),
            (&json!("offline"), &json!("0 0 2 * * ? *"))
        );
        // What was submitted is deployed, with the schedule that was set, not the one that was imported.
        approve(&lake.server, id, &record).data();
        let detail = eventually("it is deployed", SOON, || {
            let detail = lake.server.get(&path(id)).data();
            (detail["publications"][0]["deployment"]["state"] == "success").then_some(detail)
        });
        assert_eq!(
            (&detail["publishStatus"], &detail["engineSchedule"]["crontab"]),
            (&json!("outdated"), &json!("0 0 2 * * ? *"))
        );
        // Putting it online again gives the engine the definition's own schedule.
        let online = lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
        assert_eq!(
            (&online["engineSchedule"], &online["schedule"]["state"]),
            (&Value::Null, &json!("online"))
        );
        assert_eq!(online["publishStatus"], "published");
        // What was put online, or set again, is not undone by the approval of an older version.
        let older = lake.server.post(&format!("{}/publish", path(id)), &json!({})).data()["recordId"].clone();
        let mut content = export(&lake.server, id);
        content["schedule"]["crontab"] = json!("0 0 9 * * ? *");
        import(&lake.server, &json!({ "source": "json", "definition": content, "workflowId": id }));
        put(9);
        approve(&lake.server, id, &older).data();
        let detail = eventually("it is deployed", SOON, || {
            let detail = lake.server.get(&path(id)).data();
            (detail["publications"][0]["deployment"]["state"] == "success").then_some(detail)
        });
        assert_eq!(
            (&detail["engineSchedule"], &detail["publishStatus"]),
            (&Value::Null, &json!("published"))
        );
        // A published version without a schedule is not online.
        lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({})).data();
        let detail = lake.deploy(id);
        assert_eq!(
            (&detail["status"], &detail["schedule"], &detail["engineSchedule"]),
            (&json!("offline"), &Value::Null, &Value::Null)
        );
    }
}

#[test]
fn a_task_without_its_data_source_is_closed_and_changeable() {
    let lake = Lake::start(&stores()[0]);
    let secret = json!({ "source": "json", "definition": document(json!([
        { "taskName": "a", "taskType": "SQL", "datasource": "finance", "sqlContent": "SELECT 's3cr3t'" }])) });
    let id = import(&lake.server, &secret);
    let task = lake.server.get(&path(id)).data()["tasks"][0]["id"].clone();
    let task = format!("/api/v1/tasks/{task}");
    let changed = lake.server.put(&task, &json!({ "task": { "timeout": 5, "taskName": "b" } })).data();
    assert_eq!((&changed["timeout"], &changed["unresolved"]["datasource"]), (&json!(5), &json!("finance")));
    let back = lake.server.put(&task, &json!({ "task": { "timeout": 6, "datasourceId": null } })).data();
    assert_eq!(
        back["unresolved"]["datasource"], "finance",
        "what is sent back as it was read keeps the name"
    );
    let source = lake.source("shop.db");
    let root = lake.server.client_as(&lake.server.token("admin", "root"));
    let token = json!({ "name": "bound", "role": "editor", "datasources": ["shop.db"] });
    let token = root.post("/api/v1/tokens", &token).data()["token"].clone();
    let bound = lake.server.client_as(token.as_str().expect("a token"));
    for answer in [bound.get(&task), bound.get(&path(id)), bound.get("/api/v1/tasks")] {
        assert_eq!(answer.status, 200);
        assert!(!String::from_utf8_lossy(&answer.body).contains("s3cr3t"), "{answer:?}");
    }
    for answer in [
        bound.get(&format!("{}/export-json", path(id))),
        bound.put(&task, &json!({ "task": { "datasourceId": source } })),
        bound.delete(&task),
    ] {
        refused(&answer, 403, "datasource_not_allowed");
    }
    assert_eq!(root.put(&task, &json!({ "task": { "datasourceId": source } })).status, 200);
    assert_eq!(bound.get(&task).data()["withheld"], false, "now it is theirs");
}

#[test]
fn another_task_is_not_the_published_one() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (id, [_, _, sum]) = chain(&lake, "w");
        lake.deploy(id);
        let other = lake.workflow("other");
        let moved = json!({ "task": { "workflowId": other } });
        lake.server.put(&format!("/api/v1/tasks/{sum}"), &moved).data();
        let rollback = || lake.server.post(&format!("{}/versions/4/rollback", path(id)), &json!({})).data();
        let first = rollback();
        assert!(first["warnings"][0].as_str().expect("a warning").contains("`sum`"), "{first}");
        let detail = lake.server.get(&path(id)).data();
        assert_ne!(detail["tasks"][2]["id"], sum);
        assert_eq!(detail["publishStatus"], "outdated", "the engine runs the other task");
        assert_eq!(rollback()["version"], first["version"], "the second time nothing changes");
    }
}

#[test]
fn fifty_clients_lose_no_edit() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.workflow("w");
        let tasks: Vec<i64> =
            (0..5).map(|at| lake.task(id, &format!("t{at}"), source, "SELECT 1", [&[], &[]])).collect();
        let second = store.is_postgres().then(|| {
            let mut second = lake.server.replica(lakeport_tests::Options::default());
            second.run();
            second
        });
        let servers: Vec<&Server> = [Some(&lake.server), second.as_ref()].into_iter().flatten().collect();
        const CLIENTS: usize = 50;
        // Each client adds its mark to what it read, until it succeeds.
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, task) = (servers[client % servers.len()], tasks[client % tasks.len()]);
                scope.spawn(move || {
                    let of_workflow = client % 2 == 0;
                    let path = if of_workflow { path(id) } else { format!("/api/v1/tasks/{task}") };
                    let deadline = Instant::now() + Duration::from_secs(100);
                    loop {
                        assert!(Instant::now() < deadline, "the client {client} never came through");
                        let read = server.get(&path);
                        let etag = read.header("etag").expect("a tag").to_owned();
                        let now = read.data();
                        let body = if of_workflow {
                            json!({ "description": format!("{} {client}", now["description"].as_str().unwrap_or_default()) })
                        } else {
                            json!({ "task": { "sqlContent": format!("{} -- {client}", now["sqlContent"].as_str().expect("a text")) } })
                        };
                        let body = body.to_string();
                        let headers = [("If-Match", etag.as_str()), ("Content-Type", "application/json")];
                        match server.client().send("PUT", &path, &headers, body.as_bytes()) {
                            done if done.status == 200 => return,
                            stale => refused(&stale, 412, "precondition_failed"),
                        }
                    }
                });
            }
        });
        let detail = lake.server.get(&path(id)).data();
        let words = |text: &Value| {
            text.as_str()
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect::<Vec<usize>>()
        };
        let mut marks = words(&detail["description"]);
        for task in detail["tasks"].as_array().expect("tasks") {
            let sql = task["sqlContent"].as_str().expect("a text").replacen("SELECT 1", "", 1);
            marks.extend(words(&json!(sql)));
        }
        marks.sort_unstable();
        assert_eq!(marks, (0..CLIENTS).collect::<Vec<usize>>(), "no edit is lost, none is doubled");
        let versions = detail["versions"].as_array().expect("versions").iter();
        let mut numbers: Vec<i64> = versions.map(|one| one["version"].as_i64().expect("a number")).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=6 + CLIENTS as i64).collect::<Vec<i64>>(), "no gap, no double");
    }
}

#[test]
fn a_version_says_who_may_see_it() {
    let store = &stores()[0];
    let lake = Lake::start(store);
    let (id, _) = chain(&lake, "w");
    lake.source("other.db");
    let token = json!({ "name": "bound", "role": "editor", "datasources": ["other.db"] });
    let admin = lake.server.token("admin", "admin");
    let bound = lake.server.client_as(&admin).post("/api/v1/tokens", &token).data()["token"].clone();
    let bound = lake.server.client_as(bound.as_str().expect("a token"));
    for answer in [
        bound.get(&format!("{}/export-json", path(id))),
        bound.get(&format!("{}/publish/preview", path(id))),
        bound.post(&format!("{}/versions/compare", path(id)), &json!({ "v1": 1, "v2": 4 })),
        bound.post(&format!("{}/versions/2/rollback", path(id)), &json!({})),
        bound.post(&format!("{}/copy", path(id)), &json!({})),
        bound.post(&format!("{WORKFLOWS}/import/preview"), &json!({ "source": "json", "definition":
            document(json!([{ "taskName": "a", "taskType": "SQL", "datasource": "shop.db", "sqlContent": "SELECT 1" }])) })),
    ] {
        refused(&answer, 403, "datasource_not_allowed");
    }
    let batch = bound.post(&format!("{WORKFLOWS}/batch/export"), &json!({ "workflowIds": [id] })).data();
    assert_eq!(batch["results"][0]["error"]["error"], "datasource_not_allowed");
}
