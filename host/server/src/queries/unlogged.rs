//! Queries that are not in the log yet: what runs them stores them with its own changes.

use lakeport_store::Db;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Duration, sleep, timeout};

use super::store::{self, Outcome, Query};

/// How long an answer waits for its log.
const WAIT: Duration = Duration::from_secs(1);
/// The pauses between attempts to log, in seconds.
const PAUSES_S: [u64; 6] = [1, 5, 15, 60, 300, 900];

/// Queries on their way to the log. Dropping it logs what is left.
pub struct Unlogged {
    db: Db,
    queries: Mutex<Vec<Query>>,
}

/// A query that is running. Dropping it puts the query on its way to the log.
pub struct Running<'u> {
    unlogged: &'u Unlogged,
    query: Option<Query>,
}

impl Unlogged {
    pub fn new(db: Db) -> Unlogged {
        Unlogged { db, queries: Mutex::default() }
    }

    /// A query that begins, with the outcome that it has if it never ends.
    pub fn begin(&self, query: Query) -> Running<'_> {
        Running { unlogged: self, query: Some(query) }
    }

    /// The queries so far, in order.
    pub fn queries(&self) -> Vec<Query> {
        self.queries.lock().clone()
    }

    /// So many of the first ones are stored.
    pub fn forget(&self, count: usize) {
        self.queries.lock().drain(..count);
    }

    /// Logs them now, and goes on without the caller if that takes long: its answer stands.
    pub async fn log(&self) {
        let queries = std::mem::take(&mut *self.queries.lock());
        if let Some(logging) = log(&self.db, queries) {
            let _ = timeout(WAIT, logging).await;
        }
    }
}

impl Drop for Unlogged {
    fn drop(&mut self) {
        drop(log(&self.db, std::mem::take(self.queries.get_mut())));
    }
}

impl Running<'_> {
    pub fn ended(mut self, outcome: Outcome) {
        if let Some(query) = &mut self.query {
            query.outcome = outcome;
        }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.unlogged.queries.lock().extend(self.query.take());
    }
}

/// Stores queries in the background: again and again while the store is busy or away.
fn log(db: &Db, queries: Vec<Query>) -> Option<JoinHandle<()>> {
    if queries.is_empty() {
        return None;
    }
    let db = db.clone();
    Some(tokio::spawn(async move {
        for pause_s in PAUSES_S {
            match store::record(&db, &queries).await {
                Ok(()) => return,
                Err(cause) => tracing::warn!("the log of queries is not written yet: {cause}"),
            }
            sleep(Duration::from_secs(pause_s)).await;
        }
        if let Err(cause) = store::record(&db, &queries).await {
            tracing::error!(?queries, "the log of queries was not written: {cause}");
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::super::store::testing::query;
    use super::*;
    use lakeport_store::testing::on_each_store;

    async fn outcomes(db: &Db) -> Vec<String> {
        let rows = db.read("SELECT outcome FROM query_log ORDER BY id", &[]).await.unwrap();
        rows.iter().map(|row| row.get(0).unwrap()).collect()
    }

    #[tokio::test]
    async fn what_is_left_is_logged_at_the_end() {
        on_each_store(async |db| {
            let unlogged = Unlogged::new(db.clone());
            let left = Query { outcome: Outcome::Cancelled, ..query(&[(7, "orders")], 1_000) };
            unlogged.begin(left.clone()).ended(Outcome::Success);
            drop(unlogged.begin(left));
            assert_eq!(unlogged.queries().len(), 2);
            unlogged.forget(1);
            drop(unlogged);
            while outcomes(&db).await.is_empty() {
                sleep(Duration::from_millis(5)).await;
            }
            assert_eq!(outcomes(&db).await, ["cancelled"]);
        })
        .await;
    }

    #[tokio::test]
    async fn what_was_logged_is_not_logged_again() {
        on_each_store(async |db| {
            let unlogged = Unlogged::new(db.clone());
            unlogged.begin(query(&[(7, "orders")], 1_000)).ended(Outcome::Failed);
            unlogged.log().await;
            assert!(unlogged.queries().is_empty());
            assert_eq!(outcomes(&db).await, ["failed"]);
        })
        .await;
    }
}
