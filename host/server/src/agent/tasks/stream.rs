//! A task's events as a stream: what is stored first, then live, read from the store alone. So nothing is missed
//! and nothing comes twice where the one goes over into the other, and a reader that is slow costs no memory.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::unfold;
use lakeport_base::error::{Detail, Error};
use lakeport_http::events::{Event, EventData, EventStream};
use lakeport_store::Db;
use tokio::time::timeout;

use super::event::kind_named;
use super::streams::Watch;
use super::{Task, store};
use crate::agent::Agent;

/// Events that are read at once, and their bytes: no more are begun past these.
const READ_MAX: i64 = 16;
const READ_MAX_BYTES: i64 = 512 * 1024;
/// A change without an event is seen after this time.
const POLL: Duration = Duration::from_secs(5);
/// After the store failed.
const AGAIN: Duration = Duration::from_millis(500);

pub struct TaskEvent;

impl EventData for TaskEvent {
    const NAME: &'static str = "TaskEvent";
}

/// 400 if the number is beyond the log; 204 if no more events follow.
pub async fn open(state: &Arc<Agent>, task: Task, after: i64) -> Result<EventStream<TaskEvent>, Error> {
    // Before it is looked how far the task is: what happens from then on wakes it.
    let watch = state.streams().watch(&task.task_id);
    let unknown = || Error::not_found("task", &task.task_id);
    let (status, last_seq) = store::progress(&state.db, task.id).await?.ok_or_else(unknown)?;
    if after > last_seq {
        let message = format!("is beyond the task's last event, {last_seq}");
        return Err(Error::invalid(vec![Detail::new("after", message)]));
    }
    let first = store::events_after(&state.db, task.id, after, READ_MAX, READ_MAX_BYTES).await?;
    if status.is_final() && first.is_empty() {
        return Ok(EventStream::ended());
    }
    let reader = Reader {
        db: state.db.clone(),
        task: task.id,
        after,
        read: first.into_iter(),
        watch,
        has_ended: false,
    };
    Ok(EventStream::new(unfold(reader, Reader::next), state.stopping.clone()))
}

struct Reader {
    db: Db,
    task: i64,
    /// The last one that was sent.
    after: i64,
    read: std::vec::IntoIter<store::Sent>,
    watch: Watch,
    has_ended: bool,
}

impl Reader {
    async fn next(mut self) -> Option<(Event, Reader)> {
        loop {
            if self.has_ended {
                return None;
            }
            if let Some((seq, kind, data)) = self.read.next() {
                // A type that a newer version wrote is not known how to be read here.
                let (kind, is_last) = kind_named(&kind)?;
                (self.after, self.has_ended) = (seq, is_last);
                let id = u64::try_from(seq).ok()?;
                return Some((Event { id, kind, data }, self));
            }
            // In a box: a stream that waits needs no room for it.
            match Box::pin(self.more()).await {
                Ok(true) => {}
                // Not `jobs::wait_for`: a stream sends each event on the way, and many readers share one subscription.
                Ok(false) => _ = timeout(POLL, self.watch.changed()).await,
                Err(error) => {
                    tracing::warn!("reading a task's events failed: {error}");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    /// Reads on; false: there is nothing to read yet.
    async fn more(&mut self) -> Result<bool, Error> {
        // How far the task is comes first: after its end nothing is written.
        let progress = store::progress(&self.db, self.task).await?;
        if let Some((status, last_seq)) = &progress
            && *last_seq == self.after
            && !status.is_final()
        {
            return Ok(false);
        }
        let read = store::events_after(&self.db, self.task, self.after, READ_MAX, READ_MAX_BYTES).await?;
        self.has_ended = read.is_empty() && progress.is_none_or(|(status, _)| status.is_final());
        let is_more = self.has_ended || !read.is_empty();
        self.read = read.into_iter();
        Ok(is_more)
    }
}
