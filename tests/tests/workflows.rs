//! Workflows and their tasks over HTTP: definition, versions, publication, schedule (contract, sections 3.1 to 3.4).

use std::thread;
use std::time::Duration;

use lakeport_tests::{Client, Lake, eventually, id_of, named, refused, stores};
use serde_json::{Value, json};

const WORKFLOWS: &str = "/api/v1/workflows";
const TASKS: &str = "/api/v1/tasks";
const SOON: Duration = Duration::from_secs(20);

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

fn versions(workflow: &Value) -> Vec<i64> {
    let versions = workflow["versions"].as_array().expect("versions");
    let mut numbers: Vec<i64> =
        versions.iter().map(|one| one["version"].as_i64().expect("a number")).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn a_workflow_is_made_listed_changed_and_deleted() {
    for store in stores() {
        let lake = Lake::start(&store);
        let form = json!({ "name": "Nightly Load", "description": "at night", "schedulerEngine": "local" });
        let made = lake.server.post(WORKFLOWS, &form).data();
        let id = id_of(&made);
        for (member, value) in [
            ("status", json!("draft")),
            ("publishStatus", json!("never")),
            ("currentVersion", json!(1)),
            ("publishedVersion", Value::Null),
            ("workflowCode", Value::Null),
            ("projectCode", Value::Null),
            ("schedule", Value::Null),
            ("latestExecution", Value::Null),
            ("globalParams", json!([])),
        ] {
            assert_eq!(made.get(member), Some(&value), "{member} of {made}");
        }
        refused(&lake.server.post(WORKFLOWS, &form), 409, "name_taken");
        let other = lake.workflow("other");
        let page = lake.server.get(&format!("{WORKFLOWS}?keyword=NIGHT")).data();
        assert_eq!(
            (&page["total"], &page["pageSize"], &page["records"][0]["id"]),
            (&json!(1), &json!(20), &json!(id))
        );
        assert_eq!(lake.server.get(&format!("{WORKFLOWS}?status=online")).data()["total"], 0);
        assert_eq!(lake.server.get(&format!("{WORKFLOWS}?status=draft")).data()["total"], 2);
        assert_eq!(named(&lake.server.get(&format!("{WORKFLOWS}?status=sleeping"))), ["status"]);

        let changed = lake.server.put(&path(id), &json!({ "description": "by day" })).data();
        assert_eq!((&changed["currentVersion"], &changed["name"]), (&json!(2), &json!("Nightly Load")));
        let same = lake.server.put(&path(id), &json!({ "description": "by day" })).data();
        assert_eq!(same["currentVersion"], 2, "equal content makes no version");
        refused(&lake.server.put(&path(id), &json!({ "name": "other" })), 409, "name_taken");
        let parameters = json!({ "globalParams": [{ "name": "shop", "value": "7" }] });
        assert_eq!(
            lake.server.put(&path(id), &parameters).data()["globalParams"],
            parameters["globalParams"]
        );
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(versions(&detail), [1, 2, 3]);
        let first = &detail["versions"].as_array().expect("versions").iter().find(|one| one["version"] == 1);
        let first = first.expect("the first one");
        assert_eq!((&first["versionId"], &first["source"]), (&json!(1), &json!("create")));
        for member in ["tasks", "edges", "publications", "recentExecutions"] {
            assert_eq!(detail[member], json!([]), "{member}");
        }
        refused(&lake.server.get(&path(999)), 404, "not_found");
        assert_eq!(lake.server.delete(&path(other)).status, 200);
        refused(&lake.server.get(&path(other)), 404, "not_found");
    }
}

#[test]
fn an_invalid_workflow_names_every_member() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let wrong = json!({ "name": "", "schedulerEngine": 7, "description": [] });
        assert_eq!(named(&lake.server.post(WORKFLOWS, &wrong)), ["description", "name", "schedulerEngine"]);
        let unknown = lake.server.post(WORKFLOWS, &json!({ "name": "x", "schedulerEngine": "cron" }));
        assert_eq!(named(&unknown), ["schedulerEngine"]);
        assert!(format!("{unknown:?}").contains("local"), "the known ones are named: {unknown:?}");
        let id = lake.workflow("w");
        let task = |task: Value| json!({ "task": task, "inputTableIds": [], "outputTableIds": [] });
        let form = task(json!({ "workflowId": id, "taskName": 5, "taskType": "SQL", "retryTimes": "x",
            "priority": "URGENT" }));
        let fields = named(&lake.server.post(TASKS, &form));
        for field in ["task.taskName", "task.retryTimes", "task.priority"] {
            assert!(fields.contains(&field.to_owned()), "{fields:?}");
        }
        let form = task(json!({ "workflowId": id, "taskName": "t", "taskType": "SQL" }));
        assert_eq!(named(&lake.server.post(TASKS, &form)), ["task.datasourceId", "task.sqlContent"]);
        let whole = |kind: &str, sql: &str, source: i64| {
            task(json!({ "workflowId": id, "taskName": "t", "taskType": kind, "datasourceId": source,
                "sqlContent": sql }))
        };
        assert_eq!(named(&lake.server.post(TASKS, &whole("PIGEON", "SELECT 1", source))), ["task.taskType"]);
        assert_eq!(named(&lake.server.post(TASKS, &whole("SQL", "SELECT 1", 999))), ["task.datasourceId"]);
        assert_eq!(
            named(&lake.server.post(TASKS, &whole("SQL", "SELECT ${nobody}", source))),
            ["task.sqlContent"]
        );
        let mut form = whole("SQL", "SELECT 1", source);
        form["inputTableIds"] = json!([a, 998, 999]);
        let answer = lake.server.post(TASKS, &form);
        assert_eq!(named(&answer), ["inputTableIds"]);
        assert!(format!("{answer:?}").contains("998"), "{answer:?}");
        let mut form = whole("SQL", "SELECT ${nobody}", 999);
        form["task"]["retryTimes"] = json!(500);
        form["outputTableIds"] = json!([998]);
        let all = ["outputTableIds", "task.datasourceId", "task.retryTimes", "task.sqlContent"];
        assert_eq!(named(&lake.server.post(TASKS, &form)), all, "whatever has to be looked up for it");
        let mut form = whole("SQL", "SELECT 1", source);
        form["task"]["workflowId"] = json!(999);
        refused(&lake.server.post(TASKS, &form), 404, "not_found");
        assert_eq!(lake.server.get(TASKS).data()["total"], 0);
        assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 1);
    }
}

#[test]
fn tasks_are_bound_to_tables_and_edges_follow() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        let first = lake.task(id, "Load A", source, "INSERT INTO a VALUES (1, 'x')", [&[], &[a]]);
        let second = lake.task(id, "a to b", source, "INSERT INTO b SELECT * FROM a", [&[a], &[b]]);
        let third = lake.task(id, "b to c", source, "INSERT INTO c SELECT * FROM b", [&[b, c], &[c]]);
        let detail = lake.server.get(&path(id)).data();
        assert_eq!(detail["currentVersion"], 4);
        assert_eq!(
            detail["edges"],
            json!([{ "source": first, "target": second }, { "source": second, "target": third }])
        );
        let shown = &detail["tasks"][2];
        assert_eq!((&shown["inputTableIds"], &shown["outputTableIds"]), (&json!([b, c]), &json!([c])));
        for (member, value) in [
            ("priority", json!("MEDIUM")),
            ("timeout", json!(0)),
            ("retryTimes", json!(0)),
            ("retryInterval", json!(0)),
            ("workflowName", json!("w")),
        ] {
            assert_eq!(shown.get(member), Some(&value), "{member} of {shown}");
        }
        let list = |query: &str| lake.server.get(&format!("{TASKS}?{query}")).data();
        let names = |page: &Value| -> Vec<String> {
            let records = page["records"].as_array().expect("records");
            records.iter().map(|record| record["taskName"].as_str().expect("a name").to_owned()).collect()
        };
        assert_eq!(names(&list("taskName=LOAD")), ["Load A"]);
        assert_eq!(list(&format!("workflowId={id}&taskType=SQL"))["total"], 3);
        assert_eq!(names(&list(&format!("upstreamTaskId={first}"))), ["a to b"]);
        assert_eq!(names(&list(&format!("downstreamTaskId={third}"))), ["a to b"]);
        assert_eq!(names(&list(&format!("upstreamTaskId={first}&taskName=c"))), [] as [&str; 0]);
        assert_eq!(list("workflowId=999")["total"], 0);
        assert_eq!(list("upstreamTaskId=999")["total"], 0);

        let circle = json!({ "inputTableIds": [c] });
        let answer = lake.server.put(&format!("{TASKS}/{first}"), &circle);
        assert_eq!(answer.status, 409, "{answer:?}");
        for name in ["Load A", "a to b", "b to c"] {
            assert!(answer.message().contains(name), "{answer:?}");
        }
        assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 4, "nothing was changed");

        let twin = json!({ "task": { "workflowId": id, "taskName": "a to b", "taskType": "SQL",
            "datasourceId": source, "sqlContent": "SELECT 1" } });
        refused(&lake.server.post(TASKS, &twin), 409, "name_taken");

        let form = json!({ "task": { "priority": "HIGH", "retryTimes": 2 } });
        let changed = lake.server.put(&format!("{TASKS}/{second}"), &form).data();
        assert_eq!(
            (&changed["priority"], &changed["retryTimes"], &changed["inputTableIds"]),
            (&json!("HIGH"), &json!(2), &json!([a]))
        );
        assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 5);
        let lineage = lake.server.get(&format!("{TASKS}/{second}/lineage")).data();
        assert_eq!(
            (&lineage["inputTables"][0]["id"], &lineage["outputTables"][0]["id"]),
            (&json!(a), &json!(b))
        );
        let status = lake.server.get(&format!("{TASKS}/{second}/execution-status")).data();
        assert_eq!(status["status"], "never_run");
        refused(&lake.server.get(&format!("{TASKS}/999/lineage")), 404, "not_found");
        refused(&lake.server.get(&format!("{TASKS}/999/execution-status")), 404, "not_found");

        assert_eq!(lake.server.delete(&format!("{TASKS}/{second}")).status, 200);
        let detail = lake.server.get(&path(id)).data();
        assert_eq!((&detail["edges"], &detail["currentVersion"]), (&json!([]), &json!(6)));
        refused(&lake.server.delete(&format!("{TASKS}/{second}")), 404, "not_found");

        assert_eq!(lake.server.delete(&path(id)).status, 200);
        let left = list("taskType=SQL");
        assert_eq!(left["total"], 2, "without cascade they stay, unbound");
        assert_eq!(left["records"][0]["workflowId"], Value::Null);
    }
}

#[test]
fn unlisted_tables_are_found_in_sql() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        let sql =
            "WITH x AS (SELECT * FROM a) INSERT INTO c SELECT x.id, b.v FROM x JOIN main.b ON b.id = x.id";
        let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL",
            "datasourceId": source, "sqlContent": sql } });
        let task = lake.server.post(TASKS, &form).data();
        assert_eq!((&task["inputTableIds"], &task["outputTableIds"]), (&json!([a, b]), &json!([c])));
        let form =
            json!({ "sqlContent": "INSERT INTO c SELECT * FROM nobody; SELEC", "datasourceId": source });
        let parsed = lake.server.post(&format!("{TASKS}/parse"), &form).data();
        assert_eq!(parsed["outputs"], json!([{ "name": "c", "tableId": c }]));
        assert_eq!(parsed["inputs"], json!([{ "name": "nobody", "tableId": null }]));
        assert_eq!(parsed["errors"].as_array().map(Vec::len), Some(1), "{parsed}");
    }
}

#[test]
fn lineage_warns_of_unbound_tables() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        let form = json!({ "task": { "workflowId": id, "taskName": "t", "taskType": "SQL",
            "datasourceId": source, "sqlContent": "INSERT INTO c SELECT * FROM a;\nSELEC 1 FROM b" } });
        let task = id_of(&lake.server.post(TASKS, &form).data());
        let path = format!("{TASKS}/{task}");
        let lineage = || lake.server.get(&format!("{path}/lineage")).data();
        let warnings = |lineage: &Value| -> Vec<String> {
            let warnings = lineage["warnings"].as_array().expect("warnings").iter();
            warnings.map(|warning| warning.as_str().expect("a text").to_owned()).collect()
        };
        let bound = |lineage: &Value| {
            [&lineage["inputTables"], &lineage["outputTables"]].map(|tables| {
                let tables = tables.as_array().expect("tables").iter();
                tables.map(|table| table["id"].as_i64().expect("an id")).collect::<Vec<_>>()
            })
        };
        let told = lineage();
        assert_eq!(bound(&told), [vec![a], vec![c]], "what can be read is bound");
        let unread = warnings(&told);
        assert!(unread.len() == 1 && unread[0].starts_with("line 2, column 1"), "{unread:?}");
        assert!(unread[0].ends_with("so its tables are not among these"), "{unread:?}");

        let given = json!({ "inputTableIds": [a], "outputTableIds": [c] });
        lake.server.put(&path, &given).data();
        let unread = warnings(&lineage());
        assert!(unread.len() == 1 && unread[0].ends_with("were not compared with it"), "{unread:?}");

        let sql = "insert into b select * from a; drop table c";
        let found = json!({ "task": { "sqlContent": sql }, "inputTableIds": null, "outputTableIds": null });
        lake.server.put(&path, &found).data();
        let told = lineage();
        assert_eq!(bound(&told), [vec![a], vec![b]]);
        let dropped = warnings(&told);
        assert!(dropped.len() == 1 && dropped[0].contains("drops `c`"), "{dropped:?}");

        lake.server.put(&path, &json!({ "task": { "sqlContent": "INSERT INTO b SELECT * FROM a" } })).data();
        assert_eq!(warnings(&lineage()), [""; 0]);
    }
}

#[test]
fn tables_that_the_catalogue_lacks_are_warned_of_until_it_has_them() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        let save = |name: &str, sql: &str| {
            let form = json!({ "task": { "workflowId": id, "taskName": name, "taskType": "SQL",
                "datasourceId": source, "sqlContent": sql } });
            lake.server.post(TASKS, &form).data()
        };
        let (fill, read) = ("INSERT INTO late SELECT * FROM a", "INSERT INTO b SELECT * FROM main.late");
        let tasks = [("fill", fill, "`late`"), ("read", read, "`main.late`")].map(|(name, sql, table)| {
            let saved = save(name, sql);
            assert_eq!(saved["warnings"].as_array().map(Vec::len), Some(1), "{saved}");
            assert_eq!(saved["warnings"][0]["field"], "task.sqlContent");
            let message = saved["warnings"][0]["message"].as_str().expect("a message");
            assert!(message.contains(&format!("does not have {table}, so no order")), "{message}");
            (id_of(&saved), sql)
        });
        let path = |task: i64| format!("{TASKS}/{task}");
        let preview = || lake.server.get(&format!("/api/v1/workflows/{id}/publish/preview")).data();
        let warnings = |part: &str| -> Vec<String> {
            let preview = preview();
            assert_eq!(preview["canPublish"], true, "{preview}");
            let warnings = preview["warnings"].as_array().expect("warnings").clone();
            let is_meant = |warning: &&Value| warning["message"].as_str().expect("a message").contains(part);
            assert_eq!(warnings.iter().filter(is_meant).count(), warnings.len(), "{part}: {warnings:?}");
            warnings.iter().map(|warning| warning["taskName"].as_str().expect("a name").to_owned()).collect()
        };
        let both = vec!["fill".to_owned(), "read".to_owned()];
        assert_eq!(warnings("the catalogue does not have"), both);
        let lineage = lake.server.get(&format!("{}/lineage", path(tasks[0].0))).data();
        assert!(lineage["warnings"].to_string().contains("`late`"), "{lineage}");

        let late = lake.table(source, "late", &[("id", "INTEGER")]);
        assert_eq!(warnings("since the task was saved"), both);
        // Another change keeps the tables as they are; the same text finds them.
        let kept = lake.server.put(&path(tasks[1].0), &json!({ "task": { "priority": "HIGH" } })).data();
        assert_eq!(kept["inputTableIds"], json!([]));
        for (task, sql) in tasks {
            let saved = lake.server.put(&path(task), &json!({ "task": { "sqlContent": sql } })).data();
            assert_eq!(saved["warnings"], json!([]));
        }
        let read = lake.server.get(&path(tasks[1].0)).data();
        assert_eq!((&read["inputTableIds"], &read["outputTableIds"]), (&json!([late]), &json!([b])));
        let fill = lake.server.get(&path(tasks[0].0)).data();
        assert_eq!((&fill["inputTableIds"], &fill["outputTableIds"]), (&json!([a]), &json!([late])));
        assert_eq!(warnings(""), [""; 0]);
    }
}

#[test]
fn recycled_tables_do_not_block_task_changes() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, c]) = tables(&lake);
        let id = lake.workflow("w");
        let task = lake.task(id, "t", source, "INSERT INTO b SELECT * FROM a", [&[a], &[b]]);
        let (sql, other) = ("INSERT INTO shop SELECT * FROM main.a, b", "SELECT * FROM other.a");
        let form = json!({ "task": { "workflowId": id, "taskName": "found", "taskType": "SQL",
            "datasourceId": source, "sqlContent": sql } });
        let found = format!("{TASKS}/{}", id_of(&lake.server.post(TASKS, &form).data()));
        let bin = format!("UPDATE tables SET status = 'deprecated' WHERE id IN ({a}, {c})");
        lake.server.execute(&bin);
        let task = format!("{TASKS}/{task}");
        let changed = lake.server.put(&task, &json!({ "task": { "priority": "HIGH" } })).data();
        assert_eq!((&changed["priority"], &changed["inputTableIds"]), (&json!("HIGH"), &json!([a])));
        let wider = lake.server.put(&task, &json!({ "inputTableIds": [a, c] }));
        assert_eq!(named(&wider), ["inputTableIds"]);
        assert!(wider.message().ends_with(&format!("there is no table {c}")), "the new one alone: {wider:?}");
        // Tables that were found in the SQL stay with the same SQL.
        let kept = lake.server.put(&found, &json!({ "task": { "sqlContent": sql } })).data();
        assert_eq!(kept["inputTableIds"], json!([a, b]));
        let left = lake.server.put(&found, &json!({ "task": { "sqlContent": other } })).data();
        assert_eq!(left["inputTableIds"], json!([]));
    }
}

#[test]
fn binding_warnings_respect_access_rights() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [.., c]) = tables(&lake);
        let secret = lake.source("secret.db");
        let hidden = lake.table(secret, "hidden", &[("id", "INTEGER")]);
        let id = lake.workflow("w");
        let form = json!({
            "task": { "workflowId": id, "taskName": "t", "taskType": "SQL", "datasourceId": source,
                "sqlContent": "INSERT INTO b SELECT * FROM a" },
            "inputTableIds": [c, hidden],
        });
        let task = id_of(&lake.server.post(TASKS, &form).data());
        let lineage = format!("{TASKS}/{task}/lineage");
        let warnings = lake.server.get(&lineage).data()["warnings"].to_string();
        let input = "the SQL reads `a`, which is not in inputTableIds";
        let output = "the SQL writes `b`, which is not in outputTableIds";
        for warning in [input, output, "inputTableIds has `hidden`", "inputTableIds has `c`"] {
            assert!(warnings.contains(warning), "{warning}: {warnings}");
        }
        lake.server.token("admin", "ann");
        let bound = ["token", "create", "--role", "viewer", "--name", "bob", "--datasources", "shop.db"];
        let token = lake.server.command_ok(&bound).trim().to_owned();
        let seen = lake.server.client_as(&token).get(&lineage).data();
        assert!(!seen.to_string().contains("hidden"), "{seen}");
        assert_eq!(seen["warnings"].as_array().map(Vec::len), Some(5), "two of them only count: {seen}");
    }
}

#[test]
fn what_was_submitted_is_deployed_and_nothing_later() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let publish = format!("{}/publish", path(id));
        refused(&lake.server.post(&publish, &json!({ "comment": "" })), 409, "no_tasks");
        refused(&lake.server.post(&format!("{}/execute", path(id)), &json!({})), 409, "not_deployed");
        lake.task(id, "t", source, "INSERT INTO a (v) VALUES ('first')", [&[], &[a]]);
        let record = lake.server.post(&publish, &json!({ "comment": "go" })).data();
        assert_eq!((&record["status"], &record["version"]), (&json!("PENDING"), &json!(2)), "{record}");
        assert_eq!(lake.server.get(&path(id)).data()["publishStatus"], "pending");
        refused(&lake.server.post(&publish, &json!({ "comment": "" })), 409, "publication_pending");
        let task = lake.server.get(&path(id)).data()["tasks"][0]["id"].clone();
        let later = json!({ "task": { "sqlContent": "INSERT INTO a (v) VALUES ('later')" } });
        lake.server.put(&format!("{TASKS}/{task}"), &later).data();
        let approve = format!("{publish}/{}/approve", record["recordId"]);
        assert_eq!(named(&lake.server.post(&approve, &json!({ "status": "MAYBE" }))), ["status"]);
        lake.server.post(&approve, &json!({ "status": "APPROVED", "comment": "fine" })).data();
        let deployed = eventually("it is deployed", SOON, || {
            let workflow = lake.server.get(&path(id)).data();
            (workflow["publications"][0]["deployment"]["state"] == "success").then_some(workflow)
        });
        assert_eq!((&deployed["status"], &deployed["publishedVersion"]), (&json!("offline"), &json!(2)));
        assert_eq!(deployed["publishStatus"], "outdated", "it was changed since");
        assert!(deployed["workflowCode"].is_string(), "{deployed}");
        refused(&lake.server.post(&approve, &json!({ "status": "APPROVED" })), 409, "already_decided");
        refused(
            &lake.server.post(&format!("{publish}/999/approve"), &json!({ "status": "APPROVED" })),
            404,
            "not_found",
        );
        let run = lake.execute(id);
        assert_eq!(lake.ended(&run, 1)[0]["status"], "success");
        assert_eq!(lake.texts("shop.db", "SELECT v FROM a"), ["first"]);

        let second = lake.server.post(&publish, &json!({ "comment": "again" })).data();
        let reject = format!("{publish}/{}/approve", second["recordId"]);
        let rejected = lake.server.post(&reject, &json!({ "status": "REJECTED", "comment": "no" })).data();
        assert_eq!((&rejected["status"], &rejected["decisionComment"]), (&json!("REJECTED"), &json!("no")));
        let workflow = lake.server.get(&path(id)).data();
        assert_eq!(
            (&workflow["publishStatus"], &workflow["publishedVersion"]),
            (&json!("outdated"), &json!(2))
        );
    }
}

#[test]
fn old_versions_are_not_approved_after_move() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        let record = lake.server.post(&format!("{}/publish", path(id)), &json!({})).data();
        let approve = format!("{}/publish/{}/approve", path(id), record["recordId"]);
        let plugin = "/api/v1/plugins/engine:local";
        lake.server.post(&format!("{plugin}/quarantine"), &json!({ "reason": "odd" })).data();
        lake.server.post(&approve, &json!({ "status": "APPROVED" })).data();
        eventually("it fails before the engine has it", SOON, || {
            let workflow = lake.server.get(&path(id)).data();
            (workflow["publishStatus"] == "failed").then_some(())
        });
        lake.server.post(&format!("{plugin}/release"), &json!({})).data();
        lake.server.post("/api/v1/engines", &json!({ "name": "second", "plugin": "local" })).data();
        lake.server.put(&path(id), &json!({ "schedulerEngine": "second" })).data();
        let again = lake.server.post(&approve, &json!({ "status": "APPROVED" }));
        refused(&again, 409, "already_decided");
        assert!(again.message().contains("`second`"), "{again:?}");
    }
}

#[test]
fn who_submitted_may_not_approve_once_tokens_are_in_use() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        let admin = lake.server.client_as(&lake.server.token("admin", "ann"));
        let other = lake.server.client_as(&lake.server.token("approver", "bob"));
        let record = admin.post(&format!("{}/publish", path(id)), &json!({})).data();
        let approve = format!("{}/publish/{}/approve", path(id), record["recordId"]);
        let by = |client: &Client| client.post(&approve, &json!({ "status": "APPROVED" }));
        refused(&by(&admin), 403, "four_eyes");
        assert_eq!(by(&other).status, 200);
    }
}

#[test]
fn two_approvals_at_once_are_one() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        let record = lake.server.post(&format!("{}/publish", path(id)), &json!({})).data();
        let approve = format!("{}/publish/{}/approve", path(id), record["recordId"]);
        let mut answers: Vec<u16> = thread::scope(|scope| {
            let asked: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| lake.server.post(&approve, &json!({ "status": "APPROVED" })).status))
                .collect();
            asked.into_iter().map(|one| one.join().expect("asked")).collect()
        });
        answers.sort_unstable();
        assert_eq!(answers, [200, 409, 409, 409]);
    }
}

#[test]
fn a_schedule_shows_its_next_times() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let schedule = format!("{}/schedule", path(id));
        refused(&lake.server.post(&format!("{schedule}/online"), &json!({})), 409, "not_deployed");
        for (form, field) in [
            (json!({ "crontab": "0 0 2 * * ?" }), "crontab"),
            (json!({ "crontab": "0 0 25 * * ? *" }), "crontab"),
            (json!({ "crontab": "0 0 2 * * * *" }), "crontab"),
            (json!({ "crontab": "0 0 2 * * ? *", "startTime": "yesterday" }), "startTime"),
            (json!({ "crontab": "0 0 2 * * ? *", "failureStrategy": "HOPE" }), "failureStrategy"),
            (json!({ "crontab": "0 0 2 * * ? *", "warningType": "LOUD" }), "warningType"),
            (json!({ "crontab": "0 0 2 * * ? *", "timezone": "Mars/Olympus" }), "timezone"),
        ] {
            assert_eq!(named(&lake.server.put(&schedule, &form)), [field], "{form}");
        }
        let turned = json!({ "crontab": "0 0 2 * * ? *", "startTime": "2030-01-02 00:00:00", "endTime": "2030-01-01 00:00:00" });
        assert_eq!(lake.server.put(&schedule, &turned).status, 400);
        assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 1);
        let form = json!({
            "crontab": "0 30 2 ? * MON-FRI *", "startTime": "2030-01-01 00:00:00", "endTime": "2030-12-31 23:59:59",
            "failureStrategy": "CONTINUE", "warningType": "FAILURE",
        });
        let kept = lake.server.put(&schedule, &form).data();
        let shown = &kept["schedule"];
        for (member, value) in form.as_object().expect("members") {
            assert_eq!(shown.get(member), Some(value), "{member} of {shown}");
        }
        assert_eq!(
            shown["nextFireTimes"],
            json!([
                "2030-01-01 02:30:00",
                "2030-01-02 02:30:00",
                "2030-01-03 02:30:00",
                "2030-01-04 02:30:00",
                "2030-01-07 02:30:00"
            ])
        );
        assert_eq!((&shown["timezone"], &kept["currentVersion"]), (&json!("UTC"), &json!(2)));
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        lake.deploy(id);
        let later = lake.server.put(&schedule, &json!({ "crontab": "0 0 3 ? * MON-FRI *" })).data();
        assert_eq!(
            (&later["publishStatus"], &later["schedule"]["warningType"]),
            (&json!("published"), &json!("FAILURE"))
        );
        let online = lake.server.post(&format!("{schedule}/online"), &json!({})).data();
        assert_eq!(online["status"], "online");
        assert_eq!(lake.server.get(&format!("{WORKFLOWS}?status=online")).data()["total"], 1);
        assert_eq!(lake.server.post(&format!("{schedule}/online"), &json!({})).status, 200);
        let offline = lake.server.post(&format!("{schedule}/offline"), &json!({})).data();
        assert_eq!(offline["status"], "offline");
    }
}

#[test]
fn a_workflow_without_a_schedule_does_not_go_online() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        lake.deploy(id);
        refused(&lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})), 409, "no_schedule");
    }
}

#[test]
fn deleting_a_workflow_clears_its_engine() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        lake.task(id, "t", source, "INSERT INTO a (v) VALUES ('x')", [&[], &[a]]);
        let every_second = json!({ "crontab": "* * * * * ? *" });
        lake.server.put(&format!("{}/schedule", path(id)), &every_second).data();
        lake.deploy(id);
        lake.server.post(&format!("{}/schedule/online", path(id)), &json!({})).data();
        eventually("it runs", SOON, || {
            (lake.numbers("shop.db", "SELECT count(*) FROM a") != [0]).then_some(())
        });
        assert_eq!(lake.server.delete(&format!("{}?cascadeDeleteTasks=true", path(id))).status, 200);
        assert_eq!(lake.server.get(TASKS).data()["total"], 0);
        // A running execution may still end; then its state stays.
        thread::sleep(Duration::from_secs(2));
        let count = lake.numbers("shop.db", "SELECT count(*) FROM a");
        thread::sleep(Duration::from_secs(3));
        assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), count);
    }
}

#[test]
fn a_data_source_that_tasks_use_is_not_deleted() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("only.db");
        let id = lake.workflow("w");
        lake.task(id, "t", source, "SELECT 1", [&[], &[]]);
        refused(&lake.server.delete(&format!("/api/v1/datasources/{source}")), 409, "in_use");
        lake.run("only.db", "");
        lake.deploy(id);
        let other = lake.source("other.db");
        let task = lake.server.get(&path(id)).data()["tasks"][0]["id"].clone();
        lake.server.put(&format!("{TASKS}/{task}"), &json!({ "task": { "datasourceId": other } })).data();
        let deployed = lake.server.delete(&format!("/api/v1/datasources/{source}"));
        refused(&deployed, 409, "in_use");
        assert!(deployed.message().contains("deployed"), "{deployed:?}");
        lake.run("other.db", "");
        lake.deploy(id);
        assert_eq!(lake.server.delete(&format!("/api/v1/datasources/{source}")).status, 200);
    }
}

#[test]
fn a_repeated_run_key_survives_crashes() {
    for store in stores() {
        for point in ["runs.asked", "runs.started"] {
            let mut lake = Lake::start(&store);
            let (source, [a, ..]) = tables(&lake);
            let id = lake.workflow("w");
            lake.task(id, "t", source, "INSERT INTO a (v) VALUES ('x')", [&[], &[a]]);
            lake.deploy(id);
            lake.server.stop();
            lake.server.set("LAKEPORT_KILL_AT", point);
            lake.server.run();
            let execute = format!("{}/execute", path(id));
            let send = |client: &Client| client.send("POST", &execute, &[("Idempotency-Key", "k")], b"");
            let asked = std::panic::catch_unwind(|| send(&lake.server.client()));
            assert!(asked.is_err(), "{point}: it died before it answered");
            assert!(lake.server.wait(SOON).is_some(), "{point} was not reached");
            lake.server.kill();
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.run();
            // Simulates that the dead server's claim of the key has expired.
            lake.server.execute("DELETE FROM idempotency_keys");
            let run = send(&lake.server.client()).data();
            lake.server.execute("DELETE FROM idempotency_keys");
            assert_eq!(send(&lake.server.client()).data(), run, "{point}");
            assert_eq!(lake.ended(run.as_str().expect("an id"), 1)[0]["status"], "success");
            assert_eq!(lake.numbers("shop.db", "SELECT count(*) FROM a"), [1], "{point}");
        }
    }
}

#[test]
fn a_wrong_type_hides_nothing_else_that_is_wrong() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let task = lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        let schedule = format!("{}/schedule", path(id));
        let form = json!({ "crontab": 7, "startTime": "soon", "endTime": [], "timezone": "Mars", "warningType": "LOUD" });
        let all = ["crontab", "endTime", "startTime", "timezone", "warningType"];
        assert_eq!(named(&lake.server.put(&schedule, &form)), all);
        let form = json!({ "name": 7, "schedulerEngine": "cron", "globalParams": 3 });
        let all = ["globalParams", "name", "schedulerEngine"];
        assert_eq!(named(&lake.server.post(WORKFLOWS, &form)), all);
        assert_eq!(named(&lake.server.put(&path(id), &form)), all);
        let wrong = json!({ "workflowId": id, "taskName": " ", "taskType": "PIGEON", "datasourceId": 999,
            "retryTimes": "x", "timeout": 99_999_999 });
        let form = json!({ "task": wrong, "inputTableIds": [a, 998], "outputTableIds": "all" });
        let all = [
            "inputTableIds",
            "outputTableIds",
            "task.datasourceId",
            "task.retryTimes",
            "task.taskName",
            "task.taskType",
            "task.timeout",
        ];
        assert_eq!(named(&lake.server.post(TASKS, &form)), all);
        assert_eq!(named(&lake.server.put(&format!("{TASKS}/{task}"), &form)), all);
        let mut form = json!({ "task": wrong });
        form["task"]["workflowId"] = json!("w");
        let all = ["task.retryTimes", "task.taskName", "task.timeout", "task.workflowId"];
        assert_eq!(named(&lake.server.post(TASKS, &form)), all, "what can be said without its workflow");
        let form = json!({ "name": "Engine!", "plugin": "none", "config": 3, "secrets": { "token": 1 } });
        let all = ["config", "name", "plugin", "secrets.token"];
        assert_eq!(named(&lake.server.post("/api/v1/engines", &form)), all);
        let form = json!({ "name": " ", "role": "king", "expiresAt": "soon", "scopes": ["all"] });
        let all = ["expiresAt", "name", "role", "scopes"];
        assert_eq!(named(&lake.server.post("/api/v1/tokens", &form)), all);
        assert_eq!(lake.server.get(&path(id)).data()["currentVersion"], 2, "nothing was changed");
    }
}

#[test]
fn null_is_refused_where_there_is_always_a_value() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let task = lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        let schedule = format!("{}/schedule", path(id));
        lake.server
            .put(&schedule, &json!({ "crontab": "0 0 2 * * ? *", "endTime": "2030-01-01 00:00:00" }))
            .data();
        let before = lake.server.get(&path(id)).data();
        let nulls = |members: &[&str]| -> Value { members.iter().map(|name| (*name, Value::Null)).collect() };
        let members = ["name", "schedulerEngine"];
        assert_eq!(named(&lake.server.put(&path(id), &nulls(&members))), members);
        let members = ["crontab", "failureStrategy", "warningType"];
        assert_eq!(named(&lake.server.put(&schedule, &nulls(&members))), members);
        let members =
            ["priority", "retryInterval", "retryTimes", "taskName", "taskType", "timeout", "workflowId"];
        let expected = members.map(|member| format!("task.{member}"));
        let change = json!({ "task": nulls(&members) });
        assert_eq!(named(&lake.server.put(&format!("{TASKS}/{task}"), &change)), expected);
        assert_eq!(named(&lake.server.put(&format!("{TASKS}/{task}"), &json!({ "task": null }))), ["task"]);
        assert_eq!(lake.server.get(&path(id)).data(), before);
        // Optional members are removed.
        let open = lake.server.put(&schedule, &nulls(&["startTime", "endTime", "timezone"])).data();
        assert_eq!(open["schedule"]["endTime"], Value::Null);
        let bare = lake.server.put(&path(id), &nulls(&["description", "globalParams"])).data();
        assert_eq!((&bare["description"], &bare["globalParams"]), (&Value::Null, &json!([])));
    }
}

#[test]
fn a_schedule_by_which_nothing_would_ever_run_is_refused() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, ..]) = tables(&lake);
        let id = lake.workflow("w");
        let schedule = format!("{}/schedule", path(id));
        let never = lake.server.put(&schedule, &json!({ "crontab": "0 0 0 30 2 ? *" }));
        assert_eq!(named(&never), ["crontab"]);
        assert!(never.message().contains("never due"), "{never:?}");
        let range = lake.server.put(&schedule, &json!({ "crontab": "0 99 * * * ? *" }));
        assert!(range.message().contains("minutes") && range.message().contains("0 to 59"), "{range:?}");
        let ended = json!({ "crontab": "0 0 2 * * ? *", "endTime": "2020-01-01 00:00:00" });
        lake.server.put(&schedule, &ended).data();
        lake.task(id, "t", source, "SELECT 1", [&[], &[a]]);
        lake.deploy(id);
        for (change, why) in [
            (json!({}), "endTime 2020-01-01 00:00:00 has passed"),
            (json!({ "crontab": "0 0 2 1 1 ? 2020", "endTime": null }), "from now on"),
            (
                json!({ "crontab": "0 0 2 1 1 ? 2090", "endTime": "2080-01-01 00:00:00" }),
                "before its endTime",
            ),
        ] {
            lake.server.put(&schedule, &change).data();
            let online = lake.server.post(&format!("{schedule}/online"), &json!({}));
            refused(&online, 409, "schedule_expired");
            assert!(online.message().contains(why), "{online:?}");
            assert_eq!(lake.server.get(&path(id)).data()["status"], "offline");
        }
        lake.server.put(&schedule, &json!({ "endTime": null })).data();
        assert_eq!(lake.server.post(&format!("{schedule}/online"), &json!({})).data()["status"], "online");
    }
}

#[test]
fn tasks_that_write_one_table_without_an_order_are_warned_of() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (source, [a, b, _]) = tables(&lake);
        let id = lake.workflow("w");
        let task = |name: &str, sql: &str| {
            let form = json!({ "task": { "workflowId": id, "taskName": name, "taskType": "SQL",
                "datasourceId": source, "sqlContent": sql } });
            id_of(&lake.server.post(TASKS, &form).data())
        };
        let warnings = || {
            let preview = lake.server.get(&format!("/api/v1/workflows/{id}/publish/preview")).data();
            assert_eq!(preview["canPublish"], true, "{preview}");
            preview["warnings"].as_array().expect("warnings").clone()
        };
        task("load", "INSERT INTO b SELECT * FROM a");
        let clean = task("clean", "UPDATE b SET id = 2");
        task("read", "INSERT INTO c SELECT * FROM b");
        let found = warnings();
        let message = found[0]["message"].as_str().expect("a message");
        assert!(found.len() == 1 && message.contains("`load` and `clean` both write `b`"), "{found:?}");
        let given = json!({ "inputTableIds": [b], "outputTableIds": [b] });
        let path = format!("{TASKS}/{clean}");
        lake.server.put(&path, &given).data();
        assert_eq!(warnings(), [Value::Null; 0], "an order by hand");
        let lineage = lake.server.get(&format!("{path}/lineage")).data();
        assert_eq!(lineage["warnings"], json!([]), "the table stands in the SQL");
        lake.server.put(&path, &json!({ "inputTableIds": [a, b] })).data();
        let lineage = lake.server.get(&format!("{path}/lineage")).data();
        assert!(lineage["warnings"].to_string().contains("inputTableIds has `a`"), "{lineage}");
    }
}
