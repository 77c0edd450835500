//! `cargo xtask …`: sets up what is missing on a machine, builds, serves, tests, attacks and measures Lakeport.
//!
//! One command works on a fresh clone and shows its progress; continuous integration runs the same one. It
//! writes to `target/` and to the user's cache only.

mod browser;
mod budgets;
mod cargo;
mod child;
mod clients;
mod console;
mod databases;
mod engines;
mod fuzz;
mod grammars;
mod outcome;
mod progress;
mod routes;
mod screenshots;
mod suite;
mod terminal;
mod test;
mod tools;
mod unit_file;
mod wasm;
mod workspace;

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand, ValueEnum};

use crate::budgets::Tier;
use crate::engines::guard::{Bound, Guard};
use crate::wasm::Wasm;
use crate::workspace::Profile;

/// Sets up, builds, serves, tests, attacks and measures Lakeport.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = ENVIRONMENT)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

const ENVIRONMENT: &str = "\
Environment:
  LAKEPORT_WASM_TARGET=toolchain|rustup|debian  forces where the target wasm32-wasip2 comes from; otherwise the
                                                first that works: the toolchain has it, rustup adds it, or
                                                Debian's packages are unpacked and used
  LAKEPORT_POSTGRES=download                    unpacks PostgreSQL for the tests though one is installed
  LAKEPORT_MARIADB=download                     the same for MariaDB
  LAKEPORT_CHROMIUM=download                    the same for Chromium
  LAKEPORT_TEST_POSTGRES=postgres://…           tests use this PostgreSQL instead of one of their own
  LAKEPORT_TEST_MARIADB=mysql://…               tests use this MariaDB instead of one of their own
  XDG_CACHE_HOME                                where downloads are kept (~/.cache), below lakeport/";

#[derive(Subcommand)]
enum Task {
    /// Builds and starts Lakeport on 127.0.0.1:8080
    Serve {
        /// Passed on to `lakeport serve`
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Builds target/release/lakeport: one file, the bundled plugins and the console in it
    Build,
    /// Builds only the components: the bundled plugins and the tests' fixtures
    Fixtures,
    /// Formatting, lints and every test, on SQLite and PostgreSQL, and on MariaDB as a data source
    Test {
        /// Also run the suites with third-party programs: clients generated from the OpenAPI description, a
        /// fuzzer, the grammars of databases, a workflow engine, the console in a browser
        #[arg(long, conflicts_with = "slow")]
        engines: bool,
        /// Run the suites that are too long for every change instead
        #[arg(long)]
        slow: bool,
        /// Run only the tests of the console in a browser
        #[arg(long, conflicts_with_all = ["engines", "slow"])]
        browser: bool,
    },
    /// Makes the pictures of the console in docs/pictures, light and dark
    Screenshots,
    /// Attacks one parser, or what reads untrusted bytes, with random inputs; without a name: lists the targets
    Fuzz {
        /// The target
        name: Option<String>,
        /// How long
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Builds for release and measures
    Bench {
        #[arg(value_parser = BENCHES.iter().map(|bench| bench.name).collect::<Vec<_>>())]
        name: String,
        /// Passed on to the benchmark
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Starts a real workflow engine to try by hand, and prints how to reach it as one line of JSON
    Engine {
        name: EngineName,
        /// A port of 127.0.0.1 that the engine's tasks reach, as of a PostgreSQL; repeatable
        #[arg(long = "database-port", value_name = "PORT")]
        database_ports: Vec<u16>,
    },
    /// The process around an engine
    #[command(hide = true)]
    Guard(Guard),
    /// A command that ends with its parent
    #[command(hide = true)]
    Bound(Bound),
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    Dolphinscheduler,
}

/// A benchmark of the program `lakeport-bench`.
struct Bench {
    name: &'static str,
    /// Needs a PostgreSQL and a MariaDB.
    on_databases: bool,
}

const BENCH_PACKAGE: &str = "lakeport-bench";

const BENCHES: &[Bench] = &[
    Bench { name: "definitions", on_databases: true },
    Bench { name: "demo", on_databases: false },
    Bench { name: "edge", on_databases: false },
    Bench { name: "executions", on_databases: true },
    Bench { name: "planner", on_databases: false },
    Bench { name: "plugins", on_databases: false },
    Bench { name: "questions", on_databases: false },
    Bench { name: "reads", on_databases: true },
    Bench { name: "runs", on_databases: true },
    Bench { name: "tables", on_databases: true },
    Bench { name: "threads", on_databases: false },
];

fn main() -> ExitCode {
    let task = Arguments::parse().task;
    match prepare(&task).and_then(|()| run(task)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn prepare(task: &Task) -> Result<()> {
    match task {
        // Signals are handled in a second thread.
        Task::Guard(guard) => guard.prepare()?,
        // The command handles them itself.
        Task::Bound(_) => return Ok(()),
        _ => {}
    }
    child::pass_on_signals()
}

/// False if the task ran and its result is bad, as when a test failed.
fn run(task: Task) -> Result<bool> {
    match task {
        Task::Serve { arguments } => serve(&arguments).map(|()| true),
        Task::Build => build(Profile::Release).map(|binary| {
            println!("built {}", binary.display());
            true
        }),
        Task::Fixtures => {
            let wasm = Wasm::set_up()?;
            wasm.build_for_tests()?;
            println!("built {}", workspace::components().display());
            Ok(true)
        }
        Task::Test { browser: true, .. } => test::run(&[Tier::Browser]),
        Task::Test { slow: true, .. } => test::run(&[Tier::Slow]),
        Task::Test { engines: true, .. } => test::run(&[Tier::Test, Tier::Engines, Tier::Browser]),
        Task::Test { .. } => test::run(&[Tier::Test]),
        Task::Screenshots => screenshots::make(&Wasm::set_up()?, || build(Profile::Ci)).map(|()| true),
        Task::Fuzz { name: None, .. } => {
            print!("{}", fuzz::list());
            Ok(true)
        }
        Task::Fuzz { name: Some(name), seconds } => fuzz::run(&name, seconds),
        Task::Bench { name, arguments } => bench(&name, &arguments).map(|()| true),
        Task::Engine { name: EngineName::Dolphinscheduler, database_ports } => {
            engines::by_hand::dolphinscheduler(&database_ports).map(|()| true)
        }
        Task::Guard(guard) => guard.run(),
        Task::Bound(bound) => bound.run().map(|()| true),
    }
}

/// The server with the bundled plugins and the console in it.
fn build(profile: Profile) -> Result<PathBuf> {
    let console = console::obtain()?;
    child::check_not_interrupted()?;
    Wasm::set_up()?.build_plugins(profile)?;
    child::check_not_interrupted()?;
    let arguments = ["build", "--profile", profile.name(), "--package", "lakeport"];
    println!("server: cargo {} (the first time takes some minutes)", arguments.join(" "));
    let mut command = cargo::command(&arguments);
    command.env("LAKEPORT_BUNDLED_DIR", profile.bundled());
    console::name_to(&mut command, &console);
    cargo::build("server", command)?;
    Ok(profile.binary())
}

/// Replaces this process by the server, so that it handles Ctrl-C and TERM itself.
fn serve(arguments: &[String]) -> Result<()> {
    let binary = build(Profile::Ci)?;
    child::check_not_interrupted()?;
    println!("starting {} serve {}", binary.display(), arguments.join(" "));
    let error = Command::new(&binary).arg("serve").args(arguments).exec();
    Err(error).with_context(|| format!("cannot run {}", binary.display()))
}

fn bench(name: &str, arguments: &[String]) -> Result<()> {
    let bench = BENCHES.iter().find(|bench| bench.name == name).context("clap lets in only known names")?;
    let wasm = Wasm::set_up()?;
    wasm.build_plugins(Profile::Release)?;
    wasm.build_empty()?;
    println!("bench {name}: cargo build --release (the first time takes some minutes)");
    let packages = ["build", "--release", "--package", "lakeport", "--package", BENCH_PACKAGE, "--bins"];
    let mut command = cargo::command(&packages);
    command.env("LAKEPORT_BUNDLED_DIR", Profile::Release.bundled());
    console::name_to(&mut command, &console::obtain()?);
    cargo::build("bench", command)?;
    child::check_not_interrupted()?;
    let release = workspace::target().join("release");
    let mut command = Command::new(release.join(BENCH_PACKAGE));
    let databases = if bench.on_databases { test::databases()? } else { Vec::new() };
    command
        .envs(databases.iter().map(|(variable, database)| (variable, database.url())))
        .arg(bench.name)
        .args(arguments)
        .current_dir(workspace::root())
        .env("LAKEPORT_BIN", Profile::Release.binary())
        .env("LAKEPORT_WASM_DIR", wasm.shipped());
    if command.status()?.success() {
        return Ok(());
    }
    bail!("`{}` failed", child::display(&command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
        let parsed = Arguments::try_parse_from(["cargo xtask", "serve", "--", "--listen", "127.0.0.1:1"]);
        let Ok(Arguments { task: Task::Serve { arguments } }) = parsed else {
            panic!("serve takes arguments")
        };
        assert_eq!(arguments, ["--listen", "127.0.0.1:1"]);
    }
}
