//! Exports a version as a document.

use ::http::HeaderValue;
use ::http::header::CONTENT_DISPOSITION;
use lakeport_base::Error;
use lakeport_http::{Answer, AnswerShape, Data, Document as JsonFile, File, Reply};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use schemars::{JsonSchema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::document::Document;
use crate::datasources::{self, Rights};
use crate::workflows::forms::{ExportQuery, WorkflowPath};
use crate::workflows::tasks::part::TableName;
use crate::workflows::versions::Snapshot;
use crate::workflows::{Call, Workflows, rights};

/// An exported workflow.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "WorkflowExport")]
pub struct Export {
    pub file_name: String,
    pub content: Document,
}

/// The export in its envelope, or the file itself.
pub enum Exported {
    Data(Data<Export>),
    File(File<JsonFile>),
}

impl Answer for Exported {
    fn reply(&self) -> &Reply {
        match self {
            Exported::Data(data) => data.reply(),
            Exported::File(file) => file.reply(),
        }
    }

    fn into_reply(self) -> Reply {
        match self {
            Exported::Data(data) => data.into_reply(),
            Exported::File(file) => file.into_reply(),
        }
    }

    fn describe(generator: &mut SchemaGenerator) -> Option<AnswerShape> {
        let (data, file) = (Data::<Export>::describe(generator)?, generator.subschema_for::<Document>());
        Some(AnswerShape { schema: json_schema!({ "anyOf": [data.schema, file] }), ..data })
    }
}

/// `GET /api/v1/workflows/{id}/export-json`
pub async fn export(call: Call<WorkflowPath, ExportQuery>) -> Result<Exported, Error> {
    let state = &call.state;
    let rights = Rights::of(&state.db, &call.caller).await?;
    let document = of_workflow(state, &rights, call.path.id).await?;
    let file_name = document.file_name();
    if !call.query.download {
        return Ok(Exported::Data(Data::new(&Export { file_name, content: document })));
    }
    // Percent-encoded, so that a name cannot leave its place in the header.
    let name = utf8_percent_encode(&file_name, NON_ALPHANUMERIC);
    let disposition = format!("attachment; filename*=UTF-8''{name}");
    let disposition = HeaderValue::from_str(&disposition).map_err(Error::internal)?;
    let file = File::new(document.text()).with_header(CONTENT_DISPOSITION, disposition);
    Ok(Exported::File(file))
}

/// The current version of a workflow as a document; 403 if the caller may not read all of it.
pub async fn of_workflow(state: &Workflows, rights: &Rights<'_>, id: i64) -> Result<Document, Error> {
    let workflow = super::super::get(state, id).await?;
    rights::check_read(&state.db, rights, id, workflow.version).await?;
    let missing = || Error::not_found("version", workflow.version);
    let mut snapshot = Snapshot::read(&state.db, id, workflow.version).await?.ok_or_else(missing)?;
    refresh_names(state, &mut snapshot).await?;
    // A large workflow takes time, which would block threads that answer requests.
    tokio::task::spawn_blocking(move || Document::of(&snapshot)).await.map_err(Error::internal)
}

/// References are stored with the names that they had; now some may have others.
pub async fn refresh_names(state: &Workflows, snapshot: &mut Snapshot) -> Result<(), Error> {
    let sources = datasources::names_by_id(&state.db).await?;
    state.catalog.caught_up().await?;
    let index = state.catalog.read();
    for task in snapshot.tasks.values_mut() {
        let source = task.content.datasource_id.and_then(|id| sources.get(&id));
        if let Some(name) = source {
            task.names.datasource = Some(name.clone());
        }
        let stored = std::mem::take(&mut task.names.tables);
        let of = |id: i64| {
            let stored = stored.iter().find(|table| table.id == id);
            let Some(entry) = index.get(id) else { return stored.cloned() };
            // In the recycle bin a table has a name of its own.
            let table_name = match stored {
                Some(stored) if entry.is_deprecated => stored.table_name.clone(),
                _ => entry.table_name.to_string(),
            };
            let datasource = entry.cluster_id.and_then(|id| sources.get(&id).cloned());
            Some(TableName { id, datasource, db_name: entry.db_name.to_string(), table_name })
        };
        task.names.tables = task.content.table_ids().filter_map(of).collect();
    }
    Ok(())
}
