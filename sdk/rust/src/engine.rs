//! Engines: one kind of workflow scheduler.
//!
//! An engine implements [`Engine`] and, if its scheduler supports them, [`Schedules`], [`Pausing`], [`Backfills`]
//! and [`Definitions`]. Each has a macro line that exports it, and the exports declare the engine's abilities.
//!
//! ```text
//! lakeport_sdk::engine!(MyScheduler);
//! lakeport_sdk::engine_schedules!(MyScheduler);
//! ```

pub use crate::bindings::engine::about::{EngineInfo, TaskType};
pub use crate::bindings::engine::deploys::{DeployRequest, TestCheck, TestReport};
pub use crate::bindings::engine::model::{
    BodyPart, BodyValue, Datasource, Deployment, Edge, Instance, InstanceRef, LogPage, LogRequest, OpenRun,
    Param, Receipt, RetryRequest, RunQuery, RunRequest, Schedule, Started, Target, Task, TaskRun,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Watched, Workflow, WorkflowRef,
};
pub use crate::bindings::engine_backfills::backfills::{
    BackfillRequest, BackfillStarted, Dates, Guest as Backfills, TimeRange,
};
pub use crate::bindings::engine_definitions::definitions::{
    Definition, DefinitionHead, DefinitionPage, DefinitionQuery, Guest as Definitions, Source,
};
pub use crate::bindings::engine_pausing::pausing::Guest as Pausing;
pub use crate::bindings::engine_schedules::schedules::Guest as Schedules;
/// The embedded scheduler. Only a bundled component may import it.
pub use crate::bindings::runner;
pub use crate::host::{call, clock, config, files, http, memo, web};
pub use crate::{Error, Page, Problem, Timestamp, Upstream};

use crate::bindings::engine::{about, deploys, runs, watch};

/// An engine. `lakeport_sdk::engine!` exports it.
///
/// The functions are those of the contract's interfaces `about`, `deploys`, `runs` and `watch`, which
/// describe them. Functions with a body have the default answer that the contract permits.
pub trait Engine {
    /// Describes the engine. Always the same answer.
    fn describe() -> EngineInfo;

    /// Tests the connection to the instance; changes nothing.
    fn test() -> Result<TestReport, Error>;

    /// The parts of this workflow that the engine does not support. A pure function.
    fn check(_workflow: Workflow) -> Vec<Problem> {
        Vec::new()
    }

    /// Deploys a revision; re-entrant.
    fn deploy(request: DeployRequest) -> Result<Deployment, Error>;

    /// The progress of a change. Required for engines that answer `waiting`.
    fn status(_current: WorkflowRef, _revision: Option<String>) -> Result<Deployment, Error> {
        Err(Error::unsupported("this engine's changes are made when they are answered"))
    }

    /// Removes a workflow from the engine.
    fn remove(current: WorkflowRef) -> Result<Deployment, Error>;

    /// Starts one run.
    fn start(request: RunRequest) -> Result<Started, Error>;

    /// Finds runs by key or trigger code, in the requested order.
    fn find(queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error>;

    /// Requests a stop.
    fn cancel(workflow: WorkflowRef, target: Target) -> Result<Receipt, Error>;

    /// Repeats parts of a finished run. If unsupported, the host starts a new run.
    fn retry(_request: RetryRequest) -> Result<Started, Error> {
        Err(Error::unsupported("this engine cannot run parts of a finished run again"))
    }

    /// Runs of many workflows.
    fn instances(request: WatchRequest) -> Result<WatchPage, Error>;

    /// Attempts of the tasks of many runs.
    fn task_runs(request: TaskRunRequest) -> Result<TaskRunPage, Error>;

    /// A part of a log.
    fn log(_request: LogRequest) -> Result<LogPage, Error> {
        Err(Error::unsupported("this engine has no logs to read"))
    }
}

impl EngineInfo {
    /// An engine without settings, addresses, secrets, task types or features. Set other members by struct
    /// update.
    pub fn new(name: &str, product: &str, version: &str) -> EngineInfo {
        EngineInfo {
            name: name.to_owned(),
            title: product.to_owned(),
            version: version.to_owned(),
            product: product.to_owned(),
            versions: Vec::new(),
            config_schema: "{}".to_owned(),
            addresses: Vec::new(),
            folder_at: None,
            secrets: Vec::new(),
            auth: Vec::new(),
            task_types: Vec::new(),
            deploy_kind: "api".to_owned(),
            cron_dialect: "quartz7".to_owned(),
            time_zone_mode: "schedule".to_owned(),
            max_backfill_dates: 0,
            settle_ms: 0,
            features: Vec::new(),
            extra: None,
        }
    }
}

impl Deployment {
    /// A change that is made. The workflow keeps its code, its project and its state; set others by struct
    /// update.
    pub fn done() -> Deployment {
        Deployment {
            phase: "done".to_owned(),
            code: None,
            project: None,
            version: None,
            state: None,
            poll_ms: 0,
            failure: None,
            notes: Vec::new(),
        }
    }

    /// A change that the engine carries out by itself; its progress is asked for after `poll_ms`.
    pub fn waiting(poll_ms: u32) -> Deployment {
        Deployment { phase: "waiting".to_owned(), poll_ms, ..Deployment::done() }
    }
}

impl Task {
    /// What it runs, as the author wrote it.
    pub fn text(&self) -> String {
        let spelled = |part: &BodyPart| match part {
            BodyPart::Text(text) => text.clone(),
            BodyPart::Value(value) => value.spelled.clone(),
        };
        self.body.iter().map(spelled).collect()
    }
}

impl Started {
    /// A run that was begun, or `found`.
    pub fn run(instance: impl Into<String>, found: bool) -> Started {
        Started { instance: Some(instance.into()), trigger: None, found }
    }
}

impl<T: Engine> about::Guest for T {
    fn describe() -> EngineInfo {
        <T as Engine>::describe()
    }
}

impl<T: Engine> deploys::Guest for T {
    fn test() -> Result<TestReport, Error> {
        <T as Engine>::test()
    }

    fn check(workflow: Workflow) -> Vec<Problem> {
        <T as Engine>::check(workflow)
    }

    fn deploy(request: DeployRequest) -> Result<Deployment, Error> {
        <T as Engine>::deploy(request)
    }

    fn status(current: WorkflowRef, revision: Option<String>) -> Result<Deployment, Error> {
        <T as Engine>::status(current, revision)
    }

    fn remove(current: WorkflowRef) -> Result<Deployment, Error> {
        <T as Engine>::remove(current)
    }
}

impl<T: Engine> runs::Guest for T {
    fn start(request: RunRequest) -> Result<Started, Error> {
        <T as Engine>::start(request)
    }

    fn find(queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error> {
        <T as Engine>::find(queries)
    }

    fn cancel(workflow: WorkflowRef, target: Target) -> Result<Receipt, Error> {
        <T as Engine>::cancel(workflow, target)
    }

    fn retry(request: RetryRequest) -> Result<Started, Error> {
        <T as Engine>::retry(request)
    }
}

impl<T: Engine> watch::Guest for T {
    fn instances(request: WatchRequest) -> Result<WatchPage, Error> {
        <T as Engine>::instances(request)
    }

    fn task_runs(request: TaskRunRequest) -> Result<TaskRunPage, Error> {
        <T as Engine>::task_runs(request)
    }

    fn log(request: LogRequest) -> Result<LogPage, Error> {
        <T as Engine>::log(request)
    }
}

/// Makes the crate an engine: exports a type that implements [`engine::Engine`](Engine). Once per plugin.
#[macro_export]
macro_rules! engine {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::engine::Engine, engine);
    };
}

/// Also exports `schedules`, from a type that implements [`engine::Schedules`](Schedules).
#[macro_export]
macro_rules! engine_schedules {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::engine::Schedules, engine_schedules);
    };
}

/// Also exports `pausing`, from a type that implements [`engine::Pausing`](Pausing).
#[macro_export]
macro_rules! engine_pausing {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::engine::Pausing, engine_pausing);
    };
}

/// Also exports `backfills`, from a type that implements [`engine::Backfills`](Backfills).
#[macro_export]
macro_rules! engine_backfills {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::engine::Backfills, engine_backfills);
    };
}

/// Also exports `definitions`, from a type that implements [`engine::Definitions`](Definitions).
#[macro_export]
macro_rules! engine_definitions {
    ($plugin:ident) => {
        $crate::export_plugin!($plugin, $crate::engine::Definitions, engine_definitions);
    };
}
