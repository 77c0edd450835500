//! Lakeport: one server whose scheduler connectors, database dialects and agent tools are sandboxed plugins.
//!
//! A folder is a noun of the product. [`http`] and [`db`] know no domain; the environment is read in
//! [`config`] alone; SQL stands in `store.rs` files; handlers never spawn.

pub mod app;
pub mod audit;
pub mod auth;
pub mod backup;
pub mod catalog;
pub mod cli;
mod client;
pub mod config;
pub mod cron;
pub mod datasources;
pub mod db;
mod demo;
pub mod description;
pub mod docs;
mod doctor;
pub mod egress;
pub mod engines;
pub mod error;
pub mod executions;
mod health;
pub mod http;
pub mod idempotency;
pub mod lineage;
pub mod metrics;
pub mod nl2sql;
pub mod plugins;
pub mod points;
pub mod queries;
pub mod retention;
pub mod runner;
mod search;
pub mod secrets;
mod serve;
pub mod tables;
pub mod tasks;
mod text;
pub mod time;
pub mod workers;
pub mod workflows;
