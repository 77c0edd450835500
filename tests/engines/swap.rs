//! Another version of the connector is activated again and again, while requests use it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lakeport_tests::eventually;
use serde_json::json;

use crate::pair::{DS, Pair, SOON};

/// Clients of the request that is quick, how many each sends, and at what pace: together 200 a second, 1,200 in all.
const CLIENTS: usize = 8;
const REQUESTS: usize = 150;
const PACE: Duration = Duration::from_millis(40);
/// Runs that are started meanwhile.
const RUNS_MAX: usize = 5;
const PAUSE: Duration = Duration::from_millis(300);

/// A client that has not sent all; it also ends when it fails.
struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_swap_loses_no_request() {
    let pair = Pair::start();
    let definition = json!({ "workflow": {}, "tasks": [{ "taskName": "t", "taskType": "SQL",
        "datasource": pair.shop.name, "sqlContent": "SELECT 1" }] });
    let workflow = pair.deployed(DS, "swap", &definition);
    let path = lakeport_tests::wasm_folder().join("plugin/engine_dolphinscheduler.wasm");
    let component = std::fs::read(path).expect("`cargo xtask test` builds it");
    // The same with a custom section, which changes nothing but the digest.
    let other = [component.as_slice(), &[0, 5, 4, b'm', b'a', b'r', b'k']].concat();
    let digests = [component, other].map(|bytes| {
        let staged = pair.server().post_bytes("/api/v1/plugins", "application/wasm", &bytes).data();
        staged["digest"].as_str().expect("a digest").to_owned()
    });
    let (left, asked, started) = (AtomicUsize::new(CLIENTS), AtomicUsize::new(0), AtomicUsize::new(0));
    let path = format!("/api/v1/workflows/{workflow}");
    let is_over = || left.load(Ordering::Relaxed) == 0;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let _left = Left(&left);
                let mut next = Instant::now();
                for _ in 0..REQUESTS {
                    let answer = pair.server().get(&format!("{path}/publish/preview"));
                    assert_eq!(answer.status, 200, "{answer:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                    next += PACE;
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            });
        }
        // It sends six requests to DolphinScheduler.
        scope.spawn(|| {
            while !is_over() {
                let answer = pair.server().post(&format!("/api/v1/engines/{DS}/test"), &json!({}));
                assert_eq!((answer.status, &answer.data()["ok"]), (200, &json!(true)), "{answer:?}");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        // What changes the engine.
        scope.spawn(|| {
            while !is_over() && started.load(Ordering::Relaxed) < RUNS_MAX {
                pair.execute(workflow);
                started.fetch_add(1, Ordering::Relaxed);
            }
        });
        let mut swaps = 0;
        while !is_over() {
            let digest = json!({ "digest": digests[swaps % 2] });
            pair.server().post("/api/v1/plugins/dolphinscheduler/activate", &digest).data();
            swaps += 1;
            std::thread::sleep(PAUSE);
        }
        assert!(swaps > 5, "{swaps} swaps");
    });
    let (asked, started) = (asked.into_inner(), started.into_inner());
    println!("{asked} requests and {started} starts in {:?}", begun.elapsed());
    let ended = eventually("all runs have succeeded", SOON, || {
        let runs = pair.server().get(&format!("{path}/runs?pageSize=100")).data();
        let runs = runs["records"].as_array().expect("runs").clone();
        runs.iter().all(|run| run["status"] == "success").then_some(runs.len())
    });
    assert_eq!(ended, started, "each start is one run");
}
