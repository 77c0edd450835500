//! The same request for several workflows: each has its own outcome, and is its own change.

use std::collections::HashSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderMap;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use lakeport_base::error::{Detail, Error};
use lakeport_http::{Answer, Attempt, Body, Data, Json, Nothing, OptionalJson, PAGE_MAX_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::forms::{
    BATCH_MAX, PublishSeveral, PublishWorkflow, SeveralWorkflows, WorkflowPath, WorkflowStatus,
};
use super::publications::{self, PublicationView};
use super::transfer::export::{Export, of_workflow};
use super::view::WorkflowView;
use super::{Call, schedules};
use crate::audit;
use crate::datasources::Rights;

/// Workflows that are worked on at once.
const AT_ONCE: usize = 8;
/// After this time no more is begun, so that the answer comes before the request's deadline.
const BEGUN_WITHIN: Duration = Duration::from_secs(15);

/// The outcomes of a request for several workflows, in the order of their ids in the request.
#[derive(Serialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(rename = "BatchOf{T}")]
pub struct Batch<T> {
    succeeded: usize,
    failed: usize,
    results: Vec<Outcome<T>>,
}

/// The outcome for one workflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", bound = "")]
#[schemars(rename = "OutcomeOf{T}")]
pub struct Outcome<T> {
    workflow_id: i64,
    ok: bool,
    /// What the request for this workflow alone answers; null: it failed.
    #[schemars(with = "Option<T>")]
    data: Option<Box<RawValue>>,
    /// Null: it succeeded.
    error: Option<BatchError>,
    #[serde(skip)]
    _data: PhantomData<fn() -> T>,
}

/// The error of the request for one workflow.
#[derive(Serialize, JsonSchema)]
pub struct BatchError {
    /// The HTTP status of the request for this workflow alone.
    code: u16,
    error: String,
    message: String,
    details: Vec<BatchDetail>,
}

#[derive(Serialize, JsonSchema)]
pub struct BatchDetail {
    field: String,
    message: String,
}

impl BatchError {
    fn of(error: &Error) -> BatchError {
        let details = match error {
            Error::Refused(refusal) => refusal.details.clone(),
            Error::Internal(_) => Vec::new(),
        };
        let detail = |detail: Detail| BatchDetail { field: detail.field, message: detail.message };
        BatchError {
            code: error.status(),
            error: error.code().to_owned(),
            message: error.message().to_owned(),
            details: details.into_iter().map(detail).collect(),
        }
    }
}

/// `POST /api/v1/workflows/batch/online`
pub async fn online(
    call: Call<Nothing, Nothing, Json<SeveralWorkflows>>,
) -> Result<Data<Batch<WorkflowView>>, Error> {
    switch(&call, WorkflowStatus::Online, "online").await
}

/// `POST /api/v1/workflows/batch/offline`
pub async fn offline(
    call: Call<Nothing, Nothing, Json<SeveralWorkflows>>,
) -> Result<Data<Batch<WorkflowView>>, Error> {
    switch(&call, WorkflowStatus::Offline, "offline").await
}

async fn switch(
    call: &Call<Nothing, Nothing, Json<SeveralWorkflows>>,
    status: WorkflowStatus,
    verb: &str,
) -> Result<Data<Batch<WorkflowView>>, Error> {
    check(&call.body.workflow_ids)?;
    each(call, &call.body.workflow_ids, &format!("schedule/{verb}"), |id, attempt| {
        let part = part(call, id, Nothing {}, attempt);
        async move { schedules::switch(&part, status).await }.boxed()
    })
    .await
}

/// `POST /api/v1/workflows/batch/publish`
pub async fn publish(
    call: Call<Nothing, Nothing, Json<PublishSeveral>>,
) -> Result<Data<Batch<PublicationView>>, Error> {
    check(&call.body.workflow_ids)?;
    each(&call, &call.body.workflow_ids, "publish", |id, attempt| {
        let form = PublishWorkflow { comment: call.body.comment.as_ref().map(|comment| comment.0.clone()) };
        publications::publish(part(&call, id, OptionalJson(Some(form)), attempt)).boxed()
    })
    .await
}

/// `POST /api/v1/workflows/batch/export`
pub async fn export(
    call: Call<Nothing, Nothing, Json<SeveralWorkflows>>,
) -> Result<Data<Batch<Export>>, Error> {
    check(&call.body.workflow_ids)?;
    let rights = Rights::of(&call.state.db, &call.caller).await?;
    let mut left = usize::try_from(PAGE_MAX_BYTES).unwrap_or_default();
    let mut results = Vec::with_capacity(call.body.workflow_ids.len());
    // One after the other: what does not fit any more is not read.
    for id in &call.body.workflow_ids {
        let outcome = async {
            let content = of_workflow(&call.state, &rights, *id).await?;
            let data = Data::new(&Export { file_name: content.file_name(), content });
            let bytes = data.reply().content.whole().map_or(0, |body| body.len());
            left = left.checked_sub(bytes).ok_or_else(too_large)?;
            Ok(data)
        };
        results.push(Outcome::of(*id, outcome.await));
    }
    Ok(Data::new(&Batch::of(results)))
}

fn too_large() -> Error {
    let message =
        format!("the answer would have more than {PAGE_MAX_BYTES} bytes; export it in another request");
    Error::conflict("answer_too_large", message)
}

/// 400 for a list of ids that is not sound.
fn check(ids: &[i64]) -> Result<(), Error> {
    let mut wrong = Vec::new();
    if ids.is_empty() || ids.len() > BATCH_MAX {
        wrong.push(Detail::new("workflowIds", format!("must have 1 to {BATCH_MAX} ids")));
    }
    let mut seen = HashSet::new();
    if let Some(at) = ids.iter().position(|id| !seen.insert(*id)) {
        wrong.push(Detail::new(format!("workflowIds[{at}]"), "is there more than once"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::invalid(wrong)) }
}

/// The request for one of the workflows.
fn part<B, C: Body>(
    call: &Call<Nothing, Nothing, B>,
    id: i64,
    body: C,
    attempt: Option<Arc<Attempt>>,
) -> Call<WorkflowPath, Nothing, C> {
    Call {
        state: Arc::clone(&call.state),
        caller: Arc::clone(&call.caller),
        request_id: call.request_id.clone(),
        peer: call.peer,
        headers: HeaderMap::new(),
        path: WorkflowPath { id },
        query: Nothing {},
        body,
        started: call.started,
        deadline: call.deadline,
        attempt,
    }
}

/// Makes the request of each workflow, which `path` ends.
async fn each<B, T: 'static, A: Answer>(
    call: &Call<Nothing, Nothing, B>,
    ids: &[i64],
    path: &str,
    one: impl Fn(i64, Option<Arc<Attempt>>) -> BoxFuture<'static, Result<A, Error>>,
) -> Result<Data<Batch<T>>, Error> {
    let mut outcomes: Vec<BoxFuture<'static, Outcome<T>>> = Vec::with_capacity(ids.len());
    for &id in ids {
        let attempt = call.attempt.as_ref().map(|whole| {
            Arc::new(whole.part(format!("/api/v1/workflows/{id}/{path}"), vec![id.to_string()]))
        });
        let (state, started, request) = (Arc::clone(&call.state), call.started, one(id, attempt.clone()));
        let outcome = async move {
            if started.elapsed() > BEGUN_WITHIN {
                let message = "the requests before it took too long; it was not begun, try again";
                return Outcome::of(id, Err::<A, _>(Error::timed_out("deadline_exceeded", message)));
            }
            let outcome = request.await;
            if let (Some(attempt), Err(error)) = (&attempt, &outcome)
                && let Err(unwritten) = audit::record(&state.core, attempt, Err(error)).await
            {
                tracing::error!(request_id = %attempt.request_id, "the audit log was not written: {unwritten}");
            }
            Outcome::of(id, outcome)
        };
        outcomes.push(outcome.boxed());
    }
    Ok(Data::new(&Batch::of(futures_util::stream::iter(outcomes).buffered(AT_ONCE).collect().await)))
}

impl<T> Batch<T> {
    fn of(results: Vec<Outcome<T>>) -> Batch<T> {
        let succeeded = results.iter().filter(|outcome| outcome.ok).count();
        Batch { succeeded, failed: results.len() - succeeded, results }
    }
}

impl<T> Outcome<T> {
    fn of<A: Answer>(workflow_id: i64, outcome: Result<A, Error>) -> Outcome<T> {
        #[derive(Deserialize)]
        struct Envelope {
            data: Box<RawValue>,
        }
        let data = outcome.and_then(|answer| {
            let body = answer.reply().content.whole().cloned().unwrap_or_default();
            serde_json::from_slice::<Envelope>(&body).map_err(Error::internal)
        });
        if let Err(Error::Internal(error)) = &data {
            tracing::error!(workflow = workflow_id, "a part of a request failed: {error:#}");
        }
        let error = data.as_ref().err().map(BatchError::of);
        let (ok, data) = (data.is_ok(), data.ok().map(|envelope| envelope.data));
        Outcome { workflow_id, ok, data, error, _data: PhantomData }
    }
}
