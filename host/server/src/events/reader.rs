//! One reader's way through the change log.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use futures_util::stream::unfold;
use lakeport_base::Error;
use lakeport_http::Caller;
use lakeport_http::events::Event;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Counted;
use super::resource::{self, Audience};
use crate::agent;
use crate::core::Core;

/// How long a stream that goes on after an event of another server waits for this server to see it.
pub const BEHIND: Duration = Duration::from_secs(2);
/// Changes that follow each other so closely are read together.
const GATHER: Duration = Duration::from_millis(100);
/// Entries that are read at once; the statement has the same number.
const BATCH: i64 = 1_000;
/// A batch with more changed resources of one topic names none of them.
const IDS_MAX: usize = 50;
/// A batch with steps of more tasks looks up no owners: all callers read their own topics again.
const TASKS_MAX: usize = 20;
/// After the store failed.
const AGAIN: Duration = Duration::from_millis(500);

pub struct Reader {
    core: Arc<Core>,
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
type Changed = BTreeMap<(&'static str, Option<String>), i64>;

impl Reader {
    pub fn new(
        core: &Arc<Core>,
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
        Reader { core: Arc::clone(core), caller, _counted: counted, seen, topics, after, ready }
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
            if self.seen.wait_for(|seen| *seen != after).await.is_err() {
                return None;
            }
            let newest = *self.seen.borrow();
            if newest < after {
                self.ready.push_back(mark("everything", newest));
                self.after = newest;
                continue;
            }
            tokio::time::sleep(GATHER).await;
            if let Err(error) = Box::pin(self.read()).await {
                tracing::warn!("reading the change log failed: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Reads a batch of entries and puts its events into `ready`.
    async fn read(&mut self) -> Result<(), Error> {
        const ENTRIES: &str =
            "SELECT number, topic, key FROM changes WHERE number > $1 ORDER BY number LIMIT 1000";
        let rows = self.core.db.read(ENTRIES, &[self.after.into()]).await?;
        let (first, last) = match (rows.first(), rows.last()) {
            (Some(first), Some(last)) => (first.get::<i64>(0)?, last.get::<i64>(0)?),
            _ => (0, *self.seen.borrow()),
        };
        // The numbers have no gaps: what is missing was purged, and may have been about anything. So may entries that a
        // reader is too slow for.
        let is_purged = first != self.after + 1;
        let is_behind = rows.len() as i64 == BATCH && *self.seen.borrow() > last + BATCH;
        if is_purged || is_behind {
            let number = last.max(*self.seen.borrow());
            self.ready.push_back(mark("everything", number));
            self.after = number;
            return Ok(());
        }
        let mut changed = Changed::new();
        let mut tasks = BTreeMap::new();
        for row in &rows {
            let (number, topic, key): (i64, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let Some(resource) = resource::of(&topic, &key) else { continue };
            if !self.topics.contains(resource.topic) {
                continue;
            }
            match resource.audience.includes(&self.caller) {
                Some(true) => _ = changed.insert((resource.topic, resource.id.map(str::to_owned)), number),
                Some(false) => {}
                None => {
                    if let Audience::OwnerOfTask(task) = resource.audience {
                        tasks.insert(task.to_owned(), number);
                    }
                }
            }
        }
        if tasks.len() > TASKS_MAX {
            changed.insert(("topics", None), tasks.into_values().max().unwrap_or(last));
        } else {
            for (task, number) in tasks {
                if let Some((topic_id, owner)) = agent::topic_of_task(&self.core.db, &task).await?
                    && owner == self.caller.key()
                {
                    let latest = changed.entry(("topics", Some(topic_id))).or_insert(number);
                    *latest = number.max(*latest);
                }
            }
        }
        let gathered = gathered(changed);
        let deleted = self.deleted(&gathered).await?;
        self.ready = events(gathered, &deleted);
        self.after = last;
        Ok(())
    }

    /// The named resources that do not exist.
    async fn deleted(&self, changed: &Changed) -> Result<HashSet<(&'static str, String)>, Error> {
        let mut named: BTreeMap<&'static str, Vec<&str>> = BTreeMap::new();
        for (topic, id) in changed.keys() {
            named.entry(*topic).or_default().extend(id.as_deref());
        }
        let mut deleted = HashSet::new();
        for (topic, ids) in named.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            if let Some(there) = resource::existing(&self.core.db, topic, &ids).await? {
                let gone = ids.into_iter().filter(|id| !there.contains(*id));
                deleted.extend(gone.map(|id| (topic, id.to_owned())));
            }
        }
        Ok(deleted)
    }
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
