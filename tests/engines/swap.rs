//! Another version of the connector is activated again and again, while requests use it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::pair::{DS, Pair};

const TIME: Duration = Duration::from_secs(6);
/// Clients of the request that is quick, and the pause between two requests of one: together 200 a second.
const CLIENTS: u32 = 8;
const PACE: Duration = Duration::from_millis(40);
const PAUSE: Duration = Duration::from_millis(300);

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
    let (is_over, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (preview, test) =
        (format!("/api/v1/workflows/{workflow}/publish/preview"), format!("/api/v1/engines/{DS}/test"));
    std::thread::scope(|scope| {
        let (is_over, asked, pair) = (&is_over, &asked, &pair);
        let (preview, test) = (preview.as_str(), test.as_str());
        for _ in 0..CLIENTS {
            scope.spawn(move || {
                let mut next = Instant::now();
                while !is_over.load(Ordering::Relaxed) {
                    let answer = pair.server().get(preview);
                    assert_eq!(answer.status, 200, "{answer:?}");
                    asked.fetch_add(1, Ordering::Relaxed);
                    next += PACE;
                    std::thread::sleep(next.saturating_duration_since(Instant::now()));
                }
            });
        }
        // It sends six requests to DolphinScheduler.
        scope.spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let answer = pair.server().post(test, &json!({}));
                assert_eq!((answer.status, &answer.data()["ok"]), (200, &json!(true)), "{answer:?}");
                asked.fetch_add(1, Ordering::Relaxed);
            }
        });
        let begun = Instant::now();
        let mut swaps = 0;
        while begun.elapsed() < TIME {
            let digest: Value = json!({ "digest": digests[swaps % 2] });
            pair.server().post("/api/v1/plugins/dolphinscheduler/activate", &digest).data();
            swaps += 1;
            std::thread::sleep(PAUSE);
        }
        is_over.store(true, Ordering::Relaxed);
        assert!(swaps > 5, "{swaps} swaps");
    });
    let asked = asked.into_inner();
    println!("{asked} requests, {} a second", asked as u64 / TIME.as_secs());
    assert!(asked > 300, "{asked} requests");
}
