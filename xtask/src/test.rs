//! `cargo xtask test`: all steps and suites of some tiers, ordered so that nothing is built twice.
//!
//! Downloads run while the compiler runs. A failed step stops only the steps that depend on it.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use serde::Deserialize;

use crate::budgets::{Budgets, StepName, Store, Suite, Tier};
use crate::databases::{Database, mariadb, postgres};
use crate::engines::dolphinscheduler;
use crate::outcome::{Counts, Outcome, Row};
use crate::progress::Progress;
use crate::suite::{self, Environment, Program};
use crate::tools::Tools;
use crate::wasm::Wasm;
use crate::workspace::Profile;
use crate::{browser, cargo, child, clients, console, grammars, routes, unit_file, workspace};

/// The URL of a PostgreSQL to use instead of our own; also tells the tests where it is.
const POSTGRES_VARIABLE: &str = "LAKEPORT_TEST_POSTGRES";

/// The same for MariaDB.
const MARIADB_VARIABLE: &str = "LAKEPORT_TEST_MARIADB";

/// More than the documentation's tests ever need.
const DOCUMENTATION_MAX: Duration = Duration::from_secs(20 * 60);

/// Runs tiers together and prints the report. False if anything failed.
pub fn run(tiers: &[Tier]) -> Result<bool> {
    let budgets = Budgets::read()?;
    if budgets.suites_of(tiers).count() == 0 {
        println!("{tiers:?}: 0 suites, this tier has none yet");
        return Ok(true);
    }
    let mut run = Run { budgets: &budgets, tiers, outcome: Outcome::default() };
    run.all()?;
    let outcome = run.outcome;
    print!("{}", outcome.report(budgets.seconds_of(tiers)));
    Ok(outcome.failures.is_empty() && outcome.counts.failed == 0)
}

struct Run<'a> {
    budgets: &'a Budgets,
    tiers: &'a [Tier],
    outcome: Outcome,
}

/// The prerequisites of the suites; `None` if one is unavailable.
struct Ground<'a> {
    programs: &'a [Program],
    postgres: Option<Database>,
    mariadb: Option<Database>,
    tools: Option<Tools>,
    browser: Option<Tools>,
    grammars: Option<Tools>,
    dolphinscheduler: Option<Tools>,
    /// Started before the first suite that uses it, because it takes memory; or the reason why it failed.
    engine: OnceCell<Result<dolphinscheduler::Server, String>>,
    /// Where tests record their requests.
    hits: &'a Path,
}

impl Run<'_> {
    fn all(&mut self) -> Result<()> {
        let fetched = std::thread::spawn(|| fetch(POSTGRES_VARIABLE, postgres::Binaries::obtain));
        let mariadb = std::thread::spawn(|| fetch(MARIADB_VARIABLE, mariadb::Binaries::obtain));
        let console = std::thread::spawn(console::obtain);
        let tools = self.has(StepName::ClientTools).then(|| std::thread::spawn(clients::obtain));
        let browser = self.has(StepName::Browser).then(|| std::thread::spawn(browser::obtain));
        let grammars = self.has(StepName::Grammars).then(|| std::thread::spawn(grammars::obtain));
        let engine = self.has(StepName::Dolphinscheduler);
        let engine = engine.then(|| std::thread::spawn(dolphinscheduler::obtain));
        self.step(StepName::Format, || cargo_plainly(&["fmt", "--all", "--check"]))?;
        let Some(wasm) = self.step(StepName::WasmTarget, Wasm::set_up)? else { return Ok(()) };
        if self.step(StepName::Components, || wasm.build_for_tests())?.is_none() {
            return Ok(());
        }
        self.licences()?;
        let Some(console) = self.step(StepName::Console, || joined(console))? else { return Ok(()) };
        if let Tools::Missing(why) = &console {
            self.outcome.skip(format!("console: {why}"));
        }
        let Some(compiled) = self.step(StepName::Compile, || compile(&console))? else { return Ok(()) };
        self.step(StepName::Lint, || no_warnings(compiled.warnings))?;
        let postgres = self.step(StepName::Postgres, || joined(fetched)?.started(postgres::start))?;
        let mariadb = self.mariadb(mariadb)?;
        let tools = match tools {
            Some(tools) => self.step(StepName::ClientTools, || joined(tools))?,
            None => None,
        };
        let browser = match browser {
            Some(browser) => self.step(StepName::Browser, || joined(browser))?,
            None => None,
        };
        let grammars = match grammars {
            Some(grammars) => self.step(StepName::Grammars, || joined(grammars))?,
            None => None,
        };
        let dolphinscheduler = match engine {
            Some(engine) => self.step(StepName::Dolphinscheduler, || joined(engine))?,
            None => None,
        };
        let hits = routes::make_folder()?;
        let ground = Ground {
            programs: &compiled.programs,
            postgres,
            mariadb,
            tools,
            browser,
            grammars,
            dolphinscheduler,
            engine: OnceCell::new(),
            hits: &hits,
        };
        for suite in self.budgets.suites_of(self.tiers) {
            self.suite(suite, &ground)?;
        }
        let binary = Profile::Ci.binary();
        self.step(StepName::Routes, || routes::check(&binary, &hits))?;
        self.unit_file()?;
        self.documentation(&console)
    }

    /// True if one of the tiers includes the step.
    fn has(&self, name: StepName) -> bool {
        self.budgets.step(name).tiers.iter().any(|tier| self.tiers.contains(tier))
    }

    /// Times a step; `None` if the tiers do not include it, or if it failed, which is recorded as one
    /// failure. An interruption ends the run.
    fn step<T>(&mut self, name: StepName, work: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
        let step = self.budgets.step(name);
        if !self.has(name) {
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
        if !self.has(StepName::Licences) {
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

    /// Without it, its tests are skipped: it is never a store of Lakeport.
    fn mariadb(
        &mut self,
        fetched: JoinHandle<Result<Fetched<mariadb::Binaries>>>,
    ) -> Result<Option<Database>> {
        let started = self.step(StepName::Mariadb, || match joined(fetched) {
            Ok(fetched) => fetched.started(mariadb::start).map(Ok),
            Err(error) => Ok(Err(error)),
        })?;
        let missing = |error| format!("mariadb: nothing was tested on it, it could not be had: {error:#}");
        Ok(started.and_then(|had| had.map_err(|error| self.outcome.skip(missing(error))).ok()))
    }

    fn unit_file(&mut self) -> Result<()> {
        if self.has(StepName::UnitFile) && !unit_file::can_be_checked() {
            self.outcome.skip("unit file: systemd-analyze is not installed".to_owned());
            return Ok(());
        }
        let binary = Profile::Ci.binary();
        self.step(StepName::UnitFile, || unit_file::check(&binary)).map(drop)
    }

    fn suite(&mut self, suite: &Suite, ground: &Ground<'_>) -> Result<()> {
        let mut env = match ground.environment(suite) {
            Ok(env) => env,
            Err(missing) => {
                self.outcome.skip(format!("{}: {missing}", suite.name));
                return Ok(());
            }
        };
        println!("{}: its tests", suite.name);
        let start = Instant::now();
        match ground.engine(suite) {
            Ok(variable) => env.extend(variable),
            Err(error) => {
                child::check_not_interrupted()?;
                self.failed(format!("{}: {error}", suite.name));
                self.row(&suite.name, start, suite.seconds, "FAILED".to_owned());
                return Ok(());
            }
        }
        let covered = |program: &&Program| self.budgets.runs(suite, &program.package, &program.target);
        let chosen: Vec<&Program> = ground.programs.iter().filter(covered).collect();
        let counts = suite::run(suite, &chosen, &env, &mut self.outcome)?;
        self.outcome.counts.add(counts);
        let note = format!("{} passed, {} failed", counts.passed, counts.failed);
        self.row(&suite.name, start, suite.seconds, note);
        Ok(())
    }

    fn documentation(&mut self, console: &Tools) -> Result<()> {
        let mut counts = Counts::default();
        let name = StepName::Documentation.shown();
        self.step(StepName::Documentation, || {
            let mut command = cargo::command(&["test", "--workspace", "--doc", "--profile", "ci"]);
            command.env("LAKEPORT_BUNDLED_DIR", Profile::Ci.bundled());
            console::name_to(&mut command, console);
            let alone = child::display(&command);
            // With the compiler of the previous step, to reuse its artifacts.
            cargo::with_clippy(&mut command);
            let log = suite::logs(name)?.join("cargo.log");
            let mut progress = Progress::begin(name);
            let (status, text) = suite::run_logged(command, &log, DOCUMENTATION_MAX, || {
                if progress.until_tick().is_zero() {
                    progress.set(suite::how_far(&log));
                    progress.tick();
                }
            })?;
            drop(progress);
            counts = Counts::read(&text);
            if status.is_some_and(|status| status.success()) {
                return Ok(());
            }
            // The step itself counts as one failure.
            counts.failed = counts.failed.saturating_sub(1);
            println!("{text}");
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

/// The artifacts, and Clippy's warnings.
struct Compiled {
    programs: Vec<Program>,
    warnings: usize,
}

fn compile(console: &Tools) -> Result<Compiled> {
    let mut command = cargo::command(&["build", "--workspace", "--profile", "ci"]);
    command.args(["--lib", "--bins", "--tests", "--examples"]);
    command.env("LAKEPORT_BUNDLED_DIR", Profile::Ci.bundled());
    console::name_to(&mut command, console);
    cargo::with_clippy(&mut command);
    let built = cargo::build("compile", command)?;
    let names = package_names()?;
    let programs = Program::all(&built.artifacts, |manifest| names.get(manifest).cloned());
    Ok(Compiled { programs, warnings: built.warnings })
}

fn no_warnings(warnings: usize) -> Result<()> {
    if warnings == 0 {
        return Ok(());
    }
    Err(anyhow!(
        "{warnings} warnings. Alone: cargo clippy --workspace --all-targets --profile ci -- -D warnings"
    ))
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

/// A database server's programs, or the URL of one that someone else runs.
enum Fetched<Binaries> {
    Programs(Binaries),
    Given(String),
}

/// A PostgreSQL and a MariaDB for benchmarks, each with the variable that names it.
pub fn databases() -> Result<Vec<(&'static str, Database)>> {
    let postgres = fetch(POSTGRES_VARIABLE, postgres::Binaries::obtain)?.started(postgres::start_durable)?;
    let mariadb = fetch(MARIADB_VARIABLE, mariadb::Binaries::obtain)?.started(mariadb::start)?;
    Ok(vec![(POSTGRES_VARIABLE, postgres), (MARIADB_VARIABLE, mariadb)])
}

/// Nothing is fetched if the variable names a server.
fn fetch<Binaries>(variable: &str, obtain: impl FnOnce() -> Result<Binaries>) -> Result<Fetched<Binaries>> {
    match std::env::var(variable).ok().filter(|url| !url.is_empty()) {
        Some(url) => Ok(Fetched::Given(url)),
        None => obtain().map(Fetched::Programs),
    }
}

impl<Binaries> Fetched<Binaries> {
    fn started(self, start: impl FnOnce(&Binaries) -> Result<Database>) -> Result<Database> {
        match self {
            Self::Programs(binaries) => start(&binaries),
            Self::Given(url) => Ok(Database::given(url)),
        }
    }
}

/// The result of a fetching thread.
fn joined<T>(fetched: JoinHandle<Result<T>>) -> Result<T> {
    fetched.join().map_err(|_| anyhow!("fetching it panicked"))?
}

impl Ground<'_> {
    /// The variables of a suite, or the missing prerequisite.
    fn environment(&self, suite: &Suite) -> Result<Environment, String> {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let mut env = vec![
            ("LAKEPORT_BIN", path(&Profile::Ci.binary())),
            ("LAKEPORT_WASM_DIR", path(&workspace::components())),
            (routes::HITS_VARIABLE, path(self.hits)),
            ("LAKEPORT_TEST_TIER", suite.tier.name().to_owned()),
        ];
        if suite.store == Some(Store::Postgres) && self.postgres.is_none() {
            return Err("there is no PostgreSQL".to_owned());
        }
        for (wanted, tools, variable) in [
            (suite.client_tools, &self.tools, Some(clients::VARIABLE)),
            (suite.browser, &self.browser, Some(browser::VARIABLE)),
            (suite.grammars, &self.grammars, Some(grammars::VARIABLE)),
            // Its tests use the server, not the folder.
            (suite.dolphinscheduler, &self.dolphinscheduler, None),
        ] {
            match tools {
                _ if !wanted => {}
                Some(Tools::Ready(folder)) => env.extend(variable.map(|variable| (variable, path(folder)))),
                Some(Tools::Missing(why)) => return Err(why.clone()),
                None => return Err("its tools could not be fetched".to_owned()),
            }
        }
        for (variable, server) in [(POSTGRES_VARIABLE, &self.postgres), (MARIADB_VARIABLE, &self.mariadb)] {
            env.extend(server.as_ref().map(|server| (variable, server.url().to_owned())));
        }
        env.extend(suite.store.map(|store| ("LAKEPORT_TEST_STORE", store.name().to_owned())));
        Ok(env)
    }

    /// The variable of a suite that uses a running engine, which is started if it is not yet.
    fn engine(&self, suite: &Suite) -> Result<Option<(&'static str, String)>, &str> {
        let Some(Tools::Ready(folder)) = self.dolphinscheduler.as_ref().filter(|_| suite.dolphinscheduler)
        else {
            return Ok(None);
        };
        let ports: Vec<u16> = self.postgres.iter().filter_map(Database::loopback_port).collect();
        let start = || dolphinscheduler::start(folder, &ports).map_err(|error| format!("{error:#}"));
        let server = self.engine.get_or_init(start).as_ref().map_err(String::as_str)?;
        Ok(Some((lakeport_engine_tests::VARIABLE, server.access().to_json())))
    }
}
