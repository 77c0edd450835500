//! Marks and results of attempts, on their way to the store. Those that come while others are written are written together:
//! a commit takes as long for one as for a hundred.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lakeport_base::Error;
use lakeport_store::Held;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::log::Pending;
use super::store::{self, Ended};
use crate::queries::Query;
use crate::scheduler::{PROGRESS, Scheduler};

/// How long a result that may wait does so, for some others and for many.
const TOGETHER: Duration = Duration::from_millis(2);
const MANY_TOGETHER: Duration = Duration::from_millis(6);

pub struct Ledger {
    state: Arc<Scheduler>,
    /// Nothing is written once it is lost.
    held: Arc<Held>,
    waiting: Mutex<Vec<Entry>>,
    /// Many results will come soon.
    expects_many: AtomicBool,
    /// Who has it writes all that waits.
    turn: tokio::sync::Mutex<()>,
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
    answer: oneshot::Sender<Result<bool, Error>>,
}

/// Entries that are being written. Should their writer stop before the end, they wait again: others need theirs.
struct Batch<'l> {
    waiting: &'l Mutex<Vec<Entry>>,
    entries: Vec<Entry>,
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.waiting.lock().append(&mut self.entries);
    }
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
        let (waiting, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Ledger { state, held, waiting, expects_many: AtomicBool::new(false), turn }
    }

    /// Many results will come soon, or not.
    pub fn expect_many(&self, are_many: bool) {
        self.expects_many.store(are_many, Ordering::Relaxed);
    }

    /// The lease under which attempts are made.
    pub fn held(&self) -> &Held {
        &self.held
    }

    /// Writes it; false: the attempt has ended before.
    pub async fn write(&self, task_run_id: i64, note: Note) -> Result<bool, Error> {
        let (answer, mut answered) = oneshot::channel();
        let may_wait = matches!(note, Note::End(End { may_wait: true, .. }));
        self.waiting.lock().push(Entry { task_run_id, note, answer });
        if may_wait {
            let is_one_of_many = self.expects_many.load(Ordering::Relaxed);
            sleep(if is_one_of_many { MANY_TOGETHER } else { TOGETHER }).await;
        }
        {
            let _turn = self.turn.lock().await;
            if let Ok(answer) = answered.try_recv() {
                return answer;
            }
            self.write_waiting().await;
        }
        answered.await.unwrap_or_else(|_| Err(Error::internal(anyhow::anyhow!("a note was not written"))))
    }

    /// Writes all that waits together or, if that fails, each by itself, so that none fails because of another one.
    async fn write_waiting(&self) {
        let mut batch = Batch { waiting: &self.waiting, entries: std::mem::take(&mut *self.waiting.lock()) };
        match self.try_write(&batch.entries).await {
            Ok(written) => {
                for (entry, is_written) in batch.entries.drain(..).zip(written) {
                    let _ = entry.answer.send(Ok(is_written));
                }
            }
            Err(error) if batch.entries.len() == 1 => {
                for entry in batch.entries.drain(..) {
                    let _ = entry.answer.send(Err(copy(&error)));
                }
            }
            Err(_) => {
                while let Some(entry) = batch.entries.last() {
                    let written = self.try_write(std::slice::from_ref(entry)).await;
                    if let Some(entry) = batch.entries.pop() {
                        let _ = entry.answer.send(written.map(|written| written[0]));
                    }
                }
            }
        }
    }

    async fn try_write(&self, batch: &[Entry]) -> Result<Vec<bool>, Error> {
        let (mut marks, mut ends) = (Vec::new(), Vec::new());
        for Entry { task_run_id, note, .. } in batch {
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
        for Entry { task_run_id, note, .. } in batch {
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
    }
}

fn copy(error: &Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Refused(refusal.clone()),
        Error::Internal(cause) => Error::internal(anyhow::anyhow!("{cause:#}")),
    }
}
