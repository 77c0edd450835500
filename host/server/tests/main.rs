//! Tests of the server by its public parts. One program: each further one would link the server again.

mod access;
mod codes;
mod connections;
mod edge;
mod engine_conformance;
mod example_module;
mod interface;
mod scheduler;
mod server;
mod structure;
