//! Runs cargo: shows progress and returns the built artifacts.

use std::io::{BufRead, BufReader, IsTerminal as _, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use serde::Deserialize;

use crate::child::{self, Running};
use crate::progress::{self, Line, Progress};
use crate::{terminal, workspace};

/// The time limit of one cargo call, which ends a hung download.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// An artifact that cargo built.
#[derive(Debug, Deserialize)]
pub struct Artifact {
    pub manifest_path: PathBuf,
    pub target: Target,
    profile: Profile,
    pub filenames: Vec<PathBuf>,
    pub executable: Option<PathBuf>,
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
    /// The test executable, if it is one.
    pub fn test_executable(&self) -> Option<&Path> {
        self.executable.as_deref().filter(|_| self.profile.test)
    }

    /// The folder of the package.
    pub fn package_folder(&self) -> &Path {
        self.manifest_path.parent().expect("a manifest lies in a folder")
    }
}

#[derive(Deserialize)]
#[serde(tag = "reason")]
enum Message {
    #[serde(rename = "compiler-artifact")]
    Built(Artifact),
    #[serde(rename = "compiler-message")]
    Found { message: Diagnostic },
    #[serde(other)]
    Other,
}

/// A compiler message.
#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    /// The text for people.
    rendered: Option<String>,
}

/// The result of a build.
#[derive(Default)]
pub struct Built {
    pub artifacts: Vec<Artifact>,
    /// The number of warnings.
    pub warnings: usize,
}

/// Output of a running cargo.
enum News {
    Built(Artifact),
    Found(Diagnostic),
    /// A line of its error output, without the line break.
    Said(String),
    /// The same, but cargo will overwrite it: not a message for people.
    SaidForNow(String),
}

/// `cargo` in the workspace, with the environment of a user's shell.
///
/// `cargo run` describes this program's own package in variables that some build scripts watch: with them,
/// cargo by hand and cargo by xtask would alternate in rebuilding half of everything.
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

/// Lets Clippy compile the workspace's own crates, which lints and compiles in one pass. All lints are
/// warnings, so that tests run nevertheless.
pub fn with_clippy(command: &mut Command) {
    command.env("RUSTC_WORKSPACE_WRAPPER", workspace::root().join("xtask/rustc.sh"));
    // In the form in which `cargo clippy` passes its arguments.
    command.env("CLIPPY_ARGS", "--cap-lints__CLIPPY_HACKERY__warn__CLIPPY_HACKERY__");
}

/// Runs a `cargo build` or `rustc` and shows its progress under `step`. `command` must not have arguments
/// after `--`.
pub fn build(step: &str, mut command: Command) -> Result<Built> {
    let alone = child::display(&command);
    let is_coloured = std::io::stderr().is_terminal();
    let format = if is_coloured { "json,json-diagnostic-rendered-ansi" } else { "json" };
    command.args(["--message-format", format]).stdout(Stdio::piped()).stderr(Stdio::piped());
    progress::ask_for_bar(&mut command);
    let mut progress = Progress::begin(step);
    let mut running = Running::spawn(&mut command, Signal::SIGTERM)?;
    let output = running.child().stdout.take().context("the output is piped")?;
    let errors = running.child().stderr.take().context("the error output is piped")?;
    let (send, receive) = mpsc::channel();
    let sender = send.clone();
    let readers = [
        thread::spawn(move || read_output(output, &send)),
        thread::spawn(move || read_errors(errors, &sender)),
    ];
    let built = gather(&mut progress, &receive)?;
    for reader in readers {
        reader.join().expect("a reader does not panic");
    }
    match running.wait(LIMIT)? {
        Some(status) if status.success() => Ok(built),
        _ => bail!("{step} failed. Alone: {alone}"),
    }
}

fn read_output(output: impl Read, news: &mpsc::Sender<News>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let one = match serde_json::from_str(&line) {
            Ok(Message::Built(artifact)) => News::Built(artifact),
            Ok(Message::Found { message }) => News::Found(message),
            _ => continue,
        };
        // Its receiver is dropped only when the run ends.
        news.send(one).ok();
    }
}

/// A line ends with a line break, or with a carriage return when a bar is redrawn.
fn read_errors(errors: impl Read, news: &mpsc::Sender<News>) {
    let mut line = Vec::new();
    for byte in BufReader::new(errors).bytes().map_while(Result::ok) {
        let is_bar = match byte {
            b'\n' => false,
            b'\r' => true,
            _ => {
                line.push(byte);
                continue;
            }
        };
        let text = String::from_utf8_lossy(&line).into_owned();
        line.clear();
        news.send(if is_bar { News::SaidForNow(text) } else { News::Said(text) }).ok();
    }
}

/// Receives output until cargo closes it.
fn gather(progress: &mut Progress, receive: &mpsc::Receiver<News>) -> Result<Built> {
    let mut built = Built::default();
    loop {
        match receive.recv_timeout(progress.until_tick()) {
            Ok(News::Built(artifact)) => built.artifacts.push(artifact),
            Ok(News::Found(diagnostic)) => {
                built.warnings += usize::from(diagnostic.level == "warning");
                terminal::pass_on(diagnostic.rendered.unwrap_or_default().trim_end());
            }
            Ok(News::Said(line)) => match Line::read(&line) {
                Line::Bar(state) | Line::Before(state) => progress.set(state),
                Line::Known => {}
                Line::Message => terminal::pass_on(&line),
            },
            Ok(News::SaidForNow(line)) => {
                if let Line::Bar(state) | Line::Before(state) = Line::read(&line) {
                    progress.set(state);
                }
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(built),
            Err(RecvTimeoutError::Timeout) => {
                if progress.took() > LIMIT {
                    bail!("cargo did not end within {} s", LIMIT.as_secs());
                }
            }
        }
        progress.tick();
    }
}
