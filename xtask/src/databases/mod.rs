//! Database servers for one run: found or unpacked into the cache, started on a free port, stopped at the end.
//!
//! Each keeps its data in a temporary folder and need not be durable. Root runs them as `nobody`: PostgreSQL
//! refuses to run as root, and MariaDB would expose root's files to anyone who connects.

pub mod mariadb;
pub mod postgres;
mod unpacked;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use tempfile::TempDir;

pub use self::unpacked::Unpacked;
use crate::child::Running;

/// How long a server may take to accept connections.
const START_WAIT: Duration = Duration::from_secs(30);

/// How long initialising the data may take.
const INIT_WAIT: Duration = Duration::from_secs(60);

/// A port may be taken between choosing and using it.
const START_TRIES: u32 = 3;

const POLL: Duration = Duration::from_millis(20);

/// A server for tests; stopped when this is dropped, unless it was given.
pub struct Database {
    url: String,
    _own: Option<Own>,
}

/// Dropped in this order: the server ends before its folder is removed.
struct Own {
    _server: Running,
    _folder: TempDir,
}

impl Database {
    /// A server that someone else runs.
    pub fn given(url: String) -> Self {
        Self { url, _own: None }
    }

    fn own(url: String, server: Running, folder: TempDir) -> Self {
        Self { url, _own: Some(Own { _server: server, _folder: folder }) }
    }

    /// Its port, if it is on the loopback of this machine.
    pub fn loopback_port(&self) -> Option<u16> {
        let (_, rest) = self.url.split_once("://")?;
        let authority = rest.split(['/', '?']).next()?;
        let address = authority.rsplit('@').next()?;
        let (host, port) = address.rsplit_once(':')?;
        ["127.0.0.1", "localhost"].contains(&host).then(|| port.parse().ok())?
    }

    /// Its URL, as superuser.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// The context of a server's programs: its folder, its user, and its libraries.
struct Home {
    /// The server's name in messages.
    product: &'static str,
    folder: PathBuf,
    user: Option<Unprivileged>,
    tree: Option<Unpacked>,
}

impl Home {
    /// A home in `folder`, of programs that lie in `tree`, if they were unpacked.
    fn new(product: &'static str, folder: &Path, tree: Option<&Unpacked>) -> Result<Self> {
        let user = Unprivileged::for_this_process(product, folder)?;
        let tree = match tree {
            // Another user may not be able to read root's cache.
            Some(tree) if user.is_some() => Some(tree.copied_to(&folder.join("root"))?),
            tree => tree.cloned(),
        };
        Ok(Self { product, folder: folder.to_owned(), user, tree })
    }

    fn command(&self, program: &Path) -> Result<Command> {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env("LC_ALL", "C").env_remove("LD_LIBRARY_PATH");
        if let Some(libraries) = self.tree.as_ref().and_then(Unpacked::library_folder) {
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

    /// Runs a program that initialises the data.
    fn init(&self, mut command: Command) -> Result<()> {
        match Running::spawn(&mut command, Signal::SIGTERM)?.wait(INIT_WAIT)? {
            Some(status) if status.success() => Ok(()),
            _ => bail!("{}: `{}` failed: {}", self.product, crate::child::display(&command), self.said()),
        }
    }

    fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }

    /// Starts the server that `command` makes for a port, and waits until it is ready. Returns the port.
    fn start(
        &self,
        stop: Signal,
        command: impl Fn(u16) -> Result<Command>,
        is_ready: impl Fn() -> bool,
    ) -> Result<(u16, Running)> {
        let mut last_error = None;
        for _ in 0..START_TRIES {
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let started =
                Running::spawn(&mut command(port)?, stop).and_then(|server| self.awaited(server, &is_ready));
            match started {
                Ok(server) => return Ok((port, server)),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.context("START_TRIES is not zero")?)
    }

    fn awaited(&self, mut server: Running, is_ready: &impl Fn() -> bool) -> Result<Running> {
        let end = Instant::now() + START_WAIT;
        while !is_ready() {
            if let Some(status) = server.child().try_wait()? {
                bail!("{} ended at its start ({status}): {}", self.product, self.said());
            }
            if Instant::now() >= end {
                bail!("{} did not start within {} s: {}", self.product, START_WAIT.as_secs(), self.said());
            }
            std::thread::sleep(POLL);
        }
        Ok(server)
    }
}

/// The user that root runs a server as.
struct Unprivileged {
    uid: u32,
    gid: u32,
}

impl Unprivileged {
    /// `None` if this process is not root. Gives `folder` to the user otherwise.
    fn for_this_process(product: &str, folder: &Path) -> Result<Option<Self>> {
        // A new folder belongs to the user of this process.
        if fs::metadata(folder)?.uid() != 0 {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let line = users.lines().find_map(|line| line.strip_prefix("nobody:"));
        let fields: Vec<&str> = line
            .with_context(|| format!("there is no user nobody to run {product} as"))?
            .split(':')
            .collect();
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u32>().ok());
        let (uid, gid) = number(1).zip(number(2)).context("/etc/passwd has a broken line for nobody")?;
        chown(folder, Some(uid), Some(gid))?;
        Ok(Some(Self { uid, gid }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_loopback_has_a_port_to_relay() {
        let port = |url: &str| Database::given(url.to_owned()).loopback_port();
        assert_eq!(port("postgres://postgres@127.0.0.1:5433/postgres"), Some(5433));
        assert_eq!(port("postgres://u:p@localhost:5434?a=b"), Some(5434));
        assert_eq!(port("postgres://u@db.example:5432/a"), None);
        assert_eq!(port("postgres://u@127.0.0.1/a"), None);
    }
}
