//! The functions that plugins may call, one file per interface. Each works on the state of its call and
//! reaches nothing else.

mod call;
mod clock;
mod config;
mod connection;
mod http;
mod log;
mod memo;
mod runner;
mod topic;
mod wasi;

use lakeport_bindings::{dialect, engine, host, tool};
use wasmtime::component::{HasSelf, Linker};

use crate::family::Family;
use crate::state::CallState;

/// Defines all interfaces that a plugin of the family may import. Interfaces with types only need no
/// definition.
pub fn link(family: Family, linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    wasi::link(linker)?;
    host::log::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
    match family {
        Family::Dialect => {
            dialect::connection::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
        }
        Family::Engine => {
            host::call::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            host::config::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            host::clock::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            host::memo::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            host::http::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            lakeport_bindings::runner::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
        }
        Family::Tool => {
            host::config::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            host::clock::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::catalog::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::samples::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::guard::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::query::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::results::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
            tool::lineage::add_to_linker::<_, HasSelf<CallState>>(linker, |state| state)?;
        }
    }
    Ok(())
}

impl host::types::Host for CallState {}
impl host::data::Host for CallState {}
impl dialect::schema::Host for CallState {}
impl dialect::statements::Host for CallState {}
impl engine::model::Host for CallState {}
