//! Nothing that an engine started outlives `xtask engine`: the guard around the engine ends with all of it, also when the
//! program that started the guard is killed.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A command with a child in a session of its own, and another one that ignores signals; each writes its id into `ids`.
const COMMAND: &str = "setsid sh -c 'echo $$ >>ids; sleep 300' & \
                       (trap '' TERM INT HUP; sh -c 'echo $$ >>ids; sleep 300') & \
                       echo $$ >>ids; wait";
const PROCESSES: usize = 3;
const SOON: Duration = Duration::from_secs(30);

/// A shell that starts the guard and waits for it, as `xtask engine` does.
struct Started {
    shell: Child,
    guard: Pid,
    processes: Vec<PathBuf>,
}

fn start(folder: &Path) -> Started {
    let program = env!("CARGO_BIN_EXE_xtask");
    let script = format!(
        "exec 3>&1; '{program}' guard --parent $$ --folder '{}' -- sh -c \"$COMMAND\" & echo $! >&3; wait",
        folder.display()
    );
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .env("COMMAND", COMMAND)
        .current_dir(folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut line = String::new();
    BufReader::new(shell.stdout.take().expect("it is a pipe")).read_line(&mut line).expect("it writes");
    let guard = Pid::from_raw(line.trim().parse().expect("an id"));
    let ids = || fs::read_to_string(folder.join("ids")).unwrap_or_default();
    until("all have started", || ids().lines().count() == PROCESSES);
    let processes = ids().lines().map(|id| Path::new("/proc").join(id)).collect();
    Started { shell, guard, processes }
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < SOON, "after {SOON:?} it is not so: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_signal_ends_all_of_an_engine() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut started = start(folder.path());
        assert!(started.processes.iter().all(|process| process.exists()));
        kill(started.guard, signal).expect("the guard runs");
        started.shell.wait().expect("it ends with the guard");
        let left: Vec<_> = started.processes.iter().filter(|process| process.exists()).collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
        assert!(folder.path().exists(), "who started the guard removes it");
    }
}

#[test]
fn nothing_is_left_when_its_parent_is_killed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut started = start(folder.path());
    started.shell.kill().expect("it runs");
    started.shell.wait().expect("it was killed");
    until("all have ended", || !started.processes.iter().any(|process| process.exists()));
    until("the guard has removed the folder", || !folder.path().exists());
}
