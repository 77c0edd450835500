//! The plugin host: it lets WebAssembly components in, runs them in a sandbox, and swaps them while
//! calls are under way. It needs no server: a test kit or a command line can stand on it as well.
//!
//! The phases are apart. [`inspect`] reads a component without running any of it. [`grants`] compares
//! what it imports with what its family may have and what the operator grants. [`Sandbox`] compiles and
//! links it once. [`Registry`] keeps the generations of each plugin and points at the active one.
//! A call takes a fresh store, bounded in memory, tables, time and size of the answer, and drops it.
//!
//! Nothing here reads the environment, speaks HTTP or keeps state on disk, save the compiled-code cache.

mod call;
mod compiled;
mod compiler;
mod counters;
mod description;
pub mod dialect;
pub mod engine;
mod family;
mod generation;
pub mod grants;
mod imports;
mod inspect;
mod invocation;
mod lane;
mod lending;
mod limits;
mod log;
mod origin;
mod prepared;
mod registry;
mod sandbox;
mod state;
pub mod tool;
mod usage;
mod wasi_context;

pub use call::{CallContext, CallError, CallFault, InstanceConfig};
pub use compiled::CompiledCache;
pub use counters::{CounterSnapshot, Counters};
pub use family::{Contract, Family, PluginId};
pub use generation::Generation;
pub use grants::{Policy, Refused};
pub use inspect::{InspectError, Inspection, inspect};
pub use lending::{Answer, LentConnection, Memo, Runner, Topic};
pub use limits::Limits;
pub use log::{LogLevel, LogLine, PluginLog};
pub use origin::Origin;
pub use prepared::{Description, Prepared};
pub use registry::{
    Canary, PluginView, Pointers, Quarantine, Registry, RegistryError, RegistrySettings, StageError, Staged,
};
pub use sandbox::{Sandbox, SandboxSettings};
