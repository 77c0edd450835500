//! All tests over HTTP against a real server, as one program: a file or folder is a subject.
//!
//! One subject: `cargo test --profile ci -p lakeport-tests --test black_box tables::`.

mod access;
mod adversary;
mod auth;
mod backfills;
mod catalogue;
mod commands;
mod concurrency;
mod console;
mod databases;
mod datasources;
mod definitions;
mod demo;
mod docs;
mod doris;
mod engine_state;
mod examples;
mod executions;
mod guard;
mod heavy;
mod hostile;
mod idempotency;
mod interface;
mod keys;
mod kill_points;
mod knowledge;
mod limits;
mod lineage;
mod models;
mod nl2sql;
mod oidc;
mod operation;
mod outages;
mod plugins;
mod recycle_bin;
mod replicas;
mod rights;
mod rogues;
mod runs;
mod schema_history;
mod shell;
mod statistics;
mod tables;
mod workflows;

/// A file that no program includes would never be compiled, and its tests never run.
#[test]
fn every_file_here_is_part_of_a_program() {
    let package = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let (own, programs) = (include_str!("black_box.rs"), include_str!("../Cargo.toml"));
    for entry in std::fs::read_dir(package.join("tests")).expect("the folder of the tests") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name in UTF-8");
        let is_part = own.lines().any(|line| line == format!("mod {name};"));
        let is_program = programs.lines().any(|line| line == format!("name = \"{name}\""));
        assert!(is_part || is_program, "{name}: add it to tests/tests/black_box.rs");
    }
}
