//! Warnings about a task that may be saved but not be published as it is, or that runs otherwise than one may expect.

use lakeport_base::Error;
use lakeport_sql::script::script;
use schemars::JsonSchema;
use serde::Serialize;

use super::definition::{Content, Given, Kind};
use crate::datasources::Datasource;
use crate::scheduler::parameters;
use crate::sql_tables::ParsedSql;

/// Why a task cannot be published as it is, or what it does not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "TaskWarning")]
pub struct Warning {
    /// The member, such as `task.sqlContent`.
    pub field: String,
    /// In its text, from 1; null: it is not about a place.
    pub line: Option<u64>,
    /// In characters, from 1.
    pub column: Option<u64>,
    pub message: String,
}

/// Why the engine cannot run a task of this type on its data source.
pub fn unfit_datasource(kinds: &[Kind], content: &Content, source: Option<&Datasource>) -> Option<String> {
    let kind = kinds.iter().find(|kind| kind.name == content.task_type)?;
    let source = source?;
    if kind.datasource_kinds.is_empty() || kind.datasource_kinds.contains(&source.kind) {
        return None;
    }
    let kinds = kind.datasource_kinds.join(", ");
    Some(format!(
        "the engine runs tasks of the type {} on data sources of the kinds {kinds}; `{}` is of the kind {}",
        kind.name, source.name, source.kind
    ))
}

/// Why Lakeport's own scheduler could not run this SQL with values of any run.
pub async fn unfit_script(
    content: &Content,
    params: Vec<(String, String)>,
    source: Option<&Datasource>,
) -> Result<Option<String>, Error> {
    let (kind, text) = (content.task_type.clone(), content.sql_content.clone().unwrap_or_default());
    let (lexing, server) = (Datasource::lexing(source), source.and_then(Datasource::server));
    // A megabyte takes time, which would block threads that answer requests.
    let judged =
        tokio::task::spawn_blocking(move || match parameters::probe(&kind, &text, &params, lexing) {
            Ok(expanded) => server.zip(expanded).and_then(|(server, text)| script(&text, server).err()),
            Err(why) => Some(why),
        });
    judged.await.map_err(Error::internal)
}

/// The warnings about a task with this SQL, whose tables follow from it unless they are `given`.
pub fn warnings(
    kinds: &[Kind],
    content: &Content,
    source: Option<&Datasource>,
    given: Given,
    parsed: ParsedSql,
    unfit_script: Option<String>,
) -> Vec<Warning> {
    let whole = |field: &str, message| Warning { field: field.to_owned(), line: None, column: None, message };
    let unfit = unfit_datasource(kinds, content, source).map(|why| whole("task.datasourceId", why));
    let unknown = if given.any() { Vec::new() } else { parsed.unknown(|_| true) };
    let unknown = unknown.into_iter().map(|why| whole("task.sqlContent", why));
    let unfit_script = unfit_script.filter(|_| parsed.errors.is_empty());
    let unfit_script = unfit_script.map(|why| whole("task.sqlContent", cannot_be_published(&why)));
    let unparsed = parsed.errors.into_iter().map(|error| Warning {
        field: "task.sqlContent".to_owned(),
        line: Some(error.line),
        column: Some(error.column),
        message: cannot_be_published(&error.message),
    });
    unfit.into_iter().chain(unparsed).chain(unfit_script).chain(unknown).collect()
}

fn cannot_be_published(why: &str) -> String {
    format!("{why}; with this SQL the task cannot be published")
}
