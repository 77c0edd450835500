//! Physical databases: read-only sessions lent to dialects, and the runner of plans.
//!
//! A [`Database`] is opened for one purpose at a time. [`Lent`] puts the guard and bounds in front of a
//! session and hands it to a plugin for one call. The [`runner`] asks a dialect for a plan, checks it, runs
//! it and reads back what came of it. A [`TaskSession`] runs a task's judged statements; nothing else here
//! changes a database. A [`QuerySession`] answers a user's or a model's query, which the guard has judged before.
//!
//! Which files may be opened is the caller's decision: a database is made from a path that was located
//! below a granted root.

mod compare;
mod database;
mod errors;
mod expected;
mod lent;
mod query;
pub mod runner;
mod schema;
mod script;
mod server;
mod session;
mod task;
pub mod url;

pub use compare::Difference;
pub use database::{Database, SqliteDatabase};
pub use errors::is_locked;
pub use lent::{Lent, Loan, Reading};
pub use query::{QueryLimits, QuerySession};
pub use runner::{Outcome, Request, RunError, RunStatus, Runner, StatementOutcome, StatementStatus};
pub use script::{Ran, Shown};
pub use server::{Login, Recipes, Resolve, ServerDatabase, Tls};
pub use session::{Base, View, Views};
pub use task::TaskSession;
