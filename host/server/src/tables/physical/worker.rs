//! The worker of each server: it makes the changes that nobody works on, and looks at what became of those whose
//! server is gone. When the server stops it gives a change some time, then has it taken back.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use lakeport_base::Error;
use lakeport_base::failpoints;
use lakeport_bindings::dialect::schema::{Table, TableName};
use lakeport_physical::{Outcome, Request, RunStatus, Runner};
use lakeport_store::{Held, Tx, leases};
use tokio::task::{self, JoinSet};
use tokio::time::sleep;

use super::TOPIC;
use super::change::change_of;
use super::failure::{Failure, is_locked, not_tried};
use super::holders;
use super::plan::{notes, ran};
use super::settle::{look_for, settle};
use super::step::Step;
use super::store::{self, ChangeResult, ChangeRow};
use super::view::StatementOutcome;
use crate::datasources::{self, Datasource, DatasourceClient};
use crate::tables::Tables;
use crate::tables::definitions::{self, Definition, Drift, Record};
use crate::tables::history::{self, Source};
use crate::tables::reconcile::{self, FoundTable, Snapshot};
use crate::tables::{TOPIC as TABLES_TOPIC, fields, recycle};

/// Between two looks for what others left.
const POLL: Duration = Duration::from_secs(5);
/// Tables that one server changes at the same time, and those of one data source: each has a session on it.
const CHANGES_AT_ONCE: usize = 64;
const CHANGES_OF_SOURCE: usize = 8;
/// After an end that the store did not take.
const RETRY: Duration = Duration::from_secs(1);
/// How often the store is asked to take it: who goes on with the change afterwards knows less.
const ENDS_MAX: u32 = 60;
/// What a change may still take once the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// Works until the server stops.
pub async fn run_worker(state: Arc<Tables>) {
    let mut changed = state.changes.subscribe(TOPIC);
    let mut worker = Worker { state, working: HashMap::new(), tasks: JoinSet::new() };
    loop {
        if let Err(error) = worker.look().await {
            tracing::warn!("changes of tables are not looked after at this moment: {error}");
        }
        tokio::select! {
            () = worker.state.stopping.cancelled() => break,
            event = changed.next() => if event.is_none() { break },
            Some(done) = worker.tasks.join_next_with_id() => {
                let id = done.map_or_else(|error| error.id(), |(id, ())| id);
                worker.working.retain(|_, (task, _)| *task != id);
            }
            () = sleep(POLL) => {}
        }
    }
    // Each sees for itself that the server stops, and gives its lease back.
    while worker.tasks.join_next().await.is_some() {}
}

struct Worker {
    state: Arc<Tables>,
    /// By table, with its data source: the lease of one that has just ended is given back first.
    working: HashMap<i64, (task::Id, i64)>,
    tasks: JoinSet<()>,
}

impl Worker {
    /// Takes what is free.
    async fn look(&mut self) -> Result<(), Error> {
        for change in store::running(&self.state.db).await? {
            if self.working.len() >= CHANGES_AT_ONCE {
                break;
            }
            let table_id = change.table_id;
            let source_id = change.cluster_id;
            let of_source = self.working.values().filter(|(_, source)| *source == source_id).count();
            if self.working.contains_key(&table_id) || of_source >= CHANGES_OF_SOURCE {
                continue;
            }
            let name = format!("table_change/{table_id}");
            let Some(lease) = self.state.leases.claim(&name, leases::TTL).await? else { continue };
            let attempt = Attempt { state: Arc::clone(&self.state), change };
            let task = self.tasks.spawn(attempt.run(lease.hold())).id();
            self.working.insert(table_id, (task, source_id));
        }
        Ok(())
    }
}

/// One attempt at a change.
struct Attempt {
    state: Arc<Tables>,
    change: ChangeRow,
}

/// What came of it, and the table as it is there now, where that was read.
struct Tried {
    end: ChangeResult,
    found: Option<Table>,
    /// Something may have been done, and the database could not be asked.
    is_unknown: bool,
}

/// Why a step was not made.
struct NotMade {
    failure: Failure,
    /// Somebody else has the table, or the database.
    is_held: bool,
}

impl Attempt {
    async fn run(self, held: Held) {
        let (id, table_id) = (self.change.id, self.change.table_id);
        match self.work(&held).await {
            Ok(()) => {}
            Err(error) if error.code() == "lease_lost" => {}
            Err(error) => {
                tracing::warn!(change = id, table = table_id, "a change is given up for now: {error}");
                self.state.stopping.run_until_cancelled(sleep(RETRY)).await;
            }
        }
        if let Err(error) = held.release().await {
            tracing::debug!("the lease of a change was not given back: {error}");
        }
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
        let tried = tried.await.unwrap_or_else(|_| self.unknown("the server failed; its log has the reason"));
        if had_begun && tried.is_unknown && cancelled.load(Ordering::Relaxed) {
            // Whoever comes next goes on looking.
            return Ok(());
        }
        failpoints::reach("tables.physical_done");
        self.recorded(held, &tried).await?;
        failpoints::reach("tables.change_recorded");
        Ok(())
    }

    /// Another goes on with it, or the server stops and has waited long enough.
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
        let runner = client.runner(&database, Arc::clone(cancelled));
        if had_begun {
            let (end, found) = settle(&client, &runner, &self.change).await?;
            return Ok(Tried { end, found, is_unknown: false });
        }
        Ok(self.carry_out(&source, &client, &runner).await)
    }

    /// Runs the steps in order. Where one is not made those before it are taken back, and what is there is read.
    async fn carry_out(
        &self,
        source: &Datasource,
        client: &DatasourceClient<'_>,
        runner: &Runner<'_>,
    ) -> Tried {
        let mut outcomes = Vec::new();
        let failed = self.run_steps(client, runner, &mut outcomes).await.err();
        let mut end = ChangeResult::default();
        if let Some(NotMade { failure, is_held }) = failed {
            let made = outcomes.iter().take_while(|outcome| outcome.status == RunStatus::Done).count();
            for outcome in outcomes[..made].iter_mut().rev() {
                runner.take_back(outcome).await;
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

    /// What came of each step that was tried, up to the first that was not made.
    async fn run_steps(
        &self,
        client: &DatasourceClient<'_>,
        runner: &Runner<'_>,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), NotMade> {
        let (place, wanted) = (self.place(&self.change.table_name), &self.change.wanted);
        for step in &wanted.steps {
            let change = change_of(client, &place, step, &wanted.table).await;
            let change = change.map_err(|error| NotMade { failure: error.into(), is_held: false })?;
            let outcome = runner.run(Request { change, dry_run: false }).await.map_err(|error| {
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

    /// Statements whose turn did not come.
    fn add_not_run(&self, end: &mut ChangeResult) {
        let later = self.change.statements.iter().skip(end.statements.len()).cloned();
        end.statements.extend(later.map(|mut statement| {
            statement.outcome = Some(StatementOutcome::NotRun);
            statement
        }));
    }

    /// Nothing was run, as far as is known.
    fn failed(&self, failure: Failure) -> Tried {
        let statements = self.change.statements.clone();
        let end = ChangeResult { failure: Some(failure), statements, ..ChangeResult::default() };
        Tried { end, found: None, is_unknown: false }
    }

    /// Another server had begun, and nobody can say how far it came.
    fn unknown(&self, why: &str) -> Tried {
        let message = format!(
            "the server ended in the middle of the change, and the database cannot be asked what became of it: \
             {why}; synchronise the data source"
        );
        Tried { is_unknown: true, ..self.failed(Failure::new(502, "interrupted", message)) }
    }

    /// Has the end written, again and again where the store does not take it.
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

    /// Writes what came of it and what the catalogue takes over, in one transaction.
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
                self.write_wanted(&mut tx, now_ms).await?;
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

    /// Whatever of a table is in a data source is this one, which until then may have had none.
    async fn write_place(&self, tx: &mut Tx, before: &Record, now_ms: i64) -> Result<(), Error> {
        if before.definition.cluster_id.is_some() {
            return Ok(());
        }
        let placed = Definition { cluster_id: Some(self.change.cluster_id), ..before.definition.clone() };
        definitions::store::update(tx, before.id, &placed, before.is_physical, now_ms).await
    }

    async fn write_wanted(&self, tx: &mut Tx, now_ms: i64) -> Result<(), Error> {
        let (change, wanted) = (&self.change, &self.change.wanted);
        definitions::store::update(tx, change.table_id, &wanted.table, true, now_ms).await?;
        for step in &wanted.steps {
            match step {
                Step::AddField { field } => _ = fields::store::insert(tx, field, now_ms).await?,
                Step::AlterField { after, .. } => fields::store::update(tx, after, now_ms).await?,
                Step::DropField { field } => fields::store::delete(tx, field).await?,
                Step::SoftDelete { .. } => {
                    let deprecated_at_ms = change.started_at_ms;
                    recycle::store::put_in(tx, change.table_id, &change.table_name, deprecated_at_ms).await?;
                }
                Step::Restore { .. } => recycle::store::take_out(tx, change.table_id, now_ms).await?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The database has the last word, under whichever name it has the table.
    async fn reconcile(&self, tx: &mut Tx, found: &FoundTable, now_ms: i64) -> Result<(), Error> {
        let look = Snapshot {
            cluster_id: self.change.cluster_id,
            database: &self.change.db_name,
            listed: std::slice::from_ref(&found.name),
            found: std::slice::from_ref(found),
            // After this change, which has ended by now.
            began_ms: now_ms + 1,
            source: Source::Change,
        };
        reconcile::reconcile(tx, &look, now_ms).await.map(drop)
    }
}

/// Until the data source is read in again.
fn not_known(kind: &str) -> [Drift; 1] {
    let expected = "as it was before the change, or after it".to_owned();
    [Drift { what: kind.to_owned(), expected, found: "not known".to_owned() }]
}

/// What the plan had not announced.
fn drift(outcome: &Outcome) -> impl Iterator<Item = Drift> {
    let unannounced = outcome.drift.iter().filter(|difference| !difference.announced);
    unannounced.map(|difference| Drift {
        what: difference.member.clone(),
        expected: difference.wanted.clone(),
        found: difference.found.clone(),
    })
}

/// With what became of the steps before it.
fn told(mut failure: Failure, before: &[Outcome]) -> Failure {
    if before.iter().any(|outcome| outcome.status != RunStatus::TakenBack) {
        failure.message.push_str("; what was done before it could not be taken back");
    } else if !before.is_empty() {
        failure.message.push_str("; what was done before it was taken back");
    }
    failure
}

/// Why a step that was tried was not made.
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
