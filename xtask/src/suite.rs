//! Runs test programs, one after the other, each with its output in a file, and counts what they say.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::budgets::{Suite, Tier};
use crate::cargo::Artifact;
use crate::child::{self, Running};
use crate::outcome::{Counts, Outcome};
use crate::workspace;

/// A suite that takes this many times its budget hangs, and is ended.
const HANGING: u32 = 3;

/// One test executable.
pub struct Program {
    pub package: String,
    /// `lib`, or the name of the binary or test file.
    pub target: String,
    executable: PathBuf,
    package_folder: PathBuf,
}

impl Program {
    /// What can be run of what cargo built, sorted by package and target.
    pub fn all(artifacts: &[Artifact], package_name: impl Fn(&Path) -> Option<String>) -> Vec<Self> {
        let program = |artifact: &Artifact| {
            Some(Self {
                package: package_name(&artifact.manifest_path)?,
                target: target_name(artifact),
                executable: artifact.test_executable()?.to_owned(),
                package_folder: artifact.package_folder().to_owned(),
            })
        };
        let mut programs: Vec<Self> = artifacts.iter().filter_map(program).collect();
        programs.sort_by(|a, b| (&a.package, &a.target).cmp(&(&b.package, &b.target)));
        programs
    }

    fn name(&self) -> String {
        format!("{}/{}", self.package, self.target)
    }

    /// How a person runs it.
    fn alone(&self, tier: Tier) -> String {
        let which = if self.target == "lib" { "--lib".to_owned() } else { format!("--test {}", self.target) };
        let ignored = if tier == Tier::Slow { " -- --include-ignored" } else { "" };
        format!("cargo test --profile ci -p {} {which}{ignored}", self.package)
    }
}

fn target_name(artifact: &Artifact) -> String {
    if artifact.target.kind.iter().any(|kind| kind.ends_with("lib")) {
        "lib".to_owned()
    } else {
        artifact.target.name.clone()
    }
}

/// The variables that tests are given.
pub type Environment = Vec<(&'static str, String)>;

/// Runs the programs of a suite; its time and counts are added to the outcome by the caller.
pub fn run(suite: &Suite, programs: &[&Program], env: &Environment, outcome: &mut Outcome) -> Result<Counts> {
    let logs = workspace::target().join("test-logs").join(suite.name.replace([' ', ','], "-"));
    fs::create_dir_all(&logs)?;
    let end = Instant::now() + Duration::from_secs(suite.seconds) * HANGING;
    let mut counts = Counts::default();
    for program in programs {
        let log = logs.join(format!("{}-{}.log", program.package, program.target));
        counts.add(run_program(suite, program, env, (&log, end), outcome)?);
    }
    Ok(counts)
}

fn run_program(
    suite: &Suite,
    program: &Program,
    env: &Environment,
    (log, end): (&Path, Instant),
    outcome: &mut Outcome,
) -> Result<Counts> {
    let file = File::create(log)?;
    let mut command = Command::new(&program.executable);
    if suite.tier == Tier::Slow {
        command.arg("--include-ignored");
    }
    command
        .current_dir(&program.package_folder)
        .env("CARGO_MANIFEST_DIR", &program.package_folder)
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdout(file.try_clone()?)
        .stderr(file);
    let start = Instant::now();
    let running = Running::spawn(&mut command, Signal::SIGTERM)?;
    let status = running.wait(end.saturating_duration_since(start))?;
    let output = String::from_utf8_lossy(&fs::read(log)?).into_owned();
    let mut counts = Counts::read(&output);
    let took = start.elapsed().as_secs_f64();
    let problem = match status {
        Some(status) if status.success() => None,
        Some(_) if counts.failed > 0 => Some(format!("{} tests failed", counts.failed)),
        Some(status) => Some(format!("it ended with {status} before its tests did")),
        None => Some(format!("it was ended: the suite took {HANGING} times its budget")),
    };
    match problem {
        None => println!("  {}: {} passed, {took:.1} s", program.name(), counts.passed),
        Some(problem) => {
            counts.failed = counts.failed.max(1);
            println!("{output}");
            let settings: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let (name, alone) = (program.name(), program.alone(suite.tier));
            outcome.fail(format!("{name}: {problem}. Alone: {} {alone}", settings.join(" ")));
        }
    }
    child::check_not_interrupted()?;
    Ok(counts)
}
