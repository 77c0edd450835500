//! Runs one statement of a plan and, if the database continues it as a job, follows the job to its end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use lakeport_bindings::host::data::{Cell, RowSet};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::{CheckedAction, CheckedProbe};
use tokio::time::sleep;

use super::PlanExecutor;
use crate::errors::is_lost;
use crate::schema;
use crate::script::Bounds;
use crate::session::Session;

/// Time limit of one statement of a change: a rebuild copies all rows.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a job in the database is followed.
const JOB_TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an earlier job is waited for.
const EARLIER_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a cancelled job is waited for.
const ABORT_TIMEOUT: Duration = Duration::from_secs(60);
/// The minimum between two polls, whatever a dialect asks for.
const POLL_MIN: Duration = Duration::from_millis(100);
const POLL_MAX: Duration = Duration::from_secs(60);
/// The interval of looking for statements that a server which is gone had begun.
const STATEMENT_POLL: Duration = Duration::from_millis(500);
/// How often a session that was lost while following a job is reopened, and the interval.
const REOPEN_MAX: u32 = 20;
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);
/// Limits of one poll's answer.
const ANSWER: Bounds =
    Bounds { max_rows: 1_000, max_bytes: 4 * 1024 * 1024, timeout: Duration::from_secs(30) };

/// The state of a job.
enum Standing {
    Running,
    Done,
    Failed(String),
}

/// Rows that existed before the statement and so do not belong to its job.
struct Earlier(BTreeSet<String>);

impl PlanExecutor<'_> {
    /// Runs a statement to its end. Replaces a session that is lost while a job is followed.
    pub(super) async fn act(&self, session: &mut Arc<Session>, action: &CheckedAction) -> Result<(), Error> {
        let Some(probe) = &action.probe else { return session.change(&action.sql, STATEMENT_TIMEOUT).await };
        let earlier = self.earlier(session, probe).await?;
        session.change(&action.sql, STATEMENT_TIMEOUT).await?;
        self.follow(session, probe, &earlier).await
    }

    /// Waits until the server no longer runs any of these statements, which a server that is gone had begun.
    /// Returns an error if one still runs when the caller cancels.
    pub async fn wait_for_statements(&self, statements: &[String]) -> Result<(), Error> {
        let until = Instant::now() + JOB_TIMEOUT;
        loop {
            let session = self.database.open_to_read().await?;
            let runs = schema::runs_any(&session, statements).await?;
            session.close().await;
            if !runs {
                return Ok(());
            }
            if Instant::now() > until || self.cancelled.load(Ordering::Relaxed) {
                return Err(left_running());
            }
            sleep(STATEMENT_POLL).await;
        }
    }

    /// Waits for a job whose statement has an unknown outcome. Returns an error if the job still runs when
    /// the caller cancels.
    pub(super) async fn follow_unknown(
        &self,
        session: &mut Arc<Session>,
        probe: &CheckedProbe,
    ) -> Result<(), Error> {
        let until = Instant::now() + JOB_TIMEOUT;
        while is_running(probe, &self.ask(session, probe).await?) {
            if Instant::now() > until || self.cancelled.load(Ordering::Relaxed) {
                return Err(left_running());
            }
            sleep(poll(probe)).await;
        }
        Ok(())
    }

    async fn earlier(&self, session: &mut Arc<Session>, probe: &CheckedProbe) -> Result<Earlier, Error> {
        let begun = Instant::now();
        loop {
            let answer = self.ask(session, probe).await?;
            if !is_running(probe, &answer) {
                return Ok(Earlier((0..answer.rows.len()).map(|row| key(probe, &answer, row)).collect()));
            }
            if begun.elapsed() > EARLIER_TIMEOUT || self.cancelled.load(Ordering::Relaxed) {
                let message =
                    "an earlier change of the table is still running in the database; nothing was started";
                return Err(Error { retryable: true, ..error("unavailable", message) });
            }
            sleep(poll(probe)).await;
        }
    }

    async fn follow(
        &self,
        session: &mut Arc<Session>,
        probe: &CheckedProbe,
        earlier: &Earlier,
    ) -> Result<(), Error> {
        let mut until = Instant::now() + JOB_TIMEOUT;
        let mut stopped = None;
        loop {
            let answer = self.ask(session, probe).await?;
            match standing(probe, &answer, earlier) {
                Standing::Done => return Ok(()),
                Standing::Failed(why) => {
                    let failed =
                        || error("upstream_failed", format!("the database aborted the change: {why}"));
                    return Err(stopped.unwrap_or_else(failed));
                }
                Standing::Running => {}
            }
            let is_late = Instant::now() > until;
            if stopped.is_none() && (is_late || self.cancelled.load(Ordering::Relaxed)) {
                let (code, why) = if is_late {
                    ("timeout", "the change took too long and was stopped")
                } else {
                    ("cancelled", "the change was stopped")
                };
                stopped = Some(error(code, why));
                until = Instant::now() + ABORT_TIMEOUT;
                session.not_cancelled();
                match &probe.abort {
                    Some(abort) => _ = session.change(abort, STATEMENT_TIMEOUT).await,
                    None => return Err(left_running()),
                }
            } else if stopped.is_some() && is_late {
                return Err(left_running());
            }
            sleep(poll(probe)).await;
        }
    }

    /// Polls the server for the job, on another session if this one was lost.
    async fn ask(&self, session: &mut Arc<Session>, probe: &CheckedProbe) -> Result<RowSet, Error> {
        let mut tries = 0;
        loop {
            match session.read(&probe.query, ANSWER).await {
                Err(cause) if is_lost(&cause) && tries < REOPEN_MAX => {
                    tries += 1;
                    sleep(REOPEN_INTERVAL).await;
                    if let Ok(reopened) = self.database.open_to_change().await {
                        *session = reopened;
                    }
                }
                answer => return answer,
            }
        }
    }
}

/// Whether any job runs.
fn is_running(probe: &CheckedProbe, answer: &RowSet) -> bool {
    (0..answer.rows.len()).any(|row| matches!(probe_row(probe, answer, row), Standing::Running))
}

pub(super) fn left_running() -> Error {
    let message = "the change could not be stopped and may still be running in the database; sync the data source later";
    Error { may_have_applied: true, ..error("timeout", message) }
}

fn poll(probe: &CheckedProbe) -> Duration {
    Duration::from_millis(probe.poll_ms.into()).clamp(POLL_MIN, POLL_MAX)
}

/// The first row that is not among the earlier ones decides.
fn standing(probe: &CheckedProbe, answer: &RowSet, earlier: &Earlier) -> Standing {
    let is_new = |row: &usize| !earlier.0.contains(&key(probe, answer, *row));
    match (0..answer.rows.len()).find(is_new) {
        Some(row) => probe_row(probe, answer, row),
        None => of_word(&probe.when_empty, String::new()),
    }
}

fn probe_row(probe: &CheckedProbe, answer: &RowSet, row: usize) -> Standing {
    let value = |column: &str| {
        let at = answer.columns.iter().position(|one| one.name.eq_ignore_ascii_case(column))?;
        answer.rows.get(row)?.get(at).map(shown)
    };
    let fits = |rule: &&lakeport_bindings::dialect::statements::ProbeRule| {
        value(&rule.column)
            .is_some_and(|found| rule.values.iter().any(|one| one.eq_ignore_ascii_case(&found)))
    };
    let word = probe.rules.iter().find(fits).map_or(&probe.otherwise, |rule| &rule.outcome);
    let why = probe.message_column.as_deref().and_then(value).unwrap_or_default();
    of_word(word, why)
}

fn of_word(word: &str, why: String) -> Standing {
    match word {
        "done" => Standing::Done,
        "failed" => Standing::Failed(if why.is_empty() { "without a reason".to_owned() } else { why }),
        _ => Standing::Running,
    }
}

/// The key that identifies a job.
fn key(probe: &CheckedProbe, answer: &RowSet, row: usize) -> String {
    let cells = &answer.rows[row];
    let column = probe.key_column.as_ref();
    let at =
        column.and_then(|name| answer.columns.iter().position(|one| one.name.eq_ignore_ascii_case(name)));
    match at.and_then(|at| cells.get(at)) {
        Some(cell) => shown(cell),
        None => cells.iter().map(shown).collect::<Vec<_>>().join("\u{1f}"),
    }
}

fn shown(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Boolean(value) => value.to_string(),
        Cell::Integer(value) => value.to_string(),
        Cell::Float(value) => value.to_string(),
        Cell::Text(text) => text.clone(),
        Cell::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
    }
}
