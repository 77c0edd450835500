//! What the suite `clients` needs besides Rust: a Python with a fuzzer and a generator of clients, and Node's
//! modules, each at the version that `tests/clients` names.
//!
//! Both are set up once in the user's cache. A machine without Python or Node is no failure: that is said, and
//! the suite counts as skipped.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lakeport_wasm_target::cache;
use nix::sys::signal::Signal;

use crate::child::{self, Running};
use crate::workspace;

/// Tells the suite where the tools lie.
pub const VARIABLE: &str = "LAKEPORT_CLIENT_TOOLS";

/// Rises when what is set up changes.
const RECIPE: &str = "1";

/// The oldest versions, major and minor, that the pinned packages run on.
const PYTHON_MIN: (u32, u32) = (3, 11);
const NODE_MIN: (u32, u32) = (20, 0);

/// A registry may fail for a moment.
const TRIES: u32 = 3;

/// How long one try may take.
const TRY_MAX: Duration = Duration::from_secs(10 * 60);

/// Lines of a failed program's output that an error shows.
const LINES_SHOWN: usize = 15;

/// The tools, or why there are none.
pub enum Tools {
    /// The folder with `python/` and `typescript/`.
    Ready(PathBuf),
    /// What the machine lacks, for a person.
    Missing(String),
}

/// Finds the tools in the cache, or fetches them.
pub fn obtain() -> Result<Tools> {
    let interpreters = match python().and_then(|python| node().map(|node| [python, node])) {
        Ok(interpreters) => interpreters,
        Err(missing) => return Ok(Tools::Missing(missing)),
    };
    let sources = workspace::root().join("tests/clients");
    let read = |name: &str| {
        let path = sources.join(name);
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))
    };
    let (packages, modules) = (read("requirements.txt")?, read("typescript/package-lock.json")?);
    let [python, node] = interpreters;
    let inputs = [RECIPE, &python, &node, &packages, &modules];
    cache::made("clients", &inputs, |folder| set_up(folder, &sources)).map(Tools::Ready)
}

/// What tells this Python from another, or what is missing.
fn python() -> Result<String, String> {
    check("python3", PYTHON_MIN, "install python3 with its modules venv and pip")?;
    said("python3", &["-c", "import ensurepip, sys, venv; print(sys.version, sys.base_prefix)"])
        .ok_or_else(|| "python3 has no module venv: install python3-venv".to_owned())
}

fn node() -> Result<String, String> {
    let node = check("node", NODE_MIN, "install nodejs and npm")?;
    said("npm", &["--version"]).map(|_| node).ok_or_else(|| "npm is not installed".to_owned())
}

/// The program's version, or that it is missing or too old.
fn check(program: &str, min: (u32, u32), remedy: &str) -> Result<String, String> {
    let wanted = format!("{program} {}.{} or newer is needed", min.0, min.1);
    let Some(version) = said(program, &["--version"]) else {
        return Err(format!("{wanted}, and there is none: {remedy}"));
    };
    match version_of(&version) {
        Some(found) if found >= min => Ok(version),
        _ => Err(format!("{wanted}, and it is {}: {remedy}", version.trim())),
    }
}

/// What a program prints, if it can be run and ends well.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `Python 3.11.7` and `v20.20.2` as major and minor.
fn version_of(text: &str) -> Option<(u32, u32)> {
    let digits = text.trim().trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = digits.split('.').map(|part| part.parse::<u32>().ok());
    Some((parts.next()??, parts.next()??))
}

fn set_up(folder: &Path, sources: &Path) -> Result<()> {
    let python = folder.join("python");
    let mut command = Command::new("python3");
    run(command.args(["-m", "venv"]).arg(&python), folder)?;
    // The list is complete, so nothing may be added to it by what it names.
    let mut pip = Command::new(python.join("bin/python"));
    pip.args(["-m", "pip", "install", "--no-input", "--quiet", "--no-deps", "--requirement"]);
    fetch("PyPI", pip.arg(sources.join("requirements.txt")), folder)?;

    let typescript = folder.join("typescript");
    fs::create_dir(&typescript)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(sources.join("typescript").join(name), typescript.join(name))?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(&typescript);
    fetch("npm", &mut npm, folder)?;
    fs::remove_file(log(folder)).context("what the programs said is not kept")
}

/// Runs a program that downloads from a registry, again if it fails.
fn fetch(registry: &str, command: &mut Command, folder: &Path) -> Result<()> {
    println!("client tools: packages from {registry}");
    let mut tries = 1;
    while let Err(error) = run(command, folder) {
        child::check_not_interrupted()?;
        if tries == TRIES {
            return Err(error.context(format!("the registry {registry} failed {TRIES} times")));
        }
        println!("client tools: {registry} failed, try {tries} of {TRIES}");
        tries += 1;
    }
    Ok(())
}

fn run(command: &mut Command, folder: &Path) -> Result<()> {
    let file = File::create(log(folder))?;
    command.stdout(file.try_clone()?).stderr(file);
    match Running::spawn(command, Signal::SIGTERM)?.wait(TRY_MAX)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{}`: {status}\n{}", child::display(command), last_lines(folder)),
        None => bail!("`{}` did not end within {} s", child::display(command), TRY_MAX.as_secs()),
    }
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
        assert_eq!(version_of("Python 3"), None);
        assert_eq!(version_of(""), None);
    }

    #[test]
    fn what_is_missing_or_too_old_is_said() {
        let missing = check("no-such-program", (1, 0), "install it").expect_err("there is none");
        assert_eq!(missing, "no-such-program 1.0 or newer is needed, and there is none: install it");
        let old = check("cargo", (u32::MAX, 0), "install it").expect_err("no cargo is so new");
        assert!(old.contains("and it is cargo "), "{old}");
    }

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        let sources = workspace::root().join("tests/clients");
        let packages = fs::read_to_string(sources.join("requirements.txt")).expect("readable");
        for line in packages.lines().filter(|line| !line.starts_with('#')) {
            assert_eq!(line.matches("==").count(), 1, "{line}");
        }
        let modules = fs::read_to_string(sources.join("typescript/package-lock.json")).expect("readable");
        assert!(modules.contains("\"integrity\"") && !modules.contains("\"resolved\""));
    }
}
