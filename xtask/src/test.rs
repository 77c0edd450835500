//! `cargo xtask test`: every step and suite of a tier, in an order in which nothing is built twice.
//!
//! Downloads run beside the compiler. A step that fails does not stop the others, unless they stand on it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::Instant;

use anyhow::{Result, anyhow};
use serde::Deserialize;

use crate::budgets::{Budgets, StepName, Store, Suite, Tier};
use crate::outcome::{Counts, Outcome, Row};
use crate::postgres::{Binaries, Postgres};
use crate::suite::{self, Environment, Program};
use crate::wasm::Wasm;
use crate::{cargo, child, workspace};

/// Names a PostgreSQL to use instead of one of our own, and tells the tests where it is.
const POSTGRES_VARIABLE: &str = "LAKEPORT_TEST_POSTGRES";

/// Runs a tier and prints its report. False if anything failed.
pub fn run(tier: Tier) -> Result<bool> {
    let budgets = Budgets::read()?;
    if budgets.suites_of(tier).count() == 0 {
        println!("{tier:?}: 0 suites, this tier has none yet");
        return Ok(true);
    }
    let mut run = Run { budgets: &budgets, tier, outcome: Outcome::default() };
    run.tier()?;
    let outcome = run.outcome;
    print!("{}", outcome.report(budgets.total_seconds));
    Ok(outcome.failures.is_empty() && outcome.counts.failed == 0)
}

struct Run<'a> {
    budgets: &'a Budgets,
    tier: Tier,
    outcome: Outcome,
}

impl Run<'_> {
    fn tier(&mut self) -> Result<()> {
        let fetched = std::thread::spawn(fetch_postgres);
        self.step(StepName::Format, || cargo_plainly(&["fmt", "--all", "--check"]))?;
        let Some(wasm) = self.step(StepName::WasmTarget, Wasm::set_up)? else { return Ok(()) };
        let built = self.step(StepName::Components, || {
            wasm.build_plugins()?;
            wasm.build_fixtures()
        })?;
        if built.is_none() {
            return Ok(());
        }
        self.step(StepName::Lint, lint)?;
        self.licences()?;
        let Some(programs) = self.step(StepName::Compile, compile)? else { return Ok(()) };
        let postgres = self.step(StepName::Postgres, || start_postgres(fetched))?;
        for suite in self.budgets.suites_of(self.tier) {
            self.suite(suite, &programs, &wasm, postgres.as_ref())?;
        }
        self.documentation()
    }

    /// Times a step; `None` if this tier is without it, or if it failed, which is noted and counted as one
    /// failure. An interruption ends the run.
    fn step<T>(&mut self, name: StepName, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let step = self.budgets.step(name);
        if !step.tiers.contains(&self.tier) {
            return Ok(None);
        }
        println!("{}: {}", name.shown(), step.runs);
        let start = Instant::now();
        let result = work();
        child::check_not_interrupted()?;
        let note = if result.is_err() { "FAILED" } else { "" };
        self.row(name.shown(), start, step.seconds, note.to_owned());
        Ok(result.map_err(|error| self.failed(format!("{error:#}"))).ok())
    }

    fn failed(&mut self, what: String) {
        self.outcome.fail(what);
        self.outcome.counts.add(Counts::ONE_FAILED);
    }

    fn row(&mut self, name: &str, start: Instant, budget_seconds: u64, note: String) {
        self.outcome.rows.push(Row { name: name.to_owned(), took: start.elapsed(), budget_seconds, note });
    }

    fn licences(&mut self) -> Result<()> {
        if self.tier != Tier::Test {
            return Ok(());
        }
        let version = Command::new("cargo").args(["deny", "--version"]).output()?;
        if !version.status.success() {
            self.outcome.skip("licences: cargo-deny is not installed".to_owned());
            return Ok(());
        }
        let arguments = ["deny", "check", "licenses", "bans", "sources"];
        self.step(StepName::Licences, || cargo_plainly(&arguments)).map(drop)
    }

    fn suite(
        &mut self,
        suite: &Suite,
        programs: &[Program],
        wasm: &Wasm,
        postgres: Option<&Database>,
    ) -> Result<()> {
        if suite.store == Some(Store::Postgres) && postgres.is_none() {
            self.outcome.skip(format!("{}: there is no PostgreSQL", suite.name));
            return Ok(());
        }
        println!("{}: its tests, one program after the other", suite.name);
        let start = Instant::now();
        let covered = |program: &&Program| self.budgets.covers(suite, &program.package);
        let chosen: Vec<&Program> = programs.iter().filter(covered).collect();
        let env = environment(suite.store, wasm, postgres);
        let counts = suite::run(suite, &chosen, &env, &mut self.outcome)?;
        self.outcome.counts.add(counts);
        let note = format!("{} passed, {} failed", counts.passed, counts.failed);
        self.row(&suite.name, start, suite.seconds, note);
        Ok(())
    }

    fn documentation(&mut self) -> Result<()> {
        let mut counts = Counts::default();
        self.step(StepName::Documentation, || {
            let mut command = cargo::command(&["test", "--workspace", "--doc", "--profile", "ci"]);
            command.env("LAKEPORT_BUNDLED_DIR", workspace::bundled());
            let alone = child::display(&command);
            let output = command.arg("--quiet").output()?;
            let text = String::from_utf8_lossy(&output.stdout);
            counts = Counts::read(&text);
            if output.status.success() {
                return Ok(());
            }
            // The step itself counts as one that failed.
            counts.failed = counts.failed.saturating_sub(1);
            println!("{text}{}", String::from_utf8_lossy(&output.stderr));
            Err(anyhow!("documentation failed. Alone: {alone}"))
        })?;
        self.outcome.counts.add(counts);
        Ok(())
    }
}

/// Runs cargo with its output shown.
fn cargo_plainly(arguments: &[&str]) -> Result<()> {
    let mut command = cargo::command(arguments);
    if command.status()?.success() {
        return Ok(());
    }
    Err(anyhow!("`{}` failed", child::display(&command)))
}

fn lint() -> Result<()> {
    let mut command = cargo::command(&["clippy", "--workspace", "--all-targets", "--profile", "ci"]);
    command.env("LAKEPORT_BUNDLED_DIR", workspace::bundled());
    cargo::build("lint", command, &["-D", "warnings"]).map(drop)
}

fn compile() -> Result<Vec<Program>> {
    let mut command = cargo::command(&["build", "--workspace", "--bins", "--tests", "--profile", "ci"]);
    command.env("LAKEPORT_BUNDLED_DIR", workspace::bundled());
    let artifacts = cargo::build("compile", command, &[])?;
    let names = package_names()?;
    Ok(Program::all(&artifacts, |manifest| names.get(manifest).cloned()))
}

/// The workspace's packages by manifest.
fn package_names() -> Result<HashMap<PathBuf, String>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: PathBuf,
    }
    let output = cargo::command(&["metadata", "--no-deps", "--format-version", "1"]).output()?;
    let metadata: Metadata = serde_json::from_slice(&output.stdout)?;
    Ok(metadata.packages.into_iter().map(|package| (package.manifest_path, package.name)).collect())
}

/// A PostgreSQL that tests may use.
enum Database {
    Own(Postgres),
    Given(String),
}

impl Database {
    fn url(&self) -> &str {
        match self {
            Self::Own(postgres) => postgres.url(),
            Self::Given(url) => url,
        }
    }
}

fn given_postgres() -> Option<String> {
    std::env::var(POSTGRES_VARIABLE).ok().filter(|url| !url.is_empty())
}

/// Nothing is fetched if one is given.
fn fetch_postgres() -> Result<Option<Binaries>> {
    if given_postgres().is_some() { Ok(None) } else { Binaries::obtain().map(Some) }
}

fn start_postgres(fetched: JoinHandle<Result<Option<Binaries>>>) -> Result<Database> {
    let binaries = fetched.join().map_err(|_| anyhow!("fetching PostgreSQL panicked"))??;
    match binaries {
        Some(binaries) => Postgres::start(&binaries).map(Database::Own),
        None => Ok(Database::Given(given_postgres().unwrap_or_default())),
    }
}

fn environment(store: Option<Store>, wasm: &Wasm, postgres: Option<&Database>) -> Environment {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let mut env = vec![
        ("LAKEPORT_BIN", path(&workspace::target().join("ci/lakeport"))),
        ("LAKEPORT_WASM_DIR", path(&wasm.folder())),
    ];
    env.extend(postgres.map(|postgres| (POSTGRES_VARIABLE, postgres.url().to_owned())));
    env.extend(store.map(|store| ("LAKEPORT_TEST_STORE", store.name().to_owned())));
    env
}
