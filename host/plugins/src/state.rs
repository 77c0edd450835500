//! What a store holds for the one call that it is made for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lakeport_bindings::dialect::connection::Connection;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::call::{CallContext, InstanceConfig};
use crate::family::Family;
use crate::lane::Place;
use crate::lending::{LentConnection, Runner, Topic};
use crate::limits::Limits;
use crate::log::CallLog;
use crate::origin::CallOrigin;
use crate::usage::Usage;
use crate::wasi_context;

/// The state of one call. Host imports find here what the call may reach, and nothing else.
pub struct CallState {
    family: Family,
    /// Made when the guest first asks WASI for something, which most calls never do.
    wasi: Option<WasiCtx>,
    table: ResourceTable,
    pub(crate) log: Arc<parking_lot::Mutex<CallLog>>,
    pub(crate) usage: Usage,
    pub(crate) place: Place,
    pub(crate) call_id: Arc<str>,
    pub(crate) deadline: Instant,
    pub(crate) cancelled: Arc<AtomicBool>,
    pub(crate) instance: Option<Arc<InstanceConfig>>,
    pub(crate) connection: Option<Box<dyn LentConnection>>,
    pub(crate) runner: Option<Arc<dyn Runner>>,
    pub(crate) topic: Option<Arc<dyn Topic>>,
    /// Interfaces that it imports and the operator withholds.
    pub(crate) withheld: Arc<[String]>,
}

impl CallState {
    pub(crate) fn new(
        origin: &CallOrigin,
        context: CallContext,
        limits: &Limits,
        deadline: Instant,
        place: Place,
        log: impl FnOnce(Arc<str>) -> CallLog,
    ) -> Self {
        let log = Arc::new(parking_lot::Mutex::new(log(context.id.clone())));
        CallState {
            family: origin.family,
            wasi: None,
            table: ResourceTable::new(),
            log,
            usage: Usage::new(limits),
            place,
            call_id: context.id,
            deadline,
            cancelled: context.cancelled,
            instance: context.instance,
            connection: context.connection,
            runner: context.runner,
            topic: context.topic,
            withheld: origin.withheld.clone(),
        }
    }

    /// The handle under which a dialect knows the connection lent to it. There is one at most.
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
