//! The plugins of a server: their generations, the active ones, and changes of them while calls are running.
//! A change swaps one pointer; a running call keeps its generation. The registry is in memory only: its owner
//! stores components and pointers and restores them at the start.

mod errors;
mod pinned;
mod view;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use lakeport_sql::{AddedFunctions, Profile};
use parking_lot::{Mutex, RwLock};
use wasmtime::component::{ComponentNamedList, Lift, Lower};

use self::errors::conflict;
pub use self::errors::{RegistryError, StageError};
pub(crate) use self::pinned::Pinned;
pub use self::view::{Canary, PluginView, Pointers, Quarantine};
use crate::call::{CallContext, CallError};
use crate::family::{Family, PluginId};
use crate::generation::{Generation, Parts, trial};
use crate::grants::{self, Grants, Policy};
use crate::inspect::Inspection;
use crate::limits::Limits;
use crate::log::{CallLog, LogLevel, PluginLog, now_ms};
use crate::origin::{CallOrigin, Origin};
use crate::places::PluginPlaces;
use crate::prepared::{Description, Prepared};
use crate::sandbox::Sandbox;
use crate::summary::Components;

/// The most generations of one plugin.
pub const GENERATIONS_MAX: usize = 16;
/// The most plugins of a server.
pub const PLUGINS_MAX: usize = 500;

/// Settings of a registry.
#[derive(Clone, Debug)]
pub struct RegistrySettings {
    /// The limits of each call.
    pub limits: Limits,
    /// The time limit of a tool's calls, which wait for databases; `None`: the common limit.
    pub tool_timeout: Option<Duration>,
    /// The time limit of an engine's calls, which wait for schedulers; `None`: the common limit.
    pub engine_timeout: Option<Duration>,
    /// The interfaces that the operator withholds.
    pub policy: Policy,
    /// Functions of data sources that the operator allows besides the host's lists.
    pub functions: AddedFunctions,
    /// How long running calls may go on after their generation was replaced.
    pub drain: Duration,
    /// How many earlier active generations are kept for a rollback.
    pub history_max: usize,
    /// Lines that each plugin's log keeps.
    pub log_lines: usize,
    /// Consecutive failed calls of one function that quarantine a plugin. 0: never.
    pub quarantine_after: u64,
}

impl Default for RegistrySettings {
    fn default() -> Self {
        RegistrySettings {
            limits: Limits::default(),
            tool_timeout: None,
            engine_timeout: None,
            policy: Policy::default(),
            functions: AddedFunctions::default(),
            drain: Duration::from_secs(30),
            history_max: 3,
            log_lines: 1_000,
            quarantine_after: 20,
        }
    }
}

impl RegistrySettings {
    fn limits_of(&self, family: Family) -> Limits {
        let own = match family {
            Family::Tool => self.tool_timeout,
            Family::Engine => self.engine_timeout,
            Family::Dialect => None,
        };
        Limits { timeout: own.unwrap_or(self.limits.timeout), ..self.limits.clone() }
    }
}

struct Plugin {
    view: ArcSwap<PluginView>,
    changing: Mutex<()>,
    log: Arc<PluginLog>,
    /// For the concurrent calls of all of its generations.
    places: Arc<PluginPlaces>,
}

/// The listener for changes that the registry makes by itself.
type Told = Box<dyn Fn(&PluginId) + Send + Sync>;

/// The plugins of a server.
pub struct Registry {
    sandbox: Arc<Sandbox>,
    settings: RegistrySettings,
    plugins: RwLock<BTreeMap<PluginId, Arc<Plugin>>>,
    /// Lines logged before the plugin's identity is known.
    trial_log: Arc<PluginLog>,
    told: OnceLock<Told>,
    components: OnceLock<Arc<dyn Components>>,
}

/// A component that passed all checks.
struct Known {
    inspection: Inspection,
    description: Description,
    profile: Option<Profile>,
    origin: Origin,
    staged_at_ms: i64,
}

/// A staged component.
pub struct Staged {
    /// The generation.
    pub generation: Arc<Generation>,
    /// False if the same bytes were staged before.
    pub new: bool,
}

impl Registry {
    pub fn new(sandbox: Arc<Sandbox>, settings: RegistrySettings) -> Self {
        let trial_log = Arc::new(PluginLog::new(settings.log_lines));
        Registry {
            sandbox,
            settings,
            plugins: RwLock::new(BTreeMap::new()),
            trial_log,
            told: OnceLock::new(),
            components: OnceLock::new(),
        }
    }

    pub fn settings(&self) -> &RegistrySettings {
        &self.settings
    }

    pub fn sandbox(&self) -> &Arc<Sandbox> {
        &self.sandbox
    }

    /// Checks a component and keeps it: inspection, imports against grants, compiling, linking, a trial of
    /// `describe`, and the description. The component runs only after it has passed all checks that do not
    /// need it to run. [`Self::activate`] makes it active.
    pub async fn stage(self: &Arc<Self>, bytes: Vec<u8>, origin: Origin) -> Result<Staged, StageError> {
        self.stage_as_of(bytes, origin, now_ms()).await
    }

    /// Stages a component that was first staged at another time (milliseconds since 1970 UTC).
    pub async fn stage_as_of(
        self: &Arc<Self>,
        bytes: Vec<u8>,
        origin: Origin,
        staged_at_ms: i64,
    ) -> Result<Staged, StageError> {
        let this = self.clone();
        // Inspecting and compiling take processor time, up to many seconds: not on a thread of the runtime.
        let prepared = tokio::task::spawn_blocking(move || {
            let inspection = this.sandbox.inspect(&bytes)?;
            if let Some(generation) = this.by_digest(&inspection.digest) {
                return Ok(Err(generation));
            }
            let grants = grants::check(&inspection, origin, &this.settings.policy)?;
            let prepared = this.sandbox.prepare(&inspection, &bytes).map_err(StageError::of_compiler)?;
            Ok::<_, StageError>(Ok((inspection, grants, prepared)))
        })
        .await
        .map_err(|error| StageError::Link(format!("compiling it failed: {error}")))??;
        let (inspection, grants, prepared) = match prepared {
            Ok(parts) => parts,
            Err(generation) => return Ok(Staged { generation, new: false }),
        };
        let call_origin = self.call_origin(inspection.contract.family, &inspection.digest, &grants);
        let description = trial(&self.sandbox, &prepared, &call_origin, &self.settings.limits)
            .await
            .map_err(|(fault, message)| StageError::Trial { fault, message })?;
        // Checking a large description takes processor time, too.
        let sandbox = self.sandbox.clone();
        let (inspection, description, checked) = tokio::task::spawn_blocking(move || {
            let checked = crate::description::check(&description);
            if checked.is_ok() {
                sandbox.remember(&inspection, &description);
            }
            (inspection, description, checked)
        })
        .await
        .map_err(|error| StageError::Link(format!("reading its description failed: {error}")))?;
        let profile = checked.map_err(StageError::Description)?;
        // What its trial has loaded leaves memory again, if the first call can load it.
        let can_be_loaded = self.components.get().is_some() && self.sandbox.has_compiled(&inspection.digest);
        let known = Known { inspection, description, profile, origin, staged_at_ms };
        self.accept(known, grants, call_origin, Some(prepared).filter(|_| !can_be_loaded))
    }

    /// Stages a component that this program has staged before, without reading or loading it: its first call
    /// loads it. `None`: stage the component itself.
    pub fn recall(
        self: &Arc<Self>,
        digest: &str,
        origin: Origin,
        staged_at_ms: i64,
    ) -> Option<Result<Staged, StageError>> {
        self.components.get()?;
        let (inspection, description) = self.sandbox.recall(digest)?;
        let profile = crate::description::check(&description).ok()?;
        let family = inspection.contract.family;
        Some(grants::check(&inspection, origin, &self.settings.policy).map_err(StageError::from).and_then(
            |grants| {
                let call_origin = self.call_origin(family, &inspection.digest, &grants);
                let known = Known { inspection, description, profile, origin, staged_at_ms };
                self.accept(known, grants, call_origin, None)
            },
        ))
    }

    /// Names where components can be read again. From then on, code is loaded when it is first called. Only
    /// the first source is kept.
    pub fn load_from(&self, components: Arc<dyn Components>) {
        let _ = self.components.set(components);
    }

    fn call_origin(&self, family: Family, digest: &str, grants: &Grants) -> CallOrigin {
        CallOrigin {
            family,
            digest: digest.into(),
            withheld: grants.withheld.as_slice().into(),
            log: self.trial_log.clone(),
            request_counters: Arc::default(),
            places: self.sandbox.places_of_plugin(family),
        }
    }

    fn accept(
        &self,
        known: Known,
        grants: Grants,
        mut call_origin: CallOrigin,
        prepared: Option<Prepared>,
    ) -> Result<Staged, StageError> {
        let Known { inspection, description, profile, origin, staged_at_ms } = known;
        if let Description::Tool(info) = &description {
            grants.check_optional(&info.optional_needs)?;
        }
        let family = inspection.contract.family;
        let id = PluginId { family, name: description.name().to_owned() };
        let plugin = self.plugin_or_new(&id)?;
        call_origin.log = plugin.log.clone();
        call_origin.places = plugin.places.clone();
        let generation = Arc::new(Generation::new(Parts {
            id,
            inspection,
            grants,
            description,
            profile: profile.map(|profile| Arc::new(profile.allowing(&self.settings.functions))),
            origin,
            staged_at_ms,
            prepared,
            limits: self.settings.limits_of(family),
            call_origin,
        }));
        self.keep(&plugin, generation)
    }

    fn keep(&self, plugin: &Arc<Plugin>, generation: Arc<Generation>) -> Result<Staged, StageError> {
        let _changing = plugin.changing.lock();
        let mut view = PluginView::clone(&plugin.view.load());
        if let Some(there) = view.generations.iter().find(|g| g.digest == generation.digest) {
            return Ok(Staged { generation: there.clone(), new: false });
        }
        if view.generations.len() >= GENERATIONS_MAX {
            return Err(StageError::Full(format!(
                "the plugin {} has {GENERATIONS_MAX} generations already; remove one first \
                 (lakeport plugin remove {} DIGEST)",
                generation.id, generation.id.name
            )));
        }
        view.generations.push(generation.clone());
        plugin.view.store(Arc::new(view));
        // The plugin's last generation may have been removed since the look-up.
        self.plugins.write().entry(generation.id.clone()).or_insert_with(|| plugin.clone());
        Ok(Staged { generation, new: true })
    }

    fn plugin_or_new(&self, id: &PluginId) -> Result<Arc<Plugin>, StageError> {
        let mut plugins = self.plugins.write();
        if let Some(plugin) = plugins.get(id) {
            return Ok(plugin.clone());
        }
        if plugins.len() >= PLUGINS_MAX {
            return Err(StageError::Full(format!(
                "the limit of {PLUGINS_MAX} plugins is reached; remove one first"
            )));
        }
        let plugin = Arc::new(Plugin {
            view: ArcSwap::default(),
            changing: Mutex::new(()),
            log: Arc::new(PluginLog::new(self.settings.log_lines)),
            places: self.sandbox.places_of_plugin(id.family),
        });
        plugins.insert(id.clone(), plugin.clone());
        Ok(plugin)
    }

    fn by_digest(&self, digest: &str) -> Option<Arc<Generation>> {
        let plugins = self.plugins.read();
        plugins.values().find_map(|plugin| {
            let view = plugin.view.load();
            view.generations.iter().find(|g| &*g.digest == digest).cloned()
        })
    }

    /// Counts an answer of a generation that broke the contract, and logs the reason in the plugin's log.
    pub(crate) fn blame(
        self: &Arc<Self>,
        generation: &Generation,
        function: &'static str,
        call: &str,
        reason: &str,
    ) {
        let id = &generation.id;
        if let Some(plugin) = self.plugins.read().get(id) {
            let mut log = CallLog::new(plugin.log.clone(), generation.digest.clone(), call.into(), 1);
            log.write(LogLevel::Error, &format!("the host refused its answer: {reason}"), Vec::new());
        }
        let in_a_row = generation.counters.blame(function);
        self.quarantine_if_failing(generation, function, in_a_row, || reason.to_owned());
    }

    /// All plugins, by family and name.
    pub fn list(&self) -> Vec<(PluginId, Arc<PluginView>)> {
        self.plugins.read().iter().map(|(id, plugin)| (id.clone(), plugin.view.load_full())).collect()
    }

    /// One plugin.
    pub fn view(&self, id: &PluginId) -> Option<Arc<PluginView>> {
        self.plugins.read().get(id).map(|plugin| plugin.view.load_full())
    }

    /// The plugin's log.
    pub fn log(&self, id: &PluginId) -> Option<Arc<PluginLog>> {
        self.plugins.read().get(id).map(|plugin| plugin.log.clone())
    }

    /// Finds a plugin by `name`, or by `family:name` where two families share a name.
    pub fn resolve(&self, text: &str) -> Result<PluginId, RegistryError> {
        let plugins = self.plugins.read();
        if let Some((family, name)) = text.split_once(':') {
            let family: Family = family.parse().map_err(RegistryError::NotFound)?;
            let id = PluginId { family, name: name.to_owned() };
            return if plugins.contains_key(&id) { Ok(id) } else { Err(unknown(text, &plugins)) };
        }
        let mut found = plugins.keys().filter(|id| id.name == text);
        match (found.next(), found.next()) {
            (Some(id), None) => Ok(id.clone()),
            (Some(one), Some(other)) => Err(conflict(
                "name_ambiguous",
                format!("two plugins are named {text}; choose {one} or {other}"),
            )),
            (None, _) => Err(unknown(text, &plugins)),
        }
    }

    /// Makes a generation the active one; with `canary_percent`, for that share of keys only. Running calls
    /// finish on their generation within the drain time.
    pub fn activate(
        self: &Arc<Self>,
        id: &PluginId,
        digest: &str,
        canary_percent: Option<u8>,
    ) -> Result<Arc<PluginView>, RegistryError> {
        self.change(id, |view| view.activate(id, digest, canary_percent, self.settings.history_max))
    }

    /// Ends the canary, or else activates the previous generation.
    pub fn rollback(self: &Arc<Self>, id: &PluginId) -> Result<Arc<PluginView>, RegistryError> {
        self.change(id, |view| view.roll_back(id))
    }

    /// Puts a plugin into quarantine. Running calls go on.
    pub fn quarantine(
        self: &Arc<Self>,
        id: &PluginId,
        reason: &str,
    ) -> Result<Arc<PluginView>, RegistryError> {
        self.change(id, |view| {
            view.put_in_quarantine(reason);
            Ok(())
        })
    }

    /// Releases a plugin from quarantine.
    pub fn release(self: &Arc<Self>, id: &PluginId) -> Result<Arc<PluginView>, RegistryError> {
        self.change(id, |view| view.release(id))
    }

    /// Checks whether [`Self::remove`] would succeed.
    pub fn check_removal(&self, id: &PluginId, digest: &str) -> Result<(), RegistryError> {
        let view = self.view(id).ok_or_else(|| unknown(&id.to_string(), &self.plugins.read()))?;
        view.removable(id, digest).map(drop)
    }

    /// Removes a generation that is not active and has no running calls.
    pub fn remove(self: &Arc<Self>, id: &PluginId, digest: &str) -> Result<(), RegistryError> {
        let view = self.view(id).ok_or_else(|| unknown(&id.to_string(), &self.plugins.read()))?;
        let digest = view.removable(id, digest)?.digest.clone();
        self.forget(id, &digest);
        Ok(())
    }

    /// Removes a generation that its owner no longer stores. Calls that run on it, or will in tasks that
    /// chose it, go on.
    pub fn forget(self: &Arc<Self>, id: &PluginId, digest: &str) {
        let forgotten = self.change(id, |view| {
            *view = view.without(digest);
            Ok(())
        });
        if forgotten.is_ok_and(|view| view.generations.is_empty()) {
            let mut plugins = self.plugins.write();
            if plugins.get(id).is_some_and(|plugin| plugin.view.load().generations.is_empty()) {
                plugins.remove(id);
            }
        }
    }

    /// Makes a plugin's stored pointers its own, as at a start, or after this or another server stored them:
    /// replaced generations are drained. Digests that are not staged are skipped.
    pub fn restore(&self, id: &PluginId, pointers: &Pointers) {
        let Some(plugin) = self.plugins.read().get(id).cloned() else { return };
        let _changing = plugin.changing.lock();
        let before = plugin.view.load_full();
        let mut view = PluginView::clone(&before);
        let find = |digest: &str| view.generations.iter().find(|g| &*g.digest == digest).cloned();
        let active = pointers.active.as_deref().and_then(find);
        let history = pointers.history.iter().filter_map(|digest| find(digest)).collect();
        let canary = pointers
            .canary
            .as_ref()
            .and_then(|(digest, percent)| Some(Canary { generation: find(digest)?, percent: *percent }));
        view.activated_at_ms = active.as_ref().map(|_| pointers.activated_at_ms.unwrap_or_else(now_ms));
        view.active = active;
        view.history = history;
        view.canary = canary;
        view.quarantine = pointers.quarantine.clone();
        self.install(&plugin, &before, view);
    }

    /// Registers a listener for changes that the registry makes by itself, as when failures quarantine a
    /// plugin. Only the first listener is kept; it must not block.
    pub fn on_own_change(&self, told: impl Fn(&PluginId) + Send + Sync + 'static) {
        // Only the first listener is kept.
        let _ = self.told.set(Box::new(told));
    }

    /// Applies one change to a plugin's pointers.
    fn change(
        &self,
        id: &PluginId,
        apply: impl FnOnce(&mut PluginView) -> Result<(), RegistryError>,
    ) -> Result<Arc<PluginView>, RegistryError> {
        let plugin = {
            let plugins = self.plugins.read();
            plugins.get(id).cloned().ok_or_else(|| unknown(&id.to_string(), &plugins))?
        };
        let _changing = plugin.changing.lock();
        let before = plugin.view.load_full();
        let mut view = PluginView::clone(&before);
        apply(&mut view)?;
        Ok(self.install(&plugin, &before, view))
    }

    /// Lets calls see a plugin's new pointers. A generation that begins to answer, or answers again after a
    /// quarantine, has no failures in a row; one that no longer answers is drained.
    fn install(&self, plugin: &Arc<Plugin>, before: &PluginView, view: PluginView) -> Arc<PluginView> {
        for begins in view.in_service().filter(|g| !before.in_service().any(|then| then.digest == g.digest)) {
            begins.counters.forgive();
        }
        let view = Arc::new(view);
        plugin.view.store(view.clone());
        for gone in before.answering().filter(|g| !view.answering().any(|now| now.digest == g.digest)) {
            self.drain(plugin.clone(), gone.clone());
        }
        view
    }

    fn drain(&self, plugin: Arc<Plugin>, gone: Arc<Generation>) {
        if gone.running() == 0 {
            return;
        }
        let time = self.settings.drain;
        let begun_until_now = gone.calls_begun();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            if !plugin.view.load().answering().any(|now| now.digest == gone.digest) && gone.running() > 0 {
                tracing::warn!(plugin = %gone.id, digest = %gone.digest, "calls did not end within the drain time");
                gone.end_calls(begun_until_now);
            }
        });
    }

    /// Calls a function of a generation.
    async fn call<Params, Answer>(
        self: &Arc<Self>,
        generation: &Generation,
        function: &'static str,
        context: CallContext,
        params: Params,
    ) -> Result<Answer, CallError>
    where
        Params: ComponentNamedList + Lower,
        Answer: Lift + 'static,
    {
        let (answer, in_a_row) =
            generation.call((&self.sandbox, self.components.get()), function, context, params).await;
        if let Err(error) = &answer {
            self.quarantine_if_failing(generation, function, in_a_row, || error.to_string());
        }
        answer
    }

    /// The generation that answers calls with this key, in quarantine or not.
    fn answering_for(&self, id: &PluginId, key: &str) -> Result<Arc<Generation>, CallError> {
        self.installed(id)?.answering_for(key).cloned().ok_or_else(|| {
            CallError::NotActive(format!(
                "no generation of the plugin {id} is active; activate one of those staged"
            ))
        })
    }

    fn check_in_service(&self, id: &PluginId) -> Result<(), CallError> {
        match &self.installed(id)?.quarantine {
            Some(Quarantine { reason, .. }) => {
                Err(CallError::Quarantined { plugin: id.to_string(), reason: reason.clone() })
            }
            None => Ok(()),
        }
    }

    fn installed(&self, id: &PluginId) -> Result<Arc<PluginView>, CallError> {
        self.view(id)
            .ok_or_else(|| CallError::NotActive(format!("unknown plugin {id}; see `lakeport plugin list`")))
    }

    /// Takes a generation out of service once too many calls of one of its functions failed in a row.
    fn quarantine_if_failing(
        self: &Arc<Self>,
        failed: &Generation,
        function: &str,
        in_a_row: u64,
        last: impl FnOnce() -> String,
    ) {
        if self.settings.quarantine_after == 0 || in_a_row < self.settings.quarantine_after {
            return;
        }
        let id = &failed.id;
        let reason = format!("{in_a_row} calls in a row of {function} failed; the last: {}", last());
        let done = self.change(id, |view| {
            let is_active = view.active.as_ref().is_some_and(|active| active.digest == failed.digest);
            let is_canary = view.canary.as_ref().is_some_and(|c| c.generation.digest == failed.digest);
            if is_canary {
                view.canary = None;
            } else if is_active && view.quarantine.is_none() {
                view.quarantine = Some(Quarantine { reason: reason.clone(), by_failures: true });
            } else {
                return Err(conflict("already_quarantined", "it is out of service already"));
            }
            Ok(())
        });
        if done.is_ok() {
            tracing::error!(plugin = %id, digest = %failed.digest, "taken out of service: {reason}");
            if let Some(told) = self.told.get() {
                told(id);
            }
        }
    }
}

fn unknown(text: &str, plugins: &BTreeMap<PluginId, Arc<Plugin>>) -> RegistryError {
    let known: Vec<String> = plugins.keys().map(PluginId::to_string).take(20).collect();
    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
    RegistryError::NotFound(format!("unknown plugin {text}; known: {known}"))
}
