//! The events of tasks, on their way to the store. On SQLite, whose transactions wait for each other, those that come while
//! others are written are written together.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_base::{Clock, Error};
use lakeport_store::{Db, Group, Tx, WriteTogether};

use super::store::{self, Progress};
use crate::agent::TOPIC;
use crate::agent::models::spent::{self, Spent, User};
use crate::agent::topics::{self, Message};
use crate::queries::Query;

/// What a worker stores of its task at once.
pub struct Record {
    pub task_id: String,
    /// The topic's internal id.
    pub topic: i64,
    pub progress: Progress,
    /// The answer, with the end.
    pub message: Option<Message>,
    /// Bytes of the events before these, which are counted with the end.
    pub bytes_before: i64,
    /// The model's use since the last record, and whose it is.
    pub spent: Spent,
    pub user: User,
    /// For the log of queries.
    pub queries: Vec<Query>,
}

pub struct EventLog(Group<Writer>);

struct Writer {
    db: Db,
    clock: Clock,
}

impl EventLog {
    pub fn new(db: Db, clock: Clock) -> EventLog {
        EventLog(Group::new(Writer { db, clock }))
    }

    /// The bytes of the stored events; `None`: the task is not this worker's any more.
    pub async fn write(&self, record: Arc<Record>) -> Result<Option<i64>, Error> {
        let writer = self.0.writer();
        if !writer.db.is_shared() {
            return self.0.write(record, Duration::ZERO).await;
        }
        Ok(writer.write(&[record]).await?.pop().flatten())
    }
}

impl WriteTogether for Writer {
    type Entry = Arc<Record>;
    type Answer = Option<i64>;

    fn write<'w>(&'w self, records: &'w [Arc<Record>]) -> BoxFuture<'w, Result<Vec<Option<i64>>, Error>> {
        Box::pin(async move {
            let now_ms = self.clock.now_ms();
            let mut tx = self.db.begin().await?;
            let mut written = Vec::with_capacity(records.len());
            for record in records {
                written.push(record.write(&self.db, &mut tx, now_ms).await?);
            }
            if written.iter().any(Option::is_some) {
                tx.commit().await?;
            }
            Ok(written)
        })
    }
}

impl Record {
    /// The bytes of its events. `None`, and nothing was changed: the task is not this worker's any more.
    async fn write(&self, db: &Db, tx: &mut Tx, now_ms: i64) -> Result<Option<i64>, Error> {
        let ends = self.progress.end.is_some();
        // The topic before the task, as everywhere.
        if ends && !topics::store::lock_row(tx, self.topic).await? {
            return Ok(None);
        }
        // If a commit's answer was lost, nothing is stored twice: the task has ended then, or has advanced.
        // The worker detects the latter and takes it over.
        let Some(bytes) = store::write(tx, &self.progress, now_ms).await? else { return Ok(None) };
        let all = self.bytes_before.saturating_add(bytes);
        match &self.message {
            Some(message) => {
                topics::store::add_message(tx, self.topic, message, all).await?;
            }
            None if ends => topics::store::add_bytes(tx, self.topic, all).await?,
            None => {}
        }
        if self.spent != Spent::default() {
            spent::add(tx, &self.user, &self.spent, now_ms).await?;
        }
        self.queries.iter().for_each(|query| tx.execute_later(query.to_record(db)));
        tx.changed(TOPIC, self.task_id.as_str());
        Ok(Some(bytes))
    }
}
