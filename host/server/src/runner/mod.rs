//! The embedded scheduler behind the engine `local`: it keeps workflows, runs and logs in Lakeport's own store,
//! and runs SQL on data sources.
//!
//! Asking and working are apart. Whoever asks (the engine's plugin, through [`Runner`], on any server) writes
//! rows and says what it changed; one server, the holder of a lease, follows that and works. All that it writes
//! of a run's progress is guarded by the lease, so that who lost it can write nothing. What was running when its
//! server ended runs again, once for each such end; what had ended does not.
//!
//! It knows neither HTTP nor the rooms of workflows and executions: they see it as they see any other engine.

mod definition;
pub mod parameters;
pub mod past;
mod progress;
mod refused;
mod requests;
mod store;
#[cfg(test)]
mod testing;
mod timer;
mod tries;
mod watch;
mod worker;

use chrono_tz::Tz;

use crate::app::Clock;
use crate::db::Db;
use crate::retention::Retained;
pub use worker::run_worker;

/// What the change log calls a change of a run, by its id; or of a workflow's timer, by `workflow/` and its id.
pub const TOPIC: &str = "runner";

/// What grows; what belongs to something stands before it.
pub const RETAINED: [Retained; 5] =
    [tries::store::LOGS, tries::store::TRIES, store::TAKEN_OVER, store::RUNS, store::REVISIONS];

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
