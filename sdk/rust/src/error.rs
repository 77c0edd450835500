//! Errors as plugins make them. The words of `code` are the contract's; a plugin that needs another one
//! uses [`Error::new`].

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
    /// The input is wrong; the message says what would be right.
    invalid_input = "invalid_input";
    /// What was asked about is not there.
    not_found = "not_found";
    /// Something else stands in the way.
    conflict = "conflict";
    /// The other side does not accept the log-in.
    unauthorized = "unauthorized";
    /// The log-in is accepted and has not this right.
    forbidden = "forbidden";
    /// This plugin, or what it drives, cannot do that.
    unsupported = "unsupported";
    /// A bound was passed.
    limit_exceeded = "limit_exceeded";
    /// The other side did not answer in time.
    timeout = "timeout";
    /// Nobody waits for the answer any more.
    cancelled = "cancelled";
    /// The other side could not be reached; nothing was sent.
    unreachable = "unreachable";
    /// The other side answered with an error.
    upstream_failed = "upstream_failed";
    /// The other side's answer makes no sense.
    bad_answer = "invalid_response";
    /// Not now.
    unavailable = "unavailable";
    /// A fault of the plugin.
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

    /// Not worth trying again before this many milliseconds.
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

    /// What the system behind the plugin said.
    pub fn upstream(mut self, upstream: Upstream) -> Error {
        self.upstream = Some(upstream);
        self
    }

    /// One more fact for the log and the error's details.
    pub fn with(mut self, name: impl Into<String>, value: impl Display) -> Error {
        self.context.push((name.into(), value.to_string()));
        self
    }
}

impl Problem {
    /// Something wrong with one member; empty for the whole.
    pub fn new(member: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Problem {
        Problem { member: member.into(), code: code.into(), message: message.into() }
    }
}

impl From<serde_json::Error> for Error {
    /// JSON that cannot be read is taken for wrong input. JSON from upstream deserves
    /// [`Error::bad_answer`].
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
