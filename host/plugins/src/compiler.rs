//! Compiles components apart from the engine that serves them. A compiler needs far more memory than its
//! output, and the allocator keeps it for a long time. So a server compiles in a child process, which runs
//! the same binary and ends with the component. A component that exhausts the memory ends that process, not
//! the server.

use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use wasmtime::{Engine, InstanceAllocationStrategy};

use crate::sandbox::code_config;

/// The longest time that a child process may take for one component.
const COMPILE_MAX: Duration = Duration::from_secs(600);
/// How much of the child's message is read.
const MESSAGE_MAX_BYTES: u64 = 64 * 1024;
/// The exit code for a refused component; every other failure is the machine's.
const REFUSED: u8 = 2;

/// Where components are compiled.
#[derive(Debug, Clone)]
pub enum Compiler {
    /// In this process.
    Inside,
    /// In a child process: this program with these arguments, which calls [`compile_for_parent`].
    Child(PathBuf, &'static [&'static str]),
}

impl Compiler {
    /// Machine code of a component for `serving`, as [`wasmtime::component::Component::deserialize`] reads
    /// it. Blocks: takes all processors for milliseconds to many seconds.
    pub(crate) fn compile(&self, serving: &Engine, component: &[u8]) -> wasmtime::Result<Vec<u8>> {
        let Compiler::Child(program, arguments) = self else { return compile(serving, component) };
        let mut command = Command::new(program);
        // The compiler needs no settings and no secrets.
        command.args(*arguments).env_clear();
        // Ctrl-C in a terminal stops the server, which waits for this.
        command.process_group(0);
        match compile_in(command, component) {
            Ok(compiled) => compiled,
            Err(error) => {
                tracing::warn!("compiling in this process: the child process did not start: {error}");
                compile(serving, component)
            }
        }
    }
}

/// The child's part: reads a component from standard input and writes its machine code to standard output.
/// Returns the exit code.
pub fn compile_for_parent() -> u8 {
    // If memory runs out, the kernel kills this process first.
    let _ = std::fs::write("/proc/self/oom_score_adj", "1000");
    let compiled = Engine::new(&code_config()).and_then(|engine| {
        let mut component = Vec::new();
        io::stdin().lock().read_to_end(&mut component)?;
        Ok(engine.precompile_component(&component))
    });
    match compiled {
        Ok(Ok(code)) => match io::stdout().lock().write_all(&code) {
            Ok(()) => 0,
            Err(error) => failed(1, &error),
        },
        Ok(Err(error)) => failed(REFUSED, &format_args!("{error:#}")),
        Err(error) => failed(1, &format_args!("{error:#}")),
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

/// The code, or why there is none: [`Unfinished`], or the component was refused. Fails if there was no process.
fn compile_in(mut command: Command, component: &[u8]) -> io::Result<wasmtime::Result<Vec<u8>>> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (Some(mut input), Some(mut output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("its input and output are not piped"));
    };
    let (send, ended) = mpsc::channel::<()>();
    let (code, message, status, is_late) = std::thread::scope(|scope| {
        // A process that ends early does not read everything; its exit code tells the reason.
        scope.spawn(move || input.write_all(component));
        let message = scope.spawn(move || {
            let mut message = Vec::new();
            errors.take(MESSAGE_MAX_BYTES).read_to_end(&mut message).map(|_| message)
        });
        let code = scope.spawn(move || {
            let _send = send;
            let mut code = Vec::new();
            output.read_to_end(&mut code).map(|_| code)
        });
        // Its output is closed when it ends.
        let is_late = ended.recv_timeout(COMPILE_MAX) == Err(mpsc::RecvTimeoutError::Timeout);
        if is_late {
            child.kill()?;
        }
        let joined = (code.join(), message.join());
        let status = child.wait()?;
        let (Ok(code), Ok(message)) = joined else {
            return Err(io::Error::other("reading from it panicked"));
        };
        Ok((code?, message?, status, is_late))
    })?;
    let message = String::from_utf8_lossy(&message);
    let message = message.trim();
    let refused = |why: String| Ok(Err(wasmtime::Error::msg(why)));
    match status.code() {
        _ if is_late => {
            refused(format!("compiling took longer than {COMPILE_MAX:?}; make the component smaller"))
        }
        Some(0) => Ok(Ok(code)),
        Some(exit) if exit == i32::from(REFUSED) => refused(message.to_owned()),
        // It may have exhausted the memory, or met a fault of the compiler: this process must not try the same.
        _ => Ok(Err(wasmtime::Error::new(Unfinished(format!("{status}; {message}"))))),
    }
}

/// The child process ended before it had compiled or refused a component.
#[derive(Debug)]
pub(crate) struct Unfinished(String);

impl std::fmt::Display for Unfinished {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Unfinished(status) = self;
        write!(out, "the compiler ended early ({status}); try again, or give the machine more memory")
    }
}

impl std::error::Error for Unfinished {}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn refusal(script: &str) -> String {
        let large = vec![b'x'; 1 << 20];
        compile_in(shell(script), &large).unwrap().unwrap_err().to_string()
    }

    #[test]
    fn what_the_process_writes_is_the_code() {
        let component = vec![b'x'; 1 << 20];
        assert_eq!(compile_in(shell("cat"), &component).unwrap().unwrap(), component);
    }

    #[test]
    fn a_refused_component_is_an_error_of_the_component() {
        assert_eq!(refusal("echo no export >&2; exit 2"), "no export");
    }

    #[test]
    fn a_killed_process_is_not_tried_again_inside() {
        let error = compile_in(shell("echo memory >&2; kill -9 $$"), b"x").unwrap().unwrap_err();
        let error = error.downcast_ref::<Unfinished>().unwrap().to_string();
        assert!(error.contains("signal: 9") && error.contains("memory"), "{error}");
    }

    #[test]
    fn a_process_that_cannot_work_fails_apart_from_the_component() {
        let error = compile_in(shell("exit 1"), b"x").unwrap().unwrap_err();
        assert!(error.is::<Unfinished>(), "{error}");
        assert!(compile_in(Command::new("/missing"), b"x").is_err());
    }

    #[test]
    fn a_server_without_the_process_compiles_inside() {
        let bytes = wat::parse_str(r#"(component (core module (func (export "f"))))"#).unwrap();
        let engine = Engine::default();
        let compiler = Compiler::Child("/missing".into(), &[]);
        assert!(!compiler.compile(&engine, &bytes).unwrap().is_empty());
    }
}
