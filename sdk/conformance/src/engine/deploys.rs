//! Deployments: repeated, after a lost answer, and of a later revision.

use lakeport_bindings::engine::model::{Target, Workflow, WorkflowRef};

use super::definitions;
use super::samples::{self, Work};
use super::subject::Subject;
use super::trial::{Change, Checked, Trial};
use crate::report::Area;

/// The tasks of the workflow that most scenarios run: `a` before `b` before `c`, and `d` after `a`.
pub const CHAIN: [(&str, Work); 4] =
    [("a", Work::Succeeds), ("b", Work::Succeeds), ("c", Work::Succeeds), ("d", Work::Succeeds)];
pub const CHAIN_EDGES: [(usize, usize); 3] = [(0, 1), (1, 2), (0, 3)];
const PLACE: &str = "deploys.deploy";

/// Deploys the chain, and returns it as it is deployed last.
pub async fn deploys<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<(Workflow, WorkflowRef)> {
    let mut chain = trial.workflow("chain", &CHAIN, &CHAIN_EDGES);
    chain.schedule = Some(samples::schedule(trial.setting, yearly(&trial.info.cron_dialect)));
    let mut current = trial.deploy(&chain).await?;
    let first = current.clone();
    let same = Change::Deploy(Box::new(chain.clone()));

    trial.change(&same, &mut current).await?;
    let holds = (&current.code, &current.project) == (&first.code, &first.project);
    let what = format!("{:?} and then {:?}", place_of(&first), place_of(&current));
    let why = "the same revision, deployed again, changes nothing and gives the same answer";
    trial.expect(Area::Determinism, holds, PLACE, &what, why);

    let mut lost = samples::unknown(&chain);
    trial.change(&same, &mut lost).await?;
    let what = format!("{:?} and, after a lost answer, {:?}", place_of(&first), place_of(&lost));
    let why = "an existing definition is found by a mark in the engine, and never duplicated";
    trial.expect(Area::Determinism, lost.code == first.code, PLACE, &what, why);

    chain.version = 2;
    chain.revision = samples::revision(chain.id, 2);
    chain.name.push_str("-renamed");
    chain.description = "A later revision.".to_owned();
    trial.change(&Change::Deploy(Box::new(chain.clone())), &mut current).await?;
    let what = format!("{:?} and then {:?}", place_of(&first), place_of(&current));
    let why = "a later revision updates the definition, also under a new name";
    trial.expect(Area::Lifecycle, current.code == first.code, PLACE, &what, why);
    Ok((chain, current))
}

fn place_of(workflow: &WorkflowRef) -> (Option<&str>, Option<&str>) {
    (workflow.project.as_deref(), workflow.code.as_deref())
}

/// Removes all that the kit deployed, twice each. Stops runs that a scenario left behind.
pub async fn removals<S: Subject>(trial: &mut Trial<'_, S>) {
    let subject = trial.subject;
    for (id, workflow) in std::mem::take(&mut trial.unended) {
        trial.ask("runs.cancel", subject.cancel(&workflow, &Target::Instance(id))).await.ok();
    }
    for mut workflow in trial.deployed.clone() {
        if trial.change(&Change::Remove, &mut workflow).await.is_ok() {
            trial.change(&Change::Remove, &mut workflow).await.ok();
        }
    }
}

/// A removed workflow cannot be started, and is not listed.
pub async fn after_removal<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) {
    let (subject, request) = (trial.subject, trial.run(chain));
    let codes = ["not_found", "conflict", "invalid_input"];
    trial.must_refuse("runs.start", "a removed workflow", &codes, subject.start(&request)).await;
    if trial.exports("definitions") {
        definitions::after_removal(trial, chain).await.ok();
    }
}

/// Once a year, so that it does not fire while the kit runs.
pub fn yearly(cron_dialect: &str) -> &'static str {
    if cron_dialect == "unix5" { "0 3 29 2 *" } else { "0 0 3 29 2 ? *" }
}
