//! A read-only session lent to a dialect for one call: the guard, then the bounds, then the database.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use lakeport_bindings::dialect::connection::Limits;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_plugins::LentConnection;
use lakeport_sql::{Profile, read_statement};

use crate::database::Database;
use crate::script::Bounds;
use crate::session::Session;

/// Queries per call.
const QUERIES_MAX: u32 = 1_000;
/// Rows per answer: the maximum and the default.
const ROWS_MAX: u32 = 10_000;
/// Bytes per answer: the maximum and the default.
const BYTES_MAX: u32 = 8 * 1024 * 1024;
/// Time per query: the maximum and the default.
const TIMEOUT_MAX_MS: u32 = 10_000;

/// The terms of a loan.
#[derive(Clone, Debug)]
pub struct Loan {
    /// The dialect that borrows it.
    pub profile: Arc<Profile>,
    /// The tables that the call concerns; it may read these besides the catalogue.
    pub about: Vec<TableName>,
}

/// A read-only session for consecutive calls.
#[derive(Clone)]
pub struct Reading(Arc<Session>);

impl Reading {
    /// Opens a session.
    pub async fn open(database: &Database) -> Result<Reading, Error> {
        database.open_to_read().await.map(Reading)
    }

    /// Whether the session can no longer be used.
    pub fn is_broken(&self) -> bool {
        self.0.is_broken()
    }
}

/// A session for one call.
pub struct Lent {
    session: Arc<Session>,
    loan: Loan,
    queries: u32,
}

impl Lent {
    /// Lends an open session.
    pub fn on(reading: &Reading, loan: Loan) -> Result<Lent, Error> {
        let session = Arc::clone(&reading.0);
        if loan.profile.transport != session.transport() {
            let message = format!("the dialect {} is not for this kind of database", loan.profile.name);
            return Err(error("unsupported", message));
        }
        Ok(Lent::of(session, loan))
    }

    /// Lends an open session. The lender keeps it read-only during the loan.
    pub(crate) fn of(session: Arc<Session>, loan: Loan) -> Lent {
        Lent { session, loan, queries: 0 }
    }
}

/// The requested value within the maximum.
fn at_most(asked: u32, max: u32) -> u32 {
    if asked == 0 { max } else { asked.min(max) }
}

impl LentConnection for Lent {
    fn query<'a>(
        &'a mut self,
        statement: Vec<Fragment>,
        limits: Limits,
    ) -> BoxFuture<'a, Result<RowSet, Error>> {
        Box::pin(async move {
            self.queries += 1;
            if self.queries > QUERIES_MAX {
                let message = format!("the call exceeds the limit of {QUERIES_MAX} queries");
                return Err(error("limit_exceeded", message));
            }
            let statement = read_statement(&self.loan.profile, &statement, &self.loan.about)?;
            let bounds = Bounds {
                max_rows: at_most(limits.max_rows, ROWS_MAX) as usize,
                max_bytes: at_most(limits.max_bytes, BYTES_MAX) as usize,
                timeout: Duration::from_millis(at_most(limits.timeout_ms, TIMEOUT_MAX_MS).into()),
            };
            self.session.read(&statement, bounds).await
        })
    }
}
