//! Real workflow engines: fetched into the cache, started for the tests or for a person, stopped at the end.
//!
//! An engine runs in a network namespace of its own where the machine permits one, because it opens ports on
//! all interfaces. [`guard`] is the process around it, and [`relay`] connects the namespace with the host's
//! loopback.

pub mod by_hand;
pub mod dolphinscheduler;
pub mod guard;
mod namespace;
mod relay;
