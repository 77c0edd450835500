//! The worker of each server: it starts due syncs, takes over running ones without a server, and stops cancelled ones.
//! When the server stops, it releases its leases; the rows stay `running` for the next server.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_base::failpoints;
use lakeport_base::time::MINUTE_MS;
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held};
use tokio::task::JoinError;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::TOPIC;
use super::read::{self, Stop};
use super::store::{self, Errors, State, Sync};
use crate::cron::Cron;
use crate::datasources::{self, Datasource};
use crate::sync::Syncs;

/// The interval of looking for due and orphaned syncs.
const POLL: Duration = Duration::from_secs(5);
/// The most concurrent syncs of one server.
const SYNCS_AT_ONCE: usize = 4;
/// The most syncs that one look starts by their crons.
const DUE_AT_ONCE: i64 = 100;
/// Times missed by more than this are not caught up.
const LATE_MAX_MS: i64 = MINUTE_MS;
/// The longest time that one attempt may take.
const SYNC_MAX: Duration = Duration::from_secs(3 * 3600);
/// The most consecutive attempts that the server's own store may fail.
const ATTEMPTS_MAX: u32 = 5;

/// Works until the server stops.
pub async fn run_worker(state: Arc<Syncs>) {
    let (mut changed, stopping) = (state.changes.subscribe(TOPIC), state.stopping.clone());
    let worker = Worker { state, jobs: Jobs::new(SYNCS_AT_ONCE), failed: HashMap::new() };
    jobs::run(worker, &mut changed, stopping.cancelled()).await;
}

struct Worker {
    state: Arc<Syncs>,
    /// By data source.
    jobs: Jobs<i64, Working, Outcome>,
    /// Syncs that the store failed, by id.
    failed: HashMap<i64, Failed>,
}

/// The attempts that the store failed, and the earliest time of the next one.
#[derive(Clone, Copy)]
struct Failed {
    attempts: u32,
    not_before: Instant,
}

/// A sync that this server runs.
struct Working {
    sync_id: i64,
    /// Also cancelled when the server stops.
    stop: CancellationToken,
}

impl Work for Worker {
    type Key = i64;
    type Job = Working;
    type Outcome = Outcome;

    fn jobs(&mut self) -> &mut Jobs<i64, Working, Outcome> {
        &mut self.jobs
    }

    /// Starts due syncs, and takes free ones.
    async fn look(&mut self) -> Result<Duration, Error> {
        let now_ms = self.state.clock.now_ms();
        let due = datasources::due(&self.state.db, now_ms, DUE_AT_ONCE).await?;
        for source in due {
            start_due(&self.state, &source, now_ms).await?;
        }
        let running = store::running(&self.state.db).await?;
        self.failed.retain(|id, _| running.iter().any(|sync| sync.id == *id));
        for sync in running {
            let may_again =
                self.failed.get(&sync.id).is_none_or(|failed| failed.not_before <= Instant::now());
            if may_again && !self.jobs.contains(&sync.datasource_id) && !self.jobs.is_full() {
                self.take(sync).await?;
            }
        }
        let next_ms = datasources::next_due(&self.state.db).await?;
        let in_ms = next_ms.map(|next| next.saturating_sub(self.state.clock.now_ms()).max(0) as u64);
        Ok(in_ms.map_or(POLL, Duration::from_millis).min(POLL))
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("looking for syncs failed, trying again: {error}");
        POLL
    }

    /// Stops the work on syncs that a request ended.
    async fn note(&mut self, event: Event) {
        for (_, working) in self.jobs.iter() {
            let is_meant = match &event {
                Event::Changed(key) => **key == *working.sync_id.to_string(),
                Event::Everything => true,
            };
            if !is_meant {
                continue;
            }
            match store::find(&self.state.db, working.sync_id).await {
                Ok(Some(sync)) if sync.state == State::Running => {}
                Ok(_) => working.stop.cancel(),
                // Its next batch checks it as well.
                Err(error) => tracing::warn!("whether a synchronization was cancelled is not known: {error}"),
            }
        }
    }

    fn done(&mut self, _: i64, working: Working, outcome: Result<Outcome, JoinError>) {
        if matches!(outcome, Ok(Outcome::Again)) {
            let attempts = self.failed.get(&working.sync_id).map_or(0, |failed| failed.attempts) + 1;
            self.failed.insert(working.sync_id, Failed { attempts, not_before: Instant::now() + POLL });
        }
    }
}

impl Worker {
    /// Runs a sync, unless another server does.
    async fn take(&mut self, sync: Sync) -> Result<(), Error> {
        let (datasource_id, sync_id) = (sync.datasource_id, sync.id);
        let name = format!("datasource_sync/{datasource_id}");
        let stop = self.state.stopping.child_token();
        let attempt = Attempt {
            state: Arc::clone(&self.state),
            sync,
            stop: stop.clone(),
            is_last: self.failed.get(&sync_id).is_some_and(|failed| failed.attempts + 1 >= ATTEMPTS_MAX),
        };
        let work = |held| {
            failpoints::reach("sync.claimed");
            attempt.run(held)
        };
        let job = (datasource_id, Working { sync_id, stop });
        self.jobs.claim(&self.state.leases, &name, job, work).await.map(drop)
    }
}

/// Advances the due time, and starts a sync unless one is running. Of several servers only one succeeds.
async fn start_due(state: &Syncs, source: &Datasource, now_ms: i64) -> Result<(), Error> {
    let cron = source.sync_cron.as_deref().and_then(|text| Cron::parse(text).ok());
    let next_ms = cron.and_then(|cron| cron.next_after(now_ms, state.config.time_zone));
    let mut tx = state.db.begin().await?;
    if !datasources::set_next(&mut tx, source, next_ms).await? {
        return Ok(());
    }
    let is_late = source.next_sync_at_ms.is_none_or(|due_ms| now_ms - due_ms > LATE_MAX_MS);
    if !is_late && let Some(sync_id) = store::start(&mut tx, source.id, now_ms).await? {
        tx.changed(TOPIC, sync_id.to_string());
    }
    tx.commit().await
}

/// One attempt at a sync.
struct Attempt {
    state: Arc<Syncs>,
    sync: Sync,
    stop: CancellationToken,
    /// The last attempt: the store has failed too often.
    is_last: bool,
}

/// The end of an attempt.
enum Outcome {
    /// A request ended it, or another server continues it.
    Left,
    Ended(State),
    /// The store failed.
    Again,
}

impl Attempt {
    async fn run(self, held: Held) -> Outcome {
        let (datasource_id, sync_id) = (self.sync.datasource_id, self.sync.id);
        let outcome = held.work(&self.stop, async |held| self.work(held).await).await;
        let outcome = outcome.unwrap_or(Outcome::Left);
        if let Outcome::Ended(state) = &outcome {
            tracing::info!(datasource_id, sync_id, ?state, "the tables of a data source were read in");
        }
        outcome
    }

    async fn work(&self, held: &Held) -> Outcome {
        let mut errors = Errors::default();
        let reading = AssertUnwindSafe(self.read(held, &mut errors)).catch_unwind();
        let failed = match timeout(SYNC_MAX, reading).await {
            Ok(Ok(Ok(()))) => None,
            Ok(Ok(Err(Stop::Ended))) => return Outcome::Left,
            Ok(Ok(Err(Stop::Store(error)))) if error.code() == "lease_lost" => return Outcome::Left,
            Ok(Ok(Err(Stop::Store(error)))) => {
                tracing::warn!(sync_id = self.sync.id, "what was read in was not written: {error}");
                if !self.is_last {
                    return Outcome::Again;
                }
                Some("the server could not write what it found; its log has the reason".to_owned())
            }
            Ok(Ok(Err(Stop::Failed(message)))) => Some(message),
            Ok(Ok(Err(Stop::Unanswered(error)))) => Some(Error::from(error).message().to_owned()),
            Ok(Err(_)) => Some(FAILED.to_owned()),
            Err(_) => Some(format!("it was not done after {SYNC_MAX:?}")),
        };
        let state = if failed.is_some() { State::Failed } else { State::Success };
        if let Some(message) = failed {
            errors.put_first(&message);
        }
        match self.end(held, state, &errors).await {
            Ok(()) => Outcome::Ended(state),
            Err(error) => {
                tracing::warn!(
                    sync_id = self.sync.id,
                    "the end of a synchronization was not written: {error}"
                );
                Outcome::Again
            }
        }
    }

    async fn read(&self, held: &Held, errors: &mut Errors) -> Result<(), Stop> {
        let source = datasources::find(&self.state.db, self.sync.datasource_id).await?;
        let source = source.ok_or(Stop::Ended)?;
        read::read_in(&self.state, &source, &self.sync, held, errors).await
    }

    async fn end(&self, held: &Held, state: State, errors: &Errors) -> Result<(), Error> {
        let now_ms = self.state.clock.now_ms();
        let mut tx = self.state.db.begin().await?;
        tx.guard(held).await?;
        // In the order in which a start takes them: the data source, then its synchronization.
        datasources::lock(&mut tx, self.sync.datasource_id).await?;
        if !store::end(&mut tx, self.sync.id, state, errors, now_ms).await? {
            return Ok(());
        }
        if state == State::Success {
            datasources::set_last_sync(&mut tx, self.sync.datasource_id, now_ms).await?;
            tx.changed(datasources::TOPIC, self.sync.datasource_id.to_string());
        }
        tx.changed(TOPIC, self.sync.id.to_string());
        tx.commit().await?;
        failpoints::reach("sync.ended");
        Ok(())
    }
}
