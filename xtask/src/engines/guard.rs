//! The process around an engine: a hidden verb of this program. It makes the network namespace, relays
//! connections, and ends the engine with all that the engine started.
//!
//! Nothing of an engine outlives this program, even if this program is killed:
//! - the kernel sends the guard SIGTERM when its parent ends, and the engine SIGKILL when the guard ends;
//! - the guard is the subreaper of the engine: the kernel makes orphans, such as tasks of a shell, its children.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{Pid, getpid, getppid};

use super::namespace;
use super::relay::{Address, Relay};
use crate::child::Running;

/// How long a guard may take to end: the engine's time, and some for what it leaves.
const GRACE: Duration = Duration::from_secs(15);

/// How often the guard kills what is left; each round reaches the children of the last one's.
const ROUNDS_MAX: u32 = 100;

/// This program, even if its file was replaced since its start.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// The arguments of the hidden verb `guard`.
#[derive(Args)]
pub struct Guard {
    /// The process that starts the guard
    #[arg(long)]
    parent: i32,
    /// Runs the command in a network namespace of its own
    #[arg(long)]
    isolated: bool,
    /// The folder for sockets and all of the engine's files
    #[arg(long)]
    folder: PathBuf,
    /// A port of the command that is reachable by a socket in the folder
    #[arg(long)]
    inward: Option<u16>,
    /// A port of the host that the command reaches at the same port
    #[arg(long)]
    outward: Vec<u16>,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

/// The arguments of the hidden verb `bound`: a command that the kernel kills with its parent.
#[derive(Args)]
pub struct Bound {
    /// The process that starts the command
    #[arg(long)]
    parent: i32,
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

impl Bound {
    /// Replaces this process by the command.
    pub fn run(&self) -> Result<()> {
        end_with_parent(self.parent, Signal::SIGKILL)?;
        let (program, arguments) = self.command.split_first().context("clap requires a command")?;
        Err(Command::new(program).args(arguments).exec()).with_context(|| format!("cannot run {program}"))
    }
}

impl Guard {
    /// To be called while the process has one thread.
    pub fn prepare(&self) -> Result<()> {
        if self.isolated {
            namespace::enter()?;
        }
        // A new user namespace resets it, so it comes second.
        end_with_parent(self.parent, Signal::SIGTERM)?;
        adopt_orphans()
    }

    /// Runs the command to its end, or ends it at SIGTERM. False if the command failed.
    pub fn run(&self) -> Result<bool> {
        let _relays = self.relays()?;
        let mut command = Command::new(THIS_PROGRAM);
        command.args(["bound", "--parent", &getpid().to_string(), "--"]).args(&self.command);
        let mut running = Running::spawn(&mut command, Signal::SIGTERM)?;
        let engine = Pid::from_raw(running.child().id().cast_signed());
        let status = running.wait_or_interruption(|| reap_orphans(engine))?;
        drop(running);
        end_orphans()?;
        // The parent removes it otherwise.
        if getppid().as_raw() != self.parent {
            fs::remove_dir_all(&self.folder).context("cannot remove the engine's folder")?;
        }
        Ok(status.is_none_or(|status| status.success()))
    }

    fn relays(&self) -> Result<Vec<Relay>> {
        if !self.isolated {
            return Ok(Vec::new());
        }
        let inward = self.inward.map(|port| Relay::start(&inward(&self.folder), Address::Port(port)));
        let outward = |port: &u16| Relay::start(&Address::Port(*port), outward(&self.folder, *port));
        inward.into_iter().chain(self.outward.iter().map(outward)).collect()
    }
}

/// The socket by which the host reaches the engine.
fn inward(folder: &Path) -> Address {
    Address::Socket(folder.join("engine.sock"))
}

/// The socket by which the engine reaches a port of the host.
fn outward(folder: &Path, port: u16) -> Address {
    Address::Socket(folder.join(format!("{port}.sock")))
}

/// An engine within its guard; dropped in this order.
pub struct Guarded {
    running: Running,
    _outward: Vec<Relay>,
    inward: Option<Relay>,
}

/// The ports of an engine.
pub struct Ports<'a> {
    /// Where the engine's API listens on its loopback.
    pub engine: u16,
    /// Ports of the host's loopback that the engine reaches.
    pub databases: &'a [u16],
}

impl Guarded {
    /// Starts a command whose variables, output and folder are set. `is_isolated`: see [`can_isolate`].
    pub fn start(command: &Command, folder: &Path, ports: &Ports<'_>, is_isolated: bool) -> Result<Self> {
        let mut guard = guard(folder)?;
        if is_isolated {
            guard.args(["--isolated", "--inward", &ports.engine.to_string()]);
            guard.args(ports.databases.iter().flat_map(|port| ["--outward".to_owned(), port.to_string()]));
        }
        guard.arg("--").arg(command.get_program()).args(command.get_args());
        guard.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        guard.current_dir(folder);
        let log = fs::File::create(log(folder))?;
        guard.stdout(log.try_clone()?).stderr(log);
        let to_host = |port: &u16| Relay::start(&outward(folder, *port), Address::Port(*port));
        let databases = if is_isolated { ports.databases } else { &[] };
        let outward = databases.iter().map(to_host).collect::<Result<Vec<Relay>>>()?;
        let inward = is_isolated.then(|| Relay::start(&Address::Port(0), inward(folder))).transpose()?;
        let running = Running::spawn(&mut guard, Signal::SIGTERM)?.with_grace(GRACE);
        Ok(Self { running, _outward: outward, inward })
    }

    /// The host's port by which the engine is reached, if it is isolated.
    pub fn port(&self) -> Option<u16> {
        self.inward.as_ref().map(Relay::port)
    }

    /// Fails once the engine has ended.
    pub fn check(&mut self) -> Result<()> {
        match self.running.child().try_wait()? {
            Some(status) => bail!("the engine ended: {status}"),
            None => Ok(()),
        }
    }
}

/// The file with the engine's output.
pub fn log(folder: &Path) -> PathBuf {
    folder.join("log")
}

fn guard(folder: &Path) -> Result<Command> {
    ensure!(cfg!(target_os = "linux"), "engines are started on Linux only");
    let mut guard = Command::new(THIS_PROGRAM);
    guard.args(["guard", "--parent", &getpid().to_string(), "--folder"]).arg(folder);
    Ok(guard)
}

/// Tries a network namespace; an error is the reason why there can be none.
pub fn can_isolate(folder: &Path) -> Result<()> {
    let output = guard(folder)?.args(["--isolated", "--", "true"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{}", said.trim().trim_start_matches("error: "));
    Ok(())
}

#[cfg(target_os = "linux")]
fn end_with_parent(parent: i32, signal: Signal) -> Result<()> {
    nix::sys::prctl::set_pdeathsig(signal)?;
    ensure!(getppid().as_raw() == parent, "the process that started this one has ended");
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: i32, _: Signal) -> Result<()> {
    bail!("engines are started on Linux only")
}

#[cfg(target_os = "linux")]
fn adopt_orphans() -> Result<()> {
    nix::sys::prctl::set_child_subreaper(true).context("cannot adopt orphans")
}

#[cfg(not(target_os = "linux"))]
fn adopt_orphans() -> Result<()> {
    Ok(())
}

/// Collects ended orphans; the end of the engine is left to its owner.
fn reap_orphans(engine: Pid) {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    while let Ok(WaitStatus::Exited(ended, _) | WaitStatus::Signaled(ended, ..)) = waitid(Id::All, flags) {
        if ended == engine || waitpid(ended, None).is_err() {
            return;
        }
    }
}

/// Kills all children until there are none.
fn end_orphans() -> Result<()> {
    for _ in 0..ROUNDS_MAX {
        let children = children_of(getpid())?;
        if children.is_empty() {
            return Ok(());
        }
        for child in children {
            kill(child, Signal::SIGKILL).ok();
            waitpid(child, None).ok();
        }
    }
    bail!("processes are left: {:?}", children_of(getpid())?)
}

fn children_of(parent: Pid) -> Result<Vec<Pid>> {
    let mut children = Vec::new();
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        if parent_in(&stat) == Some(parent.as_raw()) {
            children.push(Pid::from_raw(process));
        }
    }
    Ok(children)
}

/// `/proc/PID/stat` is `PID (NAME) STATE PARENT …`, and a name may have spaces and parentheses.
fn parent_in(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_of_a_process_is_read() {
        assert_eq!(parent_in("12 (a) b (c) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in(""), None);
        let mut child = Command::new("sleep").arg("60").spawn().expect("started");
        let children = children_of(getpid()).expect("read");
        let process = Pid::from_raw(child.id().cast_signed());
        assert!(children.contains(&process), "{process} in {children:?}");
        child.kill().expect("killed");
        child.wait().expect("ended");
    }
}
