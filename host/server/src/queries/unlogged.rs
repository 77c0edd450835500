//! Queries that are not in the log yet: what runs them stores them with its own changes.

use lakeport_store::Db;
use parking_lot::Mutex;

use super::store::{self, Outcome, Query};

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

    /// Logs them now. A failure is not the caller's: its answer stands.
    pub async fn log(&self) {
        let queries = self.queries();
        log(&self.db, &queries).await;
        self.forget(queries.len());
    }
}

impl Drop for Unlogged {
    fn drop(&mut self) {
        let queries = std::mem::take(self.queries.get_mut());
        if !queries.is_empty() {
            let db = self.db.clone();
            tokio::spawn(async move { log(&db, &queries).await });
        }
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

async fn log(db: &Db, queries: &[Query]) {
    if let Err(cause) = store::record(db, queries).await {
        tracing::error!("the log of queries was not written: {cause}");
    }
}

#[cfg(test)]
mod tests {
    use lakeport_store::testing::on_each_store;
    use tokio::time::{Duration, sleep};

    use super::super::store::testing::query;
    use super::*;

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
