//! Looks up a task's references to other modules: its engine's task types, its data source, its tables. Runs
//! before a change begins.

use std::collections::{BTreeSet, HashMap, HashSet};

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::engine::about::EngineInfo;
use lakeport_catalog::Index;
use lakeport_http::{Body, Caller};
use lakeport_store::Tx;

use super::Task;
use super::definition::{Content, Given, Kind, TABLES_MAX, Wanted};
use super::part::{Names, TableName};
use super::saving::{self, Warning};
use super::store;
use crate::datasources::{self, Datasource, Rights};
use crate::engines::{self, EngineRecord};
use crate::scheduler::parameters;
use crate::sql_tables::{self, ParseError, ParsedName, ParsedSql};
use crate::tables;
use crate::workflows::Workflows;
use crate::workflows::{self, Workflow};

/// The most reported warnings.
const WARNINGS_MAX: usize = 100;
/// The message about an unknown table in the SQL.
const UNKNOWN: &str = "the catalogue does not have";
/// The kind of text in which tables are found.
const SQL: &str = "SQL";

/// The new definition of a task, with its references.
pub struct Looked {
    pub wanted: Wanted,
    pub names: Names,
    pub warnings: Vec<Warning>,
}

/// The task types of the workflow's engine, which was looked up.
pub async fn kinds(
    state: &Workflows,
    workflow: &Workflow,
    engine: Option<EngineRecord>,
) -> Result<Vec<Kind>, Error> {
    let client = workflows::client_of(state, &workflow.content.scheduler_engine, engine, "tasks")?;
    Ok(kinds_of(&*client.info(Some(workflow.id.unsigned_abs())).await?))
}

/// The task types in an engine's description.
pub fn kinds_of(info: &EngineInfo) -> Vec<Kind> {
    let kind = |kind: &lakeport_bindings::engine::about::TaskType| Kind {
        name: kind.name.clone(),
        body: kind.body.clone(),
        needs_datasource: kind.needs_datasource,
        datasource_kinds: kind.datasource_kinds.clone(),
    };
    info.task_types.iter().map(kind).collect()
}

/// Checks the references, where `source` is the task's data source, if there is one: 400 with the problems in `wrong` and missing references, if there are any, or if
/// the form could not be read. Derives tables from the SQL if they are not given.
pub async fn look_up(
    state: &Workflows,
    form: &impl Body,
    (mut wanted, mut wrong): (Wanted, Vec<Detail>),
    source: Option<Datasource>,
    before: Option<&Content>,
    place: Option<(&Workflow, &[Kind])>,
) -> Result<Looked, Error> {
    match (wanted.content.datasource_id, &source) {
        (Some(id), None) => wrong.push(no_such_datasource(id)),
        (_, Some(source)) if source.is_own() => {
            wrong.push(Detail::new("task.datasourceId", "is the server's own store; no task works on it"));
        }
        _ => {}
    }
    let params = place.map(|(workflow, _)| workflow.content.params()).unwrap_or_default();
    let text = wanted.content.sql_content.as_deref().unwrap_or_default();
    // What was saved before is no error of a change of something else.
    let is_kept = before.is_some_and(|before| before.sql_content == wanted.content.sql_content);
    let lexing = Datasource::lexing(source.as_ref());
    let problems = parameters::check(&wanted.content.task_type, text, &params, lexing);
    let problems = problems.into_iter().filter(|_| !is_kept);
    wrong.extend(problems.map(|why| Detail::new("task.sqlContent", why)));
    if !wrong.is_empty() || form.refuse(Vec::new()).is_err() {
        let new = new_tables(&wanted.content, before);
        let active = tables::active_of(&new).all(&state.db).await?;
        wrong.extend(no_such_tables(&wanted.content, &new, &active));
        form.refuse(wrong)?;
    }
    let sql = wanted.content.sql_content.as_deref().filter(|_| wanted.is_sql);
    let parsed = match sql {
        Some(sql) => Some(parse(state, source.as_ref(), sql).await?),
        None => None,
    };
    if let (true, Some(parsed)) = (wanted.find_tables, &parsed) {
        take_tables(&state.catalog.read(), &mut wanted.content, before, parsed);
    }
    let names = names(state, source.as_ref(), &wanted.content).await?;
    let kinds = place.map_or(&[][..], |(_, kinds)| kinds);
    let parsed = parsed.unwrap_or_default();
    let runs_here = match place.filter(|_| wanted.is_sql) {
        Some((workflow, _)) => engines::is_embedded(&state.db, &workflow.content.scheduler_engine).await?,
        None => false,
    };
    let unfit = match runs_here {
        true => saving::unfit_script(&wanted.content, params, source.as_ref()).await?,
        false => None,
    };
    let warnings = saving::warnings(kinds, &wanted.content, source.as_ref(), wanted.given, parsed, unfit);
    Ok(Looked { wanted, names, warnings })
}

/// 403 if the task newly reads or writes tables of data sources that the caller may not use: their changes would wait
/// for it, or close a circle.
pub fn check_tables(caller: &Caller, looked: &Looked, before: Option<&Content>) -> Result<(), Error> {
    if !caller.is_bound() {
        return Ok(());
    }
    let new = new_tables(&looked.wanted.content, before);
    let sources = looked.names.tables.iter().filter(|table| new.contains(&table.id));
    sources.filter_map(|table| table.datasource.as_deref()).try_for_each(|name| caller.check_datasource(name))
}

/// Checks again, in the transaction, what [`look_up`] found before it: 400 for a data source or tables that no
/// longer exist. Earlier references of the task count as existing: a table in the recycle bin must not prevent
/// changing the task. Returns whether the task closes a cycle in its workflow, which must be locked.
pub async fn check(tx: &mut Tx, task: &Task, before: Option<&Content>) -> Result<bool, Error> {
    let content = &task.content;
    let new = new_tables(content, before);
    let selects =
        (datasources::kept(content.datasource_id), tables::active_of(&new), store::closed_circle(task));
    let (source, active, circle) = tx.query_all(selects).await?;
    let missing = content.datasource_id.filter(|_| source.is_empty());
    let mut wrong: Vec<Detail> = missing.map(no_such_datasource).into_iter().collect();
    wrong.extend(no_such_tables(content, &new, &active));
    if wrong.is_empty() { Ok(!circle.is_empty()) } else { Err(Error::invalid(wrong)) }
}

fn no_such_datasource(id: i64) -> Detail {
    Detail::new("task.datasourceId", format!("there is no data source {id}"))
}

/// The references to tables that the task did not have before.
fn new_tables(content: &Content, before: Option<&Content>) -> Vec<i64> {
    let known: HashSet<i64> = before.into_iter().flat_map(Content::table_ids).collect();
    let mut new: Vec<i64> = content.table_ids().filter(|id| !known.contains(id)).collect();
    new.sort_unstable();
    new.dedup();
    // Longer lists are refused anyway.
    new.truncate(2 * TABLES_MAX);
    new
}

/// Those of the new references that are not active.
fn no_such_tables(content: &Content, new: &[i64], active: &[i64]) -> Vec<Detail> {
    let missing: HashSet<i64> = new.iter().filter(|id| !active.contains(id)).copied().collect();
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
    wrong.collect()
}

/// The task's tables are those in its SQL. Of the same SQL as before, a table that is in the recycle bin stays, and one that
/// an import named and that the catalogue has by now is no longer kept by its name.
fn take_tables(index: &Index, content: &mut Content, before: Option<&Content>, parsed: &ParsedSql) {
    let before = before.filter(|before| before.sql_content == content.sql_content);
    let kept = |ids: &[i64], found: &[ParsedName]| -> Vec<i64> {
        let is_named = |id: &&i64| {
            let entry = index.get(**id).filter(|entry| entry.is_deprecated);
            let mut unknown = found.iter().filter(|name| name.table_id.is_none());
            entry.is_some_and(|entry| unknown.any(|name| name.may_be(&entry.db_name, &entry.table_name)))
        };
        ids.iter().filter(is_named).copied().collect()
    };
    let (inputs, outputs) = before.map_or_else(Default::default, |before| {
        (kept(&before.input_table_ids, &parsed.inputs), kept(&before.output_table_ids, &parsed.outputs))
    });
    let lists = [
        (&mut content.input_table_ids, &mut content.unresolved.inputs, &parsed.inputs, inputs),
        (&mut content.output_table_ids, &mut content.unresolved.outputs, &parsed.outputs, outputs),
    ];
    for (table_ids, unresolved, found, kept) in lists {
        *table_ids = ids(found);
        table_ids.extend(kept);
        table_ids.truncate(TABLES_MAX);
        unresolved.retain(|table| {
            let mut known = found.iter().filter(|name| name.table_id.is_some());
            !known.any(|name| name.may_be(&table.db_name, &table.table_name))
        });
    }
}

/// The tables of names in SQL, each once.
pub fn ids(names: &[ParsedName]) -> Vec<i64> {
    let mut seen = BTreeSet::new();
    let ids = names.iter().filter_map(|name| name.table_id);
    ids.filter(|id| seen.insert(*id)).take(TABLES_MAX).collect()
}

async fn parse(state: &Workflows, source: Option<&Datasource>, sql: &str) -> Result<ParsedSql, Error> {
    let dialect = source.map_or("ansi", |source| source.kind.as_str());
    sql_tables::bindings_in(&state.catalog, source, dialect, sql).await
}

/// The names of its references, as far as the catalogue knows them.
async fn names(state: &Workflows, source: Option<&Datasource>, content: &Content) -> Result<Names, Error> {
    let ids: Vec<i64> = content.table_ids().collect();
    let is_known = |index: &Index| ids.iter().all(|id| index.get(*id).is_some());
    if !is_known(&state.catalog.read()) {
        state.catalog.caught_up().await?;
    }
    let found: Vec<(i64, Option<i64>, String, String)> = {
        let index = state.catalog.read();
        let entries = ids.iter().filter_map(|id| index.get(*id));
        entries.map(|e| (e.id, e.cluster_id, e.db_name.to_string(), e.table_name.to_string())).collect()
    };
    let clusters: BTreeSet<i64> = found.iter().filter_map(|(_, cluster_id, ..)| *cluster_id).collect();
    let mut called: HashMap<i64, String> = source.iter().map(|s| (s.id, s.name.clone())).collect();
    let others: Vec<i64> = clusters.into_iter().filter(|id| !called.contains_key(id)).collect();
    if !others.is_empty() {
        let others = datasources::all_of(&state.db, &others).await?;
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

/// Warnings about the task's SQL: unparsed statements, surprising interpretations, and differences between
/// the given and the derived tables.
pub async fn warnings(state: &Workflows, rights: &Rights<'_>, task: &Task) -> Result<Vec<String>, Error> {
    let (content, sql) = (&task.content, task.content.sql_content.as_deref().unwrap_or_default());
    if content.task_type != SQL || sql.is_empty() {
        return Ok(Vec::new());
    }
    let source = match content.datasource_id {
        Some(id) => datasources::find(&state.db, id).await?,
        None => None,
    };
    let parsed = parse(state, source.as_ref(), sql).await?;
    let index = state.catalog.read();
    let mut warnings = Vec::new();
    let mut unseen = 0;
    let is_source_open = rights.may_use(content.rights_id());
    // What could not be read is quoted from the SQL.
    let errors = parsed.errors.iter().map(|error| not_read(error, task.given));
    let unknown = if task.given.any() { Vec::new() } else { unbound(&index, content, &parsed) };
    let surprises = errors.chain(parsed.warnings.iter().cloned()).chain(unknown);
    let surprises = surprises.map(|warning| (is_source_open, warning));
    // If one list was given, neither is derived from the SQL.
    let compared = [
        (&content.input_table_ids, &parsed.inputs, "reads", "inputTableIds"),
        (&content.output_table_ids, &parsed.outputs, "writes", "outputTableIds"),
    ];
    let compared = compared.into_iter().filter(|_| task.given.any());
    let known: Vec<ParsedName> = parsed.inputs.iter().chain(&parsed.outputs).cloned().collect();
    let differences =
        compared.flat_map(|(ids, found, verb, list)| compare(&index, ids, (found, &known), verb, list));
    let differences = differences.map(|difference| {
        let is_open = difference.table_id.map_or(is_source_open, |id| is_open(rights, &index, id));
        (is_open, difference.warning)
    });
    for (is_open, warning) in surprises.chain(differences) {
        if is_open { warnings.push(warning) } else { unseen += 1 }
    }
    warnings.truncate(WARNINGS_MAX);
    if unseen > 0 {
        warnings.push(format!(
            "{unseen} warnings are left out: they are about data sources that you may not read"
        ));
    }
    Ok(warnings)
}

/// Why no order follows from names in the SQL. A table that was taken out of the catalogue since keeps its place in it.
fn unbound(index: &Index, content: &Content, parsed: &ParsedSql) -> Vec<String> {
    let bound: Vec<_> = content.table_ids().filter_map(|id| index.get(id)).collect();
    parsed.unknown(|name| !bound.iter().any(|entry| name.may_be(&entry.db_name, &entry.table_name)))
}

fn not_read(error: &ParseError, given: Given) -> String {
    let so = if given.any() {
        "so the given tables were not compared with it"
    } else {
        "so its tables are not among these"
    };
    let (line, column, message) = (error.line, error.column, &error.message);
    format!("line {line}, column {column} of the SQL: {message}; the statement could not be read, {so}")
}

struct Difference {
    /// `None`: unknown in the catalogue.
    table_id: Option<i64>,
    warning: String,
}

/// `known`: a table that stands in the SQL for something else as well may be in the list, for the order's sake.
fn compare(
    index: &Index,
    ids: &[i64],
    (found, known): (&[ParsedName], &[ParsedName]),
    verb: &str,
    list: &str,
) -> Vec<Difference> {
    let mut differences = Vec::new();
    for name in found.iter().filter(|name| name.table_id.is_none_or(|id| !ids.contains(&id))) {
        let why = if name.table_id.is_some() { format!("is not in {list}") } else { UNKNOWN.to_owned() };
        let warning = format!("the SQL {verb} `{}`, which {why}", name.name);
        differences.push(Difference { table_id: name.table_id, warning });
    }
    for id in ids.iter().filter(|id| !known.iter().any(|name| name.table_id == Some(**id))) {
        let named = index.get(*id).map(|entry| format!("`{}`", entry.table_name));
        let named = named.unwrap_or_else(|| format!("the table {id}"));
        let warning = format!("{list} has {named}, which the SQL does not name");
        differences.push(Difference { table_id: Some(*id), warning });
    }
    differences
}

/// Whether the caller may use the data source of a table.
fn is_open(rights: &Rights<'_>, index: &Index, table_id: i64) -> bool {
    rights.may_use(index.get(table_id).and_then(|entry| entry.cluster_id))
}

/// Those of these tables whose data source the caller may use; reports the number of others.
pub fn open(state: &Workflows, rights: &Rights<'_>, ids: &[i64], warnings: &mut Vec<String>) -> Vec<i64> {
    let index = state.catalog.read();
    let open: Vec<i64> = ids.iter().copied().filter(|id| is_open(rights, &index, *id)).collect();
    if open.len() < ids.len() {
        let count = ids.len() - open.len();
        warnings.push(format!("{count} tables are left out: they lie in data sources that you may not read"));
    }
    open
}
