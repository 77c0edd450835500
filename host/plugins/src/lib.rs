//! The plugin host: it stages WebAssembly components, runs them in a sandbox, and replaces them while calls
//! are running. It needs no server: a test kit or a command line can use it, too.
//!
//! Each phase has its module. [`inspect`] reads a component without running it. [`grants`] compares its
//! imports with what its family may import and what the operator grants. [`Sandbox`] compiles and links it
//! once. [`Registry`] keeps the generations of each plugin and the pointer to the active one. A call takes a
//! fresh store, bounded in memory, tables, time and size of the answer, and drops it.
//!
//! The crate does not read the environment, serve HTTP or keep state on disk, except for the compiled-code
//! cache.

mod call;
mod compiled;
mod compiler;
mod counters;
mod cpu_turns;
mod description;
pub mod dialect;
pub mod engine;
mod family;
mod generation;
pub mod grants;
mod http;
mod imports;
mod inspect;
mod instance;
mod invocation;
mod lending;
mod limits;
mod log;
mod origin;
mod places;
mod prepared;
mod registry;
mod sandbox;
mod state;
mod summary;
pub mod tool;
mod usage;
mod wasi_context;

pub use call::{CallContext, CallError, CallFault, InstanceConfig};
pub use compiled::CompiledCache;
pub use compiler::{Compiler, ComponentProcesses, compile_for_parent, inspect_for_parent};
pub use counters::{CounterSnapshot, Counters};
pub use family::{Contract, Family, PluginId};
pub use generation::Generation;
pub use grants::{Policy, Refused};
pub use http::{ADDRESS_WANTED, Exchange, Granted, InstanceHttp, Recorded, Recording, Secrets, is_address};
pub use inspect::{InspectError, Inspection, digest, inspect};
pub use instance::{chosen_recipe, with_defaults};
pub use lending::{Answer, EmbeddedScheduler, LentConnection, Memo, Topic};
pub use limits::Limits;
pub use log::{LogLevel, LogLine, PluginLog};
pub use origin::Origin;
pub use prepared::{Description, Prepared};
pub use registry::{
    Canary, PluginView, Pointers, Quarantine, Registry, RegistryError, RegistrySettings, StageError, Staged,
};
pub use sandbox::{Sandbox, SandboxSettings};
pub use summary::Components;
