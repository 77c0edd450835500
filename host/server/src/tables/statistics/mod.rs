//! How large tables are: asked of the database, remembered for five minutes, kept as history.
//!
//! What is remembered stands in the store, so that all servers share it. In one server one question about a table is
//! under way at a time: whoever asks meanwhile takes the answer to a question that began after his own.

pub mod api;
mod collect;
pub mod daily;
pub mod store;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

pub use collect::collected;

/// The size of a table as it was at one time. Sizes in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub cluster_id: i64,
    pub row_count: Option<i64>,
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub partition_count: Option<i64>,
    /// Counted, not estimated.
    pub is_exact: bool,
    pub collected_at_ms: i64,
}

/// The last answer about a table, and when it was asked for.
type Last = Option<(Instant, Size)>;

/// Questions under way, by table.
#[derive(Default)]
pub struct Collecting(Mutex<HashMap<i64, Arc<tokio::sync::Mutex<Last>>>>);

impl Collecting {
    fn turn(&self, table_id: i64) -> Arc<tokio::sync::Mutex<Last>> {
        Arc::clone(self.0.lock().entry(table_id).or_default())
    }

    /// Forgets what nobody waits for any more.
    fn done(&self, table_id: i64, turn: Arc<tokio::sync::Mutex<Last>>) {
        let mut turns = self.0.lock();
        drop(turn);
        if turns.get(&table_id).is_some_and(|turn| Arc::strong_count(turn) == 1) {
            turns.remove(&table_id);
        }
    }
}
