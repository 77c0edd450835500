//! Definitions that an engine has, as documents.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_base::time;
use lakeport_bindings::engine::definitions::{Definition, Source};
use lakeport_bindings::engine::model;

use super::document::{Document, EdgePart, FORMAT, SchedulePart, TaskPart, WorkflowPart};
use super::read::{Problems, ROOT};
use crate::datasources;
use crate::engines::EngineClient;
use crate::workflows::Workflows;
use crate::workflows::api::engine_client;
use crate::workflows::forms::{FailureStrategy, GlobalParam, WarningType};
use crate::workflows::schedules::QUARTZ;
use crate::workflows::tasks::forms::Priority;
use crate::workflows::versions::TASKS_MAX;

/// The settings of a task that has none.
const NO_SETTINGS: [&str; 3] = ["", "{}", "null"];

/// Whether an engine's plugin reads definitions. One that is not configured does not.
pub async fn reads_definitions(state: &Workflows, engine: &str) -> Result<bool, Error> {
    match crate::engines::find(&state.db, engine).await? {
        Some(record) => EngineClient::of(&state.engines, &record, "import").has_definitions(),
        None => Ok(false),
    }
}

/// A definition of the engine itself.
pub async fn deployed(
    state: &Workflows,
    engine: &str,
    project: String,
    code: String,
    problems: &mut Problems,
) -> Result<Option<Document>, Error> {
    let client = engine_client(state, engine, "import").await?;
    let missing = || Error::not_found("workflow of the engine", format!("{engine}/{code}"));
    let definition = client.definition(&Source::Deployed((project, code.clone()))).await?;
    convert(state, engine, definition.ok_or_else(missing)?, &client, problems).await.map(Some)
}

/// A file that the engine exported.
pub async fn document(
    state: &Workflows,
    engine: &str,
    text: String,
    problems: &mut Problems,
) -> Result<Option<Document>, Error> {
    let client = engine_client(state, engine, "import").await?;
    match client.definition(&Source::Document(text)).await {
        Ok(Some(definition)) => convert(state, engine, definition, &client, problems).await.map(Some),
        Ok(None) => Ok(None),
        Err(Error::Refused(refusal))
            if ["engine_failed", "unsupported_by_engine"].contains(&refusal.code) =>
        {
            let message = format!(
                "is no document of the format `{FORMAT}`, and no export of the engine `{engine}`: {}",
                refusal.message
            );
            problems.add(ROOT, message);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

async fn convert(
    state: &Workflows,
    engine: &str,
    definition: Definition,
    client: &EngineClient,
    problems: &mut Problems,
) -> Result<Document, Error> {
    let sources = datasources::names_by_id(&state.db).await?;
    let quartz = client.info(None).await?.cron_dialect == QUARTZ;
    let Definition { workflow, problems: found, .. } = definition;
    for problem in found {
        let field = if problem.member.is_empty() { ROOT.to_owned() } else { problem.member };
        problems.warn(field, problem.message);
    }
    if workflow.tasks.len() > TASKS_MAX as usize {
        problems.add("tasks", format!("has {} items, the limit is {TASKS_MAX}", workflow.tasks.len()));
    }
    let names: HashMap<u64, String> =
        workflow.tasks.iter().map(|task| (task.id, task.name.clone())).collect();
    let edges = workflow.edges.iter().filter_map(|edge| {
        Some(EdgePart { source: names.get(&edge.before)?.clone(), target: names.get(&edge.after)?.clone() })
    });
    let mut edges: Vec<EdgePart> = edges.collect();
    edges.sort();
    let params = workflow.params.into_iter();
    let schedule = match workflow.schedule {
        Some(schedule) if quartz => Some(schedule_of(schedule)),
        Some(_) => {
            problems
                .warn("schedule", "is written in another dialect of cron and is not imported; set it here");
            None
        }
        None => None,
    };
    let tasks = workflow.tasks.into_iter().take(TASKS_MAX as usize);
    let mut tasks: Vec<TaskPart> = tasks.map(|one| task(one, &sources, problems)).collect();
    tasks.sort_by(|one, other| one.task_name.cmp(&other.task_name));
    Ok(Document {
        format: FORMAT.to_owned(),
        workflow: WorkflowPart {
            name: workflow.name,
            description: Some(workflow.description).filter(|text| !text.is_empty()),
            scheduler_engine: engine.to_owned(),
            global_params: params.map(|one| GlobalParam { name: one.name, value: one.value }).collect(),
            concurrency: serde_json::from_value(workflow.concurrency.into()).unwrap_or_default(),
        },
        tasks,
        edges,
        schedule,
    })
}

fn task(task: model::Task, sources: &HashMap<i64, String>, problems: &mut Problems) -> TaskPart {
    let has_settings = !NO_SETTINGS.contains(&task.settings.trim());
    let body = task.text();
    let text = if body.is_empty() && has_settings {
        // A type that the plugin does not know is kept whole.
        Some(task.settings)
    } else {
        if has_settings {
            problems
                .warn("tasks", format!("the settings of `{}` beside its text are not imported", task.name));
        }
        Some(body).filter(|body| !body.is_empty())
    };
    let source = task.datasource.map(|source| {
        let known = i64::try_from(source.id).ok().and_then(|id| sources.get(&id).cloned());
        known.unwrap_or(source.name)
    });
    let priority = serde_json::from_value(task.priority.into());
    TaskPart {
        task_name: task.name,
        task_type: task.kind,
        datasource: source.filter(|name| !name.is_empty()),
        sql_content: text,
        priority: priority.unwrap_or(Priority::Medium),
        timeout: task.timeout_s,
        retry_times: task.retries,
        retry_interval: task.retry_interval_s,
        tables_from_sql: true,
        input_tables: Vec::new(),
        output_tables: Vec::new(),
    }
}

fn schedule_of(schedule: model::Schedule) -> SchedulePart {
    SchedulePart {
        crontab: schedule.cron,
        start_time: Some(schedule.start).filter(|at| *at > 0).map(time::rfc3339),
        end_time: schedule.end.map(time::rfc3339),
        timezone: schedule.time_zone,
        failure_strategy: match schedule.failure_strategy.as_str() {
            "END" => FailureStrategy::End,
            _ => FailureStrategy::Continue,
        },
        warning_type: serde_json::from_value(schedule.warning_type.into()).unwrap_or(WarningType::None),
    }
}
