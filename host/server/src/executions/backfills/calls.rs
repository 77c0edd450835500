//! Calls of a backfill to its engine. A call goes on while the engine is away, until its patience or the worker's time is over.

use std::sync::Arc;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_store::{Held, Tx};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::store::{self, Backfill, State};
use super::worker::{AGAIN, POLL};
use super::{CAUSE, announce};
use crate::engines;
use crate::execution_records::Run;
use crate::executions::Executions;
use crate::executions::runs::{self, Start};
use crate::executions::watch::kept_message;
use crate::workflows;

/// The pause before a start is tried again while the engine is away: the first one, and the longest.
pub const RETRY_WAIT: Duration = Duration::from_millis(500);
pub const RETRY_WAIT_MAX: Duration = Duration::from_secs(30);
/// How long one start is tried.
pub const PATIENCE: Duration = Duration::from_secs(5 * 60);

/// The code of a workflow that is gone.
pub const NOT_DEPLOYED: &str = "not_deployed";

/// The outcome of a call.
pub enum Said {
    /// The engine makes all of it, under this code.
    Made { engine: String, code: String },
    /// Its runs are begun here.
    Host,
    /// The engine has it under this key.
    Started(String),
    /// The engine was asked for it under this key, and its answer is not known: its watcher finds it, or ends it.
    Asked(String),
    /// It will not run, for this reason.
    Refused(Failure),
    /// Another run of its workflow, which allows one at a time, is active.
    NotYet,
    /// The engine was asked to stop it.
    Stopping,
    /// Nothing is known; look again.
    Open,
}

/// Why a run was not started.
#[derive(Clone)]
pub struct Failure {
    pub code: &'static str,
    pub message: String,
}

/// A call about one run, or about all of them, to its engine.
pub struct Call {
    pub state: Arc<Executions>,
    pub held: Arc<Held>,
    pub halted: CancellationToken,
    pub backfill: Arc<Backfill>,
    pub position: usize,
    pub place: usize,
    /// It was not its turn before.
    pub has_waited: bool,
}

impl Call {
    /// Starts the run; while the engine is away, again and again. `key`: of a start whose outcome is not known.
    pub async fn start(self, key: Option<String>) -> Said {
        self.until_halted(self.try_start(key)).await
    }

    /// Asks the engine to make all of it; while the engine is away, again and again.
    pub async fn ask(self) -> Said {
        self.until_halted(self.try_ask()).await
    }

    async fn until_halted(&self, trying: impl Future<Output = Result<Said, Error>>) -> Said {
        match self.halted.run_until_cancelled(trying).await {
            None => Said::Open,
            Some(Ok(said)) => said,
            Some(Err(error)) => {
                tracing::warn!(backfill = self.backfill.id, "a run of a backfill is begun later: {error}");
                self.halted.run_until_cancelled(sleep(AGAIN)).await;
                Said::Open
            }
        }
    }

    /// Fails only if the server's own store fails.
    async fn try_start(&self, resumed: Option<String>) -> Result<Said, Error> {
        if let Some(key) = resumed {
            match self.state_of(&key).await? {
                Asked::Has(instance_id) => {
                    self.note_instance(&key, &instance_id).await?;
                    return Ok(Said::Started(key));
                }
                Asked::Unknown => return Ok(Said::Asked(key)),
                Asked::Not => {}
            }
        }
        // Asking the engine would be refused again.
        if self.has_waited && runs::store::has_open(&self.state.db, self.workflow_id()).await? {
            return Ok(Said::NotYet);
        }
        let give_up = Instant::now() + PATIENCE;
        let mut wait = RETRY_WAIT;
        loop {
            let Some(key) = self.begin().await? else { return Ok(Said::Open) };
            failpoints::reach("backfill.begun");
            let error = match self.started(&key).await {
                Ok(instance_id) => {
                    self.note_instance(&key, &instance_id).await?;
                    return Ok(Said::Started(key));
                }
                Err(error) => error,
            };
            if matches!(error, Error::Internal(_)) || ["lease_lost", "store_busy"].contains(&error.code()) {
                return Err(error);
            }
            match self.state_of(&key).await? {
                Asked::Has(_) | Asked::Unknown => return Ok(Said::Asked(key)),
                Asked::Not => {}
            }
            if engines::has_no_turn(&error) {
                self.write(async |tx| {
                    store::forget_run(tx, &key).await?;
                    runs::store::forget_unstarted(tx, &key).await
                })
                .await?;
                return Ok(Said::NotYet);
            }
            if !engines::is_momentary(&error) || Instant::now() + wait > give_up {
                let failure = Failure { code: error.code(), message: kept_message(error.message()) };
                let message = Some(failure.message.as_str());
                self.write(async |tx| store::end_run(tx, &key, "failed", message).await).await?;
                return Ok(Said::Refused(failure));
            }
            sleep(wait).await;
            wait = (wait * 2).min(RETRY_WAIT_MAX);
        }
    }

    /// Notes that the run begins, under a new key; `None`: the backfill is to stop.
    async fn begin(&self) -> Result<Option<String>, Error> {
        let key = Uuid::now_v7().simple().to_string();
        let (id, run) = (self.backfill.id, (self.position, self.place));
        let now = store::progress(&self.state.db, id).await?;
        let goes_on = now.is_some_and(|now| now.state == State::Running);
        self.write(async |tx| {
            store::begin(tx, id, run, &key).await?;
            if goes_on { Ok(()) } else { store::end_run(tx, &key, "cancelled", None).await }
        })
        .await?;
        Ok(goes_on.then_some(key))
    }

    async fn state_of(&self, key: &str) -> Result<Asked, Error> {
        let run = runs::store::find_by_key(&self.state.db, key).await?;
        Ok(match run {
            Some(Run { instance_id: Some(instance_id), .. }) => Asked::Has(instance_id),
            Some(run) if run.ended_at_ms.is_none() => Asked::Unknown,
            _ => Asked::Not,
        })
    }

    async fn started(&self, key: &str) -> Result<String, Error> {
        let workflow_id = self.workflow_id();
        let deployed = workflows::find_deployed(&self.state.db, workflow_id).await?;
        let not_there = || {
            let message = format!("the workflow {workflow_id} is not deployed any more");
            Error::conflict(NOT_DEPLOYED, message)
        };
        let deployed = deployed.ok_or_else(not_there)?;
        let start = Start {
            cause: CAUSE,
            business_time_ms: Some(self.backfill.dates[self.position]),
            failure_strategy: self.backfill.strategy.as_str(),
            part: None,
            guard: Some(&self.held),
        };
        runs::start_run(&self.state, &deployed, &start, Some(key.to_owned()), &self.id()).await
    }

    pub fn workflow_id(&self) -> i64 {
        self.backfill.steps[self.place].workflow_id
    }

    /// Of its calls, in logs.
    pub fn id(&self) -> String {
        format!("backfill-{}", self.backfill.id)
    }

    async fn note_instance(&self, key: &str, instance_id: &str) -> Result<(), Error> {
        let id = self.backfill.id;
        self.write(async |tx| {
            store::set_instance(tx, id, key, instance_id).await?;
            announce(tx, id);
            Ok(())
        })
        .await
    }

    /// Asks the engine to stop the run; it is asked again after a pause, until the run has ended.
    pub async fn stop(self, key: String) -> Said {
        let stopped = self.try_stop(&key).await;
        self.stopping(stopped).await
    }

    /// The same for all of it, which its engine makes.
    pub async fn stop_made(self, engine: String, code: String, running: Vec<String>) -> Said {
        let stopped = self.try_stop_made(&engine, &code, running).await;
        self.stopping(stopped).await
    }

    async fn stopping(&self, stopped: Result<(), Error>) -> Said {
        let said = match stopped {
            Ok(()) => Said::Stopping,
            Err(error) => {
                tracing::warn!(backfill = self.backfill.id, "a run of a backfill is stopped later: {error}");
                Said::Open
            }
        };
        self.halted.run_until_cancelled(sleep(POLL)).await;
        said
    }

    async fn try_stop(&self, key: &str) -> Result<(), Error> {
        let Some(run) = runs::store::find_by_key(&self.state.db, key).await? else { return Ok(()) };
        if run.instance_id.is_none() || run.ended_at_ms.is_some() {
            return Ok(());
        }
        let (client, Some(this)) = runs::at_engine(&self.state, &run, &self.id()).await? else {
            return Ok(());
        };
        runs::stop(&self.state, &run, &client, &this).await.map(drop)
    }

    /// One transaction under the lease.
    pub async fn write(&self, change: impl AsyncFnOnce(&mut Tx) -> Result<(), Error>) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(&self.held).await?;
        change(&mut tx).await?;
        tx.commit().await
    }
}

/// What is known of a start.
enum Asked {
    /// The engine has the run, under this id.
    Has(String),
    /// The engine was asked, and its answer is not known.
    Unknown,
    /// It was not asked, or refused.
    Not,
}
