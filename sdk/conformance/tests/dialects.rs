//! The bundled dialects pass the kit, and broken dialects do not.

use std::path::PathBuf;

use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_conformance::dialect::Conformance;
use lakeport_conformance::{Area, Report};

fn component(path: &str) -> Vec<u8> {
    let folder = std::env::var_os("LAKEPORT_WASM_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/components")),
        PathBuf::from,
    );
    let path = folder.join(path);
    std::fs::read(&path)
        .unwrap_or_else(|error| panic!("{}: {error}; `cargo xtask fixtures` builds it", path.display()))
}

fn server(product: &str, version: &str, facts: &str) -> ServerInfo {
    ServerInfo { product: product.to_owned(), version: version.to_owned(), facts: facts.to_owned() }
}

fn run(path: &str, servers: Vec<ServerInfo>, table_extra: Option<&str>) -> Report {
    let table_extra = table_extra.map(str::to_owned);
    let conformance = Conformance { component: component(path), servers, table_extra };
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    runtime.block_on(conformance.run()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn holds(path: &str, servers: Vec<ServerInfo>, table_extra: Option<&str>) {
    let report = run(path, servers, table_extra);
    assert!(report.passed(), "{report}");
    assert!(report.cases() > 1_000, "{report}");
}

#[test]
fn the_sqlite_dialect_holds() {
    holds("plugin/dialect_sqlite.wasm", vec![server("SQLite", "3.45.0", "{}")], None);
}

#[test]
fn the_postgresql_dialect_holds() {
    holds("plugin/dialect_postgres.wasm", vec![server("PostgreSQL", "15.4", "{}")], Some("{}"));
}

#[test]
fn the_mysql_dialect_holds() {
    let facts =
        r#"{"sqlMode":"STRICT_ALL_TABLES","explicitDefaultsForTimestamp":true,"lowerCaseTableNames":0}"#;
    let servers = vec![server("MySQL", "8.4.0", facts), server("MariaDB", "10.11.19-MariaDB", facts)];
    holds("plugin/dialect_mysql.wasm", servers, None);
}

#[test]
fn the_doris_dialect_holds() {
    let servers = vec![server("Apache Doris", "3.0.5", "{}"), server("StarRocks", "3.5.8", "{}")];
    holds("plugin/dialect_doris.wasm", servers, None);
}

fn found_out(fixture: &str, area: Area, words: &str) {
    let report = run(&format!("plugin-fixture/examples/{fixture}.wasm"), Vec::new(), None);
    let found = report.findings().any(|finding| finding.area == area && finding.what.contains(words));
    assert!(found, "nothing of {words:?} in\n{report}");
}

#[test]
fn a_dialect_that_plans_attacks_is_found_out() {
    found_out("sloppy_dialect", Area::Quoting, "the host refuses the plan");
}

#[test]
fn a_dialect_that_changes_its_mind_is_found_out() {
    found_out("sloppy_dialect", Area::Determinism, "two answers to one text");
}

#[test]
fn a_dialect_that_traps_is_found_out() {
    found_out("sloppy_dialect", Area::Limits, "failed in planner.plan");
    found_out("sloppy_dialect", Area::Errors, "failed in planner.parse-types");
}

#[test]
fn a_dialect_that_promises_too_much_is_found_out() {
    found_out("sloppy_dialect", Area::Contract, "buckets is declared");
}

#[test]
fn a_dialect_that_takes_nothing_is_found_out() {
    found_out("empty_dialect", Area::Contract, "none is accepted");
}
