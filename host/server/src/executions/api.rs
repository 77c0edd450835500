//! Handlers of executions.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::TimeText;
use lakeport_http::{Caller, Data, Nothing, Page, Paging};

use super::forms::{
    DetailQuery, ExecutionPath, FailedQuery, HistoryQuery, PAGE_SIZE_DEFAULT, StatisticsQuery,
};
use super::statistics::{self, Asked, Statistics};
use super::{control, log, runs, watch};
use crate::datasources::Rights;
use crate::execution_records::store::{self, Execution, Status};
use crate::execution_records::{ExecutionDetail, ExecutionView};
use crate::executions::{Call, Executions};
use crate::idempotency;
use crate::workflows::rights;

/// The most running executions of an answer.
const RUNNING_MAX: i64 = 500;

/// The execution of this id, or 404.
async fn found(state: &Executions, id: i64) -> Result<Execution, Error> {
    store::find(&state.db, id).await?.ok_or_else(|| Error::not_found("execution", id))
}

async fn views(
    state: &Executions,
    caller: &Caller,
    executions: &[Execution],
) -> Result<Vec<ExecutionView>, Error> {
    let zone = state.config.time_zone;
    let mut views: Vec<ExecutionView> =
        executions.iter().map(|execution| ExecutionView::new(execution, zone)).collect();
    rights::withhold(&state.db, &Rights::of(&state.db, caller).await?, &mut views).await?;
    Ok(views)
}

async fn view(state: &Executions, caller: &Caller, execution: &Execution) -> Result<ExecutionView, Error> {
    let mut view = ExecutionView::new(execution, state.config.time_zone);
    rights::withhold(&state.db, &Rights::of(&state.db, caller).await?, [&mut view]).await?;
    Ok(view)
}

/// `GET /api/v1/executions/history`
pub async fn history(call: Call<Nothing, HistoryQuery>) -> Result<Data<Page<ExecutionView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let (total, executions) = store::page(&state.db, &state.blocks, query.task_id, &paging).await?;
    Ok(Data::new(&paging.page(total, views(state, &call.caller, &executions).await?)))
}

/// `GET /api/v1/executions/running`
pub async fn running(call: Call) -> Result<Data<Vec<ExecutionView>>, Error> {
    let state = &call.state;
    let executions = store::with_status(&state.db, Status::Running, RUNNING_MAX).await?;
    Ok(Data::new(&views(state, &call.caller, &executions).await?))
}

/// `GET /api/v1/executions/failed`
pub async fn failed(call: Call<Nothing, FailedQuery>) -> Result<Data<Vec<ExecutionView>>, Error> {
    let (state, limit) = (&call.state, call.query.limit.0);
    let executions = store::with_status(&state.db, Status::Failed, limit).await?;
    Ok(Data::new(&views(state, &call.caller, &executions).await?))
}

/// `GET /api/v1/executions/statistics`
pub async fn statistics(call: Call<Nothing, StatisticsQuery>) -> Result<Data<Statistics>, Error> {
    let (state, query) = (&call.state, &call.query);
    let zone = state.config.time_zone;
    let mut wrong = Vec::new();
    let start_ms = TimeText::read(query.start_time.as_ref(), "startTime", zone, &mut wrong);
    let end_ms = TimeText::read(query.end_time.as_ref(), "endTime", zone, &mut wrong);
    if matches!((start_ms, end_ms), (Some(start), Some(end)) if start > end) {
        wrong.push(Detail::new("startTime", "must not be after endTime"));
    }
    if !wrong.is_empty() {
        return Err(Error::invalid(wrong));
    }
    let asked = Asked { task_id: query.task_id, start_ms, end_ms };
    let now_ms = state.clock.now_ms();
    Ok(Data::new(&statistics::of(&state.db, &state.blocks, asked, now_ms, zone).await?))
}

/// `GET /api/v1/executions/{id}`
pub async fn get(call: Call<ExecutionPath, DetailQuery>) -> Result<Data<ExecutionDetail>, Error> {
    let state = &call.state;
    let execution = found(state, call.path.id).await?;
    let offset = call.query.log_offset.as_deref();
    let view = view(state, &call.caller, &execution).await?;
    let log = match view.withheld {
        true => None,
        false => Some(log::read(state, &execution, offset, call.request_id.as_str()).await?),
    };
    Ok(Data::new(&ExecutionDetail { execution: view, log }))
}

/// `POST /api/v1/executions/{id}/sync`
pub async fn sync(call: Call<ExecutionPath>) -> Result<Data<ExecutionView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let execution = found(state, id).await?;
    let run = runs::store::find(&state.db, execution.run_id).await?;
    let run = run.ok_or_else(|| Error::not_found("execution", id))?;
    watch::look_at(state, &run, call.request_id.as_str()).await?;
    Ok(Data::new(&view(state, &call.caller, &found(state, id).await?).await?))
}

/// `POST /api/v1/executions/{id}/cancel`
pub async fn cancel(call: Call<ExecutionPath>) -> Result<Data<ExecutionView>, Error> {
    let state = &call.state;
    let execution = found(state, call.path.id).await?;
    rights::check_ever(&state.db, &call.caller, execution.workflow_id).await?;
    let cancelled = control::cancel(state, execution, call.request_id.as_str()).await?;
    Ok(Data::new(&view(state, &call.caller, &cancelled).await?))
}

/// `POST /api/v1/executions/{id}/retry`
pub async fn retry(call: Call<ExecutionPath>) -> Result<Data<ExecutionView>, Error> {
    let state = &call.state;
    let execution = found(state, call.path.id).await?;
    rights::check_ever(&state.db, &call.caller, execution.workflow_id).await?;
    let repeat = call.attempt.as_deref().and_then(idempotency::name_of);
    let again = control::retry(state, execution, repeat, call.request_id.as_str()).await?;
    Ok(Data::new(&view(state, &call.caller, &again).await?))
}
