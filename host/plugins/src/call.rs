//! One call of a plugin: what it is for, and the ways in which it can fail.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use lakeport_bindings::host::types::Error as PluginError;
use wasmtime::Trap;

use crate::lending::{LentConnection, Memo, Runner, Topic};
use crate::usage::{MemoryExceeded, TableExceeded};

/// A configured instance of a plugin, as its calls see it.
#[derive(Debug)]
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
    pub memo: Memo,
}

/// What a call is for and what it may reach.
pub struct CallContext {
    /// Names the call in logs: printable ASCII, at most 64 bytes.
    pub id: Arc<str>,
    /// What keeps one user or workflow on one side of a canary. Equal keys, equal side.
    pub key: String,
    /// Ends the call earlier than the plugin's own limit.
    pub timeout: Option<Duration>,
    /// Set once nobody waits for the answer.
    pub cancelled: Arc<AtomicBool>,
    /// The configured instance that it is for.
    pub instance: Option<Arc<InstanceConfig>>,
    /// The session lent to it.
    pub connection: Option<Box<dyn LentConnection>>,
    /// The scheduler inside the host, for the engine that came with it.
    pub runner: Option<Arc<dyn Runner>>,
    /// What the task that a tool works for may see.
    pub topic: Option<Arc<dyn Topic>>,
}

impl CallContext {
    /// A call of its own, with nothing lent.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        CallContext {
            id: id.into(),
            key: String::new(),
            timeout: None,
            cancelled: Arc::new(AtomicBool::new(false)),
            instance: None,
            connection: None,
            runner: None,
            topic: None,
        }
    }

    /// The same, with a session lent to it.
    pub fn lending(mut self, connection: Box<dyn LentConnection>) -> Self {
        self.connection = Some(connection);
        self
    }
}

/// Whose fault it is that a call failed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// `unreachable`, a division by zero, an access out of bounds, a panic.
    Trap,
    /// Its time was over.
    Timeout,
    /// It asked for more memory or larger tables than it may have.
    Memory,
    /// Its calls of itself went too deep.
    Stack,
    /// Its answer was too large.
    Answer,
    /// It ended the process, or broke the contract in another way.
    Contract,
    /// It was ended because its generation had been replaced and the drain time was over.
    Drained,
    /// The host had no room for another call in time.
    Busy,
}

impl CallFault {
    /// The stable word for it in answers.
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

    /// Whether it speaks against the plugin.
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
        /// Which function of the contract.
        function: &'static str,
        /// How.
        fault: CallFault,
        /// For a person: what happened and, where there is one, the limit.
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
        /// Why.
        reason: String,
    },
    /// There is no such plugin, or none of its generations is active.
    #[error("{0}")]
    NotActive(String),
}

/// A fault and its words, from whatever ended the guest.
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
        return (CallFault::Busy, "no room for another call at this moment; try again".to_owned());
    }
    match error.downcast_ref::<Trap>() {
        Some(Trap::StackOverflow) => {
            (CallFault::Stack, "its calls of itself went deeper than the stack it may have".to_owned())
        }
        Some(Trap::Interrupt) => (CallFault::Timeout, over_time(timeout)),
        Some(trap) => (CallFault::Trap, format!("it trapped: {trap}")),
        None => {
            let words = root_words(error);
            // The type of this error is not public; its words are part of wasmtime's documentation.
            if words.contains("fuel allocated for hostcalls") {
                return (CallFault::Answer, "its answer is larger than a call may give".to_owned());
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
    format!("it was not done after {} ms and was ended", timeout.as_millis())
}

/// Raised in the guest when its time is over.
#[derive(Debug, thiserror::Error)]
#[error("over its time")]
pub(crate) struct OverTime;
