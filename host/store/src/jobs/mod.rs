//! Jobs: rows of the store that ask for work, and the requests that wait for its end.
//!
//! A worker of each server looks for such rows, takes those that no other server works on (see [`crate::leases`]), and
//! works on a bounded number of them at once. [`run`] is its loop; what differs is a [`Work`]. The change log wakes it,
//! and a poll finds what the log did not tell of. [`wait_for`] is the other side: it returns a row once it has ended.

mod run;
#[cfg(test)]
mod tests;
mod wait;

pub use run::{Jobs, Work, run, run_under};
pub use wait::{Until, wait_for};
