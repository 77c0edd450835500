//! Changes of physical tables: the database first, the catalogue second.
//!
//! A change is a row with the steps to be made and the definition that is wanted. Whoever asks for one has it planned,
//! writes the row and waits; the worker of one server, which holds the table's lease, has it run, read back, and
//! writes in one transaction what came of it and what the catalogue takes over. A server that dies in the middle
//! leaves the row: who takes it over looks at what is there, and runs nothing again.

pub mod api;
mod change;
pub mod failure;
mod holders;
mod plan;
mod settle;
pub mod step;
pub mod store;
pub mod view;
mod wait;
mod worker;

pub use change::{exists, look};
pub use plan::{Planned, plan};
pub use wait::{Ended, ended, kept};
pub use worker::run_worker;

/// What the change log calls a physical change; the key is its id.
pub const TOPIC: &str = "table_changes";

use lakeport_base::Error;

/// 409: one at a time.
pub fn running() -> Error {
    let message =
        "the table is being changed in its database at this moment; wait for the end, then try again";
    Error::conflict("change_running", message)
}
