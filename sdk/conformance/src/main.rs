//! `lakeport-conformance dialect path.wasm`, `lakeport-conformance engine path.wasm --instance file.json`: checks a
//! component against its contract. Exits with 1 if it has errors.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_conformance::{LoadError, Report, dialect, engine};
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
    /// An engine, on a configured instance. The kit deploys workflows of its own there, runs them, and removes them
    Engine {
        /// The component: target/wasm32-wasip2/release/my_engine.wasm
        component: PathBuf,
        /// The instance, its secrets, and tasks that it can run, as JSON; see docs/plugins.md
        #[arg(long, value_name = "FILE")]
        instance: PathBuf,
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
    match run(Arguments::parse().family) {
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

fn run(family: Family) -> Result<Report, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| format!("no threads: {error}"))?;
    match family {
        Family::Dialect { component, server, table_extra } => {
            let bytes = read(&component)?;
            let conformance = dialect::Conformance { component: bytes, servers: server, table_extra };
            runtime.block_on(conformance.run()).map_err(of(&component))
        }
        Family::Engine { component, instance } => {
            let bytes = read(&component)?;
            let file: engine::InstanceFile = serde_json::from_slice(&read(&instance)?)
                .map_err(|error| format!("{}: {error}", instance.display()))?;
            runtime.block_on(engine::check(bytes, file)).map_err(of(&component))
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn of(component: &Path) -> impl Fn(LoadError) -> String + '_ {
    move |error| format!("{}: {error}", component.display())
}
