//! A conformance kit: it holds a plugin's component to its contract and says what is wrong, where and why.
//!
//! Its one idea: the component is loaded by the plugin host that the server has, and what it answers is judged by
//! the crate that the server judges with. There is no server, no database and no network, so that the author of a
//! plugin can run it after every build: `lakeport-conformance dialect path.wasm`.
//!
//! So far there is the half for dialects.

pub mod dialect;
mod load;
mod report;

pub use load::{LoadError, Loaded};
pub use report::{Area, Finding, Report};
