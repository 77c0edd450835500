//! Checks whether a version can be deployed: what Lakeport knows, and what the engine's plugin says of it.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_bindings::host::types::Problem as EngineProblem;
use lakeport_sql::script::{ScriptStatement, script};
use schemars::JsonSchema;
use serde::Serialize;

use super::build::Submitted;
use crate::datasources::Datasource;
use crate::engines::{self, EngineClient};
use crate::scheduler::parameters;
use crate::sql_tables::{self, ParsedSql};
use crate::workflows::Workflows;
use crate::workflows::api::EDGES_MAX;
use crate::workflows::schedules;
use crate::workflows::tasks::definition::{Content as TaskContent, Kind, SHELL};
use crate::workflows::tasks::forms::Priority;
use crate::workflows::tasks::{dependencies, kinds_of, saving};
use crate::workflows::versions::{SavedTask, Snapshot};

/// The most reported problems.
const PROBLEMS_MAX: usize = 100;
/// Codes of an engine's problems that do not prevent the deployment.
const MERE_NOTES: [&str; 2] = ["adjusted", "unknown_kept"];

/// A reason why a version cannot be deployed, or will run otherwise than its definition says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PublicationProblem")]
pub struct Problem {
    /// Null: it is about the workflow.
    pub task_id: Option<i64>,
    pub task_name: Option<String>,
    /// The member, such as `sqlContent`; empty: all of it.
    pub field: String,
    /// In its text, from 1; null: it is not about a place.
    pub line: Option<u64>,
    /// In characters, from 1.
    pub column: Option<u64>,
    pub message: String,
}

impl Problem {
    pub fn of_workflow(field: &str, message: String) -> Problem {
        Problem { task_id: None, task_name: None, field: field.to_owned(), line: None, column: None, message }
    }

    fn of_task(id: i64, task: &TaskContent, field: &str, message: String) -> Problem {
        let task_name = Some(task.task_name.clone());
        Problem { task_id: Some(id), task_name, ..Problem::of_workflow(field, message) }
    }

    /// One sentence.
    pub fn sentence(&self) -> String {
        let place = match (self.line, self.column) {
            (Some(line), Some(column)) => format!("line {line}, column {column}: "),
            _ => String::new(),
        };
        match &self.task_name {
            Some(name) => format!("task `{name}`: {place}{}", self.message),
            None => format!("{place}{}", self.message),
        }
    }

    fn detail(&self) -> Detail {
        let task = self.task_name.as_ref().map(|name| format!("tasks[{name}]"));
        let field = match (task, self.field.as_str()) {
            (Some(task), "") => task,
            (Some(task), field) => format!("{task}.{field}"),
            (None, "") => "workflow".to_owned(),
            (None, field) => field.to_owned(),
        };
        Detail::new(field, self.sentence())
    }
}

/// What a check found.
#[derive(Default)]
pub struct Check {
    /// They prevent the deployment.
    pub errors: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

impl Check {
    fn bounded(mut self) -> Check {
        self.errors.truncate(PROBLEMS_MAX);
        self.warnings.truncate(PROBLEMS_MAX);
        self
    }

    /// 409 if there are errors.
    pub fn refuse(self) -> Result<(), Error> {
        if self.errors.is_empty() {
            return Ok(());
        }
        let sentences: Vec<String> = self.errors.iter().map(Problem::sentence).collect();
        let message = format!("the version cannot run: {}", sentences.join("; "));
        let details = self.errors.iter().map(Problem::detail).collect();
        Err(Error::conflict("cannot_run", message).with_details(details))
    }
}

/// Checks a version for its engine. It asks the plugin only, which makes no requests for this.
pub async fn check(
    state: &Workflows,
    workflow_id: i64,
    submitted: &Submitted,
    client: &EngineClient,
) -> Result<Check, Error> {
    let kinds = kinds_of(&*client.info(Some(workflow_id.unsigned_abs())).await?);
    let mut check = known_problems(state, submitted, client, &kinds).await?;
    let built = match submitted.for_engine(workflow_id, client).await {
        Ok(built) => built,
        // Texts that cannot be read are among the known problems.
        Err(error) if error.code() == "cannot_run" && !check.errors.is_empty() => {
            return Ok(check.bounded());
        }
        Err(Error::Refused(refusal)) if refusal.status == 409 => {
            let field = if refusal.code == "cannot_run" { "tasks" } else { "schedule" };
            check.errors.push(Problem::of_workflow(field, refusal.message));
            return Ok(check.bounded());
        }
        Err(error) => return Err(error),
    };
    missing_features(workflow_id, submitted, client, &mut check)?;
    for problem in client.check(&built).await? {
        let is_note = MERE_NOTES.contains(&problem.code.as_str());
        let problem = of_engine(submitted, problem);
        // The same is known already, in better words.
        let is_known = |known: &Problem| (known.task_id, &known.field) == (problem.task_id, &problem.field);
        if is_note {
            check.warnings.push(problem);
        } else if !check.errors.iter().any(is_known) {
            check.errors.push(problem);
        }
    }
    Ok(check.bounded())
}

/// What the version asks for and the engine does not do.
fn missing_features(
    workflow_id: i64,
    submitted: &Submitted,
    client: &EngineClient,
    check: &mut Check,
) -> Result<(), Error> {
    let has = |feature: &str| client.has_feature(workflow_id.unsigned_abs(), feature);
    // Lakeport itself tries failed tasks again, see `executions/watch/again.rs`.
    let (has_timeout, has_retry, has_priority) =
        (has("task_timeout")?, has("task_retry")? || has("retry_failed")?, has("task_priority")?);
    for (id, saved) in &submitted.snapshot.tasks {
        let task = &saved.content;
        let needs = [
            (task.timeout > 0 && !has_timeout, "timeout", "stop a task at a timeout; set it to 0"),
            (task.retry_times > 0 && !has_retry, "retryTimes", "try a task again; set it to 0"),
        ];
        for (_, field, what) in needs.into_iter().filter(|(is_missing, ..)| *is_missing) {
            check.errors.push(Problem::of_task(*id, task, field, format!("the engine cannot {what}")));
        }
        if task.priority != Priority::default() && !has_priority {
            let why = "the engine takes no notice of priorities".to_owned();
            check.warnings.push(Problem::of_task(*id, task, "priority", why));
        }
    }
    let content = &submitted.snapshot.content;
    if !content.concurrency.is_default() && !has("concurrency")? {
        let why = "the engine runs all runs of a workflow side by side; set it to parallel".to_owned();
        check.errors.push(Problem::of_workflow("concurrency", why));
    }
    if let Some(schedule) = &content.schedule
        && let Some(why) = schedules::unfit(client, workflow_id.unsigned_abs(), schedule)?
    {
        check.errors.push(Problem::of_workflow("schedule.failureStrategy", why.to_owned()));
    }
    Ok(())
}

/// The problems that are known without the engine.
async fn known_problems(
    state: &Workflows,
    submitted: &Submitted,
    client: &EngineClient,
    kinds: &[Kind],
) -> Result<Check, Error> {
    let (mut problems, mut warnings) = (Vec::new(), Vec::new());
    // What runs here is judged as it will be, with values of no particular run.
    let is_local = client.plugin() == engines::LOCAL;
    let params = submitted.snapshot.content.params();
    let (mut places, mut texts, mut judged) = (Vec::new(), Vec::new(), Vec::new());
    for (id, saved) in &submitted.snapshot.tasks {
        let task = &saved.content;
        let source = task.datasource_id.and_then(|id| submitted.datasources.get(&id));
        let mut refuse = |field, message| problems.push(Problem::of_task(*id, task, field, message));
        if let Some(name) = &task.unresolved.datasource {
            refuse("datasourceId", format!("there is no data source `{name}` here"));
        } else if task.datasource_id.is_some() && source.is_none() {
            refuse("datasourceId", "its data source does not exist any more".to_owned());
        }
        let missing =
            [("inputTableIds", &task.unresolved.inputs), ("outputTableIds", &task.unresolved.outputs)];
        for (field, tables) in missing {
            for table in tables {
                let why =
                    format!("the catalogue has no table `{table}`, so the order of the tasks is not known");
                refuse(field, why);
            }
        }
        if is_local && task.task_type == SHELL && !state.config.runner_shell {
            let why = "SHELL tasks are off here; the operator can allow them with the setting runner_shell";
            refuse("taskType", why.to_owned());
        }
        if let Some(why) = saving::unfit_datasource(kinds, task, source) {
            refuse("datasourceId", why);
        }
        let text = task.sql_content.as_deref().unwrap_or_default();
        warnings.extend(misleading(*id, task, text));
        let wrong = parameters::check(&task.task_type, text, &params, Datasource::lexing(source));
        let is_sound = wrong.is_empty();
        wrong.into_iter().for_each(|why| refuse("sqlContent", why));
        let expanded = match is_local && is_sound {
            true => parameters::probe(&task.task_type, text, &params, Datasource::lexing(source)),
            false => Ok(None),
        };
        let expanded = expanded.unwrap_or_else(|why| {
            refuse("sqlContent", why);
            None
        });
        if kinds.iter().any(|kind| kind.name == task.task_type && kind.body == "sql") {
            let server = source.and_then(Datasource::server);
            judged.push(server.zip(expanded).map(|(server, text)| script(&text, server)));
            places.push((*id, saved));
            texts.push((source, text.to_owned()));
        }
    }
    let parsed = sql_tables::bindings_in_all(&state.catalog, texts).await?;
    for (((id, saved), parsed), judged) in places.into_iter().zip(parsed).zip(judged) {
        let task = &saved.content;
        let unbound = if saved.given.any() { Vec::new() } else { unbound(saved, &parsed) };
        warnings.extend(unbound.into_iter().map(|why| Problem::of_task(id, task, "sqlContent", why)));
        match judged {
            Some(Err(why)) if parsed.errors.is_empty() => {
                problems.push(Problem::of_task(id, task, "sqlContent", why));
            }
            Some(Ok(script)) if !saved.given.any() => {
                let verbs = script.iter().map(ScriptStatement::verb);
                if let Some(verb) = verbs.into_iter().find(|verb| TABLES_UNKNOWN.contains(verb)) {
                    let why = format!(
                        "no order follows from {verb}; set `inputTableIds` and `outputTableIds` if other tasks read or write \
                         its tables"
                    );
                    warnings.push(Problem::of_task(id, task, "sqlContent", why));
                }
            }
            _ => {}
        }
        problems.extend(parsed.errors.into_iter().map(|error| Problem {
            line: Some(error.line),
            column: Some(error.column),
            ..Problem::of_task(id, task, "sqlContent", error.message)
        }));
    }
    let edges = submitted.edges();
    warnings.extend(without_order(&submitted.snapshot, &edges));
    if edges.len() > EDGES_MAX {
        let message = format!("more than {EDGES_MAX} pairs of its tasks are one after the other");
        problems.push(Problem::of_workflow("tasks", message));
    }
    problems.truncate(PROBLEMS_MAX);
    Ok(Check { errors: problems, warnings })
}

/// Characters that are not seen, or that let a text be read in another order than it runs in.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The first of the characters by which a text misleads its approver.
fn misleading(id: i64, task: &TaskContent, text: &str) -> Option<Problem> {
    let (before, rest) = text.split_at(text.find(is_unseen)?);
    let character = u32::from(rest.chars().next()?);
    let count = rest.chars().filter(|c| is_unseen(*c)).count();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let message = format!(
        "the text has {count} characters that are not seen or that change how it reads, the first is U+{character:04X}"
    );
    Some(Problem {
        line: Some(before.matches('\n').count() as u64 + 1),
        column: Some(line.chars().count() as u64 + 1),
        ..Problem::of_task(id, task, "sqlContent", message)
    })
}

/// Of what these statements read and write nothing is known.
const TABLES_UNKNOWN: [&str; 3] = ["TRUNCATE", "REFRESH", "CALL"];
/// The most tasks whose order is looked at.
const WRITERS_MAX: usize = 200;

/// Tasks that write the same table though neither comes after the other.
fn without_order(snapshot: &Snapshot, edges: &[(i64, i64)]) -> Vec<Problem> {
    let mut writers: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
    for (id, saved) in &snapshot.tasks {
        saved.content.output_table_ids.iter().for_each(|table| writers.entry(*table).or_default().push(*id));
    }
    writers.retain(|_, tasks| tasks.len() > 1);
    let tasks: BTreeSet<i64> = writers.values().flatten().copied().collect();
    if tasks.len() > WRITERS_MAX {
        return Vec::new();
    }
    let after: BTreeMap<i64, HashSet<i64>> =
        tasks.iter().map(|task| (*task, dependencies::reached(edges, *task))).collect();
    let mut found = Vec::new();
    for (table, tasks) in writers {
        let is_ordered = |one: i64, other: i64| after[&one].contains(&other) || after[&other].contains(&one);
        let pairs = tasks
            .iter()
            .enumerate()
            .flat_map(|(at, one)| tasks[at + 1..].iter().map(move |other| (*one, *other)));
        let Some((one, other)) = pairs.into_iter().find(|(one, other)| !is_ordered(*one, *other)) else {
            continue;
        };
        let (one, task) = (&snapshot.tasks[&one].content.task_name, &snapshot.tasks[&other]);
        let named = task.names.tables.iter().find(|known| known.id == table);
        let table = named.map_or_else(|| table.to_string(), |known| known.table_name.clone());
        let why = format!(
            "the tasks `{one}` and `{}` both write `{table}`, and neither comes after the other; if their order matters, let one of \
             them read the table (`inputTableIds`), or make them one task",
            task.content.task_name
        );
        found.push(Problem::of_task(other, &task.content, "outputTableIds", why));
    }
    found
}

/// Why the order of the tasks is not the one that this SQL asks for.
fn unbound(saved: &SavedTask, parsed: &ParsedSql) -> Vec<String> {
    // A table that was taken out of the catalogue since keeps its place in the order.
    let bound = &saved.names.tables;
    let mut sentences =
        parsed.unknown(|name| !bound.iter().any(|table| name.may_be(&table.db_name, &table.table_name)));
    let content = &saved.content;
    let lists = [(&parsed.inputs, &content.input_table_ids), (&parsed.outputs, &content.output_table_ids)];
    let new = lists.into_iter().flat_map(|(names, ids)| {
        names.iter().filter(|name| name.table_id.is_some_and(|id| !ids.contains(&id)))
    });
    if let Some(names) = sql_tables::named(new) {
        sentences.push(format!(
            "the catalogue has {names} since the task was saved, and no order follows from it yet; save its \
             `sqlContent` again"
        ));
    }
    sentences
}

/// The plugin names a task by its place: `tasks[3].taskType`.
fn of_engine(submitted: &Submitted, problem: EngineProblem) -> Problem {
    let place = || {
        let (at, member) = problem.member.strip_prefix("tasks[")?.split_once(']')?;
        let (id, saved) = submitted.snapshot.tasks.iter().nth(at.parse().ok()?)?;
        Some((*id, &saved.content, member.trim_start_matches('.')))
    };
    match place() {
        Some((id, task, member)) => {
            // The task is named anyway.
            let named = format!("the task `{}` ", task.task_name);
            let message = problem.message.strip_prefix(&named).unwrap_or(&problem.message);
            Problem::of_task(id, task, member, message.to_owned())
        }
        None => Problem::of_workflow(&problem.member, problem.message),
    }
}
