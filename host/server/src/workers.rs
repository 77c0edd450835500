//! What goes on beside requests: following what other servers changed, purging what is too old, and the long
//! work that handlers leave as rows. Each ends when the server stops.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::db::changes::Event;
use crate::{auth, datasources, executions, nl2sql, plugins, retention, runner, tables, workflows};

/// Before something is tried again that the store refused.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The tasks of a server. Dropped without [`Workers::stopped`], they end with the server's `stopping`.
pub struct Workers(TaskTracker);

impl Workers {
    /// Starts those that follow what other servers change, and those that do what requests leave to them.
    pub fn start(app: &Arc<App>) -> Workers {
        let tasks = TaskTracker::new();
        tasks.spawn(follow_tokens(Arc::clone(app)));
        tasks.spawn(follow_plugins(Arc::clone(app)));
        tasks.spawn(follow_catalog(Arc::clone(app)));
        tasks.spawn(follow_lineage(Arc::clone(app)));
        tasks.spawn(datasources::run_worker(Arc::clone(app)));
        tasks.spawn(tables::run_worker(Arc::clone(app)));
        tasks.spawn(workflows::run_worker(Arc::clone(app)));
        Workers(tasks)
    }

    /// Starts the others: what runs by the clock, and what goes on where another server left off.
    pub fn start_others(&self, app: &Arc<App>) {
        self.0.spawn(executions::run_worker(Arc::clone(app)));
        self.0.spawn(nl2sql::run_worker(Arc::clone(app)));
        self.0.spawn(runner::run_worker(Arc::clone(app)));
        self.0.spawn(tables::run_recycle_bin(Arc::clone(app)));
        self.0.spawn(tables::run_statistics(Arc::clone(app)));
        self.0.spawn(retention::run(Arc::clone(app), app.stopping.clone()));
    }

    /// Resolves when all have ended; they do once the server stops and follows no changes any more.
    pub async fn stopped(self) {
        self.0.close();
        self.0.wait().await;
    }
}

/// Subscribed before the tokens are read once more: what was changed since they were first read is not missed.
async fn follow_tokens(app: Arc<App>) {
    let mut changed = app.changes.subscribe(auth::TOPIC);
    loop {
        // Nothing is forgotten: a token that was revoked must not stay good because the store was away.
        while let Err(error) = app.auth.reload().await {
            tracing::error!("the tokens could not be read anew: {error}");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        if changed.next().await.is_none() {
            return;
        }
    }
}

async fn follow_plugins(app: Arc<App>) {
    let mut changed = app.changes.subscribe(plugins::TOPIC);
    let mut event = Some(Event::Everything);
    while let Some(what) = event {
        let key = match &what {
            Event::Changed(key) => Some(&**key),
            Event::Everything => None,
        };
        while let Err(error) = app.plugins.follow(key).await {
            tracing::error!("what another server did to the plugins was not followed: {error}");
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
        event = changed.next().await;
    }
}

async fn follow_catalog(app: Arc<App>) {
    app.follow_catalog().await;
}

async fn follow_lineage(app: Arc<App>) {
    app.follow_lineage().await;
}
