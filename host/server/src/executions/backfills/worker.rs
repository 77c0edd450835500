//! The worker of backfills: one server, the holder of a lease, begins their runs and follows them. What was begun is a
//! row before the engine is called, under the key that the engine gets; so another server goes on where this one
//! stopped, and no date runs twice.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_store::jobs::{Jobs, Work};
use lakeport_store::{Event, Held, Tx};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::made::{self, Made};
use super::progress::{self, Outcome, Row};
use super::store::{self, Backfill, Begun, Ended, Maker, RunEnd, State};
use super::{CAUSE, TOPIC};
use crate::engines;
use crate::execution_records::Run;
use crate::executions::Executions;
use crate::executions::runs::{self, Start};
use crate::executions::watch::kept_message;
use crate::workflows;
use crate::workflows::forms::FailureStrategy;

/// The lease of the working server.
const LEASE: &str = "backfills";
/// The interval of trying to get it.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of looking at all runs; the change log tells of their ends earlier.
const POLL: Duration = Duration::from_secs(2);
/// The pause after a failed look.
const AGAIN: Duration = Duration::from_secs(1);
/// Backfills that have not ended; more are refused.
pub const OPEN_MAX: i64 = 1_000;
/// Ends of runs that are written together.
const ENDS_TOGETHER: usize = 200;
/// How often a run is begun that its engine does not take on.
const UNTAKEN_MAX: u32 = 3;
/// Starts and stops under way.
const CALLS_AT_ONCE: usize = 64;
/// The pause before a start is tried again while the engine is away: the first one, and the longest.
pub const RETRY_WAIT: Duration = Duration::from_millis(500);
pub const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);
/// The pause before a run is begun that waits for its turn. It waits as long as it takes.
const TURN_INTERVAL: Duration = Duration::from_secs(2);
/// How long one start is tried.
pub const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// The code of a workflow that is gone.
pub const NOT_DEPLOYED: &str = "not_deployed";

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

/// The outcome of a call.
pub enum Said {
    /// The engine makes all of it, under this code.
    Made(String),
    /// Its runs are begun here.
    Host,
    /// The engine has it under this key.
    Started(String),
    /// The engine was asked for it under this key, and its answer is not known: its watcher finds it, or ends it.
    Asked(String),
    /// It will not run, for this reason.
    Refused(Failure),
    /// Another run of its workflow, which allows one at a time, is active.
    NotYet,
    /// The engine was asked to stop it.
    Stopping,
    /// Nothing is known; look again.
    Open,
}

/// Why a run was not started.
#[derive(Clone)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

/// Who begins the dates of a backfill.
enum By {
    /// Its engine may be asked to.
    Undecided,
    Host,
    Engine {
        code: String,
        made: Made,
    },
}

/// A backfill that has not ended.
struct Active {
    backfill: Arc<Backfill>,
    by: By,
    is_stopping: bool,
    /// The first date that was not begun.
    next: usize,
    /// The dates in progress.
    lanes: BTreeMap<usize, Vec<Row>>,
    has_failed: bool,
    /// The workflow is not deployed any more.
    gives_up: bool,
    has_started: bool,
    /// Why the last run that was refused did not start.
    failure: Option<Failure>,
    /// What another server had begun, with its keys: whether the engine has it is not known.
    resumed: Vec<(usize, usize, String)>,
    /// Keys of runs whose ids in the engine are not known yet.
    unnamed: HashSet<String>,
    /// How often runs were begun that the engine did not take on, by date and workflow.
    untaken: HashMap<(usize, usize), u32>,
    /// When runs that wait for their turn are begun, by date and workflow.
    later: HashMap<(usize, usize), Instant>,
}

impl Active {
    fn new(backfill: Backfill, begun: Vec<Begun>) -> Active {
        let by = match (backfill.maker, &backfill.code) {
            (Maker::Engine, Some(code)) => By::Engine { code: code.clone(), made: Made::new(&begun) },
            _ if made::may_be(&backfill, !begun.is_empty()) => By::Undecided,
            _ => By::Host,
        };
        let begun = if matches!(by, By::Host) { begun } else { Vec::new() };
        let mut active = Active {
            by,
            is_stopping: backfill.state == State::Stopping,
            next: begun.iter().map(|one| one.position + 1).max().unwrap_or(0),
            has_failed: begun.iter().any(|one| one.state == "failed"),
            gives_up: false,
            has_started: backfill.code.is_some(),
            lanes: BTreeMap::new(),
            failure: None,
            resumed: Vec::new(),
            unnamed: HashSet::new(),
            untaken: HashMap::new(),
            later: HashMap::new(),
            backfill: Arc::new(backfill),
        };
        let workflows = active.backfill.steps.len();
        let known: HashSet<usize> = begun.iter().map(|one| one.position).collect();
        for one in begun {
            let rows = active.lanes.entry(one.position).or_insert_with(|| vec![Row::Waiting; workflows]);
            if let Some(row) = rows.get_mut(one.place) {
                *row = match one.state.as_str() {
                    "success" => Row::Success,
                    "failed" => Row::Failed,
                    "cancelled" => Row::Cancelled,
                    _ => {
                        active.resumed.push((one.position, one.place, one.key));
                        Row::Starting
                    }
                };
            }
        }
        // Of dates that begin together a later one may have been noted first.
        for position in 0..active.next {
            if !known.contains(&position) {
                active.lanes.insert(position, vec![Row::Waiting; workflows]);
            }
        }
        active.plan();
        active
    }

    /// Skips what will not run, ends dates, and begins others.
    fn plan(&mut self) {
        if !matches!(self.by, By::Host) {
            return;
        }
        let backfill = Arc::clone(&self.backfill);
        let (steps, strategy, is_stopping) = (&backfill.steps, backfill.strategy, self.is_stopping);
        let mut has_failed = self.has_failed;
        self.lanes.retain(|_, rows| {
            progress::skip(rows, steps, strategy, is_stopping);
            let outcome = progress::outcome(rows);
            has_failed |= outcome == Some(Outcome::Failed);
            outcome.is_none()
        });
        self.has_failed = has_failed;
        if !self.may_begin() {
            self.lanes.retain(|_, rows| rows.iter().any(|row| *row != Row::Waiting));
        }
        while self.begins_more() && self.lanes.len() < self.backfill.parallelism {
            self.lanes.insert(self.next, vec![Row::Waiting; steps.len()]);
            self.next += 1;
        }
    }

    /// Whether a date may still begin.
    fn may_begin(&self) -> bool {
        let ends = self.has_failed && self.backfill.strategy == FailureStrategy::End;
        !self.is_stopping && !self.gives_up && !ends
    }

    /// Whether further dates begin.
    fn begins_more(&self) -> bool {
        self.may_begin() && self.next < self.backfill.dates.len()
    }

    fn keys(&self) -> Vec<&str> {
        self.running().map(|(_, key)| key).collect()
    }

    /// The runs that are followed, by date and workflow.
    fn running(&self) -> impl Iterator<Item = ((usize, usize), &str)> {
        let rows = self.lanes.iter().flat_map(|(&position, rows)| {
            rows.iter().enumerate().map(move |(place, row)| ((position, place), row))
        });
        rows.filter_map(|(at, row)| Some((at, row.key()?)))
    }

    /// Whether a run that its engine did not take on is begun once more.
    fn begins_again(&self, at: (usize, usize)) -> bool {
        self.untaken.get(&at).copied().unwrap_or_default() + 1 < UNTAKEN_MAX
    }

    /// Notes ends, and ids in the engine.
    fn take_in(&mut self, news: &HashMap<&str, &RunEnd>) {
        let is_stopping = self.is_stopping;
        for (&position, rows) in &mut self.lanes {
            for (place, row) in rows.iter_mut().enumerate() {
                let Some(end) = row.key().and_then(|key| news.get(key)) else { continue };
                self.unnamed.remove(&end.key);
                if !end.has_ended {
                    self.has_started = true;
                } else if end.instance_id.is_some() {
                    *row = row_of(&end.state, is_stopping);
                    self.has_failed |= *row == Row::Failed;
                } else {
                    let tries = self.untaken.entry((position, place)).or_default();
                    *tries += 1;
                    *row = if *tries < UNTAKEN_MAX { Row::Waiting } else { Row::Failed };
                    self.has_failed |= *row == Row::Failed;
                    let message = end.message.clone().unwrap_or_default();
                    self.failure = Some(Failure { code: "engine_unreachable", message });
                }
            }
        }
    }

    /// The row of a date in progress.
    fn row(&mut self, position: usize, place: usize) -> Option<&mut Row> {
        self.lanes.get_mut(&position)?.get_mut(place)
    }

    /// How it ended, if it has.
    fn ended(&self) -> Option<State> {
        let dates = self.backfill.dates.len();
        match &self.by {
            By::Undecided => return None,
            By::Engine { made, .. } if !made.has_ended(dates, self.is_stopping) => return None,
            By::Engine { made, .. } => {
                return Some(match self.is_stopping {
                    true => State::Cancelled,
                    false if made.is_success(dates) => State::Success,
                    false => State::Failed,
                });
            }
            By::Host => {}
        }
        if !self.lanes.is_empty() || self.begins_more() {
            return None;
        }
        Some(match (self.is_stopping, self.has_failed) {
            (true, _) => State::Cancelled,
            (false, true) => State::Failed,
            (false, false) => State::Success,
        })
    }
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
            Ok(Said::Made(code)) => {
                active.has_started = true;
                active.by = By::Engine { code, made: Made::new(&[]) };
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
            Ok(Said::Stopping) => {}
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
                active.is_stopping = state == State::Stopping;
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
            let By::Engine { code, made } = &mut active.by else { continue };
            let backfill = &active.backfill;
            let runs = store::made_runs(&self.state.db, backfill.workflow_id, code).await?;
            let news = made.news(backfill, runs, active.is_stopping);
            if !news.is_empty() {
                let mut tx = self.state.db.begin().await?;
                tx.guard(&self.held).await?;
                made::write(&mut tx, backfill, &news).await?;
                tx.commit().await?;
            }
            made.take_in(news);
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
        let ended: Vec<(i64, State)> =
            self.active.iter().filter_map(|(id, active)| Some((*id, active.ended()?))).collect();
        for (id, state) in ended {
            let active = &self.active[&id];
            let failure = active.failure.as_ref().filter(|_| !active.has_started);
            let ended = Ended {
                state,
                error_code: failure.map(|failure| failure.code),
                message: active.failure.as_ref().map(|failure| failure.message.as_str()),
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
                By::Engine { code, .. } if active.is_stopping && is_idle(&self.jobs, Kind::Stop) => {
                    self.jobs.spawn(whole(Kind::Stop), (), call(0, 0).stop_made(code.clone()));
                }
                _ => {}
            }
            while !self.jobs.is_full()
                && let Some((position, place, key)) = active.resumed.pop()
            {
                let run = ((id, position, place), Kind::Start);
                self.jobs.spawn(run, (), call(position, place).start(Some(key)));
            }
            for (&position, rows) in &mut active.lanes {
                for place in progress::ready(rows, &active.backfill.steps) {
                    if self.jobs.is_full() {
                        return;
                    }
                    let later = active.later.get(&(position, place));
                    if later.is_some_and(|at| Instant::now() < *at) {
                        continue;
                    }
                    let call = Call { has_waited: later.is_some(), ..call(position, place) };
                    rows[place] = Row::Starting;
                    let run = ((id, position, place), Kind::Start);
                    self.jobs.spawn(run, (), call.start(None));
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

/// A run that was stopped by hand has failed.
pub fn row_of(state: &str, is_stopping: bool) -> Row {
    match state {
        "success" => Row::Success,
        "stopped" if is_stopping => Row::Cancelled,
        _ => Row::Failed,
    }
}

/// Tells the readers of a backfill.
pub fn announce(tx: &mut Tx, id: i64) {
    tx.changed(TOPIC, id.to_string());
}

/// A call about one run, or about all of them, to its engine.
pub struct Call {
    pub state: Arc<Executions>,
    held: Arc<Held>,
    halted: CancellationToken,
    pub backfill: Arc<Backfill>,
    position: usize,
    place: usize,
    /// It was not its turn before.
    has_waited: bool,
}

impl Call {
    /// Starts the run; while the engine is away, again and again. `key`: of a start whose outcome is not known.
    async fn start(self, key: Option<String>) -> Said {
        self.until_halted(self.try_start(key)).await
    }

    /// Asks the engine to make all of it; while the engine is away, again and again.
    async fn ask(self) -> Said {
        self.until_halted(self.try_ask()).await
    }

    async fn until_halted(&self, trying: impl Future<Output = Result<Said, Error>>) -> Said {
        match self.halted.run_until_cancelled(trying).await {
            None => Said::Open,
            Some(Ok(said)) => said,
            Some(Err(error)) => {
                tracing::warn!(backfill = self.backfill.id, "a run of a backfill is begun later: {error}");
                self.halted.run_until_cancelled(sleep(AGAIN)).await;
                Said::Open
            }
        }
    }

    /// Fails only if the server's own store fails.
    async fn try_start(&self, resumed: Option<String>) -> Result<Said, Error> {
        if let Some(key) = resumed {
            match self.state_of(&key).await? {
                Asked::Has(instance_id) => {
                    self.note_instance(&key, &instance_id).await?;
                    return Ok(Said::Started(key));
                }
                Asked::Unknown => return Ok(Said::Asked(key)),
                Asked::Not => {}
            }
        }
        // Asking the engine would be refused again.
        if self.has_waited && runs::store::has_open(&self.state.db, self.workflow_id()).await? {
            return Ok(Said::NotYet);
        }
        let give_up = Instant::now() + PATIENCE;
        let mut wait = RETRY_WAIT;
        loop {
            let Some(key) = self.begin().await? else { return Ok(Said::Open) };
            failpoints::reach("backfill.begun");
            let error = match self.started(&key).await {
                Ok(instance_id) => {
                    self.note_instance(&key, &instance_id).await?;
                    return Ok(Said::Started(key));
                }
                Err(error) => error,
            };
            if matches!(error, Error::Internal(_)) || ["lease_lost", "store_busy"].contains(&error.code()) {
                return Err(error);
            }
            match self.state_of(&key).await? {
                Asked::Has(_) | Asked::Unknown => return Ok(Said::Asked(key)),
                Asked::Not => {}
            }
            if engines::has_no_turn(&error) {
                self.write(async |tx| {
                    store::forget_run(tx, &key).await?;
                    runs::store::forget_unstarted(tx, &key).await
                })
                .await?;
                return Ok(Said::NotYet);
            }
            if !engines::is_momentary(&error) || Instant::now() + wait > give_up {
                let failure = Failure { code: error.code(), message: kept_message(error.message()) };
                let message = Some(failure.message.as_str());
                self.write(async |tx| store::end_run(tx, &key, "failed", message).await).await?;
                return Ok(Said::Refused(failure));
            }
            sleep(wait).await;
            wait = (wait * 2).min(RETRY_WAIT_MAX);
        }
    }

    /// Notes that the run begins, under a new key; `None`: the backfill is to stop.
    async fn begin(&self) -> Result<Option<String>, Error> {
        let key = Uuid::now_v7().simple().to_string();
        let (id, run) = (self.backfill.id, (self.position, self.place));
        let now = store::progress(&self.state.db, id).await?;
        let goes_on = now.is_some_and(|now| now.state == State::Running);
        self.write(async |tx| {
            store::begin(tx, id, run, &key).await?;
            if goes_on { Ok(()) } else { store::end_run(tx, &key, "cancelled", None).await }
        })
        .await?;
        Ok(goes_on.then_some(key))
    }

    async fn state_of(&self, key: &str) -> Result<Asked, Error> {
        let run = runs::store::find_by_key(&self.state.db, key).await?;
        Ok(match run {
            Some(Run { instance_id: Some(instance_id), .. }) => Asked::Has(instance_id),
            Some(run) if run.ended_at_ms.is_none() => Asked::Unknown,
            _ => Asked::Not,
        })
    }

    async fn started(&self, key: &str) -> Result<String, Error> {
        let workflow_id = self.workflow_id();
        let deployed = workflows::find_deployed(&self.state.db, workflow_id).await?;
        let not_there = || {
            let message = format!("the workflow {workflow_id} is not deployed any more");
            Error::conflict(NOT_DEPLOYED, message)
        };
        let deployed = deployed.ok_or_else(not_there)?;
        let start = Start {
            cause: CAUSE,
            business_time_ms: Some(self.backfill.dates[self.position]),
            failure_strategy: self.backfill.strategy.as_str(),
            part: None,
            guard: Some(&self.held),
        };
        runs::start_run(&self.state, &deployed, &start, Some(key.to_owned()), &self.id()).await
    }

    pub fn workflow_id(&self) -> i64 {
        self.backfill.steps[self.place].workflow_id
    }

    /// Of its calls, in logs.
    pub fn id(&self) -> String {
        format!("backfill-{}", self.backfill.id)
    }

    async fn note_instance(&self, key: &str, instance_id: &str) -> Result<(), Error> {
        let id = self.backfill.id;
        self.write(async |tx| {
            store::set_instance(tx, id, key, instance_id).await?;
            announce(tx, id);
            Ok(())
        })
        .await
    }

    /// Asks the engine to stop the run; it is asked again after a pause, until the run has ended.
    async fn stop(self, key: String) -> Said {
        let stopped = self.try_stop(&key).await;
        self.stopping(stopped).await
    }

    /// The same for all of it, which its engine makes.
    async fn stop_made(self, code: String) -> Said {
        let stopped = self.try_stop_made(&code).await;
        self.stopping(stopped).await
    }

    async fn stopping(&self, stopped: Result<(), Error>) -> Said {
        if let Err(error) = stopped {
            tracing::warn!(backfill = self.backfill.id, "a run of a backfill is stopped later: {error}");
        }
        self.halted.run_until_cancelled(sleep(POLL)).await;
        Said::Stopping
    }

    async fn try_stop(&self, key: &str) -> Result<(), Error> {
        let Some(run) = runs::store::find_by_key(&self.state.db, key).await? else { return Ok(()) };
        if run.instance_id.is_none() || run.ended_at_ms.is_some() {
            return Ok(());
        }
        let (client, Some(this)) = runs::at_engine(&self.state, &run, &self.id()).await? else {
            return Ok(());
        };
        runs::stop(&self.state, &run, &client, &this).await.map(drop)
    }

    /// One transaction under the lease.
    pub async fn write(&self, change: impl AsyncFnOnce(&mut Tx) -> Result<(), Error>) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        change(&mut tx).await?;
        tx.commit().await
    }
}

/// What is known of a start.
enum Asked {
    /// The engine has the run, under this id.
    Has(String),
    /// The engine was asked, and its answer is not known.
    Unknown,
    /// It was not asked, or refused.
    Not,
}
