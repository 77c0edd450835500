//! Carries a checked plan out on SQLite, and takes it back where it does not give what it should.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lakeport_bindings::dialect::planner::Change;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_bindings::host::data::Cell;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;

use super::{Outcome, Prepared, RunError, RunStatus, Runner, StatementStatus};
use crate::compare::Difference;
use crate::expected;
use crate::schema::{self, SchemaObject};
use crate::session::Session;

/// One statement of a change: a rebuild copies all rows.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(600);
/// Beginning, committing, rolling back and settings.
const OWN_TIMEOUT: Duration = Duration::from_secs(60);

/// What the host saw before the change.
struct Before {
    objects: BTreeSet<SchemaObject>,
    rows: Option<i64>,
    broken_keys: Vec<Vec<Cell>>,
}

impl Runner<'_> {
    pub(super) async fn carry_out(&self, prepared: &Prepared, outcome: Outcome) -> Result<Outcome, RunError> {
        let session = self.database.open_to_change().await.map_err(RunError::Database)?;
        session.cancelled_by(self.cancelled.clone());
        let result = if prepared.plan.transactional {
            self.in_one_transaction(&session, prepared, outcome).await
        } else {
            self.one_by_one(&session, prepared, outcome).await
        };
        // Closing, or losing, a session in a transaction rolls it back.
        session.close().await;
        result
    }

    async fn in_one_transaction(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        mut outcome: Outcome,
    ) -> Result<Outcome, RunError> {
        if prepared.plan.rebuilds {
            // Within a transaction this has no effect. The check before the commit takes its place.
            own(session, "PRAGMA foreign_keys = OFF").await?;
        }
        own(session, "BEGIN IMMEDIATE").await?;
        self.unchanged(session, prepared).await?;
        let before = look(session, prepared).await.map_err(RunError::Database)?;
        if !run_steps(session, prepared, &mut outcome).await {
            return Ok(taken_back(session, outcome).await);
        }
        let verdict = self.read_back(session, prepared, &before, &mut outcome).await;
        if let Err(failed) = verdict {
            outcome.error = Some(error("internal", format!("the table could not be read back: {failed}")));
            return Ok(taken_back(session, outcome).await);
        }
        if outcome.drift.iter().any(|difference| !difference.announced) {
            let message = "the table did not become what it should; nothing was changed";
            outcome.error = Some(error("bad_answer", message));
            return Ok(taken_back(session, outcome).await);
        }
        if let Err(failed) = session.own("COMMIT", OWN_TIMEOUT).await {
            outcome.error = Some(failed);
            return Ok(taken_back(session, outcome).await);
        }
        outcome.status = RunStatus::Done;
        Ok(outcome)
    }

    /// Each statement stands for itself. What was done is undone when one fails.
    async fn one_by_one(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        mut outcome: Outcome,
    ) -> Result<Outcome, RunError> {
        self.unchanged(session, prepared).await?;
        let before = look(session, prepared).await.map_err(RunError::Database)?;
        if !run_steps(session, prepared, &mut outcome).await {
            undo(session, prepared, &mut outcome).await;
            return Ok(outcome);
        }
        outcome.status = RunStatus::Done;
        if let Err(failed) = self.read_back(session, prepared, &before, &mut outcome).await {
            outcome.error = Some(error("internal", format!("the table could not be read back: {failed}")));
        }
        Ok(outcome)
    }

    /// The plan was made for the table as it was read; it must still be so.
    async fn unchanged(&self, session: &Arc<Session>, prepared: &Prepared) -> Result<(), RunError> {
        let Some(planned_for) = expected::current(&prepared.change) else { return Ok(()) };
        let now = self.reading(session, prepared, &planned_for.name).await?;
        if now.as_ref() == Some(planned_for) {
            return Ok(());
        }
        let message = format!("{} was changed by someone else meanwhile; try again", planned_for.name.name);
        Err(RunError::Conflict(message))
    }

    /// Inspects on a session that may change things, which it may not while the dialect has it.
    async fn reading(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        name: &TableName,
    ) -> Result<Option<lakeport_bindings::dialect::schema::Table>, RunError> {
        own(session, "PRAGMA query_only = ON").await?;
        let found = self.inspect(session, &prepared.profile, &prepared.server, name).await;
        own(session, "PRAGMA query_only = OFF").await?;
        found
    }

    /// Reads the table back and writes down what is not as it should be.
    async fn read_back(
        &self,
        session: &Arc<Session>,
        prepared: &Prepared,
        before: &Before,
        outcome: &mut Outcome,
    ) -> Result<(), RunError> {
        let after = look(session, prepared).await.map_err(RunError::Database)?;
        outcome.drift = by_own_look(prepared, before, &after);
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
}

async fn own(session: &Session, statement: &'static str) -> Result<(), RunError> {
    session.own(statement, OWN_TIMEOUT).await.map_err(RunError::Database)
}

/// Runs the steps in order; false when one failed.
async fn run_steps(session: &Session, prepared: &Prepared, outcome: &mut Outcome) -> bool {
    let mut steps = prepared.plan.steps.iter().zip(&mut outcome.statements);
    for (step, statement) in steps.by_ref() {
        match session.change(&step.action.sql, STATEMENT_TIMEOUT).await {
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

async fn taken_back(session: &Session, mut outcome: Outcome) -> Outcome {
    // Some errors have rolled the transaction back already; the session's end does it in any case.
    if let Err(failed) = session.own("ROLLBACK", OWN_TIMEOUT).await {
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

/// Undoes what was done, the last first, and stops where that fails.
async fn undo(session: &Session, prepared: &Prepared, outcome: &mut Outcome) {
    outcome.status = RunStatus::TakenBack;
    for (step, statement) in prepared.plan.steps.iter().zip(&mut outcome.statements).rev() {
        if statement.status != StatementStatus::Done {
            continue;
        }
        for action in &step.undo {
            if let Err(failed) = session.change(&action.sql, STATEMENT_TIMEOUT).await {
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

async fn look(session: &Session, prepared: &Prepared) -> Result<Before, Error> {
    let objects = schema::objects(session).await?;
    if !prepared.plan.rebuilds {
        return Ok(Before { objects, rows: None, broken_keys: Vec::new() });
    }
    let table = expected::current(&prepared.change).map(|table| table.name.name.as_str());
    let there = table.filter(|name| objects.iter().any(|object| object.name == **name));
    let rows = match there {
        Some(name) => Some(schema::row_count(session, name).await?),
        None => None,
    };
    Ok(Before { objects, rows, broken_keys: schema::broken_foreign_keys(session).await? })
}

/// What the host itself sees: objects that came or went, rows lost, foreign keys broken.
fn by_own_look(prepared: &Prepared, before: &Before, after: &Before) -> Vec<Difference> {
    let mut differences = Vec::new();
    let wanted = objects_afterwards(prepared, &before.objects);
    let named = |object: &SchemaObject| format!("{} {}", object.kind, object.name);
    for missing in wanted.difference(&after.objects) {
        differences.push(difference("database", &named(missing), ""));
    }
    for strange in after.objects.difference(&wanted) {
        differences.push(difference("database", "", &named(strange)));
    }
    if before.rows != after.rows {
        let count = |rows: Option<i64>| rows.map(|rows| rows.to_string()).unwrap_or_default();
        differences.push(difference("rows", &count(before.rows), &count(after.rows)));
    }
    if before.broken_keys != after.broken_keys {
        let count = |keys: &Vec<Vec<Cell>>| format!("{} broken foreign keys", keys.len());
        differences.push(difference("database", &count(&before.broken_keys), &count(&after.broken_keys)));
    }
    differences
}

/// Which objects there should be.
fn objects_afterwards(prepared: &Prepared, before: &BTreeSet<SchemaObject>) -> BTreeSet<SchemaObject> {
    let table =
        |name: &str| SchemaObject { kind: "table".to_owned(), name: name.to_owned(), table: name.to_owned() };
    let mut objects = before.clone();
    match &prepared.change {
        Change::CreateTable(wanted) => {
            objects.insert(table(&wanted.name.name));
            objects.extend(prepared.plan.new_names.iter().map(|name| table(&name.name)));
        }
        Change::DropTable(change) => {
            let current = &change.current;
            objects.retain(|object| {
                object.table != current.name.name && !current.companions.contains(&object.table)
            });
        }
        Change::RenameTable(change) | Change::RestoreTable(change) => {
            let (old, new) = (&change.current.name.name, &change.new_name);
            let renamed = |mut object: SchemaObject| {
                if object.table == *old {
                    object.table.clone_from(new);
                }
                if object.kind == "table" && object.name == *old {
                    object.name.clone_from(new);
                }
                object
            };
            objects = objects.into_iter().map(renamed).collect();
        }
        _ => {}
    }
    objects
}

fn difference(member: &str, wanted: &str, found: &str) -> Difference {
    Difference {
        member: member.to_owned(),
        wanted: wanted.to_owned(),
        found: found.to_owned(),
        announced: false,
    }
}
