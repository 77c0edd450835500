//! Handlers of workflows.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::Draft;
use lakeport_http::{Caller, Data, Nothing, Page, Paging};
use lakeport_store::{Held, Tx};

use super::definition;
use super::forms::{CreateWorkflow, DeleteQuery, ListQuery, PAGE_SIZE_DEFAULT, UpdateWorkflow, WorkflowPath};
use super::publications::{self, PublicationView};
use super::removals::{self, RemovalView};
use super::versions::{self, Made, Source};
use super::view::{EdgeView, VersionView, WorkflowDetail, WorkflowView};
use super::wanted::{By, EngineChange, Wanted};
use super::{Deployed, PublicationState, TOPIC, Workflow, engine_lock, rights, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;
use crate::engines::{self, EngineClient, EngineRecord};
use crate::execution_records::{self, ExecutionView};
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::tasks::{self, TaskView};
use crate::workflows::{Call, Workflows};

/// The most versions and publications in a workflow's details.
const SHOWN_MAX: i64 = 100;
/// The most executions in a workflow's details.
const EXECUTIONS_SHOWN: i64 = 10;
/// The most edges in a workflow's details, or of a deployment.
pub const EDGES_MAX: usize = 100_000;

pub fn unknown(id: i64) -> Error {
    Error::not_found("workflow", id)
}

/// `GET /api/v1/workflows`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Data<Page<WorkflowView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let keyword = query.keyword.as_deref().map(str::to_lowercase);
    let zone = state.config.time_zone;
    state.names.caught_up().await?;
    let (offset, size) = (paging.offset() as usize, paging.page_size as usize);
    let states = (query.status, query.publish_status);
    let (total, ids) = state.names.read().page(keyword.as_deref(), states, offset, size);
    let mut page = store::page(&state.db, &ids, &paging, zone).await?;
    let latest = page.iter_mut().filter_map(|(_, latest)| latest.as_mut());
    let rights = Rights::of(&state.db, &call.caller).await?;
    rights::withhold(&state.db, &rights, latest).await?;
    let now_ms = state.clock.now_ms();
    let shown =
        |(workflow, latest)| WorkflowView::new(workflow, latest, zone, now_ms).for_caller(&call.caller);
    Ok(Data::new(&paging.page(total as i64, page.into_iter().map(shown).collect())))
}

/// As this caller may see it.
fn view(
    state: &Workflows,
    caller: &Caller,
    workflow: &Workflow,
    latest: Option<ExecutionView>,
) -> WorkflowView {
    let view = WorkflowView::of(workflow, latest, state.config.time_zone, state.clock.now_ms());
    view.for_caller(caller)
}

pub fn shown(
    state: &Workflows,
    caller: &Caller,
    workflow: &Workflow,
    latest: Option<ExecutionView>,
) -> Data<WorkflowView> {
    Data::new(&view(state, caller, workflow, latest)).with_etag(&workflow.etag())
}

/// `GET /api/v1/workflows/{id}`
pub async fn get(call: Call<WorkflowPath>) -> Result<Data<WorkflowDetail>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let zone = state.config.time_zone;
    let selects = (
        store::by_id(id),
        tasks::of_workflow(id),
        tasks::tables_of_workflow(id),
        versions::newest(id, SHOWN_MAX),
        publications::newest(id, SHOWN_MAX),
        execution_records::store::of_workflow(id, EXECUTIONS_SHOWN),
    );
    let (workflow, mut tasks, tables, versions, publications, executions) =
        state.db.read_all(selects).await?;
    let workflow = workflow.into_iter().next().ok_or_else(|| unknown(id))?;
    tasks::bind(&mut tasks, tables);
    let rights = Rights::of(&state.db, &call.caller).await?;
    let mut recent_executions: Vec<ExecutionView> =
        executions.iter().map(|one| ExecutionView::new(one, zone)).collect();
    rights::withhold(&state.db, &rights, &mut recent_executions).await?;
    let mut publications: Vec<PublicationView> =
        publications.iter().map(|record| PublicationView::new(record, zone)).collect();
    if !rights::may_see(&state.db, &rights, id).await? {
        publications.iter_mut().for_each(PublicationView::withhold);
    }
    let bound: Vec<Bound<'_>> = tasks.iter().map(tasks::Task::bound).collect();
    let mut edges = dependencies::edges(&bound, EDGES_MAX);
    edges.truncate(EDGES_MAX);
    let name = workflow.content.name.as_str();
    let detail = WorkflowDetail {
        workflow: view(state, &call.caller, &workflow, recent_executions.first().cloned()),
        edges: edges.into_iter().map(|(source, target)| EdgeView { source, target }).collect(),
        tasks: tasks.into_iter().map(|task| TaskView::new(task, Some(name), &rights, zone)).collect(),
        versions: versions.into_iter().map(|version| VersionView::new(version, zone)).collect(),
        versions_total: workflow.version,
        publications,
        recent_executions,
    };
    Ok(Data::new(&detail).with_etag(&workflow.etag()))
}

/// `POST /api/v1/workflows`
pub async fn create(
    call: Call<Nothing, Nothing, Draft<CreateWorkflow>>,
) -> Result<Data<WorkflowView>, Error> {
    let state = &call.state;
    let engines = engines::names(&state.db).await?;
    let content = call.body.checked(|form| definition::created(form, &engines))?;
    let now_ms = state.clock.now_ms();
    let mut workflow =
        Workflow { version: 1, changed_version: 1, ..Workflow::draft(content, &call.caller.name, now_ms) };
    let mut tx = state.db.begin().await?;
    refuse_gone(&mut tx, &workflow.content.scheduler_engine).await?;
    workflow.id = store::insert(&mut tx, &workflow).await?;
    let made = Made { source: Source::Create, comment: None, by: &call.caller.name, now_ms };
    versions::first(&mut tx, &workflow, made).await?;
    tx.changed(TOPIC, workflow.id.to_string());
    let change = Change::of("workflow", workflow.id).after(&workflow.definition());
    call.commit(tx, change, shown(state, &call.caller, &workflow, None)).await
}

/// `PUT /api/v1/workflows/{id}`
pub async fn update(
    call: Call<WorkflowPath, Nothing, Draft<UpdateWorkflow>>,
) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let engines = engines::names(&state.db).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let latest = latest(state, &rights, id).await?;
    let mut tx = state.db.begin().await?;
    let before = store::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    rights::check_version(&mut tx, &rights, before.id, before.version).await?;
    call.check_if_match(&before.etag())?;
    let content = call.body.checked(|form| definition::changed(form, &before.content, &engines))?;
    refuse_moved(&before, &content.scheduler_engine)?;
    if content.scheduler_engine != before.content.scheduler_engine {
        refuse_gone(&mut tx, &content.scheduler_engine).await?;
    }
    let by = &call.caller.name;
    let made = Made { source: Source::Update, comment: None, by, now_ms: state.clock.now_ms() };
    let mut after = before.clone();
    if versions::change_content(&mut tx, &mut after, content, made).await? {
        tx.changed(TOPIC, id.to_string());
    }
    let change = Change::of("workflow", id).before(&before.definition()).after(&after.definition());
    call.commit(tx, change, shown(state, &call.caller, &after, latest)).await
}

/// The workflow's newest execution, as the caller may see it.
pub async fn latest(state: &Workflows, rights: &Rights<'_>, id: i64) -> Result<Option<ExecutionView>, Error> {
    let mut latest = execution_records::latest_of_workflow(state, id).await?;
    rights::withhold(&state.db, rights, &mut latest).await?;
    Ok(latest)
}

/// An engine may be deleted after the form was checked.
pub async fn refuse_gone(tx: &mut Tx, engine: &str) -> Result<(), Error> {
    if engines::is_there(tx, engine).await? {
        return Ok(());
    }
    let why = format!("must be a configured engine; `{engine}` was deleted in this moment");
    Err(Error::invalid(vec![Detail::new("schedulerEngine", why)]))
}

/// A deployed workflow cannot move to another engine.
pub fn refuse_moved(before: &Workflow, engine: &str) -> Result<(), Error> {
    let is_bound = before.deployed.is_some() || before.publication == PublicationState::Pending;
    if before.content.scheduler_engine == engine || !is_bound {
        return Ok(());
    }
    let message = format!(
        "`schedulerEngine` cannot be changed any more: the engine `{}` has the workflow, or is about to get it",
        before.content.scheduler_engine
    );
    let details = vec![Detail::new("schedulerEngine", "cannot be changed once it is published")];
    Err(Error::conflict("not_changeable", message).with_details(details))
}

/// `DELETE /api/v1/workflows/{id}`: removes it from the engine first; if the engine refuses, nothing is lost. If it does
/// not answer, it is removed there later.
pub async fn delete(call: Call<WorkflowPath, DeleteQuery>) -> Result<Data<Option<RemovalView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    call.check_if_match(&workflow.etag())?;
    let turn = engine_lock::take(state, id).await?;
    let deleted = delete_in_turn(&call, &turn).await;
    engine_lock::give_back(turn).await;
    deleted
}

async fn delete_in_turn(
    call: &Call<WorkflowPath, DeleteQuery>,
    turn: &Held,
) -> Result<Data<Option<RemovalView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let workflow = super::get(state, id).await?;
    rights::check(&state.db, &call.caller, &workflow).await?;
    call.check_if_match(&workflow.etag())?;
    let cascade_delete_tasks = call.query.cascade_delete_tasks;
    let wanted = Wanted::new(EngineChange::Remove { cascade_delete_tasks }, By::of(call));
    let left = removals::remove(state, turn, &workflow, &wanted).await?;
    let (tx, left) = removals::delete(state, turn, &workflow, &wanted, left).await?;
    let change = Change::of("workflow", id).before(&workflow.definition());
    let view = left.map(|left| RemovalView::new(&left, state.config.time_zone));
    call.commit(tx, change, Data::new(&view)).await
}

/// A client of an engine.
pub async fn engine_client(state: &Workflows, engine: &str, call_id: &str) -> Result<EngineClient, Error> {
    client_of(state, engine, engines::find(&state.db, engine).await?, call_id)
}

/// A client of an engine that was looked up.
pub fn client_of(
    state: &Workflows,
    engine: &str,
    record: Option<EngineRecord>,
    call_id: &str,
) -> Result<EngineClient, Error> {
    let missing = || Error::bad_gateway("engine_failed", format!("the engine `{engine}` is not configured"));
    Ok(EngineClient::of(&state.engines, &record.ok_or_else(missing)?, call_id))
}

/// The workflow's deployment, or 409.
pub fn deployed(workflow: &Workflow) -> Result<&Deployed, Error> {
    let message = "the workflow is not deployed; publish it, and have it approved";
    workflow.in_engine().ok_or_else(|| Error::conflict("not_deployed", message))
}
