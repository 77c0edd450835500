//! The capabilities that the host lends to a call: a database session, the embedded scheduler, a task's view
//! of the catalogue, a small cache. Plain interfaces, which the lender implements; `imports` answers plugins
//! from them.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use lakeport_bindings::dialect::connection::Limits;
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::engine::model::{
    Instance, InstanceRef, LogPage, LogRequest, RetryRequest, RunQuery, RunRequest, Schedule, Started,
    TaskRunPage, TaskRunRequest, WatchPage, WatchRequest, Workflow,
};
use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::types::{Error, Page};
use lakeport_bindings::runner::WorkflowPage;
use lakeport_bindings::tool::catalog::{Datasource, Filter, HitPage, Table, TableDetails, TablePage};
use lakeport_bindings::tool::guard::Verdict;
use lakeport_bindings::tool::lineage::{Graph, GraphRequest};
use lakeport_bindings::tool::query::{QueryRequest, QueryResult};
use lakeport_bindings::tool::results::EarlierTable;
use lakeport_bindings::tool::samples::{FieldSample, FoundValue};
use lakeport_bindings::tool::tables::TableHead;
use parking_lot::Mutex;

/// A read-only session that can be lent. It bounds and guards each statement itself.
pub trait LentConnection: Send {
    /// Runs one reading statement. Errors are those of `lakeport:dialect/connection`.
    fn query<'a>(
        &'a mut self,
        statement: Vec<Fragment>,
        limits: Limits,
    ) -> BoxFuture<'a, Result<RowSet, Error>>;
}

/// The asynchronous answer of a lent interface.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// The embedded scheduler. Each function is the contract's function of the same name.
pub trait EmbeddedScheduler: Send + Sync {
    /// `put`.
    fn put(&self, workflow: Workflow) -> Answer<'_, ()>;
    /// `remove`.
    fn remove(&self, workflow: u64) -> Answer<'_, ()>;
    /// `entries`.
    fn entries(&self, page: Page) -> Answer<'_, WorkflowPage>;
    /// `read`.
    fn read(&self, workflow: u64) -> Answer<'_, Workflow>;
    /// `set-schedule`.
    fn set_schedule(&self, workflow: u64, schedule: Option<Schedule>) -> Answer<'_, ()>;
    /// `set-online`.
    fn set_online(&self, workflow: u64, online: bool) -> Answer<'_, ()>;
    /// `start`.
    fn start(&self, request: RunRequest) -> Answer<'_, Started>;
    /// `find`: one answer per query, in the same order.
    fn find(&self, queries: Vec<RunQuery>) -> Answer<'_, Vec<Option<Instance>>>;
    /// `cancel`.
    fn cancel(&self, instance: InstanceRef) -> Answer<'_, ()>;
    /// `set-paused`.
    fn set_paused(&self, instance: InstanceRef, paused: bool) -> Answer<'_, ()>;
    /// `retry`.
    fn retry(&self, request: RetryRequest) -> Answer<'_, Started>;
    /// `instances`.
    fn instances(&self, request: WatchRequest) -> Answer<'_, WatchPage>;
    /// `task-runs`.
    fn task_runs(&self, request: TaskRunRequest) -> Answer<'_, TaskRunPage>;
    /// `log`.
    fn log(&self, request: LogRequest) -> Answer<'_, LogPage>;
}

/// The view of one task of one topic. Each function is the contract's function of the same name and keeps to
/// its bounds.
pub trait Topic: Send + Sync {
    /// `catalog.datasources`.
    fn datasources(&self) -> BoxFuture<'_, Vec<Datasource>>;
    /// `catalog.search`.
    fn search(&self, text: String, filter: Filter, page: Page) -> Answer<'_, HitPage>;
    /// `catalog.tables`.
    fn tables(&self, filter: Filter, page: Page) -> Answer<'_, TablePage>;
    /// `catalog.resolve`.
    fn resolve(&self, name: String) -> Answer<'_, Vec<TableHead>>;
    /// `catalog.get`: one answer per id, in the same order.
    fn get(&self, ids: Vec<u64>) -> Answer<'_, Vec<Option<Table>>>;
    /// `catalog.details`: one answer per id, in the same order.
    fn details(&self, ids: Vec<u64>) -> Answer<'_, Vec<Option<TableDetails>>>;
    /// `samples.fields`.
    fn samples(&self, table: u64, fields: Vec<String>, values: u32) -> Answer<'_, Vec<FieldSample>>;
    /// `samples.find`.
    fn find(&self, table: u64, fields: Vec<String>, texts: Vec<String>) -> Answer<'_, Vec<FoundValue>>;
    /// `guard.check`.
    fn check(&self, datasource: String, sql: String) -> Answer<'_, Verdict>;
    /// `query.run`.
    fn run(&self, request: QueryRequest) -> Answer<'_, QueryResult>;
    /// `results.tables`.
    fn results(&self) -> BoxFuture<'_, Vec<EarlierTable>>;
    /// `results.rows`.
    fn rows(&self, call_id: String, max_rows: u32) -> Answer<'_, RowSet>;
    /// `lineage.around`.
    fn around(&self, request: GraphRequest) -> Answer<'_, Graph>;
}

/// Bytes that one instance may cache, keys, values and [`ENTRY_BYTES`] of each entry together.
const MEMO_MAX_BYTES: usize = 64 * 1024;
/// What an entry counts beside its texts, in bytes: about its size, so that it bounds their number, too.
const ENTRY_BYTES: usize = 64;

/// The cache of one configured instance. Its owner drops it when configuration, secrets or plugin change.
#[derive(Debug, Default)]
pub struct Memo {
    entries: Mutex<VecDeque<Entry>>,
}

#[derive(Debug)]
struct Entry {
    key: String,
    value: String,
    until: Instant,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.len() + ENTRY_BYTES
    }
}

impl Memo {
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        let mut entries = self.entries.lock();
        let now = Instant::now();
        entries.retain(|entry| entry.until > now);
        entries.iter().find(|entry| entry.key == key).map(|entry| entry.value.clone())
    }

    /// Keeps an entry; the oldest ones make room for it. One that is larger than the cache is not kept.
    pub(crate) fn put(&self, key: String, value: String, keep: Duration) {
        let mut entries = self.entries.lock();
        entries.retain(|entry| entry.key != key);
        let Some(until) = Instant::now().checked_add(keep) else { return };
        let entry = Entry { key, value, until };
        if entry.bytes() > MEMO_MAX_BYTES {
            return;
        }
        let mut bytes: usize = entries.iter().map(Entry::bytes).sum::<usize>() + entry.bytes();
        entries.push_back(entry);
        while bytes > MEMO_MAX_BYTES {
            let Some(oldest) = entries.pop_front() else { break };
            bytes -= oldest.bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_when_it_is_full() {
        let memo = Memo::default();
        let hour = Duration::from_secs(3_600);
        memo.put("a".into(), "x".repeat(40_000), hour);
        memo.put("b".into(), "y".repeat(40_000), hour);
        assert_eq!(memo.get("a"), None);
        assert!(memo.get("b").is_some());
        memo.put("c".into(), "z".repeat(100_000), hour);
        assert_eq!(memo.get("c"), None);
        assert!(memo.get("b").is_some(), "what is not kept evicts nothing");
    }

    #[test]
    fn empty_entries_are_few_as_well() {
        let memo = Memo::default();
        for key in 0..20_000 {
            memo.put(key.to_string(), String::new(), Duration::from_secs(3_600));
        }
        assert!(memo.entries.lock().len() <= MEMO_MAX_BYTES / ENTRY_BYTES);
        assert!(memo.get("19999").is_some());
    }

    #[test]
    fn what_is_past_its_time_is_forgotten() {
        let memo = Memo::default();
        memo.put("a".into(), "1".into(), Duration::ZERO);
        assert_eq!(memo.get("a"), None);
    }
}
