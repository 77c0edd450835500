//! The whole server as one value: settings, store, plugins, clock. Handlers are given it and nothing else.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context;

use crate::config::{self, Config};
use crate::db::{Address, Db};
use crate::http::{Edge, EdgeSettings};
use crate::{health, plugins};

/// A request to this server.
pub type Call = crate::http::Call<App>;
/// A route of this server.
pub type Route = crate::http::Route<App>;

/// How long running requests may take to end once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(30);

pub struct App {
    pub config: Config,
    pub db: Db,
    pub plugins: plugins::Room,
    pub clock: Clock,
    /// Held as long as the server lives: one server a data folder.
    _data_lock: File,
}

/// What time it is; a test can stand still.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// The machine's.
    pub fn system() -> Clock {
        Clock(None)
    }

    /// One that stands at this time until it is set.
    pub fn standing(now_ms: i64) -> Clock {
        Clock(Some(Arc::new(AtomicI64::new(now_ms))))
    }

    /// Milliseconds since 1970, UTC.
    pub fn now_ms(&self) -> i64 {
        match &self.0 {
            None => chrono::Utc::now().timestamp_millis(),
            Some(standing) => standing.load(Ordering::Relaxed),
        }
    }

    /// Moves a standing clock; the machine's is not touched.
    pub fn set(&self, now_ms: i64) {
        if let Some(standing) = &self.0 {
            standing.store(now_ms, Ordering::Relaxed);
        }
    }
}

/// Two servers in one folder would each believe what they remember. The lock goes with the process.
fn lock_data_dir(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| {
        format!("cannot write to the data folder {}; set data_dir to one you may write", folder.display())
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => anyhow::bail!(
            "another Lakeport runs on the data folder {}: stop it, or take another with --data-dir",
            folder.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}

impl App {
    /// Opens the store, brings its schema up, and lets the plugins in. When it answers, the app is ready.
    pub async fn start(config: Config) -> anyhow::Result<App> {
        config::make_data_dir(&config.data_dir)?;
        if let Address::Sqlite(path) = &config.database.address
            && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        {
            config::make_data_dir(folder)?;
        }
        let data_lock = lock_data_dir(&config.data_dir)?;
        let db = Db::connect(&config.database.address).await?;
        db.migrate()
            .await
            .with_context(|| format!("the store {} cannot be used", config.database.shown()))?;
        let plugins =
            plugins::Room::open(&config, db.clone()).await.context("the plugin host cannot start")?;
        Ok(App { config, db, plugins, clock: Clock::system(), _data_lock: data_lock })
    }

    /// All routes of all rooms.
    pub fn routes() -> Vec<Route> {
        [health::routes(), plugins::routes()].into_iter().flatten().collect()
    }

    /// The edge that answers for this app.
    pub fn edge(self: &Arc<App>) -> anyhow::Result<Edge<App>> {
        let settings = EdgeSettings {
            request_timeout: self.config.request_timeout,
            body_max_bytes: self.config.body_max_bytes,
            upload_max_bytes: self.config.plugin_upload_max_bytes,
            drain: DRAIN,
        };
        Edge::new(Arc::clone(self), App::routes(), settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_routes_are_in_conflict() {
        crate::http::Router::new(App::routes()).map(drop).unwrap();
    }

    #[test]
    fn a_standing_clock_moves_only_when_told() {
        let clock = Clock::standing(5);
        assert_eq!(clock.now_ms(), 5);
        clock.clone().set(9);
        assert_eq!(clock.now_ms(), 9);
    }
}
