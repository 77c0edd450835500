//! The host's only error type. A [`Refusal`] is for the client: a status, a stable code and a message for
//! people. All other errors are internal: logged once, at the edge; the client only learns that an internal
//! error happened. This module knows neither HTTP bodies nor domains.

use std::fmt;

use serde::Serialize;

/// Codes that belong to no single module, in order; modules list their own in their parts. Codes never
/// change.
pub const CODES: &[&str] = &[
    "body_incomplete",
    "body_missing",
    "body_too_large",
    "built_in",
    "connect_timeout",
    "datasource_not_allowed",
    "deadline_exceeded",
    "dns_timeout",
    "egress_refused",
    "engine_conflict",
    "engine_denied",
    "engine_failed",
    "engine_timeout",
    "engine_unavailable",
    "engine_unreachable",
    "host_not_allowed",
    "host_not_found",
    "in_use",
    "insufficient_role",
    "insufficient_scope",
    "internal",
    "invalid_host",
    "invalid_input",
    "invalid_json",
    "invalid_response",
    "invalid_url",
    "lease_lost",
    "method_not_allowed",
    "name_taken",
    "not_changeable",
    "not_deployed",
    "not_found",
    "not_running",
    "not_yet",
    "nothing_to_change",
    "origin_not_allowed",
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
    "precondition_failed",
    "protocol_error",
    "proxied",
    "rate_limited",
    "secret_unreadable",
    "server_busy",
    "stale_replica",
    "statement_too_heavy",
    "store_busy",
    "unauthenticated",
    "unreachable",
    "unsupported_by_dialect",
    "unsupported_by_engine",
    "unsupported_media_type",
    "upstream_denied",
    "upstream_failed",
    "upstream_timeout",
    "upstream_unavailable",
];

/// All that people learn of an internal error.
pub const FAILED: &str = "the server failed; its log has the reason";

/// Why a request failed.
#[derive(Debug)]
pub enum Error {
    Refused(Box<Refusal>),
    Internal(anyhow::Error),
}

/// The part of an error that the client sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    /// Stable, `snake_case`: for programs.
    pub code: &'static str,
    /// For people. Never has secrets or the text of an internal error.
    pub message: String,
    /// All wrong members of a form.
    pub details: Vec<Detail>,
    /// The attempted statements on a physical database.
    pub statements: Vec<serde_json::Value>,
    /// The allowed methods, for the `Allow` header of a 405.
    pub allow: Vec<&'static str>,
    /// Seconds, for the `Retry-After` header.
    pub retry_after_s: Option<u64>,
}

/// A wrong member of a body or query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Detail {
    /// A path such as `task.retryTimes` or `items[2].name`.
    pub field: String,
    pub message: String,
}

impl Detail {
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Detail {
        Detail { field: field.into(), message: message.into() }
    }
}

impl Error {
    /// Any refusal; use the named constructors below if one fits.
    pub fn refused(status: u16, code: &'static str, message: impl Into<String>) -> Error {
        Error::Refused(Box::new(Refusal {
            status,
            code,
            message: message.into(),
            details: Vec::new(),
            statements: Vec::new(),
            allow: Vec::new(),
            retry_after_s: None,
        }))
    }

    /// 400: malformed or invalid input.
    pub fn bad_request(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(400, code, message)
    }

    /// 400 `invalid_input` with all wrong members; the message names them too.
    pub fn invalid(details: Vec<Detail>) -> Error {
        let shown: Vec<String> = details.iter().map(|d| format!("{}: {}", d.field, d.message)).collect();
        Error::bad_request("invalid_input", shown.join("; ")).with_details(details)
    }

    /// 401: not authenticated.
    pub fn unauthenticated(message: impl Into<String>) -> Error {
        Error::refused(401, "unauthenticated", message)
    }

    /// 403: authenticated, but not permitted.
    pub fn forbidden(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(403, code, message)
    }

    /// 404 `not_found`: `what` is the product's noun, `id` the client's text.
    pub fn not_found(what: &str, id: impl fmt::Display) -> Error {
        Error::refused(404, "not_found", format!("there is no {what} {id}"))
    }

    /// 405 with `Allow`.
    pub fn method_not_allowed(allow: Vec<&'static str>) -> Error {
        let message = format!("method not allowed; allowed: {}", allow.join(", "));
        Error::refused(405, "method_not_allowed", message).edit(|refusal| refusal.allow = allow)
    }

    /// 409: the state does not allow it, or a name is taken.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(409, code, message)
    }

    /// 412: the resource changed since the client read it.
    pub fn stale(message: impl Into<String>) -> Error {
        Error::refused(412, "precondition_failed", message)
    }

    /// 413: the body exceeds `limit_bytes`.
    pub fn too_large(limit_bytes: usize) -> Error {
        let message = format!("the body exceeds the limit of {limit_bytes} bytes");
        Error::refused(413, "body_too_large", message)
    }

    /// 415: the body is not JSON.
    pub fn unsupported_media_type(got: &str) -> Error {
        let message = format!("the body's Content-Type is `{got}`; send `application/json`");
        Error::refused(415, "unsupported_media_type", message)
    }

    /// 429: over a limit; the client may retry after so many seconds.
    pub fn too_many(code: &'static str, message: impl Into<String>, retry_after_s: u64) -> Error {
        Error::refused(429, code, message).retry_after(retry_after_s)
    }

    /// 501: part of the interface, but not of this version.
    pub fn not_yet(message: impl Into<String>) -> Error {
        Error::refused(501, "not_yet", message)
    }

    /// 502: an engine, database or plugin failed.
    pub fn bad_gateway(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(502, code, message)
    }

    /// 503: shutting down, the store is busy, or a plugin is quarantined.
    pub fn unavailable(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(503, code, message)
    }

    /// 504: an engine, database or plugin exceeded its time limit.
    pub fn timed_out(code: &'static str, message: impl Into<String>) -> Error {
        Error::refused(504, code, message)
    }

    /// 500. The source appears only in the log.
    pub fn internal(source: impl Into<anyhow::Error>) -> Error {
        Error::Internal(source.into())
    }

    /// Adds wrong members.
    #[must_use]
    pub fn with_details(self, details: Vec<Detail>) -> Error {
        self.edit(|refusal| refusal.details = details)
    }

    /// Adds one more detail.
    #[must_use]
    pub fn and_detail(self, detail: Detail) -> Error {
        self.edit(|refusal| refusal.details.push(detail))
    }

    /// Adds the attempted statements with their outcomes.
    #[must_use]
    pub fn with_statements(self, statements: Vec<serde_json::Value>) -> Error {
        self.edit(|refusal| refusal.statements = statements)
    }

    /// Adds `Retry-After`.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Error {
        self.edit(|refusal| refusal.retry_after_s = Some(seconds))
    }

    /// The details of a 400, to be reported together with further ones; any other error stays an error.
    pub fn details_of(checked: Result<(), Error>) -> Result<Vec<Detail>, Error> {
        match checked {
            Ok(()) => Ok(Vec::new()),
            Err(Error::Refused(refusal)) if refusal.status == 400 && !refusal.details.is_empty() => {
                Ok(refusal.details)
            }
            Err(error) => Err(error),
        }
    }

    /// One 400 with what both name; this error alone where one of them names no members.
    #[must_use]
    pub fn with(self, other: Option<Error>) -> Error {
        match (self, other) {
            (Error::Refused(one), Some(Error::Refused(other)))
                if [&one, &other].iter().all(|error| error.status == 400 && !error.details.is_empty()) =>
            {
                Error::invalid(one.details.into_iter().chain(other.details).collect())
            }
            (error, _) => error,
        }
    }

    /// Turns a unique violation of the store into this conflict; other errors stay as they are.
    #[must_use]
    pub fn unique_as(self, code: &'static str, message: impl Into<String>) -> Error {
        if self.is_unique_violation() { Error::conflict(code, message) } else { self }
    }

    /// Turns a foreign key violation of the store, when the referenced row no longer exists, into 503 with
    /// this code: a retry finds that it is gone.
    #[must_use]
    pub fn gone_as(self, code: &'static str, message: impl Into<String>) -> Error {
        if self.is_foreign_key_violation() { Error::unavailable(code, message).retry_after(1) } else { self }
    }

    /// The HTTP status.
    pub fn status(&self) -> u16 {
        match self {
            Error::Refused(refusal) => refusal.status,
            Error::Internal(_) => 500,
        }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Error::Refused(refusal) => refusal.code,
            Error::Internal(_) => "internal",
        }
    }

    /// The message for people.
    pub fn message(&self) -> &str {
        match self {
            Error::Refused(refusal) => &refusal.message,
            Error::Internal(_) => FAILED,
        }
    }

    fn is_unique_violation(&self) -> bool {
        self.of_database().is_some_and(|error| error.is_unique_violation())
    }

    fn is_foreign_key_violation(&self) -> bool {
        self.of_database().is_some_and(|error| error.is_foreign_key_violation())
    }

    fn of_database(&self) -> Option<&dyn sqlx::error::DatabaseError> {
        let Error::Internal(source) = self else { return None };
        source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error)
    }

    fn edit(mut self, change: impl FnOnce(&mut Refusal)) -> Error {
        if let Error::Refused(refusal) = &mut self {
            change(refusal);
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => write!(out, "{} ({})", refusal.message, refusal.code),
            Error::Internal(source) => write!(out, "{source:#}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<anyhow::Error> for Error {
    fn from(source: anyhow::Error) -> Error {
        Error::Internal(source)
    }
}

impl From<std::io::Error> for Error {
    fn from(source: std::io::Error) -> Error {
        Error::Internal(source.into())
    }
}

impl From<sqlx::Error> for Error {
    /// Internal, unless the store is only busy, full or away.
    fn from(source: sqlx::Error) -> Error {
        if is_full(&source) {
            tracing::error!("the disk of the store is full: {source}");
            let message = "the disk of the store is full, so nothing was changed; make room and try again";
            return Error::unavailable("store_busy", message).retry_after(1);
        }
        if is_busy(&source) {
            let message = "the store is busy; nothing was changed, try again";
            return Error::unavailable("store_busy", message).retry_after(1);
        }
        if is_lost(&source) {
            tracing::warn!("the connection to the store was lost: {source}");
            let message = "the connection to the store was lost before anything was changed; try again";
            return Error::unavailable("store_busy", message).retry_after(1);
        }
        Error::Internal(source.into())
    }
}

/// SQLite's SQLITE_BUSY and its extended forms RECOVERY, SNAPSHOT, TIMEOUT; PostgreSQL's lock_not_available,
/// serialization_failure, deadlock_detected, query_canceled, cannot_connect_now, too_many_connections.
const BUSY_CODES: [&str; 10] =
    ["5", "261", "517", "773", "55P03", "40001", "40P01", "57014", "57P03", "53300"];

/// SQLite's SQLITE_FULL; PostgreSQL's disk_full.
const FULL_CODES: [&str; 2] = ["13", "53100"];

/// Whether the disk has no room for a change, which was rolled back.
fn is_full(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.is_some_and(|code| FULL_CODES.contains(&&*code))
}

/// Whether no connection or lock was granted in time: nothing was changed, and a retry may succeed.
fn is_busy(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut => true,
        sqlx::Error::Database(error) => error.code().is_some_and(|code| BUSY_CODES.contains(&&*code)),
        _ => false,
    }
}

/// Whether the server or the network ended the connection. A transaction that was not being committed is undone.
pub fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => {
            error.code().is_some_and(|code| code.starts_with("08") || LOST_CODES.contains(&&*code))
        }
        _ => false,
    }
}

/// PostgreSQL's admin_shutdown, crash_shutdown, cannot_connect_now, database_dropped, idle_session_timeout,
/// idle_in_transaction_session_timeout, transaction_timeout.
const LOST_CODES: [&str; 7] = ["57P01", "57P02", "57P03", "57P04", "57P05", "25P03", "25P04"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_form_names_each_member() {
        let error =
            Error::invalid(vec![Detail::new("a", "expected a number"), Detail::new("b.c", "is missing")]);
        let Error::Refused(refusal) = error else { panic!("a refusal") };
        assert_eq!((refusal.status, refusal.code), (400, "invalid_input"));
        assert_eq!(refusal.message, "a: expected a number; b.c: is missing");
        assert_eq!(refusal.details.len(), 2);
    }

    #[test]
    fn only_a_unique_violation_turns_into_a_conflict() {
        let other = Error::from(sqlx::Error::RowNotFound).unique_as("name_taken", "taken");
        assert_eq!((other.status(), other.code()), (500, "internal"));
        let refused = Error::not_found("table", 7).unique_as("name_taken", "taken");
        assert_eq!(refused.status(), 404);
    }

    #[test]
    fn a_pool_without_a_free_connection_is_a_busy_store() {
        let error = Error::from(sqlx::Error::PoolTimedOut);
        assert_eq!((error.status(), error.code()), (503, "store_busy"));
    }
}
