//! Retention: growing data is purged by age, in bounded batches, by one server at a time. Each module's part
//! names its growing tables; the ages are settings.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::time::{DAY_MS, HOUR_MS};
use lakeport_store::Retained;
use lakeport_store::leases::Held;
use lakeport_store::{changes, leases};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::core::{Core, stands_on_core};
use crate::part::{Part, RetentionRule, Start, Worker};

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(600);
/// The first round starts after the server's start.
const FIRST_AFTER: Duration = Duration::from_secs(60);
/// Rows of one transaction.
const BATCH_ROWS: i64 = 1_000;
/// Transactions of one round, per table; the rest waits for the next round.
const BATCHES_MAX: usize = 5_000;
const LEASE: &str = "retention";

/// The rules, and the counts of purged rows since the start.
pub struct Retention {
    core: Arc<Core>,
    rules: Vec<RetentionRule>,
    purged: Arc<Purged>,
}

stands_on_core!(Retention);

/// Purged rows since the start, by label.
#[derive(Default)]
pub struct Purged(Mutex<BTreeMap<&'static str, u64>>);

impl Purged {
    fn add(&self, what: &'static str, rows: u64) {
        *self.0.lock().entry(what).or_default() += rows;
    }

    pub fn rows(&self) -> BTreeMap<&'static str, u64> {
        self.0.lock().clone()
    }
}

pub fn part() -> Part<Retention> {
    Part { workers: vec![Worker::new(Start::AfterSetUp, run)], ..Part::default() }
}

impl Retention {
    /// `rules`: of all modules.
    pub fn new(core: &Arc<Core>, rules: Vec<RetentionRule>, purged: &Arc<Purged>) -> Retention {
        Retention { core: Arc::clone(core), rules, purged: Arc::clone(purged) }
    }

    /// Older rows may be purged.
    fn before_ms(&self, rule: &RetentionRule) -> i64 {
        let now_ms = self.clock.now_ms();
        let Some(days) = rule.days else { return now_ms };
        let days = days(&self.config.retention);
        now_ms - i64::try_from(days).unwrap_or(i64::MAX / DAY_MS).saturating_mul(DAY_MS)
    }
}

/// Purges until the server stops.
async fn run(state: Arc<Retention>) {
    let stopping = &state.stopping;
    let mut wait = FIRST_AFTER;
    while stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        wait = INTERVAL;
        match state.leases.claim(LEASE, leases::TTL).await {
            Ok(Some(lease)) => {
                if let Err(error) = purge_under(&state, lease.hold(), stopping).await {
                    tracing::warn!("what is too old was not purged: {error}");
                }
            }
            // Another server is purging.
            Ok(None) => {}
            Err(error) => tracing::warn!("what is too old was not purged: {error}"),
        }
    }
}

async fn purge_under(state: &Retention, held: Held, stopping: &CancellationToken) -> Result<(), Error> {
    let lost = held.lost();
    let outcome = tokio::select! {
        outcome = purge(state) => outcome.map(drop),
        () = lost.cancelled() => Ok(()),
        () = stopping.cancelled() => Ok(()),
    };
    held.release().await?;
    outcome
}

/// One round; returns the number of purged rows.
async fn purge(state: &Retention) -> Result<u64, Error> {
    let mut purged = 0;
    for rule in &state.rules {
        let retained = &rule.retained;
        let rows = purge_table(state, retained, state.before_ms(rule)).await?;
        if rows > 0 {
            tracing::info!(what = retained.what, rows, "purged what was too old");
            state.purged.add(retained.what, rows);
        }
        purged += rows;
    }
    let hours = i64::try_from(state.config.retention.changes_hours).unwrap_or(i64::MAX / HOUR_MS);
    let changes = changes::purge(&state.db, state.clock.now_ms() - hours * HOUR_MS).await?;
    state.purged.add("changes", changes);
    Ok(purged + changes)
}

async fn purge_table(state: &Retention, retained: &Retained, before_ms: i64) -> Result<u64, Error> {
    let mut purged = 0;
    for _ in 0..BATCHES_MAX {
        let rows = state.db.execute(retained.purge, &[before_ms.into(), BATCH_ROWS.into()]).await?;
        purged += rows;
        if rows < BATCH_ROWS as u64 {
            break;
        }
    }
    Ok(purged)
}
