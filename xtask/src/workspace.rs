//! Where things lie in the checkout, and which plugins there are.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The checkout that this program was built in.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask lies in the workspace").to_owned()
}

/// Where cargo puts what it builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// The components that tests load, for `LAKEPORT_WASM_DIR`.
pub fn components() -> PathBuf {
    target().join("components")
}

/// How thoroughly a build is optimised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// For a person or a test that waits for it.
    Ci,
    /// For the file that is shipped, and for what is measured.
    Release,
}

impl Profile {
    /// As cargo names it, and its folder.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ci => "ci",
            Self::Release => "release",
        }
    }

    /// The server that was built with it.
    pub fn binary(self) -> PathBuf {
        target().join(self.name()).join("lakeport")
    }

    /// The components that go into this binary. Apart, so that no build undoes the other's.
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
