//! One pass over all of an engine's runs.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use lakeport_base::Error;
use lakeport_base::time::{HOUR_MS, MINUTE_MS};
use lakeport_bindings::engine::model::{WatchRequest, WorkflowRef};

use super::{INSTANCES_MAX, Watch, Written, open_run, watched};
use crate::executions::backfills;
use crate::executions::runs::store::WORKFLOWS_AT_ONCE;
use crate::executions::runs::{self, Run};
use crate::workflows;

/// Open runs of one query. Further ones are found by the cursor.
const OPEN_AT_ONCE: i64 = 500;
/// Answers of one pass, per bucket; the rest waits for the next one.
const PAGES_MAX: usize = 20;
/// Where the first pass over a bucket begins, before now.
const LOOK_BACK_MS: i64 = HOUR_MS;

/// How often it is noted that an engine was asked, while nothing else changes.
const SEEN_MS: i64 = 5_000;
/// The longest pause while an engine makes a backfill.
const MAKING_INTERVAL: Duration = Duration::from_secs(5);
/// The polling interval while something is running, and the least that an engine may ask for.
const OPEN_INTERVAL: Duration = Duration::from_secs(1);
/// The polling interval while nothing is running.
const IDLE_INTERVAL: Duration = Duration::from_secs(10);
/// The longest time for which an engine may say that nothing will change.
const WAIT_MAX: Duration = Duration::from_secs(60);
const WAIT_MAX_MS: i64 = MINUTE_MS;

/// The result of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Round {
    /// The next pass is due then. Whether the engine was asked: it is not while it has no workflows.
    Wait { wait: Duration, has_asked: bool },
    /// Continue at once.
    More,
}

/// The result of a pass over a bucket.
enum Bucket {
    /// All was read; so long the engine says that nothing will change.
    Read(Option<Duration>),
    More,
}

impl Watch<'_> {
    pub async fn round(&self) -> Result<Round, Error> {
        let (db, engine) = (&self.state.db, &self.record.name);
        let deployed = workflows::deployed(db, engine).await?;
        let workflows: HashMap<i64, WorkflowRef> =
            deployed.iter().map(|deployed| (deployed.id, deployed.reference())).collect();
        let open = runs::store::open_workflows(db, engine).await?;
        // An engine that makes a backfill begins runs that were not asked for here.
        let made = backfills::store::made_by(db, engine).await?;
        // One look comes after the time in which an engine may show an old end.
        let now_ms = self.state.clock.now_ms();
        let since_ms = now_ms - WAIT_MAX_MS;
        let again = runs::store::begun_again(db, engine, since_ms, OPEN_AT_ONCE).await?;
        let ids = workflows.keys().copied().chain(open).chain(made.iter().copied());
        let ids = ids.chain(again.iter().map(|run| run.workflow_id));
        let buckets: BTreeSet<i64> = ids.map(|id| id.div_euclid(WORKFLOWS_AT_ONCE)).collect();
        let (mut is_more, mut wait) = (false, Some(WAIT_MAX));
        for bucket in &buckets {
            match self.look_at_bucket(*bucket, &workflows, &again).await? {
                Bucket::Read(still) => wait = wait.zip(still).map(|(one, other)| one.min(other)),
                Bucket::More => is_more = true,
            }
        }
        let reference = |run: &Run| workflows.get(&run.workflow_id).cloned().unwrap_or_else(|| unknown(run));
        runs::find_unanswered(self.state, self.client, self.record, reference).await?;
        if is_more {
            return Ok(Round::More);
        }
        let open = runs::store::open_workflows(db, engine).await?;
        let has_again = again.iter().any(|run| run.again.is_some_and(|again| now_ms < again.until_ms));
        let own = if open.is_empty() && !has_again { IDLE_INTERVAL } else { OPEN_INTERVAL };
        // A start without an answer is looked for.
        let is_open = runs::store::has_unanswered(db, engine).await?;
        let at_most = if made.is_empty() { Duration::MAX } else { MAKING_INTERVAL };
        let has_asked = !buckets.is_empty();
        let wait = wait.filter(|_| has_asked && !is_open && !has_again);
        let wait = wait.map_or(own, |wait| wait.max(OPEN_INTERVAL)).min(at_most);
        Ok(Round::Wait { wait, has_asked })
    }

    /// Everything since the last pass, one answer after the other.
    async fn look_at_bucket(
        &self,
        bucket: i64,
        all: &HashMap<i64, WorkflowRef>,
        again: &[Run],
    ) -> Result<Bucket, Error> {
        let (db, engine) = (&self.state.db, &self.record.name);
        let (from, before) = (bucket * WORKFLOWS_AT_ONCE, (bucket + 1) * WORKFLOWS_AT_ONCE);
        let mut open = runs::store::open(db, engine, from, before, OPEN_AT_ONCE).await?;
        open.retain(|run| !self.rests(run));
        open.extend(again.iter().filter(|run| (from..before).contains(&run.workflow_id)).cloned());
        let mut workflows: HashMap<i64, WorkflowRef> = all
            .iter()
            .filter(|(id, _)| (from..before).contains(*id))
            .map(|(id, workflow)| (*id, workflow.clone()))
            .collect();
        // Runs of a workflow that was removed from the engine.
        for run in &open {
            workflows.entry(run.workflow_id).or_insert_with(|| unknown(run));
        }
        let (mut cursor, seen_ms) = runs::store::cursor(db, engine, bucket).await?.unzip();
        let mut noted_ms = seen_ms;
        for _ in 0..PAGES_MAX {
            let request = WatchRequest {
                workflows: workflows.values().map(watched).collect(),
                open: open.iter().filter_map(open_run).collect(),
                cursor: cursor.clone(),
                since: self.state.clock.now_ms() - LOOK_BACK_MS,
                limit: INSTANCES_MAX,
            };
            let asked_ms = self.state.clock.now_ms();
            let page = self.ask(&request).await?;
            let (next, is_more) = (page.cursor.clone(), page.more);
            let still = Duration::from_millis(page.wait_ms.into());
            if self.take_in(&workflows, &open, page).await? == Written::NotAll {
                return Ok(Bucket::More);
            }
            // Only the last part shows all that there is.
            let seen_ms = match (is_more, seen_ms) {
                (false, _) => asked_ms,
                (true, seen_ms) => seen_ms.unwrap_or(asked_ms - LOOK_BACK_MS),
            };
            let is_noted = noted_ms.is_some_and(|at_ms| (at_ms..at_ms + SEEN_MS).contains(&seen_ms));
            if cursor.as_ref() != Some(&next) || !is_noted {
                self.keep_cursor(bucket, &next, seen_ms).await?;
                noted_ms = Some(seen_ms);
            }
            if !is_more {
                return Ok(Bucket::Read(Some(still).filter(|still| !still.is_zero())));
            }
            cursor = Some(next);
            // The first answer covered them.
            open.clear();
        }
        Ok(Bucket::More)
    }

    async fn keep_cursor(&self, bucket: i64, cursor: &str, seen_ms: i64) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        if let Some(held) = self.held {
            tx.guard(held).await?;
        }
        runs::store::set_cursor(&mut tx, &self.record.name, bucket, cursor, seen_ms).await?;
        tx.commit().await
    }
}

/// A workflow that is no longer deployed.
fn unknown(run: &Run) -> WorkflowRef {
    WorkflowRef {
        id: run.workflow_id.unsigned_abs(),
        name: run.workflow_name.clone(),
        code: None,
        project: None,
        revision: None,
        state: None,
    }
}
