//! The active Rust toolchain, as `rustc` reports it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{TARGET, process};

/// The required facts about the active toolchain.
pub(crate) struct Toolchain {
    pub(crate) sysroot: PathBuf,
    /// The triple of this machine, for example `x86_64-unknown-linux-gnu`.
    pub(crate) host: String,
    /// The full text of `rustc -vV`, which differs between any two compilers.
    pub(crate) version: String,
}

impl Toolchain {
    pub(crate) fn active() -> Result<Self> {
        let version = process::output(Command::new("rustc").arg("-vV"))
            .context("no Rust compiler: install Rust 1.95 or newer with rustup")?;
        let sysroot = process::output(Command::new("rustc").args(["--print", "sysroot"]))?;
        let host = version
            .lines()
            .find_map(|line| line.strip_prefix("host: "))
            .context("`rustc -vV` shows no host")?
            .to_owned();
        Ok(Self { sysroot: sysroot.trim().into(), host, version })
    }

    pub(crate) fn has_target(&self) -> bool {
        self.sysroot.join("lib/rustlib").join(TARGET).join("lib").is_dir()
    }

    /// The folders with `rust-lld`, `wasm-component-ld` and `wasm-ld`, which rustup ships with every
    /// toolchain, whatever its targets.
    pub(crate) fn linkers(&self) -> Result<Vec<PathBuf>> {
        let bin = self.sysroot.join("lib/rustlib").join(&self.host).join("bin");
        let gcc_ld = bin.join("gcc-ld");
        for tool in [bin.join("rust-lld"), bin.join("wasm-component-ld"), gcc_ld.join("wasm-ld")] {
            if !tool.is_file() {
                bail!("the toolchain has no {}: use one installed by rustup", tool.display());
            }
        }
        Ok(vec![bin, gcc_ld])
    }
}
