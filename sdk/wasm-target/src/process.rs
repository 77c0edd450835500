//! Runs a command to its end; the error names it and shows its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The polling interval of a bounded command.
const POLL: Duration = Duration::from_millis(50);

/// Lines of a failed command's output that an error shows.
const SHOWN_LINES: usize = 12;

/// Runs the command and returns its standard output; the error has the end of both streams.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = describe(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{name}`"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(text);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    bail!("`{name}` failed ({}): {}", output.status, last_lines(&format!("{text}{said}")))
}

/// Runs the command without its output, and ends it after `wait`.
pub(crate) fn run_bounded(command: &mut Command, wait: Duration) -> Result<()> {
    let name = describe(command);
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot run `{name}`"))?;
    let end = Instant::now() + wait;
    loop {
        if let Some(status) = child.try_wait()? {
            if status.success() {
                return Ok(());
            }
            bail!("`{name}` failed ({status})");
        }
        if Instant::now() >= end {
            child.kill().ok();
            child.wait()?;
            bail!("`{name}` did not end within {} s", wait.as_secs());
        }
        thread::sleep(POLL);
    }
}

/// `PATH` with these folders first.
pub(crate) fn path_with(first: &[PathBuf]) -> OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let all = first.iter().cloned().chain(std::env::split_paths(&rest));
    // A folder name with a colon cannot be on PATH; then the old value is used.
    std::env::join_paths(all).unwrap_or(rest)
}

fn describe(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_hangs_is_ended() {
        let error = run_bounded(Command::new("sleep").arg("60"), Duration::from_millis(100))
            .expect_err("it hangs")
            .to_string();
        assert!(error.contains("`sleep 60` did not end"), "{error}");
    }

    #[test]
    fn a_failure_shows_the_command_and_what_it_said() {
        let error = output(Command::new("sh").args(["-c", "echo no such luck >&2; exit 3"]))
            .expect_err("it fails")
            .to_string();
        assert!(error.contains("exit 3` failed") && error.contains("no such luck"), "{error}");
    }
}
