//! A transaction on the SQLite store, on one borrowed connection.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::coop::consume_budget;
use tokio::task::spawn_blocking;

use super::Value;
use super::failure::Failure;
use super::pool::Lent;
use super::sqlite::{self, Place, Ran, Session, Sql};
use super::writer::Known;

/// Rows that [`Transaction::each_row`] reads ahead: each may be large.
const ROWS_AHEAD: usize = 1;

/// Dropped without [`Transaction::commit`], it is rolled back before the connection is lent again. A statement
/// whose future is dropped on a blocking thread closes the connection, which rolls back, too.
pub(super) struct Transaction {
    /// `None` after a statement that was cancelled.
    lent: Option<Lent<Session>>,
    /// `None`: it only reads.
    known: Option<Arc<Known>>,
}

impl Transaction {
    /// One that only reads, not begun.
    pub fn reading(lent: Lent<Session>) -> Transaction {
        Transaction { lent: Some(lent), known: None }
    }

    /// One that writes, not begun.
    pub fn writing(lent: Lent<Session>, known: Arc<Known>) -> Transaction {
        Transaction { lent: Some(lent), known: Some(known) }
    }

    /// Begins it with this statement. Does not wait for a lock.
    pub fn begin(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        let session = self.lent.as_mut().and_then(Lent::connection).ok_or_else(ended)?;
        session.control(sql).map_err(Failure::of)
    }

    /// Runs a statement to its end.
    pub async fn run(&mut self, sql: Sql, values: &[Value]) -> Result<Ran, sqlx::Error> {
        // Lets others run, for nothing here waits.
        consume_budget().await;
        let lent = self.take()?;
        let place = match &self.known {
            Some(known) => known.place(&sql, values),
            None => Place::Here,
        };
        let (lent, ran) = sqlite::run(lent, sql.clone(), values, place).await?;
        self.lent = Some(lent);
        if let (Some(known), Ok(ran)) = (&self.known, &ran) {
            known.learn(&sql, ran);
        }
        ran
    }

    /// Runs several statements, on a blocking thread.
    pub async fn batch(&mut self, sql: &'static str) -> Result<(), sqlx::Error> {
        let (lent, done) = sqlite::on_thread(self.take()?, move |session| session.batch(sql)).await?;
        self.lent = Some(lent);
        done
    }

    /// Calls it with each row of a reading statement. Few rows are in memory.
    pub async fn each_row(
        &mut self,
        sql: Sql,
        mut take: impl FnMut(Vec<Value>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (sender, mut rows) = mpsc::channel(ROWS_AHEAD);
        let reading = sqlite::on_thread(self.take()?, move |session| {
            session.each_row(&sql, |row| sender.blocking_send(row).is_ok())
        });
        while let Some(row) = rows.recv().await {
            take(row)?;
        }
        let (lent, read) = reading.await?;
        self.lent = Some(lent);
        Ok(read?)
    }

    /// Keeps all of it. Runs on a blocking thread, for it waits for the disk; it goes on to its end even if the
    /// future is dropped.
    pub async fn commit(mut self) -> Result<(), sqlx::Error> {
        let committing = spawn_blocking(move || {
            // If it fails, the transaction may still be open: dropped, it is rolled back.
            self.session()?.control("COMMIT").map_err(Failure::of)
        });
        committing.await.map_err(|_| sqlx::Error::WorkerCrashed)?
    }

    /// The connection, if its transaction is open: otherwise a statement would be kept at once.
    fn session(&mut self) -> Result<&mut Session, sqlx::Error> {
        let session = self.lent.as_mut().and_then(Lent::connection);
        session.filter(|session| session.is_in_transaction()).ok_or_else(ended)
    }

    /// The same with the right to use it on another thread.
    fn take(&mut self) -> Result<Lent<Session>, sqlx::Error> {
        self.session()?;
        self.lent.take().ok_or_else(ended)
    }
}

fn ended() -> sqlx::Error {
    let message =
        "an earlier statement failed or was cancelled, and ended the transaction: nothing of it is kept";
    sqlx::Error::Protocol(message.to_owned())
}

impl Drop for Transaction {
    fn drop(&mut self) {
        let Some(mut lent) = self.lent.take() else { return };
        let Some(session) = lent.connection() else { return };
        let ended = if session.is_in_transaction() { session.control("ROLLBACK") } else { Ok(()) };
        match ended {
            Ok(()) => lent.give_back(),
            Err(error) => {
                tracing::warn!("a transaction was not rolled back, its connection is closed: {error}")
            }
        }
    }
}
