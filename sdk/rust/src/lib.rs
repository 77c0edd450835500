//! Write Lakeport plugins in Rust: a trait and one macro line.
//!
//! A plugin is a WebAssembly component of one of three families: a [`dialect`] (one kind of database), an
//! [`engine`] (one kind of workflow scheduler) or a [`tool`] (one skill of an agent). It reaches only its
//! imports, and it imports only what it uses: a tool that never uses [`tool::catalog`] does not request it.
//! There are no sockets, files or environment.
//!
//! # Ten minutes to a tool
//!
//! 1. `cargo new --lib shout && cd shout`, and in `Cargo.toml`:
//!
//!    ```toml
//!    [lib]
//!    crate-type = ["cdylib"]
//!
//!    [dependencies]
//!    lakeport-sdk = { path = "../lakeport/sdk/rust" }
//!    ```
//!
//! 2. In `src/lib.rs`:
//!
//!    ```
//!    use lakeport_sdk::serde_json::{Value, json};
//!    use lakeport_sdk::tool::{Context, Error, Outcome, Tool, ToolInfo};
//!
//!    struct Shout;
//!
//!    impl Tool for Shout {
//!        fn describe() -> ToolInfo {
//!            let text = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
//!            ToolInfo::new("shout", "0.1.0", "Writes a text in capitals.", &text, &text)
//!        }
//!
//!        fn call(input: String, _context: Context) -> Result<Outcome, Error> {
//!            let input: Value = lakeport_sdk::serde_json::from_str(&input)?;
//!            let text = input["text"].as_str().ok_or_else(|| Error::invalid_input("`text` must be a text"))?;
//!            lakeport_sdk::info!("shouting"; "length" => text.len());
//!            Ok(Outcome::new(&json!({"text": text.to_uppercase()})))
//!        }
//!    }
//!
//!    lakeport_sdk::tool!(Shout);
//!    # fn main() {}
//!    ```
//!
//! 3. `rustup target add wasm32-wasip2`, once, then `cargo build --release --target wasm32-wasip2`.
//!    `target/wasm32-wasip2/release/shout.wasm` is the component.
//! 4. `lakeport plugin install target/wasm32-wasip2/release/shout.wasm` shows its requested permissions;
//!    `lakeport plugin activate shout DIGEST` grants them.
//!
//! The same crate builds natively, so `cargo test` runs its unit tests without a server. A `TestHost` of the
//! module `testing` answers the host functions; without one they panic, except for the log, which goes to
//! standard error.
//!
//! # What to know
//!
//! - Each call has a fresh instance: a plugin's memory ends with the call.
//! - A panic ends that one call and counts against the plugin. Errors are values: [`Error`] has a
//!   constructor for each code of the contract.
//! - `panic = "abort"`, `lto = true` and `strip = true` in the release profile make components small.

// The generated bindings refer to this crate's runtime by its external name.
extern crate self as lakeport_sdk;

#[doc(hidden)]
pub mod bindings;
pub mod dialect;
pub mod engine;
mod error;
pub mod log;
mod rows;
#[cfg(not(target_arch = "wasm32"))]
pub mod testing;
pub mod tool;

pub use bindings::host::data::{Cell, Column, RowSet};
pub use bindings::host::types::{Error, Page, Problem, Timestamp, Upstream};
pub use rows::Row;
pub use serde_json;
#[doc(hidden)]
pub use wit_bindgen;

/// Host interfaces that several families may use. A dialect has only the log.
pub mod host {
    pub use crate::bindings::host::web;
    #[cfg(target_arch = "wasm32")]
    pub use crate::bindings::host::{call, clock, config, files, http, memo};
    #[cfg(not(target_arch = "wasm32"))]
    pub use crate::testing::functions::{call, clock, config, files, http, memo};
}

/// The common part of the families' macros. A native build exports nothing, but the trait is required all the
/// same.
#[doc(hidden)]
#[macro_export]
macro_rules! export_plugin {
    ($plugin:ident, $trait:path, $bindings:ident) => {
        #[cfg(target_arch = "wasm32")]
        $crate::bindings::$bindings::export!($plugin);

        const _: () = {
            const fn is_exportable<T: $trait>() {}
            is_exportable::<$plugin>();
        };
    };
}
