//! The preview of a publication: what runs in the engine compared with the current version, and whether that can run.

use std::collections::BTreeMap;

use lakeport_base::Error;
use lakeport_bindings::engine::definitions::Source;
use lakeport_http::Data;
use schemars::JsonSchema;
use serde::Serialize;

use super::build::Submitted;
use super::check::{self, Problem};
use crate::datasources::Rights;
use crate::engines::EngineClient;
use crate::workflows::api::engine_client;
use crate::workflows::definition::Schedule;
use crate::workflows::forms::{PreviewQuery, WorkflowPath};
use crate::workflows::versions::Snapshot;
use crate::workflows::versions::compare::Comparison;
use crate::workflows::{Call, Workflow, rights};

/// The most reported differences between the engine and what was deployed.
const DIFFERENCES_MAX: usize = 20;

/// What a publication would change.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PublicationPreview {
    /// From the deployed version, with the schedule that the engine has, to the one that would be published.
    #[serde(flatten)]
    comparison: Comparison,
    first_deployment: bool,
    warnings: Vec<Problem>,
    /// They prevent the publication.
    errors: Vec<Problem>,
    can_publish: bool,
}

/// `GET /api/v1/workflows/{id}/publish/preview`
pub async fn preview(call: Call<WorkflowPath, PreviewQuery>) -> Result<Data<PublicationPreview>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let workflow = crate::workflows::get(state, id).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let published = workflow.published_version.unwrap_or(workflow.version);
    let version = call.query.version.unwrap_or(workflow.version);
    for version in [published, version] {
        rights::check_read(&state.db, &rights, id, version).await?;
    }
    let submitted = Submitted::read(state, &workflow, version).await?;
    let submitted = submitted.ok_or_else(|| Error::not_found("version", version))?;
    let deployed = Snapshot::read(&state.db, id, published).await?;
    let deployed = deployed.filter(|_| workflow.published_version.is_some());
    let deployed = deployed.map(|deployed| with_engine_schedule(deployed, &workflow)).transpose()?;
    let client = engine_client(state, workflow.engine(), call.request_id.as_str()).await?;
    let mut found = check::check(state, id, &submitted, &client).await?;
    if submitted.snapshot.tasks.is_empty() {
        found.errors.push(Problem::of_workflow("tasks", "the workflow has no task".to_owned()));
    }
    if let Some(deployed) = &deployed {
        found.warnings.extend(differences(&client, &workflow, deployed).await?);
    }
    let (first_deployment, zone) = (deployed.is_none(), state.config.time_zone);
    let compare = move || Comparison::of(deployed.as_ref(), &submitted.snapshot, zone);
    let comparison = tokio::task::spawn_blocking(compare).await;
    Ok(Data::new(&PublicationPreview {
        comparison: comparison.map_err(Error::internal)?,
        first_deployment,
        can_publish: found.errors.is_empty(),
        warnings: found.warnings,
        errors: found.errors,
    }))
}

/// A schedule needs no publication: the engine may have another one than the deployed version.
fn with_engine_schedule(mut deployed: Snapshot, workflow: &Workflow) -> Result<Snapshot, Error> {
    let schedule = workflow.engine_schedule.as_deref();
    let schedule = schedule.map(serde_json::from_str::<Schedule>).transpose().map_err(Error::internal)?;
    deployed.content.schedule = schedule;
    Ok(deployed)
}

/// Warnings about an engine that has something else than what was deployed.
async fn differences(
    client: &EngineClient,
    workflow: &Workflow,
    deployed: &Snapshot,
) -> Result<Vec<Problem>, Error> {
    let warning = |message: String| Problem::of_workflow("", message);
    let (Some(reference), true) = (workflow.in_engine(), client.has_definitions()?) else {
        return Ok(Vec::new());
    };
    let (code, project) = (reference.code.clone(), reference.project.clone());
    let source = Source::Deployed((project.unwrap_or_default(), code.unwrap_or_default()));
    let found = match client.definition(&source).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let message = "the engine does not have the workflow any more; the publication creates it again";
            return Ok(vec![warning(message.to_owned())]);
        }
        Err(Error::Refused(refusal)) => {
            let message = format!("the engine could not be asked what it has: {}", refusal.message);
            return Ok(vec![warning(message)]);
        }
        Err(error) => return Err(error),
    };
    let in_engine: BTreeMap<&str, String> =
        found.workflow.tasks.iter().map(|task| (task.name.as_str(), task.text().trim().to_owned())).collect();
    let of_version: BTreeMap<&str, &str> = deployed
        .tasks
        .values()
        .map(|task| {
            let text = task.content.sql_content.as_deref().unwrap_or_default();
            (task.content.task_name.as_str(), text.trim())
        })
        .collect();
    let mut warnings = Vec::new();
    let changed = "it was changed there, and the publication replaces it";
    for (name, text) in &of_version {
        match in_engine.get(name) {
            None => warnings.push(warning(format!("the engine has no task `{name}`: {changed}"))),
            Some(found) if !text.is_empty() && found != text => {
                warnings
                    .push(warning(format!("the engine has another text of the task `{name}`: {changed}")));
            }
            Some(_) => {}
        }
    }
    for name in in_engine.keys().filter(|name| !of_version.contains_key(*name)) {
        warnings.push(warning(format!("the engine has a task `{name}` more: {changed}")));
    }
    warnings.truncate(DIFFERENCES_MAX);
    Ok(warnings)
}
