//! Why the registry refuses a component or a change.

use lakeport_bindings::host::types::Problem;

use crate::call::CallFault;
use crate::grants::Refused;
use crate::inspect::InspectError;

/// Why a component was not let in.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// It is no plugin that this host could run.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It imports what it may not have.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It does not compile or link.
    #[error("the component cannot be linked with this host: {0}")]
    Link(String),
    /// It failed when it was asked what it is.
    #[error("the component failed its trial, describing itself with nothing granted: {message}")]
    Trial {
        /// How.
        fault: CallFault,
        /// For a person.
        message: String,
    },
    /// What it says of itself does not hold.
    #[error("what the plugin says of itself does not hold: {}", problems(.0))]
    Description(Vec<Problem>),
    /// A bound of the registry.
    #[error("{0}")]
    Full(String),
}

impl StageError {
    /// The stable word for it in answers.
    pub fn code(&self) -> &'static str {
        match self {
            StageError::Inspect(error) => error.code(),
            StageError::Refused(_) => "import_refused",
            StageError::Link(_) => "component_not_linkable",
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
    /// No such plugin or generation.
    #[error("{0}")]
    NotFound(String),
    /// The state forbids it.
    #[error("{message}")]
    Conflict {
        /// Stable word.
        code: &'static str,
        /// For a person.
        message: String,
    },
}

pub(super) fn conflict(code: &'static str, message: impl Into<String>) -> RegistryError {
    RegistryError::Conflict { code, message: message.into() }
}
