//! The base of all modules: settings, store, change log, leases, keys, egress policy, clock.
//!
//! Each module has its own state, which contains the [`Core`] and the other modules that it may use. The
//! state dereferences to the core, so that all modules access it in the same way.

use std::fs::{File, TryLockError};
use std::path::Path;
use std::sync::OnceLock;

use anyhow::Context;
use lakeport_base::{Clock, Error};
use lakeport_egress::Policy;
use lakeport_store::changes::Changes;
use lakeport_store::jobs::{self, Until};
use lakeport_store::leases::Leases;
use lakeport_store::{Address, Db, Tx};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::{self, Config};
use crate::part::{InUse, Resource};
use crate::secrets::Keys;

pub struct Core {
    pub config: Config,
    pub db: Db,
    pub changes: Changes,
    pub leases: Leases,
    pub keys: Keys,
    /// Decides which addresses this server connects to.
    pub egress: Policy,
    pub clock: Clock,
    pub started_at_ms: i64,
    /// Cancelled when the server stops.
    pub stopping: CancellationToken,
    /// The `in_use` checks of all modules; set once they are composed.
    in_use: OnceLock<Vec<InUse>>,
    /// Held as long as the server lives: a data folder has one server at most.
    _data_lock: File,
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
        let egress = Policy::parse(&config.egress_allow).map_err(anyhow::Error::msg)?;
        let clock = Clock::system();
        Ok(Core {
            started_at_ms: clock.now_ms(),
            config,
            db,
            changes,
            leases,
            keys,
            egress,
            clock,
            stopping: CancellationToken::new(),
            in_use: OnceLock::new(),
            _data_lock: data_lock,
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

    /// Releases leases and locks, and closes the store.
    pub async fn close(&self) {
        if let Err(error) = self.leases.release_all().await {
            tracing::warn!("the leases were not given back; they run out by themselves: {error}");
        }
        self.db.close().await;
    }
}

/// Prevents two servers in one folder, whose caches would differ. The lock ends with the process.
pub fn lock_data_dir(folder: &Path) -> anyhow::Result<File> {
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path);
    let file = file.with_context(|| {
        format!("cannot write to the data folder {}; set data_dir to one you may write", folder.display())
    })?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => anyhow::bail!(
            "another Lakeport is using the data folder {}: stop it, or use another with --data-dir",
            folder.display()
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}
