//! The worker of each server: it watches all engines whose lease it gets. The embedded scheduler wakes it
//! through the change log; other engines are polled, often while something is running there, otherwise
//! rarely.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held, Subscription};
use tokio::task::JoinError;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::Watch;
use super::records;
use super::round::Round;
use crate::engines::{self, EngineClient};
use crate::executions::Executions;
use crate::executions::runs;
use crate::plugins::ENGINE_CALL_CODES;
use crate::scheduler;
use crate::workflows::drift;

/// Engines that one server watches; more than are kept.
const ENGINES_AT_ONCE: usize = 1_000;
/// The interval of looking for unwatched engines.
const CLAIM_INTERVAL: Duration = Duration::from_secs(5);
/// The pause after a pass that collided with other writers.
const AGAIN_INTERVAL: Duration = Duration::from_millis(50);
/// The pause after a failed pass; doubled after each further one.
const FAILED_INTERVAL: Duration = Duration::from_secs(1);
const FAILED_INTERVAL_MAX: Duration = Duration::from_secs(60);

/// A look is noted in the store so often, and when its outcome changes.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// After a pass over the embedded scheduler's runs the watcher rests so many times as long as the pass took, but not longer
/// than this: a busy scheduler would have it look again at once, always.
const REST: u32 = 9;
const REST_MAX: Duration = Duration::from_secs(2);

/// Works until the server stops.
pub async fn run_worker(state: Arc<Executions>) {
    let (mut changed, stopping) = (state.changes.subscribe(engines::TOPIC), state.stopping.clone());
    let watchers = Watchers { state, jobs: Jobs::new(ENGINES_AT_ONCE) };
    jobs::run(watchers, &mut changed, stopping.cancelled()).await;
}

struct Watchers {
    state: Arc<Executions>,
    /// By engine, with what stops its watcher; the server does, too.
    jobs: Jobs<String, CancellationToken, ()>,
}

impl Work for Watchers {
    type Key = String;
    type Job = CancellationToken;
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<String, CancellationToken, ()> {
        &mut self.jobs
    }

    /// Starts watching unwatched engines, and stops watching deleted ones.
    async fn look(&mut self) -> Result<Duration, Error> {
        let names = engines::names(&self.state.db).await?;
        self.state.engines.forget_others(&names);
        for (name, stop) in self.jobs.iter() {
            if !names.contains(name) {
                stop.cancel();
            }
        }
        for name in names {
            if self.jobs.contains(&name) || self.jobs.is_full() {
                continue;
            }
            let stop = self.state.stopping.child_token();
            let lease = format!("executions/{name}");
            let (state, job) = (Arc::clone(&self.state), (name.clone(), stop.clone()));
            let watch = async move |held: Held| {
                let looking = async |held: &Held| {
                    tokio::select! {
                        () = look_on(&state, &name, held) => {}
                        never = drift::look_on(&state.core, &state.engines, &name, held) => match never {},
                    }
                };
                held.work(&stop, looking).await;
            };
            self.jobs.claim(&self.state.leases, &lease, job, watch).await?;
        }
        Ok(CLAIM_INTERVAL)
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("listing the engines failed, trying again: {error}");
        CLAIM_INTERVAL
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, _: String, _: CancellationToken, _: Result<(), JoinError>) {}
}

/// Ends when the engine is deleted.
async fn look_on(state: &Executions, name: &str, held: &Held) {
    let mut nudges = Nudges {
        asked: state.changes.subscribe(runs::TOPIC),
        ran: state.changes.subscribe_all(&scheduler::TOPICS),
        name: name.to_owned(),
        is_local: false,
    };
    let mut failures = 0;
    let mut noted = None;
    loop {
        nudges.forget();
        let begun = Instant::now();
        let looked = look(state, name, held, &mut nudges.is_local).await;
        match &looked {
            Ok(None | Some(Round::Wait { has_asked: false, .. })) => {}
            Ok(Some(_)) => note(state, name, None, &mut noted).await,
            Err(error) if ENGINE_CALL_CODES.contains(&error.code()) => {
                let message = records::kept_message(error.message());
                note(state, name, Some(message), &mut noted).await;
            }
            // The store failed, not the engine.
            Err(_) => {}
        }
        match looked {
            Ok(None) => return,
            Ok(Some(round)) => {
                if failures > 0 {
                    tracing::info!(engine = name, "the engine is watched again");
                }
                failures = 0;
                if nudges.is_local {
                    sleep((begun.elapsed() * REST).min(REST_MAX)).await;
                }
                let wait = match round {
                    Round::More => AGAIN_INTERVAL,
                    Round::Wait { wait, .. } => wait,
                };
                tokio::select! {
                    () = nudges.next() => {}
                    () = sleep(wait) => {}
                }
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(engine = name, "watching the engine failed, trying again: {error}");
                }
                sleep(FAILED_INTERVAL.saturating_mul(1 << failures).min(FAILED_INTERVAL_MAX)).await;
                failures = (failures + 1).min(8);
            }
        }
    }
}

/// The last note of a look: when, and what it said.
type Noted = Option<(Instant, Option<String>)>;

/// Notes a look in the store, if it says something else than the last note or that is old. Without a note the
/// engine is watched all the same.
async fn note(state: &Executions, name: &str, message: Option<String>, noted: &mut Noted) {
    let is_new = noted.as_ref().is_none_or(|(_, before)| before.is_some() != message.is_some());
    if !is_new && noted.as_ref().is_some_and(|(at, _)| at.elapsed() < NOTE_INTERVAL) {
        return;
    }
    let write = async {
        let mut tx = state.db.begin().await?;
        engines::store::note_look(&mut tx, name, state.clock.now_ms(), message.as_deref()).await?;
        if is_new {
            tx.changed(engines::TOPIC, name.to_owned());
        }
        tx.commit().await
    };
    match write.await {
        Ok(()) => *noted = Some((Instant::now(), message)),
        Err(error) => tracing::warn!(engine = name, "a look at the engine was not noted: {error}"),
    }
}

/// One pass; `None` if the engine was deleted.
async fn look(
    state: &Executions,
    name: &str,
    held: &Held,
    is_local: &mut bool,
) -> Result<Option<Round>, Error> {
    let Some(record) = engines::find(&state.db, name).await? else { return Ok(None) };
    *is_local = record.plugin == engines::LOCAL;
    let client = EngineClient::of(&state.engines, &record, "watch");
    let watch = Watch { state, record: &record, client: &client, held: Some(held) };
    watch.round().await.map(Some)
}

/// The events that cause an immediate pass.
struct Nudges {
    /// Runs requested here.
    asked: Subscription,
    /// Changes by the embedded scheduler.
    ran: Subscription,
    name: String,
    is_local: bool,
}

impl Nudges {
    async fn next(&mut self) {
        loop {
            tokio::select! {
                event = self.asked.next() => match event {
                    Some(Event::Changed(engine)) if *engine != *self.name => {}
                    Some(_) => return,
                    None => std::future::pending().await,
                },
                event = self.ran.next() => match event {
                    Some(_) if self.is_local => return,
                    Some(_) => {}
                    None => std::future::pending().await,
                },
            }
        }
    }

    /// The next pass sees all events so far.
    fn forget(&mut self) {
        while let Some(Some(_)) = self.asked.next().now_or_never() {}
        while let Some(Some(_)) = self.ran.next().now_or_never() {}
    }
}
