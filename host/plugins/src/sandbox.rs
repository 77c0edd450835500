//! The sandbox: one wasmtime engine, one linker per family, a clock that ends overdue calls, and the
//! execution of a call. It knows components and calls; the registry knows which component serves which
//! plugin.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use wasmtime::component::{Component, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
    UpdateDeadline,
};

use crate::call::{CallContext, CallFault, OverTime, fault_of, over_time};
use crate::compiled::CompiledCache;
use crate::compiler::{Compiler, ReadError, Unfinished};
use crate::cpu_turns::CpuTurns;
use crate::family::Family;
use crate::imports;
use crate::inspect::Inspection;
use crate::invocation::Invocation;
use crate::limits::Limits;
use crate::log::CallLog;
use crate::origin::CallOrigin;
use crate::places::{FamilyPlaces, PluginPlaces};
use crate::prepared::{Description, Prepared};
use crate::state::CallState;
use crate::summary;

/// The interval at which the sandbox checks running calls.
const TICK: Duration = Duration::from_millis(10);
/// Stack of guest code, bytes.
const STACK_MAX_BYTES: usize = 512 * 1024;
/// How long a component waits for the ones before it. A component of 10 MiB takes half as long.
const TURN_MAX: Duration = Duration::from_secs(20);
/// Stack of the fiber that a call runs on: the guest's and the host functions' above it, bytes.
const FIBER_STACK_BYTES: usize = 2 * 1024 * 1024;
/// Bytes of a slot's memory that are reset between calls instead of being returned to the kernel. A call that
/// writes no more than this causes no page faults, and its end only asks the kernel which pages it has
/// written.
const KEEP_RESIDENT_BYTES: usize = 512 * 1024;

/// Settings of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// Concurrent calls; further ones wait within their time limits. Each family has a share of its own.
    pub calls_max: u32,
    /// The most linear memory of a call, bytes; a plugin's `Limits` may lower it.
    pub memory_max_bytes: usize,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        SandboxSettings { calls_max: 64, memory_max_bytes: Limits::MEMORY_MAX_BYTES }
    }
}

/// One per process: stores of different engines cannot be mixed.
pub struct Sandbox {
    engine: Engine,
    linkers: HashMap<Family, Linker<CallState>>,
    cache: Option<CompiledCache>,
    compiling: Mutex<()>,
    cpu_turns: CpuTurns,
    places: HashMap<Family, FamilyPlaces>,
}

/// A failed call: its fault and a message for people.
#[derive(Debug)]
pub(crate) struct Failure {
    pub fault: CallFault,
    pub message: String,
    /// Whether the failure counts against the plugin.
    pub blame: bool,
}

impl Failure {
    fn new(fault: CallFault, message: impl Into<String>) -> Self {
        Failure { fault, message: message.into(), blame: fault.is_the_plugins() }
    }
}

/// Measurements of a call, beside its answer.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    pub took: Duration,
    pub memory_peak: usize,
}

impl Sandbox {
    /// Creates the engine and its linkers, and starts the ticking thread, which ends with the engine.
    pub fn new(settings: &SandboxSettings, cache: Option<CompiledCache>) -> wasmtime::Result<Self> {
        let engine = Engine::new(&config(settings))?;
        let mut linkers = HashMap::new();
        for family in Family::ALL {
            let mut linker = Linker::new(&engine);
            imports::link(family, &mut linker)?;
            linkers.insert(family, linker);
        }
        start_ticking(&engine)?;
        Ok(Sandbox {
            engine,
            linkers,
            cache,
            compiling: Mutex::new(()),
            cpu_turns: CpuTurns::new(),
            places: Family::ALL.map(|family| (family, FamilyPlaces::of(family, settings.calls_max))).into(),
        })
    }

    /// The places of one plugin, for its concurrent calls.
    pub(crate) fn places_of_plugin(&self, family: Family) -> Arc<PluginPlaces> {
        Arc::new(self.places[&family].of_plugin())
    }

    pub fn cache(&self) -> Option<&CompiledCache> {
        self.cache.as_ref()
    }

    /// The turn of one component, or why there is none soon.
    fn turn(&self) -> Result<MutexGuard<'_, ()>, Unfinished> {
        self.compiling
            .try_lock_for(TURN_MAX)
            .ok_or_else(|| Unfinished("another component is being compiled".to_owned()))
    }

    /// Reads and checks a component without compiling it, one at a time. Blocks.
    pub(crate) fn inspect(&self, bytes: &[u8]) -> Result<Inspection, ReadError> {
        let _one_at_a_time = self.turn()?;
        self.cache.as_ref().map_or(&Compiler::Inside, CompiledCache::compiler).inspect(bytes)
    }

    /// Compiles and links an inspected component, one at a time, without running it. Blocks.
    pub(crate) fn prepare(&self, inspection: &Inspection, bytes: &[u8]) -> wasmtime::Result<Prepared> {
        let component = {
            let _one_at_a_time = self.turn().map_err(wasmtime::Error::new)?;
            match &self.cache {
                Some(cache) => cache.load(&self.engine, &inspection.digest, bytes)?,
                None => Component::from_binary(&self.engine, bytes)?,
            }
        };
        self.link(inspection, &component)
    }

    /// Loads and links a component from the compiled-code cache; `None` if it is not there. Blocks.
    pub(crate) fn prepare_compiled(&self, inspection: &Inspection) -> Option<wasmtime::Result<Prepared>> {
        let component = self.cache.as_ref()?.find(&self.engine, &inspection.digest)?;
        Some(self.link(inspection, &component))
    }

    fn link(&self, inspection: &Inspection, component: &Component) -> wasmtime::Result<Prepared> {
        let pre = self.linkers[&inspection.contract.family].instantiate_pre(component)?;
        Prepared::new(&inspection.contract, &inspection.exports, pre)
    }

    /// Whether the compiled-code cache has a component's code.
    pub(crate) fn has_compiled(&self, digest: &str) -> bool {
        self.cache.as_ref().is_some_and(|cache| cache.has(&self.engine, digest))
    }

    /// A component that this program has checked, if its code is in the compiled-code cache. Reads one file.
    pub(crate) fn recall(&self, digest: &str) -> Option<(Inspection, Description)> {
        let cache = self.cache.as_ref().filter(|cache| cache.has(&self.engine, digest))?;
        summary::read(digest, &cache.summary(&self.engine, digest)?)
    }

    /// Keeps what is known of a checked component beside its code. Blocks.
    pub(crate) fn remember(&self, inspection: &Inspection, description: &Description) {
        if let Some(cache) = &self.cache
            && let Some(summary) = summary::write(inspection, description)
        {
            cache.keep_summary(&self.engine, &inspection.digest, &summary);
        }
    }

    /// Runs the invocation in a fresh store within the limits, then drops the store. `over` ends the call
    /// from outside.
    pub(crate) async fn call<I: Invocation>(
        &self,
        origin: &CallOrigin,
        context: CallContext,
        limits: &Limits,
        over: impl Future<Output = ()> + Send,
        invocation: I,
    ) -> (Result<I::Answer, Failure>, Measure) {
        let timeout = context.timeout.map_or(limits.timeout, |asked| asked.min(limits.timeout));
        let mut measure = Measure::default();
        let cpu_turn = self.cpu_turns.call();
        let deadline = cpu_turn.begun() + timeout;
        let work = async {
            let instance = context.instance.as_ref().map(|instance| instance.name.as_str());
            let place = self.places[&origin.family].take(&origin.places, instance);
            let place = tokio::time::timeout_at(deadline.into(), cpu_turn.waiting(place));
            let Ok(Some(_place)) = place.await else {
                return Err(Failure::new(CallFault::Busy, "too many concurrent calls; try again"));
            };
            let begun = Instant::now();
            let state = CallState::new(origin, context, limits, deadline, cpu_turn.clone(), |id| {
                CallLog::new(origin.log.clone(), origin.digest.clone(), id, limits.log_lines)
            });
            let call = self.call_within(state, (limits, timeout), &mut measure, invocation);
            let answer = tokio::time::timeout_at(deadline.into(), call).await;
            measure.took = begun.elapsed();
            answer.unwrap_or_else(|_| Err(Failure::new(CallFault::Timeout, over_time(timeout))))
        };
        let mut answer = tokio::select! {
            biased;
            answer = work => answer,
            () = over => Err(Failure::new(
                CallFault::Drained,
                "another generation was activated and the drain time is over; try again",
            )),
        };
        if let Err(failure) = &mut answer
            && failure.fault == CallFault::Timeout
        {
            // A call that mostly waited for others, such as a slow database, is not to blame for its timeout.
            failure.blame = cpu_turn.waited() < timeout / 2;
        }
        (answer, measure)
    }

    async fn call_within<I: Invocation>(
        &self,
        state: CallState,
        (limits, timeout): (&Limits, Duration),
        measure: &mut Measure,
        invocation: I,
    ) -> Result<I::Answer, Failure> {
        let mut store = self.store(state, limits);
        let answer = invocation.run(&mut store).await;
        measure.memory_peak = store.data().usage.memory_peak;
        answer.map_err(|error| {
            let (fault, message) = fault_of(&error, timeout);
            Failure::new(fault, message)
        })
    }

    fn store(&self, state: CallState, limits: &Limits) -> Store<CallState> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.usage);
        store.set_hostcall_fuel(limits.answer_bytes);
        store.set_max_component_handles(limits.handles);
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(|context: StoreContextMut<'_, CallState>| {
            let state = context.data();
            if Instant::now() >= state.deadline {
                return Err(OverTime.into());
            }
            if state.cpu_turn.is_free() {
                return Ok(UpdateDeadline::Continue(1));
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(state.cpu_turn.clone().next())))
        });
        store
    }
}

/// Starts the thread that advances the epoch. The thread ends with the engine.
#[expect(clippy::disallowed_methods, reason = "this thread does nothing but wait and tick")]
fn start_ticking(engine: &Engine) -> std::io::Result<()> {
    let weak = engine.weak();
    let tick = move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            std::thread::sleep(TICK);
        }
    };
    std::thread::Builder::new().name("plugin-ticks".to_owned()).spawn(tick).map(drop)
}

fn config(settings: &SandboxSettings) -> Config {
    let calls = settings.calls_max;
    // A usual component has one memory, three core instances (itself and two adapters) and two or three
    // tables.
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls * 8)
        .total_memories(calls * 2)
        .total_tables(calls * 8)
        .total_stacks(calls)
        .max_core_instances_per_component(32)
        .max_memories_per_component(4)
        .max_tables_per_component(16)
        .table_elements(100_000)
        .max_memory_size(settings.memory_max_bytes)
        .max_component_instance_size(4 * 1024 * 1024)
        .max_core_instance_size(4 * 1024 * 1024)
        .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
        // Without it, wasmtime takes the lowest bytes to be the written ones. Those are the far end of the
        // stack, which guests hardly ever use, so the written pages would be returned to the kernel at each
        // call.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(64 * 1024)
        .max_unused_warm_slots(calls / 4);
    let mut config = code_config();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    config
}

/// What machine code depends on, and what costs nothing where nothing is instantiated.
pub(crate) fn code_config() -> Config {
    let mut config = Config::new();
    config
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(STACK_MAX_BYTES)
        .async_stack_size(FIBER_STACK_BYTES)
        .memory_init_cow(true)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_backtrace_max_frames(std::num::NonZeroUsize::new(20));
    config
}
