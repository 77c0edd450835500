//! A month of the example company's runs, most of them successful. All in one transaction, oldest first.

use std::collections::HashMap;

use anyhow::Context;
use lakeport_base::time::SECOND_MS;
use serde_json::Value;

use super::files::{RunWords, Story, TaskRunWords, Trouble};
use super::moments::Moments;
use super::requests::{Requests, named, number, records};
use super::workflows;
use crate::compose::Server;
use crate::engines;
use crate::executions;
use crate::scheduler::seed::{self, PastEnd, PastRun, PastTry};

/// Any prime: days differ, and each is reproducible.
const SPREAD: i64 = 7_919;

/// A run to be written.
struct Run<'s> {
    words: &'s RunWords,
    days_ago: u64,
    at_ms: i64,
    tries: Vec<PastTry>,
}

pub async fn write_down(
    state: &Server,
    requests: &Requests,
    moments: &Moments,
    story: &Story,
) -> anyhow::Result<()> {
    let mut details: HashMap<&str, Value> = HashMap::new();
    for words in &story.runs {
        details.insert(&words.workflow, workflows::detail(requests, &words.workflow).await?);
    }
    let mut runs = Vec::new();
    for words in &story.runs {
        for days_ago in words.to..=words.from {
            let at_ms = moments.at(days_ago, &words.at)?;
            let tries = tries(words, days_ago, at_ms, &details[words.workflow.as_str()], &story.troubles)?;
            runs.push(Run { words, days_ago, at_ms, tries });
        }
    }
    // Today's runs only if they would have ended by now.
    runs.retain(|run| run.tries.last().is_some_and(|last| last.ended_at_ms < moments.now_ms));
    runs.sort_by_key(|run| run.at_ms);
    let mut tx = state.db.begin().await?;
    for run in runs {
        let workflow = &details[run.words.workflow.as_str()];
        let key = format!("demo/{}/{}", run.words.workflow, run.days_ago);
        let past = PastRun {
            workflow_id: number(workflow, "id")?,
            key: &key,
            cause: &run.words.cause,
            business_at_ms: run.at_ms,
            tries: run.tries,
        };
        let Some((instance, task_runs)) = seed::record(&mut tx, &past, moments.zone).await? else { continue };
        let ended_at_ms = instance.ended.unwrap_or(run.at_ms);
        let name = &run.words.workflow;
        executions::seed::record(&mut tx, engines::LOCAL, name, &instance, &task_runs, ended_at_ms).await?;
    }
    tx.commit().await.map_err(Into::into)
}

/// One task after the other, until one fails.
fn tries(
    words: &RunWords,
    days_ago: u64,
    at_ms: i64,
    workflow: &Value,
    troubles: &[Trouble],
) -> anyhow::Result<Vec<PastTry>> {
    let mut tries: Vec<PastTry> = Vec::new();
    for task in &words.tasks {
        let known = named(records(&workflow["tasks"]), "taskName", &task.task);
        let task_id = number(known.with_context(|| format!("no task {}", task.task))?, "id")?;
        let begun_ms = tries.last().map_or(at_ms, |last| last.ended_at_ms) + SECOND_MS;
        let one = |attempt: u32, started_at_ms: i64, seconds: i64, ended: PastEnd| PastTry {
            task_id,
            task_name: task.task.clone(),
            attempt,
            started_at_ms,
            ended_at_ms: started_at_ms + seconds * SECOND_MS,
            ended,
        };
        let is_it = |trouble: &&Trouble| {
            trouble.workflow == words.workflow && trouble.days_ago == days_ago && trouble.task == task.task
        };
        let Some(trouble) = troubles.iter().find(is_it) else {
            let (seconds, rows) = outcome(words, task, days_ago);
            tries.push(one(1, begun_ms, seconds, PastEnd::Success { rows }));
            continue;
        };
        for attempt in 1..=trouble.tries {
            let later = i64::from(attempt - 1) * (trouble.seconds + trouble.retry_seconds) * SECOND_MS;
            let ended = end_of(trouble, attempt < trouble.tries);
            tries.push(one(attempt, begun_ms + later, trouble.seconds, ended));
        }
        break;
    }
    Ok(tries)
}

fn end_of(trouble: &Trouble, is_tried_again: bool) -> PastEnd {
    let message = trouble.message.clone();
    if trouble.status == "killed" {
        PastEnd::Stopped { message }
    } else {
        PastEnd::Failed { message, is_tried_again }
    }
}

/// Its duration, and its rows.
fn outcome(words: &RunWords, task: &TaskRunWords, days_ago: u64) -> (i64, i64) {
    let day = days_ago as i64;
    let [shortest, longest] = task.seconds;
    let seconds = shortest + day * SPREAD % (longest - shortest + 1);
    let [fewest, most] = task.rows;
    let days = (words.from - words.to).max(1) as i64;
    let rows = fewest + (most - fewest) * (words.from as i64 - day) / days;
    (seconds, rows)
}
