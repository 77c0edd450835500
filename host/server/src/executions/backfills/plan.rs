//! The runs of a backfill: its dates in their order, and the workflows that run at each of them.

use std::collections::{BTreeSet, HashSet, VecDeque};

use chrono_tz::Tz;
use lakeport_base::error::Error;
use lakeport_http::Caller;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::forms::BackfillBody;
use super::request::{self, Asked, DATES_MAX, Dates, Dependents};
use crate::cron::Cron;
use crate::executions::Executions;
use crate::workflows::definition::Schedule;
use crate::workflows::forms::WorkflowStatus;
use crate::workflows::{self, Workflow, tasks};

/// The most workflows that run at one date.
const WORKFLOWS_MAX: usize = 200;

/// The most runs of one backfill.
const RUNS_MAX: usize = 200_000;

/// A workflow of a backfill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    pub workflow_id: i64,
    pub name: String,
    /// Places of the workflows whose outputs it reads: it runs after them.
    pub after: Vec<usize>,
}

/// A workflow that reads the outputs, and does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub workflow_id: i64,
    pub name: String,
    pub why: &'static str,
}

/// A backfill that can be started.
pub struct Plan {
    pub asked: Asked,
    /// Milliseconds since 1970, in the order of their runs.
    pub dates: Vec<i64>,
    /// Those after which others run come first; the first one is the workflow itself.
    pub steps: Vec<Step>,
    pub left_out: Vec<LeftOut>,
    /// Changes with all of this, and with what is deployed.
    pub token: String,
}

impl Plan {
    /// Checks the body, and finds dates and workflows. 400 or 409 with the reasons of the interface; 403 for a workflow
    /// that the caller may not run.
    pub async fn make(
        state: &Executions,
        caller: &Caller,
        workflow: &Workflow,
        body: Option<&BackfillBody>,
    ) -> Result<Plan, Error> {
        let asked = request::read(body, state.config.time_zone, state.clock.now_ms())?;
        if workflow.in_engine().is_none() {
            return Err(Error::conflict("not_deployed", "工作流尚未部署"));
        }
        if workflow.status != WorkflowStatus::Online {
            return Err(Error::conflict("not_online", "工作流未上线"));
        }
        let mut dates = dates(&asked.dates, schedule_of(workflow).as_ref())?;
        if asked.is_descending {
            dates.reverse();
        }
        let (workflows, left_out) = found(state, caller, workflow, asked.dependents).await?;
        if dates.len() * workflows.len() > RUNS_MAX {
            let message = format!("补数任务过多：日期数乘以工作流数最多 {RUNS_MAX}");
            return Err(request::refused("complementDependentMode", message));
        }
        let token = token(&asked, &dates, &workflows);
        let steps = steps(&workflows.iter().map(|one| (one.workflow.id, &one.reads)).collect::<Vec<_>>());
        let steps = steps.into_iter().map(|(place, after)| {
            let workflow = &workflows[place].workflow;
            Step { workflow_id: workflow.id, name: workflow.content.name.clone(), after }
        });
        let steps = steps.collect();
        Ok(Plan { asked, dates, steps, left_out, token })
    }
}

/// The schedule that its engine has.
fn schedule_of(workflow: &Workflow) -> Option<Schedule> {
    let given = workflow.engine_schedule.as_deref().and_then(|text| serde_json::from_str(text).ok());
    given.or_else(|| workflow.content.schedule.clone())
}

/// In ascending order.
fn dates(asked: &Dates, schedule: Option<&Schedule>) -> Result<Vec<i64>, Error> {
    let (start_ms, end_ms) = match asked {
        Dates::Listed(dates) => return Ok(dates.clone()),
        Dates::Range(start_ms, end_ms) => (*start_ms, *end_ms),
    };
    let parsed = |schedule: &Schedule| {
        Some((Cron::parse(&schedule.crontab).ok()?, schedule.timezone.parse::<Tz>().ok()?))
    };
    let due = schedule.and_then(parsed);
    let times = due.iter().flat_map(|(cron, zone)| cron.between(start_ms, end_ms, *zone));
    let dates: Vec<i64> = times.take(DATES_MAX + 1).collect();
    match dates.len() {
        0 => Err(request::refused("startTime", "补数时间范围内没有调度周期")),
        count if count > DATES_MAX => Err(request::too_many("endTime")),
        _ => Ok(dates),
    }
}

/// A workflow, and those in the backfill whose outputs it reads.
struct Found {
    workflow: Workflow,
    reads: BTreeSet<i64>,
}

/// The workflow and those that read its outputs, as far as they are asked for: each once.
async fn found(
    state: &Executions,
    caller: &Caller,
    workflow: &Workflow,
    dependents: Dependents,
) -> Result<(Vec<Found>, Vec<LeftOut>), Error> {
    let mut found = vec![Found { workflow: workflow.clone(), reads: BTreeSet::new() }];
    let mut left_out: Vec<LeftOut> = Vec::new();
    if dependents == Dependents::None {
        return Ok((found, left_out));
    }
    let mut seen = HashSet::from([workflow.id]);
    let mut open = VecDeque::from([workflow.id]);
    while let Some(id) = open.pop_front() {
        let expands = id == workflow.id || dependents == Dependents::All;
        for reader in tasks::readers_of(id).all(&state.db).await? {
            if let Some(known) = found.iter_mut().find(|one| one.workflow.id == reader) {
                known.reads.insert(id);
                continue;
            }
            if !expands || !seen.insert(reader) {
                continue;
            }
            let Some(reader) = workflows::find(&state.db, reader).await? else { continue };
            let why = match (reader.in_engine(), reader.status) {
                (None, _) => Some("it is not deployed"),
                (_, WorkflowStatus::Online) => None,
                _ => Some("it is not online"),
            };
            if let Some(why) = why {
                let (workflow_id, name) = (reader.id, reader.content.name);
                left_out.push(LeftOut { workflow_id, name, why });
                continue;
            }
            workflows::rights::check(&state.db, caller, &reader).await?;
            if found.len() >= WORKFLOWS_MAX {
                let message = format!("依赖的工作流过多：一次最多 {WORKFLOWS_MAX} 个");
                return Err(request::refused("complementDependentMode", message));
            }
            open.push_back(reader.id);
            found.push(Found { workflow: reader, reads: BTreeSet::from([id]) });
        }
    }
    Ok((found, left_out))
}

/// The workflows in an order in which each comes after those it reads, by place, each with the new places of these. The
/// first one stays first. Workflows that wait for each other in a circle come in the order in which they were found.
fn steps(workflows: &[(i64, &BTreeSet<i64>)]) -> Vec<(usize, Vec<usize>)> {
    let mut order: Vec<usize> = vec![0];
    let mut left: Vec<usize> = (1..workflows.len()).collect();
    while !left.is_empty() {
        let placed: HashSet<i64> = order.iter().map(|&place| workflows[place].0).collect();
        let is_free = |&place: &usize| workflows[place].1.iter().all(|id| placed.contains(id));
        let next = left.iter().position(is_free).unwrap_or(0);
        order.push(left.remove(next));
    }
    let after = |at: usize| {
        let reads = workflows[order[at]].1;
        (0..at).filter(|&before| reads.contains(&workflows[order[before]].0)).collect()
    };
    order.iter().enumerate().map(|(at, &place)| (place, after(at))).collect()
}

fn token(asked: &Asked, dates: &[i64], workflows: &[Found]) -> String {
    let mut all = Sha256::new_with_prefix("backfill\n");
    all.update(format!("{} {:?} {:?}\n", asked.parallelism, asked.strategy, asked.dependents));
    for Found { workflow, reads } in workflows {
        let digest = workflow.published_digest.as_deref().unwrap_or_default();
        let version = workflow.published_version.unwrap_or_default();
        let schedule = workflow.engine_schedule.as_deref().unwrap_or_default();
        all.update(format!("{} {version} {digest} {reads:?} {schedule}\n", workflow.id));
    }
    for date in dates {
        all.update(date.to_be_bytes());
    }
    hex::encode(all.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(reads: &[&[i64]]) -> Vec<(usize, Vec<usize>)> {
        let sets: Vec<BTreeSet<i64>> = reads.iter().map(|ids| ids.iter().copied().collect()).collect();
        steps(&sets.iter().enumerate().map(|(at, set)| (at as i64, set)).collect::<Vec<_>>())
    }

    #[test]
    fn a_diamond_runs_from_top_to_bottom() {
        // 3 was found before 1 and 2, which it reads, too.
        let found = ordered(&[&[], &[0], &[0], &[0, 1, 2]]);
        assert_eq!(found, [(0, vec![]), (1, vec![0]), (2, vec![0]), (3, vec![0, 1, 2])]);
        let found = ordered(&[&[], &[0, 2, 3], &[0], &[0, 2]]);
        assert_eq!(found, [(0, vec![]), (2, vec![0]), (3, vec![0, 1]), (1, vec![0, 1, 2])]);
    }

    #[test]
    fn a_circle_has_an_order() {
        // 1 and 2 read each other; 0 reads 2.
        let found = ordered(&[&[2], &[0, 2], &[1]]);
        assert_eq!(found, [(0, vec![]), (1, vec![0]), (2, vec![1])]);
    }
}
