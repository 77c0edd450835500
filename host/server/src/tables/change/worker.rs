//! The worker of each server: it makes the changes that no other server works on, and settles those of dead
//! servers. When the server stops, it lets a change run for [`GRACE`], then cancels it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_base::failpoints;
use lakeport_bindings::dialect::schema::{Table, TableName};
use lakeport_physical::{Outcome, PlanExecutor, Request, RunStatus};
use lakeport_store::jobs::{self, Jobs, Work};
use lakeport_store::{Event, Held, Tx};
use tokio::task::JoinError;
use tokio::time::sleep;

use super::TOPIC;
use super::dialect::change_of;
use super::failure::{Failure, is_locked, not_tried};
use super::holders;
use super::plan::{notes, ran};
use super::settle::{look_for, settle};
use super::spec::Step;
use super::store::{self, ChangeResult, ChangeRow};
use super::view::StatementOutcome;
use crate::datasources::{self, Datasource, DatasourceClient};
use crate::tables::Tables;
use crate::tables::definitions::{self, Definition, Drift, Record, TableWithFields};
use crate::tables::history::{self, Source};
use crate::tables::reconcile::{self, FoundTable, Snapshot};
use crate::tables::{TOPIC as TABLES_TOPIC, fields, recycle};

/// The polling interval.
const POLL: Duration = Duration::from_secs(5);
/// The most concurrent changes of one server, and of one data source: each has a session on it.
const CHANGES_AT_ONCE: usize = 64;
const CHANGES_OF_SOURCE: usize = 8;
/// The pause after the store failed to record a result.
const RETRY: Duration = Duration::from_secs(1);
/// How often a result is recorded again: a worker that settles the change later knows less.
const ENDS_MAX: u32 = 60;
/// How long a change may continue after the server stops.
const GRACE: Duration = Duration::from_secs(10);

pub async fn run_worker(state: Arc<Tables>) {
    let (mut changed, stopping) = (state.changes.subscribe(TOPIC), state.stopping.clone());
    let worker = Worker { state, jobs: Jobs::new(CHANGES_AT_ONCE) };
    jobs::run(worker, &mut changed, stopping.cancelled()).await;
}

struct Worker {
    state: Arc<Tables>,
    /// By table, with its data source: a table's lease is given back before its next change.
    jobs: Jobs<i64, i64, ()>,
}

impl Work for Worker {
    type Key = i64;
    type Job = i64;
    type Outcome = ();

    fn jobs(&mut self) -> &mut Jobs<i64, i64, ()> {
        &mut self.jobs
    }

    /// Claims free changes.
    async fn look(&mut self) -> Result<Duration, Error> {
        for change in store::running(&self.state.db).await? {
            if self.jobs.is_full() {
                break;
            }
            let (table_id, source_id) = (change.table_id, change.cluster_id);
            let of_source = self.jobs.iter().filter(|(_, source)| **source == source_id).count();
            if self.jobs.contains(&table_id) || of_source >= CHANGES_OF_SOURCE {
                continue;
            }
            let name = format!("table_change/{table_id}");
            let attempt = Attempt { state: Arc::clone(&self.state), change };
            let work = |held| attempt.run(held);
            self.jobs.claim(&self.state.leases, &name, (table_id, source_id), work).await?;
        }
        Ok(POLL)
    }

    fn failed(&mut self, error: &Error) -> Duration {
        tracing::warn!("looking for changes of tables failed, trying again: {error}");
        POLL
    }

    async fn note(&mut self, _: Event) {}

    fn done(&mut self, _: i64, _: i64, _: Result<(), JoinError>) {}
}

/// One attempt at a change.
struct Attempt {
    state: Arc<Tables>,
    change: ChangeRow,
}

/// The result, and the current table if it was read.
struct Tried {
    end: ChangeResult,
    found: Option<Table>,
    /// The database may have been changed, and could not be read.
    is_unknown: bool,
}

/// Why a step failed.
struct NotMade {
    failure: Failure,
    /// Another client holds the table or the database.
    is_held: bool,
}

impl Attempt {
    async fn run(self, held: Held) {
        let (id, table_id) = (self.change.id, self.change.table_id);
        match self.work(&held).await {
            Ok(()) => {}
            Err(error) if error.code() == "lease_lost" => {}
            Err(error) => {
                tracing::warn!(
                    change = id,
                    table = table_id,
                    "a change stopped and is retried later: {error}"
                );
                self.state.stopping.run_until_cancelled(sleep(RETRY)).await;
            }
        }
        held.give_back().await;
    }

    async fn work(&self, held: &Held) -> Result<(), Error> {
        let mut tx = self.state.db.begin().await?;
        tx.guard(held).await?;
        let Some(had_begun) = store::claim(&mut tx, self.change.id).await? else { return Ok(()) };
        tx.commit().await?;
        failpoints::reach("tables.change_claimed");
        let cancelled = Arc::new(AtomicBool::new(false));
        let trying = AssertUnwindSafe(self.tried(had_begun, &cancelled)).catch_unwind();
        let stop = self.told_to_stop(held);
        let tried = async {
            tokio::pin!(trying, stop);
            tokio::select! {
                biased;
                tried = &mut trying => tried,
                () = &mut stop => {
                    cancelled.store(true, Ordering::Relaxed);
                    trying.await
                }
            }
        };
        let tried = tried.await.unwrap_or_else(|_| self.unknown(FAILED));
        if had_begun && tried.is_unknown && cancelled.load(Ordering::Relaxed) {
            // The next worker continues to look.
            return Ok(());
        }
        failpoints::reach("tables.physical_done");
        self.recorded(held, &tried).await?;
        failpoints::reach("tables.change_recorded");
        Ok(())
    }

    /// Resolves when the lease is lost, or when the grace period of a stopping server is over.
    async fn told_to_stop(&self, held: &Held) {
        let lost = held.lost();
        let stopped = async {
            self.state.stopping.cancelled().await;
            sleep(GRACE).await;
        };
        tokio::select! {
            () = lost.cancelled() => {}
            () = stopped => {}
        }
    }

    async fn tried(&self, had_begun: bool, cancelled: &Arc<AtomicBool>) -> Tried {
        match self.on_its_source(had_begun, cancelled).await {
            Ok(tried) => tried,
            Err(error) if had_begun => self.unknown(&Failure::from(error).message),
            Err(error) => self.failed(error.into()),
        }
    }

    async fn on_its_source(&self, had_begun: bool, cancelled: &Arc<AtomicBool>) -> Result<Tried, Error> {
        let source = datasources::find(&self.state.db, self.change.cluster_id).await?;
        let source = source.ok_or_else(|| Error::not_found("data source", self.change.cluster_id))?;
        let client = DatasourceClient::of_main(
            &self.state.datasources,
            &source,
            &format!("change-{}", self.change.id),
        );
        let database = client.database().await.map_err(|error| crate::plugins::answered(&error))?;
        let executor = client.executor(&database, Arc::clone(cancelled));
        if had_begun {
            let (end, found) = settle(&client, &executor, &self.change).await?;
            return Ok(Tried { end, found, is_unknown: false });
        }
        Ok(self.carry_out(&source, &client, &executor).await)
    }

    /// Runs the steps in order. If one fails, undoes the earlier ones and reads the table.
    async fn carry_out(
        &self,
        source: &Datasource,
        client: &DatasourceClient<'_>,
        executor: &PlanExecutor<'_>,
    ) -> Tried {
        let mut outcomes = Vec::new();
        let failed = self.run_steps(client, executor, &mut outcomes).await.err();
        let mut end = ChangeResult::default();
        if let Some(NotMade { failure, is_held }) = failed {
            let made = outcomes.iter().take_while(|outcome| outcome.status == RunStatus::Done).count();
            for outcome in outcomes[..made].iter_mut().rev() {
                executor.take_back(outcome).await;
            }
            let failure = if is_held { holders::named(&self.state, source, failure).await } else { failure };
            end.failure = Some(told(failure, &outcomes[..made]));
        }
        for outcome in &outcomes {
            end.statements.extend(outcome.statements.iter().map(ran));
            end.notes.extend(notes(outcome));
            end.drift.extend(drift(outcome));
        }
        let is_touched = outcomes.iter().any(|outcome| outcome.status == RunStatus::Partly);
        let (mut found, mut is_unknown) = (None, false);
        if end.failure.is_none() {
            found = outcomes.pop().and_then(|last| last.table);
        } else if is_touched {
            found = look_for(client, &self.change).await.unwrap_or_default();
            is_unknown = found.is_none();
        }
        self.add_not_run(&mut end);
        Tried { end, found, is_unknown }
    }

    /// The outcome of each step, up to the first that failed.
    async fn run_steps(
        &self,
        client: &DatasourceClient<'_>,
        executor: &PlanExecutor<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), NotMade> {
        let (place, wanted) = (self.place(&self.change.table_name), &self.change.wanted);
        for step in &wanted.steps {
            let change = change_of(client, &place, step, &wanted.table).await;
            let change = change.map_err(|error| NotMade { failure: error.into(), is_held: false })?;
            let outcome = executor.run(Request { change, dry_run: false }).await.map_err(|error| {
                let is_held = is_locked(&error);
                NotMade { failure: not_tried(step, error).into(), is_held }
            })?;
            let failure = failure_of(step, &outcome);
            let is_held = outcome.error.as_ref().is_some_and(lakeport_physical::is_locked);
            outcomes.push(outcome);
            if let Some(failure) = failure {
                return Err(NotMade { failure, is_held });
            }
        }
        Ok(())
    }

    fn place(&self, name: &str) -> TableName {
        TableName { database: self.change.db_name.clone(), name: name.to_owned() }
    }

    /// Adds the statements that were not reached.
    fn add_not_run(&self, end: &mut ChangeResult) {
        let later = self.change.statements.iter().skip(end.statements.len()).cloned();
        end.statements.extend(later.map(|mut statement| {
            statement.outcome = Some(StatementOutcome::NotRun);
            statement
        }));
    }

    /// As far as is known, nothing was run.
    fn failed(&self, failure: Failure) -> Tried {
        let statements = self.change.statements.clone();
        let end = ChangeResult { failure: Some(failure), statements, ..ChangeResult::default() };
        Tried { end, found: None, is_unknown: false }
    }

    /// A dead server had started it, and its progress cannot be determined.
    fn unknown(&self, why: &str) -> Tried {
        let message = format!(
            "the server ended in the middle of the change, and the database does not show its result: {why}; \
             synchronize the data source"
        );
        Tried { is_unknown: true, ..self.failed(Failure::new(502, "interrupted", message)) }
    }

    /// Records the result, and retries while the store fails.
    async fn recorded(&self, held: &Held, tried: &Tried) -> Result<(), Error> {
        let (id, table_id) = (self.change.id, self.change.table_id);
        let mut ends = 1;
        loop {
            match self.finish(held, tried).await {
                Err(error)
                    if error.code() != "lease_lost"
                        && ends < ENDS_MAX
                        && !self.state.stopping.is_cancelled() =>
                {
                    tracing::warn!(
                        change = id,
                        table = table_id,
                        "the end of a change was not written: {error}"
                    );
                    ends += 1;
                    self.state.stopping.run_until_cancelled(sleep(RETRY)).await;
                }
                outcome => return outcome,
            }
        }
    }

    /// Records the result and updates the catalogue, in one transaction.
    async fn finish(&self, held: &Held, tried: &Tried) -> Result<(), Error> {
        let (state, change) = (&self.state, &self.change);
        let now_ms = state.clock.now_ms();
        let is_purged = tried.end.failure.is_none() && change.wanted.is_purge();
        let mut tx = state.db.begin().await?;
        tx.guard(held).await?;
        if is_purged {
            // Before the table's own row is locked.
            (state.users.unbind)(&mut tx, change.table_id, &change.requested_by, now_ms).await?;
        }
        let before = definitions::store::lock(&mut tx, change.table_id).await?;
        if !store::end(&mut tx, change.id, &tried.end, now_ms).await? {
            return Ok(());
        }
        tx.changed(TOPIC, change.id.to_string());
        if is_purged {
            recycle::store::erase(&mut tx, change.table_id).await?;
            tx.changed(TABLES_TOPIC, change.table_id.to_string());
        } else if let Some(before) = before {
            if tried.end.failure.is_none() {
                self.write_wanted(&mut tx, &before, now_ms).await?;
            } else if tried.found.is_some() || tried.is_unknown {
                self.write_place(&mut tx, &before.record, now_ms).await?;
            }
            let wanted = match &tried.end.failure {
                None => definitions::store::lock(&mut tx, change.table_id).await?,
                Some(_) => None,
            };
            if let Some(found) = tried.found.as_ref().and_then(|found| FoundTable::of(found).ok()) {
                self.reconcile(&mut tx, &found, now_ms).await?;
                definitions::store::set_drift(&mut tx, change.table_id, &tried.end.drift).await?;
            } else if tried.is_unknown {
                definitions::store::set_drift(&mut tx, change.table_id, &not_known(&change.kind)).await?;
            }
            if let Some(after) = definitions::store::lock(&mut tx, change.table_id).await? {
                let by = &change.requested_by;
                let before = (&before, wanted.as_ref());
                history::add_of_whole(&mut tx, before, &after, Source::Change, by, now_ms).await?;
            }
            tx.changed(TABLES_TOPIC, change.table_id.to_string());
        }
        tx.commit().await?;
        let failure = tried.end.failure.as_ref().map(|failure| failure.code.as_str());
        tracing::info!(
            change = change.id,
            table = change.table_id,
            kind = change.kind,
            failure,
            "a table was changed"
        );
        Ok(())
    }

    /// After a failed change, a table without a data source may exist in this one.
    async fn write_place(&self, tx: &mut Tx, before: &Record, now_ms: i64) -> Result<(), Error> {
        if before.definition.cluster_id.is_some() {
            return Ok(());
        }
        let placed = Definition { cluster_id: Some(self.change.cluster_id), ..before.definition.clone() };
        definitions::store::update(tx, before.id, &placed, before.is_physical, now_ms).await
    }

    /// Writes what the change is about: the rest may have been changed meanwhile.
    async fn write_wanted(&self, tx: &mut Tx, now: &TableWithFields, now_ms: i64) -> Result<(), Error> {
        let (change, wanted) = (&self.change, &self.change.wanted);
        let definition = change.base.as_ref().map_or_else(
            || wanted.table.clone(),
            |base| now.record.definition.with_change(base, &wanted.table),
        );
        definitions::store::update(tx, change.table_id, &definition, true, now_ms).await?;
        for step in &wanted.steps {
            match step {
                Step::AddField { field } => _ = fields::store::insert(tx, field, now_ms).await?,
                Step::AlterField { before, after } => {
                    let field = now.fields.iter().find(|field| field.id == after.id);
                    let field = field.map(|field| field.with_change(before, after));
                    fields::store::update(tx, field.as_ref().unwrap_or(after), now_ms).await?;
                }
                Step::DropField { field } => fields::store::delete(tx, field).await?,
                Step::SoftDelete { at_ms, .. } => {
                    let deprecated_at_ms = at_ms.unwrap_or(change.started_at_ms);
                    recycle::store::put_in(tx, change.table_id, &change.table_name, deprecated_at_ms).await?;
                }
                Step::Restore { .. } => recycle::store::take_out(tx, change.table_id, now_ms).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The database decides, under whichever name it has the table.
    async fn reconcile(&self, tx: &mut Tx, found: &FoundTable, now_ms: i64) -> Result<(), Error> {
        let look = Snapshot {
            cluster_id: self.change.cluster_id,
            database: &self.change.db_name,
            listed: std::slice::from_ref(&found.name),
            found: std::slice::from_ref(found),
            // Later than this change, which has ended by now.
            began_ms: now_ms + 1,
            source: Source::Change,
        };
        reconcile::reconcile(tx, &look, now_ms).await.map(drop)
    }
}

/// Valid until the next sync of the data source.
fn not_known(kind: &str) -> [Drift; 1] {
    let expected = "as it was before the change, or after it".to_owned();
    [Drift { what: kind.to_owned(), expected, found: "not known".to_owned() }]
}

/// Differences that the plan did not announce.
fn drift(outcome: &Outcome) -> impl Iterator<Item = Drift> {
    let unannounced = outcome.drift.iter().filter(|difference| !difference.announced);
    unannounced.map(|difference| Drift {
        what: difference.member.clone(),
        expected: difference.wanted.clone(),
        found: difference.found.clone(),
    })
}

/// Adds the outcome of the earlier steps.
fn told(mut failure: Failure, before: &[Outcome]) -> Failure {
    if before.iter().any(|outcome| outcome.status != RunStatus::TakenBack) {
        failure.message.push_str("; what was done before it could not be taken back");
    } else if !before.is_empty() {
        failure.message.push_str("; what was done before it was taken back");
    }
    failure
}

/// Why an attempted step failed.
fn failure_of(step: &Step, outcome: &Outcome) -> Option<Failure> {
    let why = outcome.error.as_ref().map_or("the database did not make it", |error| error.message.as_str());
    let what = step.kind();
    let message = match outcome.status {
        RunStatus::Done => return None,
        RunStatus::Partly => format!("{what}: {why}; some of it was done and could not be taken back"),
        RunStatus::TakenBack | RunStatus::Planned => format!("{what}: {why}; nothing of it is left"),
    };
    Some(Failure::new(502, "change_failed", message))
}
