//! `GET /api/v1/events`: the changes in the store as one stream, so that pages show them at once.
//!
//! It is fed by the change log, also by the changes of other servers of the store. An event names the topic whose
//! resources to read again, and the resource where one is meant; it never holds a value. So a caller learns nothing
//! that it could not read, and events of what it may not even list are left out.

mod lookups;
mod reader;
mod resource;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ::http::Method;
use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_base::text::shortened;
use lakeport_http::events::{self, EventData, EventStream};
use lakeport_http::{Role, Route};
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::core::{Core, stands_on_core};
use crate::part::Part;
use lookups::Lookups;
use reader::Reader;
pub use resource::TOPICS;

/// Names of topics that are read.
const NAMES_MAX: usize = 20;
/// Of an unknown name, in an error.
const NAME_MAX_CHARS: usize = 50;
/// Streams of one caller; one more is refused.
const STREAMS_MAX: usize = 100;

/// The state: the store and its change log.
pub struct Events {
    core: Arc<Core>,
    open: Arc<Open>,
    lookups: Arc<Lookups>,
}

/// The streams that are open, by their callers' keys.
#[derive(Default)]
struct Open(Mutex<HashMap<String, usize>>);

/// One of them, until it is dropped.
struct Counted {
    open: Arc<Open>,
    caller: String,
}

impl Open {
    /// 429 `rate_limited` if the caller has too many.
    fn count(self: &Arc<Open>, caller: String) -> Result<Counted, Error> {
        let mut open = self.0.lock();
        let count = open.entry(caller.clone()).or_default();
        if *count >= STREAMS_MAX {
            let message = format!("{STREAMS_MAX} streams of changes are open for this caller; close some");
            return Err(Error::too_many("rate_limited", message, 10));
        }
        *count += 1;
        drop(open);
        Ok(Counted { open: Arc::clone(self), caller })
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.open.0.lock();
        if let Some(count) = open.get_mut(&self.caller) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.caller);
            }
        }
    }
}

stands_on_core!(Events);

impl Events {
    pub fn new(core: &Arc<Core>) -> Events {
        Events { core: Arc::clone(core), open: Arc::default(), lookups: Arc::default() }
    }
}

pub fn part() -> Part<Events> {
    let about = "Follow the changes of the resources that the caller may list, as server-sent events";
    let route = Route::new(Method::GET, "/api/v1/events", Role::Viewer, "streamEvents", about, stream);
    Part {
        tags: &[("events", "The changes of all resources, as one stream")],
        routes: vec![route.resumable()],
        ..Part::default()
    }
}

type Call = lakeport_http::Call<Events, lakeport_http::Nothing, Wanted>;

#[derive(Deserialize, JsonSchema)]
struct Wanted {
    /// Topics with commas between them: backfills, datasources, engines, executions, plugins, tables, tasks, tokens, topics,
    /// workflows. Absent: all.
    topics: Option<String>,
    /// The id of an event: the stream goes on after it. Absent: from now on. The header `Last-Event-ID` wins.
    #[schemars(range(min = 0))]
    after: Option<i64>,
}

struct ChangeEvent;

impl EventData for ChangeEvent {
    const NAME: &'static str = "ChangeEvent";
}

async fn stream(call: Call) -> Result<EventStream<ChangeEvent>, Error> {
    let state = &call.state;
    let seen = state.changes.follow_seen();
    let (topics, mut wrong) = topics(call.query.topics.as_deref());
    let after = match events::asked_after(&call.headers, call.query.after) {
        Ok(after) => after,
        Err(error) => {
            wrong.extend(Error::details_of(Err(error))?);
            None
        }
    };
    if after.is_some_and(|after| after < 0) {
        wrong.push(Detail::new("after", "must be the id of an event, or 0"));
    }
    if !wrong.is_empty() {
        return Err(Error::invalid(wrong));
    }
    if let Some(after) = after.filter(|after| *after > *seen.borrow()) {
        // Another server of the store may have sent it, which is further than this one. If none has, the stream says so.
        let _ = state.changes.wait_for(after, reader::BEHIND).await;
    }
    let counted = state.open.count(call.caller.key())?;
    let reader = Reader::new(state, Arc::clone(&call.caller), counted, seen, topics, after);
    Ok(EventStream::new(reader.stream(), state.stopping.clone()))
}

/// The topics that a reader wants, and what is wrong with them.
fn topics(text: Option<&str>) -> (HashSet<&'static str>, Vec<Detail>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return (HashSet::from(TOPICS), Vec::new()) };
    let (mut topics, mut wrong) = (HashSet::new(), Vec::new());
    for name in text.split(',').take(NAMES_MAX) {
        match TOPICS.into_iter().find(|topic| *topic == name.trim()) {
            Some(topic) => _ = topics.insert(topic),
            None => {
                let name = shortened(name.trim(), NAME_MAX_CHARS);
                let known = TOPICS.join(", ");
                let message = format!("`{}` is no topic; the topics are {known}", name.escape_debug());
                wrong.push(Detail::new("topics", message));
            }
        }
    }
    (topics, wrong)
}
