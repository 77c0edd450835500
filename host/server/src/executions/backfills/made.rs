//! Backfills that an engine makes itself, because its configuration asks for that: one call with all dates, whose runs the
//! watcher finds. Each becomes a row of the backfill as it is seen.
//!
//! Before the engine is called, the store says that it is asked. From then on the host begins no date, until the engine
//! itself has said that it makes none of them.

use std::collections::HashMap;
use std::time::Duration;

use lakeport_base::{Error, failpoints};
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted, Dates};
use lakeport_bindings::engine::model::{Target, WorkflowRef};
use lakeport_store::Tx;
use tokio::time::{Instant, sleep};

use super::active::row_of;
use super::announce;
use super::calls::{Call, Failure, NOT_DEPLOYED, PATIENCE, RETRY_WAIT, RETRY_WAIT_MAX, Said};
use super::progress::Row;
use super::store::{self, Backfill, MadeRun, Maker, State};
use super::worker::POLL;
use crate::engines::{self, EngineClient, EngineRecord, Failure as CallFailure};
use crate::executions::runs;
use crate::executions::watch::kept_message;
use crate::workflows;
use crate::workflows::forms::{Concurrency, FailureStrategy};
use crate::workflows::versions::Snapshot;

/// How long the engine must have been watched without a change, after a date has failed or a cancel, until no further
/// date is expected.
const LAST_MS: i64 = 30_000;
/// The same after a cancel before any run was seen: its first command may still wait.
const FIRST_MS: i64 = 120_000;
/// Looks at an engine that are further apart count for so long: between them it was not watched.
const LOOK_MAX_MS: i64 = 15_000;
/// The same while all went well: the engine has lost the rest.
const STALLED_MS: i64 = 10 * 60_000;
/// The interval of looking for one whose start was left open.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The message of one that does not go on.
const STALLED: &str = "the engine has begun no further date for ten minutes";

/// Whether its engine may be asked for all of it: several dates of one workflow, of which nothing was begun.
pub fn may_be(backfill: &Backfill, has_begun: bool) -> bool {
    backfill.steps.len() == 1 && backfill.dates.len() > 1 && !has_begun
}

/// What is known of one that its engine makes.
pub struct Made {
    pub engine: String,
    pub code: String,
    /// By position: the engine's id of the run, and how it does.
    runs: HashMap<usize, (String, Row)>,
    /// When its engine was last watched, `None`: not since this server works on it; and how long without a change.
    seen_ms: Option<i64>,
    still_ms: i64,
    /// The engine was asked to stop it since.
    pub was_stopped: bool,
}

/// A run that is new, or has changed.
pub struct News {
    position: usize,
    instance_id: String,
    row: Row,
    message: Option<String>,
}

/// How one ended that its engine has made.
pub struct MadeEnd {
    pub state: State,
    pub message: Option<&'static str>,
}

impl Made {
    pub fn new(engine: String, code: String, begun: &[store::Begun]) -> Made {
        let row = |state: &str, key: &str| match state {
            "success" => Row::Success,
            "failed" => Row::Failed,
            "cancelled" => Row::Cancelled,
            _ => Row::Running(key.to_owned()),
        };
        let run = |one: &store::Begun| {
            let instance_id = one.instance_id.clone().unwrap_or_default();
            (one.position, (instance_id, row(&one.state, &one.key)))
        };
        let runs = begun.iter().map(run).collect();
        Made { engine, code, runs, seen_ms: None, still_ms: 0, was_stopped: false }
    }

    /// The runs that differ from what is known. Of several of one date the last one counts.
    pub fn news(&self, backfill: &Backfill, seen: Vec<MadeRun>, is_stopping: bool) -> Vec<News> {
        let places: HashMap<i64, usize> =
            backfill.dates.iter().enumerate().map(|(position, date)| (*date, position)).collect();
        let mut latest: HashMap<usize, MadeRun> = HashMap::new();
        for run in seen {
            if let Some(position) = places.get(&run.business_time_ms) {
                latest.insert(*position, run);
            }
        }
        let news = latest.into_iter().map(|(position, run)| {
            let row = match run.has_ended {
                true => row_of(&run.state, is_stopping),
                false => Row::Running(key(backfill, position)),
            };
            News { position, instance_id: run.instance_id, row, message: run.message }
        });
        // One that had ended before a cancel stays as it was.
        let is_known = |news: &News| {
            self.runs.get(&news.position).is_some_and(|(instance_id, row)| {
                let have_ended = row.key().is_none() && news.row.key().is_none();
                *instance_id == news.instance_id && (*row == news.row || have_ended)
            })
        };
        news.filter(|news| !is_known(news)).collect()
    }

    /// Takes in what is new. `seen_ms`: when its engine was last watched, read before the news.
    pub fn take_in(&mut self, news: Vec<News>, seen_ms: Option<i64>) {
        let is_moving = !news.is_empty() || self.is_running();
        for one in news {
            self.runs.insert(one.position, (one.instance_id, one.row));
        }
        let step_ms = seen_ms.zip(self.seen_ms).map_or(0, |(now_ms, before_ms)| now_ms - before_ms);
        self.seen_ms = seen_ms;
        self.still_ms += step_ms.clamp(0, LOOK_MAX_MS);
        if is_moving || self.is_running() {
            (self.still_ms, self.was_stopped) = (0, false);
        }
    }

    /// A cancel was asked for.
    pub fn note_cancel(&mut self) {
        (self.still_ms, self.was_stopped) = (0, false);
    }

    /// Whether its engine is to be asked to stop it: for a cancel, or because it does not go on.
    pub fn is_to_stop(&self, dates: usize, is_stopping: bool) -> bool {
        is_stopping || !self.was_stopped && self.gives_up(dates)
    }

    /// Whether no further date is expected.
    fn gives_up(&self, dates: usize) -> bool {
        let has_failed = self.runs.values().any(|(_, row)| *row == Row::Failed);
        let patience_ms = if has_failed { LAST_MS } else { STALLED_MS };
        !self.is_running() && self.runs.len() < dates && self.still_ms >= patience_ms
    }

    fn is_running(&self) -> bool {
        self.runs.values().any(|(_, row)| row.key().is_some())
    }

    /// The engine's ids of the runs that go on.
    pub fn running(&self) -> Vec<String> {
        let running = self.runs.values().filter(|(_, row)| row.key().is_some());
        running.map(|(instance_id, _)| instance_id.clone()).collect()
    }

    /// How it ended, if nothing more is to come.
    pub fn ended(&self, dates: usize, is_stopping: bool) -> Option<MadeEnd> {
        if self.is_running() {
            return None;
        }
        let has_failed = self.runs.values().any(|(_, row)| matches!(row, Row::Failed | Row::Cancelled));
        let after_cancel_ms = if self.runs.is_empty() { FIRST_MS } else { LAST_MS };
        let end = |state, message| Some(MadeEnd { state, message });
        match (is_stopping, self.runs.len() >= dates) {
            (true, true) => end(State::Cancelled, None),
            (true, false) if self.was_stopped && self.still_ms >= after_cancel_ms => {
                end(State::Cancelled, None)
            }
            (false, true) if has_failed => end(State::Failed, None),
            (false, true) => end(State::Success, None),
            (false, false) if self.was_stopped && self.gives_up(dates) => {
                end(State::Failed, (!has_failed).then_some(STALLED))
            }
            _ => None,
        }
    }
}

/// Of the row of a date.
fn key(backfill: &Backfill, position: usize) -> String {
    format!("{}/{position}", backfill.key)
}

/// Writes what is new of a backfill.
pub async fn write(tx: &mut Tx, backfill: &Backfill, news: &[News]) -> Result<(), Error> {
    for one in news {
        let key = key(backfill, one.position);
        store::begin(tx, backfill.id, (one.position, 0), &key).await?;
        store::set_instance(tx, backfill.id, &key, &one.instance_id).await?;
        let state = match one.row {
            Row::Success => "success",
            Row::Failed => "failed",
            Row::Cancelled => "cancelled",
            _ => "running",
        };
        store::end_run(tx, &key, state, one.message.as_deref()).await?;
    }
    if !news.is_empty() {
        announce(tx, backfill.id);
    }
    Ok(())
}

/// Asking an engine.
impl Call {
    /// Asks the engine to make the backfill, if it can. Fails only if the server's own store fails.
    pub(super) async fn try_ask(&self) -> Result<Said, Error> {
        if let Maker::Asked(engine) = &self.backfill.maker {
            return self.look_for(engine).await;
        }
        let Some((client, request)) = self.able().await? else { return Ok(Said::Host) };
        let engine = client.name().to_owned();
        let give_up = Instant::now() + PATIENCE;
        let mut wait = RETRY_WAIT;
        loop {
            if self.is_stopping().await? {
                return Ok(Said::Host);
            }
            self.note_asked(Some(engine.as_str())).await?;
            failpoints::reach("backfill.asked");
            let error = match client.start_backfill(&request).await {
                Ok(started) => {
                    failpoints::reach("backfill.accepted");
                    return self.note_made(&engine, &started).await;
                }
                // Only the engine can say whether it makes it.
                Err(CallFailure::Open(error)) => {
                    tracing::warn!(
                        backfill = self.backfill.id,
                        engine,
                        "it is not known whether it began: {error}"
                    );
                    return self.look_for(&engine).await;
                }
                Err(CallFailure::Refused(error)) => error,
            };
            self.note_asked(None).await?;
            if error.code() == "unsupported_by_engine" {
                return Ok(Said::Host);
            }
            if !engines::is_momentary(&error) || Instant::now() + wait > give_up {
                let message = kept_message(error.message());
                return Ok(Said::Refused(Failure { code: error.code(), message }));
            }
            sleep(wait).await;
            wait = (wait * 2).min(RETRY_WAIT_MAX);
        }
    }

    /// A client of its engine, and what that is asked for, if it makes such backfills. What is not known of it now is found
    /// out when a run is begun.
    async fn able(&self) -> Result<Option<(EngineClient, BackfillRequest)>, Error> {
        let backfill = &self.backfill;
        let Some(workflow) = workflows::find(&self.state.db, self.workflow_id()).await? else {
            return Ok(None);
        };
        let (Some(deployed), Some(version)) = (workflow.in_engine(), workflow.published_version) else {
            return Ok(None);
        };
        let Some(record) = self.configured(&deployed.engine).await? else { return Ok(None) };
        let client = EngineClient::of(&self.state.engines, &record, &self.id());
        let id = deployed.id.unsigned_abs();
        let has = |feature| client.has_feature(id, feature).unwrap_or_default();
        let is_parallel = backfill.parallelism > 1;
        let is_able = client.has_backfills(id).unwrap_or_default()
            && has("backfill_list")
            && (!is_parallel || has("backfill_parallel"))
            && (backfill.strategy != FailureStrategy::End || has("failure_end"));
        if !is_able {
            return Ok(None);
        }
        let at_most = client.info(Some(id)).await.map(|info| info.max_backfill_dates as usize);
        if !at_most.is_ok_and(|at_most| at_most == 0 || backfill.dates.len() <= at_most) {
            return Ok(None);
        }
        // Dates of a workflow that runs one at a time take turns, which only the host gives them.
        let snapshot = Snapshot::read(&self.state.db, workflow.id, version).await?;
        let takes_turns = snapshot.is_none_or(|one| one.content.concurrency != Concurrency::Parallel);
        Ok((!takes_turns).then(|| (client, request(backfill, deployed.reference()))))
    }

    /// Looks for one whose start was left open, as long as the engine may take until it shows it. Without an answer nothing
    /// is known: it is looked for again at the next look.
    async fn look_for(&self, engine: &str) -> Result<Said, Error> {
        let (Some(record), Some(workflow)) =
            (self.configured(engine).await?, self.deployed_at(engine).await?)
        else {
            let message = format!(
                "the workflow was taken off the engine `{engine}`, which had been asked for the backfill; whether it \
                 makes it is not known"
            );
            return Ok(Said::Refused(Failure { code: NOT_DEPLOYED, message }));
        };
        let client = EngineClient::of(&self.state.engines, &record, &self.id());
        let Ok(info) = client.info(Some(workflow.id)).await else {
            sleep(POLL).await;
            return Ok(Said::Open);
        };
        let until = Instant::now() + Duration::from_millis(info.settle_ms.into());
        loop {
            let (key, asked_ms) = (self.backfill.key.as_str(), self.backfill.requested_at_ms);
            match client.find_backfill(&workflow, key, asked_ms).await {
                Ok(Some(started)) => return self.note_made(engine, &started).await,
                Ok(None) if Instant::now() >= until => break,
                Ok(None) => sleep(LOOK_INTERVAL).await,
                Err(error) => {
                    tracing::debug!(backfill = self.backfill.id, engine, "it is not found yet: {error}");
                    sleep(POLL).await;
                    return Ok(Said::Open);
                }
            }
        }
        // The engine does not make it, so it may be asked again.
        self.note_asked(None).await?;
        let asked_for_ms = self.state.clock.now_ms() - self.backfill.requested_at_ms;
        if u128::try_from(asked_for_ms).is_ok_and(|asked_for| asked_for > PATIENCE.as_millis()) {
            let message = format!("the engine `{engine}` was asked for it, and does not make it");
            return Ok(Said::Refused(Failure { code: "engine_unreachable", message }));
        }
        Ok(Said::Open)
    }

    /// `None`: there is no such engine any more.
    async fn configured(&self, engine: &str) -> Result<Option<EngineRecord>, Error> {
        match runs::engine_of(&self.state, engine).await {
            Ok(record) => Ok(Some(record)),
            Err(error) if error.code() == "engine_unavailable" => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The workflow, if it is deployed on this engine.
    async fn deployed_at(&self, engine: &str) -> Result<Option<WorkflowRef>, Error> {
        let deployed = workflows::find_deployed(&self.state.db, self.workflow_id()).await?;
        Ok(deployed.filter(|one| one.engine == engine).map(|one| one.reference()))
    }

    async fn is_stopping(&self) -> Result<bool, Error> {
        let now = store::progress(&self.state.db, self.backfill.id).await?;
        Ok(now.is_none_or(|now| now.state != State::Running))
    }

    async fn note_asked(&self, engine: Option<&str>) -> Result<(), Error> {
        let id = self.backfill.id;
        self.write(async |tx| store::set_asked(tx, id, engine).await).await
    }

    async fn note_made(&self, engine: &str, started: &BackfillStarted) -> Result<Said, Error> {
        let id = self.backfill.id;
        let notes = kept_message(&started.notes.join("; "));
        let notes = Some(notes.as_str()).filter(|notes| !notes.is_empty());
        self.write(async |tx| {
            store::set_made(tx, id, &started.trigger, notes).await?;
            announce(tx, id);
            // The watcher looks for its runs from now on.
            tx.changed(runs::TOPIC, engine.to_owned());
            Ok(())
        })
        .await?;
        Ok(Said::Made { engine: engine.to_owned(), code: started.trigger.clone() })
    }

    /// Asks the engine to stop all of it, and each run that is known to go on.
    pub(super) async fn try_stop_made(
        &self,
        engine: &str,
        code: &str,
        running: Vec<String>,
    ) -> Result<(), Error> {
        let Some(record) = self.configured(engine).await? else { return Ok(()) };
        let client = EngineClient::of(&self.state.engines, &record, &self.id());
        let workflow = self.deployed_at(engine).await?.unwrap_or_else(|| WorkflowRef {
            id: self.workflow_id().unsigned_abs(),
            name: self.backfill.workflow_name.clone(),
            code: None,
            project: None,
            revision: None,
            state: None,
        });
        let whole = Target::Backfill(code.to_owned());
        let mut stopped = client.cancel(&workflow, &whole).await.map(drop);
        for id in running {
            let one = client.cancel(&workflow, &Target::Instance(id)).await.map(drop);
            stopped = stopped.and(one);
        }
        stopped
    }
}

fn request(backfill: &Backfill, workflow: WorkflowRef) -> BackfillRequest {
    let mut dates = backfill.dates.clone();
    let is_descending = dates.first() > dates.last();
    dates.sort_unstable();
    let parallelism = u32::try_from(backfill.parallelism).ok().filter(|number| *number > 1);
    let mode = if parallelism.is_some() { "RUN_MODE_PARALLEL" } else { "RUN_MODE_SERIAL" };
    BackfillRequest {
        workflow,
        key: backfill.key.clone(),
        dates: Dates::Listed(dates),
        run_mode: mode.to_owned(),
        parallelism,
        dependent_mode: "OFF_MODE".to_owned(),
        all_level_dependent: false,
        execution_order: if is_descending { "DESC_ORDER" } else { "ASC_ORDER" }.to_owned(),
        failure_strategy: backfill.strategy.as_str().to_owned(),
        params: Vec::new(),
        extra: None,
    }
}

#[cfg(test)]
#[path = "made_tests.rs"]
mod tests;
