//! The tools of the suite `clients`: a Python with a fuzzer and a generator of clients, and Node's modules,
//! at the versions in `tests/clients`.
//!
//! Both are set up once in the user's cache. Without Python or Node the suite is skipped, with a message.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use lakeport_wasm_target::cache;

use crate::tools::{self, Tools, check, fetch, run, said};
use crate::workspace;

/// Tells the suite the folder of the tools.
pub const VARIABLE: &str = "LAKEPORT_CLIENT_TOOLS";

/// Increased when the set-up changes.
const RECIPE: &str = "1";

/// The oldest versions, major and minor, that the pinned packages run on.
const PYTHON_MIN: (u32, u32) = (3, 11);
const NODE_MIN: (u32, u32) = (20, 0);

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

/// The identity of this Python, or the reason why it cannot be used.
fn python() -> Result<String, String> {
    check("python3", PYTHON_MIN, "install python3 with its modules venv and pip")?;
    said("python3", &["-c", "import ensurepip, sys, venv; print(sys.version, sys.base_prefix)"])
        .ok_or_else(|| "python3 has no module venv: install python3-venv".to_owned())
}

fn node() -> Result<String, String> {
    let node = check("node", NODE_MIN, "install nodejs and npm")?;
    said("npm", &["--version"]).map(|_| node).ok_or_else(|| "npm is not installed".to_owned())
}

fn set_up(folder: &Path, sources: &Path) -> Result<()> {
    let python = folder.join("python");
    let mut command = Command::new("python3");
    run(command.args(["-m", "venv"]).arg(&python), folder)?;
    // The list is complete, so no dependencies may be added.
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
    tools::forget(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

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
