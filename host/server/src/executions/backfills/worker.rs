//! The worker of backfills: one server, the holder of a lease, begins their runs and follows them. What was begun is a
//! row before the engine is called, under the key that the engine gets; so another server goes on where this one
//! stopped, and no date runs twice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_store::jobs::{Jobs, Work};
use lakeport_store::{Event, Held};
use tokio::task::JoinError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::active::{Active, By, row_of};
use super::calls::{Call, NOT_DEPLOYED, Said};
use super::made::{self, Made};
use super::progress::{self, Row};
use super::store::{self, Ended, RunEnd, State};
use super::{TOPIC, announce};
use crate::executions::Executions;
use crate::executions::runs;

/// The lease of the working server.
const LEASE: &str = "backfills";
/// The interval of trying to get it.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of looking at all runs; the change log tells of their ends earlier.
pub const POLL: Duration = Duration::from_secs(2);
/// The pause after a failure of the store.
pub const AGAIN: Duration = Duration::from_secs(1);
/// Backfills that have not ended; more are refused.
pub const OPEN_MAX: i64 = 1_000;
/// Ends of runs that are written together.
const ENDS_TOGETHER: usize = 200;
/// Calls under way, and starts of one backfill: these wait while its engine is away, and keep few others waiting.
const CALLS_AT_ONCE: usize = 1_024;
const STARTS_AT_ONCE: usize = 16;
/// The pause before a run is begun that waits for its turn. It waits as long as it takes.
const TURN_INTERVAL: Duration = Duration::from_secs(2);

/// Works until the server stops, while this server holds the lease.
pub async fn run_worker(state: Arc<Executions>) {
    let shift = |held| Shift::new(Arc::clone(&state), held);
    state.work_alone(LEASE, TOPIC, CLAIM_INTERVAL, shift).await;
}

/// The time during which this server holds the lease.
struct Shift {
    state: Arc<Executions>,
    held: Arc<Held>,
    active: BTreeMap<i64, Active>,
    jobs: Jobs<(RunPlace, Kind), (), Said>,
    /// Cancelled when no look follows, and as soon as the lease is lost.
    halted: CancellationToken,
}

/// A run of a backfill: its backfill, the position of its date, the place of its workflow.
type RunPlace = (i64, usize, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Asks the engine to make all of it.
    Ask,
    Start,
    Stop,
}

impl Shift {
    fn new(state: Arc<Executions>, held: Arc<Held>) -> Shift {
        let (active, jobs) = (BTreeMap::new(), Jobs::new(CALLS_AT_ONCE));
        let halted = held.lost().child_token();
        Shift { state, held, active, jobs, halted }
    }
}

impl Work for Shift {
    type Key = (RunPlace, Kind);
    type Job = ();
    type Outcome = Said;

    fn jobs(&mut self) -> &mut Jobs<(RunPlace, Kind), (), Said> {
        &mut self.jobs
    }

    async fn look(&mut self) -> Result<Duration, Error> {
        self.read().await?;
        self.follow().await?;
        self.end().await?;
        self.call();
        Ok(POLL)
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("the backfills failed, trying again: {error}");
        AGAIN
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, (run, kind): (RunPlace, Kind), (): (), said: Result<Said, JoinError>) {
        let (id, position, place) = run;
        let Some(active) = self.active.get_mut(&id) else { return };
        match said {
            Ok(Said::Host) => {
                active.by = By::Host;
                active.plan();
            }
            Ok(Said::Made { engine, code }) => {
                active.has_started = true;
                active.by = By::Engine(Made::new(engine, code, &[]));
            }
            Ok(Said::Refused(failure)) if kind == Kind::Ask => {
                (active.by, active.gives_up, active.has_failed) = (By::Host, true, true);
                active.failure = Some(failure);
            }
            Ok(Said::Started(key)) => {
                active.has_started = true;
                active.row(position, place).into_iter().for_each(|row| *row = Row::Running(key.clone()));
            }
            Ok(Said::Asked(key)) => {
                active.row(position, place).into_iter().for_each(|row| *row = Row::Running(key.clone()));
                active.unnamed.insert(key);
            }
            Ok(Said::Refused(failure)) => {
                active.gives_up |= place == 0 && failure.code == NOT_DEPLOYED;
                active.failure = Some(failure);
                active.has_failed = true;
                active.row(position, place).into_iter().for_each(|row| *row = Row::Failed);
            }
            Ok(Said::NotYet) => {
                active.row(position, place).into_iter().for_each(|row| *row = Row::Waiting);
                active.later.insert((position, place), Instant::now() + TURN_INTERVAL);
            }
            Ok(Said::Stopping) => {
                if let By::Engine(made) = &mut active.by {
                    made.was_stopped = true;
                }
            }
            // What is stored counts; it is read once its other calls have ended.
            Ok(Said::Open) | Err(_) if kind != Kind::Stop => _ = self.active.remove(&id),
            Ok(Said::Open) | Err(_) => {}
        }
    }

    fn halt(&mut self) {
        self.halted.cancel();
    }
}

impl Shift {
    /// Reads new backfills, and which are to stop.
    async fn read(&mut self) -> Result<(), Error> {
        let open = store::open(&self.state.db, OPEN_MAX).await?;
        for (id, state) in open {
            if let Some(active) = self.active.get_mut(&id) {
                let is_stopping = state == State::Stopping;
                if let (By::Engine(made), true) = (&mut active.by, is_stopping && !active.is_stopping) {
                    made.note_cancel();
                }
                active.is_stopping = is_stopping;
                continue;
            }
            // Calls of an earlier reading may still be under way.
            if self.jobs.iter().any(|((run, _), ())| run.0 == id) {
                continue;
            }
            let Some(backfill) = store::find(&self.state.db, id).await? else { continue };
            let begun = store::begun_of(&self.state.db, id, 0, usize::MAX).await?;
            self.active.insert(id, Active::new(backfill, begun));
        }
        Ok(())
    }

    /// Notes which runs have ended, and plans what follows.
    async fn follow(&mut self) -> Result<(), Error> {
        let keys: Vec<&str> = self.active.values().flat_map(Active::keys).collect();
        let runs = if keys.is_empty() { Vec::new() } else { store::runs(&self.state.db, &keys).await? };
        let unnamed: HashSet<&String> = self.active.values().flat_map(|active| &active.unnamed).collect();
        let is_news =
            |run: &RunEnd| run.has_ended || (run.instance_id.is_some() && unnamed.contains(&run.key));
        let news: Vec<RunEnd> = runs.into_iter().filter(is_news).collect();
        for some in news.chunks(ENDS_TOGETHER) {
            let some: HashMap<&str, &RunEnd> = some.iter().map(|run| (run.key.as_str(), run)).collect();
            self.write(&some).await?;
            self.active.values_mut().for_each(|active| active.take_in(&some));
        }
        self.follow_made().await?;
        self.active.values_mut().for_each(Active::plan);
        Ok(())
    }

    /// Notes the runs of backfills that engines make.
    async fn follow_made(&mut self) -> Result<(), Error> {
        for active in self.active.values_mut() {
            let By::Engine(made) = &mut active.by else { continue };
            let backfill = &active.backfill;
            let seen_ms = runs::store::seen_at(&self.state.db, &made.engine, backfill.workflow_id).await?;
            let runs =
                store::made_runs(&self.state.db, &made.engine, backfill.workflow_id, &made.code).await?;
            let news = made.news(backfill, runs, active.is_stopping);
            if !news.is_empty() {
                let mut tx = self.state.db.begin().await?;
                tx.guard(&self.held).await?;
                made::write(&mut tx, backfill, &news).await?;
                tx.commit().await?;
            }
            made.take_in(news, seen_ms);
        }
        Ok(())
    }

    async fn write(&self, news: &HashMap<&str, &RunEnd>) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        for (id, active) in &self.active {
            for (at, key) in active.running() {
                let Some(end) = news.get(key) else { continue };
                if let Some(instance_id) = &end.instance_id {
                    store::set_instance(&mut tx, *id, &end.key, instance_id).await?;
                    announce(&mut tx, *id);
                }
                if !end.has_ended || (end.instance_id.is_none() && active.begins_again(at)) {
                    continue;
                }
                let state = match row_of(&end.state, active.is_stopping) {
                    Row::Success => "success",
                    Row::Cancelled => "cancelled",
                    _ => "failed",
                };
                store::end_run(&mut tx, &end.key, state, end.message.as_deref()).await?;
            }
        }
        tx.commit().await?;
        failpoints::reach("backfill.run_ended");
        Ok(())
    }

    /// Ends backfills with nothing left to do.
    async fn end(&mut self) -> Result<(), Error> {
        let mut ended: Vec<(i64, State, Option<&str>)> =
            self.active.iter().filter_map(|(id, active)| Some((*id, active.ended()?, None))).collect();
        for (id, active) in &self.active {
            let By::Engine(made) = &active.by else { continue };
            let end = made.ended(active.backfill.dates.len(), active.is_stopping);
            ended.extend(end.map(|end| (*id, end.state, end.message)));
        }
        for (id, state, message) in ended {
            let active = &self.active[&id];
            let failure = active.failure.as_ref().filter(|_| !active.has_started);
            let ended = Ended {
                state,
                error_code: failure.map(|failure| failure.code),
                message: message.or(active.failure.as_ref().map(|failure| failure.message.as_str())),
            };
            let mut tx = self.state.db.begin().await?;
            tx.guard(&self.held).await?;
            store::end(&mut tx, id, &ended, self.state.clock.now_ms()).await?;
            announce(&mut tx, id);
            tx.commit().await?;
            failpoints::reach("backfill.ended");
            self.active.remove(&id);
        }
        Ok(())
    }

    /// Begins what can begin, and stops what is to stop.
    fn call(&mut self) {
        for (&id, active) in &mut self.active {
            let call = |position: usize, place: usize| Call {
                state: Arc::clone(&self.state),
                held: Arc::clone(&self.held),
                halted: self.halted.clone(),
                backfill: Arc::clone(&active.backfill),
                position,
                place,
                has_waited: false,
            };
            let whole = |kind: Kind| ((id, 0, 0), kind);
            let is_idle = |jobs: &Jobs<(RunPlace, Kind), (), Said>, kind| {
                !jobs.is_full() && !jobs.contains(&whole(kind))
            };
            match &active.by {
                By::Undecided if is_idle(&self.jobs, Kind::Ask) => {
                    self.jobs.spawn(whole(Kind::Ask), (), call(0, 0).ask());
                }
                By::Engine(made)
                    if made.is_to_stop(active.backfill.dates.len(), active.is_stopping)
                        && is_idle(&self.jobs, Kind::Stop) =>
                {
                    let stop = call(0, 0).stop_made(made.engine.clone(), made.code.clone(), made.running());
                    self.jobs.spawn(whole(Kind::Stop), (), stop);
                }
                _ => {}
            }
            let is_start = |((of, ..), kind): &(RunPlace, Kind)| (*of, *kind) == (id, Kind::Start);
            let mut starts = self.jobs.iter().filter(|(run, ())| is_start(run)).count();
            while starts < STARTS_AT_ONCE
                && !self.jobs.is_full()
                && let Some((position, place, key)) = active.resumed.pop()
            {
                let run = ((id, position, place), Kind::Start);
                self.jobs.spawn(run, (), call(position, place).start(Some(key)));
                starts += 1;
            }
            for (&position, rows) in &mut active.lanes {
                for place in progress::ready(rows, &active.backfill.steps) {
                    if starts >= STARTS_AT_ONCE || self.jobs.is_full() {
                        break;
                    }
                    let later = active.later.get(&(position, place));
                    if later.is_some_and(|at| Instant::now() < *at) {
                        continue;
                    }
                    let call = Call { has_waited: later.is_some(), ..call(position, place) };
                    rows[place] = Row::Starting;
                    let run = ((id, position, place), Kind::Start);
                    self.jobs.spawn(run, (), call.start(None));
                    starts += 1;
                }
                let running = rows.iter().enumerate().filter(|_| active.is_stopping);
                for (place, key) in running.filter_map(|(place, row)| Some((place, row.key()?))) {
                    let run = ((id, position, place), Kind::Stop);
                    if !self.jobs.is_full() && !self.jobs.contains(&run) {
                        self.jobs.spawn(run, (), call(position, place).stop(key.to_owned()));
                    }
                }
            }
        }
    }
}
