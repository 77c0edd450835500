//! Versions: every change of a definition makes the next one, and costs what it changes, not what the workflow
//! has. A row for the version; the workflow's own content where that changed; and of tasks that changed, from
//! which version to which they were what. The content of a version is what was valid then.
//!
//! A version's digest is that of the own content and of the sum, modulo 2^256, of its tasks' digests: a change
//! takes the old one off and puts the new one on, without a look at the others. Equal content has an equal digest,
//! whatever the ids of its tasks. The sum tells versions apart; against somebody who makes up tasks to that end it
//! is no proof.

mod store;

use std::ops::{Add, Sub};

use lakeport_base::Error;
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::definition::Content;
use super::{Workflow, store as workflows};
pub use store::{
    Part, Version, content_at, count_of_datasource, current_part, datasources_of, newest, parts_at,
};

/// Tasks of one workflow.
pub const TASKS_MAX: i64 = 5_000;
/// Tables that the tasks of one workflow read and write, each counted for each task.
pub const BINDINGS_MAX: i64 = 100_000;
/// Text of all tasks of one workflow, in bytes.
pub const TEXT_MAX_BYTES: i64 = 16 * 1024 * 1024;
/// Bytes of a digest.
const DIGEST_BYTES: usize = 32;

/// What made a version.
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

/// Who makes a version, when and why.
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

/// What counts towards a workflow's bounds.
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
    /// 409 where it has become too much. What was too much before may become less.
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

/// The digest of what a task is; equal content, equal digest.
pub fn part_digest(content: &str) -> String {
    hex::encode(Sha256::new_with_prefix(b"task\n").chain_update(content).finalize())
}

/// The digest of a version.
pub fn digest(content: &Content, parts: Sum) -> String {
    let whole = Sha256::new_with_prefix(b"workflow\n").chain_update(content.text());
    hex::encode(whole.chain_update(b"\n").chain_update(parts.text()).finalize())
}

/// A task that changes: what it was, and what it is from now on.
pub struct PartChange {
    pub task_id: i64,
    /// Its digest and weight; none: it is new here.
    pub before: Option<(String, Weight)>,
    /// None: it is gone.
    pub after: Option<(Part, Weight)>,
}

/// Writes down version 1 of a workflow that was just made.
pub async fn first(tx: &mut Tx, workflow: &Workflow, made: Made<'_>) -> Result<(), Error> {
    store::insert(tx, workflow, Some(&workflow.content), made).await
}

/// Gives a workflow new content, besides its tasks; false where it is equal. The workflow is locked.
pub async fn change_content(
    tx: &mut Tx,
    workflow: &mut Workflow,
    content: Content,
    made: Made<'_>,
) -> Result<bool, Error> {
    if content == workflow.content {
        return Ok(false);
    }
    advance(workflow, made);
    let mut timed = workflow.content.clone();
    timed.schedule.clone_from(&content.schedule);
    if timed != content {
        workflow.changed_version = workflow.version;
    }
    // What is rolled back leaves the schedule that runs alone.
    if made.source == Source::Update && workflow.content.schedule != content.schedule {
        workflow.schedule_version = workflow.version;
    }
    workflow.content = content;
    workflows::update(tx, workflow).await?;
    store::insert(tx, workflow, Some(&workflow.content), made).await?;
    Ok(true)
}

/// Changes tasks of a workflow, each once. The workflow is locked, and the tasks do change.
pub async fn change_parts(
    tx: &mut Tx,
    workflow: &mut Workflow,
    changes: &[PartChange],
    made: Made<'_>,
) -> Result<(), Error> {
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
    advance(workflow, made);
    workflow.changed_version = workflow.version;
    for change in changes {
        if change.before.is_some() {
            store::end_part(tx, workflow, change.task_id).await?;
        }
        if let Some((part, _)) = &change.after {
            store::insert_part(tx, workflow, change.task_id, part).await?;
        }
    }
    workflows::update_parts(tx, workflow).await?;
    store::insert(tx, workflow, None, made).await
}

fn advance(workflow: &mut Workflow, made: Made<'_>) {
    workflow.version += 1;
    made.by.clone_into(&mut workflow.updated_by);
    workflow.updated_at_ms = made.now_ms;
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
