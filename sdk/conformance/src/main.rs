//! `lakeport-conformance dialect path.wasm`: checks a component against its contract. Exits with 1 if it has
//! errors.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_conformance::dialect::Conformance;
use serde_json::Value;

/// Check a plugin's component against its contract
#[derive(Parser)]
#[command(name = "lakeport-conformance")]
struct Arguments {
    #[command(subcommand)]
    family: Family,
}

#[derive(Subcommand)]
enum Family {
    /// A dialect
    Dialect {
        /// The component: target/wasm32-wasip2/release/my_dialect.wasm
        component: PathBuf,
        /// A server to plan for, in the form of `reader.server`'s answer; repeatable. Default: each of the
        /// dialect's products, without version and facts
        #[arg(long, value_name = r#"{"product":"…","version":"…","facts":{…}}"#, value_parser = server)]
        server: Vec<ServerInfo>,
        /// The `extra` that the dialect's reader gives a plain table, if any
        #[arg(long, value_name = "{…}")]
        table_extra: Option<String>,
    },
}

fn server(text: &str) -> Result<ServerInfo, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is not JSON: {error}"))?;
    let word = |name: &str| {
        value[name].as_str().map(str::to_owned).ok_or_else(|| format!("the member {name} must be a text"))
    };
    let facts = value.get("facts").map_or_else(|| "{}".to_owned(), Value::to_string);
    Ok(ServerInfo { product: word("product")?, version: word("version")?, facts })
}

fn main() -> ExitCode {
    let Family::Dialect { component, server, table_extra } = Arguments::parse().family;
    let read = std::fs::read(&component).map_err(|error| format!("{}: {error}", component.display()));
    let run = |bytes| {
        let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no threads: {error}"))?;
        let conformance = Conformance { component: bytes, servers: server, table_extra };
        runtime.block_on(conformance.run()).map_err(|error| format!("{}: {error}", component.display()))
    };
    match read.and_then(run) {
        Ok(report) => {
            print!("{report}");
            if report.passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
