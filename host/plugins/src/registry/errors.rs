//! The errors of staging a component and of changing a plugin.

use lakeport_bindings::host::types::Problem;

use crate::call::CallFault;
use crate::compiler::{ReadError, Unfinished};
use crate::grants::Refused;
use crate::inspect::InspectError;

/// Why a component was not staged.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Not a plugin that this host can run.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It imports interfaces that it may not have.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It does not compile or link.
    #[error("the component cannot be linked with this host: {0}")]
    Link(String),
    /// The process that reads or compiles it ended early.
    #[error("{0}")]
    Unfinished(String),
    /// Its `describe` failed.
    #[error("the component failed its trial call of `describe`: {message}")]
    Trial {
        /// The fault.
        fault: CallFault,
        /// For people.
        message: String,
    },
    /// Its description is invalid.
    #[error("the plugin's description is invalid: {}", problems(.0))]
    Description(Vec<Problem>),
    /// A limit of the registry.
    #[error("{0}")]
    Full(String),
}

impl From<ReadError> for StageError {
    fn from(error: ReadError) -> StageError {
        match error {
            ReadError::Inspect(error) => StageError::Inspect(error),
            ReadError::Unfinished(error) => StageError::Unfinished(error.to_string()),
        }
    }
}

impl StageError {
    pub(super) fn of_compiler(error: wasmtime::Error) -> StageError {
        match error.downcast::<InspectError>() {
            Ok(error) => StageError::Inspect(error),
            Err(error) => match error.downcast_ref::<Unfinished>() {
                Some(unfinished) => StageError::Unfinished(unfinished.to_string()),
                None => StageError::Link(format!("{error:#}")),
            },
        }
    }

    /// The stable code of this error in answers.
    pub fn code(&self) -> &'static str {
        match self {
            StageError::Inspect(error) => error.code(),
            StageError::Refused(_) => "import_refused",
            StageError::Link(_) => "component_not_linkable",
            StageError::Unfinished(_) => CallFault::Busy.code(),
            StageError::Trial { fault, .. } => fault.code(),
            StageError::Description(_) => "description_invalid",
            StageError::Full(_) => "too_many_generations",
        }
    }
}

fn problems(problems: &[Problem]) -> String {
    const SHOWN: usize = 20;
    let mut lines: Vec<String> =
        problems.iter().take(SHOWN).map(|p| format!("{}: {}", p.member, p.message)).collect();
    if problems.len() > SHOWN {
        lines.push(format!("and {} more", problems.len() - SHOWN));
    }
    lines.join("; ")
}

/// Why a change was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RegistryError {
    /// Unknown plugin or generation.
    #[error("{0}")]
    NotFound(String),
    /// The plugin's state does not allow the change.
    #[error("{message}")]
    Conflict {
        /// The stable code.
        code: &'static str,
        /// For people.
        message: String,
    },
}

pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> RegistryError {
    RegistryError::Conflict { code, message: message.into() }
}
