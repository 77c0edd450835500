//! Errors of plugins. The codes are the contract's; for another code use [`Error::new`].

use std::fmt::Display;

use crate::{Error, Problem, Upstream};

/// A constructor for a code of the contract.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident = $code:literal;)*) => {
        impl Error {
            $($(#[$doc])*
            pub fn $name(message: impl Into<String>) -> Error {
                Error::new($code, message)
            })*
        }
    };
}

constructors! {
    /// The input is invalid; the message says what is valid.
    invalid_input = "invalid_input";
    /// The requested object does not exist.
    not_found = "not_found";
    /// The state does not allow it.
    conflict = "conflict";
    /// The other system rejects the credentials.
    unauthorized = "unauthorized";
    /// The credentials lack this permission.
    forbidden = "forbidden";
    /// This plugin, or the system behind it, does not support this.
    unsupported = "unsupported";
    /// A limit was exceeded.
    limit_exceeded = "limit_exceeded";
    /// The other system did not answer in time.
    timeout = "timeout";
    /// The caller no longer waits for the answer.
    cancelled = "cancelled";
    /// The other system is unreachable; nothing was sent.
    unreachable = "unreachable";
    /// The other system answered with an error.
    upstream_failed = "upstream_failed";
    /// The other system's answer is invalid.
    bad_answer = "invalid_response";
    /// Temporarily unavailable.
    unavailable = "unavailable";
    /// An error of the plugin.
    internal = "internal";
}

impl Error {
    /// An error of any code, not retryable, with nothing applied.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Error {
        Error {
            code: code.into(),
            message: message.into(),
            retryable: false,
            retry_after_ms: None,
            may_have_applied: false,
            upstream: None,
            context: Vec::new(),
        }
    }

    /// The same call, with the same key, may succeed later.
    pub fn retryable(mut self) -> Error {
        self.retryable = true;
        self
    }

    /// The minimum wait before a retry, in milliseconds.
    pub fn retry_after_ms(mut self, wait_ms: u32) -> Error {
        self.retryable = true;
        self.retry_after_ms = Some(wait_ms);
        self
    }

    /// The change may have been made, wholly or in part.
    pub fn may_have_applied(mut self) -> Error {
        self.may_have_applied = true;
        self
    }

    /// Adds the error of the system behind the plugin.
    pub fn upstream(mut self, upstream: Upstream) -> Error {
        self.upstream = Some(upstream);
        self
    }

    /// Adds a fact for the log and the error's details.
    pub fn with(mut self, name: impl Into<String>, value: impl Display) -> Error {
        self.context.push((name.into(), value.to_string()));
        self
    }
}

impl Problem {
    /// A problem of one member; empty for the whole input.
    pub fn new(member: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { member: member.into(), code: code.into(), message: message.into() }
    }
}

impl From<serde_json::Error> for Error {
    /// Treats unreadable JSON as invalid input. For JSON from another system use [`Error::bad_answer`].
    fn from(error: serde_json::Error) -> Error {
        Error::invalid_input(format!("the JSON does not have the shape that is needed: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_promises_nothing_it_was_not_told() {
        let error = Error::timeout("no answer").retry_after_ms(50).with("limit", 3);
        assert_eq!(error.code, "timeout");
        assert!(error.retryable && !error.may_have_applied);
        assert_eq!(error.retry_after_ms, Some(50));
        assert_eq!(error.context, [("limit".to_owned(), "3".to_owned())]);
    }
}
