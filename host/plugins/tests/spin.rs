//! Calls that spin, alone in their process, which measures processor time.

mod support;

use std::time::{Duration, Instant};

use lakeport_plugins::{CallFault, RegistrySettings};

use support::{ask, failed_with, host_with, stage_active};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spinning_plugins_share_one_core() {
    let mut settings = RegistrySettings::default();
    settings.limits.timeout = Duration::from_secs(3);
    let registry = host_with(settings);
    stage_active(&registry, "greeter_v1").await;
    stage_active(&registry, "misbehave").await;
    let before = support::processor_time();
    let begun = Instant::now();
    let spinning: Vec<_> = (0..8)
        .map(|_| {
            let registry = registry.clone();
            tokio::spawn(async move { ask(&registry, "misbehave", r#"{"do":"spin"}"#).await })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let asked = Instant::now();
        ask(&registry, "greeter", "{}").await.expect("the harmless plugin answers");
        slowest = slowest.max(asked.elapsed());
    }
    for call in spinning {
        failed_with(&call.await.unwrap().unwrap_err(), CallFault::Timeout, "3000 ms");
    }
    let used = support::processor_time() - before;
    let wall = begun.elapsed();
    // Eight spinning calls could take both cores; CPU turns allow them one, and the rest of the process takes
    // a little.
    assert!(used < wall.mul_f64(1.5), "{used:?} of processor time in {wall:?}");
    assert!(slowest < Duration::from_millis(1_500), "the slowest of the others took {slowest:?}");
}
