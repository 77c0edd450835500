//! Imports a document or an engine's definition: a preview finds everything that is wrong, and its token makes sure that
//! the import writes what was previewed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::form::Draft;
use lakeport_http::{Data, Nothing};
use lakeport_store::Tx;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use super::document::{Document, EdgePart, TaskPart};
use super::read::{self, Problems, ROOT};
use super::resolve::{self, Resolved, ResolvedTask, TablesReport};
use super::{engine, export};
use crate::audit::{Change, Commit};
use crate::datasources::{self, Rights};
use crate::engines;
use crate::tables;
use crate::workflows::api::{refuse_gone, refuse_moved, unknown};
use crate::workflows::definition;
use crate::workflows::forms::{ImportSource, ImportWorkflow};
use crate::workflows::tasks::definition::SHELL;
use crate::workflows::tasks::forms::NAME_MAX_CHARS;
use crate::workflows::tasks::replace::{self, Wanted};
use crate::workflows::versions::compare::Comparison;
use crate::workflows::versions::{Made, SavedTask, Snapshot, Source, part_digest};
use crate::workflows::{Call, TOPIC, Workflow, Workflows, rights, store, tasks};

/// What an import would do.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportPreview {
    /// There are no errors.
    can_import: bool,
    /// Of the workflow.
    name: String,
    tasks: Vec<TaskPart>,
    /// The order of the tasks, as it follows from their tables.
    edges: Vec<EdgePart>,
    tables: TablesReport,
    /// Everything that prevents the import, each with its path in the definition.
    errors: Vec<ImportProblem>,
    /// What will be different from the definition, or cannot be published as it is.
    warnings: Vec<ImportProblem>,
    /// Of the workflow that is replaced, where new tasks have negative ids; null: a new one.
    changes: Option<Comparison>,
    /// For the import itself; null: there are errors.
    preview_token: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub struct ImportProblem {
    /// The path in the definition: `tasks[2].taskName`.
    field: String,
    message: String,
}

fn shown(details: Vec<Detail>) -> Vec<ImportProblem> {
    let shown = |detail: Detail| ImportProblem { field: detail.field, message: detail.message };
    details.into_iter().map(shown).collect()
}

/// The outcome of an import.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportedView {
    workflow_id: i64,
    version: i64,
    /// In the order of the definition's tasks.
    task_ids: Vec<i64>,
}

type ImportCall = Call<Nothing, Nothing, Draft<ImportWorkflow>>;

/// An import that was looked up.
struct Prepared {
    document: Option<Document>,
    resolved: Option<Resolved>,
    replaced: Option<Replaced>,
    errors: Vec<Detail>,
    warnings: Vec<Detail>,
}

/// The workflow that is replaced.
struct Replaced {
    workflow: Workflow,
    snapshot: Snapshot,
}

/// `POST /api/v1/workflows/import/preview`
pub async fn preview(call: ImportCall) -> Result<Data<ImportPreview>, Error> {
    let prepared = prepare(&call, true).await?;
    let state = &call.state;
    let changes = match (&prepared.resolved, &prepared.replaced) {
        (Some(resolved), Some(replaced)) => Some(compared(state, resolved, replaced.snapshot.clone()).await?),
        _ => None,
    };
    let preview_token = prepared.token();
    let document = prepared.document;
    let (name, tasks, edges) = match document {
        Some(mut document) => {
            // Of a task without a sound name there is an error.
            document.tasks.retain(|task| (1..=NAME_MAX_CHARS).contains(&task.task_name.chars().count()));
            let edges = tokio::task::block_in_place(|| super::document::edges(&document.tasks));
            (document.workflow.name, document.tasks, edges)
        }
        None => (String::new(), Vec::new(), Vec::new()),
    };
    Ok(Data::new(&ImportPreview {
        can_import: prepared.errors.is_empty(),
        name,
        tasks,
        edges,
        tables: prepared.resolved.map(|resolved| resolved.tables).unwrap_or_default(),
        errors: shown(prepared.errors),
        warnings: shown(prepared.warnings),
        changes,
        preview_token,
    }))
}

/// `POST /api/v1/workflows/import/commit`
pub async fn commit(call: ImportCall) -> Result<Data<ImportedView>, Error> {
    let state = &call.state;
    call.body.refuse(Vec::new())?;
    if call.body.read().preview_token.is_none() {
        call.body.refuse(vec![Detail::new("previewToken", "is missing; send the one of the preview")])?;
    }
    let prepared = prepare(&call, false).await?;
    if let (Some(name), [error]) =
        (prepared.resolved.as_ref().and_then(|one| one.taken.as_ref()), &prepared.errors[..])
    {
        return Err(Error::conflict("name_taken", format!("{name}: {}", error.message)));
    }
    if !prepared.errors.is_empty() {
        return Err(Error::invalid(prepared.errors));
    }
    if prepared.token() != call.body.read().preview_token {
        return Err(stale());
    }
    let (Some(resolved), Some(_)) = (prepared.resolved, &prepared.document) else { return Err(stale()) };
    let now_ms = state.clock.now_ms();
    let made = Made { source: Source::Import, comment: None, by: &call.caller.name, now_ms };
    let rights = Rights::of(&state.db, &call.caller).await?;
    let mut tx = state.db.begin().await?;
    let (mut workflow, before) = match &prepared.replaced {
        Some(Replaced { workflow: known, .. }) => {
            let workflow = store::lock(&mut tx, known.id).await?.ok_or_else(|| unknown(known.id))?;
            if workflow.version != known.version {
                return Err(stale());
            }
            rights::check_version(&mut tx, &rights, workflow.id, workflow.version).await?;
            refuse_moved(&workflow, &resolved.content.scheduler_engine)?;
            let before = workflow.clone();
            (workflow, Some(before))
        }
        None => (insert(&mut tx, &resolved, made).await?, None),
    };
    refuse_gone(&mut tx, &resolved.content.scheduler_engine).await?;
    check_references(&mut tx, &resolved.tasks).await?;
    let wanted = wanted(&mut tx, &workflow, resolved.tasks).await?;
    let task_ids = replace::replace(&mut tx, &mut workflow, resolved.content, wanted, made).await?;
    tx.changed(TOPIC, workflow.id.to_string());
    let mut change = Change::of("workflow", workflow.id).after(&workflow.definition());
    if let Some(before) = before {
        change = change.before(&before.definition());
    }
    let view = ImportedView { workflow_id: workflow.id, version: workflow.version, task_ids };
    call.commit(tx, change, Data::new(&view)).await
}

fn stale() -> Error {
    let message = "the definition, or what it refers to, is not what was previewed; preview it again";
    Error::conflict("preview_stale", message)
}

/// A new workflow without a version.
async fn insert(tx: &mut Tx, resolved: &Resolved, made: Made<'_>) -> Result<Workflow, Error> {
    let mut workflow = Workflow::draft(resolved.content.clone(), made.by, made.now_ms);
    workflow.id = store::insert(tx, &workflow).await?;
    Ok(workflow)
}

/// 409 if a data source or a table was deleted since it was looked up.
async fn check_references(tx: &mut Tx, tasks: &[ResolvedTask]) -> Result<(), Error> {
    let mut sources: Vec<i64> = tasks.iter().filter_map(|task| task.content.datasource_id).collect();
    let mut ids: Vec<i64> = tasks.iter().flat_map(|task| task.content.table_ids()).collect();
    for list in [&mut sources, &mut ids] {
        list.sort_unstable();
        list.dedup();
    }
    let (found_sources, found) =
        tx.query_all((datasources::all_kept(&sources), tables::all_kept(&ids))).await?;
    if (found_sources.len(), found.len()) == (sources.len(), ids.len()) { Ok(()) } else { Err(stale()) }
}

/// The tasks for the workflow: those with a name that it has already keep their ids.
async fn wanted(tx: &mut Tx, workflow: &Workflow, resolved: Vec<ResolvedTask>) -> Result<Vec<Wanted>, Error> {
    let current = tasks::of_workflow(workflow.id).all_in(tx).await?;
    let ids: HashMap<&str, i64> =
        current.iter().map(|task| (task.content.task_name.as_str(), task.id)).collect();
    let wanted = resolved.into_iter().map(|task| Wanted {
        id: ids.get(task.content.task_name.as_str()).copied(),
        content: task.content,
        given: task.given,
        names: task.names,
    });
    Ok(wanted.collect())
}

/// With warnings, all SQL is parsed; without, only that of tasks whose tables follow from it.
async fn prepare(call: &ImportCall, with_warnings: bool) -> Result<Prepared, Error> {
    let (state, form) = (&call.state, call.body.read());
    call.body.refuse(Vec::new())?;
    call.body.refuse(missing(form))?;
    check_engine(state, form).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let replaced = match form.workflow_id {
        Some(id) => {
            let workflow = super::super::get(state, id).await?;
            rights::check_read(&state.db, &rights, id, workflow.version).await?;
            let snapshot = Snapshot::read(&state.db, id, workflow.version).await?;
            let mut snapshot = snapshot.ok_or_else(|| unknown(id))?;
            export::refresh_names(state, &mut snapshot).await?;
            Some(Replaced { snapshot, workflow })
        }
        None => None,
    };
    let mut problems = Problems::default();
    let mut document = source(call, &mut problems).await?;
    let mut resolved = None;
    if let Some(document) = &mut document {
        if let Some(name) = &form.name {
            document.workflow.name.clone_from(&name.0);
        }
        if let Some(engine) = &form.scheduler_engine {
            document.workflow.scheduler_engine.clone_from(engine);
        }
        check_rights(call, document)?;
        let of = resolve::Replaced::of(replaced.as_ref().map(|one| (one.workflow.id, &one.snapshot)));
        let mut found = resolve::resolve(state, document, &of, with_warnings, &mut problems).await?;
        if let Some(replaced) = &replaced {
            keep_order(&mut found.tasks, &replaced.snapshot);
        }
        let ids = found.tasks.iter().flat_map(|task| &task.names.tables);
        let sources = ids.filter_map(|table| table.datasource.as_deref());
        sources.into_iter().try_for_each(|name| call.caller.check_datasource(name))?;
        if let Some(replaced) = &replaced
            && let Err(error) = refuse_moved(&replaced.workflow, &found.content.scheduler_engine)
        {
            problems.add("workflow.schedulerEngine", error.to_string());
        }
        resolved = Some(found);
    }
    let (errors, warnings) = problems.into_details();
    Ok(Prepared { document, resolved, replaced, errors, warnings })
}

/// 400 for an engine that is not configured.
async fn check_engine(state: &Workflows, form: &ImportWorkflow) -> Result<(), Error> {
    let Some(engine) = &form.scheduler_engine else { return Ok(()) };
    let engines = engines::names(&state.db).await?;
    if engines.contains(engine) {
        return Ok(());
    }
    Err(Error::invalid(vec![definition::unknown_engine(&engines)]))
}

/// The members that the source needs.
fn missing(form: &ImportWorkflow) -> Vec<Detail> {
    match form.source {
        ImportSource::Json if form.definition.is_none() => {
            vec![Detail::new("definition", "is missing; the source `json` needs it")]
        }
        ImportSource::Scheduler if form.workflow_code.is_none() => {
            vec![Detail::new("workflowCode", "is missing; the source `scheduler` needs it")]
        }
        _ => Vec::new(),
    }
}

/// 403 for names of data sources that the caller may not use, whether they exist or not.
fn check_rights(call: &ImportCall, document: &Document) -> Result<(), Error> {
    if !call.caller.is_bound() {
        return Ok(());
    }
    let of_task = |task: &TaskPart| {
        let tables = task.input_tables.iter().chain(&task.output_tables);
        let tables = tables.filter_map(|table| table.datasource.clone());
        // A script may use any.
        let any = (task.task_type == SHELL).then(|| "any one, as a script may".to_owned());
        task.datasource.iter().cloned().chain(tables).chain(any).collect::<Vec<String>>()
    };
    let names = document.tasks.iter().flat_map(of_task);
    names.into_iter().try_for_each(|name| call.caller.check_datasource(&name))
}

/// The definition as a document; `None` if it cannot be read, which `problems` say.
async fn source(call: &ImportCall, problems: &mut Problems) -> Result<Option<Document>, Error> {
    let (state, form) = (&call.state, call.body.read());
    let engine = form.scheduler_engine.as_deref().unwrap_or(engines::LOCAL);
    if form.source == ImportSource::Scheduler {
        let project = form.project_code.map(|code| code.to_string()).unwrap_or_default();
        let code = form.workflow_code.clone().unwrap_or_default();
        return engine::deployed(state, engine, project, code, problems).await;
    }
    let Some(given) = &form.definition else { return Ok(None) };
    // A string is the text of a definition.
    let text = match serde_json::from_str::<String>(given.get()) {
        Ok(text) => Cow::Owned(text),
        Err(_) => Cow::Borrowed(given.get()),
    };
    let value: &RawValue = match serde_json::from_str(&text) {
        Ok(value) => value,
        Err(error) => {
            let place = format!("line {}, column {}", error.line(), error.column());
            problems.add(ROOT, format!("is a text that is not JSON ({place})"));
            return Ok(None);
        }
    };
    if read::is_own(value) || !engine::reads_definitions(state, engine).await? {
        return Ok(read::document(value, problems));
    }
    engine::document(state, engine, text.into_owned(), problems).await
}

impl Prepared {
    /// Changes with the definition, with what its names mean here, and with the workflow that it replaces.
    fn token(&self) -> Option<String> {
        let (document, resolved) = (self.document.as_ref()?, self.resolved.as_ref()?);
        if !self.errors.is_empty() {
            return None;
        }
        let mut all = Sha256::new_with_prefix("import\n");
        all.update(document.text());
        for task in &resolved.tasks {
            all.update(tasks::part::text(&task.content));
        }
        if let Some(Replaced { workflow, .. }) = &self.replaced {
            all.update(format!("\n{} {}", workflow.id, workflow.version));
        }
        Some(hex::encode(all.finalize()))
    }
}

/// A document has its tables in one order, which is no change.
fn keep_order(tasks: &mut [ResolvedTask], before: &Snapshot) {
    let named: HashMap<&str, &SavedTask> =
        before.tasks.values().map(|task| (task.content.task_name.as_str(), task)).collect();
    for task in tasks {
        let Some(known) = named.get(task.content.task_name.as_str()) else { continue };
        for (ids, known) in [
            (&mut task.content.input_table_ids, &known.content.input_table_ids),
            (&mut task.content.output_table_ids, &known.content.output_table_ids),
        ] {
            if ids.len() == known.len() && ids.iter().all(|id| known.contains(id)) {
                ids.clone_from(known);
            }
        }
    }
}

/// The changes of a workflow that is replaced; tasks that do not exist yet have negative ids.
async fn compared(state: &Workflows, resolved: &Resolved, before: Snapshot) -> Result<Comparison, Error> {
    let mut next = -1;
    let ids: HashMap<&str, i64> =
        before.tasks.iter().map(|(id, task)| (task.content.task_name.as_str(), *id)).collect();
    let mut tasks = BTreeMap::new();
    for task in &resolved.tasks {
        let id = ids.get(task.content.task_name.as_str()).copied().unwrap_or(next);
        next -= 1;
        let digest = part_digest(&tasks::part::text(&task.content));
        let saved =
            SavedTask { content: task.content.clone(), given: task.given, names: task.names.clone(), digest };
        tasks.insert(id, saved);
    }
    let after = Snapshot { version: before.version + 1, content: resolved.content.clone(), tasks };
    let zone = state.config.time_zone;
    let comparison = tokio::task::spawn_blocking(move || Comparison::of(Some(&before), &after, zone)).await;
    comparison.map_err(Error::internal)
}
