//! A conformance kit: checks a plugin's component against its contract and reports errors with place and
//! reason.
//!
//! The server's own plugin host loads the component, and the server's own crate judges its answers. There is
//! no server, no database and no network, so that a plugin's author can run it after every build:
//! `lakeport-conformance dialect path.wasm`.
//!
//! So far it covers dialects.

pub mod dialect;
mod load;
mod report;

pub use load::{LoadError, Loaded};
pub use report::{Area, Finding, Report};
