//! The SQL of a task: expands parameters, judges the text, and runs it on its data source in one transaction.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_physical::{Database, Ran, STATEMENT_TOO_HEAVY, Shown, TaskOutcome, TaskPlan, TaskSession};
use lakeport_sql::lex::Server;
use lakeport_sql::script::{ScriptStatement, lexing_of, script};
use tokio::time::{interval_at, timeout};

use super::mark::Mark;
use super::{Note, Stops, Try};
use crate::datasources::{self, Datasource, DatasourceClient};
use crate::scheduler::Scheduler;
use crate::scheduler::definition::Task;
use crate::scheduler::parameters::{self, Context, Values};
use crate::scheduler::store as runs;

/// Rows of a result in the log, and characters of each cell.
const SHOWN: Shown = Shown { rows: 20, cell_chars: 200 };
/// How long a cancelled statement may take to stop; after that it is abandoned.
const STOP_PATIENCE: Duration = Duration::from_millis(500);
/// The interval of writing the log while a statement runs.
pub const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Why an attempt ended early.
#[derive(Debug)]
pub enum Stop {
    Failed(String),
    Cancelled,
    /// This worker stops.
    Halted,
}

/// Runs it; returns the number of changed rows.
pub async fn run(work: &mut Try) -> Result<i64, Stop> {
    let task = work.task().clone();
    let source = source(work, &task).await.map_err(Stop::Failed)?;
    let server = server_of(&source).map_err(Stop::Failed)?;
    let workflow = workflow_name_for(work, &task).await.map_err(Stop::Failed)?;
    let script = statements(work, &task, &workflow, server).map_err(Stop::Failed)?;
    let accessed = tokio::select! {
        biased;
        accessed = work.accesses.of(work, &source, &script) => accessed,
        stop = work.stops.told() => return Err(stop),
    };
    let database = database(&work.state, &source, work.id).await.map_err(Stop::Failed)?;
    let deadline = (task.timeout_s > 0).then(|| Instant::now() + Duration::from_secs(task.timeout_s.into()));
    let stopped = Arc::new(AtomicBool::new(false));
    let writes = script.iter().any(ScriptStatement::writes);
    work.has_only_read = !writes;
    let plan = TaskPlan {
        writes,
        commits_early: script.iter().any(ScriptStatement::commits),
        leaves_session: !script.iter().any(ScriptStatement::defines),
        is_one_read: script.len() == 1 && !writes,
        name: format!("lakeport-{}", uuid::Uuid::now_v7().simple()),
        may_add_table: source.may_add_task_table(),
    };
    let opening = Box::pin(TaskSession::begin(&database, plan, deadline, Arc::clone(&stopped)));
    let late = |error: PluginError| Stop::Failed(said(&task, deadline, error));
    let session = guarded(work, &stopped, opening).await?.map_err(late)?;
    let name = session.name().map(str::to_owned);
    let begun = Mark {
        datasource_id: source.id,
        place: Some(source.place()),
        session: name,
        transaction: None,
        rows: 0,
        accessed: None,
    };
    // Who takes over ends the session: of a task there is never more than one.
    if begun.session.is_some()
        && let Err(stop) = check_held(work, Some(&begun)).await
    {
        session.roll_back().await;
        return Err(stop);
    }
    let mut changed = 0;
    for (place, statement) in script.iter().enumerate() {
        let begun = Instant::now();
        let ran = guarded(work, &stopped, session.run(statement, SHOWN)).await;
        match ran {
            Ok(Ok(ran)) => {
                changed += i64::try_from(ran.changed).unwrap_or(i64::MAX);
                say(work, place, statement, &ran, begun.elapsed());
            }
            Ok(Err(error)) => {
                session.roll_back().await;
                let message = said(&task, deadline, error);
                return Err(Stop::Failed(format!(
                    "statement {} ({}): {message}",
                    place + 1,
                    statement.verb()
                )));
            }
            Err(stop) => {
                session.roll_back().await;
                return Err(stop);
            }
        }
    }
    let mut mark = match session.mark().await {
        Ok(transaction) => Mark { transaction, rows: changed, accessed: accessed.clone(), ..begun },
        Err(error) => {
            session.roll_back().await;
            return Err(late(error));
        }
    };
    // Who only reads may do so twice.
    if writes && let Err(stop) = check_held(work, mark.transaction.is_some().then_some(&mark)).await {
        session.roll_back().await;
        return Err(stop);
    }
    failpoints::reach("runner.task_marked");
    if let Err(error) = finish(work, session, &stopped, &mut mark).await? {
        // The answer may be lost, and not the commit.
        let asked = tokio::select! {
            outcome = mark.outcome(&work.state) => outcome,
            _ = work.stops.told() => None,
        };
        match asked {
            Some(TaskOutcome::Committed) => {}
            Some(TaskOutcome::RolledBack | TaskOutcome::Forgotten) => {
                return Err(work.stops.now().unwrap_or_else(|| late(error)));
            }
            // The worker asks again: the attempt has neither succeeded nor failed yet.
            Some(TaskOutcome::InProgress) | None => return Err(Stop::Halted),
        }
    }
    work.accessed = accessed;
    failpoints::reach("runner.task_ran");
    Ok(changed)
}

/// Checks that this worker still has the task and it was not stopped; notes the mark. For the first statement, and right
/// before the commit.
async fn check_held(work: &Try, mark: Option<&Mark>) -> Result<(), Stop> {
    let noted = note(work, mark).await?.map_err(|error| {
        tracing::warn!(task_run = work.id, "what a task changed is not kept: {error}");
        Stop::Halted
    });
    work.stops.now().map_or(noted, Err)
}

/// Notes the mark, if there is one, while this worker has the task. Does not wait for the store once this worker stops: the
/// session must end.
async fn note(work: &Try, mark: Option<&Mark>) -> Result<Result<(), Error>, Stop> {
    let noting = async {
        match mark {
            Some(mark) => work.ledger.write(work.id, Note::Mark(mark.text())).await.map(drop),
            None => work.state.db.begin().await?.guard(work.ledger.held()).await,
        }
    };
    work.stops.halted.run_until_cancelled(noting).await.ok_or(Stop::Halted)
}

/// Prepares, where the data source has such a step, and commits. When stopped it no longer waits for locks. Fails with the
/// data source's error, after which the outcome of the mark, which is then the noted one, is to be asked for.
async fn finish(
    work: &Try,
    session: TaskSession,
    stopped: &AtomicBool,
    mark: &mut Mark,
) -> Result<Result<(), PluginError>, Stop> {
    let prepared = match session.prepare().await {
        Ok(prepared) => prepared,
        Err(error) => {
            session.leave().await;
            return Ok(Err(error));
        }
    };
    failpoints::reach("runner.task_prepared");
    if prepared.is_some() {
        mark.transaction = prepared;
        let noted = note(work, Some(mark)).await;
        if !matches!(noted, Ok(Ok(()))) {
            tracing::warn!(task_run = work.id, "a prepared transaction is not committed: it is not noted");
            match noted {
                // For certain.
                Ok(Err(error)) if error.code() == "lease_lost" => session.roll_back().await,
                _ => session.leave().await,
            }
            return Err(Stop::Halted);
        }
        failpoints::reach("runner.task_noted");
    }
    let mut committing = std::pin::pin!(session.commit());
    tokio::select! {
        biased;
        outcome = &mut committing => return Ok(outcome),
        _ = work.stops.told() => {}
    }
    stopped.store(true, Ordering::Relaxed);
    Ok(committing.await)
}

fn statements(
    work: &Try,
    task: &Task,
    workflow: &str,
    server: Server,
) -> Result<Vec<ScriptStatement>, String> {
    let global = work.global();
    let values = values_of(work, task, workflow, &global);
    script(&parameters::expand(&task.body, &values, lexing_of(server))?, server)
}

/// The values of a task's parameters.
pub fn values_of<'v>(
    work: &Try,
    task: &'v Task,
    workflow: &'v str,
    global: &'v [(String, String)],
) -> Values<'v> {
    let run = &work.run;
    let context = Context {
        task_instance_id: Some(work.id),
        task_name: Some(&task.name),
        task_code: Some(task.id),
        workflow_instance_id: Some(run.id),
        workflow_name: Some(workflow),
        workflow_code: Some(run.workflow_id),
        ..Context::default()
    };
    Values { global, business_ms: run.business_at_ms, zone: run.zone, context }
}

/// The workflow's name, if the task may need it; otherwise empty.
pub async fn workflow_name_for(work: &Try, task: &Task) -> Result<String, String> {
    match names_workflow(work, task) {
        true => workflow_name(&work.state, work.run.workflow_id).await,
        false => Ok(String::new()),
    }
}

/// Whether its text, or a value of a parameter, may need the workflow's name.
fn names_workflow(work: &Try, task: &Task) -> bool {
    const NAME: &str = "system.workflow.definition.name";
    let params = work.run.params.iter().chain(&work.definition.params);
    task.body.contains(NAME) || params.into_iter().any(|(_, value)| value.contains(NAME))
}

/// The workflow's name in the scheduler; empty for one that was removed meanwhile.
async fn workflow_name(state: &Scheduler, workflow_id: i64) -> Result<String, String> {
    let name = runs::name_of(&state.db, workflow_id).await.map_err(|error| {
        tracing::error!("the workflow of a task: {error}");
        "the workflow could not be looked up; the server's log has the reason".to_owned()
    })?;
    Ok(name.unwrap_or_default())
}

/// The task's data source.
async fn source(work: &Try, task: &Task) -> Result<Arc<Datasource>, String> {
    let Some(id) = task.datasource_id else { return Err("the task names no data source".to_owned()) };
    let found = work.sources.find(&work.state, id).await.map_err(|error| {
        tracing::error!("the data source of a task: {error}");
        "the data source could not be looked up; the server's log has the reason".to_owned()
    })?;
    let Some(source) = found else { return Err(format!("the data source {id} is not there any more")) };
    if source.name == datasources::OWN_NAME {
        return Err(format!("no task runs on the data source `{}`, the server's own store", source.name));
    }
    Ok(source)
}

/// Whose SQL a data source takes.
fn server_of(source: &Datasource) -> Result<Server, String> {
    source.server().ok_or_else(|| {
        let Datasource { name, kind, .. } = source;
        format!("tasks run on data sources of SQLite, PostgreSQL, MySQL and MariaDB; `{name}` is one of kind {kind}")
    })
}

/// The task's database, if its location is permitted; checked again for each attempt.
pub async fn database(state: &Scheduler, source: &Datasource, task_run_id: i64) -> Result<Database, String> {
    let client = DatasourceClient::of(&state.datasources, source, &format!("task-{task_run_id}"));
    let database = client.database().await;
    database.map_err(|error| format!("the data source `{}` cannot be opened: {}", source.name, error.message))
}

/// Waits for the statement, writes the log meanwhile, and cancels the statement on a stop.
async fn guarded<T>(
    work: &mut Try,
    stopped: &AtomicBool,
    running: impl Future<Output = T>,
) -> Result<T, Stop> {
    let stops = work.stops.clone();
    let writing = async {
        // Most statements are done before.
        let mut ticks = interval_at(tokio::time::Instant::now() + LOG_INTERVAL, LOG_INTERVAL);
        loop {
            ticks.tick().await;
            work.write_log().await;
        }
    };
    unless_stopped(&stops, stopped, running, writing).await
}

async fn unless_stopped<T>(
    stops: &Stops,
    stopped: &AtomicBool,
    running: impl Future<Output = T>,
    writing: impl Future<Output = Infallible>,
) -> Result<T, Stop> {
    let mut running = std::pin::pin!(running);
    let stop = tokio::select! {
        biased;
        stop = stops.told() => stop,
        outcome = &mut running => return Ok(outcome),
        never = writing => match never {},
    };
    stopped.store(true, Ordering::Relaxed);
    let _ = timeout(STOP_PATIENCE, running).await;
    Err(stop)
}

/// The message for people.
fn said(task: &Task, deadline: Option<Instant>, error: PluginError) -> String {
    let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
    if is_late && matches!(error.code.as_str(), "timeout" | "cancelled") {
        return format!("it was stopped at its timeout of {} s", task.timeout_s);
    }
    if error.code == STATEMENT_TOO_HEAVY {
        return format!("{STATEMENT_TOO_HEAVY}: {}", error.message);
    }
    error.message
}

fn say(work: &mut Try, place: usize, statement: &ScriptStatement, ran: &Ran, took: Duration) {
    let now_ms = work.state.clock.now_ms();
    let counted = match (statement.changes_rows(), ran.columns.is_empty()) {
        (true, true) => format!(", {} rows changed", ran.changed),
        (true, false) => format!(", {} rows changed, {} rows answered", ran.changed, ran.rows),
        (false, false) => format!(", {} rows", ran.rows),
        (false, true) => String::new(),
    };
    let kept = if statement.commits() { "; the database keeps this, and all before it, at once" } else { "" };
    let head =
        format!("statement {}: {}{counted}, {} ms{kept}", place + 1, statement.verb(), took.as_millis());
    work.log.line(now_ms, &head);
    if ran.rows == 0 {
        return;
    }
    work.log.line(now_ms, &format!("| {}", ran.columns.join(" | ")));
    for row in &ran.first {
        work.log.line(now_ms, &format!("| {}", row.join(" | ")));
    }
    if ran.rows > ran.first.len() as u64 {
        work.log.line(now_ms, &format!("| and {} more", ran.rows - ran.first.len() as u64));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio_util::sync::CancellationToken;

    use super::*;

    #[tokio::test]
    async fn a_task_is_stopped_while_its_log_cannot_be_written() {
        for is_halted in [true, false] {
            let stops = Stops { cancelled: CancellationToken::new(), halted: CancellationToken::new() };
            let stopped = AtomicBool::new(false);
            // The stop arrives while the log is being written.
            let writing = async {
                if is_halted {
                    stops.halted.cancel()
                } else {
                    stops.cancelled.cancel()
                }
                pending().await
            };
            let stop = unless_stopped(&stops, &stopped, pending::<()>(), writing).await.unwrap_err();
            assert_eq!(matches!(stop, Stop::Halted), is_halted, "{stop:?}");
            assert!(stopped.load(Ordering::Relaxed), "the statement is stopped, too");
        }
    }
}
