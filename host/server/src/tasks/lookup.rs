//! What a task names in other rooms: the types its engine runs, its data source, its tables. Looked up before a
//! change begins.

use std::collections::{BTreeSet, HashMap};

use super::Task;
use super::definition::{Content, Given, Kind, TABLES_MAX, Wanted};
use super::part::{Names, TableName};
use crate::app::App;
use crate::catalog::Index;
use crate::datasources::{self, Datasource};
use crate::error::{Detail, Error};
use crate::http::Caller;
use crate::lineage::{self, ParsedName, ParsedSql};
use crate::runner::parameters;
use crate::workflows::{self, Workflow};

/// Differences that are told of.
const WARNINGS_MAX: usize = 100;
/// What a task's text is that tables are found in.
const SQL: &str = "SQL";

/// A task as it is to be, with all that it names.
pub struct Looked {
    pub wanted: Wanted,
    pub names: Names,
}

/// The types of task that the workflow's engine runs.
pub async fn kinds(app: &App, workflow: &Workflow) -> Result<Vec<Kind>, Error> {
    let reach = workflows::reach(app, &workflow.content.scheduler_engine, "tasks").await?;
    let info = reach.info().await?;
    let kind = |kind: &lakeport_bindings::engine::about::TaskType| Kind {
        name: kind.name.clone(),
        body: kind.body.clone(),
        needs_datasource: kind.needs_datasource,
    };
    Ok(info.task_types.iter().map(kind).collect())
}

/// 400 for a data source that is not there, or a text that names what nobody sets. Finds the tables of its SQL
/// where they are not given.
pub async fn look_up(app: &App, wanted: Wanted, workflow: Option<&Workflow>) -> Result<Looked, Error> {
    let mut wanted = wanted;
    let mut wrong = Vec::new();
    let source = match wanted.content.datasource_id {
        Some(id) => datasources::find(&app.db, id).await?,
        None => None,
    };
    match (wanted.content.datasource_id, &source) {
        (Some(id), None) => {
            wrong.push(Detail::new("task.datasourceId", format!("there is no data source {id}")));
        }
        (_, Some(source)) if source.is_own() => {
            wrong.push(Detail::new("task.datasourceId", "is the server's own store; no task works on it"));
        }
        _ => {}
    }
    let params = workflow.map(|workflow| workflow.content.params()).unwrap_or_default();
    let text = wanted.content.sql_content.as_deref().unwrap_or_default();
    let problems = parameters::check(&wanted.content.task_type, text, &params);
    wrong.extend(problems.into_iter().map(|why| Detail::new("task.sqlContent", why)));
    if !wrong.is_empty() {
        return Err(Error::invalid(wrong));
    }
    if wanted.find_tables {
        find_tables(app, source.as_ref(), &mut wanted.content).await?;
    }
    let names = names(app, source.as_ref(), &wanted.content).await?;
    Ok(Looked { wanted, names })
}

async fn find_tables(app: &App, source: Option<&Datasource>, content: &mut Content) -> Result<(), Error> {
    let sql = content.sql_content.as_deref().unwrap_or_default();
    let parsed = parse(app, source, sql).await?;
    let ids = |names: &[ParsedName]| -> Vec<i64> {
        let mut seen = BTreeSet::new();
        let ids = names.iter().filter_map(|name| name.table_id);
        ids.filter(|id| seen.insert(*id)).take(TABLES_MAX).collect()
    };
    content.input_table_ids = ids(&parsed.inputs);
    content.output_table_ids = ids(&parsed.outputs);
    Ok(())
}

async fn parse(app: &App, source: Option<&Datasource>, sql: &str) -> Result<ParsedSql, Error> {
    let dialect = source.map_or("ansi", |source| source.kind.as_str());
    lineage::bindings_in(app, source, dialect, sql).await
}

/// What its ids are called, as far as the catalogue knows them.
async fn names(app: &App, source: Option<&Datasource>, content: &Content) -> Result<Names, Error> {
    let ids = [content.input_table_ids.as_slice(), &content.output_table_ids].concat();
    let is_known = |index: &Index| ids.iter().all(|id| index.get(*id).is_some());
    if !is_known(&app.catalog.read()) {
        app.catalog.caught_up(&app.changes).await?;
    }
    let found: Vec<(i64, Option<i64>, String, String)> = {
        let index = app.catalog.read();
        let entries = ids.iter().filter_map(|id| index.get(*id));
        entries.map(|e| (e.id, e.cluster_id, e.db_name.to_string(), e.table_name.to_string())).collect()
    };
    let clusters: BTreeSet<i64> = found.iter().filter_map(|(_, cluster_id, ..)| *cluster_id).collect();
    let mut called: HashMap<i64, String> = source.iter().map(|s| (s.id, s.name.clone())).collect();
    let others: Vec<i64> = clusters.into_iter().filter(|id| !called.contains_key(id)).collect();
    if !others.is_empty() {
        let others = datasources::all_of(&app.db, &others).await?;
        called.extend(others.into_iter().map(|source| (source.id, source.name)));
    }
    let named = |(id, cluster_id, db_name, table_name): (i64, Option<i64>, String, String)| TableName {
        id,
        datasource: cluster_id.and_then(|id| called.get(&id).cloned()),
        db_name,
        table_name,
    };
    let tables = found.into_iter().map(named).collect();
    Ok(Names { datasource: source.map(|source| source.name.clone()), tables })
}

/// 400 names the tables that are not there.
pub fn no_such_tables(content: &Content, missing: &[i64]) -> Error {
    let lists = [("inputTableIds", &content.input_table_ids), ("outputTableIds", &content.output_table_ids)];
    let wrong = lists.into_iter().filter_map(|(member, ids)| {
        let ids: Vec<String> = ids.iter().filter(|id| missing.contains(id)).map(i64::to_string).collect();
        let why = match ids.as_slice() {
            [] => return None,
            [id] => format!("there is no table {id}"),
            ids => format!("there are no tables {}", ids.join(", ")),
        };
        Some(Detail::new(member, why))
    });
    Error::invalid(wrong.collect())
}

/// Where the tables that were given differ from those in the task's SQL.
pub async fn differences(app: &App, task: &Task) -> Result<Vec<String>, Error> {
    let Given { inputs, outputs } = task.given;
    let (content, sql) = (&task.content, task.content.sql_content.as_deref().unwrap_or_default());
    if content.task_type != SQL || !task.given.any() || sql.is_empty() {
        return Ok(Vec::new());
    }
    let source = match content.datasource_id {
        Some(id) => datasources::find(&app.db, id).await?,
        None => None,
    };
    let parsed = parse(app, source.as_ref(), sql).await?;
    let mut warnings = Vec::new();
    if !parsed.errors.is_empty() {
        warnings.push(format!("{} statements of the SQL could not be read", parsed.errors.len()));
    }
    for (is_given, ids, found, verb, list) in [
        (inputs, &content.input_table_ids, &parsed.inputs, "reads", "inputTableIds"),
        (outputs, &content.output_table_ids, &parsed.outputs, "writes", "outputTableIds"),
    ] {
        if is_given {
            compare(app, ids, found, verb, list, &mut warnings);
        }
    }
    warnings.truncate(WARNINGS_MAX);
    Ok(warnings)
}

fn compare(app: &App, ids: &[i64], found: &[ParsedName], verb: &str, list: &str, warnings: &mut Vec<String>) {
    for name in found {
        let written = &name.name;
        match name.table_id {
            Some(id) if ids.contains(&id) => {}
            Some(_) => warnings.push(format!("the SQL {verb} `{written}`, which is not in {list}")),
            None => warnings.push(format!("the SQL {verb} `{written}`, which the catalogue does not have")),
        }
    }
    let index = app.catalog.read();
    for id in ids.iter().filter(|id| !found.iter().any(|name| name.table_id == Some(**id))) {
        let named = index.get(*id).map(|entry| format!("`{}`", entry.table_name));
        let named = named.unwrap_or_else(|| format!("the table {id}"));
        warnings.push(format!("{list} has {named}, which the SQL does not name there"));
    }
}

/// The tables of these that the caller may read; says how many others there are.
pub async fn readable(
    app: &App,
    caller: &Caller,
    ids: &[i64],
    warnings: &mut Vec<String>,
) -> Result<Vec<i64>, Error> {
    if caller.datasources.is_none() {
        return Ok(ids.to_vec());
    }
    let clusters: HashMap<i64, i64> = {
        let index = app.catalog.read();
        let cluster = |id: &i64| Some((*id, index.get(*id)?.cluster_id?));
        ids.iter().filter_map(cluster).collect()
    };
    let sources: BTreeSet<i64> = clusters.values().copied().collect();
    let sources = datasources::all_of(&app.db, &sources.into_iter().collect::<Vec<_>>()).await?;
    let closed: BTreeSet<i64> =
        sources.iter().filter(|source| !caller.may_read(&source.name)).map(|source| source.id).collect();
    let is_open = |id: &i64| clusters.get(id).is_none_or(|cluster| !closed.contains(cluster));
    let open: Vec<i64> = ids.iter().copied().filter(is_open).collect();
    if open.len() < ids.len() {
        let count = ids.len() - open.len();
        warnings.push(format!("{count} tables are left out: they lie in data sources that you may not read"));
    }
    Ok(open)
}
