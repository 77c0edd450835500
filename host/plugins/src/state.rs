//! What a store holds for the one call that it is made for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lakeport_bindings::dialect::connection::Connection;
use wasmtime::component::{Resource, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::call::{CallContext, InstanceConfig};
use crate::imports::connection::LentConnection;
use crate::imports::runner::Runner;
use crate::imports::topic::Topic;
use crate::imports::wasi;
use crate::lane::Place;
use crate::limits::Limits;
use crate::log::CallLog;
use crate::sandbox::CallOrigin;

/// The state of one call. Host imports find here what the call may reach, and nothing else.
pub struct CallState {
    wasi: WasiCtx,
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
            wasi: wasi::context(origin.family, &log),
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
    pub(crate) fn connection_handle(&self) -> Resource<Connection> {
        Resource::new_own(0)
    }
}

impl WasiView for CallState {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// What a call has taken of memory and tables, and whether it asked for too much.
pub struct Usage {
    memory_max: usize,
    memory: usize,
    elements_max: usize,
    elements: usize,
    /// The largest sum of memory so far, bytes.
    pub(crate) memory_peak: usize,
}

/// Asked for more memory than the call may have.
#[derive(Debug, thiserror::Error)]
#[error("it asked for {asked} bytes of memory; a call may have {max}")]
pub struct MemoryExceeded {
    /// What all memories together would have had, bytes.
    pub asked: usize,
    /// The limit, bytes.
    pub max: usize,
}

/// Asked for more table elements than the call may have.
#[derive(Debug, thiserror::Error)]
#[error("it asked for tables of {asked} elements; a call may have {max}")]
pub struct TableExceeded {
    /// What all tables together would have had.
    pub asked: usize,
    /// The limit.
    pub max: usize,
}

impl Usage {
    fn new(limits: &Limits) -> Self {
        Usage {
            memory_max: limits.memory_bytes,
            memory: 0,
            elements_max: limits.table_elements,
            elements: 0,
            memory_peak: 0,
        }
    }
}

impl wasmtime::ResourceLimiter for Usage {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let asked = self.memory.saturating_add(desired.saturating_sub(current));
        if asked > self.memory_max {
            return Err(MemoryExceeded { asked, max: self.memory_max }.into());
        }
        self.memory = asked;
        self.memory_peak = self.memory_peak.max(asked);
        Ok(true)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let asked = self.elements.saturating_add(desired.saturating_sub(current));
        if asked > self.elements_max {
            return Err(TableExceeded { asked, max: self.elements_max }.into());
        }
        self.elements = asked;
        Ok(true)
    }
}
