//! MariaDB: a data source that speaks MySQL's protocol.

use std::fs;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use lakeport_wasm_target::{cache, debian::Debian};
use nix::sys::signal::Signal;

use super::{Database, Home, Unpacked};
use crate::terminal;

/// `download` unpacks Debian's packages even if MariaDB is installed.
const CHOICE_VARIABLE: &str = "LAKEPORT_MARIADB";

/// Increased when the unpacked files change.
const RECIPE: &str = "1";

/// The server; `my_print_defaults`, which its install script needs, is in the client's package.
const PACKAGES: [&str; 2] = ["mariadb-server-core", "mariadb-client-core"];

/// The needed programs of `usr/bin`; the rest is most of the bytes.
const PROGRAMS: [&str; 3] = [INSTALL, "my_print_defaults", "resolveip"];

const INSTALL: &str = "mariadb-install-db";

/// The file by which an installation is recognised.
const SYSTEM_TABLES: &str = "share/mysql/mysql_system_tables.sql";

/// Where the programs are.
pub struct Binaries {
    /// `usr`: has `sbin`, `bin` and `share`.
    base: PathBuf,
    /// Set if they were unpacked.
    tree: Option<Unpacked>,
}

impl Binaries {
    /// Finds MariaDB on this machine, or fetches it.
    pub fn obtain() -> Result<Self> {
        match found() {
            Some(base) if !is_download_forced() => Ok(Self { base, tree: None }),
            _ => Self::unpacked(),
        }
    }

    fn unpacked() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release")
            .context("MariaDB is not installed, and only Debian's packages could be unpacked")?;
        let tree = Unpacked::at(&cache::made("mariadb", &[RECIPE, &release], unpack)?);
        Ok(Self { base: tree.root().join("usr"), tree: Some(tree) })
    }
}

fn is_download_forced() -> bool {
    std::env::var_os(CHOICE_VARIABLE).is_some_and(|choice| choice == "download")
}

/// Beside a `mariadbd` on the PATH, or in the packages' folder if the PATH has no `sbin`.
fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter_map(|folder| {
        fs::canonicalize(folder.join("mariadbd")).ok()?.ancestors().nth(2).map(Path::to_owned)
    });
    on_path.chain([PathBuf::from("/usr")]).find(|base| is_complete(base))
}

fn is_complete(base: &Path) -> bool {
    server_of(base).is_some()
        && base.join("bin").join(INSTALL).is_file()
        && base.join(SYSTEM_TABLES).is_file()
}

fn server_of(base: &Path) -> Option<PathBuf> {
    ["sbin/mariadbd", "bin/mariadbd"].iter().map(|program| base.join(program)).find(|path| path.is_file())
}

fn unpack(folder: &Path) -> Result<()> {
    let what_for = "mariadb";
    let apt = folder.join("apt");
    let debian = Debian::open(&apt, what_for, &terminal::say)?;
    let mut packages = PACKAGES.map(str::to_owned).to_vec();
    for package in PACKAGES {
        for library in debian.missing_libraries(package)? {
            if !packages.contains(&library) {
                packages.push(library);
            }
        }
    }
    debian.unpack(&packages, folder, what_for, &terminal::say)?;
    fs::remove_dir_all(&apt)?;
    fs::remove_dir_all(folder.join("usr/share/doc")).ok();
    let bin = folder.join("usr/bin");
    for entry in fs::read_dir(&bin)? {
        let entry = entry?;
        if !PROGRAMS.iter().any(|program| entry.file_name() == *program) {
            fs::remove_file(entry.path())?;
        }
    }
    let programs = ["usr/sbin/mariadbd", "usr/bin/my_print_defaults", "usr/bin/resolveip"].map(Path::new);
    Unpacked::at(folder).check_libraries(&programs)
}

/// Creates the system tables in a temporary folder and starts the server; `root` has no password.
pub fn start(binaries: &Binaries) -> Result<Database> {
    let folder = tempfile::Builder::new().prefix("lakeport-mariadb-").tempdir()?;
    let home = Home::new("MariaDB", folder.path(), binaries.tree.as_ref())?;
    let base = home.tree.as_ref().map_or_else(|| binaries.base.clone(), |tree| tree.root().join("usr"));
    let mut init = home.command(&base.join("bin").join(INSTALL))?;
    with_places(&mut init, &home, &base).args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
    home.init(init)?;
    let server = server_of(&base).context("MariaDB's server is where it was found")?;
    // Short, because a socket's path must be.
    let socket = home.folder.join("s");
    let serve = |port: u16| {
        let mut command = home.command(&server)?;
        with_places(&mut command, &home, &base);
        command.args([
            "--bind-address=127.0.0.1",
            &format!("--port={port}"),
            "--skip-log-bin",
            "--skip-name-resolve",
        ]);
        command.arg(format!("--socket={}", socket.display()));
        command.args(["--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--performance-schema=ON", "--max-connections=300"]);
        Ok(command)
    };
    let is_ready = || fs::metadata(&socket).is_ok_and(|there| there.file_type().is_socket());
    let (port, server) = home.start(Signal::SIGTERM, serve, is_ready)?;
    Ok(Database::own(format!("mysql://root@127.0.0.1:{port}"), server, folder))
}

/// Ignores the machine's own settings, and never waits for the disk.
fn with_places<'c>(command: &'c mut Command, home: &Home, base: &Path) -> &'c mut Command {
    command
        .args(["--no-defaults", "--debug-no-sync=ON"])
        .arg(format!("--basedir={}", base.display()))
        .arg(format!("--datadir={}", home.data().display()))
        .arg(format!("--lc-messages-dir={}", base.join("share/mysql").display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_taken_when_it_is_whole() {
        let home = tempfile::tempdir().expect("a temporary folder");
        for file in ["sbin/mariadbd", "bin/mariadb-install-db", SYSTEM_TABLES] {
            assert!(!is_complete(home.path()));
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().expect("a folder")).expect("made");
            fs::write(file, "").expect("written");
        }
        assert!(is_complete(home.path()));
    }

    #[test]
    fn it_starts_accepts_connections_and_leaves_nothing() {
        let Ok(binaries) = Binaries::obtain() else {
            eprintln!("NOT TESTED: MariaDB is not installed and cannot be fetched");
            return;
        };
        let mariadb = start(&binaries).expect("it starts");
        let address = mariadb.url().rsplit('@').next().expect("the URL has an address").to_owned();
        std::net::TcpStream::connect(&address).expect("it accepts a connection");
        let folder = mariadb._own.as_ref().expect("its own")._folder.path().to_owned();
        drop(mariadb);
        std::net::TcpStream::connect(&address).expect_err("it is stopped");
        assert!(!folder.exists());
    }
}
