//! The session of a task has a name in its database, by which another server ends it when the task's own server is gone.
//!
//! In PostgreSQL it is the name of the application. In MySQL and MariaDB it is a lock, which the database releases with the
//! session, after its transaction has ended: so the lock tells the session's id, and no other session is taken for it.

use std::time::Duration;

use lakeport_bindings::host::types::Error;
use lakeport_sql::Transport;
use tokio::time::{Instant, sleep};

use crate::errors::is_lost;
use crate::mark::{TIMEOUT, first_text};
use crate::session::Session;

/// How long a session may take to end: it rolls back.
const END_PATIENCE: Duration = Duration::from_secs(5);
const END_INTERVAL: Duration = Duration::from_millis(20);

/// Gives the session this name; false: it can have none.
pub async fn name_session(session: &Session, name: &str) -> Result<bool, Error> {
    session.keep_from_others();
    match session.transport() {
        Transport::Sqlite | Transport::Http => Ok(false),
        Transport::Postgres => {
            session.own(&format!("SET application_name TO '{name}'"), TIMEOUT).await?;
            Ok(true)
        }
        Transport::MySql => {
            let locked = first_text(session, &format!("SELECT CAST(GET_LOCK('{name}', 0) AS CHAR)")).await;
            match locked {
                Ok(locked) => Ok(locked.as_deref() == Some("1")),
                Err(error) if is_lost(&error) => Err(error),
                // Some clusters have no such locks.
                Err(error) => {
                    tracing::debug!("a task's session has no name: {}", error.message);
                    Ok(false)
                }
            }
        }
    }
}

/// Ends the session of this name; false: it has not ended yet.
pub async fn end_session(session: &Session, name: &str) -> Result<bool, Error> {
    let until = Instant::now() + END_PATIENCE;
    loop {
        let is_there = match session.transport() {
            Transport::Sqlite | Transport::Http => false,
            Transport::Postgres => {
                let end = format!(
                    "SELECT CAST(pg_catalog.pg_terminate_backend(pid) AS text) FROM pg_catalog.pg_stat_activity \
                     WHERE application_name = '{name}' AND pid <> pg_catalog.pg_backend_pid()"
                );
                first_text(session, &end).await?.is_some()
            }
            Transport::MySql => {
                let holder = format!("SELECT CAST(IS_USED_LOCK('{name}') AS CHAR)");
                let id = first_text(session, &holder).await?.and_then(|id| id.parse::<u64>().ok());
                if let Some(id) = id
                    && let Err(error) = session.own(&format!("KILL {id}"), TIMEOUT).await
                {
                    if is_lost(&error) {
                        return Err(error);
                    }
                    // It may have ended in between; otherwise it is still there in the end.
                    tracing::debug!("a task's session is not ended yet: {}", error.message);
                }
                id.is_some()
            }
        };
        if !is_there || Instant::now() >= until {
            return Ok(!is_there);
        }
        sleep(END_INTERVAL).await;
    }
}
