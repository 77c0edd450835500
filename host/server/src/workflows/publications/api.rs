//! Handlers of publications.

use std::time::Duration;

use lakeport_base::error::{Detail, Error};
use lakeport_http::{Answer, Caller, Data, Identity, Json, Nothing, OptionalJson};
use lakeport_store::Tx;
use tokio::time::Instant;

use super::build::Submitted;
use super::{Deployment, DeploymentState, Publication, PublicationView, Status, TOPIC, check, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;
use crate::idempotency;
use crate::turns;
use crate::workflows::api::{engine_client, unknown};
use crate::workflows::forms::{
    COMMENT_MAX_CHARS, DecidePublication, Decision, PublicationPath, PublishWorkflow, WorkflowPath,
};
use crate::workflows::{self, PublicationState, Workflow, rights, store as workflow_store, versions};
use crate::workflows::{Call, Workflows};

/// How long an approval's answer waits for the deployment's end.
const WAIT: Duration = Duration::from_secs(2);

/// `POST /api/v1/workflows/{id}/publish`
pub async fn publish(
    call: Call<WorkflowPath, Nothing, OptionalJson<PublishWorkflow>>,
) -> Result<Data<PublicationView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let comment = call.body.0.as_ref().and_then(|form| form.comment.clone());
    check_comment(comment.as_deref())?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    for _ in 0..turns::TRIES {
        let known = workflows::get(state, id).await?;
        rights::check_read(&state.db, &rights, id, known.version).await?;
        refuse_empty(&known)?;
        let missing = || Error::not_found("version", known.version);
        let submitted = Submitted::read(state, &known, known.version).await?.ok_or_else(missing)?;
        let client = engine_client(state, known.engine(), call.request_id.as_str()).await?;
        // Before the transaction, because it asks the engine's plugin.
        check::check(state, id, &submitted, &client).await?.refuse()?;
        let mut tx = state.db.begin().await?;
        let workflow = workflow_store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
        if workflow.version == known.version {
            rights::check_version(&mut tx, &rights, workflow.id, workflow.version).await?;
            return submit(&call, tx, &workflow, comment).await;
        }
    }
    let message = "others are changing the workflow; nothing was submitted, try again";
    Err(Error::unavailable("store_busy", message).retry_after(1))
}

fn refuse_empty(workflow: &Workflow) -> Result<(), Error> {
    if workflow.weight.tasks > 0 {
        return Ok(());
    }
    Err(Error::conflict("no_tasks", "the workflow has no task; there is nothing to publish"))
}

async fn submit(
    call: &Call<WorkflowPath, Nothing, OptionalJson<PublishWorkflow>>,
    mut tx: Tx,
    workflow: &Workflow,
    comment: Option<String>,
) -> Result<Data<PublicationView>, Error> {
    let state = &call.state;
    let mut record = Publication {
        id: 0,
        workflow_id: workflow.id,
        version: workflow.version,
        status: Status::Pending,
        comment,
        submitted_by: call.caller.name.clone(),
        submitter: call.caller.key(),
        submitted_at_ms: state.clock.now_ms(),
        decided_by: None,
        decided_at_ms: None,
        decision_comment: None,
        deployment: None,
    };
    record.id = store::insert(&mut tx, &record).await?;
    settle(&mut tx, &record, Some(PublicationState::Pending)).await?;
    let answer = Data::new(&PublicationView::new(&record, state.config.time_zone));
    call.commit(tx, Change::of("publication", record.id).after(&record.version), answer).await
}

fn check_comment(comment: Option<&str>) -> Result<(), Error> {
    if comment.is_none_or(|comment| comment.chars().count() <= COMMENT_MAX_CHARS) {
        return Ok(());
    }
    let why = format!("must have {COMMENT_MAX_CHARS} characters at most");
    Err(Error::invalid(vec![Detail::new("comment", why)]))
}

/// Updates the workflow's publication state and that of its engine, and announces both changes.
pub(super) async fn settle(
    tx: &mut Tx,
    record: &Publication,
    known: Option<PublicationState>,
) -> Result<(), Error> {
    let state = match known {
        Some(state) => state,
        None => store::state_of(tx, record.workflow_id).await?,
    };
    workflow_store::set_publication(tx, record.workflow_id, state).await?;
    workflow_store::note_engine_status(tx, record.workflow_id).await?;
    tx.changed(TOPIC, record.id.to_string());
    tx.changed(workflows::TOPIC, record.workflow_id.to_string());
    Ok(())
}

/// `POST /api/v1/workflows/{id}/publish/{recordId}/approve`
pub async fn decide(
    call: Call<PublicationPath, Nothing, Json<DecidePublication>>,
) -> Result<Data<PublicationView>, Error> {
    let (state, path) = (&call.state, &call.path);
    let form = &call.body;
    check_comment(form.comment.as_deref())?;
    workflows::get(state, path.id).await?;
    let engine = engine_of(state, path).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let now_ms = state.clock.now_ms();
    let mut tx = state.db.begin().await?;
    let workflow = workflow_store::lock(&mut tx, path.id).await?.ok_or_else(|| unknown(path.id))?;
    let before = store::lock(&mut tx, path.id, path.record_id).await?;
    let before = before.ok_or_else(|| Error::not_found("publication", path.record_id))?;
    rights::check_version(&mut tx, &rights, workflow.id, before.version).await?;
    refuse_decided(&mut tx, &before, form.status).await?;
    if form.status == Decision::Approved {
        refuse_moved(&workflow, &engine)?;
        // A script may do anything: another person looks at it in any case.
        let has_scripts = versions::has_scripts(workflow.id, before.version).all_in(&mut tx).await?;
        if state.config.publication_four_eyes {
            refuse_submitter(&call.caller, &before, "setting publication.four_eyes")?;
        } else if !has_scripts.is_empty() {
            refuse_submitter(&call.caller, &before, "it has SHELL tasks")?;
        }
    }
    let mut after = before.clone();
    after.decided_by = Some(call.caller.name.clone());
    after.decided_at_ms = Some(now_ms);
    after.decision_comment.clone_from(&form.comment);
    (after.status, after.deployment) = match form.status {
        Decision::Rejected => (Status::Rejected, None),
        Decision::Approved => (Status::Approved, Some(begun(now_ms))),
    };
    store::decide(&mut tx, &after).await?;
    settle(&mut tx, &after, None).await?;
    let change = Change::of("publication", after.id).before(&before.status).after(&after.status);
    // The answer to a repeat of this request if this server dies before it answers.
    let answer = Data::new(&PublicationView::new(&after, state.config.time_zone));
    if form.status == Decision::Rejected {
        return call.commit(tx, change, answer).await;
    }
    call.commit_begun(tx, change, answer, WAIT).await?;
    let key = after.id.to_string();
    let look = || async { Ok(store::find(&state.db, after.id).await?.unwrap_or_else(|| after.clone())) };
    let ended = state.wait_for(TOPIC, Some(&key), Instant::now() + WAIT, look, has_ended).await?;
    let answer = Data::new(&PublicationView::new(&ended, state.config.time_zone));
    if let Some(attempt) = &call.attempt {
        idempotency::end(state, attempt, Ok(answer.reply())).await?;
    }
    Ok(answer)
}

/// The engine of the version that was submitted, which never changes.
async fn engine_of(state: &Workflows, path: &PublicationPath) -> Result<String, Error> {
    let record = store::find(&state.db, path.record_id).await?.filter(|record| record.workflow_id == path.id);
    let record = record.ok_or_else(|| Error::not_found("publication", path.record_id))?;
    let content = versions::content_at(path.id, record.version).all(&state.db).await?.pop();
    let content = content.ok_or_else(|| Error::not_found("version", record.version))?;
    Ok(content.scheduler_engine)
}

/// 409 if the workflow has moved to another engine since the submission.
fn refuse_moved(workflow: &Workflow, engine: &str) -> Result<(), Error> {
    let now = workflow.engine();
    if now == engine {
        return Ok(());
    }
    let message = format!(
        "it was submitted for the engine `{engine}`, and the workflow is on `{now}` now; submit it again"
    );
    Err(Error::conflict("already_decided", message))
}

fn begun(now_ms: i64) -> Deployment {
    Deployment {
        state: DeploymentState::Pending,
        code: None,
        error: None,
        started_at_ms: now_ms,
        finished_at_ms: None,
    }
}

/// 409 if the publication was decided before, except that a failed deployment may be approved again unless a later
/// version was submitted.
async fn refuse_decided(tx: &mut Tx, record: &Publication, decision: Decision) -> Result<(), Error> {
    let has_failed =
        record.deployment.as_ref().is_some_and(|deployment| deployment.state == DeploymentState::Failed);
    let is_again = record.status == Status::Approved && has_failed && decision == Decision::Approved;
    if record.status == Status::Pending || (is_again && !store::is_followed(tx, record).await?) {
        return Ok(());
    }
    let message = match record.status {
        Status::Rejected => "it was rejected already; submit the workflow again",
        _ if is_again => "a later version was submitted since; decide that one",
        _ => "it was approved already",
    };
    Err(Error::conflict("already_decided", message))
}

fn refuse_submitter(caller: &Caller, record: &Publication, why: &str) -> Result<(), Error> {
    if caller.identity == Identity::Local || caller.key() != record.submitter {
        return Ok(());
    }
    let message = format!("you submitted it yourself; another user must approve it ({why})");
    Err(Error::forbidden("four_eyes", message))
}

/// Whether its deployment has ended.
fn has_ended(record: &Publication) -> bool {
    record.deployment.as_ref().is_none_or(|deployment| deployment.state != DeploymentState::Pending)
}
