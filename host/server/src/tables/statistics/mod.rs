//! Sizes of tables: queried from the database, cached for five minutes, kept as history.
//!
//! The cache is in the store, so that all servers share it. Within one server, one query per table runs at a
//! time: requests during it share its answer or its error, and a request for fresh values needs a query that
//! began after it.

pub mod api;
mod collect;
pub mod daily;
pub mod store;

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_base::error::{Error, Refusal};
use parking_lot::Mutex;
use tokio::time::Instant;

pub use collect::{Answer, collected, collected_lately};

/// The size of a table at one time. Sizes in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Size {
    pub cluster_id: i64,
    pub row_count: Option<i64>,
    pub data_size: Option<i64>,
    pub index_size: Option<i64>,
    pub partition_count: Option<i64>,
    /// Counted instead of estimated.
    pub is_exact: bool,
    pub collected_at_ms: i64,
}

/// The result of the last query of a table.
struct Said {
    began: Instant,
    ended: Instant,
    outcome: Result<Size, Refused>,
}

/// An error, shared by all that waited for it.
enum Refused {
    Told(Box<Refusal>),
    /// With its cause, for the log.
    Internal(String),
}

impl Said {
    /// The result of a finished query.
    fn of(began: Instant, outcome: &Result<Size, Error>) -> Said {
        let refused = |error: &Error| match error {
            Error::Refused(refusal) => Refused::Told(refusal.clone()),
            Error::Internal(cause) => Refused::Internal(format!("{cause:#}")),
        };
        Said { began, ended: Instant::now(), outcome: outcome.as_ref().map(|size| *size).map_err(refused) }
    }

    fn again(&self) -> Result<Size, Error> {
        match &self.outcome {
            Ok(size) => Ok(*size),
            Err(Refused::Told(refusal)) => Err(Error::Refused(refusal.clone())),
            Err(Refused::Internal(cause)) => {
                Err(Error::internal(anyhow::anyhow!("a question that was shared: {cause}")))
            }
        }
    }
}

/// A table, and the queried data source.
type Asked = (i64, i64);
type Last = Arc<tokio::sync::Mutex<Option<Said>>>;

/// Running queries.
#[derive(Default)]
pub struct Collecting(Mutex<HashMap<Asked, Last>>);

/// A request's share in the query of a table. An entry without requests is removed.
struct Turn<'c> {
    collecting: &'c Collecting,
    asked: Asked,
    /// `None` only once it is dropped.
    last: Option<Last>,
}

impl Collecting {
    fn turn(&self, table_id: i64, source_id: i64) -> Turn<'_> {
        let asked = (table_id, source_id);
        let last = Arc::clone(self.0.lock().entry(asked).or_default());
        Turn { collecting: self, asked, last: Some(last) }
    }
}

impl Turn<'_> {
    async fn lock(&self) -> tokio::sync::MutexGuard<'_, Option<Said>> {
        self.last.as_ref().expect("it is not left yet").lock().await
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Entries are added and removed under this lock only.
        let mut turns = self.collecting.0.lock();
        self.last = None;
        if turns.get(&self.asked).is_some_and(|last| Arc::strong_count(last) == 1) {
            turns.remove(&self.asked);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn an_unused_lock_is_removed() {
        let collecting = Collecting::default();
        let (one, other) = (collecting.turn(7, 2), collecting.turn(7, 2));
        let held = one.lock().await;
        assert!(timeout(Duration::ZERO, other.lock()).await.is_err(), "one question at a time");
        drop(held);
        drop(one);
        assert_eq!(collecting.0.lock().len(), 1, "another has a place");
        drop(other);
        assert!(collecting.0.lock().is_empty());
    }

    #[test]
    fn answers_and_errors_are_cached() {
        let (began, size) = (Instant::now(), Size { row_count: Some(3), ..Size::default() });
        assert_eq!(Said::of(began, &Ok(size)).again().unwrap(), size);
        let refused = Said::of(began, &Err(Error::conflict("schema_drift", "gone")));
        for _ in 0..2 {
            assert_eq!(refused.again().unwrap_err().code(), "schema_drift");
        }
    }
}
