//! Builds the components: the bundled plugins, and the fixtures that tests load.
//!
//! For tests and for development, one call of cargo builds all of them in the host's own folder and profile:
//! procedural macros are compiled once for both. Shipped components are optimised for speed and built one by
//! one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use lakeport_wasm_target::{TARGET, WasmToolchain};

use crate::cargo::{self, Artifact};
use crate::terminal;
use crate::workspace::{self, Profile};

/// The package whose examples are the tests' components.
const FIXTURES: &str = "lakeport-fixtures";

/// Gives a build the same features of procedural macros as the server's.
const MACRO_FEATURES: &str = "lakeport-macro-features";

/// A third party's crate, outside of the workspace.
const EXAMPLE: &str = "examples/tool-wordcount/Cargo.toml";

/// The component whose call costs only the call itself, for a benchmark.
const EMPTY: &str = "empty_dialect";

/// The profile of shipped or measured components.
const SHIPPED: &str = "plugin";

/// The toolchain for components, and its output folders.
pub struct Wasm {
    toolchain: WasmToolchain,
}

impl Wasm {
    /// Finds the target, or sets it up.
    pub fn set_up() -> Result<Self> {
        let toolchain = lakeport_wasm_target::ensure(&terminal::say)?;
        Ok(Self { toolchain })
    }

    /// The folder with the plugins and the benchmark's reference, for `LAKEPORT_WASM_DIR`.
    pub fn shipped(&self) -> PathBuf {
        self.target_dir(Profile::Release).join(TARGET)
    }

    /// A compiler other than the host's never writes to the host's folder.
    fn target_dir(&self, profile: Profile) -> PathBuf {
        let apart = workspace::target().join("wasm");
        let own = self.toolchain.target_dir(&apart);
        if profile == Profile::Ci && own == apart { workspace::target() } else { own }
    }

    /// Builds all plugins and puts their components into the bundled folder.
    pub fn build_plugins(&self, profile: Profile) -> Result<()> {
        let built = match profile {
            Profile::Ci => self.build_for_ci(&[])?,
            Profile::Release => self.build_to_ship()?,
        };
        bundle_plugins(profile, &built)
    }

    /// The plugins, and the tests' components: the fixtures, and the third party's example.
    pub fn build_for_tests(&self) -> Result<()> {
        let built = self.build_for_ci(&["--package", FIXTURES, "--examples"])?;
        bundle_plugins(Profile::Ci, &built)?;
        let example = self.cargo(Profile::Release, &["build", "--manifest-path", EXAMPLE, "--release"]);
        let example = components_of(&cargo::build("example", example)?.artifacts)?;
        let (fixtures, plugins): (Vec<_>, Vec<_>) =
            built.into_iter().partition(|component| component.is_fixture);
        for (folder, components) in
            [("plugin", plugins), ("plugin-fixture/examples", fixtures), ("example", example)]
        {
            fill(&workspace::components().join(folder), &components)?;
        }
        Ok(())
    }

    /// The reference component of the plugin benchmark.
    pub fn build_empty(&self) -> Result<()> {
        let arguments = ["build", "--package", FIXTURES, "--example", EMPTY, "--profile", SHIPPED];
        cargo::build("fixture", self.cargo(Profile::Release, &arguments)).map(drop)
    }

    fn build_for_ci(&self, more: &[&str]) -> Result<Vec<Component>> {
        let mut command = self.cargo(Profile::Ci, &["build", "--profile", "ci", "--lib"]);
        for name in workspace::plugins()? {
            command.args(["--package", &name]);
        }
        command.args(["--package", MACRO_FEATURES]).args(more);
        // The host's profile keeps debug information; a component would be ten times as large.
        command.env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-C strip=debuginfo");
        components_of(&cargo::build("components", command)?.artifacts)
    }

    fn build_to_ship(&self) -> Result<Vec<Component>> {
        let plugins = workspace::plugins()?;
        let mut built = Vec::new();
        for (index, name) in plugins.iter().enumerate() {
            let step = format!("plugins: {name} ({} of {})", index + 1, plugins.len());
            terminal::say(&step);
            // A package that is also an rlib would be built without LTO.
            let arguments =
                ["rustc", "--package", name, "--lib", "--crate-type", "cdylib", "--profile", SHIPPED];
            let command = self.cargo(Profile::Release, &arguments);
            built.extend(components_of(&cargo::build(&step, command)?.artifacts)?);
        }
        Ok(built)
    }

    fn cargo(&self, profile: Profile, arguments: &[&str]) -> Command {
        let mut command = cargo::command(arguments);
        command.args(["--target", TARGET, "--target-dir"]).arg(self.target_dir(profile));
        self.toolchain.apply(&mut command);
        command
    }
}

/// A component built by cargo.
struct Component {
    file_name: String,
    bytes: Vec<u8>,
    is_fixture: bool,
}

fn components_of(artifacts: &[Artifact]) -> Result<Vec<Component>> {
    let mut components = Vec::new();
    for artifact in artifacts {
        let is_fixture = artifact.target.kind.iter().any(|kind| kind == "example");
        let is_component = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "wasm");
        for path in artifact.filenames.iter().filter(is_component) {
            let file_name = path.file_name().context("a file has a name")?.to_string_lossy().into_owned();
            components.push(Component { file_name, bytes: fs::read(path)?, is_fixture });
        }
    }
    Ok(components)
}

/// Bundles exactly the plugins, under the names of their packages.
fn bundle_plugins(profile: Profile, built: &[Component]) -> Result<()> {
    let mut bundled = Vec::new();
    for name in workspace::plugins()? {
        let file_name = format!("{}.wasm", name.replace('-', "_"));
        let component = built.iter().find(|component| component.file_name == file_name);
        let bytes = component.with_context(|| format!("{name} gave no component"))?.bytes.clone();
        bundled.push(Component { file_name: format!("{name}.wasm"), bytes, is_fixture: false });
    }
    fill(&profile.bundled(), &bundled)
}

/// Makes `folder` hold exactly these files, touching only differences, so that nothing is rebuilt needlessly.
fn fill(folder: &Path, components: &[Component]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let wanted =
            |component: &Component| path.file_name().is_some_and(|file| file == &*component.file_name);
        if !components.iter().any(wanted) {
            fs::remove_file(path)?;
        }
    }
    for Component { file_name, bytes, .. } in components {
        let path = folder.join(file_name);
        if fs::read(&path).ok().as_ref() != Some(bytes) {
            let partial = folder.join(format!("{file_name}.partial-{}", std::process::id()));
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
    fn filling_touches_only_what_differs() {
        let home = tempfile::tempdir().expect("a temporary folder");
        let folder = home.path().join("bundled");
        let time =
            |name: &str| fs::metadata(folder.join(name)).and_then(|file| file.modified()).expect("there");
        let component = |(name, byte): (&str, u8)| Component {
            file_name: name.to_owned(),
            bytes: vec![byte],
            is_fixture: false,
        };
        fill(&folder, &[("a.wasm", 1), ("b.wasm", 2)].map(component)).expect("filled");
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        for name in ["a.wasm", "b.wasm"] {
            let file = fs::File::options().write(true).open(folder.join(name)).expect("there");
            file.set_modified(long_ago).expect("set");
        }
        fill(&folder, &[("a.wasm", 1), ("c.wasm", 3)].map(component)).expect("filled");
        assert_eq!(time("a.wasm"), long_ago);
        assert!(time("c.wasm") > long_ago && !folder.join("b.wasm").exists());
    }
}
