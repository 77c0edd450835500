//! Finds or makes a Rust toolchain that builds `wasm32-wasip2` components.
//!
//! A plugin needs only an ordinary `cargo build --target wasm32-wasip2` with a few environment variables, and
//! [`ensure`] returns them after fetching missing parts. It tries three ways in order: the toolchain has the
//! target; rustup adds it; Debian's own compiler and C library are unpacked into the user's cache, where the
//! standard library is built once with them.
//!
//! It needs no root, installs nothing on the machine and does not write into a checkout.

pub mod cache;
pub mod debian;
mod debian_toolchain;
mod process;
mod sources;
mod toolchain;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::toolchain::Toolchain;

/// The target that every plugin is built for.
pub const TARGET: &str = "wasm32-wasip2";

/// Forces one of the three ways: `toolchain`, `rustup` or `debian`.
pub const WAY_VARIABLE: &str = "LAKEPORT_WASM_TARGET";

/// How long `rustup target add` may take. It either downloads 30 MB or is refused; if it hangs, the third way
/// is quicker.
const RUSTUP_WAIT: Duration = Duration::from_secs(60);

/// How long a refusal by rustup is remembered.
const RUSTUP_REFUSAL_VALID: Duration = Duration::from_secs(24 * 60 * 60);

/// Receives one line of progress at a time.
pub type Report<'a> = dyn Fn(&str) + Sync + 'a;

/// The source of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The active toolchain had it.
    Toolchain,
    /// rustup added it to the active toolchain.
    Rustup,
    /// Debian's compiler with a standard library built here.
    Debian,
}

impl Way {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text {
            "toolchain" => Self::Toolchain,
            "rustup" => Self::Rustup,
            "debian" => Self::Debian,
            other => bail!("{WAY_VARIABLE}={other}: write toolchain, rustup or debian, or leave it unset"),
        })
    }
}

/// A toolchain with which `cargo build --target wasm32-wasip2` works.
#[derive(Debug)]
pub struct WasmToolchain {
    way: Way,
    /// The compiler to use instead of the active one.
    rustc: Option<PathBuf>,
    /// Folders with the linkers, first on `PATH`.
    path: Vec<PathBuf>,
}

impl WasmToolchain {
    fn active(way: Way) -> Self {
        Self { way, rustc: None, path: Vec::new() }
    }

    /// The source of the target.
    #[must_use]
    pub fn way(&self) -> Way {
        self.way
    }

    /// Sets the environment that `cargo` needs to build for [`TARGET`] with this toolchain.
    pub fn apply(&self, command: &mut Command) {
        if let Some(rustc) = &self.rustc {
            command.env("RUSTC", rustc).env_remove("RUSTC_WRAPPER");
        }
        if !self.path.is_empty() {
            command.env("PATH", process::path_with(&self.path));
        }
    }

    /// A target directory for this toolchain beside `native`, so that two compilers never share artifacts:
    /// `native` itself for the active toolchain, else `<native>-debian`.
    #[must_use]
    pub fn target_dir(&self, native: &Path) -> PathBuf {
        match self.way {
            Way::Toolchain | Way::Rustup => native.to_owned(),
            Way::Debian => {
                let mut name = native.as_os_str().to_owned();
                name.push("-debian");
                PathBuf::from(name)
            }
        }
    }
}

/// Finds a toolchain that can build for [`TARGET`], or makes one.
///
/// The first call on a machine without the target may download 150 MB and compile for a minute; later calls
/// take milliseconds.
pub fn ensure(report: &Report) -> Result<WasmToolchain> {
    let toolchain = Toolchain::active()?;
    match forced_way()? {
        Some(Way::Toolchain) if toolchain.has_target() => Ok(WasmToolchain::active(Way::Toolchain)),
        Some(Way::Toolchain) => bail!(
            "{WAY_VARIABLE}=toolchain, but {} has no {TARGET}: run `rustup target add {TARGET}`",
            toolchain.sysroot.display()
        ),
        Some(Way::Rustup) => {
            add_with_rustup(&toolchain, report)?;
            Ok(WasmToolchain::active(Way::Rustup))
        }
        Some(Way::Debian) => debian_toolchain::ensure(&toolchain, report),
        None if toolchain.has_target() => Ok(WasmToolchain::active(Way::Toolchain)),
        None => rustup_else_debian(&toolchain, report),
    }
}

fn rustup_else_debian(toolchain: &Toolchain, report: &Report) -> Result<WasmToolchain> {
    let refusal = cache::folder(&format!("rustup-refused-{}", cache::digest(&[&toolchain.version])))?;
    let rustup = if cache::is_younger(&refusal, RUSTUP_REFUSAL_VALID) {
        Err(anyhow::anyhow!("rustup failed to add {TARGET} within the last day and is not tried again"))
    } else {
        add_with_rustup(toolchain, report).inspect_err(|_| note_refusal(&refusal))
    };
    let rustup = match rustup {
        Ok(()) => return Ok(WasmToolchain::active(Way::Rustup)),
        Err(error) => error,
    };
    report(&format!("wasm target: {rustup:#}; using Debian's packages"));
    debian_toolchain::ensure(toolchain, report).map_err(|debian| {
        anyhow::anyhow!(
            "no way to build for {TARGET}. The toolchain lacks it; {rustup:#}; {debian:#}. \
             Run `rustup target add {TARGET}` where the network allows it"
        )
    })
}

/// If the note cannot be written, rustup is tried again next time, which only costs a wait.
fn note_refusal(note: &Path) {
    if let Some(folder) = note.parent() {
        std::fs::create_dir_all(folder).ok();
    }
    std::fs::write(note, "").ok();
}

fn add_with_rustup(toolchain: &Toolchain, report: &Report) -> Result<()> {
    report(&format!("wasm target: rustup target add {TARGET} (at most {} s)", RUSTUP_WAIT.as_secs()));
    let mut command = Command::new("rustup");
    command.args(["target", "add", TARGET]);
    process::run_bounded(&mut command, RUSTUP_WAIT)?;
    if toolchain.has_target() {
        return Ok(());
    }
    bail!("rustup added {TARGET}, but to another toolchain than {}", toolchain.sysroot.display())
}

fn forced_way() -> Result<Option<Way>> {
    match std::env::var(WAY_VARIABLE) {
        Ok(text) if !text.is_empty() => Way::parse(&text).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_compiler_has_a_target_directory_of_its_own() {
        let native = Path::new("/repo/target/wasm");
        assert_eq!(WasmToolchain::active(Way::Rustup).target_dir(native), native);
        let debian = WasmToolchain { way: Way::Debian, rustc: Some("/rustc".into()), path: Vec::new() };
        assert_eq!(debian.target_dir(native), Path::new("/repo/target/wasm-debian"));
    }

    #[test]
    fn an_unknown_way_is_refused_with_the_ones_there_are() {
        let error = Way::parse("brew").expect_err("no such way").to_string();
        assert!(error.contains("toolchain, rustup or debian"), "{error}");
    }

    #[test]
    fn the_environment_names_compiler_and_linkers() {
        let toolchain =
            WasmToolchain { way: Way::Debian, rustc: Some("/c/rustc".into()), path: vec!["/c/bin".into()] };
        let mut command = Command::new("cargo");
        toolchain.apply(&mut command);
        let get = |name: &str| command.get_envs().find(|(key, _)| *key == name).and_then(|(_, value)| value);
        assert_eq!(get("RUSTC"), Some("/c/rustc".as_ref()));
        assert!(get("PATH").expect("set").to_string_lossy().starts_with("/c/bin:"));
    }
}
