//! Writes the lists of the components in the folder that `LAKEPORT_BUNDLED_DIR` names, and of the console's files in
//! the one that `LAKEPORT_CONSOLE_DIR` names.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const COMPONENTS: &str = "LAKEPORT_BUNDLED_DIR";
const CONSOLE: &str = "LAKEPORT_CONSOLE_DIR";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let mut components = String::new();
    for path in folder(COMPONENTS)?.map_or(Ok(Vec::new()), |folder| files_in(&folder))? {
        if path.extension().is_some_and(|extension| extension == "wasm") {
            let file_name = path.file_name().expect("read_dir gives names").to_string_lossy();
            writeln!(
                components,
                "    Component {{ file_name: {file_name:?}, bytes: include_bytes!({path:?}) }},"
            )
            .expect("a String takes all text");
        }
    }
    write("components.rs", &components)?;
    write("console.rs", &console()?)
}

/// The console's files, each compressed in two ways beside it.
fn console() -> io::Result<String> {
    let mut list = String::new();
    let Some(folder) = folder(CONSOLE)? else { return Ok(list) };
    for path in files_in(&folder)? {
        let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", path.display()));
        let (brotli, gzip) = (beside("br"), beside("gz"));
        if !brotli.exists() || !gzip.exists() {
            continue;
        }
        let name = path.strip_prefix(&folder).expect("it is in the folder").to_string_lossy();
        writeln!(
            list,
            "    ConsoleFile {{ name: {name:?}, brotli: include_bytes!({brotli:?}), gzip: include_bytes!({gzip:?}) }},"
        )
        .expect("a String takes all text");
    }
    Ok(list)
}

/// The folder that the variable names.
#[expect(clippy::disallowed_methods, reason = "a build script is configured by its environment")]
fn folder(variable: &str) -> io::Result<Option<PathBuf>> {
    println!("cargo::rerun-if-env-changed={variable}");
    let Some(folder) = env::var_os(variable).filter(|folder| !folder.is_empty()) else { return Ok(None) };
    let folder = PathBuf::from(folder);
    let folder = fs::canonicalize(&folder)
        .map_err(|error| io::Error::other(format!("{variable}={}: {error}", folder.display())))?;
    println!("cargo::rerun-if-changed={}", folder.display());
    Ok(Some(folder))
}

/// The files in the folder and in those below it, sorted.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files_in(&path)?);
        } else {
            println!("cargo::rerun-if-changed={}", path.display());
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[expect(clippy::disallowed_methods, reason = "a build script is configured by its environment")]
fn write(name: &str, list: &str) -> io::Result<()> {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for a build script"));
    fs::write(out.join(name), format!("&[\n{list}]"))
}
