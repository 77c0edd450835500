//! Converts a version to an engine's form.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use lakeport_base::Error;
use lakeport_bindings::engine::model::{self, BodyPart, BodyValue, Edge, Param};
use sha2::{Digest, Sha256};

use crate::datasources::{self, Datasource};
use crate::engines::EngineClient;
use crate::scheduler::parameters::{self, Part, Place};
use crate::workflows::Workflows;
use crate::workflows::api::EDGES_MAX;
use crate::workflows::tasks::definition::Content as TaskContent;
use crate::workflows::versions::{self, Snapshot, Sum};
use crate::workflows::{Workflow, schedules};

/// The settings of a task type without settings.
const NO_SETTINGS: &str = "{}";

/// A submitted version with the current names of its references.
pub struct Submitted {
    pub snapshot: Snapshot,
    pub datasources: HashMap<i64, Datasource>,
    parts: Sum,
}

impl Submitted {
    /// `None` if the version does not exist. Includes the schedule that was set since, which needs no publication.
    pub async fn read(
        state: &Workflows,
        workflow: &Workflow,
        version: i64,
    ) -> Result<Option<Submitted>, Error> {
        let Some(mut snapshot) = Snapshot::read(&state.db, workflow.id, version).await? else {
            return Ok(None);
        };
        if workflow.schedule_version > version {
            // The last one that was set, not one that came with a rollback or an import.
            let set = versions::content_at(workflow.id, workflow.schedule_version).all(&state.db).await?;
            snapshot.content.schedule = set.into_iter().next().and_then(|content| content.schedule);
        }
        Submitted::of(state, snapshot).await.map(Some)
    }

    pub async fn of(state: &Workflows, snapshot: Snapshot) -> Result<Submitted, Error> {
        let parts = snapshot.parts()?;
        let tasks = snapshot.tasks.values();
        let ids: BTreeSet<i64> = tasks.filter_map(|task| task.content.datasource_id).collect();
        let ids: Vec<i64> = ids.into_iter().collect();
        let datasources = datasources::all_of(&state.db, &ids).await?;
        let datasources = datasources.into_iter().map(|source| (source.id, source)).collect();
        Ok(Submitted { snapshot, datasources, parts })
    }

    /// See [`versions::definition_digest`].
    pub fn definition_digest(&self) -> String {
        versions::definition_digest(&self.snapshot.content, self.parts)
    }

    pub fn edges(&self) -> Vec<(i64, i64)> {
        self.snapshot.edges(EDGES_MAX)
    }

    /// In the form for its engine; 409 `cannot_run` if a text cannot be read.
    pub async fn for_engine(&self, id: i64, client: &EngineClient) -> Result<model::Workflow, Error> {
        let engine_id = id.unsigned_abs();
        let schedule = match &self.snapshot.content.schedule {
            Some(schedule) if client.has_schedules(engine_id)? => {
                Some(schedules::for_engine(client, engine_id, schedule).await?)
            }
            _ => None,
        };
        let edges = self.edges().into_iter();
        let params = self.snapshot.content.params();
        let tasks = self.snapshot.tasks.iter();
        let tasks: Result<Vec<_>, Error> =
            tasks.map(|(id, saved)| self.task(*id, &saved.content, &params)).collect();
        let mut tasks = tasks?;
        if !client.has_feature(engine_id, "task_retry")? {
            tasks.iter_mut().for_each(|task| (task.retries, task.retry_interval_s) = (0, 0));
        }
        Ok(model::Workflow {
            id: engine_id,
            name: self.snapshot.content.name.clone(),
            description: self.snapshot.content.description.clone().unwrap_or_default(),
            revision: self.revision(),
            version: u32::try_from(self.snapshot.version).unwrap_or(u32::MAX),
            tasks,
            edges: edges
                .map(|(before, after)| Edge { before: before.unsigned_abs(), after: after.unsigned_abs() })
                .collect(),
            params: params
                .into_iter()
                .map(|(name, value)| Param { name, kind: "text".to_owned(), value })
                .collect(),
            schedule,
            concurrency: self.snapshot.content.concurrency.as_str().to_owned(),
            extra: None,
        })
    }

    fn task(&self, id: i64, task: &TaskContent, params: &[(String, String)]) -> Result<model::Task, Error> {
        let source = task.datasource_id.and_then(|id| self.datasources.get(&id));
        let text = task.sql_content.as_deref().unwrap_or_default();
        let parts = parameters::parts(&task.task_type, text, params, Datasource::lexing(source));
        let unreadable = |why| {
            let message = format!("the text of the task `{}` cannot be read: {why}", task.task_name);
            Error::conflict("cannot_run", message)
        };
        Ok(model::Task {
            id: id.unsigned_abs(),
            name: task.task_name.clone(),
            kind: task.task_type.clone(),
            body: parts.map_err(unreadable)?.into_iter().map(body_part).collect(),
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
        })
    }

    /// A digest of the version and of the other data for the engine: ids, and current names of data sources.
    fn revision(&self) -> String {
        let mut all = Sha256::new_with_prefix(versions::digest(&self.snapshot.content, self.parts));
        for (id, saved) in &self.snapshot.tasks {
            all.update(format!("\n{id} {}", saved.content.task_name));
        }
        let sources: BTreeMap<&i64, &Datasource> = self.datasources.iter().collect();
        for (id, source) in sources {
            all.update(format!("\n{id} {} {}", source.kind, source.name));
        }
        hex::encode(all.finalize())
    }
}

fn body_part(part: Part) -> BodyPart {
    match part {
        Part::Text(text) => BodyPart::Text(text),
        Part::Value { source, name, place } => BodyPart::Value(BodyValue {
            source: source.as_str().to_owned(),
            spelled: source.spelled(&name),
            name,
            place: match place {
                Place::Literal(_) => "literal",
                Place::Bare => "bare",
                Place::Script => "script",
            }
            .to_owned(),
        }),
    }
}
