//! The worker, on the one server that holds the lease: it fires timers, starts tasks and ends runs.
//!
//! Its state of a run is a copy of the store's, read again when the run changes; only the list of jobs is its own.
//! When it is unsure (a commit without an answer, a panic), it looks in the store for running attempts without a
//! job here.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::text::shortened;
use lakeport_physical::TaskOutcome;
use lakeport_store::jobs::{Jobs, Work};
use lakeport_store::{Event, Held};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempts::{self, Log, Mark, Stops, Try};
use super::definition::{Definition, Strategy};
use super::progress::{self, LOSSES_MAX, Next, Standing};
use super::refused::MESSAGE_MAX_CHARS;
use super::store::{self, Run, State};
use super::{TOPIC, timer};
use crate::scheduler::Scheduler;

const LEASE: &str = "runner";
/// The pause between two attempts to claim the lease.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of looking for work that no event announced.
const POLL: Duration = Duration::from_secs(5);
/// The pause after a failure of the store.
const AGAIN: Duration = Duration::from_millis(500);
/// The most runs in memory; the others wait in the store.
const RUNS_AT_ONCE: usize = 1_000;
/// The number of definitions in memory from which unused ones are dropped.
const DEFINITIONS_KEPT: usize = 100;
const COMMITTED: &str = "the server ended after the commit, which the data source confirms";
const LOST: &str = "the server ended while it ran";

/// Tasks side by side on one data source; a server's database has 16 sessions for all purposes.
const TASKS_PER_DATASOURCE: usize = 8;

/// Works until the server stops, while this server holds the lease.
pub async fn run_worker(state: Arc<Scheduler>) {
    let shift = |held| Shift::new(Arc::clone(&state), held);
    state.work_alone(LEASE, TOPIC, CLAIM_INTERVAL, shift).await;
}

/// The time during which this server holds the lease.
struct Shift {
    state: Arc<Scheduler>,
    held: Arc<Held>,
    runs: HashMap<i64, Active>,
    definitions: HashMap<i64, Arc<Definition>>,
    /// Runs that must be read again.
    stale: HashSet<i64>,
    /// All runs must be read again, unknown ones included.
    is_all_stale: bool,
    /// There may be more runs in the store than fit into memory.
    is_full: bool,
    /// There may be attempts without a worker.
    is_unsure: bool,
    /// By attempt.
    jobs: Jobs<i64, Working, ()>,
    /// Cancelled when the last job has ended.
    halted: CancellationToken,
    next_poll: Instant,
}

/// An unfinished run.
struct Active {
    run: Arc<Run>,
    definition: Arc<Definition>,
    standings: HashMap<i64, Standing>,
    next: Next,
}

/// A running attempt.
struct Working {
    run_id: i64,
    datasource_id: Option<i64>,
    /// No other task that changes the data source runs beside it.
    is_alone: bool,
    cancelled: CancellationToken,
}

impl Active {
    fn plan(&mut self, now_ms: i64) {
        self.next = progress::next(&self.definition, &self.standings, self.run.strategy, now_ms);
    }
}

impl Shift {
    fn new(state: Arc<Scheduler>, held: Arc<Held>) -> Shift {
        Shift {
            jobs: Jobs::new(state.config.runner_tasks_at_once),
            state,
            held,
            runs: HashMap::new(),
            definitions: HashMap::new(),
            stale: HashSet::new(),
            is_all_stale: true,
            is_full: false,
            is_unsure: true,
            halted: CancellationToken::new(),
            next_poll: Instant::now() + POLL,
        }
    }
}

impl Work for Shift {
    type Key = i64;
    type Job = Working;
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<i64, Working, ()> {
        &mut self.jobs
    }

    /// Takes all actions that are due.
    async fn look(&mut self) -> Result<Duration, Error> {
        if self.next_poll <= Instant::now() {
            self.next_poll = Instant::now() + POLL;
            (self.is_all_stale, self.is_unsure) = (true, true);
        }
        if self.is_unsure {
            self.find_lost().await?;
            self.is_unsure = false;
        }
        let (began_ms, now_ms) = (self.state.started_at_ms, self.state.clock.now_ms());
        let next_fire_ms = timer::fire_due(&self.state.db, &self.held, began_ms, now_ms).await?;
        self.read().await?;
        self.settle().await?;
        self.begin().await?;
        let retries = self.runs.values().filter_map(|active| active.next.at_ms);
        let next_ms = retries.chain(next_fire_ms).min();
        let in_ms = next_ms.map(|next_ms| next_ms.saturating_sub(self.state.clock.now_ms()).max(0) as u64);
        let poll = self.next_poll.saturating_duration_since(Instant::now());
        Ok(in_ms.map_or(poll, Duration::from_millis).min(poll))
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("the scheduler failed, trying again: {error}");
        (self.is_all_stale, self.is_unsure) = (true, true);
        AGAIN
    }

    async fn note(&mut self, event: Event) {
        match event {
            // Other keys are those of timers.
            Event::Changed(key) => self.stale.extend(key.parse::<i64>()),
            Event::Everything => self.is_all_stale = true,
        }
    }

    fn done(&mut self, _: i64, working: Working, outcome: Result<(), JoinError>) {
        match outcome {
            Ok(()) => _ = self.stale.insert(working.run_id),
            // An uncaught panic: the next look finds it as an attempt without a worker.
            Err(error) => {
                tracing::error!("a task ended without an outcome: {error}");
                (self.is_all_stale, self.is_unsure) = (true, true);
            }
        }
    }

    fn halt(&mut self) {
        self.halted.cancel();
    }
}

impl Shift {
    /// Ends running attempts without a job here, since their server ended. Their tasks start again.
    async fn find_lost(&mut self) -> Result<(), Error> {
        let running = attempts::store::running(&self.state.db).await?;
        let lost: Vec<_> = running.into_iter().filter(|one| !self.jobs.contains(&one.id)).collect();
        if lost.is_empty() {
            return Ok(());
        }
        let mut ended = Vec::with_capacity(lost.len());
        for one in lost {
            let mark = one.mark.as_deref().and_then(Mark::read);
            let outcome = match &mark {
                Some(mark) => mark.outcome(&self.state).await,
                None => Some(TaskOutcome::Forgotten),
            };
            match outcome {
                Some(TaskOutcome::Committed) => ended.push((one, mark)),
                Some(TaskOutcome::RolledBack | TaskOutcome::Forgotten) => ended.push((one, None)),
                // The next poll asks again.
                Some(TaskOutcome::InProgress) | None => {}
            }
        }
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        for (one, committed) in &ended {
            let why = if committed.is_some() { COMMITTED } else { LOST };
            tracing::warn!(run = one.run_id, task_run = one.id, "a task without a worker: {why}");
            let at_byte = attempts::store::log_length(&mut tx, one.id).await?;
            let line = attempts::line(now_ms, self.state.config.time_zone, why);
            attempts::store::append(&mut tx, one.id, at_byte, &line).await?;
            match committed {
                Some(mark) => _ = attempts::store::end(&mut tx, one.id, &mark.ended(), now_ms).await?,
                None => attempts::store::lose(&mut tx, one.id, LOST, now_ms).await?,
            }
            tx.changed(TOPIC, one.run_id.to_string());
            self.stale.insert(one.run_id);
        }
        tx.commit().await
    }

    /// Reads the stale runs again.
    async fn read(&mut self) -> Result<(), Error> {
        if self.is_all_stale {
            let open = store::open_runs(&self.state.db, RUNS_AT_ONCE as i64).await?;
            self.stale.extend(open);
            self.stale.extend(self.runs.keys());
            self.is_all_stale = false;
        } else if self.is_full && self.runs.len() <= RUNS_AT_ONCE / 2 {
            let open = store::open_runs(&self.state.db, RUNS_AT_ONCE as i64).await?;
            self.stale.extend(open.into_iter().filter(|id| !self.runs.contains_key(id)));
        }
        self.is_full &= self.runs.len() > RUNS_AT_ONCE / 2;
        let mut stale: Vec<i64> = self.stale.iter().copied().collect();
        stale.sort_unstable();
        for id in stale {
            self.read_run(id).await?;
            self.is_full |= self.runs.len() >= RUNS_AT_ONCE;
            self.stale.remove(&id);
        }
        Ok(())
    }

    /// Reads one run. If there is no space for it, it is read when others have ended; a run that must stop is always
    /// read.
    async fn read_run(&mut self, id: i64) -> Result<(), Error> {
        let has_room = self.runs.contains_key(&id) || self.runs.len() < RUNS_AT_ONCE;
        let found = store::find_run(&self.state.db, id).await?;
        let found = found.filter(|run| has_room || run.state == State::Stopping);
        let Some(run) = found.filter(|run| !run.state.is_final()) else {
            self.runs.remove(&id);
            return Ok(());
        };
        let Some(definition) = self.definition(run.revision_id).await? else {
            return self.end_unreadable(&run).await;
        };
        let standings =
            attempts::store::standings(&self.state.db, &[id]).await?.remove(&id).unwrap_or_default();
        let mut active = Active { run: Arc::new(run), definition, standings, next: Next::default() };
        active.plan(self.state.clock.now_ms());
        self.runs.insert(id, active);
        Ok(())
    }

    /// Ends a run whose definition cannot be read, so that it does not block the others.
    async fn end_unreadable(&self, run: &Run) -> Result<(), Error> {
        const MESSAGE: &str = "its definition cannot be read by this version of the server; publish it again";
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let state = if run.state == State::Stopping { State::Stopped } else { State::Failed };
        store::end_run(&mut tx, run.id, state, Some(MESSAGE), self.state.clock.now_ms()).await?;
        tx.changed(TOPIC, run.id.to_string());
        tx.commit().await
    }

    async fn definition(&mut self, revision_id: i64) -> Result<Option<Arc<Definition>>, Error> {
        if let Some(definition) = self.definitions.get(&revision_id) {
            return Ok(Some(Arc::clone(definition)));
        }
        if self.definitions.len() >= DEFINITIONS_KEPT {
            self.definitions.retain(|_, definition| Arc::strong_count(definition) > 1);
        }
        let Some(definition) = store::definition(&self.state.db, revision_id).await? else { return Ok(None) };
        let definition = Arc::new(definition);
        self.definitions.insert(revision_id, Arc::clone(&definition));
        Ok(Some(definition))
    }

    /// Stops the attempts of runs that must stop, and ends the runs with nothing left to do.
    async fn settle(&mut self) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let mut ended = Vec::new();
        for (id, active) in &mut self.runs {
            let is_running = active.standings.values().any(|standing| standing.is_running);
            if active.run.state == State::Stopping {
                let tries = self.jobs.iter().filter(|(_, working)| working.run_id == *id);
                tries.for_each(|(_, working)| working.cancelled.cancel());
                active.next = Next::default();
                if !is_running {
                    ended.push((Arc::clone(&active.run), State::Stopped));
                }
                continue;
            }
            if active.next.at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                active.plan(now_ms);
            }
            if let Some(outcome) = active.next.outcome {
                ended.push((Arc::clone(&active.run), outcome));
            }
        }
        for (run, state) in ended {
            self.end(&run, state).await?;
        }
        Ok(())
    }

    async fn end(&mut self, run: &Run, state: State) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let message = match state {
            State::Failed => attempts::store::failure(&mut tx, run.id).await?.map(|(task, message)| {
                let left = if run.strategy == Strategy::End { "; nothing more was begun" } else { "" };
                shortened(&format!("the task {task} failed: {message}{left}"), MESSAGE_MAX_CHARS)
            }),
            _ => None,
        };
        if store::end_run(&mut tx, run.id, state, message.as_deref(), now_ms).await? {
            tx.changed(TOPIC, run.id.to_string());
            tx.commit().await?;
            failpoints::reach("runner.run_ended");
            self.runs.remove(&run.id);
        } else {
            // In between it ended, or a stop was requested.
            drop(tx);
            self.read_run(run.id).await?;
        }
        Ok(())
    }

    /// Starts ready tasks while slots are free: by priority, then older runs first.
    async fn begin(&mut self) -> Result<(), Error> {
        let mut ready: Vec<_> = self
            .runs
            .iter()
            .flat_map(|(id, active)| {
                let tasks = active.next.ready.iter();
                tasks.map(|&place| (active.definition.tasks[place].priority, *id, place))
            })
            .collect();
        ready.sort_unstable();
        let mut begun = HashSet::new();
        for (_, run_id, place) in ready {
            if self.jobs.is_full() {
                break;
            }
            if self.begin_task(run_id, place).await? {
                begun.insert(run_id);
            }
        }
        for run_id in begun {
            if let Some(active) = self.runs.get_mut(&run_id) {
                active.plan(self.state.clock.now_ms());
            }
        }
        Ok(())
    }

    /// Starts the next attempt of one task; false: not now.
    async fn begin_task(&mut self, run_id: i64, place: usize) -> Result<bool, Error> {
        let Some(active) = self.runs.get_mut(&run_id) else { return Ok(false) };
        let task = &active.definition.tasks[place];
        let (datasource_id, is_alone) = (task.datasource_id, task.alone);
        let there = self.jobs.iter().filter(|(_, working)| working.datasource_id == datasource_id);
        let there: Vec<bool> = there.map(|(_, working)| working.is_alone).collect();
        // SQLite allows one writer per file: a second one would only wait for the lock.
        let is_busy = (is_alone && there.contains(&true)) || there.len() >= TASKS_PER_DATASOURCE;
        if datasource_id.is_some() && is_busy {
            return Ok(false);
        }
        let (run, now_ms) = (Arc::clone(&active.run), self.state.clock.now_ms());
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        if !store::begin_run(&mut tx, run_id, now_ms).await? {
            self.stale.insert(run_id);
            return Ok(false);
        }
        let begun = attempts::store::begin(&mut tx, run_id, (task.id, &task.name), now_ms).await?;
        let before = attempts::store::before(&mut tx, run_id, task.id, begun.attempt).await?;
        tx.changed(TOPIC, run_id.to_string());
        tx.commit().await?;
        failpoints::reach("runner.task_claimed");
        let mut log = Log::new(run.zone);
        log.line(now_ms, &format!("task {}, try {}", task.name, begun.attempt));
        match (before, run.retry_of) {
            (Some(before), _) => log.line(now_ms, &why_again(&before)),
            (None, Some(of)) => {
                log.line(now_ms, &format!("the run {run_id} does again what the run {of} did"))
            }
            (None, None) => {}
        }
        let standing = active.standings.entry(task.id).or_default();
        standing.is_running = true;
        let has_retries = standing.failures < i64::from(task.retries);
        let cancelled = CancellationToken::new();
        let work = Try {
            state: Arc::clone(&self.state),
            held: Arc::clone(&self.held),
            definition: Arc::clone(&active.definition),
            run,
            place,
            id: begun.id,
            has_retries,
            log,
            stops: Stops { cancelled: cancelled.clone(), halted: self.halted.clone() },
        };
        self.jobs.spawn(begun.id, Working { run_id, datasource_id, is_alone, cancelled }, work.run());
        Ok(true)
    }
}

/// The log line that explains another attempt.
fn why_again(before: &attempts::store::Before) -> String {
    let message = before.message.as_deref().unwrap_or_default();
    match before.state {
        _ if before.is_lost => {
            format!("begun again: {LOST}; that is no retry, and happens {LOSSES_MAX} times at most")
        }
        State::Failed => format!("tried again, for it failed before: {message}"),
        _ => "begun again".to_owned(),
    }
}
