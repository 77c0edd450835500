//! Converts errors of SQLite to sqlx's type, so that the rest of the program knows a single type
//! of database errors.

use std::borrow::Cow;
use std::error::Error as StdError;

use rusqlite::ffi;
use sqlx::error::{DatabaseError, ErrorKind};

/// The bits of an extended code that are the primary one.
const PRIMARY: i32 = 0xff;

#[derive(Debug)]
pub(super) struct Failure {
    code: i32,
    message: String,
}

impl Failure {
    pub fn of(error: rusqlite::Error) -> sqlx::Error {
        let message = error.to_string();
        match error.sqlite_error() {
            Some(failure) => {
                sqlx::Error::Database(Box::new(Failure { code: failure.extended_code, message }))
            }
            None => sqlx::Error::Protocol(message),
        }
    }

    /// Whether another connection has the lock.
    pub fn is_busy(error: &sqlx::Error) -> bool {
        let failure = error.as_database_error().and_then(|error| error.try_downcast_ref::<Failure>());
        failure.is_some_and(|failure| failure.code & PRIMARY == ffi::SQLITE_BUSY)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "(code: {}) {}", self.code, self.message)
    }
}

impl StdError for Failure {}

impl DatabaseError for Failure {
    fn message(&self) -> &str {
        &self.message
    }

    /// The extended code, in decimal digits.
    fn code(&self) -> Option<Cow<'_, str>> {
        Some(self.code.to_string().into())
    }

    fn as_error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        self
    }

    fn as_error_mut(&mut self) -> &mut (dyn StdError + Send + Sync + 'static) {
        self
    }

    fn into_error(self: Box<Self>) -> Box<dyn StdError + Send + Sync + 'static> {
        self
    }

    fn kind(&self) -> ErrorKind {
        match self.code {
            ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY => ErrorKind::UniqueViolation,
            ffi::SQLITE_CONSTRAINT_FOREIGNKEY => ErrorKind::ForeignKeyViolation,
            ffi::SQLITE_CONSTRAINT_NOTNULL => ErrorKind::NotNullViolation,
            ffi::SQLITE_CONSTRAINT_CHECK => ErrorKind::CheckViolation,
            _ => ErrorKind::Other,
        }
    }
}
