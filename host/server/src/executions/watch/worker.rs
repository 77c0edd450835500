//! The worker of each server: it watches every engine whose lease it gets. The engine inside this server wakes it by
//! the change log; others are asked again and again, often while something runs there, else now and then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_store::{Event, Held, Subscription, leases};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Watch;
use super::round::Round;
use crate::engines::{self, EngineClient};
use crate::executions::Executions;
use crate::executions::runs;
use crate::scheduler;

/// Between two looks for engines that nobody watches.
const CLAIM_INTERVAL: Duration = Duration::from_secs(5);
/// Between two looks at an engine where something runs.
const OPEN_INTERVAL: Duration = Duration::from_secs(1);
/// Between two looks at an engine where nothing runs.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
/// After a look that others got in the way of.
const AGAIN_INTERVAL: Duration = Duration::from_millis(50);
/// After a look that failed; twice as long after each further one.
const FAILED_INTERVAL: Duration = Duration::from_secs(1);
const FAILED_INTERVAL_MAX: Duration = Duration::from_secs(60);

/// Works until the server stops.
pub async fn run_worker(state: Arc<Executions>) {
    let mut changed = state.changes.subscribe(engines::TOPIC);
    let mut watchers = Watchers { state, watching: HashMap::new(), tasks: JoinSet::new() };
    loop {
        if let Err(error) = watchers.look().await {
            tracing::warn!("engines are not looked for at this moment: {error}");
        }
        tokio::select! {
            () = watchers.state.stopping.cancelled() => break,
            event = changed.next() => if event.is_none() { break },
            Some(ended) = watchers.tasks.join_next() => watchers.ended(ended),
            () = sleep(CLAIM_INTERVAL) => {}
        }
    }
    // Each sees for itself that the server stops, and gives its lease back.
    while watchers.tasks.join_next().await.is_some() {}
}

struct Watchers {
    state: Arc<Executions>,
    /// By engine.
    watching: HashMap<String, Watching>,
    tasks: JoinSet<String>,
}

/// One that is watched.
struct Watching {
    stop: CancellationToken,
    task: task::Id,
}

impl Watchers {
    /// Begins with engines that nobody watches, and ends with those that are there no more.
    async fn look(&mut self) -> Result<(), Error> {
        let names = engines::names(&self.state.db).await?;
        for (name, watching) in &self.watching {
            if !names.contains(name) {
                watching.stop.cancel();
            }
        }
        for name in names {
            if self.watching.contains_key(&name) {
                continue;
            }
            let lease = self.state.leases.claim(&format!("executions/{name}"), leases::TTL).await?;
            if let Some(lease) = lease {
                let stop = self.state.stopping.child_token();
                let watch = watch(Arc::clone(&self.state), name.clone(), lease.hold(), stop.clone());
                let task = self.tasks.spawn(watch).id();
                self.watching.insert(name, Watching { stop, task });
            }
        }
        Ok(())
    }

    fn ended(&mut self, ended: Result<String, JoinError>) {
        match ended {
            Ok(name) => drop(self.watching.remove(&name)),
            Err(error) => self.watching.retain(|_, watching| watching.task != error.id()),
        }
    }
}

/// Watches one engine while its lease is held.
async fn watch(state: Arc<Executions>, name: String, held: Held, stop: CancellationToken) -> String {
    let lost = held.lost();
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = lost.cancelled() => {}
        () = look_on(&state, &name, &held) => {}
    }
    if let Err(error) = held.release().await {
        tracing::debug!("the lease of an engine's watcher was not given back: {error}");
    }
    name
}

/// Ends when the engine is there no more.
async fn look_on(state: &Executions, name: &str, held: &Held) {
    let mut nudges = Nudges {
        asked: state.changes.subscribe(runs::TOPIC),
        ran: state.changes.subscribe(scheduler::TOPIC),
        name: name.to_owned(),
        is_local: false,
    };
    let mut failures = 0;
    loop {
        nudges.forget();
        match look(state, name, held, &mut nudges.is_local).await {
            Ok(None) => return,
            Ok(Some(round)) => {
                if failures > 0 {
                    tracing::info!(engine = name, "the engine is watched again");
                }
                failures = 0;
                let wait = match round {
                    Round::More => AGAIN_INTERVAL,
                    Round::Open => OPEN_INTERVAL,
                    Round::Idle => IDLE_INTERVAL,
                };
                tokio::select! {
                    () = nudges.next() => {}
                    () = sleep(wait) => {}
                }
            }
            Err(error) => {
                if failures == 0 {
                    tracing::warn!(engine = name, "the engine is not watched at this moment: {error}");
                }
                sleep(FAILED_INTERVAL.saturating_mul(1 << failures).min(FAILED_INTERVAL_MAX)).await;
                failures = (failures + 1).min(8);
            }
        }
    }
}

/// One look; none where the engine is there no more.
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

/// What is a reason to look at once.
struct Nudges {
    /// Runs that were asked for here.
    asked: Subscription,
    /// What the scheduler inside this server did.
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

    /// What was told before a look is seen by it.
    fn forget(&mut self) {
        while let Some(Some(_)) = self.asked.next().now_or_never() {}
        while let Some(Some(_)) = self.ran.next().now_or_never() {}
    }
}
