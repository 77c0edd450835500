//! Stopping, pausing and running again. DolphinScheduler refuses what does not fit the state of a run with
//! different codes in each version, so the state is read first.

use lakeport_sdk::engine::{Error, InstanceRef, Receipt, RetryRequest, Started, Target, WorkflowRef};

use crate::api::Api;
use crate::backfills;
use crate::instance::{self, is_final};

/// The run is executing a command already: the one that is asked for, or one before it.
const BUSY: i64 = 50_009;

/// A run with its state.
struct Run {
    api: Api,
    project: i64,
    id: String,
    word: String,
    state: &'static str,
    /// It has ended, but DolphinScheduler shows it as one that is to stop.
    is_stuck: bool,
    runs: u32,
}

impl Run {
    fn of(workflow: &WorkflowRef, id: &str) -> Result<Run, Error> {
        let api = Api::open()?;
        let project = api.project_of(workflow);
        let detail = instance::detail(&api, project, id)?;
        let detail = detail.ok_or_else(|| Error::not_found(format!("DolphinScheduler has no run {id}")))?;
        let (word, is_stuck) = (instance::word(&detail).to_owned(), instance::is_stuck(&detail));
        let runs = detail["runTimes"].as_u64().and_then(|runs| u32::try_from(runs).ok()).unwrap_or(1);
        let state = instance::state_now(id.parse().unwrap_or_default(), &word, runs);
        Ok(Run { api, project, id: id.to_owned(), word, state, is_stuck, runs })
    }

    fn is_final(&self) -> bool {
        is_final(self.state)
    }

    /// Whether it is in another state by now.
    fn has_changed(&self) -> Result<bool, Error> {
        let detail = instance::detail(&self.api, self.project, &self.id)?;
        Ok(detail.is_none_or(|detail| instance::word(&detail) != self.word))
    }

    fn ended(&self) -> Error {
        Error::conflict(format!("the run {} has ended as {}", self.id, self.word))
    }

    /// Has it do something. True: it is executing a command already.
    fn execute(&self, what: &str) -> Result<bool, Error> {
        let path = ["projects", &self.project.to_string(), "executors", "execute"];
        let form = vec![(self.api.flavour.instance_id, self.id.clone()), ("executeType", what.to_owned())];
        let refusal = match self.api.send("POST", &path, form)? {
            Ok(_) => return Ok(false),
            Err(refusal) if refusal.code == BUSY => return Ok(true),
            Err(refusal) => refusal,
        };
        let error = refusal.error(&format!("{what} of the run {}", self.id), false);
        // Each version has its own code for a run that is in another state; 3.3 says so under the code of all faults.
        let says_so =
            || ["status", "state", "can not", "cannot"].iter().any(|word| refusal.text.contains(word));
        let is_of_state = match refusal.code {
            50_006 | 50_015 => true,
            10_000 => says_so() || self.has_changed()?,
            _ => false,
        };
        Err(match is_of_state {
            true => Error { code: "conflict".to_owned(), retryable: false, ..error },
            false => error,
        })
    }
}

pub fn receipt(settled: bool, note: &str) -> Receipt {
    Receipt { settled, note: note.to_owned() }
}

pub fn cancel(workflow: &WorkflowRef, target: &Target) -> Result<Receipt, Error> {
    let id = match target {
        Target::Instance(id) => id,
        Target::Backfill(trigger) => return backfills::cancel(workflow, trigger),
    };
    let run = Run::of(workflow, id)?;
    match run.state {
        _ if run.is_final() => return Ok(receipt(true, "the run had ended")),
        "stopping" => return Ok(receipt(false, "the run is stopping already")),
        _ => {}
    }
    match run.execute("STOP") {
        Ok(_) => Ok(receipt(false, "DolphinScheduler stops the run")),
        // It may have ended meanwhile.
        Err(error) if error.code == "conflict" && Run::of(workflow, id)?.is_final() => {
            Ok(receipt(true, "the run had ended"))
        }
        Err(error) if error.code == "conflict" && run.state == "queued" => {
            let message =
                format!("DolphinScheduler does not stop the run {} before it has begun; try again", run.id);
            Err(Error::unavailable(message).retryable())
        }
        Err(error) if error.code == "conflict" && run.state == "paused" => {
            let message = format!(
                "DolphinScheduler {} does not stop a paused run; resume the run {} first",
                run.api.flavour.name, run.id
            );
            Err(Error { message, ..error })
        }
        Err(error) => Err(error),
    }
}

pub fn pause(of: &InstanceRef) -> Result<Receipt, Error> {
    let run = Run::of(&of.workflow, &of.id)?;
    match (run.state, run.word.as_str()) {
        ("paused", _) if instance::was_resumed(&run.id) => {
            let message = format!("the run {} is about to go on; try again", run.id);
            Err(Error::unavailable(message).retryable())
        }
        ("paused", _) => Ok(receipt(true, "the run is paused already")),
        (_, "READY_PAUSE") => Ok(receipt(false, "the run is pausing already")),
        _ if run.is_final() => Err(run.ended()),
        _ => {
            run.execute("PAUSE")?;
            instance::forget_resumed(&run.id);
            Ok(receipt(false, "no further task is begun"))
        }
    }
}

pub fn resume(of: &InstanceRef) -> Result<Receipt, Error> {
    let run = Run::of(&of.workflow, &of.id)?;
    match run.state {
        "paused" if instance::was_resumed(&run.id) => Ok(receipt(false, "the run goes on already")),
        "paused" => {
            run.execute("RECOVER_SUSPENDED_PROCESS")?;
            instance::note_resumed(&run.id);
            Ok(receipt(false, "the run goes on"))
        }
        _ if run.is_final() => Err(run.ended()),
        _ => Ok(receipt(true, "the run is not paused")),
    }
}

/// Runs it again within the same run, whose `runTimes` then grows. DolphinScheduler keeps no key of that: a
/// repeat finds the run under way, which is a conflict.
pub fn retry(request: &RetryRequest) -> Result<Started, Error> {
    let run = Run::of(&request.instance.workflow, &request.instance.id)?;
    let what = match (request.scope.as_str(), run.state) {
        (_, state) if !is_final(state) => {
            let is_again = is_final(instance::state(&run.word));
            let why = if is_again { "is being run again already" } else { "has not ended" };
            return Err(Error::conflict(format!("the run {} {why}", run.id)));
        }
        ("failed", "success") => {
            return Err(Error::conflict(format!("no task of the run {} has failed", run.id)));
        }
        _ if run.is_stuck => {
            let message = format!(
                "the run {} stays as it is: DolphinScheduler takes it for one that is to stop",
                run.id
            );
            return Err(Error::unsupported(message));
        }
        // 3.3 runs the tasks again that were killed, also at their timeout.
        ("failed", "stopped") if run.api.flavour.stops_at_timeout => "RECOVER_SUSPENDED_PROCESS",
        ("failed", _) => "START_FAILURE_TASK_PROCESS",
        ("all", _) => "REPEAT_RUNNING",
        (scope, _) => return Err(Error::unsupported(format!("a retry of the scope {scope:?} is not known"))),
    };
    if run.execute(what)? {
        let message = format!("the run {} is being run again already", run.id);
        return Err(Error::conflict(message));
    }
    instance::note_again(run.id.parse().unwrap_or_default(), run.runs);
    Ok(Started::run(run.id, false))
}
