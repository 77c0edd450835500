//! The engine `dolphinscheduler`: workflows on Apache DolphinScheduler 3.1 and later.
//!
//! The plugin translates and keeps nothing. What differs between the generations of the API stands in
//! [`flavour`]; what becomes of parameters in [`values`] and [`body`]. Backfills are the host's, one run for each
//! date, unless the configuration asks for DolphinScheduler's own, see [`backfills`].

mod about;
mod answer;
mod api;
mod arithmetic;
mod backfills;
mod body;
mod config;
mod control;
mod definition;
mod deploy;
mod flavour;
mod import;
mod instance;
mod log;
mod moment;
mod probe;
mod runs;
mod scan;
mod schedule;
mod shape;
#[cfg(test)]
mod tests;
mod timeouts;
mod times;
mod tries;
mod values;
mod watch;

use lakeport_sdk::engine::{
    BackfillRequest, BackfillStarted, Backfills, Definition, DefinitionPage, DefinitionQuery, Definitions,
    DeployRequest, Deployment, Engine, EngineInfo, Error, Instance, InstanceRef, LogPage, LogRequest,
    Pausing, Problem, Receipt, RetryRequest, RunQuery, RunRequest, Schedule, Schedules, Source, Started,
    Target, TaskRunPage, TaskRunRequest, TestReport, WatchPage, WatchRequest, Workflow, WorkflowRef,
};

struct DolphinScheduler;

impl Engine for DolphinScheduler {
    fn describe() -> EngineInfo {
        about::info()
    }

    fn test() -> Result<TestReport, Error> {
        probe::test()
    }

    fn check(workflow: Workflow) -> Vec<Problem> {
        match config::Settings::read() {
            Ok(settings) => {
                let flavour = api::known_flavour(&settings).unwrap_or_else(flavour::newest);
                definition::problems(&workflow, &settings, flavour)
            }
            Err(error) => vec![Problem::new("", "invalid_value", error.message)],
        }
    }

    fn deploy(request: DeployRequest) -> Result<Deployment, Error> {
        deploy::deploy(&request)
    }

    fn remove(current: WorkflowRef) -> Result<Deployment, Error> {
        deploy::remove(&current)
    }

    fn start(request: RunRequest) -> Result<Started, Error> {
        runs::start(&request)
    }

    fn find(queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error> {
        runs::find(&queries)
    }

    fn cancel(workflow: WorkflowRef, target: Target) -> Result<Receipt, Error> {
        control::cancel(&workflow, &target)
    }

    fn retry(request: RetryRequest) -> Result<Started, Error> {
        control::retry(&request)
    }

    fn instances(request: WatchRequest) -> Result<WatchPage, Error> {
        watch::instances(&request)
    }

    fn task_runs(request: TaskRunRequest) -> Result<TaskRunPage, Error> {
        tries::task_runs(&request)
    }

    fn log(request: LogRequest) -> Result<LogPage, Error> {
        log::log(&request)
    }
}

impl Schedules for DolphinScheduler {
    fn set(workflow: WorkflowRef, schedule: Option<Schedule>) -> Result<Deployment, Error> {
        let api = api::Api::open()?;
        let (schedules, mut notes) = (schedule::Schedules::of(&api, &workflow)?, Vec::new());
        schedules.set(schedules.only_one(&mut notes)?, schedule.as_ref(), None)?;
        Ok(Deployment { notes, ..Deployment::done() })
    }

    fn online(workflow: WorkflowRef) -> Result<Deployment, Error> {
        let api = api::Api::open()?;
        schedule::Schedules::of(&api, &workflow)?.switch_all(true)
    }

    fn offline(workflow: WorkflowRef) -> Result<Deployment, Error> {
        let api = api::Api::open()?;
        schedule::Schedules::of(&api, &workflow)?.switch_all(false)
    }
}

impl Pausing for DolphinScheduler {
    fn pause(instance: InstanceRef) -> Result<Receipt, Error> {
        control::pause(&instance)
    }

    fn resume(instance: InstanceRef) -> Result<Receipt, Error> {
        control::resume(&instance)
    }
}

impl Backfills for DolphinScheduler {
    fn start(request: BackfillRequest) -> Result<BackfillStarted, Error> {
        backfills::start(&request)
    }

    fn find(workflow: WorkflowRef, key: String, asked: i64) -> Result<Option<BackfillStarted>, Error> {
        backfills::find(&workflow, &key, asked)
    }
}

impl Definitions for DolphinScheduler {
    fn entries(query: DefinitionQuery) -> Result<DefinitionPage, Error> {
        import::entries(&query)
    }

    fn read(source: Source) -> Result<Definition, Error> {
        import::read(&source)
    }
}

lakeport_sdk::engine!(DolphinScheduler);
lakeport_sdk::engine_schedules!(DolphinScheduler);
lakeport_sdk::engine_pausing!(DolphinScheduler);
lakeport_sdk::engine_backfills!(DolphinScheduler);
lakeport_sdk::engine_definitions!(DolphinScheduler);
