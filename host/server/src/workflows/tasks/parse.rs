//! Shows the tables of a task's SQL before the task is saved.

use lakeport_base::error::{Detail, Error};
use lakeport_http::{Data, Json, Nothing};

use super::forms::ParseSql;
use crate::datasources::{self, Rights};
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
            let missing = || Detail::new("datasourceId", format!("there is no data source {id}"));
            Some(source.ok_or_else(|| Error::invalid(vec![missing()]))?)
        }
    };
    if let Some(source) = &source {
        call.caller.check_datasource(&source.name)?;
    }
    let dialect = form.dialect.as_deref().filter(|dialect| !dialect.is_empty());
    let dialect = dialect.or(source.as_ref().map(|source| source.kind.as_str())).unwrap_or(DEFAULT_DIALECT);
    let mut parsed =
        sql_tables::bindings_in(&state.catalog, source.as_ref(), dialect, &form.sql_content).await?;
    if source.is_none() && call.caller.is_bound() {
        // Without a data source all are searched; tables in those that the caller may not use are hidden.
        let rights = Rights::of(&state.db, &call.caller).await?;
        let index = state.catalog.read();
        let may_see = |id: i64| rights.may_use(index.get(id).and_then(|entry| entry.cluster_id));
        for name in parsed.inputs.iter_mut().chain(&mut parsed.outputs) {
            name.table_id = name.table_id.filter(|id| may_see(*id));
        }
    }
    Ok(Data::new(&parsed))
}
