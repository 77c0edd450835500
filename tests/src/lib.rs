//! Support for the black-box tests: a real server binary on a free port, its stores, and a plain client.
//!
//! A test arranges through the API, asserts on status and body, and leaves nothing behind: the data folder is
//! temporary, each server gets a PostgreSQL database of its own that is dropped with it, and the server is
//! stopped by its pid.

mod client;
mod described;
mod events;
mod issuer;
mod lake;
mod machine;
pub mod measure;
mod models;
mod relay;
mod run_kills;
mod server;
mod session;
mod store;
mod warehouse;
mod webhook;

use std::path::PathBuf;

pub use client::{Response, named, refused, request};
pub use events::{Event, EventStream};
pub use issuer::{Issuer, SigningKey};
pub use lake::{Lake, everywhere, id_of, on_servers, on_sqlite};
pub use machine::Machine;
pub use models::{ModelRequest, ModelServer, Say};
pub use relay::{Away, Relay};
pub use run_kills::{Noting, effects_survive, effects_survive_points};
pub use server::{Client, KEY, Options, Server, eventually, memory_bytes};
pub use session::{Cells, Session};
pub use store::{Store, stores};
pub use warehouse::{Kind, PASSWORD, Warehouse};
pub use webhook::Webhook;

/// The lines of a table in tests/adversary: columns between `|`, comments after `#` at the beginning of a line.
pub fn rows<const N: usize>(table: &'static str) -> Vec<[&'static str; N]> {
    let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let row = |line: &'static str| -> [&'static str; N] {
        let columns: Vec<&str> = line.splitn(N, " | ").map(str::trim).collect();
        columns.try_into().unwrap_or_else(|columns| panic!("{N} columns, not {columns:?}"))
    };
    lines.map(row).collect()
}

/// A fixture component's bytes; `misbehave`, `greeter_v1`. `cargo xtask test` builds them.
pub fn component(name: &str) -> Vec<u8> {
    let path = wasm_folder().join("plugin-fixture/examples").join(format!("{name}.wasm"));
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask test` builds it", path.display()))
}

/// The folder of the built components.
pub fn wasm_folder() -> PathBuf {
    std::env::var_os("LAKEPORT_WASM_DIR").map_or_else(|| workspace().join("target/components"), PathBuf::from)
}

/// The server's binary: `LAKEPORT_BIN`, or else the one beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("LAKEPORT_BIN") {
        return PathBuf::from(path);
    }
    let test = std::env::current_exe().expect("a test knows where it lies");
    let profile = test.parent().and_then(|deps| deps.parent()).expect("target/<profile>/deps/<test>");
    profile.join("lakeport")
}

/// The root of the workspace.
pub fn workspace() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}
