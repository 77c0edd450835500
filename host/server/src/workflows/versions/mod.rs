//! Versions: every change of a definition creates the next one, at a cost that depends on the change, not on
//! the workflow's size. A version has a row; the workflow's own content is stored where it changed; a task's
//! states are stored with the range of versions in which they were valid. The content of a version is the
//! union of the states valid in it.
//!
//! A version's digest covers the own content and the sum, modulo 2^256, of its tasks' digests: a change
//! subtracts the old one and adds the new one, without reading the others. Equal contents have equal digests,
//! whatever the ids of their tasks. The sum distinguishes versions; it is no proof against deliberately
//! constructed tasks.

pub mod api;
pub mod compare;
mod rollback;
mod snapshot;
mod store;
mod text;

use std::ops::{Add, Sub};

use lakeport_base::Error;
use lakeport_store::{Statement, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::definition::Content;
use super::{Workflow, store as workflows};
pub use snapshot::{SavedTask, Snapshot};
pub use store::{
    Part, Version, content_at, count_of_datasource, current_part, datasources_ever, datasources_in,
    datasources_of, has_all_tasks, has_scripts, newest, page, parts_at, set_beside,
};

/// The most tasks of a workflow.
pub const TASKS_MAX: i64 = 5_000;
/// The most tables of all tasks of a workflow, counted per task.
pub const BINDINGS_MAX: i64 = 100_000;
/// The most text of all tasks of a workflow, in bytes.
pub const TEXT_MAX_BYTES: i64 = 16 * 1024 * 1024;
/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// The origin of a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "VersionSource")]
pub enum Source {
    Create,
    /// A change of the workflow's members, or of its schedule.
    Update,
    Task,
    Rollback,
    Import,
}

impl Source {
    fn as_str(self) -> &'static str {
        match self {
            Source::Create => "create",
            Source::Update => "update",
            Source::Task => "task",
            Source::Rollback => "rollback",
            Source::Import => "import",
        }
    }
}

/// The author, time and origin of a version.
#[derive(Debug, Clone, Copy)]
pub struct Made<'m> {
    pub source: Source,
    pub comment: Option<&'m str>,
    pub by: &'m str,
    pub now_ms: i64,
}

/// A sum of digests, modulo 2^256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum([u8; DIGEST_BYTES]);

impl Sum {
    /// 64 hex digits.
    pub fn parse(text: &str) -> Result<Sum, Error> {
        let mut bytes = [0; DIGEST_BYTES];
        hex::decode_to_slice(text, &mut bytes).map_err(Error::internal)?;
        Ok(Sum(bytes))
    }

    pub fn text(&self) -> String {
        hex::encode(self.0)
    }

    pub fn plus(self, other: Sum) -> Sum {
        let mut sum = [0; DIGEST_BYTES];
        let mut carry = 0;
        for at in (0..DIGEST_BYTES).rev() {
            let digit = u16::from(self.0[at]) + u16::from(other.0[at]) + carry;
            sum[at] = digit.to_be_bytes()[1];
            carry = digit >> 8;
        }
        Sum(sum)
    }

    fn minus(self, other: Sum) -> Sum {
        let mut one = [0; DIGEST_BYTES];
        one[DIGEST_BYTES - 1] = 1;
        self.plus(Sum(other.0.map(|byte| !byte))).plus(Sum(one))
    }
}

/// The amounts that a workflow's limits count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    pub tasks: i64,
    pub bindings: i64,
    pub text_bytes: i64,
}

impl Add for Weight {
    type Output = Weight;

    fn add(self, other: Weight) -> Weight {
        Weight {
            tasks: self.tasks + other.tasks,
            bindings: self.bindings + other.bindings,
            text_bytes: self.text_bytes + other.text_bytes,
        }
    }
}

impl Sub for Weight {
    type Output = Weight;

    fn sub(self, other: Weight) -> Weight {
        Weight {
            tasks: self.tasks - other.tasks,
            bindings: self.bindings - other.bindings,
            text_bytes: self.text_bytes - other.text_bytes,
        }
    }
}

impl Weight {
    /// 409 if a limit is exceeded. An already exceeded amount may shrink.
    fn refuse_over(self, before: Weight) -> Result<(), Error> {
        let over = |now: i64, before: i64, max: i64| now > max && now > before;
        let refused = if over(self.tasks, before.tasks, TASKS_MAX) {
            ("too_many_tasks", format!("{TASKS_MAX} tasks"))
        } else if over(self.bindings, before.bindings, BINDINGS_MAX) {
            ("too_many_tables", format!("{BINDINGS_MAX} tables that its tasks read and write"))
        } else if over(self.text_bytes, before.text_bytes, TEXT_MAX_BYTES) {
            ("workflow_too_large", format!("{TEXT_MAX_BYTES} bytes of text in its tasks"))
        } else {
            return Ok(());
        };
        let (code, most) = refused;
        Err(Error::conflict(code, format!("a workflow has at most {most}; divide it into several")))
    }
}

/// The digest of a task's content; equal contents have equal digests.
pub fn part_digest(content: &str) -> String {
    hex::encode(Sha256::new_with_prefix(b"task\n").chain_update(content).finalize())
}

/// The digest of a version.
pub fn digest(content: &Content, parts: Sum) -> String {
    let whole = Sha256::new_with_prefix(b"workflow\n").chain_update(content.text());
    hex::encode(whole.chain_update(b"\n").chain_update(parts.text()).finalize())
}

/// The digest of all of a version but its schedule, which needs no publication.
pub fn definition_digest(content: &Content, parts: Sum) -> String {
    digest(&Content { schedule: None, ..content.clone() }, parts)
}

/// A change of a task: its former and its new state.
pub struct PartChange {
    pub task_id: i64,
    /// Its digest and weight; `None`: it is new here.
    pub before: Option<(String, Weight)>,
    /// `None`: it is removed.
    pub after: Option<(Part, Weight)>,
}

/// Records version 1 of a new workflow.
pub async fn first(tx: &mut Tx, workflow: &Workflow, made: Made<'_>) -> Result<(), Error> {
    tx.execute_all(&[store::insert(workflow, Some(&workflow.content), made)]).await.map(drop)
}

/// Sets a workflow's content, without its tasks; false if it is equal. The workflow must be locked.
pub async fn change_content(
    tx: &mut Tx,
    workflow: &mut Workflow,
    content: Content,
    made: Made<'_>,
) -> Result<bool, Error> {
    change(tx, workflow, content, &[], made).await
}

/// Changes tasks of a workflow, each once. The workflow must be locked, and each task must really change.
pub async fn change_parts(
    tx: &mut Tx,
    workflow: &mut Workflow,
    changes: &[PartChange],
    made: Made<'_>,
) -> Result<(), Error> {
    let content = workflow.content.clone();
    change(tx, workflow, content, changes, made).await.map(drop)
}

/// Creates the next version, with this content and these changes of tasks, each once; false if there is no change.
/// The workflow must be locked, and each task must really change.
pub async fn change(
    tx: &mut Tx,
    workflow: &mut Workflow,
    content: Content,
    changes: &[PartChange],
    made: Made<'_>,
) -> Result<bool, Error> {
    // The first version has its content, too.
    let has_content = workflow.version == 0 || content != workflow.content;
    if !has_content && changes.is_empty() {
        return Ok(false);
    }
    let before = workflow.weight;
    for change in changes {
        if let Some((digest, weight)) = &change.before {
            workflow.parts = workflow.parts.minus(Sum::parse(digest)?);
            workflow.weight = workflow.weight - *weight;
        }
        if let Some((part, weight)) = &change.after {
            workflow.parts = workflow.parts.plus(Sum::parse(&part.digest)?);
            workflow.weight = workflow.weight + *weight;
        }
    }
    workflow.weight.refuse_over(before)?;
    workflow.version += 1;
    made.by.clone_into(&mut workflow.updated_by);
    workflow.updated_at_ms = made.now_ms;
    // Only an update sets the schedule of a deployed workflow; otherwise the engine keeps its own.
    if made.source == Source::Update && workflow.content.schedule != content.schedule {
        workflow.schedule_version = workflow.version;
    }
    let mut timed = workflow.content.clone();
    timed.schedule.clone_from(&content.schedule);
    let is_defined_anew = timed != content || !changes.is_empty();
    workflow.content = content;
    workflow.note_change(is_defined_anew);
    // First: a task has one state that has not ended.
    let ended = changes.iter().filter(|change| change.before.is_some());
    let ended: Vec<Statement> = ended.map(|change| store::end_part(workflow, change.task_id)).collect();
    tx.execute_all(&ended).await?;
    if has_content {
        workflows::update(tx, workflow).await?;
    }
    let new = changes.iter().filter_map(|change| Some((change.task_id, &change.after.as_ref()?.0)));
    let mut written: Vec<Statement> =
        new.map(|(task_id, part)| store::insert_part(workflow, task_id, part)).collect();
    if !changes.is_empty() {
        written.push(workflows::update_parts(workflow));
    }
    written.push(store::insert(workflow, has_content.then_some(&workflow.content), made));
    tx.execute_all(&written).await?;
    check_tasks(tx, workflow).await?;
    Ok(true)
}

/// Tasks with other ids are other tasks to the engine, whatever their contents: then the workflow is not as published.
pub async fn check_tasks(tx: &mut Tx, workflow: &mut Workflow) -> Result<(), Error> {
    let Some(published) = workflow.published_version else { return Ok(()) };
    let is_as_published = workflow.changed_version == published && workflow.version != published;
    if is_as_published && !store::has_all_tasks(tx, workflow.id, published).await? {
        workflow.changed_version = workflow.version;
        workflows::set_changed_version(tx, workflow).await?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
