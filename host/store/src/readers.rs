//! Connections that read the SQLite store, on the caller's thread where a statement is quick: see
//! [`super::sqlite`].

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::coop::consume_budget;

use super::pool::{Lent, Pool};
use super::sqlite::{self, Place, Session, Sql};
use super::transaction::Transaction;
use super::{Row, Value};

/// Readers beside the single writer.
const READERS: u32 = 8;

#[derive(Clone)]
pub(super) struct Readers {
    path: Arc<PathBuf>,
    pool: Pool<Session>,
}

impl Readers {
    pub fn new(path: &Path) -> Readers {
        Readers { path: Arc::new(path.to_owned()), pool: Pool::new(READERS) }
    }

    /// Readers of the same file with connections of their own, for what takes long.
    pub fn apart(&self) -> Readers {
        Readers::new(&self.path)
    }

    /// Runs a reading statement.
    pub async fn fetch(&self, sql: Sql, values: &[Value]) -> Result<Vec<Row>, sqlx::Error> {
        // Lets others run, for nothing here waits.
        consume_budget().await;
        let (lent, ran) = sqlite::run(self.take().await?, sql, values, Place::Here).await?;
        // The statement is finished, whether it failed or not.
        lent.give_back();
        ran.map(|ran| ran.rows)
    }

    /// A transaction that sees one consistent state from its first statement on.
    pub async fn snapshot(&self) -> Result<Transaction, sqlx::Error> {
        let mut transaction = Transaction::reading(self.take().await?);
        transaction.begin("BEGIN")?;
        Ok(transaction)
    }

    async fn take(&self) -> Result<Lent<Session>, sqlx::Error> {
        let mut lent = self.pool.take().await?;
        if lent.connection().is_none() {
            lent.fill(Session::open_to_read(&self.path)?);
        }
        Ok(lent)
    }

    pub async fn close(&self) {
        sqlite::close(&self.pool).await;
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::BUSY_TIMEOUT;
    use crate::testing::on_sqlite;

    /// Counts far longer than a test may take.
    const ENDLESS: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) \
        SELECT count(*) FROM n";

    async fn readers(test: impl AsyncFn(Readers)) {
        on_sqlite(async |db| {
            let crate::Store::Sqlite { readers, .. } = &db.store else { panic!("it is SQLite") };
            test(readers.clone()).await;
        })
        .await;
    }

    #[tokio::test]
    async fn values_are_numbered_as_on_postgresql() {
        readers(async |readers| {
            let sql = Sql::Fixed("SELECT $2 AS second, $1 AS first, $2 AS again");
            let rows = readers.fetch(sql, &["a".into(), 7.into()]).await.unwrap();
            let mut row = rows[0].by_name();
            assert_eq!(row.get::<String>("first").unwrap(), "a");
            assert_eq!(row.get::<i64>("second").unwrap(), 7);
            assert_eq!(row.get::<i64>("again").unwrap(), 7);
            assert!(readers.fetch(Sql::Fixed("SELECT $2"), &[1.into()]).await.is_err());
        })
        .await;
    }

    #[tokio::test]
    async fn a_reader_cannot_write() {
        readers(async |readers| {
            let sql = Sql::Fixed("CREATE TABLE written (id INTEGER)");
            let error = readers.fetch(sql, &[]).await.unwrap_err().to_string();
            assert!(error.contains("readonly"), "{error}");
        })
        .await;
    }

    #[tokio::test]
    async fn a_long_statement_goes_on_where_it_may_block() {
        readers(async |readers| {
            let counted = readers.fetch(Sql::Fixed(ENDLESS), &[1_000_000.into()]).await.unwrap();
            assert_eq!(counted[0].get::<i64>(0).unwrap(), 1_000_000);
        })
        .await;
    }

    #[tokio::test]
    async fn a_read_that_is_given_up_stops_and_frees_its_place() {
        readers(async |readers| {
            let begun = Instant::now();
            for _ in 0..READERS * 2 {
                let values = [i64::MAX.into()];
                let endless = readers.fetch(Sql::Fixed(ENDLESS), &values);
                let ended = tokio::time::timeout(Duration::from_millis(20), endless).await;
                assert!(ended.is_err(), "{ended:?}");
            }
            // All slots are free again; otherwise this would wait for the longest statement.
            let rows = readers.fetch(Sql::Fixed("SELECT 1"), &[]).await.unwrap();
            assert_eq!(rows[0].get::<i64>(0).unwrap(), 1);
            assert!(begun.elapsed() < BUSY_TIMEOUT);
        })
        .await;
    }
}
