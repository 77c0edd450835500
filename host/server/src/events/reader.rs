//! One reader's way through the change log.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use lakeport_base::Error;
use lakeport_http::Caller;
use lakeport_http::events::Event;
use lakeport_store::changes::Change;
use lakeport_store::{Db, Row};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::timeout;

use super::lookups::Lookups;
use super::resource::{self, Audience};
use super::{Counted, Events};
use crate::core::Core;

/// How long a stream that goes on after an event of another server waits for this server to see it.
pub const BEHIND: Duration = Duration::from_secs(2);
/// Changes that follow each other so closely are read together.
const GATHER: Duration = Duration::from_millis(100);
/// Entries that are read at once.
const BATCH: usize = 1_000;
/// A batch with more changed resources of one topic names none of them.
const IDS_MAX: usize = 50;
/// A batch with steps of more tasks looks up no owners: all callers read their own topics again.
const TASKS_MAX: usize = 20;
/// A stream without changes says so, because a browser shows a page no comments: a page that hears nothing for longer has
/// lost its connection.
const ALIVE_INTERVAL: Duration = Duration::from_secs(10);
/// After the store failed.
const AGAIN: Duration = Duration::from_millis(500);

pub struct Reader {
    core: Arc<Core>,
    lookups: Arc<Lookups>,
    caller: Arc<Caller>,
    _counted: Counted,
    /// The number of the newest entry that this server has seen.
    seen: watch::Receiver<i64>,
    /// The wanted topics.
    topics: HashSet<&'static str>,
    /// The entry up to which everything was read.
    after: i64,
    ready: VecDeque<Event>,
}

/// The changed resources, each with the number of its last entry; without an id: any of the topic.
pub type Changed = BTreeMap<(&'static str, Option<String>), i64>;

impl Reader {
    pub fn new(
        state: &Events,
        caller: Arc<Caller>,
        counted: Counted,
        seen: watch::Receiver<i64>,
        topics: HashSet<&'static str>,
        after: Option<i64>,
    ) -> Reader {
        let newest = *seen.borrow();
        // Gives the browser an id to go on from, before anything changes.
        let mut ready = VecDeque::from([mark("ready", after.unwrap_or(newest).min(newest))]);
        // The store is older than what the reader has seen: another copy of it was put back.
        if after.is_some_and(|after| after > newest) {
            ready.push_back(mark("everything", newest));
        }
        let after = after.unwrap_or(newest).min(newest);
        let (core, lookups) = (Arc::clone(&state.core), Arc::clone(&state.lookups));
        Reader { core, lookups, caller, _counted: counted, seen, topics, after, ready }
    }

    pub fn stream(self) -> impl Stream<Item = Event> + Send + 'static {
        unfold(self, Reader::next)
    }

    async fn next(mut self) -> Option<(Event, Reader)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((event, self));
            }
            let after = self.after;
            let next = timeout(ALIVE_INTERVAL, self.seen.wait_for(|seen| *seen != after)).await;
            match next.map(|seen| seen.is_ok()) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(_) => return Some((mark("alive", after), self)),
            }
            tokio::time::sleep(GATHER).await;
            let newest = *self.seen.borrow();
            if newest < after {
                self.everything(newest);
            } else if let Err(error) = Box::pin(self.read(newest)).await {
                tracing::warn!("reading the change log failed: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    fn everything(&mut self, newest: i64) {
        self.ready.push_back(mark("everything", newest));
        self.after = newest;
    }

    /// Reads a batch of entries, none newer than this server has seen, and puts its events into `ready`.
    async fn read(&mut self, newest: i64) -> Result<(), Error> {
        let entries = match self.core.changes.recent(self.after, newest, BATCH) {
            Some(entries) => entries,
            None => logged(&self.core.db, self.after, newest).await?,
        };
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            self.everything(newest);
            return Ok(());
        };
        // The numbers have no gaps: what is missing was purged, and may have been about anything. So may entries that a
        // reader is too slow for.
        let is_purged = first.number != self.after + 1;
        let is_behind = entries.len() == BATCH && newest > last.number + BATCH as i64;
        if is_purged || is_behind {
            self.everything(newest);
            return Ok(());
        }
        let last = last.number;
        let mut changed = Changed::new();
        let mut tasks = BTreeMap::new();
        for Change { number, topic, key } in &entries {
            let Some(resource) = resource::of(topic, key) else { continue };
            if !self.topics.contains(resource.topic) {
                continue;
            }
            match resource.audience.includes(&self.caller) {
                Some(true) => _ = changed.insert((resource.topic, resource.id.map(str::to_owned)), *number),
                Some(false) => {}
                None => {
                    if let Audience::OwnerOfTask(task) = resource.audience {
                        tasks.insert(task, *number);
                    }
                }
            }
        }
        if tasks.len() > TASKS_MAX {
            changed.insert(("topics", None), tasks.into_values().max().unwrap_or(last));
        } else if !tasks.is_empty() {
            for (topic_id, number) in self.lookups.topics_of(&self.core.db, &self.caller, &tasks).await? {
                let latest = changed.entry(("topics", Some(topic_id))).or_insert(number);
                *latest = number.max(*latest);
            }
        }
        let gathered = gathered(changed);
        let deleted = self.lookups.deleted(&self.core.db, &gathered).await?;
        self.ready = events(gathered, &deleted);
        self.after = last;
        Ok(())
    }
}

/// The first entries after this number, from the log.
async fn logged(db: &Db, after: i64, newest: i64) -> Result<Vec<Change>, Error> {
    const ENTRIES: &str =
        "SELECT number, topic, key FROM changes WHERE number > $1 AND number <= $2 ORDER BY number LIMIT $3";
    let rows = db.read(ENTRIES, &[after.into(), newest.into(), (BATCH as i64).into()]).await?;
    let entry = |row: &Row| {
        let (topic, key): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(Change { number: row.get(0)?, topic: topic.into(), key: key.into() })
    };
    rows.iter().map(entry).collect()
}

/// Names none of a topic's resources if there are too many, or if any of them may have changed.
fn gathered(changed: Changed) -> Changed {
    let mut of_topic: BTreeMap<&'static str, (usize, bool, i64)> = BTreeMap::new();
    for ((topic, id), number) in &changed {
        let (count, is_any, latest) = of_topic.entry(*topic).or_default();
        *count += 1;
        *is_any |= id.is_none();
        *latest = number.max(latest).to_owned();
    }
    let mut kept = changed;
    for (topic, (count, is_any, latest)) in of_topic {
        if is_any || count > IDS_MAX {
            kept.retain(|(other, _), _| *other != topic);
            kept.insert((topic, None), latest);
        }
    }
    kept
}

/// The events of a batch, each with the number of its entry, in their order: a reader that is cut off between two of
/// them goes on with the next.
fn events(changed: Changed, deleted: &HashSet<(&'static str, String)>) -> VecDeque<Event> {
    let mut list: Vec<_> = changed.into_iter().collect();
    list.sort_by_key(|(_, number)| *number);
    let event = |((topic, id), number): ((&'static str, Option<String>), i64)| {
        let is_deleted = id.as_ref().is_some_and(|id| deleted.contains(&(topic, id.clone())));
        let kind = if is_deleted { "deleted" } else { "changed" };
        event(number, kind, &json!({ "seq": number, "topic": topic, "id": id, "kind": kind }))
    };
    list.into_iter().map(event).collect()
}

/// An event about no resource.
fn mark(kind: &'static str, number: i64) -> Event {
    event(number, kind, &json!({ "seq": number }))
}

fn event(number: i64, kind: &'static str, data: &Value) -> Event {
    Event { id: u64::try_from(number).unwrap_or_default(), kind, data: data.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_the_numbers_of_their_entries_in_order() {
        let changed = Changed::from([
            (("tables", Some("7".to_owned())), 9),
            (("workflows", None), 5),
            (("workflows", Some("1".to_owned())), 6),
            (("engines", Some("a".to_owned())), 3),
        ]);
        let deleted = HashSet::from([("tables", "7".to_owned())]);
        let events = events(gathered(changed), &deleted);
        let seen: Vec<_> = events.iter().map(|event| (event.id, event.kind, event.data.as_str())).collect();
        assert_eq!(
            seen,
            [
                (3, "changed", r#"{"seq":3,"topic":"engines","id":"a","kind":"changed"}"#),
                (6, "changed", r#"{"seq":6,"topic":"workflows","id":null,"kind":"changed"}"#),
                (9, "deleted", r#"{"seq":9,"topic":"tables","id":"7","kind":"deleted"}"#),
            ]
        );
    }

    #[test]
    fn many_ids_become_the_topic() {
        let changed = (0..=IDS_MAX).map(|id| (("tables", Some(id.to_string())), id as i64 + 1)).collect();
        let gathered = gathered(changed);
        assert_eq!(gathered, Changed::from([(("tables", None), IDS_MAX as i64 + 1)]));
    }
}
