//! What goes on beside requests: following what other servers changed, purging what is too old, and the long
//! work that handlers leave as rows. Each ends when the server stops.

use std::sync::Arc;

use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::db::changes::Event;
use crate::{auth, datasources, plugins, retention};

/// The tasks of a server. Dropped without [`Workers::stopped`], they end with the server's `stopping`.
pub struct Workers(TaskTracker);

impl Workers {
    /// Starts them all.
    pub fn start(app: &Arc<App>) -> Workers {
        let tasks = TaskTracker::new();
        tasks.spawn(follow_tokens(Arc::clone(app)));
        tasks.spawn(follow_plugins(Arc::clone(app)));
        tasks.spawn(datasources::run_worker(Arc::clone(app)));
        tasks.spawn(retention::run(Arc::clone(app), app.stopping.clone()));
        tasks.close();
        Workers(tasks)
    }

    /// Resolves when all have ended; they do once the server stops.
    pub async fn stopped(self) {
        self.0.wait().await;
    }
}

async fn follow_tokens(app: Arc<App>) {
    let mut changed = app.changes.subscribe(auth::TOPIC);
    while let Some(Some(_)) = app.stopping.run_until_cancelled(changed.next()).await {
        if let Err(error) = app.auth.reload().await {
            tracing::error!("the tokens could not be read anew: {error}");
        }
    }
}

async fn follow_plugins(app: Arc<App>) {
    let mut changed = app.changes.subscribe(plugins::TOPIC);
    while let Some(Some(event)) = app.stopping.run_until_cancelled(changed.next()).await {
        let key = match &event {
            Event::Changed(key) => Some(&**key),
            Event::Everything => None,
        };
        if let Err(error) = app.plugins.follow(key).await {
            tracing::error!("what another server did to the plugins was not followed: {error}");
        }
    }
}
