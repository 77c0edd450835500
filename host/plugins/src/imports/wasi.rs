//! The WASI interfaces that plugins may import. `wasi_context` implements what is behind them; waiting is
//! implemented here, because it concerns the call's CPU turn and a dialect's clock.

use wasmtime::component::{HasData, HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::{Duration, Instant};
use wasmtime_wasi::p2::bindings::io::poll::{Host as Poll, HostPollable};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io as wasi_io, random};
use wasmtime_wasi::random::WasiRandom;

use crate::family::Family;
use crate::state::CallState;

/// The most pollables of one `poll`: as many as a call may have handles.
const POLLABLES_MAX: usize = 1_000;

/// Defines the WASI interfaces of `family::wasi_is_offered`, and no others.
pub fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let l = linker;
    wasi_io::error::add_to_linker::<_, HasTable>(l, |state| state.ctx().table)?;
    wasi_io::poll::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    // No stream waits: output is logged at once, and the input is empty.
    wasi_io::streams::add_to_linker::<_, HasTable>(l, |state| state.ctx().table)?;
    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, HasSelf<CallState>>(l, |state| state)?;
    random::random::add_to_linker::<_, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure::add_to_linker::<_, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    random::insecure_seed::add_to_linker::<_, WasiRandom>(l, |state| state.ctx().ctx.random())?;
    filesystem::types::add_to_linker::<_, WasiFilesystem>(l, CallState::filesystem)?;
    filesystem::preopens::add_to_linker::<_, WasiFilesystem>(l, CallState::filesystem)?;
    cli::environment::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::exit::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_input::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_output::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdin::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stdout::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    cli::terminal_stderr::add_to_linker::<_, WasiCli>(l, CallState::cli)?;
    Ok(())
}

impl Poll for CallState {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        if pollables.len() > POLLABLES_MAX {
            return Err(wasmtime::Error::msg(format!(
                "it polls more than {POLLABLES_MAX} pollables at once"
            )));
        }
        let turn = self.cpu_turn.clone();
        turn.sleeping(Poll::poll(self.ctx().table, pollables)).await
    }
}

impl HostPollable for CallState {
    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        let turn = self.cpu_turn.clone();
        turn.sleeping(HostPollable::block(self.ctx().table, pollable)).await
    }

    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        HostPollable::ready(self.ctx().table, pollable).await
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        HostPollable::drop(self.ctx().table, pollable)
    }
}

/// For a dialect, time stands still, so that a plan depends on its arguments alone: a wait is over at once,
/// however long it was to be, and measures nothing.
impl clocks::monotonic_clock::Host for CallState {
    fn now(&mut self) -> wasmtime::Result<Instant> {
        self.clocks().now()
    }

    fn resolution(&mut self) -> wasmtime::Result<Duration> {
        self.clocks().resolution()
    }

    fn subscribe_instant(&mut self, when: Instant) -> wasmtime::Result<Resource<DynPollable>> {
        if self.family == Family::Dialect {
            return self.clocks().subscribe_duration(0);
        }
        self.clocks().subscribe_instant(when)
    }

    fn subscribe_duration(&mut self, duration: Duration) -> wasmtime::Result<Resource<DynPollable>> {
        let duration = if self.family == Family::Dialect { 0 } else { duration };
        self.clocks().subscribe_duration(duration)
    }
}

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::Host as _;

    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    #[tokio::test]
    async fn a_dialects_wait_is_over_at_once() {
        let mut dialect = CallState::for_test(Family::Dialect);
        for _ in 0..2 {
            let hour = dialect.subscribe_duration(HOUR_NS).unwrap();
            dialect.block(hour).await.unwrap();
            let later = dialect.subscribe_instant(HOUR_NS).unwrap();
            dialect.block(later).await.unwrap();
        }
        let mut tool = CallState::for_test(Family::Tool);
        let hour = tool.subscribe_duration(HOUR_NS).unwrap();
        assert!(tool.block(hour).now_or_never().is_none(), "a tool has the time of day");
    }

    #[tokio::test]
    async fn an_endless_list_of_pollables_is_refused() {
        let mut tool = CallState::for_test(Family::Tool);
        let hour = tool.subscribe_duration(HOUR_NS).unwrap();
        let pollables = (0..=POLLABLES_MAX).map(|_| Resource::new_borrow(hour.rep())).collect();
        let error = tool.poll(pollables).now_or_never().expect("at once").unwrap_err();
        assert!(error.to_string().contains("more than"), "{error}");
    }
}
