//! The example company: `serve --demo` creates it once and completely, even if the server dies meanwhile.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use lakeport_tests::{Lake, Store, eventually, on_sqlite, stores};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(20);
/// Areas B and C, and their prerequisites.
const AREAS: [&str; 7] = ["datasources", "engines", "workflows", "tasks", "executions", "lineage", "tables"];
/// Endpoints that are correctly empty: nothing is running, nothing was dropped, and no table was renamed.
const EMPTY: [&str; 6] = [
    "/api/v1/executions/running",
    "/api/v1/tables/pending-deletion",
    "/api/v1/tables/{id}/schema-history",
    "/api/v1/tables/{id}/schema-history/{version}",
    "/api/v1/workflows/pending-removal",
    "/api/v1/workflows/{id}/backfills",
];

/// A server with the example company, not started; its databases are in its folder.
fn prepare(store: &Store) -> Lake {
    let mut lake = Lake::prepare(store);
    lake.server.add_argument("--demo");
    lake
}

fn start(store: &Store) -> Lake {
    let mut lake = prepare(store);
    let begun = Instant::now();
    lake.server.run();
    println!("started with the example company in {} ms", begun.elapsed().as_millis());
    lake
}

fn list(lake: &Lake, target: &str) -> Vec<Value> {
    let data = lake.server.get(target).data();
    let list = if data.is_array() { &data } else { &data["records"] };
    list.as_array().unwrap_or_else(|| panic!("no list at {target}: {data}")).clone()
}

/// The item with this value of the member.
fn named(list: &[Value], member: &str, name: &str) -> Value {
    let found = list.iter().find(|one| one[member] == name);
    found.unwrap_or_else(|| panic!("no {member} {name}")).clone()
}

fn texts(list: &[Value], member: &str) -> Vec<String> {
    let mut texts: Vec<String> = list.iter().map(|one| one[member].to_string()).collect();
    texts.sort();
    texts
}

/// All of its numbers that do not depend on the current time.
fn sum(lake: &Lake) -> Value {
    let tables = list(lake, "/api/v1/tables?pageSize=500");
    let of_tables: Vec<Value> = texts(&tables, "tableName").into_iter().map(Value::from).collect();
    let mut histories = Vec::new();
    for table in &tables {
        let id = &table["id"];
        let history = list(lake, &format!("/api/v1/tables/{id}/statistics/history?limit=500"));
        let fields = list(lake, &format!("/api/v1/tables/{id}/fields"));
        assert!(fields.iter().all(|field| field["fieldComment"].is_string()), "{fields:?}");
        histories.push(json!([table["tableName"], history.len(), fields.len()]));
    }
    histories.sort_by_key(Value::to_string);
    let mut workflows = Vec::new();
    for workflow in list(lake, "/api/v1/workflows?pageSize=500") {
        let detail = lake.server.get(&format!("/api/v1/workflows/{}", workflow["id"])).data();
        let publications = detail["publications"].as_array().expect("publications");
        let states: Vec<String> = publications
            .iter()
            .map(|one| format!("{} {} v{}", one["comment"], one["deployment"]["state"], one["version"]))
            .collect();
        workflows.push(json!([
            detail["name"],
            detail["status"],
            detail["currentVersion"],
            detail["tasks"].as_array().map(Vec::len),
            states
        ]));
    }
    workflows.sort_by_key(Value::to_string);
    let executions = list(lake, "/api/v1/executions/history?pageSize=500");
    let mut runs: Vec<String> = executions
        .iter()
        .map(|one| format!("{} {} {} {}", one["taskName"], one["startTime"], one["status"], one["attempt"]))
        .collect();
    runs.sort();
    json!({ "tables": of_tables, "histories": histories, "workflows": workflows, "runs": runs })
}

/// Whether an answer has no data.
fn is_empty(data: &Value) -> bool {
    match data {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Object(members) => {
            let of = |name: &str| members.get(name).and_then(Value::as_array);
            of("records").or(of("nodes")).or(of("tables")).is_some_and(Vec::is_empty)
        }
        _ => false,
    }
}

#[test]
fn every_list_has_something_to_show() {
    for store in stores() {
        let lake = start(&store);
        let sources = list(&lake, "/api/v1/datasources");
        let tables = list(&lake, "/api/v1/tables?pageSize=100");
        let workflow = named(&list(&lake, "/api/v1/workflows"), "name", "daily sales");
        let task = named(&list(&lake, "/api/v1/tasks"), "taskName", "order details");
        let execution = &list(&lake, "/api/v1/executions/failed")[0];
        let id_of = |area: &str| match area {
            "datasources" => named(&sources, "name", "lakeside")["id"].clone(),
            // The one that was changed in its database, too.
            "tables" => named(&tables, "tableName", "ods_products")["id"].clone(),
            "workflows" => workflow["id"].clone(),
            "tasks" => task["id"].clone(),
            "executions" => execution["id"].clone(),
            other => panic!("{other} has no ids"),
        };
        let openapi = lake.server.get("/openapi.json").json();
        let mut asked = 0;
        for (path, methods) in openapi["paths"].as_object().expect("paths") {
            let area =
                path.strip_prefix("/api/v1/").and_then(|rest| rest.split('/').next()).unwrap_or_default();
            let Some(operation) = methods.get("get").filter(|get| get["x-not-yet"] != true) else { continue };
            if !AREAS.contains(&area) || EMPTY.contains(&path.as_str()) {
                continue;
            }
            let mut target = path.clone();
            if target.contains("{id}") {
                target = target.replace("{id}", &id_of(area).to_string());
            }
            if target.contains("{fieldId}") {
                let fields = list(&lake, &format!("/api/v1/tables/{}/fields", id_of("tables")));
                target = target.replace("{fieldId}", &fields[0]["id"].to_string());
            }
            if target.contains("{instanceId}") {
                let runs = list(&lake, &format!("/api/v1/workflows/{}/runs", id_of(area)));
                target = target.replace("{instanceId}", runs[0]["instanceId"].as_str().expect("an id"));
            }
            if area == "engines" {
                target = target.replace("{name}", "local");
            }
            assert!(!target.contains('{'), "{operation}");
            if area == "lineage" {
                target += &format!("?tableId={}", id_of("tables"));
            }
            let data = lake.server.get(&target).data();
            assert!(!is_empty(&data), "{target} shows nothing: {data}");
            asked += 1;
        }
        assert!(asked >= 20, "{asked}");
        let log = lake.server.get(&format!("/api/v1/executions/{}", execution["id"])).data()["log"].clone();
        assert!(log["text"].as_str().is_some_and(|text| text.contains("failed: ")), "{log}");
        assert_eq!(log["complete"], true, "{log}");
    }
}

#[test]
fn its_month_is_of_one_piece() {
    for store in stores() {
        let lake = start(&store);
        let history = list(&lake, "/api/v1/executions/history?pageSize=500");
        let figures = lake.server.get("/api/v1/executions/statistics").data();
        let count = |status: &str| history.iter().filter(|one| one["status"] == status).count();
        assert_eq!(figures["total"], history.len(), "{figures}");
        for (status, at_least) in [("success", 100), ("failed", 3), ("killed", 1)] {
            assert_eq!(figures[status], count(status), "{figures}");
            assert!(count(status) >= at_least, "{status}");
        }
        assert!(
            history.iter().filter(|one| one["status"] == "failed").all(|one| one["errorMessage"].is_string())
        );
        assert!(history.iter().all(|one| one["createdAt"] == one["updatedAt"]));
        let (mut decided, mut rejected) = (Vec::new(), 0);
        for workflow in list(&lake, "/api/v1/workflows") {
            let detail = lake.server.get(&format!("/api/v1/workflows/{}", workflow["id"])).data();
            assert_eq!(detail["publishStatus"], "published", "{detail}");
            assert!(detail["versions"].as_array().is_some_and(|versions| versions.len() >= 3));
            for one in detail["publications"].as_array().expect("publications") {
                assert_ne!(one["submittedBy"], one["decidedBy"]);
                match one["status"].as_str() {
                    Some("APPROVED") => {
                        assert_eq!(one["deployment"]["state"], "success", "{one}");
                        let finished = one["deployment"]["finishedAt"].as_str().expect("a time");
                        assert_eq!(
                            finished[..10],
                            one["submittedAt"].as_str().expect("a time")[..10],
                            "{one}"
                        );
                    }
                    _ => rejected += 1,
                }
                decided.push(one["submittedAt"].as_str().expect("a time")[..10].to_owned());
            }
            assert_each_run_has_the_version_of_its_time(&lake, &detail);
        }
        assert_eq!((decided.len(), rejected), (20, 1));
        decided.sort();
        decided.dedup();
        assert!((15..20).contains(&decided.len()), "some days none, some two: {decided:?}");
        for table in list(&lake, "/api/v1/tables?pageSize=100") {
            let month = list(&lake, &format!("/api/v1/tables/{}/statistics/history/last30days", table["id"]));
            assert!(month.len() >= 30, "{}: {}", table["tableName"], month.len());
            let last = month.last().expect("a size");
            assert_eq!(last["rowCount"], table["rowCount"], "{table}");
            assert!(month.is_sorted_by_key(|size| size["rowCount"].as_i64()), "{month:?}");
        }
    }
}

/// The workflow's runs are of the versions that were deployed when they started.
fn assert_each_run_has_the_version_of_its_time(lake: &Lake, workflow: &Value) {
    let publications = workflow["publications"].as_array().expect("publications");
    let runs = list(lake, &format!("/api/v1/workflows/{}/runs?pageSize=500", workflow["id"]));
    for run in &runs {
        let started = run["startTime"].as_str().expect("a time");
        let deployed =
            |one: &&Value| one["deployment"]["finishedAt"].as_str().is_some_and(|at| at <= started);
        // The newest first.
        let deployed = publications.iter().find(deployed).expect("a publication before the run");
        assert_eq!(run["workflowVersion"], deployed["version"], "{run}");
    }
    let versions: HashSet<i64> = runs.iter().filter_map(|run| run["workflowVersion"].as_i64()).collect();
    assert!(versions.len() > 1, "{versions:?}");
}

#[test]
fn its_workflow_runs_and_its_timer_is_on() {
    for store in stores() {
        let lake = start(&store);
        let workflow = named(&list(&lake, "/api/v1/workflows"), "name", "daily sales");
        assert_eq!(workflow["status"], "online");
        let next = workflow["schedule"]["nextFireTimes"][0].as_str().expect("it is due").to_owned();
        assert!(next.ends_with("04:10:00"), "{next}");
        let ran = lake.ended(&lake.execute(workflow["id"].as_i64().expect("an id")), 2);
        assert!(ran.iter().all(|one| one["status"] == "success"), "{ran:?}");
        assert!(ran.iter().all(|one| one["rowsAffected"].as_i64().is_some_and(|rows| rows > 0)), "{ran:?}");
        let others = list(&lake, "/api/v1/workflows");
        for name in ["customer value", "sales report"] {
            let other = named(&others, "name", name);
            assert_eq!(other["status"], "offline");
            let ran = lake.ended(&lake.execute(other["id"].as_i64().expect("an id")), 1);
            assert!(ran.iter().all(|one| one["status"] == "success"), "{ran:?}");
        }
        // The task's output matches the data.
        let per_city = "SELECT count(*) FROM (SELECT city FROM ads_city_sales GROUP BY city)";
        assert_eq!(lake.numbers("lakeport-demo/lakeside.db", per_city), [8]);
    }
}

#[test]
fn a_failed_run_of_the_past_can_be_run_again() {
    for store in stores() {
        let lake = start(&store);
        let failed = named(&list(&lake, "/api/v1/executions/failed"), "taskName", "daily totals");
        let again =
            lake.server.post(&format!("/api/v1/executions/{}/retry", failed["id"]), &json!({})).data();
        eventually("it is run again", SOON, || {
            let now = lake.server.get(&format!("/api/v1/executions/{}", again["id"])).data();
            (now["status"] == "success").then_some(())
        });
    }
}

#[test]
fn a_second_start_changes_nothing() {
    for store in stores() {
        let mut lake = start(&store);
        let before = sum(&lake);
        lake.server.restart();
        assert_eq!(sum(&lake), before);
        // The user's deletions persist.
        let workflow = named(&list(&lake, "/api/v1/workflows"), "name", "sales report");
        let target = format!("/api/v1/workflows/{}?cascadeDeleteTasks=true", workflow["id"]);
        lake.server.delete(&target).data();
        lake.server.restart();
        assert_eq!(list(&lake, "/api/v1/workflows").len(), 2);
    }
}

#[test]
fn a_killed_setup_resumes_at_start() {
    for store in stores() {
        let whole = sum(&start(&store));
        let points: &[&str] = if store.is_postgres() {
            // A lease must expire each time.
            &["demo.published#5"]
        } else {
            &[
                "demo.database",
                "sync.batch_written",
                "changes.committed#20",
                "changes.committed#90",
                "tables.change_claimed",
                "tables.physical_done",
                "tables.change_recorded",
                "demo.catalogue",
                "demo.defined",
                "publication.claimed#2",
                "publication.ended#7",
                "demo.published#10",
                "demo.runs",
                "demo.sizes",
            ]
        };
        for point in points {
            let mut lake = prepare(&store);
            lake.server.set("LAKEPORT_KILL_AT", point);
            let told = lake.server.ends_at_start();
            assert!(told.contains("will kill itself") && !told.contains("is set up"), "{point}: {told}");
            lake.server.set("LAKEPORT_KILL_AT", "");
            lake.server.run();
            assert_eq!(sum(&lake), whole, "{point}");
        }
    }
}

#[test]
fn it_touches_nothing_that_is_not_its_own() {
    for store in stores() {
        let mut lake = Lake::start(&store);
        let own = lake.workflow("daily sales");
        lake.server.stop();
        lake.server.add_argument("--demo");
        let told = lake.server.ends_at_start();
        assert!(told.contains("not the example company's: rename it"), "{told}");
        lake.server.remove_argument("--demo");
        lake.server.run();
        let kept = lake.server.get(&format!("/api/v1/workflows/{own}")).data();
        assert_eq!((&kept["createdBy"], &kept["currentVersion"]), (&json!("local"), &json!(1)));
        lake.server.put(&format!("/api/v1/workflows/{own}"), &json!({ "name": "my sales" })).data();
        lake.server.stop();
        lake.server.add_argument("--demo");
        lake.server.run();
        assert_eq!(list(&lake, "/api/v1/workflows").len(), 4);
    }
}

#[test]
fn without_a_folder_for_databases_it_says_what_to_set() {
    for store in stores() {
        let mut lake = prepare(&store);
        let data = lake.server.data().display().to_string();
        lake.server.set("LAKEPORT_SQLITE_ROOTS", &data);
        let told = lake.server.ends_at_start();
        assert!(told.contains("LAKEPORT_SQLITE_ROOTS"), "{told}");
    }
}

/// The questions that the planner must answer have informative answers.
#[test]
fn its_questions_have_answers() {
    let Some(store) = stores().into_iter().next() else { return };
    let lake = start(&store);
    let file = lake.path("lakeport-demo/lakeside.db");
    let texts = |query: &'static str| -> Vec<String> {
        use sqlx::Row as _;
        on_sqlite(&file, async |connection| {
            let rows = sqlx::query(query).fetch_all(connection).await.expect("a sound query");
            rows.iter().map(|row| row.get(0)).collect()
        })
    };
    assert_eq!(texts("SELECT CAST(count(*) AS TEXT) FROM ods_customers WHERE city = 'Beijing'"), ["72"]);
    let top = texts(
        "SELECT product_name FROM dwd_order_details JOIN ods_products USING (product_id) \
         GROUP BY product_id ORDER BY sum(sales_amount) DESC LIMIT 5",
    );
    assert_eq!(top.len(), 5);
    let averages = texts(
        "SELECT city || ' ' || avg(order_amount) FROM ods_orders JOIN ods_customers USING (customer_id) GROUP BY city",
    );
    assert_eq!(averages.len(), 8);
}
