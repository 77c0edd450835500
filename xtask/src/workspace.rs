//! Paths in the checkout, and the list of plugins.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The checkout in which this program was built.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace").to_owned()
}

/// cargo's output folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The tests' components, for `LAKEPORT_WASM_DIR`.
pub fn components() -> PathBuf {
    target().join("components")
}

/// The optimisation of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// For development and tests.
    Ci,
    /// For shipping and benchmarks.
    Release,
}

impl Profile {
    /// cargo's name of it, and its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Release => "release",
        }
    }

    /// The server's binary.
    pub fn binary(self) -> PathBuf {
        target().join(self.name()).join("lakeport")
    }

    /// The components for this binary. Separate, so that no build undoes the other's.
    pub fn bundled(self) -> PathBuf {
        target().join(match self {
            Self::Ci => "bundled",
            Self::Release => "bundled-release",
        })
    }
}

#[derive(Deserialize)]
struct Manifest {
    package: Package,
}

#[derive(Deserialize)]
struct Package {
    name: String,
}

/// The packages below `plugins/`, sorted: each is bundled.
pub fn plugins() -> Result<Vec<String>> {
    let folder = root().join("plugins");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let manifest = entry?.path().join("Cargo.toml");
        if manifest.is_file() {
            let parsed: Manifest = toml::from_str(&fs::read_to_string(&manifest)?)
                .with_context(|| format!("cannot read {}", manifest.display()))?;
            names.push(parsed.package.name);
        }
    }
    names.sort();
    Ok(names)
}
