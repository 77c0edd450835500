//! Handlers of versions.

use lakeport_base::Error;
use lakeport_http::{Data, Json, Nothing, Page, Paging};
use schemars::JsonSchema;
use serde::Serialize;

use super::compare::Comparison;
use super::rollback::{self, RolledBack};
use super::snapshot::Snapshot;
use super::store;
use crate::audit::Commit;
use crate::datasources::Rights;
use crate::workflows::api::unknown;
use crate::workflows::forms::{CompareVersions, PAGE_SIZE_DEFAULT, VersionPath, VersionsQuery, WorkflowPath};
use crate::workflows::view::VersionView;
use crate::workflows::{Call, rights, store as workflows};

fn unknown_version(version: i64) -> Error {
    Error::not_found("version", version)
}

/// `GET /api/v1/workflows/{id}/versions`
pub async fn list(call: Call<WorkflowPath, VersionsQuery>) -> Result<Data<Page<VersionView>>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let paging = Paging::of(call.query.page_num, call.query.page_size, PAGE_SIZE_DEFAULT)?;
    let (workflow, page) = state.db.read_all((workflows::by_id(id), store::page(id, &paging))).await?;
    let workflow = workflow.first().ok_or_else(|| unknown(id))?;
    let zone = state.config.time_zone;
    let page = page.into_iter().map(|version| VersionView::new(version, zone)).collect();
    // They are numbered from 1 without gaps.
    Ok(Data::new(&paging.page(workflow.version, page)))
}

/// `POST /api/v1/workflows/{id}/versions/compare`
pub async fn compare(
    call: Call<WorkflowPath, Nothing, Json<CompareVersions>>,
) -> Result<Data<Comparison>, Error> {
    let (state, id) = (&call.state, call.path.id);
    let CompareVersions { v1, v2 } = *call.body;
    super::super::get(state, id).await?;
    let rights = Rights::of(&state.db, &call.caller).await?;
    for version in [v1, v2] {
        rights::check_read(&state.db, &rights, id, version).await?;
    }
    let [before, after] = Snapshot::read_both(&state.db, id, [v1, v2]).await?;
    let before = before.ok_or_else(|| unknown_version(v1))?;
    let after = after.ok_or_else(|| unknown_version(v2))?;
    let zone = state.config.time_zone;
    // A large workflow takes time, which would block threads that answer requests.
    let comparison = tokio::task::spawn_blocking(move || Comparison::of(Some(&before), &after, zone)).await;
    Ok(Data::new(&comparison.map_err(Error::internal)?))
}

/// The outcome of a rollback.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RollbackView {
    workflow_id: i64,
    /// The current version: a new one, unless its content was the same.
    version: i64,
    rolled_back_to: i64,
    /// What could not come back, one sentence each.
    warnings: Vec<String>,
}

/// `POST /api/v1/workflows/{id}/versions/{versionId}/rollback`
pub async fn rollback(call: Call<VersionPath>) -> Result<Data<RollbackView>, Error> {
    let (state, id, version) = (&call.state, call.path.id, call.path.version_id);
    let rights = Rights::of(&state.db, &call.caller).await?;
    // An old version never changes, so it can be read before the transaction.
    let old = Snapshot::read(&state.db, id, version).await?;
    let mut tx = state.db.begin().await?;
    let workflow = workflows::lock(&mut tx, id).await?.ok_or_else(|| unknown(id))?;
    call.check_if_match(&workflow.etag())?;
    let old = old.ok_or_else(|| unknown_version(version))?;
    for version in [workflow.version, version] {
        rights::check_version(&mut tx, &rights, id, version).await?;
    }
    let now_ms = state.clock.now_ms();
    let RolledBack { workflow, warnings, change } =
        rollback::rollback(&mut tx, workflow, old, &call.caller.name, now_ms).await?;
    let view = RollbackView { workflow_id: id, version: workflow.version, rolled_back_to: version, warnings };
    call.commit(tx, change, Data::new(&view).with_etag(&workflow.etag())).await
}
