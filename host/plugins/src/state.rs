//! The state in a store for its single call.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lakeport_bindings::dialect::connection::Connection;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::call::{CallContext, InstanceConfig};
use crate::counters::RequestCounters;
use crate::cpu_turns::CpuTurn;
use crate::family::Family;
use crate::http::Recording;
use crate::lending::{EmbeddedScheduler, LentConnection, Topic};
use crate::limits::Limits;
use crate::log::CallLog;
use crate::origin::CallOrigin;
use crate::usage::Usage;
use crate::wasi_context;

/// The state of one call. Host imports reach only what is in it.
pub struct CallState {
    pub(crate) family: Family,
    /// Created at the guest's first WASI call; most calls make none.
    wasi: Option<WasiCtx>,
    table: ResourceTable,
    pub(crate) log: Arc<parking_lot::Mutex<CallLog>>,
    pub(crate) usage: Usage,
    pub(crate) cpu_turn: CpuTurn,
    pub(crate) call_id: Arc<str>,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) instance: Option<Arc<InstanceConfig>>,
    pub(crate) connection: Option<Box<dyn LentConnection>>,
    pub(crate) scheduler: Option<Arc<dyn EmbeddedScheduler>>,
    pub(crate) topic: Option<Arc<dyn Topic>>,
    /// Imported interfaces that the operator withholds.
    pub(crate) withheld: Arc<[String]>,
    /// Requests of this call.
    pub(crate) requests: usize,
    pub(crate) request_counters: Arc<RequestCounters>,
    pub(crate) recording: Option<Arc<Recording>>,
}

impl CallState {
    pub(crate) fn new(
        origin: &CallOrigin,
        context: CallContext,
        limits: &Limits,
        deadline: Instant,
        cpu_turn: CpuTurn,
        log: impl FnOnce(Arc<str>) -> CallLog,
    ) -> Self {
        let log = Arc::new(parking_lot::Mutex::new(log(context.id.clone())));
        CallState {
            family: origin.family,
            wasi: None,
            table: ResourceTable::new(),
            log,
            usage: Usage::new(limits),
            cpu_turn,
            call_id: context.id,
            deadline,
            cancelled: context.cancelled,
            instance: context.instance,
            connection: context.connection,
            scheduler: context.scheduler,
            topic: context.topic,
            withheld: origin.withheld.clone(),
            requests: 0,
            request_counters: origin.request_counters.clone(),
            recording: context.recording,
        }
    }

    /// The state of a call to which nothing is lent.
    #[cfg(test)]
    pub(crate) fn for_test(family: Family) -> Self {
        let origin = CallOrigin {
            family,
            digest: "d".into(),
            withheld: Arc::default(),
            log: Arc::new(crate::log::PluginLog::new(10)),
            places: Arc::new(crate::places::PluginPlaces::new(1, 1)),
            request_counters: Arc::default(),
        };
        let turn = crate::cpu_turns::CpuTurns::new().call();
        CallState::new(&origin, CallContext::new("c"), &Limits::default(), Instant::now(), turn, |id| {
            CallLog::new(origin.log.clone(), origin.digest.clone(), id, 10)
        })
    }

    /// The handle of the connection lent to a dialect. A call has one at most.
    pub(crate) fn connection_handle() -> Resource<Connection> {
        Resource::new_own(0)
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let ctx = self.wasi.get_or_insert_with(|| wasi_context::new(self.family, &self.log));
        WasiCtxView { ctx, table: &mut self.table }
    }
}
