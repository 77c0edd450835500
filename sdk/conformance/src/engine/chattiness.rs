//! How many upstream requests a call costs. One call stands for all workflows of an instance.

use lakeport_bindings::engine::model::{WatchRequest, Watched, WorkflowRef};

use super::subject::Subject;
use super::trial::{Checked, Trial};
use crate::report::Area;

/// Workflows of one call.
const MANY: u64 = 500;

/// A call for many workflows costs as few requests as one for a few.
pub async fn many_workflows<S: Subject>(trial: &mut Trial<'_, S>, chain: &WorkflowRef) -> Checked<()> {
    let subject = trial.subject;
    let other = |number: u64| Watched {
        id: trial.setting.first_id + 1_000 + number,
        code: chain.code.as_ref().map(|code| format!("{code}{number}")),
        project: chain.project.clone(),
    };
    let this = super::samples::watched(chain);
    let request = WatchRequest {
        workflows: std::iter::once(this).chain((1..MANY).map(other)).collect(),
        open: Vec::new(),
        cursor: None,
        since: (trial.setting.now_ms)() - 60 * 60 * 1_000,
        limit: 1_000,
    };
    let page = trial.must("watch.instances", "500 workflows", subject.instances(&request)).await?;
    let others = page.instances.iter().filter(|run| run.workflow != chain.id).count();
    let what = format!("{others} runs of workflows that are not there");
    trial.expect(Area::Contract, others == 0, "watch.instances", &what, "unknown workflows have no runs");
    Ok(())
}

/// Compares what the calls cost with the bounds, and reports it.
pub fn check_costs<S: Subject>(trial: &mut Trial<'_, S>) {
    if trial.setting.requests.is_none() {
        trial.report.note("not checked: upstream requests, which were not counted");
        return;
    }
    let bounds = trial.setting.bounds;
    for (function, cost) in trial.costs().clone() {
        let bound = match function {
            "watch.instances" => bounds.instances,
            "watch.task-runs" => bounds.task_runs,
            "watch.log" => bounds.log,
            "runs.find" => bounds.find,
            "deploys.check" => 0,
            "deploys.deploy" | "deploys.status" | "deploys.remove" => bounds.change,
            _ if function.starts_with("schedules.") => bounds.change,
            "deploys.test" => bounds.other,
            _ if function.starts_with("definitions.") => bounds.other,
            _ => bounds.run,
        };
        let what = format!("{} requests in one call; {bound} at most", cost.most);
        let why = "an engine answers many others; each request is time of a person or of a poll";
        trial.expect(Area::Chattiness, cost.most <= bound, function, &what, why);
        trial.report.note(format!(
            "{function:<20} {:>5} calls, {:>5} upstream requests, {} at most",
            cost.calls, cost.requests, cost.most
        ));
    }
}
