//! Many workflows on one engine.

use std::time::Duration;

use lakeport_engine_tests::{Generation, TestServer};
use lakeport_tests::eventually;
use serde_json::json;

use crate::pair::{DS, Pair, SOON};

const WORKFLOWS: usize = 500;
/// They are deployed side by side.
const CLIENTS: usize = 4;
/// How long the requests are counted while nothing happens, and how many there may be: two a second.
const STEADY: Duration = Duration::from_secs(30);
const REQUESTS_MAX: usize = 60;

#[test]
fn watching_many_scheduled_workflows_costs_few_requests() {
    let server = TestServer::start(Generation::V33);
    let pair = Pair::on(server.access(), None);
    let definition =
        json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SHELL", "sqlContent": "true" }] });
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (pair, definition) = (&pair, &definition);
            scope.spawn(move || {
                for number in (client..WORKFLOWS).step_by(CLIENTS) {
                    let id = pair.deployed(DS, &format!("many {number}"), definition);
                    let path = format!("/api/v1/workflows/{id}/schedule");
                    pair.server().put(&path, &json!({ "crontab": "0 0 0 1 1 ? 2090" })).data();
                    pair.server().post(&format!("{path}/online"), &json!({})).data();
                }
            });
        }
    });
    let online = || pair.server().get("/api/v1/workflows?pageSize=1&status=online").data()["total"].clone();
    eventually("all are online", SOON, || (online() == WORKFLOWS).then_some(()));
    // What was changed last is looked at once more.
    std::thread::sleep(STEADY / 3);
    let before = server.requests().len();
    std::thread::sleep(STEADY);
    let requests = server.requests().split_off(before);
    println!("{WORKFLOWS} online workflows: {} requests in {STEADY:?}", requests.len());
    assert!(requests.len() <= REQUESTS_MAX, "{requests:#?}");
    // It is still watched.
    let id = pair.deployed(DS, "one more", &definition);
    let run = pair.run(id);
    assert_eq!(run["status"], "success", "{run}");
    let problems = server.problems();
    assert!(problems.is_empty(), "{problems:#?}");
}
