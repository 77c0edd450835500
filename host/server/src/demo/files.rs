//! The data of the example company, as they stand in `examples/demo`.

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Statements that make its database; `{today}` stands for the day.
pub const COMPANY: &str = include_str!("../../../../examples/demo/company.sql");
const CATALOGUE: &str = include_str!("../../../../examples/demo/catalog.json");
const STORY: &str = include_str!("../../../../examples/demo/workflows.json");

/// What the catalogue says of its tables.
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
    /// How long it has taken to become as large as it is; null: it has always been.
    pub days_of_growth: Option<i64>,
    /// Comments, by field.
    pub fields: BTreeMap<String, String>,
}

/// Its workflows, and what became of them.
#[derive(Deserialize)]
pub struct Story {
    pub workflows: Vec<WorkflowWords>,
    /// In the order of their times.
    pub publications: Vec<PublicationWords>,
    pub runs: Vec<RunWords>,
    pub troubles: Vec<Trouble>,
}

#[derive(Deserialize)]
pub struct WorkflowWords {
    pub name: String,
    pub description: String,
    pub by: String,
    /// As a request sets it.
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
    /// What is changed before; none: the workflow itself.
    pub task: Option<String>,
    pub set: Option<Value>,
    /// No two of a workflow are the same.
    pub comment: String,
    pub decided_by: String,
    pub decision: String,
    pub decision_comment: String,
}

/// A run on each day of a stretch.
#[derive(Deserialize)]
pub struct RunWords {
    pub workflow: String,
    pub at: String,
    /// Days ago; `to` is included.
    pub from: u64,
    pub to: u64,
    pub cause: String,
    /// One after the other.
    pub tasks: Vec<TaskRunWords>,
}

/// Bounds, both included; the rows grow from one to the other over the stretch.
#[derive(Deserialize)]
pub struct TaskRunWords {
    pub task: String,
    pub seconds: [i64; 2],
    pub rows: [i64; 2],
}

/// A run that did not go well: nothing was begun after this task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Trouble {
    pub workflow: String,
    pub days_ago: u64,
    pub task: String,
    /// `failed` or `killed`
    pub status: String,
    /// Of each try.
    pub seconds: i64,
    pub tries: u32,
    /// Between two tries.
    pub retry_seconds: i64,
    pub message: String,
}

pub fn catalogue() -> anyhow::Result<CatalogueFile> {
    serde_json::from_str(CATALOGUE).context("examples/demo/catalog.json")
}

pub fn story() -> anyhow::Result<Story> {
    serde_json::from_str(STORY).context("examples/demo/workflows.json")
}
