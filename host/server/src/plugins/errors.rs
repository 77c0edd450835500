//! Maps failed calls of plugins to errors, for all modules that make such calls. Failures of a plugin or of
//! the system behind it are 502, or 504 for timeouts. A module that knows the context may map them to 404 or
//! 409 first.

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_base::text::shortened;
use lakeport_bindings::host::types::Error as PluginError;
use lakeport_physical::{PROTOCOL_ERROR, STATEMENT_TOO_HEAVY};
use lakeport_plugins::{CallError, CallFault};

/// The address is not permitted.
pub const EGRESS_REFUSED: &str = "egress_refused";

/// Error codes of such calls; for [`crate::state::Route::refuses`].
pub const CALL_CODES: &[&str] = &[
    EGRESS_REFUSED,
    "plugin_answer_too_large",
    "plugin_broke_contract",
    "plugin_busy",
    "plugin_memory_exceeded",
    "plugin_not_active",
    "plugin_quarantined",
    "plugin_replaced",
    "plugin_stack_exceeded",
    "plugin_timeout",
    "plugin_trapped",
    PROTOCOL_ERROR,
    STATEMENT_TOO_HEAVY,
    "unreachable",
    "unsupported_by_dialect",
    "upstream_denied",
    "upstream_failed",
    "upstream_timeout",
    "upstream_unavailable",
];

/// Error codes of engine calls; for [`crate::state::Route::refuses`].
pub const ENGINE_CALL_CODES: &[&str] = &[
    "engine_conflict",
    "engine_denied",
    "engine_failed",
    "engine_timeout",
    "engine_unavailable",
    "engine_unreachable",
    "plugin_answer_too_large",
    "plugin_broke_contract",
    "plugin_busy",
    "plugin_memory_exceeded",
    "plugin_not_active",
    "plugin_quarantined",
    "plugin_replaced",
    "plugin_stack_exceeded",
    "plugin_timeout",
    "plugin_trapped",
    "rate_limited",
    "unsupported_by_engine",
];

/// The longest message of a plugin that is passed on, in characters.
const MESSAGE_MAX_CHARS: usize = 2_000;
/// Facts of an engine's error that are passed on, and of each the characters.
const CONTEXT_MAX: usize = 20;
const CONTEXT_MAX_CHARS: usize = 500;
/// The default wait, in seconds.
const RETRY_AFTER_S: u64 = 1;
/// The longest wait that is accepted from a plugin.
const RETRY_AFTER_MAX_S: u64 = 3_600;

/// A call of a plugin that failed.
pub fn failed(error: CallError) -> Error {
    let message = shortened(&error.to_string(), MESSAGE_MAX_CHARS);
    match error {
        CallError::Failed { fault: fault @ (CallFault::Busy | CallFault::Drained), .. } => {
            Error::unavailable(fault.code(), message).retry_after(RETRY_AFTER_S)
        }
        CallError::Failed { fault: fault @ CallFault::Timeout, .. } => {
            Error::timed_out(fault.code(), message)
        }
        CallError::Failed { fault, .. } => Error::bad_gateway(fault.code(), message),
        CallError::Answered(error) => answered(&error),
        CallError::Quarantined { .. } => Error::unavailable("plugin_quarantined", message),
        CallError::NotActive(_) => Error::unavailable("plugin_not_active", message),
    }
}

/// Advice for a locked file, and for a locked table of a server.
const WHEN_FILE_LOCKED: &str =
    ": wait for its end, or cancel it (GET /api/v1/executions/running tells what runs), then try again";
const WHEN_TABLE_LOCKED: &str =
    ": the database's own list of sessions tells who has it; try again when they are done";

/// Maps the error of a plugin, or of the host in its place. Plugins choose the codes freely, so only a few
/// are passed on.
pub fn answered(error: &PluginError) -> Error {
    let mut message = shortened(&error.message, MESSAGE_MAX_CHARS);
    if lakeport_physical::is_locked(error) {
        let is_file = error.upstream.as_ref().is_some_and(|said| said.system == "SQLite");
        message.push_str(if is_file { WHEN_FILE_LOCKED } else { WHEN_TABLE_LOCKED });
    }
    match error.code.as_str() {
        "timeout" => Error::timed_out("upstream_timeout", message),
        "unreachable" => Error::bad_gateway("unreachable", message),
        EGRESS_REFUSED => Error::forbidden(EGRESS_REFUSED, message),
        "unauthorized" | "forbidden" => Error::bad_gateway("upstream_denied", message),
        "unavailable" | "rate_limited" => {
            Error::unavailable("upstream_unavailable", message).retry_after(wait_s(error))
        }
        PROTOCOL_ERROR => Error::bad_gateway(PROTOCOL_ERROR, message),
        STATEMENT_TOO_HEAVY => Error::bad_gateway(STATEMENT_TOO_HEAVY, message),
        "unsupported" | "unsupported_by_dialect" => Error::conflict("unsupported_by_dialect", message),
        _ => Error::bad_gateway("upstream_failed", message),
    }
}

/// The same for engine calls, whose failures have their own codes.
pub fn engine_failed(error: CallError) -> Error {
    let CallError::Answered(error) = error else { return failed(error) };
    let message = shortened(&whole_message(&error), MESSAGE_MAX_CHARS);
    let mapped = match error.code.as_str() {
        "timeout" => Error::timed_out("engine_timeout", message),
        "unreachable" => Error::bad_gateway("engine_unreachable", message),
        "unauthorized" | "forbidden" => Error::bad_gateway("engine_denied", message),
        "unavailable" | "rate_limited" => {
            Error::unavailable("engine_unavailable", message).retry_after(wait_s(&error))
        }
        "unsupported" => Error::conflict("unsupported_by_engine", message),
        "conflict" => Error::conflict("engine_conflict", message),
        "limit_exceeded" if error.retryable => Error::too_many("rate_limited", message, wait_s(&error)),
        _ => Error::bad_gateway("engine_failed", message),
    };
    let context = error.context.iter().take(CONTEXT_MAX);
    let context =
        context.map(|(name, value)| Detail::new(name.as_str(), shortened(value, CONTEXT_MAX_CHARS)));
    let mapped = mapped.with_details(context.collect());
    let is_silent = matches!(&mapped, Error::Refused(refusal) if refusal.retry_after_s.is_none());
    if error.retryable && is_silent { mapped.retry_after(wait_s(&error)) } else { mapped }
}

/// An error of an engine that was stored as its code and message: with the status that a call has for it.
pub fn engine_refused(code: &'static str, message: String) -> Error {
    match code {
        "engine_timeout" | "plugin_timeout" => Error::timed_out(code, message),
        "engine_unavailable" | "plugin_busy" | "plugin_not_active" | "plugin_quarantined"
        | "plugin_replaced" => Error::unavailable(code, message).retry_after(RETRY_AFTER_S),
        "engine_conflict" | "unsupported_by_engine" => Error::conflict(code, message),
        "rate_limited" => Error::too_many(code, message, RETRY_AFTER_S),
        _ => Error::bad_gateway(code, message),
    }
}

/// The plugin's message, and what the scheduler itself said, unless the message has it.
fn whole_message(error: &PluginError) -> String {
    let Some(said) = &error.upstream else { return error.message.clone() };
    let status = said.status.map(|status| format!(" {status}")).unwrap_or_default();
    let code = said.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    if said.message.is_empty() || error.message.contains(&said.message) {
        return error.message.clone();
    }
    format!("{} ({} answered{status}{code}: {})", error.message, said.system, said.message)
}

/// Seconds until a retry.
fn wait_s(error: &PluginError) -> u64 {
    let asked_s = error.retry_after_ms.map(|ms| u64::from(ms).div_ceil(1_000));
    asked_s.unwrap_or(RETRY_AFTER_S).min(RETRY_AFTER_MAX_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(code: &str) -> CallError {
        CallError::Answered(PluginError {
            code: code.to_owned(),
            message: "x".repeat(3_000),
            retryable: true,
            retry_after_ms: Some(1_500),
            may_have_applied: false,
            upstream: None,
            context: Vec::new(),
        })
    }

    fn failed(fault: CallFault) -> CallError {
        let (plugin, function) = ("dialect:sqlite".to_owned(), "reader.tables");
        CallError::Failed { plugin, function, fault, message: "it was so".to_owned() }
    }

    #[test]
    fn each_failure_has_its_status_and_a_known_code() {
        let quarantined =
            CallError::Quarantined { plugin: "dialect:sqlite".to_owned(), reason: "it broke".to_owned() };
        for (error, status, code) in [
            (said("timeout"), 504, "upstream_timeout"),
            (said("unreachable"), 502, "unreachable"),
            (said("unauthorized"), 502, "upstream_denied"),
            (said("rate_limited"), 503, "upstream_unavailable"),
            (said("unsupported"), 409, "unsupported_by_dialect"),
            (said(PROTOCOL_ERROR), 502, "protocol_error"),
            (said(STATEMENT_TOO_HEAVY), 502, "statement_too_heavy"),
            (said("not_found"), 502, "upstream_failed"),
            (said("made_up"), 502, "upstream_failed"),
            (failed(CallFault::Busy), 503, "plugin_busy"),
            (failed(CallFault::Drained), 503, "plugin_replaced"),
            (failed(CallFault::Timeout), 504, "plugin_timeout"),
            (failed(CallFault::Trap), 502, "plugin_trapped"),
            (failed(CallFault::Memory), 502, "plugin_memory_exceeded"),
            (failed(CallFault::Stack), 502, "plugin_stack_exceeded"),
            (failed(CallFault::Answer), 502, "plugin_answer_too_large"),
            (failed(CallFault::Contract), 502, "plugin_broke_contract"),
            (quarantined, 503, "plugin_quarantined"),
            (CallError::NotActive("gone".to_owned()), 503, "plugin_not_active"),
        ] {
            let error = super::failed(error);
            assert_eq!((error.status(), error.code()), (status, code));
            assert!(CALL_CODES.contains(&code), "{code}");
        }
    }

    #[test]
    fn engine_failures_map_to_known_codes() {
        for (error, status, code) in [
            (said("timeout"), 504, "engine_timeout"),
            (said("unreachable"), 502, "engine_unreachable"),
            (said("forbidden"), 502, "engine_denied"),
            (said("unavailable"), 503, "engine_unavailable"),
            (said("unsupported"), 409, "unsupported_by_engine"),
            (said("conflict"), 409, "engine_conflict"),
            (said("limit_exceeded"), 429, "rate_limited"),
            (said("not_found"), 502, "engine_failed"),
            (failed(CallFault::Timeout), 504, "plugin_timeout"),
        ] {
            let error = engine_failed(error);
            assert_eq!((error.status(), error.code()), (status, code));
            assert!(ENGINE_CALL_CODES.contains(&code), "{code}");
        }
    }

    #[test]
    fn a_limit_that_no_wait_helps_against_is_a_failure() {
        let CallError::Answered(error) = said("limit_exceeded") else { panic!("an answer") };
        let error = engine_failed(CallError::Answered(PluginError { retryable: false, ..error }));
        assert_eq!((error.status(), error.code()), (502, "engine_failed"));
    }

    #[test]
    fn a_message_is_bounded_and_a_wait_is_passed_on() {
        let Error::Refused(refusal) = super::failed(said("unavailable")) else { panic!("a refusal") };
        assert_eq!(refusal.message.chars().count(), MESSAGE_MAX_CHARS + 1);
        assert_eq!(refusal.retry_after_s, Some(2));
    }
}
