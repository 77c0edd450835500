//! Shows the tables of a task's SQL before the task is saved.

use lakeport_base::Error;
use lakeport_http::{Data, Json, Nothing};

use super::forms::ParseSql;
use crate::datasources;
use crate::sql_tables::{self, ParsedSql};
use crate::workflows::Call;

/// The default dialect.
const DEFAULT_DIALECT: &str = "ansi";

/// `POST /api/v1/tasks/parse`
pub async fn parse(call: Call<Nothing, Nothing, Json<ParseSql>>) -> Result<Data<ParsedSql>, Error> {
    let (state, form) = (&call.state, &call.body.0);
    let source = match form.datasource_id {
        None => None,
        Some(id) => {
            let source = datasources::find(&state.db, id).await?;
            Some(source.ok_or_else(|| Error::not_found("data source", id))?)
        }
    };
    if let Some(source) = source.as_ref().filter(|source| !call.caller.may_read(&source.name)) {
        let message = format!("{} is bound to other data sources than `{}`", call.caller.name, source.name);
        return Err(Error::forbidden("datasource_not_allowed", message));
    }
    let dialect = form.dialect.as_deref().filter(|dialect| !dialect.is_empty());
    let dialect = dialect.or(source.as_ref().map(|source| source.kind.as_str())).unwrap_or(DEFAULT_DIALECT);
    let mut parsed =
        sql_tables::bindings_in(&state.catalog, source.as_ref(), dialect, &form.sql_content).await?;
    if source.is_none() && call.caller.datasources.is_some() {
        // Without a data source all are searched; tables in those that the caller may not read are hidden.
        let names = datasources::names_by_id(&state.db).await?;
        let index = state.catalog.read();
        let may_see = |id: i64| {
            let source = index.get(id).and_then(|entry| entry.cluster_id);
            source.is_none_or(|id| names.get(&id).is_some_and(|name| call.caller.may_read(name)))
        };
        for name in parsed.inputs.iter_mut().chain(&mut parsed.outputs) {
            name.table_id = name.table_id.filter(|id| may_see(*id));
        }
    }
    Ok(Data::new(&parsed))
}
