//! Versions in the store; rows are only added, and a task's row is closed once.

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::{Either, Row, Select, Statement, Tx, Value};

use super::{Made, Source, digest};
use crate::workflows::Workflow;
use crate::workflows::definition::Content;

/// A stored version, without its content.
#[derive(Debug, Clone)]
pub struct Version {
    pub version: i64,
    pub source: Source,
    pub comment: Option<String>,
    pub created_by: String,
    pub created_at_ms: i64,
    pub digest: String,
}

/// The state of a task in a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// JSON, as [`crate::workflows::tasks`] writes it.
    pub content: String,
    /// Members that do not count as a change, as JSON.
    pub beside: String,
    /// Of the content, see [`super::part_digest`].
    pub digest: String,
    /// In the content.
    pub datasource_id: Option<i64>,
}

/// Inserts the workflow's new version; with its content, if that changed.
pub fn insert(workflow: &Workflow, content: Option<&Content>, made: Made<'_>) -> Statement {
    const INSERT: &str = "INSERT INTO workflow_versions (workflow_id, version, source, comment, created_by, \
        created_at, digest, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
    let values: [Value; 8] = [
        workflow.id.into(),
        workflow.version.into(),
        made.source.as_str().into(),
        made.comment.into(),
        made.by.into(),
        made.now_ms.into(),
        digest(&workflow.content, workflow.parts).into(),
        content.map(Content::text).into(),
    ];
    Statement::new(INSERT, values)
}

/// Inserts a task's state, valid from the workflow's version on.
pub fn insert_part(workflow: &Workflow, task_id: i64, part: &Part) -> Statement {
    const INSERT: &str = "INSERT INTO task_versions (workflow_id, task_id, from_version, content, beside, digest, \
        datasource_id) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    let values: [Value; 7] = [
        workflow.id.into(),
        task_id.into(),
        workflow.version.into(),
        part.content.as_str().into(),
        part.beside.as_str().into(),
        part.digest.as_str().into(),
        part.datasource_id.into(),
    ];
    Statement::new(INSERT, values)
}

/// Sets the members of a task's current state that do not count as a change.
pub async fn set_beside(tx: &mut Tx, workflow_id: i64, task_id: i64, part: &Part) -> Result<(), Error> {
    const SET: &str = "UPDATE task_versions SET beside = $3 \
        WHERE workflow_id = $1 AND task_id = $2 AND to_version IS NULL";
    tx.execute(SET, &[workflow_id.into(), task_id.into(), part.beside.as_str().into()]).await.map(drop)
}

/// Whether all tasks of the current version are in another one, too.
pub async fn has_all_tasks(tx: &mut Tx, workflow_id: i64, version: i64) -> Result<bool, Error> {
    const OTHERS: &str = "SELECT task_id FROM task_versions AS now WHERE workflow_id = $1 AND to_version IS NULL \
        AND NOT EXISTS (SELECT 1 FROM task_versions AS old WHERE old.workflow_id = $1 \
        AND old.task_id = now.task_id AND old.from_version <= $2 \
        AND (old.to_version IS NULL OR old.to_version > $2)) LIMIT 1";
    Ok(tx.query(OTHERS, &[workflow_id.into(), version.into()]).await?.is_empty())
}

/// Closes a task's state at the workflow's version.
pub fn end_part(workflow: &Workflow, task_id: i64) -> Statement {
    const END: &str = "UPDATE task_versions SET to_version = $3 \
        WHERE workflow_id = $1 AND task_id = $2 AND to_version IS NULL";
    Statement::new(END, [workflow.id.into(), task_id.into(), workflow.version.into()])
}

fn version(row: &Row) -> Result<Version, Error> {
    let source: String = row.get(1)?;
    Ok(Version {
        version: row.get(0)?,
        source: serde_json::from_value(source.into()).map_err(Error::internal)?,
        comment: row.get(2)?,
        created_by: row.get(3)?,
        created_at_ms: row.get(4)?,
        digest: row.get(5)?,
    })
}

/// The newest ones, newest first.
pub fn newest(workflow_id: i64, limit: i64) -> Select<Version> {
    const NEWEST: &str = "SELECT version, source, comment, created_by, created_at, digest FROM workflow_versions \
        WHERE workflow_id = $1 ORDER BY version DESC LIMIT $2";
    Select::new(NEWEST, [workflow_id.into(), limit.into()], version)
}

/// One page of them, newest first.
pub fn page(workflow_id: i64, paging: &Paging) -> Select<Version> {
    const PAGE: &str = "SELECT version, source, comment, created_by, created_at, digest FROM workflow_versions \
        WHERE workflow_id = $1 ORDER BY version DESC LIMIT $2 OFFSET $3";
    Select::new(PAGE, [workflow_id.into(), paging.page_size.into(), paging.offset().into()], version)
}

/// The workflow's content in a version, without its tasks; none if the version does not exist.
pub fn content_at(workflow_id: i64, version: i64) -> Select<Content> {
    const CONTENT: &str = "SELECT content FROM workflow_versions WHERE workflow_id = $1 AND version <= $2 \
        AND content IS NOT NULL AND EXISTS (SELECT 1 FROM workflow_versions WHERE workflow_id = $1 AND version = $2) \
        ORDER BY version DESC LIMIT 1";
    Select::new(CONTENT, [workflow_id.into(), version.into()], |row| {
        serde_json::from_str(&row.get::<String>(0)?).map_err(Error::internal)
    })
}

/// The tasks of a version, by id.
pub fn parts_at(workflow_id: i64, version: i64) -> Select<(i64, Part)> {
    const PARTS: &str = "SELECT task_id, content, beside, digest, datasource_id FROM task_versions \
        WHERE workflow_id = $1 AND from_version <= $2 AND (to_version IS NULL OR to_version > $2) ORDER BY task_id";
    Select::new(PARTS, [workflow_id.into(), version.into()], |row| Ok((row.get(0)?, part(row)?)))
}

fn part(row: &Row) -> Result<Part, Error> {
    Ok(Part { content: row.get(1)?, beside: row.get(2)?, digest: row.get(3)?, datasource_id: row.get(4)? })
}

/// The state of a task in the current version of a workflow.
pub async fn current_part(tx: &mut Tx, workflow_id: i64, task_id: i64) -> Result<Option<Part>, Error> {
    const CURRENT: &str = "SELECT task_id, content, beside, digest, datasource_id FROM task_versions \
        WHERE workflow_id = $1 AND task_id = $2 AND to_version IS NULL";
    tx.query(CURRENT, &[workflow_id.into(), task_id.into()]).await?.first().map(part).transpose()
}

/// The data sources that these tasks, each with its workflow, have ever referred to, without duplicates; `None`:
/// the task had none.
pub fn datasources_of(tasks: &[(i64, i64)]) -> Select<(i64, i64, Option<i64>)> {
    const OF: Either = Either {
        sqlite: "SELECT DISTINCT v.workflow_id, v.task_id, v.datasource_id FROM json_each($1) AS given \
            CROSS JOIN task_versions AS v ON v.workflow_id = json_extract(given.value, '$[0]') \
            AND v.task_id = json_extract(given.value, '$[1]')",
        postgres: "SELECT DISTINCT v.workflow_id, v.task_id, v.datasource_id \
            FROM json_array_elements(CAST($1 AS json)) AS list (given) \
            JOIN task_versions AS v ON v.workflow_id = CAST(given ->> 0 AS BIGINT) \
            AND v.task_id = CAST(given ->> 1 AS BIGINT)",
    };
    let given = serde_json::to_string(tasks).expect("numbers are JSON");
    Select::new(OF, [given.into()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// The data sources of a workflow's tasks in two versions, without duplicates.
pub fn datasources_in(workflow_id: i64, versions: [i64; 2]) -> Select<Option<i64>> {
    const IN: &str = "SELECT DISTINCT datasource_id FROM task_versions WHERE workflow_id = $1 \
        AND from_version <= $3 AND (to_version IS NULL OR to_version > $2)";
    let [one, other] = versions;
    let (first, last) = (one.min(other), one.max(other));
    Select::new(IN, [workflow_id.into(), first.into(), last.into()], |row| row.get(0))
}

/// One row, if the version has tasks that are shell scripts. Within a stored text quotes are escaped.
pub fn has_scripts(workflow_id: i64, version: i64) -> Select<i64> {
    const HAS: &str = "SELECT task_id FROM task_versions WHERE workflow_id = $1 AND from_version <= $2 \
        AND (to_version IS NULL OR to_version > $2) AND content LIKE '%\"taskType\":\"SHELL\"%' LIMIT 1";
    Select::new(HAS, [workflow_id.into(), version.into()], |row| row.get(0))
}

/// The data sources of a workflow's tasks in all versions, without duplicates.
pub fn datasources_ever(workflow_id: i64) -> Select<Option<i64>> {
    const EVER: &str = "SELECT DISTINCT datasource_id FROM task_versions WHERE workflow_id = $1";
    Select::new(EVER, [workflow_id.into()], |row| row.get(0))
}

/// Tasks that refer to a data source in a version that is deployed, or submitted and may be.
pub async fn count_of_datasource(tx: &mut Tx, datasource_id: i64) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(DISTINCT t.task_id) FROM task_versions t \
        JOIN workflows w ON w.id = t.workflow_id AND w.deleted_at IS NULL WHERE t.datasource_id = $1 \
        AND ((t.from_version <= w.published_version \
        AND (t.to_version IS NULL OR t.to_version > w.published_version)) \
        OR EXISTS (SELECT 1 FROM publications p WHERE p.workflow_id = w.id \
        AND (p.status = 'PENDING' OR p.deployment_state = 'pending') AND t.from_version <= p.version \
        AND (t.to_version IS NULL OR t.to_version > p.version)))";
    tx.query(COUNT, &[datasource_id.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}
