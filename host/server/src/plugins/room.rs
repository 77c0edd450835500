//! The plugins of this server: the registry, and the store that outlives it.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use lakeport_plugins::{
    CompiledCache, Generation, Limits, Origin, PluginId, PluginView, Policy, Quarantine, Registry,
    RegistrySettings, Sandbox, SandboxSettings, StageError, Staged,
};
use tokio::sync::{Mutex, Semaphore};

use crate::config::Config;
use crate::db::Db;
use crate::error::Error;
use crate::plugins::store;

/// Components that are checked and compiled at the same time; each may have 64 MiB.
const STAGING_MAX: usize = 2;

/// The plugins of this server.
pub struct Room {
    registry: Arc<Registry>,
    db: Db,
    /// One change of pointers at a time, so that registry and store follow each other.
    changing: Mutex<()>,
    staging: Semaphore,
    bundled: Vec<BundledPlugin>,
}

/// A plugin that came with the binary.
pub struct BundledPlugin {
    /// Its file in the bundle.
    pub file_name: &'static str,
    /// Which plugin, or why it could not be let in.
    pub outcome: Result<Arc<Generation>, String>,
    bytes: &'static [u8],
}

impl Room {
    /// Starts the plugin host, lets in what is bundled and what is stored, and puts the pointers back.
    pub async fn open(config: &Config, db: Db) -> anyhow::Result<Self> {
        let cache = CompiledCache::open(&config.plugins_cache_dir())?;
        let sandbox = Sandbox::new(&SandboxSettings::default(), Some(cache))
            .map_err(|error| anyhow::anyhow!("the WebAssembly engine did not start: {error:#}"))?;
        let registry = Arc::new(Registry::new(Arc::new(sandbox), settings(config)));
        let bundled = stage_bundled(&registry).await;
        for digest in store::component_digests(&db).await? {
            let Some(bytes) = store::component_bytes(&db, &digest).await? else { continue };
            if let Err(error) = registry.stage(bytes, Origin::Uploaded).await {
                tracing::error!(%digest, "a stored plugin is not let in any more: {error}");
            }
        }
        let room =
            Room { registry, db, changing: Mutex::new(()), staging: Semaphore::new(STAGING_MAX), bundled };
        room.restore().await?;
        Ok(room)
    }

    /// The registry, for those who call plugins.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// What came with the binary.
    pub fn bundled(&self) -> &[BundledPlugin] {
        &self.bundled
    }

    /// Bundled plugins that do not answer, with the reason; empty: all is well.
    pub fn bundled_not_active(&self) -> Vec<String> {
        let states = self.bundled.iter().filter_map(|plugin| match &plugin.outcome {
            Err(reason) => Some(format!("{}: {reason}", plugin.file_name)),
            Ok(generation) => {
                let view = self.registry.view(&generation.id)?;
                view.active.is_none().then(|| format!("{}: no generation is active", generation.id))
            }
        });
        states.collect()
    }

    /// Checks a component and keeps it.
    pub async fn stage(&self, bytes: Vec<u8>) -> Result<Staged, Error> {
        let _place = self.staging.acquire().await;
        let staged = self.registry.stage(bytes.clone(), Origin::Uploaded).await.map_err(stage_error)?;
        if staged.generation.origin == Origin::Uploaded {
            store::put_component(&self.db, &staged.generation, bytes).await?;
        }
        Ok(staged)
    }

    /// A component's bytes.
    pub async fn component(&self, generation: &Generation) -> Result<Vec<u8>, Error> {
        let in_bundle = self
            .bundled
            .iter()
            .find(|plugin| plugin.outcome.as_ref().is_ok_and(|bundled| bundled.digest == generation.digest));
        if let Some(plugin) = in_bundle {
            return Ok(plugin.bytes.to_vec());
        }
        store::component_bytes(&self.db, &generation.digest)
            .await?
            .ok_or_else(|| Error::not_found("stored component", &generation.digest))
    }

    /// Applies a change to a plugin's pointers and stores it; when it cannot be stored it is taken back.
    pub async fn change(
        &self,
        id: &PluginId,
        action: &str,
        apply: impl FnOnce(&Arc<Registry>) -> Result<Arc<PluginView>, lakeport_plugins::RegistryError>,
    ) -> Result<Arc<PluginView>, Error> {
        let _changing = self.changing.lock().await;
        let before = self.registry.view(id);
        let after = apply(&self.registry)?;
        let follows_bundle = after.active.as_ref().is_some_and(|active| active.origin == Origin::Bundled);
        let stored = store::put_pointers(&self.db, id, &after, follows_bundle, action, now_ms()).await;
        if let Err(error) = stored {
            if let Some(before) = before {
                put_back(&self.registry, id, &before);
            }
            return Err(error);
        }
        tracing::info!(plugin = %id, action, digest = after.active.as_ref().map(|g| &*g.digest), "plugin changed");
        Ok(after)
    }

    /// Forgets a generation, in the store first: what is gone there does not come back at the next start.
    pub async fn remove(&self, id: &PluginId, digest: &str) -> Result<(), Error> {
        let _changing = self.changing.lock().await;
        self.registry.check_removal(id, digest)?;
        store::delete_component(&self.db, digest).await?;
        self.registry.remove(id, digest)?;
        if let Some(view) = self.registry.view(id) {
            let follows_bundle = view.active.as_ref().is_some_and(|active| active.origin == Origin::Bundled);
            store::put_pointers(&self.db, id, &view, follows_bundle, "remove", now_ms()).await?;
        }
        Ok(())
    }

    async fn restore(&self) -> Result<(), Error> {
        for plugin in &self.bundled {
            if let Ok(generation) = &plugin.outcome {
                self.registry.restore(&generation.id, Some(&generation.digest), &[], None, None);
            }
        }
        for pointers in store::all_pointers(&self.db).await? {
            let bundled = self.registry.view(&pointers.id).and_then(|view| view.active.clone());
            let stored = pointers.active.as_deref().filter(|digest| self.has(&pointers.id, digest));
            if pointers.active.is_some() && stored.is_none() {
                tracing::error!(plugin = %pointers.id, "its active generation is gone; the bundled one answers, if there is one");
            }
            let active =
                stored.map(str::to_owned).or(bundled.map(|generation| generation.digest.to_string()));
            let quarantine =
                pointers.quarantine.map(|(reason, by_failures)| Quarantine { reason, by_failures });
            let canary = pointers.canary.as_ref().map(|(digest, percent)| (digest.as_str(), *percent));
            self.registry.restore(&pointers.id, active.as_deref(), &pointers.history, canary, quarantine);
        }
        Ok(())
    }

    fn has(&self, id: &PluginId, digest: &str) -> bool {
        let view = self.registry.view(id);
        view.is_some_and(|view| view.generations.iter().any(|generation| &*generation.digest == digest))
    }
}

fn settings(config: &Config) -> RegistrySettings {
    let plugins = &config.plugins;
    RegistrySettings {
        limits: Limits {
            memory_bytes: plugins.memory_max_mb * 1024 * 1024,
            timeout: Duration::from_millis(plugins.call_timeout_ms),
            ..Limits::default()
        },
        policy: Policy { withhold: plugins.withhold.iter().cloned().collect() },
        drain: Duration::from_secs(plugins.drain_s),
        history_max: plugins.keep_generations,
        log_lines: plugins.log_lines,
        quarantine_after: plugins.quarantine_after,
    }
}

async fn stage_bundled(registry: &Arc<Registry>) -> Vec<BundledPlugin> {
    let mut plugins = Vec::new();
    for component in lakeport_bundled::components() {
        let staged = registry.stage(component.bytes.to_vec(), Origin::Bundled).await;
        let outcome = staged.map(|staged| staged.generation).map_err(|error| {
            tracing::error!(file = component.file_name, "a bundled plugin is not let in: {error}");
            error.to_string()
        });
        plugins.push(BundledPlugin { file_name: component.file_name, outcome, bytes: component.bytes });
    }
    plugins
}

fn put_back(registry: &Registry, id: &PluginId, before: &PluginView) {
    let history: Vec<String> =
        before.history.iter().map(|generation| generation.digest.to_string()).collect();
    let active = before.active.as_ref().map(|generation| &*generation.digest);
    let canary = before.canary.as_ref().map(|canary| (&*canary.generation.digest, canary.percent));
    registry.restore(id, active, &history, canary, before.quarantine.clone());
}

fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn stage_error(error: StageError) -> Error {
    match error {
        StageError::Full(message) => Error::conflict("too_many_generations", message),
        error => Error::bad_request(error.code(), error.to_string()),
    }
}

impl From<lakeport_plugins::RegistryError> for Error {
    fn from(error: lakeport_plugins::RegistryError) -> Self {
        use lakeport_plugins::RegistryError::{Conflict, NotFound};
        match error {
            NotFound(message) => Error::refused(404, "not_found", message),
            Conflict {
                code: code @ ("canary_percent_invalid" | "digest_ambiguous" | "name_ambiguous"),
                message,
            } => Error::bad_request(code, message),
            Conflict { code, message } => Error::conflict(code, message),
        }
    }
}
