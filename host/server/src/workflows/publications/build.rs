//! Converts a version to an engine's form.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lakeport_base::Error;
use lakeport_bindings::engine::model::{self, Edge, Param};
use sha2::{Digest, Sha256};

use crate::datasources::{self, Datasource};
use crate::engines::EngineClient;
use crate::scheduler::parameters;
use crate::workflows::Workflows;
use crate::workflows::api::EDGES_MAX;
use crate::workflows::definition::Content;
use crate::workflows::tasks::definition::Content as TaskContent;
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::versions::{self, Sum};
use crate::workflows::{Workflow, schedules};

/// The most reported reasons why a version cannot be deployed.
const REASONS_MAX: usize = 20;
/// The settings of a task type without settings.
const NO_SETTINGS: &str = "{}";

/// A submitted version with the current names of its references.
pub struct Submitted {
    pub version: i64,
    pub content: Content,
    tasks: BTreeMap<i64, TaskContent>,
    datasources: HashMap<i64, Datasource>,
    parts: Sum,
}

impl Submitted {
    /// `None` if the version does not exist. Includes the current schedule, which needs no publication.
    pub async fn read(
        state: &Workflows,
        workflow: &Workflow,
        version: i64,
    ) -> Result<Option<Submitted>, Error> {
        let Some(mut content) = versions::content_at(&state.db, workflow.id, version).await? else {
            return Ok(None);
        };
        if workflow.schedule_version > version {
            content.schedule.clone_from(&workflow.content.schedule);
        }
        let (mut tasks, mut parts) = (BTreeMap::new(), Sum::default());
        for (id, part) in versions::parts_at(&state.db, workflow.id, version).await? {
            parts = parts.plus(Sum::parse(&part.digest)?);
            tasks.insert(id, serde_json::from_str::<TaskContent>(&part.content).map_err(Error::internal)?);
        }
        let ids: BTreeSet<i64> = tasks.values().filter_map(|task| task.datasource_id).collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        let datasources = datasources::all_of(&state.db, &ids).await?;
        let datasources = datasources.into_iter().map(|source| (source.id, source)).collect();
        Ok(Some(Submitted { version, content, tasks, datasources, parts }))
    }

    /// The obstacles that are known before calling the engine.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let params = self.content.params();
        for task in self.tasks.values() {
            let name = &task.task_name;
            if task.datasource_id.is_some_and(|id| !self.datasources.contains_key(&id)) {
                problems.push(format!("the data source of the task `{name}` is not there any more"));
            }
            let text = task.sql_content.as_deref().unwrap_or_default();
            let wrong = parameters::check(&task.task_type, text, &params);
            problems.extend(wrong.into_iter().map(|why| format!("the task `{name}`: {why}")));
        }
        if self.edges().len() > EDGES_MAX {
            problems.push(format!("more than {EDGES_MAX} pairs of its tasks are one after the other"));
        }
        problems.truncate(REASONS_MAX);
        problems
    }

    fn edges(&self) -> Vec<(i64, i64)> {
        let bound = self.tasks.iter().map(|(id, task)| Bound {
            task_id: *id,
            inputs: &task.input_table_ids,
            outputs: &task.output_table_ids,
        });
        dependencies::edges(&bound.collect::<Vec<_>>(), EDGES_MAX)
    }

    /// In the form for its engine.
    pub async fn for_engine(&self, id: i64, client: &EngineClient) -> Result<model::Workflow, Error> {
        let engine_id = id.unsigned_abs();
        let schedule = match &self.content.schedule {
            Some(schedule) if client.has_schedules(engine_id)? => {
                Some(schedules::for_engine(client, engine_id, schedule).await?)
            }
            _ => None,
        };
        let edges = self.edges().into_iter();
        let params = self.content.params().into_iter();
        Ok(model::Workflow {
            id: engine_id,
            name: self.content.name.clone(),
            description: self.content.description.clone().unwrap_or_default(),
            revision: self.revision(),
            version: u32::try_from(self.version).unwrap_or(u32::MAX),
            tasks: self.tasks.iter().map(|(id, task)| self.task(*id, task)).collect(),
            edges: edges
                .map(|(before, after)| Edge { before: before.unsigned_abs(), after: after.unsigned_abs() })
                .collect(),
            params: params.map(|(name, value)| Param { name, kind: "text".to_owned(), value }).collect(),
            schedule,
            extra: None,
        })
    }

    fn task(&self, id: i64, task: &TaskContent) -> model::Task {
        let source = task.datasource_id.and_then(|id| self.datasources.get(&id));
        model::Task {
            id: id.unsigned_abs(),
            name: task.task_name.clone(),
            kind: task.task_type.clone(),
            body: task.sql_content.clone().unwrap_or_default(),
            datasource: source.map(|source| model::Datasource {
                id: source.id.unsigned_abs(),
                name: source.name.clone(),
                kind: source.kind.clone(),
            }),
            priority: task.priority.as_str().to_owned(),
            timeout_s: task.timeout,
            retries: task.retry_times,
            retry_interval_s: task.retry_interval,
            settings: NO_SETTINGS.to_owned(),
        }
    }

    /// A digest of the version and of the other data for the engine: ids, and current names of data sources.
    fn revision(&self) -> String {
        let mut all = Sha256::new_with_prefix(versions::digest(&self.content, self.parts));
        for (id, task) in &self.tasks {
            all.update(format!("\n{id} {}", task.task_name));
        }
        let sources: BTreeMap<&i64, &Datasource> = self.datasources.iter().collect();
        for (id, source) in sources {
            all.update(format!("\n{id} {} {}", source.kind, source.name));
        }
        hex::encode(all.finalize())
    }
}
