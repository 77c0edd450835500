//! The whole server as one value: settings, store, plugins, clock. Handlers are given it and nothing else.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use ::http::request::Parts;
use anyhow::Context;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::auth::{self, Auth, RateLimit};
use crate::catalog::Catalog;
use crate::config::{self, Config};
use crate::db::changes::{Changes, Subscription};
use crate::db::leases::Leases;
use crate::db::{Address, Db};
use crate::egress;
use crate::error::Error;
use crate::http::{
    Attempt, Begun, Caller, Edge, EdgeSettings, Gate, Nothing, Reply, Role, Stats, Tls, openapi,
};
use crate::lineage::Lineage;
use crate::metrics::{Purged, Sizes};
use crate::runner::Runner;
use crate::secrets::Keys;
use crate::{
    audit, datasources, description, engines, executions, health, idempotency, lineage, metrics, nl2sql,
    plugins, search, tables, tasks, workflows,
};

/// A request to this server: parameters of the path, of the query, the body.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = crate::http::Call<App, P, Q, B>;
/// A route of this server.
pub type Route = crate::http::Route<App>;

/// How long running requests may take to end once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(30);

pub struct App {
    pub config: Config,
    pub db: Db,
    pub keys: Keys,
    pub changes: Changes,
    pub leases: Leases,
    pub catalog: Arc<Catalog>,
    pub tables: tables::Room,
    pub lineage: Arc<Lineage>,
    pub auth: Auth,
    pub plugins: plugins::Room,
    pub runner: Arc<Runner>,
    pub nl2sql: nl2sql::Room,
    pub egress: egress::Policy,
    /// Database servers that there are sessions on.
    pub servers: datasources::Servers,
    pub clock: Clock,
    pub stats: Stats,
    pub purged: Purged,
    pub sizes: Sizes,
    pub started_at_ms: i64,
    /// Cancelled when the server is told to stop.
    pub stopping: CancellationToken,
    description: OnceLock<description::Description>,
    /// What waits for the catalogue's worker, which takes it; so it is with the lineage's.
    catalog_changes: Mutex<Option<Subscription>>,
    lineage_changes: Mutex<Option<Subscription>>,
    /// Held as long as the server lives: one server a data folder.
    _data_lock: File,
}

/// What time it is: the machine's, or one that stands still, for tests and for the example company's past.
#[derive(Debug, Clone)]
pub struct Clock(Arc<AtomicI64>);

/// Of a clock that goes with the machine's.
const GOING: i64 = i64::MIN;

impl Clock {
    /// The machine's.
    pub fn system() -> Clock {
        Clock(Arc::new(AtomicI64::new(GOING)))
    }

    /// One that stands at this time until it is set.
    pub fn standing(now_ms: i64) -> Clock {
        Clock(Arc::new(AtomicI64::new(now_ms)))
    }

    /// Milliseconds since 1970, UTC.
    pub fn now_ms(&self) -> i64 {
        match self.0.load(Ordering::Relaxed) {
            GOING => chrono::Utc::now().timestamp_millis(),
            standing_ms => standing_ms,
        }
    }

    /// It stands at this time from now on, for all that have it.
    pub fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }

    /// It goes with the machine's again.
    pub fn go(&self) {
        self.0.store(GOING, Ordering::Relaxed);
    }
}

/// Two servers in one folder would each believe what they remember. The lock goes with the process.
pub(crate) fn lock_data_dir(folder: &Path) -> anyhow::Result<File> {
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
        let is_shared = matches!(config.database.address, Address::Postgres(_));
        let key = config.key.as_ref().map(|key| key.0.as_str());
        let keys = Keys::open(key, &config.data_dir, is_shared)?;
        let db = Db::connect(&config.database.address).await?;
        db.migrate()
            .await
            .with_context(|| format!("the store {} cannot be used", config.database.shown()))?;
        let changes = Changes::follow(&db).await?;
        let leases = Leases::new(db.clone(), uuid::Uuid::now_v7().to_string());
        if !is_shared {
            leases.take_over_everything().await?;
        }
        let clock = Clock::system();
        datasources::ensure_own(&db, &clock).await?;
        engines::ensure_own(&db, &clock).await?;
        let (catalog, catalog_changes) = Catalog::open(&db, &changes).await?;
        let (lineage, lineage_changes) = Lineage::open(&db, &changes).await?;
        let egress = egress::Policy::parse(&config.egress_allow).map_err(anyhow::Error::msg)?;
        let oidc = auth::oidc::Oidc::of(&config, &egress, &clock)?;
        let limit = RateLimit::new(config.rate_limit_per_s);
        let auth = Auth::open(db.clone(), clock.clone(), oidc, limit).await?;
        let plugins = plugins::Room::open(&config, db.clone(), clock.clone())
            .await
            .context("the plugin host cannot start")?;
        let runner = Arc::new(Runner::new(db.clone(), clock.clone(), config.time_zone));
        Ok(App {
            started_at_ms: clock.now_ms(),
            config,
            db,
            keys,
            changes,
            leases,
            catalog: Arc::new(catalog),
            tables: tables::Room::default(),
            catalog_changes: Mutex::new(Some(catalog_changes)),
            lineage: Arc::new(lineage),
            lineage_changes: Mutex::new(Some(lineage_changes)),
            auth,
            plugins,
            runner,
            nl2sql: nl2sql::Room::default(),
            egress,
            servers: datasources::Servers::default(),
            clock,
            stats: Stats::new(),
            purged: Purged::default(),
            sizes: Sizes::default(),
            stopping: CancellationToken::new(),
            description: OnceLock::new(),
            _data_lock: data_lock,
        })
    }

    /// All routes of all rooms.
    pub fn routes() -> Vec<Route> {
        let rooms = [
            health::routes(),
            metrics::routes(),
            description::routes(),
            auth::routes(),
            audit::routes(),
            plugins::routes(),
            datasources::routes(),
            nl2sql::routes(),
            workflows::routes(),
            tasks::routes(),
            executions::routes(),
            lineage::routes(),
            engines::routes(),
            tables::routes(),
            search::routes(),
        ];
        rooms.into_iter().flatten().collect()
    }

    /// Gives back what others may wait for, and closes the store.
    pub async fn close(&self) {
        if let Err(error) = self.leases.release_all().await {
            tracing::warn!("the leases were not given back; they run out by themselves: {error}");
        }
        self.db.close().await;
    }

    /// Keeps the catalogue in step with the store until the server stops; for the one worker.
    pub(crate) async fn follow_catalog(&self) {
        let subscription = self.catalog_changes.lock().take();
        if let Some(subscription) = subscription {
            self.catalog.follow(&self.changes, subscription).await;
        }
    }

    /// The same for the lineage.
    pub(crate) async fn follow_lineage(&self) {
        let subscription = self.lineage_changes.lock().take();
        if let Some(subscription) = subscription {
            self.lineage.follow(&self.changes, subscription).await;
        }
    }

    /// The description of the interface, made when it is first asked for.
    pub fn description(&self) -> &description::Description {
        self.description.get_or_init(description::Description::new)
    }

    /// The edge that answers for this app.
    pub fn edge(self: &Arc<App>) -> anyhow::Result<Edge<App>> {
        let config = &self.config;
        let settings = EdgeSettings {
            request_timeout: config.request_timeout,
            body_max_bytes: config.body_max_bytes,
            upload_max_bytes: config.plugin_upload_max_bytes,
            drain: DRAIN,
            connections_max: config.connections_max,
            cors_origins: config.cors_origins.clone(),
            tls: Tls::configured(config.tls_cert.as_deref(), config.tls_key.as_deref())?,
        };
        Edge::new(Arc::clone(self), App::routes(), settings, self.stats.clone(), self.stopping.clone())
    }
}

impl Gate for App {
    async fn identify(&self, parts: &Parts, needed: Role) -> Result<Arc<Caller>, Error> {
        self.auth.identify(parts, needed, &self.config.cors_origins).await
    }

    async fn begin(&self, attempt: &Attempt) -> Result<Begun, Error> {
        idempotency::begin(self, attempt).await
    }

    async fn end(&self, attempt: &Attempt, outcome: Result<&Reply, &Error>) {
        if let Err(error) = audit::record(self, attempt, outcome).await {
            tracing::error!(request_id = %attempt.request_id, "the audit log was not written: {error}");
        }
        if let Err(error) = idempotency::end(self, attempt, outcome).await {
            tracing::error!(request_id = %attempt.request_id, "the answer was not kept: {error}");
        }
    }
}

/// The documents that describe what [`App::routes`] serves.
pub fn describe() -> serde_json::Value {
    openapi::document(&description::about(), &App::routes())
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
        clock.clone().go();
        assert!(clock.now_ms() > 9);
    }
}
