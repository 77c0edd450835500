//! A database that can be opened, for reading or for changing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lakeport_bindings::host::types::Error;
use lakeport_sql::Transport;

use crate::session::Session;

/// A physical database.
#[derive(Clone, Debug)]
pub enum Database {
    /// A SQLite file.
    Sqlite(SqliteDatabase),
}

/// A SQLite file whose path was located below a granted root.
#[derive(Clone, Debug)]
pub struct SqliteDatabase {
    path: Arc<Path>,
}

impl SqliteDatabase {
    /// The file at a checked path.
    pub fn at(path: PathBuf) -> Self {
        SqliteDatabase { path: path.into() }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Database {
    /// How it is reached; its dialect must be for this transport.
    pub fn transport(&self) -> Transport {
        match self {
            Database::Sqlite(_) => Transport::Sqlite,
        }
    }

    /// A session that cannot change anything.
    pub(crate) async fn open_to_read(&self) -> Result<Arc<Session>, Error> {
        match self {
            Database::Sqlite(file) => Session::open(file.path(), true).await,
        }
    }

    /// A session for changes.
    pub(crate) async fn open_to_change(&self) -> Result<Arc<Session>, Error> {
        match self {
            Database::Sqlite(file) => Session::open(file.path(), false).await,
        }
    }
}
