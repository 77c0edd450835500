//! The embedded scheduler behind the engine `local`: it keeps workflows, runs and logs in Lakeport's own store,
//! and runs SQL on data sources.
//!
//! Asking and working are apart. Whoever asks (the engine's plugin, through [`Runner`], on any server) writes
//! rows and says what it changed; one server, the holder of a lease, follows that and works. All that it writes
//! of a run's progress is guarded by the lease, so that who lost it can write nothing. What was running when its
//! server ended runs again, once for each such end; what had ended does not.
//!
//! It knows neither HTTP nor the rooms of workflows and executions: they see it as they see any other engine.

mod attempts;
mod definition;
pub mod parameters;
mod progress;
mod refused;
mod requests;
pub mod seed;
mod store;
#[cfg(test)]
mod testing;
mod timer;
mod watch;
mod worker;

use std::sync::Arc;

use chrono_tz::Tz;
use lakeport_base::Clock;
use lakeport_store::Db;

use crate::core::{Core, stands_on_core};
use crate::datasources::Datasources;
use crate::part::{Part, RetentionRule, Start, Worker};
use crate::tables::Catalog;

/// What the change log calls a change of a run, by its id; or of a workflow's timer, by `workflow/` and its id.
pub const TOPIC: &str = "runner";

/// The scheduler as it works: on data sources, noting which tables of the catalogue its tasks read.
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

/// What grows; what belongs to something stands before it.
const RETAINED: [lakeport_store::Retained; 5] =
    [attempts::store::LOGS, attempts::store::TRIES, store::TAKEN_OVER, store::RUNS, store::REVISIONS];

/// The scheduler as it is asked.
pub struct Runner {
    db: Db,
    clock: Clock,
    /// For workflows without a schedule, which would have one of its own.
    zone: Tz,
}

impl Runner {
    pub fn new(db: Db, clock: Clock, zone: Tz) -> Runner {
        Runner { db, clock, zone }
    }
}

/// The key of a workflow's timer in the change log.
fn timer_key(workflow_id: i64) -> String {
    format!("workflow/{workflow_id}")
}
