//! The loop of a worker, and the jobs that it works on.

use std::collections::HashMap;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use tokio::task::{self, JoinError, JoinSet};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::{Event, Held, Leases, Subscription, leases};

/// What a worker does otherwise than the others.
pub trait Work {
    /// Names a job.
    type Key: Eq + Hash + Clone;
    /// What is remembered of a job while it is worked on.
    type Job;
    /// What a job returns.
    type Outcome: Send + 'static;

    fn jobs(&mut self) -> &mut Jobs<Self::Key, Self::Job, Self::Outcome>;

    /// Begins all that can be begun now. Returns when to look again if nothing happens until then.
    fn look(&mut self) -> impl Future<Output = Result<Duration, Error>> + Send;

    /// A look failed. Returns when to look again.
    fn failed(&mut self, error: &Error) -> Duration;

    /// The change log has told of something; a look follows.
    fn note(&mut self, event: Event) -> impl Future<Output = ()> + Send;

    /// A job has ended; a look follows. The outcome is an error where it panicked.
    fn done(&mut self, key: Self::Key, job: Self::Job, outcome: Result<Self::Outcome, JoinError>);

    /// No look follows. The jobs see for themselves that the server stops, or are told here.
    fn halt(&mut self) {}
}

/// The jobs in progress of a worker, each in a task of its own.
pub struct Jobs<K, J, O> {
    at_most: usize,
    working: HashMap<K, J>,
    keys: HashMap<task::Id, K>,
    tasks: JoinSet<O>,
}

impl<K: Eq + Hash + Clone, J, O: Send + 'static> Jobs<K, J, O> {
    pub fn new(at_most: usize) -> Jobs<K, J, O> {
        Jobs { at_most, working: HashMap::new(), keys: HashMap::new(), tasks: JoinSet::new() }
    }

    pub fn is_full(&self) -> bool {
        self.room() == 0
    }

    /// How many more may begin.
    pub fn room(&self) -> usize {
        self.at_most.saturating_sub(self.working.len())
    }

    pub fn contains(&self, key: &K) -> bool {
        self.working.contains_key(key)
    }

    pub fn get(&self, key: &K) -> Option<&J> {
        self.working.get(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&K, &J)> {
        self.working.iter()
    }

    /// Works on a job that is this server's. Its key is none that is worked on already.
    pub fn spawn(&mut self, key: K, job: J, work: impl Future<Output = O> + Send + 'static) {
        let task = self.tasks.spawn(work).id();
        self.keys.insert(task, key.clone());
        let before = self.working.insert(key, job);
        debug_assert!(before.is_none(), "a job is worked on twice");
    }

    /// Works on a job under the lease of this name; false where another server does.
    pub async fn claim<W: Future<Output = O> + Send + 'static>(
        &mut self,
        leases: &Leases,
        lease: &str,
        (key, job): (K, J),
        work: impl FnOnce(Held) -> W,
    ) -> Result<bool, Error> {
        let Some(lease) = leases.claim(lease, leases::TTL).await? else { return Ok(false) };
        self.spawn(key, job, work(lease.hold()));
        Ok(true)
    }

    /// The next that has ended; none where none is worked on.
    async fn next(&mut self) -> Option<(K, J, Result<O, JoinError>)> {
        let done = self.tasks.join_next_with_id().await?;
        Some(self.remove(done))
    }

    fn remove(&mut self, done: Result<(task::Id, O), JoinError>) -> (K, J, Result<O, JoinError>) {
        let (task, outcome) = match done {
            Ok((task, outcome)) => (task, Ok(outcome)),
            Err(error) => (error.id(), Err(error)),
        };
        let key = self.keys.remove(&task).expect("every task has its job");
        let job = self.working.remove(&key).expect("every job is there until its task is done");
        (key, job, outcome)
    }
}

/// Works until `stop` resolves or the change log ends, then waits for the jobs.
pub async fn run<W: Work>(mut work: W, changed: &mut Subscription, stop: impl Future<Output = ()>) {
    let mut stop = pin!(stop);
    loop {
        let wait = match work.look().await {
            Ok(wait) => wait,
            Err(error) => work.failed(&error),
        };
        tokio::select! {
            biased;
            () = &mut stop => break,
            Some((key, job, outcome)) = work.jobs().next() => work.done(key, job, outcome),
            event = changed.next() => match event {
                Some(event) => work.note(event).await,
                None => break,
            },
            () = sleep(wait) => {}
        }
        // What else has come meanwhile costs one look, not one each.
        while let Some(Some(event)) = changed.next().now_or_never() {
            work.note(event).await;
        }
        while let Some(Some((key, job, outcome))) = work.jobs().next().now_or_never() {
            work.done(key, job, outcome);
        }
    }
    work.halt();
    while work.jobs().next().await.is_some() {}
}

/// Works under one lease, whatever the jobs, until it is lost or `stop` is cancelled; then it gives the lease back.
pub async fn run_under<W: Work>(
    held: Held,
    work: impl FnOnce(Arc<Held>) -> W,
    changed: &mut Subscription,
    stop: &CancellationToken,
) {
    let held = Arc::new(held);
    run(work(Arc::clone(&held)), changed, held.lost_or(stop)).await;
    if let Some(held) = Arc::into_inner(held) {
        held.give_back().await;
    }
}
