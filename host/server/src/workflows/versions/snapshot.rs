//! A version, read whole.

use std::collections::BTreeMap;

use lakeport_base::Error;
use lakeport_store::Db;

use super::{Part, Sum, store};
use crate::workflows::definition::Content;
use crate::workflows::tasks::definition::{Content as TaskContent, Given};
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::tasks::part::{Beside, Names};

/// The workflow and its tasks in one version.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub version: i64,
    pub content: Content,
    /// By id.
    pub tasks: BTreeMap<i64, SavedTask>,
}

/// A task in a version.
#[derive(Debug, Clone)]
pub struct SavedTask {
    pub content: TaskContent,
    pub given: Given,
    /// The names of its references when it was saved.
    pub names: Names,
    /// Of the content, see [`super::part_digest`].
    pub digest: String,
}

impl Snapshot {
    /// `None` if the version does not exist.
    pub async fn read(db: &Db, workflow_id: i64, version: i64) -> Result<Option<Snapshot>, Error> {
        let selects = (store::content_at(workflow_id, version), store::parts_at(workflow_id, version));
        let (content, parts) = db.read_all(selects).await?;
        Snapshot::of(version, content, parts)
    }

    /// Two versions of a workflow, of one state of the store.
    pub async fn read_both(
        db: &Db,
        workflow_id: i64,
        [one, other]: [i64; 2],
    ) -> Result<[Option<Snapshot>; 2], Error> {
        let selects = (
            store::content_at(workflow_id, one),
            store::parts_at(workflow_id, one),
            store::content_at(workflow_id, other),
            store::parts_at(workflow_id, other),
        );
        let (content, parts, other_content, other_parts) = db.read_all(selects).await?;
        Ok([Snapshot::of(one, content, parts)?, Snapshot::of(other, other_content, other_parts)?])
    }

    fn of(
        version: i64,
        mut content: Vec<Content>,
        parts: Vec<(i64, Part)>,
    ) -> Result<Option<Snapshot>, Error> {
        let Some(content) = content.pop() else { return Ok(None) };
        let tasks = parts.into_iter().map(|(id, part)| Ok((id, SavedTask::of(part)?)));
        Ok(Some(Snapshot { version, content, tasks: tasks.collect::<Result<_, Error>>()? }))
    }

    /// The sum of its tasks' digests.
    pub fn parts(&self) -> Result<Sum, Error> {
        let mut sum = Sum::default();
        for task in self.tasks.values() {
            sum = sum.plus(Sum::parse(&task.digest)?);
        }
        Ok(sum)
    }

    /// The order of its tasks: pairs of ids, sorted; one more than `at_most` if there are more.
    pub fn edges(&self, at_most: usize) -> Vec<(i64, i64)> {
        let bound = self.tasks.iter().map(|(id, task)| Bound {
            task_id: *id,
            inputs: &task.content.input_table_ids,
            outputs: &task.content.output_table_ids,
        });
        dependencies::edges(&bound.collect::<Vec<_>>(), at_most)
    }
}

impl SavedTask {
    fn of(part: Part) -> Result<SavedTask, Error> {
        let beside: Beside = serde_json::from_str(&part.beside).map_err(Error::internal)?;
        Ok(SavedTask {
            content: serde_json::from_str(&part.content).map_err(Error::internal)?,
            given: beside.given,
            names: beside.names,
            digest: part.digest,
        })
    }
}
