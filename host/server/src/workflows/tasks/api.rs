//! Handlers of tasks. All look-ups happen before a change begins: there is one writer. A change of a task that was
//! changed since is prepared again; changes of one task go one after the other.

use lakeport_base::Error;
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing, Page, Paging};
use lakeport_store::Tx;

use super::definition::{self, Content, Kind, Wanted};
use super::forms::{CreateTask, ListQuery, PAGE_SIZE_DEFAULT, TaskPath, UpdateTask};
use super::lookup::{self, Looked};
use super::saving::Warning;
use super::store::{self, Filter};
use super::view::{ExecutionStatus, SavedTaskView, TaskLineage, TaskView};
use super::{TOPIC, Task, dependencies, part};
use crate::audit::{Change, Commit};
use crate::datasources::{self, Datasource, Rights};
use crate::execution_records;
use crate::tables::{self, TableView};
use crate::turns;
use crate::workflows::versions::{self, Made, PartChange, Source};
use crate::workflows::{self, Workflow, rights};
use crate::workflows::{Call, Workflows};

pub fn unknown(id: i64) -> Error {
    Error::not_found("task", id)
}

async fn source_of(state: &Workflows, content: &Content) -> Result<Option<Datasource>, Error> {
    match content.datasource_id {
        Some(id) => datasources::find(&state.db, id).await,
        None => Ok(None),
    }
}

/// `GET /api/v1/tasks`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Data<Page<TaskView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let filter = Filter {
        name: query.task_name.as_deref().map(str::to_lowercase),
        task_type: query.task_type.clone(),
        workflow_id: query.workflow_id,
        upstream_task_id: query.upstream_task_id,
        downstream_task_id: query.downstream_task_id,
        table_id: query.table_id,
    };
    let (total, tasks) = store::page(&state.db, &filter, &paging).await?;
    let ids: Vec<i64> = tasks.iter().filter_map(|task| task.workflow_id).collect();
    let names = workflows::names(&state.db, &ids).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let view = |task: Task| {
        let name = task.workflow_id.and_then(|id| names.get(&id));
        TaskView::new(task, name.map(String::as_str), &rights, state.config.time_zone)
    };
    Ok(Data::new(&paging.page(total, tasks.into_iter().map(view).collect())))
}

fn shown(
    state: &Workflows,
    task: &Task,
    rights: &Rights<'_>,
    workflow: Option<&Workflow>,
    warnings: Vec<Warning>,
) -> Data<SavedTaskView> {
    let name = workflow.map(|workflow| workflow.content.name.as_str());
    let view = TaskView::new(task.clone(), name, rights, state.config.time_zone);
    Data::new(&SavedTaskView { task: view, warnings }).with_etag(&task.etag())
}

/// `POST /api/v1/tasks`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateTask>>) -> Result<Data<SavedTaskView>, Error> {
    let (state, form) = (&call.state, call.body.read());
    let workflow_id = form.task.workflow_id;
    let (place, source) = place(state, workflow_id, form.task.datasource_id).await?;
    check_source(&call, source.as_ref())?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    // Without its workflow, it is checked as far as possible.
    let wanted = definition::created(form, place.as_ref().ok().map(|(_, kinds)| kinds.as_slice()));
    let (workflow, kinds) = match place {
        Ok(place) => place,
        Err(error) => return Err(call.body.refuse(wanted.1).err().unwrap_or(error)),
    };
    let place = Some((&workflow, &kinds[..]));
    let looked = lookup::look_up(state, &call.body, wanted, source, None, place).await?;
    lookup::check_tables(&call.caller, &looked, None)?;
    rights.check([looked.wanted.content.rights_id()])?;
    let Looked { wanted, names, warnings } = looked;
    let now_ms = state.clock.now_ms();
    let mut task = Task {
        id: 0,
        workflow_id: Some(workflow_id),
        digest: versions::part_digest(&part::text(&wanted.content)),
        content: wanted.content,
        given: wanted.given,
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    };
    let mut tx = state.db.begin().await?;
    let mut workflow = locked_workflow(&mut tx, workflow_id).await?;
    rights::check_version(&mut tx, &rights, workflow_id, workflow.version).await?;
    if lookup::check(&mut tx, &task, None).await? {
        drop(tx);
        return Err(circle_of(state, workflow_id, &task).await);
    }
    task.id = store::insert(&mut tx, &task).await?;
    let change = PartChange { task_id: task.id, before: None, after: Some(part::of(&task, &names)) };
    versions::change_parts(&mut tx, &mut workflow, &[change], made(&call.caller.name, now_ms)).await?;
    tell(&mut tx, task.id, &[workflow_id]);
    let change = Change::of("task", task.id).after(&task.definition());
    call.commit(tx, change, shown(state, &task, &rights, Some(&workflow), warnings)).await
}

/// 403 unless the caller may use this data source, if there is one.
fn check_source<P, Q, B>(call: &Call<P, Q, B>, source: Option<&Datasource>) -> Result<(), Error> {
    source.map_or(Ok(()), |source| call.caller.check_datasource(&source.name))
}

/// A task's workflow with the task types of its engine, or why there are none.
type Place = Result<(Workflow, Vec<Kind>), Error>;

/// The place of a task in this workflow, and its data source.
async fn place(
    state: &Workflows,
    workflow_id: i64,
    datasource_id: Option<i64>,
) -> Result<(Place, Option<Datasource>), Error> {
    let selects =
        (workflows::by_id(workflow_id), workflows::engine_of(workflow_id), datasources::by_id(datasource_id));
    let (mut workflow, mut engine, mut source) = state.db.read_all(selects).await?;
    let place = match workflow.pop() {
        None => Err(Error::not_found("workflow", workflow_id)),
        Some(workflow) => lookup::kinds(state, &workflow, engine.pop()).await.map(|kinds| (workflow, kinds)),
    };
    Ok((place, source.pop()))
}

fn made(by: &str, now_ms: i64) -> Made<'_> {
    Made { source: Source::Task, comment: None, by, now_ms }
}

fn tell(tx: &mut Tx, task_id: i64, workflow_ids: &[i64]) {
    tx.changed(TOPIC, task_id.to_string());
    for id in workflow_ids {
        tx.changed(workflows::TOPIC, id.to_string());
    }
}

async fn locked_workflow(tx: &mut Tx, id: i64) -> Result<Workflow, Error> {
    workflows::lock(tx, id).await?.ok_or_else(|| Error::not_found("workflow", id))
}

/// 409 names the tasks of the cycle, in order.
async fn circle_of(state: &Workflows, workflow_id: i64, task: &Task) -> Error {
    match way_of(state, workflow_id, task).await {
        Ok(way) => Error::conflict(
            "dependency_cycle",
            format!(
                "this would close a circle, in which each task reads what the one before it writes: {way}"
            ),
        ),
        Err(error) => error,
    }
}

async fn way_of(state: &Workflows, workflow_id: i64, task: &Task) -> Result<String, Error> {
    let steps = store::bindings_in(&state.db, workflow_id).await?;
    let others: Vec<dependencies::Bound<'_>> = steps
        .iter()
        .map(|step| dependencies::Bound {
            task_id: step.task_id,
            inputs: &step.inputs,
            outputs: &step.outputs,
        })
        .collect();
    // Another change may just have broken the cycle.
    let way = dependencies::through(task.bound(), &others).unwrap_or_else(|| vec![task.id, task.id]);
    let names = store::names(&state.db, &way).await?;
    let name = |id: &i64| match names.get(id) {
        Some(name) if *id != task.id => name.clone(),
        _ => task.content.task_name.clone(),
    };
    Ok(way.iter().map(name).collect::<Vec<_>>().join(" → "))
}

/// `GET /api/v1/tasks/{id}`
pub async fn get(call: Call<TaskPath>) -> Result<Data<TaskView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let selects = (store::by_id(id), store::tables_of(id), store::workflow_name_of(id));
    let (mut tasks, tables, names) = state.db.read_all(selects).await?;
    store::bind(&mut tasks, tables);
    let task = tasks.pop().ok_or_else(|| unknown(id))?;
    let etag = task.etag();
    let rights = Rights::of(&state.db, &call.caller).await?;
    // A tag of the whole definition would confirm guesses of what is withheld.
    let is_whole = rights.may_use(task.content.rights_id());
    let view = TaskView::new(task, names.first().map(String::as_str), &rights, state.config.time_zone);
    let answer = Data::new(&view);
    Ok(if is_whole { answer.with_etag(&etag) } else { answer })
}

type UpdateCall = Call<TaskPath, Nothing, Draft<UpdateTask>>;

/// The kind of the turns of tasks.
const TURN: &str = "task";

/// `PUT /api/v1/tasks/{id}`
pub async fn update(call: UpdateCall) -> Result<Data<SavedTaskView>, Error> {
    let _turn = call.state.turns.take(TURN, call.path.id).await;
    for _ in 0..turns::TRIES {
        if let Some(answer) = try_update(&call).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// Other servers interfered with every attempt.
fn overtaken() -> Error {
    let message = "others are changing the task; nothing was changed, try again";
    Error::unavailable("store_busy", message).retry_after(1)
}

/// `None`: another request came in between.
async fn try_update(call: &UpdateCall) -> Result<Option<Data<SavedTaskView>>, Error> {
    let (state, id, form) = (&call.state, call.path.id, call.body.read());
    let before = super::get(state, id).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    rights.check([before.content.rights_id()])?;
    call.check_if_match(&before.etag())?;
    let workflow_id = form.task.0.as_ref().and_then(|task| task.workflow_id.0).or(before.workflow_id);
    let place = match workflow_id {
        Some(id) => place(state, id, None).await?.0.map(Some),
        None => Ok(None),
    };
    let kinds = place.as_ref().ok().and_then(Option::as_ref).map(|(_, kinds)| kinds.as_slice());
    let wanted = definition::changed(form, &before, kinds);
    let place = match place {
        Ok(place) => place,
        Err(error) => return Err(call.body.refuse(wanted.1).err().unwrap_or(error)),
    };
    let place = place.as_ref().map(|(workflow, kinds)| (workflow, kinds.as_slice()));
    let source = source_of(state, &wanted.0.content).await?;
    check_source(call, source.as_ref())?;
    let content = Some(&before.content);
    let looked = lookup::look_up(state, &call.body, wanted, source, content, place).await?;
    lookup::check_tables(&call.caller, &looked, content)?;
    rights.check([looked.wanted.content.rights_id()])?;
    write(call, &before, workflow_id, looked, &rights).await
}

async fn write(
    call: &UpdateCall,
    before: &Task,
    workflow_id: Option<i64>,
    looked: Looked,
    rights: &Rights<'_>,
) -> Result<Option<Data<SavedTaskView>>, Error> {
    let (state, now_ms) = (&call.state, call.state.clock.now_ms());
    let Wanted { content, given, .. } = looked.wanted;
    let digest = versions::part_digest(&part::text(&content));
    let mut after = Task { workflow_id, content, given, digest, ..before.clone() };
    let mut tx = state.db.begin().await?;
    let locked = Locked::of(&mut tx, rights, [before.workflow_id, workflow_id]).await?;
    let Some(mut workflows) = locked else { return Ok(None) };
    if !is_unchanged(&mut tx, before).await? {
        return Ok(None);
    }
    let is_moved = before.workflow_id != workflow_id;
    let is_changed = is_moved || before.digest != after.digest;
    if !is_changed && before.given == after.given {
        let change = Change::of("task", before.id).before(&before.definition()).after(&before.definition());
        let answer = shown(state, before, rights, workflows.get(workflow_id), looked.warnings);
        return call.commit(tx, change, answer).await.map(Some);
    }
    if is_changed {
        after.updated_at_ms = now_ms;
        let closes = lookup::check(&mut tx, &after, Some(&before.content)).await?;
        if let (Some(id), true) = (workflow_id, closes) {
            drop(tx);
            return Err(circle_of(state, id, &after).await);
        }
    }
    store::update(&mut tx, before, &after).await?;
    if !is_changed && let Some(workflow_id) = workflow_id {
        versions::set_beside(&mut tx, workflow_id, after.id, &part::of(&after, &looked.names).0).await?;
    }
    if is_changed {
        let old = Some(part::held(before));
        let new = Some(part::of(&after, &looked.names));
        let made = made(&call.caller.name, now_ms);
        workflows.change(&mut tx, before.workflow_id, workflow_id, before.id, (old, new), made).await?;
        let told: Vec<i64> = [before.workflow_id, workflow_id].into_iter().flatten().collect();
        tell(&mut tx, before.id, &told);
    }
    let change = Change::of("task", before.id).before(&before.definition()).after(&after.definition());
    let answer = shown(state, &after, rights, workflows.get(workflow_id), looked.warnings);
    call.commit(tx, change, answer).await.map(Some)
}

/// The look-ups refer to the task as it was read: a concurrent change must not be overwritten.
async fn is_unchanged(tx: &mut Tx, before: &Task) -> Result<bool, Error> {
    Ok(store::lock(tx, before.id).await?.as_ref() == Some(before))
}

/// The one or two affected workflows, locked in the order of their ids.
struct Locked(Vec<Workflow>);

impl Locked {
    /// `None`: one was deleted. 403 unless the caller may change all of each: a task is a part of its workflow.
    async fn of(tx: &mut Tx, rights: &Rights<'_>, ids: [Option<i64>; 2]) -> Result<Option<Locked>, Error> {
        let mut ids: Vec<i64> = ids.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        let mut locked = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(workflow) = workflows::lock(tx, id).await? else { return Ok(None) };
            rights::check_version(tx, rights, id, workflow.version).await?;
            locked.push(workflow);
        }
        Ok(Some(Locked(locked)))
    }

    fn get(&self, id: Option<i64>) -> Option<&Workflow> {
        self.0.iter().find(|workflow| Some(workflow.id) == id)
    }

    fn get_mut(&mut self, id: Option<i64>) -> Option<&mut Workflow> {
        self.0.iter_mut().find(|workflow| Some(workflow.id) == id)
    }

    /// Creates the next version of each.
    async fn change(
        &mut self,
        tx: &mut Tx,
        from: Option<i64>,
        to: Option<i64>,
        task_id: i64,
        (before, after): (Option<part::Held>, Option<part::New>),
        made: Made<'_>,
    ) -> Result<(), Error> {
        if from == to {
            let Some(workflow) = self.get_mut(to) else { return Ok(()) };
            return versions::change_parts(tx, workflow, &[PartChange { task_id, before, after }], made)
                .await;
        }
        if let Some(workflow) = self.get_mut(from) {
            let change = PartChange { task_id, before, after: None };
            versions::change_parts(tx, workflow, &[change], made).await?;
        }
        if let Some(workflow) = self.get_mut(to) {
            let change = PartChange { task_id, before: None, after };
            versions::change_parts(tx, workflow, &[change], made).await?;
        }
        Ok(())
    }
}

/// `DELETE /api/v1/tasks/{id}`
pub async fn delete(call: Call<TaskPath>) -> Result<Data<Option<TaskView>>, Error> {
    let _turn = call.state.turns.take(TURN, call.path.id).await;
    for _ in 0..turns::TRIES {
        if let Some(answer) = try_delete(&call).await? {
            return Ok(answer);
        }
    }
    Err(overtaken())
}

/// `None`: another request came in between.
async fn try_delete(call: &Call<TaskPath>) -> Result<Option<Data<Option<TaskView>>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let before = super::get(state, id).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    rights.check([before.content.rights_id()])?;
    call.check_if_match(&before.etag())?;
    let mut tx = state.db.begin().await?;
    let locked = Locked::of(&mut tx, &rights, [before.workflow_id, None]).await?;
    let Some(mut workflows) = locked else { return Ok(None) };
    if !is_unchanged(&mut tx, &before).await? {
        return Ok(None);
    }
    store::delete(&mut tx, id).await?;
    let made = made(&call.caller.name, state.clock.now_ms());
    let old = Some(part::held(&before));
    workflows.change(&mut tx, before.workflow_id, None, id, (old, None), made).await?;
    tell(&mut tx, id, before.workflow_id.as_slice());
    let change = Change::of("task", id).before(&before.definition());
    call.commit(tx, change, Data::new(&None)).await.map(Some)
}

/// `GET /api/v1/tasks/{id}/execution-status`
pub async fn execution_status(call: Call<TaskPath>) -> Result<Data<ExecutionStatus>, Error> {
    let (state, id) = (&call.state, call.path.id);
    super::get(state, id).await?;
    let mut latest = execution_records::latest_of_task(state, id).await?;
    rights::withhold(&state.db, &Rights::of(&state.db, &call.caller).await?, &mut latest).await?;
    Ok(Data::new(&ExecutionStatus::of(latest)))
}

/// `GET /api/v1/tasks/{id}/lineage`
pub async fn lineage(call: Call<TaskPath>) -> Result<Data<TaskLineage>, Error> {
    let state = &call.state;
    let db = state.db.snapshot().await?;
    let task = store::find(&db, call.path.id).await?.ok_or_else(|| unknown(call.path.id))?;
    let content = &task.content;
    let inputs = tables::records_of(&db, &content.input_table_ids).await?;
    let outputs = tables::records_of(&db, &content.output_table_ids).await?;
    drop(db);
    let rights = Rights::of(&state.db, &call.caller).await?;
    let mut warnings = lookup::warnings(state, &rights, &task).await?;
    let mut shown = |mut tables: Vec<tables::Record>, ids: &[i64]| -> Vec<TableView> {
        let open = lookup::open(state, &rights, ids, &mut warnings);
        tables.retain(|table| open.contains(&table.id));
        tables.into_iter().map(|table| TableView::new(table, state.config.time_zone)).collect()
    };
    let input_tables = shown(inputs, &content.input_table_ids);
    let output_tables = shown(outputs, &content.output_table_ids);
    Ok(Data::new(&TaskLineage { input_tables, output_tables, warnings }))
}
