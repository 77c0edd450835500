//! Plans a change before it starts, so that a request is refused at once if its plan is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lakeport_base::Error;
use lakeport_bindings::dialect::schema::TableName;
use lakeport_physical::{Outcome, Request, StatementOutcome as Ran, StatementStatus};

use super::dialect::change_of;
use super::failure::not_tried;
use super::spec::ChangeSpec;
use super::view::{DryRun, Note, PlannedStatement, Statement, StatementOutcome};
use crate::datasources::DatasourceClient;

/// The statements of all steps.
#[derive(Debug, Default)]
pub struct Planned {
    pub statements: Vec<PlannedStatement>,
    pub notes: Vec<Note>,
}

impl Planned {
    /// In stored form, with outcomes unknown yet.
    pub fn statements_to_come(&self) -> Vec<Statement> {
        let to_come =
            |planned: &PlannedStatement| Statement { planned: planned.clone(), outcome: None, error: None };
        self.statements.iter().map(to_come).collect()
    }

    pub fn view(self) -> DryRun {
        DryRun { statements: self.statements, notes: self.notes }
    }
}

/// Plans every step on the current physical table; changes nothing.
pub async fn plan(
    client: &DatasourceClient<'_>,
    table: &TableName,
    wanted: &ChangeSpec,
) -> Result<Planned, Error> {
    let mut planned = Planned::default();
    if wanted.steps.is_empty() {
        return Ok(planned);
    }
    let database = client.database().await.map_err(|error| crate::plugins::answered(&error))?;
    let executor = client.executor(&database, Arc::new(AtomicBool::new(false)));
    for step in &wanted.steps {
        let change = change_of(client, table, step, &wanted.table).await?;
        let request = Request { change, dry_run: true };
        let outcome = executor.run(request).await.map_err(|error| not_tried(step, error))?;
        planned.notes.extend(notes(&outcome));
        planned.statements.extend(outcome.statements.iter().map(statement));
    }
    Ok(planned)
}

pub fn notes(outcome: &Outcome) -> Vec<Note> {
    let note = |problem: &lakeport_bindings::host::types::Problem| Note {
        member: problem.member.clone(),
        message: problem.message.clone(),
    };
    outcome.notes.iter().map(note).collect()
}

fn statement(ran: &Ran) -> PlannedStatement {
    let is_partial = !ran.undo.is_empty() && !ran.undo_complete;
    let note = if is_partial {
        format!("{}; the undo does not restore everything", ran.purpose)
    } else {
        ran.purpose.clone()
    };
    PlannedStatement { sql: ran.sql.clone(), undo: ran.undo.clone(), destroys: ran.destroys, note }
}

/// A statement with its outcome.
pub fn ran(ran: &Ran) -> Statement {
    let outcome = match ran.status {
        StatementStatus::Planned | StatementStatus::NotRun => StatementOutcome::NotRun,
        StatementStatus::Done => StatementOutcome::Done,
        StatementStatus::Failed => StatementOutcome::Failed,
        StatementStatus::Undone => StatementOutcome::Undone,
    };
    let error = ran.error.as_ref().map(|error| error.message.clone());
    Statement { planned: statement(ran), outcome: Some(outcome), error }
}
