//! A WASI context without access to the outside: no files, environment, arguments or network. A plugin's
//! output becomes lines of its log. For a dialect, the clock stands still and random numbers are constant,
//! since a plan is a function of its arguments.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::io::AsyncWrite;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx};

use crate::family::Family;
use crate::log::{CallLog, LogLevel};

/// Longer lines of output are split into log lines of this many bytes.
const PRINTED_LINE_MAX_BYTES: usize = 4_096;
/// The most bytes of one write to a stream, which is logged without a pause.
const WRITE_MAX_BYTES: usize = 64 * 1024;
/// The most random bytes of one request.
const RANDOM_MAX_BYTES: u64 = 1024 * 1024;

/// The WASI context of one call.
pub fn new(family: Family, log: &Arc<Mutex<CallLog>>) -> WasiCtx {
    let mut builder = WasiCtx::builder();
    builder
        .stdout(Printed { log: log.clone(), level: LogLevel::Info })
        .stderr(Printed { log: log.clone(), level: LogLevel::Warn })
        .max_random_size(RANDOM_MAX_BYTES)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    if family == Family::Dialect {
        builder
            .wall_clock(StandingClock)
            .monotonic_clock(StandingClock)
            .secure_random(Deterministic::new(vec![0x5a]))
            .insecure_random(Deterministic::new(vec![0x5a]))
            .insecure_random_seed(0x5a5a);
    }
    builder.build()
}

struct StandingClock;

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for StandingClock {
    fn resolution(&self) -> u64 {
        1_000_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}

/// A standard stream of the plugin, logged by lines.
#[derive(Clone)]
struct Printed {
    log: Arc<Mutex<CallLog>>,
    level: LogLevel,
}

impl IsTerminal for Printed {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Printed {
    fn async_stream(&self) -> Box<dyn AsyncWrite + Send + Sync> {
        Box::new(PrintedStream { printed: self.clone(), line: Vec::new() })
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(PrintedStream { printed: self.clone(), line: Vec::new() })
    }
}

/// One handle to a standard stream, with its unfinished line.
struct PrintedStream {
    printed: Printed,
    line: Vec<u8>,
}

impl PrintedStream {
    fn take(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte == b'\n' || self.line.len() == PRINTED_LINE_MAX_BYTES {
                self.end_line();
            }
            if byte != b'\n' {
                self.line.push(byte);
            }
        }
    }

    fn end_line(&mut self) {
        if !self.line.is_empty() {
            self.printed.log.lock().write(
                self.printed.level,
                &String::from_utf8_lossy(&self.line),
                Vec::new(),
            );
            self.line.clear();
        }
    }
}

impl Drop for PrintedStream {
    fn drop(&mut self) {
        self.end_line();
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for PrintedStream {
    async fn ready(&mut self) {}
}

impl OutputStream for PrintedStream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > WRITE_MAX_BYTES {
            return Err(StreamError::trap("it wrote more to a stream than `check-write` permits"));
        }
        self.take(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_MAX_BYTES)
    }
}

impl AsyncWrite for PrintedStream {
    fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.take(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::PluginLog;

    #[test]
    fn a_write_above_its_permit_traps() {
        let log = Arc::new(PluginLog::new(10));
        let call = Arc::new(Mutex::new(CallLog::new(log.clone(), "d".into(), "c".into(), 10)));
        let mut stream = Printed { log: call, level: LogLevel::Info }.p2_stream();
        let newlines = |count: usize| Bytes::from(b"x\n".repeat(count / 2));
        let refused = stream.write(newlines(32 * 1024 * 1024));
        assert!(matches!(refused, Err(StreamError::Trap(_))), "{refused:?}");
        assert!(matches!(stream.write_zeroes(usize::MAX), Err(StreamError::Trap(_))));
        assert!(log.lines().is_empty());
        let permitted = stream.check_write().unwrap();
        stream.write(newlines(permitted)).unwrap();
        assert!(!log.lines().is_empty());
    }
}
