//! Writes and judges SQL for the host. Pure: no I/O, no state, no waiting.
//!
//! A plugin never writes text that changes a database. It returns tokens; [`plan`] checks them against the
//! dialect's [`profile`] and the host's own [`bounds`], [`write`] makes the text, and [`lex`] reads that text
//! again as the server will. Reading statements pass the [`guard`], which parses them and never matches text.

pub mod bounds;
mod expression;
pub mod functions;
pub mod guard;
mod heavy;
pub mod lex;
pub mod lineage;
mod mentions;
pub mod names;
mod pattern;
pub mod plan;
pub mod profile;
pub mod read;
mod rebuild;
mod remembered;
mod scope;
pub mod script;
mod session;
mod statement;
mod subject;
#[cfg(test)]
mod testing;
pub mod write;

pub use functions::{AddedFunctions, Author, Functions};
pub use guard::{Guard, Judged, Object, SqlParser};
pub use lex::Lexing;
pub use mentions::fields_named;
pub use plan::{CheckedAction, CheckedPlan, CheckedProbe, CheckedStep, PlanRefused, Refusal, check_plan};
pub use profile::{Profile, Transport};
pub use read::{ReadStatement, read_statement};
pub use session::{HostValues, SessionStatements, check_cancel, check_session};
pub use write::Statement;
