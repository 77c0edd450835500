//! Handlers of results.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_bindings::tool::query::QueryResult;
use lakeport_http::form::Draft;
use lakeport_http::{Bare, Caller, Nothing};
use lakeport_physical::{QueryLimits, is_of_statement};
use tokio::time::Instant;

use super::places::Places;
use super::view::{ResultFile, RunView};
use super::{Statement, Table, shown};
use crate::agent::access::{Asked, TopicAccess};
use crate::agent::forms::{ResultPath, ResultQuery, RunStatement};
use crate::agent::tasks::api::{check_answer, readable};
use crate::agent::tasks::event::Step;
use crate::agent::tasks::{both, store};
use crate::agent::{Agent, Call};
use crate::datasources;
use crate::plugins::answered;

/// Rows of a file, its bytes as values, and the time that its query may take.
const FILE_ROWS_MAX: usize = 100_000;
const FILE_BYTES_MAX: usize = 16 * 1024 * 1024;
const FILE_TIMEOUT: Duration = Duration::from_secs(60);
/// The same of rows that are shown.
const SHOWN_ROWS_DEFAULT: i64 = 1_000;
const SHOWN_BYTES_MAX: usize = 4 * 1024 * 1024;
const SHOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// Files that are made, and statements that run, at the same time; others wait, within the time of their requests.
static FILES: Places = Places::new(4);
static RUNS: Places = Places::new(8);
/// Where the statements come from, in the log of queries.
const EDITED: &str = "run";
const EXPORTED: &str = "export";
const FIELDS_LISTED: &str = "GET /api/v1/tables/{id} lists the fields of a table";

/// `GET /api/v1/nl2sql/tasks/{task_id}/results/{call_id}`
pub async fn result(call: Call<ResultPath, ResultQuery>) -> Result<ResultFile, Error> {
    let (state, caller, format) = (&call.state, &call.caller, call.query.format);
    let (task_id, call_id) = (call.path.task_id, call.path.call_id.to_string());
    let task = readable(state, caller, task_id).await?;
    check_answer(caller, &task)?;
    let _place = FILES.take(&caller.key()).await?;
    let missing = || Error::not_found("result", &call_id);
    let steps = store::steps(&state.db, task.id).await?.ok_or_else(missing)?;
    let result = steps.iter().find_map(|step| match step {
        Step::ToolResult(result) if result.call_id == call_id => Some(result),
        _ => None,
    });
    let (table, statement) = result.and_then(shown).ok_or_else(missing)?;
    // The caller may have been bound to others since.
    if statement.as_ref().is_some_and(|one| caller.check_datasource(&one.datasource).is_err()) {
        return Err(missing());
    }
    let whole = match statement.filter(|_| table.truncated) {
        // The answer has the first rows only.
        Some(statement) => {
            let limits = QueryLimits {
                max_rows: FILE_ROWS_MAX,
                max_bytes: FILE_BYTES_MAX,
                timeout: time_left(&call, FILE_TIMEOUT),
            };
            let rights = both(task.rights().as_deref(), caller.datasources.as_deref());
            let ran = run(state, caller, rights, &statement, limits, EXPORTED).await.map_err(failed);
            // Its data source is gone.
            let ran = ran.map_err(|error| if error.code() == "invalid_input" { missing() } else { error })?;
            Table::of(ran.rows)
        }
        None => table,
    };
    let file = tokio::task::spawn_blocking(move || ResultFile::new(&whole, format));
    file.await.map_err(Error::internal)?
}

/// `POST /api/v1/nl2sql/run`
pub async fn run_statement(
    call: Call<Nothing, Nothing, Draft<RunStatement>>,
) -> Result<Bare<RunView>, Error> {
    let (state, caller, body) = (&call.state, &call.caller, call.body.read());
    let mut wrong = call.body.found(caller.check_datasource(&body.datasource.0))?;
    wrong.extend(unknown_datasource(state, &body.datasource.0).await?);
    call.body.refuse(wrong)?;
    let _place = RUNS.take(&caller.key()).await?;
    let statement = Statement { datasource: body.datasource.0.clone(), sql: body.sql.0.clone() };
    let max_rows = body.max_rows.map_or(SHOWN_ROWS_DEFAULT, i64::from);
    let limits = QueryLimits {
        max_rows: usize::try_from(max_rows).unwrap_or(0),
        max_bytes: SHOWN_BYTES_MAX,
        timeout: time_left(&call, SHOWN_TIMEOUT),
    };
    let rights = caller.datasources.as_deref().map(<[String]>::to_vec);
    let ran = run(state, caller, rights, &statement, limits, EDITED).await.map_err(refused_or_failed)?;
    let Statement { datasource, sql } = statement;
    Ok(Bare::new(&RunView::new(datasource, sql, Table::of(ran.rows), ran.took_ms)))
}

async fn unknown_datasource(state: &Agent, name: &str) -> Result<Option<Detail>, Error> {
    let is_known = datasources::names(&state.db).await?.iter().any(|known| known.eq_ignore_ascii_case(name));
    Ok((!is_known).then(|| Detail::new("datasource", datasources::no_such(name))))
}

/// This time, or what the request has left of its own.
fn time_left<P, Q, B>(call: &Call<P, Q, B>, at_most: Duration) -> Duration {
    call.wait_until(at_most).saturating_duration_since(Instant::now())
}

/// Runs a statement as the caller's, through the guard. It ends in the database when the caller is gone.
async fn run(
    state: &Arc<Agent>,
    caller: &Caller,
    datasources: Option<Vec<String>>,
    statement: &Statement,
    limits: QueryLimits,
    origin: &'static str,
) -> Result<QueryResult, PluginError> {
    let gone = GoneWithCaller::default();
    let asked = Asked {
        task_id: uuid::Uuid::now_v7().to_string(),
        caller_name: caller.name.clone(),
        datasources,
        cancelled: Arc::clone(&gone.0),
    };
    let access = TopicAccess::new(Arc::clone(state), asked);
    let ran = access.run_as(&statement.datasource, &statement.sql, limits, origin).await;
    access.unlogged().log().await;
    ran
}

/// Sets its flag when it is dropped.
#[derive(Default)]
struct GoneWithCaller(Arc<AtomicBool>);

impl Drop for GoneWithCaller {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The failure of a statement that the caller wrote: what the database does not accept in it is the caller's to correct.
fn refused_or_failed(cause: PluginError) -> Error {
    if !is_of_statement(&cause) {
        return failed(cause);
    }
    let message = format!("{}; correct it and send it again ({FIELDS_LISTED})", cause.message);
    Error::invalid(vec![Detail::new("sql", message)])
}

/// What the guard and the names refuse is the caller's; the database's failures are passed on like those of other calls.
fn failed(cause: PluginError) -> Error {
    match cause.code.as_str() {
        "guard_refused" => {
            let details =
                cause.context.iter().map(|(name, value)| Detail::new(name.as_str(), value.as_str()));
            Error::bad_request("guard_refused", cause.message.clone()).with_details(details.collect())
        }
        "not_found" => Error::invalid(vec![Detail::new("datasource", cause.message)]),
        _ => answered(&cause),
    }
}
