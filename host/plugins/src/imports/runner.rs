//! `lakeport:runner/runner`: the scheduler inside the host, lent to the bundled engine for one call. What it
//! does with workflows and runs belongs to whoever lends it.

use std::sync::Arc;

use lakeport_bindings::engine::model::{
    Instance, InstanceRef, LogPage, LogRequest, RetryRequest, RunQuery, RunRequest, Schedule, Started,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow,
};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::runner::{Host, WorkflowPage};

use crate::lending::Runner;
use crate::state::CallState;

impl CallState {
    /// The runner lent to this call. Whoever asks it waits, and gives its turn in the lane back first.
    fn lent_runner(&self) -> Result<Arc<dyn Runner>, Error> {
        self.place.leave();
        let missing = || error("unavailable", "the runner is not lent to this call");
        self.runner.clone().ok_or_else(missing)
    }
}

/// Asks the runner that is lent, or says that none is.
macro_rules! ask {
    ($state:ident, |$runner:ident| $asked:expr) => {
        match $state.lent_runner() {
            Ok($runner) => Ok($asked.await),
            Err(error) => Ok(Err(error)),
        }
    };
}

impl Host for CallState {
    async fn put(&mut self, workflow: Workflow) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |runner| runner.put(workflow))
    }

    async fn remove(&mut self, workflow: u64) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |runner| runner.remove(workflow))
    }

    async fn entries(&mut self, page: Page) -> wasmtime::Result<Result<WorkflowPage, Error>> {
        ask!(self, |runner| runner.entries(page))
    }

    async fn set_schedule(
        &mut self,
        workflow: u64,
        schedule: Option<Schedule>,
    ) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |runner| runner.set_schedule(workflow, schedule))
    }

    async fn set_online(&mut self, workflow: u64, online: bool) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |runner| runner.set_online(workflow, online))
    }

    async fn start(&mut self, request: RunRequest) -> wasmtime::Result<Result<Started, Error>> {
        ask!(self, |runner| runner.start(request))
    }

    async fn find(
        &mut self,
        queries: Vec<RunQuery>,
    ) -> wasmtime::Result<Result<Vec<Option<Instance>>, Error>> {
        ask!(self, |runner| runner.find(queries))
    }

    async fn cancel(&mut self, instance: InstanceRef) -> wasmtime::Result<Result<(), Error>> {
        ask!(self, |runner| runner.cancel(instance))
    }

    async fn retry(&mut self, request: RetryRequest) -> wasmtime::Result<Result<Started, Error>> {
        ask!(self, |runner| runner.retry(request))
    }

    async fn instances(&mut self, request: WatchRequest) -> wasmtime::Result<Result<WatchPage, Error>> {
        ask!(self, |runner| runner.instances(request))
    }

    async fn task_runs(&mut self, request: TaskRunRequest) -> wasmtime::Result<Result<TaskRunPage, Error>> {
        ask!(self, |runner| runner.task_runs(request))
    }

    async fn log(&mut self, request: LogRequest) -> wasmtime::Result<Result<LogPage, Error>> {
        ask!(self, |runner| runner.log(request))
    }
}
