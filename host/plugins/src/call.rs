//! One call of a plugin: what it is for, and the ways in which it can fail.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::host::types::Error as PluginError;
use wasmtime::Trap;

use crate::http::{InstanceHttp, Recording};
use crate::lending::{EmbeddedScheduler, LentConnection, Memo, Topic};
use crate::usage::{MemoryExceeded, TableExceeded};

/// A configured instance of a plugin, as its calls see it.
pub struct InstanceConfig {
    /// The name that the operator gave it.
    pub name: String,
    /// Settings, an object that fits the plugin's own schema. No secrets.
    pub settings: serde_json::Value,
    /// The auth recipe chosen, by name.
    pub auth_recipe: Option<String>,
    /// The platform's time zone.
    pub time_zone: chrono_tz::Tz,
    /// Its small cache.
    pub memo: Arc<Memo>,
    /// The addresses that are granted to it; none: it sends no requests.
    pub http: Option<Arc<InstanceHttp>>,
}

/// What a call is for and what it may reach.
pub struct CallContext {
    /// Names the call in logs: printable ASCII, at most 64 bytes.
    pub id: Arc<str>,
    /// Ends the call earlier than the plugin's own limit.
    pub timeout: Option<Duration>,
    /// Set when the caller no longer waits for the answer.
    pub cancelled: Arc<AtomicBool>,
    /// The configured instance that it is for.
    pub instance: Option<Arc<InstanceConfig>>,
    /// The session lent to it.
    pub connection: Option<Box<dyn LentConnection>>,
    /// The embedded scheduler, lent to the bundled engine only.
    pub scheduler: Option<Arc<dyn EmbeddedScheduler>>,
    /// The view of the topic that a tool's task works for.
    pub topic: Option<Arc<dyn Topic>>,
    /// Keeps its requests for a person.
    pub recording: Option<Arc<Recording>>,
}

impl CallContext {
    /// A call of its own, with nothing lent.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        CallContext {
            id: id.into(),
            timeout: None,
            cancelled: Arc::new(AtomicBool::new(false)),
            instance: None,
            connection: None,
            scheduler: None,
            topic: None,
            recording: None,
        }
    }

    /// A copy of the context that lends this session.
    pub fn lending(mut self, connection: Box<dyn LentConnection>) -> Self {
        self.connection = Some(connection);
        self
    }
}

/// The reason why a call failed. [`CallFault::is_the_plugins`] says who is to blame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// `unreachable`, a division by zero, an access out of bounds, a panic.
    Trap,
    /// It exceeded its time limit.
    Timeout,
    /// It exceeded its limit of memory or table elements.
    Memory,
    /// It recursed too deeply.
    Stack,
    /// Its answer exceeded the limit.
    Answer,
    /// It ended the process, or broke the contract in another way.
    Contract,
    /// Its generation was replaced and the drain time was over.
    Drained,
    /// No slot for another call became free in time.
    Busy,
}

impl CallFault {
    /// The stable code of the fault in answers.
    pub fn code(self) -> &'static str {
        match self {
            CallFault::Trap => "plugin_trapped",
            CallFault::Timeout => "plugin_timeout",
            CallFault::Memory => "plugin_memory_exceeded",
            CallFault::Stack => "plugin_stack_exceeded",
            CallFault::Answer => "plugin_answer_too_large",
            CallFault::Contract => "plugin_broke_contract",
            CallFault::Drained => "plugin_replaced",
            CallFault::Busy => "plugin_busy",
        }
    }

    /// Whether the fault counts against the plugin.
    pub fn is_the_plugins(self) -> bool {
        !matches!(self, CallFault::Drained | CallFault::Busy)
    }
}

/// Why a call gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The plugin, or its sandbox, failed. Only this call is lost.
    #[error("the plugin {plugin} failed in {function}: {message}")]
    Failed {
        /// Which plugin, `family:name`.
        plugin: String,
        /// The function of the contract.
        function: &'static str,
        /// The fault.
        fault: CallFault,
        /// For people: what happened and, if there is one, the limit.
        message: String,
    },
    /// The plugin answered with an error of its own.
    #[error("{}", .0.message)]
    Answered(PluginError),
    /// An operator, or its own failures, took the plugin out of service.
    #[error("the plugin {plugin} is quarantined: {reason}")]
    Quarantined {
        /// Which plugin, `family:name`.
        plugin: String,
        /// The reason.
        reason: String,
    },
    /// The plugin does not exist, or has no active generation.
    #[error("{0}")]
    NotActive(String),
}

/// The fault and its message, from the error that ended the guest.
pub(crate) fn fault_of(error: &wasmtime::Error, timeout: Duration) -> (CallFault, String) {
    if let Some(exceeded) = error.downcast_ref::<MemoryExceeded>() {
        return (CallFault::Memory, exceeded.to_string());
    }
    if let Some(exceeded) = error.downcast_ref::<TableExceeded>() {
        return (CallFault::Memory, exceeded.to_string());
    }
    if error.downcast_ref::<OverTime>().is_some() {
        return (CallFault::Timeout, over_time(timeout));
    }
    if let Some(exit) = error.downcast_ref::<wasmtime_wasi::I32Exit>() {
        return (
            CallFault::Contract,
            format!("it ended itself with exit code {}; a plugin must return", exit.0),
        );
    }
    if error.downcast_ref::<wasmtime::PoolConcurrencyLimitError>().is_some() {
        return (CallFault::Busy, "too many concurrent calls; try again".to_owned());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => (CallFault::Stack, "it exceeded its stack".to_owned()),
        Some(Trap::Interrupt) => (CallFault::Timeout, over_time(timeout)),
        Some(trap) => (CallFault::Trap, format!("it trapped: {trap}")),
        None => {
            let words = root_words(error);
            // wasmtime does not export the type of this error; its message is part of the documentation.
            if words.contains("fuel allocated for hostcalls") {
                return (CallFault::Answer, "its answer exceeds the limit".to_owned());
            }
            (CallFault::Contract, words)
        }
    }
}

fn root_words(error: &wasmtime::Error) -> String {
    const WORDS_MAX_CHARS: usize = 500;
    format!("{:#}", error.root_cause()).chars().take(WORDS_MAX_CHARS).collect()
}

pub(crate) fn over_time(timeout: Duration) -> String {
    format!("it was ended after {} ms", timeout.as_millis())
}

/// Raised in the guest when its time limit is over.
#[derive(Debug, thiserror::Error)]
#[error("over its time")]
pub(crate) struct OverTime;
