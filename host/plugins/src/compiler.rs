//! Reads and compiles components apart from the engine that serves them, in a child process of the same binary
//! that ends with the component. A component may be made to take minutes and gigabytes of a validator or a
//! compiler: the process has limits on memory, processor time and files, and can be killed. It also keeps the
//! server small: a compiler needs far more memory than its output, and the allocator keeps it for a long time.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use lakeport_base::process_limits;
use wasmtime::{Engine, InstanceAllocationStrategy};

use crate::inspect::{InspectError, Inspection, inspect, refuse_by_first_bytes};
use crate::sandbox::code_config;

/// What reading and checking one component may take. A component of 64 MiB takes a few seconds.
const INSPECTING: Bounds =
    Bounds { memory_mib: 1024, cpu: Duration::from_secs(30), time: Duration::from_secs(60) };
/// What compiling one component may take. A component of 10 MiB takes 20 s of processor time and 500 MiB.
const COMPILING: Bounds =
    Bounds { memory_mib: 2048, cpu: Duration::from_secs(120), time: Duration::from_secs(120) };
/// How much of the child's message is read.
const MESSAGE_MAX_BYTES: u64 = 64 * 1024;
/// How much of the child's output is read: machine code.
const OUTPUT_MAX_BYTES: u64 = 512 * 1024 * 1024;
/// The exit code for a refused component; every other failure is the machine's.
const REFUSED: u8 = 2;
/// How often a waiting thread looks whether the server stops.
const LOOK: Duration = Duration::from_millis(100);

/// Limits of a child process for one component.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    memory_mib: u64,
    cpu: Duration,
    time: Duration,
}

/// Where components are read and compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process, without limits: for tests, and for components of the operator's own.
    Inside,
    /// In child processes.
    Child(ComponentProcesses),
}

/// How child processes for components are started; clones share [`Self::stop`].
#[derive(Debug, Clone)]
pub struct ComponentProcesses {
    program: PathBuf,
    inspect: &'static str,
    compile: &'static str,
    stopping: Arc<AtomicBool>,
}

impl ComponentProcesses {
    /// They are this program with one argument: with `inspect` it calls [`inspect_for_parent`], with `compile`
    /// [`compile_for_parent`].
    pub fn new(program: PathBuf, inspect: &'static str, compile: &'static str) -> ComponentProcesses {
        ComponentProcesses { program, inspect, compile, stopping: Arc::default() }
    }

    /// Ends running child processes, and lets no other one begin: the server stops.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// What the child writes about a component. Blocks.
    fn run(&self, argument: &str, bounds: Bounds, component: &[u8]) -> Result<Vec<u8>, Failed> {
        let mut command = Command::new(&self.program);
        // It needs no settings and no secrets. Its allocator would reserve more than it may have.
        command.arg(argument).env_clear().env("MIMALLOC_ARENA_RESERVE", "16MiB");
        // Ctrl-C in a terminal stops the server, which ends this.
        command.process_group(0);
        run(command, bounds, component, &self.stopping)
    }
}

/// Why a child process gave no answer.
#[derive(Debug)]
enum Failed {
    /// It refused the component, with this message.
    Refused(String),
    /// The component needs more than it may.
    TooCostly(String),
    /// The machine's failure, or the server's end.
    Unfinished(String),
}

/// Why a component was not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error(transparent)]
    Inspect(#[from] InspectError),
    #[error(transparent)]
    Unfinished(#[from] Unfinished),
}

impl Compiler {
    /// Reads and checks a component without compiling it. Blocks.
    pub(crate) fn inspect(&self, component: &[u8]) -> Result<Inspection, ReadError> {
        let Compiler::Child(processes) = self else { return Ok(inspect(component)?) };
        // What the first bytes show needs no process.
        refuse_by_first_bytes(component)?;
        let answer = match processes.run(processes.inspect, INSPECTING, component) {
            Ok(answer) => answer,
            Err(Failed::TooCostly(why)) => {
                return Err(InspectError::TooCostly { step: "reading".into(), why }.into());
            }
            Err(Failed::Refused(why) | Failed::Unfinished(why)) => return Err(Unfinished(why).into()),
        };
        let unreadable = |error| Unfinished(format!("its answer cannot be read: {error}"));
        let inspected: Result<Inspection, InspectError> =
            serde_json::from_slice(&answer).map_err(unreadable)?;
        Ok(inspected?)
    }

    /// Machine code of a component for `serving`, as [`wasmtime::component::Component::deserialize`] reads
    /// it. Blocks: takes all processors for milliseconds to many seconds. The error is an [`InspectError`], an
    /// [`Unfinished`], or the compiler's.
    pub(crate) fn compile(&self, serving: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let Compiler::Child(processes) = self else { return compile(serving, component) };
        processes.run(processes.compile, COMPILING, component).map_err(|failed| match failed {
            Failed::Refused(why) => wasmtime::Error::msg(why),
            Failed::TooCostly(why) => {
                wasmtime::Error::new(InspectError::TooCostly { step: "compiling".into(), why })
            }
            Failed::Unfinished(why) => wasmtime::Error::new(Unfinished(why)),
        })
    }
}

/// The child's part: reads a component from standard input and writes what it is, or why it is refused, to
/// standard output. Returns the exit code.
pub fn inspect_for_parent() -> u8 {
    work_for_parent(INSPECTING, |component| {
        Ok(serde_json::to_vec(&inspect(&component)).map_err(io::Error::other)?)
    })
}

/// The child's part: reads a component from standard input and writes its machine code to standard output.
/// Returns the exit code.
pub fn compile_for_parent() -> u8 {
    work_for_parent(COMPILING, |component| {
        let engine = Engine::new(&code_config()).map_err(|error| io::Error::other(format!("{error:#}")))?;
        engine.precompile_component(&component).map_err(|error| Refusal::Component(format!("{error:#}")))
    })
}

/// Why the child has no output.
enum Refusal {
    /// The component's fault.
    Component(String),
    /// The machine's.
    Machine(io::Error),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        Refusal::Machine(error)
    }
}

fn work_for_parent(bounds: Bounds, work: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, Refusal>) -> u8 {
    let worked = || {
        process_limits::end_with_parent()?;
        process_limits::enter(bounds.memory_mib)?;
        process_limits::allow_cpu(bounds.cpu);
        let mut component = Vec::new();
        io::stdin().lock().read_to_end(&mut component)?;
        let output = work(component)?;
        io::stdout().lock().write_all(&output)?;
        Ok::<(), Refusal>(())
    };
    match worked() {
        Ok(()) => 0,
        Err(Refusal::Component(why)) => failed(REFUSED, &why),
        Err(Refusal::Machine(error)) => failed(1, &error),
    }
}

fn failed(code: u8, error: &dyn std::fmt::Display) -> u8 {
    eprintln!("{error}");
    code
}

/// In this process: the compiler's memory lives as long as its engine and its threads, so these end with the
/// component.
fn compile(serving: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let mut config = serving.config().clone();
    // This engine instantiates nothing, so it reserves no instances. Code does not depend on it.
    config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    let threads = rayon::ThreadPoolBuilder::new()
        .thread_name(|n| format!("compiler-{n}"))
        .build()
        .map_err(wasmtime::Error::new)?;
    threads.install(|| Engine::new(&config)?.precompile_component(component))
}

/// Gives a component to a process, and returns what it writes.
fn run(
    mut command: Command,
    bounds: Bounds,
    component: &[u8],
    stopping: &AtomicBool,
) -> Result<Vec<u8>, Failed> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let not_started = |cause: io::Error| Failed::Unfinished(format!("its process did not start: {cause}"));
    let mut child = command.spawn().map_err(not_started)?;
    let (Some(mut input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(not_started(io::Error::other("its input and output are not piped")));
    };
    let (send, ended) = mpsc::channel::<()>();
    let deadline = Instant::now() + bounds.time;
    let (read, late) = std::thread::scope(|scope| {
        // A process that ends early does not read everything; its exit code tells the reason.
        scope.spawn(move || input.write_all(component));
        let message = scope.spawn(move || {
            let mut message = Vec::new();
            errors.take(MESSAGE_MAX_BYTES).read_to_end(&mut message).map(|_| message)
        });
        let answer = scope.spawn(move || {
            let _send = send;
            let mut answer = Vec::new();
            output.take(OUTPUT_MAX_BYTES).read_to_end(&mut answer).map(|_| answer)
        });
        let late = wait(&ended, deadline, stopping);
        if late.is_some() {
            // It may have ended just now.
            let _ = child.kill();
        }
        ((answer.join(), message.join()), late)
    });
    let status = child.wait().map_err(|error| Failed::Unfinished(error.to_string()))?;
    let (Ok(Ok(answer)), Ok(Ok(message))) = read else {
        return Err(Failed::Unfinished("reading from it failed".to_owned()));
    };
    let message = String::from_utf8_lossy(&message);
    let message = message.trim();
    match (late, status.code(), status.signal()) {
        (Some(Late::Stopping), ..) => Err(Failed::Unfinished("the server stops".to_owned())),
        (Some(Late::Deadline), ..) => Err(Failed::TooCostly(format!("{} s", bounds.time.as_secs()))),
        (None, Some(0), _) => Ok(answer),
        (None, Some(code), _) if code == i32::from(REFUSED) => Err(Failed::Refused(message.to_owned())),
        (None, _, Some(CPU_USED_UP)) => {
            Err(Failed::TooCostly(format!("{} s of processor time", bounds.cpu.as_secs())))
        }
        // Memory that is refused, or a stack that is exhausted, aborts it.
        (None, _, Some(ABORTED | STACK_EXHAUSTED)) => {
            Err(Failed::TooCostly(format!("{} MiB of memory, or nests too deeply", bounds.memory_mib)))
        }
        _ => Err(Failed::Unfinished(format!("{status}; {message}"))),
    }
}

/// Signals that end a process by its limits.
const ABORTED: i32 = 6;
const STACK_EXHAUSTED: i32 = 11;
const CPU_USED_UP: i32 = 24;

/// Why a process is not waited for any longer.
enum Late {
    Deadline,
    Stopping,
}

/// Waits until the process has closed its output, which it does when it ends.
fn wait(ended: &mpsc::Receiver<()>, deadline: Instant, stopping: &AtomicBool) -> Option<Late> {
    loop {
        if stopping.load(Ordering::Relaxed) {
            return Some(Late::Stopping);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Some(Late::Deadline);
        }
        if ended.recv_timeout(left.min(LOOK)) == Err(RecvTimeoutError::Disconnected) {
            return None;
        }
    }
}

/// The child process ended before it had read or compiled a component.
#[derive(Debug, thiserror::Error)]
#[error("the component was not read to its end ({0}); try again, or give the machine more memory")]
pub(crate) struct Unfinished(pub(crate) String);

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds =
        Bounds { memory_mib: 100, cpu: Duration::from_secs(1), time: Duration::from_secs(2) };

    fn ran(script: &str) -> Result<Vec<u8>, Failed> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let large = vec![b'x'; 1 << 20];
        run(command, BOUNDS, &large, &AtomicBool::new(false))
    }

    #[test]
    fn what_the_process_writes_is_the_answer() {
        assert_eq!(ran("cat").unwrap().len(), 1 << 20);
    }

    #[test]
    fn each_end_has_its_reason() {
        assert!(matches!(ran("echo no export >&2; exit 2"), Err(Failed::Refused(why)) if why == "no export"));
        assert!(
            matches!(ran("kill -XCPU $$"), Err(Failed::TooCostly(why)) if why.contains("1 s of processor"))
        );
        assert!(matches!(ran("kill -ABRT $$"), Err(Failed::TooCostly(why)) if why.contains("100 MiB")));
        assert!(matches!(ran("exec sleep 60"), Err(Failed::TooCostly(why)) if why.contains("2 s")));
        for script in ["echo memory >&2; kill -9 $$", "exit 1"] {
            assert!(matches!(ran(script), Err(Failed::Unfinished(_))), "{script}");
        }
        let stopping = AtomicBool::new(true);
        let mut sleeping = Command::new("/bin/sleep");
        sleeping.arg("60");
        let stopped = run(sleeping, BOUNDS, b"x", &stopping);
        assert!(matches!(stopped, Err(Failed::Unfinished(why)) if why == "the server stops"));
    }

    #[test]
    fn without_the_process_nothing_is_read() {
        let bytes = wat::parse_str(r#"(component (core module (func (export "f"))))"#).unwrap();
        let compiler = Compiler::Child(ComponentProcesses::new("/missing".into(), "inspect", "compile"));
        let error = compiler.compile(&Engine::default(), &bytes).unwrap_err();
        assert!(error.is::<Unfinished>(), "{error}");
        assert!(matches!(compiler.inspect(&bytes), Err(ReadError::Unfinished(_))));
    }
}
