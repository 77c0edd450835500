//! Statements that cannot be interrupted, or want more memory than there is (tests/adversary/statements.txt). Each
//! ends with its own error; the server stays small, answers others, and stops when it is told to.

use std::thread;
use std::time::{Duration, Instant};

use lakeport_tests::{
    Event, EventStream, Kind, Lake, component, eventually, memory_bytes, on_servers, refused, rows, stores,
};
use serde_json::{Value, json};

const STATEMENTS: &str = include_str!("../adversary/statements.txt");
const EXECUTIONS: &str = "/api/v1/executions";
const SOON: Duration = Duration::from_secs(30);
/// The timeout of each statement's task, seconds.
const TIMEOUT_S: u64 = 2;
/// How long a statement may go on after its timeout, or its cancellation, on a busy machine.
const STOPPED_WITHIN: Duration = Duration::from_secs(15);
/// The most that the server itself may grow.
const GROWTH_MAX_BYTES: u64 = 96 * 1024 * 1024;
/// Workers in use; see docs/security.md.
const WORKERS_MAX: usize = 64;
/// Runs for minutes within one operation.
const STUCK: &str = "SELECT instr(printf('%.*c', 100000000, 'a'), printf('%.*c', 50000000, 'a') || 'b')";

/// A workflow with one task for each statement; none depends on another one.
fn workflow(lake: &Lake, statements: &[[&str; 2]], timeout_s: u64) -> i64 {
    let source = lake.source("shop.db");
    lake.run("shop.db", "CREATE TABLE t (a)");
    let workflow = lake.workflow("heavy");
    for [name, sql] in statements {
        let task = json!({ "workflowId": workflow, "taskName": name, "taskType": "SQL", "datasourceId": source,
            "sqlContent": sql, "timeout": timeout_s });
        let form = json!({ "task": task, "inputTableIds": [], "outputTableIds": [] });
        lake.server.post("/api/v1/tasks", &form).data();
    }
    lake.deploy(workflow);
    workflow
}

fn grown(lake: &Lake, at_rest_bytes: u64) -> u64 {
    memory_bytes(lake.server.pid(), "VmHWM:").saturating_sub(at_rest_bytes)
}

/// The processes whose parent is this server.
fn children(lake: &Lake) -> Vec<u32> {
    let pid = lake.server.pid();
    let listed = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let of_threads = std::fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let all: String = of_threads.collect::<Vec<_>>().join(" ") + " " + &listed;
    let mut all: Vec<u32> = all.split_whitespace().filter_map(|pid| pid.parse().ok()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Waits until one of the server's children is in the middle of its work; returns all.
fn busy(lake: &Lake) -> Vec<u32> {
    /// Processor time, in hundredths of a second.
    const WORKED: u64 = 50;
    let worked = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // Its name may have spaces; the eleventh number after it is the time.
        let figures = stat.rsplit_once(") ").map(|(_, figures)| figures.to_owned()).unwrap_or_default();
        figures
            .split(' ')
            .nth(11)
            .and_then(|time| time.parse::<u64>().ok())
            .is_some_and(|time| time >= WORKED)
    };
    eventually("a child is at work", SOON, || {
        let children = children(lake);
        children.iter().any(worked).then_some(children)
    })
}

/// Waits for the end of a process.
fn gone(pid: u32) {
    eventually("the process is gone", SOON, || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie waits for a parent that is not this test.
        (stat.is_empty() || stat.contains(") Z ")).then_some(())
    });
}

#[test]
fn each_heavy_statement_costs_its_own_task_alone() {
    let lake = Lake::start(&stores()[0]);
    let statements = rows(STATEMENTS);
    let workflow = workflow(&lake, &statements, TIMEOUT_S);
    let at_rest_bytes = memory_bytes(lake.server.pid(), "VmRSS:");
    let run = lake.execute(workflow);
    let begun = Instant::now();
    let executions = eventually("all end", Duration::from_secs(240), || {
        let asked = Instant::now();
        assert_eq!(lake.server.get("/health/live").status, 200);
        assert!(asked.elapsed() < Duration::from_secs(5), "others are answered meanwhile");
        thread::sleep(Duration::from_millis(100));
        let all = lake.executions(&run);
        let is_over = |one: &Value| !matches!(one["status"].as_str(), Some("pending" | "running"));
        (all.len() == statements.len() && all.iter().all(is_over)).then_some(all)
    });
    eprintln!("{} statements took {:?}", statements.len(), begun.elapsed());
    for one in &executions {
        eprintln!("{}: {} {}", one["taskName"], one["durationSeconds"], one["errorMessage"]);
        assert_eq!(one["status"], "failed", "{one}");
        assert!(one["errorMessage"].as_str().is_some_and(|text| !text.contains("panicked")), "{one}");
    }
    let grown = grown(&lake, at_rest_bytes);
    assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
    lake.run("shop.db", "INSERT INTO t VALUES (1)");
}

/// Its worker is killed, and nothing is left of it.
#[test]
fn a_statement_that_cannot_be_interrupted_is_cancelled() {
    let lake = Lake::start(&stores()[0]);
    let workflow = workflow(&lake, &[["stuck", STUCK]], 600);
    let run = lake.execute(workflow);
    let running = eventually("it runs", SOON, || {
        let running = lake.server.get(&format!("{EXECUTIONS}/running")).data();
        (running[0]["status"] == "running").then(|| running[0].clone())
    });
    busy(&lake);
    let begun = Instant::now();
    lake.server.post(&format!("{EXECUTIONS}/{}/cancel", running["id"]), &json!({})).data();
    let executions = lake.ended(&run, 1);
    assert!(begun.elapsed() < STOPPED_WITHIN, "{:?}", begun.elapsed());
    assert_eq!(executions[0]["status"], "killed", "{executions:?}");
    lake.run("shop.db", "INSERT INTO t VALUES (1)");
    eventually("its worker is gone", SOON, || children(&lake).is_empty().then_some(()));
}

#[test]
fn the_server_stops_while_such_a_statement_runs() {
    let mut lake = Lake::start(&stores()[0]);
    let workflow = workflow(&lake, &[["stuck", STUCK]], 600);
    lake.execute(workflow);
    let workers = busy(&lake);
    let begun = Instant::now();
    lake.server.stop();
    assert!(begun.elapsed() < STOPPED_WITHIN, "{:?}", begun.elapsed());
    for worker in workers {
        gone(worker);
    }
}

/// Also after a kill: the workers see that their server is gone.
#[test]
fn a_killed_server_leaves_no_workers() {
    let mut lake = Lake::start(&stores()[0]);
    let workflow = workflow(&lake, &[["stuck", STUCK]], 600);
    lake.execute(workflow);
    let workers = busy(&lake);
    lake.server.kill();
    for worker in workers {
        gone(worker);
    }
}

/// A component that looks like a tool and has one function of so many loops, each within the one before.
fn loops(count: usize) -> Vec<u8> {
    let (loops, ends) = ("loop ".repeat(count), "end ".repeat(count));
    let text = format!(
        "(component (core module (func {loops}{ends})) (instance $i) (export \"lakeport:tool/tool@0.9.0\" (instance $i)))"
    );
    wat::parse_str(text).expect("a component")
}

/// Its compiler wants gigabytes; the server does not.
#[test]
fn a_component_that_is_too_costly_is_refused() {
    let mut lake = Lake::prepare(&stores()[0]);
    // On a busy machine the compiler takes a while to come to its limit.
    lake.server.set("LAKEPORT_REQUEST_TIMEOUT_S", "55");
    lake.server.run();
    let at_rest_bytes = memory_bytes(lake.server.pid(), "VmRSS:");
    let answer = lake.server.post_bytes("/api/v1/plugins", "application/wasm", &loops(160_000));
    refused(&answer, 400, "component_too_costly");
    assert!(answer.message().contains("compiling the component takes more than"), "{answer:?}");
    let grown = grown(&lake, at_rest_bytes);
    assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
    let good = lake.server.post_bytes("/api/v1/plugins", "application/wasm", &component("greeter_v1"));
    assert_eq!(good.status, 200, "the next one is compiled: {good:?}");
}

#[test]
fn the_server_stops_while_a_component_is_compiled() {
    let mut lake = Lake::start(&stores()[0]);
    let client = lake.server.client();
    let uploading = thread::spawn(move || {
        let headers = [("Content-Type", "application/wasm")];
        std::panic::catch_unwind(move || {
            client.send("POST", "/api/v1/plugins", &headers, &loops(20_000)).status
        })
    });
    let compilers = busy(&lake);
    let begun = Instant::now();
    lake.server.stop();
    assert!(begun.elapsed() < STOPPED_WITHIN, "{:?}", begun.elapsed());
    // It was told so, or cut off.
    if let Ok(status) = uploading.join().expect("a thread") {
        assert_eq!(status, 503);
    }
    for compiler in compilers {
        gone(compiler);
    }
}

/// Their sessions rest afterwards, and leave their workers to others.
#[test]
fn more_databases_than_workers_are_all_served() {
    const DATABASES: usize = 100;
    for (lake, shop) in on_servers() {
        for number in 0..DATABASES {
            let form =
                json!({ "name": format!("again {number}"), "kind": shop.kind.dialect(), "url": shop.url });
            let id = lake.server.post("/api/v1/datasources", &form).data()["id"].clone();
            lake.server.post(&format!("/api/v1/datasources/{id}/test"), &json!({})).data();
        }
        assert!(children(&lake).len() <= 2 * WORKERS_MAX, "{:?}", children(&lake).len());
    }
}

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";

/// Values of 1 GB in a server's table: read by a question.
#[test]
fn a_value_of_one_gigabyte_costs_its_question_alone() {
    for (lake, shop) in on_servers() {
        if shop.kind == Kind::Mariadb {
            // It refuses values beyond its max_allowed_packet, 16 MiB.
            continue;
        }
        shop.run("CREATE TABLE orders (id integer PRIMARY KEY, note text)");
        shop.run("INSERT INTO orders VALUES (1, repeat('a', 1000000000)), (2, 'small')");
        lake.read_in(shop.source);
        let at_rest_bytes = memory_bytes(lake.server.pid(), "VmRSS:");
        let events = ask(&lake, &shop.name, "Show all orders");
        let ran =
            events.iter().rev().find(|event| event.kind == "tool_result" && event.data["tool"] == "run_sql");
        let ran = &ran.unwrap_or_else(|| panic!("{events:?}")).data;
        assert_eq!(
            (&ran["ok"], &ran["error"]["code"]),
            (&json!(false), &json!("statement_too_heavy")),
            "{ran}"
        );
        let grown = grown(&lake, at_rest_bytes);
        assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
        // The next statement works.
        lake.server.post(&format!("/api/v1/datasources/{}/test", shop.source), &json!({})).data();
    }
}

/// Whoever may comment columns must not fill the server.
#[test]
fn great_comments_cost_little_memory() {
    for (lake, shop) in on_servers() {
        if shop.kind == Kind::Mariadb {
            // Its comments have 1,024 characters at most.
            continue;
        }
        shop.run(
            "DO $$ BEGIN FOR t IN 1..40 LOOP
               EXECUTE format('CREATE TABLE t%s (%s)', t,
                 (SELECT string_agg(format('c%s text', c), ',') FROM generate_series(1, 300) c));
               FOR c IN 1..300 LOOP
                 EXECUTE format('COMMENT ON COLUMN t%s.c%s IS %L', t, c, repeat('x', 4000));
               END LOOP;
             END LOOP; END $$",
        );
        let at_rest_bytes = memory_bytes(lake.server.pid(), "VmRSS:");
        let sync = lake.read_in(shop.source);
        assert_eq!((&sync["state"], &sync["tables"]["new"]), (&json!("success"), &json!(40)), "{sync}");
        let grown = grown(&lake, at_rest_bytes);
        assert!(grown < GROWTH_MAX_BYTES, "the server was {grown} bytes larger than at rest");
    }
}

fn ask(lake: &Lake, name: &str, question: &str) -> Vec<Event> {
    let client = lake.server.client();
    let topic = client.post(TOPICS, &json!({ "title": "heavy", "datasources": [name] })).json();
    let form = json!({ "topic_id": topic["topic_id"], "content": question });
    let receipt = client.post(&format!("{TASKS}/deliver-message"), &form).json();
    let path = format!("{TASKS}/{}/events/stream", receipt["task_id"].as_str().expect("an id"));
    EventStream::open(lake.server.address(), &path, &[]).all()
}
