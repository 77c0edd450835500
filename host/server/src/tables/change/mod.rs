//! Changes of tables that may be physical: the database first, the catalogue second.
//!
//! Every such request goes through [`submit`]: it locks the table, refuses a change while another one is
//! running, answers a dry run, stores the change as a row with its steps, and waits for its end. The requests
//! differ in their [`TableChange`]. What only the catalogue has may change while a change is running, which then
//! writes only what it is about. The worker that holds the table's lease runs the steps, reads the table
//! back, and writes the outcome and the updated catalogue in one transaction. If its server dies, the row
//! stays: the next worker inspects the database and runs nothing again.

mod dialect;
pub mod failure;
mod holders;
mod plan;
mod settle;
pub mod spec;
pub mod store;
mod submit;
pub mod view;
mod worker;

use lakeport_base::Error;

pub use dialect::{exists, look};
pub use plan::{Planned, plan};
pub use submit::{Submission, TableChange, overtaken, submit, unchanged};
pub use worker::run_worker;

/// The change log's topic of physical changes; the key is the id.
pub const TOPIC: &str = "table_changes";

/// 409: a table has one change at a time.
pub fn running() -> Error {
    let message = "another change of the table is running in its database; wait for its end, then try again";
    Error::conflict("change_running", message)
}
