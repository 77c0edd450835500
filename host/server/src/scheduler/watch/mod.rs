//! Reading runs: pages of runs, attempts and logs. Read-only.
//!
//! The cursor of runs is a number of the change log, with its time: if the log was purged beyond it, runs are
//! found by the time of their last change.

mod store;
mod waiting;

use std::collections::HashSet;

use lakeport_base::time::MINUTE_MS;
use lakeport_bindings::engine::model;

use super::LocalScheduler;
use super::attempts::store::standings;
use super::definition::id;
use super::refused::Refused;
use super::requests::{no_cursor, number, place};
use super::store::{self as runs, Run, State};
use store::{Changed, TryRow};
use waiting::{Place, is_waiting};

/// Workflows, and open runs, of one request.
const ASKED_MAX: usize = 1_000;
/// Runs of one answer besides those requested by id, and attempts of one answer.
const PAGE_MAX: u32 = 1_000;
/// Keys of one request.
const QUERIES_MAX: usize = 100;
/// Runs whose attempts are requested at once.
const INSTANCES_MAX: usize = 200;
/// The most text of one answer.
const LOG_MAX_BYTES: u32 = 1024 * 1024;
/// The first position of a log, and of the attempts.
const BEGINNING: i64 = 0;
/// The largest difference between two servers' clocks.
const CLOCKS_APART_MS: i64 = MINUTE_MS;

/// A watcher's position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cursor {
    /// All changes up to this number are known, as of this time.
    Changes { number: i64, at_ms: i64 },
    /// Runs are read by the time of their last change, and this is the last one; then changes continue from
    /// there.
    Runs { updated_at_ms: i64, id: i64, number: i64, at_ms: i64 },
}

impl Cursor {
    fn parse(text: &str) -> Option<Cursor> {
        let mut parts = text.split('.');
        let kind = parts.next()?;
        let numbers = parts.map(str::parse).collect::<Result<Vec<i64>, _>>().ok()?;
        match (kind, numbers.as_slice()) {
            ("c", &[number, at_ms]) => Some(Cursor::Changes { number, at_ms }),
            ("r", &[updated_at_ms, id, number, at_ms]) => {
                Some(Cursor::Runs { updated_at_ms, id, number, at_ms })
            }
            _ => None,
        }
    }

    fn shown(self) -> String {
        match self {
            Cursor::Changes { number, at_ms } => format!("c.{number}.{at_ms}"),
            Cursor::Runs { updated_at_ms, id, number, at_ms } => {
                format!("r.{updated_at_ms}.{id}.{number}.{at_ms}")
            }
        }
    }
}

/// Some runs, and the next cursor.
struct Found {
    runs: Vec<Run>,
    cursor: Cursor,
    more: bool,
}

impl LocalScheduler {
    pub(super) async fn find(
        &self,
        queries: Vec<model::RunQuery>,
    ) -> Result<Vec<Option<model::Instance>>, Refused> {
        at_most(queries.len(), QUERIES_MAX, "keys")?;
        let mut found = Vec::with_capacity(queries.len());
        for query in queries {
            let run = runs::find_by_key(&self.db, &query.key).await?;
            found.push(run.filter(|run| run.workflow_id.cast_unsigned() == query.workflow.id).map(instance));
        }
        Ok(found)
    }

    /// Open runs are part of every answer; the limit is for the others.
    pub(super) async fn instances(&self, request: model::WatchRequest) -> Result<model::WatchPage, Refused> {
        at_most(request.workflows.len(), ASKED_MAX, "workflows")?;
        at_most(request.open.len(), ASKED_MAX, "open runs")?;
        let ids = request.workflows.iter().map(|workflow| id(workflow.id));
        let workflows = ids.collect::<Result<Vec<i64>, Refused>>()?;
        let cursor = match request.cursor.as_deref() {
            Some(text) => Some(Cursor::parse(text).ok_or_else(no_cursor)?),
            None => None,
        };
        let open: Vec<i64> = request.open.iter().filter_map(|open| open.id.parse().ok()).collect();
        // Later changes come after the cursor.
        let newest = Cursor::Changes { number: store::newest(&self.db).await?, at_ms: self.clock.now_ms() };
        let open = store::runs_of(&self.db, &open).await?;
        let known: HashSet<String> = open.iter().map(|run| run.id.to_string()).collect();
        let asked = request.open.into_iter().map(|open| open.id);
        let gone = asked.filter(|id| !known.contains(id)).collect();
        let room = request.limit.clamp(1, PAGE_MAX).saturating_sub(open.len() as u32).max(1);
        let found = self.found(&workflows, cursor, request.since, newest, room.into()).await?;
        let others = found.runs.into_iter().filter(|run| !known.contains(&run.id.to_string()));
        Ok(model::WatchPage {
            instances: open.iter().cloned().chain(others).map(instance).collect(),
            gone,
            cursor: found.cursor.shown(),
            more: found.more,
            // Changes are announced.
            wait_ms: 0,
        })
    }

    async fn found(
        &self,
        workflows: &[i64],
        cursor: Option<Cursor>,
        since_ms: i64,
        newest: Cursor,
        limit: i64,
    ) -> Result<Found, Refused> {
        let Cursor::Changes { number, at_ms } = newest else { unreachable!("the newest is a number") };
        let from = |updated_at_ms| Cursor::Runs { updated_at_ms, id: 0, number, at_ms };
        let cursor = cursor.unwrap_or_else(|| from(since_ms));
        let cursor = match cursor {
            Cursor::Changes { number: seen, at_ms: seen_at_ms } => {
                match store::changed_after(&self.db, seen, number, limit).await? {
                    Changed::Runs { ids, is_all, last } => {
                        let runs = store::runs_of_workflows(&self.db, workflows, &ids).await?;
                        let cursor =
                            if is_all { newest } else { Cursor::Changes { number: last, at_ms: seen_at_ms } };
                        return Ok(Found { runs, cursor, more: !is_all });
                    }
                    Changed::Unknown => from(seen_at_ms - CLOCKS_APART_MS),
                }
            }
            runs => runs,
        };
        let Cursor::Runs { updated_at_ms, id, number, at_ms } = cursor else {
            unreachable!("it was made one")
        };
        let runs = store::changed_since(&self.db, workflows, (updated_at_ms, id), limit).await?;
        let last = runs.last().filter(|_| runs.len() as i64 == limit);
        let more = last.is_some();
        let cursor = match last {
            Some(run) => Cursor::Runs { updated_at_ms: run.updated_at_ms, id: run.id, number, at_ms },
            None => Cursor::Changes { number, at_ms },
        };
        Ok(Found { runs, cursor, more })
    }

    /// Waiting tasks first, then attempts: a task that starts meanwhile appears twice instead of not at all.
    pub(super) async fn task_runs(
        &self,
        request: model::TaskRunRequest,
    ) -> Result<model::TaskRunPage, Refused> {
        at_most(request.instances.len(), INSTANCES_MAX, "runs")?;
        let ids: Vec<i64> = request.instances.iter().filter_map(|one| one.id.parse().ok()).collect();
        let limit = request.limit.clamp(1, PAGE_MAX) as usize;
        let (mut task_runs, mut after_id) = (Vec::new(), BEGINNING);
        match request.cursor.as_deref() {
            Some(cursor) if !is_waiting(cursor) => after_id = place(cursor)?,
            cursor => {
                let from = cursor.map_or(Some(Place::default()), Place::parse).ok_or_else(no_cursor)?;
                let page = waiting::of_runs(&self.db, &ids, from, limit, self.clock.now_ms()).await?;
                task_runs = page.tries;
                if let Some(next) = page.next {
                    return Ok(model::TaskRunPage { task_runs, next: Some(next.shown()) });
                }
            }
        }
        let room = limit - task_runs.len();
        let mut tries = store::tries_of(&self.db, &ids, after_id, room as i64 + 1).await?;
        let is_more = tries.len() > room;
        tries.truncate(room);
        let next = is_more.then(|| tries.last().map_or(after_id, |last| last.id).to_string());
        task_runs.extend(tries.into_iter().map(task_run));
        Ok(model::TaskRunPage { task_runs, next })
    }

    pub(super) async fn log(&self, request: model::LogRequest) -> Result<model::LogPage, Refused> {
        let run_id = number(&request.instance.id)?;
        let from = request.cursor.as_deref().map_or(Ok(BEGINNING), place)?;
        if is_waiting(&request.task_run) {
            return self.no_log(run_id, &request.task_run).await;
        }
        let task_run_id = number(&request.task_run)?;
        let missing = || Refused::not_found("task run", task_run_id);
        // Reads the state before the log: text added in between is then not taken for the last.
        let state = store::state_of_try(&self.db, run_id, task_run_id).await?.ok_or_else(missing)?;
        let text = store::log_from(&self.db, task_run_id, from).await?.ok_or_else(no_cursor)?;
        let end = cut(&text, request.max_bytes.clamp(1, LOG_MAX_BYTES) as usize);
        let next = from + end as i64;
        let complete = state != State::Running && end == text.len();
        Ok(model::LogPage { text: text[..end].to_owned(), next: next.to_string(), complete })
    }

    /// For a waiting task: it has a log once it has started, and never if its run has ended before.
    async fn no_log(&self, run_id: i64, task_run: &str) -> Result<model::LogPage, Refused> {
        let missing = || Refused::not_found("task run", task_run);
        let task_id = waiting::task_of(task_run).ok_or_else(missing)?;
        let run = runs::find_run(&self.db, run_id).await?.ok_or_else(missing)?;
        let has_begun = standings(&self.db, &[run_id]).await?.values().any(|of| of.contains_key(&task_id));
        let (text, next) = (String::new(), BEGINNING.to_string());
        Ok(model::LogPage { text, next, complete: run.state.is_final() && !has_begun })
    }
}

fn at_most(count: usize, max: usize, what: &str) -> Result<(), Refused> {
    if count <= max {
        return Ok(());
    }
    Err(Refused::new("limit_exceeded", format!("one request names {max} {what} at most")))
}

/// Where complete lines of about so many bytes end; at least one line.
fn cut(text: &str, max_bytes: usize) -> usize {
    if text.len() <= max_bytes {
        return text.len();
    }
    let head = text.as_bytes()[..max_bytes].iter().rposition(|&byte| byte == b'\n');
    head.or_else(|| text.find('\n')).map_or(text.len(), |end| end + 1)
}

fn instance(run: Run) -> model::Instance {
    let is_paused = run.is_paused && matches!(run.state, State::Queued | State::Running);
    model::Instance {
        id: run.id.to_string(),
        workflow: run.workflow_id.cast_unsigned(),
        key: Some(run.key),
        trigger: None,
        cause: run.cause,
        business_time: Some(run.business_at_ms),
        state: if is_paused { "paused" } else { run.state.as_str() }.to_owned(),
        engine_state: run.state.as_str().to_owned(),
        // A retry is another run.
        attempt: 1,
        started: run.started_at_ms,
        ended: run.ended_at_ms,
        message: run.message,
        extra: None,
    }
}

/// An attempt whose task waits for a retry is not final: the task is queued.
fn task_run(row: TryRow) -> model::TaskRun {
    model::TaskRun {
        id: row.id.to_string(),
        instance: row.run_id.to_string(),
        task: Some(row.task_id.cast_unsigned()),
        task_name: row.task_name,
        attempt: u32::try_from(row.attempt).unwrap_or(u32::MAX),
        state: if row.is_waiting { "queued".to_owned() } else { row.state.as_str().to_owned() },
        engine_state: if row.is_lost { "lost".to_owned() } else { row.state.as_str().to_owned() },
        started: Some(row.started_at_ms),
        ended: row.ended_at_ms,
        message: row.message,
        rows_affected: row.rows_affected.map(i64::cast_unsigned),
        extra: None,
    }
}

#[cfg(test)]
mod tests;
