//! A conformance kit: checks a plugin's component against its contract and reports errors with place and
//! reason.
//!
//! The server's own plugin host loads the component. A dialect needs no server, no database and no network, so
//! that its author can run the kit after every build: `lakeport-conformance dialect path.wasm`. An engine is
//! checked with a configured instance: `lakeport-conformance engine path.wasm --instance file.json`, or from a Rust
//! test, [`engine`].

pub mod dialect;
pub mod engine;
mod load;
mod report;

pub use load::{LoadError, Loaded};
pub use report::{Area, Finding, Report};
