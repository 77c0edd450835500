//! PostgreSQL: the servers' store in half of the tests, and a data source.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use lakeport_wasm_target::{cache, debian::Debian};
use nix::sys::signal::Signal;

use super::{Database, Home, Unpacked};
use crate::terminal;

/// `download` unpacks Debian's packages even if PostgreSQL is installed.
const CHOICE_VARIABLE: &str = "LAKEPORT_POSTGRES";

/// Increased when the unpacked files change.
const RECIPE: &str = "1";

/// Tests open a handful of connections each, several at a time.
const CONNECTIONS: &str = "max_connections=300";

/// Members of this role need a password; all others log in without one.
const PASSWORD_ROLE: &str = "lakeport_by_password";

/// The programs and their libraries.
pub struct Binaries {
    bin: PathBuf,
    /// Set if they were unpacked.
    tree: Option<Unpacked>,
}

impl Binaries {
    /// Finds PostgreSQL on this machine, or fetches it.
    pub fn obtain() -> Result<Self> {
        match found() {
            Some(bin) if !is_download_forced() => Ok(Self { bin, tree: None }),
            _ => Self::unpacked(),
        }
    }

    fn unpacked() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release")
            .context("PostgreSQL is not installed, and only Debian's packages could be unpacked")?;
        let tree = Unpacked::at(&cache::made("postgresql", &[RECIPE, &release], unpack)?);
        let bin = bin_of(&tree).context("the unpacked PostgreSQL has no programs")?;
        Ok(Self { bin, tree: Some(tree) })
    }
}

fn is_download_forced() -> bool {
    std::env::var_os(CHOICE_VARIABLE).is_some_and(|choice| choice == "download")
}

fn found() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path)
        .filter_map(|folder| fs::canonicalize(folder.join("pg_ctl")).ok()?.parent().map(Path::to_owned));
    on_path.chain(newest_bin(Path::new("/usr/lib/postgresql"))).find(|bin| is_complete(bin))
}

fn is_complete(bin: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|program| bin.join(program).is_file())
}

fn bin_of(tree: &Unpacked) -> Option<PathBuf> {
    newest_bin(&tree.root().join("usr/lib/postgresql"))
}

/// The `bin` folder of the newest version below `versions`.
fn newest_bin(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.flatten();
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(version);
    folders.into_iter().rev().map(|folder| folder.join("bin")).find(|bin| is_complete(bin))
}

fn unpack(folder: &Path) -> Result<()> {
    let what_for = "postgres";
    let apt = folder.join("apt");
    let debian = Debian::open(&apt, what_for, &terminal::say)?;
    let depends = debian.dependencies("postgresql")?;
    let server = depends.into_iter().find(|name| name.starts_with("postgresql-"));
    let server = server.context("Debian's package postgresql names no version")?;
    let mut packages = vec![server.clone(), "libpq5".to_owned()];
    for library in debian.missing_libraries(&server)? {
        // JIT compilation and Perl are not used, and are most of the bytes.
        let is_used = !library.starts_with("libllvm") && !library.starts_with("libperl");
        if is_used && !packages.contains(&library) {
            packages.push(library);
        }
    }
    debian.unpack(&packages, folder, what_for, &terminal::say)?;
    fs::remove_dir_all(&apt)?;
    fs::remove_dir_all(folder.join("usr/share/doc")).ok();
    let tree = Unpacked::at(folder);
    let bin = bin_of(&tree).context("the package has no programs")?;
    tree.check_libraries(&[&bin.join("postgres"), &bin.join("initdb")])
}

/// Makes a cluster in a temporary folder and starts it. It loses data in a power failure, and is quick.
pub fn start(binaries: &Binaries) -> Result<Database> {
    start_with(binaries, &["fsync=off", "full_page_writes=off", "jit=off"])
}

/// The same with PostgreSQL's own settings, as benchmarks want it.
pub fn start_durable(binaries: &Binaries) -> Result<Database> {
    start_with(binaries, &[])
}

fn start_with(binaries: &Binaries, settings: &[&str]) -> Result<Database> {
    let folder = tempfile::Builder::new().prefix("lakeport-postgres-").tempdir()?;
    let home = Home::new("PostgreSQL", folder.path(), binaries.tree.as_ref())?;
    let own_bin = home.tree.as_ref().and_then(bin_of);
    let bin = own_bin.as_deref().unwrap_or(&binaries.bin);
    let mut init = home.command(&bin.join("initdb"))?;
    init.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]);
    init.arg(home.data());
    home.init(init)?;
    ask_for_passwords(&home.data().join("pg_hba.conf"))?;
    let serve = |port: u16| {
        let mut command = home.command(&bin.join("postgres"))?;
        command.arg("-D").arg(home.data()).args(["-p", &port.to_string(), "-k"]).arg(&home.folder);
        for setting in settings.iter().chain(&["listen_addresses=127.0.0.1", CONNECTIONS]) {
            command.args(["-c", setting]);
        }
        Ok(command)
    };
    // SIGINT is the fast shutdown: it disconnects clients.
    let (port, server) = home.start(Signal::SIGINT, serve, || is_ready(&home))?;
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres");
    Ok(Database::own(url, server, folder))
}

/// The first line that matches a login decides.
fn ask_for_passwords(rules: &Path) -> Result<()> {
    let others = fs::read_to_string(rules)?;
    let rule = format!("host all +{PASSWORD_ROLE} 127.0.0.1/32 scram-sha-256");
    Ok(fs::write(rules, format!("{rule}\n{others}"))?)
}

/// The last line of `postmaster.pid` is the server's state.
fn is_ready(home: &Home) -> bool {
    let state = fs::read_to_string(home.data().join("postmaster.pid")).unwrap_or_default();
    state.lines().next_back().is_some_and(|line| line.trim() == "ready")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_complete_version_is_taken() {
        let home = tempfile::tempdir().expect("a temporary folder");
        for (version, programs) in
            [("9", &["initdb", "postgres"][..]), ("15", &["initdb", "postgres"]), ("16", &[])]
        {
            let bin = home.path().join(version).join("bin");
            fs::create_dir_all(&bin).expect("made");
            for program in programs {
                fs::write(bin.join(program), "").expect("written");
            }
        }
        assert_eq!(newest_bin(home.path()), Some(home.path().join("15/bin")));
    }

    #[test]
    fn it_starts_accepts_connections_and_leaves_nothing() {
        let binaries = Binaries::obtain().expect("PostgreSQL is here or can be fetched");
        let postgres = start(&binaries).expect("it starts");
        let address = postgres.url().split(['@', '/']).nth(3).expect("the URL has an address").to_owned();
        std::net::TcpStream::connect(&address).expect("it accepts a connection");
        let folder = postgres._own.as_ref().expect("its own")._folder.path().to_owned();
        drop(postgres);
        std::net::TcpStream::connect(&address).expect_err("it is stopped");
        assert!(!folder.exists());
    }
}
