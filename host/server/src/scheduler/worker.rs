//! The worker of a server: it starts the tasks of its runs and ends these. One of them fires the timers.
//!
//! Its state of a run is a copy of the store's. No other server begins or ends attempts of it, so it knows their states
//! without reading them again; the run itself is read when it changes. When it is unsure (a commit without an answer, a panic), it
//! reads everything again, and looks in the store for running attempts without a job here.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_base::text::shortened;
use lakeport_store::jobs::{Jobs, Work};
use lakeport_store::leases::TTL;
use lakeport_store::{Event, Held, Lease};
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::attempts::store::{Before, Begun, Orphan, Piece, ToBegin};
use super::attempts::{self, Accesses, Ledger, Log, Note, Sources, Stops, Try, Unrecorded};
use super::definition::{Definition, Priority, Strategy};
use super::lost::{self, ASKED_AT_ONCE, Answer, Fate, Losses};
use super::progress::{self, LOSSES_MAX, Next, Standing};
use super::refused::MESSAGE_MAX_CHARS;
use super::share::{self, Share};
use super::store::{self, Run, State};
use super::{FREED, PROGRESS, TOPIC, timer};
use crate::scheduler::Scheduler;

/// The lease of the worker that fires timers.
const TIMERS: &str = "runner-timers";
/// The pause between two attempts to claim a lease.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// How long the claim of the timers may take.
const CLAIM_PATIENCE: Duration = Duration::from_secs(1);
/// The interval of looking for work that no event announced.
const POLL: Duration = Duration::from_secs(5);
/// The pause after a failure of the store.
const AGAIN: Duration = Duration::from_millis(500);
/// While most places are taken, attempts begin this far apart: those that begin together cost one commit.
const TOGETHER: Duration = Duration::from_millis(12);
/// The most runs in memory; the others wait in the store.
const RUNS_AT_ONCE: usize = 1_000;
/// The most runs read at once.
const READ_AT_ONCE: usize = 250;
/// A run that has nothing to do for so long is not kept in memory, and the most such runs.
const LATER_MS: i64 = 10_000;
const LATER_MAX: usize = 20_000;
/// The number of definitions in memory from which unused ones are dropped.
const DEFINITIONS_KEPT: usize = 100;
const COMMITTED: &str = "the server ended after the commit, which the data source confirms";
const LOST: &str = "the server ended while it ran";
const UNKNOWN: &str = "its outcome in the data source is not known: the server ended while it ran, and the data source does not \
    say whether it has committed";

/// Tasks side by side on one database of a server, which has 16 sessions for all purposes.
const TASKS_PER_DATABASE: usize = 8;
/// Tasks side by side on one SQLite file, which has 32.
const TASKS_PER_FILE: usize = 24;

/// Works until the server stops, while this server holds its lease.
pub async fn run_worker(state: Arc<Scheduler>) {
    attempts::shell::announce(&state.config);
    let unrecorded = Arc::new(Unrecorded::default());
    let shift = |held| Shift::new(Arc::clone(&state), held, Arc::clone(&unrecorded));
    let lease = share::lease(&state.db, &state.leases);
    state.work_alone(&lease, TOPIC, CLAIM_INTERVAL, shift).await;
}

/// The time during which this server holds the lease.
struct Shift {
    state: Arc<Scheduler>,
    held: Arc<Held>,
    ledger: Arc<Ledger>,
    unrecorded: Arc<Unrecorded>,
    sources: Arc<Sources>,
    accesses: Arc<Accesses>,
    share: Share,
    runs: HashMap<i64, Active>,
    /// Runs that only wait for a retry, and when it is due: these need no space until then.
    later: HashMap<i64, i64>,
    /// The time of the last look.
    looked_ms: i64,
    /// By revision.
    definitions: HashMap<i64, Arc<Known>>,
    /// Runs that must be read again.
    stale: HashSet<i64>,
    /// All runs must be read again, unknown ones included.
    is_all_stale: bool,
    /// There may be more runs of this server in the store than fit into memory.
    is_full: bool,
    /// There are free places, and nothing to begin on them.
    is_idle: bool,
    /// There may be attempts without a worker.
    is_unsure: bool,
    lost: Losses,
    /// A paused run may have nothing left to do.
    knows_paused: bool,
    /// Held by the one worker that fires timers.
    timers: Option<Held>,
    /// When it is claimed next.
    next_claim: Instant,
    /// When the next timer is due, if `knows_timers`.
    next_fire_ms: Option<i64>,
    knows_timers: bool,
    jobs: Jobs<Job, Option<Working>, Done>,
    /// Cancelled when no look follows, and as soon as the lease is lost, also while a look waits for the store.
    halted: CancellationToken,
    next_poll: Instant,
    /// The last time that attempts began.
    began: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Job {
    /// An attempt.
    Try(i64),
    /// A data source is asked about lost ones.
    Ask(i64),
}

enum Done {
    /// What was recorded.
    Tried(Option<State>),
    Asked(Vec<Answer>),
}

/// A definition, with what is derived from it once.
struct Known {
    definition: Arc<Definition>,
    /// See [`Definition::before`].
    before: Vec<Vec<usize>>,
}

/// An unfinished run.
struct Active {
    run: Arc<Run>,
    known: Arc<Known>,
    standings: HashMap<i64, Standing>,
    /// Attempts that were working when the standings were read: these may have their results already.
    unsure: Vec<i64>,
    /// False: something has changed since.
    is_planned: bool,
    next: Next,
    lanes: Vec<Lane>,
}

/// Tasks that can start and keep the same from others.
struct Lane {
    datasource_id: Option<i64>,
    is_on_file: bool,
    is_alone: bool,
    /// By priority.
    places: Vec<usize>,
}

/// A running attempt.
struct Working {
    run_id: i64,
    task_id: i64,
    datasource_id: Option<i64>,
    /// No other task that changes the data source runs beside it.
    is_alone: bool,
    cancelled: CancellationToken,
}

/// The tasks that work on a data source.
#[derive(Default)]
struct Busy {
    tasks: usize,
    has_one_alone: bool,
}

impl Active {
    fn plan(&mut self, now_ms: i64) {
        let Known { definition, before } = &*self.known;
        self.next = progress::next(definition, before, &self.standings, self.run.strategy, now_ms);
        if self.run.state == State::Stopping {
            self.next = Next::default();
        } else if self.run.is_paused {
            self.next = Next { outcome: self.next.outcome, ..Next::default() };
        }
        self.lanes.clear();
        for &place in &self.next.ready {
            let task = &definition.tasks[place];
            let is_its =
                |lane: &&mut Lane| (lane.datasource_id, lane.is_alone) == (task.datasource_id, task.alone);
            match self.lanes.iter_mut().find(is_its) {
                Some(lane) => lane.places.push(place),
                None => self.lanes.push(Lane {
                    datasource_id: task.datasource_id,
                    is_on_file: task.is_on_file,
                    is_alone: task.alone,
                    places: vec![place],
                }),
            }
        }
        for lane in &mut self.lanes {
            lane.places.sort_by_key(|&place| definition.tasks[place].priority);
        }
        self.is_planned = true;
    }

    /// A paused run without running tasks takes no place.
    fn has_something_to_do(&self) -> bool {
        !self.run.is_paused
            || self.run.state == State::Stopping
            || self.is_running()
            || self.next.outcome.is_some()
    }

    /// When it goes on, if all that it waits for is a time.
    fn goes_on_at_ms(&self) -> Option<i64> {
        let waits = self.next.ready.is_empty()
            && self.next.outcome.is_none()
            && self.run.state != State::Stopping
            && !self.is_running();
        self.next.at_ms.filter(|_| waits)
    }

    fn is_running(&self) -> bool {
        self.standings.values().any(|standing| standing.is_running)
    }

    /// Takes in the result of an attempt.
    fn ended(&mut self, task_id: i64, state: State, now_ms: i64) {
        let standing = self.standings.entry(task_id).or_default();
        standing.is_running = false;
        match state {
            State::Success => standing.is_done = true,
            State::Failed => {
                standing.failures += 1;
                standing.failed_at_ms = Some(now_ms);
            }
            _ => {}
        }
        self.is_planned = false;
    }
}

impl Lane {
    /// What is to be begun first: by priority, then of the oldest run.
    fn head(&self, active: &Active, at: usize) -> Option<(Priority, i64, usize)> {
        let place = *self.places.get(at)?;
        Some((active.known.definition.tasks[place].priority, active.run.id, place))
    }
}

impl Shift {
    fn new(state: Arc<Scheduler>, held: Arc<Held>, unrecorded: Arc<Unrecorded>) -> Shift {
        Shift {
            jobs: Jobs::new(state.config.runner_tasks_at_once + ASKED_AT_ONCE),
            halted: held.lost().child_token(),
            ledger: Arc::new(Ledger::new(Arc::clone(&state), Arc::clone(&held))),
            unrecorded,
            sources: Arc::new(Sources::new(&state)),
            accesses: Arc::default(),
            share: Share::new(state.db.clone(), state.leases.clone(), Arc::clone(&held)),
            state,
            held,
            runs: HashMap::new(),
            later: HashMap::new(),
            looked_ms: 0,
            definitions: HashMap::new(),
            stale: HashSet::new(),
            is_all_stale: true,
            is_full: false,
            is_idle: true,
            is_unsure: true,
            lost: Losses::default(),
            knows_paused: false,
            timers: None,
            next_claim: Instant::now(),
            next_fire_ms: None,
            knows_timers: false,
            next_poll: Instant::now() + POLL,
            began: Instant::now(),
        }
    }
}

impl Work for Shift {
    type Key = Job;
    type Job = Option<Working>;
    type Outcome = Done;

    fn jobs(&mut self) -> &mut Jobs<Job, Option<Working>, Done> {
        &mut self.jobs
    }

    /// Takes all actions that are due.
    async fn look(&mut self) -> Result<Duration, Error> {
        if let Some(soon) = self.soon() {
            return Ok(soon);
        }
        if self.next_poll <= Instant::now() {
            self.next_poll = Instant::now() + POLL;
            (self.is_all_stale, self.is_unsure, self.knows_timers) = (true, true, false);
        }
        self.take_share().await?;
        if !self.knows_paused {
            self.stale.extend(store::paused_runs(&self.state.db).await?);
            self.knows_paused = true;
        }
        let now_ms = self.state.clock.now_ms();
        // The clock was put back: what is due later is to be planned again.
        if now_ms < self.looked_ms && !self.later.is_empty() {
            self.later.clear();
            self.is_all_stale = true;
        }
        self.looked_ms = now_ms;
        self.fire_timers(now_ms).await?;
        self.find_lost().await?;
        let due = self.later.iter().filter(|(_, at_ms)| **at_ms <= now_ms);
        self.stale.extend(due.map(|(id, _)| id));
        self.read().await?;
        self.end_lost().await?;
        self.plan();
        self.settle().await?;
        self.begin().await?;
        // Such as the next runs of workflows whose runs have ended: no event announces what the worker does itself.
        if !self.stale.is_empty() || self.may_take_more() || self.portion() > 0 || self.share.is_urgent() {
            return Ok(Duration::ZERO);
        }
        let retries = self.runs.values().filter_map(|active| active.next.at_ms);
        let next_ms = retries.chain(self.later.values().copied()).chain(self.next_fire_ms).min();
        let in_ms = next_ms.map(|next_ms| next_ms.saturating_sub(self.state.clock.now_ms()).max(0) as u64);
        let poll = self.next_poll.saturating_duration_since(Instant::now());
        let claim = self.next_claim.saturating_duration_since(Instant::now());
        let others = [self.share.pause(self.room(), self.is_idle), self.timers.is_none().then_some(claim)]
            .into_iter()
            .flatten();
        let pause = others.fold(poll, Duration::min);
        Ok(in_ms.map_or(pause, Duration::from_millis).min(pause))
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("the scheduler failed, trying again: {error}");
        (self.is_all_stale, self.is_unsure) = (true, true);
        (self.knows_paused, self.knows_timers) = (false, false);
        self.runs.clear();
        self.later.clear();
        AGAIN
    }

    async fn note(&mut self, event: Event) {
        match event {
            Event::Changed(key) => match key.parse() {
                Ok(run_id) => {
                    self.stale.insert(run_id);
                    self.share.changed();
                }
                Err(_) if &*key == FREED => self.share.changed(),
                // Other keys are those of timers.
                Err(_) => self.knows_timers = false,
            },
            Event::Everything => {
                self.later.clear();
                self.share.changed();
                (self.is_all_stale, self.knows_timers) = (true, false);
            }
        }
    }

    fn done(&mut self, job: Job, working: Option<Working>, outcome: Result<Done, JoinError>) {
        match (job, outcome) {
            (Job::Try(id), outcome) => {
                let Some(working) = working else { return };
                let outcome = outcome.map(|done| match done {
                    Done::Tried(state) => state,
                    Done::Asked(_) => None,
                });
                self.tried(id, &working, outcome);
            }
            (Job::Ask(source), Ok(Done::Asked(answers))) => {
                self.lost.answered(source, answers, Instant::now())
            }
            (Job::Ask(source), outcome) => {
                if let Err(error) = outcome {
                    tracing::error!(source, "asking a data source ended without an answer: {error}");
                }
                self.lost.answered(source, Vec::new(), Instant::now());
            }
        }
    }

    fn halt(&mut self) {
        self.halted.cancel();
    }
}

impl Shift {
    /// The run, with the states of its tasks, is read again.
    fn forget(&mut self, run_id: i64) {
        self.runs.remove(&run_id);
        self.stale.insert(run_id);
    }

    fn tried(&mut self, id: i64, working: &Working, outcome: Result<Option<State>, JoinError>) {
        let run_id = working.run_id;
        self.share.has_ended();
        match outcome {
            Ok(Some(state)) => match self.runs.get_mut(&run_id) {
                Some(active) if !active.unsure.contains(&id) => {
                    active.ended(working.task_id, state, self.state.clock.now_ms());
                    // It may have nothing left to do.
                    self.stale.extend(active.run.is_paused.then_some(run_id));
                }
                _ => self.forget(run_id),
            },
            // Its outcome may be open: its data source is to be asked.
            Ok(None) => {
                self.is_unsure = true;
                self.forget(run_id);
            }
            // An uncaught panic: the next look finds it as an attempt without a worker.
            Err(error) => {
                tracing::error!("a task ended without an outcome: {error}");
                (self.is_all_stale, self.is_unsure) = (true, true);
                self.forget(run_id);
            }
        }
    }

    /// How long to wait for more places, if they are nearly all taken and nothing was asked for.
    fn soon(&self) -> Option<Duration> {
        let knows_timers = self.knows_timers || self.timers.is_none();
        let knows_all = self.stale.is_empty() && !self.is_all_stale && !self.is_unsure && knows_timers;
        let soon = TOGETHER.checked_sub(self.began.elapsed())?;
        (self.is_busy() && knows_all).then_some(soon)
    }

    /// Most places are taken.
    fn is_busy(&self) -> bool {
        self.working().count() * 2 > self.state.config.runner_tasks_at_once
    }

    /// The attempts that are worked on.
    fn working(&self) -> impl Iterator<Item = (i64, &Working)> {
        self.jobs.iter().filter_map(|(job, working)| match job {
            Job::Try(id) => Some((*id, working.as_ref()?)),
            Job::Ask(_) => None,
        })
    }

    /// Fires the timers that are due, if that is the task of this server.
    async fn fire_timers(&mut self, now_ms: i64) -> Result<(), Error> {
        if self.timers.as_ref().is_some_and(|held| held.lost().is_cancelled()) {
            (self.timers, self.next_fire_ms) = (None, None);
        }
        if self.timers.is_none() && self.next_claim <= Instant::now() {
            self.next_claim = Instant::now() + CLAIM_INTERVAL;
            // A server that stands still may have its row: that keeps no task waiting.
            let claiming = timeout(CLAIM_PATIENCE, self.state.leases.claim(TIMERS, TTL));
            self.timers = claiming.await.unwrap_or(Ok(None))?.map(Lease::hold);
            self.knows_timers = false;
        }
        let Some(held) = &self.timers else { return Ok(()) };
        if !self.knows_timers || self.next_fire_ms.is_some_and(|at_ms| at_ms <= now_ms) {
            let began_ms = self.state.started_at_ms;
            self.next_fire_ms = timer::fire_due(&self.state.db, held, began_ms, now_ms).await?;
            self.knows_timers = true;
        }
        Ok(())
    }

    /// How many further runs of the store this server may take for itself.
    fn portion(&self) -> usize {
        self.share.portion(self.room(), self.is_idle)
    }

    fn room(&self) -> usize {
        RUNS_AT_ONCE.saturating_sub(self.runs.len())
    }

    /// Takes runs that no server works on, and gives those back that others could begin before.
    async fn take_share(&mut self) -> Result<(), Error> {
        if self.share.look(self.has_free_place()).await? {
            self.share.give_back().await?;
            self.runs.retain(|_, active| active.run.state != State::Queued);
        }
        let portion = self.portion();
        let queued = self.runs.values().filter(|active| active.run.state == State::Queued);
        let (taken, had_begun) =
            self.share.take(portion, queued.map(|active| active.run.workflow_id)).await?;
        self.is_unsure |= had_begun;
        self.stale.extend(taken);
        Ok(())
    }

    fn has_free_place(&self) -> bool {
        self.working().count() < self.state.config.runner_tasks_at_once
    }

    /// Finds running attempts without a job here, whose server ended, and asks their data sources about them.
    async fn find_lost(&mut self) -> Result<(), Error> {
        if self.is_unsure {
            let mut running = attempts::store::running(&self.state.db, self.share.worker()).await?;
            running.retain(|one| !self.jobs.contains(&Job::Try(one.id)));
            let recorded = self.record_kept(&running).await?;
            running.retain(|one| !recorded.contains(&one.id));
            self.lost.found(running, Instant::now());
            self.is_unsure = false;
        }
        let asked = self.jobs.iter().filter(|(job, _)| matches!(job, Job::Ask(_))).count();
        let is_being_asked = |source| self.jobs.contains(&Job::Ask(source));
        for (source, questions) in self.lost.questions(is_being_asked, ASKED_AT_ONCE - asked, Instant::now())
        {
            let asking = lost::ask(Arc::clone(&self.state), questions, self.halted.clone());
            self.jobs.spawn(Job::Ask(source), None, async { Done::Asked(asking.await) });
        }
        Ok(())
    }

    /// Records the results that this server knows of attempts without a worker; returns these.
    async fn record_kept(&mut self, running: &[Orphan]) -> Result<HashSet<i64>, Error> {
        let running: HashSet<i64> = running.iter().map(|one| one.id).collect();
        let mut recorded = HashSet::new();
        for (id, end) in self.unrecorded.of(&running) {
            let run_id = end.run_id;
            self.ledger.write(id, Note::End(end)).await?;
            self.unrecorded.forget(id);
            self.forget(run_id);
            recorded.insert(id);
        }
        Ok(recorded)
    }

    /// Records the outcomes of attempts without a worker. Those that have changed nothing are begun again.
    async fn end_lost(&mut self) -> Result<(), Error> {
        let must_stop =
            |run_id| self.runs.get(&run_id).is_some_and(|active| active.run.state == State::Stopping);
        let settled = self.lost.settled(must_stop, Instant::now());
        if settled.is_empty() {
            return Ok(());
        }
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        for one in &settled {
            let (run, task_run) = (one.orphan.run_id, one.orphan.id);
            let why = match one.fate {
                Fate::Done => COMMITTED,
                Fate::Lost => LOST,
                Fate::Unknown => UNKNOWN,
            };
            tracing::warn!(run, task_run, "a task without a worker: {why}");
            let at_byte = attempts::store::log_length(&mut tx, task_run).await?;
            let line = attempts::line(now_ms, self.state.config.time_zone, why);
            attempts::store::append(&mut tx, &[Piece { task_run_id: task_run, at_byte, text: &line }])?;
            match &one.mark {
                Some(mark) if one.fate == Fate::Done => {
                    let ended = attempts::store::end(&mut tx, &[(task_run, &mark.ended())], now_ms).await?;
                    if let Some(accessed) = mark.accessed.as_ref().filter(|_| ended.contains(&task_run)) {
                        tx.execute_later(accessed.to_record(&self.state.db));
                    }
                }
                _ => {
                    let is_unknown = one.fate == Fate::Unknown;
                    attempts::store::lose(&mut tx, task_run, why, is_unknown, now_ms).await?;
                }
            }
            tx.changed(PROGRESS, run.to_string());
        }
        tx.commit().await?;
        for one in settled {
            self.lost.forget(one.orphan.id);
            self.forget(one.orphan.run_id);
        }
        self.read().await
    }

    /// Whether there is space for runs that only the store has.
    fn may_take_more(&self) -> bool {
        self.is_full && self.runs.len() <= RUNS_AT_ONCE / 2
    }

    /// Reads the stale runs again.
    async fn read(&mut self) -> Result<(), Error> {
        if self.is_all_stale {
            let open = self.open_runs().await?;
            self.stale.extend(open);
            self.stale.extend(self.runs.keys());
            self.is_all_stale = false;
        } else if self.may_take_more() {
            let open = self.open_runs().await?;
            self.stale.extend(open.into_iter().filter(|id| !self.runs.contains_key(id)));
        }
        self.is_full &= self.runs.len() > RUNS_AT_ONCE / 2;
        let mut stale: Vec<i64> = self.stale.iter().copied().collect();
        stale.sort_unstable();
        for ids in stale.chunks(READ_AT_ONCE) {
            self.read_runs(ids).await?;
            for id in ids {
                self.stale.remove(id);
            }
        }
        Ok(())
    }

    async fn read_runs(&mut self, ids: &[i64]) -> Result<(), Error> {
        let mut found = store::find_runs(&self.state.db, ids).await?;
        found.retain(|_, run| !run.state.is_final() && self.share.has(run));
        let unknown: Vec<i64> = found.keys().filter(|id| !self.runs.contains_key(id)).copied().collect();
        let mut standings = match unknown.is_empty() {
            true => HashMap::new(),
            false => attempts::store::standings(&self.state.db, &unknown).await?,
        };
        for id in ids {
            self.take_in(*id, found.remove(id), standings.remove(id)).await?;
            self.is_full |= self.runs.len() >= RUNS_AT_ONCE;
        }
        Ok(())
    }

    /// The first unfinished runs that may do something now.
    async fn open_runs(&self) -> Result<Vec<i64>, Error> {
        let at_most = RUNS_AT_ONCE + self.later.len();
        let mut open = store::open_runs(&self.state.db, self.share.worker(), at_most as i64).await?;
        open.retain(|id| !self.later.contains_key(id));
        open.truncate(RUNS_AT_ONCE);
        Ok(open)
    }

    /// Takes in a run as it was found: unfinished, and this server's. If there is no space for it, it is read when others
    /// have ended; a run that must stop is always taken in.
    async fn take_in(
        &mut self,
        id: i64,
        found: Option<Run>,
        standings: Option<HashMap<i64, Standing>>,
    ) -> Result<(), Error> {
        self.later.remove(&id);
        let has_room = self.runs.contains_key(&id) || self.runs.len() < RUNS_AT_ONCE;
        let Some(run) = found.filter(|run| has_room || run.state == State::Stopping) else {
            self.runs.remove(&id);
            return Ok(());
        };
        let Some(known) = self.definition(run.revision_id).await? else {
            return self.end_unreadable(&run).await;
        };
        let run = Arc::new(run);
        let mut active = match self.runs.remove(&id) {
            Some(active) => Active { run, ..active },
            None => {
                let working = self.working().filter(|(_, working)| working.run_id == id);
                let unsure = working.map(|(id, _)| id).collect();
                let standings = standings.unwrap_or_default();
                let (next, lanes) = (Next::default(), Vec::new());
                Active { run, known, standings, unsure, is_planned: false, next, lanes }
            }
        };
        active.plan(self.state.clock.now_ms());
        if active.has_something_to_do() && self.is_its_turn(&active.run).await? {
            self.runs.insert(id, active);
        }
        Ok(())
    }

    /// Whether a run that waits for earlier ones of its workflow waits no more.
    async fn is_its_turn(&self, run: &Run) -> Result<bool, Error> {
        if !run.waits || run.state != State::Queued {
            return Ok(true);
        }
        Ok(store::first_of(&self.state.db, run.workflow_id).await? == Some(run.id))
    }

    /// Ends a run whose definition cannot be read, so that it does not block the others.
    async fn end_unreadable(&mut self, run: &Run) -> Result<(), Error> {
        const MESSAGE: &str = "its definition cannot be read by this version of the server; publish it again";
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let state = if run.state == State::Stopping { State::Stopped } else { State::Failed };
        store::end_run(&mut tx, run.id, state, Some(MESSAGE), self.state.clock.now_ms()).await?;
        tx.changed(PROGRESS, run.id.to_string());
        tx.commit().await?;
        self.share.changed();
        self.stale.extend(store::next_of(&self.state.db, &[run.workflow_id]).await?);
        Ok(())
    }

    async fn definition(&mut self, revision_id: i64) -> Result<Option<Arc<Known>>, Error> {
        if let Some(known) = self.definitions.get(&revision_id) {
            return Ok(Some(Arc::clone(known)));
        }
        if self.definitions.len() >= DEFINITIONS_KEPT {
            self.definitions.retain(|_, known| Arc::strong_count(known) > 1);
        }
        let Some(definition) = store::definition(&self.state.db, revision_id).await? else { return Ok(None) };
        let before = definition.before();
        let known = Arc::new(Known { definition: Arc::new(definition), before });
        self.definitions.insert(revision_id, Arc::clone(&known));
        Ok(Some(known))
    }

    /// Plans the runs of which something has changed, or has become due.
    fn plan(&mut self) {
        let now_ms = self.state.clock.now_ms();
        for active in self.runs.values_mut() {
            if !active.is_planned || active.next.at_ms.is_some_and(|at_ms| at_ms <= now_ms) {
                active.plan(now_ms);
            }
        }
        let later = |(id, active): (&i64, &Active)| Some((*id, active.goes_on_at_ms()?));
        let later = self.runs.iter().filter_map(later).filter(|(_, at_ms)| *at_ms > now_ms + LATER_MS);
        let later: Vec<(i64, i64)> = later.take(LATER_MAX.saturating_sub(self.later.len())).collect();
        for (id, at_ms) in later {
            self.runs.remove(&id);
            self.later.insert(id, at_ms);
        }
    }

    /// Stops the attempts of runs that must stop, and ends the runs with nothing left to do.
    async fn settle(&mut self) -> Result<(), Error> {
        let mut ended = Vec::new();
        for (id, active) in &self.runs {
            if active.run.state == State::Stopping {
                let tries = self.working().filter(|(_, working)| working.run_id == *id);
                tries.for_each(|(_, working)| working.cancelled.cancel());
                if !active.is_running() {
                    ended.push((Arc::clone(&active.run), State::Stopped));
                }
            } else if let Some(outcome) = active.next.outcome {
                ended.push((Arc::clone(&active.run), outcome));
            }
        }
        if ended.is_empty() { Ok(()) } else { self.end(ended).await }
    }

    async fn end(&mut self, runs: Vec<(Arc<Run>, State)>) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let mut others = Vec::new();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        for (run, state) in &runs {
            let message = match state {
                State::Failed => attempts::store::failure(&mut tx, run.id).await?.map(|(task, message)| {
                    let left = if run.strategy == Strategy::End { "; nothing more was begun" } else { "" };
                    shortened(&format!("the task {task} failed: {message}{left}"), MESSAGE_MAX_CHARS)
                }),
                _ => None,
            };
            if store::end_run(&mut tx, run.id, *state, message.as_deref(), now_ms).await? {
                tx.changed(PROGRESS, run.id.to_string());
            } else {
                // In between it ended, or a stop was requested.
                others.push(run.id);
            }
        }
        tx.commit().await?;
        failpoints::reach("runner.run_ended");
        let mut ended = HashSet::new();
        for (run, _) in runs {
            if others.contains(&run.id) {
                self.read_runs(&[run.id]).await?;
                continue;
            }
            self.runs.remove(&run.id);
            ended.insert(run.workflow_id);
        }
        // The run that has ended need not wait itself: its workflow may have been another one when it began.
        let ended: Vec<i64> = ended.into_iter().collect();
        let next = store::next_of(&self.state.db, &ended).await?;
        if !next.is_empty() {
            self.share.changed();
            self.stale.extend(next);
        }
        Ok(())
    }

    /// Starts ready tasks while slots are free.
    async fn begin(&mut self) -> Result<(), Error> {
        let chosen = self.chosen();
        self.is_idle = self.working().count() + chosen.len() < self.state.config.runner_tasks_at_once;
        self.ledger.expect_many(self.is_busy());
        if chosen.is_empty() {
            return Ok(());
        }
        self.share.has_begun();
        self.begin_tasks(chosen).await
    }

    /// The runs and tasks to be begun: by priority, then of older runs first.
    fn chosen(&self) -> Vec<(i64, usize)> {
        let mut busy: HashMap<i64, Busy> = HashMap::new();
        let mut free = self.state.config.runner_tasks_at_once;
        for (_, working) in self.working() {
            free = free.saturating_sub(1);
            let Some(datasource_id) = working.datasource_id else { continue };
            busy.entry(datasource_id).or_default().add(working.is_alone);
        }
        let lanes = self.runs.values().flat_map(|active| active.lanes.iter().map(move |lane| (active, lane)));
        let lanes: Vec<(&Active, &Lane)> = lanes.collect();
        let head = |number: usize, at: usize| {
            let (active, lane) = lanes[number];
            lane.head(active, at).map(|head| Reverse((head, number, at)))
        };
        let mut heads: BinaryHeap<_> = (0..lanes.len()).filter_map(|number| head(number, 0)).collect();
        let mut chosen = Vec::new();
        while chosen.len() < free
            && let Some(Reverse(((_, run_id, place), number, at))) = heads.pop()
        {
            let (_, lane) = lanes[number];
            if let Some(datasource_id) = lane.datasource_id {
                let busy = busy.entry(datasource_id).or_default();
                if busy.has_no_place(lane) {
                    // Nor is there one for those behind it.
                    continue;
                }
                busy.add(lane.is_alone);
            }
            chosen.push((run_id, place));
            heads.extend(head(number, at + 1));
        }
        chosen
    }

    /// Starts the next attempts of these tasks, all of them in one transaction.
    async fn begin_tasks(&mut self, chosen: Vec<(i64, usize)>) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let runs: BTreeSet<i64> = chosen.iter().map(|(run_id, _)| *run_id).collect();
        let runs: Vec<i64> = runs.into_iter().collect();
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let may_begin = store::begin_runs(&mut tx, &runs, now_ms).await?;
        self.stale.extend(runs.iter().filter(|run_id| !may_begin.contains(run_id)));
        let mut places = chosen;
        places.retain(|(run_id, _)| may_begin.contains(run_id));
        if places.is_empty() {
            return Ok(());
        }
        let task = |&(run_id, place): &(i64, usize)| {
            let task = &self.runs.get(&run_id)?.known.definition.tasks[place];
            Some(ToBegin { run_id, task_id: task.id, name: &task.name })
        };
        let tasks: Vec<ToBegin> = places.iter().filter_map(task).collect();
        let begun = attempts::store::begin(&mut tx, &tasks, now_ms).await?;
        let mut befores = Vec::with_capacity(begun.len());
        for (task, begun) in tasks.iter().zip(&begun) {
            befores.push(match begun.attempt {
                1 => None,
                attempt => attempts::store::before(&mut tx, task.run_id, task.task_id, attempt).await?,
            });
        }
        may_begin.iter().for_each(|run_id| tx.changed(PROGRESS, run_id.to_string()));
        tx.commit().await?;
        self.began = Instant::now();
        failpoints::reach("runner.task_claimed");
        for run_id in may_begin {
            if let Some(active) =
                self.runs.get_mut(&run_id).filter(|active| active.run.state == State::Queued)
            {
                Arc::make_mut(&mut active.run).has_begun(now_ms);
            }
        }
        for (((run_id, place), begun), before) in places.into_iter().zip(begun).zip(befores) {
            self.work_on(run_id, place, &begun, before, now_ms);
        }
        Ok(())
    }

    /// Works on an attempt that has begun.
    fn work_on(&mut self, run_id: i64, place: usize, begun: &Begun, before: Option<Before>, now_ms: i64) {
        let Some(active) = self.runs.get_mut(&run_id) else { return };
        let (run, definition) = (Arc::clone(&active.run), Arc::clone(&active.known.definition));
        let task = &definition.tasks[place];
        let mut log = Log::new(run.zone);
        log.line(now_ms, &format!("task {}, try {}", task.name, begun.attempt));
        match (before, run.retry_of) {
            (Some(before), _) => log.line(now_ms, &why_again(&before)),
            (None, Some(of)) => {
                let line = format!(
                    "the run {run_id} does again what the run {of} did, by the definition that is deployed now"
                );
                log.line(now_ms, &line);
            }
            (None, None) => {}
        }
        let standing = active.standings.entry(task.id).or_default();
        standing.is_running = true;
        let has_retries = standing.failures < i64::from(task.retries);
        active.is_planned = false;
        let cancelled = CancellationToken::new();
        let working = Working {
            run_id,
            task_id: task.id,
            datasource_id: task.datasource_id,
            is_alone: task.alone,
            cancelled: cancelled.clone(),
        };
        let work = Try {
            state: Arc::clone(&self.state),
            ledger: Arc::clone(&self.ledger),
            unrecorded: Arc::clone(&self.unrecorded),
            sources: Arc::clone(&self.sources),
            accesses: Arc::clone(&self.accesses),
            definition,
            run,
            place,
            id: begun.id,
            has_retries,
            log,
            stops: Stops { cancelled, halted: self.halted.clone() },
            has_only_read: false,
            accessed: None,
        };
        self.jobs.spawn(Job::Try(begun.id), Some(working), async { Done::Tried(work.run().await) });
    }
}

impl Busy {
    fn add(&mut self, is_alone: bool) {
        self.tasks += 1;
        self.has_one_alone |= is_alone;
    }

    /// SQLite allows one writer per file: a second one would only wait for the lock.
    fn has_no_place(&self, lane: &Lane) -> bool {
        let tasks_max = if lane.is_on_file { TASKS_PER_FILE } else { TASKS_PER_DATABASE };
        (lane.is_alone && self.has_one_alone) || self.tasks >= tasks_max
    }
}

/// The log line that explains another attempt.
fn why_again(before: &Before) -> String {
    let message = before.message.as_deref().unwrap_or_default();
    match before.state {
        _ if before.is_lost => format!(
            "begun again: {LOST}; that is no retry. After more than {LOSSES_MAX} times, over ten minutes or more, it fails"
        ),
        State::Failed => format!("tried again, for it failed before: {message}"),
        _ => "begun again".to_owned(),
    }
}
