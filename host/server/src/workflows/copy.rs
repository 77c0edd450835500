//! A copy of a workflow: its current content under another name, with tasks of its own.

use lakeport_base::Error;
use lakeport_http::{Data, Nothing, OptionalJson};

use super::api::{refuse_gone, shown, unknown};
use super::definition::{self, Content};
use super::forms::{CopyWorkflow, NAME_MAX_CHARS, WorkflowPath};
use super::tasks::replace::{self, Wanted};
use super::versions::{Made, Snapshot, Source};
use super::view::WorkflowView;
use super::{Call, TOPIC, Workflow, rights, store};
use crate::audit::{Change, Commit};
use crate::datasources::Rights;

/// The most names that are tried.
const NAMES_MAX: usize = 100;

/// How often a name is looked for where others take it.
const TRIES: usize = 10;

type CopyCall = Call<WorkflowPath, Nothing, OptionalJson<CopyWorkflow>>;

/// `POST /api/v1/workflows/{id}/copy`
pub async fn copy(call: CopyCall) -> Result<Data<WorkflowView>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let original = super::get(state, id).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    rights::check_read(&state.db, &rights, id, original.version).await?;
    let snapshot = Snapshot::read(&state.db, id, original.version).await?.ok_or_else(|| unknown(id))?;
    let given = call.body.0.as_ref().and_then(|form| form.name.as_ref()).map(|name| name.0.clone());
    let mut tries = 0;
    loop {
        let mut content = snapshot.content.clone();
        content.name = match &given {
            Some(name) => name.clone(),
            None => free_name(&call, &content.name).await?,
        };
        tries += 1;
        match insert(&call, &original, content, &snapshot).await {
            // Another copy took the name in this moment.
            Err(error) if error.code() == "name_taken" && given.is_none() && tries < TRIES => {}
            done => return done,
        }
    }
}

async fn insert(
    call: &CopyCall,
    original: &Workflow,
    content: Content,
    snapshot: &Snapshot,
) -> Result<Data<WorkflowView>, Error> {
    let state = &call.state;
    let engines = std::slice::from_ref(&content.scheduler_engine);
    definition::check(&content, engines).map_err(Error::invalid)?;
    let now_ms = state.clock.now_ms();
    let comment = format!("copy of version {} of the workflow {}", original.version, original.id);
    let made = Made { source: Source::Create, comment: Some(&comment), by: &call.caller.name, now_ms };
    let mut workflow = Workflow::draft(content.clone(), &call.caller.name, now_ms);
    let wanted = snapshot.tasks.values().cloned().map(|task| Wanted {
        id: None,
        content: task.content,
        given: task.given,
        names: task.names,
    });
    let mut tx = state.db.begin().await?;
    refuse_gone(&mut tx, &workflow.content.scheduler_engine).await?;
    workflow.id = store::insert(&mut tx, &workflow).await?;
    replace::replace(&mut tx, &mut workflow, content, wanted.collect(), made).await?;
    tx.changed(TOPIC, workflow.id.to_string());
    let change = Change::of("workflow", workflow.id).after(&workflow.definition());
    call.commit(tx, change, shown(state, &call.caller, &workflow, None)).await
}

/// The old name and `copy`, with a number where that is taken.
async fn free_name(call: &CopyCall, name: &str) -> Result<String, Error> {
    for number in 1..=NAMES_MAX {
        let suffix = if number == 1 { " copy".to_owned() } else { format!(" copy {number}") };
        let kept: String = name.chars().take(NAME_MAX_CHARS - suffix.len()).collect();
        let free = format!("{}{suffix}", kept.trim_end());
        if store::id_of_name(&call.state.db, &free).await?.is_none() {
            return Ok(free);
        }
    }
    let message = format!("there are {NAMES_MAX} copies of `{name}` already; name this one");
    Err(Error::conflict("name_taken", message))
}
