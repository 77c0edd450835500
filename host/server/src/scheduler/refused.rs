//! Why the scheduler refuses an engine's request, in the contract's terms.

use lakeport_base::Error;
use lakeport_base::error::FAILED;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error as PluginError;

/// The longest message, in characters.
pub const MESSAGE_MAX_CHARS: usize = 1_000;

#[derive(Debug)]
pub struct Refused(pub PluginError);

impl Refused {
    pub fn new(code: &str, message: impl Into<String>) -> Refused {
        Refused(error(code, message))
    }

    pub fn not_found(what: &str, id: impl std::fmt::Display) -> Refused {
        Refused::new("not_found", format!("the scheduler has no {what} {id}"))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        match error {
            Error::Refused(refusal) => {
                let code = if refusal.status == 503 { "unavailable" } else { "internal" };
                let refused = Refused::new(code, refusal.message);
                Refused(PluginError { retryable: refusal.status == 503, ..refused.0 })
            }
            Error::Internal(source) => {
                tracing::error!("the scheduler's store: {source:#}");
                Refused::new("internal", FAILED)
            }
        }
    }
}
