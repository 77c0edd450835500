//! Entries that are written together: a commit takes as long for one as for a hundred. Those that come while others are
//! written are the next group.

use futures_util::future::BoxFuture;
use lakeport_base::Error;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::{Duration, sleep};

/// What writes entries.
pub trait WriteTogether: Send + Sync {
    type Entry: Send + Sync;
    type Answer: Send;

    /// Writes entries in one transaction; the answers in their order.
    fn write<'w>(&'w self, entries: &'w [Self::Entry]) -> BoxFuture<'w, Result<Vec<Self::Answer>, Error>>;
}

/// Writes in groups.
pub struct Group<W: WriteTogether> {
    writer: W,
    waiting: Mutex<Waiting<W>>,
    /// Who has it writes all that waits.
    turn: tokio::sync::Mutex<()>,
}

struct Waiting<W: WriteTogether> {
    entries: Vec<W::Entry>,
    /// In the order of the entries.
    answers: Vec<oneshot::Sender<Result<W::Answer, Error>>>,
}

impl<W: WriteTogether> Default for Waiting<W> {
    fn default() -> Waiting<W> {
        Waiting { entries: Vec::new(), answers: Vec::new() }
    }
}

/// Entries that are being written. Should their writer stop before the end, they wait again: others need theirs.
struct Batch<'g, W: WriteTogether> {
    waiting: &'g Mutex<Waiting<W>>,
    taken: Waiting<W>,
}

impl<W: WriteTogether> Drop for Batch<'_, W> {
    fn drop(&mut self) {
        // What made it panic would make the next one panic, too.
        if std::thread::panicking() {
            return;
        }
        let mut waiting = self.waiting.lock();
        waiting.entries.append(&mut self.taken.entries);
        waiting.answers.append(&mut self.taken.answers);
    }
}

impl<W: WriteTogether> Group<W> {
    pub fn new(writer: W) -> Group<W> {
        Group { writer, waiting: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// Writes an entry: waits this long for others, and for the group that is being written, then writes all that waits.
    pub async fn write(&self, entry: W::Entry, wait: Duration) -> Result<W::Answer, Error> {
        let (answer, mut answered) = oneshot::channel();
        {
            let mut waiting = self.waiting.lock();
            waiting.entries.push(entry);
            waiting.answers.push(answer);
        }
        if !wait.is_zero() {
            sleep(wait).await;
        }
        {
            let _turn = self.turn.lock().await;
            if let Ok(answer) = answered.try_recv() {
                return answer;
            }
            self.write_waiting().await;
        }
        answered.await.unwrap_or_else(|_| Err(Error::internal(anyhow::anyhow!("an entry was not written"))))
    }

    /// Writes all that waits together or, if that fails, each by itself, so that none fails because of another one.
    async fn write_waiting(&self) {
        let mut batch = Batch { waiting: &self.waiting, taken: std::mem::take(&mut *self.waiting.lock()) };
        match self.writer.write(&batch.taken.entries).await {
            Ok(written) => {
                batch.taken.entries.clear();
                for (answer, written) in batch.taken.answers.drain(..).zip(written) {
                    let _ = answer.send(Ok(written));
                }
            }
            // A store that is busy or away is so for each of them.
            Err(error) if batch.taken.entries.len() == 1 || error.status() == 503 => {
                while !batch.taken.entries.is_empty() {
                    batch.answer_last(Err(copy(&error)));
                }
            }
            Err(_) => {
                while let Some(entry) = batch.taken.entries.last() {
                    let written = self.writer.write(std::slice::from_ref(entry)).await;
                    let one = |mut written: Vec<W::Answer>| {
                        written
                            .pop()
                            .ok_or_else(|| Error::internal(anyhow::anyhow!("an entry has no answer")))
                    };
                    batch.answer_last(written.and_then(one));
                }
            }
        }
    }
}

impl<W: WriteTogether> Batch<'_, W> {
    fn answer_last(&mut self, written: Result<W::Answer, Error>) {
        self.taken.entries.pop();
        if let Some(answer) = self.taken.answers.pop() {
            // The one who asked may be gone.
            let _ = answer.send(written);
        }
    }
}

fn copy(error: &Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Refused(refusal.clone()),
        Error::Internal(cause) => Error::internal(anyhow::anyhow!("{cause:#}")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::future::{join, join_all};
    use tokio::sync::Semaphore;
    use tokio::task::yield_now;

    use super::*;

    /// Notes the groups, once it may write; a group with a negative number fails.
    struct Noting {
        groups: Mutex<Vec<Vec<i64>>>,
        may_write: Semaphore,
    }

    fn group() -> Group<Noting> {
        Group::new(Noting { groups: Mutex::default(), may_write: Semaphore::new(0) })
    }

    impl WriteTogether for Noting {
        type Entry = i64;
        type Answer = i64;

        fn write<'w>(&'w self, entries: &'w [i64]) -> BoxFuture<'w, Result<Vec<i64>, Error>> {
            Box::pin(async move {
                let _may_write = self.may_write.acquire().await.unwrap();
                self.groups.lock().push(entries.to_vec());
                match entries.iter().find(|entry| **entry < 0) {
                    None => Ok(entries.iter().map(|entry| entry * 2).collect()),
                    Some(wrong) => Err(Error::conflict("wrong", format!("{wrong} is wrong"))),
                }
            })
        }
    }

    /// The answers to entries of which the first is being written when the others come.
    async fn written(group: &Group<Noting>, entries: &[i64]) -> Vec<Result<i64, Error>> {
        let writing = join_all(entries.iter().map(|entry| group.write(*entry, Duration::ZERO)));
        join(writing, async { group.writer().may_write.add_permits(1) }).await.0
    }

    #[tokio::test]
    async fn what_comes_meanwhile_is_one_group() {
        let group = group();
        let written: Vec<i64> =
            written(&group, &[1, 2, 3, 4, 5]).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(written, [2, 4, 6, 8, 10]);
        assert_eq!(*group.writer().groups.lock(), [vec![1], vec![2, 3, 4, 5]]);
    }

    #[tokio::test]
    async fn none_fails_because_of_another_one() {
        let group = group();
        let written = written(&group, &[1, -2, 3]).await;
        assert_eq!((written[0].as_ref().ok(), written[2].as_ref().ok()), (Some(&2), Some(&6)));
        assert_eq!(written[1].as_ref().unwrap_err().code(), "wrong");
    }

    #[tokio::test]
    async fn an_abandoned_turn_keeps_the_others_entries() {
        let group = Arc::new(group());
        let write = |entry| {
            let group = Arc::clone(&group);
            tokio::spawn(async move { group.write(entry, Duration::ZERO).await })
        };
        let abandoned = write(1);
        yield_now().await;
        let other = write(2);
        yield_now().await;
        abandoned.abort();
        group.writer().may_write.add_permits(1);
        assert_eq!(other.await.unwrap().unwrap(), 4);
        assert_eq!(*group.writer().groups.lock(), [vec![2, 1]]);
    }
}
