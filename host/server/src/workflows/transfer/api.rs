//! Handlers of the format's schema and of the list of an engine's workflows.

use std::sync::OnceLock;

use bytes::Bytes;
use lakeport_base::Error;
use lakeport_bindings::engine::definitions::{DefinitionHead, DefinitionQuery};
use lakeport_bindings::host::types::Page as CursorPage;
use lakeport_http::{Data, Document as JsonFile, File, Nothing, Page, Paging, etag_of_bytes};
use schemars::JsonSchema;
use serde::Serialize;

use super::document::Document;
use crate::engines;
use crate::workflows::definition::unknown_engine;
use crate::workflows::forms::{ImportableQuery, PAGE_SIZE_DEFAULT};
use crate::workflows::{Call, store};

/// `GET /schemas/lakeport.workflow-1.json`
pub async fn schema(_: Call) -> Result<File<JsonFile>, Error> {
    static SCHEMA: OnceLock<Bytes> = OnceLock::new();
    let text = SCHEMA
        .get_or_init(|| serde_json::to_string_pretty(&Document::schema()).expect("a schema is JSON").into());
    Ok(File::new(text.clone()).with_etag(&etag_of_bytes(text)))
}

/// The most definitions of an engine that are listed.
const LISTED_MAX: usize = 10_000;
/// Definitions that an engine is asked for at once.
const ASKED_AT_ONCE: u32 = 200;

/// A workflow in an engine.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImportableWorkflow {
    scheduler_engine: String,
    /// Null: the engine has no projects, or its project is no number.
    project_code: Option<i64>,
    workflow_code: String,
    workflow_name: String,
    /// `ONLINE`, `OFFLINE` or `UNKNOWN`.
    release_state: String,
    /// A workflow of Lakeport is deployed as this one.
    imported: bool,
    workflow_id: Option<i64>,
}

/// `GET /api/v1/workflows/import/scheduler`
pub async fn importable(
    call: Call<Nothing, ImportableQuery>,
) -> Result<Data<Page<ImportableWorkflow>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let engine = query.scheduler_engine.as_deref().unwrap_or(engines::LOCAL);
    let record = engines::find(&state.db, engine).await?;
    let Some(record) = record else {
        let known = engines::names(&state.db).await?;
        return Err(Error::invalid(vec![unknown_engine(&known)]));
    };
    let client = engines::EngineClient::of(&state.engines, &record, call.request_id.as_str());
    let mut heads: Vec<DefinitionHead> = Vec::new();
    let mut cursor = None;
    loop {
        let page = client
            .definitions(&DefinitionQuery {
                project: query.project_code.map(|code| code.to_string()),
                keyword: query.keyword.clone().filter(|keyword| !keyword.is_empty()),
                page: CursorPage { cursor, limit: ASKED_AT_ONCE },
            })
            .await?;
        heads.extend(page.definitions);
        match page.next {
            Some(next) if heads.len() < LISTED_MAX => cursor = Some(next),
            _ => break,
        }
    }
    heads.truncate(LISTED_MAX);
    let total = heads.len() as i64;
    let offset = usize::try_from(paging.offset()).unwrap_or(usize::MAX);
    let shown: Vec<DefinitionHead> = heads.into_iter().skip(offset).take(paging.page_size as usize).collect();
    let codes: Vec<&str> = shown.iter().map(|head| head.code.as_str()).collect();
    let known = store::ids_of_codes(&state.db, engine, &codes).await?;
    let shown = shown.into_iter().map(|head| {
        let of = |code: &str, project: Option<&str>| {
            code == head.code && project.is_none_or(|project| project == head.project)
        };
        let known = known.iter().find(|(_, code, project)| of(code, project.as_deref()));
        ImportableWorkflow {
            scheduler_engine: engine.to_owned(),
            project_code: head.project.parse().ok(),
            imported: known.is_some(),
            workflow_id: known.map(|(id, ..)| *id),
            workflow_code: head.code.clone(),
            workflow_name: head.name.clone(),
            release_state: head.release_state.clone(),
        }
    });
    Ok(Data::new(&paging.page(total, shown.collect())))
}
