//! Runs test programs, some at a time, each with its output in a file, and counts their results.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use nix::sys::signal::Signal;

use crate::budgets::{Suite, Tier};
use crate::cargo::Artifact;
use crate::child::Running;
use crate::outcome::{Counts, Outcome};
use crate::progress::Progress;
use crate::{terminal, workspace};

/// A suite that takes this many times its budget counts as hung and is ended.
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
    /// The runnable artifacts of cargo, sorted by package and target.
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

    fn how_far(&self, log: &Path) -> String {
        format!("{} ({})", self.name(), how_far(log))
    }

    /// The command that runs it alone.
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

/// The environment variables of tests.
pub type Environment = Vec<(&'static str, String)>;

/// Messages from the threads that run programs.
enum News<'p> {
    Begun(&'p Program, PathBuf),
    Ended(&'p Program, Result<Ended>),
}

/// The result of a program.
struct Ended {
    counts: Counts,
    took: Duration,
    /// Its output and the problem.
    problem: Option<(String, String)>,
}

/// Runs the programs of a suite; the caller adds its time and counts to the outcome.
pub fn run(suite: &Suite, programs: &[&Program], env: &Environment, outcome: &mut Outcome) -> Result<Counts> {
    let logs = logs(&suite.name)?;
    let end = Instant::now() + Duration::from_secs(suite.seconds) * HANGING;
    let queue = Mutex::new(programs.iter());
    let (send, receive) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..suite.programs_at_once.unwrap_or(1) {
            let (send, queue, logs) = (send.clone(), &queue, &logs);
            scope.spawn(move || {
                let next = || queue.lock().expect("no holder panics").next();
                while let Some(program) = next() {
                    let log = logs.join(format!("{}-{}.log", program.package, program.target));
                    // Its receiver is dropped only when the run was interrupted.
                    send.send(News::Begun(program, log.clone())).ok();
                    send.send(News::Ended(program, run_program(suite, program, env, (&log, end)))).ok();
                }
            });
        }
        drop(send);
        gather(suite, programs.len(), env, &receive, outcome)
    })
}

/// Shows progress and results until the last program has ended.
fn gather(
    suite: &Suite,
    all: usize,
    env: &Environment,
    receive: &mpsc::Receiver<News<'_>>,
    outcome: &mut Outcome,
) -> Result<Counts> {
    let mut progress = Progress::begin(&suite.name);
    let mut counts = Counts::default();
    let mut running: Vec<(&Program, PathBuf)> = Vec::new();
    let mut done = 0;
    loop {
        match receive.recv_timeout(progress.until_tick()) {
            Ok(News::Begun(program, log)) => running.push((program, log)),
            Ok(News::Ended(program, ended)) => {
                running.retain(|(other, _)| other.name() != program.name());
                done += 1;
                let ended = ended?;
                counts.add(ended.counts);
                say_ended(suite, program, env, ended, outcome);
            }
            Err(RecvTimeoutError::Timeout) => {
                let now: Vec<String> = running.iter().map(|(program, log)| program.how_far(log)).collect();
                progress.set(format!("{done} of {all} programs, now: {}", now.join(", ")));
                progress.tick();
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(counts),
        }
    }
}

fn say_ended(suite: &Suite, program: &Program, env: &Environment, ended: Ended, outcome: &mut Outcome) {
    let Ended { counts, took, problem } = ended;
    let Some((output, problem)) = problem else {
        return terminal::say(&format!(
            "  {}: {} passed, {:.1} s",
            program.name(),
            counts.passed,
            took.as_secs_f64()
        ));
    };
    terminal::say(&output);
    let settings: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let (name, alone) = (program.name(), program.alone(suite.tier));
    outcome.fail(format!("{name}: {problem}. Alone: {} {alone}", settings.join(" ")));
}

/// The folder for the output of a suite or step.
pub fn logs(name: &str) -> Result<PathBuf> {
    let folder = workspace::target().join("test-logs").join(name.replace([' ', ','], "-"));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn run_program(
    suite: &Suite,
    program: &Program,
    env: &Environment,
    (log, end): (&Path, Instant),
) -> Result<Ended> {
    let mut command = Command::new(&program.executable);
    if suite.tier == Tier::Slow {
        command.arg("--include-ignored");
    }
    command.args(suite.threads.map(|threads| format!("--test-threads={threads}")));
    command.args(suite.skip.iter().flat_map(|name| ["--skip", name]));
    command
        .current_dir(&program.package_folder)
        .env("CARGO_MANIFEST_DIR", &program.package_folder)
        .envs(env.iter().map(|(name, value)| (name, value)));
    let start = Instant::now();
    let (status, output) = run_logged(command, log, end.saturating_duration_since(start), || {})?;
    let mut counts = Counts::read(&output);
    let problem = match status {
        Some(status) if status.success() => None,
        Some(_) if counts.failed > 0 => Some(format!("{} tests failed", counts.failed)),
        Some(status) => Some(format!("it ended with {status} before its tests did")),
        None => Some(format!("it was ended: the suite took {HANGING} times its budget")),
    };
    if problem.is_some() {
        counts.failed = counts.failed.max(1);
    }
    Ok(Ended { counts, took: start.elapsed(), problem: problem.map(|problem| (output, problem)) })
}

/// Runs tests with their output in a file. Returns how they ended, `None` if they were ended after `limit`,
/// and the output.
pub fn run_logged(
    mut command: Command,
    log: &Path,
    limit: Duration,
    meanwhile: impl FnMut(),
) -> Result<(Option<ExitStatus>, String)> {
    let file = File::create(log)?;
    command.stdout(file.try_clone()?).stderr(file);
    let status = Running::spawn(&mut command, Signal::SIGTERM)?.wait_saying(limit, meanwhile)?;
    Ok((status, text_of(log)?))
}

fn text_of(log: &Path) -> io::Result<String> {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The progress of the tests that write this log.
pub fn how_far(log: &Path) -> String {
    told(&text_of(log).unwrap_or_default())
}

/// `12 of 25 tests, last: yank_by_a_non_owner_fails`.
fn told(output: &str) -> String {
    let all: u64 = output.lines().filter_map(announced).sum();
    let ended = |line: &&str| line.starts_with("test ") && line.contains(" ... ");
    let last = output.lines().rfind(ended).and_then(|line| line.split(' ').nth(1));
    let last = last.map(|name| format!(", last: {name}")).unwrap_or_default();
    format!("{} of {all} tests{last}", output.lines().filter(ended).count())
}

/// `running 25 tests`.
fn announced(line: &str) -> Option<u64> {
    line.strip_prefix("running ")?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_says_how_far_it_is() {
        assert_eq!(told(""), "0 of 0 tests");
        let output = "\nrunning 25 tests\ntest tables::a ... ok\ntest tables::b ... FAILED\nrunning";
        assert_eq!(told(output), "2 of 25 tests, last: tables::b");
    }
}
