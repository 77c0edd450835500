//! Calls that spin, alone in their process, which measures processor time.

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lakeport_plugins::{CallFault, Registry, RegistrySettings};

use support::{ask, failed_with, host_with, stage_active};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spinning_plugins_share_one_core() {
    let mut settings = RegistrySettings { quarantine_after: 0, ..RegistrySettings::default() };
    settings.limits.timeout = Duration::from_secs(3);
    let registry = host_with(settings);
    stage_active(&registry, "greeter_v1").await;
    stage_active(&registry, "misbehave").await;
    for what in ["spin", "spin_printing", "spin_sleeping"] {
        share_one_core(&registry, what).await;
    }
}

async fn share_one_core(registry: &Arc<Registry>, what: &str) {
    let before = support::processor_time();
    let begun = Instant::now();
    let spinning: Vec<_> = (0..8)
        .map(|_| {
            let (registry, input) = (registry.clone(), format!(r#"{{"do":"{what}"}}"#));
            tokio::spawn(async move { ask(&registry, "misbehave", &input).await })
        })
        .collect();
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let asked = Instant::now();
        ask(registry, "greeter", "{}").await.expect("the harmless plugin answers");
        slowest = slowest.max(asked.elapsed());
    }
    for call in spinning {
        failed_with(&call.await.unwrap().unwrap_err(), CallFault::Timeout, "3000 ms");
    }
    let used = support::processor_time() - before;
    let wall = begun.elapsed();
    // Eight spinning calls could take both cores; CPU turns allow them one, and the rest of the process takes
    // a little.
    assert!(used < wall.mul_f64(1.5), "{used:?} of processor time for {what} in {wall:?}");
    assert!(slowest < Duration::from_millis(1_500), "{what}: the slowest of the others took {slowest:?}");
}
