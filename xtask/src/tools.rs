//! Third-party programs: their presence on this machine, and downloads from their registries.
//!
//! Without a program its suite is skipped, with a message.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;

use crate::child::{self, Running};
use crate::terminal;

/// A registry may fail for a moment.
const TRIES: u32 = 3;

/// How long one try may take.
const TRY_MAX: Duration = Duration::from_secs(10 * 60);

/// Lines of a failed program's output that an error shows.
const LINES_SHOWN: usize = 15;

/// The tools of a suite, or the reason why there are none.
pub enum Tools {
    /// Their folder.
    Ready(PathBuf),
    /// The missing program, for people.
    Missing(String),
}

/// The program's version, or an error if it is missing or too old.
pub fn check(program: &str, min: (u32, u32), remedy: &str) -> Result<String, String> {
    let wanted = format!("{program} {}.{} or newer is needed", min.0, min.1);
    let Some(version) = said(program, &["--version"]) else {
        return Err(format!("{wanted}, but it is missing: {remedy}"));
    };
    match version_of(&version) {
        Some(found) if found >= min => Ok(version),
        _ => Err(format!("{wanted}, and it is {}: {remedy}", version.trim())),
    }
}

/// The program's output, if it runs successfully.
pub fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `Python 3.11.7`, `v20.20.2` and `openjdk 25 2025-09-16` as major and minor; 0 without a minor.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let digits = text.trim().trim_start_matches(|c: char| !c.is_ascii_digit());
    let number = digits.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()?;
    let mut parts = number.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next().flatten().unwrap_or(0)))
}

/// Runs a program that downloads from a registry, with retries.
pub fn fetch(registry: &str, command: &mut Command, folder: &Path) -> Result<()> {
    terminal::say(&format!("tools: packages from {registry}"));
    let mut tries = 1;
    while let Err(error) = run(command, folder) {
        child::check_not_interrupted()?;
        if tries == TRIES {
            return Err(error.context(format!("the registry {registry} failed {TRIES} times")));
        }
        terminal::say(&format!("tools: {registry} failed, try {tries} of {TRIES}"));
        tries += 1;
    }
    Ok(())
}

/// Runs a program, its output in a file of the folder.
pub fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let file = File::create(log(folder))?;
    command.stdout(file.try_clone()?).stderr(file);
    match Running::spawn(command, Signal::SIGTERM)?.wait(TRY_MAX)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{}`: {status}\n{}", child::display(command), last_lines(folder)),
        None => bail!("`{}` did not end within {} s", child::display(command), TRY_MAX.as_secs()),
    }
}

/// Removes the programs' output.
pub fn forget(folder: &Path) -> Result<()> {
    fs::remove_file(log(folder)).context("what the programs said is not kept")
}

fn log(folder: &Path) -> PathBuf {
    folder.join("log")
}

fn last_lines(folder: &Path) -> String {
    let said = fs::read_to_string(log(folder)).unwrap_or_default();
    let lines: Vec<&str> = said.lines().collect();
    lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_programs_say_them() {
        assert_eq!(version_of("Python 3.11.7\n"), Some((3, 11)));
        assert_eq!(version_of("v20.20.2"), Some((20, 20)));
        assert_eq!(version_of("openjdk 17.0.15 2025-04-15\nOpenJDK Runtime"), Some((17, 0)));
        assert_eq!(version_of("openjdk 25 2025-09-16"), Some((25, 0)));
        assert_eq!(version_of("none"), None);
        assert_eq!(version_of(""), None);
    }

    #[test]
    fn what_is_missing_or_too_old_is_said() {
        let missing = check("no-such-program", (1, 0), "install it").expect_err("there is none");
        assert_eq!(missing, "no-such-program 1.0 or newer is needed, but it is missing: install it");
        let old = check("cargo", (u32::MAX, 0), "install it").expect_err("no cargo is so new");
        assert!(old.contains("and it is cargo "), "{old}");
    }
}
