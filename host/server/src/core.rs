//! The base of all modules: settings, store, change log, leases, keys, egress policy, clock.
//!
//! Each module has its own state, which contains the [`Core`] and the other modules that it may use. The
//! state dereferences to the core, so that all modules access it in the same way.

use std::fs::{File, Permissions, TryLockError};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use lakeport_base::{Clock, Error};
use lakeport_egress::Policy;
use lakeport_store::changes::Changes;
use lakeport_store::jobs::{self, Until, Work};
use lakeport_store::leases::{self, Leases};
use lakeport_store::{Address, Db, Held, Tx};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::config::{self, Config};
use crate::part::{InUse, Resource};
use crate::secrets::Keys;
use crate::turns::Turns;

pub struct Core {
    pub config: Config,
    pub db: Db,
    pub changes: Changes,
    pub leases: Leases,
    /// The order of requests that change the same resource.
    pub turns: Turns,
    pub keys: Keys,
    /// Decides which addresses this server connects to.
    pub egress: Policy,
    pub clock: Clock,
    pub started_at_ms: i64,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
    /// The `in_use` checks of all modules; set once they are composed.
    in_use: OnceLock<Vec<InUse>>,
    /// Held as long as the server lives: a data folder and a SQLite file have one server at most.
    _locks: Locks,
    /// Cancelled when this server no longer shows others that it lives.
    closing: CancellationToken,
}

/// The state of a module that dereferences to the core it holds.
macro_rules! stands_on_core {
    ($state:ty) => {
        impl std::ops::Deref for $state {
            type Target = $crate::core::Core;

            fn deref(&self) -> &$crate::core::Core {
                &self.core
            }
        }

        impl AsRef<$crate::core::Core> for $state {
            fn as_ref(&self) -> &$crate::core::Core {
                &self.core
            }
        }
    };
}
pub(crate) use stands_on_core;

impl AsRef<Core> for Core {
    fn as_ref(&self) -> &Core {
        self
    }
}

impl Core {
    /// Opens the store, migrates its schema, and follows its change log.
    pub async fn open(config: Config) -> anyhow::Result<Core> {
        config::make_data_dir(&config.data_dir)?;
        if let Address::Sqlite(path) = &config.database.address
            && let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty())
        {
            config::make_data_dir(folder)?;
        }
        let locks = Locks::take(&config)?;
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
        let closing = CancellationToken::new();
        leases.show_alive(closing.clone()).await?;
        let egress = Policy::parse(&config.egress_allow).map_err(anyhow::Error::msg)?;
        let clock = Clock::system();
        Ok(Core {
            started_at_ms: clock.now_ms(),
            config,
            db,
            changes,
            leases,
            turns: Turns::default(),
            keys,
            egress,
            clock,
            stopping: CancellationToken::new(),
            in_use: OnceLock::new(),
            _locks: locks,
            closing,
        })
    }

    /// Sets the `in_use` checks; once, when all modules are composed.
    pub fn set_in_use(&self, checks: Vec<InUse>) {
        self.in_use.get_or_init(|| checks);
    }

    /// 409 if another module needs the resource unchanged.
    pub async fn refuse_used(&self, tx: &mut Tx, resource: &Resource) -> Result<(), Error> {
        let checks = self.in_use.get().into_iter().flatten();
        for check in checks.filter(|check| check.resource == resource.kind) {
            (check.check)(tx, resource).await?;
        }
        Ok(())
    }

    /// The row once it has ended, or as it is when the time is over or the server stops; see [`jobs::wait_for`].
    pub async fn wait_for<R, F: Future<Output = Result<R, Error>>>(
        &self,
        topic: &'static str,
        key: Option<&str>,
        deadline: Instant,
        look: impl FnMut() -> F,
        has_ended: impl Fn(&R) -> bool,
    ) -> Result<R, Error> {
        let until = Until { deadline, stopping: &self.stopping };
        jobs::wait_for(self.changes.subscribe(topic), key, until, look, has_ended).await
    }

    /// Works until the server stops, while this server holds the lease of this name; it is claimed again after each
    /// interval. Changes of the topic wake the work.
    pub async fn work_alone<W: Work>(
        &self,
        lease: &str,
        topic: &'static str,
        interval: Duration,
        shift: impl Fn(Arc<Held>) -> W,
    ) {
        let mut changed = self.changes.subscribe(topic);
        while !self.stopping.is_cancelled() {
            match self.leases.claim(lease, leases::TTL).await {
                Ok(Some(claimed)) => {
                    jobs::run_under(claimed.hold(), &shift, &mut changed, &self.stopping).await;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!("claiming the lease {lease} failed, trying again: {error}"),
            }
            self.stopping.run_until_cancelled(sleep(interval)).await;
        }
    }

    /// Releases leases and locks, and closes the store.
    pub async fn close(&self) {
        self.closing.cancel();
        if let Err(error) = self.leases.release_all().await {
            tracing::warn!("the leases were not given back; they run out by themselves: {error}");
        }
        self.db.close().await;
    }
}

/// Prevents two servers on one data folder, whose caches would differ, and on one SQLite file, whose leases they
/// would take from each other. Other programs may open the file. The locks end with the process.
pub struct Locks {
    _data_dir: File,
    /// Beside a SQLite file.
    _store: Option<File>,
}

impl Locks {
    /// The folders must exist.
    pub fn take(config: &Config) -> anyhow::Result<Locks> {
        let folder = &config.data_dir;
        let used = || {
            let folder = folder.display();
            format!(
                "another Lakeport is using the data folder {folder}: stop it, or use another with --data-dir"
            )
        };
        let data_dir = lock(&folder.join("lock"), used).with_context(|| {
            format!("cannot use the data folder {}; set data_dir to one you may write", folder.display())
        })?;
        let Address::Sqlite(path) = &config.database.address else {
            return Ok(Locks { _data_dir: data_dir, _store: None });
        };
        let used = || {
            let path = path.display();
            format!(
                "another Lakeport is using the store {path}: stop it, or use another file with --database-url; several \
                 servers can share a PostgreSQL"
            )
        };
        let store = lock(&beside(path), used)?;
        Ok(Locks { _data_dir: data_dir, _store: Some(store) })
    }
}

/// The lock file of a SQLite file: beside the file itself, whatever links lead there. Closing the file itself would
/// end SQLite's own locks of this process.
fn beside(store: &Path) -> PathBuf {
    let real = store.canonicalize().unwrap_or_else(|_| {
        let folder = store.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize();
        folder
            .ok()
            .zip(store.file_name())
            .map_or_else(|| store.to_owned(), |(folder, name)| folder.join(name))
    });
    let mut name = real.into_os_string();
    name.push(".lock");
    name.into()
}

/// How long to wait for a lock: a server that was killed while it began a worker process leaves it some milliseconds later.
const LOCK_PATIENCE: Duration = Duration::from_secs(1);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

#[expect(clippy::disallowed_methods, reason = "nothing else happens before the start")]
fn lock(path: &Path, used: impl FnOnce() -> String) -> anyhow::Result<File> {
    // Who may read it could lock it, and keep the server from starting.
    let file = File::options().create(true).truncate(false).write(true).mode(0o600).open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    file.set_permissions(Permissions::from_mode(0o600))
        .with_context(|| format!("cannot make {} private", path.display()))?;
    let patience = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if Instant::now() < patience => std::thread::sleep(LOCK_PAUSE),
            Err(TryLockError::WouldBlock) => anyhow::bail!(used()),
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
}
