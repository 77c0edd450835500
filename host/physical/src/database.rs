//! A database that can be opened for reading or for changes.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lakeport_bindings::host::types::Error;
use lakeport_sql::Transport;

use crate::server::{Purpose, ServerDatabase};
use crate::session::{FileAccess, Session, SqliteSession};
use crate::worker::WorkerProcesses;

/// A physical database.
#[derive(Clone, Debug)]
pub enum Database {
    /// A SQLite file.
    Sqlite(SqliteDatabase),
    /// A server.
    Server(ServerDatabase),
}

/// A SQLite file whose path was located below a granted root.
#[derive(Clone)]
pub struct SqliteDatabase {
    path: Arc<Path>,
    processes: WorkerProcesses,
}

impl fmt::Debug for SqliteDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.fmt(f)
    }
}

impl SqliteDatabase {
    /// The file at a checked path, to be opened by worker processes.
    pub fn at(path: PathBuf, processes: WorkerProcesses) -> Self {
        SqliteDatabase { path: path.into(), processes }
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn open(&self, access: FileAccess) -> Result<Arc<Session>, Error> {
        let session = SqliteSession::open(&self.processes, &self.path, access).await?;
        Ok(Arc::new(Session::Sqlite(session)))
    }
}

impl Database {
    /// The transport; the dialect must support it.
    pub fn transport(&self) -> Transport {
        match self {
            Database::Sqlite(_) => Transport::Sqlite,
            Database::Server(server) => server.transport(),
        }
    }

    /// A read-only session.
    pub(crate) async fn open_to_read(&self) -> Result<Arc<Session>, Error> {
        self.open(Purpose::Read).await
    }

    /// A session for changes.
    pub(crate) async fn open_to_change(&self) -> Result<Arc<Session>, Error> {
        self.open(Purpose::Change).await
    }

    /// A session for queries. It is read-only, or becomes so once its views are created. One on a server is not reused,
    /// before or afterwards: a statement may have left something in it.
    pub(crate) async fn open_to_query(&self, makes_views: bool) -> Result<Arc<Session>, Error> {
        let session = match self {
            // Views need another authorizer, which comes with them.
            Database::Sqlite(_) if makes_views => return self.open(Purpose::Read).await,
            Database::Sqlite(file) => return file.open(FileAccess::Query).await,
            Database::Server(server) if makes_views => server.open_new(Purpose::Change).await?,
            Database::Server(server) => server.open_new(Purpose::Read).await?,
        };
        session.keep_from_others();
        Ok(Arc::new(Session::Server(session)))
    }

    async fn open(&self, purpose: Purpose) -> Result<Arc<Session>, Error> {
        match (self, purpose) {
            (Database::Sqlite(file), Purpose::Read) => file.open(FileAccess::Read).await,
            (Database::Sqlite(file), Purpose::Change) => file.open(FileAccess::Change).await,
            (Database::Server(server), _) => Ok(Arc::new(Session::Server(server.open(purpose).await?))),
        }
    }
}
