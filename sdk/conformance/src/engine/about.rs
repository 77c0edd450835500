//! The description, the test of the instance, and the check of a workflow.

use std::collections::BTreeSet;

use serde_json::Value;

use super::samples::Work;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use crate::report::Area;

const FEATURES: [&str; 17] = [
    "business_time",
    "run_key",
    "run_params",
    "retry_failed",
    "retry_all",
    "task_timeout",
    "task_retry",
    "task_priority",
    "log_stream",
    "rows_affected",
    "start_at",
    "concurrency",
    "failure_end",
    "backfill_list",
    "backfill_parallel",
    "backfill_dependents",
    "deploy_confirmed_later",
];
const CALLS_MAX: usize = 200;
const MASKS_MAX: usize = 20;

/// The description is complete, and names what the contract knows.
pub fn description<S: Subject>(trial: &mut Trial<'_, S>) {
    let (info, place) = (trial.info.clone(), "about.describe");
    for feature in &info.features {
        let is_known = FEATURES.contains(&feature.as_str());
        let what = format!("the feature {feature:?}");
        trial.expect(Area::Contract, is_known, place, &what, "the host knows the features of the contract");
    }
    let kind = trial.setting.tasks.kind.clone();
    let has_kind = info.task_types.iter().any(|one| one.name == kind);
    trial.expect(Area::Contract, has_kind, place, &format!("no task type {kind}"), "the setting uses it");
    for recipe in &info.auth {
        let secrets = recipe.secrets.iter().all(|name| info.secrets.iter().any(|one| one.name == *name));
        let addresses =
            recipe.addresses.iter().all(|name| info.addresses.iter().any(|one| one.name == *name));
        let what = format!("the auth recipe {}", recipe.name);
        let why = "a recipe names secrets and addresses of the description";
        trial.expect(Area::Contract, secrets && addresses, place, &what, why);
    }
    for address in &info.addresses {
        let what = format!("the address {} has {} call rules", address.name, address.calls.len());
        let fits = (1..=CALLS_MAX).contains(&address.calls.len());
        trial.expect(Area::Contract, fits, place, &what, "a call without a rule is refused");
        for rule in &address.calls {
            let what = format!("the call rule {:?} of {}", rule.call, address.name);
            let has_effect = matches!(rule.effect.as_str(), "reads" | "changes");
            let has_masks = rule.mask.len() <= MASKS_MAX && rule.mask.iter().all(|one| one.starts_with('/'));
            let why = "a rule has an effect, `reads` or `changes`, and JSON Pointers";
            trial.expect(Area::Contract, has_effect && has_masks, place, &what, why);
        }
    }
    let settings: Option<Value> = serde_json::from_str(&trial.setting.tasks.settings).ok();
    let is_object = settings.is_some_and(|settings| settings.is_object());
    trial.expect(Area::Contract, is_object, "the setting", "`settings` of tasks", "they are a JSON object");
}

/// The instance can be used. Takes over which features it does without.
pub async fn test<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let (subject, place) = (trial.subject, "deploys.test");
    let report = trial.must(place, "the instance of the setting", subject.test()).await?;
    trial.expect(
        Area::Contract,
        !report.checks.is_empty(),
        place,
        "no checks",
        "a test says what it checked",
    );
    for check in &report.checks {
        let what = format!("{}: {}: {}", check.name, check.outcome, check.message);
        let is_word = matches!(check.outcome.as_str(), "ok" | "warning" | "failed" | "skipped");
        let why = "outcomes are `ok`, `warning`, `failed` and `skipped`";
        trial.expect(Area::Contract, is_word, place, &what, why);
        let why = "the instance of the setting works";
        trial.expect(Area::Lifecycle, check.outcome != "failed", place, &what, why);
    }
    let known: BTreeSet<&String> = trial.info.features.iter().collect();
    let unknown: Vec<&String> = report.missing_features.iter().filter(|one| !known.contains(one)).collect();
    let (is_known, what) = (unknown.is_empty(), format!("it does without {unknown:?}"));
    trial.expect(
        Area::Contract,
        is_known,
        place,
        &what,
        "an instance does without features of the description",
    );
    trial.features.retain(|feature| !report.missing_features.contains(feature));
    Ok(())
}

/// A workflow of the setting has no problems; one of an unknown task type has; both answers are stable.
pub async fn check<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let (subject, place) = (trial.subject, "deploys.check");
    let good = trial.workflow("check", &[("a", Work::Succeeds), ("b", Work::Fails)], &[(0, 1)]);
    let mut bad = good.clone();
    bad.tasks[1].kind = "NO_SUCH_TYPE".to_owned();
    for (workflow, is_good) in [(&good, true), (&bad, false)] {
        let first = trial.must(place, "a workflow", subject.check(workflow)).await?;
        let second = trial.must(place, "the same workflow", subject.check(workflow)).await?;
        let why = "the answer depends on the workflow alone";
        trial.expect(Area::Determinism, first == second, place, "two answers to one workflow", why);
        let what = format!("{first:?}");
        let why = "the problems are those of the workflow";
        trial.expect(Area::Contract, first.is_empty() == is_good, place, &what, why);
        let told = first.iter().all(|one| !one.code.is_empty() && !one.message.is_empty());
        trial.expect(Area::Contract, told, place, &what, "a problem has a code and a message");
    }
    Ok(())
}
