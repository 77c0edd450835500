//! Physical databases: read-only sessions lent to dialects, and the plan executor.
//!
//! Databases are open in worker processes alone ([`WorkerProcesses`]), which can be ended at any time.
//!
//! A [`Database`] is opened for one purpose at a time. [`Lent`] puts the guard and bounds in front of a
//! session and lends it to a plugin for one call. The [`executor`] gets a plan from a dialect, checks it, runs
//! it and reads the result back. A [`TaskSession`] runs a task's judged statements; nothing else here changes
//! a database. A [`QuerySession`] runs a user's or a model's query, which the guard has judged before.
//!
//! The caller decides which files may be opened: a database is made from a path that was located below a
//! granted root.

mod compare;
mod database;
mod errors;
pub mod executor;
mod expected;
mod lent;
mod mark;
mod naming;
mod query;
mod references;
mod schema;
mod script;
mod server;
mod session;
mod task;
pub mod url;
mod worker;

pub use compare::Difference;
pub use database::{Database, SqliteDatabase};
pub use errors::{PROTOCOL_ERROR, STATEMENT_TOO_HEAVY, is_locked, is_of_statement};
pub use executor::{Outcome, PlanExecutor, Request, RunError, RunStatus, StatementOutcome, StatementStatus};
pub use lent::{Lent, Loan, Reading};
pub use mark::{Mark as TaskMark, Outcome as TaskOutcome, outcome as task_outcome};
pub use query::{QueryLimits, QuerySession};
pub use references::{Reference, references};
pub use script::{Ran, Shown};
pub use server::{Login, Recipes, Resolve, ServerDatabase, Tls};
pub use session::{Base, View, Views};
pub use task::{TaskPlan, TaskSession};
pub use worker::{WorkerProcesses, run_worker};
