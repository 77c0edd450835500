//! What the readers of the stream look up in the store, once for all of them.

use std::collections::{BTreeMap, HashSet};

use lakeport_base::Error;
use lakeport_http::Caller;
use lakeport_store::Db;
use tokio::sync::Mutex;

use super::reader::Changed;
use super::resource;
use crate::agent;

/// Of each kind; the oldest are forgotten.
const KEPT_MAX: usize = 4_096;

/// Kept by the numbers of entries: a later change has a number of its own. Locked during a look.
#[derive(Default)]
pub struct Lookups(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Whether the entry's resource did not exist any more.
    is_deleted: BTreeMap<i64, bool>,
    /// The topic of the entry's task, and its owner; `None`: deleted.
    topics: BTreeMap<i64, Option<(String, String)>>,
}

impl Lookups {
    /// The caller's own topics among those of these tasks, with the numbers of their entries.
    pub async fn topics_of(
        &self,
        db: &Db,
        caller: &Caller,
        tasks: &BTreeMap<&str, i64>,
    ) -> Result<Vec<(String, i64)>, Error> {
        let mut kept = self.0.lock().await;
        let mut own = Vec::new();
        for (task, number) in tasks {
            let topic = match kept.topics.get(number) {
                Some(topic) => topic.clone(),
                None => {
                    let topic = agent::topic_of_task(db, task).await?;
                    keep(&mut kept.topics, *number, topic.clone());
                    topic
                }
            };
            own.extend(topic.filter(|(_, owner)| *owner == caller.key()).map(|(id, _)| (id, *number)));
        }
        Ok(own)
    }

    /// The named resources that do not exist.
    pub async fn deleted(
        &self,
        db: &Db,
        changed: &Changed,
    ) -> Result<HashSet<(&'static str, String)>, Error> {
        let mut kept = self.0.lock().await;
        let mut deleted = HashSet::new();
        let mut unknown: BTreeMap<&'static str, Vec<(&str, i64)>> = BTreeMap::new();
        for ((topic, id), number) in changed {
            let Some(id) = id else { continue };
            match kept.is_deleted.get(number) {
                Some(true) => _ = deleted.insert((*topic, id.clone())),
                Some(false) => {}
                None => unknown.entry(*topic).or_default().push((id, *number)),
            }
        }
        for (topic, named) in unknown {
            let ids: Vec<&str> = named.iter().map(|(id, _)| *id).collect();
            let there = resource::existing(db, topic, &ids).await?;
            for (id, number) in named {
                let is_deleted = there.as_ref().is_some_and(|there| !there.contains(id));
                keep(&mut kept.is_deleted, number, is_deleted);
                if is_deleted {
                    deleted.insert((topic, id.to_owned()));
                }
            }
        }
        Ok(deleted)
    }
}

fn keep<T>(kept: &mut BTreeMap<i64, T>, number: i64, value: T) {
    kept.insert(number, value);
    if kept.len() > KEPT_MAX {
        kept.pop_first();
    }
}
