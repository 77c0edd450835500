//! Executes a checked plan, and rolls back or undoes it if the result is wrong.

use std::sync::Arc;
use std::time::Duration;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::{Table, TableName};
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use tokio::time::sleep;

use super::action::left_running;
use super::look::{Seen, difference};
use super::{Outcome, PlanExecutor, Prepared, RunError, RunStatus, StatementStatus};
use crate::compare::Difference;
use crate::errors::{is_busy, is_lost, is_unknown};
use crate::expected;
use crate::session::{Beginning, Session};

/// How often a lost database is reconnected to, and the interval.
const REOPEN_MAX: u32 = 15;
const REOPEN_INTERVAL: Duration = Duration::from_secs(1);

impl PlanExecutor<'_> {
    pub(super) async fn carry_out(&self, prepared: &Prepared, outcome: Outcome) -> Result<Outcome, RunError> {
        let session = self.database.open_to_change().await.map_err(RunError::Database)?;
        session.cancelled_by(self.cancelled.clone());
        let beginning = Beginning {
            transactional: prepared.plan.transactional,
            rebuilds: prepared.plan.rebuilds,
            locks: expected::current(&prepared.change)
                .filter(|_| locks_table(&prepared.change))
                .map(|table| &table.name),
        };
        let begun = session.begin_change(&beginning).await.map_err(RunError::Database);
        if prepared.plan.transactional {
            let result = match begun {
                Ok(()) => self.in_one_transaction(&session, prepared, outcome).await,
                Err(error) => Err(error),
            };
            // Closing, or losing, a session in a transaction rolls it back.
            session.close().await;
            result
        } else {
            begun?;
            self.one_by_one(session, prepared, outcome).await
        }
    }

    async fn in_one_transaction(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        mut outcome: Outcome,
    ) -> Result<Outcome, RunError> {
        self.unchanged(session, prepared).await?;
        let before = Seen::now(session, prepared).await.map_err(RunError::Database)?;
        let mut acting = Arc::clone(session);
        let is_run = self.run_steps(&mut acting, prepared, &mut outcome).await;
        drop(acting);
        if !is_run {
            return not_begun(taken_back(session, outcome).await);
        }
        let verdict = self.read_back(session, prepared, &before, &mut outcome).await;
        if let Err(failed) = verdict {
            outcome.error = Some(error("internal", format!("reading the table back failed: {failed}")));
            return Ok(taken_back(session, outcome).await);
        }
        if outcome.drift.iter().any(|difference| !difference.announced) {
            outcome.error = Some(not_as_wanted());
            return Ok(taken_back(session, outcome).await);
        }
        session.not_cancelled();
        match session.commit(super::OWN_TIMEOUT).await {
            Ok(()) => outcome.status = RunStatus::Done,
            // Only the database knows whether the commit succeeded.
            Err(failed) if is_unknown(&failed) => {
                return Ok(self.after_loss(session, prepared, outcome, failed).await);
            }
            Err(failed) => {
                outcome.error = Some(failed);
                return Ok(taken_back(session, outcome).await);
            }
        }
        Ok(outcome)
    }

    /// Runs each statement on its own. When one fails, or the result is wrong, undoes the finished ones. The
    /// table was read just before, but no lock could keep it as it was.
    async fn one_by_one(
        &self,
        mut session: Arc<Session>,
        prepared: &Prepared,
        mut outcome: Outcome,
    ) -> Result<Outcome, RunError> {
        let before = Seen::now(&session, prepared).await.map_err(RunError::Database)?;
        if !self.run_steps(&mut session, prepared, &mut outcome).await {
            if let Some(lost) = outcome.error.take_if(|failed| is_unknown(failed)) {
                return Ok(self.after_loss(&session, prepared, outcome, lost).await);
            }
            self.undo(&mut session, prepared, &mut outcome).await;
            session.close().await;
            return not_begun(outcome);
        }
        outcome.status = RunStatus::Done;
        if let Err(failed) = self.read_back(&session, prepared, &before, &mut outcome).await {
            outcome.error = Some(error("internal", format!("reading the table back failed: {failed}")));
        } else if outcome.drift.iter().any(|difference| !difference.announced) {
            outcome.error = Some(not_as_wanted());
            self.undo(&mut session, prepared, &mut outcome).await;
        }
        session.close().await;
        Ok(outcome)
    }

    /// Checks that the table is still as it was when the plan was made.
    async fn unchanged(&self, session: &Arc<Session>, prepared: &Prepared) -> Result<(), RunError> {
        let Some(planned_for) = expected::current(&prepared.change) else { return Ok(()) };
        let now = self.reading(session, prepared, &planned_for.name).await?;
        if now.as_ref().is_some_and(|now| is_same(now, planned_for)) {
            return Ok(());
        }
        let message = format!("{} was changed by someone else meanwhile; try again", planned_for.name.name);
        Err(RunError::Overtaken(message))
    }

    /// Inspects on a session that may change things; the session is read-only while the dialect has it.
    async fn reading(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        name: &TableName,
    ) -> Result<Option<Table>, RunError> {
        let is_in_transaction = prepared.plan.transactional;
        session.begin_reading(is_in_transaction).await.map_err(RunError::Database)?;
        let found = self.inspect_again(session, prepared, name).await;
        session.end_reading(is_in_transaction).await.map_err(RunError::Database)?;
        found
    }

    /// Inspects the table again, as for the plan.
    async fn inspect_again(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        name: &TableName,
    ) -> Result<Option<Table>, RunError> {
        let dependents = expected::can_break_dependents(&prepared.change);
        self.inspect(session, &prepared.profile, &prepared.server, (name, dependents)).await
    }

    /// Reads the table back and records the differences.
    async fn read_back(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        before: &Seen,
        outcome: &mut Outcome,
    ) -> Result<(), RunError> {
        let after = Seen::now(session, prepared).await.map_err(RunError::Database)?;
        outcome.drift = before.differences(&after, prepared);
        let wanted = expected::afterwards(&prepared.change);
        let Some(name) = wanted.as_ref().map(|table| &table.name) else { return Ok(()) };
        match self.reading(session, prepared, name).await? {
            Some(found) => {
                outcome.drift.extend(self.differences(prepared, &found).await?);
                outcome.table = Some(found);
            }
            None => outcome.drift.push(difference("tableName", &name.name, "")),
        }
        Ok(())
    }

    /// Runs the steps in order; false if one failed.
    async fn run_steps(
        &self,
        session: &mut Arc<Session>,
        prepared: &Prepared,
        outcome: &mut Outcome,
    ) -> bool {
        let mut steps = prepared.plan.steps.iter().zip(&mut outcome.statements);
        for (step, statement) in steps.by_ref() {
            match self.act(session, &step.action).await {
                Ok(()) => statement.status = StatementStatus::Done,
                Err(failed) => {
                    statement.status = StatementStatus::Failed;
                    statement.error = Some(failed.clone());
                    outcome.error = Some(failed);
                    break;
                }
            }
        }
        steps.for_each(|(_, statement)| statement.status = StatementStatus::NotRun);
        outcome.error.is_none()
    }

    /// Undoes a change that was made, by its own undo statements. The outcome says how far that came.
    pub async fn take_back(&self, outcome: &mut Outcome) {
        let Some(prepared) = outcome.made.take() else { return };
        if let Err(failed) = self.taking_back(&prepared, outcome).await {
            outcome.status = RunStatus::Partly;
            outcome.error = Some(failed);
        }
    }

    async fn taking_back(&self, prepared: &Prepared, outcome: &mut Outcome) -> Result<(), Error> {
        let mut session = self.database.open_to_change().await?;
        let is_transactional = prepared.plan.transactional;
        let afterwards = expected::afterwards(&prepared.change).map(|table| table.name);
        let locks = afterwards.as_ref().filter(|_| locks_table(&prepared.change));
        let beginning =
            Beginning { transactional: is_transactional, rebuilds: prepared.plan.rebuilds, locks };
        session.begin_change(&beginning).await?;
        self.undo(&mut session, prepared, outcome).await;
        if is_transactional && outcome.status == RunStatus::TakenBack {
            session.commit(super::OWN_TIMEOUT).await?;
        }
        // Closing a session in a transaction rolls it back: then the change stays as it was made.
        session.close().await;
        Ok(())
    }

    /// Undoes finished statements, last first, and stops at the first failure. Can no longer be cancelled.
    async fn undo(&self, session: &mut Arc<Session>, prepared: &Prepared, outcome: &mut Outcome) {
        session.not_cancelled();
        outcome.status = RunStatus::TakenBack;
        outcome.table = None;
        for (step, statement) in prepared.plan.steps.iter().zip(&mut outcome.statements).rev() {
            if statement.status != StatementStatus::Done {
                continue;
            }
            for action in &step.undo {
                if let Err(failed) = self.act(session, action).await {
                    statement.error = Some(failed);
                    outcome.status = RunStatus::Partly;
                    return;
                }
            }
            if step.undo.is_empty() {
                outcome.status = RunStatus::Partly;
                return;
            }
            statement.status = StatementStatus::Undone;
            if !step.undo_complete {
                outcome.status = RunStatus::Partly;
            }
        }
    }

    /// The connection was lost during the change. Once the database answers again and runs nothing of the
    /// change any more, finds out the change's outcome.
    async fn after_loss(
        &self,
        session: &Session,
        prepared: &Prepared,
        mut outcome: Outcome,
        lost: Error,
    ) -> Outcome {
        let found = if session.has_stopped().await {
            self.found_after_loss(prepared).await
        } else {
            Err(RunError::Database(left_running()))
        };
        match found {
            Ok(found) => {
                let verdict = self.verdict(prepared, found.as_ref()).await;
                self.settle(prepared, &mut outcome, found, verdict, lost);
            }
            Err(_) => {
                outcome.status = RunStatus::Partly;
                outcome.error = Some(Error { may_have_applied: true, ..lost });
            }
        }
        outcome
    }

    async fn found_after_loss(&self, prepared: &Prepared) -> Result<Option<Table>, RunError> {
        let mut session = self.reopened().await.map_err(RunError::Database)?;
        let last = prepared.plan.steps.last().and_then(|step| step.action.probe.as_ref());
        if let Some(probe) = last {
            self.follow_unknown(&mut session, probe).await.map_err(RunError::Database)?;
        }
        let name = expected::afterwards(&prepared.change).map(|table| table.name);
        for name in name.iter().chain(expected::subject(&prepared.change)) {
            let found = self.inspect_again(&session, prepared, name).await?;
            if found.is_some() {
                session.close().await;
                return Ok(found);
            }
        }
        session.close().await;
        Ok(None)
    }

    async fn reopened(&self) -> Result<Arc<Session>, Error> {
        let mut tries = 0;
        loop {
            match self.database.open_to_read().await {
                Err(cause) if is_lost(&cause) && tries < REOPEN_MAX => {
                    tries += 1;
                    sleep(REOPEN_INTERVAL).await;
                }
                opened => return opened,
            }
        }
    }

    /// The differences between the found and the expected table.
    async fn verdict(&self, prepared: &Prepared, found: Option<&Table>) -> Vec<Difference> {
        let wanted = expected::afterwards(&prepared.change).map(|table| table.name);
        match (wanted, found) {
            (None, None) => Vec::new(),
            (None, Some(found)) => vec![difference("tableName", "", &found.name.name)],
            (Some(wanted), None) => vec![difference("tableName", &wanted.name, "")],
            (Some(wanted), Some(found)) if wanted != found.name => {
                vec![difference("tableName", &wanted.name, &found.name.name)]
            }
            (Some(wanted), Some(found)) => match self.differences(prepared, found).await {
                Ok(differences) => differences,
                Err(_) => vec![difference("table", &wanted.name, "not known")],
            },
        }
    }

    fn settle(
        &self,
        prepared: &Prepared,
        outcome: &mut Outcome,
        found: Option<Table>,
        verdict: Vec<Difference>,
        lost: Error,
    ) {
        let before = expected::current(&prepared.change);
        let is_as_before = match (before, &found) {
            (Some(before), Some(found)) => is_same(found, before),
            (None, None) => true,
            _ => false,
        };
        let unsure =
            |status: &StatementStatus| matches!(status, StatementStatus::Failed | StatementStatus::Done);
        let is_done = verdict.iter().all(|difference| difference.announced);
        for statement in outcome.statements.iter_mut().filter(|statement| unsure(&statement.status)) {
            if is_done {
                (statement.status, statement.error) = (StatementStatus::Done, None);
            } else if is_as_before && statement.status == StatementStatus::Done {
                statement.status = StatementStatus::Undone;
            }
        }
        (outcome.status, outcome.error) = match (is_done, is_as_before) {
            (true, _) => (RunStatus::Done, None),
            (false, true) => (RunStatus::TakenBack, Some(lost)),
            (false, false) => (RunStatus::Partly, Some(Error { may_have_applied: true, ..lost })),
        };
        outcome.drift = if is_as_before { Vec::new() } else { verdict };
        outcome.table = found.filter(|_| !is_as_before || is_done);
    }
}

/// If the first statement only failed to get a lock, nothing was begun.
fn not_begun(outcome: Outcome) -> Result<Outcome, RunError> {
    let is_first = outcome.statements.first().is_some_and(|first| first.status == StatementStatus::Failed);
    match outcome.error {
        Some(busy) if is_first && is_busy(&busy) => Err(RunError::Database(busy)),
        _ => Ok(outcome),
    }
}

/// A change of a comment neither blocks other clients nor is blocked by them.
fn locks_table(change: &Change) -> bool {
    !matches!(change, Change::CommentTable(_))
}

/// Whether a table is unchanged, apart from tables that were created along with it.
fn is_same(now: &Table, before: &Table) -> bool {
    let companions = before.companions.clone();
    Table { companions, ..now.clone() } == *before
}

fn not_as_wanted() -> Error {
    error("invalid_response", "the result was not as expected; the change was rolled back")
}

async fn taken_back(session: &Session, mut outcome: Outcome) -> Outcome {
    session.not_cancelled();
    // Some errors have rolled the transaction back already; the end of the session does it in any case.
    if let Err(failed) = session.roll_back().await {
        tracing::debug!(error = %failed.message, "there was nothing to roll back");
    }
    for statement in &mut outcome.statements {
        if statement.status == StatementStatus::Done {
            statement.status = StatementStatus::Undone;
        }
    }
    outcome.status = RunStatus::TakenBack;
    outcome.table = None;
    outcome
}
