//! The worker: it begins the questions that wait, as many at once as the setting says, and goes on with those whose
//! server is gone.
//!
//! A server works under one lease, whatever it works on: a task names the lease and its epoch, and one whose epoch
//! nobody holds any more belongs to whoever takes it. What is written of a task says under which epoch, so that
//! who lost it can write nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_store::{Event, Held, Subscription, leases};
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::{Instant, sleep};

use super::access::{Asked, TopicAccess};
use super::steps::model::Conversation;
use super::steps::tools::PluginTools;
use super::steps::{Bounds, Failure, Run, Stops};
use super::tasks::store::{self, Worker};
use super::tasks::{Status, Task, streams};
use super::{TOPIC, asked_of_key};
use crate::agent::Agent;

/// The leases are `agent/0`, `agent/1` …: one for each server.
const LEASE: &str = "agent/";
/// Servers on one store that work.
const WORKERS_MAX: usize = 64;
/// Between two attempts to get a lease.
const CLAIM_INTERVAL: Duration = Duration::from_secs(2);
/// Between two looks for what nobody told of.
const POLL: Duration = Duration::from_secs(3);
/// After the store failed.
const AGAIN: Duration = Duration::from_millis(500);
/// A task whose servers end so often may be what ends them.
const CLAIMS_MAX: i64 = 5;

/// Works, and wakes the readers of streams, until the server stops.
pub async fn run_worker(state: Arc<Agent>) {
    tokio::join!(streams::follow(Arc::clone(&state)), work(state));
}

async fn work(state: Arc<Agent>) {
    let mut changed = state.changes.subscribe(TOPIC);
    while !state.stopping.is_cancelled() {
        match claim_lease(&state).await {
            Ok(Some(held)) => Shift::new(Arc::clone(&state), held).work(&mut changed).await,
            Ok(None) => tracing::warn!("{WORKERS_MAX} servers answer questions already; this one waits"),
            Err(error) => tracing::warn!("no questions are answered at this moment: {error}"),
        }
        state.stopping.run_until_cancelled(sleep(CLAIM_INTERVAL)).await;
    }
}

/// The first lease that no other server holds.
async fn claim_lease(state: &Agent) -> Result<Option<Held>, Error> {
    for place in 0..WORKERS_MAX {
        if let Some(lease) = state.leases.claim(&format!("{LEASE}{place}"), leases::TTL).await? {
            return Ok(Some(lease.hold()));
        }
    }
    Ok(None)
}

/// The time during which this server holds its lease.
struct Shift {
    state: Arc<Agent>,
    held: Held,
    worker: Worker,
    running: JoinSet<(i64, Result<(), Error>)>,
    /// By the tasks' numbers.
    working: HashMap<i64, Working>,
    /// There may be tasks whose worker is gone.
    is_unsure: bool,
    next_poll: Instant,
    halted: tokio_util::sync::CancellationToken,
}

/// A task that is worked on.
struct Working {
    /// What works on it here.
    by: task::Id,
    task_id: String,
    stops: Stops,
    /// The same for what runs outside of the runtime.
    flag: Arc<AtomicBool>,
}

impl Working {
    fn cancel(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.stops.cancelled.cancel();
    }
}

impl Shift {
    fn new(state: Arc<Agent>, held: Held) -> Shift {
        let worker = Worker { name: held.name().to_owned(), epoch: held.epoch() };
        Shift {
            state,
            held,
            worker,
            running: JoinSet::new(),
            working: HashMap::new(),
            is_unsure: true,
            next_poll: Instant::now() + POLL,
            halted: tokio_util::sync::CancellationToken::new(),
        }
    }

    async fn work(mut self, changed: &mut Subscription) {
        let (lost, stopping) = (self.held.lost(), self.state.stopping.clone());
        loop {
            let wait = match self.look().await {
                Ok(()) => self.next_poll.saturating_duration_since(Instant::now()),
                Err(error) => {
                    tracing::warn!("questions could not be looked after at this moment: {error}");
                    self.is_unsure = true;
                    AGAIN
                }
            };
            tokio::select! {
                biased;
                () = lost.cancelled() => break,
                () = stopping.cancelled() => break,
                Some(done) = self.running.join_next() => self.done(done),
                event = changed.next() => match event {
                    Some(event) => self.note(event).await,
                    None => break,
                },
                () = sleep(wait) => {}
            }
            // What else has come meanwhile costs one look, not one each.
            while let Some(Some(event)) = changed.next().now_or_never() {
                self.note(event).await;
            }
            while let Some(done) = self.running.try_join_next() {
                self.done(done);
            }
        }
        self.stop().await;
    }

    /// Leaves everything as it is stored, for whoever goes on.
    async fn stop(mut self) {
        self.halted.cancel();
        self.working.values().for_each(|working| working.flag.store(true, Ordering::Relaxed));
        while self.running.join_next().await.is_some() {}
        if let Err(error) = self.held.release().await {
            tracing::debug!("the agent's lease was not given back: {error}");
        }
    }

    /// Suspends what was cancelled. Events of steps are for readers alone.
    async fn note(&mut self, event: Event) {
        let asked = match &event {
            Event::Changed(key) => match asked_of_key(key) {
                Some(task_id) => Some(task_id),
                None => return,
            },
            Event::Everything => None,
        };
        let of = |working: &Working| asked.is_none_or(|task_id| working.task_id == task_id);
        let ids: Vec<i64> =
            self.working.iter().filter(|(_, working)| of(working)).map(|(id, _)| *id).collect();
        for id in ids {
            self.check(id).await;
        }
    }

    /// Stops the work on a task that does not run any more.
    async fn check(&self, id: i64) {
        let Some(working) = self.working.get(&id) else { return };
        match store::progress(&self.state.db, id).await {
            Ok(Some((Status::Running, _))) => {}
            Ok(_) => working.cancel(),
            // It is looked at again with the next poll.
            Err(error) => tracing::warn!("a question cannot be looked at at this moment: {error}"),
        }
    }

    fn done(&mut self, done: Result<(i64, Result<(), Error>), JoinError>) {
        match done {
            Ok((id, outcome)) => {
                self.working.remove(&id);
                if let Err(error) = outcome {
                    tracing::error!("the steps of a question cannot be stored: {error}");
                    self.is_unsure = true;
                }
            }
            // It is begun again as one that nobody works on, until it has ended so too often.
            Err(error) => {
                tracing::error!("a question ended without an outcome: {error}");
                self.working.retain(|_, working| working.by != error.id());
                self.is_unsure = true;
            }
        }
    }

    /// Begins all that can be begun now.
    async fn look(&mut self) -> Result<(), Error> {
        if self.next_poll <= Instant::now() {
            self.next_poll = Instant::now() + POLL;
            self.is_unsure = true;
            let ids: Vec<i64> = self.working.keys().copied().collect();
            for id in ids {
                self.check(id).await;
            }
        }
        if self.is_unsure {
            self.take_over().await?;
            self.is_unsure = false;
        }
        while self.has_room() {
            let Some(id) = store::next_waiting(&self.state.db).await? else { break };
            self.claim(id, None).await?;
        }
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.working.len() < self.state.config.agent.tasks_at_once
    }

    /// Goes on with tasks that run and that nobody works on.
    async fn take_over(&mut self) -> Result<(), Error> {
        let running = store::running(&self.state.db).await?;
        if running.iter().all(|(id, _)| self.working.contains_key(id)) {
            return Ok(());
        }
        let held = self.state.leases.held(LEASE).await?;
        for (id, worker) in running {
            let is_mine = worker == self.worker;
            let is_alive = held.iter().any(|(name, epoch)| *name == worker.name && *epoch == worker.epoch);
            if self.working.contains_key(&id) || (is_alive && !is_mine) {
                continue;
            }
            if !self.has_room() {
                break;
            }
            tracing::info!(task = id, "goes on with a question whose server ended");
            self.claim(id, Some(&worker)).await?;
        }
        Ok(())
    }

    /// Makes a task this server's, and works on it.
    async fn claim(&mut self, id: i64, from: Option<&Worker>) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        let claimed = store::claim(&mut tx, id, from, &self.worker, self.state.clock.now_ms()).await?;
        let Some(task) = claimed else { return Ok(()) };
        tx.commit().await?;
        failpoints::reach("agent.task_claimed");
        let stops = Stops { halted: self.halted.clone(), ..Stops::default() };
        let flag = Arc::new(AtomicBool::new(false));
        let task_id = task.task_id.clone();
        let (state, worker) = (Arc::clone(&self.state), self.worker.clone());
        let answering = answer(state, worker, task, stops.clone(), Arc::clone(&flag));
        let by = self.running.spawn(async move { (id, answering.await) }).id();
        self.working.insert(id, Working { by, task_id, stops, flag });
        Ok(())
    }
}

/// Works on a task from its last stored step on.
async fn answer(
    state: Arc<Agent>,
    worker: Worker,
    task: Task,
    stops: Stops,
    flag: Arc<AtomicBool>,
) -> Result<(), Error> {
    let steps = if task.last_seq == 0 { Some(Vec::new()) } else { store::steps(&state.db, task.id).await? };
    let failure = interruption(&task, steps.is_some());
    let conversation = Arc::new(Conversation::new(&task.content, steps.unwrap_or_default()));
    let asked = Asked {
        task_id: task.task_id.clone(),
        caller_name: task.asked_by.clone(),
        datasources: task.rights(),
        cancelled: Arc::clone(&flag),
    };
    let tools = PluginTools {
        client: TopicAccess::new(Arc::clone(&state), asked),
        task_id: task.task_id.clone(),
        topic_id: task.topic_id.clone(),
        question: task.content.clone(),
        language: conversation.language,
        cancelled: flag,
        state: Arc::clone(&state),
    };
    let agent = &state.config.agent;
    let mut run = Run {
        db: state.db.clone(),
        clock: state.clock.clone(),
        task,
        worker,
        conversation,
        model: state.model(),
        tools: Arc::new(tools),
        bounds: Bounds { steps_max: agent.steps_max, timeout: agent.task_timeout },
        stops,
        unstored: Vec::new(),
    };
    match failure {
        Some(failure) => run.end_with(failure).await,
        None => run.run().await,
    }
}

/// Why a task cannot go on, if it cannot.
fn interruption(task: &Task, is_readable: bool) -> Option<Failure> {
    let message = if task.claims > CLAIMS_MAX {
        "the servers that worked on it ended again and again; ask again"
    } else if !is_readable {
        "its server ended, and this version cannot go on where it was; ask again"
    } else {
        return None;
    };
    Some(Failure::interrupted(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(claims: i64) -> Task {
        Task {
            id: 1,
            task_id: "t".to_owned(),
            topic: 1,
            topic_id: "p".to_owned(),
            owner: "local".to_owned(),
            topic_datasources: None,
            status: Status::Running,
            content: "q".to_owned(),
            asked_by: "local".to_owned(),
            datasources: None,
            provider: "offline".to_owned(),
            model: "offline".to_owned(),
            usage: Default::default(),
            error: None,
            last_seq: 0,
            claims,
            created_at_ms: 0,
            started_at_ms: None,
            finished_at_ms: None,
        }
    }

    #[test]
    fn a_task_whose_servers_end_again_and_again_is_given_up() {
        assert!(interruption(&task(CLAIMS_MAX), true).is_none());
        assert_eq!(interruption(&task(CLAIMS_MAX + 1), true).unwrap().code, "interrupted");
        assert_eq!(interruption(&task(1), false).unwrap().code, "interrupted");
    }

    #[test]
    fn rights_are_what_the_topic_may_touch_and_whoever_asks_may_read() {
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        for (topic, bound, rights) in [
            (None, None, None),
            (names(&["a"]), None, names(&["a"])),
            (None, names(&["a", "b"]), names(&["a", "b"])),
            (names(&["a", "c"]), names(&["a", "b"]), names(&["a"])),
            (names(&["c"]), names(&["a"]), names(&[])),
        ] {
            let task = Task { topic_datasources: topic, datasources: bound, ..task(1) };
            assert_eq!(task.rights(), rights);
        }
    }
}
