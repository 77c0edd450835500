//! Builds the components: the bundled plugins, and the fixtures that tests load.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lakeport_wasm_target::{TARGET, WasmToolchain};

use crate::{cargo, workspace};

/// The package whose examples are the tests' components.
const FIXTURES: &str = "lakeport-fixtures";

/// A crate of a third party, which stands outside the workspace.
const EXAMPLE: &str = "examples/tool-wordcount/Cargo.toml";

/// Where the components of one toolchain lie.
pub struct Wasm {
    toolchain: WasmToolchain,
    target_dir: PathBuf,
}

impl Wasm {
    /// Finds the target, or sets it up.
    pub fn set_up() -> Result<Self> {
        let toolchain = lakeport_wasm_target::ensure(&|line| println!("{line}"))?;
        let target_dir = toolchain.target_dir(&workspace::target().join("wasm"));
        Ok(Self { toolchain, target_dir })
    }

    /// The folder with `plugin/` and `plugin-fixture/examples/`, for `LAKEPORT_WASM_DIR`.
    pub fn folder(&self) -> PathBuf {
        self.target_dir.join(TARGET)
    }

    /// Builds every plugin and puts its component into the folder that is bundled.
    pub fn build_plugins(&self) -> Result<()> {
        let plugins = workspace::plugins()?;
        let mut components = Vec::new();
        for (index, name) in plugins.iter().enumerate() {
            let step = format!("plugins: {name} ({} of {})", index + 1, plugins.len());
            println!("{step}");
            // A package that is also an rlib would be built without LTO.
            let arguments =
                ["rustc", "--package", name, "--lib", "--crate-type", "cdylib", "--profile", "plugin"];
            let artifacts = self.cargo(&step, &arguments)?;
            let mut built = artifacts.iter().flat_map(|artifact| &artifact.filenames);
            let component = built
                .rfind(|path| path.extension().is_some_and(|extension| extension == "wasm"))
                .with_context(|| format!("{name} gave no component"))?;
            components.push((format!("{name}.wasm"), fs::read(component)?));
        }
        bundle(&workspace::bundled(), &components)
    }

    /// Builds the components that tests load: the fixtures, and the example as a third party would.
    pub fn build_fixtures(&self) -> Result<()> {
        println!("fixtures: {FIXTURES}");
        let arguments = ["build", "--package", FIXTURES, "--examples", "--profile", "plugin-fixture"];
        self.cargo("fixtures", &arguments)?;
        println!("fixtures: {EXAMPLE}");
        self.cargo("example", &["build", "--manifest-path", EXAMPLE, "--release"]).map(drop)
    }

    fn cargo(&self, step: &str, arguments: &[&str]) -> Result<Vec<cargo::Artifact>> {
        let mut command = cargo::command(arguments);
        command.args(["--target", TARGET, "--target-dir"]).arg(&self.target_dir);
        self.toolchain.apply(&mut command);
        cargo::build(step, command, &[])
    }
}

/// Makes `folder` hold exactly these files, touching only what differs, so that nothing is rebuilt in vain.
fn bundle(folder: &Path, components: &[(String, Vec<u8>)]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let wanted = components.iter().any(|(name, _)| path.file_name().is_some_and(|file| file == &**name));
        if !wanted {
            fs::remove_file(path)?;
        }
    }
    for (name, bytes) in components {
        let path = folder.join(name);
        if fs::read(&path).ok().as_ref() != Some(bytes) {
            let partial = folder.join(format!("{name}.partial-{}", std::process::id()));
            fs::write(&partial, bytes)?;
            fs::rename(partial, path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundling_touches_only_what_differs() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("bundled");
        let time =
            |name: &str| fs::metadata(folder.join(name)).and_then(|file| file.modified()).expect("there");
        bundle(&folder, &[("a.wasm".into(), vec![1]), ("b.wasm".into(), vec![2])]).expect("bundled");
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        for name in ["a.wasm", "b.wasm"] {
            let file = fs::File::options().write(true).open(folder.join(name)).expect("there");
            file.set_modified(long_ago).expect("set");
        }
        bundle(&folder, &[("a.wasm".into(), vec![1]), ("c.wasm".into(), vec![3])]).expect("bundled");
        assert_eq!(time("a.wasm"), long_ago);
        assert!(time("c.wasm") > long_ago && !folder.join("b.wasm").exists());
    }
}
