//! Retention: what grows is purged by age, in bounded batches, by one server at a time. Each room says what of
//! its own grows; the ages are settings.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::db::leases::Held;
use crate::db::{changes, leases};
use crate::error::Error;
use crate::time::{DAY_MS, HOUR_MS};
use crate::{audit, executions, idempotency, nl2sql, queries, runner, tables};

/// Between two rounds.
const INTERVAL: Duration = Duration::from_secs(600);
/// The first round waits until the start is over.
const FIRST_AFTER: Duration = Duration::from_secs(60);
/// Rows of one transaction.
const BATCH_ROWS: i64 = 1_000;
/// Transactions of one round, for each table; the rest waits for the next.
const BATCHES_MAX: usize = 5_000;
const LEASE: &str = "retention";

/// A table that grows, and how it is purged.
pub struct Retained {
    /// Its name in `/metrics`.
    pub what: &'static str,
    pub table: &'static str,
    /// Deletes at most `$2` rows older than `$1`, milliseconds since 1970.
    pub purge: &'static str,
}

/// Finished synchronisations; the last of each data source stays.
const SYNCS: Retained = Retained {
    what: "datasource_syncs",
    table: "datasource_syncs",
    purge: "DELETE FROM datasource_syncs WHERE id IN (SELECT id FROM datasource_syncs AS old \
            WHERE finished_at < $1 AND EXISTS (SELECT 1 FROM datasource_syncs AS later \
            WHERE later.datasource_id = old.datasource_id AND later.id > old.id) LIMIT $2)",
};

const PLUGIN_HISTORY: Retained = Retained {
    what: "plugin_history",
    table: "plugin_activations",
    purge: "DELETE FROM plugin_activations WHERE id IN \
            (SELECT id FROM plugin_activations WHERE at < $1 ORDER BY id LIMIT $2)",
};

/// All that grows, with the time before which it may go.
fn all(app: &App) -> Vec<(Retained, i64)> {
    let (now_ms, settings) = (app.clock.now_ms(), &app.config.retention);
    let before_days = |days: u64| now_ms - i64::try_from(days).unwrap_or(i64::MAX / DAY_MS) * DAY_MS;
    let runner = runner::RETAINED.map(|retained| (retained, before_days(settings.runner_days)));
    let others = [
        (audit::RETAINED, before_days(settings.audit_days)),
        (idempotency::RETAINED, now_ms),
        (SYNCS, before_days(settings.syncs_days)),
        (executions::RETAINED, before_days(settings.executions_days)),
        (PLUGIN_HISTORY, before_days(settings.plugin_history_days)),
        (nl2sql::RETAINED, before_days(settings.topics_days)),
        (queries::RETAINED, before_days(settings.query_log_days)),
    ];
    let tables = tables::RETAINED.map(|retained| (retained, before_days(settings.tables_days)));
    others.into_iter().chain(runner).chain(tables).collect()
}

/// Tables whose sizes `/metrics` shows, each with its name there.
pub fn tables() -> Vec<(&'static str, &'static str)> {
    let named = |retained: &Retained| (retained.what, retained.table);
    let [audit, keys] = [&audit::RETAINED, &idempotency::RETAINED].map(named);
    let [syncs, executions] = [&SYNCS, &executions::RETAINED].map(named);
    let others = [
        audit,
        keys,
        syncs,
        executions,
        named(&PLUGIN_HISTORY),
        named(&nl2sql::RETAINED),
        named(&queries::RETAINED),
        ("changes", "changes"),
    ];
    let rooms = runner::RETAINED.iter().chain(&tables::RETAINED);
    others.into_iter().chain(rooms.map(named)).collect()
}

/// Purges until the server stops.
pub async fn run(app: Arc<App>, stopping: CancellationToken) {
    let mut wait = FIRST_AFTER;
    while stopping.run_until_cancelled(tokio::time::sleep(wait)).await.is_some() {
        wait = INTERVAL;
        match app.leases.claim(LEASE, leases::TTL).await {
            Ok(Some(lease)) => {
                if let Err(error) = purge_under(&app, lease.hold(), &stopping).await {
                    tracing::warn!("what is too old was not purged: {error}");
                }
            }
            // Another server is at it.
            Ok(None) => {}
            Err(error) => tracing::warn!("what is too old was not purged: {error}"),
        }
    }
}

async fn purge_under(app: &App, held: Held, stopping: &CancellationToken) -> Result<(), Error> {
    let lost = held.lost();
    let outcome = tokio::select! {
        outcome = purge(app) => outcome.map(drop),
        () = lost.cancelled() => Ok(()),
        () = stopping.cancelled() => Ok(()),
    };
    held.release().await?;
    outcome
}

/// One round; answers how many rows went.
pub async fn purge(app: &App) -> Result<u64, Error> {
    let mut purged = 0;
    for (retained, before_ms) in all(app) {
        let rows = purge_table(app, &retained, before_ms).await?;
        if rows > 0 {
            tracing::info!(what = retained.what, rows, "purged what was too old");
            app.purged.add(retained.what, rows);
        }
        purged += rows;
    }
    let hours = i64::try_from(app.config.retention.changes_hours).unwrap_or(i64::MAX / HOUR_MS);
    let changes = changes::purge(&app.db, app.clock.now_ms() - hours * HOUR_MS).await?;
    app.purged.add("changes", changes);
    Ok(purged + changes)
}

async fn purge_table(app: &App, retained: &Retained, before_ms: i64) -> Result<u64, Error> {
    let mut purged = 0;
    for _ in 0..BATCHES_MAX {
        let rows = app.db.execute(retained.purge, &[before_ms.into(), BATCH_ROWS.into()]).await?;
        purged += rows;
        if rows < BATCH_ROWS as u64 {
            break;
        }
    }
    Ok(purged)
}
