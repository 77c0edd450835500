//! Lakeport: one server whose scheduler connectors, database dialects and agent tools are sandboxed plugins.
//!
//! A folder is a noun of the product. [`http`] and [`db`] know no domain; the environment is read in
//! [`config`] alone; SQL stands in `store.rs` files; handlers never spawn.

pub mod app;
pub mod cli;
mod client;
pub mod config;
pub mod db;
mod doctor;
pub mod error;
mod health;
pub mod http;
pub mod plugins;
mod serve;
