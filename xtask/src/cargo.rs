//! Running cargo: quiet, with a line now and then that says how far it is, giving what it built.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use serde::Deserialize;

use crate::child::{self, Running};
use crate::workspace;

/// How often a long build says that it is alive.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);

/// No single cargo call may take longer: a hung download ends the run, not the machine's day.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// What cargo made of one target.
#[derive(Debug, Deserialize)]
pub struct Artifact {
    pub manifest_path: PathBuf,
    pub target: Target,
    profile: Profile,
    pub filenames: Vec<PathBuf>,
    pub executable: Option<PathBuf>,
    fresh: bool,
}

#[derive(Debug, Deserialize)]
pub struct Target {
    pub name: String,
    pub kind: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Profile {
    test: bool,
}

impl Artifact {
    /// A test executable, and which.
    pub fn test_executable(&self) -> Option<&Path> {
        self.executable.as_deref().filter(|_| self.profile.test)
    }

    /// The folder of the package.
    pub fn package_folder(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest lies in a folder")
    }
}

#[derive(Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
enum Message {
    CompilerArtifact(Artifact),
    #[serde(other)]
    Other,
}

/// `cargo` in the workspace, with the environment of a person's shell.
///
/// `cargo run` describes this program's own package in variables that some build scripts watch: with them,
/// cargo by hand and cargo by xtask would take turns at rebuilding half of what there is.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(workspace::root());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let own = ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| text.starts_with(prefix));
        if own || ["CARGO", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE"].contains(&&*text) {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs a `cargo build`, `rustc` or `clippy`, reporting progress under `step`.
///
/// `command` must not hold arguments after `--`; those are given apart.
pub fn build(step: &str, mut command: Command, after_dashes: &[&str]) -> Result<Vec<Artifact>> {
    let alone = match after_dashes {
        [] => child::display(&command),
        more => format!("{} -- {}", child::display(&command), more.join(" ")),
    };
    command.args(["--quiet", "--message-format=json-render-diagnostics"]).stdout(Stdio::piped());
    if !after_dashes.is_empty() {
        command.arg("--").args(after_dashes);
    }
    let start = Instant::now();
    let mut running = Running::spawn(&mut command, Signal::SIGTERM)?;
    let output = running.child().stdout.take().context("the output is piped")?;
    let (send, receive) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Ok(Message::CompilerArtifact(artifact)) = serde_json::from_str(&line) {
                send.send(artifact).ok();
            }
        }
    });
    let artifacts = gather(step, start, &receive)?;
    reader.join().expect("the reader does not panic");
    match running.wait(LIMIT)? {
        Some(status) if status.success() => Ok(artifacts),
        _ => bail!("{step} failed. Alone: {alone}"),
    }
}

/// Takes artifacts until cargo closes its output.
fn gather(step: &str, start: Instant, receive: &mpsc::Receiver<Artifact>) -> Result<Vec<Artifact>> {
    let mut artifacts = Vec::new();
    let mut next = start + PROGRESS_EVERY;
    loop {
        match receive.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(artifact) => artifacts.push(artifact),
            Err(RecvTimeoutError::Disconnected) => return Ok(artifacts),
            Err(RecvTimeoutError::Timeout) => {
                let seconds = start.elapsed().as_secs();
                println!("{step}: {seconds} s, {} crates done", crates_built(&artifacts));
                if start.elapsed() > LIMIT {
                    bail!("{step} did not end within {} s", LIMIT.as_secs());
                }
                next = Instant::now() + PROGRESS_EVERY;
            }
        }
    }
}

fn crates_built(artifacts: &[Artifact]) -> usize {
    let mut built = HashMap::new();
    for artifact in artifacts.iter().filter(|artifact| !artifact.fresh) {
        *built.entry(&artifact.manifest_path).or_insert(0) += 1;
    }
    built.len()
}
