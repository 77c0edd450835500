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

pub fn target() -> PathBuf {
    root().join("target")
}

/// The components that go into the binary.
pub fn bundled() -> PathBuf {
    target().join("bundled")
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
