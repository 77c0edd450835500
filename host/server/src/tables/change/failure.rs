//! Why a physical change failed, as stored and as shown to clients.

use lakeport_base::error::{self, Detail, Error, FAILED};
use lakeport_bindings::host::types::Problem;
use lakeport_physical::RunError;
use lakeport_plugins::CallError;
use serde::{Deserialize, Serialize};

use super::spec::Step;
use super::view::Statement;
use crate::datasources::Unanswered;
use crate::plugins::{answered, failed};

/// The member of a problem that concerns no single member.
const WHOLE: &str = "table";

/// Codes of stored failures.
const KNOWN_CODES: [&[&str]; 2] = [error::CODES, crate::tables::ERROR_CODES];

/// A stored refusal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub status: u16,
    pub code: String,
    pub message: String,
    /// Member and message.
    pub details: Vec<(String, String)>,
}

impl Failure {
    pub fn new(status: u16, code: &str, message: impl Into<String>) -> Failure {
        Failure { status, code: code.to_owned(), message: message.into(), details: Vec::new() }
    }

    /// Adds every statement with its outcome.
    pub fn to_error(&self, statements: &[Statement]) -> Error {
        let code = KNOWN_CODES
            .into_iter()
            .flatten()
            .find(|code| **code == self.code)
            .copied()
            .unwrap_or("change_failed");
        let details = self.details.iter().map(|(field, message)| Detail::new(field, message)).collect();
        let statements = statements.iter().filter_map(|statement| serde_json::to_value(statement).ok());
        Error::refused(self.status, code, self.message.clone())
            .with_details(details)
            .with_statements(statements.collect())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        match error {
            Error::Refused(refusal) => Failure {
                status: refusal.status,
                code: refusal.code.to_owned(),
                message: refusal.message,
                details: refusal.details.into_iter().map(|detail| (detail.field, detail.message)).collect(),
            },
            Error::Internal(source) => {
                tracing::error!("a physical change failed: {source:#}");
                Failure::new(500, "internal", FAILED)
            }
        }
    }
}

/// Whether another client holds a lock on the database.
pub fn is_locked(error: &RunError) -> bool {
    match error {
        RunError::Database(error) | RunError::Dialect(CallError::Answered(error)) => {
            lakeport_physical::is_locked(error)
        }
        _ => false,
    }
}

/// Why a step was not attempted.
pub fn not_tried(step: &Step, error: RunError) -> Error {
    match error {
        RunError::Invalid(problems) => refused_by(step, problems),
        RunError::Refused(refusal) => {
            let message = format!("the dialect's plan was refused: {refusal}");
            Error::bad_gateway("plugin_broke_contract", message)
        }
        RunError::Dialect(error) => failed(error),
        RunError::Database(error) => answered(&error),
        RunError::NameTaken(message) => Error::conflict("name_taken", format!("in the database {message}")),
        RunError::NotATable(message) => Error::conflict("not_a_table", format!("in the database {message}")),
        RunError::Overtaken(message) | RunError::NotFound(message) => drifted(&message),
    }
}

/// The table in the database differs from the catalogue.
pub fn drifted(message: &str) -> Error {
    let message =
        format!("{message}: the database is not as the catalogue has it; synchronize the data source");
    Error::conflict("schema_drift", message)
}

/// A failed question about one table: the table may no longer exist.
pub fn unanswered(error: Unanswered) -> Error {
    match error {
        Unanswered::Plugin(CallError::Answered(error)) if error.code == "not_found" => {
            drifted(&error.message)
        }
        error => error.into(),
    }
}

/// 409 if the database does not support it, has an object of that name, or uses what would be removed; else
/// 400. Details name every member.
fn refused_by(step: &Step, problems: Vec<Problem>) -> Error {
    let are_all = |codes: &[&str]| problems.iter().all(|problem| codes.contains(&problem.code.as_str()));
    let (is_unsupported, is_conflict) =
        (are_all(&["unsupported_by_dialect", "not_representable"]), are_all(&["conflict"]));
    let in_the_way = if gives_name(step) && problems.iter().all(|problem| !problem.member.is_empty()) {
        "name_taken"
    } else {
        "in_use"
    };
    let details: Vec<Detail> = problems.into_iter().map(detail).collect();
    let shown: Vec<String> = details.iter().map(|d| format!("{}: {}", d.field, d.message)).collect();
    match (is_unsupported, is_conflict) {
        (true, _) => Error::conflict("unsupported_by_dialect", shown.join("; ")).with_details(details),
        (_, true) => Error::conflict(in_the_way, shown.join("; ")).with_details(details),
        _ => Error::invalid(details),
    }
}

/// Whether the step assigns a name, which may be taken.
fn gives_name(step: &Step) -> bool {
    match step {
        Step::CreateTable { .. }
        | Step::RenameTable { .. }
        | Step::SoftDelete { .. }
        | Step::Restore { .. }
        | Step::AddField { .. } => true,
        Step::AlterField { before, after } => before.name != after.name,
        _ => false,
    }
}

pub fn detail(problem: Problem) -> Detail {
    let field = if problem.member.is_empty() { WHOLE.to_owned() } else { problem.member };
    Detail::new(field, problem.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_known(code: &str) -> bool {
        KNOWN_CODES.iter().any(|codes| codes.contains(&code))
    }

    fn problem(member: &str, code: &str) -> Problem {
        Problem { member: member.to_owned(), code: code.to_owned(), message: "because".to_owned() }
    }

    fn refused(problems: &[(&str, &str)]) -> (u16, &'static str) {
        let problems = problems.iter().map(|(member, code)| problem(member, code)).collect();
        let step = Step::RenameTable { name: "t".to_owned() };
        let error = not_tried(&step, RunError::Invalid(problems));
        assert!(is_known(error.code()));
        (error.status(), error.code())
    }

    #[test]
    fn plan_refusals_map_to_409_or_400() {
        assert_eq!(refused(&[("bucketNum", "unsupported_by_dialect")]), (409, "unsupported_by_dialect"));
        assert_eq!(refused(&[("fieldName", "conflict")]), (409, "name_taken"));
        let mixed = [("bucketNum", "unsupported_by_dialect"), ("fieldType", "invalid_value")];
        assert_eq!(refused(&mixed), (400, "invalid_input"));
    }

    #[test]
    fn obstacles_have_their_own_code() {
        let conflict = |member: &str| RunError::Invalid(vec![problem(member, "conflict")]);
        let rename = Step::RenameTable { name: "t".to_owned() };
        for (step, error, code) in [
            (&rename, RunError::NameTaken("t is there already".to_owned()), "name_taken"),
            (&rename, RunError::NotATable("t is no table but a view".to_owned()), "not_a_table"),
            (&rename, RunError::Overtaken("t was changed".to_owned()), "schema_drift"),
            (&rename, conflict("tableName"), "name_taken"),
            (&rename, conflict(""), "in_use"),
            (&Step::Purge, conflict(""), "in_use"),
        ] {
            let error = not_tried(step, error);
            assert_eq!((error.status(), error.code()), (409, code));
            assert!(is_known(code));
        }
    }

    #[test]
    fn a_failure_is_shown_as_stored() {
        let kept =
            Failure::from(Error::conflict("schema_drift", "gone").with_details(vec![Detail::new("a", "b")]));
        let error = kept.to_error(&[]);
        assert_eq!((error.status(), error.code()), (409, "schema_drift"));
        assert_eq!(Failure::from(error), kept);
    }
}
