//! Backfills that an engine makes itself, because its configuration asks for that: one call with all dates, whose runs the
//! watcher finds. Each becomes a row of the backfill as it is seen.

use std::collections::HashMap;
use std::time::Duration;

use lakeport_base::Error;
use lakeport_bindings::engine::backfills::{BackfillRequest, BackfillStarted, Dates};
use lakeport_bindings::engine::model::{Target, WorkflowRef};
use lakeport_store::Tx;
use tokio::time::{Instant, sleep};

use super::progress::Row;
use super::store::{self, Backfill, MadeRun, Maker, State};
use super::worker::{
    Call, Failure, NOT_DEPLOYED, PATIENCE, RETRY_WAIT, RETRY_WAIT_MAX, Said, announce, row_of,
};
use crate::engines::{self, EngineClient, Failure as CallFailure};
use crate::executions::runs;
use crate::executions::watch::kept_message;
use crate::workflows;

/// How long nothing may happen after a date has failed, or a cancel, until no further date is expected.
const LAST: Duration = Duration::from_secs(30);
/// The same while all went well: the engine has lost the rest.
const STALLED: Duration = Duration::from_secs(10 * 60);
/// The interval of looking for one whose start was left open.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Whether its engine may be asked for all of it: several dates of one workflow, of which nothing was begun.
pub fn may_be(backfill: &Backfill, has_begun: bool) -> bool {
    backfill.steps.len() == 1 && backfill.dates.len() > 1 && !has_begun
}

/// What is known of one that its engine makes.
pub struct Made {
    /// By position: the engine's id of the run, and how it does.
    runs: HashMap<usize, (String, Row)>,
    /// When a run was begun, ran, or ended.
    moved: Instant,
}

/// A run that is new, or has changed.
pub struct News {
    position: usize,
    instance_id: String,
    row: Row,
    message: Option<String>,
}

impl Made {
    pub fn new(begun: &[store::Begun]) -> Made {
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
        Made { runs: begun.iter().map(run).collect(), moved: Instant::now() }
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
        let is_known = |news: &News| {
            self.runs
                .get(&news.position)
                .is_some_and(|(instance_id, row)| *instance_id == news.instance_id && *row == news.row)
        };
        news.filter(|news| !is_known(news)).collect()
    }

    pub fn take_in(&mut self, news: Vec<News>) {
        if !news.is_empty() || self.is_running() {
            self.moved = Instant::now();
        }
        for one in news {
            self.runs.insert(one.position, (one.instance_id, one.row));
        }
    }

    pub fn is_running(&self) -> bool {
        self.runs.values().any(|(_, row)| row.key().is_some())
    }

    /// Whether nothing more is to come.
    pub fn has_ended(&self, dates: usize, is_stopping: bool) -> bool {
        if self.is_running() {
            return false;
        }
        let is_last = is_stopping || self.runs.values().any(|(_, row)| *row != Row::Success);
        self.runs.len() >= dates || self.moved.elapsed() >= if is_last { LAST } else { STALLED }
    }

    /// All dates were successful.
    pub fn is_success(&self, dates: usize) -> bool {
        self.runs.len() >= dates && self.runs.values().all(|(_, row)| *row == Row::Success)
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
        let Some(deployed) = workflows::find_deployed(&self.state.db, self.workflow_id()).await? else {
            let message = format!("the workflow {} is not deployed any more", self.workflow_id());
            return Ok(Said::Refused(Failure { code: NOT_DEPLOYED, message }));
        };
        let record = match runs::engine_of(&self.state, &deployed.engine).await {
            Ok(record) => record,
            // Its runs are refused for the same reason, with their own patience.
            Err(error) if error.code() == "engine_unavailable" => return Ok(Said::Host),
            Err(error) => return Err(error),
        };
        let client = EngineClient::of(&self.state.engines, &record, &self.id());
        let workflow = deployed.reference();
        if !is_able(&client, &workflow, &self.backfill).await {
            return Ok(Said::Host);
        }
        let request = request(&self.backfill, workflow);
        if self.backfill.maker == Maker::Asked
            && let Some(started) = self.found(&client, &request).await?
        {
            return self.note_made(&started).await;
        }
        let give_up = Instant::now() + PATIENCE;
        let mut wait = RETRY_WAIT;
        loop {
            let now = store::progress(&self.state.db, self.backfill.id).await?;
            if now.is_some_and(|now| now.state != State::Running) {
                return Ok(Said::Host);
            }
            self.note_maker(Maker::Asked).await?;
            let error = match client.start_backfill(&request).await {
                Ok(started) => return self.note_made(&started).await,
                Err(CallFailure::Refused(error)) if error.code() == "unsupported_by_engine" => {
                    self.note_maker(Maker::Host).await?;
                    return Ok(Said::Host);
                }
                Err(CallFailure::Refused(error)) => error,
                Err(CallFailure::Open(error)) => match self.found(&client, &request).await? {
                    Some(started) => return self.note_made(&started).await,
                    None => error,
                },
            };
            if !engines::is_momentary(&error) || Instant::now() + wait > give_up {
                let message = kept_message(error.message());
                return Ok(Said::Refused(Failure { code: error.code(), message }));
            }
            sleep(wait).await;
            wait = (wait * 2).min(RETRY_WAIT_MAX);
        }
    }

    /// Looks for one whose start was left open, as long as the engine may take until it shows it.
    async fn found(
        &self,
        client: &EngineClient,
        request: &BackfillRequest,
    ) -> Result<Option<BackfillStarted>, Error> {
        let settle_ms = match client.info(Some(request.workflow.id)).await {
            Ok(info) => info.settle_ms,
            Err(_) => 0,
        };
        let until = Instant::now() + Duration::from_millis(settle_ms.into());
        loop {
            let asked_ms = self.backfill.requested_at_ms;
            match client.find_backfill(&request.workflow, &request.key, asked_ms).await {
                Ok(Some(started)) => return Ok(Some(started)),
                Ok(None) if Instant::now() >= until => return Ok(None),
                Ok(None) => {}
                // Without an answer nothing is known of it: it is not asked for once more.
                Err(error) if engines::is_momentary(&error) => {}
                Err(_) => return Ok(None),
            }
            sleep(LOOK_INTERVAL).await;
        }
    }

    async fn note_maker(&self, maker: Maker) -> Result<(), Error> {
        let id = self.backfill.id;
        self.write(async |tx| store::set_maker(tx, id, maker).await).await
    }

    async fn note_made(&self, started: &BackfillStarted) -> Result<Said, Error> {
        let id = self.backfill.id;
        let notes = kept_message(&started.notes.join("; "));
        let notes = Some(notes.as_str()).filter(|notes| !notes.is_empty());
        self.write(async |tx| {
            store::set_made_by_engine(tx, id, &started.trigger, notes).await?;
            announce(tx, id);
            Ok(())
        })
        .await?;
        // The watcher looks for its runs from now on.
        Ok(Said::Made(started.trigger.clone()))
    }

    /// Asks the engine to stop all of it.
    pub(super) async fn try_stop_made(&self, code: &str) -> Result<(), Error> {
        let Some(deployed) = workflows::find_deployed(&self.state.db, self.workflow_id()).await? else {
            return Ok(());
        };
        let record = runs::engine_of(&self.state, &deployed.engine).await?;
        let client = EngineClient::of(&self.state.engines, &record, &self.id());
        client.cancel(&deployed.reference(), &Target::Backfill(code.to_owned())).await.map(drop)
    }
}

/// Whether the plugin makes backfills of so many dates. What it does not say is found out when a run is begun.
async fn is_able(client: &EngineClient, workflow: &WorkflowRef, backfill: &Backfill) -> bool {
    let able = client.has_backfills(workflow.id).unwrap_or_default();
    let has = |feature| client.has_feature(workflow.id, feature).unwrap_or_default();
    let at_most = match client.info(Some(workflow.id)).await {
        Ok(info) if info.max_backfill_dates > 0 => info.max_backfill_dates as usize,
        Ok(_) => usize::MAX,
        Err(_) => return false,
    };
    let is_parallel = backfill.parallelism > 1;
    able && backfill.dates.len() <= at_most
        && has("backfill_list")
        && (!is_parallel || has("backfill_parallel"))
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
