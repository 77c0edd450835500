//! Workflows in answers, and the definition behind their `ETag`.

use chrono_tz::Tz;
use lakeport_base::time;
use lakeport_http::{Caller, etag_of};
use schemars::JsonSchema;
use serde::Serialize;

use super::definition::{Content, Schedule};
use super::forms::{Concurrency, FailureStrategy, GlobalParam, PublishStatus, WarningType, WorkflowStatus};
use super::publications::PublicationView;
use super::versions::{Source, Version};
use super::wanted::EngineStatus;
use super::{Summary, Workflow};
use crate::execution_records::ExecutionView;
use crate::workflows::tasks::TaskView;

/// The number of next due times in an answer.
const NEXT_FIRE_TIMES: usize = 5;

impl Summary {
    fn of(workflow: &Workflow) -> Summary {
        let deployed = workflow.deployed.as_ref();
        Summary {
            id: workflow.id,
            content: workflow.content.clone(),
            version: workflow.version,
            changed_version: workflow.changed_version,
            status: workflow.status,
            publication: workflow.publication,
            published_version: workflow.published_version,
            engine_code: deployed.and_then(|deployed| deployed.code.clone()),
            engine_project: deployed.and_then(|deployed| deployed.project.clone()),
            engine_schedule: workflow.engine_schedule.clone(),
            engine_status: workflow.engine_status,
            engine_error: workflow.engine_error.clone(),
            engine_drift: workflow.engine_drift.clone(),
            created_by: workflow.created_by.clone(),
            updated_by: workflow.updated_by.clone(),
            created_at_ms: workflow.created_at_ms,
            updated_at_ms: workflow.updated_at_ms,
        }
    }
}

impl Workflow {
    pub fn etag(&self) -> String {
        etag_of(&Definition { id: self.id, version: self.version, content: &self.content })
    }

    /// The defined members; the version covers its tasks.
    pub fn definition(&self) -> Definition<'_> {
        Definition { id: self.id, version: self.version, content: &self.content }
    }
}

/// The defined members.
#[derive(Serialize)]
pub struct Definition<'d> {
    id: i64,
    version: i64,
    content: &'d Content,
}

/// A workflow: tasks, ordered by the tables that they read and write.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Workflow")]
pub struct WorkflowView {
    id: i64,
    name: String,
    description: Option<String>,
    /// The name of an engine configuration.
    scheduler_engine: String,
    /// Its code in the engine; null: never deployed.
    workflow_code: Option<String>,
    /// Its project in the engine, if that is a number.
    project_code: Option<i64>,
    status: WorkflowStatus,
    publish_status: PublishStatus,
    current_version: i64,
    published_version: Option<i64>,
    schedule: Option<ScheduleView>,
    /// The schedule that the engine has, where it is another one: after a rollback or an import, until the next
    /// publication, or until it is put online again. Otherwise null.
    engine_schedule: Option<ScheduleView>,
    /// Whether the engine has what is wanted of it: the schedule and its state, and the approved version.
    engine_state: EngineStatus,
    /// Why it does not have it, or why that is not known; what somebody changed in the engine itself is usually seen
    /// within two minutes. Null, too, for a caller that is bound to data sources.
    engine_error: Option<String>,
    global_params: Vec<GlobalParam>,
    concurrency: Concurrency,
    latest_execution: Option<ExecutionView>,
    created_by: String,
    updated_by: String,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Schedule")]
struct ScheduleView {
    crontab: String,
    start_time: Option<String>,
    end_time: Option<String>,
    timezone: String,
    failure_strategy: FailureStrategy,
    warning_type: WarningType,
    state: ScheduleState,
    /// The next five due times, even if the schedule is offline.
    next_fire_times: Vec<String>,
}

#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ScheduleState {
    Online,
    Offline,
}

impl ScheduleView {
    fn new(schedule: &Schedule, status: WorkflowStatus, zone: Tz, now_ms: i64) -> ScheduleView {
        let is_on = status == WorkflowStatus::Online;
        let next = schedule.next_after(now_ms, NEXT_FIRE_TIMES);
        ScheduleView {
            crontab: schedule.crontab.clone(),
            start_time: schedule.start_ms.map(|at| time::shown(at, zone)),
            end_time: schedule.end_ms.map(|at| time::shown(at, zone)),
            timezone: schedule.timezone.clone(),
            failure_strategy: schedule.failure_strategy,
            warning_type: schedule.warning_type,
            state: if is_on { ScheduleState::Online } else { ScheduleState::Offline },
            next_fire_times: next.into_iter().map(|at| time::shown(at, zone)).collect(),
        }
    }
}

impl WorkflowView {
    pub fn of(workflow: &Workflow, latest: Option<ExecutionView>, zone: Tz, now_ms: i64) -> WorkflowView {
        WorkflowView::new(Summary::of(workflow), latest, zone, now_ms)
    }

    pub fn new(workflow: Summary, latest: Option<ExecutionView>, zone: Tz, now_ms: i64) -> WorkflowView {
        let publish_status =
            PublishStatus::of(workflow.publication, workflow.published_version, workflow.changed_version);
        let status = workflow.status;
        let (content, is_deployed) = (workflow.content, status != WorkflowStatus::Draft);
        let project = workflow.engine_project.filter(|_| is_deployed);
        let is_other = is_deployed && workflow.engine_schedule != content.schedule_text();
        let in_engine = workflow.engine_schedule.as_deref().filter(|_| is_other);
        let in_engine: Option<Schedule> = in_engine.and_then(|text| serde_json::from_str(text).ok());
        // Of an open change its own reason counts.
        let has_drift = workflow.engine_drift.is_some() && workflow.engine_status == EngineStatus::InSync;
        // What is off in the engine is shown as off.
        let own_status = if is_other { WorkflowStatus::Offline } else { status };
        let schedule = content.schedule.as_ref();
        WorkflowView {
            id: workflow.id,
            schedule: schedule.map(|schedule| ScheduleView::new(schedule, own_status, zone, now_ms)),
            engine_schedule: in_engine.map(|schedule| ScheduleView::new(&schedule, status, zone, now_ms)),
            name: content.name,
            description: content.description,
            scheduler_engine: content.scheduler_engine,
            workflow_code: workflow.engine_code.filter(|_| is_deployed),
            project_code: project.and_then(|code| code.parse().ok()),
            status,
            publish_status,
            current_version: workflow.version,
            published_version: workflow.published_version,
            engine_state: if has_drift { EngineStatus::Failed } else { workflow.engine_status },
            engine_error: workflow.engine_error.or(workflow.engine_drift.filter(|_| has_drift)),
            global_params: content.global_params,
            concurrency: content.concurrency,
            latest_execution: latest,
            created_by: workflow.created_by,
            updated_by: workflow.updated_by,
            created_at: time::shown(workflow.created_at_ms, zone),
            updated_at: time::shown(workflow.updated_at_ms, zone),
        }
    }
}

impl WorkflowView {
    /// For a bound caller without what may show a task's text.
    pub fn for_caller(mut self, caller: &Caller) -> WorkflowView {
        if caller.is_bound() {
            self.engine_error = None;
        }
        self
    }
}

/// A workflow with its parts.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkflowDetail {
    #[serde(flatten)]
    pub workflow: WorkflowView,
    pub tasks: Vec<TaskView>,
    /// The order of its tasks; at most 100,000 edges.
    pub edges: Vec<EdgeView>,
    /// At most 100, newest first; `GET /api/v1/workflows/{id}/versions` lists all.
    pub versions: Vec<VersionView>,
    pub versions_total: i64,
    /// At most 100, newest first.
    pub publications: Vec<PublicationView>,
    /// At most 10, newest first.
    pub recent_executions: Vec<ExecutionView>,
}

/// The source comes before the target; both are ids of tasks.
#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "WorkflowEdge")]
pub struct EdgeView {
    pub source: i64,
    pub target: i64,
}

/// A version of the definition.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkflowVersion")]
pub struct VersionView {
    /// The version's number.
    version_id: i64,
    version: i64,
    source: Source,
    comment: Option<String>,
    created_by: String,
    created_at: String,
    /// Equal contents have equal digests.
    digest: String,
}

impl VersionView {
    pub fn new(version: Version, zone: Tz) -> VersionView {
        VersionView {
            version_id: version.version,
            version: version.version,
            source: version.source,
            comment: version.comment,
            created_by: version.created_by,
            created_at: time::shown(version.created_at_ms, zone),
            digest: version.digest,
        }
    }
}
