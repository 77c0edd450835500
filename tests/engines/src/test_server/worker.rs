//! Processes of tasks: each is the leader of a process group, which is killed with it.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The most that is read of one task's output, in bytes.
const OUTPUT_MAX_BYTES: u64 = 1 << 20;
/// Where programs are looked for if the environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A process that was started. It is killed when it is dropped.
pub struct Process {
    child: Child,
    has_ended: bool,
}

impl Process {
    /// Runs a script in a folder of its own. Returns where its output goes.
    pub fn start(folder: &Path, script: &str) -> io::Result<(Process, PathBuf)> {
        std::fs::create_dir_all(folder)?;
        let (file, output) = (folder.join("task.sh"), folder.join("output"));
        std::fs::write(&file, script)?;
        let out = File::create(&output)?;
        let child = Command::new("/bin/sh")
            .arg(&file)
            .current_dir(folder)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_else(|| PATH.into()))
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .process_group(0)
            .spawn()?;
        Ok((Process { child, has_ended: false }, output))
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The exit code if it has ended. What it left running is killed.
    pub fn exit_code(&mut self) -> Option<i32> {
        let status = self.child.try_wait().ok()??;
        self.kill_group();
        self.has_ended = true;
        Some(status.code().unwrap_or(-1))
    }

    pub fn kill(&mut self) {
        if !self.has_ended {
            self.kill_group();
            self.child.wait().ok();
            self.has_ended = true;
        }
    }

    fn kill_group(&self) {
        if let Ok(id) = i32::try_from(self.child.id()) {
            // It is gone already if all have ended.
            killpg(Pid::from_raw(id), Signal::SIGKILL).ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a task has written since this many bytes.
pub fn output(file: &Path, since: u64) -> Vec<u8> {
    let read = || -> io::Result<Vec<u8>> {
        let (mut file, mut bytes) = (File::open(file)?, Vec::new());
        file.seek(SeekFrom::Start(since))?;
        file.take(OUTPUT_MAX_BYTES.saturating_sub(since)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().unwrap_or_default()
}
