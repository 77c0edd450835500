//! Lakeport: one server whose scheduler connectors, database dialects and agent tools are sandboxed plugins.
//!
//! A folder is a noun of the product, and a module with its own state and [`part::Part`]. Each uses only
//! earlier modules (`tests/structure.rs` has the order); only [`compose`] knows them all. The environment is
//! read in [`config`] only; SQL is in `store.rs` files only; handlers never spawn.

// They panic where nothing reads any more (`lakeport … | head`); `cli` has what does not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod agent;
pub mod audit;
pub mod auth;
pub mod backup;
pub mod cli;
mod client;
pub mod compose;
pub mod config;
mod console;
pub mod core;
pub mod cron;
pub mod datasources;
mod demo;
pub mod description;
pub mod docs;
mod doctor;
pub mod engines;
mod events;
pub mod execution_records;
pub mod executions;
mod health;
pub mod idempotency;
pub mod lineage;
mod log;
pub mod metrics;
pub mod part;
pub mod plugins;
pub mod queries;
pub mod retention;
pub mod scheduler;
mod search;
pub mod secrets;
mod serve;
mod settings;
pub mod sql_tables;
pub mod sync;
pub mod tables;
pub mod turns;
pub mod workflows;
