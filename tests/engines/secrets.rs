//! No secret enters the connector: neither Lakeport's own for DolphinScheduler, nor what a log-in answers, nor the passwords
//! of data sources, which 3.1.1 hides in its lists and the test server shows.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use lakeport_engine_tests::{Generation, TestServer};
use lakeport_tests::{PASSWORD, eventually};
use serde_json::json;

use crate::pair::{DS, Pair, SOON, config, make_source};
use crate::proxy::{Fault, Proxy};

/// The data with which a memory of a component begins is a file in the list of mappings: one in memory, or the compiled code.
const IMAGES: [&str; 2] = ["wasm-memory-image", "/compiled"];

#[test]
fn no_secret_is_in_the_memory_of_the_connector() {
    let pair = Pair::start_behind_proxy();
    let token = pair.access.token.clone();
    holds_none(&pair, DS, "/process-definition HTTP", &[&token, PASSWORD]);
}

#[test]
fn no_secret_is_there_after_a_log_in_with_a_password() {
    let server = TestServer::start(Generation::V33);
    let (proxy, access) = Proxy::before(&server.access());
    let pair = Pair::on(server.access(), Some(proxy));
    make_source(&access, &pair.shop);
    let shown = access.api().expect("a base URL").get("/datasources", &[("pageNo", "1"), ("pageSize", "10")]);
    assert!(shown.expect("an answer").text().contains(PASSWORD), "this server shows the passwords");
    let secrets = json!({ "username": access.username, "password": access.password });
    let mut config = config(&access);
    config["baseUrl"] = json!(access.base_url);
    let form =
        json!({ "name": "by-name", "plugin": "dolphinscheduler", "config": config, "secrets": secrets });
    pair.server().post("/api/v1/engines", &form).data();
    let logs_in = |line: &String| line.contains("/login");
    holds_none(
        &pair,
        "by-name",
        "/workflow-definition HTTP",
        &[&access.password, &access.token, PASSWORD, "session-"],
    );
    assert!(pair.proxy().requests().iter().any(logs_in), "{:?}", pair.proxy().requests());
}

/// Has the connector deploy a SQL task, and looks through its memory while it waits for the answer to this call.
fn holds_none(pair: &Pair, engine: &str, creation: &str, secrets: &[&str]) {
    let definition = json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SQL",
        "datasource": pair.shop.name, "sqlContent": "SELECT 1" }] });
    let workflow = pair.imported(engine, "secrets", &definition);
    // It waits for this answer after it has read the data sources.
    pair.proxy().spoil(creation, Fault::Slow(Duration::from_secs(8)), 10);
    let path = format!("/api/v1/workflows/{workflow}");
    let record = pair.server().post(&format!("{path}/publish"), &json!({})).data();
    let approve = format!("{path}/publish/{}/approve", record["recordId"]);
    pair.server().post(&approve, &json!({ "status": "APPROVED" })).data();
    let is_creation = |line: &String| line.starts_with("POST") && line.contains(creation);
    let is_asked = || pair.proxy().requests().iter().any(is_creation);
    eventually("the connector creates the definition", SOON, || is_asked().then_some(()));
    let memories = memories(pair.server().pid());
    let holds = |text: &str| memories.iter().any(|memory| contains(memory, text.as_bytes()));
    assert!(holds(&pair.access.project_name) && holds(&pair.shop.name), "its memory was found");
    for secret in secrets {
        assert!(!holds(secret), "{secret}");
    }
}

fn contains(memory: &[u8], text: &[u8]) -> bool {
    memory.windows(text.len()).any(|window| window == text)
}

/// The linear memories of the components in a process.
fn memories(pid: u32) -> Vec<Vec<u8>> {
    let maps = read_to_string(format!("/proc/{pid}/maps")).expect("the server runs");
    let process = File::open(format!("/proc/{pid}/mem")).expect("its memory can be read");
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for line in maps.lines() {
        let (range, rest) = line.split_once(' ').expect("a range");
        let (start, end) = range.split_once('-').expect("two ends");
        let number = |text: &str| u64::from_str_radix(text, 16).expect("a number");
        let (start, end) = (number(start), number(end));
        let is_next = ranges.last().is_some_and(|(_, last)| *last == start);
        match rest.starts_with("rw") {
            true if is_next => ranges.last_mut().expect("there is one").1 = end,
            true if IMAGES.iter().any(|image| line.contains(image)) => ranges.push((start, end)),
            _ => {}
        }
    }
    let read = |(start, end): (u64, u64)| {
        let mut bytes = vec![0; usize::try_from(end - start).expect("it fits")];
        process.read_exact_at(&mut bytes, start).expect("it is mapped");
        bytes
    };
    ranges.into_iter().map(read).collect()
}
