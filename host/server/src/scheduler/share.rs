//! Several servers on one store share its runs. Each marks those that it works on, a few at a time while it has free places.
//! The mark counts as long as the server's lease: what a dead server had is free again. On a store of one server all runs
//! are its own, and none is marked.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_store::{Db, Held, Leases};
use tokio::time::Instant;

use super::store::{self, Run};
use super::{FREED, TOPIC};

/// The start of the name of a worker's lease on a shared store; the rest is the name of its server.
const LEASE: &str = "runner/";
/// The lease of the only worker.
const ONLY_LEASE: &str = "runner";
/// The pause between two looks for dead servers, and for runs that no event announced.
const LOOK: Duration = Duration::from_secs(2);
/// The most runs that are marked at once while other workers live: these want some too. And so many of a workflow's that
/// cannot begin here are enough.
const PORTION: usize = 8;
/// The pause after such a portion of which none could begin.
const AGAIN: Duration = Duration::from_millis(50);
/// A server that is alone marks fewer only if there are no more.
const PORTION_ALONE: usize = 100;
/// The most runs that have begun, or must stop, marked at once.
const URGENT: usize = 256;

pub struct Share {
    db: Db,
    leases: Leases,
    held: Arc<Held>,
    /// The mark; `None` on a store of one server.
    worker: Option<String>,
    /// The other workers that live.
    others: usize,
    next_look: Instant,
    next_portion: Instant,
    /// There may be runs without a mark.
    may_be_free: bool,
    /// There may be such runs that have begun, or must stop.
    may_be_urgent: bool,
    /// Runs of some workflows were left to others.
    has_left_out: bool,
    /// Other workers have come: they want a part of what this one has.
    owes: bool,
}

/// The name of the lease under which this server works.
pub fn lease(db: &Db, leases: &Leases) -> String {
    if db.is_shared() { format!("{LEASE}{}", leases.owner()) } else { ONLY_LEASE.to_owned() }
}

impl Share {
    pub fn new(db: Db, leases: Leases, held: Arc<Held>) -> Share {
        let worker = db.is_shared().then(|| leases.owner().to_owned());
        let now = Instant::now();
        let (next_look, next_portion) = (now, now);
        Share {
            db,
            leases,
            held,
            worker,
            others: 0,
            next_look,
            next_portion,
            may_be_free: true,
            may_be_urgent: true,
            has_left_out: false,
            owes: false,
        }
    }

    pub fn worker(&self) -> Option<&str> {
        self.worker.as_deref()
    }

    pub fn has(&self, run: &Run) -> bool {
        self.worker.is_none() || run.worker == self.worker
    }

    /// Some run has changed, and it is not known whose it is.
    pub fn changed(&mut self) {
        (self.may_be_free, self.may_be_urgent) = (true, true);
    }

    /// A task has begun: further runs may be marked at once.
    pub fn has_begun(&mut self) {
        self.next_portion = Instant::now();
    }

    /// A task has ended: what could not begin before may now.
    pub fn has_ended(&mut self) {
        self.may_be_free |= std::mem::take(&mut self.has_left_out);
    }

    /// There are more runs that have begun, or must stop, than were taken at once.
    pub fn is_urgent(&self) -> bool {
        self.worker.is_some() && self.may_be_urgent
    }

    /// How long nothing need be done here; `None`: on a store of one server. For the arguments see [`Share::portion`].
    pub fn pause(&self, room: usize, is_idle: bool) -> Option<Duration> {
        self.worker.as_ref()?;
        let waits = is_idle && room > 0 && self.may_be_free && self.others > 0;
        let next = if waits { self.next_look.min(self.next_portion) } else { self.next_look };
        Some(next.saturating_duration_since(Instant::now()))
    }

    /// At intervals, sees who lives, and frees what dead servers had. True: others may begin sooner what this server, with or
    /// without a free place, has not begun.
    pub async fn look(&mut self, has_free_place: bool) -> Result<bool, Error> {
        let Some(worker) = &self.worker else { return Ok(false) };
        if self.next_look > Instant::now() {
            return Ok(false);
        }
        self.next_look = Instant::now() + LOOK;
        let held = self.leases.held(LEASE).await?;
        let living: Vec<&str> = held.iter().filter_map(|(name, _)| name.strip_prefix(LEASE)).collect();
        let others = living.iter().filter(|name| **name != worker.as_str()).count();
        self.owes |= others > self.others;
        self.others = others;
        // A failure of this must not keep the work waiting.
        if let Err(error) = self.free_dead(&living).await {
            tracing::warn!("freeing the runs of servers that are gone failed, trying again: {error}");
        }
        self.changed();
        Ok(others > 0 && (self.owes || !has_free_place))
    }

    async fn free_dead(&self, living: &[&str]) -> Result<(), Error> {
        let mut dead = store::workers(&self.db).await?;
        dead.retain(|worker| !living.contains(&worker.as_str()));
        if dead.is_empty() {
            return Ok(());
        }
        let mut tx = self.db.begin().await?;
        tx.guard(&self.held).await?;
        let mut fenced = Vec::new();
        for worker in &dead {
            if tx.fence(LEASE, worker).await? {
                fenced.push(worker.as_str());
            }
        }
        if fenced.is_empty() {
            return Ok(());
        }
        let runs = store::free(&mut tx, &fenced).await?;
        tx.changed(TOPIC, FREED.to_owned());
        tx.commit().await?;
        tracing::warn!(servers = ?fenced, runs, "servers are gone; the others go on with their runs");
        Ok(())
    }

    /// How many further runs this server may mark, while it has `room` for some. `is_idle`: it has free places, and nothing to
    /// begin on them.
    pub fn portion(&self, room: usize, is_idle: bool) -> usize {
        let may_take = match self.others {
            0 => room >= PORTION_ALONE,
            _ => is_idle && self.next_portion <= Instant::now(),
        };
        match (self.worker.is_some() && self.may_be_free && may_take, self.others) {
            (false, _) => 0,
            (true, 0) => room,
            (true, _) => room.min(PORTION),
        }
    }

    /// Marks runs that have begun or must stop, whatever there is room for, and so many others, in the order of their start.
    /// `queued`: the workflows of this server's runs that have not begun; of one that has [`PORTION`] of these, others take the
    /// next while they live. Returns the ids, and whether some have begun.
    pub async fn take(
        &mut self,
        portion: usize,
        queued: impl Iterator<Item = i64>,
    ) -> Result<(Vec<i64>, bool), Error> {
        let Some(worker) = self.worker.clone() else { return Ok((Vec::new(), false)) };
        if !self.may_be_urgent && portion == 0 {
            return Ok((Vec::new(), false));
        }
        let mut tx = self.db.begin().await?;
        tx.guard(&self.held).await?;
        let mut taken = match self.may_be_urgent {
            true => store::take_urgent(&mut tx, &worker, URGENT as i64).await?,
            false => Vec::new(),
        };
        let urgent = taken.len();
        if portion > 0 {
            let enough = if self.others > 0 { those_with(PORTION, queued) } else { Vec::new() };
            taken.extend(store::take(&mut tx, &worker, &enough, portion as i64).await?);
            self.has_left_out = !enough.is_empty();
        }
        if !taken.is_empty() {
            tx.commit().await?;
        }
        self.may_be_urgent = urgent == URGENT;
        if portion > 0 {
            self.may_be_free = taken.len() - urgent == portion;
            self.next_portion = Instant::now() + AGAIN;
        }
        Ok((taken, urgent > 0))
    }

    /// Unmarks the runs of this server that have not begun.
    pub async fn give_back(&mut self) -> Result<(), Error> {
        let Some(worker) = &self.worker else { return Ok(()) };
        let mut tx = self.db.begin().await?;
        tx.guard(&self.held).await?;
        if store::give_back(&mut tx, worker).await? > 0 {
            tx.changed(TOPIC, FREED.to_owned());
            tx.commit().await?;
        }
        self.owes = false;
        Ok(())
    }
}

/// The workflows that come so often.
fn those_with(times: usize, workflows: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut counts: HashMap<i64, usize> = HashMap::new();
    workflows.for_each(|workflow| *counts.entry(workflow).or_default() += 1);
    counts.into_iter().filter(|(_, count)| *count >= times).map(|(workflow, _)| workflow).collect()
}

#[cfg(test)]
#[path = "share_tests.rs"]
mod tests;
