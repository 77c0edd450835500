//! `lakeport:runner/runner`: the embedded scheduler, lent to the bundled engine for one call. The lender owns
//! workflows and runs.

use std::sync::Arc;

use lakeport_bindings::engine::model::{
    Instance, InstanceRef, LogPage, LogRequest, RetryRequest, RunQuery, RunRequest, Schedule, Started,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::runner::{Host, WorkflowPage};

use crate::lending::EmbeddedScheduler;
use crate::state::CallState;

impl CallState {
    /// The scheduler lent to this call.
    fn lent_scheduler(&self) -> Result<Arc<dyn EmbeddedScheduler>, Error> {
        let missing = || error("unavailable", "the scheduler is not lent to this call");
        self.scheduler.clone().ok_or_else(missing)
    }
}

/// Calls the lent scheduler; an error if none is lent.
macro_rules! ask {
    ($state:ident, |$scheduler:ident| $asked:expr) => {
        match $state.lent_scheduler() {
            Ok($scheduler) => Ok($state.cpu_turn.waiting($asked).await),
            Err(error) => Ok(Err(error)),
        }
    };
}

impl Host for CallState {
    async fn put(&mut self, workflow: Workflow) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.put(workflow))
    }

    async fn remove(&mut self, workflow: u64) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.remove(workflow))
    }

    async fn entries(&mut self, page: Page) -> wasmtime::Result<Result<WorkflowPage, Error>> {
        ask!(self, |scheduler| scheduler.entries(page))
    }

    async fn read(&mut self, workflow: u64) -> wasmtime::Result<Result<Workflow, Error>> {
        ask!(self, |scheduler| scheduler.read(workflow))
    }

    async fn set_schedule(
        &mut self,
        workflow: u64,
        schedule: Option<Schedule>,
    ) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.set_schedule(workflow, schedule))
    }

    async fn set_online(&mut self, workflow: u64, online: bool) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.set_online(workflow, online))
    }

    async fn start(&mut self, request: RunRequest) -> wasmtime::Result<Result<Started, Error>> {
        ask!(self, |scheduler| scheduler.start(request))
    }

    async fn find(
        &mut self,
        queries: Vec<RunQuery>,
    ) -> wasmtime::Result<Result<Vec<Option<Instance>>, Error>> {
        ask!(self, |scheduler| scheduler.find(queries))
    }

    async fn cancel(&mut self, instance: InstanceRef) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.cancel(instance))
    }

    async fn set_paused(
        &mut self,
        instance: InstanceRef,
        paused: bool,
    ) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |scheduler| scheduler.set_paused(instance, paused))
    }

    async fn retry(&mut self, request: RetryRequest) -> wasmtime::Result<Result<Started, Error>> {
        ask!(self, |scheduler| scheduler.retry(request))
    }

    async fn instances(&mut self, request: WatchRequest) -> wasmtime::Result<Result<WatchPage, Error>> {
        ask!(self, |scheduler| scheduler.instances(request))
    }

    async fn task_runs(&mut self, request: TaskRunRequest) -> wasmtime::Result<Result<TaskRunPage, Error>> {
        ask!(self, |scheduler| scheduler.task_runs(request))
    }

    async fn log(&mut self, request: LogRequest) -> wasmtime::Result<Result<LogPage, Error>> {
        ask!(self, |scheduler| scheduler.log(request))
    }
}
