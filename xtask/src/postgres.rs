//! A PostgreSQL for one run: found or unpacked into the cache, started on a free port, stopped at the end.
//!
//! It refuses to run as root, so root runs it as `nobody`. Its data lie in a temporary folder and are not
//! made to survive anything: synchronous writes are off.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use lakeport_wasm_target::{cache, debian::Debian};
use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::child::Running;

/// `download` unpacks Debian's packages though PostgreSQL is installed.
const CHOICE_VARIABLE: &str = "LAKEPORT_POSTGRES";

/// Rises when what is unpacked changes.
const RECIPE: &str = "1";

/// How long the server may take to accept connections.
const START_WAIT: Duration = Duration::from_secs(30);

/// How long `initdb` may take.
const INIT_WAIT: Duration = Duration::from_secs(60);

/// A port is free when it is looked up and may be taken when it is used.
const START_TRIES: u32 = 3;

const POLL: Duration = Duration::from_millis(20);

/// Tests open a handful of connections each, several at a time.
const CONNECTIONS: &str = "max_connections=300";

/// Where the programs are, and what they need to run.
#[derive(Clone)]
pub struct Binaries {
    bin: PathBuf,
    /// Set if they were unpacked: the root of their file tree.
    unpacked: Option<PathBuf>,
}

impl Binaries {
    /// Finds PostgreSQL on this machine, or fetches it.
    pub fn obtain() -> Result<Self> {
        match found() {
            Some(bin) if !is_download_forced() => Ok(Self { bin, unpacked: None }),
            _ => Self::unpacked(),
        }
    }

    fn unpacked() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release")
            .context("PostgreSQL is not installed, and only Debian's packages could be unpacked")?;
        let root = cache::made("postgresql", &[RECIPE, &release], unpack)?;
        let bin = newest_bin(&root.join("usr/lib/postgresql"))
            .context("the unpacked PostgreSQL has no programs")?;
        Ok(Self { bin, unpacked: Some(root) })
    }

    /// The folders to find shared libraries in, if they were unpacked.
    fn library_path(&self) -> Option<PathBuf> {
        self.unpacked.as_deref().and_then(library_folder)
    }

    /// The same, copied below `folder`: another user may not be able to enter root's cache.
    fn copied_to(&self, folder: &Path) -> Result<Self> {
        let Some(root) = &self.unpacked else { return Ok(self.clone()) };
        let copy = folder.join("root");
        let status = Command::new("cp").arg("-R").arg(root).arg(&copy).status()?;
        if !status.success() {
            bail!("cannot copy PostgreSQL to {}", copy.display());
        }
        let bin = copy.join(self.bin.strip_prefix(root).context("the programs lie in the tree")?);
        Ok(Self { bin, unpacked: Some(copy) })
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

/// The `bin` folder of the newest version below `versions`.
fn newest_bin(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.flatten();
    let version = |path: &PathBuf| path.file_name()?.to_str()?.parse::<u32>().ok();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort_by_key(version);
    folders.into_iter().rev().map(|folder| folder.join("bin")).find(|bin| is_complete(bin))
}

fn unpack(folder: &Path) -> Result<()> {
    let report = |line: &str| println!("{line}");
    let what_for = "postgres";
    let apt = folder.join("apt");
    let debian = Debian::open(&apt, what_for, &report)?;
    let depends = debian.dependencies("postgresql")?;
    let server = depends.into_iter().find(|name| name.starts_with("postgresql-"));
    let server = server.context("Debian's package postgresql names no version")?;
    let mut packages = vec![server.clone(), "libpq5".to_owned()];
    for library in debian.missing_libraries(&server)? {
        // Compiling queries to machine code and Perl are not used here, and are most of the bytes.
        let is_used = !library.starts_with("libllvm") && !library.starts_with("libperl");
        if is_used && !packages.contains(&library) {
            packages.push(library);
        }
    }
    debian.unpack(&packages, folder, what_for, &report)?;
    fs::remove_dir_all(&apt)?;
    fs::remove_dir_all(folder.join("usr/share/doc")).ok();
    let bin = newest_bin(&folder.join("usr/lib/postgresql")).context("the package has no programs")?;
    check_libraries(&bin, library_folder(folder))
}

/// `usr/lib/<machine>-linux-gnu` below a root.
fn library_folder(root: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(root.join("usr/lib")).ok()?.flatten();
    entries.map(|entry| entry.path()).find(|path| path.to_string_lossy().ends_with("-linux-gnu"))
}

fn check_libraries(bin: &Path, libraries: Option<PathBuf>) -> Result<()> {
    for program in ["postgres", "initdb"] {
        let mut command = Command::new("ldd");
        command.arg(bin.join(program)).envs(libraries.as_ref().map(|path| ("LD_LIBRARY_PATH", path)));
        let output = command.output().context("cannot run ldd")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let missing: Vec<&str> =
            text.lines().filter(|line| line.contains("not found")).map(str::trim).collect();
        if !missing.is_empty() {
            bail!("Debian's {program} lacks shared libraries: {}", missing.join(", "));
        }
    }
    Ok(())
}

/// A running server, stopped when this is dropped.
pub struct Postgres {
    url: String,
    // Dropped in this order: the server ends before its folder goes.
    _server: Running,
    _folder: TempDir,
}

impl Postgres {
    /// Makes a cluster in a temporary folder and starts it.
    pub fn start(binaries: &Binaries) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("lakeport-postgres-").tempdir()?;
        let user = Unprivileged::for_this_process(folder.path())?;
        let own = if user.is_some() { binaries.copied_to(folder.path())? } else { binaries.clone() };
        let setting = Setting { binaries: own, user, folder: folder.path().to_owned() };
        setting.initdb()?;
        let mut last_error = None;
        for _ in 0..START_TRIES {
            match setting.postgres() {
                Ok((url, server)) => return Ok(Self { url, _server: server, _folder: folder }),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.context("START_TRIES is not zero")?)
    }

    /// `postgres://…` of its maintenance database, as a superuser.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The user that root runs PostgreSQL as.
struct Unprivileged {
    uid: u32,
    gid: u32,
}

impl Unprivileged {
    /// `None` if this process is not root. Gives `folder` to the user otherwise.
    fn for_this_process(folder: &Path) -> Result<Option<Self>> {
        use std::os::unix::fs::MetadataExt;
        // A folder made just now belongs to whoever runs this.
        if fs::metadata(folder)?.uid() != 0 {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let line = users.lines().find_map(|line| line.strip_prefix("nobody:"));
        let fields: Vec<&str> =
            line.context("there is no user nobody to run PostgreSQL as")?.split(':').collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u32>().ok());
        let (uid, gid) = number(1).zip(number(2)).context("/etc/passwd has a broken line for nobody")?;
        chown(folder, Some(uid), Some(gid))?;
        Ok(Some(Self { uid, gid }))
    }
}

/// What every program of the cluster is run with.
struct Setting {
    binaries: Binaries,
    user: Option<Unprivileged>,
    folder: PathBuf,
}

impl Setting {
    fn command(&self, program: &str) -> Result<Command> {
        let mut command = Command::new(self.binaries.bin.join(program));
        command.current_dir(&self.folder).env("LC_ALL", "C").env_remove("LD_LIBRARY_PATH");
        if let Some(libraries) = self.binaries.library_path() {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        if let Some(Unprivileged { uid, gid }) = self.user {
            command.uid(uid).gid(gid);
        }
        let log = fs::File::options().create(true).append(true).open(self.log())?;
        command.stdout(log.try_clone()?).stderr(log);
        Ok(command)
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    fn initdb(&self) -> Result<()> {
        let mut command = self.command("initdb")?;
        command.args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]);
        command.arg(self.data());
        match Running::spawn(&mut command, Signal::SIGTERM)?.wait(INIT_WAIT)? {
            Some(status) if status.success() => Ok(()),
            _ => bail!("PostgreSQL's initdb failed: {}", self.said()),
        }
    }

    fn postgres(&self) -> Result<(String, Running)> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = self.command("postgres")?;
        command.arg("-D").arg(self.data()).args(["-p", &port.to_string(), "-k"]).arg(&self.folder);
        for setting in
            ["listen_addresses=127.0.0.1", "fsync=off", "full_page_writes=off", "jit=off", CONNECTIONS]
        {
            command.args(["-c", setting]);
        }
        // SIGINT is the fast shutdown: clients are sent away instead of waited for.
        let mut server = Running::spawn(&mut command, Signal::SIGINT)?;
        let end = Instant::now() + START_WAIT;
        while !self.is_ready() {
            if let Some(status) = server.child().try_wait()? {
                bail!("PostgreSQL ended at its start ({status}): {}", self.said());
            }
            if Instant::now() >= end {
                bail!("PostgreSQL did not start within {} s: {}", START_WAIT.as_secs(), self.said());
            }
            std::thread::sleep(POLL);
        }
        Ok((format!("postgres://postgres@127.0.0.1:{port}/postgres"), server))
    }

    /// The last line of `postmaster.pid` is the server's state.
    fn is_ready(&self) -> bool {
        let state = fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        state.lines().next_back().is_some_and(|line| line.trim() == "ready")
    }
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
        let postgres = Postgres::start(&binaries).expect("it starts");
        let address = postgres.url().split(['@', '/']).nth(3).expect("the URL has an address").to_owned();
        std::net::TcpStream::connect(&address).expect("it accepts a connection");
        let folder = postgres._folder.path().to_owned();
        drop(postgres);
        std::net::TcpStream::connect(&address).expect_err("it is stopped");
        assert!(!folder.exists());
    }
}
