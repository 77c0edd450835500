//! Resolves a document on this server: its names become ids, and everything is checked that can be checked before it is
//! written. All problems are found at once, each with its path.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_http::form::{Amend, Patch};
use schemars::JsonSchema;
use serde::Serialize;

use super::document::{self, Document, EdgePart, TaskPart, table_name, table_ref, table_refs};
use super::read::Problems;
use crate::datasources::{self, Datasource};
use crate::engines;
use crate::scheduler::parameters;
use crate::sql_tables::{self, ParsedName, ParsedSql};
use crate::workflows::api::{EDGES_MAX, engine_client};
use crate::workflows::definition::{self, Content, Schedule};
use crate::workflows::forms::{DESCRIPTION_MAX_CHARS, NAME_MAX_CHARS, SetSchedule};
use crate::workflows::tasks::definition::{
    self as task_definition, Content as TaskContent, Given, Kind, TABLES_MAX, TableRef, Unresolved,
};
use crate::workflows::tasks::dependencies::{self, Bound};
use crate::workflows::tasks::forms::NAME_MAX_CHARS as TASK_NAME_MAX_CHARS;
use crate::workflows::tasks::part::{Names, TableName};
use crate::workflows::tasks::{kinds_of, saving};
use crate::workflows::versions::{BINDINGS_MAX, Snapshot, TEXT_MAX_BYTES};
use crate::workflows::{Workflows, store};

/// A document with the ids of this server.
pub struct Resolved {
    pub content: Content,
    /// In the order of the document.
    pub tasks: Vec<ResolvedTask>,
    pub tables: TablesReport,
    /// The name of the workflow, if another one has it.
    pub taken: Option<String>,
}

/// The workflow that a document replaces, if there is one.
#[derive(Default)]
pub struct Replaced {
    id: Option<i64>,
    /// The tables that its tasks refer to, also those in the recycle bin.
    tables: HashMap<TableRef, i64>,
}

impl Replaced {
    pub fn of(replaced: Option<(i64, &Snapshot)>) -> Replaced {
        let Some((id, snapshot)) = replaced else { return Replaced::default() };
        let names = snapshot.tasks.values().flat_map(|task| &task.names.tables);
        let tables = names.map(|table| (table_ref(table), table.id)).collect();
        Replaced { id: Some(id), tables }
    }
}

pub struct ResolvedTask {
    pub content: TaskContent,
    pub given: Given,
    pub names: Names,
}

/// The tables that the tasks name.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(rename = "ImportedTables")]
pub struct TablesReport {
    pub matched: Vec<MatchedTable>,
    /// The catalogue does not have them; the tasks keep their names.
    pub unmatched: Vec<String>,
    /// The catalogue has several of this name; the tasks are not bound to any.
    pub ambiguous: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MatchedTable {
    pub name: String,
    pub table_id: i64,
}

/// The data sources and tables of this server that the document names.
struct Known {
    datasources: HashMap<String, Datasource>,
    tables: HashMap<TableRef, i64>,
    /// Those of them that are in the recycle bin; another table may have the name.
    in_bin: HashSet<i64>,
    engines: Vec<String>,
    kinds: Vec<Kind>,
}

/// Resolves a document. `replaced` is the workflow that it replaces, if there is one.
pub async fn resolve(
    state: &Workflows,
    document: &mut Document,
    replaced: &Replaced,
    with_warnings: bool,
    problems: &mut Problems,
) -> Result<Resolved, Error> {
    if document.workflow.scheduler_engine.is_empty() {
        document.workflow.scheduler_engine = engines::LOCAL.to_owned();
    }
    let known = Known::of(state, document, replaced).await?;
    let (content, taken) = content(state, document, &known, replaced, problems).await?;
    let parsed = parsed(state, document, &known, with_warnings).await?;
    let mut report = Report::default();
    let mut tasks = Vec::with_capacity(document.tasks.len());
    for (at, part) in document.tasks.iter().enumerate() {
        tasks.push(known.task(
            part,
            parsed.get(&at),
            &content,
            &format!("tasks[{at}]"),
            problems,
            &mut report,
        ));
    }
    let mut names = table_names(state, tasks.iter().flat_map(|task| task.content.table_ids())).await?;
    // A table in the recycle bin is named as the document names it.
    names.extend(known.tables.iter().map(|(table, id)| (*id, table_name(table, *id))));
    for task in &mut tasks {
        task.names.tables = task.content.table_ids().filter_map(|id| names.get(&id).cloned()).collect();
    }
    for (part, task) in document.tasks.iter_mut().zip(&tasks) {
        let (names, content) = (&task.names, &task.content);
        part.input_tables = table_refs(names, &content.input_table_ids, &content.unresolved.inputs);
        part.output_tables = table_refs(names, &content.output_table_ids, &content.unresolved.outputs);
    }
    // Of a large definition this takes a tenth of a second, in which the thread answers no other request.
    tokio::task::block_in_place(|| {
        check_names(document, problems);
        check_size(&tasks, problems);
        check_edges(document, &tasks, problems);
    });
    for (at, task) in tasks.iter().enumerate() {
        for table in task.content.unresolved.inputs.iter().chain(&task.content.unresolved.outputs) {
            let message =
                format!("there is no table `{table}`; the task keeps the name and cannot be published");
            problems.warn(format!("tasks[{at}]"), message);
        }
    }
    Ok(Resolved { content, tasks, tables: report.tables(), taken })
}

/// The names that tables have now, by id.
pub async fn table_names(
    state: &Workflows,
    ids: impl Iterator<Item = i64>,
) -> Result<HashMap<i64, TableName>, Error> {
    let sources = datasources::names_by_id(&state.db).await?;
    let index = state.catalog.read();
    let entries = ids.filter_map(|id| index.get(id)).filter(|entry| !entry.is_deprecated);
    let named = entries.map(|entry| TableName {
        id: entry.id,
        datasource: entry.cluster_id.and_then(|id| sources.get(&id).cloned()),
        db_name: entry.db_name.to_string(),
        table_name: entry.table_name.to_string(),
    });
    Ok(named.map(|named| (named.id, named)).collect())
}

/// The workflow's own content.
async fn content(
    state: &Workflows,
    document: &Document,
    known: &Known,
    replaced: &Replaced,
    problems: &mut Problems,
) -> Result<(Content, Option<String>), Error> {
    let workflow = &document.workflow;
    let mut content = Content {
        name: workflow.name.clone(),
        description: workflow.description.clone(),
        scheduler_engine: workflow.scheduler_engine.clone(),
        global_params: workflow.global_params.clone(),
        concurrency: workflow.concurrency,
        schedule: None,
    };
    let under = |detail: Detail| Detail { field: format!("workflow.{}", detail.field), ..detail };
    let wrong = definition::check(&content, &known.engines).err().unwrap_or_default();
    problems.extend_others(wrong.into_iter().map(under));
    if content.name.chars().count() > NAME_MAX_CHARS {
        problems.add("workflow.name", format!("must have {NAME_MAX_CHARS} characters at most"));
    } else if content.name.is_empty() {
        problems.add("workflow.name", "must not be empty");
    }
    if content.description.as_ref().is_some_and(|text| text.chars().count() > DESCRIPTION_MAX_CHARS) {
        problems.add("workflow.description", format!("must have {DESCRIPTION_MAX_CHARS} characters at most"));
    }
    let taken = store::id_of_name(&state.db, &content.name).await?;
    let is_taken = taken.is_some_and(|id| Some(id) != replaced.id);
    if is_taken {
        let message =
            format!("there is a workflow named `{}` already; import it under another name", content.name);
        problems.add("workflow.name", message);
    }
    match document.schedule.as_ref().map(schedule) {
        Some(Ok(schedule)) => content.schedule = Some(schedule),
        Some(Err(wrong)) => problems.extend(
            wrong.into_iter().map(|detail| Detail { field: format!("schedule.{}", detail.field), ..detail }),
        ),
        None => {}
    }
    let taken = is_taken.then(|| content.name.clone());
    Ok((content, taken))
}

fn schedule(part: &document::SchedulePart) -> Result<Schedule, Vec<Detail>> {
    let form = SetSchedule {
        crontab: Amend(Some(part.crontab.clone())),
        start_time: part.start_time.clone().into(),
        end_time: part.end_time.clone().into(),
        timezone: Patch::Set(part.timezone.clone()),
        failure_strategy: Amend(Some(part.failure_strategy)),
        warning_type: Amend(Some(part.warning_type)),
    };
    definition::scheduled(&form, None, part.timezone.parse::<Tz>().unwrap_or(Tz::UTC))
}

/// The tables in the SQL of tasks that list none, and the problems of all SQL, by the task's place.
async fn parsed(
    state: &Workflows,
    document: &Document,
    known: &Known,
    with_warnings: bool,
) -> Result<HashMap<usize, ParsedSql>, Error> {
    let mut places = Vec::new();
    let mut texts = Vec::new();
    for (at, task) in document.tasks.iter().enumerate() {
        let is_needed = (with_warnings || task.tables_from_sql) && known.is_sql(&task.task_type);
        if let Some(text) = task.sql_content.as_ref().filter(|_| is_needed) {
            let source = task.datasource.as_ref().and_then(|name| known.datasources.get(name));
            places.push(at);
            texts.push((source, text.clone()));
        }
    }
    let parsed = sql_tables::bindings_in_all(&state.catalog, texts).await?;
    Ok(places.into_iter().zip(parsed).collect())
}

impl Known {
    async fn of(state: &Workflows, document: &Document, replaced: &Replaced) -> Result<Known, Error> {
        let all = datasources::names_by_id(&state.db).await?;
        let tables = |task: &TaskPart| -> Vec<TableRef> {
            task.input_tables.iter().chain(&task.output_tables).cloned().collect()
        };
        let wanted: HashSet<TableRef> = document.tasks.iter().flat_map(tables).collect();
        let named: HashSet<&str> =
            document.tasks.iter().filter_map(|task| task.datasource.as_deref()).collect();
        let ids: Vec<i64> =
            all.iter().filter(|(_, name)| named.contains(name.as_str())).map(|(id, _)| *id).collect();
        let sources = datasources::all_of(&state.db, &ids).await?;
        let engines = engines::names(&state.db).await?;
        let engine = &document.workflow.scheduler_engine;
        let kinds = if engines.contains(engine) {
            let info = engine_client(state, engine, "import").await?.info(None).await?;
            kinds_of(&info)
        } else {
            Vec::new()
        };
        state.catalog.caught_up().await?;
        let mut found = HashMap::new();
        let wanted_names: HashSet<&str> = wanted.iter().map(|table| table.table_name.as_str()).collect();
        let index = state.catalog.read();
        let named_so = index.iter().filter(|entry| wanted_names.contains(&*entry.table_name));
        for entry in named_so.filter(|entry| !entry.is_deprecated) {
            let named = TableRef {
                datasource: entry.cluster_id.and_then(|id| all.get(&id).cloned()),
                db_name: entry.db_name.to_string(),
                table_name: entry.table_name.to_string(),
            };
            if wanted.contains(&named) {
                found.insert(named, entry.id);
            }
        }
        // Its tables stay bound, even if another one has taken the name of one in the recycle bin.
        found.extend(replaced.tables.iter().map(|(table, id)| (table.clone(), *id)));
        let is_in_bin = |id: &&i64| index.get(**id).is_some_and(|entry| entry.is_deprecated);
        let in_bin = replaced.tables.values().filter(is_in_bin).copied().collect();
        Ok(Known {
            datasources: sources.into_iter().map(|source| (source.name.clone(), source)).collect(),
            tables: found,
            in_bin,
            engines,
            kinds,
        })
    }

    fn is_sql(&self, kind: &str) -> bool {
        match self.kinds.iter().find(|known| known.name == kind) {
            Some(known) => known.body == "sql",
            None => kind == "SQL",
        }
    }

    fn task(
        &self,
        part: &TaskPart,
        parsed: Option<&ParsedSql>,
        workflow: &Content,
        path: &str,
        problems: &mut Problems,
        report: &mut Report,
    ) -> ResolvedTask {
        let source = part.datasource.as_ref().and_then(|name| self.datasources.get(name));
        if let Some(name) = part.datasource.as_ref().filter(|_| source.is_none()) {
            let message = format!("there is no data source `{name}`; the task keeps the name and cannot run");
            problems.warn(format!("{path}.datasource"), message);
        }
        if source.is_some_and(Datasource::is_own) {
            let message = "is the server's own store; no task works on it";
            problems.add(format!("{path}.datasource"), message);
        }
        let mut content = TaskContent {
            task_name: part.task_name.clone(),
            task_type: part.task_type.clone(),
            datasource_id: source.map(|source| source.id),
            sql_content: part.sql_content.clone(),
            priority: part.priority,
            timeout: part.timeout,
            retry_times: part.retry_times,
            retry_interval: part.retry_interval,
            input_table_ids: Vec::new(),
            output_table_ids: Vec::new(),
            unresolved: Unresolved {
                datasource: part.datasource.clone().filter(|_| source.is_none()),
                ..Unresolved::default()
            },
        };
        self.bind(&mut content, part, parsed, report);
        self.check(&content, source, workflow, path, problems);
        for error in parsed.iter().flat_map(|parsed| &parsed.errors) {
            let place = format!("line {}, column {}", error.line, error.column);
            problems.warn(format!("{path}.sqlContent"), format!("{place}: {}", error.message));
        }
        let names = Names { datasource: source.map(|source| source.name.clone()), tables: Vec::new() };
        let is_given = !part.tables_from_sql;
        ResolvedTask { given: Given { inputs: is_given, outputs: is_given }, content, names }
    }

    /// Whether the tables of a task are those in its SQL: it says so, and its lists do not fit, because the SQL was
    /// changed since. Lists that fit are the better ones: they have names where the catalogue has no table.
    fn follows_sql(&self, part: &TaskPart, parsed: Option<&ParsedSql>) -> bool {
        let Some(parsed) = parsed.filter(|_| part.tables_from_sql) else { return false };
        if part.input_tables.is_empty() && part.output_tables.is_empty() {
            return true;
        }
        let is_known = part.datasource.as_ref().is_some_and(|name| self.datasources.contains_key(name));
        if !is_known || !parsed.errors.is_empty() {
            return false;
        }
        let fits = |listed: &[TableRef], found: &[ParsedName]| {
            let ids: HashSet<i64> = found.iter().filter_map(|name| name.table_id).collect();
            let all: HashSet<String> = found.iter().map(ParsedName::table).collect();
            let missing = found.iter().filter(|name| name.table_id.is_none());
            let missing: HashSet<String> = missing.map(ParsedName::table).collect();
            let has =
                |names: &HashSet<String>, table: &TableRef| names.contains(&table.table_name.to_lowercase());
            let is_in_sql = |table: &TableRef| match self.tables.get(table) {
                Some(id) if self.in_bin.contains(id) => has(&all, table),
                Some(id) => ids.contains(id) || has(&missing, table),
                None => has(&missing, table),
            };
            let known = listed.iter().filter_map(|table| Some((table, *self.tables.get(table)?)));
            let (in_bin, active): (Vec<_>, Vec<_>) = known.partition(|(_, id)| self.in_bin.contains(id));
            let active: HashSet<i64> = active.into_iter().map(|(_, id)| id).collect();
            let in_bin: HashSet<String> =
                in_bin.into_iter().map(|(table, _)| table.table_name.to_lowercase()).collect();
            listed.iter().all(is_in_sql)
                && found.iter().all(|name| match name.table_id {
                    Some(id) => active.contains(&id) || in_bin.contains(&name.table()),
                    None => true,
                })
        };
        !(fits(&part.input_tables, &parsed.inputs) && fits(&part.output_tables, &parsed.outputs))
    }

    /// The tables of a task: those that it lists, or else those in its SQL.
    fn bind(
        &self,
        content: &mut TaskContent,
        part: &TaskPart,
        parsed: Option<&ParsedSql>,
        report: &mut Report,
    ) {
        if let (Some(parsed), true) = (parsed, self.follows_sql(part, parsed)) {
            content.input_table_ids = report.parsed(&parsed.inputs);
            content.output_table_ids = report.parsed(&parsed.outputs);
            // What the SQL names and what is not here keeps the name that the document has for it.
            for (listed, found, unresolved) in [
                (&part.input_tables, &parsed.inputs, &mut content.unresolved.inputs),
                (&part.output_tables, &parsed.outputs, &mut content.unresolved.outputs),
            ] {
                let named = found.iter().filter(|name| name.table_id.is_none());
                let named: HashSet<String> = named.map(ParsedName::table).collect();
                let missing = listed.iter().filter(|table| !self.tables.contains_key(table));
                let kept = missing.filter(|table| named.contains(&table.table_name.to_lowercase()));
                unresolved.extend(kept.cloned());
            }
        } else {
            let lists = [
                (&part.input_tables, &mut content.input_table_ids, &mut content.unresolved.inputs),
                (&part.output_tables, &mut content.output_table_ids, &mut content.unresolved.outputs),
            ];
            for (tables, ids, unresolved) in lists {
                for table in tables {
                    match self.tables.get(table) {
                        Some(id) => ids.push(*id),
                        None => unresolved.push(table.clone()),
                    }
                    report.named(table, self.tables.get(table).copied());
                }
            }
        }
    }

    fn check(
        &self,
        content: &TaskContent,
        source: Option<&Datasource>,
        workflow: &Content,
        path: &str,
        problems: &mut Problems,
    ) {
        let mut kinds = self.kinds.clone();
        // An empty type has a problem already.
        let has_type = !content.task_type.is_empty();
        if has_type && !kinds.is_empty() && !kinds.iter().any(|kind| kind.name == content.task_type) {
            let message = format!(
                "`{}` is no type of the engine `{}`; it is kept as it is and cannot be published there",
                content.task_type, workflow.scheduler_engine
            );
            problems.warn(format!("{path}.taskType"), message);
            kinds.push(Kind::unknown(&content.task_type));
        }
        if let Some(warning) = saving::unfit_datasource(&kinds, content, source) {
            problems.warn(format!("{path}.datasource"), warning);
        }
        let wrong = task_definition::check(content, (!kinds.is_empty()).then_some(kinds.as_slice())).1;
        // A task without a data source cannot be published, but may get one later.
        let (unbound, wrong): (Vec<_>, Vec<_>) =
            wrong.into_iter().partition(|one| one.field == "task.datasourceId");
        if content.unresolved.datasource.is_none() {
            unbound.into_iter().for_each(|one| problems.warn(format!("{path}.datasource"), one.message));
        }
        problems.extend_others(wrong.into_iter().map(|detail| {
            let member = detail.field.strip_prefix("task.").unwrap_or(&detail.field);
            let member = match member {
                "datasourceId" => "datasource",
                "inputTableIds" => "inputTables",
                "outputTableIds" => "outputTables",
                other => other,
            };
            Detail::new(format!("{path}.{member}"), detail.message)
        }));
        let name = &content.task_name;
        if name.is_empty() || name.chars().count() > TASK_NAME_MAX_CHARS {
            let message = format!("must have 1 to {TASK_NAME_MAX_CHARS} characters");
            problems.extend_others([Detail::new(format!("{path}.taskName"), message)]);
        }
        let text = content.sql_content.as_deref().unwrap_or_default();
        let wrong =
            parameters::check(&content.task_type, text, &workflow.params(), Datasource::lexing(source));
        problems.extend(wrong.into_iter().map(|why| Detail::new(format!("{path}.sqlContent"), why)));
    }
}

/// The tables that were looked up.
#[derive(Default)]
struct Report {
    matched: BTreeSet<MatchedTable>,
    unmatched: BTreeSet<String>,
    ambiguous: BTreeSet<String>,
}

impl Report {
    fn named(&mut self, table: &TableRef, id: Option<i64>) {
        let name = table.to_string();
        match id {
            Some(table_id) => _ = self.matched.insert(MatchedTable { name, table_id }),
            None => _ = self.unmatched.insert(name),
        }
    }

    /// The ids of names in SQL.
    fn parsed(&mut self, names: &[ParsedName]) -> Vec<i64> {
        let mut ids = Vec::new();
        for name in names {
            match name.table_id {
                Some(table_id) => {
                    self.matched.insert(MatchedTable { name: name.name.clone(), table_id });
                    if !ids.contains(&table_id) && ids.len() < TABLES_MAX {
                        ids.push(table_id);
                    }
                }
                None if name.is_ambiguous => _ = self.ambiguous.insert(name.name.clone()),
                None => _ = self.unmatched.insert(name.name.clone()),
            }
        }
        ids
    }

    fn tables(self) -> TablesReport {
        TablesReport {
            matched: self.matched.into_iter().collect(),
            unmatched: self.unmatched.into_iter().collect(),
            ambiguous: self.ambiguous.into_iter().collect(),
        }
    }
}

fn check_names(document: &Document, problems: &mut Problems) {
    let mut first: HashMap<&str, usize> = HashMap::new();
    for (at, task) in document.tasks.iter().enumerate().filter(|(_, task)| !task.task_name.is_empty()) {
        if let Some(before) = first.get(task.task_name.as_str()) {
            let message = format!("tasks[{before}] has this name already; each task needs its own");
            problems.add(format!("tasks[{at}].taskName"), message);
        } else {
            first.insert(&task.task_name, at);
        }
    }
    for (at, edge) in document.edges.iter().enumerate() {
        for (member, name) in [("source", &edge.source), ("target", &edge.target)] {
            if !name.is_empty() && !first.contains_key(name.as_str()) {
                problems.add(format!("edges[{at}].{member}"), format!("there is no task `{name}`"));
            }
        }
    }
}

fn check_size(tasks: &[ResolvedTask], problems: &mut Problems) {
    let count = |content: &TaskContent| {
        content.table_ids().count() + content.unresolved.inputs.len() + content.unresolved.outputs.len()
    };
    let bindings: usize = tasks.iter().map(|task| count(&task.content)).sum();
    if bindings > BINDINGS_MAX as usize {
        problems.add("tasks", format!("have {bindings} tables together, the limit is {BINDINGS_MAX}"));
    }
    let bytes: usize =
        tasks.iter().map(|task| task.content.sql_content.as_ref().map_or(0, String::len)).sum();
    if bytes > TEXT_MAX_BYTES as usize {
        problems.add("tasks", format!("have {bytes} bytes of text together, the limit is {TEXT_MAX_BYTES}"));
    }
}

/// Circles, and edges of the document that do not follow from the tables.
fn check_edges(document: &Document, tasks: &[ResolvedTask], problems: &mut Problems) {
    // A table that is not in the catalogue counts as one, too: it may come later.
    let mut made_up: BTreeMap<&TableRef, i64> = BTreeMap::new();
    for task in tasks {
        for table in task.content.unresolved.inputs.iter().chain(&task.content.unresolved.outputs) {
            let id = -1 - made_up.len() as i64;
            made_up.entry(table).or_insert(id);
        }
    }
    let ids = |ids: &[i64], unresolved: &[TableRef]| -> Vec<i64> {
        ids.iter().copied().chain(unresolved.iter().map(|table| made_up[table])).collect()
    };
    let tables: Vec<(Vec<i64>, Vec<i64>)> = tasks
        .iter()
        .map(|task| {
            let content = &task.content;
            let unresolved = &content.unresolved;
            (
                ids(&content.input_table_ids, &unresolved.inputs),
                ids(&content.output_table_ids, &unresolved.outputs),
            )
        })
        .collect();
    let bound: Vec<Bound<'_>> = tables
        .iter()
        .enumerate()
        .map(|(at, (inputs, outputs))| Bound { task_id: at as i64, inputs, outputs })
        .collect();
    let edges = dependencies::edges(&bound, EDGES_MAX);
    if edges.len() > EDGES_MAX {
        problems.add("tasks", format!("more than {EDGES_MAX} pairs of them are one after the other"));
        return;
    }
    let name = |at: i64| tasks[at as usize].content.task_name.as_str();
    if let Some(at) = dependencies::in_circle(tasks.len(), &edges) {
        let way = dependencies::through(bound[at], &bound).unwrap_or_default();
        let way: Vec<&str> = way.into_iter().map(name).collect();
        let message = format!(
            "are a circle, in which each task reads what the one before it writes: {}",
            way.join(" → ")
        );
        problems.add("tasks", message);
    }
    let follows: HashSet<(&str, &str)> =
        edges.iter().map(|(source, target)| (name(*source), name(*target))).collect();
    for (at, EdgePart { source, target }) in document.edges.iter().enumerate() {
        if !follows.contains(&(source.as_str(), target.as_str())) {
            let message = format!("is not kept: `{target}` reads no table that `{source}` writes");
            problems.warn(format!("edges[{at}]"), message);
        }
    }
}
