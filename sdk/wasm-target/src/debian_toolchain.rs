//! The third way: Debian's `rustc-web` with a standard library built once for the target.
//!
//! The finished folder is a usual sysroot: Debian's compiler finds the target in its own `rustlib`, with the
//! C library in `self-contained`, so that a plugin's build needs no flags. The linkers are the rustup
//! toolchain's.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::debian::Debian;
use crate::toolchain::Toolchain;
use crate::{Report, TARGET, WasmToolchain, Way, cache, process};

/// Increased when the recipe below changes, so that older folders are not used.
const RECIPE: &str = "1";

/// The oldest compiler that the workspace accepts, for example `1.95`.
const OLDEST_RUSTC: &str = env!("CARGO_PKG_RUST_VERSION");

const WHAT_FOR: &str = "wasm target";

/// The files of the C library that a component needs; the rest of `wasi-libc` is empty or not linked.
const C_LIBRARY: [&str; 3] = ["crt1-command.o", "crt1-reactor.o", "libc.a"];

pub(crate) fn ensure(toolchain: &Toolchain, report: &Report) -> Result<WasmToolchain> {
    let path = toolchain.linkers()?;
    let release = fs::read_to_string("/etc/os-release").context("this is not a Debian machine")?;
    let inputs = [RECIPE, TARGET, &release, &toolchain.version];
    let folder = cache::made("wasm-toolchain", &inputs, |folder| make(toolchain, folder, report))?;
    Ok(WasmToolchain { way: Way::Debian, rustc: Some(folder.join("rustc")), path })
}

fn make(toolchain: &Toolchain, folder: &Path, report: &Report) -> Result<()> {
    let root = folder.join("root");
    let apt = folder.join("apt");
    let debian = Debian::open(&apt.join("release"), WHAT_FOR, report)?;
    let version = debian.version("rustc-web")?;
    check_version(&version, debian.codename())?;

    let standard_library = format!("libstd-rust-web-{}", minor(&version));
    let mut packages: Vec<String> =
        ["rustc-web", "libstd-rust-web-dev", "rust-web-src", &standard_library].map(str::to_owned).into();
    packages.extend(debian.missing_libraries(&standard_library)?);
    debian.unpack(&packages, &root, WHAT_FOR, report)?;
    let c_library = unpack_c_library(&debian, folder, report)?;

    let rustc = folder.join("rustc");
    write_wrapper(&rustc)?;
    build_standard_library(toolchain, folder, &version, report)?;
    let self_contained = target_libraries(&root).join("self-contained");
    fs::create_dir_all(&self_contained)?;
    for file in C_LIBRARY {
        fs::copy(c_library.join(file), self_contained.join(file)).with_context(|| format!("no {file}"))?;
    }
    for used_up in
        [apt, folder.join("build"), folder.join("libc"), root.join("usr/src"), root.join("usr/share")]
    {
        fs::remove_dir_all(used_up).ok();
    }
    Ok(())
}

/// The package must support the target: bookworm's own is too old, its backport is not.
fn unpack_c_library(debian: &Debian, folder: &Path, report: &Report) -> Result<PathBuf> {
    let package = ["wasi-libc".to_owned()];
    let root = folder.join("libc");
    let library = root.join("usr/lib").join(TARGET);
    let apt = |suite: &str| folder.join("apt").join(suite);
    let backports = format!("{}-backports", debian.codename());
    let mut last_error = None;
    for suite in [debian.codename(), &backports, "trixie"] {
        let unpacked = if suite == debian.codename() {
            debian.unpack(&package, &root, WHAT_FOR, report)
        } else {
            let what_for = format!("{WHAT_FOR} ({suite})");
            Debian::open_suite(&apt(suite), suite, &what_for, report)
                .and_then(|other| other.unpack(&package, &root, &what_for, report))
        };
        last_error = unpacked.err().or(last_error);
        if library.join("libc.a").is_file() {
            return Ok(library);
        }
    }
    Err(last_error.unwrap_or_else(|| anyhow::anyhow!("no wasi-libc of Debian's has {TARGET}")))
}

/// Debian's compiler looks for its libraries where a package would have installed them.
fn write_wrapper(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let script = "#!/bin/sh\n\
                  root=${0%/*}/root/usr\n\
                  for lib in \"$root\"/lib/*-linux-gnu; do LD_LIBRARY_PATH=$lib; done\n\
                  export LD_LIBRARY_PATH\n\
                  exec \"$root/bin/rustc\" \"$@\"\n";
    fs::write(path, script)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).context("cannot make the wrapper executable")
}

fn build_standard_library(
    toolchain: &Toolchain,
    folder: &Path,
    version: &str,
    report: &Report,
) -> Result<()> {
    report(&format!("{WHAT_FOR}: building the standard library of Rust {version}, once (about a minute)"));
    let package = folder.join("build");
    fs::create_dir_all(&package)?;
    fs::write(package.join("Cargo.toml"), BUILD_MANIFEST)?;
    fs::write(package.join("lib.rs"), "")?;
    let source = folder.join("root/usr/src");
    let flags = [
        // Plugins are built with LTO, which needs the bitcode that cargo omits otherwise.
        "-Cembed-bitcode=yes".to_owned(),
        format!("--remap-path-prefix={}=/rust", source.display()),
    ];
    let mut command = Command::new("cargo");
    command
        .args(["build", "--quiet", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET])
        .arg("--target-dir")
        .arg(package.join("target"))
        .current_dir(&package)
        .env("RUSTC", folder.join("rustc"))
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .env("PATH", process::path_with(&toolchain.linkers()?))
        .env_remove("RUSTC_WRAPPER");
    process::output(&mut command)?;
    copy_libraries(
        &package.join("target").join(TARGET).join("release/deps"),
        &target_libraries(&folder.join("root")),
    )
}

const BUILD_MANIFEST: &str = r#"[package]
name = "standard-library"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[profile.release]
debug = false

[workspace]
"#;

fn copy_libraries(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).context("the standard library's build left nothing")? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libstandard_library-") {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

fn target_libraries(root: &Path) -> PathBuf {
    root.join("usr/lib/rustlib").join(TARGET).join("lib")
}

/// `1.96.0` to `1.96`.
fn minor(version: &str) -> &str {
    version.rsplit_once('.').map_or(version, |(minor, _)| minor)
}

fn check_version(version: &str, codename: &str) -> Result<()> {
    let numbers = |text: &str| -> Vec<u32> { text.split('.').map_while(|part| part.parse().ok()).collect() };
    if numbers(version) < numbers(OLDEST_RUSTC) {
        bail!("Debian {codename} has Rust {version} (rustc-web), but {OLDEST_RUSTC} or newer is needed");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_compiler_is_refused_by_version() {
        let error = check_version("1.85.0", "bookworm").expect_err("too old").to_string();
        assert!(error.contains("1.85.0") && error.contains(OLDEST_RUSTC), "{error}");
        check_version("1.96.0", "bookworm").expect("new enough");
    }

    #[test]
    fn the_library_package_is_named_by_minor_version() {
        assert_eq!(minor("1.96.0"), "1.96");
    }
}
