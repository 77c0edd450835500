//! Checks an engine with a configured instance: the life of a workflow and its runs, as the host drives it.
//!
//! The kit deploys workflows of its own, runs them, and removes them. It asks only for what the engine exports
//! and declares as its features. A [`Subject`] answers the calls: [`Hosted`] is an engine over WebAssembly, in
//! the server's own plugin host. A [`Setting`] says which tasks the instance can run and how time passes.
//!
//! ```no_run
//! # use lakeport_conformance::engine::{Conformance, Hosted, Prints, Setting, Tasks};
//! # async fn check(engine: lakeport_plugins::engine::Engine) {
//! let tasks = Tasks {
//!     kind: "SHELL".to_owned(),
//!     datasource: None,
//!     settings: "{}".to_owned(),
//!     succeeds: "echo done".to_owned(),
//!     fails: "exit 1".to_owned(),
//!     endless: "sleep 600".to_owned(),
//!     slow: Some("sleep 5".to_owned()),
//!     log_has: Some("done".to_owned()),
//!     prints: Some(Prints {
//!         before: "echo ".to_owned(),
//!         after: String::new(),
//!         place: "script".to_owned(),
//!     }),
//! };
//! let subject = Hosted::new(engine, || lakeport_plugins::CallContext::new("conformance"));
//! let report = Conformance { subject, setting: Setting::new(tasks) }.run().await;
//! assert!(report.passed(), "{report}");
//! # }
//! ```

mod about;
mod backfills;
mod chattiness;
mod concurrency;
mod control;
mod definitions;
mod deploys;
mod errors;
mod failures;
mod features;
mod instance;
mod logs;
mod runs;
mod samples;
mod schedules;
mod setting;
mod subject;
mod trial;
mod values;
mod watcher;

use lakeport_bindings::engine::model::{Workflow, WorkflowRef};

pub use instance::{InstanceFile, check};
pub use setting::{Bounds, Prints, Setting, Tasks, Wait};
pub use subject::{Hosted, Subject};

use crate::report::{Area, Report};
use trial::Trial;

/// One run of the kit on an engine.
pub struct Conformance<S> {
    /// The engine.
    pub subject: S,
    /// What the kit must know of its instance.
    pub setting: Setting,
}

impl<S: Subject> Conformance<S> {
    /// Runs all scenarios. One that fails does not end the others, unless nothing can be deployed.
    pub async fn run(&self) -> Report {
        let info = match self.subject.info() {
            Ok(info) => (*info).clone(),
            Err(error) => {
                let mut report = Report::new("engine".to_owned());
                report.case(Area::Contract);
                report.add(Area::Contract, "about.describe", error.to_string(), "an engine describes itself");
                return report;
            }
        };
        let mut trial = Trial::new(&self.subject, &self.setting, info);
        about::description(&mut trial);
        about::test(&mut trial).await.ok();
        about::check(&mut trial).await.ok();
        if let Ok((chain, current)) = deploys::deploys(&mut trial).await {
            scenarios(&mut trial, &chain, current).await;
        }
        deploys::removals(&mut trial).await;
        if let Some(chain) = trial.deployed.first().cloned() {
            deploys::after_removal(&mut trial, &chain).await;
        }
        chattiness::check_costs(&mut trial);
        trial.report
    }
}

/// Each scenario records its own findings; the next one begins all the same.
async fn scenarios<S: Subject>(trial: &mut Trial<'_, S>, chain: &Workflow, mut current: WorkflowRef) {
    if exports(trial, "definitions") {
        definitions::definitions(trial, chain, &current).await.ok();
    }
    runs::runs(trial, &current).await.ok();
    values::values(trial).await.ok();
    failures::failures(trial).await.ok();
    failures::retry_all(trial, &current).await.ok();
    features::retries(trial).await.ok();
    features::timeouts(trial).await.ok();
    control::cancel(trial).await.ok();
    control::parts(trial, &current).await.ok();
    if exports(trial, "pausing") {
        control::pausing(trial).await.ok();
    }
    concurrency::concurrency(trial).await.ok();
    features::dates(trial).await.ok();
    errors::errors(trial, &current).await.ok();
    chattiness::many_workflows(trial, &current).await.ok();
    if exports(trial, "schedules") {
        schedules::schedules(trial, chain, &mut current).await.ok();
    }
    if exports(trial, "backfills") {
        backfills::backfills(trial, &mut current).await.ok();
    }
}

/// Whether the interface is offered; the report says if it is not.
fn exports<S: Subject>(trial: &mut Trial<'_, S>, interface: &str) -> bool {
    let exports = trial.exports(interface);
    if !exports {
        trial.report.note(format!("not checked: {interface}, which is not offered"));
    }
    exports
}
