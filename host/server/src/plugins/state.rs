//! The plugins of this server: the registry, and the store that persists it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::error::{Detail, Error};
use lakeport_http::Answer;
use lakeport_plugins::{
    CallFault, CompiledCache, Compiler, Components, Generation, Limits, Origin, PluginId, PluginView,
    Pointers, Policy, Registry, RegistryError, RegistrySettings, Sandbox, SandboxSettings, StageError,
    Staged,
};
use lakeport_store::{Db, Tx};
use tokio::sync::{Mutex, OwnedMutexGuard, Semaphore};

use crate::audit::{Change, Commit};
use crate::config::Config;
use crate::core::{Core, stands_on_core};
use crate::plugins::Call;
use crate::plugins::store;

/// Components that are checked and compiled concurrently; each may have 64 MiB.
const STAGING_MAX: usize = 2;

/// The queue of the registry's own changes that wait to be stored.
const OWN_CHANGES_MAX: usize = 64;

/// The plugins of this server.
pub struct Plugins {
    core: Arc<Core>,
    registry: Arc<Registry>,
    /// Allows one change of pointers at a time, so that registry and store agree.
    changing: Arc<Mutex<()>>,
    staging: Arc<Semaphore>,
    /// Plugins that this server quarantined by itself and has not stored yet.
    own: Arc<Own>,
    bundled: Vec<BundledPlugin>,
}

type Own = parking_lot::Mutex<HashSet<PluginId>>;

/// An uncommitted change. Calls see it once it is committed; dropping it before that changes nothing.
pub struct PluginChange {
    tx: Tx,
    registry: Arc<Registry>,
    id: PluginId,
    /// The plugin after the change.
    pub after: Arc<PluginView>,
    action: &'static str,
    /// A generation to remove.
    removed: Option<String>,
    _changing: OwnedMutexGuard<()>,
}

impl PluginChange {
    /// Commits it with its audit record and its stored answer.
    pub async fn commit<P, Q, B, A: Answer>(self, call: &Call<P, Q, B>, answer: A) -> Result<A, Error> {
        let PluginChange { tx, registry, id, after, action, removed, _changing } = self;
        let digest = after.active.as_ref().map(|generation| generation.digest.to_string());
        let change = Change::of("plugin", &id).after(&(action, &digest, after.state()));
        let answer = call.commit(tx, change, answer).await?;
        registry.restore(&id, &pointers_of(&after));
        if let Some(removed) = removed {
            registry.forget(&id, &removed);
        }
        tracing::info!(plugin = %id, action, digest, "plugin changed");
        Ok(answer)
    }
}

/// Stores that failures quarantined a plugin, unless another generation is active by now.
async fn store_failures(db: &Db, id: &PluginId, view: &PluginView, now_ms: i64) -> Result<(), Error> {
    let mut tx = db.begin().await?;
    store::lock(&mut tx).await?;
    let uploaded = |view: &PluginView| {
        let active = view.active.as_ref().filter(|generation| generation.origin == Origin::Uploaded);
        active.map(|generation| generation.digest.to_string())
    };
    let stored = store::all_pointers_in(&mut tx).await?;
    let stored =
        stored.into_iter().find(|(stored, _)| stored == id).and_then(|(_, pointers)| pointers.active);
    if stored == uploaded(view) {
        store::write_pointers(&mut tx, id, view, "failures", now_ms).await?;
    }
    tx.commit().await
}

/// A bundled plugin.
pub struct BundledPlugin {
    /// Its file name in the bundle.
    pub file_name: &'static str,
    /// The staged generation, or the reason why staging failed.
    pub outcome: Result<Arc<Generation>, String>,
    bytes: &'static [u8],
}

/// The components that are bundled or stored.
struct Stored(Db);

impl Components for Stored {
    fn bytes<'a>(&'a self, digest: &'a str) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            for component in lakeport_bundled::components() {
                let is_it = lakeport_plugins::digest(component.bytes) == digest;
                let bytes = is_it.then(|| component.bytes.to_vec());
                component.leave_memory();
                if let Some(bytes) = bytes {
                    return Ok(bytes);
                }
            }
            let stored = store::component_bytes(&self.0, digest).await;
            stored.map_err(|error| error.to_string())?.ok_or_else(|| "the store no longer has it".to_owned())
        })
    }
}

stands_on_core!(Plugins);

impl Plugins {
    /// Starts the plugin host, stages the bundled and stored components, and restores the pointers.
    pub async fn open(core: &Arc<Core>, compiler: Compiler) -> anyhow::Result<Self> {
        let (config, db) = (&core.config, &core.db);
        let cache = CompiledCache::open(&config.plugins_cache_dir(), compiler)?;
        let sandbox = Sandbox::new(&SandboxSettings::default(), Some(cache))
            .map_err(|error| anyhow::anyhow!("the WebAssembly engine did not start: {error:#}"))?;
        let registry = Arc::new(Registry::new(Arc::new(sandbox), settings(config)));
        registry.load_from(Arc::new(Stored(db.clone())));
        let bundled = stage_bundled(&registry, core.clock.now_ms()).await;
        for (digest, staged_at_ms) in store::component_digests(db).await? {
            let staged = match registry.recall(&digest, Origin::Uploaded, staged_at_ms) {
                Some(staged) => staged,
                None => {
                    let Some(bytes) = store::component_bytes(db, &digest).await? else { continue };
                    registry.stage_as_of(bytes, Origin::Uploaded, staged_at_ms).await
                }
            };
            if let Err(error) = staged {
                tracing::error!(%digest, "a stored plugin can no longer be staged: {error}");
            }
        }
        let changing = Arc::new(Mutex::new(()));
        let staging = Arc::new(Semaphore::new(STAGING_MAX));
        let own = Arc::new(Own::default());
        let plugins = Plugins { core: Arc::clone(core), registry, changing, staging, own, bundled };
        plugins.restore().await?;
        plugins.store_own_changes();
        Ok(plugins)
    }

    /// Stores the registry's own changes in a task that ends with the registry.
    fn store_own_changes(&self) {
        let (send, mut changed) = tokio::sync::mpsc::channel::<PluginId>(OWN_CHANGES_MAX);
        let own = Arc::clone(&self.own);
        self.registry.on_own_change(move |id| {
            own.lock().insert(id.clone());
            // If the queue is full, the same plugins are waiting to be stored already.
            let _ = send.try_send(id.clone());
        });
        let (registry, db, changing) =
            (Arc::downgrade(&self.registry), self.db.clone(), self.changing.clone());
        let (own, clock) = (Arc::clone(&self.own), self.clock.clone());
        tokio::spawn(async move {
            while let Some(id) = changed.recv().await {
                let _changing = changing.lock().await;
                let Some(view) = registry.upgrade().and_then(|registry| registry.view(&id)) else { continue };
                if let Err(error) = store_failures(&db, &id, &view, clock.now_ms()).await {
                    tracing::error!(plugin = %id, "that it was taken out of service was not stored: {error}");
                }
                own.lock().remove(&id);
            }
        });
    }

    /// The registry, for calling plugins.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// The bundled plugins.
    pub fn bundled(&self) -> &[BundledPlugin] {
        &self.bundled
    }

    /// Bundled plugins that are not active, with the reason; empty: none.
    pub fn bundled_not_active(&self) -> Vec<String> {
        let states = self.bundled.iter().filter_map(|plugin| match &plugin.outcome {
            Err(reason) => Some(format!("{}: {reason}", plugin.file_name)),
            Ok(generation) => {
                let view = self.registry.view(&generation.id)?;
                if let Some(quarantine) = &view.quarantine {
                    return Some(format!("{} is quarantined: {}", generation.id, quarantine.reason));
                }
                view.active.is_none().then(|| format!("{}: no generation is active", generation.id))
            }
        });
        states.collect()
    }

    /// Stages and stores a component. Continues even if the caller no longer waits, so that the number of
    /// components in work stays bounded and registry and store agree.
    pub async fn stage(&self, bytes: Vec<u8>) -> Result<Staged, Error> {
        let place = self.staging.clone().acquire_owned().await.map_err(Error::internal)?;
        let (registry, db, changing) = (self.registry.clone(), self.db.clone(), self.changing.clone());
        let work = tokio::spawn(async move {
            let _place = place;
            let mut staged = registry.stage(bytes.clone(), Origin::Uploaded).await.map_err(stage_error)?;
            let _changing = changing.lock().await;
            let is_there = |staged: &Staged| {
                let generation = &staged.generation;
                registry.view(&generation.id).is_some_and(|view| view.has(&generation.digest))
            };
            if !is_there(&staged) {
                // Following other servers' changes found it unstored and removed it again.
                staged = registry.stage(bytes.clone(), Origin::Uploaded).await.map_err(stage_error)?;
            }
            let generation = &staged.generation;
            if generation.origin == Origin::Uploaded {
                let stored = store::put_component(&db, generation, bytes).await;
                if stored.is_err() && staged.new {
                    // A component that could not be stored is removed; it cannot be active yet.
                    registry.remove(&generation.id, &generation.digest).map_err(registry_error)?;
                }
                stored?;
            }
            Ok(staged)
        });
        work.await.map_err(Error::internal)?
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

    /// Plans a change of a plugin's pointers, after other servers' changes, and writes it into a transaction
    /// that the caller commits.
    pub async fn change(
        &self,
        id: &PluginId,
        action: &'static str,
        apply: impl FnOnce(&mut PluginView) -> Result<(), RegistryError>,
    ) -> Result<PluginChange, Error> {
        let changing = self.changing.clone().lock_owned().await;
        let mut tx = self.begin_change(id).await?;
        self.registry.resolve(&id.to_string()).map_err(registry_error)?;
        let mut after = self.registry.view(id).map(|view| PluginView::clone(&view)).unwrap_or_default();
        apply(&mut after).map_err(registry_error)?;
        store::write_pointers(&mut tx, id, &after, action, self.clock.now_ms()).await?;
        Ok(self.planned(tx, id, after, action, None, changing))
    }

    /// Plans the removal of a generation.
    pub async fn remove(&self, id: &PluginId, digest: &str) -> Result<PluginChange, Error> {
        let changing = self.changing.clone().lock_owned().await;
        let mut tx = self.begin_change(id).await?;
        self.registry.check_removal(id, digest).map_err(registry_error)?;
        let left = self.registry.view(id).map(|view| view.without(digest)).unwrap_or_default();
        store::delete_component(&mut tx, id, digest, &left, self.clock.now_ms()).await?;
        Ok(self.planned(tx, id, left, "remove", Some(digest.to_owned()), changing))
    }

    fn planned(
        &self,
        tx: Tx,
        id: &PluginId,
        after: PluginView,
        action: &'static str,
        removed: Option<String>,
        changing: OwnedMutexGuard<()>,
    ) -> PluginChange {
        let (registry, id, after) = (self.registry.clone(), id.clone(), Arc::new(after));
        PluginChange { tx, registry, id, after, action, removed, _changing: changing }
    }

    /// A transaction that locks plugins against other servers, with the registry updated from the store.
    async fn begin_change(&self, id: &PluginId) -> Result<Tx, Error> {
        let mut tx = self.db.begin().await?;
        store::lock(&mut tx).await?;
        let stored = store::all_pointers_in(&mut tx).await?;
        if let Some(view) = self.registry.view(id) {
            self.take_over(id, &view, &stored);
        }
        Ok(tx)
    }

    /// Updates the pointers to the stored ones if they differ.
    fn take_over(&self, id: &PluginId, view: &PluginView, stored: &[(PluginId, Pointers)]) {
        // This server's unstored change is newer; storing it calls this again.
        if self.own.lock().contains(id) {
            return;
        }
        let pointers = stored.iter().find(|(stored, _)| stored == id).map(|(_, pointers)| pointers.clone());
        let mut pointers = self.complete(id, view, pointers.unwrap_or_default());
        pointers.activated_at_ms = pointers.activated_at_ms.or(view.activated_at_ms);
        if pointers != pointers_of(view) {
            self.registry.restore(id, &pointers);
            tracing::info!(plugin = %id, "follows what another server did");
        }
    }

    /// Applies another server's stored changes of this plugin; `None`: of all.
    pub async fn follow(&self, key: Option<&str>) -> Result<(), Error> {
        let _changing = self.changing.lock().await;
        self.follow_components().await?;
        let stored = store::all_pointers(&self.db).await?;
        for (id, view) in self.registry.list() {
            if key.is_none_or(|key| key == id.to_string()) {
                self.take_over(&id, &view, &stored);
            }
        }
        Ok(())
    }

    /// Stages components that others uploaded, and removes those that they removed.
    async fn follow_components(&self) -> Result<(), Error> {
        let stored = store::component_digests(&self.db).await?;
        let views = self.registry.list();
        for (digest, staged_at_ms) in &stored {
            if views.iter().any(|(_, view)| view.has(digest)) {
                continue;
            }
            let Some(bytes) = store::component_bytes(&self.db, digest).await? else { continue };
            if let Err(error) = self.registry.stage_as_of(bytes, Origin::Uploaded, *staged_at_ms).await {
                tracing::error!(%digest, "a plugin stored by another server cannot be staged here: {error}");
            }
        }
        for (id, view) in &views {
            for generation in view.generations.iter().filter(|g| g.origin == Origin::Uploaded) {
                if !stored.iter().any(|(digest, _)| *digest == *generation.digest)
                    && let Err(error) = self.registry.remove(id, &generation.digest)
                {
                    tracing::debug!(plugin = %id, "a removed generation is still in use here: {error}");
                }
            }
        }
        Ok(())
    }

    async fn restore(&self) -> Result<(), Error> {
        let stored = store::all_pointers(&self.db).await?;
        for (id, _) in &stored {
            if self.registry.view(id).is_none() {
                tracing::error!(plugin = %id, "none of its generations can be staged any more");
            }
        }
        for (id, view) in self.registry.list() {
            let pointers =
                stored.iter().find(|(stored, _)| *stored == id).map(|(_, pointers)| pointers.clone());
            let is_stored = pointers.is_some();
            let pointers = self.complete(&id, &view, pointers.unwrap_or_default());
            if is_stored || pointers.active.is_some() {
                self.registry.restore(&id, &pointers);
            }
        }
        Ok(())
    }

    /// Stored pointers, with the bundled generation if they name no other existing one.
    fn complete(&self, id: &PluginId, view: &PluginView, mut pointers: Pointers) -> Pointers {
        if pointers.active.as_ref().is_some_and(|digest| !view.has(digest)) {
            tracing::error!(plugin = %id, "its active generation is gone; the bundled one answers, if there is one");
            pointers.active = None;
        }
        let bundled = self.bundled.iter().filter_map(|plugin| plugin.outcome.as_ref().ok());
        let bundled = bundled.into_iter().find(|generation| generation.id == *id);
        pointers.active = pointers.active.or(bundled.map(|generation| generation.digest.to_string()));
        pointers
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
        tool_timeout: Some(Duration::from_millis(plugins.tool_timeout_ms)),
        engine_timeout: Some(Duration::from_millis(plugins.engine_timeout_ms)),
        policy: Policy { withhold: plugins.withhold.iter().cloned().collect() },
        functions: config.sql_functions_allow.clone(),
        drain: Duration::from_secs(plugins.drain_s),
        history_max: plugins.keep_generations,
        log_lines: plugins.log_lines,
        quarantine_after: plugins.quarantine_after,
    }
}

async fn stage_bundled(registry: &Arc<Registry>, now_ms: i64) -> Vec<BundledPlugin> {
    let mut plugins = Vec::new();
    for component in lakeport_bundled::components() {
        let recalled = registry.recall(&lakeport_plugins::digest(component.bytes), Origin::Bundled, now_ms);
        let staged = match recalled {
            Some(staged) => staged,
            None => registry.stage(component.bytes.to_vec(), Origin::Bundled).await,
        };
        component.leave_memory();
        let outcome = staged.map(|staged| staged.generation).map_err(|error| {
            tracing::error!(file = component.file_name, "a bundled plugin cannot be staged: {error}");
            error.to_string()
        });
        plugins.push(BundledPlugin { file_name: component.file_name, outcome, bytes: component.bytes });
    }
    plugins
}

fn pointers_of(view: &PluginView) -> Pointers {
    Pointers {
        active: view.active.as_ref().map(|generation| generation.digest.to_string()),
        activated_at_ms: view.activated_at_ms,
        history: view.history.iter().map(|generation| generation.digest.to_string()).collect(),
        canary: view.canary.as_ref().map(|canary| (canary.generation.digest.to_string(), canary.percent)),
        quarantine: view.quarantine.clone(),
    }
}

fn stage_error(error: StageError) -> Error {
    match error {
        StageError::Full(message) => Error::conflict("too_many_generations", message),
        StageError::Unfinished(message) => Error::unavailable("plugin_busy", message).retry_after(5),
        StageError::Trial { fault: CallFault::Busy, message } => {
            Error::unavailable("plugin_busy", message).retry_after(1)
        }
        StageError::Refused(refused) => {
            let details = refused.imports.iter().map(|i| Detail::new(&i.import, &i.reason)).collect();
            Error::bad_request("import_refused", refused.to_string()).with_details(details)
        }
        StageError::Description(problems) => {
            let details =
                problems.iter().take(DETAILS_MAX).map(|p| Detail::new(&p.member, &p.message)).collect();
            let message = StageError::Description(problems).to_string();
            Error::bad_request("description_invalid", message).with_details(details)
        }
        error => Error::bad_request(error.code(), error.to_string()),
    }
}

/// The most details of an error.
const DETAILS_MAX: usize = 50;

/// Maps an error of the registry.
pub fn registry_error(error: RegistryError) -> Error {
    use RegistryError::{Conflict, NotFound};
    match error {
        NotFound(message) => Error::refused(404, "not_found", message),
        Conflict {
            code: code @ ("canary_percent_invalid" | "digest_ambiguous" | "digest_invalid" | "name_ambiguous"),
            message,
        } => Error::bad_request(code, message),
        Conflict { code, message } => Error::conflict(code, message),
    }
}
