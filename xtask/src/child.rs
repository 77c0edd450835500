//! Child processes: each in its own process group, which is ended when the run is interrupted.
//!
//! Ctrl-C and TERM reach only this process; it passes them on to every registered group, so that a test's
//! server or a compiler never outlives the run.

use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The polling interval of a child with a deadline.
pub const POLL: Duration = Duration::from_millis(20);

/// How long a child may take to end after the signal, unless its owner sets another time.
const GRACE: Duration = Duration::from_secs(10);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);
static GROUPS: Mutex<Vec<(Pid, Signal)>> = Mutex::new(Vec::new());

/// Passes Ctrl-C, TERM and HUP on to the children from now on.
pub fn pass_on_signals() -> Result<()> {
    ctrlc::set_handler(|| {
        INTERRUPTED.store(true, Ordering::SeqCst);
        for (group, signal) in GROUPS.lock().expect("no holder panics").iter() {
            killpg(*group, *signal).ok();
        }
    })
    .context("cannot handle signals")
}

/// Fails once the run was interrupted; called between steps.
pub fn check_not_interrupted() -> Result<()> {
    if INTERRUPTED.load(Ordering::SeqCst) {
        bail!("interrupted");
    }
    Ok(())
}

/// A child whose group is ended when this is dropped.
pub struct Running {
    child: Child,
    group: Pid,
    /// The signal that ends it.
    signal: Signal,
    /// How long it may take to end after the signal.
    grace: Duration,
}

impl Running {
    /// Starts the command without standard input.
    pub fn spawn(command: &mut Command, signal: Signal) -> Result<Self> {
        let name = display(command);
        let mut groups = GROUPS.lock().expect("no holder panics");
        check_not_interrupted()?;
        let child = command
            .stdin(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run `{name}`"))?;
        let group = Pid::from_raw(i32::try_from(child.id()).context("a process id fits")?);
        groups.push((group, signal));
        Ok(Self { child, group, signal, grace: GRACE })
    }

    /// The same child with another time to end after the signal.
    pub fn with_grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Waits for the end; `None` if it took longer than `limit`, in which case the group was ended.
    pub fn wait(self, limit: Duration) -> Result<Option<ExitStatus>> {
        self.wait_saying(limit, || {})
    }

    /// The same; calls `meanwhile` repeatedly.
    pub fn wait_saying(mut self, limit: Duration, meanwhile: impl FnMut()) -> Result<Option<ExitStatus>> {
        let status = self.wait_until(Instant::now() + limit, meanwhile)?;
        check_not_interrupted()?;
        Ok(status)
    }

    /// Waits for the end; `None` if the run was interrupted before. Calls `meanwhile` repeatedly.
    pub fn wait_or_interruption(&mut self, mut meanwhile: impl FnMut()) -> Result<Option<ExitStatus>> {
        while check_not_interrupted().is_ok() {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            meanwhile();
            std::thread::sleep(POLL);
        }
        Ok(None)
    }

    fn wait_until(&mut self, end: Instant, mut meanwhile: impl FnMut()) -> Result<Option<ExitStatus>> {
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= end {
                return Ok(None);
            }
            meanwhile();
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        GROUPS.lock().expect("no holder panics").retain(|(group, _)| *group != self.group);
        killpg(self.group, self.signal).ok();
        if !matches!(self.wait_until(Instant::now() + self.grace, || {}), Ok(Some(_))) {
            killpg(self.group, Signal::SIGKILL).ok();
            self.child.wait().ok();
        }
    }
}

/// The command as typed in a shell, with its variables.
pub fn display(command: &Command) -> String {
    let mut words = Vec::new();
    for (name, value) in command.get_envs() {
        if let Some(value) = value
            && name != "PATH"
        {
            words.push(format!("{}={}", name.to_string_lossy(), value.to_string_lossy()));
        }
    }
    words.push(command.get_program().to_string_lossy().into_owned());
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    words.join(" ")
}
