//! Handlers of backfills.

use std::collections::HashSet;

use lakeport_base::error::Error;
use lakeport_http::{Data, Nothing, OptionalJson};
use tokio::time::Instant;
use uuid::Uuid;

use super::forms::{BackfillBody, BackfillPath, BackfillQuery};
use super::plan::Plan;
use super::store::{self, Backfill, Maker, Progress, State};
use super::view::{BackfillPreview, BackfillSummary, BackfillView, DATES_SHOWN, Shown};
use super::{TOPIC, announce, worker};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;
use crate::executions::runs::START_MAX;
use crate::executions::{Call, Executions};
use crate::idempotency;
use crate::plugins::{ENGINE_CALL_CODES, engine_refused};
use crate::workflows;
use crate::workflows::forms::WorkflowPath;

/// The most backfills of a list.
const LISTED_MAX: i64 = 50;

type StartCall = Call<WorkflowPath, Nothing, OptionalJson<BackfillBody>>;

/// `POST /api/v1/workflows/{id}/backfill/preview`
pub async fn preview(call: StartCall) -> Result<Data<BackfillPreview>, Error> {
    let plan = plan(&call).await?;
    let zone = call.state.config.time_zone;
    let (Some(first), Some(last)) = (plan.dates.iter().min(), plan.dates.iter().max()) else {
        return Ok(Data::new(&BackfillPreview::new(plan, 0, zone)));
    };
    let succeeded = store::succeeded(&call.state.db, call.path.id, *first, *last).await?;
    let succeeded: HashSet<i64> = succeeded.into_iter().collect();
    let count = plan.dates.iter().filter(|date| succeeded.contains(date)).count();
    Ok(Data::new(&BackfillPreview::new(plan, count, zone)))
}

async fn plan(call: &StartCall) -> Result<Plan, Error> {
    let workflow = workflows::get(&call.state, call.path.id).await?;
    workflows::rights::check(&call.state.db, &call.caller, &workflow).await?;
    Plan::make(&call.state, &call.caller, &workflow, call.body.0.as_ref()).await
}

/// `POST /api/v1/workflows/{id}/backfill`
pub async fn start(call: StartCall) -> Result<Data<String>, Error> {
    let until = Instant::now() + START_MAX;
    let (state, id) = (&call.state, call.path.id);
    let key = call.attempt.as_deref().and_then(idempotency::name_of);
    let before = match &key {
        Some(key) => store::find_by_key(&state.db, key).await?,
        None => None,
    };
    let backfill_id = match before {
        Some((before, workflow_id)) if workflow_id == id => before,
        _ => insert(&call, key).await?,
    };
    let look = || store::progress(&state.db, backfill_id);
    let has_begun =
        |now: &Option<Progress>| now.as_ref().is_none_or(|now| now.code.is_some() || !now.state.is_open());
    let topic_key = backfill_id.to_string();
    let begun = state.wait_for(TOPIC, Some(&topic_key), until, look, has_begun).await?;
    let begun = begun.ok_or_else(|| Error::not_found("backfill", backfill_id))?;
    match begun.code {
        Some(code) => Ok(Data::new(&code)),
        None if !begun.state.is_open() => Err(not_started(&begun)),
        None => {
            let message = format!(
                "no run of the backfill was confirmed by its engine within {} s; it goes on: GET /api/v1/backfills/{key} \
                 shows it, and POST /api/v1/backfills/{key}/cancel stops it",
                START_MAX.as_secs(),
                key = begun.key
            );
            Err(Error::timed_out("engine_timeout", message))
        }
    }
}

/// An earlier one of the same key, which was refused, has lost it.
async fn insert(call: &StartCall, key: Option<String>) -> Result<i64, Error> {
    let state = &call.state;
    let plan = plan(call).await?;
    let wanted = call.body.0.as_ref().and_then(|body| body.preview_token.as_ref());
    if wanted.is_some_and(|token| *token != plan.token) {
        let message = "the request, the dates, the workflows or the deployed versions are not what was previewed; preview it again";
        return Err(Error::conflict("preview_stale", message));
    }
    let workflow = workflows::get(state, call.path.id).await?;
    let new = Backfill {
        id: 0,
        key: key.unwrap_or_else(|| Uuid::now_v7().to_string()),
        workflow_id: workflow.id,
        workflow_name: workflow.content.name,
        code: None,
        state: State::Running,
        steps: plan.steps,
        dates: plan.dates,
        parallelism: plan.asked.parallelism,
        strategy: plan.asked.strategy,
        requested_by: call.caller.name.clone(),
        requested_at_ms: state.clock.now_ms(),
        ended_at_ms: None,
        message: None,
        maker: Maker::Host,
        notes: None,
    };
    let mut tx = state.db.begin().await?;
    if store::count_open(&mut tx).await? >= worker::OPEN_MAX {
        let message = format!("{} backfills have not ended; wait for one, or cancel one", worker::OPEN_MAX);
        return Err(Error::too_many("rate_limited", message, 10));
    }
    store::free_key(&mut tx, &new.key).await?;
    let twin = || Error::unavailable("store_busy", "the same request is under way; try again").retry_after(1);
    let id = store::insert(&mut tx, &new).await?.ok_or_else(twin)?;
    announce(&mut tx, id);
    tx.commit().await?;
    Ok(id)
}

/// The engine's refusal of the first run.
fn not_started(backfill: &Progress) -> Error {
    let message = backfill.message.clone().unwrap_or_else(|| "nothing was started".to_owned());
    let code = backfill.error_code.as_deref().unwrap_or_default();
    let known = ENGINE_CALL_CODES.iter().find(|known| **known == code);
    if backfill.state == State::Cancelled {
        return Error::conflict("not_running", "the backfill was cancelled before its first run began");
    }
    match known {
        Some(code) => engine_refused(code, message),
        None if code == "not_deployed" => Error::conflict("not_deployed", message),
        None => Error::bad_gateway("engine_failed", message),
    }
}

/// `GET /api/v1/backfills/{code}`
pub async fn get(call: Call<BackfillPath, BackfillQuery>) -> Result<Data<BackfillView>, Error> {
    let from = usize::try_from(call.query.offset.map_or(0, i64::from)).unwrap_or(usize::MAX);
    let backfill = find(&call.state, &call.path.code).await?;
    let rights = Rights::of(&call.state.db, &call.caller).await?;
    Ok(Data::new(&shown(&call.state, &rights, backfill, from).await?))
}

/// `GET /api/v1/workflows/{id}/backfills`
pub async fn list(call: Call<WorkflowPath>) -> Result<Data<Vec<BackfillSummary>>, Error> {
    let state = &call.state;
    let workflow = workflows::get(state, call.path.id).await?;
    let zone = state.config.time_zone;
    let latest = store::latest_of(&state.db, workflow.id, LISTED_MAX).await?;
    Ok(Data::new(&latest.into_iter().map(|one| BackfillSummary::new(one, zone)).collect()))
}

async fn find(state: &Executions, code: &str) -> Result<Backfill, Error> {
    store::find_by_code(&state.db, code).await?.ok_or_else(|| Error::not_found("backfill", code))
}

async fn shown(
    state: &Executions,
    rights: &Rights<'_>,
    backfill: Backfill,
    from: usize,
) -> Result<BackfillView, Error> {
    let counts = store::counts(&state.db, backfill.id, backfill.steps.len()).await?;
    let before = from.saturating_add(DATES_SHOWN);
    let begun = store::begun_of(&state.db, backfill.id, from, before).await?;
    let mut withheld = false;
    for step in &backfill.steps {
        withheld |= !workflows::rights::may_see(&state.db, rights, step.workflow_id).await?;
    }
    let zone = state.config.time_zone;
    Ok(BackfillView::new(Shown { backfill, counts, begun, from, zone, withheld }))
}

/// `POST /api/v1/backfills/{code}/cancel`
pub async fn cancel(call: Call<BackfillPath>) -> Result<Data<BackfillView>, Error> {
    let state = &call.state;
    let mut backfill = find(state, &call.path.code).await?;
    for step in &backfill.steps {
        workflows::rights::check_ever(&state.db, &call.caller, step.workflow_id).await?;
    }
    let rights = Rights::of(&state.db, &call.caller).await?;
    let ended = |state: State| {
        Error::conflict("not_running", format!("the backfill has ended already ({})", state.as_str()))
    };
    if !backfill.state.is_open() {
        return Err(ended(backfill.state));
    }
    let id = backfill.id;
    backfill.state = State::Stopping;
    let view = shown(state, &rights, backfill, 0).await?;
    let mut tx = state.db.begin().await?;
    if !store::ask_stop(&mut tx, id).await? {
        let now = store::progress(&state.db, id).await?;
        return Err(ended(now.map_or(State::Cancelled, |now| now.state)));
    }
    announce(&mut tx, id);
    call.commit(tx, Change::of("backfill", id), Data::new(&view)).await
}
