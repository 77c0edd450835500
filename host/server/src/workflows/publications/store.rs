//! Publications in the store. A workflow has at most one that waits for its decision, and one that is being
//! deployed.

use lakeport_base::Error;
use lakeport_store::{Db, Either, Row, Select, Tx, Value};
use serde::de::DeserializeOwned;

use super::{Deployment, Publication, Status};
use crate::workflows::PublicationState;

/// The most deployments that are read, of all workflows.
const PENDING_MAX: i64 = 500;

/// Columns of a publication, in the order of [`publication`].
macro_rules! columns {
    () => {
        "id, workflow_id, version, status, comment, submitted_by, submitter, submitted_at, decided_by, decided_at, \
         decision_comment, deployment_state, deployment_code, deployment_error, deployment_started_at, \
         deployment_finished_at"
    };
}

fn publication(row: &Row) -> Result<Publication, Error> {
    let mut row = row.by_name();
    let deployment = match row.get::<Option<String>>("deployment_state")? {
        None => None,
        Some(state) => Some(Deployment {
            state: word(state)?,
            code: row.get("deployment_code")?,
            error: row.get("deployment_error")?,
            started_at_ms: row.get::<Option<i64>>("deployment_started_at")?.unwrap_or_default(),
            finished_at_ms: row.get("deployment_finished_at")?,
        }),
    };
    Ok(Publication {
        id: row.get("id")?,
        workflow_id: row.get("workflow_id")?,
        version: row.get("version")?,
        status: word(row.get("status")?)?,
        comment: row.get("comment")?,
        submitted_by: row.get("submitted_by")?,
        submitter: row.get("submitter")?,
        submitted_at_ms: row.get("submitted_at")?,
        decided_by: row.get("decided_by")?,
        decided_at_ms: row.get("decided_at")?,
        decision_comment: row.get("decision_comment")?,
        deployment,
    })
}

fn word<T: DeserializeOwned>(text: String) -> Result<T, Error> {
    serde_json::from_value(text.into()).map_err(Error::internal)
}

/// Inserts one that waits for its decision; returns its id. 409 if another one is waiting.
pub async fn insert(tx: &mut Tx, new: &Publication) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO publications (workflow_id, version, status, comment, submitted_by, submitter, \
        submitted_at) VALUES ($1, $2, 'PENDING', $3, $4, $5, $6) RETURNING id";
    let values: [Value; 6] = [
        new.workflow_id.into(),
        new.version.into(),
        new.comment.as_deref().into(),
        new.submitted_by.as_str().into(),
        new.submitter.as_str().into(),
        new.submitted_at_ms.into(),
    ];
    let message = "a version of the workflow waits for its approval already; have that decided first";
    let rows = tx.query(INSERT, &values).await;
    let rows = rows.map_err(|error| error.unique_as("publication_pending", message))?;
    rows.first().map_or_else(|| Err(Error::internal(anyhow::anyhow!("it was not stored"))), |row| row.get(0))
}

/// Locks the one with this id and workflow against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, workflow_id: i64, id: i64) -> Result<Option<Publication>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM publications WHERE id = $1 AND workflow_id = $2"),
        postgres: concat!(
            "SELECT ",
            columns!(),
            " FROM publications WHERE id = $1 AND workflow_id = $2 FOR UPDATE"
        ),
    };
    let values = [id.into(), workflow_id.into()];
    tx.query(tx.words(LOCK), &values).await?.first().map(publication).transpose()
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Publication>, Error> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM publications WHERE id = $1");
    db.read(FIND, &[id.into()]).await?.first().map(publication).transpose()
}

/// The newest ones of a workflow, newest first.
pub fn newest(workflow_id: i64, limit: i64) -> Select<Publication> {
    const NEWEST: &str =
        concat!("SELECT ", columns!(), " FROM publications WHERE workflow_id = $1 ORDER BY id DESC LIMIT $2");
    Select::new(NEWEST, [workflow_id.into(), limit.into()], publication)
}

/// Whether a later one of the workflow was approved, or is waiting.
pub async fn is_followed(tx: &mut Tx, record: &Publication) -> Result<bool, Error> {
    const LATER: &str =
        "SELECT id FROM publications WHERE workflow_id = $1 AND id > $2 AND status <> 'REJECTED' LIMIT 1";
    Ok(!tx.query(LATER, &[record.workflow_id.into(), record.id.into()]).await?.is_empty())
}

/// Records the decision. An approval starts the deployment: 409 if another one of the workflow is running.
pub async fn decide(tx: &mut Tx, record: &Publication) -> Result<(), Error> {
    const DECIDE: &str = "UPDATE publications SET status = $2, decided_by = $3, decided_at = $4, \
        decision_comment = $5, deployment_state = $6, deployment_started_at = $7, deployment_code = NULL, \
        deployment_error = NULL, deployment_finished_at = NULL WHERE id = $1";
    let status = match record.status {
        Status::Pending => "PENDING",
        Status::Approved => "APPROVED",
        Status::Rejected => "REJECTED",
    };
    let values: [Value; 7] = [
        record.id.into(),
        status.into(),
        record.decided_by.as_deref().into(),
        record.decided_at_ms.into(),
        record.decision_comment.as_deref().into(),
        record.deployment.as_ref().map(|_| "pending").into(),
        record.deployment.as_ref().map(|deployment| deployment.started_at_ms).into(),
    ];
    tx.execute(DECIDE, &values).await.map(drop).map_err(|error| {
        error.unique_as("deployment_running", "another version is being deployed; try again")
    })
}

/// Workflows whose published version has no digest, with that version.
pub async fn without_digest(db: &Db, limit: i64) -> Result<Vec<(i64, i64)>, Error> {
    const WITHOUT: &str = "SELECT id, published_version FROM workflows \
        WHERE published_version IS NOT NULL AND published_digest IS NULL AND deleted_at IS NULL ORDER BY id LIMIT $1";
    let rows = db.read(WITHOUT, &[limit.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

pub async fn set_digest(db: &Db, workflow_id: i64, version: i64, digest: &str) -> Result<(), Error> {
    const SET: &str = "UPDATE workflows SET published_digest = $3 \
        WHERE id = $1 AND published_version = $2 AND published_digest IS NULL";
    db.execute(SET, &[workflow_id.into(), version.into(), digest.into()]).await.map(drop)
}

macro_rules! pending {
    ($engine:literal) => {
        concat!(
            "SELECT engine, ",
            columns!(),
            " FROM (SELECT *, row_number() OVER (PARTITION BY engine ORDER BY id) AS place FROM \
             (SELECT p.*, coalesce(w.engine, ",
            $engine,
            ") AS engine FROM publications p JOIN workflows w ON w.id = p.workflow_id \
             WHERE p.deployment_state = 'pending') AS open) AS placed WHERE place <= $1 ORDER BY id LIMIT $2"
        )
    };
}

/// Pending deployments with their engines, oldest first, so many of each engine.
pub async fn pending(db: &Db, of_engine: usize) -> Result<Vec<(Publication, String)>, Error> {
    const PENDING: Either = Either {
        sqlite: pending!("json_extract(w.content, '$.schedulerEngine')"),
        postgres: pending!("(w.content::json ->> 'schedulerEngine')"),
    };
    let rows = db.read(db.words(PENDING), &[(of_engine as i64).into(), PENDING_MAX.into()]).await?;
    rows.iter().map(|row| Ok((publication(row)?, row.by_name().get("engine")?))).collect()
}

/// Ends the deployment; with an error it failed. False if it had ended already.
pub async fn end(
    tx: &mut Tx,
    id: i64,
    code: Option<&str>,
    error: Option<&str>,
    now_ms: i64,
) -> Result<bool, Error> {
    const END: &str = "UPDATE publications SET deployment_state = $2, deployment_code = $3, deployment_error = $4, \
        deployment_finished_at = $5 WHERE id = $1 AND deployment_state = 'pending'";
    let state = if error.is_some() { "failed" } else { "success" };
    let values = [id.into(), state.into(), code.into(), error.into(), now_ms.into()];
    Ok(tx.execute(END, &values).await? > 0)
}

/// The state of the newest one that was not rejected.
pub async fn state_of(tx: &mut Tx, workflow_id: i64) -> Result<PublicationState, Error> {
    const STATE: &str = "SELECT status = 'PENDING' OR deployment_state = 'pending', deployment_state = 'failed' \
        FROM publications WHERE workflow_id = $1 AND status <> 'REJECTED' ORDER BY id DESC LIMIT 1";
    let rows = tx.query(STATE, &[workflow_id.into()]).await?;
    let Some(row) = rows.first() else { return Ok(PublicationState::None) };
    let is = |at| Ok::<bool, Error>(row.get::<Option<bool>>(at)?.unwrap_or_default());
    Ok(match (is(0)?, is(1)?) {
        (true, _) => PublicationState::Pending,
        (_, true) => PublicationState::Failed,
        _ => PublicationState::None,
    })
}

/// For a deleted workflow: rejects the waiting one, fails the pending deployment.
pub async fn end_of(tx: &mut Tx, workflow_id: i64, by: &str, now_ms: i64) -> Result<(), Error> {
    const WHY: &str = "the workflow was deleted";
    const REJECT: &str = "UPDATE publications SET status = 'REJECTED', decided_by = $2, decided_at = $3, \
        decision_comment = $4 WHERE workflow_id = $1 AND status = 'PENDING'";
    const FAIL: &str = "UPDATE publications SET deployment_state = 'failed', deployment_error = $2, \
        deployment_finished_at = $3 WHERE workflow_id = $1 AND deployment_state = 'pending'";
    tx.execute(REJECT, &[workflow_id.into(), by.into(), now_ms.into(), WHY.into()]).await?;
    tx.execute(FAIL, &[workflow_id.into(), WHY.into(), now_ms.into()]).await.map(drop)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
