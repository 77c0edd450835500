//! The data of the example company in `examples/demo`.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Statements that create its database; `{today}` is replaced by the day.
pub const COMPANY: &str = include_str!("../../../../examples/demo/company.sql");
const CATALOGUE: &str = include_str!("../../../../examples/demo/catalog.json");
const STORY: &str = include_str!("../../../../examples/demo/workflows.json");

/// The catalogue's data about its tables.
#[derive(Deserialize)]
pub struct CatalogueFile {
    pub tables: Vec<TableWords>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TableWords {
    pub name: String,
    pub comment: String,
    pub layer: String,
    pub business_domain: String,
    pub data_domain: String,
    pub owner: String,
    /// How long it has grown to its size; null: it never grew.
    pub days_of_growth: Option<i64>,
    /// Comments, by field.
    pub fields: BTreeMap<String, String>,
}

/// Its workflows and their history.
#[derive(Deserialize)]
pub struct Story {
    pub workflows: Vec<WorkflowWords>,
    /// Ordered by time.
    pub publications: Vec<PublicationWords>,
    pub runs: Vec<RunWords>,
    pub troubles: Vec<Trouble>,
}

#[derive(Deserialize)]
pub struct WorkflowWords {
    pub name: String,
    pub description: String,
    pub by: String,
    /// In the form of a request.
    pub schedule: Value,
    pub online: bool,
    pub tasks: Vec<TaskWords>,
}

#[derive(Deserialize)]
pub struct TaskWords {
    pub name: String,
    pub inputs: Vec<String>,
    pub outputs: Vec<String>,
    /// Lines.
    pub sql: Vec<String>,
    /// The other members of a task.
    #[serde(flatten)]
    pub members: Map<String, Value>,
}

/// A change, its submission, and the decision on it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublicationWords {
    pub workflow: String,
    pub days_ago: u64,
    /// `HH:mm`
    pub at: String,
    pub by: String,
    /// The task to change before; `None`: the workflow itself.
    pub task: Option<String>,
    pub set: Option<Value>,
    /// Unique within a workflow.
    pub comment: String,
    pub decided_by: String,
    pub decision: String,
    pub decision_comment: String,
}

/// One run per day of a period.
#[derive(Deserialize)]
pub struct RunWords {
    pub workflow: String,
    pub at: String,
    /// Days ago; `to` is included.
    pub from: u64,
    pub to: u64,
    pub cause: String,
    /// In order of execution.
    pub tasks: Vec<TaskRunWords>,
}

/// Bounds, both included; the rows grow between them over the period.
#[derive(Deserialize)]
pub struct TaskRunWords {
    pub task: String,
    pub seconds: [i64; 2],
    pub rows: [i64; 2],
}

/// A failed run: no task started after this one.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    pub workflow: String,
    pub days_ago: u64,
    pub task: String,
    /// `failed` or `killed`
    pub status: String,
    /// Of each attempt.
    pub seconds: i64,
    pub tries: u32,
    /// Between two attempts.
    pub retry_seconds: i64,
    pub message: String,
}

pub fn catalogue() -> anyhow::Result<CatalogueFile> {
    serde_json::from_str(CATALOGUE).context("examples/demo/catalog.json")
}

pub fn story() -> anyhow::Result<Story> {
    serde_json::from_str(STORY).context("examples/demo/workflows.json")
}
