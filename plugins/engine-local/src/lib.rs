//! The engine `local`: the scheduler embedded in Lakeport, for a single machine and for trying things out.
//!
//! The plugin has no state: the host keeps workflows, runs and logs behind the import `runner`, and each call
//! is passed on. The plugin only describes the scheduler's capabilities: [`about`].

mod about;

use lakeport_sdk::engine::{
    Definition, DefinitionHead, DefinitionPage, DefinitionQuery, Definitions, DeployRequest, Deployment,
    Engine, EngineInfo, Error, Instance, InstanceRef, LogPage, LogRequest, Page, Pausing, Problem, Receipt,
    RetryRequest, RunQuery, RunRequest, Schedule, Schedules, Source, Started, Target, TaskRunPage,
    TaskRunRequest, TestCheck, TestReport, WatchPage, WatchRequest, Workflow, WorkflowRef, runner,
};

struct Local;

impl Engine for Local {
    fn describe() -> EngineInfo {
        about::info()
    }

    fn test() -> Result<TestReport, Error> {
        let asked = runner::entries(&Page { cursor: None, limit: 1 });
        let (outcome, message) = match asked {
            Ok(_) => ("ok", "the scheduler of this server answers".to_owned()),
            Err(error) => ("failed", error.message),
        };
        let reachable = TestCheck { name: "reachable".to_owned(), outcome: outcome.to_owned(), message };
        Ok(TestReport {
            version: Some(about::VERSION.to_owned()),
            checks: vec![reachable],
            missing_features: Vec::new(),
        })
    }

    fn check(workflow: Workflow) -> Vec<Problem> {
        about::problems(&workflow)
    }

    fn deploy(request: DeployRequest) -> Result<Deployment, Error> {
        let DeployRequest { workflow, online, .. } = request;
        runner::put(&workflow)?;
        runner::set_schedule(workflow.id, workflow.schedule.as_ref())?;
        runner::set_online(workflow.id, online && workflow.schedule.is_some())?;
        Ok(Deployment {
            code: Some(workflow.id.to_string()),
            state: Some("{}".to_owned()),
            ..Deployment::done()
        })
    }

    fn remove(current: WorkflowRef) -> Result<Deployment, Error> {
        runner::remove(current.id).map(|()| Deployment::done())
    }

    fn start(request: RunRequest) -> Result<Started, Error> {
        runner::start(&request)
    }

    fn find(queries: Vec<RunQuery>) -> Result<Vec<Option<Instance>>, Error> {
        runner::find(&queries)
    }

    fn cancel(workflow: WorkflowRef, target: Target) -> Result<Receipt, Error> {
        match target {
            Target::Instance(id) => {
                runner::cancel(&InstanceRef { workflow, id })?;
                Ok(asked())
            }
            Target::Backfill(_) => {
                Err(Error::unsupported("the engine `local` makes no backfills of its own"))
            }
        }
    }

    fn retry(request: RetryRequest) -> Result<Started, Error> {
        runner::retry(&request)
    }

    fn instances(request: WatchRequest) -> Result<WatchPage, Error> {
        runner::instances(&request)
    }

    fn task_runs(request: TaskRunRequest) -> Result<TaskRunPage, Error> {
        runner::task_runs(&request)
    }

    fn log(request: LogRequest) -> Result<LogPage, Error> {
        runner::log(&request)
    }
}

impl Schedules for Local {
    fn set(workflow: WorkflowRef, schedule: Option<Schedule>) -> Result<Deployment, Error> {
        runner::set_schedule(workflow.id, schedule.as_ref()).map(|()| Deployment::done())
    }

    fn online(workflow: WorkflowRef) -> Result<Deployment, Error> {
        runner::set_online(workflow.id, true).map(|()| Deployment::done())
    }

    fn offline(workflow: WorkflowRef) -> Result<Deployment, Error> {
        runner::set_online(workflow.id, false).map(|()| Deployment::done())
    }
}

impl Pausing for Local {
    fn pause(instance: InstanceRef) -> Result<Receipt, Error> {
        runner::set_paused(&instance, true).map(|()| asked())
    }

    fn resume(instance: InstanceRef) -> Result<Receipt, Error> {
        runner::set_paused(&instance, false).map(|()| asked())
    }
}

impl Definitions for Local {
    fn entries(query: DefinitionQuery) -> Result<DefinitionPage, Error> {
        // The scheduler has no projects.
        if query.project.is_some_and(|project| !project.is_empty()) {
            return Ok(DefinitionPage { definitions: Vec::new(), total: Some(0), next: None });
        }
        let keyword = query.keyword.unwrap_or_default().to_lowercase();
        let page = runner::entries(&query.page)?;
        let found = page.workflows.into_iter().filter(|one| one.name.to_lowercase().contains(&keyword));
        let definitions = found.map(|workflow| DefinitionHead {
            project: String::new(),
            code: workflow.id.to_string(),
            name: workflow.name,
            version: None,
            release_state: if workflow.online { "ONLINE" } else { "OFFLINE" }.to_owned(),
            runnable: Some(true),
            scheduled: Some(workflow.online),
        });
        Ok(DefinitionPage { definitions: definitions.collect(), total: None, next: page.next })
    }

    fn read(source: Source) -> Result<Definition, Error> {
        let code = match source {
            Source::Deployed((_, code)) => code,
            Source::Document(_) => {
                return Err(Error::unsupported("the engine `local` exports no documents of its own"));
            }
        };
        let missing = || Error::new("not_found", format!("there is no workflow with the code {code}"));
        let workflow = runner::read(code.parse().map_err(|_| missing())?)?;
        Ok(Definition {
            project: String::new(),
            code,
            workflow,
            native: "{}".to_owned(),
            problems: Vec::new(),
        })
    }
}

lakeport_sdk::engine!(Local);
lakeport_sdk::engine_schedules!(Local);
lakeport_sdk::engine_pausing!(Local);
lakeport_sdk::engine_definitions!(Local);

/// The run changes a moment later.
fn asked() -> Receipt {
    Receipt { settled: false, note: String::new() }
}
