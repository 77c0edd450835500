//! The WASI interfaces that plugins may import. `wasi_context` implements what is behind them.

use wasmtime::component::{HasData, Linker, ResourceTable};
use wasmtime_wasi::WasiView;
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView};
use wasmtime_wasi::p2::bindings::{cli, clocks, filesystem, io as wasi_io, random};
use wasmtime_wasi::random::WasiRandom;

use crate::state::CallState;

/// Defines the WASI interfaces of `family::wasi_is_offered`, and no others.
pub fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    let l = linker;
    wasi_io::error::add_to_linker::<_, HasTable>(l, |state| state.ctx().table)?;
    wasi_io::poll::add_to_linker::<_, HasTable>(l, waiting_table)?;
    wasi_io::streams::add_to_linker::<_, HasTable>(l, waiting_table)?;
    clocks::wall_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
    clocks::monotonic_clock::add_to_linker::<_, WasiClocks>(l, CallState::clocks)?;
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

/// The table for functions that may wait; the call gives its CPU turn back first.
fn waiting_table(state: &mut CallState) -> &mut ResourceTable {
    state.cpu_turn.give_back();
    state.ctx().table
}

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}
