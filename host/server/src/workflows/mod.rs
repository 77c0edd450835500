//! Workflows: definitions, versions, publications and schedules. It knows no scheduler: engines do.
//!
//! Requests to an engine about one workflow run one at a time, under a lease: see [`engine_lock`].

mod api;
mod batch;
mod copy;
pub mod definition;
pub mod drift;
mod engine_lock;
pub mod forms;
mod names;
mod publications;
mod reconcile;
mod removals;
pub mod rights;
mod schedules;
mod store;
pub mod tasks;
#[cfg(test)]
pub mod testing;
mod transfer;
pub mod versions;
mod view;
mod wanted;

use std::sync::{Arc, LazyLock};

use ::http::Method;
use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_bindings::engine::model::{Deployment, WorkflowRef};
use lakeport_http::Role::{Approver, Editor, Viewer};
use lakeport_http::{Nothing, Route};
use lakeport_store::{Db, Tx};

use crate::core::{Core, stands_on_core};
use crate::engines::{EngineClient, Engines};
use crate::part::{Fate, InUse, Part, Resource, Start, Worker};
use crate::plugins::ENGINE_CALL_CODES;
use crate::tables::Catalog;
pub use api::{EDGES_MAX, client_of, deployed as deployed_of, engine_client};
use definition::Content;
use forms::WorkflowStatus;
use names::WorkflowNames;
pub use publications::TOPIC as PUBLICATIONS_TOPIC;
pub use store::{by_id, deployed, engine_of, find, lock, names};
pub use transfer::document::file_name;
use versions::{Sum, Weight};
pub use view::EdgeView;
use wanted::{EngineStatus, Wanted};

/// The change log's topic of workflows; the key is the id.
pub const TOPIC: &str = "workflows";

/// The largest state that an engine keeps with a workflow, by the contract.
const STATE_MAX_BYTES: usize = 16 * 1024;

/// A stored workflow.
#[derive(Debug, Clone)]
pub struct Workflow {
    pub id: i64,
    pub content: Content,
    /// The current one.
    pub version: i64,
    /// The last one that differs from what is published; the published one if the current one does not.
    pub changed_version: i64,
    /// The last one whose schedule was set or put online; 0: none.
    pub schedule_version: i64,
    /// The sum of its tasks' digests.
    pub parts: Sum,
    pub weight: Weight,
    pub status: WorkflowStatus,
    pub publication: PublicationState,
    pub published_version: Option<i64>,
    /// Of the published version, see [`versions::definition_digest`].
    pub published_digest: Option<String>,
    /// Its deployment; exists before the first deployment ends.
    pub deployed: Option<Deployed>,
    /// The schedule that the engine was given last, as JSON.
    pub engine_schedule: Option<String>,
    /// What its engine was asked for last, if the answer is not stored.
    pub wanted: Option<Wanted>,
    pub wanted_tries: i64,
    pub engine_status: EngineStatus,
    /// Why the engine does not have what is wanted.
    pub engine_error: Option<String>,
    /// What differs because somebody changed it in the engine itself.
    pub engine_drift: Option<String>,
    pub created_by: String,
    pub updated_by: String,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// What lists show of a workflow.
pub struct Summary {
    pub id: i64,
    pub content: Content,
    pub version: i64,
    pub changed_version: i64,
    pub status: WorkflowStatus,
    pub publication: PublicationState,
    pub published_version: Option<i64>,
    /// Its code and its project in the engine; only meaningful once it is deployed.
    pub engine_code: Option<String>,
    pub engine_project: Option<String>,
    pub engine_schedule: Option<String>,
    pub engine_status: EngineStatus,
    pub engine_error: Option<String>,
    /// What differs because somebody changed it in the engine itself.
    pub engine_drift: Option<String>,
    pub created_by: String,
    pub updated_by: String,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

/// The state of its newest publication.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationState {
    None,
    /// Waits for approval, or for deployment.
    Pending,
    Failed,
}

impl PublicationState {
    fn as_str(self) -> &'static str {
        match self {
            PublicationState::None => "none",
            PublicationState::Pending => "pending",
            PublicationState::Failed => "failed",
        }
    }
}

/// A workflow in its engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    pub id: i64,
    /// In the deployed revision.
    pub name: String,
    /// The name of the engine's configuration.
    pub engine: String,
    pub code: Option<String>,
    pub project: Option<String>,
    pub revision: Option<String>,
    /// What the engine called the content after the last deployment.
    pub version: Option<String>,
    pub state: Option<String>,
}

impl Deployed {
    /// Takes over what the engine's answer to this function says of it; fails if that breaks the contract. Notes of the
    /// engine go to the log.
    fn learn(
        &mut self,
        client: &EngineClient,
        function: &'static str,
        answer: &Deployment,
    ) -> Result<(), Error> {
        let bytes = answer.state.as_ref().map_or(0, String::len);
        if bytes > STATE_MAX_BYTES {
            let message = format!("its `state` has {bytes} bytes, and may have {STATE_MAX_BYTES}");
            return Err(client.broke(function, Some(self.id.unsigned_abs()), message));
        }
        for note in &answer.notes {
            tracing::info!(workflow = self.id, member = note.member, code = note.code, "{}", note.message);
        }
        let known = [
            (&mut self.state, &answer.state),
            (&mut self.code, &answer.code),
            (&mut self.project, &answer.project),
            (&mut self.version, &answer.version),
        ];
        for (mine, told) in known {
            if told.is_some() {
                mine.clone_from(told);
            }
        }
        Ok(())
    }

    /// The reference for a plugin.
    pub fn reference(&self) -> WorkflowRef {
        WorkflowRef {
            id: self.id.unsigned_abs(),
            name: self.name.clone(),
            code: self.code.clone(),
            project: self.project.clone(),
            revision: self.revision.clone(),
            state: self.state.clone(),
        }
    }
}

impl Workflow {
    /// A new one, without a version and an id.
    fn draft(content: Content, by: &str, now_ms: i64) -> Workflow {
        Workflow {
            id: 0,
            content,
            version: 0,
            changed_version: 0,
            schedule_version: 0,
            parts: Sum::default(),
            weight: Weight::default(),
            status: WorkflowStatus::Draft,
            publication: PublicationState::None,
            published_version: None,
            published_digest: None,
            deployed: None,
            engine_schedule: None,
            wanted: None,
            wanted_tries: 0,
            engine_status: EngineStatus::InSync,
            engine_error: None,
            engine_drift: None,
            created_by: by.to_owned(),
            updated_by: by.to_owned(),
            created_at_ms: now_ms,
            updated_at_ms: now_ms,
        }
    }

    /// Its deployment, if it is deployed.
    pub fn in_engine(&self) -> Option<&Deployed> {
        self.deployed.as_ref().filter(|_| self.status != WorkflowStatus::Draft)
    }

    /// Notes that a version was deployed, with its digest and the schedule that the engine was given.
    fn note_published(&mut self, version: i64, digest: String, schedule: Option<String>) {
        self.published_version = Some(version);
        self.published_digest = Some(digest);
        if self.status == WorkflowStatus::Draft || schedule.is_none() {
            // Without a schedule nothing is on.
            self.status = WorkflowStatus::Offline;
        }
        self.engine_schedule = schedule;
        self.note_change(false);
    }

    /// Updates the number of the last version that differs from what is published. `is_defined_anew`: more than the
    /// schedule has changed.
    fn note_change(&mut self, is_defined_anew: bool) {
        match (self.published_version, &self.published_digest) {
            (Some(published), Some(digest)) => {
                let is_as_published = *digest == versions::definition_digest(&self.content, self.parts)
                    && self.engine_schedule == self.content.schedule_text();
                self.changed_version = if is_as_published { published } else { self.version };
            }
            _ if is_defined_anew => self.changed_version = self.version,
            _ => {}
        }
    }

    /// The engine that has it, or will have it.
    pub fn engine(&self) -> &str {
        self.deployed.as_ref().map_or(&self.content.scheduler_engine, |deployed| &deployed.engine)
    }
}

/// The workflow of this id, or 404.
pub async fn get(core: &Core, id: i64) -> Result<Workflow, Error> {
    store::find(&core.db, id).await?.ok_or_else(|| api::unknown(id))
}

/// A workflow's deployment; `None` if it does not exist or is not deployed.
pub async fn find_deployed(db: &Db, id: i64) -> Result<Option<Deployed>, Error> {
    Ok(find(db, id).await?.and_then(|workflow| workflow.in_engine().cloned()))
}

static ENGINE_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    [ENGINE_CALL_CODES, &["datasource_not_allowed", "deployment_running", "lease_lost"]].concat()
});
static PUBLISH_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    [
        ENGINE_CALL_CODES,
        &["cannot_run", "datasource_not_allowed", "no_tasks", "publication_pending", "store_busy"],
    ]
    .concat()
});
static SWITCH_CODES: LazyLock<Vec<&str>> = LazyLock::new(|| {
    [&ENGINE_CODES[..], &["no_schedule", "not_deployed", "not_yet", "schedule_expired"]].concat()
});

/// Workflows and their tasks, with their engines and their tables.
pub struct Workflows {
    core: Arc<Core>,
    engines: Arc<Engines>,
    catalog: Arc<Catalog>,
    names: Arc<WorkflowNames>,
}

stands_on_core!(Workflows);

impl Workflows {
    /// Reads the names of all workflows.
    pub async fn open(
        core: &Arc<Core>,
        engines: &Arc<Engines>,
        catalog: &Arc<Catalog>,
    ) -> Result<Workflows, Error> {
        let names = Arc::new(WorkflowNames::open(&core.db, &core.changes).await?);
        let (core, engines, catalog) = (Arc::clone(core), Arc::clone(engines), Arc::clone(catalog));
        Ok(Workflows { core, engines, catalog, names })
    }
}

pub fn part() -> Part<Workflows> {
    Part {
        tags: &[
            ("workflows", "Definitions, versions, publications, schedules, backfills"),
            ("schemas", "JSON Schemas of documents"),
            ("tasks", "Nodes of workflows, bound to the tables they read and write"),
        ],
        routes: routes(),
        workers: vec![
            Worker::new(Start::AtOnce, |state: Arc<Workflows>| async move { state.names.follow().await }),
            Worker::new(Start::AtOnce, publications::run_worker),
            Worker::new(Start::AtOnce, reconcile::run_worker),
        ],
        in_use: vec![
            InUse { resource: "datasource", check: uses_datasource },
            InUse { resource: "engine", check: uses_engine },
        ],
        error_codes: &[
            "already_decided",
            "answer_too_large",
            "cannot_run",
            "dependency_cycle",
            "deployment_running",
            "four_eyes",
            "no_schedule",
            "no_tasks",
            "preview_stale",
            "publication_pending",
            "schedule_expired",
            "too_many_tables",
            "too_many_tasks",
            "workflow_too_large",
        ],
        ..Part::default()
    }
}

/// A data source may not change while a task refers to it, also in a version that is deployed or may be.
fn uses_datasource<'a>(tx: &'a mut Tx, source: &'a Resource) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        if source.fate == Fate::Moved {
            return Ok(());
        }
        let (name, then) = (&source.name, source.fate.then());
        let used = |count: i64| {
            if count == 1 { "1 task uses".to_owned() } else { format!("{count} tasks use") }
        };
        let now = tasks::count_of_datasource(tx, source.id).await?;
        if now > 0 {
            let message = format!("{} the data source `{name}`; {then} once no task uses it", used(now));
            return Err(Error::conflict("in_use", message));
        }
        let deployed = versions::count_of_datasource(tx, source.id).await?;
        if deployed > 0 {
            let message = format!(
                "{} the data source `{name}` in a version that is deployed, or about to be; {then} once no such version \
                 uses it",
                used(deployed)
            );
            return Err(Error::conflict("in_use", message));
        }
        Ok(())
    })
}

/// An engine may not be deleted while a workflow refers to it.
fn uses_engine<'a>(tx: &'a mut Tx, engine: &'a Resource) -> BoxFuture<'a, Result<(), Error>> {
    Box::pin(async move {
        let removals = store::count_of_removals(tx, &engine.name).await?;
        if removals > 0 {
            let message = format!(
                "the engine `{}` still has {removals} deleted workflows; {} when they are removed there, or given up: \
                 see /api/v1/workflows/pending-removal",
                engine.name,
                engine.fate.then()
            );
            return Err(Error::conflict("in_use", message));
        }
        let workflows = match store::count_of_engine(tx, &engine.name).await? {
            0 => return Ok(()),
            1 => "1 workflow names".to_owned(),
            count => format!("{count} workflows name"),
        };
        let message =
            format!("{workflows} the engine `{}`; {} when none does", engine.name, engine.fate.then());
        Err(Error::conflict("in_use", message))
    })
}

/// A request to this module.
pub type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Workflows, P, Q, B>;

fn routes() -> Vec<Route<Workflows>> {
    [definitions(), several(), transfer::routes(), publications(), schedules(), tasks::routes()]
        .into_iter()
        .flatten()
        .collect()
}

fn definitions() -> Vec<Route<Workflows>> {
    vec![
        Route::new(Method::GET, "/api/v1/workflows", Viewer, "listWorkflows", "List workflows", api::list),
        Route::new(
            Method::POST,
            "/api/v1/workflows",
            Editor,
            "createWorkflow",
            "Create a workflow; nothing is deployed",
            api::create,
        )
        .versioned()
        .refuses(&["name_taken"]),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}",
            Viewer,
            "getWorkflow",
            "Get a workflow with its tasks, edges, versions, publications and last executions",
            api::get,
        )
        .versioned(),
        Route::new(
            Method::PUT,
            "/api/v1/workflows/{id}",
            Editor,
            "updateWorkflow",
            "Update the given members of a workflow; creates a version",
            api::update,
        )
        .versioned()
        .refuses(&["datasource_not_allowed", "name_taken", "not_changeable"]),
        Route::new(
            Method::DELETE,
            "/api/v1/workflows/{id}",
            Editor,
            "deleteWorkflow",
            "Delete a workflow, in its engine too; returns what the engine still has to remove",
            api::delete,
        )
        .versioned()
        .refuses(&ENGINE_CODES),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/versions",
            Viewer,
            "listWorkflowVersions",
            "List all versions of a workflow, newest first",
            versions::api::list,
        ),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/versions/compare",
            Viewer,
            "compareWorkflowVersions",
            "Compare two versions, in topology and tasks",
            versions::api::compare,
        )
        .reading()
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/versions/{versionId}/rollback",
            Editor,
            "rollbackWorkflow",
            "Create a new version with the content of an old one",
            versions::api::rollback,
        )
        .versioned()
        .refuses(&["datasource_not_allowed", "name_taken"]),
    ]
}

fn several() -> Vec<Route<Workflows>> {
    vec![
        Route::new(
            Method::GET,
            "/api/v1/workflows/pending-removal",
            Viewer,
            "listPendingRemovals",
            "List deleted workflows that their engine still has",
            removals::list,
        ),
        Route::new(
            Method::DELETE,
            "/api/v1/workflows/pending-removal/{id}",
            Editor,
            "abandonRemoval",
            "Give up the removal of a deleted workflow: its engine keeps it",
            removals::abandon,
        )
        .refuses(&["datasource_not_allowed"]),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/copy",
            Editor,
            "copyWorkflow",
            "Create a workflow with the content of another one's current version",
            copy::copy,
        )
        .versioned()
        .refuses(&["datasource_not_allowed", "name_taken"]),
        Route::new(
            Method::POST,
            "/api/v1/workflows/batch/export",
            Viewer,
            "exportWorkflows",
            "Export several workflows",
            batch::export,
        )
        .reading(),
        Route::new(
            Method::POST,
            "/api/v1/workflows/batch/publish",
            Editor,
            "publishWorkflows",
            "Submit the current versions of several workflows for approval",
            batch::publish,
        ),
        Route::new(
            Method::POST,
            "/api/v1/workflows/batch/online",
            Editor,
            "bringSchedulesOnline",
            "Put the schedules of several workflows online",
            batch::online,
        ),
        Route::new(
            Method::POST,
            "/api/v1/workflows/batch/offline",
            Editor,
            "takeSchedulesOffline",
            "Take the schedules of several workflows offline",
            batch::offline,
        ),
    ]
}

fn publications() -> Vec<Route<Workflows>> {
    vec![
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/publish",
            Editor,
            "publishWorkflow",
            "Submit the current version for approval",
            publications::publish,
        )
        .refuses(&PUBLISH_CODES),
        Route::new(
            Method::GET,
            "/api/v1/workflows/{id}/publish/preview",
            Viewer,
            "previewPublication",
            "Compare the deployed version with the current one or another, and check whether it can run",
            publications::preview,
        )
        .refuses(&ENGINE_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/publish/{recordId}/approve",
            Approver,
            "decidePublication",
            "Approve or reject a submitted version; an approved version is deployed at once",
            publications::decide,
        )
        .refuses(&["already_decided", "datasource_not_allowed", "deployment_running", "four_eyes"]),
    ]
}

fn schedules() -> Vec<Route<Workflows>> {
    vec![
        Route::new(
            Method::PUT,
            "/api/v1/workflows/{id}/schedule",
            Editor,
            "setSchedule",
            "Update the given members of a schedule; the engine of a deployed workflow follows at once",
            schedules::set,
        )
        .versioned()
        .refuses(&ENGINE_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/schedule/preview",
            Viewer,
            "previewSchedule",
            "Check a schedule, and get its next ten due times; nothing is changed",
            schedules::preview,
        )
        .reading(),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/schedule/online",
            Editor,
            "bringScheduleOnline",
            "Put a schedule online",
            schedules::online,
        )
        .versioned()
        .refuses(&SWITCH_CODES),
        Route::new(
            Method::POST,
            "/api/v1/workflows/{id}/schedule/offline",
            Editor,
            "takeScheduleOffline",
            "Take a schedule offline",
            schedules::offline,
        )
        .versioned()
        .refuses(&SWITCH_CODES),
    ]
}
