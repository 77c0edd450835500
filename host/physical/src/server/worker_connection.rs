//! One connection to a server, which a worker process holds.
//!
//! If the future of a statement is dropped, the connection is lost: its worker is killed with it. The timeouts
//! are the caller's.

use std::net::SocketAddr;
use std::time::Duration;

use lakeport_bindings::host::types::Error;
use lakeport_sql::ReadStatement;

use super::connection::Answer;
use super::login::{DriverSettings, Login};
use crate::errors::PROTOCOL_ERROR;
use crate::script::{Bounds, Ran, Shown};
use crate::worker::{Key, Place, Reply, Request, Target, Worker, WorkerProcesses};

/// Shorter passwords are not looked for in errors: they are a part of many words.
const HIDDEN_MIN_CHARS: usize = 4;

/// An open connection.
pub(crate) struct WorkerConnection {
    worker: Worker,
    password: Option<String>,
}

impl WorkerConnection {
    /// Connects to one address, without session settings.
    pub async fn open(
        processes: &WorkerProcesses,
        place: Place,
        login: &Login,
        address: SocketAddr,
        driver: DriverSettings,
    ) -> Result<WorkerConnection, Error> {
        let key = Key::Server { address, username: login.username.clone() };
        let mut worker = processes.take(key, place)?;
        let target = Target::Server { login: login.clone(), address, driver };
        match worker.ask(&Request::Open(target)).await {
            Ok(_) => Ok(WorkerConnection { worker, password: login.password.clone() }),
            Err(failed) => {
                // The process is not to blame.
                worker.close().await;
                Err(without_password(failed, login.password.as_deref()))
            }
        }
    }

    async fn ask(&mut self, request: &Request) -> Result<Reply, Error> {
        let reply = self.worker.ask(request).await;
        reply.map_err(|failed| without_password(failed, self.password.as_deref()))
    }

    /// Whether it can no longer be used.
    pub fn is_lost(&self) -> bool {
        self.worker.is_lost()
    }

    /// Applies and checks the settings that the host itself relies on, whatever the dialect set.
    pub async fn check_set_up(&mut self, reads_only: bool) -> Result<(), Error> {
        self.ask(&Request::SetUp { reads_only }).await.map(drop)
    }

    /// Checks that the server still answers.
    pub async fn check(&mut self) -> Result<(), Error> {
        self.ask(&Request::Check).await.map(drop)
    }

    /// Runs a judged statement, or the host's own, which may take so long; returns the number of changed rows.
    pub async fn execute(&mut self, sql: &str, timeout: Duration) -> Result<u64, Error> {
        match self.ask(&Request::Execute { sql: sql.to_owned(), timeout }).await? {
            Reply::Changed(rows) => Ok(rows),
            _ => Err(Worker::astray()),
        }
    }

    /// Reads the rows of a judged statement.
    pub async fn read(&mut self, statement: &ReadStatement, bounds: Bounds) -> Result<Answer, Error> {
        let ReadStatement { sql, binds } = statement.clone();
        match self.ask(&Request::Read { sql, binds, bounds }).await? {
            Reply::Rows { rows, has_more } => Ok(Answer { rows, has_more }),
            _ => Err(Worker::astray()),
        }
    }

    /// Runs a judged statement of a task, to its last row.
    pub async fn script(
        &mut self,
        sql: &str,
        changes_rows: bool,
        shown: Shown,
        timeout: Duration,
    ) -> Result<Ran, Error> {
        let request = Request::Script { sql: sql.to_owned(), changes_rows, shown, timeout };
        match self.ask(&request).await? {
            Reply::Ran(ran) => Ok(ran),
            _ => Err(Worker::astray()),
        }
    }

    /// Leaves its worker's place to others. False: it must not rest.
    pub fn rest(&mut self) -> bool {
        self.worker.rest()
    }

    /// Takes a place again.
    pub async fn wake(&mut self) -> Result<(), Error> {
        self.worker.wake().await
    }

    /// Closes the connection; the worker waits for another one.
    pub async fn close(self) {
        self.worker.close().await;
    }
}

/// After these errors the connection is of no further use.
pub(super) fn breaks(cause: &Error) -> bool {
    crate::errors::is_lost(cause) || cause.code == PROTOCOL_ERROR
}

/// A server that was given the password may say it, and what it says is shown.
fn without_password(mut failed: Error, password: Option<&str>) -> Error {
    let Some(password) = password.filter(|password| password.chars().count() >= HIDDEN_MIN_CHARS) else {
        return failed;
    };
    failed.message = failed.message.replace(password, "***");
    if let Some(upstream) = &mut failed.upstream {
        upstream.message = upstream.message.replace(password, "***");
    }
    failed
}

#[cfg(test)]
mod tests {
    use lakeport_bindings::host::error;

    use super::*;

    #[test]
    fn errors_do_not_hold_the_password() {
        let said = error("unauthorized", "your password is hunter2".to_owned());
        assert_eq!(without_password(said.clone(), Some("hunter2")).message, "your password is ***");
        assert_eq!(without_password(said.clone(), Some("is")).message, said.message);
        assert_eq!(without_password(said.clone(), None).message, said.message);
    }
}
