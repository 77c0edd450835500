//! The embedded scheduler behind the engine `local`: it stores workflows, runs and logs in Lakeport's own
//! store, and runs SQL on data sources.
//!
//! Requests and execution are separate. A request (of the engine's plugin, through [`LocalScheduler`], on any
//! server) writes rows and announces the change; a worker on each server follows the changes and works on the
//! runs that are its own (see [`share`]). Its lease guards all of its writes about a run's progress, so that a
//! worker that lost it can write nothing. A task that was running when its server ended runs again, once per
//! such end; finished tasks do not.
//!
//! It knows neither HTTP nor the modules of workflows and executions: they treat it like any other engine.

mod attempts;
mod definition;
mod lost;
pub mod parameters;
mod progress;
mod refused;
mod requests;
pub mod seed;
mod share;
mod store;
#[cfg(test)]
mod testing;
mod timer;
mod watch;
mod worker;

pub use attempts::shell::{Supervisor, VERB as SUPERVISE, supervise};

use std::sync::Arc;

use chrono_tz::Tz;
use lakeport_base::Clock;
use lakeport_store::Db;

use crate::core::{Core, stands_on_core};
use crate::datasources::Datasources;
use crate::part::{Part, RetentionRule, Start, Worker};
use crate::tables::Catalog;

/// The change log's topic of what workers are asked to do: of runs, by id; of workflows' timers, by `workflow/` and id; and
/// of [`FREED`].
const TOPIC: &str = "runner";
/// The key of runs that are free again.
const FREED: &str = "freed";
/// The topic of what the worker has done, by run: for those who watch runs, not for the worker.
const PROGRESS: &str = "runner-progress";
/// All changes of runs.
pub const TOPICS: [&str; 2] = [TOPIC, PROGRESS];

/// The executing side of the scheduler: it runs on data sources, and records which tables of the catalogue
/// its tasks read.
pub struct Scheduler {
    core: Arc<Core>,
    datasources: Arc<Datasources>,
    catalog: Arc<Catalog>,
}

stands_on_core!(Scheduler);

impl Scheduler {
    pub fn new(core: &Arc<Core>, datasources: &Arc<Datasources>, catalog: &Arc<Catalog>) -> Scheduler {
        Scheduler {
            core: Arc::clone(core),
            datasources: Arc::clone(datasources),
            catalog: Arc::clone(catalog),
        }
    }
}

pub fn part() -> Part<Scheduler> {
    let kept = |retained| RetentionRule::days(retained, |settings| settings.runner_days);
    Part {
        workers: vec![Worker::new(Start::AfterSetUp, worker::run_worker)],
        retained: RETAINED.map(kept).into(),
        ..Part::default()
    }
}

/// Growing tables; dependent rows come first.
const RETAINED: [lakeport_store::Retained; 5] =
    [attempts::store::LOGS, attempts::store::TRIES, store::TAKEN_OVER, store::RUNS, store::REVISIONS];

/// The requesting side of the scheduler.
pub struct LocalScheduler {
    db: Db,
    clock: Clock,
    /// For workflows without a schedule, which would have its own zone.
    zone: Tz,
}

impl LocalScheduler {
    pub fn new(db: Db, clock: Clock, zone: Tz) -> LocalScheduler {
        LocalScheduler { db, clock, zone }
    }
}

/// The key of a workflow's timer in the change log.
fn timer_key(workflow_id: i64) -> String {
    format!("workflow/{workflow_id}")
}
