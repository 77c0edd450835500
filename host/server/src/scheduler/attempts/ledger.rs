//! Marks and results of attempts, on their way to the store in groups.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_store::{Group, Held, WriteTogether};
use parking_lot::Mutex;

use super::log::Pending;
use super::store::{self, Ended};
use crate::queries::Query;
use crate::scheduler::{PROGRESS, Scheduler};

/// How long a result that may wait does so, for some others and for many.
const TOGETHER: Duration = Duration::from_millis(2);
const MANY_TOGETHER: Duration = Duration::from_millis(6);

pub struct Ledger {
    group: Group<Writer>,
    /// Many results will come soon.
    expects_many: AtomicBool,
}

struct Writer {
    state: Arc<Scheduler>,
    /// Nothing is written once it is lost.
    held: Arc<Held>,
}

/// What is noted of an attempt.
pub enum Note {
    /// See [`store::set_marks`].
    Mark(String),
    End(End),
}

#[derive(Clone)]
pub struct End {
    pub run_id: i64,
    pub ended: Ended,
    pub log: Pending,
    /// For the log of queries.
    pub accessed: Option<Query>,
    /// Others may end first, to be written with it.
    pub may_wait: bool,
}

struct Entry {
    task_run_id: i64,
    note: Note,
}

/// Results that this server could not record while it had the lease, by attempt. It may get the lease again, and knows then
/// what no data source need be asked about.
#[derive(Default)]
pub struct Unrecorded(Mutex<HashMap<i64, End>>);

impl Unrecorded {
    pub fn keep(&self, task_run_id: i64, end: End) {
        self.0.lock().insert(task_run_id, end);
    }

    /// Those of these attempts; others have ended otherwise, and are forgotten.
    pub fn of(&self, running: &HashSet<i64>) -> Vec<(i64, End)> {
        let mut kept = self.0.lock();
        kept.retain(|id, _| running.contains(id));
        kept.iter().map(|(id, end)| (*id, end.clone())).collect()
    }

    pub fn forget(&self, task_run_id: i64) {
        self.0.lock().remove(&task_run_id);
    }
}

impl Ledger {
    pub fn new(state: Arc<Scheduler>, held: Arc<Held>) -> Ledger {
        Ledger { group: Group::new(Writer { state, held }), expects_many: AtomicBool::new(false) }
    }

    /// Many results will come soon, or not.
    pub fn expect_many(&self, are_many: bool) {
        self.expects_many.store(are_many, Ordering::Relaxed);
    }

    /// The lease under which attempts are made.
    pub fn held(&self) -> &Held {
        &self.group.writer().held
    }

    /// Writes it; false: the attempt has ended before.
    pub async fn write(&self, task_run_id: i64, note: Note) -> Result<bool, Error> {
        let wait = match &note {
            Note::End(End { may_wait: true, .. }) if self.expects_many.load(Ordering::Relaxed) => {
                MANY_TOGETHER
            }
            Note::End(End { may_wait: true, .. }) => TOGETHER,
            _ => Duration::ZERO,
        };
        self.group.write(Entry { task_run_id, note }, wait).await
    }
}

impl WriteTogether for Writer {
    type Entry = Entry;
    /// False: the attempt has ended before.
    type Answer = bool;

    fn write<'w>(&'w self, batch: &'w [Entry]) -> BoxFuture<'w, Result<Vec<bool>, Error>> {
        Box::pin(async move {
            let (mut marks, mut ends) = (Vec::new(), Vec::new());
            for Entry { task_run_id, note } in batch {
                match note {
                    Note::Mark(mark) => marks.push((*task_run_id, mark.as_str())),
                    Note::End(end) => ends.push((*task_run_id, &end.ended)),
                }
            }
            let mut tx = self.state.db.begin().await?;
            tx.guard(&self.held).await?;
            store::set_marks(&mut tx, &marks).await?;
            let ended = store::end(&mut tx, &ends, self.state.clock.now_ms()).await?;
            let mut pieces = Vec::new();
            for Entry { task_run_id, note } in batch {
                if let Note::End(end) = note
                    && ended.contains(task_run_id)
                {
                    pieces.extend(end.log.pieces(*task_run_id));
                    if let Some(accessed) = &end.accessed {
                        tx.execute_later(accessed.to_record(&self.state.db));
                    }
                    tx.changed(PROGRESS, end.run_id.to_string());
                }
            }
            store::append(&mut tx, &pieces)?;
            tx.commit().await?;
            let is_written = |entry: &Entry| match entry.note {
                Note::Mark(_) => true,
                Note::End(_) => ended.contains(&entry.task_run_id),
            };
            Ok(batch.iter().map(is_written).collect())
        })
    }
}
