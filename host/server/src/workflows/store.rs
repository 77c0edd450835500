//! Workflows in the store. A deleted one stays, hidden, for its publications.

use std::cmp::Reverse;
use std::collections::HashMap;

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_http::{PAGE_MAX_BYTES, Paging};
use lakeport_store::{ByName, Db, Either, Row, Select, Statement, Tx, Value};

use super::definition::Content;
use super::drift;
use super::forms::{PublishStatus, WorkflowStatus};
use super::names::Named;
use super::removals::Removal;
use super::versions::{Sum, Weight};
use super::wanted::{EngineStatus, Wanted};
use super::{Deployed, PublicationState, Summary, Workflow};
use crate::engines::{EngineRecord, store as engines};
use crate::execution_records::ExecutionView;
use crate::execution_records::store::join_latest;

/// Columns of a workflow, in the order of [`workflow`].
macro_rules! columns {
    () => {
        "id, content, version, changed_version, schedule_version, parts, task_count, binding_count, text_bytes, \
         status, publication, published_version, published_digest, engine, engine_name, engine_code, engine_project, \
         engine_revision, engine_version, engine_state, engine_schedule, wanted, wanted_tries, engine_status, engine_error, \
         engine_drift, created_by, updated_by, created_at, updated_at"
    };
}

/// The columns of [`read_removal`].
macro_rules! removals {
    () => {
        "SELECT id, engine, engine_name, engine_code, engine_project, engine_revision, engine_version, engine_state, deleted_at, \
         removal_at, removal_tries, removal_error "
    };
}

fn workflow(row: &Row) -> Result<Workflow, Error> {
    let mut row = row.by_name();
    let id = row.get("id")?;
    Ok(Workflow {
        id,
        content: content(&mut row)?,
        version: row.get("version")?,
        changed_version: row.get("changed_version")?,
        schedule_version: row.get("schedule_version")?,
        parts: Sum::parse(&row.get::<String>("parts")?)?,
        weight: Weight {
            tasks: row.get("task_count")?,
            bindings: row.get("binding_count")?,
            text_bytes: row.get("text_bytes")?,
        },
        status: status(&row.get::<String>("status")?)?,
        publication: publication(&row.get::<String>("publication")?)?,
        published_version: row.get("published_version")?,
        published_digest: row.get("published_digest")?,
        deployed: in_engine(&mut row, id)?,
        engine_schedule: row.get("engine_schedule")?,
        wanted: match row.get::<Option<String>>("wanted")? {
            Some(text) => Some(serde_json::from_str(&text).map_err(Error::internal)?),
            None => None,
        },
        wanted_tries: row.get("wanted_tries")?,
        engine_status: EngineStatus::parse(&row.get::<String>("engine_status")?)?,
        engine_error: row.get("engine_error")?,
        engine_drift: row.get("engine_drift")?,
        created_by: row.get("created_by")?,
        updated_by: row.get("updated_by")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

fn in_engine(row: &mut ByName<'_>, id: i64) -> Result<Option<Deployed>, Error> {
    let Some(engine) = row.get("engine")? else { return Ok(None) };
    let name: Option<String> = row.get("engine_name")?;
    Ok(Some(Deployed {
        id,
        engine,
        name: name.unwrap_or_default(),
        code: row.get("engine_code")?,
        project: row.get("engine_project")?,
        revision: row.get("engine_revision")?,
        version: row.get("engine_version")?,
        state: row.get("engine_state")?,
    }))
}

fn status(text: &str) -> Result<WorkflowStatus, Error> {
    match text {
        "draft" => Ok(WorkflowStatus::Draft),
        "offline" => Ok(WorkflowStatus::Offline),
        "online" => Ok(WorkflowStatus::Online),
        other => Err(Error::internal(anyhow::anyhow!("`{other}` is no status of a workflow"))),
    }
}

fn publication(text: &str) -> Result<PublicationState, Error> {
    match text {
        "none" => Ok(PublicationState::None),
        "pending" => Ok(PublicationState::Pending),
        "failed" => Ok(PublicationState::Failed),
        other => Err(Error::internal(anyhow::anyhow!("`{other}` is no state of a publication"))),
    }
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Workflow>, Error> {
    Ok(by_id(id).all(db).await?.pop())
}

pub fn by_id(id: i64) -> Select<Workflow> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM workflows WHERE id = $1 AND deleted_at IS NULL");
    Select::new(FIND, [id.into()], workflow)
}

/// The configuration of its engine.
pub fn engine_of(id: i64) -> Select<EngineRecord> {
    const ENGINE: &str =
        engines::named_by!("SELECT scheduler_engine FROM workflows WHERE id = $1 AND deleted_at IS NULL");
    Select::new(ENGINE, [id.into()], engines::engine)
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<Workflow>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM workflows WHERE id = $1 AND deleted_at IS NULL"),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM workflows WHERE id = $1 AND deleted_at IS NULL FOR UPDATE"
        ),
    };
    tx.query(tx.words(LOCK), &[id.into()]).await?.first().map(workflow).transpose()
}

/// A workflow of a list, with its newest execution.
pub type Listed = (Summary, Option<ExecutionView>);

/// Those of these workflows that exist, newest first; 400 if they are too large to be sent at once.
pub async fn page(db: &Db, ids: &[i64], paging: &Paging, zone: Tz) -> Result<Vec<Listed>, Error> {
    // Without contents above a limit.
    macro_rules! rows {
        ($store:ident, $ids:literal) => {
            concat!(
                "SELECT w.*, latest.* FROM (SELECT id, CASE WHEN octet_length(content) <= $2 THEN content END AS content, \
                 version, changed_version, status, publication, published_version, engine_code, engine_project, \
                 engine_schedule, engine_status, engine_error, engine_drift, created_by, updated_by, created_at, updated_at \
                 FROM workflows WHERE deleted_at IS NULL AND id ",
                $ids,
                ") AS w",
                join_latest!($store)
            )
        };
    }
    macro_rules! sizes {
        ($ids:literal) => {
            concat!(
                "SELECT CAST(coalesce(sum(octet_length(content)), 0) AS BIGINT), \
                 CAST(coalesce(max(octet_length(content)), 0) AS BIGINT) FROM workflows \
                 WHERE deleted_at IS NULL AND id ",
                $ids
            )
        };
    }
    const ROWS: Either = Either {
        sqlite: rows!(sqlite, "IN (SELECT value FROM json_each($1))"),
        postgres: rows!(postgres, "= ANY($1)"),
    };
    const SIZES: Either =
        Either { sqlite: sizes!("IN (SELECT value FROM json_each($1))"), postgres: sizes!("= ANY($1)") };
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    // If no content is larger than its share, the page fits.
    let mut values: [Value; 2] = [ids.into(), (PAGE_MAX_BYTES / paging.page_size).into()];
    let mut rows = db.read(db.words(ROWS), &values).await?;
    const CONTENT: usize = 1;
    if rows.iter().any(|row| row.is_null(CONTENT)) {
        let db = db.snapshot().await?;
        let sizes = db.read(db.words(SIZES), &values[..1]).await?;
        paging.refuse_over("pageSize", sizes[0].get(0)?, sizes[0].get(1)?)?;
        values[1] = PAGE_MAX_BYTES.into();
        rows = db.read(db.words(ROWS), &values).await?;
    }
    let mut page = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut row = row.by_name();
        page.push((summary(&mut row)?, ExecutionView::read(&mut row, zone)?));
    }
    // A join keeps no order by itself.
    page.sort_by_key(|(summary, _)| Reverse(summary.id));
    Ok(page)
}

/// The names of workflows after an id, by id.
pub async fn names_after(db: &Db, after_id: i64, limit: i64) -> Result<Vec<Named>, Error> {
    const AFTER: &str = "SELECT id, status, publication, published_version, changed_version, name_folded FROM workflows \
        WHERE deleted_at IS NULL AND id > $1 ORDER BY id LIMIT $2";
    db.read(AFTER, &[after_id.into(), limit.into()]).await?.iter().map(named).collect()
}

/// The names of those of these workflows that exist.
pub async fn names_of(db: &Db, ids: &[i64]) -> Result<Vec<Named>, Error> {
    const OF: Either = Either {
        sqlite: "SELECT id, status, publication, published_version, changed_version, name_folded FROM workflows \
            WHERE deleted_at IS NULL AND id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, status, publication, published_version, changed_version, name_folded FROM workflows WHERE deleted_at IS NULL AND id = ANY($1)",
    };
    db.read(db.words(OF), &[ids.into()]).await?.iter().map(named).collect()
}

fn named(row: &Row) -> Result<Named, Error> {
    let folded: String = row.get(5)?;
    let publication = publication(&row.get::<String>(2)?)?;
    Ok(Named {
        id: row.get(0)?,
        status: status(&row.get::<String>(1)?)?,
        publish_status: PublishStatus::of(publication, row.get(3)?, row.get(4)?),
        folded: folded.into(),
    })
}

fn summary(row: &mut ByName<'_>) -> Result<Summary, Error> {
    Ok(Summary {
        id: row.get("id")?,
        content: content(row)?,
        version: row.get("version")?,
        changed_version: row.get("changed_version")?,
        status: status(&row.get::<String>("status")?)?,
        publication: publication(&row.get::<String>("publication")?)?,
        published_version: row.get("published_version")?,
        engine_code: row.get("engine_code")?,
        engine_project: row.get("engine_project")?,
        engine_schedule: row.get("engine_schedule")?,
        engine_status: EngineStatus::parse(&row.get::<String>("engine_status")?)?,
        engine_error: row.get("engine_error")?,
        engine_drift: row.get("engine_drift")?,
        created_by: row.get("created_by")?,
        updated_by: row.get("updated_by")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

fn content(row: &mut ByName<'_>) -> Result<Content, Error> {
    serde_json::from_str(&row.get::<String>("content")?).map_err(Error::internal)
}

/// Inserts one; returns its id. 409 when the name is taken.
pub async fn insert(tx: &mut Tx, new: &Workflow) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO workflows (name, name_folded, scheduler_engine, content, version, \
        changed_version, schedule_version, parts, task_count, binding_count, text_bytes, status, publication, \
        created_by, updated_by, created_at, updated_at) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, 0, 0, 'draft', 'none', $9, $9, $10, $10) RETURNING id";
    let content = &new.content;
    let values: [Value; 10] = [
        content.name.as_str().into(),
        content.name.to_lowercase().into(),
        content.scheduler_engine.as_str().into(),
        content.text().into(),
        new.version.into(),
        new.changed_version.into(),
        new.schedule_version.into(),
        new.parts.text().into(),
        new.created_by.as_str().into(),
        new.created_at_ms.into(),
    ];
    let rows = tx.query(INSERT, &values).await.map_err(|error| taken(error, content))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Writes all columns that a change of the definition, without tasks, can affect. 409 when the name is taken.
pub async fn update(tx: &mut Tx, changed: &Workflow) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE workflows SET name = $2, name_folded = $3, scheduler_engine = $4, content = $5, \
        version = $6, changed_version = $7, schedule_version = $8, updated_by = $9, updated_at = $10 WHERE id = $1";
    let content = &changed.content;
    let values: [Value; 10] = [
        changed.id.into(),
        content.name.as_str().into(),
        content.name.to_lowercase().into(),
        content.scheduler_engine.as_str().into(),
        content.text().into(),
        changed.version.into(),
        changed.changed_version.into(),
        changed.schedule_version.into(),
        changed.updated_by.as_str().into(),
        changed.updated_at_ms.into(),
    ];
    tx.execute(UPDATE, &values).await.map(drop).map_err(|error| taken(error, content))
}

/// Writes all columns that a change of its tasks can affect.
pub fn update_parts(changed: &Workflow) -> Statement {
    const UPDATE: &str = "UPDATE workflows SET version = $2, changed_version = $3, parts = $4, task_count = $5, \
        binding_count = $6, text_bytes = $7, updated_by = $8, updated_at = $9 WHERE id = $1";
    let values: [Value; 9] = [
        changed.id.into(),
        changed.version.into(),
        changed.changed_version.into(),
        changed.parts.text().into(),
        changed.weight.tasks.into(),
        changed.weight.bindings.into(),
        changed.weight.text_bytes.into(),
        changed.updated_by.as_str().into(),
        changed.updated_at_ms.into(),
    ];
    Statement::new(UPDATE, values)
}

pub async fn set_status(tx: &mut Tx, id: i64, status: WorkflowStatus) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET status = $2 WHERE id = $1 AND deleted_at IS NULL";
    tx.execute(SET, &[id.into(), status.as_str().into()]).await.map(drop)
}

/// Stores its deployment.
pub async fn set_deployed(tx: &mut Tx, deployed: &Deployed) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET engine = $2, engine_name = $3, engine_code = $4, engine_project = $5, \
        engine_revision = $6, engine_version = $7, engine_state = $8, engine_drift = NULL WHERE id = $1";
    let values: [Value; 8] = [
        deployed.id.into(),
        deployed.engine.as_str().into(),
        deployed.name.as_str().into(),
        deployed.code.as_deref().into(),
        deployed.project.as_deref().into(),
        deployed.revision.as_deref().into(),
        deployed.version.as_deref().into(),
        deployed.state.as_deref().into(),
    ];
    tx.execute(SET, &values).await.map(drop)
}

/// Records that a version was deployed, with its digest and its schedule.
pub async fn set_published(tx: &mut Tx, workflow: &Workflow) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET published_version = $2, published_digest = $3, engine_schedule = $4, \
        changed_version = $5, status = $6 WHERE id = $1";
    let values: [Value; 6] = [
        workflow.id.into(),
        workflow.published_version.into(),
        workflow.published_digest.as_deref().into(),
        workflow.engine_schedule.as_deref().into(),
        workflow.changed_version.into(),
        workflow.status.as_str().into(),
    ];
    tx.execute(SET, &values).await.map(drop)
}

pub async fn set_changed_version(tx: &mut Tx, workflow: &Workflow) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET changed_version = $2 WHERE id = $1";
    tx.execute(SET, &[workflow.id.into(), workflow.changed_version.into()]).await.map(drop)
}

/// Records the schedule that the engine was given.
pub async fn set_engine_schedule(tx: &mut Tx, workflow: &Workflow) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET engine_schedule = $2, changed_version = $3, schedule_version = $4 \
        WHERE id = $1";
    let values: [Value; 4] = [
        workflow.id.into(),
        workflow.engine_schedule.as_deref().into(),
        workflow.changed_version.into(),
        workflow.schedule_version.into(),
    ];
    tx.execute(SET, &values).await.map(drop)
}

pub async fn set_publication(tx: &mut Tx, id: i64, publication: PublicationState) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET publication = $2 WHERE id = $1";
    tx.execute(SET, &[id.into(), publication.as_str().into()]).await.map(drop)
}

/// Notes what its engine is asked for and when that is due, or that nothing is. Returns the status of its engine.
pub async fn want(
    tx: &mut Tx,
    id: i64,
    wanted: Option<&Wanted>,
    due_at_ms: i64,
) -> Result<(EngineStatus, Option<String>), Error> {
    const WANT: &str = "UPDATE workflows SET wanted = $2, wanted_at = $3, wanted_tries = 0, engine_status = 'pending', \
        engine_error = NULL WHERE id = $1";
    let text = wanted.map(serde_json::to_string).transpose().map_err(Error::internal)?;
    tx.execute(WANT, &[id.into(), text.into(), wanted.map(|_| due_at_ms).into()]).await?;
    note_engine_status(tx, id).await
}

/// A change that is open at an engine.
pub struct OpenChange<'w> {
    pub wanted: &'w Wanted,
    pub due_at_ms: i64,
    /// How often it came to nothing.
    pub tries: i64,
    pub status: EngineStatus,
    /// Why it is still open.
    pub error: Option<&'w str>,
}

/// Notes what its engine is asked for, and how far that has come.
pub async fn set_open(tx: &mut Tx, id: i64, open: &OpenChange<'_>) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET wanted = $2, wanted_at = $3, wanted_tries = $4, engine_status = $5, \
        engine_error = $6 WHERE id = $1";
    let wanted = serde_json::to_string(open.wanted).map_err(Error::internal)?;
    let (status, error) = (open.status.as_str().into(), open.error.into());
    let values = [id.into(), wanted.into(), open.due_at_ms.into(), open.tries.into(), status, error];
    tx.execute(SET, &values).await.map(drop)
}

/// Derives the status of its engine, with its error: pending or failed while something is wanted, else what the last
/// deployment has made of it.
pub async fn note_engine_status(tx: &mut Tx, id: i64) -> Result<(EngineStatus, Option<String>), Error> {
    macro_rules! last {
        ($what:literal) => {
            concat!(
                "(SELECT ",
                $what,
                " FROM publications WHERE workflow_id = $1 AND deployment_state IS NOT NULL ORDER BY id DESC LIMIT 1)"
            )
        };
    }
    const NOTE: &str = concat!(
        "UPDATE workflows SET engine_status = CASE WHEN wanted IS NOT NULL THEN \
         CASE engine_status WHEN 'failed' THEN 'failed' ELSE 'pending' END ELSE coalesce(",
        last!("CASE deployment_state WHEN 'success' THEN NULL ELSE deployment_state END"),
        ", 'in_sync') END, engine_error = CASE WHEN wanted IS NOT NULL THEN engine_error ELSE ",
        last!(
            "CASE deployment_state WHEN 'failed' THEN \
               'version ' || CAST(version AS TEXT) || ' was not deployed: ' || coalesce(deployment_error, '') END"
        ),
        " END WHERE id = $1 RETURNING engine_status, engine_error"
    );
    let rows = tx.query(NOTE, &[id.into()]).await?;
    let row = rows.first().ok_or_else(|| Error::not_found("workflow", id))?;
    Ok((EngineStatus::parse(&row.get::<String>(0)?)?, row.get(1)?))
}

/// Workflows of whose engines something is due, so many of each at most, with the engines, longest overdue first. What would be
/// due later than the longest pause was noted by a clock that has gone back, and is due.
pub async fn due_at_engines(
    db: &Db,
    now_ms: i64,
    longest_ms: i64,
    of_engine: i64,
) -> Result<Vec<(i64, String)>, Error> {
    const DUE: &str = "SELECT id, engine FROM (SELECT id, engine, due, row_number() OVER (PARTITION BY engine ORDER BY due, id) \
        AS place FROM (SELECT id, engine, wanted_at AS due FROM workflows \
        WHERE wanted_at IS NOT NULL AND (wanted_at <= $1 OR wanted_at > $3) AND deleted_at IS NULL UNION ALL \
        SELECT id, engine, removal_at FROM workflows WHERE removal_at IS NOT NULL AND (removal_at <= $1 OR removal_at > $3)) AS both_kinds \
        WHERE engine IS NOT NULL) AS placed WHERE place <= $2 ORDER BY due, id";
    let values = [now_ms.into(), of_engine.into(), (now_ms + longest_ms).into()];
    let rows = db.read(DUE, &values).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Tries later what is due at its engine.
pub async fn postpone_at_engine(db: &Db, id: i64, at_ms: i64) -> Result<(), Error> {
    const POSTPONE: &str = "UPDATE workflows SET wanted_at = CASE WHEN wanted_at IS NOT NULL THEN $2 END, \
        removal_at = CASE WHEN removal_at IS NOT NULL THEN $2 END WHERE id = $1";
    db.execute(POSTPONE, &[id.into(), at_ms.into()]).await.map(drop)
}

pub async fn delete(tx: &mut Tx, id: i64, by: &str, now_ms: i64) -> Result<(), Error> {
    const DELETE: &str =
        "UPDATE workflows SET deleted_at = $3, updated_at = $3, updated_by = $2 WHERE id = $1";
    tx.execute(DELETE, &[id.into(), by.into(), now_ms.into()]).await.map(drop)
}

/// Notes that its engine still has a deleted workflow after a first attempt, and when to ask it again.
pub async fn begin_removal(tx: &mut Tx, id: i64, next_at_ms: i64, error: Option<&str>) -> Result<(), Error> {
    const BEGIN: &str = "UPDATE workflows SET removal_at = $2, removal_error = $3, removal_tries = 1 \
        WHERE id = $1 AND deleted_at IS NOT NULL";
    tx.execute(BEGIN, &[id.into(), next_at_ms.into(), error.into()]).await.map(drop)
}

/// Notes another attempt, unless the removal was given up meanwhile.
pub async fn retry_removal(tx: &mut Tx, id: i64, next_at_ms: i64, error: &str) -> Result<(), Error> {
    const RETRY: &str = "UPDATE workflows SET removal_at = $2, removal_error = $3, removal_tries = removal_tries + 1 \
        WHERE id = $1 AND removal_at IS NOT NULL";
    tx.execute(RETRY, &[id.into(), next_at_ms.into(), error.into()]).await.map(drop)
}

/// False if there is none.
pub async fn end_removal(tx: &mut Tx, id: i64) -> Result<bool, Error> {
    const END: &str = "UPDATE workflows SET removal_at = NULL, removal_error = NULL WHERE id = $1 AND removal_at IS NOT NULL";
    Ok(tx.execute(END, &[id.into()]).await? > 0)
}

/// The pending removal of a workflow.
pub async fn removal(db: &Db, id: i64) -> Result<Option<Removal>, Error> {
    const REMOVAL: &str = concat!(removals!(), "FROM workflows WHERE id = $1 AND removal_at IS NOT NULL");
    Ok(db.read(REMOVAL, &[id.into()]).await?.first().map(read_removal).transpose()?.flatten())
}

/// The deleted workflows that their engines still have, and that are due by a time; those due first come first.
pub async fn removals(db: &Db, by_ms: i64, limit: i64) -> Result<Vec<Removal>, Error> {
    const REMOVALS: &str = concat!(
        removals!(),
        "FROM workflows WHERE removal_at IS NOT NULL AND removal_at <= $1 ORDER BY removal_at, id LIMIT $2"
    );
    let rows = db.read(REMOVALS, &[by_ms.into(), limit.into()]).await?;
    rows.iter().filter_map(|row| read_removal(row).transpose()).collect()
}

fn read_removal(row: &Row) -> Result<Option<Removal>, Error> {
    let mut row = row.by_name();
    let id = row.get("id")?;
    let Some(deployed) = in_engine(&mut row, id)? else { return Ok(None) };
    Ok(Some(Removal {
        deployed,
        deleted_at_ms: row.get("deleted_at")?,
        next_at_ms: row.get("removal_at")?,
        tries: row.get("removal_tries")?,
        error: row.get("removal_error")?,
    }))
}

/// The deployments in an engine, by id.
pub async fn deployed(db: &Db, engine: &str) -> Result<Vec<Deployed>, Error> {
    const DEPLOYED: &str = "SELECT id, engine, engine_name, engine_code, engine_project, engine_revision, \
        engine_version, engine_state FROM workflows WHERE engine = $1 AND status <> 'draft' AND deleted_at IS NULL ORDER BY id";
    let rows = db.read(DEPLOYED, &[engine.into()]).await?;
    rows.iter()
        .filter_map(|row| row.get(0).and_then(|id| in_engine(&mut row.by_name(), id)).transpose())
        .collect()
}

/// The deployments in an engine of which nothing is open, and which is not known to have failed.
pub async fn settled_at_engine(db: &Db, engine: &str) -> Result<Vec<drift::Wanted>, Error> {
    const SETTLED: &str = "SELECT id, engine_code, engine_project, engine_revision, engine_version, status, engine_drift FROM workflows \
        WHERE engine = $1 AND status <> 'draft' AND deleted_at IS NULL AND engine_code IS NOT NULL AND wanted IS NULL \
        AND engine_status = 'in_sync' ORDER BY id";
    let rows = db.read(SETTLED, &[engine.into()]).await?;
    let wanted = |row: &Row| {
        Ok(drift::Wanted {
            id: row.get(0)?,
            code: row.get(1)?,
            project: row.get(2)?,
            revision: row.get(3)?,
            version: row.get(4)?,
            status: status(&row.get::<String>(5)?)?,
            drift: row.get(6)?,
        })
    };
    rows.iter().map(wanted).collect()
}

/// Notes what differs in the engine, unless the workflow was changed meanwhile.
pub async fn set_drift(tx: &mut Tx, of: &drift::Wanted, drift: Option<&str>) -> Result<bool, Error> {
    const SET: &str = "UPDATE workflows SET engine_drift = $5 WHERE id = $1 AND engine_code = $2 AND status = $3 \
        AND coalesce(engine_revision, '') = $4 AND wanted IS NULL AND engine_status = 'in_sync' AND deleted_at IS NULL";
    let revision = of.revision.as_deref().unwrap_or_default();
    let values =
        [of.id.into(), of.code.as_str().into(), of.status.as_str().into(), revision.into(), drift.into()];
    Ok(tx.execute(SET, &values).await? > 0)
}

/// The names of existing ones, by id.
pub async fn names(db: &Db, ids: &[i64]) -> Result<HashMap<i64, String>, Error> {
    const NAMES: Either = Either {
        sqlite: "SELECT id, name FROM workflows WHERE deleted_at IS NULL \
            AND id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, name FROM workflows WHERE deleted_at IS NULL \
            AND id = ANY($1)",
    };
    let rows = db.read(db.words(NAMES), &[ids.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// The live workflow of this name.
pub async fn id_of_name(db: &Db, name: &str) -> Result<Option<i64>, Error> {
    const NAMED: &str = "SELECT id FROM workflows WHERE name = $1 AND deleted_at IS NULL";
    db.read(NAMED, &[name.into()]).await?.first().map(|row| row.get(0)).transpose()
}

/// The live workflows that an engine has under these codes: ids, codes and projects.
pub async fn ids_of_codes(
    db: &Db,
    engine: &str,
    codes: &[&str],
) -> Result<Vec<(i64, String, Option<String>)>, Error> {
    const CODES: Either = Either {
        sqlite: "SELECT id, engine_code, engine_project FROM workflows WHERE engine = $1 AND deleted_at IS NULL \
            AND status <> 'draft' AND engine_code IN (SELECT value FROM json_each($2)) ORDER BY id",
        postgres: "SELECT id, engine_code, engine_project FROM workflows WHERE engine = $1 AND deleted_at IS NULL \
            AND status <> 'draft' \
            AND engine_code = ANY(ARRAY(SELECT json_array_elements_text(CAST($2 AS json)))) ORDER BY id",
    };
    let codes = serde_json::to_string(codes).map_err(Error::internal)?;
    let rows = db.read(db.words(CODES), &[engine.into(), codes.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).collect()
}

/// The deleted workflows that an engine still has to remove.
pub async fn count_of_removals(tx: &mut Tx, engine: &str) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(*) FROM workflows WHERE removal_at IS NOT NULL AND engine = $1";
    tx.query(COUNT, &[engine.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}

pub async fn count_of_engine(tx: &mut Tx, engine: &str) -> Result<i64, Error> {
    const COUNT: &str = "SELECT count(*) FROM workflows \
        WHERE deleted_at IS NULL AND (scheduler_engine = $1 OR engine = $1)";
    tx.query(COUNT, &[engine.into()]).await?.first().map_or(Ok(0), |row| row.get(0))
}

fn taken(error: Error, content: &Content) -> Error {
    let name = &content.name;
    error.unique_as("name_taken", format!("there is a workflow named `{name}` already; take another name"))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
