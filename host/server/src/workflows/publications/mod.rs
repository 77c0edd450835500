//! Publications: a version is submitted, approved by another person, and deployed as it was submitted.
//!
//! An approval sets the deployment to `pending` and wakes a worker by the change log. The worker holds the
//! workflow's engine lock while it deploys, records the engine's answer after each step, and writes the
//! result in one transaction. If its server dies, another one starts again: a plugin finds what the engine
//! has already.

mod api;
mod build;
mod check;
mod digests;
mod preview;
mod store;
mod worker;

use chrono_tz::Tz;
use lakeport_base::time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use api::{decide, publish};
pub use preview::preview;
pub use store::{end_of, newest};
pub use worker::{keep, run_worker};

/// The change log's topic of publications; the key is the id.
pub const TOPIC: &str = "publications";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(rename = "PublicationStatus")]
pub enum Status {
    Pending,
    Approved,
    Rejected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeploymentState {
    Pending,
    Success,
    Failed,
}

/// A stored publication.
#[derive(Debug, Clone)]
pub struct Publication {
    pub id: i64,
    pub workflow_id: i64,
    pub version: i64,
    pub status: Status,
    pub comment: Option<String>,
    pub submitted_by: String,
    /// The caller's key, independent of the name: [`lakeport_http::Caller::key`].
    pub submitter: String,
    pub submitted_at_ms: i64,
    pub decided_by: Option<String>,
    pub decided_at_ms: Option<i64>,
    pub decision_comment: Option<String>,
    pub deployment: Option<Deployment>,
}

/// The deployment of an approved one.
#[derive(Debug, Clone)]
pub struct Deployment {
    pub state: DeploymentState,
    pub code: Option<String>,
    pub error: Option<String>,
    pub started_at_ms: i64,
    pub finished_at_ms: Option<i64>,
}

/// A submitted version, the decision, and the deployment.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Publication")]
pub struct PublicationView {
    record_id: i64,
    workflow_id: i64,
    /// The version to deploy, whatever changed since.
    version: i64,
    status: Status,
    comment: Option<String>,
    submitted_by: String,
    submitted_at: String,
    decided_by: Option<String>,
    decided_at: Option<String>,
    decision_comment: Option<String>,
    /// Null: not approved.
    deployment: Option<DeploymentView>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Deployment")]
struct DeploymentView {
    state: DeploymentState,
    workflow_code: Option<String>,
    /// Why it failed; approve it again to retry. Null, too, if `withheld`.
    error: Option<String>,
    /// A task of the workflow has used a data source that the caller may not use: the error text is left out.
    withheld: bool,
    started_at: String,
    finished_at: Option<String>,
}

impl PublicationView {
    /// Leaves out what may show a task's text.
    pub fn withhold(&mut self) {
        if let Some(deployment) = &mut self.deployment {
            deployment.error = None;
            deployment.withheld = true;
        }
    }

    pub fn new(record: &Publication, zone: Tz) -> PublicationView {
        let shown = |at: i64| time::shown(at, zone);
        let deployment = record.deployment.as_ref().map(|deployment| DeploymentView {
            state: deployment.state,
            workflow_code: deployment.code.clone(),
            error: deployment.error.clone(),
            withheld: false,
            started_at: shown(deployment.started_at_ms),
            finished_at: deployment.finished_at_ms.map(shown),
        });
        PublicationView {
            record_id: record.id,
            workflow_id: record.workflow_id,
            version: record.version,
            status: record.status,
            comment: record.comment.clone(),
            submitted_by: record.submitted_by.clone(),
            submitted_at: shown(record.submitted_at_ms),
            decided_by: record.decided_by.clone(),
            decided_at: record.decided_at_ms.map(shown),
            decision_comment: record.decision_comment.clone(),
            deployment,
        }
    }
}
