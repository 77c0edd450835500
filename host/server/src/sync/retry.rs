//! Retries of calls: when the plugin host was busy, or a connection was lost for a moment.

use std::time::Duration;

use lakeport_plugins::{CallError, CallFault};

use crate::datasources::Unanswered;

/// Tries when the plugin host was busy, or the plugin was replaced.
const TRIES: u32 = 10;
/// Tries when the connection was lost.
const LOST_TRIES: u32 = 3;
pub const BETWEEN_TRIES: Duration = Duration::from_secs(1);

/// Makes a call, and repeats it if that may help.
macro_rules! patiently {
    ($call:expr) => {
        patiently!($call, tries_of)
    };
    ($call:expr, $tries_of:ident) => {{
        let mut tries = 1;
        loop {
            match $call.await {
                Err(error) if tries < $tries_of(&error) => {
                    tries += 1;
                    tokio::time::sleep($crate::sync::retry::BETWEEN_TRIES).await;
                }
                answer => break answer,
            }
        }
    }};
}

pub(super) use patiently;

/// Whether the error is about this call, and another call may succeed.
pub fn is_of_one_call(error: &Unanswered) -> bool {
    match error {
        Unanswered::Database(_) => false,
        Unanswered::Plugin(CallError::Failed { fault, .. }) => fault.is_the_plugins(),
        Unanswered::Plugin(CallError::Answered(error)) => {
            !matches!(error.code.as_str(), "unreachable" | "timeout" | "unavailable" | "unauthorized")
        }
        Unanswered::Plugin(CallError::Quarantined { .. } | CallError::NotActive(_)) => false,
    }
}

/// The number of tries for this error.
pub fn tries_of(error: &Unanswered) -> u32 {
    if is_lost(error) { LOST_TRIES } else { tries_of_room(error) }
}

/// The same for the very first call: a server that is unreachable then stays so for longer.
pub fn tries_of_room(error: &Unanswered) -> u32 {
    let fault = match error {
        Unanswered::Plugin(CallError::Failed { fault, .. }) => fault,
        _ => return 1,
    };
    // The plugin host was busy, or the plugin was replaced.
    if matches!(fault, CallFault::Busy | CallFault::Drained) { TRIES } else { 1 }
}

pub fn is_lost(error: &Unanswered) -> bool {
    match error {
        Unanswered::Database(error) | Unanswered::Plugin(CallError::Answered(error)) => {
            error.code == "unreachable"
        }
        Unanswered::Plugin(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use lakeport_bindings::host::error;

    use super::*;

    #[test]
    fn only_lost_connections_are_retried() {
        let answered = |code: &str| Unanswered::Plugin(CallError::Answered(error(code, "no")));
        let lost = Unanswered::Database(error("unreachable", "gone"));
        assert_eq!((tries_of(&lost), tries_of_room(&lost)), (LOST_TRIES, 1));
        assert_eq!(tries_of(&answered("unreachable")), LOST_TRIES);
        for code in ["unauthorized", "upstream_failed", "limit_exceeded"] {
            assert_eq!(tries_of(&answered(code)), 1, "{code}");
        }
        assert!(is_of_one_call(&answered("upstream_failed")) && !is_of_one_call(&lost));
    }
}
