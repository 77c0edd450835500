//! One connection and one consistent state for several reads: the data of an answer fits together though
//! others write meanwhile, and the connection is borrowed only once.

use std::ops::Deref;
use std::sync::Arc;

use lakeport_base::Error;
use tokio::sync::Mutex;

use super::{Begun, Db, Row, Store, Value, postgres, postgres_pool};

/// A handle whose reads all see the state of the first one. Drop it before anything that takes long: it holds
/// a connection.
pub struct Snapshot {
    db: Db,
}

/// A connection in a transaction that reads.
pub(super) struct Moment {
    reader: Mutex<Option<Begun>>,
}

impl Db {
    /// A handle whose reads all see one state, on one connection. On a snapshot, returns the same one.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        if self.moment.is_some() {
            return Ok(Snapshot { db: self.clone() });
        }
        let reader = match &self.store {
            Store::Sqlite { readers, .. } => Begun::Sqlite(readers.snapshot().await?),
            Store::Postgres(postgres) => {
                Begun::Postgres(postgres.connections.begin(postgres::SNAPSHOT).await?)
            }
        };
        let moment = Arc::new(Moment { reader: Mutex::new(Some(reader)) });
        Ok(Snapshot { db: Db { moment: Some(moment), ..self.clone() } })
    }
}

impl Deref for Snapshot {
    type Target = Db;

    fn deref(&self) -> &Db {
        &self.db
    }
}

impl Moment {
    pub async fn read(&self, sql: &'static str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let mut place = self.reader.lock().await;
        // Taken out: a read that is dropped half way leaves nothing that others could use.
        match place.take() {
            Some(Begun::Sqlite(mut transaction)) => {
                let ran = transaction.run(sql.into(), values).await;
                *place = Some(Begun::Sqlite(transaction));
                Ok(ran?.rows)
            }
            Some(Begun::Postgres(mut transaction)) => {
                let rows =
                    postgres_pool::answer(postgres::fetch(transaction.connection()?, sql, values)).await?;
                // After an error PostgreSQL refuses every other statement of the transaction.
                *place = Some(Begun::Postgres(transaction));
                Ok(rows)
            }
            None => Err(Error::internal(anyhow::anyhow!(
                "an earlier read of this snapshot failed or was cancelled"
            ))),
        }
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        match self.reader.get_mut().take() {
            Some(Begun::Postgres(transaction)) => transaction.end(),
            Some(Begun::Sqlite(_)) | None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_empty_store;

    const MAKE: &str = "CREATE TABLE counted (id BIGINT PRIMARY KEY, n BIGINT NOT NULL)";
    const COUNT: &str = "SELECT coalesce(max(n), 0) AS n FROM counted";

    async fn count(db: &Db) -> i64 {
        db.read(COUNT, &[]).await.unwrap()[0].get(0).unwrap()
    }

    async fn set(db: &Db, n: i64) {
        const SET: &str = "INSERT INTO counted VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET n = excluded.n";
        db.execute(SET, &[n.into()]).await.unwrap();
    }

    #[tokio::test]
    async fn a_snapshot_sees_one_moment_under_a_writer() {
        on_each_empty_store(async |db| {
            db.execute(MAKE, &[]).await.unwrap();
            set(&db, 1).await;
            let snapshot = db.snapshot().await.unwrap();
            assert_eq!(count(&snapshot).await, 1);
            for n in 2..20 {
                set(&db, n).await;
                assert_eq!(count(&snapshot).await, 1);
                assert_eq!(count(&db).await, n);
            }
            let same = snapshot.snapshot().await.unwrap();
            assert_eq!(count(&same).await, 1);
            drop((snapshot, same));
            assert_eq!(count(&db.snapshot().await.unwrap()).await, 19);
        })
        .await;
    }

    #[tokio::test]
    async fn snapshots_give_their_connections_back() {
        on_each_empty_store(async |db| {
            db.execute(MAKE, &[]).await.unwrap();
            // More than the connections, each with its own state.
            for n in 1..50 {
                set(&db, n).await;
                assert_eq!(count(&db.snapshot().await.unwrap()).await, n);
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_failed_read_leaves_the_snapshot_usable_or_ends_it() {
        on_each_empty_store(async |db| {
            db.execute(MAKE, &[]).await.unwrap();
            let snapshot = db.snapshot().await.unwrap();
            assert!(snapshot.read("SELECT * FROM missing", &[]).await.is_err());
            // PostgreSQL refuses all later statements of the transaction, SQLite does not.
            assert_eq!(snapshot.read(COUNT, &[]).await.is_err(), db.is_shared());
            drop(snapshot);
            for _ in 0..20 {
                assert_eq!(count(&db.snapshot().await.unwrap()).await, 0);
                assert_eq!(count(&db).await, 0);
            }
        })
        .await;
    }

    #[tokio::test]
    async fn an_ended_snapshot_leaves_no_open_transaction() {
        const OPEN: &str = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' \
            AND application_name = 'lakeport' AND query LIKE '%max(n)%'";
        on_each_empty_store(async |db| {
            if !db.is_shared() {
                return;
            }
            db.execute(MAKE, &[]).await.unwrap();
            let snapshots = [db.snapshot().await.unwrap(), db.snapshot().await.unwrap()];
            for snapshot in &snapshots {
                count(snapshot).await;
            }
            drop(snapshots);
            // The server is notified and not waited for.
            for _ in 0..100 {
                if db.read(OPEN, &[]).await.unwrap()[0].get::<i64>(0).unwrap() == 0 {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            panic!("a transaction stayed open");
        })
        .await;
    }
}
