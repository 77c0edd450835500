//! The sandbox: one wasmtime engine, one linker a family, a clock that ends what overruns, and the way
//! in which a call is made. It knows components and calls; which component answers for which plugin is
//! the registry's affair.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::component::{Component, Linker};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store, StoreContextMut,
    UpdateDeadline,
};

use crate::call::{CallContext, CallFault, OverTime, fault_of, over_time};
use crate::compiled::CompiledCache;
use crate::family::Family;
use crate::imports;
use crate::inspect::Inspection;
use crate::invocation::Invocation;
use crate::lane::{Lane, Place};
use crate::limits::Limits;
use crate::log::CallLog;
use crate::origin::CallOrigin;
use crate::prepared::Prepared;
use crate::state::CallState;

/// How often the sandbox looks at what runs.
const TICK: Duration = Duration::from_millis(10);
/// Ticks of processor time that a call has before it must take turns with others that spin.
const FREE_TICKS: u64 = 2;
/// Stack of guest code, bytes.
const STACK_MAX_BYTES: usize = 512 * 1024;
/// Stack of the fiber that a call runs on: the guest's and the host functions' above it, bytes.
const FIBER_STACK_BYTES: usize = 2 * 1024 * 1024;
/// Memory of a slot that is written over between calls instead of being given back, bytes. A call that has written
/// no more than this touches no page for the first time, and its end asks nothing of the kernel but which pages
/// it has written.
const KEEP_RESIDENT_BYTES: usize = 512 * 1024;

/// Settings of a sandbox.
#[derive(Clone, Debug)]
pub struct SandboxSettings {
    /// Calls at the same time; further ones wait within their own time.
    pub calls_max: u32,
    /// Linear memory that any one call may have at most, bytes; per plugin `Limits` may say less.
    pub memory_max_bytes: usize,
}

impl Default for SandboxSettings {
    fn default() -> Self {
        SandboxSettings { calls_max: 64, memory_max_bytes: Limits::MEMORY_MAX_BYTES }
    }
}

/// One per process: stores of different engines must not meet.
pub struct Sandbox {
    engine: Engine,
    linkers: HashMap<Family, Linker<CallState>>,
    cache: Option<CompiledCache>,
    compiling: Mutex<()>,
    lane: Lane,
    room: Semaphore,
}

/// A failed call: whose fault it is, and words for a person.
#[derive(Debug)]
pub(crate) struct Failure {
    pub fault: CallFault,
    pub message: String,
    /// Whether it speaks against the plugin.
    pub blame: bool,
}

impl Failure {
    fn new(fault: CallFault, message: impl Into<String>) -> Self {
        Failure { fault, message: message.into(), blame: fault.is_the_plugins() }
    }
}

/// How a call went, beside its answer.
#[derive(Debug, Default)]
pub(crate) struct Measure {
    pub took: Duration,
    pub memory_peak: usize,
}

impl Sandbox {
    /// Makes the engine and its linkers, and starts the ticking thread, which ends with the engine.
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
            lane: Lane::new(),
            room: Semaphore::new(settings.calls_max as usize),
        })
    }

    /// The compiled-code cache, if there is one.
    pub fn cache(&self) -> Option<&CompiledCache> {
        self.cache.as_ref()
    }

    /// Compiles and links an inspected component, one at a time. Blocks. Nothing of it is run.
    pub(crate) fn prepare(&self, inspection: &Inspection, bytes: &[u8]) -> wasmtime::Result<Prepared> {
        let component = {
            let _one_at_a_time = self.compiling.lock();
            match &self.cache {
                Some(cache) => cache.load(&self.engine, &inspection.digest, bytes)?,
                None => Component::from_binary(&self.engine, bytes)?,
            }
        };
        let pre = self.linkers[&inspection.contract.family].instantiate_pre(&component)?;
        Prepared::new(&inspection.contract, &inspection.exports, pre)
    }

    /// Makes a fresh store, runs the invocation on it within the limits, and drops it. `over` ends the call
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
        let place = Place::default();
        let work = async {
            let Some(_room) = self.room_within(timeout).await else {
                return Err(Failure::new(
                    CallFault::Busy,
                    "no room for another call came free in time; try again",
                ));
            };
            let begun = Instant::now();
            let answer = {
                let state = CallState::new(origin, context, limits, begun + timeout, place.clone(), |id| {
                    CallLog::new(origin.log.clone(), origin.digest.clone(), id, limits.log_lines)
                });
                tokio::time::timeout(timeout, self.call_within(state, limits, &mut measure, invocation)).await
            };
            measure.took = begun.elapsed();
            answer.unwrap_or_else(|_| Err(Failure::new(CallFault::Timeout, over_time(timeout))))
        };
        let mut answer = tokio::select! {
            biased;
            answer = work => answer,
            () = over => Err(Failure::new(
                CallFault::Drained,
                "another generation had been activated and the time for calls under way was over; try again",
            )),
        };
        if let Err(failure) = &mut answer
            && failure.fault == CallFault::Timeout
        {
            // Most of its time went to waiting for others that spin: that is not its own failure.
            failure.blame = place.waited() < timeout / 2;
        }
        (answer, measure)
    }

    /// Room for one more call. Where there is some at once, no timer is set.
    async fn room_within(&self, timeout: Duration) -> Option<SemaphorePermit<'_>> {
        if let Ok(room) = self.room.try_acquire() {
            return Some(room);
        }
        tokio::time::timeout(timeout, self.room.acquire()).await.ok()?.ok()
    }

    async fn call_within<I: Invocation>(
        &self,
        state: CallState,
        limits: &Limits,
        measure: &mut Measure,
        invocation: I,
    ) -> Result<I::Answer, Failure> {
        let mut store = self.store(state, limits);
        let answer = invocation.run(&mut store).await;
        measure.memory_peak = store.data().usage.memory_peak;
        answer.map_err(|error| {
            let (fault, message) = fault_of(&error, limits.timeout);
            Failure::new(fault, message)
        })
    }

    fn store(&self, state: CallState, limits: &Limits) -> Store<CallState> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(|state| &mut state.usage);
        store.set_hostcall_fuel(limits.answer_bytes);
        store.set_max_component_handles(limits.handles);
        store.set_epoch_deadline(FREE_TICKS);
        let lane = self.lane.clone();
        store.epoch_deadline_callback(move |context: StoreContextMut<'_, CallState>| {
            let state = context.data();
            if Instant::now() >= state.deadline {
                return Err(OverTime.into());
            }
            Ok(UpdateDeadline::YieldCustom(1, Box::pin(lane.clone().next_turn(state.place.clone()))))
        });
        store
    }
}

/// Starts the thread that advances the epoch. It ends with the engine.
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
    // A component of a usual guest has one memory, three core instances (itself, and two that glue) and
    // two or three tables.
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
        // Without it the lowest bytes are taken for the ones that were written. Those are the far end of the stack,
        // where a guest hardly ever comes, and what it did write would be given back at each call.
        .pagemap_scan(Enabled::Auto)
        .table_keep_resident(64 * 1024)
        .max_unused_warm_slots(calls / 4);
    let mut config = Config::new();
    config
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool))
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
