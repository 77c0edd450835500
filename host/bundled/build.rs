//! Writes the list of components found in the folder that `LAKEPORT_BUNDLED_DIR` names.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs, io};

const FOLDER: &str = "LAKEPORT_BUNDLED_DIR";

#[expect(clippy::disallowed_methods, reason = "a build script is configured by its environment")]
fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={FOLDER}");
    let components = match env::var_os(FOLDER) {
        Some(folder) if !folder.is_empty() => components_in(PathBuf::from(folder))?,
        _ => Vec::new(),
    };
    let mut list = "&[\n".to_owned();
    for path in &components {
        println!("cargo::rerun-if-changed={}", path.display());
        let file_name = path.file_name().expect("read_dir gives names").to_string_lossy();
        writeln!(list, "    Component {{ file_name: {file_name:?}, bytes: include_bytes!({path:?}) }},")
            .expect("a String takes all text");
    }
    list.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for a build script"));
    fs::write(out.join("components.rs"), list)
}

/// The folder's `*.wasm`, sorted by name.
fn components_in(folder: PathBuf) -> io::Result<Vec<PathBuf>> {
    let folder = fs::canonicalize(&folder)
        .map_err(|error| io::Error::other(format!("{FOLDER}={}: {error}", folder.display())))?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "wasm") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
