//! Debian packages unpacked into a folder, not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The root of such a tree.
#[derive(Clone)]
pub struct Unpacked {
    root: PathBuf,
}

impl Unpacked {
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `usr/lib/<machine>-linux-gnu`: the folder of its shared libraries.
    pub fn library_folder(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(self.root.join("usr/lib")).ok()?.flatten();
        entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-linux-gnu"))
    }

    /// The folders of its shared libraries: [`Unpacked::library_folder`], and those in it that a package keeps to itself:
    /// where it is installed, its libraries name them by an absolute path.
    pub fn library_folders(&self) -> Vec<PathBuf> {
        let Some(folder) = self.library_folder() else { return Vec::new() };
        let private = ["pulseaudio"].map(|name| folder.join(name)).into_iter().filter(|path| path.is_dir());
        std::iter::once(folder.clone()).chain(private).collect()
    }

    /// A copy of the tree.
    pub fn copied_to(&self, copy: &Path) -> Result<Self> {
        let status = Command::new("cp").arg("-R").arg(&self.root).arg(copy).status()?;
        if !status.success() {
            bail!("cannot copy {} to {}", self.root.display(), copy.display());
        }
        Ok(Self::at(copy))
    }

    /// Fails if one of the programs, named from the root, lacks a shared library.
    pub fn check_libraries(&self, programs: &[&Path]) -> Result<()> {
        for program in programs {
            let mut command = Command::new("ldd");
            let libraries = std::env::join_paths(self.library_folders())?;
            command.arg(self.root.join(program));
            if !libraries.is_empty() {
                command.env("LD_LIBRARY_PATH", libraries);
            }
            let output = command.output().context("cannot run ldd")?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let missing: Vec<&str> =
                text.lines().filter(|line| line.contains("not found")).map(str::trim).collect();
            if !missing.is_empty() {
                bail!("Debian's {} lacks shared libraries: {}", program.display(), missing.join(", "));
            }
        }
        Ok(())
    }
}
